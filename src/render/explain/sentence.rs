//! What a rule asks for and whether it got it, as sentences.

use super::ExplainedRequest;
use crate::engine::explain::{AlternativeKind, RuleExplanation, SuppressedBy, literal};
use crate::finding::RuleId;
use crate::normalize::AltDecoding;
use crate::redact::sanitize::escape;
use crate::rules::{Field, Requirement, RequirementCheck, RuleSet, Shape, TextSpan, TextView, bit};

/// Literals that a sentence lists.
const LISTED: usize = 6;

/// The name of a view within a sentence.
pub(crate) fn view_name(view: TextView) -> &'static str {
    match view {
        TextView::Field(Field::Path) => "path",
        TextView::Resolved => "resolved path",
        TextView::Field(Field::Query) => "query",
        TextView::Field(Field::Target) => "target",
        TextView::Field(Field::Referer) => "referer",
        TextView::Field(Field::UserAgent) => "user agent",
        TextView::Field(Field::Method) => "method",
        TextView::Field(Field::Raw) => "raw request",
    }
}

/// What a check is about, in the words of rule files.
pub(crate) fn topic(asks: &Requirement<'_>) -> &'static str {
    match asks {
        Requirement::Literal(kind) => literal(*kind),
        Requirement::Glob(_) => "path_glob",
        Requirement::Method(_) => "methods",
        Requirement::Status(_) => "statuses",
        Requirement::Shape(_) => "shape",
        Requirement::Word(_) => "words",
        Requirement::Regex(..) => "regex",
        Requirement::Not(..) => "unless",
    }
}

/// What the request says to a check.
pub(crate) fn check(check: &RequirementCheck<'_>, account: &RuleExplanation<'_>, subject: &ExplainedRequest<'_>) -> String {
    let method = shown_method(subject);
    match (check.asks, check.holds) {
        (Requirement::Literal(kind), true) => present(kind, account, subject),
        (Requirement::Word(fields), true) => present(fields, account, subject),
        (Requirement::Literal(kind), false) => absent(kind, account, subject),
        (Requirement::Word(fields), false) => absent(fields, account, subject),
        (Requirement::Method(methods), holds) => {
            format!("method is {method}{}", if_fails(holds, &format!(", not {}", one_of(methods.iter().map(|m| escape(m).into_owned())))))
        }
        (Requirement::Status(statuses), holds) => {
            let wanted = one_of(statuses.iter().map(u16::to_string));
            match subject.record.status {
                Some(status) => format!("status is {status}{}", if_fails(holds, &format!(", not {wanted}"))),
                None => format!("there is no status, and the rule asks for {wanted}"),
            }
        }
        (Requirement::Shape(shape), holds) => format!("the request {} {}", if holds { "is" } else { "is not" }, shape_name(shape)),
        (Requirement::Glob(glob), holds) => {
            format!("the {} {} {}", subject.name(TextView::Resolved), if holds { "fits" } else { "does not fit" }, single_line_regex(glob))
        }
        (Requirement::Regex(regex, fields), false) => {
            format!("the regex matches nothing in the {}: {}", fields_of(fields), single_line_regex(regex))
        }
        (Requirement::Regex(regex, _), true) => format!("{}: {}", matched(check.found.as_ref(), subject), single_line_regex(regex)),
        (Requirement::Not(_, _), false) => {
            format!("excused by unless: {}", check.found.as_ref().map(|span| located(span, subject)).unwrap_or_default())
        }
        (Requirement::Not(regex, fields), true) => format!("nothing in the {} excuses it: {}", fields_of(fields), single_line_regex(regex)),
    }
}

/// How a text was read again.
pub(crate) fn reread_as(reading: AlternativeKind) -> &'static str {
    let reading = match reading {
        AlternativeKind::Fragment => return "# as a byte of the path",
        AlternativeKind::Run(reading) => reading,
    };
    match reading {
        AltDecoding::Spaced => "comments and control bytes as spaces",
        AltDecoding::Joined => "comments within words as nothing",
        AltDecoding::Unquoted => "quotes and backslashes within words as nothing",
        AltDecoding::Unwrapped => "Base64 unwrapped",
    }
}

/// Why a match is not reported.
pub(crate) fn withheld(reason: SuppressedBy, rule: RuleId, rules: &RuleSet) -> String {
    match reason {
        SuppressedBy::Sign => "shows that the site runs this app, where it is answered; it is never reported".into(),
        SuppressedBy::App(app) => format!("silenced: app {} (--app)", rules.rule(app).app().unwrap_or_default()),
        SuppressedBy::Client => match &rules.rule(rule).with_client {
            Some(with) => {
                let classes = if with.classes.is_empty() { "any class".into() } else { with.classes.join(", ") };
                format!("counts only where its client also asked for {} distinct paths that rules of {classes} name", with.distinct_paths)
            }
            None => String::new(),
        },
        SuppressedBy::Window => match rules.rule(rule).window {
            Some(window) => format!("not reported by itself, only at {window}"),
            None => String::new(),
        },
        SuppressedBy::BelowMinSeverity { severity, least } => {
            format!("matches, but a scan would not report it: {severity} is below --min-severity {least}")
        }
    }
}

/// The literals of a rule that stand where they must, each once: `'/.env' stands in the path`.
pub(crate) fn seen(account: &RuleExplanation<'_>, subject: &ExplainedRequest<'_>) -> String {
    present(u16::MAX, account, subject)
}

fn present(kinds: u16, account: &RuleExplanation<'_>, subject: &ExplainedRequest<'_>) -> String {
    let mut places = Vec::new();
    for seen in account.seen.iter().filter(|seen| seen.counts && seen.wanted & kinds != 0) {
        let place = located(&seen.span, subject);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let more = places.len().saturating_sub(LISTED);
    places.truncate(LISTED);
    if more > 0 {
        places.push(format!("{more} more"));
    }
    places.join(", ")
}

/// Why no literal of these kinds counts: one stands in the wrong place, or none is there.
fn absent(kinds: u16, account: &RuleExplanation<'_>, subject: &ExplainedRequest<'_>) -> String {
    let misplaced = account.seen.iter().filter(|seen| !seen.counts && seen.wanted & kinds != 0);
    // Of several views that show the same bytes, the one that says most about the place.
    let telling = |view| match view {
        TextView::Resolved => 4,
        TextView::Field(Field::Path | Field::Query | Field::Referer | Field::UserAgent) => 3,
        TextView::Field(Field::Target | Field::Method) => 2,
        TextView::Field(Field::Raw) => 1,
    };
    let nearest = misplaced.max_by_key(|seen| (seen.span.range.len(), telling(seen.span.view)));
    if let Some(seen) = nearest {
        return format!("{}, {}", located(&seen.span, subject), misplaced_because(kinds, seen.span.view, subject.name(TextView::Resolved)));
    }
    let literals = [subject.rules.request_literals(), subject.rules.header_literals()];
    let mut texts: Vec<_> = literals.iter().flat_map(|l| l.of_rule(account.rule.0)).filter(|(_, wanted)| wanted & kinds != 0).collect();
    texts.sort_unstable();
    texts.dedup_by_key(|(text, _)| *text);
    let more = texts.len().saturating_sub(LISTED);
    let mut listed: Vec<_> = texts.iter().take(LISTED).map(|(literal, _)| format!("'{}'", escape(literal))).collect();
    if more > 0 {
        listed.push(format!("or {more} more"));
    }
    format!("{} {}", missing(kinds), listed.join(", "))
}

fn missing(kinds: u16) -> String {
    match kinds {
        bit::PATHS => "no segments of the path are".into(),
        bit::SUFFIX => "the path does not end in".into(),
        bit::GLOB => "the path does not hold".into(),
        bit::AGENT => "the user agent does not hold".into(),
        bit::PREFIX => "the request does not begin with".into(),
        fields => format!("the {} does not hold", fields_of(fields)),
    }
}

/// What is wrong with a literal's place.
fn misplaced_because(kinds: u16, view: TextView, resolved: &str) -> String {
    match (kinds, view) {
        (bit::PATHS, TextView::Resolved) => "but not as whole segments where the rule looks".into(),
        (bit::SUFFIX, TextView::Resolved) => "but not at its end".into(),
        (bit::GLOB, TextView::Resolved) => "but the path ends otherwise".into(),
        (bit::PATHS | bit::SUFFIX | bit::GLOB, _) => format!("not in the {resolved}"),
        (bit::PREFIX, _) => "but the request does not begin with it".into(),
        (bit::AGENT, _) => "not in the user agent".into(),
        (fields, _) => format!("not in the {}", fields_of(fields)),
    }
}

fn located(span: &TextSpan, subject: &ExplainedRequest<'_>) -> String {
    format!("'{}' stands in the {}", subject.annotated(span.view).text(&span.range), subject.name(span.view))
}

fn matched(span: Option<&TextSpan>, subject: &ExplainedRequest<'_>) -> String {
    let told = |span: &TextSpan| format!("matches '{}' in the {}", subject.annotated(span.view).text(&span.range), subject.name(span.view));
    span.map(told).unwrap_or_default()
}

fn fields_of(mask: u16) -> String {
    one_of(Field::ALL.into_iter().filter(|f| mask & bit::of_field(*f) != 0).map(|f| view_name(TextView::Field(f)).to_owned()))
}

/// `a, b or c`.
fn one_of(words: impl Iterator<Item = String>) -> String {
    let words: Vec<_> = words.collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn shape_name(shape: Shape) -> &'static str {
    match shape {
        Shape::Absolute => "in absolute form",
        Shape::NoMethod => "without a method",
        Shape::Binary => "binary",
        Shape::UnknownMethod => "one with an unknown method",
    }
}

fn shown_method(subject: &ExplainedRequest<'_>) -> String {
    match subject.line.method {
        b"" => "missing".into(),
        method => escape(method).into_owned(),
    }
}

fn if_fails(holds: bool, text: &str) -> &str {
    if holds { "" } else { text }
}

/// A regex on one line. Line breaks in one that is written over several mean nothing.
pub(crate) fn single_line_regex(regex: &str) -> String {
    let lines: Vec<_> = if regex.starts_with("(?x)") { regex.split_whitespace().collect() } else { vec![regex] };
    escape(lines.join(" ").as_bytes()).into_owned()
}
