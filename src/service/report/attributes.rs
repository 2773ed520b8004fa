//! Attributes of a line of the access log, with the same name in every export (AUDIT-14): a name of
//! OpenTelemetry's semantic conventions if one fits, otherwise one of ours.

use crate::record::audit::{
    Access, Change, Cut, Event, Hydration, Line, Output, StagedEnd, Text, WithheldCount,
};

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Text(String),
    Number(u64),
    Flag(bool),
    Texts(Vec<String>),
}

/// Attributes in the order of the log's fields.
pub(super) type Attributes = Vec<(&'static str, Said)>;

/// Names of the OpenTelemetry semantic conventions.
mod conventional {
    pub(super) const AGENT: &str = "gen_ai.agent.id";
    pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
    pub(super) const ERROR: &str = "error.type";
    pub(super) const MODEL: &str = "gen_ai.response.model";
    pub(super) const OPERATION: &str = "gen_ai.operation.name";
    pub(super) const QUERY: &str = "gen_ai.retrieval.query.text";
    pub(super) const SESSION: &str = "session.id";
    pub(super) const USER: &str = "user.id";
}

use conventional as of;

/// Operation of the conventions that corresponds to an access.
const RETRIEVAL: &str = "retrieval";

/// Name of the attribute for a principal.
pub(super) const USER: &str = of::USER;
/// Name of the attribute for the label of an agent.
pub(super) const AGENT: &str = of::AGENT;

fn text(value: &str) -> Said {
    Said::Text(value.to_owned())
}

/// Collects attributes; attributes without a value are left out.
#[derive(Default)]
struct Gathered(Attributes);

impl Gathered {
    fn say(&mut self, name: &'static str, said: Said) {
        self.0.push((name, said));
    }

    fn maybe(&mut self, name: &'static str, value: Option<&String>) {
        self.0.extend(value.map(|value| (name, text(value))));
    }

    fn number(&mut self, name: &'static str, value: Option<u64>) {
        self.0.extend(value.map(|value| (name, Said::Number(value))));
    }

    fn flag(&mut self, name: &'static str, is_set: bool) {
        self.0.extend(is_set.then_some((name, Said::Flag(true))));
    }
}

/// Returns the attributes of a line, without those of its texts.
pub(super) fn of_line(line: &Line) -> Attributes {
    let mut all = Gathered::default();
    let request = &line.request;
    all.say("contextnest.trace", text(&line.trace().to_string()));
    all.maybe("contextnest.line.hash", line.hash.map(|hash| hash.to_string()).as_ref());
    all.say("contextnest.line.previous", text(&line.prev));
    all.say("contextnest.event", text(line.event.kind().as_str()));
    all.maybe("contextnest.cause", line.cause.as_ref());
    all.say("contextnest.verb", text(&request.verb));
    let args = &request.args;
    all.0.extend(args.argv.clone().map(|argv| ("contextnest.args.argv", Said::Texts(argv))));
    all.maybe("contextnest.args.sha256", args.sha256.as_ref());
    all.maybe("contextnest.args.cwd", args.cwd.as_ref());
    all.flag("contextnest.args.terminal", args.terminal);
    all.maybe(of::USER, request.principal.as_ref());
    all.say("contextnest.principal.source", text(&request.principal_source));
    let labels = &request.labels;
    all.maybe(of::AGENT, labels.agent.as_ref());
    all.maybe(of::SESSION, labels.session.as_ref());
    all.flag("contextnest.session.implicit", labels.session_implicit);
    all.maybe(of::CONVERSATION, labels.thread.as_ref());
    all.maybe("contextnest.task", labels.task.as_ref());
    all.maybe("contextnest.node", labels.node.as_ref());
    all.maybe("contextnest.client", request.client.as_ref());
    all.number("contextnest.head.checkpoint", request.head.as_ref().map(|head| head.checkpoint));
    all.maybe("contextnest.head.hash", request.head.as_ref().map(|head| &head.hash));
    of_event(&line.event, &mut all);
    all.0
}

fn of_event(event: &Event, all: &mut Gathered) {
    match event {
        Event::Access(access) => of_access(access, all),
        Event::Listing(listing) => {
            all.maybe(of::QUERY, listing.query.query.as_ref());
            all.maybe("contextnest.query.sha256", listing.query.query_sha256.as_ref());
            all.number("contextnest.listed", Some(listing.count));
            of_withheld(&listing.withheld, all);
            of_output(&listing.output, all);
        }
        Event::Refused(refused) => all.say(of::ERROR, text(&refused.code)),
        Event::Output(produced) => {
            all.number("contextnest.produced.bytes", Some(produced.bytes));
            all.say("contextnest.produced.sha256", text(&produced.sha256));
            all.maybe(of::MODEL, produced.model.as_ref());
        }
        Event::Hydration(hydration) => of_hydration(hydration, all),
        Event::Change(change) => of_change(change, all),
    }
}

fn of_change(change: &Change, all: &mut Gathered) {
    all.say("contextnest.change.action", text(change.as_str()));
    all.number("contextnest.change.checkpoint", change.sealed().map(|sealed| sealed.checkpoint));
    all.maybe("contextnest.change.hash", change.sealed().map(|sealed| &sealed.hash));
    all.flag("contextnest.change.recovered", change.is_recovered());
    all.maybe("contextnest.change.event_at", change.event_at().map(str::to_owned).as_ref());
    let ends = [("contextnest.change.from", change.from()), ("contextnest.change.to", change.to())];
    for (name, end) in ends {
        all.maybe(name, end.map(|end| format!("{} {}", end.checkpoint, end.hash)).as_ref());
    }
    let names: Vec<String> = change.names().into_iter().map(str::to_owned).collect();
    if !names.is_empty() {
        all.say("contextnest.change.names", Said::Texts(names));
    }
    match change {
        Change::Prune { before, pruned } => {
            let cut = |cut: &Cut| format!("{} {} {}", cut.writer, cut.seq, cut.hash);
            all.say("contextnest.change.before", text(before));
            let cuts = pruned.iter().map(cut).collect();
            all.say("contextnest.change.pruned", Said::Texts(cuts));
        }
        Change::Bind { staged, .. } if !staged.is_empty() => {
            let end = |end: &StagedEnd| format!("{} {} {}", end.chain, end.seq, end.hash);
            let ends = staged.iter().map(end).collect();
            all.say("contextnest.change.staged", Said::Texts(ends));
        }
        Change::Hold { hold } => {
            all.say("contextnest.change.hold", text(&hold.id));
            all.maybe("contextnest.change.hold.session", hold.session.as_ref());
            all.maybe("contextnest.change.hold.agent", hold.agent.as_ref());
            all.maybe("contextnest.change.hold.principal", hold.principal.as_ref());
            all.maybe("contextnest.change.hold.document", hold.document.as_ref());
            all.maybe("contextnest.change.hold.trace", hold.trace.as_ref());
        }
        Change::Lift { lifted, .. } => all.say("contextnest.change.lifted", text(lifted)),
        _ => {}
    }
    all.0.extend(change.reason().map(|why| ("contextnest.change.reason", text(why))));
}

fn of_hydration(of: &Hydration, all: &mut Gathered) {
    all.say("contextnest.source", text(&of.source));
    all.maybe("contextnest.source.uri", of.uri.as_ref());
    all.number("contextnest.source.version", Some(of.source_version));
    all.number("contextnest.source.checkpoint", Some(of.checkpoint));
    all.say("contextnest.source.chain_hash", text(&of.chain_hash));
    all.maybe("contextnest.source.server", of.server.as_ref());
    all.say("contextnest.source.tools", Said::Texts(of.tools.clone()));
    all.0.extend(of.cache.map(|cache| ("contextnest.cache", text(cache.as_str()))));
    all.number("contextnest.duration_ms", of.duration_ms);
    all.0.extend(of_result(of));
    all.maybe("contextnest.error", of.error.as_ref());
    if !of.depends_on.is_empty() {
        all.say("contextnest.depends_on", Said::Texts(of.depends_on.clone()));
    }
}

/// Returns the attributes of the bytes that a source returned.
pub(super) fn of_result(of: &Hydration) -> Attributes {
    let mut all = Gathered::default();
    all.number("contextnest.result.bytes", Some(of.bytes));
    all.say("contextnest.result.sha256", text(&of.result_hash));
    all.maybe("contextnest.result.media_type", of.media_type.as_ref());
    all.0
}

/// Returns the attributes of a source's version whose text was not handed out.
pub(super) fn of_source(of: &Hydration) -> Attributes {
    let mut all = Gathered::default();
    let document = of.name().split(['@', '#']).next().unwrap_or_default();
    all.say("contextnest.document", text(document));
    all.number("contextnest.document.version", Some(of.source_version));
    all.say("contextnest.document.chain_hash", text(&of.chain_hash));
    all.0
}

fn of_access(access: &Access, all: &mut Gathered) {
    all.say(of::OPERATION, text(RETRIEVAL));
    all.maybe("contextnest.class", access.class.as_ref());
    all.maybe(of::QUERY, access.query.query.as_ref());
    all.maybe("contextnest.query.sha256", access.query.query_sha256.as_ref());
    all.number("contextnest.documents", Some(access.documents.len() as u64));
    of_withheld(&access.withheld, all);
    of_output(&access.output, all);
}

fn of_withheld(withheld: &[WithheldCount], all: &mut Gathered) {
    let (mut sum, mut reasons) = (0_u64, Vec::new());
    for withheld in withheld {
        sum = sum.saturating_add(withheld.count);
        reasons.push(withheld.reason.clone());
    }
    if !reasons.is_empty() {
        all.number("contextnest.withheld.count", Some(sum));
        all.say("contextnest.withheld.reasons", Said::Texts(reasons));
    }
}

fn of_output(output: &Output, all: &mut Gathered) {
    all.number("contextnest.output.bytes", Some(output.bytes));
    all.say("contextnest.output.sha256", text(&output.sha256));
    all.number("contextnest.output.elapsed_us", Some(output.elapsed_us));
}

/// Returns the attributes of a text's version; `name` is the document without pin and anchor.
pub(super) fn of_version(of: &Text, name: &str) -> Attributes {
    let mut all = Gathered::default();
    all.say("contextnest.document", text(name));
    all.number("contextnest.document.version", Some(of.version));
    all.say("contextnest.document.chain_hash", text(&of.chain_hash));
    all.maybe("contextnest.document.author", of.author.as_ref());
    all.say("contextnest.document.edited_by", text(&of.edited_by));
    all.say("contextnest.document.edited_at", text(&of.edited_at));
    if !of.approved_by.is_empty() {
        all.say("contextnest.document.approved_by", Said::Texts(of.approved_by.clone()));
    }
    all.maybe("contextnest.document.approved_at", of.approved_at.as_ref());
    all.0
}

/// Returns the attributes of the bytes that were handed out.
pub(super) fn of_bytes(of: &Text) -> Attributes {
    vec![
        ("contextnest.text.bytes", Said::Number(of.bytes)),
        ("contextnest.text.sha256", text(&of.sha256)),
    ]
}

/// Returns the attributes of one use of a text: its URI, checkpoint and part.
pub(super) fn of_use(of: &Text) -> Attributes {
    let mut all = Gathered::default();
    all.maybe("contextnest.text.uri", of.uri.as_ref());
    all.number("contextnest.text.checkpoint", of.checkpoint);
    all.number("contextnest.text.first", of.range.map(|[first, _]| first));
    all.number("contextnest.text.end", of.range.map(|[_, end]| end));
    all.maybe("contextnest.text.part", of.part.map(|part| part.as_str().to_owned()).as_ref());
    if let Some(steward) = &of.steward {
        all.say("contextnest.text.steward.scope", text(&steward.scope));
        all.say("contextnest.text.steward.reviewers", Said::Texts(steward.reviewers.clone()));
        all.number("contextnest.text.steward.more", steward.more);
    }
    all.maybe("contextnest.text.review_due", of.review_due.as_ref());
    all.0
}

/// Returns the attributes of an output: its bytes, and the model that made it.
pub(super) fn of_produced(event: &Event) -> Attributes {
    let mut all = Gathered::default();
    if matches!(event, Event::Output(_)) {
        of_event(event, &mut all);
    }
    all.0
}
