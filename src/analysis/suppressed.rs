//! What was left out of a report because it is ordinary here, counted: pages of an app that a site runs, and what an allow
//! list names.

use foldhash::HashMap;

use super::build::{ReportInput, site_name};
use super::model::{AllowedCount, AppSeen};
use super::rule_status::LogAnalysis;
use crate::finding::RuleId;
use crate::tally::Site;

/// The apps that were seen or said to run, and how many requests each silenced.
pub(crate) fn apps<'a>(material: &ReportInput<'a>, context: &LogAnalysis<'a>) -> Vec<AppSeen<'a>> {
    let mut silenced: HashMap<(RuleId, Site<'a>), u64> = HashMap::default();
    for (view, decision) in material.tally.cells().zip(context.decisions()) {
        if let Some(app) = decision.suppressed_by {
            *silenced.entry((app, context.site_root(view.site))).or_default() += view.cell.hits;
        }
    }
    let sum = |app: RuleId, site: Option<Site<'a>>| match site {
        Some(site) => silenced.get(&(app, site)).copied().unwrap_or(0),
        None => silenced.iter().filter(|((of, _), _)| *of == app).map(|(_, hits)| hits).sum(),
    };
    let seen = |(app, site): (RuleId, Option<Site<'a>>)| {
        let rule = material.rules.rule(app);
        let name = rule.app().unwrap_or(&rule.id);
        AppSeen { app: name, title: &rule.title, site: site.map(|site| site_name(material, site)), silenced: sum(app, site) }
    };
    let mut apps: Vec<_> = context.apps().into_iter().map(seen).collect();
    apps.sort_by(|a, b| (b.silenced, a.app, a.site).cmp(&(a.silenced, b.app, b.site)));
    apps
}

/// What each entry of the allow lists took out; in the order of the lists.
pub(crate) fn allowed<'a>(material: &ReportInput<'a>) -> Vec<AllowedCount<'a>> {
    let requests = material.tally.allowed().iter().copied().chain(std::iter::repeat(0));
    let each = material.allow.entries().iter().zip(requests);
    each.map(|(entry, requests)| AllowedCount { file: &entry.file, line: entry.line, reason: &entry.reason, requests }).collect()
}
