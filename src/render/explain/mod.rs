//! Tells what became of one request and why, for a person and for a program.
//!
//! Puts an [`Explanation`] into words; finds nothing out itself. All text of a log is masked and escaped on the way.

mod annotated;
mod answer;
mod json;
mod match_locations;
mod page;
mod sentence;
mod text;

use std::cell::OnceCell;
use std::io::{self, Write};
use std::sync::Arc;

use self::annotated::AnnotatedText;
use super::RenderOptions;
use crate::analysis::path_answer::GradeResult;
use crate::engine::explain::{AlternativeDecoding, Explanation};
use crate::finding::{RuleId, Severity};
use crate::log_entry::{LogEntry, Outcome, RequestLine};
use crate::render::OutputFormat;
use crate::rules::{Field, RuleSet, TextView};

/// What a text was taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadAs {
    /// A line of the format of this name.
    Line(Arc<str>),
    /// No log line, but something that reads like a request.
    Request,
    /// Neither; rules look for a request in it, or at all of it. Where it is known, what it looks like.
    Unparsed(Option<&'static str>),
}

/// Something that was explained.
#[derive(Debug)]
pub struct ExplainedRequest<'a> {
    /// File and line it was read from.
    pub place: Option<(&'a [u8], u64)>,
    /// What it was taken for.
    pub taken: ReadAs,
    /// Its fields.
    pub record: LogEntry<'a>,
    /// Its request line.
    pub line: RequestLine<'a>,
    /// What the rules say.
    pub explanation: &'a Explanation<'a>,
    /// The rules.
    pub rules: &'a RuleSet,
    /// The one rule that was asked for.
    pub only: Option<RuleId>,
    /// What became of its answer, where that could expose something.
    pub answer: Option<&'a GradeResult>,
    /// Its views as they are shown, once they are asked for.
    pub shown: ViewCache,
}

/// ViewCache of a request, fit for an output; made when they are first asked for.
#[derive(Debug, Default)]
pub struct ViewCache([OnceCell<AnnotatedText>; 8]);

/// Writes what there is to say of a subject: JSON as one object on a line, anything else as text.
///
/// # Errors
///
/// Those of `out`.
pub fn write<W: Write>(subject: &ExplainedRequest<'_>, options: &RenderOptions, out: &mut W) -> io::Result<()> {
    match options.format {
        OutputFormat::Json | OutputFormat::Ndjson => json::write(subject, out),
        OutputFormat::Table | OutputFormat::Csv => text::write(subject, options, out),
    }
}

impl ExplainedRequest<'_> {
    fn outcome(&self) -> Outcome {
        Outcome::of(self.record.status)
    }

    /// How bad a hit of this rule is here.
    fn severity(&self, rule: RuleId) -> Severity {
        self.rules.rule(rule).effective_severity(self.is_raised())
    }

    /// Whether the answer raises the severity: without a log it counts as distinct.
    fn is_raised(&self) -> bool {
        match self.answer {
            Some(GradeResult::Known(answer)) => answer.is_distinct(),
            Some(GradeResult::Ordinary) => false,
            Some(GradeResult::NeedsLog) | None => self.outcome() == Outcome::Answered,
        }
    }

    /// A resolved path in which nothing was to be resolved is the path.
    fn same(&self, view: TextView) -> TextView {
        let (path, texts) = (TextView::Field(Field::Path), &self.explanation.texts);
        if view == TextView::Resolved && texts.of_view(view) == texts.of_view(path) { path } else { view }
    }

    /// The name of a view within a sentence.
    fn name(&self, view: TextView) -> &'static str {
        sentence::view_name(self.same(view))
    }

    /// A view, masked by what it was as logged.
    fn annotated(&self, view: TextView) -> &AnnotatedText {
        let place = match view {
            TextView::Field(field) => field as usize,
            TextView::Resolved => 7,
        };
        self.shown.0[place].get_or_init(|| self.annotate(view))
    }

    fn annotate(&self, view: TextView) -> AnnotatedText {
        AnnotatedText::new(self.explanation.texts.of_view(view), self.logged(view))
    }

    /// A text that was read again, masked by what it was as logged.
    fn reread(&self, reread: &AlternativeDecoding) -> String {
        AnnotatedText::new(&reread.text, self.logged(TextView::Field(reread.field))).whole()
    }

    fn logged(&self, view: TextView) -> &[u8] {
        match view {
            TextView::Field(Field::Referer) => self.record.referer.unwrap_or_default(),
            TextView::Field(Field::UserAgent) => self.record.user_agent.unwrap_or_default(),
            TextView::Field(_) | TextView::Resolved => self.line.target,
        }
    }
}
