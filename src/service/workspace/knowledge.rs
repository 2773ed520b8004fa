//! Recognises bundles of the Open Knowledge Format: folders of Markdown files that have a `type`,
//! with an `index.md` and `log.md` without frontmatter, which other programs write.

use crate::files::vault::Vault;
use crate::read::working::{self, LiveFile};
use crate::text::document::Document;
use crate::values::model::layout::{self, limit};

/// The files of a bundle without a frontmatter.
const RESERVED: [&str; 2] = ["index.md", "log.md"];

/// Returns true if the folder of a new vault is a bundle: a reserved file names the version of the
/// format, or there is a reserved file and every other document has a type.
pub(super) fn is_in(vault: &Vault) -> bool {
    let reserved = || RESERVED.iter().filter(|name| vault.files().is_file(name));
    reserved().any(|name| says_version(vault, name))
        || (reserved().next().is_some() && all_have_types(vault))
}

fn says_version(vault: &Vault, path: &str) -> bool {
    let bytes = vault.files().read(path, limit::DOCUMENT).ok();
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    let document = text.and_then(|text| Document::parse(&text).ok());
    document.is_some_and(|document| document.frontmatter.get("okf_version").is_some())
}

fn all_have_types(vault: &Vault) -> bool {
    let files = working::all(vault);
    let name = |file: &LiveFile| file.path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_concept = |file: &&LiveFile| {
        let name = name(file);
        !RESERVED.contains(&name.as_str()) && !layout::is_readme(&name)
    };
    let has_type = |file: &LiveFile| {
        let word = file.fields().and_then(|fields| fields.get("type")?.text());
        word.is_some_and(|word| !word.trim().is_empty())
    };
    let mut concepts = files.iter().filter(is_concept).peekable();
    concepts.peek().is_some() && concepts.all(has_type)
}
