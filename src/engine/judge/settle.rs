//! Judges requests by the batch, and keeps those that match.

use super::{BATCH, Judge, Request};
use crate::client::Client;
use crate::engine::key::Key;
use crate::engine::memory::Recalled;
use crate::engine::picked::Picked;
use crate::engine::scratch::Reading;
use crate::engine::{Scratch, Verdict, unlisted};
use crate::finding::{Findings, Hit, RuleId, Severity, Sign, Unlisted, Windows};
use crate::fingerprint::Fingerprint;
use crate::formats::{Frame, clf_writer};
use crate::names::Names;
use crate::record::{Outcome, RequestLine};
use crate::rules::By;
use crate::soft_404::MethodClass;

impl Judge<'_> {
    /// Judges requests, each step for all of them before the next: a look into a large table takes as long as a hundred
    /// instructions, and several looks that wait for nothing but memory wait together.
    pub(super) fn settle(&self, batch: &mut Vec<Request<'_>>, scratch: &mut Scratch, findings: &mut Findings) {
        if batch.is_empty() {
            return;
        }
        let keys: [Key; BATCH] = scratch.memory.keys(batch.iter().map(|request| (request.frame.request, request.frame.headers)));
        let mut fingerprints = [Fingerprint::default(); BATCH];
        scratch.names.clients.fingerprints(batch.iter().map(|request| request.frame.client), &mut fingerprints);
        let mut clients = [0; BATCH];
        for ((request, fingerprint), client) in batch.iter().zip(fingerprints).zip(&mut clients) {
            *client = scratch.names.clients.number_by(fingerprint, request.frame.client);
        }
        findings.askers.extend_from_slice(&clients[..batch.len()]);
        let mut recalled = Recalled::<BATCH>::default();
        scratch.memory.recall_each(&keys[..batch.len()], |n| batch[n].frame.status(), &mut recalled);
        let mut telling = Picked::<BATCH>::default();
        for (n, request) in batch.iter().enumerate() {
            telling.pick_if(n, !recalled.is_known_to_match_nothing(n) || self.scope.unlisted || request.frame.is_home_page());
        }
        for n in telling.iter() {
            let (request, client) = (&batch[n], clients[n]);
            let verdict = recalled.get(n).unwrap_or_else(|| self.verdict(request, scratch));
            if request.frame.is_home_page() {
                record_home_page(request, scratch, findings);
            }
            if verdict.rules != Names::NO_RULES {
                self.keep_request(request, client, verdict, scratch, findings);
            } else if self.scope.unlisted {
                note(request, client, scratch, findings);
            }
        }
        batch.clear();
    }

    #[cold]
    fn verdict(&self, request: &Request<'_>, scratch: &mut Scratch) -> Verdict {
        // The same may have come up earlier in the batch.
        let known = scratch.recall(request.frame.request, request.frame.headers, request.frame.status());
        known.unwrap_or_else(|| self.matcher.verdict(&request.frame.record(request.time()), request.frame.headers, scratch))
    }

    fn keep_request(&self, request: &Request<'_>, client: u32, verdict: Verdict, scratch: &mut Scratch, findings: &mut Findings) {
        let Request { line, place, frame, .. } = request;
        let mut hit = place.hit();
        (hit.parsed, hit.client, hit.time, hit.status, hit.bytes) = (true, client, request.time(), frame.status(), frame.bytes());
        set_request(&mut hit, frame.request);
        let reading = self.reading(verdict.rules, scratch);
        if reading.signs != Names::NO_RULES {
            see_signs(&hit, reading.signs, frame, scratch, findings);
        }
        if self.scope.unlisted && !reading.is_certain {
            note(request, client, scratch, findings);
        }
        let agent = || frame.record(None).user_agent;
        let mut written = std::mem::take(&mut scratch.line);
        let text = line.unwrap_or_else(|| {
            written.clear();
            clf_writer::write_frame(frame, &mut written);
            &written
        });
        self.keep(hit, reading, verdict.path, (text, frame.host), agent, scratch, findings);
        scratch.line = written;
    }

    /// Keeps a line that matched a rule, or counts it where it is allowed.
    #[expect(clippy::too_many_arguments, reason = "a line, what was made of it, and where it goes")]
    pub(super) fn keep<'t>(
        &self,
        mut hit: Hit,
        reading: Reading,
        path: u32,
        (text, host): (&[u8], Option<&[u8]>),
        agent: impl FnOnce() -> Option<&'t [u8]>,
        scratch: &mut Scratch,
        findings: &mut Findings,
    ) {
        if reading.rules == Names::NO_RULES {
            return;
        }
        let names = &mut scratch.names;
        if !self.scope.allow.entries().is_empty()
            && let Some(entry) = self.scope.allow.entry_for(names.clients.client(hit.client), names.paths.key(path), agent())
        {
            findings.allowed.push((entry, hit.client));
            return;
        }
        (hit.rules, hit.path, hit.exposes, hit.windows) = (reading.rules, path, reading.exposes, reading.windows);
        // A line that names no client says nothing of anybody.
        hit.windows.by_client &= !matches!(names.clients.client(hit.client), Client::Text(b"" | b"-"));
        hit.host = names.host(host);
        findings.push(hit, text);
    }

    /// What a list of rules comes to.
    pub(super) fn reading(&self, list: u32, scratch: &mut Scratch) -> Reading {
        let Scratch { names, readings, .. } = scratch;
        let at = list as usize;
        if let Some(Some(known)) = readings.get(at) {
            return *known;
        }
        let counts = |&&rule: &&RuleId| self.scope.windows || self.rules.rule(rule).window.is_none();
        let all = names.rules.key(list).iter().filter(counts);
        let (signs, mut rules): (Vec<RuleId>, Vec<RuleId>) = all.partition(|&&rule| self.rules.rule(rule).is_sign);
        let is_certain = rules.iter().any(|&rule| self.rules.rule(rule).is_certain());
        if rules.iter().map(|&rule| self.rules.rule(rule)).any(|rule| rule.is_certain() && rule.severity > Severity::Info) {
            // The line alone makes it a hit, whatever else its client requested.
            rules.retain(|&rule| self.rules.rule(rule).with_client.is_none());
        }
        let exposes = rules.iter().any(|&rule| self.rules.rule(rule).exposes());
        let counts_by = |by| rules.iter().any(|&rule| self.rules.rule(rule).window.is_some_and(|window| window.by == by));
        let windows = Windows {
            by_client: counts_by(By::Client),
            by_path: counts_by(By::Path),
            only: rules.iter().all(|&rule| self.rules.rule(rule).window.is_some()),
        };
        let [signs, rules] = [signs, rules].map(|rules| names.rules.number(&*rules, Box::from));
        let new = Reading { signs, rules, exposes, is_certain, windows };
        readings.resize(readings.len().max(at + 1), None);
        readings[at] = Some(new);
        new
    }
}

/// What of the request says how its answer compares with others.
fn set_request(hit: &mut Hit, request: &[u8]) {
    let line = RequestLine::parse(request);
    hit.method = MethodClass::of(line.method);
    hit.extra = line.query_len();
    hit.has_query = hit.extra > 0;
}

/// Records how large the home page is.
fn record_home_page(request: &Request<'_>, scratch: &mut Scratch, findings: &mut Findings) {
    if let (Some(200), Some(bytes @ 1..)) = (request.frame.status(), request.frame.bytes()) {
        findings.home.record(scratch.names.host(request.frame.host), bytes);
    }
}

/// Notes the signs of apps that a client was answered with.
fn see_signs(hit: &Hit, signs: u32, frame: &Frame<'_>, scratch: &mut Scratch, findings: &mut Findings) {
    if !matches!(hit.status, Some(200..=299)) {
        return;
    }
    let host = scratch.names.host(frame.host);
    let sign = Sign { client: hit.client, size: hit.bytes.unwrap_or(0), asked: frame.request.len() };
    for &app in scratch.names.rules.key(signs) {
        findings.signs.see(app, host, sign);
    }
}

/// Notes a request that no rule names, if its path is one that can be learnt.
fn note(request: &Request<'_>, client: u32, scratch: &mut Scratch, findings: &mut Findings) {
    let Request { place, frame, .. } = request;
    let (time, status) = (request.time(), frame.status());
    let Some(path) = scratch.unlisted.number(frame.request, &mut scratch.names) else { return };
    let mut noted = Unlisted::new(place.line, place.offset, client, path);
    (noted.time, noted.status) = (time, status);
    noted.linked = Outcome::of(status) == Outcome::Answered && unlisted::is_linked(&frame.record(time));
    let example = unlisted::example(frame.request);
    let is_path = &**scratch.names.paths.key(path) == example;
    findings.push_unlisted(noted, if is_path { b"" } else { example });
}
