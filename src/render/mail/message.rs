//! The mail: at most ten short lines, to be read on a phone.
//!
//! A line that is too long is cut; rows that do not fit are counted.

use super::RunSummary;
use super::content::{self, AnsweredPath, BlockCandidates};
use crate::render::layout::{truncate, truncate_start, width};
use crate::report::campaigns;
use crate::report::floods::describe;
use crate::report::labels;
use crate::report::model::Campaign;
use crate::report::novelty::ItemKind;
use crate::scan::input_summary::InputSummary;
use crate::text::number::{counted, counted_more, grouped};
use crate::text::redact::sanitize::escape;

/// The most columns of a line.
const WIDTH: usize = 70;
/// The most lines.
pub(crate) const LINES: usize = 10;
/// The most answers that are listed.
const ANSWERS: usize = 5;

/// Before a line that continues the one above.
const INDENT: &str = "  ";

/// The mail as text.
pub(crate) fn text(summary: &RunSummary<'_>) -> String {
    let answers = content::answers(summary);
    let flood = floods(summary);
    let mut last = block(summary);
    last.extend(note(summary));
    last.push(files(summary));
    let mut rest: Vec<String> = withdrawn(summary)
        .into_iter()
        .chain(news(summary))
        .collect();
    // With a flood, the top client is left out if there is no room for the answers.
    let top_client = top_clients(summary).filter(|_| {
        flood.is_none() || 3 + rest.len() + last.len() + answers.len().min(ANSWERS) <= LINES
    });
    rest.extend(flood.into_iter().chain(top_client).chain(last));
    let shown = answers
        .len()
        .min(ANSWERS)
        .min(LINES.saturating_sub(1 + rest.len()));
    let mut lines = vec![opening(summary, answers.len(), shown)];
    lines.extend(
        answers
            .iter()
            .take(shown)
            .map(|answer| answered(summary, answer)),
    );
    lines.extend(rest);
    lines
        .iter()
        .flat_map(|line| [truncate(line, WIDTH), "\n".into()])
        .collect()
}

/// The first line: the counts of hits and answers.
fn opening(summary: &RunSummary<'_>, answers: usize, shown: usize) -> String {
    let host = summary
        .host
        .map(|host| format!("{}: ", truncate(&escape(host.as_bytes()), WIDTH / 3)))
        .unwrap_or_default();
    let totals = &summary.report.totals;
    let probes = counted(totals.sum.hits, "probe", "probes");
    let known = if summary.is_first || content::news_of(summary, ItemKind::Answer).next().is_some()
    {
        ""
    } else {
        ", none of them new"
    };
    let news = match (totals.answered, answers.saturating_sub(shown)) {
        (0, _) if totals.sum.hits == 0 => format!(
            "no probes in {}",
            counted(totals.sum.lines, "line", "lines")
        ),
        (0, _) => format!(
            "nothing answered; {probes} from {}",
            counted_more(totals.clients, totals.has_more_clients, "client", "clients")
        ),
        (n, 0) => format!("{} of {probes} answered{known}", grouped(n)),
        (n, _) => format!(
            "{} of {probes} answered{known}; the worst of {} finds:",
            grouped(n),
            grouped(answers as u64)
        ),
    };
    format!("{host}{news}")
}

fn answered(summary: &RunSummary<'_>, answer: &AnsweredPath<'_>) -> String {
    let before = format!(
        "{INDENT}{}{} ",
        if answer.is_new { "NEW " } else { "" },
        answer.row.severity
    );
    let after = format!(", {}", answer.response());
    let line = format!(
        "{before}{}{after}",
        truncate(
            &answer.label,
            WIDTH.saturating_sub(width(&before) + width(&after))
        )
    );
    let title = format!(
        " ({})",
        labels::worst(summary.report.rule_set, &answer.row.rules).map_or("", |rule| &rule.title)
    );
    if width(&line) + width(&title) <= WIDTH {
        line + &title
    } else {
        line
    }
}

/// The answers of earlier reports that proved to be soft 404s.
fn withdrawn(summary: &RunSummary<'_>) -> Option<String> {
    let keys: Vec<_> = summary
        .withdrawn
        .iter()
        .map(|answer| answer.key.clone())
        .collect();
    list_line("Withdrawn, soft 404: ", &keys)
}

/// New rules and campaigns; new answers are marked among the answers.
fn news(summary: &RunSummary<'_>) -> Vec<String> {
    if summary.is_first {
        return Vec::new();
    }
    let new = |kind| content::news_of(summary, kind).filter(|news| news.severity >= summary.level);
    let campaigns: Vec<_> = summary
        .report
        .campaigns
        .iter()
        .filter(|campaign| {
            campaign.guesses.is_none()
                && new(ItemKind::Campaign).any(|news| news.key == campaign.key)
        })
        .map(campaign)
        .collect();
    let rules: Vec<_> = new(ItemKind::Rule)
        .map(|news| content::rule_title(summary.report, &news.key).to_owned())
        .collect();
    [
        list_line("New campaign: ", &campaigns),
        list_line("New probes: ", &rules),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn campaign(campaign: &Campaign<'_>) -> String {
    let paths = counted(campaign.paths, "path", "paths");
    format!(
        "the same {paths} from {}",
        counted(campaign.networks, "network", "networks")
    )
}

/// A line with as many `words` as fit, at least one, and the number of the others.
fn list_line(before: &str, words: &[String]) -> Option<String> {
    let line_of = |first: usize| {
        let more = match words.len() - first {
            0 => String::new(),
            more => format!(" and {} more", grouped(more as u64)),
        };
        format!("{before}{}{more}", words[..first].join("; "))
    };
    let fitting = (1..=words.len())
        .rev()
        .map(line_of)
        .find(|line| width(line) <= WIDTH);
    fitting.or_else(|| (!words.is_empty()).then(|| line_of(1)))
}

/// The worst campaign that guesses passwords, or the worst flood, and the number of others.
fn floods(summary: &RunSummary<'_>) -> Option<String> {
    let guesses: Vec<String> = campaigns::guess_sentences(summary.report).collect();
    let more = match guesses.len() + summary.report.floods.len() {
        0 | 1 => String::new(),
        many => format!(" and {} more", grouped(many as u64 - 1)),
    };
    let line = guesses
        .into_iter()
        .next()
        .or_else(|| summary.report.floods.first().map(describe))?;
    Some(format!("{}{more}", truncate(&line, WIDTH - more.len())))
}

fn top_clients(summary: &RunSummary<'_>) -> Option<String> {
    let top = content::top_clients(summary.report, 1);
    let client = top.first()?;
    let share = match (client.hits, summary.report.totals.sum.hits) {
        (hits, all) if hits == all => format!("all {}", counted(all, "probe", "probes")),
        (hits, all) => format!("{} of {}", grouped(hits), counted(all, "probe", "probes")),
    };
    let answered = if client.answered > 0 {
        format!(", {} answered", grouped(client.answered))
    } else {
        String::new()
    };
    Some(format!(
        "Top client: {}, {share}{answered}",
        truncate(&client.name(), WIDTH / 2)
    ))
}

/// The number of block candidates, their cost, and their addresses if those fit a line.
fn block(summary: &RunSummary<'_>) -> Vec<String> {
    let found = content::gather_candidates(summary.report);
    let names = found
        .lines
        .iter()
        .map(|line| line.name.as_str())
        .collect::<Vec<_>>()
        .join(" ");
    match found.addresses {
        0 => Vec::new(),
        1 => vec![one_candidate(&names, &found)],
        many => {
            let mut lines = vec![format!(
                "Could block {}, {}",
                counted(many, "address", "addresses"),
                found.cost()
            )];
            lines.extend(
                (INDENT.len() + width(&names) <= WIDTH).then(|| format!("{INDENT}{names}")),
            );
            lines
        }
    }
}

/// The only block candidate, with its network and country, or the country alone, where the line has
/// room.
fn one_candidate(name: &str, found: &BlockCandidates) -> String {
    let known = found
        .lines
        .first()
        .map(|line| [line.network.as_str(), line.country.as_str()])
        .unwrap_or_default();
    let named = known
        .into_iter()
        .filter(|network| !network.is_empty())
        .map(|network| format!("Could block {name} ({network}), {}", found.cost()));
    named
        .into_iter()
        .find(|line| width(line) <= WIDTH)
        .unwrap_or_else(|| format!("Could block {name}, {}", found.cost()))
}

fn note(summary: &RunSummary<'_>) -> Option<String> {
    let name = |input: &InputSummary| {
        escape(input.path.rsplit(|&b| b == b'/').next().unwrap_or_default()).into_owned()
    };
    let notes = content::notes(summary, name);
    let note = notes.first()?;
    let more = match notes.len() {
        1 => String::new(),
        many => format!(" (and {} more)", grouped(many as u64 - 1)),
    };
    Some(format!(
        "Note: {}{more}",
        truncate(
            &escape(note.as_bytes()),
            WIDTH - "Note: ".len() - more.len()
        )
    ))
}

fn files(summary: &RunSummary<'_>) -> String {
    // The end of the path differs from run to run, so the beginning is cut.
    let folder = escape(summary.folder.as_os_str().as_encoded_bytes());
    format!(
        "Files: {}",
        truncate_start(&folder, WIDTH - "Files: ".len())
    )
}
