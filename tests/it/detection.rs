//! Labelled requests of our own, in `tests/cases/detection/*.tsv`: how many attacks are detected,
//! by class and by encoding, and which normal requests are flagged.
//!
//! There is one file per class; `ordinary.tsv` has requests that look bad but are not. A line has
//! the trick, the request as logged, and optionally `status=`, `referer=` and `agent=`, separated
//! by tabs. Each request comes from its own address, so that nothing is detected because of other
//! requests. The table is always printed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::harness::Harness;

/// The least percentage of attacks of a class that must be detected. Classes not listed here:
/// [`OTHERS`].
const GOALS: [(&str, f64); 15] = [
    ("config-exposure", 98.0),
    ("vcs-exposure", 98.0),
    ("php-eval", 98.0),
    ("iot", 98.0),
    ("java", 98.0),
    ("vpn", 98.0),
    ("phpinfo", 98.0),
    ("wordpress", 97.0),
    ("proxy", 97.0),
    ("non-http", 97.0),
    ("sqli", 99.0),
    ("xss", 99.0),
    ("lfi", 99.0),
    ("rce", 99.0),
    ("webshell", 88.0),
];
const OTHERS: f64 = 90.0;
/// Of all attacks, and of those with each trick.
const OVERALL: f64 = 92.0;

/// The tricks an attack may be written with: `plain` is none; `raw` is a request that is not HTTP,
/// as the server logs it; `nginx`, `apache` and `json` are the escapes of the log writer.
pub(crate) const TRICKS: [&str; 28] = [
    "plain",
    "raw",
    "percent",
    "double-percent",
    "iis-u",
    "overlong",
    "fullwidth",
    "case",
    "slashes",
    "self-dir",
    "params",
    "nul",
    "control",
    "plus",
    "comment",
    "entities",
    "base64",
    "backslash",
    "absolute",
    "shell-quotes",
    "globs",
    "js",
    "char",
    "operators",
    "log4j",
    "nginx",
    "apache",
    "json",
];

const ORDINARY: &str = "ordinary";

/// A request with its label.
pub(crate) struct Labelled {
    class: String,
    trick: String,
    /// As in the file, without the trick.
    text: String,
    pub(crate) request: String,
    status: String,
    pub(crate) referer: String,
    pub(crate) agent: String,
}

impl Labelled {
    pub(crate) fn of_line(class: &str, line: &str) -> Self {
        let (trick, text) = line
            .split_once('\t')
            .unwrap_or_else(|| panic!("{class}: a line without a tab: {line}"));
        let mut columns = text.split('\t');
        let request = columns.next().unwrap();
        let is_whole = trick == "raw" || class == "non-http" || request.contains(" HTTP/");
        let mut labelled = Self {
            class: class.to_owned(),
            trick: trick.to_owned(),
            text: text.to_owned(),
            request: if is_whole {
                request.to_owned()
            } else {
                format!("{request} HTTP/1.1")
            },
            status: if class == ORDINARY { "200" } else { "404" }.to_owned(),
            referer: "-".to_owned(),
            agent: "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
                .to_owned(),
        };
        for column in columns {
            let (name, value) = column.split_once('=').unwrap_or_default();
            value.clone_into(match name {
                "status" => &mut labelled.status,
                "referer" => &mut labelled.referer,
                "agent" => &mut labelled.agent,
                _ => panic!("{class}: neither status nor referer nor agent: {line}"),
            });
        }
        labelled
    }

    pub(crate) fn log_line(&self, number: usize) -> String {
        let Self {
            request,
            status,
            referer,
            agent,
            ..
        } = self;
        format!(
            "2001:db8::{number:x} - - [02/Nov/2026:08:01:00 +0000] \"{request}\" {status} 512 \"{referer}\" \"{agent}\"\n"
        )
    }
}

/// All labelled requests: the attacks and the normal ones.
pub(crate) fn labelled() -> (Vec<Labelled>, Vec<Labelled>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/detection");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let of_file = |path: &Path| {
        let class = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        text.lines()
            .map(|line| Labelled::of_line(&class, line))
            .collect::<Vec<_>>()
    };
    paths
        .iter()
        .flat_map(|path| of_file(path))
        .partition(|labelled| labelled.class != ORDINARY)
}

/// The rules that match each request, all in one log.
fn rules_of(requests: &[Labelled]) -> Vec<Option<String>> {
    let harness = Harness::new();
    let text: String = requests
        .iter()
        .zip(1..)
        .map(|(labelled, number)| labelled.log_line(number))
        .collect();
    harness.file("access.log", text);
    let run = harness.run(["scan", "-f", "ndjson", "access.log"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let mut rules = vec![None; requests.len()];
    for hit in run.objects() {
        rules[hit["line"].as_u64().unwrap() as usize - 1] = Some(hit["rules"].to_string());
    }
    rules
}

/// How many there are, and how many of them are flagged.
#[derive(Default)]
struct Share {
    flagged: u32,
    all: u32,
}

impl Share {
    fn of<'a>(flagged: impl Iterator<Item = &'a Option<String>>) -> Self {
        flagged.fold(Self::default(), |share, rules| share.with(rules.is_some()))
    }

    fn with(self, flagged: bool) -> Self {
        Self {
            flagged: self.flagged + u32::from(flagged),
            all: self.all + 1,
        }
    }

    fn percent(&self) -> f64 {
        100.0 * f64::from(self.flagged) / f64::from(self.all)
    }
}

/// The shares by one of the labels.
fn shares<'a>(
    attacks: &'a [Labelled],
    rules: &[Option<String>],
    label: impl Fn(&'a Labelled) -> &'a str,
) -> BTreeMap<&'a str, Share> {
    let mut shares: BTreeMap<_, Share> = BTreeMap::new();
    for (attack, rules) in attacks.iter().zip(rules) {
        let share = shares.entry(label(attack)).or_default();
        *share = std::mem::take(share).with(rules.is_some());
    }
    shares
}

/// A row of the table for each share, and the names of those that miss their goal.
fn rows(
    set: &str,
    shares: &BTreeMap<&str, Share>,
    goal: impl Fn(&str) -> f64,
    table: &mut String,
) -> Vec<String> {
    let mut missed = Vec::new();
    for (name, share) in shares {
        let (percent, goal) = (share.percent(), goal(name));
        let met = if percent >= goal { "met" } else { "MISSED" };
        let _ = writeln!(
            table,
            "{met:6} {set:8} {name:16} n {:5}  found {percent:7.2} %  goal {goal}",
            share.all
        );
        if percent < goal {
            missed.push((*name).to_owned());
        }
    }
    missed
}

/// A line for each request, with the rules that flagged it.
fn lines<'a>(requests: impl Iterator<Item = (&'a Labelled, &'a Option<String>)>) -> String {
    requests.fold(String::new(), |mut text, (labelled, rules)| {
        let Labelled {
            class,
            trick,
            text: request,
            ..
        } = labelled;
        let _ = writeln!(
            text,
            "{class}\t{trick}\t{request}\t{}",
            rules.as_deref().unwrap_or_default()
        );
        text
    })
}

#[test]
fn attacks_are_detected_and_normal_requests_are_not() {
    let (attacks, ordinary) = labelled();
    assert!(
        attacks.len() >= 600 && ordinary.len() >= 150,
        "{} attacks, {} ordinary",
        attacks.len(),
        ordinary.len()
    );
    let (found, flagged) = (rules_of(&attacks), rules_of(&ordinary));

    let (all, none) = (Share::of(found.iter()), Share::of(flagged.iter()));
    let mut table = format!(
        "attacks  n {:5}  found {:7.2} %  goal {OVERALL}\n",
        all.all,
        all.percent()
    );
    let _ = writeln!(
        table,
        "ordinary n {:5}  flagged {:5.2} %  goal 0",
        none.all,
        none.percent()
    );
    let goal_of = |class: &str| {
        GOALS
            .iter()
            .find(|(name, _)| *name == class)
            .map_or(OTHERS, |(_, goal)| *goal)
    };
    let classes = rows(
        "class",
        &shares(&attacks, &found, |attack| &attack.class),
        goal_of,
        &mut table,
    );
    let tricks = rows(
        "disguise",
        &shares(&attacks, &found, |attack| &attack.trick),
        |_| OVERALL,
        &mut table,
    );
    // Written directly, because the test harness hides the output of tests that pass.
    let _ = std::io::stderr().write_all(table.as_bytes());

    let missed = lines(
        attacks
            .iter()
            .zip(&found)
            .filter(|(_, rules)| rules.is_none()),
    );
    let wrong = lines(
        ordinary
            .iter()
            .zip(&flagged)
            .filter(|(_, rules)| rules.is_some()),
    );
    let met =
        classes.is_empty() && tricks.is_empty() && all.percent() >= OVERALL && none.flagged == 0;
    assert!(
        met,
        "below the goal: {classes:?} {tricks:?}\nmissed:\n{missed}\nflagged though ordinary:\n{wrong}"
    );
}

#[test]
fn labels_are_consistent() {
    let (attacks, ordinary) = labelled();
    let mut texts: Vec<_> = attacks
        .iter()
        .chain(&ordinary)
        .map(|labelled| &labelled.text)
        .collect();
    texts.sort();
    let twice: Vec<_> = texts.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twice.is_empty(), "labelled twice: {twice:?}");
    let unknown: Vec<_> = attacks
        .iter()
        .map(|attack| &attack.trick)
        .filter(|trick| !TRICKS.contains(&trick.as_str()))
        .collect();
    assert!(unknown.is_empty(), "no such trick: {unknown:?}");
    let idle: Vec<_> = TRICKS
        .iter()
        .filter(|trick| !attacks.iter().any(|attack| attack.trick == **trick))
        .collect();
    assert!(
        idle.is_empty(),
        "a trick that no attack is written with: {idle:?}"
    );
}
