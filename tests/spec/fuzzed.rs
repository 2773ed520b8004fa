//! The fuzz targets, without libFuzzer: each passes its corpus, and alterations of it that are the same
//! in every run. `fuzz/smoke` looks for new inputs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::RngExt as _;
use proptest::test_runner::{RngAlgorithm, TestRng};

#[path = "../../fuzz/src/lib.rs"]
#[allow(dead_code, unreachable_pub, reason = "a library of a package of its own")]
mod fuzz;

/// Altered inputs for each file of a corpus.
const ALTERED: usize = 4;
/// Alterations of one input.
const MOST: usize = 3;
/// The maximum size of an altered input: that of `fuzz/smoke`.
const MAX_BYTES: usize = 16_384;

macro_rules! targets {
    ($($target:ident)*) => {
        mod target_holds {
            $(#[test]
            fn $target() {
                super::replay(stringify!($target), super::fuzz::targets::$target::run);
            })*
        }

        const TARGETS: &[&str] = &[$(stringify!($target)),*];
    };
}

targets!(audit diff document evidence history log_delta log_full message selector uri verify);

#[test]
fn every_corpus_and_every_program_of_libfuzzer_is_of_a_target() {
    let targets: BTreeSet<PathBuf> = TARGETS.iter().map(PathBuf::from).collect();
    for folder in ["corpus", "fuzz_targets", "dictionaries"] {
        let names = paths(folder).into_iter().map(|path| path.file_stem().unwrap().into());
        assert_eq!(names.collect::<BTreeSet<PathBuf>>(), targets, "{folder}");
    }
}

fn replay(target: &str, run: fn(&[u8])) {
    let files = paths(&format!("corpus/{target}"));
    let corpus: Vec<Vec<u8>> = files.iter().map(|path| fs::read(path).unwrap()).collect();
    let words =
        words(&fs::read_to_string(root().join(format!("dictionaries/{target}.dict"))).unwrap());
    let mut draw = TestRng::deterministic_rng(RngAlgorithm::XorShift);
    for (path, input) in files.iter().zip(&corpus) {
        passes(run, input, &path.display().to_string());
        for _ in 0..ALTERED {
            let mut altered = input.clone();
            for _ in 0..draw.random_range(1..=MOST) {
                alter(&mut altered, &mut draw, &corpus, &words);
            }
            altered.truncate(MAX_BYTES);
            passes(run, &altered, &format!("{}, altered", path.display()));
        }
    }
}

/// Runs a target; if it panics, reports its input, so that it can become a file of the corpus.
fn passes(run: fn(&[u8]), input: &[u8], name: &str) {
    let outcome = std::panic::catch_unwind(|| run(input));
    assert!(outcome.is_ok(), "{name}: b\"{}\"", input.escape_ascii());
}

/// Makes one of the alterations of a fuzzer: flips a bit, removes or repeats bytes, or puts a word or
/// a part of another input in the place of bytes.
fn alter(bytes: &mut Vec<u8>, draw: &mut TestRng, corpus: &[Vec<u8>], words: &[Vec<u8>]) {
    let [a, b] = [(); 2].map(|()| draw.random_range(0..=bytes.len()));
    let (start, end) = (a.min(b), a.max(b).min(a.min(b) + 64));
    let kind = draw.random_range(0..5);
    let new = match kind {
        0 => match bytes.get_mut(start) {
            Some(byte) => return *byte ^= 1 << draw.random_range(0..8),
            None => return,
        },
        1 => Vec::new(),
        2 => [&bytes[start..end], &bytes[start..end]].concat(),
        3 => words[draw.random_range(0..words.len())].clone(),
        _ => {
            let other = &corpus[draw.random_range(0..corpus.len())];
            let at = draw.random_range(0..=other.len());
            other[at..other.len().min(at + 64)].to_vec()
        }
    };
    // A word is put before the bytes as often as in their place.
    let end = if kind == 3 && draw.random() { start } else { end };
    bytes.splice(start..end, new);
}

/// Returns the words of a dictionary of libFuzzer.
fn words(dictionary: &str) -> Vec<Vec<u8>> {
    let word = |line: &str| {
        let mut rest = line.split_once('"')?.1.strip_suffix('"')?.as_bytes();
        let mut word = Vec::new();
        while let Some((first, after)) = rest.split_first() {
            let (byte, length) = match (first, after) {
                (b'\\', [b'x', hex @ ..]) => {
                    let hex = std::str::from_utf8(&hex[..2]).unwrap();
                    (u8::from_str_radix(hex, 16).unwrap(), 3)
                }
                (b'\\', [escaped, ..]) => (*escaped, 1),
                _ => (*first, 0),
            };
            word.push(byte);
            rest = &after[length..];
        }
        Some(word)
    };
    dictionary.lines().filter(|line| !line.starts_with('#')).filter_map(word).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

fn paths(folder: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
