//! Notifications that what is published changed (MCP-30), to clients that asked for them, and only of
//! what their principal may read.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext, SubscriptionSink};
use serde_json::json;
use tokio::time::sleep;

use super::calls::{Asker, Shared};
use super::requests::said;
use super::resources::not_there;
use super::tools::places;
use super::vaults::Vaults;
use crate::model::digest::Digest;
use crate::model::principal::Principal;
use crate::report::failure::{Code, Failure};
use crate::uri::MAX_URI_BYTES;
use crate::workspace::call::sight;

/// The most resources of one subscription.
const MOST: usize = 128;
/// How often it is looked whether a client is gone, while nothing changes.
const IDLE: Duration = Duration::from_secs(30);

/// The resources that a client subscribed to, each with the hash of what was published when it was
/// last looked at.
type Subscribed = Mutex<BTreeMap<String, Option<Digest>>>;

/// What a connection of the older lifecycle asked for.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Who began it.
    pub(super) principal: OnceLock<Option<Principal>>,
    subscribed: Arc<Subscribed>,
    is_begun: AtomicBool,
}

impl Session {
    /// Whether it begins with this message of the client.
    pub(super) fn begins(&self) -> bool {
        !self.is_begun.swap(true, Ordering::Relaxed)
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&self, uri: &str) {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }
}

/// The hash of the list of a vault for a principal, and at which change it was taken.
#[derive(Debug, Default)]
pub(super) struct Lists {
    known: Mutex<HashMap<ListKey, (u64, Digest)>>,
}

/// The name of a vault, and a principal.
type ListKey = (Option<String>, Option<String>);

/// What a client has to be told of.
struct Changed {
    lists: bool,
    resources: Vec<String>,
}

/// Where notifications go.
enum Channel {
    /// Everything, to a client of the older lifecycle.
    Peer(Peer<RoleServer>),
    /// What was accepted, to a request that waits for it.
    Sink(SubscriptionSink),
}

impl Channel {
    fn is_closed(&self) -> bool {
        matches!(self, Self::Peer(peer) if peer.is_transport_closed())
    }

    /// Tells the client; whether it is there still.
    async fn tell(&self, changed: Changed) -> bool {
        match self {
            Self::Peer(peer) => {
                if changed.lists
                    && (peer.notify_resource_list_changed().await.is_err()
                        || peer.notify_prompt_list_changed().await.is_err())
                {
                    return false;
                }
                for uri in changed.resources {
                    let about = ResourceUpdatedNotificationParam::new(uri);
                    if peer.notify_resource_updated(about).await.is_err() {
                        return false;
                    }
                }
            }
            Self::Sink(sink) => {
                let accepted = sink.accepted();
                let (resources, prompts) =
                    (accepted.resources_list_changed, accepted.prompts_list_changed);
                if changed.lists
                    && (resources == Some(true)
                        && sink.notify_resource_list_changed().await.is_err()
                        || prompts == Some(true)
                            && sink.notify_prompt_list_changed().await.is_err())
                {
                    return false;
                }
                for uri in changed.resources {
                    if sink.notify_resource_updated(uri).await.is_err() {
                        return false;
                    }
                }
            }
        }
        true
    }
}

impl Shared {
    /// Tells a client of the older lifecycle of changes, until it is gone.
    pub(super) async fn follow(self: Arc<Self>, session: Arc<Session>, peer: Peer<RoleServer>) {
        let principal = session.principal.get().cloned().flatten();
        let subscribed = Arc::clone(&session.subscribed);
        self.tell(Asker::of(principal), subscribed, &Channel::Peer(peer)).await;
    }

    /// Tells a client what it listens to, until it listens no more.
    pub(super) async fn listened(
        self: Arc<Self>,
        principal: Option<Principal>,
        context: &SubscriptionContext,
    ) {
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let asker = Asker::of(principal);
        let subscribed = Subscribed::new(uris.into_iter().map(|uri| (uri, None)).collect());
        let channel = Channel::Sink(context.sink().clone());
        tokio::select! {
            () = context.cancelled() => {}
            () = self.tell(asker, Arc::new(subscribed), &channel) => {}
        }
    }

    /// Which notifications a client may ask for.
    pub(super) fn accepted(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.retain(|uri| uri.len() <= MAX_URI_BYTES && self.inner(uri).is_some());
            uris.truncate(MOST);
        }
        accepted
    }

    /// Subscribes a client of the older lifecycle to a resource. Whether there is one is not told.
    ///
    /// # Errors
    /// It is no URI, or there are too many.
    pub(super) fn subscribe(
        &self,
        asker: &Asker,
        session: &Session,
        uri: &str,
    ) -> Result<(), Failure> {
        self.inner(uri).filter(|_| uri.len() <= MAX_URI_BYTES).ok_or_else(not_there)?;
        let mut hashes = BTreeMap::from([(uri.to_owned(), None)]);
        self.look(asker, &mut BTreeMap::new(), &mut hashes);
        let mut subscribed = session.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        if subscribed.len() >= MOST && !subscribed.contains_key(uri) {
            let message = format!("a session subscribes to at most {MOST} resources");
            let failure = Failure::new(Code::Usage, message);
            return Err(failure.hint("unsubscribe from some, or watch the list"));
        }
        subscribed.extend(hashes);
        Ok(())
    }

    async fn tell(self: &Arc<Self>, asker: Asker, subscribed: Arc<Subscribed>, channel: &Channel) {
        let mut changes = self.watch.changes();
        let asker = Arc::new(asker);
        let lists = Arc::new(Mutex::new(BTreeMap::new()));
        // What is published now is no change.
        let begin = self.looked(&asker, &lists, &subscribed).await;
        if begin.is_none() {
            return;
        }
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let Some(changed) = self.looked(&asker, &lists, &subscribed).await else { return };
                    if !channel.tell(changed).await {
                        return;
                    }
                }
                () = sleep(IDLE) => {
                    if channel.is_closed() {
                        return;
                    }
                }
            }
        }
    }

    /// What changed since it was last looked.
    async fn looked(
        self: &Arc<Self>,
        asker: &Arc<Asker>,
        lists: &Arc<Mutex<BTreeMap<Option<String>, Digest>>>,
        subscribed: &Arc<Subscribed>,
    ) -> Option<Changed> {
        let (shared, asker) = (Arc::clone(self), Arc::clone(asker));
        let (lists, subscribed) = (Arc::clone(lists), Arc::clone(subscribed));
        let look = move || {
            let mut lists = lists.lock().unwrap_or_else(PoisonError::into_inner);
            let mut now = subscribed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut changed = shared.look(&asker, &mut lists, &mut now);
            let mut subscribed = subscribed.lock().unwrap_or_else(PoisonError::into_inner);
            // What was unsubscribed meanwhile is not told.
            changed.resources.retain(|uri| subscribed.contains_key(uri));
            for (uri, hash) in now {
                if let Some(known) = subscribed.get_mut(&uri) {
                    *known = hash;
                }
            }
            changed
        };
        tokio::task::spawn_blocking(look).await.ok()
    }

    /// Brings the hashes of lists and resources up to date; gives what changed. What cannot be read
    /// now has not changed.
    fn look(
        &self,
        asker: &Asker,
        lists: &mut BTreeMap<Option<String>, Digest>,
        resources: &mut BTreeMap<String, Option<Digest>>,
    ) -> Changed {
        let mut changed = Changed { lists: false, resources: Vec::new() };
        let count = self.watch.count();
        let principal = asker.principal.as_ref().map(|one| one.key().as_str().to_owned());
        for place in self.vaults.places() {
            let inner = |uri: &String| Some((uri.clone(), self.inner(uri)?));
            let inner = resources.keys().filter_map(inner);
            let here: Vec<(String, String)> = inner
                .filter(|(_, (of, _))| *of == place)
                .map(|(uri, (_, text))| (uri, text))
                .collect();
            let key = (place.map(str::to_owned), principal.clone());
            let known = self.lists.at(&key, count).filter(|_| here.is_empty());
            let seen = known.map(|list| (list, Vec::new())).or_else(|| {
                let texts: Vec<&str> = here.iter().map(|(_, text)| text.as_str()).collect();
                let seen = self.sight(asker, place, &texts).ok()?;
                self.lists.keep(key.clone(), (count, seen.0));
                Some(seen)
            });
            let Some((list, hashes)) = seen else { continue };
            let before = lists.insert(key.0, list);
            changed.lists |= before.is_some_and(|before| before != list);
            for ((uri, _), hash) in here.into_iter().zip(hashes) {
                let before = resources.insert(uri.clone(), hash);
                if before.flatten() != hash {
                    changed.resources.push(uri);
                }
            }
        }
        changed
    }

    /// The hash of what a principal may read in a vault, and those of some resources. Nothing of it
    /// is handed out.
    fn sight(
        &self,
        asker: &Asker,
        place: Option<&str>,
        uris: &[&str],
    ) -> Result<(Digest, Vec<Option<Digest>>), Failure> {
        let said = said("list", "notifications", json!({}));
        self.on_behalf((asker, said), Vaults::arguments(place), |call, _| {
            let (vault, source) = places(call, sight::NEED)?;
            call.sight((&vault, &source), uris)
        })
    }
}

impl Lists {
    fn at(&self, key: &ListKey, count: u64) -> Option<Digest> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|(at, _)| *at == count).map(|(_, list)| *list)
    }

    fn keep(&self, key: ListKey, list: (u64, Digest)) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Those of principals who are gone are of an earlier change.
        if known.len() >= MOST {
            known.retain(|_, (at, _)| *at == list.0);
        }
        known.insert(key, list);
    }
}
