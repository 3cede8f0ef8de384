//! Rotated logs that are compressed while `report` runs from cron, in every format.

use std::fs;

use super::harness::{Out, QUICK, report, report_ok};
use super::site::{LOG, Site, numbered};
use crate::compression::COMPRESSIONS;
use crate::harness::Harness;

/// C10, C11. Compressed between two runs, and a run during compression.
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
        let (plain, done) = (
            harness.path(format!("{LOG}.1")),
            harness.path(format!("{LOG}.1.{}", compression.ending())),
        );
        let compressed = compression.pack(&fs::read(&plain).unwrap());
        fs::write(&done, &compressed[..compressed.len() / 2]).unwrap();
        site.run(&[]);
        site.assert_complete(&format!("{compression:?} half compressed"));
        fs::write(&done, &compressed).unwrap();
        fs::remove_file(&plain).unwrap();
        site.write(5);
        site.run(&[]);
        site.assert_complete(&format!("{compression:?} compressed"));
        site.run(&[]);
        site.assert_complete(&format!("{compression:?} again"));
    }
}

/// C10. Lines that were not read before the log was compressed.
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
        fs::write(
            harness.path(format!("{LOG}.1.{}", compression.ending())),
            compression.pack(&fs::read(&plain).unwrap()),
        )
        .unwrap();
        fs::remove_file(&plain).unwrap();
        site.run(&[]);
        site.assert_complete(&format!("{compression:?}"));
    }
}

/// C11, C12. A log that is written compressed, part by part, as nginx does with `gzip` and `flush`.
#[test]
fn a_growing_compressed_log_counts_part_by_part() {
    for compression in COMPRESSIONS {
        let harness = Harness::new();
        let part = |from: u64| {
            compression.pack(
                (from..from + 50)
                    .map(numbered)
                    .collect::<String>()
                    .as_bytes(),
            )
        };
        let parts = [part(0), part(50), part(100), part(150)];
        let args = [&QUICK[..], &["grown"]].concat();
        let hits = || Out::read(&harness).sums().get("hits");
        harness.file("grown", &parts[0]);
        report_ok(&harness, &args);
        assert_eq!(hits(), 50, "{compression:?}");
        harness.file(
            "grown",
            [&parts[0][..], &parts[1][..parts[1].len() / 2]].concat(),
        );
        report(&harness, &args);
        assert_eq!(
            hits(),
            50,
            "{compression:?}: a partial part does not count yet"
        );
        harness.file("grown", parts[..2].concat());
        report_ok(&harness, &args);
        assert_eq!(hits(), 100, "{compression:?}");
        harness.file("grown", parts.concat());
        report_ok(&harness, &args);
        report_ok(&harness, &args);
        assert_eq!(hits(), 200, "{compression:?}");
    }
}
