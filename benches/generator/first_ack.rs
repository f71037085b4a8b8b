//! Waits for a broker that is starting until it acknowledges a record, and tells when that was.

use std::io;
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

use clap::Args;

use crate::Target;
use crate::batch::batch;
use crate::connection::{Connection, frame};
use crate::produce_request::{VERSION, check, produce_request};
use crate::topic::create_topic;

#[derive(Args)]
pub struct FirstAckArgs {
    #[command(flatten)]
    target: Target,
    /// Partitions of the topic, which is created unless it is there.
    #[arg(long, default_value_t = 1)]
    partitions: i32,
    /// Seconds after which it gives up.
    #[arg(long, default_value_t = 60)]
    timeout: u64,
}

pub fn run(args: &FirstAckArgs) -> io::Result<()> {
    let begin = Instant::now();
    while let Err(error) = attempt(args) {
        if begin.elapsed() > Duration::from_secs(args.timeout) {
            return Err(error);
        }
        thread::sleep(Duration::from_millis(1));
    }
    println!("acked_unix_microseconds {}", UNIX_EPOCH.elapsed().map_err(io::Error::other)?.as_micros());
    Ok(())
}

fn attempt(args: &FirstAckArgs) -> io::Result<()> {
    let mut connection = Connection::open(&args.target.address)?;
    create_topic(&mut connection, &args.target.topic, args.partitions)?;
    connection.send_frame(&frame(&produce_request(&args.target.topic, 0..1, &batch(1, 100), -1), VERSION))?;
    check(connection.receive_frame()?)
}
