//! Parses `--at`: the checkpoint of a question, as a number or as a time (RES-4).

use std::str::FromStr;

use super::Workspace;
use crate::files::vault::Vault;
use crate::read::snapshot::CheckpointSource;
use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::number::CheckpointNumber;
use crate::values::model::timestamp::Timestamp;

/// A checkpoint in an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// The checkpoint with this number.
    Number(CheckpointNumber),
    /// The last checkpoint at or before this time.
    Time(Timestamp),
}

impl FromStr for Moment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // Reports print `@3`.
        if let Ok(number) = text.strip_prefix('@').unwrap_or(text).parse() {
            return Ok(Self::Number(number));
        }
        let time = Timestamp::of_rfc3339(text).map(Self::Time);
        time.ok_or_else(|| {
            "expected the number of a checkpoint, a date such as `2026-11-21`, or a time such as \
             `2026-11-21T20:06:06Z`"
                .to_owned()
        })
    }
}

impl Workspace<'_> {
    /// Returns the checkpoint that `--at` names. The answer and the log contain its number, so that
    /// a question by a time can be repeated by the number.
    ///
    /// # Errors
    /// The time is in the future, there was no checkpoint at that time, or the log is not valid.
    pub(crate) fn checkpoint_at(
        &self,
        (vault, source): (&Vault, &CheckpointSource),
        moment: Option<Moment>,
    ) -> Result<Option<CheckpointNumber>, Failure> {
        match moment {
            None => Ok(None),
            Some(Moment::Number(number)) => Ok(Some(number)),
            Some(Moment::Time(time)) => self.last_at(vault, source, time).map(Some),
        }
    }

    fn last_at(
        &self,
        vault: &Vault,
        source: &CheckpointSource,
        time: Timestamp,
    ) -> Result<CheckpointNumber, Failure> {
        let now = self.now()?;
        if time.millis() > now.millis() {
            let message = format!("the time {time} is in the future: it is {now}");
            return Err(Failure::new(Code::Usage, message)
                .hint("leave out the time to ask about the last checkpoint"));
        }
        let events = source.events(vault)?;
        // Times are compared in milliseconds, because an instant can be spelled in several ways. A
        // later checkpoint with an earlier time, which is damage, does not change the answer.
        let passed = events.iter().take_while(|event| event.at.millis() <= time.millis());
        passed.last().map(|event| event.number).ok_or_else(|| {
            let message = match events.first() {
                Some(first) => {
                    format!("there was no checkpoint at {time}: the first was made at {}", first.at)
                }
                None => format!("there was no checkpoint at {time}: nothing is published yet"),
            };
            Failure::new(Code::UnknownCheckpoint, message)
                .hint(Hint::call("{} lists all checkpoints", Verb::CheckpointList))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moment_is_parsed_from_a_number_or_a_time() {
        for three in ["3", "@3"] {
            assert_eq!(three.parse(), Ok(Moment::Number(CheckpointNumber(3))));
        }
        let day = Timestamp::of_rfc3339("2026-11-21T00:00:00Z").unwrap();
        assert_eq!("2026-11-21".parse(), Ok(Moment::Time(day)));
        for wrong in ["", "x", "-1", "3.5", "2026", "yesterday", "2026-11-21 10:00"] {
            // A year is parsed as the number of a checkpoint.
            assert_eq!(wrong.parse::<Moment>().is_err(), wrong != "2026", "{wrong}");
        }
    }
}
