//! The tools that a server offers: those of a profile, or some of them (MCP-16).

use super::tools::{ALL, Tool};
use crate::service::report::client::{SchemasReport, ToolSchemas};
use crate::service::report::failure::{Code, Failure};
pub(crate) use crate::values::model::verb::Profile;
use crate::values::text_util::nearest;

/// The user's choice of tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// The profile.
    pub(crate) profile: Profile,
    /// Tools of the profile to offer; all if empty.
    pub(crate) names: Vec<String>,
    /// True to offer only tools that change nothing.
    pub(crate) read_only: bool,
}

/// The tools that a server offers, in the order in which it lists them.
pub(super) struct Offer {
    /// Their profile.
    pub(super) profile: Profile,
    tools: Vec<&'static Tool>,
}

impl Offer {
    /// Returns the tools of a choice.
    ///
    /// # Errors
    /// A name is not one of the tools.
    pub(super) fn of(choice: &Choice) -> Result<Self, Failure> {
        let is_offered =
            |tool: &&Tool| tool.profile <= choice.profile && !(choice.read_only && tool.changes);
        for name in &choice.names {
            check(name, choice, is_offered)?;
        }
        let is_named =
            |tool: &&Tool| choice.names.is_empty() || choice.names.iter().any(|n| n == tool.name);
        let tools = ALL.iter().filter(is_offered).filter(is_named).collect();
        Ok(Self { profile: choice.profile, tools })
    }

    /// Returns the offered tools.
    pub(super) fn tools(&self) -> impl Iterator<Item = &'static Tool> {
        self.tools.iter().copied()
    }

    /// Returns true if a tool is offered.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns true if resources are offered: only with the tool that reads the same.
    pub(super) fn has_resources(&self) -> bool {
        self.has("context_read")
    }

    /// Returns true if the list depends on whether a vault is governed.
    pub(super) fn may_change(&self) -> bool {
        self.tools().any(|tool| tool.is_governed)
    }

    /// Returns the offered tool with a name.
    pub(super) fn find(&self, name: &str) -> Option<&'static Tool> {
        self.tools().find(|tool| tool.name == name)
    }
}

/// Returns the full schemas of a tool, or of all.
///
/// # Errors
/// No tool has the name.
pub(crate) fn schemas(name: Option<&str>) -> Result<SchemasReport, Failure> {
    let one = name.map(known).transpose()?;
    let of = |tool: &Tool| {
        let (input, output) = tool.schemas();
        let (input_schema, output_schema) = (input.into(), output.into());
        ToolSchemas { name: tool.name, input_schema, output_schema }
    };
    let tools = match one {
        Some(tool) => vec![of(tool)],
        None => ALL.iter().map(of).collect(),
    };
    Ok(SchemasReport { tools })
}

/// Returns the tool with a name, of any profile.
fn known(name: &str) -> Result<&'static Tool, Failure> {
    ALL.iter().find(|tool| tool.name == name).ok_or_else(|| {
        let known = ALL.iter().map(|tool| tool.name);
        let hint = match nearest(name, known.clone()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("tools are {}", known.collect::<Vec<_>>().join(", ")),
        };
        Failure::new(Code::Usage, format!("unknown tool `{name}`")).hint(hint)
    })
}

/// Refuses a name that is not one of the chosen tools.
fn check(
    name: &str,
    choice: &Choice,
    is_offered: impl Fn(&&'static Tool) -> bool,
) -> Result<(), Failure> {
    let tool = known(name)?;
    if is_offered(&tool) {
        return Ok(());
    }
    let profile = tool.profile.as_str();
    Err(match tool.profile > choice.profile {
        true => {
            let message =
                format!("`{name}` is not a tool of the profile `{}`", choice.profile.as_str());
            Failure::new(Code::Usage, message).hint(format!("`--profile {profile}` has it"))
        }
        false => Failure::new(Code::Usage, format!("`{name}` changes the vault"))
            .hint("leave `--read-only` out, or do not name it"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(choice: &Choice) -> Vec<&'static str> {
        Offer::of(choice).unwrap().tools().map(|tool| tool.name).collect()
    }

    #[test]
    fn each_profile_begins_with_the_tools_of_the_one_before() {
        let of = |profile| names(&Choice { profile, ..Choice::default() });
        let all = [of(Profile::Reader), of(Profile::Author), of(Profile::Reviewer)];
        assert!(all[0].len() < all[1].len() && all[1].len() < all[2].len());
        assert!(all[1].starts_with(&all[0]) && all[2].starts_with(&all[1]));
        assert_eq!(all[2].len(), ALL.len());
    }

    #[test]
    fn a_reader_has_no_tool_that_changes_the_vault_and_read_only_has_none() {
        let reader = Choice::default();
        assert!(Offer::of(&reader).unwrap().tools().all(|tool| !tool.changes));
        let strict = Choice { profile: Profile::Reviewer, read_only: true, names: Vec::new() };
        let strict = names(&strict);
        assert!(strict.contains(&"context_review") && !strict.contains(&"context_reject"));
    }

    #[test]
    fn tools_are_chosen_by_name_and_keep_their_order() {
        let choice = |names: &[&str]| Choice {
            names: names.iter().map(ToString::to_string).collect(),
            ..Choice::default()
        };
        assert_eq!(
            names(&choice(&["context_read", "context_init"])),
            ["context_init", "context_read"]
        );
        let refused = |name| Offer::of(&choice(&[name])).err().unwrap().message;
        insta::assert_snapshot!(refused("context_reed"), @"unknown tool `context_reed`");
        insta::assert_snapshot!(refused("context_reject"), @"`context_reject` is not a tool of the profile `reader`");
    }
}
