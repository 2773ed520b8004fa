//! Whose chain a line goes to: a writer is one user on one machine, for one vault and branch
//! (AUDIT-1). Every file has one writer, so that no two machines append to the same file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::str::FromStr;

use crate::values::yaml::canonical_number;

/// A file of this length gets no further line.
pub(crate) const FULL: u64 = 64 << 20;

/// 16 random bytes, from the outside world.
pub type Random = fn() -> [u8; 16];

/// A writer: 128 random bits in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriterId(String);

impl WriterId {
    /// A new one.
    pub(crate) fn new(random: Random) -> Self {
        Self(digits(random))
    }

    /// Whether it is the one that a line names.
    pub(crate) fn is(&self, named: &str) -> bool {
        self.0 == named
    }

    /// The name of the file whose first line has this number.
    pub(crate) fn file(&self, first: u64) -> String {
        match first {
            1 => format!("{self}.jsonl"),
            first => format!("{self}.{first}.jsonl"),
        }
    }

    /// The writer of the file with this name, and the number of its first line.
    fn of_file(name: &str) -> Option<(Self, u64)> {
        let stem = name.strip_suffix(".jsonl")?;
        let (writer, first) = match stem.split_once('.') {
            None => (stem, 1),
            Some((writer, first)) => (writer, canonical_number(first).filter(|n| *n > 1)?),
        };
        Some((writer.parse().ok()?, first))
    }
}

/// 128 random bits in hexadecimal digits.
pub(crate) fn digits(random: Random) -> String {
    random().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files of a log by writer: the numbers of their first lines, in order.
pub(crate) type FilesByWriter = BTreeMap<WriterId, Vec<u64>>;

/// The files among these names that are of a log.
pub(crate) fn by_writer<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> FilesByWriter {
    let mut files = FilesByWriter::new();
    let found = names.into_iter().filter_map(|name| WriterId::of_file(name.as_ref()));
    found.for_each(|(writer, first)| files.entry(writer).or_default().push(first));
    files.values_mut().for_each(|firsts| firsts.sort_unstable());
    files
}

/// The files in a folder of logs; none if the folder does not exist, as where one above it is none.
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
