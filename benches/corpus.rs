//! The synthetic corpus of the ContextNest paper, §11.3: ten document templates for each service.
//!
//! With 106 services it has the paper's 1,060 documents; more services make a larger vault of the
//! same kind. Thresholds, owners, tools and deadlines come from a generator seeded by (seed,
//! template, service), so a document is the same bytes however many others are made with it.
//! The module needs the standard library only and is included by path; it publishes nothing.

// Each target that includes this file uses a part of it and decides how far the names reach; the
// files are written before a vault exists, hence not through one.
#![allow(dead_code, unreachable_pub, clippy::disallowed_methods)]

use std::fs;
use std::io;
use std::path::Path;

/// The number of documents of one service.
pub const TEMPLATES: usize = 10;

/// One Markdown document of the corpus, not yet published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The id in a vault, such as `nodes/deploy/payments-service`.
    pub id: String,
    /// The complete text of the file: frontmatter and body.
    pub text: String,
}

/// Returns the documents of the first `services` services, service by service.
pub fn documents(services: usize, seed: u64) -> impl Iterator<Item = Document> {
    (0..services).flat_map(move |number| {
        TEMPLATE
            .iter()
            .enumerate()
            .map(move |(index, template)| document(template, index, number, seed))
    })
}

/// Returns the name of the service with the index `n`, counted from 0.
///
/// The first 106 are words; the names after them carry their number, counted from 1.
pub fn service(n: usize) -> String {
    match SERVICES.split(' ').nth(n) {
        Some(word) => format!("{word}-service"),
        None => format!("svc-{:06}-service", n + 1),
    }
}

/// Writes the documents to `<root>/nodes/<topic>/<service>.md` and returns how many there are.
///
/// Folders are made where they are missing; an existing file of the same name is replaced.
pub fn write(root: &Path, services: usize, seed: u64) -> io::Result<usize> {
    for template in &TEMPLATE {
        fs::create_dir_all(root.join("nodes").join(template.topic))?;
    }
    let mut written = 0;
    for document in documents(services, seed) {
        fs::write(root.join(format!("{}.md", document.id)), document.text)?;
        written += 1;
    }
    Ok(written)
}

/// The common parts of the documents of one kind.
struct Template {
    /// The folder below `nodes/`.
    topic: &'static str,
    /// The title, without the service.
    title: &'static str,
    /// The node type.
    kind: &'static str,
    /// The topic tags; together with the service's tag they select one document.
    tags: &'static [&'static str],
    /// The templates whose documents this one links to: the first always, the second at times.
    related: [usize; 2],
    /// Writes the text between the heading and the section `Ownership`.
    body: fn(&mut Draw, &str) -> String,
}

/// The templates, in the order of the paper.
const TEMPLATE: [Template; TEMPLATES] = [
    Template {
        topic: "deploy",
        title: "Deploy rollback runbook",
        kind: "document",
        tags: &["runbook", "deploy", "ops"],
        related: [2, 8],
        body: deploy,
    },
    Template {
        topic: "migration",
        title: "Database migration runbook",
        kind: "document",
        tags: &["runbook", "database", "migration"],
        related: [0, 9],
        body: migration,
    },
    Template {
        topic: "incident",
        title: "Incident response runbook",
        kind: "document",
        tags: &["runbook", "incident", "oncall"],
        related: [8, 0],
        body: incident,
    },
    Template {
        topic: "api",
        title: "API design standard",
        kind: "reference",
        tags: &["standard", "api", "engineering"],
        related: [5, 4],
        body: api,
    },
    Template {
        topic: "security",
        title: "Security review standard",
        kind: "reference",
        tags: &["standard", "security", "compliance"],
        related: [6, 3],
        body: security,
    },
    Template {
        topic: "adr",
        title: "Internal protocol decision",
        kind: "reference",
        tags: &["adr", "protocol", "engineering"],
        related: [6, 3],
        body: adr,
    },
    Template {
        topic: "architecture",
        title: "Architecture overview",
        kind: "document",
        tags: &["architecture", "overview", "engineering"],
        related: [5, 8],
        body: architecture,
    },
    Template {
        topic: "onboarding",
        title: "Onboarding guide",
        kind: "document",
        tags: &["guide", "onboarding", "team"],
        related: [6, 2],
        body: onboarding,
    },
    Template {
        topic: "monitoring",
        title: "Monitoring runbook",
        kind: "document",
        tags: &["runbook", "monitoring", "ops"],
        related: [2, 6],
        body: monitoring,
    },
    Template {
        topic: "recovery",
        title: "Disaster recovery runbook",
        kind: "document",
        tags: &["runbook", "recovery", "resilience"],
        related: [2, 1],
        body: recovery,
    },
];

/// Makes one document: frontmatter, the template's body, owner and links.
fn document(template: &Template, index: usize, number: usize, seed: u64) -> Document {
    let name = service(number);
    let mut draw = Draw::new(seed, index, number);
    let Template { topic, title, kind, .. } = template;

    let owner = format!("{}.{}@example.com", draw.one(FIRST_NAMES), draw.one(LAST_NAMES));
    let team = draw.one(TEAMS);
    let months = draw.one("three|four|six|nine|twelve");
    let body = (template.body)(&mut draw, &name);

    let mut tags = format!("  - '#{name}'\n");
    for tag in template.tags {
        tags += &format!("  - '#{tag}'\n");
    }
    let mut links = String::new();
    let count = draw.between(1, 2);
    for other in template.related.iter().take(count) {
        let other = &TEMPLATE[*other];
        links += &format!("- [{}](contextnest://nodes/{}/{name})\n", other.title, other.topic);
    }

    let text = format!(
        "\
---
title: {title} for {name}
type: {kind}
tags:
{tags}status: active
author: {owner}
---

# {title} for {name}

{body}
## Ownership

- Owner: {owner}, of the {team} team
- Reviewed every {months} months

## Related

{links}"
    );
    Document { id: format!("nodes/{topic}/{name}"), text }
}

fn deploy(draw: &mut Draw, service: &str) -> String {
    let tool = draw.one(DEPLOY_TOOLS);
    let monitor = draw.one(MONITORS);
    let rate = draw.tenths(5, 80);
    let calm = draw.tenths(1, 4);
    let latency = draw.between(8, 60) * 50;
    let window = draw.between(2, 15);
    let canary = draw.one("1|2|5|10|20|25");
    let limit = draw.between(5, 40);
    let pager = draw.one(PAGERS);
    let steps = draw.numbered(
        (5, 8),
        &[
            "Announce the rollback in the release channel and name the release.",
            "Freeze the deploy queue so that no later change joins in.",
            "Drain the canary pool before touching the stable one.",
            "Select the last release marked good and check its image digest.",
            "Start the rollback and watch the first instance become ready.",
            "Turn off feature flags that the release introduced.",
            "Confirm that schema changes of the release are backward compatible.",
            "Restart the consumers that hold connections to the old pool.",
            "Clear the edge cache for paths whose format the release changed.",
            "Record start, end and cause in the release log.",
        ],
    );
    let checks = draw.bullets(
        (2, 4),
        &[
            "Queue depth falls for five minutes in a row.",
            "The synthetic purchase passes from two regions.",
            "No instance reports the version that was withdrawn.",
            "Retry traffic of the callers has ended.",
            "Support reports no new tickets on the matter.",
        ],
    );
    format!(
        "\
A release of {service} that harms its users is rolled back with {tool}. The signals come
from {monitor}.

## Rollback threshold

- Roll back when the error rate is above {rate} % for {window} minutes.
- Roll back when the p99 latency is above {latency} ms for {window} minutes.
- Stop at the canary stage of {canary} % if either limit is passed once.

## Steps

{steps}
## Verification

- The error rate is at most {calm} %.
{checks}
## SLA

A rollback of {service} ends within {limit} minutes of the decision. After that, page the owner
through {pager}.
"
    )
}

fn migration(draw: &mut Draw, service: &str) -> String {
    let database = draw.one(DATABASES);
    let tool = draw.one("Flyway|Liquibase|Alembic|Atlas|gh-ost|sqitch");
    let lock = draw.between(2, 30) * 100;
    let lag = draw.between(2, 45);
    let batch = draw.between(2, 50) * 500;
    let pause = draw.between(1, 20) * 50;
    let rows = draw.between(1, 80);
    let start = draw.between(0, 5);
    let length = draw.between(30, 180);
    let keep = draw.between(3, 30);
    let steps = draw.numbered(
        (5, 8),
        &[
            "Rehearse on a copy restored from last night's backup.",
            "Take a snapshot and note its identifier in the change request.",
            "Add new columns without a default and without a constraint.",
            "Deploy the release that writes both the old and the new form.",
            "Fill old rows in batches and pause between them.",
            "Compare row counts and a checksum for each partition.",
            "Switch reads to the new form behind a flag.",
            "Add the constraint as not valid, then validate it apart.",
            "Remove the old form in a later release, never in the same one.",
            "Close the change request with the measured duration.",
        ],
    );
    format!(
        "\
Schema changes of {service} run on {database} with {tool}, in steps that can be stopped.

## Limits

| what | limit |
|---|---|
| lock wait | {lock} ms |
| replica lag | {lag} s |
| rows in a batch | {batch} |
| pause between batches | {pause} ms |

A table of more than {rows} million rows needs a rehearsal and a second reader.

## Window

Changes start at 0{start}:00 UTC and take at most {length} minutes.

## Steps

{steps}
## Abort

Stop when the replica lag is above {lag} s twice in a row, or when a lock is held for longer than
{lock} ms. The snapshot is kept for {keep} days.
"
    )
}

fn incident(draw: &mut Draw, service: &str) -> String {
    let pager = draw.one(PAGERS);
    let monitor = draw.one(MONITORS);
    let severe = draw.between(10, 60);
    let partial = draw.tenths(10, 90);
    let answer = draw.between(3, 15);
    let update = draw.one("10|15|20|30|45");
    let escalate = draw.between(20, 60);
    let report = draw.between(2, 10);
    let first = draw.numbered(
        (4, 7),
        &[
            "Acknowledge the page and open an incident record.",
            "Name an incident lead; the lead does not debug.",
            "Compare the start of the symptom with the list of recent changes.",
            "Check the dependencies on the status board before the service itself.",
            "Prefer a rollback or a flag to a repair in place.",
            "Save logs and a heap profile before the first restart.",
            "Post the first status update, even if nothing is known.",
            "Hand over in writing when a shift ends.",
        ],
    );
    let causes = draw.bullets(
        (3, 5),
        &[
            "An expired certificate between the service and its proxy.",
            "A connection pool that a slow dependency has filled.",
            "A configuration change that reached one region only.",
            "Clock drift that makes tokens look expired.",
            "A hot key after a campaign of a large customer.",
            "A queue consumer that fails on one poisoned message.",
        ],
    );
    format!(
        "\
How the team on call answers an incident of {service}. Pages arrive through {pager}.

## Severity

- SEV1: more than {severe} % of requests fail, or data is lost.
- SEV2: more than {partial} % of requests fail, or one region is out.
- SEV3: a degraded function with a workaround.

## SLA

- SEV1 is acknowledged within {answer} minutes, with an update every {update} minutes.
- A SEV1 without a known cause after {escalate} minutes goes to the director on duty.
- The report is published within {report} working days.

## First steps

{first}
## Known causes

Look at the dashboard in {monitor} for each of these before you search further.

{causes}"
    )
}

fn api(draw: &mut Draw, service: &str) -> String {
    let style = draw.one("REST with JSON|gRPC|GraphQL|JSON-RPC 2.0");
    let linter = draw.one("Spectral|Buf|Redocly|Optic|Vacuum");
    let page = draw.between(2, 20) * 10;
    let most = page * draw.between(2, 10);
    let requests = draw.between(2, 60) * 50;
    let timeout = draw.between(3, 40) * 100;
    let months = draw.between(6, 24);
    let key = draw.between(1, 7) * 24;
    let size = draw.between(1, 16);
    let rules = draw.bullets(
        (4, 7),
        &[
            "Names of resources are plural nouns in lower case.",
            "A field is never reused for another meaning.",
            "Unknown fields in a request are refused with their names.",
            "Amounts of money are integers in the smallest unit, with a currency.",
            "Times are UTC in RFC 3339 form with milliseconds.",
            "Lists are ordered, and the order is part of the contract.",
            "A breaking change gets a new major version and its own route.",
            "Identifiers are opaque strings of at most 64 characters.",
        ],
    );
    format!(
        "\
Rules for the public interface of {service}. It speaks {style}; {linter} checks each change.

## Limits

| what | value |
|---|---|
| page size | {page}, at most {most} |
| requests a minute and client | {requests} |
| server timeout | {timeout} ms |
| body | {size} MiB |

## Rules

{rules}
## Errors

An error carries a stable code, a sentence for people and the trace id. A client may retry only what
is marked as retryable.

## Idempotency

Each write accepts an idempotency key, which is remembered for {key} hours.

## Deprecation

A version is announced as deprecated {months} months before it is turned off.
"
    )
}

fn security(draw: &mut Draw, service: &str) -> String {
    let scanner = draw.one("Trivy|Grype|Semgrep|CodeQL|Snyk|Clair");
    let vault = draw.one("Vault|AWS Secrets Manager|Infisical|SOPS|Conjur");
    let class = draw.one("internal|confidential|restricted");
    let score = draw.tenths(60, 90);
    let critical = draw.between(1, 5);
    let high = draw.between(7, 30);
    let rotate = draw.between(2, 18) * 10;
    let token = draw.between(1, 24) * 5;
    let log = draw.between(3, 24) * 30;
    let answer = draw.between(3, 12);
    let items = draw.bullets(
        (5, 8),
        &[
            "Each caller has its own identity; shared keys are not accepted.",
            "Input is validated at the border, with limits on size and depth.",
            "Queries are parameterised, and a test shows it.",
            "Personal data is absent from logs and traces.",
            "Administrative routes are reachable from the bastion only.",
            "Images are signed, and unsigned ones do not start.",
            "Dependencies are pinned by digest.",
            "The threat model names the assets and who may want them.",
            "Failure of the policy engine denies the request.",
        ],
    );
    format!(
        "\
What a security review of {service} asks for. The service handles {class} data.

## When a review is due

Before the first release, after a change of the trust boundary, and at least once a year. The
security team answers a request within {answer} working days.

## Threshold

- A finding of {scanner} with a CVSS score of {score} or more blocks the release.
- Critical findings are mended within {critical} days, high ones within {high} days.

## Checklist

{items}
## Secrets

Secrets live in {vault} and are rotated every {rotate} days. Access tokens expire after {token}
minutes.

## Evidence

Audit logs are kept for {log} days and are readable by the review team.
"
    )
}

fn adr(draw: &mut Draw, service: &str) -> String {
    let chosen = draw.one("gRPC over HTTP/2|NATS request-reply|Kafka topics|Thrift");
    let rejected = draw.one("REST with JSON|SOAP|a shared database|raw WebSockets");
    let number = draw.between(12, 480);
    let year = draw.between(2021, 2025);
    let month = draw.between(1, 12);
    let day = draw.between(1, 28);
    let before = draw.between(8, 40) * 10;
    let after = before / draw.between(2, 5);
    let message = draw.between(1, 16) * 64;
    let deadline = draw.between(2, 30) * 50;
    let retries = draw.between(1, 5);
    let reasons = draw.bullets(
        (3, 5),
        &[
            "Callers in four languages need generated clients.",
            "Deadlines have to travel with the request.",
            "Payloads are dominated by repeated small records.",
            "Back pressure must reach the producer.",
            "A replay of the last day has to be possible.",
            "The proxy in front already terminates this protocol.",
        ],
    );
    let costs = draw.bullets(
        (2, 4),
        &[
            "Requests can no longer be read with a plain HTTP client.",
            "Schema files get a repository and an owner of their own.",
            "The load balancer needs a connection for each stream.",
            "Tests need a broker or a stub of it.",
            "Two releases have to serve both protocols.",
        ],
    );
    format!(
        "\
Decision {number}, accepted on {year}-{month:02}-{day:02}: other services call {service} by {chosen}.

## Context

The former interface, {rejected}, had a median latency of {before} ms between two zones, most of it
in serialisation and connection set-up. The following mattered:

{reasons}
## Decision

- Internal calls use {chosen}; the public interface does not change.
- A message has at most {message} KiB.
- Each call carries a deadline; the default is {deadline} ms.
- A failed call is repeated at most {retries} times, with jitter.

## Considered and rejected

{rejected}: kept for one year as a fallback, then removed.

## Consequences

A measurement after the change shows a median of {after} ms. The costs:

{costs}"
    )
}

fn architecture(draw: &mut Draw, service: &str) -> String {
    let language = draw.one("Rust|Go|Kotlin|Java|TypeScript|Python|Elixir");
    let database = draw.one(DATABASES);
    let queue = draw.one("Kafka|RabbitMQ|NATS|SQS|Pulsar|Redis Streams");
    let platform = draw.one("Kubernetes|Nomad|ECS|Cloud Run|plain virtual machines");
    let instances = draw.between(3, 48);
    let regions = draw.one("one region|two regions|three regions|four regions");
    let peak = draw.between(2, 90) * 100;
    let p50 = draw.between(4, 60);
    let p99 = p50 * draw.between(4, 12);
    let slo = draw.one("99.5|99.9|99.95|99.99");
    let ttl = draw.between(1, 60) * 10;
    let growth = draw.between(5, 900);
    let parts = draw.bullets(
        (4, 6),
        &[
            "**Edge**: authenticates, limits the rate and adds the trace id.",
            "**Core**: holds the rules; it has no state of its own.",
            "**Writer**: the only component that changes the database.",
            "**Projector**: builds read models from events.",
            "**Scheduler**: starts periodic work, with one leader at a time.",
            "**Importer**: takes files of partners, checks them and queues them.",
            "**Reporter**: answers long queries from a replica.",
        ],
    );
    let risks = draw.bullets(
        (2, 4),
        &[
            "The read model lags behind by seconds under peak load.",
            "A cold cache doubles the load of the database.",
            "One tenant makes a third of the traffic.",
            "The importer has no second path for large files.",
            "Failover of the leader takes up to a minute.",
        ],
    );
    format!(
        "\
{service} is written in {language} and runs on {platform}, with {instances} instances in {regions}.

## Components

{parts}
## Data

Records lie in {database}, which grows by {growth} GB a month. Events leave through {queue}. Reads
are cached for {ttl} seconds.

## Load and targets

| measure | value |
|---|---|
| peak load | {peak} requests a second |
| median latency | {p50} ms |
| p99 latency | {p99} ms |
| availability | {slo} % a month |

## Known risks

{risks}"
    )
}

fn onboarding(draw: &mut Draw, service: &str) -> String {
    let tracker = draw.one("Jira|Linear|YouTrack|GitLab issues|Shortcut");
    let chat = draw.one("Slack|Mattermost|Zulip|Teams|Matrix");
    let editor = draw.one("a dev container|Nix|mise|Bazel|a plain Makefile");
    let buddy = draw.one(FIRST_NAMES);
    let access = draw.between(1, 5);
    let build = draw.between(3, 25);
    let first = draw.between(3, 10);
    let shadow = draw.between(2, 6);
    let coverage = draw.between(60, 95);
    let reviewers = draw.one("one reviewer|two reviewers|a reviewer and the code owner");
    let week = draw.numbered(
        (4, 7),
        &[
            "Read the architecture overview and ask three questions about it.",
            "Build the service and run its tests on your own machine.",
            "Follow one request through the traces, from edge to database.",
            "Mend a small defect from the list of first issues.",
            "Sit with the person on call for an afternoon.",
            "Deploy a change of documentation to learn the pipeline.",
            "Draw the data flow from memory and compare it with the overview.",
            "Restore a backup in the sandbox.",
        ],
    );
    let habits = draw.bullets(
        (3, 5),
        &[
            "Small changes; most have fewer than 200 lines.",
            "A question in the channel is better than an hour alone.",
            "Decisions are written down on the day they are made.",
            "Whoever breaks the build mends or reverts it.",
            "Meetings have notes, and the notes have owners.",
            "Dashboards are checked after each deploy.",
        ],
    );
    format!(
        "\
For people who join the team of {service}. Your guide for the first weeks is {buddy}.

## Access

Ask for access in {tracker}; it is granted within {access} working days. The team talks in {chat}.

## Set-up

The workspace is built with {editor}. A first build takes about {build} minutes.

## First week

{week}
## Targets

- First merged change within {first} working days.
- On call as a second person after {shadow} weeks.
- New code has a test coverage of at least {coverage} %.
- A change is merged after approval by {reviewers}.

## Habits of the team

{habits}"
    )
}

fn monitoring(draw: &mut Draw, service: &str) -> String {
    let monitor = draw.one(MONITORS);
    let pager = draw.one(PAGERS);
    let warn = draw.tenths(2, 15);
    let page = draw.tenths(16, 60);
    let slow = draw.between(4, 30) * 50;
    let cpu = draw.between(60, 90);
    let memory = draw.between(65, 92);
    let queue = draw.between(2, 80) * 250;
    let scrape = draw.one("10|15|20|30|60");
    let answer = draw.between(5, 20);
    let keep = draw.between(2, 26) * 7;
    let steps = draw.numbered(
        (4, 7),
        &[
            "Open the overview dashboard and set it to the last two hours.",
            "Tell a rise of load from a rise of errors.",
            "Split the errors by version, region and route.",
            "Look for a deploy marker next to the start of the change.",
            "Compare with the same hour a week ago.",
            "Follow one slow trace to its longest span.",
            "Silence an alert only with a reason and an end.",
            "Open an incident when users notice.",
        ],
    );
    let noise = draw.bullets(
        (2, 3),
        &[
            "The nightly export raises memory for about ten minutes.",
            "A restart of the leader causes one burst of timeouts.",
            "Load tests on Tuesdays carry the header `x-load-test`.",
            "The certificate check warns a month ahead.",
        ],
    );
    format!(
        "\
What is measured on {service}, and what to do when an alert fires. Metrics are in {monitor} and are
collected every {scrape} seconds.

## Alerts

| signal | warning or page |
|---|---|
| error rate | warning at {warn} %, page at {page} % |
| p95 latency | page at {slow} ms |
| CPU | warning at {cpu} % |
| memory | warning at {memory} % |
| queue depth | page at {queue} messages |

## When an alert fires

Pages go out through {pager} and are answered within {answer} minutes.

{steps}
## Expected noise

{noise}
## Retention

Metrics are kept for {keep} days in full resolution.
"
    )
}

fn recovery(draw: &mut Draw, service: &str) -> String {
    let tool = draw.one("Velero|pgBackRest|restic|WAL-G|Barman|Kopia");
    let database = draw.one(DATABASES);
    let primary = draw.one("eu-north|eu-west|us-east|us-west|ap-south");
    let standby = draw.one("eu-central|us-central|ca-east|ap-southeast|sa-east");
    let time = draw.between(2, 48) * 5;
    let point = draw.between(1, 30);
    let every = draw.one("hour|two hours|four hours|six hours|day");
    let keep = draw.between(2, 13) * 7;
    let decide = draw.between(10, 45);
    let drill = draw.one("month|quarter|half-year|year");
    let share = draw.between(5, 30);
    let steps = draw.numbered(
        (6, 9),
        &[
            "Declare the disaster and name a recovery lead.",
            "Fence the primary region so that it accepts no writes.",
            "Check the age of the newest backup and write it down.",
            "Promote the standby database and wait for its checkpoint.",
            "Restore the secrets from the sealed copy.",
            "Start the service with writes turned off.",
            "Run the reconciliation job and read its report.",
            "Allow writes for internal users first.",
            "Move the DNS records and watch the old addresses go quiet.",
            "Tell the callers which events they have to send again.",
            "Plan the way back; it is a migration of its own.",
        ],
    );
    format!(
        "\
How {service} is brought back after the loss of a region. It runs in {primary}, its standby is
{standby}.

## Objectives

- Recovery time: {time} minutes.
- Recovery point: {point} minutes of lost writes at most.
- The decision to fail over is taken within {decide} minutes.

## Backups

{tool} copies {database} every {every} to {standby} and keeps each copy for {keep} days.

## Steps

{steps}
## Return

Traffic goes back in portions of {share} %, with an hour between two portions.

## Drill

The procedure is rehearsed every {drill}. A drill that misses an objective is repeated within
a month.
"
    )
}

/// Pseudo-random draws: splitmix64, seeded by three numbers; for a document (seed,
/// template, service).
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64, template: usize, service: usize) -> Self {
        let mut draw = Draw(seed);
        for part in [template, service] {
            draw = Draw(draw.next() ^ part as u64);
        }
        draw
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Draws a number from 0 to `bound` - 1; the bias of the remainder does not matter here.
    pub fn below(&mut self, bound: usize) -> usize {
        // The remainder is less than a `usize`, so the conversion cannot fail.
        usize::try_from(self.next() % bound as u64).unwrap_or_default()
    }

    /// Draws a number from `low` to `high`, both included.
    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    /// Draws a number given in tenths and writes it with one decimal: 24 is `2.4`.
    fn tenths(&mut self, low: usize, high: usize) -> String {
        let tenths = self.between(low, high);
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    /// Draws one of the choices that `|` separates.
    fn one(&mut self, of: &'static str) -> &'static str {
        let chosen = self.below(of.split('|').count());
        of.split('|').nth(chosen).unwrap_or_default()
    }

    /// Draws from `least` to `most` of the entries and leaves them in their order.
    fn some(&mut self, (least, most): (usize, usize), of: &[&'static str]) -> Vec<&'static str> {
        let count = self.between(least, most);
        let mut chosen = Vec::with_capacity(count);
        for (index, entry) in of.iter().enumerate() {
            if self.below(of.len() - index) < count - chosen.len() {
                chosen.push(*entry);
            }
        }
        chosen
    }

    fn bullets(&mut self, count: (usize, usize), of: &[&'static str]) -> String {
        let items = self.some(count, of).into_iter();
        items.map(|item| format!("- {item}\n")).collect()
    }

    fn numbered(&mut self, count: (usize, usize), of: &[&'static str]) -> String {
        let items = self.some(count, of).into_iter().zip(1..);
        items.map(|(item, at)| format!("{at}. {item}\n")).collect()
    }
}

const FIRST_NAMES: &str = "\
    ana|bo|chidi|dana|elif|farid|greta|hiro|ines|jonas|kavya|lena|mateo|nadia|oskar|priya\
    |quinn|rosa|samir|tove|ugo|vera|wei|yara";

const LAST_NAMES: &str = "\
    abebe|berg|costa|dahl|eriksen|fischer|gupta|haddad|ito|jensen|kowalski|lopez|meyer|novak\
    |okafor|petrov|rossi|silva|tanaka|weber";

const TEAMS: &str = "\
    platform|commerce|growth|data|reliability|trust|mobile|partner|infrastructure|insights\
    |customer|finance";

const DEPLOY_TOOLS: &str = "Argo CD|Spinnaker|Flux|Harness|Octopus Deploy|Jenkins|Helm|Buildkite";

const MONITORS: &str = "Grafana|Datadog|New Relic|Honeycomb|Prometheus|Dynatrace|Zabbix|Kibana";

const PAGERS: &str = "PagerDuty|Opsgenie|Grafana OnCall|VictorOps|incident.io";

const DATABASES: &str = "PostgreSQL|MySQL|CockroachDB|MongoDB|Cassandra|DynamoDB|SQL Server";

/// The services of the paper's corpus, without the ending `-service`, in their order.
const SERVICES: &str = "\
    payments auth billing search checkout cart catalog inventory shipping orders returns refunds \
    invoices pricing promotions coupons loyalty subscriptions tax ledger payouts fraud identity \
    accounts profiles sessions permissions consent audit compliance notifications email sms push \
    chat messaging calendar scheduler reminders webhooks gateway routing proxy edge cache \
    storage uploads media images video transcoding thumbnails documents templates forms surveys \
    reviews ratings comments feed timeline recommendations ranking personalization experiments \
    flags analytics events metrics logging tracing alerts reporting dashboards exports imports \
    backup archive replication migration indexer crawler geocoding maps weather currency \
    translation localization content publishing warehouse fulfillment courier tracking suppliers \
    procurement contracts vendors support tickets onboarding directory registry secrets quota \
    telemetry";

#[cfg(test)]
mod tests {
    // Full paths instead of imports: a target without the test harness drops the functions.

    fn corpus(services: usize, seed: u64) -> Vec<super::Document> {
        super::documents(services, seed).collect()
    }

    fn tags(text: &str) -> std::collections::BTreeSet<&str> {
        let lines = text.lines().skip_while(|line| *line != "tags:").skip(1);
        let lines = lines.map_while(|line| line.strip_prefix("  - '#"));
        lines.map(|line| line.trim_end_matches('\'')).collect()
    }

    #[test]
    fn one_hundred_and_six_services_make_the_corpus_of_the_paper() {
        assert_eq!(corpus(106, 42).len(), 1_060);
        assert_eq!(corpus(0, 42), []);
    }

    #[test]
    fn a_document_depends_on_seed_template_and_service_only() {
        assert_eq!(corpus(7, 42), corpus(110, 42)[..70]);
        let (left, right) = (corpus(7, 42), corpus(7, 43));
        assert!(left.iter().zip(&right).all(|(a, b)| a.id == b.id && a.text != b.text));
    }

    #[test]
    fn names_and_ids_are_all_different() {
        let names: std::collections::HashSet<_> = (0..5_000).map(super::service).collect();
        assert_eq!(names.len(), 5_000);
        assert_eq!(super::service(0), "payments-service");
        assert_eq!(super::service(105), "telemetry-service");
        assert_eq!(super::service(106), "svc-000107-service");

        let ids: std::collections::HashSet<_> =
            corpus(200, 1).into_iter().map(|document| document.id).collect();
        assert_eq!(ids.len(), 2_000);
    }

    #[test]
    fn topic_tags_and_a_service_select_one_document() {
        let corpus = corpus(106, 42);
        let count = |wanted: &[&str]| {
            let holds = |text| wanted.iter().all(|tag| tags(text).contains(tag));
            corpus.iter().filter(|document| holds(&document.text)).count()
        };
        assert_eq!(count(&["runbook", "deploy", "payments-service"]), 1);
        assert_eq!(count(&["runbook", "payments-service"]), 5);
        assert_eq!(count(&["standard"]), 212);

        let all: std::collections::HashSet<_> =
            corpus.iter().map(|document| tags(&document.text)).collect();
        assert_eq!(all.len(), 1_060);
    }

    #[test]
    fn bodies_have_25_to_50_lines_and_link_to_documents_that_exist() {
        for seed in 0..20 {
            let corpus = corpus(106, seed);
            let ids: std::collections::HashSet<_> =
                corpus.iter().map(|document| document.id.as_str()).collect();
            for document in &corpus {
                let (_, body) = document.text.split_once("\n---\n").expect("a closing delimiter");
                let lines = body.lines().count();
                assert!((25..=50).contains(&lines), "{}: {lines} lines", document.id);
                assert!(body.ends_with(")\n") && !body.contains("\n\n\n"), "{}", document.id);

                let links: Vec<_> = body.split("contextnest://").skip(1).collect();
                assert!((1..=2).contains(&links.len()), "{}", document.id);
                for link in links {
                    let id = link.split(')').next().expect("split has a first part");
                    assert!(ids.contains(id) && id != document.id, "{}: {id}", document.id);
                }
            }
        }
    }

    #[test]
    fn write_lays_the_files_out_by_topic() -> std::io::Result<()> {
        let root = std::env::temp_dir().join(format!("corpus-{}", std::process::id()));
        assert_eq!(super::write(&root, 3, 42)?, 30);
        for document in corpus(3, 42) {
            let path = root.join(format!("{}.md", document.id));
            assert_eq!(std::fs::read_to_string(path)?, document.text);
        }
        std::fs::remove_dir_all(root)
    }
}
