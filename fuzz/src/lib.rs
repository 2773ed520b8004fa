//! The fuzz targets, and what they share with the program that makes their seeds.
//!
//! `fuzz_targets/` passes the inputs of libFuzzer to the targets. `tests/spec/fuzzed.rs` includes this
//! file as a module, and passes the corpora.

pub mod alter;
pub mod bundle;
pub mod input;
pub mod targets;
pub mod vault;

use contextnest::files::vault::config::{Config, LogForm};
use contextnest::files::vault::federation::Authorities;
use contextnest::model::number::CheckpointNumber;

/// Returns the names of vaults for URIs and selectors: none, and some of each kind.
pub fn authorities() -> [Authorities; 2] {
    let config =
        "namespace: home\nfederation: scoped\nregistry: {acme: /a, other: /b}\nallow: [acme]\n";
    let config = Config::parse(config).expect("the configuration is in order");
    [Authorities::default(), config.authorities]
}

/// Reads a log, and checks the promises about every log without a fault.
pub fn check_log(form: LogForm, bytes: &[u8]) {
    use contextnest::record::checkpoint::log::Log;

    let log = Log::parse(form, bytes);
    let Ok(chronicle) = log.sound() else { return };
    let _ = chronicle.check_appendable();
    for number in (0..=chronicle.head_number().0.min(3)).map(CheckpointNumber) {
        let _ = chronicle.state_at(number);
    }
    let _ = chronicle.state_at(chronicle.head_number());
    let same = chronicle.export(form);
    if form == LogForm::Delta {
        assert_eq!(same, bytes[..bytes.len() - log.diagnosis.torn], "a line has one spelling");
    }
    let again = Log::parse(form, &same);
    assert_eq!(again.entries, log.entries, "what is spelled is read back");
    assert!(again.sound().is_ok_and(|c| c.check_appendable().is_ok()));

    if form == LogForm::Full && chronicle.check_appendable().is_ok() {
        let last = same.windows(5).rposition(|w| w == b"\n  - ").map_or(same.len(), |n| n + 1);
        let longer = Log::parse(form, &[bytes, &same[last..]].concat());
        let (kept, new) = longer.entries.split_at(log.entries.len());
        assert_eq!(kept, log.entries, "what stands there is not changed by what is appended");
        assert_eq!(new.len(), usize::from(!log.entries.is_empty()), "it is the next entry");
    }

    // The other form stores only complete maps, and keeps them.
    let sealed = |c: &contextnest::record::checkpoint::event::Checkpoint| {
        c.set.iter().all(|(_, mark)| mark.sealed().is_some())
    };
    if bytes.len() < 1 << 14 && chronicle.checkpoints().iter().all(|c| sealed(c)) {
        let [delta, full] = [LogForm::Delta, LogForm::Full].map(|form| chronicle.export(form));
        for (form, bytes, other) in
            [(LogForm::Delta, &delta, &full), (LogForm::Full, &full, &delta)]
        {
            let log = Log::parse(form, bytes);
            let chronicle = log.sound().expect("a log of the other form is sound");
            let found = chronicle.export(LogForm::Full);
            assert_eq!(&found, &full, "{form:?} of {} and {} bytes", bytes.len(), other.len());
        }
    }
}
