//! Cuts a connection's bytes into request frames. It owns the frame that is being read and nothing while there is none; it knows neither
//! sockets nor budgets: who feeds it is told a frame's size before any memory is taken for it.

use std::mem::MaybeUninit;

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use crate::budget::FramePermit;

/// Why a connection's bytes cannot be frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A length below zero.
    #[error("the request's length is negative: {0}")]
    Negative(i32),
    /// A length over the limit.
    #[error("the request's length is {length} bytes, and socket.request.max.bytes is {max}")]
    TooLarge {
        /// As sent.
        length: usize,
        /// The limit.
        max: usize,
    },
}

/// What the decoder needs, or has.
#[derive(Debug)]
pub enum Step {
    /// More bytes from the connection.
    NeedsInput,
    /// [`FrameDecoder::admit`] with a share of so many bytes.
    NeedsPermit(usize),
    /// A frame, and the share that it holds.
    Frame(Bytes, FramePermit),
}

#[derive(Debug)]
struct Body {
    buffer: BytesMut,
    length: usize,
    permit: FramePermit,
}

/// The state between two reads.
#[derive(Debug)]
pub struct FrameDecoder {
    max_length: usize,
    prefix: [u8; 4],
    prefix_filled: usize,
    body: Option<Body>,
}

impl FrameDecoder {
    /// A decoder for frames up to `max_length` bytes.
    pub fn new(max_length: usize) -> FrameDecoder {
        FrameDecoder { max_length, prefix: [0; 4], prefix_filled: 0, body: None }
    }

    /// Takes bytes off `input` until a frame is complete, a share is needed, or nothing is left.
    pub fn step(&mut self, input: &mut &[u8]) -> Result<Step, FrameError> {
        if self.body.is_none() {
            let taken = input.len().min(4 - self.prefix_filled);
            self.prefix[self.prefix_filled..self.prefix_filled + taken].copy_from_slice(&input[..taken]);
            self.prefix_filled += taken;
            *input = &input[taken..];
            if self.prefix_filled < 4 {
                return Ok(Step::NeedsInput);
            }
            return Ok(Step::NeedsPermit(self.length()?));
        }
        if let Some(body) = &mut self.body {
            let taken = input.len().min(body.length - body.buffer.len());
            body.buffer.extend_from_slice(&input[..taken]);
            *input = &input[taken..];
        }
        Ok(self.take_complete().unwrap_or(Step::NeedsInput))
    }

    /// Makes room for the frame whose length was read.
    pub fn admit(&mut self, permit: FramePermit) {
        let length = i32::from_be_bytes(self.prefix) as usize;
        self.prefix_filled = 0;
        self.body = Some(Body { buffer: BytesMut::with_capacity(length), length, permit });
    }

    /// The rest of the frame that is being read, to be filled from its start. Empty between frames.
    pub fn missing(&mut self) -> &mut [MaybeUninit<u8>] {
        match &mut self.body {
            Some(body) => {
                let missing = body.length - body.buffer.len();
                &mut body.buffer.spare_capacity_mut()[..missing]
            }
            None => &mut [],
        }
    }

    /// Counts bytes that were written into [`FrameDecoder::missing`].
    ///
    /// # Safety
    /// The first `count` bytes of what `missing` returned are initialised, and `count` is not more than its length.
    pub unsafe fn advance(&mut self, count: usize) {
        if let Some(body) = &mut self.body {
            // SAFETY: the caller initialised so many bytes within the capacity.
            unsafe { body.buffer.advance_mut(count) };
        }
    }

    /// Whether the connection stands between two frames.
    pub fn is_between_frames(&self) -> bool {
        self.body.is_none() && self.prefix_filled == 0
    }

    fn length(&self) -> Result<usize, FrameError> {
        let length = i32::from_be_bytes(self.prefix);
        let length = usize::try_from(length).map_err(|_| FrameError::Negative(length))?;
        if length > self.max_length {
            return Err(FrameError::TooLarge { length, max: self.max_length });
        }
        Ok(length)
    }

    fn take_complete(&mut self) -> Option<Step> {
        let body = self.body.take_if(|body| body.buffer.len() == body.length)?;
        Some(Step::Frame(body.buffer.freeze(), body.permit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::FrameBudget;

    fn frames(chunks: &[&[u8]], max_length: usize) -> Result<Vec<Vec<u8>>, FrameError> {
        let budget = FrameBudget::new(1 << 20);
        let mut decoder = FrameDecoder::new(max_length);
        let mut frames = Vec::new();
        for chunk in chunks {
            let mut input = *chunk;
            loop {
                match decoder.step(&mut input)? {
                    Step::NeedsInput => break,
                    Step::NeedsPermit(bytes) => decoder.admit(budget.try_take(bytes).unwrap()),
                    Step::Frame(frame, _) => frames.push(frame.to_vec()),
                }
            }
            assert!(input.is_empty());
        }
        Ok(frames)
    }

    #[test]
    fn frames_may_be_split_anywhere() {
        let bytes = [0, 0, 0, 3, b'a', b'b', b'c', 0, 0, 0, 0, 0, 0, 0, 1, b'd'];
        let expected = vec![b"abc".to_vec(), b"".to_vec(), b"d".to_vec()];
        assert_eq!(frames(&[&bytes], 3).unwrap(), expected);
        for cut in 0..=bytes.len() {
            assert_eq!(frames(&[&bytes[..cut], &bytes[cut..]], 3).unwrap(), expected, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(frames(&single, 3).unwrap(), expected);
    }

    #[test]
    fn lengths_are_checked_before_anything_is_allocated() {
        assert_eq!(frames(&[&[0xff; 4]], 3), Err(FrameError::Negative(-1)));
        assert_eq!(frames(&[&[0, 0, 0, 4]], 3), Err(FrameError::TooLarge { length: 4, max: 3 }));
    }

    #[test]
    fn the_rest_of_a_frame_can_be_filled_directly() {
        let budget = FrameBudget::new(100);
        let mut decoder = FrameDecoder::new(100);
        let mut input: &[u8] = &[0, 0, 0, 4, 1];
        assert!(decoder.missing().is_empty());
        assert!(matches!(decoder.step(&mut input), Ok(Step::NeedsPermit(4))));
        decoder.admit(budget.try_take(4).unwrap());
        assert!(matches!(decoder.step(&mut input), Ok(Step::NeedsInput)));
        assert_eq!(decoder.missing().len(), 3);
        for byte in decoder.missing() {
            byte.write(9);
        }
        // SAFETY: all three bytes were just written.
        unsafe { decoder.advance(3) };
        assert!(matches!(decoder.step(&mut input), Ok(Step::Frame(frame, _)) if frame == [1, 9, 9, 9].as_slice()));
        assert!(decoder.is_between_frames());
    }
}
