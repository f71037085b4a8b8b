//! Reads a topic's partitions from their beginning, over and over, and reports what it cost.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;
use ottla_protocol::Records;
use ottla_protocol::messages::fetch_request::{FetchPartition, FetchRequest, FetchTopic};
use ottla_record::Batches;

use crate::Target;
use crate::connection::{Connection, decode_answer, frame};
use crate::process::cpu_seconds;

const VERSION: i16 = 12;

#[derive(Args)]
pub struct ConsumeArgs {
    #[command(flatten)]
    target: Target,
    /// Partitions of the topic.
    #[arg(long, default_value_t = 4)]
    partitions: i32,
    /// Connections, each on a thread of its own and reading all partitions.
    #[arg(long, default_value_t = 2)]
    connections: usize,
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

#[derive(Default)]
struct Progress {
    records: AtomicU64,
    bytes: AtomicU64,
}

pub fn run(args: &ConsumeArgs) -> io::Result<()> {
    let progress = Progress::default();
    let cpu_before = args.target.process.map(cpu_seconds).transpose()?;
    let begin = Instant::now();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..args.connections).map(|_| scope.spawn(|| read_over_and_over(args, begin, &progress))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker panicked"))
    })?;
    let elapsed = begin.elapsed().as_secs_f64();
    let (records, bytes) = (progress.records.into_inner() as f64, progress.bytes.into_inner() as f64);
    println!("records_per_second {:.0}", records / elapsed);
    println!("megabytes_per_second {:.1}", bytes / elapsed / 1e6);
    if let Some((before, process)) = cpu_before.zip(args.target.process) {
        let cpu = cpu_seconds(process)? - before;
        println!("broker_cpu_microseconds_per_record {:.4}", cpu * 1e6 / records);
        println!("broker_cpu_seconds_per_gigabyte {:.4}", cpu * 1e9 / bytes);
        println!("broker_cpu_share {:.2}", cpu / elapsed);
    }
    Ok(())
}

fn read_over_and_over(args: &ConsumeArgs, begin: Instant, progress: &Progress) -> io::Result<()> {
    let mut connection = Connection::open(&args.target.address)?;
    let mut offsets = vec![0i64; args.partitions as usize];
    while begin.elapsed() < Duration::from_secs(args.seconds) {
        connection.send_frame(&frame(&request(args, &offsets), VERSION))?;
        let answer = connection.receive_frame()?;
        if !take_batches(&answer, &mut offsets, progress)? {
            offsets.fill(0);
        }
        connection.recycle(answer);
    }
    Ok(())
}

/// Moves the offsets behind what was answered; whether anything was.
fn take_batches(answer: &Bytes, offsets: &mut [i64], progress: &Progress) -> io::Result<bool> {
    let response = decode_answer::<FetchRequest>(answer.clone(), VERSION)?;
    let mut found = false;
    for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
        if partition.error_code != 0 {
            return Err(io::Error::other(format!("partition {} answers error {}", partition.partition_index, partition.error_code)));
        }
        let Some(Records::Memory(data)) = &partition.records else { continue };
        progress.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
        for batch in Batches::new(data).map_while(Result::ok) {
            progress.records.fetch_add(u64::from(batch.header.records_count.unsigned_abs()), Ordering::Relaxed);
            offsets[partition.partition_index as usize] = batch.header.next_offset();
            found = true;
        }
    }
    Ok(found)
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
