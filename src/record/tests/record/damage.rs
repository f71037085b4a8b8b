//! Batches that were cut off or changed. What validation accepts must be readable, and nothing may panic.

use ottla_model::ErrorCode;
use ottla_record::{
    BatchBuilder, BatchHeader, BatchSettings, Batches, Compression, CompressionType, NewRecord, RecordHeader, ValidationConfig,
};

use crate::support::{only_batch, records, validate_default, validate_with};

fn example(codec: CompressionType) -> Vec<u8> {
    let settings = BatchSettings { compression: Compression::with_default_level(codec), ..BatchSettings::default() };
    let mut builder = BatchBuilder::new(settings).expect("settings");
    let headers = [RecordHeader { key: b"trace", value: Some(b"1") }];
    for index in 0..4 {
        let record = NewRecord { timestamp: 1000 + index, key: Some(b"key"), value: Some(b"value value value"), headers: &headers };
        builder.append(&record).expect("appended");
    }
    builder.build().expect("built")
}

#[test]
fn a_cut_batch_is_no_batch() {
    let bytes = example(CompressionType::None);
    for end in 0..bytes.len() {
        assert_eq!(validate_default(&bytes[..end]), Err(ErrorCode::InvalidRecord), "cut at {end}");
    }
    assert!(validate_default(&bytes).is_ok());
}

#[test]
fn any_flipped_bit_is_noticed_but_in_the_leader_epoch() {
    for codec in CompressionType::ALL {
        let good = example(codec);
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let answer = validate_default(&bytes);
            match bit / 8 {
                0..8 => assert_eq!(answer, Err(ErrorCode::InvalidRecord), "base offset"),
                // A longer batch is cut off; a shorter one has another checksum, or no room for a header.
                8..12 => assert!(matches!(answer, Err(ErrorCode::InvalidRecord | ErrorCode::CorruptMessage)), "length"),
                12..16 => assert!(answer.is_ok(), "leader epoch"),
                16 => assert!(matches!(answer, Err(ErrorCode::InvalidRecord | ErrorCode::CorruptMessage)), "magic"),
                _ => assert_eq!(answer, Err(ErrorCode::CorruptMessage), "bit {bit} with {codec:?}"),
            }
        }
    }
}

/// The checksum protects from accidents, not from clients: these batches have the right one.
#[test]
fn whatever_is_accepted_can_be_read() {
    for codec in CompressionType::ALL {
        let good = example(codec);
        for target in [None, Some(Compression::None), Some(Compression::Lz4)] {
            for bit in 21 * 8..good.len() * 8 {
                let mut bytes = good.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                reseal(&mut bytes);
                let config = ValidationConfig { compression: target, ..ValidationConfig::default() };
                if let Ok(stored) = validate_with(&bytes, config, &mut Default::default()) {
                    let batch = only_batch(&stored);
                    assert_eq!(records(&batch).len(), batch.header.records_count as usize, "bit {bit} with {codec:?}");
                }
            }
        }
    }
}

fn reseal(batch: &mut [u8]) {
    let (header, records) = batch.split_first_chunk_mut::<61>().expect("a header");
    let sealed = BatchHeader::parse(header).expect("a header").to_bytes_with_crc(records);
    header.copy_from_slice(&sealed);
}

#[test]
fn a_walk_over_a_damaged_log_stops_where_the_damage_is() {
    let batch = example(CompressionType::None);
    let log = [&batch[..], &batch, &batch].concat();
    for position in 0..log.len() {
        let mut damaged = log.clone();
        damaged[position] ^= 0x55;
        let whole = Batches::new(&damaged)
            .map_while(Result::ok)
            .take_while(|found| ottla_record::check_crc(&found.header, found.bytes).is_ok())
            .count();
        let outside_of_checksum = position % batch.len() < 8 || (12..16).contains(&(position % batch.len()));
        assert_eq!(whole, if outside_of_checksum { 3 } else { position / batch.len() }, "damage at {position}");
    }
}
