//! `ctx ci` in jobs of GitHub and GitLab, the formats of its result, `action.yml` and
//! `ci/gitlab.yml`.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::anchored::{git, in_repository, replace_log};
use crate::handed_out::{HIDDEN, two_trees};
use crate::harness::{Output, Place, Run, repository};

const ZEROS: &str = "0000000000000000000000000000000000000000";

/// Returns a repository with a vault in `docs`, an `origin` with the branch `main`, and the branch
/// `topic`: it publishes a document, and has a draft and a new document.
fn with_branch() -> Place {
    let place = in_repository();
    let server = place.home().join("server.git").display().to_string();
    git(&place, &format!("clone -q --bare . {server}"));
    git(&place, &format!("remote add origin {server}"));
    git(&place, "fetch -q origin");
    git(&place, "checkout -q -b topic");
    place.edit("docs/nodes/a.md", "Three.", "Four.");
    place.ctx("publish --changed --vault docs").ok();
    let b = place.read("docs/nodes/b.md").replace("status: published", "status: draft");
    place.write("docs/nodes/b.md", format!("{b}\nMore.\n"));
    place.write("docs/nodes/new|*x*.md", "# New\n");
    git(&place, "add -A");
    git(&place, "commit -q -m four");
    place
}

/// Sets the variables of a job of GitHub, with its event.
fn on_github<'p>(place: &'p Place, line: &str, name: &str, event: &Value) -> Run<'p> {
    let path = place.home().join("event.json");
    fs::write(&path, event.to_string()).unwrap();
    let summary = place.home().join("summary.md").display().to_string();
    let sha = git(place, "rev-parse HEAD");
    place
        .typed(&format!("{line} --vault docs"))
        .var("GITHUB_ACTIONS", "true")
        .var("GITHUB_EVENT_NAME", name)
        .var("GITHUB_EVENT_PATH", &path.display().to_string())
        .var("GITHUB_STEP_SUMMARY", &summary)
        .var("GITHUB_SHA", &sha)
}

fn pull_request(place: &Place, name: &str) -> Value {
    let base = git(place, &format!("rev-parse {name}"));
    json!({"pull_request": {"base": {"ref": "main", "sha": base}}})
}

fn push(before: &str) -> Value {
    json!({"before": before, "repository": {"default_branch": "main"}})
}

fn summary(place: &Place) -> String {
    fs::read_to_string(place.home().join("summary.md")).unwrap_or_default()
}

/// Runs a program of Python with this input.
fn python(place: &Place, program: &str, input: &str) -> Output {
    fs::write(place.home().join("program.py"), program).unwrap();
    let line = format!("python3 {}", place.home().join("program.py").display());
    place.typed("").stdin(input).shell(&line)
}

#[test]
fn ci_compares_a_pull_request_with_its_base_and_summarises_it() {
    let place = with_branch();
    let event = pull_request(&place, "main");
    let run = on_github(&place, "ci", "pull_request", &event).var("GITHUB_BASE_REF", "main");
    let base = git(&place, "rev-parse --short=12 main");
    let said = run.run().ok().whole().replace(&base, "[BASE]");
    assert!(said.contains("base: refs/remotes/origin/main ([BASE])"), "{said}");
    assert_snapshot!(summary(&place).replace(&base, "[BASE]"), @r"
    ## Vault: passed

    Compared with refs/remotes/origin/main ([BASE]).

    ### Published since the base

    | document | change | versions |
    |---|---|---|
    | nodes/a | changed | v3 to v4 |

    ### Not published

    | document | state | version | size | reviewers |
    |---|---|---|---|---|
    | nodes/b | draft | v1 | 252 bytes \(\+3\), 63 tokens |  |
    | nodes/new\|\*x\* | unpublished |  | 6 bytes, 2 tokens |  |

    ### ctx validate: 3 documents checked, 0 errors, 1 warning

    | level | code | file | message |
    |---|---|---|---|
    | warning | name-windows | nodes/new\|\*x\*.md | Windows does not allow the name \`new\|\*x\*\`: it contains \`\|\`. Hint: rename it; git on Windows cannot check it out |

    ### ctx verify: intact, not anchored
    ");
    // The commit of the event serves if the clone lacks the branch. A second step adds its summary.
    git(&place, "update-ref -d refs/remotes/origin/main");
    let run = on_github(&place, "ci --json", "pull_request", &event).var("GITHUB_BASE_REF", "main");
    let report = run.run().ok().json("ctx.ci");
    assert_eq!(report["base"]["revision"], event["pull_request"]["base"]["sha"]);
    assert_eq!(report["verification"]["anchors"][0]["source"], "merge-base");
    assert_eq!(report["published"][0]["id"], "nodes/a");
    let states: Vec<&Value> =
        report["unpublished"].as_array().unwrap().iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["draft", "unpublished"]);
    assert_eq!(summary(&place).matches("## Vault").count(), 2);
}

#[test]
fn ci_passes_a_vault_whose_changes_are_published_or_drafts() {
    let place = with_branch();
    place.remove("docs/nodes/new|*x*.md");
    git(&place, "commit -q -a -m draft");
    let event = pull_request(&place, "main");
    let said = on_github(&place, "ci --format github", "pull_request", &event).run().ok();
    assert!(said.stdout.lines().all(|line| line.starts_with("::notice ")), "{}", said.whole());
    assert!(summary(&place).starts_with("## Vault: passed\n"));
    // A draft that is the same at the base is not listed again.
    git(&place, "checkout -q -b next");
    place.write("docs/nodes/c.md", "---\nstatus: draft\n---\n# C\n");
    git(&place, "add -A");
    git(&place, "commit -q -m c");
    let report = place.ctx("ci --json --since-fork topic --vault docs").json("ctx.ci");
    assert_eq!(
        (&report["unchanged"], &report["unpublished"][0]["id"]),
        (&1.into(), &"nodes/c".into())
    );
}

#[test]
fn a_summary_names_the_reviewers_of_each_file() {
    let place = with_branch();
    for scope in ["--whole-vault", "--folder nodes/", "--tag hot"] {
        let who = scope.trim_start_matches("--").split(' ').next().unwrap();
        place.ctx(&format!("steward assign {who}@example.com reviewer {scope} --vault docs")).ok();
    }
    place.write("docs/nodes/hot.md", "---\nstatus: draft\ntags: [hot]\n---\n# Hot\n");
    let report = place.ctx("ci --json --since HEAD --vault docs").ok().json("ctx.ci");
    let one = &report["unpublished"][0];
    assert_eq!(
        (&one["id"], &one["reviewers"]),
        (&"nodes/hot".into(), &json!(["folder@example.com"]))
    );
    assert_eq!(
        (&one["bytes"], &one["tokens"], &one["bytes_at_base"]),
        (&40.into(), &10.into(), &Value::Null)
    );
}

#[test]
fn ci_requires_that_a_push_to_the_default_branch_keeps_the_log() {
    let place = with_branch();
    let before = git(&place, "rev-parse main");
    let run = |event: &Value| {
        let run = on_github(&place, "ci --allow-drift --format github", "push", event);
        run.var("GITHUB_REF", "refs/heads/main").run()
    };
    place.remove("docs/nodes/new|*x*.md");
    run(&push(&before)).ok();
    let queue = json!({"merge_group": {"base_sha": before}});
    on_github(&place, "ci --allow-drift", "merge_group", &queue).run().ok();
    // A push that adds the vault has an empty log before it.
    let empty = git(&place, "commit-tree -m empty 4b825dc642cb6eb9a060e54bf8d69288fbee4904");
    run(&push(&empty)).ok();
    let first = run(&push(ZEROS)).ok();
    assert!(first.stderr.contains("note: the first push has no base"), "{}", first.whole());
    replace_log(&place);
    let said = run(&push(&before)).exits(1);
    let path = "docs/.versions/checkpoints.jsonl";
    assert!(
        said.stdout.contains(&format!("::error file={path},title=head-fork::")),
        "{}",
        said.whole()
    );
    assert!(
        summary(&place).contains("| error | head\\-fork |")
            || summary(&place).contains("| error | head-fork |")
    );
    // After a force push git lacks the commit.
    let gone = run(&push(&"ab".repeat(20))).exits(2);
    assert!(gone.stderr.contains("after a force push"), "{}", gone.whole());
}

#[test]
fn ci_compares_another_branch_with_the_default_branch() {
    let place = with_branch();
    for before in [ZEROS.to_owned(), git(&place, "rev-parse topic")] {
        let run = on_github(&place, "ci --json --allow-drift", "push", &push(&before));
        let report = run.var("GITHUB_REF", "refs/heads/topic").run().json("ctx.ci");
        assert_eq!(report["base"]["revision"], "refs/remotes/origin/main");
    }
}

#[test]
fn ci_never_passes_without_its_base() {
    let place = with_branch();
    let event = pull_request(&place, "main");
    git(&place, "push -q origin topic");
    let (server, shallow) = (place.home().join("server.git"), place.home().join("shallow"));
    let line =
        format!("clone -q --depth 1 -b topic file://{} {}", server.display(), shallow.display());
    git(&place, &line);
    let run = on_github(&place, "ci", "pull_request", &event).var("GITHUB_BASE_REF", "main");
    let base = event["pull_request"]["base"]["sha"].as_str().unwrap();
    assert_snapshot!(run.within(&shallow).run().exits(2).stderr.replace(base, "[SHA]"), @"
    error[usage]: git lacks the base of the job, `refs/remotes/origin/main` or `[SHA]`
    hint: a shallow clone lacks it: set `fetch-depth: 0` for actions/checkout; after a force push, run `ctx ci --since REV` with a commit of the new history
    ");
    let refused = |run: Run<'_>, what: &str| {
        let said = run.run().exits(2);
        assert!(said.stderr.contains(what), "{what}: {}", said.whole());
    };
    refused(place.typed("ci --vault docs"), "no job of GitHub Actions or GitLab CI");
    refused(on_github(&place, "ci", "schedule", &json!({})), "event `schedule`, which has no base");
    refused(on_github(&place, "ci", "push", &json!({})), "event `push`, which has no base");
    refused(on_github(&place, "ci", "pull_request_target", &event), "not its head");
    let manual = place.typed("ci --vault docs").var("GITLAB_CI", "true");
    let manual = manual.var("CI_PIPELINE_SOURCE", "web").var("CI_COMMIT_BEFORE_SHA", ZEROS);
    let manual = manual.var("CI_DEFAULT_BRANCH", "main").var("CI_COMMIT_BRANCH", "main");
    refused(manual, "event `web`, which has no base");
    place.typed("ci --vault docs --since HEAD --format sarif --json").run().exits(2);
    let broken = on_github(&place, "ci", "push", &json!({})).var("GITHUB_EVENT_PATH", "none.json");
    assert!(broken.run().exits(5).stderr.contains("cannot read the event of the job"));
}

#[test]
fn ci_finds_the_base_of_jobs_of_gitlab() {
    let place = with_branch();
    let before = git(&place, "rev-parse main");
    let run = |vars: &[(&str, &str)]| {
        let line = "ci --json --allow-drift --summary out.md --vault docs";
        let run = place.typed(line).var("GITLAB_CI", "true").var("CI_DEFAULT_BRANCH", "main");
        let run = vars.iter().fold(run, |run, (name, value)| run.var(name, value));
        let report = run.run().json("ctx.ci");
        let source = report["verification"]["anchors"][0]["source"].as_str().unwrap_or("none");
        format!("{source} {}", report["base"]["revision"].as_str().unwrap_or("none"))
    };
    let merge_request = [
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", before.as_str()),
        ("CI_COMMIT_BEFORE_SHA", ZEROS),
    ];
    assert_eq!(run(&merge_request), "merge-base refs/remotes/origin/main");
    assert_eq!(run(&merge_request[1..]), format!("merge-base {before}"));
    let pushed = |branch, before| {
        [
            ("CI_PIPELINE_SOURCE", "push"),
            ("CI_COMMIT_BRANCH", branch),
            ("CI_COMMIT_BEFORE_SHA", before),
        ]
    };
    assert_eq!(run(&pushed("main", &before)), format!("revision {before}"));
    assert_eq!(run(&pushed("main", ZEROS)), "none none");
    assert_eq!(run(&pushed("topic", ZEROS)), "merge-base refs/remotes/origin/main");
    assert!(place.read("out.md").starts_with("## Vault: "));
    let nowhere = place.typed("ci --since HEAD --summary no/folder.md --vault docs").run();
    assert!(nowhere.exits(5).stderr.contains("cannot write the summary"));
}

#[test]
fn results_in_every_format_escape_hostile_names() {
    let place = in_repository();
    place.write("docs/nodes/a]]>::error::b\nc\u{1b}[31m.md", "# X\n");
    place.write("docs/nodes/d.md", "---\ntitle: ''\n---\n# D\n\n[x](missing<&\".md)\n");
    place.edit("docs/nodes/.versions/a/v1.md", "One.", "Ten.");
    let run = |verb: &str, format: &str| {
        let said = place.ctx(&format!("{verb} --format {format} --vault docs")).exits(1).stdout;
        assert!(!said.contains('\u{1b}'), "{verb} {format}: {said}");
        said
    };
    for verb in ["verify", "validate", "ci --since HEAD"] {
        let github = run(verb, "github");
        let is_command = |line: &str| {
            ["::error file=docs/", "::warning file=docs/", "::notice file=docs/"]
                .iter()
                .any(|start| line.starts_with(start))
        };
        assert!(github.lines().all(is_command), "{github}");
        let issues: Value = serde_json::from_str(&run(verb, "gitlab")).unwrap();
        assert_eq!(issues.as_array().unwrap().len(), github.lines().count());
        let sarif: Value = serde_json::from_str(&run(verb, "sarif")).unwrap();
        let runs = sarif["runs"].as_array().unwrap();
        let ids: Vec<&Value> = runs.iter().map(|run| &run["automationDetails"]["id"]).collect();
        match verb {
            "verify" | "validate" => assert_eq!(ids, [&Value::from(format!("ctx/{verb}/"))]),
            _ => assert_eq!(ids, ["ctx/validate/", "ctx/verify/"]),
        }
        let results = runs.iter().map(|run| run["results"].as_array().unwrap().len());
        assert_eq!(results.sum::<usize>(), github.lines().count());
        let counted = python(
            &place,
            "import sys, xml.etree.ElementTree as xml\n\
            suites = xml.parse(sys.stdin).getroot()\n\
            cases = suites.findall('testsuite/testcase')\n\
            assert all(case.get('file').startswith('docs/') for case in cases)\n\
            failed = suites.findall('testsuite/testcase/failure')\n\
            assert failed and sum(int(suite.get('failures')) for suite in suites) == len(failed)\n\
            print(len(cases))\n",
            &run(verb, "junit"),
        )
        .ok();
        assert_eq!(counted.stdout.trim(), github.lines().count().to_string(), "{verb}");
    }
    let github = run("validate", "github");
    assert!(
        github.contains("::warning file=docs/nodes/a]]>%3A%3Aerror%3A%3Ab%0Ac\\u{1b}[31m.md,"),
        "{github}"
    );
    let whole = in_repository();
    let passed = whole.ctx("ci --since HEAD --format junit --vault docs").ok().stdout;
    assert!(passed.contains("tests=\"1\" failures=\"0\""), "{passed}");
    assert_eq!(whole.ctx("ci --since HEAD --format gitlab --vault docs").ok().stdout, "[]\n");
    assert_eq!(whole.ctx("ci --since HEAD --format github --vault docs").ok().stdout, "");
    let text = whole.ctx("verify --format text --vault docs").ok().stdout;
    assert!(text.starts_with("intact"), "{text}");
    whole.ctx("verify --format sarif --sarif --vault docs").exits(2);
    whole.ctx("verify --format text --json --vault docs").exits(2);
}

#[test]
fn a_summary_names_nothing_that_its_reader_may_not_know() {
    let place = two_trees();
    git(&place, "init -q");
    git(&place, "add -A");
    git(&place, "commit -q -m all");
    for form in ["", " --json"] {
        let line = format!("ci --since HEAD --summary ../summary.md --as lee@x.com{form}");
        let said = place.ctx(&line).whole();
        let all = format!("{said}{}", summary(&place));
        assert!(all.contains("Vault: "), "{all}");
        for word in HIDDEN {
            assert!(!all.contains(word), "{word}: {all}");
        }
    }
}

/// Returns the scripts of the steps of `action.yml`.
fn scripts() -> Vec<String> {
    let text = fs::read_to_string(repository().join("action.yml")).unwrap();
    let steps = text.split("      run: |\n").skip(1);
    let script = |step: &str| {
        let lines = step.lines().map_while(|line| line.strip_prefix("        "));
        lines.collect::<Vec<_>>().join("\n")
    };
    steps.map(script).collect()
}

#[test]
fn the_steps_of_the_action_check_a_pull_request() {
    let place = with_branch();
    let event = pull_request(&place, "main");
    let [find, check] = scripts().try_into().unwrap();
    let (bin, temp) = (place.home().join("bin"), place.home().join("temp"));
    fs::create_dir_all(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ctx"), bin.join("ctx")).unwrap();
    let step = |script: &str, version: &str, args: &str| {
        fs::write(place.home().join("step.sh"), script).unwrap();
        let run = on_github(&place, "", "pull_request", &event).var("GITHUB_BASE_REF", "main");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", bin.display());
        let run = run.var("PATH", &path).var("WANTED", version).var("VAULT", "docs");
        let run = run.var("ARGS", args).var("SOURCE", "/source");
        let run = run.var("RUNNER_TEMP", &temp.display().to_string());
        let run = run.var("GITHUB_PATH", &place.home().join("path").display().to_string());
        let shell = "bash --noprofile --norc -e -o pipefail";
        run.shell(&format!("{shell} {}", place.home().join("step.sh").display()))
    };
    step(&find, "", "").ok();
    step(&find, env!("CARGO_PKG_VERSION"), "").ok();
    let other = step(&find, "9.9.9", "").exits(1);
    assert!(
        other.stdout.starts_with("::error title=ctx::the job needs ctx 9.9.9"),
        "{}",
        other.whole()
    );
    place.edit("docs/nodes/a.md", "Four.", "Five.");
    let said = step(&check, "", "").exits(1);
    assert!(said.stdout.lines().all(|line| line.starts_with("::")), "{}", said.whole());
    assert!(said.stdout.contains("::warning file=docs/nodes/a.md,"), "{}", said.whole());
    assert!(summary(&place).contains("## Vault: failed"));
    step(&check, "", "--allow-drift  --since-fork main").ok();
    // An argument is never code.
    step(&check, "", "$(touch ran) `touch ran` ; touch ran").exits(2);
    assert!(!place.has("ran"));
    // Without ctx it is built: here by a program in place of cargo.
    let cargo = format!(
        "#!/bin/sh\necho \"$*\" >{0}/built\nmkdir -p {1}/ctx/bin && cp {2} {1}/ctx/bin/ctx\n",
        place.home().display(),
        temp.display(),
        env!("CARGO_BIN_EXE_ctx")
    );
    fs::remove_file(bin.join("ctx")).unwrap();
    fs::write(bin.join("cargo"), cargo).unwrap();
    fs::set_permissions(bin.join("cargo"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    step(&find, "", "").ok();
    let built = fs::read_to_string(place.home().join("built")).unwrap();
    assert!(built.starts_with("install --locked --path /source --root "), "{built}");
    assert!(fs::read_to_string(place.home().join("path")).unwrap().ends_with("ctx/bin\n"));
}
