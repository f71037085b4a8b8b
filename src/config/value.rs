//! The value of a configuration key: its type, how it is read from text and written back. Knows nothing of single keys.

use std::fmt;

/// The type of a key's value (`ConfigDef.Type`), with the numbers of `DescribeConfigsResponse.ConfigType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum ConfigType {
    /// `true` or `false`.
    Boolean = 1,
    /// Text.
    String = 2,
    /// A 32-bit number.
    Int = 3,
    /// A 16-bit number.
    Short = 4,
    /// A 64-bit number.
    Long = 5,
    /// A number with a fraction.
    Double = 6,
    /// Items with commas between them.
    List = 7,
    /// The name of a Java class.
    Class = 8,
    /// A secret, never shown.
    Password = 9,
}

impl ConfigType {
    /// The number that DescribeConfigs answers.
    pub fn id(self) -> i8 {
        self as i8
    }

    /// The name in the tables of keys and in the reference.
    pub fn name(self) -> &'static str {
        match self {
            ConfigType::Boolean => "boolean",
            ConfigType::String => "string",
            ConfigType::Int => "int",
            ConfigType::Short => "short",
            ConfigType::Long => "long",
            ConfigType::Double => "double",
            ConfigType::List => "list",
            ConfigType::Class => "class",
            ConfigType::Password => "password",
        }
    }

    /// The type of that name.
    pub(crate) fn from_name(name: &str) -> Option<ConfigType> {
        use ConfigType::*;
        [Boolean, String, Int, Short, Long, Double, List, Class, Password].into_iter().find(|kind| kind.name() == name)
    }

    /// Reads a value as `ConfigDef.parseType` does: blanks around it do not count. The error says why not, in Kafka's words.
    pub(crate) fn parse(self, text: &str) -> Result<ConfigValue, String> {
        let text = trim(text);
        let not_a_number = || format!("Not a number of type {}", self.name().to_uppercase());
        Ok(match self {
            ConfigType::Boolean if text.eq_ignore_ascii_case("true") => ConfigValue::Boolean(true),
            ConfigType::Boolean if text.eq_ignore_ascii_case("false") => ConfigValue::Boolean(false),
            ConfigType::Boolean => return Err("Expected value to be either true or false".to_owned()),
            ConfigType::String => ConfigValue::String(text.to_owned()),
            ConfigType::Int => ConfigValue::Int(text.parse().map_err(|_| not_a_number())?),
            ConfigType::Short => ConfigValue::Short(text.parse().map_err(|_| not_a_number())?),
            ConfigType::Long => ConfigValue::Long(text.parse().map_err(|_| not_a_number())?),
            ConfigType::Double => ConfigValue::Double(parse_double(text).ok_or_else(not_a_number)?),
            ConfigType::List => ConfigValue::List(split_list(text)),
            ConfigType::Class => ConfigValue::Class(text.to_owned()),
            ConfigType::Password => ConfigValue::Password(text.to_owned()),
        })
    }
}

/// A value that has been read. Displays as Kafka writes it (`ConfigDef.convertToString`).
#[derive(Clone, PartialEq)]
pub enum ConfigValue {
    /// Of [`ConfigType::Boolean`].
    Boolean(bool),
    /// Of [`ConfigType::String`].
    String(String),
    /// Of [`ConfigType::Int`].
    Int(i32),
    /// Of [`ConfigType::Short`].
    Short(i16),
    /// Of [`ConfigType::Long`].
    Long(i64),
    /// Of [`ConfigType::Double`].
    Double(f64),
    /// Of [`ConfigType::List`].
    List(Vec<String>),
    /// Of [`ConfigType::Class`].
    Class(String),
    /// Of [`ConfigType::Password`]. Displays as a placeholder; the secret is the field.
    Password(String),
}

impl ConfigValue {
    /// The value as a number, if it is one.
    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            ConfigValue::Int(number) => Some(f64::from(*number)),
            ConfigValue::Short(number) => Some(f64::from(*number)),
            // As Java's Number.doubleValue: bounds are compared as doubles.
            ConfigValue::Long(number) => Some(*number as f64),
            ConfigValue::Double(number) => Some(*number),
            ConfigValue::Boolean(_) | ConfigValue::String(_) | ConfigValue::List(_) | ConfigValue::Class(_) | ConfigValue::Password(_) => {
                None
            }
        }
    }

    /// The value as Java's `toString` shows it in an error: a list in brackets.
    pub(crate) fn for_error(&self) -> String {
        match self {
            ConfigValue::List(items) => format!("[{}]", items.join(", ")),
            other => other.to_string(),
        }
    }
}

impl fmt::Display for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigValue::Boolean(value) => write!(f, "{value}"),
            ConfigValue::Int(value) => write!(f, "{value}"),
            ConfigValue::Short(value) => write!(f, "{value}"),
            ConfigValue::Long(value) => write!(f, "{value}"),
            ConfigValue::Double(value) => f.write_str(&double_to_string(*value)),
            ConfigValue::String(value) | ConfigValue::Class(value) => f.write_str(value),
            ConfigValue::List(items) => f.write_str(&items.join(",")),
            ConfigValue::Password(_) => f.write_str("[hidden]"),
        }
    }
}

impl fmt::Debug for ConfigValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Java's `String.trim`: everything up to the blank goes, and nothing else.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character| character <= ' ')
}

/// The items of a list, blanks around them dropped. Empty text is the empty list; `a,` has an empty second item.
pub(crate) fn split_list(text: &str) -> Vec<String> {
    if trim(text).is_empty() {
        return Vec::new();
    }
    text.split(',').map(|item| trim(item).to_owned()).collect()
}

/// Java's `Double.parseDouble`, without hexadecimal: a suffix f or d is allowed, Rust's spellings of infinity are not.
fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "NaN" || unsigned == "Infinity" {
        return text.parse().ok();
    }
    let digits = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if is_plain { digits.parse().ok() } else { None }
}

/// Java's `Double.toString`: plain from 10^-3 to below 10^7, with at least one digit behind the point; else scientific.
fn double_to_string(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".to_owned() } else { "-Infinity".to_owned() };
    }
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return format!("{value:?}");
    }
    let scientific = format!("{value:E}");
    match scientific.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => scientific,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_java_writes_them() {
        let cases = [
            (0.5, "0.5"),
            (1.0, "1.0"),
            (0.0, "0.0"),
            (0.001, "0.001"),
            (0.0001, "1.0E-4"),
            (1e7, "1.0E7"),
            (9_999_999.5, "9999999.5"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NAN, "NaN"),
        ];
        for (value, text) in cases {
            assert_eq!(ConfigValue::Double(value).to_string(), text);
        }
    }

    #[test]
    fn numbers_are_read_as_java_reads_them() {
        assert_eq!(ConfigType::Int.parse(" +1048577 "), Ok(ConfigValue::Int(1_048_577)));
        assert_eq!(ConfigType::Int.parse("2147483648"), Err("Not a number of type INT".to_owned()));
        assert_eq!(ConfigType::Short.parse("40000"), Err("Not a number of type SHORT".to_owned()));
        assert_eq!(ConfigType::Double.parse(".5f"), Ok(ConfigValue::Double(0.5)));
        assert_eq!(ConfigType::Double.parse("inf"), Err("Not a number of type DOUBLE".to_owned()));
        assert_eq!(ConfigType::Double.parse("NaN").map(|value| value.to_string()), Ok("NaN".to_owned()));
        assert_eq!(ConfigType::Boolean.parse("TRUE"), Ok(ConfigValue::Boolean(true)));
        assert_eq!(ConfigType::Boolean.parse(""), Err("Expected value to be either true or false".to_owned()));
    }

    #[test]
    fn lists_keep_empty_items_and_drop_blanks() {
        assert_eq!(split_list(" a , b,,c "), ["a", "b", "", "c"]);
        assert_eq!(split_list("a,"), ["a", ""]);
        assert_eq!(split_list("  "), Vec::<String>::new());
    }

    #[test]
    fn a_secret_is_not_shown() {
        let secret = ConfigValue::Password("s3cret".to_owned());
        assert_eq!(format!("{secret} {secret:?} {}", secret.for_error()), "[hidden] [hidden] [hidden]");
    }
}
