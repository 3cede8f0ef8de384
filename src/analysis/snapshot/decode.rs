//! Rebuilds a tally from the rows of a snapshot, which is untrusted input: every number must refer to an earlier row,
//! every time must be valid in a log, and no sum may overflow.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use foldhash::HashMap;

use super::rows::{
    AllowedRow, AppEvidenceRow, BackRef, CellRow, CellTimesRow, ClientErrorRow, ClientRow, ErrorFloorRow, HomePageRow, InputRow, MinuteRow,
    PathErrorRow, RangeRow, RuleRow, SampleRow, SitePathRow, TimeUnitRow, TimesRow, UnmatchedAnswersRow, span,
};
use super::{AllowOrigin, ReportSnapshot};
use crate::analysis::model::InputSummary;
use crate::client::Client;
use crate::finding::{BoundedSet, OtherFormatCounts, RuleId};
use crate::formats::LogFormat;
use crate::intern::SymbolTables;
use crate::redact::mask::pre_redacted;
use crate::redact::sanitize::escape;
use crate::rules::{AnswerMeaning, By, Guess, MAX_RULES, Rule, RuleSet, Window, WithClient};
use crate::soft_404::{HomeSizes, MethodClass, PathEvidence, PathNumbers, SiteEvidence};
use crate::source::{SourceInfo, unescaped};
use crate::tally::{
    Cell, ClientCount, ErrorFloor, ImportedKey, ImportedSample, LinePosition, ListedTimes, MinuteKey, Sample, SampleContent, SizeSpan,
    TimeCounts, TimeUnit, UnmatchedAnswers, WEEK_HOURS,
};
use crate::time::LogTime;

/// The greatest count of one report, so that thousands of reports can be merged.
const MOST: u64 = 1 << 50;
/// The most formats of one log, because each is stored by name.
const MOST_FORMATS: usize = 256;

/// The most targets that are known by their text; checking a target for secrets takes as long as the rest of a cell.
const MOST_TARGETS: usize = 1 << 13;

/// A tally that is being rebuilt.
pub(crate) struct SnapshotDecoder<'r> {
    known: &'r RuleSet,
    evidence: ReportSnapshot,
    /// By index; `None` for a rule that is ignored here.
    rules: Vec<Option<RuleId>>,
    hosts: Vec<DecodedHost>,
    clients: Vec<u32>,
    paths: Vec<DecodedPath>,
    lists: Vec<u32>,
    generations: Vec<u64>,
    agents: Vec<Arc<[u8]>>,
    /// Targets of samples as printed, and what is stored of them.
    targets: HashMap<String, Arc<[u8]>>,
    /// The unit of the times of cells; `None` in a report without them.
    unit: Option<TimeUnit>,
    /// The times of cells that follow, and the number of cells so far.
    times: VecDeque<CellTimesRow>,
    cells: u32,
    /// The sum of all hits, requests, lines and errors so far.
    sum: u64,
}

struct DecodedHost {
    number: u32,
    shown: Arc<[u8]>,
}

struct DecodedPath {
    number: u32,
    bytes: Arc<[u8]>,
}

impl<'r> SnapshotDecoder<'r> {
    pub(crate) fn new(known: &'r RuleSet) -> Self {
        Self {
            known,
            evidence: ReportSnapshot::default(),
            rules: Vec::new(),
            hosts: Vec::new(),
            clients: Vec::new(),
            paths: Vec::new(),
            lists: Vec::new(),
            generations: Vec::new(),
            agents: Vec::new(),
            targets: HashMap::default(),
            unit: None,
            times: VecDeque::new(),
            cells: 0,
            sum: 0,
        }
    }

    pub(crate) fn finish(self) -> ReportSnapshot {
        self.evidence
    }

    pub(crate) fn rule(&mut self, row: RuleRow<'_>) -> Result<(), String> {
        check_rule_id(&row.id)?;
        let number = match self.known.number_of(&row.id) {
            Some(number) => Some(number),
            // Without its counts, the floods of this rule are unknown.
            None if row.window && row.counts.is_none() && row.guess.is_none() => None,
            None => {
                let unknown = &mut self.evidence.unknown_rules;
                let number = self.known.rules().len() + unknown.len();
                if number >= MAX_RULES || unknown.iter().any(|rule| rule.id == *row.id) {
                    return Err(format!("the rule '{}' occurs twice, or there are too many rules", row.id));
                }
                unknown.push(imported_rule(row)?);
                Some(RuleId(number as u16))
            }
        };
        self.rules.push(number);
        Ok(())
    }

    pub(crate) fn input(&mut self, row: &InputRow<'_>) -> Result<(), String> {
        let counts = [row.bytes, row.lines, row.unparsed, row.oversized, row.skipped, row.pending, row.requests];
        counts.into_iter().chain(row.formats).try_for_each(|count| self.add(count))?;
        self.add(row.parsed)?;
        let others = self.others(&row.other_formats)?;
        let spans = row.ranges.iter().map(RangeRow::span).collect::<Result<_, _>>()?;
        let path = bytes(&row.path)?;
        let log_host = row.log_host.as_ref().map(|host| escape(host.as_bytes()).into_owned());
        let (first_time, last_time) = span(row.times)?.unzip();
        self.evidence.sources.push(SourceInfo::new(path.clone(), 0, Vec::new()).with_host(log_host.as_deref()));
        self.evidence.inputs.push(InputSummary {
            path,
            log_host,
            format: LogFormat::most_frequent(&row.formats, &others),
            bytes: row.bytes,
            lines: row.lines,
            parsed: row.parsed,
            formats: row.formats,
            others,
            unparsed: row.unparsed,
            oversized: row.oversized,
            skipped: row.skipped,
            pending: row.pending,
            requests: row.requests,
            hits: 0,
            first_time,
            last_time,
            problem: row.problem.as_ref().map(|problem| escape(problem.as_bytes()).into_owned()),
            warning: row.warning.as_ref().map(|warning| escape(warning.as_bytes()).into_owned()),
            skipped_whole: row.skipped_whole,
            spans,
        });
        Ok(())
    }

    /// The line counts of other formats, by name.
    fn others(&mut self, rows: &[(Cow<'_, str>, u64)]) -> Result<OtherFormatCounts, String> {
        if rows.len() > MOST_FORMATS {
            return Err(format!("it has {} formats of one log", rows.len()));
        }
        let mut others = OtherFormatCounts::default();
        for (name, lines) in rows {
            self.add(*lines)?;
            others.count(&escape(name.as_bytes()).as_ref().into(), *lines);
        }
        Ok(others)
    }

    pub(crate) fn host(&mut self, row: &str) -> Result<(), String> {
        let host = bytes(row)?;
        if self.hosts.is_empty() != host.is_empty() {
            return Err("exactly the first host must be empty".into());
        }
        let number = self.evidence.tally.insert_host(&host);
        self.hosts.push(DecodedHost { number, shown: host.into() });
        Ok(())
    }

    pub(crate) fn client(&mut self, row: &ClientRow<'_>) -> Result<(), String> {
        let ClientRow(name, requests, allowed) = row;
        self.add(*requests)?;
        self.add(*allowed)?;
        let count = ClientCount { requests: *requests, allowed: *allowed, ..ClientCount::default() };
        self.clients.push(self.evidence.tally.insert_client(Client::parse(&bytes(name)?), count));
        Ok(())
    }

    pub(crate) fn unmatched_answers(&mut self, row: &UnmatchedAnswersRow) -> Result<(), String> {
        let &UnmatchedAnswersRow(client, refused, redirected, served, least, most) = row;
        if (served == 0) != (least > most) {
            return Err(format!("{served} pages have the sizes {least} to {most}"));
        }
        let client = *at(&self.clients, client, "client")?;
        let unmatched = UnmatchedAnswers { refused, redirected, served, sizes: SizeSpan { least, most } };
        self.evidence.tally.insert_unmatched_answers(client, unmatched);
        Ok(())
    }

    pub(crate) fn path(&mut self, row: &str) -> Result<(), String> {
        let bytes = bytes(row)?;
        let number = self.evidence.tally.insert_path(&bytes);
        self.paths.push(DecodedPath { number, bytes: bytes.into() });
        Ok(())
    }

    pub(crate) fn list(&mut self, row: &[u32]) -> Result<(), String> {
        let rules: Vec<Option<RuleId>> = row.iter().map(|&index| at(&self.rules, index, "rule").copied()).collect::<Result<_, _>>()?;
        let mut rules: Vec<RuleId> = rules.into_iter().flatten().collect();
        rules.sort_unstable();
        rules.dedup();
        self.lists.push(self.evidence.tally.insert_rule_list(&rules));
        Ok(())
    }

    pub(crate) fn time_unit(&mut self, row: TimeUnitRow) -> Result<(), String> {
        let TimeUnitRow(seconds, has_hours) = row;
        let unit = TimeUnit::from_seconds(seconds).ok_or_else(|| format!("{seconds} seconds is no unit of time"))?;
        if self.cells > 0 || self.unit.replace(unit).is_some() {
            return Err("the unit of time occurs twice, or after the cells".into());
        }
        self.evidence.tally.insert_time_unit(unit, has_hours);
        Ok(())
    }

    pub(crate) fn times(&mut self, row: CellTimesRow) -> Result<(), String> {
        let is_next = self.times.back().is_none_or(|before| before.0 < row.0);
        if self.cells > 0 || self.unit.is_none() || !is_next {
            return Err("the times of a cell are in the wrong place".into());
        }
        self.times.push_back(row);
        Ok(())
    }

    /// The times of the next cell, with these hits.
    fn cell_times(&mut self, hits: u64, times: Option<TimesRow>) -> Result<Option<Box<TimeCounts>>, String> {
        let index = self.cells;
        self.cells += 1;
        let Some((first, last)) = span(times)? else { return Ok(None) };
        let Some(unit) = self.unit else {
            // Another version wrote the report. The times of further hits are unknown.
            let is_minute = first.utc.div_euclid(60) == last.utc.div_euclid(60) && first.offset == last.offset;
            let untimed = if is_minute { 0 } else { hits.saturating_sub(2) };
            let listed = ListedTimes { untimed, ..ListedTimes::default() };
            return Ok((untimed > 0).then(|| Box::new(TimeCounts::from_listed(TimeUnit::default(), &listed))));
        };
        if self.times.front().is_none_or(|row| row.0 != index) {
            return Ok(None);
        }
        self.times
            .pop_front()
            .map(|row| Ok(Box::new(TimeCounts::from_listed(unit, &listed_times(row, unit, hits, first, last)?))))
            .transpose()
    }

    pub(crate) fn cell(&mut self, row: CellRow<'_>) -> Result<(), String> {
        self.add(row.hits)?;
        self.add(row.error)?;
        at(&self.evidence.inputs, row.input, "input")?;
        let host = row.host.map(|host| at(&self.hosts, host, "host")).transpose()?;
        if host.is_none() && row.client.or(row.path).is_none() {
            return Err("it has a cell without a host, a client and a path".into());
        }
        let key = ImportedKey {
            client: row.client.map_or(Ok(SymbolTables::OTHER), |client| at(&self.clients, client, "client").copied())?,
            path: row.path.map_or(Ok(SymbolTables::OTHER), |path| Ok::<_, String>(at(&self.paths, path, "path")?.number))?,
            rules: *at(&self.lists, row.list, "list of rules")?,
            status: row.status,
            input: if host.is_some() { row.input } else { SymbolTables::NO_INPUT },
            host: host.map_or(SymbolTables::NO_HOST, |host| host.number),
            answered: row.answered,
            is_probe: row.is_probe,
            method: MethodClass::from_u8(row.method),
            bytes: row.bytes,
            extra: row.extra,
        };
        let sample = self.sample(row.sample, (row.input, row.path, row.host, row.status))?;
        // Only pairs can lack hits here; evicted hits are all in other cells.
        let error = row.client.and(row.path).map_or(0, |_| row.error);
        let counts = self.cell_times(row.hits, row.times)?;
        self.evidence.tally.insert_cell(key, Cell { hits: row.hits, error, times: span(row.times)?, counts, sample });
        Ok(())
    }

    /// The sample of a cell with this input, path, host and status.
    fn sample(&mut self, row: SampleRow<'_>, of: (u32, Option<u32>, Option<u32>, Option<u16>)) -> Result<Sample, String> {
        let (input, path, host, status) = of;
        if row.offset >= 1 << 62 || row.line >= 1 << 62 {
            return Err("a line number or an offset is out of range".into());
        }
        let generation = self.generation(row.generation)?;
        let user_agent = row.user_agent.map(|agent| self.agent(agent)).transpose()?;
        let target = match (row.target, path) {
            (Some(target), _) => self.target(target),
            (None, Some(path)) => Arc::clone(&at(&self.paths, path, "path")?.bytes),
            (None, None) => return Err("it has a request without a target".into()),
        };
        let usual = || {
            let host = host.map(|host| at(&self.hosts, host, "host")).transpose()?;
            Ok::<_, String>(host.map(|host| host.shown.clone()).filter(|host| !host.is_empty()))
        };
        let imported = ImportedSample {
            generation,
            line: row.line,
            target,
            status,
            host: row.host.map_or_else(usual, |host| Ok(Some(imported_text(&host))))?,
            user_agent,
            user: row.user.map(|user| imported_text(&user).as_ref().into()),
        };
        let position = LinePosition { input, chunk: row.offset, offset: 0, line: row.line };
        Ok(Sample {
            time: row.time.map(super::rows::TimeRow::time).transpose()?,
            position,
            content: SampleContent::Imported(Box::new(imported)),
        })
    }

    /// The target of a sample. A scanner sends the same ones from many clients.
    fn target(&mut self, printed: Cow<'_, str>) -> Arc<[u8]> {
        if let Some(known) = self.targets.get(&*printed) {
            return Arc::clone(known);
        }
        let target = imported_text(&printed);
        if self.targets.len() < MOST_TARGETS {
            self.targets.insert(printed.into_owned(), Arc::clone(&target));
        }
        target
    }

    fn generation(&mut self, mention: BackRef<'_>) -> Result<u64, String> {
        match mention {
            BackRef::Again(number) => at(&self.generations, number, "generation").copied(),
            BackRef::First(digits) => {
                let wrong = |_| format!("'{}' names no generation of a log", escape(digits.as_bytes()));
                let generation = u64::from_str_radix(&digits, 16).map_err(wrong)?;
                self.generations.push(generation);
                Ok(generation)
            }
        }
    }

    fn agent(&mut self, mention: BackRef<'_>) -> Result<Arc<[u8]>, String> {
        match mention {
            BackRef::Again(number) => at(&self.agents, number, "user agent").cloned(),
            BackRef::First(agent) => {
                let agent = imported_text(&agent);
                self.agents.push(Arc::clone(&agent));
                Ok(agent)
            }
        }
    }

    pub(crate) fn minute(&mut self, row: MinuteRow) -> Result<(), String> {
        let minute = row.minute()?;
        let MinuteRow(client, path, list, _, requests) = row;
        self.add(requests)?;
        let rules = *at(&self.lists, list, "list of rules")?;
        let key = match (client, path) {
            (Some(client), None) => MinuteKey { client: *at(&self.clients, client, "client")?, path: SymbolTables::OTHER, rules, minute },
            (None, Some(path)) => MinuteKey { client: SymbolTables::OTHER, path: at(&self.paths, path, "path")?.number, rules, minute },
            _ => return Err("it counts requests in a minute that are neither those of one client nor those for one path".into()),
        };
        self.evidence.tally.insert_minute(key, requests);
        Ok(())
    }

    pub(crate) fn uncounted(&mut self, requests: u64) -> Result<(), String> {
        self.add(requests)?;
        self.evidence.tally.insert_uncounted(requests);
        Ok(())
    }

    pub(crate) fn app_evidence(&mut self, row: &AppEvidenceRow) -> Result<(), String> {
        let AppEvidenceRow(rule, input, host, clients, sizes, magnitudes) = row;
        let rule = *at(&self.rules, *rule, "rule")?;
        let input = input.unwrap_or(0);
        at(&self.evidence.inputs, input, "input")?;
        let host = at(&self.hosts, host.unwrap_or(0), "host")?.number;
        let clients: Option<Vec<u32>> = clients
            .as_ref()
            .map(|indices| indices.iter().map(|&index| at(&self.clients, index, "client").copied()).collect())
            .transpose()?;
        // Without a list there were enough clients; any three represent them.
        let any: [u32; BoundedSet::MIN_DISTINCT] = match (&clients, self.clients.first_chunk()) {
            (None, None) => return Err("more clients saw an app than there are".into()),
            (_, first) => first.copied().unwrap_or_default(),
        };
        if let Some(rule) = rule {
            self.evidence.tally.insert_app_evidence(
                rule,
                input,
                host,
                &BoundedSet::from_listed(clients.as_deref(), sizes.as_deref(), *magnitudes, any),
            );
        }
        Ok(())
    }

    pub(crate) fn home(&mut self, row: &HomePageRow) -> Result<(), String> {
        let HomePageRow(input, host, sizes) = row;
        let (input, host) = self.site(*input, *host)?;
        let mut home = HomeSizes::default();
        for size in sizes {
            home.insert(*size);
        }
        self.evidence.tally.insert_home(input, host, &home);
        Ok(())
    }

    pub(crate) fn site_path(&mut self, row: SitePathRow) -> Result<(), String> {
        let SitePathRow(input, host, path, shape, rules, flags, get, post, partial, clients, hours) = row;
        let (input, host) = self.site(input, host)?;
        let path = u64::from_str_radix(&path, 16).map_err(|_| format!("'{}' is no hash of a path", escape(path.as_bytes())))?;
        let rules: Vec<Option<RuleId>> = rules.iter().map(|&index| at(&self.rules, index, "rule").copied()).collect::<Result<_, _>>()?;
        let rules: Vec<RuleId> = rules.into_iter().flatten().collect();
        let known = PathEvidence::from_numbers(PathNumbers { shape, flags, get, post, partial, clients, hours }, &rules);
        let mut evidence = SiteEvidence::default();
        evidence.insert(path, &Arc::new(known));
        self.evidence.tally.insert_evidence(input, host, &evidence);
        Ok(())
    }

    fn site(&self, input: Option<u32>, host: Option<u32>) -> Result<(u32, u32), String> {
        let input = input.unwrap_or(0);
        at(&self.evidence.inputs, input, "input")?;
        Ok((input, at(&self.hosts, host.unwrap_or(0), "host")?.number))
    }

    pub(crate) fn allowed(&mut self, row: AllowedRow<'_>) -> Result<(), String> {
        let AllowedRow(file, line, reason, requests) = row;
        self.add(requests)?;
        let shown = |logged: &str| escape(logged.as_bytes()).into_owned();
        let entry = u16::try_from(self.evidence.allowed.len()).map_err(|_| "it has too many entries of allow lists".to_owned())?;
        self.evidence.allowed.push(AllowOrigin { file: shown(&file), line, reason: shown(&reason) });
        self.evidence.tally.insert_allowed(entry, requests);
        Ok(())
    }

    pub(crate) fn without_time(&mut self, lines: u64) -> Result<(), String> {
        self.add(lines)?;
        self.evidence.without_time = lines;
        Ok(())
    }

    pub(crate) fn floor(&mut self, row: &ErrorFloorRow) -> Result<(), String> {
        let &ErrorFloorRow { pairs, clients, requests, paths } = row;
        [pairs, clients, requests, paths].into_iter().try_for_each(|most| self.add(most))?;
        self.evidence.tally.insert_error_floor(ErrorFloor { pairs, clients, requests, paths });
        Ok(())
    }

    pub(crate) fn client_error(&mut self, row: &ClientErrorRow) -> Result<(), String> {
        let &ClientErrorRow(client, hits, requests) = row;
        self.add(hits)?;
        self.add(requests)?;
        let client = *at(&self.clients, client, "client")?;
        self.evidence.tally.insert_client_error(client, hits, requests);
        Ok(())
    }

    pub(crate) fn path_error(&mut self, row: &PathErrorRow) -> Result<(), String> {
        let &PathErrorRow(path, hits) = row;
        self.add(hits)?;
        let path = at(&self.paths, path, "path")?.number;
        self.evidence.tally.insert_path_error(path, hits);
        Ok(())
    }

    fn add(&mut self, count: u64) -> Result<(), String> {
        self.sum = self.sum.checked_add(count).filter(|sum| *sum <= MOST).ok_or("it counts more than any log can hold")?;
        Ok(())
    }
}

/// The times of a cell with these hits, checked: sorted, between its first and its last, and no more than its hits.
fn listed_times(row: CellTimesRow, unit: TimeUnit, hits: u64, first: LogTime, last: LogTime) -> Result<ListedTimes, String> {
    let CellTimesRow(_, untimed, hours, buckets) = row;
    let mut listed = ListedTimes { untimed, ..ListedTimes::default() };
    for pair in hours.chunks(2) {
        let hour = u32::try_from(pair[0]).ok().filter(|&hour| (hour as usize) < WEEK_HOURS);
        let is_next = hour > listed.hours.last().map(|before| before.0);
        let hour = hour.filter(|_| is_next).ok_or("the hours of a cell are in the wrong order")?;
        listed.hours.push((hour, pair.get(1).copied().unwrap_or(0)));
    }
    let (mut bucket, end) = (unit.bucket(first.utc), unit.bucket(last.utc));
    for (number, pair) in buckets.chunks(2).enumerate() {
        let more = u32::try_from(pair[0]).ok().filter(|&more| more > 0 || number == 0);
        let next = more.and_then(|more| bucket.checked_add(more)).filter(|&next| next <= end);
        bucket = next.ok_or("the times of a cell are not within its first and its last")?;
        listed.buckets.push((bucket, pair.get(1).copied().unwrap_or(0)));
    }
    let most = hits.checked_sub(1).and_then(|timed| timed.checked_sub(untimed));
    let fits = |list: &[(u32, u64)]| {
        let sum = list.iter().try_fold(0_u64, |sum, (_, hits)| sum.checked_add(*hits));
        sum <= most && sum.is_some()
    };
    if most.is_none() || !fits(&listed.hours) || !fits(&listed.buckets) {
        return Err("the times of a cell are more than its hits".into());
    }
    Ok(listed)
}

fn at<'t, T>(list: &'t [T], index: u32, what: &str) -> Result<&'t T, String> {
    list.get(index as usize).ok_or_else(|| format!("it refers to {what} {index} of {}", list.len()))
}

fn bytes(exact: &str) -> Result<Vec<u8>, String> {
    unescaped(exact).ok_or_else(|| format!("'{}' has a backslash that begins no \\xNN", escape(exact.as_bytes())))
}

/// A text that was printed before. It is escaped again, as it is untrusted.
fn imported_text(printed: &str) -> Arc<[u8]> {
    pre_redacted(&escape(printed.as_bytes())).into()
}

/// The most bytes of a word: an id, a class, a CVE id, the name of an app.
const WORD: usize = 120;
/// The most words of a list.
const WORDS: usize = 100;

/// Checks the id of a rule.
pub(crate) fn check_rule_id(id: &str) -> Result<(), String> {
    check(id.split_once('/').is_some_and(|(family, name)| is_word(family) && is_word(name)), "id", id)
}

/// A rule that is known only from a report; it matches nothing.
fn imported_rule(row: RuleRow<'_>) -> Result<Rule, String> {
    let RuleRow { id, title, class, severity, exposes, with_client, same_answer, window: _, counts, others, guess, unless_app, .. } = row;
    let RuleRow { is_app_evidence, subject, cve, .. } = row;
    check(is_word(&class), "class", &class)?;
    let words = |words: Vec<_>| -> Result<Vec<String>, String> {
        check(words.len() <= WORDS, "list", "of too many words")?;
        words.iter().try_for_each(|word: &Cow<'_, str>| check(is_word(word), "word", word))?;
        Ok(words.into_iter().map(Cow::into_owned).collect())
    };
    let with_client = with_client
        .map(|(distinct_paths, classes)| Ok::<_, String>(WithClient { distinct_paths, classes: words(classes)?, same_answer }))
        .transpose()?;
    Ok(Rule {
        id: id.into_owned(),
        title: escape(title.as_bytes()).chars().take(WORD).collect(),
        class: class.into_owned(),
        severity,
        answer: if exposes { AnswerMeaning::Exposes } else { AnswerMeaning::Inconclusive },
        with_client,
        window: counts.map(|counts| window(counts, others)).transpose()?,
        guess: checked_guess(guess)?,
        unless_app: words(unless_app)?,
        is_app_evidence,
        subject,
        cve: words(cve)?,
        attack: Vec::new(),
        cwe: Vec::new(),
        references: Vec::new(),
        false_positives: Vec::new(),
        must_match: Vec::new(),
        must_not_match: Vec::new(),
    })
}

fn window((by, count, within): (By, u32, u32), others: Option<u32>) -> Result<Window, String> {
    let window = Window { by, count, within, others };
    if window.is_valid() { Ok(window) } else { Err(format!("{count} requests within {within} seconds is no window of a rule")) }
}

fn checked_guess(guess: Option<Guess>) -> Result<Option<Guess>, String> {
    match guess {
        Some(guess) if !guess.is_valid() => Err(format!("{} requests are no guesses of a rule", guess.count)),
        guess => Ok(guess),
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.len() <= WORD && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn check(holds: bool, what: &str, found: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("'{}' is no {what} of a rule", escape(found.as_bytes()))) }
}
