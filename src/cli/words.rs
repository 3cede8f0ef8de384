//! The words of flags with a fixed choice, as clap and the configuration file read them.
//!
//! The enums belong to their rooms, which know no command line; their spelling on it is settled here.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::finding::Severity;
use crate::input::Mmap;
use crate::log_entry::Outcome;
use crate::render::schema::Topic;
use crate::render::{Color, GroupBy, OutputFormat};
use crate::rules::import::ImportFormat;

impl ValueEnum for OutputFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Table, Self::Csv, Self::Json, Self::Ndjson]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Table => PossibleValue::new("table").help("Aligned text for a person"),
            Self::Csv => PossibleValue::new("csv").help("One CSV table"),
            Self::Json => PossibleValue::new("json").help("One JSON document"),
            Self::Ndjson => PossibleValue::new("ndjson").help("One JSON object a hit"),
        })
    }
}

impl ValueEnum for Topic {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Csv, Self::Json, Self::Ndjson, Self::Rules]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Csv => PossibleValue::new("csv").help("Columns of every CSV table"),
            Self::Json => PossibleValue::new("json").help("JSON Schema of a report"),
            Self::Ndjson => PossibleValue::new("ndjson").help("JSON Schema of a hit"),
            Self::Rules => PossibleValue::new("rules").help("JSON Schema of a rule file"),
        })
    }
}

impl ValueEnum for GroupBy {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Pair, Self::Client, Self::Path, Self::Rule, Self::Answer]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Pair => PossibleValue::new("pair").help("A client, a path and an outcome"),
            Self::Client => PossibleValue::new("client").help("A client"),
            Self::Path => PossibleValue::new("path").help("A path"),
            Self::Rule => PossibleValue::new("rule").help("A rule"),
            Self::Answer => PossibleValue::new("answer").help("A path with a distinct answer"),
        })
    }
}

impl ValueEnum for Color {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Always, Self::Never]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Auto => PossibleValue::new("auto").help("On a terminal that can"),
            Self::Always => PossibleValue::new("always").help("Always"),
            Self::Never => PossibleValue::new("never").help("Never"),
        })
    }
}

impl ValueEnum for Mmap {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Auto, Self::Always, Self::Never]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Auto => PossibleValue::new("auto").help("Large files on local file systems"),
            Self::Always => PossibleValue::new("always").help("Every regular file"),
            Self::Never => PossibleValue::new("never").help("Never"),
        })
    }
}

impl ValueEnum for Severity {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.as_str()))
    }
}

impl ValueEnum for Outcome {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let statuses = match self {
            Self::Answered => "2xx, 304",
            Self::Redirected => "Other 3xx",
            Self::AuthRequired => "401, 407",
            Self::Denied => "403, 405, 429, 444, 451",
            Self::NotFound => "404, 410",
            Self::Rejected => "Other 4xx",
            Self::Error => "5xx",
            Self::Unknown => "1xx, or no status",
        };
        Some(PossibleValue::new(self.as_str()).help(statuses))
    }
}

impl ValueEnum for ImportFormat {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Wordlist, Self::CrsData, Self::Sigma, Self::Nuclei]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Wordlist => PossibleValue::new("wordlist").help("Paths, one a line"),
            Self::CrsData => PossibleValue::new("crs-data").help("Data files of the OWASP core rule set"),
            Self::Sigma => PossibleValue::new("sigma").help("Sigma rules for web servers"),
            Self::Nuclei => PossibleValue::new("nuclei").help("nuclei templates"),
        })
    }
}

/// A word for something that is on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// A word of `--fail-on`. `never` is there to take back what the environment or the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailOn(pub Option<Severity>);

impl ValueEnum for FailOn {
    fn value_variants<'a>() -> &'a [Self] {
        const {
            &[
                Self(None),
                Self(Some(Severity::Info)),
                Self(Some(Severity::Low)),
                Self(Some(Severity::Medium)),
                Self(Some(Severity::High)),
                Self(Some(Severity::Critical)),
            ]
        }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.map_or("never", Severity::as_str)))
    }
}

/// The words of a fixed choice, for a message: `a, b or c`.
#[must_use]
pub fn listed<T: ValueEnum>() -> String {
    let words: Vec<String> = T::value_variants().iter().filter_map(ValueEnum::to_possible_value).map(|v| v.get_name().to_owned()).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_listed_as_a_sentence_wants_them() {
        assert_eq!(listed::<Color>(), "auto, always or never");
        assert_eq!(listed::<FailOn>(), "never, info, low, medium, high or critical");
    }
}
