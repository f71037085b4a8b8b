//! Logs and snapshots: one line per batch, and one per record. The file is read batch by batch.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use ottla_io::{Disk, DiskFile, OpenMode};
use ottla_record::{
    BATCH_OVERHEAD, Batch, BatchHeader, Batches, BatchesError, ControlRecordType, DecompressionBuffers, EndTransactionMarker, HeaderError,
    LOG_OVERHEAD, NO_SEQUENCE, Record, RecordReader, TimestampType, check_crc, increment_sequence,
};

use super::decoder::{Decoder, control_record};
use super::{Depth, DumpError};

pub(super) fn dump(disk: &dyn Disk, path: &Path, depth: Depth, decoder: Decoder, out: &mut dyn Write) -> Result<(), DumpError> {
    let failed = |source| DumpError::Read { path: path.to_path_buf(), source };
    let file = disk.open(path, OpenMode::Existing).map_err(failed)?;
    let end = file.len().map_err(failed)?;
    let mut dump = Dump { path, depth, decoder, out, next_offset: 0, gaps: Vec::new() };
    let mut position = 0;
    while position < end.min(depth.max_bytes) {
        let Some(bytes) = read_batch(&file, position, end).map_err(failed)? else { break };
        match Batches::new(&bytes).next() {
            Some(Ok(batch)) => dump.batch(&batch, position)?,
            Some(Err(BatchesError::Corrupt { cause: HeaderError::LegacyMagic(magic), .. })) => {
                writeln!(dump.out, "position: {position} size: {} magic: {magic}", bytes.len())?;
            }
            Some(Err(error)) => return Err(DumpError::Batches { path: path.to_path_buf(), error }),
            None => break,
        }
        position += bytes.len() as u64;
    }
    if position < end && depth.max_bytes == u64::MAX {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        writeln!(dump.out, "Found {} invalid bytes at the end of {name}", end - position)?;
    }
    for (last_offset, offset) in dump.gaps {
        eprintln!("Non-consecutive offsets in {}: {last_offset} is followed by {offset}", path.display());
    }
    Ok(())
}

/// The bytes of the batch at `position`; `None` if no whole batch is there.
fn read_batch(file: &Arc<dyn DiskFile>, position: u64, end: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut overhead = [0; LOG_OVERHEAD];
    if end - position < LOG_OVERHEAD as u64 {
        return Ok(None);
    }
    file.read_exact_at(&mut overhead, position)?;
    let [_, _, _, _, _, _, _, _, length @ ..] = overhead;
    let Ok(length) = u64::try_from(i32::from_be_bytes(length)) else { return Ok(None) };
    let size = length + LOG_OVERHEAD as u64;
    if length == 0 || size > end - position {
        return Ok(None);
    }
    let mut bytes = vec![0; size as usize];
    file.read_exact_at(&mut bytes, position)?;
    Ok(Some(bytes))
}

struct Dump<'a> {
    path: &'a Path,
    depth: Depth,
    decoder: Decoder,
    out: &'a mut dyn Write,
    next_offset: i64,
    gaps: Vec<(i64, i64)>,
}

impl Dump<'_> {
    fn batch(&mut self, batch: &Batch<'_>, position: u64) -> Result<(), DumpError> {
        let header = &batch.header;
        let is_valid = batch.bytes.len() >= BATCH_OVERHEAD && check_crc(header, batch.bytes).is_ok();
        let codec = header.compression().map_or_else(|unknown| unknown.to_string(), |codec| codec.name().to_owned());
        let delete_horizon = header.delete_horizon_ms().map_or("OptionalLong.empty".to_owned(), |ms| format!("OptionalLong[{ms}]"));
        write!(
            self.out,
            "baseOffset: {} lastOffset: {} count: {} baseSequence: {} lastSequence: {} producerId: {} producerEpoch: {} ",
            header.base_offset,
            header.last_offset(),
            header.records_count,
            header.base_sequence,
            header.last_sequence(),
            header.producer_id,
            header.producer_epoch,
        )?;
        writeln!(
            self.out,
            "partitionLeaderEpoch: {} isTransactional: {} isControl: {} deleteHorizonMs: {delete_horizon} position: {position} {}: {} \
             size: {} magic: {} compresscodec: {codec} crc: {} isvalid: {is_valid}",
            header.partition_leader_epoch,
            header.is_transactional(),
            header.is_control(),
            timestamp_name(header),
            header.max_timestamp,
            batch.bytes.len(),
            header.magic,
            header.crc,
        )?;
        if self.depth.records { self.records(batch) } else { Ok(()) }
    }

    fn records(&mut self, batch: &Batch<'_>) -> Result<(), DumpError> {
        let offset = batch.header.base_offset;
        let failed = |error| DumpError::Records { path: self.path.to_path_buf(), offset, error };
        let mut buffers = DecompressionBuffers::default();
        let mut reader = RecordReader::new(batch, &mut buffers).map_err(failed)?;
        while let Some(record) = reader.next_record().map_err(failed)? {
            if record.offset != self.next_offset {
                self.gaps.push((self.next_offset - 1, record.offset));
            }
            self.next_offset = record.offset + 1;
            let line = self.record(&batch.header, &record);
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    fn record(&self, header: &BatchHeader, record: &Record<'_>) -> String {
        let mut line = String::from("|");
        if self.depth.metadata {
            let size = |bytes: Option<&[u8]>| bytes.map_or(-1, |bytes| bytes.len() as i64);
            let keys: Vec<_> = record.headers.iter().map(|header| String::from_utf8_lossy(header.key).into_owned()).collect();
            line.push_str(&format!(
                " offset: {} {}: {} keySize: {} valueSize: {} sequence: {} headerKeys: [{}]",
                record.offset,
                timestamp_name(header),
                record.timestamp,
                size(record.key),
                size(record.value),
                sequence(header, record.offset),
                keys.join(","),
            ));
            if header.is_control() {
                line.push_str(&control(record));
            }
        }
        if self.depth.contents && !header.is_control() {
            let (key, value) = self.decoder.decode(record);
            line.extend(key.map(|key| format!(" key: {key}")));
            line.extend(value.map(|value| format!(" payload: {value}")));
        }
        line
    }
}

fn timestamp_name(header: &BatchHeader) -> &'static str {
    match header.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    }
}

fn sequence(header: &BatchHeader, offset: i64) -> i32 {
    if header.base_sequence == NO_SEQUENCE {
        NO_SEQUENCE
    } else {
        increment_sequence(header.base_sequence, (offset - header.base_offset) as i32)
    }
}

fn control(record: &Record<'_>) -> String {
    match EndTransactionMarker::parse(record.key, record.value) {
        Ok(Some(marker)) => {
            let result = if marker.control_type() == ControlRecordType::Commit { "COMMIT" } else { "ABORT" };
            format!(" endTxnMarker: {result} coordinatorEpoch: {}", marker.coordinator_epoch)
        }
        Ok(None) => control_record(record),
        Err(error) => format!(" {error}"),
    }
}
