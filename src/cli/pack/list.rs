//! `ctx pack list`.

use serde::Serialize;

use crate::checkpoint::fault::LogError;
use crate::cli::rows::{WithheldJson, tell_withheld};
use crate::cli::session::Session;
use crate::cli::ui::{shown, table};
use crate::cli::{Answer, Failure};
use crate::resolve::packs::{SealedPack, Unusable};
use crate::resolve::plan::PlanFault;
use crate::resolve::{Need, Plan, Snapshot};
use crate::uri::Class;
use crate::words::count;

/// List the sealed packs with the number of their documents
///
/// A pack that names a search is listed as `delegated`, without a number: the search is not asked.
/// `ctx pack show` asks it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx pack list\n  ctx pack list --at 3 --json")]
pub(super) struct List {
    /// List what was sealed at this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct ListJson<'l> {
    checkpoint: u64,
    packs: Vec<PackJson<'l>>,
    unusable: Vec<UnusableJson<'l>>,
    withheld: Vec<WithheldJson>,
}

#[derive(Serialize)]
struct PackJson<'l> {
    id: &'l str,
    label: Option<&'l str>,
    file: &'l str,
    version: u64,
    /// Absent where the pack names what cannot be resolved.
    class: Option<&'static str>,
    /// Absent also where the pack names a search, which is not asked for a list.
    documents: Option<usize>,
}

#[derive(Serialize)]
struct UnusableJson<'l> {
    file: &'l str,
    code: &'static str,
    reason: String,
}

pub(super) fn run(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Fields)?;
    let snapshot = Snapshot::of(&vault, &source, args.at)?;
    let packs = snapshot.packs()?;
    let all = packs.usable.iter().map(|p| pack(p, &snapshot));
    let all: Vec<PackJson<'_>> = all.collect::<Result<_, _>>()?;
    if session.ui.json {
        let json = ListJson {
            checkpoint: snapshot.checkpoint(),
            packs: all,
            unusable: packs.unusable.iter().map(unusable).collect(),
            withheld: packs.withheld.iter().map(WithheldJson::from).collect(),
        };
        session.ui.result("pack.list", &json);
    } else {
        let row = |pack: &PackJson<'_>| {
            let documents = match (pack.documents, pack.class) {
                (Some(n), _) => count(n, "document"),
                (None, class) => class.unwrap_or("?").to_owned(),
            };
            vec![
                shown(pack.id).into_owned(),
                documents,
                format!("{} v{}", shown(pack.file), pack.version),
                shown(pack.label.unwrap_or_default()).into_owned(),
            ]
        };
        table(&all.iter().map(row).collect::<Vec<_>>()).iter().for_each(|r| session.ui.line(r));
    }
    for Unusable { file, why, .. } in &packs.unusable {
        let (file, message) = (shown(file.as_str()), why.kind.to_string());
        let (line, code) = (why.line, why.code());
        session.ui.note(&format!("warning[{code}]: {file}, line {line}: {}", shown(&message)));
    }
    if packs.usable.is_empty() && packs.unusable.is_empty() && packs.withheld.is_empty() {
        session.ui.note("no pack is published; `ctx pack add` makes one");
    }
    tell_withheld(session, &packs.withheld);
    Ok(if packs.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

fn pack<'l>(sealed: &'l SealedPack, snapshot: &Snapshot<'_>) -> Result<PackJson<'l>, LogError> {
    let plan = Plan::of_pack(sealed, snapshot, &mut |_| Err(NotAsked));
    let (class, documents) = match plan {
        Ok(plan) => (Some(plan.class()), Some(snapshot.count(&plan)?)),
        Err(PlanFault::Search(NotAsked)) => (Some(Class::Delegated), None),
        Err(_) => (None, None),
    };
    Ok(PackJson {
        id: &sealed.pack.id,
        label: sealed.pack.label.as_deref(),
        file: sealed.file.as_str(),
        version: sealed.version,
        class: class.map(Class::as_str),
        documents,
    })
}

/// A search in a pack: what it finds is its back-end's word, and may take long.
struct NotAsked;

fn unusable(sealed: &Unusable) -> UnusableJson<'_> {
    let reason = sealed.why.kind.to_string();
    UnusableJson { file: sealed.file.as_str(), code: sealed.why.code(), reason }
}
