//! `--expect-version` and `--expect-hash`, for every verb that writes to the vault.

use crate::service::report::failure::{Code, Failure};
use crate::values::model::hint::{Hint, Verb};
use crate::values::model::number::Version;
use crate::write::commit::expect::Expect;
use crate::write::publish::Mode;

/// The state of a document and of the log that the caller has read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ExpectArgs {
    /// Write only if this version of the document is published; 0 for none
    #[arg(long, value_name = "N")]
    expect_version: Option<Version>,
    #[command(flatten)]
    head: ExpectHead,
}

/// The state of the log that the caller has read.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ExpectHead {
    /// Write only if this is the head's hash, or the document's chain hash
    #[arg(long, value_name = "HASH")]
    expect_hash: Option<String>,
}

impl ExpectArgs {
    pub(super) fn read(&self) -> Result<Expect, Failure> {
        Ok(Expect { version: self.expect_version, ..self.head.read()? })
    }

    /// Returns the mode of an event whose caller expects this state.
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
