//! Notifications of changes of published texts (MCP-30), to clients that asked for them, and only
//! about texts that their principal may read.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use serde_json::json;
use tokio::time::sleep;

use super::calls::{Asker, Shared};
use super::channel::{Changed, Channel, Wanted};
use super::requests::said;
use super::resources::not_there;
use super::tools::places;
use super::vaults::Vaults;
use crate::read::snapshot::{CheckpointSource, Snapshot};
use crate::service::report::failure::{Code, Failure};
use crate::service::workspace::call::sight;
use crate::text::uri::MAX_URI_BYTES;
use crate::values::model::digest::Digest;
use crate::values::model::number::CheckpointNumber;
use crate::values::model::principal::{Principal, PrincipalKey};
use crate::values::model::verb::Verb;

/// Maximum number of resources of one subscription, and maximum size of their URIs together.
const MOST: usize = 128;
const MOST_BYTES: usize = 32 << 10;
/// Maximum number of acknowledged requests that do not wait yet.
const MOST_ACCEPTED: usize = 1_024;
/// Interval of checks that a client is still connected, while nothing changes.
const IDLE: Duration = Duration::from_secs(30);

/// The resources that a client subscribed to, each with the hash of its published text at the
/// last check.
type Subscribed = Mutex<BTreeMap<String, Option<Digest>>>;

/// The subscriptions of a connection of the older lifecycle.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The principal who began it.
    pub(super) principal: OnceLock<Option<Principal>>,
    subscribed: Arc<Subscribed>,
    is_begun: AtomicBool,
}

impl Session {
    /// Returns true if it begins with this message of the client.
    pub(super) fn begins(&self) -> bool {
        !self.is_begun.swap(true, Ordering::Relaxed)
    }

    /// Ends a subscription.
    pub(super) fn unsubscribe(&self, uri: &str) {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).remove(uri);
    }
}

/// Checks the published texts, for all who wait for changes.
#[derive(Debug, Default)]
pub(super) struct Looks {
    /// After a change one check runs at a time, however many clients wait, so that checks do not
    /// slow down calls.
    turn: tokio::sync::Mutex<()>,
    /// The last checkpoints when a request was acknowledged, by the task that answers it.
    accepted: Mutex<HashMap<tokio::task::Id, Heads>>,
    /// The hash of the list of a vault for a principal, with the number of the change at which it
    /// was computed.
    lists: Mutex<HashMap<ListKey, (u64, Digest)>>,
}

/// The name of a vault, and a principal.
type ListKey = (Option<String>, Option<String>);

/// The state that a client was last notified of.
#[derive(Debug, Default)]
struct Seen {
    /// The hash of the list of each vault.
    lists: BTreeMap<Option<String>, Digest>,
    /// True if the tools of governed vaults are listed.
    is_governed: Option<bool>,
}

/// The last checkpoint of each vault when a client began to wait.
type Heads = BTreeMap<Option<String>, CheckpointNumber>;

impl Shared {
    /// Notifies a client of the older lifecycle of changes, until it is gone.
    pub(super) async fn follow(self: Arc<Self>, session: Arc<Session>, peer: Peer<RoleServer>) {
        let principal = session.principal.get().cloned().flatten();
        let subscribed = Arc::clone(&session.subscribed);
        let wanted = Wanted {
            resources: self.offer.has_resources(),
            prompts: true,
            tools: self.offer.may_change(),
        };
        self.tell((Asker::of(principal), wanted, None), subscribed, &Channel::Peer(peer)).await;
    }

    /// Notifies a client of the changes that it listens to, until it stops.
    pub(super) async fn listened(
        self: Arc<Self>,
        principal: Option<Principal>,
        context: &SubscriptionContext,
    ) {
        let accepted = context.accepted();
        let wanted = Wanted {
            resources: accepted.resources_list_changed == Some(true),
            prompts: accepted.prompts_list_changed == Some(true),
            tools: accepted.tools_list_changed == Some(true),
        };
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let subscribed = Subscribed::new(uris.into_iter().map(|uri| (uri, None)).collect());
        let heads = tokio::task::try_id().and_then(|task| self.looks.accepted().remove(&task));
        let asker = (Asker::of(principal), wanted, heads);
        let channel = Channel::Sink(context.sink().clone());
        tokio::select! {
            () = context.cancelled() => {}
            () = self.tell(asker, Arc::new(subscribed), &channel) => {}
        }
    }

    /// Returns the notifications that a client may ask for: those of offered lists.
    pub(super) fn accepted(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let mut accepted = requested.clone();
        if !self.offer.may_change() {
            accepted.tools_list_changed = None;
        }
        if !self.offer.has_resources() {
            accepted.resources_list_changed = None;
            accepted.resource_subscriptions = None;
        }
        if let Some(uris) = &mut accepted.resource_subscriptions {
            let mut bytes = 0;
            let mut fits = |uri: &str| {
                bytes += uri.len();
                bytes <= MOST_BYTES
            };
            uris.retain(|uri| self.is_resource(uri) && fits(uri));
            uris.truncate(MOST);
            uris.shrink_to_fit();
        }
        // The task continues after the acknowledgement, and other tasks may run before.
        if let Some(task) = tokio::task::try_id() {
            let mut known = self.looks.accepted();
            // Entries of requests that ended before are removed.
            if known.len() >= MOST_ACCEPTED {
                known.clear();
            }
            known.insert(task, self.heads());
        }
        accepted
    }

    /// Returns true if a text could be the URI of a resource.
    fn is_resource(&self, uri: &str) -> bool {
        uri.len() <= MAX_URI_BYTES && self.inner(uri).is_some()
    }

    /// Subscribes a client of the older lifecycle to a resource, without revealing whether
    /// it exists.
    ///
    /// # Errors
    /// The text is not a URI, or there are too many.
    pub(super) fn subscribe(
        &self,
        asker: &Asker,
        session: &Session,
        uri: &str,
    ) -> Result<(), Failure> {
        if !self.is_resource(uri) {
            return Err(not_there());
        }
        let mut hashes = BTreeMap::from([(uri.to_owned(), None)]);
        self.look(asker, &mut Seen::default(), &mut hashes, None);
        let mut subscribed = session.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = !subscribed.contains_key(uri);
        let bytes: usize = subscribed.keys().map(String::len).sum();
        if is_new && (subscribed.len() >= MOST || bytes + uri.len() > MOST_BYTES) {
            let message = format!(
                "a session subscribes to at most {MOST} resources, with {MOST_BYTES} bytes of URIs"
            );
            let failure = Failure::new(Code::Usage, message);
            return Err(failure.hint("unsubscribe from some, or watch the list"));
        }
        subscribed.extend(hashes);
        Ok(())
    }

    async fn tell(
        self: &Arc<Self>,
        (asker, wanted, heads): (Asker, Wanted, Option<Heads>),
        subscribed: Arc<Subscribed>,
        channel: &Channel,
    ) {
        let mut changes = self.watch.changes();
        let asker = Arc::new(asker);
        // Texts that are published now are not a change, and every later publication is one,
        // however late the check.
        let heads = heads.unwrap_or_else(|| self.heads());
        let is_governed = self.offer.may_change().then(|| self.is_governed());
        let seen = Arc::new(Mutex::new(Seen { is_governed, ..Seen::default() }));
        let begin = {
            let key = asker.principal.as_ref().map(Principal::key);
            let _held = match &self.limits {
                Some(limits) => {
                    Some(limits.calls.take(key.as_ref().map(PrincipalKey::as_str)).await)
                }
                None => None,
            };
            self.looked(&asker, &seen, (&subscribed, Some(heads))).await
        };
        if begin.is_none() {
            return;
        }
        // A checkpoint in between may have been noticed before this waited.
        changes.mark_changed();
        loop {
            tokio::select! {
                changed = changes.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    let looked = {
                        let _turn = self.looks.turn.lock().await;
                        self.looked(&asker, &seen, (&subscribed, None)).await
                    };
                    let Some(changed) = looked else { return };
                    if !channel.tell(wanted, changed).await {
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

    /// Returns the changes since the last check.
    async fn looked(
        self: &Arc<Self>,
        asker: &Arc<Asker>,
        seen: &Arc<Mutex<Seen>>,
        (subscribed, heads): (&Arc<Subscribed>, Option<Heads>),
    ) -> Option<Changed> {
        let (shared, asker) = (Arc::clone(self), Arc::clone(asker));
        let (seen, subscribed) = (Arc::clone(seen), Arc::clone(subscribed));
        let look = move || {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let mut now = subscribed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let mut changed = shared.look(&asker, &mut seen, &mut now, heads.as_ref());
            let mut subscribed = subscribed.lock().unwrap_or_else(PoisonError::into_inner);
            // Resources that were unsubscribed meanwhile are left out.
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

    /// Updates the client's state and the hashes of resources; returns the changes. A text that
    /// cannot be read now has not changed.
    fn look(
        &self,
        asker: &Asker,
        seen: &mut Seen,
        resources: &mut BTreeMap<String, Option<Digest>>,
        heads: Option<&Heads>,
    ) -> Changed {
        let mut changed = Changed::default();
        if self.offer.may_change() && heads.is_none() {
            let now = self.is_governed();
            changed.tools = seen.is_governed.replace(now).is_some_and(|before| before != now);
        }
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
            let at = heads.and_then(|heads| heads.get(&key.0).copied());
            let known = self.looks.list(&key, count).filter(|_| at.is_none());
            let sight = match known {
                Some(list) if here.is_empty() => Some((list, Vec::new())),
                _ => {
                    let texts: Vec<&str> = here.iter().map(|(_, text)| text.as_str()).collect();
                    self.sight(asker, (place, at), (known, &texts)).ok()
                }
            };
            let Some((list, hashes)) = sight else { continue };
            if at.is_none() {
                self.looks.keep(key.clone(), (count, list));
            }
            let before = seen.lists.insert(key.0, list);
            changed.published |= before.is_some_and(|before| before != list);
            for ((uri, _), hash) in here.into_iter().zip(hashes) {
                let before = resources.insert(uri.clone(), hash);
                if before.flatten() != hash {
                    changed.resources.push(uri);
                }
            }
        }
        changed
    }

    /// Returns the last checkpoint of each vault whose log can be read. This runs between answers,
    /// and reads no document.
    fn heads(&self) -> Heads {
        let places = self.vaults.places();
        let head = |root: &Path| {
            let vault = self.vault(root).ok()?;
            let source = CheckpointSource::open(&vault, sight::NEED, &mut |_, _| ()).ok()?;
            let head = Snapshot::whole_of(&vault, &source, None).ok()?.checkpoint();
            // There is nothing to check before the first checkpoint.
            Some(head).filter(|head| *head != CheckpointNumber::NONE)
        };
        let heads = places.iter().zip(self.vaults.roots());
        let heads = heads.filter_map(|(place, root)| Some((place.map(str::to_owned), head(root)?)));
        heads.collect()
    }

    /// Returns a hash of everything that a principal may read in a vault, unless it is known, and
    /// one hash for each resource. No text is returned.
    fn sight(
        &self,
        asker: &Asker,
        (place, at): (Option<&str>, Option<CheckpointNumber>),
        (known, uris): (Option<Digest>, &[&str]),
    ) -> Result<(Digest, Vec<Option<Digest>>), Failure> {
        let said = said(Verb::List, "notifications", json!({}));
        self.on_behalf((asker, said), Vaults::arguments(place), |call, _| {
            let (vault, source) = places(call, sight::NEED)?;
            call.sight((&vault, &source), at, (known, uris))
        })
    }
}

impl Looks {
    fn accepted(&self) -> MutexGuard<'_, HashMap<tokio::task::Id, Heads>> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn list(&self, key: &ListKey, count: u64) -> Option<Digest> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.get(key).filter(|(at, _)| *at == count).map(|(_, list)| *list)
    }

    fn keep(&self, key: ListKey, list: (u64, Digest)) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        // Hashes of principals who are gone belong to an earlier change.
        lists.retain(|_, (at, _)| *at >= list.0);
        lists.insert(key, list);
    }
}
