//! Snapshots of the screen at three sizes and in every state, and that no size, key or event
//! panics.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::dashboard::{ALERTS, HITS, LOGS};
use super::top::KEPT_NAMES;
use super::view::Panel;
use super::{Dashboard, LogRow, TerminalInput, TuiCommand};
use crate::alerting::{Alert, AlertKind, AlertSample};
use crate::log::client::{Client, ClientKey};
use crate::log::finding::{RuleId, Severity};
use crate::log::log_entry::Outcome;
use crate::log::source::RequestId;
use crate::log::time::LogTime;
use crate::report::model::ReportedHit;
use crate::rules::{RuleChoice, RuleSet, load};
use crate::soft_404::Answer;
use crate::text::redact::{DecodedText, LogText};

/// Snapshots of the screen at three sizes, after some keys.
fn snapshot_sizes(name: &str, press: impl Fn(&mut TestDashboard)) {
    for (width, height) in [(80, 24), (120, 40), (40, 12)] {
        let mut test = TestDashboard::busy(width, height);
        press(&mut test);
        insta::assert_snapshot!(format!("{name}_{width}x{height}"), test.screen());
    }
}

#[test]
fn screens() {
    insta::assert_snapshot!("start_80x24", TestDashboard::new(80, 24).screen());
    snapshot_sizes("busy", |_| ());
    snapshot_sizes("paused", |test| {
        test.press(KeyCode::Char('p'));
        test.probe(7);
    });
    snapshot_sizes("filtered", |test| {
        test.press(KeyCode::Char('/'));
        test.write(".ENV");
        test.press(KeyCode::Enter);
    });
    snapshot_sizes("typing", |test| {
        test.press(KeyCode::Char('/'));
        test.write("203.0");
    });
    snapshot_sizes("client", |test| {
        test.press(KeyCode::Enter);
        test.press(KeyCode::Down);
    });
    snapshot_sizes("logs", |test| {
        test.press(KeyCode::Char('l'));
    });
    snapshot_sizes("help", |test| {
        test.press(KeyCode::Char('?'));
    });
}

#[test]
fn a_pause_freezes_the_display_and_counts_on() {
    let mut test = TestDashboard::busy(80, 24);
    let before = test.screen();
    test.press(KeyCode::Char(' '));
    test.probe(3);
    test.dashboard.requests(test.now, 50);
    test.pass(90);
    let paused = test.screen();
    assert!(paused.contains("PAUSED, 3 hits since"), "{paused}");
    let below = |screen: &str| {
        screen
            .lines()
            .skip(1)
            .take(22)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(below(&paused), below(&before));
    test.press(KeyCode::Char('p'));
    let after = test.screen();
    assert!(!after.contains("PAUSED"));
    assert_ne!(below(&after), below(&before));
}

#[test]
fn keys_give_commands() {
    let mut test = TestDashboard::new(80, 24);
    assert_eq!(test.press(KeyCode::Char('q')), Some(TuiCommand::Quit));
    let control = |c| KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL);
    assert_eq!(
        test.dashboard.key(control('c')),
        Some(TuiCommand::Interrupt)
    );
    assert_eq!(
        test.dashboard.input(TerminalInput::Key(control('l'))),
        Some(TuiCommand::Redraw)
    );
    assert_eq!(
        test.dashboard.input(TerminalInput::Gone),
        Some(TuiCommand::Quit)
    );
    assert_eq!(
        test.dashboard.key(KeyEvent {
            kind: KeyEventKind::Release,
            ..control('c')
        }),
        None
    );
    test.press(KeyCode::Char('/'));
    assert_eq!(
        test.press(KeyCode::Char('q')),
        None,
        "a letter of the filter"
    );
    assert_eq!(
        test.dashboard.key(control('c')),
        Some(TuiCommand::Interrupt)
    );
}

#[test]
fn draws_after_changes() {
    let mut test = TestDashboard::new(80, 24);
    assert!(test.dashboard.has_changed());
    test.screen();
    assert!(!test.dashboard.has_changed());
    test.dashboard.requests(test.now, 0);
    test.dashboard.tick(test.now);
    assert!(!test.dashboard.has_changed());
    test.pass(1);
    assert!(test.dashboard.has_changed(), "rates change with time");
    test.screen();
    test.dashboard.input(TerminalInput::Resized);
    assert!(test.dashboard.has_changed());
}

#[test]
fn a_selected_row_stays_selected() {
    let mut test = TestDashboard::busy(80, 24);
    test.press(KeyCode::Down);
    test.press(KeyCode::Down);
    test.press(KeyCode::Enter);
    let opened = test.screen().lines().nth(1).unwrap().to_owned();
    test.press(KeyCode::Esc);
    // Another order moves the rows.
    test.press(KeyCode::Char('s'));
    test.probe(40);
    test.press(KeyCode::Enter);
    let again = test.screen().lines().nth(1).unwrap().to_owned();
    assert_eq!(
        opened.split_whitespace().next(),
        again.split_whitespace().next()
    );
}

#[test]
fn enter_opens_a_row_of_every_panel() {
    let opened = |tabs: usize, rows: usize| {
        let mut test = TestDashboard::busy(80, 24);
        (0..tabs).for_each(|_| assert_eq!(test.press(KeyCode::Tab), None));
        (0..rows).for_each(|_| assert_eq!(test.press(KeyCode::Down), None));
        test.press(KeyCode::Enter);
        test.screen()
            .lines()
            .nth(1)
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .trim_matches('"')
            .to_owned()
    };
    assert_eq!(opened(0, 0), "203.0.113.7");
    assert_eq!(opened(1, 0), "/.git/config");
    assert_eq!(opened(2, 0), "dotfiles/env");
    assert_eq!(opened(3, 0), "192.0.2.99");
    assert_eq!(opened(4, 0), "requests", "a notice opens nothing");
    assert_eq!(opened(4, 1), "203.0.113.7");
    assert_eq!(
        opened(4, 2),
        r"/backup/\x1b[1m.env",
        "a campaign is of many clients"
    );
    assert_eq!(opened(5, 0), "2001:db8:85a3::8a2e:370:7334");
}

#[test]
fn a_hit_of_a_path_opens_its_client() {
    let mut test = TestDashboard::busy(80, 24);
    test.press(KeyCode::Tab);
    test.press(KeyCode::Enter);
    test.press(KeyCode::Enter);
    let screen = test.screen();
    assert!(
        screen.lines().nth(1).unwrap().starts_with("\"203.0.113.7"),
        "{screen}"
    );
    assert!(screen.contains("/var/log/nginx/access.log:"), "{screen}");
}

#[test]
fn text_is_redacted() {
    for keys in [
        vec![],
        vec![KeyCode::Enter],
        vec![KeyCode::Char('l')],
        vec![KeyCode::BackTab, KeyCode::BackTab, KeyCode::Enter],
    ] {
        let mut test = TestDashboard::busy(200, 60);
        for key in keys {
            test.press(key);
        }
        let screen = test.screen();
        assert!(
            !screen.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'),
            "{screen}"
        );
        assert!(!screen.contains("s3cr3t"), "{screen}");
    }
    let mut test = TestDashboard::busy(200, 60);
    assert!(test.screen().contains(r"\u{202e}gnp.env\x1b]0;owned\x07"));
}

#[test]
fn answers_are_red() {
    let colors = |color: bool| {
        let mut test = TestDashboard::busy(80, 24);
        if !color {
            test.dashboard = Dashboard::new(test.now, false);
            test.probe(5);
        }
        let buffer = test.backend().buffer().clone();
        let row = |y: u16| (0..80).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        let heading = (0..24).find(|&y| row(y).starts_with("ANSWERED")).unwrap();
        let used: std::collections::HashSet<Color> =
            buffer.content.iter().map(|cell| cell.fg).collect();
        (buffer[(0, heading)].fg, used.len())
    };
    assert_eq!(colors(true).0, Color::Red);
    assert_eq!(colors(false), (Color::Reset, 1));
}

#[test]
fn a_regraded_answer_is_uncounted() {
    let mut test = TestDashboard::new(120, 40);
    test.probe(12);
    assert!(test.screen().contains("ANSWERED 2"));
    for n in 0..12 {
        let probe = hit(n, &PROBES[n as usize % PROBES.len()]);
        let soft = ReportedHit {
            answer: probe.answer.map(|_| Answer::Soft404),
            ..probe
        };
        test.dashboard.regrade(&soft, rules());
    }
    let screen = test.screen();
    assert!(screen.contains("ANSWERED 0"), "{screen}");
    assert!(!screen.contains("1!"), "{screen}");
    test.press(KeyCode::Char('/'));
    test.write("git");
    assert!(test.screen().contains("ANSWERED 0"), "nor when recounted");
}

#[test]
fn only_distinct_answers_count() {
    let mut test = TestDashboard::new(80, 24);
    let answered = hit(0, &PROBES[2]);
    let answered_rows = [
        super::row::HitRow::new(1, &answered, rules()).answered,
        super::row::HitRow::new(
            1,
            &ReportedHit {
                answer: Some(Answer::Soft404),
                ..answered
            },
            rules(),
        )
        .answered,
        // It is an ordinary page of an app.
        super::row::HitRow::new(
            1,
            &ReportedHit {
                answer: None,
                ..answered
            },
            rules(),
        )
        .answered,
        super::row::HitRow::new(1, &hit(0, &PROBES[1]), rules()).answered,
    ];
    assert_eq!(answered_rows, [true, false, false, false]);
    test.dashboard.hit(test.now, &hit(1, &PROBES[1]), rules());
    assert!(test.screen().contains("ANSWERED 0"));
}

#[test]
fn memory_is_bounded() {
    let now = Instant::now();
    let mut dashboard = Dashboard::new(now, false);
    let long = "/x".repeat(300);
    for n in 0..(HITS as u32 + 3_000) {
        let (path, agent) = (format!("/{n}{long}"), long.as_bytes());
        let (client, text) = (Client::V4(n), path.as_bytes());
        let (text, logged) = (LogText::new(text), LogText::new(agent));
        let of = ReportedHit {
            client,
            path: text,
            target: text,
            user_agent: Some(logged),
            source: agent,
            ..hit(0, &PROBES[2])
        };
        dashboard.hit(now, &of, rules());
    }
    for alert in alerts().iter().cycle().take(ALERTS + 50) {
        dashboard.alert(alert, rules());
    }
    dashboard.logs(
        (0..LOGS + 5)
            .map(|n| LogRow {
                path: n.to_string().into_bytes(),
                lag: 1,
                lines: 0,
            })
            .collect(),
    );
    let snapshot = dashboard.snapshot();
    assert_eq!(
        (
            snapshot.hits.len(),
            snapshot.alerts.len(),
            snapshot.logs.len()
        ),
        (HITS, ALERTS, LOGS)
    );
    assert_eq!(
        (snapshot.log_count, snapshot.lag),
        (LOGS + 5, LOGS as u64 + 5),
        "unlisted logs are counted"
    );
    for panel in [Panel::Answered, Panel::Clients, Panel::Paths] {
        let (kept, pruned) = snapshot.tables.of(panel).unwrap().len();
        assert!(
            pruned && (KEPT_NAMES..=2 * KEPT_NAMES).contains(&kept),
            "{kept}"
        );
    }
    let texts = |row: &super::row::HitRow| {
        row.path.len()
            + row.target.len()
            + row.agent.as_ref().map_or(0, |a| a.len())
            + row.location.len()
    };
    assert!(snapshot.hits.iter().all(|row| texts(row) < 1_000));
}

#[test]
fn important_clients_are_kept() {
    let now = Instant::now();
    let mut dashboard = Dashboard::new(now, false);
    let from = |client, probe: usize| ReportedHit {
        client,
        ..hit(0, &PROBES[probe])
    };
    dashboard.hit(now, &from(Client::V6(1), 2), rules());
    for n in 0..10 * KEPT_NAMES as u32 {
        dashboard.hit(now, &from(Client::V4(n), 1), rules());
        if n.is_multiple_of(100) {
            dashboard.hit(now, &from(Client::V6(2), 1), rules());
        }
    }
    let clients = dashboard.snapshot().tables.of(Panel::Clients).unwrap();
    assert_eq!(
        clients.get("::1").map(|entry| entry.hits),
        Some(1),
        "the worst"
    );
    assert_eq!(
        clients.get("::2").map(|entry| entry.hits),
        Some(100),
        "the busiest"
    );
}

/// An event of a dashboard.
#[derive(Debug, Clone)]
enum DashboardEvent {
    Key(KeyCode),
    Control(char),
    Hits(u64),
    OddHit(Vec<u8>, Vec<u8>, u16),
    Alert(usize),
    Notice(String),
    Logs(u64),
    Pass(u64),
    Regrade,
    Resize(u16, u16),
}

fn event() -> impl Strategy<Value = DashboardEvent> {
    let codes = vec![
        KeyCode::Tab,
        KeyCode::BackTab,
        KeyCode::Left,
        KeyCode::Right,
        KeyCode::Up,
        KeyCode::Down,
        KeyCode::PageUp,
        KeyCode::PageDown,
        KeyCode::Home,
        KeyCode::End,
        KeyCode::Enter,
        KeyCode::Esc,
        KeyCode::Backspace,
        KeyCode::F(1),
    ];
    let letters = "qp /?lsjkgG.e1\u{301}日"
        .chars()
        .map(KeyCode::Char)
        .collect::<Vec<_>>();
    prop_oneof![
        4 => prop::sample::select(codes).prop_map(DashboardEvent::Key),
        4 => prop::sample::select(letters).prop_map(DashboardEvent::Key),
        1 => any::<char>().prop_map(|c| DashboardEvent::Key(KeyCode::Char(c))),
        1 => any::<char>().prop_map(DashboardEvent::Control),
        3 => (0_u64..40).prop_map(DashboardEvent::Hits),
        2 => (any::<Vec<u8>>(), any::<String>().prop_map(String::into_bytes), any::<u16>()).prop_map(|(a, b, c)| DashboardEvent::OddHit(a, b, c)),
        1 => (0_usize..4).prop_map(DashboardEvent::Alert),
        1 => any::<String>().prop_map(DashboardEvent::Notice),
        1 => (0_u64..50).prop_map(DashboardEvent::Logs),
        1 => (0_u64..10_000).prop_map(DashboardEvent::Pass),
        1 => Just(DashboardEvent::Regrade),
        4 => (1_u16..140, 1_u16..50).prop_map(|(width, height)| DashboardEvent::Resize(width, height)),
    ]
}

fn happen(test: &mut TestDashboard, event: DashboardEvent) {
    match event {
        DashboardEvent::Key(code) => drop(test.press(code)),
        DashboardEvent::Control(c) => drop(
            test.dashboard
                .key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)),
        ),
        DashboardEvent::Hits(hits) => test.probe(hits),
        DashboardEvent::OddHit(client, target, status) => {
            let (client, target) = (Client::parse(&client), LogText::new(&target));
            let hit_row = ReportedHit {
                client,
                target,
                path: target,
                method: target,
                status: Some(status),
                time: None,
                ..hit(0, &PROBES[0])
            };
            test.dashboard.hit(test.now, &hit_row, rules());
        }
        DashboardEvent::Alert(kind) => test.dashboard.alert(&alerts()[kind], rules()),
        DashboardEvent::Notice(notice) => test.dashboard.notice(&notice),
        DashboardEvent::Logs(logs) => {
            test.dashboard.logs(
                (0..logs)
                    .map(|n| LogRow {
                        path: vec![n as u8; n as usize],
                        lag: u64::MAX - n,
                        lines: n,
                    })
                    .collect(),
            );
        }
        DashboardEvent::Pass(seconds) => test.pass(seconds),
        DashboardEvent::Regrade => {
            let soft = ReportedHit {
                answer: Some(Answer::Soft404),
                ..hit(0, &PROBES[2])
            };
            test.dashboard.regrade(&soft, rules());
        }
        DashboardEvent::Resize(width, height) => test.resize(width, height),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_event_panics(width in 1_u16..140, height in 1_u16..50, events in prop::collection::vec(event(), 1..60)) {
        let mut test = TestDashboard::new(width, height);
        for event in events {
            happen(&mut test, event);
            let screen = test.screen();
            let raw = screen.contains(|c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202a}'..='\u{202e}'));
            prop_assert!(!raw, "{}", screen);
        }
    }
}

#[test]
fn every_size_can_be_drawn() {
    for page in [
        None,
        Some(KeyCode::Enter),
        Some(KeyCode::Char('l')),
        Some(KeyCode::Char('?')),
        Some(KeyCode::Char('/')),
    ] {
        let mut test = TestDashboard::busy(1, 1);
        page.map(|key| test.press(key));
        for width in (1..30).chain([59, 60, 80, 109, 110, 139, 300]) {
            for height in (1..24).chain([33, 34, 80]) {
                test.resize(width, height);
                test.screen();
            }
        }
        // The test backend has no size 0, but a window may.
        for area in [Rect::new(0, 0, 0, 9), Rect::new(0, 0, 9, 0), Rect::ZERO] {
            let options = TerminalOptions {
                viewport: Viewport::Fixed(area),
            };
            let mut terminal = Terminal::with_options(TestBackend::new(9, 9), options).unwrap();
            terminal.draw(|frame| test.dashboard.draw(frame)).unwrap();
        }
    }
}

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
        load(&RuleChoice {
            paths: vec![folder.path().to_owned()],
            no_builtin: true,
            ..RuleChoice::default()
        })
        .unwrap()
    });
    &SET
}

/// Client, target, path, rules, status.
pub(super) type ProbeFixture = (
    &'static str,
    &'static str,
    &'static str,
    &'static [RuleId],
    u16,
);

/// Hits that are repeated in this order.
pub(super) const PROBES: [ProbeFixture; 12] = [
    ("203.0.113.7", "/.env", "/.env", &[RuleId(1)], 404),
    (
        "198.51.100.77",
        "/wp-login.php",
        "/wp-login.php",
        &[RuleId(5)],
        200,
    ),
    (
        "203.0.113.7",
        "/%2egit/config",
        "/.git/config",
        &[RuleId(4)],
        200,
    ),
    (
        "192.0.2.44",
        "/cgi-bin/.%2e/.%2e/.%2e/.%2e/bin/sh",
        "/cgi-bin/../../../../bin/sh",
        &[RuleId(0)],
        400,
    ),
    (
        "2001:db8:85a3::8a2e:370:7334",
        "/backup/.env?token=s3cr3t",
        "/backup/.env",
        &[RuleId(1)],
        200,
    ),
    (
        "203.0.113.9",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        "/vendor/phpunit/phpunit/src/Util/PHP/eval-stdin.php",
        &[RuleId(2)],
        404,
    ),
    (
        "192.0.2.99",
        "/index.php?id=1%20UNION%20SELECT%20user,password%20FROM%20users--",
        "/index.php",
        &[RuleId(3)],
        200,
    ),
    (
        "198.51.100.77",
        "/wp-login.php",
        "/wp-login.php",
        &[RuleId(5)],
        301,
    ),
    (
        "scanner.example.net",
        "/日本語/.env",
        "/日本語/.env",
        &[RuleId(1)],
        403,
    ),
    ("203.0.113.7", "/.env.bak", "/.env.bak", &[RuleId(1)], 404),
    ("203.0.113.200", "\x16\x03\x01", "", &[RuleId(3)], 400),
    (
        "\x1b[2Jpwned",
        "/\u{202e}gnp.env\x1b]0;owned\x07",
        "/\u{202e}gnp.env\x1b]0;owned\x07",
        &[RuleId(1), RuleId(4)],
        404,
    ),
];

/// The `n`th hit.
pub(super) fn hit(n: u64, probe: &ProbeFixture) -> ReportedHit<'static> {
    let (client, target, path, rules, status) = *probe;
    let outcome = Outcome::from_status(Some(status));
    let severity = rules
        .iter()
        .map(|rule| rules_of(*rule).effective_severity(outcome == Outcome::Answered))
        .max()
        .unwrap();
    ReportedHit {
        id: RequestId {
            generation: 0x00c0_ffee,
            offset: 211 * n,
        },
        source: b"/var/log/nginx/access.log",
        line: n + 1,
        time: Some(LogTime {
            utc: 1_793_577_600 + n.cast_signed(),
            offset: 60,
        }),
        client: Client::parse(client.as_bytes()),
        method: LogText::new(b"GET"),
        target: LogText::new(target.as_bytes()),
        path: LogText::new(path.as_bytes()),
        decoded: (target == "/%2egit/config").then_some(DecodedText::new(b"/.git/config")),
        protocol: LogText::new(b"HTTP/1.1"),
        status: Some(status),
        bytes: Some(291),
        outcome,
        answer: (outcome == Outcome::Answered
            && rules.iter().any(|rule| rules_of(*rule).exposes()))
        .then_some(Answer::Distinct),
        severity,
        rules,
        host: Some(LogText::new(b"Shop.example")),
        referer: None,
        user_agent: Some(LogText::new(b"curl/8.5.0\x1b[31m")),
        user: None,
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
    let sample = |target: &[u8]| AlertSample {
        target: target.to_vec().into(),
        method: b"GET".to_vec().into(),
        status: Some(200),
        ..AlertSample::default()
    };
    let base = Alert {
        kind: AlertKind::Probing,
        severity: Severity::Medium,
        first_time: Some(LogTime {
            utc: 1_793_577_600,
            offset: 60,
        }),
        last_time: Some(LogTime {
            utc: 1_793_577_642,
            offset: 60,
        }),
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
            path: Some(b"/backup/\x1b[1m.env".to_vec().into()),
            last_time: Some(LogTime {
                utc: 1_793_578_000,
                offset: 60,
            }),
            ..base.clone()
        },
        Alert {
            kind: AlertKind::Answered,
            severity: Severity::Critical,
            sample: sample(b"/.git/config?token=s3cr3t"),
            ..base
        },
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
        dashboard.logs(vec![LogRow {
            path: b"/var/log/nginx/access.log".to_vec(),
            lag: 0,
            lines: 0,
        }]);
        Self {
            dashboard,
            now,
            terminal: Terminal::new(TestBackend::new(width, height)).unwrap(),
            sent: 0,
        }
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
        let log = |path: &str, lag| LogRow {
            path: path.into(),
            lag,
            lines: 54_321,
        };
        test.dashboard.logs(vec![
            log("/var/log/nginx/access.log", 0),
            log("/var/log/nginx/shop\x1b.log", 1_234_567),
        ]);
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
            self.dashboard
                .hit(self.now, &hit(self.sent, probe), rules());
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
        self.terminal
            .draw(|frame| self.dashboard.draw(frame))
            .unwrap();
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
