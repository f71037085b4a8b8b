//! The checks of rskafka, which has no groups, no idempotent producer and little administration. How they are reported is said in
//! `harness/client_programs.py`.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, TimeDelta, Utc};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::{Record, RecordAndOffset};

const RECORDS: usize = 200;
const LARGE: usize = 900 * 1024;
const TOO_LARGE: usize = 2 * 1024 * 1024;
const TIMEOUT_MS: i32 = 10_000;
const FETCH_BYTES: i32 = 4 * 1024 * 1024;

/// Why a check failed: any library's error, or a text.
type Failure = Box<dyn std::error::Error>;
type Outcome = Result<(), Failure>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, mode, address] = arguments.as_slice() else { return Err("usage: rskafka suite ADDRESS".into()) };
    if mode != "suite" {
        return Err(format!("rskafka has no mode {mode}").into());
    }
    let suite = Suite { client: ClientBuilder::new(vec![address.clone()]).build().await? };
    report("create-topic", suite.create_topic().await);
    report("codec-none", suite.codec(Compression::NoCompression).await);
    report("codec-gzip", suite.codec(Compression::Gzip).await);
    report("codec-snappy", suite.codec(Compression::Snappy).await);
    report("codec-lz4", suite.codec(Compression::Lz4).await);
    report("codec-zstd", suite.codec(Compression::Zstd).await);
    report("headers", suite.headers().await);
    report("tombstones", suite.tombstones().await);
    report("large-record", suite.large_record().await);
    report("too-large-record", suite.too_large_record().await);
    report("seek-by-time", suite.seek_by_time().await);
    report("delete-records", suite.delete_records().await);
    report("unknown-topic", suite.unknown_topic().await);
    report("invalid-topic", suite.invalid_topic().await);
    report("delete-topic", suite.delete_topic().await);
    println!("end");
    Ok(())
}

fn report(name: &str, outcome: Outcome) {
    match outcome {
        Ok(()) => println!("ok {name}"),
        Err(failure) => println!("failed {name}: {}", failure.to_string().replace('\n', " ")),
    }
}

fn expect<T: PartialEq + Debug>(actual: T, wanted: T, what: &str) -> Outcome {
    if actual == wanted { Ok(()) } else { Err(format!("{what} is {actual:?}, not {wanted:?}").into()) }
}

/// The operation must have failed with an error whose text has `wanted` in it.
fn expect_error<T: Debug>(result: Result<T, rskafka::client::error::Error>, wanted: &str) -> Outcome {
    match result {
        Ok(value) => Err(format!("no {wanted}, but {value:?}").into()),
        Err(error) if format!("{error:?}").contains(wanted) => Ok(()),
        Err(error) => Err(format!("the error is {error:?}, not {wanted}").into()),
    }
}

fn unique(name: &str) -> Result<String, Failure> {
    Ok(format!("rskafka-{name}-{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos()))
}

fn record(key: Option<&str>, value: Option<Vec<u8>>) -> Record {
    Record { key: key.map(|key| key.as_bytes().to_vec()), value, headers: BTreeMap::new(), timestamp: Utc::now() }
}

/// Values that compress, one empty, one with every byte in it.
fn samples(count: usize) -> Vec<Record> {
    let value = |number: usize| match number {
        1 => Vec::new(),
        2 => (0..=255).collect(),
        _ => format!("value-{number} ").repeat(10).into_bytes(),
    };
    (0..count).map(|number| record(Some(&format!("key-{number}")), Some(value(number)))).collect()
}

struct Suite {
    client: Client,
}

impl Suite {
    async fn topic(&self, name: &str, partitions: i32) -> Result<String, Failure> {
        let topic = unique(name)?;
        self.client.controller_client()?.create_topic(topic.clone(), partitions, 1, TIMEOUT_MS).await?;
        Ok(topic)
    }

    /// A new topic with one partition, and the client of that partition.
    async fn partition(&self, name: &str) -> Result<PartitionClient, Failure> {
        let topic = self.topic(name, 1).await?;
        Ok(self.client.partition_client(topic, 0, UnknownTopicHandling::Retry).await?)
    }

    async fn create_topic(&self) -> Outcome {
        let topic = self.topic("create", 3).await?;
        let topics = self.client.list_topics().await?;
        let found = topics.iter().find(|each| each.name == topic).ok_or("the topic is not listed")?;
        expect(found.partitions.len(), 3, "the number of partitions")?;
        expect_error(self.client.controller_client()?.create_topic(topic, 1, 1, TIMEOUT_MS).await, "TopicAlreadyExists")
    }

    async fn codec(&self, compression: Compression) -> Outcome {
        let partition = self.partition("codec").await?;
        let sent = samples(RECORDS);
        let offsets = partition.produce(sent.clone(), compression).await?;
        expect(offsets, (0..RECORDS as i64).collect(), "the offsets")?;
        let read = read(&partition, 0).await?;
        let contents = |record: &Record| (record.key.clone(), record.value.clone());
        expect(read.iter().map(|each| contents(&each.record)).collect::<Vec<_>>(), sent.iter().map(contents).collect(), "the records")
    }

    async fn headers(&self) -> Outcome {
        let partition = self.partition("headers").await?;
        let headers = BTreeMap::from([("first".to_owned(), b"1".to_vec()), ("empty".to_owned(), Vec::new())]);
        let sent = Record { headers: headers.clone(), ..record(None, Some(b"v".to_vec())) };
        partition.produce(vec![sent], Compression::NoCompression).await?;
        expect(&read(&partition, 0).await?[0].record.headers, &headers, "the headers")
    }

    async fn tombstones(&self) -> Outcome {
        let partition = self.partition("tombstones").await?;
        let records = vec![record(Some("k"), Some(b"v".to_vec())), record(Some("k"), None)];
        partition.produce(records, Compression::NoCompression).await?;
        expect(read(&partition, 0).await?[1].record.value.clone(), None, "the tombstone")
    }

    async fn large_record(&self) -> Outcome {
        let partition = self.partition("large").await?;
        partition.produce(vec![record(None, Some(vec![0; LARGE]))], Compression::NoCompression).await?;
        let value = read(&partition, 0).await?.remove(0).record.value;
        expect(value.map(|value| value.len()), Some(LARGE), "the length")
    }

    async fn too_large_record(&self) -> Outcome {
        let partition = self.partition("too-large").await?;
        let sent = partition.produce(vec![record(None, Some(vec![0; TOO_LARGE]))], Compression::NoCompression).await;
        expect_error(sent.map(|_| ()), "MessageTooLarge")
    }

    async fn seek_by_time(&self) -> Outcome {
        let partition = self.partition("time").await?;
        let start: DateTime<Utc> = Utc::now() - TimeDelta::seconds(100);
        let at = |seconds: i64| start + TimeDelta::seconds(seconds);
        let records = (0..50).map(|number| Record { timestamp: at(number), ..record(None, Some(b"v".to_vec())) }).collect();
        partition.produce(records, Compression::NoCompression).await?;
        expect(
            partition.get_offset(OffsetAt::Timestamp(at(20) + TimeDelta::milliseconds(2))).await?,
            21,
            "the offset for a time between two records",
        )?;
        expect(partition.get_offset(OffsetAt::Earliest).await?, 0, "the earliest offset")?;
        expect(partition.get_offset(OffsetAt::Latest).await?, 50, "the latest offset")
    }

    async fn delete_records(&self) -> Outcome {
        let partition = self.partition("delete-records").await?;
        partition.produce(samples(50), Compression::NoCompression).await?;
        partition.delete_records(30, TIMEOUT_MS).await?;
        expect(partition.get_offset(OffsetAt::Earliest).await?, 30, "the earliest offset")?;
        expect_error(partition.fetch_records(5, 1..FETCH_BYTES, TIMEOUT_MS).await.map(|_| ()), "OffsetOutOfRange")
    }

    async fn unknown_topic(&self) -> Outcome {
        expect_error(self.client.controller_client()?.delete_topic(unique("missing")?, TIMEOUT_MS).await, "UnknownTopicOrPartition")
    }

    async fn invalid_topic(&self) -> Outcome {
        let controller = self.client.controller_client()?;
        expect_error(controller.create_topic("no spaces", 1, 1, TIMEOUT_MS).await, "InvalidTopic")?;
        expect_error(controller.create_topic(unique("factor")?, 1, 7, TIMEOUT_MS).await, "InvalidReplicationFactor")
    }

    async fn delete_topic(&self) -> Outcome {
        let topic = self.topic("delete", 1).await?;
        self.client.controller_client()?.delete_topic(topic.clone(), TIMEOUT_MS).await?;
        for _ in 0..100 {
            if self.client.list_topics().await?.iter().all(|each| each.name != topic) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("the topic is still listed".into())
    }
}

/// Everything from an offset on, which fits in one fetch.
async fn read(partition: &PartitionClient, offset: i64) -> Result<Vec<RecordAndOffset>, Failure> {
    Ok(partition.fetch_records(offset, 1..FETCH_BYTES, TIMEOUT_MS).await?.0)
}
