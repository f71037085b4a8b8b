//! Java's `.properties` format (`java.util.Properties.load`), from text to pairs. Knows no keys.

/// A pair, and the line that it begins on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// The name.
    pub name: String,
    /// The value; empty if there is none.
    pub value: String,
    /// Counted from 1.
    pub line: usize,
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text} is not an escape; \\u wants four hexadecimal digits")]
pub struct PropertiesError {
    /// Counted from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
}

/// Reads all pairs, in their order. The same name may come more than once; the last one counts.
pub fn parse(text: &str) -> Result<Vec<Property>, PropertiesError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut properties = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let mut logical = line.trim_start_matches(is_blank).to_owned();
        if logical.is_empty() || logical.starts_with(['#', '!']) {
            continue;
        }
        while ends_with_continuation(&logical) {
            logical.pop();
            match lines.next() {
                Some((_, next)) => logical.push_str(next.trim_start_matches(is_blank)),
                None => break,
            }
        }
        properties.push(split(&logical, index + 1)?);
    }
    Ok(properties)
}

/// A backslash at the end joins the next line, unless it is itself escaped.
fn ends_with_continuation(line: &str) -> bool {
    line.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1
}

fn split(line: &str, number: usize) -> Result<Property, PropertiesError> {
    let end = name_end(line);
    let rest = line[end..].trim_start_matches(is_blank);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(is_blank);
    Ok(Property { name: unescape(&line[..end], number)?, value: unescape(value, number)?, line: number })
}

/// The name ends at the first blank, `=` or `:` that has no backslash before it.
fn name_end(line: &str) -> usize {
    let mut escaped = false;
    for (index, character) in line.char_indices() {
        if !escaped && (is_blank(character) || character == '=' || character == ':') {
            return index;
        }
        escaped = !escaped && character == '\\';
    }
    line.len()
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\u{c}')
}

fn unescape(text: &str, line: usize) -> Result<String, PropertiesError> {
    // Escapes are UTF-16 units: a pair of them may make one character.
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut characters = text.chars();
    let mut buffer = [0; 2];
    while let Some(character) = characters.next() {
        let plain = match character {
            '\\' => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\u{c}',
                Some('u') => {
                    let digits: String = characters.by_ref().take(4).collect();
                    let is_hexadecimal = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
                    let unit = if is_hexadecimal { u16::from_str_radix(&digits, 16).ok() } else { None };
                    units.push(unit.ok_or_else(|| PropertiesError { line, text: format!("\\u{digits}") })?);
                    continue;
                }
                Some(other) => other,
                None => continue,
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut buffer));
    }
    Ok(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String, usize)> {
        parse(text).unwrap().into_iter().map(|property| (property.name, property.value, property.line)).collect()
    }

    #[test]
    fn pairs_comments_and_separators() {
        let text = "# a comment\n! another\n\nnode.id=1\nlog.dirs : /a,/b\n  num.partitions 3  \nempty\nempty2 =\na=b=c\r\n";
        let expected = [
            ("node.id", "1", 4),
            ("log.dirs", "/a,/b", 5),
            ("num.partitions", "3  ", 6),
            ("empty", "", 7),
            ("empty2", "", 8),
            ("a", "b=c", 9),
        ];
        assert_eq!(pairs(text), expected.map(|(name, value, line)| (name.to_owned(), value.to_owned(), line)));
    }

    #[test]
    fn lines_are_continued_and_counted() {
        let text = "listeners=PLAINTEXT://:9092,\\\n    CONTROLLER://:9093\nnext=1\nodd=a\\\\\nlast=x\\";
        let found = pairs(text);
        assert_eq!(found[0], ("listeners".to_owned(), "PLAINTEXT://:9092,CONTROLLER://:9093".to_owned(), 1));
        assert_eq!(found[1], ("next".to_owned(), "1".to_owned(), 3));
        assert_eq!(found[2], ("odd".to_owned(), "a\\".to_owned(), 4));
        assert_eq!(found[3], ("last".to_owned(), "x".to_owned(), 5));
    }

    #[test]
    fn escapes() {
        assert_eq!(pairs("a\\=b\\ c=\\u00e9\\t\\q\\ud83d\\ude00"), [("a=b c".to_owned(), "é\tq😀".to_owned(), 1)]);
        assert_eq!(parse("x=1\ny=\\u12"), Err(PropertiesError { line: 2, text: "\\u12".to_owned() }));
        assert!(parse("y=\\u+123").is_err());
    }
}
