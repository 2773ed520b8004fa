//! From one form of the checkpoint log to the other (`spec/transactions.md`, section 7).
//!
//! First the configuration asks for the form, sealed by an event of the log as it is, so that a
//! verifier knows from where on it holds (VER-19). Then the other file is made, whole and durable,
//! and the first one goes. Every checkpoint keeps its hash. Between the two steps there are two
//! files that say the same; a process that comes then reads one of them, and the next writer takes
//! the other away.

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

/// What a conversion is asked to do.
#[derive(Debug)]
pub(crate) struct Request {
    /// Who asks, and when.
    pub(crate) author: Author,
    /// The form that the log is to have.
    pub(crate) form: LogForm,
    /// Whether the log is taken over as it is (CKPT-42).
    pub(crate) adopts: bool,
    /// What its writer has read, and whether anything is written.
    pub(crate) mode: Mode,
}

/// What a conversion did, or would do.
#[derive(Debug)]
pub(crate) struct Converted {
    /// The event that seals the configuration, if it did not ask for the form already.
    pub(crate) event: Option<Outcome>,
    /// Checkpoints in the log.
    pub(crate) checkpoints: u64,
    /// Bytes of the log that was there, and of the new one; none where it had the form already.
    pub(crate) bytes: Option<(u64, u64)>,
    /// Where the log that was there is kept.
    pub(crate) kept: Option<String>,
    /// What a command before it had left, and what was done about that.
    pub(crate) recovered: Recovered,
    /// What the log has that ctx records otherwise, where it is taken over.
    pub(crate) accepted: Vec<Finding>,
}

/// Why a log was not converted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ConvertError {
    /// The event could not be published, or the log not be relied on.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// Nothing is published, so there is nothing to convert.
    #[error("the log has no checkpoint yet")]
    Empty,
    /// The record does not verify, or would not in the other form.
    #[error("{}", .0.message)]
    Unsound(Box<Finding>),
    /// The configuration was published, but the log kept its form.
    #[error("{why}")]
    Halfway {
        /// The checkpoint that seals the configuration.
        checkpoint: CheckpointNumber,
        /// Why.
        why: Box<ConvertError>,
    },
    /// The other form cannot say what this log says.
    #[error("the form `{}` cannot hold what this log says", .0.as_str())]
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

/// Gives the log the form that is asked for.
///
/// # Errors
/// The log is what it was. If the event was published before, it stays: the configuration asks for
/// the form, and a log keeps its own until it is converted.
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
            // No event seals a request that cannot be granted.
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

/// Whether the sealed configuration and the live one both ask for a form; of the form that the log
/// has, whether neither asks for the other.
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

/// The bytes of a log in a form, and what a reader makes of them.
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

/// The second step: the new file, and the end of the old one.
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
