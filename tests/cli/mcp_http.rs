//! `ctx mcp --http`: tools over HTTP, tokens, and attacks of hostile clients (`spec/mcp.md`,
//! section 5).

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use crate::harness::{Place, Run};
use crate::mcp::{REVISIONS, STATELESS, answers, calls, keep_from_bo, log, opener, place, request};

/// A running server.
struct Server {
    child: Child,
    address: SocketAddr,
}

/// A reply of the server.
#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

impl Server {
    /// Starts a server at a free port.
    fn start(place: &Place, options: &str) -> Self {
        Self::run(
            &place.typed(&format!("mcp --http 127.0.0.1:0 {options}")).without("CTX_PRINCIPAL"),
        )
    }

    /// Starts a server after a prefix for the shell.
    fn start_behind(run: &Run<'_>, shell: &str) -> Self {
        let command = run.command();
        let mut behind = Command::new("sh");
        behind.args(["-c", &format!("{shell}; exec \"$0\" \"$@\"")]);
        behind.arg(command.get_program()).args(command.get_args()).env_clear();
        let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        behind.envs(set).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self::spawned(behind)
    }

    fn run(run: &Run<'_>) -> Self {
        Self::spawned(run.command())
    }

    fn spawned(mut command: Command) -> Self {
        // Some tests open more connections than a process may have files by default.
        let most = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: most.maximum, ..most }).unwrap();
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp\n"));
        let Some(address) = address else {
            let output = child.wait_with_output().unwrap();
            panic!("{line}{}", String::from_utf8_lossy(&output.stderr));
        };
        Self { address: address.parse().unwrap(), child }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends bytes and returns the reply.
    fn raw(&self, bytes: &[u8]) -> Reply {
        let mut stream = self.connect();
        // A server that refuses may not read all of them.
        let _ = stream.write_all(bytes);
        reply(&mut stream)
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        self.raw(head(method, path, headers, body).as_bytes())
    }

    fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, &[], "")
    }

    /// Sends a message of 2026-07-28 and returns the reply.
    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        let method = message["method"].as_str().unwrap();
        let mut all = vec![("Mcp-Protocol-Version", STATELESS), ("Mcp-Method", method)];
        all.extend(message["params"]["name"].as_str().map(|name| ("Mcp-Name", name)));
        all.extend(headers);
        self.ask("POST", "/mcp", &all, &message.to_string())
    }

    /// Calls a tool with a token and returns the reply.
    fn call(&self, token: &str, tool: &str, arguments: &Value) -> Reply {
        let params = json!({"name": tool, "arguments": arguments});
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str())];
        let headers = if token.is_empty() { &[][..] } else { &headers };
        self.post(headers, &request(STATELESS, 1, "tools/call", params))
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn stop(mut self) -> (i32, String) {
        self.signal("-TERM");
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code, said)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn head(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    let own = [
        ("Host", "localhost"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let given = |name: &str| headers.iter().any(|(found, _)| found.eq_ignore_ascii_case(name));
    for (name, value) in own.iter().filter(|(name, _)| !given(name)).chain(headers) {
        text += &format!("{name}: {value}\r\n");
    }
    text + &format!("Content-Length: {}\r\n\r\n{body}", body.len())
}

fn reply(stream: &mut TcpStream) -> Reply {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Reply { status, head: head.to_owned(), body }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        whole += &rest[..size];
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the message, sent alone or in a stream of events.
    fn json(&self) -> Value {
        let events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let text = match self.header("content-type") {
            Some("text/event-stream") => events.fold("", |_, event| event),
            _ => &self.body,
        };
        serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }
}

/// Makes a token of a principal, in a file next to the vault.
fn token(place: &Place, principal: &str, options: &str) -> String {
    let line = format!("mcp token add {principal} --tokens {} {options}", tokens(place));
    place.ctx(&line).ok().stdout.trim().to_owned()
}

fn tokens(place: &Place) -> String {
    place.home().join("tokens.json").display().to_string()
}

#[test]
fn each_revision_is_answered_as_over_standard_streams() {
    let place = place();
    let server = Server::start(&place, "--as ana@example.com");
    for revision in REVISIONS {
        let mut messages = opener(revision);
        for ((tool, arguments), id) in calls().into_iter().zip(1..) {
            let params = json!({"name": tool, "arguments": arguments});
            messages.push(request(revision, id, "tools/call", params));
        }
        let expected = answers(&place, &messages);
        let mut session = None;
        for message in &messages {
            let reply = match revision == STATELESS {
                true => server.post(&[], message),
                false => {
                    let mut headers = vec![("Mcp-Protocol-Version", revision)];
                    headers.extend(session.as_deref().map(|session| ("Mcp-Session-Id", session)));
                    server.ask("POST", "/mcp", &headers, &message.to_string())
                }
            };
            session = reply.header("mcp-session-id").map(str::to_owned).or(session);
            match message["id"].as_u64() {
                Some(id) => assert_eq!(reply.json(), expected[&id], "{message}"),
                None => assert_eq!(reply.status, 202, "{reply:?}"),
            }
        }
    }
    let lines = log(&place);
    for line in &lines {
        assert_eq!(
            (&line["principal"], &line["client"]),
            (&json!("ana@example.com"), &json!("tester/1"))
        );
    }
    let (code, said) = server.stop();
    assert_eq!((code, said.as_str()), (0, ""));
}

#[test]
fn a_request_without_a_valid_token_is_refused() {
    let place = place();
    let good = token(&place, "bo@example.com", "--label laptop");
    let server = Server::start(&place, &format!("--tokens {}", tokens(&place)));
    let read = json!({"id": "nodes/fees"});
    assert_eq!(server.call(&good, "context_read", &read).status, 200);
    let lines = log(&place);
    assert_eq!(lines[0]["principal"], "bo@example.com");
    assert_eq!(lines[0]["principal_source"], "token");

    let without = server.call("", "context_read", &read);
    assert_eq!((without.status, without.header("www-authenticate")), (401, Some("Bearer")));
    let upper = good.to_uppercase();
    let guessed = format!("ctx_{}", "0".repeat(64));
    for wrong in [&guessed, &upper, &good[..67], &format!("{good}0"), "x", &"a".repeat(8000)] {
        let reply = server.call(wrong, "context_read", &read);
        assert_eq!(reply.status, 401, "{wrong}");
        let challenge = "Bearer error=\"invalid_token\"";
        assert_eq!(reply.header("www-authenticate"), Some(challenge));
        assert!(!reply.body.contains("fee of 5") && !reply.body.contains("ctx_"));
    }
    let list = request(STATELESS, 1, "tools/list", json!({}));
    let bearer = format!("Bearer {good}");
    for headers in [
        vec![("Authorization", good.as_str())],
        vec![("Authorization", bearer.as_str()), ("Authorization", bearer.as_str())],
        vec![("Authorization", "Basic Ym86Ym8=")],
        vec![("Authorization", "Bearer")],
        vec![("X-Authorization", bearer.as_str())],
    ] {
        assert_eq!(server.post(&headers, &list).status, 401, "{headers:?}");
    }
    assert_eq!(server.ask("POST", &format!("/mcp?token={good}"), &[], "{}").status, 401);
    assert_eq!(server.get("/mcp").status, 401);
    assert_eq!(server.get("/metrics").status, 401);
    assert_eq!(server.get("/healthz").status, 200);
    // The server describes no login, because there is none.
    assert_eq!(server.get("/.well-known/oauth-protected-resource").status, 404);
    assert_eq!(log(&place).len(), 1);
}

#[test]
fn the_file_of_tokens_is_read_again_when_it_changes() {
    let place = place();
    let file = tokens(&place);
    let expired = {
        let line = format!("mcp token add old@example.com --expires 1d --tokens {file}");
        let old = place.typed(&line).var("CTX_NOW", "2026-01-01T00:00:00.000Z");
        old.here().ok().stdout.trim().to_owned()
    };
    let server = Server::start(&place, &format!("--tokens {file}"));
    let status = |token: &str| server.call(token, "context_init", &json!({})).status;
    assert_eq!(status(&expired), 401);
    let bo = token(&place, "bo@example.com", "");
    assert_eq!(status(&bo), 200);
    let kim = token(&place, "kim@example.com", "");
    assert_eq!(status(&kim), 200);
    let listed = place.ctx(&format!("mcp token list --tokens {file} --json")).ok();
    let listed = listed.json("ctx.mcp.token.list");
    let id = listed["tokens"][1]["token_id"].as_str().unwrap();
    assert_eq!(listed["tokens"][0]["is_expired"], true);
    place.ctx(&format!("mcp token revoke {id} --tokens {file}")).ok();
    let again = place.ctx(&format!("mcp token revoke {id} --tokens {file}")).exits(1);
    assert!(again.stderr.starts_with("error[unknown-token]: "), "{}", again.stderr);
    assert_eq!((status(&bo), status(&kim)), (401, 200));

    let mode = |mode: u32| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    assert_eq!(status(&kim), 503);
    mode(0o600);
    assert_eq!(status(&kim), 200);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    assert_eq!(status(&kim), 503);
    fs::write(&file, &text).unwrap();
    assert_eq!(status(&kim), 200);
    fs::remove_file(&file).unwrap();
    assert_eq!(status(&kim), 503);
    let (_, said) = server.stop();
    assert!(
        said.starts_with("error: the file of tokens may be read or changed by others"),
        "{said}"
    );
    assert!(!said.contains("ctx_"));
}

#[test]
fn a_server_does_not_start_with_tokens_that_others_may_read() {
    let place = place();
    token(&place, "bo@example.com", "");
    let file = tokens(&place);
    let start = |line: &str| place.ctx(line).exits(2).stderr;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let line = format!("mcp --http 127.0.0.1:0 --tokens {file}");
    assert!(start(&line).contains("error[tokens-invalid]"));
    let inside = start("mcp --http 127.0.0.1:0 --tokens nodes/tokens.json");
    assert!(inside.contains("is in the vault"), "{inside}");
    assert!(start("mcp token add bo --tokens tokens.json").contains("would be in the vault"));
    for (line, why) in [
        ("mcp --http 0.0.0.0:0", "other machines may reach"),
        ("mcp --http [::]:0", "other machines may reach"),
        ("mcp --listen 0.0.0.0:0", "--tokens"),
        ("mcp --http 127.0.0.1:0 --allow-host vault.example.com", "--tokens"),
        ("mcp --http 127.0.0.1:0 --rate 5", "there are none"),
        ("mcp --tokens x.json", "over HTTP"),
        ("mcp --http 127.0.0.1:0 --tokens x.json --as ana", "that of its token"),
        ("mcp --http 127.0.0.1:0 --allow-origin example.com", "expects an origin"),
        ("mcp --http 127.0.0.1:0 --session s", "are part of each request"),
    ] {
        let said = start(line);
        assert!(said.contains(why), "{line}: {said}");
    }
}

#[test]
fn token_reads_only_what_its_principal_may_read() {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n");
    place.write("nodes/hr/pay.md", "# Pay\n\nA secret sum.\n");
    keep_from_bo(&place);
    let (bo, kim) = (token(&place, "bo@x.com", ""), token(&place, "kim@x.com", ""));
    let server = Server::start(&place, &format!("--tokens {}", tokens(&place)));
    let pay = json!({"id": "nodes/hr/pay"});
    let read = server.call(&kim, "context_read", &pay).json();
    assert!(read.to_string().contains("A secret sum"), "{read}");
    let params = |id: &str| {
        json!({"name": "context_read", "arguments": {"id": id}, "_meta": {
        "contextnest/agent": "kim@x.com", "principal": "kim@x.com"}})
    };
    let bearer = format!("Bearer {bo}");
    let headers = [("Authorization", bearer.as_str()), ("X-Principal", "kim@x.com")];
    let ask = |id: &str| server.post(&headers, &request(STATELESS, 1, "tools/call", params(id)));
    let hidden = ask("nodes/hr/pay").body;
    assert_eq!(hidden.replace("hr/pay", "hr/none"), ask("nodes/hr/none").body);
    assert!(ask("nodes/open").json()["result"]["isError"] == false);
    for (tool, arguments) in calls() {
        let reply = server.call(&bo, tool, &arguments);
        assert!(!reply.body.contains("hr/pay") && !reply.body.contains("secret sum"), "{reply:?}");
    }
}

#[test]
fn a_session_of_another_principal_is_no_session() {
    let place = place();
    let (bo, kim) = (token(&place, "bo@x.com", ""), token(&place, "kim@x.com", ""));
    let server = Server::start(&place, &format!("--tokens {}", tokens(&place)));
    let revision = "2025-11-25";
    let ask = |token: &str, method: &str, session: Option<&str>, message: &Value| {
        let bearer = format!("Bearer {token}");
        let mut headers =
            vec![("Authorization", bearer.as_str()), ("Mcp-Protocol-Version", revision)];
        headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
        server.ask(method, "/mcp", &headers, &message.to_string())
    };
    let [first, initialized] = &opener(revision)[..] else { panic!() };
    let begun = ask(&bo, "POST", None, first);
    let session = begun.header("mcp-session-id").unwrap();
    assert_eq!(ask(&bo, "POST", Some(session), initialized).status, 202);
    let list = request(revision, 2, "tools/list", json!({}));
    assert_eq!(ask(&bo, "POST", Some(session), &list).status, 200);
    for method in ["POST", "GET", "DELETE"] {
        assert_eq!(ask(&kim, method, Some(session), &list).status, 404, "{method}");
    }
    assert_eq!(ask(&bo, "POST", Some("no-such"), &list).status, 404);
    assert_eq!(ask(&bo, "POST", Some(session), &list).status, 200);
    assert_eq!(ask(&bo, "DELETE", Some(session), &list).status, 204);
    assert_eq!(ask(&bo, "POST", Some(session), &list).status, 404);
}

#[test]
fn a_page_of_another_site_gets_nothing() {
    let place = place();
    let server =
        Server::start(&place, "--as ana@example.com --allow-origin https://app.example.com");
    let list = request(STATELESS, 1, "tools/list", json!({}));
    for (headers, status) in [
        (vec![("Host", "localhost:9999")], 200),
        (vec![("Host", "[::1]")], 200),
        (vec![("Host", "evil.example.com")], 421),
        (vec![("Host", "127.0.0.1.evil.example.com")], 421),
        (vec![("Host", "localhost"), ("Host", "evil.example.com")], 400),
        (vec![("Host", "")], 400),
        (vec![("Origin", "https://app.example.com")], 200),
        (vec![("Origin", "https://evil.example.com")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Origin", "http://localhost")], 403),
        (vec![("X-Forwarded-For", "10.0.0.1")], 403),
        (vec![("Forwarded", "for=10.0.0.1")], 403),
    ] {
        assert_eq!(server.post(&headers, &list).status, status, "{headers:?}");
    }
    let absolute = head("POST", "http://evil.example.com/mcp", &[], &list.to_string());
    assert_eq!(server.raw(absolute.as_bytes()).status, 421);
    assert_eq!(server.raw(b"POST /mcp HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}").status, 400);
    assert_eq!(server.ask("GET", "/metrics", &[("Host", "evil.example.com")], "").status, 421);
    let page = [("Origin", "https://app.example.com")];
    let asked = server.ask("OPTIONS", "/mcp", &page, "");
    assert_eq!(asked.status, 204);
    assert_eq!(asked.header("access-control-allow-origin"), Some("https://app.example.com"));
    let evil = [("Origin", "https://evil.example.com")];
    let asked = server.ask("OPTIONS", "/mcp", &evil, "");
    assert_eq!((asked.status, asked.header("access-control-allow-origin")), (403, None));
}

#[test]
fn hostile_bytes_end_no_server() {
    let place = place();
    let server = Server::start(&place, "--as ana@example.com");
    let post =
        |body: &str| server.ask("POST", "/mcp", &[("Mcp-Protocol-Version", STATELESS)], body);
    let call = request(
        STATELESS,
        1,
        "tools/call",
        json!({"name": "context_read", "arguments": {"id": "nodes/fees"}}),
    );
    let call = call.to_string();
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("[]", -32600),
        ("null", -32600),
        (&"[".repeat(100_000), -32700),
        (&call.replace("\"id\":1", "\"id\":1.5"), -32600),
        (&call.replace("\"id\":1", "\"id\":1,\"id\":2"), -32600),
        (&call.replace("\"2.0\"", "\"1.0\""), -32600),
    ] {
        let reply = post(body);
        assert_eq!((reply.status, reply.json()["error"]["code"].as_i64()), (400, Some(code)));
    }
    // Every prefix of a message, and a message with a replaced byte at any place.
    for n in (0..call.len()).step_by(7) {
        let changed = format!("{}\u{7f}{}", &call[..n], &call[n + 1..]);
        for body in [&call[..n], &changed] {
            assert!((200..500).contains(&post(body).status), "{body}");
        }
    }
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(10 << 20));
    assert_eq!(post(&long).status, 413);
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: \
         application/json, text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    assert_eq!(server.raw(chunked.as_bytes()).status, 413);
    let within = call.replace("nodes/fees", &"x".repeat(3 << 20));
    let refused = post(&within);
    assert!(refused.body.len() < 10_000, "{}", refused.body.len());
    let wide =
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    assert_eq!(server.raw(wide.as_bytes()).status, 431);
    let many =
        format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(200));
    assert_eq!(server.raw(many.as_bytes()).status, 431);
    for bytes in [
        &b"\x16\x03\x01\x02\x00\x01"[..],
        b"GET\r\n\r\n",
        &[0; 1000],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        server.raw(bytes);
    }
    for path in
        ["/", "/mcp/../healthz", "//mcp", "/%6dcp", "/nodes/fees.md", "/.context/config.yaml"]
    {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    for method in ["PUT", "PATCH", "TRACE", "CONNECT", "X"] {
        assert!([400, 404, 405].contains(&server.ask(method, "/mcp", &[], "").status), "{method}");
    }
    let large = json!({"id": "nodes/fees", "budget": 1e12});
    let refused = server.call("", "context_read", &large).json();
    let report = &refused["result"]["structuredContent"];
    let message = "`budget` is 1000000000000.0, but over HTTP an answer has at most 250000 tokens";
    assert_eq!((&report["code"], &report["message"]), (&json!("usage"), &json!(message)));
    assert_eq!(report["hints"], json!(["pass a `budget` of at most 250000"]));
    // The types of the protocol would ignore a cursor that is not a string.
    for method in ["resources/list", "tools/list"] {
        let reply = server.post(&[], &request(STATELESS, 7, method, json!({"cursor": 5})));
        let answer = reply.json();
        assert_eq!(reply.status, 200, "{answer}");
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32602)));
    }
    assert_eq!(server.get("/healthz").body, "ok\n");
    let (code, said) = server.stop();
    assert_eq!((code, said.as_str()), (0, ""));
}

#[test]
fn a_token_asks_for_so_much_in_a_minute() {
    let place = place();
    let (bo, kim) = (token(&place, "bo@x.com", ""), token(&place, "kim@x.com", ""));
    let server = Server::start(&place, &format!("--rate 3 --tokens {}", tokens(&place)));
    let status = |token: &str| server.call(token, "context_init", &json!({})).status;
    assert_eq!([&bo, &bo, &bo].map(|token| status(token)), [200; 3]);
    let refused = server.call(&bo, "context_init", &json!({}));
    assert_eq!(refused.status, 429);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(status(&kim), 200);
    assert_eq!(log(&place).len(), 4);
}

#[test]
fn a_thousand_calls_at_the_same_time_are_answered() {
    let place = place();
    let server = Server::start(&place, "--as ana@example.com --calls 4");
    let done = thread::scope(|scope| {
        let threads: Vec<_> = (0..1_000)
            .map(|_| {
                thread::Builder::new()
                    .stack_size(64 << 10)
                    .spawn_scoped(scope, || {
                        server.call("", "context_read", &json!({"id": "nodes/fees"})).status
                    })
                    .unwrap()
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<u16>>()
    });
    let answered = done.iter().filter(|status| **status == 200).count();
    // Above 256 requests at once, a client is told to wait.
    assert!(done.iter().all(|status| [200, 429].contains(status)), "{done:?}");
    assert!(answered >= 256, "{answered}");
    assert_eq!(log(&place).len(), answered);
    place.ctx("trace verify").ok();
    let counted = format!("ctx_mcp_calls_total{{tool=\"context_read\",outcome=\"ok\"}} {answered}");
    let metrics = server.get("/metrics").body;
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    assert!(metrics.contains("\nctx_mcp_calls_in_flight 0\n"), "{metrics}");
    assert!(!metrics.contains("nodes/fees"));
}

#[test]
fn clients_that_send_nothing_keep_no_other_client_out() {
    let place = place();
    // The limits hold even if the process may open few files.
    let line = format!("mcp --http 127.0.0.1:0 --vault {}", place.root().display());
    let run = place.typed(&line);
    let server = Server::start_behind(&run, "ulimit -n 300");
    let silent: Vec<TcpStream> = (0..600)
        .map(|n| {
            let mut stream = server.connect();
            if n % 2 == 0 {
                let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: local");
            }
            stream
        })
        .collect();
    let began = Instant::now();
    assert_eq!(server.call("", "context_init", &json!({})).status, 200);
    assert!(began.elapsed() < Duration::from_secs(5));
    drop(silent);
}

#[test]
fn a_server_that_ends_answers_the_calls_at_work() {
    let place = Place::vault();
    for n in 0..300 {
        place.write(&format!("nodes/n{n}.md"), format!("# N{n}\n\n{}\n", "word ".repeat(2_000)));
    }
    place.ctx("publish --all").ok();
    let server = Server::start(&place, "--as ana@example.com --calls 1");
    let reply = thread::scope(|scope| {
        let asked = scope.spawn(|| server.call("", "context_verify", &json!({})));
        let at_work = "\nctx_mcp_calls_in_flight 1\n";
        while !asked.is_finished() && !server.get("/metrics").body.contains(at_work) {}
        server.signal("-TERM");
        asked.join().unwrap()
    });
    assert_eq!(
        reply.json()["result"]["structuredContent"]["verdict"],
        "intact, anchored",
        "{reply:?}"
    );
    assert!(TcpStream::connect(server.address).is_err());
    assert_eq!(server.stop().0, 0);
}

#[test]
fn a_call_that_takes_too_long_is_an_error() {
    let place = Place::vault();
    for n in 0..2_000 {
        place.write(&format!("nodes/n{n}.md"), format!("# N{n}\n\n{}\n", "word ".repeat(2_000)));
    }
    place.ctx("publish --all").ok();
    let server = Server::start(&place, "--as ana@example.com --calls 1 --timeout 1");
    let results: Vec<Value> = thread::scope(|scope| {
        let asked: Vec<_> = (0..24)
            .map(|_| scope.spawn(|| server.call("", "context_verify", &json!({})).json()))
            .collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let codes: Vec<&Value> =
        results.iter().map(|result| &result["result"]["structuredContent"]["code"]).collect();
    assert!(codes.contains(&&json!("busy")), "{codes:?}");
    assert!(
        codes.iter().all(|code| [json!(null), json!("busy"), json!("timed-out")].contains(code))
    );
}

#[test]
fn answers_have_the_form_that_the_client_accepts() {
    let place = place();
    let server = Server::start(&place, "");
    for revision in REVISIONS {
        let mut session = None;
        for path in ["/mcp", "/mcp/"] {
            for (accept, kind) in [
                ("application/json", "application/json"),
                ("text/event-stream", "text/event-stream"),
                ("*/*", ""),
                ("application/*, text/*;q=0.1", ""),
            ] {
                let arguments = json!({"name": "context_read", "arguments": {"id": "nodes/fees"}});
                let mut messages = opener(revision);
                messages.push(request(revision, 1, "tools/call", arguments));
                if session.is_some() {
                    messages.drain(..messages.len() - 1);
                }
                for message in messages {
                    let method = message["method"].as_str().unwrap();
                    let mut headers = vec![("Accept", accept), ("Mcp-Protocol-Version", revision)];
                    if revision == STATELESS {
                        headers.push(("Mcp-Method", method));
                        headers.extend(message["params"]["name"].as_str().map(|n| ("Mcp-Name", n)));
                    }
                    headers.extend(session.as_deref().map(|one| ("Mcp-Session-Id", one)));
                    let reply = server.ask("POST", path, &headers, &message.to_string());
                    let about = format!("{revision} {path} {accept} {message}: {reply:?}");
                    if let Some(began) = reply.header("mcp-session-id") {
                        session = Some(began.to_owned());
                    }
                    if message.get("id").is_none() {
                        assert_eq!(reply.status, 202, "{about}");
                        continue;
                    }
                    assert_eq!(reply.status, 200, "{about}");
                    let found = reply.header("content-type").unwrap_or_default();
                    assert!(kind.is_empty() || found == kind, "{about}");
                    assert!(reply.json()["result"].is_object(), "{about}");
                }
            }
        }
    }
    let message = request(STATELESS, 1, "tools/list", json!({}));
    let reply = server.post(&[("Accept", "text/html")], &message);
    assert_eq!(reply.status, 406);
    let said = reply.json()["error"]["message"].to_string();
    assert!(said.contains("the answer is JSON or events"), "{said}");
    let marked = format!("\u{feff}{message}");
    let headers = [("Mcp-Protocol-Version", STATELESS), ("Mcp-Method", "tools/list")];
    let reply = server.ask("POST", "/mcp", &headers, &marked);
    assert!(reply.json()["result"]["tools"].is_array(), "{reply:?}");
}

#[test]
fn a_budget_that_is_a_text_has_the_same_limit() {
    let place = place();
    let server = Server::start(&place, "");
    let arguments = json!({"id": "nodes/fees", "budget": "300000"});
    let refused = server.call("", "context_read", &arguments).json();
    assert_eq!(refused["result"]["structuredContent"]["code"], "usage", "{refused}");
}
