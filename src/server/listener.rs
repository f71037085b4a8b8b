//! The sockets that clients connect to. A port is taken before the broker opens its data, so that a port in use is told at once and a port
//! that the operating system chose is known; clients are let in when all is ready.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use ottla_broker::{Connection, ConnectionInfo};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use thiserror::Error;
use tokio::net::TcpStream;

use crate::config::{ListenerSettings, ServerSettings};
use crate::connection::{ConnectionTask, Shared};
use crate::limits::{ConnectionCounts, CountedConnection};
use crate::outbox::Outbox;
use crate::registry::Registry;
use crate::transport::Plaintext;

/// How long no connection is accepted after the process has run out of something, e.g. file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Why a listener cannot be opened.
#[derive(Debug, Error)]
pub enum BindError {
    /// The host is no address and no known name.
    #[error("listeners: the host `{host}` of listener {listener} cannot be resolved: {source}")]
    UnknownHost {
        /// The listener.
        listener: Arc<str>,
        /// Its host.
        host: String,
        /// What the resolver says.
        source: io::Error,
    },
    /// Somebody else listens there.
    #[error("listeners: listener {listener} cannot use port {} of {}, because another process listens there; stop it or choose another port", .address.port(), .address.ip())]
    PortInUse {
        /// The listener.
        listener: Arc<str>,
        /// The address.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("listeners: listener {listener} cannot listen on {address}: {source}{}", advice(.source))]
    Socket {
        /// The listener.
        listener: Arc<str>,
        /// The address.
        address: SocketAddr,
        /// What the operating system says.
        source: io::Error,
    },
    /// A host of `max.connections.per.ip.overrides`.
    #[error("max.connections.per.ip.overrides: the host `{host}` cannot be resolved: {source}")]
    UnknownOverride {
        /// The host.
        host: String,
        /// What the resolver says.
        source: io::Error,
    },
}

/// What can be done about an address that cannot be bound.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrNotAvailable => "; choose an address of this machine, and name others in advertised.listeners",
        io::ErrorKind::PermissionDenied => "; choose a port above 1023, or give the process the right to use lower ones",
        // What else the operating system says stands for itself.
        _ => "",
    }
}

/// A listener whose port is taken.
#[derive(Debug)]
pub struct BoundListener {
    settings: ListenerSettings,
    socket: Socket,
    address: SocketAddr,
}

/// All listeners, in the order of `listeners`.
#[derive(Debug)]
pub struct BoundListeners(Vec<BoundListener>);

impl BoundListeners {
    /// Takes the ports.
    pub fn bind(settings: &ServerSettings) -> Result<BoundListeners, BindError> {
        let bind_one = |listener| BoundListener::bind(listener, settings.connection.receive_buffer_bytes);
        settings.listeners.iter().map(bind_one).collect::<Result<_, _>>().map(BoundListeners)
    }

    /// The listeners' names and the addresses that they really have.
    pub fn addresses(&self) -> Vec<(Arc<str>, SocketAddr)> {
        self.0.iter().map(|bound| (bound.settings.name.clone(), bound.address)).collect()
    }

    /// Lets clients connect: from now on the operating system takes them, and `Acceptor`s serve them.
    pub fn listen(self, backlog: u32) -> Result<Vec<ListeningSocket>, BindError> {
        self.0.into_iter().map(|bound| bound.listen(backlog)).collect()
    }
}

impl BoundListener {
    fn bind(settings: &ListenerSettings, receive_buffer_bytes: Option<usize>) -> Result<BoundListener, BindError> {
        let wanted = resolve(settings)?;
        let opened = open(wanted, receive_buffer_bytes).or_else(|error| match wanted.ip() {
            // Without IPv6 in the kernel, all interfaces are those of IPv4.
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) if settings.host.is_empty() => {
                open((Ipv4Addr::UNSPECIFIED, settings.port).into(), receive_buffer_bytes).map_err(|_| error)
            }
            IpAddr::V4(_) | IpAddr::V6(_) => Err(error),
        });
        let (socket, address) = opened.map_err(|source| socket_error(settings, wanted, source))?;
        Ok(BoundListener { settings: settings.clone(), socket, address })
    }

    fn listen(self, backlog: u32) -> Result<ListeningSocket, BindError> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        let listening = self.socket.listen(backlog).and_then(|()| tokio::net::TcpListener::from_std(TcpListener::from(self.socket)));
        match listening {
            Ok(socket) => Ok(ListeningSocket { settings: self.settings, socket }),
            Err(source) => Err(socket_error(&self.settings, self.address, source)),
        }
    }
}

fn resolve(settings: &ListenerSettings) -> Result<SocketAddr, BindError> {
    if settings.host.is_empty() {
        return Ok((Ipv6Addr::UNSPECIFIED, settings.port).into());
    }
    resolve_host(&settings.host).map(|ip| SocketAddr::new(ip, settings.port)).map_err(|source| BindError::UnknownHost {
        listener: settings.name.clone(),
        host: settings.host.clone(),
        source,
    })
}

/// The address of a name, IPv4 before IPv6 as Java prefers them.
pub fn resolve_host(host: &str) -> io::Result<IpAddr> {
    let addresses: Vec<IpAddr> = (host, 0).to_socket_addrs()?.map(|address| address.ip()).collect();
    let preferred = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
    preferred.copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

fn open(address: SocketAddr, receive_buffer_bytes: Option<usize>) -> io::Result<(Socket, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    if let Some(bytes) = receive_buffer_bytes {
        // Accepted connections inherit it, and only a size that is set before they come determines their window.
        socket.set_recv_buffer_size(bytes)?;
    }
    socket.bind(&address.into())?;
    let bound = socket.local_addr()?.as_socket().ok_or_else(|| io::Error::other("the socket has no internet address"))?;
    Ok((socket, bound))
}

fn socket_error(settings: &ListenerSettings, address: SocketAddr, source: io::Error) -> BindError {
    let listener = settings.name.clone();
    match source.kind() {
        io::ErrorKind::AddrInUse => BindError::PortInUse { listener, address },
        _ => BindError::Socket { listener, address, source },
    }
}

/// A socket on which clients arrive.
#[derive(Debug)]
pub struct ListeningSocket {
    settings: ListenerSettings,
    socket: tokio::net::TcpListener,
}

/// Takes the clients of one listener.
pub struct Acceptor {
    listening: ListeningSocket,
    /// The listener's place in the counts.
    index: usize,
    counts: Arc<ConnectionCounts>,
    registry: Arc<Registry>,
    shared: Arc<Shared>,
}

impl Acceptor {
    /// An acceptor of the listener with this place in the counts.
    pub fn new(
        listening: ListeningSocket,
        index: usize,
        counts: Arc<ConnectionCounts>,
        registry: Arc<Registry>,
        shared: Arc<Shared>,
    ) -> Acceptor {
        Acceptor { listening, index, counts, registry, shared }
    }

    /// Accepts until it is dropped. A client for which there is no room is accepted and waits, as does everybody behind it: so Kafka does.
    pub async fn run(self) {
        loop {
            let (stream, peer_address) = match self.listening.socket.accept().await {
                Ok(accepted) => accepted,
                Err(error) if is_of_one_client(&error) => continue,
                Err(error) => {
                    tracing::error!(listener = %self.listening.settings.name, "connections cannot be accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let peer_address = SocketAddr::new(peer_address.ip().to_canonical(), peer_address.port());
            match self.counts.admit(self.index, peer_address.ip()).await {
                Ok(counted) => self.start(stream, peer_address, counted),
                Err(refused) => {
                    tracing::info!(listener = %self.listening.settings.name, client = %peer_address, "connection refused: {refused}");
                }
            }
        }
    }

    fn start(&self, stream: TcpStream, peer_address: SocketAddr, counted: CountedConnection) {
        let settings = &self.listening.settings;
        let local_address = match self.configure(&stream) {
            Ok(local_address) => local_address,
            Err(error) => {
                tracing::info!(listener = %settings.name, client = %peer_address, "connection closed before its first request: {error}");
                return;
            }
        };
        if counted.exceeds_max_connections {
            self.registry.evict_least_recently_active();
        }
        let outbox = Outbox::new();
        let registered = self.registry.add(outbox.clone(), !settings.is_inter_broker_listener);
        let connection = Connection::new(ConnectionInfo {
            id: registered.id,
            listener: settings.name.clone(),
            is_controller_listener: settings.is_controller_listener,
            local_address,
            peer_address,
        });
        let service = self.shared.service.clone();
        // What the task captures is all that an idle connection costs, so it is built here, where it is not copied once more.
        let mut task = ConnectionTask::new(self.shared.clone(), Plaintext::new(stream), connection.clone(), outbox);
        tokio::spawn(async move {
            let closed = (&mut task).await;
            drop(task);
            closed.log(&connection);
            service.disconnected(&connection);
            drop(registered);
            drop(counted);
        });
    }

    fn configure(&self, stream: &TcpStream) -> io::Result<SocketAddr> {
        stream.set_nodelay(true)?;
        let socket = SockRef::from(stream);
        socket.set_keepalive(true)?;
        if let Some(bytes) = self.shared.settings.send_buffer_bytes {
            socket.set_send_buffer_size(bytes)?;
        }
        let local_address = stream.local_addr()?;
        Ok(SocketAddr::new(local_address.ip().to_canonical(), local_address.port()))
    }
}

fn is_of_one_client(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::Interrupted)
}
