//! Maps words of other tools to a class and a severity.

use crate::finding::Severity;

/// Words of titles and tags, and their class; the first match counts.
const WORDS: [(&str, &str); 46] = [
    ("sqli", "sqli"),
    ("sql injection", "sqli"),
    ("nosql", "nosqli"),
    ("xss", "xss"),
    ("cross-site scripting", "xss"),
    ("cross site scripting", "xss"),
    ("log4j", "log4shell"),
    ("jndi", "log4shell"),
    ("ssti", "ssti"),
    ("template injection", "ssti"),
    ("ssrf", "ssrf"),
    ("xxe", "xxe"),
    ("crlf", "crlf"),
    ("open redirect", "redirect"),
    ("redirect", "redirect"),
    ("webshell", "webshell"),
    ("web shell", "webshell"),
    ("backdoor", "webshell"),
    ("lfi", "lfi"),
    ("traversal", "lfi"),
    ("file inclusion", "lfi"),
    ("file read", "lfi"),
    ("rce", "rce"),
    ("remote code", "rce"),
    ("command injection", "rce"),
    ("code execution", "rce"),
    ("default-login", "default-login"),
    ("default login", "default-login"),
    ("auth-bypass", "auth-bypass"),
    ("authentication bypass", "auth-bypass"),
    ("phpinfo", "phpinfo"),
    ("wordpress", "wordpress"),
    ("wp-plugin", "wordpress"),
    ("git", "vcs-exposure"),
    ("svn", "vcs-exposure"),
    ("backup", "backup"),
    ("config", "config-exposure"),
    ("logs", "log-exposure"),
    ("panel", "panel"),
    ("router", "iot"),
    ("iot", "iot"),
    ("aws", "cloud"),
    ("debug", "debug"),
    ("misconfig", "misconfig"),
    ("joomla", "cms"),
    ("drupal", "cms"),
];

/// The class that titles and tags name; `fallback` if they name none.
pub(super) fn class(text: &str, fallback: &'static str) -> &'static str {
    let text = text.to_ascii_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let stands = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let (before, behind) = (text[..at].chars().next_back(), text[at + word.len()..].chars().next());
            // A short word must be a whole word: `git` is not in `digital` or `github`.
            !is_letter(before) && (word.len() > 4 || !is_letter(behind))
        })
    };
    WORDS.iter().find(|(word, _)| stands(word)).map_or(fallback, |(_, class)| class)
}

/// The severity for a word of another tool.
pub(super) fn severity(word: &str) -> Severity {
    match word.to_ascii_lowercase().as_str() {
        "critical" => Severity::Critical,
        "high" => Severity::High,
        "low" => Severity::Low,
        "info" | "informational" => Severity::Info,
        _ => Severity::Medium,
    }
}

/// The CVE ids in a text, in capitals.
pub(super) fn cves<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let ids = texts.into_iter().filter_map(|text| {
        let text = text.trim().to_ascii_uppercase().replace('.', "-");
        let (year, number) = text.strip_prefix("CVE-")?.split_once('-')?;
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        (year.len() == 4 && (4..=7).contains(&number.len()) && digits(year) && digits(number)).then_some(text)
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The first URLs of a list of references.
pub(super) fn pages(texts: Vec<&str>) -> Vec<String> {
    let is_page = |text: &&str| text.starts_with("http") && text.len() > 12 && !text.contains(char::is_whitespace);
    texts.into_iter().map(str::trim).filter(is_page).take(3).map(str::to_owned).collect()
}
