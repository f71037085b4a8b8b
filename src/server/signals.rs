//! The signals that stop the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that stops the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGTERM
    Terminate,
    /// SIGINT
    Interrupt,
}

impl StopSignal {
    /// The signal's name.
    pub fn name(self) -> &'static str {
        match self {
            StopSignal::Terminate => "SIGTERM",
            StopSignal::Interrupt => "SIGINT",
        }
    }

    /// What a process that ends by the signal at once exits with.
    pub fn exit_code(self) -> i32 {
        match self {
            StopSignal::Terminate => 128 + 15,
            StopSignal::Interrupt => 128 + 2,
        }
    }
}

/// Waits for them. From its creation on the signals no longer end the process by themselves.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// To be called within a tokio runtime.
    pub fn new() -> io::Result<StopSignals> {
        Ok(StopSignals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// The next one.
    pub async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.interrupt.recv() => StopSignal::Interrupt,
        }
    }
}
