//! Parses a range of lines in an argument.

use std::ops::Range;

use crate::service::report::failure::{Code, Failure};
use crate::values::yaml::canonical_number;

/// Returns the lines, from 0, that `START,END` or `START,+COUNT` names in a text of `all` lines. An
/// end beyond the text is cut.
///
/// # Errors
/// The argument has another form, or the text ends before the first line.
pub(crate) fn lines(argument: &str, all: usize) -> Result<Range<usize>, Failure> {
    let (first, end) = range(argument).ok_or_else(|| {
        Failure::new(Code::Usage, format!("`{argument}` is not a range of lines")).hint(
            "write START,END, such as `3,7`, or START,+COUNT, such as `3,+5`; lines are numbered 1, 2, 3",
        )
    })?;
    if first > all {
        let message = format!("the range `{argument}` begins after line {all}, the last one");
        return Err(Failure::new(Code::Usage, message)
            .hint("a range can end after the last line, but cannot begin after it"));
    }
    Ok(first - 1..end.min(all))
}

/// Returns the first line, from 1, and the last one.
fn range(argument: &str) -> Option<(usize, usize)> {
    let number = |text: &str| {
        let number = canonical_number(text).filter(|n| *n > 0)?;
        usize::try_from(number).ok()
    };
    let (first, end) = argument.split_once(',')?;
    let first = number(first)?;
    let last = match end.strip_prefix('+') {
        Some(count) => first.saturating_add(number(count)? - 1),
        None => number(end)?,
    };
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_parsed_from_an_end_or_a_count() {
        let of = |argument| lines(argument, 9).map_err(|why| why.to_string());
        assert_eq!(of("3,7"), Ok(2..7));
        assert_eq!(of("3,+5"), Ok(2..7));
        assert_eq!(of("9,+1"), Ok(8..9));
        assert_eq!(of("1,99"), Ok(0..9));
        assert_eq!(of("2,+18446744073709551615"), Ok(1..9));
        for wrong in
            ["", "3", "3,", ",7", "7,3", "0,3", "3,+0", "03,7", "+3,7", "3,-1", "/a/,7", "3,7,8"]
        {
            assert_eq!(of(wrong), Err(format!("`{wrong}` is not a range of lines")));
        }
        let beyond = "the range `10,12` begins after line 9, the last one";
        assert_eq!(of("10,12"), Err(beyond.to_owned()));
    }
}
