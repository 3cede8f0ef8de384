//! Prints the explanation of one request, as text or JSON.
//!
//! Renders an [`Explanation`] of the engine. All text of a log is redacted.

mod annotated;
mod json;
mod sentence;
mod text;

use std::cell::OnceCell;
use std::io::{self, Write};
use std::sync::Arc;

use self::annotated::AnnotatedText;
use super::{OutputFormat, RenderOptions};
use crate::engine::explain::{AlternativeDecoding, Explanation, MatchesByStatus};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::{LogEntry, Outcome, RequestLine};
use crate::report::labels::Attributed;
use crate::report::path_answer::GradeResult;
use crate::rules::{Field, RuleSet, TextView};

/// How a text was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadAs {
    /// A line of the format of this name.
    Line(Arc<str>),
    /// A request, without a log line.
    Request,
    /// Neither: rules search it for a request, or match all of it. What it looks like, if known.
    Unparsed(Option<&'static str>),
}

/// An explained request.
#[derive(Debug)]
pub(crate) struct ExplainedRequest<'a> {
    /// The file and line it is from.
    pub location: Option<(&'a [u8], u64)>,
    /// How it was read.
    pub read_as: ReadAs,
    /// Its fields.
    pub record: LogEntry<'a>,
    /// Its request line.
    pub line: RequestLine<'a>,
    /// The matches and near misses.
    pub explanation: &'a Explanation<'a>,
    /// What a scan reports of a typed request by its method and status, if they make a difference.
    pub by_status: Vec<MatchesByStatus>,
    /// The rules.
    pub rules: &'a RuleSet,
    /// The rule of `--rule`.
    pub only: Option<RuleId>,
    /// The grade of its answer, if the answer could expose something.
    pub answer: Option<&'a GradeResult>,
    /// Its redacted views.
    pub views: ViewCache,
}

/// Redacted views of a request, created when first used.
#[derive(Debug, Default)]
pub(crate) struct ViewCache([OnceCell<AnnotatedText>; 8]);

/// Writes the explanation: JSON as one object on a line, any other format as text.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write<W: Write>(
    subject: &ExplainedRequest<'_>,
    options: &RenderOptions,
    out: &mut W,
) -> io::Result<()> {
    match options.format {
        OutputFormat::Json | OutputFormat::Ndjson => out.write_all(&json::line(subject)),
        _ => out.write_all(text::text(subject, options).as_bytes()),
    }
}

impl<'a> ExplainedRequest<'a> {
    /// The CVE ids and products of the request by a rule that it matches.
    fn about(&self, rule: RuleId) -> Attributed<'a> {
        let texts = [TextView::Resolved, TextView::Field(Field::Target)]
            .map(|view| self.explanation.texts.of_view(view));
        Attributed::new(self.rules, &[rule], &texts)
    }
}

impl ExplainedRequest<'_> {
    fn outcome(&self) -> Outcome {
        Outcome::from_status(self.record.status)
    }

    /// The severity of a hit of this rule.
    fn severity(&self, rule: RuleId) -> Severity {
        self.rules
            .rule(rule)
            .effective_severity(self.is_severity_raised())
    }

    /// Whether the answer raises the severity. Without a log an answer counts as distinct.
    fn is_severity_raised(&self) -> bool {
        match self.answer {
            Some(GradeResult::Known(answer)) => answer.is_distinct(),
            Some(GradeResult::Ordinary) => false,
            Some(GradeResult::NeedsLog) | None => self.outcome() == Outcome::Answered,
        }
    }

    /// The view itself, but the path for a resolved path that equals it.
    fn canonical_view(&self, view: TextView) -> TextView {
        let (path, texts) = (TextView::Field(Field::Path), &self.explanation.texts);
        if view == TextView::Resolved && texts.of_view(view) == texts.of_view(path) {
            path
        } else {
            view
        }
    }

    /// The name of a view within a sentence.
    fn name(&self, view: TextView) -> &'static str {
        sentence::view_name(self.canonical_view(view))
    }

    /// A view, with the secrets of its logged form masked.
    fn annotated(&self, view: TextView) -> &AnnotatedText {
        let index = match view {
            TextView::Field(field) => field as usize,
            TextView::Resolved => 7,
        };
        self.views.0[index].get_or_init(|| {
            AnnotatedText::new(self.explanation.texts.of_view(view), self.logged(view))
        })
    }

    /// A text that was decoded another way, with the secrets of its logged form masked.
    fn reread(&self, reread: &AlternativeDecoding) -> String {
        AnnotatedText::new(&reread.text, self.logged(TextView::Field(reread.field))).text
    }

    fn logged(&self, view: TextView) -> &[u8] {
        match view {
            TextView::Field(Field::Referer) => self.record.referer.unwrap_or_default(),
            TextView::Field(Field::UserAgent) => self.record.user_agent.unwrap_or_default(),
            TextView::Field(_) | TextView::Resolved => self.line.target,
        }
    }
}
