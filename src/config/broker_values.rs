//! The values of all broker keys, read and checked one by one. What they mean together is `broker_config`'s question.

use std::collections::BTreeMap;

use crate::invalid::InvalidConfig;
use crate::key::{KeyDefault, Scope};
use crate::table;
use crate::value::ConfigValue;

/// Keys and their text, as written or as stored in the metadata log.
pub type ConfigMap = BTreeMap<String, String>;

/// A value for each broker key; keys whose value is null are absent.
#[derive(Clone, Debug, PartialEq)]
pub struct BrokerValues {
    values: BTreeMap<&'static str, ConfigValue>,
}

impl BrokerValues {
    /// Reads what is set and takes the defaults for the rest. Unknown keys do not matter.
    pub(crate) fn parse(originals: &ConfigMap) -> Result<BrokerValues, InvalidConfig> {
        let mut values = BTreeMap::new();
        for key in table::keys(Scope::Broker).values().filter(|key| !key.is_dynamic_only) {
            let value = match (originals.get(key.name), &key.default) {
                (Some(text), _) => key.parse(text).map_err(|message| InvalidConfig::Value { key: key.name, message })?,
                (None, KeyDefault::Value(value)) => value.clone(),
                (None, KeyDefault::Null) => continue,
                (None, KeyDefault::Required) => return Err(InvalidConfig::Missing { key: key.name }),
            };
            values.insert(key.name, value);
        }
        Ok(BrokerValues { values })
    }

    /// The value, unless it is null.
    pub fn get(&self, name: &str) -> Option<&ConfigValue> {
        self.values.get(name)
    }

    /// All values that are not null.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ConfigValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    /// The value as a field of that type.
    pub(crate) fn read<T: FieldValue>(&self, name: &'static str) -> Result<T, InvalidConfig> {
        T::from_value(name, self.get(name))
    }

    /// A number, 0 if it is null.
    pub(crate) fn long(&self, name: &'static str) -> i64 {
        self.optional_long(name).unwrap_or(0)
    }

    /// A number, unless it is null.
    pub(crate) fn optional_long(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            ConfigValue::Int(number) => Some(i64::from(*number)),
            ConfigValue::Short(number) => Some(i64::from(*number)),
            ConfigValue::Long(number) => Some(*number),
            _ => None,
        }
    }

    /// Text, empty if it is null.
    pub(crate) fn text(&self, name: &'static str) -> &str {
        match self.get(name) {
            Some(ConfigValue::String(text) | ConfigValue::Class(text) | ConfigValue::Password(text)) => text,
            _ => "",
        }
    }

    /// A list, unless it is null.
    pub(crate) fn list(&self, name: &str) -> Option<&[String]> {
        match self.get(name)? {
            ConfigValue::List(items) => Some(items),
            _ => None,
        }
    }
}

/// A type that a typed configuration can have as a field.
pub(crate) trait FieldValue: Sized {
    /// Converts a value; the type of the key has been checked when it was read.
    fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<Self, InvalidConfig>;
}

fn unsuitable(name: &'static str, value: Option<&ConfigValue>) -> InvalidConfig {
    let shown = value.map_or_else(|| "null".to_owned(), ConfigValue::for_error);
    InvalidConfig::Value { key: name, message: format!("Invalid value {shown} for configuration {name}: it is too large here") }
}

macro_rules! number_field {
    ($($type:ty),*) => {$(
        impl FieldValue for $type {
            fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<$type, InvalidConfig> {
                let number = match value {
                    Some(ConfigValue::Int(number)) => i64::from(*number),
                    Some(ConfigValue::Short(number)) => i64::from(*number),
                    Some(ConfigValue::Long(number)) => *number,
                    _ => return Err(unsuitable(name, value)),
                };
                number.try_into().map_err(|_| unsuitable(name, value))
            }
        }
    )*};
}
number_field!(i16, i32, i64, usize);

impl FieldValue for f64 {
    fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<f64, InvalidConfig> {
        value.and_then(ConfigValue::as_number).ok_or_else(|| unsuitable(name, value))
    }
}

impl FieldValue for bool {
    fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<bool, InvalidConfig> {
        match value {
            Some(ConfigValue::Boolean(value)) => Ok(*value),
            _ => Err(unsuitable(name, value)),
        }
    }
}

impl FieldValue for String {
    fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<String, InvalidConfig> {
        match value {
            Some(ConfigValue::String(text) | ConfigValue::Class(text) | ConfigValue::Password(text)) => Ok(text.clone()),
            _ => Err(unsuitable(name, value)),
        }
    }
}

impl FieldValue for Vec<String> {
    fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<Vec<String>, InvalidConfig> {
        match value {
            Some(ConfigValue::List(items)) => Ok(items.clone()),
            _ => Err(unsuitable(name, value)),
        }
    }
}

impl<T: FieldValue> FieldValue for Option<T> {
    fn from_value(name: &'static str, value: Option<&ConfigValue>) -> Result<Option<T>, InvalidConfig> {
        value.map(|value| T::from_value(name, Some(value))).transpose()
    }
}
