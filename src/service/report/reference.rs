//! Reference of the reports, made of their types: the contents of `docs/json.md`.
//!
//! The meaning of a key is the doc comment of its field. A struct with several uses has a table of
//! its own; any other struct is a part of the table of the report that contains it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::Report as _;

/// Text before the tables.
const INTRODUCTION: &str = include_str!("reference.md");

/// Returns the schema of each report with its name, and the structs that the schemas refer to.
#[rustfmt::skip]
fn reports() -> (Vec<(String, Value)>, BTreeMap<String, Value>) {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut all = Vec::new();
    macro_rules! add {
        ($($module:ident: $($report:ident),+;)+) => {$($({
            use super::$module::$report;
            let name = format!("ctx.{}", $report::SCHEMA);
            all.push((name, generator.subschema_for::<$report>().to_value()));
        })+)+};
    }
    add! {
        access: AccessReport;
        audit: AuditAcknowledged, AuditDismissed;
        blame: BlameReport, BlameSectionsReport;
        check: CheckReport;
        checkpoint: CheckpointsReport, StateReport, StateDiffReport, RebuildReport, AdoptReport, ConvertReport;
        ci: CiReport;
        client: ClientReport, SchemasReport;
        doctor: DoctorReport;
        document: DocumentReport, OutlineReport;
        draft: DraftReport, DraftTextReport;
        event: Added, Published, Retired, Moved, Submitted, Approved, Rejected, Withdrawn, GovernOn, GovernOff, AuditBegun, StewardAssigned, StewardRemoved;
        evidence: EvidenceExportReport, EvidenceVerifyReport, PublicationsReport;
        failure: FailureReport;
        graph: GraphReport, HubsReport, NeighborsReport;
        head: HeadReport, TrustReport, ForgetReport, HeadsReport;
        history: HistoryReport, LatestReport, ShowReport, DiffReport, DiffsReport;
        hook: Hooks, HookRun;
        map: MapReport;
        merge: MergeReport;
        owners: OwnersReport;
        pack: PacksReport, PackShowReport, PackAddReport;
        problem: ValidateReport, PackCheckReport;
        recover: RecoverReport;
        resolve: ResolveReport, ExplainReport, ListReport;
        restore: RestoreReport;
        retention: HoldPlaced, HoldLifted, HoldsReport, PruneReport;
        review: QueueReport, CommentReport;
        search: SearchReport;
        skill: SkillReport;
        source: SourcesReport, SourceShowReport, SourceOrderReport, SourceCheckReport, SourceRecordReport, SourceFreshReport, SourceDiffReport, SourceRunReport;
        staging: StagedListReport, StagedShowReport, StagedDiffReport, StagedActReport, StagedPromoteReport, StagedGcReport, StagedEraseReport;
        stewards: StewardsReport, WhoReport, ImportReport, ExportReport;
        submission: SubmissionReport;
        token: TokenAdded, TokensReport, TokenRevoked;
        trace: TracesFoundReport, TraceFollowedReport, TracesReport, ImpactReport, ReplayReport, ReplayOutputReport, OutputReport, TraceReport, TraceCollectReport, TraceVerifyReport;
        vault: InitReport, StatusReport, IndexReport, CheckoutReport, DemoReport, HelpReport;
        verify: VerifyReport;
    }
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    (all, generator.take_definitions(true).into_iter().collect())
}

/// Returns one table for each report and each shared object, as Markdown.
pub fn reference() -> String {
    let (reports, structs) = reports();
    let all = json!([reports, structs]).to_string();
    let is_shared = |name: &str| all.matches(&format!("\"{DEFS}{name}\"")).count() > 1;
    let mut tables = Tables { structs: &structs, shared: BTreeSet::new() };
    let objects = structs.iter().filter(|(name, schema)| {
        is_shared(name) && schema["$ref"].is_null() && !tables.members(schema).is_empty()
    });
    tables.shared = objects.map(|(name, _)| name.as_str()).collect();
    let mut out = INTRODUCTION.to_owned();
    for (name, schema) in &reports {
        let heading = format!("\n### {name}\n");
        if !out.contains(&heading) {
            out.push_str(&heading);
        }
        out.push_str(&match tables.link(schema) {
            Some(link) => {
                let own = structs.get(&schema["$ref"].as_str().unwrap_or_default()[DEFS.len()..]);
                format!("\n{} It has the keys of {link}.\n", meaning(own.unwrap_or(schema)))
            }
            None => tables.table(schema),
        });
    }
    out.push_str("\n## Objects\n");
    for name in &tables.shared {
        out.push_str(&format!("\n### {}\n{}", title(name), tables.table(&structs[*name])));
    }
    out
}

/// Beginning of a reference to a struct.
const DEFS: &str = "#/$defs/";

/// Returns the heading of the table of a struct.
fn title(name: &str) -> String {
    name.replace("Report", "")
}

/// Returns the description of a schema on one line.
fn meaning(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ").replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

struct Tables<'s> {
    structs: &'s BTreeMap<String, Value>,
    /// Structs with tables of their own.
    shared: BTreeSet<&'s str>,
}

/// Keys of an object, each with its schema; `true` if every such object has the key.
type Members = BTreeMap<String, (Value, bool)>;

impl Tables<'_> {
    /// Returns the struct that a schema refers to, with its name.
    fn named(&self, schema: &Value) -> Option<(&str, &Value)> {
        let path = schema["$ref"].as_str()?;
        let (name, found) = self.structs.get_key_value(path.trim_start_matches(DEFS))?;
        self.named(found).or(Some((name, found)))
    }

    /// Returns the struct that a schema refers to, or the schema itself.
    fn resolved<'v>(&'v self, schema: &'v Value) -> &'v Value {
        self.named(schema).map_or(schema, |(_, found)| found)
    }

    /// Returns the link to the table of a struct that has its own.
    fn link(&self, schema: &Value) -> Option<String> {
        let (name, _) = self.named(schema).filter(|(name, _)| self.shared.contains(name))?;
        Some(format!("[{}](#{})", title(name), title(name).to_lowercase()))
    }

    /// Returns the keys of an object in any of its forms.
    fn members(&self, schema: &Value) -> Members {
        let schema = self.resolved(schema);
        let list = |word: &str| schema[word].as_array().into_iter().flatten();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let own = properties.map(|(name, member)| {
            let is_required = list("required").any(|one| one == name);
            (name.clone(), (member.clone(), is_required))
        });
        let mut all: Members = own.collect();
        let forms: Vec<Members> =
            list("oneOf").chain(list("anyOf")).map(|form| self.members(form)).collect();
        for (name, (member, is_required)) in forms.iter().flatten() {
            let is_required = *is_required && forms.iter().all(|form| form.contains_key(name));
            let described = member.get("description").unwrap_or(&schema["description"]);
            let none = json!({"anyOf": [], "description": described});
            let (merged, _) = all.entry(name.clone()).or_insert((none, is_required));
            match merged["anyOf"].as_array_mut() {
                Some(of_forms) if !of_forms.contains(member) => of_forms.push(member.clone()),
                _ => {}
            }
        }
        all
    }

    /// Returns the type of a value in words, and adds the rows of the objects in it.
    fn kind(&self, schema: &Value, key: &str, rows: &mut String) -> String {
        if let Some(link) = self.link(schema) {
            return link;
        }
        let schema = self.resolved(schema);
        let forms = ["oneOf", "anyOf"].iter().find_map(|word| schema[word].as_array());
        let is_union = |forms: &&Vec<Value>| forms.iter().any(|form| self.members(form).is_empty());
        if let Some(forms) = forms.filter(is_union) {
            let mut kinds: Vec<_> = forms.iter().map(|form| self.kind(form, key, rows)).collect();
            kinds.dedup();
            return kinds.join(" or ");
        }
        if !self.members(schema).is_empty() {
            self.rows(schema, &format!("{key}."), rows);
            return "object".to_owned();
        }
        if let Some(words) = schema.get("const").or(schema.get("enum")) {
            let words = words.as_array().cloned().unwrap_or_else(|| vec![words.clone()]);
            let words = words.iter().filter_map(Value::as_str).map(|word| format!("`{word}`"));
            return words.collect::<Vec<_>>().join(" or ");
        }
        let kinds = schema["type"].as_array().cloned();
        let kinds = kinds.unwrap_or_else(|| vec![schema["type"].clone()]);
        let kinds = kinds.iter().map(|kind| match kind.as_str() {
            None => "any value".to_owned(),
            Some("array") => {
                format!("list: {}", self.kind(&schema["items"], &format!("{key}[]"), rows))
            }
            Some("object") if schema["additionalProperties"].is_object() => {
                let of = self.kind(&schema["additionalProperties"], &format!("{key}.*"), rows);
                format!("map: {of}")
            }
            Some(kind) => kind.to_owned(),
        });
        kinds.collect::<Vec<_>>().join(" or ")
    }

    /// Adds a row for each key of an object.
    fn rows(&self, schema: &Value, above: &str, rows: &mut String) {
        for (name, (member, is_required)) in self.members(schema) {
            let key = format!("{above}{name}");
            let mut below = String::new();
            let kind = self.kind(&member, &key, &mut below);
            let described = member.get("description").map_or(self.resolved(&member), |_| &member);
            let meaning = meaning(described);
            // A key that is left out without a value is never null, unless its comment names null.
            let is_nullable = is_required || meaning.contains("null");
            let kind = if is_nullable { &kind } else { kind.trim_end_matches(" or null") };
            let optional = if is_required { "" } else { "yes" };
            rows.push_str(&format!("| `{key}` | {kind} | {optional} | {meaning} |\n{below}"));
        }
    }

    /// Returns the meaning and the table of an object.
    fn table(&self, schema: &Value) -> String {
        let schema = self.resolved(schema);
        let mut rows = String::new();
        self.rows(schema, "", &mut rows);
        let head = "| key | type | optional | meaning |\n|---|---|---|---|";
        format!("\n{}\n\n{head}\n{rows}", meaning(schema)).replace("\n\n\n", "\n")
    }
}
