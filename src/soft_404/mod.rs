//! Detects soft 404s: a *soft 404* is a page with status 200 for a path that does not exist.
//!
//! [`SiteEvidence`] is what one site answered to probes, in bounded memory; evidence merges in any
//! order. A [`Grader`] compares an answer with the evidence and returns an [`Answer`]. It does not
//! depend on logs, rule files or reports, and decides no severity.

mod evidence;
mod grade;
mod path;
mod region;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use crate::log::log_entry::MethodClass;

pub(crate) use evidence::{
    HomeSizes, Hours, MAX_PATHS, PathEvidence, PathNumbers, Response, ResponseSize, SentResponse,
    SiteEvidence, SizeNumbers, page_tolerance,
};
pub use grade::Reason;
pub(crate) use grade::{Grade, GradeCandidate, Grader, HOSTS};
pub(crate) use path::{Extension, PathShape, ShapeNumbers, path_hash, repository_folder};

/// The grade of an answer to a probe, compared with the answers of its site to any path. Ordered by
/// relevance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The site answers any path like this.
    #[serde(rename = "soft_404")]
    Soft404,
    /// The log does not show whether it is a soft 404.
    Uncertain,
    /// The answer differs from those to any path.
    Distinct,
}

impl Answer {
    /// The word in reports.
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
pub(crate) enum RuleSubject {
    /// A file, a folder or a page.
    #[default]
    Path,
    /// A page of one product. A site that answers for many products answers to anything.
    Product,
    /// The client or the method, whatever it requests.
    Client,
}

#[cfg(test)]
mod tests;
