//! Compressed records: which codecs and levels there are, decompression in pieces into reused memory, and compression.
//!
//! Only bytes go in and out here; what they mean is the business of the reader and the builder.

mod decoder;
mod encoder;
mod gzip;
mod lz4;
mod snappy;
mod window;
mod zstd;

use crate::attributes::CompressionType;

pub(crate) use decoder::DecompressedStream;
pub use decoder::DecompressionBuffers;
pub(crate) use encoder::Encoder;

/// The most bytes that the records of one batch may decompress to, unless the caller says otherwise. Kafka has no such limit; the largest
/// uncompressed batch it takes with default settings is 100 MiB (`socket.request.max.bytes`).
pub const DECOMPRESSED_SIZE_MAX: usize = 256 * 1024 * 1024;

/// A codec together with its level (`org.apache.kafka.common.compress.Compression`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// `level` as `compression.gzip.level`: 1 to 9, or -1 for zlib's default.
    Gzip {
        /// 1 to 9, or -1.
        level: i32,
    },
    /// Snappy has no levels.
    Snappy,
    /// One level only: Kafka's `compression.lz4.level` of 9, its default, names the same fast compressor, and the others have no
    /// counterpart.
    Lz4,
    /// `level` as `compression.zstd.level`.
    Zstd {
        /// -131072 to 22; 0 is zstd's default.
        level: i32,
    },
}

impl Compression {
    /// The codec at the level that Kafka uses when none is configured.
    pub const fn with_default_level(codec: CompressionType) -> Compression {
        match codec {
            CompressionType::None => Compression::None,
            CompressionType::Gzip => Compression::Gzip { level: -1 },
            CompressionType::Snappy => Compression::Snappy,
            CompressionType::Lz4 => Compression::Lz4,
            CompressionType::Zstd => Compression::Zstd { level: 3 },
        }
    }

    /// The codec.
    pub const fn codec(self) -> CompressionType {
        match self {
            Compression::None => CompressionType::None,
            Compression::Gzip { .. } => CompressionType::Gzip,
            Compression::Snappy => CompressionType::Snappy,
            Compression::Lz4 => CompressionType::Lz4,
            Compression::Zstd { .. } => CompressionType::Zstd,
        }
    }
}

/// Why records could not be decompressed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecompressError {
    /// The bytes are not what the codec writes, or end too early.
    #[error("the {} data is malformed: {reason}", .codec.name())]
    Malformed {
        /// The codec that the batch names.
        codec: CompressionType,
        /// What it found.
        reason: String,
    },
    /// The records are larger than the reader accepts.
    #[error("the records decompress to more than {max} bytes")]
    TooLarge {
        /// The limit.
        max: usize,
    },
}

/// The codec's library refused to compress, which it does for a level that it does not have or when memory is short.
#[derive(Debug, thiserror::Error)]
#[error("the {} compressor failed: {source}", .codec.name())]
pub struct CompressError {
    /// The codec.
    pub codec: CompressionType,
    /// What its library says.
    pub source: std::io::Error,
}

/// What a batch may still decompress to.
#[derive(Clone, Copy)]
struct Budget {
    left: usize,
    max: usize,
}

impl Budget {
    fn check(self, size: usize) -> Result<(), DecompressError> {
        if size > self.left { Err(DecompressError::TooLarge { max: self.max }) } else { Ok(()) }
    }
}

fn malformed(codec: CompressionType, reason: impl Into<String>) -> DecompressError {
    DecompressError::Malformed { codec, reason: reason.into() }
}
