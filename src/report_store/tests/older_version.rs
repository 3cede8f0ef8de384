//! Folders that version 0.1.0 left when it was killed while it emptied `.run-N.tmp`: recovered if the new reports exist, and
//! otherwise set aside.

use std::time::SystemTime;

use crate::report_store::tests::*;

const DAYS: [&str; 2] = ["2026-11-19", "2026-11-20"];

/// Days of which the second run replaced all, with the old ones in `.run-2.tmp`. Returns that run, which is committed.
fn replaced(out: &Path) -> Run {
    publish(out, 1, &DAYS, "one");
    for day in DAYS {
        let report = File::options().append(true).open(out.join(day).join(REPORT)).unwrap();
        report.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    let run = stage(&open(out), 2, &DAYS, "two").unwrap();
    for day in DAYS {
        renameat_with(CWD, out.join(day), CWD, out.join(".run-2.tmp").join(day), RenameFlags::EXCHANGE).unwrap();
    }
    fs::rename(out.join(".run-2.tmp/latest"), out.join(LATEST)).unwrap();
    run
}

/// All orders of these items.
fn permutations(items: &[String]) -> Vec<Vec<String>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let inserted = |order: Vec<String>| (0..=order.len()).map(move |at| [&order[..at], std::slice::from_ref(first), &order[at..]].concat());
    permutations(rest).into_iter().flat_map(inserted).collect()
}

/// Removes everything in this order until `most` entries are removed. Returns whether that was the end.
fn removed(dir: &Path, order: &[String], most: usize) -> bool {
    let files = |name: &String| match fs::read_dir(dir.join(name)) {
        Ok(_) => names(&dir.join(name)).into_iter().map(|file| format!("{name}/{file}")).chain([name.clone()]).collect(),
        Err(_) => vec![name.clone()],
    };
    let entries: Vec<String> = order.iter().flat_map(files).collect();
    for entry in entries.iter().take(most) {
        let path = dir.join(entry);
        if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }.unwrap();
    }
    most >= entries.len()
}

fn assert_recovered(out: &Path, run: &Run, what: &dyn std::fmt::Debug) {
    for _ in 0..2 {
        open(out).recover(Some(run)).unwrap();
        assert_eq!((reports(out), hidden(out)), (expected(&DAYS.map(|day| (day, "two"))), vec![]), "{what:?}");
    }
}

/// Killed at each removal, in every order of the listing.
#[test]
fn a_clean_up_is_finished() {
    let entries = [".new-2026-11-19", ".new-2026-11-20", "2026-11-19", "2026-11-20"].map(str::to_owned);
    for order in permutations(&entries) {
        for most in 0.. {
            let (_temp_dir, out) = staging_folder();
            let run = replaced(&out);
            let is_end = removed(&out.join(".run-2.tmp"), &order, most);
            assert_recovered(&out, &run, &(&order, most));
            if is_end {
                break;
            }
        }
    }
}

/// Killed again while it put the old days, in any state, into the place of the new ones: before the second of two steps, and
/// before it emptied the new ones.
#[test]
fn new_days_are_put_back() {
    for most in 0..4 {
        for steps in 0..=2 {
            let (_temp_dir, out) = staging_folder();
            let run = replaced(&out);
            let staged = out.join(".run-2.tmp");
            fs::remove_file(staged.join(".new-2026-11-19")).unwrap();
            removed(&staged, &["2026-11-19".to_owned()], most);
            if steps > 0 && most < 3 {
                fs::rename(out.join("2026-11-19"), staged.join(".old-2026-11-19")).unwrap();
            }
            if steps > 1 && most < 3 {
                fs::rename(staged.join("2026-11-19"), out.join("2026-11-19")).unwrap();
            }
            assert_recovered(&out, &run, &(most, steps));
        }
    }
}

/// Before the commit of a run that never moved anything, and after it: nothing was emptied.
#[test]
fn a_run_that_was_not_published_is_published() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &DAYS, "one");
    let run = stage(&open(&out), 2, &DAYS, "two").unwrap();
    for day in DAYS {
        fs::remove_file(out.join(".run-2.tmp").join(format!(".new-{day}"))).unwrap();
        // A clock that was set back does not matter.
        let report = File::options().append(true).open(out.join(day).join(REPORT)).unwrap();
        report.set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    }
    assert_recovered(&out, &run, &"0.1.0 without hard links");
}

/// What is left of a day whose new report is lost.
#[test]
fn a_folder_without_its_report_is_set_aside() {
    for left in [&[][..], &["pairs.csv"], &["clients.csv", "report.html", "summary.txt"], &["pairs.csv", REPORT]] {
        let (_temp_dir, out) = staging_folder();
        publish(&out, 1, &DAYS, "one");
        let day = out.join(DAYS[0]);
        for round in 0..2 {
            fs::remove_dir_all(&day).unwrap();
            fs::create_dir(&day).unwrap();
            for file in left {
                fs::write(day.join(file), "").unwrap();
            }
            let store = open(&out);
            let mut staging = store.stage(2).unwrap();
            let aside = out.join(if round == 0 { "2026-11-19.incomplete" } else { "2026-11-19.incomplete.incomplete" });
            assert_eq!(staging.folder(DAYS[0]).unwrap(), Some(aside.clone()));
            write(&mut staging, "pairs.csv", "two").unwrap();
            write(&mut staging, REPORT, "{\"generated_by\":\"probewatch\",\"text\":\"two\"}").unwrap();
            assert_eq!(staging.folder(DAYS[1]).unwrap(), None);
            write(&mut staging, "pairs.csv", "two").unwrap();
            write(&mut staging, REPORT, "{\"generated_by\":\"probewatch\",\"text\":\"two\"}").unwrap();
            store.publish(&staging.finish().unwrap()).unwrap();
            assert_eq!(
                (reports(&out), names(&aside)),
                (expected(&DAYS.map(|day| (day, "two"))), left.iter().map(ToString::to_string).collect())
            );
        }
    }
}

#[test]
fn a_folder_with_another_file_is_not_set_aside() {
    let (_temp_dir, out) = staging_folder();
    fs::create_dir_all(out.join("2026-11-19")).unwrap();
    for file in ["pairs.csv", "notes.txt"] {
        fs::write(out.join("2026-11-19").join(file), "mine").unwrap();
    }
    let refusal = open(&out).stage(1).unwrap().folder("2026-11-19").unwrap_err().to_string();
    let path = out.join("2026-11-19");
    let what = format!("{0}: it is not a folder of reports; move it away (mv '{0}' '{0}.old') or choose another --out", path.display());
    assert_eq!((refusal, names(&out)), (what, vec!["2026-11-19".to_owned()]));
}
