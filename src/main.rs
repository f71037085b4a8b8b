//! The command line.

mod cli;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A Kafka broker in one binary.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a node until it is told to stop.
    Serve(cli::serve::ServeArgs),
    /// Format log directories, and look at formatted ones.
    Storage(cli::storage::StorageArgs),
    /// Print what is in the files of a log directory.
    DumpLog(cli::dump_log::DumpLogArgs),
}

fn main() -> ExitCode {
    // With huge pages the allocator's first few allocations alone would cost 10 MB. Where the kernel does not know the call, they do.
    if let Err(error) = rustix::thread::disable_transparent_huge_pages(true) {
        eprintln!("ottla: huge pages stay on: {error}");
    }
    match Cli::parse().command {
        Command::Serve(args) => cli::serve::run(&args),
        Command::Storage(args) => cli::storage::run(args),
        Command::DumpLog(args) => cli::dump_log::run(args),
    }
}
