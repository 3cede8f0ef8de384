//! Learns from a log what the rules do not name yet: paths that known probers ask for and ordinary clients do not.
//!
//! A pure function of the merged tally. It proposes, and changes no rule; a person reads what it says first.

mod kind;
mod ordinary;
mod prober;
mod random;
#[cfg(test)]
mod tests;

use crate::analysis::build::{LogAnalysis, ReportInput};
use crate::analysis::proposals::{Proposal, ProposalExample, Proposals};
use crate::client::Network;
use crate::redact::mask;
use crate::source::SourceInfo;
use crate::tally::{SampleContent, Tally, UnmatchedPath};
use kind::PathKind;
use ordinary::NormalPages;
use prober::KnownProbers;

/// Of those who asked, one in three may be somebody else: many a prober asks for one path and is gone, but a page that
/// was taken away is asked for by all the search engines that remember it.
const PROBERS_PER_OTHER: usize = 2;

/// Who asked for a path.
struct PathCandidate {
    path: u32,
    probers: Vec<u32>,
    others: Vec<u32>,
}

/// The paths that at least `min_probers` independent probers asked for, the most asked for first. The tally is one of a
/// run that noted what no rule matched.
#[must_use]
pub fn learn<'a>(material: &ReportInput<'a>, context: &LogAnalysis<'_>, min_probers: usize) -> Proposals<'a> {
    let ReportInput { rules, tally, texts, .. } = *material;
    let probers = KnownProbers::new(rules, tally, context);
    let ordinary = NormalPages::new(tally, &probers);
    let (mut proposals, mut random) = (Vec::new(), 0);
    for candidate in candidates(tally, &probers, min_probers) {
        let Some((asked, path)) = tally.unmatched().path(candidate.path).zip(str::from_utf8(tally.path(candidate.path)).ok()) else {
            continue;
        };
        let known = networks(tally, &candidate.probers);
        let others = networks(tally, &candidate.others).into_iter().filter(|other| known.binary_search(other).is_err()).count();
        if known.len() < min_probers || others * PROBERS_PER_OTHER > known.len() || ordinary.covers(path.as_bytes()) {
            continue;
        }
        // What the reports would mask, no rule may spell out.
        if random::is_machine_generated(path) || mask::mask(path.as_bytes()) != path.as_bytes() {
            random += 1;
            continue;
        }
        let (kind, class) = kind_and_class(path, &candidate, &probers);
        proposals.push(Proposal {
            path,
            rule: kind.rule(class),
            title: kind.title(class),
            class,
            severity: kind::suggested_severity(class),
            probers: known.len() as u64,
            others: others as u64,
            ..proposal_for(asked, path, texts)
        });
    }
    proposals.sort_by(|a, b| (b.probers, b.requests, a.path).cmp(&(a.probers, a.requests, b.path)));
    Proposals { proposals, random, probers: probers.len() as u64, min_probers: min_probers as u64, ..Proposals::default() }
}

/// Every path that enough probers asked for, with who asked; a network may still be behind several of them.
fn candidates(tally: &Tally, probers: &KnownProbers<'_>, min_probers: usize) -> Vec<PathCandidate> {
    let mut asked = Vec::new();
    for (_, path, _) in tally.unmatched().pairs().filter(|(client, ..)| probers.contains(*client)) {
        let at = path as usize;
        if at >= asked.len() {
            asked.resize(at + 1, 0_u32);
        }
        asked[at] += 1;
    }
    let enough = |path: u32| asked.get(path as usize).is_some_and(|&n| n as usize >= min_probers);
    let mut pairs: Vec<(u32, u32)> =
        tally.unmatched().pairs().filter(|(_, path, _)| enough(*path)).map(|(client, path, _)| (path, client)).collect();
    pairs.sort_unstable();
    let candidate = |of_path: &[(u32, u32)]| {
        let (probers, others) = of_path.iter().map(|(_, client)| *client).partition(|client| probers.contains(*client));
        PathCandidate { path: of_path[0].0, probers, others }
    };
    pairs.chunk_by(|a, b| a.0 == b.0).map(candidate).collect()
}

/// The networks of clients, sorted.
fn networks<'a>(tally: &'a Tally, clients: &[u32]) -> Vec<Network<'a>> {
    let mut networks: Vec<_> = clients.iter().map(|&client| Network::from_client(tally.client(client))).collect();
    networks.sort_unstable();
    networks.dedup();
    networks
}

/// What kind of path it is, and its class: what a word in it says, or that of the rules that those who asked for it met
/// most.
fn kind_and_class(path: &str, candidate: &PathCandidate, probers: &KnownProbers<'_>) -> (PathKind, &'static str) {
    let kind = PathKind::from_path(path);
    if let Some(class) = kind.class_hint(path) {
        return (kind, class);
    }
    let votes = |class: &str| candidate.probers.iter().map(|&client| probers.class_votes(client, class)).sum::<u64>();
    // Of equals the first: the list begins with what is likeliest.
    let classes = kind.classes();
    let best = classes.iter().rev().max_by_key(|class| votes(class));
    (kind, best.copied().unwrap_or("exposure"))
}

/// What is known of a path apart from who asked.
fn proposal_for<'a>(asked: &'a UnmatchedPath, path: &'a str, texts: &'a [SourceInfo]) -> Proposal<'a> {
    let (sample, text) = (&asked.sample, &texts[asked.sample.position.input as usize]);
    let (first_time, last_time) = asked.times.unzip();
    let mut statuses = asked.statuses.clone();
    statuses.sort_unstable();
    let example = ProposalExample {
        source: &text.path,
        line: text.line_number(sample.position.chunk, sample.position.line),
        // It is kept where it was written in another way.
        target: match &sample.content {
            SampleContent::Line { text, .. } if !text.is_empty() => text,
            _ => path.as_bytes(),
        },
        status: asked.status,
    };
    Proposal { requests: asked.requests, statuses, first_time, last_time, example, ..Proposal::default() }
}
