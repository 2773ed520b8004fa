//! Texts that were published past the review of a governed vault are withheld from every principal
//! and command (`spec/resolve.md`, RES-30).

use serde_json::{Value, json};

use crate::forger::{Becomes, Forger};
use crate::harness::{Output, Place};
use crate::mcp_resources::asked;

pub(crate) const STEWARDS: &str = "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - \
    {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\nreview:\n  \
    folders:\n    nodes/two/: {required: 2}\n";

pub(crate) const BO: &str = "bo@x.com";
pub(crate) const ANA: &str = "ana@x.com";
pub(crate) const KIM: &str = "kim@x.com";
pub(crate) const EVE: &str = "eve@x.com";
pub(crate) const SECRET: &str = "unreviewed words";

/// Returns a governed vault; Bo and Kim review, Ana edits. `nodes/a` was published before it
/// was governed.
pub(crate) fn governed() -> Place {
    governed_by(STEWARDS)
}

fn governed_by(stewards: &str) -> Place {
    let place = Place::vault();
    place.edit(".context/config.yaml", "audit:\n  retention: 184d\n", "");
    place.write("nodes/a.md", "---\ntags: ['#t']\n---\n# A\n\none\n");
    place.write("nodes/b.md", "---\ntags: ['#t']\n---\n# B\n\ntwo [a](a.md)\n");
    place.write("nodes/two/c.md", "# C\n\nthree\n");
    place.write("CONTEXT.md", "Read this.\n");
    place.write("packs/p.yml", "id: p\nlabel: P\nquery: '#t'\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", stewards);
    place.ctx("govern on --as ana@x.com").ok();
    place
}

pub(crate) fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

/// Returns the findings of `verify` about approvals: code, id and version.
fn found(place: &Place) -> Vec<(String, String, u64)> {
    let report = place.ctx("verify --json").json("ctx.verify");
    let findings = report["findings"].as_array().unwrap().iter();
    let of_approvals = findings.filter(|f| {
        let code = f["code"].as_str().unwrap();
        code.starts_with("approval-") || code == "unrecorded-removal"
    });
    let key = |f: &Value| {
        let text = |key: &str| f[key].as_str().unwrap_or_default().to_owned();
        (text("code"), text("id"), f["version"].as_u64().unwrap_or_default())
    };
    let mut found: Vec<_> = of_approvals.map(key).collect();
    found.sort();
    found
}

/// Asserts that every command and tool that returns texts leaves `id` out, names `code`, and exits
/// with 1; with an index and without.
fn is_left_out(place: &Place, id: &str, code: &str) {
    let report = place.ctx("verify --json").exits(1).json("ctx.verify");
    let head = report["checkpoints"].as_u64().unwrap();
    let message = {
        let findings = report["findings"].as_array().unwrap().clone();
        let it = findings.iter().find(|f| f["code"] == code && f["id"] == id);
        it.unwrap_or_else(|| panic!("{code} {id}: {report}"))["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let lines = [
        format!("read {id}"),
        format!("resolve {id}"),
        format!("resolve contextnest://{id}"),
        "resolve nodes/".to_owned(),
        "resolve #t".to_owned(),
        "resolve '#t + type:document'".to_owned(),
        "resolve status:published --bodies".to_owned(),
        "resolve nodes/ --explain".to_owned(),
        "resolve nodes/ --budget 4000".to_owned(),
        "resolve pack:p".to_owned(),
        "list".to_owned(),
        "search words".to_owned(),
        "context".to_owned(),
        format!("neighbors {id}"),
        format!("checkout {head} ../out"),
    ];
    for line in &lines {
        let output = place.ctx(line);
        let whole = format!("{}{}", output.stdout, output.stderr);
        assert!(!whole.contains(SECRET), "{line}: {whole}");
        assert_eq!(output.exit, 1, "{line}: {}", output.whole());
        assert!(whole.contains(code) && whole.contains(&message), "{line}: {}", output.whole());
        let json = place.ctx(&format!("{line} --json"));
        assert_eq!(json.exit, 1, "{line}: {}", json.whole());
        let whole = format!("{}{}", json.stdout, json.stderr);
        assert!(whole.contains(code) && !whole.contains(SECRET), "{line}: {whole}");
        assert!(!place.home().join("out").exists(), "{line}");
    }
    let calls = [
        ("context_read", json!({"id": id})),
        ("context_resolve", json!({"selector": "nodes/"})),
        ("context_search", json!({"query": "words"})),
        ("context_init", json!({})),
    ];
    for (tool, arguments) in calls {
        let request = json!({"name": tool, "arguments": arguments});
        let answers = asked(place, "mcp --as ana@x.com", &[("tools/call", request)]);
        let whole = answers[0].to_string();
        assert!(!whole.contains(SECRET) && whole.contains(code), "{tool}: {whole}");
    }
}

pub(crate) type Forgery = fn(&mut Forger<'_>);

/// Publications past the review: the document, the finding, the fault, and the forgery.
pub(crate) const FORGERIES: [(&str, &str, &str, Forgery); 7] = [
    ("nodes/a", "approval-self", "its author approved it", |f| {
        f.submit("nodes/a", BO, SECRET);
        f.approve("nodes/a", BO, BO);
    }),
    ("nodes/a", "approval-unauthorised", "an editor approved it", |f| {
        f.submit("nodes/a", BO, SECRET);
        f.approve("nodes/a", ANA, ANA);
    }),
    ("nodes/a", "approval-unauthorised", "no editor submitted it", |f| {
        f.submit("nodes/a", EVE, SECRET);
        f.approve("nodes/a", BO, BO);
    }),
    ("nodes/two/c", "approval-missing", "one of two approved it", |f| {
        f.submit("nodes/two/c", ANA, SECRET);
        f.approve("nodes/two/c", BO, BO);
    }),
    ("nodes/a", "approval-altered", "the approval added a line", |f| {
        f.submit("nodes/a", ANA, "fine\n");
        let fields = [("review", "approved"), ("approved_by", BO), ("approved_at", "AT")];
        let text = f.stamped("nodes/a", "published", &fields) + SECRET;
        f.add("nodes/a", BO, Becomes::Published, &text);
        f.seal(&["nodes/a"], &[]);
    }),
    ("nodes/a", "approval-missing", "nobody reviewed it", |f| {
        let text = f.stamped("nodes/a", "published", &[]) + SECRET;
        f.add("nodes/a", ANA, Becomes::Published, &text);
        f.seal(&["nodes/a"], &[]);
    }),
    ("nodes/a", "approval-missing", "the submission is of what was published before", |f| {
        f.submit("nodes/a", ANA, "fine\n");
        let fields = [("review", "approved"), ("approved_by", BO), ("approved_at", "AT")];
        let text = f.stamped("nodes/a", "published", &fields);
        f.add("nodes/a", BO, Becomes::Published, &text);
        f.seal(&["nodes/a"], &[]);
        let text = f.stamped("nodes/a", "published", &fields) + SECRET;
        f.add("nodes/a", BO, Becomes::Published, &text);
        f.seal(&["nodes/a"], &[]);
    }),
];

#[test]
fn readers_leave_out_what_was_published_past_the_review() {
    for (id, code, what, forge) in FORGERIES {
        let place = governed();
        forge(&mut Forger::new(&place));
        let expected = [(code.to_owned(), id.to_owned())];
        let names: Vec<_> = found(&place).into_iter().map(|(code, id, _)| (code, id)).collect();
        assert!(names.contains(&expected[0]), "{what}: {names:?}");
        is_left_out(&place, id, code);
        // Texts from before the governance are served as before.
        place.ctx("read nodes/b").ok();
        place.ctx("resolve nodes/b").ok();
        place.ctx(&format!("read {id} --at 2")).ok();
    }
}

#[test]
fn readers_leave_out_what_is_dated_before_an_earlier_version() {
    let place = governed();
    let then = Forger::new(&place);
    let without = STEWARDS.replace("  - {principal: ana@x.com, role: editor}\n", "");
    place.write("stewards.yaml", without);
    by(&place, "bo", "submit stewards.yaml").ok();
    by(&place, "kim", "approve stewards.yaml").ok();
    place.edit("nodes/a.md", "one", "1");
    by(&place, "bo", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    // Ana is no longer an editor, and dates her submission to the time when she was.
    let mut forger = then;
    forger.submit("nodes/a", ANA, SECRET);
    let mut forger = Forger::new(&place);
    forger.approve("nodes/a", "kim@x.com", "kim@x.com");
    is_left_out(&place, "nodes/a", "approval-unauthorised");

    let place = governed();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/a", ANA, SECRET);
    forger.earlier(15);
    forger.approve("nodes/a", BO, BO);
    is_left_out(&place, "nodes/a", "approval-unauthorised");
}

#[test]
fn a_later_approval_makes_an_unapproved_document_available_again() {
    let place = governed();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/a", BO, SECRET);
    forger.approve("nodes/a", BO, BO);
    place.ctx("read nodes/a").exits(1);
    place.ctx("restore nodes/a --version 1 --force --as ana@x.com").ok();
    place.write("nodes/a.md", place.read("nodes/a.md") + "\nreviewed\n");
    by(&place, "ana", "submit nodes/a").ok();
    by(&place, "kim", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("reviewed"));
    place.ctx("resolve nodes/").ok();
    assert_eq!(found(&place).len(), 1);
}

#[test]
fn an_unapproved_text_bars_its_author_like_any_other() {
    // Another principal submits the forged text again, as its renewal.
    let place = governed();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/a", BO, SECRET);
    let fields = [("review", "approved"), ("approved_by", ANA), ("approved_at", "AT")];
    let text = forger.stamped("nodes/a", "published", &fields);
    forger.add("nodes/a", ANA, Becomes::Published, &text);
    forger.seal(&["nodes/a"], &[]);
    by(&place, "ana", "submit nodes/a --renew").ok();
    let refused = by(&place, "bo", "approve nodes/a").exits(3);
    assert!(refused.stderr.contains("error[own-submission]"), "{}", refused.whole());
    by(&place, "kim", "approve nodes/a").ok();
    place.ctx("read nodes/a").ok();
}

/// Returns a vault in which only Lee and Max, reviewers of the tag `t`, have a role for `nodes/a`.
fn governed_by_tag() -> Place {
    let of_tag = "tags:\n  t:\n    - {principal: lee@x.com, role: reviewer}\n    - \
        {principal: max@x.com, role: reviewer}\n";
    governed_by(&(STEWARDS.to_owned() + of_tag))
}

/// Publishes a document past the review, by a change of its text.
fn published_past(forger: &mut Forger<'_>, id: &str, who: &str, from: &str, to: &str) {
    let text = forger.stamped(id, "published", &[("review", "approved")]);
    let text = text.replace("review: approved\n", "");
    assert!(text.contains(from), "{text}");
    replaced(forger, id, who, &text.replace(from, to));
}

#[test]
fn an_unapproved_text_gives_no_role() {
    let place = governed_by_tag();
    let mut forger = Forger::new(&place);
    published_past(&mut forger, "nodes/a", EVE, "tags: ['#t']", "tags: ['#free']");
    place.write("body.md", "# A\n\nnew words\n");
    let refused = by(&place, "ana", "submit nodes/a --from body.md --expect-version 2").exits(3);
    assert!(refused.stderr.contains("error[not-a-steward]"), "{}", refused.whole());
    let refused = by(&place, "kim", "retire nodes/a --emergency --reason x").exits(3);
    assert!(refused.stderr.contains("error[not-a-steward]"), "{}", refused.whole());
    // A program that writes the files itself does not avoid the rule either.
    forger.submit("nodes/a", ANA, SECRET);
    forger.approve("nodes/a", "kim@x.com", "kim@x.com");
    let code = "approval-unauthorised";
    assert!(
        found(&place).contains(&(code.to_owned(), "nodes/a".to_owned(), 4)),
        "{:?}",
        found(&place)
    );
    is_left_out(&place, "nodes/a", code);
    // The reviewers of the approved text restore it.
    let own = "---\ntags: ['#t']\n---\n# A\n\nnew words\n";
    place.write("body.md", own);
    by(&place, "lee", "submit nodes/a --from body.md --expect-version 4").ok();
    by(&place, "max", "approve nodes/a").ok();
    place.ctx("read nodes/a").ok();
}

#[test]
fn an_unapproved_publication_ends_no_authorship() {
    let place = governed();
    let mut forger = Forger::new(&place);
    // Kim publishes past the review, and Ana submits the text again.
    published_past(&mut forger, "nodes/a", "kim@x.com", "one", SECRET);
    // Kim submits a text, Eve publishes another one past the review, and Ana submits Kim's.
    forger.submit("nodes/b", "kim@x.com", SECRET);
    published_past(&mut forger, "nodes/b", EVE, "two", "2");
    place.write("body.md", format!("---\ntags: ['#t']\n---\n# B\n\n{SECRET}\n\nmore\n"));
    by(&place, "ana", "submit nodes/a --renew").ok();
    by(&place, "ana", "submit nodes/b --from body.md --expect-version 3").ok();
    for id in ["nodes/a", "nodes/b"] {
        let refused = by(&place, "kim", &format!("approve {id}")).exits(3);
        assert!(refused.stderr.contains("error[own-submission]"), "{}", refused.whole());
    }
    // A rejection does not end it either.
    by(&place, "bo", "reject nodes/a --reason no").ok();
    by(&place, "ana", "submit nodes/a --renew").ok();
    by(&place, "kim", "approve nodes/a").exits(3);
    let bo = by(&place, "bo", "review --json").ok().json("ctx.review");
    assert_eq!(bo["waiting"].as_array().unwrap().len(), 2, "{bo}");
    let kim = by(&place, "kim", "review --json").ok().json("ctx.review");
    assert_eq!(kim["waiting"].as_array().unwrap().len(), 0, "{kim}");
    by(&place, "bo", "approve nodes/a").ok();
    by(&place, "bo", "approve nodes/b").ok();
    place.ctx("read nodes/a").ok();
    // Files that another program writes do not end it either.
    let place = governed();
    let mut forger = Forger::new(&place);
    published_past(&mut forger, "nodes/a", "kim@x.com", "one", SECRET);
    forger.submit("nodes/a", ANA, "tail\n");
    forger.approve("nodes/a", "kim@x.com", "kim@x.com");
    is_left_out(&place, "nodes/a", "approval-self");
}

#[test]
fn a_text_without_an_approval_is_not_restored() {
    let place = governed();
    let mut forger = Forger::new(&place);
    published_past(&mut forger, "nodes/a", EVE, "one", SECRET);
    replaced(&mut forger, "CONTEXT.md", EVE, &format!("Obey: {SECRET}.\n"));
    for line in ["restore nodes/a", "restore nodes/a --version 2", "restore CONTEXT.md"] {
        let refused = by(&place, "ana", &format!("{line} --force")).exits(1);
        assert!(refused.stderr.contains("approval-missing"), "{line}: {}", refused.whole());
        assert!(!refused.whole().contains(SECRET));
    }
    assert!(!place.read("nodes/a.md").contains(SECRET));
    assert!(!place.read("CONTEXT.md").contains(SECRET));
    by(&place, "ana", "restore nodes/a --version 1 --force").ok();
}

#[test]
fn a_review_compares_with_the_last_text_that_was_approved() {
    let place = governed();
    let mut forger = Forger::new(&place);
    published_past(&mut forger, "nodes/a", EVE, "one", SECRET);
    let (_, stewards) = forger.last("stewards.yaml");
    let forged =
        stewards.replace("vault:\n", "vault:\n  - {principal: eve@x.com, role: reviewer}\n");
    replaced(&mut forger, "stewards.yaml", EVE, &forged);
    place.write("body.md", format!("---\ntags: ['#t']\n---\n# A\n\n{SECRET}\n\ntail\n"));
    by(&place, "ana", "submit nodes/a --from body.md --expect-version 2").ok();
    place.write("stewards.yaml", forged.replace("kim@x.com", "max@x.com"));
    by(&place, "bo", "submit stewards.yaml").ok();
    for (id, words) in [("nodes/a", "+unreviewed words"), ("stewards.yaml", "eve@x.com")] {
        let shown = by(&place, "kim", &format!("review show {id}")).ok().whole();
        assert!(shown.contains(words), "{shown}");
        assert!(
            shown.contains("version 2, which it is based on, lacks a valid approval"),
            "{shown}"
        );
        let json = by(&place, "kim", &format!("review show {id} --json")).ok();
        let json = json.json("ctx.review.show");
        assert_eq!(json["warnings"][0]["code"], "base-unapproved", "{json}");
    }
}

#[test]
fn a_retirement_does_not_approve_the_text_that_it_retires() {
    for is_emergency in [true, false] {
        let place = governed();
        published_past(&mut Forger::new(&place), "nodes/a", KIM, "one", SECRET);
        if is_emergency {
            by(&place, "bo", "retire nodes/a --emergency --reason forged").ok();
        } else {
            by(&place, "ana", "retire nodes/a").ok();
            let shown = by(&place, "bo", "review show nodes/a").ok().whole();
            assert!(shown.contains("version 2, which it retires, lacks a valid"), "{shown}");
            by(&place, "bo", "approve nodes/a").ok();
        }
        let version = if is_emergency { 3 } else { 4 };
        for line in [
            "restore nodes/a --force".to_owned(),
            format!("restore nodes/a --force --version {version}"),
            format!("show nodes/a {version}"),
        ] {
            let refused = by(&place, "ana", &line).exits(1).whole();
            assert!(refused.contains("version 2") && !refused.contains(SECRET), "{refused}");
            let is_told = refused.contains("`ctx restore nodes/a --version 1` writes the last");
            assert_eq!(is_told, line.starts_with("restore"), "{refused}");
        }
        // The forged text is submitted as an honest one.
        place.write("nodes/a.md", format!("---\ntags: ['#t']\n---\n# A\n\n{SECRET}\n"));
        by(&place, "ana", "submit nodes/a").ok();
        let submission = version + 1;
        let warning = "version 2, which it is based on, lacks a valid approval; the submission is \
                       compared with version 1";
        let shows = |line: &str| {
            let shown = by(&place, "bo", line).ok().whole();
            assert!(shown.contains("+unreviewed words") && shown.contains(warning), "{shown}");
        };
        shows("review show nodes/a");
        for _ in ["without an index", "with one"] {
            let list = by(&place, "bo", "review --json").ok().json("ctx.review");
            assert!(list["waiting"][0]["lines_added"].as_u64() > Some(0), "{list}");
            place.ctx("resolve nodes/b").ok();
        }
        // Kim wrote it.
        let refused = by(&place, "kim", "approve nodes/a --version 5").exits(3);
        assert!(refused.stderr.contains("error[own-submission]"), "{}", refused.whole());
        let line = format!("approve nodes/a --version {submission}");
        let approved = by(&place, "bo", &line).ok().whole();
        assert!(approved.contains(warning), "{approved}");
        place.ctx("read nodes/a").ok();
        shows(&format!("review show nodes/a --version {submission}"));
        assert_eq!(found(&place), [("approval-missing".to_owned(), "nodes/a".to_owned(), 2)]);
    }
}

#[test]
fn a_review_of_a_move_warns_of_an_unapproved_text() {
    let place = governed();
    let mut forger = Forger::new(&place);
    published_past(&mut forger, "nodes/a", EVE, "one", SECRET);
    place.write("nodes/a.md", forger.last("nodes/a").1);
    by(&place, "ana", "mv nodes/a nodes/z").ok();
    for line in ["review show nodes/a", "approve nodes/a"] {
        let said = by(&place, "bo", line).ok().whole();
        let warning = "version 2, whose text it moves, lacks a valid approval";
        assert!(said.contains(warning) && said.contains("[base-unapproved]"), "{said}");
    }
    place.ctx("read nodes/z").exits(1);
}

/// Approves a version of a governance file that was never submitted, as eve.
pub(crate) fn replaced(forger: &mut Forger<'_>, id: &str, who: &str, text: &str) {
    forger.add(id, who, Becomes::Published, text);
    forger.seal(&[id], &[]);
}

#[test]
fn a_governance_version_without_an_approval_never_comes_into_force() {
    let place = governed();
    let mut forger = Forger::new(&place);
    let (_, stewards) = forger.last("stewards.yaml");
    replaced(&mut forger, "stewards.yaml", EVE, &(stewards + "  # eve\n").replace(BO, EVE));
    forger.submit("nodes/a", ANA, SECRET);
    forger.approve("nodes/a", EVE, EVE);
    let expected =
        [("approval-missing", "stewards.yaml", 2), ("approval-unauthorised", "nodes/a", 3)];
    let expected = expected.map(|(code, id, n)| (code.to_owned(), id.to_owned(), n));
    assert_eq!(found(&place), expected);
    is_left_out(&place, "nodes/a", "approval-unauthorised");
    // Writers use the last approved rules, too.
    let listed = place.ctx("steward list").ok().stdout;
    assert!(listed.contains(BO) && !listed.contains(EVE), "{listed}");
    place.ctx("restore nodes/b --as ana@x.com").ok();
    place.write("nodes/b.md", place.read("nodes/b.md") + "\nmore\n");
    by(&place, "ana", "submit nodes/b").ok();
    by(&place, "eve", "approve nodes/b").exits(3);
    by(&place, "bo", "approve nodes/b").ok();
    assert_eq!(found(&place), expected);
    place.ctx("read nodes/b").ok();
    // The forged file can be replaced in the same way.
    place.ctx("restore stewards.yaml --version 1 --force --as ana@x.com").ok();
    by(&place, "bo", "submit stewards.yaml").ok();
    by(&place, "kim", "approve stewards.yaml").ok();
    assert_eq!(found(&place), expected);
}

#[test]
fn an_unapproved_end_of_governance_changes_nothing() {
    let place = governed();
    let mut forger = Forger::new(&place);
    let (_, config) = forger.last(".context/config.yaml");
    let text = config.replace("governance: governed\n", "");
    assert_ne!(text, config);
    replaced(&mut forger, ".context/config.yaml", BO, &text);
    let plain = forger.stamped("nodes/a", "published", &[]) + SECRET;
    forger.add("nodes/a", EVE, Becomes::Published, &plain);
    forger.seal(&["nodes/a"], &[]);
    let expected =
        [("approval-missing", ".context/config.yaml", 3), ("approval-missing", "nodes/a", 2)];
    assert_eq!(found(&place), expected.map(|(code, id, n)| (code.to_owned(), id.to_owned(), n)));
    is_left_out(&place, "nodes/a", "approval-missing");
    by(&place, "eve", "publish nodes/b").exits(3);
    place.ctx("read .context/config.yaml").exits(1);
}

#[test]
fn an_unapproved_configuration_neither_opens_nor_reads_texts_otherwise() {
    let place = Place::vault();
    place.edit(".context/config.yaml", "audit:\n  retention: 184d\n", "");
    place.edit(".context/config.yaml", "layout: structured", "layout: obsidian");
    place.write("nodes/a.md", "# A\n\none %%a comment%%\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    place.write(".context/config.yaml", place.read(".context/config.yaml") + "reads: stewards\n");
    place.ctx("govern on --as ana@x.com").ok();
    let mut forger = Forger::new(&place);
    let (_, config) = forger.last(".context/config.yaml");
    let text = config.replace("reads: stewards", "reads: open").replace("obsidian", "structured");
    replaced(&mut forger, ".context/config.yaml", EVE, &text);
    for _ in ["without an index", "with one"] {
        place.ctx("resolve nodes/ --bodies --as eve@x.com").exits(0);
        place.ctx("read nodes/a --as eve@x.com").exits(1);
        let read = place.ctx("resolve nodes/a --bodies --as ana@x.com").ok();
        assert!(
            read.stdout.contains("one") && !read.stdout.contains("a comment"),
            "{}",
            read.whole()
        );
    }
}

#[test]
fn an_unapproved_retirement_is_named_in_every_answer_that_covers_the_document() {
    let place = governed();
    let mut forger = Forger::new(&place);
    let text = forger.stamped("nodes/a", "draft", &[]);
    forger.add("nodes/a", EVE, Becomes::Retired, &text);
    forger.seal(&["nodes/b"], &["nodes/a"]);
    is_left_out(&place, "nodes/a", "approval-missing");
    place.ctx("resolve nodes/b").ok();
    place.ctx("resolve nodes/two/").ok();
    place.ctx("resolve nodes/a --at 2").ok();
    // A retirement that its history does not record is not approved either.
    let place = governed();
    let mut forger = Forger::new(&place);
    forger.seal(&["nodes/b"], &["nodes/a"]);
    is_left_out(&place, "nodes/a", "unrecorded-removal");
}

#[test]
fn unapproved_instructions_and_packs_are_left_out() {
    let place = governed();
    let mut forger = Forger::new(&place);
    replaced(&mut forger, "CONTEXT.md", EVE, &format!("Obey: {SECRET}.\n"));
    let pack = format!("id: p\nlabel: P\nagent_instructions: {SECRET}\nquery: nodes/\n");
    replaced(&mut forger, "packs/p.yml", EVE, &pack);
    for _ in ["without an index", "with one"] {
        for line in [
            "context",
            "resolve nodes/ --bodies",
            "resolve pack:p",
            "pack list",
            "pack show p",
            "read CONTEXT.md",
        ] {
            let output = place.ctx(line).exits(1);
            let whole = output.whole();
            assert!(
                whole.contains("approval-missing") && !whole.contains(SECRET),
                "{line}: {whole}"
            );
        }
    }
}

/// Moves `nodes/a` to `nodes/z` with the approval of an editor.
pub(crate) fn moved_unapproved() -> Place {
    let place = governed();
    by(&place, "ana", "mv nodes/a nodes/z").ok();
    let mut forger = Forger::new(&place);
    let fields = [("review", "approved"), ("approved_by", ANA), ("approved_at", "AT")];
    let text = forger.stamped("nodes/a", "draft", &fields);
    forger.add("nodes/a", ANA, Becomes::Retired, &text);
    let honest = governed();
    by(&honest, "ana", "mv nodes/a nodes/z").ok();
    by(&honest, "bo", "approve nodes/a").ok();
    honest.ctx("read nodes/z").ok();
    let made = Forger::new(&honest).last("nodes/z").1;
    let at =
        |text: &str| text.lines().find_map(|l| l.strip_prefix("approved_at: ")).unwrap().to_owned();
    let made = made.replace(&at(&made), &at(&text)).replace(BO, ANA);
    let updated =
        |text: &str| text.lines().find_map(|l| l.strip_prefix("updated_at: ")).unwrap().to_owned();
    let made = made.replace(&updated(&made), &updated(&text));
    forger.add("nodes/z", ANA, Becomes::Published, &made);
    forger.seal(&["nodes/z"], &["nodes/a"]);
    place
}

#[test]
fn the_target_of_an_unapproved_move_is_left_out() {
    let place = moved_unapproved();
    place.ctx("read nodes/z").exits(1);
    place.ctx("read nodes/a").exits(1);
}

#[test]
fn a_governed_vault_with_whole_maps_stays_intact_by_honest_commands() {
    let place = Place::with_maps();
    place.write("nodes/a.md", "# A\n\none\n");
    place.write("nodes/b.md", "# B\n\ntwo\n");
    place.write("CONTEXT.md", "Read this.\n");
    place.ctx("publish --all --as ana@x.com").ok();
    place.write("stewards.yaml", STEWARDS);
    place.ctx("govern on --as ana@x.com").ok();
    place.write("nodes/a.md", place.read("nodes/a.md") + "more\n");
    place.write("nodes/b.md", place.read("nodes/b.md") + "more\n");
    by(&place, "ana", "submit nodes/a nodes/b --change one").ok();
    by(&place, "bo", "approve nodes/a nodes/b").ok();
    place.write("CONTEXT.md", "Read that.\n");
    by(&place, "bo", "submit CONTEXT.md").ok();
    by(&place, "kim", "approve CONTEXT.md").ok();
    place.write("nodes/new.md", "# New\n");
    by(&place, "ana", "submit nodes/new").ok();
    by(&place, "bo", "approve nodes/new").ok();
    by(&place, "ana", "mv nodes/new nodes/newer").ok();
    by(&place, "bo", "approve nodes/new").ok();
    by(&place, "ana", "retire nodes/b").ok();
    by(&place, "kim", "approve nodes/b").ok();
    let verified = place.ctx("verify --json").ok().json("ctx.verify");
    assert_eq!(verified["findings"], json!([]), "{verified}");
    place.ctx("resolve nodes/").ok();
    place.ctx("read nodes/newer").ok();
}

#[test]
fn a_bundle_includes_and_marks_what_was_published_without_an_approval() {
    let place = governed();
    place.ctx("read nodes/a").ok();
    let mut forger = Forger::new(&place);
    forger.submit("nodes/a", BO, SECRET);
    forger.approve("nodes/a", BO, BO);
    // A reviewer compares it, which the access log records.
    let diff = by(&place, "kim", "diff nodes/a 1 3").ok();
    assert!(
        diff.stdout.contains(SECRET) && diff.stderr.contains("approval-self"),
        "{}",
        diff.whole()
    );
    by(&place, "ana", "diff nodes/a 1 3").exits(1);
    let history = place.ctx("history nodes/a").exits(1);
    assert!(history.stdout.contains("    [approval-self] version 3"), "{}", history.whole());
    place.ctx("show nodes/a 3").exits(1);
    let impact = by(&place, "kim", "impact nodes/a").ok();
    assert!(impact.stdout.contains("[approval-self] version 3"), "{}", impact.whole());
    let list = by(&place, "kim", "trace list --json").ok().json("ctx.trace.list");
    let rows = list["traces"].as_array().unwrap();
    let of = |verb: &str| rows.iter().find(|row| row["verb"] == verb).unwrap()["trace"].as_str();
    let [read, diff] = ["read", "diff"].map(|verb| of(verb).unwrap());
    let shown = by(&place, "kim", &format!("trace show {diff} --json")).ok();
    let shown = shown.json("ctx.trace.show");
    assert_eq!(shown["unapproved"][0]["version"], 3, "{shown}");
    assert_eq!(shown["unapproved"].as_array().unwrap().len(), 1, "{shown}");
    let text = by(&place, "kim", &format!("trace show {diff}")).ok().stdout;
    assert!(text.contains("    unapproved [approval-self] version 3"), "{text}");
    let shown = by(&place, "kim", &format!("trace show {read} --json")).ok();
    assert!(shown.json("ctx.trace.show").get("unapproved").is_none());
    let exported = place.ctx("evidence export --document nodes/a -o ../a.tar").exits(1);
    assert!(exported.stderr.contains("approval-self"), "{}", exported.whole());
    let verified = place.ctx("evidence verify ../a.tar --json").exits(1);
    assert!(verified.stdout.contains("approval-self"), "{}", verified.whole());
    let script = crate::harness::repository().join("fixtures/evidence/verify.py");
    let bundle = place.home().join("a.tar");
    let python = std::process::Command::new("python3").arg(script).arg(bundle).output().unwrap();
    assert_eq!(python.status.code(), Some(1), "{}", String::from_utf8_lossy(&python.stdout));
    let report = place.ctx("evidence report --json").exits(1).json("ctx.evidence.report");
    let rows = report["publications"].as_array().unwrap();
    let row = |version: u64| {
        let of = |row: &&Value| row["id"] == "nodes/a" && row["version"] == version;
        rows.iter().find(of).unwrap().clone()
    };
    assert_eq!(row(1)["complete"], true);
    assert_eq!(row(3)["complete"], false);
    assert!(row(3)["why"].as_str().is_some_and(|why| why.contains("approval-self")), "{}", row(3));
}

#[test]
fn a_text_without_fields_keeps_none_of_an_unapproved_text() {
    let place = governed();
    let mut forger = Forger::new(&place);
    published_past(&mut forger, "nodes/a", EVE, "tags: ['#t']", "tags: ['#eve']");
    place.write("body.md", "# A\n\nnew words\n");
    let line = "submit nodes/a --from body.md --expect-version 2";
    let refused = by(&place, "ana", line).exits(1);
    assert!(refused.stderr.contains("error[base-unapproved]"), "{}", refused.whole());
    let arguments = json!({"id": "nodes/a", "body": "# A\n\nnew words\n", "base_version": 2});
    let request = json!({"name": "context_update", "arguments": arguments});
    let answers = asked(&place, "mcp --as ana@x.com", &[("tools/call", request)]);
    assert!(!answers[0].to_string().contains("#eve"), "{}", answers[0]);
    place.write("body.md", "---\ntags: ['#t']\n---\n# A\n\nnew words\n");
    by(&place, "ana", line).ok();
    by(&place, "bo", "approve nodes/a").ok();
    assert!(place.ctx("read nodes/a").ok().stdout.contains("#t"));
}

/// A merge can join two sets of the same name; each part is judged by its own submitter.
#[test]
fn two_submitters_of_a_set_gain_nothing() {
    let forged = |approver: &str| {
        let place = governed();
        let mut forger = Forger::new(&place);
        for (id, submitter, words) in [("nodes/a", BO, SECRET), ("nodes/b", ANA, "fine\n")] {
            let fields = [("review", "submitted"), ("review_base", "1"), ("change", "one")];
            let text = forger.stamped(id, "draft", &fields) + words;
            forger.add(id, submitter, Becomes::Step, &text);
        }
        forger.later();
        approved_at_once(&mut forger, [("nodes/a", approver), ("nodes/b", approver)]);
        place
    };
    let place = forged(KIM);
    assert_eq!(found(&place), []);
    place.ctx("resolve nodes/a").ok();
    let place = forged(BO);
    assert_eq!(found(&place), [("approval-self".to_owned(), "nodes/a".to_owned(), 3)]);
    is_left_out(&place, "nodes/a", "approval-self");
}

/// Publishes two documents by one event, each by its approver.
pub(crate) fn approved_at_once(forger: &mut Forger<'_>, of: [(&str, &str); 2]) {
    for (id, by) in of {
        let fields = [("review", "approved"), ("approved_by", by), ("approved_at", "AT")];
        let text = forger.stamped(id, "published", &fields);
        forger.add(id, by, Becomes::Published, &text);
    }
    forger.seal(&of.map(|(id, _)| id), &[]);
}
