//! Embeds the rule files of `rules/` in the binary; a new file needs no code. Each file is embedded
//! as compressed source text and as JSON, which loads in a tenth of the time; small regexes are
//! embedded as compressed automata, and the literals of all rules as the tables that a scan
//! searches with. The build does not report errors in a file: such a file has no JSON form, and
//! loading it reports the error.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use regex_automata::dfa::{StartKind, dense};
use regex_automata::nfa::thompson::{self, WhichCaptures};

use serde::Deserialize;
use serde_json::Value;

#[path = "rules/case_folding.rs"]
mod case_folding;
#[allow(dead_code, reason = "globs are only split")]
#[path = "rules/glob.rs"]
mod glob;
#[path = "rules/lines.rs"]
mod lines;
#[path = "rules/literal_table.rs"]
mod literal_table;
#[allow(dead_code, reason = "nothing is searched")]
#[path = "rules/prefilter.rs"]
mod prefilter;
mod text {
    #[allow(dead_code, reason = "`prefilter` compares texts with it")]
    pub(super) mod short_bytes;
}

use literal_table::{
    FIELD_NAMES, LiteralCollector, LiteralKeys, LiteralTable, RuleLiterals, TextArena,
};
use prefilter::{Prefilter, WindowTable};

/// What the build script and the crate have in common.
const SHARED: [&str; 6] = [
    "rules/case_folding.rs",
    "rules/glob.rs",
    "rules/lines.rs",
    "rules/literal_table.rs",
    "rules/prefilter.rs",
    "text/short_bytes.rs",
];

/// The most bytes of an automaton. Nearly all regexes have one. To decompress one of this size
/// takes an eighth of the time to compile its regex.
const MAX_AUTOMATON: usize = 1 << 18;
/// The most bytes of an automaton before minimization, which shrinks some to a sixth.
const MAX_UNMINIMIZED_AUTOMATON: usize = 1 << 21;

fn main() -> io::Result<()> {
    let folder =
        Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("rules");
    println!("cargo::rerun-if-changed={}", folder.display());
    for module in SHARED {
        println!("cargo::rerun-if-changed=src/{module}");
    }
    let mut files: Vec<_> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|path| {
        path.extension().is_some_and(|e| e == "toml")
            && !TABLES.iter().any(|name| path.ends_with(name))
    });
    files.sort();
    let out = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?);
    let exceptions = exceptions(&fs::read_to_string(folder.join(TABLES[1]))?)?;
    let mut regexes: BTreeSet<String> = exceptions.iter().map(|(_, regex)| regex.clone()).collect();
    let mut rules = BTreeMap::new();
    let mut list = String::from("&[\n");
    for path in files {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = fs::read_to_string(&path)?;
        let file: Option<Value> = toml::from_str(&text).ok();
        regexes.extend(file.iter().flat_map(regexes_of));
        rules.extend(file.iter().flat_map(literal_rules));
        let [full, json, short, notes] = ["z", "json.z", "json", "notes"]
            .map(|extension| out.join(format!("{name}.{extension}")));
        fs::write(&full, compressed(text.as_bytes())?)?;
        let forms = file
            .and_then(|file| json_forms(&text, file))
            .unwrap_or_default();
        fs::write(&json, compressed(forms[0].as_bytes())?)?;
        fs::write(&short, &forms[1])?;
        fs::write(&notes, &forms[2])?;
        let [full, json, short, notes] =
            [full, json, short, notes].map(|path| path.display().to_string());
        let form = format!(
            "text: include_bytes!({full:?}), json: include_bytes!({json:?}), short: include_str!({short:?}), notes: include_str!({notes:?})"
        );
        writeln!(list, "    BuiltinFile {{ name: {name:?}, {form} }},")
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(out.join("builtin_rules.rs"), list)?;
    fs::write(
        out.join("literals.rs"),
        literals(&rules).unwrap_or_else(|| "None".to_owned()),
    )?;
    fs::write(
        out.join("classes.rs"),
        classes(&fs::read_to_string(folder.join(TABLES[0]))?)?,
    )?;
    fs::write(out.join("exceptions.rs"), format!("&{exceptions:?}"))?;
    write_automata(&out, &regexes)
}

/// The files without rules: the classes of rules, and the exceptions that rules have in common.
const TABLES: [&str; 2] = ["classes.toml", "exceptions.toml"];

/// An exception that rules have in common.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedException {
    id: String,
    regex: String,
}

/// The exceptions by name.
fn exceptions(text: &str) -> io::Result<Vec<(String, String)>> {
    let mut file: BTreeMap<String, Vec<NamedException>> =
        toml::from_str(text).map_err(io::Error::other)?;
    Ok(file
        .remove("exception")
        .unwrap_or_default()
        .into_iter()
        .map(|known| (known.id, known.regex))
        .collect())
}

/// What the rules of a class have in common. The crate documents the keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    id: String,
    wants: String,
    remedy: String,
    #[serde(default)]
    payload: bool,
    #[serde(default = "is_learnt")]
    learn: bool,
    #[serde(default)]
    abuse: Vec<u8>,
}

fn is_learnt() -> bool {
    true
}

/// The classes as an expression of `definition::CLASSES`. An error in them ends the build, because
/// nothing works without them.
fn classes(text: &str) -> io::Result<String> {
    let mut file: BTreeMap<String, Vec<Class>> = toml::from_str(text).map_err(io::Error::other)?;
    let mut classes = file.remove("class").unwrap_or_default();
    classes.sort_by(|a, b| a.id.cmp(&b.id));
    let expression = |Class {
                          id,
                          wants,
                          remedy,
                          payload,
                          learn,
                          abuse,
                      }: &Class| {
        format!(
            "Class {{ id: {id:?}, wants: {wants:?}, remedy: {remedy:?}, payload: {payload}, learn: {learn}, abuse: &{abuse:?} }},"
        )
    };
    Ok(format!(
        "&[{}]",
        classes.iter().map(expression).collect::<String>()
    ))
}

/// The keys of a rule that no scan needs.
const DOCUMENTATION: [&str; 3] = ["must_match", "must_not_match", "false_positives"];

/// The lists that are in the tables of literals: a scan of all rules needs to know only whether
/// they are empty.
const LITERALS: [&str; 5] = ["paths", "suffixes", "words", "agents", "raw_prefixes"];

/// What a scan reads of a rule with hits only.
const NOTES: [&str; 5] = ["cve", "of", "attack", "cwe", "references"];

/// A rule file as JSON, without cases, and with the line numbers of its rules; then the same with
/// the first literal of each list, and without notes of rules; then these notes by the ids of their
/// rules.
fn json_forms(text: &str, mut file: Value) -> Option<[String; 3]> {
    let lines = lines::RuleLines::parse(text).ok()?;
    let json = |file: &Value| {
        serde_json::to_string(&serde_json::json!({ "lines": &lines, "file": file })).ok()
    };
    for rule in rules_mut(&mut file) {
        for key in DOCUMENTATION {
            rule.remove(key);
        }
    }
    let full = json(&file)?;
    for rule in rules_mut(&mut file) {
        for key in LITERALS {
            if let Some(literals) = rule.get_mut(key).and_then(Value::as_array_mut) {
                literals.truncate(1);
            }
        }
    }
    let mut notes = serde_json::Map::new();
    for rule in file
        .get_mut("rule")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let of_rule: serde_json::Map<String, Value> = NOTES
            .iter()
            .filter_map(|&key| Some((key.to_owned(), rule.remove(key)?)))
            .collect();
        notes.insert(rule.get("id")?.as_str()?.to_owned(), of_rule.into());
    }
    Some([full, json(&file)?, serde_json::to_string(&notes).ok()?])
}

/// The rules and the apps of a file.
fn rules_mut(file: &mut Value) -> impl Iterator<Item = &mut serde_json::Map<String, Value>> {
    let tables = file
        .as_object_mut()
        .into_iter()
        .flat_map(serde_json::Map::iter_mut);
    let lists = tables.filter(|(kind, _)| ["rule", "app"].contains(&kind.as_str()));
    lists
        .filter_map(|(_, list)| list.as_array_mut())
        .flatten()
        .filter_map(Value::as_object_mut)
}

/// The keys of a rule or an app that contain literals, or decide what they mean.
#[derive(Deserialize, Default)]
#[serde(default)]
struct LiteralRule {
    id: String,
    paths: Vec<String>,
    suffixes: Vec<String>,
    path_glob: Value,
    at: Option<String>,
    agents: Vec<String>,
    raw_prefixes: Vec<String>,
    words: Vec<String>,
    #[serde(default = "default_fields")]
    fields: Vec<String>,
    unless: ExceptedAgents,
}

/// The fields of a rule that names none.
fn default_fields() -> Vec<String> {
    ["path", "query"].map(str::to_owned).to_vec()
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ExceptedAgents {
    agents: Vec<String>,
}

/// The rules and apps of a file by their ids.
fn literal_rules(file: &Value) -> Vec<(String, LiteralRule)> {
    let of_kind = |kind: &str, family: &str| -> Vec<_> {
        let rules = file[kind]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|rule| LiteralRule::deserialize(rule).ok());
        rules
            .map(|rule| (format!("{family}{}", rule.id), rule))
            .collect()
    };
    of_kind("rule", "")
        .into_iter()
        .chain(of_kind("app", "apps/"))
        .collect()
}

/// The regexes of the rules and of the apps of a file.
fn regexes_of(file: &Value) -> Vec<String> {
    let all = ["rule", "app"]
        .into_iter()
        .filter_map(|kind| file[kind].as_array())
        .flatten();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    all.flat_map(|one| {
        [
            &one["regex"],
            &one["unless"]["regex"],
            &one["unless"]["referer"],
        ]
        .map(text)
    })
    .flatten()
    .collect()
}

/// The literals of the rules, numbered in the order of their ids, as an expression of
/// `builtin::literals`; `None` if they cannot be embedded.
fn literals(rules: &BTreeMap<String, LiteralRule>) -> Option<String> {
    let mut literals = RuleLiterals::default();
    for (number, rule) in rules.values().enumerate() {
        let path_glob = match &rule.path_glob {
            Value::String(glob) => vec![glob.clone()],
            globs => globs
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|glob| Some(glob.as_str()?.to_owned()))
                .collect(),
        };
        let bit = |field: &String| {
            FIELD_NAMES
                .iter()
                .position(|name| name == field)
                .map_or(0, |bit| 1 << bit)
        };
        let keys = LiteralKeys {
            paths: &rule.paths,
            suffixes: &rule.suffixes,
            path_glob: &path_glob,
            agents: &rule.agents,
            raw_prefixes: &rule.raw_prefixes,
            words: &rule.words,
            fields: rule.fields.iter().fold(0, |mask, field| mask | bit(field)),
            excepted_agents: &rule.unless.agents,
            root: rule.at.is_some(),
        };
        literals.add(keys, u16::try_from(number).ok()?).ok()?;
    }
    let mut tables = Vec::new();
    for table in [literals.request, literals.headers].map(LiteralCollector::into_table) {
        let Prefilter { fours, pairs } = Prefilter::new(&table.texts)?;
        let prefilter = format!(
            "Prefilter {{ fours: {}, pairs: {} }}",
            windows_source(&fours),
            windows_source(&pairs)
        );
        tables.push(format!("({}, {prefilter})", table_source(&table)));
    }
    Some(format!("Some([{}])", tables.join(", ")))
}

// Tables as Rust expressions. What `Debug` prints of a number or of a list of plain values is one.

fn table_source(
    LiteralTable {
        texts,
        starts,
        uses,
        tails,
    }: &LiteralTable,
) -> String {
    let (texts, tails) = (texts_source(texts), texts_source(tails));
    format!(
        "LiteralTable {{ texts: {texts}, starts: Cow::Borrowed(&{starts:?}), uses: Cow::Borrowed(&{uses:?}), tails: {tails} }}"
    )
}

fn texts_source(TextArena { bytes, ends }: &TextArena) -> String {
    format!(
        "TextArena {{ bytes: Cow::Borrowed(b\"{}\"), ends: Cow::Borrowed(&{ends:?}) }}",
        bytes.escape_ascii()
    )
}

fn windows_source<const WIDTH: usize>(
    WindowTable {
        bits,
        starts,
        windows,
        entries,
    }: &WindowTable<WIDTH>,
) -> String {
    let lists = format!(
        "starts: Cow::Borrowed(&{starts:?}), windows: Cow::Borrowed(&{windows:?}), entries: Cow::Borrowed(&{entries:?})"
    );
    format!("WindowTable {{ bits: Box::new({bits:?}), {lists} }}")
}

/// Writes one file of tables, and a list of regexes with the ranges of their tables.
fn write_automata(out: &Path, regexes: &BTreeSet<String>) -> io::Result<()> {
    let is_big_endian = env::var("CARGO_CFG_TARGET_ENDIAN").is_ok_and(|endian| endian == "big");
    let (mut tables, mut list) = (Vec::new(), String::from("&[\n"));
    for regex in regexes {
        let Some(automaton) = automaton(regex) else {
            continue;
        };
        let (table, padding) = if is_big_endian {
            automaton.to_bytes_big_endian()
        } else {
            automaton.to_bytes_little_endian()
        };
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

/// The automaton of a regex, compiled like `src/rules/pattern.rs` does; `None` if it is too large
/// or no valid regex.
fn automaton(regex: &str) -> Option<dense::DFA<Vec<u32>>> {
    let limits = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .minimize(true)
        .dfa_size_limit(Some(MAX_UNMINIMIZED_AUTOMATON));
    dense::Builder::new()
        .configure(limits)
        .syntax(case_folding::syntax_of(regex))
        .thompson(
            thompson::Config::new()
                .utf8(false)
                .which_captures(WhichCaptures::None),
        )
        .build(regex)
        .ok()
        .filter(|automaton| automaton.memory_usage() <= MAX_AUTOMATON)
}
