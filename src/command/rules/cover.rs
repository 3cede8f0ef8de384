//! `probewatch rules cover`: which paths of a list no rule finds, and why.
//!
//! Judges each path alone, as a request for it that was answered and as one that was not. It says nothing of clients: a
//! path that only a rule with `with_client` or `window` finds counts as found by its client.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;

use super::super::message::shown;
use super::super::{Exit, message, stdout};
use super::{CaseRunner, counted, with_rules};
use crate::finding::RuleId;
use crate::rules::lint::is_ordinary;
use crate::rules::{Case, RuleChoice, RuleSet, path_list};

/// How a path is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Cover {
    /// Whatever the answer was.
    Found,
    /// Where the path is not there, or the request is a POST.
    Conditional,
    /// Where other requests of the client are probes too.
    ByClient,
    /// By no rule, and ordinary clients request it too.
    Ordinary,
    /// By no rule.
    Missing,
    /// The text is no path.
    NoPath,
}

impl fmt::Display for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "found",
            Self::Conditional => "found where it is not there, or as a POST",
            Self::ByClient => "found by its client",
            Self::Ordinary => "no rule: ordinary clients request it too",
            Self::Missing => "no rule",
            Self::NoPath => "no path: it does not begin with '/'",
        })
    }
}

/// Prints the paths of a file that are not found whatever the answer was, and the count of each kind.
#[must_use]
pub fn cover(choice: &RuleChoice, file: &Path) -> Exit {
    let text = match std::fs::read(file) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => {
            return message::refused(&format!("{}: cannot read paths: {error}", shown(&file.display().to_string())));
        }
    };
    with_rules(choice, |rules| {
        let mut runner = CaseRunner::new(rules);
        let (mut printed, mut counts) = (String::new(), BTreeMap::<Cover, usize>::new());
        for path in paths(&text) {
            let (cover, found) = covered(path, rules, &mut runner);
            *counts.entry(cover).or_default() += 1;
            if cover != Cover::Found {
                let _ = writeln!(printed, "{}\t{cover}\t{}", shown(path), names(rules, &found));
            }
        }
        let sum: usize = counts.values().sum();
        let exit = stdout::print(printed.as_bytes());
        message::notice(&format!("{} in {}", counted(sum, "path"), shown(&file.display().to_string())));
        for (cover, count) in counts {
            message::notice(&format!("{count}: {cover}"));
        }
        exit
    })
}

/// The first field of each line, up to a tab, without comments and empty lines.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.split('\t').next()).map(str::trim).filter(|path| !path.is_empty() && !path.starts_with('#'))
}

fn covered(path: &str, rules: &RuleSet, runner: &mut CaseRunner<'_>) -> (Cover, Vec<RuleId>) {
    if !path.starts_with('/') {
        return (Cover::NoPath, Vec::new());
    }
    let mut matched = |method: &str, status: u16| -> Vec<RuleId> {
        let case = Case { status, ..Case::from_request(&format!("{method} {}", path_list::encoded(path))) };
        runner.matched(&case).into_iter().filter(|&id| !rules.rule(id).is_app_evidence).collect()
    };
    let [answered, absent, posted] = [matched("GET", 200), matched("GET", 404), matched("POST", 404)];
    let certain = |ids: &[RuleId]| ids.iter().any(|&id| rules.rule(id).is_certain());
    let any = [&answered, &absent, &posted].into_iter().find(|ids| !ids.is_empty()).cloned().unwrap_or_default();
    let cover = match () {
        () if certain(&answered) && certain(&absent) => Cover::Found,
        () if certain(&absent) || certain(&posted) || certain(&answered) => Cover::Conditional,
        () if !any.is_empty() => Cover::ByClient,
        () if is_ordinary(path) => Cover::Ordinary,
        () => Cover::Missing,
    };
    (cover, any)
}

fn names(rules: &RuleSet, ids: &[RuleId]) -> String {
    let names: Vec<&str> = ids.iter().map(|&id| rules.rule(id).id.as_str()).collect();
    if names.is_empty() { "-".to_owned() } else { names.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_a_path_a_line() {
        let text = "# paths\n/.env\tpath\n\n /a b\n";
        assert_eq!(paths(text).collect::<Vec<_>>(), ["/.env", "/a b"]);
    }

    #[test]
    fn each_path_is_covered_as_its_rule_says() {
        let rules = crate::rules::load(&RuleChoice::default()).unwrap();
        let mut runner = CaseRunner::new(&rules);
        let mut cover = |path| covered(path, &rules, &mut runner).0;
        assert_eq!(cover("/.env"), Cover::Found);
        assert_eq!(cover("/zabbix/"), Cover::Conditional);
        assert_eq!(cover("/qwerty.rar"), Cover::ByClient);
        assert_eq!(cover("/robots.txt"), Cover::Ordinary);
        assert_eq!(cover("/some/page-of-ours"), Cover::Missing);
        assert_eq!(cover("env"), Cover::NoPath);
    }
}
