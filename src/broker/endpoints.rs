//! Brokers as one listener's clients see them: who is alive, and at which address (`KRaftMetadataCache`).

use ottla_metadata::{BrokerRegistration, MetadataImage, PartitionRegistration};
use ottla_model::BrokerId;

/// A broker's address on a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node<'a> {
    /// The broker.
    pub id: BrokerId,
    /// The advertised host.
    pub host: &'a str,
    /// The advertised port.
    pub port: i32,
    /// Where it stands, if it says so.
    pub rack: Option<&'a str>,
    /// Whether it is fenced.
    pub is_fenced: bool,
}

/// A registered broker that has the listener, fenced or not.
pub fn broker<'a>(registration: &'a BrokerRegistration, listener: &str) -> Option<Node<'a>> {
    let endpoint = registration.endpoint(listener)?;
    Some(Node {
        id: registration.id,
        host: &endpoint.host,
        port: i32::from(endpoint.port),
        rack: registration.rack.as_deref(),
        is_fenced: registration.fenced,
    })
}

/// The broker's address, if it is registered, has the listener and is not fenced.
pub fn alive_broker<'a>(image: &'a MetadataImage, id: BrokerId, listener: &str) -> Option<Node<'a>> {
    broker(image.cluster.broker(id)?, listener).filter(|node| !node.is_fenced)
}

/// All brokers that are not fenced and have the listener.
pub fn alive_brokers<'a>(image: &'a MetadataImage, listener: &'a str) -> impl Iterator<Item = Node<'a>> {
    image.cluster.brokers().filter_map(move |registration| broker(registration, listener)).filter(|node| !node.is_fenced)
}

/// The replicas whose broker or directory is not available to the listener's clients.
pub fn offline_replicas(image: &MetadataImage, partition: &PartitionRegistration, listener: &str) -> Vec<i32> {
    let is_offline = |id: BrokerId| {
        let Some(registration) = image.cluster.broker(id) else { return true };
        registration.fenced
            || registration.endpoint(listener).is_none()
            || !partition.directory(id).is_none_or(|directory| registration.has_online_dir(directory))
    };
    partition.replicas.iter().filter(|&&id| is_offline(id)).map(|id| id.0).collect()
}
