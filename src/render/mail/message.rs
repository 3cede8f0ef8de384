//! The mail: at most ten lines that a phone shows whole.
//!
//! Leaves out whatever has nothing to say. What does not fit a line is truncate; what does not fit the mail is counted.

use std::io::{self, Write};

use super::content::{self, AnsweredPath};
use super::{RunSummary, candidates};
use crate::analysis::floods::describe;
use crate::analysis::model::{Campaign, InputSummary};
use crate::analysis::seen::NoveltyKind;
use crate::number::{counted, grouped};
use crate::redact::sanitize::escape;
use crate::render::layout::{truncate, truncate_start, width};

/// Columns of a line.
const WIDTH: usize = 70;
/// Lines.
pub(crate) const LINES: usize = 10;
/// Answers told one by one.
const ANSWERS: usize = 5;

/// Before a line that belongs to the one above.
const INDENT: &str = "  ";

/// Writes the mail.
pub(crate) fn write<W: Write>(page: &RunSummary<'_>, out: &mut W) -> io::Result<()> {
    let answers = content::answers(page);
    let flood = floods(page);
    let mut behind = block(page);
    behind.extend(note(page));
    behind.push(files(page));
    let mut rest = news(page);
    // Beside a flood who asked most is told only where that leaves room for what answered.
    let most = top_clients(page).filter(|_| flood.is_none() || 3 + rest.len() + behind.len() + answers.len().min(ANSWERS) <= LINES);
    rest.extend(flood.into_iter().chain(most).chain(behind));
    let shown = answers.len().min(ANSWERS).min(LINES.saturating_sub(1 + rest.len()));
    let mut lines = vec![opening(page, answers.len(), shown)];
    lines.extend(answers.iter().take(shown).map(|told| answered(page, told)));
    lines.extend(rest);
    lines.iter().try_for_each(|line| writeln!(out, "{}", truncate(line, WIDTH)))
}

/// What matters most; the answers follow, or some of them.
fn opening(page: &RunSummary<'_>, answers: usize, shown: usize) -> String {
    let host = page.host.map(|host| format!("{}: ", truncate(&escape(host.as_bytes()), WIDTH / 3))).unwrap_or_default();
    let totals = &page.report.totals;
    let probes = counted(totals.sum.hits, "probe", "probes");
    let known =
        if page.is_first || content::news_of(page, NoveltyKind::Answer).next().is_some() { "" } else { ", none for the first time" };
    let news = match (totals.answered, answers.saturating_sub(shown)) {
        (0, _) if totals.sum.hits == 0 => format!("no probes in {}", counted(totals.sum.lines, "line", "lines")),
        (0, _) => format!("nothing answered; {probes} from {}", counted(totals.clients, "client", "clients")),
        (n, 0) => format!("{} of {probes} answered{known}", grouped(n)),
        (n, _) => format!("{} of {probes} answered{known}; the worst of {} paths:", grouped(n), grouped(answers as u64)),
    };
    format!("{host}{news}")
}

fn answered(page: &RunSummary<'_>, told: &AnsweredPath<'_>) -> String {
    let before = format!("{INDENT}{}{} ", if told.is_new { "NEW " } else { "" }, told.row.severity);
    let after = format!(", {}", told.response());
    let line = format!("{before}{}{after}", truncate(&told.place, WIDTH.saturating_sub(width(&before) + width(&after))));
    let title = format!(" ({})", content::worst_rule_title(page.report, &told.row.rules));
    if width(&line) + width(&title) <= WIDTH { line + &title } else { line }
}

/// Rules and campaigns never seen before; new answers stand among the answers.
fn news(page: &RunSummary<'_>) -> Vec<String> {
    if page.is_first {
        return Vec::new();
    }
    let new = |kind| content::news_of(page, kind).filter(|news| news.severity >= page.level);
    let campaigns: Vec<_> = page
        .report
        .campaigns
        .iter()
        .filter(|campaign| new(NoveltyKind::Campaign).any(|news| news.key == campaign.key))
        .map(campaign)
        .collect();
    let rules: Vec<_> = new(NoveltyKind::Rule).map(|news| content::rule_title(page.report, &news.key).to_owned()).collect();
    [listed("New campaign: ", &campaigns), listed("New probes: ", &rules)].into_iter().flatten().collect()
}

fn campaign(campaign: &Campaign<'_>) -> String {
    let paths = counted(campaign.paths, "path", "paths");
    format!("the same {paths} from {}", counted(campaign.networks, "network", "networks"))
}

/// As many of these as a line holds behind some words, but one at least, and how many more there are.
fn listed(before: &str, words: &[String]) -> Option<String> {
    let told = |first: usize| {
        let more = match words.len() - first {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        format!("{before}{}{more}", words[..first].join("; "))
    };
    let fitting = (1..=words.len()).rev().map(told).find(|line| width(line) <= WIDTH);
    fitting.or_else(|| (!words.is_empty()).then(|| told(1)))
}

/// The worst flood, and how many more there are.
fn floods(page: &RunSummary<'_>) -> Option<String> {
    let flood = page.report.floods.first()?;
    let more = match page.report.floods.len() {
        1 => String::new(),
        many => format!(" and {} more", grouped(many as u64 - 1)),
    };
    let line = describe(page.report.rule_set, flood);
    Some(format!("{}{more}", truncate(&line, WIDTH - more.len())))
}

fn top_clients(page: &RunSummary<'_>) -> Option<String> {
    let top = content::top_clients(page.report, 1);
    let client = top.first()?;
    let share = match (client.hits, page.report.totals.sum.hits) {
        (hits, all) if hits == all => format!("all {}", counted(all, "probe", "probes")),
        (hits, all) => format!("{} of {}", grouped(hits), counted(all, "probe", "probes")),
    };
    let answered = if client.answered > 0 { format!(", {} answered", grouped(client.answered)) } else { String::new() };
    Some(format!("Most: {}, {share}{answered}", truncate(&client.who(), WIDTH / 2)))
}

/// How many one could block, what it would cost, and who, where that is not longer than a line.
fn block(page: &RunSummary<'_>) -> Vec<String> {
    let found = candidates::gather(page.report);
    let who = found.lines.iter().map(|line| line.who.as_str()).collect::<Vec<_>>().join(" ");
    match found.addresses {
        0 => Vec::new(),
        1 => vec![format!("Could block {who}, {}", found.cost())],
        many => {
            let mut lines = vec![format!("Could block {}, {}", counted(many, "address", "addresses"), found.cost())];
            lines.extend((INDENT.len() + width(&who) <= WIDTH).then(|| format!("{INDENT}{who}")));
            lines
        }
    }
}

fn note(page: &RunSummary<'_>) -> Option<String> {
    let name = |input: &InputSummary| escape(input.path.rsplit(|&b| b == b'/').next().unwrap_or_default()).into_owned();
    let notes = content::notes(page, name);
    let note = notes.first()?;
    let more = match notes.len() {
        1 => String::new(),
        many => format!(" (and {} more)", grouped(many as u64 - 1)),
    };
    Some(format!("Note: {}{more}", truncate(&escape(note.as_bytes()), WIDTH - "Note: ".len() - more.len())))
}

fn files(page: &RunSummary<'_>) -> String {
    // The beginning is what the reader once typed; the end is what tells this run from others.
    let folder = escape(page.folder.as_os_str().as_encoded_bytes());
    format!("Files: {}", truncate_start(&folder, WIDTH - "Files: ".len()))
}
