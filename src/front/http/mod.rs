//! What every server over HTTP needs: its connections and their limits, whether a request is meant for
//! it, and for whom a token stands.
//!
//! `connections` are those of all clients, `guard` checks the host and the origin of a request,
//! `quotas` how much one token may ask for, `reply` is the body of an answer, and `patient` a stream
//! that ends if the other side does not read. `tokens` are the bearer tokens of a server.

pub(crate) mod connections;
pub(crate) mod guard;
pub(crate) mod patient;
pub(crate) mod quotas;
pub(crate) mod reply;
pub(crate) mod tokens;
