//! Bundles of evidence: any bytes have a verdict, and a good bundle whose files were altered fails,
//! whether or not its manifest lists them as they are.
//!
//! The first byte chooses the use of the rest: a container, or alterations of the bytes or of the
//! files of a good one (`src/alter.rs`).

use std::sync::LazyLock;

use contextnest::model::digest::Digest;
use contextnest::prove::evidence::bundle::verify::{Verdict, Verified, verify};

use super::alter::altered;
use super::bundle::{MANIFEST, container, good, listed};
use super::input::Input;
use super::vault::Tree;

static GOOD: LazyLock<(Tree, Digest)> = LazyLock::new(|| {
    let files = good();
    let verified = verify(&container(&files), None).expect("the good bundle is one");
    assert!(holds(&verified));
    let head = verified.head.expect("it names a head").hash.parse().expect("its hash is one");
    (files, head)
});

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (good, head) = &*GOOD;
    match input.byte() % 4 {
        0 => {
            let _ = verify(input.0, None);
        }
        1 => {
            let whole = container(good);
            let only = Tree::from([("bundle".to_owned(), whole.clone())]);
            let changed = altered(&only, input).remove("bundle").unwrap_or_default();
            assert!(changed == whole || !is_proved(&changed, head));
        }
        kind => {
            let mut files = good.clone();
            let manifest = files.remove(MANIFEST).expect("a bundle has one");
            let mut changed = altered(&files, input);
            let is_same = changed == files;
            let manifest = if kind == 2 { manifest } else { listed(&manifest, &changed) };
            changed.insert(MANIFEST.to_owned(), manifest);
            let proved = is_proved(&container(&changed), head);
            assert_eq!(proved, is_same, "a bundle holds as it was exported, and not altered");
        }
    }
}

/// Returns true if a bundle is proved, with the head that the good one was exported at.
fn is_proved(bytes: &[u8], head: &Digest) -> bool {
    let alone = verify(bytes, None).is_ok_and(|verified| holds(&verified));
    let anchored = verify(bytes, Some(head)).is_ok_and(|verified| holds(&verified));
    assert!(alone || !anchored, "a head proves nothing more");
    anchored
}

fn holds(verified: &Verified) -> bool {
    assert!(verified.items.iter().all(|item| {
        let is_whole = matches!(item.verdict, Verdict::Proved | Verdict::NotAnchored);
        is_whole || item.why.is_some()
    }));
    !verified.items.iter().any(|item| item.verdict.is_failure())
}
