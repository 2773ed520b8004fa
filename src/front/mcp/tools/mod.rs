//! The tools: each has a type of arguments, from which its schema is made, and a call (MCP-3).

mod approve;
mod arguments;
mod assign_steward;
mod author;
mod blame;
mod check;
mod create;
mod diff;
mod history;
mod init;
mod neighbors;
mod output;
mod overview;
mod pack;
pub(super) mod page;
mod publish;
mod read;
mod reject;
mod replay;
mod resolve;
mod restore;
mod review;
mod search;
mod source_record;
mod stage_list;
mod stage_promote;
mod submit;
mod update;
mod verify;
mod withdraw;

use std::sync::Arc;

pub(super) use arguments::Holds;
pub(super) use pack::selector as selector_of_pack;
pub(super) use resolve::Wanted;
use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::arguments::{HOLDS, fitted, listed, made_once, read};
use self::output::Outputs;
use super::answer::{Answer, BUDGET, Size, WITHHELD};
use super::consent::Asking;
use crate::files::vault::Vault;
use crate::files::vault::progress::Phase;
use crate::read::snapshot::{CheckpointSource, Need};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::moment::Moment;
use crate::values::model::verb::{Effect, Profile, Verb};

/// Every tool, in the order of the list: those of a reader, then those of an author, and of
/// a reviewer.
pub(super) static ALL: &[Tool] = &[
    Tool::of::<init::Init>(),
    Tool::of::<overview::Overview>(),
    Tool::of::<search::Search>(),
    Tool::of::<resolve::Resolve>(),
    Tool::of::<read::Read>(),
    Tool::of::<neighbors::Neighbors>(),
    Tool::of::<pack::Pack>(),
    Tool::of::<diff::Diff>(),
    Tool::of::<history::History>(),
    Tool::of::<blame::Blame>(),
    Tool::of::<check::Check>(),
    Tool::of::<verify::Verify>(),
    Tool::of::<replay::Replay>(),
    Tool::of::<create::Create>(),
    Tool::of::<update::Update>(),
    Tool::of::<submit::Submit>(),
    Tool::of::<withdraw::Withdraw>(),
    Tool::of::<restore::Restore>(),
    Tool::of::<source_record::SourceRecord>(),
    Tool::of::<stage_list::StageList>(),
    Tool::of::<review::Review>(),
    Tool::of::<approve::Approve>(),
    Tool::of::<reject::Reject>(),
    Tool::of::<publish::Publish>(),
    Tool::of::<stage_promote::StagePromote>(),
    Tool::of::<assign_steward::AssignSteward>(),
];

pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Parses the arguments and makes the call.
    pub(super) run: fn(&mut Call<'_>, JsonObject) -> Result<Answer, Failure>,
    /// Converts the arguments to the types of the schema.
    pub(super) fitted: fn(JsonObject) -> Result<JsonObject, Failure>,
    /// Returns the question before a call, for a tool that asks.
    pub(super) asks: Option<Asks>,
    /// True if the tool is for governed vaults only.
    pub(super) is_governed: bool,
    /// The first profile that has the tool.
    pub(super) profile: Profile,
    /// True if a call may change the vault.
    pub(super) changes: bool,
    /// True if a call may replace a text of the vault.
    replaces: bool,
    title: &'static str,
    description: &'static str,
    /// The schema of the arguments, with [`HOLDS`].
    schema: fn() -> Arc<JsonObject>,
    outputs: fn(&mut Outputs),
}

/// Returns the question before a call with these arguments; `None` if it needs no consent.
pub(super) type Asks = fn(&mut Call<'_>, JsonObject) -> Result<Option<Asking>, Failure>;

/// The arguments of a tool.
trait Question: DeserializeOwned + JsonSchema {
    /// Name of the tool, as in the row of its verb.
    const NAME: &'static str;
    /// Name for people.
    const TITLE: &'static str;
    /// Instructions for models, in at most 60 words.
    const DESCRIPTION: &'static str;
    /// True if a call may replace a text of the vault.
    const REPLACES: bool = false;
    /// True if a human is asked before some calls.
    const ASKS: bool = false;
    /// True if the tool is for governed vaults only.
    const GOVERNED: bool = false;

    /// Returns the question before the call; `None` if the call needs no consent.
    fn asks(&self, _: &mut Call<'_>) -> Result<Option<Asking>, Failure> {
        Ok(None)
    }

    /// Collects the reports that the tool answers with.
    fn outputs(outputs: &mut Outputs);

    /// Makes the call.
    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure>;
}

impl Tool {
    const fn of<Q: Question>() -> Self {
        let (verb, declared) = Verb::declared(Q::NAME);
        Self {
            name: Q::NAME,
            run: |call, arguments| read::<Q>(arguments)?.ask(call),
            fitted: fitted::<Q>,
            asks: match Q::ASKS {
                true => Some(|call, arguments| read::<Q>(arguments)?.asks(call)),
                false => None,
            },
            is_governed: Q::GOVERNED,
            profile: declared.profile,
            changes: !matches!(verb.effect(), Effect::Reads),
            replaces: Q::REPLACES,
            title: Q::TITLE,
            description: Q::DESCRIPTION,
            schema: made_once::<Q>,
            outputs: Q::outputs,
        }
    }

    /// Returns the verb that the log records for a call with these arguments.
    pub(super) fn verb(&self, arguments: &JsonObject) -> Verb {
        let is_given = |name: &str| arguments.get(name).is_some_and(|value| !value.is_null());
        Verb::of_tool(self.name, is_given).unwrap_or(Verb::declared(self.name).0)
    }

    /// Returns the texts of these arguments that are declared with [`HOLDS`].
    pub(super) fn held<'a>(
        &self,
        arguments: &'a mut JsonObject,
        kind: Holds,
    ) -> impl Iterator<Item = &'a mut Value> {
        let schema = (self.schema)();
        let is_held = move |name: &str| schema["properties"][name][HOLDS] == kind.as_str();
        let held = arguments.iter_mut().filter(move |(name, _)| is_held(name));
        held.flat_map(|(_, value)| match value {
            Value::Array(values) => values.iter_mut().collect(),
            one => vec![one],
        })
    }

    /// Returns the description for clients.
    pub(super) fn described(&self) -> Described {
        let mut annotations = ToolAnnotations::new().read_only(!self.changes).open_world(false);
        if self.changes {
            // Both mean nothing for a tool that only reads.
            annotations = annotations.destructive(self.replaces).idempotent(false);
        }
        Described::new(self.name, self.description, Arc::new(listed(&(self.schema)())))
            .with_title(self.title)
            .with_annotations(annotations)
            .with_raw_output_schema(Arc::new(Outputs::of(self.outputs).listed()))
    }

    /// Returns the full schemas of the arguments and of the answers.
    pub(super) fn schemas(&self) -> (JsonObject, JsonObject) {
        (listed(&(self.schema)()), Outputs::of(self.outputs).full())
    }
}

/// The checkpoint to answer at: its number, or a time.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct At(String);

impl At {
    /// Parses the moment.
    fn moment(at: Option<&Self>) -> Result<Option<Moment>, Failure> {
        let Some(Self(text)) = at else { return Ok(None) };
        // Some models write each number as a decimal.
        let whole = text.strip_suffix(".0").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let read = whole.unwrap_or(text).parse::<Moment>();
        read.map(Some).map_err(|why| Failure::new(Code::Usage, format!("`at` is `{text}`: {why}")))
    }
}

/// Returns the maximum number of tokens of an answer: that of the call, or the default.
fn limit(budget: Option<u64>) -> Size {
    budget.unwrap_or(BUDGET).into()
}

/// Returns the answer with the maximum number of entries that fit, up to `most` and at least one.
/// `make` makes an answer with up to that number of entries, and returns their number.
///
/// # Errors
/// As `make`, or one entry does not fit; `smaller` advises how to ask for less.
fn fitting(
    call: &mut Call<'_>,
    (size, most, smaller): (Size, usize, &'static str),
    mut make: impl FnMut(&mut Call<'_>, usize) -> Result<(Answer, usize), Failure>,
) -> Result<Answer, Failure> {
    let (mut answer, mut entries) = make(call, most)?;
    while entries > 1 && !answer.fits(size) {
        // An answer that is not sent is not recorded.
        call.unsend();
        let share = (entries as u64).saturating_mul(size.tokens) / answer.tokens(size).max(1);
        let fewer = usize::try_from(share).unwrap_or(entries).clamp(1, entries - 1);
        (answer, entries) = make(call, fewer)?;
    }
    answer.cut(size, &[WITHHELD]).within(size, smaller)
}

/// Returns the vault of a call, and its checkpoints.
pub(super) fn places(
    call: &mut Call<'_>,
    need: Need,
) -> Result<(Vault, CheckpointSource), Failure> {
    let vault = call.vault()?;
    let source = call.source(&vault, need, &mut on_indexing(&vault))?;
    Ok((vault, source))
}

/// Makes the index of a vault without one, before any call, because a server gets many calls. A
/// failure here also fails the answer, which reports it.
pub(super) fn make_index(call: &mut Call<'_>) {
    if let Ok(vault) = call.vault() {
        let _ = CheckpointSource::open(&vault, Need::Fields, &mut on_indexing(&vault));
    }
}

fn on_indexing(vault: &Vault) -> impl FnMut(usize, usize) + use<> {
    let progress = Arc::clone(vault.progress());
    move |done, total| progress.reach(Phase::Indexing, (done, total))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::arguments::fit;
    use super::*;
    use crate::values::model::number::CheckpointNumber;

    /// The values of [`HOLDS`]. `new` is the id of a new document, which is judged with its
    /// text, and `staged` the name of a staged result, which is searched among those that the
    /// principal sees.
    const KINDS: [&str; 4] = ["document", "text", "new", "staged"];

    #[test]
    fn descriptions_are_short_and_arguments_described_and_strict() {
        let mut length = 0;
        for tool in ALL {
            let described = tool.described();
            let words = tool.description.split_whitespace().count();
            assert!(words <= 60, "{}: {words} words", tool.name);
            assert_eq!(described.input_schema["additionalProperties"], false, "{}", tool.name);
            let properties = described.input_schema.get("properties");
            for (name, property) in properties.and_then(Value::as_object).into_iter().flatten() {
                assert!(property.get("description").is_some(), "{}: {name}", tool.name);
            }
            if tool.profile == Profile::Reader {
                length += serde_json::to_string(&described).unwrap().len();
            }
        }
        assert!(length.div_ceil(4) < 3_000, "{} tokens", length.div_ceil(4));
    }

    #[test]
    fn every_tool_of_a_row_exists() {
        let rows: BTreeSet<&str> =
            Verb::all().flat_map(Verb::tools).map(|tool| tool.name).collect();
        assert_eq!(rows, ALL.iter().map(|tool| tool.name).collect());
        for tool in Verb::all().flat_map(Verb::tools).filter(|tool| !tool.argument.is_empty()) {
            let schema = ALL.iter().find(|one| one.name == tool.name).unwrap().schemas().0;
            assert!(schema["properties"].get(tool.argument).is_some(), "{tool:?}");
        }
    }

    /// A new argument of a tool that writes either declares its content, or is listed here.
    #[test]
    fn every_text_of_a_tool_that_writes_is_declared_or_known_to_be_harmless() {
        // Metadata, which the change log and the histories contain in the clear.
        let harmless = [
            "title",
            "type",
            "tags",
            "change",
            "note",
            "reason",
            "expected_live",
            "tools",
            "server",
            "media_type",
            "depends_on",
            "error",
            "who",
            "role",
            "folder",
            "tag",
        ];
        for tool in ALL.iter().filter(|tool| tool.changes) {
            let schema = (tool.schema)();
            for (name, property) in schema["properties"].as_object().unwrap() {
                let is_text = |of: &Value| of["type"] == "string" && of.get("enum").is_none();
                let declared = property[HOLDS].as_str();
                assert!(declared.is_none_or(|kind| KINDS.contains(&kind)), "{}: {name}", tool.name);
                assert!(
                    !(is_text(property) || is_text(&property["items"]))
                        || declared.is_some() != harmless.contains(&name.as_str()),
                    "{}: {name}",
                    tool.name
                );
            }
        }
    }

    #[test]
    fn names_and_texts_are_found_in_each_spelling() {
        let tool = |name: &str| ALL.iter().find(|tool| tool.name == name).unwrap();
        let held = |name: &str, given: Value, kind| {
            let mut given = (tool(name).fitted)(given.as_object().unwrap().clone()).unwrap();
            let held: Vec<String> =
                tool(name).held(&mut given, kind).map(|value| value.to_string()).collect();
            held.join(" ")
        };
        for ids in [serde_json::json!(["a", "b"]), "[\"a\",\"b\"]".into()] {
            let given = serde_json::json!({"ids": ids});
            assert_eq!(held("context_submit", given, Holds::Document), "\"a\" \"b\"");
        }
        let given = serde_json::json!({"ids": "a", "note": "x"});
        assert_eq!(held("context_submit", given, Holds::Document), "\"a\"");
        let given = serde_json::json!({"id": "a", "body": "x", "title": "t"});
        assert_eq!(held("context_update", given.clone(), Holds::Text), "\"x\"");
        assert_eq!(held("context_create", given, Holds::Document), "");
        let given = serde_json::json!({"who": "kim", "role": "editor", "document": "a"});
        assert_eq!(held("context_assign_steward", given, Holds::Document), "\"a\"");
    }

    #[test]
    fn a_listed_schema_of_answers_is_flat_and_takes_failures() {
        for tool in ALL {
            let described = tool.described();
            let listed = described.output_schema.unwrap();
            let names = listed["properties"]["schema"]["enum"].as_array().unwrap().clone();
            assert_eq!(names.last().unwrap(), "ctx.error", "{}", tool.name);
            assert!(names.len() > 1, "{}", tool.name);
            let (_, full) = tool.schemas();
            assert_eq!(full["oneOf"].as_array().unwrap().len(), names.len(), "{}", tool.name);
        }
    }

    #[test]
    fn schemas_say_nothing_twice() {
        let schema = Value::Object(listed(&made_once::<neighbors::Neighbors>()));
        let properties = &schema["properties"];
        let hops = serde_json::json!({
            "description": "Links to follow in a row; default 1", "type": "integer",
        });
        assert_eq!(properties["hops"], hops);
        assert_eq!(properties["direction"]["enum"], serde_json::json!(["in", "out", "both"]));
        assert_eq!(properties["at"]["type"], "string");
        assert_eq!(schema["required"], serde_json::json!(["id"]));
    }

    #[test]
    fn null_is_left_out_and_a_number_without_a_fraction_is_an_integer() {
        let read = |json: Value| read::<neighbors::Neighbors>(json.as_object().unwrap().clone());
        let same =
            serde_json::json!({"id": "a", "hops": 2.0, "at": null, "kind": null, "limit": 3e0});
        assert_eq!(
            format!("{:?}", read(same).unwrap()),
            format!("{:?}", read(serde_json::json!({"id": "a", "hops": 2, "limit": 3})).unwrap())
        );
        for wrong in [serde_json::json!({"id": null}), serde_json::json!({"id": "a", "hops": 1.5})]
        {
            assert!(read(wrong).is_err());
        }
    }

    #[test]
    fn a_checkpoint_is_a_number_or_a_time() {
        let read = |at: Value| {
            let arguments = serde_json::json!({"id": "a", "at": at});
            let read = read::<neighbors::Neighbors>(arguments.as_object().unwrap().clone());
            At::moment(read.unwrap().at.as_ref())
        };
        for number in [3.into(), 3.0.into(), "3".into(), "3.0".into(), "@3".into()] {
            assert!(matches!(read(number), Ok(Some(Moment::Number(CheckpointNumber(3))))));
        }
        assert!(matches!(read("2026-11-21".into()), Ok(Some(Moment::Time(_)))));
        for wrong in [Value::from("soon"), (-1).into(), 1.5.into(), ".0".into()] {
            assert_eq!(read(wrong).unwrap_err().code, Code::Usage);
        }
    }

    #[test]
    fn arguments_are_converted_to_the_types_of_the_schema() {
        let integer = serde_json::json!({"type": "integer"});
        for (given, read) in [
            (Value::from("5"), Some(5)),
            (" 5 ".into(), Some(5)),
            ("5.0".into(), Some(5)),
            (5.0.into(), Some(5)),
            ("-5".into(), None),
            ((-5).into(), None),
            (5.5.into(), None),
            ("five".into(), None),
            ("".into(), None),
            (true.into(), None),
            (serde_json::json!(["5"]), None),
        ] {
            assert_eq!(fit(given.clone(), &integer).ok(), read.map(Value::from), "{given}");
        }
        let boolean = serde_json::json!({"type": "boolean"});
        for (given, read) in [
            (Value::from("true"), Some(true)),
            ("False".into(), Some(false)),
            (1.into(), None),
            ("1".into(), None),
            ("yes".into(), None),
        ] {
            assert_eq!(fit(given.clone(), &boolean).ok(), read.map(Value::from), "{given}");
        }
        let texts = serde_json::json!({"type": "array", "items": {"type": "string"}});
        let given = serde_json::json!(["a", 5]);
        assert_eq!(fit(given, &texts), Ok(serde_json::json!(["a", "5"])));
        for (given, list) in [
            (Value::from("Policy"), serde_json::json!(["Policy"])),
            (5.into(), serde_json::json!(["5"])),
            ("[\"Policy\",\"b\"]".into(), serde_json::json!(["Policy", "b"])),
        ] {
            assert_eq!(fit(given, &texts), Ok(list));
        }
        let why = fit(serde_json::json!([null]), &texts).unwrap_err();
        assert_eq!(why, "has an entry that must be a text");
    }

    #[test]
    fn empty_texts_of_optional_arguments_are_left_out() {
        let read =
            |arguments: Value| read::<neighbors::Neighbors>(arguments.as_object().unwrap().clone());
        let empty = serde_json::json!({
            "id": "a", "hops": "", "direction": "", "kind": "", "cursor": "", "at": "", "budget": ""
        });
        let plain = format!("{:?}", read(serde_json::json!({"id": "a"})).unwrap());
        assert_eq!(format!("{:?}", read(empty).unwrap()), plain);
        let update = serde_json::json!({"id": "a", "body": "x", "expected_live": "", "note": ""});
        let update = super::read::<update::Update>(update.as_object().unwrap().clone());
        let update = format!("{:?}", update.unwrap());
        assert!(update.contains("expected_live: Some(\"\")"), "{update}");
        assert!(update.contains("note: None"), "{update}");
        let guard = serde_json::json!({"id": "a", "body": "x", "expected_version": ""});
        assert!(super::read::<update::Update>(guard.as_object().unwrap().clone()).is_err());
    }

    #[test]
    fn a_wrong_argument_is_named_without_a_type_of_rust() {
        for (arguments, wanted) in [
            (
                serde_json::json!({"id": "a", "hops": "many"}),
                "`hops` must be a whole number, 0 or more",
            ),
            (serde_json::json!({"id": ["a"]}), "`id` must be a text"),
            (serde_json::json!({"id": "a", "kind": "Ref"}), "`kind` must be one of `reference`, "),
            (serde_json::json!({"id": "a", "hop": 1}), "unknown field `hop`"),
            (serde_json::json!({}), "missing field `id`"),
        ] {
            let why = read::<neighbors::Neighbors>(arguments.as_object().unwrap().clone());
            let message = why.unwrap_err().message;
            assert!(message.contains(wanted), "{message}");
            for word in ["u64", "usize", "variant", "struct", "sequence", "untagged"] {
                assert!(!message.contains(word), "{message}");
            }
        }
    }

    #[test]
    fn schemas_of_arguments_have_only_what_every_client_reads() {
        fn check(schema: &Value, place: &str) {
            for (word, value) in schema.as_object().unwrap() {
                let is_sound = match word.as_str() {
                    "type" => value.is_string(),
                    "description" => value.is_string(),
                    "additionalProperties" => *value == false,
                    "required" => value.as_array().is_some_and(|all| !all.is_empty()),
                    "enum" => {
                        schema["type"] == "string"
                            && value.as_array().unwrap().iter().all(Value::is_string)
                    }
                    "items" => {
                        check(value, place);
                        schema["type"] == "array"
                    }
                    "properties" => {
                        let all = value.as_object().unwrap();
                        all.iter().for_each(|(name, one)| check(one, &format!("{place}/{name}")));
                        true
                    }
                    _ => false,
                };
                assert!(is_sound, "{place}: {word}: {value}");
            }
            assert!(schema["type"].is_string(), "{place}");
            assert!(schema["type"] != "array" || schema["items"].is_object(), "{place}");
        }
        for tool in ALL {
            check(&Value::Object(tool.schemas().0), tool.name);
        }
    }
}
