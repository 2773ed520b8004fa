//! Export of lines of the access log as one document of W3C PROV, in PROV-JSON (AUDIT-16).
//!
//! The document relates texts to their versions, results to their sources, and outputs to the texts
//! and results that the agent was handed before. The names of records contain no text of users,
//! except for principals and agents, which are percent-encoded. Everything else is an attribute.

use std::collections::{BTreeMap, BTreeSet};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};

use super::attributes::{self, Attributes, Said};
use crate::record::audit::{Event, Hydration, Line, Text, is_before, session_of};
use crate::values::model::digest::Digest;
use crate::values::model::timestamp::Timestamp;

/// Prefixes of names, each with its own namespace.
const PREFIXES: [&str; 8] =
    ["line", "text", "version", "output", "result", "principal", "agent", ATTRIBUTE];
/// Prefix of attributes.
const ATTRIBUTE: &str = "attribute";

/// A document of PROV that is being built; relations are numbered.
#[derive(Default)]
struct Document {
    records: BTreeMap<&'static str, Map<String, Value>>,
    /// Derivations that are recorded already, each pair once.
    origins: BTreeSet<(String, String)>,
}

/// Returns the lines as one document, regardless of their order.
///
/// An output is derived from the texts of the lines of its session before it.
pub(crate) fn document(mut lines: Vec<Line>) -> String {
    lines.sort_by(|a, b| (&a.at, &a.writer, a.seq).cmp(&(&b.at, &b.writer, b.seq)));
    let mut sessions: BTreeMap<&str, Vec<&Line>> = BTreeMap::new();
    for line in &lines {
        if let Some(session) = session_of(line) {
            sessions.entry(session).or_default().push(line);
        }
    }
    let results: BTreeMap<String, String> = lines
        .iter()
        .filter_map(|line| Some((line.trace().to_string(), name_of_result(line.hydration()?))))
        .collect();
    let mut document = Document::default();
    for line in &lines {
        document.activity(line);
        document.people(line);
        match &line.event {
            Event::Access(access) => {
                access.documents.iter().for_each(|text| document.text(line, text));
            }
            Event::Output(_) => {
                let known = session_of(line).and_then(|session| sessions.get(session));
                let before = known.into_iter().flatten().filter(|other| is_before(other, line));
                document.output(line, before.copied());
            }
            Event::Hydration(hydration) => document.result(line, hydration, &results),
            Event::Listing(_) | Event::Refused(_) | Event::Change(_) => {}
        }
    }
    // A version that was handed out has more attributes and is recorded first; this fills in the
    // others.
    for hydration in lines.iter().filter_map(Line::hydration) {
        document.named("entity", &hashed("version", &hydration.chain_hash), || {
            with(json!({}), attributes::of_source(hydration))
        });
    }
    super::harmless(document.finish().to_string())
}

impl Document {
    fn finish(self) -> Value {
        let namespace = |prefix: &str| (prefix.to_owned(), format!("urn:contextnest:{prefix}:"));
        let prefixes: BTreeMap<_, _> = PREFIXES.into_iter().map(namespace).collect();
        let mut document = json!({ "prefix": prefixes });
        for (kind, records) in self.records {
            document[kind] = records.into();
        }
        document
    }

    /// Adds a named record, unless the document has one of that name.
    fn named(&mut self, kind: &'static str, name: &str, record: impl FnOnce() -> Value) {
        let records = self.records.entry(kind).or_default();
        if !records.contains_key(name) {
            records.insert(name.to_owned(), record());
        }
    }

    /// Adds a relation, which is numbered and not named.
    fn relation(&mut self, kind: &'static str, record: Value) {
        let records = self.records.entry(kind).or_default();
        records.insert(format!("_:{kind}{}", records.len() + 1), record);
    }

    fn activity(&mut self, line: &Line) {
        let mut record = with(json!({}), attributes::of_line(line));
        if let Ok(end) = line.at.parse::<Timestamp>() {
            let elapsed = i64::try_from(line.event.elapsed_us() / 1000).unwrap_or(i64::MAX);
            let start = Timestamp::from_millis(end.millis().saturating_sub(elapsed));
            record["prov:startTime"] = start.to_string().into();
            record["prov:endTime"] = end.to_string().into();
        }
        self.named("activity", &name_of_line("line", line), || record);
    }

    /// Adds the agent, and the principal for whom it acted.
    fn people(&mut self, line: &Line) {
        let activity = name_of_line("line", line);
        let labels = &line.request.labels;
        let principal = line.request.principal.as_ref().map(|name| self.principal(name));
        let agent = labels.agent.as_ref().map(|name| {
            let id = format!("agent:{}", encoded(name));
            let kind = json!({"$": "prov:SoftwareAgent", "type": "prov:QUALIFIED_NAME"});
            let said = vec![(attributes::AGENT, Said::Text(name.clone()))];
            self.named("agent", &id, || with(json!({"prov:type": kind}), said));
            id
        });
        for id in principal.iter().chain(&agent) {
            let record = json!({"prov:activity": activity, "prov:agent": id});
            self.relation("wasAssociatedWith", record);
        }
        if let (Some(principal), Some(agent)) = (principal, agent) {
            let record = json!({
                "prov:delegate": agent,
                "prov:responsible": principal,
                "prov:activity": activity,
            });
            self.relation("actedOnBehalfOf", record);
        }
    }

    fn principal(&mut self, name: &str) -> String {
        let id = format!("principal:{}", encoded(name));
        let said = vec![(attributes::USER, Said::Text(name.to_owned()))];
        self.named("agent", &id, || with(json!({}), said));
        id
    }

    /// Adds a text that an access handed out, and its version.
    fn text(&mut self, line: &Line, text: &Text) {
        let (id, version) = (name_of_text(text), hashed("version", &text.chain_hash));
        let is_new = !self.records.get("entity").is_some_and(|known| known.contains_key(&version));
        if is_new {
            let editor = self.principal(&text.edited_by);
            let record = json!({"prov:entity": version, "prov:agent": editor});
            self.relation("wasAttributedTo", record);
        }
        let of_version = || with(json!({}), attributes::of_version(text, text.document()));
        self.named("entity", &version, of_version);
        self.named("entity", &id, || with(json!({}), attributes::of_bytes(text)));
        let used = json!({"prov:activity": name_of_line("line", line), "prov:entity": id});
        let mut used = with(used, attributes::of_use(text));
        if line.at.parse::<Timestamp>().is_ok() {
            used["prov:time"] = line.at.clone().into();
        }
        self.relation("used", used);
        if self.origins.insert((id.clone(), version.clone())) {
            let record = json!({"prov:generatedEntity": id, "prov:usedEntity": version});
            self.relation("wasDerivedFrom", record);
        }
    }

    /// Adds a result of a source, the version of the source, and the results that it depends on, if
    /// they are among the lines.
    fn result(&mut self, line: &Line, of: &Hydration, results: &BTreeMap<String, String>) {
        let (id, activity) = (name_of_result(of), name_of_line("line", line));
        let version = hashed("version", &of.chain_hash);
        self.named("entity", &id, || with(json!({}), attributes::of_result(of)));
        let at = line.at.parse::<Timestamp>().is_ok().then(|| line.at.clone());
        let timed = |mut record: Value| {
            if let Some(at) = &at {
                record["prov:time"] = at.clone().into();
            }
            record
        };
        let used = json!({"prov:activity": activity, "prov:entity": version});
        self.relation("used", timed(used));
        let generated = json!({"prov:entity": id, "prov:activity": activity});
        self.relation("wasGeneratedBy", timed(generated));
        let needed = of.depends_on.iter().filter_map(|trace| results.get(trace));
        let needed: BTreeSet<&String> = needed.filter(|name| **name != id).collect();
        for from in needed.into_iter().chain([&version]) {
            if self.origins.insert((id.clone(), from.clone())) {
                let record = json!({"prov:generatedEntity": id, "prov:usedEntity": from});
                self.relation("wasDerivedFrom", record);
            }
        }
    }

    /// Adds an output of an agent, derived from the texts and results handed to it before.
    fn output<'l>(&mut self, line: &Line, before: impl Iterator<Item = &'l Line>) {
        let (id, activity) = (name_of_line("output", line), name_of_line("line", line));
        self.named("entity", &id, || with(json!({}), attributes::of_produced(&line.event)));
        let mut generated = json!({"prov:entity": id, "prov:activity": activity});
        if line.at.parse::<Timestamp>().is_ok() {
            generated["prov:time"] = line.at.clone().into();
        }
        self.relation("wasGeneratedBy", generated);
        let mut texts = BTreeSet::new();
        for line in before {
            match &line.event {
                Event::Access(access) => texts.extend(access.documents.iter().map(name_of_text)),
                Event::Hydration(hydration) => texts.extend([name_of_result(hydration)]),
                _ => {}
            }
        }
        for text in texts {
            let record = json!({"prov:generatedEntity": id, "prov:usedEntity": text});
            self.relation("wasDerivedFrom", record);
        }
    }
}

/// Adds attributes to a record.
fn with(mut record: Value, all: Attributes) -> Value {
    for (name, said) in all {
        record[format!("{ATTRIBUTE}:{name}")] = match said {
            Said::Text(said) => said.into(),
            Said::Number(said) => said.into(),
            Said::Flag(said) => said.into(),
            Said::Texts(said) => said.into(),
        };
    }
    record
}

fn name_of_line(prefix: &str, line: &Line) -> String {
    hashed(prefix, &line.hash.map(|hash| hash.to_string()).unwrap_or_default())
}

fn name_of_text(text: &Text) -> String {
    hashed("text", &text.sha256)
}

fn name_of_result(hydration: &Hydration) -> String {
    hashed("result", &hydration.result_hash)
}

/// Returns a name made from the digits of a hash. A line may have any text in place of a hash.
fn hashed(prefix: &str, hash: &str) -> String {
    match hash.parse::<Digest>() {
        Ok(digest) => format!("{prefix}:{}", digest.hex()),
        Err(_) => format!("{prefix}:other-{}", encoded(hash)),
    }
}

/// Returns a text as part of a name; never empty.
fn encoded(text: &str) -> String {
    match text {
        "" => "_".to_owned(),
        text => utf8_percent_encode(text, NON_ALPHANUMERIC).to_string(),
    }
}
