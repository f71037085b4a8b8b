//! The active controller: one method per request. Each decides on the state as it is and returns records; only [`Controller::replay`]
//! changes the state (`QuorumController`).

use std::sync::Arc;

use ottla_metadata::{BootstrapMetadata, MetadataImage, MetadataRecord, ReplayError};
use ottla_model::BrokerId;
use ottla_protocol::messages::allocate_producer_ids_request::AllocateProducerIdsRequest;
use ottla_protocol::messages::alter_client_quotas_request::AlterClientQuotasRequest;
use ottla_protocol::messages::alter_client_quotas_response::AlterClientQuotasResponse;
use ottla_protocol::messages::alter_configs_request::AlterConfigsRequest;
use ottla_protocol::messages::alter_configs_response::AlterConfigsResponse;
use ottla_protocol::messages::alter_partition_reassignments_request::AlterPartitionReassignmentsRequest;
use ottla_protocol::messages::alter_partition_reassignments_response::AlterPartitionReassignmentsResponse;
use ottla_protocol::messages::alter_partition_request::AlterPartitionRequest;
use ottla_protocol::messages::alter_partition_response::AlterPartitionResponse;
use ottla_protocol::messages::assign_replicas_to_dirs_request::AssignReplicasToDirsRequest;
use ottla_protocol::messages::assign_replicas_to_dirs_response::AssignReplicasToDirsResponse;
use ottla_protocol::messages::broker_heartbeat_request::BrokerHeartbeatRequest;
use ottla_protocol::messages::broker_registration_request::BrokerRegistrationRequest;
use ottla_protocol::messages::controller_registration_request::ControllerRegistrationRequest;
use ottla_protocol::messages::create_partitions_request::CreatePartitionsRequest;
use ottla_protocol::messages::create_partitions_response::CreatePartitionsResponse;
use ottla_protocol::messages::create_topics_request::CreateTopicsRequest;
use ottla_protocol::messages::create_topics_response::CreateTopicsResponse;
use ottla_protocol::messages::delete_topics_request::DeleteTopicsRequest;
use ottla_protocol::messages::delete_topics_response::DeleteTopicsResponse;
use ottla_protocol::messages::elect_leaders_request::ElectLeadersRequest;
use ottla_protocol::messages::elect_leaders_response::ElectLeadersResponse;
use ottla_protocol::messages::incremental_alter_configs_request::IncrementalAlterConfigsRequest;
use ottla_protocol::messages::incremental_alter_configs_response::IncrementalAlterConfigsResponse;
use ottla_protocol::messages::list_partition_reassignments_request::ListPartitionReassignmentsRequest;
use ottla_protocol::messages::list_partition_reassignments_response::ListPartitionReassignmentsResponse;
use ottla_protocol::messages::unregister_broker_request::UnregisterBrokerRequest;
use ottla_protocol::messages::update_features_request::UpdateFeaturesRequest;
use ottla_protocol::messages::update_features_response::UpdateFeaturesResponse;

use crate::activation::{ActivationError, activation_records};
use crate::alter_configs_request::{AlterConfigs, AlterConfigsChecks};
use crate::alter_partition::alter_partition;
use crate::api_error::ApiError;
use crate::assign_replicas_to_dirs::assign_replicas_to_dirs;
use crate::broker_heartbeat::{BrokerHeartbeatReply, process_broker_heartbeat};
use crate::client_quotas::alter_client_quotas;
use crate::config_schema::ConfigSchema;
use crate::context::{ControllerOptions, RequestContext};
use crate::controller_result::ControllerResult;
use crate::create_partitions::CreatePartitions;
use crate::create_topics::{CreateTopics, CreateTopicsRights};
use crate::delete_topics::{DeleteTopicsRights, check_enabled, delete_topics};
use crate::elect_leaders::{balance_partition_leaders, elect_leaders, elect_unclean_leaders};
use crate::heartbeats::BrokerHeartbeats;
use crate::node_registrations::{fence_expired_broker, register_controller, unregister_broker, unregister_controller};
use crate::partition_reassignments::{alter_partition_reassignments, list_partition_reassignments};
use crate::placement::UsableBroker;
use crate::producer_ids::{ProducerIdsBlock, allocate_producer_ids};
use crate::register_broker::{BrokerOrigin, BrokerRegistrationReply, RegisterBroker};
use crate::state::ControllerState;
use crate::update_features::UpdateFeatures;

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

    #[cfg(test)]
    pub(crate) fn state(&self) -> &ControllerState {
        &self.state
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

    /// CreatePartitions; `may_alter` tells whether the requester may alter a topic.
    pub fn create_partitions(
        &self,
        context: &mut RequestContext<'_>,
        request: &CreatePartitionsRequest,
        may_alter: &dyn Fn(&str) -> bool,
    ) -> Result<ControllerResult<CreatePartitionsResponse>, ApiError> {
        let brokers = self.usable_brokers();
        CreatePartitions { state: &self.state, brokers: &brokers, may_alter }.handle(context, request)
    }

    /// ElectLeaders.
    pub fn elect_leaders(&self, request: &ElectLeadersRequest) -> Result<ControllerResult<ElectLeadersResponse>, ApiError> {
        elect_leaders(&self.state, request)
    }

    /// Gives leaderships back to the preferred replicas; the response tells whether there is more to do.
    pub fn balance_partition_leaders(&self) -> ControllerResult<bool> {
        balance_partition_leaders(&self.state)
    }

    /// Elects leaders where nobody leads and the topic allows an unclean election; the response tells whether there is more to do.
    pub fn elect_unclean_leaders(&self) -> ControllerResult<bool> {
        elect_unclean_leaders(&self.state)
    }

    /// AlterPartition at `version`.
    pub fn alter_partition(
        &self,
        request: &AlterPartitionRequest,
        version: i16,
    ) -> Result<ControllerResult<AlterPartitionResponse>, ApiError> {
        alter_partition(&self.state, request, version)
    }

    /// AlterPartitionReassignments.
    pub fn alter_partition_reassignments(
        &self,
        request: &AlterPartitionReassignmentsRequest,
    ) -> Result<ControllerResult<AlterPartitionReassignmentsResponse>, ApiError> {
        alter_partition_reassignments(&self.state, request)
    }

    /// ListPartitionReassignments.
    pub fn list_partition_reassignments(&self, request: &ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse {
        list_partition_reassignments(&self.state, request)
    }

    /// AssignReplicasToDirs.
    pub fn assign_replicas_to_dirs(
        &self,
        request: &AssignReplicasToDirsRequest,
    ) -> Result<ControllerResult<AssignReplicasToDirsResponse>, ApiError> {
        assign_replicas_to_dirs(&self.state, request)
    }

    /// IncrementalAlterConfigs.
    pub fn incremental_alter_configs(
        &self,
        request: &IncrementalAlterConfigsRequest,
        checks: AlterConfigsChecks<'_>,
    ) -> Result<ControllerResult<IncrementalAlterConfigsResponse>, ApiError> {
        AlterConfigs { state: &self.state, options: &self.options, checks }.incremental(request)
    }

    /// AlterConfigs.
    pub fn alter_configs(
        &self,
        request: &AlterConfigsRequest,
        checks: AlterConfigsChecks<'_>,
    ) -> Result<ControllerResult<AlterConfigsResponse>, ApiError> {
        AlterConfigs { state: &self.state, options: &self.options, checks }.legacy(request)
    }

    /// UpdateFeatures at `version`.
    pub fn update_features(&self, request: &UpdateFeaturesRequest, version: i16) -> ControllerResult<UpdateFeaturesResponse> {
        let (state, options, kraft_version) = (&self.state, &self.options, self.kraft_version);
        UpdateFeatures { state, options, kraft_version }.handle(request, version)
    }

    /// AlterClientQuotas; `is_ip_or_resolvable_host` tells whether the name of an `ip` entity is one.
    pub fn alter_client_quotas(
        &self,
        request: &AlterClientQuotasRequest,
        is_ip_or_resolvable_host: &dyn Fn(&str) -> bool,
    ) -> Result<ControllerResult<AlterClientQuotasResponse>, ApiError> {
        alter_client_quotas(&self.state, request, is_ip_or_resolvable_host)
    }

    /// UnregisterBroker.
    pub fn unregister_broker(&self, request: &UnregisterBrokerRequest) -> Result<ControllerResult<()>, ApiError> {
        unregister_broker(&self.state, BrokerId(request.broker_id))
    }

    /// ControllerRegistration.
    pub fn register_controller(&self, request: &ControllerRegistrationRequest) -> Result<ControllerResult<()>, ApiError> {
        register_controller(&self.state, request)
    }

    /// UnregisterController.
    pub fn unregister_controller(&self, controller: BrokerId) -> Result<ControllerResult<()>, ApiError> {
        unregister_controller(&self.state, &self.options, controller)
    }

    /// Fences one broker whose session has ended; `None` when there is none. To be repeated until then.
    pub fn fence_expired_broker(&mut self, now_ms: i64) -> Option<ControllerResult<BrokerId>> {
        fence_expired_broker(&self.state, &mut self.heartbeats, now_ms)
    }

    /// When to call [`Controller::fence_expired_broker`] next, in ms; `None` while no session is open.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        self.heartbeats.next_deadline_ms()
    }

    /// The brokers that new replicas may go to.
    fn usable_brokers(&self) -> Vec<UsableBroker> {
        let brokers = self.state.image.cluster.brokers();
        let usable = brokers.filter(|broker| !self.heartbeats.is_shutting_down(broker.id) && broker.has_uncordoned_dirs());
        usable.map(|broker| UsableBroker { id: broker.id, rack: broker.rack.clone(), fenced: broker.fenced }).collect()
    }
}
