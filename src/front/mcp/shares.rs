//! Permits that many clients share. One principal has at most half of them (MCP-13).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A pool of permits.
pub(super) struct Shares {
    all: Arc<Semaphore>,
    /// Maximum number of one principal.
    most: usize,
    /// The permits of each principal so far. The file of tokens limits their number.
    own: Mutex<HashMap<String, Arc<Semaphore>>>,
}

/// A permit, until it is dropped.
pub(super) struct Held {
    _own: Option<OwnedSemaphorePermit>,
    _one: OwnedSemaphorePermit,
}

impl Shares {
    /// Returns a pool of this size.
    pub(super) fn of(places: usize) -> Self {
        let all = Arc::new(Semaphore::new(places));
        Self { all, most: (places / 2).max(1), own: Mutex::default() }
    }

    /// Waits for a permit: first for one of the principal's share, then for a free one. The user of
    /// a server without tokens has all.
    pub(super) async fn take(&self, principal: Option<&str>) -> Held {
        let own = match principal {
            Some(principal) => Some(acquired(self.share(principal)).await),
            None => None,
        };
        Held { _own: own, _one: acquired(Arc::clone(&self.all)).await }
    }

    fn share(&self, principal: &str) -> Arc<Semaphore> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        match own.get(principal) {
            Some(share) => Arc::clone(share),
            None => {
                let share = Arc::new(Semaphore::new(self.most));
                Arc::clone(own.entry(principal.to_owned()).or_insert(share))
            }
        }
    }
}

async fn acquired(places: Arc<Semaphore>) -> OwnedSemaphorePermit {
    // The semaphores are never closed, so this cannot fail.
    places.acquire_owned().await.expect("the semaphore is never closed")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[test]
    fn one_principal_leaves_half_of_the_places_to_others() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let shares = Shares::of(4);
            let soon = |principal| timeout(Duration::from_millis(20), shares.take(principal));
            let (_a, _b) = (shares.take(Some("eve")).await, shares.take(Some("eve")).await);
            assert!(soon(Some("eve")).await.is_err());
            let ana = soon(Some("ana")).await;
            let _user = soon(None).await.unwrap_or_else(|_| panic!("no place is left"));
            assert!(ana.is_ok());
            assert!(soon(Some("bo")).await.is_err());
            drop(ana);
            assert!(soon(Some("bo")).await.is_ok());
            // A server with one permit serves everyone.
            assert!(
                timeout(Duration::from_millis(20), Shares::of(1).take(Some("a"))).await.is_ok()
            );
        });
    }
}
