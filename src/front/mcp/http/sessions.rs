//! The sessions of clients of revisions before 2026-07-28: each belongs to the principal that began
//! it, and their number is limited (MCP-12).

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rmcp::model::RequestId;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

/// Maximum number of sessions of a server.
const MOST: usize = 1_024;
/// Maximum number of sessions of a principal.
const MOST_OF_ONE: usize = 256;
/// Time for which an answer is kept for a client that lost its connection.
const KEPT: Duration = Duration::from_secs(5);

/// The sessions and their principals.
#[derive(Debug)]
pub(super) struct Sessions {
    manager: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Debug)]
struct Known {
    principal: String,
    used: Instant,
    /// The requests without an answer so far.
    asked: HashSet<RequestId>,
}

/// A request of a session without an answer so far, until it is dropped.
#[derive(Debug)]
pub(super) struct Asked {
    sessions: Arc<Sessions>,
    session: String,
    id: RequestId,
}

impl Sessions {
    pub(super) fn new() -> Arc<Self> {
        let mut manager = LocalSessionManager::default();
        manager.session_config.completed_cache_ttl = KEPT;
        Arc::new(Self { manager: Arc::new(manager), known: Mutex::default() })
    }

    /// Returns the store of the sessions.
    pub(super) fn manager(&self) -> Arc<LocalSessionManager> {
        Arc::clone(&self.manager)
    }

    /// Returns the number of sessions.
    pub(super) async fn count(&self) -> usize {
        self.manager.sessions.read().await.len()
    }

    /// Returns true if a session belongs to a principal.
    pub(super) fn is_of(&self, session: &str, principal: &str) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get_mut(session) {
            Some(known) if known.principal == principal => {
                known.used = Instant::now();
                true
            }
            _ => false,
        }
    }

    /// Makes room for another session of a principal: those that were unused for the longest
    /// time end.
    pub(super) async fn make_room(&self, principal: &str) {
        let alive: HashSet<String> =
            self.manager.sessions.read().await.keys().map(ToString::to_string).collect();
        for session in self.superfluous(principal, &alive) {
            let _ = self.manager.close_session(&session.into()).await;
        }
    }

    fn superfluous(&self, principal: &str, alive: &HashSet<String>) -> Vec<String> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|session, _| alive.contains(session));
        let mut ending = Vec::new();
        for (most, of) in [(MOST_OF_ONE, Some(principal)), (MOST, None)] {
            let is_of = |known: &Known| of.is_none_or(|principal| known.principal == principal);
            let mut found: Vec<(Instant, &String)> = known
                .iter()
                .filter(|(_, known)| is_of(known))
                .map(|(session, known)| (known.used, session))
                .collect();
            found.sort_unstable();
            let over = (found.len() + 1).saturating_sub(most);
            let over: Vec<String> =
                found.into_iter().take(over).map(|(_, session)| session.clone()).collect();
            over.iter().for_each(|session| _ = known.remove(session));
            ending.extend(over);
        }
        ending
    }

    /// Records that a principal began a session.
    pub(super) fn began(&self, session: &str, principal: &str) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (principal, used) = (principal.to_owned(), Instant::now());
        known.insert(session.to_owned(), Known { principal, used, asked: HashSet::new() });
    }

    /// Begins a request of a session; `None` if one with the same id is still running.
    pub(super) fn asks(self: &Arc<Self>, session: &str, id: &RequestId) -> Option<Asked> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = known.get_mut(session)?.asked.insert(id.clone());
        let (sessions, session) = (Arc::clone(self), session.to_owned());
        is_new.then(|| Asked { sessions, session, id: id.clone() })
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut known = self.sessions.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known.get_mut(&self.session) {
            known.asked.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_that_of_who_began_it() {
        let sessions = Sessions::new();
        sessions.began("s", "ana");
        assert!(sessions.is_of("s", "ana"));
        assert!(!sessions.is_of("s", "bo") && !sessions.is_of("t", "ana"));
        let first = sessions.asks("s", &RequestId::Number(1)).unwrap();
        assert!(sessions.asks("s", &RequestId::Number(1)).is_none());
        drop(first);
        assert!(sessions.asks("s", &RequestId::Number(1)).is_some());
    }

    #[test]
    fn a_principal_ends_its_own_sessions_before_those_of_others() {
        let sessions = Sessions::new();
        sessions.began("of bo", "bo");
        let mut alive: HashSet<String> = ["of bo".to_owned()].into();
        for n in 0..MOST_OF_ONE {
            sessions.began(&format!("{n:03}"), "ana");
            alive.insert(format!("{n:03}"));
        }
        assert_eq!(sessions.superfluous("ana", &alive), ["000"]);
        assert_eq!(sessions.superfluous("bo", &alive), Vec::<String>::new());
        // Sessions that ended by themselves are forgotten.
        alive.clear();
        assert_eq!(sessions.superfluous("ana", &alive), Vec::<String>::new());
        assert!(!sessions.is_of("of bo", "bo"));
    }
}
