//! AlterClientQuotas: sets limits for users, client ids and addresses; decided by the controller (KIP-546). They are stored, and not enforced yet.

use std::sync::Arc;

use ottla_controller::ApiError;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::alter_client_quotas_request::AlterClientQuotasRequest;
use ottla_protocol::messages::alter_client_quotas_response::{AlterClientQuotasResponse, EntityData, EntryData};

use crate::api::{Handler, Operation, QuotaClass, Rights};
use crate::broker::Broker;
use crate::request::RequestContext;

/// The API.
pub struct AlterClientQuotas;

impl Handler for AlterClientQuotas {
    type Request = AlterClientQuotasRequest;
    const KEY: ApiKey = ApiKey::AlterClientQuotas;
    const RIGHTS: Rights = Rights::Cluster(Operation::AlterConfigs);
    const QUOTA: QuotaClass = QuotaClass::ControllerMutation;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: AlterClientQuotasRequest) {
        let asked = request.clone();
        broker.forward(
            context,
            move |controller, _| controller.alter_client_quotas(&request, &is_ip_or_resolvable_host),
            move |outcome| outcome.unwrap_or_else(|error| failed(&asked, &error)),
        );
    }
}

fn failed(request: &AlterClientQuotasRequest, error: &ApiError) -> AlterClientQuotasResponse {
    let entries = request.entries.iter().map(|entry| {
        let entity = entry.entity.iter().map(|entity| EntityData {
            entity_type: entity.entity_type.clone(),
            entity_name: entity.entity_name.clone(),
            ..EntityData::default()
        });
        EntryData { error_code: error.error.code(), error_message: error.message.clone(), entity: entity.collect(), ..EntryData::default() }
    });
    AlterClientQuotasResponse { entries: entries.collect(), ..AlterClientQuotasResponse::default() }
}

/// Names are not looked up: only addresses are taken, and the one name that every host knows.
fn is_ip_or_resolvable_host(name: &str) -> bool {
    name == "localhost" || name.parse::<std::net::IpAddr>().is_ok()
}
