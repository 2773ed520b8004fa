//! Checks the `Host` and the `Origin` of a request (MCP-10). A page of any site can make a
//! browser send requests to a server on the same machine, under a name that the site controls
//! (DNS rebinding).

use std::net::{IpAddr, SocketAddr};

use hyper::http::request::Parts;
use hyper::http::{HeaderMap, HeaderName, header};

use crate::service::report::failure::{Code, Failure};

/// The names of the machine itself.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The allowed hosts and origins.
#[derive(Debug)]
pub(crate) struct Guard {
    hosts: Vec<Host>,
    origins: Vec<String>,
}

/// A host of a `Host` header; without a port, any port matches.
#[derive(Debug, PartialEq, Eq)]
struct Host {
    name: String,
    port: Option<u16>,
}

/// The reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// `Host` is missing, repeated or invalid.
    NoHost,
    /// The request names another host.
    Host,
    /// A page of another site made the request.
    Origin,
    /// A proxy forwarded the request.
    Proxied,
}

impl Guard {
    /// Returns the guard of a server at an address, with hosts and origins that its user allows.
    ///
    /// # Errors
    /// A name is not a valid host or origin.
    pub(crate) fn new(
        address: SocketAddr,
        hosts: &[String],
        origins: &[String],
    ) -> Result<Self, Failure> {
        let mut allowed: Vec<Host> = LOCAL.iter().filter_map(|name| Host::of(name)).collect();
        let own = (!address.ip().is_unspecified()).then(|| match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        });
        allowed.extend(own.map(|name| Host { name, port: None }));
        for name in hosts {
            let host = Host::of(name).ok_or_else(|| {
                let message = format!("`--allow-host` expects a host, but found `{name}`");
                Failure::new(Code::Usage, message).hint("pass a name such as `vault.example.com`")
            })?;
            allowed.push(host);
        }
        for origin in origins {
            if !is_origin(origin) {
                let message = format!("`--allow-origin` expects an origin, but found `{origin}`");
                return Err(Failure::new(Code::Usage, message)
                    .hint("pass a scheme and a host such as `https://app.example.com`"));
            }
        }
        let origins = origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Ok(Self { hosts: allowed, origins })
    }

    /// Checks that a request names this server as its host.
    pub(crate) fn check_host(&self, parts: &Parts) -> Result<(), Unfit> {
        let named = only(&parts.headers, &header::HOST).ok_or(Unfit::NoHost)?;
        // The absolute form of a request line contains the host, too, and takes precedence.
        let absolute = parts.uri.authority().map(hyper::http::uri::Authority::as_str);
        for name in std::iter::once(named).chain(absolute) {
            let host = Host::of(name).ok_or(Unfit::NoHost)?;
            let fits = |allowed: &Host| {
                allowed.name == host.name && (allowed.port.is_none() || allowed.port == host.port)
            };
            if !self.hosts.iter().any(fits) {
                return Err(Unfit::Host);
            }
        }
        Ok(())
    }

    /// Returns the origin of a request that a page made; `None` if no page made it.
    ///
    /// # Errors
    /// The origin is not allowed.
    pub(crate) fn origin(&self, headers: &HeaderMap) -> Result<Option<String>, Unfit> {
        if !headers.contains_key(header::ORIGIN) {
            return Ok(None);
        }
        let origin = only(headers, &header::ORIGIN).ok_or(Unfit::Origin)?.to_ascii_lowercase();
        let is_allowed = self.origins.contains(&origin);
        is_allowed.then_some(Some(origin)).ok_or(Unfit::Origin)
    }
}

/// Refuses forwarded requests, for a server that treats every client as its own user.
pub(crate) fn check_direct(headers: &HeaderMap) -> Result<(), Unfit> {
    let marks = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    match marks.iter().any(|mark| headers.contains_key(*mark)) {
        true => Err(Unfit::Proxied),
        false => Ok(()),
    }
}

/// Returns the value of a header that occurs once, in printable ASCII.
pub(crate) fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    values.next().is_none().then(|| first.to_str().ok())?
}

impl Host {
    fn of(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let end = match text.strip_prefix('[') {
            Some(rest) => rest.find(']')? + 2,
            None => text.find(':').unwrap_or(text.len()),
        };
        let (name, rest) = text.split_at(end);
        let port = match rest.strip_prefix(':') {
            Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => {
                Some(port.parse().ok()?)
            }
            None if rest.is_empty() => None,
            _ => return None,
        };
        let inner = name.trim_start_matches('[').trim_end_matches(']');
        let is_sound = |c: char| c.is_ascii_alphanumeric() || "-._:%".contains(c);
        // `localhost.` is the same host, but no client sends it by itself.
        (!inner.is_empty() && inner.chars().all(is_sound))
            .then(|| Self { name: name.to_owned(), port })
    }
}

/// Returns true if a text is an origin as browsers write it: a scheme, a host, and a port that is
/// not the default one.
fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    !scheme.is_empty()
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && Host::of(host).is_some()
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    fn guard() -> Guard {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let address = "192.168.1.5:80".parse().unwrap();
        let hosts = names(&["vault.example.com", "inner:8443"]);
        Guard::new(address, &hosts, &names(&["https://app.example.com", "http://localhost:3000"]))
            .unwrap()
    }

    fn asked(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(Request::builder().uri(uri), |request, (name, value)| {
            request.header(*name, *value)
        });
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn a_host_that_is_not_named_is_refused() {
        for host in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8080",
            "[::1]:1",
            "192.168.1.5",
            "inner:8443",
            "vault.example.com:443",
        ] {
            assert_eq!(guard().check_host(&asked("/mcp", &[("host", host)])), Ok(()), "{host}");
        }
        for host in [
            "evil.example.com",
            "localhost.evil.example.com",
            "127.0.0.1.nip.io",
            "192.168.1.6",
            "inner",
            "inner:80",
            "127.0.0.2",
            "0.0.0.0",
            "localhost.",
        ] {
            let found = guard().check_host(&asked("/mcp", &[("host", host)]));
            assert_eq!(found, Err(Unfit::Host), "{host}");
        }
        for host in [
            "",
            "localhost:",
            "localhost:x",
            "localhost:80:80",
            "localhost@evil.example.com",
            "[::1",
            "localhost:99999",
            "localhost, evil.example.com",
            "local host",
            "[]",
        ] {
            let found = guard().check_host(&asked("/mcp", &[("host", host)]));
            assert!(found.is_err(), "{host}");
        }
        let none = asked("/mcp", &[]);
        assert_eq!(guard().check_host(&none), Err(Unfit::NoHost));
        let two = asked("/mcp", &[("host", "localhost"), ("host", "evil.example.com")]);
        assert_eq!(guard().check_host(&two), Err(Unfit::NoHost));
        let absolute = asked("http://evil.example.com/mcp", &[("host", "localhost")]);
        assert_eq!(guard().check_host(&absolute), Err(Unfit::Host));
    }

    #[test]
    fn an_origin_that_is_not_named_is_refused() {
        let origin = |values: &[&str]| {
            let headers: Vec<(&str, &str)> =
                values.iter().map(|value| ("origin", *value)).collect();
            guard().origin(&asked("/", &headers).headers)
        };
        assert_eq!(origin(&[]), Ok(None));
        assert_eq!(
            origin(&["https://app.example.com"]).unwrap().unwrap(),
            "https://app.example.com"
        );
        for wrong in [
            "null",
            "",
            "https://app.example.com.evil.com",
            "http://app.example.com",
            "https://app.example.com:444",
            "http://localhost",
            "http://127.0.0.1:3000",
        ] {
            assert_eq!(origin(&[wrong]), Err(Unfit::Origin), "{wrong}");
        }
        let twice = ["https://app.example.com", "https://app.example.com"];
        assert_eq!(origin(&twice), Err(Unfit::Origin));
    }

    #[test]
    fn guard_refuses_invalid_hosts_and_origins() {
        let address = "127.0.0.1:80".parse().unwrap();
        let new = |host: &str, origin: &str| {
            Guard::new(address, &[host.to_owned()], &[origin.to_owned()]).map_err(|why| why.code)
        };
        assert!(new("a.example", "https://a.example").is_ok());
        for (host, origin) in [
            ("*", "https://a"),
            ("http://a", "https://a"),
            ("a", "*"),
            ("a", "a.example"),
            ("a", "https://a/b"),
        ] {
            assert_eq!(new(host, origin).unwrap_err(), Code::Usage, "{host} {origin}");
        }
    }
}
