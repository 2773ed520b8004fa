//! `ctx pack show`.

use serde::Serialize;

use crate::cli::rows::{DocumentJson, WithheldJson, document_table, tell_notes, tell_withheld};
use crate::cli::search;
use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::cli::{Answer, Failure};
use crate::pack;
use crate::resolve::{Need, Plan, Snapshot};
use crate::words::count;

/// Show a sealed pack: its definition, and the documents that it selects
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx pack show procurement.onboarding\n  \
ctx pack show procurement.onboarding --at 3 --json")]
pub(super) struct Show {
    /// Id of the pack, with or without `pack:`
    id: String,
    /// Show it as of this checkpoint
    #[arg(long, value_name = "N")]
    at: Option<u64>,
}

#[derive(Serialize)]
struct ShowJson<'s> {
    id: &'s str,
    label: Option<&'s str>,
    description: Option<&'s str>,
    file: &'s str,
    version: u64,
    class: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    backend: Option<&'s str>,
    checkpoint: u64,
    query: Option<String>,
    includes: Vec<String>,
    excludes: Vec<String>,
    node_types: Vec<&'static str>,
    audiences: &'s [String],
    agent_instructions: Option<&'s str>,
    documents: Vec<DocumentJson<'s>>,
    withheld: Vec<WithheldJson>,
}

pub(super) fn run(args: &Show, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Fields)?;
    let snapshot = Snapshot::of(&vault, &source, args.at)?;
    let packs = snapshot.packs()?;
    let id = args.id.strip_prefix("pack:").unwrap_or(&args.id);
    let sealed = packs.find(id, snapshot.checkpoint())?;
    let mut ask = |query: &str| search::in_selector(session, &vault, &source, &snapshot, query);
    let mut plan = Plan::of_pack(sealed, &snapshot, &mut ask)?;
    let mut resolution = snapshot.resolve(&plan)?;
    resolution.withhold(&mut plan.withheld);
    let definition = &sealed.pack;
    let checkpoint = snapshot.checkpoint();
    if session.ui.json {
        let texts = |uris: &[pack::Placed<crate::uri::Uri>]| -> Vec<String> {
            uris.iter().map(|uri| uri.value.to_string()).collect()
        };
        let json = ShowJson {
            id: &definition.id,
            label: definition.label.as_deref(),
            description: definition.description.as_deref(),
            file: sealed.file.as_str(),
            version: sealed.version,
            class: plan.class().as_str(),
            backend: plan.backend.as_deref(),
            checkpoint,
            query: definition.query.as_ref().map(|query| query.value.to_string()),
            includes: texts(&definition.includes),
            excludes: texts(&definition.excludes),
            node_types: definition.node_types.iter().map(|word| word.as_str()).collect(),
            audiences: &definition.audiences,
            agent_instructions: definition.agent_instructions.as_deref(),
            documents: DocumentJson::all(&resolution.portions(), false),
            withheld: resolution.withheld.iter().map(WithheldJson::from).collect(),
        };
        session.ui.result("pack.show", &json);
    } else {
        let (file, version) = (shown(sealed.file.as_str()), sealed.version);
        session.ui.line(&format!("# {file} v{version} at checkpoint {checkpoint}"));
        for line in pack::write(definition).lines() {
            session.ui.line(&shown(line));
        }
        session.ui.line(&format!("\n# {}", count(resolution.documents.len(), "document")));
        document_table(&resolution.portions()).iter().for_each(|row| session.ui.line(row));
    }
    tell_notes(session, plan.backend.as_deref(), &plan.notes);
    tell_withheld(session, &resolution.withheld);
    Ok(if resolution.withheld.is_empty() { Answer::Yes } else { Answer::No })
}
