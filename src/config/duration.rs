//! ISO 8601 durations as Java's `Duration.parse` reads them. Used for `share.auto.offset.reset`.

/// The duration in milliseconds, rounded towards zero; `None` if the text is none, or too long to count.
pub(crate) fn parse_iso_duration_ms(text: &str) -> Option<i64> {
    let upper = text.to_ascii_uppercase();
    let (sign, rest) = match upper.as_bytes().first()? {
        b'-' => (-1, &upper[1..]),
        b'+' => (1, &upper[1..]),
        _ => (1, upper.as_str()),
    };
    let rest = rest.strip_prefix('P')?;
    let (date, time) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((date, time)) => (date, time),
        None => (rest, ""),
    };
    if date.is_empty() && time.is_empty() {
        return None;
    }
    let mut total_ms: i64 = 0;
    let units: [(&str, &[(char, i64)]); 2] = [(date, &[('D', 86_400_000)]), (time, &[('H', 3_600_000), ('M', 60_000), ('S', 1000)])];
    for (mut part, units) in units {
        for (unit, unit_ms) in units {
            let Some(end) = part.find(*unit) else { continue };
            total_ms = total_ms.checked_add(amount_ms(&part[..end], *unit, *unit_ms)?)?;
            part = &part[end + 1..];
        }
        if !part.is_empty() {
            return None;
        }
    }
    total_ms.checked_mul(sign)
}

/// `-3`, or with seconds also `2.5`, in milliseconds.
fn amount_ms(amount: &str, unit: char, unit_ms: i64) -> Option<i64> {
    let (whole, fraction) = match amount.split_once(['.', ',']) {
        Some((whole, fraction)) if unit == 'S' => (whole, fraction),
        Some(_) => return None,
        None => (amount, ""),
    };
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let fraction_ms: i64 = if fraction.is_empty() { 0 } else { format!("{fraction:0<3}")[..3].parse().ok()? };
    let whole_ms = whole.parse::<i64>().ok()?.checked_mul(unit_ms)?;
    if whole.starts_with('-') { whole_ms.checked_sub(fraction_ms) } else { whole_ms.checked_add(fraction_ms) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_as_java_reads_them() {
        let cases = [
            ("PT1H", Some(3_600_000)),
            ("P1DT2H3M4.5S", Some(93_784_500)),
            ("pt10s", Some(10_000)),
            ("-PT1H", Some(-3_600_000)),
            ("PT-1H", Some(-3_600_000)),
            ("PT0.001S", Some(1)),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("1H", None),
            ("PT1M1H", None),
            ("PT1.5H", None),
            ("x", None),
            ("", None),
            ("P99999999999999999D", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_iso_duration_ms(text), expected, "{text}");
        }
    }
}
