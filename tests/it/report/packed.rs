//! Rotated logs that are packed while `report` runs from cron, in every packing.

use std::fs;

use super::rig::{Out, QUICK, report, well};
use super::site::{LOG, Site, numbered};
use crate::packing::PACKINGS;
use crate::rig::Rig;

/// C10, C11. Packed between two runs, and a run while it is being packed.
#[test]
fn a_rotated_log_is_counted_once_however_it_is_packed() {
    for packing in PACKINGS {
        let rig = Rig::new();
        let mut site = Site::new(&rig);
        site.write(300);
        site.run(&[]);
        site.write(20);
        site.rotate();
        site.reopen();
        site.write(5);
        let (plain, done) = (rig.path(format!("{LOG}.1")), rig.path(format!("{LOG}.1.{}", packing.ending())));
        let packed = packing.pack(&fs::read(&plain).unwrap());
        fs::write(&done, &packed[..packed.len() / 2]).unwrap();
        site.run(&[]);
        site.settle(&format!("{packing:?} half packed"));
        fs::write(&done, &packed).unwrap();
        fs::remove_file(&plain).unwrap();
        site.write(5);
        site.run(&[]);
        site.settle(&format!("{packing:?} packed"));
        site.run(&[]);
        site.settle(&format!("{packing:?} again"));
    }
}

/// C10. Lines that nobody read before the log was packed.
#[test]
fn what_was_packed_unread_is_read_there() {
    for packing in PACKINGS {
        let rig = Rig::new();
        let mut site = Site::new(&rig);
        site.write(300);
        site.run(&[]);
        site.write(300);
        site.rotate();
        site.reopen();
        site.write(5);
        let plain = rig.path(format!("{LOG}.1"));
        fs::write(rig.path(format!("{LOG}.1.{}", packing.ending())), packing.pack(&fs::read(&plain).unwrap())).unwrap();
        fs::remove_file(&plain).unwrap();
        site.run(&[]);
        site.settle(&format!("{packing:?}"));
    }
}

/// C11, C12. A log that is written packed, part by part, as nginx does with `gzip` and `flush`.
#[test]
fn a_packed_log_that_grows_is_counted_part_by_part() {
    for packing in PACKINGS {
        let rig = Rig::new();
        let part = |from: u64| packing.pack((from..from + 50).map(numbered).collect::<String>().as_bytes());
        let parts = [part(0), part(50), part(100), part(150)];
        let args = [&QUICK[..], &["grown"]].concat();
        let hits = || Out::read(&rig).sums().get("hits");
        rig.file("grown", &parts[0]);
        well(&rig, &args);
        assert_eq!(hits(), 50, "{packing:?}");
        rig.file("grown", [&parts[0][..], &parts[1][..parts[1].len() / 2]].concat());
        report(&rig, &args);
        assert_eq!(hits(), 50, "{packing:?}: half a part is nobody's yet");
        rig.file("grown", parts[..2].concat());
        well(&rig, &args);
        assert_eq!(hits(), 100, "{packing:?}");
        rig.file("grown", parts.concat());
        well(&rig, &args);
        well(&rig, &args);
        assert_eq!(hits(), 200, "{packing:?}");
    }
}
