//! Matches requests in batches, and records those that match.

use super::{BATCH, BatchedRequest, LineScanner};
use crate::client::Client;
use crate::engine::cache_key::CacheKey;
use crate::engine::verdict_cache::CachedVerdicts;
use crate::engine::verdict_cache::SelectedIndices;
use crate::engine::worker_state::RuleSummary;
use crate::engine::{Verdict, WorkerState, path_interner};
use crate::finding::{AppAsset, Findings, Hit, RuleId, Severity, UnmatchedRequest, Windows};
use crate::fingerprint::Fingerprint;
use crate::formats::{Frame, clf_writer};
use crate::intern::SymbolTables;
use crate::log_entry::{Outcome, RequestLine};
use crate::rules::By;
use crate::soft_404::MethodClass;

impl LineScanner<'_> {
    /// Matches a batch, one step for all requests before the next step. A lookup in a large table costs as much as a hundred
    /// instructions; independent lookups overlap their cache misses.
    pub(super) fn match_batch(&self, batch: &mut Vec<BatchedRequest<'_>>, worker: &mut WorkerState, findings: &mut Findings) {
        if batch.is_empty() {
            return;
        }
        let keys: [CacheKey; BATCH] = worker.cache.keys(batch.iter().map(|request| (request.frame.request, request.frame.headers)));
        let mut fingerprints = [Fingerprint::default(); BATCH];
        worker.names.clients.fingerprints(batch.iter().map(|request| request.frame.client), &mut fingerprints);
        let mut clients = [0; BATCH];
        for ((request, fingerprint), client) in batch.iter().zip(fingerprints).zip(&mut clients) {
            *client = worker.names.clients.intern_by(fingerprint, request.frame.client);
        }
        findings.request_clients.extend_from_slice(&clients[..batch.len()]);
        let mut cached = CachedVerdicts::<BATCH>::default();
        worker.cache.get_each(&keys[..batch.len()], |n| batch[n].frame.status(), &mut cached);
        let mut selected = SelectedIndices::<BATCH>::default();
        for (n, request) in batch.iter().enumerate() {
            selected.push_if(n, !cached.is_known_to_match_nothing(n) || self.options.unlisted || request.frame.is_home_page());
        }
        for n in selected.iter() {
            let (request, client) = (&batch[n], clients[n]);
            let verdict = cached.get(n).unwrap_or_else(|| self.verdict(request, worker));
            if request.frame.is_home_page() {
                record_home_page(request, worker, findings);
            }
            if verdict.rules != SymbolTables::EMPTY_RULES {
                self.record_request(request, client, verdict, worker, findings);
            } else if self.options.unlisted {
                record_unmatched(request, client, worker, findings);
            }
        }
        batch.clear();
    }

    #[cold]
    fn verdict(&self, request: &BatchedRequest<'_>, worker: &mut WorkerState) -> Verdict {
        // The same request may have occurred earlier in the batch.
        let known = worker.cached_verdict(request.frame.request, request.frame.headers, request.frame.status());
        known.unwrap_or_else(|| self.matcher.verdict(&request.frame.record(request.time()), request.frame.headers, worker))
    }

    fn record_request(
        &self,
        request: &BatchedRequest<'_>,
        client: u32,
        verdict: Verdict,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        let BatchedRequest { line, position, frame, .. } = request;
        let mut hit = position.hit();
        (hit.parsed, hit.client, hit.time, hit.status, hit.bytes) = (true, client, request.time(), frame.status(), frame.bytes());
        set_request(&mut hit, frame.request);
        let summary = self.summary(verdict.rules, worker);
        if summary.signs != SymbolTables::EMPTY_RULES {
            record_app_evidence(&hit, summary.signs, frame, worker, findings);
        }
        if self.options.unlisted && !summary.is_certain {
            record_unmatched(request, client, worker, findings);
        }
        let agent = || frame.record(None).user_agent;
        let mut written = std::mem::take(&mut worker.line);
        let text = line.unwrap_or_else(|| {
            written.clear();
            clf_writer::write_frame(frame, &mut written);
            &written
        });
        self.record_hit(hit, summary, verdict.path, (text, frame.host), agent, worker, findings);
        worker.line = written;
    }

    /// Records a line that matched a rule, or counts it if an allow list entry applies.
    #[expect(clippy::too_many_arguments, reason = "a line, what was made of it, and where it goes")]
    pub(super) fn record_hit<'t>(
        &self,
        mut hit: Hit,
        summary: RuleSummary,
        path: u32,
        (text, host): (&[u8], Option<&[u8]>),
        agent: impl FnOnce() -> Option<&'t [u8]>,
        worker: &mut WorkerState,
        findings: &mut Findings,
    ) {
        if summary.rules == SymbolTables::EMPTY_RULES {
            return;
        }
        let names = &mut worker.names;
        if !self.options.allow.entries().is_empty()
            && let Some(entry) = self.options.allow.entry_for(names.clients.resolve(hit.client), names.paths.resolve(path), agent())
        {
            findings.allowed.push((entry, hit.client));
            return;
        }
        (hit.rules, hit.path, hit.exposes, hit.windows) = (summary.rules, path, summary.exposes, summary.windows);
        // A line without a client counts for no client.
        hit.windows.by_client &= !matches!(names.clients.resolve(hit.client), Client::Text(b"" | b"-"));
        hit.host = names.host(host);
        findings.push(hit, text);
    }

    /// The summary of a list of rules.
    pub(super) fn summary(&self, list: u32, worker: &mut WorkerState) -> RuleSummary {
        let WorkerState { names, summaries, .. } = worker;
        let at = list as usize;
        if let Some(Some(known)) = summaries.get(at) {
            return *known;
        }
        let counts = |&&rule: &&RuleId| self.options.windows || self.rules.rule(rule).window.is_none();
        let all = names.rules.resolve(list).iter().filter(counts);
        let (signs, mut rules): (Vec<RuleId>, Vec<RuleId>) = all.partition(|&&rule| self.rules.rule(rule).is_app_evidence);
        let is_certain = rules.iter().any(|&rule| self.rules.rule(rule).is_certain());
        if rules.iter().map(|&rule| self.rules.rule(rule)).any(|rule| rule.is_certain() && rule.severity > Severity::Info) {
            // The line alone is a hit, whatever else its client requested.
            rules.retain(|&rule| self.rules.rule(rule).with_client.is_none());
        }
        let exposes = rules.iter().any(|&rule| self.rules.rule(rule).exposes());
        let counts_by = |by| rules.iter().any(|&rule| self.rules.rule(rule).window.is_some_and(|window| window.by == by));
        let windows = Windows {
            by_client: counts_by(By::Client),
            by_path: counts_by(By::Path),
            only: rules.iter().all(|&rule| self.rules.rule(rule).window.is_some()),
        };
        let [signs, rules] = [signs, rules].map(|rules| names.rules.intern(&*rules, Box::from));
        let new = RuleSummary { signs, rules, exposes, is_certain, windows };
        summaries.resize(summaries.len().max(at + 1), None);
        summaries[at] = Some(new);
        new
    }
}

/// Sets the parts of the request that soft 404 detection compares.
fn set_request(hit: &mut Hit, request: &[u8]) {
    let line = RequestLine::parse(request);
    hit.method = MethodClass::of(line.method);
    hit.extra = line.query_len();
    hit.has_query = hit.extra > 0;
}

/// Records the size of the home page.
fn record_home_page(request: &BatchedRequest<'_>, worker: &mut WorkerState, findings: &mut Findings) {
    if let (Some(200), Some(bytes @ 1..)) = (request.frame.status(), request.frame.bytes()) {
        findings.home.record(worker.names.host(request.frame.host), bytes);
    }
}

/// Records app assets that were served to a client.
fn record_app_evidence(hit: &Hit, signs: u32, frame: &Frame<'_>, worker: &mut WorkerState, findings: &mut Findings) {
    if !matches!(hit.status, Some(200..=299)) {
        return;
    }
    let host = worker.names.host(frame.host);
    let sign = AppAsset { client: hit.client, size: hit.bytes.unwrap_or(0), asked: frame.request.len() };
    for &app in worker.names.rules.resolve(signs) {
        findings.signs.record(app, host, sign);
    }
}

/// Records a request that no rule matches, if `learn` can propose its path.
fn record_unmatched(request: &BatchedRequest<'_>, client: u32, worker: &mut WorkerState, findings: &mut Findings) {
    let BatchedRequest { position, frame, .. } = request;
    let (time, status) = (request.time(), frame.status());
    let Some(path) = worker.path_ids.intern(frame.request, &mut worker.names) else { return };
    let mut noted = UnmatchedRequest::new(position.line, position.offset, client, path);
    (noted.time, noted.status) = (time, status);
    noted.linked = Outcome::of(status) == Outcome::Answered && path_interner::is_linked(&frame.record(time));
    let example = path_interner::example(frame.request);
    let is_path = &**worker.names.paths.resolve(path) == example;
    findings.push_unmatched(noted, if is_path { b"" } else { example });
}
