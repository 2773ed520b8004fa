//! `--at`: a checkpoint by its number, or by a time (RES-4).

use insta::assert_snapshot;

use crate::harness::Place;

/// Returns a vault with two checkpoints, of 10:00:01 and 10:00:02.
fn vault() -> Place {
    let place = Place::published(&[("nodes/fees", "---\ntags: [money]\n---\nFive percent.\n")]);
    place.edit("nodes/fees.md", "Five", "Four");
    place.ctx("publish nodes/fees").ok();
    place
}

const FIRST: &str = "2026-11-21T10:00:01.000Z";
const SECOND: &str = "2026-11-21T10:00:02.000Z";

#[test]
fn a_time_stands_for_the_last_checkpoint_at_or_before_it() {
    let place = vault();
    let version = |at: &str| {
        let json = place.ctx(&format!("read nodes/fees --json --at {at}")).ok();
        json.json("ctx.read")["version"].as_u64().unwrap()
    };
    for (at, expected) in [
        (FIRST, 1),
        ("2026-11-21T10:00:01Z", 1),
        ("2026-11-21T10:00:01.9999Z", 1),
        ("2026-11-21T11:00:01+01:00", 1),
        (SECOND, 2),
        ("2026-11-21T10:00:02z", 2),
        ("2", 2),
    ] {
        assert_eq!(version(at), expected, "{at}");
    }
    // The log of a vault without an index gives the same answer.
    let log = place.typed(&format!("read nodes/fees --at {FIRST}")).without("HOME").run().ok();
    assert_eq!(log.stdout, place.ctx("read nodes/fees@1").ok().stdout);
}

#[test]
fn every_verb_with_at_takes_a_time_and_names_the_number() {
    let place = vault();
    place.ctx("pack add m --query #money").ok();
    place.ctx("publish --all").ok();
    for verb in [
        "read nodes/fees",
        "resolve #money",
        "list",
        "list #money",
        "context",
        "neighbors nodes/fees",
        "graph --format json",
        "blame nodes/fees",
        "pack list",
    ] {
        let [by_time, by_number] =
            [FIRST, "1"].map(|at| place.ctx(&format!("{verb} --json --at {at}")).ok().stdout);
        assert_eq!(by_time, by_number, "{verb}");
    }
    let third = "2026-11-21T10:00:04Z";
    let [by_time, by_number] =
        [third, "3"].map(|at| place.ctx(&format!("pack show m --at {at}")).ok().stdout);
    assert_eq!(by_time, by_number);
    let day = place.typed("list --json --at 2026-11-22").var("CTX_NOW", "2026-11-22T00:00:00Z");
    assert_eq!(day.run().ok().json("ctx.list")["checkpoint"], 3);
}

#[test]
fn a_time_without_an_answer_is_refused() {
    let place = vault();
    assert_snapshot!(place.ctx("list --at 2026-11-21T10:00:00Z").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: there was no checkpoint at 2026-11-21T10:00:00.000Z: the first was made at 2026-11-21T10:00:01.000Z
    hint: `ctx checkpoint list` lists all checkpoints
    ");
    assert_snapshot!(place.ctx("list --at 2026-11-21").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: there was no checkpoint at 2026-11-21T00:00:00.000Z: the first was made at 2026-11-21T10:00:01.000Z
    hint: `ctx checkpoint list` lists all checkpoints
    ");
    assert_snapshot!(place.ctx("list --at 2026-11-22").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the time 2026-11-22T00:00:00.000Z is in the future: it is 2026-11-21T10:00:05.000Z
    hint: leave out the time to ask about the last checkpoint
    ");
    assert_snapshot!(place.ctx("list --at yesterday").whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error: invalid value 'yesterday' for '--at <N|TIME>': expected the number of a checkpoint, a date such as `2026-11-21`, or a time such as `2026-11-21T20:06:06Z`

    For more information, try '--help'.
    ");
    assert_snapshot!(place.ctx(&format!("read nodes/fees@2 --at {FIRST}")).whole(), @"
    exit: 2
    -- stdout
    -- stderr
    error[usage]: the pin names checkpoint 2, but 1 was also given
    hint: name only one checkpoint
    ");
    assert_snapshot!(Place::vault().ctx("list --at 2026-11-21T10:00:00Z").whole(), @"
    exit: 1
    -- stdout
    -- stderr
    error[unknown-checkpoint]: there was no checkpoint at 2026-11-21T10:00:00.000Z: nothing is published yet
    hint: `ctx checkpoint list` lists all checkpoints
    ");
}

#[test]
fn a_pin_and_another_checkpoint_are_refused_by_every_reading_verb() {
    let place = Place::published(&[("nodes/a", "# A\n")]);
    place.write("nodes/b.md", "# B\n\n[A](a.md)\n");
    place.ctx("publish --all").ok();
    for (verb, id) in [
        ("neighbors", "nodes/a@1"),
        ("read", "nodes/a@1"),
        ("blame", "nodes/a@1"),
        ("resolve", "contextnest://nodes/a@1"),
    ] {
        let refused = place.ctx(&format!("{verb} {id} --at 2")).exits(2);
        assert_eq!(
            refused.stderr,
            "error[usage]: the pin names checkpoint 1, but 2 was also given\n\
             hint: name only one checkpoint\n",
            "{verb}"
        );
        place.ctx(&format!("{verb} {id} --at 1")).ok();
    }
    let linked = |line: &str| place.ctx(line).ok().stdout;
    assert_eq!(linked("neighbors nodes/a@1"), "");
    assert!(linked("neighbors nodes/a@2").contains("nodes/b"));
}
