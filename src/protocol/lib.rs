//! Kafka's wire protocol: the messages of every API and every internal record, at every version, exactly as Kafka 4.4 encodes them.
//!
//! The messages are generated from `schema/`, which is derived from Kafka's published definitions. This crate owns bytes and
//! their limits; what a request means is decided by those who handle it.

mod api_key;
mod frame;
mod message;
mod reader;
mod records;
mod writer;

#[cfg(test)]
mod golden;

pub use api_key::{ApiKey, ApiSpec};
pub use frame::{RequestHead, decode_request_head, encode_response};
pub use message::{DecodeError, EncodeError, Message, RawTaggedField, Request};
pub use reader::Reader;
pub use records::{FileRange, Records, RecordsPart};
pub use writer::{Part, Writer};

/// One module per message; structs and fields carry Kafka's names.
#[allow(clippy::all, unused)]
pub mod messages {
    mod support {
        #[cfg(test)]
        pub(crate) use crate::golden;
        pub(crate) use crate::message::{DecodeError, EncodeError, Message, RawTaggedField, Request};
        pub(crate) use crate::reader::Reader;
        pub(crate) use crate::records::Records;
        pub(crate) use crate::writer::Writer;
        pub(crate) use bytes::Bytes;
        pub(crate) use ottla_model::Uuid;
    }

    include!(concat!(env!("OUT_DIR"), "/messages.rs"));
}
