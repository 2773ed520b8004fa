//! Resources: published documents, by `contextnest://` URIs (MCP-24, MCP-25). A resource is read by
//! the call of `context_read`, and recorded as that.

use rmcp::model::{
    CacheScope, JsonObject, ListResourceTemplatesResult, ListResourcesResult, MetaObject,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::{Value, json};

use super::answer::{BUDGET, about, check_tokens};
use super::calls::{Asker, Shared};
use super::requests::{List, bytes, said};
use super::tools::page::{Found, Start};
use super::tools::places;
use super::vaults::Vaults;
use crate::read::snapshot::Listed;
use crate::read::snapshot::packs::SealedPack;
use crate::read::snapshot::tokens::Tokenizer;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::{Call, names, read};
use crate::service::workspace::name::is_uri;
use crate::text::uri::{MAX_URI_BYTES, SCHEME, Uri};
use crate::values::model::verb::Verb;
use crate::values::text_util::beginning;

/// A resource is a text between two lines of Markdown.
const MARKDOWN: &str = "text/markdown";
/// Maximum number of resources of a page.
pub(super) const PAGE: usize = 100;
/// Maximum size of a title and of a description, in bytes.
pub(super) const TITLE: usize = 200;
pub(super) const DESCRIPTION: usize = 400;
/// The member of `_meta` with the origin of a text.
const PROVENANCE: &str = "contextnest/report";
/// The message about a missing resource, whatever the reason.
const NOT_THERE: &str = "no resource has this URI";

impl Shared {
    /// Returns a page of the resources of the vaults.
    ///
    /// # Errors
    /// The cursor is invalid, or published texts cannot be read.
    pub(super) fn resources(
        &self,
        asker: &Asker,
        cursor: Option<&str>,
    ) -> Result<ListResourcesResult, Failure> {
        let list =
            List { method: "resources/list", verb: Verb::List, member: "resources", page: listed };
        let (resources, next) = self.paged(asker, &list, cursor)?;
        let mut result = ListResourcesResult::with_all_items(resources)
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private);
        result.next_cursor = next;
        Ok(result)
    }

    /// Returns the forms of URIs that can be read.
    pub(super) fn resource_templates(&self) -> ListResourceTemplatesResult {
        let vault = if self.vaults.places() == [None] { "" } else { "{vault}/" };
        let template = |form: &str, name: &str, title: &str, description: &str| {
            ResourceTemplate::new(format!("{SCHEME}{vault}{form}"), name)
                .with_title(title)
                .with_description(description)
                .with_mime_type(MARKDOWN)
        };
        let templates = vec![
            template("{+id}", "document", "A document", "The published text of a document"),
            template(
                "{+id}#{anchor}",
                "section",
                "A section",
                "A section of a published document, by the anchor of its heading",
            ),
            template(
                "{+id}@{checkpoint}",
                "pinned-document",
                "A document at a checkpoint",
                "The text of a document that a checkpoint seals, which never changes",
            ),
            template(
                "{+id}@{checkpoint}#{anchor}",
                "pinned-section",
                "A section at a checkpoint",
                "A section of a document as a checkpoint seals it, which never changes",
            ),
        ];
        ListResourceTemplatesResult::with_all_items(templates)
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private)
    }

    /// Returns one resource.
    ///
    /// # Errors
    /// Nothing that the reader may read is published under this URI.
    pub(super) fn resource(&self, asker: &Asker, uri: &str) -> Result<ReadResourceResult, Failure> {
        let (place, inner) = self.inner(uri).ok_or_else(not_there)?;
        let said = said(Verb::Read, "resources/read", json!({"uri": uri}));
        let read = self.on_behalf((asker, said), Vaults::arguments(place), |call, _| {
            let contents = contents(call, uri, &inner)?;
            call.record(&bytes(&json!({"contents": [&contents]})), None)?;
            Ok(contents)
        });
        let contents = read.map_err(|failure| match failure.code {
            // The answer must not reveal a draft, a retired document, or one of others.
            Code::UnknownId | Code::ForeignVault | Code::VaultNotAllowed => {
                Failure { details: failure.details, ..not_there() }
            }
            _ => failure,
        })?;
        let result = ReadResourceResult::new(vec![contents]);
        Ok(result.with_ttl_ms(0).with_cache_scope(CacheScope::Private))
    }

    /// Returns the vault of a URI, and the URI as that vault reads it: with several vaults, the
    /// name of one precedes the path.
    pub(super) fn inner(&self, uri: &str) -> Option<(Option<&str>, String)> {
        if !is_uri(uri) || uri.len() > 2 * MAX_URI_BYTES {
            return None;
        }
        let (place, rest) = self.vaults.parted(&uri[SCHEME.len()..])?;
        Some((place, format!("{SCHEME}{rest}")))
    }
}

pub(super) fn not_there() -> Failure {
    Failure::new(Code::UnknownId, NOT_THERE)
        .hint("`resources/list` and `context_overview` list published documents")
}

/// Returns a page of the resources of one vault.
fn listed(
    call: &mut Call<'_>,
    place: Option<&str>,
    start: &Start<'_>,
) -> Result<(Vec<Resource>, Found), Failure> {
    let (vault, source) = places(call, names::NEED)?;
    let found = call.names((&vault, &source), start.pinned(), (start.skipped, PAGE))?;
    let documents = found.documents.iter().map(|(uri, listed)| of_document(place, uri, listed));
    let packs = found.packs.iter().map(|(uri, pack)| of_pack(place, uri, pack));
    let resources = documents.chain(packs).collect();
    let (checkpoint, seen) = (found.checkpoint, found.seen);
    // Documents without a URI are skipped, too.
    let (given, left) = (PAGE, found.all.saturating_sub(start.skipped));
    Ok((resources, Found { checkpoint, seen, given, goes_on: left > PAGE, is_past: left == 0 }))
}

/// Returns a URI with the name of its vault before the path, if there are several.
pub(super) fn named(place: Option<&str>, uri: &Uri) -> String {
    let uri = uri.to_string();
    match place {
        None => uri,
        Some(name) => format!("{SCHEME}{name}/{}", &uri[SCHEME.len()..]),
    }
}

fn of_document(place: Option<&str>, uri: &Uri, listed: &Listed) -> Resource {
    let fields = &listed.metadata;
    let resource = Resource::new(named(place, uri), listed.id.as_str())
        .with_title(beginning(listed.title(), TITLE))
        .with_mime_type(MARKDOWN);
    let about = json!({
        "contextnest/version": listed.version,
        "contextnest/type": fields.node_type.as_str(),
    });
    let resource = resource.with_meta(meta(about));
    match &fields.description {
        Some(text) => resource.with_description(beginning(text, DESCRIPTION)),
        None => resource,
    }
}

fn of_pack(place: Option<&str>, uri: &Uri, sealed: &SealedPack) -> Resource {
    let pack = &sealed.pack;
    let title = pack.label.as_deref().unwrap_or(&pack.id);
    let about = json!({"contextnest/version": sealed.version, "contextnest/pack": pack.id});
    let resource = Resource::new(named(place, uri), sealed.file.as_str())
        .with_title(beginning(title, TITLE))
        .with_mime_type(MARKDOWN)
        .with_meta(meta(about));
    match &pack.description {
        Some(text) => resource.with_description(beginning(text, DESCRIPTION)),
        None => resource,
    }
}

fn meta(value: Value) -> MetaObject {
    let mut meta = MetaObject::default();
    if let Value::Object(members) = value {
        meta.0 = members;
    }
    meta
}

/// Returns the bytes that are recorded of a resource that is read again, for the log of its vault:
/// the name of the vault may precede the path.
///
/// # Errors
/// The resource does not exist.
pub(super) fn again(call: &mut Call<'_>, params: &JsonObject) -> Result<Vec<u8>, Failure> {
    let uri = params.get("uri").and_then(Value::as_str).ok_or_else(not_there)?;
    let found = contents(call, uri, uri).or_else(|why| {
        let rest = uri.get(SCHEME.len()..).and_then(|path| path.split_once('/'));
        rest.map_or(Err(why), |(_, rest)| contents(call, uri, &format!("{SCHEME}{rest}")))
    });
    Ok(bytes(&json!({"contents": [found?]})))
}

/// Returns the text of a URI, between its two lines, with its report.
fn contents(call: &mut Call<'_>, uri: &str, inner: &str) -> Result<ResourceContents, Failure> {
    let (vault, source) = places(call, read::NEED)?;
    let reading = call.read((&vault, &source), inner, None)?;
    let (report, text) = call.release(reading.report_with_block());
    let about = json!({PROVENANCE: about(call, &report, &["body"])});
    let count = |text: &str| Tokenizer::default().count(text);
    let tokens = count(&text) + count(&about.to_string());
    check_tokens(
        tokens,
        BUDGET,
        "read a section by `#ANCHOR`, or call `context_read` with `outline` or a `budget`",
    )?;
    Ok(ResourceContents::text(text, uri).with_mime_type(MARKDOWN).with_meta(meta(about)))
}
