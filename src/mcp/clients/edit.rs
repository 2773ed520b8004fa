//! The entry of a server in a client's configuration: read, and put there without a loss of what else
//! is in the file (MCP-23).

use serde_json::{Map, Value, json};

use super::jsonc;
use super::{Client, Started};

/// Why a configuration is left as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unedited {
    /// The text is not what the client reads.
    #[error("{0}")]
    Invalid(String),
    /// The server has an entry of another kind.
    #[error("`{0}` is there already, and is not a program that the client starts")]
    OtherKind(String),
    /// The server has another entry, which is edited by hand.
    #[error("`{0}` is there already, with other words")]
    Other(String),
    /// The place of the entry is spelled in a way that is not edited.
    #[error("`mcp_servers` is spelled in a way to which no table can be added")]
    Spelling,
}

/// The text with the entry of a server; none where it has the entry already.
///
/// # Errors
/// It is left as it is.
pub(crate) fn with(
    client: Client,
    text: &str,
    server: &Started,
) -> Result<Option<String>, Unedited> {
    if text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}').is_empty() {
        return Ok(Some(client.entry(server) + "\n"));
    }
    match client.is_toml() {
        true => in_toml(client, text, server),
        false => in_json(client, text, server),
    }
}

/// The entries of a configuration: the members of the object with the servers.
///
/// # Errors
/// It cannot be read.
pub(crate) fn entries(client: Client, text: &str) -> Result<Map<String, Value>, Unedited> {
    let mut all = read(client, text)?;
    Ok(match all.get_mut(client.key()).map(Value::take) {
        Some(Value::Object(entries)) => entries,
        _ => Map::new(),
    })
}

fn read(client: Client, text: &str) -> Result<Value, Unedited> {
    match client.is_toml() {
        true => {
            let read: Result<Value, toml::de::Error> = toml::from_str(text);
            read.map_err(|why| Unedited::Invalid(why.to_string().trim_end().to_owned()))
        }
        false => jsonc::value(text).map_err(|why| Unedited::Invalid(why.to_string())),
    }
}

fn in_json(client: Client, text: &str, server: &Started) -> Result<Option<String>, Unedited> {
    let invalid = |why: jsonc::Unread| Unedited::Invalid(why.to_string());
    let old = read(client, text)?;
    let (key, name) = (client.key(), server.name.as_str());
    let wanted = client.members(server);
    let there = old.get(key).and_then(|servers| servers.get(name));
    let mut expected = old.clone();
    let edited = match there {
        None => jsonc::set(text, &[key, name], &Value::Object(wanted.clone())).map_err(invalid)?,
        Some(Value::Object(members)) if is_started(members) => {
            // What the user added to the entry stays.
            let differ =
                wanted.iter().filter(|(member, value)| members.get(*member) != Some(*value));
            let set = |text: String, (member, value): (&String, &Value)| {
                jsonc::set(&text, &[key, name, member], value)
            };
            differ.into_iter().try_fold(text.to_owned(), set).map_err(invalid)?
        }
        Some(_) => return Err(Unedited::OtherKind(name.to_owned())),
    };
    for (member, value) in wanted {
        expected[key][name][member] = value;
    }
    // Nothing else changed.
    match read(client, &edited) {
        Ok(new) if new == expected => Ok((edited != text).then_some(edited)),
        _ => Err(Unedited::Spelling),
    }
}

/// Whether an entry is that of a program, and not of an address.
fn is_started(members: &Map<String, Value>) -> bool {
    members.get("command").is_some_and(Value::is_string)
        && !["url", "httpUrl", "serverUrl"].iter().any(|name| members.contains_key(*name))
}

fn in_toml(client: Client, text: &str, server: &Started) -> Result<Option<String>, Unedited> {
    let old = read(client, text)?;
    let (key, name) = (client.key(), server.name.as_str());
    let wanted = client.members(server);
    match old.get(key).and_then(|servers| servers.get(name)) {
        None => {}
        Some(Value::Object(there)) if wanted.iter().all(|(k, v)| there.get(k) == Some(v)) => {
            return Ok(None);
        }
        Some(_) => return Err(Unedited::Other(name.to_owned())),
    }
    // A table may stand at the end, whatever comes before it.
    let end = if text.ends_with('\n') { "\n" } else { "\n\n" };
    let edited = format!("{text}{end}{}\n", client.entry(server));
    let mut expected = old;
    if expected.get(key).is_none() {
        expected[key] = json!({});
    }
    if !expected[key].is_object() {
        return Err(Unedited::Spelling);
    }
    expected[key][name] = Value::Object(wanted);
    match read(client, &edited) {
        Ok(new) if new == expected => Ok(Some(edited)),
        _ => Err(Unedited::Spelling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> Started {
        Started {
            name: "a".to_owned(),
            command: "ctx".to_owned(),
            args: ["mcp", "--vault", "/v"].map(str::to_owned).to_vec(),
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
    fn an_entry_that_is_there_keeps_what_the_user_added() {
        let text = "{\"mcpServers\": {\"a\": {\"args\": [\"old\"], \"command\": \"x\", \"env\": {\"K\": \"v\"}}}}";
        let edited = with(Client::Cursor, text, &server()).unwrap().unwrap();
        let entry = &entries(Client::Cursor, &edited).unwrap()["a"];
        assert_eq!((&entry["env"]["K"], &entry["args"][0]), (&json!("v"), &json!("mcp")));
    }

    #[test]
    fn what_cannot_be_edited_without_a_loss_is_refused() {
        for (client, text, why) in [
            (Client::Cursor, "{\"mcpServers\": []}", "`mcpServers` is no object"),
            (Client::Cursor, "[1]", "line 1: expected an object"),
            (Client::Cursor, "{\n\"a\": 1,\n\"a\": 2}", "two members with the name `a`"),
            (Client::Cursor, "{\n", "line 1"),
            (Client::Cursor, "{\"mcpServers\": {\"a\": {\"url\": \"http://x\"}}}", "not a program"),
            (
                Client::Gemini,
                "{\"mcpServers\": {\"a\": {\"command\": \"x\", \"httpUrl\": \"\"}}}",
                "not a program",
            ),
            (Client::Codex, "[mcp_servers.a]\ncommand = \"x\"\n", "with other words"),
            (Client::Codex, "mcp_servers = {b = {command = \"x\"}}\n", "spelled in a way"),
            (Client::Codex, "mcp_servers = 1\n", "spelled in a way"),
            (Client::Codex, "a = \n", "line 1"),
        ] {
            let refused = with(client, text, &server()).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
