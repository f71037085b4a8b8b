//! Tests of whole shards. Scenarios are transcripts: commands and, below each, everything that came out, for a person to review.

mod harness;
mod loading;
mod print;
mod properties;
mod transcript;
mod versions;
