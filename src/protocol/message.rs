//! What all generated messages have in common, and why decoding or encoding one can fail.

use bytes::Bytes;

use crate::reader::Reader;
use crate::writer::Writer;

/// A generated message: a request, a response, or a record of an internal topic.
pub trait Message: Sized + Default {
    /// Kafka's name, e.g. `FetchRequest`.
    const NAME: &'static str;
    /// The API's key, or the record's type; -1 where the definition has none.
    const API_KEY: i16;
    /// The first version that Kafka 4.4 knows.
    const LOWEST_VERSION: i16;
    /// The last version that Kafka 4.4 knows, unstable ones included.
    const HIGHEST_VERSION: i16;

    /// Reads the message at `version`; bytes after it are left unread.
    fn decode(reader: &mut Reader, version: i16) -> Result<Self, DecodeError>;

    /// Appends the message at `version`.
    fn encode(&self, writer: &mut Writer, version: i16) -> Result<(), EncodeError>;

    /// Whether the schema has this version.
    fn supports(version: i16) -> bool {
        (Self::LOWEST_VERSION..=Self::HIGHEST_VERSION).contains(&version)
    }

    /// Fails with [`DecodeError::UnsupportedVersion`] unless the schema has this version.
    fn check_version(version: i16) -> Result<(), DecodeError> {
        if Self::supports(version) { Ok(()) } else { Err(DecodeError::UnsupportedVersion { message: Self::NAME, version }) }
    }

    /// Reads the message from bytes that it does not share with another message.
    fn from_bytes(bytes: Bytes, version: i16) -> Result<Self, DecodeError> {
        Self::decode(&mut Reader::new(bytes), version)
    }

    /// The message's bytes; file ranges among its records are refused with [`EncodeError::NotInMemory`].
    fn to_bytes(&self, version: i16) -> Result<Bytes, EncodeError> {
        let mut writer = Writer::new();
        self.encode(&mut writer, version)?;
        writer.into_bytes()
    }
}

/// A request, which has one kind of response.
pub trait Request: Message {
    /// What answers it.
    type Response: Message;
}

/// A tagged field that the schema does not know; carried along unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTaggedField {
    /// The tag.
    pub tag: u32,
    /// The field's bytes.
    pub data: Bytes,
}

/// Why bytes are not the message they should be. Kafka closes the connection on any of these.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The schema has no such version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// The bytes end within the message.
    #[error("the message needs {needed} more bytes and has {remaining}")]
    EndOfBytes {
        /// Bytes that the next field needs.
        needed: usize,
        /// Bytes that are left.
        remaining: usize,
    },
    /// A field is null that must not be.
    #[error("non-nullable field {field} was serialized as null")]
    Null {
        /// The field's name.
        field: &'static str,
    },
    /// A string is longer than 32,767 bytes.
    #[error("string field {field} had invalid length {length}")]
    StringLength {
        /// The field's name.
        field: &'static str,
        /// The length that the bytes claim.
        length: i64,
    },
    /// An array claims more elements than it can have.
    #[error("an array of {length} elements with {remaining} bytes left")]
    ArrayLength {
        /// The number of elements that the bytes claim.
        length: i64,
        /// Bytes that are left.
        remaining: usize,
    },
    /// More tagged fields than a message may carry.
    #[error("{count} tagged fields, more than {}", crate::reader::TAGGED_FIELDS_MAX)]
    TaggedFields {
        /// The number of fields that the bytes claim.
        count: u32,
    },
    /// A variable-length number runs over five (ten) bytes.
    #[error("a variable-length number does not end")]
    Varint,
}

/// Why a message cannot be written at a version. Each is a fault of the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The schema has no such version.
    #[error("{message} has no version {version}")]
    UnsupportedVersion {
        /// The message's name.
        message: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A field that matters has a value, and the version has no such field.
    #[error("{field} is not the default, and version {version} cannot carry it")]
    FieldNotInVersion {
        /// `Struct.Field`.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// Tagged fields at a version from before they existed.
    #[error("version {version} has no tagged fields")]
    TaggedFieldsNotInVersion {
        /// The version asked for.
        version: i16,
    },
    /// A field is null that must not be at this version.
    #[error("{field} is null, which version {version} does not allow")]
    Null {
        /// The field's name.
        field: &'static str,
        /// The version asked for.
        version: i16,
    },
    /// A string, array or byte field does not fit its length prefix.
    #[error("a length of {length} does not fit the field")]
    TooLong {
        /// Bytes or elements.
        length: usize,
    },
    /// The message refers to a file's bytes where only memory will do.
    #[error("the records are in a file, not in memory")]
    NotInMemory,
}
