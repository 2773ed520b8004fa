//! A governed knowledge vault in a folder of Markdown.
//!
//! A vault records which version of a document was published, by whom and when. It detects later
//! changes of that record, and returns exactly the same text months later. All state is plain
//! files; `spec/` states each rule once.
//!
//! The public API of this library is [`workspace`], [`report`] and [`model`]. Every text that it
//! returns is first recorded in the access log, here in a temporary folder:
//!
//! ```
//! use contextnest::workspace::{Environment, Options, Workspace};
//!
//! let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/interop/procurement");
//! let log = tempfile::tempdir().expect("a folder can be made");
//! let mut environment = Environment::new(folder.into(), || 1_780_000_000_000);
//! environment.vars.insert("CTX_AUDIT_DIR".into(), log.path().display().to_string());
//! let workspace = Workspace { environment: &environment, options: Options::default() };
//! let answer = workspace.resolve("type:document", None).expect("the vault can be read");
//! let texts = answer.hand_out(|resolution| {
//!     let texts = resolution.documents.iter().map(|document| document.body());
//!     texts.collect::<String>().into_bytes()
//! });
//! assert!(!texts.expect("the access is recorded").is_empty());
//! ```
//!
//! The other modules are public for the tests, benchmarks, fuzz targets and experiments of this
//! repository, and change without notice. They are in groups. A group imports only from groups
//! below it, and a module only from modules to its left in this list:
//!
//! ```text
//! front      http  mcp  cli                           arguments, requests and output
//! service    report  starter  workspace               shared by all front ends
//! exchange   convert  merge                           other formats and branches of a vault
//! prove      verify  evidence  recover                checks, attributes and repairs the record
//! write      commit  publish                          the transaction, and commands that publish
//! read       graph  index  working  snapshot          serving, searching and comparing texts
//!            status  search  derived  source
//! policy     stewards  rules  in_force  viewer        rules in force, and access of readers
//! record     torn_tail  chain  checkpoint             chains, logs and staged entries
//!            trusted_head  journal  audit  staging
//! text       uri  document  selector  pack            documents, and queries for them
//! files      vault  process  cache                    the folder, programs of the user, caches
//! values     model  yaml  text_util  codes            values, codes, spelling
//! ```
//!
//! The checkpoint log and the histories are authoritative. Live files are working copies: they are
//! compared with the published texts and never served. [`write::publish`] is the only module that
//! publishes, and [`read::snapshot::Snapshot`] the only type that serves a text.
//! [`workspace::Answer`] is the only type that hands texts to another program.
//! [`prove::verify::verify`] recomputes every hash without trusting any file of the vault.

#[doc(hidden)]
pub mod front;

/// Every group below the front ends. What is `pub(in crate::library)` is not visible in `front`: it opens
/// texts of documents, and a front end does that only by a call that is recorded (AUDIT-5).
#[path = "."]
mod library {
    pub(crate) mod exchange;
    pub mod files;
    pub mod policy;
    pub mod prove;
    pub mod read;
    pub mod record;
    pub mod service;
    pub mod text;
    pub mod values;
    pub mod write;
}

use library::exchange;
#[doc(hidden)]
pub use library::{files, policy, prove, read, record, service, text, values, write};

#[cfg(feature = "mcp")]
#[doc(hidden)]
pub use front::mcp::message::outcome as mcp_message;
pub use service::{report, workspace};
pub use values::model;
