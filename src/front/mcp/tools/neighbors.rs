//! `context_neighbors`: the documents that are linked with one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::page::{Found, Start, Tag};
use super::{Answer, At, Outputs, Question, fitting, limit, places};
use crate::read::graph::walk;
use crate::service::report::Paged;
use crate::service::report::failure::Failure;
use crate::service::workspace::call::{Call, neighbors};
use crate::text::document::links::LinkKind;

/// Default number of documents in a list.
const LISTED: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Neighbors {
    /// ID, ID@CHECKPOINT or URI
    id: String,
    /// Links to follow in a row; default 1
    #[serde(default)]
    hops: Option<usize>,
    /// `in`: documents that refer to it; default both
    #[serde(default)]
    direction: Option<Direction>,
    /// Only links of this kind
    #[serde(default)]
    kind: Option<Kind>,
    /// Documents of a page; default 100
    #[serde(default)]
    limit: Option<usize>,
    /// `next_cursor` of the page before
    #[serde(default)]
    cursor: Option<String>,
    /// Checkpoint number or RFC 3339 time
    #[serde(default)]
    pub(super) at: Option<At>,
    /// Maximum tokens of the answer
    #[serde(default)]
    budget: Option<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Direction {
    In,
    Out,
    Both,
}

#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Kind {
    Reference,
    DependsOn,
    DerivedFrom,
}

impl Neighbors {
    fn walk(&self) -> walk::Walk {
        let direction = match self.direction {
            Some(Direction::In) => walk::Direction::In,
            Some(Direction::Out) => walk::Direction::Out,
            Some(Direction::Both) | None => walk::Direction::Both,
        };
        let kind = self.kind.map(|kind| match kind {
            Kind::Reference => LinkKind::Reference,
            Kind::DependsOn => LinkKind::DependsOn,
            Kind::DerivedFrom => LinkKind::DerivedFrom,
        });
        let (hops, limit) = (self.hops.unwrap_or(1), self.limit.unwrap_or(LISTED).max(1));
        walk::Walk { hops, direction, kind, limit }
    }
}

impl Question for Neighbors {
    const NAME: &'static str = "context_neighbors";
    const TITLE: &'static str = "Linked documents";
    const DESCRIPTION: &'static str = "Lists documents that a document refers to or that refer to \
        it, nearest first: links, sources it depends on, documents it was derived from. Use it to \
        find what else a decision touches.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<Paged<crate::service::report::graph::NeighborsReport<'static>>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let walk = self.walk();
        let direction = self.direction.unwrap_or(Direction::Both);
        let of = json!([self.id, walk.hops, direction, self.kind]);
        let tag = Tag::of(Self::NAME, &of);
        let start = Start::of(tag, self.cursor.as_deref(), self.at.as_ref())?;
        let (vault, source) = places(call, neighbors::NEED)?;
        let asked = (self.id.as_str(), start.at);
        let walked = call.neighbors((&vault, &source), asked, (&walk, start.skipped));
        let mut linked = walked.map_err(|why| start.explained(why))?;
        fitting(call, (limit(self.budget), walk.limit, "raise `budget`"), |call, most| {
            let found = &mut linked.around.found;
            found.truncated |= found.neighbors.len() > most;
            found.neighbors.truncate(most);
            let given = found.neighbors.len();
            call.recording.listed = Some(given);
            let next_cursor = start.next(&Found {
                checkpoint: linked.checkpoint,
                seen: linked.seen,
                given,
                goes_on: found.truncated,
                is_past: given == 0,
            })?;
            // The number of later documents is unknown, because they are not read.
            let report = Paged { report: linked.report(), omitted: 0, next_cursor };
            Ok((Answer::of(call, &report), given))
        })
    }
}
