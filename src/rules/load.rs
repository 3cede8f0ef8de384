//! Finds and reads rule files, selects the rules of a run, and finds the source text of a rule.
//!
//! Rules are built in or come from a named path; nothing is searched for or downloaded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::builtin::{self, BUILTIN, BuiltinFile, Detail};
use super::compile::{compile, compile_with};
use super::definition::{APP_CLASS, Class, Definition, LocatedRule, RuleFile, parse};
use super::error::{RuleError, nearest};
use super::path_list;
use super::set::RuleSet;
use crate::log::finding::Severity;
use crate::os::system::list_folder;

/// The most bytes of a rule file; built-in ones have a hundredth of it.
const MAX_FILE_BYTES: u64 = 16 << 20;

/// Which rules to load: by default all that are built in.
///
/// # Examples
///
/// The built-in rules about version control and a rule of one's own, in a file that
/// `rules/README.md` of the project describes:
///
/// ```no_run
/// use probewatch::{RuleChoice, RuleSet};
///
/// let rules = RuleSet::load(&RuleChoice::new().file("my.toml").only("vcs-exposure").only("mine/old-admin"))?;
/// # Ok::<(), probewatch::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleChoice {
    /// Files and folders of more rules; a rule with the id of a built-in rule replaces it.
    pub(crate) paths: Vec<PathBuf>,
    /// Leave out the built-in rules.
    pub(crate) no_builtin: bool,
    /// Ids to leave out.
    pub(crate) disable: Vec<String>,
    /// Ids and classes to keep; all if empty.
    pub(crate) only: Vec<String>,
    /// Severities that replace those of the rules.
    pub(crate) severity: Vec<(String, Severity)>,
    /// Find literals without the prefilter. It changes no verdict.
    pub(crate) no_prefilter: bool,
    /// Load the cases and known false positives of built-in rules as well, which takes ten times as
    /// long.
    pub(crate) with_cases: bool,
}

impl RuleChoice {
    /// All rules that are built in.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the rules of a file, or of all rule files in a folder. A rule with the ID of a built-in
    /// rule replaces it.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> Self {
        self.paths.push(path.into());
        self
    }

    /// Leaves out the rules that are built in.
    #[must_use]
    pub fn without_builtin(mut self) -> Self {
        self.no_builtin = true;
        self
    }

    /// Keeps only the rule with this ID or the rules of this class, and those of further calls.
    #[must_use]
    pub fn only(mut self, id_or_class: impl Into<String>) -> Self {
        self.only.push(id_or_class.into());
        self
    }

    /// Leaves out the rule with this ID.
    #[must_use]
    pub fn except(mut self, id: impl Into<String>) -> Self {
        self.disable.push(id.into());
        self
    }

    /// Whether these are all built-in rules and no other, without cases.
    fn is_all_builtin(&self) -> bool {
        let Self {
            paths,
            no_builtin,
            disable,
            only,
            with_cases,
            severity: _,
            no_prefilter: _,
        } = self;
        !no_builtin && !with_cases && paths.is_empty() && disable.is_empty() && only.is_empty()
    }

    /// Replaces the severity of the rule with this ID.
    #[must_use]
    pub fn severity(mut self, id: impl Into<String>, severity: Severity) -> Self {
        self.severity.push((id.into(), severity));
        self
    }
}

/// The selected definitions, sorted by id, and warnings about the selection.
pub(super) struct SelectedRules {
    pub(super) rules: Vec<LocatedRule>,
    warnings: Vec<String>,
}

/// Loads and compiles the selected rules.
///
/// # Errors
///
/// A file cannot be read or is no rule file, a rule is invalid, or a flag names no rule.
pub fn load(choice: &RuleChoice) -> Result<RuleSet, RuleError> {
    let searches = if choice.is_all_builtin() {
        builtin::searches()
    } else {
        None
    };
    let (mut set, warnings) = if let Some(searches) = searches {
        let SelectedRules { rules, warnings } = selected_rules_with(choice, Detail::Conditions)?;
        (compile_with(rules, searches)?, warnings)
    } else {
        let SelectedRules { rules, warnings } = selected_rules(choice)?;
        (compile(rules)?, warnings)
    };
    set.warnings.extend(warnings);
    if choice.no_prefilter {
        set.request.use_automaton()?;
        set.headers.use_automaton()?;
    }
    Ok(set)
}

/// Compiles the text of a rule file.
///
/// # Errors
///
/// As for [`load`].
pub fn check(file: &Path, text: &str) -> Result<RuleSet, RuleError> {
    let name = file.display().to_string();
    check_size(&name, text.len() as u64)?;
    let mut rules = BTreeMap::new();
    insert(&mut rules, parse(&name, text, false)?)?;
    compile(rules.into_values().collect())
}

/// The family that a rule file names; `None` if it names none, or is no rule file.
#[must_use]
pub(crate) fn family(text: &str) -> Option<String> {
    let file: RuleFile = toml::from_str(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    (!file.family.is_empty()).then_some(file.family)
}

/// The selected definitions, sorted by id.
pub(super) fn selected_rules(choice: &RuleChoice) -> Result<SelectedRules, RuleError> {
    selected_rules_with(
        choice,
        if choice.with_cases {
            Detail::Cases
        } else {
            Detail::Literals
        },
    )
}

/// The rules that are chosen, with this much of each built-in rule.
pub(super) fn selected_rules_with(
    choice: &RuleChoice,
    detail: Detail,
) -> Result<SelectedRules, RuleError> {
    let mut rules = BTreeMap::new();
    if !choice.no_builtin {
        let parsed: Vec<_> = BUILTIN
            .par_iter()
            .with_max_len(1)
            .map(|file| file.rules(detail))
            .collect();
        for found in parsed {
            insert(&mut rules, found?)?;
        }
    }
    let mut from_files = BTreeMap::new();
    for path in &choice.paths {
        for file in files(path)? {
            insert(&mut from_files, user_rules(&file, &read(&file)?)?)?;
        }
    }
    rules.extend(from_files);
    let warnings = unknown_apps(&rules);
    select(&mut rules, choice)?;
    for (id, level) in &choice.severity {
        if let Some(located) = rules.get_mut(id) {
            located.definition.severity = *level;
        }
    }
    Ok(SelectedRules {
        rules: rules.into_values().collect(),
        warnings,
    })
}

/// Warns about apps that rules name and no file defines. The rules work, and the app may be in
/// another file, so it is no error.
fn unknown_apps(rules: &BTreeMap<String, LocatedRule>) -> Vec<String> {
    let app_evidence = || {
        rules
            .values()
            .map(|located| &located.definition)
            .filter(|d| d.is_app_evidence)
    };
    let apps: Vec<&str> = app_evidence()
        .filter_map(|rule| Some(rule.id.split_once('/')?.1))
        .collect();
    let named = rules.values().flat_map(|located| {
        located
            .definition
            .unless_app
            .0
            .iter()
            .map(move |app| (located, app))
    });
    named
        .filter(|(_, app)| !apps.contains(&app.as_str()))
        .map(|(located, app)| {
            let suggestion = nearest(app, apps.iter().copied())
                .map(|n| format!(" (did you mean '{n}'?)"))
                .unwrap_or_default();
            located
                .error(format!(
                    "unless_app: no app is called '{app}'{suggestion}; nothing suppresses this rule"
                ))
                .to_string()
        })
        .collect()
}

/// Adds rules; ids must be unique.
fn insert(
    rules: &mut BTreeMap<String, LocatedRule>,
    found: Vec<LocatedRule>,
) -> Result<(), RuleError> {
    for located in found {
        if let Some(first) = rules.get(located.id()) {
            let message = duplicate_id_message(&located, first);
            return Err(located.error(message));
        }
        rules.insert(located.id().to_owned(), located);
    }
    Ok(())
}

fn duplicate_id_message(located: &LocatedRule, first: &LocatedRule) -> String {
    let is_list = |rule: &LocatedRule| path_list::is_list(Path::new(&*rule.file));
    match (is_list(located), is_list(first)) {
        (true, true) => format!(
            "{} gives a rule of the same name; rename one of the two lists",
            first.file
        ),
        (true, false) => format!(
            "this id is already used by {}:{}; rename the list",
            first.file, first.line
        ),
        _ => format!(
            "this id is already used by {}:{}; each rule needs its own id",
            first.file, first.line
        ),
    }
}

/// Applies `--only` and `--disable`.
fn select(rules: &mut BTreeMap<String, LocatedRule>, choice: &RuleChoice) -> Result<(), RuleError> {
    if let (true, [path, ..]) = (rules.is_empty(), &choice.paths[..]) {
        return Err(RuleError::WithoutRules { path: path.clone() });
    }
    let ids: Vec<String> = rules.keys().cloned().collect();
    for name in &choice.only {
        if !rules.contains_key(name) && Class::find(name).is_none() && name != APP_CLASS {
            return Err(unknown_name("--only", name, true, &ids));
        }
    }
    if let Some(name) = choice.disable.iter().find(|id| !rules.contains_key(*id)) {
        return Err(unknown_name("--disable", name, false, &ids));
    }
    if let Some((name, _)) = choice
        .severity
        .iter()
        .find(|(id, _)| !rules.contains_key(id))
    {
        return Err(unknown_name("--severity", name, false, &ids));
    }
    if !choice.only.is_empty() {
        // Apps suppress the same hits whatever rules are selected.
        let is_kept = |id: &String, d: &Definition| {
            d.is_app_evidence
                || choice
                    .only
                    .iter()
                    .any(|name| name == id || *name == d.class)
        };
        rules.retain(|id, located| is_kept(id, &located.definition));
    }
    rules.retain(|id, _| !choice.disable.contains(id));
    let shows_apps = choice
        .only
        .iter()
        .any(|name| name == APP_CLASS || name.starts_with("apps/"));
    if !shows_apps
        && rules
            .values()
            .all(|located| located.definition.is_app_evidence)
    {
        Err(RuleError::NoneLeft)
    } else {
        Ok(())
    }
}

fn unknown_name(flag: &'static str, name: &str, or_class: bool, ids: &[String]) -> RuleError {
    let classes: Vec<&str> = Class::ids().filter(|_| or_class).collect();
    let nearest = nearest(name, ids.iter().map(String::as_str).chain(classes));
    RuleError::Unknown {
        flag,
        name: name.to_owned(),
        or_class,
        nearest,
    }
}

/// The file, or the rule files in the folder and its subfolders, sorted by name.
fn files(path: &Path) -> Result<Vec<PathBuf>, RuleError> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |source| RuleError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for (name, kind) in list_folder(path).map_err(unreadable)? {
        let entry = path.join(name);
        // Links to folders are not followed, so there are no cycles.
        if kind.is_dir() {
            found.extend(files(&entry).or_else(|e| {
                if matches!(e, RuleError::Empty { .. }) {
                    Ok(Vec::new())
                } else {
                    Err(e)
                }
            })?);
        } else if entry.extension().is_some_and(|e| e == "toml") || path_list::is_list(&entry) {
            found.push(entry);
        }
    }
    found.sort();
    if found.is_empty() {
        Err(RuleError::Empty {
            path: path.to_owned(),
        })
    } else {
        Ok(found)
    }
}

fn read(path: &Path) -> Result<String, RuleError> {
    let unreadable = |source| RuleError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let size = fs::metadata(path).map_err(unreadable)?.len();
    check_size(&path.display().to_string(), size)?;
    fs::read_to_string(path).map_err(unreadable)
}

fn check_size(file: &str, size: u64) -> Result<(), RuleError> {
    if size <= MAX_FILE_BYTES {
        return Ok(());
    }
    let message =
        format!("{size} bytes are too many for a rule file; {MAX_FILE_BYTES} is the most");
    Err(RuleError::Syntax {
        file: file.to_owned(),
        message,
    })
}

/// The rules of a user's file: a rule file or a path list.
fn user_rules(path: &Path, text: &str) -> Result<Vec<LocatedRule>, RuleError> {
    let name = path.display().to_string();
    if !path_list::is_list(path) {
        return parse(&name, text, false);
    }
    let (draft, line) = path_list::parse(path, text)?;
    let rules = parse(&name, &draft.to_toml(), false)?;
    Ok(rules
        .into_iter()
        .map(|rule| LocatedRule { line, ..rule })
        .collect())
}

/// The table of a rule in its rule file, for people to read and copy. A user's files come first, as
/// in loading.
#[must_use]
pub(crate) fn source_text(choice: &RuleChoice, id: &str) -> Option<String> {
    let files = choice
        .paths
        .iter()
        .filter_map(|path| files(path).ok())
        .flatten();
    let texts = files
        .filter(|file| !path_list::is_list(file))
        .filter_map(|file| read(&file).ok());
    let builtin = BUILTIN
        .iter()
        .filter(|_| !choice.no_builtin)
        .map(BuiltinFile::text);
    texts.chain(builtin).find_map(|text| table(&text, id))
}

/// The built-in rule files as files of a folder: name and text, with the version of the rules and
/// the oldest program that reads them.
pub(crate) fn exported_files() -> impl Iterator<Item = (&'static str, String)> {
    let version = env!("CARGO_PKG_VERSION");
    BUILTIN.iter().map(move |file| {
        (
            file.name,
            format!(
                "version = \"{version}\"\nrequires = \"{version}\"\n{}",
                file.text()
            ),
        )
    })
}

/// The table of a rule or an app, by its id.
fn table(text: &str, id: &str) -> Option<String> {
    let (heading, key) = id
        .strip_prefix("apps/")
        .map_or(("[[rule]]", id), |app| ("[[app]]", app));
    // Whether this is the table of the rule; `None` before the first table and in tables of another
    // kind.
    let mut is_found = None;
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines().chain(["[["]) {
        if line.starts_with("[[") {
            if is_found == Some(true) {
                return Some(lines.join("\n").trim_end().to_owned());
            }
            lines.clear();
            is_found = (line.trim_end() == heading).then_some(false);
        }
        let value = line
            .strip_prefix("id")
            .map(str::trim_start)
            .and_then(|rest| rest.strip_prefix('='));
        if is_found.is_some()
            && value.is_some_and(|value| value.trim().trim_matches(['"', '\'']) == key)
        {
            is_found = Some(true);
        }
        lines.push(line);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_text_of_a_rule_is_found() {
        let text = "family = 'x'\n\n[[rule]]\nid = \"x/a\"\npaths = [\n  \"/a\",\n]\n\n[[app]]\nid='b'\n\n[[rule]]\nid = 'x/b' \nwords = ['y']";
        assert_eq!(
            table(text, "x/a").as_deref(),
            Some("[[rule]]\nid = \"x/a\"\npaths = [\n  \"/a\",\n]")
        );
        assert_eq!(
            table(text, "x/b").as_deref(),
            Some("[[rule]]\nid = 'x/b' \nwords = ['y']")
        );
        assert_eq!(table(text, "apps/b").as_deref(), Some("[[app]]\nid='b'"));
        assert_eq!(table(text, "x/c"), None);
    }

    #[test]
    fn every_built_in_rule_has_its_table() {
        let choice = RuleChoice::default();
        let rules = load(&choice).expect("rules");
        for rule in rules.rules() {
            assert!(
                source_text(&choice, &rule.id).is_some_and(|text| text.contains("must_match = ")),
                "{}",
                rule.id
            );
        }
    }
}
