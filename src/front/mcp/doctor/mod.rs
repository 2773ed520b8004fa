//! Connects to a server as a client does, and reports problems (MCP-23).
//!
//! `carrier` starts a program or connects to an address, `http` is a minimal client, and this
//! module makes the requests and judges the answers.

mod carrier;
mod http;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use carrier::Broken;
pub(crate) use carrier::{Carrier, Started, Url, started};

use crate::service::report::doctor::{Check, Checked, Outcome};

/// The revision in which each request describes its client, and the one before it.
const STATELESS: &str = "2026-07-28";
const WITH_SESSIONS: &str = "2025-11-25";
/// Maximum number of vaults of a server that are tested.
const VAULTS: usize = 16;
/// Maximum length of a quoted text of a server.
const QUOTED: usize = 400;

/// The results so far.
#[derive(Debug, Default)]
pub(crate) struct Diagnosis {
    pub(crate) checks: Vec<Checked>,
}

impl Diagnosis {
    /// Adds a check.
    pub(crate) fn add(&mut self, check: Check, outcome: Outcome, message: impl Into<String>) {
        self.checks.push(Checked { check, outcome, message: message.into(), hint: None });
    }

    /// Adds a remedy to the last check.
    pub(crate) fn hint(&mut self, hint: impl Into<String>) {
        if let Some(last) = self.checks.last_mut() {
            last.hint = Some(hint.into());
        }
    }

    /// Returns true if no check found a problem.
    pub(crate) fn works(&self) -> bool {
        self.checks.iter().all(|check| check.outcome != Outcome::Problem)
    }
}

/// Examines a server.
pub(crate) fn examine(carrier: &Carrier, found: &mut Diagnosis) {
    let asked = [request(1, "server/discover", json!({})), request(2, "tools/list", json!({}))];
    let answers = match carrier.ask(&asked) {
        Ok(answers) => answers,
        Err(broken) => return broken_off(&broken, found),
    };
    found.add(Check::Connect, Outcome::Ok, "the server answers");
    let Some(about) = result(&answers, 1) else {
        let why = error(&answers, 1);
        found.add(Check::Protocol, Outcome::Problem, format!("`server/discover` fails: {why}"));
        return found.hint("the server speaks an older revision, or is not `ctx mcp`");
    };
    protocol(carrier, about, found);
    version(about, found);
    let Some(tools) = result(&answers, 2).and_then(|list| list["tools"].as_array()) else {
        let why = error(&answers, 2);
        return found.add(Check::Tools, Outcome::Problem, format!("`tools/list` fails: {why}"));
    };
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    let profile = match names.as_slice() {
        names if names.contains(&"context_approve") || names.contains(&"context_review") => {
            "reviewer"
        }
        names if names.contains(&"context_create") => "author",
        _ => "reader",
    };
    let many = format!("{} tools, of the profile `{profile}`", names.len());
    match names.is_empty() {
        true => found.add(Check::Tools, Outcome::Problem, "the server offers no tools"),
        false => found.add(Check::Tools, Outcome::Ok, many),
    }
    if let Carrier::Started(started) = carrier
        && profile != "reader"
    {
        principal(started, found);
    }
    calls(carrier, tools, found);
}

/// Checks which revisions the server speaks.
fn protocol(carrier: &Carrier, about: &Value, found: &mut Diagnosis) {
    let params = json!({
        "protocolVersion": WITH_SESSIONS, "capabilities": {}, "clientInfo": client(),
    });
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let older = carrier.ask(&[begin]);
    let older = older.as_ref().ok().and_then(|answers| result(answers, 1));
    let agreed = older.and_then(|begun| begun["protocolVersion"].as_str());
    let newer = about["supportedVersions"].as_array();
    let is_newer = newer.is_some_and(|all| all.iter().any(|one| one == STATELESS));
    match (is_newer, agreed) {
        (true, Some(WITH_SESSIONS)) => {
            let message = format!("revisions {WITH_SESSIONS} and {STATELESS}");
            found.add(Check::Protocol, Outcome::Ok, message);
        }
        _ => {
            let message = format!("not both of the revisions {WITH_SESSIONS} and {STATELESS}");
            found.add(Check::Protocol, Outcome::Warning, message);
        }
    }
}

/// Checks that the server is this version of ctx.
fn version(about: &Value, found: &mut Diagnosis) {
    let server = &about["_meta"]["io.modelcontextprotocol/serverInfo"];
    let text = |member: &str| quoted(server[member].as_str().unwrap_or("unnamed"));
    let (name, version) = (text("name"), text("version"));
    let own = env!("CARGO_PKG_VERSION");
    if name != "contextnest" {
        found.add(Check::Version, Outcome::Problem, format!("the server is `{name}`, not ctx"));
        found.hint("correct the command of the entry: `ctx mcp config CLIENT` prints it");
    } else if version != own {
        let message = format!("the server is ctx {version}, but this is ctx {own}");
        found.add(Check::Version, Outcome::Warning, message);
        found.hint("install one version, or name the program with `--program`");
    } else {
        found.add(Check::Version, Outcome::Ok, format!("ctx {version}"));
    }
}

/// Checks that writes are recorded for a principal that the entry names.
fn principal(started: &Started, found: &mut Diagnosis) {
    let is_named = started.argv.iter().any(|arg| arg == "--as" || arg.starts_with("--as="));
    if is_named || started.added.contains_key("CTX_PRINCIPAL") {
        found.add(Check::Principal, Outcome::Ok, "the entry names a principal");
        return;
    }
    let message =
        "the entry does not name a principal: writes are recorded for the user of the client";
    found.add(Check::Principal, Outcome::Warning, message);
    found.hint("give the agent a name: `ctx mcp config CLIENT --profile author --as NAME`");
}

/// Makes one call for each vault, and verifies it.
fn calls(carrier: &Carrier, tools: &[Value], found: &mut Diagnosis) {
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name);
    for name in ["context_init", "context_verify"] {
        let Some(tool) = tool(name) else { continue };
        let vaults = tool["inputSchema"]["properties"]["vault"]["enum"].as_array();
        let vaults = vaults.into_iter().flatten().filter_map(Value::as_str).map(Some);
        let vaults: Vec<Option<&str>> = vaults.take(VAULTS).collect();
        let vaults = if vaults.is_empty() { vec![None] } else { vaults };
        for vault in vaults {
            let mut arguments = Map::new();
            arguments.extend(vault.map(|vault| ("vault".to_owned(), Value::from(vault))));
            let params = json!({"name": name, "arguments": arguments});
            let answers = match carrier.ask(&[request(1, "tools/call", params)]) {
                Ok(answers) => answers,
                Err(broken) => return broken_off(&broken, found),
            };
            let of = vault.map_or_else(String::new, |vault| format!(" of `{}`", quoted(vault)));
            called(name, &of, &answers, found);
        }
    }
}

/// Checks the answer to a call.
fn called(name: &str, of: &str, answers: &[Value], found: &mut Diagnosis) {
    let check = if name == "context_verify" { Check::Verify } else { Check::Call };
    let Some(result) = result(answers, 1) else {
        let why = error(answers, 1);
        return found.add(check, Outcome::Problem, format!("`{name}`{of} fails: {why}"));
    };
    let report = &result["structuredContent"];
    if result["isError"] == true {
        let code = quoted(report["code"].as_str().unwrap_or("without a code"));
        let why = quoted(report["message"].as_str().unwrap_or_default());
        found.add(check, Outcome::Problem, format!("`{name}`{of} fails: {code}: {why}"));
        return found.hint(format!("`ctx help {code}` explains it"));
    }
    if check == Check::Call {
        return found.add(check, Outcome::Ok, format!("`{name}`{of} answers"));
    }
    let verdict = quoted(report["verdict"].as_str().unwrap_or("no verdict"));
    // Unpublished edits are everyday work.
    if verdict.starts_with("intact") {
        return found.add(check, Outcome::Ok, format!("the vault{of} verifies: {verdict}"));
    }
    found.add(check, Outcome::Problem, format!("the vault{of} does not verify: {verdict}"));
    found.hint("`ctx verify` lists the findings and their remedies");
}

/// Adds the problem of a server that did not answer.
fn broken_off(broken: &Broken, found: &mut Diagnosis) {
    let (check, message, hint) = match broken {
        Broken::NotFound(program, advice) => {
            (Check::Program, format!("`{}` is not found", quoted(program)), advice.as_deref())
        }
        Broken::Ended { why, said } => {
            let hint = match said {
                said if said.contains("[no-vault]") || said.contains("[not-a-vault]") => {
                    Some("name the folder of a vault with `--vault`")
                }
                _ => None,
            };
            let said = said.trim();
            let said = if said.is_empty() {
                String::new()
            } else {
                format!("; it says: {}", quoted(said))
            };
            (Check::Connect, format!("the server {}{said}", quoted(why)), hint)
        }
        Broken::Unreachable(why) => (
            Check::Connect,
            format!("the server cannot be reached: {why}"),
            Some("start it: `ctx mcp --http 127.0.0.1:8080 --tokens FILE`"),
        ),
        Broken::Status(401) => (
            Check::Connect,
            "the server refuses the token, or asks for one (401)".to_owned(),
            Some(
                "`ctx mcp token list --tokens FILE` lists expired tokens; pass the token with \
                 `--token-file`",
            ),
        ),
        Broken::Status(421) => (
            Check::Connect,
            "the server does not serve this host (421)".to_owned(),
            Some("name the host with `--allow-host` where the server is started"),
        ),
        Broken::Status(status) => {
            (Check::Connect, format!("the server answers with status {status}"), None)
        }
        Broken::Malformed(why) => {
            (Check::Connect, format!("the answer is not from an MCP server: {}", quoted(why)), None)
        }
    };
    found.add(check, Outcome::Problem, message);
    if let Some(hint) = hint {
        found.hint(hint);
    }
}

fn client() -> Value {
    json!({"name": "ctx-doctor", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns a request that describes its client.
fn request(id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": client(),
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

fn answer(answers: &[Value], id: u64) -> Option<&Value> {
    answers.iter().find(|answer| answer["id"] == id && answer.get("method").is_none())
}

fn result(answers: &[Value], id: u64) -> Option<&Value> {
    answer(answers, id)?.get("result")
}

/// Returns the text of an error, or states that the server did not answer.
fn error(answers: &[Value], id: u64) -> String {
    let message = answer(answers, id).and_then(|answer| answer["error"]["message"].as_str());
    message.map_or_else(|| "the server did not answer".to_owned(), quoted)
}

/// Returns a text of a server on one line, shortened.
fn quoted(text: &str) -> String {
    let text = crate::values::model::visible::shown(text);
    let short = crate::values::text_util::beginning(&text, QUOTED);
    if short.len() < text.len() { format!("{short} ...") } else { short.to_owned() }
}

/// Returns the variables that a client passes to a program: its own, and those of the entry.
pub(crate) fn variables(
    own: &BTreeMap<String, String>,
    added: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    own.iter().chain(added).map(|(name, value)| (name.clone(), value.clone())).collect()
}
