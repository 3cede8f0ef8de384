//! What one site answered to probes: by path the sizes it gave and whether it refused. Bounded, and merged by union.
//!
//! Of more paths than fit those of lowest hash stay, so which paths stay does not depend on their order. Nothing is decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{MethodClass, PathShape, ShapeNumbers};
use crate::finding::RuleId;
use crate::log_entry::Outcome;

/// Answered paths that evidence keeps for each site, and as many refused ones: some 100 KB a site. With half as many, one real
/// answer in two hundred of the measured logs is lost among soft 404s of five languages.
pub const MOST_PATHS: usize = 1024;
/// Sizes kept for each path: variants of language and compression are two to four.
const MOST_SIZES: usize = 4;
/// Rules kept for each path; few paths match more.
const MOST_RULES: usize = 6;
/// Sizes kept of the home page: a page that changes every day has as many in most of a year.
const MOST_HOME_SIZES: usize = 256;

/// A response to one request for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The class of the method.
    pub method: MethodClass,
    /// The status code.
    pub status: Option<u16>,
    /// Bytes sent, where the log has a number.
    pub bytes: Option<u64>,
    /// Bytes of the request target beyond the path, 255 for more: pages that print the address grow by them.
    pub extra: u8,
}

impl Response {
    /// The size, where it is the size of content: not of a HEAD, a 204, a 206 or a 304, and not 0.
    #[must_use]
    pub fn size(&self) -> Option<Size> {
        let has_content = matches!(self.method, MethodClass::Get | MethodClass::Post)
            && matches!(self.status, Some(200..=299))
            && !matches!(self.status, Some(204 | 206));
        let bytes = self.bytes.filter(|&bytes| has_content && bytes > 0)?;
        Some(Size { bytes, extra: self.extra })
    }

    /// Whether GET was answered with nothing: a 204, or 0 bytes where a page was due. A log without sizes may write 0 as well.
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

    /// Whether it says that the path is not there or not for the client. A 429 says nothing about the path, a 400 comes before any
    /// path is looked up, and a 405 answers the method.
    pub(crate) fn is_refusal(&self) -> bool {
        match Outcome::of(self.status) {
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

/// Bytes of content, and of the request target beyond its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size {
    /// Bytes sent.
    pub bytes: u64,
    /// See [`Response::extra`].
    pub extra: u8,
}

/// A size as numbers, for a file.
pub type SizeNumbers = (u64, u8);

impl From<Size> for SizeNumbers {
    fn from(Size { bytes, extra }: Size) -> Self {
        (bytes, extra)
    }
}

impl From<SizeNumbers> for Size {
    fn from((bytes, extra): SizeNumbers) -> Self {
        Self { bytes, extra }
    }
}

/// A few values: those of lowest hash, so that which stay does not depend on their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct SizeSet<const MOST: usize>(Vec<Size>);

impl<const MOST: usize> SizeSet<MOST> {
    fn insert(&mut self, size: Size) {
        if self.0.contains(&size) {
            return;
        }
        self.0.push(size);
        if self.0.len() > MOST {
            self.0.sort_unstable_by_key(|size| (mixed(*size), *size));
            self.0.truncate(MOST);
        }
    }

    fn extend(&mut self, sizes: impl IntoIterator<Item = Size>) {
        sizes.into_iter().for_each(|size| self.insert(size));
    }

    /// In order of their bytes.
    fn numbers(&self) -> Vec<SizeNumbers> {
        let mut numbers: Vec<SizeNumbers> = self.0.iter().map(|size| (*size).into()).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// A size as a number without a pattern.
fn mixed(size: Size) -> u64 {
    (size.bytes << 8 | u64::from(size.extra)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// What a site answered for one path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathEvidence {
    /// What the path looks like.
    pub shape: PathShape,
    rules: Vec<RuleId>,
    get: SizeSet<MOST_SIZES>,
    post: SizeSet<MOST_SIZES>,
    flags: u8,
}

/// What a site answered for one path as numbers, for a file.
#[derive(Debug, Clone)]
pub struct PathNumbers {
    /// What the path looks like.
    pub shape: ShapeNumbers,
    /// What was given and refused, one bit each.
    pub flags: u8,
    /// Sizes that GET got, sorted.
    pub get: Vec<SizeNumbers>,
    /// Sizes that POST got, sorted.
    pub post: Vec<SizeNumbers>,
}

const GIVEN: u8 = 1;
const HEAD_GIVEN: u8 = 2;
const GET_REFUSED: u8 = 4;
const HEAD_REFUSED: u8 = 8;
const POST_REFUSED: u8 = 16;
const GET_EMPTY: u8 = 32;

impl PathEvidence {
    /// A path of this shape, of which nothing is known.
    #[must_use]
    pub fn new(shape: PathShape) -> Self {
        Self { shape, ..Self::default() }
    }

    /// Takes in a response to a request that matched these rules.
    pub fn record(&mut self, rules: &[RuleId], response: &Response) {
        self.add_rules(rules);
        if Outcome::of(response.status) == Outcome::Answered {
            match response.method {
                // It says nothing about the path.
                MethodClass::Other => return,
                MethodClass::Head => self.flags |= GIVEN | HEAD_GIVEN,
                MethodClass::Get | MethodClass::Post => self.flags |= GIVEN,
            }
            if response.is_empty() {
                self.flags |= GET_EMPTY;
            }
            match (response.size(), response.method) {
                (Some(size), MethodClass::Post) => self.post.insert(size),
                (Some(size), _) => self.get.insert(size),
                (None, _) => {}
            }
        } else if response.is_refusal() {
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
        self.rules.truncate(MOST_RULES);
    }

    fn merge(&mut self, other: &Self) {
        self.add_rules(&other.rules);
        self.get.extend(other.get.0.iter().copied());
        self.post.extend(other.post.0.iter().copied());
        self.flags |= other.flags;
    }

    /// The rules that requests for it matched, sorted.
    #[must_use]
    pub fn rules(&self) -> &[RuleId] {
        &self.rules
    }

    /// Sizes of content that GET got.
    #[must_use]
    pub fn get_sizes(&self) -> &[Size] {
        &self.get.0
    }

    /// Sizes of content that POST got.
    #[must_use]
    pub fn post_sizes(&self) -> &[Size] {
        &self.post.0
    }

    /// All sizes of content.
    pub fn sizes(&self) -> impl Iterator<Item = Size> {
        self.get.0.iter().chain(&self.post.0).copied()
    }

    /// Whether it was answered, with or without a size.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.flags & GIVEN != 0
    }

    pub(super) fn is_head_given(&self) -> bool {
        self.flags & HEAD_GIVEN != 0
    }

    pub(super) fn is_refused(&self) -> bool {
        self.flags & GET_REFUSED != 0
    }

    /// Whether GET was answered with nothing, and never with something.
    pub(super) fn is_empty(&self) -> bool {
        self.flags & GET_EMPTY != 0 && self.get.0.is_empty()
    }

    pub(super) fn is_head_refused(&self) -> bool {
        self.flags & HEAD_REFUSED != 0
    }

    pub(super) fn is_post_refused(&self) -> bool {
        self.flags & POST_REFUSED != 0
    }

    /// All but its rules as numbers, for a file.
    #[must_use]
    pub fn numbers(&self) -> PathNumbers {
        PathNumbers { shape: self.shape.into(), flags: self.flags, get: self.get.numbers(), post: self.post.numbers() }
    }

    /// The evidence of such numbers.
    #[must_use]
    pub fn from_numbers(numbers: PathNumbers, rules: &[RuleId]) -> Self {
        let PathNumbers { shape, flags, get, post } = numbers;
        let mut evidence = Self { shape: shape.into(), flags, ..Self::default() };
        evidence.add_rules(rules);
        evidence.get.extend(get.into_iter().map(Size::from));
        evidence.post.extend(post.into_iter().map(Size::from));
        evidence
    }
}

/// Evidence that several hold is copied only when it changes.
fn merge_shared(known: &mut Arc<PathEvidence>, other: &PathEvidence) {
    if **known != *other {
        Arc::make_mut(known).merge(other);
    }
}

/// Sizes of a home page: what the site shows to everyone. Of many those of lowest hash stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomeSizes(BTreeSet<(u64, u64)>);

impl HomeSizes {
    /// Takes in a size in bytes.
    pub fn insert(&mut self, bytes: u64) {
        let key = (mixed(Size { bytes, extra: 0 }), bytes);
        let is_full = self.0.len() >= MOST_HOME_SIZES;
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
        self.0.contains(&(mixed(Size { bytes, extra: 0 }), bytes))
    }

    /// Whether no size is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes in those of another part of the log.
    pub fn merge(&mut self, other: &Self) {
        other.iter().for_each(|bytes| self.insert(bytes));
    }

    /// The sizes in bytes, in no order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|(_, bytes)| *bytes)
    }
}

/// How many paths each of those kept stands for; `paths` are sorted. Hashes are spread evenly: below the highest one kept lies that
/// share of all.
#[expect(clippy::cast_precision_loss, reason = "a share of all hashes")]
fn weight<'h>(mut paths: impl Iterator<Item = &'h u64>) -> f64 {
    let highest = paths.nth(MOST_PATHS - 1);
    highest.map_or(1.0, |highest| (2_f64.powi(64) / *highest as f64).max(1.0))
}

/// What one site answered to probes. Paths are known by [`path_hash`](super::path_hash).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteEvidence {
    given: BTreeMap<u64, Arc<PathEvidence>>,
    refused: BTreeMap<u64, Arc<PathEvidence>>,
    /// Sizes of the home page.
    pub home: HomeSizes,
}

impl SiteEvidence {
    /// Takes in a response to a probe; `shape` is called where the path is kept.
    pub fn record(&mut self, path: u64, shape: impl FnOnce() -> PathShape, rules: &[RuleId], response: &Response) {
        let is_given = Outcome::of(response.status) == Outcome::Answered && response.method != MethodClass::Other;
        if let Some(known) = self.given.get_mut(&path) {
            Arc::make_mut(known).record(rules, response);
        } else if is_given {
            let mut evidence = self.refused.remove(&path).unwrap_or_else(|| Arc::new(PathEvidence::new(shape())));
            Arc::make_mut(&mut evidence).record(rules, response);
            self.given.insert(path, evidence);
        } else if response.is_refusal()
            && let Some(evidence) = self.refused_path(path, || Arc::new(PathEvidence::new(shape())))
        {
            Arc::make_mut(evidence).record(rules, response);
        }
    }

    /// What is known of a refused path, where it is one of those of lowest hash: that of highest hash makes room for a new one.
    fn refused_path(&mut self, path: u64, new: impl FnOnce() -> Arc<PathEvidence>) -> Option<&mut Arc<PathEvidence>> {
        if self.refused.len() >= MOST_PATHS && !self.refused.contains_key(&path) {
            self.refused.last_entry().filter(|last| path < *last.key())?.remove();
        }
        Some(self.refused.entry(path).or_insert_with(new))
    }

    /// Takes in the evidence of another part of the log.
    pub fn merge(&mut self, other: &Self) {
        for (path, evidence) in &other.given {
            self.insert(*path, evidence);
        }
        for (path, evidence) in &other.refused {
            self.insert(*path, evidence);
        }
        self.home.merge(&other.home);
    }

    /// Takes in what is known of one path.
    pub fn insert(&mut self, path: u64, evidence: &Arc<PathEvidence>) {
        if let Some(known) = self.given.get_mut(&path) {
            merge_shared(known, evidence);
        } else if evidence.is_given() {
            let mut merged = self.refused.remove(&path).unwrap_or_else(|| Arc::clone(evidence));
            merge_shared(&mut merged, evidence);
            self.given.insert(path, merged);
        } else if let Some(known) = self.refused_path(path, || Arc::clone(evidence)) {
            merge_shared(known, evidence);
        }
    }

    /// Drops answered paths beyond [`MOST_PATHS`], those of highest hash.
    pub fn trim(&mut self) {
        while self.given.len() > MOST_PATHS {
            self.given.pop_last();
        }
    }

    /// What is known of a path.
    #[must_use]
    pub fn path(&self, path: u64) -> Option<&PathEvidence> {
        self.given.get(&path).or_else(|| self.refused.get(&path)).map(|path| &**path)
    }

    /// The same, shared.
    #[must_use]
    pub fn shared(&self, path: u64) -> Option<Arc<PathEvidence>> {
        self.given.get(&path).or_else(|| self.refused.get(&path)).cloned()
    }

    /// The answered paths of lowest hash, no more than [`MOST_PATHS`].
    pub fn given(&self) -> impl Iterator<Item = (u64, &Arc<PathEvidence>)> + Clone {
        self.given.iter().take(MOST_PATHS).map(|(path, evidence)| (*path, evidence))
    }

    /// The refused paths of lowest hash that were never answered.
    pub fn refused(&self) -> impl Iterator<Item = (u64, &Arc<PathEvidence>)> + Clone {
        self.refused.iter().map(|(path, evidence)| (*path, evidence))
    }

    /// How many paths each of [`given`](Self::given) and [`refused`](Self::refused) stands for.
    pub(super) fn weights(&self) -> [f64; 2] {
        [weight(self.given.keys()), weight(self.refused.keys())]
    }

    /// Answered paths that are known.
    #[must_use]
    pub fn given_len(&self) -> usize {
        self.given.len()
    }

    /// Refused paths that are known.
    #[must_use]
    pub fn refused_len(&self) -> usize {
        self.refused.len()
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty() && self.refused.is_empty() && self.home.is_empty()
    }

    /// The same with other numbers for rules; those without a new one are left out.
    #[must_use]
    pub fn renumbered(mut self, rule: impl Fn(RuleId) -> Option<RuleId>) -> Self {
        for evidence in self.given.values_mut().chain(self.refused.values_mut()) {
            let evidence = Arc::make_mut(evidence);
            let rules: Vec<RuleId> = std::mem::take(&mut evidence.rules).into_iter().filter_map(&rule).collect();
            evidence.add_rules(&rules);
        }
        self
    }
}
