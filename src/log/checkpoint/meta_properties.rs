//! `meta.properties`: which node of which cluster a log directory belongs to (`MetaProperties`).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use ottla_io::{Disk, read_file, write_file_atomically};
use ottla_model::{BrokerId, Uuid};

/// The file's name.
pub const META_PROPERTIES: &str = "meta.properties";

/// What a log directory says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaProperties {
    /// 0 in directories of brokers from before KRaft, otherwise 1.
    pub version: u32,
    /// The cluster; absent only in version 0.
    pub cluster_id: Option<String>,
    /// The node; absent only in version 0, where the key is `broker.id`.
    pub node_id: Option<BrokerId>,
    /// The id of this very directory; absent when an older release formatted it.
    pub directory_id: Option<Uuid>,
}

/// Why `meta.properties` could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum MetaPropertiesError {
    /// The disk failed.
    #[error("{source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the disk said, with the file's name.
        source: io::Error,
    },
    /// The content is not what Kafka writes.
    #[error("{path}: {reason}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl MetaProperties {
    /// Reads the file of a log directory; `None` when the directory has none, that is when it was not formatted.
    pub fn read(disk: &dyn Disk, log_dir: &Path) -> Result<Option<MetaProperties>, MetaPropertiesError> {
        let path = log_dir.join(META_PROPERTIES);
        let content = read_file(disk, &path).map_err(|source| MetaPropertiesError::Io { path: path.clone(), source })?;
        let Some(content) = content else { return Ok(None) };
        let malformed = |reason| MetaPropertiesError::Malformed { path: path.clone(), reason };
        let properties = java_properties::read(content.as_slice()).map_err(|error| malformed(error.to_string()))?;
        MetaProperties::parse(&properties).map(Some).map_err(malformed)
    }

    /// Replaces the file of a log directory and makes it durable.
    pub fn write(&self, disk: &dyn Disk, log_dir: &Path) -> Result<(), MetaPropertiesError> {
        let path = log_dir.join(META_PROPERTIES);
        write_file_atomically(disk, &path, self.to_text().as_bytes()).map_err(|source| MetaPropertiesError::Io { path, source })
    }

    fn parse(properties: &HashMap<String, String>) -> Result<MetaProperties, String> {
        let version = match properties.get("version").map_or("0", String::as_str) {
            "0" => 0,
            "1" => 1,
            other => return Err(format!("unknown version '{other}'")),
        };
        let node_id_key = if version == 0 { "broker.id" } else { "node.id" };
        let node_id = match properties.get(node_id_key) {
            Some(text) => Some(BrokerId(text.trim().parse().map_err(|_| format!("{node_id_key} is '{text}', not a number"))?)),
            None => None,
        };
        let cluster_id = properties.get("cluster.id").cloned();
        if version > 0 && node_id.is_none() {
            return Err("node.id was not found".to_owned());
        }
        if version > 0 && cluster_id.is_none() {
            return Err("cluster.id was not found".to_owned());
        }
        let directory_id = match properties.get("directory.id") {
            Some(text) => Some(text.trim().parse().map_err(|error| format!("directory.id: {error}"))?),
            None => None,
        };
        Ok(MetaProperties { version, cluster_id, node_id, directory_id })
    }

    fn to_text(&self) -> String {
        let node_id_key = if self.version == 0 { "broker.id" } else { "node.id" };
        let mut text = String::from("#\n");
        let mut line = |key: &str, value: String| text.push_str(&format!("{key}={}\n", escape(&value)));
        if let Some(node_id) = self.node_id {
            line(node_id_key, node_id.to_string());
        }
        line("version", self.version.to_string());
        if let Some(directory_id) = self.directory_id {
            line("directory.id", directory_id.to_string());
        }
        if let Some(cluster_id) = &self.cluster_id {
            line("cluster.id", cluster_id.clone());
        }
        text
    }
}

/// A value as `Properties.store` writes it.
fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for (index, character) in value.chars().enumerate() {
        match character {
            '\\' | ':' | '=' | '#' | '!' => escaped.extend(['\\', character]),
            ' ' if index == 0 => escaped.push_str("\\ "),
            '\t' => escaped.push_str("\\t"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            ' '..='~' => escaped.push(character),
            _ => {
                let mut units = [0; 2];
                for unit in character.encode_utf16(&mut units) {
                    escaped.push_str(&format!("\\u{unit:04X}"));
                }
            }
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use ottla_io::{MemoryDisk, write_file};

    fn disk() -> MemoryDisk {
        let disk = MemoryDisk::new();
        disk.create_dir_all(Path::new("/d")).unwrap();
        disk
    }

    #[test]
    fn goes_both_ways() {
        let disk = disk();
        let properties = MetaProperties {
            version: 1,
            cluster_id: Some("a=b:c\\d é".to_owned()),
            node_id: Some(BrokerId(7)),
            directory_id: Some(Uuid::from_u64_pair(9, 9)),
        };
        assert_eq!(MetaProperties::read(&disk, Path::new("/d")).unwrap(), None);
        properties.write(&disk, Path::new("/d")).unwrap();
        assert_eq!(MetaProperties::read(&disk, Path::new("/d")).unwrap(), Some(properties));
    }

    #[test]
    fn reads_what_kafka_wrote() {
        let disk = disk();
        let text = "#\n#Mon Nov 30 10:03:12 UTC 2026\ncluster.id=Some-Cluster_Id12345678\ndirectory.id=AAAAAAAAAAAAAAAAAAAAZQ\nnode.id=1\nversion=1\n";
        write_file(&disk, Path::new("/d/meta.properties"), text.as_bytes()).unwrap();
        let read = MetaProperties::read(&disk, Path::new("/d")).unwrap().unwrap();
        assert_eq!(read.cluster_id.as_deref(), Some("Some-Cluster_Id12345678"));
        assert_eq!((read.version, read.node_id, read.directory_id), (1, Some(BrokerId(1)), Some(Uuid::from_u64_pair(0, 101))));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (text, complaint) in [
            ("version=2\n", "unknown version '2'"),
            ("version=1\ncluster.id=a\n", "node.id was not found"),
            ("version=1\nnode.id=1\n", "cluster.id was not found"),
            ("version=1\nnode.id=one\n", "node.id is 'one'"),
            ("version=1\nnode.id=1\ncluster.id=a\ndirectory.id=x\n", "directory.id"),
        ] {
            let disk = disk();
            write_file(&disk, Path::new("/d/meta.properties"), text.as_bytes()).unwrap();
            let error = MetaProperties::read(&disk, Path::new("/d")).unwrap_err().to_string();
            assert!(error.contains(complaint), "{text:?}: {error}");
        }
    }
}
