//! `staging:` in the configuration: settings for keeping results of sources (STAGE-9).

use super::audit::days;
use super::config::{Config, unknown_key, word};
use crate::values::yaml::{self, Node};

/// Default number of days for which results are kept.
const RETENTION: u64 = 30;

/// The settings for keeping results of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staging {
    /// True if results are kept. If `None`, the governance mode decides.
    pub enabled: Option<bool>,
    /// Number of days for which results are kept.
    pub retention: u64,
    /// True if checkpoints bind the ends of the staging chains.
    pub bind: bool,
}

impl Default for Staging {
    fn default() -> Self {
        Self { enabled: None, retention: RETENTION, bind: false }
    }
}

impl Staging {
    const KEYS: [&str; 3] = ["enabled", "retention", "bind"];

    /// Parses the value of `staging`; returns it with warnings.
    pub(super) fn read(node: &Node) -> Result<(Self, Vec<yaml::Error>), yaml::Error> {
        let (mut staging, mut warnings) = (Self::default(), Vec::new());
        if node.entries().is_none() && !node.is_null() {
            return Err(node.error("expected `key: value` lines, or nothing"));
        }
        for (key, value) in node.entries().unwrap_or_default() {
            match key.text().unwrap_or_default() {
                "enabled" => {
                    staging.enabled = Some(word(value, &[("true", true), ("false", false)])?);
                }
                "retention" => staging.retention = days(value)?,
                "bind" => staging.bind = word(value, &[("true", true), ("false", false)])?,
                unknown => warnings.push(key.error(unknown_key(unknown, &Self::KEYS))),
            }
        }
        Ok((staging, warnings))
    }

    /// Returns the settings of a configuration, with defaults for those that it omits.
    pub fn of(config: &Config) -> Self {
        Self { enabled: config.staging.enabled.or(Some(config.is_governed())), ..config.staging }
    }

    /// Returns true if results are kept.
    pub fn is_enabled(self) -> bool {
        self.enabled == Some(true)
    }

    /// Combines two settings into the stricter ones. A live configuration can only add to the
    /// sealed one.
    #[must_use]
    pub fn stricter(self, other: Self) -> Self {
        Self {
            enabled: self.enabled.max(other.enabled),
            retention: self.retention.max(other.retention),
            bind: self.bind || other.bind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Staging, String> {
        Config::parse(text).map(|config| Staging::of(&config)).map_err(|why| why.to_string())
    }

    #[test]
    fn governed_vaults_stage_by_default() {
        assert!(!of("name: x\n").unwrap().is_enabled());
        assert!(of("governance: governed\nstaging:\n").unwrap().is_enabled());
        assert!(!of("governance: governed\nstaging: {enabled: false}\n").unwrap().is_enabled());
        let said = Staging { enabled: Some(true), retention: 7, bind: true };
        assert_eq!(of("staging: {enabled: true, retention: 7d, bind: true}\n"), Ok(said));
    }

    #[test]
    fn other_values_are_refused() {
        insta::assert_snapshot!(of("staging: on\n").unwrap_err(), @"line 1, column 10: expected `key: value` lines, or nothing");
        insta::assert_snapshot!(of("staging: {retention: 30}\n").unwrap_err(), @"line 1, column 22: expected days from `1d` to `36500d`");
        insta::assert_snapshot!(of("staging: {enabled: maybe}\n").unwrap_err(), @"line 1, column 20: expected `true` or `false`");
        insta::assert_snapshot!(of("staging: {bind: tails}\n").unwrap_err(), @"line 1, column 17: expected `true` or `false`");
        let config = Config::parse("staging: {enable: true}\n").unwrap();
        assert!(config.warnings[0].problem.contains("unknown key `enable`"));
    }

    #[test]
    fn a_live_configuration_only_adds_to_the_sealed_one() {
        let sealed = Staging { enabled: Some(true), ..Staging::default() };
        let live = Staging { enabled: Some(false), retention: 7, bind: true };
        assert_eq!(sealed.stricter(live), Staging { bind: true, ..sealed });
        assert_eq!(live.stricter(sealed), sealed.stricter(live));
    }
}
