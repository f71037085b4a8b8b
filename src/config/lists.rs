//! What the controller asks about keys when items are appended to a list or subtracted from it (`KafkaConfigSchema`).

use crate::key::Scope;
use crate::table;
use crate::value::ConfigType;

/// Whether items can be appended to and subtracted from a key: the controller knows the lists of brokers and topics only
/// (`KafkaConfigSchema.isSplittable`).
pub fn is_list(scope: Scope, name: &str) -> bool {
    let key = table::key(scope, name).filter(|key| !key.is_dynamic_only);
    matches!(scope, Scope::Broker | Scope::Topic) && key.is_some_and(|key| key.kind == ConfigType::List)
}

/// The default of a broker's or a topic's key as text, if it has one that is not null (`KafkaConfigSchema.getDefault`).
pub fn default_text(scope: Scope, name: &str) -> Option<String> {
    let key = table::key(scope, name).filter(|key| !key.is_dynamic_only && matches!(scope, Scope::Broker | Scope::Topic))?;
    key.default_value().map(ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_brokers_and_topics() {
        assert!(is_list(Scope::Topic, "cleanup.policy") && is_list(Scope::Broker, "log.cleanup.policy"));
        assert!(!is_list(Scope::Topic, "retention.ms") && !is_list(Scope::Topic, "nope"));
        assert!(!is_list(Scope::Group, "streams.rack.aware.assignment.tags") && !is_list(Scope::ClientMetrics, "metrics"));
        assert_eq!(default_text(Scope::Topic, "cleanup.policy").as_deref(), Some("delete"));
        assert_eq!(default_text(Scope::Broker, "log.flush.interval.ms"), None);
        assert_eq!(default_text(Scope::Group, "consumer.session.timeout.ms"), None);
    }
}
