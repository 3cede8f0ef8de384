//! Which folders retention removes, and which it never removes.

use std::os::unix::fs::symlink;

use crate::report_store::tests::*;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn keep(runs: impl Into<Option<usize>>, age: impl Into<Option<Duration>>) -> Retention {
    Retention { runs: runs.into(), age: age.into() }
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
        assert_eq!(store.prune(keep, now).unwrap(), 3 - left.len(), "{keep:?}");
        assert_eq!(store.prune(keep, now).unwrap(), 0);
        assert_eq!(reports(&out).into_keys().collect::<Vec<_>>(), left, "{keep:?}");
        assert_eq!((latest(&out).as_str(), hidden(&out)), (RUN_3, vec![]));
    }
}

#[test]
fn keeps_the_latest_and_removes_nothing_with_a_clock_of_1970() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &[RUN_1], "one");
    publish(&out, 2, &[RUN_2], "two");
    let store = open(&out);
    assert_eq!(store.prune(keep(None, DAY), SystemTime::UNIX_EPOCH - DAY).unwrap(), 0);
    assert_eq!(store.prune(keep(None, DAY), at("2126-01-01T00:00:00Z")).unwrap(), 1);
    assert_eq!(reports(&out), expected(&[(RUN_2, "two")]));
}

#[test]
fn runs_days_and_hours_are_counted_separately() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &["2026-11-18", "2026-11-19", "2026-11-20"], "days");
    publish(&out, 2, &["2026-11-20T01", "2026-11-20T02"], "hours");
    publish(&out, 3, &[RUN_3], "run");
    let store = open(&out);
    assert_eq!(store.prune(keep(2, None), SystemTime::now()).unwrap(), 1);
    assert_eq!(store.prune(keep(1, None), SystemTime::now()).unwrap(), 2);
    assert_eq!(reports(&out).into_keys().collect::<Vec<_>>(), [RUN_3, "2026-11-20", "2026-11-20T02"]);
    // The age of a day counts from its end.
    assert_eq!(store.prune(keep(None, DAY), at("2026-11-21T23:59:59Z")).unwrap(), 1);
    assert_eq!(store.prune(keep(None, DAY), at("2026-11-22T00:00:00Z")).unwrap(), 1);
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
    let others = ["2026-01-01", "2026-01-02", "2026-01-03", "1-20260101T000000Z", "notes", "000001-20260101T000000Z.bak", ".gone-notes"];
    for other in others {
        fs::create_dir(out.join(other)).unwrap();
        fs::write(out.join(other).join("notes.txt"), "mine").unwrap();
    }
    fs::write(out.join("2026-01-01").join(REPORT), "{\"mine\":1}").unwrap();
    symlink(elsewhere.join(REPORT), out.join("2026-01-02").join(REPORT)).unwrap();
    let before = names(&out);
    let store = open(&out);
    store.recover(None).unwrap();
    assert_eq!(store.prune(keep(0, Duration::ZERO), SystemTime::now()).unwrap(), 0);
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
    assert_eq!(store.prune(keep(1, None), SystemTime::now()).unwrap(), 1);
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
    assert_eq!(open(&out).prune(keep(1, None), SystemTime::now()).unwrap(), 1);
    assert_eq!(names(&out), [RUN_2, LATEST]);
}
