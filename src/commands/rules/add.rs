//! `probewatch rules add`: makes a rule from paths and adds it to a rule file.
//!
//! The new file is loaded as a test before it is written. Existing content is kept byte for byte.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args, ValueHint};

use super::super::error::CommandError;
use super::super::message::{sanitized, sanitized_path};
use super::super::{Exit, message, stdout};
use super::{CaseRunner, pluralize, read_rule_file, replace_rule_file};
use crate::log::finding::Severity;
use crate::rules::builder::{ExampleRequest, RuleBuilder, slug};
use crate::rules::lint::is_ordinary;
use crate::rules::{Case, Class, Rule, RuleChoice, RuleSet, check, family, load, path_list};

/// The default rule file.
const FILE: &str = "probewatch-rules.toml";

/// The arguments of `rules add`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AddOptions {
    /// Paths that only a prober requests, such as /old-admin.php
    #[arg(value_name = "PATH", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) paths: Vec<String>,
    /// Class of the rule, such as panel
    #[arg(long, default_value = "exposure", hide_possible_values = true, value_parser = PossibleValuesParser::new(Class::ids()))]
    pub(crate) class: String,
    /// Severity of the rule: info, low, medium, high, critical
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "medium",
        value_enum,
        hide_possible_values = true
    )]
    pub(crate) severity: Severity,
    /// Title of the rule [default: made from the path]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) title: Option<String>,
    /// ID of the rule, family/name [default: made from the path]
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: Option<String>,
    /// Rule file to append to; created if missing
    #[arg(long, default_value = FILE, value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

/// Adds a rule to a file, and creates the file if necessary.
#[must_use]
pub(crate) fn add(options: &AddOptions) -> Exit {
    add_rule(options).unwrap_or_else(|error| error.report())
}

fn add_rule(options: &AddOptions) -> Result<Exit, CommandError> {
    let path = options.file.as_path();
    let name = sanitized_path(path);
    if path
        .extension()
        .is_some_and(|e| e.eq_ignore_ascii_case("txt"))
    {
        return Err(CommandError::Usage(format!(
            "{name}: a list that ends in .txt holds paths and nothing else; add them as lines, or name a .toml"
        )));
    }
    let paths = options
        .paths
        .iter()
        .map(|p| path_list::parse_path(p))
        .collect::<Result<Vec<_>, _>>()
        .map_err(CommandError::Usage)?;
    let existing = read_rule_file(path)
        .map_err(|error| CommandError::Usage(format!("{name}: cannot read rules: {error}")))?;
    let rules = load_rules(path, existing.is_some())?;
    let new = unmatched_paths(&rules, paths, options.severity);
    if new.is_empty() {
        message::notice("nothing was added");
        return Ok(Exit::Success);
    }
    let builder = builder(options, new, existing.as_deref(), &rules)?;
    let text = append_rule(existing.as_deref(), &builder);
    check(path, &text)?;
    replace_rule_file(path, &text)?;
    let paths = pluralize(builder.paths.len(), "path");
    let exit = stdout::print(
        format!(
            "{}: {paths} added to {name} ({}, {})\n",
            builder.id, builder.class, builder.severity
        )
        .as_bytes(),
    );
    message::hint(&format!(
        "type `probewatch scan --rules {name} access.log`; `probewatch rules test {name}` runs its cases"
    ));
    Ok(exit)
}

/// The built-in rules and those of the file.
fn load_rules(path: &Path, is_there: bool) -> Result<RuleSet, CommandError> {
    let paths = if is_there {
        vec![path.to_owned()]
    } else {
        Vec::new()
    };
    Ok(load(&RuleChoice {
        paths,
        ..RuleChoice::default()
    })?)
}

/// The paths that no rule matches. Prints a notice for the others.
fn unmatched_paths(rules: &RuleSet, paths: Vec<String>, wanted: Severity) -> Vec<String> {
    let mut runner = CaseRunner::new(rules);
    let mut new: Vec<String> = Vec::new();
    for path in paths {
        let case = Case::from_request(&format!("GET {}", path_list::encode_path(&path)));
        let served = runner.matched(&Case {
            status: 200,
            ..case.clone()
        });
        // Rules that match only failed requests do not count.
        let matching_rules: Vec<_> = runner
            .matched(&case)
            .into_iter()
            .filter(|id| served.contains(id))
            .collect();
        // Rules that depend on the client or on a count do not match every request for the path.
        let worst = matching_rules
            .iter()
            .map(|id| rules.rule(*id))
            .filter(|rule| rule.is_certain())
            .max_by_key(|rule| rule.severity);
        match worst {
            Some(rule) => print_match(&path, rule, wanted),
            None if new.contains(&path) => {}
            None => {
                if is_ordinary(&path) {
                    message::warning(&format!(
                        "{}: ordinary clients request it too, and each of them will be reported",
                        sanitized(&path)
                    ));
                }
                new.push(path);
            }
        }
    }
    new
}

fn print_match(path: &str, rule: &Rule, wanted: Severity) {
    message::notice(&format!(
        "{}: already found by {} ({})",
        sanitized(path),
        rule.id,
        rule.severity
    ));
    if rule.severity < wanted {
        message::hint(&format!(
            "type `probewatch scan --severity {}={wanted} access.log` to report it as {wanted}",
            rule.id
        ));
    }
}

fn builder(
    options: &AddOptions,
    paths: Vec<String>,
    existing: Option<&str>,
    rules: &RuleSet,
) -> Result<RuleBuilder, CommandError> {
    let used_ids: BTreeSet<&str> = rules.rules().iter().map(|rule| rule.id.as_str()).collect();
    let id = match &options.id {
        Some(id) if used_ids.contains(id.as_str()) => {
            return Err(CommandError::Usage(format!(
                "{id}: a rule has this ID already; choose another --id, or leave it out"
            )));
        }
        Some(id) => id.clone(),
        None => {
            let family = existing.and_then(family).unwrap_or_else(|| "own".into());
            free_id(&format!("{family}/{}", slug(&paths[0], "path")), &used_ids)
        }
    };
    let more = if paths.len() == 1 {
        String::new()
    } else {
        format!(" and {} more", paths.len() - 1)
    };
    let title = options
        .title
        .clone()
        .unwrap_or_else(|| format!("Own rule for {}{more}", paths[0]));
    let mut builder = RuleBuilder::new(id, &title, &options.class, options.severity);
    builder.paths = paths;
    path_list::add_cases(&mut builder);
    builder.must_match.push(ExampleRequest {
        request: builder.must_match[0].request.clone(),
        status: Some(200),
        ..ExampleRequest::default()
    });
    Ok(builder)
}

/// The ID, with a number if it is taken.
fn free_id(id: &str, used_ids: &BTreeSet<&str>) -> String {
    let numbered = (2..).map(|n| format!("{id}-{n}"));
    std::iter::once(id.to_owned())
        .chain(numbered)
        .find(|id| !used_ids.contains(id.as_str()))
        .unwrap_or_default()
}

/// The file with the new rule at its end. Existing text and the style of line ends are kept.
fn append_rule(existing: Option<&str>, builder: &RuleBuilder) -> String {
    let rule = builder.to_toml();
    let Some(existing) = existing.filter(|text| !text.is_empty()) else {
        return format!("family = \"own\"\ntitle  = \"Rules of our own\"\n\n{rule}");
    };
    let end = if existing.contains("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    let gap = if existing.ends_with('\n') {
        end.to_owned()
    } else {
        end.repeat(2)
    };
    format!("{existing}{gap}{}", rule.replace('\n', end))
}
