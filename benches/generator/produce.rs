//! Produces prepared batches as fast as the broker takes them, or at a fixed rate, and reports what it cost.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clap::Args;

use crate::Target;
use crate::batch::batch;
use crate::connection::{Connection, frame};
use crate::process::cpu_seconds;
use crate::produce_request::{VERSION, check, produce_request};
use crate::topic::create_topic;

#[derive(Args)]
pub struct ProduceArgs {
    #[command(flatten)]
    target: Target,
    /// Partitions of the topic; each connection writes to one, round robin.
    #[arg(long, default_value_t = 4)]
    partitions: i32,
    /// Connections, each on a thread of its own.
    #[arg(long, default_value_t = 2)]
    connections: usize,
    /// Requests of a connection that wait for their answers at once.
    #[arg(long, default_value_t = 16)]
    in_flight: usize,
    /// Records in a batch, one batch in a request.
    #[arg(long, default_value_t = 150)]
    batch_records: usize,
    /// Bytes of a record's value.
    #[arg(long, default_value_t = 100)]
    record_bytes: usize,
    /// Required acks.
    #[arg(long, default_value_t = -1, allow_hyphen_values = true)]
    acks: i16,
    /// Seconds of warming up that do not count.
    #[arg(long, default_value_t = 2)]
    warm_up: u64,
    /// Seconds that count.
    #[arg(long, default_value_t = 8)]
    seconds: u64,
    /// Requests per second in all, sent one at a time per connection; latencies are reported. Without it: as fast as possible.
    #[arg(long)]
    rate: Option<f64>,
}

struct Progress {
    records: AtomicU64,
    stop: AtomicBool,
}

pub fn run(args: &ProduceArgs) -> io::Result<()> {
    create_topic(&mut Connection::open(&args.target.address)?, &args.target.topic, args.partitions)?;
    let progress = Progress { records: AtomicU64::new(0), stop: AtomicBool::new(false) };
    let frames: Vec<Bytes> = (0..args.partitions).map(|partition| produce_frame(args, partition)).collect();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..args.connections)
            .map(|index| {
                let (frame, progress) = (&frames[index % frames.len()], &progress);
                scope.spawn(move || match args.rate {
                    Some(rate) => paced(args, frame, progress, rate / args.connections as f64),
                    None => pipelined(args, frame, progress).map(|()| Vec::new()),
                })
            })
            .collect();
        thread::sleep(Duration::from_secs(args.warm_up));
        let start = (Instant::now(), progress.records.load(Ordering::Relaxed), broker_cpu(&args.target)?);
        thread::sleep(Duration::from_secs(args.seconds));
        let records = progress.records.load(Ordering::Relaxed) - start.1;
        let (elapsed, cpu) = (start.0.elapsed().as_secs_f64(), broker_cpu(&args.target)?);
        progress.stop.store(true, Ordering::Relaxed);
        let mut latencies = Vec::new();
        for worker in workers {
            latencies.extend(worker.join().expect("a worker panicked")?);
        }
        report(args, records, elapsed, start.2.zip(cpu).map(|(before, after)| after - before), latencies);
        Ok(())
    })
}

fn broker_cpu(target: &Target) -> io::Result<Option<f64>> {
    target.process.map(cpu_seconds).transpose()
}

fn produce_frame(args: &ProduceArgs, partition: i32) -> Bytes {
    let batch = batch(args.batch_records, args.record_bytes);
    frame(&produce_request(&args.target.topic, partition..partition + 1, &batch, args.acks), VERSION)
}

fn pipelined(args: &ProduceArgs, frame: &[u8], progress: &Progress) -> io::Result<()> {
    let mut connection = Connection::open(&args.target.address)?;
    let mut waiting = 0;
    while !progress.stop.load(Ordering::Relaxed) {
        while waiting < args.in_flight {
            connection.send_frame(frame)?;
            waiting += 1;
        }
        check(connection.receive_frame()?)?;
        waiting -= 1;
        progress.records.fetch_add(args.batch_records as u64, Ordering::Relaxed);
    }
    for _ in 0..waiting {
        connection.receive_frame()?;
    }
    Ok(())
}

/// Latencies in microseconds, counted from when a request was due, so that a stall is charged to all that it delayed.
fn paced(args: &ProduceArgs, frame: &[u8], progress: &Progress, rate: f64) -> io::Result<Vec<u64>> {
    let mut connection = Connection::open(&args.target.address)?;
    let interval = Duration::from_secs_f64(1.0 / rate);
    let (begin, mut due, mut latencies) = (Instant::now(), Instant::now(), Vec::new());
    while !progress.stop.load(Ordering::Relaxed) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        connection.send_frame(frame)?;
        check(connection.receive_frame()?)?;
        progress.records.fetch_add(args.batch_records as u64, Ordering::Relaxed);
        if begin.elapsed().as_secs() >= args.warm_up {
            latencies.push(due.elapsed().as_micros() as u64);
        }
        due += interval;
    }
    Ok(latencies)
}

fn report(args: &ProduceArgs, records: u64, elapsed: f64, cpu: Option<f64>, mut latencies: Vec<u64>) {
    let rate = records as f64 / elapsed;
    println!("records_per_second {rate:.0}");
    println!("megabytes_per_second {:.1}", rate * args.record_bytes as f64 / 1e6);
    if let Some(cpu) = cpu {
        println!("broker_cpu_microseconds_per_record {:.4}", cpu * 1e6 / records as f64);
        println!("broker_cpu_seconds_per_gigabyte {:.4}", cpu * 1e9 / (records as f64 * args.record_bytes as f64));
        println!("broker_cpu_share {:.2}", cpu / elapsed);
    }
    latencies.sort_unstable();
    for (name, share) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)] {
        if let Some(latency) = latencies.get(((latencies.len() as f64 * share) as usize).min(latencies.len().saturating_sub(1))) {
            println!("latency_{name}_microseconds {latency}");
        }
    }
}
