//! `probewatch rules import`: rules of other tools into a rule file of ours.
//!
//! What is written loads and passes its own cases; what could not be carried over is named, counted, on standard error.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::super::message::shown;
use super::super::{Exit, message, stdout};
use super::{CaseRunner, file};
use crate::finding::RuleId;
use crate::rules::builder::{ExampleRequest, RuleBuilder};
use crate::rules::import::{Import, ImportFormat, SkippedItems, finalize, import as import_text, is_known};
use crate::rules::{Case, RuleSet, check};

/// The first line of every file that is written here: such a file may be replaced.
const MARK: &str = "# Written by `probewatch rules import`, which replaces it: rules of your own belong into another file.";

/// Bytes of a file to import.
const MOST_BYTES: u64 = 64 << 20;

/// Things of one reason that are named.
const NAMED: usize = 3;

/// What is to be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Files and folders.
    pub paths: Vec<PathBuf>,
    /// What they are; found out for each where it is not given.
    pub origin: Option<ImportFormat>,
    /// The rule file; standard output where none is named.
    pub file: Option<PathBuf>,
}

/// Imports rules.
#[must_use]
pub fn import(asked: &Imported) -> Exit {
    done(asked).unwrap_or_else(|exit| exit)
}

fn done(asked: &Imported) -> Result<Exit, Exit> {
    if let Some(file) = &asked.file {
        may_replace(file)?;
    }
    let mut files = Vec::new();
    for path in &asked.paths {
        find(path, &mut files).map_err(|error| message::refused(&format!("{}: cannot read: {error}", path.display())))?;
    }
    let (drafts, skipped) = read(&files, asked.origin)?;
    if drafts.is_empty() {
        return Err(message::refused(&format!(
            "nothing to import in {}; name word lists, CRS .data files, Sigma rules or nuclei templates",
            count(files.len(), "file")
        )));
    }
    let drafts = tried(drafts)?;
    let text = written(&drafts);
    let name = asked.file.as_ref().map_or_else(String::new, |file| shown(&file.display().to_string()));
    check(asked.file.as_deref().unwrap_or(Path::new("imported.toml")), &text).map_err(|error| message::refused(&error.to_string()))?;
    let exit = match &asked.file {
        Some(path) => file::replace(path, &text).map(|()| Exit::Success)?,
        None => stdout::print(text.as_bytes()),
    };
    let (rules, from) = (count(drafts.len(), "rule"), count(files.len(), "file"));
    message::notice(&format!("{rules} from {from}; not carried over: {skipped}"));
    if asked.file.is_some() {
        message::hint(&format!("type `probewatch rules lint {name}`, then `probewatch scan --rules {name} access.log`"));
    }
    Ok(exit)
}

/// A file of somebody's own is not replaced.
fn may_replace(path: &Path) -> Result<(), Exit> {
    let name = path.display();
    match file::read(path) {
        Ok(Some(text)) if !text.starts_with(MARK) && !text.is_empty() => {
            Err(message::refused(&format!("{name}: this was not written by an import and is not replaced; choose another --file")))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(message::refused(&format!("{name}: cannot read it before it is replaced: {error}"))),
    }
}

/// The file, or the files of a folder and those below it that may hold rules, by name.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    entries.sort();
    for entry in entries {
        // A folder is not entered by a link, so there is no way round in a circle.
        if entry.is_dir() && !entry.is_symlink() {
            find(&entry, files)?;
        } else if entry.is_file() && is_known(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

/// The rules of all files, and how many things were left out, each of which is told.
fn read(files: &[PathBuf], origin: Option<ImportFormat>) -> Result<(Vec<RuleBuilder>, usize), Exit> {
    let (mut drafts, mut skipped, mut taken) = (Vec::new(), 0, BTreeSet::new());
    for path in files {
        let name = shown(&path.display().to_string());
        let bytes = text(path).map_err(|error| message::refused(&format!("{name}: cannot read: {error}")))?;
        match import_text(path, &String::from_utf8_lossy(&bytes), origin) {
            Ok(mut import) => {
                finalize(&mut import, &mut taken);
                tell(&name, &import);
                skipped += import.skipped.len();
                drafts.extend(import.drafts);
            }
            Err(why) => {
                message::warning(&format!("{name}: not carried over: {}", shown(&why)));
                skipped += 1;
            }
        }
    }
    Ok((drafts, skipped))
}

fn text(path: &Path) -> std::io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > MOST_BYTES {
        return Err(std::io::Error::other(format!("more than {MOST_BYTES} bytes")));
    }
    fs::read(path)
}

fn tell(name: &str, import: &Import) {
    for (prefix, SkippedItems(reasons)) in [("not carried over", &import.skipped), ("carried over", &import.notes)] {
        for (why, things) in reasons {
            let some = things.iter().take(NAMED).map(|t| shown(&t.chars().take(100).collect::<String>())).collect::<Vec<_>>().join(", ");
            let more = things.len().saturating_sub(NAMED);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            message::warning(&format!("{name}: {prefix}: {}: {some}{more}", shown(why)));
        }
    }
}

/// The rules with those of their cases that hold: they were made by rule of thumb.
fn tried(mut drafts: Vec<RuleBuilder>) -> Result<Vec<RuleBuilder>, Exit> {
    let rules = check(Path::new("imported.toml"), &written(&drafts)).map_err(|error| message::refused(&error.to_string()))?;
    let numbers: BTreeMap<&str, usize> = rules.rules().iter().enumerate().map(|(n, rule)| (rule.id.as_str(), n)).collect();
    let mut runner = CaseRunner::new(&rules);
    for draft in &mut drafts {
        let Some(&number) = numbers.get(draft.id.as_str()) else { continue };
        keep_right(&mut draft.must_match, &cases(&rules, number, true), number, true, &mut runner);
        keep_right(&mut draft.must_not_match, &cases(&rules, number, false), number, false, &mut runner);
        if draft.must_match.is_empty() {
            message::warning(&format!("{}: no request was found that it matches; give it must_match cases", draft.id));
        }
    }
    Ok(drafts)
}

fn cases(rules: &RuleSet, number: usize, must_match: bool) -> Vec<Case> {
    let rule = rules.rule(RuleId(number as u16));
    if must_match { rule.must_match.clone() } else { rule.must_not_match.clone() }
}

fn keep_right(examples: &mut Vec<ExampleRequest>, cases: &[Case], number: usize, expected: bool, runner: &mut CaseRunner<'_>) {
    let mut holds = cases.iter().map(|case| runner.matched(case).contains(&RuleId(number as u16)) == expected);
    examples.retain(|_| holds.next().unwrap_or(false));
}

fn written(drafts: &[RuleBuilder]) -> String {
    let mut families: Vec<&str> = drafts.iter().filter_map(|draft| draft.id.split('/').next()).collect();
    families.sort_unstable();
    families.dedup();
    let head = if let [family] = families[..] { format!("family = \"{family}\"\n") } else { String::new() };
    let rules: Vec<String> = drafts.iter().map(RuleBuilder::to_toml).collect();
    format!("{MARK}\n{head}title = \"Imported rules\"\n\n{}", rules.join("\n"))
}

fn count(n: usize, word: &str) -> String {
    format!("{n} {word}{}", if n == 1 { "" } else { "s" })
}
