//! The built-in rules, as source text and in forms that load faster: rule files as JSON, and the
//! tables of all literals.
//!
//! The JSON of a file lacks test cases and known false positives, which a scan does not need. A
//! file that is not valid has no JSON. Most scans use all built-in rules, and so the tables: then
//! lists of literals have only their first literal, as conditions depend on whether there is one,
//! and the notes of a rule are read when it has a hit. What most scans read is not compressed; the
//! rest is.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::compile::Searches;
use super::definition::{LocatedRule, RuleFile, RuleNotes, locate, parse};
use super::error::RuleError;
use super::lines::RuleLines;
use super::literal_table::{LiteralKind, LiteralTable, LiteralUse, TextArena};
use super::literals::Literals;
use super::pattern::decompressed;
use super::prefilter::{Prefilter, WindowLiteral, WindowTable};

/// The rule files that were in `rules/` at build time. Not a constant, which each codegen unit that
/// uses it would hold once more.
pub(super) static BUILTIN: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/builtin_rules.rs"));

/// A built-in rule file.
#[derive(Debug)]
pub(super) struct BuiltinFile {
    pub(super) name: &'static str,
    /// The source text, compressed.
    text: &'static [u8],
    /// A [`ParsedRuleFile`] as JSON, without cases and compressed; empty if the file is no valid
    /// TOML.
    json: &'static [u8],
    /// The file as JSON with the first literal of each list and without notes, not compressed.
    short: &'static str,
    /// The [`RuleNotes`] of its rules by id, as JSON.
    notes: &'static str,
}

/// How much of a rule is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// What is neither in the tables of literals nor in notes: each list of literals has only its
    /// first.
    Conditions,
    /// All but cases and known false positives.
    Literals,
    /// All.
    Cases,
}

/// A rule file that was parsed at build time.
#[derive(Deserialize)]
struct ParsedRuleFile {
    lines: RuleLines,
    file: RuleFile,
}

impl BuiltinFile {
    /// Its rules. If the JSON form fails, the file has an error, which parsing the source text
    /// reports with its position.
    pub(super) fn rules(&self, detail: Detail) -> Result<Vec<LocatedRule>, RuleError> {
        let name = self.display_name();
        let parsed = match detail {
            Detail::Conditions => serde_json::from_str(self.short).ok(),
            Detail::Literals => serde_json::from_slice(&decompressed(self.json)).ok(),
            Detail::Cases => None,
        };
        match parsed {
            Some(ParsedRuleFile { lines, file }) => Ok(locate(&name, file, lines, true)),
            None => parse(&name, &self.text(), true),
        }
    }

    /// The source text.
    pub(super) fn text(&self) -> String {
        String::from_utf8(decompressed(self.text)).unwrap_or_default()
    }

    /// Its name in messages.
    fn display_name(&self) -> String {
        format!("built-in {}", self.name)
    }
}

/// The notes of a built-in rule. Its family is the name of its file.
#[expect(
    clippy::expect_used,
    reason = "the build wrote them, and a test reads those of each rule"
)]
pub(super) fn notes(id: &str) -> RuleNotes {
    let is_its = |file: &&BuiltinFile| id.split('/').next() == file.name.strip_suffix(".toml");
    let of_file = |file: &BuiltinFile| {
        serde_json::from_str::<BTreeMap<&str, RuleNotes>>(file.notes)
            .ok()?
            .remove(id)
    };
    BUILTIN
        .iter()
        .find(is_its)
        .and_then(of_file)
        .expect("the build wrote the notes of each rule of a file")
}

/// The literals of all built-in rules, numbered in the order of their ids; `None` if a rule file
/// has an error or the literals are too similar for the prefilter.
pub(super) fn searches() -> Option<Searches> {
    let [request, headers] =
        literals()?.map(|(table, prefilter)| Literals::with_prefilter(table, prefilter));
    Some(Searches { request, headers })
}

/// The literals of requests and of headers, as the build script wrote them: what is large is used
/// where it lies in the program.
#[allow(
    clippy::all,
    clippy::pedantic,
    reason = "the style of tables that are generated"
)]
fn literals() -> Option<[(LiteralTable, Prefilter); 2]> {
    use LiteralKind::{Agent, Exception, Glob, Path, Prefix, Suffix, Word};
    include!(concat!(env!("OUT_DIR"), "/literals.rs"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::super::compile::{compile, compile_with};
    use super::super::literal_table::{LiteralCollector, RuleLiterals};
    use super::super::load::{RuleChoice, selected_rules, selected_rules_with};
    use super::*;

    #[test]
    fn a_parsed_form_equals_its_file_but_for_what_it_omits() {
        for file in BUILTIN {
            let mut written = file.rules(Detail::Cases).unwrap();
            assert!(
                written
                    .iter()
                    .any(|rule| !rule.definition.must_match.is_empty()),
                "{}",
                file.name
            );
            for rule in &mut written {
                let definition = &mut rule.definition;
                definition.must_match.clear();
                definition.must_not_match.clear();
                definition.false_positives.clear();
            }
            let json: Result<ParsedRuleFile, _> = serde_json::from_slice(&decompressed(file.json));
            assert!(
                json.is_ok() && serde_json::from_str::<ParsedRuleFile>(file.short).is_ok(),
                "{}",
                file.name
            );
            assert_eq!(
                format!("{:?}", file.rules(Detail::Literals).unwrap()),
                format!("{written:?}"),
                "{}",
                file.name
            );
            for rule in &mut written {
                let d = &mut rule.definition;
                for literals in [
                    &mut d.paths,
                    &mut d.suffixes,
                    &mut d.words,
                    &mut d.agents,
                    &mut d.raw_prefixes,
                ] {
                    literals.truncate(1);
                }
                if !d.is_app_evidence {
                    [&mut d.cve, &mut d.attack, &mut d.references]
                        .into_iter()
                        .for_each(Vec::clear);
                    d.cwe.clear();
                    d.of = None;
                }
            }
            assert_eq!(
                format!("{:?}", file.rules(Detail::Conditions).unwrap()),
                format!("{written:?}"),
                "{}",
                file.name
            );
        }
    }

    /// With the tables, conditions see only whether a rule has a literal.
    #[test]
    fn conditions_are_the_same_with_and_without_all_literals() {
        let rules = |detail| {
            selected_rules_with(&RuleChoice::default(), detail)
                .unwrap()
                .rules
        };
        let [with, without] = [
            compile(rules(Detail::Literals)).unwrap(),
            compile_with(rules(Detail::Conditions), searches().unwrap()).unwrap(),
        ];
        assert_eq!(
            format!("{:?}", with.conditions),
            format!("{:?}", without.conditions)
        );
        assert!(
            without
                .rules
                .iter()
                .all(|rule| *rule.notes() == *with.rule(with.number_of(&rule.id).unwrap()).notes()),
            "read when needed"
        );
        assert_eq!(
            (with.rules, with.unanchored),
            (without.rules, without.unanchored)
        );
        assert_eq!(with.suppressed_by_apps, without.suppressed_by_apps);
    }

    /// The embedded literals and the loader's agree on numbers of rules, on literals and on
    /// windows.
    #[test]
    fn the_embedded_literals_are_those_of_the_rules() {
        let mut literals = RuleLiterals::default();
        for (number, rule) in selected_rules(&RuleChoice::default())
            .unwrap()
            .rules
            .iter()
            .enumerate()
        {
            literals
                .add(rule.definition.literal_keys(), number as u16)
                .unwrap();
        }
        let tables = [literals.request, literals.headers].map(LiteralCollector::into_table);
        let with_prefilter = |table: LiteralTable| {
            let prefilter = Prefilter::new(&table.texts)?;
            Some((table, prefilter))
        };
        assert_eq!(
            super::literals().map(|all| all.map(Some)),
            Some(tables.map(with_prefilter))
        );
    }

    #[test]
    fn an_error_names_its_line() {
        let error_of = |text: &str, short| {
            let mut stream = ZlibEncoder::new(
                (text.len() as u32).to_le_bytes().to_vec(),
                Compression::fast(),
            );
            stream.write_all(text.as_bytes()).unwrap();
            BuiltinFile {
                name: "x.toml",
                text: stream.finish().unwrap().leak(),
                json: b"",
                short,
                notes: "",
            }
            .rules(Detail::Conditions)
            .unwrap_err()
            .to_string()
        };
        let wrong_key = "[[rule]]\nid = 'x/a'\ntitel = 'A'\n";
        for short in [
            "",
            r#"{"lines":{"rule":[2],"app":[]},"file":{"rule":[{"id":"x/a","titel":"A"}]}}"#,
        ] {
            let error = error_of(wrong_key, short);
            assert!(
                error.contains("built-in x.toml")
                    && error.contains("line 3")
                    && error.contains("titel"),
                "{error}"
            );
        }
        assert!(
            error_of("[[rule]\n", "").contains("line 1"),
            "{}",
            error_of("[[rule]\n", "")
        );
    }
}
