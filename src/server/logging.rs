//! The process's log: lines of text or of JSON on standard error. What is logged is chosen by `OTTLA_LOG`, how by `OTTLA_LOG_FORMAT`, and
//! the choice can be changed while the process runs.

use std::io::{IsTerminal, stderr};

use thiserror::Error;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt, reload};

/// What is logged when nobody chooses.
const FILTER_DEFAULT: &str = "info";

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// Why the log cannot be set up as wanted.
#[derive(Debug, Error)]
pub enum LoggingError {
    /// `OTTLA_LOG` or a filter set later.
    #[error("OTTLA_LOG: `{filter}` is no filter ({reason}); examples are `info`, `debug` and `info,ottla_broker=debug`")]
    Filter {
        /// As given.
        filter: String,
        /// What is wrong with it.
        reason: String,
    },
    /// `OTTLA_LOG_FORMAT`.
    #[error("OTTLA_LOG_FORMAT: `{0}` is unknown; it is `text` or `json`")]
    Format(String),
    /// The log was set up before.
    #[error("the log was already set up: {0}")]
    AlreadySetUp(#[from] TryInitError),
    /// The log is gone.
    #[error("the log cannot be changed: {0}")]
    Reload(#[from] reload::Error),
}

/// What the environment says of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// `OTTLA_LOG`: a level, or a comma-separated list of `target=level`.
    pub filter: Option<String>,
    /// `OTTLA_LOG_FORMAT`.
    pub format: LogFormat,
}

impl LogSettings {
    /// Looks the settings up, e.g. in the environment.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<LogSettings, LoggingError> {
        let format = match lookup("OTTLA_LOG_FORMAT").as_deref() {
            None | Some("" | "text") => LogFormat::Text,
            Some("json") => LogFormat::Json,
            Some(other) => return Err(LoggingError::Format(other.to_owned())),
        };
        Ok(LogSettings { filter: lookup("OTTLA_LOG").filter(|filter| !filter.is_empty()), format })
    }
}

/// Changes what is logged.
#[derive(Clone, Debug)]
pub struct LogControl {
    filter: reload::Handle<EnvFilter, Registry>,
}

impl LogControl {
    /// Replaces the filter, in the form of `OTTLA_LOG`.
    pub fn set_filter(&self, filter: &str) -> Result<(), LoggingError> {
        Ok(self.filter.reload(parse(filter)?)?)
    }

    /// The filter in force.
    pub fn filter(&self) -> Result<String, LoggingError> {
        Ok(self.filter.with_current(ToString::to_string)?)
    }
}

/// Sets up the process's log.
pub fn set_up(settings: &LogSettings) -> Result<LogControl, LoggingError> {
    let (filter, control) = reload::Layer::new(parse(settings.filter.as_deref().unwrap_or(FILTER_DEFAULT))?);
    let lines: Box<dyn Layer<_> + Send + Sync> = match settings.format {
        LogFormat::Text => fmt::layer().with_writer(stderr).with_ansi(stderr().is_terminal()).with_target(false).boxed(),
        LogFormat::Json => fmt::layer().with_writer(stderr).json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).try_init()?;
    Ok(LogControl { filter: control })
}

fn parse(filter: &str) -> Result<EnvFilter, LoggingError> {
    EnvFilter::try_new(filter).map_err(|reason| LoggingError::Filter { filter: filter.to_owned(), reason: reason.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_checked() {
        let settings = |filter: &'static str, format: &'static str| {
            LogSettings::from_lookup(move |name| Some(if name == "OTTLA_LOG" { filter } else { format }.to_owned()))
        };
        let expected = LogSettings { filter: Some("debug".to_owned()), format: LogFormat::Json };
        assert_eq!(settings("debug", "json").unwrap(), expected);
        assert_eq!(LogSettings::from_lookup(|_| None).unwrap(), LogSettings::default());
        assert_eq!(settings("", "xml").unwrap_err().to_string(), "OTTLA_LOG_FORMAT: `xml` is unknown; it is `text` or `json`");
        assert!(parse("info,ottla_broker=loud").unwrap_err().to_string().starts_with("OTTLA_LOG: `info,ottla_broker=loud` is no filter"));
    }
}
