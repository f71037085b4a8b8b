//! The process's log: lines of text or of JSON on standard error. What is logged is chosen by `OTTLA_LOG`, how by `OTTLA_LOG_FORMAT`, and
//! the choice can be changed while the process runs.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stderr};

use ottla_broker::Loggers;
use parking_lot::Mutex;
use thiserror::Error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::{ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, fmt, reload};

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
    /// `OTTLA_LOG`.
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
    /// No logger has this name.
    #[error("Logger {0} does not exist!")]
    UnknownLogger(String),
    /// The root's level would be taken away.
    #[error("Removing the log level of the root logger is not allowed")]
    RootWithoutLevel,
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

/// The name of the logger that stands for all that have no level of their own. Kafka calls it so.
pub const ROOT_LOGGER: &str = "root";

/// The loggers whose level can be set, one per room of the source.
pub const LOGGERS: &[&str] = &[
    "ottla",
    "ottla_broker",
    "ottla_controller",
    "ottla_coordinator",
    "ottla_io",
    "ottla_log",
    "ottla_metadata",
    "ottla_raft",
    "ottla_server",
];

/// What is logged, and how to change it while the process runs.
#[derive(Debug)]
pub struct LogControl {
    filter: reload::Handle<Targets, Registry>,
    current: Mutex<Targets>,
}

impl LogControl {
    /// Every logger with the level in force, by name.
    pub fn levels(&self) -> BTreeMap<&'static str, LevelFilter> {
        levels(&self.current.lock())
    }

    /// Gives a logger its own level, or with `None` that of the root. The root always has one.
    pub fn set_level(&self, logger: &str, level: Option<LevelFilter>) -> Result<(), LoggingError> {
        let mut current = self.current.lock();
        let changed = with_level(&current, logger, level)?;
        self.filter.reload(changed.clone())?;
        *current = changed;
        Ok(())
    }
}

fn levels(filter: &Targets) -> BTreeMap<&'static str, LevelFilter> {
    let root = filter.default_level().unwrap_or(LevelFilter::OFF);
    let own = |logger: &str| filter.iter().find(|(target, _)| *target == logger).map(|(_, level)| level);
    let rooms = LOGGERS.iter().map(|&logger| (logger, own(logger).unwrap_or(root)));
    rooms.chain([(ROOT_LOGGER, root)]).collect()
}

fn with_level(filter: &Targets, logger: &str, level: Option<LevelFilter>) -> Result<Targets, LoggingError> {
    if logger == ROOT_LOGGER {
        return Ok(filter.clone().with_default(level.ok_or(LoggingError::RootWithoutLevel)?));
    }
    if !LOGGERS.contains(&logger) {
        return Err(LoggingError::UnknownLogger(logger.to_owned()));
    }
    let others = filter.iter().filter(|(target, _)| *target != logger).map(|(target, level)| (target.to_owned(), level));
    let own = level.map(|level| (logger.to_owned(), level));
    Ok(Targets::new().with_targets(others.chain(own)).with_default(filter.default_level().unwrap_or(LevelFilter::OFF)))
}

impl Loggers for LogControl {
    fn levels(&self) -> Vec<(String, String)> {
        LogControl::levels(self).into_iter().map(|(logger, level)| (logger.to_owned(), level.to_string().to_uppercase())).collect()
    }

    fn set_level(&self, logger: &str, level: Option<&str>) -> Result<(), String> {
        let level = match level {
            None => None,
            // Kafka's most severe level has no counterpart of its own.
            Some("FATAL") => Some(LevelFilter::ERROR),
            Some(name) => Some(
                name.parse().map_err(|_| format!("Cannot set the log level of {logger} to {name} as it is not a supported log level."))?,
            ),
        };
        LogControl::set_level(self, logger, level).map_err(|error| error.to_string())
    }
}

/// Sets up the process's log.
pub fn set_up(settings: &LogSettings) -> Result<LogControl, LoggingError> {
    let current = parse(settings.filter.as_deref().unwrap_or(FILTER_DEFAULT))?;
    let (filter, handle) = reload::Layer::new(current.clone());
    let lines: Box<dyn Layer<_> + Send + Sync> = match settings.format {
        LogFormat::Text => fmt::layer().with_writer(stderr).with_ansi(stderr().is_terminal()).with_target(false).boxed(),
        LogFormat::Json => fmt::layer().with_writer(stderr).json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry().with(filter).with(lines).try_init()?;
    Ok(LogControl { filter: handle, current: Mutex::new(current) })
}

fn parse(filter: &str) -> Result<Targets, LoggingError> {
    filter.parse().map_err(|reason: ParseError| LoggingError::Filter { filter: filter.to_owned(), reason: reason.to_string() })
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

    #[test]
    fn loggers_have_their_own_level_or_that_of_the_root() {
        let filter = parse("warn,ottla_broker=debug").unwrap();
        let of = |filter: &Targets, logger| levels(filter)[logger];
        assert_eq!(
            (of(&filter, "ottla_broker"), of(&filter, "ottla_log"), of(&filter, "root")),
            (LevelFilter::DEBUG, LevelFilter::WARN, LevelFilter::WARN)
        );
        let filter = with_level(&filter, "ottla_log", Some(LevelFilter::TRACE)).unwrap();
        let filter = with_level(&filter, "root", Some(LevelFilter::ERROR)).unwrap();
        let filter = with_level(&filter, "ottla_broker", None).unwrap();
        assert_eq!(
            (of(&filter, "ottla_broker"), of(&filter, "ottla_log"), of(&filter, "root")),
            (LevelFilter::ERROR, LevelFilter::TRACE, LevelFilter::ERROR)
        );
        assert!(filter.would_enable("ottla_log::segment", &tracing::Level::TRACE));
        assert!(!filter.would_enable("ottla_broker", &tracing::Level::WARN));
        assert_eq!(with_level(&filter, "kafka", None).unwrap_err().to_string(), "Logger kafka does not exist!");
        assert!(matches!(with_level(&filter, "root", None), Err(LoggingError::RootWithoutLevel)));
    }
}
