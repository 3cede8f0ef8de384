//! Which folders retention removes, and which it never removes.

use std::os::unix::fs::symlink;

use crate::report_store::retention::Jump;
use crate::report_store::tests::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn keep(runs: impl Into<Option<usize>>, age: impl Into<Option<Duration>>) -> Retention {
    Retention {
        runs: runs.into(),
        age: age.into(),
    }
}

#[test]
fn keeps_by_number_and_by_age() {
    let now = at("2026-11-22T00:05:00Z");
    let cases: [(Retention, &[&str]); 7] = [
        (keep(None, None), &[RUN_1, RUN_2, RUN_3]),
        (keep(2, None), &[RUN_2, RUN_3]),
        (keep(1, None), &[RUN_3]),
        (keep(0, None), &[RUN_3]),
        (keep(None, DAY), &[RUN_3]),
        (keep(None, DAY + Duration::from_secs(1)), &[RUN_2, RUN_3]),
        (keep(2, 2 * DAY + Duration::from_secs(1)), &[RUN_2, RUN_3]),
    ];
    for (keep, left) in cases {
        let (_temp_dir, out) = staging_folder();
        for (number, name) in [(1, RUN_1), (2, RUN_2), (3, RUN_3)] {
            publish(&out, number, &[name], "text");
        }
        let store = open(&out);
        assert_eq!(prune(&store, keep, now), 3 - left.len(), "{keep:?}");
        assert_eq!(prune(&store, keep, now), 0);
        assert_eq!(
            reports(&out).into_keys().collect::<Vec<_>>(),
            left,
            "{keep:?}"
        );
        assert_eq!((latest(&out).as_str(), hidden(&out)), (RUN_3, vec![]));
    }
}

#[test]
fn keeps_the_latest_and_removes_nothing_with_a_clock_of_1970() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &[RUN_1], "one");
    publish(&out, 2, &[RUN_2], "two");
    let store = open(&out);
    assert_eq!(
        prune(&store, keep(None, DAY), SystemTime::UNIX_EPOCH - DAY),
        0
    );
    assert_eq!(
        prune(&store, keep(None, DAY), at("2126-01-01T00:00:00Z")),
        1
    );
    assert_eq!(reports(&out), expected(&[(RUN_2, "two")]));
}

#[test]
fn runs_days_and_hours_are_counted_separately() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &["2026-11-18", "2026-11-19", "2026-11-20"], "days");
    publish(&out, 2, &["2026-11-20T01", "2026-11-20T02"], "hours");
    publish(&out, 3, &[RUN_3], "run");
    let store = open(&out);
    assert_eq!(prune(&store, keep(2, None), SystemTime::now()), 1);
    assert_eq!(prune(&store, keep(1, None), SystemTime::now()), 2);
    assert_eq!(
        reports(&out).into_keys().collect::<Vec<_>>(),
        [RUN_3, "2026-11-20", "2026-11-20T02"]
    );
    // The age of a day counts from its end.
    assert_eq!(
        prune(&store, keep(None, DAY), at("2026-11-21T23:59:59Z")),
        1
    );
    assert_eq!(
        prune(&store, keep(None, DAY), at("2026-11-22T00:00:00Z")),
        1
    );
    assert_eq!(reports(&out).into_keys().collect::<Vec<_>>(), [RUN_3]);
}

#[test]
fn keeps_everything_that_is_not_a_report() {
    let (staging_folder, out) = staging_folder();
    publish(&out, 9, &["000009-20261122T000500Z"], "latest");
    let elsewhere = staging_folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(REPORT), "probewatch").unwrap();
    symlink(&elsewhere, out.join(RUN_1)).unwrap();
    fs::write(out.join(RUN_2), "a file").unwrap();
    let others = [
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
        "1-20260101T000000Z",
        "notes",
        "000001-20260101T000000Z.bak",
        ".gone-notes",
    ];
    for other in others {
        fs::create_dir(out.join(other)).unwrap();
        fs::write(out.join(other).join("notes.txt"), "mine").unwrap();
    }
    fs::write(out.join("2026-01-01").join(REPORT), "{\"mine\":1}").unwrap();
    symlink(elsewhere.join(REPORT), out.join("2026-01-02").join(REPORT)).unwrap();
    let before = names(&out);
    let store = open(&out);
    store.recover(None).unwrap();
    assert_eq!(prune(&store, keep(0, Duration::ZERO), SystemTime::now()), 0);
    assert_eq!(names(&out), before);
    assert_eq!(names(&elsewhere), [REPORT]);
}

#[test]
fn removes_nothing_through_a_link() {
    let (staging_folder, out) = staging_folder();
    let elsewhere = staging_folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("precious"), "text").unwrap();
    publish(&out, 1, &[RUN_1], "one");
    publish(&out, 2, &[RUN_2], "two");
    symlink(&elsewhere, out.join(RUN_1).join("link")).unwrap();
    fs::create_dir_all(out.join(RUN_1).join("deep/deeper")).unwrap();
    symlink(&elsewhere, out.join(".run-7.tmp")).unwrap();
    symlink(&elsewhere, out.join(format!(".gone-{RUN_3}"))).unwrap();
    let store = open(&out);
    store.recover(None).unwrap();
    assert_eq!(prune(&store, keep(1, None), SystemTime::now()), 1);
    assert_eq!(names(&out), [RUN_2, LATEST]);
    assert_eq!(names(&elsewhere), ["precious"]);
}

#[test]
fn leftovers_of_earlier_removals_do_not_matter() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &[RUN_1], "one");
    publish(&out, 2, &[RUN_2], "two");
    let left = out.join(format!(".gone-{RUN_1}"));
    fs::create_dir(&left).unwrap();
    fs::write(left.join("still open elsewhere"), "text").unwrap();
    assert_eq!(prune(&open(&out), keep(1, None), SystemTime::now()), 1);
    assert_eq!(names(&out), [&format!(".gone-{RUN_1}"), RUN_2, LATEST]);
    open(&out).recover(None).unwrap();
    assert_eq!(names(&out), [RUN_2, LATEST]);
}

/// Runs with this clock, and then returns how many folders exist and how many would not without the
/// jump.
fn run_at(
    out: &Path,
    last: &mut Option<RetentionClock>,
    now: &str,
    keep: Retention,
) -> (usize, usize) {
    let store = open(out);
    let clock = store.clock(*last, at(now), &[], keep).unwrap();
    let number = store.last_run_number().unwrap() + 1;
    let run = stage(&store, number, &[&run_folder_name(number, at(now))], "text").unwrap();
    store.publish(&run).unwrap();
    let pruned = store.prune(keep, clock).unwrap();
    *last = Some(clock);
    (reports(out).len(), pruned.kept_by_jump)
}

#[test]
fn a_clock_that_jumps_ahead_removes_nothing() {
    let keep = keep(None, 90 * DAY);
    let (_temp_dir, out) = staging_folder();
    let mut last = None;
    for (number, now) in [
        "2026-09-01T00:05:00Z",
        "2026-10-01T00:05:00Z",
        "2026-11-01T00:05:00Z",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(run_at(&out, &mut last, now, keep), (number + 1, 0));
    }
    // A year ahead, for a day, and in the next year again.
    for (number, now) in [
        "2027-11-01T01:05:00Z",
        "2027-11-01T02:05:00Z",
        "2027-11-02T00:05:00Z",
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(run_at(&out, &mut last, now, keep), (number + 4, 3), "{now}");
    }
    assert_eq!(
        run_at(&out, &mut last, "2026-11-02T00:05:00Z", keep),
        (7, 0)
    );
    assert_eq!(
        run_at(&out, &mut last, "2027-11-02T00:15:00Z", keep),
        (8, 4)
    );
    assert_eq!(
        run_at(&out, &mut last, "2026-11-03T00:05:00Z", keep),
        (9, 0)
    );
    // Time passes as usual after that: 90 days after each run, it is removed.
    assert_eq!(
        run_at(&out, &mut last, "2026-12-01T00:05:00Z", keep),
        (9, 0)
    );
    assert_eq!(
        run_at(&out, &mut last, "2026-12-31T00:05:00Z", keep),
        (9, 0)
    );
}

/// The logs were not read for a year: older folders are kept for as long as if that year had not
/// passed.
#[test]
fn a_pause_only_delays_retention() {
    let keep = keep(None, 90 * DAY);
    let (_temp_dir, out) = staging_folder();
    let mut last = None;
    for now in ["2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z"] {
        run_at(&out, &mut last, now, keep);
    }
    assert_eq!(
        run_at(&out, &mut last, "2027-11-01T00:00:00Z", keep),
        (3, 2)
    );
    assert_eq!(
        run_at(&out, &mut last, "2027-12-01T00:00:00Z", keep),
        (4, 2),
        "61 days old, and 30"
    );
    assert_eq!(
        run_at(&out, &mut last, "2027-12-30T00:00:00Z", keep),
        (4, 1),
        "90 days old, and 59"
    );
    assert_eq!(
        run_at(&out, &mut last, "2028-01-30T00:00:00Z", keep),
        (3, 0),
        "90 days old, and 90"
    );
}

#[test]
fn a_new_state_takes_the_clock_from_the_newest_folder() {
    let (_temp_dir, out) = staging_folder();
    publish(
        &out,
        1,
        &["2026-08-20", "2026-11-19", "2026-11-20", "2038-01-19"],
        "days",
    );
    let keep = keep(None, 90 * DAY);
    assert_eq!(
        run_at(&out, &mut None, "2027-11-21T00:00:00Z", keep),
        (4, 2),
        "as old as on 2026-11-21"
    );
}

/// The first run, on logs that end a year ago, or with a clock that is a year ahead.
#[test]
fn the_days_of_the_logs_are_evidence_too() {
    let (_temp_dir, out) = staging_folder();
    let keep = keep(None, 90 * DAY);
    let days = ["2026-08-20", "2026-11-19", "2026-11-20"];
    let store = open(&out);
    let clock = store
        .clock(
            None,
            at("2027-11-21T00:00:00Z"),
            &days.map(str::to_owned),
            keep,
        )
        .unwrap();
    store
        .publish(&stage(&store, 1, &days, "days").unwrap())
        .unwrap();
    assert_eq!(store.prune(keep, clock).unwrap().removed, 1);
    assert_eq!(reports(&out).into_keys().collect::<Vec<_>>(), days[1..]);
}

/// From which time between two runs on days do not count, by what is kept.
#[test]
fn the_longest_interval_of_runs() {
    for (kept, longest) in [
        (1, 2),
        (2, 2),
        (14, 8),
        (30, 16),
        (62, 32),
        (90, 32),
        (3650, 32),
    ] {
        let keep = keep(None, kept * DAY);
        let jump = |seconds| {
            let (_temp_dir, out) = staging_folder();
            let mut last = None;
            run_at(&out, &mut last, "2026-11-01T00:00:00Z", keep);
            let now = at("2026-11-01T00:00:00Z") + longest * DAY + Duration::from_secs(seconds);
            open(&out)
                .clock(last, now, &[], keep)
                .unwrap()
                .new_jump(last)
                .map(Jump::days)
        };
        assert_eq!(
            (jump(0), jump(1)),
            (None, Some(u64::from(longest))),
            "--keep {kept}d"
        );
    }
}
