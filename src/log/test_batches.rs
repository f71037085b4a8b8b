//! Record batches for tests, uncompressed, built by hand so that the log's tests depend on nothing but the format.

use ottla_record::{Attributes, BATCH_OVERHEAD, BatchHeader, CURRENT_MAGIC, LOG_OVERHEAD};

use crate::append::BatchToAppend;

/// What a batch shall look like.
#[derive(Clone, Debug)]
pub(crate) struct TestBatch {
    base_offset: i64,
    records: i32,
    value_size: usize,
    timestamps: Vec<i64>,
    leader_epoch: i32,
    producer: Option<(i64, i16, i32)>,
    transactional: bool,
    marker: Option<(bool, i32)>,
}

impl TestBatch {
    /// One record of ten bytes at an offset, at the time 1000.
    pub(crate) fn at(base_offset: i64) -> TestBatch {
        TestBatch {
            base_offset,
            records: 1,
            value_size: 10,
            timestamps: vec![1000],
            leader_epoch: 0,
            producer: None,
            transactional: false,
            marker: None,
        }
    }

    pub(crate) fn records(mut self, records: i32) -> TestBatch {
        self.records = records;
        self
    }

    pub(crate) fn value_size(mut self, value_size: usize) -> TestBatch {
        self.value_size = value_size;
        self
    }

    /// One record for each timestamp.
    pub(crate) fn timestamps(mut self, timestamps: &[i64]) -> TestBatch {
        self.records = timestamps.len() as i32;
        self.timestamps = timestamps.to_vec();
        self
    }

    pub(crate) fn leader_epoch(mut self, leader_epoch: i32) -> TestBatch {
        self.leader_epoch = leader_epoch;
        self
    }

    pub(crate) fn producer(mut self, producer_id: i64, producer_epoch: i16, base_sequence: i32) -> TestBatch {
        self.producer = Some((producer_id, producer_epoch, base_sequence));
        self
    }

    pub(crate) fn transactional(mut self) -> TestBatch {
        self.transactional = true;
        self
    }

    /// A transaction marker instead of data.
    pub(crate) fn marker(mut self, is_abort: bool, coordinator_epoch: i32) -> TestBatch {
        self.marker = Some((is_abort, coordinator_epoch));
        self.transactional = true;
        self
    }

    fn timestamp(&self, index: i32) -> i64 {
        self.timestamps.get(index as usize).or(self.timestamps.last()).copied().unwrap_or(0)
    }

    fn records_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for index in 0..self.records {
            let (key, value) = match self.marker {
                Some((is_abort, coordinator_epoch)) => {
                    let key = vec![0, 0, 0, u8::from(!is_abort)];
                    (Some(key), [&[0, 0], &coordinator_epoch.to_be_bytes()[..]].concat())
                }
                None => (None, vec![b'v'; self.value_size]),
            };
            let mut record = vec![0];
            varint(&mut record, self.timestamp(index) - self.timestamp(0));
            varint(&mut record, i64::from(index));
            match key {
                Some(key) => {
                    varint(&mut record, key.len() as i64);
                    record.extend(key);
                }
                None => varint(&mut record, -1),
            }
            varint(&mut record, value.len() as i64);
            record.extend(value);
            varint(&mut record, 0);
            varint(&mut bytes, record.len() as i64);
            bytes.extend(record);
        }
        bytes
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let records = self.records_bytes();
        let (producer_id, producer_epoch, base_sequence) = self.producer.unwrap_or((-1, -1, -1));
        let transactional = if self.transactional { 0x10 } else { 0 };
        let control = if self.marker.is_some() { 0x20 } else { 0 };
        let mut header = BatchHeader {
            base_offset: self.base_offset,
            batch_length: (BATCH_OVERHEAD - LOG_OVERHEAD + records.len()) as i32,
            partition_leader_epoch: self.leader_epoch,
            magic: CURRENT_MAGIC,
            crc: 0,
            attributes: Attributes(transactional | control),
            last_offset_delta: self.records - 1,
            base_timestamp: self.timestamp(0),
            max_timestamp: (0..self.records).map(|index| self.timestamp(index)).max().unwrap_or(-1),
            producer_id,
            producer_epoch,
            base_sequence,
            records_count: self.records,
        };
        let bytes = [&header.to_bytes(), &records[..]].concat();
        header.crc = crc32c::crc32c(&bytes[21..]);
        [&header.to_bytes(), &records[..]].concat()
    }
}

/// A batch's bytes as a validator hands them on.
pub(crate) fn to_append(bytes: &[u8]) -> BatchToAppend<'_> {
    BatchToAppend { header: BatchHeader::parse(bytes).expect("a batch"), records: &bytes[BATCH_OVERHEAD..] }
}

fn varint(into: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)) as u64;
    while rest >= 0x80 {
        into.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    into.push(rest as u8);
}
