//! The explanation for a person: the answer, what was seen, how it was decoded, what matched and what nearly did.
//!
//! Promises no layout: programs read JSON instead.

use std::cmp::Reverse;
use std::io::{self, Write};

use super::page::ExplainPage;
use super::{AnnotatedText, ExplainedRequest, ReadAs, answer, match_locations, sentence};
use crate::engine::explain::{AlternativeDecoding, DecodeSteps, RuleExplanation};
use crate::redact::mask::redacted;
use crate::redact::sanitize;
use crate::render::RenderOptions;
use crate::render::layout::truncate;
use crate::render::style::{self, ALARM, BOLD, DIM, WARNING};
use crate::rules::{Field, Requirement, TextView};
use crate::time::LogTime;

/// Near misses that are told.
const NEAR_MISSES: usize = 5;
/// Columns of `seen`.
const SEEN: usize = 4;

/// Writes the explanation.
pub(crate) fn write<W: Write>(subject: &ExplainedRequest<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    let mut page = ExplainPage::new(options, out);
    let worst = subject.explanation.matches.iter().filter(|a| a.suppressed_by.is_none()).map(|a| subject.severity(a.rule)).max();
    page.text(0, if worst.is_some() { ALARM } else { BOLD }, &headline(subject))?;
    page.text(0, DIM, &origin(subject))?;
    page.heading("REQUEST")?;
    page.rows(&fields(subject))?;
    write_decoding(subject, &mut page)?;
    write_views(subject, &mut page)?;
    if subject.only.is_some() {
        let accounts = subject.explanation.matches.iter().chain(&subject.explanation.near_misses);
        accounts.into_iter().try_for_each(|account| write_rule(subject, account, &mut page))?;
        return write_answer(subject, &mut page);
    }
    write_matches(subject, &mut page)?;
    write_answer(subject, &mut page)?;
    write_misses(subject, &mut page)
}

/// The answer in a sentence.
fn headline(subject: &ExplainedRequest<'_>) -> String {
    let matches = &subject.explanation.matches;
    if let Some(rule) = subject.only {
        let verb = if matches.is_empty() { "does not match" } else { "matches" };
        return format!("{} {verb}.", subject.rules.rule(rule).id);
    }
    let reported = matches.iter().filter(|account| account.suppressed_by.is_none());
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
fn origin(subject: &ExplainedRequest<'_>) -> String {
    let taken = match &subject.taken {
        ReadAs::Line(format) => format!("A line of the format {}.", sanitize::escape(format.as_bytes())),
        ReadAs::Request => "Not a log line; taken as a request.".into(),
        ReadAs::Unparsed(None) => "No format explains this line; a scan matches it as it is.".into(),
        ReadAs::Unparsed(Some(kind)) => format!("No format explains this line, which looks like {kind}; a scan matches it as it is."),
    };
    match subject.place {
        Some((path, line)) => format!("{}:{line}. {taken}", sanitize::escape(path)),
        None => taken,
    }
}

/// The fields, those of a log line also where it holds nothing for them.
fn fields(subject: &ExplainedRequest<'_>) -> Vec<(String, String)> {
    let record = &subject.record;
    let is_line = matches!(subject.taken, ReadAs::Line(_));
    let text = |text: &[u8]| if text.is_empty() { None } else { Some(redacted(text).into_owned()) };
    let status = record.status.map(|status| format!("{status} {}", subject.outcome()));
    let size = record.bytes.map(|bytes| bytes.to_string());
    [
        ("client", text(record.client), is_line),
        ("time", record.time.map(LogTime::rfc3339), is_line),
        ("method", text(subject.line.method), is_line),
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

fn write_decoding<W: Write>(subject: &ExplainedRequest<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    let rows: Vec<_> = subject.explanation.trails.iter().flat_map(steps).collect();
    if rows.is_empty() {
        return Ok(());
    }
    page.heading("DECODED")?;
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

/// The steps of a trail that can be seen: an escaped byte looks the same when the log writer escaped it and when we do.
fn steps(trail: &DecodeSteps) -> Vec<(String, String)> {
    let name = sentence::view_name(TextView::Field(trail.field));
    let shown = |text: &[u8]| AnnotatedText::new(text, &trail.logged).whole();
    let sent = trail.sent.iter().map(|sent| (format!("{name} (log escapes)"), shown(sent)));
    let rounds = trail.rounds.iter().zip(1..);
    let mut steps: Vec<_> =
        sent.chain(rounds.map(|(round, n)| (format!("{name} {n} ({})", round.undone.join(", ")), shown(&round.text)))).collect();
    let mut before = shown(&trail.logged);
    steps.retain(|(_, text)| {
        let differs = *text != before;
        before.clone_from(text);
        differs
    });
    steps
}

/// The views of the target, where they are not plain to see in it.
fn write_views<W: Write>(subject: &ExplainedRequest<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    let text = |view| subject.explanation.texts.of_view(view);
    let (path, query) = (text(TextView::Field(Field::Path)), text(TextView::Field(Field::Query)));
    let mark: &[u8] = if query.is_empty() { b"" } else { b"?" };
    let mut views = vec![TextView::Field(Field::Path)];
    views.extend(Some(TextView::Resolved).filter(|view| text(*view) != path));
    if views.len() == 1 && [path, mark, query].concat() == subject.line.target {
        return Ok(());
    }
    views.extend(Some(TextView::Field(Field::Query)).filter(|_| !query.is_empty()));
    let shown = |view: TextView| if text(view).is_empty() { "(empty)".into() } else { subject.annotated(view).whole() };
    let rows: Vec<_> = views.into_iter().map(|view| (sentence::view_name(view).to_owned(), shown(view))).collect();
    page.heading("WHAT RULES SEE")?;
    page.rows(&rows)
}

fn write_matches<W: Write>(subject: &ExplainedRequest<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    let mut matches: Vec<_> = subject.explanation.matches.iter().collect();
    if matches.is_empty() {
        return Ok(());
    }
    matches.sort_by_key(|account| (Reverse(subject.severity(account.rule)), account.rule));
    page.heading("WHAT MATCHES")?;
    for account in matches {
        write_name(subject, account, page)?;
        if let Some(reread) = account.alternative.as_ref().filter(|_| !account.matches_itself()) {
            write_reread(subject, reread, page)?;
            write_withheld(subject, account, page)?;
            continue;
        }
        match_locations::write(subject, account, page)?;
        let placeless =
            account.checks.iter().filter(|c| matches!(c.asks, Requirement::Method(_) | Requirement::Status(_) | Requirement::Shape(_)));
        let told: Vec<_> = placeless.map(|check| sentence::check(check, account, subject)).collect();
        if !told.is_empty() {
            page.plain(4, &told.join("; "))?;
        }
        write_withheld(subject, account, page)?;
    }
    Ok(())
}

fn write_reread<W: Write>(subject: &ExplainedRequest<'_>, reread: &AlternativeDecoding, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    let name = sentence::view_name(TextView::Field(reread.field));
    page.plain(4, &format!("the {name} read again, {}: {}", sentence::reread_as(reread.reading), subject.reread(reread)))
}

fn write_withheld<W: Write>(
    subject: &ExplainedRequest<'_>,
    account: &RuleExplanation<'_>,
    page: &mut ExplainPage<'_, W>,
) -> io::Result<()> {
    match account.suppressed_by {
        Some(reason) => page.text(4, WARNING, &sentence::withheld(reason, account.rule, subject.rules)),
        None => Ok(()),
    }
}

fn write_answer<W: Write>(subject: &ExplainedRequest<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    subject.answer.map_or(Ok(()), |graded| answer::write(graded, page))
}

fn write_misses<W: Write>(subject: &ExplainedRequest<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    let misses = &subject.explanation.near_misses;
    if misses.is_empty() {
        return Ok(());
    }
    page.heading("NEAR MISSES")?;
    for account in misses.iter().take(NEAR_MISSES) {
        write_name(subject, account, page)?;
        let seen = sentence::seen(account, subject);
        if !seen.is_empty() {
            page.labelled(4, SEEN, "seen", &seen)?;
        }
        for check in account.lacking() {
            let says = sentence::check(check, account, subject);
            // A long regex is told in part: --rule has it whole.
            page.labelled(4, SEEN, "but", &truncate(&says, 2 * page.width.saturating_sub(4 + SEEN + 2)))?;
        }
    }
    match misses.len().saturating_sub(NEAR_MISSES) {
        0 => Ok(()),
        more => page.text(2, DIM, &format!("… and {more} more; --rule ID explains any rule")),
    }
}

/// One rule with all that it asks for.
fn write_rule<W: Write>(subject: &ExplainedRequest<'_>, account: &RuleExplanation<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    page.heading("WHAT THE RULE ASKS FOR")?;
    write_name(subject, account, page)?;
    match_locations::write(subject, account, page)?;
    for check in &account.checks {
        let answer = if check.holds { "yes" } else { "no" };
        let label = format!("{answer:3}  {}", sentence::topic(&check.asks));
        page.labelled(4, LONGEST_TOPIC, &label, &sentence::check(check, account, subject))?;
    }
    if let Some(reread) = &account.alternative {
        write_reread(subject, reread, page)?;
    }
    if account.matches() { write_withheld(subject, account, page) } else { Ok(()) }
}

/// `yes  raw_prefixes`.
const LONGEST_TOPIC: usize = 17;

fn write_name<W: Write>(subject: &ExplainedRequest<'_>, account: &RuleExplanation<'_>, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    let rule = subject.rules.rule(account.rule);
    let severity = subject.severity(account.rule);
    let name = format!("{}  {} ({})", rule.id, sanitize::escape(rule.title.as_bytes()), rule.class);
    let severity = page.painter.paint(style::for_severity(severity), format!("{:8}", severity.as_str()));
    for (number, line) in super::page::wrapped(&name, page.width - 12).into_iter().enumerate() {
        let before = if number == 0 { format!("  {severity}  ") } else { " ".repeat(12) };
        writeln!(page.out, "{before}{line}")?;
    }
    Ok(())
}
