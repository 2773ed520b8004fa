//! Reviews where a rule changes under a submission, or a file is no text any more: the writer refuses
//! what a verifier would report, and says what to do.

use crate::harness::{Output, Place};

const STEWARDS: &str = "version: 1\nvault:\n  - {principal: kim@x.com, role: reviewer}\n  - {principal: lee@x.com, \
     role: reviewer}\n  - {principal: ed@x.com, role: editor}\n";

/// A governed vault with `nodes/a`, `nodes/l` and a pack; `more` ends its `stewards.yaml`.
fn governed(more: &str) -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n\none\n");
    place.write("nodes/l.md", "# L\n\none\n");
    place.write("packs/p.yml", "id: p\nlabel: P\nquery: '#a'\n");
    place.ctx("publish --all --as kim@x.com").ok();
    place.write("stewards.yaml", format!("{STEWARDS}{more}"));
    place.ctx("govern on --as kim@x.com").ok();
    place
}

fn by(place: &Place, who: &str, line: &str) -> Output {
    place.ctx(&format!("{line} --as {who}@x.com"))
}

/// The codes that `verify` reports of histories; notes of a working copy are not looked at.
#[track_caller]
fn is_sound(place: &Place) {
    place.ctx("verify --allow-drift").ok();
}

#[test]
fn emptying_a_file_that_the_vault_keeps_is_refused_as_its_deletion_is() {
    let place = governed("");
    for id in [".context/config.yaml", "CONTEXT.md", "stewards.yaml"] {
        let before = place.read(id);
        for empty in ["", "\u{feff}"] {
            place.write(id, empty);
            let refused = by(&place, "ed", &format!("submit {id}"));
            assert_eq!(refused.exit, 1, "{}", refused.whole());
            assert!(refused.stderr.contains("document-missing"), "{}", refused.whole());
            assert!(refused.stderr.contains("ctx restore"), "{}", refused.whole());
        }
        place.write(id, before);
    }
    is_sound(&place);
}
