//! Destinations of notifications: a session, or a request that waits for them (MCP-30).

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RoleServer, SubscriptionSink};

/// The changes to notify a client of.
#[derive(Debug, Default)]
pub(super) struct Changed {
    pub(super) published: bool,
    pub(super) tools: bool,
    pub(super) resources: Vec<String>,
}

/// The lists that a client wants notifications of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) resources: bool,
    pub(super) prompts: bool,
    pub(super) tools: bool,
}

/// The destination of notifications.
pub(super) enum Channel {
    /// A client of the older lifecycle.
    Peer(Peer<RoleServer>),
    /// A request that waits for them.
    Sink(SubscriptionSink),
}

impl Channel {
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Peer(peer) if peer.is_transport_closed())
    }

    /// Notifies the client; returns true if it is still connected.
    pub(super) async fn tell(&self, wanted: Wanted, changed: Changed) -> bool {
        (!changed.published || self.tell_of_lists(wanted).await)
            && (!(changed.tools && wanted.tools) || self.tell_of_tools().await)
            && self.tell_of_resources(changed.resources).await
    }

    async fn tell_of_lists(&self, wanted: Wanted) -> bool {
        let resources = !wanted.resources
            || match self {
                Self::Peer(peer) => peer.notify_resource_list_changed().await.is_ok(),
                Self::Sink(sink) => sink.notify_resource_list_changed().await.is_ok(),
            };
        let prompts = !wanted.prompts
            || match self {
                Self::Peer(peer) => peer.notify_prompt_list_changed().await.is_ok(),
                Self::Sink(sink) => sink.notify_prompt_list_changed().await.is_ok(),
            };
        resources && prompts
    }

    async fn tell_of_tools(&self) -> bool {
        match self {
            Self::Peer(peer) => peer.notify_tool_list_changed().await.is_ok(),
            Self::Sink(sink) => sink.notify_tool_list_changed().await.is_ok(),
        }
    }

    async fn tell_of_resources(&self, uris: Vec<String>) -> bool {
        for uri in uris {
            let is_told = match self {
                Self::Peer(peer) => {
                    let about = ResourceUpdatedNotificationParam::new(uri);
                    peer.notify_resource_updated(about).await.is_ok()
                }
                Self::Sink(sink) => sink.notify_resource_updated(uri).await.is_ok(),
            };
            if !is_told {
                return false;
            }
        }
        true
    }
}
