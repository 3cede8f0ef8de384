//! Grades an answer by the answers of its site and of other hosts of its server.
//!
//! In order: the size of the home page, sizes shared by unrelated paths, then, if a region answers
//! any path, whether the size is an outlier. Without evidence for a soft 404, an answer with
//! content is distinct.

use std::sync::Arc;

use foldhash::HashMap;

use super::evidence::{
    Hours, MAX_PATH_CLIENTS, PathEvidence, Response, ResponseSize, SiteEvidence,
};
use super::region::{
    GradedPath, MIN_UNRELATED, REFUSED_SHARE, Region, RegionKind, RegionPath, SOFT_404_BELOW,
    SizePosition, UNCERTAIN_BELOW, has_unrelated, path_rules,
};
use super::{Answer, Extension, MethodClass, PathShape, RuleSubject};
use crate::log::finding::RuleId;

/// Hosts with fewer paths than this are pooled: scanners invent host names and send a few requests
/// to each.
const FEW_PATHS: usize = 8;
/// Fewest clients whose equal sizes show that a path does not vary; [`MAX_PATH_CLIENTS`] are known.
const SEVERAL_CLIENTS: usize = MAX_PATH_CLIENTS;
/// Fewest paths of several sizes of a site whose answers to one path vary. Fewer may be files that
/// were changed.
const VARYING_PATHS: usize = 5;
/// If more than one path is constant for so many that vary, a page may be the same for a group of
/// clients.
const CONSTANT_DIVISOR: usize = 5;
/// The first changes of hosts are compared at once: they matter most.
const EAGER_CHANGES: usize = 16;
/// Fewest hosts that are compared as one server.
pub(crate) const HOSTS: usize = 3;
/// A site without logged sizes that answered this many paths, which cannot all exist, answers any
/// path.
const WITHOUT_SIZE: usize = 20;

/// A path whose answer is graded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GradeCandidate<'c> {
    /// The hash of the path.
    pub path: u64,
    /// Its shape.
    pub shape: PathShape,
    /// The rules that match, sorted.
    pub rules: &'c [RuleId],
}

/// A grade and its reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grade {
    /// The grade.
    pub answer: Answer,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a grade. Sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// Distinct: there is no evidence for a soft 404.
    NoSoft404,
    /// Distinct: the site answers any path with sizes in this range, and this one is an outlier.
    StandsOut(u64, u64),
    /// Distinct, or uncertain if other paths got it as well: several clients got exactly this size,
    /// where answers to one path vary.
    Constant,
    /// Soft 404: it has the size of the home page.
    HomePage,
    /// Soft 404: unrelated paths got content of the same size.
    SameSize,
    /// Soft 404: other hosts of the server answered unrelated paths with the same size.
    SameOnOtherHosts,
    /// Soft 404: the site answers any path with sizes in this range.
    LikeTheRest(u64, u64),
    /// Soft 404: the site answers any path with content without a logged size.
    AnswersAnything,
    /// Soft 404: the path was refused to GET.
    RefusedToGet,
    /// Soft 404: the method requests no content.
    NoContent,
    /// Uncertain: another path got content of the same size.
    SizeShared,
    /// Uncertain: several paths got content of about this size.
    SizesAlike,
    /// Uncertain: the log has answers for many unrelated products beside refusals, as if a part of
    /// the site answers any path.
    InPart,
    /// Uncertain: it looks like a soft 404, but most files of the repository that it belongs to do
    /// not.
    PartOfRepository,
    /// Uncertain: the site answers like this elsewhere, but refuses the paths next to this one.
    RefusedBeside,
    /// Uncertain: near the sizes in this range, with which the site answers any path.
    NearTheRest(u64, u64),
    /// Uncertain: the site answers any path, and too few sizes are known.
    FewSizes,
    /// Uncertain: the answer has no size, and the site answers other paths with a soft 404.
    NoSize,
    /// Uncertain: the answer is empty, where others have sizes. A script may have run without
    /// output.
    Empty,
    /// Uncertain: answers of several sites were counted together, and none of them can be compared.
    ManySites,
}

impl Reason {
    /// The reason as a word for programs.
    #[must_use]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::NoSoft404 => "no_soft_404",
            Self::StandsOut(..) => "stands_out",
            Self::Constant => "constant",
            Self::HomePage => "home_page",
            Self::SameSize => "same_size",
            Self::SameOnOtherHosts => "same_on_other_hosts",
            Self::LikeTheRest(..) => "like_the_rest",
            Self::AnswersAnything => "answers_anything",
            Self::RefusedToGet => "refused_to_get",
            Self::NoContent => "no_content",
            Self::SizeShared => "size_shared",
            Self::SizesAlike => "sizes_alike",
            Self::NearTheRest(..) => "near_the_rest",
            Self::RefusedBeside => "refused_beside",
            Self::PartOfRepository => "part_of_repository",
            Self::InPart => "in_part",
            Self::FewSizes => "few_sizes",
            Self::NoSize => "no_size",
            Self::Empty => "empty",
            Self::ManySites => "many_sites",
        }
    }
}

impl Grade {
    /// The grade without any evidence.
    pub const DISTINCT: Self = Self {
        answer: Answer::Distinct,
        reason: Reason::NoSoft404,
    };
    /// The grade if the site is not known.
    pub const OF_MANY_SITES: Self = Self {
        answer: Answer::Uncertain,
        reason: Reason::ManySites,
    };
}

impl Reason {
    /// The reason without sizes.
    #[must_use]
    pub fn kind(self) -> Self {
        match self {
            Self::StandsOut(..) => Self::StandsOut(0, 0),
            Self::LikeTheRest(..) => Self::LikeTheRest(0, 0),
            Self::NearTheRest(..) => Self::NearTheRest(0, 0),
            other => other,
        }
    }

    fn distinct(self) -> Grade {
        Grade {
            answer: Answer::Distinct,
            reason: self,
        }
    }

    fn uncertain(self) -> Grade {
        Grade {
            answer: Answer::Uncertain,
            reason: self,
        }
    }

    fn soft_404(self) -> Grade {
        Grade {
            answer: Answer::Soft404,
            reason: self,
        }
    }
}

/// The regions of one site.
#[derive(Debug)]
struct SiteRegions {
    site: Region,
    folders: HashMap<u32, Region>,
    /// Paths of one kind that are in no folder: a route such as `/:user` answers them and nothing
    /// below.
    roots: HashMap<Extension, Region>,
    extensions: HashMap<Extension, Region>,
    partial: Region,
    /// What the paths of one kind in one folder (0 is the root) got, if some were refused.
    refusing: HashMap<(u32, Extension), Vec<PathHistory>>,
}

/// Whether a path was answered and refused, and when.
#[derive(Debug)]
struct PathHistory {
    /// The number of paths that it stands for.
    weight: f64,
    is_answered: bool,
    answered_hours: Option<Hours>,
    refused_hours: Option<Hours>,
}

/// Fewest refused paths that show that a part of a site refuses.
const FEWEST_REFUSED: f64 = 5.0;
/// A day: deploys and maintenance are further apart, and probers seldom finish a list within an
/// hour.
const NEAR_HOURS: u32 = 24;

/// Whether far more of these paths were refused than answered, in the whole log or near these
/// hours.
fn refuses(paths: &[PathHistory], hours: Option<Hours>) -> bool {
    let ever = |path: &PathHistory| Some(path.is_answered);
    let then = |path: &PathHistory| {
        let is_near = |other: Option<Hours>| {
            hours
                .zip(other)
                .is_some_and(|(hours, other)| hours.is_near(other, NEAR_HOURS))
        };
        if is_near(path.answered_hours) {
            Some(true)
        } else {
            is_near(path.refused_hours).then_some(false)
        }
    };
    mostly_refuses(paths, ever) || mostly_refuses(paths, then)
}

/// Whether most are refused, where a path counts as answered, as refused, or not at all.
fn mostly_refuses(
    paths: &[PathHistory],
    is_answered: impl Fn(&PathHistory) -> Option<bool>,
) -> bool {
    let sum = |wanted: bool| {
        paths
            .iter()
            .filter(|path| is_answered(path) == Some(wanted))
            .map(|path| path.weight)
            .sum::<f64>()
    };
    let (answered, refused) = (sum(true), sum(false));
    refused >= FEWEST_REFUSED && answered <= REFUSED_SHARE * refused
}

/// The evidence of one site.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and all combinations occur"
)]
struct GradedSite {
    evidence: SiteEvidence,
    is_host: bool,
    /// A host with few paths.
    is_pooled: bool,
    /// It logs sizes.
    has_sizes: bool,
    /// Unrelated paths were answered without a size, and nothing was refused.
    refuses_nothing: bool,
    /// HEAD was answered for unrelated paths.
    answers_any_head: bool,
    regions: SiteRegions,
    /// Some of its answers are soft 404s.
    has_soft_404: bool,
    /// The first segments of repositories of which most files stand out.
    repositories: Vec<u32>,
    /// Paths that gave several clients several sizes, and paths that gave them one.
    varying_paths: usize,
    constant_paths: usize,
    /// All that it answered to probes is empty.
    is_empty: bool,
}

/// Grades answers of several sites.
#[derive(Debug)]
pub(crate) struct Grader {
    sites: Vec<GradedSite>,
    /// All hosts together.
    server: Option<Region>,
    /// Hosts with few paths together.
    pool: Option<SiteRegions>,
    /// Several hosts answer unrelated paths, each with nothing but empty responses.
    has_empty_hosts: bool,
    /// New evidence of hosts, and that of it which the fields above use.
    changes: usize,
    compared_changes: usize,
    subjects: Arc<[RuleSubject]>,
}

impl Grader {
    /// A grader without sites. `subjects` are those of the rules, by number.
    #[must_use]
    pub(crate) fn empty(subjects: Arc<[RuleSubject]>) -> Self {
        Self {
            sites: Vec::new(),
            server: None,
            pool: None,
            has_empty_hosts: false,
            changes: 0,
            compared_changes: 0,
            subjects,
        }
    }

    /// A grader for these sites, numbered by position. The flag marks virtual hosts, which may
    /// share a server.
    #[must_use]
    pub(crate) fn new(sites: Vec<(bool, SiteEvidence)>, subjects: Arc<[RuleSubject]>) -> Self {
        let mut grader = Self::empty(subjects);
        grader.sites = (0..)
            .zip(sites)
            .map(|(number, (is_host, evidence))| {
                GradedSite::new(number, is_host, evidence, &grader.subjects)
            })
            .collect();
        grader.changes = grader.sites.len();
        grader.compare_hosts();
        for number in 0..grader.sites.len() {
            grader.grade_site(number);
        }
        grader
    }

    /// Replaces the evidence of a site, or appends a site. Hosts are compared once their evidence
    /// has grown by an eighth, so that thousands of them cost little;
    /// [`compare_hosts`](Self::compare_hosts) uses all of it.
    pub(crate) fn set(&mut self, site: usize, is_host: bool, evidence: SiteEvidence) {
        let new = GradedSite::new(site as u32, is_host, evidence, &self.subjects);
        if site < self.sites.len() {
            self.sites[site] = new;
        } else {
            self.sites.push(new);
        }
        self.changes += usize::from(is_host);
        let new_changes = self.changes - self.compared_changes;
        if self.changes <= EAGER_CHANGES || new_changes > self.compared_changes / 8 {
            self.compare_hosts();
        }
        self.grade_site(site);
    }

    /// The changes of hosts that their comparison uses.
    pub(crate) fn compared_changes(&self) -> usize {
        self.compared_changes
    }

    /// Finds what the grade of one path says of others.
    fn grade_site(&mut self, site: usize) {
        self.sites[site].repositories = self.exposed_repositories(site);
        self.sites[site].has_soft_404 = self.gives_soft_404(site);
    }

    /// Compares the hosts of one server, if there is new evidence of one.
    pub(crate) fn compare_hosts(&mut self) {
        if std::mem::replace(&mut self.compared_changes, self.changes) == self.changes {
            return;
        }
        let hosts = || (0..).zip(&self.sites).filter(|(_, site)| site.is_host);
        let all: Vec<(u32, &SiteEvidence)> = hosts()
            .map(|(number, site)| (number, &site.evidence))
            .collect();
        let pooled: Vec<_> = hosts()
            .filter(|(_, site)| site.is_pooled)
            .map(|(number, site)| (number, &site.evidence))
            .collect();
        let server = (all.len() >= HOSTS).then(|| server(&all, &self.subjects));
        let pool = (all.len() >= HOSTS && pooled.len() >= HOSTS)
            .then(|| SiteRegions::new(&pooled, &self.subjects));
        let empty: Vec<_> = hosts().filter(|(_, site)| site.is_empty).collect();
        let answered = empty
            .iter()
            .flat_map(|(number, site)| entries(*number, site.evidence.answered(), &self.subjects));
        let answered: Vec<RegionPath> = answered
            .filter(|entry| !entry.path_rules.is_empty())
            .collect();
        self.has_empty_hosts =
            empty.len() >= HOSTS && has_unrelated(answered.iter(), MIN_UNRELATED);
        (self.server, self.pool) = (server, pool);
    }

    /// Grades an answer of a site. `path_evidence` is the evidence of the path, if the site's
    /// evidence was trimmed.
    #[must_use]
    pub(crate) fn grade(
        &self,
        site: usize,
        candidate: &GradeCandidate<'_>,
        path_evidence: Option<&PathEvidence>,
        response: &Response,
    ) -> Grade {
        let path_evidence =
            path_evidence.or_else(|| self.sites[site].evidence.path(candidate.path));
        let is_refused = path_evidence.is_some_and(PathEvidence::is_refused);
        let get_sizes = path_evidence.map_or(&[][..], PathEvidence::get_sizes);
        match (response.method, response.size()) {
            (MethodClass::Other, _) => Reason::NoContent.soft_404(),
            (MethodClass::Post, Some(_)) if is_refused && get_sizes.is_empty() => {
                Reason::RefusedToGet.soft_404()
            }
            (method, Some(content)) => {
                self.grade_size(site, candidate, content, method == MethodClass::Post)
            }
            (method, None) => {
                let of_get = get_sizes
                    .iter()
                    .map(|size| self.grade_size(site, candidate, *size, false));
                let of_part = || {
                    response
                        .partial_size()
                        .and_then(|size| self.grade_partial(site, candidate, size))
                };
                of_get
                    .max_by_key(|grade| (grade.answer, grade.reason))
                    .or_else(of_part)
                    .unwrap_or_else(|| {
                        if is_refused && method != MethodClass::Get {
                            Reason::RefusedToGet.soft_404()
                        } else {
                            self.grade_without_size(site, candidate, path_evidence, response)
                        }
                    })
            }
        }
    }

    /// Whether the home page of a site was answered.
    #[must_use]
    pub(crate) fn has_home_page(&self, site: usize) -> bool {
        !self.sites[site].evidence.home.is_empty()
    }

    fn grade_size(
        &self,
        number: usize,
        candidate: &GradeCandidate<'_>,
        size: ResponseSize,
        is_post: bool,
    ) -> Grade {
        let graded_site = &self.sites[number];
        if graded_site.evidence.home.contains(size.bytes) {
            return Reason::HomePage.soft_404();
        }
        let is_constant = !is_post && graded_site.is_constant(candidate.path, size);
        if is_constant && graded_site.is_only_constant(candidate.path, size) {
            return Reason::Constant.distinct();
        }
        let grade = self.grade_by_regions(number, candidate, size, is_post);
        let shape = &candidate.shape;
        if grade.answer == Answer::Soft404 && is_constant {
            return Reason::Constant.uncertain();
        }
        if grade.answer == Answer::Soft404 && graded_site.exposes_repository(shape) {
            return Reason::PartOfRepository.uncertain();
        }
        // What a site answers in another folder, to another kind of path, or at another time is no
        // evidence where it refuses.
        let is_of_site = matches!(grade.reason, Reason::SameSize | Reason::LikeTheRest(..));
        if is_of_site && graded_site.refuses_beside(candidate) {
            Reason::RefusedBeside.uncertain()
        } else {
            grade
        }
    }

    fn grade_by_regions(
        &self,
        number: usize,
        candidate: &GradeCandidate<'_>,
        size: ResponseSize,
        is_post: bool,
    ) -> Grade {
        let graded_site = &self.sites[number];
        let path_rules = path_rules(candidate.rules, &self.subjects);
        let path = GradedPath {
            id: candidate.path,
            host: number as u32,
            shape: &candidate.shape,
            path_rules: &path_rules,
        };
        let regions: Vec<&Region> = self.regions(number, &candidate.shape).collect();
        let mut by_chance = 1.0_f64;
        for region in &regions {
            by_chance = by_chance.min(region.chance(&path, size));
            if by_chance < SOFT_404_BELOW {
                return Reason::SameSize.soft_404();
            }
        }
        let on_others = self
            .server
            .as_ref()
            .map_or(1.0, |server| server.chance(&path, size));
        if on_others < SOFT_404_BELOW {
            return Reason::SameOnOtherHosts.soft_404();
        }
        let answers_any =
            |region: &&&Region| region.answers_any_get || (is_post && region.answers_any_post);
        let Some(region) = regions
            .iter()
            .filter(answers_any)
            .max_by_key(|region| region.paths_with_size)
        else {
            let whole = &graded_site.regions.site;
            let may_be_of_another_site = || {
                whole
                    .position(&path, size)
                    .is_none_or(|position| position != SizePosition::Apart)
            };
            if whole.answers_any_in_part && may_be_of_another_site() {
                return Reason::InPart.uncertain();
            }
            let has_pair = regions
                .iter()
                .filter(|region| region.kind != RegionKind::Extension)
                .any(|region| region.has_pair(&path, size, true));
            return match (has_pair, by_chance.min(on_others) < UNCERTAIN_BELOW) {
                (true, _) => Reason::SizeShared.uncertain(),
                (_, true) => Reason::SizesAlike.uncertain(),
                _ => Reason::NoSoft404.distinct(),
            };
        };
        let (low, high) = region.range(&path).unwrap_or_default();
        match region.position(&path, size) {
            None => Reason::FewSizes.uncertain(),
            Some(SizePosition::Among) => Reason::LikeTheRest(low, high).soft_404(),
            Some(SizePosition::Beside) => Reason::NearTheRest(low, high).uncertain(),
            Some(SizePosition::Apart) if region.has_pair(&path, size, false) => {
                Reason::SizeShared.uncertain()
            }
            Some(SizePosition::Apart) => Reason::StandsOut(low, high).distinct(),
        }
    }

    /// Compares partial content with that of other paths, if the site answers any path with it. A
    /// client chooses the size of partial content, so a size like those of the others is no soft
    /// 404.
    fn grade_partial(
        &self,
        number: usize,
        candidate: &GradeCandidate<'_>,
        size: ResponseSize,
    ) -> Option<Grade> {
        let region = &self.sites[number].regions.partial;
        if !region.answers_any_get {
            return None;
        }
        let path_rules = path_rules(candidate.rules, &self.subjects);
        let path = GradedPath {
            id: candidate.path,
            host: number as u32,
            shape: &candidate.shape,
            path_rules: &path_rules,
        };
        let (low, high) = region.range(&path).unwrap_or_default();
        match region.position(&path, size)? {
            SizePosition::Among | SizePosition::Beside => {
                Some(Reason::NearTheRest(low, high).uncertain())
            }
            SizePosition::Apart => Some(Reason::StandsOut(low, high).distinct()),
        }
    }

    fn grade_without_size(
        &self,
        site: usize,
        candidate: &GradeCandidate<'_>,
        path: Option<&PathEvidence>,
        response: &Response,
    ) -> Grade {
        let graded_site = &self.sites[site];
        let answers_any = self
            .regions(site, &candidate.shape)
            .any(|region| region.answers_any_get);
        if answers_any
            && !graded_site.has_sizes
            && graded_site.evidence.answered_len() >= WITHOUT_SIZE
        {
            return Reason::AnswersAnything.soft_404();
        }
        // A log with size 0 on every line has no sizes.
        let logs_sizes = |site: &GradedSite| site.has_sizes || !site.evidence.home.is_empty();
        let logs_sizes =
            logs_sizes(graded_site) || (graded_site.is_host && self.sites.iter().any(logs_sizes));
        let is_empty = response.is_empty() || path.is_some_and(PathEvidence::is_empty);
        let answers_empty = self
            .regions(site, &candidate.shape)
            .any(|region| region.answers_empty);
        if is_empty
            && logs_sizes
            && (answers_empty || (graded_site.is_empty && self.has_empty_hosts))
        {
            return Reason::AnswersAnything.soft_404();
        }
        let answers_any_head = response.method == MethodClass::Head && graded_site.answers_any_head;
        if answers_any
            || graded_site.refuses_nothing
            || answers_any_head
            || graded_site.has_soft_404
        {
            return Reason::NoSize.uncertain();
        }
        if is_empty && logs_sizes {
            return Reason::Empty.uncertain();
        }
        Reason::NoSoft404.distinct()
    }

    /// The regions a path is in.
    fn regions<'g>(&'g self, site: usize, shape: &PathShape) -> impl Iterator<Item = &'g Region> {
        let graded_site = &self.sites[site];
        let pool = self.pool.as_ref().filter(|_| graded_site.is_pooled);
        let (folder, extension) = (shape.folder, shape.extension);
        [Some(&graded_site.regions), pool]
            .into_iter()
            .flatten()
            .flat_map(move |regions| {
                let is_root = folder == 0;
                let folder = (!is_root).then(|| regions.folders.get(&folder)).flatten();
                let kinds = extension.handled_as().iter();
                let roots = kinds
                    .clone()
                    .filter(move |_| is_root)
                    .filter_map(|extension| regions.roots.get(extension));
                let extensions = kinds.filter_map(|extension| regions.extensions.get(extension));
                [Some(&regions.site), folder]
                    .into_iter()
                    .flatten()
                    .chain(roots)
                    .chain(extensions)
            })
    }

    /// The repositories of which most files, and at least [`MIN_UNRELATED`], have sizes unlike
    /// those of soft 404s.
    fn exposed_repositories(&self, site: usize) -> Vec<u32> {
        let mut files: Vec<(u32, bool)> = Vec::new();
        let paths = self.sites[site].evidence.answered();
        for (path, evidence) in
            paths.filter(|(_, evidence)| evidence.shape.extension == Extension::Repository)
        {
            let candidate = GradeCandidate {
                path,
                shape: evidence.shape,
                rules: evidence.rules(),
            };
            let grades = evidence
                .get_sizes()
                .iter()
                .map(|size| self.grade_by_regions(site, &candidate, *size, false));
            files.extend(
                grades.map(|grade| (candidate.shape.folder, grade.answer == Answer::Distinct)),
            );
        }
        files.sort_unstable();
        let is_exposed = |files: &&[(u32, bool)]| {
            let distinct = files.iter().filter(|(_, is_distinct)| *is_distinct).count();
            distinct >= MIN_UNRELATED && 2 * distinct > files.len()
        };
        files
            .chunk_by(|a, b| a.0 == b.0)
            .filter(is_exposed)
            .map(|files| files[0].0)
            .collect()
    }

    fn gives_soft_404(&self, site: usize) -> bool {
        let graded_site = &self.sites[site];
        if graded_site.regions.site.answers_anything()
            || graded_site.regions.parts().any(Region::answers_anything)
        {
            return true;
        }
        graded_site.regions.site.entries().iter().any(|entry| {
            let candidate = GradeCandidate {
                path: entry.id,
                shape: entry.evidence.shape,
                rules: entry.evidence.rules(),
            };
            entry.evidence.sizes().any(|size| {
                self.grade_size(site, &candidate, size, false).answer == Answer::Soft404
            })
        })
    }
}

impl GradedSite {
    fn new(number: u32, is_host: bool, evidence: SiteEvidence, subjects: &[RuleSubject]) -> Self {
        let has_sizes = evidence
            .answered()
            .any(|(_, path)| path.sizes().next().is_some());
        let is_refused = |path: &PathEvidence| path.is_refused() || path.is_head_refused();
        let refused = || {
            evidence
                .answered()
                .chain(evidence.refused())
                .map(|(_, path)| path)
                .filter(|path| is_refused(path))
        };
        let without_size = || {
            evidence
                .answered()
                .filter(|(_, path)| path.sizes().next().is_none())
        };
        let of_head = || without_size().filter(|(_, path)| path.is_head_answered());
        let head_refused = refused().filter(|path| path.is_head_refused()).count();
        let refuses_nothing =
            refused().next().is_none() && are_unrelated(number, without_size(), subjects);
        let answers_any_head =
            are_unrelated(number, of_head(), subjects) && head_refused * 5 <= of_head().count();
        let regions = SiteRegions::new(&[(number, &evidence)], subjects);
        let is_pooled = is_host && evidence.answered_len() + evidence.refused_len() < FEW_PATHS;
        let (has_soft_404, repositories) = (false, Vec::new());
        let (varying_paths, constant_paths) = varying_and_constant_paths(&evidence);
        let is_empty = evidence.answered().next().is_some()
            && evidence.answered().all(|(_, path)| path.is_empty());
        Self {
            evidence,
            is_host,
            is_pooled,
            has_sizes,
            refuses_nothing,
            answers_any_head,
            regions,
            has_soft_404,
            repositories,
            varying_paths,
            constant_paths,
            is_empty,
        }
    }

    /// Whether several clients got exactly this size for a path, although answers to one path vary
    /// here: what varies gives one size to each of them by chance only.
    fn is_constant(&self, path: u64, size: ResponseSize) -> bool {
        let is_one_size = |path: &PathEvidence| {
            path.client_count() >= SEVERAL_CLIENTS && path.get_sizes() == [size]
        };
        self.varying_paths >= VARYING_PATHS && self.evidence.path(path).is_some_and(is_one_size)
    }

    /// Whether no other path got this size, and few paths are constant: then it is no page that
    /// varies with the client.
    fn is_only_constant(&self, path: u64, size: ResponseSize) -> bool {
        let mut others = self.evidence.answered().filter(|(other, _)| *other != path);
        self.constant_paths * CONSTANT_DIVISOR <= self.varying_paths
            && !others.any(|(_, other)| other.sizes().any(|other| other.bytes == size.bytes))
    }

    /// Whether the site refused the paths beside one: those of its kind in its folder, in the whole
    /// log or at that time.
    fn refuses_beside(&self, candidate: &GradeCandidate<'_>) -> bool {
        let part = self
            .regions
            .refusing
            .get(&(candidate.shape.folder, candidate.shape.extension));
        let hours = self
            .evidence
            .path(candidate.path)
            .and_then(PathEvidence::answered_hours);
        part.is_some_and(|paths| refuses(paths, hours))
    }

    /// Whether a path is a file of a repository that the site gives away.
    fn exposes_repository(&self, shape: &PathShape) -> bool {
        shape.extension == Extension::Repository && self.repositories.contains(&shape.folder)
    }
}

/// Of the paths that several clients requested, the number of those that gave several sizes, and of
/// those that gave one.
fn varying_and_constant_paths(evidence: &SiteEvidence) -> (usize, usize) {
    let paths = evidence
        .answered()
        .filter(|(_, path)| path.client_count() >= SEVERAL_CLIENTS);
    let (varying, constant): (Vec<_>, Vec<_>) =
        paths.partition(|(_, path)| path.get_sizes().len() > 1);
    (varying.len(), constant.len())
}

impl SiteRegions {
    fn new(sites: &[(u32, &SiteEvidence)], subjects: &[RuleSubject]) -> Self {
        let weights = weights(sites);
        let part = |kind: RegionKind, within: &dyn Fn(&PathShape) -> bool| {
            let answered = sites
                .iter()
                .flat_map(|(host, site)| entries(*host, site.answered(), subjects));
            let refused = sites
                .iter()
                .flat_map(|(host, site)| entries(*host, site.refused(), subjects));
            // What a client takes out of a repository shows that it is there, and is no evidence
            // against other files.
            let within = |entry: &RegionPath| {
                within(&entry.evidence.shape) && !entry.evidence.shape.is_below_repository()
            };
            Region::new(
                kind,
                answered.filter(within),
                refused.filter(within),
                weights,
                subjects,
            )
        };
        let shapes = || {
            sites
                .iter()
                .flat_map(|(_, site)| site.answered())
                .map(|(_, path)| path.shape)
        };
        let mut folders: Vec<u32> = shapes()
            .map(|shape| shape.folder)
            .filter(|folder| *folder != 0)
            .collect();
        let mut extensions: Vec<Extension> = shapes()
            .flat_map(|shape| shape.extension.handled_as())
            .copied()
            .collect();
        // A single path cannot be compared. One pass fills all folders, answered paths and refused
        // ones: there may be as many folders as paths.
        let mut by_folder: HashMap<u32, [Vec<RegionPath>; 2]> = repeated(&mut folders)
            .into_iter()
            .map(|folder| (folder, Default::default()))
            .collect();
        for (host, site) in sites {
            let answered = site.answered().map(|path| (0, path));
            let refused = site.refused().map(|path| (1, path));
            for (list, (path, evidence)) in answered.chain(refused) {
                if let Some(lists) = by_folder.get_mut(&evidence.shape.folder)
                    && !evidence.shape.is_below_repository()
                {
                    lists[list].push(RegionPath::new(path, *host, evidence, subjects));
                }
            }
        }
        let extensions = repeated(&mut extensions);
        let is_of = |extension: Extension, shape: &PathShape| {
            shape.extension.handled_as().contains(&extension)
        };
        let root = |e: Extension| {
            part(RegionKind::Root, &|shape| {
                shape.folder == 0 && is_of(e, shape)
            })
        };
        Self {
            site: part(RegionKind::Site, &|_| true),
            folders: by_folder
                .into_iter()
                .map(|(folder, [answered, refused])| {
                    let (answered, refused) = (answered.into_iter(), refused.into_iter());
                    let region =
                        Region::new(RegionKind::Folder, answered, refused, weights, subjects);
                    (folder, region)
                })
                .collect(),
            roots: extensions.iter().map(|&e| (e, root(e))).collect(),
            extensions: extensions
                .iter()
                .map(|&e| (e, part(RegionKind::Extension, &|shape| is_of(e, shape))))
                .collect(),
            partial: part(RegionKind::PartialContent, &|_| true),
            refusing: refusing(sites),
        }
    }
}

impl SiteRegions {
    /// The folders, and the kinds of paths that are in none.
    fn parts(&self) -> impl Iterator<Item = &Region> {
        self.folders.values().chain(self.roots.values())
    }
}

/// The values that occur more than once.
fn repeated<T: Ord + Copy>(values: &mut [T]) -> Vec<T> {
    values.sort_unstable();
    values
        .chunk_by(|a, b| a == b)
        .filter(|same| same.len() > 1)
        .map(|same| same[0])
        .collect()
}

fn entries<'s>(
    host: u32,
    paths: impl Iterator<Item = (u64, &'s Arc<PathEvidence>)> + 's,
    subjects: &'s [RuleSubject],
) -> impl Iterator<Item = RegionPath> + 's {
    paths.map(move |(path, evidence)| RegionPath::new(path, host, evidence, subjects))
}

/// Whether enough of these paths are unrelated; paths that no rule on paths matches do not count.
fn are_unrelated<'s>(
    host: u32,
    paths: impl Iterator<Item = (u64, &'s Arc<PathEvidence>)> + 's,
    subjects: &'s [RuleSubject],
) -> bool {
    let entries: Vec<RegionPath> = entries(host, paths, subjects)
        .filter(|entry| !entry.path_rules.is_empty())
        .collect();
    has_unrelated(entries.iter(), MIN_UNRELATED)
}

fn weights(sites: &[(u32, &SiteEvidence)]) -> [f64; 2] {
    match sites {
        [(_, one)] => one.weights(),
        _ => [1.0, 1.0],
    }
}

/// The folders and kinds of paths in which several paths were refused, now or at another time.
fn refusing(sites: &[(u32, &SiteEvidence)]) -> HashMap<(u32, Extension), Vec<PathHistory>> {
    let mut parts: HashMap<(u32, Extension), Vec<PathHistory>> = HashMap::default();
    for (_, site) in sites {
        let [weight_answered, weight_refused] = site.weights();
        let answered = site
            .answered()
            .map(|(_, path)| (path, weight_answered, true));
        for (path, weight, is_answered) in answered.chain(
            site.refused()
                .map(|(_, path)| (path, weight_refused, false)),
        ) {
            let (answered_hours, refused_hours) = (path.answered_hours(), path.refused_hours());
            let outcome = PathHistory {
                weight,
                is_answered,
                answered_hours,
                refused_hours,
            };
            parts
                .entry((path.shape.folder, path.shape.extension))
                .or_default()
                .push(outcome);
        }
    }
    let is_refused = |path: &&PathHistory| !path.is_answered || path.refused_hours.is_some();
    parts.retain(|_, paths| {
        paths
            .iter()
            .filter(is_refused)
            .map(|path| path.weight)
            .sum::<f64>()
            >= FEWEST_REFUSED
    });
    parts.shrink_to_fit();
    parts
}

/// All hosts as one region.
fn server(sites: &[(u32, &SiteEvidence)], subjects: &[RuleSubject]) -> Region {
    let answered = sites
        .iter()
        .flat_map(|(host, site)| entries(*host, site.answered(), subjects));
    Region::new(
        RegionKind::Server,
        answered,
        std::iter::empty(),
        weights(sites),
        subjects,
    )
}
