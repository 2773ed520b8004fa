//! `ctx search`.

use super::session::Session;
use super::ui::{Ui, shown};
use super::{Answer, document};
use crate::read::search::{self, Hit, Query, Reason, Snippet};
use crate::service::report::failure::Failure;
use crate::service::report::search::CLASS;
use crate::service::workspace::call::search::{self as search_call, Found, Hits};
use crate::values::text_util::count;

/// Find sections of published documents by words
///
/// Titles, tags, descriptions, headings and texts are searched, in any case and without accents
/// (`cafe` finds `café`). For a word that no document has, words that differ by one letter are
/// found. A section ranks higher if it contains more of the words, and rarer ones. "Words in
/// quotes" must be adjacent (quote them for the shell too). Only current, published versions are
/// found, and every text shown is verified; a search answers for the last checkpoint only. It is
/// delegated to a back-end: the built-in index, or a program named in CTX_SEARCH_COMMAND or
/// ~/.config/contextnest/config.yaml. A vault cannot name one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ctx search late payment fee\n  \
ctx search '\"late payment\" fee' --limit 3\n  ctx search refunds --explain --json\n  ctx search pay --prefix")]
pub(super) struct Search {
    /// Words to search for
    #[arg(value_name = "WORDS", required = true)]
    words: Vec<String>,
    /// Print at most this many hits
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u16).range(1..=search::MAX_HITS as i64))]
    limit: u16,
    /// Find also words that begin with the last word
    #[arg(long)]
    prefix: bool,
    /// Show how each score is computed
    #[arg(long)]
    explain: bool,
}

pub(super) fn run(args: &Search, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let query = Query::parse(&args.words.join(" "))?.with_prefix(args.prefix);
    let vault = session.vault()?;
    let source = session.source(&vault, search_call::need(&vault))?;
    let (places, asked) = ((&vault, &source), (&query, Hits::best(args.limit.into())));
    let found = session.ask(|call, on_slow| call.search(places, asked, on_slow))?;
    let report = session.release(found.report(args.explain));
    let Found { backend, answer, checkpoint: at, .. } = &found;
    session.print(&report, |session, _| {
        answer.hits.iter().for_each(|hit| print(&mut session.ui, hit, args.explain));
    });
    let backend = shown(backend);
    let note = match (found.hash, answer.hits.len()) {
        (None, _) => "hint: nothing is published; `ctx status` shows what can be".to_owned(),
        (_, 0) => format!("note: no section matches at checkpoint {at}, {CLASS} to {backend}"),
        (_, hits) => format!("{} at checkpoint {at}, {CLASS} to {backend}", count(hits, "hit")),
    };
    // The report contains it already.
    if !session.ui.json || answer.hits.is_empty() {
        session.ui.note(&note);
    }
    document::note(session, None, &answer.notes);
    Ok(session.answer(&answer.withheld))
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
        let Reason { term, near, field, score, tf, df, n, boost, idf, length, average, .. } =
            reason;
        let near = if near.is_empty() { String::new() } else { format!(" ~ {}", near.join(" | ")) };
        ui.line(&format!(
            "    {score:.6} {field}: {}{} (boost {boost}, idf {idf:.6} for {df} of {n}, {tf} in {length} words, average {average:.2})",
            shown(term),
            shown(&near)
        ));
    }
    if let Some(share) = hit.reasons.first().map(|reason| reason.share) {
        ui.line(&format!(
            "    {:.6} in total; {share:.6} of it for the found part of the query",
            hit.score
        ));
    }
}
