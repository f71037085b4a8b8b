//! The operations that a client may perform, as bit fields (KIP-430). Without an authorizer that is everything that the kind of resource has.

/// Bit numbers are the codes of Kafka's `AclOperation`.
const fn bits(operations: &[u32]) -> i32 {
    let mut field = 0;
    let mut index = 0;
    while index < operations.len() {
        field |= 1 << operations[index];
        index += 1;
    }
    field
}

const READ: u32 = 3;
const WRITE: u32 = 4;
const CREATE: u32 = 5;
const DELETE: u32 = 6;
const ALTER: u32 = 7;
const DESCRIBE: u32 = 8;
const CLUSTER_ACTION: u32 = 9;
const DESCRIBE_CONFIGS: u32 = 10;
const ALTER_CONFIGS: u32 = 11;
const IDEMPOTENT_WRITE: u32 = 12;

/// What a topic has (`AclEntry.supportedOperations`).
pub const TOPIC: i32 = bits(&[READ, WRITE, CREATE, DESCRIBE, DELETE, ALTER, DESCRIBE_CONFIGS, ALTER_CONFIGS]);
/// What a group has.
pub const GROUP: i32 = bits(&[READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS]);
/// What the cluster has.
pub const CLUSTER: i32 = bits(&[CREATE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE, ALTER, DESCRIBE]);

#[cfg(test)]
mod tests {
    #[test]
    fn fields_are_those_of_a_kafka_without_authorizer() {
        assert_eq!(super::TOPIC, 3576);
        assert_eq!(super::GROUP, 3400);
        assert_eq!(super::CLUSTER, 8096);
    }
}
