//! A light load generator: prepared batches over plain sockets, so that the broker is what is measured. Prints `name value` lines.

mod batch;
mod connection;
mod consume;
mod first_ack;
mod idle;
mod many;
mod process;
mod produce;
mod produce_request;
mod topic;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

#[derive(Parser)]
#[command(about)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Produce as fast as possible, or at a fixed rate.
    Produce(produce::ProduceArgs),
    /// Consume from the beginning, over and over.
    Consume(consume::ConsumeArgs),
    /// Wait until a broker that is starting acknowledges a record.
    FirstAck(first_ack::FirstAckArgs),
    /// Create very many partitions, and write to each.
    Many(many::ManyArgs),
    /// Hold idle connections and report the memory that they cost.
    Idle(idle::IdleArgs),
}

/// The broker under test.
#[derive(Args)]
pub struct Target {
    /// Its address.
    #[arg(long, default_value = "127.0.0.1:9092")]
    address: String,
    /// Its process id, for processor time and memory.
    #[arg(long)]
    process: Option<u32>,
    /// The topic.
    #[arg(long, default_value = "bench")]
    topic: String,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Produce(args) => produce::run(&args),
        Command::Consume(args) => consume::run(&args),
        Command::FirstAck(args) => first_ack::run(&args),
        Command::Many(args) => many::run(&args),
        Command::Idle(args) => idle::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ottla-bench: {error}");
            ExitCode::FAILURE
        }
    }
}
