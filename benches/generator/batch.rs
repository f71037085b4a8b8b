//! A prepared record batch.

use bytes::Bytes;
use ottla_record::{BatchBuilder, BatchSettings, NewRecord};

/// Time stamped into prepared records, near enough to now for the broker's limits.
fn now_ms() -> i64 {
    std::time::UNIX_EPOCH.elapsed().map_or(0, |elapsed| elapsed.as_millis() as i64)
}

/// An uncompressed batch of records without keys; values differ in their first bytes.
pub fn batch(records: usize, value_bytes: usize) -> Bytes {
    let timestamp = now_ms();
    let mut builder = BatchBuilder::new(BatchSettings::default()).expect("no compression to set up");
    for index in 0..records {
        let mut value = vec![b'x'; value_bytes];
        let number = format!("{index:08}");
        let length = number.len().min(value_bytes);
        value[..length].copy_from_slice(&number.as_bytes()[..length]);
        builder.append(&NewRecord { timestamp, key: None, value: Some(&value), headers: &[] }).expect("the batch fits");
    }
    Bytes::from(builder.build().expect("the batch fits"))
}
