//! What a real Kafka log answers to batches that are appended as leader (`testdata/validation.txt`, made by
//! `compat-tests/golden/make-records`), compared with Ottla's validation: the error and the rejected records, or the stored bytes.

use std::collections::BTreeMap;

use ottla_model::ErrorCode;
use ottla_record::{
    AppendContext, AppendOrigin, Batch, Compression, CompressionType, DecompressionBuffers, TimestampType, ValidationConfig,
    produced_batch, validate,
};

use crate::support::{from_hex, only_batch, records};

const GOLDEN: &str = include_str!("../../testdata/validation.txt");
const NOW: i64 = 1_700_000_000_000;
const NEXT_OFFSET: i64 = 1;
const LEADER_EPOCH: i32 = 5;

/// Where Ottla means to answer otherwise than Kafka, and why.
const DIFFERENT: [(&str, i16); 1] = [
    // Kafka takes a size that never ends for a fault of its own (-1), but only in front of an uncompressed record.
    ("record-size-endless", 87),
];

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Error { code: i16, rejected: Vec<i32> },
    Stored(Vec<u8>),
}

struct Case<'a> {
    name: &'a str,
    config: ValidationConfig,
    origin: AppendOrigin,
    version: i16,
    input: Vec<u8>,
    answer: Answer,
}

fn field<'a>(line: Option<&'a str>, name: &str) -> &'a str {
    let line = line.expect("a line");
    line.strip_prefix(name).unwrap_or_else(|| panic!("{line} is no {name}")).trim_start()
}

fn cases() -> Vec<Case<'static>> {
    let mut lines = GOLDEN.lines();
    let mut cases = Vec::new();
    while let Some(line) = lines.next() {
        let name = field(Some(line), "case");
        let config = config(field(lines.next(), "config"));
        let (origin, version) = field(lines.next(), "append").split_once(' ').expect("origin and version");
        let input = from_hex(field(lines.next(), "input"));
        let (kind, rest) = lines.next().and_then(|line| line.split_once(' ')).expect("an answer");
        let mut words = rest.split(' ');
        let answer = match kind {
            "stored" => Answer::Stored(from_hex(rest)),
            "error" => Answer::Error {
                code: words.next().and_then(|word| word.parse().ok()).expect("a code"),
                rejected: words.map(|word| word.parse().expect("an index")).collect(),
            },
            other => panic!("unknown answer {other}"),
        };
        let origin = if origin == "CLIENT" { AppendOrigin::Client } else { AppendOrigin::Coordinator };
        cases.push(Case { name, config, origin, version: version.parse().expect("a version"), input, answer });
    }
    cases
}

fn config(text: &str) -> ValidationConfig {
    let values: BTreeMap<&str, &str> = text.split(' ').filter_map(|entry| entry.split_once('=')).collect();
    let number = |key: &str, default: i64| values.get(key).map_or(default, |value| value.parse().expect("a number"));
    let defaults = ValidationConfig::default();
    ValidationConfig {
        max_message_bytes: number("max.message.bytes", defaults.max_message_bytes as i64) as usize,
        is_compacted: values.get("cleanup.policy").is_some_and(|policy| policy.contains("compact")),
        compression: match values.get("compression.type").copied() {
            None | Some("producer") => None,
            Some("uncompressed") => Some(Compression::None),
            Some("gzip") => Some(Compression::Gzip { level: number("compression.gzip.level", -1) as i32 }),
            Some(name) => CompressionType::from_name(name).map(Compression::with_default_level),
        },
        timestamp_type: match values.get("message.timestamp.type").copied() {
            Some("LogAppendTime") => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        },
        timestamp_before_max_ms: number("message.timestamp.before.max.ms", defaults.timestamp_before_max_ms),
        timestamp_after_max_ms: number("message.timestamp.after.max.ms", defaults.timestamp_after_max_ms),
    }
}

fn error(code: ErrorCode) -> Answer {
    Answer::Error { code: code.code(), rejected: Vec::new() }
}

fn append(case: &Case<'_>, buffers: &mut DecompressionBuffers) -> Answer {
    let batch: Batch<'_> = match produced_batch(&case.input, case.version) {
        Ok(batch) => batch,
        Err(refused) => return error(refused.code()),
    };
    match validate(&batch, &case.config, AppendContext { origin: case.origin, now_ms: NOW }, buffers) {
        Ok(mut validated) => {
            validated.stamp(NEXT_OFFSET, LEADER_EPOCH);
            let stored = [validated.header_bytes(), validated.records()].concat();
            assert_eq!(stored.len(), validated.size_in_bytes());
            assert_eq!(only_batch(&stored).header, *validated.header(), "{}", case.name);
            Answer::Stored(stored)
        }
        Err(refused) => {
            let rejected: Vec<i32> = refused.rejections().iter().map(|rejection| rejection.batch_index).collect();
            assert_eq!(refused.client_message().is_some(), !rejected.is_empty());
            Answer::Error { code: refused.code().code(), rejected }
        }
    }
}

/// Compressors differ, so compressed bytes that were written anew are compared by what is in them.
fn is_same_batch(ours: &[u8], kafkas: &[u8]) -> bool {
    let (ours, kafkas) = (only_batch(ours), only_batch(kafkas));
    let mut expected = kafkas.header;
    expected.batch_length = ours.header.batch_length;
    expected.crc = ours.header.crc;
    ours.header == expected && records(&ours) == records(&kafkas)
}

fn is_same(case: &Case<'_>, ours: &Answer) -> bool {
    match (ours, &case.answer) {
        (Answer::Stored(ours), Answer::Stored(kafkas)) => {
            let kept = case.input.get(61..kafkas.len()) == Some(&kafkas[61..]);
            let uncompressed = only_batch(kafkas).header.compression() == Ok(CompressionType::None);
            if kept || uncompressed { ours == kafkas } else { is_same_batch(ours, kafkas) }
        }
        (ours, kafkas) => ours == kafkas,
    }
}

#[test]
fn a_leader_answers_and_stores_what_kafka_does() {
    let mut buffers = DecompressionBuffers::default();
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() > 500);
    for case in &cases {
        let ours = append(case, &mut buffers);
        let right = match DIFFERENT.iter().find(|(name, _)| *name == case.name) {
            Some((_, code)) => ours != case.answer && ours == Answer::Error { code: *code, rejected: Vec::new() },
            None => is_same(case, &ours),
        };
        if !right {
            wrong.push(format!("{}: Kafka {:?}, Ottla {ours:?}", case.name, case.answer));
        }
    }
    assert!(wrong.is_empty(), "{} of {} answers differ:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
