//! Starts the metadata log: opens its files, and the quorum's rules with what is found in them.

use std::collections::VecDeque;
use std::sync::Arc;

use ottla_io::Disk;
use ottla_raft::{Found, RaftCore};

use super::deliver::Progress;
use super::error::MetadataLogError;
use super::files::LogFiles;
use super::host::MetadataLog;
use super::listener::MetadataListener;
use super::options::MetadataLogOptions;
use super::quorum_state::read_quorum_state;
use super::retention::Retention;
use super::snapshot_reader::read_legacy_bootstrap;

impl MetadataLog {
    /// Opens or creates the log. A single voter leads when this returns, and the listener has everything that is in the log.
    pub fn open(
        options: MetadataLogOptions,
        disk: Arc<dyn Disk>,
        now_ms: i64,
        listener: &mut dyn MetadataListener,
    ) -> Result<MetadataLog, MetadataLogError> {
        let (files, snapshots) = LogFiles::open(&options, disk, now_ms)?;
        let log = files.outline(&snapshots);
        let history = files.control_history(&log, options.raft.static_voters.clone())?;
        let election = read_quorum_state(files.disk.as_ref(), &files.directory)?;
        if let Some(records) = read_legacy_bootstrap(files.disk.as_ref(), &options.directory)? {
            listener.on_bootstrap(records);
        }
        let (core, actions) = RaftCore::start(options.raft.clone(), Found { log, history, election }, now_ms);
        let mut metadata_log = MetadataLog {
            retention: Retention::new(now_ms),
            progress: Progress { next_offset: None, uncompacted_bytes: 0, last_snapshot_ms: now_ms },
            uncommitted: VecDeque::new(),
            outgoing: Vec::new(),
            options,
            files,
            core,
        };
        metadata_log.perform_all(now_ms, actions, listener)?;
        Ok(metadata_log)
    }
}
