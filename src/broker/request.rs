//! One request on its way: what its header said, and the one chance to answer it.

use std::sync::Arc;

use ottla_protocol::{ApiKey, DecodeError, Message, encode_response};

use crate::connection::{Connection, Reply, Responder};
use crate::group_host::Caller;

/// A request's header, the connection it came on, and its answer's way out. Dropping it unanswered closes the connection: a client
/// never waits for an answer that nobody will give.
pub struct RequestContext {
    /// Where it came from.
    pub connection: Arc<Connection>,
    /// The API.
    pub api_key: ApiKey,
    /// The version, which the table serves.
    pub api_version: i16,
    /// What the answer carries.
    pub correlation_id: i32,
    /// The client's name for itself; empty when it gave none.
    pub client_id: Arc<str>,
    /// When the request arrived, in milliseconds since 1970.
    pub now_ms: i64,
    responder: Option<Responder>,
}

impl RequestContext {
    /// A request with this header.
    pub fn new(
        connection: Arc<Connection>,
        api_key: ApiKey,
        head: &ottla_protocol::RequestHead,
        now_ms: i64,
        responder: Responder,
    ) -> RequestContext {
        RequestContext {
            connection,
            api_key,
            api_version: head.api_version,
            correlation_id: head.correlation_id,
            client_id: head.client_id.as_deref().unwrap_or("").into(),
            now_ms,
            responder: Some(responder),
        }
    }

    /// What is needed of the request after its context has moved on.
    pub fn origin(&self) -> Origin {
        Origin {
            now_ms: self.now_ms,
            api_version: self.api_version,
            client_id: self.client_id.clone(),
            client_host: self.connection.client_host(),
        }
    }

    /// Sends the answer. One that cannot be encoded at the request's version is a fault of ours: it is logged, and the connection is
    /// closed, as Kafka does.
    pub fn reply<M: Message>(self, response: &M) {
        let version = self.api_version;
        self.reply_at_version(response, version);
    }

    /// Sends the answer at another version than the request's, as ApiVersions does when it is asked at an unknown one.
    pub fn reply_at_version<M: Message>(mut self, response: &M, version: i16) {
        let reply = match encode_response(self.api_key, version, self.correlation_id, response) {
            Ok(parts) => Reply::Send(parts),
            Err(error) => {
                tracing::error!(api = %self.api_key, version, %error, "the response cannot be encoded");
                Reply::Close(format!("{} v{version}: the response cannot be encoded: {error}", self.api_key))
            }
        };
        self.finish(reply);
    }

    /// Ends the request without an answer.
    pub fn no_reply(mut self) {
        self.finish(Reply::Nothing);
    }

    /// Ends the request by closing its connection.
    pub fn close(mut self, reason: String) {
        self.finish(Reply::Close(reason));
    }

    /// Closes the connection of a request whose body is not what its header says.
    pub fn close_undecodable(self, error: &DecodeError) {
        let reason = format!("{} v{} cannot be decoded: {error}", self.api_key, self.api_version);
        self.close(reason);
    }

    fn finish(&mut self, reply: Reply) {
        if let Some(responder) = self.responder.take() {
            responder(reply);
        }
    }
}

/// Who asked, when, and at which version.
#[derive(Clone, Debug)]
pub struct Origin {
    now_ms: i64,
    api_version: i16,
    client_id: Arc<str>,
    client_host: String,
}

impl Origin {
    /// The same, as group coordinators take it.
    pub fn caller(&self) -> Caller<'_> {
        Caller {
            now_ms: self.now_ms,
            api_version: self.api_version,
            client_id: &self.client_id,
            client_host: &self.client_host,
            verification_guard: None,
        }
    }
}

impl Drop for RequestContext {
    fn drop(&mut self) {
        if self.responder.is_some() {
            let reason = format!("{} v{} ended without an answer", self.api_key, self.api_version);
            tracing::error!(api = %self.api_key, version = self.api_version, "a request was dropped without an answer");
            self.finish(Reply::Close(reason));
        }
    }
}

impl std::fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} v{} #{} of {}", self.api_key, self.api_version, self.correlation_id, self.connection.info.peer_address)
    }
}
