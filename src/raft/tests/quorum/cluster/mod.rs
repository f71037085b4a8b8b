//! A quorum in memory: nodes whose logs are vectors, a network that can be cut, and a clock that is moved by hand. What happens is
//! written into a transcript that a person can read.

mod node;
mod records;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;

use ottla_model::{BrokerId, Uuid};
use ottla_raft::*;

pub use node::Node;
pub use records::Batch;

/// Who has sent a request. An answer reaches only the life of the process that has asked: connections do not outlive it.
#[derive(Clone, Copy, Debug)]
struct Asker {
    id: i32,
    life: u32,
    correlation_id: CorrelationId,
}

/// A message on its way.
#[derive(Clone, Debug)]
enum Packet {
    Request { asker: Asker, to: i32, request: Request },
    Response { from: i32, asker: Asker, response: Response },
}

pub struct Cluster {
    pub now_ms: i64,
    pub nodes: BTreeMap<i32, Node>,
    pub transcript: String,
    packets: VecDeque<Packet>,
    cut: BTreeSet<(i32, i32)>,
    waiting: BTreeMap<(i32, RequestId), Asker>,
    next_request_id: u64,
    /// Leaves fetches out of the transcript, which are most of the traffic.
    pub quiet: bool,
}

pub fn key(id: i32) -> ReplicaKey {
    ReplicaKey::new(BrokerId(id), Uuid::from_u64_pair(1, id as u64))
}

fn endpoint(id: i32) -> Endpoint {
    Endpoint { host: format!("n{id}"), port: 9093 }
}

pub fn voter(id: i32) -> VoterNode {
    VoterNode {
        key: key(id),
        endpoints: Endpoints::single("CONTROLLER", endpoint(id)),
        kraft_versions: SupportedKRaftVersions { min: 0, max: 1 },
    }
}

fn config(id: i32, bootstrap: &[i32]) -> RaftConfig {
    let mut config = RaftConfig::new("cluster", BrokerId(id), Uuid::from_u64_pair(1, id as u64));
    config.endpoints = Endpoints::single("CONTROLLER", endpoint(id));
    config.bootstrap_servers = bootstrap.iter().filter(|&&server| server != id).map(|&server| endpoint(server)).collect();
    config.jitter_seed = id as u64;
    config
}

impl Cluster {
    /// The voters `1..=voters` and, behind them, observers. Nobody has started.
    pub fn new(voters: i32, observers: i32) -> Cluster {
        let ids: Vec<_> = (1..=voters).collect();
        let set = VoterSet::new(ids.iter().map(|&id| voter(id)));
        let all: Vec<_> = (1..=voters + observers).collect();
        let nodes = all.iter().map(|&id| (id, Node::new(config(id, &all), &set))).collect();
        Cluster {
            now_ms: 0,
            nodes,
            transcript: String::new(),
            packets: VecDeque::new(),
            cut: BTreeSet::new(),
            waiting: BTreeMap::new(),
            next_request_id: 0,
            quiet: std::env::var_os("SHOW_FETCHES").is_none(),
        }
    }

    pub fn note(&mut self, text: &str) {
        writeln!(self.transcript, "-- {text}").expect("a string takes everything");
    }

    fn line(&mut self, text: &str) {
        writeln!(self.transcript, "{:>6} {text}", self.now_ms).expect("a string takes everything");
    }

    pub fn node(&self, id: i32) -> &Node {
        &self.nodes[&id]
    }

    pub fn core(&self, id: i32) -> &RaftCore {
        self.nodes[&id].core.as_ref().expect("the node runs")
    }

    /// The node that leads, if exactly one that runs thinks so.
    pub fn leader(&self) -> Option<i32> {
        let leads = |node: &Node| node.core.as_ref().is_some_and(|core| core.role() == RoleName::Leader);
        let mut leaders = self.nodes.iter().filter(|(_, node)| leads(node)).map(|(&id, _)| id);
        leaders.next().filter(|_| leaders.next().is_none())
    }

    pub fn start(&mut self, id: i32) {
        let now_ms = self.now_ms;
        let node = self.nodes.get_mut(&id).expect("a node of the cluster");
        let actions = node.start(now_ms);
        self.perform(id, actions);
    }

    /// The process dies: what was not flushed is lost.
    pub fn crash(&mut self, id: i32) {
        self.line(&format!("n{id} crashes"));
        self.nodes.get_mut(&id).expect("a node of the cluster").crash();
        self.waiting.retain(|(node, _), _| *node != id);
    }

    /// Cuts all connections between the two sides.
    pub fn partition(&mut self, one: &[i32], other: &[i32]) {
        for &a in one {
            for &b in other {
                self.cut.extend([(a, b), (b, a)]);
            }
        }
    }

    pub fn heal(&mut self) {
        self.cut.clear();
    }

    /// An operator asks the node; the answer is in the transcript.
    pub fn ask(&mut self, id: i32, request: Request) {
        self.line(&format!("operator -> n{id} {}", describe(&request)));
        let caller = Caller { id: RequestId(u64::MAX), listener: "CONTROLLER".to_owned() };
        self.step(id, Event::Request { caller, request });
    }

    pub fn step(&mut self, id: i32, event: Event) {
        let now_ms = self.now_ms;
        let Some(core) = self.nodes.get_mut(&id).and_then(|node| node.core.as_mut()) else { return };
        let actions = core.step(now_ms, event);
        self.perform(id, actions);
    }

    /// The node's controller appends so many records in one batch; they are flushed at once.
    pub fn append(&mut self, id: i32, records: i64, payload: u64) {
        let epoch = self.core(id).leader_and_epoch().epoch;
        let appended = self.nodes.get_mut(&id).expect("a node of the cluster").append(epoch, records, payload);
        self.step(id, Event::Appended(vec![appended]));
    }

    /// Delivers what is on its way, and what that causes, until nothing is. Answers how much was delivered.
    pub fn deliver_all(&mut self) -> usize {
        let mut delivered = 0;
        while let Some(packet) = self.packets.pop_front() {
            self.deliver(packet);
            delivered += 1;
            assert!(delivered < 100_000, "the messages do not come to an end:\n{}", self.last_lines(40));
        }
        delivered
    }

    fn last_lines(&self, count: usize) -> String {
        let lines: Vec<_> = self.transcript.lines().collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }

    /// Delivers one message out of those on their way, or loses it.
    pub fn deliver_one(&mut self, index: usize, lose: bool) {
        if self.packets.is_empty() {
            return;
        }
        let index = index % self.packets.len();
        let packet = self.packets.remove(index).expect("within the length");
        if !lose {
            self.deliver(packet);
        }
    }

    fn deliver(&mut self, packet: Packet) {
        match packet {
            Packet::Request { asker, to, request } => {
                // What goes over a cut is lost; a process that is gone refuses the connection.
                if self.cut.contains(&(asker.id, to)) {
                    return;
                }
                if self.nodes[&to].core.is_none() {
                    self.respond(asker, to, Err(RequestFailure::Disconnected));
                    return;
                }
                if request == Request::ApiVersions {
                    self.packets.push_back(Packet::Response { from: to, asker, response: api_versions() });
                    return;
                }
                let id = RequestId(self.next_request_id);
                self.next_request_id += 1;
                self.waiting.insert((to, id), asker);
                let caller = Caller { id, listener: "CONTROLLER".to_owned() };
                self.step(to, Event::Request { caller, request });
            }
            Packet::Response { from, asker, response } => {
                if !self.cut.contains(&(from, asker.id)) {
                    self.respond(asker, from, Ok(response));
                }
            }
        }
    }

    /// `from` answers, whom the other one may have asked by its id or as a bootstrap server; the other name is not expected and ignored.
    fn respond(&mut self, asker: Asker, from: i32, outcome: Result<Response, RequestFailure>) {
        if self.nodes[&asker.id].life != asker.life {
            return;
        }
        for name in [from, self.bootstrap_id(asker.id, from)] {
            let correlation_id = asker.correlation_id;
            self.step(asker.id, Event::Response { from: BrokerId(name), correlation_id, outcome: outcome.clone() });
        }
    }

    /// What `of` calls its bootstrap server `peer`.
    fn bootstrap_id(&self, of: i32, peer: i32) -> i32 {
        let servers = &self.nodes[&of].config.bootstrap_servers;
        servers.iter().position(|server| *server == endpoint(peer)).map_or(peer, |index| -2 - index as i32)
    }

    /// Moves the clock from deadline to deadline until `until_ms`, delivering everything at once.
    pub fn run_until(&mut self, until_ms: i64) {
        loop {
            self.deliver_all();
            let deadlines = self.nodes.values().filter_map(|node| Some(node.core.as_ref()?.next_deadline_ms()));
            let next_ms = deadlines.min().unwrap_or(i64::MAX).max(self.now_ms + 1);
            if next_ms > until_ms {
                self.now_ms = until_ms;
                return;
            }
            self.now_ms = next_ms;
            self.tick();
        }
    }

    /// Lets all nodes do what is due.
    pub fn tick(&mut self) {
        for id in self.nodes.keys().copied().collect::<Vec<_>>() {
            self.step(id, Event::Tick);
        }
    }

    fn perform(&mut self, id: i32, actions: Vec<Action>) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Send { to, correlation_id, request } => self.send(id, &to, correlation_id, request),
                Action::Reply { caller, response } => self.reply(id, &caller, response),
                Action::RoleChanged { role, epoch, leader_id } => {
                    let leader = leader_id.map_or(String::new(), |leader| format!(", leader n{leader}"));
                    self.line(&format!("n{id} {role} in epoch {epoch}{leader}"));
                }
                Action::AdvanceHighWatermark(offset) => {
                    self.line(&format!("n{id} commits to {offset}"));
                    self.nodes.get_mut(&id).expect("it acts").commit(offset);
                }
                Action::LeaderChanged(_) => {}
                Action::Report(anomaly) => self.line(&format!("n{id} reports: {anomaly}")),
                Action::Truncate { offset } => {
                    self.line(&format!("n{id} truncates to {offset}"));
                    self.nodes.get_mut(&id).expect("it acts").truncate(offset);
                }
                local => {
                    let now_ms = self.now_ms;
                    let node = self.nodes.get_mut(&id).expect("it acts");
                    if node.would_tear(&local) {
                        panic!("n{id} gets records that do not continue its log\n{}", self.transcript);
                    }
                    if let Some(event) = node.perform(local) {
                        let core = node.core.as_mut().expect("it acts");
                        actions.extend(core.step(now_ms, event));
                    }
                }
            }
        }
    }

    fn send(&mut self, from: i32, to: &Peer, correlation_id: CorrelationId, request: Request) {
        let to_id = to.endpoint.host.trim_start_matches('n').parse().expect("hosts are called n1, n2, ...");
        let is_fetch = matches!(request, Request::Fetch(_) | Request::FetchSnapshot(_));
        if !(self.quiet && is_fetch) {
            self.line(&format!("n{from} -> n{to_id} {}", describe(&request)));
        }
        let asker = Asker { id: from, life: self.nodes[&from].life, correlation_id };
        self.packets.push_back(Packet::Request { asker, to: to_id, request });
    }

    fn reply(&mut self, from: i32, caller: &Caller, response: Response) {
        if caller.id == RequestId(u64::MAX) {
            self.line(&format!("n{from} => operator {} {:?}", response.error, response.body));
        }
        let Some(asker) = self.waiting.remove(&(from, caller.id)) else { return };
        let response = self.nodes[&from].fill_in(response);
        if !(self.quiet && matches!(response.body, ResponseBody::Fetch(_) | ResponseBody::FetchSnapshot(_))) {
            let to = asker.id;
            self.line(&format!("n{from} => n{to} {} epoch {} {:?}", response.error, response.leader.epoch, response.body));
        }
        self.packets.push_back(Packet::Response { from, asker, response });
    }
}

/// What the listener of any node answers to ApiVersions.
fn api_versions() -> Response {
    Response {
        error: ottla_model::ErrorCode::None,
        leader: LeaderAndEpoch::default(),
        leader_endpoints: Endpoints::default(),
        body: ResponseBody::ApiVersions { kraft_versions: Some(SupportedKRaftVersions::LOCAL) },
    }
}

fn describe(request: &Request) -> String {
    match request {
        Request::Vote(vote) => {
            let kind = if vote.pre_vote { "pre-vote" } else { "vote" };
            format!("{kind} in epoch {}, log ends at {}", vote.epoch, vote.last)
        }
        Request::BeginQuorumEpoch(begin) => format!("begin epoch {}", begin.epoch),
        Request::EndQuorumEpoch(end) => {
            let successors: Vec<_> = end.preferred_successors.iter().map(|key| format!("n{}", key.id)).collect();
            format!("end epoch {}, next {}", end.epoch, successors.join(" "))
        }
        Request::AddVoter(add) => format!("add voter {}", add.voter.id),
        Request::RemoveVoter(remove) => format!("remove voter {}", remove.voter.id),
        Request::UpdateVoter(update) => format!("update voter {}", update.voter.id),
        other => format!("{other:?}"),
    }
}

/// Compares a transcript with the one in `tests/quorum/transcripts`; with the environment variable `UPDATE_TRANSCRIPTS` it is replaced.
pub fn check_transcript(name: &str, cluster: &Cluster) {
    let path = format!("{}/tests/quorum/transcripts/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_TRANSCRIPTS").is_some() {
        std::fs::write(&path, &cluster.transcript).expect("the transcript can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(cluster.transcript, expected, "{path} tells another story; look at both, then set UPDATE_TRANSCRIPTS=1");
}
