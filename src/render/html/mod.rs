//! Prints a report as a page for a browser: one file that requests nothing, with plots, and tables
//! to sort and filter.
//!
//! The style and the script of the page are the only ones that its content policy allows, by their
//! hashes. All text of a log is redacted here and escaped by the template, and none is part of a
//! link. Tables hold the first rows only: CSV has all.

pub(crate) mod index;
mod plots;
mod sections;
mod tables;

use std::fmt;
use std::io::{self, Write};
use std::sync::LazyLock;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use self::index::RunDigest;
use self::plots::{HeatMap, Plot};
use self::tables::{CellLink, TableView};
use super::PAGE_ROWS;
use super::layout::{minute, minute_with_zone};
use super::table::headline;
use crate::log::time::LogTime;
use crate::report::model::ReportModel;
use crate::report::novelty::NewItem;
use crate::report::withdrawn::WithdrawnAnswer;
use crate::scan::input_summary::InputSummary;
use crate::text::number::{MORE_THAN, counted, grouped, size};
use crate::text::redact::sanitize::escape;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

static STYLE_HASH: LazyLock<String> = LazyLock::new(|| hash(STYLE));
static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| hash(SCRIPT));

/// What a page has beside the report.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PageOptions<'a> {
    /// Rows of each table; `None` is 1,000.
    pub top: Option<usize>,
    /// When the page is made, in seconds since 1970.
    pub made_at: Option<i64>,
    /// What the report covers, such as `Run 12`.
    pub label: Option<&'a str>,
    /// What no run before has seen; `None` where no run was before.
    pub news: Option<&'a [NewItem<'a>]>,
    /// Answers of earlier reports that are withdrawn.
    pub withdrawn: &'a [WithdrawnAnswer],
    /// Further notes, a sentence each.
    pub notes: &'a [String],
}

impl PageOptions<'_> {
    fn rows(&self) -> usize {
        self.top.unwrap_or(PAGE_ROWS)
    }
}

/// The name of the page in a report folder.
pub(crate) const PAGE_FILE: &str = "report.html";

/// A link to the page of a folder beside the index. Only the names of report folders can be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderLink(String);

impl FolderLink {
    /// `None` unless the name consists of digits, hyphens, `T` and `Z`.
    #[must_use]
    pub(crate) fn new(folder: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'T' | b'Z');
        (!folder.is_empty() && folder.bytes().all(is_plain)).then(|| Self(folder.to_owned()))
    }

    pub(super) fn href(&self) -> String {
        format!("{}/{PAGE_FILE}", self.0)
    }
}

impl fmt::Display for FolderLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A page, as the template shows it.
#[derive(Debug, Template)]
#[template(path = "page.html", config = "src/render/html/askama.toml")]
struct HtmlPage {
    style: &'static str,
    script: &'static str,
    style_hash: &'static str,
    script_hash: &'static str,
    version: &'static str,
    digest: Option<String>,
    title: String,
    kicker: String,
    headline: String,
    is_alarm: bool,
    /// Numbers of the header: the name and the value of each, and whether it is alarming.
    facts: Vec<(&'static str, String, bool)>,
    about: Vec<String>,
    sections: Vec<Section>,
    footer: String,
}

/// A section: sentences, a plot, a heat map and a table, as far as it has them.
#[derive(Debug, Default)]
struct Section {
    id: &'static str,
    title: &'static str,
    /// Number of items, for the list of sections.
    count: Option<String>,
    sentences: Vec<String>,
    plot: Option<Plot>,
    heat: Option<HeatMap>,
    table: Option<TableView>,
    /// The table repeats the plot in numbers, and is closed at first.
    folded: bool,
}

impl Section {
    fn of_sentences((id, title): (&'static str, &'static str), sentences: Vec<String>) -> Self {
        Self {
            id,
            title,
            sentences,
            ..Self::default()
        }
    }
}

impl HtmlPage {
    fn new(title: String, headline: String) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        Self {
            style: STYLE,
            script: SCRIPT,
            style_hash: &STYLE_HASH,
            script_hash: &SCRIPT_HASH,
            version,
            digest: None,
            kicker: String::new(),
            title,
            headline,
            is_alarm: false,
            facts: Vec::new(),
            about: Vec::new(),
            sections: Vec::new(),
            footer: format!(
                "Made by probewatch {version}. This page requests nothing from the network."
            ),
        }
    }

    fn write<W: Write>(&self, out: &mut W) -> io::Result<()> {
        // Errors of `out` are the only ones.
        self.write_into(out)?;
        writeln!(out)
    }
}

/// Writes the page of a report.
///
/// # Errors
///
/// Errors of `out`.
pub(crate) fn write<W: Write>(
    report: &ReportModel<'_>,
    options: &PageOptions<'_>,
    out: &mut W,
) -> io::Result<()> {
    page(report, options).write(out)
}

fn page(report: &ReportModel<'_>, options: &PageOptions<'_>) -> HtmlPage {
    let (sentence, is_alarm) = headline(report);
    let subject = subject(report, options);
    let totals = &report.totals;
    // A lower bound, if memory was limited.
    let or_more = |n, has_more| {
        let more_than = if has_more { MORE_THAN } else { "" };
        format!("{more_than}{}", grouped(n))
    };
    let (clients, paths) = (
        or_more(totals.clients, totals.has_more_clients),
        or_more(totals.paths, totals.has_more_paths),
    );
    HtmlPage {
        digest: serde_json::to_string(&RunDigest::new(report, options)).ok(),
        kicker: subject.clone(),
        is_alarm,
        facts: vec![
            ("answered", grouped(totals.answered), totals.answered > 0),
            ("hits", grouped(totals.sum.hits), false),
            ("clients", clients, false),
            ("paths", paths, false),
            ("requests", grouped(totals.sum.requests), false),
            ("lines", grouped(totals.sum.lines), false),
        ],
        about: about(report, options),
        sections: sections::all(report, options),
        ..HtmlPage::new(format!("{sentence} {subject}"), sentence)
    }
}

/// What the page is about, for the line above the headline.
fn subject(report: &ReportModel<'_>, options: &PageOptions<'_>) -> String {
    let label = options
        .label
        .or(report.period.as_deref())
        .map(|label| format!(": {}", tables::truncated(escape(label.as_bytes()))))
        .unwrap_or_default();
    let host = report
        .log_host
        .as_deref()
        .map(|host| format!(" on {}", tables::truncated(escape(host.as_bytes()))))
        .unwrap_or_default();
    format!("probewatch report{label}{host}")
}

/// When, from what and by which version.
fn about(report: &ReportModel<'_>, options: &PageOptions<'_>) -> Vec<String> {
    let sum = &report.totals.sum;
    let mut about = Vec::new();
    match (report.totals.first_time, report.totals.last_time) {
        (Some(first), Some(last)) => about.push(format!(
            "The log begins {} and ends {}.",
            minute_with_zone(first),
            minute_with_zone(last)
        )),
        _ => about.push("No line of the log has a time.".to_owned()),
    }
    about.extend(report.probe_share());
    about.push(format!(
        "Read from {}, {} of text.",
        inputs(&report.inputs),
        size(sum.bytes)
    ));
    let by = env!("CARGO_PKG_VERSION");
    about.push(match options.made_at {
        Some(utc) => format!(
            "Made {} UTC by probewatch {by}.",
            minute(LogTime { utc, offset: 0 })
        ),
        None => format!("Made by probewatch {by}."),
    });
    if let Some(how) = report.hidden {
        about.push(format!("Clients are hidden (--anonymize {how})."));
    }
    about
}

/// The name of a single input, or the number of several.
fn inputs(inputs: &[InputSummary]) -> String {
    match inputs {
        [one] if one.path == b"-" => "standard input".to_owned(),
        [one] => tables::truncated(escape(&one.path)),
        many => counted(many.len() as u64, "input", "inputs"),
    }
}

/// The hash of an element's text in a content policy.
fn hash(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};

    use regex::Regex;

    use super::index::{IndexEntry, RunDigest, VerifiedDigest};
    use super::*;
    use crate::geoip::GeoInfo;
    use crate::log::client::Client;
    use crate::log::finding::Severity;
    use crate::report::fixture;
    use crate::report::model::{
        BlockDecision, BlockVerdict, FloodRow, NetworkRow, OffenderStats, Row, RowKey, Timeline,
        TimelineBucket,
    };
    use crate::report::novelty::ItemKind;
    use crate::report::verify::VerdictCounts;
    use crate::rules::{RuleChoice, RuleSet, load};
    use crate::tally::ErrorBound;
    use crate::text::redact::LogText;
    use plots::spark_path;

    /// The first hour of the fixture's log.
    const START: i64 = 1_793_577_600;

    fn html(report: &ReportModel<'_>, options: &PageOptions<'_>) -> String {
        let mut out = Vec::new();
        write(report, options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn timeline() -> Timeline {
        let bucket = |hour: i64, answered: u64, missing: u64| TimelineBucket {
            from: Some(START + hour * 3_600),
            to: Some(START + (hour + 1) * 3_600),
            hits: answered + missing,
            outcomes: [answered, 0, 0, 0, missing, 0, 0, 0],
        };
        let mut hours = [[0; 24]; 7];
        (hours[6][1], hours[6][2], hours[0][15]) = (311, 4, 107);
        let mut buckets = vec![
            bucket(0, 311, 0),
            bucket(1, 0, 0),
            bucket(2, 3, 101),
            bucket(3, 0, 6),
        ];
        buckets.push(TimelineBucket {
            hits: 1,
            outcomes: [0, 0, 0, 0, 0, 0, 0, 1],
            ..TimelineBucket::default()
        });
        let at = |minutes: i64| LogTime {
            utc: START + minutes * 60,
            offset: 60,
        };
        Timeline {
            buckets,
            unit: 3_600,
            answered_at: vec![at(2), at(77), at(481)],
            hours,
        }
    }

    fn geo() -> GeoInfo {
        GeoInfo {
            country: Some("DE".into()),
            city: Some("Kiel".into()),
            asn: Some(64_496),
            as_name: Some("Example Net".into()),
        }
    }

    /// The fixture with everything that a page can show.
    fn full(rules: &RuleSet) -> ReportModel<'_> {
        let mut report = fixture::report(rules);
        report.log_host = Some("web1".into());
        report.timeline = timeline();
        report.clients[0].geo = Some(Arc::new(geo()));
        let stats = OffenderStats {
            clients: 1,
            hits: 5,
            paths: 3,
            unsuccessful: 5,
            ..OffenderStats::default()
        };
        let decision = BlockDecision {
            verdict: BlockVerdict::Candidate,
            is_prober: true,
            network: None,
            network_probers: 1,
            stats,
        };
        for row in &mut report.clients {
            row.block = Some(Box::new(decision));
        }
        let network = |asn, as_name: Option<Arc<str>>, hits| NetworkRow {
            asn,
            as_name,
            countries: vec!["DE".into(), "NL".into()],
            clients: 2,
            hits,
            answered: 1,
        };
        report.networks = vec![
            network(Some(64_496), Some("Example Net".into()), 311),
            network(None, None, 111),
        ];
        report.uncertain = report.answered[..1].to_vec();
        report.approximate = Some(ErrorBound {
            pairs: 3,
            ..ErrorBound::default()
        });
        report
    }

    fn news<'a>(report: &ReportModel<'a>) -> Vec<NewItem<'a>> {
        let item = |kind, key: &str, row: &Row<'a>| NewItem {
            kind,
            key: key.to_owned(),
            severity: row.severity,
            hits: row.hits,
            first_time: row.first_time,
            sample: row.sample,
        };
        let rule = item(ItemKind::Rule, "vcs/git-config", &report.answered[0]);
        vec![
            item(
                ItemKind::Answer,
                "shop.example/.git/config",
                &report.answered[0],
            ),
            rule,
        ]
    }

    /// The page without the style and the script, and with the shapes of plots left out.
    fn structure(page: &str) -> String {
        static SHAPE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#" d="[^"]*""#).unwrap());
        static HASH: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("sha256-[A-Za-z0-9+/=]{44}").unwrap());
        let page = page
            .replace(STYLE, "STYLE")
            .replace(SCRIPT, "SCRIPT")
            .replace(env!("CARGO_PKG_VERSION"), "VERSION");
        let page = HASH.replace_all(&page, "sha256-HASH").into_owned();
        let page = SHAPE.replace_all(&page, r#" d="SHAPE""#).into_owned();
        let mut lines: Vec<&str> = Vec::new();
        let mut heat = 0;
        for line in page.lines() {
            heat += usize::from(line.starts_with("<rect class=\"l"));
            if heat <= 3 || !line.starts_with("<rect class=\"l") {
                lines.push(line);
            }
        }
        lines.join("\n")
    }

    #[test]
    fn a_page_has_all_sections() {
        let rules = fixture::rules();
        let report = full(rules);
        let (news, notes) = (news(&report), ["3 lines of it came late.".to_owned()]);
        let options = PageOptions {
            label: Some("Run 12"),
            made_at: Some(START + 90_000),
            news: Some(&news),
            notes: &notes,
            ..PageOptions::default()
        };
        insta::assert_snapshot!("full", structure(&html(&report, &options)));
    }

    #[test]
    fn a_page_without_hits_is_short() {
        let rules = fixture::rules();
        insta::assert_snapshot!(
            "empty",
            structure(&html(&fixture::empty(rules), &PageOptions::default()))
        );
    }

    #[test]
    fn tables_hold_the_first_rows_and_state_it() {
        let rules = fixture::rules();
        let report = full(rules);
        let page = html(
            &report,
            &PageOptions {
                top: Some(3),
                ..PageOptions::default()
            },
        );
        assert!(
            page.contains("These are the first 3 of 18: clients.csv (-f csv --by client) has all."),
            "clients"
        );
        assert_eq!(
            page.matches("<tr").count(),
            html(&report, &PageOptions::default())
                .matches("<tr")
                .count()
                - 55
        );
        let mut many = full(rules);
        many.paths = std::iter::repeat_n(many.paths[0].clone(), 60_000).collect();
        many.totals.paths = 60_000;
        let page = html(&many, &PageOptions::default());
        assert!(
            page.contains(
                "These are the first 1,000 of 60,000: paths.csv (-f csv --by path) has all."
            ),
            "paths"
        );
        assert!(page.len() < 1_000_000, "{} bytes", page.len());
    }

    #[test]
    fn the_policy_allows_the_style_and_the_script_of_the_page_alone() {
        let rules = fixture::rules();
        let page = html(&full(rules), &PageOptions::default());
        let between = |from: &str, to: &str| {
            page.split_once(from)
                .unwrap()
                .1
                .split_once(to)
                .unwrap()
                .0
                .to_owned()
        };
        let (style, script) = (
            between("<style>", "</style>"),
            between("<script>", "</script>"),
        );
        assert_eq!((style.as_str(), script.as_str()), (STYLE, SCRIPT));
        let policy = between(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"",
            "\"",
        );
        let expected = format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
            hash(&style),
            hash(&script)
        );
        assert_eq!(policy, expected);
        assert_eq!(
            (
                page.matches("<style").count(),
                page.matches("<script").count()
            ),
            (1, 1)
        );
    }

    #[test]
    fn hashes_are_base64_of_sha256() {
        assert_eq!(hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(
            ["", "f", "fo", "foo", "foob"].map(|text| STANDARD.encode(text)),
            ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]
        );
    }

    /// Text that a browser would act on if it were not escaped.
    const HOSTILE: [&str; 14] = [
        "</script><script>window.hit=1</script>",
        "<img src=x onerror=\"window.hit=1\">",
        "javascript:window.hit=1",
        "<svg onload=window.hit=1><animate onbegin=window.hit=1>",
        "</style><style>*{background:url(http://x.example/)}",
        "\" onmouseover=\"window.hit=1\" x=\"",
        "' autofocus onfocus='window.hit=1' x='",
        "</title><base href=//x.example><meta http-equiv=refresh content=0>",
        "<!--<script>",
        "]]><![CDATA[<x>",
        "&lt;script&gt;&#60;img src=x&#62;",
        "a\u{202e}txt.exe\u{2066}\u{200b}\u{feff}",
        "\u{1b}]0;owned\u{7}\u{1b}[2J\0\r\n",
        "{{ 7 * 7 }}{% raw %}<x-y>",
    ];

    fn leaked(text: &str) -> &'static [u8] {
        Box::leak(text.to_owned().into_bytes().into_boxed_slice())
    }

    /// Rules with this title.
    fn rules_of(title: &str) -> RuleSet {
        let folder = tempfile::tempdir().unwrap();
        let title = title
            .chars()
            .filter(|c| !c.is_control())
            .collect::<String>()
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        let rule = |name: &str| {
            format!(
                "[[rule]]\nid = 'x/{name}'\ntitle = \"{title}\"\nclass = 'exposure'\nseverity = 'high'\npaths = ['/{name}']\nmust_match = ['GET /{name}']\nmust_not_match = ['GET /']\n"
            )
        };
        let rules: String = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
            .map(rule)
            .concat();
        std::fs::write(
            folder.path().join("x.toml"),
            format!("family = 'x'\ntitle = 'x'\n{rules}"),
        )
        .unwrap();
        load(&RuleChoice {
            paths: vec![folder.path().to_owned()],
            no_builtin: true,
            ..RuleChoice::default()
        })
        .unwrap()
    }

    /// Puts a text into every field of a report that a log, a file or a database fills.
    fn hostile<'r>(rules: &'r RuleSet, text: &str) -> ReportModel<'r> {
        let (bytes, logged) = (leaked(text), LogText::new(leaked(text)));
        let shared: Arc<str> = text.into();
        let mut report = full(rules);
        (report.log_host, report.period) = (Some(text.to_owned()), Some(text.to_owned()));
        for input in &mut report.inputs {
            (input.path, input.format, input.problem) = (
                bytes.to_vec(),
                Some(Arc::clone(&shared)),
                Some(text.to_owned()),
            );
        }
        let sample = |sample: &mut crate::report::model::SampleRequest<'_>| {
            (sample.source, sample.target, sample.host, sample.user_agent) =
                (bytes, logged, Some(logged), Some(logged));
        };
        let ReportModel {
            answered,
            uncertain,
            clients,
            paths,
            rules,
            ..
        } = &mut report;
        for row in [answered, uncertain, clients, paths, rules]
            .into_iter()
            .flatten()
        {
            sample(&mut row.sample);
            row.key = match row.key {
                RowKey::Answer(..) => RowKey::Answer(Some(logged), logged, logged),
                RowKey::Client(_) => RowKey::Client(Client::Text(bytes)),
                RowKey::Path(_) => RowKey::Path(logged),
                other => other,
            };
            row.geo = Some(Arc::new(GeoInfo {
                country: Some(Arc::clone(&shared)),
                city: Some(Arc::clone(&shared)),
                asn: Some(1),
                as_name: Some(Arc::clone(&shared)),
            }));
            if let Some(answer) = &mut row.answer {
                answer.client = Some(Client::Text(bytes));
            }
        }
        for network in &mut report.networks {
            (network.as_name, network.countries) =
                (Some(Arc::clone(&shared)), vec![Arc::clone(&shared)]);
        }
        for row in &mut report.hosts {
            row.host = logged;
        }
        for campaign in &mut report.campaigns {
            campaign.sample_paths = vec![logged, logged];
            sample(&mut campaign.sample);
        }
        for FloodRow {
            client,
            path,
            sample: example,
            ..
        } in &mut report.floods
        {
            (*client, *path) = (Some(Client::Text(bytes)), logged);
            sample(example);
        }
        for site in &mut report.soft_404 {
            site.site = logged;
        }
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        for app in &mut report.apps {
            (app.app, app.title, app.site) = (text, text, Some(logged));
        }
        for entry in &mut report.allowed {
            (entry.file, entry.reason, entry.requests) = (text, text, 7);
        }
        report
    }

    /// Checks that a page has only elements and attributes of the template.
    fn assert_inert(page: &str) {
        const ELEMENTS: &str = "a b body button caption dd details div dl dt figcaption figure footer h1 h2 head header html input label li link main \
            meta nav p path rect script section span style summary svg table tbody td th thead title tr ul";
        static TAG: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"<(/?)([^\s>/]*)([^>]*)>").unwrap());
        static LINK: LazyLock<Regex> =
            LazyLock::new(|| Regex::new("^(#[a-z0-9-]+|[0-9TZ-]+/report.html)$").unwrap());
        static ATTRIBUTE: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#"\s+([^\s=/]+)(?:="([^"]*)")?"#).unwrap());
        let page = page.replace(STYLE, "").replace(SCRIPT, "");
        assert!(
            !page.contains(|c: char| c.is_control() && c != '\n'),
            "a control character"
        );
        assert!(!page.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{feff}']));
        for tag in TAG.captures_iter(&page) {
            if &tag[2] == "!DOCTYPE" {
                continue;
            }
            assert!(
                ELEMENTS.split_whitespace().any(|name| name == &tag[2]),
                "{}",
                &tag[0]
            );
            for attribute in ATTRIBUTE.captures_iter(&tag[3]) {
                let (name, value) = (
                    &attribute[1],
                    attribute.get(2).map_or("", |value| value.as_str()),
                );
                assert!(
                    !name.starts_with("on")
                        && !["style", "src", "srcset", "action", "xlink:href"].contains(&name),
                    "{}",
                    &tag[0]
                );
                if name == "href" {
                    assert!(LINK.is_match(value), "{value}");
                }
            }
        }
        assert!(
            !TAG.replace_all(&page, "").contains(['<', '>', '"']),
            "text that is not escaped"
        );
    }

    #[test]
    fn hostile_text_is_text_in_every_field() {
        for text in HOSTILE {
            let rules = rules_of(text);
            let report = hostile(&rules, text);
            let mut news = news(&report);
            for item in &mut news {
                (item.key, item.sample) = (
                    escape(text.as_bytes()).into_owned(),
                    report.answered[0].sample,
                );
            }
            let notes = [text.to_owned()];
            let page = html(
                &report,
                &PageOptions {
                    label: Some(text),
                    news: Some(&news),
                    notes: &notes,
                    ..PageOptions::default()
                },
            );
            assert_inert(&page);
            let escaped =
                askama::filters::escape(LogText::new(text.as_bytes()), askama::filters::Html)
                    .unwrap()
                    .to_string();
            assert!(page.matches(&escaped).count() > 40, "{escaped}");
            let digest = RunDigest::from_page(page.as_bytes()).unwrap();
            let saved =
                serde_json::json!({ "time": text, "totals": VerdictCounts::default() }).to_string();
            let verified = VerifiedDigest::from_json(saved.as_bytes());
            assert!(verified.is_some(), "{saved}");
            let entry = IndexEntry {
                folder: FolderLink::new("000012-20261121T000500Z").unwrap(),
                digest: Some(digest),
                verified,
            };
            let mut index = Vec::new();
            index::write(&[entry], Some(text), &mut index).unwrap();
            assert_inert(&String::from_utf8(index).unwrap());
        }
    }

    #[test]
    fn a_long_path_is_cut() {
        let rules = fixture::rules();
        let path = format!("/{}<b>", "x".repeat(10_000));
        let page = html(&hostile(rules, &path), &PageOptions::default());
        assert_inert(&page);
        assert!(
            page.contains(&format!("/{}…", "x".repeat(299))) && !page.contains(&"x".repeat(300))
        );
    }

    #[test]
    fn hits_without_a_time_have_no_plot() {
        let rules = fixture::rules();
        let mut report = full(rules);
        let none = TimelineBucket {
            hits: 422,
            outcomes: [422, 0, 0, 0, 0, 0, 0, 0],
            ..TimelineBucket::default()
        };
        report.timeline = Timeline {
            buckets: vec![none],
            ..Timeline::default()
        };
        let page = html(&report, &PageOptions::default());
        assert!(!page.contains("id=\"timeline\"") && !page.contains("id=\"hours\""));
        report.timeline = Timeline {
            unit: 60,
            ..timeline()
        };
        assert!(
            html(&report, &PageOptions::default())
                .contains("1 hit is without a time: not in the plot.")
        );
    }

    #[test]
    fn an_index_has_a_row_for_each_report() {
        let rules = fixture::rules();
        let report = full(rules);
        let page = html(
            &report,
            &PageOptions {
                label: Some("Run 12"),
                ..PageOptions::default()
            },
        );
        assert!(
            page.find("probewatch-digest").is_some_and(|at| at < 2_000),
            "within the first bytes"
        );
        let digest = RunDigest::from_page(page.as_bytes());
        assert_eq!(
            digest,
            Some(RunDigest::new(
                &report,
                &PageOptions {
                    label: Some("Run 12"),
                    ..PageOptions::default()
                }
            ))
        );
        assert_eq!(
            RunDigest::from_page(
                b"<meta name=\"probewatch-digest\" content=\"{&#34;hits&#34;:1}\">"
            ),
            None
        );
        let entry = |name, digest, verified| IndexEntry {
            folder: FolderLink::new(name).unwrap(),
            digest,
            verified,
        };
        let written = |verified| {
            let mut index = Vec::new();
            let entries = [
                entry("000012-20261121T000500Z", digest.clone(), verified),
                entry("2026-11-20", None, None),
            ];
            index::write(&entries, Some("web1"), &mut index).unwrap();
            String::from_utf8(index).unwrap()
        };
        let index = written(None);
        assert_inert(&index);
        insta::assert_snapshot!("index", structure(&index));
        assert!(!index.contains("verified"));
        let counts = VerdictCounts {
            still_given: 1,
            refused: 1_200,
            ..VerdictCounts::default()
        };
        let saved = serde_json::json!({ "schema_version": 1, "time": "2026-11-22T10:00:00Z", "totals": counts }).to_string();
        let index = written(VerifiedDigest::from_json(saved.as_bytes()));
        assert!(
            index.contains("verified")
                && index.contains("2026-11-22: 1 still given, 1,200 refused"),
            "{index}"
        );
        assert_eq!(
            VerifiedDigest::from_json(&saved.as_bytes()[..saved.len() - 1]),
            None
        );
    }

    #[test]
    fn only_names_of_report_folders_are_links() {
        for name in [
            "",
            "..",
            "/etc",
            "javascript:alert(1)",
            "a/b",
            "latest",
            "2026-11-20/x",
            "2026-11-20\n",
        ] {
            assert_eq!(FolderLink::new(name), None, "{name}");
        }
        assert_eq!(
            FolderLink::new("2026-11-20T13").unwrap().href(),
            "2026-11-20T13/report.html"
        );
    }

    #[test]
    fn sparklines_fit_their_width() {
        assert_eq!(spark_path(&[0, 0]), None);
        assert_eq!(
            spark_path(&[4, 0, 2]).unwrap(),
            "M0 20h39.5v-20h-39.5zM80 20h39.5v-10h-39.5z"
        );
        let mut long = timeline();
        long.buckets = (0..400)
            .map(|hour| TimelineBucket {
                from: Some(hour * 3_600),
                to: None,
                hits: 1,
                outcomes: [0; 8],
            })
            .collect();
        assert_eq!(plots::spark(&long), vec![10; 40]);
        assert_eq!(Severity::ALL.len(), 5, "a class of the style for each");
        assert_eq!(
            [0, 1, 3, 9, 11, 105, 1_125, 5_000].map(plots::round_up),
            [2, 2, 4, 10, 12, 120, 1_200, 5_000]
        );
    }
}
