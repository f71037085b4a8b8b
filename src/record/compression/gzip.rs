//! gzip (RFC 1952): one or more members, as `java.util.zip.GZIPInputStream` reads them.

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::window::{CHUNK, Window};
use super::{DecompressError, malformed};
use crate::attributes::CompressionType;

const MAGIC_AND_METHOD: [u8; 3] = [0x1f, 0x8b, 8];
const FIXED_HEADER: usize = 10;
const TRAILER: usize = 8;
const FLAG_HEADER_CRC: u8 = 2;
const FLAG_EXTRA: u8 = 4;
const FLAG_NAME: u8 = 8;
const FLAG_COMMENT: u8 = 16;

enum State {
    FirstHeader,
    Body(Crc),
    BetweenMembers,
}

pub(super) struct GzipDecoder<'a> {
    input: &'a [u8],
    state: State,
}

impl<'a> GzipDecoder<'a> {
    pub(super) const fn new(input: &'a [u8]) -> GzipDecoder<'a> {
        GzipDecoder { input, state: State::FirstHeader }
    }

    pub(super) fn advance(&mut self, inflate: &mut Option<Decompress>, window: &mut Window) -> Result<bool, DecompressError> {
        match &mut self.state {
            State::FirstHeader => {
                let length = header_length(self.input).ok_or_else(|| error("no gzip header"))?;
                self.begin_member(length, inflate);
                Ok(true)
            }
            State::Body(crc) => {
                let inflate = inflate.as_mut().expect("a body follows a header, which sets this");
                if inflate_piece(&mut self.input, inflate, crc, window)? {
                    check_trailer(&mut self.input, crc)?;
                    self.state = State::BetweenMembers;
                }
                Ok(true)
            }
            // What follows the last member and is not another one is ignored.
            State::BetweenMembers => match header_length(self.input) {
                Some(length) if self.input.len() >= FIXED_HEADER + TRAILER => {
                    self.begin_member(length, inflate);
                    Ok(true)
                }
                Some(_) | None => Ok(false),
            },
        }
    }

    fn begin_member(&mut self, header_length: usize, inflate: &mut Option<Decompress>) {
        self.input = &self.input[header_length..];
        inflate.get_or_insert_with(|| Decompress::new(false)).reset(false);
        self.state = State::Body(Crc::new());
    }
}

/// Decompresses one piece of a member; `true` at its end.
fn inflate_piece(input: &mut &[u8], inflate: &mut Decompress, crc: &mut Crc, window: &mut Window) -> Result<bool, DecompressError> {
    let spare = window.spare(CHUNK);
    let (consumed_before, produced_before) = (inflate.total_in(), inflate.total_out());
    let status = inflate.decompress(input, spare, FlushDecompress::None).map_err(|cause| error(cause.to_string()))?;
    let consumed = (inflate.total_in() - consumed_before) as usize;
    let produced = (inflate.total_out() - produced_before) as usize;
    crc.update(&spare[..produced]);
    window.commit(produced);
    *input = &input[consumed..];
    match status {
        Status::StreamEnd => Ok(true),
        Status::Ok | Status::BufError if consumed == 0 && produced == 0 => Err(error("the stream ends too early")),
        Status::Ok | Status::BufError => Ok(false),
    }
}

/// Takes the trailer away and compares it with what was decompressed: CRC-32 and length.
fn check_trailer(input: &mut &[u8], crc: &Crc) -> Result<(), DecompressError> {
    let [a, b, c, d, e, f, g, h] = *input.first_chunk::<TRAILER>().ok_or_else(|| error("no gzip trailer"))?;
    if u32::from_le_bytes([a, b, c, d]) != crc.sum() || u32::from_le_bytes([e, f, g, h]) != crc.amount() {
        return Err(error("corrupt gzip trailer"));
    }
    *input = &input[TRAILER..];
    Ok(())
}

fn error(reason: impl Into<String>) -> DecompressError {
    malformed(CompressionType::Gzip, reason)
}

/// The length of the member header that `input` begins with; `None` when it begins with none.
fn header_length(input: &[u8]) -> Option<usize> {
    if !input.starts_with(&MAGIC_AND_METHOD) {
        return None;
    }
    let flags = *input.get(3)?;
    let mut length = FIXED_HEADER;
    if flags & FLAG_EXTRA != 0 {
        let extra = input.get(length..)?.first_chunk::<2>()?;
        length += 2 + u16::from_le_bytes(*extra) as usize;
    }
    for flag in [FLAG_NAME, FLAG_COMMENT] {
        if flags & flag != 0 {
            length += input.get(length..)?.iter().position(|&byte| byte == 0)? + 1;
        }
    }
    if flags & FLAG_HEADER_CRC != 0 {
        let stored = input.get(length..)?.first_chunk::<2>()?;
        let mut crc = Crc::new();
        crc.update(&input[..length]);
        if crc.sum() as u16 != u16::from_le_bytes(*stored) {
            return None;
        }
        length += 2;
    }
    (length <= input.len()).then_some(length)
}
