//! Rules that need many requests: the counts per minute add up for any split.

use crate::report::merge::tests::*;
use crate::tally::Budget;

fn login(client: &str, minute: u32, second: u32, path: &str) -> String {
    format!(
        "{client} - - [02/Nov/2026:08:{minute:02}:{second:02} +0100] \"POST {path} HTTP/1.1\" 200 512 \"-\" \"x\"\n"
    )
}

/// Client, requests and minutes of each flood in the report.
fn flood_rows(scanned: &Scanned) -> Vec<(String, u64, u64)> {
    with_report(rules(), scanned, |report| {
        let row = |flood: &crate::report::model::FloodRow<'_>| {
            (
                flood.client.unwrap().to_string(),
                flood.requests,
                flood.minutes,
            )
        };
        report.floods.iter().map(row).collect()
    })
}

/// Bursts of logins: client, minute, path, and number.
fn logins() -> impl Strategy<Value = Vec<String>> {
    let path = prop::sample::select(&["/wp-login.php", "/xmlrpc.php", "/login"][..]);
    let burst = (0_u8..4, 0_u32..7, path, 1_usize..13);
    prop::collection::vec(burst, 1..14).prop_map(|bursts| {
        let lines = |(client, minute, path, count): (u8, u32, &'static str, usize)| {
            // One client has no name.
            let client = if client == 0 {
                "-".to_owned()
            } else {
                format!("192.0.2.{client}")
            };
            (0..count).map(move |n| login(&client, minute, n as u32, path))
        };
        bursts.into_iter().flat_map(lines).collect()
    })
}

/// The clients with a flood or with enough attempts, counted directly: those of two rules, each
/// with paths of its own.
fn expected(lines: &[String]) -> Vec<String> {
    let at = |line: &String| {
        line.split(":08:")
            .nth(1)
            .and_then(|rest| rest.get(..2))
            .and_then(|minute| minute.parse::<u32>().ok())
            .unwrap()
    };
    let mut found: Vec<String> = (1..4)
        .map(|client| format!("192.0.2.{client}"))
        .filter(|client| {
            let mine = || {
                lines
                    .iter()
                    .filter(|line| line.starts_with(&format!("{client} ")))
            };
            let of_rule = |is_xmlrpc: bool| {
                mine()
                    .filter(move |line| line.contains("/xmlrpc.php") == is_xmlrpc)
                    .map(at)
                    .collect()
            };
            let is_flood = |minutes: &[u32]| {
                (0..7).any(|minute| {
                    minutes
                        .iter()
                        .filter(|&&one| one == minute || one == minute + 1)
                        .count()
                        >= 20
                })
            };
            let [logins, others]: [Vec<u32>; 2] = [of_rule(false), of_rule(true)];
            // These clients send nothing else.
            logins.len() >= 20 || is_flood(&others)
        })
        .collect();
    found.sort();
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_split_finds_the_same_floods(
        lines in logins(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4), order in any::<u64>()
    ) {
        let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).chain([0, lines.len()]).collect();
        at.sort_unstable();
        let mut pieces: Vec<Piece> = Vec::new();
        for pair in at.windows(2) {
            let before = pieces.last().map_or((0, 0), |piece| (piece.offset + piece.text.len() as u64, piece.lines_before + piece.text.lines().count() as u64));
            pieces.push(Piece { offset: before.0, lines_before: before.1, ..Piece::new("a.log", &lines[pair[0]..pair[1]]) });
        }
        let whole = scan(&pieces);
        let mut found: Vec<String> = flood_rows(&whole).into_iter().map(|(client, ..)| client).collect();
        found.sort();
        found.dedup();
        prop_assert_eq!(&found, &expected(&lines));
        let mut parts: Vec<String> = pieces.iter().map(|piece| json(&scan(std::slice::from_ref(piece)))).collect();
        let turn = order as usize % parts.len();
        parts.rotate_left(turn);
        let result = merged(&parts);
        prop_assert_eq!(json(&result), json(&whole));
        prop_assert_eq!(json(&merged(&[json(&result)])), json(&whole), "written twice");
        for by in [GroupBy::Client, GroupBy::Rule] {
            prop_assert_eq!(printed(rules(), &result, OutputFormat::Csv, by), printed(rules(), &whole, OutputFormat::Csv, by));
        }
    }
}

#[test]
fn two_halves_of_an_hour_are_a_flood_together() {
    let half = |path, log_host| {
        let lines: Vec<String> = (0..10)
            .map(|n| login("192.0.2.1", 1, n, "/wp-login.php"))
            .collect();
        Piece {
            log_host: Some(log_host),
            ..Piece::new(path, &lines)
        }
    };
    let (one, other) = (
        scan(&[half("a.log", "web1")]),
        scan(&[half("a.log", "web2")]),
    );
    assert_eq!((flood_rows(&one), flood_rows(&other)), (vec![], vec![]));
    let both = merged(&[json(&one), json(&other)]);
    assert_eq!(flood_rows(&both), [("192.0.2.1".to_owned(), 20, 1)]);
    let rows = printed(rules(), &both, OutputFormat::Csv, GroupBy::Client);
    assert!(
        rows.contains("192.0.2.1") && rows.contains("flood/login"),
        "{rows}"
    );
}

#[test]
fn floods_are_kept_above_the_budget() {
    // Many clients that log in once, and one that tries passwords.
    let others = (0..600_u32).map(|n| {
        login(
            &format!("198.51.{}.{}", n / 200, n % 200),
            n % 50,
            3,
            "/login",
        )
    });
    let flood = (0..40).map(|n| login("192.0.2.1", 7, n, "/wp-login.php"));
    let lines: Vec<String> = others.chain(flood).collect();
    let exact = scan(&[Piece::new("a.log", &lines)]);
    let mut tally = Tally::with_budget(Budget {
        cells: 100,
        clients: 100,
        text: usize::MAX,
    });
    tally.merge(exact.tally.clone());
    let kept: u64 = tally.minutes().iter().map(|(_, requests)| requests).sum();
    assert!(tally.minutes().len() <= 25, "{}", tally.minutes().len());
    assert_eq!(
        kept + tally.minutes().dropped(),
        640,
        "what is dropped is counted"
    );
    let cut = Scanned { tally, ..exact };
    assert_eq!(flood_rows(&cut), [("192.0.2.1".to_owned(), 40, 1)]);
    let uncounted = with_report(rules(), &cut, |report| {
        report.approximate.unwrap().uncounted
    });
    assert_eq!(uncounted, 640 - kept);
    let again = merged(&[json(&cut)]);
    assert_eq!(
        with_report(rules(), &again, |report| report
            .approximate
            .unwrap()
            .uncounted),
        uncounted,
        "and written"
    );
}

#[test]
fn an_unknown_rule_still_counts_its_window() {
    let lines: Vec<String> = (0..25)
        .map(|n| login("192.0.2.1", 7, n, "/wp-login.php"))
        .collect();
    let report = json(&scan(&[Piece::new("a.log", &lines)]));
    let other = load(&RuleChoice {
        disable: vec!["flood/login".into()],
        ..RuleChoice::default()
    })
    .unwrap();
    let mut sum = ReportMerger::new(&other);
    sum.add(read(report.as_bytes(), &other).unwrap()).unwrap();
    let MergedReport {
        tally,
        sources,
        inputs,
        allow,
        rules,
        ..
    } = sum.finish(|_| false).unwrap();
    let set = rules.unwrap();
    let floods = with_report(
        &set,
        &Scanned {
            tally,
            sources,
            inputs,
            allow,
        },
        |report| report.floods.len(),
    );
    assert_eq!(floods, 1);
}
