//! Lists the rule files of `rules/` so that they are built into the binary; a new file needs no code. Each comes as it is
//! written, for people, and in a form that takes a tenth of the time to read; its regexes come as automata, where those are
//! small. What is wrong with a file it does not say: such a file has no short form, and whoever loads it is told.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;

#[path = "rules/case_folding.rs"]
mod case_folding;
#[path = "rules/lines.rs"]
mod lines;

/// Bytes of an automaton: five in six regexes have one, and all together take six megabytes.
const LARGEST: usize = 1 << 17;
/// The same before states that are alike become one. Some shrink to a sixth.
const LARGEST_BEFORE: usize = 1 << 19;
/// Each begins at a multiple of these many bytes.
const ALIGNMENT: usize = 8;

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("rules");
    println!("cargo::rerun-if-changed={}", folder.display());
    for module in ["case_folding", "lines"] {
        println!("cargo::rerun-if-changed=src/rules/{module}.rs");
    }
    let mut files: Vec<_> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let mut regexes = BTreeSet::new();
    let mut list = String::from("&[\n");
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path)?;
        let file: Option<serde_json::Value> = toml::from_str(&text).ok();
        regexes.extend(file.iter().flat_map(regexes_of));
        let short = out.join(format!("{name}.json"));
        fs::write(&short, file.and_then(|file| short_form(&text, &file)).unwrap_or_default())?;
        let [text, short] = [path, short].map(|path| path.display().to_string());
        writeln!(list, "    BuiltinFile {{ name: {name:?}, text: include_str!({text:?}), short: include_str!({short:?}) }},")
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(out.join("builtin_rules.rs"), list)?;
    write_automata(&out, &regexes)
}

/// A rule file as JSON, with the lines of its rules.
fn short_form(text: &str, file: &serde_json::Value) -> Option<String> {
    serde_json::to_string(&serde_json::json!({ "lines": lines::RuleLines::of(text).ok()?, "file": file })).ok()
}

/// The regexes of the rules and of the apps of a file.
fn regexes_of(file: &serde_json::Value) -> Vec<String> {
    let all = ["rule", "app"].into_iter().filter_map(|kind| file[kind].as_array()).flatten();
    all.flat_map(|one| [&one["regex"], &one["unless"]["regex"], &one["unless"]["referer"]])
        .filter_map(|regex| Some(regex.as_str()?.to_owned()))
        .collect()
}

/// One file of tables, and a list of whose they are and where they lie.
fn write_automata(out: &Path, regexes: &BTreeSet<String>) -> io::Result<()> {
    let is_big_endian = env::var("CARGO_CFG_TARGET_ENDIAN").is_ok_and(|endian| endian == "big");
    let (mut tables, mut list) = (Vec::new(), String::from("&[\n"));
    for regex in regexes {
        let Some(automaton) = automaton(regex) else { continue };
        let (table, padding) = if is_big_endian { automaton.to_bytes_big_endian() } else { automaton.to_bytes_little_endian() };
        let start = tables.len();
        tables.extend_from_slice(&table[padding..]);
        writeln!(list, "    ({regex:?}, {start}, {}),", tables.len()).map_err(io::Error::other)?;
        tables.resize(tables.len().next_multiple_of(ALIGNMENT), 0);
    }
    list.push_str("]\n");
    fs::write(out.join("automata.bin"), tables)?;
    fs::write(out.join("automata.rs"), list)
}

/// What says whether a regex matches, read as `src/rules/pattern.rs` does. None where it is large or no regex.
fn automaton(regex: &str) -> Option<dense::DFA<Vec<u32>>> {
    let limits = dense::Config::new().start_kind(StartKind::Unanchored).minimize(true).dfa_size_limit(Some(LARGEST_BEFORE));
    dense::Builder::new()
        .configure(limits)
        .syntax(
            syntax::Config::new()
                .case_insensitive(case_folding::needs_case_folding(regex))
                .unicode(false)
                .utf8(false)
                .dot_matches_new_line(true),
        )
        .thompson(thompson::Config::new().utf8(false).which_captures(WhichCaptures::None))
        .build(regex)
        .ok()
        .filter(|automaton| automaton.memory_usage() <= LARGEST)
}
