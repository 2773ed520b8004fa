//! `ctx pack add`.

use crate::files::vault::federation::Authorities;
use crate::front::cli::expect::ExpectHead;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::cli::{Answer, Locking};
use crate::service::report::failure::Failure;
use crate::service::report::pack::PackAddReport;
use crate::service::workspace::argument::{node_type, text_or_input};
use crate::service::workspace::create;
use crate::text::pack::{Pack, Placed};
use crate::text::selector;
use crate::text::uri::Uri;

/// Write packs/NAME.yml, to be published like a document
///
/// An existing file is never changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx pack add returns --label Returns --query '#policy + #retail'\n  \
ctx pack add returns --id retail.returns --query '#policy' --include contextnest://nodes/glossary#returns \
--exclude contextnest://nodes/old/ --type document --instructions 'Cite the policy.'"
)]
pub(super) struct Add {
    /// Name of the file in packs/, without `.yml`
    name: String,
    /// Its id in selectors; default: the name
    #[arg(long)]
    id: Option<String>,
    /// Its name for people; default: the id
    #[arg(long)]
    label: Option<String>,
    /// Its purpose
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Selector of the pack's documents
    #[arg(long, value_name = "SELECTOR", allow_hyphen_values = true)]
    query: Option<String>,
    /// URI of documents that the pack also includes; repeatable
    #[arg(long = "include", value_name = "URI")]
    includes: Vec<String>,
    /// URI of documents that the pack excludes; repeatable
    #[arg(long = "exclude", value_name = "URI")]
    excludes: Vec<String>,
    /// Types of documents that the pack is limited to, separated by commas
    #[arg(long = "type", value_delimiter = ',', value_name = "TYPE,...")]
    types: Vec<String>,
    /// Audience of the pack; repeatable
    #[arg(long = "audience", value_name = "NAME")]
    audiences: Vec<String>,
    /// Instructions for agents, or `-` to read them from standard input
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    instructions: Option<String>,
    #[command(flatten)]
    expect: ExpectHead,
    #[command(flatten)]
    locking: Locking,
}

pub(super) fn run(args: &Add, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.locking(&args.locking)?;
    let file = create::file_of(&args.name)?;
    let authorities = &vault.config().authorities;
    let pack = definition(args, authorities, session)?;
    session.workspace.create_pack(&vault, (&file, &pack), args.expect.read()?)?;
    let path = file.live_path();
    session.print(&PackAddReport { id: &pack.id, path: &path }, |session, _| {
        session.ui.line(&format!("created {}", shown(&path)));
        let next = match session.ui.is_governed() {
            true => "`ctx submit --changed` submits it",
            false => "`ctx publish --changed` seals it",
        };
        session.ui.note(&format!("next: `ctx pack check` checks it, {next}"));
    });
    Ok(Answer::Yes)
}

fn definition(
    args: &Add,
    authorities: &Authorities,
    session: &mut Session<'_>,
) -> Result<Pack, Failure> {
    let id = args.id.clone().unwrap_or_else(|| args.name.clone());
    let query = |text: &String| {
        let read = selector::parse_in(text, authorities);
        read.map(placed).map_err(|why| Failure::selector(&why, text))
    };
    let uris = |texts: &[String]| -> Result<Vec<Placed<Uri>>, Failure> {
        texts.iter().map(|text| Ok(placed(Uri::parse_in(text, authorities)?))).collect()
    };
    let instructions = args.instructions.as_deref();
    let instructions =
        instructions.map(|text| text_or_input(Some(text), session.stdin)).transpose()?;
    Ok(Pack {
        label: args.label.clone().or_else(|| Some(id.clone())),
        id,
        description: args.description.clone(),
        query: args.query.as_ref().map(query).transpose()?,
        includes: uris(&args.includes)?,
        excludes: uris(&args.excludes)?,
        node_types: args.types.iter().map(|word| node_type(word)).collect::<Result<_, _>>()?,
        audiences: args.audiences.clone(),
        agent_instructions: instructions,
    })
}

fn placed<T>(value: T) -> Placed<T> {
    Placed { value, line: 1, column: 1 }
}
