//! From a configuration to what formatting needs to know of the node.

use ottla_config::BrokerConfig;
use ottla_raft::Endpoint;

use super::format::Node;

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
