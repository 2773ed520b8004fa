//! One request over HTTP, and its answer: the part of HTTP 1.1 that `ctx mcp --http` speaks.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::carrier::{Broken, MOST_BYTES, Url};

/// Maximum length of the head of an answer.
const MOST_HEAD: usize = 16 << 10;

/// Returns the messages that answer a message.
pub(super) fn post(url: &Url, message: &Value) -> Result<Vec<Value>, Broken> {
    let text = answered(url, message).map_err(|why| Broken::Unreachable(why.to_string()))?;
    let malformed = || {
        let begin = &text[..text.len().min(200)];
        Broken::Malformed(String::from_utf8_lossy(begin).into_owned())
    };
    let split = find(&text, b"\r\n\r\n").ok_or_else(malformed)?;
    let head = str::from_utf8(&text[..split]).map_err(|_| malformed())?;
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 "));
    let status =
        status.and_then(|line| line.get(..3)?.parse::<u16>().ok()).ok_or_else(malformed)?;
    if status != 200 {
        return Err(Broken::Status(status));
    }
    let header = |name: &str| {
        let mut headers = lines.clone().filter_map(|line| line.split_once(':'));
        headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    };
    let body = &text[split + 4..];
    let is_chunked =
        header("transfer-encoding").is_some_and(|how| how.eq_ignore_ascii_case("chunked"));
    let body = if is_chunked { dechunked(body).ok_or_else(malformed)? } else { body.to_vec() };
    let is_stream =
        header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
    let read = |bytes: &[u8]| serde_json::from_slice(bytes).map_err(|_| malformed());
    match is_stream {
        false => Ok(vec![read(&body)?]),
        true => {
            let lines = body.split(|byte| *byte == b'\n');
            let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
            let data = data.map(<[u8]>::trim_ascii).filter(|data| !data.is_empty());
            data.map(read).collect()
        }
    }
}

/// Returns everything that a server sends until it ends the connection.
fn answered(url: &Url, message: &Value) -> io::Result<Vec<u8>> {
    let end = Instant::now() + url.time;
    let left = || end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let addresses = url.target().to_socket_addrs()?;
    let mut failed = io::Error::other("the host name does not resolve");
    let mut connected = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, left()) {
            Ok(stream) => {
                connected = Some(stream);
                break;
            }
            Err(why) => failed = why,
        }
    }
    let Some(mut stream) = connected else { return Err(failed) };
    stream.set_write_timeout(Some(left()))?;
    stream.write_all(asked(url, message).as_bytes())?;
    let mut text = Vec::new();
    let mut part = vec![0; 64 << 10];
    let most = MOST_BYTES + MOST_HEAD as u64;
    while (text.len() as u64) < most {
        stream.set_read_timeout(Some(left()))?;
        match stream.read(&mut part)? {
            0 => return Ok(text),
            count => text.extend_from_slice(&part[..count]),
        }
        if Instant::now() >= end {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Err(io::Error::other("the answer is too long"))
}

/// Returns a request with a message.
fn asked(url: &Url, message: &Value) -> String {
    let body = message.to_string();
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
        url.path,
        url.authority,
        body.len()
    );
    let mut header = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            head.extend([name, ": ", value, "\r\n"]);
        }
    };
    let method = message["method"].as_str();
    // The request that begins a session contains the revision itself.
    if method != Some("initialize") {
        header("MCP-Protocol-Version", Some(super::STATELESS));
        header("Mcp-Method", method);
        header("Mcp-Name", message["params"]["name"].as_str());
    }
    let bearer = url.token.as_ref().map(|token| format!("Bearer {token}"));
    header("Authorization", bearer.as_deref());
    format!("{head}\r\n{body}")
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}

/// Decodes a body in chunks.
fn dechunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = find(rest, b"\r\n")?;
        let size = str::from_utf8(&rest[..end]).ok()?.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size.checked_add(2)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_in_chunks_is_put_together() {
        assert_eq!(dechunked(b"3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n").unwrap(), b"abcde");
        for bad in [&b"3\r\nab"[..], b"ffffffffffffffff\r\nab\r\n", b"x\r\n", b"", b"2\r\nab\r\n"] {
            assert_eq!(dechunked(bad), None);
        }
    }
}
