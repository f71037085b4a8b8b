//! What a key accepts beyond its type, and the sentences for what it does not: Kafka's words for clients, plain ones for whoever
//! writes a configuration file.

use std::fmt;

use crate::address;
use crate::duration::parse_iso_duration_ms;
use crate::value::ConfigValue;

/// A rule on a value (`ConfigDef.Validator`).
#[derive(Clone, Debug, PartialEq)]
pub enum Validator {
    /// Everything of the type.
    Any,
    /// Numbers from this one on.
    AtLeast(f64),
    /// Numbers from the first to the second, both included.
    Between(f64, f64),
    /// These texts.
    OneOf(Vec<&'static str>),
    /// These texts, in capitals or not.
    OneOfAnyCase(Vec<&'static str>),
    /// A list without empty items (`ConfigDef.ValidList`); repeated items are dropped when it is read.
    List {
        /// Whether the list must have an item.
        non_empty: bool,
        /// Whether the value may be absent.
        nullable: bool,
        /// The items that are allowed; all if there are none here.
        items: Vec<&'static str>,
    },
    /// Text that is not empty.
    NonEmpty,
    /// Text, and not absent.
    NonNull,
    /// `-1` or 1 to 9.
    GzipLevel,
    /// `*`, or `partition:broker` items.
    ThrottledReplicas,
    /// `earliest`, `latest` or `by_duration:` with an ISO 8601 duration.
    ShareOffsetReset,
    /// Items `id@host:port`.
    QuorumVoters,
    /// Items `host:port`.
    BootstrapServers,
}

impl Validator {
    /// Reads the notation of the tables of keys.
    pub(crate) fn from_table(text: &'static str) -> Option<Validator> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        let items = |text: &'static str| text.split('|').filter(|item| !item.is_empty()).collect();
        Some(match word {
            "any" => Validator::Any,
            "at-least" => Validator::AtLeast(rest.parse().ok()?),
            "between" => {
                let (first, last) = rest.split_once(' ')?;
                Validator::Between(first.parse().ok()?, last.parse().ok()?)
            }
            "one-of" => Validator::OneOf(items(rest)),
            "one-of-any-case" => Validator::OneOfAnyCase(items(rest)),
            "list" => {
                let (flags, allowed) = rest.split_once("of ").unwrap_or((rest, ""));
                Validator::List { non_empty: flags.contains("non-empty"), nullable: flags.contains("nullable"), items: items(allowed) }
            }
            "non-empty" => Validator::NonEmpty,
            "non-null" => Validator::NonNull,
            "gzip-level" => Validator::GzipLevel,
            "throttled-replicas" => Validator::ThrottledReplicas,
            "share-offset-reset" => Validator::ShareOffsetReset,
            "quorum-voters" => Validator::QuorumVoters,
            "bootstrap-servers" => Validator::BootstrapServers,
            _ => return None,
        })
    }

    /// Checks a value that is present. The error is Kafka's whole message.
    pub(crate) fn check(&self, name: &str, value: &ConfigValue) -> Result<(), String> {
        let invalid = |why: String| Err(format!("Invalid value {} for configuration {name}: {why}", value.for_error()));
        let number = value.as_number().unwrap_or(0.0);
        match (self, value) {
            (Validator::AtLeast(first) | Validator::Between(first, _), _) if number < *first => {
                invalid(format!("Value must be at least {first}"))
            }
            (Validator::Between(_, last), _) if number > *last => invalid(format!("Value must be no more than {last}")),
            (Validator::OneOf(allowed), ConfigValue::String(text)) if !allowed.contains(&text.as_str()) => {
                invalid(format!("String must be one of: {}", allowed.join(", ")))
            }
            (Validator::OneOfAnyCase(allowed), ConfigValue::String(text)) if !allowed.contains(&text.to_uppercase().as_str()) => {
                invalid(format!("String must be one of (case insensitive): {}", allowed.join(", ")))
            }
            (Validator::List { non_empty, items, .. }, ConfigValue::List(values)) => check_list(name, values, *non_empty, items),
            (Validator::NonEmpty, ConfigValue::String(text)) if text.is_empty() => invalid("String must be non-empty".to_owned()),
            (Validator::GzipLevel, _) if !(number == -1.0 || (1.0..=9.0).contains(&number)) => {
                invalid("Value must be between 1 and 9 or equal to -1".to_owned())
            }
            (Validator::ThrottledReplicas, ConfigValue::List(values)) if !are_throttled_replicas(values) => invalid(format!(
                "{name} must be the literal '*' or a list of replicas in the following format: \
                 [partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )),
            (Validator::ShareOffsetReset, ConfigValue::String(text)) if !is_share_offset_reset(text) => invalid(format!(
                "Invalid value `{text}` for configuration {name}. The value must be either 'earliest', 'latest' or of the format \
                 'by_duration:<PnDTnHnMn.nS>'."
            )),
            (Validator::QuorumVoters, ConfigValue::List(values)) => {
                values.iter().try_for_each(|voter| address::QuorumVoter::parse(voter).map(drop))
            }
            (Validator::BootstrapServers, ConfigValue::List(values)) => {
                values.iter().try_for_each(|server| address::parse_bootstrap_server(server).map(drop))
            }
            _ => Ok(()),
        }
    }

    /// Whether repeated items are dropped when a list is read.
    pub(crate) fn drops_duplicates(&self) -> bool {
        matches!(self, Validator::List { .. })
    }
}

/// What is accepted, for people: ", at least 1".
impl fmt::Display for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Validator::Any | Validator::NonNull => Ok(()),
            Validator::AtLeast(first) => write!(f, ", at least {first}"),
            Validator::Between(first, last) => write!(f, ", {first} to {last}"),
            Validator::OneOf(allowed) | Validator::OneOfAnyCase(allowed) => write!(f, ": {}", allowed.join(", ")),
            Validator::List { non_empty, items, .. } => {
                if *non_empty {
                    f.write_str(", not empty")?;
                }
                if items.is_empty() { Ok(()) } else { write!(f, " of: {}", items.join(", ")) }
            }
            Validator::NonEmpty => f.write_str(", not empty"),
            Validator::GzipLevel => f.write_str(", 1 to 9 or -1"),
            Validator::ThrottledReplicas => f.write_str(" of partition:broker, or *"),
            Validator::ShareOffsetReset => f.write_str(": earliest, latest, by_duration:PnDTnHnMn.nS"),
            Validator::QuorumVoters => f.write_str(" of id@host:port"),
            Validator::BootstrapServers => f.write_str(" of host:port"),
        }
    }
}

fn check_list(name: &str, values: &[String], non_empty: bool, allowed: &[&str]) -> Result<(), String> {
    if non_empty && values.is_empty() {
        let valid = if allowed.is_empty() { "any non-empty value".to_owned() } else { format!("[{}]", allowed.join(", ")) };
        return Err(format!("Configuration '{name}' must not be empty. Valid values include: {valid}"));
    }
    for value in values {
        if value.is_empty() {
            return Err(format!("Configuration '{name}' values must not be empty."));
        }
        if !allowed.is_empty() && !allowed.contains(&value.as_str()) {
            return Err(format!("Invalid value {value} for configuration {name}: String must be one of: {}", allowed.join(", ")));
        }
    }
    Ok(())
}

fn are_throttled_replicas(values: &[String]) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_replica = |item: &String| item.is_empty() || item.split_once(':').is_some_and(|(id, broker)| is_number(id) && is_number(broker));
    values.iter().all(is_replica) || values.concat() == "*"
}

fn is_share_offset_reset(text: &str) -> bool {
    match text.strip_prefix("by_duration:") {
        Some(duration) => parse_iso_duration_ms(duration).is_some_and(|duration_ms| duration_ms >= 0),
        None => text == "earliest" || text == "latest",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notation_of_the_tables_is_read() {
        assert_eq!(Validator::from_table("between 0 0.5"), Some(Validator::Between(0.0, 0.5)));
        let roles = Validator::List { non_empty: true, nullable: false, items: vec!["broker", "controller"] };
        assert_eq!(Validator::from_table("list non-empty of broker|controller"), Some(roles));
        let dirs = Validator::List { non_empty: true, nullable: true, items: Vec::new() };
        assert_eq!(Validator::from_table("list non-empty nullable"), Some(dirs));
        assert_eq!(Validator::from_table("some"), None);
        assert_eq!(Validator::from_table("between 1"), None);
    }

    #[test]
    fn a_list_that_must_not_be_empty_says_what_it_takes() {
        let any = Validator::List { non_empty: true, nullable: false, items: Vec::new() };
        let error = any.check("log.dirs", &ConfigValue::List(Vec::new()));
        assert_eq!(error, Err("Configuration 'log.dirs' must not be empty. Valid values include: any non-empty value".to_owned()));
    }
}
