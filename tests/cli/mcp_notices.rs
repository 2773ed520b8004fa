//! Notifications of `ctx mcp` (`spec/mcp.md`, section 9).

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::Place;
use crate::mcp::{REVISIONS, STATELESS, opener, request};

/// Longer than two checks of the log.
const QUIET: Duration = Duration::from_millis(2_600);
const PATIENCE: Duration = Duration::from_secs(30);

/// A server whose input stays open.
struct Server {
    child: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
}

impl Server {
    fn start(place: &Place, command: &str, messages: &[Value]) -> Self {
        let mut child = place.typed(command).command().spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut server = Self { child, to: Some(to), from: receiver };
        messages.iter().for_each(|message| server.send(message));
        server
    }

    fn send(&mut self, message: &Value) {
        self.to.as_mut().unwrap().write_all(format!("{message}\n").as_bytes()).unwrap();
    }

    #[track_caller]
    fn next(&self) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap()
    }

    /// Returns the answer to a request.
    #[track_caller]
    fn answer(&self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Returns the next notification.
    #[track_caller]
    fn notice(&self) -> Value {
        loop {
            let message = self.next();
            if message.get("method").is_some() {
                return message;
            }
        }
    }

    /// Returns the notifications that arrive before a quiet time.
    fn told(&self) -> Vec<Value> {
        let mut told = Vec::new();
        let mut patience = PATIENCE;
        while let Ok(message) = self.from.recv_timeout(patience) {
            told.push(message);
            patience = QUIET;
        }
        told
    }

    #[track_caller]
    fn is_quiet(&self) {
        if let Ok(message) = self.from.recv_timeout(QUIET) {
            panic!("{message}");
        }
    }

    /// Ends the input, after which the server ends by itself.
    fn ends(mut self) {
        drop(self.to.take());
        assert!(self.child.wait().unwrap().success());
    }
}

fn place() -> Place {
    let place = Place::vault();
    place.write("nodes/a.md", "# A\n");
    place.write("nodes/b.md", "# B\n");
    place.ctx("publish --all").ok();
    place
}

fn changed(place: &Place, id: &str) {
    let file = format!("{id}.md");
    place.write(&file, place.read(&file) + "More.\n");
    place.ctx(&format!("publish {id}")).ok();
}

fn methods(told: &[Value]) -> Vec<&str> {
    let mut methods: Vec<&str> =
        told.iter().map(|message| message["method"].as_str().unwrap()).collect();
    methods.sort_unstable();
    methods
}

/// Starts a server of the older lifecycle, and waits until it answered everything.
fn older(place: &Place, command: &str, uris: &[&str]) -> Server {
    let mut messages = opener("2025-11-25");
    for (uri, id) in uris.iter().zip(1..) {
        messages.push(request("2025-11-25", id, "resources/subscribe", json!({"uri": uri})));
    }
    // Calls are answered one after the other, so the log was read before the next publication.
    messages.push(request("2025-11-25", 99, "resources/list", json!({})));
    let server = Server::start(place, command, &messages);
    let answer = server.answer(0);
    let resources = json!({"listChanged": true, "subscribe": true});
    assert_eq!(answer["result"]["capabilities"]["resources"], resources);
    server.answer(99);
    server
}

#[test]
fn an_older_client_is_told_of_each_checkpoint_and_of_what_it_subscribed_to() {
    let place = place();
    let uris = ["contextnest://nodes/a", "contextnest://nodes/none", "contextnest://nodes/b@1"];
    let mut server = older(&place, "mcp", &uris);
    server.is_quiet();
    changed(&place, "nodes/b");
    let told = server.told();
    let lists = ["notifications/prompts/list_changed", "notifications/resources/list_changed"];
    assert_eq!(methods(&told), lists);
    changed(&place, "nodes/a");
    let told = server.told();
    assert_eq!(methods(&told), [lists[0], lists[1], "notifications/resources/updated"]);
    let updated = told.iter().find(|told| told["method"] == "notifications/resources/updated");
    assert_eq!(updated.unwrap()["params"], json!({"uri": "contextnest://nodes/a"}));
    let end = request("2025-11-25", 7, "resources/unsubscribe", json!({"uri": uris[0]}));
    server.send(&end);
    assert_eq!(server.answer(7)["result"], json!({}));
    // A draft does not make a checkpoint.
    place.write("nodes/a.md", place.read("nodes/a.md") + "Draft.\n");
    server.is_quiet();
    place.ctx("publish nodes/a").ok();
    assert_eq!(methods(&server.told()), lists);
    server.ends();
}

#[test]
fn a_client_that_listens_is_told_what_it_asked_for_and_ends_with_its_input() {
    let place = place();
    let listen = |id: u64, filter: Value| {
        let mut params = json!({});
        params["notifications"] = filter;
        request(STATELESS, id, "subscriptions/listen", params)
    };
    let uris = ["contextnest://nodes/a", "contextnest://nodes/none", "file:///etc/passwd"];
    let mut messages = opener(STATELESS);
    messages.push(listen(5, json!({"resourceSubscriptions": uris})));
    messages.push(listen(
        6,
        json!({"resourcesListChanged": true, "toolsListChanged": true, "promptsListChanged": false}),
    ));
    let mut server = Server::start(&place, "mcp", &messages);
    let mut acknowledged = vec![server.next(), server.next(), server.next()];
    acknowledged.retain(|message| message.get("method").is_some());
    let of =
        |told: &Value| told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    acknowledged.sort_by_key(|told| of(told).as_u64());
    assert_eq!(acknowledged.iter().map(of).collect::<Vec<_>>(), [5, 6]);
    let filters = acknowledged.iter().map(|told| told["params"]["notifications"].clone());
    assert_eq!(
        filters.collect::<Vec<_>>(),
        [json!({"resourceSubscriptions": uris[..2]}), json!({"resourcesListChanged": true})]
    );
    // The log is read before this request is answered.
    server.send(&request(STATELESS, 9, "resources/list", json!({})));
    server.answer(9);
    changed(&place, "nodes/b");
    let told = server.told();
    assert_eq!(methods(&told), ["notifications/resources/list_changed"]);
    assert_eq!(of(&told[0]), 6);
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 6}});
    server.send(&cancel);
    changed(&place, "nodes/a");
    let told = server.told();
    assert_eq!(methods(&told), ["notifications/resources/updated"]);
    assert_eq!((&told[0]["params"]["uri"], of(&told[0])), (&json!(uris[0]), json!(5)));
    server.ends();
}

#[test]
fn notices_include_a_publication_right_after_the_acknowledgement() {
    let place = place();
    place.write("nodes/a.md", place.read("nodes/a.md") + "More.\n");
    let filter = json!({"resourceSubscriptions": ["contextnest://nodes/a"]});
    let mut messages = opener(STATELESS);
    for id in 1..=40 {
        let listen = json!({"notifications": filter});
        messages.push(request(STATELESS, id, "subscriptions/listen", listen));
    }
    let server = Server::start(&place, "mcp", &messages);
    for _ in 1..=40 {
        assert_eq!(server.notice()["method"], "notifications/subscriptions/acknowledged");
    }
    place.ctx("publish nodes/a").ok();
    let told = server.told();
    assert_eq!(methods(&told), ["notifications/resources/updated"; 40]);
    server.ends();
}

#[test]
fn a_principal_is_not_told_of_what_they_may_not_read() {
    let place = Place::vault();
    place.write("nodes/open.md", "# Open\n");
    place.write("nodes/hr/pay.md", "# Pay\n");
    place.edit(".context/config.yaml", "layout:", "reads: stewards\nlayout:");
    place.ctx("publish --all").ok();
    place.write(
        "stewards.yaml",
        "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  \
         - {principal: kim@x.com, role: reviewer}\n  - {principal: ana@x.com, role: editor}\n\
         folders:\n  nodes/hr/: [{principal: kim@x.com, role: reviewer}, {principal: lee@x.com, role: editor}]\n",
    );
    place.ctx("govern on").ok();
    let uris = ["contextnest://nodes/hr/pay", "contextnest://nodes/open"];
    let of_bo = older(&place, "mcp --as bo@x.com", &uris);
    let of_kim = older(&place, "mcp --as kim@x.com", &uris);
    let publish = |id: &str, by: &str| {
        let file = format!("{id}.md");
        place.write(&file, place.read(&file) + "More.\n");
        place.ctx(&format!("submit {id} --as {by}")).ok();
        place.ctx(&format!("approve {id} --as kim@x.com")).ok();
    };
    publish("nodes/hr/pay", "lee@x.com");
    let lists = ["notifications/prompts/list_changed", "notifications/resources/list_changed"];
    let all = [lists[0], lists[1], "notifications/resources/updated"];
    assert_eq!(methods(&of_kim.told()), all);
    of_bo.is_quiet();
    publish("nodes/open", "ana@x.com");
    let told = of_bo.told();
    assert_eq!(methods(&told), all);
    assert!(!format!("{told:?}").contains("hr/pay"), "{told:?}");
    assert_eq!(methods(&of_kim.told()), all);
    of_bo.ends();
    of_kim.ends();
}

#[test]
fn subscriptions_are_bounded_and_tell_nothing() {
    let place = place();
    place.write("nodes/secret.md", "# Draft\n");
    let mut messages = opener("2025-11-25");
    let mut id = 0;
    let mut subscribe = |uri: String| {
        id += 1;
        messages.push(request("2025-11-25", id, "resources/subscribe", json!({"uri": uri})));
        id
    };
    let same = [
        subscribe("contextnest://nodes/secret".to_owned()),
        subscribe("contextnest://nodes/none".to_owned()),
        subscribe("contextnest://nodes/a".to_owned()),
        subscribe("contextnest://..".to_owned()),
    ];
    let refused = [
        subscribe("nodes/a".to_owned()),
        subscribe(format!("contextnest://{}", "a".repeat(1 << 20))),
    ];
    let last = (0..1_025).map(|n| subscribe(format!("contextnest://nodes/n-{n}"))).last().unwrap();
    let answers = crate::mcp::answers(&place, &messages);
    same.iter().for_each(|id| assert_eq!(answers[id]["result"], json!({}), "{}", answers[id]));
    refused.iter().for_each(|id| assert_eq!(answers[id]["error"]["code"], -32002));
    assert_eq!(answers[&last]["error"]["code"], -32602, "{}", answers[&last]);
    assert_eq!(crate::mcp::log(&place), Vec::<Value>::new());
}

#[test]
fn the_uris_of_a_subscription_are_bounded_in_bytes() {
    let place = place();
    let uris: Vec<String> =
        (0..128).map(|n| format!("contextnest://nodes/{n}-{}", "a".repeat(900))).collect();
    let mut messages = opener("2025-11-25");
    for (uri, id) in uris.iter().zip(1..) {
        messages.push(request("2025-11-25", id, "resources/subscribe", json!({"uri": uri})));
    }
    messages.push(request("2025-11-25", 200, "resources/subscribe", json!({"uri": uris[0]})));
    let answers = crate::mcp::answers(&place, &messages);
    let taken = (1..=128).filter(|id| answers[id]["result"] == json!({})).count();
    assert_eq!(taken, 35);
    assert_eq!(answers[&200]["result"], json!({}), "it is subscribed to already");
    let message = answers[&128]["error"]["message"].as_str().unwrap();
    assert!(message.contains("32768 bytes"), "{message}");
    let mut messages = opener(STATELESS);
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    messages.push(request(STATELESS, 5, "subscriptions/listen", filter));
    let server = Server::start(&place, "mcp", &messages);
    let told = server.notice();
    let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!(uris[..35]));
    server.ends();
}

#[test]
fn a_reviewer_is_told_that_the_tools_of_a_governed_vault_are_listed() {
    let place = place();
    place.write("stewards.yaml", "version: 1\nvault:\n  - {principal: bo@x.com, role: reviewer}\n  - {principal: kim@x.com, role: reviewer}\n");
    let reader = older(&place, "mcp", &[]);
    let reviewer = Server::start(&place, "mcp --profile reviewer", &opener("2025-11-25"));
    let tools = json!({"listChanged": true});
    assert_eq!(reviewer.answer(0)["result"]["capabilities"]["tools"], tools);
    let listen = json!({"notifications": {"toolsListChanged": true}});
    let mut messages = opener(STATELESS);
    messages.push(request(STATELESS, 5, "subscriptions/listen", listen));
    let listener = Server::start(&place, "mcp --profile reviewer", &messages);
    assert_eq!(listener.notice()["params"]["notifications"], json!({"toolsListChanged": true}));
    reviewer.is_quiet();
    place.ctx("govern on --as bo@x.com").ok();
    let lists = ["notifications/prompts/list_changed", "notifications/resources/list_changed"];
    let tools = "notifications/tools/list_changed";
    assert_eq!(methods(&reviewer.told()), [lists[0], lists[1], tools]);
    assert_eq!(methods(&listener.told()), [tools]);
    assert_eq!(methods(&reader.told()), lists);
    [reader, reviewer, listener].into_iter().for_each(Server::ends);
}

/// Returns a call of a verification that asks for progress.
fn verifying(revision: &str, id: u64) -> Value {
    let params = json!({"name": "context_verify", "arguments": {},
                        "_meta": {"progressToken": format!("t-{id}")}});
    request(revision, id, "tools/call", params)
}

#[test]
fn a_client_is_told_how_far_a_call_is_and_a_cancelled_one_ends_without_an_answer() {
    let place = Place::vault();
    for n in 0..1_000 {
        place.write(&format!("nodes/n-{n}.md"), format!("# Part {n}\n\nText.\n"));
    }
    place.ctx("publish --all").ok();
    for revision in REVISIONS {
        let mut messages = opener(revision);
        messages.push(verifying(revision, 1));
        let mut server = Server::start(&place, "mcp", &messages);
        server.answer(0);
        let mut told = Vec::new();
        loop {
            let message = server.next();
            if message["id"] == 1 {
                assert_eq!(message["result"]["isError"], false, "{message}");
                break;
            }
            told.push(message);
        }
        assert!(!told.is_empty());
        let mut last = 0.0;
        for message in told {
            assert_eq!(message["method"], "notifications/progress", "{message}");
            let params = &message["params"];
            let (steps, total) = (params["progress"].as_f64(), params["total"].as_f64());
            assert_eq!(params["progressToken"], "t-1");
            assert!(steps > Some(last) && steps <= total, "{params}");
            assert!(params["message"].as_str().unwrap().starts_with("checked "), "{params}");
            last = steps.unwrap();
        }
        server.send(&verifying(revision, 2));
        assert_eq!(server.next()["params"]["progressToken"], "t-2");
        let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": 2}});
        server.send(&cancel);
        let read = json!({"name": "context_read", "arguments": {"id": "nodes/n-7"}});
        server.send(&request(revision, 3, "tools/call", read));
        let answer = loop {
            let message = server.next();
            assert_ne!(message["id"], 2, "{message}");
            if message["id"] == 3 {
                break message;
            }
        };
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        server.ends();
    }
}
