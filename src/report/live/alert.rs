//! An alert as a line for people, as a short text for a system log, and as a JSON object for programs.
//!
//! The keys of the object and their order are a promise: additions only, at the end. The words of the two texts are none.
//! Times and counts are those of the alert; nothing is counted or judged here.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::line::Lines;
use crate::alert::{Alert, Kind, Sample};
use crate::client::Client;
use crate::finding::Severity;
use crate::log_entry::Outcome;
use crate::report::facts;
use crate::report::mask::shown;
use crate::report::sanitize::text as escaped;
use crate::report::style::{ALARM, BOLD, DIM};
use crate::report::table::layout::cut;
use crate::report::table::number::{counted, grouped};
use crate::rules::RuleSet;
use crate::time::LogTime;

/// Columns of a path or target in a sentence: alerts are short whatever clients ask for.
const MOST_TEXT: usize = 80;

/// Columns of a client's name.
const MOST_NAME: usize = 39;

/// The least of a request that is worth a place on a line.
const LEAST_REQUEST: usize = 12;

/// One alert, as programs get it. All keys are always there.
#[derive(Serialize)]
struct Object<'a> {
    /// `threshold`, `probing`, `answered` or `campaign`.
    kind: &'static str,
    severity: Severity,
    /// RFC 3339 or null, as are all times.
    first_time: Option<String>,
    last_time: Option<String>,
    /// Null where it is not about one client.
    client: Option<Cow<'a, str>>,
    /// The normalised path; null where it is not about one.
    path: Option<Cow<'a, str>>,
    /// Requests that count, and how many clients and paths are among them.
    hits: u64,
    clients: u64,
    paths: u64,
    rules: Vec<&'a str>,
    classes: Vec<&'a str>,
    cve: Vec<&'a str>,
    sample: SampleObject<'a>,
    /// Whose threshold it was; null where it was no rule's.
    rule: Option<&'a str>,
    /// The sentence that people read.
    text: String,
}

/// The request that raised it.
#[derive(Serialize)]
struct SampleObject<'a> {
    /// The `id` of its hit.
    id: String,
    source: Cow<'a, str>,
    line: u64,
    method: Option<Cow<'a, str>>,
    target: Cow<'a, str>,
    status: Option<u16>,
    outcome: &'static str,
}

/// Writes an alert as one JSON object and its newline.
///
/// # Errors
///
/// Those of `out`, as they came.
pub fn write_json<W: Write>(alert: &Alert, rules: &RuleSet, out: &mut W) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &object(alert, rules))?;
    out.write_all(b"\n")
}

/// An alert as one line of text without its end, colour or any byte that acts; at most about 500 columns.
#[must_use]
pub fn text(alert: &Alert, rules: &RuleSet) -> String {
    let mut text = format!("ALERT {}: {}; {}", alert.severity, sentence(alert, rules), request(&alert.sample));
    let from = escaped(&alert.sample.source);
    // Writing to a `String` does not fail.
    let _ = write!(text, ", {}:{}", cut(&from, MOST_TEXT), alert.sample.line);
    text
}

impl Lines {
    /// Writes an alert among the hits. Its sentence is told whole, be it wider than the page; the request that raised it
    /// is told where there is room.
    ///
    /// # Errors
    ///
    /// Those of `out`, as they came.
    pub fn write_alert<W: Write>(&mut self, alert: &Alert, rules: &RuleSet, out: &mut W) -> io::Result<()> {
        self.begin(alert.last_time, alert.severity);
        let Self { ruler, stops, .. } = self;
        ruler.put_whole(stops.outcome, ALARM, "ALERT");
        ruler.put_whole(stops.client, BOLD, &sentence(alert, rules));
        if alert.kind != Kind::Answered && ruler.room(0) >= LEAST_REQUEST {
            ruler.put(0, DIM, &request(&alert.sample), usize::MAX);
        }
        out.write_all(ruler.end().as_bytes())
    }
}

/// What happened, in a sentence without its stop.
fn sentence(alert: &Alert, rules: &RuleSet) -> String {
    let within = within(alert);
    match alert.kind {
        Kind::Threshold(rule) => {
            let rule = rules.rule(rule);
            let asked = counted(alert.hits, "request", "requests");
            format!("{asked} by {}{}{within}: {}, {}", who(alert), wherefore(alert), rule.id, escaped(rule.title.as_bytes()))
        }
        Kind::Probing => format!("{} asked for {}{within}", who(alert), counted(alert.paths, "probe path", "different probe paths")),
        Kind::Answered => {
            let status = alert.sample.status.map_or_else(String::new, |status| format!(" with {status}"));
            let asked = alert.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(&alert.sample.target);
            format!("{} was answered{status}: {} ({})", who(alert), short(asked), facts::worst_rule(rules, &alert.rules))
        }
        Kind::Campaign => {
            let what = match (&alert.path, alert.paths) {
                (Some(path), _) => format!("the unusual path {}", short(path)),
                (None, 0 | 1) => "an unusual path".to_owned(),
                (None, paths) => format!("{} unusual paths", grouped(paths)),
            };
            format!("{} asked for {what}{within}", who(alert))
        }
    }
}

/// The client, or how many.
fn who(alert: &Alert) -> Cow<'_, str> {
    match &alert.client {
        Some(client) => name(client.client()),
        None => Cow::Owned(counted(alert.clients, "client", "clients")),
    }
}

fn wherefore(alert: &Alert) -> String {
    match &alert.path {
        Some(path) => format!(" for {}", short(path)),
        None => String::new(),
    }
}

/// How long it took, rounded up; nothing where the log does not tell.
fn within(alert: &Alert) -> String {
    let Some((first, last)) = alert.first_time.zip(alert.last_time) else {
        return String::new();
    };
    let seconds = last.utc.saturating_sub(first.utc).max(1).unsigned_abs();
    let (n, one, many) = match seconds {
        ..120 => (seconds, "second", "seconds"),
        120..7200 => (seconds.div_ceil(60), "minute", "minutes"),
        _ => (seconds.div_ceil(3600), "hour", "hours"),
    };
    format!(" within {}", counted(n, one, many))
}

/// The request that raised an alert, and what the server said.
fn request(sample: &Sample) -> String {
    let status = sample.status.map_or(Cow::Borrowed("-"), |status| Cow::Owned(status.to_string()));
    let method = shown(&sample.method);
    let method = if method.is_empty() { method } else { Cow::Owned(format!("{} ", cut(&method, MOST_NAME))) };
    format!("last {status} {method}{}", short(&sample.target))
}

fn short(text: &[u8]) -> String {
    cut(&shown(text), MOST_TEXT).into_owned()
}

fn name(client: Client<'_>) -> Cow<'_, str> {
    Cow::Owned(cut(&facts::client(client), MOST_NAME).into_owned())
}

fn object<'a>(alert: &'a Alert, rules: &'a RuleSet) -> Object<'a> {
    Object {
        kind: alert.kind.as_str(),
        severity: alert.severity,
        first_time: alert.first_time.map(LogTime::rfc3339),
        last_time: alert.last_time.map(LogTime::rfc3339),
        client: alert.client.as_ref().map(|client| facts::client(client.client())),
        path: alert.path.as_deref().map(shown),
        hits: alert.hits,
        clients: alert.clients,
        paths: alert.paths,
        rules: facts::rule_ids(rules, &alert.rules),
        classes: facts::classes(rules, &alert.rules),
        cve: facts::cves(rules, &alert.rules),
        sample: sample(&alert.sample),
        rule: match alert.kind {
            Kind::Threshold(rule) => Some(&rules.rule(rule).id),
            Kind::Probing | Kind::Answered | Kind::Campaign => None,
        },
        text: sentence(alert, rules),
    }
}

fn sample(sample: &Sample) -> SampleObject<'_> {
    SampleObject {
        id: facts::id(sample.generation, sample.offset),
        source: escaped(&sample.source),
        line: sample.line,
        method: (!sample.method.is_empty()).then(|| shown(&sample.method)),
        target: shown(&sample.target),
        status: sample.status,
        outcome: Outcome::of(sample.status).as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::ClientKey;
    use crate::finding::RuleId;
    use crate::report::fixture;
    use proptest::prelude::*;

    fn answered() -> Alert {
        let hit = fixture::hit();
        Alert {
            kind: Kind::Answered,
            severity: hit.severity,
            first_time: hit.time,
            last_time: hit.time,
            client: Some(ClientKey::from(&hit.client)),
            path: Some(hit.path.to_vec()),
            hits: 1,
            clients: 1,
            paths: 1,
            rules: hit.rules.to_vec(),
            sample: Sample {
                generation: hit.generation,
                offset: hit.offset,
                source: hit.source.to_vec(),
                line: hit.line,
                method: hit.method.to_vec(),
                target: hit.target.to_vec(),
                status: hit.status,
            },
        }
    }

    fn later(time: Option<LogTime>, seconds: i64) -> Option<LogTime> {
        time.map(|time| LogTime { utc: time.utc + seconds, ..time })
    }

    fn threshold() -> Alert {
        let alert = answered();
        let last_time = later(alert.first_time, 58);
        Alert {
            kind: Kind::Threshold(RuleId(7)),
            severity: Severity::Medium,
            last_time,
            path: None,
            hits: 25,
            rules: vec![RuleId(7)],
            ..alert
        }
    }

    fn probing() -> Alert {
        let alert = answered();
        let last_time = later(alert.first_time, 290);
        Alert { kind: Kind::Probing, severity: Severity::High, last_time, path: None, hits: 41, paths: 23, ..alert }
    }

    fn campaign() -> Alert {
        let alert = answered();
        let last_time = later(alert.first_time, 9000);
        Alert {
            kind: Kind::Campaign,
            severity: Severity::High,
            last_time,
            client: None,
            path: None,
            hits: 60,
            clients: 12,
            paths: 5,
            ..alert
        }
    }

    fn json(alert: &Alert) -> String {
        let mut out = Vec::new();
        write_json(alert, fixture::rules(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn lines(alerts: &[Alert], width: u16, color: bool) -> String {
        let (mut lines, mut out) = (Lines::new(width, color), Vec::new());
        for alert in alerts {
            lines.write_alert(alert, fixture::rules(), &mut out).unwrap();
        }
        String::from_utf8(out).unwrap()
    }

    fn each_kind() -> Vec<Alert> {
        let path = Some(b"/.git/config".to_vec());
        vec![
            answered(),
            threshold(),
            Alert { client: None, path: path.clone(), clients: 7, first_time: None, ..threshold() },
            probing(),
            campaign(),
            Alert { path, paths: 1, ..campaign() },
        ]
    }

    #[test]
    fn lines_say_it_in_a_sentence() {
        insta::assert_snapshot!("lines_at_140", lines(&each_kind(), 140, false));
        insta::assert_snapshot!("lines_at_60", lines(&each_kind(), 60, false));
    }

    #[test]
    fn texts_for_a_system_log() {
        let texts: Vec<_> = each_kind().iter().map(|alert| text(alert, fixture::rules())).collect();
        insta::assert_snapshot!("texts", texts.join("\n"));
    }

    #[test]
    fn objects_for_programs() {
        let objects: String = each_kind().iter().map(json).collect();
        insta::assert_snapshot!("objects", objects);
    }

    #[test]
    fn stands_out() {
        assert!(lines(&[probing()], 100, true).contains("\u{1b}[1m\u{1b}[31mALERT\u{1b}[0m"));
    }

    #[test]
    fn a_span_is_told_in_round_words() {
        let within = |seconds| within(&Alert { last_time: later(answered().first_time, seconds), ..answered() });
        assert_eq!(within(-5), " within 1 second");
        assert_eq!(within(0), " within 1 second");
        assert_eq!(within(119), " within 119 seconds");
        assert_eq!(within(120), " within 2 minutes");
        assert_eq!(within(121), " within 3 minutes");
        assert_eq!(within(7200), " within 2 hours");
        assert_eq!(within(i64::MAX / 2), " within 1,281,023,894,007,608 hours");
    }

    proptest! {
        #[test]
        fn any_alert_is_one_line(client in any::<Vec<u8>>(), path in any::<Option<Vec<u8>>>(), source in any::<Vec<u8>>(), method in any::<Vec<u8>>(),
            target in any::<Vec<u8>>(), which in 0_usize..6, times in any::<[Option<i64>; 2]>(), width: u16) {
            let time = |utc: Option<i64>| utc.map(|utc| LogTime { utc: utc / 2, offset: 0 });
            let alert = each_kind().swap_remove(which);
            let sample = Sample { source, method, target: target.clone(), ..alert.sample };
            let client = alert.client.map(|_| ClientKey::Text(client.into()));
            let alert = Alert { client, path, sample, first_time: time(times[0]), last_time: time(times[1]), ..alert };
            let object = json(&alert);
            prop_assert_eq!(object.matches('\n').count(), 1);
            let value: serde_json::Value = serde_json::from_str(&object).unwrap();
            prop_assert_eq!(value["sample"]["target"].as_str().unwrap(), &*shown(&target));
            let line = lines(std::slice::from_ref(&alert), width, false);
            prop_assert_eq!(line.matches('\n').count(), 1);
            for text in [line.trim_end_matches('\n'), &text(&alert, fixture::rules()), value["text"].as_str().unwrap()] {
                prop_assert_eq!(escaped(text.as_bytes()), text);
            }
        }
    }
}
