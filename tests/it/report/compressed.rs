//! Rotated logs that are packed while `report` runs from cron, in every packing.

use std::fs;

use super::harness::{Out, QUICK, report, well};
use super::site::{LOG, Site, numbered};
use crate::compression::COMPRESSIONS;
use crate::harness::Harness;

/// C10, C11. Packed between two runs, and a run while it is being packed.
#[test]
fn a_rotated_log_counts_once_with_any_compression() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        let mut site = Site::new(&harness);
        site.write(300);
        site.run(&[]);
        site.write(20);
        site.rotate();
        site.reopen();
        site.write(5);
        let (plain, done) = (harness.path(format!("{LOG}.1")), harness.path(format!("{LOG}.1.{}", compression.ending())));
        let packed = compression.pack(&fs::read(&plain).unwrap());
        fs::write(&done, &packed[..packed.len() / 2]).unwrap();
        site.run(&[]);
        site.settle(&format!("{compression:?} half packed"));
        fs::write(&done, &packed).unwrap();
        fs::remove_file(&plain).unwrap();
        site.write(5);
        site.run(&[]);
        site.settle(&format!("{compression:?} packed"));
        site.run(&[]);
        site.settle(&format!("{compression:?} again"));
    }
}

/// C10. Lines that nobody read before the log was packed.
#[test]
fn lines_compressed_before_they_were_read_are_read() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        let mut site = Site::new(&harness);
        site.write(300);
        site.run(&[]);
        site.write(300);
        site.rotate();
        site.reopen();
        site.write(5);
        let plain = harness.path(format!("{LOG}.1"));
        fs::write(harness.path(format!("{LOG}.1.{}", compression.ending())), compression.pack(&fs::read(&plain).unwrap())).unwrap();
        fs::remove_file(&plain).unwrap();
        site.run(&[]);
        site.settle(&format!("{compression:?}"));
    }
}

/// C11, C12. A log that is written packed, part by part, as nginx does with `gzip` and `flush`.
#[test]
fn a_growing_compressed_log_counts_part_by_part() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        let part = |from: u64| compression.pack((from..from + 50).map(numbered).collect::<String>().as_bytes());
        let parts = [part(0), part(50), part(100), part(150)];
        let args = [&QUICK[..], &["grown"]].concat();
        let hits = || Out::read(&harness).sums().get("hits");
        harness.file("grown", &parts[0]);
        well(&harness, &args);
        assert_eq!(hits(), 50, "{compression:?}");
        harness.file("grown", [&parts[0][..], &parts[1][..parts[1].len() / 2]].concat());
        report(&harness, &args);
        assert_eq!(hits(), 50, "{compression:?}: half a part is nobody's yet");
        harness.file("grown", parts[..2].concat());
        well(&harness, &args);
        assert_eq!(hits(), 100, "{compression:?}");
        harness.file("grown", parts.concat());
        well(&harness, &args);
        well(&harness, &args);
        assert_eq!(hits(), 200, "{compression:?}");
    }
}
