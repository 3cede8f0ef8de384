//! Tests of reading Apache configurations.

use std::fs;

use super::*;
use crate::server_config::fixture::{self, ConfigFixture, folder};

const COMBINED: &str = r#"LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined"#;
const COMBINED_TEXT: &str = r#"%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#;

/// Reads the first of these files.
fn read(files: ConfigFixture<'_>) -> Result<ConfiguredLogs, String> {
    fixture::read(files, files[0].0, read_apache)
}

fn read_text(text: &str) -> Result<ConfiguredLogs, String> {
    read(&[("apache2.conf", text)])
}

fn paths(logs: &ConfiguredLogs) -> Vec<&str> {
    logs.logs.iter().map(|log| log.path.to_str().unwrap()).collect()
}

#[test]
fn debian_default_configuration() {
    let logs = read(&[
        (
            "apache2.conf",
            &format!(
                "DefaultRuntimeDir ${{APACHE_RUN_DIR}}\nErrorLog ${{APACHE_LOG_DIR}}/error.log\nIncludeOptional mods-enabled/*.load\n\
                      {COMBINED}\nIncludeOptional conf-enabled/*.conf\nIncludeOptional sites-enabled/*.conf\n"
            ),
        ),
        ("envvars", "export APACHE_LOG_DIR=/var/log/apache2$SUFFIX\n"),
        ("conf-enabled/other.conf", "CustomLog ${APACHE_LOG_DIR}/other_vhosts_access.log combined\n"),
        (
            "sites-enabled/000-default.conf",
            "<VirtualHost *:80>\n\t# CustomLog /no combined\n\tCustomLog ${APACHE_LOG_DIR}/access.log combined\n</VirtualHost>\n",
        ),
    ])
    .unwrap();
    assert_eq!(paths(&logs), ["/var/log/apache2/other_vhosts_access.log", "/var/log/apache2/access.log"]);
    assert!(logs.logs.iter().all(|log| log.format == ConfiguredFormat::Apache(COMBINED_TEXT.to_owned())), "{logs:?}");
    assert_eq!(logs.logs[1].location, "sites-enabled/000-default.conf:3");
    assert!(logs.notices.is_empty(), "{:?}", logs.notices);
}

#[test]
fn red_hat_default_configuration() {
    let folder = folder(&[
        ("conf/httpd.conf", ""),
        ("conf.d/a.conf", "<IfModule !mod_x.c>\nTransferLog logs/a_log\n</IfModule>\n"),
        ("conf.d/b.conf", "<VirtualHost *>\nLogFormat \"%h b\"\nTransferLog logs/b_log\n</VirtualHost>\n"),
    ]);
    let conf = folder.path().join("conf/httpd.conf");
    let text = format!(
        "ServerRoot \"{}\"\n<IfModule log_config_module>\n  <IfModule logio_module>\n  LogFormat \"%h %I\" io\n  </IfModule>\n  \
         CustomLog \"logs/access_log\" \\\n    io\n</IfModule>\nIncludeOptional conf.d/*.conf\n",
        folder.path().display()
    );
    fs::write(&conf, text).unwrap();
    let logs = read_apache(&conf).unwrap();
    let formats: Vec<_> =
        logs.logs.iter().map(|log| (log.path.strip_prefix(folder.path()).unwrap().to_str().unwrap(), &log.format)).collect();
    let apache = |text: &str| ConfiguredFormat::Apache(text.to_owned());
    assert_eq!(
        formats,
        [("logs/access_log", &apache("%h %I")), ("logs/a_log", &ConfiguredFormat::Named("common")), ("logs/b_log", &apache("%h b"))]
    );
}

#[test]
fn formats_are_resolved_last_and_per_site() {
    let text = "CustomLog /l/a x\nCustomLog /l/b \"%h \\\"%r\\\"\\t%>s\"\n<VirtualHost *>\nLogFormat \"%a site\" x\nCustomLog /l/c x\nGlobalLog /l/d y\n\
                </VirtualHost>\nLogFormat \"%h main\" x\nLogFormat \"%h y\" y\nCustomLog /l/e vhost_combined\n";
    let logs = read_text(text).unwrap();
    let formats: Vec<_> = logs.logs.iter().map(|log| log.format.clone()).collect();
    let apache = |text: &str| ConfiguredFormat::Apache(text.to_owned());
    let expected =
        [apache("%h main"), apache("%h \"%r\"\\t%>s"), apache("%a site"), apache("%h y"), ConfiguredFormat::Named("vhost_combined")];
    assert_eq!(formats, expected);
}

#[test]
fn pipes_conditions_and_variables() {
    let text = "Define LOGS /l\n<IfDefine !LOGS>\nDefine LOGS /no\n</IfDefine>\nLogFormat %h h\n\
                CustomLog \"|/usr/bin/rotatelogs ${LOGS}/a.%Y%m%d 86400\" h\nCustomLog \"|/usr/bin/logger -t x\" h\n\
                CustomLog ${LOGS}/c h env=!dontlog\nCustomLog ${LOGS}/d h \"expr=%{REQUEST_STATUS} -ge 400\"\nCustomLog ${GONE}/e h\n\
                CustomLog syslog:local1 h\nCustomLog /dev/null h\nCustomLog ${LOGS}/f-${GONE}.log h\n\
                <Macro Site $name $dir>\n<VirtualHost *>\nCustomLog ${LOGS}/$name.log h\n</VirtualHost>\n</Macro>\nUse Site a b\n";
    let logs = read_text(text).unwrap();
    assert_eq!(paths(&logs), ["/l/a.*", "/l/c", "/l/d", "/l/f-*.log", "/l/*.log"]);
    let notices = logs.notices.join("\n");
    for part in [
        ":6: |/usr/bin/rotatelogs /l/a.%Y%m%d 86400: part of its name",
        ":7: the file of the log piped to `|/usr/bin/logger -t x` is unknown",
        ":8: /l/c contains only requests for which env=!dontlog is true",
        ":9: /l/d contains only requests for which expr=%{REQUEST_STATUS} -ge 400 is true",
        ":10: ${GONE}/e: its folder is known only to the server; skipped",
        ":11: syslog:local1 goes to the system log",
        ":12: /dev/null is a device",
    ] {
        assert!(notices.contains(part), "{part} in {notices}");
    }
}

#[test]
fn errors_name_the_location_and_what_to_type() {
    let cases: [(ConfigFixture<'_>, &str, &str); 8] = [
        (&[("a.conf", "\nCustomLog /l/a main")], "a.conf:2: no LogFormat is named 'main'", "--log-format"),
        (&[("a.conf", "\nInclude gone.conf")], "a.conf:2: includes gone.conf, which cannot", "name the logs themselves"),
        (&[("a.conf", "<VirtualHost *>\n")], "a.conf:1: a <virtualhost> that is not closed", "--from-apache=CONF"),
        (&[("a.conf", "</VirtualHost>\n")], "a.conf:1: </virtualhost> ends no section", "Apache would"),
        (&[("a.conf", "<VirtualHost *\n")], "a.conf:1: a section without", "Apache would"),
        (
            &[("a.conf", "CustomLog \"|logger\" x\nErrorLog /l/e\n")],
            "names no access log that is a file",
            "a.conf:1: the file of the log piped",
        ),
        (&[("a.conf", "Include b.conf"), ("b.conf", "Include b.conf")], "b.conf:1: include cycle", "--from-apache=CONF"),
        (&[("a.conf", "Include b.conf\n</VirtualHost>"), ("b.conf", "<VirtualHost *>")], "b.conf:1: a <virtualhost>", "is not closed"),
    ];
    for (files, what, advice) in cases {
        let text = read(files).unwrap_err();
        assert!(text.contains(what) && text.contains(advice), "{text}");
    }
}

#[test]
fn folders_are_included_and_conditional_files_may_be_missing() {
    let logs = read(&[
        ("a.conf", "Include conf.d\nIncludeOptional gone.conf\n<IfModule x>\nInclude gone.conf\n</IfModule>\n"),
        ("conf.d/b/c.conf", "CustomLog /l/c \"%h\"\n"),
        ("conf.d/a.conf", "CustomLog /l/a \"%h\"\n"),
    ]);
    assert_eq!(paths(&logs.unwrap()), ["/l/a", "/l/c"]);
}

#[test]
fn the_file_of_a_piped_log_is_found() {
    for (command, expected) in [
        ("/usr/bin/rotatelogs /l/access.%Y-%m-%d.log 86400", Some("/l/access.*-*-*.log")),
        ("bin/rotatelogs -l -L /l/link -f '/l/my access' 5M", Some("/l/my access.*")),
        ("|/usr/sbin/rotatelogs -n 5 /l/access_log 86400", Some("/l/access_log")),
        ("rotatelogs -t /l/access_log 10M", Some("/l/access_log")),
        ("/usr/sbin/cronolog --period=1day -S /l/link /l/%Y/%m/a.log", Some("/l/*/*/a.log")),
        ("$ gzip -c >> /l/access_log.gz", Some("/l/access_log.gz")),
        ("cat >/l/a", Some("/l/a")),
        ("/usr/bin/logger -t apache -p local6.info", None),
        ("cat 2>&1 >&2", None),
        ("", None),
        ("rotatelogs", None),
    ] {
        let found = piped_log_file(command.as_bytes()).map(|pattern| String::from_utf8(pattern.finish()).unwrap());
        assert_eq!(found.as_deref(), expected, "{command}");
    }
}
