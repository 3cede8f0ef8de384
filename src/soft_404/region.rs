//! Regions: parts of a site whose answers are compared with each other. A region is the whole site,
//! a folder, the paths of one extension, or the hosts of one server.
//!
//! A region computes how likely it is that unrelated paths have about the same size by chance,
//! whether it answers any path, and whether a size is an outlier. `grade` combines the results.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "shares of sizes and counts, which are no less than zero and far below 2^52"
)]

use std::sync::{Arc, LazyLock, OnceLock};

use foldhash::{HashMap, HashMapExt};

use super::evidence::{MAX_EXTRA, PathEvidence, ResponseSize, TOKEN_BYTES};
use super::{PathShape, RuleSubject};
use crate::log::finding::RuleId;

/// Probability of a coincidence below which an answer is a soft 404.
pub(super) const SOFT_404_BELOW: f64 = 1e-4;
/// Probability of a coincidence below which an answer is uncertain.
pub(super) const UNCERTAIN_BELOW: f64 = 1e-2;
/// Most answered paths of a region: twice those of a site, for regions of several hosts. Models use
/// 16-bit indices.
const MAX_REGION_PATHS: usize = 2 * super::MAX_PATHS;

/// Fewest unrelated paths, with the graded one, that show a soft 404. Two files may have one size
/// by chance or be copies; three that different rules match are no copies.
pub(super) const MIN_UNRELATED: usize = 3;
/// Fewest paths of one name in many folders, or of names of one kind, as scanner lists have them,
/// that show a soft 404.
const MIN_SAME_KIND: usize = 5;
/// Fewest answered paths of a region that answers any path.
const SATURATED_PATHS: usize = 5;
/// Number of products, platforms, or folders with the same file that no site has together.
const MIN_CONTRADICTIONS: usize = 3;
/// Number of products and platforms that no two sites have together: a log of several sites, of
/// which one answers any path, has more.
const MIN_SITE_CONTRADICTIONS: usize = 8;
/// A region that refuses more than this share of what it answers does not answer any path.
pub(super) const REFUSED_SHARE: f64 = 0.2;
/// Spread of file sizes. Real sizes spread over more than two decades; 5 nats (20 bytes to 3 KB,
/// the most common half) assumes less, so that chance is not underestimated.
const SPREAD_NATS: f64 = 5.0;
/// Shortest content whose exact size identifies it, whatever the rules: Git references have 41 or
/// 65 bytes.
const MIN_IDENTIFYING_SIZE: u64 = 128;
/// Bytes by which pages with a token, a time or an address differ.
const NARROW_WINDOWS: [u64; 3] = [0, 4, TOKEN_BYTES];
/// Relative differences of pages with varying content.
const WIDE_WINDOWS: [f64; 2] = [0.05, 0.1];
/// The ratio of sizes that one page does not span.
const DECADE: i64 = 10;
/// How often a page may print its URL.
const URL_REPEATS: std::ops::RangeInclusive<u64> = 1..=4;

/// The kind of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RegionKind {
    /// A virtual host, or a log.
    Site,
    /// All paths below one first segment.
    Folder,
    /// All paths of one extension that have one segment.
    Root,
    /// All paths of one extension.
    Extension,
    /// Several hosts.
    Server,
    /// A virtual host, or a log, with the sizes of partial content only: these are those of the
    /// requested range, so they are not compared with others.
    PartialContent,
}

/// One path of a region.
#[derive(Debug)]
pub(super) struct RegionPath {
    pub(super) id: u64,
    pub(super) host: u32,
    pub(super) evidence: Arc<PathEvidence>,
    /// The matching rules that look for a path.
    pub(super) path_rules: Vec<RuleId>,
}

/// The path whose answer is graded.
#[derive(Debug, Clone, Copy)]
pub(super) struct GradedPath<'c> {
    pub(super) id: u64,
    pub(super) host: u32,
    pub(super) shape: &'c PathShape,
    pub(super) path_rules: &'c [RuleId],
}

/// The part of the request whose length a page contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LengthOf {
    Path,
    Target,
}

/// A value of a [`SizeModel`], and the index of its path.
type Point = (i64, u16);

/// What a quick check reads of a path.
#[derive(Debug, Clone, Copy)]
struct PathTraits {
    id: u64,
    name: u32,
    /// The index of the first path with the same rules.
    first_alike: u16,
}

/// Sizes with the printed URL subtracted.
#[derive(Debug)]
struct SizeModel {
    slope: u64,
    length: LengthOf,
    /// Values and indices of paths, sorted by value.
    points: Vec<Point>,
    /// The first of each run of points that are alike in value, path and rules.
    unlike: OnceLock<Vec<Point>>,
    /// Paths whose exact value is shared by many unrelated paths.
    exact: OnceLock<Vec<bool>>,
    /// The number of paths without such a value.
    unexplained: OnceLock<usize>,
}

/// A region.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Region {
    pub(super) kind: RegionKind,
    entries: Vec<RegionPath>,
    /// Those of the entries, if sizes are compared.
    traits: Vec<PathTraits>,
    /// Their names and paths, sorted and distinct.
    names: Vec<(u32, u64)>,
    /// Distinct paths with a size.
    pub(super) paths_with_size: usize,
    pub(super) answers_any_get: bool,
    pub(super) answers_any_post: bool,
    /// It answers any GET with an empty response.
    pub(super) answers_empty: bool,
    /// It answers for at least [`MIN_SITE_CONTRADICTIONS`] products, so a part of it answers any
    /// path, although other parts refuse.
    pub(super) answers_any_in_part: bool,
    models: Vec<SizeModel>,
}

/// How a size compares with the sizes of a region that answers any path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SizePosition {
    /// Among them.
    Among,
    /// Near them: neither an outlier nor one of them.
    Beside,
    /// Far from all of them.
    Apart,
}

impl RegionPath {
    pub(super) fn new(
        id: u64,
        host: u32,
        evidence: &Arc<PathEvidence>,
        subjects: &[RuleSubject],
    ) -> Self {
        Self {
            id,
            host,
            path_rules: path_rules(evidence.rules(), subjects),
            evidence: Arc::clone(evidence),
        }
    }

    /// The sizes that a region of this kind compares.
    fn sizes(&self, kind: RegionKind) -> impl Iterator<Item = ResponseSize> {
        let is_partial = kind == RegionKind::PartialContent;
        let partial = self
            .evidence
            .partial_sizes()
            .iter()
            .copied()
            .filter(move |_| is_partial);
        self.evidence
            .sizes()
            .filter(move |_| !is_partial)
            .chain(partial)
    }
}

/// The rules that look for a path, not for a client or a method.
pub(super) fn path_rules(rules: &[RuleId], subjects: &[RuleSubject]) -> Vec<RuleId> {
    let subject = |rule: &RuleId| {
        subjects
            .get(usize::from(rule.0))
            .copied()
            .unwrap_or_default()
    };
    rules
        .iter()
        .copied()
        .filter(|rule| subject(rule) != RuleSubject::Client)
        .collect()
}

impl Region {
    /// A region of answered and refused paths; `weights` are the numbers of paths that each of them
    /// represents.
    pub(super) fn new(
        kind: RegionKind,
        answered: impl Iterator<Item = RegionPath>,
        refused: impl Iterator<Item = RegionPath>,
        weights: [f64; 2],
        subjects: &[RuleSubject],
    ) -> Self {
        let mut entries: Vec<RegionPath> = answered.take(MAX_REGION_PATHS).collect();
        let refused: Vec<RegionPath> = refused.collect();
        // Paths with few rules first, so that unrelated ones are found early; then by hash, for a
        // fixed order.
        entries.sort_by_key(|entry| (entry.path_rules.len(), entry.id, entry.host));
        let paths_with_size = entries
            .iter()
            .filter(|entry| entry.sizes(kind).next().is_some())
            .count();
        let mut region = Self {
            kind,
            entries,
            traits: Vec::new(),
            names: Vec::new(),
            paths_with_size,
            answers_any_get: false,
            answers_any_post: false,
            answers_empty: false,
            answers_any_in_part: false,
            models: Vec::new(),
        };
        region.answers_any_get = region.answers_any(
            |path| match kind {
                RegionKind::PartialContent => !path.partial_sizes().is_empty(),
                _ => {
                    !path.get_sizes().is_empty()
                        || (path.is_answered()
                            && !path.is_refused()
                            && path.post_sizes().is_empty())
                }
            },
            PathEvidence::is_refused,
            &refused,
            weights,
            subjects,
        );
        region.answers_any_post = region.answers_any(
            |path| !path.post_sizes().is_empty(),
            PathEvidence::is_post_refused,
            &refused,
            weights,
            subjects,
        );
        let answered: Vec<&RegionPath> = region
            .entries
            .iter()
            .filter(|entry| entry.evidence.is_answered())
            .collect();
        region.answers_any_in_part = has_products(&answered, subjects, MIN_SITE_CONTRADICTIONS);
        region.answers_empty = region.answers_any_get && region.is_mostly_empty();
        region.fit();
        // A log may have very many hosts with one path each.
        region.entries.shrink_to_fit();
        region.models.shrink_to_fit();
        region
    }

    /// Whether it answers any path: unrelated paths were answered, few were refused, and not all of
    /// them can exist.
    fn answers_any(
        &self,
        is_answered: impl Fn(&PathEvidence) -> bool,
        is_refused: impl Fn(&PathEvidence) -> bool,
        refused: &[RegionPath],
        [weight_answered, weight_refused]: [f64; 2],
        subjects: &[RuleSubject],
    ) -> bool {
        let (answered, others): (Vec<&RegionPath>, Vec<&RegionPath>) = self
            .entries
            .iter()
            .partition(|entry| is_answered(&entry.evidence));
        if answered.len() < SATURATED_PATHS {
            return false;
        }
        let refused_entries = others
            .iter()
            .filter(|entry| is_refused(&entry.evidence))
            .count() as f64
            * weight_answered;
        let refused = refused
            .iter()
            .filter(|entry| is_refused(&entry.evidence))
            .count() as f64
            * weight_refused;
        refused_entries + refused <= REFUSED_SHARE * weight_answered * answered.len() as f64
            && (has_unrelated(answered.iter().copied(), MIN_UNRELATED)
                || same_name(&answered) >= SATURATED_PATHS)
            && contradicts(&answered, subjects)
    }

    /// Whether most GET requests, for unrelated paths, got empty responses.
    fn is_mostly_empty(&self) -> bool {
        let empty = || {
            self.entries
                .iter()
                .filter(|entry| entry.evidence.is_empty())
        };
        empty().count() >= SATURATED_PATHS
            && 2 * empty().count() > self.entries.len()
            && has_unrelated(empty(), MIN_UNRELATED)
    }

    /// Finds the part of the request whose length pages contain, if any. Without sizes there is
    /// nothing to compare.
    fn fit(&mut self) {
        if self.paths_with_size == 0 && !self.answers_empty {
            return;
        }
        let mut alike = HashMap::new();
        self.traits = (0..)
            .zip(&self.entries)
            .map(|(number, entry)| PathTraits {
                id: entry.id,
                name: entry.evidence.shape.name,
                first_alike: *alike.entry(&entry.path_rules[..]).or_insert(number),
            })
            .collect();
        self.names = self
            .traits
            .iter()
            .map(|path| (path.name, path.id))
            .collect();
        self.names.sort_unstable();
        self.names.dedup();
        let unadjusted = self.model(0, LengthOf::Path);
        let commonest = unadjusted.commonest();
        self.models.push(unadjusted);
        for length in [LengthOf::Path, LengthOf::Target] {
            for slope in URL_REPEATS {
                let model = self.model(slope, length);
                if self.fits(&model, commonest) {
                    self.models.push(model);
                }
            }
        }
    }

    /// Whether a third of all paths have one size after the URL is subtracted, and far more than
    /// without that.
    fn fits(&self, model: &SizeModel, unadjusted_count: usize) -> bool {
        let Some(group) = model.groups().max_by_key(|group| group.len()) else {
            return false;
        };
        let entries = || {
            group
                .iter()
                .map(|point| &self.entries[usize::from(point.1)])
        };
        let mut lengths: Vec<u16> = entries().map(|entry| entry.evidence.shape.len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        group.len() >= SATURATED_PATHS
            && 3 * group.len() > self.paths_with_size
            && group.len() > 2 * unadjusted_count
            && (lengths.len() >= MIN_UNRELATED || model.length == LengthOf::Target)
            && has_unrelated(entries(), MIN_UNRELATED)
    }

    fn model(&self, slope: u64, length: LengthOf) -> SizeModel {
        let mut model = SizeModel {
            slope,
            length,
            points: Vec::new(),
            unlike: OnceLock::new(),
            exact: OnceLock::new(),
            unexplained: OnceLock::new(),
        };
        for (number, entry) in self.entries.iter().enumerate() {
            for size in entry.sizes(self.kind) {
                model
                    .points
                    .push((model.value(size, &entry.evidence.shape), number as u16));
            }
        }
        model.points.sort_unstable();
        model.points.dedup();
        model
    }

    /// The probability that this many unrelated paths have content of about this size by chance; 1
    /// if they are related, or if it is no less than [`UNCERTAIN_BELOW`]. What is below
    /// [`SOFT_404_BELOW`] may be too large.
    pub(super) fn chance(&self, path: &GradedPath<'_>, size: ResponseSize) -> f64 {
        let mut best = 1.0_f64;
        for model in &self.models {
            let value = model.value(size, path.shape);
            if !self.may_be_unrelated(model, value, path, size.bytes) {
                continue;
            }
            for window in windows(size.bytes) {
                let expected = self.paths_with_size as f64 * share(window, size.bytes);
                let wanted = best.min(UNCERTAIN_BELOW);
                let most = within(&model.points, value, window).len();
                let most = most.min(self.entries.len());
                if tail(most, expected) >= wanted {
                    continue;
                }
                let similar = self.paths_within(model, value, window, path, size.bytes);
                let by_chance = tail(similar.len(), expected);
                if by_chance < wanted
                    && self.is_unrelated(
                        &similar,
                        path,
                        window == 0 && size.bytes >= MIN_IDENTIFYING_SIZE,
                    )
                {
                    best = by_chance;
                }
                if best < SOFT_404_BELOW {
                    return best;
                }
            }
        }
        best
    }

    /// Whether [`is_unrelated`](Self::is_unrelated) can hold for any paths of about this size.
    /// Without this check every answer of thousands of hosts would be compared with all others.
    fn may_be_unrelated(
        &self,
        model: &SizeModel,
        value: i64,
        path: &GradedPath<'_>,
        bytes: u64,
    ) -> bool {
        if self.kind == RegionKind::Extension {
            return false;
        }
        let unlike = model.unlike.get_or_init(|| {
            let mut points = model.points.clone();
            points.dedup_by_key(|point| {
                let traits = self.traits[usize::from(point.1)];
                (point.0, traits.id, traits.first_alike)
            });
            points
        });
        let widest = windows(bytes).max().unwrap_or(0);
        let unlike = within(unlike, value, widest);
        let paths = || {
            unlike
                .iter()
                .map(|point| (point.0, self.traits[usize::from(point.1)]))
        };
        let others = || paths().filter(|(_, other)| other.id != path.id);
        let has_common_rule = |first: u16| {
            let rules = &self.entries[usize::from(first)].path_rules;
            rules.iter().any(|rule| path.path_rules.contains(rule))
        };
        let (mut known, mut is_known_common) = (None, false);
        let has_other_rules = |&(_, other): &(i64, PathTraits)| {
            if known.replace(other.first_alike) != Some(other.first_alike) {
                is_known_common = has_common_rule(other.first_alike);
            }
            !is_known_common
        };
        let with_other_rules = paths().filter(has_other_rules);
        let is_namesake =
            |&(name, id): &(u32, u64)| name == path.shape.name && name != 0 && id != path.id;
        let first = self
            .names
            .partition_point(|(name, _)| *name < path.shape.name);
        let namesakes = self.names[first..].iter().take(MIN_SAME_KIND);
        let may_have_same_name =
            namesakes.filter(|path| is_namesake(path)).count() >= MIN_SAME_KIND - 1;
        let of_same_name = others().filter(|(_, other)| is_namesake(&(other.name, other.id)));
        let of_same_size = others().filter(|(exact, _)| *exact == value);
        distinct(
            with_other_rules.map(|(_, other)| other.first_alike),
            MIN_UNRELATED - 1,
        ) || may_have_same_name
            && distinct(of_same_name.map(|(_, other)| other.id), MIN_SAME_KIND - 1)
            || bytes >= MIN_IDENTIFYING_SIZE
                && distinct(of_same_size.map(|(_, other)| other.name), MIN_SAME_KIND - 1)
    }

    /// The other paths with a value within `window`. Paths that share an exact value are one
    /// coincidence, however many they are: they do not count for a window that a file of this size
    /// often hits by chance.
    fn paths_within(
        &self,
        model: &SizeModel,
        value: i64,
        window: u64,
        path: &GradedPath<'_>,
        bytes: u64,
    ) -> Vec<u16> {
        let is_wide = window > NARROW_WINDOWS[NARROW_WINDOWS.len() - 1]
            || (window > 0 && share(window, bytes) > UNCERTAIN_BELOW);
        let points = within(&model.points, value, window);
        // Many adjacent exact values belong to a page that varies.
        let mut changes = points.windows(2).filter(|pair| pair[0].0 != pair[1].0);
        let exact =
            (is_wide && changes.nth(MIN_SAME_KIND - 1).is_none()).then(|| self.exact(model));
        let mut similar: Vec<u16> = points
            .iter()
            .map(|point| point.1)
            .filter(|&number| exact.is_none_or(|exact| !exact[usize::from(number)]))
            .filter(|&number| {
                let entry = &self.entries[usize::from(number)];
                // Files of one repository have similar sizes, and seldom the same one.
                !self.is_same(entry, path)
                    && (window == 0 || !path.shape.is_of_same_repository(&entry.evidence.shape))
            })
            .collect();
        similar.sort_unstable();
        similar.dedup();
        similar
    }

    /// Whether an entry is the graded path; the same path of another host is another one.
    fn is_same(&self, entry: &RegionPath, path: &GradedPath<'_>) -> bool {
        entry.id == path.id && (self.kind != RegionKind::Server || entry.host == path.host)
    }

    fn is_unrelated(&self, similar: &[u16], path: &GradedPath<'_>, is_identifying: bool) -> bool {
        let entries = || {
            similar
                .iter()
                .map(|&number| &self.entries[usize::from(number)])
        };
        let mut ids: Vec<(u64, u32)> = entries()
            .map(|entry| (entry.id, entry.evidence.shape.name))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|(id, _)| *id != path.id);
        // The same path of several hosts is one file.
        if ids.len() + 1 < MIN_UNRELATED {
            return false;
        }
        let spread = match self.kind {
            RegionKind::Site | RegionKind::Root | RegionKind::PartialContent => distinct(
                entries()
                    .map(|entry| entry.evidence.shape.segment)
                    .chain([path.shape.segment]),
                MIN_UNRELATED,
            ),
            RegionKind::Server => distinct(
                entries().map(|entry| entry.host).chain([path.host]),
                MIN_UNRELATED,
            ),
            RegionKind::Folder => true,
            // An extension is no location: one endpoint must not decide about the others.
            RegionKind::Extension => false,
        };
        let names = || ids.iter().map(|(_, name)| *name);
        spread
            && (disjoint(entries(), path.path_rules, MIN_UNRELATED)
                || names()
                    .filter(|&name| name == path.shape.name && name != 0)
                    .count()
                    + 1
                    >= MIN_SAME_KIND
                || (is_identifying && distinct(names(), MIN_SAME_KIND - 1)))
    }

    /// Whether an unrelated path has content of exactly this size, which is unlikely by chance
    /// among few paths. `strict` counts only sizes that a client cannot pad: short targets, and GET
    /// alone for a whole site.
    pub(super) fn has_pair(&self, path: &GradedPath<'_>, size: ResponseSize, strict: bool) -> bool {
        /// Longest target that counts; paths of scanner lists are shorter, and allow little
        /// padding.
        const SHORT: u16 = 64;
        if strict && self.paths_with_size as f64 * share(0, size.bytes) > UNCERTAIN_BELOW {
            return false;
        }
        let is_unpadded = |entry: &RegionPath| {
            let sizes = if self.kind == RegionKind::Folder {
                entry.evidence.sizes().collect()
            } else {
                entry.evidence.get_sizes().to_vec()
            };
            sizes.iter().any(|other| {
                other.bytes == size.bytes
                    && entry.evidence.shape.len + u16::from(other.extra) <= SHORT
            })
        };
        self.models.iter().any(|model| {
            let similar =
                self.paths_within(model, model.value(size, path.shape), 0, path, size.bytes);
            similar
                .iter()
                .map(|&number| &self.entries[usize::from(number)])
                .any(|entry| {
                    // Two files that one rule matches may be copies, unless the site answers any
                    // path with one size.
                    let is_other = !entry
                        .path_rules
                        .iter()
                        .any(|rule| path.path_rules.contains(rule));
                    let is_unrelated = if strict {
                        is_other && is_unpadded(entry)
                    } else {
                        is_other || entry.evidence.shape.name != path.shape.name
                    };
                    let is_unrelated =
                        is_unrelated && !entry.evidence.shape.is_of_same_repository(path.shape);
                    !entry.path_rules.is_empty() && is_unrelated
                })
        })
    }

    /// Marks the paths of a model with a shared exact value.
    fn exact<'m>(&self, model: &'m SizeModel) -> &'m [bool] {
        model.exact.get_or_init(|| {
            let mut exact = vec![false; self.entries.len()];
            for group in model.groups() {
                let entries = || {
                    group
                        .iter()
                        .map(|point| &self.entries[usize::from(point.1)])
                };
                let members: Vec<&RegionPath> = entries().collect();
                let is_exact = group.len() >= SATURATED_PATHS
                    && (has_unrelated(entries(), MIN_UNRELATED)
                        || same_name(&members) >= SATURATED_PATHS)
                    && distinct(
                        entries().map(|entry| entry.evidence.shape.segment),
                        MIN_UNRELATED,
                    );
                for point in group {
                    exact[usize::from(point.1)] |= is_exact;
                }
            }
            exact
        })
    }

    /// How a size compares with the other sizes of the region; `None` if there are too few.
    pub(super) fn position(
        &self,
        path: &GradedPath<'_>,
        size: ResponseSize,
    ) -> Option<SizePosition> {
        let models: Vec<(&SizeModel, usize)> = self
            .models
            .iter()
            .map(|model| (model, self.unexplained(model)))
            .collect();
        let fewest = models.iter().map(|(_, unexplained)| *unexplained).min()?;
        // Sizes that differ only by the printed URL do not vary.
        let models = models
            .iter()
            .filter(|(_, unexplained)| *unexplained <= 2 * fewest)
            .map(|(model, _)| model);
        models
            .map(|model| self.position_in(model, path, size))
            .collect::<Option<Vec<_>>>()?
            .into_iter()
            .min()
    }

    /// The number of paths with a size and without a shared exact value.
    fn unexplained(&self, model: &SizeModel) -> usize {
        *model.unexplained.get_or_init(|| {
            let exact = self.exact(model);
            let mut varying: Vec<u16> = model
                .points
                .iter()
                .map(|point| point.1)
                .filter(|&number| !exact[usize::from(number)])
                .collect();
            varying.sort_unstable();
            varying.dedup();
            varying.len()
        })
    }

    fn position_in(
        &self,
        model: &SizeModel,
        path: &GradedPath<'_>,
        size: ResponseSize,
    ) -> Option<SizePosition> {
        /// Bytes by which pages of one template differ.
        const JITTER: f64 = 48.0;
        /// A quarter: pages with varying content seldom differ by more from their neighbours.
        const QUARTER: f64 = 0.25;
        /// Factor of the median gap: eight times that is an outlier.
        const OUTLIER_GAP_FACTOR: f64 = 8.0;
        /// Distance in bytes from which a size is no jitter of an exact one.
        const OFF: f64 = 16.0;
        let exact = self.exact(model);
        let is_other = |entry: &RegionPath| {
            !self.is_same(entry, path) && !entry.evidence.shape.is_of_same_repository(path.shape)
        };
        let others: Vec<&Point> = model
            .points
            .iter()
            .filter(|point| is_other(&self.entries[usize::from(point.1)]))
            .collect();
        let varying = || others.iter().filter(|point| !exact[usize::from(point.1)]);
        let is_any_exact = others.iter().any(|point| exact[usize::from(point.1)]);
        if !is_any_exact && others.len() < SATURATED_PATHS - 1 {
            // Content, where any path gets an empty response.
            return self.answers_empty.then_some(SizePosition::Apart);
        }
        let value = model.value(size, path.shape);
        // The page prints the target, of which only a part of the length is known.
        let is_longer = model.length == LengthOf::Target && size.extra == MAX_EXTRA;
        if is_longer && others.first().is_some_and(|point| point.0 <= value) {
            return Some(SizePosition::Among);
        }
        let distance = |point: &Point| point.0.abs_diff(value) as f64;
        let to_exact = others
            .iter()
            .filter(|point| exact[usize::from(point.1)])
            .map(|point| distance(point))
            .fold(f64::INFINITY, f64::min);
        // Scanner lists request one name in many folders, and no site has it in all of them.
        let adds = |point: &&&Point| {
            let entry = &self.entries[usize::from(point.1)];
            (entry.evidence.shape.name == path.shape.name && entry.evidence.shape.name != 0)
                || !entry
                    .path_rules
                    .iter()
                    .all(|rule| path.path_rules.contains(rule))
        };
        let nearest = |distances: &mut dyn Iterator<Item = f64>, number: usize| {
            let mut distances: Vec<f64> = distances.collect();
            distances.sort_unstable_by(f64::total_cmp);
            distances.get(number - 1).copied().unwrap_or(f64::INFINITY)
        };
        // The third nearest: one or two files of about this size may exist as well, and four that
        // one rule matches.
        let to_unlike = nearest(
            &mut varying().filter(adds).map(|point| distance(point)),
            MIN_UNRELATED,
        );
        let to_varying = to_unlike.min(nearest(
            &mut varying().map(|point| distance(point)),
            MIN_SAME_KIND,
        ));
        let mut varying_paths: Vec<u16> = varying().map(|point| point.1).collect();
        varying_paths.sort_unstable();
        varying_paths.dedup();
        let is_mostly_exact = varying_paths.len() * 5 <= self.paths_with_size;
        let bytes = size.bytes as f64;
        let usual_gap = usual_gap(&others, value);
        let far = if is_mostly_exact {
            JITTER.max(0.05 * bytes)
        } else {
            JITTER
                .max(QUARTER * bytes)
                .max(OUTLIER_GAP_FACTOR * usual_gap)
        };
        let is_off = to_exact > OFF.max(0.005 * bytes);
        let spans_decades = !is_mostly_exact && spans_decades(varying().map(|point| point.0));
        Some(if is_off && to_varying > far && !spans_decades {
            SizePosition::Apart
        } else if (is_mostly_exact
            && to_exact > NARROW_WINDOWS[1] as f64
            && to_varying > NARROW_WINDOWS[1] as f64)
            || (to_varying > JITTER.max(QUARTER * bytes) && to_exact > OFF)
        {
            SizePosition::Beside
        } else {
            SizePosition::Among
        })
    }

    /// The smallest and the largest size of its other paths.
    pub(super) fn range(&self, path: &GradedPath<'_>) -> Option<(u64, u64)> {
        let others = self
            .entries
            .iter()
            .filter(|entry| !self.is_same(entry, path));
        let sizes = others
            .flat_map(|entry| entry.sizes(self.kind))
            .map(|size| size.bytes);
        sizes.fold(None, |range, bytes| {
            Some(range.map_or((bytes, bytes), |(low, high): (u64, u64)| {
                (low.min(bytes), high.max(bytes))
            }))
        })
    }

    pub(super) fn entries(&self) -> &[RegionPath] {
        &self.entries
    }

    pub(super) fn answers_anything(&self) -> bool {
        self.answers_any_get || self.answers_any_post
    }
}

impl SizeModel {
    fn value(&self, size: ResponseSize, shape: &PathShape) -> i64 {
        let length = match self.length {
            LengthOf::Path => u64::from(shape.len),
            LengthOf::Target => u64::from(shape.len) + u64::from(size.extra),
        };
        i64::try_from(size.bytes)
            .unwrap_or(i64::MAX)
            .saturating_sub_unsigned(self.slope * length)
    }

    /// Groups of equal values.
    fn groups(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunk_by(|a, b| a.0 == b.0)
    }

    fn commonest(&self) -> usize {
        self.groups().map(<[_]>::len).max().unwrap_or(0)
    }
}

/// Of sorted points, those whose values differ from this one by at most `window`.
fn within(points: &[Point], value: i64, window: u64) -> &[Point] {
    let (low, high) = (
        value.saturating_sub_unsigned(window),
        value.saturating_add_unsigned(window),
    );
    let start = points.partition_point(|point| point.0 < low);
    let length = points[start..].partition_point(|point| point.0 <= high);
    &points[start..start + length]
}

/// Whether pages have sizes of more than one decade, without the tenth of the smallest and of the
/// largest ones. Where they do, as those of a tarpit, a size is no outlier for being rare.
fn spans_decades(values: impl Iterator<Item = i64>) -> bool {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    let tenth = values.len() / 10;
    let (Some(low), Some(high)) = (
        values.get(tenth),
        values.get(values.len().wrapping_sub(tenth + 1)),
    ) else {
        return false;
    };
    values.len() >= 2 * SATURATED_PATHS && *high >= (*low).max(1).saturating_mul(DECADE)
}

/// The median gap between the values nearest to one.
fn usual_gap(points: &[&Point], value: i64) -> f64 {
    /// Enough for a median, few enough to be its neighbours.
    const NEIGHBOURS: usize = 12;
    let mut nearest: Vec<i64> = points.iter().map(|point| point.0).collect();
    nearest.sort_unstable_by_key(|other| (other.abs_diff(value), *other));
    nearest.truncate(NEIGHBOURS);
    nearest.sort_unstable();
    let mut gaps: Vec<f64> = nearest
        .windows(2)
        .map(|pair| pair[0].abs_diff(pair[1]) as f64)
        .collect();
    gaps.sort_unstable_by(f64::total_cmp);
    match gaps.len() {
        0 => 0.0,
        n if n % 2 == 1 => gaps[n / 2],
        n => f64::midpoint(gaps[n / 2 - 1], gaps[n / 2]),
    }
}

/// The tolerances for about equal sizes.
fn windows(bytes: u64) -> impl Iterator<Item = u64> {
    NARROW_WINDOWS.into_iter().chain(
        WIDE_WINDOWS
            .into_iter()
            .map(move |share| (share * bytes as f64) as u64),
    )
}

/// The share of files with a size within the tolerance by chance.
fn share(window: u64, bytes: u64) -> f64 {
    ((2.0 * window as f64 + 1.0) / (bytes.max(1) as f64 * SPREAD_NATS)).min(1.0)
}

/// The logarithms of the factorials of all counts of paths.
static LOG_FACTORIALS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let mut sum = 0.0;
    (0..=MAX_REGION_PATHS)
        .map(|number| {
            sum += (number.max(1) as f64).ln();
            sum
        })
        .collect()
});

/// An upper bound of the probability that a Poisson variable with this mean reaches a count of
/// paths.
fn tail(count: usize, mean: f64) -> f64 {
    let number = count as f64;
    if mean >= number {
        return 1.0;
    }
    if mean <= 0.0 {
        return 0.0;
    }
    let first = (number * mean.ln() - mean - LOG_FACTORIALS[count]).exp();
    (first / (1.0 - mean / (number + 1.0))).min(1.0)
}

/// Whether there are `most` paths of which no two are matched by the same rule; paths without rules
/// count as one.
pub(super) fn has_unrelated<'a>(
    entries: impl Iterator<Item = &'a RegionPath>,
    most: usize,
) -> bool {
    disjoint(entries, &[], most + 1)
}

/// Whether more than `most` entries have no rule in common, with a path of these rules.
fn disjoint<'a>(
    entries: impl Iterator<Item = &'a RegionPath>,
    path_rules: &[RuleId],
    most: usize,
) -> bool {
    let (mut seen, mut count, mut has_none) = (path_rules.to_vec(), 1, false);
    for entry in entries {
        if entry.path_rules.is_empty() {
            has_none = true;
        } else if !entry.path_rules.iter().any(|rule| seen.contains(rule)) {
            seen.extend_from_slice(&entry.path_rules);
            count += 1;
        }
        if count + usize::from(has_none) >= most {
            return true;
        }
    }
    false
}

/// Whether there are at least `enough` distinct values.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>, enough: usize) -> bool {
    let mut seen = Vec::with_capacity(enough);
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
            if seen.len() >= enough {
                return true;
            }
        }
    }
    false
}

/// The largest number of paths with one name in different folders.
fn same_name(entries: &[&RegionPath]) -> usize {
    let mut names: Vec<(u32, u64)> = entries
        .iter()
        .map(|entry| (entry.evidence.shape.name, entry.id))
        .filter(|(name, _)| *name != 0)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
        .chunk_by(|a, b| a.0 == b.0)
        .map(<[_]>::len)
        .max()
        .unwrap_or(0)
}

/// Whether the answered paths cannot all exist: pages of several products, one file in several
/// folders, a random name.
fn contradicts(answered: &[&RegionPath], subjects: &[RuleSubject]) -> bool {
    has_products(answered, subjects, MIN_CONTRADICTIONS)
        || same_name(answered) >= MIN_CONTRADICTIONS
        || answered.iter().any(|entry| entry.evidence.shape.is_random)
}

/// Whether there are pages of this many products and platforms.
fn has_products(answered: &[&RegionPath], subjects: &[RuleSubject], enough: usize) -> bool {
    let is_product =
        |rule: &&RuleId| subjects.get(usize::from(rule.0)) == Some(&RuleSubject::Product);
    let products = answered
        .iter()
        .flat_map(|entry| entry.path_rules.iter().filter(is_product))
        .map(|rule| u32::from(rule.0));
    let extensions = answered
        .iter()
        .map(|entry| entry.evidence.shape.extension)
        .filter(|extension| extension.is_platform());
    let platforms = extensions.map(|extension| u32::MAX - extension as u32);
    distinct(products.chain(platforms), enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_a_poisson_distribution() {
        // Values of the survival function, from tables: an upper bound that is close for small
        // means.
        for (count, mean, exact) in [
            (2, 0.1, 4.679e-3),
            (3, 0.01, 1.654e-7),
            (1, 0.5, 0.3935),
            (5, 1.0, 3.660e-3),
        ] {
            let bound = tail(count, mean);
            assert!(
                bound >= exact * 0.999 && bound < exact * 1.3,
                "{count} {mean}: {bound}"
            );
        }
        assert_eq!((tail(2, 3.0), tail(2, 0.0)), (1.0, 0.0));
        assert!(tail(1_000, 10.0) < 1e-300);
    }
}
