//! `ctx search`.

use std::cell::RefCell;
use std::path::Path;

use serde::Serialize;

use super::failure::Code;
use super::rows::{WithheldJson, tell_withheld};
use super::session::Session;
use super::ui::{Ui, shown};
use super::{Answer, Failure};
use crate::resolve::plan::Searched;
use crate::resolve::{Need, Snapshot, Source};
use crate::search::builtin::Builtin;
use crate::search::command::Command;
use crate::search::configured::{self, ConfiguredError};
use crate::search::{self, Backend, Hit, Query, QueryError, Reason, SearchError, Snippet};
use crate::uri::Class;
use crate::vault::Vault;
use crate::words::count;

/// Find published sections by their words
///
/// Words are looked for in titles, tags, descriptions, headings and texts, in any case; the more of
/// them a section holds, and the rarer they are, the better. "Words in quotes" must stand side by
/// side (quote them for the shell too). Only current, published versions are found, and every text
/// shown is verified; search answers for the last checkpoint only. What is found is delegated to a
/// back-end: the built-in index, or a program that you name in CTX_SEARCH_COMMAND or in
/// ~/.config/contextnest/config.yaml. A vault cannot name one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx search late payment fee\n  \
ctx search '\"late payment\" fee' --limit 3\n  ctx search refunds --explain --json")]
pub(super) struct Search {
    /// Words to look for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Print at most this many hits
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..=search::MAX_HITS as i64))]
    limit: u16,
    /// Say how each score came about
    #[arg(long)]
    explain: bool,
}

#[derive(Serialize)]
struct SearchJson<'s> {
    query: &'s str,
    class: &'static str,
    backend: &'s str,
    checkpoint: u64,
    hits: Vec<HitJson<'s>>,
    withheld: Vec<WithheldJson>,
    notes: &'s [String],
}

#[derive(Serialize)]
struct HitJson<'s> {
    id: &'s str,
    anchor: Option<&'s str>,
    uri: Option<String>,
    title: &'s str,
    heading: Option<&'s str>,
    #[serde(rename = "type")]
    node_type: &'static str,
    tags: &'s [String],
    version: u64,
    checkpoint: u64,
    chain_hash: String,
    class: &'static str,
    score: f64,
    snippet: &'s Snippet,
    #[serde(skip_serializing_if = "Option::is_none")]
    explain: Option<&'s [Reason]>,
}

/// The class of every answer (paper, section 6.3).
const CLASS: &str = Class::Delegated.as_str();

/// What is said where a vault's own configuration names a program.
const IGNORED: &str = "`search` in .context/config.yaml is ignored: a vault cannot name what runs; set \
                       CTX_SEARCH_COMMAND, or name the vault in ~/.config/contextnest/config.yaml";

pub(super) fn run(args: &Search, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let query = Query::parse(&args.words.join(" "))?;
    let vault = session.vault()?;
    let source = session.source(&vault, Need::Versions)?;
    let snapshot = Snapshot::of(&vault, &source, None)?;
    let Answered { backend, answer } = &ask(session, &vault, &snapshot, &query, args.limit.into())?;
    if session.ui.json {
        let json = SearchJson {
            query: query.text(),
            class: CLASS,
            backend,
            checkpoint: snapshot.checkpoint(),
            hits: answer.hits.iter().map(|hit| HitJson::new(hit, args.explain)).collect(),
            withheld: answer.withheld.iter().map(WithheldJson::from).collect(),
            notes: &answer.notes,
        };
        session.ui.result("search", &json);
    } else {
        answer.hits.iter().for_each(|hit| print(&mut session.ui, hit, args.explain));
    }
    let (what, at) = (count(answer.hits.len(), "hit"), snapshot.checkpoint());
    session.ui.note(&match (snapshot.hash(), answer.hits.is_empty()) {
        (None, _) => "nothing is published; `ctx status` shows what could be".to_owned(),
        (_, true) => {
            format!("no published section matches at checkpoint {at} ({CLASS} to {backend})")
        }
        _ => format!("{what} at checkpoint {at}, {CLASS} to {}", shown(backend)),
    });
    for note in &answer.notes {
        session.ui.note(&format!("note: {}", shown(note)));
    }
    tell_withheld(session, &answer.withheld);
    Ok(if answer.withheld.is_empty() { Answer::Yes } else { Answer::No })
}

/// What a search in a selector that is asked of `snapshot` stands for.
pub(super) fn in_selector(
    session: &mut Session<'_>,
    vault: &Vault,
    source: &Source,
    snapshot: &Snapshot<'_>,
    query: &str,
) -> Result<Searched, Failure> {
    let (asked, head) = (snapshot.checkpoint(), Snapshot::of(vault, source, None)?.checkpoint());
    if asked != head {
        let message = format!(
            "a search answers for the last checkpoint, {head}, but this is asked of checkpoint {asked}"
        );
        return Err(Failure::new(Code::SearchPast, message)
            .hint("leave the checkpoint out, or select by tag, type, folder or document"));
    }
    let query = Query::parse(query)?;
    let answered = ask(session, vault, snapshot, &query, search::SELECTED_HITS)?;
    Ok(answered.answer.into_searched(answered.backend))
}

/// An answer and who gave it.
struct Answered {
    backend: String,
    answer: search::Answer,
}

/// Asks the back-end that the user chose for a vault.
fn ask(
    session: &mut Session<'_>,
    vault: &Vault,
    snapshot: &Snapshot<'_>,
    query: &Query,
    limit: usize,
) -> Result<Answered, Failure> {
    let program = configured::program(vault.root(), |name| session.world.var(name))?;
    let (cache, terminal) = (vault.cache().map(Path::to_owned), session.world.terminal);
    let ui = RefCell::new(&mut session.ui);
    let on_slow = |documents| {
        if terminal {
            let what = count(documents, "document");
            ui.borrow_mut().note(&format!("reading {what} into the search index"));
        }
    };
    let backend: Box<dyn Backend> = match (program, snapshot.hash()) {
        (Some(program), _) => Box::new(Command::new(program, vault.root(), snapshot.checkpoint())),
        (None, Some(head)) => Box::new(Builtin::new(snapshot, head, cache, &on_slow)),
        (None, None) => Box::new(search::Nothing),
    };
    let mut answer = search::search(snapshot, &*backend, query, limit)?;
    if vault.config().search_ignored {
        answer.notes.push(IGNORED.to_owned());
    }
    Ok(Answered { backend: backend.name().to_owned(), answer })
}

impl<'s> HitJson<'s> {
    fn new(hit: &'s Hit, explain: bool) -> Self {
        let served = &hit.served;
        Self {
            id: served.id.as_str(),
            anchor: hit.section.as_ref().map(|section| section.anchor.as_str()),
            uri: hit.uri().map(|uri| uri.to_string()),
            title: served.title(),
            heading: hit.section.as_ref().map(|section| section.title.as_str()),
            node_type: served.fields.node_type.as_str(),
            tags: &served.fields.tags,
            version: served.entry.version,
            checkpoint: served.checkpoint,
            chain_hash: hit.chain_hash().to_string(),
            class: CLASS,
            score: hit.score,
            snippet: &hit.snippet,
            explain: explain.then_some(&hit.reasons),
        }
    }
}

fn print(ui: &mut Ui<'_>, hit: &Hit, explain: bool) {
    let served = &hit.served;
    let (version, hash) = (served.entry.version, hit.chain_hash().short());
    let anchor = hit.section.as_ref().map_or_else(String::new, |s| format!("#{}", s.anchor));
    let (name, title) = (format!("{}{anchor}", served.id), shown(served.title()));
    ui.line(&format!("{}  v{version} {hash}  {:.3}  {title}", shown(&name), hit.score));
    let Snippet { text, cut_before, cut_after, .. } = &hit.snippet;
    let dots = |cut: &bool| if *cut { "…" } else { "" };
    if !text.is_empty() {
        ui.line(&format!("    {}{}{}", dots(cut_before), shown(text), dots(cut_after)));
    }
    if !explain {
        return;
    }
    for reason in &hit.reasons {
        let Reason { term, field, score, tf, df, n, boost, idf, length, average, .. } = reason;
        ui.line(&format!(
            "    {score:.6} {field}: {} (boost {boost}, idf {idf:.6} for {df} of {n}, {tf} in {length} words, average {average:.2})",
            shown(term)
        ));
    }
    if let Some(share) = hit.reasons.first().map(|reason| reason.share) {
        ui.line(&format!(
            "    {:.6} in all, of which {share:.6} for the part of the query that was found",
            hit.score
        ));
    }
}

impl From<QueryError> for Failure {
    fn from(why: QueryError) -> Self {
        let failure = Self::new(Code::QueryInvalid, why.to_string());
        match why {
            QueryError::Empty => failure.hint("a word has letters or digits"),
            _ => failure.hint("leave some words out"),
        }
    }
}

impl From<SearchError> for Failure {
    fn from(why: SearchError) -> Self {
        let failure = Self::new(Code::SearchFailed, why.to_string());
        match why {
            SearchError::Log(why) => why.into(),
            SearchError::Command { said, .. } => Self { details: said, ..failure }
                .hint("spec/search.md says how a program is asked and answers; without CTX_SEARCH_COMMAND and a program in your configuration the built-in index is used"),
            SearchError::Index(_) => failure.hint("run it again; if it stays so, report it"),
        }
    }
}

impl From<ConfiguredError> for Failure {
    fn from(why: ConfiguredError) -> Self {
        Self::new(Code::ConfigInvalid, why.to_string()).hint(
            "a program that searches is a file of yours outside of the vault, named by its absolute path",
        )
    }
}
