//! Word lists: data files of the OWASP core rule set, and lists of paths. Each becomes one rule.
//!
//! The field in which CRS words are searched is not in the data file, so it is derived from the
//! file name. Files about bodies of requests and responses are skipped, as a log does not contain
//! them.

use std::collections::HashSet;

use super::{Import, in_query, is_ordinary};
use crate::log::finding::Severity;
use crate::rules::builder::{ExampleRequest, RuleBuilder, slug};
use crate::rules::path_list;

/// The fewest bytes of a word: one or two letters occur in every request.
const MIN_WORD_LEN: usize = 3;

/// Words of file names, with class and severity; the first match counts.
const FILES: [(&str, &str, Severity); 12] = [
    ("lfi", "lfi", Severity::High),
    ("restricted-files", "config-exposure", Severity::Medium),
    ("ai-critical", "config-exposure", Severity::Medium),
    ("sql", "sqli", Severity::High),
    ("php", "rce", Severity::High),
    ("unix-shell", "rce", Severity::High),
    ("windows-powershell", "rce", Severity::High),
    ("java", "java", Severity::High),
    ("ssrf", "ssrf", Severity::High),
    ("xss", "xss", Severity::High),
    ("nodejs", "rce", Severity::High),
    ("", "exposure", Severity::Medium),
];

/// The rule of a CRS data file.
pub(super) fn crs_rules(stem: &str, text: &str) -> Import {
    let mut import = Import::default();
    let name = stem.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    if has("errors") || has("leak") || has("web-shells") {
        import.skipped.push(
            "it is about what a server answers, which a log does not show",
            "all of it",
        );
        return import;
    }
    if has("upload") {
        import.skipped.push(
            "it is about uploaded files, which a log does not show",
            "all of it",
        );
        return import;
    }
    if has("benign") {
        import
            .skipped
            .push("it lists what is no attack", "all of it");
        return import;
    }
    let words = words(text, &mut import);
    if words.is_empty() {
        return import;
    }
    let is_agents = has("user-agents") || has("user-agets");
    let (_, class, severity) = FILES
        .into_iter()
        .find(|(part, ..)| name.contains(part))
        .unwrap_or(FILES[FILES.len() - 1]);
    let (class, severity) = if is_agents {
        ("scanner-agent", Severity::Low)
    } else {
        (class, severity)
    };
    let mut draft = RuleBuilder::new(
        format!("crs/{}", slug(stem, "data")),
        &format!("Word of the list {stem}"),
        class,
        severity,
    );
    let examples = [&words[0], words.last().unwrap_or(&words[0])];
    if is_agents {
        let agent = |agent: String| ExampleRequest {
            request: "GET /".into(),
            user_agent: Some(agent),
            ..ExampleRequest::default()
        };
        let ordinary = [
            "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0",
            "NetNewsWire (RSS Reader)",
        ];
        let sent = examples.map(|word| word.replace('\\', "\\\\"));
        draft.must_match = vec![
            agent(sent[0].clone()),
            agent(format!("Mozilla/5.0 {}", sent[1])),
        ];
        draft.must_not_match = ordinary.map(|name| agent(name.into())).into();
        draft.agents = words;
    } else {
        let [first, last] = examples.map(|word| in_query(word));
        draft.must_match = [
            format!("GET /?q={first}"),
            format!("GET /index?x=1&q={last}"),
        ]
        .map(ExampleRequest::new)
        .into();
        draft.must_not_match = ["GET /about", "GET /search?q=red+shoes"]
            .map(|request| ExampleRequest::new(request.into()))
            .into();
        draft.words = words;
    }
    import.drafts.push(draft);
    import
}

/// The words of a file, as a decoded request has them.
fn words(text: &str, import: &mut Import) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut words = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let what = || format!("line {}: {line}", n + 1);
        match super::condition::decoded(line) {
            Some(word) if word.len() < MIN_WORD_LEN => import
                .skipped
                .push("one or two letters occur in every request", what()),
            Some(word) => {
                if seen.insert(word.to_ascii_lowercase()) {
                    words.push(word);
                }
            }
            None => import.skipped.push(
                "it is half of an escape, and our fields are decoded",
                what(),
            ),
        }
    }
    words
}

/// The rule of a list of paths.
pub(super) fn path_rules(stem: &str, text: &str) -> Import {
    let mut import = Import::default();
    let mut draft = RuleBuilder::new(
        format!("own/{}", slug(stem, "list")),
        &format!("Path of the list {stem}"),
        "exposure",
        Severity::Medium,
    );
    let mut seen = HashSet::new();
    for (line, content) in path_list::lines(text) {
        match path_list::parse_path(content) {
            Ok(path) if is_ordinary(&path) => import.skipped.push(
                "ordinary clients request it too",
                format!("line {line}: {content}"),
            ),
            Ok(path) if seen.insert(path.to_ascii_lowercase()) => draft.paths.push(path),
            Ok(_) => {}
            // The reason follows the text that it names.
            Err(why) => import.skipped.push(
                why.rsplit("': ").next().unwrap_or_default(),
                format!("line {line}: {content}"),
            ),
        }
    }
    if !draft.paths.is_empty() {
        path_list::add_cases(&mut draft);
        import.drafts.push(draft);
    }
    import
}
