//! AlterConfigs and IncrementalAlterConfigs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ottla_protocol::messages::alter_configs_request;
use ottla_protocol::messages::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig, IncrementalAlterConfigsRequest};

use super::*;

const SET: i8 = 0;
const DELETE: i8 = 1;
const APPEND: i8 = 2;
const SUBTRACT: i8 = 3;

const NO_CHECKS: AlterConfigsChecks<'static> =
    AlterConfigsChecks { authorize: &|_| Ok(()), validate_broker: &|_, _| Ok(()), alter_broker_logger: &|_, _| Ok(()) };

fn resource(resource_type: i8, name: &str, configs: &[(&str, i8, Option<&str>)]) -> AlterConfigsResource {
    let config = |&(name, config_operation, value): &(&str, i8, Option<&str>)| AlterableConfig {
        name: name.into(),
        config_operation,
        value: value.map(Into::into),
        ..Default::default()
    };
    AlterConfigsResource { resource_type, resource_name: name.into(), configs: configs.iter().map(config).collect(), ..Default::default() }
}

impl Cluster {
    fn alter_incrementally(&mut self, resources: Vec<AlterConfigsResource>) -> Vec<(i16, Option<String>)> {
        let result = self
            .controller
            .incremental_alter_configs(&IncrementalAlterConfigsRequest { resources, ..Default::default() }, NO_CHECKS)
            .unwrap();
        let response = self.commit(result);
        response.responses.into_iter().map(|answer| (answer.error_code, answer.error_message)).collect()
    }

    fn configs(&self, resource: ConfigResource) -> BTreeMap<String, String> {
        self.controller.image().configs.resource(&resource).map(|configs| (**configs).clone()).unwrap_or_default()
    }
}

fn values(values: &[(&str, &str)]) -> BTreeMap<String, String> {
    values.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn error(code: ErrorCode, message: &str) -> (i16, Option<String>) {
    (code.code(), Some(message.to_owned()))
}

#[test]
fn values_are_set_and_deleted() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("foo", 1, 1));
    let alter = |cluster: &mut Cluster, configs: &[(&str, i8, Option<&str>)]| {
        assert_eq!(cluster.alter_incrementally(vec![resource(2, "foo", configs)]), [(0, None)])
    };
    alter(&mut cluster, &[("retention.ms", SET, Some("1"))]);
    alter(&mut cluster, &[("cleanup.policy", SET, Some("compact")), ("retention.ms", DELETE, None)]);
    assert_eq!(cluster.configs(ConfigResource::topic("foo")), values(&[("cleanup.policy", "compact")]));
    let before = cluster.log.len();
    alter(&mut cluster, &[("cleanup.policy", SET, Some("compact")), ("min.insync.replicas", DELETE, None)]);
    assert_eq!(cluster.log.len(), before, "what is as it should be is not written");
}

#[test]
fn lists_are_extended_from_their_default() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("foo", 1, 1));
    let check = |cluster: &mut Cluster, operation, items: &str, expected: &str| {
        assert_eq!(cluster.alter_incrementally(vec![resource(2, "foo", &[("cleanup.policy", operation, Some(items))])]), [(0, None)]);
        assert_eq!(cluster.configs(ConfigResource::topic("foo")), values(&[("cleanup.policy", expected)]));
    };
    check(&mut cluster, APPEND, "compact", "delete,compact");
    check(&mut cluster, APPEND, "compact,delete", "delete,compact");
    check(&mut cluster, SUBTRACT, "delete,nothing", "compact");
    check(&mut cluster, SUBTRACT, "compact", "");
    assert_eq!(
        cluster.alter_incrementally(vec![resource(2, "foo", &[("retention.ms", APPEND, Some("1"))])]),
        [error(ErrorCode::InvalidConfig, "Can't APPEND to key retention.ms because its type is not LIST.")]
    );
}

#[test]
fn an_operation_that_does_not_exist_spoils_all_that_reaches_the_controller() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("foo", 1, 1));
    let answers = cluster.alter_incrementally(vec![
        resource(2, "foo", &[("retention.ms", SET, Some("7"))]),
        resource(2, "op", &[("retention.ms", 9, Some("7"))]),
        resource(99, "x", &[]),
    ]);
    let spoiled = (ErrorCode::UnknownServerError as i16, None);
    assert_eq!(answers, [spoiled.clone(), spoiled, error(ErrorCode::InvalidRequest, "Unknown resource type 99")]);
    assert_eq!(cluster.controller.image().configs.value(&ConfigResource::topic("foo"), "retention.ms"), None);
}

#[test]
fn each_resource_is_judged_for_itself() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("foo", 1, 1));
    let long = "x".repeat(32_768);
    let answers = cluster.alter_incrementally(vec![
        resource(2, "foo", &[("retention.ms", SET, Some("7"))]),
        resource(2, "bar", &[("retention.ms", SET, Some("7"))]),
        resource(2, "twice", &[]),
        resource(2, "twice", &[]),
        resource(2, "dup", &[("retention.ms", SET, Some("7")), ("retention.ms", DELETE, None)]),
        resource(2, "nul", &[("retention.ms", SET, None), ("cleanup.policy", APPEND, None)]),
        resource(99, "x", &[]),
        resource(4, "2", &[]),
        resource(4, "x", &[]),
        resource(2, "long", &[("cleanup.policy", SET, Some(&long))]),
    ]);
    assert_eq!(
        answers,
        [
            (0, None),
            error(ErrorCode::UnknownTopicOrPartition, "The topic 'bar' does not exist."),
            error(ErrorCode::InvalidRequest, "Each resource must appear at most once."),
            error(ErrorCode::InvalidRequest, "Each resource must appear at most once."),
            error(ErrorCode::InvalidRequest, "Error due to duplicate config keys"),
            error(ErrorCode::InvalidRequest, "Null value not supported for : retention.ms, cleanup.policy"),
            error(ErrorCode::InvalidRequest, "Unknown resource type 99"),
            error(ErrorCode::InvalidRequest, "Unexpected broker id, expected 1, but received 2"),
            error(ErrorCode::InvalidRequest, "Node id must be an integer, but it is: x"),
            error(
                ErrorCode::InvalidConfig,
                "The configuration value cannot be added because it exceeds the maximum value size of 32767 bytes."
            ),
        ]
    );
    assert_eq!(cluster.configs(ConfigResource::topic("foo")), values(&[("retention.ms", "7")]));
}

#[test]
fn a_broker_checks_the_values_that_it_would_have() {
    let mut cluster = Cluster::of(&[1]);
    assert_eq!(cluster.alter_incrementally(vec![resource(4, "1", &[("log.cleaner.threads", SET, Some("2"))])]), [(0, None)]);
    let seen = RefCell::new(Vec::new());
    let validate_broker = |resource: &ConfigResource, values: &ConfigurationImage| {
        seen.borrow_mut().push((resource.to_string(), values.clone()));
        Err(ApiError::invalid_request("no"))
    };
    let checks = AlterConfigsChecks { validate_broker: &validate_broker, ..NO_CHECKS };
    let resources = vec![
        resource(4, "1", &[("log.retention.ms", SET, Some("3"))]),
        resource(4, "", &[("log.cleanup.policy", APPEND, Some("compact"))]),
    ];
    let result =
        cluster.controller.incremental_alter_configs(&IncrementalAlterConfigsRequest { resources, ..Default::default() }, checks).unwrap();
    assert!(result.records.is_empty());
    assert_eq!(result.response.responses[0].error_message.as_deref(), Some("no"));
    assert_eq!(
        seen.into_inner(),
        [
            ("ConfigResource(type=BROKER, name='1')".to_owned(), values(&[("log.cleaner.threads", "2"), ("log.retention.ms", "3")])),
            ("ConfigResource(type=BROKER, name='')".to_owned(), values(&[("log.cleanup.policy", "delete,compact")])),
        ]
    );
    let list = |name: &str, operation| resource(4, "", &[(name, operation, Some("x"))]);
    assert_eq!(
        cluster.alter_incrementally(vec![list("log.retention.ms", SUBTRACT)]),
        [error(ErrorCode::InvalidConfig, "Config value subtract is not allowed for config key: log.retention.ms")]
    );
    assert_eq!(cluster.alter_incrementally(vec![list("nope", APPEND)]), [error(ErrorCode::InvalidConfig, "Unknown config name: nope")]);
}

#[test]
fn with_eligible_replicas_min_insync_replicas_is_the_clusters() {
    let mut cluster = Cluster::at(33, true);
    cluster.start_brokers(&[1]);
    let min_isr = |name: &str, operation, value| resource(4, name, &[("min.insync.replicas", operation, value)]);
    assert_eq!(
        cluster.alter_incrementally(vec![min_isr("1", SET, Some("2")), min_isr("", DELETE, None)]),
        [
            error(ErrorCode::InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."),
            error(ErrorCode::InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled."),
        ]
    );
    assert_eq!(cluster.alter_incrementally(vec![min_isr("", SET, Some("2"))]), [(0, None)]);
    assert_eq!(cluster.log.last().map(MetadataRecord::name), Some("ClearElrRecord"));
}

#[test]
fn the_old_request_replaces_all_values() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("foo", 1, 1));
    let alter = |cluster: &mut Cluster, configs: &[(&str, Option<&str>)], validate_only| {
        let config = |&(name, value): &(&str, Option<&str>)| alter_configs_request::AlterableConfig {
            name: name.into(),
            value: value.map(Into::into),
            ..Default::default()
        };
        let resource = alter_configs_request::AlterConfigsResource {
            resource_type: 2,
            resource_name: "foo".into(),
            configs: configs.iter().map(config).collect(),
            ..Default::default()
        };
        let request = alter_configs_request::AlterConfigsRequest { resources: vec![resource], validate_only, ..Default::default() };
        let result = cluster.controller.alter_configs(&request, NO_CHECKS).unwrap();
        let response = cluster.commit(result);
        (response.responses[0].error_code, response.responses[0].error_message.clone())
    };
    assert_eq!(alter(&mut cluster, &[("retention.ms", Some("1")), ("cleanup.policy", Some("compact"))], false), (0, None));
    assert_eq!(alter(&mut cluster, &[], true), (0, None));
    assert_eq!(
        alter(&mut cluster, &[("retention.ms", None)], false),
        error(ErrorCode::InvalidRequest, "Null value not supported for : retention.ms")
    );
    assert_eq!(cluster.configs(ConfigResource::topic("foo")).len(), 2);
    assert_eq!(alter(&mut cluster, &[("retention.ms", Some("2"))], false), (0, None));
    assert_eq!(cluster.configs(ConfigResource::topic("foo")), values(&[("retention.ms", "2")]));
}

#[test]
fn who_may_not_alter_is_told() {
    let mut cluster = Cluster::of(&[1]);
    cluster.create(topic("foo", 1, 1));
    let authorize = |_: &ConfigResource| Err(ApiError::bare(ErrorCode::TopicAuthorizationFailed));
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource(2, "foo", &[("retention.ms", SET, Some("7"))])], ..Default::default() };
    let result = cluster.controller.incremental_alter_configs(&request, AlterConfigsChecks { authorize: &authorize, ..NO_CHECKS }).unwrap();
    assert_eq!((result.records.len(), result.response.responses[0].error_code), (0, 29));
}
