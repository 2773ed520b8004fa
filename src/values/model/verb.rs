//! The operations of the product, one row each. Every front end takes names and properties
//! from here.

use self::Discloses::{Names, Nothing, Texts};
use self::Effect::{Decides, Publishes, Reads, Writes};
use self::Profile::{Author, Reader, Reviewer};

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An operation that reads.
    Reads,
    /// An operation that writes files or records, and publishes nothing.
    Writes,
    /// An operation that publishes, or submits if the vault is governed.
    Publishes,
    /// An operation that submits, or decides about a submission.
    Decides,
}

/// Parts of a vault that an operation discloses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discloses {
    /// States, names of live files, hashes, lines of logs, or input of the user.
    Nothing,
    /// Names of documents, or fields of them.
    Names,
    /// Texts of documents or of staged results.
    Texts,
}

/// The kind of principal that an MCP server serves; each profile has the tools of the one
/// before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Profile {
    /// A principal who reads published texts.
    #[default]
    Reader,
    /// A principal who writes drafts and submits them.
    Author,
    /// A principal who decides about submissions, and publishes.
    Reviewer,
}

impl Profile {
    /// Returns the name of the profile.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Author => "author",
            Self::Reviewer => "reviewer",
        }
    }
}

/// A tool with the function of a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerbTool {
    /// Name of the tool.
    pub name: &'static str,
    /// Argument of the tool that has the first value of the command; empty if no argument has it.
    pub argument: &'static str,
    /// First profile with the tool.
    pub profile: Profile,
}

/// The declaration of an operation.
#[derive(Clone, Copy, Debug)]
struct Row {
    words: &'static str,
    group: &'static str,
    effect: Effect,
    discloses: Discloses,
    tools: &'static [VerbTool],
}

/// Declares the operations.
macro_rules! verbs {
    ($($group:literal { $(
        $variant:ident $words:literal $effect:ident $discloses:ident
            $([$tool:literal $argument:literal $profile:ident])*;
    )* })*) => {
        /// An operation that a front end offers.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Verb {
            $($(#[doc = concat!("`", $words, "`")] $variant,)*)*
        }

        /// All operations, in the order of the table.
        const ALL: &[Verb] = &[$($(Verb::$variant,)*)*];

        /// The rows of the table, in the order of [`ALL`].
        const ROWS: &[Row] = &[$($(Row {
            words: $words,
            group: $group,
            effect: $effect,
            discloses: $discloses,
            tools: &[$(VerbTool { name: $tool, argument: $argument, profile: $profile },)*],
        },)*)*];
    };
}

// Each group of `ctx --help`, in its order, with the verbs in the order of the help. A row has the
// words on the command line, the effect, the parts of a vault that are disclosed, and each tool
// with the same function. A hint names the first tool.
verbs! {
    "Start" {
        Init "init" Writes Nothing;
        Demo "demo" Writes Nothing;
        Add "add" Publishes Nothing ["context_create" "id" Author];
    }
    "Publish" {
        Status "status" Reads Nothing;
        Validate "validate" Reads Nothing;
        Diff "diff" Reads Texts ["context_diff" "id" Reader];
        Publish "publish" Publishes Nothing ["context_publish" "id" Reviewer];
        Retire "retire" Publishes Nothing;
        Restore "restore" Writes Texts ["context_restore" "id" Author];
        Mv "mv" Publishes Nothing;
        Merge "merge" Writes Names;
        MergeDriver "merge-driver" Writes Nothing;
    }
    "Review" {
        Submit "submit" Decides Nothing ["context_submit" "ids" Author];
        Review "review" Reads Names ["context_review" "" Reviewer];
        ReviewShow "review show" Reads Texts ["context_review" "id" Reviewer];
        Approve "approve" Decides Nothing ["context_approve" "id" Reviewer];
        Reject "reject" Decides Nothing ["context_reject" "ids" Reviewer];
        Withdraw "withdraw" Decides Nothing ["context_withdraw" "ids" Author];
        Comment "comment" Writes Nothing;
    }
    "Read" {
        List "list" Reads Texts ["context_overview" "selector" Reader];
        Read "read" Reads Texts ["context_read" "id" Reader];
        Resolve "resolve" Reads Texts
            ["context_resolve" "selector" Reader] ["context_pack" "" Reader];
        Search "search" Reads Texts ["context_search" "query" Reader];
        Context "context" Reads Texts ["context_init" "" Reader];
        PackList "pack list" Reads Names ["context_init" "" Reader];
        PackShow "pack show" Reads Texts;
        PackAdd "pack add" Writes Names;
        PackCheck "pack check" Reads Names;
        Neighbors "neighbors" Reads Names ["context_neighbors" "id" Reader];
        Graph "graph" Reads Names;
        SourceList "source list" Reads Names;
        SourceShow "source show" Reads Texts;
        SourceOrder "source order" Reads Names;
        SourceCheck "source check" Reads Nothing;
        SourceRecord "source record" Writes Nothing ["context_source_record" "" Author];
        SourceFresh "source fresh" Reads Texts;
        SourceDiff "source diff" Reads Texts;
        SourceRun "source run" Writes Nothing;
    }
    "Verify and look back" {
        Verify "verify" Reads Nothing ["context_verify" "" Reader];
        Ci "ci" Reads Names;
        Head "head" Reads Nothing;
        HeadTrust "head trust" Writes Nothing;
        HeadForget "head forget" Writes Nothing;
        HeadList "head list" Reads Nothing;
        History "history" Reads Names ["context_history" "id" Reader];
        Blame "blame" Reads Texts ["context_blame" "id" Reader];
        Check "check" Reads Names ["context_check" "" Reader];
        Show "show" Reads Texts;
        CheckpointList "checkpoint list" Reads Names;
        CheckpointShow "checkpoint show" Reads Names;
        CheckpointDiff "checkpoint diff" Reads Names;
        CheckpointRebuild "checkpoint rebuild" Writes Names;
        CheckpointConvert "checkpoint convert" Writes Names;
        CheckpointAdopt "checkpoint adopt" Writes Names;
        Checkout "checkout" Writes Texts;
        AuditBegin "audit begin" Publishes Nothing;
        AuditAcknowledge "audit acknowledge" Writes Nothing;
        AuditDismiss "audit dismiss" Writes Nothing;
        TraceList "trace list" Reads Nothing;
        TraceGrep "trace grep" Reads Nothing;
        TraceFollow "trace follow" Reads Nothing;
        TraceShow "trace show" Reads Nothing;
        TraceVerify "trace verify" Reads Nothing;
        TraceOutput "trace output" Writes Nothing;
        TraceCollect "trace collect" Writes Nothing;
        TraceHoldPlace "trace hold place" Writes Nothing;
        TraceHoldList "trace hold list" Reads Nothing;
        TraceHoldLift "trace hold lift" Writes Nothing;
        TracePrune "trace prune" Writes Nothing;
        Impact "impact" Reads Nothing;
        Replay "replay" Reads Nothing ["context_replay" "" Reader];
        EvidenceExport "evidence export" Writes Texts;
        EvidenceVerify "evidence verify" Reads Nothing;
        EvidenceReport "evidence report" Reads Names;
    }
    "Govern" {
        GovernOn "govern on" Publishes Nothing;
        GovernOff "govern off" Publishes Nothing;
        StewardList "steward list" Reads Names;
        StewardWho "steward who" Reads Names;
        StewardAssign "steward assign" Publishes Nothing ["context_assign_steward" "" Reviewer];
        StewardRemove "steward remove" Publishes Nothing;
        StewardExport "steward export" Reads Names;
        StewardImport "steward import" Publishes Nothing;
        Owners "owners" Reads Names;
        StageList "stage list" Reads Names ["context_stage_list" "" Author];
        StageShow "stage show" Reads Texts;
        StageDiff "stage diff" Reads Texts;
        StagePin "stage pin" Writes Nothing;
        StageUnpin "stage unpin" Writes Nothing;
        StagePromote "stage promote" Publishes Nothing ["context_stage_promote" "entry" Reviewer];
        StageDiscard "stage discard" Writes Nothing;
        StageGc "stage gc" Writes Nothing;
        StageErase "stage erase" Writes Nothing;
    }
    "Serve" {
        Mcp "mcp" Reads Nothing;
        McpConfig "mcp config" Writes Nothing;
        McpDoctor "mcp doctor" Reads Nothing;
        McpSchema "mcp schema" Reads Nothing;
        McpTokenAdd "mcp token add" Writes Nothing;
        McpTokenList "mcp token list" Reads Nothing;
        McpTokenRevoke "mcp token revoke" Writes Nothing;
        SkillInstall "skill install" Writes Texts;
    }
    "Maintain" {
        Recover "recover" Writes Nothing;
        Index "index" Writes Nothing;
        Textconv "textconv" Reads Nothing;
        HookInstall "hook install" Writes Nothing;
        HookUninstall "hook uninstall" Writes Nothing;
        HookStatus "hook status" Reads Nothing;
        HookRun "hook run" Reads Nothing;
    }
    "Help" {
        Help "help" Reads Nothing;
    }
    // A tool without a command: on the command line, a person edits the file.
    "" {
        Draft "draft" Decides Texts ["context_update" "id" Author];
    }
}

impl Verb {
    const fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    /// Returns the words on the command line, as `stage list`.
    pub const fn as_str(self) -> &'static str {
        self.row().words
    }

    /// Returns all verbs, in the order of the help.
    pub fn all() -> impl Iterator<Item = Self> {
        ALL.iter().copied()
    }

    /// Returns the verb with these words.
    pub fn of_words(words: &str) -> Option<Self> {
        Self::all().find(|verb| verb.as_str() == words)
    }

    /// Returns the group of `ctx --help`; empty if the command line lacks the verb.
    pub fn group(self) -> &'static str {
        self.row().group
    }

    /// Returns the effect of the verb.
    pub const fn effect(self) -> Effect {
        self.row().effect
    }

    /// Returns true if the program in the user's configuration is notified of the act.
    pub const fn notifies(self) -> bool {
        matches!(self.effect(), Publishes | Decides)
    }

    /// Returns the parts of a vault that the verb discloses. The report is withheld until the
    /// access is recorded.
    pub fn discloses(self) -> Discloses {
        self.row().discloses
    }

    /// Returns all tools with the function of the verb.
    pub fn tools(self) -> impl Iterator<Item = &'static VerbTool> {
        self.row().tools.iter()
    }

    /// Returns the tool that a hint names in place of the command.
    pub fn tool(self) -> Option<&'static VerbTool> {
        self.row().tools.first()
    }

    /// Returns the verb under which a call of a tool is recorded: the verb of an argument that
    /// `is_given`, or else the first verb with the tool.
    pub fn of_tool(tool: &str, is_given: impl Fn(&str) -> bool) -> Option<Self> {
        let has = |verb: &Self, found: &dyn Fn(&VerbTool) -> bool| {
            verb.row().tools.iter().any(|one| one.name == tool && found(one))
        };
        let of_argument = |one: &VerbTool| !one.argument.is_empty() && is_given(one.argument);
        let mut first = Self::all().filter(|verb| has(verb, &|_| true));
        let given = Self::all().find(|verb| has(verb, &of_argument));
        given.or_else(|| first.next())
    }

    /// Returns the first verb with a tool, and its row of the tool.
    ///
    /// # Panics
    /// No row has the tool. The function is evaluated when the program is compiled, which
    /// then fails.
    #[allow(clippy::panic, reason = "it is evaluated when the program is compiled")]
    pub const fn declared(tool: &str) -> (Self, &'static VerbTool) {
        let mut n = 0;
        while n < ROWS.len() {
            let mut one = 0;
            while one < ROWS[n].tools.len() {
                if is_same(ROWS[n].tools[one].name.as_bytes(), tool.as_bytes()) {
                    return (ALL[n], &ROWS[n].tools[one]);
                }
                one += 1;
            }
            n += 1;
        }
        panic!("no verb has the tool")
    }
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    let mut n = 0;
    while n < left.len() && n < right.len() && left[n] == right[n] {
        n += 1;
    }
    n == left.len() && n == right.len()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn verbs_have_distinct_words() {
        let words: BTreeSet<&str> = Verb::all().map(Verb::as_str).collect();
        assert_eq!(words.len(), ROWS.len());
        for verb in Verb::all() {
            assert_eq!(Verb::of_words(verb.as_str()), Some(verb));
        }
    }

    #[test]
    fn a_call_of_a_tool_is_recorded_as_the_verb_of_its_argument() {
        let of = |tool, given: &'static str| Verb::of_tool(tool, |argument| argument == given);
        assert_eq!(of("context_review", ""), Some(Verb::Review));
        assert_eq!(of("context_review", "id"), Some(Verb::ReviewShow));
        assert_eq!(of("context_init", "id"), Some(Verb::Context));
        assert_eq!(of("context_pack", "selector"), Some(Verb::Resolve));
        assert_eq!(of("context_none", ""), None);
    }
}
