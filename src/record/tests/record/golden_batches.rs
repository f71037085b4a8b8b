//! Batches that Apache Kafka's classes have built (`testdata/batches.txt`, made by `compat-tests/golden/make-records`): Ottla reads in them what
//! Kafka reads, and builds the same bytes where there is only one way to build them.

use ottla_record::{
    Batch, BatchBuilder, BatchSettings, Compression, ControlRecordType, EndTransactionMarker, NewRecord, ProducerFields, Record,
    RecordHeader, TimestampType, TransactionResult,
};

use crate::support::{from_hex, only_batch, records};

const GOLDEN: &str = include_str!("../../testdata/batches.txt");
const NOW: i64 = 1_700_000_000_000;

fn golden(name: &str) -> Vec<u8> {
    let line = GOLDEN.lines().find_map(|line| line.strip_prefix(&format!("batch {name} "))).expect("a batch of that name");
    from_hex(line)
}

fn header_line(batch: &Batch<'_>) -> String {
    let header = &batch.header;
    let timestamp_type = match header.timestamp_type() {
        TimestampType::CreateTime => "CreateTime",
        TimestampType::LogAppendTime => "LogAppendTime",
    };
    format!(
        "header {} {} {} {} {timestamp_type} {} {} {} {} {} {} {} {} {}",
        header.base_offset,
        header.last_offset(),
        header.partition_leader_epoch,
        header.compression().expect("a known codec").name(),
        header.is_transactional(),
        header.is_control(),
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.last_sequence(),
        header.max_timestamp,
        header.delete_horizon_ms().map_or("-".to_owned(), |horizon| horizon.to_string()),
        header.records_count,
    )
}

fn text(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "null".to_owned(),
        Some(bytes) if bytes.len() <= 16 => bytes.iter().fold("x".to_owned(), |text, byte| text + &format!("{byte:02x}")),
        Some(bytes) => {
            let mut crc = flate2::Crc::new();
            crc.update(bytes);
            format!("{}:{}", bytes.len(), crc.sum())
        }
    }
}

#[test]
fn what_kafka_builds_reads_as_kafka_reads_it() {
    let mut lines = GOLDEN.lines().peekable();
    let mut batches = 0;
    while let Some(line) = lines.next() {
        let (name, hex) = line.strip_prefix("batch ").and_then(|rest| rest.split_once(' ')).expect("a batch line");
        let bytes = from_hex(hex);
        let batch = only_batch(&bytes);
        assert_eq!(Some(header_line(&batch).as_str()), lines.next(), "{name}");
        for record in records(&batch) {
            let mut found =
                format!("record {} {} {} {}", record.offset, record.timestamp, text(record.key.as_deref()), text(record.value.as_deref()));
            for (key, value) in &record.headers {
                found += &format!(" {}={}", text(Some(key)), text(value.as_deref()));
            }
            assert_eq!(Some(found.as_str()), lines.next(), "{name}");
        }
        assert!(lines.peek().is_none_or(|next| next.starts_with("batch ")), "{name} has more records");
        batches += 1;
    }
    assert!(batches > 25);
}

/// What `RecordGolden.three` appends.
fn append_three(builder: &mut BatchBuilder) {
    let headers = [
        RecordHeader { key: b"trace", value: Some(b"1-2") },
        RecordHeader { key: b"", value: None },
        RecordHeader { key: b"trace", value: Some(b"") },
    ];
    let three = [
        NewRecord { timestamp: 1000, key: Some(b"key"), value: Some(b"value"), headers: &[] },
        NewRecord { timestamp: 990, key: None, value: None, headers: &headers },
        NewRecord { timestamp: 1200, key: Some(b""), value: Some(b""), headers: &[] },
    ];
    for record in &three {
        builder.append(record).expect("appended");
    }
}

fn three(settings: BatchSettings) -> Vec<u8> {
    let mut builder = BatchBuilder::new(settings).expect("settings");
    append_three(&mut builder);
    builder.build().expect("built")
}

#[test]
fn uncompressed_batches_are_built_to_the_byte() {
    let defaults = BatchSettings::default();
    assert_eq!(three(BatchSettings { base_offset: 7, partition_leader_epoch: 3, ..defaults }), golden("three-none"));
    let producer = ProducerFields { producer_id: 4000, producer_epoch: 7, base_sequence: i32::MAX - 1 };
    assert_eq!(three(BatchSettings { producer, ..defaults }), golden("idempotent"));
    let at_ten = BatchSettings { base_offset: 10, partition_leader_epoch: 6, ..defaults };
    assert_eq!(three(BatchSettings { log_append_time_ms: Some(NOW), ..at_ten }), golden("log-append-time"));
    assert_eq!(three(BatchSettings { delete_horizon_ms: Some(900), ..at_ten }), golden("delete-horizon"));
}

#[test]
fn a_batch_that_is_read_and_written_again_is_the_same() {
    let bytes = golden("many-none");
    let batch = only_batch(&bytes);
    let mut builder = BatchBuilder::new(BatchSettings::default()).expect("settings");
    let mut buffers = ottla_record::DecompressionBuffers::default();
    let mut reader = ottla_record::RecordReader::new(&batch, &mut buffers).expect("a reader");
    while let Some(record) = reader.next_record().expect("a record") {
        builder.append_record(record.offset, &record).expect("appended");
    }
    assert_eq!(builder.build().expect("built"), bytes);
}

#[test]
fn snappy_and_lz4_frames_begin_like_kafkas() {
    let settings = |compression| BatchSettings { base_offset: 7, partition_leader_epoch: 3, compression, ..BatchSettings::default() };
    let snappy = three(settings(Compression::Snappy));
    assert_eq!(snappy[61..77], golden("three-snappy")[61..77]);
    let lz4 = three(settings(Compression::Lz4));
    assert_eq!(lz4[61..68], golden("three-lz4")[61..68]);
}

#[test]
fn control_batches_are_built_to_the_byte() {
    let marker = |result| EndTransactionMarker { result, coordinator_epoch: 17 };
    assert_eq!(marker(TransactionResult::Abort).to_batch(NOW, 4002, 9).expect("built"), golden("marker-abort"));
    assert_eq!(marker(TransactionResult::Commit).to_batch(NOW, 4002, 9).expect("built"), golden("marker-commit"));

    let kraft = [
        ("leader-change", 11, ControlRecordType::LeaderChange),
        ("snapshot-header", 0, ControlRecordType::SnapshotHeader),
        ("snapshot-footer", 9, ControlRecordType::SnapshotFooter),
        ("kraft-version", 1, ControlRecordType::KRaftVersion),
        ("kraft-voters", 2, ControlRecordType::KRaftVoters),
    ];
    for (name, base_offset, control_type) in kraft {
        let expected = golden(name);
        let record = records(&only_batch(&expected)).remove(0);
        assert_eq!(ControlRecordType::parse(record.key.as_deref()), Ok(Some(control_type)), "{name}");
        let settings = BatchSettings { base_offset, partition_leader_epoch: 2, is_control: true, ..BatchSettings::default() };
        let mut builder = BatchBuilder::new(settings).expect("settings");
        builder.append_control(NOW, control_type, &record.value.expect("a value")).expect("appended");
        assert_eq!(builder.build().expect("built"), expected, "{name}");
    }
}

#[test]
fn markers_of_kafka_are_read() {
    let bytes = golden("marker-commit");
    let record = records(&only_batch(&bytes)).remove(0);
    let marker = EndTransactionMarker { result: TransactionResult::Commit, coordinator_epoch: 17 };
    assert_eq!(EndTransactionMarker::parse(record.key.as_deref(), record.value.as_deref()), Ok(Some(marker)));
}

#[test]
fn what_is_left_of_a_compacted_batch_is_the_same() {
    let expected = golden("empty");
    let full = BatchSettings {
        base_offset: 100,
        partition_leader_epoch: 4,
        producer: ProducerFields { producer_id: 4003, producer_epoch: 1, base_sequence: 20 },
        is_transactional: true,
        compression: Compression::Zstd { level: 3 },
        ..BatchSettings::default()
    };
    let mut builder = BatchBuilder::new(full).expect("settings");
    let record = Record { offset: 0, timestamp: NOW, key: Some(b"k"), value: None, headers: Default::default() };
    builder.append_record(104, &record).expect("appended");
    builder.override_last_offset(109);
    let bytes = builder.build().expect("built");
    assert_eq!(only_batch(&bytes).header.to_empty_batch()[..], expected);
}
