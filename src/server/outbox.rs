//! A connection's answers on their way from whoever gives them, on any thread, to the task that sends them: they come in any order and
//! leave in the order of their requests. Also the way to tell that task to end.

use std::collections::VecDeque;
use std::fmt;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Waker;

use ottla_broker::{Reply, Responder};
use ottla_protocol::Part;
use parking_lot::{Mutex, MutexGuard};

use crate::budget::FramePermit;

/// Requests of one connection that may wait for their answers at once; no more are read until the first of them is answered.
pub const REQUESTS_IN_FLIGHT_MAX: usize = 64;

/// Bytes of answers in memory after which no more requests are read until the client has taken some.
pub const UNSENT_BYTES_MAX: usize = 1 << 20;

/// How a connection is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Read no more requests, answer those that were read.
    Drain,
    /// At once.
    Abort,
}

/// What the task finds at the head of the line.
#[derive(Debug)]
pub enum Next {
    /// An answer to send.
    Send(Vec<Part>),
    /// Nothing more will be sent; the reason is for the log.
    Close(String),
    /// The first request in line has no answer yet, or there is none.
    Nothing,
}

/// The line of one connection.
pub struct Outbox {
    state: Mutex<State>,
    /// When bytes last moved, in milliseconds of the registry's own clock.
    last_active_ms: AtomicU64,
}

/// A request in line.
#[derive(Default)]
struct Slot {
    reply: Option<Reply>,
    /// The share of the budget of a frame that is still being looked at.
    permit: Option<FramePermit>,
}

#[derive(Default)]
struct State {
    line: VecDeque<Slot>,
    /// The number of the request at the head of the line.
    head: u64,
    unsent_bytes: usize,
    /// A request in line closes the connection: those after it are not to be read.
    closes: bool,
    ending: Option<Ending>,
    /// Something came that the task has not looked at.
    news: bool,
    /// The task looks for news before it sleeps, so that nobody needs to wake it.
    awake: bool,
    waker: Option<Waker>,
}

impl Outbox {
    /// An empty line.
    pub fn new() -> Arc<Outbox> {
        Arc::new(Outbox { state: Mutex::default(), last_active_ms: AtomicU64::new(0) })
    }

    /// Adds a request to the line; returns its number and what takes its answer.
    pub fn enter(self: &Arc<Outbox>) -> (u64, Responder) {
        let number = {
            let mut state = self.state.lock();
            state.line.push_back(Slot::default());
            state.head + state.line.len() as u64 - 1
        };
        let place = Place { outbox: self.clone(), number, answered: false };
        (number, Box::new(move |reply| place.answer(reply)))
    }

    /// Keeps the share of a request's frame until the request is answered.
    pub fn hold_until_answered(&self, number: u64, permit: FramePermit) {
        let mut state = self.state.lock();
        let Some(index) = number.checked_sub(state.head) else { return };
        if let Some(slot) = state.line.get_mut(index as usize).filter(|slot| slot.reply.is_none()) {
            slot.permit = Some(permit);
        }
    }

    /// Whether another request may be read.
    pub fn has_room(&self) -> bool {
        let state = self.state.lock();
        state.line.len() < REQUESTS_IN_FLIGHT_MAX && state.unsent_bytes < UNSENT_BYTES_MAX && !state.closes && state.ending.is_none()
    }

    /// Whether no request is in line.
    pub fn is_empty(&self) -> bool {
        self.state.lock().line.is_empty()
    }

    /// Takes the next answer that may leave.
    pub fn take_next(&self) -> Next {
        let mut state = self.state.lock();
        loop {
            let Some(reply) = state.line.front_mut().and_then(|slot| slot.reply.take()) else { return Next::Nothing };
            state.line.pop_front();
            state.head += 1;
            match reply {
                Reply::Send(parts) => return Next::Send(parts),
                Reply::Close(reason) => return Next::Close(reason),
                Reply::Nothing => {}
            }
        }
    }

    /// Counts bytes of answers that have left memory.
    pub fn sent(&self, memory_bytes: usize) {
        self.state.lock().unsent_bytes -= memory_bytes;
    }

    /// How the connection is to end, if it is.
    pub fn ending(&self) -> Option<Ending> {
        self.state.lock().ending
    }

    /// Tells the connection to end.
    pub fn end(&self, ending: Ending) {
        let mut state = self.state.lock();
        state.ending = state.ending.max(Some(ending));
        Outbox::tell_task(state);
    }

    /// The task is about to look at the line: no need to wake it until it sleeps.
    pub fn task_looks(&self) {
        let mut state = self.state.lock();
        state.awake = true;
        state.news = false;
    }

    /// The task wants to sleep; false when something came since it last looked.
    pub fn task_sleeps(&self, waker: &Waker) -> bool {
        let mut state = self.state.lock();
        if state.news {
            return false;
        }
        state.awake = false;
        if state.line.is_empty() {
            // There may be very many idle connections: each keeps as little as it can.
            state.line = VecDeque::new();
        }
        match &mut state.waker {
            Some(known) => known.clone_from(waker),
            None => state.waker = Some(waker.clone()),
        }
        true
    }

    /// Notes when bytes moved.
    pub fn set_last_active_ms(&self, now_ms: u64) {
        self.last_active_ms.store(now_ms, Ordering::Relaxed);
    }

    /// When bytes last moved.
    pub fn last_active_ms(&self) -> u64 {
        self.last_active_ms.load(Ordering::Relaxed)
    }

    fn answer(&self, number: u64, reply: Reply) {
        let mut state = self.state.lock();
        match &reply {
            Reply::Send(parts) => state.unsent_bytes += memory_bytes(parts),
            Reply::Close(_) => state.closes = true,
            Reply::Nothing => {}
        }
        let index = (number - state.head) as usize;
        let slot = &mut state.line[index];
        slot.reply = Some(reply);
        let permit = slot.permit.take();
        if index == 0 {
            Outbox::tell_task(state);
        } else {
            drop(state);
        }
        drop(permit);
    }

    fn tell_task(mut state: MutexGuard<'_, State>) {
        state.news = true;
        let waker = if mem::replace(&mut state.awake, true) { None } else { state.waker.take() };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock();
        f.debug_struct("Outbox").field("in_line", &state.line.len()).field("ending", &state.ending).finish_non_exhaustive()
    }
}

/// The bytes of an answer that are in memory.
pub fn memory_bytes(parts: &[Part]) -> usize {
    parts.iter().map(|part| if let Part::Memory(bytes) = part { bytes.len() } else { 0 }).sum()
}

/// A request's place in line. One that is dropped without an answer closes the connection: a client never waits in vain.
struct Place {
    outbox: Arc<Outbox>,
    number: u64,
    answered: bool,
}

impl Place {
    fn answer(mut self, reply: Reply) {
        self.answered = true;
        self.outbox.answer(self.number, reply);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.answered {
            self.outbox.answer(self.number, Reply::Close("a request was dropped without an answer".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::budget::FrameBudget;

    fn text(text: &'static str) -> Reply {
        Reply::Send(vec![Part::Memory(Bytes::from_static(text.as_bytes()))])
    }

    fn line(requests: usize) -> (Arc<Outbox>, VecDeque<Responder>) {
        let outbox = Outbox::new();
        let responders = (0..requests).map(|_| outbox.enter().1).collect();
        (outbox, responders)
    }

    fn assert_next(outbox: &Outbox, expected: &str) {
        match outbox.take_next() {
            Next::Send(parts) => assert_eq!(parts, [Part::Memory(Bytes::copy_from_slice(expected.as_bytes()))]),
            other => panic!("{other:?} instead of {expected}"),
        }
    }

    #[test]
    fn answers_leave_in_the_order_of_requests() {
        let (outbox, mut responders) = line(4);
        responders.pop_back().unwrap()(text("fourth"));
        responders.pop_back().unwrap()(Reply::Nothing);
        assert!(matches!(outbox.take_next(), Next::Nothing));
        responders.pop_front().unwrap()(text("first"));
        assert_next(&outbox, "first");
        assert!(matches!(outbox.take_next(), Next::Nothing));
        responders.pop_front().unwrap()(text("second"));
        assert_next(&outbox, "second");
        assert_next(&outbox, "fourth");
        assert!(outbox.is_empty());
    }

    #[test]
    fn a_request_that_nobody_answers_closes_the_connection_in_its_turn() {
        let (outbox, mut responders) = line(2);
        drop(responders.pop_back());
        assert!(!outbox.has_room());
        assert!(matches!(outbox.take_next(), Next::Nothing));
        responders.pop_front().unwrap()(text("first"));
        assert_next(&outbox, "first");
        assert!(matches!(outbox.take_next(), Next::Close(_)));
    }

    #[test]
    fn there_is_room_for_64_requests_and_one_mebibyte_of_answers() {
        let (outbox, mut responders) = line(REQUESTS_IN_FLIGHT_MAX - 1);
        assert!(outbox.has_room());
        responders.push_back(outbox.enter().1);
        assert!(!outbox.has_room());
        responders.pop_front().unwrap()(Reply::Send(vec![Part::Memory(Bytes::from(vec![0; UNSENT_BYTES_MAX]))]));
        let Next::Send(parts) = outbox.take_next() else { panic!("an answer was ready") };
        assert!(!outbox.has_room(), "the bytes are still in memory");
        outbox.sent(memory_bytes(&parts));
        assert!(outbox.has_room());
    }

    #[test]
    fn the_share_of_the_budget_comes_back_with_the_answer() {
        let (outbox, budget) = (Outbox::new(), FrameBudget::new(10));
        let (number, responder) = outbox.enter();
        outbox.hold_until_answered(number, budget.try_take(10).unwrap());
        assert!(budget.try_take(1).is_none());
        responder(Reply::Nothing);
        assert!(budget.try_take(10).is_some());
        outbox.hold_until_answered(number, budget.try_take(10).unwrap());
        assert!(budget.try_take(10).is_some(), "the request was answered already");
    }

    #[test]
    fn the_task_is_woken_once_and_only_when_it_sleeps() {
        #[derive(Default)]
        struct Count(AtomicU64);
        impl std::task::Wake for Count {
            fn wake(self: Arc<Count>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let count = Arc::new(Count::default());
        let waker = Waker::from(count.clone());
        let (outbox, mut responders) = line(4);
        outbox.task_looks();
        responders.pop_front().unwrap()(text("while awake"));
        assert!(!outbox.task_sleeps(&waker));
        outbox.task_looks();
        assert!(matches!(outbox.take_next(), Next::Send(_)));
        assert!(outbox.task_sleeps(&waker));
        responders.pop_back().unwrap()(text("not at the head of the line"));
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        responders.pop_front().unwrap()(text("at its head"));
        outbox.end(Ending::Drain);
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(!outbox.task_sleeps(&waker));
    }
}
