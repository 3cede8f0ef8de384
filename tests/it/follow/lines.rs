//! Lines that are written in parts, and where a run starts (E20, E22).

use std::io::Write as _;
use std::process::{Command, Stdio};

use super::follower::{Follower, MODES, follow};
use super::writer::{Writer, line};
use super::{assert_complete, stage, works};
use crate::harness::skip;

/// E22. Between the parts the follower read the log: it reported a line of another log.
#[test]
fn a_line_in_three_writes_is_one_line() {
    for mode in MODES {
        let (harness, mut writer) = stage();
        let mut other = Writer::from(harness.path("log/other.log"), 5000);
        let mut follower = follow(&harness, &[mode, &["log"]].concat());
        follower.until_seen(0..10);
        for ends in [[1, 2], [5, 40], [60, line(0).len() - 1]] {
            writer.write_in_parts(&ends, |_| {
                other.write(1);
                follower.until_seen([other.next() - 1]);
            });
            follower.until_seen([writer.next() - 1]);
        }
        assert_complete(&harness, follower, &mut other);
    }
}

/// E20. Writes through a map cause no events, and before the lines are written, the file has zeros
/// there.
#[test]
fn a_log_written_through_a_map() {
    let python = "import mmap, sys
with open(sys.argv[1], 'r+b') as log:
    log.truncate(4096)
    with mmap.mmap(log.fileno(), 0) as view:
        at = 0
        for line in sys.stdin:
            view[at:at + len(line)] = line.encode()
            at += len(line)
";
    if !works(Command::new("python3").args(["-c", "pass"])) {
        return skip("E20", "python3 is not installed");
    }
    for mode in MODES {
        let (harness, mut writer) = stage();
        let mapped = harness.file("log/mapped.log", "");
        let mut follower = follow(&harness, &[mode, &["log"]].concat());
        follower.until_seen(0..10);
        let mut server = Command::new("python3")
            .args(["-uc", python])
            .arg(&mapped)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = server.stdin.take().unwrap();
        follower.until_process("the log has its length", |_| {
            mapped.metadata().unwrap().len() == 4096
        });
        for number in 800..803 {
            // A later line of another log was read, so the zeros were read too.
            writer.write(1);
            follower.until_seen([writer.next() - 1]);
            lines.write_all(line(number).as_bytes()).unwrap();
            follower.until_seen([number]);
        }
        drop(lines);
        assert!(server.wait().unwrap().success());
        assert_complete(&harness, follower, &mut writer);
    }
}

/// Without `--from-start` only new lines are reported, and none is missed after it is ready.
#[test]
fn a_run_starts_at_the_end_by_default() {
    let (harness, mut writer) = stage();
    let socket = super::actions::socket(&harness.path("ready"));
    let mut command = harness.command(["follow", "-f", "ndjson", "--only", "vcs/git", "log"]);
    let mut follower = Follower::start(command.env("NOTIFY_SOCKET", harness.path("ready")));
    super::actions::read_until(&socket, "READY=1");
    writer.write(5);
    follower.until_seen(10..15);
    // Files that appear later in a followed folder are read from their first line.
    let mut late = Writer::from(harness.path("log/late.log"), 100);
    late.write(5);
    follower.until_seen(100..105);
    assert_eq!(follower.end().hits.len(), 10);
}
