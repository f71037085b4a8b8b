//! Does on disk what the quorum's rules have decided, in their order, and reports back what came of it. An action that fails ends the
//! node: the rules cannot take a decision back.

use std::collections::VecDeque;
use std::io::IoSlice;

use ottla_io::OpenMode;
use ottla_model::LeaderEpoch;
use ottla_raft::{Action, AppendedBatch, ControlRecord, Event, OffsetAndEpoch};

use super::batch::{BatchFrame, control_batch, outline};
use super::error::MetadataLogError;
use super::host::MetadataLog;
use super::listener::MetadataListener;
use super::quorum_state::{QUORUM_STATE_FILE, write_quorum_state};
use super::snapshot_name::partial_file_name;
use super::snapshot_writer::finish_snapshot;

impl MetadataLog {
    /// Lets the rules decide on an event, and on all that follows from it.
    pub(super) fn drive(&mut self, now_ms: i64, event: Event, listener: &mut dyn MetadataListener) -> Result<(), MetadataLogError> {
        let actions = self.core.step(now_ms, event);
        self.perform_all(now_ms, actions, listener)
    }

    pub(super) fn perform_all(
        &mut self,
        now_ms: i64,
        actions: Vec<Action>,
        listener: &mut dyn MetadataListener,
    ) -> Result<(), MetadataLogError> {
        let mut events = VecDeque::new();
        let mut actions = actions;
        loop {
            for action in actions {
                events.extend(self.perform(now_ms, action, listener)?);
            }
            let Some(event) = events.pop_front() else { return Ok(()) };
            actions = self.core.step(now_ms, event);
        }
    }

    fn perform(&mut self, now_ms: i64, action: Action, listener: &mut dyn MetadataListener) -> Result<Option<Event>, MetadataLogError> {
        match action {
            Action::PersistElectionState(election) => {
                let written = write_quorum_state(self.files.disk.as_ref(), &self.files.directory, &election);
                written.map_err(self.files.at(QUORUM_STATE_FILE))?;
                Ok(None)
            }
            Action::AppendControlRecords { epoch, records } => self.append_control(now_ms, epoch, records).map(Some),
            Action::AppendFetched { epoch, records } => self.append_fetched(now_ms, epoch, &records).map(Some),
            Action::Flush => self.flush(now_ms).map(Some),
            Action::Truncate { offset } => {
                self.files.log.truncate_to(offset, now_ms)?;
                self.uncommitted.clear();
                Ok(None)
            }
            Action::StoreSnapshotPart { id, position, part } => self.store_snapshot_part(id, position, &part).map(|()| None),
            Action::InstallSnapshot { id } => self.install_snapshot(now_ms, id).map(Some),
            Action::Send { .. } | Action::Reply { .. } => {
                self.outgoing.push(action);
                Ok(None)
            }
            Action::AdvanceHighWatermark(high_watermark) => {
                self.files.log.update_high_watermark(high_watermark);
                self.deliver(high_watermark, listener)?;
                Ok(None)
            }
            Action::LeaderChanged(leader_and_epoch) => {
                listener.on_leader_change(leader_and_epoch);
                Ok(None)
            }
            Action::RoleChanged { role, epoch, leader_id } => {
                tracing::info!(%role, %epoch, leader = leader_id.map(|id| id.0), "metadata quorum: this node is {role} in epoch {epoch}");
                Ok(None)
            }
            Action::Report(anomaly) => {
                tracing::warn!("metadata quorum: {anomaly}");
                Ok(None)
            }
        }
    }

    fn append_control(&mut self, now_ms: i64, epoch: LeaderEpoch, records: Vec<ControlRecord>) -> Result<Event, MetadataLogError> {
        let base_offset = self.files.log.log_end_offset();
        let batch = control_batch(BatchFrame { base_offset, epoch, timestamp_ms: now_ms }, &records);
        self.append_bytes(now_ms, epoch, &batch)?;
        let end_offset = base_offset + records.len() as i64;
        let control_records = (base_offset..).zip(records).collect();
        Ok(Event::Appended(vec![AppendedBatch { base_offset, end_offset, epoch, control_records }]))
    }

    pub(super) fn append_bytes(&mut self, now_ms: i64, epoch: LeaderEpoch, batch: &[u8]) -> Result<(), MetadataLogError> {
        let appended = self.files.log.append_as_raft_leader(batch, epoch.0, now_ms);
        appended.map_err(|error| MetadataLogError::Refused { operation: "an append", reason: error.to_string() })?;
        Ok(())
    }

    fn append_fetched(&mut self, now_ms: i64, epoch: LeaderEpoch, records: &[u8]) -> Result<Event, MetadataLogError> {
        let outline = match outline(records) {
            Ok(batches) if !batches.is_empty() => batches,
            Ok(_) => return Ok(Event::FetchedRecordsRefused),
            Err(error) => {
                tracing::warn!("metadata quorum: the leader has sent damaged records: {error}");
                return Ok(Event::FetchedRecordsRefused);
            }
        };
        let before = self.files.log.log_end_offset();
        if let Err(error) = self.files.log.append_as_follower(records, epoch.0, now_ms) {
            tracing::warn!("metadata quorum: the leader's records cannot be appended: {error}");
        }
        let end_offset = self.files.log.log_end_offset();
        if end_offset == before {
            return Ok(Event::FetchedRecordsRefused);
        }
        Ok(Event::Appended(outline.into_iter().filter(|batch| batch.end_offset <= end_offset).collect()))
    }

    fn flush(&mut self, now_ms: i64) -> Result<Event, MetadataLogError> {
        if let Some(task) = self.files.log.prepare_flush()? {
            task.run()?;
            self.files.log.flushed(&task, now_ms);
        }
        Ok(Event::Flushed { end_offset: self.files.log.log_end_offset() })
    }

    fn store_snapshot_part(&mut self, id: OffsetAndEpoch, position: i64, part: &[u8]) -> Result<(), MetadataLogError> {
        let name = partial_file_name(id);
        let mode = if position == 0 { OpenMode::CreateEmpty } else { OpenMode::Existing };
        let file = self.files.disk.open(&self.files.directory.join(&name), mode);
        let written = file.and_then(|file| file.write_all_at(&mut [IoSlice::new(part)], position as u64));
        written.map_err(self.files.at(&name))
    }

    fn install_snapshot(&mut self, now_ms: i64, id: OffsetAndEpoch) -> Result<Event, MetadataLogError> {
        let name = partial_file_name(id);
        let file = self.files.disk.open(&self.files.directory.join(&name), OpenMode::Existing);
        file.and_then(|file| file.sync_data()).map_err(self.files.at(&name))?;
        finish_snapshot(self.files.disk.as_ref(), &self.files.directory, id)?;
        let content = self.files.read_snapshot(id)?;
        self.files.log.truncate_fully_and_start_at(id.offset, now_ms)?;
        self.uncommitted.clear();
        for (old, _) in self.core.log().snapshots().take_while(|(old, _)| *old < id) {
            self.files.remove_snapshot(old)?;
        }
        Ok(Event::SnapshotInstalled { id, size: content.size, control_records: content.control_records })
    }
}
