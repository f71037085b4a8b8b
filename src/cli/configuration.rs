//! Reads a node's configuration: the file, the environment and the overrides of the command line. What they mean is `ottla-config`'s.

use std::io;
use std::path::{Path, PathBuf};

use ottla_config::{ConfigFile, ConfigSources, FileFormat, LoadError, LoadedConfig, load};
use thiserror::Error;

/// Why there is no configuration.
#[derive(Debug, Error)]
pub enum ConfigurationError {
    /// The file.
    #[error("the configuration file {} cannot be read: {source}", .path.display())]
    File {
        /// As given.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// A key or a value.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// Reads the file, if one is given, and what is set over it.
pub fn read(path: Option<&Path>, overrides: &[String]) -> Result<LoadedConfig, ConfigurationError> {
    let name = path.map(|path| path.display().to_string()).unwrap_or_default();
    let text = match path {
        Some(path) => std::fs::read_to_string(path).map_err(|source| ConfigurationError::File { path: path.to_owned(), source })?,
        None => String::new(),
    };
    let sources = ConfigSources {
        file: path.map(|_| ConfigFile { name: &name, format: FileFormat::of_name(&name), text: &text }),
        environment: environment(),
        overrides: overrides.iter().map(String::as_str).collect(),
    };
    Ok(load(&sources)?)
}

/// The environment, without what is not text: no key of Kafka's is.
fn environment() -> Vec<(String, String)> {
    let variables = std::env::vars_os();
    variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect()
}
