//! A server around a service that a test describes in a closure, and a blocking client that speaks frames.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use ottla_broker::{Connection, Reply, Responder};
use ottla_io::SystemClock;
use ottla_protocol::Part;
use ottla_server::{BoundListeners, ListenerSettings, Server, ServerSettings, Service};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

/// How a request is handled.
pub type Handler = dyn Fn(Bytes, Responder) + Send + Sync;

/// A service that handles requests as the test says.
pub struct TestService {
    handler: Box<Handler>,
    /// Connections that are gone.
    pub disconnected: AtomicUsize,
    /// What it waits for; it is reached when a tick says so.
    pub deadline_ms: Mutex<Option<i64>>,
    /// When ticks came.
    pub ticks: Mutex<Vec<i64>>,
    /// What tells of an earlier deadline.
    pub waker: Mutex<Option<Box<dyn Fn() + Send + Sync>>>,
    /// How often background work was done.
    pub background_runs: AtomicUsize,
    /// How often it was shut down.
    pub shut_down: AtomicUsize,
}

impl TestService {
    fn new(handler: impl Fn(Bytes, Responder) + Send + Sync + 'static) -> TestService {
        TestService {
            handler: Box::new(handler),
            disconnected: AtomicUsize::new(0),
            deadline_ms: Mutex::new(None),
            ticks: Mutex::default(),
            waker: Mutex::default(),
            background_runs: AtomicUsize::new(0),
            shut_down: AtomicUsize::new(0),
        }
    }
}

impl Service for TestService {
    fn handle(&self, _connection: &Arc<Connection>, frame: Bytes, _now_ms: i64, responder: Responder) {
        (self.handler)(frame, responder);
    }

    fn disconnected(&self, _connection: &Connection) {
        self.disconnected.fetch_add(1, Ordering::SeqCst);
    }

    fn tick(&self, now_ms: i64) {
        self.ticks.lock().push(now_ms);
        self.deadline_ms.lock().take_if(|deadline_ms| *deadline_ms <= now_ms);
    }

    fn next_deadline_ms(&self) -> Option<i64> {
        *self.deadline_ms.lock()
    }

    fn set_waker(&self, waker: Box<dyn Fn() + Send + Sync>) {
        *self.waker.lock() = Some(waker);
    }

    fn run_background_work(&self, now_ms: i64) -> i64 {
        self.background_runs.fetch_add(1, Ordering::SeqCst);
        now_ms + 20
    }

    fn shut_down(&self, _now_ms: i64) {
        self.shut_down.fetch_add(1, Ordering::SeqCst);
    }
}

/// A running server.
pub struct TestServer {
    /// Its service.
    pub service: Arc<TestService>,
    /// Where it listens.
    pub addresses: Vec<SocketAddr>,
    runtime: Runtime,
    server: Option<Server>,
}

/// A listener on a free port.
pub fn listener(name: &str) -> ListenerSettings {
    ListenerSettings {
        name: name.into(),
        host: "127.0.0.1".to_owned(),
        port: 0,
        is_controller_listener: false,
        is_inter_broker_listener: false,
        max_connections: None,
    }
}

impl TestServer {
    /// A server with settings other than the defaults.
    pub fn start_with(change: impl FnOnce(&mut ServerSettings), handler: impl Fn(Bytes, Responder) + Send + Sync + 'static) -> TestServer {
        let mut settings = ServerSettings::new(vec![listener("PLAINTEXT")]);
        change(&mut settings);
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listeners = BoundListeners::bind(&settings).unwrap();
        let addresses = listeners.addresses().into_iter().map(|(_, address)| address).collect();
        let service = Arc::new(TestService::new(handler));
        let server = runtime.block_on(async { Server::start(&settings, listeners, service.clone(), Arc::new(SystemClock)) });
        TestServer { service, addresses, runtime, server: Some(server.unwrap()) }
    }

    /// A server with the defaults.
    pub fn start(handler: impl Fn(Bytes, Responder) + Send + Sync + 'static) -> TestServer {
        TestServer::start_with(|_| {}, handler)
    }

    /// A client of the first listener.
    pub fn connect(&self) -> Client {
        self.connect_to(0)
    }

    /// A client of a listener.
    pub fn connect_to(&self, listener: usize) -> Client {
        let stream = TcpStream::connect(self.addresses[listener]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(10))).unwrap();
        Client { stream }
    }

    /// Stops the server in order.
    pub fn shut_down(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shut_down());
        }
    }
}

/// A client.
pub struct Client {
    /// Its socket.
    pub stream: TcpStream,
}

impl Client {
    /// Sends a request.
    pub fn send(&mut self, body: &[u8]) {
        self.stream.write_all(&framed(body)).unwrap();
    }

    /// Receives an answer.
    pub fn receive(&mut self) -> Vec<u8> {
        self.try_receive().unwrap()
    }

    /// Receives an answer, or tells why there is none.
    pub fn try_receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length)?;
        let mut body = vec![0; u32::from_be_bytes(length) as usize];
        self.stream.read_exact(&mut body)?;
        Ok(body)
    }

    /// Whether nothing comes for a while.
    pub fn hears_nothing(&mut self) -> bool {
        self.stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let outcome = self.stream.peek(&mut [0]);
        self.stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        outcome.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether the server has closed the connection, and sent nothing before.
    pub fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}

/// A frame.
pub fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes(), body].concat()
}

/// An answer in memory.
pub fn answer(body: &[u8]) -> Reply {
    Reply::Send(vec![Part::Memory(framed(body).into())])
}

/// Waits until something is so.
pub fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..1000 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("not within five seconds: {what}");
}
