//! The MITRE ATT&CK techniques of a hit: those that its rules list, with their names and tactics.
//!
//! Lists the techniques that the built-in rules use, not the whole matrix. A technique that only a
//! user's rule lists keeps its number and has no name.

use std::sync::LazyLock;

use crate::log::finding::RuleId;
use crate::rules::{Class, RuleSet};

/// A technique or a sub-technique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Technique<'r> {
    /// Its number, such as `T1595.002`.
    pub id: &'r str,
    /// Its own name, without that of the technique it belongs to; empty where it is not in the
    /// table.
    pub name: &'static str,
    /// The number of its tactic, such as `TA0043`, and its name, if it is in the table.
    pub tactic: Option<(&'static str, &'static str)>,
}

/// Techniques sorted by number, with their names and the numbers and names of their first tactics, as
/// in ATT&CK for Enterprise, version 17
/// (<https://attack.mitre.org/versions/v17/techniques/enterprise/>).
static TECHNIQUES: LazyLock<Vec<[&str; 4]>> = LazyLock::new(|| {
    let row = |line: &'static str| {
        let mut cells = line.split('\t');
        [(); 4].map(|()| cells.next().unwrap_or_default())
    };
    include_str!("attack.tsv").lines().map(row).collect()
});

impl<'r> Technique<'r> {
    /// The technique with this number.
    fn new(id: &'r str) -> Self {
        let found = TECHNIQUES.binary_search_by_key(&id, |row| row[0]);
        let row = found.ok().map(|at| TECHNIQUES[at]);
        Self {
            id,
            name: row.map_or("", |[_, name, ..]| name),
            tactic: row.map(|[.., number, name]| (number, name)),
        }
    }

    /// The technique that a sub-technique belongs to; itself where it is none.
    pub(crate) fn parent(self) -> Self {
        self.id
            .split_once('.')
            .map_or(self, |(parent, _)| Self::new(parent))
    }

    /// Whether it is a sub-technique.
    pub(crate) fn is_sub_technique(self) -> bool {
        self.id.contains('.')
    }
}

/// The techniques of these rules, sorted by number. For rules without any, a request with a payload
/// is an attempt to exploit (`T1190`), any other a scan by a list of words (`T1595.003`).
pub(crate) fn techniques<'r>(set: &'r RuleSet, rules: &[RuleId]) -> Vec<Technique<'r>> {
    let rules = || rules.iter().map(|&rule| set.rule(rule));
    let mut ids: Vec<&str> = rules()
        .flat_map(|rule| &rule.notes().attack)
        .map(String::as_str)
        .collect();
    if ids.is_empty() {
        ids.push(if rules().any(|rule| Class::is_payload(&rule.class)) {
            "T1190"
        } else {
            "T1595.003"
        });
    }
    ids.sort_unstable();
    ids.dedup();
    ids.into_iter().map(Technique::new).collect()
}

#[cfg(test)]
mod tests {
    use crate::render::attack::*;
    use crate::report::fixture;
    use crate::rules::{RuleChoice, load};

    #[test]
    fn the_table_is_sorted_and_has_every_technique_of_the_built_in_rules() {
        assert!(TECHNIQUES.is_sorted_by(|one, other| one[0] < other[0]));
        let rules = load(&RuleChoice::default()).unwrap();
        for rule in rules.rules() {
            for id in &rule.notes().attack {
                let technique = Technique::new(id);
                assert!(
                    technique.tactic.is_some() && technique.parent().tactic.is_some(),
                    "{} of {}",
                    id,
                    rule.id
                );
            }
        }
    }

    #[test]
    fn rules_without_techniques_have_those_of_their_class() {
        let of = |number| {
            techniques(fixture::rules(), &[RuleId(number)])
                .iter()
                .map(|technique| technique.id)
                .collect::<Vec<_>>()
        };
        assert_eq!((of(5), of(6)), (vec!["T1190"], vec!["T1595.003"]));
        let unknown = Technique::new("T9999.001");
        assert_eq!(
            (unknown.name, unknown.tactic, unknown.parent().id),
            ("", None, "T9999")
        );
    }
}
