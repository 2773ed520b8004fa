//! The connections of a server: up to a limit, above which the one that was silent for the longest
//! time makes room for a new one. Clients that send nothing, or the head of a request byte by byte,
//! therefore block no other client (MCP-13).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The connections, and their maximum number.
#[derive(Debug)]
pub(crate) struct Connections {
    slots: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    known: HashMap<u64, Known>,
}

#[derive(Debug)]
struct Known {
    /// Time since which no request runs; `None` while one runs.
    silent: Option<Instant>,
    leaves: Arc<Notify>,
}

/// One connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    connections: Arc<Connections>,
    number: u64,
    leaves: Arc<Notify>,
    _slot: OwnedSemaphorePermit,
}

/// A running request of a connection, until it is dropped.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Connection>);

impl Connections {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { slots: Arc::new(Semaphore::new(most)), open: Mutex::default() })
    }

    /// Waits until another connection is allowed, and returns it.
    pub(crate) async fn one(self: &Arc<Self>) -> Arc<Connection> {
        if self.slots.available_permits() == 0 {
            self.end_silent();
        }
        // The semaphore is never closed, so this cannot fail.
        let slots = Arc::clone(&self.slots);
        let slot = slots.acquire_owned().await.expect("the semaphore is never closed");
        let leaves = Arc::new(Notify::new());
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.next += 1;
        let number = open.next;
        let known = Known { silent: Some(Instant::now()), leaves: Arc::clone(&leaves) };
        open.known.insert(number, known);
        let connections = Arc::clone(self);
        Arc::new(Connection { connections, number, leaves, _slot: slot })
    }

    /// Ends the connection that was silent for the longest time; none if each has a
    /// running request.
    fn end_silent(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let silent = open.known.values().filter_map(|known| Some((known.silent?, &known.leaves)));
        if let Some((_, leaves)) = silent.min_by_key(|(since, _)| *since) {
            leaves.notify_one();
        }
    }
}

impl Connection {
    /// Completes when the connection must end.
    pub(crate) async fn leaves(&self) {
        self.leaves.notified().await;
    }

    /// Marks a request of the connection as running.
    pub(crate) fn busy(self: &Arc<Self>) -> Busy {
        self.set(None);
        Busy(Arc::clone(self))
    }

    fn set(&self, silent: Option<Instant>) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.known.get_mut(&self.number) {
            known.silent = silent;
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set(Some(Instant::now()));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.known.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_longest_silent_connection_makes_room() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let connections = Connections::new(3);
            let busy = connections.one().await;
            let at_work = busy.busy();
            let silent = connections.one().await;
            let later = connections.one().await;
            let ended = tokio::spawn(async move { silent.leaves().await });
            let fourth = connections.one().await;
            ended.await.unwrap();
            // The others do not end.
            let wait = Duration::from_millis(20);
            assert!(tokio::time::timeout(wait, busy.leaves()).await.is_err());
            assert!(tokio::time::timeout(wait, later.leaves()).await.is_err());
            drop((at_work, fourth));
        });
    }
}
