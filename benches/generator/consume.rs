//! Reads a topic's partitions from their beginning, over and over, and reports what it cost.

use std::io;
use std::time::{Duration, Instant};

use clap::Args;
use ottla_protocol::Records;
use ottla_protocol::messages::fetch_request::{FetchPartition, FetchRequest, FetchTopic};
use ottla_record::Batches;

use crate::Target;
use crate::connection::Connection;
use crate::process::cpu_seconds;

const VERSION: i16 = 12;

#[derive(Args)]
pub struct ConsumeArgs {
    #[command(flatten)]
    target: Target,
    /// Partitions of the topic.
    #[arg(long, default_value_t = 4)]
    partitions: i32,
    /// The most bytes of an answer.
    #[arg(long, default_value_t = 52_428_800)]
    max_bytes: i32,
    /// The most bytes of a partition in an answer.
    #[arg(long, default_value_t = 1_048_576)]
    partition_max_bytes: i32,
    /// Seconds.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
}

pub fn run(args: &ConsumeArgs) -> io::Result<()> {
    let mut connection = Connection::open(&args.target.address)?;
    let mut offsets = vec![0i64; args.partitions as usize];
    let (mut records, mut bytes) = (0u64, 0u64);
    let cpu_before = args.target.process.map(cpu_seconds).transpose()?;
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(args.seconds) {
        let response = connection.call(&request(args, &offsets), VERSION)?;
        let mut empty = true;
        for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
            if partition.error_code != 0 {
                return Err(io::Error::other(format!("partition {} answers error {}", partition.partition_index, partition.error_code)));
            }
            let Some(Records::Memory(data)) = &partition.records else { continue };
            bytes += data.len() as u64;
            for batch in Batches::new(data).map_while(Result::ok) {
                records += u64::from(batch.header.records_count.unsigned_abs());
                offsets[partition.partition_index as usize] = batch.header.next_offset();
                empty = false;
            }
        }
        if empty {
            offsets.fill(0);
        }
    }
    let elapsed = begin.elapsed().as_secs_f64();
    println!("records_per_second {:.0}", records as f64 / elapsed);
    println!("megabytes_per_second {:.1}", bytes as f64 / elapsed / 1e6);
    if let Some((before, process)) = cpu_before.zip(args.target.process) {
        let cpu = cpu_seconds(process)? - before;
        println!("broker_cpu_microseconds_per_record {:.4}", cpu * 1e6 / records as f64);
        println!("broker_cpu_share {:.2}", cpu / elapsed);
    }
    Ok(())
}

fn request(args: &ConsumeArgs, offsets: &[i64]) -> FetchRequest {
    let partitions = offsets.iter().enumerate().map(|(partition, &fetch_offset)| FetchPartition {
        partition: partition as i32,
        fetch_offset,
        partition_max_bytes: args.partition_max_bytes,
        ..FetchPartition::default()
    });
    FetchRequest {
        max_wait_ms: 100,
        min_bytes: 1,
        max_bytes: args.max_bytes,
        session_epoch: -1,
        topics: vec![FetchTopic { topic: args.target.topic.clone(), partitions: partitions.collect(), ..FetchTopic::default() }],
        ..FetchRequest::default()
    }
}
