//! The text of a new pack file, in one fixed form.

use std::fmt::Write as _;

use super::{Pack, Placed};
use crate::text::uri::Uri;
use crate::values::yaml::emit;

/// Writes a pack as YAML; empty fields are omitted.
pub fn write(pack: &Pack) -> String {
    let mut out = format!("id: {}\n", emit::scalar(&pack.id));
    let texts = [
        ("label", pack.label.clone()),
        ("description", pack.description.clone()),
        ("query", pack.query.as_ref().map(|query| query.value.to_string())),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            line(&mut out, key, &emit::scalar(&text));
        }
    }
    for (key, references) in [("includes", &pack.includes), ("excludes", &pack.excludes)] {
        if !references.is_empty() {
            let item =
                |uri: &Placed<Uri>| format!("  - {}\n", emit::scalar(&uri.value.to_string()));
            let items: String = references.iter().map(item).collect();
            let _ = write!(out, "{key}:\n{items}");
        }
    }
    if !pack.node_types.is_empty() {
        let types: Vec<String> =
            pack.node_types.iter().map(|word| emit::in_flow(word.as_str())).collect();
        let _ = write!(out, "filters:\n  node_types: [{}]\n", types.join(", "));
    }
    if !pack.audiences.is_empty() {
        let names: Vec<String> = pack.audiences.iter().map(|name| emit::in_flow(name)).collect();
        line(&mut out, "audiences", &format!("[{}]", names.join(", ")));
    }
    if let Some(text) = &pack.agent_instructions {
        let _ = write!(out, "agent_instructions:{}", emit::long_text(text, 0));
    }
    out
}

fn line(out: &mut String, key: &str, value: &str) {
    let _ = writeln!(out, "{key}: {value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::federation::Authorities;
    use crate::text::pack::read;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn written_pack_is_read_back(
            id in "[a-z\u{e9}'\":#-]([ -~]{0,6}[a-z\"'])?",
            text in "[ -~\n\t\u{e9}\u{2028}]{0,20}",
            anchor in "[a-z#]?",
        ) {
            let include = match anchor.as_str() {
                "" | "#" => "contextnest://n/a",
                _ => "contextnest://n/a#b",
            };
            let pack = Pack {
                id,
                label: Some(text.clone()),
                query: Some(placed(crate::text::selector::parse("#a - (#b | type:tool)").unwrap())),
                includes: vec![placed(include.parse().unwrap())],
                audiences: vec![text.clone(), "yes".to_owned()],
                node_types: vec![crate::text::document::frontmatter::NodeType::Tool],
                agent_instructions: Some(text),
                ..Pack::default()
            };
            let spelled = write(&pack);
            let reading = read(&spelled, &Authorities::default());
            prop_assert_eq!(&reading.problems, &[], "{}", spelled);
            let back = reading.pack.unwrap();
            prop_assert_eq!(write(&back), spelled);
            prop_assert_eq!((back.id, back.label), (pack.id, pack.label));
            prop_assert_eq!(back.audiences, pack.audiences);
            prop_assert_eq!(back.agent_instructions, pack.agent_instructions);
        }
    }

    fn placed<T>(value: T) -> Placed<T> {
        Placed { value, line: 1, column: 1 }
    }
}
