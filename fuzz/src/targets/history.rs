//! Histories: any bytes are read; a history without a fault is spelled and read back equal; an
//! entry that may be appended is the next one.

use contextnest::record::chain::history::{Entry, History};

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    let Ok(history) = History::parse(bytes) else { return };
    for slot in history.slots.iter().take(20) {
        if let Some(version) = slot.version {
            let _ = history.chain_to(version);
        }
    }
    let entries: Vec<&Entry> = history.entries().collect();
    let Some((first, others)) = entries.split_first() else { return };

    let mut spelled = History::new().append(first, 10).expect("a new history takes any entry");
    let begun = History::parse(spelled.as_bytes()).expect("what is spelled is read");
    for entry in others {
        spelled.push_str(&begun.append(entry, 10).expect("our own spelling can be appended to"));
    }
    let again = History::parse(spelled.as_bytes()).expect("what is spelled is read");
    let found: Vec<Entry> =
        again.slots.into_iter().map(|s| s.entry.expect("without fault")).collect();
    assert!(found.iter().eq(entries.iter().copied()), "{spelled}");

    if let Ok(more) = history.append(first, 10) {
        let longer = [bytes, more.as_bytes()].concat();
        let longer = History::parse(&longer).expect("what may be appended leaves a history");
        assert_eq!(longer.slots.len(), history.slots.len() + 1, "{more}");
        for (was, is) in history.slots.iter().zip(&longer.slots) {
            assert_eq!(was.entry, is.entry);
        }
        assert_eq!(longer.slots.last().and_then(|s| s.entry.as_ref().ok()), Some(*first));
    }
}
