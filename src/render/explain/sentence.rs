//! Sentences about what a rule requires and whether a request has it.

use super::ExplainedRequest;
use crate::engine::explain::{AlternativeKind, RuleExplanation, SuppressedBy, literal};
use crate::log::finding::RuleId;
use crate::rules::{
    Field, RequestShape, Requirement, RequirementCheck, RuleSet, TextSpan, TextView, bit,
};
use crate::text::normalize::{AltDecoding, PathReading};
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// The most literals in a sentence.
const MAX_LISTED: usize = 6;

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

/// The key of a check in rule files.
pub(crate) fn rule_key(requirement: &Requirement<'_>) -> &'static str {
    match requirement {
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

/// The result of a check.
pub(crate) fn check(
    check: &RequirementCheck<'_>,
    explained: &RuleExplanation<'_>,
    subject: &ExplainedRequest<'_>,
) -> String {
    let method = shown_method(subject);
    match (check.requirement, check.holds) {
        (Requirement::Literal(bit::UNKNOWN), true) => {
            "no other rule matches the request by its line alone".into()
        }
        (Requirement::Literal(bit::UNKNOWN), false) => {
            "another rule matches the request, or the site answered it".into()
        }
        (Requirement::Literal(kind), true) => present(kind, explained, subject),
        (Requirement::Word(fields), true) => present(fields, explained, subject),
        (Requirement::Literal(kind), false) => absent(kind, explained, subject),
        (Requirement::Word(fields), false) => absent(fields, explained, subject),
        (Requirement::Method(_), true) => format!("method is {method}"),
        (Requirement::Method(methods), false) => {
            let wanted = one_of(methods.iter().map(|m| escape(m).into_owned()));
            format!("method is {method}, not {wanted}")
        }
        (Requirement::Status(statuses), holds) => {
            let wanted = one_of(statuses.iter().map(u16::to_string));
            match subject.record.status {
                Some(status) if holds => format!("status is {status}"),
                Some(status) => format!("status is {status}, not {wanted}"),
                None => format!("there is no status, and the rule requires {wanted}"),
            }
        }
        (Requirement::Shape(shape), holds) => format!(
            "the request {} {}",
            if holds { "is" } else { "is not" },
            shape_name(shape)
        ),
        (Requirement::Glob(glob), holds) => {
            format!(
                "the {} {} {}",
                subject.name(TextView::Resolved),
                if holds { "matches" } else { "does not match" },
                single_line_regex(glob)
            )
        }
        (Requirement::Regex(regex, fields), false) => {
            format!(
                "the regex matches nothing in the {}: {}",
                fields_of(fields),
                single_line_regex(regex)
            )
        }
        (Requirement::Regex(regex, _), true) => {
            let found = |span: &TextSpan| {
                format!(
                    "matches '{}' in the {}",
                    subject.annotated(span.view).part(&span.range),
                    subject.name(span.view)
                )
            };
            let found = check.found.as_ref().map(found).unwrap_or_default();
            format!("{found}: {}", single_line_regex(regex))
        }
        (Requirement::Not(_, _), false) => {
            format!(
                "excluded by unless: {}",
                check
                    .found
                    .as_ref()
                    .map(|span| located(span, subject))
                    .unwrap_or_default()
            )
        }
        (Requirement::Not(regex, fields), true) => {
            format!(
                "nothing in the {} excludes it: {}",
                fields_of(fields),
                single_line_regex(regex)
            )
        }
    }
}

/// How a text was decoded another way.
pub(crate) fn decoding_name(reading: AlternativeKind) -> &'static str {
    let reading = match reading {
        AlternativeKind::Path(PathReading::Fragment) => return "# as a byte of the path",
        AlternativeKind::Path(PathReading::PathInfo) => return "path up to the file",
        AlternativeKind::Run(reading) => reading,
    };
    match reading {
        AltDecoding::Spaced => "comments and control bytes as spaces",
        AltDecoding::Joined => "comments within words as nothing",
        AltDecoding::Unquoted => "quotes and backslashes within words as nothing",
        AltDecoding::Unwrapped => "Base64 unwrapped",
        AltDecoding::Segments => "segments of the path as values",
    }
}

/// Why a match is not reported.
pub(crate) fn suppressed(reason: SuppressedBy, rule: RuleId, rules: &RuleSet) -> String {
    match reason {
        SuppressedBy::AppEvidence => {
            "if answered, it is evidence that the site runs this app; it is never reported".into()
        }
        SuppressedBy::App(app) => format!(
            "suppressed by app {} (--app)",
            rules.rule(app).app().unwrap_or_default()
        ),
        SuppressedBy::Client => match &rules.rule(rule).with_client {
            Some(with) => {
                let classes = if with.classes.is_empty() {
                    "any class".into()
                } else {
                    with.classes.join(", ")
                };
                let same = if with.same_answer {
                    "; if this was answered or redirected, they got the same answer"
                } else {
                    ""
                };
                format!(
                    "counts only if its client also requested {} distinct paths that rules of {classes} match, and half of its requests \
                     were probes{same}",
                    with.distinct_paths
                )
            }
            None => String::new(),
        },
        SuppressedBy::Window => format!(
            "not reported by itself, only at {}",
            rules.rule(rule).counts_text()
        ),
        SuppressedBy::BelowMinSeverity { severity, least } => {
            format!(
                "matches, but a scan would not report it: {severity} is below --min-severity {least}"
            )
        }
    }
}

/// The literals of a rule that were found where they must be, each once: `'/.env' is in the path`.
pub(crate) fn found_literals(
    explained: &RuleExplanation<'_>,
    subject: &ExplainedRequest<'_>,
) -> String {
    present(u16::MAX, explained, subject)
}

fn present(kinds: u16, explained: &RuleExplanation<'_>, subject: &ExplainedRequest<'_>) -> String {
    let mut found = Vec::new();
    for seen in explained
        .seen
        .iter()
        .filter(|seen| seen.counts && seen.wanted & kinds != 0)
    {
        let text = located(&seen.span, subject);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    let more = found.len().saturating_sub(MAX_LISTED);
    found.truncate(MAX_LISTED);
    if more > 0 {
        found.push(format!("{more} more"));
    }
    found.join(", ")
}

/// Why no literal of these kinds counts: one is where the rule does not require it, or none was
/// found.
fn absent(kinds: u16, explained: &RuleExplanation<'_>, subject: &ExplainedRequest<'_>) -> String {
    let misplaced = explained
        .seen
        .iter()
        .filter(|seen| !seen.counts && seen.wanted & kinds != 0);
    // Of several views of the same bytes, the most specific.
    let specificity = |view| match view {
        TextView::Resolved => 4,
        TextView::Field(Field::Path | Field::Query | Field::Referer | Field::UserAgent) => 3,
        TextView::Field(Field::Target | Field::Method) => 2,
        TextView::Field(Field::Raw) => 1,
    };
    let nearest = misplaced.max_by_key(|seen| (seen.span.range.len(), specificity(seen.span.view)));
    if let Some(seen) = nearest {
        return format!(
            "{}, {}",
            located(&seen.span, subject),
            misplaced_because(kinds, seen.span.view, subject.name(TextView::Resolved))
        );
    }
    let literals = [
        subject.rules.request_literals(),
        subject.rules.header_literals(),
    ];
    let mut texts: Vec<_> = literals
        .iter()
        .flat_map(|l| l.of_rule(explained.rule.0))
        .filter(|(_, wanted)| wanted & kinds != 0)
        .collect();
    texts.sort_unstable();
    texts.dedup_by_key(|(text, _)| *text);
    let more = texts.len().saturating_sub(MAX_LISTED);
    let mut listed: Vec<_> = texts
        .iter()
        .take(MAX_LISTED)
        .map(|(literal, _)| format!("'{}'", escape(literal)))
        .collect();
    if more > 0 {
        listed.push(format!("or {more} more"));
    }
    format!("{} {}", missing(kinds), listed.join(", "))
}

fn missing(kinds: u16) -> String {
    match kinds {
        bit::PATHS => "no segments of the path are".into(),
        bit::SUFFIX => "the path does not end in".into(),
        bit::GLOB => "the path does not contain".into(),
        bit::AGENT => "the user agent does not contain".into(),
        bit::PREFIX => "the request does not begin with".into(),
        fields => format!("the {} does not contain", fields_of(fields)),
    }
}

/// Why a literal that was found does not count.
fn misplaced_because(kinds: u16, view: TextView, resolved: &str) -> String {
    match (kinds, view) {
        (bit::PATHS, TextView::Resolved) => "but not as whole segments where the rule looks".into(),
        (bit::SUFFIX, TextView::Resolved) => "but not at its end".into(),
        (bit::GLOB, TextView::Resolved) => "but the path ends differently".into(),
        (bit::PATHS | bit::SUFFIX | bit::GLOB, _) => format!("not in the {resolved}"),
        (bit::PREFIX, _) => "but the request does not begin with it".into(),
        (bit::AGENT, _) => "not in the user agent".into(),
        (fields, _) => format!("not in the {}", fields_of(fields)),
    }
}

fn located(span: &TextSpan, subject: &ExplainedRequest<'_>) -> String {
    format!(
        "'{}' is in the {}",
        subject.annotated(span.view).part(&span.range),
        subject.name(span.view)
    )
}

fn fields_of(mask: u16) -> String {
    one_of(
        Field::ALL
            .into_iter()
            .filter(|f| mask & bit::of_field(*f) != 0)
            .map(|f| view_name(TextView::Field(f)).to_owned()),
    )
}

/// `a, b or c`.
fn one_of(words: impl Iterator<Item = String>) -> String {
    let words: Vec<_> = words.collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

fn shape_name(shape: RequestShape) -> &'static str {
    match shape {
        RequestShape::Absolute => "in absolute form",
        RequestShape::NoMethod => "without a method",
        RequestShape::Binary => "binary",
        RequestShape::UnknownMethod => "one with an unknown method",
        RequestShape::RefusedLogin => "one with a user, answered with 401",
    }
}

fn shown_method(subject: &ExplainedRequest<'_>) -> String {
    match subject.line.method {
        b"" => "missing".into(),
        method => LogText::new(method).to_string(),
    }
}

/// A regex on one line: line breaks of a verbose regex have no meaning.
pub(crate) fn single_line_regex(regex: &str) -> String {
    let lines: Vec<_> = if regex.starts_with("(?x)") {
        regex.split_whitespace().collect()
    } else {
        vec![regex]
    };
    escape(lines.join(" ").as_bytes()).into_owned()
}
