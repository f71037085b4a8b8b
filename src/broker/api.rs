//! The one table of APIs. What a listener advertises, how a request is dispatched, which rights it needs and under which quota it
//! falls all derive from it. To add an API: write its file in `handlers/`, and list it in [`TABLE`].

use std::sync::Arc;

use ottla_protocol::{ApiKey, DecodeError, Message, Reader, Request};

use crate::broker::Broker;
use crate::handlers;
use crate::request::RequestContext;

/// What the caller must be allowed to do, by Kafka's `AclOperation` on a resource. Requests that name several resources are checked for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Anyone who can connect.
    Anyone,
    /// `operation` on the cluster.
    Cluster(Operation),
    /// `operation` on each topic that the request names.
    Topic(Operation),
    /// `operation` on each group that the request names.
    Group(Operation),
    /// Depends on the resource that the request names: see the handler.
    ByResource,
}

/// Kafka's `AclOperation`, as far as requests need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `READ`
    Read,
    /// `WRITE`
    Write,
    /// `CREATE`
    Create,
    /// `DELETE`
    Delete,
    /// `ALTER`
    Alter,
    /// `DESCRIBE`
    Describe,
    /// `DESCRIBE_CONFIGS`
    DescribeConfigs,
    /// `ALTER_CONFIGS`
    AlterConfigs,
    /// `IDEMPOTENT_WRITE`
    IdempotentWrite,
}

/// Which of Kafka's quotas a request counts against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaClass {
    /// Bytes in.
    Produce,
    /// Bytes out.
    Fetch,
    /// Share of the request handlers' time.
    Request,
    /// Changes of metadata per second.
    ControllerMutation,
    /// None.
    Exempt,
}

/// An API that is served: one implementation per file of `handlers/`.
pub trait Handler {
    /// The request.
    type Request: Request;
    /// The API.
    const KEY: ApiKey;
    /// What the caller needs.
    const RIGHTS: Rights;
    /// What the request counts against.
    const QUOTA: QuotaClass = QuotaClass::Request;
    /// The first and the last version that are served; Kafka's own unless a handler says otherwise.
    const VERSIONS: (i16, i16) = served_versions(Self::KEY);
    /// The first version that is advertised, where it differs from the first that is served.
    const LOWEST_ADVERTISED_VERSION: i16 = Self::VERSIONS.0;
    /// Whether the API is listed in ApiVersions.
    const ADVERTISED: bool = true;

    /// Answers the request through `context`, now or later.
    fn handle(broker: &Arc<Broker>, context: RequestContext, request: Self::Request);
}

const fn served_versions(key: ApiKey) -> (i16, i16) {
    let spec = key.spec();
    let last = if spec.latest_version_unstable { spec.highest_version - 1 } else { spec.highest_version };
    (spec.lowest_version, last)
}

/// One row of the table.
#[derive(Debug)]
pub struct ApiEntry {
    /// The API.
    pub key: ApiKey,
    /// The first version served.
    pub lowest_version: i16,
    /// The last version served.
    pub highest_version: i16,
    /// The first version advertised.
    pub lowest_advertised_version: i16,
    /// Whether ApiVersions lists it.
    pub advertised: bool,
    /// What the caller needs.
    pub rights: Rights,
    /// What the request counts against.
    pub quota: QuotaClass,
    handle: fn(&Arc<Broker>, RequestContext, Reader),
}

impl ApiEntry {
    const fn of<H: Handler>() -> ApiEntry {
        ApiEntry {
            key: H::KEY,
            lowest_version: H::VERSIONS.0,
            highest_version: H::VERSIONS.1,
            lowest_advertised_version: H::LOWEST_ADVERTISED_VERSION,
            advertised: H::ADVERTISED,
            rights: H::RIGHTS,
            quota: H::QUOTA,
            handle: decode_and_handle::<H>,
        }
    }

    /// Whether this version is served.
    pub fn serves(&self, version: i16) -> bool {
        (self.lowest_version..=self.highest_version).contains(&version)
    }

    /// Whether this kind of listener serves the API.
    pub fn is_on(&self, is_controller_listener: bool) -> bool {
        let spec = self.key.spec();
        if is_controller_listener { spec.on_controller } else { spec.on_broker }
    }

    /// Decodes the request and hands it to the API's handler. A request that cannot be decoded closes its connection.
    pub fn dispatch(&self, broker: &Arc<Broker>, context: RequestContext, body: Reader) {
        (self.handle)(broker, context, body);
    }
}

fn decode_and_handle<H: Handler>(broker: &Arc<Broker>, context: RequestContext, mut body: Reader) {
    let decoded: Result<H::Request, DecodeError> = H::Request::decode(&mut body, context.api_version);
    match decoded {
        Ok(request) => H::handle(broker, context, request),
        Err(error) => context.close_undecodable(&error),
    }
}

/// Every API that is served, by number.
pub static TABLE: &[ApiEntry] = &[
    ApiEntry::of::<handlers::produce::Produce>(),
    ApiEntry::of::<handlers::fetch::Fetch>(),
    ApiEntry::of::<handlers::list_offsets::ListOffsets>(),
    ApiEntry::of::<handlers::metadata::Metadata>(),
    ApiEntry::of::<handlers::offset_commit::OffsetCommit>(),
    ApiEntry::of::<handlers::offset_fetch::OffsetFetch>(),
    ApiEntry::of::<handlers::find_coordinator::FindCoordinator>(),
    ApiEntry::of::<handlers::join_group::JoinGroup>(),
    ApiEntry::of::<handlers::heartbeat::Heartbeat>(),
    ApiEntry::of::<handlers::leave_group::LeaveGroup>(),
    ApiEntry::of::<handlers::sync_group::SyncGroup>(),
    ApiEntry::of::<handlers::describe_groups::DescribeGroups>(),
    ApiEntry::of::<handlers::list_groups::ListGroups>(),
    ApiEntry::of::<handlers::sasl_handshake::SaslHandshake>(),
    ApiEntry::of::<handlers::api_versions::ApiVersions>(),
    ApiEntry::of::<handlers::create_topics::CreateTopics>(),
    ApiEntry::of::<handlers::delete_topics::DeleteTopics>(),
    ApiEntry::of::<handlers::delete_records::DeleteRecords>(),
    ApiEntry::of::<handlers::init_producer_id::InitProducerId>(),
    ApiEntry::of::<handlers::offset_for_leader_epoch::OffsetForLeaderEpoch>(),
    ApiEntry::of::<handlers::add_partitions_to_txn::AddPartitionsToTxn>(),
    ApiEntry::of::<handlers::add_offsets_to_txn::AddOffsetsToTxn>(),
    ApiEntry::of::<handlers::end_txn::EndTxn>(),
    ApiEntry::of::<handlers::write_txn_markers::WriteTxnMarkers>(),
    ApiEntry::of::<handlers::txn_offset_commit::TxnOffsetCommit>(),
    ApiEntry::of::<handlers::describe_acls::DescribeAcls>(),
    ApiEntry::of::<handlers::create_acls::CreateAcls>(),
    ApiEntry::of::<handlers::delete_acls::DeleteAcls>(),
    ApiEntry::of::<handlers::describe_configs::DescribeConfigs>(),
    ApiEntry::of::<handlers::alter_configs::AlterConfigs>(),
    ApiEntry::of::<handlers::describe_log_dirs::DescribeLogDirs>(),
    ApiEntry::of::<handlers::sasl_authenticate::SaslAuthenticate>(),
    ApiEntry::of::<handlers::create_partitions::CreatePartitions>(),
    ApiEntry::of::<handlers::create_delegation_token::CreateDelegationToken>(),
    ApiEntry::of::<handlers::renew_delegation_token::RenewDelegationToken>(),
    ApiEntry::of::<handlers::expire_delegation_token::ExpireDelegationToken>(),
    ApiEntry::of::<handlers::describe_delegation_token::DescribeDelegationToken>(),
    ApiEntry::of::<handlers::delete_groups::DeleteGroups>(),
    ApiEntry::of::<handlers::elect_leaders::ElectLeaders>(),
    ApiEntry::of::<handlers::incremental_alter_configs::IncrementalAlterConfigs>(),
    ApiEntry::of::<handlers::alter_partition_reassignments::AlterPartitionReassignments>(),
    ApiEntry::of::<handlers::list_partition_reassignments::ListPartitionReassignments>(),
    ApiEntry::of::<handlers::offset_delete::OffsetDelete>(),
    ApiEntry::of::<handlers::describe_client_quotas::DescribeClientQuotas>(),
    ApiEntry::of::<handlers::alter_client_quotas::AlterClientQuotas>(),
    ApiEntry::of::<handlers::describe_quorum::DescribeQuorum>(),
    ApiEntry::of::<handlers::update_features::UpdateFeatures>(),
    ApiEntry::of::<handlers::describe_cluster::DescribeCluster>(),
    ApiEntry::of::<handlers::describe_producers::DescribeProducers>(),
    ApiEntry::of::<handlers::unregister_broker::UnregisterBroker>(),
    ApiEntry::of::<handlers::describe_transactions::DescribeTransactions>(),
    ApiEntry::of::<handlers::list_transactions::ListTransactions>(),
    ApiEntry::of::<handlers::list_config_resources::ListConfigResources>(),
    ApiEntry::of::<handlers::describe_topic_partitions::DescribeTopicPartitions>(),
];

/// The row of an API.
pub fn entry(key: ApiKey) -> Option<&'static ApiEntry> {
    // The table is sorted, which a test checks.
    TABLE.binary_search_by_key(&key, |entry| entry.key).ok().map(|index| &TABLE[index])
}

/// The row of an API, if this kind of listener serves it.
pub fn entry_on(key: ApiKey, is_controller_listener: bool) -> Option<&'static ApiEntry> {
    entry(key).filter(|row| row.is_on(is_controller_listener))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_within_the_schema() {
        assert!(TABLE.is_sorted_by_key(|entry| entry.key));
        for row in TABLE {
            let spec = row.key.spec();
            assert!(row.lowest_version >= spec.lowest_version && row.highest_version <= spec.highest_version, "{}", row.key);
            assert!(std::ptr::eq(entry(row.key).unwrap(), row));
        }
    }
}
