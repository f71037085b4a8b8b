//! From a configuration to what formatting needs to know of the node.

use std::io;
use std::path::{Path, PathBuf};

use ottla_config::{BrokerConfig, ConfigFile, ConfigSources, FileFormat, LoadError, load};
use ottla_io::{Disk, read_file};
use ottla_raft::Endpoint;

use super::format::Node;

/// Why a configuration file does not tell about a node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the disk said.
        source: io::Error,
    },
    /// The configuration cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl Node {
    /// The node that this configuration is of. Where nothing says what host other nodes reach it by, it is `localhost`.
    pub fn of(config: &BrokerConfig) -> Node {
        let directories = config.log_dirs.iter().chain([&config.metadata_log_dir]);
        let controller = config.advertised_controller_listeners.first();
        Node {
            node_id: config.node_id,
            directories: directories.cloned().collect(),
            metadata_directory: config.metadata_log_dir.clone(),
            is_controller: config.process_roles.controller,
            controller_listener: config.controller_listener_names.first().cloned().unwrap_or_default(),
            controller_endpoint: controller
                .map(|listener| Endpoint { host: listener.host.clone().unwrap_or_else(|| "localhost".to_owned()), port: listener.port }),
            has_static_voters: !config.controller_quorum_voters.is_empty(),
        }
    }
}

/// Reads the node's configuration as `serve` would: the file, and the environment over it.
pub fn read_node(disk: &dyn Disk, path: &Path, environment: Vec<(String, String)>) -> Result<Node, NodeError> {
    let failed = |source| NodeError::Read { path: path.to_path_buf(), source };
    let content = read_file(disk, path).map_err(failed)?;
    let content = content.ok_or_else(|| failed(io::Error::from(io::ErrorKind::NotFound)))?;
    let text = String::from_utf8(content).map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
    let name = path.to_string_lossy();
    let file = ConfigFile { name: &name, format: FileFormat::of_name(&name), text: &text };
    let sources = ConfigSources { file: Some(file), environment, overrides: Vec::new() };
    Ok(Node::of(&load(&sources)?.config))
}
