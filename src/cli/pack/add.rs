//! `ctx pack add`.

use crate::cli::expect::ExpectHead;
use serde::Serialize;

use crate::cli::add::{node_type, text_or_input};
use crate::cli::failure::Code;
use crate::cli::session::Session;
use crate::cli::ui::shown;
use crate::cli::{Answer, Failure};
use crate::live;
use crate::model::id::Id;
use crate::pack::{self, Pack, Placed};
use crate::selector;
use crate::uri::Uri;
use crate::vault::federation::Authorities;

/// Make a pack: write packs/NAME.yml, which the next publication seals
///
/// An existing file is never touched.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  ctx pack add returns --label Returns --query '#policy + #retail'\n  \
ctx pack add returns --id retail.returns --query '#policy' --include contextnest://nodes/glossary#returns \
--exclude contextnest://nodes/old/ --type document --instructions 'Cite the policy.'"
)]
pub(super) struct Add {
    #[command(flatten)]
    expect: ExpectHead,
    /// Name of the file in packs/, without `.yml`
    name: String,
    /// Its id in selectors; else the name
    #[arg(long)]
    id: Option<String>,
    /// Its name for people; else the id
    #[arg(long)]
    label: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// What it selects
    #[arg(long, value_name = "SELECTOR", allow_hyphen_values = true)]
    query: Option<String>,
    /// What belongs to it beside the query; may be given several times
    #[arg(long = "include", value_name = "URI")]
    includes: Vec<String>,
    /// What does not belong to it; may be given several times
    #[arg(long = "exclude", value_name = "URI")]
    excludes: Vec<String>,
    /// The only types that belong to it, separated by commas
    #[arg(long = "type", value_delimiter = ',', value_name = "TYPE,...")]
    types: Vec<String>,
    /// Whom it is for; may be given several times
    #[arg(long = "audience", value_name = "NAME")]
    audiences: Vec<String>,
    /// What agents are told with it, or `-` to read it from standard input
    #[arg(long, value_name = "TEXT|-", allow_hyphen_values = true)]
    instructions: Option<String>,
}

#[derive(Serialize)]
struct AddJson<'a> {
    id: &'a str,
    path: &'a str,
}

pub(super) fn run(args: &Add, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let vault = session.vault()?;
    let file = Id::of_governance_file(&format!("packs/{}.yml", args.name))?;
    if !file.is_pack() || args.name.starts_with('.') {
        return Err(Failure::new(Code::Usage, format!("`{file}` cannot be a pack file"))
            .hint("a name has no `/` and does not begin with a dot"));
    }
    let authorities = &vault.config().authorities;
    let pack = definition(args, authorities, session)?;
    let text = pack::write(&pack);
    if let Some(problem) = pack::read(&text, authorities).problems.first() {
        return Err(Failure::new(Code::Usage, problem.kind.to_string()).hint(problem.hint()));
    }
    let _lock = vault.lock(&session.holder("pack add")?)?;
    session.check_expected(&vault, &[&file], args.expect.read()?)?;
    let same = |file: &live::packs::PackFile| file.reading.id.as_ref() == Some(&pack.id);
    if let Some(other) = live::packs::read_all(&vault).into_iter().find(same) {
        let message = format!("`{}` has the id `{}`", other.path, pack.id);
        return Err(Failure::new(Code::Exists, message).hint("choose another id with `--id`"));
    }
    let path = file.live_path();
    if vault.files().exists(&path) {
        return Err(Failure::new(Code::Exists, format!("`{path}` exists already"))
            .hint("edit the file, or choose another name"));
    }
    vault.files().create_durable(&path, text.as_bytes())?;
    if session.ui.json {
        session.ui.result("pack.add", &AddJson { id: &pack.id, path: &path });
    } else {
        session.ui.line(&format!("created {}", shown(&path)));
        session.ui.note("next: `ctx publish --changed` seals it; `ctx pack check` looks at it");
    }
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
    let instructions = instructions.map(|text| text_or_input(Some(text), session)).transpose()?;
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
