//! Shows where in a request something of a rule stands: the text, and a line under each kind of thing that was found.

use std::io::{self, Write};
use std::ops::Range;

use super::page::ExplainPage;
use super::{ExplainedRequest, sentence};
use crate::engine::explain::{FoundBy, RuleExplanation};
use crate::render::layout::truncate;
use crate::render::style::{ALARM, DIM, PLAIN};
use crate::rules::{Requirement, TextView};

/// Columns before each line.
const MARGIN: usize = 4;

/// The views in which something of the rule stands, with lines under it.
pub(crate) fn write<W: Write>(
    subject: &ExplainedRequest<'_>,
    account: &RuleExplanation<'_>,
    page: &mut ExplainPage<'_, W>,
) -> io::Result<()> {
    let spans: Vec<_> = account.spans().into_iter().map(|(mark, span)| (mark, subject.same(span.view), &span.range)).collect();
    let mut views: Vec<_> = spans.iter().map(|(_, view, _)| *view).collect();
    views.sort_unstable();
    views.dedup();
    views.into_iter().try_for_each(|view| write_view(subject, account, view, &spans, page))
}

/// What was found, in which view, and where in it.
type MatchLocation<'a> = (FoundBy, TextView, &'a Range<usize>);

fn write_view<W: Write>(
    subject: &ExplainedRequest<'_>,
    account: &RuleExplanation<'_>,
    view: TextView,
    spans: &[MatchLocation<'_>],
    page: &mut ExplainPage<'_, W>,
) -> io::Result<()> {
    let mut here: Vec<_> = spans.iter().filter(|(_, of, _)| *of == view).collect();
    // A regex says most about where to look.
    here.sort_by_key(|(mark, ..)| (matches!(mark, FoundBy::Literal(_)), mark.as_str()));
    let name = sentence::view_name(view);
    let column = here.iter().map(|(mark, ..)| mark.as_str().len()).chain([name.len()]).max().unwrap_or(0);
    let room = page.width.saturating_sub(MARGIN + column + 2);
    let ranges: Vec<Range<usize>> = here.iter().map(|(.., range)| (*range).clone()).collect();
    let line = subject.annotated(view).line(&ranges, room);
    let text = line.parts.iter().map(|(text, is_found)| page.painter.paint(if *is_found { ALARM } else { PLAIN }, text));
    let text: String = text.collect();
    writeln!(page.out, "{:MARGIN$}{}  {text}", "", page.painter.paint(DIM, format!("{name:column$}")))?;
    let mut kinds: Vec<_> = here.iter().map(|(mark, ..)| mark.as_str()).collect();
    kinds.dedup();
    for kind in kinds {
        let of_kind = here.iter().zip(&line.columns).filter(|((mark, ..), _)| mark.as_str() == kind);
        let carets = underline(of_kind.map(|(_, columns)| columns));
        if !carets.is_empty() {
            let label = page.painter.paint(DIM, format!("{kind:column$}"));
            writeln!(page.out, "{:MARGIN$}{label}  {}", "", page.painter.paint(ALARM, &carets))?;
        }
    }
    // Where one rule is explained its regex stands below, whole.
    let patterns = account.checks.iter().filter(|check| check.found.as_ref().is_some_and(|found| subject.same(found.view) == view));
    for source in patterns.filter(|_| subject.only.is_none()).filter_map(|check| source(&check.asks)) {
        page.text(MARGIN + column + 2, DIM, &truncate(&sentence::single_line_regex(source), room))?;
    }
    Ok(())
}

fn source<'r>(asks: &Requirement<'r>) -> Option<&'r str> {
    match asks {
        Requirement::Regex(source, _) | Requirement::Glob(source) | Requirement::Not(source, _) => Some(source),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use crate::render::explain::match_locations::*;

    #[test]
    fn underlines_of_one_kind_share_a_line() {
        assert_eq!(underline([4..6, 1..2, 5..8, 0..0].iter()), " ^  ^^^^");
        assert_eq!(underline(std::iter::empty()), "");
    }
}
