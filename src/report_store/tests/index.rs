//! The index is replaced as a whole, and nothing else is replaced by it.

use std::os::unix::fs::symlink;

use rustix::io::Errno;

use crate::report_store::tests::faults::{Fault, has_struck, is_durable, plan};
use crate::report_store::tests::*;

const OLD: &str = "<meta name=\"generator\" content=\"probewatch 1\">old";
const NEW: &str = "<meta name=\"generator\" content=\"probewatch 1\">new";

#[test]
fn an_index_is_old_or_new_at_every_call() {
    for fault in [Fault::Dies, Fault::Fails(Errno::IO), Fault::Fails(Errno::NOSPC)] {
        for at in 1..100 {
            let (_room, out) = staging_folder();
            let store = open(&out);
            store.replace_index(OLD.as_bytes()).unwrap();
            plan(Some((at, fault)));
            let done = store.replace_index(NEW.as_bytes());
            let struck = has_struck();
            plan(None);
            let text = fs::read_to_string(out.join("index.html")).unwrap();
            assert!(if done.is_ok() { text == NEW } else { [OLD, NEW].contains(&text.as_str()) }, "{fault:?} at {at}: {text}");
            store.recover(None).unwrap();
            assert!(hidden(&out).is_empty(), "{fault:?} at {at}");
            store.replace_index(NEW.as_bytes()).unwrap();
            assert_eq!((fs::read_to_string(out.join("index.html")).unwrap().as_str(), mode(out.join("index.html"))), (NEW, 0o600));
            if !struck {
                assert!(at > 5, "too few calls");
                break;
            }
        }
    }
}

#[test]
fn an_index_is_synced() {
    let (_room, out) = staging_folder();
    let store = open(&out);
    plan(None);
    store.replace_index(NEW.as_bytes()).unwrap();
    assert!(is_durable());
}

#[test]
fn only_an_index_is_replaced() {
    let (_room, out) = staging_folder();
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
    let (_room, out) = staging_folder();
    publish(&out, 1, &[RUN_1], "one");
    publish(&out, 2, &[RUN_2, "2026-11-20"], "two");
    fs::create_dir(out.join(RUN_3)).unwrap();
    assert_eq!(open(&out).reports().unwrap(), ["2026-11-20", RUN_2, RUN_1], "an empty folder is no report");
}
