//! Kafka's `Uuid`: sixteen bytes, written as unpadded URL-safe base64. Making random ones needs a source of randomness and
//! therefore happens elsewhere: this file only turns given random bytes into a version 4 id.

use std::fmt;
use std::str::FromStr;

/// A 128-bit id of a topic, a log directory, a cluster member and so on (`org.apache.kafka.common.Uuid`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid([u8; 16]);

/// The text was not 22 characters of URL-safe base64.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a Kafka uuid: expected 22 characters of URL-safe base64")]
pub struct ParseUuidError {
    text: String,
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const TEXT_LENGTH: usize = 22;

impl Uuid {
    /// No id: what the protocol sends where an id is absent.
    pub const ZERO: Uuid = Uuid([0; 16]);
    /// The id of `__cluster_metadata`.
    pub const METADATA_TOPIC_ID: Uuid = Uuid::from_u64_pair(0, 1);

    /// The id with these bytes, most significant first.
    pub const fn from_bytes(bytes: [u8; 16]) -> Uuid {
        Uuid(bytes)
    }

    /// The id with these halves, as Java's `Uuid(mostSigBits, leastSigBits)`.
    pub const fn from_u64_pair(most_significant: u64, least_significant: u64) -> Uuid {
        Uuid((((most_significant as u128) << 64) | least_significant as u128).to_be_bytes())
    }

    /// A version 4 id out of sixteen random bytes.
    pub const fn from_random_bytes(mut bytes: [u8; 16]) -> Uuid {
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Uuid(bytes)
    }

    /// The bytes, most significant first.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is [`Uuid::ZERO`].
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }

    /// Whether Kafka never gives this id to a topic or a directory: the first hundred numbers are reserved, and so are ids whose text
    /// starts with a dash, which command lines would take for an option.
    pub fn is_reserved(&self) -> bool {
        u128::from_be_bytes(self.0) < 100 || self.0[0] >> 2 == 62
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; TEXT_LENGTH];
        let number = u128::from_be_bytes(self.0);
        for (index, slot) in text.iter_mut().enumerate() {
            // The last character carries the two lowest bits, shifted up by four.
            let sextet = if index < 21 { number >> (122 - 6 * index) } else { number << 4 };
            *slot = ALPHABET[(sextet & 63) as usize];
        }
        f.write_str(std::str::from_utf8(&text).expect("the alphabet is ASCII"))
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Uuid, ParseUuidError> {
        let error = || ParseUuidError { text: text.to_owned() };
        let unpadded = text.trim_end_matches('=');
        if unpadded.len() != TEXT_LENGTH {
            return Err(error());
        }
        let mut number = 0u128;
        for (index, character) in unpadded.bytes().enumerate() {
            let sextet = ALPHABET.iter().position(|&known| known == character).ok_or_else(error)? as u128;
            number = if index < 21 { (number << 6) | sextet } else { (number << 2) | (sextet >> 4) };
        }
        Ok(Uuid(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::Uuid;

    #[test]
    fn text_is_javas() {
        // Printed by org.apache.kafka.common.Uuid for the same halves.
        assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(Uuid::METADATA_TOPIC_ID.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!(Uuid::from_u64_pair(u64::MAX, u64::MAX).to_string(), "_____________________w");
    }

    #[test]
    fn text_goes_both_ways() {
        let id = Uuid::from_u64_pair(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210);
        assert_eq!(id.to_string().parse(), Ok(id));
        assert!("short".parse::<Uuid>().is_err());
        assert!("!AAAAAAAAAAAAAAAAAAAAA".parse::<Uuid>().is_err());
    }

    #[test]
    fn reserved_ids_are_the_first_hundred_and_those_that_look_like_options() {
        assert!(Uuid::from_u64_pair(0, 99).is_reserved());
        assert!(!Uuid::from_u64_pair(0, 100).is_reserved());
        assert!(Uuid::from_u64_pair(62 << 58, 7).is_reserved());
        assert_eq!(Uuid::from_u64_pair(62 << 58, 7).to_string().as_bytes()[0], b'-');
    }
}
