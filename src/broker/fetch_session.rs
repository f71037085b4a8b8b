//! Incremental fetch sessions (KIP-227): the broker remembers which partitions a consumer fetches, so that requests and responses carry only
//! what changed. Pure: time and the random number of a new session come in as arguments. Reading logs is not done here.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::fetch_request::{FetchPartition, FetchRequest};
use ottla_protocol::messages::fetch_response::{FetchResponse, FetchableTopicResponse, PartitionData};

/// The id of no session.
pub const INVALID_SESSION_ID: i32 = 0;
/// The epoch of a request that opens a session.
pub const INITIAL_EPOCH: i32 = 0;
/// The epoch of a request that wants no session, or closes its own.
pub const FINAL_EPOCH: i32 = -1;
/// How long a session must be unused, or have existed, before another may take its place (`FetchManager`).
pub const EVICTION_MS_MIN: i64 = 120_000;
/// The first version in which topics are named by id.
pub const FIRST_VERSION_WITH_TOPIC_IDS: i16 = 13;

/// A partition as fetch requests name it: by name, or, from version 13, by id, in which case the name may be unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchTopicPartition {
    /// The topic's name; `None` where an id is of no topic that is known here.
    pub topic: Option<Arc<str>>,
    /// The topic's id; zero where the request names topics.
    pub topic_id: Uuid,
    /// The partition's number.
    pub partition: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Id(Uuid, i32),
    Name(Arc<str>, i32),
}

impl FetchTopicPartition {
    fn key(&self) -> Key {
        match &self.topic {
            Some(topic) if self.topic_id.is_zero() => Key::Name(topic.clone(), self.partition),
            _ => Key::Id(self.topic_id, self.partition),
        }
    }
}

/// What a request wants of one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedPartition {
    /// Which partition.
    pub partition: FetchTopicPartition,
    /// Offset, limits and epochs.
    pub request: FetchPartition,
}

#[derive(Debug)]
struct CachedPartition {
    wanted: WantedPartition,
    high_watermark: i64,
    local_log_start_offset: i64,
}

/// A session's partitions in the order in which they are served next: those that returned records move to the end, so that a response's
/// size limit does not starve the others.
#[derive(Debug, Default)]
struct SessionPartitions {
    order: BTreeMap<u64, CachedPartition>,
    places: HashMap<Key, u64>,
    next_place: u64,
}

impl SessionPartitions {
    fn push(&mut self, partition: CachedPartition) {
        self.places.insert(partition.wanted.partition.key(), self.next_place);
        self.order.insert(self.next_place, partition);
        self.next_place += 1;
    }

    fn get_mut(&mut self, key: &Key) -> Option<&mut CachedPartition> {
        self.places.get(key).and_then(|place| self.order.get_mut(place))
    }

    fn remove(&mut self, key: &Key) -> Option<CachedPartition> {
        self.places.remove(key).and_then(|place| self.order.remove(&place))
    }
}

#[derive(Debug)]
struct FetchSession {
    is_privileged: bool,
    uses_topic_ids: bool,
    created_ms: i64,
    last_used_ms: i64,
    epoch: i32,
    partitions: SessionPartitions,
    /// The size under which the session is listed among the evictable ones.
    listed_size: Option<usize>,
}

/// How the response to a fetch is to be put together; made by [`FetchSessions::begin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchContext {
    /// Everything that was read is returned.
    Sessionless,
    /// Everything is returned, and a session is opened if there is room.
    Full {
        /// Whether the session will name topics by id.
        uses_topic_ids: bool,
        /// Whether a follower fetches.
        is_follower: bool,
    },
    /// Only what changed is returned.
    Incremental {
        /// The session.
        session_id: i32,
        /// The epoch that the next request will carry.
        next_epoch: i32,
    },
    /// The session is unknown or does not match.
    Failed(ErrorCode),
}

type EvictionKey = (bool, usize, i32);

/// All sessions of a broker, at most `max.incremental.fetch.session.cache.slots`.
#[derive(Debug)]
pub struct FetchSessions {
    slots: usize,
    sessions: HashMap<i32, FetchSession>,
    last_used: BTreeSet<(i64, i32)>,
    evictable_by_followers: BTreeSet<EvictionKey>,
    evictable_by_all: BTreeSet<EvictionKey>,
}

impl FetchSessions {
    /// No sessions yet, and room for `slots`.
    pub fn new(slots: usize) -> FetchSessions {
        FetchSessions {
            slots,
            sessions: HashMap::new(),
            last_used: BTreeSet::new(),
            evictable_by_followers: BTreeSet::new(),
            evictable_by_all: BTreeSet::new(),
        }
    }

    /// How many sessions there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Takes a request's changes into its session and lists the partitions to be read, in order.
    pub fn begin(
        &mut self,
        request: &FetchRequest,
        version: i16,
        topic_name: impl Fn(Uuid) -> Option<Arc<str>>,
        now_ms: i64,
    ) -> (FetchContext, Vec<WantedPartition>) {
        let uses_topic_ids = version >= FIRST_VERSION_WITH_TOPIC_IDS;
        let wanted = wanted_partitions(request, uses_topic_ids, &topic_name);
        if matches!(request.session_epoch, INITIAL_EPOCH | FINAL_EPOCH) {
            self.remove(request.session_id);
            let context = if request.session_epoch == FINAL_EPOCH {
                FetchContext::Sessionless
            } else {
                FetchContext::Full { uses_topic_ids, is_follower: is_from_follower(request) }
            };
            return (context, wanted);
        }
        let Some(session) = self.sessions.get_mut(&request.session_id) else {
            return (FetchContext::Failed(ErrorCode::FetchSessionIdNotFound), Vec::new());
        };
        if session.epoch != request.session_epoch {
            return (FetchContext::Failed(ErrorCode::InvalidFetchSessionEpoch), Vec::new());
        }
        if session.uses_topic_ids != uses_topic_ids {
            return (FetchContext::Failed(ErrorCode::FetchSessionTopicIdError), Vec::new());
        }
        session.update(&wanted, forgotten_keys(request, uses_topic_ids));
        if session.partitions.order.is_empty() {
            self.remove(request.session_id);
            return (FetchContext::Sessionless, wanted);
        }
        session.epoch = next_epoch(session.epoch);
        let next_epoch = session.epoch;
        let wanted = session.wanted(&topic_name);
        self.touch(request.session_id, now_ms);
        (FetchContext::Incremental { session_id: request.session_id, next_epoch }, wanted)
    }

    /// Puts the response together from what was read, and remembers what the client was told. `random_session_ids` yields the id of a
    /// session that is opened.
    pub fn finish(
        &mut self,
        context: FetchContext,
        mut read: Vec<(WantedPartition, PartitionData)>,
        mut random_session_ids: impl FnMut() -> i32,
        now_ms: i64,
    ) -> FetchResponse {
        let (error, session_id) = match context {
            FetchContext::Failed(error) => (error, INVALID_SESSION_ID),
            FetchContext::Sessionless => (ErrorCode::None, INVALID_SESSION_ID),
            FetchContext::Full { uses_topic_ids, is_follower } => {
                let id = if self.make_room(is_follower, read.len(), now_ms) {
                    let id = self.unused_id(&mut random_session_ids);
                    self.open(id, uses_topic_ids, is_follower, &read, now_ms);
                    id
                } else {
                    INVALID_SESSION_ID
                };
                (ErrorCode::None, id)
            }
            FetchContext::Incremental { session_id, next_epoch } => match self.sessions.get_mut(&session_id) {
                Some(session) if session.epoch == next_epoch => {
                    read.retain(|(wanted, data)| session.must_respond(&wanted.partition.key(), data));
                    (ErrorCode::None, session_id)
                }
                // Evicted while it waited: the response still goes out whole, and the next request learns of it.
                None => (ErrorCode::None, session_id),
                Some(_) => {
                    read.clear();
                    (ErrorCode::InvalidFetchSessionEpoch, session_id)
                }
            },
        };
        FetchResponse { error_code: error.code(), session_id, responses: group_by_topic(read), ..FetchResponse::default() }
    }

    fn unused_id(&self, random_session_ids: &mut impl FnMut() -> i32) -> i32 {
        loop {
            let id = random_session_ids() & i32::MAX;
            if id != INVALID_SESSION_ID && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    fn open(&mut self, id: i32, uses_topic_ids: bool, is_privileged: bool, read: &[(WantedPartition, PartitionData)], now_ms: i64) {
        let mut partitions = SessionPartitions::default();
        for (wanted, data) in read {
            partitions.push(CachedPartition {
                wanted: wanted.clone(),
                high_watermark: data.high_watermark,
                local_log_start_offset: data.log_start_offset,
            });
        }
        let epoch = next_epoch(INITIAL_EPOCH);
        let session =
            FetchSession { is_privileged, uses_topic_ids, created_ms: now_ms, last_used_ms: now_ms, epoch, partitions, listed_size: None };
        self.sessions.insert(id, session);
        self.touch(id, now_ms);
    }

    fn touch(&mut self, id: i32, now_ms: i64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        self.last_used.remove(&(session.last_used_ms, id));
        session.last_used_ms = now_ms;
        self.last_used.insert((now_ms, id));
        if let Some(size) = session.listed_size {
            let key = (session.is_privileged, size, id);
            self.evictable_by_followers.remove(&key);
            self.evictable_by_all.remove(&key);
        }
        let size = session.partitions.order.len();
        session.listed_size = Some(size);
        let is_old = now_ms - session.created_ms > EVICTION_MS_MIN;
        let key = (session.is_privileged, size, id);
        if !session.is_privileged || is_old {
            self.evictable_by_followers.insert(key);
        }
        if is_old {
            self.evictable_by_all.insert(key);
        }
    }

    fn remove(&mut self, id: i32) {
        if let Some(session) = self.sessions.remove(&id) {
            self.last_used.remove(&(session.last_used_ms, id));
            if let Some(size) = session.listed_size {
                let key = (session.is_privileged, size, id);
                self.evictable_by_followers.remove(&key);
                self.evictable_by_all.remove(&key);
            }
        }
    }

    /// Whether there is room for a session of `size` partitions, if need be by evicting a stale or a lesser one.
    fn make_room(&mut self, is_privileged: bool, size: usize, now_ms: i64) -> bool {
        if self.sessions.len() < self.slots {
            return true;
        }
        let Some(&(oldest_used_ms, oldest)) = self.last_used.first() else { return false };
        let evicted = if now_ms - oldest_used_ms > EVICTION_MS_MIN {
            oldest
        } else {
            let evictable = if is_privileged { &self.evictable_by_followers } else { &self.evictable_by_all };
            match evictable.first() {
                Some(least) if (is_privileged, size, 0) >= *least => least.2,
                Some(_) | None => return false,
            }
        };
        self.remove(evicted);
        true
    }
}

impl FetchSession {
    fn update(&mut self, wanted: &[WantedPartition], forgotten: Vec<Key>) {
        for wanted in wanted {
            match self.partitions.get_mut(&wanted.partition.key()) {
                Some(cached) => cached.wanted.request = wanted.request.clone(),
                None => self.partitions.push(CachedPartition { wanted: wanted.clone(), high_watermark: -1, local_log_start_offset: -1 }),
            }
        }
        for key in forgotten {
            self.partitions.remove(&key);
        }
    }

    /// The session's partitions; a topic id that meant nothing so far is looked up again, a name once found stays.
    fn wanted(&mut self, topic_name: &impl Fn(Uuid) -> Option<Arc<str>>) -> Vec<WantedPartition> {
        let uses_topic_ids = self.uses_topic_ids;
        let resolve = |cached: &mut CachedPartition| {
            let partition = &mut cached.wanted.partition;
            if uses_topic_ids && partition.topic.is_none() {
                partition.topic = topic_name(partition.topic_id);
            }
            cached.wanted.clone()
        };
        self.partitions.order.values_mut().map(resolve).collect()
    }

    /// Whether the client has to be told of this result (`CachedPartition.maybeUpdateResponseData`).
    fn must_respond(&mut self, key: &Key, data: &PartitionData) -> bool {
        let Some(cached) = self.partitions.get_mut(key) else { return false };
        let has_records = data.records.as_ref().is_some_and(|records| !records.is_empty());
        let mut must_respond = has_records
            || cached.high_watermark != data.high_watermark
            || cached.local_log_start_offset != data.log_start_offset
            || data.preferred_read_replica != -1
            || data.diverging_epoch.epoch != -1;
        cached.high_watermark = data.high_watermark;
        cached.local_log_start_offset = data.log_start_offset;
        if data.error_code != ErrorCode::None.code() {
            // Whatever comes after the error is news.
            cached.high_watermark = -1;
            must_respond = true;
        }
        if has_records && let Some(cached) = self.partitions.remove(key) {
            self.partitions.push(cached);
        }
        must_respond
    }
}

/// Whether the fetch comes from a broker rather than from a consumer.
pub fn is_from_follower(request: &FetchRequest) -> bool {
    replica_id(request) >= 0
}

/// The fetching broker's id, wherever the request's version keeps it.
pub fn replica_id(request: &FetchRequest) -> i32 {
    if request.replica_id != -1 { request.replica_id } else { request.replica_state.replica_id }
}

fn next_epoch(epoch: i32) -> i32 {
    if epoch < 0 {
        FINAL_EPOCH
    } else if epoch == i32::MAX {
        1
    } else {
        epoch + 1
    }
}

/// The request's partitions. One that is named twice keeps its first place and its last wishes.
fn wanted_partitions(request: &FetchRequest, uses_topic_ids: bool, topic_name: &impl Fn(Uuid) -> Option<Arc<str>>) -> Vec<WantedPartition> {
    let mut wanted: Vec<WantedPartition> = Vec::new();
    let mut places = HashMap::new();
    for topic in &request.topics {
        let topic_id = if uses_topic_ids { topic.topic_id } else { Uuid::ZERO };
        let name = if uses_topic_ids { topic_name(topic_id) } else { Some(Arc::from(topic.topic.as_str())) };
        for request in &topic.partitions {
            let partition = FetchTopicPartition { topic: name.clone(), topic_id, partition: request.partition };
            let place = *places.entry(partition.key()).or_insert(wanted.len());
            match wanted.get_mut(place) {
                Some(earlier) => earlier.request = request.clone(),
                None => wanted.push(WantedPartition { partition, request: request.clone() }),
            }
        }
    }
    wanted
}

fn forgotten_keys(request: &FetchRequest, uses_topic_ids: bool) -> Vec<Key> {
    let keys = request.forgotten_topics_data.iter().flat_map(|topic| {
        let name: Arc<str> = Arc::from(topic.topic.as_str());
        topic.partitions.iter().map(
            move |&partition| {
                if uses_topic_ids { Key::Id(topic.topic_id, partition) } else { Key::Name(name.clone(), partition) }
            },
        )
    });
    keys.collect()
}

/// Neighbours of the same topic share an element of the response, as Kafka groups them.
fn group_by_topic(read: Vec<(WantedPartition, PartitionData)>) -> Vec<FetchableTopicResponse> {
    let mut topics: Vec<FetchableTopicResponse> = Vec::new();
    for (WantedPartition { partition, .. }, data) in read {
        let name = partition.topic.as_deref().unwrap_or("");
        let same = |last: &&mut FetchableTopicResponse| {
            if partition.topic_id.is_zero() { last.topic == name } else { last.topic_id == partition.topic_id }
        };
        match topics.last_mut().filter(same) {
            Some(topic) => topic.partitions.push(data),
            None => topics.push(FetchableTopicResponse {
                topic: name.to_owned(),
                topic_id: partition.topic_id,
                partitions: vec![data],
                ..FetchableTopicResponse::default()
            }),
        }
    }
    topics
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use ottla_protocol::Records;
    use ottla_protocol::messages::fetch_request::{FetchTopic, ForgottenTopic};

    const VERSION: i16 = 12;

    fn request(session_id: i32, session_epoch: i32, partitions: &[(i32, i64)]) -> FetchRequest {
        let partitions = partitions
            .iter()
            .map(|&(partition, fetch_offset)| FetchPartition { partition, fetch_offset, ..FetchPartition::default() })
            .collect::<Vec<_>>();
        let topics =
            if partitions.is_empty() { Vec::new() } else { vec![FetchTopic { topic: "t".into(), partitions, ..FetchTopic::default() }] };
        FetchRequest { session_id, session_epoch, topics, ..FetchRequest::default() }
    }

    fn data(wanted: &WantedPartition, high_watermark: i64, records: &'static [u8]) -> (WantedPartition, PartitionData) {
        let data = PartitionData {
            partition_index: wanted.partition.partition,
            high_watermark,
            log_start_offset: 0,
            records: Some(Records::Memory(Bytes::from_static(records))),
            ..PartitionData::default()
        };
        (wanted.clone(), data)
    }

    fn partitions_of(response: &FetchResponse) -> Vec<i32> {
        response.responses.iter().flat_map(|topic| topic.partitions.iter().map(|data| data.partition_index)).collect()
    }

    fn open(sessions: &mut FetchSessions, partitions: &[(i32, i64)], id: i32, now_ms: i64) -> i32 {
        let (context, wanted) = sessions.begin(&request(0, INITIAL_EPOCH, partitions), VERSION, |_| None, now_ms);
        assert_eq!(context, FetchContext::Full { uses_topic_ids: false, is_follower: false });
        let read = wanted.iter().map(|wanted| data(wanted, 5, b"")).collect();
        sessions.finish(context, read, || id, now_ms).session_id
    }

    #[test]
    fn only_news_is_returned_and_served_partitions_go_last() {
        let mut sessions = FetchSessions::new(2);
        let id = open(&mut sessions, &[(0, 0), (1, 0), (2, 0)], 77, 0);
        assert_eq!(id, 77);
        let (context, wanted) = sessions.begin(&request(id, 1, &[]), VERSION, |_| None, 1);
        let read = vec![data(&wanted[0], 6, b"x"), data(&wanted[1], 5, b""), data(&wanted[2], 7, b"")];
        let response = sessions.finish(context, read, || 1, 1);
        assert_eq!((response.error_code, response.session_id), (0, id));
        assert_eq!(partitions_of(&response), [0, 2]);
        let (_, wanted) = sessions.begin(&request(id, 2, &[(1, 9)]), VERSION, |_| None, 2);
        assert_eq!(wanted.iter().map(|wanted| wanted.partition.partition).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(wanted[0].request.fetch_offset, 9);
    }

    #[test]
    fn an_error_is_told_and_so_is_its_end() {
        let mut sessions = FetchSessions::new(2);
        let id = open(&mut sessions, &[(0, 0)], 3, 0);
        let (context, wanted) = sessions.begin(&request(id, 1, &[]), VERSION, |_| None, 1);
        let mut failed = data(&wanted[0], 5, b"");
        failed.1.error_code = ErrorCode::NotLeaderOrFollower.code();
        assert_eq!(partitions_of(&sessions.finish(context, vec![failed], || 1, 1)), [0]);
        let (context, wanted) = sessions.begin(&request(id, 2, &[]), VERSION, |_| None, 2);
        assert_eq!(partitions_of(&sessions.finish(context, vec![data(&wanted[0], 5, b"")], || 1, 2)), [0]);
        let (context, wanted) = sessions.begin(&request(id, 3, &[]), VERSION, |_| None, 3);
        assert_eq!(partitions_of(&sessions.finish(context, vec![data(&wanted[0], 5, b"")], || 1, 3)), [0i32; 0]);
    }

    #[test]
    fn sessions_that_do_not_match_are_refused() {
        let mut sessions = FetchSessions::new(2);
        let id = open(&mut sessions, &[(0, 0)], 3, 0);
        let error = |sessions: &mut FetchSessions, id, epoch, version| {
            let (context, wanted) = sessions.begin(&request(id, epoch, &[]), version, |_| None, 1);
            assert_eq!(wanted, []);
            sessions.finish(context, Vec::new(), || 1, 1).error_code
        };
        assert_eq!(error(&mut sessions, 9, 1, VERSION), ErrorCode::FetchSessionIdNotFound.code());
        assert_eq!(error(&mut sessions, id, 2, VERSION), ErrorCode::InvalidFetchSessionEpoch.code());
        assert_eq!(error(&mut sessions, id, 1, 13), ErrorCode::FetchSessionTopicIdError.code());
    }

    #[test]
    fn a_session_without_partitions_ends() {
        let mut sessions = FetchSessions::new(2);
        let id = open(&mut sessions, &[(0, 0)], 3, 0);
        let mut forget = request(id, 1, &[]);
        forget.forgotten_topics_data = vec![ForgottenTopic { topic: "t".into(), partitions: vec![0], ..ForgottenTopic::default() }];
        let (context, wanted) = sessions.begin(&forget, VERSION, |_| None, 1);
        assert_eq!((context, wanted), (FetchContext::Sessionless, Vec::new()));
        assert_eq!(sessions.len(), 0);
    }

    #[test]
    fn a_full_cache_evicts_the_stale_and_the_smaller() {
        let mut sessions = FetchSessions::new(1);
        assert_eq!(open(&mut sessions, &[(0, 0)], 1, 0), 1);
        assert_eq!(open(&mut sessions, &[(0, 0), (1, 0)], 2, 1), INVALID_SESSION_ID, "the first is too young");
        assert_eq!(open(&mut sessions, &[(0, 0)], 2, EVICTION_MS_MIN + 1), 2, "the first is stale");
        sessions.begin(&request(2, 1, &[]), VERSION, |_| None, 2 * EVICTION_MS_MIN + 3);
        assert_eq!(open(&mut sessions, &[(0, 0), (1, 0)], 3, 2 * EVICTION_MS_MIN + 4), 3, "the second is old and smaller");
        assert_eq!(sessions.len(), 1);
    }

    #[test]
    fn unknown_topic_ids_are_looked_up_again() {
        let topic_id = Uuid::from_u64_pair(7, 7);
        let mut sessions = FetchSessions::new(1);
        let mut open = request(0, INITIAL_EPOCH, &[(0, 0)]);
        open.topics[0].topic_id = topic_id;
        let (context, wanted) = sessions.begin(&open, 13, |_| None, 0);
        assert_eq!(wanted[0].partition.topic, None);
        let id = sessions.finish(context, vec![data(&wanted[0], -1, b"")], || 4, 0).session_id;
        let (_, wanted) = sessions.begin(&request(id, 1, &[]), 13, |_| Some("t".into()), 1);
        assert_eq!(wanted[0].partition.topic.as_deref(), Some("t"));
        let (_, wanted) = sessions.begin(&request(id, 2, &[]), 13, |_| Some("renamed".into()), 2);
        assert_eq!(wanted[0].partition.topic.as_deref(), Some("t"));
    }
}
