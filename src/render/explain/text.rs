//! Prints an explanation for people, in labelled lines that fit a width: a headline, the request,
//! its decoding, matches, the grade of its answer, and near misses.
//!
//! For each match the text is shown, and under it a line of carets for each kind of part of the
//! rule. The layout may change; programs read JSON.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;

use anstyle::Style;
use unicode_width::UnicodeWidthStr;

use super::{AnnotatedText, ExplainedRequest, ReadAs, sentence};
use crate::engine::explain::{
    AlternativeDecoding, DecodeSteps, Explanation, MatchesByStatus, PatternKind, RuleExplanation,
};
use crate::log::time::LogTime;
use crate::render::grades::{sizes, why};
use crate::render::layout::{ALARM, BOLD, DIM, PLAIN, TextPage, WARNING, truncate, wrap};
use crate::render::{RenderOptions, layout};
use crate::report::path_answer::{GradeResult, GradedAnswer, SimilarAnswer};
use crate::rules::{Field, Requirement, TextView};
use crate::soft_404::Answer;
use crate::text::number::{counted, grouped};
use crate::text::redact::LogText;
use crate::text::redact::sanitize;

/// The most near misses.
const MAX_NEAR_MISSES: usize = 5;
/// Columns of `seen`.
const SEEN_WIDTH: usize = 4;

/// The explanation as text.
pub(crate) fn text(subject: &ExplainedRequest<'_>, options: &RenderOptions) -> String {
    let mut text_page = TextPage::new(options);
    let page = &mut text_page;
    let worst = subject
        .explanation
        .matches
        .iter()
        .filter(|a| a.suppressed_by.is_none())
        .map(|a| subject.severity(a.rule))
        .max();
    page.broken(
        0,
        if worst.is_some() { ALARM } else { BOLD },
        &headline(subject),
    );
    page.broken(0, DIM, &origin(subject));
    page.heading("REQUEST");
    page.rows(&fields(subject));
    write_decoding(subject, page);
    write_views(subject, page);
    if subject.only.is_some() {
        let Explanation {
            matches,
            near_misses,
            ..
        } = subject.explanation;
        for explained in matches.iter().chain(near_misses) {
            write_rule(subject, explained, page);
        }
        write_answer(subject, page);
    } else {
        write_matches(subject, page);
        write_by_status(subject, page);
        write_answer(subject, page);
        write_misses(subject, page);
    }
    text_page.text
}

/// The result in a sentence.
fn headline(subject: &ExplainedRequest<'_>) -> String {
    let matches = &subject.explanation.matches;
    if let Some(rule) = subject.only {
        let verb = if matches.is_empty() {
            "does not match"
        } else {
            "matches"
        };
        return format!("{} {verb}.", subject.rules.rule(rule).id);
    }
    let reported = matches
        .iter()
        .filter(|explained| explained.suppressed_by.is_none());
    let worst = reported
        .clone()
        .map(|explained| subject.severity(explained.rule))
        .max();
    let count = if matches.len() == 1 {
        "1 rule matches".into()
    } else {
        format!("{} rules match", matches.len())
    };
    match (matches.len(), worst) {
        (0, _) if subject.by_status.is_empty() => "No rule matches.".into(),
        (0, _) => "Whether a rule matches depends on the method and the status.".into(),
        (1, Some(worst)) => format!(
            "{count}: {}, {worst}.",
            subject.rules.rule(matches[0].rule).id
        ),
        (_, Some(worst)) => format!("{count}, the worst {worst}."),
        (_, None) => format!("{count}; a scan would report none."),
    }
}

/// What was explained, and how it was read.
fn origin(subject: &ExplainedRequest<'_>) -> String {
    let read_as = match &subject.read_as {
        ReadAs::Line(format) => format!(
            "A line of the format {}.",
            sanitize::escape(format.as_bytes())
        ),
        ReadAs::Request => "Not a log line; read as a request.".into(),
        ReadAs::Unparsed(None) if !subject.record.request.contains(&b' ') => {
            "This line has no known format; a scan matches it as raw text. A path starts with a slash."
                .into()
        }
        ReadAs::Unparsed(None) => {
            "This line has no known format; a scan matches it as raw text.".into()
        }
        ReadAs::Unparsed(Some(kind)) => format!(
            "This line has no known format and looks like {kind}; a scan matches it as raw text."
        ),
    };
    match subject.location {
        Some((path, line)) => format!("{}:{line}. {read_as}", sanitize::escape(path)),
        None => read_as,
    }
}

/// The fields; those of a log line even if they are empty.
fn fields(subject: &ExplainedRequest<'_>) -> Vec<(String, String)> {
    let record = &subject.record;
    let is_line = matches!(subject.read_as, ReadAs::Line(_));
    let text = |text: &[u8]| {
        if text.is_empty() {
            None
        } else {
            Some(LogText::new(text).to_string())
        }
    };
    let status = record
        .status
        .map(|status| format!("{status} {}", subject.outcome()));
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

fn write_decoding(subject: &ExplainedRequest<'_>, page: &mut TextPage) {
    let rows: Vec<_> = subject.explanation.trails.iter().flat_map(steps).collect();
    if rows.is_empty() {
        return;
    }
    page.heading("DECODED");
    let widest = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    if widest * 2 <= page.width {
        page.rows(&rows);
    } else {
        for (label, text) in &rows {
            page.broken(2, DIM, label);
            page.broken(4, PLAIN, text);
        }
    }
    if subject.explanation.texts.round_limit {
        page.broken(
            2,
            WARNING,
            "The limit of decoding rounds was reached; rules see the text as decoded so far.",
        );
    }
}

/// The decoding steps that change the printed text: a byte looks the same whether the log writer
/// escaped it or we do.
fn steps(trail: &DecodeSteps) -> Vec<(String, String)> {
    let name = sentence::view_name(TextView::Field(trail.field));
    let shown = |text: &[u8]| AnnotatedText::new(text, &trail.logged).text;
    let sent = trail
        .sent
        .iter()
        .map(|sent| (format!("{name} (log escapes)"), shown(sent)));
    let rounds = trail.rounds.iter().zip(1..);
    let mut steps: Vec<_> = sent
        .chain(rounds.map(|(round, n)| {
            (
                format!("{name} {n} ({})", round.undone.join(", ")),
                shown(&round.text),
            )
        }))
        .collect();
    let mut before = shown(&trail.logged);
    steps.retain(|(_, text)| {
        let differs = *text != before;
        before.clone_from(text);
        differs
    });
    steps
}

/// Writes the views of the target, unless they are obvious from it.
fn write_views(subject: &ExplainedRequest<'_>, page: &mut TextPage) {
    let text = |view| subject.explanation.texts.of_view(view);
    let (path, query) = (
        text(TextView::Field(Field::Path)),
        text(TextView::Field(Field::Query)),
    );
    let mark: &[u8] = if query.is_empty() { b"" } else { b"?" };
    let mut views = vec![TextView::Field(Field::Path)];
    views.extend(Some(TextView::Resolved).filter(|view| text(*view) != path));
    if views.len() == 1 && [path, mark, query].concat() == subject.line.target {
        return;
    }
    views.extend(Some(TextView::Field(Field::Query)).filter(|_| !query.is_empty()));
    let shown = |view: TextView| {
        if text(view).is_empty() {
            "(empty)".into()
        } else {
            subject.annotated(view).text.clone()
        }
    };
    let rows: Vec<_> = views
        .into_iter()
        .map(|view| (sentence::view_name(view).to_owned(), shown(view)))
        .collect();
    page.heading("WHAT RULES SEE");
    page.rows(&rows);
}

fn write_matches(subject: &ExplainedRequest<'_>, page: &mut TextPage) {
    let mut matches: Vec<_> = subject.explanation.matches.iter().collect();
    if matches.is_empty() {
        return;
    }
    matches.sort_by_key(|explained| (Reverse(subject.severity(explained.rule)), explained.rule));
    page.heading("WHAT MATCHES");
    for explained in matches {
        write_name(subject, explained, page);
        write_sentences(subject, explained, page);
        if let Some(reread) = explained
            .alternative
            .as_ref()
            .filter(|_| !explained.matches_itself())
        {
            write_reread(subject, reread, page);
            write_suppressed(subject, explained, page);
            continue;
        }
        write_match_locations(subject, explained, page);
        let without_location = explained.checks.iter().filter(|c| {
            matches!(
                c.requirement,
                Requirement::Method(_) | Requirement::Status(_) | Requirement::Shape(_)
            )
        });
        let sentences: Vec<_> = without_location
            .map(|check| sentence::check(check, explained, subject))
            .collect();
        if !sentences.is_empty() {
            page.broken(4, PLAIN, &sentences.join("; "));
        }
        write_suppressed(subject, explained, page);
    }
}

fn write_reread(subject: &ExplainedRequest<'_>, reread: &AlternativeDecoding, page: &mut TextPage) {
    let name = sentence::view_name(TextView::Field(reread.field));
    page.broken(
        4,
        PLAIN,
        &format!(
            "the {name} decoded another way, {}: {}",
            sentence::decoding_name(reread.reading),
            subject.reread(reread)
        ),
    );
}

fn write_suppressed(
    subject: &ExplainedRequest<'_>,
    explained: &RuleExplanation<'_>,
    page: &mut TextPage,
) {
    if let Some(reason) = explained.suppressed_by {
        let why = sentence::suppressed(reason, explained.rule, subject.rules);
        page.broken(4, WARNING, &why);
    }
}

/// What a scan reports of a typed request, by its method and status.
fn write_by_status(subject: &ExplainedRequest<'_>, page: &mut TextPage) {
    if subject.by_status.is_empty() {
        return;
    }
    page.heading("WHAT A SCAN REPORTS, BY METHOD AND STATUS");
    let rows = subject.by_status.iter().map(
        |MatchesByStatus {
             method,
             statuses,
             rules,
         }| {
            let statuses: Vec<_> = statuses.iter().map(u16::to_string).collect();
            let mut found: Vec<_> = rules
                .iter()
                .map(|&rule| {
                    format!(
                        "{} ({})",
                        subject.rules.rule(rule).id,
                        subject.severity(rule)
                    )
                })
                .collect();
            if found.is_empty() {
                found.push("nothing".to_owned());
            }
            (format!("{method} {}", statuses.join(" ")), found.join(", "))
        },
    );
    page.rows(&rows.collect::<Vec<_>>());
}

fn write_misses(subject: &ExplainedRequest<'_>, page: &mut TextPage) {
    let misses = &subject.explanation.near_misses;
    if misses.is_empty() {
        return;
    }
    page.heading("NEAR MISSES");
    for explained in misses.iter().take(MAX_NEAR_MISSES) {
        write_name(subject, explained, page);
        let seen = sentence::found_literals(explained, subject);
        if !seen.is_empty() {
            page.labelled(4, SEEN_WIDTH, "seen", &seen);
        }
        for check in explained.lacking() {
            let result = sentence::check(check, explained, subject);
            // A long regex is cut; --rule prints all of it.
            page.labelled(
                4,
                SEEN_WIDTH,
                "but",
                &truncate(&result, 2 * page.width.saturating_sub(4 + SEEN_WIDTH + 2)),
            );
        }
    }
    let more = misses.len().saturating_sub(MAX_NEAR_MISSES);
    if more > 0 {
        let how = format!("… and {more} more; --rule ID explains any rule");
        page.broken(2, DIM, &how);
    }
}

/// Writes one rule with everything it requires.
fn write_rule(
    subject: &ExplainedRequest<'_>,
    explained: &RuleExplanation<'_>,
    page: &mut TextPage,
) {
    page.heading("WHAT THE RULE REQUIRES");
    write_name(subject, explained, page);
    write_match_locations(subject, explained, page);
    for check in &explained.checks {
        let answer = if check.holds { "yes" } else { "no" };
        let label = format!("{answer:3}  {}", sentence::rule_key(&check.requirement));
        page.labelled(
            4,
            LABEL_WIDTH,
            &label,
            &sentence::check(check, explained, subject),
        );
    }
    if let Some(reread) = &explained.alternative {
        write_reread(subject, reread, page);
    }
    if explained.matches() {
        write_sentences(subject, explained, page);
        write_suppressed(subject, explained, page);
    }
}

/// What the request is after, what to do if it was answered, and the products and CVE ids of its
/// path.
fn write_sentences(
    subject: &ExplainedRequest<'_>,
    explained: &RuleExplanation<'_>,
    page: &mut TextPage,
) {
    let rule = subject.rules.rule(explained.rule);
    let about = subject.about(explained.rule);
    let (products, cves) = (about.products.join(", "), about.cves.join(", "));
    for (label, sentence) in [
        ("wants", rule.wants()),
        ("if answered", rule.remedy()),
        ("product", &products),
        ("cve", &cves),
    ] {
        if !sentence.is_empty() {
            page.labelled(
                4,
                LABEL_WIDTH,
                label,
                &sanitize::escape(sentence.as_bytes()),
            );
        }
    }
}

/// `yes  raw_prefixes`.
const LABEL_WIDTH: usize = 17;

fn write_name(
    subject: &ExplainedRequest<'_>,
    explained: &RuleExplanation<'_>,
    page: &mut TextPage,
) {
    let rule = subject.rules.rule(explained.rule);
    let severity = subject.severity(explained.rule);
    let name = format!(
        "{}  {} ({})",
        rule.id,
        sanitize::escape(rule.title.as_bytes()),
        rule.class
    );
    let severity = page.painter.paint(
        layout::severity_style(severity),
        format!("{:8}", severity.as_str()),
    );
    for (number, line) in wrapped(&name, page.width - 12).into_iter().enumerate() {
        let before = if number == 0 {
            format!("  {severity}  ")
        } else {
            " ".repeat(12)
        };
        page.line(&format!("{before}{line}"));
    }
}

/// Why there is no grade, as a sentence.
pub(crate) fn ungraded(answer: &GradeResult) -> Option<&'static str> {
    match answer {
        GradeResult::Known(_) => None,
        GradeResult::NeedsLog => {
            Some("The grade of the answer depends on the whole log; --in LOG names it.")
        }
        GradeResult::Ordinary => Some(
            "The answer has no grade: in this log no active rule finds it exposing. It is a normal page of an app that the site runs, \
             or the client does not meet the condition of the rule.",
        ),
    }
}

/// Writes the grade of the answer, if it could expose something.
fn write_answer(subject: &ExplainedRequest<'_>, page: &mut TextPage) {
    let Some(answer) = subject.answer else { return };
    page.heading("ANSWER");
    match answer {
        GradeResult::Known(answer) => page.rows(&answer_rows(answer)),
        GradeResult::NeedsLog => page.broken(2, WARNING, ungraded(answer).unwrap_or_default()),
        GradeResult::Ordinary => page.broken(2, DIM, ungraded(answer).unwrap_or_default()),
    }
}

fn answer_rows(answer: &GradedAnswer) -> Vec<(String, String)> {
    let grade = answer.detail.grade.answer;
    let mut rows = Vec::new();
    let mut row = |label: &str, text: String| rows.push((label.to_owned(), text));
    row(
        "grade",
        format!("{}: {}", grade.as_str().replace('_', " "), meaning(grade)),
    );
    row("reason", why(&answer.detail));
    row(
        "site",
        format!("{}: {}", LogText::new(&answer.site), probed(answer)),
    );
    if !answer.sizes.is_empty() {
        row("soft 404s", sizes(&answer.sizes));
    }
    if !answer.home_sizes.is_empty() {
        row("home page", sizes(&answer.home_sizes));
    }
    if !answer.get_sizes.is_empty() {
        let got = sizes(&answer.get_sizes);
        row("GET", format!("got {got} for this path"));
    }
    if !answer.get_refused.is_empty() {
        let statuses: Vec<String> = answer.get_refused.iter().map(u16::to_string).collect();
        let statuses = statuses.join(", ");
        row("GET", format!("was refused for this path: {statuses}"));
    }
    if !answer.alike.is_empty() {
        let label = if answer.is_exact() {
            "same size"
        } else {
            "like size"
        };
        row(label, alike(&answer.alike));
    }
    rows
}

fn meaning(grade: Answer) -> &'static str {
    match grade {
        Answer::Distinct => "unlike what the site answers to anything",
        Answer::Uncertain => "the log cannot show whether the site answers this to anything",
        Answer::Soft404 => "what the site answers to anything",
    }
}

/// How many probed paths were answered, and how many were refused.
fn probed(answer: &GradedAnswer) -> String {
    let or_more = if answer.is_refused_cut {
        " or more"
    } else {
        ""
    };
    match (answer.answered, answer.refused) {
        (0, 0) => "no probed path in this log".to_owned(),
        (given, refused) => format!(
            "{} answered, {}{or_more} refused",
            counted(given, "probed path", "probed paths"),
            grouped(refused)
        ),
    }
}

fn alike(paths: &[SimilarAnswer]) -> String {
    let path = |one: &SimilarAnswer| {
        let host = one.host.as_deref().map(LogText::new).unwrap_or_default();
        format!(
            "{host}{} ({})",
            LogText::new(&one.path),
            counted(one.bytes, "byte", "bytes")
        )
    };
    paths.iter().map(path).collect::<Vec<_>>().join(", ")
}

/// Columns before each line.
const MARGIN: usize = 4;

/// Writes each view in which a part of the rule was found, with carets.
fn write_match_locations(
    subject: &ExplainedRequest<'_>,
    explained: &RuleExplanation<'_>,
    page: &mut TextPage,
) {
    let spans: Vec<_> = explained
        .spans()
        .into_iter()
        .map(|(mark, span)| (mark, subject.canonical_view(span.view), &span.range))
        .collect();
    let mut views: Vec<_> = spans.iter().map(|(_, view, _)| *view).collect();
    views.sort_unstable();
    views.dedup();
    for view in views {
        write_view(subject, explained, view, &spans, page);
    }
}

/// A kind of part, and the view and range where it was found.
type MatchLocation<'a> = (PatternKind, TextView, &'a Range<usize>);

fn write_view(
    subject: &ExplainedRequest<'_>,
    explained: &RuleExplanation<'_>,
    view: TextView,
    spans: &[MatchLocation<'_>],
    page: &mut TextPage,
) {
    let mut here: Vec<_> = spans.iter().filter(|(_, of, _)| *of == view).collect();
    // A regex is the most specific, so it comes first.
    here.sort_by_key(|(mark, ..)| (matches!(mark, PatternKind::Literal(_)), mark.as_str()));
    let name = sentence::view_name(view);
    let column = here
        .iter()
        .map(|(mark, ..)| mark.as_str().len())
        .chain([name.len()])
        .max()
        .unwrap_or(0);
    let room = page.width.saturating_sub(MARGIN + column + 2);
    let ranges: Vec<Range<usize>> = here.iter().map(|(.., range)| (*range).clone()).collect();
    let line = subject.annotated(view).line(&ranges, room);
    let text = line.parts.iter().map(|(text, is_found)| {
        page.painter
            .paint(if *is_found { ALARM } else { PLAIN }, text)
    });
    let text: String = text.collect();
    let label = page.painter.paint(DIM, format!("{name:column$}"));
    page.line(&format!("{:MARGIN$}{label}  {text}", ""));
    let mut kinds: Vec<_> = here.iter().map(|(mark, ..)| mark.as_str()).collect();
    kinds.dedup();
    for kind in kinds {
        let of_kind = here
            .iter()
            .zip(&line.columns)
            .filter(|((mark, ..), _)| mark.as_str() == kind);
        let carets = underline(of_kind.map(|(_, columns)| columns));
        if !carets.is_empty() {
            let label = page.painter.paint(DIM, format!("{kind:column$}"));
            let carets = page.painter.paint(ALARM, &carets);
            page.line(&format!("{:MARGIN$}{label}  {carets}", ""));
        }
    }
    // With `--rule` the whole regex is printed below.
    let patterns = explained.checks.iter().filter(|check| {
        check
            .found
            .as_ref()
            .is_some_and(|found| subject.canonical_view(found.view) == view)
    });
    for source in patterns
        .filter(|_| subject.only.is_none())
        .filter_map(|check| source(&check.requirement))
    {
        page.broken(
            MARGIN + column + 2,
            DIM,
            &truncate(&sentence::single_line_regex(source), room),
        );
    }
}

fn source<'r>(requirement: &Requirement<'r>) -> Option<&'r str> {
    match requirement {
        Requirement::Regex(source, _) | Requirement::Glob(source) | Requirement::Not(source, _) => {
            Some(source)
        }
        _ => None,
    }
}

/// Carets under these columns; empty without any.
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

impl TextPage {
    /// Writes a text with a margin, in lines that [`wrapped`] breaks. It must be redacted.
    fn broken(&mut self, margin: usize, style: Style, text: &str) {
        for line in wrapped(text, self.width.saturating_sub(margin)) {
            let line = self.painter.paint(style, line);
            self.line(&format!("{:margin$}{line}", ""));
        }
    }

    /// Writes a label of `column` columns and a text, wrapped. The label is not text of a log.
    fn labelled(&mut self, margin: usize, column: usize, label: &str, text: &str) {
        let indent = margin + column + 2;
        for (number, line) in wrapped(text, self.width.saturating_sub(indent))
            .into_iter()
            .enumerate()
        {
            if number == 0 && !label.is_empty() {
                let label = self.painter.paint(DIM, format!("{label:column$}"));
                self.line(&format!("{:margin$}{label}  {line}", ""));
            } else {
                self.line(&format!("{:indent$}{line}", ""));
            }
        }
    }

    /// Writes labelled texts with aligned labels.
    fn rows(&mut self, rows: &[(String, String)]) {
        let column = rows
            .iter()
            .map(|(label, _)| label.width())
            .max()
            .unwrap_or(0);
        for (label, text) in rows {
            self.labelled(2, column, label, text);
        }
    }
}

/// Lines of at most `room` columns, broken at spaces, and within words that are longer than a line.
pub(crate) fn wrapped(text: &str, room: usize) -> Vec<Cow<'_, str>> {
    wrap(text, room.max(2), true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::model::AnswerDetail;
    use crate::soft_404::{Grade, MethodClass, Reason};

    #[test]
    fn the_evidence_of_a_grade_is_printed() {
        let grade = Grade {
            answer: Answer::Soft404,
            reason: Reason::LikeTheRest(2_100, 4_800),
        };
        let statuses = vec![200];
        let detail = AnswerDetail {
            statuses,
            bytes: Some(2_200),
            method: MethodClass::Post,
            grade,
            client: None,
            is_known_host: false,
            needs_login: false,
            members: Vec::new(),
        };
        let answer = GradedAnswer {
            detail,
            site: b"shop.example".to_vec(),
            answered: 1_200,
            refused: 1_024,
            is_refused_cut: true,
            sizes: vec![(612, 612), (2_100, 4_800)],
            home_sizes: vec![(512, 512)],
            get_sizes: vec![(7, 7)],
            get_refused: vec![403, 404],
            alike: Vec::new(),
        };
        let text: Vec<String> = answer_rows(&answer)
            .into_iter()
            .map(|(label, text)| format!("{label} | {text}"))
            .collect();
        assert_eq!(
            text,
            [
                "grade | soft 404: what the site answers to anything",
                "reason | 2,200 bytes; the site gives 2,100 to 4,800 bytes to anything",
                "site | shop.example: 1,200 probed paths answered, 1,024 or more refused",
                "soft 404s | 612, 2,100 to 4,800 bytes",
                "home page | 512 bytes",
                "GET | got 7 bytes for this path",
                "GET | was refused for this path: 403, 404",
            ]
        );
        assert_eq!(ungraded(&GradeResult::Known(Box::new(answer))), None);
        assert!(
            ungraded(&GradeResult::NeedsLog).is_some_and(|sentence| sentence.contains("--in LOG"))
        );
    }

    #[test]
    fn underlines_of_one_kind_share_a_line() {
        assert_eq!(underline([4..6, 1..2, 5..8, 0..0].iter()), " ^  ^^^^");
        assert_eq!(underline(std::iter::empty()), "");
    }

    #[test]
    fn breaks_at_spaces_and_within_long_words() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("ab cdefghij", 6), ["ab", "cdefgh", "ij"]);
        assert_eq!(wrapped("日本語", 4), ["日本", "語"]);
        assert_eq!(wrapped("", 4), [""]);
    }

    proptest! {
        #[test]
        fn lines_fit_and_keep_all_words(text in "[a-z日 ]{0,80}", room in 2_usize..30) {
            let lines = wrapped(&text, room);
            prop_assert!(lines.iter().all(|line| line.width() <= room), "{lines:?}");
            prop_assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
        }
    }
}
