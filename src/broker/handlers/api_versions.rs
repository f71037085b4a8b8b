//! ApiVersions: which APIs and versions are served here, and the cluster's features (KIP-35, KIP-511, KIP-584, KIP-1242).
//!
//! A client asks this before it knows anything, hence two exceptions: an unknown version is answered at version 0 with
//! `UNSUPPORTED_VERSION` and the range of this very API, and the response header never became flexible.

use std::sync::Arc;

use ottla_metadata::feature::{KRAFT_VERSION, supported_features, supported_range};
use ottla_model::ErrorCode;
use ottla_protocol::ApiKey;
use ottla_protocol::messages::api_versions_request::ApiVersionsRequest;
use ottla_protocol::messages::api_versions_response::{ApiVersion, ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey};

use crate::api::{Handler, Rights, TABLE, entry};
use crate::broker::Broker;
use crate::connection::ClientSoftware;
use crate::request::RequestContext;

/// The id of no broker.
const NO_NODE_ID: i32 = -1;

/// The API.
pub struct ApiVersions;

impl Handler for ApiVersions {
    type Request = ApiVersionsRequest;
    const KEY: ApiKey = ApiKey::ApiVersions;
    const RIGHTS: Rights = Rights::Anyone;

    fn handle(broker: &Arc<Broker>, context: RequestContext, request: ApiVersionsRequest) {
        let response = respond(broker, &context, request);
        context.reply(&response);
    }
}

/// Answers a version that is not served.
pub fn reply_unsupported(context: RequestContext) {
    let this = entry(ApiKey::ApiVersions).expect("ApiVersions is in the table");
    let response = ApiVersionsResponse {
        error_code: ErrorCode::UnsupportedVersion.code(),
        api_keys: vec![api_version(ApiKey::ApiVersions, this.lowest_version, this.highest_version)],
        ..ApiVersionsResponse::default()
    };
    context.reply_at_version(&response, 0);
}

fn respond(broker: &Broker, context: &RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse {
    let failed = |error: ErrorCode| ApiVersionsResponse { error_code: error.code(), ..ApiVersionsResponse::default() };
    if context.api_version >= 3 {
        let names_half_a_broker = request.cluster_id.is_some() != (request.node_id != NO_NODE_ID);
        if names_half_a_broker || !is_valid_software(&request.client_software_name) || !is_valid_software(&request.client_software_version)
        {
            return failed(ErrorCode::InvalidRequest);
        }
        context
            .connection
            .set_client_software(ClientSoftware { name: request.client_software_name, version: request.client_software_version });
    }
    let is_elsewhere = |cluster_id: &String| *cluster_id != broker.cluster_id() || request.node_id != broker.node_id().0;
    if request.cluster_id.as_ref().is_some_and(is_elsewhere) {
        return failed(ErrorCode::RebootstrapRequired);
    }
    let image = broker.image();
    ApiVersionsResponse {
        api_keys: TABLE
            .iter()
            .filter(|row| row.advertised && row.is_on(context.connection.info.is_controller_listener))
            .map(|row| api_version(row.key, row.lowest_advertised_version, row.highest_version))
            .collect(),
        supported_features: supported_features()
            // Before v4 a minimum of 0 cannot be told.
            .filter(|(_, range)| context.api_version >= 4 || range.min > 0)
            .map(|(name, range)| SupportedFeatureKey {
                name: name.to_owned(),
                min_version: range.min,
                max_version: range.max,
                ..SupportedFeatureKey::default()
            })
            .collect(),
        finalized_features_epoch: image.provenance.last_contained_offset,
        // A level that is not served here is kept in the metadata and not told: clients would act by it.
        finalized_features: image
            .features
            .finalized()
            .filter(|(name, level)| supported_range(name).is_some_and(|range| range.contains(*level)))
            .chain(Some((KRAFT_VERSION, broker.kraft_version())).filter(|(_, level)| *level > 0))
            .map(|(name, level)| FinalizedFeatureKey {
                name: name.to_owned(),
                max_version_level: level,
                min_version_level: level,
                ..FinalizedFeatureKey::default()
            })
            .collect(),
        ..ApiVersionsResponse::default()
    }
}

fn api_version(key: ApiKey, min_version: i16, max_version: i16) -> ApiVersion {
    ApiVersion { api_key: key.code(), min_version, max_version, ..ApiVersion::default() }
}

/// `[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?` (`ApiVersionsRequest.isValid`).
fn is_valid_software(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    alphanumeric(bytes.first())
        && alphanumeric(bytes.last())
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::is_valid_software;

    #[test]
    fn software_names() {
        for valid in ["a", "apache-kafka-java", "4.4.0", "x-.y"] {
            assert!(is_valid_software(valid), "{valid}");
        }
        for invalid in ["", "-a", "a-", "a b", "a_b", "."] {
            assert!(!is_valid_software(invalid), "{invalid}");
        }
    }
}
