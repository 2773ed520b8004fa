//! Every verb answers `--json` with one object that names its schema.

use crate::harness::Place;

#[test]
fn every_verb_names_its_schema() {
    let place = Place::published(&[("nodes/a", "---\ntags: [x]\n---\n# A\n")]);
    for (line, schema) in [
        ("status", "ctx.status"),
        ("list", "ctx.list"),
        ("read nodes/a", "ctx.read"),
        ("history nodes/a", "ctx.history"),
        ("show nodes/a 1", "ctx.show"),
        ("diff nodes/a", "ctx.diff"),
        ("checkpoint list", "ctx.checkpoint.list"),
        ("checkpoint show 1", "ctx.checkpoint.show"),
        ("context", "ctx.context"),
        ("validate", "ctx.validate"),
        ("verify", "ctx.verify"),
        ("resolve '#x'", "ctx.resolve"),
        ("resolve --explain '#x'", "ctx.explain"),
        ("pack add p --query '#x'", "ctx.pack.add"),
        ("pack check", "ctx.pack.check"),
        ("add nodes/b --body b", "ctx.add"),
        ("publish --all", "ctx.publish"),
        ("pack list", "ctx.pack.list"),
        ("pack show p", "ctx.pack.show"),
        ("mv nodes/b nodes/c", "ctx.mv"),
        ("retire nodes/c", "ctx.retire"),
        ("init ../other", "ctx.init"),
        ("demo ../demo", "ctx.demo"),
    ] {
        let output = place.ctx(&format!("{line} --json")).ok();
        let json = output.json(schema);
        assert!(json.as_object().unwrap().len() > 2, "{line}");
        // One result, and nothing beside it that a program would have to skip.
        assert_eq!(output.stderr, "", "{line}");
    }
}
