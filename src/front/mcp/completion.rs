//! Completion of template variables and prompt arguments that a person types (MCP-29): names that
//! the principal may know of, by their beginning.

use percent_encoding::percent_decode_str;
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, CompleteResult, CompletionContext, CompletionInfo,
    Reference,
};
use serde_json::{Value, json};

use super::calls::{Asker, Shared};
use super::prompts::{REVIEW, SELECT};
use super::requests::{bytes, said};
use super::tools::places;
use super::vaults::Vaults;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::ask::is_of_selectors;
use crate::service::workspace::call::{Call, history, names, read, review};
use crate::text::selector::Term;
use crate::text::uri::{SCHEME, encode};
use crate::values::model::id::DocumentId;
use crate::values::model::verb::Verb;

/// Maximum length of a text that is completed, in bytes.
const LONGEST: usize = 4_096;

/// Failures that are answered with an empty list.
const NOTHING: [Code; 11] = [
    Code::UnknownId,
    Code::UnknownAnchor,
    Code::UnknownCheckpoint,
    Code::ForeignVault,
    Code::VaultNotAllowed,
    Code::Withheld,
    Code::UriInvalid,
    Code::IdInvalid,
    Code::NotGoverned,
    Code::NotASteward,
    Code::NoPrincipal,
];

/// The kind of values to complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Vault,
    Id,
    Checkpoint,
    Anchor,
    Submission,
    Selector,
}

/// The input of a client.
struct Typed<'t> {
    value: &'t str,
    context: &'t CompletionContext,
}

impl Typed<'_> {
    fn other(&self, name: &str) -> Option<&str> {
        self.context.get_argument(name).map(String::as_str)
    }
}

impl Shared {
    /// Returns the values that a text can be completed to, at most 100, and their total number.
    ///
    /// # Errors
    /// No template or prompt has the argument, or published texts cannot be read.
    pub(super) fn completion(
        &self,
        asker: &Asker,
        params: &CompleteRequestParams,
    ) -> Result<CompleteResult, Failure> {
        let ArgumentInfo { name, value, .. } = &params.argument;
        let none = CompletionContext::default();
        let typed = Typed { value, context: params.context.as_ref().unwrap_or(&none) };
        let what = self.completed(&params.r#ref, name)?;
        let given = params.context.as_ref().and_then(|context| context.arguments.as_ref());
        let lengths = given.into_iter().flatten().map(|(_, text)| text.len());
        if lengths.chain([value.len()]).any(|length| length > LONGEST) {
            return Ok(cut(Vec::new()));
        }
        let vaults = self.vaults.places();
        if what == What::Vault {
            let names = vaults.into_iter().flatten().filter(|name| name.starts_with(value));
            return Ok(cut(names.map(str::to_owned).collect()));
        }
        // Without its vault, nothing can be completed yet.
        let place = vaults.into_iter().find(|place| *place == typed.other("vault"));
        let place = match (place, self.vaults.places().as_slice()) {
            (Some(place), _) => place,
            (None, [None]) => None,
            (None, _) => return Ok(cut(Vec::new())),
        };
        let said = said(what.verb(), "completion/complete", words(params));
        let mut is_damaged = false;
        let found = self.on_behalf((asker, said), Vaults::arguments(place), |call, _| {
            let result = what.values(call, &typed);
            if result.as_ref().map_or(true, |result| result.completion.values.is_empty()) {
                let vault = call.vault()?;
                let checked = call.workspace.check_rules(&vault);
                is_damaged = checked.is_err();
                checked?;
            }
            let result = result?;
            call.recording.listed = Some(result.completion.values.len());
            call.record(&bytes(&json!({"completion": result.completion})), None)?;
            Ok(result)
        });
        // Missing names, and those that the principal may not decide about, are not completed.
        found.or_else(|failure| match NOTHING.contains(&failure.code) && !is_damaged {
            true => Ok(cut(Vec::new())),
            false => Err(failure),
        })
    }

    /// Returns the kind of values of an argument.
    fn completed(&self, of: &Reference, name: &str) -> Result<What, Failure> {
        let has_vaults = self.vaults.places() != [None];
        let found = match of {
            Reference::Resource(template) => {
                let templates = self.offer.has_resources().then(|| self.resource_templates());
                let mut known = templates.iter().flat_map(|list| &list.resource_templates);
                let is_known = known.any(|known| known.uri_template == template.uri);
                match name {
                    "vault" if has_vaults => Some(What::Vault),
                    "id" => Some(What::Id),
                    "checkpoint" => Some(What::Checkpoint),
                    "anchor" => Some(What::Anchor),
                    _ => None,
                }
                .filter(|_| is_known && has_variable(&template.uri, name))
            }
            Reference::Prompt(prompt) => match (prompt.name.as_str(), name) {
                (REVIEW | SELECT, "vault") if has_vaults => Some(What::Vault),
                (REVIEW, "id") => Some(What::Submission),
                (SELECT, "selector") => Some(What::Selector),
                _ => None,
            }
            .filter(|_| self.offers(&prompt.name)),
            _ => None,
        };
        found.ok_or_else(|| {
            Failure::new(Code::Usage, "no template or prompt has this argument")
                .hint("`resources/templates/list` and `prompts/list` list what can be completed")
        })
    }
}

/// Returns true if a template has a variable with this name.
fn has_variable(template: &str, name: &str) -> bool {
    template.contains(&format!("{{{name}}}")) || template.contains(&format!("{{+{name}}}"))
}

/// Returns the parameters as the log records them.
fn words(params: &CompleteRequestParams) -> Value {
    let context = params.context.as_ref().map(|context| json!(context));
    json!({"ref": params.r#ref, "argument": params.argument, "context": context})
}

/// Returns the first values, and their total number.
fn cut(values: Vec<String>) -> CompleteResult {
    let total = values.len();
    of_total(values, total)
}

/// Returns the first values, with the given total number.
fn of_total(mut values: Vec<String>, total: usize) -> CompleteResult {
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.has_more = Some(total > values.len());
    info.total = u32::try_from(total).ok();
    info.values = values;
    CompleteResult::new(info)
}

impl What {
    /// Returns the verb that lists the same.
    fn verb(self) -> Verb {
        match self {
            Self::Vault | Self::Id | Self::Selector => Verb::List,
            Self::Checkpoint => Verb::History,
            Self::Anchor => Verb::Read,
            Self::Submission => Verb::Review,
        }
    }

    fn values(self, call: &mut Call<'_>, typed: &Typed<'_>) -> Result<CompleteResult, Failure> {
        match self {
            Self::Vault => Ok(cut(Vec::new())),
            Self::Id => ids(call, typed.value),
            Self::Checkpoint => checkpoints(call, typed).map(cut),
            Self::Anchor => anchors(call, typed).map(cut),
            Self::Submission => submissions(call, typed.value).map(cut),
            Self::Selector => selectors(call, typed.value),
        }
    }
}

/// Completes ids as paths of a URI. The input may be encoded, or not.
fn ids(call: &mut Call<'_>, value: &str) -> Result<CompleteResult, Failure> {
    let (vault, source) = places(call, names::NEED)?;
    let Ok(beginning) = percent_decode_str(value).decode_utf8() else { return Ok(cut(Vec::new())) };
    let most = CompletionInfo::MAX_VALUES;
    let (first, total) = call.first_below((&vault, &source), &beginning, most)?;
    let paths = first.iter().map(|(_, uri)| uri.to_string()[SCHEME.len()..].to_owned());
    Ok(of_total(paths.collect(), total))
}

/// Returns the checkpoints at which a version of the document was sealed, the last one first.
fn checkpoints(call: &mut Call<'_>, typed: &Typed<'_>) -> Result<Vec<String>, Failure> {
    let Some(id) = typed.other("id") else { return Ok(Vec::new()) };
    let (vault, source) = places(call, history::NEED)?;
    let id = percent_decode_str(id).decode_utf8().ok().and_then(|id| id.parse::<DocumentId>().ok());
    let Some(id) = id else { return Ok(Vec::new()) };
    let mut numbers = call.history((&vault, &source), id)?.checkpoints();
    numbers.sort_unstable();
    numbers.dedup();
    let numbers = numbers.into_iter().rev().map(|number| number.to_string());
    Ok(numbers.filter(|number| number.starts_with(typed.value)).collect())
}

/// Returns the sections of the document, in the order of its text.
fn anchors(call: &mut Call<'_>, typed: &Typed<'_>) -> Result<Vec<String>, Failure> {
    let Some(id) = typed.other("id") else { return Ok(Vec::new()) };
    let pin = typed.other("checkpoint").map(|number| format!("@{number}")).unwrap_or_default();
    let Ok(beginning) = percent_decode_str(typed.value).decode_utf8() else {
        return Ok(Vec::new());
    };
    let (vault, source) = places(call, read::NEED)?;
    let reading = call.read((&vault, &source), &format!("{SCHEME}{id}{pin}"), None)?;
    let sections = call.outline(&reading);
    let anchors = sections.iter().map(|section| section.anchor.as_str());
    let fitting = anchors.filter(|anchor| !anchor.is_empty() && anchor.starts_with(&*beginning));
    Ok(fitting.map(encode).collect())
}

/// Returns the documents with a submission that awaits a decision of the principal.
fn submissions(call: &mut Call<'_>, value: &str) -> Result<Vec<String>, Failure> {
    let (vault, source) = places(call, review::NEED)?;
    let queued = call.queue((&vault, &source), false)?;
    let report = queued.report();
    let mut ids: Vec<String> = report.waiting.iter().map(|one| one.id.to_string()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids.retain(|id| id.starts_with(value));
    Ok(ids)
}

/// Completes the last term of a selector to a tag, a pack, or, if it is the only term, an id.
fn selectors(call: &mut Call<'_>, value: &str) -> Result<CompleteResult, Failure> {
    let (vault, source) = places(call, names::NEED)?;
    let start = value.rfind(|c: char| c.is_whitespace() || c == '(').map_or(0, |at| at + 1);
    // A blank of more than one byte must not be cut.
    let start = (start..=value.len()).find(|at| value.is_char_boundary(*at)).unwrap_or(start);
    let (before, last) = value.split_at(start);
    let mut terms = Vec::new();
    if last.is_empty() || last.starts_with('#') {
        let tags = call.tags((&vault, &source))?;
        terms.extend(tags.iter().map(|tag| format!("#{tag}")));
    }
    if last.is_empty() || "pack:".starts_with(last) || last.starts_with("pack:") {
        let (snapshot, packs) = call.packs((&vault, &source), None)?;
        call.count_unreadable(&snapshot)?;
        let ids = packs.usable.iter().map(|sealed| sealed.pack.id.clone());
        let is_one = |id: &String| packs.find(id, snapshot.checkpoint()).is_ok();
        let mut ids: Vec<String> = ids.filter(is_one).collect();
        ids.sort_unstable();
        terms.extend(ids.into_iter().map(|id| Term::Pack(id).to_string()));
    }
    terms.retain(|term| term.starts_with(last));
    let mut total = terms.len();
    if before.is_empty() && !last.is_empty() {
        let most = CompletionInfo::MAX_VALUES;
        let (first, all) = call.first_below((&vault, &source), last, most)?;
        total += all;
        // An id that a selector would read as something else is spelled as its URI.
        terms.extend(first.iter().map(|(id, uri)| match is_plain(id.as_str()) {
            true => id.to_string(),
            false => uri.to_string(),
        }));
    }
    Ok(of_total(terms.into_iter().map(|term| format!("{before}{term}")).collect(), total))
}

/// Returns true if a selector reads an id as an id.
fn is_plain(id: &str) -> bool {
    id.contains('/') && !id.contains(is_of_selectors)
}
