//! The active controller: one method per request. Each decides on the state as it is and returns records; only [`Controller::replay`]
//! changes the state (`QuorumController`).

use std::sync::Arc;

use ottla_metadata::{BootstrapMetadata, MetadataImage, MetadataRecord, ReplayError};
use ottla_model::BrokerId;
use ottla_protocol::messages::allocate_producer_ids_request::AllocateProducerIdsRequest;
use ottla_protocol::messages::broker_heartbeat_request::BrokerHeartbeatRequest;
use ottla_protocol::messages::broker_registration_request::BrokerRegistrationRequest;
use ottla_protocol::messages::create_topics_request::CreateTopicsRequest;
use ottla_protocol::messages::create_topics_response::CreateTopicsResponse;
use ottla_protocol::messages::delete_topics_request::DeleteTopicsRequest;
use ottla_protocol::messages::delete_topics_response::DeleteTopicsResponse;

use crate::activation::{ActivationError, activation_records};
use crate::api_error::ApiError;
use crate::broker_heartbeat::{BrokerHeartbeatReply, process_broker_heartbeat};
use crate::config_schema::ConfigSchema;
use crate::context::{ControllerOptions, RequestContext};
use crate::controller_result::ControllerResult;
use crate::create_topics::{CreateTopics, CreateTopicsRights};
use crate::delete_topics::{DeleteTopicsRights, check_enabled, delete_topics};
use crate::heartbeats::BrokerHeartbeats;
use crate::placement::UsableBroker;
use crate::producer_ids::{ProducerIdsBlock, allocate_producer_ids};
use crate::register_broker::{BrokerOrigin, BrokerRegistrationReply, RegisterBroker};
use crate::state::ControllerState;

/// The active controller. One that loses its leadership is dropped; the next one begins with the image of what was committed.
pub struct Controller {
    options: ControllerOptions,
    state: ControllerState,
    heartbeats: BrokerHeartbeats,
    /// The quorum's `kraft.version`.
    kraft_version: i16,
}

impl Controller {
    /// A controller that becomes active at `now_ms` on this image.
    pub fn new(options: ControllerOptions, schema: Arc<dyn ConfigSchema>, image: MetadataImage, now_ms: i64) -> Controller {
        let heartbeats = BrokerHeartbeats::new(options.broker_session_timeout_ms, &image.cluster, now_ms);
        let state = ControllerState::new(options.node_id, schema, image);
        Controller { options, state, heartbeats, kraft_version: 0 }
    }

    /// The state with every record that was replayed, committed or not.
    pub fn image(&self) -> &MetadataImage {
        &self.state.image
    }

    /// Follows the quorum's `kraft.version`, which brokers are checked against when they register.
    pub fn set_kraft_version(&mut self, level: i16) {
        self.kraft_version = level;
    }

    /// Replays the record at `offset`. After an error the controller is of no use.
    pub fn replay(&mut self, offset: i64, record: &MetadataRecord) -> Result<(), ReplayError> {
        self.state.replay(offset, record)?;
        let broker = match record {
            MetadataRecord::RegisterBroker(record) => record.broker_id,
            MetadataRecord::UnregisterBroker(record) => record.broker_id,
            MetadataRecord::BrokerRegistrationChange(record) => record.broker_id,
            MetadataRecord::FenceBroker(record) => record.id,
            MetadataRecord::UnfenceBroker(record) => record.id,
            _ => return Ok(()),
        };
        let registration = self.state.broker(BrokerId(broker)).map(|broker| (broker.epoch, broker.fenced));
        self.heartbeats.registered(BrokerId(broker), registration);
        Ok(())
    }

    /// The first records of a leadership, to be appended before anything else; there may be none.
    pub fn activate(&self, bootstrap: &BootstrapMetadata) -> Result<ControllerResult<()>, ActivationError> {
        activation_records(&self.state, bootstrap)
    }

    /// CreateTopics.
    pub fn create_topics(
        &self,
        context: &mut RequestContext<'_>,
        request: &CreateTopicsRequest,
        rights: CreateTopicsRights<'_>,
    ) -> Result<ControllerResult<CreateTopicsResponse>, ApiError> {
        let brokers = self.usable_brokers();
        CreateTopics { state: &self.state, options: &self.options, brokers: &brokers, rights }.handle(context, request)
    }

    /// DeleteTopics at `version`.
    pub fn delete_topics(
        &self,
        request: &DeleteTopicsRequest,
        version: i16,
        rights: DeleteTopicsRights<'_>,
    ) -> Result<ControllerResult<DeleteTopicsResponse>, ApiError> {
        check_enabled(self.options.delete_topic_enable, version)?;
        delete_topics(&self.state, request, rights)
    }

    /// BrokerRegistration at `version`.
    pub fn register_broker(
        &self,
        context: &RequestContext<'_>,
        request: &BrokerRegistrationRequest,
        version: i16,
        origin: BrokerOrigin,
    ) -> Result<ControllerResult<BrokerRegistrationReply>, ApiError> {
        let (state, options, heartbeats) = (&self.state, &self.options, &self.heartbeats);
        RegisterBroker { state, options, heartbeats, kraft_version: self.kraft_version, origin }.handle(context, request, version)
    }

    /// BrokerHeartbeat. Heartbeats are soft state: they change at once.
    pub fn process_broker_heartbeat(
        &mut self,
        now_ms: i64,
        request: &BrokerHeartbeatRequest,
    ) -> Result<ControllerResult<BrokerHeartbeatReply>, ApiError> {
        process_broker_heartbeat(&self.state, &mut self.heartbeats, now_ms, request)
    }

    /// The records of a heartbeat that began a controlled shutdown end at `last_offset`.
    pub fn controlled_shutdown_recorded(&mut self, broker: BrokerId, last_offset: i64) {
        self.heartbeats.set_controlled_shutdown_offset(broker, last_offset);
    }

    /// AllocateProducerIds.
    pub fn allocate_producer_ids(&self, request: &AllocateProducerIdsRequest) -> Result<ControllerResult<ProducerIdsBlock>, ApiError> {
        allocate_producer_ids(&self.state, request)
    }

    /// The brokers that new replicas may go to.
    fn usable_brokers(&self) -> Vec<UsableBroker> {
        let brokers = self.state.image.cluster.brokers();
        let usable = brokers.filter(|broker| !self.heartbeats.is_shutting_down(broker.id) && broker.has_uncordoned_dirs());
        usable.map(|broker| UsableBroker { id: broker.id, rack: broker.rack.clone(), fenced: broker.fenced }).collect()
    }
}
