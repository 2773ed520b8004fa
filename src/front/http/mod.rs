//! Shared parts of servers over HTTP: connections and their limits, checks of requests, and
//! bearer tokens.
//!
//! `connections` are those of all clients, `guard` checks the host and the origin of a request,
//! `quotas` limits the requests of one token, `reply` is the body of an answer, and `patient` a
//! stream that ends if the other side does not read. `tokens` are the bearer tokens of a server.

pub(crate) mod connections;
pub(crate) mod guard;
pub(crate) mod patient;
pub(crate) mod quotas;
pub(crate) mod reply;
pub(crate) mod tokens;
