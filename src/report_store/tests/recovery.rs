//! After any failed call, and after an interruption at any call, the next start results in exactly
//! the committed reports, complete. An index is replaced as a whole, and nothing else is replaced
//! by it.

use std::os::unix::fs::symlink;

use rustix::io::Errno;

use crate::report_store::tests::faults::{Fault, FileSystem, has_struck, is_durable, plan, step};
use crate::report_store::tests::*;

/// What a state would contain: the last run, and with it all reports that should exist.
#[derive(Debug, Clone, Default)]
struct Book {
    run: Option<Run>,
    reports: Reports,
    latest: String,
}

/// Another run.
struct Next {
    folders: &'static [&'static str],
    text: &'static str,
    keep: Retention,
    latest: &'static str,
}

const ALL: Retention = Retention {
    runs: None,
    age: None,
};

/// The clock of all runs.
const NOW: &str = "2026-11-23T00:00:00Z";

fn next(book: &Book, out: &Path, next: &Next) -> (Book, Result<(), ReportStoreError>) {
    let mut book = book.clone();
    let mut run = || {
        let store = try_open(out, PRIVATE)?;
        faults::clear_changes();
        store.recover(book.run.as_ref())?;
        assert!(
            !faults::removed_too_early(),
            "a power cut must not undo a move whose leftovers are gone"
        );
        faults::clear_changes();
        let number = book
            .run
            .as_ref()
            .map_or(0, |run| run.number)
            .max(store.last_run_number()?)
            + 1;
        let clock = store.clock(None, at(NOW), &[], next.keep)?;
        let run = stage(&store, number, next.folders, next.text)?;
        assert!(
            is_durable(),
            "a power cut after the commit must not take anything of it"
        );
        step().map_err(|error| ReportStoreError::failed("save", out.into(), error))?;
        book.reports.extend(
            next.folders
                .iter()
                .map(|name| ((*name).to_owned(), next.text.to_owned())),
        );
        (book.latest, book.run) = (next.latest.into(), Some(run.clone()));
        store.publish(&run)?;
        store.prune(next.keep, clock)?;
        assert!(
            !faults::removed_too_early(),
            "a power cut must not undo a move whose leftovers are gone"
        );
        Ok(())
    };
    let done = run();
    (book, done)
}

/// What the next run does first, and retention.
fn recover(book: &Book, out: &Path, keep: Retention) -> Result<(), ReportStoreError> {
    let store = try_open(out, PRIVATE)?;
    store.recover(book.run.as_ref())?;
    store
        .prune(keep, store.clock(None, at(NOW), &[], keep)?)
        .map(|_| ())
}

fn check(book: &Book, out: &Path, keep: Retention, what: &dyn std::fmt::Debug) {
    let mut expected = book.reports.clone();
    let drop = expected
        .len()
        .saturating_sub(keep.runs.unwrap_or(usize::MAX));
    expected = expected.into_iter().skip(drop).collect();
    assert_eq!(reports(out), expected, "{what:?}");
    assert_eq!(hidden(out), [""; 0], "{what:?}");
    let left: Vec<_> = names(out)
        .into_iter()
        .filter(|name| !expected.contains_key(name))
        .collect();
    assert_eq!(left.is_empty(), expected.is_empty(), "{what:?}");
    if !expected.is_empty() {
        assert_eq!(
            (left, latest(out)),
            (vec![LATEST.into()], book.latest.clone()),
            "{what:?}"
        );
    }
}

/// Earlier runs, and then one with the fault at this call.
struct World {
    _temp_dir: TempDir,
    out: PathBuf,
    book: Book,
    has_struck: bool,
    done: Result<(), ReportStoreError>,
}

fn world((before, then): &(Vec<Next>, Next), call: usize, fault: Fault) -> World {
    let (staging_folder, out) = staging_folder();
    plan(None);
    let mut book = Book::default();
    for run in before {
        let (now, done) = next(&book, &out, run);
        done.unwrap();
        book = now;
        check(&book, &out, run.keep, &"before");
    }
    plan(Some((call, fault)));
    let (book, done) = next(&book, &out, then);
    let has_struck = has_struck();
    plan(None);
    World {
        _temp_dir: staging_folder,
        out,
        book,
        has_struck,
        done,
    }
}

/// The fault at every call in turn, then a start and another run.
fn at_every_call(runs: &(Vec<Next>, Next), fault: Fault) {
    let further = Next {
        folders: &["000009-20261122T235959Z"],
        text: "further",
        keep: ALL,
        latest: "000009-20261122T235959Z",
    };
    for call in 1.. {
        let World {
            _temp_dir,
            out,
            book,
            has_struck,
            done,
        } = world(runs, call, fault);
        assert_eq!(
            has_struck,
            done.is_err(),
            "{fault:?} at call {call}: {done:?}"
        );
        // What readers see is complete at every instant.
        reports(&out);
        recover(&book, &out, runs.1.keep).unwrap();
        check(&book, &out, runs.1.keep, &(fault, call));
        let mut expected = reports(&out);
        expected.insert(further.latest.into(), further.text.into());
        let (book, done) = next(&book, &out, &further);
        done.unwrap();
        check(
            &Book {
                reports: expected,
                ..book
            },
            &out,
            ALL,
            &(fault, call),
        );
        if !has_struck {
            assert!(call > 20, "{call} calls were seen");
            return;
        }
    }
}

fn runs() -> (Vec<Next>, Next) {
    let keep = Retention {
        runs: Some(2),
        age: None,
    };
    let one = Next {
        folders: &[RUN_1],
        text: "one",
        keep,
        latest: RUN_1,
    };
    let two = Next {
        folders: &[RUN_2],
        text: "two",
        keep,
        latest: RUN_2,
    };
    (
        vec![one, two],
        Next {
            folders: &[RUN_3],
            text: "three",
            keep,
            latest: RUN_3,
        },
    )
}

const FAULTS: [Fault; 4] = [
    Fault::Dies,
    Fault::Fails(Errno::IO),
    Fault::Fails(Errno::NOSPC),
    Fault::Fails(Errno::ROFS),
];

#[test]
fn faults_in_the_first_run() {
    let (_, then) = runs();
    let runs = (Vec::new(), then);
    for fault in FAULTS {
        at_every_call(&runs, fault);
    }
}

#[test]
fn faults_in_a_run_with_retention() {
    for fault in FAULTS {
        at_every_call(&runs(), fault);
    }
}

/// One day that is replaced and one that is new: its clean-up removes three entries.
fn days() -> (Vec<Next>, Next) {
    let one = Next {
        folders: &["2026-11-20"],
        text: "one",
        keep: ALL,
        latest: "2026-11-20",
    };
    (
        vec![one],
        Next {
            folders: &["2026-11-20", "2026-11-21"],
            text: "two",
            keep: ALL,
            latest: "2026-11-21",
        },
    )
}

/// Two hours that are replaced, and retention.
fn hours() -> (Vec<Next>, Next) {
    let keep = Retention {
        runs: Some(2),
        age: None,
    };
    let one = Next {
        folders: &["2026-11-20T08", "2026-11-20T09", "2026-11-20T10"],
        text: "one",
        keep,
        latest: "2026-11-20T10",
    };
    (
        vec![one],
        Next {
            folders: &["2026-11-20T09", "2026-11-20T10"],
            text: "two",
            keep,
            latest: "2026-11-20T10",
        },
    )
}

/// File systems of each kind, with each order of a listing of three entries.
fn file_systems() -> impl Iterator<Item = FileSystem> {
    let kinds = [(true, true), (false, true), (true, false)];
    kinds.into_iter().flat_map(|(can_exchange, can_link)| {
        (0..6).map(move |order| FileSystem {
            can_exchange,
            can_link,
            order,
        })
    })
}

#[test]
fn faults_while_days_are_replaced() {
    for file_system in file_systems() {
        faults::set_file_system(file_system);
        // A run that fails does not go on, whatever the order.
        for fault in FAULTS
            .into_iter()
            .filter(|fault| file_system.order == 0 || *fault == Fault::Dies)
        {
            at_every_call(&days(), fault);
        }
    }
}

/// The clean-up removes four entries of `.run-2.tmp`, of which there are 24 orders.
#[test]
fn an_end_while_hours_are_replaced_in_every_order() {
    for order in 0..24 {
        faults::set_file_system(FileSystem {
            can_exchange: true,
            can_link: true,
            order,
        });
        at_every_call(&hours(), Fault::Dies);
    }
}

/// Interrupted once, and again at every call while the next run recovers.
fn twice(runs: &(Vec<Next>, Next), second: Fault) {
    let mut most = 0;
    for call in 1.. {
        for again in 1.. {
            let World {
                _temp_dir,
                out,
                book,
                has_struck,
                ..
            } = world(runs, call, Fault::Dies);
            if !has_struck {
                assert!(
                    call > 20 && most > 5,
                    "{call} and then {most} calls were seen"
                );
                return;
            }
            plan(Some((again, second)));
            let done = recover(&book, &out, runs.1.keep);
            let has_struck = faults::has_struck();
            plan(None);
            assert_eq!(
                has_struck,
                done.is_err(),
                "{second:?} at call {again} after the end at call {call}: {done:?}"
            );
            recover(&book, &out, runs.1.keep).unwrap();
            check(&book, &out, runs.1.keep, &(call, again));
            if !has_struck {
                most = most.max(again);
                break;
            }
        }
    }
}

#[test]
fn faults_in_a_run_and_again_in_the_recovery() {
    twice(&runs(), Fault::Dies);
    // The order matters most where folders are swapped.
    for file_system in
        file_systems().filter(|kind| kind.order == 0 || (kind.can_exchange && kind.can_link))
    {
        faults::set_file_system(file_system);
        twice(&days(), Fault::Dies);
    }
    faults::set_file_system(FileSystem {
        can_exchange: true,
        can_link: true,
        order: 0,
    });
    twice(&days(), Fault::Fails(Errno::IO));
}

/// Some file systems cannot create symbolic links or sync folders, and return an error.
#[test]
fn unsupported_calls_are_skipped() {
    let (_, then) = runs();
    let runs = (Vec::new(), then);
    for (error, passes, has_latest) in [(Errno::PERM, 1, false), (Errno::INVAL, 6, true)] {
        let mut passed = 0;
        for call in 1.. {
            let World {
                _temp_dir,
                out,
                book,
                has_struck,
                done,
            } = world(&runs, call, Fault::Fails(error));
            if !has_struck {
                break;
            }
            if done.is_ok() {
                passed += 1;
                assert_eq!((reports(&out), hidden(&out)), (book.reports, vec![]));
                assert_eq!(out.join(LATEST).symlink_metadata().is_ok(), has_latest);
            }
        }
        assert_eq!(passed, passes, "{error}");
    }
}

/// A state that was reset or restored from a backup does not contain a run that was committed and
/// not published.
#[test]
fn a_replaced_day_is_restored_if_no_state_has_the_new_one() {
    for file_system in file_systems() {
        faults::set_file_system(file_system);
        for call in 1.. {
            let World {
                _temp_dir,
                out,
                has_struck,
                ..
            } = world(&days(), call, Fault::Dies);
            open(&out).recover(None).unwrap();
            let there = reports(&out);
            assert!(there.contains_key("2026-11-20"), "{call}: {there:?}");
            assert_eq!(hidden(&out), [""; 0]);
            if !has_struck {
                break;
            }
        }
    }
}

/// A copy of all folders, as in a backup: each name of a file gets a file of its own, and new
/// times.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        let kind = from.symlink_metadata().unwrap().file_type();
        if kind.is_dir() {
            copy(&from, &to);
        } else if kind.is_symlink() {
            symlink(fs::read_link(from).unwrap(), to).unwrap();
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

#[test]
fn an_interrupted_run_is_completed_in_a_copy() {
    for file_system in file_systems() {
        faults::set_file_system(file_system);
        for call in 1.. {
            let World {
                _temp_dir,
                out,
                book,
                has_struck,
                ..
            } = world(&days(), call, Fault::Dies);
            let copied = out.with_file_name("copy");
            copy(&out, &copied);
            open(&copied).recover(book.run.as_ref()).unwrap();
            check(&book, &copied, ALL, &(file_system, call));
            if !has_struck {
                break;
            }
        }
    }
}

const OLD: &str = "<meta name=\"generator\" content=\"probewatch 1\">old";
const NEW: &str = "<meta name=\"generator\" content=\"probewatch 1\">new";

#[test]
fn an_index_is_old_or_new_at_every_call() {
    for fault in [
        Fault::Dies,
        Fault::Fails(Errno::IO),
        Fault::Fails(Errno::NOSPC),
    ] {
        for at in 1..100 {
            let (_temp_dir, out) = staging_folder();
            let store = open(&out);
            store.replace_index(OLD.as_bytes()).unwrap();
            plan(Some((at, fault)));
            let done = store.replace_index(NEW.as_bytes());
            let struck = has_struck();
            plan(None);
            let text = fs::read_to_string(out.join("index.html")).unwrap();
            assert!(
                if done.is_ok() {
                    text == NEW
                } else {
                    [OLD, NEW].contains(&text.as_str())
                },
                "{fault:?} at {at}: {text}"
            );
            store.recover(None).unwrap();
            assert!(hidden(&out).is_empty(), "{fault:?} at {at}");
            store.replace_index(NEW.as_bytes()).unwrap();
            assert_eq!(
                (
                    fs::read_to_string(out.join("index.html")).unwrap().as_str(),
                    mode(out.join("index.html"))
                ),
                (NEW, 0o600)
            );
            if !struck {
                assert!(at > 5, "too few calls");
                break;
            }
        }
    }
}

#[test]
fn an_index_is_synced() {
    let (_temp_dir, out) = staging_folder();
    let store = open(&out);
    plan(None);
    store.replace_index(NEW.as_bytes()).unwrap();
    assert!(is_durable());
}

#[test]
fn only_an_index_is_replaced() {
    let (_temp_dir, out) = staging_folder();
    let store = open(&out);
    store.check_index().unwrap();
    fs::write(out.join("index.html"), "mine").unwrap();
    assert!(store.check_index().is_err() && store.replace_index(NEW.as_bytes()).is_err());
    assert_eq!(fs::read_to_string(out.join("index.html")).unwrap(), "mine");
    fs::remove_file(out.join("index.html")).unwrap();
    symlink("/etc/passwd", out.join("index.html")).unwrap();
    assert!(store.check_index().is_err() && store.replace_index(NEW.as_bytes()).is_err());
    fs::remove_file(out.join("index.html")).unwrap();
    fs::create_dir(out.join("index.html")).unwrap();
    assert!(store.check_index().is_err() && store.replace_index(NEW.as_bytes()).is_err());
}

#[test]
fn reports_are_listed_from_the_newest() {
    let (_temp_dir, out) = staging_folder();
    publish(&out, 1, &[RUN_1], "one");
    publish(&out, 2, &[RUN_2, "2026-11-20"], "two");
    fs::create_dir(out.join(RUN_3)).unwrap();
    assert_eq!(
        open(&out).reports().unwrap(),
        ["2026-11-20", RUN_2, RUN_1],
        "an empty folder is no report"
    );
}
