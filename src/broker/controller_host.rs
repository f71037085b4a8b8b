//! Hosts the controller on top of the metadata log: its records become durable, are replayed, and become the image that the rest of the broker
//! sees. Everything here may wait for the disk and runs off the connections' threads.

use std::sync::Arc;

use ottla_controller::{ApiError, ConfigSchema, Controller, ControllerOptions, ControllerResult, RequestContext};
use ottla_metadata::{
    BootstrapMetadata, MetadataChanges, MetadataDelta, MetadataImage, MetadataProvenance, MetadataRecord, MetadataVersion,
};
use ottla_model::{BrokerId, ErrorCode, LeaderEpoch};
use ottla_raft::{LeaderAndEpoch, OffsetAndEpoch};

use crate::environment::Environment;
use crate::metadata_log::{
    Append, CommittedBatch, LoadedSnapshot, MetadataListener, MetadataLog, MetadataLogError, MetadataLogOptions, Snapshot,
};

/// A change of the image, for those who keep something in step with it.
#[derive(Debug)]
pub struct Publication {
    /// The image after the change.
    pub image: MetadataImage,
    /// What changed.
    pub changes: MetadataChanges,
}

/// The metadata as the log has it, and the controller on top of it.
#[derive(Debug)]
struct Replica {
    node_id: BrokerId,
    image: MetadataImage,
    bootstrap: BootstrapMetadata,
    /// Images that nobody was told of yet, oldest first.
    unpublished: Vec<Publication>,
    leader: LeaderAndEpoch,
    /// The first record that could not be replayed; from then on nothing is.
    fault: Option<String>,
}

/// The controller and its log.
pub struct ControllerHost {
    log: MetadataLog,
    replica: Replica,
    controller: Controller,
    options: ControllerOptions,
    schema: Arc<dyn ConfigSchema>,
}

impl ControllerHost {
    /// Opens the metadata log, replays it, and, on a node that is a quorum of its own, is the active controller when it returns.
    pub fn open(
        options: MetadataLogOptions,
        controller_options: ControllerOptions,
        schema: Arc<dyn ConfigSchema>,
        environment: &Environment,
        now_ms: i64,
    ) -> Result<ControllerHost, MetadataLogError> {
        let mut replica = Replica {
            node_id: options.raft.node_id,
            image: MetadataImage::default(),
            bootstrap: BootstrapMetadata::with_default_features(MetadataVersion::LATEST, "the default"),
            unpublished: Vec::new(),
            leader: LeaderAndEpoch { leader_id: None, epoch: LeaderEpoch::NONE },
            fault: None,
        };
        let log = MetadataLog::open(options, environment.disk.clone(), now_ms, &mut replica)?;
        let controller = Controller::new(controller_options.clone(), schema.clone(), replica.image.clone(), now_ms);
        let mut host = ControllerHost { log, replica, controller, options: controller_options, schema };
        host.check_replay()?;
        host.controller.set_kraft_version(host.kraft_version());
        let fault = |message: String| MetadataLogError::Replay { message };
        let activation = host.controller.activate(&host.replica.bootstrap).map_err(|error| fault(error.to_string()))?;
        host.commit(activation, now_ms).map_err(|error| fault(error.to_string()))?;
        Ok(host)
    }

    /// The committed image.
    pub fn image(&self) -> &MetadataImage {
        &self.replica.image
    }

    /// The metadata log.
    pub fn log(&self) -> &MetadataLog {
        &self.log
    }

    /// The quorum's `kraft.version`.
    pub fn kraft_version(&self) -> i16 {
        self.log.core().history().last_kraft_version()
    }

    /// Takes what was not published yet.
    pub fn take_publications(&mut self) -> Vec<Publication> {
        std::mem::take(&mut self.replica.unpublished)
    }

    /// Lets the controller decide, makes its records durable and returns its response.
    pub fn submit<R>(
        &mut self,
        environment: &Environment,
        now_ms: i64,
        decide: impl FnOnce(&mut Controller, &mut RequestContext<'_>) -> Result<ControllerResult<R>, ApiError>,
    ) -> Result<R, ApiError> {
        let mut random = || environment.random_u64();
        let mut context = RequestContext { now_ms, next_write_offset: self.log.log_end_offset(), random: &mut random };
        let result = decide(&mut self.controller, &mut context)?;
        self.commit(result, now_ms)
    }

    fn commit<R>(&mut self, result: ControllerResult<R>, now_ms: i64) -> Result<R, ApiError> {
        let ControllerResult { records, response, is_atomic } = result;
        if records.is_empty() {
            return Ok(response);
        }
        if self.replica.leader.leader_id != Some(self.replica.node_id) {
            return Err(ApiError::bare(ErrorCode::NotController));
        }
        let base_offset = self.log.log_end_offset();
        for (offset, record) in (base_offset..).zip(&records) {
            if let Err(error) = self.controller.replay(offset, record) {
                return Err(self.failed(&error.to_string(), now_ms));
            }
        }
        let version = self.controller.image().metadata_version();
        let append = Append { epoch: self.replica.leader.epoch, records, version, is_atomic };
        let appended = self.log.append(now_ms, append, &mut self.replica);
        if let Err(error) = appended {
            return Err(self.failed(&error.to_string(), now_ms));
        }
        if let Err(error) = self.check_replay() {
            return Err(self.failed(&error.to_string(), now_ms));
        }
        self.maybe_snapshot(now_ms);
        Ok(response)
    }

    /// What cannot be written must not be remembered either: the controller starts again from what is committed.
    fn failed(&mut self, message: &str, now_ms: i64) -> ApiError {
        tracing::error!(reason = message, "the controller's records could not be written");
        self.controller = Controller::new(self.options.clone(), self.schema.clone(), self.replica.image.clone(), now_ms);
        ApiError::new(ErrorCode::UnknownServerError, message)
    }

    fn check_replay(&self) -> Result<(), MetadataLogError> {
        match &self.replica.fault {
            None => Ok(()),
            Some(message) => Err(MetadataLogError::Replay { message: message.clone() }),
        }
    }

    fn maybe_snapshot(&mut self, now_ms: i64) {
        if !self.log.wants_snapshot(now_ms) {
            return;
        }
        let image = &self.replica.image;
        let provenance = image.provenance;
        let snapshot = Snapshot {
            id: OffsetAndEpoch { offset: provenance.last_contained_offset + 1, epoch: LeaderEpoch(provenance.last_contained_epoch) },
            last_contained_log_timestamp_ms: provenance.last_contained_log_time_ms,
            records: image.to_records(),
            version: image.metadata_version(),
        };
        if let Err(error) = self.log.write_snapshot(now_ms, &snapshot, &mut self.replica) {
            tracing::error!(%error, "the metadata snapshot could not be written");
        }
    }

    /// Time passes for the quorum.
    pub fn tick(&mut self, now_ms: i64) -> Result<(), MetadataLogError> {
        self.log.tick(now_ms, &mut self.replica)?;
        self.maybe_snapshot(now_ms);
        Ok(())
    }

    /// When [`ControllerHost::tick`] is due, in milliseconds since 1970.
    pub fn next_deadline_ms(&self) -> i64 {
        self.log.next_deadline_ms()
    }

    /// Closes the log.
    pub fn close(&mut self, now_ms: i64) -> Result<(), MetadataLogError> {
        self.log.close(now_ms)
    }
}

impl Replica {
    /// A snapshot replaces everything; other records follow what came before.
    fn apply(&mut self, mut delta: MetadataDelta, records: &[MetadataRecord], provenance: MetadataProvenance, is_snapshot: bool) {
        for record in records {
            if let Err(error) = delta.replay(record) {
                self.fault
                    .get_or_insert(format!("the record before offset {} cannot be applied: {error}", provenance.last_contained_offset + 1));
                return;
            }
        }
        if is_snapshot {
            delta.finish_snapshot();
        }
        let changes;
        (self.image, changes) = delta.apply(provenance);
        self.unpublished.push(Publication { image: self.image.clone(), changes });
    }
}

impl MetadataListener for Replica {
    fn on_bootstrap(&mut self, records: Vec<MetadataRecord>) {
        match BootstrapMetadata::from_records(records, "the formatted directory") {
            Ok(bootstrap) => self.bootstrap = bootstrap,
            Err(error) => self.fault = Some(format!("the records that formatting wrote are not usable: {error}")),
        }
    }

    fn on_snapshot(&mut self, snapshot: LoadedSnapshot) {
        let provenance = MetadataProvenance {
            last_contained_offset: snapshot.id.offset - 1,
            last_contained_epoch: snapshot.id.epoch.0,
            last_contained_log_time_ms: snapshot.last_contained_log_timestamp_ms,
        };
        self.apply(MetadataDelta::for_snapshot(self.image.clone()), &snapshot.records, provenance, true);
    }

    fn on_commit(&mut self, batch: CommittedBatch) {
        let provenance = MetadataProvenance {
            last_contained_offset: batch.last_offset,
            last_contained_epoch: batch.epoch.0,
            last_contained_log_time_ms: batch.append_timestamp_ms,
        };
        self.apply(MetadataDelta::new(self.image.clone()), &batch.records, provenance, false);
    }

    fn on_leader_change(&mut self, leader: LeaderAndEpoch) {
        match leader.leader_id {
            Some(leader_id) => tracing::info!(leader = leader_id.0, epoch = %leader.epoch, "the metadata quorum has a leader"),
            None => tracing::debug!(epoch = %leader.epoch, "the metadata quorum has no leader"),
        }
        self.leader = leader;
    }
}
