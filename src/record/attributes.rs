//! The sixteen attribute bits of a batch and the two enums that live in them. Knows nothing of the other header fields.

/// How the records of a batch are compressed (`CompressionType`); the numbers are those of the attribute bits 0 to 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CompressionType {
    /// Records follow the header as they are.
    None = 0,
    /// RFC 1952.
    Gzip = 1,
    /// Snappy blocks in the framing of the Java library ("xerial").
    Snappy = 2,
    /// The LZ4 frame format.
    Lz4 = 3,
    /// A Zstandard frame (KIP-110).
    Zstd = 4,
}

/// The attribute bits name a codec that Kafka 4.4 does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Unknown compression type id: {0}")]
pub struct UnknownCompressionType(pub u8);

impl CompressionType {
    /// Every codec, by number.
    pub const ALL: [CompressionType; 5] =
        [CompressionType::None, CompressionType::Gzip, CompressionType::Snappy, CompressionType::Lz4, CompressionType::Zstd];

    /// The codec with this number.
    pub const fn from_id(id: u8) -> Result<CompressionType, UnknownCompressionType> {
        match id {
            0 => Ok(CompressionType::None),
            1 => Ok(CompressionType::Gzip),
            2 => Ok(CompressionType::Snappy),
            3 => Ok(CompressionType::Lz4),
            4 => Ok(CompressionType::Zstd),
            unknown => Err(UnknownCompressionType(unknown)),
        }
    }

    /// The codec with this name in configurations; `None` for any other text, `producer` and `uncompressed` included.
    pub fn from_name(name: &str) -> Option<CompressionType> {
        CompressionType::ALL.into_iter().find(|codec| codec.name() == name)
    }

    /// Kafka's name of the codec.
    pub const fn name(self) -> &'static str {
        match self {
            CompressionType::None => "none",
            CompressionType::Gzip => "gzip",
            CompressionType::Snappy => "snappy",
            CompressionType::Lz4 => "lz4",
            CompressionType::Zstd => "zstd",
        }
    }

    /// The number in the attribute bits.
    pub const fn id(self) -> u8 {
        self as u8
    }
}

/// Who chose the timestamps of a batch (`TimestampType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimestampType {
    /// The producer; each record has its own.
    CreateTime,
    /// The leader at the append; all records have the batch's max timestamp.
    LogAppendTime,
}

/// The attributes field of a batch (`DefaultRecordBatch`): bits 0 to 2 codec, 3 timestamp type, 4 transactional, 5 control, 6 delete
/// horizon; the others have no meaning and are carried as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Attributes(pub i16);

const COMPRESSION_MASK: i16 = 0x07;
const LOG_APPEND_TIME: i16 = 0x08;
const TRANSACTIONAL: i16 = 0x10;
const CONTROL: i16 = 0x20;
const DELETE_HORIZON: i16 = 0x40;

impl Attributes {
    /// The codec of the records.
    pub const fn compression(self) -> Result<CompressionType, UnknownCompressionType> {
        CompressionType::from_id((self.0 & COMPRESSION_MASK) as u8)
    }

    /// Who chose the timestamps.
    pub const fn timestamp_type(self) -> TimestampType {
        if self.0 & LOG_APPEND_TIME == 0 { TimestampType::CreateTime } else { TimestampType::LogAppendTime }
    }

    /// Whether the batch belongs to a transaction.
    pub const fn is_transactional(self) -> bool {
        self.0 & TRANSACTIONAL != 0
    }

    /// Whether the batch holds control records instead of data.
    pub const fn is_control(self) -> bool {
        self.0 & CONTROL != 0
    }

    /// Whether the base timestamp field holds the cleaner's delete horizon (KIP-534).
    pub const fn has_delete_horizon(self) -> bool {
        self.0 & DELETE_HORIZON != 0
    }

    /// These attributes with another codec.
    #[must_use]
    pub const fn with_compression(self, compression: CompressionType) -> Attributes {
        Attributes((self.0 & !COMPRESSION_MASK) | compression as i16)
    }

    /// These attributes with another timestamp type.
    #[must_use]
    pub const fn with_timestamp_type(self, timestamp_type: TimestampType) -> Attributes {
        self.with_flag(LOG_APPEND_TIME, matches!(timestamp_type, TimestampType::LogAppendTime))
    }

    /// These attributes with the transactional bit set or cleared.
    #[must_use]
    pub const fn with_transactional(self, transactional: bool) -> Attributes {
        self.with_flag(TRANSACTIONAL, transactional)
    }

    /// These attributes with the control bit set or cleared.
    #[must_use]
    pub const fn with_control(self, control: bool) -> Attributes {
        self.with_flag(CONTROL, control)
    }

    /// These attributes with the delete horizon bit set or cleared.
    #[must_use]
    pub const fn with_delete_horizon(self, delete_horizon: bool) -> Attributes {
        self.with_flag(DELETE_HORIZON, delete_horizon)
    }

    /// These attributes without the bits that have no meaning.
    pub(crate) const fn known_bits(self) -> Attributes {
        Attributes(self.0 & (COMPRESSION_MASK | LOG_APPEND_TIME | TRANSACTIONAL | CONTROL | DELETE_HORIZON))
    }

    const fn with_flag(self, flag: i16, set: bool) -> Attributes {
        if set { Attributes(self.0 | flag) } else { Attributes(self.0 & !flag) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_kafkas() {
        let all = Attributes::default()
            .with_compression(CompressionType::Zstd)
            .with_timestamp_type(TimestampType::LogAppendTime)
            .with_transactional(true)
            .with_control(true)
            .with_delete_horizon(true);
        assert_eq!(all, Attributes(0b0111_1100));
        assert_eq!(all.compression(), Ok(CompressionType::Zstd));
        assert_eq!(all.timestamp_type(), TimestampType::LogAppendTime);
        assert!(all.is_transactional() && all.is_control() && all.has_delete_horizon());
        assert_eq!(all.with_control(false).with_compression(CompressionType::None), Attributes(0b0101_1000));
    }

    #[test]
    fn unknown_codecs_are_named() {
        assert_eq!(Attributes(5).compression(), Err(UnknownCompressionType(5)));
        assert_eq!(Attributes(7).compression(), Err(UnknownCompressionType(7)));
        assert_eq!(CompressionType::from_name("lz4"), Some(CompressionType::Lz4));
        assert_eq!(CompressionType::from_name("producer"), None);
        for codec in CompressionType::ALL {
            assert_eq!(CompressionType::from_id(codec.id()), Ok(codec));
            assert_eq!(CompressionType::from_name(codec.name()), Some(codec));
        }
    }
}
