//! The text of a new document, written in the user's editor.

use std::io::Read as _;
use std::process::Command;

use tempfile::NamedTempFile;

use super::session::Session;
use super::ui::shown;
use crate::service::report::failure::{Code, Failure};
use crate::text::document::utf8;
use crate::values::model::layout::limit;
use crate::values::text_util::argument;

/// A text that the user wrote, with the file that keeps it until it is published.
pub(super) struct Composed {
    pub(super) text: String,
    file: NamedTempFile,
}

/// Opens `VISUAL` or `EDITOR` on an empty file and waits for it to end.
///
/// # Errors
/// No editor is set, or it failed; its text is kept.
pub(super) fn compose(session: &Session<'_>) -> Result<Composed, Failure> {
    let environment = session.workspace.environment;
    let Some(editor) = environment.var("VISUAL").or_else(|| environment.var("EDITOR")) else {
        return Err(Failure::new(Code::Usage, "the document has no body")
            .hint("pass it with `--body TEXT` or `--body -`, or set EDITOR to write it there")
            .hint("`--draft` makes an empty draft"));
    };
    let words = shlex::split(editor).unwrap_or_default();
    let [program, args @ ..] = words.as_slice() else {
        let message = format!("`{}` is not a command", shown(editor));
        return Err(Failure::new(Code::Usage, message).hint("set VISUAL or EDITOR to an editor"));
    };
    let file = tempfile::Builder::new().prefix("ctx-").suffix(".md").tempfile();
    let file = file
        .map_err(|why| Failure::new(Code::Io, format!("no temporary file can be made: {why}")))?;
    let status = Command::new(program).args(args).arg(file.path()).status();
    let mut composed = Composed { text: String::new(), file };
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => {
            let failure = Failure::new(Code::Io, format!("the editor failed: {status}"));
            return Err(composed.keep(failure));
        }
        Err(why) => {
            let message = format!("the editor `{}` cannot be started: {why}", shown(program));
            return Err(Failure::new(Code::Usage, message)
                .hint("set VISUAL or EDITOR to an editor, or pass `--body TEXT`"));
        }
    }
    match composed.read() {
        Ok(text) => composed.text = text,
        Err(why) => return Err(composed.keep(why)),
    }
    Ok(composed)
}

impl Composed {
    fn read(&self) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        // An editor may have replaced the file.
        let read = std::fs::File::open(self.file.path())
            .and_then(|file| file.take(limit::DOCUMENT + 1).read_to_end(&mut bytes));
        read.map_err(|why| Failure::new(Code::Io, format!("the text cannot be read: {why}")))?;
        if bytes.len() as u64 > limit::DOCUMENT {
            return Err(Failure::new(Code::Refused, "the text is larger than 16 MiB"));
        }
        let text = utf8(&bytes).map_err(|why| {
            Failure::new(Code::Refused, format!("the text is {why}")).hint(why.hint())
        })?;
        Ok(text.to_owned())
    }

    /// Returns the failure with the path of the text, which is kept.
    pub(super) fn keep(self, failure: Failure) -> Failure {
        let is_empty = self.file.path().metadata().is_ok_and(|found| found.len() == 0);
        if is_empty {
            return failure.hint("nothing was published");
        }
        match self.file.into_temp_path().keep() {
            Ok(path) => {
                let path = path.display().to_string();
                let path = argument(&path);
                failure.hint(format!(
                    "nothing was published; your text is in {path}: `--body - < {path}` reads it"
                ))
            }
            Err(why) => failure.hint(format!("your text could not be kept: {why}")),
        }
    }
}
