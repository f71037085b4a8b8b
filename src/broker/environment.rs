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

/// The process's loggers, whose levels clients may see and change.
pub trait Loggers: Send + Sync {
    /// Every logger with the level in force, in Kafka's words (`INFO`), by name.
    fn levels(&self) -> Vec<(String, String)>;

    /// Gives a logger a level of its own, or with `None` takes it away. The error is for the client.
    fn set_level(&self, logger: &str, level: Option<&str>) -> Result<(), String>;
}

/// A process that logs nothing that could be changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLoggers;

impl Loggers for NoLoggers {
    fn levels(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn set_level(&self, logger: &str, _level: Option<&str>) -> Result<(), String> {
        Err(format!("Logger {logger} does not exist!"))
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
    /// What is logged.
    pub loggers: Arc<dyn Loggers>,
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
