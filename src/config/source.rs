//! Where configuration is written: a file, the environment, the command line. Turns the text of each into keys and values that know
//! where they come from. Opens no file and reads no environment.

use std::collections::BTreeMap;
use std::fmt;

use toml::de::{DeTable, DeValue};

use crate::properties;

/// A place that a value comes from. Displays as "server.properties, line 12".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A line of a file.
    File {
        /// The file's name, as the caller gave it.
        name: String,
        /// Counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment {
        /// Its name.
        variable: String,
    },
    /// `--override` on the command line.
    CommandLine,
    /// What Ottla takes where Kafka demands that the key is set.
    NodeDefault,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File { name, line } => write!(f, "{name}, line {line}"),
            Origin::Environment { variable } => write!(f, "environment variable {variable}"),
            Origin::CommandLine => f.write_str("--override"),
            Origin::NodeDefault => f.write_str("default"),
        }
    }
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcedValue {
    /// The text, as written.
    pub value: String,
    /// Where.
    pub origin: Origin,
}

/// Keys with values and places; of a key that was written twice, the last.
pub type SourcedConfig = BTreeMap<String, SourcedValue>;

/// Text that is no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// Not a properties file.
    #[error("{name}, {problem}")]
    Properties {
        /// The file's name.
        name: String,
        /// What is wrong, and on which line.
        problem: properties::PropertiesError,
    },
    /// Not TOML.
    #[error("{name}, line {line}: {problem}")]
    Toml {
        /// The file's name.
        name: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        problem: String,
    },
    /// A date, or a table within a list.
    #[error("{name}, line {line}: {key} must be text, a number, true, false or a list of those")]
    TomlValue {
        /// The file's name.
        name: String,
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// `--override` without `=`.
    #[error("--override {text}: expected key=value, for example --override num.partitions=3")]
    Override {
        /// What was given.
        text: String,
    },
}

/// Reads a `server.properties`.
pub fn from_properties(name: &str, text: &str) -> Result<SourcedConfig, SourceError> {
    let found = properties::parse(text).map_err(|problem| SourceError::Properties { name: name.to_owned(), problem })?;
    let sourced = |property: properties::Property| {
        let origin = Origin::File { name: name.to_owned(), line: property.line };
        (property.name, SourcedValue { value: property.value, origin })
    };
    Ok(found.into_iter().map(sourced).collect())
}

/// Reads TOML. `[log.retention] ms = 1`, `log.retention.ms = 1` and `"log.retention.ms" = 1` are the same key; a list is its items
/// with commas.
pub fn from_toml(name: &str, text: &str) -> Result<SourcedConfig, SourceError> {
    let line_of = |offset: usize| text.get(..offset).unwrap_or(text).matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| SourceError::Toml {
        name: name.to_owned(),
        line: error.span().map_or(1, |span| line_of(span.start)),
        problem: error.message().to_owned(),
    })?;
    let mut config = SourcedConfig::new();
    flatten(table.get_ref(), "", &mut |key, value, offset| {
        let line = line_of(offset);
        let value = toml_text(value).ok_or_else(|| SourceError::TomlValue { name: name.to_owned(), line, key: key.clone() })?;
        config.insert(key, SourcedValue { value, origin: Origin::File { name: name.to_owned(), line } });
        Ok(())
    })?;
    Ok(config)
}

type Visit<'a> = dyn FnMut(String, &DeValue<'_>, usize) -> Result<(), SourceError> + 'a;

fn flatten(table: &DeTable<'_>, prefix: &str, visit: &mut Visit<'_>) -> Result<(), SourceError> {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten(inner, &format!("{name}."), visit)?,
            value => visit(name, value, key.span().start)?,
        }
    }
    Ok(())
}

fn toml_text(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok()?.to_string(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Array(items) => {
            let items = items.iter().map(|item| match item.get_ref() {
                DeValue::Array(_) => None,
                item => toml_text(item),
            });
            items.collect::<Option<Vec<String>>>()?.join(",")
        }
        DeValue::Datetime(_) | DeValue::Table(_) => return None,
    })
}

/// Variables beginning with `KAFKA_` that do not configure the broker (`KafkaDockerWrapper`).
const NOT_BROKER_VARIABLES: [&str; 11] = [
    "KAFKA_VERSION",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_OPTS",
    "KAFKA_JMX_OPTS",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_JMX_HOSTNAME",
];

/// Picks the broker's keys out of environment variables, as the `apache/kafka` image does: `KAFKA_NUM_PARTITIONS` is
/// `num.partitions`, two underscores are one, three are a dash.
pub fn from_environment(variables: impl IntoIterator<Item = (String, String)>) -> SourcedConfig {
    let relevant = variables.into_iter().filter(|(name, _)| name.starts_with("KAFKA_") && !NOT_BROKER_VARIABLES.contains(&name.as_str()));
    let sourced = |(variable, value): (String, String)| {
        (environment_key(&variable), SourcedValue { value, origin: Origin::Environment { variable } })
    };
    relevant.map(sourced).collect()
}

fn environment_key(variable: &str) -> String {
    let name = variable.strip_prefix("KAFKA_").unwrap_or(variable);
    name.to_lowercase().replace('_', ".").replace("...", "-").replace("..", "_")
}

/// Reads `key=value` arguments.
pub fn from_overrides<'a>(overrides: impl IntoIterator<Item = &'a str>) -> Result<SourcedConfig, SourceError> {
    let mut config = SourcedConfig::new();
    for text in overrides {
        let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.trim().is_empty()) else {
            return Err(SourceError::Override { text: text.to_owned() });
        };
        config.insert(key.trim().to_owned(), SourcedValue { value: value.to_owned(), origin: Origin::CommandLine });
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'a>(config: &'a SourcedConfig, key: &str) -> (&'a str, String) {
        let found = &config[key];
        (&found.value, found.origin.to_string())
    }

    #[test]
    fn the_last_of_two_properties_counts() {
        let config = from_properties("server.properties", "a=1\nb=2\na=3").unwrap();
        assert_eq!(value(&config, "a"), ("3", "server.properties, line 3".to_owned()));
        let error = from_properties("server.properties", "a=1\nb=\\uzz").unwrap_err();
        assert_eq!(error.to_string(), "server.properties, line 2: \\uzz is not an escape; \\u wants four hexadecimal digits");
    }

    #[test]
    fn toml_tables_and_dotted_keys_are_the_same() {
        let text = "num.partitions = 3\n\"max.connections.per.ip\" = 5\n[log]\ndirs = [\"/a\", \"/b\"]\nretention.hours = 0x10\n\
                    [log.cleaner]\nenable = true\nmin.cleanable.ratio = 0.5\n";
        let config = from_toml("ottla.toml", text).unwrap();
        assert_eq!(value(&config, "num.partitions"), ("3", "ottla.toml, line 1".to_owned()));
        assert_eq!(value(&config, "max.connections.per.ip"), ("5", "ottla.toml, line 2".to_owned()));
        assert_eq!(value(&config, "log.dirs"), ("/a,/b", "ottla.toml, line 4".to_owned()));
        assert_eq!(value(&config, "log.retention.hours").0, "16");
        assert_eq!(value(&config, "log.cleaner.enable").0, "true");
        assert_eq!(value(&config, "log.cleaner.min.cleanable.ratio").0, "0.5");
        assert_eq!(config.len(), 6);
    }

    #[test]
    fn toml_errors_name_the_line() {
        let error = from_toml("ottla.toml", "a = 1\nb = \n").unwrap_err().to_string();
        assert!(error.starts_with("ottla.toml, line 2: "), "{error}");
        let error = from_toml("ottla.toml", "a = 1\nb = 2020-01-01\n").unwrap_err().to_string();
        assert_eq!(error, "ottla.toml, line 2: b must be text, a number, true, false or a list of those");
    }

    #[test]
    fn environment_variables_become_keys() {
        let variables =
            [("KAFKA_LOG_RETENTION_MS", "5"), ("KAFKA_A__B", "x"), ("KAFKA_A___B", "y"), ("KAFKA_HEAP_OPTS", "-Xmx1g"), ("PATH", "/bin")];
        let config = from_environment(variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(value(&config, "log.retention.ms"), ("5", "environment variable KAFKA_LOG_RETENTION_MS".to_owned()));
        assert_eq!(value(&config, "a_b").0, "x");
        assert_eq!(value(&config, "a-b").0, "y");
        assert_eq!(config.len(), 3);
    }

    #[test]
    fn overrides() {
        let config = from_overrides(["a=b=c", "d="]).unwrap();
        assert_eq!(value(&config, "a"), ("b=c", "--override".to_owned()));
        assert_eq!(value(&config, "d").0, "");
        assert!(from_overrides(["a"]).is_err());
        assert!(from_overrides(["=1"]).is_err());
    }
}
