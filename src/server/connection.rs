//! One connection: reads frames as far as limits allow, hands them to the service in order, sends the answers. It is a state machine that is
//! polled by its task; between requests it owns no buffer.

use std::cell::Cell;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::mem::{self, MaybeUninit};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use ottla_broker::{Connection, Reply};
use ottla_io::Clock;
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::budget::{FrameBudget, FramePermit, PermitWait};
use crate::config::ConnectionSettings;
use crate::frame::{FrameDecoder, Step};
use crate::outbox::{Ending, Next, Outbox, UNSENT_BYTES_MAX, memory_bytes};
use crate::outgoing::Outgoing;
use crate::service::Service;
use crate::transport::Plaintext;

/// What is read at once beyond the frame that is being read: small requests cost one call each, or less when they come in numbers.
const READ_AHEAD_BYTES: usize = 8 * 1024;

/// Requests that have arrived already are handled before the first of their answers leaves, so that one call sends many answers; so many
/// reads at most, so that the first does not wait for long.
const READS_BEFORE_WRITE_MAX: usize = 8;

type ReadAhead = Box<[MaybeUninit<u8>; READ_AHEAD_BYTES]>;

thread_local! {
    /// One read-ahead buffer per worker, lent to the connection that is reading.
    static READ_AHEAD: Cell<Option<ReadAhead>> = const { Cell::new(None) };
}

/// What all connections share.
pub struct Shared {
    /// Who answers.
    pub service: Arc<dyn Service>,
    /// The time that requests are told.
    pub clock: Arc<dyn Clock>,
    /// The bytes of frames.
    pub budget: FrameBudget,
    /// What holds for each connection.
    pub settings: ConnectionSettings,
    /// The start of the clock of [`Outbox::last_active_ms`].
    pub started: Instant,
}

/// Why a connection ended.
#[derive(Debug, Error)]
pub enum Closed {
    /// The client closed it, and everything it asked was answered.
    #[error("closed by the client")]
    ByClient,
    /// The client closed it within a request.
    #[error("closed by the client within a request")]
    WithinFrame,
    /// The server stops.
    #[error("the broker is shutting down")]
    Drained,
    /// Another connection needed its place.
    #[error("max.connections is reached, and this connection was idle the longest")]
    Evicted,
    /// Nothing moved for too long.
    #[error("idle for longer than connections.max.idle.ms")]
    Idle,
    /// A request ended it.
    #[error("{0}")]
    ByRequest(String),
    /// Reading or writing failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Closed {
    /// Writes the one line about a connection's end: as a warning when the client did something wrong, and quietly when all is as usual.
    pub fn log(&self, connection: &Connection) {
        let info = &connection.info;
        match self {
            Closed::ByRequest(_) => {
                tracing::warn!(connection = info.id, client = %info.peer_address, listener = %info.listener, "connection closed: {self}");
            }
            Closed::Evicted | Closed::WithinFrame => {
                tracing::info!(connection = info.id, client = %info.peer_address, listener = %info.listener, "connection closed: {self}");
            }
            Closed::Io(error) if !is_disconnect(error) => {
                tracing::warn!(connection = info.id, client = %info.peer_address, listener = %info.listener, "connection closed: {self}");
            }
            Closed::Io(_) | Closed::ByClient | Closed::Drained | Closed::Idle => {
                tracing::debug!(connection = info.id, client = %info.peer_address, listener = %info.listener, "connection closed: {self}");
            }
        }
    }
}

fn is_disconnect(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::TimedOut | ErrorKind::ConnectionAborted)
}

/// Serves a connection; resolves when it has ended.
pub struct ConnectionTask {
    shared: Arc<Shared>,
    transport: Plaintext,
    connection: Arc<Connection>,
    outbox: Arc<Outbox>,
    decoder: FrameDecoder,
    /// What was read but may not be handled yet; at most [`READ_AHEAD_BYTES`].
    leftover: Bytes,
    permit_wait: Option<PermitWait>,
    input_ended: bool,
    outgoing: Outgoing,
    outgoing_memory_bytes: usize,
    close_reason: Option<String>,
    last_active: Instant,
    idle_check: Option<Pin<Box<Sleep>>>,
}

impl Future for ConnectionTask {
    type Output = Closed;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Closed> {
        loop {
            self.outbox.task_looks();
            match self.turn(context) {
                Ok(true) => {}
                Ok(false) => {
                    if let Some(closed) = self.take_end() {
                        return Poll::Ready(closed);
                    }
                    if self.outbox.task_sleeps(context.waker()) {
                        self.outgoing.release();
                        return self.poll_idle(context);
                    }
                }
                Err(closed) => return Poll::Ready(closed),
            }
        }
    }
}

impl ConnectionTask {
    /// Serves `connection`, whose answers go through `outbox`.
    pub fn new(shared: Arc<Shared>, transport: Plaintext, connection: Arc<Connection>, outbox: Arc<Outbox>) -> ConnectionTask {
        let last_active = Instant::now();
        let idle_check = shared.settings.max_idle.map(|max_idle| Box::pin(sleep_until(last_active + max_idle)));
        let decoder = FrameDecoder::new(shared.settings.request_bytes_max);
        let mut task = ConnectionTask {
            shared,
            transport,
            connection,
            outbox,
            decoder,
            leftover: Bytes::new(),
            permit_wait: None,
            input_ended: false,
            outgoing: Outgoing::default(),
            outgoing_memory_bytes: 0,
            close_reason: None,
            last_active,
            idle_check,
        };
        task.bytes_moved();
        task
    }

    /// Does what can be done without waiting; whether there may be more. Whatever it finds to wait for, it has arranged to be woken by.
    fn turn(&mut self, context: &mut Context<'_>) -> Result<bool, Closed> {
        if self.outbox.ending() == Some(Ending::Abort) {
            return Err(Closed::Evicted);
        }
        let mut read = false;
        for _ in 0..READS_BEFORE_WRITE_MAX {
            if !self.read(context)? {
                break;
            }
            read = true;
        }
        let wrote = self.write(context)?;
        Ok(wrote || read)
    }

    fn take_end(&mut self) -> Option<Closed> {
        if !self.outgoing.is_empty() {
            return None;
        }
        if let Some(reason) = self.close_reason.take() {
            return Some(Closed::ByRequest(reason));
        }
        let draining = self.outbox.ending().is_some();
        if !(self.input_ended || draining) || !self.outbox.is_empty() {
            return None;
        }
        match (draining, self.decoder.is_between_frames()) {
            (true, _) => Some(Closed::Drained),
            (false, true) => Some(Closed::ByClient),
            (false, false) => Some(Closed::WithinFrame),
        }
    }

    fn write(&mut self, context: &mut Context<'_>) -> Result<bool, Closed> {
        self.take_answers();
        if self.outgoing.is_empty() {
            return Ok(false);
        }
        match self.outgoing.poll_in_memory(context) {
            Poll::Pending => return Ok(false),
            Poll::Ready(outcome) => outcome?,
        }
        match self.transport.poll_writable(context) {
            Poll::Pending => return Ok(false),
            Poll::Ready(outcome) => outcome?,
        }
        let progress = self.outgoing.send(&self.transport)?;
        if progress.moved {
            self.bytes_moved();
        }
        self.outgoing_memory_bytes -= progress.memory_bytes;
        self.outbox.sent(progress.memory_bytes);
        Ok(true)
    }

    fn take_answers(&mut self) {
        while self.close_reason.is_none() && self.outgoing_memory_bytes < UNSENT_BYTES_MAX {
            match self.outbox.take_next() {
                Next::Send(parts) => {
                    self.outgoing_memory_bytes += memory_bytes(&parts);
                    self.outgoing.push(parts);
                }
                Next::Close(reason) => self.close_reason = Some(reason),
                Next::Nothing => break,
            }
        }
    }

    fn read(&mut self, context: &mut Context<'_>) -> Result<bool, Closed> {
        if self.input_ended || !self.outbox.has_room() {
            return Ok(false);
        }
        if let Some(wait) = &mut self.permit_wait {
            let Poll::Ready(permit) = wait.as_mut().poll(context) else { return Ok(false) };
            self.permit_wait = None;
            self.decoder.admit(permit);
        } else if self.leftover.is_empty() {
            match self.transport.poll_readable(context) {
                Poll::Pending => return Ok(false),
                Poll::Ready(outcome) => outcome?,
            }
            return self.read_available().map(|()| true);
        }
        let leftover = mem::take(&mut self.leftover);
        self.take_frames(&leftover);
        Ok(true)
    }

    fn read_available(&mut self) -> Result<(), Closed> {
        let mut read_ahead = READ_AHEAD.take().unwrap_or_else(|| Box::new([MaybeUninit::uninit(); READ_AHEAD_BYTES]));
        let missing = self.decoder.missing();
        let missing_bytes = missing.len();
        match self.transport.try_read(missing, &mut read_ahead[..])? {
            None => {}
            Some(0) => self.input_ended = true,
            Some(count) => {
                self.bytes_moved();
                let (direct, ahead) = (count.min(missing_bytes), count.saturating_sub(missing_bytes));
                // SAFETY: the transport filled the missing bytes first, and what was left over went into the read-ahead buffer.
                let input = unsafe {
                    self.decoder.advance(direct);
                    read_ahead[..ahead].assume_init_ref()
                };
                self.take_frames(input);
            }
        }
        READ_AHEAD.set(Some(read_ahead));
        Ok(())
    }

    fn take_frames(&mut self, mut input: &[u8]) {
        loop {
            let step = match self.decoder.step(&mut input) {
                Ok(step) => step,
                Err(error) => {
                    // It takes its turn: requests before it are answered.
                    let (_, responder) = self.outbox.enter();
                    return responder(Reply::Close(error.to_string()));
                }
            };
            match step {
                Step::NeedsInput => return,
                Step::NeedsPermit(bytes) => match self.shared.budget.try_take(bytes) {
                    Some(permit) => self.decoder.admit(permit),
                    None => {
                        self.permit_wait = Some(self.shared.budget.take(bytes));
                        break;
                    }
                },
                Step::Frame(frame, permit) => {
                    self.handle(frame, permit);
                    if !self.outbox.has_room() {
                        break;
                    }
                }
            }
        }
        self.leftover = Bytes::copy_from_slice(input);
    }

    fn handle(&self, frame: Bytes, permit: FramePermit) {
        let (number, responder) = self.outbox.enter();
        let memory = frame.clone();
        self.shared.service.handle(&self.connection, frame, self.shared.clock.now_ms(), responder);
        // A request that waits with nothing of its frame left, as a fetch does, must not keep others from reading theirs.
        if !memory.is_unique() {
            self.outbox.hold_until_answered(number, permit);
        }
    }

    fn bytes_moved(&mut self) {
        self.last_active = Instant::now();
        let since_start = self.last_active.saturating_duration_since(self.shared.started);
        self.outbox.set_last_active_ms(since_start.as_millis() as u64);
    }

    /// The check is not moved with every byte: when it comes due, it looks at when bytes last moved.
    fn poll_idle(&mut self, context: &mut Context<'_>) -> Poll<Closed> {
        let (Some(check), Some(max_idle)) = (&mut self.idle_check, self.shared.settings.max_idle) else { return Poll::Pending };
        loop {
            ready!(check.as_mut().poll(context));
            let deadline = self.last_active + max_idle;
            if deadline <= Instant::now() {
                return Poll::Ready(Closed::Idle);
            }
            check.as_mut().reset(deadline);
        }
    }
}
