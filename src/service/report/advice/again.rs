//! Advice on how to repeat a submission that cannot be approved.

use crate::policy::rules::Proposal;
use crate::text::document::review::Action;
use crate::values::model::hint::{Call, Hint, Verb};
use crate::values::model::id::DocumentId;
use crate::values::model::number::Version;

/// Returns the commands with which the submitter withdraws a submission and makes it again.
///
/// `rejected` adds the command with which a reviewer rejects this version instead.
pub(crate) fn submitted_again(
    id: &DocumentId,
    proposal: &Proposal,
    rejected: Option<Version>,
) -> Hint {
    let of = |verb| Call::new(verb).value(id.as_str());
    let in_set = |call: Call| match &proposal.change {
        Some(name) => call.word("--change").value(name.as_str()),
        None => call,
    };
    let withdraw = match &proposal.change {
        Some(_) => in_set(Call::new(Verb::Withdraw)),
        None => of(Verb::Withdraw),
    };
    let again = match &proposal.action {
        Action::Move(target) => of(Verb::Mv).value(target.as_str()),
        Action::Retire if id.is_document() => in_set(of(Verb::Retire)),
        Action::Publish if proposal.is_renewal => in_set(of(Verb::Submit).word("--renew")),
        // A pack is retired by deleting its file.
        Action::Publish | Action::Retire => in_set(of(Verb::Submit)),
    };
    let is_text = proposal.action == Action::Publish && !proposal.is_renewal && id.is_document();
    let handed_in = if is_text { " (with `--from FILE` if the text was handed in)" } else { "" };
    let first = match &proposal.change {
        Some(_) => "its submitter runs {}, and submits each part again, this one with {}",
        None => "its submitter runs {} and then {}",
    };
    let or_reject = match (rejected, &proposal.change) {
        (None, _) => "",
        (Some(_), None) => ", or a reviewer rejects it with {}",
        (Some(_), Some(_)) => "; or a reviewer rejects the change with {}",
    };
    let calls = [withdraw, again].into_iter().chain(rejected.map(|version| reject(id, version)));
    Hint::calls([first, handed_in, or_reject].concat(), calls)
}

/// Returns the command that rejects this version, and no later submission.
pub(crate) fn reject(id: &DocumentId, version: Version) -> Call {
    let call = Call::new(Verb::Reject).value(id.as_str());
    call.word("--version").value(version.to_string()).word("--reason").word("TEXT")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::model::hint::{Mode, Spell};

    #[test]
    fn submitting_again_repeats_the_proposed_action() {
        let said = |id: &str, action: Action, is_renewal: bool, change: Option<&str>| {
            let change = change.map(str::to_owned);
            let proposal = Proposal { action, is_renewal, change };
            let words = |call: &Call| {
                let arguments = call.arguments.iter().map(|argument| match argument {
                    crate::values::model::hint::Argument::Value(value) => format!(" {value}"),
                    crate::values::model::hint::Argument::Word(word) => format!(" {word}"),
                });
                format!("`{}{}`", call.verb.as_str(), arguments.collect::<String>())
            };
            submitted_again(&id.parse().unwrap(), &proposal, None)
                .render(Spell::new(words, Mode::Publishes))
        };
        let target = "nodes/b".parse().unwrap();
        insta::assert_snapshot!(
            [
                said("nodes/a", Action::Publish, false, None),
                said("nodes/a", Action::Publish, true, None),
                said("nodes/a", Action::Retire, false, None),
                said("nodes/a", Action::Move(target), false, None),
                said("packs/p.yml", Action::Retire, false, None),
                said("nodes/a", Action::Publish, false, Some("autumn")),
                said("nodes/a", Action::Retire, false, Some("autumn")),
            ]
            .join("\n"),
            @"
        its submitter runs `withdraw nodes/a` and then `submit nodes/a` (with `--from FILE` if the text was handed in)
        its submitter runs `withdraw nodes/a` and then `submit nodes/a --renew`
        its submitter runs `withdraw nodes/a` and then `retire nodes/a`
        its submitter runs `withdraw nodes/a` and then `mv nodes/a nodes/b`
        its submitter runs `withdraw packs/p.yml` and then `submit packs/p.yml`
        its submitter runs `withdraw --change autumn`, and submits each part again, this one with `submit nodes/a --change autumn` (with `--from FILE` if the text was handed in)
        its submitter runs `withdraw --change autumn`, and submits each part again, this one with `retire nodes/a --change autumn`
        "
        );
    }
}
