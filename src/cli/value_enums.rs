//! The words of flags with a fixed choice, as clap needs them: for parsing, suggestions and shell completions.

use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::config::choice::{Choice, LevelOrNever, OnOff};
use crate::finding::Severity;
use crate::input::Mmap;
use crate::record::Outcome;
use crate::render::{By, Color, Format};
use crate::rules::import::Origin;

macro_rules! value_enums {
    ($($choice:ty),+) => {$(
        impl ValueEnum for $choice {
            fn value_variants<'a>() -> &'a [Self] {
                Self::VALUES
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                let value = PossibleValue::new(self.word());
                Some(if self.about().is_empty() { value } else { value.help(self.about()) })
            }
        }
    )+};
}

value_enums!(Format, By, Color, Mmap, Severity, Outcome, LevelOrNever, OnOff);

impl ValueEnum for Origin {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self::Wordlist, Self::CrsData, Self::Sigma, Self::Nuclei]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Self::Wordlist => PossibleValue::new("wordlist").help("Paths, one per line"),
            Self::CrsData => PossibleValue::new("crs-data").help("Data files of the OWASP core rule set"),
            Self::Sigma => PossibleValue::new("sigma").help("Sigma rules for web servers"),
            Self::Nuclei => PossibleValue::new("nuclei").help("nuclei templates"),
        })
    }
}
