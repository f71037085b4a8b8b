//! `partition.metadata`: the id of the topic that a partition's directory belongs to (`PartitionMetadataFile`).

use ottla_model::Uuid;

pub(crate) const PARTITION_METADATA: &str = "partition.metadata";

pub(crate) fn format_partition_metadata(topic_id: Uuid) -> String {
    format!("version: 0\ntopic_id: {topic_id}")
}

/// The topic id; `None` when the file is not one of Kafka's. An id of zero is none either.
pub(crate) fn parse_partition_metadata(content: &[u8]) -> Option<Uuid> {
    let mut lines = std::str::from_utf8(content).ok()?.lines();
    let version: i32 = lines.next()?.strip_prefix("version:")?.trim().parse().ok()?;
    let topic_id: Uuid = lines.next()?.strip_prefix("topic_id:")?.trim().parse().ok()?;
    (version >= 0 && !topic_id.is_zero()).then_some(topic_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_both_ways() {
        let topic_id = Uuid::from_u64_pair(1, 2);
        let text = format_partition_metadata(topic_id);
        assert_eq!(text, "version: 0\ntopic_id: AAAAAAAAAAEAAAAAAAAAAg");
        assert_eq!(parse_partition_metadata(text.as_bytes()), Some(topic_id));
        for wrong in ["", "version: 0\n", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA", "version: -1\ntopic_id: AAAAAAAAAAEAAAAAAAAAAg"] {
            assert_eq!(parse_partition_metadata(wrong.as_bytes()), None, "{wrong:?}");
        }
    }
}
