//! Reads and writes the entry of a server in a client's configuration, without changing the rest of
//! the file (MCP-23).

use serde_json::{Map, Value};

use super::{Client, Started, jsonc, toml};

/// The reason to leave a configuration as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unedited {
    /// The client could not read the text.
    #[error("{0}")]
    Invalid(String),
    /// The server has an entry of another kind.
    #[error("`{0}` exists already, and is not a program that the client starts")]
    OtherKind(String),
    /// The server has the entry of another program.
    #[error("`{0}` exists already, and starts another program")]
    Other(String),
    /// The spelling of the entry's table cannot be edited.
    #[error("the spelling of `mcp_servers` allows no further table")]
    Spelling,
}

/// Returns the text with the entry of a server; `None` if it already has the entry. An entry of the
/// same name is changed if ctx wrote it, and keeps the additions of the user.
///
/// # Errors
/// The configuration must stay as it is.
pub(crate) fn with(
    client: Client,
    text: &str,
    server: &Started,
) -> Result<Option<String>, Unedited> {
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        return Ok(Some(with_ends_of(text, client.entry(server) + "\n")));
    }
    let old = read(client, text)?;
    let (key, name) = (client.key(), server.name.as_str());
    let there = old.get(key).and_then(|servers| servers.get(name));
    let (wanted, mut missing) = (client.members(server), client.members(server));
    if let Some(there) = there {
        check_is_ours(there, server)?;
        missing.retain(|member, value| there.get(member.as_str()) != Some(value));
    }
    let place = (client.key(), name);
    let edited = match client.is_toml() {
        true if there.is_none() => add_table(client, (text, &old), server)?,
        true => toml::replaced(text, &[key, name], &missing).ok_or(Unedited::Spelling)?,
        false => set_members(text, place, (there.is_none(), &missing))?,
    };
    let edited = with_ends_of(text, edited);
    let mut expected = old;
    for (member, value) in wanted {
        expected[key][name][member] = value;
    }
    // The edit must change nothing else.
    match read(client, &edited) {
        Ok(new) if new == expected => Ok((edited != text).then_some(edited)),
        _ => Err(Unedited::Spelling),
    }
}

/// Returns the entries of a configuration: the members of the object with the servers.
///
/// # Errors
/// The text cannot be read.
pub(crate) fn entries(client: Client, text: &str) -> Result<Map<String, Value>, Unedited> {
    let mut all = read(client, text)?;
    Ok(match all.get_mut(client.key()).map(Value::take) {
        Some(Value::Object(entries)) => entries,
        _ => Map::new(),
    })
}

/// Returns true if an entry starts a program with the arguments of a server of ctx.
pub(crate) fn is_server(entry: &Value) -> bool {
    entry["command"].is_string() && entry["args"][0] == "mcp"
}

/// Returns true if an entry starts ctx, or the given program, as a server. Other entries are those
/// of other authors.
pub(crate) fn is_ours(entry: &Value, program: &str) -> bool {
    let command = entry["command"].as_str().unwrap_or_default();
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default();
    is_server(entry) && (["ctx", "ctx.exe"].contains(&name) || command == program)
}

fn read(client: Client, text: &str) -> Result<Value, Unedited> {
    match client.is_toml() {
        true => {
            let read: Result<Value, ::toml::de::Error> = ::toml::from_str(text);
            read.map_err(|why| Unedited::Invalid(why.to_string().trim_end().to_owned()))
        }
        false => jsonc::value(text).map_err(|why| Unedited::Invalid(why.to_string())),
    }
}

/// Refuses an entry of another program.
fn check_is_ours(there: &Value, server: &Started) -> Result<(), Unedited> {
    let has_address = ["url", "httpUrl", "serverUrl"].iter().any(|name| there.get(name).is_some());
    match has_address || !there["command"].is_string() {
        true => Err(Unedited::OtherKind(server.name.clone())),
        false if is_ours(there, &server.command) => Ok(()),
        false => Err(Unedited::Other(server.name.clone())),
    }
}

/// Returns a JSON text in which the entry has these members, or these new values.
fn set_members(
    text: &str,
    (key, name): (&str, &str),
    (is_new, members): (bool, &Map<String, Value>),
) -> Result<String, Unedited> {
    let invalid = |why: jsonc::Unread| Unedited::Invalid(why.to_string());
    if is_new {
        let entry = Value::Object(members.clone());
        return jsonc::set(text, &[key, name], &entry).map_err(invalid);
    }
    // Additions of the user to the entry stay.
    let set = |text: String, (member, value): (&String, &Value)| {
        jsonc::set(&text, &[key, name, member], value)
    };
    members.iter().try_fold(text.to_owned(), set).map_err(invalid)
}

/// Returns a TOML text with the table of a server at its end, where a table is always valid.
fn add_table(
    client: Client,
    (text, old): (&str, &Value),
    server: &Started,
) -> Result<String, Unedited> {
    if old.get(client.key()).is_some_and(|servers| !servers.is_object()) {
        return Err(Unedited::Spelling);
    }
    let end = if text.ends_with('\n') { "\n" } else { "\n\n" };
    Ok(format!("{text}{end}{}\n", client.entry(server)))
}

/// Returns a text with the line ends of another one, if all of those are CRLF.
fn with_ends_of(other: &str, text: String) -> String {
    let lines = other.matches('\n').count();
    match lines > 0 && other.matches("\r\n").count() == lines {
        true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn server() -> Started {
        Started {
            name: "a".to_owned(),
            command: "ctx".to_owned(),
            args: ["mcp", "--vault", "/v"].map(str::to_owned).to_vec(),
            audit_dir: None,
        }
    }

    #[test]
    fn an_entry_is_put_beside_others_and_then_found() {
        for (client, text) in [
            (Client::Cursor, "{\"mcpServers\": {\"b\": {\"url\": \"http://x\"}}, \"c\": [1, 2]}"),
            (Client::Vscode, "{\n  // mine\n  \"inputs\": [],\n}"),
            (Client::Zed, "// mine\n{\"theme\": \"One\"}"),
            (Client::Codex, "# mine\nmodel = \"x\"\n[mcp_servers.b]\ncommand = \"b\" # two"),
            (Client::Codex, ""),
            (Client::Gemini, "\u{feff}\n"),
        ] {
            let edited = with(client, text, &server()).unwrap().unwrap();
            assert_eq!(entries(client, &edited).unwrap()["a"]["command"], "ctx", "{edited}");
            assert_eq!(edited.matches("// mine").count(), text.matches("// mine").count());
            assert_eq!(with(client, &edited, &server()), Ok(None));
        }
    }

    #[test]
    fn an_entry_of_ours_is_changed_and_keeps_what_the_user_added() {
        for (client, text) in [
            (
                Client::Cursor,
                "{\"mcpServers\": {\"a\": {\"args\": [\"mcp\", \"old\"], \"command\": \"COMMAND\", \"env\": {\"K\": \"v\"}}}} // mine",
            ),
            (
                Client::Codex,
                "[mcp_servers.a] # mine\nargs = [\"mcp\", \"old\"]\ncommand = 'COMMAND'\nenv = {K = \"v\"}\n[mcp_servers.a.tools]\n",
            ),
            (
                Client::Codex,
                "# mine\nmcp_servers = {a = {command = 'COMMAND', args = ['mcp'], env.K = 'v'}}",
            ),
        ] {
            for (command, program) in [
                ("ctx", "ctx"),
                ("/opt/bin/ctx", "ctx"),
                ("C:/bin/ctx.exe", "ctx"),
                ("ctx", "/opt/ours"),
                ("/opt/ours", "/opt/ours"),
            ] {
                let server = Started { command: program.to_owned(), ..server() };
                let edited = with(client, &text.replace("COMMAND", command), &server);
                let edited = edited.unwrap().unwrap();
                let entry = &entries(client, &edited).unwrap()["a"];
                assert_eq!((&entry["env"]["K"], &entry["args"][2]), (&json!("v"), &json!("/v")));
                assert!(entry["command"] == program && edited.contains("mine"), "{edited}");
                assert_eq!(with(client, &edited, &server), Ok(None));
            }
        }
    }

    #[test]
    fn an_entry_of_another_program_is_left_as_it_is() {
        let other = Unedited::Other("a".to_owned());
        for (command, args) in [
            ("x", "[\"mcp\"]"),
            ("ctx", "[\"serve\", \"mcp\"]"),
            ("ctx", "[]"),
            ("ctx", "\"mcp\""),
            ("/opt/ctx/run", "[\"mcp\"]"),
            ("ctx2", "[\"mcp\"]"),
            ("", "[\"mcp\"]"),
        ] {
            let json = format!(
                "{{\"mcpServers\": {{\"a\": {{\"command\": \"{command}\", \"args\": {args}}}}}}}"
            );
            let toml = format!("[mcp_servers.a]\ncommand = \"{command}\"\nargs = {args}\n");
            assert_eq!(with(Client::Gemini, &json, &server()), Err(other.clone()), "{json}");
            assert_eq!(with(Client::Codex, &toml, &server()), Err(other.clone()), "{toml}");
        }
    }

    #[test]
    fn line_ends_stay_those_of_the_file() {
        let old = "\"mcpServers\": {\n\"a\": {\"command\": \"ctx\", \"args\": [\"mcp\",\n\"x\"]}}";
        for (client, text) in [
            (Client::Cursor, "{}\n".to_owned()),
            (Client::Cursor, "{\n}".to_owned()),
            (Client::Cursor, "{ // mine\n  \"b\": [\n 1\n ]\n}".to_owned()),
            (Client::Vscode, format!("{{{old}}}").replace("mcpServers", "servers")),
            (Client::Cursor, format!("{{{old}}}\n")),
            (Client::Zed, "\n".to_owned()),
            (Client::Codex, "\n".to_owned()),
            (Client::Codex, "a = \"\"\"\nx\"\"\"\n".to_owned()),
            (Client::Codex, "a = 1\nb = 2".to_owned()),
            (Client::Codex, "[mcp_servers.a]\nargs = [\n\"mcp\",\n]\ncommand = \"ctx\"".to_owned()),
        ] {
            let text = text.replace('\n', "\r\n");
            let edited = with(client, &text, &server()).unwrap().unwrap();
            assert!(!edited.replace("\r\n", "").contains(['\n', '\r']), "{edited:?}");
            let plain = with(client, &text.replace("\r\n", "\n"), &server()).unwrap().unwrap();
            assert!(!plain.contains('\r'), "{plain:?}");
        }
    }

    #[test]
    fn edit_refuses_files_it_cannot_edit_without_a_loss() {
        for (client, text, why) in [
            (Client::Cursor, "{\"mcpServers\": []}", "`mcpServers` is not an object"),
            (Client::Cursor, "[1]", "line 1: expected an object"),
            (Client::Cursor, "{\n\"a\": 1,\n\"a\": 2}", "two members with the name `a`"),
            (Client::Cursor, "{\n", "line 1"),
            (Client::Cursor, "{\"mcpServers\": {\"a\": {\"url\": \"http://x\"}}}", "not a program"),
            (
                Client::Gemini,
                "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"httpUrl\": \"\"}}}",
                "not a program",
            ),
            (Client::Codex, "[mcp_servers.a]\ncommand = \"x\"\n", "starts another program"),
            (Client::Codex, "[mcp_servers.a]\nurl = \"http://x\"\n", "not a program"),
            (Client::Codex, "[[mcp_servers.a]]\ncommand = \"ctx\"\n", "not a program"),
            (Client::Codex, "mcp_servers = {b = {command = \"x\"}}\n", "allows no further table"),
            (Client::Codex, "mcp_servers = 1\n", "allows no further table"),
            (Client::Codex, "a = \n", "line 1"),
        ] {
            let refused = with(client, text, &server()).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
