//! Zstandard: one or more frames, decompressed in pieces. Windows up to zstd's own limit for streams, 128 MiB, are accepted as in Kafka.

use zstd::zstd_safe::{DCtx, InBuffer, OutBuffer, get_error_name};

use super::window::{CHUNK, Window};
use super::{DecompressError, malformed};
use crate::attributes::CompressionType;

pub(super) struct ZstdDecoder<'a> {
    input: &'a [u8],
    begun: bool,
    between_frames: bool,
}

impl<'a> ZstdDecoder<'a> {
    pub(super) const fn new(input: &'a [u8]) -> ZstdDecoder<'a> {
        ZstdDecoder { input, begun: false, between_frames: true }
    }

    pub(super) fn advance(&mut self, context: &mut Option<DCtx<'static>>, window: &mut Window) -> Result<bool, DecompressError> {
        if self.input.is_empty() && self.between_frames {
            return Ok(false);
        }
        let context = match context {
            Some(context) => context,
            None => context.insert(DCtx::try_create().ok_or_else(|| error("no memory for a context"))?),
        };
        if !self.begun {
            context.init().map_err(|code| error(get_error_name(code)))?;
            self.begun = true;
        }
        let mut input = InBuffer::around(self.input);
        let mut output = OutBuffer::around(window.spare(CHUNK));
        let hint = context.decompress_stream(&mut output, &mut input).map_err(|code| error(get_error_name(code)))?;
        let (consumed, produced) = (input.pos, output.pos());
        window.commit(produced);
        self.input = &self.input[consumed..];
        self.between_frames = hint == 0;
        if consumed == 0 && produced == 0 && !self.between_frames {
            return Err(error("the stream ends too early"));
        }
        Ok(true)
    }
}

fn error(reason: impl Into<String>) -> DecompressError {
    malformed(CompressionType::Zstd, reason)
}
