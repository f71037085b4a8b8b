//! The coordinators: what a broker decides about consumer groups and their offsets, and about transactions, as pure machines.
//!
//! A request goes in, with the time and whatever randomness it needs; replies, records for the coordinator's partition and events for
//! the log come out. Nothing here reads a clock, writes a file, waits, or knows which broker it runs on.

pub mod group;
pub mod transaction;
