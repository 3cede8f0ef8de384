use std::fs;

use tempfile::TempDir;

use crate::alert_sinks::exec::*;

/// The timeout of a test that hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// A program in its own folder, which is also its working folder.
struct Program {
    folder: TempDir,
}

impl Program {
    fn new(script: &str) -> Self {
        let program = Self { folder: tempfile::tempdir().unwrap() };
        program.write(script);
        program
    }

    /// Another process writes the script: while this process has it open for writing, a child of another test may inherit
    /// the descriptor, and then the script cannot be executed.
    fn write(&self, script: &str) {
        let script = format!("#!/bin/sh\ncd '{}'\n{script}\n", self.folder.path().display());
        let written =
            Command::new("sh").args(["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""]).arg(self.path()).arg(script).status();
        assert!(written.unwrap().success());
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("program")
    }

    fn start(&self) -> ExecSink {
        self.start_with_timeout(DEADLINE)
    }

    fn start_with_timeout(&self, stop_timeout: Duration) -> ExecSink {
        let backoff = RestartBackoff::new(Duration::from_millis(1), Duration::from_millis(20));
        ExecSink::with_backoff(self.path(), true, backoff, stop_timeout, Instant::now()).unwrap()
    }

    fn left(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }
}

/// Polls until a condition holds. Returns the notices.
fn poll_until(exec: &mut ExecSink, mut done: impl FnMut(&ExecSink) -> bool) -> Vec<String> {
    let (mut notices, deadline) = (Vec::new(), Instant::now() + DEADLINE);
    while !done(exec) {
        assert!(Instant::now() < deadline, "{exec:?} {notices:?}");
        exec.poll(Instant::now(), &mut notices);
        thread::sleep(Duration::from_millis(1));
    }
    notices
}

fn lines(count: usize) -> String {
    (0..count).fold(String::new(), |lines, n| lines + &format!("{{\"alert\":{n}}}\n"))
}

fn send_all(exec: &mut ExecSink, lines: &str) {
    lines.split_inclusive('\n').for_each(|line| exec.send_alert(line.as_bytes()));
}

#[test]
fn the_program_gets_every_line_in_order() {
    let program = Program::new("echo \"$#\" > arguments; echo unseen; cat > out");
    let mut exec = program.start();
    send_all(&mut exec, &lines(900));
    let mut notices = Vec::new();
    exec.finish(&mut notices);
    assert_eq!((notices, program.left("out"), program.left("arguments")), (vec![], lines(900), "0\n".into()));
}

#[test]
fn a_program_that_ends_after_each_line_gets_all_of_them() {
    let program = Program::new("read -r line && printf '%s\\n' \"$line\" >> out");
    let mut exec = program.start();
    send_all(&mut exec, &lines(20));
    let notices = poll_until(&mut exec, |_| program.left("out").lines().count() >= 20);
    assert_eq!(program.left("out"), lines(20), "what was in the pipe when it ended was not lost, and nothing came twice");
    let expected = format!("--exec {}: the program ended (exit status: 0); restarting in 1 s", program.path().display());
    assert!(notices.len() >= 19 && notices.iter().all(|notice| *notice == expected), "{notices:?}");
}

#[test]
fn a_partly_read_line_is_sent_again() {
    let program = Program::new("if [ -e first ]; then exec cat >> out; fi; dd bs=1 count=5 of=first 2> /dev/null; exit 3");
    let mut exec = program.start();
    // More than fits into the pipe.
    let long = format!("{{\"alert\":\"{}\"}}\n", "x".repeat(200_000));
    let all = [&lines(1), &long, &lines(2)].map(String::as_str).concat();
    send_all(&mut exec, &all);
    let notices = poll_until(&mut exec, |_| program.left("out").len() >= all.len());
    assert_eq!((program.left("first").as_str(), program.left("out")), ("{\"ale", all));
    assert!(notices[0].contains("ended (exit status: 3)"), "{notices:?}");
}

#[test]
fn a_program_that_never_reads_delays_nothing() {
    let program = Program::new("echo $$ > number; exec sleep 600");
    let mut exec = program.start_with_timeout(Duration::from_millis(50));
    let line = format!("{}\n", "x".repeat(199));
    for _ in 0..5_000 {
        exec.send_alert(line.as_bytes());
    }
    poll_until(&mut exec, |_| program.left("number").ends_with('\n'));
    exec.poll(Instant::now(), &mut Vec::new());
    let mut notices = Vec::new();
    exec.finish(&mut notices);
    let place = format!("--exec {}", program.path().display());
    assert_eq!(
        notices,
        [format!("{place}: the program did not end and was sent SIGTERM"), format!("{place}: 1000 alerts were not delivered")]
    );
    let stat = format!("/proc/{}/stat", program.left("number").trim());
    let deadline = Instant::now() + DEADLINE;
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        assert!(Instant::now() < deadline, "it lives");
        thread::sleep(POLL_INTERVAL);
    }
}

#[test]
fn dropped_alerts_are_reported() {
    let program = Program::new("exec sleep 600");
    let mut exec = program.start_with_timeout(Duration::ZERO);
    send_all(&mut exec, &lines(1_234));
    let mut notices = Vec::new();
    exec.poll(Instant::now(), &mut notices);
    assert_eq!(notices, [format!("--exec {}: 234 alerts were dropped, as the queue is full", program.path().display())]);
    exec.finish(&mut notices);
}

#[test]
fn a_program_that_closes_its_input_is_restarted() {
    let program = Program::new("if [ -e first ]; then exec cat >> out; fi; exec < /dev/null; touch first; exec sleep 600");
    let mut exec = program.start_with_timeout(Duration::from_millis(20));
    poll_until(&mut exec, |_| program.folder.path().join("first").exists());
    send_all(&mut exec, &lines(3));
    let notices = poll_until(&mut exec, |_| program.left("out") == lines(3));
    assert!(notices[0].contains("ended (signal: 15 (SIGTERM))"), "{notices:?}");
}

#[test]
fn lines_go_to_the_next_program_if_their_reader_closes_the_pipe() {
    let wait = "until [ -e sent ]; do sleep 0.01; done";
    let program = Program::new(&format!(
        "if [ -e first ]; then exec cat >> out; fi; exec 3<&0 < /dev/null; touch first; {wait}; exec 3<&-; exec sleep 600"
    ));
    let mut exec = program.start_with_timeout(Duration::from_millis(20));
    poll_until(&mut exec, |_| program.folder.path().join("first").exists());
    send_all(&mut exec, &lines(3));
    poll_until(&mut exec, |exec| exec.written_lines == 3);
    fs::write(program.folder.path().join("sent"), "").unwrap();
    poll_until(&mut exec, |_| program.left("out") == lines(3));
}

#[test]
fn a_deleted_program_is_retried() {
    let program = Program::new("rm program; exit 1");
    let mut exec = program.start();
    let has_notice = |notices: &[String], what: &str| notices.iter().any(|notice| notice.contains(what));
    let (mut notices, deadline) = (Vec::new(), Instant::now() + DEADLINE);
    while !has_notice(&notices, "cannot be started (no such file or directory); retrying in 1 s") {
        assert!(Instant::now() < deadline, "{notices:?}");
        exec.poll(Instant::now(), &mut notices);
    }
    send_all(&mut exec, &lines(3));
    program.write("cat >> out");
    poll_until(&mut exec, |_| program.left("out") == lines(3));
}

#[test]
fn a_slow_program_is_given_time_at_the_end() {
    let program = Program::new("while read -r line; do sleep 0.02; printf '%s\\n' \"$line\" >> out; done");
    let mut exec = program.start();
    send_all(&mut exec, &lines(10));
    let mut notices = Vec::new();
    exec.finish(&mut notices);
    assert_eq!((program.left("out"), notices), (lines(10), vec![]));
}

#[test]
fn a_stopped_program_is_started_for_the_last_lines() {
    let program = Program::new("read -r line && printf '%s\\n' \"$line\" >> out");
    let mut exec = program.start();
    exec.backoff = RestartBackoff::new(DEADLINE * 100, DEADLINE * 100);
    send_all(&mut exec, &lines(1));
    poll_until(&mut exec, |exec| matches!(exec.state, ChildState::Waiting { .. }));
    send_all(&mut exec, &lines(3));
    let mut notices = Vec::new();
    exec.finish(&mut notices);
    assert_eq!(program.left("out"), [lines(1), lines(1)].concat());
    assert_eq!(notices, [format!("--exec {}: 2 alerts were not delivered", program.path().display())]);
}

#[test]
fn a_program_that_cannot_be_started_is_an_error() {
    let program = Program::new("");
    let refusal = |program: PathBuf| ExecSink::start(program, false, Instant::now()).unwrap_err().to_string();
    let advice = "--exec takes the path of a program, or a name in PATH, and no arguments: put those in a script";
    let missing = program.folder.path().join("missing");
    assert_eq!(refusal(missing.clone()), format!("cannot start {}: no such file or directory; {advice}", missing.display()));
    let folder = program.folder.path().to_owned();
    assert_eq!(refusal(folder.clone()), format!("cannot start {}: permission denied; {advice}", folder.display()));
    assert!(refusal("cat /dev/null".into()).contains("no arguments"), "nothing is taken for a shell's command");
    let mut notices = Vec::new();
    ExecSink::start("cat".into(), true, Instant::now()).unwrap().finish(&mut notices);
    assert_eq!(notices, [""; 0]);
}

#[test]
fn the_delay_doubles_to_a_minute_and_is_reset() {
    let (mut backoff, mut now, mut pauses) = (RestartBackoff::default(), Instant::now(), Vec::new());
    for lived in [0, 1, 0, 0, 0, 0, 5, 60, 0] {
        backoff.child_started(now);
        now += Duration::from_secs(lived);
        let again = backoff.child_ended(now);
        pauses.push((again - now).as_secs());
        now = again;
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 1, 2]);
}
