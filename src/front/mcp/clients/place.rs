//! Finds the configuration of a client (MCP-23).

use std::path::{Path, PathBuf};

use super::Client;

/// A file with the configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    /// The folder of the project that it belongs to; `None` if it is the user's.
    pub(crate) project: Option<PathBuf>,
}

/// The environment that determines where files are.
pub(crate) struct Whereabouts<'e> {
    /// Returns a variable of the environment that is set and not empty.
    pub(crate) var: &'e dyn Fn(&str) -> Option<&'e str>,
    /// True on macOS.
    pub(crate) is_mac: bool,
}

impl Client {
    /// Returns the client's file in a project; `None` if the client has none.
    pub(crate) fn in_project(self, project: &Path) -> Option<Place> {
        let path = match self {
            Self::ClaudeCode => ".mcp.json",
            Self::ClaudeDesktop => return None,
            Self::Cursor => ".cursor/mcp.json",
            Self::Vscode => ".vscode/mcp.json",
            Self::Codex => ".codex/config.toml",
            Self::Gemini => ".gemini/settings.json",
            Self::Zed => ".zed/settings.json",
        };
        Some(Place { path: project.join(path), project: Some(project.to_owned()) })
    }

    /// Returns the client's file for all projects of the user; `None` if other programs may not
    /// write it, or if no variable names the user's folder.
    pub(crate) fn of_user(self, where_: &Whereabouts<'_>) -> Option<Place> {
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let var = |name: &str| absolute((where_.var)(name)?.into());
        let home = var("HOME");
        let application = |folder: &str| match where_.is_mac {
            true => Some(home.clone()?.join("Library/Application Support").join(folder)),
            false => {
                let config = var("XDG_CONFIG_HOME");
                Some(config.or_else(|| Some(home.clone()?.join(".config")))?.join(folder))
            }
        };
        let path = match self {
            // This file also contains the client's state, and the client writes it all the time.
            Self::ClaudeCode => return None,
            Self::ClaudeDesktop => application("Claude")?.join("claude_desktop_config.json"),
            Self::Cursor => home?.join(".cursor/mcp.json"),
            Self::Vscode => application("Code")?.join("User/mcp.json"),
            Self::Codex => {
                let own = var("CODEX_HOME");
                own.or_else(|| Some(home?.join(".codex")))?.join("config.toml")
            }
            Self::Gemini => home?.join(".gemini/settings.json"),
            Self::Zed if where_.is_mac => home?.join(".config/zed/settings.json"),
            Self::Zed => application("zed")?.join("settings.json"),
        };
        Some(Place { path, project: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(client: Client, is_mac: bool, set: &[(&str, &'static str)]) -> Option<String> {
        let var = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| *value);
        let place = client.of_user(&Whereabouts { var: &var, is_mac })?;
        Some(place.path.to_string_lossy().into_owned())
    }

    #[test]
    fn the_file_of_the_user_is_where_the_system_has_it() {
        let home = [("HOME", "/h")];
        for (client, linux, mac) in [
            (
                Client::ClaudeDesktop,
                "/h/.config/Claude/claude_desktop_config.json",
                "/h/Library/Application Support/Claude/claude_desktop_config.json",
            ),
            (Client::Cursor, "/h/.cursor/mcp.json", "/h/.cursor/mcp.json"),
            (
                Client::Vscode,
                "/h/.config/Code/User/mcp.json",
                "/h/Library/Application Support/Code/User/mcp.json",
            ),
            (Client::Codex, "/h/.codex/config.toml", "/h/.codex/config.toml"),
            (Client::Gemini, "/h/.gemini/settings.json", "/h/.gemini/settings.json"),
            (Client::Zed, "/h/.config/zed/settings.json", "/h/.config/zed/settings.json"),
        ] {
            assert_eq!(found(client, false, &home).as_deref(), Some(linux));
            assert_eq!(found(client, true, &home).as_deref(), Some(mac));
            assert_eq!(found(client, false, &[("HOME", "h")]), None, "a folder is absolute");
        }
        assert_eq!(found(Client::ClaudeCode, false, &home), None);
        let own = [("HOME", "/h"), ("CODEX_HOME", "/c"), ("XDG_CONFIG_HOME", "/x")];
        assert_eq!(found(Client::Codex, false, &own).as_deref(), Some("/c/config.toml"));
        assert_eq!(found(Client::Zed, false, &own).as_deref(), Some("/x/zed/settings.json"));
    }
}
