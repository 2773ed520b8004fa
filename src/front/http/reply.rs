//! The body of an answer, with values that are kept until it was sent.

use std::any::Any;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use hyper::body::{Body, Bytes, Frame, SizeHint};

/// Completes when the body must end, even if it is incomplete.
pub(crate) type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body.
pub(crate) struct Reply {
    body: BoxBody<Bytes, Infallible>,
    until: Option<Until>,
    kept: Vec<Box<dyn Any + Send>>,
}

impl Reply {
    /// Makes a body that ends with `until` at the latest. `kept` is dropped with it.
    pub(crate) fn new(
        body: BoxBody<Bytes, Infallible>,
        until: Option<Until>,
        kept: impl Any + Send,
    ) -> Self {
        // A complete answer is sent at once; a stream may be open for days.
        let until = until.filter(|_| body.size_hint().exact().is_none());
        Self { body, until, kept: vec![Box::new(kept)] }
    }

    /// Adds a value that is dropped with the body.
    pub(crate) fn keeping(mut self, kept: impl Any + Send) -> Self {
        self.kept.push(Box::new(kept));
        self
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let ends = |until: &mut Until| until.as_mut().poll(context).is_ready();
        if self.until.as_mut().is_some_and(ends) {
            self.until = None;
            self.body = BoxBody::default();
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
