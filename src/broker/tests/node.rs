//! A whole node on a disk in memory, with a clock that stands and no threads: requests in, answers out, as a simulation drives it.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use bytes::Bytes;
use ottla_broker::{
    AdvertisedListener, Broker, Connection, ConnectionInfo, Environment, NoLoggers, NodeSettings, Reply, RunInline, StartError,
};
use ottla_config::{ConfigSources, load};
use ottla_io::{Crash, Disk, ManualClock, MemoryDisk, SeededRng};
use ottla_log::MetaProperties;
use ottla_model::{BrokerId, Uuid};
use ottla_protocol::messages::create_topics_request::{CreatableTopic, CreateTopicsRequest};
use ottla_protocol::messages::describe_transactions_request::DescribeTransactionsRequest;
use ottla_protocol::messages::end_txn_request::EndTxnRequest;
use ottla_protocol::messages::fetch_request::{FetchPartition, FetchRequest, FetchTopic};
use ottla_protocol::messages::fetch_response::FetchResponse;
use ottla_protocol::messages::find_coordinator_request::FindCoordinatorRequest;
use ottla_protocol::messages::init_producer_id_request::InitProducerIdRequest;
use ottla_protocol::messages::produce_request::{PartitionProduceData, ProduceRequest, TopicProduceData};
use ottla_protocol::messages::produce_response::ProduceResponse;
use ottla_protocol::messages::request_header::RequestHeader;
use ottla_protocol::{ApiKey, Message, Part, Records, Request, Writer};
use ottla_record::{BatchBuilder, BatchSettings, Batches, DecompressionBuffers, NewRecord, ProducerFields, RecordReader};
use parking_lot::Mutex;

const FETCH_VERSION: i16 = 12;
const PRODUCE_VERSION: i16 = 9;
const OVERRIDES: [&str; 4] =
    ["log.dirs=/data", "num.partitions=1", "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1"];
const START_MS: i64 = 1_700_000_000_000;
const CLUSTER: &str = "4L6g3nShT-eMCtK--X86sw";

/// A node and one client of it.
struct Node {
    disk: Arc<MemoryDisk>,
    clock: Arc<ManualClock>,
    broker: Arc<Broker>,
    connection: Arc<Connection>,
}

/// An answer that may still be out.
struct Answer<R: Request> {
    receiver: Receiver<Reply>,
    version: i16,
    request: std::marker::PhantomData<R>,
}

fn start(disk: Arc<MemoryDisk>, clock: Arc<ManualClock>) -> Arc<Broker> {
    start_with(&[], disk, clock).unwrap()
}

fn start_with(overrides: &[&'static str], disk: Arc<MemoryDisk>, clock: Arc<ManualClock>) -> Result<Arc<Broker>, StartError> {
    let overrides = OVERRIDES.iter().chain(overrides).copied().collect();
    let loaded = load(&ConfigSources { overrides, ..ConfigSources::default() }).unwrap();
    let listener = |name: &str, port| AdvertisedListener { name: name.into(), host: "localhost".into(), port, security_protocol: 0 };
    let settings = NodeSettings {
        config: Arc::new(loaded.config),
        advertised_listeners: vec![listener("PLAINTEXT", 9092)],
        controller_listeners: vec![listener("CONTROLLER", 9093)],
    };
    let environment = Environment {
        disk,
        clock: clock.clone(),
        rng: Arc::new(Mutex::new(Box::new(SeededRng::new(1)))),
        blocking: Arc::new(RunInline),
        loggers: Arc::new(NoLoggers),
    };
    Broker::start(settings, environment, ottla_io::Clock::now_ms(clock.as_ref()))
}

fn format(disk: &MemoryDisk, directory: &str, directory_number: u64, cluster_id: &str, node_id: BrokerId) {
    let directory = Path::new(directory);
    disk.create_dir_all(directory).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    let properties = MetaProperties {
        version: 1,
        cluster_id: Some(cluster_id.into()),
        node_id: Some(node_id),
        directory_id: Some(Uuid::from_u64_pair(7, directory_number)),
    };
    properties.write(disk, directory).unwrap();
}

impl Node {
    fn new() -> Node {
        let disk = Arc::new(MemoryDisk::new());
        format(&disk, "/data", 7, CLUSTER, BrokerId(1));
        let clock = Arc::new(ManualClock::new(START_MS));
        let broker = start(disk.clone(), clock.clone());
        Node { disk, clock, broker, connection: connection() }
    }

    /// The power goes, and the node starts again on what the disk has.
    fn crash_and_restart(self) -> Node {
        let Node { disk, clock, broker, .. } = self;
        drop(broker);
        disk.crash(Crash::LoseUnsynced);
        let broker = start(disk.clone(), clock.clone());
        Node { disk, clock, broker, connection: connection() }
    }

    fn stop_and_restart(self) -> Node {
        let Node { disk, clock, broker, .. } = self;
        broker.shutdown(ottla_io::Clock::now_ms(clock.as_ref()));
        drop(broker);
        let broker = start(disk.clone(), clock.clone());
        Node { disk, clock, broker, connection: connection() }
    }

    fn now_ms(&self) -> i64 {
        ottla_io::Clock::now_ms(self.clock.as_ref())
    }

    fn send<R: Request>(&self, request: &R, version: i16) -> Answer<R> {
        let (sender, receiver) = channel();
        let responder = Box::new(move |reply| sender.send(reply).expect("the test waits for its answers"));
        self.broker.handle(&self.connection, frame(request, version), self.now_ms(), responder);
        Answer { receiver, version, request: std::marker::PhantomData }
    }

    fn call<R: Request>(&self, request: &R, version: i16) -> R::Response {
        self.send(request, version).take().expect("an answer at once")
    }

    fn create_topic(&self, name: &str) {
        let topic = CreatableTopic { name: name.into(), num_partitions: 1, replication_factor: 1, ..CreatableTopic::default() };
        let response = self.call(&CreateTopicsRequest { topics: vec![topic], timeout_ms: 1000, ..CreateTopicsRequest::default() }, 5);
        assert_eq!(response.topics[0].error_code, 0);
    }

    fn produce(&self, topic: &str, values: &[&str], producer: ProducerFields) -> (i16, i64) {
        let response: ProduceResponse = self.call(&produce_request(topic, values, producer, self.now_ms()), PRODUCE_VERSION);
        let partition = &response.responses[0].partition_responses[0];
        (partition.error_code, partition.base_offset)
    }

    fn fetch(&self, topic: &str, fetch_offset: i64, max_wait_ms: i32) -> Answer<FetchRequest> {
        let partition = FetchPartition { fetch_offset, partition_max_bytes: 1 << 20, ..FetchPartition::default() };
        let topics = vec![FetchTopic { topic: topic.into(), partitions: vec![partition], ..FetchTopic::default() }];
        let request = FetchRequest { max_wait_ms, min_bytes: 1, session_epoch: -1, topics, ..FetchRequest::default() };
        self.send(&request, FETCH_VERSION)
    }

    fn values(&self, topic: &str) -> Vec<String> {
        values(&self.fetch(topic, 0, 0).take().expect("a fetch that does not wait"))
    }
}

impl<R: Request> Answer<R> {
    /// The answer, if it is there.
    fn take(&self) -> Option<R::Response> {
        let reply = match self.receiver.try_recv() {
            Ok(reply) => reply,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => panic!("the request was dropped"),
        };
        let Reply::Send(parts) = reply else { panic!("{reply:?}") };
        let bytes = join(&parts);
        let key = ApiKey::from_code(R::API_KEY).unwrap();
        let header_length = if key.response_header_version(self.version) == 0 { 8 } else { 9 };
        assert_eq!(u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize, bytes.len() - 4);
        Some(R::Response::from_bytes(bytes.slice(header_length..), self.version).unwrap())
    }
}

/// What a socket would carry: file parts are read.
fn join(parts: &[Part]) -> Bytes {
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Part::Memory(part) => bytes.extend_from_slice(part),
            Part::File(range) => {
                let file = range.file.clone().downcast::<ottla_io::PinnedFile>().expect("a file of the disk");
                let mut buffer = vec![0; range.length];
                assert_eq!(file.read_at(&mut buffer, range.position).unwrap(), range.length);
                bytes.extend_from_slice(&buffer);
            }
        }
    }
    bytes.into()
}

fn connection() -> Arc<Connection> {
    let address = "127.0.0.1:9092".parse().unwrap();
    let info = ConnectionInfo {
        id: 1,
        listener: "PLAINTEXT".into(),
        is_controller_listener: false,
        local_address: address,
        peer_address: address,
    };
    Connection::new(info)
}

fn frame<R: Request>(request: &R, version: i16) -> Bytes {
    let header = RequestHeader {
        request_api_key: R::API_KEY,
        request_api_version: version,
        correlation_id: 3,
        client_id: Some("test".into()),
        ..RequestHeader::default()
    };
    let mut writer = Writer::new();
    header.encode(&mut writer, ApiKey::from_code(R::API_KEY).unwrap().request_header_version(version)).unwrap();
    request.encode(&mut writer, version).unwrap();
    writer.into_bytes().unwrap()
}

fn produce_request(topic: &str, values: &[&str], producer: ProducerFields, timestamp: i64) -> ProduceRequest {
    let mut builder = BatchBuilder::new(BatchSettings { producer, ..BatchSettings::default() }).unwrap();
    for value in values {
        builder.append(&NewRecord { timestamp, key: None, value: Some(value.as_bytes()), headers: &[] }).unwrap();
    }
    let records = Some(Records::Memory(builder.build().unwrap().into()));
    let partition_data = vec![PartitionProduceData { index: 0, records, ..PartitionProduceData::default() }];
    let topic = TopicProduceData { name: topic.into(), partition_data, ..TopicProduceData::default() };
    ProduceRequest { acks: -1, timeout_ms: 1000, topic_data: vec![topic], ..ProduceRequest::default() }
}

fn values(response: &FetchResponse) -> Vec<String> {
    let mut values = Vec::new();
    for partition in response.responses.iter().flat_map(|topic| &topic.partitions) {
        assert_eq!(partition.error_code, 0);
        let Some(records) = partition.records.as_ref().and_then(Records::memory) else { continue };
        for batch in Batches::new(records) {
            let batch = batch.unwrap();
            let mut buffers = DecompressionBuffers::default();
            let mut reader = RecordReader::new(&batch, &mut buffers).unwrap();
            while let Some(record) = reader.next_record().unwrap() {
                values.push(String::from_utf8(record.value.unwrap().to_vec()).unwrap());
            }
        }
    }
    values
}

#[test]
fn what_was_produced_is_fetched_and_survives_a_clean_restart() {
    let node = Node::new();
    node.create_topic("t");
    assert_eq!(node.produce("t", &["a", "b"], ProducerFields::NONE), (0, 0));
    assert_eq!(node.produce("t", &["c"], ProducerFields::NONE), (0, 2));
    assert_eq!(node.values("t"), ["a", "b", "c"]);
    let node = node.stop_and_restart();
    assert_eq!(node.values("t"), ["a", "b", "c"]);
    assert_eq!(node.produce("t", &["d"], ProducerFields::NONE), (0, 3));
}

#[test]
fn a_fetch_waits_for_data_and_is_woken_by_it() {
    let node = Node::new();
    node.create_topic("t");
    let waiting = node.fetch("t", 0, 500);
    assert!(waiting.take().is_none());
    assert_eq!(node.broker.next_deadline_ms(), Some(START_MS + 500));
    node.produce("t", &["a"], ProducerFields::NONE);
    assert_eq!(values(&waiting.take().expect("woken")), ["a"]);
    node.clock.advance(500);
    node.broker.tick(node.now_ms());
    assert!(waiting.receiver.try_recv().is_err(), "it is answered once");
}

#[test]
fn a_fetch_that_waited_long_enough_is_answered_without_data() {
    let node = Node::new();
    node.create_topic("t");
    let waiting = node.fetch("t", 0, 500);
    node.clock.advance(499);
    node.broker.tick(node.now_ms());
    assert!(waiting.take().is_none());
    node.clock.advance(1);
    node.broker.tick(node.now_ms());
    assert_eq!(values(&waiting.take().expect("its time is up")), Vec::<String>::new());
}

#[test]
fn a_stop_answers_those_who_wait() {
    let node = Node::new();
    node.create_topic("t");
    let waiting = node.fetch("t", 0, 60_000);
    node.broker.shutdown(node.now_ms());
    assert!(waiting.take().is_some());
}

#[test]
fn a_repeated_batch_gets_its_first_offset() {
    let node = Node::new();
    node.create_topic("t");
    let id = node.call(&InitProducerIdRequest { transactional_id: None, ..InitProducerIdRequest::default() }, 4);
    let producer = |base_sequence| ProducerFields { producer_id: id.producer_id, producer_epoch: id.producer_epoch, base_sequence };
    assert_eq!(node.produce("t", &["a", "b"], producer(0)), (0, 0));
    assert_eq!(node.produce("t", &["c"], producer(2)), (0, 2));
    assert_eq!(node.produce("t", &["a", "b"], producer(0)), (0, 0), "a duplicate");
    assert_eq!(node.produce("t", &["e"], producer(4)), (45, -1), "a gap is out of order");
    assert_eq!(node.values("t"), ["a", "b", "c"]);
}

#[test]
fn topics_survive_the_loss_of_power_and_ids_are_not_given_out_twice() {
    let node = Node::new();
    node.create_topic("t");
    let producer_id =
        |node: &Node| node.call(&InitProducerIdRequest { transactional_id: None, ..InitProducerIdRequest::default() }, 4).producer_id;
    let first = producer_id(&node);
    let node = node.crash_and_restart();
    assert_eq!(node.produce("t", &["a"], ProducerFields::NONE), (0, 0));
    assert!(producer_id(&node) > first);
}

#[test]
fn requests_that_cannot_be_served_close_their_connection_and_nothing_else() {
    let node = Node::new();
    let closes = |frame: Bytes| {
        let (sender, receiver) = channel();
        node.broker.handle(&node.connection, frame, START_MS, Box::new(move |reply| sender.send(reply).unwrap()));
        matches!(receiver.try_recv(), Ok(Reply::Close(_)))
    };
    assert!(closes(Bytes::from_static(&[0x7f, 0xff, 0, 0, 0, 0, 0, 1, 0xff, 0xff])), "an unknown key");
    assert!(closes(Bytes::from_static(&[0, 3, 0x7f, 0xff, 0, 0, 0, 1, 0xff, 0xff, 0])), "an unknown version");
    assert!(closes(Bytes::from_static(&[0, 0])), "half a header");
    assert!(closes(Bytes::from_static(&[0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff])), "an absurd array");
    node.create_topic("t");
}

/// The last version of Produce that names topics; the broker adds its partitions to the transaction.
const TRANSACTIONAL_PRODUCE_VERSION: i16 = 12;

impl Node {
    fn init_producer(&self) -> (i16, i64, i16) {
        let find = FindCoordinatorRequest { key_type: 1, coordinator_keys: vec!["tx".into()], ..FindCoordinatorRequest::default() };
        while self.call(&find, 4).coordinators[0].error_code != 0 {}
        let transactional_id = Some("tx".into());
        let init = InitProducerIdRequest { transactional_id, transaction_timeout_ms: 60_000, ..InitProducerIdRequest::default() };
        let response = self.call(&init, 5);
        (response.error_code, response.producer_id, response.producer_epoch)
    }

    fn produce_in_transaction(&self, (producer_id, producer_epoch): (i64, i16), value: &str) -> i16 {
        let producer = ProducerFields { producer_id, producer_epoch, base_sequence: 0 };
        let mut builder = BatchBuilder::new(BatchSettings { producer, is_transactional: true, ..BatchSettings::default() }).unwrap();
        builder.append(&NewRecord { timestamp: self.now_ms(), key: None, value: Some(value.as_bytes()), headers: &[] }).unwrap();
        let mut request = produce_request("t", &["replaced"], ProducerFields::NONE, 0);
        request.transactional_id = Some("tx".into());
        request.topic_data[0].partition_data[0].records = Some(Records::Memory(builder.build().unwrap().into()));
        self.call(&request, TRANSACTIONAL_PRODUCE_VERSION).responses[0].partition_responses[0].error_code
    }

    fn end_transaction(&self, (producer_id, producer_epoch): (i64, i16), committed: bool) -> (i16, i16) {
        let transactional_id = "tx".into();
        let end = EndTxnRequest { transactional_id, producer_id, producer_epoch, committed, ..EndTxnRequest::default() };
        let response = self.call(&end, 5);
        (response.error_code, response.producer_epoch)
    }

    fn transaction_state(&self) -> String {
        let describe = DescribeTransactionsRequest { transactional_ids: vec!["tx".into()], ..DescribeTransactionsRequest::default() };
        self.call(&describe, 0).transaction_states.remove(0).transaction_state
    }

    fn fetch_committed(&self, max_wait_ms: i32) -> Answer<FetchRequest> {
        let partition = FetchPartition { partition_max_bytes: 1 << 20, ..FetchPartition::default() };
        let topics = vec![FetchTopic { topic: "t".into(), partitions: vec![partition], ..FetchTopic::default() }];
        let request = FetchRequest { max_wait_ms, min_bytes: 1, session_epoch: -1, isolation_level: 1, topics, ..FetchRequest::default() };
        self.send(&request, FETCH_VERSION)
    }
}

#[test]
fn a_commit_wakes_who_waits_for_committed_records() {
    let node = Node::new();
    node.create_topic("t");
    let (error, id, epoch) = node.init_producer();
    assert_eq!((error, epoch), (0, 0));
    assert_eq!(node.produce_in_transaction((id, 0), "a"), 0);
    let waiting = node.fetch_committed(500);
    assert!(waiting.take().is_none());
    assert_eq!(node.end_transaction((id, 0), true), (0, 1));
    let response = waiting.take().expect("the marker ends the wait");
    let partition = &response.responses[0].partitions[0];
    assert_eq!((partition.last_stable_offset, partition.high_watermark), (2, 2));
    assert_eq!(partition.aborted_transactions.as_deref(), Some(&[][..]));
    assert_eq!(node.transaction_state(), "CompleteCommit");
}

#[test]
fn an_open_transaction_is_still_open_after_a_restart_and_ended_by_the_next_instance() {
    let node = Node::new();
    node.create_topic("t");
    let (_, id, _) = node.init_producer();
    assert_eq!(node.produce_in_transaction((id, 0), "a"), 0);
    let node = node.stop_and_restart();
    assert_eq!(node.transaction_state(), "Ongoing");
    let waiting = node.fetch_committed(500);
    assert!(waiting.take().is_none());
    const CONCURRENT_TRANSACTIONS: i16 = 51;
    assert_eq!(node.init_producer().0, CONCURRENT_TRANSACTIONS);
    assert_eq!(node.transaction_state(), "CompleteAbort");
    assert_eq!(node.init_producer(), (0, id, 2));
    let response = node.fetch_committed(0).take().expect("a fetch that does not wait");
    let aborted = response.responses[0].partitions[0].aborted_transactions.as_deref().expect("a list for who reads committed records");
    assert_eq!(aborted.iter().map(|aborted| (aborted.producer_id, aborted.first_offset)).collect::<Vec<_>>(), [(id, 0)]);
    const INVALID_PRODUCER_EPOCH: i16 = 47;
    assert_eq!(node.produce_in_transaction((id, 0), "late"), INVALID_PRODUCER_EPOCH);
}

#[test]
fn a_transaction_that_times_out_is_aborted_by_a_tick() {
    let node = Node::new();
    node.create_topic("t");
    let (_, id, _) = node.init_producer();
    assert_eq!(node.produce_in_transaction((id, 0), "a"), 0);
    node.clock.advance(60_001);
    assert!(node.broker.next_deadline_ms().is_some_and(|deadline_ms| deadline_ms <= node.now_ms()));
    node.broker.tick(node.now_ms());
    assert_eq!(node.transaction_state(), "CompleteAbort");
    const INVALID_TXN_STATE: i16 = 48;
    assert_eq!(node.end_transaction((id, 0), true).0, INVALID_TXN_STATE);
}

#[test]
fn log_directories_of_another_cluster_or_node_are_refused() {
    let refusal = |cluster_id: &str, node_id: i32| {
        let disk = Arc::new(MemoryDisk::new());
        format(&disk, "/data", 7, CLUSTER, BrokerId(1));
        format(&disk, "/more", 8, cluster_id, BrokerId(node_id));
        let clock = Arc::new(ManualClock::new(START_MS));
        start_with(&["log.dirs=/data,/more"], disk, clock).err().map(|error| error.to_string())
    };
    assert_eq!(refusal(CLUSTER, 1), None);
    let other_node = "/more belongs to node 2, but node.id is 1: set node.id=2 or use another directory";
    assert_eq!(refusal(CLUSTER, 2).as_deref(), Some(other_node));
    let other_cluster = "/more belongs to cluster AAAAAAAAAAAAAAAAAAAAAA, but /data to cluster 4L6g3nShT-eMCtK--X86sw: log.dirs may only \
                         name directories of one cluster";
    assert_eq!(refusal("AAAAAAAAAAAAAAAAAAAAAA", 1).as_deref(), Some(other_cluster));
}
