//! The tools: one type of arguments each, from which its schema is made, and one question (MCP-3).

mod approve;
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

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use pack::selector as selector_of_pack;
pub(super) use resolve::Wanted;
use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::output::Outputs;
use super::answer::{Answer, BUDGET, Size, WITHHELD};
use super::consent::Asking;
use super::offer::Profile;
use crate::files::vault::Vault;
use crate::files::vault::progress::Phase;
use crate::read::snapshot::{CheckpointSource, Need};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::Call;
use crate::service::workspace::moment::Moment;

/// Every tool, in the order in which they are listed: those of a reader, then those of an author, and
/// of a reviewer.
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

/// What a call may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// It adds to the vault.
    Adds,
    /// It takes the place of what was there.
    Replaces,
}

impl Effect {
    /// Whether it changes anything.
    pub(super) fn changes(self) -> bool {
        self != Self::Reads
    }
}

/// A tool.
pub(super) struct Tool {
    /// Its name.
    pub(super) name: &'static str,
    /// The verb whose call it makes with these arguments, as the log says it.
    pub(super) verb: fn(&JsonObject) -> &'static str,
    /// Reads its arguments and asks.
    pub(super) run: fn(&mut Call<'_>, JsonObject) -> Result<Answer, Failure>,
    /// What a human is asked before a call, of a tool that asks.
    pub(super) asks: Option<Asks>,
    /// Whether it is a tool of governed vaults only.
    pub(super) is_governed: bool,
    /// Whether its `id` is that of a new document.
    pub(super) is_new: bool,
    /// The first profile that has it.
    pub(super) profile: Profile,
    /// What it may change.
    pub(super) effect: Effect,
    title: &'static str,
    description: &'static str,
    schema: fn() -> JsonObject,
    outputs: fn(&mut Outputs),
}

/// Below it a number of 64 bits has no neighbours that are the same integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// What a human is asked before a call with these arguments; none where it needs no consent.
pub(super) type Asks = fn(&mut Call<'_>, JsonObject) -> Result<Option<Asking>, Failure>;

/// The arguments of a tool.
trait Question: DeserializeOwned + JsonSchema {
    /// The name of the tool.
    const NAME: &'static str;
    /// The verb that asks the same.
    const VERB: &'static str;
    /// The verb that asks the same of one `id`, if that is another one.
    const VERB_OF_ID: &'static str = Self::VERB;
    /// Its name for people.
    const TITLE: &'static str;
    /// When a model is to use it, in at most 60 words.
    const DESCRIPTION: &'static str;
    /// The first profile that has it.
    const PROFILE: Profile = Profile::Reader;
    /// What it may change.
    const EFFECT: Effect = Effect::Reads;
    /// Whether a human is asked before some calls.
    const ASKS: bool = false;
    /// Whether it is a tool of governed vaults only.
    const GOVERNED: bool = false;
    /// Whether its `id` is that of a new document.
    const NEW: bool = false;

    /// What a human is asked before the call; none where the call needs no consent.
    fn asks(&self, _: &mut Call<'_>) -> Result<Option<Asking>, Failure> {
        Ok(None)
    }

    /// The reports that it answers with.
    fn outputs(outputs: &mut Outputs);

    /// Asks.
    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure>;
}

/// The verb of a call with these arguments.
fn verb<Q: Question>(arguments: &JsonObject) -> &'static str {
    match arguments.get("id") {
        None | Some(Value::Null) => Q::VERB,
        Some(_) => Q::VERB_OF_ID,
    }
}

impl Tool {
    const fn of<Q: Question>() -> Self {
        Self {
            name: Q::NAME,
            verb: verb::<Q>,
            run: |call, arguments| read::<Q>(arguments)?.ask(call),
            asks: match Q::ASKS {
                true => Some(|call, arguments| read::<Q>(arguments)?.asks(call)),
                false => None,
            },
            is_governed: Q::GOVERNED,
            is_new: Q::NEW,
            profile: Q::PROFILE,
            effect: Q::EFFECT,
            title: Q::TITLE,
            description: Q::DESCRIPTION,
            schema: schema::<Q>,
            outputs: Q::outputs,
        }
    }

    /// What clients are told of it.
    pub(super) fn described(&self) -> Described {
        let changes = self.effect.changes();
        let mut annotations = ToolAnnotations::new().read_only(!changes).open_world(false);
        if changes {
            // Of a tool that only reads both say nothing.
            annotations =
                annotations.destructive(self.effect == Effect::Replaces).idempotent(false);
        }
        Described::new(self.name, self.description, Arc::new((self.schema)()))
            .with_title(self.title)
            .with_annotations(annotations)
            .with_raw_output_schema(Arc::new(Outputs::of(self.outputs).listed()))
    }

    /// The full schemas of its arguments and of its answers.
    pub(super) fn schemas(&self) -> (JsonObject, JsonObject) {
        ((self.schema)(), Outputs::of(self.outputs).full())
    }
}

/// Arguments of which an empty text is not the same as none: a text, and what guards a text that
/// somebody else wrote.
const KEPT: [&str; 5] = ["body", "title", "version", "expected_version", "expected_live"];

/// Reads the arguments of a call. One that is null, or an empty text where it may be left out, is left
/// out. One in the spelling of another type is converted: models write `"5"` for 5.
fn read<Q: Question>(arguments: JsonObject) -> Result<Q, Failure> {
    let invalid = |why: String| {
        Failure::new(Code::Usage, format!("the arguments of `{}` are invalid: {why}", Q::NAME))
            .hint("`tools/list` has the schema of the arguments")
    };
    let schema = made_once::<Q>();
    let wanted = schema.get("properties").unwrap_or(&Value::Null);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|n| n == name));
    let is_left_out = |(name, value): &(String, Value)| {
        value.is_null() || (*value == "" && !is_required(name) && !KEPT.contains(&name.as_str()))
    };
    let given = arguments.into_iter().filter(|given| !is_left_out(given));
    let fitting = given.map(|(name, value)| match fit(value, &wanted[name.as_str()]) {
        Ok(value) => Ok((name, value)),
        Err(why) => Err(invalid(format!("`{name}` {why}"))),
    });
    let arguments = fitting.collect::<Result<JsonObject, Failure>>()?;
    serde_json::from_value(Value::Object(arguments)).map_err(|why| invalid(why.to_string()))
}

/// Returns the schema of the arguments of a tool, which is made with its first call.
fn made_once<Q: Question>() -> Arc<JsonObject> {
    static MADE: Mutex<BTreeMap<&str, Arc<JsonObject>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.entry(Q::NAME).or_insert_with(|| Arc::new(schema::<Q>())).clone()
}

/// Returns a value of the type that a schema asks for: `1.0`, `"1"` and `"true"` are a number and a
/// boolean, `1` is the text `"1"`, and `"a"` is the list `["a"]`, if that is asked for.
///
/// # Errors
/// It has another type, or is none of the values that the schema lists.
fn fit(value: Value, schema: &Value) -> Result<Value, String> {
    let is_wanted = |value: &Value| match schema["type"].as_str() {
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    let value = match with_integer(value) {
        Value::String(text) if !is_wanted(&Value::String(String::new())) => {
            // Python spells it `True`.
            let read = |text: &str| serde_json::from_str(text).ok().map(with_integer);
            let lower = || read(&text.to_ascii_lowercase()).filter(is_wanted);
            read(&text).filter(is_wanted).or_else(lower).unwrap_or(Value::String(text))
        }
        Value::Number(number) if schema["type"] == "string" => number.to_string().into(),
        value => value,
    };
    let value = match value {
        one @ (Value::String(_) | Value::Number(_)) if schema["type"] == "array" => {
            vec![one].into()
        }
        value => value,
    };
    let value = match value {
        Value::Array(values) if is_wanted(&Value::Array(Vec::new())) => {
            let fitting = values.into_iter().map(|value| fit(value, &schema["items"]));
            fitting.collect::<Result<_, _>>().map_err(|why| format!("has an entry that {why}"))?
        }
        value => value,
    };
    if !is_wanted(&value) {
        let wanted = match schema["type"].as_str() {
            Some("integer") => "a whole number, 0 or more",
            Some("boolean") => "`true` or `false`",
            Some("string") => "a text",
            Some("array") => "a list",
            _ => "an object",
        };
        return Err(format!("must be {wanted}"));
    }
    let listed = schema["enum"].as_array().filter(|listed| !listed.contains(&value));
    listed.map_or(Ok(value), |listed| {
        let names: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        Err(format!("must be one of `{}`", names.join("`, `")))
    })
}

/// A number without a fraction as an integer: JSON of other programs does not tell them apart.
fn with_integer(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let integer = number.as_f64().filter(|n| n.fract() == 0.0 && n.abs() < EXACT);
            let integer = integer.and_then(|n| format!("{n:.0}").parse::<i64>().ok());
            integer.map_or(Value::Number(number), Value::from)
        }
        value => value,
    }
}

/// The schema of arguments, without what says nothing to a model.
fn schema<Q: Question>() -> JsonObject {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Q>();
    let mut schema = serde_json::to_value(schema).unwrap_or_default();
    shorten(&mut schema);
    let object = schema.as_object_mut().map(std::mem::take).unwrap_or_default();
    let kept = ["type", "properties", "required", "additionalProperties"];
    object.into_iter().filter(|(name, _)| kept.contains(&name.as_str())).collect()
}

/// Takes out of a schema what repeats that an argument may be left out, and sizes of integers. What
/// stays is what every client reads: some refuse all tools because of a list of types, or a word that
/// they do not know.
fn shorten(schema: &mut Value) {
    let is_null = |value: &Value| *value == "null" || value["type"] == "null";
    if let Value::Object(members) = schema {
        members.retain(|name, _| !["default", "format", "minimum"].contains(&name.as_str()));
        if let Some(Value::Array(values)) = members.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        for name in ["type", "anyOf"] {
            let Some(Value::Array(choices)) = members.get_mut(name) else { continue };
            choices.retain(|choice| !is_null(choice));
            let [only] = choices.as_mut_slice() else { continue };
            match only.take() {
                Value::Object(only) => {
                    members.remove(name);
                    only.into_iter().for_each(|(name, value)| {
                        members.entry(name).or_insert(value);
                    });
                }
                only => drop(members.insert(name.to_owned(), only)),
            }
        }
        members.values_mut().for_each(shorten);
    } else if let Value::Array(values) = schema {
        values.iter_mut().for_each(shorten);
    }
}

/// The checkpoint to answer at: its number, or a time.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
struct At(String);

impl At {
    /// What it names.
    fn moment(at: Option<&Self>) -> Result<Option<Moment>, Failure> {
        let Some(Self(text)) = at else { return Ok(None) };
        // Some models write each number as a decimal.
        let whole = text.strip_suffix(".0").filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
        let read = whole.unwrap_or(text).parse::<Moment>();
        read.map(Some).map_err(|why| Failure::new(Code::Usage, format!("`at` is `{text}`: {why}")))
    }
}

/// The most tokens of an answer: what the call asks for, or what is usual.
fn limit(budget: Option<u64>) -> Size {
    budget.unwrap_or(BUDGET).into()
}

/// Returns the answer with as many entries as fit, up to `most` and one at least. `make` makes an
/// answer with up to that number of entries, and returns their number.
///
/// # Errors
/// As `make`, or one entry does not fit; `smaller` says how to ask for less.
fn fitting(
    call: &mut Call<'_>,
    (size, most, smaller): (Size, usize, &'static str),
    mut make: impl FnMut(&mut Call<'_>, usize) -> Result<(Answer, usize), Failure>,
) -> Result<Answer, Failure> {
    let (mut answer, mut entries) = make(call, most)?;
    while entries > 1 && !answer.fits(size) {
        // Of what is not sent nothing is recorded.
        call.unsend();
        let share = (entries as u64).saturating_mul(size.tokens) / answer.tokens(size).max(1);
        let fewer = usize::try_from(share).unwrap_or(entries).clamp(1, entries - 1);
        (answer, entries) = make(call, fewer)?;
    }
    answer.cut(size, &[WITHHELD]).within(size, smaller)
}

/// The vault of a call, and its checkpoints.
pub(super) fn places(
    call: &mut Call<'_>,
    need: Need,
) -> Result<(Vault, CheckpointSource), Failure> {
    let vault = call.vault()?;
    let source = call.source(&vault, need, &mut on_indexing(&vault))?;
    Ok((vault, source))
}

/// Makes the index of a vault that has none, whatever is asked first: a server is asked again and
/// again. What fails here fails in the answer, too, which says so.
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
    use super::*;
    use crate::values::model::number::CheckpointNumber;

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
        let schema = Value::Object(schema::<neighbors::Neighbors>());
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
            check(&Value::Object((tool.schema)()), tool.name);
        }
    }
}
