//! Compares the codec with bytes that Kafka's own classes wrote (`testdata/`). Each line there is `version variant hex`: variant `default`
//! has default values, `filled` a value in every field computed from the field's path, others whatever their name says.
//! Every line must come back unchanged after decoding and encoding, and `filled` must be what filling the message here yields.

use bytes::Bytes;
use ottla_model::Uuid;

use crate::message::Message;
use crate::reader::Reader;
use crate::records::Records;
use crate::writer::Writer;

fn hash(path: &str) -> u32 {
    let mut crc = u32::MAX;
    for byte in path.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

macro_rules! number {
    ($name:ident, $kind:ty, $modulus:expr) => {
        pub fn $name(path: &str, default: $kind) -> $kind {
            let value = (u64::from(hash(path)) % $modulus + 1) as $kind;
            if value == default { value + 1 as $kind } else { value }
        }
    };
}

number!(int8, i8, 100);
number!(int16, i16, 30_000);
number!(uint16, u16, 30_000);
number!(int32, i32, 1_000_000_000);
number!(uint32, u32, 1_000_000_000);
number!(int64, i64, u64::MAX);

pub fn float64(path: &str, _default: f64) -> f64 {
    f64::from(hash(path) % 1000) + 0.5
}

pub fn string(path: &str, default: &str) -> String {
    let number = hash(path) % 1000;
    let value = format!("s{number}");
    if value == default { format!("s{}", number + 1) } else { value }
}

pub fn bytes(path: &str) -> Bytes {
    let hash = hash(path);
    Bytes::from(vec![(hash >> 8) as u8, hash as u8])
}

pub fn records() -> Records {
    Records::default()
}

pub fn uuid(path: &str) -> Uuid {
    let hash = u64::from(hash(path));
    Uuid::from_u64_pair(hash, hash + 1)
}

pub fn encode<M: Message>(message: &M, version: i16) -> Result<Bytes, String> {
    message.to_bytes(version).map_err(|error| error.to_string())
}

pub fn transcode<M: Message>(version: i16, bytes: Bytes) -> Result<Bytes, String> {
    let mut reader = Reader::new(bytes);
    let message = M::decode(&mut reader, version).map_err(|error| error.to_string())?;
    if reader.remaining() > 0 {
        return Err(format!("{} bytes left unread", reader.remaining()));
    }
    let mut writer = Writer::new();
    message.encode(&mut writer, version).map_err(|error| error.to_string())?;
    writer.into_bytes().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use crate::messages::by_name;
    use bytes::Bytes;
    use std::path::Path;

    fn from_hex(text: &str) -> Bytes {
        let digit = |byte: u8| (byte as char).to_digit(16).expect("a hex digit") as u8;
        text.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect::<Vec<_>>().into()
    }

    #[test]
    fn bytes_are_kafkas() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
        let mut failures = Vec::new();
        for &(name, first, last) in by_name::VERSIONS {
            let path = folder.join(format!("{name}.txt"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut filled_versions = 0;
            for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
                let mut words = line.split(' ');
                let version: i16 = words.next().expect("version").parse().expect("version");
                let variant = words.next().expect("variant");
                let bytes = from_hex(words.next().unwrap_or(""));
                let transcoded = by_name::transcode(name, version, bytes.clone()).expect("a known name");
                if transcoded.as_ref() != Ok(&bytes) {
                    failures.push(format!("{name} v{version} {variant}: {bytes:?} became {transcoded:?}"));
                }
                if variant == "filled" {
                    filled_versions += 1;
                    let filled = by_name::filled(name, version).expect("a known name");
                    if filled.as_ref() != Ok(&bytes) {
                        failures.push(format!("{name} v{version} filled: expected {bytes:?}, got {filled:?}"));
                    }
                }
            }
            assert_eq!(filled_versions, last - first + 1, "{name}: every version has a line");
        }
        assert!(failures.is_empty(), "{} failures, first ones:\n{}", failures.len(), failures[..failures.len().min(12)].join("\n"));
    }
}
