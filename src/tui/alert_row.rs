//! An alert, or a notice of the run, as the live view stores it: owned, short and redacted.

use super::text;
use crate::alerting::{Alert, AlertKind};
use crate::finding::Severity;
use crate::number::compact_counted;
use crate::rules::RuleSet;
use crate::time::LogTime;

/// An alert.
#[derive(Debug, Clone)]
pub(super) struct AlertRow {
    /// Its number among all alerts, from 1.
    pub(super) number: u64,
    pub(super) time: Option<LogTime>,
    /// The severity; `None` for a notice.
    pub(super) severity: Option<Severity>,
    /// What happened, in one sentence.
    pub(super) text: Box<str>,
    /// The client, if it is about one.
    pub(super) client: Option<Box<str>>,
    /// The path, if it is about one.
    pub(super) path: Option<Box<str>>,
}

impl AlertRow {
    /// The row of an alert.
    pub(super) fn new(number: u64, alert: &Alert, rules: &RuleSet) -> Self {
        let client = alert.client.as_ref().map(|client| text::client_name(client.client()));
        let path = alert.path.as_deref().filter(|path| !path.is_empty()).map(text::redact_and_truncate);
        let text = sentence(alert, rules, client.as_deref(), path.as_deref());
        Self {
            number,
            time: alert.last_time.or(alert.first_time),
            severity: Some(alert.severity),
            text: text::truncate_bytes(&text, 2 * text::MAX_BYTES),
            client,
            path,
        }
    }

    /// The row of a notice.
    pub(super) fn notice(number: u64, notice: &str) -> Self {
        Self { number, time: None, severity: None, text: text::escape_and_truncate(notice.as_bytes()), client: None, path: None }
    }
}

fn sentence(alert: &Alert, rules: &RuleSet, client: Option<&str>, path: Option<&str>) -> String {
    let who = client.map_or_else(|| compact_counted(alert.clients, "client", "clients"), str::to_owned);
    let span = span(alert);
    match alert.kind {
        AlertKind::Threshold(rule) => {
            let on = path.map(|path| format!(" on {path}")).unwrap_or_default();
            format!("{who}: {} of {}{on}{span}", compact_counted(alert.hits, "hit", "hits"), rules.rule(rule).id)
        }
        AlertKind::Probing => format!("{who} requested {}{span}", compact_counted(alert.paths, "probe path", "probe paths")),
        AlertKind::Answered => {
            let status = alert.sample.status.map(|status| format!(" {status}")).unwrap_or_default();
            format!("{who} was answered{status}: {}", text::redact_and_truncate(&alert.sample.target))
        }
        AlertKind::Campaign => {
            let of = path.map(|path| format!(", {path}")).unwrap_or_default();
            format!(
                "{} requested the same {}{of}{span}",
                compact_counted(alert.clients, "client", "clients"),
                compact_counted(alert.paths, "path", "paths")
            )
        }
    }
}

/// ` within 58 s`; empty if the log has no times.
fn span(alert: &Alert) -> String {
    match (alert.first_time, alert.last_time) {
        (Some(first), Some(last)) => match (last.utc - first.utc).max(0) {
            seconds @ 0..120 => format!(" within {seconds} s"),
            seconds => format!(" within {} min", (seconds + 59) / 60),
        },
        _ => String::new(),
    }
}
