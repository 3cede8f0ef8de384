//! Prints a report as tables for people: a headline, then answers, clients, paths, rules and line counts.
//!
//! Fits the given width. Programs read CSV or JSON: the layout of tables may change.

mod accounting;
pub(crate) mod diff;
pub(crate) mod headline;
pub(crate) mod proposals;
mod sections;
pub(crate) mod status;

use std::io::{self, Write};

use super::style::{self, ALARM, BOLD, DIM, Painter};
use super::{GroupBy, RenderOptions, TABLE_ROWS};
use crate::analysis::model::Report;
use crate::number::grouped;
use crate::render::layout::write_wrapped;
use crate::time::LogTime;

/// The page that sections are written to.
#[derive(Debug, Clone, Copy)]
struct TablePage {
    width: usize,
    top: usize,
    painter: Painter,
    full: bool,
}

/// Writes the report.
pub(crate) fn write<W: Write>(report: &Report<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    let page = TablePage::new(options);
    write_opening(report, page, out)?;
    match options.by {
        None if options.full => {
            sections::write_answered(report, page, out)?;
            sections::write_grades(report, page, out)?;
            sections::write_floods(report, page, out)?;
            sections::write_clients(report, page, out)?;
            sections::write_paths(report, page, out)?;
            sections::write_rules(report, page, out)?;
            sections::write_campaigns(report, page, out)?;
        }
        None => return write_short(report, page, options.top.is_some(), out),
        Some(GroupBy::Pair) => sections::write_pairs(report, page, out)?,
        Some(GroupBy::Client) => sections::write_clients(report, page, out)?,
        Some(GroupBy::Path) => sections::write_paths(report, page, out)?,
        Some(GroupBy::Rule) => sections::write_rules(report, page, out)?,
        Some(GroupBy::Answer) => {
            sections::write_answered(report, page, out)?;
            sections::write_grades(report, page, out)?;
        }
    }
    sections::write_suppressed(report, page, out)?;
    accounting::write(report, page, out)
}

/// Lines of a screen, which the short table fits.
const SCREEN: usize = 24;
/// Clients of the short table, and the least rows of each of its sections.
const CLIENTS: usize = 5;
const FEWEST: usize = 2;

/// Writes the short table, on one screen: answers, a sentence for each site that answers anything, a few clients, line counts.
fn write_short<W: Write>(report: &Report<'_>, page: TablePage, is_chosen: bool, out: &mut W) -> io::Result<()> {
    let rendered = |write: &dyn Fn(&mut Vec<u8>) -> io::Result<()>| -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        write(&mut text)?;
        Ok(text)
    };
    let lines = |text: &[u8]| memchr::memchr_iter(b'\n', text).count();
    let opening = 2;
    let notes = TablePage { top: page.top.min(SITES), ..page };
    let grades = rendered(&|text| sections::write_grades(report, notes, text))?;
    let floods = rendered(&|text| sections::write_floods(report, TablePage { top: page.top.min(FLOODS), ..page }, text))?;
    let suppressed = rendered(&|text| sections::write_suppressed(report, TablePage { top: page.top.min(1), ..page }, text))?;
    let accounting = rendered(&|text| accounting::write_short(report, page, text))?;
    // A section has a blank line, a heading, the names of its columns, and a line with the number of further rows.
    let fixed = opening + lines(&grades) + lines(&floods) + lines(&suppressed) + lines(&accounting);
    let room = if is_chosen { usize::MAX } else { SCREEN.saturating_sub(fixed) };
    let of_clients = if is_chosen { page.top } else { CLIENTS.min(page.top).min(report.clients.len()) };
    let least = if report.clients.is_empty() { 0 } else { 4 + of_clients.min(FEWEST) };
    let top = page.top.min(room.saturating_sub(5 + least).max(FEWEST));
    let answered = rendered(&|text| sections::write_answered(report, TablePage { top, ..page }, text))?;
    let left = room.saturating_sub(lines(&answered) + 4);
    let clients = rendered(&|text| sections::write_clients(report, TablePage { top: of_clients.min(left.max(FEWEST)), ..page }, text))?;
    for part in [answered, grades, floods, clients, suppressed, accounting] {
        out.write_all(&part)?;
    }
    Ok(())
}

/// Sites that answer anything, in the short table.
const SITES: usize = 2;
/// Floods of the short table.
const FLOODS: usize = 3;

/// The headline, and the time range of the logs.
fn write_opening<W: Write>(report: &Report<'_>, page: TablePage, out: &mut W) -> io::Result<()> {
    let (sentence, is_alarm) = headline::sentence(report);
    write_wrapped(&sentence, 0, page.width, (page.painter, if is_alarm { ALARM } else { BOLD }), out)?;
    match (report.totals.sum.first_time, report.totals.sum.last_time) {
        (Some(first), Some(last)) => {
            write_wrapped(&format!("{} to {}", minute(first), minute(last)), 0, page.width, (page.painter, DIM), out)
        }
        _ => Ok(()),
    }
}

impl TablePage {
    fn new(options: &RenderOptions) -> Self {
        let top = options.top.unwrap_or(TABLE_ROWS);
        Self { width: options.page_width(), top, painter: Painter { color: options.color }, full: options.full }
    }

    fn heading<W: Write>(self, title: &str, out: &mut W) -> io::Result<()> {
        writeln!(out, "\n{}", self.painter.paint(BOLD, title))
    }

    /// A paragraph between sections.
    fn note<W: Write>(self, text: &str, out: &mut W) -> io::Result<()> {
        writeln!(out)?;
        write_wrapped(text, 2, self.width, (self.painter, style::PLAIN), out)
    }

    /// Writes how many of `all` were left out, and how to see them.
    fn more<W: Write>(self, all: usize, what: &str, other_way: &str, out: &mut W) -> io::Result<()> {
        match all.saturating_sub(self.top) {
            0 => Ok(()),
            more => {
                let rest = format!("… and {} more{what}: --top {all}{other_way}", grouped(more as u64));
                write_wrapped(&rest, 2, self.width, (self.painter, DIM), out)
            }
        }
    }
}

/// `2026-11-02 08:01`, in the log's own time zone.
pub(crate) fn minute(time: LogTime) -> String {
    let full = time.rfc3339();
    full.get(..16).unwrap_or(&full).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::super::OutputFormat;
    use crate::analysis::fixture;
    use crate::render::layout::MIN_WIDTH;
    use crate::render::table::*;

    fn table(report: &Report<'_>, options: RenderOptions) -> String {
        let mut out = Vec::new();
        write(report, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn wide(width: u16) -> RenderOptions {
        RenderOptions { format: OutputFormat::Table, by: None, top: None, full: false, width, color: false, made_at: None }
    }

    #[test]
    fn tables_at_every_width() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        insta::assert_snapshot!("80", table(&report, wide(80)));
        insta::assert_snapshot!("120", table(&report, wide(120)));
        insta::assert_snapshot!("200", table(&report, wide(200)));
    }

    #[test]
    fn by_prints_one_section() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        insta::assert_snapshot!("pairs", table(&report, RenderOptions { by: Some(GroupBy::Pair), top: Some(5), ..wide(100) }));
        for (by, title) in [(GroupBy::Client, "CLIENTS"), (GroupBy::Path, "PATHS"), (GroupBy::Rule, "RULES")] {
            let text = table(&report, RenderOptions { by: Some(by), ..wide(80) });
            let titles: Vec<_> =
                text.lines().filter(|line| line.starts_with(char::is_uppercase) && !line.contains(char::is_lowercase)).collect();
            assert_eq!(titles, [title, "WHERE EACH LINE WENT"]);
        }
    }

    #[test]
    fn a_report_without_hits_is_short() {
        let rules = fixture::rules();
        insta::assert_snapshot!("quiet", table(&fixture::empty(rules), wide(80)));
    }

    #[test]
    fn colour_does_not_change_the_text() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        let colored = table(&report, RenderOptions { color: true, ..wide(80) });
        assert!(colored.contains("\u{1b}[1m\u{1b}[31mcritical\u{1b}[0m"));
        let bare = regex::Regex::new("\u{1b}\\[[0-9;]*m").unwrap().replace_all(&colored, "").into_owned();
        assert_eq!(bare, table(&report, wide(80)));
        assert!(!bare.contains(|c: char| c.is_control() && c != '\n'));
    }

    #[test]
    fn lines_fit_every_width() {
        let rules = fixture::rules();
        let report = fixture::report(rules);
        for width in (0..260).chain([u16::MAX]) {
            for by in [None, Some(GroupBy::Pair), Some(GroupBy::Client)] {
                let page = if width == 0 { 80 } else { usize::from(width).max(MIN_WIDTH) };
                for line in table(&report, RenderOptions { by, ..wide(width) }).lines() {
                    assert!(crate::render::layout::width(line) <= page, "{width}: {line}");
                    assert_eq!(line.trim_end(), line);
                }
            }
        }
    }

    #[test]
    fn many_inputs_are_summed() {
        let rules = fixture::rules();
        let mut report = fixture::report(rules);
        let well = report.inputs[0].clone();
        report.inputs.extend(std::iter::repeat_n(well, 20));
        let text = table(&report, RenderOptions { full: true, ..wide(120) });
        assert!(text.contains("all 22 inputs"));
        assert!(!text.contains("access.log  "));
        assert!(text.contains("access.log.2.gz: the archive ends"));
        assert!(table(&report, RenderOptions { top: Some(0), ..wide(80) }).contains("… and 1 more with a problem: --top 1"));
    }
}
