//! The line loop: finds lines, counts each, and keeps those that match.
//!
//! Every line is parsed, unparsed or oversized, and matched in the first two cases. Only a line that matches has its
//! text copied.

use memchr::{memchr, memchr_iter};

use super::{Matcher, Scratch};
use crate::finding::{Findings, Hit, NewHit, Severity};
use crate::format::{Frame, LogFormat};
use crate::record::Outcome;
use crate::rules::RuleSet;
use crate::time::{Bound, LogTime};

/// What a run is asked to look at and to keep.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The only format of the log; `None` for any.
    pub format: Option<LogFormat>,
    /// Lines before this are not looked at.
    pub since: Option<Bound>,
    /// Lines from this on are not looked at.
    pub until: Option<Bound>,
    /// Rules below this are not kept, an answer that means something counted as one level more.
    pub min_severity: Severity,
    /// Outcomes to keep; all where empty.
    pub outcomes: Vec<Outcome>,
    /// The longest line that is looked at, in bytes.
    pub max_line: usize,
}

impl Default for Scope {
    fn default() -> Self {
        Self { format: None, since: None, until: None, min_severity: Severity::Low, outcomes: Vec::new(), max_line: 1 << 20 }
    }
}

/// A parsed line of so many bytes is looked through for NULs: a hole takes whole blocks of a disk, and the shortest have
/// so many. The line it begins in may parse, with the hole in its request and other lines swallowed. Nearly all lines are
/// shorter.
const MAY_HOLD_A_HOLE: usize = 512;

/// Judges runs of lines.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    rules: &'a RuleSet,
    matcher: Matcher<'a>,
    scope: &'a Scope,
}

impl<'a> Judge<'a> {
    /// A judge who goes by `rules`, within `scope`.
    #[must_use]
    pub fn new(rules: &'a RuleSet, scope: &'a Scope) -> Self {
        Self { rules, matcher: Matcher::new(rules), scope }
    }

    /// Judges whole lines; the last one may lack its newline.
    #[must_use]
    pub fn judge(&self, lines: &[u8], scratch: &mut Scratch) -> Findings {
        let mut findings = Findings::default();
        let mut start = 0;
        while start < lines.len() {
            let length = memchr(b'\n', &lines[start..]);
            let end = length.map_or(lines.len(), |n| start + n);
            self.line(&lines[start..end], start as u64, length.is_some(), scratch, &mut findings);
            start = end + 1;
        }
        findings
    }

    fn line(&self, line: &[u8], offset: u64, ended: bool, scratch: &mut Scratch, findings: &mut Findings) {
        let holes = if line.first() == Some(&0) { line.iter().take_while(|&&b| b == 0).count() } else { 0 };
        findings.lines.nul_bytes += holes as u64;
        let text = &line[holes..];
        if text.is_empty() && !ended {
            return;
        }
        let hit = Hit::at(findings.lines.lines as u32, offset + holes as u64);
        findings.lines.lines += 1;
        if text.len() > self.scope.max_line {
            findings.lines.oversized += 1;
            findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
            return;
        }
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        match Frame::locate(text, self.scope.format) {
            Some(frame) => self.parsed(text, &frame, hit, scratch, findings),
            None => self.unparsed(text, hit, scratch, findings),
        }
    }

    fn parsed(&self, text: &[u8], frame: &Frame<'_>, mut hit: Hit, scratch: &mut Scratch, findings: &mut Findings) {
        let headers = frame.headers();
        findings.lines.parsed[frame.format(headers) as usize] += 1;
        if text.len() >= MAY_HOLD_A_HOLE {
            findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
        }
        hit.time = scratch.clock.parse(frame.time);
        if let Some(time) = hit.time {
            findings.times = Some(findings.times.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
        }
        if !self.in_window(hit.time, findings) {
            return;
        }
        findings.requests += 1;
        let client = findings.clients.number(frame.address);
        findings.clients.count_mut(client).requests += 1;
        if self.matcher.knows_clean(frame.request, headers, scratch) {
            return;
        }
        let record = frame.record(hit.time);
        let verdict = self.matcher.verdict(&record, headers, scratch);
        if verdict.rules.is_empty() {
            return;
        }
        findings.clients.count_mut(client).matched += 1;
        hit.parsed = true;
        (hit.status, hit.bytes) = (record.status, record.bytes);
        self.keep(hit, NewHit { text, path: &verdict.path, client: frame.client, host: frame.host, rules: &verdict.rules }, findings);
    }

    fn unparsed(&self, text: &[u8], hit: Hit, scratch: &mut Scratch, findings: &mut Findings) {
        findings.lines.unparsed += 1;
        findings.lines.nul_bytes += memchr_iter(0, text).count() as u64;
        if !self.in_window(None, findings) {
            return;
        }
        let verdict = self.matcher.raw_verdict(text, scratch);
        if !verdict.rules.is_empty() {
            self.keep(hit, NewHit { text, path: &verdict.path, client: b"", host: None, rules: &verdict.rules }, findings);
        }
    }

    /// Whether a line lies between `--since` and `--until`; one without a time does, and is counted.
    fn in_window(&self, time: Option<LogTime>, findings: &mut Findings) -> bool {
        let Scope { since, until, .. } = self.scope;
        if since.is_none() && until.is_none() {
            return true;
        }
        let Some(time) = time else {
            findings.without_time += 1;
            return true;
        };
        !since.is_some_and(|bound| bound.is_after(time)) && until.is_none_or(|bound| bound.is_after(time))
    }

    /// Keeps a line, where some of the rules it matched are asked for.
    fn keep(&self, mut hit: Hit, new: NewHit<'_>, findings: &mut Findings) {
        let outcome = Outcome::of(hit.status);
        if !self.scope.outcomes.is_empty() && !self.scope.outcomes.contains(&outcome) {
            return;
        }
        let answered = outcome == Outcome::Answered;
        let rules = || new.rules.iter().copied().filter(|&rule| self.rules.rule(rule).severity_when(answered) >= self.scope.min_severity);
        hit.exposes = rules().any(|rule| self.rules.rule(rule).exposes());
        findings.push(hit, new, rules());
    }
}
