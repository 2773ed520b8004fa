//! The text of `context.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use super::{DerivedInput, MARKS};
use crate::read::snapshot::Listed;
use crate::text::document::frontmatter::{SourceBlock, Status};
use crate::text::document::links::LinkKind;
use crate::values::model::id::DocumentId;
use crate::values::model::tag::Tag;
use crate::values::model::transport::Transport;
use crate::values::yaml::emit::{in_flow, scalar};

/// Keys of `external_dependencies`, in order.
const LISTS: [(&str, Transport); 4] = [
    ("mcp_servers", Transport::Mcp),
    ("rest", Transport::Rest),
    ("cli", Transport::Cli),
    ("function", Transport::Function),
];

pub(super) fn text(source: &DerivedInput<'_>) -> String {
    let mut out = format!("{}; do not edit\nversion: 1\n", MARKS[0]);
    let at = source.snapshot.made_at().map(|at| scalar(&at.to_string())).unwrap_or_default();
    out.push_str(&format!("generated_at: {at}\n"));
    out.push_str(&format!("checkpoint: {}\n", source.snapshot.checkpoint()));
    out.push_str(&format!("checkpoint_at: {at}\n"));
    if let Some(namespace) = source.config.authorities.namespace() {
        out.push_str(&format!("namespace: {}\n", scalar(namespace)));
    }
    out.push_str(&format!("federation: {}\n", source.config.authorities.federation().as_str()));
    list(&mut out, "", "documents", source.published.iter().map(document));
    let edges = source.edges.iter().filter(|edge| edge.kind != LinkKind::DerivedFrom);
    let relationships = edges.map(|edge| {
        let (from, to) = (scalar(edge.from.as_str()), scalar(edge.to.as_str()));
        vec![format!("from: {from}"), format!("to: {to}"), format!("type: {}", edge.kind.as_str())]
    });
    list(&mut out, "", "relationships", relationships);
    let hubs = source.hubs.iter().map(|hub| {
        vec![format!("id: {}", scalar(hub.id.as_str())), format!("degree: {}", hub.degree)]
    });
    list(&mut out, "", "hubs", hubs);
    out.push_str("external_dependencies:\n");
    let servers = servers(source);
    for (key, transport) in LISTS {
        let of_it = servers.iter().filter(|((t, _), _)| *t == transport);
        let entries = of_it.map(|((_, name), used_by)| {
            let declared = source.config.servers.iter().find(|server| server.name == **name);
            let url = declared.and_then(|server| server.url.as_deref());
            let mut lines = vec![format!("name: {}", scalar(name))];
            lines.extend(url.map(|url| format!("url: {}", scalar(url))));
            lines.push(format!("used_by: {}", flow(used_by.iter().map(|id| id.as_str()))));
            lines
        });
        list(&mut out, "  ", key, entries);
    }
    out
}

/// Appends a key with a list of mappings, each given as its lines.
fn list(out: &mut String, indent: &str, key: &str, entries: impl Iterator<Item = Vec<String>>) {
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        out.push_str(&format!("{indent}{key}: []\n"));
        return;
    }
    out.push_str(&format!("{indent}{key}:\n"));
    for lines in entries {
        for (n, line) in lines.iter().enumerate() {
            let mark = if n == 0 { "- " } else { "  " };
            out.push_str(&format!("{indent}  {mark}{line}\n"));
        }
    }
}

fn flow<'t>(items: impl Iterator<Item = &'t str>) -> String {
    format!("[{}]", items.map(in_flow).collect::<Vec<_>>().join(", "))
}

fn document(listed: &Listed) -> Vec<String> {
    let fields = &listed.metadata;
    let mut lines = vec![
        format!("id: {}", scalar(listed.id.as_str())),
        format!("title: {}", scalar(listed.title())),
    ];
    let description = fields.description.as_deref().filter(|text| !text.is_empty());
    lines.extend(description.map(|text| format!("description: {}", scalar(text))));
    lines.push(format!("type: {}", fields.node_type.as_str()));
    lines.push(format!("tags: {}", flow(fields.tags.iter().map(Tag::as_str))));
    lines.push(format!("status: {}", Status::Published.as_str()));
    lines.push(format!("version: {}", listed.version));
    if let Some(fetched) = &fields.source {
        lines.push("source:".to_owned());
        lines.extend(fetching(listed, fetched).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

fn fetching(listed: &Listed, fetched: &SourceBlock) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(fetched.transport.map(|t| format!("transport: {}", t.as_str())));
    lines.extend(fetched.server.as_ref().map(|server| format!("server: {}", scalar(server))));
    lines.push(format!("tools: {}", flow(fetched.tools.iter().map(String::as_str))));
    let needed = listed.needed();
    if !needed.is_empty() {
        lines.push(format!("depends_on: {}", flow(needed.iter().map(DocumentId::as_str))));
    }
    lines.extend(fetched.cache_ttl.map(|ttl| format!("cache_ttl: {ttl}")));
    lines
}

/// Returns the documents that use each server. The transport is the declared one, otherwise that of
/// the source.
fn servers<'s>(
    source: &'s DerivedInput<'_>,
) -> BTreeMap<(Transport, &'s str), BTreeSet<&'s DocumentId>> {
    let mut found: BTreeMap<(Transport, &str), BTreeSet<&DocumentId>> = BTreeMap::new();
    for listed in &source.published {
        let Some(fetched) = &listed.metadata.source else { continue };
        let Some(name) = fetched.server.as_deref() else { continue };
        let declared = source.config.servers.iter().find(|server| server.name == name);
        let transport = declared.and_then(|server| server.transport).or(fetched.transport);
        if let Some(transport) = transport {
            found.entry((transport, name)).or_default().insert(&listed.id);
        }
    }
    found
}
