//! Timestamps: UTC with milliseconds, one spelling (`spec/vault.md`, section 9).

use std::fmt;
use std::str::FromStr;

const MILLIS_PER_DAY: i64 = 86_400_000;
/// Julian day of 1970-01-01.
const UNIX_JULIAN_DAY: i32 = 2_440_588;

/// An instant that remembers whether it was written with milliseconds. `Display` restores the
/// parsed bytes, because hashes cover them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    millis: i64,
    whole_seconds: bool,
}

/// A text that is not a timestamp of a vault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a UTC time such as `2026-11-21T20:06:06.689Z`, but found `{}`", found.escape_debug())]
pub struct TimestampError {
    /// Text that was found.
    pub found: String,
}

impl Timestamp {
    /// First instant that has a spelling.
    pub const MIN: Self = Self { millis: -62_167_219_200_000, whole_seconds: false };

    /// Last instant that has a spelling.
    pub const MAX: Self = Self { millis: 253_402_300_799_999, whole_seconds: false };

    /// Makes the instant that is this many milliseconds after 1970-01-01T00:00:00Z. Instants
    /// outside the years 0000 to 9999 are clamped, because they cannot be spelled.
    pub fn from_millis(millis: i64) -> Self {
        let millis = millis.clamp(Self::MIN.millis, Self::MAX.millis);
        Self { millis, whole_seconds: false }
    }

    /// Parses an instant that a person wrote: an RFC 3339 timestamp, or a date, which is its first
    /// instant in UTC. Fractions of a millisecond are dropped. `None` for a leap second, and for an
    /// instant outside the years 0000 to 9999.
    pub fn of_rfc3339(text: &str) -> Option<Self> {
        if text.len() == DATE && text.is_ascii() {
            return parse(format!("{text}T00:00:00.000Z").as_bytes());
        }
        let (second, rest) = text.split_at_checked(SECOND)?;
        let whole = parse(format!("{}Z", second.to_ascii_uppercase()).as_bytes())?;
        let (fraction, zone) = rest.split_at(rest.find(['Z', 'z', '+', '-'])?);
        let millis = whole.millis + millis_of(fraction)? - offset_of(zone)?;
        (Self::MIN.millis..=Self::MAX.millis).contains(&millis).then(|| Self::from_millis(millis))
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    pub fn millis(self) -> i64 {
        self.millis
    }

    /// Returns true if this is more than a day ahead of a verifier's clock (VER-41).
    pub(crate) fn is_far_ahead_of(self, clock: Self) -> bool {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        self.millis > clock.millis.saturating_add(DAY)
    }

    /// Returns the instant one millisecond later; `None` after the last one.
    pub fn next(self) -> Option<Self> {
        let next = Self { millis: self.millis + 1, whole_seconds: false };
        (next <= Self::MAX).then_some(next)
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.millis, self.whole_seconds).cmp(&(other.millis, other.whole_seconds))
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text.as_bytes()).ok_or_else(|| TimestampError { found: text.to_owned() })
    }
}

/// Length of `YYYY-MM-DD`.
const DATE: usize = 10;
/// Length of `YYYY-MM-DDTHH:MM:SS`.
const SECOND: usize = 19;

/// Returns the whole milliseconds of `.` and digits; 0 if the text is empty.
fn millis_of(fraction: &str) -> Option<i64> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = fraction.strip_prefix('.').filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    let first: String = digits.chars().chain("000".chars()).take(3).collect();
    (!digits.is_empty()).then(|| first.parse().ok()).flatten()
}

/// Returns the offset of a zone from UTC in milliseconds: of `Z`, or of a sign and `HH:MM`.
fn offset_of(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes() {
        [b'Z' | b'z'] => return Some(0),
        [b'+', ..] => 1,
        _ => -1,
    };
    // A zone has the form of a time of day.
    let ahead = parse(format!("1970-01-01T{}:00Z", zone.get(1..)?).as_bytes())?;
    Some(sign * ahead.millis)
}

/// Parses `YYYY-MM-DDTHH:MM:SSZ` or `YYYY-MM-DDTHH:MM:SS.sssZ`; `None` for any other form.
fn parse(bytes: &[u8]) -> Option<Timestamp> {
    let shape: &[u8] = match bytes.len() {
        20 => b"dddd-dd-ddTdd:dd:ddZ",
        24 => b"dddd-dd-ddTdd:dd:dd.dddZ",
        _ => return None,
    };
    let fits = bytes.iter().zip(shape).all(|(b, s)| match s {
        b'd' => b.is_ascii_digit(),
        s => b == s,
    });
    if !fits {
        return None;
    }
    let number = |from: usize, to: usize| {
        bytes[from..to].iter().fold(0_i64, |n, b| n * 10 + i64::from(b - b'0'))
    };
    let (year, month, day) = (number(0, 4), number(5, 7), number(8, 10));
    let (hour, minute, second) = (number(11, 13), number(14, 16), number(17, 19));
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let month = time::Month::try_from(u8::try_from(month).ok()?).ok()?;
    let date =
        time::Date::from_calendar_date(i32::try_from(year).ok()?, month, u8::try_from(day).ok()?)
            .ok()?;
    let days = i64::from(date.to_julian_day() - UNIX_JULIAN_DAY);
    let whole_seconds = bytes.len() == 20;
    let fraction = if whole_seconds { 0 } else { number(20, 23) };
    let millis = days * MILLIS_PER_DAY + ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    Some(Timestamp { millis, whole_seconds })
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.millis.div_euclid(MILLIS_PER_DAY);
        let rest = self.millis.rem_euclid(MILLIS_PER_DAY);
        let julian = i32::try_from(days).unwrap_or(0) + UNIX_JULIAN_DAY;
        let date = time::Date::from_julian_day(julian).unwrap_or(time::Date::MIN);
        let (hour, minute) = (rest / 3_600_000, rest / 60_000 % 60);
        let (second, millis) = (rest / 1000 % 60, rest % 1000);
        write!(
            f,
            "{:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}",
            date.year(),
            u8::from(date.month()),
            date.day()
        )?;
        if self.whole_seconds { f.write_str("Z") } else { write!(f, ".{millis:03}Z") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_fixed_form_is_read() {
        for text in [
            "2026-11-21T20:06:06.689Z",
            "2026-11-21T20:06:06Z",
            "1969-12-31T23:59:59.999Z",
            "0000-01-01T00:00:00.000Z",
            "2024-02-29T00:00:00.000Z",
        ] {
            assert_eq!(text.parse::<Timestamp>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "2026-11-21",
            "2026-11-21t20:06:06.689Z",
            "2026-11-21 20:06:06.689Z",
            "2026-11-21T20:06:06.689+00:00",
            "2026-11-21T20:06:06.6Z",
            "2026-11-21T20:06:60.000Z",
            "2026-11-21T24:00:00.000Z",
            "2026-02-29T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "+026-11-21T20:06:06.689Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_person_may_write_any_timestamp_of_rfc_3339_or_a_date() {
        for (text, instant) in [
            ("2026-11-21", "2026-11-21T00:00:00.000Z"),
            ("2026-11-21T20:06:06Z", "2026-11-21T20:06:06.000Z"),
            ("2026-11-21t20:06:06.6z", "2026-11-21T20:06:06.600Z"),
            ("2026-11-21T20:06:06.689999999Z", "2026-11-21T20:06:06.689Z"),
            ("2026-11-21T00:30:00+01:00", "2026-11-20T23:30:00.000Z"),
            ("2026-11-21T23:30:00.5-01:00", "2026-11-22T00:30:00.500Z"),
            ("2026-11-21T23:30:00-00:00", "2026-11-21T23:30:00.000Z"),
        ] {
            let read = Timestamp::of_rfc3339(text).map(|read| read.to_string());
            assert_eq!(read.as_deref(), Some(instant), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-02-29",
            "2026-11-21T20:06Z",
            "2026-11-21T20:06:06",
            "2026-11-21 20:06:06Z",
            "2026-11-21T20:06:06.Z",
            "2026-11-21T20:06:06.1.2Z",
            "2026-11-21T20:06:60Z",
            "2026-11-21T20:06:06+1:00",
            "2026-11-21T20:06:06+24:00",
            "2026-11-21T20:06:06Zx",
            "2026-11-21T20:06:06+",
            "0000-01-01T00:00:00+01:00",
            "2026-11-21T20:06:0é",
            "2026-11-2é",
        ] {
            assert_eq!(Timestamp::of_rfc3339(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn parsing_undoes_display(millis in -62_167_219_200_000_i64..253_402_300_799_999) {
            let instant = Timestamp::from_millis(millis);
            prop_assert_eq!(instant.to_string().parse::<Timestamp>().unwrap(), instant);
        }
    }
}
