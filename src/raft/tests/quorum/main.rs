//! Quorums of several nodes in memory.

mod cluster;
mod random;
mod told;
