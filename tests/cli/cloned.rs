//! Clones of a repository with a vault: line ends that git converts, and files that git ignores, in
//! real repositories.

use crate::anchored::git;
use crate::harness::Place;

const TEXT: &str = "* -text -whitespace -ident -filter -working-tree-encoding linguist-generated\n\
                    v*.md -merge\nhistory.yaml diff=ctx merge=ctx\ncheckpoints.jsonl diff=ctx merge=ctx\n";
/// Attributes that convert every text, each in the spelling of another repository.
const CONVERTING: [&str; 4] = [
    "* text=auto\n",
    "* text=auto eol=crlf\n*.md text\n*.jsonl text eol=crlf\n",
    "**/.versions/** text eol=crlf\n",
    "[attr]prose text eol=crlf\n* prose\n",
];

/// Commits everything in the folder of a vault.
fn commit(place: &Place) {
    git(place, "init -q");
    git(place, "add -A");
    git(place, "commit -q -m all");
}

/// Git searches for renames, and finds a stored text where a live file was.
#[test]
fn git_merges_no_edit_of_a_moved_document_into_a_stored_text() {
    let lines: String = (1..30).map(|n| format!("line {n}\n")).collect();
    let source = Place::vault();
    source.write("nodes/returns.md", format!("---\ntitle: Returns\n---\n\n{lines}"));
    git(&source, "init -q -b main");
    git(&source, "add -A");
    git(&source, "commit -q -m base");
    let other = Place::new();
    git(&other, &format!("clone -q {} .", source.root().display()));
    std::fs::create_dir_all(source.path("nodes/policies")).unwrap();
    std::fs::rename(source.path("nodes/returns.md"), source.path("nodes/policies/refunds.md"))
        .unwrap();
    source.ctx("publish --all").ok();
    git(&source, "add -A");
    git(&source, "commit -q -m moved");
    other.edit("nodes/returns.md", "line 5\n", "line 5, my edit\n");
    git(&other, "commit -q -a -m edited");
    let pull = "git -c user.name=B -c user.email=b@example.com pull -q --no-rebase 2>&1 || true";
    let said = other.typed("").shell(pull).ok().stdout;
    let path = "nodes/policies/.versions/refunds/v1.md";
    assert!(said.contains(&format!("CONFLICT (content): Merge conflict in {path}")), "{said}");
    // The way out of the guide keeps the edit.
    let kept = other.read(path);
    assert!(kept.contains("line 5, my edit"), "{kept}");
    git(&other, &format!("checkout -q --theirs {path}"));
    other.edit("nodes/policies/refunds.md", "line 5\n", "line 5, my edit\n");
    git(&other, "add -A");
    git(&other, "commit -q -m merged");
    other.ctx("publish --all").ok();
    other.ctx("verify").ok();
}

fn clone(source: &Place) -> Place {
    let place = Place::new();
    git(&place, &format!("clone -q -c core.autocrlf=true {} .", source.root().display()));
    place
}

#[test]
fn clone_keeps_histories_where_the_repository_converts_every_text() {
    for attributes in CONVERTING {
        let source = Place::new();
        source.write(".gitattributes", attributes);
        source.ctx("init .").ok();
        source.write("nodes/deep/a.md", "# A\n\none  \ntwo\n");
        source.write("b.md", "---\ntitle: B\n---\n\none\n");
        source.ctx("publish --all").ok();
        source.edit("nodes/deep/a.md", "two", "three");
        source.ctx("publish --changed").ok();
        assert_eq!(source.read(".gitattributes"), attributes);
        commit(&source);
        let place = clone(&source);
        assert!(place.read("nodes/deep/a.md").contains("\r\n"), "{attributes}");
        for folder in ["", "nodes/deep/", ".context/"] {
            let file = format!("{folder}.versions/.gitattributes");
            assert_eq!(place.read(&file), TEXT, "{attributes}");
        }
        let verified = place.ctx("verify").ok().stdout;
        assert!(verified.starts_with("intact"), "{attributes}: {verified}");
        // The clone publishes too, and the first folder reads its version.
        place.edit("b.md", "one", "two");
        place.ctx("publish b").ok();
        git(&place, "add -A");
        git(&place, "commit -q -m two");
        git(&source, &format!("pull -q {}", place.root().display()));
        source.ctx("verify").ok();
    }
}

#[test]
fn clone_keeps_histories_where_git_filters_files() {
    let source = Place::new();
    source.write(".gitattributes", "*.md ident\n*.jsonl filter=coded\n*.yaml filter=coded\n");
    source.ctx("init .").ok();
    source.write("nodes/a.md", "# A\n\n$Id$ and\n");
    source.ctx("publish --all").ok();
    commit(&source);
    let place = Place::new();
    let from = source.root().display().to_string();
    git(&place, &format!("clone -q -c filter.coded.smudge=base64 {from} ."));
    assert!(place.read("nodes/a.md").contains("$Id: "));
    let verified = place.ctx("verify --allow-drift").stdout;
    assert!(verified.starts_with("intact"), "{verified}");
}

#[test]
fn clone_that_lacks_the_record_is_not_called_intact() {
    for (ignored, verdict) in [
        ("*.jsonl\n*.yaml\n", "damaged"),
        ("history.yaml\ncheckpoints.jsonl\n.context/audit\n", "damaged"),
        (".versions\n.context/audit\n", "nothing published"),
    ] {
        let source = Place::new();
        source.write(".gitignore", ignored);
        source.ctx("init .").ok();
        source.write("nodes/a.md", "# A\n\none\n");
        source.ctx("publish --all").ok();
        commit(&source);
        let verified = clone(&source).ctx("verify").exits(1).stdout;
        assert!(verified.starts_with(verdict), "{ignored}: {verified}");
        assert_eq!(verified.contains("[checkpoint-log-missing]"), verdict == "damaged");
    }
}

#[test]
fn publish_adds_missing_attributes_to_the_folders_that_it_writes_to() {
    let place = Place::published(&[("nodes/x/a", "# A\n\none\n"), ("nodes/y/b", "# B\n\none\n")]);
    let [log, a, b] = ["", "nodes/x/", "nodes/y/"].map(|f| format!("{f}.versions/.gitattributes"));
    [&log, &a, &b].iter().for_each(|path| place.remove(path));
    place.write(&b, "* text\n");
    place.edit("nodes/x/a.md", "one", "two");
    place.edit("nodes/y/b.md", "one", "two");
    place.ctx("publish --changed").ok();
    assert_eq!([&log, &a, &b].map(|path| place.read(path)), [TEXT, TEXT, "* text\n"]);
    assert!(!place.ctx("verify").ok().stdout.contains("gitattributes"));
}

#[test]
fn publish_continues_if_attributes_cannot_be_written() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n")]);
    place.remove("nodes/.versions/.gitattributes");
    std::fs::create_dir(place.path("nodes/.versions/.gitattributes")).unwrap();
    place.edit("nodes/a.md", "one", "two");
    place.ctx("publish nodes/a").ok();
    assert!(place.ctx("verify").exits(1).stdout.contains("[id-collision]"));
}

/// Returns the warnings of a command about clones.
fn warnings(place: &Place, line: &str) -> Vec<String> {
    let said = place.ctx(line);
    let lines = said.stderr.lines().filter_map(|line| line.strip_prefix("warning: git "));
    lines.map(str::to_owned).collect()
}

/// Returns true if git reports that it ignores a path.
fn is_ignored(place: &Place, path: &str) -> bool {
    place.typed("").shell(&format!("git check-ignore -q --no-index {path}")).exit == 0
}

const HISTORY: &str = "nodes/.versions/build/v1.md";

#[test]
fn commands_warn_of_histories_that_git_ignores() {
    for (rules, path, rule) in [
        (".versions/\n", ".versions", ".versions/"),
        ("build/\n", "nodes/.versions/build", "build/"),
        ("*.jsonl\n", ".versions/checkpoints.jsonl", "*.jsonl"),
        ("/nodes/*/*/v1.md\n", HISTORY, "/nodes/*/*/v1.md"),
        (".*\n!.gitignore\n", ".versions", ".*"),
        (".context\n", ".context", ".context"),
        ("/.context/audit/\n", ".context/audit", "/.context/audit/"),
        ("/stewards.yaml\n/CONTEXT.md\n", "CONTEXT.md", "/CONTEXT.md"),
    ] {
        let place = Place::published(&[("nodes/build", "# B\n\none\n")]);
        git(&place, "init -q");
        assert_eq!(warnings(&place, "status"), [""; 0]);
        place.write(".gitignore", rules);
        assert!(is_ignored(&place, path), "{rules}");
        place.edit("nodes/build.md", "one", "two");
        let expected = format!("ignores {path}");
        for line in ["status", "publish --changed", "verify", "verify nodes/build"] {
            let said = warnings(&place, line).join("\n");
            let of = format!("by `{rule}` in .gitignore, so that clones lack");
            assert!(said.contains(&expected) && said.contains(&of), "{rules} {line}: {said}");
        }
        let json = place.ctx("status --json").ok().json("ctx.status");
        assert!(json["notes"][0].as_str().unwrap().contains("git ignores"), "{json}");
        // The lines that the warnings name restore everything.
        let lines: Vec<String> = warnings(&place, "status")
            .iter()
            .flat_map(|said| {
                said.split('`').skip(3).step_by(2).map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        if !rules.contains("CONTEXT.md") {
            assert!(!lines.is_empty());
            place.write(".gitignore", format!("{rules}{}\n", lines.join("\n")));
            assert_eq!(warnings(&place, "status"), [""; 0], "{rules}");
            assert!(!is_ignored(&place, path), "{rules}");
            assert!(is_ignored(&place, ".context/local/lock"), "{rules}");
        }
    }
}

#[test]
fn commands_warn_of_rules_of_the_clone_and_of_the_user() {
    let place = Place::published(&[("nodes/build", "# B\n\none\n")]);
    git(&place, "init -q");
    let rules = [
        (".git/info/exclude", ".git/info/exclude"),
        ("../.config/git/ignore", "/.config/git/ignore"),
        ("../mine", "/mine"),
    ];
    for (path, named) in rules {
        place.write(path, "build/\n");
        if path == "../mine" {
            place.write("../.gitconfig", "[core]\n\texcludesFile = ~/mine\n");
        }
        assert!(is_ignored(&place, HISTORY), "{path}");
        for line in ["status", "verify"] {
            let said = warnings(&place, line).join("\n");
            assert!(
                said.contains("nodes/.versions/build, by `build/` in") && said.contains(named),
                "{said}"
            );
        }
        // A `.gitignore` of the repository has precedence.
        place.write(".gitignore", "!.versions/\n!**/.versions/**\n");
        assert!(!is_ignored(&place, HISTORY), "{path}");
        assert_eq!(warnings(&place, "status"), [""; 0]);
        place.remove(".gitignore");
        place.remove(path);
    }
}

#[test]
fn commands_warn_of_line_ends_that_git_may_convert() {
    let place = Place::published(&[("nodes/a", "# A\n\none\n"), ("nodes/x/b", "# B\n\none\n")]);
    place.write(".gitattributes", "* text=auto\n");
    assert_eq!(warnings(&place, "status"), [""; 0], "there is no repository");
    git(&place, "init -q");
    assert_eq!(warnings(&place, "status"), [""; 0], "each folder has its attributes");
    for folder in ["", "nodes/", "nodes/x/", ".context/"] {
        place.remove(&format!("{folder}.versions/.gitattributes"));
    }
    for line in ["status", "verify"] {
        let said = warnings(&place, line);
        assert_eq!(
            said,
            [
                "may convert the files in .versions and 3 more of a clone, which damages it: add the line `**/.versions/** -text -whitespace -ident -filter -working-tree-encoding` at the end of .gitattributes"
            ]
        );
    }
    for attributes in [
        "* text=auto\n**/.versions/** -text -whitespace -ident -filter -working-tree-encoding\n",
        "* text=auto eol=lf\n",
        "* -text\n",
        "[attr]kept -text\n**/.versions/** kept\n",
    ] {
        place.write(".gitattributes", attributes);
        assert_eq!(warnings(&place, "status"), [""; 0], "{attributes}");
    }
    // A file that was planted with the name of ours does not hide it.
    place.write("nodes/.versions/.gitattributes", "* text eol=crlf\n");
    assert!(warnings(&place, "verify")[0].contains("the files in nodes/.versions of a clone"));
    place.remove("nodes/.versions/.gitattributes");
    place.write(".git/info/attributes", "*.md text\n");
    assert_eq!(warnings(&place, "status").len(), 1);
    place.remove(".git/info/attributes");
    // A publication protects the folders that it writes to.
    place.write(".gitattributes", "* text=auto\n");
    place.edit("nodes/a.md", "one", "two");
    place.edit("nodes/x/b.md", "one", "two");
    place.edit("CONTEXT.md", "What", "That");
    place.edit(".context/config.yaml", "version: 1", "version: 1\ndescription: x");
    place.ctx("publish --changed").ok();
    assert_eq!(warnings(&place, "status"), [""; 0]);
}

#[test]
fn vault_below_the_top_of_a_repository_has_the_same_warnings() {
    let place = Place::new();
    place.ctx("init docs").ok();
    place.write("docs/nodes/build.md", "# B\n");
    place.ctx("publish --all --vault docs").ok();
    git(&place, "init -q");
    place.write(".gitignore", "build/\n");
    place.write(".gitattributes", "* text=auto\n");
    place.remove("docs/nodes/.versions/.gitattributes");
    place.remove("docs/.gitattributes");
    let said = warnings(&place, "status --vault docs").join("\n");
    assert!(said.contains("nodes/.versions/build, by `build/` in ../.gitignore"), "{said}");
    assert!(said.contains("the files in nodes/.versions of a clone"), "{said}");
    // A folder that git ignores completely is not meant for clones.
    place.write(".gitignore", "/docs/\nbuild/\n");
    assert_eq!(warnings(&place, "status --vault docs"), [""; 0]);
}

#[test]
fn warnings_run_no_program_and_print_no_escapes() {
    let place = Place::published(&[("nodes/build", "# B\n")]);
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m one");
    let program = place.path("program");
    place.write("program", format!("#!/bin/sh\ntouch {}\n", place.path("ran").display()));
    place.typed("").shell(&format!("chmod +x {}", program.display())).ok();
    for key in
        ["core.fsmonitor", "core.pager", "filter.x.clean", "filter.x.smudge", "core.sshCommand"]
    {
        git(&place, &format!("config {key} {}", program.display()));
    }
    place.write(".gitattributes", "* filter=x text=auto\n");
    place.write(".gitignore", "bui\\ld\u{1b}[31m/\n\u{1b}[31mx\nbuil[d]\n.versions\u{7}\n");
    place.write("nodes/.versions/build/v1.md", "altered\n");
    std::fs::remove_file(place.path(".git/info/exclude")).ok();
    place.typed("").shell("mkfifo .git/info/exclude nodes/.versions/.gitignore").ok();
    for line in ["status", "verify", "verify --json"] {
        let said = place.ctx(line).whole();
        assert!(said.contains("git ignores nodes/.versions/build"), "{line}: {said}");
        assert!(!said.contains('\u{1b}') && !place.has("ran"), "{line}: {said}");
    }
}
