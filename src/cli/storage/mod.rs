//! `ottla storage`: what Kafka's `kafka-storage.sh` does, with its options and in its words (`kafka.tools.StorageTool`).

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use ottla_io::{Clock, Disk, EntryKind, HandleLimit, RealDisk, Rng, SystemClock, SystemRng, random_uuid};
use ottla_log::{META_PROPERTIES, MetaProperties};
use ottla_metadata::feature::{FEATURES, Feature, FeatureLevelError};
use ottla_metadata::{MetadataRecord, MetadataVersion, UnknownMetadataVersion};
use ottla_model::BrokerId;
use ottla_raft::Endpoint;

use super::configuration::{self, ConfigurationError};
use super::format::{FormatError, FormatRequest, Formatted, InitialController, InitialControllers, Node, format};
use super::scram::{ScramError, credential};

/// Arguments of `ottla storage`.
#[derive(Debug, Args)]
pub struct StorageArgs {
    #[command(subcommand)]
    command: StorageCommand,
}

#[derive(Debug, Subcommand)]
enum StorageCommand {
    /// Get information about the log directories on this node.
    Info(ConfigArgs),
    /// Format the log directories on this node.
    Format(FormatArgs),
    /// Look up the corresponding features for a given metadata version, by default the latest stable one.
    VersionMapping {
        /// The release version to use for the corresponding feature mapping.
        #[arg(short, long)]
        release_version: Option<String>,
    },
    /// Look up dependencies for given feature versions.
    FeatureDependencies {
        /// The features and their versions to look up dependencies for, in feature=version format, e.g. `metadata.version=20`.
        #[arg(short, long, required = true)]
        feature: Vec<String>,
    },
    /// Print a random UUID.
    RandomUuid,
}

#[derive(Debug, Args)]
struct ConfigArgs {
    /// The configuration file of the node.
    #[arg(short, long)]
    config: PathBuf,
}

#[derive(Debug, Args)]
struct FormatArgs {
    #[command(flatten)]
    config: ConfigArgs,
    /// The cluster ID to use.
    #[arg(short = 't', long)]
    cluster_id: String,
    /// A SCRAM credential to begin with, e.g. 'SCRAM-SHA-256=[name=alice,password=alice-secret]' or
    /// 'SCRAM-SHA-512=[name=alice,iterations=8192,salt="N3E=",saltedpassword="YCE="]'.
    #[arg(short = 'S', long)]
    add_scram: Vec<String>,
    /// Skip over directories that are formatted already rather than failing.
    #[arg(short = 'g', long)]
    ignore_formatted: bool,
    /// The release version to use for the initial feature settings.
    #[arg(short, long)]
    release_version: Option<String>,
    /// The setting to use for a specific feature, in feature=level format, e.g. `kraft.version=1`.
    #[arg(short, long)]
    feature: Vec<String>,
    #[command(flatten)]
    quorum: QuorumArgs,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
struct QuorumArgs {
    /// Initialize a controller as a single-node dynamic quorum; controller.quorum.voters must not be set.
    #[arg(short, long)]
    standalone: bool,
    /// Initialize a server without specifying a dynamic quorum, as for one that joins an existing cluster.
    #[arg(short = 'N', long)]
    no_initial_controllers: bool,
    /// Initialize a server with the specified dynamic quorum: a comma-separated list of id@hostname:port:directory, the same on all nodes.
    #[arg(short = 'I', long)]
    initial_controllers: Option<String>,
}

/// Why a command fails.
#[derive(Debug, thiserror::Error)]
enum StorageError {
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error(transparent)]
    Scram(#[from] ScramError),
    #[error(transparent)]
    MetadataVersion(#[from] UnknownMetadataVersion),
    #[error(
        "Because controller.quorum.voters is not set on this controller, you must specify one of the following: --standalone, \
         --initial-controllers, or --no-initial-controllers."
    )]
    ControllersUnsaid,
    #[error("Invalid feature format: {0}. Expected format: 'feature=version' (e.g. 'group.version=1')")]
    FeatureFormat(String),
    #[error("Invalid version format: {version} for feature {name}")]
    FeatureVersion { name: String, version: String },
    #[error("Unknown feature: {0}")]
    UnknownFeature(String),
    #[error("Feature level {level} is not supported for feature {name}")]
    UnknownLevel { name: String, level: i16 },
    #[error("'{0}' is no controller: expected id@hostname:port:directory")]
    InitialController(String),
    #[error("cannot write the output: {0}")]
    Output(#[from] io::Error),
}

/// Runs the command; what it finds goes to standard output, why it fails to standard error.
pub fn run(args: StorageArgs) -> ExitCode {
    let disk = RealDisk::new(HandleLimit::of_process());
    let mut tool = Tool {
        disk: &disk,
        rng: &mut SystemRng,
        now_ms: SystemClock.now_ms(),
        node: &|path| Ok(Node::of(&configuration::read(Some(path), &[])?.config)),
        out: &mut io::stdout().lock(),
    };
    match tool.execute(args.command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

struct Tool<'a> {
    disk: &'a dyn Disk,
    rng: &'a mut dyn Rng,
    now_ms: i64,
    node: &'a dyn Fn(&Path) -> Result<Node, ConfigurationError>,
    out: &'a mut dyn Write,
}

impl Tool<'_> {
    fn execute(&mut self, command: StorageCommand) -> Result<ExitCode, StorageError> {
        match command {
            StorageCommand::Info(args) => {
                let node = (self.node)(&args.config)?;
                return self.info(&node);
            }
            StorageCommand::Format(args) => {
                let node = (self.node)(&args.config.config)?;
                self.format(&node, &args)?;
            }
            StorageCommand::VersionMapping { release_version } => self.version_mapping(release_version.as_deref())?,
            StorageCommand::FeatureDependencies { feature } => self.feature_dependencies(&feature)?,
            StorageCommand::RandomUuid => writeln!(self.out, "{}", random_uuid(self.rng))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn format(&mut self, node: &Node, args: &FormatArgs) -> Result<(), StorageError> {
        let request = FormatRequest {
            cluster_id: args.cluster_id.clone(),
            controllers: controllers(&args.quorum)?,
            release_version: args.release_version.as_deref().map(MetadataVersion::parse).transpose()?,
            feature_levels: args.feature.iter().map(|text| feature_level(text)).collect::<Result<_, _>>()?,
            additional_records: self.credentials(&args.add_scram)?,
            ignore_formatted: args.ignore_formatted,
        };
        let unsaid = request.controllers == InitialControllers::Unsaid && !args.quorum.no_initial_controllers;
        if unsaid && node.is_controller && !node.has_static_voters {
            return Err(StorageError::ControllersUnsaid);
        }
        let formatted = format(node, &request, self.disk, self.rng, self.now_ms)?;
        self.print_formatted(&formatted)
    }

    fn credentials(&mut self, arguments: &[String]) -> Result<Vec<MetadataRecord>, ScramError> {
        arguments.iter().map(|argument| credential(argument, self.rng)).collect()
    }

    fn print_formatted(&mut self, formatted: &Formatted) -> Result<(), StorageError> {
        if formatted.directories.is_empty() {
            writeln!(self.out, "All of the log directories are already formatted.")?;
            return Ok(());
        }
        let levels = formatted.bootstrap.records().iter().filter_map(|record| match record {
            MetadataRecord::FeatureLevel(feature) => Some(format!("{}={}", feature.name, feature.feature_level)),
            _ => None,
        });
        writeln!(self.out, "Bootstrap metadata: {}", levels.collect::<Vec<_>>().join(", "))?;
        for (directory, kind) in &formatted.directories {
            let (kind, version) = (kind.description(), formatted.metadata_version);
            writeln!(self.out, "Formatting {kind} {} with metadata.version {version}.", directory.display())?;
        }
        Ok(())
    }

    fn info(&mut self, node: &Node) -> Result<ExitCode, StorageError> {
        let mut found = Vec::new();
        let mut problems = Vec::new();
        let mut first: Option<MetaProperties> = None;
        for directory in &node.directories {
            match self.inspect(directory, first.as_ref()) {
                Inspection::Missing(problem) => problems.push(problem),
                Inspection::Unusable(problem) => {
                    found.push(directory);
                    problems.push(problem);
                }
                Inspection::Formatted(properties) => {
                    found.push(directory);
                    first.get_or_insert(properties);
                }
            }
        }
        if !found.is_empty() {
            writeln!(self.out, "Found log {}:", if found.len() == 1 { "directory" } else { "directories" })?;
            for directory in found {
                writeln!(self.out, "  {}", directory.display())?;
            }
            writeln!(self.out)?;
        }
        if let Some(properties) = first {
            writeln!(self.out, "Found metadata: {}\n", describe(&properties))?;
        }
        if problems.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        writeln!(self.out, "Found {}:", if problems.len() == 1 { "problem" } else { "problems" })?;
        for problem in problems {
            writeln!(self.out, "  {problem}")?;
        }
        writeln!(self.out)?;
        Ok(ExitCode::FAILURE)
    }

    fn inspect(&self, directory: &Path, first: Option<&MetaProperties>) -> Inspection {
        let shown = directory.display();
        match self.disk.metadata(directory) {
            Ok(Some(metadata)) if metadata.kind == EntryKind::Directory => {}
            Ok(Some(_)) => return Inspection::Missing(format!("{shown} is not a directory")),
            Ok(None) => return Inspection::Missing(format!("{shown} does not exist")),
            Err(error) => return Inspection::Missing(format!("{shown} cannot be read: {error}")),
        }
        let properties = match MetaProperties::read(self.disk, directory) {
            Ok(Some(properties)) => properties,
            Ok(None) => return Inspection::Unusable(format!("{shown} is not formatted.")),
            Err(error) => {
                return Inspection::Unusable(format!("Error loading {}: {error}", directory.join(META_PROPERTIES).display()));
            }
        };
        if properties.version == 0 {
            return Inspection::Unusable(format!(
                "The configuration is for a cluster in KRaft mode, but {shown} is formatted for legacy mode."
            ));
        }
        match first {
            Some(first) if first.cluster_id != properties.cluster_id => {
                Inspection::Unusable("Mismatched cluster IDs between storage directories.".to_owned())
            }
            Some(first) if first.node_id != properties.node_id => {
                Inspection::Unusable("Mismatched node IDs between storage directories.".to_owned())
            }
            Some(_) | None => Inspection::Formatted(properties),
        }
    }

    fn version_mapping(&mut self, release_version: Option<&str>) -> Result<(), StorageError> {
        let version = release_version.map_or(Ok(MetadataVersion::LATEST), MetadataVersion::parse)?;
        let shown = release_version.map_or_else(|| version.to_string(), str::to_owned);
        writeln!(self.out, "metadata.version={} ({shown})", version.feature_level())?;
        for feature in FEATURES {
            writeln!(self.out, "{}={}", feature.name, feature.default_level(version))?;
        }
        Ok(())
    }

    fn feature_dependencies(&mut self, features: &[String]) -> Result<(), StorageError> {
        for text in features {
            let (name, level) = feature_level(text)?;
            if name == MetadataVersion::FEATURE_NAME {
                let version = MetadataVersion::from_feature_level(level)?;
                writeln!(self.out, "{name}={level} ({version}) has no dependencies.")?;
                continue;
            }
            let feature = Feature::by_name(&name).ok_or_else(|| StorageError::UnknownFeature(name.clone()))?;
            match feature.validate(level, MetadataVersion::MINIMUM) {
                Ok(()) => writeln!(self.out, "{name}={level} has no dependencies.")?,
                Err(FeatureLevelError::Dependency { required, .. }) => {
                    let version = MetadataVersion::from_feature_level(required)?;
                    writeln!(self.out, "{name}={level} requires:\n    metadata.version={required} ({version})")?;
                }
                Err(FeatureLevelError::NoSuchLevel { .. }) => return Err(StorageError::UnknownLevel { name, level }),
            }
        }
        Ok(())
    }
}

enum Inspection {
    Missing(String),
    Unusable(String),
    Formatted(MetaProperties),
}

/// As Java prints a sorted map.
fn describe(properties: &MetaProperties) -> String {
    let cluster_id = properties.cluster_id.as_ref().map(|id| format!("cluster.id={id}"));
    let directory_id = properties.directory_id.map(|id| format!("directory.id={id}"));
    let node_id = properties.node_id.map(|id| format!("node.id={id}"));
    let version = Some(format!("version={}", properties.version));
    let entries: Vec<_> = [cluster_id, directory_id, node_id, version].into_iter().flatten().collect();
    format!("{{{}}}", entries.join(", "))
}

fn controllers(args: &QuorumArgs) -> Result<InitialControllers, StorageError> {
    match &args.initial_controllers {
        Some(list) => Ok(InitialControllers::Listed(list.split(',').map(initial_controller).collect::<Result<_, _>>()?)),
        None if args.standalone => Ok(InitialControllers::Standalone),
        None => Ok(InitialControllers::Unsaid),
    }
}

/// Reads `id@hostname:port:directory`; an IPv6 address is in brackets (`DynamicVoter.parse`).
fn initial_controller(text: &str) -> Result<InitialController, StorageError> {
    let parse = || {
        let (id, rest) = text.trim().split_once('@')?;
        let (rest, directory_id) = rest.rsplit_once(':')?;
        let (host, port) = rest.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let node_id = id.parse().ok().filter(|id| *id >= 0)?;
        if host.is_empty() {
            return None;
        }
        Some(InitialController {
            node_id: BrokerId(node_id),
            directory_id: directory_id.parse().ok()?,
            endpoint: Endpoint { host: host.to_owned(), port: port.parse().ok()? },
        })
    };
    parse().ok_or_else(|| StorageError::InitialController(text.to_owned()))
}

fn feature_level(text: &str) -> Result<(String, i16), StorageError> {
    let (name, level) = text.split_once('=').ok_or_else(|| StorageError::FeatureFormat(text.to_owned()))?;
    let (name, level) = (name.trim().to_owned(), level.trim());
    match level.parse() {
        Ok(level) => Ok((name, level)),
        Err(_) => Err(StorageError::FeatureVersion { name, version: level.to_owned() }),
    }
}

#[cfg(test)]
mod tests;
