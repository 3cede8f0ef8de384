//! Lints on rules made for these tests.

use std::fs;

use super::*;

/// The diagnostics of rules, if every rule matches every case.
fn messages(rules: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.toml");
    fs::write(&path, rules).unwrap();
    let choice = RuleChoice { paths: vec![path], no_builtin: true, ..RuleChoice::default() };
    let lint = Lint::load(&choice).unwrap();
    let all: Vec<_> = (0..lint.set().rules().len() as u16).map(RuleId).collect();
    lint.diagnostics(|_| all.clone()).iter().map(|c| format!("{}: {}", c.id, c.what)).collect()
}

fn rule(name: &str, keys: &str) -> String {
    let cases = "must_match = ['GET /1', 'GET /2']\nmust_not_match = ['GET /3', 'GET /4']";
    format!("[[rule]]\nid = 'x/{name}'\ntitle = 'T'\nclass = 'panel'\nseverity = 'medium'\n{keys}\n{cases}\n")
}

#[test]
fn a_clean_rule_has_no_diagnostics() {
    assert_eq!(messages(&(rule("a", "paths = ['/zz-one']") + &rule("b", "paths = ['/zz-two']"))), [""; 0]);
}

#[test]
fn a_literal_in_two_rules_is_reported() {
    assert_eq!(
        messages(&(rule("a", "paths = ['/zz', '/yy']") + &rule("b", "paths = ['/ZZ', '/xx']"))),
        ["x/b: paths: '/ZZ' is in 'x/a' too"]
    );
    assert_eq!(messages(&rule("a", "paths = ['/zz', '/ZZ']")), ["x/a: paths: '/ZZ' is listed twice"]);
    // The same word with another regex is another rule.
    let others = rule("a", "words = ['zzz']\nregex = 'zzza'") + &rule("b", "words = ['zzz']\nregex = 'zzzb'");
    assert_eq!(messages(&others), [""; 0]);
    let methods = rule("a", "paths = ['/zz']\nmethods = ['POST']") + &rule("b", "paths = ['/zz']\nmethods = ['PUT']");
    assert_eq!(messages(&methods), [""; 0]);
}

#[test]
fn a_redundant_rule_is_reported() {
    for (a, b) in [
        ("paths = ['/q/.zz/config']", "paths = ['/.zz']"),
        ("paths = ['/a/x.zz9']", "suffixes = ['.zz9']"),
        ("suffixes = ['.a.zz9']", "suffixes = ['.zz9']"),
        ("paths = ['/q/zzz/x']", "words = ['/zzz/']"),
        ("words = ['zzzy']", "words = ['zzz']"),
        ("agents = ['zzzy/1']", "agents = ['zzzy']"),
        (r"raw_prefixes = ['zzzy']", "raw_prefixes = ['zzz']"),
        ("paths = ['/q/zz']\nat = 'root'", "paths = ['/q']\nat = 'root'"),
    ] {
        assert_eq!(messages(&(rule("a", a) + &rule("b", b))), ["x/a: all it finds is found by 'x/b' already"], "{a}");
    }
    for (a, b) in [
        ("paths = ['/q/.zzconfig']", "paths = ['/.zz']"),
        ("paths = ['/q/zz']", "paths = ['/q']\nat = 'root'"),
        ("paths = ['/q/zzz/x']", "words = ['/zzz/']\nfields = ['query']"),
        ("paths = ['/q/zz/a']", "paths = ['/zz']\nmethods = ['POST']"),
        ("paths = ['/q/zz/a']\ncve = ['CVE-2020-1234']", "paths = ['/zz']"),
    ] {
        assert_eq!(messages(&(rule("a", a) + &rule("b", b))), [""; 0], "{a}");
    }
}

#[test]
fn a_redundant_literal_is_reported() {
    let rules = rule("a", "paths = ['/q/zz/a', '/yy']") + &rule("b", "paths = ['/zz']");
    assert_eq!(messages(&rules), ["x/a: paths: '/q/zz/a' is found by 'x/b' already"]);
    assert_eq!(messages(&rule("a", "paths = ['/zz', '/q/zz/a']")), ["x/a: paths: found by another one of the same list: '/q/zz/a by /zz'"]);
    assert_eq!(
        messages(&rule("a", "words = ['zzz', 'zzzy']\nregex = 'z'")),
        ["x/a: words: found by another one of the same list: 'zzzy by zzz'"]
    );
}

#[test]
fn common_literals_are_reported() {
    let messages =
        messages(&(rule("a", "words = ['?']\nmethods = ['PUT']") + &rule("b", "words = [' http/']") + &rule("c", "agents = ['gecko']")));
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert!(messages[0].starts_with("x/a: words: '?' occurs in ") && messages[2].starts_with("x/c: agents: 'gecko'"), "{messages:?}");
}

#[test]
fn metadata_is_checked() {
    let rules = "family = 'y'\n".to_owned()
        + &rule("a", "paths = ['/zz1']\ncve = ['CVE-1']\nattack = ['x']\ncwe = [0]\nreferences = ['owasp']").replace("'T'", "'small.'")
        + "[[rule]]\nid = 'y/none'\ntitle = ' '\nclass = 'panel'\nseverity = 'low'\nwords = ['zzz']\nregex = 'z*'\nmust_match = ['GET /zzz']\n";
    let messages = messages(&rules).join("\n");
    for part in [
        "x/a: the file's family is 'y'",
        "cve: 'CVE-1'",
        "attack: 'x'",
        "cwe: '0'",
        "references: 'owasp'",
        "begins with a lower-case letter",
        "y/none: it has 1 must_match and 0 must_not_match cases",
        "y/none: it has no title",
        "matches the empty text",
    ] {
        assert!(messages.contains(part), "{part} in {messages}");
    }
}

#[test]
fn exceptions_that_a_client_can_add_are_reported() {
    let of_class = |class: &str, keys: &str| messages(&rule("a", keys).replace("'panel'", &format!("'{class}'"))).join("\n");
    for (class, keys, what) in [
        ("sqli", "words = ['zzz']\nregex = 'zzz'\nunless = { referer = '://' }", "x/a: unless.referer: requests of class 'sqli'"),
        ("lfi", "paths = ['/zz']\nunless = { agents = ['bot9'] }", "x/a: unless.agents: requests of class 'lfi'"),
        ("xss", "words = ['zzz']\nunless = { words = ['yyy'] }", "in 'path', 'query', to which any client can add"),
        ("rce", "words = ['zzz']\nfields = ['path']\nunless = { regex = '^/yyy' }", "in 'path', to which any client can add"),
        ("panel", "paths = ['/zz']\nunless = { words = ['yyy'] }", "in 'query', to which any client can add"),
        ("panel", "paths = ['/zz']\nfields = ['referer']\nunless = { words = ['://'] }", "in 'referer', to which any client can add"),
        ("panel", "paths = ['/zz']\nfields = ['path']\nunless = { regex = '/yyy$' }", "a text anywhere in it"),
        ("panel", "paths = ['/zz']\nfields = ['path']\nunless = { words = ['/yyy'] }", "a text anywhere in it"),
    ] {
        let messages = of_class(class, keys);
        assert!(messages.contains(what), "{class} {keys}: {messages}");
    }
    for (class, keys) in [
        ("panel", "paths = ['/zz']\nunless = { referer = '://', agents = ['bot9'] }"),
        ("panel", "paths = ['/zz']\nstatuses = [404]\nunless = { words = ['yyy'] }"),
        ("panel", "paths = ['/zz']\nfields = ['path']\nunless = { regex = '^/yyy/zz$' }"),
        ("panel", "paths = ['/zz']\nanswer = 'inconclusive'\nfields = ['query']\nunless = { words = ['yyy'] }"),
        ("sqli", "words = ['zzz']\nregex = 'zzz'\nunless = { words = ['yyy'] }"),
    ] {
        assert_eq!(of_class(class, keys), "", "{class} {keys}");
    }
}

#[test]
fn catalogue_numbers_have_a_form() {
    for (text, expected) in
        [("CVE-2021-41773", true), ("CVE-2021-123", false), ("cve-2021-41773", false), ("CVE-21-41773", false), ("CVE-2021-4177x", false)]
    {
        assert_eq!(is_cve(text), expected, "{text}");
    }
    for (text, expected) in [("T1190", true), ("T1595.002", true), ("T119", false), ("1190", false), ("T1595.02", false)] {
        assert_eq!(is_technique(text), expected, "{text}");
    }
    assert!(is_page("https://owasp.org/a") && !is_page("owasp.org") && !is_page("https://a b"));
}

#[test]
fn each_alternative_is_anchored_or_none_is() {
    for (regex, expected) in
        [("^/a", true), ("^/a|^/b", true), ("^/(?:a|b)[|)]", true), (r"^/a\||/b", false), ("^/a|/b", false), ("/a", false), ("", false)]
    {
        assert_eq!(is_anchored(regex), expected, "{regex}");
    }
}
