//! `probewatch rules import`: converts rules of other tools to a rule file.
//!
//! The result is loaded and its cases are run before it is written. What cannot be converted is
//! counted and listed on standard error.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::super::error::CommandError;
use super::super::message::{sanitized, sanitized_path};
use super::super::{Exit, message, stdout};
use super::{CaseRunner, pluralize, read_rule_file, replace_rule_file};
use crate::log::finding::RuleId;
use crate::os::system::list_folder;
use crate::rules::builder::{ExampleRequest, RuleBuilder};
use crate::rules::import::{
    Import, ImportFormat, SkippedItems, finalize, import as import_text, is_known,
};
use crate::rules::{Case, RuleSet, check};

/// The first line of every imported file. Only files with this line are replaced.
const FIRST_LINE: &str = "# Written by `probewatch rules import`, which replaces it: rules of your own belong in another file.";

/// The largest file to import.
const MAX_BYTES: u64 = 64 << 20;

/// How many examples are listed for each reason.
const NAMED: usize = 3;

/// The arguments of `rules import`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ImportOptions {
    /// Files and folders to import
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<PathBuf>,
    /// Kind of the files: wordlist, crs-data, sigma, nuclei [default: detected]
    #[arg(long, value_name = "KIND", value_enum, hide_possible_values = true)]
    pub(crate) from: Option<ImportFormat>,
    /// Rule file to write [default: standard output]
    ///
    /// A file that an import wrote is replaced.
    #[arg(long, value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
}

/// Imports rules.
#[must_use]
pub(crate) fn import(options: &ImportOptions) -> Exit {
    import_files(options).unwrap_or_else(|error| error.report())
}

fn import_files(options: &ImportOptions) -> Result<Exit, CommandError> {
    if let Some(file) = &options.file {
        check_replaceable(file)?;
    }
    let mut files = Vec::new();
    for path in &options.files {
        find(path, &mut files).map_err(|error| {
            CommandError::Usage(format!("{}: cannot read: {error}", path.display()))
        })?;
    }
    let (builders, skipped) = read(&files, options.from)?;
    if builders.is_empty() {
        return Err(CommandError::Usage(format!(
            "nothing to import in {}; import reads word lists, CRS .data files, Sigma rules or nuclei templates",
            pluralize(files.len(), "file")
        )));
    }
    let builders = with_passing_cases(builders)?;
    let text = rule_file_text(&builders);
    let name = options
        .file
        .as_ref()
        .map_or_else(String::new, |file| sanitized_path(file));
    check(
        options
            .file
            .as_deref()
            .unwrap_or(Path::new("imported.toml")),
        &text,
    )?;
    let exit = match &options.file {
        Some(path) => replace_rule_file(path, &text).map(|()| Exit::Success)?,
        None => stdout::print(text.as_bytes()),
    };
    let (rules, from) = (
        pluralize(builders.len(), "rule"),
        pluralize(files.len(), "file"),
    );
    message::notice(&format!("{rules} from {from}; not carried over: {skipped}"));
    if options.file.is_some() {
        message::hint(&format!(
            "type `probewatch rules lint {name}`, then `probewatch scan --rules {name} access.log`"
        ));
    }
    Ok(exit)
}

/// Refuses to replace a file that was not imported.
fn check_replaceable(path: &Path) -> Result<(), CommandError> {
    let name = path.display();
    match read_rule_file(path) {
        Ok(Some(text)) if !text.starts_with(FIRST_LINE) && !text.is_empty() => {
            Err(CommandError::Usage(format!(
                "{name}: this was not written by an import and is not replaced; choose another --file"
            )))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::Usage(format!(
            "{name}: cannot read it before it is replaced: {error}"
        ))),
    }
}

/// Collects a file, or the files of a folder that may contain rules, recursively and sorted by
/// name.
fn find(path: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        files.push(path.to_owned());
        return Ok(());
    }
    for (name, kind) in list_folder(path)? {
        let entry = path.join(name);
        // Links to folders are not followed, so there are no cycles.
        if kind.is_dir() {
            find(&entry, files)?;
        } else if entry.is_file() && is_known(&entry) {
            files.push(entry);
        }
    }
    Ok(())
}

/// Reads the rules of all files. Returns the number of rules that were left out, each of which is
/// reported.
fn read(
    files: &[PathBuf],
    origin: Option<ImportFormat>,
) -> Result<(Vec<RuleBuilder>, usize), CommandError> {
    let (mut builders, mut skipped, mut used_ids) = (Vec::new(), 0, BTreeSet::new());
    for path in files {
        let name = sanitized_path(path);
        let bytes = text(path)
            .map_err(|error| CommandError::Usage(format!("{name}: cannot read: {error}")))?;
        match import_text(path, &String::from_utf8_lossy(&bytes), origin) {
            Ok(mut import) => {
                finalize(&mut import, &mut used_ids);
                print_left_out(&name, &import);
                skipped += import.skipped.len();
                builders.extend(import.drafts);
            }
            Err(why) => {
                message::warning(&format!("{name}: not carried over: {}", sanitized(&why)));
                skipped += 1;
            }
        }
    }
    Ok((builders, skipped))
}

fn text(path: &Path) -> std::io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > MAX_BYTES {
        return Err(std::io::Error::other(format!(
            "more than {MAX_BYTES} bytes"
        )));
    }
    fs::read(path)
}

fn print_left_out(name: &str, import: &Import) {
    for (prefix, SkippedItems(reasons)) in [
        ("not carried over", &import.skipped),
        ("carried over", &import.notes),
    ] {
        for (why, items) in reasons {
            let examples = items
                .iter()
                .take(NAMED)
                .map(|t| sanitized(&t.chars().take(100).collect::<String>()))
                .collect::<Vec<_>>()
                .join(", ");
            let more = items.len().saturating_sub(NAMED);
            let more = if more == 0 {
                String::new()
            } else {
                format!(" and {more} more")
            };
            message::warning(&format!(
                "{name}: {prefix}: {}: {examples}{more}",
                sanitized(why)
            ));
        }
    }
}

/// Keeps the cases that pass: they were generated heuristically.
fn with_passing_cases(mut builders: Vec<RuleBuilder>) -> Result<Vec<RuleBuilder>, CommandError> {
    let rules = check(Path::new("imported.toml"), &rule_file_text(&builders))?;
    let numbers: BTreeMap<&str, usize> = rules
        .rules()
        .iter()
        .enumerate()
        .map(|(n, rule)| (rule.id.as_str(), n))
        .collect();
    let mut runner = CaseRunner::new(&rules);
    for draft in &mut builders {
        let Some(&number) = numbers.get(draft.id.as_str()) else {
            continue;
        };
        retain_passing(
            &mut draft.must_match,
            &cases(&rules, number, true),
            number,
            true,
            &mut runner,
        );
        retain_passing(
            &mut draft.must_not_match,
            &cases(&rules, number, false),
            number,
            false,
            &mut runner,
        );
        if draft.must_match.is_empty() {
            message::warning(&format!(
                "{}: no request was found that it matches; add must_match cases",
                draft.id
            ));
        }
    }
    Ok(builders)
}

fn cases(rules: &RuleSet, number: usize, must_match: bool) -> Vec<Case> {
    let rule = rules.rule(RuleId(number as u16));
    if must_match {
        rule.must_match.clone()
    } else {
        rule.must_not_match.clone()
    }
}

fn retain_passing(
    examples: &mut Vec<ExampleRequest>,
    cases: &[Case],
    number: usize,
    expected: bool,
    runner: &mut CaseRunner<'_>,
) {
    let mut holds = cases
        .iter()
        .map(|case| runner.matched(case).contains(&RuleId(number as u16)) == expected);
    examples.retain(|_| holds.next().unwrap_or(false));
}

fn rule_file_text(builders: &[RuleBuilder]) -> String {
    let mut families: Vec<&str> = builders
        .iter()
        .filter_map(|draft| draft.id.split('/').next())
        .collect();
    families.sort_unstable();
    families.dedup();
    let head = if let [family] = families[..] {
        format!("family = \"{family}\"\n")
    } else {
        String::new()
    };
    let rules: Vec<String> = builders.iter().map(RuleBuilder::to_toml).collect();
    format!(
        "{FIRST_LINE}\n{head}title = \"Imported rules\"\n\n{}",
        rules.join("\n")
    )
}
