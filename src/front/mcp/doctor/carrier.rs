//! Transports of messages to an examined server, and of its answers.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use serde_json::Value;

use super::http;
use crate::files::process::run::Why;

/// Maximum size of the answers to some messages, in bytes.
pub(super) const MOST_BYTES: u64 = 32 << 20;

/// A transport of messages.
#[derive(Debug)]
pub(crate) enum Carrier {
    /// A program that is started for each exchange.
    Started(Started),
    /// A server over HTTP.
    Url(Url),
}

/// A program, as a client starts it.
#[derive(Debug)]
pub(crate) struct Started {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// All environment variables.
    pub(crate) env: BTreeMap<String, String>,
    /// Variables that the entry of the client adds.
    pub(crate) added: BTreeMap<String, String>,
    /// Time limit.
    pub(crate) time: Duration,
    /// Remedy if the program is not found.
    pub(crate) advice: Option<String>,
}

/// The address of a server.
#[derive(Debug)]
pub(crate) struct Url {
    /// Host and port, as `Host` has them.
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
    /// Time limit of an answer.
    pub(crate) time: Duration,
}

/// The reason for missing answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The program does not exist; with a remedy.
    NotFound(String, Option<String>),
    /// The program did not answer.
    Ended {
        /// How the program ended.
        why: String,
        /// Text that the program wrote to stderr.
        said: String,
    },
    /// No server listens.
    Unreachable(String),
    /// The server refused with this status.
    Status(u16),
    /// The answer does not follow the protocol.
    Malformed(String),
}

impl Carrier {
    /// Returns the answers to messages.
    ///
    /// # Errors
    /// The server cannot be reached, or does not answer.
    pub(super) fn ask(&self, messages: &[Value]) -> Result<Vec<Value>, Broken> {
        match self {
            Self::Started(started) => started.ask(messages),
            Self::Url(url) => {
                let each = messages.iter().map(|message| http::post(url, message));
                Ok(each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
            }
        }
    }
}

impl Started {
    fn ask(&self, messages: &[Value]) -> Result<Vec<Value>, Broken> {
        let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let limits = (self.time, MOST_BYTES);
        let printed =
            match crate::files::process::answer(&self.argv, input.as_bytes(), limits, &self.env) {
                Ok(printed) => printed,
                Err(failed) => match failed.why {
                    Why::Start(why) if why.kind() == io::ErrorKind::NotFound => {
                        let program = self.argv.first().cloned().unwrap_or_default();
                        return Err(Broken::NotFound(program, self.advice.clone()));
                    }
                    // A server that does not end with its input may have answered.
                    Why::Late(_) if !failed.printed.is_empty() => failed.printed,
                    why => return Err(Broken::Ended { why: why.to_string(), said: failed.said }),
                },
            };
        let lines = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let answers = lines.map(|line| {
            serde_json::from_slice(line).map_err(|_| {
                let begin = &line[..line.len().min(200)];
                Broken::Malformed(String::from_utf8_lossy(begin).into_owned())
            })
        });
        answers.collect()
    }
}

impl Url {
    /// Parses an address such as `http://127.0.0.1:8080/mcp`; `None` if its scheme is not HTTP.
    pub(crate) fn read(text: &str, token: Option<String>, time: Duration) -> Option<Self> {
        let rest = text.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_valid = !authority.is_empty() && !authority.contains('@') && is_plain(rest);
        let path = if path.is_empty() { "/mcp" } else { path };
        let token = token.filter(|token| is_plain(token));
        is_valid.then(|| Self {
            authority: authority.to_owned(),
            path: path.to_owned(),
            token,
            time,
        })
    }

    /// Returns the address to connect to.
    pub(super) fn target(&self) -> String {
        let has_port = self.authority.rsplit(']').next().is_some_and(|end| end.contains(':'));
        if has_port { self.authority.clone() } else { format!("{}:80", self.authority) }
    }
}

/// Returns the command and the variables of a client's entry; `None` if the entry starts nothing.
pub(crate) fn started(entry: &Value) -> Option<(Vec<String>, BTreeMap<String, String>)> {
    let command = entry["command"].as_str()?.to_owned();
    let args = entry["args"].as_array().into_iter().flatten();
    let args = args.map(|arg| arg.as_str().map(str::to_owned));
    let argv = std::iter::once(Some(command)).chain(args).collect::<Option<Vec<String>>>()?;
    let env = entry["env"].as_object().into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Some((argv, env.collect()))
}
