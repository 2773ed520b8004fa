//! Programs that start the server themselves, and their configurations (MCP-23).
//!
//! `place` finds the configuration of a client, `edit` adds an entry to it, with `jsonc` for JSON
//! and `toml` for TOML, and `write` writes the file. `program` checks that a client finds the
//! program to start.

pub(crate) mod edit;
pub(crate) mod jsonc;
pub(crate) mod place;
pub(crate) mod program;
mod toml;
pub(crate) mod write;

use serde_json::{Map, Value, json};

/// A program with its own configuration for servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Client {
    ClaudeCode,
    ClaudeDesktop,
    Cursor,
    Vscode,
    Codex,
    Gemini,
    Zed,
}

/// The server that a client starts.
#[derive(Debug)]
pub(crate) struct Started {
    /// Name among the servers of the client.
    pub(crate) name: String,
    /// Path of the program.
    pub(crate) command: String,
    /// Arguments of the program.
    pub(crate) args: Vec<String>,
    /// Folder of the access log, if it is not in the user's state directory.
    pub(crate) audit_dir: Option<String>,
}

impl Started {
    /// Returns the variables that the client sets.
    pub(crate) fn env(&self) -> Map<String, Value> {
        let dir =
            self.audit_dir.iter().map(|dir| ("CTX_AUDIT_DIR".to_owned(), dir.as_str().into()));
        dir.collect()
    }
}

impl Client {
    /// All clients.
    pub(crate) const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Cursor,
        Self::Vscode,
        Self::Codex,
        Self::Gemini,
        Self::Zed,
    ];

    /// Returns the name on the command line.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::ClaudeDesktop => "claude-desktop",
            Self::Cursor => "cursor",
            Self::Vscode => "vscode",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Zed => "zed",
        }
    }

    /// Describes where the client has its configuration.
    pub(crate) fn file(self) -> &'static str {
        match self {
            Self::ClaudeCode => ".mcp.json in the folder of the project",
            Self::ClaudeDesktop => {
                "claude_desktop_config.json: in ~/Library/Application Support/Claude on macOS, \
                 %APPDATA%\\Claude on Windows, ~/.config/Claude on Linux"
            }
            Self::Cursor => ".cursor/mcp.json in the folder of the project, or ~/.cursor/mcp.json",
            Self::Vscode => {
                ".vscode/mcp.json in the folder of the project, or mcp.json in the folder of the user: \
                 `MCP: Open User Configuration` opens it"
            }
            Self::Codex => {
                "~/.codex/config.toml, or .codex/config.toml in a project that is trusted"
            }
            Self::Gemini => {
                ".gemini/settings.json in the folder of the project, or ~/.gemini/settings.json"
            }
            Self::Zed => "~/.config/zed/settings.json, or .zed/settings.json in the project",
        }
    }

    /// Returns the name of the member, or of the table, that contains its servers.
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
            Self::Codex => "mcp_servers",
            Self::ClaudeCode | Self::ClaudeDesktop | Self::Cursor | Self::Gemini => "mcpServers",
        }
    }

    /// Returns true if the configuration is TOML; otherwise it is JSON, of some clients
    /// with comments.
    pub(crate) fn is_toml(self) -> bool {
        self == Self::Codex
    }

    /// Returns the members of the entry of a server.
    pub(crate) fn members(self, server: &Started) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("command".to_owned(), server.command.as_str().into());
        members.insert("args".to_owned(), json!(server.args));
        if server.audit_dir.is_some() {
            members.insert("env".to_owned(), server.env().into());
        }
        if self == Self::Vscode {
            members.insert("type".to_owned(), "stdio".into());
        }
        members
    }

    /// Returns the entry to paste into the configuration.
    pub(crate) fn entry(self, server: &Started) -> String {
        let Started { name, command, args, .. } = server;
        if !self.is_toml() {
            let all = json!({self.key(): {name: self.members(server)}});
            return serde_json::to_string_pretty(&all).unwrap_or_default();
        }
        let text = |text: &str| toml::spelled(&text.into());
        let (key, name, command) = (self.key(), text(name), text(command));
        let args = toml::spelled(&json!(args));
        let table = format!("[{key}.{name}]\ncommand = {command}\nargs = {args}");
        match &server.audit_dir {
            Some(dir) => format!("{table}\nenv = {{ CTX_AUDIT_DIR = {} }}", text(dir)),
            None => table,
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
            audit_dir: None,
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
        let server = Started { audit_dir: Some("/log".to_owned()), ..server };
        assert!(Client::Codex.entry(&server).ends_with("\nenv = { CTX_AUDIT_DIR = \"/log\" }"));
        assert!(Client::Zed.entry(&server).contains("\"CTX_AUDIT_DIR\": \"/log\""));
    }
}
