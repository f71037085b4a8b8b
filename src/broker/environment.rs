//! What surrounds the broker and is handed to it: disk, clock, randomness, and a place for work that may block. The shell hands in the real
//! ones, tests and the simulation theirs.

use std::fmt;
use std::sync::Arc;

use ottla_io::{Clock, Disk, Rng, SeededRng, random_uuid};
use ottla_model::Uuid;
use parking_lot::Mutex;

/// Runs work that may wait for a disk, so that whoever serves connections does not. Order is not kept.
pub trait Blocking: Send + Sync {
    /// Runs `task` soon, on some other thread; or at once, where there is only one.
    fn run(&self, task: Box<dyn FnOnce() + Send>);
}

/// Runs everything at once, on the caller's thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunInline;

impl Blocking for RunInline {
    fn run(&self, task: Box<dyn FnOnce() + Send>) {
        task();
    }
}

/// The broker's surroundings.
#[derive(Clone)]
pub struct Environment {
    /// Files.
    pub disk: Arc<dyn Disk>,
    /// The time, for what is not told it by its caller.
    pub clock: Arc<dyn Clock>,
    /// Random numbers.
    pub rng: Arc<Mutex<Box<dyn Rng>>>,
    /// Where blocking work runs.
    pub blocking: Arc<dyn Blocking>,
}

impl Environment {
    /// A new random id.
    pub fn random_uuid(&self) -> Uuid {
        random_uuid(self.rng.lock().as_mut())
    }

    /// A source of random numbers of its own, that begins at a random place.
    pub fn split_rng(&self) -> Box<dyn Rng> {
        Box::new(SeededRng::new(self.random_u64()))
    }

    /// A new random number.
    pub fn random_u64(&self) -> u64 {
        self.rng.lock().next_u64()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").field("disk", &self.disk).field("clock", &self.clock).finish_non_exhaustive()
    }
}
