//! What one site answered to probes: sizes and refusals by path. Bounded, and merged by union.
//!
//! If there are too many paths, those with the lowest hashes are kept, so the result does not
//! depend on their order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{MethodClass, PathShape, ShapeNumbers};
use crate::log::finding::RuleId;
use crate::log::log_entry::Outcome;

/// Most answered paths of a site, and most refused ones: about 100 KB per site. With half as many,
/// one real answer in two hundred of the measured logs is lost among soft 404s in five languages.
pub(crate) const MAX_PATHS: usize = 1024;
/// Most sizes of a path: variants of language and compression are two to four.
const MAX_SIZES: usize = 4;
/// Most rules of a path; few paths match more.
const MAX_RULES: usize = 6;
/// Most clients of a path that are remembered: three that got one size show that it does not vary,
/// see `grade`.
pub(super) const MAX_PATH_CLIENTS: usize = 3;
/// Most sizes of the home page: a page that changes daily has this many in most of a year.
const MAX_HOME_SIZES: usize = 256;

/// Bytes by which pages with a token, a time or an address differ.
pub(super) const TOKEN_BYTES: u64 = 16;
/// A twentieth: the same for long pages.
const PAGE_DIVISOR: u64 = 20;

/// The most bytes by which a page of this size differs from the same page for another request: it
/// prints a name, a time or a token. Grades compare sizes within these bounds too.
#[must_use]
pub(crate) fn page_tolerance(bytes: u64) -> u64 {
    TOKEN_BYTES.max(bytes / PAGE_DIVISOR)
}

/// The [`extra`](Response::extra) of a request whose target is at least this much longer than its
/// path.
pub(super) const MAX_EXTRA: u8 = u8::MAX;

/// A response to one request for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The class of the method.
    pub method: MethodClass,
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent, where the log has a number.
    pub bytes: Option<u64>,
    /// Bytes of the request target as sent beyond its resolved path, at most [`MAX_EXTRA`]: pages
    /// that print the URL grow by them.
    pub extra: u8,
}

impl Response {
    /// The size, if it is the size of content: not of a HEAD, a 204, a 206 or a 304, and not 0.
    #[must_use]
    pub fn size(&self) -> Option<ResponseSize> {
        let has_content = matches!(self.method, MethodClass::Get | MethodClass::Post)
            && matches!(self.status, Some(200..=299))
            && !matches!(self.status, Some(204 | 206));
        let bytes = self.bytes.filter(|&bytes| has_content && bytes > 0)?;
        Some(ResponseSize {
            bytes,
            extra: self.extra,
        })
    }

    /// The size of a part of the content, which GET got with status 206: that of the range, or of
    /// the whole content if that is shorter.
    #[must_use]
    pub fn partial_size(&self) -> Option<ResponseSize> {
        let bytes = self.bytes.filter(|&bytes| {
            self.method == MethodClass::Get && self.status == Some(206) && bytes > 0
        })?;
        Some(ResponseSize {
            bytes,
            extra: self.extra,
        })
    }

    /// Whether GET got an empty response: a 204, or 0 bytes. A log without sizes may write 0 as
    /// well.
    #[must_use]
    pub(super) fn is_empty(&self) -> bool {
        let has_nothing = match self.status {
            Some(204) => true,
            Some(206) => false,
            Some(200..=299) => self.bytes == Some(0),
            _ => false,
        };
        has_nothing && self.method == MethodClass::Get
    }

    /// Whether the path does not exist or is forbidden. A 429 means nothing about the path, a 400
    /// comes before the path lookup, and a 405 refers to the method.
    pub(crate) fn is_refusal(&self) -> bool {
        match Outcome::from_status(self.status) {
            Outcome::NotFound | Outcome::AuthRequired => true,
            Outcome::Denied => match self.status {
                Some(429) => false,
                Some(405) => self.method == MethodClass::Get,
                _ => true,
            },
            _ => false,
        }
    }
}

/// A response, its client and its time, as far as these are known.
#[derive(Debug, Clone, Copy)]
pub struct SentResponse {
    /// The response.
    pub response: Response,
    /// A hash of the client. It distinguishes a few clients of a path and identifies none.
    pub client: Option<u16>,
    /// When it was sent first and last.
    pub hours: Option<Hours>,
}

/// The first and the last hour of some responses, since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Hours(pub u32, pub u32);

impl Hours {
    /// The hours of these seconds since 1970; times that do not fit are those of the first or the
    /// last hour.
    pub(crate) fn new(first: i64, last: i64) -> Self {
        let hour =
            |seconds: i64| u32::try_from(seconds.div_euclid(3_600).max(0)).unwrap_or(u32::MAX);
        Self(hour(first), hour(last))
    }

    fn union(self, other: Self) -> Self {
        Self(self.0.min(other.0), self.1.max(other.1))
    }

    /// Whether the other hours begin or end at most this many hours before or after these.
    pub(super) fn is_near(self, other: Self, distance: u32) -> bool {
        other.0 <= self.1.saturating_add(distance) && self.0 <= other.1.saturating_add(distance)
    }
}

/// Bytes of content, and of the request target beyond its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResponseSize {
    /// Bytes sent.
    pub bytes: u64,
    /// See [`Response::extra`].
    pub extra: u8,
}

/// A size as numbers, for a file.
pub(crate) type SizeNumbers = (u64, u8);

impl From<ResponseSize> for SizeNumbers {
    fn from(ResponseSize { bytes, extra }: ResponseSize) -> Self {
        (bytes, extra)
    }
}

impl From<SizeNumbers> for ResponseSize {
    fn from((bytes, extra): SizeNumbers) -> Self {
        Self { bytes, extra }
    }
}

/// At most `MAX` sizes: those with the lowest hashes, so that the result does not depend on their
/// order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SizeSet<const MAX: usize>(Vec<ResponseSize>);

impl<const MAX: usize> SizeSet<MAX> {
    fn insert(&mut self, size: ResponseSize) {
        if self.0.contains(&size) {
            return;
        }
        self.0.push(size);
        if self.0.len() > MAX {
            self.0.sort_unstable_by_key(|size| (mixed(*size), *size));
            self.0.truncate(MAX);
        }
    }

    fn extend(&mut self, sizes: impl IntoIterator<Item = ResponseSize>) {
        sizes.into_iter().for_each(|size| self.insert(size));
    }

    /// Sorted.
    fn numbers(&self) -> Vec<SizeNumbers> {
        let mut numbers: Vec<SizeNumbers> = self.0.iter().map(|size| (*size).into()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// A hash of a size.
fn mixed(size: ResponseSize) -> u64 {
    (size.bytes << 8 | u64::from(size.extra))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
        .wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The evidence of one path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathEvidence {
    /// The shape of the path.
    pub shape: PathShape,
    rules: Vec<RuleId>,
    /// Hashes of the clients to whose GET it gave content: the lowest ones, sorted.
    clients: Vec<u16>,
    get: SizeSet<MAX_SIZES>,
    post: SizeSet<MAX_SIZES>,
    partial: SizeSet<MAX_SIZES>,
    flags: u8,
    answered_hours: Option<Hours>,
    refused_hours: Option<Hours>,
}

/// The evidence of one path as numbers, for a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PathNumbers {
    /// What the path looks like.
    pub shape: ShapeNumbers,
    /// Flags of answers and refusals.
    pub flags: u8,
    /// Sizes that GET got, sorted.
    pub get: Vec<SizeNumbers>,
    /// Sizes that POST got, sorted.
    pub post: Vec<SizeNumbers>,
    /// Sizes of parts that GET got, sorted.
    pub partial: Vec<SizeNumbers>,
    /// Hashes of clients, sorted.
    pub clients: Vec<u16>,
    /// When it was answered, and when it was refused.
    pub hours: [Option<Hours>; 2],
}

const GET_ANSWERED: u8 = 1;
const HEAD_ANSWERED: u8 = 2;
const GET_REFUSED: u8 = 4;
const HEAD_REFUSED: u8 = 8;
const POST_REFUSED: u8 = 16;
const GET_EMPTY: u8 = 32;

impl PathEvidence {
    /// A path without responses.
    #[must_use]
    pub fn new(shape: PathShape) -> Self {
        Self {
            shape,
            ..Self::default()
        }
    }

    /// Records a response to a request that matched these rules.
    pub fn record(&mut self, rules: &[RuleId], sent: &SentResponse) {
        self.add_rules(rules);
        let SentResponse {
            response,
            client,
            hours,
        } = sent;
        if Outcome::from_status(response.status) == Outcome::Answered {
            match response.method {
                // It means nothing about the path.
                MethodClass::Other => return,
                MethodClass::Head => self.flags |= GET_ANSWERED | HEAD_ANSWERED,
                MethodClass::Get | MethodClass::Post => self.flags |= GET_ANSWERED,
            }
            if response.is_empty() {
                self.flags |= GET_EMPTY;
            }
            self.answered_hours = union(self.answered_hours, *hours);
            match (response.size(), response.method) {
                (Some(size), MethodClass::Post) => self.post.insert(size),
                (Some(size), _) => {
                    self.get.insert(size);
                    if let Some(client) = client {
                        self.add_client(*client);
                    }
                }
                (None, _) => self.partial.extend(response.partial_size()),
            }
        } else if response.is_refusal() {
            self.refused_hours = union(self.refused_hours, *hours);
            self.flags |= match response.method {
                MethodClass::Get => GET_REFUSED,
                MethodClass::Head => HEAD_REFUSED,
                MethodClass::Post => POST_REFUSED,
                MethodClass::Other => 0,
            };
        }
    }

    fn add_rules(&mut self, rules: &[RuleId]) {
        for rule in rules {
            if let Err(at) = self.rules.binary_search(rule) {
                self.rules.insert(at, *rule);
            }
        }
        self.rules.truncate(MAX_RULES);
    }

    fn add_client(&mut self, client: u16) {
        if let Err(at) = self.clients.binary_search(&client) {
            self.clients.insert(at, client);
        }
        self.clients.truncate(MAX_PATH_CLIENTS);
    }

    fn merge(&mut self, other: &Self) {
        self.add_rules(&other.rules);
        other
            .clients
            .iter()
            .for_each(|client| self.add_client(*client));
        self.answered_hours = union(self.answered_hours, other.answered_hours);
        self.refused_hours = union(self.refused_hours, other.refused_hours);
        self.get.extend(other.get.0.iter().copied());
        self.post.extend(other.post.0.iter().copied());
        self.partial.extend(other.partial.0.iter().copied());
        self.flags |= other.flags;
    }

    /// The rules that requests for it matched, sorted.
    #[must_use]
    pub fn rules(&self) -> &[RuleId] {
        &self.rules
    }

    /// Sizes of content that GET got.
    #[must_use]
    pub fn get_sizes(&self) -> &[ResponseSize] {
        &self.get.0
    }

    /// Sizes of content that POST got.
    #[must_use]
    pub fn post_sizes(&self) -> &[ResponseSize] {
        &self.post.0
    }

    /// Sizes of parts of the content.
    #[must_use]
    pub fn partial_sizes(&self) -> &[ResponseSize] {
        &self.partial.0
    }

    /// All sizes of content.
    pub fn sizes(&self) -> impl Iterator<Item = ResponseSize> {
        self.get.0.iter().chain(&self.post.0).copied()
    }

    /// When it was answered.
    pub(super) fn answered_hours(&self) -> Option<Hours> {
        self.answered_hours
    }

    /// When it was refused.
    pub(super) fn refused_hours(&self) -> Option<Hours> {
        self.refused_hours
    }

    /// The clients to whose GET it gave content, at most [`MAX_PATH_CLIENTS`].
    pub(super) fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// Whether it was answered, with or without a size.
    #[must_use]
    pub fn is_answered(&self) -> bool {
        self.flags & GET_ANSWERED != 0
    }

    pub(super) fn is_head_answered(&self) -> bool {
        self.flags & HEAD_ANSWERED != 0
    }

    pub(super) fn is_refused(&self) -> bool {
        self.flags & GET_REFUSED != 0
    }

    /// Whether GET got empty responses only.
    pub(super) fn is_empty(&self) -> bool {
        self.flags & GET_EMPTY != 0 && self.get.0.is_empty()
    }

    pub(super) fn is_head_refused(&self) -> bool {
        self.flags & HEAD_REFUSED != 0
    }

    pub(super) fn is_post_refused(&self) -> bool {
        self.flags & POST_REFUSED != 0
    }

    /// The evidence without rules as numbers, for a file.
    #[must_use]
    pub fn numbers(&self) -> PathNumbers {
        let (get, post, partial) = (
            self.get.numbers(),
            self.post.numbers(),
            self.partial.numbers(),
        );
        let hours = [self.answered_hours, self.refused_hours];
        PathNumbers {
            shape: self.shape.into(),
            flags: self.flags,
            get,
            post,
            partial,
            clients: self.clients.clone(),
            hours,
        }
    }

    /// The evidence from numbers of a file.
    #[must_use]
    pub fn from_numbers(numbers: PathNumbers, rules: &[RuleId]) -> Self {
        let PathNumbers {
            shape,
            flags,
            get,
            post,
            partial,
            clients,
            hours: [answered_hours, refused_hours],
        } = numbers;
        let mut evidence = Self {
            shape: shape.into(),
            flags,
            answered_hours,
            refused_hours,
            ..Self::default()
        };
        evidence.add_rules(rules);
        evidence.get.extend(get.into_iter().map(ResponseSize::from));
        evidence
            .post
            .extend(post.into_iter().map(ResponseSize::from));
        evidence
            .partial
            .extend(partial.into_iter().map(ResponseSize::from));
        for client in clients {
            evidence.add_client(client);
        }
        evidence
    }
}

fn union(hours: Option<Hours>, other: Option<Hours>) -> Option<Hours> {
    match (hours, other) {
        (Some(hours), Some(other)) => Some(hours.union(other)),
        _ => hours.or(other),
    }
}

/// Shared evidence is copied only if it changes.
fn merge_shared(known: &mut Arc<PathEvidence>, other: &PathEvidence) {
    if **known != *other {
        Arc::make_mut(known).merge(other);
    }
}

/// Sizes of a home page. If there are too many, those with the lowest hashes are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeSizes(BTreeSet<(u64, u64)>);

impl HomeSizes {
    /// Adds a size in bytes.
    pub fn insert(&mut self, bytes: u64) {
        let key = (mixed(ResponseSize { bytes, extra: 0 }), bytes);
        let is_full = self.0.len() >= MAX_HOME_SIZES;
        if is_full && self.0.last().is_some_and(|last| key >= *last) {
            return;
        }
        if self.0.insert(key) && is_full {
            self.0.pop_last();
        }
    }

    /// Whether the home page had this size.
    #[must_use]
    pub fn contains(&self, bytes: u64) -> bool {
        self.0
            .contains(&(mixed(ResponseSize { bytes, extra: 0 }), bytes))
    }

    /// Whether no size is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Merges the sizes of another part of the log.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|bytes| self.insert(bytes));
    }

    /// The sizes in bytes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(_, bytes)| *bytes)
    }
}

/// The number of paths that each kept path represents; `paths` are sorted. Hashes are uniform, so
/// the highest kept hash shows the share that was kept.
#[expect(clippy::cast_precision_loss, reason = "a share of all hashes")]
fn weight<'h>(mut paths: impl Iterator<Item = &'h u64>) -> f64 {
    let highest = paths.nth(MAX_PATHS - 1);
    highest.map_or(1.0, |highest| (2_f64.powi(64) / *highest as f64).max(1.0))
}

/// What one site answered to probes. Paths are identified by [`path_hash`](super::path_hash).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteEvidence {
    answered: BTreeMap<u64, Arc<PathEvidence>>,
    refused: BTreeMap<u64, Arc<PathEvidence>>,
    /// Sizes of the home page.
    pub home: HomeSizes,
}

impl SiteEvidence {
    /// Records a response to a probe; `shape` is called if the path is kept.
    pub fn record(
        &mut self,
        path: u64,
        shape: impl FnOnce() -> PathShape,
        rules: &[RuleId],
        sent: &SentResponse,
    ) {
        let response = &sent.response;
        let is_answered = Outcome::from_status(response.status) == Outcome::Answered
            && response.method != MethodClass::Other;
        if let Some(known) = self.answered.get_mut(&path) {
            Arc::make_mut(known).record(rules, sent);
        } else if is_answered {
            let mut evidence = self
                .refused
                .remove(&path)
                .unwrap_or_else(|| Arc::new(PathEvidence::new(shape())));
            Arc::make_mut(&mut evidence).record(rules, sent);
            self.answered.insert(path, evidence);
        } else if response.is_refusal()
            && let Some(evidence) = self.refused_path(path, || Arc::new(PathEvidence::new(shape())))
        {
            Arc::make_mut(evidence).record(rules, sent);
        }
    }

    /// The evidence of a refused path, if its hash is low enough to be kept; the path with the
    /// highest hash is evicted for a new one.
    fn refused_path(
        &mut self,
        path: u64,
        new: impl FnOnce() -> Arc<PathEvidence>,
    ) -> Option<&mut Arc<PathEvidence>> {
        if self.refused.len() >= MAX_PATHS && !self.refused.contains_key(&path) {
            self.refused
                .last_entry()
                .filter(|last| path < *last.key())?
                .remove();
        }
        Some(self.refused.entry(path).or_insert_with(new))
    }

    /// Merges the evidence of another part of the log.
    pub fn merge(&mut self, other: &Self) {
        for (path, evidence) in &other.answered {
            self.insert(*path, evidence);
        }
        for (path, evidence) in &other.refused {
            self.insert(*path, evidence);
        }
        self.home.merge(&other.home);
    }

    /// Merges the evidence of one path.
    pub fn insert(&mut self, path: u64, evidence: &Arc<PathEvidence>) {
        if let Some(known) = self.answered.get_mut(&path) {
            merge_shared(known, evidence);
        } else if evidence.is_answered() {
            let mut merged = self
                .refused
                .remove(&path)
                .unwrap_or_else(|| Arc::clone(evidence));
            merge_shared(&mut merged, evidence);
            self.answered.insert(path, merged);
        } else if let Some(known) = self.refused_path(path, || Arc::clone(evidence)) {
            merge_shared(known, evidence);
        }
    }

    /// Drops the answered paths with the highest hashes beyond [`MAX_PATHS`].
    pub fn trim(&mut self) {
        while self.answered.len() > MAX_PATHS {
            self.answered.pop_last();
        }
    }

    /// The evidence of a path.
    #[must_use]
    pub fn path(&self, path: u64) -> Option<&PathEvidence> {
        self.answered
            .get(&path)
            .or_else(|| self.refused.get(&path))
            .map(|path| &**path)
    }

    /// The evidence of a path, shared.
    #[must_use]
    pub fn shared(&self, path: u64) -> Option<Arc<PathEvidence>> {
        self.answered
            .get(&path)
            .or_else(|| self.refused.get(&path))
            .cloned()
    }

    /// The answered paths with the lowest hashes, at most [`MAX_PATHS`].
    pub fn answered(&self) -> impl Iterator<Item = (u64, &Arc<PathEvidence>)> + Clone {
        self.answered
            .iter()
            .take(MAX_PATHS)
            .map(|(path, evidence)| (*path, evidence))
    }

    /// The refused paths with the lowest hashes that were never answered.
    pub fn refused(&self) -> impl Iterator<Item = (u64, &Arc<PathEvidence>)> + Clone {
        self.refused
            .iter()
            .map(|(path, evidence)| (*path, evidence))
    }

    /// The number of paths that each of [`answered`](Self::answered) and [`refused`](Self::refused)
    /// represents.
    pub(super) fn weights(&self) -> [f64; 2] {
        [weight(self.answered.keys()), weight(self.refused.keys())]
    }

    /// The number of answered paths.
    #[must_use]
    pub fn answered_len(&self) -> usize {
        self.answered.len()
    }

    /// The number of refused paths.
    #[must_use]
    pub fn refused_len(&self) -> usize {
        self.refused.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.answered.is_empty() && self.refused.is_empty() && self.home.is_empty()
    }

    /// Renumbers the rules; rules without a new number are dropped.
    #[must_use]
    pub fn renumbered(mut self, rule: impl Fn(RuleId) -> Option<RuleId>) -> Self {
        for evidence in self.answered.values_mut().chain(self.refused.values_mut()) {
            let evidence = Arc::make_mut(evidence);
            let rules: Vec<RuleId> = std::mem::take(&mut evidence.rules)
                .into_iter()
                .filter_map(&rule)
                .collect();
            evidence.add_rules(&rules);
        }
        self
    }
}
