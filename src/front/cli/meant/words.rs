//! The words that newcomers type, and their equivalents in ctx.

/// Words of other programs in place of a command.
#[rustfmt::skip]
pub(super) const WORDS: &[(&[&str], &str)] = &[
    (&["log", "reflog", "versions", "revisions"], "`ctx history ID` lists the versions of a document, `ctx checkpoint list` the checkpoints"),
    (&["logs", "access", "accesses", "reads"], "`ctx trace list` lists what was read, `ctx trace follow` prints it as it happens"),
    (&["op", "operation", "operations", "events"], "`ctx checkpoint list` lists publications, `ctx trace list` accesses and changes"),
    (&["tail", "watch"], "`ctx trace follow` prints accesses as they happen"),
    (&["commit", "save", "release", "amend", "squash"], "`ctx publish --changed -m \"why\"` publishes every change, `ctx publish ID` one document"),
    (&["push", "pull", "fetch", "clone", "remote", "sync"], "a vault is plain files: git carries it, as `git push` and `git clone` do"),
    (&["branch", "rebase", "stash", "switch", "cherry-pick"], "a vault is plain files: use git for branches, and `ctx merge` if both sides published"),
    (&["tag", "tags", "label", "labels"], "tags are a field of a document; `ctx list \"#TAG\"` lists the documents with one"),
    (&["rm", "remove", "delete", "del", "unpublish", "archive", "deprecate"], "`ctx retire ID` withdraws a published document; its history stays"),
    (&["revert", "reset", "undo", "rollback", "abandon"], "`ctx restore ID --version N` writes an earlier text into the file, `ctx publish ID` publishes it"),
    (&["co"], "`ctx restore ID` writes a published text into its file, `ctx checkout NUMBER DIR` a checkpoint into a folder"),
    (&["ls", "dir", "document", "documents", "doc", "docs"], "`ctx list` lists the published documents"),
    (&["cat", "view", "get", "open", "print", "less", "type"], "`ctx read ID` prints the published text of a document"),
    (&["outline", "headings", "sections"], "`ctx read ID --outline` lists the sections of a document"),
    (&["new", "create", "write", "touch", "mkdir"], "`ctx add ID --body TEXT` makes a document, and the folders of its id"),
    (&["edit", "update", "modify", "change"], "edit the file itself, then run `ctx publish ID`"),
    (&["rename", "move"], "`ctx mv OLD NEW` gives a document another id"),
    (&["cp", "copy", "duplicate"], "copy the file, then run `ctx publish ID` with the id of the copy; `ctx mv OLD NEW` moves a document"),
    (&["grep", "find", "lookup", "ask"], "`ctx search WORDS` finds sections by words"),
    (&["query", "select", "filter"], "`ctx resolve SELECTOR` selects documents, as in `ctx resolve \"#policy\"`"),
    (&["export", "archive-export", "dump"], "`ctx checkout NUMBER DIR` writes the files of a checkpoint, `ctx evidence export` a proof of accesses"),
    (&["import", "load", "ingest"], "`ctx init` makes a folder of Markdown a vault, then `ctx publish --all` publishes it"),
    (&["serve", "server", "start", "run"], "`ctx mcp` serves the vault to agents"),
    (&["install", "setup"], "`ctx mcp config CLIENT` connects a client, `ctx skill install` teaches agents, `ctx hook install` adds git hooks"),
    (&["lint", "fmt", "format"], "`ctx validate` reports problems of live files; ctx formats none of them"),
    (&["test", "fsck", "doctor", "integrity"], "`ctx verify` recomputes every hash"),
    (&["gc", "clean", "cleanup", "repair", "fix", "unlock"], "`ctx recover --dry-run` shows what an interrupted command left, `ctx recover` cleans it up"),
    (&["rebuild"], "`ctx checkpoint rebuild` derives the log from the histories, `ctx index` writes the derived files"),
    (&["backup"], "copy the folder, or push it with git; `ctx head` prints the hash to keep elsewhere"),
    (&["annotate", "praise"], "`ctx blame ID` shows who made each line"),
    (&["compare"], "`ctx diff ID V1 V2` compares versions, `ctx checkpoint diff` checkpoints"),
    (&["snapshot", "snapshots", "checkpoints"], "`ctx checkpoint list` lists the checkpoints; `ctx publish` makes one"),
    (&["describe", "desc"], "`ctx history ID` lists the versions with their notes, `ctx publish ID -m \"why\"` stores one"),
    (&["st", "stat", "stats", "info", "state"], "`ctx status` shows how files differ from their published versions"),
    (&["tree", "map", "toc", "overview"], "`ctx context` prints a map of published documents"),
    (&["links", "backlinks", "refs", "references"], "`ctx neighbors ID` lists what a document refers to and what refers to it"),
    (&["users", "role", "roles", "member", "members", "group", "groups", "permission", "permissions", "acl", "reviewer", "reviewers", "editor", "editors"], "`ctx steward list` lists who has which role, `ctx owners` who governs what"),
    (&["whoami", "login", "auth", "user"], "ctx takes the principal from `--as NAME`, `CTX_PRINCIPAL` or git's `user.email`"),
    (&["config", "settings", "configure"], "the configuration is `.context/config.yaml`; `ctx validate .context/config.yaml` checks it"),
    (&["version"], "`ctx --version` prints the version of the program"),
    (&["hash", "sha"], "`ctx head` prints the hash of the last checkpoint"),
    (&["pr", "mr", "propose", "request"], "`ctx submit ID` submits a text for review, `ctx review` lists pending submissions"),
    (&["accept", "lgtm", "merge-request"], "`ctx approve ID` approves a submission"),
    (&["deny", "decline", "refuse"], "`ctx reject ID --reason TEXT` rejects a submission"),
    (&["queue", "pending", "inbox", "reviews", "submissions"], "`ctx review` lists pending submissions"),
    (&["prove", "proof"], "`ctx evidence export` writes a proof of accesses"),
    (&["key", "keys", "tokens"], "`ctx mcp token add` makes a bearer token for a server; ctx has no other keys"),
];

/// Nouns of other programs for a document.
const DOCUMENTS: &[&str] =
    &["document", "documents", "doc", "docs", "file", "files", "node", "nodes", "page", "pages"];
/// Nouns of other programs for people and roles.
const PEOPLE: &[&str] = &[
    "user",
    "users",
    "role",
    "roles",
    "member",
    "members",
    "group",
    "groups",
    "reviewer",
    "reviewers",
    "editor",
    "editors",
    "permission",
    "permissions",
    "owner",
    "team",
];
/// Nouns of other programs for a submission.
const REQUESTS: &[&str] = &[
    "pr",
    "prs",
    "mr",
    "cr",
    "merge-request",
    "pull-request",
    "submission",
    "submissions",
    "proposal",
    "request",
];
const LIST: &[&str] = &["list", "ls", "all", "status", "show"];
const SHOW: &[&str] = &["show", "view", "get", "read", "cat", "open", "print", "diff", "checkout"];
const MAKE: &[&str] = &["add", "new", "create", "make", "write", "open", "assign", "set", "grant"];
const REMOVE: &[&str] = &["rm", "remove", "delete", "del", "revoke", "archive", "unassign"];

/// A noun with an action, as in `pr list`.
#[rustfmt::skip]
pub(super) const PAIRS: &[(&[&str], &[&str], &str)] = &[
    (DOCUMENTS, &["list", "ls", "all"], "`ctx list` lists the published documents"),
    (DOCUMENTS, SHOW, "`ctx read ID` prints the published text of a document"),
    (DOCUMENTS, MAKE, "`ctx add ID --body TEXT` makes a document"),
    (DOCUMENTS, REMOVE, "`ctx retire ID` withdraws a published document; its history stays"),
    (DOCUMENTS, &["edit", "update"], "edit the file itself, then run `ctx publish ID`"),
    (DOCUMENTS, &["rename", "move"], "`ctx mv OLD NEW` gives a document another id"),
    (PEOPLE, LIST, "`ctx steward list` lists who has which role, `ctx owners` who governs what"),
    (PEOPLE, MAKE, "`ctx steward assign PRINCIPAL ROLE --whole-vault` gives a role to a principal"),
    (PEOPLE, REMOVE, "`ctx steward remove PRINCIPAL --whole-vault` ends a role in the whole vault"),
    (REQUESTS, &["list", "ls", "all", "status"], "`ctx review` lists pending submissions"),
    (REQUESTS, &["create", "new", "open", "add", "make"], "`ctx submit ID` submits a text for review"),
    (REQUESTS, SHOW, "`ctx review show ID` shows the changes of a submission"),
    (REQUESTS, &["approve", "accept", "merge"], "`ctx approve ID` approves a submission"),
    (REQUESTS, &["reject", "deny", "decline"], "`ctx reject ID --reason TEXT` rejects a submission"),
    (REQUESTS, &["close", "withdraw", "cancel"], "`ctx withdraw ID` withdraws a submission of yours"),
    (&["version", "revision"], &["list", "ls", "show", "log"], "`ctx history ID` lists the versions of a document, `ctx show ID N` prints one"),
    (&["vault", "repo", "project"], &["init", "new", "create", "add"], "`ctx init` makes a folder of Markdown a vault"),
    (&["op", "operation"], &["undo", "revert", "restore"], "`ctx restore ID --version N` writes an earlier text into the file, `ctx publish ID` publishes it"),
];

/// Words in place of a part of a command.
#[rustfmt::skip]
pub(super) const PARTS: &[(&str, &[&str], &str)] = &[
    ("mcp", &["start", "serve", "run", "stdio", "server"], "`ctx mcp` serves the vault over standard input and output"),
    ("mcp", &["http", "listen"], "`ctx mcp --http 127.0.0.1:8080` serves the vault over HTTP"),
    ("mcp", &["add", "register", "connect", "add-json"], "`ctx mcp config CLIENT --write` adds the server to a client, as in `ctx mcp config claude-code --write`"),
    ("mcp", &["list", "tools", "inspect"], "`ctx mcp schema` prints the tools, `ctx mcp doctor` connects to a server as a client does"),
    ("govern", &["status", "show"], "`ctx owners` shows who governs what, `ctx status` pending submissions"),
    ("audit", &["list", "show", "log", "ls", "verify", "export"], "`ctx trace list` lists accesses, `ctx checkpoint list` publications, `ctx trace verify` recomputes the logs"),
    ("checkpoint", &["create", "add", "new", "make"], "`ctx publish` makes a checkpoint"),
    ("checkpoint", &["restore", "checkout", "export"], "`ctx checkout NUMBER DIR` writes the files of a checkpoint, `ctx restore ID --version N` one earlier text"),
    ("checkpoint", &["verify", "check"], "`ctx verify` recomputes the hash of every checkpoint"),
    ("review", &["list", "ls", "status", "pending", "queue", "all"], "`ctx review` lists pending submissions"),
    ("review", &["approve", "accept"], "`ctx approve ID` approves a submission"),
    ("review", &["reject", "decline"], "`ctx reject ID --reason TEXT` rejects a submission"),
    ("review", &["submit", "request", "create"], "`ctx submit ID` submits a text for review"),
    ("trace", &["tail", "watch", "-f"], "`ctx trace follow` prints accesses and changes as they are recorded"),
    ("trace", &["export", "dump"], "`ctx evidence export` writes accesses and their proof into a file, `ctx trace list --format otlp` prints them for other programs"),
    ("trace", &["search", "find"], "`ctx trace grep PATTERN` finds accesses and changes by a regular expression"),
    ("evidence", &["list", "ls", "show"], "`ctx trace list` lists what can be exported, `ctx evidence verify FILE` reads a bundle"),
    ("head", &["show", "print"], "`ctx head` prints the hash of the last checkpoint"),
];

/// Options of other programs: the commands with an equivalent (empty for all), and the equivalent.
/// `{id}` is the first value on the command line, `{value}` that of the option.
#[rustfmt::skip]
pub(super) const OPTIONS: &[(&[&str], &[&str], &str)] = &[
    (&["read"], &["--version", "--rev", "--revision", "-v"], "`ctx show {id} {value}` prints version {value}, `ctx read {id}@{value}` the text as of checkpoint {value}"),
    (&["impact", "show", "diff"], &["--version", "--rev", "--revision", "-v"], "the version is an argument: `ctx {verb} {id} {value}`"),
    (&["list", "search", "resolve", "context"], &["--tag", "--tags", "-t"], "`ctx list {#value}` lists the documents with a tag, `ctx resolve {#value}` prints them"),
    (&["list", "search", "resolve", "context"], &["--type", "--kind"], "`ctx list {type:value}` lists the documents of a type, `ctx resolve {type:value}` prints them"),
    (&["list", "search", "resolve", "context"], &["--folder", "--dir", "--path", "--in"], "`ctx list {value/}` lists the documents in a folder, `ctx resolve {value/}` prints them"),
    (&["list"], &["--status", "--drafts", "--draft", "--unpublished"], "`ctx status` lists unpublished documents"),
    (&["list", "verify", "history", "index", "resolve", "graph"], &["--all", "-a", "-A"], "without this option, `ctx {verb}` includes all"),
    (&["publish"], &["--amend"], "a version is never changed: `ctx publish ID` makes a new one"),
    (&["submit"], &["--all", "-a", "-A"], "`ctx submit --changed` submits every change to published texts; name each new document"),
    (&["verify", "validate"], &["--fix", "--repair"], "`ctx {verb}` changes nothing; `ctx help CODE` explains a finding and its remedy, `ctx recover --dry-run` what an interrupted command left"),
    (&[], &["--cached", "--staged"], "`ctx validate --staged` checks what is staged in git"),
    (&["mcp"], &["--port", "-p"], "name an address, too: `ctx mcp --http 127.0.0.1:{port}`"),
    (&["mcp"], &["--host", "--bind", "--transport", "--address"], "`ctx mcp` serves over standard input and output, `ctx mcp --http 127.0.0.1:8080` over HTTP"),
    (&["mcp"], &["--stdio", "-s"], "`ctx mcp` without an option serves over standard input and output"),
    (&["mcp"], &["--client", "--install"], "`ctx mcp config CLIENT` prints the entry for a client"),
    (&["history"], &["-p", "--patch", "--diff", "--stat"], "`ctx diff {id} V1 V2` shows the changes between two versions, `ctx blame {id}` who made each line"),
    (&["status", "history", "list"], &["-s", "--short", "--porcelain", "--oneline", "-l", "--long"], "`ctx {verb}` prints one line for each already; `--json` prints all fields, for programs"),
    (&["trace", "trace list", "trace grep"], &["-f", "--follow", "--tail"], "`ctx trace follow` prints accesses and changes as they are recorded"),
    (&["trace prune"], &["--older-than", "--keep", "--days", "--from", "--to"], "`ctx trace prune --before TIME` deletes older accesses"),
    (&["comment"], &["-m", "--message", "--body", "-b"], "the text is an argument: `ctx comment {id} {value}`"),
    (&["retire", "mv"], &["-f", "--force", "-y", "--yes"], "`ctx {verb}` asks nothing; run it without this option"),
    (&["approve", "reject"], &["--all", "-a"], "`ctx review` lists pending submissions: name the ids, or a change with `--change`"),
    (&["submit"], &["--reviewer", "--reviewers", "--assignee", "-r"], "`stewards.yaml` names the reviewers: `ctx steward who {id}` shows them"),
    (&["list"], &["--sort", "--order", "--reverse"], "the list is in the order of ids; `--json` prints it for programs that sort"),
    (&["init"], &["--template"], "`ctx init --starter policy` makes first documents"),
    (&["resolve"], &["--limit", "-n"], "`ctx list SELECTOR -n N` lists the first documents, `ctx resolve SELECTOR --budget TOKENS` limits the answer"),
    (&["add"], &["--file", "-f", "--content", "--text"], "`ctx add ID --body TEXT` makes a document; `--body -` reads standard input"),
    (&[], &["-o", "--output", "--out"], "`--json` prints the report for programs; to write it into a file, add `> FILE`"),
    (&[], &["-v", "--verbose"], "`--json` prints all that the report contains"),
];

/// Surplus values: the commands, true if only a number is meant, and the equivalent.
#[rustfmt::skip]
pub(super) const BESIDE: &[(&[&str], bool, &str)] = &[
    (&["history"], true, "`ctx show {id} {value}` prints version {value}"),
    (&["read"], true, "`ctx show {id} {value}` prints version {value}, `ctx read {id}@{value}` the text as of checkpoint {value}"),
    (&["read"], false, "`ctx read` prints one document; `ctx resolve SELECTOR` prints several"),
    (&["checkpoint list"], true, "`ctx checkpoint show {value}` shows checkpoint {value}"),
    (&["owners"], false, "`ctx steward who {value}` shows who decides about a document"),
    (&["graph"], false, "`ctx neighbors {value}` shows the links of one document"),
    (&["stage list"], false, "`ctx stage show {value}` prints one entry"),
    (&["index"], false, "`ctx index` writes the derived files, `ctx checkpoint rebuild` the log"),
    (&["context"], false, "`ctx resolve {value}` prints documents for an agent"),
    (&["resolve", "list"], false, "join selectors in one argument, as in `ctx {verb} '#a + #b'` for both or `ctx {verb} '#a | #b'` for either"),
    (&["head trust"], false, "`ctx head trust` trusts the head of the log as it is; `ctx verify --expect-head HASH` compares it"),
    (&["steward remove"], false, "`ctx steward remove PRINCIPAL --whole-vault` needs no role: it removes every assignment at the scope"),
    (&["comment"], false, "quote the text: `ctx comment {id} \"TEXT\"`"),
    (&["mv"], false, "`ctx mv OLD NEW` moves one document"),
];

/// The form of a value, by its name in the help.
pub(super) const FORMS: &[(&[&str], &str)] = &[
    (
        &["NUMBER", "OLDER", "NEWER", "CHECKPOINT", "--checkpoint"],
        "the number of a checkpoint, such as 3",
    ),
    (&["--version", "--expect-version"], "the number of a version, such as 2"),
    (&["TOKENS"], "a number of tokens, such as 2000"),
    (&["SECONDS"], "a number of seconds, such as 10"),
    (&["--limit"], "a number of entries, such as 20"),
    (&["ADDRESS:PORT"], "an address and a port, such as `127.0.0.1:8080`"),
    (&[""], "a whole number, such as 5"),
];

/// Synonyms of parts of verbs, and of options. The first one that a command has was meant.
pub(super) const NAMES: &[&[&str]] = &[
    &["list", "ls", "log", "all", "show"],
    &["show", "view", "cat", "get", "who", "list"],
    &["assign", "add", "place", "grant", "set", "new", "create"],
    &["remove", "lift", "rm", "delete", "del", "unassign", "revoke", "forget"],
    &["on", "enable", "start", "begin"],
    &["off", "disable", "stop", "end"],
    &["export", "create", "make", "save"],
    &["verify", "check", "validate", "test", "fsck"],
    &["config", "install", "setup", "configure", "init"],
    &["trust", "set", "accept", "update", "reset"],
    &["message", "note", "comment", "msg", "reason", "description", "why"],
    &["from", "since", "after", "begin", "start"],
    &["to", "until", "before", "end"],
    &["limit", "max", "count", "number", "top", "head"],
    &["json", "format", "output", "porcelain"],
    &["as", "user", "principal", "author", "by", "who", "actor"],
    &["vault", "dir", "root", "path", "repo", "cwd"],
    &["dry-run", "check", "preview", "plan", "no-act", "simulate"],
    &["version", "rev", "revision"],
    &["at", "checkpoint", "as-of", "date"],
    &["all", "everything"],
    &["skip-invalid", "force", "ignore-errors", "keep-going", "no-verify"],
    &["fix-links", "update-links", "links"],
    &["whole-vault", "vault-wide", "global", "everywhere"],
    &["folder", "scope", "directory"],
    &["document", "id", "doc"],
];

/// Short options of git and other programs.
pub(super) const SHORT: &[(&str, &str)] =
    &[("-a", "all"), ("-n", "dry-run"), ("-C", "vault"), ("-u", "as")];
