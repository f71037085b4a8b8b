//! Properties that hold for any records and any bytes.

use ottla_model::ErrorCode;
use ottla_record::{
    BatchBuilder, BatchSettings, Batches, Compression, CompressionType, NewRecord, RecordHeader, ValidationConfig, produced_batch,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{OwnedRecord, batch_with_payload, compress, only_batch, records, validate_default, validate_with};

fn bytes(length_max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..=length_max), (any::<u8>(), 0..=length_max).prop_map(|(byte, length)| vec![byte; length])]
}

fn record() -> impl Strategy<Value = OwnedRecord> {
    let headers = vec((bytes(10), option::of(bytes(20))), 0..4);
    let timestamp = prop_oneof![Just(-1), 0..4000i64, Just(i64::MAX)];
    (timestamp, option::of(bytes(40)), option::of(bytes(300)), headers).prop_map(|(timestamp, key, value, headers)| OwnedRecord {
        offset: 0,
        timestamp,
        key,
        value,
        headers,
    })
}

/// Records, some of them large enough to span several pieces of a decompressed stream.
fn many_records() -> impl Strategy<Value = Vec<OwnedRecord>> {
    (vec(record(), 1..60), option::of((any::<prop::sample::Index>(), 60_000..300_000usize))).prop_map(|(mut records, large)| {
        if let Some((index, size)) = large {
            let at = index.index(records.len());
            records[at].value = Some((0..size).map(|byte| (byte % 251) as u8).collect());
        }
        for (offset, record) in records.iter_mut().enumerate() {
            record.offset = offset as i64;
        }
        records
    })
}

fn codec() -> impl Strategy<Value = CompressionType> {
    select(&CompressionType::ALL)
}

fn build(records: &[OwnedRecord], codec: CompressionType) -> Vec<u8> {
    let settings = BatchSettings { compression: Compression::with_default_level(codec), ..BatchSettings::default() };
    let mut builder = BatchBuilder::new(settings).expect("settings");
    for record in records {
        let headers: Vec<_> = record.headers.iter().map(|(key, value)| RecordHeader { key, value: value.as_deref() }).collect();
        let new = NewRecord { timestamp: record.timestamp, key: record.key.as_deref(), value: record.value.as_deref(), headers: &headers };
        builder.append(&new).expect("appended");
    }
    builder.build().expect("built")
}

/// Takes any timestamp and any size.
fn lenient(compression: Option<Compression>) -> ValidationConfig {
    ValidationConfig { compression, max_message_bytes: usize::MAX, timestamp_after_max_ms: i64::MAX, ..ValidationConfig::default() }
}

/// The encoded records of an uncompressed batch, changed at some places.
fn damaged_records() -> impl Strategy<Value = (i32, Vec<u8>)> {
    (many_records(), vec((any::<prop::sample::Index>(), any::<u8>()), 0..3), any::<bool>()).prop_map(|(records, changes, near_start)| {
        let mut bytes = build(&records, CompressionType::None).split_off(61);
        for (index, byte) in changes {
            let reach = if near_start { bytes.len().min(12) } else { bytes.len() };
            let at = index.index(reach);
            bytes[at] = byte;
        }
        (records.len() as i32, bytes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_built_reads_the_same(expected in many_records(), codec in codec()) {
        let bytes = build(&expected, codec);
        let batch = only_batch(&bytes);
        prop_assert_eq!(batch.header.max_timestamp, expected.iter().map(|record| record.timestamp).max().unwrap_or(-1));
        prop_assert_eq!(records(&batch), expected);
    }

    #[test]
    fn validation_keeps_records_whatever_the_codecs(mut expected in many_records(), source in codec(), target in codec()) {
        let bytes = build(&expected, source);
        let stored = validate_with(&bytes, lenient(Some(Compression::with_default_level(target))), &mut Default::default())
            .expect("a good batch");
        let batch = only_batch(&stored);
        for record in &mut expected {
            record.offset += 100;
        }
        prop_assert_eq!(batch.header.compression(), Ok(target));
        prop_assert_eq!((batch.header.base_offset, batch.header.partition_leader_epoch), (100, 7));
        prop_assert_eq!(batch.header.max_timestamp, expected.iter().map(|record| record.timestamp).max().unwrap_or(-1));
        prop_assert_eq!(records(&batch), expected);
        prop_assert!(source != target || stored[61..] == bytes[61..], "records are copied only when the codec changes");
    }

    #[test]
    fn compression_changes_no_verdict((count, encoded) in damaged_records(), codec in codec()) {
        let verdict = |codec, target| {
            let batch = batch_with_payload(codec, count, &compress(codec, &encoded));
            validate_with(&batch, lenient(target), &mut Default::default())
        };
        let plain = verdict(CompressionType::None, None);
        let compressed = verdict(codec, None);
        let rewritten = verdict(codec, Some(Compression::Snappy));
        match plain {
            Ok(_) => {
                // Offsets are only looked at in compressed batches, negative timestamps only when records are written anew.
                prop_assert!(matches!(compressed, Ok(_) | Err(ErrorCode::UnknownServerError)));
                prop_assert!(matches!(rewritten, Ok(_) | Err(ErrorCode::UnknownServerError)));
            }
            Err(code) => {
                prop_assert_eq!(compressed, Err(code));
                prop_assert!(rewritten == Err(code) || rewritten == Err(ErrorCode::UnknownServerError));
            }
        }
    }

    #[test]
    fn any_bytes_can_be_looked_at(bytes in bytes(400), version in 0..14i16) {
        let mut walk = Batches::new(&bytes);
        let whole: usize = walk.by_ref().map_while(Result::ok).map(|batch| batch.bytes.len()).sum();
        prop_assert_eq!(whole, walk.position());
        prop_assert!(produced_batch(&bytes, version).is_err() || whole > 0);
    }

    #[test]
    fn any_bytes_can_be_decompressed(codec in codec(), payload in bytes(400), count in 1..5i32) {
        if let Ok(stored) = validate_default(&batch_with_payload(codec, count, &payload)) {
            prop_assert_eq!(records(&only_batch(&stored)).len(), count as usize);
        }
    }

    #[test]
    fn a_changed_stream_is_read_or_refused(expected in many_records(), codec in codec(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
        let mut payload = build(&expected, codec).split_off(61);
        for (index, byte) in changes {
            let at = index.index(payload.len());
            payload[at] = byte;
        }
        if let Ok(stored) = validate_default(&batch_with_payload(codec, expected.len() as i32, &payload)) {
            prop_assert_eq!(records(&only_batch(&stored)).len(), expected.len());
        }
    }
}
