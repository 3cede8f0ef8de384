//! Prints an explanation as one JSON object on a line. The keys are stable: new keys come at the
//! end.

use super::{AnnotatedText, ExplainedRequest, ReadAs, sentence, text};
use crate::engine::explain::RuleExplanation;
use crate::log::time::LogTime;
use crate::render::grades;
use crate::render::hit_fields::{ObjectFields, unless_empty};
use crate::report::path_answer::GradeResult;
use crate::rules::{Field, TextView};
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// The object and its newline.
pub(crate) fn line(subject: &ExplainedRequest<'_>) -> Vec<u8> {
    let mut json = Vec::new();
    ObjectFields::line(&mut json, |fields| put_request(fields, subject));
    json
}

fn put_request(fields: &mut ObjectFields<'_>, subject: &ExplainedRequest<'_>) {
    let ExplainedRequest {
        record,
        line,
        explanation,
        ..
    } = subject;
    let (read_as, format) = match &subject.read_as {
        ReadAs::Line(format) => ("line", Some(escape(format.as_bytes()))),
        ReadAs::Request => ("request", None),
        ReadAs::Unparsed(_) => ("text", None),
    };
    let view = |view| &subject.annotated(view).text;
    fields.put("source", subject.location.map(|(path, _)| escape(path)));
    fields.put("line", subject.location.map(|(_, line)| line));
    fields.put("read_as", read_as);
    fields.put("format", format);
    fields.put("client", unless_empty(record.client.into()));
    fields.put("time", record.time.map(LogTime::rfc3339));
    fields.put("method", unless_empty(line.method.into()));
    fields.put("target", LogText::new(line.target));
    fields.put("protocol", unless_empty(line.protocol.into()));
    fields.put("status", record.status);
    fields.put("bytes", record.bytes);
    fields.put("outcome", subject.outcome().as_str());
    fields.put("referer", record.referer.map(LogText::new));
    fields.put("user_agent", record.user_agent.map(LogText::new));
    fields.put("host", record.host.map(LogText::new));
    let steps =
        explanation.trails.iter().flat_map(|trail| {
            // 0 is the decoding of the log writer's escapes.
            let sent = trail
                .sent
                .iter()
                .map(move |sent| (trail, 0, vec!["log escapes"], &**sent));
            sent.chain(
                trail.rounds.iter().zip(1..).map(move |(round, number)| {
                    (trail, number, round.undone.clone(), &*round.text)
                }),
            )
        });
    fields.put_objects("decoding", steps, |fields, (trail, round, undone, text)| {
        fields.put("field", key(TextView::Field(trail.field)));
        fields.put("round", round);
        fields.put("undone", undone);
        fields.put("text", AnnotatedText::new(text, &trail.logged).text);
    });
    fields.put("round_limit", explanation.texts.round_limit);
    fields.put("views.target", view(TextView::Field(Field::Target)));
    fields.put("views.path", view(TextView::Field(Field::Path)));
    fields.put("views.resolved", view(TextView::Resolved));
    fields.put("views.query", view(TextView::Field(Field::Query)));
    fields.put_objects("matches", &explanation.matches, |fields, explained| {
        put_rule(fields, explained, subject);
    });
    fields.put_objects(
        "near_misses",
        &explanation.near_misses,
        |fields, explained| put_rule(fields, explained, subject),
    );
    match subject.answer {
        Some(answer) => fields.put_object("answer", |fields| put_grade(fields, answer)),
        None => fields.put("answer", ()),
    }
    fields.put_objects("by_status", &subject.by_status, |fields, group| {
        fields.put("method", &group.method);
        fields.put("statuses", &group.statuses);
        fields.put(
            "rules",
            group
                .rules
                .iter()
                .map(|&rule| &*subject.rules.rule(rule).id)
                .collect::<Vec<_>>(),
        );
    });
}

/// Without a grade only `why` has a value.
fn put_grade(fields: &mut ObjectFields<'_>, answer: &GradeResult) {
    let known = if let GradeResult::Known(known) = answer {
        Some(known)
    } else {
        None
    };
    let sizes = |sizes: Option<&Vec<(u64, u64)>>| sizes.cloned().unwrap_or_default();
    let why = known.map_or_else(
        || text::ungraded(answer).unwrap_or_default().to_owned(),
        |known| grades::why(&known.detail),
    );
    fields.put(
        "grade",
        known.map(|known| known.detail.grade.answer.as_str()),
    );
    fields.put(
        "reason",
        known.map(|known| known.detail.grade.reason.as_str()),
    );
    fields.put("why", why);
    fields.put("site", known.map(|known| LogText::new(&known.site)));
    fields.put("paths_answered", known.map(|known| known.answered));
    fields.put("paths_refused", known.map(|known| known.refused));
    fields.put("soft_404_sizes", sizes(known.map(|known| &known.sizes)));
    fields.put("home_sizes", sizes(known.map(|known| &known.home_sizes)));
    fields.put("get_sizes", sizes(known.map(|known| &known.get_sizes)));
    fields.put(
        "get_refused",
        known.map_or(&[][..], |known| &known.get_refused),
    );
    fields.put_objects(
        "similar",
        known.into_iter().flat_map(|known| &known.alike),
        |fields, one| {
            fields.put("host", one.host.as_deref().map(LogText::new));
            fields.put("path", LogText::new(&one.path));
            fields.put("bytes", one.bytes);
        },
    );
}

fn put_rule(
    fields: &mut ObjectFields<'_>,
    explained: &RuleExplanation<'_>,
    subject: &ExplainedRequest<'_>,
) {
    let rule = subject.rules.rule(explained.rule);
    fields.put("rule", &rule.id);
    fields.put("title", escape(rule.title.as_bytes()));
    fields.put("class", &rule.class);
    fields.put("wants", escape(rule.wants().as_bytes()));
    fields.put("remedy", escape(rule.remedy().as_bytes()));
    let about = subject.about(explained.rule);
    fields.put("product", about.products);
    fields.put("cve", about.cves);
    fields.put("severity", subject.severity(explained.rule));
    fields.put(
        "suppressed",
        explained
            .suppressed_by
            .map(|reason| sentence::suppressed(reason, explained.rule, subject.rules)),
    );
    fields.put_objects("found", explained.spans().iter(), |fields, (mark, span)| {
        fields.put("kind", mark.as_str());
        fields.put("field", key(span.view));
        fields.put("text", subject.annotated(span.view).part(&span.range));
    });
    fields.put_objects("requirements", &explained.checks, |fields, check| {
        fields.put("key", sentence::rule_key(&check.requirement));
        fields.put("holds", check.holds);
        fields.put("result", sentence::check(check, explained, subject));
    });
    match &explained.alternative {
        None => fields.put("read_again", ()),
        Some(reread) => {
            fields.put("read_again.field", key(TextView::Field(reread.field)));
            fields.put("read_again.how", sentence::decoding_name(reread.reading));
            fields.put("read_again.text", subject.reread(reread));
        }
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
