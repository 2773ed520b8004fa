//! Stewards: who decides about which document, and `stewards.yaml`.

use insta::assert_snapshot;

use crate::harness::Place;

const STEWARDS: &str = "version: 1\n# The owner.\nvault: [{principal: ana@example.com, role: reviewer}]\n\
    folders:\n  nodes/legal/: # counsel\n    - {group: counsel, role: reviewer}\n    - {principal: Kim@example.com, role: editor}\n\
    tags: {security: [{principal: sam@example.com, role: reviewer}]}\n\
    documents: {nodes/pricing: [{principal: kim@example.com, role: reviewer}]}\n\
    groups: {counsel: [lee@example.com, max@example.com]}\n\
    review: {vault: {max_age: 365d}, folders: {nodes/legal/: {required: 2}}}\n";

fn place() -> Place {
    let place = Place::published(&[
        ("nodes/a", "# A\n"),
        ("nodes/pricing", "# P\n"),
        ("nodes/legal/contract", "---\ntags: [security]\n---\n# C\n"),
        ("nodes/keys", "---\ntags: [Security]\n---\n# K\n"),
    ]);
    place.write("stewards.yaml", STEWARDS);
    place
}

fn sealed() -> Place {
    let place = place();
    place.ctx("publish stewards.yaml").ok();
    place
}

#[test]
fn a_list_shows_what_is_published_and_never_the_live_file() {
    let place = place();
    assert_snapshot!(place.ctx("steward list").whole(), @"
    exit: 0
    -- stdout
    -- stderr
    note: stewards.yaml is not published; run `ctx publish stewards.yaml`
    ");
    place.ctx("publish stewards.yaml").ok();
    assert_snapshot!(place.ctx("steward list").whole(), @"
    exit: 0
    -- stdout
    document nodes/pricing  reviewer  kim@example.com
    folder nodes/legal/     reviewer  group counsel
    folder nodes/legal/     editor    Kim@example.com
    tag security            reviewer  sam@example.com
    vault                   reviewer  ana@example.com
    group counsel: lee@example.com, max@example.com
    review folder nodes/legal/: 2 reviewers
    review vault: due again after 365 days
    -- stderr
    note: the vault is ungoverned, so publication needs no steward
    ");
    place.edit("stewards.yaml", "ana@example.com", "eve@example.com");
    let output = place.ctx("steward list");
    assert!(output.stdout.contains("vault                   reviewer  ana@example.com"));
    assert!(output.stderr.contains("the live stewards.yaml differs"), "{}", output.stderr);
    let earlier = place.ctx("steward list --at 1 --json").ok().json("ctx.steward.list");
    assert_eq!(earlier["basis"]["state"], "never");
    let json = place.ctx("steward list --json").ok().json("ctx.steward.list");
    assert_eq!((&json["basis"]["version"], &json["basis"]["since"]), (&1.into(), &2.into()));
    assert_eq!(json["basis"]["live_differs"], true);
    assert_eq!(json["assignments"][4]["principal"], "ana@example.com");
    assert_eq!(json["assignments"].as_array().unwrap().len(), 5);
    assert_eq!(json["review"][0]["required"], 2);
}

#[test]
fn steward_who_explains_the_deciding_scope() {
    let place = sealed();
    assert_snapshot!(place.ctx("steward who nodes/legal/contract").whole(), @"
    exit: 0
    -- stdout
    nodes/legal/contract: folder nodes/legal/
      reviewer  lee@example.com  group counsel
      reviewer  max@example.com  group counsel
      editor    Kim@example.com
      passed over: document nodes/legal/contract (it has no steward)
      passed over: tag #security (the scope above comes first)
      passed over: vault (the scope above comes first)
      review: 2 reviewers, due again after 365 days
    -- stderr
    note: the vault is ungoverned, so publication needs no steward
    ");
    assert_snapshot!(place.ctx("steward who stewards.yaml").whole(), @"
    exit: 0
    -- stdout
    stewards.yaml: vault
      reviewer  ana@example.com
      passed over: document stewards.yaml (it has no steward)
      review: 1 reviewer, due again after 365 days
    -- stderr
    note: the vault is ungoverned, so publication needs no steward
    ");
    place.write("nodes/legal/new.md", "---\ntags: [x]\n---\n# New\n");
    place.write(
        "nodes/a.md",
        place.read("nodes/a.md").replace("---\ntitle", "---\ntags: [security]\ntitle"),
    );
    let json = place.ctx("steward who nodes/legal/new.md --json").ok().json("ctx.steward.who");
    assert_eq!((&json["matched"]["name"], &json["text"]), (&"nodes/legal/".into(), &"live".into()));
    assert_eq!(json["passed_over"][1]["reason"], "later");
    assert_eq!(json["stewards"][0]["group"], "counsel");
    place.ctx("steward who nodes/legal/new --at 2").exits(1);
    place.ctx("steward who nodes/none").exits(1);
    let past = place.ctx("steward who nodes/keys --at 1 --json").ok().json("ctx.steward.who");
    assert_eq!((&past["matched"], &past["text"]), (&serde_json::Value::Null, &"published".into()));
}

#[test]
fn tags_of_the_live_file_count_and_another_scope_of_the_published_text_is_named() {
    let place = sealed();
    place.edit("nodes/keys.md", "tags: [Security]", "tags: []");
    let output = place.ctx("steward who nodes/keys").ok();
    assert!(output.stdout.starts_with("nodes/keys: vault\n"), "{}", output.stdout);
    let line = "the tags of the published text select another scope: tag #security\n";
    assert!(output.stdout.ends_with(line), "{}", output.stdout);
}

#[test]
fn assignments_are_edited_in_place_and_published() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    assert_snapshot!(place.ctx("steward assign ana@example.com reviewer --whole-vault").whole(), @"
    exit: 0
    -- stdout
    checkpoint 2 with 1 version, 2026-11-21T10:00:02.000Z
      new  stewards.yaml  v1
    -- stderr
    ");
    place.edit("stewards.yaml", "vault:\n", "vault: # all\n");
    place.ctx("steward assign lee@example.com editor --folder nodes/legal").ok();
    place.ctx("steward assign LEE@example.com reviewer --folder nodes/Legal/").ok();
    place.ctx("steward assign kim@example.com viewer --document nodes/a.md -m later").ok();
    place.ctx("steward assign kim@example.com viewer --tag '#security'").ok();
    assert_snapshot!(place.read("stewards.yaml"), @"
    version: 1
    vault: # all
      - {principal: ana@example.com, role: reviewer}
    folders:
      nodes/legal/: [{principal: lee@example.com, role: reviewer}]
    documents:
      nodes/a: [{principal: kim@example.com, role: viewer}]
    tags:
      security: [{principal: kim@example.com, role: viewer}]
    ");
    assert_snapshot!(place.ctx("steward remove kim@example.com --tag security --dry-run").whole(), @"
    exit: 0
    -- stdout
    would make checkpoint 7 with 1 version, 2026-11-21T10:00:07.000Z
      changed  stewards.yaml  v6
    --- stewards.yaml (now)
    +++ stewards.yaml (published)
    @@ -5,5 +5,3 @@
       nodes/legal/: [{principal: lee@example.com, role: reviewer}]
     documents:
       nodes/a: [{principal: kim@example.com, role: viewer}]
    -tags:
    -  security: [{principal: kim@example.com, role: viewer}]
    -- stderr
    ");
    place.ctx("steward remove kim@example.com --tag security").ok();
    assert!(!place.read("stewards.yaml").contains("security"));
    let again = place.ctx("steward assign ana@example.com reviewer --whole-vault").ok();
    assert_eq!(again.stdout, "the assignment is published already\n");
    for (line, code) in [
        ("steward remove kim@example.com --tag security", 2),
        ("steward assign a:b reviewer --whole-vault", 2),
        ("steward assign ana@example.com owner --whole-vault", 2),
        ("steward assign ana@example.com reviewer", 2),
        ("steward assign ana@example.com reviewer --whole-vault --tag x", 2),
        ("steward assign ana@example.com reviewer --document stewards.yaml", 2),
        ("steward assign counsel reviewer --group --whole-vault", 2),
    ] {
        place.ctx(line).exits(code);
    }
    place.ctx("verify").ok();
}

#[test]
fn a_file_with_a_problem_is_refused_by_every_write_path() {
    let place = sealed();
    let broken = place.read("stewards.yaml").replace("role: editor", "rolle: editor");
    place.write("stewards.yaml", &broken);
    assert_snapshot!(place.ctx("publish stewards.yaml").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[refused]: 1 file refused
      stewards.yaml
        error[stewards-value]: line 7: column 7: expected a `role` (fix the line; spec/stewards.md lists the keys)
        error[stewards-key]: line 7: column 36: unknown key `rolle` (did you mean `role`?)
    hint: nothing was written; fix the documents, or leave them out
    ");
    let before = place.tree();
    for line in ["publish --all", "publish --changed", "steward assign a@x editor --whole-vault"] {
        let output = place.ctx(line).exits(1);
        assert!(output.stderr.contains("stewards-key"), "{line}: {}", output.stderr);
    }
    assert_eq!(place.tree(), before);
    let validated = place.ctx("validate stewards.yaml").exits(1);
    assert!(validated.stdout.contains("stewards-key"), "{}", validated.stdout);
    // An event about a document leaves the file out.
    place.edit("nodes/a.md", "# A", "# A a");
    place.ctx("publish nodes/a").ok();
}

#[test]
fn a_governed_vault_refuses_changes_of_stewards() {
    let place = sealed();
    let config = place.read(".context/config.yaml") + "governance: governed\n";
    place.write(".context/config.yaml", config);
    let owners = "* eve@example.com\n";
    place.write("CODEOWNERS", owners);
    let before = place.tree();
    for line in [
        "steward assign eve@example.com reviewer --whole-vault",
        "steward assign eve@example.com reviewer --whole-vault --dry-run",
        "steward remove ana@example.com --whole-vault",
        "steward import --codeowners CODEOWNERS",
    ] {
        let output = place.ctx(line).exits(3);
        assert!(output.stderr.contains("error[governed]"), "{line}: {}", output.stderr);
    }
    assert_eq!(place.tree(), before);
    assert!(!place.ctx("steward list").ok().stderr.contains("ungoverned"));
}

#[test]
fn code_owners_are_exported_and_imported() {
    let place = sealed();
    assert_snapshot!(place.ctx("steward export --codeowners").ok().stdout, @"
    # Reviewers of stewards.yaml, by `ctx steward export --codeowners`.
    # Paths begin at the root of the vault; if that is a folder of the repository, add it to each.
    # Not expressed: viewers and editors, scopes of tags, the number of reviewers, and that the
    # paths of a vault are compared without case.
    # not expressed: tag #security: sam@example.com
    * ana@example.com
    /nodes/legal/ lee@example.com max@example.com
    /nodes/pricing.md kim@example.com
    /stewards.yaml ana@example.com
    /.context/config.yaml ana@example.com
    ");
    let owners = "* ana@example.com\n/nodes/hr/ hr@example.com @org/hr\n*.js dev@example.com\n\
                  /nodes/pricing.md kim@example.com zoe@example.com\n";
    place.write("CODEOWNERS", owners);
    let line = "steward import --codeowners CODEOWNERS --owner @org/hr=joe@example.com";
    assert_snapshot!(place.ctx(&format!("{line} --dry-run")).whole(), @"
    exit: 1
    -- stdout
    line 1: vault: ana@example.com
    line 2: folder nodes/hr/: hr@example.com, joe@example.com
    line 4: document nodes/pricing: kim@example.com, zoe@example.com
    would make checkpoint 3 with 1 version, 2026-11-21T10:00:04.000Z
      changed  stewards.yaml  v2
    --- stewards.yaml (now)
    +++ stewards.yaml (published)
    @@ -2,10 +2,11 @@
     # The owner.
     vault: [{principal: ana@example.com, role: reviewer}]
     folders:
    +  nodes/hr/: [{principal: hr@example.com, role: reviewer}, {principal: joe@example.com, role: reviewer}]
       nodes/legal/: # counsel
         - {group: counsel, role: reviewer}
         - {principal: Kim@example.com, role: editor}
     tags: {security: [{principal: sam@example.com, role: reviewer}]}
    -documents: {nodes/pricing: [{principal: kim@example.com, role: reviewer}]}
    +documents: {nodes/pricing: [{principal: zoe@example.com, role: reviewer}, {principal: kim@example.com, role: reviewer}]}
     groups: {counsel: [lee@example.com, max@example.com]}
     review: {vault: {max_age: 365d}, folders: {nodes/legal/: {required: 2}}}
    -- stderr
    warning: line 3 is not mapped: it is a pattern, but scopes are paths: *.js dev@example.com
    ");
    let json = place.ctx(&format!("{line} --json")).exits(1).json("ctx.steward.import");
    assert_eq!(json["skipped"][0]["line"], 3);
    assert_eq!(json["checkpoint"]["checkpoint"], 3);
    place.ctx("steward import --codeowners missing").exits(5);
    place.ctx("steward import --codeowners CODEOWNERS --owner x").exits(2);
    let again = place.ctx(line).exits(1);
    assert!(again.stdout.contains("nothing to import"), "{}", again.stdout);
}

#[test]
fn owners_counts_documents_by_scope_and_reviewer() {
    let place = sealed();
    assert_snapshot!(place.ctx("owners").whole(), @"
    exit: 0
    -- stdout
    4 documents published
      document nodes/pricing  1 document  kim@example.com
      folder nodes/legal/     1 document  lee@example.com, max@example.com
      tag security            1 document  sam@example.com
      vault                   1 document  ana@example.com
    1 document without a dedicated steward
      nodes/a
    Load by reviewer
      ana@example.com  1 document  1 alone
      kim@example.com  1 document  1 alone
      lee@example.com  1 document
      max@example.com  1 document
      sam@example.com  1 document  1 alone
    -- stderr
    note: the vault is ungoverned, so publication needs no steward
    ");
    let json = place.ctx("owners --at 1 --json").ok().json("ctx.owners");
    assert_eq!(json["unowned"].as_array().unwrap().len(), 4);
    let listed = place.ctx("trace list --json").ok().json("ctx.trace.list").to_string();
    assert!(listed.contains("owners"), "{listed}");
}

#[test]
fn sealed_stewards_stay_in_force_until_retired() {
    let place = sealed();
    place.remove("stewards.yaml");
    let json = place.ctx("steward list --json").ok().json("ctx.steward.list");
    assert_eq!(
        (&json["basis"]["state"], &json["basis"]["live_differs"]),
        (&"sealed".into(), &true.into())
    );
    place.ctx("retire stewards.yaml").ok();
    let json = place.ctx("steward list --json").ok().json("ctx.steward.list");
    assert_eq!(
        (&json["basis"]["state"], &json["basis"]["live_differs"]),
        (&"retired".into(), &false.into())
    );
    let json = place.ctx("steward list --at 2 --json").ok().json("ctx.steward.list");
    assert_eq!(json["basis"]["state"], "sealed");
    // Stewards with a damaged history are not in force.
    let history = ".versions/stewards.yaml/v1.md";
    place.edit(history, "ana@example.com", "eve@example.com");
    let output = place.ctx("steward list --at 2").exits(1);
    assert!(
        output.stderr.contains("error[withheld]: `stewards.yaml` is withheld")
            && output.stdout.is_empty()
    );
}

#[test]
fn an_export_is_imported_without_a_warning() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write(
        "stewards.yaml",
        "vault: [{principal: ana@x.com, role: reviewer}]\n\
         folders: {nodes/hr/: [{principal: joe@x.com, role: reviewer}]}\n",
    );
    place.ctx("publish stewards.yaml").ok();
    let exported = place.ctx("steward export --codeowners").ok().stdout;
    place.write("CODEOWNERS", &exported);
    let said = place.ctx("steward import --codeowners CODEOWNERS").ok();
    assert!(said.stdout.contains("nothing to import"), "{}", said.whole());
    assert!(!said.stderr.contains("warning"), "{}", said.whole());
    // A scope that the reviewers of the vault do not decide is still reported.
    place.write(
        "CODEOWNERS",
        exported.replace("/stewards.yaml ana@x.com", "/stewards.yaml joe@x.com"),
    );
    let said = place.ctx("steward import --codeowners CODEOWNERS").exits(1);
    assert!(said.stderr.contains("only the stewards of the vault decide"), "{}", said.whole());
}
