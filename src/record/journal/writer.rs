//! The id of a writer, which is one user on one machine, for one vault and branch (AUDIT-1). Every
//! file has one writer, so that two machines never append to the same file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use crate::values::yaml::canonical_number;

/// Length in bytes from which a file receives no further lines.
pub(crate) const FULL: u64 = 64 << 20;

/// Source of 16 random bytes.
pub type Random = fn() -> [u8; 16];

/// The id of a writer: 128 random bits in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriterId(String);

impl WriterId {
    /// Returns a new id.
    pub(crate) fn new(random: Random) -> Self {
        Self(digits(random))
    }

    /// Returns true if a line names this writer.
    pub(crate) fn is(&self, named: &str) -> bool {
        self.0 == named
    }

    /// Returns the name of the file whose first line has this number.
    pub(crate) fn file(&self, first: u64) -> String {
        match first {
            1 => format!("{self}.jsonl"),
            first => format!("{self}.{first}.jsonl"),
        }
    }

    /// Parses the name of a file into its writer and the number of its first line.
    pub(crate) fn of_file(name: &str) -> Option<(Self, u64)> {
        let stem = name.strip_suffix(".jsonl")?;
        let (writer, first) = match stem.split_once('.') {
            None => (stem, 1),
            Some((writer, first)) => (writer, canonical_number(first).filter(|n| *n > 1)?),
        };
        Some((writer.parse().ok()?, first))
    }
}

/// Returns 128 random bits in hexadecimal digits.
pub(crate) fn digits(random: Random) -> String {
    random().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files of a log by writer: the numbers of their first lines, in order.
pub(crate) type FilesByWriter = BTreeMap<WriterId, Vec<u64>>;

/// Returns the files of logs among these names.
pub(crate) fn by_writer<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> FilesByWriter {
    let mut files = FilesByWriter::new();
    let found = names.into_iter().filter_map(|name| WriterId::of_file(name.as_ref()));
    found.for_each(|(writer, first)| files.entry(writer).or_default().push(first));
    files.values_mut().for_each(|firsts| firsts.sort_unstable());
    files
}

/// Returns the files in a folder of logs; empty if the folder is missing, or if a part of its path
/// is not a folder.
pub(crate) fn files_in(dir: &Path) -> io::Result<FilesByWriter> {
    let entries = match fs::read_dir(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(FilesByWriter::new()),
        Err(why) if why.kind() == io::ErrorKind::NotADirectory && !is_there(dir) => {
            return Ok(FilesByWriter::new());
        }
        other => other?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
    Ok(by_writer(names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten()))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

impl fmt::Display for WriterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WriterId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        let is_id = text.len() == 32 && text.bytes().all(is_digit);
        if is_id { Ok(Self(text.to_owned())) } else { Err(()) }
    }
}
