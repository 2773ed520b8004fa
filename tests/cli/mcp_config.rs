//! `ctx mcp config`: what is pasted starts the server.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use insta::assert_snapshot;
use serde_json::Value;

use crate::harness::Place;

fn vault() -> Place {
    Place::published(&[("nodes/a", "# A\n")])
}

#[test]
fn what_is_printed_starts_the_server() {
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
    assert_snapshot!(output.stderr, @"note: this belongs into ~/.codex/config.toml, or .codex/config.toml in a project that is trusted");
    let refused = place.ctx("mcp config emacs").exits(2);
    assert!(refused.stderr.contains("possible values"), "{}", refused.whole());
    let refused = place.ctx("mcp config zed --vault /nowhere").exits(2);
    assert!(
        refused.stderr.contains("no-vault") || refused.stderr.contains("not-a-vault"),
        "{}",
        refused.whole()
    );
}

/// The file of a client in the home of a place, with what it has.
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
    place.ctx("mcp config claude-desktop --write --project .").exits(2);
    place.ctx("mcp config zed --project .").exits(2);
}

#[test]
fn what_else_is_in_a_configuration_stays() {
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
    +      "args": ["mcp", "--vault", "VAULT"],
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
    // Another profile, and what the user added to the entry.
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
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": []}", "`mcpServers` is no object"),
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
    // A project whose folder leads out of it, as another author may have made it.
    symlink(place.home().join("dotfiles"), place.path(".vscode")).unwrap();
    let refused = place.ctx("mcp config vscode --write --project .").exits(1);
    assert!(refused.stderr.contains("not in the project"), "{}", refused.whole());
    assert_eq!(fs::read_to_string(&other).unwrap(), "{}");
    let named = other.to_string_lossy().into_owned();
    place.ctx(&format!("mcp config cursor --write --file {named}")).ok();
    assert!(fs::read_to_string(&other).unwrap().contains("\"vault\""));
}
