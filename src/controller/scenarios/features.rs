//! UpdateFeatures.

use ottla_protocol::messages::update_features_request::{FeatureUpdateKey, UpdateFeaturesRequest};

use super::*;

const UPGRADE: i8 = 1;
const SAFE: i8 = 2;
const UNSAFE: i8 = 3;

fn request(updates: &[(&str, i16, i8)]) -> UpdateFeaturesRequest {
    let update = |&(feature, max_version_level, upgrade_type): &(&str, i16, i8)| FeatureUpdateKey {
        feature: feature.into(),
        max_version_level,
        upgrade_type,
        ..Default::default()
    };
    UpdateFeaturesRequest { feature_updates: updates.iter().map(update).collect(), ..Default::default() }
}

impl Cluster {
    fn update_features(&mut self, updates: &[(&str, i16, i8)]) -> (i16, Option<String>) {
        let result = self.controller.update_features(&request(updates), 2);
        let response = self.commit(result);
        assert!(response.results.is_empty());
        (response.error_code, response.error_message)
    }
}

#[test]
fn levels_that_cannot_be_are_told_why() {
    let mut cluster = Cluster::at(30, false);
    cluster.start_brokers(&[1]);
    let mut check = |update: (&str, i16, i8), reason: &str| {
        let message = format!("The update failed for all features since the following feature had an error: {reason}");
        assert_eq!(cluster.update_features(&[update]), (95, Some(message)));
    };
    check(("foo", 1, UPGRADE), "Invalid update version 1 for feature foo. Local controller 1 does not support this feature.");
    check(
        ("group.version", 1, UPGRADE),
        "Invalid update version 1 for feature group.version. Local controller 1 does not support this feature.",
    );
    check(
        ("metadata.version", 0, UPGRADE),
        "Invalid update version 0 for feature metadata.version. Local controller 1 only supports versions 7-33",
    );
    check(
        ("metadata.version", 34, UPGRADE),
        "Invalid update version 34 for feature metadata.version. Local controller 1 only supports versions 7-33",
    );
    check(
        ("metadata.version", -1, UPGRADE),
        "Invalid update version -1 for feature metadata.version. A feature version cannot be less than 0.",
    );
    check(
        ("metadata.version", 31, 9),
        "Invalid update version 31 for feature metadata.version. The controller does not support the given upgrade type.",
    );
    check(
        ("metadata.version", 29, UPGRADE),
        "Invalid update version 29 for feature metadata.version. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.",
    );
    check(("metadata.version", 31, SAFE), "Invalid update version 31 for feature metadata.version. Can't downgrade to a newer version.");
    check(
        ("metadata.version", 29, SAFE),
        "Unsupported metadata.version downgrade from 30 to 29. Refusing to perform the requested downgrade because it might delete metadata information.",
    );
    check(
        ("metadata.version", 29, UNSAFE),
        "Unsupported metadata.version downgrade from 30 to 29. Unsafe metadata downgrade is not supported in this version.",
    );
    check(("kraft.version", 1, SAFE), "Invalid update version 1 for feature kraft.version. Can't downgrade to a newer version.");
}

#[test]
fn a_broker_that_cannot_follow_holds_the_cluster_back() {
    let mut cluster = Cluster::at(30, false);
    let mut old = registration(1, 1);
    old.features.iter_mut().filter(|feature| feature.name == "metadata.version").for_each(|feature| feature.max_supported_version = 31);
    cluster.register(&old).unwrap();
    assert_eq!(cluster.update_features(&[("metadata.version", 31, UPGRADE)]), (0, None));
    let message = "The update failed for all features since the following feature had an error: Invalid update version 32 for feature metadata.version. Broker 1 only supports \
                   versions 7-31";
    assert_eq!(cluster.update_features(&[("metadata.version", 32, UPGRADE)]), (95, Some(message.to_owned())));
}

#[test]
fn levels_go_up_and_down() {
    let mut cluster = Cluster::at(30, false);
    cluster.start_brokers(&[1]);
    assert_eq!(cluster.update_features(&[("metadata.version", 31, UPGRADE)]), (0, None));
    assert_eq!(cluster.update_features(&[("metadata.version", 30, SAFE)]), (0, None), "31 changed no record");
    assert_eq!(cluster.controller.image().metadata_version().feature_level(), 30);
}

#[test]
fn eligible_replicas_come_with_a_cluster_wide_min_insync_replicas() {
    let mut cluster = Cluster::at(33, false);
    cluster.start_brokers(&[1]);
    let own = ottla_protocol::messages::config_record::ConfigRecord {
        resource_type: 4,
        resource_name: "1".into(),
        name: "min.insync.replicas".into(),
        value: Some("3".into()),
        ..Default::default()
    };
    cluster.commit(ControllerResult::of(vec![own.into()], ()));
    assert_eq!(cluster.update_features(&[("eligible.leader.replicas.version", 1, UPGRADE)]), (0, None));
    let image = cluster.controller.image();
    assert!(image.features.is_elr_enabled());
    assert_eq!(image.configs.value(&ConfigResource::broker(""), "min.insync.replicas"), Some("1"));
    assert_eq!(image.configs.value(&ConfigResource::broker("1"), "min.insync.replicas"), None);
}

#[test]
fn one_bad_level_keeps_all_from_changing() {
    let mut cluster = Cluster::at(30, false);
    cluster.start_brokers(&[1]);
    let (code, _) = cluster.update_features(&[("eligible.leader.replicas.version", 1, UPGRADE), ("metadata.version", 99, UPGRADE)]);
    assert_eq!((code, cluster.controller.image().features.is_elr_enabled()), (95, false));
}

#[test]
fn old_versions_name_the_features_again_and_a_check_changes_nothing() {
    let mut cluster = Cluster::at(30, false);
    cluster.start_brokers(&[1]);
    let check = UpdateFeaturesRequest { validate_only: true, ..request(&[("metadata.version", 31, UPGRADE)]) };
    let result = cluster.controller.update_features(&check, 1);
    assert!(result.records.is_empty());
    let answers: Vec<_> =
        result.response.results.iter().map(|answer| (&*answer.feature, answer.error_code, answer.error_message.as_deref())).collect();
    assert_eq!(answers, [("metadata.version", 0, Some("NONE"))]);
}
