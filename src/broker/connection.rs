//! What the broker knows of a connection, and how answers leave. Sockets are the shell's: here a connection is an address pair and the
//! things that requests on it have established.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use ottla_protocol::Part;
use parking_lot::Mutex;

/// The facts of an accepted connection.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// Unique within the process.
    pub id: u64,
    /// The listener's name, e.g. `PLAINTEXT`.
    pub listener: Arc<str>,
    /// Whether the listener is one of `controller.listener.names`.
    pub is_controller_listener: bool,
    /// Our end.
    pub local_address: SocketAddr,
    /// The client's end.
    pub peer_address: SocketAddr,
}

/// A connection and what its requests have told about the client.
#[derive(Debug)]
pub struct Connection {
    /// The facts of the connection.
    pub info: ConnectionInfo,
    client_software: Mutex<Option<ClientSoftware>>,
}

/// The client library, as it names itself in ApiVersions v3 and later (KIP-511).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientSoftware {
    /// E.g. `apache-kafka-java`.
    pub name: String,
    /// E.g. `4.4.0`.
    pub version: String,
}

impl Connection {
    /// A connection on which nothing was asked yet.
    pub fn new(info: ConnectionInfo) -> Arc<Connection> {
        Arc::new(Connection { info, client_software: Mutex::new(None) })
    }

    /// Remembers what the client calls itself.
    pub fn set_client_software(&self, software: ClientSoftware) {
        *self.client_software.lock() = Some(software);
    }

    /// What the client calls itself, if it said so.
    pub fn client_software(&self) -> Option<ClientSoftware> {
        self.client_software.lock().clone()
    }

    /// The client's address as groups and logs show it: Java's `InetAddress.toString` of an address without a name.
    pub fn client_host(&self) -> String {
        format!("/{}", self.info.peer_address.ip())
    }
}

/// How a request ends.
pub enum Reply {
    /// The framed answer.
    Send(Vec<Part>),
    /// No answer is due (`acks=0`).
    Nothing,
    /// The connection is closed once earlier answers have left; the reason is for the log.
    Close(String),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Send(parts) => write!(f, "Send({} bytes)", parts.iter().map(Part::len).sum::<usize>()),
            Reply::Nothing => f.write_str("Nothing"),
            Reply::Close(reason) => write!(f, "Close({reason})"),
        }
    }
}

/// Takes a request's reply, at once or later, on any thread.
pub type Responder = Box<dyn FnOnce(Reply) + Send>;
