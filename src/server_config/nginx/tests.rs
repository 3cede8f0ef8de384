//! What is read out of nginx configurations.

use crate::server_config::fixture::{self, ConfigFixture};
use crate::server_config::nginx::*;

const MAIN: &str = r#"log_format main '$remote_addr [$time_local] "$request" ' '$status';"#;

fn read(files: ConfigFixture<'_>) -> Result<ConfiguredLogs, String> {
    fixture::read(files, "nginx.conf", read_nginx)
}

fn one(text: &str) -> Result<ConfiguredLogs, String> {
    read(&[("nginx.conf", text)])
}

/// Paths and places of what is found.
fn places(logs: &ConfiguredLogs) -> Vec<(&str, &str)> {
    logs.found.iter().map(|log| (log.path.to_str().unwrap(), log.from.as_str())).collect()
}

#[test]
fn logs_of_every_level_with_their_formats() {
    let text = format!(
        "user www-data; # access_log /no;\nhttp {{\n access_log /l/a main buffer=32k flush=5s;\n {MAIN}\n \
         log_format api escape=json '{{\"a\":\"$remote_addr\"}}';\n log_format raw escape=none \"$request\\t$status\";\n \
         server {{ access_log \"/l/b c\" api; access_log /l/d raw;\n location / {{ if ($x) {{ access_log /l/e combined; }} }} }}\n \
         server {{ access_log /l/f; }} }}\n"
    );
    let logs = one(&text).unwrap();
    let places = places(&logs);
    assert_eq!(
        places,
        [
            ("/l/a", "nginx.conf:3"),
            ("/l/b c", "nginx.conf:7"),
            ("/l/d", "nginx.conf:7"),
            ("/l/e", "nginx.conf:8"),
            ("/l/f", "nginx.conf:9")
        ]
    );
    let nginx = |escape, text: &str| ConfiguredFormat::Nginx { escape, text: text.to_owned() };
    assert_eq!(logs.found[0].format, nginx(LogFormatEscape::Default, "$remote_addr [$time_local] \"$request\" $status"));
    assert_eq!(logs.found[1].format, nginx(LogFormatEscape::Json, "{\"a\":\"$remote_addr\"}"));
    assert_eq!(logs.found[2].format, nginx(LogFormatEscape::None, "$request\t$status"));
    assert_eq!(
        (&logs.found[3].format, &logs.found[4].format),
        (&ConfiguredFormat::Named("combined"), &ConfiguredFormat::Named("combined"))
    );
    assert!(logs.notices.is_empty(), "{:?}", logs.notices);
}

#[test]
fn includes_lead_on_from_the_folder_of_the_configuration() {
    let logs = read(&[
        ("nginx.conf", "include modules/*.conf;\nhttp { include mime.types; include conf.d/*.conf; include sites/*; }"),
        ("mime.types", "types { text/html html; }"),
        ("conf.d/b.conf", "access_log /l/b main;"),
        ("conf.d/a.conf", "include snippets/formats.conf;"),
        ("conf.d/.hidden.conf", "access_log /l/hidden;"),
        ("snippets/formats.conf", MAIN),
        ("sites/x", "server {\n access_log logs/x main; }"),
    ]);
    let logs = logs.unwrap();
    assert_eq!(places(&logs), [("/l/b", "conf.d/b.conf:1"), ("logs/x", "sites/x:2")]);
}

#[test]
fn a_server_that_says_nothing_writes_the_default_log() {
    for (text, has_default) in [
        ("http { server { listen 80; } }", true),
        ("http { server { location / { access_log /l/a; } } }", true),
        ("http { server { access_log /l/a; } }", false),
        ("http { access_log /l/a; server { } }", false),
        ("http { access_log off; server { access_log /l/a; } server { } }", false),
        ("server { access_log /l/a; }", false),
    ] {
        let logs = one(text).unwrap();
        let default = logs.found.iter().any(|log| log.path == Path::new("/var/log/nginx/access.log"));
        assert_eq!(default, has_default, "{text}: {logs:?}");
    }
}

#[test]
fn what_no_file_holds_is_left_alone_and_said() {
    let text = "http {\n access_log /l/a;\n access_log syslog:server=10.0.0.1 combined;\n access_log off;\n server { access_log off; }\n \
                access_log /dev/stdout;\n access_log $root/x.log;\n access_log /l/$host.log;\n access_log /l/c combined if=$loggable;\n \
                access_log /l/z.gz combined gzip=4;\n}\nstream { server { access_log /l/s basic; } }\n";
    let logs = one(text).unwrap();
    assert_eq!(
        logs.notices,
        [
            "nginx.conf:3: access_log syslog:server=10.0.0.1 goes to the system's log; left alone",
            "nginx.conf:4: access_log off: what is asked here is in no log (and in 1 more place)",
            "nginx.conf:6: access_log /dev/stdout goes to a device; left alone",
            "nginx.conf:7: access_log $root/x.log: the folder is known to the server only; left alone, name the logs themselves",
            "nginx.conf:8: access_log /l/$host.log: its variables are known to the server only; taken as a pattern",
            "nginx.conf:9: access_log /l/c holds only requests for which $loggable is neither 0 nor empty",
            "nginx.conf:10: access_log /l/z.gz is written packed: it can be scanned, but not followed",
            "nginx.conf:12: an access_log of stream holds connections, not requests; left alone",
        ]
    );
    let paths: Vec<_> = logs.found.iter().map(|log| log.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["/l/a", "/l/*.log", "/l/c", "/l/z.gz"]);
    assert!(logs.found[0].note.is_none() && logs.found[2].note.as_ref().unwrap().contains("$loggable"));
}

#[test]
fn a_log_in_two_formats_is_found_twice_and_one_in_one_format_once() {
    let text = format!(
        "http {{ {MAIN} server {{ access_log /l/a main; }} server {{ access_log /l/a; }} server {{ access_log /l/a main if=$x; }} }}"
    );
    let logs = one(&text).unwrap();
    assert_eq!(logs.found.len(), 2);
    // The first server writes all of its requests there.
    assert!(logs.found.iter().all(|log| log.note.is_none()));
}

#[test]
fn what_is_wrong_names_the_place_and_what_to_type() {
    let circle = [("nginx.conf", "http { include a.conf; }"), ("a.conf", "include a.conf;")];
    let cases: [(ConfigFixture<'_>, &str, &str); 7] = [
        (&[("nginx.conf", "http {\n access_log /l/a main; }")], "nginx.conf:2: no log_format", "--log-format"),
        (&[("nginx.conf", "http {\n include gone.conf; }")], "nginx.conf:2: includes gone.conf, which cannot", "name the logs themselves"),
        (&[("nginx.conf", "http {\n\n access_log /l/a }")], "nginx.conf:3: a '}'", "--from-nginx=CONF"),
        (&[("nginx.conf", "http {\n access_log off; }")], "no access log is named", "nginx.conf:2: access_log off"),
        (&[("nginx.conf", "192.0.2.1 - - [x] \"GET / HTTP/1.1\" 200 1\n")], "nginx.conf:1: a directive that no ';' ends", "nginx would"),
        (&[("other.conf", "")], "nginx.conf: cannot read", "--from-nginx=CONF"),
        (&circle, "a.conf:1: includes that go round in a circle", "--from-nginx=CONF"),
    ];
    for (files, what, advice) in cases {
        let text = read(files).unwrap_err();
        assert!(text.contains(what) && text.contains(advice), "{text}");
    }
}
