//! The names of a disk: what they are now, and what they would be after a crash.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Content;
use crate::{DirEntry, EntryKind, Rng};

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Directory,
    File(Arc<Content>),
}

type Tree = BTreeMap<PathBuf, Node>;

/// A change of names that was not synced yet.
#[derive(Clone, Debug)]
enum Change {
    Create(PathBuf, Node),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

/// All names of a disk.
#[derive(Debug, Default)]
pub(super) struct Names {
    current: Tree,
    synced: Tree,
    /// What was done since `synced`, in order.
    unsynced: Vec<Change>,
}

fn not_found() -> io::Error {
    io::ErrorKind::NotFound.into()
}

/// The paths of a directory (or file) and of everything below it.
fn subtree(tree: &Tree, root: &Path) -> Vec<PathBuf> {
    // Paths sort by their components, so what lies below a root follows it directly.
    tree.range::<Path, _>((Bound::Included(root), Bound::Unbounded))
        .map(|(path, _)| path)
        .take_while(|path| path.starts_with(root))
        .cloned()
        .collect()
}

impl Change {
    fn apply(self, tree: &mut Tree) {
        match self {
            Change::Create(path, node) => {
                tree.insert(path, node);
            }
            Change::Remove(root) => {
                for path in subtree(tree, &root) {
                    tree.remove(&path);
                }
            }
            Change::Rename(from, to) => {
                for path in subtree(tree, &from) {
                    let node = tree.remove(&path).expect("listed just now");
                    let rest = path.strip_prefix(&from).expect("below the root");
                    tree.insert(if rest.as_os_str().is_empty() { to.clone() } else { to.join(rest) }, node);
                }
            }
        }
    }

    fn is_of(&self, directory: &Path) -> bool {
        let within = |path: &Path| path.parent() == Some(directory);
        match self {
            Change::Create(path, _) | Change::Remove(path) => within(path),
            Change::Rename(from, to) => within(from) || within(to),
        }
    }
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<&Node> {
        // The root needs no creating.
        if path.parent().is_none() || path.as_os_str().is_empty() {
            return Some(&Node::Directory);
        }
        self.current.get(path)
    }

    pub(super) fn file(&self, path: &Path) -> io::Result<&Content> {
        match self.get(path) {
            Some(Node::File(content)) => Ok(content),
            Some(Node::Directory) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(not_found()),
        }
    }

    pub(super) fn list(&self, directory: &Path) -> io::Result<Vec<DirEntry>> {
        if !matches!(self.get(directory), Some(Node::Directory)) {
            return Err(not_found());
        }
        Ok(self
            .current
            .iter()
            .filter(|(path, _)| path.parent() == Some(directory))
            .filter_map(|(path, node)| {
                let kind = match node {
                    Node::Directory => EntryKind::Directory,
                    Node::File(_) => EntryKind::File,
                };
                Some(DirEntry { name: path.file_name()?.to_str()?.to_owned(), kind })
            })
            .collect())
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.current
            .values()
            .map(|node| match node {
                Node::Directory => 0,
                Node::File(content) => content.len(),
            })
            .sum()
    }

    pub(super) fn create(&mut self, path: &Path, node: Node) -> io::Result<()> {
        match path.parent().and_then(|parent| self.get(parent)) {
            Some(Node::Directory) => {}
            Some(Node::File(_)) | None => return Err(not_found()),
        }
        self.change(Change::Create(path.to_owned(), node));
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        if self.get(from).is_none() || to.parent().and_then(|parent| self.get(parent)).is_none() {
            return Err(not_found());
        }
        self.change(Change::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.change(Change::Remove(path.to_owned()));
    }

    fn change(&mut self, change: Change) {
        change.clone().apply(&mut self.current);
        self.unsynced.push(change);
    }

    /// Makes the changes of one directory durable.
    pub(super) fn sync(&mut self, directory: &Path) {
        for change in std::mem::take(&mut self.unsynced) {
            if change.is_of(directory) {
                change.apply(&mut self.synced);
            } else {
                self.unsynced.push(change);
            }
        }
    }

    /// Makes all names and all content durable.
    pub(super) fn sync_all(&mut self) {
        self.unsynced.clear();
        self.synced = self.current.clone();
        for node in self.current.values() {
            if let Node::File(content) = node {
                content.sync();
            }
        }
    }

    /// Leaves the synced names and, when there is a choice to make, a random number of the first changes since: file systems keep the
    /// order of these in their journal.
    pub(super) fn crash(&mut self, mut rng: Option<&mut dyn Rng>) {
        let kept = match &mut rng {
            Some(rng) => rng.below(self.unsynced.len() as u64 + 1) as usize,
            None => 0,
        };
        for change in std::mem::take(&mut self.unsynced).into_iter().take(kept) {
            change.apply(&mut self.synced);
        }
        let reachable = |tree: &Tree, path: &Path| {
            path.ancestors()
                .skip(1)
                .all(|ancestor| ancestor.parent().is_none() || ancestor.as_os_str().is_empty() || tree.contains_key(ancestor))
        };
        let orphans: Vec<PathBuf> = self.synced.keys().filter(|path| !reachable(&self.synced, path)).cloned().collect();
        for orphan in orphans {
            self.synced.remove(&orphan);
        }
        self.current = self.synced.clone();
        for node in self.current.values() {
            if let Node::File(content) = node {
                content.crash(rng.as_deref_mut());
            }
        }
    }
}
