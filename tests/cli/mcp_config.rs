//! `ctx mcp config`: its output starts the server.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::Place;

fn vault() -> Place {
    Place::published(&[("nodes/a", "# A\n")])
}

#[test]
fn mcp_config_prints_a_command_that_starts_the_server() {
    let place = vault();
    let clients = ["claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini", "zed"];
    for client in clients {
        let report = place.ctx(&format!("mcp config {client} --json")).ok().json("ctx.mcp.config");
        let args: Vec<&str> =
            report["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        assert_eq!(args[..2], ["mcp", "--vault"]);
        let text = report["text"].as_str().unwrap();
        assert!(args.iter().all(|arg| text.contains(&format!("\"{arg}\""))), "{text}");
        if client != "codex" {
            let entry: Value = serde_json::from_str(text).unwrap();
            let of_client = entry.as_object().unwrap().values().next().unwrap();
            assert_eq!(of_client["vault"]["args"], report["args"], "{text}");
        }
    }
    let report = place.ctx("mcp config zed --json").ok().json("ctx.mcp.config");
    let args: Vec<String> = serde_json::from_value(report["args"].clone()).unwrap();
    let answer =
        place.args(&args).stdin("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").run();
    assert!(answer.ok().stdout.contains("\"id\":1"));
}

#[test]
fn a_profile_a_principal_and_names_are_those_that_are_asked_for() {
    let place = vault();
    let line =
        "mcp config codex --name Rules --program /opt/ctx --profile author --as ANA@example.com";
    let output = place.ctx(line).ok();
    let root = place.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let printed = output.stdout.replace(&root, "VAULT");
    assert_snapshot!(printed, @r#"
    [mcp_servers."Rules"]
    command = "/opt/ctx"
    args = ["mcp", "--vault", "VAULT", "--profile", "author", "--as", "ANA@example.com"]
    "#);
    let notes = output.stderr.replace(env!("CARGO_BIN_EXE_ctx"), "CTX");
    assert_snapshot!(notes, @"
    warning: `/opt/ctx` is not a program on this machine; name it by its path, as with `--program CTX`
    note: this goes into ~/.codex/config.toml, or .codex/config.toml in a project that is trusted
    ");
    let refused = place.ctx("mcp config emacs").exits(2);
    assert!(refused.stderr.contains("possible values"), "{}", refused.whole());
    let refused = place.ctx("mcp config zed --vault /nowhere").exits(2);
    assert!(
        refused.stderr.contains("no-vault") || refused.stderr.contains("not-a-vault"),
        "{}",
        refused.whole()
    );
}

#[test]
fn the_entry_names_the_principal_of_the_option_the_environment_or_git() {
    let place = vault();
    let named = |line: &str, is_in_environment: bool| {
        let run = place.typed(&format!("mcp config cursor --json {line}"));
        let run = if is_in_environment { run } else { run.without("CTX_PRINCIPAL") };
        let report = run.run().ok().json("ctx.mcp.config");
        let args: Vec<String> = serde_json::from_value(report["args"].clone()).unwrap();
        let at = args.iter().position(|arg| arg == "--as");
        (at.map(|at| args[at + 1].clone()), report["notes"].to_string())
    };
    let is = |(name, notes): (Option<String>, String), expected: &str| {
        assert_eq!(name.as_deref(), Some(expected));
        assert!(!notes.contains("does not name a principal"), "{notes}");
    };
    fs::write(place.home().join(".gitconfig"), "[user]\n\temail = git@example.com\n").unwrap();
    is(named("--as bo@example.com", true), "bo@example.com");
    is(named("", true), "ana@example.com");
    is(named("", false), "git@example.com");
    fs::remove_file(place.home().join(".gitconfig")).unwrap();
    let (name, notes) = named("", false);
    assert_eq!(name, None);
    assert!(notes.contains("the entry does not name a principal"), "{notes}");
    place.typed("mcp config cursor").var("CTX_PRINCIPAL", "a:b").run().exits(2);
}

/// Writes the file of a client in the home of a place, and returns its path.
fn file(place: &Place, path: &str, text: &str) -> std::path::PathBuf {
    let path = place.home().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn the_entry_is_put_into_the_configuration_of_each_client() {
    for (client, path) in [
        ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".config/Code/User/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("zed", ".config/zed/settings.json"),
    ] {
        let place = vault();
        let path = place.home().join(path);
        let line = format!("mcp config {client} --write");
        let tried = place.ctx(&format!("{line} --dry-run")).ok();
        assert!(tried.stdout.contains("\n+") && tried.stdout.contains("would be created"));
        assert!(!path.exists());
        let report = place.ctx(&format!("{line} --json")).ok().json("ctx.mcp.config");
        assert_eq!(report["written"]["change"], "created", "{report}");
        let written = fs::read_to_string(&path).unwrap();
        assert_eq!(written, format!("{}\n", report["text"].as_str().unwrap()));
        let again = place.ctx(&line).ok();
        assert!(again.stdout.contains("unchanged"), "{}", again.stdout);
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
    let place = vault();
    place.ctx("mcp config claude-code --write").ok();
    assert!(place.read(".mcp.json").contains("\"mcpServers\""));
    place.ctx("mcp config vscode --write --project .").ok();
    assert!(place.read(".vscode/mcp.json").contains("\"stdio\""));
    place.ctx("mcp config zed --project .").exits(2);
    for (line, why) in [
        ("claude-desktop --write --project .", "`claude-desktop` has no configuration in projects"),
        ("cursor --write --project none", "/none` is not a folder"),
        ("cursor --write --project nodes/a.md", "/a.md` is not a folder"),
    ] {
        let refused = place.ctx(&format!("mcp config {line}")).exits(2);
        assert!(refused.stderr.contains(why), "{}", refused.whole());
        let refused = place.ctx(&format!("mcp doctor {}", line.replace("--write ", ""))).exits(2);
        assert!(refused.stderr.contains(why), "{}", refused.whole());
    }
    assert!(!place.has("none"));
    let refused = place.typed("mcp config cursor --write").without("HOME").run().exits(2);
    assert!(refused.stderr.contains("no variable names the folder"), "{}", refused.whole());
}

#[test]
fn a_program_that_the_client_does_not_find_is_a_warning() {
    let place = vault();
    let own = env!("CARGO_BIN_EXE_ctx");
    let folder = std::path::Path::new(own).parent().unwrap().to_str().unwrap();
    let with_path = |line: &str, path: &str| place.typed(line).var("PATH", path).run().ok();
    for line in ["mcp config zed", "mcp config zed --write --dry-run", "mcp config zed --json"] {
        let output = with_path(line, "/nowhere");
        let warning = format!(
            "warning: `ctx` is not in a folder of the PATH; name it by its path, as with `--program {own}`"
        );
        assert!(output.stderr.contains(&warning), "{}", output.whole());
        assert!(output.stdout.ends_with('\n'), "{}", output.stdout);
        let found = with_path(line, &format!("/nowhere:{folder}"));
        assert!(!found.stderr.contains("warning"), "{}", found.whole());
        let found = with_path(&format!("{line} --program {own}"), "");
        assert!(!found.stderr.contains("warning"), "{}", found.whole());
    }
    let report = with_path("mcp config zed --json --program /opt/none", folder);
    let report = report.json("ctx.mcp.config");
    assert!(report["notes"][0].as_str().unwrap().starts_with("`/opt/none` is not a program"));
    let output = with_path("mcp config zed --program bin/ctx", folder);
    assert!(output.stderr.contains("`bin/ctx` is not an absolute path"), "{}", output.whole());
}

#[test]
fn processes_that_write_one_configuration_lose_no_entry_of_each_other() {
    for (round, (client, path, old)) in [
        ("cursor", ".cursor/mcp.json", None),
        ("zed", ".config/zed/settings.json", Some("{\n  // mine\n}\n")),
        ("codex", ".codex/config.toml", Some("# mine\n")),
        ("codex", ".codex/config.toml", None),
    ]
    .iter()
    .cycle()
    .take(12)
    .enumerate()
    {
        let place = vault();
        if let Some(old) = old {
            file(&place, path, old);
        }
        let names: Vec<String> = (0..8).map(|n| format!("server-{n}")).collect();
        let start = |name: &String| {
            let line = format!("mcp config {client} --write --name {name}");
            place.typed(&line).command().spawn().unwrap()
        };
        let started: Vec<_> = names.iter().map(start).collect();
        let done = started.into_iter().map(|child| child.wait_with_output().unwrap());
        let changes: Vec<String> = done
            .map(|output| {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                let told = String::from_utf8(output.stdout).unwrap();
                told.trim_end().rsplit(' ').next().unwrap().to_owned()
            })
            .collect();
        let created = changes.iter().filter(|change| *change == "created").count();
        assert_eq!(created, usize::from(old.is_none()), "{round}: {changes:?}");
        let written = fs::read_to_string(place.home().join(path)).unwrap();
        for name in &names {
            assert!(written.contains(&format!("\"{name}\"")), "{round}: {name}: {written}");
        }
        assert_eq!(written.contains("mine"), old.is_some());
        let left = fs::read_dir(place.home().join(path).parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "{round}");
    }
}

#[test]
fn an_entry_of_another_program_is_refused_and_one_of_ctx_is_changed() {
    let place = vault();
    for (client, path, form) in [
        (
            "cursor",
            ".cursor/mcp.json",
            "{\"mcpServers\": {\"vault\": {\"command\": \"COMMAND\", \"args\": [\"mcp\"]}}}\r\n",
        ),
        (
            "codex",
            ".codex/config.toml",
            "[mcp_servers.vault]\r\ncommand = 'COMMAND' # mine\r\nargs = ['mcp']\r\n",
        ),
    ] {
        let theirs = form.replace("COMMAND", "/opt/theirs");
        let path = file(&place, path, &theirs);
        let line = format!("mcp config {client} --write");
        let refused = place.ctx(&line).exits(1);
        let why = "`vault` exists already, and starts another program";
        assert!(refused.stderr.contains(why) && refused.stderr.contains("`--name`"));
        assert_eq!(fs::read_to_string(&path).unwrap(), theirs);
        place.ctx(&format!("{line} --name ours")).ok();
        let both = fs::read_to_string(&path).unwrap();
        assert!(both.contains("/opt/theirs") && both.contains("ours"), "{both}");
        fs::write(&path, form.replace("COMMAND", "/old/ctx")).unwrap();
        let changed = place.ctx(&format!("{line} --program /opt/ctx")).ok();
        assert!(changed.stdout.ends_with("  updated\n"), "{}", changed.stdout);
        let written = fs::read_to_string(&path).unwrap();
        assert!(written.contains("/opt/ctx") && !written.contains("/old/ctx"), "{written}");
        assert_eq!(written.matches('\n').count(), written.matches("\r\n").count());
        assert_eq!(written.contains("# mine"), client == "codex");
    }
}

#[test]
fn mcp_config_keeps_the_rest_of_a_configuration() {
    let place = vault();
    let text = "// mine\n{\n  \"theme\": \"One\", // dark\n  \"context_servers\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n";
    let path = file(&place, ".config/zed/settings.json", text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let output = place.ctx("mcp config zed --write").ok();
    let root = place.path("").to_string_lossy().trim_end_matches('/').to_owned();
    let home = place.home().to_string_lossy().into_owned();
    let shown = output.stdout.replace(&root, "VAULT").replace(&home, "HOME");
    assert_snapshot!(shown, @r#"
    --- HOME/.config/zed/settings.json
    +++ HOME/.config/zed/settings.json
    @@ -2,6 +2,10 @@
     {
       "theme": "One", // dark
       "context_servers": {
    -    "other": {"command": "x"}
    +    "other": {"command": "x"},
    +    "vault": {
    +      "args": ["mcp", "--vault", "VAULT", "--as", "ana@example.com"],
    +      "command": "ctx"
    +    }
       }
     }
    HOME/.config/zed/settings.json  updated
    "#);
    let written = fs::read_to_string(&path).unwrap();
    let added: Vec<&str> = written.lines().filter(|line| !text.contains(line)).collect();
    assert!(
        added.len() == 5 && written.starts_with("// mine\n{\n  \"theme\": \"One\", // dark\n"),
        "{written}"
    );
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    // The entry has another profile, and additions of the user.
    fs::write(
        &path,
        written.replace("\"command\": \"ctx\"", "\"env\": {\"K\": \"v\"}, \"command\": \"ctx\""),
    )
    .unwrap();
    place.ctx("mcp config zed --write --profile author").ok();
    let written = fs::read_to_string(&path).unwrap();
    assert!(written.contains("\"author\"") && written.contains("\"K\": \"v\""), "{written}");
}

#[test]
fn a_file_that_is_not_understood_is_left_as_it_is() {
    let place = vault();
    for (client, path, text, why) in [
        ("cursor", ".cursor/mcp.json", "{\n  \"mcpServers\": {\n", "line 2"),
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": []}", "`mcpServers` is not an object"),
        ("codex", ".codex/config.toml", "a =\n", "line 1"),
        ("codex", ".codex/config.toml", "mcp_servers = {}\n", "cannot"),
    ] {
        let path = file(&place, path, text);
        let refused = place.ctx(&format!("mcp config {client} --write")).exits(1);
        assert!(refused.stderr.contains("error[refused]"), "{}", refused.whole());
        if why != "cannot" {
            assert!(refused.stderr.contains(why), "{}", refused.whole());
        }
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }
}

#[test]
fn a_link_is_left_as_it_is() {
    let place = vault();
    let other = file(&place, "dotfiles/mcp.json", "{}");
    fs::create_dir_all(place.home().join(".cursor")).unwrap();
    symlink(&other, place.home().join(".cursor/mcp.json")).unwrap();
    let refused = place.ctx("mcp config cursor --write").exits(1);
    assert!(refused.stderr.contains("symbolic link"), "{}", refused.whole());
    // The folder of a project leads out of it, as another author may have made it.
    symlink(place.home().join("dotfiles"), place.path(".vscode")).unwrap();
    let refused = place.ctx("mcp config vscode --write --project .").exits(1);
    assert!(refused.stderr.contains("not in the project"), "{}", refused.whole());
    assert_eq!(fs::read_to_string(&other).unwrap(), "{}");
    let named = other.to_string_lossy().into_owned();
    place.ctx(&format!("mcp config cursor --write --file {named}")).ok();
    assert!(fs::read_to_string(&other).unwrap().contains("\"vault\""));
}

#[test]
fn an_entry_can_name_the_folder_of_the_access_log() {
    let place = vault();
    for client in ["claude-code", "codex", "zed"] {
        let line = format!("mcp config {client} --audit-dir ../log --json");
        let report = place.ctx(&line).ok().json("ctx.mcp.config");
        let dir = report["env"]["CTX_AUDIT_DIR"].as_str().unwrap();
        assert!(dir.starts_with('/') && dir.ends_with("/../log"), "{report}");
        let text = report["text"].as_str().unwrap();
        assert!(text.contains("CTX_AUDIT_DIR") && text.contains(dir), "{text}");
    }
    place.ctx("mcp config cursor --audit-dir ../log --write").exits(2);
}

#[test]
fn an_entry_names_no_folder_in_which_the_server_would_record_nothing() {
    let place = vault();
    let inside = place.path("log").to_string_lossy().into_owned();
    for dir in ["log", ".", "./nodes/log", &inside] {
        let out = place.ctx(&format!("mcp config cursor --audit-dir {dir}")).exits(2);
        assert!(out.stderr.contains("a folder in the vault"), "{dir}: {}", out.whole());
        assert!(!out.stdout.contains("CTX_AUDIT_DIR"), "{dir}: {}", out.whole());
    }
}
