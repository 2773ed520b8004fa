//! Minimal clients over stdio and over HTTP.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command};

use serde_json::{Value, json};

use crate::process::Result;

/// Returns a call as a client of 2026-07-28 makes it.
pub(crate) fn call(tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": tool,
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            "contextnest/session": "bench",
        },
    }})
}

/// A server over stdio; it ends with its client.
pub(crate) struct Stdio {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Stdio {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let piped = std::process::Stdio::piped;
        let mut child = command.stdin(piped()).stdout(piped()).spawn()?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self { child, input, output })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn ask(&mut self, message: &Value) -> Result<Value> {
        let input = self.input.as_mut().ok_or("no input")?;
        input.write_all(format!("{message}\n").as_bytes())?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// A server over HTTP; it ends with this value.
pub(crate) struct Http {
    child: Child,
    address: SocketAddr,
}

impl Http {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(std::process::Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().ok_or("no output")?).read_line(&mut line)?;
        let address =
            line.trim().strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.ok_or_else(|| format!("no address: {line}"))?.parse()?;
        Ok(Self { child, address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Makes one call over its own connection.
pub(crate) fn post(address: SocketAddr, message: &Value) -> Result<Value> {
    let mut connection = BufReader::new(TcpStream::connect(address)?);
    let body = exchange(&mut connection, address, message)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Runs a number of clients at the same time, each with a number of calls over one connection.
pub(crate) fn together(
    address: SocketAddr,
    clients: usize,
    each: usize,
    message: impl Fn(usize) -> Value + Sync,
) -> Result<()> {
    let one = |client: usize| -> std::result::Result<(), String> {
        let connect = || -> Result<()> {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            let mut connection = BufReader::new(stream);
            for n in 0..each {
                let body = exchange(&mut connection, address, &message(client * each + n))?;
                let failed = body.windows(14).any(|part| part == b"\"isError\":true");
                if failed || !body.windows(8).any(|part| part == b"\"result\"") {
                    return Err(String::from_utf8_lossy(&body).into_owned().into());
                }
            }
            Ok(())
        };
        connect().map_err(|why| why.to_string())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|n| scope.spawn(move || one(n))).collect();
        let ended = threads.into_iter().map(|thread| thread.join().map_err(|_| "a client ended"));
        ended.collect::<std::result::Result<Vec<_>, _>>()
    })?
    .into_iter()
    .collect::<std::result::Result<Vec<()>, _>>()?;
    Ok(())
}

/// Sends one request and returns the body of its answer, which has a length or is in chunks.
fn exchange(
    connection: &mut BufReader<TcpStream>,
    address: SocketAddr,
    message: &Value,
) -> Result<Vec<u8>> {
    let (body, name) =
        (message.to_string(), message["params"]["name"].as_str().unwrap_or_default());
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {name}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    connection.get_mut().write_all(request.as_bytes())?;
    let (mut length, mut is_chunked, mut line) = (0, false, String::new());
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        let header = line.trim().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        is_chunked |= header.starts_with("transfer-encoding:");
        if header.is_empty() {
            break;
        }
    }
    let mut all = Vec::new();
    while is_chunked || all.is_empty() {
        if is_chunked {
            line.clear();
            connection.read_line(&mut line)?;
            length = usize::from_str_radix(line.trim(), 16)?;
        }
        let mut part = vec![0; length + if is_chunked { 2 } else { 0 }];
        connection.read_exact(&mut part)?;
        all.extend_from_slice(&part[..length]);
        if length == 0 {
            break;
        }
    }
    Ok(all)
}
