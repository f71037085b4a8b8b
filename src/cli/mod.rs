//! The commands of the binary besides `serve`: they work on directories and files, never on a running node.

pub mod dump_log;
pub mod format;
mod scram;
