//! `audit:` in the configuration: how accesses and changes are recorded (AUDIT-23).

use super::config::{Config, Governance, unknown_key, word};
use super::setting::Setting;
use crate::values::yaml::{self, Node, canonical_number};

/// Half a year in days, which is the default retention of accesses.
const HALF_A_YEAR: u64 = 184;
/// Maximum retention in days.
const MOST_DAYS: u64 = 36_500;

/// Setting that a configuration gets so that changes are recorded.
pub(crate) const RETENTION: Setting<'_> =
    Setting { outer: Some("audit"), key: "retention", word: "184d" };

/// The settings for recording accesses and changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audit {
    /// Place where accesses are recorded.
    pub accesses: Accesses,
    /// Moment at which an access must be on disk. If `None`, the governance mode decides.
    pub durability: Option<Durability>,
    /// Form in which queries are recorded.
    pub queries: Queries,
    /// Minimum number of days for which accesses are kept.
    pub retention: u64,
    /// True if checkpoints bind the change log.
    pub bind: bool,
}

/// The place where accesses are recorded. Other users can read and change those in the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Accesses {
    /// In the user's directory of state.
    User,
    /// In the vault.
    Vault,
}

/// The moment at which an access must be on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The access is written before the answer leaves; a failure is only a warning.
    Async,
    /// The access is durable before the answer leaves; after a failure, the answer is withheld.
    Sync,
}

/// The form in which queries are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Queries {
    /// The text of the query.
    Full,
    /// The hash of the query.
    Hash,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            accesses: Accesses::User,
            durability: None,
            queries: Queries::Full,
            retention: HALF_A_YEAR,
            bind: false,
        }
    }
}

impl Audit {
    const KEYS: [&str; 5] = ["accesses", "durability", "queries", "retention", "bind"];

    /// Parses the value of `audit`; returns it with warnings.
    pub(super) fn read(node: &Node) -> Result<(Self, Vec<yaml::Error>), yaml::Error> {
        let (mut audit, mut warnings) = (Self::default(), Vec::new());
        if node.entries().is_none() && !node.is_null() {
            return Err(node.error("expected `key: value` lines, or nothing"));
        }
        for (key, value) in node.entries().unwrap_or_default() {
            match key.text().unwrap_or_default() {
                "accesses" => {
                    let words = [("user", Accesses::User), ("vault", Accesses::Vault)];
                    audit.accesses = word(value, &words)?;
                }
                "durability" => {
                    let words = [("sync", Durability::Sync), ("async", Durability::Async)];
                    audit.durability = Some(word(value, &words)?);
                }
                "queries" => {
                    let words = [("full", Queries::Full), ("hash", Queries::Hash)];
                    audit.queries = word(value, &words)?;
                }
                "retention" => audit.retention = days(value)?,
                "bind" => audit.bind = word(value, &[("true", true), ("false", false)])?,
                unknown => warnings.push(key.error(unknown_key(unknown, &Self::KEYS))),
            }
        }
        Ok((audit, warnings))
    }

    /// Returns the settings of a configuration, with defaults for those that it omits.
    pub fn of(config: &Config) -> Self {
        let audit = config.audit.unwrap_or_default();
        let by_mode = match config.governance {
            Governance::Governed => Durability::Sync,
            Governance::Ungoverned => Durability::Async,
        };
        Self { durability: audit.durability.or(Some(by_mode)), ..audit }
    }

    /// Combines two settings into the stricter ones. A live configuration can only add to the
    /// sealed one.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            accesses: self.accesses.max(other.accesses),
            durability: self.durability.max(other.durability),
            queries: self.queries.max(other.queries),
            retention: self.retention.max(other.retention),
            bind: self.bind || other.bind,
        }
    }
}

/// Parses a number of days, such as `90d`.
pub(crate) fn days(node: &Node) -> Result<u64, yaml::Error> {
    let days = node.text().and_then(|text| canonical_number(text.strip_suffix('d')?));
    days.filter(|days| (1..=MOST_DAYS).contains(days))
        .ok_or_else(|| node.error("expected days from `1d` to `36500d`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::vault::config::Config;

    fn read(text: &str) -> Result<Option<Audit>, String> {
        Config::parse(text).map(|config| config.audit).map_err(|why| why.to_string())
    }

    #[test]
    fn settings_are_read_and_others_refused() {
        assert_eq!(read("name: x\n"), Ok(None));
        assert_eq!(read("audit:\n"), Ok(Some(Audit::default())));
        let all = "audit: {accesses: vault, durability: sync, queries: hash, retention: 366d, \
                   bind: true}\n";
        let durability = Some(Durability::Sync);
        let (accesses, queries) = (Accesses::Vault, Queries::Hash);
        let said = Audit { accesses, durability, queries, retention: 366, bind: true };
        assert_eq!(read(all), Ok(Some(said)));
        assert_eq!(
            read("audit: off\n"),
            Err("line 1, column 8: expected `key: value` lines, or nothing".to_owned())
        );
        for text in ["184", "0d", "184 d", "06d", "40000d", "-1d"] {
            let told = read(&format!("audit: {{retention: \"{text}\"}}\n")).unwrap_err();
            assert!(told.ends_with("expected days from `1d` to `36500d`"), "{told}");
        }
        let config = Config::parse("audit: {durable: sync}\n").unwrap();
        assert!(config.warnings[0].problem.contains("unknown key `durable`"));
    }

    #[test]
    fn a_live_configuration_only_adds_to_the_sealed_one() {
        let durability = Some(Durability::Sync);
        let sealed = Audit { accesses: Accesses::Vault, durability, ..Audit::default() };
        let live = Audit { queries: Queries::Hash, retention: 30, bind: true, ..Audit::default() };
        let both = Audit {
            durability: sealed.durability,
            ..Audit { queries: Queries::Hash, bind: true, ..sealed }
        };
        assert_eq!(sealed.stricter(live), both);
        assert_eq!(live.stricter(sealed), both);
    }
}
