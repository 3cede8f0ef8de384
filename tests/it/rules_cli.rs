//! Rules of one's own: lists of paths, `rules add`, `rules import`, `rules lint`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::rig::{Rig, line};

/// The ids of the rules that the lines of `access.log` match with these rules alone.
fn found(rig: &Rig, rules: &str) -> Vec<String> {
    let run = rig.run(["scan", "-f", "csv", "--by", "rule", "--no-builtin", "--rules", rules, "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.text().lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()).collect()
}

fn rig_with_log(requests: &[&str]) -> Rig {
    let rig = Rig::new();
    rig.file("access.log", requests.iter().map(|request| line("192.0.2.1", &format!("{request} HTTP/1.1"), 404)).collect::<String>());
    rig
}

#[test]
fn a_list_of_paths_is_a_rule_wherever_rules_are_named() {
    let rig = rig_with_log(&["GET /old/page.php", "GET /Sub/x", "GET /older"]);
    rig.file("My list.txt", "\u{feff}# ours\r\n\r\nold/page.php\r\n/sub/  # a folder\r\n");
    assert_eq!(found(&rig, "My list.txt"), ["own/my-list"]);
    let ndjson = rig.run(["scan", "-f", "ndjson", "--rules", "My list.txt", "--only", "own/my-list", "access.log"]);
    assert_eq!(ndjson.objects().len(), 2, "{}", ndjson.stderr);
    let show = rig.run(["rules", "show", "own/my-list", "--rules", "My list.txt"]).text();
    assert!(show.contains("class     exposure") && show.contains("severity  medium"), "{show}");
    let test = rig.run(["rules", "test", "My list.txt"]);
    assert!(test.code == 0 && test.text().contains("all passed"), "{}", test.stderr);
    assert_eq!(test.stderr, "");
    assert_eq!(rig.run(["rules", "lint", "My list.txt"]).text(), "1 rule: nothing odd\n");
}

#[test]
fn lists_are_found_in_folders() {
    let rig = rig_with_log(&["GET /one", "GET /two"]);
    fs::create_dir_all(rig.path("rules/deep")).unwrap();
    rig.file("rules/a.txt", "/one\n");
    rig.file("rules/deep/b.TXT", "/two\n");
    assert_eq!(found(&rig, "rules"), ["own/a", "own/b"]);
    rig.file("rules/deep/A.txt", "/three\n");
    let run = rig.run(["rules", "list", "--rules", "rules"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("a.txt") && run.stderr.contains("A.txt") && run.stderr.contains("rename one"), "{}", run.stderr);
}

#[test]
fn a_line_that_is_no_path_is_named() {
    let rig = rig_with_log(&[]);
    rig.file("bad.txt", "/fine\n/with?query\n\n/a b\n/\n");
    let run = rig.run(["scan", "--rules", "bad.txt", "access.log"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0));
    for part in ["bad.txt:2: '/with?query'", "bad.txt:4: '/a b'", "bad.txt:5: '/'"] {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
    rig.file("empty.txt", "# nothing\n");
    let run = rig.run(["rules", "list", "--rules", "empty.txt"]);
    assert!(run.code == 2 && run.stderr.contains("empty.txt: it holds no path"), "{}", run.stderr);
}

#[test]
fn a_path_becomes_a_rule_in_one_line() {
    let rig = rig_with_log(&["GET /old-admin.php", "GET /%6fld-admin.php?x=1", "GET /old-admin.php5"]);
    let run = rig.run(["rules", "add", "/old-admin.php", "--class", "panel"]);
    assert_eq!((run.code, run.text().as_str()), (0, "own/old-admin-php: 1 path added to probewatch-rules.toml (panel, medium)\n"));
    assert!(run.stderr.contains("probewatch scan --rules probewatch-rules.toml access.log"), "{}", run.stderr);
    assert_eq!(found(&rig, "probewatch-rules.toml"), ["own/old-admin-php"]);
    let rows = rig.run(["scan", "-f", "ndjson", "--no-builtin", "--rules", "probewatch-rules.toml", "access.log"]).objects();
    assert_eq!(rows.len(), 2);
    for what in ["test", "lint"] {
        let run = rig.run(["rules", what, "probewatch-rules.toml"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{what}: {}", run.text());
    }
}

#[test]
fn what_stands_in_a_rule_file_stays_byte_for_byte() {
    let rig = rig_with_log(&[]);
    let mine = "# my rules\r\nfamily = \"mine\"\r\n\r\n[[rule]]\r\nid = \"mine/a\"\r\ntitle = 'Mine' # yes\r\nclass = \"panel\"\r\nseverity='low'\r\n\
                paths = [ \"/mine-a\" ]\r\nmust_match = ['GET /mine-a', 'GET /x/mine-a']\r\nmust_not_match = ['GET /mine', 'GET /mine-b']";
    let path = rig.file("my.toml", mine);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("my.toml", rig.path("link.toml")).unwrap();
    let args = ["rules", "add", "/mine-b", "mine-c/", "--severity", "high", "--title", "Two of \"mine\"", "--file", "link.toml"];
    let run = rig.run(args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let now = fs::read_to_string(&path).unwrap();
    let added = now.strip_prefix(mine).unwrap();
    assert!(added.starts_with("\r\n\r\n[[rule]]\r\nid = \"mine/mine-b\"\r\n"), "{added}");
    assert_eq!(added.matches('\n').count(), added.matches("\r\n").count());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
    assert!(fs::symlink_metadata(rig.path("link.toml")).unwrap().is_symlink());
    // Of three files none is left over.
    assert_eq!(fs::read_dir(rig.path("")).unwrap().count(), 3);
    let again = rig.run(args);
    assert!(again.code == 0 && again.stderr.contains("already found by mine/mine-b (high)"), "{}", again.stderr);
    assert_eq!(fs::read_to_string(&path).unwrap(), now);
    assert_eq!(rig.run(["rules", "test", "my.toml"]).code, 0);
}

#[test]
fn a_path_that_is_found_already_is_not_added() {
    let rig = rig_with_log(&[]);
    let run = rig.run(["rules", "add", "/.env", "https://example.org/%2egit/config", "--severity", "critical", "--file", "my.toml"]);
    assert_eq!((run.code, run.stdout.len()), (0, 0));
    for part in
        ["/.env: already found by dotfiles/env (high)", "already found by vcs/git", "--severity dotfiles/env=critical", "nothing was added"]
    {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
    assert!(!rig.path("my.toml").exists());
}

#[test]
fn add_warns_of_what_ordinary_clients_ask_for() {
    let rig = rig_with_log(&[]);
    let run = rig.run(["rules", "add", "/index.html"]);
    assert!(run.code == 0 && run.stderr.contains("/index.html: ordinary clients request it too"), "{}", run.stderr);
}

#[test]
fn add_refuses_what_no_rule_can_be_made_of() {
    let rig = rig_with_log(&[]);
    rig.file("broken.toml", "[[rule]\n");
    rig.file("inline.toml", "rule = []\n");
    for (args, expected) in [
        (&["/x?y=1"][..], "holds a query"),
        (&["/"], "names no file"),
        (&["/zz", "--class", "pannel"], "'panel'"),
        (&["/zz", "--severity", "hihg"], "'high'"),
        (&["/zz", "--id", "dotfiles/env"], "a rule has this id"),
        (&["/zz", "--id", "No Id"], "family/name"),
        (&["/zz", "--file", "broken.toml"], "broken.toml"),
        (&["/zz", "--file", "inline.toml"], "inline.toml"),
        (&["/zz", "--file", "list.txt"], "name a .toml"),
    ] {
        let run = rig.run(["rules", "add"].iter().chain(args));
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{expected} in {}", run.stderr);
    }
    assert_eq!(fs::read_to_string(rig.path("inline.toml")).unwrap(), "rule = []\n");
    let run = rig.run(["rules", "add", "/zz", "--file", "no/such/folder.toml"]);
    assert!(run.code == 4 && run.stderr.contains("no/such/folder.toml"), "{}", run.stderr);
}

#[test]
fn an_import_says_what_it_left_out() {
    let rig = rig_with_log(&["GET /zz/a.php", "GET /?f=/etc/zzconf", "GET /?q=zzinject", "GET /ww/setup.cgi"]);
    fs::create_dir(rig.path("in")).unwrap();
    rig.file("in/paths.txt", "zz/a.php\n/index.html\n/q?x\n");
    rig.file("in/lfi-os-files.data", "# files\n/etc/zzconf\n");
    rig.file("in/rule.yml", "title: zz\nlogsource: {category: webserver}\ndetection: {k: [zzinject], condition: k}\nlevel: critical\n");
    rig.file("in/t.yaml", "id: t\ninfo: {name: T, severity: low}\nhttp: [{path: ['{{BaseURL}}/ww/setup.cgi', '{{BaseURL}}/{{x}}']}]\n");
    rig.file("in/notes.md", "no rules");
    let run = rig.run(["rules", "import", "in", "--file", "out.toml"]);
    assert_eq!((run.code, run.stdout.len()), (0, 0), "{}", run.stderr);
    for part in [
        "in/paths.txt: not carried over: ordinary clients request it too: line 2: /index.html",
        "in/t.yaml: not carried over: it holds a variable",
        "4 rules from 4 files; not carried over: 3",
        "probewatch rules lint out.toml",
    ] {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
    assert_eq!(found(&rig, "out.toml"), ["sigma/rule", "crs/lfi-os-files", "own/paths", "nuclei/t"]);
    for what in ["test", "lint"] {
        let run = rig.run(["rules", what, "out.toml"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{what}: {}", run.text());
    }
    // To standard output the same, and again into the same file.
    let text = fs::read_to_string(rig.path("out.toml")).unwrap();
    assert_eq!(rig.run(["rules", "import", "in"]).text(), text);
    assert_eq!(rig.run(["rules", "import", "in", "--file", "out.toml"]).code, 0);
    assert_eq!(fs::read_to_string(rig.path("out.toml")).unwrap(), text);
}

#[test]
fn an_import_replaces_no_file_of_ones_own() {
    let rig = rig_with_log(&[]);
    rig.file("paths.txt", "/zz\n");
    rig.file("mine.toml", "# mine\n");
    for (args, expected) in [
        (&["paths.txt", "--file", "mine.toml"][..], "mine.toml: this was not written by an import"),
        (&["gone.txt"], "gone.txt: cannot read"),
        (&["mine.toml", "--from", "sigma"], "nothing to import"),
        (&["paths.txt", "--from", "wordlst"], "'wordlist'"),
    ] {
        let run = rig.run(["rules", "import"].iter().chain(args));
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(expected), "{expected} in {}", run.stderr);
    }
    assert_eq!(fs::read_to_string(rig.path("mine.toml")).unwrap(), "# mine\n");
}

#[test]
fn hostile_names_and_texts_are_escaped() {
    let rig = rig_with_log(&[]);
    rig.file("a\u{1b}[2J.txt", "/x\u{1b}[2Jy\n/\u{202e}zz\n");
    rig.file("b.yml", "title: \"a\\e[2J\"\nlogsource: {category: webserver}\ndetection: {k: [\"\\e[2Jzz\"], condition: k}\n");
    // The rig looks at every byte that is printed.
    for args in [&["import", "a\u{1b}[2J.txt", "b.yml"][..], &["lint", "a\u{1b}[2J.txt"], &["add", "/\u{1b}[2J"]] {
        rig.run(["rules"].iter().chain(args));
    }
}

#[test]
fn lint_names_file_line_and_what_to_do() {
    let rig = rig_with_log(&[]);
    let rule = |id: &str, keys: &str| format!("[[rule]]\nid = '{id}'\ntitle = 'T'\nclass = 'panel'\nseverity = 'low'\n{keys}\n");
    rig.file(
        "x.toml",
        rule("x/a", "paths = ['/zz']")
            + &rule("x/b", "words = ['?']\nmust_match = ['GET /1', 'GET /2']\nmust_not_match = ['GET /', 'GET /']"),
    );
    let run = rig.run(["rules", "lint", "x.toml"]);
    assert_eq!(run.code, 2);
    assert!(
        run.text().contains("x.toml:2: warning: rule 'x/a': it has 0 must_match and 0 must_not_match cases; give it two of each"),
        "{}",
        run.text()
    );
    assert!(run.text().contains("x.toml:8: warning: rule 'x/b': words: '?' occurs in "), "{}", run.text());
    assert!(run.text().ends_with("2 rules: 2 problems\n"), "{}", run.text());
    let test = rig.run(["rules", "test", "--only", "x/a", "x.toml"]);
    assert!(test.code == 0 && test.stderr.contains("x/a: has no must_match cases"), "{}", test.stderr);
    let broken = rig.run(["rules", "lint", "gone.toml"]);
    assert!(broken.code == 2 && broken.stderr.contains("gone.toml"), "{}", broken.stderr);
}
