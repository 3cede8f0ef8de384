//! Each module uses only modules of lower layers. Also checks what every source file must satisfy.
//!
//! The table of layers is read from `src/lib.rs`, so there is one place to change. The check works
//! on source text: comments and code that is compiled for tests only are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

struct SourceFile {
    /// The path relative to the package.
    name: String,
    /// The top-level module it belongs to.
    module: String,
    /// The whole file.
    text: String,
    /// The lines without comments, up to the test module.
    code: Vec<String>,
}

/// A module, a module it uses, and the line of the use.
struct Use {
    from: String,
    to: String,
    location: String,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every source file except those for tests.
fn source_files() -> Vec<SourceFile> {
    let mut paths = Vec::new();
    walk(&root().join("src"), &mut paths);
    paths.sort();
    assert!(paths.len() > 50, "too few source files: {paths:?}");
    paths.iter().map(|path| source_file(path)).collect()
}

fn walk(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            walk(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && name != "tests.rs"
            && name != "fixture.rs"
        {
            paths.push(path);
        }
    }
}

fn source_file(path: &Path) -> SourceFile {
    let text = fs::read_to_string(path).unwrap();
    let name = path
        .strip_prefix(root())
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let module = name
        .split('/')
        .nth(1)
        .unwrap()
        .trim_end_matches(".rs")
        .to_owned();
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && is_module_declaration(pair[1]));
    let code = lines[..tests.unwrap_or(lines.len())]
        .iter()
        .map(|line| without_comment(line).to_owned())
        .collect();
    SourceFile {
        name,
        module,
        text,
        code,
    }
}

fn is_module_declaration(line: &str) -> bool {
    line.trim_start_matches("pub(crate) ")
        .trim_start_matches("pub(super) ")
        .starts_with("mod ")
}

fn without_comment(line: &str) -> &str {
    let comment = line
        .match_indices("//")
        .map(|(at, _)| at)
        .find(|at| line[..*at].matches('"').count().is_multiple_of(2));
    &line[..comment.unwrap_or(line.len())]
}

/// The layer of each module, from the table in `src/lib.rs`.
fn layers() -> BTreeMap<String, u32> {
    let page = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let mut layers = BTreeMap::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("// | ")) {
        let (layer, modules) = line.split_once(" | ").unwrap();
        // Names are between backquotes.
        for module in modules.split('`').skip(1).step_by(2) {
            layers.insert(module.to_owned(), layer.parse().unwrap());
        }
    }
    layers
}

/// Every path that begins with `crate::`.
fn uses(files: &[SourceFile]) -> Vec<Use> {
    let mut uses = Vec::new();
    for file in files {
        for (number, line) in file.code.iter().enumerate() {
            for (_, rest) in line
                .match_indices("crate::")
                .map(|(at, found)| line.split_at(at + found.len()))
            {
                let location = format!("{}:{}", file.name, number + 1);
                assert!(
                    !rest.starts_with(['{', '*']),
                    "{location}: write `crate::module`, so that its layer is known"
                );
                let to: String = rest
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                uses.push(Use {
                    from: file.module.clone(),
                    to,
                    location,
                });
            }
        }
    }
    uses
}

/// Whether a module of one layer may use a module of another. Cycles in the lowest layer have a
/// test of their own.
fn may_use(from: u32, to: u32) -> bool {
    to < from || (from, to) == (0, 0)
}

#[test]
fn a_module_uses_only_lower_layers() {
    let (files, layers) = (source_files(), layers());
    let uses = uses(&files);
    assert!(uses.len() > 100, "too few uses found");
    let wrong: Vec<_> = uses
        .iter()
        .filter(|used| {
            used.from != used.to && !["lib", "main", "build"].contains(&used.from.as_str())
        })
        .filter(|used| {
            let layer = |module: &str| {
                *layers.get(module).unwrap_or_else(|| {
                    panic!(
                        "{}: {module} is not in the table of src/lib.rs",
                        used.location
                    )
                })
            };
            !may_use(layer(&used.from), layer(&used.to))
        })
        .map(|used| format!("{}: {} uses {}", used.location, used.from, used.to))
        .collect();
    assert!(
        wrong.is_empty(),
        "not in a lower layer:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_module_has_a_layer() {
    let modules: BTreeSet<_> = source_files()
        .into_iter()
        .map(|file| file.module)
        .filter(|module| !["lib", "main", "build"].contains(&module.as_str()))
        .collect();
    assert_eq!(modules, layers().into_keys().collect());
}

#[test]
fn the_lowest_layer_has_no_cycle() {
    let layers = layers();
    let mut graph: BTreeMap<String, BTreeSet<String>> = layers
        .iter()
        .filter(|(_, layer)| **layer == 0)
        .map(|(module, _)| (module.clone(), BTreeSet::new()))
        .collect();
    for used in uses(&source_files())
        .into_iter()
        .filter(|used| used.from != used.to)
    {
        if let Some(modules) = graph.get_mut(&used.from) {
            modules.insert(used.to);
        }
    }
    // Repeatedly removes the modules that use none of those that are left.
    while !graph.is_empty() {
        let leaves: Vec<_> = graph
            .iter()
            .filter(|(_, modules)| modules.iter().all(|module| !graph.contains_key(module)))
            .map(|(module, _)| module.clone())
            .collect();
        assert!(
            !leaves.is_empty(),
            "these modules use each other in a cycle: {graph:?}"
        );
        graph.retain(|module, _| !leaves.contains(module));
    }
}

/// The lines of code that contain this word.
fn lines_with(word: &str) -> Vec<String> {
    let is_word_char = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut found = Vec::new();
    for file in source_files() {
        for (number, line) in file.code.iter().enumerate() {
            let is_whole_word = |at: usize| {
                !is_word_char(line[..at].chars().next_back())
                    && !is_word_char(line[at + word.len()..].chars().next())
            };
            if line.match_indices(word).any(|(at, _)| is_whole_word(at)) {
                found.push(format!("{}:{}", file.name, number + 1));
            }
        }
    }
    found
}

#[test]
fn settings_have_one_parser() {
    let lines: Vec<_> = lines_with("serde")
        .into_iter()
        .filter(|line| line.starts_with("src/config/") || line.starts_with("src/cli/"))
        .collect();
    assert!(lines.is_empty(), "{lines:?}");
}

#[test]
fn unsafe_code_is_in_six_files() {
    let found = lines_with("unsafe");
    let allowed = [
        "src/os/allocator.rs:",
        "src/engine/newline_index.rs:",
        "src/collections/fingerprint/simd_hash.rs:",
        "src/input/mmap.rs:",
        "src/collections/prefetch.rs:",
        "src/os/system.rs:",
    ];
    assert!(
        !found.is_empty()
            && found
                .iter()
                .all(|line| allowed.iter().any(|file| line.starts_with(file))),
        "{found:?}"
    );
}

#[test]
fn nothing_is_printed_with_macros() {
    let mut printed = ["println!", "eprintln!", "print!", "eprint!", "dbg!"]
        .map(lines_with)
        .concat();
    // A build script prints its instructions to Cargo.
    printed.retain(|line| !line.starts_with("src/build.rs:"));
    assert!(printed.is_empty(), "{printed:?}");
}

#[test]
fn every_file_has_a_module_comment() {
    for file in source_files() {
        assert!(
            file.text.starts_with("//! "),
            "{}: does not start with `//! `",
            file.name
        );
    }
}
