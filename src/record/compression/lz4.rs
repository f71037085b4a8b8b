//! The LZ4 frame format, as much of it as Kafka reads (`Lz4BlockInputStream`): independent blocks, header and block checksums verified,
//! content size and content checksum not, nothing behind the end mark looked at.

use twox_hash::XxHash32;

use super::window::Window;
use super::{DecompressError, malformed};
use crate::attributes::CompressionType;

const MAGIC: u32 = 0x184D_2204;
const UNCOMPRESSED_BLOCK: u32 = 0x8000_0000;
const VERSION: u8 = 1;

struct Frame {
    has_block_checksums: bool,
    block_size_max: usize,
}

pub(super) struct Lz4Decoder<'a> {
    input: &'a [u8],
    frame: Option<Frame>,
}

impl<'a> Lz4Decoder<'a> {
    pub(super) const fn new(input: &'a [u8]) -> Lz4Decoder<'a> {
        Lz4Decoder { input, frame: None }
    }

    pub(super) fn advance(&mut self, window: &mut Window) -> Result<bool, DecompressError> {
        match &self.frame {
            None => {
                self.frame = Some(self.read_header()?);
                Ok(true)
            }
            Some(Frame { has_block_checksums, block_size_max }) => {
                let (has_block_checksums, block_size_max) = (*has_block_checksums, *block_size_max);
                self.read_block(has_block_checksums, block_size_max, window)
            }
        }
    }

    fn read_header(&mut self) -> Result<Frame, DecompressError> {
        if self.take_u32()? != MAGIC {
            return Err(error("not an LZ4 frame"));
        }
        let descriptor = self.input;
        let [flags, block_descriptor] = *self.take(2)?.first_chunk().ok_or_else(cut_off)?;
        if flags >> 6 != VERSION || flags & 0b11 != 0 {
            return Err(error(format!("unknown frame flags {flags:#04x}")));
        }
        if flags & 0b10_0000 == 0 {
            return Err(error("dependent blocks are not supported"));
        }
        let size_code = block_descriptor >> 4;
        if block_descriptor & 0b1000_1111 != 0 || size_code < 4 {
            return Err(error(format!("unknown block descriptor {block_descriptor:#04x}")));
        }
        let has_content_size = flags & 0b1000 != 0;
        if has_content_size {
            self.take(8)?;
        }
        let checksummed = &descriptor[..descriptor.len() - self.input.len()];
        let header_checksum = self.take(1)?[0];
        if header_checksum != (XxHash32::oneshot(0, checksummed) >> 8) as u8 {
            return Err(error("the frame descriptor's checksum is wrong"));
        }
        Ok(Frame { has_block_checksums: flags & 0b1_0000 != 0, block_size_max: 1 << (2 * size_code + 8) })
    }

    fn read_block(&mut self, has_checksum: bool, block_size_max: usize, window: &mut Window) -> Result<bool, DecompressError> {
        let word = self.take_u32()?;
        let size = (word & !UNCOMPRESSED_BLOCK) as usize;
        if size == 0 {
            return Ok(false);
        }
        if size > block_size_max {
            return Err(error(format!("a block of {size} bytes exceeds the frame's maximum of {block_size_max}")));
        }
        let block = self.take(size)?;
        if word & UNCOMPRESSED_BLOCK != 0 {
            window.spare(size)[..size].copy_from_slice(block);
            window.commit(size);
        } else {
            // No byte of a block stands for more than 255: small blocks of a frame with large ones need no large room.
            let room = block_size_max.min(size * 256);
            let spare = &mut window.spare(room)[..room];
            let written = lz4_flex::block::decompress_into(block, spare).map_err(|cause| error(cause.to_string()))?;
            window.commit(written);
        }
        if has_checksum && self.take_u32()? != XxHash32::oneshot(0, block) {
            return Err(error("a block's checksum is wrong"));
        }
        Ok(true)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecompressError> {
        let (taken, rest) = self.input.split_at_checked(length).ok_or_else(cut_off)?;
        self.input = rest;
        Ok(taken)
    }

    fn take_u32(&mut self) -> Result<u32, DecompressError> {
        self.take(4)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)).ok_or_else(cut_off)
    }
}

fn cut_off() -> DecompressError {
    error("the stream ends too early")
}

fn error(reason: impl Into<String>) -> DecompressError {
    malformed(CompressionType::Lz4, reason)
}
