//! The words a verdict is made of: how bad, and which rules say so.
//!
//! Plain data. What a rule looks for is the business of `rules`; whether a line meets it, of `engine`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How bad a hit would be if the server gave what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, nothing to do.
    Info,
    /// Noise of the internet: someone looks around.
    Low,
    /// A probe for something that would help an attacker.
    Medium,
    /// A probe for something that would let an attacker in.
    High,
    /// An attempt to take the machine over.
    Critical,
}

impl Severity {
    /// Every level, lowest first.
    pub const ALL: [Self; 5] = [Self::Info, Self::Low, Self::Medium, Self::High, Self::Critical];

    /// One level up; `critical` stays.
    #[must_use]
    pub fn raised(self) -> Self {
        Self::ALL[(self as usize + 1).min(Self::ALL.len() - 1)]
    }

    /// The word reports and rules use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Severity {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str() == word)
            .ok_or_else(|| format!("no severity is called '{word}'; there are info, low, medium, high, critical"))
    }
}

/// A rule's place in the rule set it was compiled into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);
