//! Tells content from what a site answers to anything: a page with status 200 for a path that does not exist is a *soft 404*.
//!
//! [`SiteEvidence`] is what one site answered to probes, in bounded memory; evidence merges, and the order does not matter.
//! A [`Grader`] compares one answer with the evidence and gives it an [`Answer`]. It knows no log, no rule file and no report, and
//! it decides nothing about severity.

mod evidence;
mod grade;
mod path;
mod region;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::log_entry::MethodClass;

pub use evidence::{HomeSizes, MOST_PATHS, PathEvidence, PathNumbers, Response, SiteEvidence, Size, SizeNumbers};
pub use grade::{Candidate, Grade, Grader, HOSTS, Reason};
pub use path::{Extension, PathShape, ShapeNumbers, path_hash};

/// How the answer to a probe compares with what its site answers to anything. Ordered by how much the answer means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What the site answers to anything.
    #[serde(rename = "soft_404")]
    Soft404,
    /// The log cannot show whether it is.
    Uncertain,
    /// Unlike everything the site answers to anything.
    Distinct,
}

impl Answer {
    /// The word reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Soft404 => "soft_404",
            Self::Uncertain => "uncertain",
            Self::Distinct => "distinct",
        }
    }
}

/// What a rule looks for, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Subject {
    /// A file, a folder or a page.
    #[default]
    Path,
    /// A page of one product. A site that answers for many products answers to anything.
    Product,
    /// The client or the method, whatever it requests.
    Client,
}
