//! Limits of one token: requests in a minute, and at the same time (MCP-13).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of requests of one token at the same time, including streams.
const MOST_OPEN: usize = 256;

/// The recent requests of each token.
#[derive(Debug)]
pub(crate) struct Owners {
    /// Maximum number of requests in a minute; `None` without tokens.
    rate: Option<u32>,
    known: Mutex<HashMap<String, Owner>>,
}

#[derive(Debug)]
struct Owner {
    /// Number of requests that are allowed at once, as of `at`.
    left: f64,
    at: Instant,
    open: usize,
}

/// The reason to refuse a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exceeded {
    /// Too many requests in a minute: the next one is allowed after this time.
    Rate(Duration),
    /// Too many requests at the same time.
    Open,
}

/// One running request, until it is dropped.
#[derive(Debug)]
pub(crate) struct Open {
    owners: Arc<Owners>,
    name: String,
}

impl Owners {
    pub(crate) fn new(rate: Option<u32>) -> Arc<Self> {
        Arc::new(Self { rate, known: Mutex::default() })
    }

    /// Begins a request of a token with this id.
    ///
    /// # Errors
    /// The token made too many requests.
    pub(crate) fn enter(self: &Arc<Self>, name: &str, now: Instant) -> Result<Open, Exceeded> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let full = self.rate.map_or(f64::INFINITY, f64::from);
        let owner = known.entry(name.to_owned());
        let owner = owner.or_insert_with(|| Owner { left: full, at: now, open: 0 });
        if owner.open >= MOST_OPEN {
            return Err(Exceeded::Open);
        }
        let passed = now.saturating_duration_since(owner.at).as_secs_f64();
        (owner.left, owner.at) = ((owner.left + passed * full / 60.0).min(full), now);
        if owner.left < 1.0 {
            let wait = (1.0 - owner.left) * 60.0 / full;
            return Err(Exceeded::Rate(Duration::from_secs_f64(wait)));
        }
        owner.left -= 1.0;
        owner.open += 1;
        Ok(Open { owners: Arc::clone(self), name: name.to_owned() })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut known = self.owners.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = known.get_mut(&self.name) {
            owner.open = owner.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_makes_so_many_requests_in_a_minute() {
        let owners = Owners::new(Some(60));
        let now = Instant::now();
        for _ in 0..60 {
            owners.enter("a", now).unwrap();
        }
        let Err(Exceeded::Rate(wait)) = owners.enter("a", now) else { panic!() };
        assert!(wait > Duration::from_millis(900) && wait <= Duration::from_secs(1), "{wait:?}");
        assert!(owners.enter("b", now).is_ok());
        assert!(owners.enter("a", now + Duration::from_secs(1)).is_ok());
        assert!(owners.enter("a", now + Duration::from_secs(1)).is_err());
    }

    #[test]
    fn a_token_has_so_many_requests_at_the_same_time() {
        let owners = Owners::new(None);
        let now = Instant::now();
        let mut open: Vec<Open> = (0..MOST_OPEN).map(|_| owners.enter("", now).unwrap()).collect();
        assert_eq!(owners.enter("", now).unwrap_err(), Exceeded::Open);
        open.pop();
        assert!(owners.enter("", now).is_ok());
    }
}
