//! Output of a live run: a line per hit, per count of folded repeats, and per alert.
//!
//! Uses no file, clock or screen. The `follow` command decides what is printed when; the analysis
//! decides whether an answer is distinct.
//!
//! A line has time, severity, outcome, client, target and rule, and fits the width of a terminal.
//! The layout may change; programs read NDJSON. A line is written before the next one is known, so
//! the columns depend on the width alone: each cell begins at its column, or after a gap if the
//! cell before it is too long, and later cells return to their columns when they can. No line is
//! wider than the page, except by [`push_uncut`](LineLayout::push_uncut).

pub(crate) mod alert;
pub(crate) mod fold;

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::Style;

use self::fold::FoldedRepeats;
use crate::log::finding::Severity;
use crate::log::time::LogTime;
use crate::render::layout::{self, ALARM, BOLD, DIM, MIN_WIDTH, PLAIN, Painter, truncate, width};
use crate::report::labels;
use crate::report::model::ReportedHit;
use crate::rules::RuleSet;
use crate::text::number::grouped;

/// The width where it is unknown, such as for a file.
const WIDTH: usize = 100;

/// The width of the longest severity.
const SEVERITY: usize = 8;

/// The width of most outcomes with their status: `302 redirected`.
const OUTCOME: usize = 14;

/// The width of every IPv4 address; a longer client moves the cells after it.
const ADDRESS: usize = 15;

/// The width of a country.
const COUNTRY: usize = 2;

/// The width of most methods, and the most columns of any.
const METHOD: usize = 4;
const LONG_METHOD: usize = 10;

/// On a wide page the rule follows a target of this width.
const TARGET: usize = 48;

/// The least columns of a target, and its least columns before a rule is cut.
const MIN_TARGET: usize = 8;
const SHORT_TARGET: usize = 12;

/// The least columns of the rule column, and of a cut rule.
const RULE: usize = 20;
const MIN_RULE: usize = 8;

const DAY: i64 = 86_400;

/// Writes consecutive lines; a new day is printed with its date.
#[derive(Debug)]
pub(crate) struct LiveLines {
    pub(crate) layout: LineLayout,
    pub(crate) stops: ColumnStops,
    day: Option<i64>,
    with_countries: bool,
}

/// Where the cells begin, and which of them there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnStops {
    clock: TimeDetail,
    severity: usize,
    pub(crate) outcome: usize,
    /// Whether outcomes are printed as words.
    has_words: bool,
    pub(crate) client: usize,
    /// `None`: no countries.
    country: Option<usize>,
    has_method: bool,
    method: usize,
    target: usize,
    /// `None`: no rules on a narrow page.
    rule: Option<usize>,
}

/// How much of a time is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeDetail {
    Hidden,
    /// `08:01`, with a date `11-02 08:01`.
    Minute,
    /// `08:01:00`, with a date `11-02 08:01:00`.
    Second,
    /// `08:01:00`, with a date `2026-11-02 08:01:00`.
    Full,
}

impl LiveLines {
    /// Lines for a terminal of `width` columns, at least 40; 0 is unknown and means 100. With a
    /// column for countries, if the page is wide enough for one.
    #[must_use]
    pub(crate) fn new(width: u16, color: bool, with_countries: bool) -> Self {
        let page = if width == 0 {
            WIDTH
        } else {
            MIN_WIDTH.max(width.into())
        };
        let (stops, gap) = ColumnStops::new(page, with_countries);
        Self {
            layout: LineLayout::new(page, gap, Painter { color }),
            stops,
            day: None,
            with_countries,
        }
    }

    /// Continues at another width.
    pub(crate) fn resize(&mut self, width: u16) {
        *self = Self {
            day: self.day,
            ..Self::new(width, self.layout.painter.color, self.with_countries)
        };
    }

    /// Writes one hit. `answered`: its answer is distinct.
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    pub(crate) fn write_hit<W: Write>(
        &mut self,
        hit: &ReportedHit<'_>,
        answered: bool,
        rules: &RuleSet,
        out: &mut W,
    ) -> io::Result<()> {
        self.begin(hit.time, hit.severity);
        let Self { layout, stops, .. } = self;
        let (outcome, target) = if answered {
            (ALARM, BOLD)
        } else {
            (PLAIN, PLAIN)
        };
        layout.push_cell(
            stops.outcome,
            outcome,
            &stops.outcome_of(hit, answered),
            layout.page,
        );
        let after = layout.gap + MIN_TARGET;
        let max = (layout.page / 3)
            .clamp(ADDRESS, 39)
            .min(layout.remaining(stops.client).saturating_sub(after));
        layout.push_cell(stops.client, PLAIN, &hit.client.redacted(), max);
        if let Some(stop) = stops.country {
            layout.push_cell(stop, DIM, &labels::country(hit.geo), COUNTRY);
        }
        if stops.has_method {
            let max = LONG_METHOD.min(layout.remaining(stops.method).saturating_sub(after));
            layout.push_cell(stops.method, PLAIN, &hit.method.redacted(), max);
        }
        let requested = if hit.target.is_empty() {
            Cow::Borrowed("-")
        } else {
            hit.target.redacted()
        };
        match stops.rule {
            Some(stop) => push_target_and_rule(
                layout,
                (stops.target, stop),
                (target, &requested),
                &labels::worst_rule(rules, hit.rules),
            ),
            None => layout.push_cell(stops.target, target, &requested, usize::MAX),
        }
        out.write_all(layout.finish().as_bytes())
    }

    /// Writes a count of folded repeats.
    ///
    /// # Errors
    ///
    /// Errors of `out`.
    pub(crate) fn write_folded<W: Write>(
        &mut self,
        folded: &FoldedRepeats<'_>,
        rules: &RuleSet,
        out: &mut W,
    ) -> io::Result<()> {
        self.begin(folded.time, folded.severity);
        let (style, answered) = match folded.answered {
            0 => (DIM, String::new()),
            n => (BOLD, format!(", {} ANSWERED", grouped(n))),
        };
        let sentence = format!(
            "… {} more by {} for {}{answered}, last {}",
            grouped(folded.hits),
            folded.client.redacted(),
            labels::worst_rule(rules, folded.rules),
            folded.target,
        );
        self.layout
            .push_cell(self.stops.outcome, style, &sentence, usize::MAX);
        out.write_all(self.layout.finish().as_bytes())
    }

    /// Begins a line with a time and a severity.
    pub(crate) fn begin(&mut self, time: Option<LogTime>, severity: Severity) {
        self.layout.clear();
        let clock = self.clock(time);
        self.layout.push_cell(0, DIM, &clock, usize::MAX);
        self.layout.push_cell(
            self.stops.severity,
            layout::severity_style(severity),
            severity.as_str(),
            SEVERITY,
        );
    }

    /// The log's time, with the date if the line before was of another day.
    fn clock(&mut self, time: Option<LogTime>) -> String {
        if self.stops.clock == TimeDetail::Hidden {
            return String::new();
        }
        let Some(time) = time else {
            return "-".to_owned();
        };
        let (day, second) = (
            time.local_seconds().div_euclid(DAY),
            time.local_seconds().rem_euclid(DAY),
        );
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let is_new_day = self.day.replace(day) != Some(day);
        let date = if is_new_day {
            self.stops.clock.date(time)
        } else {
            String::new()
        };
        match self.stops.clock {
            TimeDetail::Minute => format!("{date}{hour:02}:{minute:02}"),
            _ => format!("{date}{hour:02}:{minute:02}:{second:02}"),
        }
    }
}

/// Adds a target and, at its column or further right, the rule. A long target is cut.
fn push_target_and_rule(
    layout: &mut LineLayout,
    (stop, rule_stop): (usize, usize),
    (style, target): (Style, &str),
    rule: &str,
) {
    let room = layout.remaining(stop);
    let for_rule = room.saturating_sub(SHORT_TARGET.min(width(target)) + layout.gap);
    let for_rule = if for_rule < MIN_RULE {
        0
    } else {
        for_rule.min(width(rule))
    };
    let after = if for_rule == 0 {
        0
    } else {
        layout.gap + for_rule
    };
    layout.push_cell(stop, style, target, room - after);
    layout.push_cell(rule_stop.min(layout.page - for_rule), DIM, rule, for_rule);
}

impl ColumnStops {
    /// The columns for a page, and the gap between cells. On a narrow page there are fewer cells.
    fn new(page: usize, with_countries: bool) -> (Self, usize) {
        let (clock, gap) = match page {
            ..48 => (TimeDetail::Hidden, 1),
            48..64 => (TimeDetail::Minute, 1),
            64..100 => (TimeDetail::Second, 1),
            _ => (TimeDetail::Full, 2),
        };
        let (has_words, has_method, has_rule) = (page >= 100, page >= 64, page >= 80);
        let after = |taken: usize| if taken == 0 { 0 } else { taken + gap };
        let severity = after(clock.width());
        let outcome = after(severity + SEVERITY);
        let client = after(outcome + if has_words { OUTCOME } else { 3 });
        let country = (with_countries && has_method).then(|| after(client + ADDRESS));
        let method = after(country.map_or(client + ADDRESS, |country| country + COUNTRY));
        let target = if has_method {
            after(method + METHOD)
        } else {
            method
        };
        let rule = has_rule.then(|| after(target + TARGET).min(page - RULE));
        (
            Self {
                clock,
                severity,
                outcome,
                has_words,
                client,
                country,
                has_method,
                method,
                target,
                rule,
            },
            gap,
        )
    }

    /// The status and the outcome. A distinct answer is `ANSWERED` at every width.
    fn outcome_of(&self, hit: &ReportedHit<'_>, answered: bool) -> String {
        let word = match (answered, hit.answer) {
            (true, _) if self.is_narrow() => return "ANSWERED".to_owned(),
            (true, _) => "ANSWERED",
            (false, _) if !self.has_words => "",
            (false, Some(answer)) => answer.as_str(),
            (false, _) => hit.outcome.as_str(),
        };
        let status = hit
            .status
            .map_or(Cow::Borrowed("-"), |status| Cow::Owned(status.to_string()));
        if word.is_empty() {
            status.into_owned()
        } else {
            format!("{status:<3} {word}")
        }
    }

    fn is_narrow(&self) -> bool {
        !self.has_method
    }
}

impl TimeDetail {
    fn width(self) -> usize {
        match self {
            Self::Hidden => 0,
            Self::Minute => "08:01".len(),
            Self::Second | Self::Full => "08:01:00".len(),
        }
    }

    /// The date before a time and a blank; empty if the time is outside the calendar.
    fn date(self, time: LogTime) -> String {
        let text = time.rfc3339();
        let Some((date, _)) = text.split_once('T') else {
            return String::new();
        };
        let from = if self == Self::Full {
            0
        } else {
            date.len().saturating_sub("11-02".len())
        };
        format!("{} ", &date[from..])
    }
}

/// The current line, and the width of the page.
#[derive(Debug)]
pub(crate) struct LineLayout {
    text: String,
    /// Columns used so far.
    taken: usize,
    pub(crate) page: usize,
    /// The least blanks between two cells.
    pub(crate) gap: usize,
    pub(crate) painter: Painter,
}

impl LineLayout {
    pub(crate) fn new(page: usize, gap: usize, painter: Painter) -> Self {
        Self {
            text: String::new(),
            taken: 0,
            page,
            gap,
            painter,
        }
    }

    /// Columns left for a cell that begins at `stop`.
    pub(crate) fn remaining(&self, stop: usize) -> usize {
        self.page.saturating_sub(self.start(stop))
    }

    /// Adds a cell, cut to `max` columns and to the page. Its text must be redacted.
    pub(crate) fn push_cell(&mut self, stop: usize, style: Style, text: &str, max: usize) {
        let cell = truncate(text, max.min(self.remaining(stop)));
        self.push_uncut(stop, style, &cell);
    }

    /// Adds a cell without cutting it, even if it is wider than the page.
    pub(crate) fn push_uncut(&mut self, stop: usize, style: Style, cell: &str) {
        if cell.is_empty() {
            return;
        }
        let start = self.start(stop);
        self.text
            .extend(std::iter::repeat_n(' ', start - self.taken));
        self.painter.push(style, cell, &mut self.text);
        self.taken = start + width(cell);
    }

    /// The line with its newline.
    pub(crate) fn finish(&mut self) -> &str {
        self.text.push('\n');
        &self.text
    }

    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.taken = 0;
    }

    /// Where a cell for `stop` begins.
    fn start(&self, stop: usize) -> usize {
        if self.taken == 0 {
            stop
        } else {
            stop.max(self.taken + self.gap)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log::client::Client;
    use crate::log::finding::RuleId;
    use crate::log::log_entry::Outcome;
    use crate::render::layout::PLAIN;
    use crate::report::fixture;
    use crate::soft_404::Answer;
    use crate::text::redact::LogText;

    /// A minute of hits: the seconds since the first line, and whether the answer is distinct.
    fn sample_hits() -> Vec<(i64, bool, ReportedHit<'static>)> {
        let hit = fixture::hit();
        let other = ReportedHit {
            severity: Severity::High,
            status: Some(404),
            outcome: Outcome::NotFound,
            target: LogText::new(b"/.env"),
            rules: &[RuleId(1)],
            ..hit
        };
        let traversal = ReportedHit {
            client: Client::parse(b"2001:db8:85a3::8a2e:370:7334"),
            severity: Severity::Critical,
            status: Some(401),
            outcome: Outcome::AuthRequired,
            method: LogText::new(b"POST"),
            target: LogText::new(
                b"/cgi-bin/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/.%2e/bin/sh",
            ),
            rules: &[RuleId(0)],
            ..hit
        };
        let wide = ReportedHit {
            target: LogText::new("/日本語/\u{202e}gnp.env/日本語/日本語/日本語/日本語/日本語/日本語/日本語/日本語/日本語".as_bytes()),
            method: LogText::new(b"PROPFIND"),
            ..other
        };
        let tls = ReportedHit {
            client: Client::Text(b""),
            severity: Severity::Low,
            method: LogText::new(b""),
            target: LogText::new(br"\x16\x03\x01"),
            rules: &[RuleId(3)],
            status: None,
            outcome: Outcome::Unknown,
            ..hit
        };
        let union = ReportedHit {
            severity: Severity::Medium,
            target: LogText::new(b"/index.php?id=1%20UNION%20SELECT"),
            rules: &[RuleId(5)],
            ..hit
        };
        let soft_404 = ReportedHit {
            severity: Severity::Low,
            answer: Some(Answer::Soft404),
            target: LogText::new(b"/wp-login.php"),
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
            (
                86_401,
                false,
                ReportedHit {
                    target: LogText::new(b""),
                    ..other
                },
            ),
            (
                0,
                false,
                ReportedHit {
                    time: None,
                    ..other
                },
            ),
        ]
    }

    fn folded() -> FoldedRepeats<'static> {
        let hit = fixture::hit();
        FoldedRepeats {
            hits: 1037,
            answered: 3,
            severity: Severity::High,
            client: hit.client,
            rules: &[RuleId(1), RuleId(6)],
            time: hit.time.map(|time| LogTime {
                utc: time.utc + 9,
                ..time
            }),
            target: "/backup/.env.bak?token=***",
        }
    }

    fn page(width: u16, color: bool) -> String {
        let (mut lines, mut out) = (LiveLines::new(width, color, false), Vec::new());
        for (seconds, answered, hit) in sample_hits() {
            let time = hit.time.map(|time| LogTime {
                utc: time.utc + seconds,
                ..time
            });
            lines
                .write_hit(
                    &ReportedHit { time, ..hit },
                    answered,
                    fixture::rules(),
                    &mut out,
                )
                .unwrap();
        }
        lines
            .write_folded(&folded(), fixture::rules(), &mut out)
            .unwrap();
        lines
            .write_folded(
                &FoldedRepeats {
                    hits: 1,
                    answered: 0,
                    ..folded()
                },
                fixture::rules(),
                &mut out,
            )
            .unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn hits_at_every_width() {
        for columns in [40, 60, 80, 100, 200] {
            insta::assert_snapshot!(format!("hits_at_{columns}"), page(columns, false));
        }
        assert_eq!(page(0, false), page(100, false));
        assert_eq!(page(7, false), page(40, false));
    }

    #[test]
    fn a_country_follows_its_client() {
        let (geo, hit) = (fixture::geo("D\u{1b}", 64_500, "x"), fixture::hit());
        for columns in 40..260 {
            let (mut lines, mut out) = (LiveLines::new(columns, false, true), Vec::new());
            // The first line has the date too.
            for hit in [
                hit,
                ReportedHit {
                    geo: Some(&geo),
                    ..hit
                },
                hit,
            ] {
                lines
                    .write_hit(&hit, false, fixture::rules(), &mut out)
                    .unwrap();
            }
            let text = String::from_utf8(out).unwrap();
            let [_, with, without] = text.lines().collect::<Vec<_>>().try_into().unwrap();
            assert!(
                width(with) <= columns.into() && width(without) <= columns.into(),
                "{text}"
            );
            let method = |line: &str| line.find("GET").map(|at| width(&line[..at]));
            assert_eq!(method(with), method(without), "{text}");
            if columns < 64 {
                assert_eq!(with, without);
            }
        }
        let geo = fixture::geo("DE", 64_500, "x");
        let (mut lines, mut out) = (LiveLines::new(80, false, true), Vec::new());
        lines.resize(100);
        for _ in 0..2 {
            lines
                .write_hit(
                    &ReportedHit {
                        geo: Some(&geo),
                        ..hit
                    },
                    false,
                    fixture::rules(),
                    &mut out,
                )
                .unwrap();
        }
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.lines()
                .nth(1)
                .unwrap()
                .contains(" 203.0.113.7      DE  GET "),
            "{text}"
        );
    }

    #[test]
    fn lines_fit_every_width() {
        for columns in (40..260).chain([u16::MAX]) {
            for line in page(columns, false).lines() {
                assert!(width(line) <= columns.into(), "{columns}: {line}");
                assert_eq!(line.trim_end(), line);
            }
        }
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let colored = page(120, true);
        let line = colored
            .lines()
            .find(|line| line.contains("ANSWERED"))
            .unwrap();
        assert!(
            line.contains("\u{1b}[1m\u{1b}[31m200 ANSWERED\u{1b}[0m"),
            "{line}"
        );
        let bare = regex::Regex::new("\u{1b}\\[[0-9;]*m")
            .unwrap()
            .replace_all(&colored, "")
            .into_owned();
        assert_eq!(bare, page(120, false));
    }

    #[test]
    fn a_new_day_is_printed_with_its_date() {
        let mut lines = LiveLines::new(100, false, false);
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
            let hit = ReportedHit { time, client: Client::Text(&client), target: LogText::new(&target), method: LogText::new(&method), status, ..sample_hits()[which].2 };
            for hit in [hit, ReportedHit { target: LogText::new(text.as_bytes()), client: Client::V6(u128::MAX), ..hit }, ReportedHit { method: LogText::new(b"GET"), ..hit }] {
                let mut out = Vec::new();
                LiveLines::new(columns, false, false).write_hit(&hit, answered, fixture::rules(), &mut out).unwrap();
                let line = String::from_utf8(out).unwrap();
                let line = line.strip_suffix('\n').unwrap();
                prop_assert!(width(line) <= columns.into(), "{line}");
                prop_assert_eq!(crate::text::redact::sanitize::escape(line.as_bytes()), line);
            }
        }
    }

    #[test]
    fn cells_return_to_their_columns() {
        let mut layout = LineLayout::new(20, 1, Painter { color: false });
        let mut line = |cells: [&str; 3]| {
            layout.clear();
            for (stop, cell) in [0, 4, 10].into_iter().zip(cells) {
                layout.push_cell(stop, PLAIN, cell, 8);
            }
            layout.finish().to_owned()
        };
        assert_eq!(line(["a", "b", "c"]), "a   b     c\n");
        assert_eq!(line(["abcdef", "b", "c"]), "abcdef b  c\n");
        assert_eq!(line(["a", "", "日本語日本"]), "a         日本語…\n");
        assert_eq!(
            line(["abcdefghi", "abcdefgh", "c"]),
            "abcdefg… abcdefgh c\n"
        );
        assert_eq!(line(["", "b", ""]), "    b\n");
    }
}
