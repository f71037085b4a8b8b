//! The file `quorum-state`: epoch, leader and vote, which must outlive the process (`FileQuorumStateStore`). One line of JSON whose
//! version is that of `kraft.version`. Knows nothing of the rules by which they change.

use std::io;
use std::path::{Path, PathBuf};

use ottla_io::{Disk, read_file, write_file_atomically};
use ottla_model::{BrokerId, LeaderEpoch, Uuid};
use ottla_raft::{ElectionState, PersistedElection, ReplicaKey};
use serde::{Deserialize, Serialize};

/// The file's name within the directory of the metadata log.
pub const QUORUM_STATE_FILE: &str = "quorum-state";

const NOBODY: i32 = -1;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionZero {
    #[serde(default)]
    cluster_id: String,
    leader_id: i32,
    leader_epoch: i32,
    voted_id: i32,
    #[serde(default)]
    applied_offset: i64,
    current_voters: Option<Vec<VersionZeroVoter>>,
    #[serde(rename = "data_version")]
    data_version: i16,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionZeroVoter {
    voter_id: i32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionOne {
    leader_id: i32,
    leader_epoch: i32,
    voted_id: i32,
    voted_directory_id: String,
    #[serde(rename = "data_version")]
    data_version: i16,
}

#[derive(Deserialize)]
struct VersionOnly {
    data_version: i16,
}

/// Why the election state could not be read. A node that does not know whether it has voted must not go on.
#[derive(Debug, thiserror::Error)]
pub enum QuorumStateError {
    /// The disk refused.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The content is none that Kafka writes.
    #[error("{path} is damaged: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

/// The election state in `directory`; `None` if there is none yet.
pub fn read_quorum_state(disk: &dyn Disk, directory: &Path) -> Result<Option<ElectionState>, QuorumStateError> {
    let path = directory.join(QUORUM_STATE_FILE);
    match read_file(disk, &path) {
        Ok(None) => Ok(None),
        Ok(Some(content)) => parse(&content).map(Some).map_err(|reason| QuorumStateError::Damaged { path, reason }),
        Err(source) => Err(QuorumStateError::Read { path, source }),
    }
}

/// Replaces the election state in `directory`. When this returns, it is durable.
pub fn write_quorum_state(disk: &dyn Disk, directory: &Path, election: &PersistedElection) -> io::Result<()> {
    write_file_atomically(disk, &directory.join(QUORUM_STATE_FILE), to_json(election).as_bytes())
}

fn parse(content: &[u8]) -> Result<ElectionState, String> {
    let line = content.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let version: VersionOnly = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    match version.data_version {
        0 => {
            let data: VersionZero = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            Ok(election(data.leader_epoch, data.leader_id, data.voted_id, Uuid::ZERO))
        }
        1 => {
            let data: VersionOne = serde_json::from_slice(line).map_err(|error| error.to_string())?;
            let directory_id = data.voted_directory_id.parse().map_err(|error| format!("{error}"))?;
            Ok(election(data.leader_epoch, data.leader_id, data.voted_id, directory_id))
        }
        version => Err(format!("data_version {version} is neither 0 nor 1")),
    }
}

fn election(epoch: i32, leader_id: i32, voted_id: i32, voted_directory_id: Uuid) -> ElectionState {
    ElectionState {
        epoch: LeaderEpoch(epoch),
        leader_id: (leader_id != NOBODY).then_some(BrokerId(leader_id)),
        voted: (voted_id != NOBODY).then(|| ReplicaKey::new(BrokerId(voted_id), voted_directory_id)),
    }
}

fn to_json(election: &PersistedElection) -> String {
    let PersistedElection { state, kraft_version, voters } = election;
    let leader_id = state.leader_id.map_or(NOBODY, |id| id.0);
    let leader_epoch = state.epoch.0;
    let voted_id = state.voted.map_or(NOBODY, |voted| voted.id.0);
    let json = if *kraft_version == 0 {
        serde_json::to_string(&VersionZero {
            cluster_id: String::new(),
            leader_id,
            leader_epoch,
            voted_id,
            applied_offset: 0,
            current_voters: Some(voters.iter().map(|id| VersionZeroVoter { voter_id: id.0 }).collect()),
            data_version: 0,
        })
    } else {
        let voted_directory_id = state.voted.map_or(Uuid::ZERO, ReplicaKey::directory_id_or_zero).to_string();
        serde_json::to_string(&VersionOne { leader_id, leader_epoch, voted_id, voted_directory_id, data_version: 1 })
    };
    json.expect("numbers and strings are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::MemoryDisk;

    fn persisted(kraft_version: i16, voted: Option<ReplicaKey>) -> PersistedElection {
        let state = ElectionState { epoch: LeaderEpoch(3), leader_id: Some(BrokerId(1)), voted };
        PersistedElection { state, kraft_version, voters: vec![BrokerId(1), BrokerId(2)] }
    }

    #[test]
    fn the_line_is_kafkas() {
        let directory: Uuid = "J8aAPcfLQt2bqs1JT_rMgQ".parse().expect("a uuid");
        let voted = Some(ReplicaKey::new(BrokerId(2), directory));
        assert_eq!(
            to_json(&persisted(1, voted)),
            r#"{"leaderId":1,"leaderEpoch":3,"votedId":2,"votedDirectoryId":"J8aAPcfLQt2bqs1JT_rMgQ","data_version":1}"#
        );
        assert_eq!(
            to_json(&persisted(0, None)),
            concat!(
                r#"{"clusterId":"","leaderId":1,"leaderEpoch":3,"votedId":-1,"appliedOffset":0,"#,
                r#""currentVoters":[{"voterId":1},{"voterId":2}],"data_version":0}"#
            )
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let disk = MemoryDisk::new();
        let directory = Path::new("/data/__cluster_metadata-0");
        disk.create_dir_all(directory).expect("a directory");
        assert_eq!(read_quorum_state(&disk, directory).expect("readable"), None);
        for kraft_version in [0, 1] {
            let election = persisted(kraft_version, Some(ReplicaKey::new(BrokerId(2), Uuid::ZERO)));
            write_quorum_state(&disk, directory, &election).expect("written");
            assert_eq!(read_quorum_state(&disk, directory).expect("readable"), Some(election.state));
        }
    }

    #[test]
    fn a_damaged_file_is_no_vote() {
        assert!(parse(b"").is_err());
        assert!(parse(br#"{"leaderId":1,"leaderEpoch":3,"votedId":2,"data_version":1}"#).is_err());
        assert!(parse(br#"{"leaderId":1,"leaderEpoch":3,"votedId":2,"data_version":2}"#).is_err());
        assert!(parse(br#"{"leaderId":1,"leaderEpoch":3,"votedId":2}"#).is_err());
    }
}
