//! The server over HTTP instead of standard input and output (`spec/mcp.md`, section 5).
//!
//! `front` checks requests, `sessions` knows the principal of each session, and `form` converts
//! answers. [`crate::front::http`] has the parts that any server needs.

mod form;
mod front;
mod sessions;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout};

use self::front::{Front, LARGE, MOST_BYTES};
use self::sessions::Sessions;
use super::limits::Limits;
use super::metrics::{Gauge, Metrics};
use super::offer::{Choice, Offer};
use super::server::{Server, World};
use super::vaults::Vaults;
use crate::front::http::connections::{Connection, Connections};
use crate::front::http::guard::Guard;
use crate::front::http::patient::Patient;
use crate::front::http::quotas::Owners;
use crate::front::http::tokens::{Tokens, vault_around};
use crate::front::mcp::shares::Shares;
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::{Environment, Options, Workspace};
use crate::values::model::timestamp::Timestamp;

/// Maximum number of connections at the same time.
const CONNECTIONS: usize = 512;
/// Time limit for a client to send the head of a request, and for silence between two.
const HEAD: Duration = Duration::from_secs(30);
/// Maximum length of the head of a request, in bytes, and maximum number of headers.
const HEAD_BYTES: usize = 16 << 10;
const HEADERS: usize = 64;
/// Time limit for running calls when the server ends.
const GRACE: Duration = Duration::from_secs(10);
/// Time limit for sending their answers.
const SENDING: Duration = Duration::from_secs(2);
/// Interval at which a stream checks that its token is still valid.
const LOOKS: Duration = Duration::from_secs(5);

/// Settings of a server.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The address to listen at.
    pub(crate) address: SocketAddr,
    /// The file of tokens; without one, every client is the user of the server.
    pub(crate) tokens: Option<PathBuf>,
    /// Hosts that requests may name.
    pub(crate) hosts: Vec<String>,
    /// Origins of pages that may call.
    pub(crate) origins: Vec<String>,
    /// Maximum number of requests of a token in a minute.
    pub(crate) rate: u32,
    /// Maximum number of calls at the same time.
    pub(crate) calls: usize,
    /// Time limit of a call.
    pub(crate) time: Duration,
}

/// A message for the operator of a server.
#[derive(Debug)]
pub(crate) enum Told {
    /// The server listens at this address.
    Listens(String),
    /// A problem.
    Note(String),
}

/// Answers clients until the process gets SIGTERM or SIGINT.
///
/// # Errors
/// An option is invalid, the file of tokens cannot be read, or the server cannot listen at
/// the address.
pub(crate) fn serve(
    (environment, options): (Environment, Options),
    (vaults, choice): (Vaults, &Choice),
    settings: &Settings,
    tell: &mut dyn FnMut(Told),
) -> Result<(), Failure> {
    let tokens = settings.tokens.as_ref().map(|path| {
        if let Some(vault) = vault_around(path) {
            let message = format!(
                "the file of tokens `{}` is in the vault `{}`",
                path.display(),
                vault.display()
            );
            return Err(
                Failure::new(Code::TokensInvalid, message).hint("keep it outside of every vault")
            );
        }
        Tokens::of(path)
    });
    let tokens = tokens.transpose()?;
    let guard = Guard::new(settings.address, &settings.hosts, &settings.origins)?;
    let workspace = Workspace { environment: &environment, options: options.clone() };
    let fixed = workspace.options.now.is_some() || environment.var("CTX_NOW").is_some();
    let fixed = fixed.then(|| workspace.now()).transpose()?;
    let clock = environment.clock;
    let now = move || fixed.unwrap_or_else(|| Timestamp::from_millis(clock()));

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(settings.calls)
        .build()
        .map_err(|why| Failure::new(Code::Io, format!("cannot start the server: {why}")))?;
    let metrics = Arc::new(Metrics::default());
    let limits = Limits { calls: Shares::of(settings.calls), time: settings.time };
    let world = World { environment, options, vaults, offer: Offer::of(choice)? };
    let server = Server::limited(world, Arc::clone(&metrics), limits);
    let (sender, notes) = mpsc::channel(1);
    let served = runtime.block_on(async {
        let sessions = Sessions::new();
        let config = StreamableHttpServerConfig::default()
            // `front` has checked both before.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_json_response(true)
            .with_max_request_body_bytes(MOST_BYTES);
        let factory = move || Ok(server.beside());
        let front = Front {
            mcp: StreamableHttpService::new(factory, sessions.manager(), config),
            guard,
            owners: Owners::new(tokens.is_some().then_some(settings.rate)),
            tokens,
            sessions,
            metrics,
            large: Shares::of(LARGE),
            now: Box::new(now),
            ends: AtomicBool::new(false),
            notes: sender,
        };
        listen(settings.address, Arc::new(front), notes, tell).await
    });
    // Longer calls are abandoned: their writes are complete, or none of them is valid.
    runtime.shutdown_timeout(Duration::from_millis(100));
    let address = settings.address;
    served.map_err(|why| Failure::new(Code::Io, format!("cannot serve at {address}: {why}")))
}

async fn listen(
    address: SocketAddr,
    front: Arc<Front>,
    mut notes: mpsc::Receiver<String>,
    tell: &mut dyn FnMut(Told),
) -> io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    let (mut terminated, mut interrupted) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tell(Told::Listens(format!("http://{}/mcp", listener.local_addr()?)));
    let (ending, ends) = watch::channel(false);
    let accepting = tokio::spawn(accept(listener, Arc::clone(&front), ends));
    let mut said: Option<Instant> = None;
    loop {
        tokio::select! {
            _ = terminated.recv() => break,
            _ = interrupted.recv() => break,
            Some(note) = notes.recv() => {
                // Once a minute is enough for an operator.
                if said.is_none_or(|at| at.elapsed() >= Duration::from_secs(60)) {
                    said = Some(Instant::now());
                    tell(Told::Note(note));
                }
            }
        }
    }
    accepting.abort();
    front.ends.store(true, Ordering::Relaxed);
    let _ = ending.send(true);
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
        () = ended(&front) => {}
    }
    Ok(())
}

/// Waits for running calls and for their answers, up to the limits.
async fn ended(front: &Front) {
    let until_none = async |gauge: &Gauge| {
        while gauge.now() > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    let _ = timeout(GRACE, until_none(&front.metrics.calls)).await;
    // Answers are sent; streams would stay open as long as their clients.
    sleep(Duration::from_millis(100)).await;
    front.mcp.config.cancellation_token.cancel();
    let _ = timeout(SENDING, until_none(&front.metrics.connections)).await;
}

/// Returns the maximum number of connections: calls need files, too.
fn connections() -> usize {
    let files = getrlimit(Resource::Nofile);
    // The default of a user is less than a server may have.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
    let files = getrlimit(Resource::Nofile)
        .current
        .map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
    CONNECTIONS.min(files / 2).max(1)
}

/// Accepts connections, until it is aborted.
async fn accept(listener: TcpListener, front: Arc<Front>, ends: watch::Receiver<bool>) {
    let open = Connections::new(connections());
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let one = open.one().await;
                tokio::spawn(connection(stream, Arc::clone(&front), ends.clone(), one));
            }
            // The process may not open another connection, or the client has disconnected.
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn connection(
    stream: TcpStream,
    front: Arc<Front>,
    mut ends: watch::Receiver<bool>,
    one: Arc<Connection>,
) {
    let _ = stream.set_nodelay(true);
    let _counted = front.metrics.connections.one();
    let service = service_fn(|request| {
        let (front, busy) = (Arc::clone(&front), one.busy());
        async move {
            let response = front.answer(request).await;
            Ok::<_, Infallible>(response.map(|reply| reply.keeping(busy)))
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .max_header_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream)), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        // The connection has ended, with or without an error.
        _ = connection.as_mut() => return,
        () = one.leaves() => return,
        _ = ends.changed() => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
