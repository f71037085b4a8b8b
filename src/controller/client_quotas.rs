//! AlterClientQuotas and DescribeClientQuotas (`ClientQuotaControlManager`, `ClientQuotasImage.describe`). Quotas are kept here; they are
//! enforced elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use ottla_metadata::{ClientQuotaEntity, ClientQuotasImage, MetadataRecord, client_quota_record};
use ottla_model::ErrorCode;
use ottla_protocol::messages::alter_client_quotas_request::AlterClientQuotasRequest;
use ottla_protocol::messages::alter_client_quotas_response;
use ottla_protocol::messages::alter_client_quotas_response::AlterClientQuotasResponse;
use ottla_protocol::messages::describe_client_quotas_request::DescribeClientQuotasRequest;
use ottla_protocol::messages::describe_client_quotas_response::{DescribeClientQuotasResponse, EntityData, EntryData, ValueData};

use crate::api_error::{ApiError, response_error};
use crate::controller_result::ControllerResult;
use crate::state::ControllerState;

const USER: &str = "user";
const CLIENT_ID: &str = "client-id";
const IP: &str = "ip";

/// How a quota's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QuotaType {
    Double,
    Int,
    Long,
}

fn quota_type(of_ip: bool, key: &str) -> Option<QuotaType> {
    match (of_ip, key) {
        (false, "producer_byte_rate" | "consumer_byte_rate") => Some(QuotaType::Long),
        (false, "request_percentage" | "controller_mutation_rate") => Some(QuotaType::Double),
        (true, "connection_creation_rate") => Some(QuotaType::Int),
        _ => None,
    }
}

/// Changes quotas. `is_ip_or_resolvable_host` tells whether an address is one: looking up names is not done here.
pub(crate) fn alter_client_quotas(
    state: &ControllerState,
    request: &AlterClientQuotasRequest,
    is_ip_or_resolvable_host: &dyn Fn(&str) -> bool,
) -> Result<ControllerResult<AlterClientQuotasResponse>, ApiError> {
    let mut records = Vec::new();
    let mut outcomes: BTreeMap<ClientQuotaEntity, Result<(), ApiError>> = BTreeMap::new();
    for entry in &request.entries {
        let entity: ClientQuotaEntity = entry.entity.iter().map(|part| (part.entity_type.clone(), part.entity_name.clone())).collect();
        let mut alterations: BTreeMap<&str, Option<f64>> = BTreeMap::new();
        let mut twice = outcomes.contains_key(&entity);
        for operation in &entry.ops {
            // As in Kafka, the first of two operations on a key counts, and the entity is refused with both.
            twice |= alterations.contains_key(&*operation.key);
            alterations.entry(&operation.key).or_insert((!operation.remove).then_some(operation.value));
        }
        let outcome = if twice {
            Err(ApiError::invalid_request(format!("Ignoring duplicate entity {}", entity_text(&entity))))
        } else {
            alter_entity(state, &entity, &alterations, is_ip_or_resolvable_host).map(|new| records.extend(new))
        };
        outcomes.insert(entity, outcome);
    }
    let entries = outcomes.into_iter().map(|(entity, outcome)| {
        let (error_code, error_message) = response_error(&outcome);
        let part = |(entity_type, entity_name)| alter_client_quotas_response::EntityData { entity_type, entity_name, ..Default::default() };
        let entity = entity.into_iter().map(part).collect();
        alter_client_quotas_response::EntryData { error_code, error_message, entity, ..Default::default() }
    });
    let response = AlterClientQuotasResponse { entries: entries.collect(), ..Default::default() };
    ControllerResult::atomic_of(records, response).without_records_if(request.validate_only).bounded()
}

/// `ClientQuotaEntity.toString`.
fn entity_text(entity: &ClientQuotaEntity) -> String {
    let parts: Vec<String> = entity.iter().map(|(kind, name)| format!("{kind}={}", name.as_deref().unwrap_or("null"))).collect();
    format!("ClientQuotaEntity(entries={{{}}})", parts.join(", "))
}

fn alter_entity(
    state: &ControllerState,
    entity: &ClientQuotaEntity,
    alterations: &BTreeMap<&str, Option<f64>>,
    is_ip_or_resolvable_host: &dyn Fn(&str) -> bool,
) -> Result<Vec<MetadataRecord>, ApiError> {
    validate_entity(entity, is_ip_or_resolvable_host)?;
    let of_ip = entity.contains_key(IP);
    let current = state.image.client_quotas.entity(entity);
    let mut records = Vec::new();
    for (&key, &value) in alterations {
        let present = current.and_then(|quotas| quotas.get(key)).copied();
        if let Some(value) = value {
            validate_value(of_ip, key, value)?;
        }
        if present != value {
            records.push(client_quota_record(entity, key, value));
        }
    }
    Ok(records)
}

fn validate_entity(entity: &ClientQuotaEntity, is_ip_or_resolvable_host: &dyn Fn(&str) -> bool) -> Result<(), ApiError> {
    if entity.is_empty() {
        return Err(ApiError::invalid_request("Invalid empty client quota entity"));
    }
    for (kind, name) in entity {
        if ![USER, CLIENT_ID, IP].contains(&&**kind) {
            return Err(ApiError::invalid_request(format!("Unhandled client quota entity type: {kind}")));
        }
        if name.as_deref() == Some("") {
            return Err(ApiError::invalid_request(format!("Empty {kind} not supported")));
        }
    }
    match entity.get(IP) {
        None => Ok(()),
        Some(_) if entity.len() > 1 => {
            // Kafka's sentence lacks the space too.
            let message = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId";
            Err(ApiError::invalid_request(message))
        }
        Some(Some(address)) if !is_ip_or_resolvable_host(address) => {
            Err(ApiError::invalid_request(format!("{address} is not a valid IP or resolvable host.")))
        }
        Some(_) => Ok(()),
    }
}

fn validate_value(of_ip: bool, key: &str, value: f64) -> Result<(), ApiError> {
    let Some(quota_type) = quota_type(of_ip, key) else {
        return Err(ApiError::invalid_request(format!("Invalid configuration key {key}")));
    };
    if value <= 0.0 {
        return Err(ApiError::invalid_request(format!("Quota {key} must be greater than 0")));
    }
    let (name, max) = match quota_type {
        QuotaType::Double => return Ok(()),
        QuotaType::Int => ("an INT", f64::from(i32::MAX)),
        QuotaType::Long => ("a LONG", i64::MAX as f64),
    };
    if value > max {
        return Err(ApiError::invalid_request(format!("Proposed value for {key} is too large for {name}.")));
    }
    if (value % 1.0).abs() > 1e-6 {
        return Err(ApiError::invalid_request(format!("{key} cannot be a fractional value.")));
    }
    Ok(())
}

/// What a filter asks of the entities.
#[derive(Default)]
struct Filter<'a> {
    /// Types that must have this name (none: the default).
    exact: BTreeMap<&'a str, Option<&'a str>>,
    /// Types that must be there, with any name.
    any_name: BTreeSet<&'a str>,
    /// No other type may be there.
    strict: bool,
}

impl Filter<'_> {
    fn types(&self) -> usize {
        self.exact.len() + self.any_name.len()
    }

    fn has(&self, kind: &str) -> bool {
        self.exact.contains_key(kind) || self.any_name.contains(kind)
    }

    /// A filter without components matches everything, and nothing when it is strict.
    fn matches(&self, entity: &ClientQuotaEntity) -> bool {
        let names = self.exact.iter().all(|(&kind, name)| entity.get(kind).is_some_and(|present| present.as_deref() == *name));
        let types = self.any_name.iter().all(|&kind| entity.contains_key(kind));
        let extent = if self.strict { self.types() > 0 && entity.len() == self.types() } else { true };
        names && types && extent
    }
}

/// DescribeClientQuotas on an image. An error is answered with null entries.
pub fn describe_client_quotas(
    quotas: &ClientQuotasImage,
    request: &DescribeClientQuotasRequest,
) -> Result<DescribeClientQuotasResponse, ApiError> {
    let filter = filter(request)?;
    let matching = quotas.iter().filter(|(entity, _)| filter.matches(entity));
    let entries = matching.map(|(entity, quotas)| {
        let part = |(kind, name): (&String, &Option<String>)| EntityData {
            entity_type: kind.clone(),
            entity_name: name.clone(),
            ..Default::default()
        };
        let value = |(key, &value): (&String, &f64)| ValueData { key: key.clone(), value, ..Default::default() };
        EntryData { entity: entity.iter().map(part).collect(), values: quotas.iter().map(value).collect(), ..Default::default() }
    });
    Ok(DescribeClientQuotasResponse { entries: Some(entries.collect()), ..Default::default() })
}

fn filter(request: &DescribeClientQuotasRequest) -> Result<Filter<'_>, ApiError> {
    let mut filter = Filter { strict: request.strict, ..Default::default() };
    for component in &request.components {
        let kind = &*component.entity_type;
        if kind.is_empty() {
            return Err(ApiError::invalid_request("Invalid empty entity type."));
        }
        if filter.has(kind) {
            return Err(ApiError::invalid_request(format!("Entity type {kind} cannot appear more than once in the filter.")));
        }
        if ![IP, USER, CLIENT_ID].contains(&kind) {
            return Err(ApiError::new(ErrorCode::UnsupportedVersion, format!("Unsupported entity type {kind}")));
        }
        match (component.match_type, component.match_.as_deref()) {
            (0, Some(name)) => {
                filter.exact.insert(kind, Some(name));
            }
            (0, None) => return Err(ApiError::invalid_request("Request specified MATCH_TYPE_EXACT, but set match string to null.")),
            (1, None) => {
                filter.exact.insert(kind, None);
            }
            (1, Some(_)) => {
                return Err(ApiError::invalid_request("Request specified MATCH_TYPE_DEFAULT, but also specified a match string."));
            }
            (2, None) => {
                filter.any_name.insert(kind);
            }
            (2, Some(_)) => {
                return Err(ApiError::invalid_request("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."));
            }
            (other, _) => return Err(ApiError::invalid_request(format!("Unknown match type {other}"))),
        }
    }
    if filter.has(IP) && (filter.has(USER) || filter.has(CLIENT_ID)) {
        let message = "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter \
                       component.";
        return Err(ApiError::invalid_request(message));
    }
    Ok(filter)
}
