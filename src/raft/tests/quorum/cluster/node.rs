//! One node: a core with a log in memory, of which a crash keeps what was flushed.

use bytes::Bytes;
use ottla_model::LeaderEpoch;
use ottla_raft::*;

use super::records::{self, Batch};

/// How many batches an answer to a fetch holds at most.
const BATCHES_PER_FETCH: usize = 4;

pub struct Node {
    pub config: RaftConfig,
    pub core: Option<RaftCore>,
    /// How often the process has died.
    pub life: u32,
    /// The log from its start on.
    pub batches: Vec<Batch>,
    pub start_offset: i64,
    /// What the listeners of this node were told to be committed, in this life and before.
    pub committed: Vec<Batch>,
    pub snapshots: Vec<(OffsetAndEpoch, Bytes)>,
    flushed_offset: i64,
    election: Option<ElectionState>,
    voters: VoterSet,
    partial_snapshot: Vec<u8>,
}

impl Node {
    pub fn new(config: RaftConfig, voters: &VoterSet) -> Node {
        Node {
            config,
            core: None,
            life: 0,
            batches: Vec::new(),
            start_offset: 0,
            committed: Vec::new(),
            snapshots: Vec::new(),
            flushed_offset: 0,
            election: None,
            voters: voters.clone(),
            partial_snapshot: Vec::new(),
        }
    }

    pub fn end_offset(&self) -> i64 {
        self.batches.last().map_or(self.start_offset, |batch| batch.end_offset)
    }

    pub fn start(&mut self, now_ms: i64) -> Vec<Action> {
        let mut epoch_starts: Vec<(LeaderEpoch, i64)> = Vec::new();
        for batch in &self.batches {
            if epoch_starts.last().is_none_or(|(epoch, _)| *epoch < batch.epoch) {
                epoch_starts.push((batch.epoch, batch.base_offset));
            }
        }
        let mut log = LogView::new(self.start_offset, self.end_offset(), epoch_starts);
        let mut history = ControlHistory::new(VoterSet::default());
        let version = ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord { k_raft_version: 1, ..Default::default() };
        history.apply(-1, &ControlRecord::KRaftVersion(version));
        history.apply(-1, &ControlRecord::Voters(self.voters.to_record()));
        for (id, bytes) in &self.snapshots {
            log.add_snapshot(*id, bytes.len() as u64);
        }
        for batch in &self.batches {
            for (offset, record) in batch.appended().control_records {
                history.apply(offset, &record);
            }
        }
        let (core, actions) = RaftCore::start(self.config.clone(), Found { log, history, election: self.election.clone() }, now_ms);
        self.core = Some(core);
        actions
    }

    pub fn crash(&mut self) {
        self.core = None;
        self.life += 1;
        let flushed_offset = self.flushed_offset;
        self.batches.retain(|batch| batch.end_offset <= flushed_offset);
        self.partial_snapshot.clear();
    }

    pub fn append(&mut self, epoch: LeaderEpoch, records: i64, payload: u64) -> AppendedBatch {
        let base_offset = self.end_offset();
        let batch = Batch { base_offset, end_offset: base_offset + records, epoch, payload, voters: None };
        let appended = batch.appended();
        self.batches.push(batch);
        appended
    }

    pub fn truncate(&mut self, offset: i64) {
        self.batches.retain(|batch| batch.end_offset <= offset);
        self.flushed_offset = self.flushed_offset.min(offset);
    }

    pub fn commit(&mut self, offset: i64) {
        let known = self.committed.last().map_or(0, |batch| batch.end_offset);
        self.committed.extend(self.batches.iter().filter(|b| b.base_offset >= known && b.end_offset <= offset).cloned());
    }

    /// Makes a snapshot of everything committed and lets the log begin there.
    pub fn snapshot(&mut self) -> OffsetAndEpoch {
        let last = self.committed.last().expect("something is committed");
        let id = OffsetAndEpoch::new(last.end_offset, last.epoch);
        self.snapshots.push((id, records::to_bytes(&self.committed)));
        self.batches.retain(|batch| batch.base_offset >= id.offset);
        self.start_offset = id.offset;
        id
    }

    /// Reads from the log or a snapshot what an answer refers to.
    pub fn fill_in(&self, mut response: Response) -> Response {
        match &mut response.body {
            ResponseBody::Fetch(answer) => {
                if let FetchOutcome::FromLog { offset, .. } = answer.outcome {
                    let from = self.batches.iter().skip_while(|batch| batch.end_offset <= offset);
                    let batches: Vec<_> = from.take(BATCHES_PER_FETCH).cloned().collect();
                    answer.outcome = FetchOutcome::Records(records::to_bytes(&batches));
                }
            }
            ResponseBody::FetchSnapshot(answer) => {
                let wanted = self.snapshots.iter().find(|(id, _)| Some(*id) == answer.snapshot_id);
                if let (SnapshotPart::FromSnapshot { .. }, Some((_, bytes))) = (&answer.part, wanted) {
                    let end = bytes.len().min(answer.position as usize + 50);
                    answer.part = SnapshotPart::Bytes(bytes.slice(answer.position as usize..end));
                }
            }
            _ => {}
        }
        response
    }

    /// Whether these are fetched records that do not begin where the log ends.
    pub fn would_tear(&self, action: &Action) -> bool {
        let Action::AppendFetched { records, .. } = action else { return false };
        records::from_bytes(records.clone()).first().is_some_and(|batch| batch.base_offset != self.end_offset())
    }

    /// Does what concerns only this node.
    pub fn perform(&mut self, action: Action) -> Option<Event> {
        match action {
            Action::PersistElectionState(election) => {
                self.election = Some(election.state);
                None
            }
            Action::AppendControlRecords { epoch, records } => Some(self.append_control(epoch, records)),
            Action::AppendFetched { records, .. } => Some(self.append_fetched(records)),
            Action::Flush => {
                self.flushed_offset = self.end_offset();
                Some(Event::Flushed { end_offset: self.flushed_offset })
            }
            Action::StoreSnapshotPart { position, part, .. } => {
                self.partial_snapshot.truncate(position as usize);
                self.partial_snapshot.extend_from_slice(&part);
                None
            }
            Action::InstallSnapshot { id } => Some(self.install_snapshot(id)),
            other => panic!("the cluster performs {other:?}"),
        }
    }

    fn append_control(&mut self, epoch: LeaderEpoch, records: Vec<ControlRecord>) -> Event {
        let base_offset = self.end_offset();
        let end_offset = base_offset + records.len() as i64;
        let mut voters = None;
        for (offset, record) in (base_offset..).zip(records) {
            if let ControlRecord::Voters(record) = record {
                voters = Some((offset, record));
            }
        }
        let batch = Batch { base_offset, end_offset, epoch, payload: 0, voters };
        let appended = batch.appended();
        self.batches.push(batch);
        Event::Appended(vec![appended])
    }

    fn append_fetched(&mut self, records: Bytes) -> Event {
        let batches = records::from_bytes(records);
        for batch in &batches {
            assert_eq!(batch.base_offset, self.end_offset(), "fetched records continue the log");
            self.batches.push(batch.clone());
        }
        Event::Appended(batches.iter().map(Batch::appended).collect())
    }

    fn install_snapshot(&mut self, id: OffsetAndEpoch) -> Event {
        let bytes = Bytes::from(std::mem::take(&mut self.partial_snapshot));
        self.committed = records::from_bytes(bytes.clone());
        self.batches.clear();
        self.start_offset = id.offset;
        self.flushed_offset = id.offset;
        let voters = self.committed.iter().rev().find_map(|batch| batch.voters.clone());
        let voters = voters.map_or_else(|| self.voters.to_record(), |(_, record)| record);
        let version = ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord { k_raft_version: 1, ..Default::default() };
        let size = bytes.len() as u64;
        self.snapshots = vec![(id, bytes)];
        Event::SnapshotInstalled { id, size, control_records: vec![ControlRecord::KRaftVersion(version), ControlRecord::Voters(voters)] }
    }
}
