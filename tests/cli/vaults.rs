//! Names of vaults in URIs: the sealed configuration defines them, and none is resolved yet.

use insta::assert_snapshot;

use crate::harness::Place;

const FEDERATED: &str = "version: 1\nlayout: obsidian\nnamespace: Home\nfederation: scoped\nregistry:\n  \
                         acme: https://acme.example/vault\n  Other: /srv/other\nallow: [acme]\n";

fn place() -> Place {
    let place = Place::vault();
    place.write(".context/config.yaml", FEDERATED);
    place.write("nodes/a.md", "# A\n\n## Part\n\nText.\n");
    place.write("acme/b.md", "# B\n");
    place.ctx("publish --all").ok();
    place
}

#[test]
fn the_own_name_is_this_vault() {
    let place = place();
    for uri in
        ["contextnest://home/nodes/a", "contextnest://HOME/nodes/./a@1", "contextnest://nodes/a"]
    {
        assert_eq!(place.ctx(&format!("resolve {uri} --ids")).ok().stdout, "nodes/a\n", "{uri}");
        assert!(place.ctx(&format!("read {uri}")).ok().stdout.contains("# A\n"), "{uri}");
    }
    let json = place.ctx("resolve contextnest://Home/acme/b --json").ok().json("ctx.resolve");
    assert_eq!(json["selector"], "contextnest://home/acme/b");
    assert_eq!(json["documents"][0]["uri"], "contextnest://home/acme/b@1");
}

#[test]
fn another_name_is_refused_with_its_location() {
    let place = place();
    assert_snapshot!(place.ctx("resolve contextnest://ACME/b").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[foreign-vault]: `acme` is another vault, which cannot be resolved yet; it is at `https://acme.example/vault`
    hint: `--vault DIR` runs the command in a vault on this machine
    ");
    assert_snapshot!(place.ctx("read contextnest://acme/b#x --json").whole(), @r#"
    exit: 1
    -- stdout
    -- stderr
    {
      "schema": "ctx.error",
      "schema_version": 2,
      "code": "foreign-vault",
      "message": "`acme` is another vault, which cannot be resolved yet; it is at `https://acme.example/vault`",
      "hints": [
        "`--vault DIR` runs the command in a vault on this machine"
      ]
    }
    "#);
    assert_snapshot!(place.ctx("resolve '#t | contextnest://other/tag/x'").whole(), @"
    exit: 3
    -- stdout
    -- stderr
    error[vault-not-allowed]: `other` is another vault, and `allow` in the configuration does not list it
      #t | contextnest://other/tag/x
           ^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: a steward of the vault can add it to `allow` in .context/config.yaml
    ");
    assert_snapshot!(place.ctx("resolve contextnest://acme/../nodes/a").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[uri-invalid]: the path leaves the vault
    ");
    place.ctx("publish contextnest://acme/b").exits(1);
}

#[test]
fn a_live_edit_of_the_names_changes_no_answer() {
    let place = place();
    let ask = || place.ctx("resolve contextnest://home/acme/b --json").ok().stdout;
    let before = ask();
    place.edit(".context/config.yaml", "namespace: Home", "namespace: Elsewhere");
    assert_eq!(ask(), before);
    assert!(place.ctx("read contextnest://home/nodes/a").ok().stdout.contains("# A"));
}

#[test]
fn validate_warns_of_documents_that_no_uri_names() {
    let place = place();
    place.write("tag/x.md", "# X\n");
    place.write("search/y.md", "# Y\n");
    place.edit(".context/config.yaml", "namespace: Home\n", "");
    assert_snapshot!(place.ctx("validate").whole(), @"
    exit: 0
    -- stdout
    warning[uri-taken]: acme/b.md: no URI names it: `contextnest://acme/` means something else
      hint: set `namespace` in .context/config.yaml, or move it to another folder
    warning[uri-taken]: search/y.md: no URI names it: `contextnest://search/` means something else
      hint: move it to another folder
    warning[uri-taken]: tag/x.md: no URI names it: `contextnest://tag/` means something else
      hint: move it to another folder
    4 documents checked: 0 errors, 3 warnings
    -- stderr
    ");
}
