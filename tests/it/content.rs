//! Log content that no server should write, and valid content that looks wrong.
//!
//! Every line is accounted for, a log without any line that parses never exits with 0, and no
//! content needs much memory. Partial lines at checkpoints (B3) are tested with runs that keep a
//! state.

use std::fs::{self, File};
use std::io::Write as _;

use serde_json::Value;

use crate::harness::{Harness, Rng, Run, finish, line, log, skip};
use crate::memory::bounded;

const PROBE: &str = "GET /.git/config HTTP/1.1";

fn probe() -> String {
    line("192.0.2.1", PROBE, 404)
}

/// `[lines, parsed, unparsed, oversized, hits]`.
fn sums(report: &Value) -> [u64; 5] {
    ["lines", "parsed", "unparsed", "oversized", "hits"]
        .map(|name| report["totals"][name].as_u64().unwrap())
}

/// The report on a log with this content.
fn scan(content: impl AsRef<[u8]>) -> (Run, Value) {
    let harness = Harness::new();
    harness.file("access.log", content);
    harness.json(["access.log"])
}

/// The hits in a readable log with this content.
fn hits(content: impl AsRef<[u8]>) -> Vec<Value> {
    let harness = Harness::new();
    harness.file("access.log", content);
    let run = harness.run([
        "scan",
        "-f",
        "ndjson",
        "--min-severity",
        "info",
        "access.log",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.objects()
}

/// B1.
#[test]
fn an_empty_log_is_accepted() {
    let (run, report) = scan("");
    assert_eq!(
        (run.code, sums(&report), run.stderr.as_str()),
        (0, [0; 5], "")
    );
}

/// B2.
#[test]
fn a_last_line_without_its_newline_counts() {
    let text = log(20) + probe().trim_end();
    assert_eq!(sums(&scan(&text).1), [21, 21, 0, 0, 3]);
    assert_eq!(hits(&text).last().unwrap()["line"], 21);
}

/// Writes `count` bytes of one letter.
fn write_bytes(file: &mut File, count: usize) {
    const STEP: usize = 1 << 20;
    let block = vec![b'A'; STEP];
    for at in (0..count).step_by(STEP) {
        file.write_all(&block[..STEP.min(count - at)]).unwrap();
    }
}

/// B4. With every way of reading, a line that is too long is counted and not kept.
#[test]
fn a_line_of_100_megabytes_needs_little_memory() {
    let harness = Harness::new();
    let path = harness.path("access.log");
    let mut file = File::create(&path).unwrap();
    file.write_all(log(100).as_bytes()).unwrap();
    write_bytes(&mut file, 100_000_000);
    file.write_all(b"\n").unwrap();
    file.write_all(log(100).as_bytes()).unwrap();
    for mmap in ["always", "never"] {
        let run =
            bounded(&mut harness.command(["scan", "-f", "json", "--mmap", mmap, "access.log"]));
        assert_eq!(
            (run.code, sums(&run.json())),
            (0, [201, 200, 0, 1, 20]),
            "{}",
            run.stderr
        );
    }
    let run = bounded(
        harness
            .command(["scan", "-f", "json", "-"])
            .stdin(File::open(&path).unwrap()),
    );
    assert_eq!(
        (run.code, sums(&run.json())),
        (0, [201, 200, 0, 1, 20]),
        "{}",
        run.stderr
    );
}

/// B5.
#[test]
fn a_gigabyte_without_a_newline_needs_little_memory() {
    let harness = Harness::new();
    write_bytes(
        &mut File::create(harness.path("access.log")).unwrap(),
        1 << 30,
    );
    for mmap in ["always", "never"] {
        let run =
            bounded(&mut harness.command(["scan", "-f", "json", "--mmap", mmap, "access.log"]));
        assert_eq!(
            (run.code, sums(&run.json())),
            (3, [1, 0, 0, 1, 0]),
            "{}",
            run.stderr
        );
    }
}

/// B6. By default nginx accepts requests and headers of 8 KiB each.
#[test]
fn lines_of_14_kilobytes_are_parsed() {
    let request = format!("GET /.git/{} HTTP/1.1", "x".repeat(7000));
    let text = line("192.0.2.1", &request, 404).replace("Mozilla/5.0", &"y".repeat(7000));
    assert_eq!(sums(&scan(text.repeat(30)).1), [30, 30, 0, 0, 30]);
    assert_eq!(hits(&text)[0]["user_agent"].as_str().unwrap().len(), 7000);
}

/// B7. The lines around NUL bytes count, and NUL bytes are reported.
#[test]
fn nul_bytes_between_lines_are_reported_and_no_line_is_lost() {
    let nuls = "\0".repeat(100_000);
    for mmap in ["always", "never"] {
        let harness = Harness::new();
        harness.file(
            "access.log",
            probe() + &nuls + &probe() + "192.0.2.9 - -" + &nuls + "\n" + &probe(),
        );
        let (run, report) = harness.json(["--mmap", mmap, "access.log"]);
        assert_eq!((run.code, sums(&report)), (3, [4, 3, 1, 0, 3]));
        assert!(run.stderr.contains("200000 NUL bytes"), "{}", run.stderr);
    }
}

/// B7. The partial line before the NUL bytes and the line after them form one that parses.
#[test]
fn nul_bytes_inside_a_line_are_reported() {
    let torn = probe().replace("config", &("con".to_owned() + &"\0".repeat(4096) + "fig"));
    let (run, report) = scan(probe() + &torn + &probe());
    assert_eq!(
        (run.code, sums(&report)[..3].to_vec()),
        (3, vec![3, 3, 0]),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("4096 NUL bytes"), "{}", run.stderr);
}

/// B7. NULs before a line are no part of its length, however the log is read.
#[test]
fn a_line_after_a_long_run_of_nuls_is_found() {
    let text = probe() + &"\0".repeat(3 << 20) + &probe();
    let harness = Harness::new();
    harness.file("access.log", &text);
    let check = |run: &Run, report: &Value| {
        assert_eq!((run.code, sums(report)), (3, [2, 2, 0, 0, 2]));
        assert!(run.stderr.contains("3145728 NUL bytes"), "{}", run.stderr);
    };
    for mmap in ["always", "never"] {
        let (run, report) = harness.json(["--mmap", mmap, "access.log"]);
        check(&run, &report);
    }
    let run = harness.run_with_stdin(["scan", "-f", "json", "-"], text.as_bytes());
    check(&run, &run.json());
    let log = harness.path("access.log");
    let follow = ["follow", "-q", "-f", "ndjson", "-"];
    let run = finish(harness.command(follow).stdin(File::open(log).unwrap()));
    assert_eq!(run.objects().len(), 2, "{}", run.stderr);
}

/// B7. A file system that reports no holes, or a copy without them, has them as data.
#[test]
fn a_report_continues_after_a_long_run_of_nuls() {
    let harness = Harness::new();
    let report = || harness.run(["report", "--state", "state", "--out", "out", "access.log"]);
    harness.file("access.log", probe());
    assert_eq!(report().code, 0);
    let nuls = probe() + &"\0".repeat(3 << 20);
    harness.file("access.log", &nuls);
    assert_eq!(report().code, 0, "it may be preallocated space");
    harness.file("access.log", nuls.clone() + &probe());
    let run = report();
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(run.stderr.contains("3145728 NUL bytes"), "{}", run.stderr);
    let text = fs::read_to_string(harness.path("out/latest/report.json")).unwrap();
    let input = &serde_json::from_str::<Value>(&text).unwrap()["inputs"][0];
    assert_eq!(input["lines"], 1);
    assert_eq!(input["bytes"], (3 << 20) + probe().len());
    assert!(input["problem"].as_str().unwrap().contains("NUL bytes"));
    harness.file("access.log", nuls + &probe().repeat(2));
    assert_eq!(report().code, 0);
}

/// B8. The result of `copytruncate` if the writer continues at its old offset.
#[test]
fn a_hole_before_the_first_line_is_skipped() {
    for (real, mmap) in [
        (true, "always"),
        (true, "never"),
        (false, "always"),
        (false, "never"),
    ] {
        let harness = Harness::new();
        let zeros = if real { Vec::new() } else { vec![0; 50_001] };
        let path = harness.file("access.log", zeros);
        let mut log = File::options().write(true).open(&path).unwrap();
        std::io::Seek::seek(&mut log, std::io::SeekFrom::Start(50_001)).unwrap();
        log.write_all(probe().repeat(2).as_bytes()).unwrap();
        let run = harness.run(["scan", "-f", "ndjson", "--mmap", mmap, "access.log"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let places: Vec<_> = run
            .objects()
            .iter()
            .map(|hit| (hit["line"].as_u64(), hit["offset"].as_u64()))
            .collect();
        let second = 50_001 + probe().len() as u64;
        assert_eq!(places, [(Some(1), Some(50_001)), (Some(2), Some(second))]);
    }
}

/// B9.
#[test]
fn a_hole_of_100_gigabytes_is_not_read() {
    let harness = Harness::new();
    let path = harness.file("access.log", "");
    if File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_len(100 << 30)
        .is_err()
    {
        return skip(
            "a hole of 100 gigabytes",
            "the file system has no files so large",
        );
    }
    for mmap in ["auto", "always", "never"] {
        let (run, report) = harness.json(["--mmap", mmap, "access.log"]);
        assert_eq!((run.code, sums(&report)), (3, [0; 5]));
        assert!(
            run.stderr.contains("107374182400 NUL bytes"),
            "{}",
            run.stderr
        );
        assert_eq!(report["totals"]["bytes"], 100_u64 << 30);
    }
}

/// B10. Invalid UTF-8 is matched as bytes and printed with escapes.
#[test]
fn invalid_utf_8_is_printed_losslessly() {
    let mut text = Vec::new();
    for part in
        [&b"192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET /.git/\xff\xfe\x80 HTTP/1.1\" 404 5 \"http://\xc3\x28/\" \"\xf0\x9f\xff\"\n"[..];
            2]
    {
        text.extend_from_slice(part);
    }
    let hits = hits(&text);
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0]["target"], r"/.git/\xff\xfe\x80");
    assert_eq!(hits[0]["referer"], r"http://\xc3(/");
    assert_eq!(hits[0]["user_agent"], r"\xf0\x9f\xff");
    let harness = Harness::new();
    harness.file("access.log", &text);
    for format in ["table", "csv", "json"] {
        assert_eq!(
            harness.run(["scan", "-f", format, "access.log"]).code,
            0,
            "{format}"
        );
    }
}

/// B11.
#[test]
fn utf_16_is_refused_by_name() {
    let little: Vec<u8> = log(50).encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = log(50).encode_utf16().flat_map(u16::to_be_bytes).collect();
    for text in [
        [b"\xff\xfe".to_vec(), little.clone()].concat(),
        [b"\xfe\xff".to_vec(), big.clone()].concat(),
        little,
        big,
    ] {
        let (run, report) = scan(text);
        assert_eq!((run.code, sums(&report)), (3, [0; 5]));
        assert!(run.stderr.contains("UTF-16"), "{}", run.stderr);
    }
}

/// B12.
#[test]
fn cr_lf_line_ends_are_accepted() {
    let harness = Harness::new();
    harness.file("access.log", log(300));
    let expected = harness.run(["scan", "-f", "csv", "access.log"]).text();
    harness.file("access.log", log(300).replace('\n', "\r\n"));
    assert_eq!(
        harness.run(["scan", "-f", "csv", "access.log"]).text(),
        expected
    );
    assert_eq!(harness.json(["access.log"]).1["totals"]["unparsed"], 0);
}

/// B13.
#[test]
fn a_byte_order_mark_is_skipped() {
    let text = format!("\u{feff}{}", probe().repeat(2));
    assert_eq!(sums(&scan(&text).1), [2, 2, 0, 0, 2]);
    assert_eq!(hits(&text)[0]["offset"], 3);
    assert_eq!(hits(&text)[0]["client"], "192.0.2.1");
}

/// B14.
#[test]
fn a_single_carriage_return_does_not_end_a_line() {
    let text = line("192.0.2.1", "GET /.git/a\rb HTTP/1.1", 404);
    let hits = hits(&text);
    assert_eq!(
        (hits.len(), &hits[0]["target"]),
        (1, &Value::from(r"/.git/a\x0db"))
    );
}

/// B15. nginx writes `\x22`, its JSON escape and Apache write `\"`. With `escape=none` a quote is
/// not escaped, and the fields to the left of the client's text still parse.
#[test]
fn quotes_within_fields_do_not_shift_fields() {
    for quote in [r"\x22", r#"\""#] {
        let text = line(
            "192.0.2.1",
            &format!("GET /.git/{quote} 200 0 {quote} HTTP/1.1"),
            404,
        )
        .replace("Mozilla/5.0", &format!("a {quote}b{quote} c"));
        let hits = hits(&text);
        assert_eq!(
            (
                hits.len(),
                hits[0]["status"].as_u64(),
                hits[0]["bytes"].as_u64()
            ),
            (1, Some(404), Some(512)),
            "{quote}"
        );
        assert_eq!(hits[0]["user_agent"], format!("a {quote}b{quote} c"));
        assert_eq!(hits[0]["protocol"], "HTTP/1.1");
    }
    for agent in [
        r#"x" 200 0 "-" "y"#,
        r#"" 1.2.3.4 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 0 "-" ""#,
    ] {
        let forged = &hits(line("192.0.2.1", PROBE, 404).replace("Mozilla/5.0", agent))[0];
        assert_eq!(
            (forged["client"].as_str(), forged["status"].as_u64()),
            (Some("192.0.2.1"), Some(404)),
            "{agent}"
        );
    }
}

/// B16. If a server logs newlines of the client, the forged lines cannot be recognised.
#[test]
fn a_forged_line_counts_as_a_line() {
    let forged = line("192.0.2.1", "GET /x HTTP/1.1", 200)
        .replace("Mozilla/5.0", &format!("x\n{}", probe().trim_end()));
    assert_eq!(sums(&scan(forged).1), [2, 2, 0, 0, 1]);
}

/// B17.
#[test]
fn a_tls_hello_is_a_request_without_a_method() {
    let hits = hits(line(
        "192.0.2.1",
        r"\x16\x03\x01\x00\xEE\x01\x00\x00\xEA\x03\x03",
        400,
    ));
    assert_eq!(hits.len(), 1);
    assert!(hits[0]["method"].is_null() && hits[0]["protocol"].is_null());
    assert_eq!(
        (hits[0]["status"].as_u64(), hits[0]["outcome"].as_str()),
        (Some(400), Some("rejected"))
    );
    assert_eq!(hits[0]["classes"], serde_json::json!(["non-http"]));
}

/// B18. What nginx and Apache log for invalid requests.
#[test]
fn malformed_requests_are_parsed() {
    for (request, status) in [
        ("", 400),
        ("", 499),
        ("-", 408),
        ("GET", 400),
        ("GET /", 400),
        (" ", 400),
        ("GET  HTTP/1.1", 400),
    ] {
        let (run, report) = scan(line("192.0.2.1", request, status));
        assert_eq!(
            (run.code, sums(&report)[..3].to_vec()),
            (0, vec![1, 1, 0]),
            "{request:?}"
        );
    }
    let hit = &hits(line("192.0.2.1", "GET /.git/config", 499))[0];
    assert_eq!(
        (hit["target"].as_str(), hit["protocol"].as_str()),
        (Some("/.git/config"), None)
    );
}

/// B19. A full disk truncated the first line, and the second follows directly. If the address is
/// truncated, there is no client.
#[test]
fn a_line_merged_with_half_another_is_matched_without_a_wrong_client() {
    for half in ["1", "192.0.", "198.51.100.7", "pppp"] {
        let (run, report) = scan(log(3) + half + &probe() + &log(3));
        assert_eq!(
            (run.code, sums(&report)[0], sums(&report)[4]),
            (0, 7, 1),
            "{half}"
        );
        let client = report["clients"][0]["client"].as_str().unwrap().to_owned();
        assert!(client != "198.51.100.7", "{half}: {client}");
    }
    for half in [
        "198.51.100.7 - - [02/Nov/20",
        "198.51.100.7 - - [02/Nov/2026:08:01:00 +0000] \"GET /pppp",
    ] {
        assert_eq!(
            sums(&scan(log(3) + half + &probe() + &log(3)).1)[4],
            1,
            "{half}"
        );
    }
}

const NGINX_ERROR: &str = "2026/11/02 08:01:00 [error] 12#12: *1 open() \"/srv/.git/config\" failed (2: No such file or directory), client: 192.0.2.1, server: _, request: \"GET /.git/config HTTP/1.1\", host: \"example.org\"\n";
const APACHE_ERROR: &str = "[Mon Nov 02 08:01:00.123456 2026] [core:error] [pid 12:tid 1] [client 192.0.2.1:555] AH00126: Invalid URI in request GET /.git/config HTTP/1.1\n";

/// B20. A log of another kind that is given by its path is reported as an error.
#[test]
fn other_logs_are_never_scanned_silently() {
    let json = "{\"time\":\"2026-11-02T08:01:00Z\",\"level\":\"error\",\"message\":\"no route to host\"}\n";
    let cron = format!(
        "web1 nginx says {}",
        probe()
            .replace("192.0.2.1", "somebody")
            .replace("404 512", "no")
    );
    for (text, what) in [
        (NGINX_ERROR, "a server's error log"),
        (APACHE_ERROR, "a server's error log"),
        (json, "JSON lines"),
        (&cron, "an access log after the prefix of another writer"),
        (
            "once upon a time\n",
            "none of its 5 lines is in a known format",
        ),
    ] {
        let (run, report) = scan(text.repeat(5));
        assert_eq!(
            (run.code, sums(&report)[..3].to_vec()),
            (3, vec![5, 0, 5]),
            "{text}"
        );
        assert!(
            run.stderr.contains("access.log: ") && run.stderr.contains(what),
            "{}",
            run.stderr
        );
        assert!(
            report["inputs"][0]["problem"]
                .as_str()
                .unwrap()
                .contains(what)
        );
    }
}

/// B20. In a folder with an access log, an error log is skipped and its lines are not counted.
#[test]
fn an_error_log_in_a_folder_is_skipped() {
    for error in [NGINX_ERROR, APACHE_ERROR] {
        let harness = Harness::new();
        harness.file("access.log", log(20));
        harness.file("error.log", error.repeat(9));
        let (run, report) = harness.json(["."]);
        assert_eq!(
            (run.code, sums(&report)),
            (0, [20, 20, 0, 0, 2]),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("error.log: skipped"), "{}", run.stderr);
        assert_eq!(report["inputs"].as_array().unwrap().len(), 1);
    }
}

/// B21. Any valid time is read; lines without times and lines out of order are accepted.
#[test]
fn invalid_times_lose_no_line() {
    let times = [
        (
            "31/Dec/9999:23:59:59 +0000",
            Some("9999-12-31T23:59:59+00:00"),
        ),
        (
            "01/Jan/1970:00:00:00 +0000",
            Some("1970-01-01T00:00:00+00:00"),
        ),
        (
            "01/Jan/0000:00:00:00 +1400",
            Some("0000-01-01T00:00:00+14:00"),
        ),
        (
            "31/Dec/2016:23:59:60 +0000",
            Some("2017-01-01T00:00:00+00:00"),
        ),
        (
            "25/Oct/2026:02:30:00 +0200",
            Some("2026-10-25T02:30:00+02:00"),
        ),
        (
            "25/Oct/2026:02:30:00 +0100",
            Some("2026-10-25T02:30:00+01:00"),
        ),
        (
            "29/Mar/2026:02:30:00 +0100",
            Some("2026-03-29T02:30:00+01:00"),
        ),
        ("30/Feb/2026:08:01:00 +0000", None),
        ("02/Nov/2026:25:61:61 +0000", None),
        ("02/Nov/2026:08:01:00 +9999", None),
        ("99999999999999999999999999", None),
        ("", None),
    ];
    let text: String = times
        .iter()
        .map(|(time, _)| probe().replace("02/Nov/2026:08:01:00 +0000", time))
        .collect();
    assert_eq!(sums(&scan(&text).1)[..3], [12, 12, 0]);
    for (hit, (time, expected)) in hits(&text).iter().zip(times) {
        assert_eq!(hit["time"].as_str(), expected, "{time}");
    }
    assert_eq!(hits(&text).len(), times.len());
}

/// B22. An invalid number is null, and the line is matched.
#[test]
fn invalid_numbers_are_null() {
    let max = u64::MAX.to_string();
    for (numbers, status, bytes) in [
        ("404 18446744073709551615", Some(404), Some(u64::MAX)),
        ("404 18446744073709551616", Some(404), None),
        ("404 -1", Some(404), None),
        ("404 -", Some(404), None),
        ("404 1e9", Some(404), None),
        ("99999 5", None, Some(5)),
        ("-1 5", None, Some(5)),
        ("0 5", None, Some(5)),
        ("000 5", None, Some(5)),
        ("4294967700 5", None, Some(5)),
        ("999 5", Some(999), Some(5)),
        ("404", Some(404), None),
    ] {
        let hits = hits(probe().replace("404 512", numbers));
        assert_eq!(
            (
                hits.len(),
                hits[0]["status"].as_u64(),
                hits[0]["bytes"].as_u64()
            ),
            (1, status, bytes),
            "{numbers}"
        );
    }
    let (_, report) = scan(probe().replace("512", &max).repeat(3));
    assert_eq!(sums(&report), [3, 3, 0, 0, 3]);
}

/// B23. Nested encodings are decoded as deep as servers decode them, up to a limit.
#[test]
fn encoded_paths_are_decoded() {
    for target in [
        "/%2egit/config",
        "/%252egit/config",
        "/%25252egit/config",
        "/%2e%67%69%74/config",
        "/%u002egit/config",
        "/%c0%aegit/config",
        "/%e0%80%aegit/config",
        "/%uff0egit/config",
        "/x/..%2f.git/config",
        "/x/..;/.git/config",
        "//.///.GIT/config",
        "/.git/config%00.jpg",
        r"/\x5C.git\x5Cconfig",
        "http://example.org/.git/config",
    ] {
        let hits = hits(line("192.0.2.1", &format!("GET {target} HTTP/1.1"), 404));
        assert!(
            hits.len() == 1
                && hits[0]["rules"]
                    .as_array()
                    .unwrap()
                    .contains(&"vcs/git".into()),
            "{target}: {hits:?}"
        );
        assert_eq!(hits[0]["target"], target);
    }
    let deep = format!("GET /%{}2egit/config HTTP/1.1", "25".repeat(100_000));
    assert_eq!(sums(&scan(line("192.0.2.1", &deep, 404)).1)[..3], [1, 1, 0]);
}

/// B24.
#[test]
fn binary_noise_is_not_a_log() {
    let mut rng = Rng::new();
    let noise: Vec<u8> = (0..4 << 17)
        .flat_map(|_| rng.next_u64().to_le_bytes())
        .collect();
    let harness = Harness::new();
    harness.file("access.log", &noise);
    let newlines = noise.split(|&byte| byte == b'\n').count() as u64 - 1;
    for (mmap, threads) in [("always", "1"), ("never", "4")] {
        let (run, report) = harness.json(["--mmap", mmap, "-j", threads, "access.log"]);
        assert_eq!(
            (run.code, report["totals"]["parsed"].as_u64()),
            (3, Some(0))
        );
        assert!((newlines..=newlines + 1).contains(&sums(&report)[0]));
        assert_eq!(report["totals"]["bytes"], noise.len());
    }
    for format in ["table", "csv", "ndjson"] {
        assert_eq!(
            harness
                .run(["scan", "-f", format, "--min-severity", "info", "access.log"])
                .code,
            3
        );
    }
}
