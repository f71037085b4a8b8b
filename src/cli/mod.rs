//! The commands of the binary: `serve` runs a node, the others work on directories and files and never on a running node.

mod configuration;
pub mod dump_log;
pub mod format;
mod node;
mod scram;
pub mod serve;
pub mod storage;
