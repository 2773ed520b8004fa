//! Published texts can be rebuilt: HIST-26, over the whole write path.

use contextnest::files::vault::Vault;
use contextnest::model::id::DocumentId;
use contextnest::model::number::Version;
use contextnest::model::timestamp::Timestamp;
use contextnest::prove::verify::{self, Verdict, verify};
use contextnest::record::audit::Recorder;
use contextnest::record::chain::replay;
use contextnest::text::document::live_form::LiveForm;
use contextnest::text::document::text::normalise;
use contextnest::write::publish::{Author, Mode, Request, Which, publish};
use proptest::prelude::*;

const FIRST: i64 = 1_795_000_000_000;

fn edit() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "a\n",
        "b\r\n",
        "\n",
        " \n",
        "---\n",
        "+++ x\n",
        "@@ -1,1 +1,1 @@\n",
        "\t\n",
        "é😀\n",
        "\\ No newline at end of file\n",
        "# comment\n",
        "\u{2028}",
        "\u{feff}",
        "\r",
        "no end",
    ]);
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

/// Draws the first lines of a file that other programs own.
fn head() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "",
        "---\ntitle: A\n---\n",
        "---\r\nversion: 7\r\nstatus: x\r\nmetadata: {a: 1}\r\n---\r\n",
        "---\n---\n",
        "---\nderived_from: nodes/b\ntype: ~\n---\n",
        "+++\ntitle = 'A'\n[extra]\nn = -1.0\n+++\n",
        "+++\r\n+++\r\n",
        "{\"title\": \"A\", \"checksum\": null}\n",
        "\u{feff}---\ntitle: A\n---\n",
    ])
}

fn author(now: i64) -> Author {
    let principal = "ana@example.com".parse().unwrap();
    Author {
        principal,
        author: None,
        now: Timestamp::from_millis(now),
        note: None,
        recorder: Recorder::default(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_live_form_of_a_published_text_is_the_file(texts in prop::collection::vec((head(), edit()), 20)) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".context")).unwrap();
        std::fs::write(dir.path().join(".context/config.yaml"), "frontmatter: untouched\n").unwrap();
        std::fs::create_dir(dir.path().join("nodes")).unwrap();
        let path = dir.path().join("nodes/a.md");
        let id: DocumentId = "nodes/a".parse().unwrap();
        let vault = Vault::open(dir.path()).unwrap();
        for (n, (head, body)) in texts.iter().enumerate() {
            // Without a frontmatter, the first line of the body must not open one.
            let text = if head.is_empty() { format!("# {n}\n{body}") } else { format!("{head}{n}\n{body}") };
            std::fs::write(&path, &text).unwrap();
            let publish = |n: usize| {
                let now = FIRST + i64::try_from(n).unwrap();
                let which = Which::Ids(vec![id.clone()]);
                publish(&vault, &Request { author: author(now), which, mode: Mode::default() }).unwrap()
            };
            let made = publish(2 * n).items.into_iter().filter(|item| item.id == id).count();
            prop_assert_eq!(made, 1, "{:?}", text);
            prop_assert_eq!(&std::fs::read_to_string(&path).unwrap(), &text);
            let history = replay::load(vault.files(), &id).unwrap();
            let version = Version(n as u64 + 1);
            let sealed = replay::reconstruct(vault.files(), &id, &history, version).unwrap();
            let form = LiveForm::of(&sealed);
            prop_assert_eq!(form.text(), normalise(&text));
            prop_assert!(publish(2 * n + 1).items.is_empty(), "{:?}", text);
        }
        let report = verify(&vault, &verify::Request::whole(Timestamp::from_millis(FIRST + 99))).unwrap();
        prop_assert_eq!(report.verdict, Verdict::IntactNotAnchored, "{:?}", report.findings);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_published_text_is_reconstructed(bodies in prop::collection::vec(edit(), 40)) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(".context")).unwrap();
        std::fs::create_dir(dir.path().join("nodes")).unwrap();
        let path = dir.path().join("nodes/a.md");
        let id: DocumentId = "nodes/a".parse().unwrap();
        let vault = Vault::open(dir.path()).unwrap();
        let mut published: Vec<String> = Vec::new();
        for (n, body) in bodies.iter().enumerate() {
            // The frontmatter of the last version stays, as an editor would leave it.
            let head = published.last().map_or(String::new(), |last| {
                let end = last[4..].find("\n---\n").unwrap() + 9;
                last[..end].to_owned()
            });
            // Without a frontmatter, the first body must not open one.
            let text = if head.is_empty() { format!("# T\n{body}") } else { format!("{head}{body}") };
            std::fs::write(&path, &text).unwrap();
            let now = FIRST + i64::try_from(n).unwrap();
            let which = Which::Ids(vec![id.clone()]);
            let request = Request { author: author(now), which, mode: Mode::default() };
            let outcome = publish(&vault, &request).unwrap();
            if outcome.items.is_empty() {
                continue;
            }
            let live = std::fs::read_to_string(&path).unwrap();
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let kept = text.strip_prefix(&head).unwrap_or(text);
            prop_assert!(live.ends_with(kept), "the body changed: {:?} -> {:?}", text, live);
            published.push(normalise(&live).into_owned());
        }
        let history = replay::load(vault.files(), &id).unwrap();
        for (n, text) in published.iter().enumerate() {
            let version = n as u64 + 1;
            let found = replay::reconstruct(vault.files(), &id, &history, Version(version)).unwrap();
            prop_assert_eq!(&found, text, "version {}", version);
        }
        let report = verify(&vault, &verify::Request::whole(Timestamp::from_millis(FIRST + 99))).unwrap();
        prop_assert_eq!(report.verdict, Verdict::IntactNotAnchored, "{:?}", report.findings);
    }
}
