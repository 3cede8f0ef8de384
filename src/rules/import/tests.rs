//! What becomes of rules of other tools, on rules made for it.

use proptest::prelude::*;

use super::*;
use crate::engine::{Matcher, WorkerState};
use crate::log_entry::LogEntry;
use crate::rules::RuleSet;

fn imported(name: &str, text: &str) -> Import {
    let mut import = import(Path::new(name), text, None).unwrap();
    make_ids_unique(&mut import, &mut BTreeSet::new());
    import
}

fn left_out(import: &Import) -> Vec<&str> {
    import.left_out.0.keys().map(String::as_str).collect()
}

/// A Sigma rule with this detection.
fn sigma(detection: &str) -> Import {
    imported("web_test.yml", &format!("title: test\nlogsource:\n  category: webserver\nlevel: high\ndetection:\n{detection}"))
}

/// What the rules of an import say of requests.
struct CaseRunner(RuleSet);

impl CaseRunner {
    fn of(import: &Import) -> Self {
        let text: String = import.drafts.iter().map(RuleBuilder::to_toml).collect();
        Self(check(Path::new("x.toml"), &text).unwrap())
    }

    fn finds(&self, request: &str, status: u16, agent: &str) -> bool {
        let mut scratch = WorkerState::default();
        let request = format!("{request} HTTP/1.1");
        let record =
            LogEntry { request: request.as_bytes(), status: Some(status), user_agent: Some(agent.as_bytes()), ..LogEntry::default() };
        let verdict = Matcher::new(&self.0).match_uncached(&record, &mut scratch);
        !scratch.rules(verdict).is_empty()
    }
}

#[test]
fn sigma_rules_match_the_same_requests() {
    let cases = [
        ("  k: ['zz/y', 'qq']\n  condition: k", "GET /a/zz/y", "GET /zz"),
        ("  s:\n    cs-uri-query|contains|all: ['aaa', 'bbb']\n  condition: s", "GET /?x=bbb&y=aaa", "GET /?x=bbb"),
        ("  s:\n    cs-uri-query|startswith: '/zz/'\n  condition: s", "GET /zz/y", "GET /a/zz/y"),
        ("  s:\n    cs-uri-query: '*zzz?y*'\n  condition: s", "GET /?zzz1y2", "GET /?zzzy"),
        ("  s:\n    cs-uri-query|endswith: '/zz.x'\n  condition: s", "GET /a/zz.x", "GET /zz.xy"),
        ("  s:\n    cs-uri-stem|endswith: '.zz'\n  condition: s", "GET /a.zz?b", "GET /?a.zz"),
        ("  s:\n    cs-uri-stem|contains: '/zz/'\n  condition: s", "GET /a/zz/b", "GET /a/zzz/b"),
        ("  s:\n    cs-uri-stem: '/zz/y'\n  condition: s", "GET /zz/y?b", "GET /a/zz/y"),
        ("  s:\n    cs-uri-query|re: '/zz/[a-c]+\\.x'\n  condition: s", "GET /zz/abc.x", "GET /zz/d.x"),
        ("  s:\n    cs-method: PUT\n    cs-uri-stem|startswith: '/zz'\n  condition: s", "PUT /zzy", "GET /zzy"),
        (
            "  s:\n    cs-uri-query|contains: 'zzz'\n  f:\n    cs-uri-query|contains: 'yyy'\n  condition: s and not f",
            "GET /zzz",
            "GET /zzz?yyy",
        ),
        ("  s:\n    cs-uri-query|contains: '=select%20'\n  condition: s", "GET /?a=select%20b", "GET /?a=selected"),
        ("  a:\n    cs-uri-query|contains: 'aaa'\n  b:\n    cs-uri-query|contains: 'bbb'\n  condition: 1 of them", "GET /bbb", "GET /ccc"),
    ];
    for (detection, hit, miss) in cases {
        let import = sigma(detection);
        assert!(import.left_out.is_empty(), "{detection}: {:?}", import.left_out);
        let runner = CaseRunner::of(&import);
        assert!(runner.finds(hit, 404, "-") && !runner.finds(miss, 404, "-"), "{detection}: {}", import.drafts[0].to_toml());
    }
}

#[test]
fn sigma_statuses_and_agents_are_imported() {
    let runner = CaseRunner::of(&sigma("  s:\n    cs-uri-query|contains: 'zzz'\n    sc-status: [200, 301]\n  condition: s"));
    assert!(runner.finds("GET /zzz", 301, "-") && !runner.finds("GET /zzz", 404, "-"));
    let runner =
        CaseRunner::of(&sigma("  s:\n    cs-uri-query|contains: 'zzz'\n  filter:\n    sc-status: 404\n  condition: s and not filter"));
    assert!(runner.finds("GET /zzz", 500, "-") && !runner.finds("GET /zzz", 404, "-"));
    let runner = CaseRunner::of(&sigma("  s:\n    cs-user-agent|contains: ['eviltool', 'worse']\n  condition: s"));
    assert!(runner.finds("GET /", 200, "x Worse/1") && !runner.finds("GET /worse", 200, "Mozilla/5.0"));
    let runner = CaseRunner::of(&sigma("  s:\n    c-useragent: 'evil*tool'\n  condition: s"));
    assert!(runner.finds("GET /", 200, "evil big tool") && !runner.finds("GET /", 200, "an evil tool"));
}

#[test]
fn unsupported_sigma_features_are_reported() {
    for (detection, why) in [
        ("  s:\n    cs-cookie|contains: x\n  condition: s", "'cs-cookie'"),
        ("  s:\n    cs-uri-query|base64: x\n  condition: s", "'base64'"),
        ("  s:\n    cs-uri-query|contains: zzz\n  condition: s | count() > 10", "counts events"),
        ("  s:\n    cs-method: GET\n  condition: s", "nothing but a status"),
        ("  s:\n    cs-uri-query|contains: zzz\n    cs-referer|contains: yyy\n  condition: s", "two fields"),
        ("  s:\n    cs-uri-query|re: '[a-z]+'\n  condition: s", "three letters"),
        ("  s:\n    cs-uri-query|re: '(?=zzz)a'\n  condition: s", "look-around"),
        ("  s:\n    cs-uri-query|contains: zzz\n  f:\n    cs-method: GET\n  condition: s and not f", "`unless`"),
        ("  s:\n    cs-uri-query|contains|all: [aaa, bbb, ccc, ddd]\n  condition: s", "more than 3"),
        ("  s:\n    cs-uri-query|contains: 'zz%2'\n  condition: s", "within an escape"),
        ("  s:\n    cs-uri-query: ''\n  condition: s", "empty"),
    ] {
        let import = sigma(detection);
        assert!(import.drafts.is_empty() && left_out(&import).iter().any(|w| w.contains(why)), "{detection}: {:?}", import.left_out);
    }
    let proxy = imported("p.yml", "title: t\nlogsource: {category: proxy}\ndetection: {a: [x], condition: a}");
    assert!(left_out(&proxy)[0].contains("'proxy'"));
    assert!(import(Path::new("x.yml"), "a: b", None).unwrap_err().contains("neither"));
}

#[test]
fn templates_are_paths_queries_and_methods() {
    let text = "id: CVE-2020-12345\ninfo:\n  name: some panel\n  severity: high\n  classification:\n    cve-id: CVE-2020-12345\n    cwe-id: CWE-22,CWE-79\n\
        http:\n- method: GET\n  path:\n  - '{{BaseURL}}/zz/a.php'\n  - '{{BaseURL}}/zz/b.php'\n  - '{{BaseURL}}/zz/c.php?x=1&file=../../y'\n  \
        - '{{BaseURL}}'\n  - '{{BaseURL}}/login'\n  - '{{BaseURL}}/zz/{{user}}'\n- raw:\n  - |\n    POST /zz/d HTTP/1.1\n    Host: x\n";
    let import = imported("x.yaml", text);
    let ids: Vec<_> = import.drafts.iter().map(|d| d.id.as_str()).collect();
    assert_eq!(ids, ["nuclei/cve-2020-12345", "nuclei/cve-2020-12345-2", "nuclei/cve-2020-12345-3"]);
    let first = &import.drafts[0];
    assert_eq!((first.class.as_str(), first.title.as_str(), first.severity.as_str()), ("panel", "Some panel", "high"));
    assert_eq!((&first.cve[..], &first.cwe[..]), (&["CVE-2020-12345".to_owned()][..], &[22, 79][..]));
    assert_eq!(left_out(&import), ["everyone asks for '/'", "it holds a variable", "ordinary clients ask for it too"]);
    let runner = CaseRunner::of(&import);
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
    assert!(left_out(&network)[0].contains("nothing over HTTP"));
}

#[test]
fn path_tricks_of_a_template_are_kept() {
    let runner = CaseRunner::of(&imported("x.yaml", "id: a\ninfo: {name: x}\nhttp: [{path: ['{{BaseURL}}/..;/manager/html']}]"));
    assert!(runner.finds("GET /..;/manager/html", 404, "-") && !runner.finds("GET /manager/html", 404, "-"));
}

#[test]
fn data_files_are_words_by_their_name() {
    let import = imported("lfi-os-files.data", "# words\n/etc/zz\nab\nproc%2Fzz\n");
    assert_eq!((import.drafts[0].class.as_str(), &import.drafts[0].words[..]), ("lfi", &["/etc/zz".to_owned(), "proc/zz".into()][..]));
    assert_eq!(import.left_out.len(), 1);
    let agents = imported("scanners-user-agents.data", "eviltool\n");
    assert!(CaseRunner::of(&agents).finds("GET /", 200, "EvilTool/1") && !CaseRunner::of(&agents).finds("GET /eviltool", 200, "-"));
    assert!(imported("sql-errors.data", "x\n").drafts.is_empty());
}

#[test]
fn a_second_rule_of_a_name_gets_a_number() {
    let mut taken = BTreeSet::new();
    let ids: Vec<_> = (0..2)
        .map(|_| {
            let mut import = import(Path::new("a.txt"), "/zz\n", None).unwrap();
            make_ids_unique(&mut import, &mut taken);
            import.drafts.remove(0).id
        })
        .collect();
    assert_eq!(ids, ["own/a", "own/a-2"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever a list holds, the rule made of it loads and passes its own cases.
    #[test]
    fn any_word_list_is_a_rule_that_loads_and_holds(lines in prop::collection::vec("(?s)([a-z/.%0-9;?#*&\\\\ é\"']{0,12}|.{0,8})", 0..12)) {
        let text = lines.join("\n");
        let import = imported("list.txt", &text);
        prop_assert!(import.drafts.len() <= 1);
        for draft in &import.drafts {
            prop_assert_eq!(&draft.id, "own/list");
            let runner = CaseRunner::of(&import);
            for hit in &draft.must_match {
                prop_assert!(runner.finds(&hit.request, 404, "-"), "{:?} {:?}", hit, draft.paths);
            }
            for miss in &draft.must_not_match {
                prop_assert!(!runner.finds(&miss.request, 404, "-"), "{:?} {:?}", miss, draft.paths);
            }
        }
    }

    /// Whatever a file holds, it is read to its end.
    #[test]
    fn any_yaml_and_any_data_are_read(text in "(?s)[a-z:{}\\[\\]&*|>!%@ \n'\"-]{0,80}") {
        for name in ["x.yml", "x.data"] {
            if let Ok(mut import) = import(Path::new(name), &text, None) {
                make_ids_unique(&mut import, &mut BTreeSet::new());
                let _ = CaseRunner::of(&import);
            }
        }
    }
}
