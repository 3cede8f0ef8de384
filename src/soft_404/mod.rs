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

use serde::{Deserialize, Serialize};

pub use evidence::{HomeSizes, MOST_PATHS, PathEvidence, Response, SiteEvidence, Size};
pub use grade::{Candidate, Grade, Grader, Reason};
pub use path::{Extension, PathShape, path_hash};

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

/// What kind of response a method asks for. Sizes compare only between responses that have a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum MethodClass {
    /// GET, or a request without a method: the content of the path.
    #[default]
    Get,
    /// POST, PUT and PATCH: what the server makes of a body.
    Post,
    /// HEAD: no body.
    Head,
    /// OPTIONS and others: the response says nothing about the content of the path.
    Other,
}

impl MethodClass {
    /// The class of a method as logged.
    #[must_use]
    pub fn of(method: &[u8]) -> Self {
        match method {
            b"GET" | b"" => Self::Get,
            b"POST" | b"PUT" | b"PATCH" => Self::Post,
            b"HEAD" => Self::Head,
            _ => Self::Other,
        }
    }

    /// The class with this number; [`Other`](Self::Other) for numbers that no class has.
    #[must_use]
    pub fn from_u8(number: u8) -> Self {
        match number {
            0 => Self::Get,
            1 => Self::Post,
            2 => Self::Head,
            _ => Self::Other,
        }
    }

    /// The method that stands for the class in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Head => "HEAD",
            Self::Other => "OTHER",
        }
    }
}

/// What a rule looks for, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
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
