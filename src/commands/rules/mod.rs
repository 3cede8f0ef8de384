//! `probewatch rules`: lists, shows, lints, tests and exports rules here; adds, imports and covers
//! in a file each.

mod add;
mod cover;
mod import;

pub(crate) use add::{AddOptions, add};
pub(crate) use cover::cover;
pub(crate) use import::{ImportOptions, import};

use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::common::load_rules;
use super::error::CommandError;
use super::message::{sanitized, sanitized_path};
use super::{Exit, message, stdout};
use crate::engine::{Matcher, WorkerState};
use crate::log::finding::RuleId;
use crate::os::atomic_file::AtomicFile;
use crate::os::system::list_folder;
use crate::rules::lint::Lint;
use crate::rules::{AnswerMeaning, Case, Rule, RuleChoice, RuleSet, exported_files, source_text};
use crate::text::redact::sanitize::escape;

/// Lists the selected rules, or those of one class.
#[must_use]
pub(crate) fn list(choice: &RuleChoice, class: Option<&str>) -> Exit {
    let choice = RuleChoice {
        only: class.map_or_else(|| choice.only.clone(), |c| vec![c.to_owned()]),
        ..choice.clone()
    };
    with_rules(&choice, |rules| {
        // Rules that detect apps are always selected, but are listed only on request.
        let options = |rule: &&Rule| {
            !rule.is_app_evidence
                || choice
                    .only
                    .iter()
                    .any(|o| *o == rule.class || *o == rule.id)
        };
        let id = rules.rules().iter().map(|r| r.id.len()).max().unwrap_or(0);
        let class = rules
            .rules()
            .iter()
            .map(|r| r.class.len())
            .max()
            .unwrap_or(0);
        let mut out = String::new();
        for rule in rules.rules().iter().filter(options) {
            let window = if rule.counts_requests() {
                format!(" (at {})", rule.counts_text())
            } else {
                String::new()
            };
            let title = escape(rule.title.as_bytes());
            let _ = writeln!(
                out,
                "{:id$}  {:class$}  {:8}  {title}{window}",
                rule.id, rule.class, rule.severity
            );
        }
        stdout::print(out.as_bytes())
    })
}

/// Prints one rule.
#[must_use]
pub(crate) fn show(choice: &RuleChoice, id: &str) -> Exit {
    with_rules(choice, |rules| match find_rule(rules, id) {
        Ok(rule) => {
            stdout::print(page(rules.rule(rule), source_text(choice, id).as_deref()).as_bytes())
        }
        Err(error) => error.report(),
    })
}

/// A rule in readable form, then as written in its file.
fn page(rule: &Rule, source_text: Option<&str>) -> String {
    let answer = match rule.answer {
        AnswerMeaning::Exposes => "a 2xx means that the path exists",
        AnswerMeaning::Inconclusive => "a 2xx means nothing",
    };
    let cwe: Vec<_> = rule
        .notes()
        .cwe
        .iter()
        .map(|n| format!("CWE-{n}"))
        .collect();
    let mut out = format!("{}\n  {}\n\n", rule.id, escape(rule.title.as_bytes()));
    let facts = [
        ("class", rule.class.clone()),
        ("severity", rule.severity.to_string()),
        ("wants", rule.wants().to_owned()),
        ("answer", answer.to_owned()),
        ("remedy", rule.remedy().to_owned()),
        (
            "window",
            if rule.counts_requests() {
                format!("not reported by itself, only at {}", rule.counts_text())
            } else {
                String::new()
            },
        ),
        ("cve", rule.cve().join(", ")),
        ("cwe", cwe.join(", ")),
        ("att&ck", rule.notes().attack.join(", ")),
    ];
    for (name, fact) in facts.iter().filter(|(_, fact)| !fact.is_empty()) {
        let _ = writeln!(out, "  {name:9} {}", escape(fact.as_bytes()));
    }
    if let Some(table) = source_text {
        let _ = writeln!(out, "\n  as written");
        for line in table.lines() {
            let _ = writeln!(out, "    {}", escape(line.as_bytes()));
        }
        return out;
    }
    let cases = |cases: &[Case]| cases.iter().map(|c| c.request.clone()).collect::<Vec<_>>();
    for (name, lines) in [
        ("references", rule.references().to_vec()),
        ("false positives", rule.false_positives.clone()),
        ("must_match", cases(&rule.must_match)),
        ("must_not_match", cases(&rule.must_not_match)),
    ] {
        if !lines.is_empty() {
            let _ = writeln!(out, "\n  {name}");
        }
        for line in lines {
            let _ = writeln!(out, "    {}", escape(line.as_bytes()));
        }
    }
    out
}

/// Prints the diagnostics of the chosen rules, one per line.
#[must_use]
pub(crate) fn lint(choice: &RuleChoice) -> Exit {
    let lint = match Lint::load(choice) {
        Ok(lint) => lint,
        Err(error) => return message::usage_error(&error.to_string()),
    };
    let mut runner = CaseRunner::new(lint.set());
    let diagnostics = lint.diagnostics(|case| runner.matched(case));
    let rules = lint.set().rules().len();
    if diagnostics.is_empty() {
        return stdout::print(format!("{}: no problems\n", pluralize(rules, "rule")).as_bytes());
    }
    let mut out = String::new();
    for diagnostic in &diagnostics {
        let _ = writeln!(out, "{}", sanitized(&diagnostic.to_string()));
    }
    let _ = writeln!(
        out,
        "{}: {}",
        pluralize(rules, "rule"),
        pluralize(diagnostics.len(), "problem")
    );
    match stdout::print(out.as_bytes()) {
        Exit::Success => Exit::Usage,
        failed => failed,
    }
}

/// Runs the cases of the selected rules. A built-in rule without cases is an error, another one a
/// notice.
#[must_use]
pub(crate) fn test(choice: &RuleChoice) -> Exit {
    with_rules(
        &RuleChoice {
            with_cases: true,
            ..choice.clone()
        },
        |rules| {
            let (mut cases, mut wrong, mut bare) = (0, Vec::new(), Vec::new());
            let mut runner = CaseRunner::new(rules);
            for (number, rule) in rules.rules().iter().enumerate() {
                if rule.must_match.is_empty() || rule.must_not_match.is_empty() {
                    bare.push(rule);
                }
                for (case, expected) in rule
                    .must_match
                    .iter()
                    .map(|c| (c, true))
                    .chain(rule.must_not_match.iter().map(|c| (c, false)))
                {
                    cases += 1;
                    if runner
                        .matched(case)
                        .iter()
                        .any(|id| usize::from(id.0) == number)
                        != expected
                    {
                        wrong.push(failure(rule, case, expected));
                    }
                }
            }
            let is_builtin = !choice.no_builtin;
            for rule in bare {
                let (key, untested) = if rule.must_match.is_empty() {
                    ("must_match", "matches")
                } else {
                    ("must_not_match", "leaves alone")
                };
                if is_builtin {
                    wrong.push(format!("{}: has no {key} cases", rule.id));
                } else {
                    message::notice(&format!(
                        "{}: has no {key} cases, so what it {untested} is not tested; give it two of each kind",
                        rule.id
                    ));
                }
            }
            for failure in &wrong {
                message::error(failure);
            }
            if wrong.is_empty() {
                return stdout::print(
                    format!(
                        "{}, {}: all passed\n",
                        pluralize(rules.rules().len(), "rule"),
                        pluralize(cases, "case")
                    )
                    .as_bytes(),
                );
            }
            message::hint(
                "a rule must match its must_match cases and none of its must_not_match cases; fix the rule or the case",
            );
            Exit::Usage
        },
    )
}

fn failure(rule: &Rule, case: &Case, expected: bool) -> String {
    let request = escape(case.request.as_bytes());
    let mut what = if expected {
        format!(
            "{}: does not match its must_match case '{request}'",
            rule.id
        )
    } else {
        format!("{}: matches its must_not_match case '{request}'", rule.id)
    };
    for (name, field) in [
        ("user agent", &case.user_agent),
        ("referer", &case.referer),
        ("user", &case.user),
    ] {
        if let Some(field) = field {
            let _ = write!(what, ", {name} '{}'", escape(field.as_bytes()));
        }
    }
    what
}

/// The rule with this ID; otherwise prints an error with a similar ID.
pub(super) fn find_rule(rules: &RuleSet, id: &str) -> Result<RuleId, CommandError> {
    let number = rules.rules().iter().position(|rule| rule.id == id);
    number.map(|number| RuleId(number as u16)).ok_or_else(|| {
        let suggestion = rules
            .nearest(id)
            .map(|id| format!(" (did you mean '{id}'?)"))
            .unwrap_or_default();
        CommandError::Usage(format!(
            "no rule is called '{id}'{suggestion}; `probewatch rules list` shows them all"
        ))
    })
}

fn with_rules(choice: &RuleChoice, then: impl FnOnce(&RuleSet) -> Exit) -> Exit {
    match load_rules(choice) {
        Ok(rules) => {
            message::warnings(rules.warnings());
            then(&rules)
        }
        Err(error) => error.report(),
    }
}

/// Runs cases against rules.
struct CaseRunner<'r> {
    matcher: Matcher<'r>,
    worker_state: WorkerState,
}

impl<'r> CaseRunner<'r> {
    fn new(rules: &'r RuleSet) -> Self {
        Self {
            matcher: Matcher::new(rules),
            worker_state: WorkerState::default(),
        }
    }

    /// The rules that match a case.
    fn matched(&mut self, case: &Case) -> Vec<RuleId> {
        let verdict = self
            .matcher
            .match_uncached(&case.log_entry(), &mut self.worker_state);
        self.worker_state.rules(verdict).to_vec()
    }
}

/// `1 rule`, `2 rules`.
fn pluralize(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// The text of a rule file; `None` if it does not exist.
///
/// # Errors
///
/// It exists and cannot be read.
fn read_rule_file(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes the built-in rules to a folder. One with files in it is refused: a file that this version
/// lacks would stay.
#[must_use]
pub(crate) fn export(folder: &Path) -> Exit {
    let written = fs::create_dir_all(folder)
        .and_then(|()| list_folder(folder))
        .and_then(|files| match files[..] {
            [] => write_all_rules(folder),
            _ => Err(io::Error::other("it is not empty")),
        });
    match written {
        Ok(()) => Exit::Success,
        Err(error) => {
            let name = sanitized_path(folder);
            message::error(&format!(
                "cannot write the rules to {name}: {error}; name a new folder"
            ));
            Exit::Output
        }
    }
}

/// Writes the built-in rules to an empty folder, or none of them: some would be read as all.
fn write_all_rules(folder: &Path) -> io::Result<()> {
    let written = exported_files().try_for_each(|(name, text)| {
        write_rule_file(&folder.join(name), &text)
            .map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))
    });
    if written.is_err() {
        // Those that are not there were not written.
        exported_files().for_each(|(name, _)| drop(fs::remove_file(folder.join(name))));
    }
    written
}

/// Creates or replaces a rule file atomically, and prints an error if that fails. An existing file
/// keeps its mode.
fn replace_rule_file(path: &Path, text: &str) -> Result<(), CommandError> {
    write_rule_file(path, text).map_err(|error| {
        let name = sanitized_path(path);
        message::error(&format!(
            "cannot write {name}: {error}; choose another file with --file"
        ));
        CommandError::Printed(Exit::Output)
    })
}

fn write_rule_file(path: &Path, text: &str) -> io::Result<()> {
    // A link is kept, and its target is replaced.
    let path: PathBuf = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut staged = AtomicFile::beside(&path, 0o666)?;
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => staged.set_mode(metadata.permissions().mode())?,
        Ok(_) => return Err(io::Error::other("it is no file")),
        Err(_) => {}
    }
    staged.write_all(text.as_bytes())?;
    staged.sync()?;
    staged.replace()
}
