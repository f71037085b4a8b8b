//! CreateTopics, DeleteTopics and CreatePartitions.

use ottla_protocol::messages::create_partitions_request::{CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic};
use ottla_protocol::messages::create_topics_request::CreatableTopicConfig;
use ottla_protocol::messages::create_topics_response::{CreatableTopicConfigs, CreatableTopicResult};
use ottla_protocol::messages::delete_topics_request::{DeleteTopicState, DeleteTopicsRequest};

use super::*;

fn create_error(cluster: &mut Cluster, topic: CreatableTopic) -> (ErrorCode, String) {
    let result = cluster.try_create(vec![topic]).unwrap();
    assert!(result.records.is_empty());
    let answer = &result.response.topics[0];
    let expected = CreatableTopicResult {
        name: answer.name.clone(),
        error_code: answer.error_code,
        error_message: answer.error_message.clone(),
        ..Default::default()
    };
    assert_eq!(answer, &expected, "an error has no other field");
    (ErrorCode::from_code(answer.error_code).unwrap(), answer.error_message.clone().unwrap())
}

#[test]
fn a_topic_is_created_by_three_kinds_of_records() {
    let mut cluster = Cluster::of(&[1]);
    let configs = vec![CreatableTopicConfig { name: "retention.ms".into(), value: Some("1000".into()), ..Default::default() }];
    let result = cluster.try_create(vec![CreatableTopic { configs, ..topic("foo", 2, 1) }]).unwrap();
    assert!(result.is_atomic);
    let names: Vec<_> = result.records.iter().map(MetadataRecord::name).collect();
    assert_eq!(names, ["TopicRecord", "ConfigRecord", "PartitionRecord", "PartitionRecord"]);
    let answer = result.response.topics[0].clone();
    let config = |name: &str, value: &str, config_source| CreatableTopicConfigs {
        name: name.into(),
        value: Some(value.into()),
        config_source,
        ..Default::default()
    };
    let expected = CreatableTopicResult {
        name: "foo".into(),
        topic_id: answer.topic_id,
        error_message: None,
        num_partitions: 2,
        replication_factor: 1,
        configs: answer.configs.clone(),
        ..Default::default()
    };
    assert_eq!(answer, expected);
    let configs = answer.configs.as_ref().unwrap();
    assert_eq!(configs.len(), 37);
    assert!(configs.is_sorted_by_key(|config| &config.name));
    for expected in
        [config("cleanup.policy", "delete", 5), config("retention.ms", "1000", 1), config("unclean.leader.election.enable", "false", 5)]
    {
        assert!(configs.contains(&expected), "{expected:?}");
    }
    assert!(!answer.topic_id.is_reserved());
    cluster.commit(result);
    let partition = cluster.partition("foo", 1);
    assert_eq!((partition.leader_epoch.0, partition.partition_epoch), (0, 0));
    assert_eq!(&*partition.directories, &[directory(1)]);
    assert_eq!(cluster.leader_and_isr("foo", 0), (1, vec![1]));
}

#[test]
fn without_brokers_nothing_is_created() {
    let mut cluster = Cluster::new();
    let message =
        "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or have all their log directories cordoned.";
    assert_eq!(create_error(&mut cluster, topic("foo", -1, -1)), (ErrorCode::InvalidReplicationFactor, message.to_owned()));
    cluster.register(&registration(1, 1)).unwrap();
    assert_eq!(create_error(&mut cluster, topic("foo", -1, -1)), (ErrorCode::InvalidReplicationFactor, message.to_owned()));
}

#[test]
fn bad_topics_are_told_why() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("old.topic", 1, 1));
    let both = CreatableTopic { num_partitions: 2, ..assigned_topic("t", &[&[1]]) };
    let factor = CreatableTopic { replication_factor: 1, ..assigned_topic("t", &[&[1]]) };
    let mut gap = assigned_topic("t", &[&[1], &[1]]);
    gap.assignments[1].partition_index = 2;
    let mut twice = assigned_topic("t", &[&[1], &[1]]);
    twice.assignments[1].partition_index = 0;
    let config =
        |name: &str, value: Option<&str>| CreatableTopicConfig { name: name.into(), value: value.map(Into::into), ..Default::default() };
    let configured = |configs| CreatableTopic { configs, ..topic("t", 1, 1) };
    let cases = [
        (topic("old.topic", 1, 1), ErrorCode::TopicAlreadyExists, "Topic 'old.topic' already exists."),
        (topic("old_topic", 1, 1), ErrorCode::InvalidTopicException, "Topic 'old_topic' collides with existing topic: old.topic"),
        (topic("", 1, 1), ErrorCode::InvalidTopicException, "Topic name is invalid: the empty string is not allowed"),
        (topic("..", 1, 1), ErrorCode::InvalidTopicException, "Topic name is invalid: '..' is not allowed"),
        (topic("t", 0, 1), ErrorCode::InvalidPartitions, "Number of partitions was set to an invalid non-positive value."),
        (topic("t", -2, 1), ErrorCode::InvalidPartitions, "Number of partitions was set to an invalid non-positive value."),
        (
            topic("t", 1, 0),
            ErrorCode::InvalidReplicationFactor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("t", 1, 2),
            ErrorCode::InvalidReplicationFactor,
            "Unable to replicate the partition 2 time(s): The target replication factor of 2 cannot be reached because only 1 broker(s) are registered or some brokers \
             have all their log directories cordoned.",
        ),
        (both, ErrorCode::InvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1."),
        (factor, ErrorCode::InvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1."),
        (gap, ErrorCode::InvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence"),
        (twice, ErrorCode::InvalidReplicaAssignment, "Found multiple manual partition assignments for partition 0"),
        (
            assigned_topic("t", &[&[]]),
            ErrorCode::InvalidReplicaAssignment,
            "The manual partition assignment includes an empty replica list.",
        ),
        (
            assigned_topic("t", &[&[1, 2]]),
            ErrorCode::InvalidReplicaAssignment,
            "The manual partition assignment includes broker 2, but no such broker is registered.",
        ),
        (
            assigned_topic("t", &[&[1, 1]]),
            ErrorCode::InvalidReplicaAssignment,
            "The manual partition assignment includes the broker 1 more than once.",
        ),
        (
            configured(vec![config("retention.ms", None), config("cleanup.policy", None)]),
            ErrorCode::InvalidConfig,
            "Null value not supported for topic configs: retention.ms,cleanup.policy",
        ),
        (
            configured(vec![config("retention.ms", Some("x"))]),
            ErrorCode::InvalidConfig,
            "Invalid value x for configuration retention.ms: Not a number of type LONG",
        ),
        (configured(vec![config("nope", Some("x"))]), ErrorCode::InvalidConfig, "Unknown topic config name: nope"),
    ];
    for (topic, error, message) in cases {
        assert_eq!(create_error(&mut cluster, topic), (error, message.to_owned()));
    }
}

#[test]
fn inactive_brokers_are_no_place_for_a_leader() {
    let mut cluster = Cluster::of(&[1, 2]);
    cluster.register(&registration(3, 1)).unwrap();
    let message = "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled shutdown.";
    assert_eq!(create_error(&mut cluster, assigned_topic("t", &[&[3]])), (ErrorCode::InvalidReplicaAssignment, message.to_owned()));
    cluster.create(assigned_topic("t", &[&[3, 2, 1]]));
    assert_eq!(cluster.leader_and_isr("t", 0), (2, vec![2, 1]));
}

#[test]
fn one_request_has_bounds() {
    let mut cluster = Cluster::of(&[1]);
    let error = cluster.try_create(vec![topic("foo", 5000, 1), topic("bar", 5000, 1), topic("baz", 1, 1)]).unwrap_err();
    assert_eq!(error, ApiError::new(ErrorCode::PolicyViolation, "Excessively large number of partitions per request."));
    let error = cluster.try_create(vec![topic("foo", i32::MAX, 1), topic("bar", i32::MAX, 1)]).unwrap_err();
    assert_eq!(error, ApiError::new(ErrorCode::PolicyViolation, "Excessively large number of partitions per request."));
    // 10,000 partitions and the topic are one record too many.
    let error = cluster.try_create(vec![topic("foo", 10_000, 1)]).unwrap_err();
    assert_eq!(error, ApiError::new(ErrorCode::PolicyViolation, "Unable to perform excessively large batch operation."));
    assert_eq!(cluster.try_create(vec![topic("foo", 9_999, 1)]).unwrap().records.len(), 10_000);
}

#[test]
fn some_topics_are_not_even_looked_at() {
    let mut cluster = Cluster::of(&[1]);
    let topics =
        vec![topic("twice", 1, 1), topic("secret", 1, 1), topic("__cluster_metadata", 1, 1), topic("twice", 2, 1), topic("fine", 1, 1)];
    let request = CreateTopicsRequest { topics, ..Default::default() };
    let rights = CreateTopicsRights { create: &|name| name != "secret", describe_configs: &|_| false };
    let result = cluster.with_context(|controller, context| controller.create_topics(context, &request, rights)).unwrap();
    let answers: Vec<_> =
        result.response.topics.iter().map(|topic| (&*topic.name, topic.error_code, topic.error_message.as_deref())).collect();
    let expected = [
        ("fine", 0, None),
        ("twice", 42, Some("Duplicate topic name.")),
        ("secret", 29, Some("Authorization failed.")),
        ("__cluster_metadata", 42, Some("Creation of internal topic __cluster_metadata is prohibited.")),
    ];
    assert_eq!(answers, expected);
    let fine = &result.response.topics[0];
    assert_eq!(
        (fine.topic_config_error_code, fine.num_partitions, fine.replication_factor, fine.configs.as_deref()),
        (29, -1, -1, Some(&[][..]))
    );
}

#[test]
fn a_check_creates_nothing() {
    let mut cluster = Cluster::of(&[1]);
    let request = CreateTopicsRequest { topics: vec![topic("foo", 3, 1)], validate_only: true, ..Default::default() };
    let result = cluster.with_context(|controller, context| controller.create_topics(context, &request, EVERYBODY)).unwrap();
    assert!(result.records.is_empty());
    assert_eq!((result.response.topics[0].error_code, result.response.topics[0].num_partitions), (0, 3));
}

#[test]
fn min_insync_replicas_of_a_new_topic_clears_its_elrs() {
    let mut cluster = Cluster::at(33, true);
    cluster.start_brokers(&[1]);
    let configs = vec![CreatableTopicConfig { name: "min.insync.replicas".into(), value: Some("2".into()), ..Default::default() }];
    let result = cluster.try_create(vec![CreatableTopic { configs, ..topic("foo", 1, 1) }]).unwrap();
    let names: Vec<_> = result.records.iter().map(MetadataRecord::name).collect();
    assert_eq!(names, ["TopicRecord", "ConfigRecord", "ClearElrRecord", "PartitionRecord"]);
    cluster.commit(result);
}

fn deleted(
    cluster: &Cluster,
    request: &DeleteTopicsRequest,
    rights: DeleteTopicsRights<'_>,
) -> Vec<(Option<String>, Uuid, i16, Option<String>)> {
    let result = cluster.controller.delete_topics(request, 6, rights).unwrap();
    result.response.responses.into_iter().map(|answer| (answer.name, answer.topic_id, answer.error_code, answer.error_message)).collect()
}

#[test]
fn topics_are_deleted_by_name_and_by_id() {
    let mut cluster = Cluster::of(&[1]);
    let (foo, bar) = (cluster.create(topic("foo", 2, 1)), cluster.create(topic("b.ar", 1, 1)));
    let state = |name: Option<&str>, topic_id| DeleteTopicState { name: name.map(Into::into), topic_id, ..Default::default() };
    let request = DeleteTopicsRequest { topics: vec![state(Some("foo"), Uuid::ZERO), state(None, bar)], ..Default::default() };
    let everybody = DeleteTopicsRights { describe: &|_| true, delete: &|_| true };
    assert_eq!(deleted(&cluster, &request, everybody), [(Some("foo".into()), foo, 0, None), (Some("b.ar".into()), bar, 0, None)]);
    let result = cluster.controller.delete_topics(&request, 6, everybody).unwrap();
    cluster.commit(result);
    assert!(cluster.controller.image().topics.is_empty());
    // The name is free again, and so are names that it collided with.
    cluster.create(topic("b_ar", 1, 1));
}

#[test]
fn deletions_that_cannot_be_are_told_why() {
    let mut cluster = Cluster::of(&[1]);
    let ids: Vec<Uuid> = ["a", "b", "secret", "hidden"].into_iter().map(|name| cluster.create(topic(name, 1, 1))).collect();
    let unknown = Uuid::from_u64_pair(77, 77);
    let state = |name: Option<&str>, topic_id| DeleteTopicState { name: name.map(Into::into), topic_id, ..Default::default() };
    let topics = vec![
        state(None, Uuid::ZERO),
        state(Some("a"), ids[0]),
        state(Some("twice"), Uuid::ZERO),
        state(Some("twice"), Uuid::ZERO),
        state(None, unknown),
        state(Some("none"), Uuid::ZERO),
        state(Some("b"), Uuid::ZERO),
        state(None, ids[1]),
        state(Some("secret"), Uuid::ZERO),
        state(None, ids[2]),
        state(Some("hidden"), Uuid::ZERO),
        state(None, ids[3]),
    ];
    let rights = DeleteTopicsRights { describe: &|name| name != "hidden", delete: &|name| name != "secret" && name != "hidden" };
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        (None, Uuid::ZERO, 42, some("Neither topic name nor id were specified.")),
        (some("a"), ids[0], 42, some("You may not specify both topic name and topic id.")),
        (some("twice"), Uuid::ZERO, 42, some("Duplicate topic name.")),
        (None, unknown, 100, some("This server does not host this topic ID.")),
        (some("none"), Uuid::ZERO, 3, some("This server does not host this topic-partition.")),
        (some("secret"), Uuid::ZERO, 29, some("Topic authorization failed.")),
        (some("secret"), ids[2], 29, some("Topic authorization failed.")),
        (some("hidden"), Uuid::ZERO, 29, some("Topic authorization failed.")),
        (None, ids[3], 29, some("Topic authorization failed.")),
        (some("b"), ids[1], 42, some("The provided topic name maps to an ID that was already supplied.")),
    ];
    assert_eq!(deleted(&cluster, &DeleteTopicsRequest { topics, ..Default::default() }, rights), expected);
}

#[test]
fn deletion_can_be_switched_off() {
    let options = ControllerOptions { delete_topic_enable: false, ..options() };
    let controller = Controller::new(options, schema(), MetadataImage::default(), 0);
    let rights = DeleteTopicsRights { describe: &|_| true, delete: &|_| true };
    let error = |version| controller.delete_topics(&DeleteTopicsRequest::default(), version, rights).unwrap_err();
    assert_eq!(error(1), ApiError::invalid_request("This version does not support topic deletion."));
    assert_eq!(error(3), ApiError::bare(ErrorCode::TopicDeletionDisabled));
}

fn more(name: &str, count: i32, assignments: Option<&[&[i32]]>) -> CreatePartitionsTopic {
    let assign = |brokers: &&[i32]| CreatePartitionsAssignment { broker_ids: brokers.to_vec(), ..Default::default() };
    CreatePartitionsTopic {
        name: name.into(),
        count,
        assignments: assignments.map(|brokers| brokers.iter().map(assign).collect()),
        ..Default::default()
    }
}

#[test]
fn partitions_are_added() {
    let mut cluster = Cluster::of(&[1, 2, 3]);
    cluster.create(topic("foo", 3, 2));
    cluster.create(topic("bar", 4, 2));
    cluster.create(topic("quux", 2, 2));
    let mut answers = |topics: Vec<CreatePartitionsTopic>| {
        let request = CreatePartitionsRequest { topics, ..Default::default() };
        let result =
            cluster.with_context(|controller, context| controller.create_partitions(context, &request, &|name| name != "secret")).unwrap();
        let response = cluster.commit(result);
        response.results.into_iter().map(|answer| (answer.name, answer.error_code, answer.error_message)).collect::<Vec<_>>()
    };
    let answer = |name: &str, code, message: Option<&str>| (name.to_owned(), code, message.map(str::to_owned));
    assert_eq!(
        answers(vec![
            more("foo", 5, None),
            more("bar", 3, None),
            more("baz", 3, None),
            more("quux", 2, None),
            more("twice", 1, None),
            more("twice", 2, None),
            more("secret", 9, None)
        ]),
        [
            answer("foo", 0, None),
            answer("bar", 37, Some("The topic bar currently has 4 partition(s); 3 would not be an increase.")),
            answer("baz", 3, None),
            answer("quux", 37, Some("Topic already has 2 partition(s).")),
            answer("twice", 42, Some("Duplicate topic name.")),
            answer("secret", 29, None),
        ]
    );
    assert_eq!(
        answers(vec![
            more("foo", 6, Some(&[&[1, 3]])),
            more("bar", 5, Some(&[&[1]])),
            more("quux", 4, Some(&[&[2, 1]])),
            more("quux2", 3, None)
        ]),
        [
            answer("foo", 0, None),
            answer(
                "bar",
                39,
                Some(
                    "The manual partition assignment includes a partition with 1 replica(s), but this is not consistent with previous partitions, which have 2 replica(s)."
                )
            ),
            answer("quux", 39, Some("Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.")),
            answer("quux2", 3, None),
        ]
    );
    assert_eq!(cluster.controller.image().topics.by_name("foo").unwrap().partitions.len(), 6);
    assert_eq!(&*cluster.partition("foo", 5).directories, &[directory(1), directory(3)]);
}
