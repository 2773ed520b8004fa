//! Metrics of a server in the text format of Prometheus: calls and refusals, but no id, name or
//! text of a document (MCP-14).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Upper bounds of the ranges of durations, in seconds.
const RANGES: [f64; 10] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0];

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    /// The call was answered.
    Answered,
    /// The call failed.
    Failed,
    /// Governance refused the call.
    Refused,
    /// The client cancelled the call before it was made.
    Cancelled,
    /// Too many calls were running.
    Busy,
    /// The call took too long, and continued without its client.
    TimedOut,
    /// The server has a fault.
    Fault,
}

impl Outcome {
    fn name(self) -> &'static str {
        match self {
            Self::Answered => "ok",
            Self::Failed => "error",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Busy => "busy",
            Self::TimedOut => "timed-out",
            Self::Fault => "fault",
        }
    }
}

/// The counts of one server.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    counts: Mutex<Counts>,
    /// Running calls.
    pub(super) calls: Gauge,
    /// Connections of clients.
    pub(super) connections: Gauge,
}

#[derive(Debug, Default)]
struct Counts {
    calls: BTreeMap<(&'static str, Outcome), u64>,
    durations: BTreeMap<&'static str, Durations>,
    refused: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
struct Durations {
    in_range: [u64; RANGES.len()],
    count: u64,
    seconds: f64,
}

/// A current number.
#[derive(Debug, Default)]
pub(super) struct Gauge(Arc<AtomicI64>);

/// A unit of a gauge, until it is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<AtomicI64>);

impl Gauge {
    /// Adds one.
    pub(super) fn one(&self) -> Counted {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(&self.0))
    }

    /// Returns the current number.
    pub(super) fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts a call of a tool that ended.
    pub(super) fn called(&self, tool: &'static str, outcome: Outcome, took: Duration) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.calls.entry((tool, outcome)).or_default() += 1;
        let durations = counts.durations.entry(tool).or_default();
        let seconds = took.as_secs_f64();
        for (end, count) in RANGES.iter().zip(&mut durations.in_range) {
            *count += u64::from(seconds <= *end);
        }
        durations.count += 1;
        durations.seconds += seconds;
    }

    /// Counts a request that was refused before it became a call.
    pub(super) fn refused(&self, why: &'static str) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.refused.entry(why).or_default() += 1;
    }

    /// Returns the metrics in the text format of Prometheus.
    pub(super) fn text(&self, sessions: usize) -> String {
        let mut text = String::new();
        let head = |text: &mut String, name: &str, kind: &str, help: &str| {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        };
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        head(&mut text, "ctx_mcp_calls_total", "counter", "Calls of tools that ended, by outcome.");
        for ((tool, outcome), count) in &counts.calls {
            let outcome = outcome.name();
            let _ = writeln!(
                text,
                "ctx_mcp_calls_total{{tool=\"{tool}\",outcome=\"{outcome}\"}} {count}"
            );
        }
        let name = "ctx_mcp_call_duration_seconds";
        head(&mut text, name, "histogram", "Duration of calls, including their wait for others.");
        for (tool, durations) in &counts.durations {
            for (end, count) in RANGES.iter().zip(durations.in_range) {
                let _ = writeln!(text, "{name}_bucket{{tool=\"{tool}\",le=\"{end}\"}} {count}");
            }
            let Durations { count, seconds, .. } = durations;
            let _ = write!(
                text,
                "{name}_bucket{{tool=\"{tool}\",le=\"+Inf\"}} {count}\n\
                 {name}_sum{{tool=\"{tool}\"}} {seconds}\n{name}_count{{tool=\"{tool}\"}} {count}\n"
            );
        }
        head(
            &mut text,
            "ctx_mcp_requests_refused_total",
            "counter",
            "Requests that were refused before a tool was called, by reason.",
        );
        for (why, count) in &counts.refused {
            let _ = writeln!(text, "ctx_mcp_requests_refused_total{{reason=\"{why}\"}} {count}");
        }
        for (name, help, value) in [
            ("ctx_mcp_calls_in_flight", "Running calls of tools.", self.calls.now()),
            ("ctx_mcp_connections", "Open connections.", self.connections.now()),
            (
                "ctx_mcp_sessions",
                "Sessions of clients of revisions before 2026-07-28.",
                i64::try_from(sessions).unwrap_or(i64::MAX),
            ),
        ] {
            head(&mut text, name, "gauge", help);
            let _ = writeln!(text, "{name} {value}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.called("context_read", Outcome::Answered, Duration::from_millis(2));
        metrics.called("context_read", Outcome::Failed, Duration::from_secs(60));
        metrics.refused("token");
        let one = metrics.calls.one();
        let text = metrics.text(3);
        for line in [
            "ctx_mcp_calls_total{tool=\"context_read\",outcome=\"ok\"} 1",
            "ctx_mcp_call_duration_seconds_bucket{tool=\"context_read\",le=\"0.001\"} 0",
            "ctx_mcp_call_duration_seconds_bucket{tool=\"context_read\",le=\"0.003\"} 1",
            "ctx_mcp_call_duration_seconds_bucket{tool=\"context_read\",le=\"30\"} 1",
            "ctx_mcp_call_duration_seconds_bucket{tool=\"context_read\",le=\"+Inf\"} 2",
            "ctx_mcp_call_duration_seconds_sum{tool=\"context_read\"} 60.002",
            "ctx_mcp_requests_refused_total{reason=\"token\"} 1",
            "ctx_mcp_calls_in_flight 1",
            "ctx_mcp_sessions 3",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
        drop(one);
        assert_eq!(metrics.calls.now(), 0);
    }
}
