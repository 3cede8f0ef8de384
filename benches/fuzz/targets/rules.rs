//! Rules: a rule file, a plain list of paths, or rules of another tool.
//!
//! The first byte selects which of them the rest is.
#![no_main]

use std::collections::BTreeSet;
use std::path::Path;

use libfuzzer_sys::fuzz_target;
use probewatch::internals::rules::import::{ImportFormat, import, finalize};
use probewatch::internals::rules::{RuleSet, check};

/// Lines that are matched against the rules.
const LINES: &[u8] =
    b"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] \"GET /.env?a=1%20union%20select HTTP/1.1\" 200 612 \"-\" \"curl/8.5.0\"\n\
    192.0.2.7 - - [02/Nov/2026:08:01:01 +0000] \"POST /wp-login.php HTTP/1.1\" 302 - \"/?q=../../etc/passwd\" \"-\"\n\
    no line of a log\n";

fuzz_target!(|input: &[u8]| {
    let [kind, text @ ..] = input else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match kind % 5 {
        0 => check_file(text),
        1 => check_import("a.txt", text, ImportFormat::Wordlist),
        2 => check_import("a.data", text, ImportFormat::CrsData),
        3 => check_import("a.yml", text, ImportFormat::Sigma),
        _ => check_import("a.yml", text, ImportFormat::Nuclei),
    }
});

/// A rule file is refused with a message that contains its name, or its rules can be matched.
fn check_file(text: &str) {
    match check(Path::new("some/rules.toml"), text) {
        Err(error) => assert!(error.to_string().contains("some/rules.toml"), "an error that names no file: {error}"),
        Ok(rules) => check_set(&rules),
    }
}

fn check_set(rules: &RuleSet) {
    let mut ids: Vec<_> = rules.rules().iter().map(|rule| rule.id()).collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count, "an id names two rules");
    probewatch_fuzz::check_rules(rules, LINES);
}

/// A converted rule is written to a file, and loads as one rule with the same ID.
fn check_import(file: &str, text: &str, origin: ImportFormat) {
    let mut made = match import(Path::new(file), text, Some(origin)) {
        Err(error) => return assert!(!error.is_empty(), "an error without a word"),
        Ok(made) => made,
    };
    finalize(&mut made, &mut BTreeSet::new());
    for draft in &made.drafts {
        let written = draft.to_toml();
        match check(Path::new("own.toml"), &written) {
            Err(error) => panic!("a rule that was written is refused: {error}\n{written}"),
            Ok(rules) => assert!(rules.rules().iter().any(|rule| rule.id() == draft.id), "a rule is lost: {written}"),
        }
    }
}
