//! A governed knowledge vault in a folder of Markdown.
//!
//! A vault records which version of a document was published, by whom and when, detects any later
//! change of that record, and gives back exactly the same text months later. All state is plain
//! files; `spec/` states each rule once.
//!
//! The public face of this library is [`workspace`], [`report`] and [`model`]. A text leaves it only
//! when the access log has a line that says so, here in a folder of the program's own:
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
//! repository, and change without notice. They are in groups. A group imports from groups below it, and
//! a module from modules to its left in this list:
//!
//! ```text
//! front      http  mcp  cli                           words in, words out
//! service    report  starter  workspace               what every front end shares
//! exchange   convert                                  other formats of a vault
//! prove      verify  evidence  recover                checks, attributes and repairs the record
//! write      commit  publish                          the transaction that writes, and what publishes
//! read       graph  index  working  snapshot          what is served, found and compared
//!            status  search  derived  source
//! policy     stewards  rules  in_force  viewer        which rules count, and who may see what
//! record     torn_tail  chain  checkpoint             what is recorded
//!            trusted_head  journal  audit  staging
//! text       uri  document  selector  pack            one document, and what may be asked for
//! files      vault  process  cache                    the folder, programs of the user, caches
//! values     model  yaml  text_util  codes            values, codes, spelling
//! ```
//!
//! The checkpoint log and the histories are authoritative. Live files are working copies: they are
//! compared with what is published and never served. [`write::publish`] is the only module that
//! publishes, [`read::snapshot::Snapshot`] the only type that serves a text, [`workspace::Answer`] the
//! only one that hands texts to another program, and [`prove::verify::verify`] recomputes every hash
//! without trusting any file of the vault.

mod exchange;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod front;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod prove;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod service;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod values;
#[doc(hidden)]
pub mod write;

#[cfg(feature = "mcp")]
#[doc(hidden)]
pub use front::mcp::message::outcome as mcp_message;
pub use service::{report, workspace};
pub use values::model;
