//! Snapshots of the screen at three sizes and in every state, and that no size, key or event panics.

use std::time::Instant;

use proptest::prelude::*;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::Color;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::dashboard::{ALERTS, HITS, LOGS};
use super::fixture::{PROBES, TestDashboard, alerts, hit, rules};
use super::top::KEPT_NAMES;
use super::{Dashboard, LogRow, TerminalInput, TuiCommand};
use crate::client::Client;
use crate::soft_404::Answer;

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
    let below = |screen: &str| screen.lines().skip(1).take(22).map(str::to_owned).collect::<Vec<_>>();
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
    assert_eq!(test.dashboard.key(control('c')), Some(TuiCommand::Interrupt));
    assert_eq!(test.dashboard.input(TerminalInput::Key(control('l'))), Some(TuiCommand::Redraw));
    assert_eq!(test.dashboard.input(TerminalInput::Gone), Some(TuiCommand::Quit));
    assert_eq!(test.dashboard.key(KeyEvent { kind: KeyEventKind::Release, ..control('c') }), None);
    test.press(KeyCode::Char('/'));
    assert_eq!(test.press(KeyCode::Char('q')), None, "a letter of the filter");
    assert_eq!(test.dashboard.key(control('c')), Some(TuiCommand::Interrupt));
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
    assert_eq!(opened.split_whitespace().next(), again.split_whitespace().next());
}

#[test]
fn enter_opens_a_row_of_every_panel() {
    let opened = |tabs: usize, rows: usize| {
        let mut test = TestDashboard::busy(80, 24);
        (0..tabs).for_each(|_| assert_eq!(test.press(KeyCode::Tab), None));
        (0..rows).for_each(|_| assert_eq!(test.press(KeyCode::Down), None));
        test.press(KeyCode::Enter);
        test.screen().lines().nth(1).unwrap().split_whitespace().next().unwrap().trim_matches('"').to_owned()
    };
    assert_eq!(opened(0, 0), "203.0.113.7");
    assert_eq!(opened(1, 0), "/.git/config");
    assert_eq!(opened(2, 0), "dotfiles/env");
    assert_eq!(opened(3, 0), "192.0.2.99");
    assert_eq!(opened(4, 0), "requests", "a notice opens nothing");
    assert_eq!(opened(4, 1), "203.0.113.7");
    assert_eq!(opened(4, 2), r"/backup/\x1b[1m.env", "a campaign is of many clients");
    assert_eq!(opened(5, 0), "2001:db8:85a3::8a2e:370:7334");
}

#[test]
fn a_hit_of_a_path_opens_its_client() {
    let mut test = TestDashboard::busy(80, 24);
    test.press(KeyCode::Tab);
    test.press(KeyCode::Enter);
    test.press(KeyCode::Enter);
    let screen = test.screen();
    assert!(screen.lines().nth(1).unwrap().starts_with("\"203.0.113.7"), "{screen}");
    assert!(screen.contains("/var/log/nginx/access.log:"), "{screen}");
}

#[test]
fn text_is_redacted() {
    for keys in [vec![], vec![KeyCode::Enter], vec![KeyCode::Char('l')], vec![KeyCode::BackTab, KeyCode::BackTab, KeyCode::Enter]] {
        let mut test = TestDashboard::busy(200, 60);
        for key in keys {
            test.press(key);
        }
        let screen = test.screen();
        assert!(!screen.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{screen}");
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
        let used: std::collections::HashSet<Color> = buffer.content.iter().map(|cell| cell.fg).collect();
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
        let soft = crate::analysis::model::ReportedHit { answer: probe.answer.map(|_| Answer::Soft404), ..probe };
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
        super::row::HitRow::new(1, &crate::analysis::model::ReportedHit { answer: Some(Answer::Soft404), ..answered }, rules()).answered,
        // It is an ordinary page of an app.
        super::row::HitRow::new(1, &crate::analysis::model::ReportedHit { answer: None, ..answered }, rules()).answered,
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
        let of = crate::analysis::model::ReportedHit {
            client,
            path: text,
            target: text,
            user_agent: Some(agent),
            source: agent,
            ..hit(0, &PROBES[2])
        };
        dashboard.hit(now, &of, rules());
    }
    for alert in alerts().iter().cycle().take(ALERTS + 50) {
        dashboard.alert(alert, rules());
    }
    dashboard.logs((0..LOGS + 5).map(|n| LogRow { path: n.to_string().into_bytes(), lag: 1, lines: 0 }).collect());
    let snapshot = dashboard.snapshot();
    assert_eq!((snapshot.hits.len(), snapshot.alerts.len(), snapshot.logs.len()), (HITS, ALERTS, LOGS));
    assert_eq!((snapshot.log_count, snapshot.lag), (LOGS + 5, LOGS as u64 + 5), "unlisted logs are counted");
    for top in [&snapshot.tables.answered, &snapshot.tables.clients, &snapshot.tables.paths] {
        let (kept, pruned) = top.len();
        assert!(pruned && (KEPT_NAMES..=2 * KEPT_NAMES).contains(&kept), "{kept}");
    }
    let texts = |row: &super::row::HitRow| row.path.len() + row.target.len() + row.agent.as_ref().map_or(0, |a| a.len()) + row.place.len();
    assert!(snapshot.hits.iter().all(|row| texts(row) < 1_000));
}

#[test]
fn important_clients_are_kept() {
    let now = Instant::now();
    let mut dashboard = Dashboard::new(now, false);
    let from = |client, probe: usize| crate::analysis::model::ReportedHit { client, ..hit(0, &PROBES[probe]) };
    dashboard.hit(now, &from(Client::V6(1), 2), rules());
    for n in 0..10 * KEPT_NAMES as u32 {
        dashboard.hit(now, &from(Client::V4(n), 1), rules());
        if n.is_multiple_of(100) {
            dashboard.hit(now, &from(Client::V6(2), 1), rules());
        }
    }
    let clients = &dashboard.snapshot().tables.clients;
    assert_eq!(clients.get("::1").map(|entry| entry.hits), Some(1), "the worst");
    assert_eq!(clients.get("::2").map(|entry| entry.hits), Some(100), "the busiest");
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
    let letters = "qp /?lsjkgG.e1\u{301}日".chars().map(KeyCode::Char).collect::<Vec<_>>();
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
        DashboardEvent::Control(c) => drop(test.dashboard.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL))),
        DashboardEvent::Hits(hits) => test.probe(hits),
        DashboardEvent::OddHit(client, target, status) => {
            let (client, target) = (Client::parse(&client), target.as_slice());
            let hit_row = crate::analysis::model::ReportedHit {
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
            test.dashboard.logs((0..logs).map(|n| LogRow { path: vec![n as u8; n as usize], lag: u64::MAX - n, lines: n }).collect());
        }
        DashboardEvent::Pass(seconds) => test.pass(seconds),
        DashboardEvent::Regrade => {
            let soft = crate::analysis::model::ReportedHit { answer: Some(Answer::Soft404), ..hit(0, &PROBES[2]) };
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
    for page in [None, Some(KeyCode::Enter), Some(KeyCode::Char('l')), Some(KeyCode::Char('?')), Some(KeyCode::Char('/'))] {
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
            let options = TerminalOptions { viewport: Viewport::Fixed(area) };
            let mut terminal = Terminal::with_options(TestBackend::new(9, 9), options).unwrap();
            terminal.draw(|frame| test.dashboard.draw(frame)).unwrap();
        }
    }
}
