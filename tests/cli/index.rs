//! Derived files: `context.yaml` and `INDEX.md`.

use std::collections::BTreeSet;

use insta::assert_snapshot;

use crate::harness::{Place, repository};

const SOURCE: &str = "---\ntitle: Tickets\ntype: source\ntags: ['#ops']\nsource:\n  transport: mcp\n  server: jira\n  \
                      tools: [search]\n  depends_on: [contextnest://sources/users]\n  cache_ttl: 300\n---\nSee [a](../nodes/a.md).\n";
const USERS: &str = "---\ntitle: Users\ntype: source\nsource:\n  transport: rest\n  server: hr\n  tools: [list]\n---\n";
const HOSTILE: &str =
    "---\ntitle: \"]( javascript:x) <b> #1: 'yes'\"\ndescription: \"two\\nlines\"\n---\n";

fn place() -> Place {
    let place = Place::vault();
    let config = place.read(".context/config.yaml");
    let servers = "servers:\n  jira: {transport: mcp, url: 'https://jira.example.com'}\n  \
                   hr: {transport: rest}\n";
    place.write(".context/config.yaml", format!("{config}{servers}"));
    place.write("nodes/a.md", "# A\n\n[[b]]\n");
    place.write("nodes/x y/b.md", HOSTILE);
    place.write("sources/tickets.md", SOURCE);
    place.write("sources/users.md", USERS);
    place.ctx("publish --all").ok();
    place
}

#[test]
fn a_publication_writes_the_graph_for_other_readers() {
    let place = place();
    assert_snapshot!(place.read("context.yaml"), @r#"
    # generated-by: ctx index; do not edit
    version: 1
    generated_at: '2026-11-21T10:00:01.000Z'
    checkpoint: 1
    checkpoint_at: '2026-11-21T10:00:01.000Z'
    federation: none
    documents:
      - id: nodes/a
        title: A
        type: document
        tags: []
        status: published
        version: 1
      - id: nodes/x y/b
        title: ']( javascript:x) <b> #1: ''yes'''
        description: "two\nlines"
        type: document
        tags: []
        status: published
        version: 1
      - id: sources/tickets
        title: Tickets
        type: source
        tags: [ops]
        status: published
        version: 1
        source:
          transport: mcp
          server: jira
          tools: [search]
          depends_on: [sources/users]
          cache_ttl: 300
      - id: sources/users
        title: Users
        type: source
        tags: []
        status: published
        version: 1
        source:
          transport: rest
          server: hr
          tools: [list]
    relationships:
      - from: nodes/a
        to: nodes/x y/b
        type: reference
      - from: sources/tickets
        to: nodes/a
        type: reference
      - from: sources/tickets
        to: sources/users
        type: depends_on
    hubs:
      - id: nodes/a
        degree: 1
      - id: nodes/x y/b
        degree: 1
    external_dependencies:
      mcp_servers:
        - name: jira
          url: https://jira.example.com
          used_by: [sources/tickets]
      rest:
        - name: hr
          used_by: [sources/users]
      cli: []
      function: []
    "#);
    assert!(!place.has("INDEX.md"));
    assert_snapshot!(place.ctx("index").whole(), @"
    exit: 0
    -- stdout
    context.yaml  unchanged
    INDEX.md      created
    -- stderr
    ");
    assert_snapshot!(place.read("INDEX.md"), @r"
    <!-- generated-by: ctx index; do not edit -->
    # Test

    4 documents at checkpoint 1 of 2026-11-21T10:00:01.000Z.

    ## nodes

    - [A](nodes/a.md) (document)

    ## nodes/x y

    - [\]\( javascript:x\) \<b\> \#1: 'yes'](nodes/x%20y/b.md) (document): two lines

    ## sources

    - [Tickets](sources/tickets.md) (source)
    - [Users](sources/users.md) (source)
    ");
    place.ctx("verify").ok();
    assert!(!place.ctx("status").ok().stdout.contains("INDEX"));
    assert!(!place.ctx("list --json").ok().stdout.contains("context.yaml"));
}

#[test]
fn the_same_head_gives_the_same_bytes() {
    let place = place();
    place.ctx("index").ok();
    let before = place.tree();
    assert_snapshot!(place.ctx("index --check").whole(), @"
    exit: 0
    -- stdout
    context.yaml  unchanged
    INDEX.md      unchanged
    -- stderr
    ");
    place.ctx("index").ok();
    place.write("nodes/draft.md", "# Not published\n");
    place.ctx("index --check").ok();
    place.remove("nodes/draft.md");
    assert_eq!(place.tree(), before);
    place.remove("context.yaml");
    assert_snapshot!(place.ctx("index --check").whole(), @"
    exit: 0
    -- stdout
    context.yaml  would be created
    INDEX.md      unchanged
    -- stderr
    ");
    assert_snapshot!(place.ctx("index --dry-run").whole(), @"
    exit: 0
    -- stdout
    context.yaml  would be created
    INDEX.md      unchanged
    -- stderr
    ");
    assert!(!place.has("context.yaml"));
    place.ctx("index").ok();
    assert_eq!(place.tree(), before);
}

#[test]
fn index_never_overwrites_files_of_others() {
    for name in ["context.yaml", "Context.YAML"] {
        let place = Place::vault();
        place.write(name, "mine: true\n");
        place.write("index.md", "# Mine\n");
        place.write("nodes/a.md", "# A\n");
        let published = place.ctx("publish --all").ok();
        assert!(published.stderr.contains("is not a derived file"), "{}", published.stderr);
        let json = place.ctx("index --json").exits(1).json("ctx.index");
        assert_eq!(json["files"][0]["outcome"], "foreign");
        assert_eq!(json["files"][1]["outcome"], "foreign");
        assert_eq!(
            (place.read(name), place.read("index.md")),
            ("mine: true\n".into(), "# Mine\n".into())
        );
        assert!(!place.has("INDEX.md"));
    }
}

#[test]
fn a_publication_stands_whatever_becomes_of_derived_files() {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    std::fs::create_dir(place.path("context.yaml")).unwrap();
    assert_snapshot!(place.ctx("publish --all").whole(), @"
    exit: 0
    -- stdout
    checkpoint 1 with 3 versions, 2026-11-21T10:00:01.000Z
      new  .context/config.yaml  v1
      new  CONTEXT.md            v1
      new  nodes/a               v1
    -- stderr
    note: the derived file `context.yaml` was left as it is: `context.yaml` is not a regular file
    ");
    assert_snapshot!(place.ctx("index").whole(), @"
    exit: 5
    -- stdout
    context.yaml  failed
    INDEX.md      created
    -- stderr
    warning: `context.yaml` was left as it is: `context.yaml` is not a regular file
    ");
}

#[test]
fn the_configuration_says_when_and_which() {
    let place = Place::vault();
    let config = place.read(".context/config.yaml");
    place.write(".context/config.yaml", format!("{config}index: {{auto: 1, folders: true}}\n"));
    place.write("nodes/a.md", "# A\n");
    place.ctx("publish --all").ok();
    let written = || -> Vec<String> {
        let derived = |path: &String| path.ends_with("INDEX.md") || path.ends_with("context.yaml");
        place.tree().into_keys().filter(derived).collect()
    };
    assert_eq!(written(), ["INDEX.md", "context.yaml", "nodes/INDEX.md"]);
    assert_snapshot!(place.read("nodes/INDEX.md"), @"
    <!-- generated-by: ctx index; do not edit -->
    # nodes

    1 document at checkpoint 1 of 2026-11-21T10:00:01.000Z.

    - [A](a.md) (document)
    ");
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish nodes/b").ok();
    // Two documents are too few to make files, but existing files are updated.
    for path in ["context.yaml", "nodes/INDEX.md", "INDEX.md"] {
        let text = place.read(path);
        assert!(text.contains("checkpoint: 2\n") || text.contains("2 documents at"), "{path}");
    }
    place.remove("INDEX.md");
    place.ctx("mv nodes/b nodes/x/b").ok();
    assert_eq!(written(), ["context.yaml", "nodes/INDEX.md"]);
    place.ctx("index --check").ok();
    place.ctx("index").ok();
    place.ctx("retire nodes/x/b").ok();
    assert!(place.read("nodes/x/INDEX.md").contains("0 documents at checkpoint 4"));
    place.ctx("index --check").ok();
    place.ctx("status").ok();
    place.ctx("verify").ok();
}

#[test]
fn nothing_is_written_about_a_text_that_is_lost() {
    let place = place();
    let before = place.read("context.yaml");
    place.edit("nodes/.versions/a/v1.md", "A", "B");
    place.ctx("index").exits(1);
    place.write("nodes/c.md", "# C\n");
    // Without an index every text is read, so an unreadable one is noticed.
    let published = place.typed("publish nodes/c").without("HOME").run().ok();
    assert!(published.stderr.contains("`context.yaml` was left as it is"), "{}", published.stderr);
    assert_eq!(place.read("context.yaml"), before);
    assert_eq!(Place::vault().ctx("index").ok().stdout, "");
}

/// The reader of the reference implementation looks for these keys, with these kinds of values.
#[test]
fn the_reader_of_the_reference_implementation_finds_its_keys() {
    let place = Place::copy_of(&repository().join("fixtures/interop/procurement"));
    place.ctx("index").ok();
    let yaml: serde_yaml::Value = serde_yaml::from_str(&place.read("context.yaml")).unwrap();
    let keys = |value: &serde_yaml::Value| -> BTreeSet<String> {
        value.as_mapping().unwrap().keys().map(|k| k.as_str().unwrap().to_owned()).collect()
    };
    for key in [
        "version",
        "generated_at",
        "checkpoint",
        "checkpoint_at",
        "documents",
        "relationships",
        "hubs",
    ] {
        assert!(keys(&yaml).contains(key), "{key}");
    }
    assert_eq!((yaml["version"].as_u64(), yaml["checkpoint"].is_u64()), (Some(1), true));
    assert!(yaml["generated_at"].is_string() && yaml["checkpoint_at"].is_string());
    assert!(yaml["external_dependencies"]["mcp_servers"].is_sequence());
    let documents = yaml["documents"].as_sequence().unwrap();
    for document in documents {
        for key in ["id", "title", "type", "status"] {
            assert!(document[key].is_string(), "{key}");
        }
        assert!(document["tags"].is_sequence() && document["version"].is_u64());
        let tags = document["tags"].as_sequence().unwrap();
        assert!(tags.iter().all(|tag| !tag.as_str().unwrap().starts_with('#')));
        assert_eq!(document["source"].is_mapping(), document["type"] == "source");
        if document["type"] == "source" {
            assert!(
                document["source"]["transport"].is_string()
                    && document["source"]["tools"].is_sequence()
            );
        }
    }
    assert!(documents.is_sorted_by_key(|document| document["id"].as_str().unwrap()));
    let ids: BTreeSet<&str> = documents.iter().map(|d| d["id"].as_str().unwrap()).collect();
    for edge in yaml["relationships"].as_sequence().unwrap() {
        assert!(matches!(edge["type"].as_str(), Some("reference" | "depends_on")));
        assert!(
            ids.contains(edge["from"].as_str().unwrap())
                && ids.contains(edge["to"].as_str().unwrap())
        );
    }
    for hub in yaml["hubs"].as_sequence().unwrap() {
        assert!(ids.contains(hub["id"].as_str().unwrap()) && hub["degree"].is_u64());
    }
    place.ctx("verify").exits(0);
}

#[test]
fn every_event_brings_the_files_that_exist_up_to_date() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.ctx("index").ok();
    place.write("nodes/c.md", "# C\n");
    let events = ["publish nodes/c", "mv nodes/c nodes/d", "retire nodes/b", "retire nodes/d"];
    for (n, event) in (2..).zip(events) {
        place.ctx(event).ok();
        place.ctx("index --check").ok();
        assert!(place.read("INDEX.md").contains(&format!("at checkpoint {n} of")), "{event}");
    }
    place.remove("INDEX.md");
    place.edit("nodes/a.md", "# A\n", "# A\n\nmore\n");
    place.ctx("publish --changed").ok();
    assert!(!place.has("INDEX.md"));
    // If the setting is turned off, the files stay as they are.
    place.ctx("index").ok();
    place.edit(".context/config.yaml", "layout:", "index: {auto: 0}\nlayout:");
    place.ctx("publish --changed").ok();
    place.ctx("index --check").exits(1);
}
