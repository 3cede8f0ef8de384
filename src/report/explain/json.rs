//! The explanation for a program: one JSON object on a line. Keys stay; new ones come at the end.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use super::{Marked, Subject, Taken, answer, sentence};
use crate::engine::explain::{DecodeSteps, RuleExplanation};
use crate::finding::Severity;
use crate::report::answer::{Alike, Graded};
use crate::report::grades;
use crate::report::mask::shown;
use crate::report::sanitize::text;
use crate::rules::{Field, TextView};
use crate::time::LogTime;

#[derive(Serialize)]
struct Object<'a> {
    source: Option<Cow<'a, str>>,
    line: Option<u64>,
    taken_as: &'static str,
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
    decoding: Vec<Step>,
    round_limit: bool,
    views: Views,
    matches: Vec<Match<'a>>,
    near_misses: Vec<Match<'a>>,
    answer: Option<AnswerObject<'a>>,
}

#[derive(Serialize)]
struct Step {
    field: &'static str,
    /// 0 is the undoing of what the log writer did.
    round: usize,
    undone: Vec<&'static str>,
    text: String,
}

#[derive(Serialize)]
struct Views {
    target: String,
    path: String,
    resolved: String,
    query: String,
}

/// Without a grade only `why` says something.
#[derive(Serialize, Default)]
struct AnswerObject<'a> {
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
    alike: Vec<AlikeObject<'a>>,
}

#[derive(Serialize)]
struct AlikeObject<'a> {
    host: Option<Cow<'a, str>>,
    path: Cow<'a, str>,
    bytes: u64,
}

#[derive(Serialize)]
struct Match<'a> {
    rule: &'a str,
    title: Cow<'a, str>,
    class: &'a str,
    severity: Severity,
    withheld: Option<String>,
    found: Vec<Found>,
    asks: Vec<Asked>,
    read_again: Option<ReadAgain>,
}

#[derive(Serialize)]
struct ReadAgain {
    field: &'static str,
    how: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Found {
    kind: &'static str,
    field: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Asked {
    key: &'static str,
    holds: bool,
    says: String,
}

/// Writes the object and its newline.
pub(super) fn write<W: Write>(subject: &Subject<'_>, out: &mut W) -> io::Result<()> {
    serde_json::to_writer(&mut *out, &object(subject))?;
    out.write_all(b"\n")
}

fn object<'a>(subject: &Subject<'a>) -> Object<'a> {
    let Subject { record, line, explanation, .. } = subject;
    let view = |view| subject.marked(view).whole();
    Object {
        source: subject.place.map(|(path, _)| text(path)),
        line: subject.place.map(|(_, line)| line),
        taken_as: match subject.taken {
            Taken::Line(_) => "line",
            Taken::Request => "request",
            Taken::Unparsed(_) => "text",
        },
        format: match &subject.taken {
            Taken::Line(format) => Some(text(format.as_bytes()).into_owned().into()),
            _ => None,
        },
        client: unless_empty(record.client),
        time: record.time.map(LogTime::rfc3339),
        method: unless_empty(line.method),
        target: shown(line.target),
        protocol: unless_empty(line.protocol),
        status: record.status,
        bytes: record.bytes,
        outcome: subject.outcome().as_str(),
        referer: record.referer.map(shown),
        user_agent: record.user_agent.map(shown),
        host: record.host.map(shown),
        decoding: explanation.trails.iter().flat_map(steps).collect(),
        round_limit: explanation.texts.round_limit,
        views: Views {
            target: view(TextView::Field(Field::Target)),
            path: view(TextView::Field(Field::Path)),
            resolved: view(TextView::Resolved),
            query: view(TextView::Field(Field::Query)),
        },
        matches: explanation.matches.iter().map(|account| rule(account, subject)).collect(),
        near_misses: explanation.near_misses.iter().map(|account| rule(account, subject)).collect(),
        answer: subject.answer.map(graded),
    }
}

fn alike(one: &Alike) -> AlikeObject<'_> {
    AlikeObject { host: one.host.as_deref().map(shown), path: shown(&one.path), bytes: one.bytes }
}

fn graded(answer: &Graded) -> AnswerObject<'_> {
    let Graded::Known(known) = answer else {
        return AnswerObject { why: answer::ungraded(answer).unwrap_or_default().into(), ..AnswerObject::default() };
    };
    AnswerObject {
        grade: Some(known.detail.grade.answer.as_str()),
        reason: Some(grades::reason(known.detail.grade.reason)),
        why: grades::why(&known.detail).into(),
        site: Some(shown(&known.site)),
        paths_answered: Some(known.answered),
        paths_refused: Some(known.refused),
        soft_404_sizes: &known.sizes,
        home_sizes: &known.home_sizes,
        get_sizes: &known.get_sizes,
        get_refused: &known.get_refused,
        alike: known.alike.iter().map(alike).collect(),
    }
}

fn steps(trail: &DecodeSteps) -> Vec<Step> {
    let field = key(TextView::Field(trail.field));
    let shown = |text: &[u8]| Marked::new(text, &trail.logged).whole();
    let sent = trail.sent.iter().map(|sent| Step { field, round: 0, undone: vec!["log escapes"], text: shown(sent) });
    let rounds = trail.rounds.iter().zip(1..);
    sent.chain(rounds.map(|(round, number)| Step { field, round: number, undone: round.undone.clone(), text: shown(&round.text) }))
        .collect()
}

fn rule<'a>(account: &RuleExplanation<'_>, subject: &Subject<'a>) -> Match<'a> {
    let rule = subject.rules.rule(account.rule);
    let found = |view, range| Found { kind: "", field: key(view), text: subject.marked(view).text(range) };
    Match {
        rule: &rule.id,
        title: text(rule.title.as_bytes()),
        class: &rule.class,
        severity: subject.severity(account.rule),
        withheld: account.suppressed_by.map(|reason| sentence::withheld(reason, account.rule, subject.rules)),
        found: account.spans().iter().map(|(mark, span)| Found { kind: mark.as_str(), ..found(span.view, &span.range) }).collect(),
        asks: account
            .checks
            .iter()
            .map(|check| Asked { key: sentence::topic(&check.asks), holds: check.holds, says: sentence::of(check, account, subject) })
            .collect(),
        read_again: account.alternative.as_ref().map(|reread| ReadAgain {
            field: key(TextView::Field(reread.field)),
            how: sentence::reading(reread.reading),
            text: subject.reread(reread),
        }),
    }
}

/// The name of a view in rule files.
fn key(view: TextView) -> &'static str {
    match view {
        TextView::Resolved => "resolved",
        TextView::Field(Field::UserAgent) => "user_agent",
        TextView::Field(Field::Raw) => "raw",
        view @ TextView::Field(_) => sentence::name(view),
    }
}

fn unless_empty(text: &[u8]) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then(|| shown(text))
}
