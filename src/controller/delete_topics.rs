//! DeleteTopics, by name and by id (`ControllerApis.deleteTopics`, `ReplicationControlManager.deleteTopics`).

use std::collections::{HashMap, HashSet};

use ottla_model::{ErrorCode, Uuid};
use ottla_protocol::messages::delete_topics_request::DeleteTopicsRequest;
use ottla_protocol::messages::delete_topics_response::{DeletableTopicResult, DeleteTopicsResponse};
use ottla_protocol::messages::remove_topic_record::RemoveTopicRecord;

use crate::api_error::ApiError;
use crate::controller_result::ControllerResult;
use crate::state::ControllerState;

/// What the requester may do with a topic, by name.
#[derive(Clone, Copy)]
pub struct DeleteTopicsRights<'a> {
    /// Whether it may know that the topic exists.
    pub describe: &'a dyn Fn(&str) -> bool,
    /// Whether it may delete the topic.
    pub delete: &'a dyn Fn(&str) -> bool,
}

const UNKNOWN_TOPIC: &str = "This server does not host this topic-partition.";
const UNKNOWN_TOPIC_ID: &str = "This server does not host this topic ID.";
const UNAUTHORIZED: &str = "Topic authorization failed.";

/// Fails as a whole while `delete.topic.enable` is off.
pub(crate) fn check_enabled(enabled: bool, version: i16) -> Result<(), ApiError> {
    match (enabled, version) {
        (true, _) => Ok(()),
        (false, ..3) => Err(ApiError::invalid_request("This version does not support topic deletion.")),
        (false, 3..) => Err(ApiError::bare(ErrorCode::TopicDeletionDisabled)),
    }
}

/// How a topic was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Asked<'a> {
    Name(&'a str),
    Id(Uuid),
}

pub(crate) fn delete_topics(
    state: &ControllerState,
    request: &DeleteTopicsRequest,
    rights: DeleteTopicsRights<'_>,
) -> Result<ControllerResult<DeleteTopicsResponse>, ApiError> {
    let mut responses = Vec::new();
    let asked = asked_topics(request, &mut responses);
    let mut found: Vec<(Uuid, String)> = Vec::new();
    for &asked in &asked {
        match resolve(state, asked, rights) {
            Ok(topic) => found.push(topic),
            Err(result) => responses.push(result),
        }
    }
    let mut times: HashMap<Uuid, usize> = HashMap::new();
    for (id, _) in &found {
        *times.entry(*id).or_default() += 1;
    }
    let mut told = HashSet::new();
    let mut records = Vec::new();
    for (id, name) in found {
        if times[&id] > 1 {
            if told.insert(id) {
                let error = ApiError::invalid_request("The provided topic name maps to an ID that was already supplied.");
                responses.push(result(Some(&name), id, Err(error)));
            }
            continue;
        }
        records.push(RemoveTopicRecord { topic_id: id, ..Default::default() }.into());
        responses.push(result(Some(&name), id, Ok(())));
    }
    ControllerResult::atomic_of(records, DeleteTopicsResponse { responses, ..Default::default() }).bounded()
}

/// The topics that are asked for once and in one way; answers the others.
fn asked_topics<'a>(request: &'a DeleteTopicsRequest, responses: &mut Vec<DeletableTopicResult>) -> Vec<Asked<'a>> {
    let mut asked: Vec<Asked<'a>> = request.topic_names.iter().map(|name| Asked::Name(name)).collect();
    for topic in &request.topics {
        match (&topic.name, topic.topic_id) {
            (None, Uuid::ZERO) => {
                responses.push(result(None, Uuid::ZERO, Err(ApiError::invalid_request("Neither topic name nor id were specified."))));
            }
            (None, id) => asked.push(Asked::Id(id)),
            (Some(name), Uuid::ZERO) => asked.push(Asked::Name(name)),
            (Some(name), id) => {
                let error = ApiError::invalid_request("You may not specify both topic name and topic id.");
                responses.push(result(Some(name), id, Err(error)));
            }
        }
    }
    let mut times: HashMap<Asked<'a>, usize> = HashMap::new();
    for &topic in &asked {
        *times.entry(topic).or_default() += 1;
    }
    let mut told = HashSet::new();
    asked.retain(|&topic| {
        let once = times[&topic] == 1;
        if !once && told.insert(topic) {
            responses.push(match topic {
                Asked::Name(name) => result(Some(name), Uuid::ZERO, Err(ApiError::invalid_request("Duplicate topic name."))),
                Asked::Id(id) => result(None, id, Err(ApiError::invalid_request("Duplicate topic id."))),
            });
        }
        once
    });
    asked
}

/// The topic, or the answer why it is not deleted. A name that the requester may not know of is not told.
fn resolve(state: &ControllerState, asked: Asked<'_>, rights: DeleteTopicsRights<'_>) -> Result<(Uuid, String), DeletableTopicResult> {
    let unauthorized = || Err(ApiError::new(ErrorCode::TopicAuthorizationFailed, UNAUTHORIZED));
    match asked {
        Asked::Id(id) => {
            let Some(topic) = state.image.topics.by_id(id) else {
                return Err(result(None, id, Err(ApiError::new(ErrorCode::UnknownTopicId, UNKNOWN_TOPIC_ID))));
            };
            if (rights.delete)(&topic.name) {
                return Ok((id, topic.name.to_string()));
            }
            let shown = (rights.describe)(&topic.name).then_some(&*topic.name);
            Err(result(shown, id, unauthorized()))
        }
        Asked::Name(name) => {
            if !(rights.describe)(name) {
                return Err(result(Some(name), Uuid::ZERO, unauthorized()));
            }
            let Some(topic) = state.topic(name) else {
                return Err(result(Some(name), Uuid::ZERO, Err(ApiError::new(ErrorCode::UnknownTopicOrPartition, UNKNOWN_TOPIC))));
            };
            if !(rights.delete)(name) {
                return Err(result(Some(name), Uuid::ZERO, unauthorized()));
            }
            Ok((topic.id, name.to_owned()))
        }
    }
}

fn result(name: Option<&str>, topic_id: Uuid, outcome: Result<(), ApiError>) -> DeletableTopicResult {
    let (error_code, error_message) = crate::api_error::response_error(&outcome);
    DeletableTopicResult { name: name.map(Into::into), topic_id, error_code, error_message, ..Default::default() }
}
