//! Batches made to exhaust memory: each bound has a test that hits it.

use ottla_model::ErrorCode;
use ottla_record::{
    BatchBuilder, BatchSettings, Compression, CompressionType, DecompressError, DecompressionBuffers, NewRecord, RECORD_REJECTIONS_MAX,
    RecordsError, ValidationConfig, produced_batch, validate,
};

use crate::support::{COMPRESSING, batch_of, batch_with_payload, only_batch, try_records, validate_default, validate_with};

const MEGABYTE: usize = 1024 * 1024;

fn unlimited() -> ValidationConfig {
    ValidationConfig { max_message_bytes: usize::MAX, ..ValidationConfig::default() }
}

#[test]
fn a_decompression_bomb_is_refused() {
    for codec in COMPRESSING {
        let bomb = batch_of(codec, &vec![0; 6 * MEGABYTE]);
        assert!(bomb.len() < MEGABYTE);
        let mut buffers = DecompressionBuffers::new(2 * MEGABYTE);
        assert_eq!(validate_with(&bomb, unlimited(), &mut buffers), Err(ErrorCode::MessageTooLarge), "{codec:?}");
        let rewriting = ValidationConfig { compression: Some(Compression::None), ..unlimited() };
        assert_eq!(validate_with(&bomb, rewriting, &mut buffers), Err(ErrorCode::MessageTooLarge), "{codec:?}");
        let too_large = RecordsError::Decompress(DecompressError::TooLarge { max: 2 * MEGABYTE });
        assert_eq!(try_records(&only_batch(&bomb), &mut buffers), Err(too_large));
        assert!(validate_default(&bomb).is_ok());
    }
}

#[test]
fn the_limit_is_met_to_the_byte() {
    for codec in COMPRESSING {
        let bytes = batch_of(codec, &[7; 1000]);
        // Size 2, attributes, timestamp and offset 3, key 2, value 2 + 1000, headers 1.
        let size = 1010;
        assert!(validate_with(&bytes, unlimited(), &mut DecompressionBuffers::new(size)).is_ok(), "{codec:?}");
        let refused = validate_with(&bytes, unlimited(), &mut DecompressionBuffers::new(size - 1));
        assert_eq!(refused, Err(ErrorCode::MessageTooLarge), "{codec:?}");
    }
}

#[test]
fn claims_are_not_believed() {
    // A snappy block of a few bytes that claims 200 MB.
    let mut claim = vec![0x80, 0x84, 0xaf, 0x5f];
    claim.extend_from_slice(&[0; 8]);
    assert_eq!(validate_default(&batch_with_payload(CompressionType::Snappy, 1, &claim)), Err(ErrorCode::UnknownServerError));
    // A zstd frame that asks for a window of 256 MiB.
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 18 << 3, 0x01, 0x00, 0x00];
    assert_eq!(validate_default(&batch_with_payload(CompressionType::Zstd, 1, &window)), Err(ErrorCode::UnknownServerError));
    // A record that claims 2 GiB, in a stream that has nothing of the kind.
    for codec in CompressionType::ALL {
        let payload = crate::support::compress(codec, &[0xfe, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 1, 1, 0]);
        assert_eq!(validate_default(&batch_with_payload(codec, 1, &payload)), Err(ErrorCode::InvalidRecord), "{codec:?}");
    }
    // Two billion records, none of which is there.
    for codec in CompressionType::ALL {
        let payload = crate::support::compress(codec, &[]);
        let answer = validate_default(&batch_with_payload(codec, i32::MAX, &payload));
        assert_eq!(answer, Err(ErrorCode::InvalidRecord), "{codec:?}");
    }
}

#[test]
fn a_client_hears_of_so_many_rejected_records_and_no_more() {
    let mut builder =
        BatchBuilder::new(BatchSettings { compression: Compression::Zstd { level: 3 }, ..BatchSettings::default() }).expect("settings");
    let count = RECORD_REJECTIONS_MAX + 5;
    for _ in 0..count {
        builder.append(&NewRecord::default()).expect("appended");
    }
    let bytes = builder.build().expect("built");
    let batch = produced_batch(&bytes, 13).expect("a batch");
    let config = ValidationConfig { is_compacted: true, ..ValidationConfig::default() };
    let context = ottla_record::AppendContext { origin: ottla_record::AppendOrigin::Client, now_ms: 0 };
    let error = validate(&batch, &config, context, &mut DecompressionBuffers::default()).expect_err("keys are missing");
    assert_eq!(error.code(), ErrorCode::InvalidRecord);
    assert_eq!(error.rejections().len(), RECORD_REJECTIONS_MAX);
    assert!(error.client_message().is_some_and(|message| message.contains(&count.to_string())));
}

#[test]
fn what_recompression_makes_too_large_is_refused() {
    let bytes = batch_of(CompressionType::Zstd, &[0; 5000]);
    let config = ValidationConfig { max_message_bytes: 5000, compression: Some(Compression::None), ..ValidationConfig::default() };
    assert_eq!(validate_with(&bytes, config, &mut DecompressionBuffers::default()), Err(ErrorCode::MessageTooLarge));
}
