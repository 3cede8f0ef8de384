//! Prints an explanation as one JSON object on a line. The keys are stable: new keys come at the end.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::{AnnotatedText, ExplainedRequest, ReadAs, sentence, text};
use crate::analysis::path_answer::{GradeResult, SimilarAnswer};
use crate::engine::explain::{DecodeSteps, RuleExplanation};
use crate::finding::Severity;
use crate::redact::mask::redacted;
use crate::redact::sanitize::escape;
use crate::render::grades;
use crate::render::hit_fields::unless_empty;
use crate::rules::{Field, TextView};
use crate::time::LogTime;

#[derive(Serialize)]
struct ExplainObject<'a> {
    source: Option<Cow<'a, str>>,
    line: Option<u64>,
    read_as: &'static str,
    format: Option<Cow<'a, str>>,
    client: Option<Cow<'a, str>>,
    time: Option<String>,
    method: Option<Cow<'a, str>>,
    target: Cow<'a, str>,
    protocol: Option<Cow<'a, str>>,
    status: Option<u16>,
    bytes: Option<u64>,
    outcome: &'static str,
    referer: Option<Cow<'a, str>>,
    user_agent: Option<Cow<'a, str>>,
    host: Option<Cow<'a, str>>,
    decoding: Vec<DecodeStepObject>,
    round_limit: bool,
    views: ViewsObject,
    matches: Vec<MatchObject<'a>>,
    near_misses: Vec<MatchObject<'a>>,
    answer: Option<GradeObject<'a>>,
}

#[derive(Serialize)]
struct DecodeStepObject {
    field: &'static str,
    /// 0 is the decoding of the log writer's escapes.
    round: usize,
    undone: Vec<&'static str>,
    text: String,
}

#[derive(Serialize)]
struct ViewsObject {
    target: String,
    path: String,
    resolved: String,
    query: String,
}

/// Without a grade only `why` has a value.
#[derive(Serialize, Default)]
struct GradeObject<'a> {
    grade: Option<&'static str>,
    reason: Option<&'static str>,
    why: Cow<'static, str>,
    site: Option<Cow<'a, str>>,
    paths_answered: Option<u64>,
    paths_refused: Option<u64>,
    soft_404_sizes: &'a [(u64, u64)],
    home_sizes: &'a [(u64, u64)],
    get_sizes: &'a [(u64, u64)],
    get_refused: &'a [u16],
    similar: Vec<SimilarObject<'a>>,
}

#[derive(Serialize)]
struct SimilarObject<'a> {
    host: Option<Cow<'a, str>>,
    path: Cow<'a, str>,
    bytes: u64,
}

#[derive(Serialize)]
struct MatchObject<'a> {
    rule: &'a str,
    title: Cow<'a, str>,
    class: &'a str,
    severity: Severity,
    suppressed: Option<String>,
    found: Vec<SpanObject>,
    requirements: Vec<CheckObject>,
    read_again: Option<RereadObject>,
}

#[derive(Serialize)]
struct RereadObject {
    field: &'static str,
    how: &'static str,
    text: String,
}

#[derive(Serialize)]
struct SpanObject {
    kind: &'static str,
    field: &'static str,
    text: String,
}

#[derive(Serialize)]
struct CheckObject {
    key: &'static str,
    holds: bool,
    result: String,
}

/// Writes the object and its newline.
pub(crate) fn write<W: Write>(subject: &ExplainedRequest<'_>, out: &mut W) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &object(subject))?;
    out.write_all(b"\n")
}

fn object<'a>(subject: &ExplainedRequest<'a>) -> ExplainObject<'a> {
    let ExplainedRequest { record, line, explanation, .. } = subject;
    let view = |view| subject.annotated(view).full_text();
    ExplainObject {
        source: subject.location.map(|(path, _)| escape(path)),
        line: subject.location.map(|(_, line)| line),
        read_as: match subject.read_as {
            ReadAs::Line(_) => "line",
            ReadAs::Request => "request",
            ReadAs::Unparsed(_) => "text",
        },
        format: match &subject.read_as {
            ReadAs::Line(format) => Some(escape(format.as_bytes()).into_owned().into()),
            _ => None,
        },
        client: unless_empty(record.client),
        time: record.time.map(LogTime::rfc3339),
        method: unless_empty(line.method),
        target: redacted(line.target),
        protocol: unless_empty(line.protocol),
        status: record.status,
        bytes: record.bytes,
        outcome: subject.outcome().as_str(),
        referer: record.referer.map(redacted),
        user_agent: record.user_agent.map(redacted),
        host: record.host.map(redacted),
        decoding: explanation.trails.iter().flat_map(steps).collect(),
        round_limit: explanation.texts.round_limit,
        views: ViewsObject {
            target: view(TextView::Field(Field::Target)),
            path: view(TextView::Field(Field::Path)),
            resolved: view(TextView::Resolved),
            query: view(TextView::Field(Field::Query)),
        },
        matches: explanation.matches.iter().map(|explained| rule(explained, subject)).collect(),
        near_misses: explanation.near_misses.iter().map(|explained| rule(explained, subject)).collect(),
        answer: subject.answer.map(graded),
    }
}

fn similar(one: &SimilarAnswer) -> SimilarObject<'_> {
    SimilarObject { host: one.host.as_deref().map(redacted), path: redacted(&one.path), bytes: one.bytes }
}

fn graded(answer: &GradeResult) -> GradeObject<'_> {
    let GradeResult::Known(known) = answer else {
        return GradeObject { why: text::ungraded(answer).unwrap_or_default().into(), ..GradeObject::default() };
    };
    GradeObject {
        grade: Some(known.detail.grade.answer.as_str()),
        reason: Some(grades::reason(known.detail.grade.reason)),
        why: grades::why(&known.detail).into(),
        site: Some(redacted(&known.site)),
        paths_answered: Some(known.answered),
        paths_refused: Some(known.refused),
        soft_404_sizes: &known.sizes,
        home_sizes: &known.home_sizes,
        get_sizes: &known.get_sizes,
        get_refused: &known.get_refused,
        similar: known.alike.iter().map(similar).collect(),
    }
}

fn steps(trail: &DecodeSteps) -> Vec<DecodeStepObject> {
    let field = key(TextView::Field(trail.field));
    let shown = |text: &[u8]| AnnotatedText::new(text, &trail.logged).full_text();
    let sent = trail.sent.iter().map(|sent| DecodeStepObject { field, round: 0, undone: vec!["log escapes"], text: shown(sent) });
    let rounds = trail.rounds.iter().zip(1..);
    sent.chain(rounds.map(|(round, number)| DecodeStepObject {
        field,
        round: number,
        undone: round.undone.clone(),
        text: shown(&round.text),
    }))
    .collect()
}

fn rule<'a>(explained: &RuleExplanation<'_>, subject: &ExplainedRequest<'a>) -> MatchObject<'a> {
    let rule = subject.rules.rule(explained.rule);
    let found = |view, range| SpanObject { kind: "", field: key(view), text: subject.annotated(view).text(range) };
    MatchObject {
        rule: &rule.id,
        title: escape(rule.title.as_bytes()),
        class: &rule.class,
        severity: subject.severity(explained.rule),
        suppressed: explained.suppressed_by.map(|reason| sentence::suppressed(reason, explained.rule, subject.rules)),
        found: explained.spans().iter().map(|(mark, span)| SpanObject { kind: mark.as_str(), ..found(span.view, &span.range) }).collect(),
        requirements: explained
            .checks
            .iter()
            .map(|check| CheckObject {
                key: sentence::rule_key(&check.requirement),
                holds: check.holds,
                result: sentence::check(check, explained, subject),
            })
            .collect(),
        read_again: explained.alternative.as_ref().map(|reread| RereadObject {
            field: key(TextView::Field(reread.field)),
            how: sentence::decoding_name(reread.reading),
            text: subject.reread(reread),
        }),
    }
}

/// The name of a view, as in rule files.
fn key(view: TextView) -> &'static str {
    match view {
        TextView::Resolved => "resolved",
        TextView::Field(Field::UserAgent) => "user_agent",
        TextView::Field(Field::Raw) => "raw",
        view @ TextView::Field(_) => sentence::view_name(view),
    }
}
