//! What kind of path it is by its looks, and which rule it would belong to.
//!
//! A guess for a person to review: the class is taken from what else the same probers look for, among those that fit.

use crate::finding::Severity;

/// A kind of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A part of it begins with a dot.
    Dot,
    /// An archive, a dump or a copy.
    Backup,
    /// A PHP page.
    Php,
    /// A log-in or an administration by its name.
    Admin,
    /// Anything else.
    Other,
}

const BACKUPS: [&str; 16] =
    ["7z", "back", "backup", "bak", "bz2", "copy", "dump", "gz", "old", "orig", "rar", "save", "sql", "swp", "tgz", "zip"];

const ADMINS: [&str; 7] = ["admin", "cgi-bin", "console", "login", "logon", "manager", "panel"];

/// Words that say what a path is for.
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

    /// The classes a rule for it may have, the likeliest first.
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

    /// The class that a word in the path speaks for, where it is one of these.
    pub(crate) fn class_hint(self, path: &str) -> Option<&'static str> {
        let (_, class) = HINTS.iter().find(|(word, _)| path.contains(word))?;
        self.classes().contains(class).then_some(class)
    }

    /// The id of the rule for such paths: the same in every run.
    pub(crate) fn rule(self, class: &str) -> String {
        format!("learned/{}-{class}", self.word())
    }

    /// What that rule finds.
    pub(crate) fn title(self, class: &str) -> String {
        let what = match self {
            Self::Dot => "Dot files",
            Self::Backup => "Archives and copies",
            Self::Php => "PHP pages",
            Self::Admin => "Log-ins and administrations",
            Self::Other => "Paths",
        };
        format!("{what} that probers ask for (learned, {class})")
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

/// How bad it would be if such a path were there. A guess never cries out.
pub(crate) fn suggested_severity(class: &str) -> Severity {
    match class {
        "backup" | "config-exposure" | "vcs-exposure" | "webshell" | "php-eval" => Severity::Medium,
        _ => Severity::Low,
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::learn::kind::*;
    use crate::rules::CLASSES;

    #[test]
    fn by_looks() {
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
    fn a_word_speaks_for_a_class_that_fits() {
        let hinted = |path: &str| PathKind::from_path(path).class_hint(path);
        assert_eq!(hinted("/phpmyadmln/pma/index.php"), Some("db-admin"));
        assert_eq!(hinted("/wp-old/x.php"), Some("wordpress"));
        assert_eq!((hinted("/wp-old.zip"), hinted("/root.php")), (None, None));
    }

    #[test]
    fn every_class_is_one() {
        let hinted = HINTS.iter().map(|(_, class)| class);
        for kind in [PathKind::Dot, PathKind::Backup, PathKind::Php, PathKind::Admin, PathKind::Other] {
            for class in kind.classes().iter().chain(hinted.clone()) {
                assert!(CLASSES.contains(class), "{class}");
            }
        }
    }
}
