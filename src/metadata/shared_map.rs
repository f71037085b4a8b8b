//! An ordered map whose copies share what they have in common, so that an image with one more topic costs a path of nodes and not a copy
//! of ten thousand topics. Knows nothing of metadata.
//!
//! It is an AVL tree of counted nodes: an update clones the nodes on its path, and only those that another map still holds. A run of
//! updates on a map that nobody else holds therefore happens in place.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// A persistent ordered map. Cloning it is one count.
pub struct SharedMap<K, V> {
    root: Tree<K, V>,
    len: usize,
}

type Tree<K, V> = Option<Arc<Node<K, V>>>;

#[derive(Clone)]
struct Node<K, V> {
    key: K,
    value: V,
    /// The longest path to a leaf, counted in nodes.
    height: u8,
    left: Tree<K, V>,
    right: Tree<K, V>,
}

impl<K, V> Clone for SharedMap<K, V> {
    fn clone(&self) -> Self {
        SharedMap { root: self.root.clone(), len: self.len }
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { root: None, len: 0 }
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SharedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K, V> SharedMap<K, V> {
    /// The number of entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The entries, in the order of their keys.
    pub fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter { pending: Vec::new() };
        iter.descend_left(&self.root);
        iter
    }

    /// The keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> SharedMap<K, V> {
    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut tree = &self.root;
        while let Some(node) = tree {
            match key.cmp(node.key.borrow()) {
                Ordering::Less => tree = &node.left,
                Ordering::Greater => tree = &node.right,
                Ordering::Equal => return Some(&node.value),
            }
        }
        None
    }

    /// Whether `key` has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// The entries from `start` on, in the order of their keys.
    pub fn iter_from<Q: Ord + ?Sized>(&self, start: Bound<&Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let mut iter = Iter { pending: Vec::new() };
        let mut tree = &self.root;
        while let Some(node) = tree {
            let wanted = match start {
                Bound::Unbounded => true,
                Bound::Included(key) => node.key.borrow() >= key,
                Bound::Excluded(key) => node.key.borrow() > key,
            };
            if wanted {
                iter.pending.push(node);
                tree = &node.left;
            } else {
                tree = &node.right;
            }
        }
        iter
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// Sets the value of `key`; returns the value it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let previous = insert(&mut self.root, key, value);
        self.len += usize::from(previous.is_none());
        previous
    }

    /// Removes `key`; returns the value it had.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        // Looking first keeps a miss from cloning a path.
        if !self.contains_key(key) {
            return None;
        }
        self.len -= 1;
        remove(&mut self.root, key)
    }

    /// The value of `key`, to be changed in this map alone.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        if !self.contains_key(key) {
            return None;
        }
        let mut tree = &mut self.root;
        while let Some(node) = tree {
            let node = Arc::make_mut(node);
            match key.cmp(node.key.borrow()) {
                Ordering::Less => tree = &mut node.left,
                Ordering::Greater => tree = &mut node.right,
                Ordering::Equal => return Some(&mut node.value),
            }
        }
        None
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for SharedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = SharedMap::default();
        for (key, value) in entries {
            map.insert(key, value);
        }
        map
    }
}

impl<'a, K, V> IntoIterator for &'a SharedMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

/// Entries in the order of their keys.
pub struct Iter<'a, K, V> {
    /// Nodes that are due after their left subtrees, the next one last.
    pending: Vec<&'a Node<K, V>>,
}

impl<'a, K, V> Iter<'a, K, V> {
    fn descend_left(&mut self, mut tree: &'a Tree<K, V>) {
        while let Some(node) = tree {
            self.pending.push(node);
            tree = &node.left;
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.pending.pop()?;
        self.descend_left(&node.right);
        Some((&node.key, &node.value))
    }
}

fn height<K, V>(tree: &Tree<K, V>) -> u8 {
    tree.as_ref().map_or(0, |node| node.height)
}

impl<K: Ord + Clone, V: Clone> Node<K, V> {
    fn update_height(&mut self) {
        self.height = 1 + height(&self.left).max(height(&self.right));
    }

    /// How much deeper the left side is.
    fn balance(&self) -> i16 {
        i16::from(height(&self.left)) - i16::from(height(&self.right))
    }
}

fn insert<K: Ord + Clone, V: Clone>(tree: &mut Tree<K, V>, key: K, value: V) -> Option<V> {
    let Some(node) = tree else {
        *tree = Some(Arc::new(Node { key, value, height: 1, left: None, right: None }));
        return None;
    };
    let node = Arc::make_mut(node);
    let previous = match key.cmp(&node.key) {
        Ordering::Less => insert(&mut node.left, key, value),
        Ordering::Greater => insert(&mut node.right, key, value),
        Ordering::Equal => return Some(std::mem::replace(&mut node.value, value)),
    };
    rebalance(tree);
    previous
}

fn remove<K: Ord + Clone + Borrow<Q>, V: Clone, Q: Ord + ?Sized>(tree: &mut Tree<K, V>, key: &Q) -> Option<V> {
    let node = Arc::make_mut(tree.as_mut()?);
    let removed = match key.cmp(node.key.borrow()) {
        Ordering::Less => remove(&mut node.left, key),
        Ordering::Greater => remove(&mut node.right, key),
        Ordering::Equal => Some(remove_root(tree)),
    };
    rebalance(tree);
    removed
}

/// Takes the root of a tree that has one, and puts its successor in its place.
fn remove_root<K: Ord + Clone, V: Clone>(tree: &mut Tree<K, V>) -> V {
    let root = tree.take().expect("the caller looked at the root");
    let mut root = Arc::unwrap_or_clone(root);
    *tree = match (root.left.take(), root.right.take()) {
        (None, other) | (other, None) => other,
        (left, mut right) => {
            let mut successor = take_first(&mut right);
            successor.left = left;
            successor.right = right;
            successor.update_height();
            Some(Arc::new(successor))
        }
    };
    root.value
}

/// Takes the first node of a tree that has one.
fn take_first<K: Ord + Clone, V: Clone>(tree: &mut Tree<K, V>) -> Node<K, V> {
    let node = Arc::make_mut(tree.as_mut().expect("the caller checked that there is a node"));
    if node.left.is_some() {
        let first = take_first(&mut node.left);
        rebalance(tree);
        return first;
    }
    let mut first = Arc::unwrap_or_clone(tree.take().expect("just looked at"));
    *tree = first.right.take();
    first
}

fn rebalance<K: Ord + Clone, V: Clone>(tree: &mut Tree<K, V>) {
    let Some(node) = tree else { return };
    let balance = node.balance();
    if (-1..=1).contains(&balance) {
        if node.height != 1 + height(&node.left).max(height(&node.right)) {
            Arc::make_mut(node).update_height();
        }
        return;
    }
    let node = Arc::make_mut(node);
    if balance > 1 {
        if node.left.as_ref().is_some_and(|left| left.balance() < 0) {
            rotate_left(&mut node.left);
        }
        rotate_right(tree);
    } else {
        if node.right.as_ref().is_some_and(|right| right.balance() > 0) {
            rotate_right(&mut node.right);
        }
        rotate_left(tree);
    }
}

/// The right child becomes the root.
fn rotate_left<K: Ord + Clone, V: Clone>(tree: &mut Tree<K, V>) {
    let mut root = tree.take().expect("only a tree that leans is rotated");
    let node = Arc::make_mut(&mut root);
    let mut child = node.right.take().expect("it leans to the right");
    let child_node = Arc::make_mut(&mut child);
    node.right = child_node.left.take();
    node.update_height();
    child_node.left = Some(root);
    child_node.update_height();
    *tree = Some(child);
}

/// The left child becomes the root.
fn rotate_right<K: Ord + Clone, V: Clone>(tree: &mut Tree<K, V>) {
    let mut root = tree.take().expect("only a tree that leans is rotated");
    let node = Arc::make_mut(&mut root);
    let mut child = node.left.take().expect("it leans to the left");
    let child_node = Arc::make_mut(&mut child);
    node.left = child_node.right.take();
    node.update_height();
    child_node.right = Some(root);
    child_node.update_height();
    *tree = Some(child);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check_balance<K, V>(tree: &Tree<K, V>) -> u8 {
        let Some(node) = tree else { return 0 };
        let (left, right) = (check_balance(&node.left), check_balance(&node.right));
        assert!(left.abs_diff(right) <= 1, "leans by {left} - {right}");
        assert_eq!(node.height, 1 + left.max(right));
        node.height
    }

    proptest! {
        #[test]
        fn it_is_a_map_and_copies_stay_as_they_were(steps in proptest::collection::vec((any::<bool>(), 0u8..40, any::<u16>()), 0..200), copy_at in 0usize..200) {
            let mut map = SharedMap::default();
            let mut model = BTreeMap::new();
            let mut copy = None;
            for (index, (insert, key, value)) in steps.into_iter().enumerate() {
                if index == copy_at {
                    copy = Some((map.clone(), model.clone()));
                }
                if insert {
                    prop_assert_eq!(map.insert(key, value), model.insert(key, value));
                } else {
                    prop_assert_eq!(map.remove(&key), model.remove(&key));
                }
                check_balance(&map.root);
            }
            prop_assert_eq!(map.len(), model.len());
            prop_assert!(map.iter().eq(model.iter()));
            if let Some((map, model)) = copy {
                prop_assert!(map.iter().eq(model.iter()));
            }
        }

        #[test]
        fn iteration_starts_anywhere(keys in proptest::collection::btree_set(0u8..60, 0..40), start in 0u8..60) {
            let map: SharedMap<u8, ()> = keys.iter().map(|&key| (key, ())).collect();
            prop_assert!(map.iter_from(Bound::Included(&start)).map(|(key, ())| key).eq(keys.range(start..)));
            prop_assert!(map.iter_from(Bound::Excluded(&start)).map(|(key, ())| key).eq(keys.range((Bound::Excluded(start), Bound::Unbounded))));
            prop_assert_eq!(map.iter_from::<u8>(Bound::Unbounded).count(), keys.len());
        }
    }

    #[test]
    fn changing_a_value_leaves_copies_alone() {
        let mut map: SharedMap<i32, i32> = (0..10).map(|key| (key, key)).collect();
        let copy = map.clone();
        *map.get_mut(&4).unwrap() = 40;
        assert_eq!((map.get(&4), copy.get(&4)), (Some(&40), Some(&4)));
        assert_eq!(map.get_mut(&11), None);
    }
}
