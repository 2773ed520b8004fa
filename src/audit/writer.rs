//! Whose chain a line goes to: a writer is one user on one machine, for one vault and branch
//! (AUDIT-1). Every file has one writer, so that no two machines append to the same file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::append;
use crate::vault::outside::{self, StateFolder};
use crate::yaml::canonical_number;

/// A file of this length gets no further line.
pub(crate) const FULL: u64 = 64 << 20;

/// 16 random bytes, from the outside world.
pub type Random = fn() -> [u8; 16];

/// A writer: 128 random bits in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WriterId(String);

impl WriterId {
    /// A new one.
    pub(crate) fn new(random: Random) -> Self {
        Self(digits(random))
    }

    /// Whether it is the one that a line names.
    pub(super) fn is(&self, named: &str) -> bool {
        self.0 == named
    }

    /// What begins its chain.
    pub(super) fn genesis(&self) -> String {
        format!("contextnest:audit:v1:{self}")
    }

    /// The name of the file whose first line has this number.
    pub(super) fn file(&self, first: u64) -> String {
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
pub(super) type FilesByWriter = BTreeMap<WriterId, Vec<u64>>;

/// The files among these names that are of a log.
pub(super) fn by_writer<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> FilesByWriter {
    let mut files = FilesByWriter::new();
    let found = names.into_iter().filter_map(|name| WriterId::of_file(name.as_ref()));
    found.for_each(|(writer, first)| files.entry(writer).or_default().push(first));
    files.values_mut().for_each(|firsts| firsts.sort_unstable());
    files
}

/// The files in a folder of logs; none if the folder does not exist.
pub(super) fn files_in(dir: &Path) -> io::Result<FilesByWriter> {
    let entries = match fs::read_dir(dir) {
        Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(FilesByWriter::new()),
        other => other?,
    };
    let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
    Ok(by_writer(names.collect::<io::Result<Vec<_>>>()?.into_iter().flatten()))
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

/// Where the accesses to a vault are recorded.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The folder with the logs of all writers.
    pub(crate) dir: PathBuf,
    /// The folder that knows who we are; none without a directory of state.
    state: Option<StateFolder>,
}

impl Place {
    /// The folder of a vault in the user's directory of state, or in the one that `CTX_AUDIT_DIR`
    /// names. None where there is neither, or it lies in the vault.
    pub(crate) fn of(
        root: &Path,
        state: Option<StateFolder>,
        named: Option<&Path>,
    ) -> Option<Self> {
        let home = match named {
            Some(dir) => dir.to_owned(),
            None => state.as_ref()?.home.join(outside::OURS).join(FOLDER),
        };
        let key = outside::key_of(root);
        let dir = home.join(key.trim_end_matches('-'));
        (!outside::lies_in(&dir, root)).then_some(Self { dir, state })
    }

    /// Who we are. A writer whose file is gone is not continued: two lines would have one name.
    pub(super) fn writer(&self, random: Random) -> io::Result<WriterId> {
        self.known().map_or_else(|| self.begin(None, random), Ok)
    }

    fn known(&self) -> Option<WriterId> {
        let known = read(&self.state.as_ref()?.dir.join(NAME))?;
        self.dir.join(known.file(1)).exists().then_some(known)
    }

    /// Makes us a new writer, in place of one whose log cannot be continued. Of several processes
    /// that want one at once, one makes it.
    pub(super) fn begin(&self, former: Option<&WriterId>, random: Random) -> io::Result<WriterId> {
        let Some(StateFolder { dir, .. }) = &self.state else {
            return Ok(WriterId::new(random));
        };
        let _turn = outside::take_turn(dir)?;
        if let Some(known) = self.known().filter(|known| Some(known) != former) {
            return Ok(known);
        }
        let new = WriterId::new(random);
        append::open(&self.dir.join(new.file(1)))?;
        // A crash here leaves no name of a writer, and the next process makes one.
        let mut file = append::open(&dir.join(NAME))?;
        file.set_len(0)?;
        writeln!(file, "{new}")?;
        Ok(new)
    }
}

/// The folder of access logs in our folder of the user's directory of state.
const FOLDER: &str = "audit";
/// The file in a vault's folder of state that says who we are.
const NAME: &str = "accesses";

fn read(path: &Path) -> Option<WriterId> {
    let mut text = String::new();
    File::open(path).ok()?.take(64).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
