//! Every finding of `ctx verify`, each provoked by one alteration of a sound vault.

use std::collections::{BTreeMap, BTreeSet};

use contextnest::prove::verify::{Class, Code};
use insta::assert_snapshot;

use crate::harness::{Place, repository};
use crate::tampering::{FULL_LOG, HISTORY, LOG, TAMPERINGS, whole};

fn reference_vault() -> Place {
    Place::copy_of(&repository().join("fixtures/interop/procurement"))
}

/// Codes that other tests provoke: the fault is outside of a vault of ctx.
const ELSEWHERE: [Code; 44] = [
    // `spec/vectors/review`.
    Code::ApprovalMissing,
    Code::ApprovalSelf,
    Code::ApprovalUnauthorised,
    Code::ApprovalAltered,
    // Needs an anchor outside of the vault: `anchored.rs`.
    Code::HeadRollback,
    Code::HeadFork,
    Code::HeadElsewhere,
    // `verify.rs`; root can read everything.
    Code::FileUnreadable,
    Code::FolderUnreadable,
    Code::VaultNested,
    Code::CheckpointHashMissing,
    Code::TimestampFuture,
    Code::VersionUnsealed,
    Code::VersionUnpublished,
    // `changes.rs`.
    Code::AuditMalformed,
    Code::AuditChainMismatch,
    Code::AuditGap,
    Code::AuditRollback,
    Code::AuditContradicts,
    Code::AuditMissing,
    Code::AuditTorn,
    Code::AuditReplaced,
    // `kept_in_vault.rs`.
    Code::AuditElsewhere,
    // `stage.rs`.
    Code::StagedMalformed,
    Code::StagedChainMismatch,
    Code::StagedContentMismatch,
    Code::StagedMissing,
    Code::StagedRollback,
    Code::StagedTorn,
    Code::StagedUnclaimed,
    Code::StagedElsewhere,
    Code::StagedContradicts,
    Code::StagedUnauthorised,
    Code::StagedUnproved,
    // `merging.rs`.
    Code::MergeMismatch,
    Code::HeadMerged,
    // `interrupted.rs`.
    Code::Interrupted,
    // `sparse.rs`.
    Code::LeftOut,
    // `acknowledged.rs`.
    Code::AuditAcknowledged,
    // `respelled.rs`.
    Code::LogRespelled,
    Code::ForeignRecord,
    Code::VersionForgotten,
    Code::ForgottenPresent,
    Code::DerivedDiffers,
];

fn found(place: &Place, line: &str) -> (i32, BTreeSet<String>) {
    let output = place.ctx(line);
    let json = output.json("ctx.verify");
    let findings = json["findings"].as_array().unwrap();
    (output.exit, findings.iter().map(|f| f["code"].as_str().unwrap().to_owned()).collect())
}

#[test]
fn every_code_is_provoked_somewhere() {
    let provoked: BTreeSet<Code> =
        TAMPERINGS.iter().map(|(code, _)| *code).chain(ELSEWHERE).collect();
    let missing: Vec<&Code> = Code::ALL.iter().filter(|code| !provoked.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn one_alteration_is_found_by_its_code_and_nothing_is_repaired() {
    let origin = whole();
    let mut report = BTreeMap::new();
    for (code, alter) in TAMPERINGS {
        let place = origin.duplicate();
        alter(&place);
        let before = if *code == Code::TooLarge { BTreeMap::new() } else { place.tree() };
        let (exit, codes) = found(&place, "verify --json");
        let all: Vec<&str> = codes.iter().map(String::as_str).collect();
        assert!(codes.contains(code.as_str()), "{code}: {all:?}");
        assert_eq!(exit, i32::from(code.class() != Class::Note || exit == 1), "{code}");
        if *code != Code::TooLarge {
            assert_eq!(place.tree(), before, "{code}");
        }
        report.insert(code.as_str(), format!("{exit} {}", all.join(" ")));
    }
    let lines: Vec<String> = report.iter().map(|(code, all)| format!("{code}: {all}")).collect();
    assert_snapshot!(lines.join("\n"), @"
    chain-hash-mismatch: 1 chain-hash-mismatch history-respelled
    checkpoint-gap: 1 audit-contradicts audit-missing checkpoint-gap checkpoint-hash-mismatch published-unsealed
    checkpoint-hash-mismatch: 1 checkpoint-hash-mismatch publication-time-mismatch
    checkpoint-log-missing: 1 audit-contradicts checkpoint-log-missing
    checkpoint-log-unreadable: 1 audit-contradicts audit-missing checkpoint-log-unreadable
    checkpoint-trigger-mismatch: 1 checkpoint-hash-mismatch checkpoint-trigger-mismatch
    checkpoint-trigger-unchanged: 1 checkpoint-hash-mismatch checkpoint-trigger-mismatch checkpoint-trigger-unchanged
    checkpoint-trigger-unknown: 1 checkpoint-hash-mismatch checkpoint-trigger-mismatch checkpoint-trigger-unknown
    checkpoint-version-unknown: 1 checkpoint-hash-mismatch checkpoint-version-unknown published-unsealed
    checkpoint-version-unpublished: 1 checkpoint-version-unpublished history-respelled version-self-mismatch version-unsealed
    checksum-mismatch: 1 checksum-mismatch content-hash-mismatch version-unreconstructable
    content-hash-mismatch: 1 checksum-mismatch content-hash-mismatch version-unreconstructable
    cross-chain-mismatch: 1 checkpoint-hash-mismatch cross-chain-mismatch
    diff-missing: 1 diff-missing history-respelled
    document-missing: 1 document-missing
    drift: 1 drift
    entry-malformed: 1 entry-malformed history-respelled
    field-malformed: 1 field-malformed history-respelled
    file-ignored: 0 file-ignored
    foreign-log: 1 foreign-log
    history-empty: 1 history-empty
    history-missing: 1 history-missing
    history-respelled: 0 history-respelled
    history-unreadable: 1 history-unreadable
    id-collision: 1 id-collision published-unsealed
    key-unknown: 0 history-respelled key-unknown
    keyframe-interval: 0 keyframe-interval
    keyframe-missing: 1 keyframe-missing
    policy-drift: 1 policy-drift
    policy-unsealed: 0 policy-unsealed
    publication-time-mismatch: 1 history-respelled publication-time-mismatch
    published-unsealed: 1 audit-contradicts published-unsealed
    published-without-history: 1 published-without-history
    timestamp-malformed: 1 history-respelled timestamp-malformed
    timestamp-order: 1 chain-hash-mismatch history-respelled publication-time-mismatch timestamp-order
    too-large: 1 too-large
    torn-tail: 1 torn-tail
    unfinished: 0 unfinished
    unknown-hash-algorithm: 1 history-respelled unknown-hash-algorithm
    unrecorded-removal: 1 unrecorded-removal version-unsealed
    version-duplicate: 1 chain-hash-mismatch version-duplicate version-unreconstructable
    version-gap: 1 chain-hash-mismatch checkpoint-version-unknown version-gap version-unreconstructable
    version-order: 1 chain-hash-mismatch timestamp-order version-gap version-order version-unreconstructable
    version-regression: 1 checkpoint-hash-mismatch cross-chain-mismatch published-unsealed version-regression
    version-self-mismatch: 1 content-hash-mismatch version-self-mismatch version-unreconstructable
    version-unreconstructable: 1 content-hash-mismatch version-unreconstructable
    ");
}

#[test]
fn the_remedy_of_an_alteration_works() {
    let origin = whole();
    let chosen = [
        Code::ChainHashMismatch,
        Code::VersionUnreconstructable,
        Code::DiffMissing,
        Code::EntryMalformed,
        Code::VersionGap,
        Code::UnknownHashAlgorithm,
        Code::HistoryUnreadable,
        Code::CheckpointLogMissing,
        Code::CheckpointGap,
        Code::CrossChainMismatch,
        Code::IdCollision,
        Code::TornTail,
        Code::Unfinished,
    ];
    let texts = TAMPERINGS.iter().filter(|(code, _)| chosen.contains(code)).map(|(code, alter)| {
        let place = origin.duplicate();
        alter(&place);
        format!("== {code}\n{}", place.ctx("verify").whole())
    });
    assert_snapshot!(texts.collect::<Vec<_>>().join("\n"), @"
    == chain-hash-mismatch
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [chain-hash-mismatch] nodes/a v2: the chain hash does not follow from the entry and the one before
          expected sha256:5d3e7a237162ee3bcceaf404183c63360e94bc76e69105176cb05e7973d312e2
          found    sha256:aa7658b0b1bb78dd5ebbf3e8ee39fdebed48960e185fa7c173ae914c53870ab7
          in nodes/.versions/a/history.yaml

    Notes:
      [history-respelled] nodes/a: it does not have the bytes that ctx writes
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [chain-hash-mismatch] The chain hash of an entry does not follow from its fields and the entry before.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == version-unreconstructable
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [content-hash-mismatch] nodes/a v2: the stored text or diff does not have the recorded hash
          expected sha256:1aca6790437a1de4c774c7b0137e85d20cc2c077d0d7e4b0210863f94b237286
          found    sha256:e18d3494be53a1937c523ddb01f56795a2ede2dfc70a4247adda9eff99da9e34
          in nodes/.versions/a/history.yaml
      [version-unreconstructable] nodes/a v2: the diff does not apply: line 18 of the diff: the text has another line here
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [content-hash-mismatch] A stored text or diff does not have its recorded hash.
      [version-unreconstructable] The text of a version cannot be rebuilt.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == diff-missing
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [diff-missing] nodes/a v2: the diff `nodes/.versions/a/v2.diff` is missing
          in nodes/.versions/a/v2.diff

    Notes:
      [history-respelled] nodes/a: it does not have the bytes that ctx writes
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [diff-missing] The file of a diff is missing.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == entry-malformed
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [entry-malformed] nodes/a v2: line 10: `edited_by` is missing
          in nodes/.versions/a/history.yaml

    Notes:
      [history-respelled] nodes/a: it does not have the bytes that ctx writes
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [entry-malformed] An entry lacks a field, or its fields contradict each other.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == version-gap
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 6 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [chain-hash-mismatch] nodes/a v3: the chain hash does not follow from the entry and the one before
          expected sha256:81d79115cdfa6118a11a6f818640083e98879894430fd462dfeecf9395dcc6bc
          found    sha256:0abed7cb29ea4424f7ab8ede00eb36f6cf319c6191b0e94dab688bacbe0ba352
          in nodes/.versions/a/history.yaml
      [version-unreconstructable] nodes/a v3: the diff does not apply: line 7 of the diff: the text has another line here
          in nodes/.versions/a/history.yaml
      [version-gap] nodes/a v3: it follows version 1; the versions between are missing
          in nodes/.versions/a/history.yaml
      [checkpoint-version-unknown] nodes/a v2, checkpoint 2: the history has no version 2
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [chain-hash-mismatch] The chain hash of an entry does not follow from its fields and the entry before.
      [version-unreconstructable] The text of a version cannot be rebuilt.
      [version-gap] A history skips a version number.
      [checkpoint-version-unknown] The log seals a version that the history lacks.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == unknown-hash-algorithm
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [unknown-hash-algorithm] nodes/a v2: line 15: `content_hash` is `md5:d41d8cd98f00b204e9800998ecf8427e`
          in nodes/.versions/a/history.yaml

    Notes:
      [history-respelled] nodes/a: it does not have the bytes that ctx writes
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [unknown-hash-algorithm] A hash names another algorithm than SHA-256.
          Restore the file from git or from a backup that verifies; `git log -- FILE` shows who changed it. Do not repair it by hand: the hashes cannot be made to match.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == history-unreadable
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 4 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [history-unreadable] nodes/a: the history cannot be read: line 1, column 11: unclosed bracket '[', but the log seals 3 of its versions
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [history-unreadable] A history cannot be read.
          Restore the file from git or from a backup that verifies. While git merges two branches, `ctx merge` joins their records. After a merge that was committed with conflict markers or the lines of both sides, undo that commit, merge again, and run `ctx merge`. If git converted line ends, add the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` to `.gitattributes` and let git write the files again (`find . -path '*/.versions/*' -exec touch {} +`, then `git restore -- ':(glob)**/.versions/**'`). Until then nothing in the file is served or published.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == checkpoint-log-missing
    exit: 1
    -- stdout
    damaged
      0 checkpoints, 4 artifacts, 7 versions recomputed

    Damage: recorded data was altered or is missing:
      [checkpoint-log-missing] .versions/checkpoints.jsonl: histories have published versions, but the checkpoint log is missing
          in .versions/checkpoints.jsonl
      [audit-contradicts] .context/audit, checkpoint 1: line [WRITER]-1 names checkpoint 1, which the log lacks
          in .context/audit
      [audit-contradicts] .context/audit, checkpoint 2: line [WRITER]-2 names checkpoint 2, which the log lacks
          in .context/audit
      [audit-contradicts] .context/audit, checkpoint 3: line [WRITER]-3 names checkpoint 3, which the log lacks
          in .context/audit
      [audit-contradicts] .context/audit, checkpoint 4: line [WRITER]-4 names checkpoint 4, which the log lacks
          in .context/audit

    Meaning and remedy:
      [checkpoint-log-missing] Versions were published, but the checkpoint log is missing.
          Restore the log from git or from a backup that verifies. Until then nothing is served or published. Keep the histories: they record what was published.
      [audit-contradicts] A change log names a checkpoint, or a version of a review, that is missing or has another hash, or contradicts the log or the histories.
          Restore the checkpoint log, the histories and `.context/audit` together from git or a backup. If the vault was reset on purpose, or two branches published and the publications of one were made again after the merge, run `ctx head trust`: it is recorded, too.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == checkpoint-gap
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [audit-contradicts] .context/audit, checkpoint 2: line [WRITER]-2 names checkpoint 2, which the log lacks
          in .context/audit
      [checkpoint-hash-mismatch] .versions/checkpoints.jsonl, checkpoint 3: its hash does not follow from its fields and the checkpoint before
          expected sha256:67b32dc5ea00172e3e43423df10985e7cb5044e887ec27725cf8078c90f80cd8
          found    sha256:f3c11432f2a158265dc70cd8baa8c7c27f9f96b6d48c522c2e776b43a7a2260f
          in .versions/checkpoints.jsonl
      [checkpoint-gap] .versions/checkpoints.jsonl, checkpoint 3: expected checkpoint 2, but found 3
          in .versions/checkpoints.jsonl

    Unsettled: incomplete or unreadable records:
      [published-unsealed] nodes/a v2: the history records it as published (ana@example.com, 2026-11-21T10:00:02.000Z), but no checkpoint contains it
          in nodes/.versions/a/history.yaml
      [audit-missing] .context/audit, checkpoint 2: no line of a change log records the event
          in .context/audit

    Meaning and remedy:
      [audit-contradicts] A change log names a checkpoint, or a version of a review, that is missing or has another hash, or contradicts the log or the histories.
          Restore the checkpoint log, the histories and `.context/audit` together from git or a backup. If the vault was reset on purpose, or two branches published and the publications of one were made again after the merge, run `ctx head trust`: it is recorded, too.
      [checkpoint-hash-mismatch] The hash of a checkpoint does not follow from its maps and the checkpoint before.
          Restore the log from git or from a backup that verifies. Until then nothing is served or published. Keep the histories: they record what was published.
      [checkpoint-gap] The numbers of the checkpoints are not 1, 2, 3 and so on.
          Restore the file from git or from a backup that verifies. While git merges two branches, `ctx merge` joins their records. After a merge that was committed with conflict markers or the lines of both sides, undo that commit, merge again, and run `ctx merge`. If git converted line ends, add the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` to `.gitattributes` and let git write the files again (`find . -path '*/.versions/*' -exec touch {} +`, then `git restore -- ':(glob)**/.versions/**'`). Until then nothing in the file is served or published.
      [published-unsealed] A history records a publication or retirement that no checkpoint contains.
          Find out who wrote it before you publish again, because later the files do not show it. After an interrupted command, `ctx recover --dry-run` lists what no checkpoint seals, with author and time. If the log was truncated, restore it, or see with `ctx checkpoint rebuild --dry-run` which checkpoints the histories produce.
      [audit-missing] Changes are recorded since an earlier checkpoint, but no change log records the event of this one.
          Add `.context/audit` to git where it was left out. The next writing command of the user whose command was interrupted writes the line (`ctx recover` is enough). Otherwise restore the change log from git or a backup. If it is lost, check who published what, and run `ctx audit acknowledge CHECKPOINT --reason TEXT`: the event stays a note.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == cross-chain-mismatch
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [checkpoint-hash-mismatch] .versions/checkpoints.jsonl, checkpoint 2: its hash does not follow from its fields and the checkpoint before
          expected sha256:da42a3add208a0e9985ea245368d4a38247f855fb23923bd3efd1ac9c32e412d
          found    sha256:08da9f4358476d682c48201d85b33fb2a493a0998a920b1a54bbaa4a7ceacca6
          in .versions/checkpoints.jsonl
      [cross-chain-mismatch] nodes/a v2, checkpoint 2: the history and the log record different chain hashes
          expected sha256:0000000000000000000000000000000000000000000000000000000000000000
          found    sha256:5d3e7a237162ee3bcceaf404183c63360e94bc76e69105176cb05e7973d312e2
          in nodes/.versions/a/history.yaml

    Meaning and remedy:
      [checkpoint-hash-mismatch] The hash of a checkpoint does not follow from its maps and the checkpoint before.
          Restore the log from git or from a backup that verifies. Until then nothing is served or published. Keep the histories: they record what was published.
      [cross-chain-mismatch] The history and the checkpoint log record different chain hashes.
          Compare the history and the log with a copy that verifies, and restore the one that differs.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == id-collision
    exit: 1
    -- stdout
    damaged
      4 checkpoints, 5 artifacts, 10 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Damage: recorded data was altered or is missing:
      [id-collision] nodes/a: it differs from `nodes/A` only in case or Unicode form
          in nodes/.versions/a/history.yaml

    Unsettled: incomplete or unreadable records:
      [published-unsealed] nodes/A v1: the history records it as published (ana@example.com, 2026-11-21T10:00:01.000Z), but no checkpoint contains it
          in nodes/.versions/A/history.yaml
      [published-unsealed] nodes/A v2: the history records it as published (ana@example.com, 2026-11-21T10:00:02.000Z), but no checkpoint contains it
          in nodes/.versions/A/history.yaml
      [published-unsealed] nodes/A v3: the history records it as published (ana@example.com, 2026-11-21T10:00:03.000Z), but no checkpoint contains it
          in nodes/.versions/A/history.yaml

    Meaning and remedy:
      [id-collision] Some file systems do not distinguish two ids, or an id is reserved.
          If only the case of a folder was changed, rename it back. Otherwise find out which of the two is right, and move the other away.
      [published-unsealed] A history records a publication or retirement that no checkpoint contains.
          Find out who wrote it before you publish again, because later the files do not show it. After an interrupted command, `ctx recover --dry-run` lists what no checkpoint seals, with author and time. If the log was truncated, restore it, or see with `ctx checkpoint rebuild --dry-run` which checkpoints the histories produce.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == torn-tail
    exit: 1
    -- stdout
    unsettled
      4 checkpoints, 4 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Unsettled: incomplete or unreadable records:
      [torn-tail] .versions/checkpoints.jsonl: 5 bytes follow the last whole line
          in .versions/checkpoints.jsonl

    Meaning and remedy:
      [torn-tail] The checkpoint log or a history ends in an incomplete entry.
          After an interrupted command, see with `ctx recover --dry-run` what it left; none of that was committed. Otherwise restore the file from git or a backup.
    -- stderr
    hint: `ctx help CODE` explains a finding

    == unfinished
    exit: 0
    -- stdout
    intact, not anchored
      4 checkpoints, 5 artifacts, 7 versions recomputed
      head: checkpoint 4, sha256:802ecf8b08122ab972decdfb7f8afe571f9c9d85b57c06e6840a824221231f66
      covered by no hash: who retired 1 document

    Notes:
      [unfinished] nodes/x: its folder has files, but no history
          in nodes/.versions/x/history.yaml
    -- stderr
    hint: store the output of `ctx head` elsewhere, and pass it to `ctx verify --expect-head`, to detect truncation or a full rewrite
    ");
}

#[test]
fn an_id_in_one_map_only_is_found_in_a_log_of_whole_maps() {
    let place = reference_vault();
    let log = place.read(FULL_LOG);
    // The last checkpoint is used, because a map without ids would be null.
    let at = log.rfind("    document_chain_hashes:\n").unwrap();
    let first = log[at..].split_inclusive('\n').nth(1).unwrap();
    place.write(FULL_LOG, format!("{}{}", &log[..at], log[at..].replacen(first, "", 1)));
    let (exit, codes) = found(&place, "verify --json --now 2026-11-22T00:00:00.000Z");
    assert!(exit == 1 && codes.contains("checkpoint-hash-missing"), "{codes:?}");
}

#[test]
fn a_governance_file_cannot_be_dated_back() {
    let place = whole();
    let history = ".versions/CONTEXT.md/history.yaml";
    place.edit(history, "published_at: '2026-11-21T10", "published_at: '2026-11-20T10");
    let (exit, codes) = found(&place, "verify --json");
    assert_eq!((exit, codes), (1, BTreeSet::from(["publication-time-mismatch".to_owned()])));
}

#[test]
fn a_record_from_the_future_is_noted() {
    let (exit, codes) = found(&whole(), "verify --json --now 2026-11-21T09:00:00.000Z");
    assert_eq!((exit, codes), (0, BTreeSet::from(["timestamp-future".to_owned()])));
}

#[test]
fn any_flipped_bit_of_a_recorded_byte_is_found() {
    let place = whole();
    let places = ["nodes/.versions/a/v1.md", HISTORY, LOG, ".versions/CONTEXT.md/v1.md"];
    for path in places {
        let bytes = place.bytes(path);
        // No hash covers the interval of the keyframes, which writers choose.
        let first =
            if path == HISTORY { bytes.iter().position(|b| *b == b'\n').unwrap() } else { 0 };
        let step = (bytes.len() / 24).max(1);
        for at in (first..bytes.len()).step_by(step) {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            place.write(path, &altered);
            let (exit, codes) = found(&place, "verify --json");
            assert!(exit == 1, "{path} byte {at}: {codes:?}");
        }
        place.write(path, bytes);
    }
}

#[test]
fn verify_notes_derived_files_that_are_no_files_or_lost_their_mark() {
    let place = Place::published(&[("nodes/a", "# A\n"), ("nodes/b", "# B\n")]);
    place.ctx("index").ok();
    let notes = || place.ctx("verify").ok().stdout.matches("[derived-differs]").count();
    assert_eq!(notes(), 0);
    for path in ["context.yaml", "INDEX.md"] {
        let whole = place.read(path);
        for make in ["ln -s nodes/a.md", "ln -s nowhere", "mkdir", "mkfifo"] {
            place.typed("").shell(&format!("rm -r {path} && {make} {path}")).ok();
            assert_eq!(notes(), 1, "{path}: {make}");
        }
        place.typed("").shell(&format!("rm {path}")).ok();
        place.write(path, &whole);
    }
    // The list has lost its mark, and has a line of another author.
    let list = place.read("INDEX.md");
    let (_, rest) = list.split_once('\n').unwrap();
    place.write("INDEX.md", format!("{rest}- [Evil](nodes/evil.md)\n"));
    assert_eq!(notes(), 1);
    place.write("INDEX.md", "# Our team\n\n- [Start here](nodes/a.md)\n");
    assert_eq!(notes(), 0);
    place.write(
        ".context/config.yaml",
        place.read(".context/config.yaml") + "index:\n  folders: true\n",
    );
    place.ctx("publish .context/config.yaml").ok();
    assert_eq!(notes(), 1);
}
