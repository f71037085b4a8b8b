//! Randomness: the machine's, or a sequence that a seed determines.

use std::fmt;

use ottla_model::Uuid;

/// A source of random bytes.
pub trait Rng: Send + fmt::Debug {
    /// Fills the buffer.
    fn fill(&mut self, bytes: &mut [u8]);

    /// A random number.
    fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A random number of `0..bound`; 0 when the bound is 0.
    fn below(&mut self, bound: u64) -> u64 {
        // The high half of a 128-bit product spreads evenly enough for every bound that occurs.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

/// A random id that is none of the reserved ones (`Uuid.randomUuid`).
pub fn random_uuid(rng: &mut dyn Rng) -> Uuid {
    loop {
        let mut bytes = [0; 16];
        rng.fill(&mut bytes);
        let uuid = Uuid::from_random_bytes(bytes);
        if !uuid.is_reserved() {
            return uuid;
        }
    }
}

/// The operating system's random numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRng;

impl Rng for SystemRng {
    fn fill(&mut self, bytes: &mut [u8]) {
        let mut filled = 0;
        while filled < bytes.len() {
            match rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty()) {
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => panic!("the operating system has no random numbers: {error}"),
            }
        }
    }
}

/// SplitMix64: the same seed gives the same numbers on every machine.
#[derive(Clone, Debug)]
pub struct SeededRng {
    state: u64,
}

impl SeededRng {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> SeededRng {
        SeededRng { state: seed }
    }
}

impl Rng for SeededRng {
    fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut number = self.state;
            number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            number ^= number >> 31;
            chunk.copy_from_slice(&number.to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_split_mix_64() {
        // The reference implementation's first numbers for the seed 1234567.
        let mut rng = SeededRng::new(1_234_567);
        assert_eq!([rng.next_u64(), rng.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn below_stays_below() {
        let mut rng = SeededRng::new(1);
        assert!((0..1000).all(|_| rng.below(3) < 3));
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn random_ids_differ_and_are_not_reserved() {
        let first = random_uuid(&mut SystemRng);
        let second = random_uuid(&mut SystemRng);
        assert_ne!(first, second);
        assert!(!first.is_reserved() && !second.is_reserved());
    }
}
