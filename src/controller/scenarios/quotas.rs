//! AlterClientQuotas and DescribeClientQuotas.

use ottla_protocol::messages::alter_client_quotas_request::{AlterClientQuotasRequest, EntityData, EntryData, OpData};
use ottla_protocol::messages::describe_client_quotas_request::{ComponentData, DescribeClientQuotasRequest};

use super::*;

fn entry(entity: &[(&str, Option<&str>)], ops: &[(&str, Option<f64>)]) -> EntryData {
    let part = |&(kind, name): &(&str, Option<&str>)| EntityData {
        entity_type: kind.into(),
        entity_name: name.map(Into::into),
        ..Default::default()
    };
    let op = |&(key, value): &(&str, Option<f64>)| OpData {
        key: key.into(),
        value: value.unwrap_or(0.0),
        remove: value.is_none(),
        ..Default::default()
    };
    EntryData { entity: entity.iter().map(part).collect(), ops: ops.iter().map(op).collect(), ..Default::default() }
}

impl Cluster {
    fn alter_quotas(&mut self, entries: Vec<EntryData>) -> Vec<(i16, Option<String>)> {
        let request = AlterClientQuotasRequest { entries, ..Default::default() };
        let result = self.controller.alter_client_quotas(&request, &|name| name == "127.0.0.1").unwrap();
        let response = self.commit(result);
        response.entries.into_iter().map(|answer| (answer.error_code, answer.error_message)).collect()
    }

    /// The entities that match, as text.
    fn describe(&self, components: &[(&str, i8, Option<&str>)], strict: bool) -> Result<Vec<String>, (i16, String)> {
        let component = |&(kind, match_type, name): &(&str, i8, Option<&str>)| ComponentData {
            entity_type: kind.into(),
            match_type,
            match_: name.map(Into::into),
            ..Default::default()
        };
        let request = DescribeClientQuotasRequest { components: components.iter().map(component).collect(), strict, ..Default::default() };
        let response = describe_client_quotas(&self.controller.image().client_quotas, &request)
            .map_err(|error| (error.error.code(), error.message.unwrap()))?;
        let text = |entry: &ottla_protocol::messages::describe_client_quotas_response::EntryData| {
            let parts: Vec<_> =
                entry.entity.iter().map(|part| format!("{}={}", part.entity_type, part.entity_name.as_deref().unwrap_or("*"))).collect();
            let values: Vec<_> = entry.values.iter().map(|value| format!("{}={}", value.key, value.value)).collect();
            format!("{}: {}", parts.join(","), values.join(","))
        };
        Ok(response.entries.unwrap().iter().map(text).collect())
    }
}

#[test]
fn quotas_are_set_changed_and_removed() {
    let mut cluster = Cluster::new();
    let alice: &[(&str, Option<&str>)] = &[("user", Some("alice"))];
    assert_eq!(
        cluster.alter_quotas(vec![entry(alice, &[("producer_byte_rate", Some(100.0)), ("request_percentage", Some(12.5))])]),
        [(0, None)]
    );
    let before = cluster.log.len();
    cluster.alter_quotas(vec![entry(alice, &[("producer_byte_rate", Some(100.0)), ("consumer_byte_rate", None)])]);
    assert_eq!(cluster.log.len(), before, "what is as it should be is not written");
    cluster.alter_quotas(vec![entry(alice, &[("producer_byte_rate", Some(200.0)), ("request_percentage", None)])]);
    assert_eq!(cluster.describe(&[], false).unwrap(), ["user=alice: producer_byte_rate=200"]);
    cluster.alter_quotas(vec![entry(alice, &[("producer_byte_rate", None)])]);
    assert!(cluster.controller.image().client_quotas.is_empty());
}

#[test]
fn quotas_that_cannot_be_are_told_why() {
    let mut cluster = Cluster::new();
    let mut check = |entity: &[(&str, Option<&str>)], ops: &[(&str, Option<f64>)], message: &str| {
        assert_eq!(cluster.alter_quotas(vec![entry(entity, ops)]), [(42, Some(message.to_owned()))]);
    };
    let rate: &[(&str, Option<f64>)] = &[("producer_byte_rate", Some(1.0))];
    check(&[], rate, "Invalid empty client quota entity");
    check(&[("group", Some("g"))], rate, "Unhandled client quota entity type: group");
    check(&[("user", Some(""))], rate, "Empty user not supported");
    check(
        &[("user", Some("u")), ("ip", Some("127.0.0.1"))],
        rate,
        "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
    );
    check(&[("ip", Some("no host"))], &[("connection_creation_rate", Some(1.0))], "no host is not a valid IP or resolvable host.");
    check(&[("ip", Some("127.0.0.1"))], rate, "Invalid configuration key producer_byte_rate");
    check(&[("user", Some("u"))], &[("connection_creation_rate", Some(1.0))], "Invalid configuration key connection_creation_rate");
    check(&[("user", Some("u"))], &[("producer_byte_rate", Some(0.0))], "Quota producer_byte_rate must be greater than 0");
    check(&[("user", Some("u"))], &[("producer_byte_rate", Some(1.5))], "producer_byte_rate cannot be a fractional value.");
    check(&[("user", Some("u"))], &[("producer_byte_rate", Some(1e19))], "Proposed value for producer_byte_rate is too large for a LONG.");
    check(
        &[("ip", None)],
        &[("connection_creation_rate", Some(3e9))],
        "Proposed value for connection_creation_rate is too large for an INT.",
    );
    check(
        &[("user", Some("u")), ("client-id", None)],
        &[("producer_byte_rate", Some(1.0)), ("producer_byte_rate", Some(2.0))],
        "Ignoring duplicate entity ClientQuotaEntity(entries={client-id=null, user=u})",
    );
    assert!(cluster.controller.image().client_quotas.is_empty());
}

#[test]
fn filters_match_as_kafkas() {
    let mut cluster = Cluster::new();
    let rate: &[(&str, Option<f64>)] = &[("consumer_byte_rate", Some(1.0))];
    cluster.alter_quotas(vec![
        entry(&[("user", Some("u1"))], rate),
        entry(&[("user", None)], rate),
        entry(&[("user", Some("u1")), ("client-id", Some("c1"))], rate),
        entry(&[("user", Some("u2")), ("client-id", None)], rate),
        entry(&[("client-id", Some("c1"))], rate),
    ]);
    let found = |components: &[(&str, i8, Option<&str>)], strict| {
        let described = cluster.describe(components, strict).unwrap();
        described.into_iter().map(|entity| entity.split(':').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&[], false).len(), 5);
    assert_eq!(found(&[], true).len(), 0);
    assert_eq!(found(&[("user", 0, Some("u1"))], false), ["client-id=c1,user=u1", "user=u1"]);
    assert_eq!(found(&[("user", 0, Some("u1"))], true), ["user=u1"]);
    assert_eq!(found(&[("user", 1, None)], false), ["user=*"]);
    assert_eq!(found(&[("user", 2, None)], false), ["client-id=*,user=u2", "client-id=c1,user=u1", "user=*", "user=u1"]);
    assert_eq!(found(&[("user", 2, None), ("client-id", 0, Some("c1"))], true), ["client-id=c1,user=u1"]);
    assert_eq!(found(&[("client-id", 0, Some("c9"))], false).len(), 0);
}

#[test]
fn filters_that_cannot_be_are_told_why() {
    let cluster = Cluster::new();
    let check = |components: &[(&str, i8, Option<&str>)], code: i16, message: &str| {
        assert_eq!(cluster.describe(components, false), Err((code, message.to_owned())))
    };
    check(&[("", 2, None)], 42, "Invalid empty entity type.");
    check(&[("user", 2, None), ("user", 1, None)], 42, "Entity type user cannot appear more than once in the filter.");
    check(&[("group", 2, None)], 35, "Unsupported entity type group");
    check(&[("user", 0, None)], 42, "Request specified MATCH_TYPE_EXACT, but set match string to null.");
    check(&[("user", 1, Some("u"))], 42, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.");
    check(&[("user", 2, Some("u"))], 42, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.");
    check(&[("user", 3, None)], 42, "Unknown match type 3");
    check(
        &[("ip", 2, None), ("user", 2, None)],
        42,
        "Invalid entity filter component combination. IP filter component should not be used with user or clientId filter component.",
    );
}
