//! The shell around a service that tests describe, seen by clients on loopback.

mod files;
mod limits;
mod order;
mod support;
mod time;
