//! One blocking connection to a broker: frames out, frames in.

use std::io::{self, Read, Write};
use std::mem;
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use ottla_protocol::messages::request_header::RequestHeader;
use ottla_protocol::{ApiKey, Message, Reader, Request, Writer};

/// Nothing that is measured here takes this long; a broker that hangs fails the run instead of stopping it.
const TIMEOUT: Duration = Duration::from_secs(60);

pub struct Connection {
    stream: TcpStream,
    /// Memory of an earlier answer, so that large ones need no new pages.
    spare: Vec<u8>,
}

impl Connection {
    pub fn open(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Ok(Connection { stream, spare: Vec::new() })
    }

    pub fn send_frame(&mut self, frame: &[u8]) -> io::Result<()> {
        self.stream.write_all(frame)
    }

    pub fn receive_frame(&mut self) -> io::Result<Bytes> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        let mut frame = mem::take(&mut self.spare);
        frame.clear();
        frame.reserve(length);
        let read = (&self.stream).take(length as u64).read_to_end(&mut frame)?;
        if read < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Bytes::from(frame))
    }

    /// Keeps an answer's memory for the next one, when nothing else refers to it.
    pub fn recycle(&mut self, mut answer: Bytes) {
        if answer.is_unique() {
            answer.truncate(0);
            self.spare = Vec::from(answer);
        }
    }

    /// Sends a request and waits for its answer.
    pub fn call<R: Request>(&mut self, request: &R, version: i16) -> io::Result<R::Response> {
        self.send_frame(&frame(request, version))?;
        let answer = self.receive_frame()?;
        decode_answer::<R>(answer, version)
    }
}

/// The bytes of a request, its length included.
pub fn frame<R: Request>(request: &R, version: i16) -> Bytes {
    let key = api_key::<R>();
    let header = RequestHeader {
        request_api_key: R::API_KEY,
        request_api_version: version,
        correlation_id: 1,
        client_id: Some("ottla-bench".into()),
        ..RequestHeader::default()
    };
    let mut body = Writer::new();
    header.encode(&mut body, key.request_header_version(version)).expect("the header fits every version");
    request.encode(&mut body, version).expect("the request fits its version");
    let body = body.into_bytes().expect("requests are in memory");
    [&(body.len() as u32).to_be_bytes()[..], &body].concat().into()
}

/// The answer to a request, without its header.
pub fn decode_answer<R: Request>(answer: Bytes, version: i16) -> io::Result<R::Response> {
    let header_length = if api_key::<R>().response_header_version(version) == 0 { 4 } else { 5 };
    let body = answer.slice(header_length..);
    R::Response::decode(&mut Reader::new(body), version).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn api_key<R: Request>() -> ApiKey {
    ApiKey::from_code(R::API_KEY).expect("every request has a key")
}
