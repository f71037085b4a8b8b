//! DeleteGroups: empty groups go with all their offsets (`deleteGroups` of `GroupCoordinatorShard`).

use ottla_model::ErrorCode;
use ottla_protocol::messages::delete_groups_response::DeletableGroupResult;

use super::effects::Effects;
use super::events::GroupEvent;
use super::group_map::Group;
use super::record::GroupRecord;
use super::shard::GroupCoordinatorShard;

impl GroupCoordinatorShard {
    /// Deletes those of the groups that may be deleted, all in one write.
    pub(super) fn delete_groups(&self, group_ids: Vec<String>, effects: &mut Effects) -> Vec<DeletableGroupResult> {
        let mut records = Vec::new();
        let mut deleted = Vec::new();
        let mut results = Vec::with_capacity(group_ids.len());
        for group_id in group_ids {
            let error = match self.validate_delete(&group_id) {
                Ok(()) => {
                    self.tombstones_of_group(&group_id, &mut records);
                    records.push(GroupRecord::group_tombstone(&group_id));
                    deleted.push(group_id.clone());
                    ErrorCode::None
                }
                Err(error) => error,
            };
            results.push(DeletableGroupResult { group_id, error_code: error as i16, ..DeletableGroupResult::default() });
        }
        if !deleted.is_empty() {
            effects.events.push(GroupEvent::GroupsDeleted { group_ids: deleted });
        }
        effects.write_state(records, true);
        results
    }

    fn validate_delete(&self, group_id: &str) -> Result<(), ErrorCode> {
        match self.groups.get(group_id) {
            None => Err(ErrorCode::GroupIdNotFound),
            Some(Group::NotServed(_)) => Err(ErrorCode::NonEmptyGroup),
            Some(Group::Classic(group)) => group.validate_delete(),
        }
    }
}
