//! Imports rules of other tools: word lists, CRS data files, Sigma rules, nuclei templates.
//!
//! Unsupported parts are skipped with the reason; an imported rule never matches more than its
//! source. Words of other tools are mapped to a class and a severity. Nothing is read from disk:
//! texts go in, rule builders come out.

mod condition;
mod nuclei;
mod sigma;
mod word_lists;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::ValueEnum;

use super::builder::RuleBuilder;
use super::error::RuleError;
use super::load::check;
use crate::log::finding::Severity;

/// The format of rules to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// Paths, one per line.
    Wordlist,
    /// Data files of the OWASP core rule set.
    CrsData,
    /// Sigma rules for web servers.
    Sigma,
    /// nuclei templates.
    Nuclei,
}

/// The result of an import.
#[derive(Debug, Default)]
pub struct Import {
    /// Rules, before [`finalize`].
    pub drafts: Vec<RuleBuilder>,
    /// Skipped items, by reason.
    pub skipped: SkippedItems,
    /// Imported items to check, by reason.
    pub notes: SkippedItems,
}

/// Items by reason.
#[derive(Debug, Default)]
pub struct SkippedItems(pub BTreeMap<String, Vec<String>>);

impl SkippedItems {
    fn push(&mut self, why: impl Into<String>, what: impl Into<String>) {
        self.0.entry(why.into()).or_default().push(what.into());
    }

    /// The number of items.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Whether there are none.
    #[cfg(test)]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Whether a file may hold rules to import, by its extension.
#[must_use]
pub(crate) fn is_known(file: &Path) -> bool {
    matches!(
        extension(file).as_str(),
        "txt" | "lst" | "data" | "yml" | "yaml"
    )
}

/// Imports the rules of a text. The format is detected if `format` is `None`.
///
/// # Errors
///
/// The text is not in a supported format.
pub fn import(file: &Path, text: &str, format: Option<ImportFormat>) -> Result<Import, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let stem = file
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let is_yaml = matches!(extension(file).as_str(), "yml" | "yaml");
    let format = format.or_else(|| {
        (!is_yaml).then(|| {
            if extension(file) == "data" {
                ImportFormat::CrsData
            } else {
                ImportFormat::Wordlist
            }
        })
    });
    match format {
        Some(ImportFormat::Wordlist) => Ok(word_lists::path_rules(&stem, text)),
        Some(ImportFormat::CrsData) => Ok(word_lists::crs_rules(&stem, text)),
        Some(ImportFormat::Sigma) => Ok(sigma::rules(&stem, &yaml::documents(text)?)),
        Some(ImportFormat::Nuclei) => Ok(nuclei::rules(&stem, &yaml::documents(text)?)),
        None => {
            let documents = yaml::documents(text)?;
            let has = |key: &str| documents.iter().any(|document| document.get(key).is_some());
            if has("detection") {
                Ok(sigma::rules(&stem, &documents))
            } else if has("info") {
                Ok(nuclei::rules(&stem, &documents))
            } else {
                Err(
                    "neither a Sigma rule (with `detection`) nor a nuclei template (with `info`)"
                        .into(),
                )
            }
        }
    }
}

/// Makes the ids of rules unique by adding numbers, and skips rules that the loader rejects, with
/// its message as the reason.
pub fn finalize(import: &mut Import, used_ids: &mut BTreeSet<String>) {
    let mut rejected = Vec::new();
    import.drafts.retain_mut(|draft| {
        if let Err(error) = check(Path::new(""), &draft.to_toml()) {
            rejected.push((reason(&error), draft.id.clone()));
            return false;
        }
        let mut n = 2;
        let id = draft.id.clone();
        while !used_ids.insert(draft.id.clone()) {
            draft.id = format!("{id}-{n}");
            n += 1;
        }
        true
    });
    for (why, what) in rejected {
        import.skipped.push(why, what);
    }
}

fn reason(error: &RuleError) -> String {
    match error {
        RuleError::Rule { message, .. } => {
            message.lines().next_back().unwrap_or_default().to_owned()
        }
        error => error
            .to_string()
            .lines()
            .next_back()
            .unwrap_or_default()
            .to_owned(),
    }
}

fn extension(file: &Path) -> String {
    file.extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase()
}

/// Whether ordinary clients request a path, so that it is no probe alone.
fn is_ordinary(path: &str) -> bool {
    super::lint::is_ordinary(path)
}

/// A text as a client sends it in a query, percent-encoded.
fn in_query(text: &str) -> String {
    super::path_list::percent_encoded(text, b"/-._~")
}

/// Words of titles and tags, and their class; the first match counts.
const CLASS_KEYWORDS: [(&str, &str); 46] = [
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
fn class(text: &str, fallback: &'static str) -> &'static str {
    let text = text.to_ascii_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let occurs = |word: &str| {
        text.match_indices(word).any(|(at, _)| {
            let (before, after) = (
                text[..at].chars().next_back(),
                text[at + word.len()..].chars().next(),
            );
            // A short word must be a whole word: `git` is not in `digital` or `github`.
            !is_letter(before) && (word.len() > 4 || !is_letter(after))
        })
    };
    CLASS_KEYWORDS
        .iter()
        .find(|(word, _)| occurs(word))
        .map_or(fallback, |(_, class)| class)
}

/// The severity for a word of another tool.
fn severity(word: &str) -> Severity {
    match word.to_ascii_lowercase().as_str() {
        "critical" => Severity::Critical,
        "high" => Severity::High,
        "low" => Severity::Low,
        "info" | "informational" => Severity::Info,
        _ => Severity::Medium,
    }
}

/// The CVE ids in a text, in capitals.
fn cves<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<String> {
    let ids = texts.into_iter().filter_map(|text| {
        let text = text.trim().to_ascii_uppercase().replace('.', "-");
        let (year, number) = text.strip_prefix("CVE-")?.split_once('-')?;
        let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
        (year.len() == 4 && (4..=7).contains(&number.len()) && digits(year) && digits(number))
            .then_some(text)
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    ids
}

/// The first URLs of a list of references.
fn reference_urls(texts: Vec<&str>) -> Vec<String> {
    let is_page = |text: &&str| {
        text.starts_with("http") && text.len() > 12 && !text.contains(char::is_whitespace)
    };
    texts
        .into_iter()
        .map(str::trim)
        .filter(is_page)
        .take(3)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::{Matcher, WorkerState};
    use crate::log::log_entry::LogEntry;
    use crate::rules::RuleSet;

    fn imported(name: &str, text: &str) -> Import {
        let mut import = import(Path::new(name), text, None).unwrap();
        finalize(&mut import, &mut BTreeSet::new());
        import
    }

    fn skipped(import: &Import) -> Vec<&str> {
        import.skipped.0.keys().map(String::as_str).collect()
    }

    /// A Sigma rule with this detection.
    fn sigma(detection: &str) -> Import {
        imported(
            "web_test.yml",
            &format!(
                "title: test\nlogsource:\n  category: webserver\nlevel: high\ndetection:\n{detection}"
            ),
        )
    }

    /// Matches requests against the rules of an import.
    struct ImportRunner(RuleSet);

    impl ImportRunner {
        fn new(import: &Import) -> Self {
            let text: String = import.drafts.iter().map(RuleBuilder::to_toml).collect();
            Self(check(Path::new("x.toml"), &text).unwrap())
        }

        fn finds(&self, request: &str, status: u16, agent: &str) -> bool {
            let mut worker_state = WorkerState::default();
            let request = format!("{request} HTTP/1.1");
            let record = LogEntry {
                request: request.as_bytes(),
                status: Some(status),
                user_agent: Some(agent.as_bytes()),
                ..LogEntry::default()
            };
            let verdict = Matcher::new(&self.0).match_uncached(&record, &mut worker_state);
            !worker_state.rules(verdict).is_empty()
        }
    }

    #[test]
    fn sigma_rules_match_the_same_requests() {
        let cases = [
            (
                "  k: ['zz/y', 'qq']\n  condition: k",
                "GET /a/zz/y",
                "GET /zz",
            ),
            (
                "  s:\n    cs-uri-query|contains|all: ['aaa', 'bbb']\n  condition: s",
                "GET /?x=bbb&y=aaa",
                "GET /?x=bbb",
            ),
            (
                "  s:\n    cs-uri-query|startswith: '/zz/'\n  condition: s",
                "GET /zz/y",
                "GET /a/zz/y",
            ),
            (
                "  s:\n    cs-uri-query: '*zzz?y*'\n  condition: s",
                "GET /?zzz1y2",
                "GET /?zzzy",
            ),
            (
                "  s:\n    cs-uri-query|endswith: '/zz.x'\n  condition: s",
                "GET /a/zz.x",
                "GET /zz.xy",
            ),
            (
                "  s:\n    cs-uri-stem|endswith: '.zz'\n  condition: s",
                "GET /a.zz?b",
                "GET /?a.zz",
            ),
            (
                "  s:\n    cs-uri-stem|contains: '/zz/'\n  condition: s",
                "GET /a/zz/b",
                "GET /a/zzz/b",
            ),
            (
                "  s:\n    cs-uri-stem: '/zz/y'\n  condition: s",
                "GET /zz/y?b",
                "GET /a/zz/y",
            ),
            (
                "  s:\n    cs-uri-query|re: '/zz/[a-c]+\\.x'\n  condition: s",
                "GET /zz/abc.x",
                "GET /zz/d.x",
            ),
            (
                "  s:\n    cs-method: PUT\n    cs-uri-stem|startswith: '/zz'\n  condition: s",
                "PUT /zzy",
                "GET /zzy",
            ),
            (
                "  s:\n    cs-uri-query|contains: 'zzz'\n  f:\n    cs-uri-query|contains: 'yyy'\n  condition: s and not f",
                "GET /zzz",
                "GET /zzz?yyy",
            ),
            (
                "  s:\n    cs-uri-query|contains: '=select%20'\n  condition: s",
                "GET /?a=select%20b",
                "GET /?a=selected",
            ),
            (
                "  a:\n    cs-uri-query|contains: 'aaa'\n  b:\n    cs-uri-query|contains: 'bbb'\n  condition: 1 of them",
                "GET /bbb",
                "GET /ccc",
            ),
        ];
        for (detection, hit, miss) in cases {
            let import = sigma(detection);
            assert!(
                import.skipped.is_empty(),
                "{detection}: {:?}",
                import.skipped
            );
            let runner = ImportRunner::new(&import);
            assert!(
                runner.finds(hit, 404, "-") && !runner.finds(miss, 404, "-"),
                "{detection}: {}",
                import.drafts[0].to_toml()
            );
        }
    }

    #[test]
    fn sigma_statuses_and_agents_are_imported() {
        let runner = ImportRunner::new(&sigma(
            "  s:\n    cs-uri-query|contains: 'zzz'\n    sc-status: [200, 301]\n  condition: s",
        ));
        assert!(runner.finds("GET /zzz", 301, "-") && !runner.finds("GET /zzz", 404, "-"));
        let runner = ImportRunner::new(&sigma(
            "  s:\n    cs-uri-query|contains: 'zzz'\n  filter:\n    sc-status: 404\n  condition: s and not filter",
        ));
        assert!(runner.finds("GET /zzz", 500, "-") && !runner.finds("GET /zzz", 404, "-"));
        let runner = ImportRunner::new(&sigma(
            "  s:\n    cs-user-agent|contains: ['eviltool', 'worse']\n  condition: s",
        ));
        assert!(
            runner.finds("GET /", 200, "x Worse/1")
                && !runner.finds("GET /worse", 200, "Mozilla/5.0")
        );
        let runner =
            ImportRunner::new(&sigma("  s:\n    c-useragent: 'evil*tool'\n  condition: s"));
        assert!(
            runner.finds("GET /", 200, "evil big tool")
                && !runner.finds("GET /", 200, "an evil tool")
        );
    }

    #[test]
    fn unsupported_sigma_features_are_reported() {
        for (detection, why) in [
            (
                "  s:\n    cs-cookie|contains: x\n  condition: s",
                "'cs-cookie'",
            ),
            (
                "  s:\n    cs-uri-query|base64: x\n  condition: s",
                "'base64'",
            ),
            (
                "  s:\n    cs-uri-query|contains: zzz\n  condition: s | count() > 10",
                "counts events",
            ),
            ("  s:\n    cs-method: GET\n  condition: s", "only a status"),
            (
                "  s:\n    cs-uri-query|contains: zzz\n    cs-referer|contains: yyy\n  condition: s",
                "two fields",
            ),
            (
                "  s:\n    cs-uri-query|re: '[a-z]+'\n  condition: s",
                "three letters",
            ),
            (
                "  s:\n    cs-uri-query|re: '(?=zzz)a'\n  condition: s",
                "look-around",
            ),
            (
                "  s:\n    cs-uri-query|contains: zzz\n  f:\n    cs-method: GET\n  condition: s and not f",
                "`unless`",
            ),
            (
                "  s:\n    cs-uri-query|contains|all: [aaa, bbb, ccc, ddd]\n  condition: s",
                "more than 3",
            ),
            (
                "  s:\n    cs-uri-query|contains: 'zz%2'\n  condition: s",
                "within an escape",
            ),
            ("  s:\n    cs-uri-query: ''\n  condition: s", "empty"),
        ] {
            let import = sigma(detection);
            assert!(
                import.drafts.is_empty() && skipped(&import).iter().any(|w| w.contains(why)),
                "{detection}: {:?}",
                import.skipped
            );
        }
        let proxy = imported(
            "p.yml",
            "title: t\nlogsource: {category: proxy}\ndetection: {a: [x], condition: a}",
        );
        assert!(skipped(&proxy)[0].contains("'proxy'"));
        assert!(
            import(Path::new("x.yml"), "a: b", None)
                .unwrap_err()
                .contains("neither")
        );
    }

    #[test]
    fn templates_are_paths_queries_and_methods() {
        let text = "id: CVE-2020-12345\ninfo:\n  name: some panel\n  severity: high\n  classification:\n    cve-id: CVE-2020-12345\n    cwe-id: CWE-22,CWE-79\n\
            http:\n- method: GET\n  path:\n  - '{{BaseURL}}/zz/a.php'\n  - '{{BaseURL}}/zz/b.php'\n  - '{{BaseURL}}/zz/c.php?x=1&file=../../y'\n  \
            - '{{BaseURL}}'\n  - '{{BaseURL}}/login'\n  - '{{BaseURL}}/zz/{{user}}'\n- raw:\n  - |\n    POST /zz/d HTTP/1.1\n    Host: x\n";
        let import = imported("x.yaml", text);
        let ids: Vec<_> = import.drafts.iter().map(|d| d.id.as_str()).collect();
        assert_eq!(
            ids,
            [
                "nuclei/cve-2020-12345",
                "nuclei/cve-2020-12345-2",
                "nuclei/cve-2020-12345-3"
            ]
        );
        let first = &import.drafts[0];
        assert_eq!(
            (
                first.class.as_str(),
                first.title.as_str(),
                first.severity.as_str()
            ),
            ("panel", "Some panel", "high")
        );
        assert_eq!(
            (&first.cve[..], &first.cwe[..]),
            (&["CVE-2020-12345".to_owned()][..], &[22, 79][..])
        );
        assert_eq!(
            skipped(&import),
            [
                "every client requests '/'",
                "it holds a variable",
                "ordinary clients request it too"
            ]
        );
        let runner = ImportRunner::new(&import);
        for (request, expected) in [
            ("GET /zz/a.php", true),
            ("GET /app/zz/b.php", true),
            ("GET /zz/c.php?x=1&file=../../y", true),
            ("GET /zz/c.php", false),
            ("GET /zz/c.php?x=1", false),
            ("POST /zz/d", true),
            ("GET /zz/d", false),
            ("GET /login", false),
        ] {
            assert_eq!(runner.finds(request, 404, "-"), expected, "{request}");
        }
        let network = imported("x.yaml", "id: a\ninfo: {name: x}\ntcp: [{host: x}]");
        assert!(skipped(&network)[0].contains("no HTTP request"));
    }

    #[test]
    fn path_tricks_of_a_template_are_kept() {
        let runner = ImportRunner::new(&imported(
            "x.yaml",
            "id: a\ninfo: {name: x}\nhttp: [{path: ['{{BaseURL}}/..;/manager/html']}]",
        ));
        assert!(
            runner.finds("GET /..;/manager/html", 404, "-")
                && !runner.finds("GET /manager/html", 404, "-")
        );
    }

    #[test]
    fn data_files_are_words_by_their_name() {
        let import = imported("lfi-os-files.data", "# words\n/etc/zz\nab\nproc%2Fzz\n");
        assert_eq!(
            (import.drafts[0].class.as_str(), &import.drafts[0].words[..]),
            ("lfi", &["/etc/zz".to_owned(), "proc/zz".into()][..])
        );
        assert_eq!(import.skipped.len(), 1);
        let agents = imported("scanners-user-agents.data", "eviltool\n");
        assert!(
            ImportRunner::new(&agents).finds("GET /", 200, "EvilTool/1")
                && !ImportRunner::new(&agents).finds("GET /eviltool", 200, "-")
        );
        assert!(imported("sql-errors.data", "x\n").drafts.is_empty());
    }

    #[test]
    fn a_second_rule_of_a_name_gets_a_number() {
        let mut used_ids = BTreeSet::new();
        let ids: Vec<_> = (0..2)
            .map(|_| {
                let mut import = import(Path::new("a.txt"), "/zz\n", None).unwrap();
                finalize(&mut import, &mut used_ids);
                import.drafts.remove(0).id
            })
            .collect();
        assert_eq!(ids, ["own/a", "own/a-2"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// The rule of any list loads and passes its own cases.
        #[test]
        fn any_word_list_is_a_rule_that_loads_and_holds(lines in prop::collection::vec("(?s)([a-z/.%0-9;?#*&\\\\ é\"']{0,12}|.{0,8})", 0..12)) {
            let text = lines.join("\n");
            let import = imported("list.txt", &text);
            prop_assert!(import.drafts.len() <= 1);
            for draft in &import.drafts {
                prop_assert_eq!(&draft.id, "own/list");
                let runner = ImportRunner::new(&import);
                for hit in &draft.must_match {
                    prop_assert!(runner.finds(&hit.request, 404, "-"), "{:?} {:?}", hit, draft.paths);
                }
                for miss in &draft.must_not_match {
                    prop_assert!(!runner.finds(&miss.request, 404, "-"), "{:?} {:?}", miss, draft.paths);
                }
            }
        }

        /// Any file is read to its end.
        #[test]
        fn any_yaml_and_any_data_are_read(text in "(?s)[a-z:{}\\[\\]&*|>!%@ \n'\"-]{0,80}") {
            for name in ["x.yml", "x.data"] {
                if let Ok(mut import) = import(Path::new(name), &text, None) {
                    finalize(&mut import, &mut BTreeSet::new());
                    let _ = ImportRunner::new(&import);
                }
            }
        }
    }
}
