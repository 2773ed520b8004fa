//! The worked vault of `spec/worked.md`: every pre-image has the hash that is printed below it.

use std::fs;

use contextnest::model::digest::Digest;

use crate::vectors::root;

#[test]
fn every_printed_pre_image_has_its_printed_hash() {
    let page = fs::read_to_string(root().join("spec/worked.md")).unwrap();
    let mut checked = 0;
    for part in page.split("~~~~pre-image\n").skip(1) {
        let (block, after) = part.split_once("~~~~\n").unwrap();
        let line = after.lines().find(|line| line.contains("`sha256:")).unwrap();
        let hash = line.split('`').nth(1).unwrap();
        let is_cut = line.starts_with("Without the last line end");
        let text = if is_cut { block.strip_suffix('\n').unwrap() } else { block };
        assert_eq!(Digest::of(text.as_bytes()).to_string(), hash, "{text}");
        checked += 1;
    }
    assert_eq!(checked, 9, "two for each version, one for each checkpoint");
}
