//! A server that does nothing: it answers each call with one text, by the same library over the
//! same transport.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;

use crate::process::Result;

/// The server; it ends with the process.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
}

#[derive(Clone)]
struct Says(Arc<str>);

impl ServerHandler for Says {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> std::result::Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::success(vec![ContentBlock::text(&*self.0)]).into())
    }
}

impl Echo {
    /// Starts a server whose answers have a text of `length` bytes.
    pub(crate) fn start(length: usize) -> Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let says = Says("x".repeat(length).into());
        // `ctx mcp` uses the same runtime.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || runtime.block_on(serve(listener, says)));
        Ok(Self { address })
    }
}

async fn serve(listener: std::net::TcpListener, says: Says) -> std::io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let config = StreamableHttpServerConfig::default().with_json_response(true);
    let manager = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(says.clone()), manager, config);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let service = service.clone();
                async move { Ok::<_, Infallible>(service.handle(request).await) }
            });
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
        });
    }
}
