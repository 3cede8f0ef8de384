//! `probewatch rules add`: a rule of one's own out of a path, ready to use.
//!
//! What is written passes the loader first, and what stands in the file already stays as it is, byte for byte.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::message::shown;
use super::super::{Exit, message, stdout};
use super::{CaseRunner, file};
use crate::finding::Severity;
use crate::rules::builder::{ExampleRequest, RuleBuilder, slug};
use crate::rules::lint::is_ordinary;
use crate::rules::{Case, Rule, RuleChoice, RuleSet, check, family, load, path_list};

/// The file where none is named.
pub const FILE: &str = "probewatch-rules.toml";

/// What is to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    /// Paths, as they were typed.
    pub paths: Vec<String>,
    /// The class of the rule.
    pub class: String,
    /// How bad a hit is.
    pub severity: Severity,
    /// The title; one is made of the paths where it is not given.
    pub title: Option<String>,
    /// The id; one is made of the first path where it is not given.
    pub id: Option<String>,
    /// The file.
    pub file: PathBuf,
}

/// Adds a rule to a file, which is made where there is none.
#[must_use]
pub fn add(asked: &Added) -> Exit {
    done(asked).unwrap_or_else(|exit| exit)
}

fn done(asked: &Added) -> Result<Exit, Exit> {
    let path = asked.file.as_path();
    let name = shown(&path.display().to_string());
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("txt")) {
        return Err(message::refused(&format!(
            "{name}: a list that ends in .txt holds paths and nothing else; add them as lines, or name a .toml"
        )));
    }
    let paths = asked.paths.iter().map(|p| path_list::path(p)).collect::<Result<Vec<_>, _>>().map_err(|e| message::refused(&e))?;
    let there = file::read(path).map_err(|error| message::refused(&format!("{name}: cannot read rules: {error}")))?;
    let rules = known(path, there.is_some())?;
    let new = not_found_yet(&rules, paths, asked.severity);
    if new.is_empty() {
        message::notice("nothing was added");
        return Ok(Exit::Success);
    }
    let draft = draft(asked, new, there.as_deref(), &rules)?;
    let text = appended(there.as_deref(), &draft);
    check(path, &text).map_err(|error| message::refused(&error.to_string()))?;
    file::replace(path, &text)?;
    let paths = if draft.paths.len() == 1 { "1 path".to_owned() } else { format!("{} paths", draft.paths.len()) };
    let exit = stdout::print(format!("{}: {paths} added to {name} ({}, {})\n", draft.id, draft.class, draft.severity).as_bytes());
    message::hint(&format!("type `probewatch scan --rules {name} access.log`; `probewatch rules test {name}` runs its cases"));
    Ok(exit)
}

/// The built-in rules, and those of the file.
fn known(path: &Path, is_there: bool) -> Result<RuleSet, Exit> {
    let paths = if is_there { vec![path.to_owned()] } else { Vec::new() };
    load(&RuleChoice { paths, ..RuleChoice::default() }).map_err(|error| message::refused(&error.to_string()))
}

/// The paths that no rule finds yet; says which one finds the others.
fn not_found_yet(rules: &RuleSet, paths: Vec<String>, wanted: Severity) -> Vec<String> {
    let mut runner = CaseRunner::new(rules);
    let mut new: Vec<String> = Vec::new();
    for path in paths {
        let case = Case::from_request(&format!("GET {}", path_list::encoded(&path)));
        let served = runner.matched(&Case { status: 200, ..case.clone() });
        // What is found only when it is not there is not found yet.
        let found: Vec<_> = runner.matched(&case).into_iter().filter(|id| served.contains(id)).collect();
        // What depends on who asks, or how often, does not find the path for everybody.
        let worst = found.iter().map(|id| rules.rule(*id)).filter(|rule| rule.is_certain()).max_by_key(|rule| rule.severity);
        match worst {
            Some(rule) => tell_found(&path, rule, wanted),
            None if new.contains(&path) => {}
            None => {
                if is_ordinary(&path) {
                    message::warning(&format!("{}: ordinary clients request it too, and each of them will be reported", shown(&path)));
                }
                new.push(path);
            }
        }
    }
    new
}

fn tell_found(path: &str, rule: &Rule, wanted: Severity) {
    message::notice(&format!("{}: already found by {} ({})", shown(path), rule.id, rule.severity));
    if rule.severity < wanted {
        message::hint(&format!("type `probewatch scan --severity {}={wanted} access.log` to have it reported as {wanted}", rule.id));
    }
}

fn draft(asked: &Added, paths: Vec<String>, there: Option<&str>, rules: &RuleSet) -> Result<RuleBuilder, Exit> {
    let taken: BTreeSet<&str> = rules.rules().iter().map(|rule| rule.id.as_str()).collect();
    let id = match &asked.id {
        Some(id) if taken.contains(id.as_str()) => {
            return Err(message::refused(&format!("{id}: a rule has this id already; choose another --id, or leave it out")));
        }
        Some(id) => id.clone(),
        None => {
            let family = there.and_then(family).unwrap_or_else(|| "own".into());
            free_id(&format!("{family}/{}", slug(&paths[0], "path")), &taken)
        }
    };
    let more = if paths.len() == 1 { String::new() } else { format!(" and {} more", paths.len() - 1) };
    let title = asked.title.clone().unwrap_or_else(|| format!("Own rule for {}{more}", paths[0]));
    let mut draft = RuleBuilder::new(id, &title, &asked.class, asked.severity);
    draft.paths = paths;
    path_list::with_cases(&mut draft);
    draft.must_match.push(ExampleRequest { request: draft.must_match[0].request.clone(), status: Some(200), ..ExampleRequest::default() });
    Ok(draft)
}

/// The id, or the same with a number behind it.
fn free_id(id: &str, taken: &BTreeSet<&str>) -> String {
    let numbered = (2..).map(|n| format!("{id}-{n}"));
    std::iter::once(id.to_owned()).chain(numbered).find(|id| !taken.contains(id.as_str())).unwrap_or_default()
}

/// The file with one rule more: what was there, byte for byte, and line ends as it has them.
fn appended(there: Option<&str>, draft: &RuleBuilder) -> String {
    let rule = draft.to_toml();
    let Some(there) = there.filter(|text| !text.is_empty()) else {
        return format!("family = \"own\"\ntitle  = \"Rules of our own\"\n\n{rule}");
    };
    let end = if there.contains("\r\n") { "\r\n" } else { "\n" };
    let gap = if there.ends_with('\n') { end.to_owned() } else { end.repeat(2) };
    format!("{there}{gap}{}", rule.replace('\n', end))
}
