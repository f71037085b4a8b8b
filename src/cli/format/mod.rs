//! Formatting: turns empty log directories into those of a node of a cluster (`org.apache.kafka.metadata.storage.Formatter`). Every
//! directory gets its `meta.properties`; the one of the metadata log also gets the snapshot with which the first controller begins.
//! Knows nothing of command lines.

mod error;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use ottla_broker::metadata_log::{METADATA_PARTITION_DIR, Snapshot, SnapshotQuorum, write_snapshot};
use ottla_io::{Disk, EntryKind, Rng, random_uuid};
use ottla_log::MetaProperties;
use ottla_metadata::feature::{FEATURES, Feature, KRAFT_VERSION};
use ottla_metadata::{BootstrapMetadata, MetadataRecord, MetadataVersion};
use ottla_model::{BrokerId, Uuid};
use ottla_raft::{Endpoint, Endpoints, OffsetAndEpoch, ReplicaKey, SupportedKRaftVersions, VoterNode, VoterSet};

pub use error::FormatError;

/// A node whose directories are to be formatted, as its configuration describes it.
#[derive(Clone, Debug)]
pub struct Node {
    /// `node.id`
    pub node_id: BrokerId,
    /// `log.dirs` and `metadata.log.dir`.
    pub directories: BTreeSet<PathBuf>,
    /// `metadata.log.dir`, or the first of `log.dirs`.
    pub metadata_directory: PathBuf,
    /// Whether the node has the controller role.
    pub is_controller: bool,
    /// The first of `controller.listener.names`.
    pub controller_listener: String,
    /// Where other nodes reach this controller.
    pub controller_endpoint: Option<Endpoint>,
    /// Whether `controller.quorum.voters` names the voters: then the log does not.
    pub has_static_voters: bool,
}

/// Which controllers the new cluster begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InitialControllers {
    /// `controller.quorum.voters` says it, or the node joins a cluster that exists.
    Unsaid,
    /// This node alone.
    Standalone,
    /// These.
    Listed(Vec<InitialController>),
}

/// A controller as the command line names it: `id@host:port:directory-id`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialController {
    /// Its `node.id`.
    pub node_id: BrokerId,
    /// The id that its metadata directory will have.
    pub directory_id: Uuid,
    /// Where it listens.
    pub endpoint: Endpoint,
}

/// What the directories become.
#[derive(Clone, Debug)]
pub struct FormatRequest {
    /// The cluster's id.
    pub cluster_id: String,
    /// The first controllers.
    pub controllers: InitialControllers,
    /// The metadata version to begin with.
    pub release_version: Option<MetadataVersion>,
    /// Feature levels that differ from their defaults.
    pub feature_levels: Vec<(String, i16)>,
    /// Further records for the beginning of the metadata log, such as credentials.
    pub additional_records: Vec<MetadataRecord>,
    /// Directories that are formatted already are left alone, rather than being an error.
    pub ignore_formatted: bool,
}

impl FormatRequest {
    /// A cluster of this node alone, with the defaults of a new cluster.
    pub fn standalone(cluster_id: String) -> FormatRequest {
        FormatRequest {
            cluster_id,
            controllers: InitialControllers::Standalone,
            release_version: None,
            feature_levels: Vec::new(),
            additional_records: Vec::new(),
            ignore_formatted: true,
        }
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq)]
pub struct Formatted {
    /// The metadata version of the new cluster.
    pub metadata_version: MetadataVersion,
    /// The records that the metadata log begins with.
    pub bootstrap: BootstrapMetadata,
    /// The directories that were formatted; none if all had been before.
    pub directories: Vec<(PathBuf, DirectoryKind)>,
}

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryKind {
    /// Partitions only.
    Log,
    /// The metadata log of a node whose quorum is configured, or not yet known.
    StaticMetadata,
    /// The metadata log of a node that is none of the first voters.
    DynamicMetadata,
    /// The metadata log of one of the first voters.
    DynamicMetadataVoter,
}

impl DirectoryKind {
    /// How Kafka's tool calls it.
    pub fn description(self) -> &'static str {
        match self {
            DirectoryKind::Log => "data directory",
            DirectoryKind::StaticMetadata => "metadata directory",
            DirectoryKind::DynamicMetadata => "dynamic metadata directory",
            DirectoryKind::DynamicMetadataVoter => "dynamic metadata voter directory",
        }
    }
}

/// Formats what of the node's directories is empty.
pub fn format(node: &Node, request: &FormatRequest, disk: &dyn Disk, rng: &mut dyn Rng, now_ms: i64) -> Result<Formatted, FormatError> {
    let (metadata_version, levels) = effective_levels(node, request)?;
    let borrowed: Vec<_> = levels.iter().map(|(name, level)| (name.as_str(), *level)).collect();
    let bootstrap = BootstrapMetadata::from_versions(metadata_version, &borrowed, "format command");
    let bootstrap = with_additional_records(bootstrap, request)?;
    let mut formatted = Formatted { metadata_version, bootstrap, directories: Vec::new() };
    let voters = initial_voters(node, request, rng)?;
    let empty = empty_directories(node, request, disk)?;
    for directory in empty {
        let kind = directory_kind(node, &directory, voters.as_ref());
        create_durably(disk, &directory).map_err(|source| FormatError::Io { path: directory.clone(), source })?;
        if kind != DirectoryKind::Log && node.is_controller {
            let kraft_version = kraft_version(node, request)?;
            write_first_snapshot(disk, &directory, &formatted, kraft_version, voters.as_ref(), now_ms)?;
        }
        let own_voter = voters.as_ref().and_then(|voters| voters.get(node.node_id)).filter(|_| kind != DirectoryKind::Log);
        let directory_id = own_voter.and_then(|voter| voter.key.directory_id).unwrap_or_else(|| random_uuid(rng));
        // Last, for it is what makes the directory a formatted one.
        let properties = MetaProperties {
            version: 1,
            cluster_id: Some(request.cluster_id.clone()),
            node_id: Some(node.node_id),
            directory_id: Some(directory_id),
        };
        properties.write(disk, &directory)?;
        formatted.directories.push((directory, kind));
    }
    Ok(formatted)
}

/// Formats the directories of a node that is to serve without having been formatted: all of them for a new cluster of this node alone,
/// or, if some are formatted, the empty ones for the same cluster. Answers `None` if there was nothing to do.
pub fn format_if_empty(node: &Node, disk: &dyn Disk, rng: &mut dyn Rng, now_ms: i64) -> Result<Option<Formatted>, FormatError> {
    let mut cluster_id = None;
    let mut has_empty = false;
    for directory in &node.directories {
        match MetaProperties::read(disk, directory)? {
            Some(properties) => cluster_id = cluster_id.or(properties.cluster_id),
            None => has_empty = true,
        }
    }
    if !has_empty {
        return Ok(None);
    }
    if cluster_id.is_none() && !node.is_controller {
        return Err(FormatError::UnknownCluster(node.metadata_directory.clone()));
    }
    let mut request = FormatRequest::standalone(cluster_id.unwrap_or_else(|| random_uuid(rng).to_string()));
    if node.has_static_voters || !node.is_controller {
        request.controllers = InitialControllers::Unsaid;
    }
    format(node, &request, disk, rng, now_ms).map(Some)
}

/// The metadata version and the levels of all other features.
fn effective_levels(node: &Node, request: &FormatRequest) -> Result<(MetadataVersion, Vec<(String, i16)>), FormatError> {
    let asked = |name: &str| request.feature_levels.iter().rev().find(|(asked, _)| asked == name).map(|&(_, level)| level);
    let metadata_version = match (request.release_version, asked(MetadataVersion::FEATURE_NAME)) {
        (Some(_), Some(_)) => return Err(FormatError::TwoMetadataVersions),
        (Some(version), None) => version,
        (None, Some(level)) => MetadataVersion::from_feature_level(level)?,
        (None, None) => MetadataVersion::LATEST,
    };
    for (name, _) in &request.feature_levels {
        if name != MetadataVersion::FEATURE_NAME && Feature::by_name(name).is_none() {
            return Err(FormatError::UnknownFeature { name: name.clone() });
        }
    }
    let mut levels = Vec::with_capacity(FEATURES.len());
    for feature in FEATURES {
        let level = match feature.name {
            KRAFT_VERSION => kraft_version(node, request)?,
            name => asked(name).unwrap_or_else(|| feature.default_level(metadata_version)),
        };
        feature.validate(level, metadata_version)?;
        if !feature.supported.contains(level) {
            let supported = feature.supported.to_string();
            return Err(FormatError::UnservedLevel { name: feature.name.to_owned(), level, supported });
        }
        levels.push((feature.name.to_owned(), level));
    }
    Ok((metadata_version, levels))
}

fn kraft_version(node: &Node, request: &FormatRequest) -> Result<i16, FormatError> {
    let asked = request.feature_levels.iter().rev().find(|(name, _)| name == KRAFT_VERSION).map(|&(_, level)| level);
    match asked {
        Some(0) if !node.has_static_voters => Err(FormatError::KRaftVersionTooLow),
        Some(level) if level > 0 && node.has_static_voters => Err(FormatError::KRaftVersionTooHigh(level)),
        Some(level) => Ok(level),
        None => Ok(i16::from(!node.has_static_voters)),
    }
}

fn with_additional_records(bootstrap: BootstrapMetadata, request: &FormatRequest) -> Result<BootstrapMetadata, FormatError> {
    if request.additional_records.is_empty() {
        return Ok(bootstrap);
    }
    if !bootstrap.metadata_version().is_scram_supported() {
        return Err(FormatError::ScramUnsupported);
    }
    let mut records = bootstrap.records().to_vec();
    records.extend_from_slice(&request.additional_records);
    let extended = BootstrapMetadata::from_records(records, bootstrap.source());
    Ok(extended.expect("the records begin with a known metadata.version"))
}

/// The voters that the log is to begin with; `None` if it names none.
fn initial_voters(node: &Node, request: &FormatRequest, rng: &mut dyn Rng) -> Result<Option<VoterSet>, FormatError> {
    let controllers = match &request.controllers {
        InitialControllers::Unsaid => return Ok(None),
        _ if node.has_static_voters => return Err(FormatError::StaticVoters),
        InitialControllers::Listed(controllers) => controllers.clone(),
        InitialControllers::Standalone if !node.is_controller => return Err(FormatError::StandaloneBroker),
        InitialControllers::Standalone => {
            let endpoint = node.controller_endpoint.clone().ok_or(FormatError::NoControllerListener)?;
            vec![InitialController { node_id: node.node_id, directory_id: random_uuid(rng), endpoint }]
        }
    };
    let voters = controllers.into_iter().map(|controller| VoterNode {
        key: ReplicaKey::new(controller.node_id, controller.directory_id),
        endpoints: Endpoints::single(&node.controller_listener, controller.endpoint),
        kraft_versions: SupportedKRaftVersions::LOCAL,
    });
    Ok(Some(VoterSet::new(voters)))
}

/// The directories without `meta.properties`, after the others were found to be this node's.
fn empty_directories(node: &Node, request: &FormatRequest, disk: &dyn Disk) -> Result<Vec<PathBuf>, FormatError> {
    let mut empty = Vec::new();
    let mut formatted = None;
    for directory in &node.directories {
        let Some(properties) = MetaProperties::read(disk, directory)? else {
            empty.push(directory.clone());
            continue;
        };
        check_owner(node, request, directory, &properties)?;
        formatted.get_or_insert(directory);
    }
    if let Some(directory) = formatted.filter(|_| !request.ignore_formatted) {
        return Err(FormatError::AlreadyFormatted(directory.clone()));
    }
    if empty.contains(&node.metadata_directory) && has_metadata(disk, &node.metadata_directory)? {
        return Err(FormatError::OrphanedMetadata(node.metadata_directory.clone()));
    }
    Ok(empty)
}

fn check_owner(node: &Node, request: &FormatRequest, directory: &Path, properties: &MetaProperties) -> Result<(), FormatError> {
    let path = || directory.join(ottla_log::META_PROPERTIES);
    if let Some(found) = properties.cluster_id.clone().filter(|found| *found != request.cluster_id) {
        return Err(FormatError::OtherCluster { path: path(), expected: request.cluster_id.clone(), found });
    }
    if let Some(found) = properties.node_id.filter(|found| *found != node.node_id) {
        return Err(FormatError::OtherNode { path: path(), expected: node.node_id, found });
    }
    Ok(())
}

/// Whether a metadata log was written there, by more than a formatting that was interrupted.
fn has_metadata(disk: &dyn Disk, directory: &Path) -> Result<bool, FormatError> {
    let path = directory.join(METADATA_PARTITION_DIR);
    let metadata = disk.metadata(&path).map_err(|source| FormatError::Io { path: path.clone(), source })?;
    if metadata.is_none_or(|metadata| metadata.kind != EntryKind::Directory) {
        return Ok(false);
    }
    let entries = disk.read_dir(&path).map_err(|source| FormatError::Io { path, source })?;
    Ok(entries.iter().any(|entry| entry.name.ends_with(".log")))
}

fn directory_kind(node: &Node, directory: &Path, voters: Option<&VoterSet>) -> DirectoryKind {
    match voters {
        _ if directory != node.metadata_directory => DirectoryKind::Log,
        None => DirectoryKind::StaticMetadata,
        Some(voters) if voters.get(node.node_id).is_some() => DirectoryKind::DynamicMetadataVoter,
        Some(_) => DirectoryKind::DynamicMetadata,
    }
}

/// Creates a directory so that a loss of power does not take its name away.
fn create_durably(disk: &dyn Disk, directory: &Path) -> io::Result<()> {
    disk.create_dir_all(directory)?;
    match directory.parent() {
        Some(parent) if parent.as_os_str().is_empty() => disk.sync_dir(Path::new(".")),
        Some(parent) => disk.sync_dir(parent),
        None => Ok(()),
    }
}

fn write_first_snapshot(
    disk: &dyn Disk,
    directory: &Path,
    formatted: &Formatted,
    kraft_version: i16,
    voters: Option<&VoterSet>,
    now_ms: i64,
) -> Result<(), FormatError> {
    let partition = directory.join(METADATA_PARTITION_DIR);
    disk.create_dir_all(&partition).map_err(|source| FormatError::Io { path: partition.clone(), source })?;
    let snapshot = Snapshot {
        id: OffsetAndEpoch::BOOTSTRAP_SNAPSHOT,
        last_contained_log_timestamp_ms: now_ms,
        records: formatted.bootstrap.records().to_vec(),
        version: formatted.metadata_version,
    };
    write_snapshot(disk, &partition, &snapshot, &SnapshotQuorum { kraft_version, voters: voters.cloned() }, now_ms)?;
    Ok(())
}
