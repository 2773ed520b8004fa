//! Bundles of the Open Knowledge Format.

use crate::harness::Place;

const FILES: [(&str, &str); 5] = [
    ("index.md", "# Sales\n\n* [Orders](tables/orders.md) - all orders\n"),
    ("log.md", "# Log\n\n## 2026-06-01\n\n* Created.\n"),
    ("tables/index.md", "# Tables\n\n* [Orders](orders.md)\n"),
    (
        "tables/orders.md",
        "---\ntype: BigQuery Table\ntitle: Orders\ntags: [sales]\ntimestamp: 2026-05-28T14:30:00Z\n---\n\
         See [revenue](/metrics/revenue.md).\n",
    ),
    (
        "metrics/revenue.md",
        "---\ntype: Metric\n---\n# Revenue\n\nFrom [orders](/tables/orders.md).\n",
    ),
];

fn bundle(index: &str) -> Place {
    let place = Place::new();
    FILES.iter().for_each(|(path, text)| place.write(path, text));
    place.edit("index.md", "# Sales\n", index);
    place
}

#[test]
fn init_in_a_bundle_keeps_every_file_and_its_types_and_links() {
    for index in ["# Sales\n", "---\nokf_version: \"0.2\"\n---\n# Sales\n"] {
        let place = bundle(index);
        let before: Vec<String> = FILES.iter().map(|(path, _)| place.read(path)).collect();
        let init = place.ctx("init").ok();
        assert!(init.stderr.contains("a bundle of the Open Knowledge Format"), "{}", init.stderr);
        let published = place.ctx("publish --all").ok();
        assert!(!published.stderr.contains("warning"), "{}", published.stderr);
        let after: Vec<String> = FILES.iter().map(|(path, _)| place.read(path)).collect();
        assert_eq!(after, before);
        let found = |selector: &str| place.typed(&format!("resolve {selector}")).run().ok().stdout;
        assert_eq!(found("type:Metric"), "metrics/revenue  v1  Metric  Revenue\n");
        assert!(
            found("'type:\"BigQuery Table\"'").starts_with("tables/orders  v1  BigQuery Table")
        );
        assert!(!found("type:document").contains("metrics/revenue"));
        let checked = place.ctx("validate").ok();
        assert!(
            checked.stdout.contains("5 documents checked: 0 errors, 0 warnings"),
            "{}",
            checked.stdout
        );
        let linked = place.ctx("neighbors metrics/revenue").ok().stdout;
        assert!(linked.contains("tables/orders"), "{linked}");
        assert!(place.ctx("status").ok().stdout.contains("Nothing to publish"));
        place.ctx("verify").ok();
    }
}

#[test]
fn init_elsewhere_manages_the_frontmatter() {
    let place = bundle("# Sales\n");
    place.write("notes.md", "# Notes\n");
    let init = place.ctx("init").ok();
    assert!(!init.stderr.contains("Open Knowledge Format"), "{}", init.stderr);
    let asked = bundle("# Sales\n");
    asked.ctx("init --frontmatter managed").ok();
    assert!(!asked.read(".context/config.yaml").contains("untouched"));
}
