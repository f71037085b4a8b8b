//! Why directories are not formatted. The texts are Kafka's where it has one.

use std::io;
use std::path::PathBuf;

use ottla_broker::metadata_log::MetadataLogError;
use ottla_log::MetaPropertiesError;
use ottla_metadata::UnknownMetadataVersion;
use ottla_metadata::feature::{FEATURES, FeatureLevelError};
use ottla_model::BrokerId;

/// Why nothing was formatted. The texts are for whoever called.
#[derive(Debug, thiserror::Error)]
pub enum FormatError {
    /// A directory is formatted, and that was not to be ignored.
    #[error(
        "Log directory {} is already formatted. Use --ignore-formatted to ignore this directory and format the others.",
        .0.display()
    )]
    AlreadyFormatted(PathBuf),
    /// A directory is of another cluster.
    #[error("Invalid cluster.id in: {}. Expected {expected}, but read {found}", .path.display())]
    OtherCluster {
        /// Its `meta.properties`.
        path: PathBuf,
        /// The cluster to format for.
        expected: String,
        /// The cluster that it is of.
        found: String,
    },
    /// A directory is of another node.
    #[error(
        "Stored node id {found} doesn't match node.id {expected} in {}. If you moved your data, set node.id={found}; for a new node, use an \
         empty directory.",
        .path.display()
    )]
    OtherNode {
        /// Its `meta.properties`.
        path: PathBuf,
        /// `node.id`
        expected: BrokerId,
        /// The node that it is of.
        found: BrokerId,
    },
    /// The metadata directory has metadata, but no `meta.properties` says whose.
    #[error("{} has files of a metadata log but no meta.properties: restore that file, or use an empty directory", .0.display())]
    OrphanedMetadata(PathBuf),
    /// A node that is no controller cannot begin a cluster, and nobody has said which one it is to join.
    #[error(
        "{} is not formatted, and without the controller role this node cannot begin a cluster of its own: format it for the cluster that \
         it is to join, with `ottla storage format --cluster-id ID --config FILE --no-initial-controllers`",
        .0.display()
    )]
    UnknownCluster(PathBuf),
    /// Static voters and voters in the log at the same time.
    #[error(
        "You cannot specify controller.quorum.voters and format the node with --initial-controllers or --standalone. If you want to use \
         dynamic quorum, please remove controller.quorum.voters and specify controller.quorum.bootstrap.servers instead."
    )]
    StaticVoters,
    /// A broker cannot be the only controller.
    #[error("You can only use --standalone on a controller.")]
    StandaloneBroker,
    /// The controller listens nowhere.
    #[error("No controller listeners found: controller.listener.names must name one of the listeners.")]
    NoControllerListener,
    /// `kraft.version` 0 with voters in the log.
    #[error(
        "Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the flags --standalone, --initial-controllers, or \
         --no-initial-controllers is used. For dynamic controllers support, try removing the --feature flag for kraft.version."
    )]
    KRaftVersionTooLow,
    /// Voters in the log with static voters.
    #[error(
        "Cannot set kraft.version to {0} unless controller.quorum.voters is empty and one of the flags --standalone, \
         --initial-controllers, or --no-initial-controllers is used. For dynamic controllers support, try using one of --standalone, \
         --initial-controllers, or --no-initial-controllers and removing controller.quorum.voters."
    )]
    KRaftVersionTooHigh(i16),
    /// A feature that does not exist.
    #[error("Unsupported feature: {name}. Supported features are: {}", supported_features())]
    UnknownFeature {
        /// Its name.
        name: String,
    },
    /// A level that does not exist, or not at this metadata version.
    #[error(transparent)]
    FeatureLevel(#[from] FeatureLevelError),
    /// A level that Ottla does not serve.
    #[error("{name} cannot be set to {level}: this release serves the levels {supported}")]
    UnservedLevel {
        /// The feature's name.
        name: String,
        /// The level asked for.
        level: i16,
        /// What is served.
        supported: String,
    },
    /// The metadata version does not exist.
    #[error(transparent)]
    MetadataVersion(#[from] UnknownMetadataVersion),
    /// Two ways to say the metadata version.
    #[error("Use --release-version instead of --feature metadata.version=X to avoid ambiguity.")]
    TwoMetadataVersions,
    /// Credentials in the metadata log came later than this metadata version.
    #[error("SCRAM is only supported in metadata.version 3.5-IV2 or later.")]
    ScramUnsupported,
    /// A `meta.properties` cannot be understood.
    #[error(transparent)]
    MetaProperties(MetaPropertiesError),
    /// A directory cannot be read or made.
    #[error("{source}{}", advice(.source))]
    Io {
        /// The directory.
        path: PathBuf,
        /// What the disk said, with the path.
        source: io::Error,
    },
    /// The first snapshot cannot be written.
    #[error(transparent)]
    Snapshot(#[from] MetadataLogError),
}

impl From<MetaPropertiesError> for FormatError {
    fn from(error: MetaPropertiesError) -> FormatError {
        match error {
            MetaPropertiesError::Io { path, source } => FormatError::Io { path, source },
            MetaPropertiesError::Malformed { .. } => FormatError::MetaProperties(error),
        }
    }
}

/// What can be done about a directory that cannot be used.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "; let this user read and write there, or name another directory in log.dirs"
        }
        io::ErrorKind::NotADirectory => "; log.dirs must name directories",
        // What else the operating system says stands for itself.
        _ => "",
    }
}

fn supported_features() -> String {
    let mut names: Vec<_> = FEATURES.iter().map(|feature| feature.name).collect();
    names.sort_unstable();
    names.join(", ")
}
