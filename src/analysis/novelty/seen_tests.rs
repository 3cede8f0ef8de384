//! Compares the history with a plain list, and checks what a state file may contain.

use proptest::prelude::*;

use super::*;

const HOUR: i64 = 3_600;
const DAY: Duration = Duration::from_secs(24 * 3_600);

/// An action of a run.
#[derive(Debug, Clone)]
enum Act {
    /// Records a key of a kind, in the report of the run or in one before it.
    Look(usize, u8, u32),
    /// Ends the run after this many hours, and keeps the keys of this many.
    Prune(i64, u64),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let look =
        (0..5_usize, 0..12_u8, prop_oneof![4 => Just(0), 1 => 0..1_500_u32]).prop_map(|(kind, key, late)| Act::Look(kind, key, late));
    let prune = (-300..300_i64, 0..600_u64).prop_map(|(hours, keep)| Act::Prune(hours, keep));
    prop::collection::vec(prop_oneof![6 => look, 1 => prune], 0..120)
}

/// A key in the plain list.
struct Known {
    kind: usize,
    key: u8,
    first: u32,
    /// The counted hours since it was last seen.
    age: u64,
}

proptest! {
    #[test]
    fn behaves_like_a_plain_list(acts in acts()) {
        let (mut seen, mut list) = (SeenHistory::new(7), Vec::<Known>::new());
        let (mut report_seq, mut now, mut highest) = (500_000_u32, 1_000_000_i64, 1_000_000_i64);
        seen.prune(now * HOUR, DAY);
        for act in acts {
            match act {
                Act::Look(kind, key, late) => {
                    let report_seq = report_seq - late;
                    let expected = match list.iter_mut().find(|known| (known.kind, known.key) == (kind, key)) {
                        None => {
                            list.push(Known { kind, key, first: report_seq, age: 0 });
                            true
                        }
                        Some(known) => {
                            known.age = 0;
                            if report_seq < known.first && known.first - report_seq <= 744 {
                                known.first = report_seq;
                            }
                            known.first == report_seq
                        }
                    };
                    prop_assert_eq!(seen.check_and_record(NoveltyKind::ALL[kind], &[key], report_seq, now * HOUR + 7), expected);
                }
                Act::Prune(hours, keep) => {
                    now += hours;
                    let passed = (now - highest).clamp(0, 192);
                    highest = highest.max(now);
                    for known in &mut list {
                        known.age += passed.cast_unsigned();
                    }
                    list.retain(|known| known.age <= keep);
                    seen.prune(now * HOUR + 59, Duration::from_secs(keep * 3_600));
                    report_seq += 1;
                    prop_assert_eq!(seen.is_empty(), list.is_empty());
                    let text = serde_json::to_string(&seen).unwrap();
                    let again: SeenHistory = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(&again, &seen);
                    seen = again;
                }
            }
        }
    }

    /// A budget of four keys, with any actions.
    #[test]
    fn the_oldest_keys_are_dropped_first(looks in prop::collection::vec((0..12_u64, 1..4_u32), 0..40)) {
        let (mut memory, mut list) = (SeenKeys::<4>::default(), Vec::<(u64, u32, u32)>::new());
        let mut hour = 0;
        for (key, passed) in looks {
            // Of several in one hour, those known longest stay.
            hour += passed / 3;
            let known = list.iter().position(|(of, ..)| *of == key).map(|at| list.remove(at));
            let first = known.map_or(hour, |(_, first, _)| first);
            prop_assert_eq!(memory.check_and_record(key, hour, hour), first == hour);
            list.push((key, first, hour));
            list.sort_by_key(|&(key, first, last)| (Reverse(last), first, key));
            list.truncate(4);
            memory.prune(0);
            let stays = serde_json::to_string(&memory).unwrap();
            prop_assert_eq!(stays.len(), 20 * list.len() + 2);
            let mut of_list = SeenKeys::<4>::default();
            for (key, first, last) in &list {
                of_list.check_and_record(*key, *first, *last);
            }
            prop_assert_eq!(&memory, &of_list);
        }
    }

    /// While the clock never exceeds `keep` after the first use, no key is old enough, however it jumps.
    #[test]
    fn a_clock_that_is_set_back_drops_nothing(readings in prop::collection::vec(0..=90_i64, 1..40)) {
        let (mut seen, keep, start) = (SeenHistory::new(1), 90 * DAY, 1_793_577_600);
        for (run, day) in (0..).zip(&readings) {
            seen.check_and_record(NoveltyKind::Path, &[run], 10 + u32::from(run), start + day * 24 * HOUR);
            seen.prune(start + day * 24 * HOUR, keep);
        }
        for (run, _) in (0..).zip(&readings) {
            prop_assert!(!seen.check_and_record(NoveltyKind::Path, &[run], 1_000, start + 90 * 24 * HOUR), "run {}", run);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in prop_oneof![r#"[A-Za-z0-9+/=\\"-]{0,50}"#, any::<String>()], at in 0..400_usize, byte: u8) {
        let as_string = serde_json::to_string(&text).unwrap();
        if let Ok(memory) = serde_json::from_str::<SeenKeys<9>>(&as_string) {
            prop_assert_eq!(serde_json::to_string(&memory).unwrap(), as_string.clone(), "only what was written is read");
        }
        let mut bytes = serde_json::to_vec(&few()).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        if let Ok(seen) = serde_json::from_slice::<SeenHistory>(&bytes) {
            prop_assert!(serde_json::to_vec(&seen).is_ok());
        }
    }
}

/// Some keys of each kind.
fn few() -> SeenHistory {
    let mut seen = SeenHistory::new(u64::MAX);
    for kind in NoveltyKind::ALL {
        for key in 0..3_u8 {
            seen.check_and_record(kind, &[key], 77, 1_793_577_600 + i64::from(key) * HOUR);
        }
    }
    seen
}

#[test]
fn a_new_key_stays_new_in_its_own_report() {
    let mut seen = SeenHistory::new(3);
    assert!(seen.is_empty());
    assert!(seen.check_and_record(NoveltyKind::Answer, b"/.env", 4, 0));
    assert!(seen.check_and_record(NoveltyKind::Answer, b"/.env", 4, HOUR), "a report that is built again");
    assert!(!seen.check_and_record(NoveltyKind::Answer, b"/.env", 5, HOUR));
    assert!(seen.check_and_record(NoveltyKind::Path, b"/.env", 5, HOUR), "another kind is another key");
    assert!(!seen.is_empty());
}

#[test]
fn a_late_line_makes_a_key_new_in_the_earlier_period() {
    let (mut seen, day) = (SeenHistory::new(3), 497_000);
    assert!(seen.check_and_record(NoveltyKind::Rule, b"r", day + 24, 0));
    assert!(seen.check_and_record(NoveltyKind::Rule, b"r", day, 0));
    assert!(!seen.check_and_record(NoveltyKind::Rule, b"r", day + 24, 0));
    // Numbers of runs are low: after a change from periods back to runs, known keys are not new again.
    assert!(!seen.check_and_record(NoveltyKind::Rule, b"r", 12, 0));
}

#[test]
fn old_keys_are_dropped() {
    let mut seen = SeenHistory::new(3);
    let mut at = |day: i64, report_seq, key: &[u8]| {
        let is_new = seen.check_and_record(NoveltyKind::Client, key, report_seq, day * 24 * HOUR);
        seen.prune(day * 24 * HOUR, 7 * DAY);
        is_new
    };
    assert!(at(0, 1, b"a"));
    assert!(at(4, 2, b"b"));
    assert!(!at(7, 3, b"a"));
    assert!(!at(8, 4, b"b"));
    assert!(!at(14, 5, b"a"));
    assert!(!at(21, 6, b"a"));
    assert!(at(22, 7, b"b"), "unseen for 14 days");
}

#[test]
fn a_clock_that_jumps_ahead_ages_nothing() {
    let (mut seen, now) = (SeenHistory::new(3), 1_793_577_600);
    seen.check_and_record(NoveltyKind::Path, b"/a", 1, now);
    for wrong in [now + 10 * 365 * 24 * HOUR, 0, i64::MAX, i64::MIN, now] {
        seen.prune(wrong, 30 * DAY);
    }
    assert!(!seen.check_and_record(NoveltyKind::Path, b"/a", 2, now));
}

#[test]
fn a_full_history_is_small_and_complete() {
    let (mut seen, mut now) = (SeenHistory::new(0x0123_4567_89ab_cdef), 1_793_577_600);
    let budgets = [
        (NoveltyKind::Answer, 8_000),
        (NoveltyKind::Rule, 12_000),
        (NoveltyKind::Path, 72_000),
        (NoveltyKind::Client, 40_000),
        (NoveltyKind::Campaign, 4_000),
    ];
    for (kind, most) in budgets {
        for key in 0..most + 1_000_u32 {
            now += HOUR;
            assert!(seen.check_and_record(kind, &key.to_be_bytes(), 1_000_000 + key, now));
        }
    }
    // Written before the end of the run.
    let text = serde_json::to_string(&seen).unwrap();
    assert!(text.len() < 3_000_000, "{}", text.len());
    assert!(text.len() > 20 * 136_000);
    let again: SeenHistory = serde_json::from_str(&text).unwrap();
    seen.prune(now, Duration::MAX);
    assert_eq!(again, seen);
    assert!(!seen.check_and_record(NoveltyKind::Path, &72_999_u32.to_be_bytes(), 5_000_000, 0), "the latest stay");
    assert!(seen.check_and_record(NoveltyKind::Path, &0_u32.to_be_bytes(), 5_000_000, 0), "the earliest are called new again");
}

#[test]
fn invalid_texts_are_rejected() {
    let one = "AAAAAAAAAAAAAABNAAAA";
    let other = "AAAAAAAAAAEAAABNAAAA";
    let reads = |text: &str| serde_json::from_str::<SeenKeys<9>>(&format!("\"{text}\"")).is_ok();
    assert!(reads("") && reads(one) && reads(&format!("{one}{other}")));
    for text in [
        &one[1..],
        &format!("{one}="),
        &format!("{one}A"),
        &format!("{one}AAAA"),
        &format!("{one}{one}"),
        &format!("{other}{one}"),
        &one.replace('N', "-"),
        &one.replace('N', " "),
        &one.replace('N', "é"),
    ] {
        assert!(!reads(text), "{text}");
    }
    let whole = serde_json::to_string(&few()).unwrap();
    assert!(serde_json::from_str::<SeenHistory>(&whole).is_ok());
    for (from, to) in
        [("\"seed\"", "\"sead\""), ("\"paths\":\"", "\"paths\":\"x"), ("{\"seed\"", "{\"more\":1,\"seed\""), ("\"hours\":", "\"hours\":-")]
    {
        assert!(serde_json::from_str::<SeenHistory>(&whole.replacen(from, to, 1)).is_err(), "{from}");
    }
    for foreign in ["", "null", "[]", "{}", "7", r#"{"seed":1}"#] {
        assert!(serde_json::from_str::<SeenHistory>(foreign).is_err(), "{foreign}");
    }
}

#[test]
fn it_holds_no_text() {
    let mut seen = SeenHistory::new(5);
    seen.check_and_record(NoveltyKind::Client, b"192.0.2.7", 1, 0);
    let text = serde_json::to_string(&seen).unwrap();
    assert!(!text.contains("192.0"), "{text}");
}
