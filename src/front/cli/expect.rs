//! `--expect-version` and `--expect-hash`, of every verb that writes to the vault.

use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::number::Version;
use crate::write::commit::expect::Expect;
use crate::write::publish::Mode;

/// What the caller has read of a document and of the log.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ExpectArgs {
    /// Write only if this version of the document is published; 0 for none
    #[arg(long, value_name = "N")]
    expect_version: Option<Version>,
    #[command(flatten)]
    head: ExpectHead,
}

/// What the caller has read of the log.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ExpectHead {
    /// Write only if this is the hash of the log's head, or the chain hash of the document
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
}

impl ExpectArgs {
    pub(super) fn read(&self) -> Result<Expect, Failure> {
        Ok(Expect { version: self.expect_version, ..self.head.read()? })
    }

    /// How an event is written whose caller expects this.
    pub(super) fn mode(&self, dry_run: bool) -> Result<Mode, Failure> {
        Ok(Mode { dry_run, expect: self.read()?, ..Mode::default() })
    }
}

impl ExpectHead {
    pub(super) fn read(&self) -> Result<Expect, Failure> {
        let parse = |text: &String| {
            text.parse().map_err(|why: crate::values::model::digest::DigestError| {
                Failure::new(Code::Usage, format!("invalid value of `--expect-hash`: {why}"))
                    .hint(Hint::call("{} prints the hash of the log's head", Verb::Head))
            })
        };
        Ok(Expect { version: None, hash: self.expect_hash.as_ref().map(parse).transpose()? })
    }
}
