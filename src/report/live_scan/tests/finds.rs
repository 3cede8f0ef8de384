//! Which answers become finds, when, and which are withdrawn, on several kinds of sites.

use std::convert::Infallible;
use std::path::Path;
use std::sync::LazyLock;

use crate::engine::ScanOptions;
use crate::formats::Formats;
use crate::input::find::InputOrigin;
use crate::input::read::Chunk;
use crate::judge::report_input::ReportFilter;
use crate::log::finding::Severity;
use crate::report::live_scan::*;
use crate::rules::{RuleChoice, RuleSet, load};

static RULES: LazyLock<RuleSet> = LazyLock::new(|| load(&RuleChoice::default()).expect("rules"));
static FORMATS: LazyLock<Formats> = LazyLock::new(|| Formats::builtin().expect("formats"));

/// A minute of the log.
const MINUTE: i64 = 60;

/// A log that is followed, its clock, and the paths of the finds so far.
struct FollowedSite<'a> {
    stream: LiveScan<'a>,
    clock: Duration,
    read: (u64, u64),
    finds: Vec<String>,
    withdrawn: Vec<String>,
}

impl<'a> FollowedSite<'a> {
    fn new(scan_options: &'a ScanOptions) -> Self {
        let job = ScanJob {
            rules: &RULES,
            scan_options,
            formats: &FORMATS,
            prefix: None,
        };
        let filter = ReportFilter {
            min_severity: Severity::Low,
            outcomes: &[],
            apps: &[],
        };
        let stream = LiveScan::new(job, filter, LiveState::default());
        Self {
            stream,
            clock: Duration::ZERO,
            read: (0, 0),
            finds: Vec::new(),
            withdrawn: Vec::new(),
        }
    }

    /// Reads one request: its time in seconds, path, status and size.
    fn get(&mut self, seconds: i64, path: &str, status: u16, bytes: u64) {
        self.get_on("-", seconds, path, status, bytes);
    }

    /// Reads a request on a virtual host.
    fn get_on(&mut self, host: &str, seconds: i64, path: &str, status: u16, bytes: u64) {
        let time = LogTime {
            utc: 1_793_600_000 + seconds,
            offset: 0,
        }
        .clf()
        .expect("a year of four digits");
        let (time, client) = (String::from_utf8_lossy(&time), self.read.1 % 250);
        let host = if host == "-" {
            String::new()
        } else {
            format!("{host}:80 ")
        };
        let line = format!(
            "{host}198.51.100.{client} - - [{time}] \"GET {path} HTTP/1.1\" {status} {bytes} \"-\" \"Mozilla/5.0\"\n"
        );
        let chunk = Chunk {
            offset: self.read.0,
            body: Body::Lines(line.as_bytes()),
        };
        let path = Path::new("access.log");
        let line_chunk = LineChunk {
            log: 1,
            generation: 7,
            path,
            origin: InputOrigin::Name,
            fresh: true,
            lines_before: self.read.1,
            chunk,
        };
        let Self {
            stream,
            finds,
            withdrawn,
            ..
        } = self;
        let Ok(_) = stream.process(&line_chunk, self.clock, &mut |live: &LiveHit<'_>| {
            note(live, finds, withdrawn);
            Ok::<(), Infallible>(())
        });
        self.read = (self.read.0 + line.len() as u64, self.read.1 + 1);
    }

    /// What a scanner asks for where nothing is.
    fn scan(&mut self, seconds: i64, status: u16, bytes: impl Fn(usize) -> u64) {
        const PATHS: [&str; 12] = [
            "/.svn/entries",
            "/.aws/credentials",
            "/.htpasswd",
            "/c99.php",
            "/phpinfo.php",
            "/wp-config.php.bak",
            "/dump.sql",
            "/site.tar.gz",
            "/actuator/env",
            "/solr/admin/info/system",
            "/server-status",
            "/id_rsa",
        ];
        for ((n, path), time) in PATHS.into_iter().enumerate().zip(seconds..) {
            self.get(time, path, status, bytes(n));
        }
    }

    /// The clock advances, and no line arrives.
    fn wait(&mut self, seconds: u64) {
        self.clock += Duration::from_secs(seconds);
        let Self {
            stream,
            finds,
            withdrawn,
            ..
        } = self;
        let Ok(()) = stream.regrade_all(self.clock, &mut |live: &LiveHit<'_>| {
            note(live, finds, withdrawn);
            Ok::<(), Infallible>(())
        });
    }

    /// The run ends.
    fn end(&mut self) {
        let Self {
            stream,
            finds,
            withdrawn,
            ..
        } = self;
        let Ok(()) = stream.settle_all(&mut |live: &LiveHit<'_>| {
            note(live, finds, withdrawn);
            Ok::<(), Infallible>(())
        });
    }
}

fn note(live: &LiveHit<'_>, finds: &mut Vec<String>, withdrawn: &mut Vec<String>) {
    let path = || live.hit.path.to_string();
    match live.change {
        Some(AnswerEvent::Settled) => finds.push(path()),
        Some(AnswerEvent::Withdrawn) => withdrawn.push(path()),
        Some(AnswerEvent::Regraded) | None => {}
    }
}

#[test]
fn a_single_answer_is_a_find_within_a_minute_of_the_log_or_of_the_clock() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    site.get(0, "/.env", 200, 412);
    assert_eq!(
        site.finds, [""; 0],
        "the next requests may show that it is none"
    );
    site.wait(29);
    assert_eq!(site.finds, [""; 0]);
    site.wait(30);
    assert_eq!(site.finds, ["/.env"]);
    let mut site = FollowedSite::new(&scan_options);
    site.get(0, "/.env", 200, 412);
    site.get(MINUTE, "/about", 200, 5_000);
    assert_eq!(site.finds, ["/.env"]);
    site.wait(1_000);
    site.end();
    assert_eq!(site.finds, ["/.env"], "once");
}

#[test]
fn what_waits_is_settled_at_the_end() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    site.get(0, "/.env", 200, 412);
    site.get(0, "/backup.zip", 200, 40_000);
    site.end();
    assert_eq!(site.finds, ["/.env", "/backup.zip"]);
}

/// Nothing is used up by the first of them.
#[test]
fn three_answers_of_a_fresh_log_are_finds_once_it_refuses() {
    let scan_options = ScanOptions::default();
    for pause in [0, 5, 5 * MINUTE] {
        let mut site = FollowedSite::new(&scan_options);
        let paths = [
            ("/.git/config", 263),
            ("/.env", 412),
            ("/backup.zip", 302_122),
        ];
        for (n, (path, bytes)) in (0..).zip(paths) {
            site.get(n * pause, path, 200, bytes);
        }
        for n in 0..40 {
            site.get((3 + n) * pause.max(1), &format!("/.env.{n}"), 404, 153);
            site.get((3 + n) * pause.max(1), &format!("/old{n}.zip"), 404, 153);
        }
        let mut finds = site.finds.clone();
        finds.sort();
        assert_eq!(finds, ["/.env", "/.git/config", "/backup.zip"], "{pause}");
        assert_eq!(site.withdrawn, [""; 0]);
    }
}

#[test]
fn a_leak_of_a_soft_404_site_is_a_find_at_once_however_late() {
    let scan_options = ScanOptions::default();
    for size in [|_: usize| 948, |n: usize| 2_100 + (n * 7 % 13) as u64] {
        let mut site = FollowedSite::new(&scan_options);
        // The first answer is a false find.
        site.get(0, "/.env.bak", 200, size(3));
        site.wait(30);
        for hour in 1..4 {
            site.scan(hour * 60 * MINUTE, 200, size);
        }
        assert_eq!(
            (&site.finds[..], &site.withdrawn[..]),
            (&["/.env.bak".to_owned()][..], &["/.env.bak".to_owned()][..])
        );
        site.get(4 * 60 * MINUTE, "/.git/config", 200, 41_263);
        assert_eq!(site.finds[1..], ["/.git/config"]);
        site.end();
        assert_eq!((site.finds.len(), site.withdrawn.len()), (2, 1));
    }
}

/// Answers of varying size are distinct until the site is known: only the first of them is a find.
#[test]
fn a_site_that_answered_before_waits_for_a_refusal() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    for (n, (path, bytes)) in (0..).zip([
        ("/.env", 1_000),
        ("/.git/config", 1_700),
        ("/.htpasswd", 2_400),
    ]) {
        site.get(n * 10 * MINUTE, path, 200, bytes);
        site.wait(60);
    }
    assert_eq!(site.finds, ["/.env"]);
    site.get(40 * MINUTE, "/style.css", 200, 5);
    assert_eq!(site.finds, ["/.env"], "an ordinary request shows nothing");
    site.get(50 * MINUTE, "/.npmrc", 404, 153);
    assert_eq!(site.finds, ["/.env", "/.git/config", "/.htpasswd"]);
}

#[test]
fn a_later_answer_is_a_find_after_a_false_one() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    // A single-page application is replaced by a site that refuses.
    site.get(0, "/.env.bak", 200, 948);
    site.wait(30);
    site.scan(MINUTE, 200, |_| 948);
    assert_eq!(site.withdrawn, ["/.env.bak"]);
    for hour in 1..6 {
        site.scan(hour * 60 * MINUTE, 404, |_| 153);
    }
    site.get(7 * 60 * MINUTE, "/.env", 200, 412);
    site.get(7 * 60 * MINUTE + 1, "/.env.local", 404, 153);
    site.get(7 * 60 * MINUTE + 40, "/", 200, 948);
    assert_eq!(site.finds, ["/.env.bak", "/.env"]);
}

#[test]
fn a_deploy_of_a_site_that_answers_anything_raises_one_find() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    for hour in 0..3 {
        site.scan(hour * 60 * MINUTE, 404, |_| 153);
    }
    for hour in 3..6 {
        site.scan(hour * 60 * MINUTE, 200, |_| 948);
    }
    site.end();
    assert!(
        site.finds.len() <= 1 && site.withdrawn == site.finds,
        "{:?} {:?}",
        site.finds,
        site.withdrawn
    );
}

#[test]
fn maintenance_is_no_evidence_against_a_leak() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    site.scan(0, 503, |_| 1_200);
    site.scan(60 * MINUTE, 404, |_| 153);
    site.get(90 * MINUTE, "/.env", 200, 412);
    site.scan(91 * MINUTE, 503, |_| 1_200);
    assert_eq!(
        (&site.finds[..], site.withdrawn.len()),
        (&["/.env".to_owned()][..], 0)
    );
}

#[test]
fn sites_of_one_log_do_not_affect_each_other() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    for n in 0..12 {
        site.get_on("app.example", n, &format!("/.env.{n}"), 200, 948);
        site.get_on("shop.example", n, &format!("/.env.{n}"), 404, 153);
    }
    site.get_on("shop.example", MINUTE, "/.git/config", 200, 263);
    site.get_on("shop.example", 2 * MINUTE, "/.htpasswd", 404, 153);
    site.get_on("app.example", 2 * MINUTE, "/.git/config", 200, 948);
    site.end();
    assert_eq!(site.finds, ["/.git/config"]);
}

/// A line that is too long to be held is graded once.
#[test]
fn an_answer_that_cannot_be_held_is_a_find_at_once() {
    let scan_options = ScanOptions::default();
    let mut site = FollowedSite::new(&scan_options);
    site.get(0, &format!("/.env?{}", "x".repeat(3_000)), 200, 412);
    assert_eq!(site.finds, ["/.env"]);
}
