//! The headers around requests and responses. A frame's four-byte length belongs to the connection, not to this file, except that a
//! response is handed out with it, ready to be sent.

use bytes::Bytes;

use crate::api_key::ApiKey;
use crate::message::{DecodeError, EncodeError, Message};
use crate::messages::request_header::RequestHeader;
use crate::messages::response_header::ResponseHeader;
use crate::reader::Reader;
use crate::writer::{Part, Writer};

/// The start of a request frame.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestHead {
    /// The API's number as sent, which need not be one of Kafka's.
    pub api_key: i16,
    /// The version as sent, which need not be one of the API's.
    pub api_version: i16,
    /// What the answer has to carry.
    pub correlation_id: i32,
    /// The client's name for itself.
    pub client_id: Option<String>,
}

/// Reads the header of a request frame and leaves the reader at the body.
///
/// The header's own version depends on the API and its version; of an unknown API or version only the fixed part is read, and the
/// client id where the bytes have one.
pub fn decode_request_head(frame: Bytes) -> Result<(RequestHead, Reader), DecodeError> {
    let mut peek = Reader::new(frame.clone());
    let (api_key, api_version) = (peek.i16()?, peek.i16()?);
    let header_version = ApiKey::from_code(api_key).map_or(1, |key| key.request_header_version(api_version));
    let mut reader = Reader::new(frame);
    let header = RequestHeader::decode(&mut reader, header_version)?;
    let head = RequestHead { api_key, api_version, correlation_id: header.correlation_id, client_id: header.client_id };
    Ok((head, reader))
}

/// A response with its length and header, ready to be sent.
pub fn encode_response<M: Message>(api_key: ApiKey, version: i16, correlation_id: i32, response: &M) -> Result<Vec<Part>, EncodeError> {
    let mut writer = Writer::new();
    let header = ResponseHeader { correlation_id, ..ResponseHeader::default() };
    header.encode(&mut writer, api_key.response_header_version(version))?;
    response.encode(&mut writer, version)?;
    let length = i32::try_from(writer.len()).map_err(|_| EncodeError::TooLong { length: writer.len() })?;
    let mut parts = writer.into_parts();
    let Some(Part::Memory(first)) = parts.first_mut() else { unreachable!("a response begins with its header") };
    let mut framed = Writer::new();
    framed.i32(length);
    framed.raw(first);
    *first = framed.into_bytes()?;
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::api_versions_response::ApiVersionsResponse;

    #[test]
    fn a_request_head_is_read_by_the_apis_header_version() {
        let frame = Bytes::from_static(&[0, 18, 0, 3, 0, 0, 0, 7, 0, 1, b'c', 0, 9]);
        let (head, body) = decode_request_head(frame).unwrap();
        assert_eq!(head, RequestHead { api_key: 18, api_version: 3, correlation_id: 7, client_id: Some("c".into()) });
        assert_eq!(body.rest().as_ref(), [9]);
        let frame = Bytes::from_static(&[0, 18, 0, 2, 0, 0, 0, 7, 0xff, 0xff]);
        let (head, body) = decode_request_head(frame).unwrap();
        assert_eq!(head.client_id, None);
        assert_eq!(body.remaining(), 0);
    }

    #[test]
    fn a_response_carries_its_length() {
        let parts = encode_response(ApiKey::ApiVersions, 0, 5, &ApiVersionsResponse::default()).unwrap();
        assert_eq!(parts, [Part::Memory(Bytes::from_static(&[0, 0, 0, 10, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0]))]);
    }
}
