//! `context_source_record`: records the result of a source.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Answer, Outputs, Question};
use crate::read::source::claim::{MAX_DURATION_MS, media_type, tool};
use crate::read::source::{Claim, Received};
use crate::record::audit::Cached;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::argument::traces;
use crate::service::workspace::call::Call;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceRecord {
    /// Id of a published source
    #[schemars(extend("x-holds" = "document"))]
    id: String,
    /// Names of the tools that you called, in their order
    tools: Vec<String>,
    /// The result, as it was received
    #[schemars(extend("x-holds" = "text"))]
    #[serde(default)]
    result: Option<String>,
    /// The server that you used, as the source names it
    #[serde(default)]
    server: Option<String>,
    /// Use of a cache of yours for the result
    #[serde(default)]
    cache: Option<Cache>,
    /// Duration of the call, in milliseconds
    #[serde(default)]
    duration_ms: Option<u64>,
    /// Error of the call; the result is then not staged
    #[serde(default)]
    error: Option<String>,
    /// Media type of the result, such as `application/json`
    #[serde(default)]
    media_type: Option<String>,
    /// `trace` of recorded results of the sources that it depends on
    #[serde(default)]
    depends_on: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Cache {
    Hit,
    Miss,
}

impl Question for SourceRecord {
    const NAME: &'static str = "context_source_record";
    const TITLE: &'static str = "Record a result of a source";
    const DESCRIPTION: &'static str = "Records the result of a source (type source) that you executed: \
        its hash goes into the access log, and the result is staged if the vault says so. Call it \
        right after you called the tools that the source declares. Needs your session in `_meta`. \
        The answer has trace and, if staged, the URI of the entry.";

    fn outputs(outputs: &mut Outputs) {
        outputs.add::<crate::service::report::source::SourceRecordReport<'static>>();
    }

    fn ask(self, call: &mut Call<'_>) -> Result<Answer, Failure> {
        let vault = call.vault()?;
        let (id, claim, result) = self.claim()?;
        let made = call.record_result(&vault, (&id, claim), |is_kept| {
            Received::read(&mut result.as_bytes(), is_kept)
        })?;
        Ok(Answer::of(call, &made.report()))
    }
}

impl SourceRecord {
    /// Returns the source, the claim, and the result.
    fn claim(self) -> Result<(String, Claim, String), Failure> {
        let invalid = |name: &str, why: &str| {
            Failure::new(Code::Usage, format!("the value of `{name}` is invalid: {why}"))
        };
        if self.tools.is_empty() {
            return Err(invalid("tools", "it names no tool"));
        }
        self.tools
            .iter()
            .try_for_each(|name| tool(name).map(drop))
            .map_err(|_| invalid("tools", "one name is empty"))?;
        let kind = self.media_type.as_deref().map(media_type).transpose();
        let kind = kind.map_err(|why| invalid("media_type", why))?;
        if self.duration_ms.is_some_and(|ms| ms > MAX_DURATION_MS) {
            return Err(invalid("duration_ms", "it is too large"));
        }
        if self.result.is_none() && self.error.is_none() {
            return Err(Failure::new(Code::Usage, "there is neither a result nor an error")
                .hint("pass `result`, or describe the failure in `error`"));
        }
        let claim = Claim {
            server: self.server,
            tools: self.tools,
            cache: self.cache.map(|cache| match cache {
                Cache::Hit => Cached::Hit,
                Cache::Miss => Cached::Miss,
            }),
            duration_ms: self.duration_ms,
            error: self.error,
            media_type: kind,
            depends_on: traces(&self.depends_on.unwrap_or_default())?,
        };
        Ok((self.id, claim, self.result.unwrap_or_default()))
    }
}
