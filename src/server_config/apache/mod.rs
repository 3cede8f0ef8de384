//! Reads the access logs of Apache: `CustomLog`, `TransferLog` and `GlobalLog`, and the formats of
//! `LogFormat`.
//!
//! Source: <https://httpd.apache.org/docs/2.4/mod/mod_log_config.html>. Directives are read in
//! Apache's order; format nicknames are resolved after everything was read, as in Apache. Sections
//! that depend on modules are always read, because only the server has the list of its modules.
//! `ErrorLog` and the forensic log contain no requests and are skipped.
//!
//! Of a piped log, `|/usr/bin/rotatelogs /var/log/access.%Y-%m-%d.log 86400`, the file is found if
//! the program is rotatelogs, cronolog or a shell's `>>`. Sources:
//! <https://httpd.apache.org/docs/2.4/programs/rotatelogs.html>, cronolog(1).

mod syntax;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use self::syntax::{ApacheVariables, lines, mask_parameters, split, words};
use super::diagnostics::{ConfigLocation, ConfigNotices, Server};
use super::{
    ConfiguredFormat, ConfiguredLog, ConfiguredLogs, MAX_DEPTH, PathPattern, ServerConfigError,
    config_folder, files_recursive, from_strftime, from_variables, is_pattern, matching_files,
    prefix_of, read_config, read_main, resolve,
};

const APACHE: &Server = &Server {
    name: "Apache",
    flag: "--from-apache",
    format_directive: "LogFormat",
};

/// Reads the access logs of the configuration at `path`.
///
/// # Errors
///
/// A file cannot be read or is not a configuration, a format is not defined, or there is no log.
pub(crate) fn read_apache(path: &Path) -> Result<ConfiguredLogs, ServerConfigError> {
    let text = read_main(path, APACHE)?;
    let mut interpreter = ApacheInterpreter::new(&config_folder(path));
    interpreter.file(path, &text)?;
    let logs = std::mem::take(&mut interpreter.logs);
    let notices = std::mem::take(&mut interpreter.notices);
    resolve(path, APACHE, logs, notices, |(site, name)| {
        interpreter.resolved_format(site, name)
    })
}

/// The file of a `CustomLog`, and what is unusual about it. Adds a notice and returns `None` if it
/// is not a file.
fn target(
    word: &[u8],
    root: &Path,
    location: ConfigLocation<'_>,
    notices: &mut ConfigNotices,
) -> Option<(PathBuf, Option<String>)> {
    let log_text = String::from_utf8_lossy(word);
    let pattern = match word.strip_prefix(b"|") {
        Some(command) => {
            let file = piped_log_file(command);
            if file.is_none() {
                notices.add(
                    location,
                    format!("the file of the log piped to `{log_text}` is unknown; skipped"),
                );
            }
            file?
        }
        None if word.starts_with(b"syslog:") || word.starts_with(b"journald:") => {
            notices.add(
                location,
                format!("{log_text} goes to the system log; skipped"),
            );
            return None;
        }
        None => from_unexpanded(word),
    };
    let is_pattern = pattern.is_pattern();
    let path = PathBuf::from(OsStr::from_bytes(&pattern.finish()));
    if path.starts_with("/dev") || path.starts_with("/proc") {
        notices.add(location, format!("{log_text} is a device; skipped"));
        return None;
    }
    if is_pattern
        && path
            .components()
            .next()
            .is_some_and(|first| first.as_os_str().as_encoded_bytes().contains(&b'*'))
    {
        notices.add(location, format!("{log_text}: its folder is known only to the server; skipped: name the logs themselves"));
        return None;
    }
    let note = is_pattern.then(|| {
        format!("{log_text}: part of its name is known only to the server; used as a pattern")
    });
    if let Some(what) = &note {
        notices.add(location, what);
    }
    Some((root.join(path), note))
}

/// A name that may contain macro parameters or undefined variables.
fn from_unexpanded(name: &[u8]) -> PathPattern {
    if name.contains(&b'$') {
        from_variables(name)
    } else {
        name.iter()
            .copied()
            .fold(PathPattern::default(), PathPattern::with)
    }
}

/// Sections that may not apply.
const CONDITIONAL: [&[u8]; 7] = [
    b"ifmodule",
    b"ifdefine",
    b"ifversion",
    b"iffile",
    b"ifdirective",
    b"ifsection",
    b"macro",
];

/// Index of a site: 0 is the main server, each `<VirtualHost>` is the next number.
type SiteIndex = usize;

/// A log, with its site and the nickname of its format or the format itself; `None` for the default
/// format of the site.
type ApacheLog = ConfiguredLog<(SiteIndex, Option<String>)>;

/// An open section.
struct OpenSection {
    name: Vec<u8>,
    line: usize,
    /// The site before it.
    before: SiteIndex,
    /// The section may not apply, so a missing file in it is not an error.
    is_conditional: bool,
    /// The section is known not to apply.
    is_skipped: bool,
}

/// Collects the logs of a configuration.
struct ApacheInterpreter {
    logs: Vec<ApacheLog>,
    notices: ConfigNotices,
    formats: HashMap<(SiteIndex, String), String>,
    default_format: HashMap<SiteIndex, String>,
    root: PathBuf,
    variables: ApacheVariables,
    sections: Vec<OpenSection>,
    parameters: Vec<Vec<u8>>,
    site: SiteIndex,
    sites: usize,
    depth: usize,
}

impl ApacheInterpreter {
    /// For a configuration in `folder`.
    fn new(folder: &Path) -> Self {
        Self {
            logs: Vec::new(),
            notices: ConfigNotices::default(),
            formats: HashMap::new(),
            default_format: HashMap::new(),
            root: prefix_of(folder).to_owned(),
            variables: ApacheVariables::from_envvars(folder),
            sections: Vec::new(),
            parameters: Vec::new(),
            site: 0,
            sites: 0,
            depth: 0,
        }
    }

    /// The format of a nickname in a site, or in the main server.
    fn format(&self, name: &str, site: SiteIndex) -> Option<String> {
        [site, 0]
            .iter()
            .find_map(|site| self.formats.get(&(*site, name.to_owned())))
            .cloned()
    }

    /// The default format of a site.
    fn default_format(&self, site: SiteIndex) -> Option<String> {
        [site, 0]
            .iter()
            .find_map(|site| self.default_format.get(site))
            .map(|text| self.format(text, site).unwrap_or_else(|| text.clone()))
    }

    /// The format of a log of a site; fails with a name that is not defined.
    fn resolved_format(
        &self,
        site: SiteIndex,
        name: Option<String>,
    ) -> Result<ConfiguredFormat, String> {
        let Some(name) = name else {
            return Ok(self
                .default_format(site)
                .map_or(ConfiguredFormat::Named("common"), ConfiguredFormat::Apache));
        };
        Ok(match (self.format(&name, site), name.as_str()) {
            (Some(text), _) => ConfiguredFormat::Apache(text),
            (None, text) if text.contains('%') => ConfiguredFormat::Apache(name),
            // The file of a single site does not contain the well-known definitions.
            (None, "combined") => ConfiguredFormat::Named("combined"),
            (None, "common") => ConfiguredFormat::Named("common"),
            (None, "vhost_combined") => ConfiguredFormat::Named("vhost_combined"),
            (None, _) => return Err(name),
        })
    }

    fn file(&mut self, file: &Path, text: &[u8]) -> Result<(), ServerConfigError> {
        let open = self.sections.len();
        for line in lines(text) {
            let location = ConfigLocation {
                file,
                line: line.number,
            };
            if line.text.starts_with(b"<") {
                self.section(location, &line.text, open)?;
            } else if !self.sections.iter().any(|section| section.is_skipped) {
                self.directive(location, &line.text)?;
            }
        }
        match self.sections.get(open..) {
            Some([section, ..]) => {
                let what = format!(
                    "a <{}> that is not closed in this file",
                    String::from_utf8_lossy(&section.name)
                );
                let line = section.line;
                Err(ConfigLocation { file, line }.syntax(&what, APACHE))
            }
            _ => Ok(()),
        }
    }

    fn section(
        &mut self,
        location: ConfigLocation<'_>,
        text: &[u8],
        open: usize,
    ) -> Result<(), ServerConfigError> {
        let inner = text[1..].trim_ascii_end();
        let inner = inner
            .strip_suffix(b">")
            .ok_or_else(|| location.syntax("a section without its '>'", APACHE))?;
        match inner.strip_prefix(b"/") {
            Some(name) => self.end(location, &name.trim_ascii().to_ascii_lowercase(), open),
            None if self.sections.len() > open + MAX_DEPTH => {
                Err(location.syntax("sections nested more than 30 deep", APACHE))
            }
            None => {
                self.begin(location, inner.trim_ascii_start());
                Ok(())
            }
        }
    }

    fn begin(&mut self, location: ConfigLocation<'_>, text: &[u8]) {
        let (name, arguments) = split(text);
        let is_skipped = name == b"ifdefine"
            && arguments
                .trim_ascii()
                .strip_prefix(b"!")
                .is_some_and(|name| self.variables.has(name));
        let is_conditional = CONDITIONAL.contains(&name.as_slice());
        let before = self.site;
        if name == b"virtualhost" {
            self.sites += 1;
            self.site = self.sites;
        } else if name == b"macro" {
            self.parameters = words(arguments).into_iter().skip(1).collect();
        }
        self.sections.push(OpenSection {
            name,
            line: location.line,
            before,
            is_conditional,
            is_skipped,
        });
    }

    /// `open` is the number of sections that the including files opened.
    fn end(
        &mut self,
        location: ConfigLocation<'_>,
        name: &[u8],
        open: usize,
    ) -> Result<(), ServerConfigError> {
        let is_inner = self.sections.len() > open;
        let section = self
            .sections
            .pop_if(|section| is_inner && section.name == name);
        let none = || {
            let name = String::from_utf8_lossy(name);
            location.syntax(&format!("</{name}> ends no section that is open"), APACHE)
        };
        self.site = section.ok_or_else(none)?.before;
        if name == b"macro" {
            self.parameters.clear();
        }
        Ok(())
    }

    fn directive(
        &mut self,
        location: ConfigLocation<'_>,
        text: &[u8],
    ) -> Result<(), ServerConfigError> {
        let (name, rest) = split(text);
        let rest = self.variables.expand(rest);
        let words = words(&rest);
        let word = |at: usize| words.get(at).map(Vec::as_slice);
        match (name.as_slice(), word(0)) {
            (b"define", Some(name)) => self
                .variables
                .define(name, word(1).unwrap_or_default().to_vec()),
            (b"undefine", Some(name)) => self.variables.undefine(name),
            (b"serverroot", Some(root)) => self.root = PathBuf::from(OsStr::from_bytes(root)),
            (b"include" | b"includeoptional", Some(path)) => {
                return self.include(location, path, name == b"includeoptional");
            }
            (b"logformat", Some(text)) => self.log_format(text, word(1)),
            (b"customlog" | b"globallog", Some(path)) => {
                self.log(location, path, Some(word(1).unwrap_or_default()), word(2));
            }
            (b"transferlog", Some(path)) => self.log(location, path, None, None),
            _ => {}
        }
        Ok(())
    }

    fn include(
        &mut self,
        location: ConfigLocation<'_>,
        name: &[u8],
        is_optional: bool,
    ) -> Result<(), ServerConfigError> {
        let path = self.root.join(OsStr::from_bytes(name));
        let files = if is_pattern(name) {
            matching_files(&path).map_err(|source| location.include(&path, source))?
        } else if path.is_dir() {
            files_recursive(&path).map_err(|source| location.include(&path, source))?
        } else {
            vec![path]
        };
        if self.depth == MAX_DEPTH {
            return Err(location.syntax("include cycle", APACHE));
        }
        self.depth += 1;
        let is_conditional =
            is_optional || self.sections.iter().any(|section| section.is_conditional);
        for path in files {
            match read_config(&path) {
                Ok(text) => self.file(&path, &text)?,
                Err(error) if is_conditional && error.kind() == ErrorKind::NotFound => {}
                // A glob may match folders too.
                Err(_) if path.is_dir() => {}
                Err(error) => return Err(location.include(&path, error)),
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn log_format(&mut self, text: &[u8], name: Option<&[u8]>) {
        let text = String::from_utf8_lossy(text).into_owned();
        match name {
            Some(name) => {
                self.formats.insert(
                    (self.site, String::from_utf8_lossy(name).into_owned()),
                    text,
                );
            }
            None => {
                self.default_format.insert(self.site, text);
            }
        }
    }

    fn log(
        &mut self,
        location: ConfigLocation<'_>,
        path: &[u8],
        format: Option<&[u8]>,
        condition: Option<&[u8]>,
    ) {
        let path = mask_parameters(path, &self.parameters);
        let Some((path, mut note)) = target(&path, &self.root, location, &mut self.notices) else {
            return;
        };
        if let Some(condition) = condition {
            let what = format!(
                "{} contains only requests for which {} is true",
                path.display(),
                String::from_utf8_lossy(condition)
            );
            self.notices.add(location, &what);
            note = Some(note.map_or(what.clone(), |note| format!("{note}; {what}")));
        }
        let format = format.map(|format| String::from_utf8_lossy(format).into_owned());
        self.logs.push(ApacheLog {
            path,
            format: (self.site, format),
            location: location.to_string(),
            note,
        });
    }
}

/// Flags of rotatelogs that take a value.
const ROTATELOGS: [&[u8]; 3] = [b"-L", b"-p", b"-n"];

/// Flags of cronolog that take a value.
const CRONOLOG: [&[u8]; 8] = [b"-H", b"-S", b"-l", b"-P", b"-p", b"-d", b"-x", b"-z"];

/// The file that the command after a `|` writes, if known.
fn piped_log_file(command: &[u8]) -> Option<PathPattern> {
    // `||` starts the program without a shell, `|$` with one.
    let command = command
        .strip_prefix(b"|")
        .or(command.strip_prefix(b"$"))
        .unwrap_or(command);
    let words = words(command);
    let program = words.first()?.rsplit(|byte| *byte == b'/').next()?;
    match program {
        b"rotatelogs" | b"httxt-rotatelogs" | b"rotatelogs2" => rotatelogs(&words[1..]),
        b"cronolog" => arguments(&words[1..], &CRONOLOG)
            .first()
            .map(|name| from_strftime(name)),
        _ => redirected(&words).map(|name| {
            name.iter()
                .copied()
                .fold(PathPattern::default(), PathPattern::with)
        }),
    }
}

fn rotatelogs(words: &[Vec<u8>]) -> Option<PathPattern> {
    let name = *arguments(words, &ROTATELOGS).first()?;
    let mut pattern = from_strftime(name);
    let has = |flag: &[u8]| words.iter().any(|word| word == flag);
    // Without a time in its name, rotatelogs appends the start second, unless the file is truncated
    // (-t) or numbered (-n): then the name stays, and the other files are its rotated siblings.
    if !pattern.is_pattern() && !has(b"-t") && !has(b"-n") {
        pattern = pattern.with(b'.');
        pattern.unknown();
    }
    Some(pattern)
}

/// The words that are neither flags nor their values.
fn arguments<'a>(words: &'a [Vec<u8>], with_value: &[&[u8]]) -> Vec<&'a [u8]> {
    let mut words = words.iter().map(Vec::as_slice);
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        if with_value.contains(&word) {
            words.next();
        } else if !word.starts_with(b"-") || word.len() == 1 {
            arguments.push(word);
        }
    }
    arguments
}

/// The file after the last `>` or `>>`.
fn redirected(words: &[Vec<u8>]) -> Option<&[u8]> {
    let at = words.iter().rposition(|word| word.starts_with(b">"))?;
    let name = words[at].trim_ascii_start();
    let name = name
        .iter()
        .position(|byte| *byte != b'>')
        .map(|start| &name[start..]);
    name.or_else(|| words.get(at + 1).map(Vec::as_slice))
        .filter(|name| !name.starts_with(b"&"))
}

#[cfg(test)]
mod tests {
    //! Tests of reading Apache configurations.

    use std::fs;

    use super::*;
    use crate::server_config::fixture::{self, ConfigFixture, folder};

    const COMBINED: &str =
        r#"LogFormat "%h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" combined"#;
    const COMBINED_TEXT: &str = r#"%h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i""#;

    /// Reads the first of these files.
    fn read(files: ConfigFixture<'_>) -> Result<ConfiguredLogs, String> {
        fixture::read(files, files[0].0, read_apache)
    }

    fn read_text(text: &str) -> Result<ConfiguredLogs, String> {
        read(&[("apache2.conf", text)])
    }

    fn paths(logs: &ConfiguredLogs) -> Vec<&str> {
        logs.logs
            .iter()
            .map(|log| log.path.to_str().unwrap())
            .collect()
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
        assert_eq!(
            paths(&logs),
            [
                "/var/log/apache2/other_vhosts_access.log",
                "/var/log/apache2/access.log"
            ]
        );
        assert!(
            logs.logs
                .iter()
                .all(|log| log.format == ConfiguredFormat::Apache(COMBINED_TEXT.to_owned())),
            "{logs:?}"
        );
        assert_eq!(logs.logs[1].location, "sites-enabled/000-default.conf:3");
        assert!(logs.notices.is_empty(), "{:?}", logs.notices);
    }

    #[test]
    fn red_hat_default_configuration() {
        let folder = folder(&[
            ("conf/httpd.conf", ""),
            (
                "conf.d/a.conf",
                "<IfModule !mod_x.c>\nTransferLog logs/a_log\n</IfModule>\n",
            ),
            (
                "conf.d/b.conf",
                "<VirtualHost *>\nLogFormat \"%h b\"\nTransferLog logs/b_log\n</VirtualHost>\n",
            ),
        ]);
        let conf = folder.path().join("conf/httpd.conf");
        let text = format!(
            "ServerRoot \"{}\"\n<IfModule log_config_module>\n  <IfModule logio_module>\n  LogFormat \"%h %I\" io\n  </IfModule>\n  \
             CustomLog \"logs/access_log\" \\\n    io\n</IfModule>\nIncludeOptional conf.d/*.conf\n",
            folder.path().display()
        );
        fs::write(&conf, text).unwrap();
        let logs = read_apache(&conf).unwrap();
        let formats: Vec<_> = logs
            .logs
            .iter()
            .map(|log| {
                (
                    log.path
                        .strip_prefix(folder.path())
                        .unwrap()
                        .to_str()
                        .unwrap(),
                    &log.format,
                )
            })
            .collect();
        let apache = |text: &str| ConfiguredFormat::Apache(text.to_owned());
        assert_eq!(
            formats,
            [
                ("logs/access_log", &apache("%h %I")),
                ("logs/a_log", &ConfiguredFormat::Named("common")),
                ("logs/b_log", &apache("%h b"))
            ]
        );
    }

    #[test]
    fn formats_are_resolved_last_and_per_site() {
        let text = "CustomLog /l/a x\nCustomLog /l/b \"%h \\\"%r\\\"\\t%>s\"\n<VirtualHost *>\nLogFormat \"%a site\" x\nCustomLog /l/c x\nGlobalLog /l/d y\n\
                    </VirtualHost>\nLogFormat \"%h main\" x\nLogFormat \"%h y\" y\nCustomLog /l/e vhost_combined\n";
        let logs = read_text(text).unwrap();
        let formats: Vec<_> = logs.logs.iter().map(|log| log.format.clone()).collect();
        let apache = |text: &str| ConfiguredFormat::Apache(text.to_owned());
        let expected = [
            apache("%h main"),
            apache("%h \"%r\"\\t%>s"),
            apache("%a site"),
            apache("%h y"),
            ConfiguredFormat::Named("vhost_combined"),
        ];
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
        assert_eq!(
            paths(&logs),
            ["/l/a.*", "/l/c", "/l/d", "/l/f-*.log", "/l/*.log"]
        );
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
            (
                &[("a.conf", "\nCustomLog /l/a main")],
                "a.conf:2: no LogFormat is named 'main'",
                "--log-format",
            ),
            (
                &[("a.conf", "\nInclude gone.conf")],
                "a.conf:2: includes gone.conf, which cannot",
                "name the logs themselves",
            ),
            (
                &[("a.conf", "<VirtualHost *>\n")],
                "a.conf:1: a <virtualhost> that is not closed",
                "--from-apache=CONF",
            ),
            (
                &[("a.conf", "</VirtualHost>\n")],
                "a.conf:1: </virtualhost> ends no section",
                "Apache would",
            ),
            (
                &[("a.conf", "<VirtualHost *\n")],
                "a.conf:1: a section without",
                "Apache would",
            ),
            (
                &[("a.conf", "CustomLog \"|logger\" x\nErrorLog /l/e\n")],
                "names no access log that is a file",
                "a.conf:1: the file of the log piped",
            ),
            (
                &[("a.conf", "Include b.conf"), ("b.conf", "Include b.conf")],
                "b.conf:1: include cycle",
                "--from-apache=CONF",
            ),
            (
                &[
                    ("a.conf", "Include b.conf\n</VirtualHost>"),
                    ("b.conf", "<VirtualHost *>"),
                ],
                "b.conf:1: a <virtualhost>",
                "is not closed",
            ),
        ];
        for (files, what, advice) in cases {
            let text = read(files).unwrap_err();
            assert!(text.contains(what) && text.contains(advice), "{text}");
        }
    }

    #[test]
    fn folders_are_included_and_conditional_files_may_be_missing() {
        let logs = read(&[
            (
                "a.conf",
                "Include conf.d\nIncludeOptional gone.conf\n<IfModule x>\nInclude gone.conf\n</IfModule>\n",
            ),
            ("conf.d/b/c.conf", "CustomLog /l/c \"%h\"\n"),
            ("conf.d/a.conf", "CustomLog /l/a \"%h\"\n"),
        ]);
        assert_eq!(paths(&logs.unwrap()), ["/l/a", "/l/c"]);
    }

    #[test]
    fn the_file_of_a_piped_log_is_found() {
        for (command, expected) in [
            (
                "/usr/bin/rotatelogs /l/access.%Y-%m-%d.log 86400",
                Some("/l/access.*-*-*.log"),
            ),
            (
                "bin/rotatelogs -l -L /l/link -f '/l/my access' 5M",
                Some("/l/my access.*"),
            ),
            (
                "|/usr/sbin/rotatelogs -n 5 /l/access_log 86400",
                Some("/l/access_log"),
            ),
            ("rotatelogs -t /l/access_log 10M", Some("/l/access_log")),
            (
                "/usr/sbin/cronolog --period=1day -S /l/link /l/%Y/%m/a.log",
                Some("/l/*/*/a.log"),
            ),
            ("$ gzip -c >> /l/access_log.gz", Some("/l/access_log.gz")),
            ("cat >/l/a", Some("/l/a")),
            ("/usr/bin/logger -t apache -p local6.info", None),
            ("cat 2>&1 >&2", None),
            ("", None),
            ("rotatelogs", None),
        ] {
            let logs = piped_log_file(command.as_bytes())
                .map(|pattern| String::from_utf8(pattern.finish()).unwrap());
            assert_eq!(logs.as_deref(), expected, "{command}");
        }
    }
}
