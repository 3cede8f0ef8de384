//! Excuses that an attacker could write: what hides a payload, and what hides an answer.
//!
//! The engine keeps a header from excusing what was answered. This is about what it cannot know: which text of a request
//! says what was asked for, and which was only added to it.

use regex_syntax::hir::Look;

use super::super::definition::{Answer, Definition, Field, PAYLOADS, Unless};
use super::super::load::LocatedRule;
use super::{Diagnostic, LintLevel, few, report};
use crate::log_entry::Outcome;

pub(super) fn check(rule: &LocatedRule, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let Some(unless) = d.unless.as_ref().filter(|_| !d.is_app_evidence) else { return };
    let carries = PAYLOADS.contains(&d.class.as_str());
    if carries {
        by_header(rule, unless, found);
    }
    // A regex is tried again on what is left; and where nothing was answered, nothing but a payload is lost.
    let is_whole = d.regex.is_none() && !(unless.words.is_empty() && unless.regex.is_none());
    if is_whole && (carries || (d.answer() == Answer::Exposes && may_be_answered(d))) {
        by_text(rule, unless, carries, found);
    }
}

fn by_header(rule: &LocatedRule, unless: &Unless, found: &mut Vec<Diagnostic>) {
    let keys = [("unless.referer", unless.referer.is_some()), ("unless.agents", !unless.agents.is_empty())];
    for (key, _) in keys.into_iter().filter(|(_, is_there)| *is_there) {
        let what = format!("{key}: requests of class '{}' carry a payload, and any client can send such a header", rule.definition.class);
        report(rule, LintLevel::Error, what, "leave it out, and narrow the rule", found);
    }
}

fn by_text(rule: &LocatedRule, unless: &Unless, carries: bool, found: &mut Vec<Diagnostic>) {
    let d = &rule.definition;
    let loose = |field: &&Field| carries || **field != Field::Path;
    let fields: Vec<_> = d.fields().iter().filter(loose).map(|field| field.name()).collect();
    if !fields.is_empty() {
        let what = format!("unless: it excuses the whole request by a text in {}, to which any client can add", few(fields));
        let advice = if carries {
            "give the rule a regex, so that the text excuses only itself"
        } else {
            "say `fields = [\"path\"]`, or give the rule a regex"
        };
        report(rule, LintLevel::Error, what, advice, found);
    } else if !unless.words.is_empty() || unless.regex.as_ref().is_some_and(|regex| !is_anchored(regex)) {
        let what = "unless: it excuses a path by what stands anywhere in it, and a server may run /x.php for /x.php/any/text".into();
        report(rule, LintLevel::Error, what, "write a regex that begins with '^' and names all of the path before that text", found);
    }
}

/// Whether the rule can match a request that was answered.
fn may_be_answered(d: &Definition) -> bool {
    let is_open = |status: &u16| matches!(Outcome::of(Some(*status)), Outcome::Answered | Outcome::Unknown);
    d.statuses.is_empty() || d.statuses.iter().any(is_open)
}

/// Whether a regex can match only from the start of a text: each of its alternatives begins with `^`.
fn is_anchored(regex: &str) -> bool {
    regex_syntax::parse(regex).is_ok_and(|hir| hir.properties().look_set_prefix().contains(Look::Start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_alternative_is_anchored_or_none_is() {
        for (regex, expected) in
            [("^/a", true), ("^/a|^/b", true), ("^/(?:a|b)[|)]", true), (r"^/a\||/b", false), ("^/a|/b", false), ("/a", false), ("", false)]
        {
            assert_eq!(is_anchored(regex), expected, "{regex}");
        }
    }
}
