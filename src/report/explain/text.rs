//! The explanation for a person: the answer, what was seen, how it was decoded, what matched and what nearly did.
//!
//! Promises no layout: programs read JSON instead.

use std::io::{self, Write};
use std::ops::Range;

use super::page::Page;
use super::{Marked, Subject, Taken, sentence};
use crate::engine::explain::{Account, Mark};
use crate::report::View;
use crate::report::mask::shown;
use crate::report::sanitize;
use crate::report::style::{self, ALARM, BOLD, DIM, WARNING};
use crate::rules::{Asks, Field, Span, View as Seen};
use crate::time::LogTime;

/// Near misses that are told.
const NEAR_MISSES: usize = 5;
/// Columns that the name of a kind of place takes.
const KIND: usize = 6;

/// Writes the explanation.
pub(super) fn write<W: Write>(subject: &Subject<'_>, view: &View, out: &mut W) -> io::Result<()> {
    let mut page = Page::new(view.width, view.color, out);
    let worst = subject.explanation.matches.iter().filter(|a| a.withheld.is_none()).map(|a| subject.severity(a.rule)).max();
    page.text(0, if worst.is_some() { ALARM } else { BOLD }, &headline(subject))?;
    page.text(0, DIM, &origin(subject))?;
    page.heading("REQUEST")?;
    page.rows(&fields(subject))?;
    write_decoding(subject, &mut page)?;
    write_views(subject, &mut page)?;
    if subject.only.is_some() {
        let accounts = subject.explanation.matches.iter().chain(&subject.explanation.misses);
        return accounts.into_iter().try_for_each(|account| write_rule(subject, account, &mut page));
    }
    write_matches(subject, &mut page)?;
    write_misses(subject, &mut page)
}

/// The answer in a sentence.
fn headline(subject: &Subject<'_>) -> String {
    let matches = &subject.explanation.matches;
    if let Some(rule) = subject.only {
        let verb = if matches.is_empty() { "does not match" } else { "matches" };
        return format!("{} {verb}.", subject.rules.rule(rule).id);
    }
    let reported = matches.iter().filter(|account| account.withheld.is_none());
    let worst = reported.clone().map(|account| subject.severity(account.rule)).max();
    let count = if matches.len() == 1 { "1 rule matches".into() } else { format!("{} rules match", matches.len()) };
    match (matches.len(), worst) {
        (0, _) => "No rule matches.".into(),
        (1, Some(worst)) => format!("{count}: {}, {worst}.", subject.rules.rule(matches[0].rule).id),
        (_, Some(worst)) => format!("{count}, the worst {worst}."),
        (_, None) => format!("{count}; a scan would report none."),
    }
}

/// What was explained, and what it was taken for.
fn origin(subject: &Subject<'_>) -> String {
    let taken = match subject.taken {
        Taken::Line(format) => format!("A line of the format {format}."),
        Taken::Request => "Not a log line; taken as a request.".into(),
        Taken::Unparsed(None) => "No format explains this line; a scan matches it as it is.".into(),
        Taken::Unparsed(Some(kind)) => format!("No format explains this line, which looks like {kind}; a scan matches it as it is."),
    };
    match subject.place {
        Some((path, line)) => format!("{}:{line}. {taken}", sanitize::text(path)),
        None => taken,
    }
}

/// The fields, those of a log line also where it holds nothing for them.
fn fields(subject: &Subject<'_>) -> Vec<(String, String)> {
    let record = &subject.record;
    let is_line = matches!(subject.taken, Taken::Line(_));
    let text = |text: &[u8]| if text.is_empty() { None } else { Some(shown(text).into_owned()) };
    let status = record.status.map(|status| format!("{status} {}", subject.outcome()));
    let size = record.bytes.map(|bytes| bytes.to_string());
    [
        ("client", text(record.client), is_line),
        ("time", record.time.map(LogTime::rfc3339), is_line),
        ("method", text(subject.line.method), true),
        ("target", text(subject.line.target), true),
        ("protocol", text(subject.line.protocol), is_line),
        ("status", status, is_line),
        ("bytes", size, is_line),
        ("referer", record.referer.and_then(text), is_line),
        ("agent", record.user_agent.and_then(text), is_line),
        ("host", record.host.and_then(text), false),
    ]
    .into_iter()
    .filter(|(_, value, always)| value.is_some() || *always)
    .map(|(name, value, _)| (name.to_owned(), value.unwrap_or_else(|| "-".into())))
    .collect()
}

fn write_decoding<W: Write>(subject: &Subject<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    let trails = &subject.explanation.trails;
    if trails.is_empty() {
        return Ok(());
    }
    page.heading("DECODED")?;
    let mut rows = Vec::new();
    for trail in trails {
        let name = sentence::name(Seen::Field(trail.field));
        let shown = |text: &[u8]| Marked::new(text, &trail.logged).whole();
        rows.extend(trail.sent.iter().map(|sent| (format!("{name}, log escapes"), shown(sent))));
        let rounds = trail.rounds.iter().zip(1..);
        rows.extend(rounds.map(|(round, n)| (format!("{name}, round {n}: {}", round.undone.join(", ")), shown(&round.text))));
    }
    let widest = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    if widest * 2 <= page.width {
        page.rows(&rows)?;
    } else {
        for (label, text) in &rows {
            page.text(2, DIM, label)?;
            page.plain(4, text)?;
        }
    }
    if subject.explanation.texts.round_limit {
        page.text(2, WARNING, "More rounds would have changed it still; what is left is looked at as it is.")?;
    }
    Ok(())
}

/// The views of the target, where they are not plain to see in it.
fn write_views<W: Write>(subject: &Subject<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    let text = |field| subject.explanation.texts.of_view(Seen::Field(field));
    let (path, query) = (text(Field::Path), text(Field::Query));
    let resolved = subject.explanation.texts.of_view(Seen::Resolved);
    let mark: &[u8] = if query.is_empty() { b"" } else { b"?" };
    let plain = [path, mark, query].concat() == subject.line.target;
    if plain && resolved == path {
        return Ok(());
    }
    let views = [(Field::Path, path, true), (Field::Query, query, !query.is_empty())].map(|(f, text, told)| (Seen::Field(f), text, told));
    let [path_row, query_row] = views;
    let rows: Vec<_> = [path_row, (Seen::Resolved, resolved, resolved != path), query_row]
        .into_iter()
        .filter(|(.., told)| *told)
        .map(|(view, ..)| (sentence::name(view).to_owned(), subject.marked(view).whole()))
        .collect();
    page.heading("WHAT RULES SEE")?;
    page.rows(&rows)
}

fn write_matches<W: Write>(subject: &Subject<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    let matches = &subject.explanation.matches;
    if matches.is_empty() {
        return Ok(());
    }
    page.heading("WHAT MATCHES")?;
    for account in matches {
        write_name(subject, account, page)?;
        write_places(subject, account, page)?;
        let told = |asks: &Asks<'_>| matches!(asks, Asks::Method(_) | Asks::Status(_) | Asks::Shape(_));
        let also: Vec<_> = account.checks.iter().filter(|c| told(&c.asks)).map(|check| sentence::of(check, account, subject)).collect();
        if !also.is_empty() {
            page.labelled(4, KIND, "and", &also.join("; "))?;
        }
        if let Some(reason) = account.withheld {
            page.text(4, WARNING, &sentence::withheld(reason))?;
        }
    }
    Ok(())
}

fn write_misses<W: Write>(subject: &Subject<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    let misses = &subject.explanation.misses;
    if misses.is_empty() {
        return Ok(());
    }
    page.heading("NEAR MISSES")?;
    for account in misses.iter().take(NEAR_MISSES) {
        write_name(subject, account, page)?;
        let seen = sentence::seen(account, subject);
        if !seen.is_empty() {
            page.labelled(4, KIND, "seen", &seen)?;
        }
        for check in account.missing() {
            page.labelled(4, KIND, "but", &sentence::of(check, account, subject))?;
        }
    }
    match misses.len().saturating_sub(NEAR_MISSES) {
        0 => Ok(()),
        more => page.text(2, DIM, &format!("… and {more} more of which a part was seen; --rule ID explains any rule")),
    }
}

/// One rule with all that it asks for.
fn write_rule<W: Write>(subject: &Subject<'_>, account: &Account<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    page.heading("WHAT THE RULE ASKS FOR")?;
    write_name(subject, account, page)?;
    write_places(subject, account, page)?;
    for check in &account.checks {
        let answer = if check.holds { "yes" } else { "no" };
        let label = format!("{answer:3}  {}", sentence::topic(&check.asks));
        page.labelled(4, LONGEST_TOPIC, &label, &sentence::of(check, account, subject))?;
    }
    match account.withheld.filter(|_| account.matches()) {
        Some(reason) => page.text(4, WARNING, &sentence::withheld(reason)),
        None => Ok(()),
    }
}

/// `yes  raw_prefixes`.
const LONGEST_TOPIC: usize = 17;

fn write_name<W: Write>(subject: &Subject<'_>, account: &Account<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    let rule = subject.rules.rule(account.rule);
    let severity = subject.severity(account.rule);
    let name = format!("{}  {} ({})", rule.id, sanitize::text(rule.title.as_bytes()), rule.class);
    let severity = page.pen.paint(style::of(severity), format!("{:8}", severity.as_str()));
    for (number, line) in super::page::wrapped(&name, page.width - 12).into_iter().enumerate() {
        let before = if number == 0 { format!("  {severity}  ") } else { " ".repeat(12) };
        writeln!(page.out, "{before}{line}")?;
    }
    Ok(())
}

/// The views in which something of the rule stands, with lines under it.
fn write_places<W: Write>(subject: &Subject<'_>, account: &Account<'_>, page: &mut Page<'_, W>) -> io::Result<()> {
    let spans = account.spans();
    let mut views: Vec<_> = spans.iter().map(|(_, span)| span.view).collect();
    views.sort_unstable();
    views.dedup();
    for view in views {
        write_view(subject, account, view, &spans, page)?;
    }
    Ok(())
}

fn write_view<W: Write>(
    subject: &Subject<'_>,
    account: &Account<'_>,
    view: Seen,
    spans: &[(Mark, &Span)],
    page: &mut Page<'_, W>,
) -> io::Result<()> {
    let here: Vec<_> = spans.iter().filter(|(_, span)| span.view == view).collect();
    // A regex says most about where to look.
    let mut ordered = here.clone();
    ordered.sort_by_key(|(mark, _)| !matches!(mark, Mark::Regex | Mark::Glob | Mark::Unless));
    let places: Vec<Range<usize>> = ordered.iter().map(|(_, span)| span.range.clone()).collect();
    let name = sentence::name(view);
    let column = name.len().max(KIND);
    let room = page.width.saturating_sub(4 + column + 2);
    let line = subject.marked(view).line(&places, room);
    write!(page.out, "    {}  ", page.pen.paint(DIM, format!("{name:column$}")))?;
    for (text, is_covered) in &line.parts {
        write!(page.out, "{}", page.pen.paint(if *is_covered { ALARM } else { style::PLAIN }, text))?;
    }
    writeln!(page.out)?;
    let mut kinds: Vec<_> = ordered.iter().map(|(mark, _)| mark.as_str()).collect();
    kinds.dedup();
    for kind in kinds {
        let of_kind = ordered.iter().zip(&line.columns).filter(|((mark, _), _)| mark.as_str() == kind).map(|(_, columns)| columns);
        let carets = underline(of_kind);
        if carets.is_empty() {
            continue;
        }
        let label = page.pen.paint(DIM, format!("{kind:column$}"));
        writeln!(page.out, "    {label}  {}", page.pen.paint(ALARM, &carets))?;
    }
    let patterns = account.checks.iter().filter(|check| check.found.as_ref().is_some_and(|found| found.view == view));
    for check in patterns {
        if let Asks::Regex(source, _) | Asks::Glob(source) | Asks::Not(source, _) = check.asks {
            page.labelled(4, column, "", &sanitize::text(source.as_bytes()))?;
        }
    }
    Ok(())
}

/// Carets under these columns; nothing where there are none.
fn underline<'c>(columns: impl Iterator<Item = &'c Range<usize>>) -> String {
    let mut line = String::new();
    for columns in columns.filter(|columns| !columns.is_empty()) {
        let mut cells: Vec<char> = line.chars().collect();
        cells.resize(cells.len().max(columns.end), ' ');
        cells[columns.clone()].fill('^');
        line = cells.into_iter().collect();
    }
    line
}
