//! `ctx mcp token`.

use std::path::PathBuf;

use crate::front::cli::Answer;
use crate::front::cli::session::Session;
use crate::front::cli::ui::shown;
use crate::front::http::tokens::{self, Token};
use crate::record::audit::check_label;
use crate::service::report::failure::{Code, Failure};
use crate::service::report::token::{TokenAdded, TokenRevoked, TokenRow, TokensReport};
use crate::values::model::principal::PrincipalError;
use crate::values::model::timestamp::Timestamp;

/// Add, list and revoke bearer tokens of a server
///
/// A token identifies a principal, until it expires or is revoked. The file contains the SHA-256 of
/// each token, and must be outside of every vault. A server reads it again when it changes.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
ctx mcp token add bo@example.com --expires 90d --tokens tokens.json\n  \
ctx mcp token list --tokens tokens.json\n  ctx mcp token revoke 0a1b2c3d4e5f --tokens tokens.json")]
pub(super) struct TokenArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Make a token for a principal and print it, once
    ///
    /// A missing file is made, readable only for its user.
    Add(Add),
    /// List the tokens of a file, without their texts
    List(List),
    /// Remove a token from a file, so that no server accepts it
    Revoke(Revoke),
}

#[derive(Debug, clap::Args)]
struct Add {
    /// Principal of the token
    principal: String,
    /// Days until it expires, as in `90d`
    #[arg(long, value_name = "DAYS", default_value = "90d")]
    expires: String,
    /// Purpose of the token, such as the name of a machine
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    #[command(flatten)]
    file: File,
}

#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    file: File,
}

#[derive(Debug, clap::Args)]
struct Revoke {
    /// Id of the token, as `ctx mcp token list` prints it
    token_id: String,
    #[command(flatten)]
    file: File,
}

#[derive(Debug, clap::Args)]
struct File {
    /// File of the tokens
    #[arg(long = "tokens", value_name = "FILE", required = true)]
    path: Option<PathBuf>,
}

impl File {
    fn path(&self, session: &Session<'_>) -> PathBuf {
        let path = self.path.clone().unwrap_or_default();
        session.workspace.environment.cwd.join(path)
    }
}

pub(super) fn run(args: &TokenArgs, session: &mut Session<'_>) -> Result<Answer, Failure> {
    match &args.action {
        Action::Add(args) => add(args, session),
        Action::List(args) => list(args, session),
        Action::Revoke(args) => revoke(args, session),
    }
}

fn add(args: &Add, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let principal = args.principal.parse();
    let principal = principal
        .map_err(|why: PrincipalError| Failure::new(Code::NoPrincipal, why.to_string()))?;
    if let Some(label) = &args.label {
        check_label(label)
            .map_err(|why| Failure::new(Code::Usage, format!("the value of `--label` {why}")))?;
    }
    let (now, days) = (session.workspace.now()?, tokens::days(&args.expires)?);
    let random = session.workspace.environment.random;
    let path = args.file.path(session);
    let whose = (principal, args.label.clone());
    let (token, secret) = tokens::add(&path, random, whose, (now, days))?;
    session.print(&TokenAdded { row: row(&token, now), token: secret }, |session, added| {
        session.ui.line(&added.token);
        let Token { id, principal, expires_at, .. } = &token;
        session.ui.note(&format!(
            "note: token {id} identifies {} until {expires_at}; it is printed only once",
            shown(principal.as_str())
        ));
    });
    Ok(Answer::Yes)
}

fn list(args: &List, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let now = session.workspace.now()?;
    let found = tokens::list(&args.file.path(session))?;
    if session.ui.json {
        let tokens = found.iter().map(|token| row(token, now)).collect();
        session.ui.report(&TokensReport { tokens });
        return Ok(Answer::Yes);
    }
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|token| {
            let ends = if token.is_expired(now) { "expired" } else { "expires" };
            vec![
                token.id.clone(),
                shown(token.principal.as_str()).into_owned(),
                format!("{ends} {}", token.expires_at),
                token.label.as_deref().map(shown).unwrap_or_default().into_owned(),
            ]
        })
        .collect();
    session.ui.table(&rows);
    Ok(Answer::Yes)
}

fn revoke(args: &Revoke, session: &mut Session<'_>) -> Result<Answer, Failure> {
    let now = session.workspace.now()?;
    let token = tokens::revoke(&args.file.path(session), &args.token_id)?;
    session.print(&TokenRevoked(row(&token, now)), |session, _| {
        let principal = shown(token.principal.as_str()).into_owned();
        session.ui.line(&format!("revoked token {} of {principal}", token.id));
    });
    Ok(Answer::Yes)
}

fn row(token: &Token, now: Timestamp) -> TokenRow {
    TokenRow {
        token_id: token.id.clone(),
        principal: token.principal.as_str().to_owned(),
        label: token.label.clone(),
        created_at: token.created_at.to_string(),
        expires_at: token.expires_at.to_string(),
        is_expired: token.is_expired(now),
    }
}
