//! Conversion between the two forms of the checkpoint log (`spec/transactions.md`, section 7).
//!
//! The first step publishes a configuration that names the new form. It is sealed by an event of
//! the old log, so that a verifier knows from which checkpoint the form is required (VER-19). The
//! second step writes the new file, syncs it, and removes the old one. No checkpoint hash changes.
//!
//! If the conversion is interrupted between these writes, two files contain the same log. A reader
//! then reads one of them, and the next writer removes the other.

use crate::files::vault::Vault;
use crate::files::vault::config::{Config, FrontmatterMode, LogForm};
use crate::files::vault::files::FileError;
use crate::files::vault::setting::Setting;
use crate::prove::recover;
use crate::prove::verify::{self, Class, Finding};
use crate::record::checkpoint::fault::LogError;
use crate::record::checkpoint::log::Log;
use crate::record::trusted_head;
use crate::values::model::id::DocumentId;
use crate::values::model::number::CheckpointNumber;
use crate::write::commit::expect::{self, Expect};
use crate::write::commit::{self, Recovered};
use crate::write::publish::{self, Author, Mode, Outcome, PublishError};

/// Options of a conversion.
#[derive(Debug)]
pub(crate) struct Request {
    /// Principal who converts, and the time.
    pub(crate) author: Author,
    /// Form of the log after the conversion.
    pub(crate) form: LogForm,
    /// True if the log is adopted as it is (CKPT-42).
    pub(crate) adopts: bool,
    /// Expected state of the vault, and whether anything is written.
    pub(crate) mode: Mode,
}

/// Result of a conversion or its dry run.
#[derive(Debug)]
pub(crate) struct Converted {
    /// Event that seals the configuration; `None` if the configuration named the form already.
    pub(crate) event: Option<Outcome>,
    /// Number of checkpoints in the log.
    pub(crate) checkpoints: u64,
    /// Sizes of the old and the new log in bytes; `None` if the log had the form already.
    pub(crate) bytes: Option<(u64, u64)>,
    /// Path of the copy of the old log.
    pub(crate) kept: Option<String>,
    /// Files of an interrupted command, and how they were settled.
    pub(crate) recovered: Recovered,
    /// Findings about the foreign part of the log that an adoption accepts.
    pub(crate) accepted: Vec<Finding>,
}

/// Reason why a log was not converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConvertError {
    /// The event could not be published, or the log is not reliable.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// No version is published, so there is nothing to convert.
    #[error("the log contains no checkpoint yet")]
    Empty,
    /// The vault does not verify, or would not verify in the other form.
    #[error("{}", .0.message)]
    Unsound(Box<Finding>),
    /// The configuration was published, but the log kept its form.
    #[error("{why}")]
    Halfway {
        /// Number of the checkpoint that seals the configuration.
        checkpoint: CheckpointNumber,
        /// Reason why the log was not converted.
        why: Box<ConvertError>,
    },
    /// The other form cannot represent the content of this log.
    #[error("the form `{}` cannot represent the content of this log", .0.as_str())]
    Inexpressible(LogForm),
}

impl From<LogError> for ConvertError {
    fn from(why: LogError) -> Self {
        Self::Publish(why.into())
    }
}

impl From<FileError> for ConvertError {
    fn from(why: FileError) -> Self {
        Self::Publish(why.into())
    }
}

/// Converts the log to the requested form.
///
/// # Errors
/// The log is unchanged. An event that was published before the error remains: the configuration
/// then names the new form, and the log keeps its own until it is converted.
pub(crate) fn convert(vault: &Vault, request: &Request) -> Result<Converted, ConvertError> {
    let log = trusted_head::open_log(vault)?;
    if log.sound()?.head().is_none() {
        return Err(ConvertError::Empty);
    }
    if request.form.is_shared() && vault.config().frontmatter == FrontmatterMode::Untouched {
        return Err(PublishError::SharedUntouched.into());
    }
    if request.adopts && !log.foreign.is_whole() {
        return Ok(unchanged(&log));
    }
    let (mut event, mut accepted) = (None, Vec::new());
    if !is_asked_for(vault, &log, request.form)? {
        if log.form != request.form {
            // An event must not seal a form that the log cannot have.
            expressible(&log, request.form)?;
            let report = verify::verify(vault, &whole(request))?;
            refuse_unsound(&report)?;
            let is_accepted = |f: &Finding| {
                matches!(f.code, verify::Code::ForeignRecord | verify::Code::VersionForgotten)
            };
            accepted
                .extend(report.findings.into_iter().filter(|f| request.adopts && is_accepted(f)));
        }
        let (outer, word) = (Some("versions"), request.form.as_str());
        let setting = Setting { outer, key: "checkpoint_log", word };
        let is_said = |config: &Config| config.checkpoint_log == Some(request.form);
        let edit = |text: &str| setting.set(text, is_said);
        let (author, mode) = (&request.author, request.mode);
        event = Some(match request.adopts {
            true => publish::adopt(vault, author, mode, edit)?,
            false => {
                publish::set_governance_file(vault, &DocumentId::config(), author, mode, edit)?
            }
        });
    }
    let converted = if request.mode.dry_run {
        would_convert(vault, request, event.as_ref())?
    } else {
        let expected = if event.is_some() { Expect::default() } else { request.mode.expect };
        convert_log(vault, request, expected).map_err(|why| {
            let sealed = event.as_ref().and_then(|event: &Outcome| event.checkpoint.as_ref());
            match sealed.map(|checkpoint| checkpoint.number) {
                Some(checkpoint) => ConvertError::Halfway { checkpoint, why: Box::new(why) },
                None => why,
            }
        })?
    };
    Ok(Converted { event, accepted, ..converted })
}

/// Returns true if the sealed and the live configuration both name `form`. A configuration without
/// a form matches the form of the log.
fn is_asked_for(vault: &Vault, log: &Log, form: LogForm) -> Result<bool, ConvertError> {
    let wishes = [commit::sealed_form(vault, &log.sound()?)?, vault.config().checkpoint_log];
    let by_default = log.form == form;
    Ok(wishes.iter().all(|wish| wish.map_or(by_default, |wish| wish == form)))
}

fn whole(request: &Request) -> verify::Request {
    verify::Request::whole(request.author.now)
}

fn refuse_unsound(report: &verify::Report) -> Result<(), ConvertError> {
    let is_fault = |f: &&Finding| matches!(f.code.class(), Class::Damage | Class::Unsettled);
    let first = report.findings.iter().find(is_fault);
    first.map_or(Ok(()), |finding| Err(ConvertError::Unsound(Box::new(finding.clone()))))
}

/// Returns the log in another form as bytes, and as a reader parses them.
fn expressible(log: &Log, form: LogForm) -> Result<(Vec<u8>, Log), ConvertError> {
    let chronicle = log.sound()?;
    let bytes = chronicle.export(form);
    let parsed = Log::parse(form, &bytes);
    let is_same = parsed.diagnosis.torn == 0
        && parsed.sound().is_ok_and(|new| new.checkpoints() == chronicle.checkpoints());
    if is_same { Ok((bytes, parsed)) } else { Err(ConvertError::Inexpressible(form)) }
}

fn unchanged(log: &Log) -> Converted {
    let (checkpoints, recovered) = (log.entries.len() as u64, Recovered::default());
    let (event, accepted) = (None, Vec::new());
    Converted { event, checkpoints, bytes: None, kept: None, recovered, accepted }
}

fn would_convert(
    vault: &Vault,
    request: &Request,
    event: Option<&Outcome>,
) -> Result<Converted, ConvertError> {
    let mut log = trusted_head::open_log(vault)?;
    if log.form == request.form {
        return Ok(unchanged(&log));
    }
    let mut length = log.sound()?.length();
    let bytes = match event.and_then(|event| event.checkpoint.clone()) {
        Some(checkpoint) => {
            let spelled = |log: &Log| Ok::<_, LogError>(log.sound()?.export(log.form).len() as u64);
            let before = spelled(&log)?;
            log.entries.push(Ok(checkpoint));
            length += spelled(&log)?.saturating_sub(before);
            expressible(&log, request.form)?.0
        }
        None => {
            let (bytes, parsed) = expressible(&log, request.form)?;
            refuse_unsound(&verify::verify_as(vault, &whole(request), parsed)?)?;
            bytes
        }
    };
    Ok(Converted { bytes: Some((length, bytes.len() as u64)), ..unchanged(&log) })
}

/// Performs the second step: writes the new file and removes the old one.
fn convert_log(
    vault: &Vault,
    request: &Request,
    expected: Expect,
) -> Result<Converted, ConvertError> {
    let _lock = vault.lock(&request.author.holder()).map_err(PublishError::from)?;
    let (log, recovered) = commit::settled_log(vault).map_err(PublishError::from)?;
    let chronicle = log.sound()?;
    expect::check((vault, &chronicle), &[], expected, |_| true).map_err(PublishError::from)?;
    if log.form == request.form {
        return Ok(Converted { recovered, ..unchanged(&log) });
    }
    chronicle.check_appendable()?;
    let (bytes, parsed) = expressible(&log, request.form)?;
    refuse_unsound(&verify::verify_as(vault, &whole(request), parsed)?)?;
    let length = chronicle.length();
    let kept = recover::exchange_log(vault, &chronicle, request.form, &bytes)?;
    let bytes = Some((length, bytes.len() as u64));
    Ok(Converted { bytes, kept: Some(kept), recovered, ..unchanged(&log) })
}
