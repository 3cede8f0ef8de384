//! Data files of the OWASP core rule set: words, one a line, that a rule of theirs looks for.
//!
//! What part of a request they look at stands in their rules and not here, so it goes by the name of the file. Files for
//! what a log does not show, bodies of requests and of answers, are not carried over.

use std::collections::HashSet;

use super::{Import, in_query};
use crate::finding::Severity;
use crate::rules::builder::{ExampleRequest, RuleBuilder, slug};

/// Bytes a word has at least: one or two stand in every request.
const SHORTEST: usize = 3;

/// Words of file names, with class and severity; the first that is found counts.
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

pub(super) fn rules(stem: &str, text: &str) -> Import {
    let mut import = Import::default();
    let name = stem.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    if has("errors") || has("leak") || has("web-shells") {
        import.left_out.push("it is about what a server answers, which a log does not show", "all of it");
        return import;
    }
    if has("upload") {
        import.left_out.push("it is about uploaded files, which a log does not show", "all of it");
        return import;
    }
    if has("benign") {
        import.left_out.push("it lists what is no attack", "all of it");
        return import;
    }
    let words = words(text, &mut import);
    if words.is_empty() {
        return import;
    }
    let is_agents = has("user-agents") || has("user-agets");
    let (_, class, severity) = FILES.into_iter().find(|(part, ..)| name.contains(part)).unwrap_or(FILES[FILES.len() - 1]);
    let (class, severity) = if is_agents { ("scanner-agent", Severity::Low) } else { (class, severity) };
    let mut draft = RuleBuilder::new(format!("crs/{}", slug(stem, "data")), &format!("Word of the list {stem}"), class, severity);
    let shown = [&words[0], words.last().unwrap_or(&words[0])];
    if is_agents {
        let agent = |agent: String| ExampleRequest { request: "GET /".into(), user_agent: Some(agent), ..ExampleRequest::default() };
        let ordinary = ["Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0", "NetNewsWire (RSS Reader)"];
        let sent = shown.map(|word| word.replace('\\', "\\\\"));
        draft.must_match = vec![agent(sent[0].clone()), agent(format!("Mozilla/5.0 {}", sent[1]))];
        draft.must_not_match = ordinary.map(|name| agent(name.into())).into();
        draft.agents = words;
    } else {
        let [first, last] = shown.map(|word| in_query(word));
        draft.must_match = [format!("GET /?q={first}"), format!("GET /index?x=1&q={last}")].map(ExampleRequest::new).into();
        draft.must_not_match = ["GET /about", "GET /search?q=red+shoes"].map(|request| ExampleRequest::new(request.into())).into();
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
            Some(word) if word.len() < SHORTEST => import.left_out.push("one or two letters stand in every request", what()),
            Some(word) => {
                if seen.insert(word.to_ascii_lowercase()) {
                    words.push(word);
                }
            }
            None => import.left_out.push("it is half of an escape, and our fields are decoded", what()),
        }
    }
    words
}
