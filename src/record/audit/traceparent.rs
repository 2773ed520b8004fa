//! The span of a distributed trace that a command is run in (AUDIT-13), as W3C Trace Context spells
//! it in `traceparent`.

use std::fmt;
use std::str::FromStr;

/// A span of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// 32 digits, not all 0.
    pub trace: String,
    /// 16 digits, not all 0.
    pub span: String,
    version: String,
    flags: String,
}

/// Length of version, trace, span and flags with `-` between them.
const LENGTH: usize = 55;

impl FromStr for TraceParent {
    type Err = ();

    /// Parses version 00, and the fields of a later version that version 00 also has.
    fn from_str(text: &str) -> Result<Self, ()> {
        let (known, rest) = text.split_at_checked(LENGTH).ok_or(())?;
        let [version, trace, span, flags] =
            <[&str; 4]>::try_from(known.split('-').collect::<Vec<_>>()).map_err(|_| ())?;
        let is_later = version != "00";
        let is_ended = rest.is_empty() || (is_later && rest.starts_with('-'));
        let has_all = digits(version, 2) && digits(trace, 32) && digits(span, 16);
        let is_named = [trace, span].iter().all(|id| id.bytes().any(|b| b != b'0'));
        if !(has_all && digits(flags, 2) && is_named && is_ended) || version == "ff" {
            return Err(());
        }
        let [version, trace, span, flags] = [version, trace, span, flags].map(str::to_owned);
        Ok(Self { trace, span, version, flags })
    }
}

fn digits(text: &str, length: usize) -> bool {
    let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == length && text.bytes().all(is_digit)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, trace, span, flags } = self;
        write!(f, "{version}-{trace}-{span}-{flags}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn traceparent_refuses_ids_of_zeros() {
        let read = |text: &str| text.parse().map(|read: TraceParent| read.to_string());
        assert_eq!(read(VALID).as_deref(), Ok(VALID));
        let later = VALID.replacen("00-", "cc-", 1);
        for text in [later.clone(), format!("{later}-what-the-future-will-be")] {
            assert_eq!(read(&text), Ok(later.clone()), "{text}");
        }
        for wrong in [
            String::new(),
            VALID.to_uppercase(),
            format!("{VALID}-"),
            format!("{later}x"),
            format!(" {VALID}"),
            VALID[..54].to_owned(),
            VALID.replacen("00-", "ff-", 1),
            VALID.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            VALID.replace("00f067aa0ba902b7", &"0".repeat(16)),
            VALID.replace("4bf9", "4bg9"),
            VALID.replace("-01", "-é"),
        ] {
            assert_eq!(read(&wrong), Err(()), "{wrong}");
        }
    }
}
