//! The command back-end: a program named by the user, which answers in JSON (`spec/search.md`,
//! section 7). Its answers are not trusted: see [`super::search`].

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::process::{Failed, Program};
use crate::values::model::number::CheckpointNumber;

use super::{Backend, HitPart, MAX_HITS, Proposals, Query, RawHit, SearchError};

/// Number of the protocol.
const PROTOCOL: u32 = 1;

/// A back-end that runs a program.
pub(crate) struct Command {
    program: Program,
    vault: PathBuf,
    checkpoint: CheckpointNumber,
    name: String,
}

impl Command {
    /// Makes a back-end for the vault in this folder, whose head is `checkpoint`.
    pub(crate) fn new(program: Program, vault: &Path, checkpoint: CheckpointNumber) -> Self {
        let first = program.argv.first().map(Path::new).and_then(Path::file_name);
        let name = first.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self { program, vault: vault.to_owned(), checkpoint, name }
    }
}

/// Question to the program.
#[derive(Serialize)]
struct Question<'q> {
    protocol: u32,
    query: &'q str,
    limit: usize,
    checkpoint: CheckpointNumber,
    vault: &'q Path,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prefix: bool,
}

/// Answer of the program. Unknown fields are ignored.
#[derive(Deserialize)]
struct Reply {
    hits: Vec<ReplyHit>,
}

#[derive(Deserialize)]
struct ReplyHit {
    id: String,
    #[serde(default)]
    anchor: Option<String>,
    score: f64,
}

impl Backend for Command {
    fn name(&self) -> &str {
        &self.name
    }

    fn search(&self, query: &Query, limit: usize) -> Result<Proposals, SearchError> {
        let question = Question {
            protocol: PROTOCOL,
            query: query.text(),
            limit,
            checkpoint: self.checkpoint,
            vault: self.vault.as_path(),
            prefix: query.is_prefix(),
        };
        let fail = |problem: String, said: &str| SearchError::Command {
            program: self.name.clone(),
            problem,
            said: said.lines().take(20).map(str::to_owned).collect(),
        };
        let unfit =
            |why: serde_json::Error| fail(format!("cannot be asked or understood: {why}"), "");
        let mut line = serde_json::to_vec(&question).map_err(unfit)?;
        line.push(b'\n');
        let answer = self
            .program
            .ask(&line)
            .map_err(|Failed { why, said, .. }| fail(why.to_string(), &said))?;
        let reply: Reply = serde_json::from_slice(&answer).map_err(unfit)?;
        if reply.hits.len() > MAX_HITS {
            return Err(fail(format!("answered with more than {MAX_HITS} hits"), ""));
        }
        // If the program returns as many hits as requested, it may have more.
        let goes_on = reply.hits.len() >= limit;
        let hits = reply.hits.into_iter().map(|hit| RawHit {
            id: hit.id,
            part: hit.anchor.map_or(HitPart::Whole, HitPart::Anchor),
            score: hit.score,
            reasons: Vec::new(),
        });
        Ok(Proposals { hits: hits.collect(), goes_on, ..Proposals::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(script: &str) -> Result<Proposals, SearchError> {
        let argv = ["/bin/sh", "-c", script].map(str::to_owned).to_vec();
        let program = Program { argv, timeout: crate::files::process::DEFAULT_TIMEOUT };
        let query = Query::parse("late \"fee\"").unwrap();
        Command::new(program, Path::new("/v"), CheckpointNumber(7)).search(&query, 10)
    }

    #[test]
    fn command_asks_with_one_line_of_json() {
        let found = answer(
            r#"read -r line; [ "$line" = '{"protocol":1,"query":"late \"fee\"","limit":10,"checkpoint":7,"vault":"/v"}' ] \
               && echo '{"hits":[{"id":"a","score":1},{"id":"b","anchor":"c","score":0.5,"x":1}],"y":2}'"#,
        );
        let hits = found.unwrap().hits;
        assert_eq!(
            (hits[0].id.as_str(), &hits[0].part, hits[0].score),
            ("a", &HitPart::Whole, 1.0)
        );
        assert_eq!((&hits[1].part, hits[1].score), (&HitPart::Anchor("c".to_owned()), 0.5));
    }

    #[test]
    fn command_refuses_an_answer_outside_of_the_protocol() {
        for (script, expected) in [
            ("", "cannot be asked or understood: EOF"),
            ("echo '{\"hits\":{}}'", "cannot be asked or understood: invalid type: map"),
            (
                "echo '{\"hits\":[{\"id\":\"a\",\"score\":NaN}]}'",
                "cannot be asked or understood: expected value",
            ),
            (
                "echo '{\"hits\":[{\"id\":\"a\",\"score\":1e999}]}'",
                "cannot be asked or understood: number out of range",
            ),
            ("echo '{\"hits\":[]} {}'", "cannot be asked or understood: trailing characters"),
        ] {
            match answer(script) {
                Err(SearchError::Command { program, problem, .. }) => {
                    assert_eq!(program, "sh");
                    assert!(problem.starts_with(expected), "{script}: {problem}");
                }
                other => panic!("{script}: {other:?}"),
            }
        }
        let many = "printf '{\"hits\":['; i=0; while [ $i -lt 1000 ]; do printf '{\"id\":\"a\",\"score\":1},'; i=$((i+1)); done; echo '{\"id\":\"a\",\"score\":1}]}'";
        let why = answer(many).unwrap_err().to_string();
        assert_eq!(why, "`sh` answered with more than 1000 hits");
    }
}
