//! Rebuilds a tally from the rows of a snapshot, which is untrusted input: every number must refer
//! to an earlier row, every time must be valid in a log, and no sum may overflow.

use std::borrow::Cow;
use std::sync::Arc;

use foldhash::HashMap;

use super::rows::{CellRow, HeadRow, RuleRow, SampleRow, SnapshotRow};
use super::{AllowOrigin, ReportSnapshot};
use crate::collections::intern::SymbolTables;
use crate::formats::LogFormat;
use crate::log::client::{Client, Ipv6Prefix};
use crate::log::days::DAY;
use crate::log::finding::{BoundedSet, OtherFormatCounts, RuleId};
use crate::log::source::{SourceInfo, unescaped};
use crate::log::time::LogTime;
use crate::rules::{
    AnswerMeaning, By, Guess, MAX_RULES, Rule, RuleNotes, RuleSet, Window, WithClient,
};
use crate::scan::input_summary::InputSummary;
use crate::soft_404::{HomeSizes, MethodClass, PathEvidence, SiteEvidence};
use crate::tally::{
    Cell, ClientCount, ErrorFloor, ImportedKey, ImportedSample, LinePosition, ListedTimes,
    MinuteKey, Sample, SizeSpan, TimeCounts, TimeUnit, UnmatchedAnswers, WEEK_HOURS,
};
use crate::text::redact::mask::pre_redacted;
use crate::text::redact::sanitize::escape;

/// The greatest count of one report, so that thousands of reports can be merged.
const MOST: u64 = 1 << 50;
/// The most formats of one log, because each is stored by name.
const MOST_FORMATS: usize = 256;

/// The most targets that are known by their text; checking a target for secrets takes as long as
/// the rest of a cell.
const MOST_TARGETS: usize = 1 << 13;

/// A tally that is being rebuilt.
pub(crate) struct SnapshotDecoder<'r> {
    known: &'r RuleSet,
    evidence: ReportSnapshot,
    /// By index; `None` for a rule that is ignored here.
    rules: Vec<Option<RuleId>>,
    /// Numbers and texts, by index; the first one stands for no host.
    hosts: Vec<(u32, Arc<[u8]>)>,
    clients: Vec<u32>,
    paths: Vec<(u32, Arc<[u8]>)>,
    lists: Vec<u32>,
    generations: Vec<u64>,
    agents: Vec<Arc<[u8]>>,
    /// Targets of samples as printed, and what is stored of them.
    targets: HashMap<String, Arc<[u8]>>,
    /// The unit of the times of cells; `None` before the first row.
    unit: Option<TimeUnit>,
    /// The times of the next cell.
    times: Option<(u64, Vec<u64>, Vec<u64>)>,
    /// The sum of all hits, requests, lines and errors so far.
    sum: u64,
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
            times: None,
            sum: 0,
        }
    }

    /// The snapshot, after its last row.
    pub(crate) fn finish(self) -> Result<ReportSnapshot, String> {
        if self.unit.is_some() && self.times.is_none() {
            Ok(self.evidence)
        } else {
            Err("it is incomplete".into())
        }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, row: SnapshotRow<'_>) -> Result<(), String> {
        if self.unit.is_none() != matches!(row, SnapshotRow::Head(_)) {
            return Err("exactly its first row must be its head".into());
        }
        match row {
            SnapshotRow::Head(row) => self.head(row)?,
            SnapshotRow::Rule(row) => self.rule(row)?,
            SnapshotRow::Input(row) => self.input(row)?,
            SnapshotRow::Host(host) => {
                let host = bytes(&host)?;
                if self.hosts.is_empty() != host.is_empty() {
                    return Err("exactly the first host must be empty".into());
                }
                self.hosts
                    .push((self.evidence.tally.insert_host(&host), host.into()));
            }
            SnapshotRow::Client(name, requests, allowed) => {
                self.add(requests)?;
                self.add(allowed)?;
                let count = ClientCount {
                    requests,
                    allowed,
                    ..ClientCount::default()
                };
                self.clients.push(
                    self.evidence
                        .tally
                        .insert_client(Client::parse(&bytes(&name)?), count),
                );
            }
            SnapshotRow::UnmatchedAnswers(client, refused, redirected, served, least, most) => {
                if (served == 0) != (least > most) {
                    return Err(format!("{served} pages have the sizes {least} to {most}"));
                }
                let unmatched = UnmatchedAnswers {
                    refused,
                    redirected,
                    served,
                    sizes: SizeSpan { least, most },
                };
                self.evidence
                    .tally
                    .insert_unmatched_answers(*at(&self.clients, client, "client")?, unmatched);
            }
            SnapshotRow::Path(path) => {
                let path = bytes(&path)?;
                self.paths
                    .push((self.evidence.tally.insert_path(&path), path.into()));
            }
            SnapshotRow::List(rules) => {
                let mut rules = self.rules(&rules)?;
                rules.sort_unstable();
                rules.dedup();
                self.lists
                    .push(self.evidence.tally.insert_rule_list(&rules));
            }
            SnapshotRow::Generation(generation) => self.generations.push(generation),
            SnapshotRow::Agent(agent) => self.agents.push(imported_text(&agent)),
            SnapshotRow::Times(untimed, hours, buckets) => {
                if self.times.replace((untimed, hours, buckets)).is_some() {
                    return Err("the times of a cell are in the wrong place".into());
                }
            }
            SnapshotRow::Cell(row) => self.cell(row)?,
            SnapshotRow::Minute(client, path, list, minute, requests) => {
                self.add(requests)?;
                let is_known = minute
                    .checked_mul(60)
                    .is_some_and(|seconds| LogTime::try_from((seconds, 0)).is_ok());
                let rules = *at(&self.lists, list, "list of rules")?;
                let (client, path) = match (client, path) {
                    _ if !is_known => return Err(format!("minute {minute} is no time of a log")),
                    (Some(client), None) => (*at(&self.clients, client, "client")?, SymbolTables::OTHER),
                    (None, Some(path)) => (SymbolTables::OTHER, at(&self.paths, path, "path")?.0),
                    _ => return Err("it counts requests in a minute that are neither those of one client nor those for one path".into()),
                };
                self.evidence.tally.insert_minute(
                    MinuteKey {
                        client,
                        path,
                        rules,
                        minute,
                    },
                    requests,
                );
            }
            SnapshotRow::AppEvidence(rule, input, host, clients, sizes, magnitudes) => {
                self.app_evidence(rule, (input, host), clients, sizes.as_deref(), magnitudes)?;
            }
            SnapshotRow::HomePage(input, host, sizes) => {
                let (input, host) = self.site(input, host)?;
                let mut home = HomeSizes::default();
                for size in sizes {
                    home.insert(size);
                }
                self.evidence.tally.insert_home(input, host, &home);
            }
            SnapshotRow::SitePath(input, host, path, rules, numbers) => {
                let (input, host) = self.site(input, host)?;
                let mut evidence = SiteEvidence::default();
                evidence.insert(
                    path,
                    &Arc::new(PathEvidence::from_numbers(numbers, &self.rules(&rules)?)),
                );
                self.evidence.tally.insert_evidence(input, host, &evidence);
            }
            SnapshotRow::Allowed(file, line, reason, requests) => {
                self.add(requests)?;
                let shown = |logged: &str| escape(logged.as_bytes()).into_owned();
                let entry = u16::try_from(self.evidence.allowed.len());
                let entry =
                    entry.map_err(|_| "it has too many entries of allow lists".to_owned())?;
                self.evidence.allowed.push(AllowOrigin {
                    file: shown(&file),
                    line,
                    reason: shown(&reason),
                });
                self.evidence.tally.insert_allowed(entry, requests);
            }
            SnapshotRow::ClientError(client, hits, requests) => {
                self.add(hits)?;
                self.add(requests)?;
                self.evidence.tally.insert_client_error(
                    *at(&self.clients, client, "client")?,
                    hits,
                    requests,
                );
            }
            SnapshotRow::PathError(path, hits) => {
                self.add(hits)?;
                self.evidence
                    .tally
                    .insert_path_error(at(&self.paths, path, "path")?.0, hits);
            }
        }
        Ok(())
    }

    fn head(&mut self, row: HeadRow) -> Result<(), String> {
        let HeadRow {
            log_host,
            period,
            ipv6_prefix,
            time_unit,
            has_hours,
            without_time,
            days,
            uncounted,
            floor,
        } = row;
        let unit = TimeUnit::from_seconds(time_unit)
            .ok_or_else(|| format!("{time_unit} seconds is no unit of time"))?;
        let prefix = ipv6_prefix
            .map(|bits| Ipv6Prefix::new(bits).ok_or_else(|| format!("{bits} is no ipv6_prefix")))
            .transpose()?;
        self.add(without_time)?;
        self.add(uncounted)?;
        for (&day, &requests) in days.counts().into_iter().flatten() {
            LogTime::try_from((i64::from(day) * DAY, 0))
                .map_err(|_| format!("day {day} is no day of a log"))?;
            self.add(requests)?;
        }
        self.unit = Some(unit);
        let shown = |logged: String| escape(logged.as_bytes()).into_owned();
        self.evidence = ReportSnapshot {
            log_host: log_host.map(shown),
            period: period.map(shown),
            prefix,
            without_time,
            ..ReportSnapshot::default()
        };
        let tally = &mut self.evidence.tally;
        tally.insert_time_unit(unit, has_hours);
        tally.insert_uncounted(uncounted);
        tally.insert_days(&days);
        if let Some(floor) = floor {
            let ErrorFloor {
                pairs,
                clients,
                requests,
                paths,
            } = floor;
            tally.insert_error_floor(floor);
            [pairs, clients, requests, paths]
                .into_iter()
                .try_for_each(|most| self.add(most))?;
        }
        Ok(())
    }

    /// The rules with these indices, without those that are ignored here.
    fn rules(&self, indices: &[u32]) -> Result<Vec<RuleId>, String> {
        indices
            .iter()
            .filter_map(|&index| at(&self.rules, index, "rule").copied().transpose())
            .collect()
    }

    fn rule(&mut self, row: RuleRow<'_>) -> Result<(), String> {
        check_rule_id(&row.id)?;
        let number = match self.known.number_of(&row.id) {
            Some(number) => Some(number),
            // Without its counts, the floods of this rule are unknown.
            None if row.window && row.counts.is_none() && row.guess.is_none() => None,
            None => {
                let unknown = &mut self.evidence.unknown_rules;
                let number = self.known.rules().len() + unknown.len();
                if number >= MAX_RULES || unknown.iter().any(|rule| rule.id == *row.id) {
                    return Err(format!(
                        "the rule '{}' occurs twice, or there are too many rules",
                        row.id
                    ));
                }
                unknown.push(imported_rule(row)?);
                Some(RuleId(number as u16))
            }
        };
        self.rules.push(number);
        Ok(())
    }

    fn input(&mut self, mut row: InputSummary) -> Result<(), String> {
        let parts = row.counts.parts().map(|(lines, _)| lines);
        let others = row.others.iter().map(|(_, lines)| lines);
        parts
            .into_iter()
            .chain([row.counts.bytes, row.counts.lines, row.counts.requests])
            .chain(row.formats)
            .chain(others)
            .try_for_each(|count| self.add(count))?;
        let sum = parts.iter().sum::<u64>();
        if row.counts.lines != sum {
            return Err(format!(
                "an input has {} lines, and its parts have {sum}",
                row.counts.lines
            ));
        }
        if row.others.iter().count() > MOST_FORMATS {
            return Err(format!(
                "it has {} formats of one log",
                row.others.iter().count()
            ));
        }
        for text in [&mut row.log_host, &mut row.problem, &mut row.warning]
            .into_iter()
            .flatten()
        {
            *text = escape(text.as_bytes()).into_owned();
        }
        let mut others = OtherFormatCounts::default();
        row.others.iter().for_each(|(name, lines)| {
            others.count(&escape(name.as_bytes()).as_ref().into(), lines);
        });
        row.format = LogFormat::most_frequent(&row.formats, &others);
        row.others = others;
        // Each report counts the severities that it prints.
        row.counts.hits = 0;
        self.evidence.sources.push(
            SourceInfo::new(row.path.clone(), 0, Vec::new()).with_host(row.log_host.as_deref()),
        );
        self.evidence.inputs.push(row);
        Ok(())
    }

    /// The times of a cell with these hits.
    fn cell_times(
        &mut self,
        hits: u64,
        times: Option<(LogTime, LogTime)>,
    ) -> Result<Option<Box<TimeCounts>>, String> {
        let (Some(listed), Some((first, last)), Some(unit)) = (self.times.take(), times, self.unit)
        else {
            return Ok(None);
        };
        Ok(Some(Box::new(TimeCounts::from_listed(
            unit,
            &listed_times(listed, unit, hits, first, last)?,
        ))))
    }

    fn cell(&mut self, row: CellRow<'_>) -> Result<(), String> {
        self.add(row.hits)?;
        self.add(row.error)?;
        at(&self.evidence.inputs, row.input, "input")?;
        let host = row
            .host
            .map(|host| at(&self.hosts, host, "host"))
            .transpose()?;
        if host.is_none() && row.client.or(row.path).is_none() {
            return Err("it has a cell without a host, a client and a path".into());
        }
        let key = ImportedKey {
            client: row.client.map_or(Ok(SymbolTables::OTHER), |client| {
                at(&self.clients, client, "client").copied()
            })?,
            path: row.path.map_or(Ok(SymbolTables::OTHER), |path| {
                Ok::<_, String>(at(&self.paths, path, "path")?.0)
            })?,
            rules: *at(&self.lists, row.list, "list of rules")?,
            status: row.status,
            input: if host.is_some() {
                row.input
            } else {
                SymbolTables::NO_INPUT
            },
            host: host.map_or(SymbolTables::NO_HOST, |host| host.0),
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
        self.evidence.tally.insert_cell(
            key,
            Cell {
                hits: row.hits,
                error,
                times: row.times,
                counts,
                sample,
            },
        );
        Ok(())
    }

    /// The sample of a cell with this input, path, host and status.
    fn sample(
        &mut self,
        row: SampleRow<'_>,
        of: (u32, Option<u32>, Option<u32>, Option<u16>),
    ) -> Result<Sample, String> {
        let (input, path, host, status) = of;
        if row.offset >= 1 << 62 || row.line >= 1 << 62 {
            return Err("a line number or an offset is out of range".into());
        }
        let user_agent = row
            .agent
            .map(|agent| at(&self.agents, agent, "user agent").cloned())
            .transpose()?;
        let target = match (row.target, path) {
            (Some(target), _) => self.target(target),
            (None, Some(path)) => Arc::clone(&at(&self.paths, path, "path")?.1),
            (None, None) => return Err("it has a request without a target".into()),
        };
        let usual = || {
            let host = host.map(|host| at(&self.hosts, host, "host")).transpose()?;
            Ok::<_, String>(
                host.map(|host| host.1.clone())
                    .filter(|host| !host.is_empty()),
            )
        };
        let imported = ImportedSample {
            generation: *at(&self.generations, row.generation, "generation")?,
            line: row.line,
            target,
            status,
            host: row
                .host
                .map_or_else(usual, |host| Ok(Some(imported_text(&host))))?,
            user_agent,
            user: row.user.map(|user| imported_text(&user).as_ref().into()),
        };
        let position = LinePosition {
            input,
            chunk: row.offset,
            offset: 0,
            line: row.line,
        };
        Ok(Sample {
            time: row.time,
            position,
            imported: Box::new(imported),
        })
    }

    /// The target of a sample. A scanner sends the same ones from many clients.
    fn target(&mut self, printed: Cow<'_, str>) -> Arc<[u8]> {
        if let Some(known) = self.targets.get(&*printed) {
            return Arc::clone(known);
        }
        let target = imported_text(&printed);
        if self.targets.len() < MOST_TARGETS {
            self.targets
                .insert(printed.into_owned(), Arc::clone(&target));
        }
        target
    }

    fn app_evidence(
        &mut self,
        rule: u32,
        site: (Option<u32>, Option<u32>),
        clients: Option<Vec<u32>>,
        sizes: Option<&[u64]>,
        magnitudes: u64,
    ) -> Result<(), String> {
        let rule = *at(&self.rules, rule, "rule")?;
        let (input, host) = self.site(site.0, site.1)?;
        let client = |index| at(&self.clients, index, "client").copied();
        let clients: Option<Vec<u32>> = clients
            .map(|indices| indices.into_iter().map(client).collect())
            .transpose()?;
        // Without a list there were enough clients; any three represent them.
        let any: [u32; BoundedSet::MIN_DISTINCT] = match (&clients, self.clients.first_chunk()) {
            (None, None) => return Err("more clients saw an app than there are".into()),
            (_, first) => first.copied().unwrap_or_default(),
        };
        if let Some(rule) = rule {
            let evidence = BoundedSet::from_listed(clients.as_deref(), sizes, magnitudes, any);
            self.evidence
                .tally
                .insert_app_evidence(rule, input, host, &evidence);
        }
        Ok(())
    }

    fn site(&self, input: Option<u32>, host: Option<u32>) -> Result<(u32, u32), String> {
        let input = input.unwrap_or(0);
        at(&self.evidence.inputs, input, "input")?;
        Ok((input, at(&self.hosts, host.unwrap_or(0), "host")?.0))
    }

    fn add(&mut self, count: u64) -> Result<(), String> {
        self.sum = self
            .sum
            .checked_add(count)
            .filter(|sum| *sum <= MOST)
            .ok_or("it counts more than any log can hold")?;
        Ok(())
    }
}

/// The times of a cell with these hits, checked: sorted, between its first and its last, and no
/// more than its hits.
fn listed_times(
    (untimed, hours, buckets): (u64, Vec<u64>, Vec<u64>),
    unit: TimeUnit,
    hits: u64,
    first: LogTime,
    last: LogTime,
) -> Result<ListedTimes, String> {
    let mut listed = ListedTimes {
        untimed,
        ..ListedTimes::default()
    };
    for pair in hours.chunks(2) {
        let hour = u32::try_from(pair[0])
            .ok()
            .filter(|&hour| (hour as usize) < WEEK_HOURS);
        let is_next = hour > listed.hours.last().map(|before| before.0);
        let hour = hour
            .filter(|_| is_next)
            .ok_or("the hours of a cell are in the wrong order")?;
        listed.hours.push((hour, pair.get(1).copied().unwrap_or(0)));
    }
    let (mut bucket, end) = (unit.bucket(first.utc), unit.bucket(last.utc));
    for (number, pair) in buckets.chunks(2).enumerate() {
        let more = u32::try_from(pair[0])
            .ok()
            .filter(|&more| more > 0 || number == 0);
        let next = more
            .and_then(|more| bucket.checked_add(more))
            .filter(|&next| next <= end);
        bucket = next.ok_or("the times of a cell are not within its first and its last")?;
        listed
            .buckets
            .push((bucket, pair.get(1).copied().unwrap_or(0)));
    }
    let most = hits
        .checked_sub(1)
        .and_then(|timed| timed.checked_sub(untimed));
    let fits = |list: &[(u32, u64)]| {
        let sum = list
            .iter()
            .try_fold(0_u64, |sum, (_, hits)| sum.checked_add(*hits));
        sum <= most && sum.is_some()
    };
    if most.is_none() || !fits(&listed.hours) || !fits(&listed.buckets) {
        return Err("the times of a cell are more than its hits".into());
    }
    Ok(listed)
}

fn at<'t, T>(list: &'t [T], index: u32, what: &str) -> Result<&'t T, String> {
    list.get(index as usize)
        .ok_or_else(|| format!("it refers to {what} {index} of {}", list.len()))
}

fn bytes(exact: &str) -> Result<Vec<u8>, String> {
    unescaped(exact).ok_or_else(|| {
        format!(
            "'{}' has a backslash that begins no \\xNN",
            escape(exact.as_bytes())
        )
    })
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
    check(
        id.split_once('/')
            .is_some_and(|(family, name)| is_word(family) && is_word(name)),
        "id",
        id,
    )
}

/// A rule that is known only from a report; it matches nothing.
fn imported_rule(row: RuleRow<'_>) -> Result<Rule, String> {
    let RuleRow {
        id,
        title,
        class,
        severity,
        exposes,
        with_client,
        same_answer,
        window: _,
        counts,
        others,
        guess,
        unless_app,
        ..
    } = row;
    let RuleRow {
        is_app_evidence,
        subject,
        cve,
        ..
    } = row;
    check(is_word(&class), "class", &class)?;
    let words = |words: Vec<_>| -> Result<Vec<String>, String> {
        check(words.len() <= WORDS, "list", "of too many words")?;
        words
            .iter()
            .try_for_each(|word: &Cow<'_, str>| check(is_word(word), "word", word))?;
        Ok(words.into_iter().map(Cow::into_owned).collect())
    };
    let with_client = with_client
        .map(|(distinct_paths, classes)| {
            Ok::<_, String>(WithClient {
                distinct_paths,
                classes: words(classes)?,
                same_answer,
            })
        })
        .transpose()?;
    Ok(Rule {
        id: id.into_owned(),
        title: escape(title.as_bytes()).chars().take(WORD).collect(),
        class: class.into_owned(),
        severity,
        answer: if exposes {
            AnswerMeaning::Exposes
        } else {
            AnswerMeaning::Inconclusive
        },
        wants: None,
        remedy: None,
        with_client,
        window: counts.map(|counts| window(counts, others)).transpose()?,
        guess: checked_guess(guess)?,
        unless_app: words(unless_app)?,
        is_app_evidence,
        subject,
        notes: RuleNotes {
            cve: words(cve)?,
            ..RuleNotes::default()
        }
        .into(),
        false_positives: Vec::new(),
        must_match: Vec::new(),
        must_not_match: Vec::new(),
    })
}

fn window((by, count, within): (By, u32, u32), others: Option<u32>) -> Result<Window, String> {
    let window = Window {
        by,
        count,
        within,
        others,
    };
    if window.is_valid() {
        Ok(window)
    } else {
        Err(format!(
            "{count} requests within {within} seconds is no window of a rule"
        ))
    }
}

fn checked_guess(guess: Option<Guess>) -> Result<Option<Guess>, String> {
    match guess {
        Some(guess) if !guess.is_valid() => {
            Err(format!("{} requests are no guesses of a rule", guess.count))
        }
        guess => Ok(guess),
    }
}

fn is_word(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= WORD
        && word
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn check(holds: bool, what: &str, found: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!(
            "'{}' is no {what} of a rule",
            escape(found.as_bytes())
        ))
    }
}
