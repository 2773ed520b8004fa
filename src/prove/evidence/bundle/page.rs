//! Pages of a bundle for people: `README.md`, and an HTML page without scripts.
//!
//! Labels, ids and queries are hostile: all are escaped, and none becomes part of a name or a link.

use super::manifest::{Gap, INDEX, Manifest, README, StagedRef, content_path, text_path};
use crate::record::audit::{Event, Line, Text};
use crate::values::text_util::html;

/// Returns the page with this name. A page follows from the manifest and the lines, so that a
/// verifier can make it again and compare.
pub(super) fn made_again(path: &str, manifest: &Manifest, lines: &[&Line]) -> Option<String> {
    match path {
        README => Some(readme(manifest)),
        INDEX => Some(index(manifest, lines)),
        _ => None,
    }
}

/// Returns `README.md`: how to verify the bundle, and what it contains.
pub(super) fn readme(manifest: &Manifest) -> String {
    let head = manifest.head.as_ref().map_or("none".to_owned(), |head| {
        format!("checkpoint {}, `{}`", head.checkpoint, head.hash)
    });
    format!(
        "# Evidence of accesses\n\n\
This bundle proves which texts were handed out, and that each is a published version of a vault.\n\
`ctx evidence verify FILE` checks it without the vault and without a network; \
`--expect-head HASH` compares it with a head that you noted before. \
`fixtures/evidence/verify.py` in the source of ctx does the same in Python.\n\n\
Exported at: {head}\n\
Made by: ctx {}\n\n\
| file | what it is |\n|---|---|\n\
| `manifest.json` | what is here, and the size and SHA-256 of every other file |\n\
| `lines.jsonl` | the lines of the access log, byte for byte |\n\
| `versions/` | the text of each version, byte for byte |\n\
| `chains/` | the parts of the histories that prove the versions: a full text, then diffs |\n\
| `checkpoints.jsonl` | the checkpoint log from the first checkpoint that is needed |\n\
{}| `index.html` | the accesses and versions as tables |\n\n\
What no bundle can prove: who asked, which the caller states, and when, which a clock \
says; that the log has no other lines, and these lines; and that this head is the one of the vault, \
unless you noted it elsewhere. All who had this file could replace lines of the log in it and list everything again: \
compare its SHA-256 with the one that `ctx evidence export` printed (`ctx evidence verify FILE --expect-sha256 HEX`).\n{}",
        manifest.tool,
        readme_staged(manifest),
        readme_gaps(manifest)
    )
}

/// Returns the rows of `README.md` about staged entries.
fn readme_staged(manifest: &Manifest) -> &'static str {
    match manifest.staged.is_empty() {
        true => "",
        false => {
            "| `staged.jsonl` | lines of staging chains: what sources returned, and what was done to it |\n\
| `contents/` | what sources returned, byte for byte |\n"
        }
    }
}

/// Returns the part of `README.md` about gaps: only places, no text of a log.
fn readme_gaps(manifest: &Manifest) -> String {
    if manifest.gaps.is_empty() {
        return String::new();
    }
    let plain = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || "./-".contains(*c)).collect()
    };
    let places = |word: &str, is_wanted: &dyn Fn(&&Gap) -> bool| -> String {
        let wanted = manifest.gaps.iter().filter(is_wanted);
        let line = |gap: &Gap| {
            format!("- `{}`: `{}`, {word} {}\n", plain(&gap.code), plain(&gap.file), gap.line)
        };
        wanted.map(line).collect()
    };
    let lines = places("line", &|gap| !gap.is_about_approval());
    let versions = places("version", &|gap| gap.is_about_approval());
    let mut text = String::new();
    if !lines.is_empty() {
        text = format!(
            "\nThe log from which this was exported is not whole. Accesses that belong here may be missing at:\n\n{lines}"
        );
    }
    if !versions.is_empty() {
        text += &format!(
            "\nThese versions were handed out, but published without a valid approval:\n\n{versions}"
        );
    }
    text
}

/// Returns the part of the HTML page about gaps.
fn gaps(manifest: &Manifest) -> String {
    if manifest.gaps.is_empty() {
        return String::new();
    }
    let row =
        |gap: &Gap| vec![code(&gap.code), code(&gap.file), gap.line.to_string(), html(&gap.why)];
    let (versions, lines): (Vec<&Gap>, Vec<&Gap>) =
        manifest.gaps.iter().partition(|gap| gap.is_about_approval());
    let section = |gaps: Vec<&Gap>, place: &str, title: &str| match gaps.is_empty() {
        true => String::new(),
        false => {
            title.to_owned() + &table(&["code", "file", place, "what"], gaps.into_iter().map(row))
        }
    };
    let of_lines = "<h2>Gaps of the log</h2>\n<p>The log is not whole: accesses that belong here may be missing.</p>\n";
    let of_versions = "<h2>Versions without a valid approval</h2>\n<p>They were handed out, but published past the review.</p>\n";
    section(lines, "line", of_lines) + &section(versions, "version", of_versions)
}

const STYLE: &str = "body{font:15px/1.5 sans-serif;margin:2em;max-width:110em}\
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #bbb;padding:.3em .6em;\
text-align:left;vertical-align:top}code{font-size:12px;word-break:break-all}";

/// Returns an HTML page that loads nothing and runs nothing.
pub(crate) fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n",
        html(title)
    )
}

/// Returns an HTML table. The cells are HTML.
pub(crate) fn table(head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut out = String::from("<table>\n<tr>");
    head.iter().for_each(|cell| out.push_str(&format!("<th>{cell}</th>")));
    out.push_str("</tr>\n");
    for row in rows {
        out.push_str("<tr>");
        row.iter().for_each(|cell| out.push_str(&format!("<td>{cell}</td>")));
        out.push_str("</tr>\n");
    }
    out + "</table>\n"
}

fn code(text: &str) -> String {
    format!("<code>{}</code>", html(text))
}

/// Returns the accesses and versions as tables.
pub(super) fn index(manifest: &Manifest, lines: &[&Line]) -> String {
    let (what, name) = manifest.scope.parts();
    let head = manifest.head.as_ref().map_or(String::new(), |head| {
        format!("<p>Exported at checkpoint {} {}</p>\n", head.checkpoint, code(&head.hash))
    });
    let accesses = table(
        &["access", "at", "command", "principal", "agent", "session", "head", "what", "query"],
        lines.iter().map(|line| access(line)),
    );
    let texts = table(
        &[
            "access",
            "text",
            "version",
            "checkpoint",
            "bytes",
            "part",
            "edited",
            "SHA-256",
            "chain hash",
        ],
        lines.iter().flat_map(|line| {
            let trace = line.trace().to_string();
            texts_of(line).iter().map(move |text| row(&trace, text))
        }),
    );
    let version = |(version, n): (&super::manifest::VersionRef, usize)| {
        let path = text_path(n);
        let checkpoints: Vec<String> = version.checkpoints.iter().map(u64::to_string).collect();
        vec![
            html(&version.id),
            version.version.to_string(),
            checkpoints.join(", "),
            format!("<a href=\"{path}\">{path}</a>"),
            manifest.files.get(&path).map_or(String::new(), |file| code(&file.sha256)),
        ]
    };
    let versions = table(
        &["document", "version", "checkpoints", "text", "SHA-256"],
        manifest.versions.iter().zip(1..).map(version),
    );
    let staged = staged(manifest);
    let body = format!(
        "<h1>Evidence of accesses</h1>\n<p>{what} {}</p>\n{head}\
<p>This page proves nothing; <code>ctx evidence verify</code> checks the bundle.</p>\n\
{}<h2>Accesses</h2>\n{accesses}<h2>Texts that were handed out</h2>\n{texts}\
<h2>Versions</h2>\n{versions}{staged}",
        html(name),
        gaps(manifest)
    );
    document("Evidence of accesses", &body)
}

/// Returns the lines of staging chains as a table, with links to the contents.
fn staged(manifest: &Manifest) -> String {
    if manifest.staged.is_empty() {
        return String::new();
    }
    let row = |line: &StagedRef| {
        let path = line.content.map(content_path);
        let file = path.as_ref().and_then(|path| manifest.files.get(path));
        vec![
            html(&line.source),
            code(&line.writer),
            line.seq.to_string(),
            path.as_ref().map_or(String::new(), |path| format!("<a href=\"{path}\">{path}</a>")),
            file.map_or(String::new(), |file| code(&file.sha256)),
        ]
    };
    let table =
        table(&["source", "writer", "line", "content", "SHA-256"], manifest.staged.iter().map(row));
    format!("<h2>Staged results of sources, and acts upon them</h2>\n{table}")
}

fn texts_of(line: &Line) -> &[Text] {
    match &line.event {
        Event::Access(access) => &access.documents,
        _ => &[],
    }
}

fn access(line: &Line) -> Vec<String> {
    let request = &line.request;
    let text = |text: Option<&String>| text.map_or(String::new(), |text| html(text));
    let query = match &line.event {
        Event::Access(access) => access.query.query.as_ref(),
        Event::Listing(listing) => listing.query.query.as_ref(),
        Event::Hydration(hydration) => hydration.uri.as_ref().or(Some(&hydration.source)),
        _ => None,
    };
    let session = request.labels.session.as_ref().filter(|_| !request.labels.session_implicit);
    vec![
        code(&line.trace().to_string()),
        html(&line.at),
        html(&request.verb),
        text(request.principal.as_ref()),
        text(request.labels.agent.as_ref()),
        text(session),
        request.head.as_ref().map_or(String::new(), |head| head.checkpoint.to_string()),
        line.event.kind().as_str().to_owned(),
        text(query),
    ]
}

fn row(trace: &str, text: &Text) -> Vec<String> {
    vec![
        code(trace),
        html(text.name()),
        text.version.to_string(),
        text.checkpoint.map_or(String::new(), |number| number.to_string()),
        text.range.map_or(text.bytes.to_string(), |[a, b]| format!("{} ({a} to {b})", text.bytes)),
        text.part.map_or(String::new(), |part| part.as_str().to_owned()),
        format!("{} by {}", html(&text.edited_at), html(&text.edited_by)),
        code(&text.sha256),
        code(&text.chain_hash),
    ]
}
