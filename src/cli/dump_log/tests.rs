use bytes::Bytes;
use ottla_io::{MemoryDisk, write_file};
use ottla_protocol::Message;
use ottla_protocol::messages::offset_commit_key::OffsetCommitKey;
use ottla_protocol::messages::offset_commit_value::OffsetCommitValue;
use ottla_record::{BatchBuilder, BatchSettings, NewRecord, ProducerFields};

use super::*;

fn args(files: &[&str]) -> DumpLogArgs {
    DumpLogArgs {
        files: files.iter().map(PathBuf::from).collect(),
        print_data_log: false,
        deep_iteration: false,
        max_bytes: u64::MAX,
        skip_record_metadata: false,
        decoders: DecoderArgs {
            offsets_decoder: false,
            transaction_log_decoder: false,
            cluster_metadata_decoder: false,
            share_group_state_decoder: false,
        },
    }
}

fn dumped(args: &DumpLogArgs, content: &[u8]) -> String {
    let disk = MemoryDisk::new();
    for path in &args.files {
        write_file(&disk, path, content).expect("written");
    }
    let mut out = Vec::new();
    dump_all(args, &disk, &mut out).expect("dumped");
    String::from_utf8(out).expect("text")
}

/// A key and a value.
type KeyValue<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

fn batch(settings: BatchSettings, records: &[KeyValue<'_>]) -> Vec<u8> {
    let mut builder = BatchBuilder::new(settings).expect("settings");
    for (key, value) in records {
        builder.append(&NewRecord { timestamp: 1000, key: *key, value: *value, headers: &[] }).expect("appended");
    }
    builder.build().expect("built")
}

#[test]
fn a_log_is_told_batch_by_batch_and_record_by_record() {
    let producer = ProducerFields { producer_id: 4, producer_epoch: 1, base_sequence: 7 };
    let settings = BatchSettings { base_offset: 5, partition_leader_epoch: 2, producer, ..BatchSettings::default() };
    let mut content = batch(settings, &[(Some(b"k"), Some(b"one")), (None, Some(b"two"))]);
    content.extend_from_slice(&[0; 7]);
    let mut args = args(&["/00000000000000000005.log"]);
    let crc = u32::from_be_bytes(*content[17..].first_chunk().expect("a header"));
    let size = content.len() - 7;
    let header = format!(
        "Dumping /00000000000000000005.log\nLog starting offset: 5\n\
         baseOffset: 5 lastOffset: 6 count: 2 baseSequence: 7 lastSequence: 8 producerId: 4 producerEpoch: 1 partitionLeaderEpoch: 2 \
         isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1000 size: {size} magic: 2 \
         compresscodec: none crc: {crc} isvalid: true\n"
    );
    let trailer = "Found 7 invalid bytes at the end of 00000000000000000005.log\n";
    assert_eq!(dumped(&args, &content), format!("{header}{trailer}"));
    args.print_data_log = true;
    let records = "| offset: 5 CreateTime: 1000 keySize: 1 valueSize: 3 sequence: 7 headerKeys: [] key: k payload: one\n\
                   | offset: 6 CreateTime: 1000 keySize: -1 valueSize: 3 sequence: 8 headerKeys: [] payload: two\n";
    assert_eq!(dumped(&args, &content), format!("{header}{records}{trailer}"));
    args.skip_record_metadata = true;
    assert_eq!(dumped(&args, &content), format!("{header}| key: k payload: one\n| payload: two\n{trailer}"));
}

#[test]
fn a_damaged_batch_is_shown_as_such() {
    let mut content = batch(BatchSettings::default(), &[(None, Some(b"one"))]);
    let last = content.len() - 2;
    content[last] ^= 1;
    assert!(dumped(&args(&["/00000000000000000000.log"]), &content).contains("isvalid: false"));
}

#[test]
fn offsets_are_decoded() {
    let prefixed = |prefix: i16, bytes: Bytes| [&prefix.to_be_bytes()[..], &bytes].concat();
    let key = OffsetCommitKey { group: "g".into(), topic: "t".into(), partition: 3, ..Default::default() };
    let key = prefixed(1, key.to_bytes(0).expect("bytes"));
    let value = OffsetCommitValue { offset: 42, ..Default::default() };
    let value = prefixed(4, value.to_bytes(4).expect("bytes"));
    let content = batch(BatchSettings::default(), &[(Some(&key), Some(&value)), (Some(&key), None), (Some(&[0, 99]), None)]);
    let mut args = args(&["/00000000000000000000.log"]);
    args.decoders.offsets_decoder = true;
    args.skip_record_metadata = true;
    let dumped = dumped(&args, &content);
    let lines: Vec<_> = dumped.lines().skip(3).collect();
    assert!(
        lines[0].starts_with(
            r#"| key: OffsetCommitKey { group: "g", topic: "t", partition: 3 } payload: version 4: OffsetCommitValue { offset: 42,"#
        ),
        "{}",
        lines[0]
    );
    assert!(lines[1].ends_with("payload: <DELETE>"), "{}", lines[1]);
    assert_eq!(lines[2], "| key: Unknown record type 99 at offset 2, skipping.");
}

#[test]
fn indexes_end_at_the_first_empty_entry() {
    let mut content = Vec::new();
    for (offset, position) in [(3i32, 100i32), (9, 4200), (0, 0), (0, 0)] {
        content.extend_from_slice(&offset.to_be_bytes());
        content.extend_from_slice(&position.to_be_bytes());
    }
    let expected = "Dumping /00000000000000000010.index\noffset: 13 position: 100\noffset: 19 position: 4200\n";
    assert_eq!(dumped(&args(&["/00000000000000000010.index"]), &content), expected);
    let mut content = Vec::new();
    for (timestamp, offset) in [(1000i64, 3i32), (0, 0)] {
        content.extend_from_slice(&timestamp.to_be_bytes());
        content.extend_from_slice(&offset.to_be_bytes());
    }
    let expected = "Dumping /00000000000000000010.timeindex\ntimestamp: 1000 offset: 13\n";
    assert_eq!(dumped(&args(&["/00000000000000000010.timeindex"]), &content), expected);
}
