//! Snappy as the Java library frames it ("xerial"): a 16-byte header, then blocks with a 4-byte big endian size each. A raw block without
//! header is read too, as `SnappyInputStream` does; old librdkafka and other clients have sent those.

use super::window::Window;
use super::{Budget, DecompressError, malformed};
use crate::attributes::CompressionType;

const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
const HEADER: usize = 16;
const VERSION: i32 = 1;
const VERSION_MIN: i32 = 1;
/// The block size of `SnappyOutputStream`.
const BLOCK_SIZE: usize = 32 * 1024;
/// A copy element of three bytes stands for at most 64: no block decompresses to more than this many times its size.
const RATIO_MAX: usize = 22;

pub(super) struct SnappyDecoder<'a> {
    input: &'a [u8],
    framed: Option<bool>,
}

impl<'a> SnappyDecoder<'a> {
    pub(super) const fn new(input: &'a [u8]) -> SnappyDecoder<'a> {
        SnappyDecoder { input, framed: None }
    }

    /// Decompresses one block, if it claims no more bytes than `budget` has left.
    pub(super) fn advance(&mut self, window: &mut Window, budget: Budget) -> Result<bool, DecompressError> {
        match self.framed {
            None if self.input.is_empty() => Err(error("the input is empty")),
            None if self.input.len() >= HEADER && self.input.starts_with(&MAGIC) => {
                self.read_header()?;
                Ok(true)
            }
            None => {
                let block = std::mem::take(&mut self.input);
                self.framed = Some(false);
                decompress_block(block, window, budget)?;
                Ok(true)
            }
            Some(false) => Ok(false),
            Some(true) => self.read_block(window, budget),
        }
    }

    fn read_header(&mut self) -> Result<(), DecompressError> {
        let version = self.input[MAGIC.len()..].first_chunk().map_or(0, |bytes| i32::from_be_bytes(*bytes));
        if version < VERSION_MIN {
            return Err(error(format!("version {version} is not supported")));
        }
        self.input = &self.input[HEADER..];
        self.framed = Some(true);
        Ok(())
    }

    fn read_block(&mut self, window: &mut Window, budget: Budget) -> Result<bool, DecompressError> {
        // Fewer bytes than a size are ignored, as in Java.
        let Some(&size) = self.input.first_chunk::<4>() else { return Ok(false) };
        if size[..] == MAGIC[..4] {
            if self.input.len() < HEADER {
                return Err(error("a header within the stream is cut off"));
            }
            if !self.input.starts_with(&MAGIC) {
                return Ok(false);
            }
            self.read_header()?;
            return Ok(true);
        }
        let size = usize::try_from(i32::from_be_bytes(size)).map_err(|_| error("a block has a negative size"))?;
        let block = self.input.get(4..).and_then(|rest| rest.get(..size)).ok_or_else(|| error("a block is cut off"))?;
        self.input = &self.input[4 + size..];
        decompress_block(block, window, budget)?;
        Ok(true)
    }
}

fn decompress_block(block: &[u8], window: &mut Window, budget: Budget) -> Result<(), DecompressError> {
    let size = snap::raw::decompress_len(block).map_err(|cause| error(cause.to_string()))?;
    // The size is what the block claims: memory is given only for what its bytes can stand for.
    if size > block.len().saturating_mul(RATIO_MAX) {
        return Err(error("a block claims more bytes than it can hold"));
    }
    budget.check(size)?;
    let spare = window.spare(size);
    let written = snap::raw::Decoder::new().decompress(block, &mut spare[..size]).map_err(|cause| error(cause.to_string()))?;
    window.commit(written);
    Ok(())
}

fn error(reason: impl Into<String>) -> DecompressError {
    malformed(CompressionType::Snappy, reason)
}

/// Compresses in blocks as `SnappyOutputStream` does.
pub(super) struct SnappyEncoder {
    out: Vec<u8>,
    block: Vec<u8>,
    encoder: snap::raw::Encoder,
}

impl SnappyEncoder {
    pub(super) fn new(mut out: Vec<u8>) -> SnappyEncoder {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&VERSION_MIN.to_be_bytes());
        SnappyEncoder { out, block: Vec::with_capacity(BLOCK_SIZE), encoder: snap::raw::Encoder::new() }
    }

    pub(super) fn write(&mut self, mut bytes: &[u8]) -> Result<(), snap::Error> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(BLOCK_SIZE - self.block.len()));
            self.block.extend_from_slice(now);
            if self.block.len() == BLOCK_SIZE {
                self.write_block()?;
            }
            bytes = later;
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<Vec<u8>, snap::Error> {
        if !self.block.is_empty() {
            self.write_block()?;
        }
        Ok(self.out)
    }

    fn write_block(&mut self) -> Result<(), snap::Error> {
        let start = self.out.len() + 4;
        self.out.resize(start + snap::raw::max_compress_len(self.block.len()), 0);
        let size = self.encoder.compress(&self.block, &mut self.out[start..])?;
        self.out.truncate(start + size);
        self.out[start - 4..start].copy_from_slice(&(size as u32).to_be_bytes());
        self.block.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_memory_is_given_for_an_impossible_claim() {
        // Claims 200 MB.
        let block = [0x80, 0x84, 0xaf, 0x5f, 0, 0, 0, 0];
        let mut window = Window::new();
        let budget = Budget { left: usize::MAX, max: usize::MAX };
        assert!(SnappyDecoder::new(&block).advance(&mut window, budget).is_err());
        assert_eq!(window.capacity(), 0);
    }

    #[test]
    fn the_densest_block_is_within_the_ratio() {
        let block = snap::raw::Encoder::new().compress_vec(&[7; 1 << 20]).expect("compressed");
        let mut window = Window::new();
        let budget = Budget { left: usize::MAX, max: usize::MAX };
        assert_eq!(SnappyDecoder::new(&block).advance(&mut window, budget), Ok(true));
        assert_eq!(window.unread().len(), 1 << 20);
    }
}
