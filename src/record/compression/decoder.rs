//! One interface over the decoders of all codecs: decompressed bytes piece by piece, never more than the limit in total.

use super::gzip::GzipDecoder;
use super::lz4::Lz4Decoder;
use super::snappy::SnappyDecoder;
use super::window::Window;
use super::zstd::ZstdDecoder;
use super::{Budget, DECOMPRESSED_SIZE_MAX, DecompressError};
use crate::attributes::CompressionType;

/// zstd contexts that grew beyond this for one batch (its window may be up to 128 MiB) are not kept.
const ZSTD_CONTEXT_KEPT_MAX: usize = 16 * 1024 * 1024;

/// Memory and contexts for decompression, reused from batch to batch (Kafka's `BufferSupplier`). One per thread; empty until the first
/// compressed batch.
pub struct DecompressionBuffers {
    window: Window,
    inflate: Option<flate2::Decompress>,
    zstd: Option<zstd::zstd_safe::DCtx<'static>>,
    decompressed_size_max: usize,
}

impl DecompressionBuffers {
    /// Buffers for batches whose records decompress to at most `decompressed_size_max` bytes.
    pub const fn new(decompressed_size_max: usize) -> DecompressionBuffers {
        DecompressionBuffers { window: Window::new(), inflate: None, zstd: None, decompressed_size_max }
    }

    /// Makes ready for the next batch and gives back memory that only a rare batch needs.
    fn reset(&mut self) {
        self.window.reset();
        if self.zstd.as_ref().is_some_and(|context| context.sizeof() > ZSTD_CONTEXT_KEPT_MAX) {
            self.zstd = None;
        }
    }
}

impl Default for DecompressionBuffers {
    fn default() -> DecompressionBuffers {
        DecompressionBuffers::new(DECOMPRESSED_SIZE_MAX)
    }
}

impl std::fmt::Debug for DecompressionBuffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DecompressionBuffers").field("decompressed_size_max", &self.decompressed_size_max).finish_non_exhaustive()
    }
}

enum Decoder<'a> {
    Gzip(GzipDecoder<'a>),
    Snappy(SnappyDecoder<'a>),
    Lz4(Lz4Decoder<'a>),
    Zstd(ZstdDecoder<'a>),
}

/// The decompressed records of one batch as a stream of bytes.
pub(crate) struct DecompressedStream<'a> {
    decoder: Decoder<'a>,
    buffers: &'a mut DecompressionBuffers,
    produced: usize,
    ended: bool,
}

impl<'a> DecompressedStream<'a> {
    /// Begins to decompress `compressed`; `None` when `codec` is no compression.
    pub(crate) fn new(codec: CompressionType, compressed: &'a [u8], buffers: &'a mut DecompressionBuffers) -> Option<Self> {
        let decoder = match codec {
            CompressionType::None => return None,
            CompressionType::Gzip => Decoder::Gzip(GzipDecoder::new(compressed)),
            CompressionType::Snappy => Decoder::Snappy(SnappyDecoder::new(compressed)),
            CompressionType::Lz4 => Decoder::Lz4(Lz4Decoder::new(compressed)),
            CompressionType::Zstd => Decoder::Zstd(ZstdDecoder::new(compressed)),
        };
        Some(DecompressedStream { decoder, buffers, produced: 0, ended: false })
    }

    /// The decompressed bytes that have not been read yet, as far as they are there.
    #[inline(always)]
    pub(crate) fn unread(&self) -> &[u8] {
        self.buffers.window.unread()
    }

    /// Takes `length` of the unread bytes away and hands them out.
    #[inline(always)]
    pub(crate) fn take(&mut self, length: usize) -> &[u8] {
        self.buffers.window.take(length)
    }

    /// Decompresses until at least `wanted` bytes are unread or the stream ends; answers how many there are.
    pub(crate) fn fill(&mut self, wanted: usize) -> Result<usize, DecompressError> {
        while self.unread().len() < wanted && self.advance()? {}
        Ok(self.unread().len())
    }

    /// Takes `length` bytes away without keeping them in memory; `false` when the stream ends before.
    pub(crate) fn skip(&mut self, length: usize) -> Result<bool, DecompressError> {
        let mut left = length;
        loop {
            let step = left.min(self.unread().len());
            self.take(step);
            left -= step;
            if left == 0 {
                return Ok(true);
            }
            if !self.advance()? {
                return Ok(false);
            }
        }
    }

    /// Decompresses one more piece; `false` at the end of the stream.
    fn advance(&mut self) -> Result<bool, DecompressError> {
        if self.ended {
            return Ok(false);
        }
        let DecompressionBuffers { window, inflate, zstd, decompressed_size_max: max } = &mut *self.buffers;
        let budget = Budget { left: *max - self.produced, max: *max };
        let unread_before = window.unread().len();
        let more = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.advance(inflate, window)?,
            Decoder::Snappy(decoder) => decoder.advance(window, budget)?,
            Decoder::Lz4(decoder) => decoder.advance(window)?,
            Decoder::Zstd(decoder) => decoder.advance(zstd, window)?,
        };
        let produced = window.unread().len() - unread_before;
        budget.check(produced)?;
        self.produced += produced;
        self.ended = !more;
        Ok(more)
    }
}

impl Drop for DecompressedStream<'_> {
    fn drop(&mut self) {
        self.buffers.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::window::CHUNK;
    use crate::compression::{Compression, Encoder};

    const LENGTH: usize = 4 * 1024 * 1024;

    fn compressed(codec: CompressionType) -> Vec<u8> {
        let mut encoder = Encoder::new(Compression::with_default_level(codec), Vec::new()).expect("an encoder");
        encoder.append(|out| out.resize(LENGTH, b'z')).expect("compressed");
        encoder.finish().expect("compressed")
    }

    #[test]
    fn a_large_record_is_passed_over_in_little_memory() {
        for codec in [CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4, CompressionType::Zstd] {
            let bytes = compressed(codec);
            let mut buffers = DecompressionBuffers::default();
            let mut stream = DecompressedStream::new(codec, &bytes, &mut buffers).expect("a codec");
            assert_eq!(stream.skip(LENGTH - 1), Ok(true));
            assert_eq!(stream.fill(2), Ok(1));
            assert_eq!(stream.take(1), b"z");
            assert_eq!(stream.skip(1), Ok(false));
            assert!(stream.buffers.window.capacity() <= 2 * CHUNK, "{codec:?}");
        }
    }

    #[test]
    fn a_large_zstd_window_is_given_back() {
        let mut encoder = Encoder::new(Compression::Zstd { level: 22 }, Vec::new()).expect("an encoder");
        encoder.append(|out| out.resize(LENGTH, b'z')).expect("compressed");
        let bytes = encoder.finish().expect("compressed");
        let mut buffers = DecompressionBuffers::default();
        let mut stream = DecompressedStream::new(CompressionType::Zstd, &bytes, &mut buffers).expect("a codec");
        assert_eq!(stream.skip(LENGTH), Ok(true));
        assert!(stream.buffers.zstd.as_ref().is_some_and(|context| context.sizeof() > ZSTD_CONTEXT_KEPT_MAX));
        drop(stream);
        assert!(buffers.zstd.is_none());
    }
}
