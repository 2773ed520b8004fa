//! The identity of a caller: from each request, and never from the connection or the server's own
//! environment (MCP-7).

use rmcp::model::{Implementation, JsonObject};
use serde_json::Value;

use crate::record::audit::check_label;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::Environment;
use crate::service::workspace::recording::{GivenLabels, label_var};
use crate::values::text_util::nearest;

/// Prefix of the keys of ctx in `_meta`.
const PREFIX: &str = "contextnest/";
/// The keys of ctx.
const LABELS: [&str; 5] = ["agent", "session", "thread", "task", "node"];
/// The variable, and in lower case the key, of a distributed trace.
const TRACEPARENT: &str = "TRACEPARENT";

/// The identity of a caller.
#[derive(Debug, Default)]
pub(super) struct Identity {
    pub(super) labels: GivenLabels,
    /// The program of the client, as it names itself.
    pub(super) client: Option<String>,
    traceparent: Option<String>,
}

impl Identity {
    /// Reads the metadata of a request.
    ///
    /// # Errors
    /// A key of ctx is unknown, or its value is not a valid label.
    pub(super) fn of(meta: &JsonObject, client: Option<&Implementation>) -> Result<Self, Failure> {
        for key in meta.keys().filter_map(|key| key.strip_prefix(PREFIX)) {
            if !LABELS.contains(&key) {
                let message = format!("unknown key `{PREFIX}{key}` in `_meta`");
                let hint = match nearest(key, LABELS) {
                    Some(near) => format!("did you mean `{PREFIX}{near}`?"),
                    None => format!("keys are {PREFIX} and {}", LABELS.join(", ")),
                };
                return Err(Failure::new(Code::Usage, message).hint(hint));
            }
        }
        let label = |name: &str| {
            let key = format!("{PREFIX}{name}");
            let Some(value) = meta.get(&key) else { return Ok(None) };
            let refused = |why: &str| {
                Failure::new(Code::Usage, format!("the value of `{key}` in `_meta` {why}"))
                    .hint("pass the id that your program uses, or leave the key out")
            };
            let Some(text) = value.as_str() else { return Err(refused("is not a text")) };
            check_label(text).map_err(|why| refused(&why.to_string()))?;
            Ok(Some(text.to_owned()))
        };
        let labels = GivenLabels {
            agent: label("agent")?,
            session: label("session")?,
            thread: label("thread")?,
            task: label("task")?,
            node: label("node")?,
        };
        let parent = meta.get(&TRACEPARENT.to_lowercase()).and_then(Value::as_str);
        let client = client.map(|client| {
            // The first `/` ends the name.
            let name = client.name.replace('%', "%25").replace('/', "%2F");
            format!("{name}/{}", client.version)
        });
        // An invalid name of a program is ignored.
        let client = client.filter(|client| check_label(client).is_ok());
        Ok(Self { labels, client, traceparent: parent.map(str::to_owned) })
    }

    /// Returns the environment of a call: that of the server, without its own identity.
    pub(super) fn environment(&self, of_server: &Environment) -> Environment {
        let mut environment = of_server.duplicate();
        for label in LABELS {
            environment.vars.remove(&label_var(label));
        }
        environment.vars.remove(TRACEPARENT);
        let parent = self.traceparent.clone();
        environment.vars.extend(parent.map(|parent| (TRACEPARENT.to_owned(), parent)));
        environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(json: &Value) -> JsonObject {
        json.as_object().unwrap().clone()
    }

    #[test]
    fn labels_are_those_of_the_request() {
        let asked = meta(&serde_json::json!({
            "contextnest/session": "s-1", "contextnest/agent": "planner", "progressToken": 3,
        }));
        let identity = Identity::of(&asked, None).unwrap();
        assert_eq!(identity.labels.session.as_deref(), Some("s-1"));
        assert_eq!(identity.labels.agent.as_deref(), Some("planner"));
        assert_eq!(identity.labels.task, None);
    }

    #[test]
    fn the_name_of_a_client_ends_at_the_first_slash() {
        let of = |name: &str, version: &str| {
            let client = Implementation::new(name, version);
            Identity::of(&meta(&serde_json::json!({})), Some(&client)).unwrap().client
        };
        assert_eq!(of("tester", "1").as_deref(), Some("tester/1"));
        assert_eq!(of("a/b", "1").as_deref(), Some("a%2Fb/1"));
        assert_ne!(of("a/b", "c"), of("a", "b/c"));
        assert_ne!(of("a%2Fb", "c"), of("a/b", "c"));
    }

    #[test]
    fn a_misspelled_key_and_a_value_that_is_no_label_are_refused() {
        let refused = |json: Value| Identity::of(&meta(&json), None).unwrap_err().message;
        insta::assert_snapshot!(refused(serde_json::json!({"contextnest/sesion": "s"})), @"unknown key `contextnest/sesion` in `_meta`");
        insta::assert_snapshot!(refused(serde_json::json!({"contextnest/session": 7})), @"the value of `contextnest/session` in `_meta` is not a text");
        insta::assert_snapshot!(refused(serde_json::json!({"contextnest/task": "none"})), @"the value of `contextnest/task` in `_meta` is `none`, which programs write if they do not know the id");
    }
}
