//! Tests of logs as a whole.

mod appending;
mod crashes;
mod garbage;
mod model;
mod offsets;
mod producers;
mod reading;
mod retention;
mod transactions;
