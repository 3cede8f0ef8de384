//! `probewatch rules cover`: which paths of a list are not matched by any rule, and why.
//!
//! Each path is tested alone, as a request with a 2xx and with a 404. A path that only a rule with
//! `with_client` or `window` matches counts as found by its client.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;

use super::super::message::{sanitized, sanitized_path};
use super::super::{Exit, message, stdout};
use super::{CaseRunner, pluralize, with_rules};
use crate::log::finding::RuleId;
use crate::rules::lint::is_ordinary;
use crate::rules::{Case, RuleChoice, RuleSet, path_list};

/// How a path is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Coverage {
    /// With any status.
    Found,
    /// Only with a 404, or as a POST.
    Conditional,
    /// Only with other probes of the client.
    ByClient,
    /// By no rule, and ordinary clients request it too.
    Ordinary,
    /// By no rule.
    Missing,
    /// The text is not a path.
    NoPath,
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Found => "found",
            Self::Conditional => "found only with a 404, or as a POST",
            Self::ByClient => "found by its client",
            Self::Ordinary => "no rule: ordinary clients request it too",
            Self::Missing => "no rule",
            Self::NoPath => "no path: it does not begin with '/'",
        })
    }
}

/// Prints the paths of a file that are not found with any status, and how many there are of each
/// kind.
#[must_use]
pub(crate) fn cover(choice: &RuleChoice, file: &Path) -> Exit {
    let text = match std::fs::read(file) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => {
            return message::usage_error(&format!(
                "{}: cannot read paths: {error}",
                sanitized_path(file)
            ));
        }
    };
    with_rules(choice, |rules| {
        let mut runner = CaseRunner::new(rules);
        let (mut printed, mut counts) = (String::new(), BTreeMap::<Coverage, usize>::new());
        for path in paths(&text) {
            let (cover, rule_ids) = covered(path, rules, &mut runner);
            *counts.entry(cover).or_default() += 1;
            if cover != Coverage::Found {
                let _ = writeln!(
                    printed,
                    "{}\t{cover}\t{}",
                    sanitized(path),
                    names(rules, &rule_ids)
                );
            }
        }
        let sum: usize = counts.values().sum();
        let exit = stdout::print(printed.as_bytes());
        message::notice(&format!(
            "{} in {}",
            pluralize(sum, "path"),
            sanitized_path(file)
        ));
        for (cover, count) in counts {
            message::notice(&format!("{count}: {cover}"));
        }
        exit
    })
}

/// The first tab-separated field of each line, without comments and empty lines.
fn paths(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter_map(|line| line.split('\t').next())
        .map(str::trim)
        .filter(|path| !path.is_empty() && !path.starts_with('#'))
}

fn covered(path: &str, rules: &RuleSet, runner: &mut CaseRunner<'_>) -> (Coverage, Vec<RuleId>) {
    if !path.starts_with('/') {
        return (Coverage::NoPath, Vec::new());
    }
    let mut matched = |method: &str, status: u16| -> Vec<RuleId> {
        let case = Case {
            status,
            ..Case::from_request(&format!("{method} {}", path_list::encode_path(path)))
        };
        runner
            .matched(&case)
            .into_iter()
            .filter(|&id| !rules.rule(id).is_app_evidence)
            .collect()
    };
    let [answered, absent, posted] = [
        matched("GET", 200),
        matched("GET", 404),
        matched("POST", 404),
    ];
    let certain = |ids: &[RuleId]| ids.iter().any(|&id| rules.rule(id).is_certain());
    let any = [&answered, &absent, &posted]
        .into_iter()
        .find(|ids| !ids.is_empty())
        .cloned()
        .unwrap_or_default();
    let cover = match () {
        () if certain(&answered) && certain(&absent) => Coverage::Found,
        () if certain(&absent) || certain(&posted) || certain(&answered) => Coverage::Conditional,
        () if !any.is_empty() => Coverage::ByClient,
        () if is_ordinary(path) => Coverage::Ordinary,
        () => Coverage::Missing,
    };
    (cover, any)
}

fn names(rules: &RuleSet, ids: &[RuleId]) -> String {
    let names: Vec<&str> = ids.iter().map(|&id| rules.rule(id).id.as_str()).collect();
    if names.is_empty() {
        "-".to_owned()
    } else {
        names.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::rules::cover::*;

    #[test]
    fn a_list_has_one_path_per_line() {
        let text = "# paths\n/.env\tpath\n\n /a b\n";
        assert_eq!(paths(text).collect::<Vec<_>>(), ["/.env", "/a b"]);
    }

    #[test]
    fn paths_are_covered_as_their_rules_say() {
        let rules = crate::rules::load(&RuleChoice::default()).unwrap();
        let mut runner = CaseRunner::new(&rules);
        let mut cover = |path| covered(path, &rules, &mut runner).0;
        assert_eq!(cover("/.env"), Coverage::Found);
        assert_eq!(cover("/zabbix/"), Coverage::Conditional);
        assert_eq!(cover("/qwerty.rar"), Coverage::Conditional);
        assert_eq!(cover("/qwerty.dat"), Coverage::ByClient);
        assert_eq!(cover("/robots.txt"), Coverage::Ordinary);
        assert_eq!(cover("/some/page-of-ours"), Coverage::ByClient);
        assert_eq!(cover("/assets/photo.png"), Coverage::Missing);
        assert_eq!(cover("env"), Coverage::NoPath);
    }
}
