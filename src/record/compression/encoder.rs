//! One interface over the compressors of all codecs: bytes in, appended compressed to a vector.

use std::io::{self, Write};

use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};

use super::snappy::SnappyEncoder;
use super::{CompressError, Compression};
use crate::attributes::CompressionType;

/// Small writes are collected up to this size, as Kafka does in front of gzip and zstd.
const PENDING_SIZE: usize = 16 * 1024;

enum Target {
    None(Vec<u8>),
    Gzip(flate2::write::GzEncoder<Vec<u8>>),
    Snappy(Box<SnappyEncoder>),
    Lz4(Box<FrameEncoder<Vec<u8>>>),
    Zstd(zstd::Encoder<'static, Vec<u8>>),
}

/// Compresses what is written to it.
pub(crate) struct Encoder {
    target: Target,
    codec: CompressionType,
    pending: Vec<u8>,
}

impl Encoder {
    /// An encoder that appends to `out`.
    pub(crate) fn new(compression: Compression, out: Vec<u8>) -> Result<Encoder, CompressError> {
        let codec = compression.codec();
        let target = match compression {
            Compression::None => Target::None(out),
            Compression::Gzip { level } => {
                // -1 is zlib's own way to say "the default".
                let level = u32::try_from(level).map_or_else(|_| flate2::Compression::default(), flate2::Compression::new);
                Target::Gzip(flate2::write::GzEncoder::new(out, level))
            }
            Compression::Snappy => Target::Snappy(Box::new(SnappyEncoder::new(out))),
            Compression::Lz4 => {
                let frame = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
                Target::Lz4(Box::new(FrameEncoder::with_frame_info(frame, out)))
            }
            Compression::Zstd { level } => Target::Zstd(zstd::Encoder::new(out, level).map_err(|source| CompressError { codec, source })?),
        };
        Ok(Encoder { target, codec, pending: Vec::new() })
    }

    /// Lets `write` append uncompressed bytes.
    pub(crate) fn append(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), CompressError> {
        if let Target::None(out) = &mut self.target {
            write(out);
            return Ok(());
        }
        write(&mut self.pending);
        if self.pending.len() >= PENDING_SIZE { self.compress_pending() } else { Ok(()) }
    }

    /// Everything that was in `out` and, compressed, everything that was appended.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, CompressError> {
        self.compress_pending()?;
        let codec = self.codec;
        let finished = match self.target {
            Target::None(out) => Ok(out),
            Target::Gzip(encoder) => encoder.finish(),
            Target::Snappy(encoder) => encoder.finish().map_err(io::Error::other),
            Target::Lz4(encoder) => encoder.finish().map_err(io::Error::other),
            Target::Zstd(encoder) => encoder.finish(),
        };
        finished.map_err(|source| CompressError { codec, source })
    }

    fn compress_pending(&mut self) -> Result<(), CompressError> {
        let pending = &self.pending;
        let compressed = match &mut self.target {
            Target::None(out) => {
                out.extend_from_slice(pending);
                Ok(())
            }
            Target::Gzip(encoder) => encoder.write_all(pending),
            Target::Snappy(encoder) => encoder.write(pending).map_err(io::Error::other),
            Target::Lz4(encoder) => encoder.write_all(pending),
            Target::Zstd(encoder) => encoder.write_all(pending),
        };
        self.pending.clear();
        compressed.map_err(|source| CompressError { codec: self.codec, source })
    }
}
