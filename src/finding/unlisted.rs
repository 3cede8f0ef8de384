//! A request that no rule matched, as far as it is needed to learn from it.
//!
//! Plain data, a few numbers each; only noted where a run asks for it.

use std::ops::Range;

use super::Findings;
use crate::time::LogTime;

/// A request that no rule matched. Its range points into the text of its [`Findings`].
#[derive(Debug, Clone)]
pub struct Unlisted {
    /// The line's number within the run, from 0.
    pub line: u32,
    /// Where the line begins, in bytes from the start of the run.
    pub offset: u64,
    /// When.
    pub time: Option<LogTime>,
    /// The status code.
    pub status: Option<u16>,
    /// The client's number.
    pub client: u32,
    /// The number of the path in lower case.
    pub path: u32,
    /// The client followed a link to it, and was answered.
    pub linked: bool,
    target: Range<usize>,
}

impl Unlisted {
    /// A request by its place, who asked, and for what.
    #[must_use]
    pub fn new(line: u32, offset: u64, client: u32, path: u32) -> Self {
        Self { line, offset, client, path, time: None, status: None, linked: false, target: 0..0 }
    }
}

impl Findings {
    /// Notes a request that no rule matched, and its target as logged where that is not the path itself.
    pub fn push_unlisted(&mut self, mut request: Unlisted, target: &[u8]) {
        request.target = self.keep(target);
        self.unlisted.push(request);
    }

    /// The target of such a request; empty where it is the path itself.
    #[must_use]
    pub fn target(&self, request: &Unlisted) -> &[u8] {
        &self.text[request.target.clone()]
    }
}
