//! Hits of a busy hour at a small site, for the tests of the live view.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::{Dashboard, LogRow, TuiCommand};
use crate::alerting::{Alert, AlertKind, AlertSample};
use crate::analysis::model::ReportedHit;
use crate::client::{Client, ClientKey};
use crate::finding::{RuleId, Severity};
use crate::log_entry::Outcome;
use crate::rules::{RuleChoice, RuleSet, load};
use crate::soft_404::Answer;
use crate::time::LogTime;

/// Sorted by id, like every rule set.
const RULES: [(&str, &str, &str, &str); 6] = [
    ("cve/apache-traversal", "lfi", "critical", "exposes"),
    ("dotfiles/env", "config-exposure", "high", "exposes"),
    ("php/eval-stdin", "php-eval", "high", "exposes"),
    ("sqli/union-select", "sqli", "medium", "inconclusive"),
    ("vcs/git-config", "vcs-exposure", "high", "exposes"),
    ("wordpress/login", "wordpress", "low", "inconclusive"),
];

/// The rules. What they match does not matter here.
pub(super) fn rules() -> &'static RuleSet {
    static SET: LazyLock<RuleSet> = LazyLock::new(|| {
        let folder = tempfile::tempdir().unwrap();
        for (id, class, severity, answer) in RULES {
            let (family, name) = id.split_once('/').unwrap();
            let text = format!(
                "family = '{family}'\ntitle = '{family}'\n[[rule]]\nid = '{id}'\ntitle = '{name}'\nclass = '{class}'\n\
                 severity = '{severity}'\nanswer = '{answer}'\npaths = ['/{name}']\nmust_match = ['GET /{name}']\nmust_not_match = ['GET /']\n"
            );
            std::fs::write(folder.path().join(format!("{family}.toml")), text).unwrap();
        }
        load(&RuleChoice { paths: vec![folder.path().to_owned()], no_builtin: true, ..RuleChoice::default() }).unwrap()
    });
    &SET
}

/// Client, target, path, rules, status.
pub(super) type ProbeFixture = (&'static str, &'static str, &'static str, &'static [RuleId], u16);

/// Hits that are repeated in this order.
pub(super) const PROBES: [ProbeFixture; 12] = [
    ("203.0.113.7", "/.env", "/.env", &[RuleId(1)], 404),
    ("198.51.100.77", "/wp-login.php", "/wp-login.php", &[RuleId(5)], 200),
    ("203.0.113.7", "/%2egit/config", "/.git/config", &[RuleId(4)], 200),
    ("192.0.2.44", "/cgi-bin/.%2e/.%2e/.%2e/.%2e/bin/sh", "/cgi-bin/../../../../bin/sh", &[RuleId(0)], 400),
    ("2001:db8:85a3::8a2e:370:7334", "/backup/.env?token=s3cr3t", "/backup/.env", &[RuleId(1)], 200),
    (
        "203.0.113.9",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        &[RuleId(2)],
        404,
    ),
    ("192.0.2.99", "/index.php?id=1%20UNION%20SELECT%20user,password%20FROM%20users--", "/index.php", &[RuleId(3)], 200),
    ("198.51.100.77", "/wp-login.php", "/wp-login.php", &[RuleId(5)], 301),
    ("scanner.example.net", "/日本語/.env", "/日本語/.env", &[RuleId(1)], 403),
    ("203.0.113.7", "/.env.bak", "/.env.bak", &[RuleId(1)], 404),
    ("203.0.113.200", "\x16\x03\x01", "", &[RuleId(3)], 400),
    ("\x1b[2Jpwned", "/\u{202e}gnp.env\x1b]0;owned\x07", "/\u{202e}gnp.env\x1b]0;owned\x07", &[RuleId(1), RuleId(4)], 404),
];

/// The `n`th hit.
pub(super) fn hit(n: u64, probe: &ProbeFixture) -> ReportedHit<'static> {
    let (client, target, path, rules, status) = *probe;
    let outcome = Outcome::from_status(Some(status));
    let severity = rules.iter().map(|rule| rules_of(*rule).effective_severity(outcome == Outcome::Answered)).max().unwrap();
    ReportedHit {
        generation: 0x00c0_ffee,
        offset: 211 * n,
        source: b"/var/log/nginx/access.log",
        line: n + 1,
        time: Some(LogTime { utc: 1_793_577_600 + n.cast_signed(), offset: 60 }),
        client: Client::parse(client.as_bytes()),
        method: b"GET",
        target: target.as_bytes(),
        path: path.as_bytes(),
        decoded: (target == "/%2egit/config").then_some(b"/.git/config"),
        protocol: b"HTTP/1.1",
        status: Some(status),
        bytes: Some(291),
        outcome,
        answer: (outcome == Outcome::Answered && rules.iter().any(|rule| rules_of(*rule).exposes())).then_some(Answer::Distinct),
        severity,
        rules,
        host: Some(b"Shop.example"),
        referer: None,
        user_agent: Some(b"curl/8.5.0\x1b[31m"),
        context: None,
        geo: None,
    }
}

fn rules_of(rule: RuleId) -> &'static crate::rules::Rule {
    rules().rule(rule)
}

/// One alert of each kind.
pub(super) fn alerts() -> Vec<Alert> {
    let client = |text: &str| Some(ClientKey::from(&Client::parse(text.as_bytes())));
    let sample =
        |target: &[u8]| AlertSample { target: target.to_vec(), method: b"GET".to_vec(), status: Some(200), ..AlertSample::default() };
    let base = Alert {
        kind: AlertKind::Probing,
        severity: Severity::Medium,
        first_time: Some(LogTime { utc: 1_793_577_600, offset: 60 }),
        last_time: Some(LogTime { utc: 1_793_577_642, offset: 60 }),
        client: client("203.0.113.7"),
        path: None,
        hits: 24,
        clients: 1,
        paths: 20,
        rules: vec![RuleId(1)],
        sample: sample(b"/.env"),
    };
    vec![
        base.clone(),
        Alert {
            kind: AlertKind::Threshold(RuleId(5)),
            severity: Severity::High,
            hits: 40,
            client: client("198.51.100.77"),
            ..base.clone()
        },
        Alert {
            kind: AlertKind::Campaign,
            severity: Severity::High,
            client: None,
            clients: 12,
            paths: 3,
            path: Some(b"/backup/\x1b[1m.env".to_vec()),
            last_time: Some(LogTime { utc: 1_793_578_000, offset: 60 }),
            ..base.clone()
        },
        Alert { kind: AlertKind::Answered, severity: Severity::Critical, sample: sample(b"/.git/config?token=s3cr3t"), ..base },
    ]
}

/// A dashboard, its clock, and a test screen.
pub(super) struct TestDashboard {
    pub(super) dashboard: Dashboard,
    pub(super) now: Instant,
    terminal: Terminal<TestBackend>,
    sent: u64,
}

impl TestDashboard {
    pub(super) fn new(width: u16, height: u16) -> Self {
        let now = Instant::now();
        let mut dashboard = Dashboard::new(now, true);
        dashboard.logs(vec![LogRow { path: b"/var/log/nginx/access.log".to_vec(), lag: 0, lines: 0 }]);
        Self { dashboard, now, terminal: Terminal::new(TestBackend::new(width, height)).unwrap(), sent: 0 }
    }

    /// After a busy hour.
    pub(super) fn busy(width: u16, height: u16) -> Self {
        let mut test = Self::new(width, height);
        for minute in 0..70 {
            test.pass(60);
            test.dashboard.requests(test.now, 600 + 40 * (minute % 13));
            test.probe(minute % 5);
        }
        test.probe(23);
        test.dashboard.requests(test.now, 1_234);
        test.pass(2);
        for alert in alerts() {
            test.dashboard.alert(&alert, rules());
        }
        test.dashboard.notice("access.log was rotated");
        let log = |path: &str, lag| LogRow { path: path.into(), lag, lines: 54_321 };
        test.dashboard.logs(vec![log("/var/log/nginx/access.log", 0), log("/var/log/nginx/shop\x1b.log", 1_234_567)]);
        test
    }

    pub(super) fn pass(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
        self.dashboard.tick(self.now);
    }

    /// The next hits.
    pub(super) fn probe(&mut self, hits: u64) {
        for _ in 0..hits {
            let probe = &PROBES[(self.sent % PROBES.len() as u64) as usize];
            self.dashboard.hit(self.now, &hit(self.sent, probe), rules());
            self.sent += 1;
        }
    }

    pub(super) fn press(&mut self, code: KeyCode) -> Option<TuiCommand> {
        self.dashboard.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    pub(super) fn write(&mut self, text: &str) {
        for c in text.chars() {
            assert_eq!(self.press(KeyCode::Char(c)), None);
        }
    }

    /// Draws, and returns the backend.
    pub(super) fn backend(&mut self) -> &TestBackend {
        self.terminal.draw(|frame| self.dashboard.draw(frame)).unwrap();
        self.terminal.backend()
    }

    /// Draws, and returns the text of the screen.
    pub(super) fn screen(&mut self) -> String {
        self.backend().to_string()
    }

    pub(super) fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
    }
}
