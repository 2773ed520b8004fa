//! Files that `ctx init` writes: those of every vault, and starters with example content.

use crate::files::vault::audit::RETENTION;
use crate::files::vault::config::{FrontmatterMode, Layout};
use crate::values::model::layout;
use crate::values::yaml::emit;

/// A set of example documents for a new vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starter {
    /// Policies of a procurement team: documents, a glossary, a persona, a pack, a source node.
    Policy,
}

/// Path and text of a file of a new vault.
pub(crate) type NewFile = (&'static str, String);

const POLICY: [(&str, &str); 7] = [
    ("nodes/glossary.md", include_str!("policy/nodes/glossary.md")),
    (
        "nodes/personas/procurement-agent.md",
        include_str!("policy/nodes/personas/procurement-agent.md"),
    ),
    ("nodes/policies/data-handling.md", include_str!("policy/nodes/policies/data-handling.md")),
    ("nodes/policies/vendor-risk.md", include_str!("policy/nodes/policies/vendor-risk.md")),
    (
        "nodes/runbooks/vendor-onboarding.md",
        include_str!("policy/nodes/runbooks/vendor-onboarding.md"),
    ),
    ("packs/onboarding.yml", include_str!("policy/packs/onboarding.yml")),
    ("sources/vendor-tickets.md", include_str!("policy/sources/vendor-tickets.md")),
];

const SERVERS: &str = "servers:\n  jira:\n    url: https://mcp.example.com/jira\n    transport: mcp\n    description: Vendor tickets\n";

const CONTEXT: &str = "---
title: \"{{name}}\"
---

# {{name}}

What this vault is about, and how agents are to use it. This text goes to every agent first.

- Act on published documents only, and cite them by `contextnest://` URI and version.
";

/// Settings of the configuration of a new vault.
pub(crate) struct Setting {
    pub(crate) layout: Layout,
    /// True if `README.md` in the root is a document.
    pub(crate) readme: bool,
    /// Mode of publishing: live files are managed, or remain untouched.
    pub(crate) frontmatter: FrontmatterMode,
}

/// Returns the text of the configuration of a new vault.
pub(crate) fn config(name: &str, setting: &Setting, starter: Option<Starter>) -> String {
    let servers = if starter == Some(Starter::Policy) { SERVERS } else { "" };
    let (name, layout) = (emit::scalar(name), setting.layout.as_str());
    let readme = if setting.readme { "readme: true\n" } else { "" };
    let frontmatter = match setting.frontmatter {
        FrontmatterMode::Managed => "",
        FrontmatterMode::Untouched => "frontmatter: untouched\n",
    };
    format!("version: 1\nname: {name}\nlayout: {layout}\n{readme}{frontmatter}{servers}{RETENTION}")
}

/// Returns the text of `CONTEXT.md` of a new vault.
pub(crate) fn context(name: &str, starter: Option<Starter>) -> String {
    let template = match starter {
        Some(Starter::Policy) => include_str!("policy/CONTEXT.md"),
        None => CONTEXT,
    };
    // The title is a double-quoted scalar of YAML; the heading has the name without control
    // characters.
    let heading: String = name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let quoted = emit::double_quoted(name);
    template.replacen("\"{{name}}\"", &quoted, 1).replace("{{name}}", &heading)
}

/// Returns the documents and packs of a starter.
pub(crate) fn documents(starter: Starter) -> Vec<NewFile> {
    match starter {
        Starter::Policy => POLICY.iter().map(|(path, text)| (*path, (*text).to_owned())).collect(),
    }
}

/// Returns the `.gitignore` file that excludes local state from git.
pub(crate) fn gitignore() -> NewFile {
    (layout::CONTEXT_GITIGNORE, layout::CONTEXT_GITIGNORE_TEXT.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::config::Config;
    use crate::text::document::Document;
    use crate::text::document::validate::{Criteria, problems};

    fn setting(layout: Layout) -> Setting {
        Setting { layout, readme: true, frontmatter: FrontmatterMode::Untouched }
    }

    #[test]
    fn starter_documents_are_valid() {
        let config =
            Config::parse(&config("N", &setting(Layout::Structured), Some(Starter::Policy)))
                .unwrap();
        for (path, text) in documents(Starter::Policy) {
            if path.ends_with(".md") {
                let document = Document::parse(&text).unwrap();
                let criteria = Criteria {
                    servers: &config.servers,
                    is_new: true,
                    hidden_text: true,
                    ..Criteria::default()
                };
                assert_eq!(problems(&text, &document, criteria), [], "{path}");
            }
        }
    }

    #[test]
    fn vault_name_cannot_break_out_of_its_place() {
        let name = "A \"quoted\": #name\n---\nstatus: published";
        let text = context(name, None);
        let title = Document::parse(&text).unwrap().frontmatter.title;
        assert_eq!(title.as_deref(), Some(name));
        let config = Config::parse(&config(name, &setting(Layout::Obsidian), None)).unwrap();
        assert_eq!(config.name.as_deref(), Some(name));
        assert!(config.audit.is_some(), "a new vault records its changes");
    }
}
