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
//! repository, and change without notice. They form layers; a module imports only from lower ones:
//!
//! ```text
//! front ends     cli  mcp
//! contract       workspace  report                      what every front end shares
//! acting         evidence  convert  recover             attribute, prove, repair,
//!                govern  verify                         publish, check
//! reading        derived  search  status  resolve  live what is served, found, compared
//! asking         index  txn  policy  pack  review       indexes, the transaction that writes,
//!                stewards  selector  graph  store       the rules in force, what may be asked
//! record         staging  audit  journal                what is recorded
//!                trust  checkpoint  chain
//! text           document  uri                          what one document is
//! files          vault                                  the folder, its lock, its configuration
//! values         yaml  model                            values, codes, spelling
//! ```
//!
//! The checkpoint log and the histories are authoritative. Live files are working copies: they are
//! compared with what is published and never served. [`govern`] is the only module that publishes,
//! [`resolve::Snapshot`] the only type that serves a text, [`workspace::Answer`] the only one that
//! hands texts to another program, and [`verify::verify`] recomputes every hash without trusting any
//! file of the vault.

#[doc(hidden)]
pub mod front;
#[doc(hidden)]
pub mod service;
pub use service::{report, workspace};
mod exchange;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod prove;
#[doc(hidden)]
pub mod read;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod values;
#[doc(hidden)]
pub mod write;
#[cfg(feature = "mcp")]
#[doc(hidden)]
pub use front::mcp::message::outcome as mcp_message;
pub use values::model;
