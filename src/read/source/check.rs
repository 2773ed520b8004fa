//! Problems of the sources that a checkpoint publishes (SRC-7).

use std::collections::{BTreeSet, HashMap};

use super::call::SourceCall;
use super::order::{Lack, published_source};
use crate::files::vault::Vault;
use crate::read::graph::order;
use crate::read::snapshot::{Served, Snapshot};
use crate::text::document::links::{self, LinkKind};
use crate::text::document::validate::{Problem, Severity};
use crate::values::model::id::DocumentId;

/// Returns the problems of published sources, each with the id of its source, in order.
pub(crate) fn problems(
    vault: &Vault,
    snapshot: &Snapshot<'_>,
    sources: &[Served],
) -> Vec<(DocumentId, Problem)> {
    let ids: BTreeSet<&DocumentId> = sources.iter().map(|served| &served.id).collect();
    let declared: BTreeSet<String> = snapshot
        .config()
        .map(|config| config.servers.iter().map(|server| server.name.clone()).collect())
        .unwrap_or_default();
    let mut found = Vec::new();
    for served in sources {
        let mut problems: Vec<Problem> = server(served, &declared).into_iter().collect();
        problems.extend(dependencies(vault, snapshot, served));
        problems.extend(unlisted(served, &ids));
        problems.sort_by_key(|problem| problem.line);
        found.extend(problems.into_iter().map(|problem| (served.id.clone(), problem)));
    }
    let by_id: HashMap<&DocumentId, &Served> =
        sources.iter().map(|served| (&served.id, served)).collect();
    let needed = order::closure(by_id.keys().map(|id| (*id).clone()), |id| {
        by_id.get(id).map(|served| order::needed(id, &served.fields)).unwrap_or_default()
    });
    for group in order::cyclic_groups(&needed) {
        for id in group.iter().filter(|id| ids.contains(id)) {
            found.push((id.clone(), order::cycle(&needed, &group, id).problem(None)));
        }
    }
    found
}

fn server(served: &Served, declared: &BTreeSet<String>) -> Option<Problem> {
    let server = SourceCall::of(served)?.block.server.as_ref()?;
    let node = served.fields.get("source")?.get("server")?;
    (!declared.contains(server)).then(|| Problem {
        code: "server-unknown",
        severity: Severity::Error,
        line: Some(node.line + 1),
        message: format!("the sealed configuration does not declare the server `{server}`"),
        hint: "declare it under `servers` in .context/config.yaml, and publish that".into(),
    })
}

fn dependencies(vault: &Vault, snapshot: &Snapshot<'_>, served: &Served) -> Vec<Problem> {
    let mut problems = Vec::new();
    for link in links::dependencies(&served.id, &served.fields) {
        let Some(id) = link.target.document() else { continue };
        let Err(why) = published_source(vault, snapshot, &id) else { continue };
        let code = match why {
            Lack::Unpublished | Lack::Withheld(_) => "dependency-missing",
            Lack::Retired => "dependency-retired",
            Lack::NotASource => {
                problems.push(order::not_a_source(&id, Some(link.line)));
                continue;
            }
        };
        problems.push(Problem {
            code,
            severity: Severity::Error,
            line: Some(link.line),
            message: format!("it depends on `{id}`, but {}", why.sentence()),
            hint: "publish that source, or remove it from `source.depends_on`".into(),
        });
    }
    problems
}

/// Reports links by URI or path to published sources that are not among the dependencies.
fn unlisted(served: &Served, sources: &BTreeSet<&DocumentId>) -> Vec<Problem> {
    let needed = order::needed(&served.id, &served.fields);
    let links = served.links().links.into_iter().filter(|link| link.kind == LinkKind::Reference);
    let of_source = links.filter_map(|link| Some((link.target.document()?, link.line)));
    let unlisted = of_source
        .filter(|(id, _)| *id != served.id && sources.contains(id) && !needed.contains(id));
    unlisted.map(|(id, line)| order::unlisted(&id, line)).collect()
}
