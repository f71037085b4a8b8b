//! The groups of a shard by id, of whatever type. Only classic groups are served; the others are known so that nothing of theirs is
//! taken for a classic group's.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::classic::ClassicGroup;
use super::record_type::GroupType;

/// A group.
#[derive(Debug)]
pub(super) enum Group {
    /// A classic group, or the "simple group" of a consumer that only commits offsets.
    Classic(Box<ClassicGroup>),
    /// A group that the log holds and that this broker does not serve.
    NotServed(GroupType),
}

impl Group {
    /// The group's type.
    pub fn group_type(&self) -> GroupType {
        match self {
            Group::Classic(_) => GroupType::Classic,
            Group::NotServed(group_type) => *group_type,
        }
    }
}

/// All groups of a shard.
#[derive(Debug, Default)]
pub(super) struct GroupMap {
    groups: BTreeMap<Arc<str>, Group>,
}

impl GroupMap {
    /// The group of this id.
    pub fn get(&self, group_id: &str) -> Option<&Group> {
        self.groups.get(group_id)
    }

    /// The classic group of this id.
    pub fn classic(&self, group_id: &str) -> Option<&ClassicGroup> {
        match self.groups.get(group_id)? {
            Group::Classic(group) => Some(group),
            Group::NotServed(_) => None,
        }
    }

    /// The classic group of this id.
    pub fn classic_mut(&mut self, group_id: &str) -> Option<&mut ClassicGroup> {
        match self.groups.get_mut(group_id)? {
            Group::Classic(group) => Some(group),
            Group::NotServed(_) => None,
        }
    }

    /// Puts a classic group in the place of whatever has its id.
    pub fn insert_classic(&mut self, group: ClassicGroup) {
        self.groups.insert(group.group_id.clone(), Group::Classic(Box::new(group)));
    }

    /// Makes sure that there is a group of this id: a new one is classic, and empty since `created_ms`.
    pub fn ensure(&mut self, group_id: &str, created_ms: i64) {
        if !self.groups.contains_key(group_id) {
            self.insert_classic(ClassicGroup::new(group_id.into(), created_ms));
        }
    }

    /// Notes a group of a type that is not served. A simple group of the same id is only the place of offsets, and gives way.
    pub fn note_not_served(&mut self, group_id: &str, group_type: GroupType) {
        match self.groups.get(group_id) {
            Some(Group::Classic(group)) if !group.is_simple() => {}
            _ => {
                self.groups.insert(group_id.into(), Group::NotServed(group_type));
            }
        }
    }

    /// Forgets a group if it is of this type.
    pub fn remove(&mut self, group_id: &str, group_type: GroupType) {
        if self.groups.get(group_id).is_some_and(|group| group.group_type() == group_type) {
            self.groups.remove(group_id);
        }
    }

    /// All groups, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Group)> {
        self.groups.iter()
    }

    /// All classic groups, by id.
    pub fn classic_groups(&self) -> impl Iterator<Item = &ClassicGroup> {
        self.groups.values().filter_map(|group| match group {
            Group::Classic(group) => Some(&**group),
            Group::NotServed(_) => None,
        })
    }

    /// How many groups there are.
    pub fn len(&self) -> usize {
        self.groups.len()
    }
}
