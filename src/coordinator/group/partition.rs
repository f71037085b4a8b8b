//! Which partition of `__consumer_offsets` a group lives in. Every client and broker must agree on it, so the rule is Java's.

/// The partition of `group_id` among `partition_count`, which is at least 1: Java's `String.hashCode`, made positive, modulo the count.
pub fn partition_for_group(group_id: &str, partition_count: i32) -> i32 {
    let hash = java_string_hash(group_id);
    // Java's `abs` has no positive counterpart of the least number; Kafka maps it to zero.
    hash.checked_abs().unwrap_or(0) % partition_count
}

fn java_string_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_java() {
        // Values of `"…".hashCode()`.
        for (text, hash) in [
            ("", 0),
            ("a", 97),
            ("hello", 99_162_322),
            ("group-id", 506_313_513),
            ("polygenelubricants", i32::MIN),
            ("é", 233),
            ("\u{1F600}", 1_772_899),
        ] {
            assert_eq!(java_string_hash(text), hash, "{text:?}");
        }
    }

    #[test]
    fn the_least_hash_is_partition_zero() {
        assert_eq!(partition_for_group("polygenelubricants", 50), 0);
        assert_eq!(partition_for_group("", 50), 0);
        assert_eq!(partition_for_group("hello", 50), 22);
    }
}
