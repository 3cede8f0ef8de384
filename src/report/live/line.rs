//! One line a hit, for people: when, how bad, what the server said, who, and what was asked for.
//!
//! Fits the width of a terminal and promises its layout to nobody: programs read NDJSON. A line is on its way before the
//! next one is known, so the columns are the same for all and chosen from the width alone.

use std::borrow::Cow;
use std::io::{self, Write};

use super::fold::Folded;
use super::ruler::Ruler;
use crate::finding::Severity;
use crate::report::facts;
use crate::report::mask::shown;
use crate::report::model::Hit;
use crate::report::style::{self, ALARM, BOLD, DIM, PLAIN, Pen};
use crate::report::table::layout::{NARROWEST, width};
use crate::report::table::number::grouped;
use crate::rules::RuleSet;
use crate::time::LogTime;

/// The width of what does not tell, such as a file.
const WIDTH: usize = 100;

/// Room for every severity.
const SEVERITY: usize = 8;

/// Room for most outcomes and their status: `302 redirected`.
const OUTCOME: usize = 14;

/// Room for every IPv4 address; longer ones push the cells behind them.
const ADDRESS: usize = 15;

/// Room for most methods, and what none exceeds.
const METHOD: usize = 4;
const LONG_METHOD: usize = 10;

/// Where there is plenty of room, the rule stands behind a target of this width.
const TARGET: usize = 48;

/// What every target gets, and what it gets before a rule is cut.
const LEAST_TARGET: usize = 8;
const SHORT_TARGET: usize = 12;

/// The narrowest column of rules, and the least that is left of a rule.
const RULE: usize = 20;
const LEAST_RULE: usize = 8;

const DAY: i64 = 86_400;

/// Writes lines that belong together: it knows the day of the last one.
#[derive(Debug)]
pub struct Lines {
    pub(super) ruler: Ruler,
    pub(super) stops: Stops,
    day: Option<i64>,
}

/// Where cells begin, and which there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stops {
    clock: Clock,
    severity: usize,
    pub(super) outcome: usize,
    /// Whether there is room for the words of all outcomes.
    has_words: bool,
    pub(super) client: usize,
    has_method: bool,
    method: usize,
    target: usize,
    /// `None` where there is no room for rules.
    rule: Option<usize>,
}

/// How much of a time there is room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    None,
    /// `08:01`, with a date `11-02 08:01`.
    Minute,
    /// `08:01:00`, with a date `11-02 08:01:00`.
    Second,
    /// `08:01:00`, with a date `2026-11-02 08:01:00`.
    Full,
}

impl Lines {
    /// Lines for a terminal of this many columns, at least 40; 0 is unknown and taken for 100.
    #[must_use]
    pub fn new(width: u16, color: bool) -> Self {
        let page = if width == 0 { WIDTH } else { NARROWEST.max(width.into()) };
        let (stops, gap) = Stops::on(page);
        Self { ruler: Ruler::new(page, gap, Pen { color }), stops, day: None }
    }

    /// Goes on at another width.
    pub fn resize(&mut self, width: u16) {
        *self = Self { day: self.day, ..Self::new(width, self.ruler.pen.color) };
    }

    /// Writes one hit. `answered` says whether its answer means something, as the context has it.
    ///
    /// # Errors
    ///
    /// Those of `out`, as they came.
    pub fn write_hit<W: Write>(&mut self, hit: &Hit<'_>, answered: bool, rules: &RuleSet, out: &mut W) -> io::Result<()> {
        self.begin(hit.time, hit.severity);
        let Self { ruler, stops, .. } = self;
        let (outcome, target) = if answered { (ALARM, BOLD) } else { (PLAIN, PLAIN) };
        ruler.put(stops.outcome, outcome, &stops.outcome_of(hit, answered), ruler.page);
        let behind = ruler.gap + LEAST_TARGET;
        let most = (ruler.page / 3).clamp(ADDRESS, 39).min(ruler.room(stops.client).saturating_sub(behind));
        ruler.put(stops.client, PLAIN, &facts::client(hit.client), most);
        if stops.has_method {
            let most = LONG_METHOD.min(ruler.room(stops.method).saturating_sub(behind));
            ruler.put(stops.method, PLAIN, &shown(hit.method), most);
        }
        let asked = if hit.target.is_empty() { Cow::Borrowed("-") } else { shown(hit.target) };
        match stops.rule {
            Some(stop) => put_target_and_rule(ruler, (stops.target, stop), (target, &asked), &facts::worst_rule(rules, hit.rules)),
            None => ruler.put(stops.target, target, &asked, usize::MAX),
        }
        out.write_all(ruler.end().as_bytes())
    }

    /// Writes how many repeats were folded.
    ///
    /// # Errors
    ///
    /// Those of `out`, as they came.
    pub fn write_folded<W: Write>(&mut self, folded: &Folded<'_>, rules: &RuleSet, out: &mut W) -> io::Result<()> {
        self.begin(folded.time, folded.severity);
        let (style, answered) = match folded.answered {
            0 => (DIM, String::new()),
            n => (BOLD, format!(", {} ANSWERED", grouped(n))),
        };
        let sentence = format!(
            "… {} more by {} for {}{answered}, last {}",
            grouped(folded.hits),
            facts::client(folded.client),
            facts::worst_rule(rules, folded.rules),
            folded.target,
        );
        self.ruler.put(self.stops.outcome, style, &sentence, usize::MAX);
        out.write_all(self.ruler.end().as_bytes())
    }

    /// Begins a line with a time and a severity.
    pub(super) fn begin(&mut self, time: Option<LogTime>, severity: Severity) {
        self.ruler.begin();
        let clock = self.clock(time);
        self.ruler.put(0, DIM, &clock, usize::MAX);
        self.ruler.put(self.stops.severity, style::of(severity), severity.as_str(), SEVERITY);
    }

    /// The time of the log; with the date where it is of another day than the line before.
    fn clock(&mut self, time: Option<LogTime>) -> String {
        if self.stops.clock == Clock::None {
            return String::new();
        }
        let Some(time) = time else { return "-".to_owned() };
        let (day, second) = (time.local_seconds().div_euclid(DAY), time.local_seconds().rem_euclid(DAY));
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let is_another = self.day.replace(day) != Some(day);
        let date = if is_another { self.stops.clock.date(time) } else { String::new() };
        match self.stops.clock {
            Clock::Minute => format!("{date}{hour:02}:{minute:02}"),
            _ => format!("{date}{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

/// A target that is cut, and behind it the rule: at its stop, or further right where the target needs the room.
fn put_target_and_rule(ruler: &mut Ruler, (stop, rule_stop): (usize, usize), (style, target): (anstyle::Style, &str), rule: &str) {
    let room = ruler.room(stop);
    let for_rule = room.saturating_sub(SHORT_TARGET.min(width(target)) + ruler.gap);
    let for_rule = if for_rule < LEAST_RULE { 0 } else { for_rule.min(width(rule)) };
    let behind = if for_rule == 0 { 0 } else { ruler.gap + for_rule };
    ruler.put(stop, style, target, room - behind);
    ruler.put(rule_stop.min(ruler.page - for_rule), DIM, rule, for_rule);
}

impl Stops {
    /// The stops for a page and the gap between cells: the narrower the page, the less is told beside the target.
    fn on(page: usize) -> (Self, usize) {
        let (clock, gap) = match page {
            ..48 => (Clock::None, 1),
            48..64 => (Clock::Minute, 1),
            64..100 => (Clock::Second, 1),
            _ => (Clock::Full, 2),
        };
        let (has_words, has_method, has_rule) = (page >= 100, page >= 64, page >= 80);
        let behind = |taken: usize| if taken == 0 { 0 } else { taken + gap };
        let severity = behind(clock.width());
        let outcome = behind(severity + SEVERITY);
        let client = behind(outcome + if has_words { OUTCOME } else { 3 });
        let method = behind(client + ADDRESS);
        let target = if has_method { behind(method + METHOD) } else { method };
        let rule = has_rule.then(|| behind(target + TARGET).min(page - RULE));
        (Self { clock, severity, outcome, has_words, client, has_method, method, target, rule }, gap)
    }

    /// The status and what it means. An answer that means something reads in capitals, and is told at every width.
    fn outcome_of(&self, hit: &Hit<'_>, answered: bool) -> String {
        let word = match (answered, hit.answer) {
            (true, _) if self.is_narrow() => return "ANSWERED".to_owned(),
            (true, _) => "ANSWERED",
            (false, _) if !self.has_words => "",
            (false, Some(answer)) => answer.as_str(),
            (false, _) => hit.outcome.as_str(),
        };
        let status = hit.status.map_or(Cow::Borrowed("-"), |status| Cow::Owned(status.to_string()));
        if word.is_empty() { status.into_owned() } else { format!("{status:<3} {word}") }
    }

    fn is_narrow(&self) -> bool {
        !self.has_method
    }
}

impl Clock {
    fn width(self) -> usize {
        match self {
            Self::None => 0,
            Self::Minute => "08:01".len(),
            Self::Second | Self::Full => "08:01:00".len(),
        }
    }

    /// The date before a time, with a blank behind it; nothing where the time is out of every calendar.
    fn date(self, time: LogTime) -> String {
        let text = time.rfc3339();
        let Some((date, _)) = text.split_once('T') else { return String::new() };
        let from = if self == Self::Full { 0 } else { date.len().saturating_sub("11-02".len()) };
        format!("{} ", &date[from..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::finding::RuleId;
    use crate::log_entry::Outcome;
    use crate::report::fixture;
    use crate::soft_404::Answer;
    use proptest::prelude::*;

    /// A minute of a busy night: the seconds since the first line, and whether the answer means something.
    fn night() -> Vec<(i64, bool, Hit<'static>)> {
        let hit = fixture::hit();
        let other =
            Hit { severity: Severity::High, status: Some(404), outcome: Outcome::NotFound, target: b"/.env", rules: &[RuleId(1)], ..hit };
        let traversal = Hit {
            client: Client::parse(b"2001:db8:85a3::8a2e:370:7334"),
            severity: Severity::Critical,
            status: Some(401),
            outcome: Outcome::AuthRequired,
            method: b"POST",
            target: b"/cgi-bin/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/bin/sh",
            rules: &[RuleId(0)],
            ..hit
        };
        let wide = Hit {
            target: "/日本語/\u{202e}gnp.env/日本語/日本語/日本語/日本語/日本語/日本語/日本語/日本語/日本語".as_bytes(),
            method: b"PROPFIND",
            ..other
        };
        let tls = Hit {
            client: Client::Text(b""),
            severity: Severity::Low,
            method: b"",
            target: br"\x16\x03\x01",
            rules: &[RuleId(3)],
            status: None,
            outcome: Outcome::Unknown,
            ..hit
        };
        let union = Hit { severity: Severity::Medium, target: b"/index.php?id=1%20UNION%20SELECT", rules: &[RuleId(5)], ..hit };
        let soft_404 = Hit {
            severity: Severity::Low,
            answer: Some(Answer::Soft404),
            target: b"/wp-login.php",
            rules: &[RuleId(7), RuleId(8), RuleId(3)],
            ..hit
        };
        vec![
            (0, false, other),
            (1, true, hit),
            (2, false, traversal),
            (2, false, wide),
            (3, false, tls),
            (4, false, union),
            (5, false, soft_404),
            (86_400, false, other),
            (86_401, false, Hit { target: b"", ..other }),
            (0, false, Hit { time: None, ..other }),
        ]
    }

    fn folded() -> Folded<'static> {
        let hit = fixture::hit();
        Folded {
            hits: 1037,
            answered: 3,
            severity: Severity::High,
            client: hit.client,
            rules: &[RuleId(1), RuleId(6)],
            time: hit.time.map(|time| LogTime { utc: time.utc + 9, ..time }),
            target: "/backup/.env.bak?token=***",
        }
    }

    fn page(width: u16, color: bool) -> String {
        let (mut lines, mut out) = (Lines::new(width, color), Vec::new());
        for (seconds, answered, hit) in night() {
            let time = hit.time.map(|time| LogTime { utc: time.utc + seconds, ..time });
            lines.write_hit(&Hit { time, ..hit }, answered, fixture::rules(), &mut out).unwrap();
        }
        lines.write_folded(&folded(), fixture::rules(), &mut out).unwrap();
        lines.write_folded(&Folded { hits: 1, answered: 0, ..folded() }, fixture::rules(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn reads_well_at_every_width() {
        for columns in [40, 60, 80, 100, 200] {
            insta::assert_snapshot!(format!("hits_at_{columns}"), page(columns, false));
        }
        assert_eq!(page(0, false), page(100, false));
        assert_eq!(page(7, false), page(40, false));
    }

    #[test]
    fn fits_whatever_the_width() {
        for columns in (40..260).chain([u16::MAX]) {
            for line in page(columns, false).lines() {
                assert!(width(line) <= columns.into(), "{columns}: {line}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }

    #[test]
    fn colour_only_repeats_what_the_words_say() {
        let colored = page(120, true);
        let line = colored.lines().find(|line| line.contains("ANSWERED")).unwrap();
        assert!(line.contains("\u{1b}[1m\u{1b}[31m200 ANSWERED\u{1b}[0m"), "{line}");
        let bare = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(&colored, "").into_owned();
        assert_eq!(bare, page(120, false));
    }

    #[test]
    fn the_day_is_told_when_it_changes() {
        let mut lines = Lines::new(100, false);
        let mut clock = |utc| lines.clock(Some(LogTime { utc, offset: 60 }));
        assert_eq!(clock(1_793_574_000), "2026-11-02 00:00:00");
        assert_eq!(clock(1_793_574_001), "00:00:01");
        assert_eq!(clock(1_793_573_999), "2026-11-01 23:59:59");
        assert_eq!(clock(-1), "1970-01-01 00:59:59");
        assert_eq!(clock(i64::MAX / 2), "08:45:03");
        assert_eq!(lines.clock(None), "-");
        lines.resize(60);
        let mut clock = |utc| lines.clock(Some(LogTime { utc, offset: 60 }));
        assert_eq!(clock(1_793_574_000), "11-02 00:00");
        assert_eq!(clock(1_793_574_061), "00:01");
    }

    proptest! {
        #[test]
        fn any_hit_is_one_line_that_fits(target in any::<Vec<u8>>(), client in any::<Vec<u8>>(), method in any::<Vec<u8>>(), text: String,
            status in any::<Option<u16>>(), utc: i32, columns in 40_u16..250, which in 0_usize..9, answered: bool) {
            let time = Some(LogTime { utc: utc.into(), offset: 60 });
            let hit = Hit { time, client: Client::Text(&client), target: &target, method: &method, status, ..night()[which].2 };
            for hit in [hit, Hit { target: text.as_bytes(), client: Client::V6(u128::MAX), ..hit }, Hit { method: b"GET", ..hit }] {
                let mut out = Vec::new();
                Lines::new(columns, false).write_hit(&hit, answered, fixture::rules(), &mut out).unwrap();
                let line = String::from_utf8(out).unwrap();
                let line = line.strip_suffix('\n').unwrap();
                prop_assert!(width(line) <= columns.into(), "{line}");
                prop_assert_eq!(crate::report::sanitize::text(line.as_bytes()), line);
            }
        }
    }
}
