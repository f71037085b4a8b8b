//! The ids that stand for no particular log directory (`org.apache.kafka.common.DirectoryId`).

use ottla_model::Uuid;

/// The replica was placed before directories had ids.
pub const MIGRATING: Uuid = Uuid::from_u64_pair(0, 0);
/// The broker has yet to choose a directory.
pub const UNASSIGNED: Uuid = Uuid::from_u64_pair(0, 1);
/// The replica is in a directory that is offline.
pub const LOST: Uuid = Uuid::from_u64_pair(0, 2);

/// Whether a replica in `directory` can serve, given its broker's online directories. A broker that registered without any is one of
/// a metadata.version before directory ids, whose directories all count as online.
pub fn is_online(directory: Uuid, online_directories: &[Uuid]) -> bool {
    match directory {
        UNASSIGNED | MIGRATING => true,
        LOST => false,
        _ => online_directories.is_empty() || online_directories.contains(&directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lost_or_missing_directory_is_offline() {
        let (a, b) = (Uuid::from_u64_pair(7, 1), Uuid::from_u64_pair(7, 2));
        for (directory, online, expected) in [
            (MIGRATING, &[a][..], true),
            (UNASSIGNED, &[a], true),
            (LOST, &[a], false),
            (a, &[a], true),
            (b, &[a], false),
            (b, &[], true),
            (LOST, &[], false),
        ] {
            assert_eq!(is_online(directory, online), expected, "{directory} in {online:?}");
        }
    }
}
