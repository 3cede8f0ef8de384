//! Lists the rule files of `rules/` so that they are built into the binary; a new file needs no code. Each comes as it is
//! written, for people, and in a form that takes a tenth of the time to read. What is wrong with a file it does not say:
//! such a file has no short form, and whoever loads it is told.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

#[path = "rules/lines.rs"]
mod lines;

fn main() -> io::Result<()> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("rules");
    println!("cargo::rerun-if-changed={}", folder.display());
    println!("cargo::rerun-if-changed=src/rules/lines.rs");
    let mut files: Vec<_> = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let mut list = String::from("&[\n");
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let short = Path::new(&out).join(format!("{name}.json"));
        fs::write(&short, short_form(&fs::read_to_string(&path)?).unwrap_or_default())?;
        let [text, short] = [path, short].map(|path| path.display().to_string());
        writeln!(list, "    BuiltIn {{ name: {name:?}, text: include_str!({text:?}), short: include_str!({short:?}) }},")
            .map_err(io::Error::other)?;
    }
    list.push_str("]\n");
    fs::write(Path::new(&out).join("builtin_rules.rs"), list)
}

/// A rule file as JSON, with the lines of its rules.
fn short_form(text: &str) -> Option<String> {
    let file: serde_json::Value = toml::from_str(text).ok()?;
    serde_json::to_string(&serde_json::json!({ "lines": lines::Lines::of(text).ok()?, "file": file })).ok()
}
