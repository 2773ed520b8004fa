//! Programs that start the server themselves, and how each is told to (MCP-23).

use serde_json::{Value, json};

/// A program with a configuration of its own for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Zed.
    Zed,
}

/// What a client starts.
#[derive(Debug)]
pub(crate) struct Started {
    /// Its name among the servers of the client.
    pub(crate) name: String,
    /// The program.
    pub(crate) command: String,
    /// Its arguments.
    pub(crate) args: Vec<String>,
}

impl Client {
    /// Where its configuration is.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::ClaudeCode => ".mcp.json in the folder of the project",
            Self::ClaudeDesktop => {
                "claude_desktop_config.json: in ~/Library/Application Support/Claude on macOS, \
                 %APPDATA%\\Claude on Windows, ~/.config/Claude on Linux"
            }
            Self::Cursor => ".cursor/mcp.json in the folder of the project, or ~/.cursor/mcp.json",
            Self::Vscode => ".vscode/mcp.json in the folder of the project",
            Self::Codex => "~/.codex/config.toml",
            Self::Gemini => {
                ".gemini/settings.json in the folder of the project, or ~/.gemini/settings.json"
            }
            Self::Zed => "~/.config/zed/settings.json, or .zed/settings.json in the project",
        }
    }

    /// What is to be in it.
    pub(crate) fn entry(self, server: &Started) -> String {
        let Started { name, command, args } = server;
        let entry = json!({"command": command, "args": args});
        let within = |key: &str, entry: Value| {
            let all = json!({key: {name: entry}});
            serde_json::to_string_pretty(&all).unwrap_or_default()
        };
        match self {
            Self::Vscode => {
                within("servers", json!({"type": "stdio", "command": command, "args": args}))
            }
            Self::Zed => within("context_servers", entry),
            Self::Codex => {
                // A JSON text is one of TOML, too: both escape the same characters.
                let text = |text: &str| Value::from(text).to_string();
                let args: Vec<String> = args.iter().map(|arg| text(arg)).collect();
                format!(
                    "[mcp_servers.{}]\ncommand = {}\nargs = [{}]",
                    text(name),
                    text(command),
                    args.join(", ")
                )
            }
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::Gemini => {
                within("mcpServers", entry)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_own_form() {
        let server = Started {
            name: "a".to_owned(),
            command: "ctx".to_owned(),
            args: vec!["mcp".to_owned(), "--vault".to_owned(), "/a \"b\"".to_owned()],
        };
        let one_line =
            |client: Client| client.entry(&server).split_whitespace().collect::<String>();
        let entry = "{\"args\":[\"mcp\",\"--vault\",\"/a\\\"b\\\"\"],\"command\":\"ctx\"}";
        for client in [Client::ClaudeCode, Client::ClaudeDesktop, Client::Cursor, Client::Gemini] {
            assert_eq!(one_line(client), format!("{{\"mcpServers\":{{\"a\":{entry}}}}}"));
        }
        assert_eq!(one_line(Client::Zed), format!("{{\"context_servers\":{{\"a\":{entry}}}}}"));
        let typed = entry.replace("\"ctx\"}", "\"ctx\",\"type\":\"stdio\"}");
        assert_eq!(one_line(Client::Vscode), format!("{{\"servers\":{{\"a\":{typed}}}}}"));
        insta::assert_snapshot!(Client::Codex.entry(&server), @r#"
        [mcp_servers."a"]
        command = "ctx"
        args = ["mcp", "--vault", "/a \"b\""]
        "#);
    }
}
