//! Holds connections on which a version request was answered and nothing else happens.

use std::io;
use std::thread;
use std::time::Duration;

use clap::Args;
use ottla_protocol::messages::api_versions_request::ApiVersionsRequest;

use crate::Target;
use crate::connection::Connection;
use crate::process::resident_bytes;

#[derive(Args)]
pub struct IdleArgs {
    #[command(flatten)]
    target: Target,
    /// How many.
    #[arg(long, default_value_t = 10_000)]
    connections: usize,
}

pub fn run(args: &IdleArgs) -> io::Result<()> {
    let process = args.target.process.ok_or_else(|| io::Error::other("--process is needed to read the memory"))?;
    let before = resident_bytes(process)?;
    let mut connections = Vec::new();
    for _ in 0..args.connections {
        let mut connection = Connection::open(&args.target.address)?;
        connection.call(&ApiVersionsRequest::default(), 0)?;
        connections.push(connection);
    }
    thread::sleep(Duration::from_secs(2));
    let after = resident_bytes(process)?;
    println!("resident_bytes_before {before}");
    println!("resident_bytes_after {after}");
    println!("bytes_per_connection {}", after.saturating_sub(before) / args.connections as u64);
    Ok(())
}
