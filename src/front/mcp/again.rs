//! Repeats a recorded call of a tool (AUDIT-17). Its words are not trusted: they are parsed like
//! the arguments of a request, and only tools are called whose answer follows from a checkpoint.

use rmcp::model::JsonObject;

use super::tools::ALL;
use super::{prompts, resources};
use crate::service::report::failure::Failure;
use crate::service::workspace::call::Call;
use crate::values::model::verb::Verb;

/// The verbs of tools whose answer follows from a checkpoint.
const OF_CHECKPOINT: [Verb; 5] =
    [Verb::Read, Verb::Resolve, Verb::Blame, Verb::Context, Verb::Diff];

/// Repeats a request of a method.
type Again = fn(&mut Call<'_>, &JsonObject) -> Result<Vec<u8>, Failure>;

/// Returns the bytes that are recorded of the answer to a call (MCP-8), made by `call`; `None` if
/// the words are not a call of a tool.
///
/// # Errors
/// The answer cannot be reproduced; the text is the reason.
pub(crate) fn again(call: &mut Call<'_>, words: &[String]) -> Option<Result<Vec<u8>, String>> {
    let (name, arguments) = words.split_first()?;
    let method = match name.as_str() {
        "resources/read" => Some(resources::again as Again),
        "prompts/get" => Some(prompts::again as Again),
        _ => None,
    };
    if let (Some(again), [one]) = (method, arguments) {
        let read = serde_json::from_str::<JsonObject>(one).ok();
        let read = read.ok_or_else(|| "its words are not a request of this version".to_owned());
        let made = |params| again(call, &params).map_err(|why| fails(&why));
        return Some(read.and_then(made));
    }
    let tool = ALL.iter().find(|tool| tool.name == *name)?;
    let read = || match arguments {
        [one] => serde_json::from_str::<JsonObject>(one).ok(),
        _ => None,
    };
    let Some(mut arguments) = read() else {
        return Some(Err("its words are not a call of this version".to_owned()));
    };
    if !OF_CHECKPOINT.contains(&tool.verb(&arguments)) {
        return Some(Err(format!("the output of `{name}` is not reproduced")));
    }
    if arguments.get("draft").is_some_and(|draft| *draft != false) {
        return Some(Err("no checkpoint contains a draft".to_owned()));
    }
    // The log belongs to the vault of the call (MCP-15).
    arguments.remove("vault");
    let answer = (tool.run)(call, arguments);
    Some(answer.map(|answer| answer.bytes()).map_err(|why| fails(&why)))
}

fn fails(why: &Failure) -> String {
    format!("the call fails now: {}", why.message)
}
