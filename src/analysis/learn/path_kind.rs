//! The kind of a path by its name, and the rule that is proposed for it.
//!
//! The class is a guess for a person to review: the most frequent class of its probers among those that fit.

use crate::finding::Severity;

/// A kind of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A segment starts with a dot.
    Dot,
    /// An archive, a dump or a copy.
    Backup,
    /// A PHP page.
    Php,
    /// The name suggests a login or an administration page.
    Admin,
    /// Anything else.
    Other,
}

const BACKUPS: [&str; 16] =
    ["7z", "back", "backup", "bak", "bz2", "copy", "dump", "gz", "old", "orig", "rar", "save", "sql", "swp", "tgz", "zip"];

const ADMINS: [&str; 7] = ["admin", "cgi-bin", "console", "login", "logon", "manager", "panel"];

/// Words that suggest a class.
const HINTS: [(&str, &str); 7] = [
    ("adminer", "db-admin"),
    ("myadmin", "db-admin"),
    ("mysql", "db-admin"),
    ("pma", "db-admin"),
    ("shell", "webshell"),
    ("sql", "db-admin"),
    ("wp-", "wordpress"),
];

impl PathKind {
    /// The kind of a path in lower case.
    pub(crate) fn from_path(path: &str) -> Self {
        let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if path.contains("/.") {
            Self::Dot
        } else if BACKUPS.contains(&extension) || name.ends_with('~') {
            Self::Backup
        } else if extension.starts_with("php") {
            Self::Php
        } else if ADMINS.iter().any(|word| path.contains(word)) {
            Self::Admin
        } else {
            Self::Other
        }
    }

    /// The possible classes of its rule, the likeliest first.
    pub(crate) fn classes(self) -> &'static [&'static str] {
        match self {
            Self::Dot => &["config-exposure", "vcs-exposure", "cloud"],
            Self::Backup => &["backup"],
            Self::Php => &["webshell", "db-admin", "wordpress", "cms", "panel", "php-eval", "phpinfo", "config-exposure"],
            Self::Admin => &["panel", "db-admin", "iot", "vpn", "java", "cms"],
            Self::Other => &[
                "exposure",
                "cloud",
                "cms",
                "config-exposure",
                "db-admin",
                "debug",
                "iot",
                "java",
                "log-exposure",
                "misconfig",
                "panel",
                "vpn",
                "wordpress",
            ],
        }
    }

    /// The class that a word in the path suggests, if it is a possible one.
    pub(crate) fn class_hint(self, path: &str) -> Option<&'static str> {
        let (_, class) = HINTS.iter().find(|(word, _)| path.contains(word))?;
        self.classes().contains(class).then_some(class)
    }

    /// The id of the rule for such paths: the same in every run.
    pub(crate) fn rule(self, class: &str) -> String {
        format!("learned/{}-{class}", self.word())
    }

    /// The title of that rule.
    pub(crate) fn title(self, class: &str) -> String {
        let what = match self {
            Self::Dot => "Dot files",
            Self::Backup => "Archives and copies",
            Self::Php => "PHP pages",
            Self::Admin => "Login and administration pages",
            Self::Other => "Paths",
        };
        format!("{what} requested by probers (learned, {class})")
    }

    fn word(self) -> &'static str {
        match self {
            Self::Dot => "dot",
            Self::Backup => "copy",
            Self::Php => "php",
            Self::Admin => "admin",
            Self::Other => "path",
        }
    }
}

/// The suggested severity of a rule, deliberately low.
pub(crate) fn suggested_severity(class: &str) -> Severity {
    match class {
        "backup" | "config-exposure" | "vcs-exposure" | "webshell" | "php-eval" => Severity::Medium,
        _ => Severity::Low,
    }
}

/// The shortest run of digits that looks generated; a date has eight, a year four.
const NUMBER: usize = 6;

/// The shortest run of hexadecimal digits, with both letters and digits, that looks generated.
const HASH: usize = 10;

/// Whether a part of the path looks machine-generated, such as a hash or a number. Such names do not predict later
/// probes.
pub(crate) fn is_machine_generated(path: &str) -> bool {
    let runs = |of: fn(&u8) -> bool| path.as_bytes().chunk_by(move |a, b| of(a) && of(b));
    let is_hash = |run: &[u8]| {
        let digits = run.iter().filter(|b| b.is_ascii_digit()).count();
        run.len() >= HASH && digits >= 2 && run.len() - digits >= 2 && run[0].is_ascii_hexdigit()
    };
    runs(u8::is_ascii_digit).any(|run| run.len() >= NUMBER) || runs(u8::is_ascii_hexdigit).any(is_hash)
}

#[cfg(test)]
mod tests {
    use crate::analysis::learn::path_kind::*;
    use crate::rules::CLASSES;

    #[test]
    fn kind_by_name() {
        for (path, kind) in [
            ("/.aws/x", PathKind::Dot),
            ("/app/.foorc", PathKind::Dot),
            ("/site.tar.gz", PathKind::Backup),
            ("/config.php.bak", PathKind::Backup),
            ("/index.php~", PathKind::Backup),
            ("/admin/index.php", PathKind::Php),
            ("/x.php7", PathKind::Php),
            ("/administrator/", PathKind::Admin),
            ("/geoserver/web", PathKind::Other),
        ] {
            assert_eq!(PathKind::from_path(path), kind, "{path}");
        }
    }

    #[test]
    fn a_word_suggests_a_possible_class() {
        let hinted = |path: &str| PathKind::from_path(path).class_hint(path);
        assert_eq!(hinted("/phpmyadmln/pma/index.php"), Some("db-admin"));
        assert_eq!(hinted("/wp-old/x.php"), Some("wordpress"));
        assert_eq!((hinted("/wp-old.zip"), hinted("/root.php")), (None, None));
    }

    #[test]
    fn every_class_exists() {
        let hinted = HINTS.iter().map(|(_, class)| class);
        for kind in [PathKind::Dot, PathKind::Backup, PathKind::Php, PathKind::Admin, PathKind::Other] {
            for class in kind.classes().iter().chain(hinted.clone()) {
                assert!(CLASSES.contains(class), "{class}");
            }
        }
    }
}

#[cfg(test)]
mod machine_generated_tests {
    use crate::analysis::learn::path_kind::*;

    #[test]
    fn machine_generated_names() {
        for path in ["/123456.php", "/a/5f4dcc3b5aa765d61d83/x", "/id-20260102.zip", "/7f3a-0123456789ab"] {
            assert!(is_machine_generated(path), "{path}");
        }
        for path in ["/root11.php", "/2026/backup.zip", "/phpmyadmin-4.8.5/", "/feedbacked/facade.php", "/wp1/12345.php", "/"] {
            assert!(!is_machine_generated(path), "{path}");
        }
    }
}
