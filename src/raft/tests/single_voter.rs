//! A quorum of one: the events in, the exact actions out.

use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_raft::*;

const NODE: BrokerId = BrokerId(1);

fn directory() -> Uuid {
    Uuid::from_u64_pair(1, 11)
}

fn config() -> RaftConfig {
    let mut config = RaftConfig::new("cluster", NODE, directory());
    config.endpoints = Endpoints::single("CONTROLLER", Endpoint { host: "localhost".into(), port: 9093 });
    config
}

fn voters() -> VoterSet {
    VoterSet::new([config().local_voter()])
}

/// A log as `--standalone` formatting leaves it: a snapshot before offset 0 that names the voters.
fn formatted() -> Found {
    let mut log = LogView::new(0, 0, Vec::new());
    log.add_snapshot(OffsetAndEpoch::BOOTSTRAP_SNAPSHOT, 500);
    let mut history = ControlHistory::new(VoterSet::default());
    let version = ottla_protocol::messages::k_raft_version_record::KRaftVersionRecord { k_raft_version: 1, ..Default::default() };
    history.apply(-1, &ControlRecord::KRaftVersion(version));
    history.apply(-1, &ControlRecord::Voters(voters().to_record()));
    Found { log, history, election: None }
}

fn persisted(epoch: i32) -> Action {
    Action::PersistElectionState(PersistedElection {
        state: ElectionState { epoch: LeaderEpoch(epoch), leader_id: Some(NODE), voted: None },
        kraft_version: 1,
        voters: vec![NODE],
    })
}

/// The actions that matter to the disk and to the listeners.
fn without_notes(actions: Vec<Action>) -> Vec<Action> {
    actions.into_iter().filter(|action| !matches!(action, Action::RoleChanged { .. })).collect()
}

fn appended(base_offset: i64, end_offset: i64, epoch: i32) -> Event {
    Event::Appended(vec![AppendedBatch { base_offset, end_offset, epoch: LeaderEpoch(epoch), control_records: Vec::new() }])
}

#[test]
fn a_single_voter_leads_at_once_and_names_the_voters_in_its_first_batch() {
    let (mut core, actions) = RaftCore::start(config(), formatted(), 0);
    assert_eq!(core.role(), RoleName::Leader);
    let actions = without_notes(actions);
    let [.., persist, Action::AppendControlRecords { epoch, records }] = actions.as_slice() else {
        panic!("the last action is the start of the epoch: {actions:?}")
    };
    assert_eq!(persist, &persisted(1));
    assert_eq!(*epoch, LeaderEpoch(1));
    let [ControlRecord::LeaderChange(change), ControlRecord::KRaftVersion(version), ControlRecord::Voters(record)] = records.as_slice()
    else {
        panic!("leader change, kraft.version and voters: {records:?}")
    };
    assert_eq!((change.version, change.leader_id), (0, 1));
    assert_eq!(change.voters.iter().map(|voter| voter.voter_id).collect::<Vec<_>>(), vec![1]);
    assert_eq!(change.granting_voters.iter().map(|voter| voter.voter_id).collect::<Vec<_>>(), vec![1]);
    assert_eq!(version.k_raft_version, 1);
    assert_eq!(VoterSet::from_record(record), voters());

    assert_eq!(core.step(0, appended(0, 3, 1)), vec![Action::Flush]);
    assert_eq!(core.high_watermark(), None, "nothing is committed before it is durable");
    let leadership = LeaderAndEpoch { leader_id: Some(NODE), epoch: LeaderEpoch(1) };
    assert_eq!(core.step(0, Event::Flushed { end_offset: 3 }), vec![Action::AdvanceHighWatermark(3), Action::LeaderChanged(leadership)]);
    assert!(core.is_announced_leader());
    assert_eq!(core.next_deadline_ms(), i64::MAX, "a leader of nobody has nothing to wait for");

    assert_eq!(core.step(5, appended(3, 8, 1)), vec![Action::Flush]);
    assert_eq!(core.step(6, Event::Flushed { end_offset: 8 }), vec![Action::AdvanceHighWatermark(8)]);
}

#[test]
fn a_restart_leads_a_new_epoch_and_does_not_repeat_the_voters() {
    let mut found = formatted();
    found.log = LogView::new(0, 8, vec![(LeaderEpoch(1), 0)]);
    found.history.apply(2, &ControlRecord::Voters(voters().to_record()));
    found.election = Some(ElectionState { epoch: LeaderEpoch(1), leader_id: Some(NODE), voted: None });
    let (core, actions) = RaftCore::start(config(), found, 0);
    assert_eq!(core.leader_and_epoch(), LeaderAndEpoch { leader_id: Some(NODE), epoch: LeaderEpoch(2) });
    let Some(Action::AppendControlRecords { records, .. }) = actions.last() else { panic!("no start of epoch: {actions:?}") };
    assert_eq!(records.len(), 1);
    assert!(!core.is_announced_leader(), "what is in the log is committed only with this epoch's first record");
}

#[test]
fn a_lost_election_file_does_not_bring_an_old_epoch_back() {
    let mut found = formatted();
    found.log = LogView::new(0, 8, vec![(LeaderEpoch(1), 0), (LeaderEpoch(7), 5)]);
    let (core, _) = RaftCore::start(config(), found, 0);
    assert_eq!(core.leader_and_epoch().epoch, LeaderEpoch(8));
}

#[test]
fn with_static_voters_the_log_names_none() {
    let mut config = config();
    config.static_voters = VoterSet::from_static("CONTROLLER", [(NODE, Endpoint { host: "localhost".into(), port: 9093 })]);
    let found = Found { log: LogView::new(0, 0, Vec::new()), history: ControlHistory::new(config.static_voters.clone()), election: None };
    let (core, actions) = RaftCore::start(config, found, 0);
    assert_eq!(core.role(), RoleName::Leader);
    let Some(Action::AppendControlRecords { records, .. }) = actions.last() else { panic!("no start of epoch: {actions:?}") };
    assert!(matches!(records.as_slice(), [ControlRecord::LeaderChange(_)]));
}

#[test]
fn a_node_that_is_no_voter_does_not_stand_for_election() {
    let mut config = config();
    config.directory_id = Uuid::from_u64_pair(1, 12);
    let (mut core, _) = RaftCore::start(config, formatted(), 0);
    assert_eq!(core.role(), RoleName::Unattached);
    core.step(1_000_000, Event::Tick);
    assert_eq!(core.role(), RoleName::Unattached);
}

#[test]
fn shutting_down_resigns() {
    let (mut core, _) = RaftCore::start(config(), formatted(), 0);
    core.step(0, Event::Shutdown);
    assert_eq!(core.role(), RoleName::Resigned);
    assert!(core.may_stop());
    core.step(1_000_000, Event::Tick);
    assert_eq!(core.role(), RoleName::Resigned);
}
