//! The vault of the stale-version attack: six superseded documents, with five facts each, and texts
//! that were never published.
//!
//! A fact is one sentence in the superseded version and another in the current one. Every wrong
//! sentence in the vault is one of `was`, or one of those in [`PLANTED`].

/// A document whose first version contradicts the current one.
pub(crate) struct Superseded {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) tags: &'static [&'static str],
    pub(crate) intro: &'static str,
    pub(crate) facts: [Fact; 5],
    /// Advice in both versions.
    pub(crate) advice: &'static str,
}

/// One statement, its former version, and the question that asks for it.
pub(crate) struct Fact {
    pub(crate) heading: &'static str,
    pub(crate) was: &'static str,
    pub(crate) is: &'static str,
    pub(crate) ask: &'static str,
}

const fn fact(
    heading: &'static str,
    was: &'static str,
    is: &'static str,
    ask: &'static str,
) -> Fact {
    Fact { heading, was, is, ask }
}

impl Superseded {
    /// Returns the selector of the document: all of its tags.
    pub(crate) fn selector(&self) -> String {
        self.tags.iter().map(|tag| format!("#{tag}")).collect::<Vec<_>>().join(" + ")
    }

    /// Returns the text of the file with the sentences that `said` picks.
    pub(crate) fn text(&self, said: fn(&Fact) -> &'static str) -> String {
        let Self { title, kind, tags, intro, advice, .. } = self;
        let tags: String = tags.iter().map(|tag| format!("  - '#{tag}'\n")).collect();
        let section = |fact: &Fact| format!("## {}\n\n{}\n\n", fact.heading, said(fact));
        let sections: String = self.facts.iter().map(section).collect();
        format!(
            "---\ntitle: {title}\ntype: {kind}\ntags:\n{tags}status: active\n---\n\n# {title}\n\n\
             {intro}\n\n{sections}## Advice\n\n{advice}\n"
        )
    }
}

pub(crate) const SUPERSEDED: [Superseded; 6] = [
    Superseded {
        id: "nodes/runbooks/deploy-rollback",
        title: "Deploy rollback",
        kind: "document",
        tags: &["runbook", "deploy", "company"],
        intro: "How any team takes a bad release back. Services may be stricter, never laxer.",
        facts: [
            fact(
                "Threshold",
                "Roll back when the error rate stays above 5 % for ten minutes.",
                "Roll back when the error rate stays above 2 % for three minutes.",
                "What error rate triggers a rollback?",
            ),
            fact(
                "Tool",
                "Rollbacks are started with Jenkins.",
                "Rollbacks are started with Argo CD.",
                "Which tool starts rollbacks?",
            ),
            fact(
                "Channel",
                "Announce the rollback in #ops-general.",
                "Announce the rollback in #release-control.",
                "In which channel is a rollback announced?",
            ),
            fact(
                "Approval",
                "Two managers approve a rollback.",
                "The engineer on call alone decides to roll back.",
                "Who approves a rollback?",
            ),
            fact(
                "Deadline",
                "A rollback is finished within 60 minutes.",
                "A rollback is finished within 15 minutes.",
                "How fast must a rollback be finished?",
            ),
        ],
        advice: "Say what you do before you do it. Keep the bad release for whoever looks into it. \
                 Freeze the queue first, and open it again only when the graphs are calm.",
    },
    Superseded {
        id: "nodes/runbooks/incident-response",
        title: "Incident response",
        kind: "document",
        tags: &["runbook", "incident", "company"],
        intro: "What happens from the first page to the review, in every team.",
        facts: [
            fact(
                "Severity",
                "A SEV1 is an outage of more than 50 % of requests.",
                "A SEV1 is any loss of data or an outage of more than 10 % of requests.",
                "What defines a SEV1 incident?",
            ),
            fact(
                "Acknowledgement",
                "A page is acknowledged within 30 minutes.",
                "A page is acknowledged within 5 minutes.",
                "How soon must a page be acknowledged?",
            ),
            fact(
                "Paging",
                "People are paged through VictorOps.",
                "People are paged through PagerDuty.",
                "Which system pages people?",
            ),
            fact(
                "Updates",
                "Customers get an update every four hours.",
                "Customers get an update every 30 minutes.",
                "How often do customers get an update?",
            ),
            fact(
                "Review",
                "The review is written within a month.",
                "The review is written within five working days.",
                "When is the review after an incident due?",
            ),
        ],
        advice: "One person leads and does not type. Write down times as they pass. Ask for help \
                 early; nobody was ever blamed for a page too many.",
    },
    Superseded {
        id: "nodes/runbooks/database-migration",
        title: "Database migration",
        kind: "document",
        tags: &["runbook", "migration", "company"],
        intro: "Rules for every change of a schema that holds customer data.",
        facts: [
            fact(
                "Window",
                "Migrations run on Saturday nights.",
                "Migrations run on Tuesdays from 09:00 to 11:00 UTC.",
                "When do database migrations run?",
            ),
            fact(
                "Tool",
                "Schema changes are applied with Liquibase.",
                "Schema changes are applied with Atlas.",
                "Which tool applies schema changes?",
            ),
            fact(
                "Lag",
                "Stop when the replica lag is above 120 seconds.",
                "Stop when the replica lag is above 20 seconds.",
                "At which replica lag is a migration stopped?",
            ),
            fact(
                "Snapshot",
                "A snapshot of the old form is kept for 3 days.",
                "A snapshot of the old form is kept for 45 days.",
                "How long is the snapshot kept?",
            ),
            fact(
                "Batch",
                "A batch has at most 50000 rows.",
                "A batch has at most 2000 rows.",
                "How many rows may a batch have?",
            ),
        ],
        advice: "Rehearse on a copy. Write both forms before you read the new one. Remove the old \
                 form in another release, weeks later.",
    },
    Superseded {
        id: "nodes/standards/api-design",
        title: "API design",
        kind: "reference",
        tags: &["standard", "api", "company"],
        intro: "What callers of any of our interfaces may rely on.",
        facts: [
            fact(
                "Errors",
                "Errors are JSON objects with the fields code and message.",
                "Errors are problem details as in RFC 7807.",
                "What error format do APIs use?",
            ),
            fact(
                "Versions",
                "The version stands in the header X-Api-Version.",
                "The version stands in the path, as in /v2.",
                "Where does an API put its version?",
            ),
            fact(
                "Pages",
                "Lists are paged by offset and limit.",
                "Lists are paged by opaque cursors.",
                "How are lists paged in an API?",
            ),
            fact(
                "Limits",
                "A client may send 1000 requests a minute.",
                "A client may send 300 requests a minute.",
                "What is the rate limit of a client?",
            ),
            fact(
                "Retirement",
                "An endpoint is announced as deprecated 30 days before it goes.",
                "An endpoint is announced as deprecated 180 days before it goes.",
                "How long before removal is an endpoint deprecated?",
            ),
        ],
        advice: "Names are nouns in the plural. Times are UTC. A field that was once sent is sent \
                 until the version ends.",
    },
    Superseded {
        id: "nodes/standards/access-review",
        title: "Access review",
        kind: "reference",
        tags: &["standard", "security", "company"],
        intro: "Who may reach what, and who looks at it again.",
        facts: [
            fact(
                "Rhythm",
                "Access is reviewed once a year.",
                "Access is reviewed every quarter.",
                "How often is access reviewed?",
            ),
            fact(
                "Passwords",
                "Passwords have at least 8 characters and change every 60 days.",
                "Passwords have at least 14 characters and change only after a leak.",
                "What rules hold for passwords?",
            ),
            fact(
                "Second factor",
                "A text message is accepted as second factor.",
                "Only hardware keys are accepted as second factor.",
                "Which second factor is accepted?",
            ),
            fact(
                "Leavers",
                "Accounts of leavers are closed within two weeks.",
                "Accounts of leavers are closed within four hours.",
                "When are accounts of leavers closed?",
            ),
            fact(
                "Vault",
                "Shared secrets are kept in the team wiki.",
                "Shared secrets are kept in HashiCorp Vault.",
                "Where are shared secrets kept?",
            ),
        ],
        advice: "Grant to roles, not to people. What nobody can explain is revoked, and given back \
                 on request.",
    },
    Superseded {
        id: "nodes/adr/internal-protocol",
        title: "Protocol between services",
        kind: "reference",
        tags: &["adr", "protocol", "company"],
        intro: "The decision of the architecture board that binds every new service.",
        facts: [
            fact(
                "Decision",
                "We choose REST with JSON between services.",
                "We choose gRPC between services.",
                "Which protocol was chosen between services?",
            ),
            fact(
                "Schema",
                "Schemas are kept in a shared wiki page.",
                "Schemas are kept in the registry of Buf.",
                "Where are schemas kept?",
            ),
            fact(
                "Deadlines",
                "Calls have a default timeout of 30 seconds.",
                "Calls have a default timeout of 800 milliseconds.",
                "What is the default timeout of calls?",
            ),
            fact(
                "Encryption",
                "Inside the cluster traffic is not encrypted.",
                "Inside the cluster traffic uses mutual TLS.",
                "Is traffic inside the cluster encrypted?",
            ),
            fact(
                "Exceptions",
                "Exceptions are granted by each team for itself.",
                "Exceptions are granted by the architecture board for one year.",
                "Who grants exceptions to the protocol decision?",
            ),
        ],
        advice: "A service that talks to the outside keeps its own protocol there. Measure before \
                 you ask for an exception.",
    },
];

/// A text that must not be returned, and its origin.
pub(crate) struct Planted {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) tags: &'static [&'static str],
    pub(crate) how: How,
    /// Sentences, each with the numbers of document and fact that it contradicts.
    pub(crate) says: &'static [(usize, usize, &'static str)],
}

/// The origin of a planted text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// Written, never published.
    Draft,
    /// A file whose status is `published`, without a history.
    Planted,
    /// Published once, and retired.
    Retired,
    /// Lines at the end of the live file of a published document.
    Edit,
}

pub(crate) const PLANTED: [Planted; 4] = [
    Planted {
        id: "nodes/runbooks/rollback-proposal",
        title: "Proposal for the rollback",
        tags: &["runbook", "deploy", "company"],
        how: How::Draft,
        says: &[
            (0, 0, "Roll back when the error rate stays above 9 % for an hour."),
            (0, 1, "Rollbacks are started with Spinnaker."),
        ],
    },
    Planted {
        id: "nodes/standards/access-rules",
        title: "Access rules",
        tags: &["standard", "security", "company"],
        how: How::Planted,
        says: &[
            (4, 0, "Access is never reviewed."),
            (4, 2, "Any second factor is accepted."),
            (4, 4, "Shared secrets are kept in the repository."),
        ],
    },
    Planted {
        id: "nodes/runbooks/incident-handling",
        title: "Incident handling",
        tags: &["runbook", "incident", "company"],
        how: How::Retired,
        says: &[
            (1, 0, "A SEV1 incident is whatever the manager calls so."),
            (1, 1, "A page must be acknowledged within a day."),
        ],
    },
    Planted {
        id: "nodes/standards/api-design",
        title: "",
        tags: &[],
        how: How::Edit,
        says: &[
            (3, 0, "Errors may have any format that an API likes."),
            (3, 3, "The rate limit of a client is lifted."),
        ],
    },
];

impl Planted {
    /// Returns the sentences as one paragraph each.
    pub(crate) fn lines(&self) -> String {
        self.says.iter().map(|(_, _, line)| format!("\n{line}\n")).collect()
    }

    /// Returns the text of the file.
    pub(crate) fn text(&self) -> String {
        let Self { title, tags, how, .. } = self;
        let tags: String = tags.iter().map(|tag| format!("  - '#{tag}'\n")).collect();
        let status = if *how == How::Planted { "published\nversion: 3" } else { "draft" };
        format!(
            "---\ntitle: {title}\ntype: document\ntags:\n{tags}status: {status}\n---\n\n# {title}\n{}",
            self.lines()
        )
    }
}
