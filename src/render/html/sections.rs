//! The sections of a page, in the order of the table.
//!
//! Rows are sorted already. A section without rows is left out, except for the first one, which
//! states that nothing answered.

use std::borrow::Cow;
use std::cmp::Reverse;

use foldhash::{HashMap, HashSet};

use super::plots::{HeatMap, Plot};
use super::tables::{TableBuilder, TableCell};
use super::{PageOptions, Section};
use crate::geoip::GeoInfo;
use crate::log::client::Client;
use crate::log::finding::RuleId;
use crate::log::log_entry::Outcome;
use crate::log::time::LogTime;
use crate::render::grades;
use crate::render::layout::minute;
use crate::render::table::{is_much, without_time};
use crate::report::campaigns::describe_guesses;
use crate::report::model::{
    AllowedCount, AnswerDetail, AppSeen, Campaign, DayRow, FloodRow, HostRow, NetworkRow,
    ReportModel, Row, Soft404,
};
use crate::report::notes::accuracy_note;
use crate::report::novelty::NewItem;
use crate::report::{block_candidates, floods, labels};
use crate::scan::input_summary::InputSummary;
use crate::scan::input_summary::skipped_sentence;
use crate::text::number::{counted, grouped};
use crate::text::redact::LogText;
use crate::text::redact::sanitize::escape;

/// The most classes of a client, and the most CVE IDs of a rule, that are named.
const MAX_CLASSES: usize = 5;
const MAX_CVES: usize = 2;

/// Sections without a CSV table have all rows in this format.
const JSON: &str = "report.json (-f json)";

/// What has rows among the clients and paths of a page.
struct PairNames<'r> {
    clients: HashSet<Client<'r>>,
    paths: HashSet<LogText<'r>>,
    /// Days on which a row was first or last seen, such as `2026-11-02`.
    days: HashSet<String>,
}

impl<'r> PairNames<'r> {
    fn new(report: &'r ReportModel<'_>, options: &PageOptions<'_>) -> Self {
        let rows = labels::first(&report.pairs, Some(options.rows()));
        let times = rows
            .iter()
            .flat_map(|row| [row.first_time, row.last_time])
            .flatten();
        Self {
            clients: rows.iter().filter_map(|row| row.key.client()).collect(),
            paths: rows.iter().map(Row::path_or_target).collect(),
            days: times.map(|time| day(time.utc, report.zone())).collect(),
        }
    }
}

/// The day of a time in a zone, in minutes east of UTC.
fn day(utc: i64, zone: i16) -> String {
    minute(LogTime { utc, offset: zone })
        .chars()
        .take(10)
        .collect()
}

/// All sections that have something to show.
pub(super) fn all(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Vec<Section> {
    let names = &PairNames::new(report, options);
    let optional = [
        withdrawn(options),
        new_items(report, options),
        timeline(report, names),
        days(report),
        hours(report),
        clients(report, options, names),
        networks(report, options),
        user_agents(report, options),
        hosts(report, options),
        paths(report, options, names),
        pairs(report, options),
        rules(report, options),
        campaigns(report, options),
        floods(report, options),
        soft_404(report, options),
        uncertain(report, options),
        apps(report, options),
        allowed(report, options),
        inputs(report, options),
        notes(report, options),
    ];
    std::iter::once(answered(report, options))
        .chain(optional.into_iter().flatten())
        .collect()
}

fn answered(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Section {
    let (head, rows) = (("answered", "What answered"), &report.answered);
    let caption = "Paths that gave something, with the reason why the answer stands out";
    let section = answers(report, rows, options, head, caption)
        .unwrap_or_else(|| Section::of_sentences(head, vec![nothing_answered(report)]));
    // The rows are sorted by severity.
    let worst = rows
        .iter()
        .filter_map(|row| labels::worst(report.rule_set, &row.rules));
    let mut advice: Vec<String> = Vec::new();
    for rule in worst.filter(|rule| !rule.remedy().is_empty()) {
        let sentences = format!(
            "{}: {} {}",
            escape(rule.class.as_bytes()),
            escape(rule.wants().as_bytes()),
            escape(rule.remedy().as_bytes())
        );
        if advice.len() < MAX_CLASSES && !advice.contains(&sentences) {
            advice.push(sentences);
        }
    }
    Section {
        sentences: [section.sentences, advice].concat(),
        ..section
    }
}

fn nothing_answered(report: &ReportModel<'_>) -> String {
    let totals = &report.totals;
    let text = match totals.sum.hits {
        0 => "Nothing was found.",
        hits if totals.outcomes[Outcome::Unknown as usize] == hits => {
            "The log has no status, so probewatch cannot tell what answered."
        }
        hits if is_much(totals.outcomes[Outcome::Unknown as usize], hits) => {
            "Many probes are in lines without a readable status, so probewatch cannot tell whether they were answered."
        }
        _ if totals.uncertain > 0 => "No answer stands out; some are uncertain.",
        _ => "Nothing answered.",
    };
    text.to_owned()
}

fn uncertain(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let head = ("uncertain", "Uncertain answers");
    let caption = "Answers that may be real, with the reason why they are in doubt";
    answers(report, &report.uncertain, options, head, caption)
}

fn answers(
    report: &ReportModel<'_>,
    rows: &[Row<'_>],
    options: &PageOptions<'_>,
    head: (&'static str, &'static str),
    caption: &str,
) -> Option<Section> {
    let detail = |row: &Row<'_>, text: &dyn Fn(&AnswerDetail<'_>) -> String| {
        row.answer.as_deref().map(text).unwrap_or_default()
    };
    let who = |row: &Row<'_>, answer: &AnswerDetail<'_>| match answer.client {
        Some(one) => one.to_string(),
        None => counted(row.clients, "client", "clients"),
    };
    TableBuilder::new(rows, options.rows())
        .code("path", |row| grades::paths(row))
        .severity(|row| row.severity)
        .code("site", |row| row.key.site().unwrap_or_default())
        .text("status", |row| {
            detail(row, &|answer| answer.joined_statuses(" "))
        })
        .number("bytes", |row| {
            let answer = row.answer.as_deref();
            answer.map_or_else(TableCell::default, |answer| TableCell::number(answer.bytes))
        })
        .text("method", |row| {
            detail(row, &|answer| answer.method.as_str().to_owned())
        })
        .code("rule", |row| worst_rule(report, &row.rules))
        .count("hits", |row| row.hits)
        .text("client", |row| detail(row, &|answer| who(row, answer)))
        .time("first seen", report, |row| row.first_time)
        .time("last seen", report, |row| row.last_time)
        .text("why", |row| detail(row, &grades::why))
        .alarm(|row| row.answered > 0)
        .section(
            head,
            caption,
            rows.len() as u64,
            "answered.csv (-f csv --by answer)",
        )
}

fn withdrawn(options: &PageOptions<'_>) -> Option<Section> {
    TableBuilder::new(options.withdrawn, options.rows())
        .code("path", |answer| &answer.key)
        .severity(|answer| answer.severity)
        .section(
            ("withdrawn", "Withdrawn"),
            "Answers that earlier reports listed, and that are what the site gives to any path",
            options.withdrawn.len() as u64,
            "new.csv",
        )
}

fn new_items(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let news = options.news?;
    let title = |item: &NewItem<'_>| {
        report
            .rule_set
            .number_of(&item.key)
            .map(|rule| report.rule_set.rule(rule).title.as_str())
    };
    let head = ("new", "What is new");
    let found = TableBuilder::new(news, options.rows())
        .code("what", |item| &item.key)
        .text("kind", |item| item.kind.as_str())
        .severity(|item| item.severity)
        .count("hits", |item| item.hits)
        .time("first seen", report, |item| item.first_time)
        .code("example", |item| item.sample.target)
        .text("what it finds", |item| {
            escape(title(item).unwrap_or_default().as_bytes())
        })
        .section(
            head,
            "Answers, rules, paths, clients and campaigns that no run before has seen",
            news.len() as u64,
            "new.csv",
        );
    let nothing = || Section::of_sentences(head, vec!["Nothing is new.".to_owned()]);
    Some(found.unwrap_or_else(nothing))
}

fn timeline(report: &ReportModel<'_>, names: &PairNames<'_>) -> Option<Section> {
    let plot = Plot::from_timeline(&report.timeline)?;
    let day_of = |from: i64| Some(day(from, report.zone())).filter(|day| names.days.contains(day));
    let table = super::plots::timeline_table(&report.timeline, day_of);
    Some(Section {
        id: "timeline",
        title: "When",
        sentences: plot.notes.clone(),
        plot: Some(plot),
        table,
        folded: true,
        ..Section::default()
    })
}

fn days(report: &ReportModel<'_>) -> Option<Section> {
    let rows: Vec<&DayRow> = report.days.iter().filter(|day| day.hits > 0).collect();
    let table = TableBuilder::new(&rows, usize::MAX)
        .text("day (UTC)", |row| row.date())
        .count("hits", |row| row.hits)
        .count("requests", |row| row.requests)
        .number("share", |row| row.share().into())
        .count("clients", |row| row.clients)
        .finish("Hits and requests by day", rows.len() as u64, "");
    table.is_some().then(|| Section {
        id: "days",
        title: "Days",
        table,
        folded: true,
        ..Section::default()
    })
}

fn hours(report: &ReportModel<'_>) -> Option<Section> {
    let heat = HeatMap::new(&report.timeline.hours)?;
    let table = super::plots::hours_table(&report.timeline.hours);
    Some(Section {
        id: "hours",
        title: "Weekdays and hours",
        heat: Some(heat),
        table,
        folded: true,
        ..Section::default()
    })
}

fn clients(
    report: &ReportModel<'_>,
    options: &PageOptions<'_>,
    names: &PairNames<'_>,
) -> Option<Section> {
    let geo = |row: &Row<'_>, text: fn(&GeoInfo) -> String| {
        row.geo.as_deref().map(text).unwrap_or_default()
    };
    let section = TableBuilder::new(&report.clients, options.rows())
        .text("client", |row| {
            client_cell(row).linked(
                row.key
                    .client()
                    .is_some_and(|client| names.clients.contains(&client)),
            )
        })
        .severity(|row| row.severity)
        .count("hits", |row| row.hits)
        .count("answered", |row| row.answered)
        .count("paths", |row| row.paths)
        .count("other requests", |row| row.other_requests)
        .time("first seen", report, |row| row.first_time)
        .time("last seen", report, |row| row.last_time)
        .text("country", |row| geo(row, city_and_country))
        .text("network", |row| geo(row, network))
        .text("looks for", |row| {
            first_of(&labels::classes(report.rule_set, &row.rules), MAX_CLASSES)
        })
        // In a word: `clients.csv` has the reason.
        .text("may block", |row| {
            row.block.as_ref().map_or("", |block| block.label())
        })
        .text("user agent", |row| {
            row.sample.user_agent.unwrap_or_default()
        })
        .alarm(|row| row.answered > 0)
        .section(
            ("clients", "Clients"),
            "Clients that sent probes, the most severe first",
            report.totals.clients,
            "clients.csv (-f csv --by client)",
        )?;
    let edges = block_candidates::edges_left_out(report)
        .map(|edges| format!("{edges} of the block candidates."));
    Some(Section {
        sentences: edges.collect(),
        ..section
    })
}

fn client_cell(row: &Row<'_>) -> TableCell {
    TableCell::code(row.key.client().map(Client::redacted).unwrap_or_default())
}

/// The first few of some words, and the number of others: `cms, lfi, rce, sqli +11`.
fn first_of(words: &[&str], most: usize) -> String {
    let shown = words[..most.min(words.len())].join(", ");
    if words.len() > most {
        format!("{shown} +{}", words.len() - most)
    } else {
        shown
    }
}

/// The city and the country.
fn city_and_country(geo: &GeoInfo) -> String {
    let parts: Vec<_> = [&geo.country, &geo.city]
        .into_iter()
        .flatten()
        .map(|part| escape(part.as_bytes()))
        .collect();
    parts.join(", ")
}

fn network(geo: &GeoInfo) -> String {
    system(geo.asn, geo.as_name.as_deref())
}

/// An autonomous system: `AS64496 Example Net`.
fn system(asn: Option<u32>, name: Option<&str>) -> String {
    let number = asn.map(|asn| format!("AS{asn}"));
    let parts: Vec<_> = number
        .into_iter()
        .chain(name.map(|name| escape(name.as_bytes()).into_owned()))
        .collect();
    parts.join(" ")
}

fn networks(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let name = |row: &NetworkRow| match system(row.asn, row.as_name.as_deref()) {
        name if name.is_empty() => "unknown".to_owned(),
        name => name,
    };
    let countries = |row: &NetworkRow| {
        row.countries
            .iter()
            .map(|country| escape(country.as_bytes()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    TableBuilder::new(&report.networks, options.rows())
        .text("network", name)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .count("answered", |row| row.answered)
        .text("countries", countries)
        .alarm(|row| row.answered > 0)
        .section(
            ("networks", "Networks"),
            "Autonomous systems of the clients, most hits first",
            report.networks.len() as u64,
            JSON,
        )
}

/// The clients of each user agent. A client has one here: that of its sample.
fn user_agents(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let mut sums: HashMap<LogText<'_>, UserAgentRow<'_>> = HashMap::default();
    for client in &report.clients {
        let Some(user_agent) = client.sample.user_agent else {
            continue;
        };
        let row = sums.entry(user_agent).or_insert(UserAgentRow {
            user_agent,
            clients: 0,
            hits: 0,
            answered: 0,
        });
        row.clients += 1;
        row.hits += client.hits;
        row.answered += client.answered;
    }
    let mut rows: Vec<_> = sums.into_values().collect();
    rows.sort_unstable_by_key(|row| (Reverse(row.hits), row.user_agent));
    TableBuilder::new(&rows, options.rows())
        .text("user agent", |row| row.user_agent)
        .count("clients", |row| row.clients)
        .count("hits of these clients", |row| row.hits)
        .count("answered", |row| row.answered)
        .alarm(|row| row.answered > 0)
        .section(
            ("user-agents", "User agents"),
            "User agents of the clients of this page, one for each client",
            rows.len() as u64,
            "clients.csv (-f csv --by client)",
        )
}

/// Clients with the same user agent.
struct UserAgentRow<'a> {
    user_agent: LogText<'a>,
    clients: u64,
    hits: u64,
    answered: u64,
}

fn hosts(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    TableBuilder::new(&report.hosts, options.rows())
        .code("host", |row: &HostRow<'_>| row.host)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .count("paths", |row| row.paths)
        .count("answered", |row| row.answered)
        .alarm(|row| row.answered > 0)
        .section(
            ("hosts", "Virtual hosts"),
            "Virtual hosts of the requests, most hits first",
            report.hosts.len() as u64,
            "a page with a greater --top",
        )
}

fn paths(
    report: &ReportModel<'_>,
    options: &PageOptions<'_>,
    names: &PairNames<'_>,
) -> Option<Section> {
    TableBuilder::new(&report.paths, options.rows())
        .text("path", |row| {
            TableCell::code(row.path_or_target())
                .linked(names.paths.contains(&row.path_or_target()))
        })
        .severity(|row| row.severity)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .count("answered", |row| row.answered)
        .code("rule", |row| worst_rule(report, &row.rules))
        .time("first seen", report, |row| row.first_time)
        .time("last seen", report, |row| row.last_time)
        .code("as requested", |row| {
            row.target_beside_path().unwrap_or_default()
        })
        .alarm(|row| row.answered > 0)
        .section(
            ("paths", "Paths"),
            "Paths that were probed, the most severe first",
            report.totals.paths,
            "paths.csv (-f csv --by path)",
        )
}

/// What each client requested. The names of clients, paths and days lead to their rows here.
fn pairs(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let shown = options.rows().min(report.pairs.len()) as u64;
    let mut found = TableBuilder::new(&report.pairs, options.rows())
        .text("client", client_cell)
        .code("path", Row::path_or_target)
        .severity(|row| row.severity)
        .text("outcome", |row| {
            row.key.outcome().map_or("", Outcome::as_str)
        })
        .number("status", |row| TableCell::number(row.status.map(u64::from)))
        .count("hits", |row| row.hits)
        .code("rule", |row| worst_rule(report, &row.rules))
        .time("first seen", report, |row| row.first_time)
        .time("last seen", report, |row| row.last_time)
        .alarm(|row| row.answered > 0)
        .finish(
            "What each client requested, the most severe first",
            shown,
            "",
        )?;
    // How many there are is not counted.
    if shown == options.rows() as u64 {
        found.more = Some(format!(
            "These are the first {}: pairs.csv (-f csv) has all.",
            grouped(shown)
        ));
    }
    Some(Section {
        id: "pairs",
        title: "Clients and paths",
        table: Some(found),
        ..Section::default()
    })
}

fn rules(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let of = |row: &Row<'_>| row.key.rule().map(|rule| report.rule_set.rule(rule));
    TableBuilder::new(&report.rules, options.rows())
        .code("rule", |row| {
            of(row).map_or_else(Cow::default, |rule| escape(rule.id.as_bytes()))
        })
        .severity(|row| row.severity)
        .count("hits", |row| row.hits)
        .count("clients", |row| row.clients)
        .count("paths", |row| row.paths)
        .count("answered", |row| row.answered)
        .time("last seen", report, |row| row.last_time)
        .text("what it finds", |row| {
            of(row).map_or_else(Cow::default, |rule| escape(rule.title.as_bytes()))
        })
        .text("CVE", |row| {
            escape(first_of(&row.about.cves, MAX_CVES).as_bytes()).into_owned()
        })
        .alarm(|row| row.answered > 0)
        .section(
            ("rules", "Rules"),
            "Rules that matched, the most severe first",
            report.totals.rules,
            "rules.csv (-f csv --by rule)",
        )
}

fn campaigns(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let paths = |campaign: &Campaign<'_>| match &campaign.guesses {
        Some(guesses) => describe_guesses(campaign, guesses),
        None => labels::joined(&campaign.sample_paths),
    };
    TableBuilder::new(&report.campaigns, options.rows())
        .code("such as", paths)
        .severity(|campaign| campaign.severity)
        .count("networks", |campaign| campaign.networks)
        .count("clients", |campaign| campaign.clients)
        .count("paths", |campaign| campaign.paths)
        .count("hits", |campaign| campaign.hits)
        .count("answered", |campaign| campaign.answered)
        .time("first seen", report, |campaign| campaign.first_time)
        .time("last seen", report, |campaign| campaign.last_time)
        .alarm(|campaign| campaign.answered > 0)
        .section(
            ("campaigns", "Campaigns"),
            "The same list of paths, or logins, tried out from several networks",
            report.campaigns.len() as u64,
            JSON,
        )
}

fn floods(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let who = |flood: &FloodRow<'_>| match flood.client {
        Some(client) => client.to_string(),
        None => floods::senders(flood),
    };
    TableBuilder::new(&report.floods, options.rows())
        .code("flood", |flood| floods::describe(flood))
        .severity(|flood| flood.severity)
        .code("client", who)
        .count("requests", |flood| flood.requests)
        .count("minutes", |flood| flood.minutes)
        .time("first minute", report, |flood| Some(flood.first_minute))
        .time("last minute", report, |flood| Some(flood.last_minute))
        .section(
            ("floods", "Floods"),
            "More requests than a rule allows",
            report.floods.len() as u64,
            JSON,
        )
}

fn soft_404(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let sizes = |site: &Soft404<'_>| {
        if site.sizes.is_empty() {
            String::new()
        } else {
            grades::sizes(&site.sizes)
        }
    };
    TableBuilder::new(&report.soft_404, options.rows())
        .code("site", |site| site.site)
        .count("hosts", |site| site.hosts)
        .count("probed paths", |site| site.paths)
        .count("requests", |site| site.requests)
        .text("sizes of its answers", sizes)
        .text("what it does", |site| grades::sentence(site))
        .section(
            ("soft-404", "Sites that answer anything"),
            "Their answers say nothing about what is there, and are not among what answered",
            report.soft_404.len() as u64,
            JSON,
        )
}

fn apps(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let site = |app: &AppSeen<'_>| {
        app.site
            .map_or_else(|| "all (--app)".to_owned(), |site| site.to_string())
    };
    TableBuilder::new(&report.apps, options.rows())
        .text("app", |app| escape(app.title.as_bytes()))
        .code("site", site)
        .count("requests left out", |app| app.silenced)
        .section(
            ("apps", "Apps"),
            "Requests for an app's own pages are left out; --min-severity info shows them",
            report.apps.len() as u64,
            JSON,
        )
}

fn allowed(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let used: Vec<&AllowedCount<'_>> = report
        .allowed
        .iter()
        .filter(|entry| entry.requests > 0)
        .collect();
    TableBuilder::new(&used, options.rows())
        .text("reason", |entry| escape(entry.reason.as_bytes()))
        .count("requests left out", |entry| entry.requests)
        .code("file", |entry| escape(entry.file.as_bytes()))
        .count("line", |entry| entry.line as u64)
        .section(
            ("allowed", "Allowed"),
            "Entries of allow lists that matched",
            used.len() as u64,
            JSON,
        )
}

/// The line counts of each input, and the sum of several.
fn inputs(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let totals = &report.totals;
    let sum = InputSummary {
        counts: totals.sum,
        first_time: totals.first_time,
        last_time: totals.last_time,
        ..InputSummary::default()
    };
    let of_all = (report.inputs.len() != 1).then_some(("all inputs".into(), &sum));
    let each = report
        .inputs
        .iter()
        .take(options.rows())
        .map(|input| (escape(&input.path), input));
    let rows: Vec<(Cow<'_, str>, &InputSummary)> = of_all.into_iter().chain(each).collect();
    let format = |input: &InputSummary| {
        input
            .format
            .clone()
            .map_or_else(String::new, |format| escape(format.as_bytes()).into_owned())
    };
    let problem = |input: &InputSummary| {
        escape(input.remarks().collect::<Vec<_>>().join("; ").as_bytes()).into_owned()
    };
    TableBuilder::new(&rows, usize::MAX)
        .code("input", |(name, _)| &**name)
        .text("problem", |(_, input)| problem(input))
        .count("lines", |(_, input)| input.counts.lines)
        .count("parsed", |(_, input)| input.counts.parsed)
        .count("unparsed", |(_, input)| input.counts.unparsed)
        .count("oversized", |(_, input)| input.counts.oversized)
        .count("skipped", |(_, input)| input.counts.skipped)
        .count("pending", |(_, input)| input.counts.pending)
        .count("requests", |(_, input)| input.counts.requests)
        .count("hits", |(_, input)| input.counts.hits)
        .text("format", |(_, input)| format(input))
        .time("first line", report, |(_, input)| input.first_time)
        .time("last line", report, |(_, input)| input.last_time)
        .alarm(|(_, input)| input.remarks().next().is_some())
        .section(
            ("inputs", "Inputs"),
            "Where each line went",
            report.inputs.len() as u64,
            JSON,
        )
}

/// How far the report is from exact, and what the reader must know.
fn notes(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Option<Section> {
    let mut sentences: Vec<String> = options
        .notes
        .iter()
        .map(|note| escape(note.as_bytes()).into_owned())
        .collect();
    sentences.extend(without_time(report.totals.without_time));
    sentences.extend(
        skipped_sentence(&report.inputs).map(|sentence| escape(sentence.as_bytes()).into_owned()),
    );
    let of_report = [
        report.proxied_sentence(),
        report.approximate.as_ref().map(accuracy_note),
    ]
    .into_iter()
    .flatten();
    sentences.extend(of_report.filter(|note| !options.notes.contains(note)));
    (!sentences.is_empty()).then(|| Section::of_sentences(("notes", "Notes"), sentences))
}

/// The most severe rule and the number of others.
fn worst_rule(report: &ReportModel<'_>, rules: &[RuleId]) -> String {
    escape(labels::worst_rule(report.rule_set, rules).as_bytes()).into_owned()
}
