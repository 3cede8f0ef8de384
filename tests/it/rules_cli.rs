//! Custom rules: lists of paths, `rules add`, `rules import`, `rules lint`.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::harness::{Harness, line};

/// The IDs of the rules that match lines of `access.log`, with these rules alone.
fn found(harness: &Harness, rules: &str) -> Vec<String> {
    let run = harness.run([
        "scan",
        "-f",
        "csv",
        "--by",
        "rule",
        "--no-builtin",
        "--rules",
        rules,
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.text()
        .lines()
        .skip(1)
        .map(|row| row.split(',').next().unwrap().to_owned())
        .collect()
}

fn harness_with_log(requests: &[&str]) -> Harness {
    let harness = Harness::new();
    harness.file(
        "access.log",
        requests
            .iter()
            .map(|request| line("192.0.2.1", &format!("{request} HTTP/1.1"), 404))
            .collect::<String>(),
    );
    harness
}

#[test]
fn a_list_of_paths_is_accepted_as_a_rule_file() {
    let harness = harness_with_log(&["GET /old/page.php", "GET /Sub/x", "GET /older"]);
    harness.file(
        "My list.txt",
        "\u{feff}# ours\r\n\r\nold/page.php\r\n/sub/  # a folder\r\n",
    );
    assert_eq!(found(&harness, "My list.txt"), ["own/my-list"]);
    let ndjson = harness.run([
        "scan",
        "-f",
        "ndjson",
        "--rules",
        "My list.txt",
        "--only",
        "own/my-list",
        "access.log",
    ]);
    assert_eq!(ndjson.objects().len(), 2, "{}", ndjson.stderr);
    let show = harness
        .run(["rules", "show", "own/my-list", "--rules", "My list.txt"])
        .text();
    assert!(
        show.contains("class     exposure") && show.contains("severity  medium"),
        "{show}"
    );
    let test = harness.run(["rules", "test", "My list.txt"]);
    assert!(
        test.code == 0 && test.text().contains("all passed"),
        "{}",
        test.stderr
    );
    assert_eq!(test.stderr, "");
    assert_eq!(
        harness.run(["rules", "lint", "My list.txt"]).text(),
        "1 rule: no problems\n"
    );
}

#[test]
fn lists_in_folders_are_found() {
    let harness = harness_with_log(&["GET /one", "GET /two"]);
    fs::create_dir_all(harness.path("rules/deep")).unwrap();
    harness.file("rules/a.txt", "/one\n");
    harness.file("rules/deep/b.TXT", "/two\n");
    assert_eq!(found(&harness, "rules"), ["own/a", "own/b"]);
    harness.file("rules/deep/A.txt", "/three\n");
    let run = harness.run(["rules", "list", "--rules", "rules"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("a.txt")
            && run.stderr.contains("A.txt")
            && run.stderr.contains("rename one"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_line_without_a_path_is_reported() {
    let harness = harness_with_log(&[]);
    harness.file("bad.txt", "/fine\n/with?query\n\n/a b\n/\n");
    let run = harness.run(["scan", "--rules", "bad.txt", "access.log"]);
    assert_eq!((run.code, run.stdout.len()), (2, 0));
    for part in [
        "bad.txt:2: '/with?query'",
        "bad.txt:4: '/a b'",
        "bad.txt:5: '/'",
    ] {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
    harness.file("empty.txt", "# nothing\n");
    let run = harness.run(["rules", "list", "--rules", "empty.txt"]);
    assert!(
        run.code == 2 && run.stderr.contains("empty.txt: it holds no path"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_path_becomes_a_rule_in_one_line() {
    let harness = harness_with_log(&[
        "GET /old-admin.php",
        "GET /%6fld-admin.php?x=1",
        "GET /old-admin.php5",
    ]);
    let run = harness.run(["rules", "add", "/old-admin.php", "--class", "panel"]);
    assert_eq!(
        (run.code, run.text().as_str()),
        (
            0,
            "own/old-admin-php: 1 path added to probewatch-rules.toml (panel, medium)\n"
        )
    );
    assert!(
        run.stderr
            .contains("probewatch scan --rules probewatch-rules.toml access.log"),
        "{}",
        run.stderr
    );
    assert_eq!(
        found(&harness, "probewatch-rules.toml"),
        ["own/old-admin-php"]
    );
    let rows = harness
        .run([
            "scan",
            "-f",
            "ndjson",
            "--no-builtin",
            "--rules",
            "probewatch-rules.toml",
            "access.log",
        ])
        .objects();
    assert_eq!(rows.len(), 2);
    for what in ["test", "lint"] {
        let run = harness.run(["rules", what, "probewatch-rules.toml"]);
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (0, ""),
            "{what}: {}",
            run.text()
        );
    }
}

#[test]
fn existing_rules_are_kept_byte_for_byte() {
    let harness = harness_with_log(&[]);
    let mine = "# my rules\r\nfamily = \"mine\"\r\n\r\n[[rule]]\r\nid = \"mine/a\"\r\ntitle = 'Mine' # yes\r\nclass = \"panel\"\r\nseverity='low'\r\n\
                paths = [ \"/mine-a\" ]\r\nmust_match = ['GET /mine-a', 'GET /x/mine-a']\r\nmust_not_match = ['GET /mine', 'GET /mine-b']";
    let path = harness.file("my.toml", mine);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    symlink("my.toml", harness.path("link.toml")).unwrap();
    let args = [
        "rules",
        "add",
        "/mine-b",
        "mine-c/",
        "--severity",
        "high",
        "--title",
        "Two of \"mine\"",
        "--file",
        "link.toml",
    ];
    let run = harness.run(args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let now = fs::read_to_string(&path).unwrap();
    let added = now.strip_prefix(mine).unwrap();
    assert!(
        added.starts_with("\r\n\r\n[[rule]]\r\nid = \"mine/mine-b\"\r\n"),
        "{added}"
    );
    assert_eq!(added.matches('\n').count(), added.matches("\r\n").count());
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o644
    );
    assert!(
        fs::symlink_metadata(harness.path("link.toml"))
            .unwrap()
            .is_symlink()
    );
    // Nothing is left of the three files.
    assert_eq!(fs::read_dir(harness.path("")).unwrap().count(), 3);
    let again = harness.run(args);
    assert!(
        again.code == 0 && again.stderr.contains("already found by mine/mine-b (high)"),
        "{}",
        again.stderr
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), now);
    assert_eq!(harness.run(["rules", "test", "my.toml"]).code, 0);
}

#[test]
fn a_path_that_matches_already_is_not_added() {
    let harness = harness_with_log(&[]);
    let run = harness.run([
        "rules",
        "add",
        "/.env",
        "https://example.org/%2egit/config",
        "--severity",
        "critical",
        "--file",
        "my.toml",
    ]);
    assert_eq!((run.code, run.stdout.len()), (0, 0));
    for part in [
        "/.env: already found by dotfiles/env (high)",
        "already found by vcs/git",
        "--severity dotfiles/env=critical",
        "nothing was added",
    ] {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
    assert!(!harness.path("my.toml").exists());
}

#[test]
fn add_warns_about_paths_of_normal_clients() {
    let harness = harness_with_log(&[]);
    let run = harness.run(["rules", "add", "/index.html"]);
    assert!(
        run.code == 0
            && run
                .stderr
                .contains("/index.html: ordinary clients request it too"),
        "{}",
        run.stderr
    );
}

#[test]
fn add_refuses_invalid_paths() {
    let harness = harness_with_log(&[]);
    harness.file("broken.toml", "[[rule]\n");
    harness.file("inline.toml", "rule = []\n");
    for (args, expected) in [
        (&["/x?y=1"][..], "holds a query"),
        (&["/"], "names no file"),
        (&["/zz", "--class", "pannel"], "'panel'"),
        (&["/zz", "--severity", "hihg"], "'high'"),
        (&["/zz", "--id", "dotfiles/env"], "a rule has this ID"),
        (&["/zz", "--id", "No Id"], "family/name"),
        (&["/zz", "--file", "broken.toml"], "broken.toml"),
        (&["/zz", "--file", "inline.toml"], "inline.toml"),
        (&["/zz", "--file", "list.txt"], "name a .toml"),
    ] {
        let run = harness.run(["rules", "add"].iter().chain(args));
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(expected),
            "{expected} in {}",
            run.stderr
        );
    }
    assert_eq!(
        fs::read_to_string(harness.path("inline.toml")).unwrap(),
        "rule = []\n"
    );
    let run = harness.run(["rules", "add", "/zz", "--file", "no/such/folder.toml"]);
    assert!(
        run.code == 4 && run.stderr.contains("no/such/folder.toml"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_import_reports_what_it_left_out() {
    let harness = harness_with_log(&[
        "GET /zz/a.php",
        "GET /?f=/etc/zzconf",
        "GET /?q=zzinject",
        "GET /ww/setup.cgi",
    ]);
    fs::create_dir(harness.path("in")).unwrap();
    harness.file("in/paths.txt", "zz/a.php\n/index.html\n/q?x\n");
    harness.file("in/lfi-os-files.data", "# files\n/etc/zzconf\n");
    harness.file("in/rule.yml", "title: zz\nlogsource: {category: webserver}\ndetection: {k: [zzinject], condition: k}\nlevel: critical\n");
    harness.file("in/t.yaml", "id: t\ninfo: {name: T, severity: low}\nhttp: [{path: ['{{BaseURL}}/ww/setup.cgi', '{{BaseURL}}/{{x}}']}]\n");
    harness.file("in/notes.md", "no rules");
    let run = harness.run(["rules", "import", "in", "--file", "out.toml"]);
    assert_eq!((run.code, run.stdout.len()), (0, 0), "{}", run.stderr);
    for part in [
        "in/paths.txt: not carried over: ordinary clients request it too: line 2: /index.html",
        "in/t.yaml: not carried over: it holds a variable",
        "4 rules from 4 files; not carried over: 3",
        "probewatch rules lint out.toml",
    ] {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
    assert_eq!(
        found(&harness, "out.toml"),
        ["sigma/rule", "crs/lfi-os-files", "own/paths", "nuclei/t"]
    );
    for what in ["test", "lint"] {
        let run = harness.run(["rules", what, "out.toml"]);
        assert_eq!(
            (run.code, run.stderr.as_str()),
            (0, ""),
            "{what}: {}",
            run.text()
        );
    }
    // The same to standard output, and again to the same file.
    let text = fs::read_to_string(harness.path("out.toml")).unwrap();
    assert_eq!(harness.run(["rules", "import", "in"]).text(), text);
    assert_eq!(
        harness
            .run(["rules", "import", "in", "--file", "out.toml"])
            .code,
        0
    );
    assert_eq!(fs::read_to_string(harness.path("out.toml")).unwrap(), text);
}

#[test]
fn an_import_replaces_only_imported_files() {
    let harness = harness_with_log(&[]);
    harness.file("paths.txt", "/zz\n");
    harness.file("mine.toml", "# mine\n");
    for (args, expected) in [
        (
            &["paths.txt", "--file", "mine.toml"][..],
            "mine.toml: this was not written by an import",
        ),
        (&["gone.txt"], "gone.txt: cannot read"),
        (&["mine.toml", "--from", "sigma"], "nothing to import"),
        (&["paths.txt", "--from", "wordlst"], "'wordlist'"),
    ] {
        let run = harness.run(["rules", "import"].iter().chain(args));
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(
            run.stderr.contains(expected),
            "{expected} in {}",
            run.stderr
        );
    }
    assert_eq!(
        fs::read_to_string(harness.path("mine.toml")).unwrap(),
        "# mine\n"
    );
}

#[test]
fn hostile_names_and_texts_are_escaped() {
    let harness = harness_with_log(&[]);
    harness.file("a\u{1b}[2J.txt", "/x\u{1b}[2Jy\n/\u{202e}zz\n");
    harness.file("b.yml", "title: \"a\\e[2J\"\nlogsource: {category: webserver}\ndetection: {k: [\"\\e[2Jzz\"], condition: k}\n");
    // The harness checks every byte of the output.
    for args in [
        &["import", "a\u{1b}[2J.txt", "b.yml"][..],
        &["lint", "a\u{1b}[2J.txt"],
        &["add", "/\u{1b}[2J"],
    ] {
        harness.run(["rules"].iter().chain(args));
    }
}

#[test]
fn lint_reports_file_line_and_advice() {
    let harness = harness_with_log(&[]);
    let rule = |id: &str, keys: &str| {
        format!("[[rule]]\nid = '{id}'\ntitle = 'T'\nclass = 'panel'\nseverity = 'low'\n{keys}\n")
    };
    harness.file(
        "x.toml",
        rule("x/a", "paths = ['/zz']")
            + &rule("x/b", "words = ['?']\nmust_match = ['GET /1', 'GET /2']\nmust_not_match = ['GET /', 'GET /']"),
    );
    let run = harness.run(["rules", "lint", "x.toml"]);
    assert_eq!(run.code, 2);
    assert!(
        run.text().contains("x.toml:2: warning: rule 'x/a': it has 0 must_match and 0 must_not_match cases; give it two of each"),
        "{}",
        run.text()
    );
    assert!(
        run.text()
            .contains("x.toml:8: warning: rule 'x/b': words: '?' occurs in "),
        "{}",
        run.text()
    );
    assert!(
        run.text().ends_with("2 rules: 2 problems\n"),
        "{}",
        run.text()
    );
    let test = harness.run(["rules", "test", "--only", "x/a", "x.toml"]);
    assert!(
        test.code == 0 && test.stderr.contains("x/a: has no must_match cases"),
        "{}",
        test.stderr
    );
    let broken = harness.run(["rules", "lint", "gone.toml"]);
    assert!(
        broken.code == 2 && broken.stderr.contains("gone.toml"),
        "{}",
        broken.stderr
    );
}

#[test]
fn exported_rules_are_the_built_in_ones_for_this_program_and_later_ones() {
    let harness = harness_with_log(&[
        "GET /.env",
        "GET /?id=1'+union+select+1",
        "GET /wp-login.php/",
        "GET /about",
    ]);
    assert_eq!(harness.run(["rules", "export", "rules"]).code, 0);
    let findings = |rules: &[&str]| {
        harness
            .run(
                ["scan", "-f", "ndjson"]
                    .iter()
                    .chain(rules)
                    .chain(&["access.log"]),
            )
            .stdout
    };
    assert_eq!(
        findings(&["--no-builtin", "--rules", "rules"]),
        findings(&[])
    );
    assert!(!findings(&[]).is_empty());

    let again = harness.run(["rules", "export", "rules"]);
    assert!(
        again.code == 4
            && again
                .stderr
                .contains("rules: it is not empty; name a new folder"),
        "{}",
        again.stderr
    );

    let rule = "requires = \"99.0.0\"\nunheard = 1\n[[rule]]\nid = 'x/y'\n";
    harness.file("new.toml", rule);
    let run = harness.run(["scan", "--rules", "new.toml", "access.log"]);
    assert!(
        run.code == 2
            && run
                .stderr
                .contains("need probewatch 99.0.0 or later, and this is 0."),
        "{}",
        run.stderr
    );
}

/// J8. Rules come with the program or from files that are named, and never from the net: an address
/// is the name of a file that is not there, and nobody is connected to. What would promise that a
/// file was checked is no key of one.
#[test]
fn j8_no_rule_comes_from_elsewhere() {
    let harness = harness_with_log(&["GET /.env"]);
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let address = format!("http://{}/rules.toml", server.local_addr().unwrap());
    let runs: [&[&str]; 5] = [
        &["scan", "--rules", &address, "access.log"],
        &["rules", "import", &address],
        &["rules", "test", &address],
        &["rules", "lint", &address],
        &["rules", "cover", &address],
    ];
    for args in runs {
        let run = harness.run(args);
        assert_eq!(
            (run.code, run.stdout.len()),
            (2, 0),
            "{args:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(&address), "{args:?}: {}", run.stderr);
    }
    assert_eq!(server.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    let rule =
        "[[rule]]\nid = 'x/y'\ntitle = 'T'\nclass = 'panel'\nseverity = 'high'\npaths = ['/y']\n";
    for key in ["sha256", "signature", "url"] {
        for text in [
            format!("{key} = '0'\n{rule}"),
            format!("{rule}{key} = '0'\n"),
        ] {
            harness.file("rules.toml", text);
            let run = harness.run(["scan", "--rules", "rules.toml", "access.log"]);
            assert_eq!((run.code, run.stdout.len()), (2, 0), "{key}");
            assert!(
                run.stderr.contains("rules.toml") && run.stderr.contains(key),
                "{}",
                run.stderr
            );
        }
    }
}
