//! Embeds the rule files of `rules/` in the binary; a new file needs no code. Each file is embedded as compressed source text and as
//! JSON, which loads in a tenth of the time; small regexes are embedded as compressed automata. The build does not report errors in
//! a file: such a file has no JSON form, and loading it reports the error.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_automata::util::syntax;

#[path = "rules/case_folding.rs"]
mod case_folding;
#[path = "rules/lines.rs"]
mod lines;

/// Largest automaton, in bytes. Five in six regexes have one; all together are 7.5 megabytes, and 0.3 compressed.
const LARGEST: usize = 1 << 17;
/// The same before minimization, which shrinks some to a sixth.
const LARGEST_BEFORE: usize = 1 << 19;

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
        let (full, short) = (out.join(format!("{name}.z")), out.join(format!("{name}.json")));
        fs::write(&full, compressed(text.as_bytes())?)?;
        fs::write(&short, file.and_then(|file| short_form(&text, &file)).unwrap_or_default())?;
        let [full, short] = [full, short].map(|path| path.display().to_string());
        writeln!(list, "    BuiltinFile {{ name: {name:?}, text: include_bytes!({full:?}), short: include_str!({short:?}) }},")
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(out.join("builtin_rules.rs"), list)?;
    write_automata(&out, &regexes)
}

/// A rule file as JSON, with the line numbers of its rules.
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

/// Writes one file of tables, and a list of regexes with the ranges of their tables.
fn write_automata(out: &Path, regexes: &BTreeSet<String>) -> io::Result<()> {
    let is_big_endian = env::var("CARGO_CFG_TARGET_ENDIAN").is_ok_and(|endian| endian == "big");
    let (mut tables, mut list) = (Vec::new(), String::from("&[\n"));
    for regex in regexes {
        let Some(automaton) = automaton(regex) else { continue };
        let (table, padding) = if is_big_endian { automaton.to_bytes_big_endian() } else { automaton.to_bytes_little_endian() };
        let start = tables.len();
        tables.extend(compressed(&table[padding..])?);
        writeln!(list, "    ({regex:?}, {start}, {}),", tables.len()).map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(out.join("automata.bin"), tables)?;
    fs::write(out.join("automata.rs"), list)
}

/// The length in four bytes, then a zlib stream.
fn compressed(content: &[u8]) -> io::Result<Vec<u8>> {
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    let mut stream = ZlibEncoder::new(length.to_le_bytes().to_vec(), Compression::default());
    stream.write_all(content)?;
    stream.finish()
}

/// The automaton of a regex, compiled like `src/rules/pattern.rs` does; `None` if it is too large or no valid regex.
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
