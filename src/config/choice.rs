//! Settings whose value is one of a few fixed words, and how the words are spelled in flags, variables and the file.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::commands::message::sanitized;
use crate::finding::Severity;
use crate::input::Mmap;
use crate::log_entry::Outcome;
use crate::render::block::BlockFormat;
use crate::render::{Color, GroupBy, OutputFormat};

/// A value that is spelled as one of a few fixed words.
pub(crate) trait NamedChoice: Copy + 'static {
    /// All values, in the order in which they are listed.
    const VALUES: &'static [Self];

    /// The word for this value.
    fn word(self) -> &'static str;

    /// One line on what it does, for shell completions; empty where the word is enough.
    fn about(self) -> &'static str {
        ""
    }
}

impl NamedChoice for OutputFormat {
    const VALUES: &'static [Self] =
        &[Self::Table, Self::Csv, Self::Json, Self::Ndjson, Self::Html, Self::Ecs, Self::Ocsf, Self::Prometheus, Self::Partial];

    fn word(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Html => "html",
            Self::Ecs => "ecs",
            Self::Ocsf => "ocsf",
            Self::Prometheus => "prometheus",
            Self::Partial => "partial",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Table => "Aligned text",
            Self::Csv => "One CSV table",
            Self::Json => "One JSON document",
            Self::Ndjson => "One JSON object per hit",
            Self::Html => "One page for a browser",
            Self::Ecs => "One object of the Elastic Common Schema per hit",
            Self::Ocsf => "One OCSF Detection Finding per hit",
            Self::Prometheus => "Counts for Prometheus",
            Self::Partial => "Evidence alone, compressed, for merge",
        }
    }
}

impl NamedChoice for BlockFormat {
    const VALUES: &'static [Self] = &[
        Self::Plain,
        Self::Nft,
        Self::Ipset,
        Self::Nginx,
        Self::NginxGeo,
        Self::Apache,
        Self::Crowdsec,
        Self::Fail2ban,
        Self::Abuseipdb,
        Self::AbuseMail,
        Self::Csv,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Nft => "nft",
            Self::Ipset => "ipset",
            Self::Nginx => "nginx",
            Self::NginxGeo => "nginx-geo",
            Self::Apache => "apache",
            Self::Crowdsec => "crowdsec",
            Self::Fail2ban => "fail2ban",
            Self::Abuseipdb => "abuseipdb",
            Self::AbuseMail => "abuse-mail",
            Self::Csv => "csv",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Plain => "An address or network a line",
            Self::Nft => "Sets for nft -f",
            Self::Ipset => "Sets for ipset restore",
            Self::Nginx => "deny lines for nginx",
            Self::NginxGeo => "A geo block for nginx",
            Self::Apache => "A RequireAll block for Apache",
            Self::Crowdsec => "CSV for cscli decisions import",
            Self::Fail2ban => "A log for a jail of fail2ban",
            Self::Abuseipdb => "CSV for the bulk report of AbuseIPDB",
            Self::AbuseMail => "Text for a mail to each network",
            Self::Csv => "One CSV table",
        }
    }
}

impl NamedChoice for GroupBy {
    const VALUES: &'static [Self] = &[Self::Pair, Self::Client, Self::Path, Self::Rule, Self::Answer];

    fn word(self) -> &'static str {
        match self {
            Self::Pair => "pair",
            Self::Client => "client",
            Self::Path => "path",
            Self::Rule => "rule",
            Self::Answer => "answer",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Pair => "A client, a path and an outcome",
            Self::Client => "A client",
            Self::Path => "A path",
            Self::Rule => "A rule",
            Self::Answer => "A path with a distinct answer",
        }
    }
}

impl NamedChoice for Color {
    const VALUES: &'static [Self] = &[Self::Auto, Self::Always, Self::Never];

    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    fn about(self) -> &'static str {
        if self == Self::Auto { "On a terminal that supports it" } else { "" }
    }
}

impl NamedChoice for Mmap {
    const VALUES: &'static [Self] = &[Self::Auto, Self::Always, Self::Never];

    fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Auto => "Large files on local file systems",
            Self::Always => "Every regular file",
            Self::Never => "",
        }
    }
}

impl NamedChoice for Severity {
    const VALUES: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.as_str()
    }
}

impl NamedChoice for Outcome {
    const VALUES: &'static [Self] = &Self::ALL;

    fn word(self) -> &'static str {
        self.as_str()
    }

    fn about(self) -> &'static str {
        match self {
            Self::Answered => "2xx, 304",
            Self::Redirected => "Other 3xx",
            Self::AuthRequired => "401, 407",
            Self::Denied => "403, 405, 429, 444, 451",
            Self::NotFound => "404, 410",
            Self::Rejected => "Other 4xx",
            Self::Error => "5xx",
            Self::Unknown => "1xx, or no status",
        }
    }
}

/// On or off, for a flag whose default is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnOff {
    On,
    Off,
}

impl NamedChoice for OnOff {
    const VALUES: &'static [Self] = &[Self::On, Self::Off];

    fn word(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
        }
    }
}

/// A severity, or `never`: the only way to undo a level that a variable or the file sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LevelOrNever(pub Option<Severity>);

impl NamedChoice for LevelOrNever {
    const VALUES: &'static [Self] = &[
        Self(None),
        Self(Some(Severity::Info)),
        Self(Some(Severity::Low)),
        Self(Some(Severity::Medium)),
        Self(Some(Severity::High)),
        Self(Some(Severity::Critical)),
    ];

    fn word(self) -> &'static str {
        self.0.map_or("never", Severity::as_str)
    }
}

/// The words of a choice, for a message: `a, b or c`.
#[must_use]
pub(crate) fn join_values<T: NamedChoice>() -> String {
    let words: Vec<_> = T::VALUES.iter().map(|value| value.word()).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// A word of the configuration file.
struct ChoiceWord<T>(T);

impl<'de, T: NamedChoice> Deserialize<'de> for ChoiceWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let value = T::VALUES.iter().find(|value| value.word() == text);
        value.map(|value| Self(*value)).ok_or_else(|| {
            let message = format!("'{}' is not a value of this setting; type {}", sanitized(&text), join_values::<T>());
            D::Error::custom(message)
        })
    }
}

/// Reads a word, for `#[serde(deserialize_with)]`.
pub(super) fn de_enum<'de, D: Deserializer<'de>, T: NamedChoice>(deserializer: D) -> Result<Option<T>, D::Error> {
    ChoiceWord::deserialize(deserializer).map(|word| Some(word.0))
}

/// Reads a list of words, for `#[serde(deserialize_with)]`.
pub(super) fn de_enum_list<'de, D: Deserializer<'de>, T: NamedChoice>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let words = Vec::<ChoiceWord<T>>::deserialize(deserializer)?;
    Ok(words.into_iter().map(|word| word.0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_joined_for_a_sentence() {
        assert_eq!(join_values::<Color>(), "auto, always or never");
        assert_eq!(join_values::<LevelOrNever>(), "never, info, low, medium, high or critical");
    }
}
