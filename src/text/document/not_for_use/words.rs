//! Words of a status that mark a text as not for use, and the evaluation of a phrase
//! (`spec/document.md`, DOC-46).

use unicode_normalization::UnicodeNormalization as _;

use crate::text::document::frontmatter::Status;
use crate::values::text_util::misspelled;

/// Words that mark a text anywhere in a phrase, unless a denial precedes them.
const ANYWHERE: &str = "\
    abandoned, aborted, archived, awaiting, canceled, cancelled, decommissioned, declined, \
    defunct, denied, deprecated, discarded, discontinued, donotuse, draft, drafting, embargoed, \
    eol, expired, inactive, incomplete, invalid, invalidated, obsolescent, obsolete, obsoleted, outdated, \
    pending, placeholder, rejected, repealed, rescinded, retired, retracted, revoked, stub, \
    sunset, sunsetted, superseded, tbc, tbd, todo, trashed, unapproved, unfinished, \
    unpublished, unreleased, unreviewed, voided, wip, withdrawn, wontfix";

/// More such words in German, French and Spanish.
const FOREIGN: &str = "\
    abgekündigt, abgelaufen, abgelehnt, archiviert, aufgehoben, ausstehend, eingestellt, \
    entwurf, gelöscht, geloescht, inaktiv, obsolet, storniert, überholt, ueberholt, ungültig, \
    ungueltig, unveröffentlicht, veraltet, verworfen, widerrufen, zurückgezogen, \
    zurueckgezogen, abandonné, abandonnée, abrogé, abrogée, annulé, annulée, archivé, archivée, \
    brouillon, caduc, caduque, désuet, désuète, ébauche, expiré, expirée, inactif, obsolète, \
    périmé, périmée, refusé, refusée, rejeté, rejetée, retiré, retirée, suspendu, suspendue, \
    anulada, anulado, archivada, archivado, borrador, caducada, caducado, cancelada, cancelado, \
    derogada, derogado, descartada, descartado, desactualizado, descontinuado, inactivo, \
    obsoleta, obsoleto, pendiente, rechazada, rechazado, reemplazado, retirada, retirado, \
    sustituida, sustituido, vencido";

/// Phrases that mark a text anywhere.
const PHRASES: &str = "\
    approval required, approval needed, changes requested, end of life, end of support, \
    no longer needed, no longer required, out of date, replaced by, replaced with, \
    review needed, review required, succeeded by, superceded by, to be approved, \
    to be confirmed, to be reviewed, update needed, update required, work in progress, \
    außer kraft, ausser kraft, ersetzt durch, in arbeit, in bearbeitung, in prüfung, \
    in pruefung, zu prüfen, en attente, en cours, en relecture, en révision, à faire, à revoir, \
    hors service, remplacé par, remplacée par, en curso, en desuso, en progreso, en proceso, \
    en revisión, fuera de uso, por aprobar, gilt nicht mehr, à valider";

/// Words and phrases that mark a text at the beginning of a value, or as the whole of a later part.
/// A phrase also does so at the beginning of a later part.
const BEGINNING: &str = "\
    archive, auto draft, backlog, blocked, deferred, deleted, deletion, disabled, do not use, \
    dropped, duplicate, embargo, first draft, for approval, for review, future, geplant, hidden, historic, \
    historical, hold, idea, in approval, in creation, in development, in discussion, in draft, \
    in editing, in preparation, in progress, in review, in revision, in work, legacy, \
    needs review, needs work, not started, on hold, open for comments, parked, peer review, planned, postponed, private, \
    proposal, proposed, ready for review, removed, replaced, request for comments, review, reviewing, rework, \
    rough draft, scheduled, stale, submitted, suspended, terminated, to do, to review, trash, \
    under approval, under consideration, under construction, under development, \
    under discussion, under embargo, under review, under revision, void, waiting, \
    working draft";

/// Words that deny the next word of [`GOOD`] or [`ANYWHERE`].
const DENIALS: &str = "\
    aint, arent, cannot, cant, dont, hasnt, isnt, jamais, kein, keine, nest, never, \
    nicht, no, non, not, pas, plus, shouldnt, sin, wasnt, will, without";

/// Words for a text that is for use, which mark it as not for use after a denial.
const GOOD: &str = "\
    accepted, accurate, active, adopted, agreed, applicable, apply, approved, authorised, \
    authorized, cite, complete, completed, confirmed, correct, current, done, effective, \
    endorsed, enforced, final, finalised, finalized, finished, follow, followed, force, live, \
    maintained, operational, publish, published, ratified, ready, recommended, released, \
    relevant, reliable, rely, reviewed, signed, supported, updated, use, used, usable, valid, \
    validated, verified, freigegeben, genehmigt, gültig, gueltig, geprüft, veröffentlicht, \
    verwenden, verwendet, aktuell, kraft, approuvé, approuvée, publié, publiée, utiliser, \
    utilisé, valide, validé, validée, vigueur, aprobada, aprobado, aprobar, publicado, usar, utilizar, \
    válido, valido, vigente, vigor";

/// Things that a text waits for, after a word of [`NEEDS`].
const WORK: &str = "\
    approval, attention, changes, cleanup, confirmation, decision, edit, editing, edits, \
    feedback, improvement, publication, ratification, refresh, release, review, revision, \
    rework, rewrite, signoff, triage, update, updates, updating, validation, verification, \
    vote, work";

/// Words before one of [`WORK`].
const NEEDS: &str = "\
    await, awaits, lacks, missing, need, needing, needs, waiting";

/// Words after which a part is about another text.
const OTHERS: &str = "\
    amends, annule, deprecates, ersetzt, formerly, obsoletes, previously, reemplaza, remplace, \
    replaces, retires, see, succeeds, supersedes, sustituye, withdraws";

/// Words that do not affect the meaning of the next one.
const FILLERS: &str = "\
    a, an, any, anymore, as, be, been, being, but, currently, document, en, encore, for, \
    formally, fully, has, in, is, it, longer, más, mas, mehr, noch, now, officially, only, \
    page, partially, plus, policy, probably, status, still, text, the, this, to, under, very, \
    was, yet, à";

/// Signs that alone mark a text as not for use.
const SIGNS: [char; 9] = ['❌', '⛔', '🚫', '🗑', '🚧', '🛑', '✖', '✗', '✘'];

/// Returns true if the value of a status marks a text as not for use. `draft` alone is a status of
/// its own (DOC-40).
pub(super) fn is_not_for_use(value: &str) -> bool {
    if !matches!(Status::from_word(value.trim()), Status::Foreign(_)) {
        return false;
    }
    let (shown, is_struck) = shown(value);
    let parts = parts(&shown);
    if parts.is_empty() {
        return value.contains(SIGNS);
    }
    is_struck || parts.iter().enumerate().any(|(n, part)| is_said_in(part, n == 0))
}

/// Returns true if a list of this module contains a word.
fn has(list: &str, word: &str) -> bool {
    list.split(", ").any(|entry| entry == word)
}

/// Returns a value without HTML tags and addresses, and without parts that a page strikes out,
/// unless everything is struck out; and true if everything is.
fn shown(value: &str) -> (String, bool) {
    let strikes = [("~~", "~~"), ("<s>", "</s>"), ("<del>", "</del>"), ("<strike>", "</strike>")];
    let kept =
        strikes.iter().fold(value.to_owned(), |kept, (open, close)| without(&kept, open, close));
    let is_blank = |text: &str| !text.chars().any(char::is_alphanumeric);
    let is_struck = is_blank(&kept) && !is_blank(value);
    let kept = if is_struck { value.to_owned() } else { kept };
    let kept = without(&without(&kept, "](", ")"), "<", ">");
    let words = kept.split_inclusive(char::is_whitespace).filter(|word| !word.contains("://"));
    (words.collect(), is_struck)
}

/// Replaces every text between two marks with a blank.
fn without(text: &str, open: &str, close: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some((before, (_, after))) =
        rest.split_once(open).and_then(|(before, rest)| Some((before, rest.split_once(close)?)))
    {
        kept.push_str(before);
        kept.push(' ');
        rest = after;
    }
    kept + rest
}

/// Splits a value at punctuation into parts, each as its words in lower case.
fn parts(value: &str) -> Vec<Vec<String>> {
    let value = value.nfc().collect::<String>().replace("(yet)", "yet").replace(" - ", ";");
    let parts = value.split(|c| ",;:()[]{}|/.!?–—→>\n".contains(c)).map(|part| {
        let (mut words, mut before) = (vec![String::new()], ' ');
        for c in part.chars().filter(|c| !"'’`\u{ad}".contains(*c)) {
            if !c.is_alphanumeric() || (before.is_lowercase() && c.is_uppercase()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
                word.extend(c.to_lowercase());
            }
            before = c;
        }
        words.retain(|word| !word.is_empty());
        words
    });
    parts.filter(|words| !words.is_empty()).collect()
}

fn is_said_in(words: &[String], is_first: bool) -> bool {
    let own = words.iter().take_while(|word| !has(OTHERS, word));
    let words: Vec<&str> = own.map(String::as_str).collect();
    let is_lead =
        |word: &&&str| has(FILLERS, word) && !["en", "for", "in", "to", "under"].contains(*word);
    let lead = words.iter().take_while(is_lead).count();
    let begins = |entry: &str| match words[lead..].join(" ").strip_prefix(entry) {
        Some("") => true,
        Some(more) => more.starts_with(' ') && (is_first || entry.contains(' ')),
        None => false,
    };
    let text = format!(" {} ", words.join(" "));
    let stage = matches!(words.get(lead), Some(&"in" | &"under")).then(|| &words[lead + 1..]);
    if stage.is_some_and(|stage| stage.iter().take(3).any(|word| has(WORK, word)))
        || BEGINNING.split(", ").any(begins)
        || PHRASES.split(", ").any(|entry| text.contains(&format!(" {entry} ")))
        || matches!(words[..], [word] if is_run_together(word))
    {
        return true;
    }
    words.iter().enumerate().any(|(n, word)| {
        let next = &words[(n + 1).min(words.len())..];
        let waits =
            || !next.starts_with(&["no"]) && next.iter().take(3).any(|word| has(WORK, word));
        match is_denied(&words[..n]) {
            true => has(GOOD, word),
            false => is_word(word) || (has(NEEDS, word) && waits()),
        }
    })
}

/// Returns true if the words before one deny it.
fn is_denied(before: &[&str]) -> bool {
    let mut others = 0;
    for (n, word) in before.iter().enumerate().rev() {
        let is_last = n + 1 == before.len();
        let is_denial = match *word {
            // French has `plus` after another denial, or at the beginning.
            "plus" => n == 0,
            "no" => others == 0,
            "be" => n > 0 && before[n - 1] == "to" && is_last,
            word => has(DENIALS, word),
        };
        if is_denial {
            return true;
        }
        others += usize::from(!has(FILLERS, word));
        if others > 1 {
            break;
        }
    }
    false
}

/// Returns true if a word alone marks a text, even with a slip or with `un` before a good one.
fn is_word(word: &str) -> bool {
    let is_long = |word: &&str| word.len() >= 8 && word.is_ascii();
    let near = || misspelled(word, ANYWHERE.split(", ").filter(is_long));
    // `supersedes` is another form of `superseded`, not a slip.
    let is_slip = || {
        is_long(&word)
            && near().is_some_and(|near| word[word.len() - 1..] == near[near.len() - 1..])
    };
    has(ANYWHERE, word)
        || has(FOREIGN, word)
        || word.strip_prefix("un").is_some_and(|rest| has(GOOD, rest))
        || is_slip()
}

/// Returns true if a single word is one of the phrases without blanks.
fn is_run_together(word: &str) -> bool {
    let is_same = |phrase: &str| phrase.bytes().filter(|b| *b != b' ').eq(word.bytes());
    let is_after = |starts: &[&str], list: &str| {
        let rests = starts.iter().filter_map(|start| word.strip_prefix(start));
        rests.into_iter().any(|rest| has(list, rest))
    };
    PHRASES.split(", ").chain(BEGINNING.split(", ")).any(is_same)
        || is_after(
            &["donot", "dont", "nolonger", "nolongerin", "non", "not", "notin", "notyet"],
            GOOD,
        )
        || is_after(&["awaiting", "needs", "pending", "waitingfor"], WORK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_judged_by_their_words() {
        for value in
            "rejected ¦ Rejected ¦ PENDING_REVIEW ¦ pending-review ¦ In Review ¦ WIP: ana ¦ \
            Superseded by ADR-0005 ¦ superseded by [ADR-5](5.md) ¦ To-Do ¦ ToDo ¦ ❌ Deprecated ¦ \
            deprecated since 2024 ¦ Accepted (superseded by 0012) ¦ draft for comment ¦ \
            work_in_progress ¦ not approved ¦ Not yet approved ¦ Not (yet) approved ¦ \
            needs-approval ¦ awaiting approval ¦ Final Draft ¦ Stable (deprecated) ¦ \
            No longer in use ¦ PendingReview ¦ InReview ¦ inreview ¦ donotuse ¦ DoNotUse ¦ \
            Don't use ¦ do not use! ¦ depricated ¦ depreciated ¦ obselete ¦ archieved ¦ \
            superceded ¦ decommissioned ¦ Sunset ¦ sunset 2024-01-01 ¦ embargoed ¦ under embargo ¦ \
            ~~Deprecated~~ ¦ **Deprecated** ¦ `archived` ¦ \"rejected\" ¦ ~~Approved~~ ¦ \
            <s>Accepted</s> ¦ ~~Accepted~~ Superseded by ADR 7 ¦ <b>Obsolete</b> ¦ veraltet ¦ \
            Entwurf ¦ abgelehnt ¦ archiviert ¦ überholt ¦ u\u{308}berholt ¦ in Bearbeitung ¦ \
            noch nicht freigegeben ¦ nicht mehr gültig ¦ nicht verwenden ¦ obsolète ¦ brouillon ¦ \
            rejeté ¦ n'est plus en vigueur ¦ ne pas utiliser ¦ non approuvé ¦ \
            en cours de révision ¦ borrador ¦ obsoleto ¦ rechazado ¦ no vigente ¦ no usar ¦ \
            pendiente de aprobación ¦ not final ¦ isn't final ¦ never approved ¦ \
            no longer maintained ¦ Not for production use ¦ unsupported ¦ notapproved ¦ \
            notyetapproved ¦ needsreview ¦ workinprogress ¦ Draft. ¦ #draft ¦ [draft] ¦ draft-2 ¦ \
            Accepted, then withdrawn ¦ Draft/WIP ¦ In legal review ¦ still in review ¦ \
            currently under review ¦ Published (review) ¦ approval pending ¦ \
            Approved, but needs update ¦ soon deprecated ¦ to be published ¦ will be approved ¦ \
            review required ¦ out-of-date ¦ Final (draft) ¦ 🚧 ¦ ❌ ¦ deprecated -> use B ¦ \
            Replaced by B ¦ replaced ¦ on hold since May ¦ end-of-life ¦ Obsolescent ¦ sin aprobar ¦ à valider ¦ Open for comments"
                .split(" ¦ ")
        {
            assert!(is_not_for_use(value), "{value}");
        }
        for value in
            "draft ¦ Draft ¦  draft  ¦ published ¦ active ¦ stable ¦ live ¦ final ¦ approved ¦ \
            accepted ¦ current ¦ in force ¦ In use ¦ todos ¦ supersedes ADR-4 ¦ \
            Supersedes draft ADR-4 ¦ not deprecated ¦ no longer a draft ¦ Not a draft ¦ reviewed ¦ \
            archivedx ¦ 1 ¦ null ¦  ¦ ~ ¦ ✅ ¦ Approved (review due 2027) ¦ \
            Approved, next review 2027-01 ¦ Approved; no open changes ¦ Approved after review ¦ \
            ~~Draft~~ Published ¦ <del>Draft</del> Final ¦ never rejected ¦ non-obsolete ¦ \
            Accepted, see [notes](deprecated/notes.md) ¦ Accepted (was https://x/draft) ¦ \
            Accepted - implementation in progress ¦ Approved (review not required) ¦ \
            no pending changes ¦ Accepted, replaces rejected ADR 3 ¦ to be archived in 2030 ¦ \
            formerly rejected ¦ gültig ¦ freigegeben ¦ en vigueur ¦ vigente ¦ needs no review ¦ \
            recommended ¦ experimental ¦ beta ¦ v2 ¦ Adopt ¦ unique ¦ released ¦ In Kraft ¦ \
            no objections approved ¦ not confidential"
                .split(" ¦ ")
        {
            assert!(!is_not_for_use(value), "{value}");
        }
    }

    #[test]
    fn the_words_are_those_of_the_specification() {
        let rules = include_str!("../../../../spec/document.md");
        for (row, list) in [
            ("anywhere", ANYWHERE),
            ("anywhere, of other languages", FOREIGN),
            ("anywhere, as a phrase", PHRASES),
            ("at the beginning", BEGINNING),
            ("denials", DENIALS),
            ("good words", GOOD),
            ("work", WORK),
            ("needs", NEEDS),
            ("other texts", OTHERS),
            ("fillers", FILLERS),
        ] {
            let row = format!("| {row} | ");
            let found = rules.lines().find_map(|line| line.strip_prefix(&row)).expect(&row);
            assert_eq!(found.trim_end_matches(" |").replace('`', ""), list, "{row}");
        }
    }
}
