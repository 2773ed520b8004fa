//! A stream that ends if the other side reads too little for too long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// Time limit for the other side to read the next bytes.
const PATIENCE: Duration = Duration::from_secs(10);
/// Number of bytes to read in that time, if that many are written.
const ENOUGH: usize = 32 << 10;

/// A stream, and the time since which its other side keeps it waiting.
pub(crate) struct Patient<S> {
    stream: S,
    patience: Duration,
    waiting: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Patient<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, patience: PATIENCE, waiting: None }
    }
}

impl<S: Unpin> Patient<S> {
    /// Returns the result of a write, or an error if the other side was too slow.
    fn judged(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => {
                if let Some((_, taken)) = &mut self.waiting {
                    *taken += bytes;
                    if *taken >= ENOUGH {
                        self.waiting = None;
                    }
                }
                written
            }
            Poll::Ready(Err(_)) => written,
            Poll::Pending => {
                let begin = || (Box::pin(sleep(self.patience)), 0);
                let (rest, _) = self.waiting.get_or_insert_with(begin);
                match rest.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judged(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.judged(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            // Everything was read.
            self.waiting = None;
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    fn run<F: Future>(future: F) -> F::Output {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(future)
    }

    #[test]
    fn a_reader_that_takes_nothing_is_left_and_one_that_is_slow_is_served() {
        run(async {
            let (ours, theirs) = duplex(1 << 10);
            let patience = Duration::from_millis(50);
            let mut ours = Patient { patience, ..Patient::new(ours) };
            let why = ours.write_all(&[0; 1 << 20]).await.unwrap_err();
            assert_eq!(why.kind(), io::ErrorKind::TimedOut);
            drop(theirs);

            let (ours, mut theirs) = duplex(1 << 16);
            let mut ours = Patient { patience, ..Patient::new(ours) };
            let reader = tokio::spawn(async move {
                let (mut bytes, mut taken) = ([0; 40 << 10], 0);
                while taken < 1 << 20 {
                    sleep(Duration::from_millis(5)).await;
                    taken += theirs.read(&mut bytes).await.unwrap();
                }
                taken
            });
            ours.write_all(&[0; 1 << 20]).await.unwrap();
            assert_eq!(reader.await.unwrap(), 1 << 20);
        });
    }
}
