//! The problems of a document, with advice on how to fix them (`spec/document.md`, section 5).
//!
//! Errors prevent publication; warnings describe how a value is read.

use crate::values::codes::words;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::timestamp::Timestamp;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::frontmatter::{Frontmatter, NodeType, SourceBlock, Status, one_or_many};
use super::hidden;
use super::live_form::{ORIGINAL_FRONTMATTER, is_edited};
use super::not_for_use;
use super::obsidian::Markup;
use super::second_block::{SecondBlock, second_block, without_attributes};
use super::text::{BOM, normalise};
use super::validity;
use super::{Document, Format};
use crate::files::vault::config::{FrontmatterMode, Server};
use crate::text::uri::{Target, Uri};
use crate::values::model::digest::Digest;
use crate::values::model::stage::StagePolicy;
use crate::values::model::transport::Transport;
use crate::values::model::visible::{Invisible, without_invisible};
use crate::values::text_util::{misspelled, nearest};
use crate::values::yaml::Node;

/// Maximum length of a title, in characters.
pub const MAX_TITLE: usize = 200;
/// Maximum length of a description, in characters.
pub const MAX_DESCRIPTION: usize = 500;

words! {
    /// The effect of a problem on publication.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// The document cannot be published.
        Error = "error",
        /// The document can be published; the message describes how it is read.
        Warning = "warning",
    }
}

/// A rule that a document breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Stable code.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// Line of the document, from 1.
    pub line: Option<usize>,
    /// Description of the problem.
    pub message: String,
    /// Advice on how to fix it.
    pub hint: Hint,
}

impl Problem {
    /// Makes the problem of a finding in a text with `above` lines before it.
    pub(crate) fn from_text(found: hidden::Found, above: usize) -> Self {
        let severity = if found.is_error { Severity::Error } else { Severity::Warning };
        let hidden::Found { code, line, message, hint, .. } = found;
        Self { code, severity, line: Some(above + line), message, hint }
    }
}

/// A value in one of our own fields that another program wrote.
pub(crate) struct Foreign<'d> {
    pub(crate) field: &'static str,
    pub(crate) value: &'d Node,
}

/// The facts for validating a document, besides its text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Criteria<'c> {
    /// Servers that the configuration declares.
    pub servers: &'c [Server],
    /// True if the document does not have a history yet.
    pub is_new: bool,
    /// True if hidden text is reported.
    pub hidden_text: bool,
    /// Effect of publishing on the frontmatter.
    pub frontmatter: FrontmatterMode,
    /// True if the vault can publish only YAML frontmatter.
    pub yaml_only: bool,
    /// Markup of the body.
    pub markup: Markup,
}

/// Returns the problems of a document, in the order of its lines. `text` is the whole document.
pub fn problems(text: &str, document: &Document, criteria: Criteria<'_>) -> Vec<Problem> {
    let mut found = ProblemList { problems: Vec::new() };
    found.frontmatter(text, document, criteria);
    found.left_in_body(text, document, criteria.hidden_text);
    found.unclosed_comment(text, document, criteria.markup);
    let fields = &document.frontmatter;
    found.texts(document);
    if let Some(node) = fields.get("type").filter(|n| !n.is_null()) {
        let word = node.text().unwrap_or("a collection");
        let message = format!("type `{word}` is read as document");
        match node.text().and_then(NodeType::from_word) {
            None => found.warn("type-unknown", Some(node), message, "write a word"),
            Some(NodeType::Other(_)) => {
                let meant = misspelled(word, NodeType::ALL.map(|(word, _)| word));
                let hint = meant.map(|meant| format!("did you mean `{meant}`?"));
                hint.into_iter().for_each(|hint| {
                    found.warn("type-unknown", Some(node), message.clone(), hint);
                });
            }
            Some(_) => {}
        }
    }
    for tag in &fields.odd_tags {
        let Err(rule) = criteria.markup.tag(tag) else { continue };
        let (mut why, mut hint) = (String::new(), rule.to_string());
        if let Some(found) = Invisible::first_in(tag) {
            why = format!(": it has the invisible {found}");
            hint = format!("without it the tag is `{}`", without_invisible(tag));
        }
        let message = format!("tag `{tag}` selects nothing{why}");
        found.warn("tag-grammar", fields.get("tags"), message, hint);
    }
    if fields.get("tags").is_some_and(|n| n.entries().is_some()) {
        let message = "tags are a mapping and select nothing".to_owned();
        found.warn("tag-grammar", fields.get("tags"), message, "write a list: `tags: [a, b]`");
    }
    let is_edited = is_edited(document, criteria.frontmatter);
    let foreign = is_edited.then(|| foreign_values(document, criteria.is_new));
    let said = not_for_use::said(text, document);
    for not_for_use::Said { says, line } in &said {
        let message = format!("`{says}` marks the text as not for use");
        let changed = Call::new(Verb::Publish).word("--changed");
        let hint = "{} leaves the file out; delete the line, or name the document, to publish it";
        let (code, severity, line) = ("not-for-use", Severity::Warning, Some(*line));
        let hint = Hint::call(hint, changed);
        found.problems.push(Problem { code, severity, line, message, hint });
    }
    let is_said = |foreign: &Foreign<'_>| {
        let field = format!("{}: ", foreign.field);
        said.iter().any(|said| said.says.starts_with(&field))
    };
    for foreign in foreign.into_iter().flatten().filter(|foreign| !is_said(foreign)) {
        found.warn(
            "field-foreign",
            Some(foreign.value),
            format!("`{}` has a value that ctx did not write", foreign.field),
            "publishing replaces it, and keeps the old value under `metadata.original`",
        );
    }
    found.draft_mark(fields);
    if let (Some(said), None) = (fields.validity.said(), fields.validity.end()) {
        let message = format!("`{said}` is not a date, so no warning follows when it has passed");
        let line = Some(fields.validity.line());
        let hint = "write a date as `2026-12-31`".into();
        let (code, severity) = ("date-invalid", Severity::Warning);
        found.problems.push(Problem { code, severity, line, message, hint });
    }
    for (field, line) in validity::unread(fields.root.as_ref()) {
        let message =
            format!("`{field}` is not read, so no end and no successor is reported from it");
        let hint =
            "write `valid_until: 2026-12-31` or `superseded_by: ID` at the first level".into();
        let (code, severity, line) = ("date-invalid", Severity::Warning, Some(line));
        found.problems.push(Problem { code, severity, line, message, hint });
    }
    found.source(document, criteria.servers);
    found.problems.sort_by_key(|p| (p.line, p.severity));
    found.problems
}

/// Returns the values of `version`, `status`, `checksum` and `updated_at` that are not ours, which
/// publishing must keep. In a document that is new here, `version` is ours only together with the
/// three other fields, because the document was then published in another vault.
pub(crate) fn foreign_values(document: &Document, is_new: bool) -> Vec<Foreign<'_>> {
    let fields = &document.frontmatter;
    let was_published = has_our_four(fields);
    let is_ours = |field: &str, node: &Node| {
        let is_counted_elsewhere = field == "version" && is_new && !was_published;
        is_of_our_form(field, node) && (!is_counted_elsewhere || node.number() == Some(1))
    };
    OURS.into_iter()
        .filter_map(|field| Some(Foreign { field, value: fields.get(field)? }))
        .filter(|f| !f.value.is_null() && !is_ours(f.field, f.value))
        .collect()
}

/// Fields that only publishing sets.
pub(super) const OURS: [&str; 4] = ["version", "status", "updated_at", "checksum"];

/// Returns true if all of them exist, each in our form.
pub(crate) fn has_our_four(fields: &Frontmatter) -> bool {
    let has = |field: &str| fields.get(field).is_some_and(|node| is_of_our_form(field, node));
    OURS.into_iter().all(has)
}

fn is_of_our_form(field: &str, node: &Node) -> bool {
    match field {
        "version" => node.number().is_some_and(|n| n > 0),
        "status" => {
            let is_ours = |word: &str| !matches!(Status::from_word(word), Status::Foreign(_));
            // `stable` means published in a live file only (DOC-12).
            node.text().is_some_and(|word| is_ours(word) || word.eq_ignore_ascii_case("stable"))
        }
        "checksum" => node.text().is_some_and(|text| text.parse::<Digest>().is_ok()),
        _ => node.text().is_some_and(|text| text.parse::<Timestamp>().is_ok()),
    }
}

/// Returns the title that publishing gives a document without one: its first heading, else `name`.
pub(crate) fn derived_title(body: &str, name: &str) -> String {
    let from = second_block(body).map_or(0, |block| block.range.end);
    let heading = first_heading(&body[from..]).unwrap_or_default();
    let heading = without_attributes(&heading);
    let title = if heading.is_empty() { name } else { heading };
    title.chars().take(MAX_TITLE).collect()
}

fn first_heading(body: &str) -> Option<String> {
    let mut text = None;
    for event in Parser::new_ext(body, Options::ENABLE_TABLES) {
        match (event, &mut text) {
            (Event::Start(Tag::Heading { .. }), _) => text = Some(String::new()),
            (Event::Text(t) | Event::Code(t), Some(text)) => text.push_str(&t),
            (Event::SoftBreak | Event::HardBreak, Some(text)) => text.push(' '),
            (Event::End(TagEnd::Heading(_)), Some(_)) => break,
            _ => {}
        }
    }
    let words: Vec<String> =
        text?.split_whitespace().map(|w| w.chars().filter(|c| !c.is_control()).collect()).collect();
    Some(words.join(" "))
}

/// Advice about a second block of fields.
const ONE_BLOCK: &str =
    "move its fields into one block at the beginning of the file, and delete this one";

struct ProblemList {
    problems: Vec<Problem>,
}

impl ProblemList {
    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        node: Option<&Node>,
        message: String,
        hint: impl Into<Hint>,
    ) {
        // A frontmatter begins on the second line of its document.
        let line = node.map(|n| n.line + 1);
        self.problems.push(Problem { code, severity, line, message, hint: hint.into() });
    }

    fn error(
        &mut self,
        code: &'static str,
        node: Option<&Node>,
        message: String,
        hint: impl Into<Hint>,
    ) {
        self.add(Severity::Error, code, node, message, hint);
    }

    fn warn(
        &mut self,
        code: &'static str,
        node: Option<&Node>,
        message: String,
        hint: impl Into<Hint>,
    ) {
        self.add(Severity::Warning, code, node, message, hint);
    }

    /// Adds the problems that prevent the publication of a frontmatter, independent of its fields.
    fn frontmatter(&mut self, text: &str, document: &Document, criteria: Criteria<'_>) {
        if document.format != Format::Yaml && criteria.yaml_only {
            let format = document.format.as_str();
            let message = format!(
                "the frontmatter is {format}, which the reference implementation does not read in \
                 the vaults that it shares"
            );
            let hint = "write it as YAML between lines `---`, or begin the file with an empty line if \
                        it is text";
            self.error("frontmatter-format", None, message, hint);
        }
        if !is_edited(document, criteria.frontmatter) && normalise(text).starts_with(BOM) {
            let message = "the text starts with two byte order marks (U+FEFF)";
            self.error("two-marks", None, message.to_owned(), "remove both");
        }
        let metadata = document.frontmatter.get("metadata");
        if let (true, Some(metadata)) = (!is_edited(document, criteria.frontmatter), metadata)
            && !metadata.is_null()
            && metadata.entries().is_none()
        {
            let message = "`metadata` is not a mapping, so the frontmatter cannot be kept in it";
            let hint = "rename the field, or give it fields";
            self.error("frontmatter-spelling", Some(metadata), message.to_owned(), hint);
        }
        if let Some(original) = metadata.and_then(|metadata| metadata.get(ORIGINAL_FRONTMATTER)) {
            let message = format!(
                "`metadata.{ORIGINAL_FRONTMATTER}` belongs to a published text: publishing writes it \
                 for a file that it does not edit"
            );
            let hint = Hint::call(
                "{} writes the file of a published text; or remove the field",
                Verb::Restore,
            );
            self.error("original-frontmatter", Some(original), message, hint);
        }
    }

    /// Adds conflict markers, second blocks and hidden text. Lines are those of the document.
    fn left_in_body(&mut self, text: &str, document: &Document, hidden_text: bool) {
        let (before, body) = text.split_at(document.parts.body);
        let above = before.matches('\n').count();
        if let Some(SecondBlock { range: block, .. }) = second_block(body) {
            let start = body[block.start..].len() - body[block.start..].trim_start().len();
            let start = block.start + start;
            let is_first = document.parts.frontmatter.is_none()
                && body[..start].trim_start_matches(BOM).is_empty();
            let (message, hint) = match document.parts.frontmatter {
                None if is_first => (
                    "a block of fields between lines that are not exactly `---` or `+++` is text, and its fields have no effect",
                    "delete the blanks in the lines before and after the fields",
                ),
                None => (
                    "a block of fields that is not at the beginning of the file is text, and its fields have no effect",
                    ONE_BLOCK,
                ),
                Some(_) => (
                    "a second block of fields after the frontmatter is text, and its fields have no effect",
                    ONE_BLOCK,
                ),
            };
            self.problems.push(Problem {
                code: "frontmatter-second",
                severity: Severity::Warning,
                line: Some(above + 1 + body[..start].matches('\n').count()),
                message: message.to_owned(),
                hint: hint.into(),
            });
        }
        let mut found: Vec<hidden::Found> =
            hidden::conflict(body, !hidden_text).into_iter().collect();
        if hidden_text {
            // Without a frontmatter, a byte order mark before the body is that of the file.
            let is_file = document.parts.frontmatter.is_none();
            let body = if is_file { body.strip_prefix(BOM).unwrap_or(body) } else { body };
            found.extend(hidden::hidden(body));
        }
        self.problems.extend(found.into_iter().map(|found| Problem::from_text(found, above)));
        let fields = ["title", "description"].map(|field| document.frontmatter.get(field));
        for node in fields.into_iter().flatten().filter(|_| hidden_text) {
            for found in hidden::hidden(node.text().unwrap_or_default()) {
                if self.problems.iter().all(|known| known.code != found.code) {
                    let line = Some(node.line + 1);
                    self.problems.push(Problem { line, ..Problem::from_text(found, 0) });
                }
            }
        }
    }

    fn unclosed_comment(&mut self, text: &str, document: &Document, markup: Markup) {
        let comments = markup.comments(&text[document.parts.body..]);
        if let Some(at) = comments.shifted(document.parts.body).unclosed {
            self.problems.push(Problem {
                code: "comment-unclosed",
                severity: Severity::Warning,
                line: Some(text[..at].matches('\n').count() + 1),
                message: "no `%%` ends the comment: the rest of the text is part of it".to_owned(),
                hint: "end it with `%%`, or write the `%%` as code".into(),
            });
        }
    }

    /// Adds a warning about a field `draft`, which is not a status here.
    fn draft_mark(&mut self, fields: &Frontmatter) {
        let mark = fields.draft_mark().map(|(_, mark)| mark).zip(fields.draft_said());
        let is_odd = fields.status != Status::Draft || fields.is_marked_draft();
        let Some((mark, said)) = mark.filter(|_| is_odd) else { return };
        let publish = |word| Call::new(Verb::Publish).word(word);
        let (message, hint) = match fields.is_marked_draft() {
            true => (
                format!("`{said}` is not a status; it is read as `status: draft`"),
                Hint::call(
                    "{} leaves the file out; delete the line to publish it",
                    publish("--all"),
                ),
            ),
            false => (
                format!("`{said}` has no effect: `status` is `{}`", fields.status.as_str()),
                Hint::calls(
                    "delete the line; with `status: draft`, {} and {} leave the file out",
                    [publish("--changed"), publish("--all")],
                ),
            ),
        };
        self.warn("field-foreign", Some(mark), message, hint);
    }

    fn texts(&mut self, document: &Document) {
        let fields = &document.frontmatter;
        for (field, max) in [("title", MAX_TITLE), ("description", MAX_DESCRIPTION)] {
            let Some(node) = fields.get(field).filter(|n| !n.is_null()) else {
                continue;
            };
            let code = if field == "title" { "title-invalid" } else { "description-invalid" };
            match node.text().map(|t| t.chars().count()) {
                None => self.error(
                    code,
                    Some(node),
                    format!("`{field}` is not a text"),
                    format!("write `{field}: ...` on one line"),
                ),
                Some(0) if field == "title" => self.error(
                    code,
                    Some(node),
                    "`title` is empty".to_owned(),
                    "write a text, or remove the line to use the first heading",
                ),
                Some(n) if n > max => self.error(
                    code,
                    Some(node),
                    format!("`{field}` has {n} characters; at most {max} are allowed"),
                    "shorten it",
                ),
                Some(_) => {}
            }
        }
    }

    fn source(&mut self, document: &Document, servers: &[Server]) {
        let fields = &document.frontmatter;
        let block = fields.get("source").filter(|n| !n.is_null());
        if fields.node_type != NodeType::Source {
            if let Some(node) = block.filter(|n| n.entries().is_some()) {
                let message = "`source` is ignored: the type is not source".to_owned();
                self.warn("source-ignored", Some(node), message, "set `type: source`");
            }
            return;
        }
        let Some((node, source)) = block.zip(fields.source.as_ref()) else {
            let at = fields.get("type");
            let message = "a source node needs a `source` block".to_owned();
            self.error("source-invalid", at, message, "add `source:` with transport and tools");
            return;
        };
        let code = "source-invalid";
        if source.transport.is_none() {
            let words = Transport::ALL.map(|(w, _)| w).join(", ");
            let at = node.get("transport").unwrap_or(node);
            let message = "`source.transport` is missing or unknown".to_owned();
            self.error(code, Some(at), message, format!("transports are {words}"));
        }
        self.server(node, servers);
        self.tools(node, source);
        if node.get("cache_ttl").is_some_and(|n| !n.is_null())
            && source.cache_ttl.is_none_or(|ttl| ttl == 0)
        {
            let message = "`source.cache_ttl` is not a number of seconds above 0".to_owned();
            self.error(code, node.get("cache_ttl"), message, "write seconds: `cache_ttl: 300`");
        }
        if let (Some(stage), None) = (value_of(node, "stage"), source.stage) {
            let words = StagePolicy::ALL.map(|(w, _)| w).join(", ");
            let message = "`source.stage` is unknown".to_owned();
            self.error(code, Some(stage), message, format!("policies are {words}"));
        }
        if let (Some(days), None) = (value_of(node, "retention"), source.retention) {
            let message = "`source.retention` is not a number of days".to_owned();
            self.error(code, Some(days), message, "write days, as in `retention: 30d`");
        }
        self.depends_on(value_of(node, "depends_on"));
    }

    /// Checks the server of a source, which the configuration must declare.
    fn server(&mut self, block: &Node, servers: &[Server]) {
        let Some(node) = value_of(block, "server") else { return };
        let Some(server) = node.text().filter(|name| !name.is_empty()) else {
            let message = "`source.server` is not the name of a server".to_owned();
            return self.error("source-invalid", Some(node), message, "write `server: jira`");
        };
        if !servers.iter().any(|known| known.name == server) {
            let near = nearest(server, servers.iter().map(|known| known.name.as_str()));
            let hint = near.map_or_else(
                || "declare it under `servers` in .context/config.yaml".to_owned(),
                |near| format!("did you mean `{near}`?"),
            );
            let message = format!("server `{server}` is not declared");
            self.error("server-unknown", Some(node), message, hint);
        }
    }

    /// Checks the tools of a source: at least one, each a name that can be written between commas.
    fn tools(&mut self, block: &Node, source: &SourceBlock) {
        let node = value_of(block, "tools");
        let code = "source-invalid";
        if source.tools.is_empty() {
            let message = "`source.tools` does not name a tool".to_owned();
            let hint = "list at least one tool: `tools: [name]`";
            return self.error(code, Some(node.unwrap_or(block)), message, hint);
        }
        let is_name = |item: &&Node| {
            let has_none = |text: &str| {
                !text.trim().is_empty()
                    && !text.contains(|c: char| c == ',' || c.is_control())
                    && Invisible::first_in(text).is_none()
            };
            !item.text().is_some_and(has_none)
        };
        let items = node.and_then(Node::items).unwrap_or_default();
        if let Some(item) = items.iter().find(is_name) {
            let message = "an item of `source.tools` is not the name of a tool".to_owned();
            let hint = "write texts without a comma, a control or an invisible character";
            self.error(code, Some(item), message, hint);
        }
    }

    fn depends_on(&mut self, node: Option<&Node>) {
        for item in one_or_many(node) {
            let text = item.text().unwrap_or_default();
            let why = match text.parse::<Uri>() {
                Ok(uri) if matches!(uri.target, Target::Document { .. }) => continue,
                Ok(_) => "it does not name a single document".to_owned(),
                Err(why) => why.to_string(),
            };
            self.error(
                "source-invalid",
                Some(item),
                format!("`source.depends_on` is not a list of URIs: {why}"),
                "write `contextnest://sources/name`",
            );
        }
    }
}

/// Returns the value of a key, if it is not null.
fn value_of<'n>(block: &'n Node, key: &str) -> Option<&'n Node> {
    block.get(key).filter(|node| !node.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::model::hint::{Mode, Spell};

    fn report(text: &str) -> String {
        let document = Document::parse(text).unwrap();
        let jira = Server { name: "jira".to_owned(), url: None, transport: None };
        let criteria = Criteria { servers: &[jira], ..Criteria::default() };
        let lines = problems(text, &document, criteria).into_iter().map(|p| {
            let line = p.line.map_or_else(String::new, |l| format!("{l}: "));
            format!(
                "{:?} {line}[{}] {} ({})",
                p.severity,
                p.code,
                p.message,
                p.hint.render(Spell::new(|_| String::new(), Mode::Publishes))
            )
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn problems_have_a_line_and_a_hint() {
        let text = format!(
            "---\ntitle: ''\ndescription: {}\ntype: documnet\ntags: [ok, '1st']\nversion: \"2.4\"\n\
             status: archived\nsource: {{a: b}}\n---\n",
            "x".repeat(501)
        );
        insta::assert_snapshot!(report(&text), @"
        Error 2: [title-invalid] `title` is empty (write a text, or remove the line to use the first heading)
        Error 3: [description-invalid] `description` has 501 characters; at most 500 are allowed (shorten it)
        Warning 4: [type-unknown] type `documnet` is read as document (did you mean `document`?)
        Warning 5: [tag-grammar] tag `1st` selects nothing (a tag is a letter, then letters, digits, `_` and `-`)
        Warning 6: [field-foreign] `version` has a value that ctx did not write (publishing replaces it, and keeps the old value under `metadata.original`)
        Warning 7: [not-for-use] `status: archived` marks the text as not for use ( leaves the file out; delete the line, or name the document, to publish it)
        Warning 8: [source-ignored] `source` is ignored: the type is not source (set `type: source`)
        ");
    }

    #[test]
    fn source_nodes_need_a_source_block() {
        let text = "---\ntitle: t\ntype: source\nsource:\n  transport: ftp\n  server: jria\n  \
                    cache_ttl: 0\n  depends_on: [nodes/a]\n---\n";
        insta::assert_snapshot!(report(text), @"
        Error 5: [source-invalid] `source.transport` is missing or unknown (transports are mcp, rest, cli, function)
        Error 5: [source-invalid] `source.tools` does not name a tool (list at least one tool: `tools: [name]`)
        Error 6: [server-unknown] server `jria` is not declared (declare it under `servers` in .context/config.yaml)
        Error 7: [source-invalid] `source.cache_ttl` is not a number of seconds above 0 (write seconds: `cache_ttl: 300`)
        Error 8: [source-invalid] `source.depends_on` is not a list of URIs: expected `contextnest://` (write `contextnest://sources/name`)
        ");
        assert!(report("---\ntype: source\n---\n").contains("needs a `source` block"));
    }

    #[test]
    fn a_missing_title_is_the_first_heading_or_the_name() {
        assert_eq!(derived_title("text\n\nSet *ext* `x`\n===\n# Second\n", "n"), "Set ext x");
        assert_eq!(derived_title("\n---\ntitle: A\nstatus: x\n---\n# B {#b}\n", "n"), "B");
        assert_eq!(derived_title("# Fees {/* #fees */}\n", "n"), "Fees");
        assert_eq!(derived_title("# The set {a}\n", "n"), "The set {a}");
        assert_eq!(derived_title("```\n# code\n```\n", "file-name"), "file-name");
        assert_eq!(derived_title(&format!("# {}", "é".repeat(300)), "n").chars().count(), 200);
    }
}
