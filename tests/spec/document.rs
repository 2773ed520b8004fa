//! Documents: normal form, fields, problems, edits in place (`spec/document.md`).

use contextnest::files::vault::config::{FrontmatterMode, Server};
use contextnest::model::digest::Digest;
use contextnest::text::document::edit::{Edit, EditError, checksum_of};
use contextnest::text::document::live_form::LiveForm;
use contextnest::text::document::other;
use contextnest::text::document::text::normalise;
use contextnest::text::document::validate::{Criteria, Severity, problems};
use contextnest::text::document::{Document, Unreadable};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::vectors::{fixed, load};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Normal {
    normalise: Vec<NormalCase>,
    checksum: Vec<Checksum>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NormalCase {
    name: String,
    text: String,
    normal: String,
    sha256: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Checksum {
    name: String,
    text: String,
    checksum: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Documents {
    read: Vec<Read>,
    problems: Vec<Problems>,
    edits: Vec<EditCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    name: String,
    text: String,
    #[serde(default)]
    fields: Map<String, Value>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Problems {
    name: String,
    text: String,
    #[serde(default)]
    new: bool,
    #[serde(default)]
    hidden_text: bool,
    #[serde(default)]
    untouched: bool,
    #[serde(default)]
    yaml_only: bool,
    servers: Vec<String>,
    problems: Vec<(String, String, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditCase {
    name: String,
    text: String,
    set: Vec<(String, Value)>,
    keep: Vec<String>,
    derived_from: Option<String>,
    original_frontmatter: Option<String>,
    result: Option<String>,
    refused: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Live {
    formats: Vec<FormatCase>,
    live_forms: Vec<LiveFormCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FormatCase {
    name: String,
    text: String,
    format: Option<String>,
    yaml: Option<String>,
    body: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LiveFormCase {
    name: String,
    sealed: String,
    live: String,
}

#[test]
fn frontmatter_of_other_formats_is_read_as_yaml() {
    let cases: Live = load("document/live.json");
    for case in cases.formats {
        let document = Document::of_live(&case.text);
        let error = document.as_ref().err().map(Unreadable::code);
        assert_eq!(error, case.error.as_deref(), "{}", case.name);
        let Ok(document) = document else { continue };
        let found = other::read(&case.text).map(Result::unwrap);
        assert_eq!(found.as_ref().map(|found| &found.yaml), case.yaml.as_ref(), "{}", case.name);
        let Some(format) = case.format else { continue };
        assert_eq!(document.format.as_str().to_lowercase(), format, "{}", case.name);
        assert_eq!(Some(&case.text[document.parts.body..]), case.body.as_deref(), "{}", case.name);
    }
}

#[test]
fn a_published_text_has_one_live_form() {
    let cases: Live = load("document/live.json");
    for case in cases.live_forms {
        assert_eq!(LiveForm::of(&case.sealed).text(), case.live, "{}", case.name);
    }
}

#[test]
fn texts_have_one_normal_form() {
    let cases: Normal = load("normalise/cases.json");
    for case in cases.normalise {
        let normal = normalise(&case.text);
        assert_eq!(normal, case.normal, "{}", case.name);
        let hash = Digest::of(normal.as_bytes()).to_string();
        assert_eq!(hash, case.sha256, "{}", case.name);
    }
    for case in cases.checksum {
        assert_eq!(checksum_of(&case.text).unwrap(), case.checksum, "{}", case.name);
    }
}

#[test]
fn a_frontmatter_is_read_field_by_field() {
    let cases: Documents = load("document/cases.json");
    for case in cases.read {
        let document = Document::parse(&case.text);
        let error = document.as_ref().err().map(Unreadable::code);
        assert_eq!(error, case.error.as_deref(), "{}", case.name);
        let Ok(document) = document else { continue };
        let f = document.frontmatter;
        for (key, expected) in case.fields {
            let found = match key.as_str() {
                "title" => json!(f.title),
                "description" => json!(f.description),
                "type" => json!(f.node_type.as_str()),
                "tags" => json!(f.tags),
                "odd_tags" => json!(f.odd_tags),
                "status" => json!(f.status.as_str()),
                "version" => json!(f.version),
                "author" => json!(f.author),
                "created_at" => json!(f.created_at),
                "updated_at" => json!(f.updated_at),
                "checksum" => json!(f.checksum),
                "valid_until" => json!(f.validity.until),
                "superseded_by" => json!(f.validity.superseded_by),
                other => panic!("{other}"),
            };
            assert_eq!(found, expected, "{}: {key}", case.name);
        }
    }
}

#[test]
fn a_frontmatter_has_at_most_64_kib() {
    let text = |length: usize| format!("---\na: {}\n---\n", "x".repeat(length - 4));
    assert!(Document::parse(&text(65536)).is_ok());
    let error = Document::parse(&text(65537)).unwrap_err();
    assert_eq!(error.code(), "frontmatter-too-large");
}

#[test]
fn problems_have_a_code_and_a_line() {
    let cases: Documents = load("document/cases.json");
    for case in cases.problems {
        let document = Document::of_live(&case.text).unwrap();
        let server = |name: &String| Server { name: name.clone(), url: None, transport: None };
        let servers: Vec<Server> = case.servers.iter().map(server).collect();
        let criteria = Criteria {
            servers: &servers,
            is_new: case.new,
            hidden_text: case.hidden_text,
            frontmatter: if case.untouched {
                FrontmatterMode::Untouched
            } else {
                FrontmatterMode::Managed
            },
            yaml_only: case.yaml_only,
            ..Criteria::default()
        };
        let found: Vec<_> = problems(&case.text, &document, criteria)
            .into_iter()
            .map(|p| {
                let severity = match p.severity {
                    Severity::Error => "error",
                    Severity::Warning => "warning",
                };
                (severity.to_owned(), p.code.to_owned(), p.line.unwrap_or_default())
            })
            .collect();
        assert_eq!(found, case.problems, "{}", case.name);
    }
}

#[test]
fn an_edit_changes_its_fields_and_no_other_byte() {
    let cases: Documents = load("document/cases.json");
    for case in cases.edits {
        let mut edit = Edit::default();
        for (key, value) in &case.set {
            let key = fixed(key);
            edit = match value {
                Value::String(text) => edit.text(key, text),
                Value::Number(number) => edit.number(key, number.as_u64().unwrap()),
                Value::Array(items) => {
                    let items: Vec<String> =
                        items.iter().map(|i| i.as_str().unwrap().to_owned()).collect();
                    edit.list(key, &items)
                }
                other => panic!("{other}"),
            };
        }
        let fields = Document::parse(&case.text).map(|d| d.frontmatter);
        for key in &case.keep {
            let value = fields.as_ref().unwrap().get(key).unwrap();
            edit = edit.keep_original(fixed(key), value);
        }
        if let Some(uri) = &case.derived_from {
            edit = edit.derived_from(uri);
        }
        if let Some(block) = &case.original_frontmatter {
            edit = edit.keep_frontmatter(block);
        }
        let found = edit.apply(&case.text);
        let refused = found.as_ref().err().map(|e| match e {
            EditError::Unreadable(why) => why.code(),
            EditError::Flow => "flow",
            EditError::Metadata => "metadata",
            EditError::NotExact => "not-exact",
            other => panic!("{other}"),
        });
        assert_eq!(refused, case.refused.as_deref(), "{}", case.name);
        assert_eq!(found.ok(), case.result, "{}", case.name);
    }
}
