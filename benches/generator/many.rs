//! Creates very many partitions and writes a batch to each, so that every log has something to recover.

use std::io;
use std::time::Instant;

use clap::Args;

use crate::Target;
use crate::batch::batch;
use crate::connection::{Connection, frame};
use crate::produce_request::{VERSION, check, produce_request};
use crate::topic::create_topic;

#[derive(Args)]
pub struct ManyArgs {
    #[command(flatten)]
    target: Target,
    /// Topics, named like the target's topic with a number behind it.
    #[arg(long, default_value_t = 10)]
    topics: usize,
    /// Partitions of each; a Kafka controller refuses 10,000 in one request.
    #[arg(long, default_value_t = 1_000)]
    partitions: i32,
}

pub fn run(args: &ManyArgs) -> io::Result<()> {
    let mut connection = Connection::open(&args.target.address)?;
    let names: Vec<String> = (0..args.topics).map(|index| format!("{}-{index}", args.target.topic)).collect();
    let begin = Instant::now();
    for name in &names {
        create_topic(&mut connection, name, args.partitions)?;
    }
    println!("create_seconds {:.3}", begin.elapsed().as_secs_f64());
    let (batch, begin) = (batch(1, 100), Instant::now());
    for name in &names {
        connection.send_frame(&frame(&produce_request(name, 0..args.partitions, &batch, -1), VERSION))?;
        check(connection.receive_frame()?)?;
    }
    println!("fill_seconds {:.3}", begin.elapsed().as_secs_f64());
    Ok(())
}
