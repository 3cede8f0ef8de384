//! Tests of the state folder, and of the text that a state is written as.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rustix::process::{Resource, Rlimit, geteuid, setrlimit};
use tempfile::TempDir;

use super::*;
use crate::log::source::{Checkpoint, ContentHash};
use crate::report_store::Run;

/// A checkpoint in which every number depends on `n`.
pub(super) fn checkpoint(n: u64) -> Checkpoint {
    Checkpoint {
        generation: n,
        path: [b"/var/log/\xff/", n.to_string().as_bytes(), b".log"].concat(),
        device: 2,
        inode: 100 + n,
        offset: 1000 * n,
        lines: 10 * n,
        head: ContentHash {
            bytes: 1000,
            hash: n,
        },
        tail: ContentHash {
            bytes: 256,
            hash: 2 * n,
        },
    }
}

fn state(rules: u64) -> TailState {
    TailState {
        rules,
        checkpoints: (0..rules % 10).map(checkpoint).collect(),
        ..TailState::default()
    }
}

/// A folder that does not exist yet, inside one that is deleted at the end of the test.
fn temporary_folder() -> (TempDir, PathBuf) {
    let temp_dir = tempfile::tempdir().unwrap();
    let dir = temp_dir.path().join("state");
    (temp_dir, dir)
}

/// Opens a folder whose lock was released. A child process of a concurrent test may hold it for an
/// instant.
fn try_open(dir: &Path, insecure: bool) -> Result<StateFolder, StateError> {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        match StateFolder::open(dir, "follow", insecure) {
            Err(StateError::Locked { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            done => return done,
        }
    }
}

fn open(dir: &Path) -> StateFolder {
    try_open(dir, false).unwrap()
}

fn load(folder: &StateFolder) -> Result<Option<TailState>, StateError> {
    folder.load()
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: impl AsRef<Path>, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Runs one of the ignored tests in a separate process, with the folder in its environment, after
/// some shell commands.
fn other_process(test: &str, before: &str, dir: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!(
        "{before} \"$0\" --ignored --nocapture --exact state::tests::{test}"
    ));
    command
        .arg(std::env::current_exe().unwrap())
        .env("PROBEWATCH_TEST_STATE", dir);
    command
}

fn dir_of_this_process() -> PathBuf {
    std::env::var_os("PROBEWATCH_TEST_STATE").unwrap().into()
}

#[test]
fn the_last_saved_state_is_loaded() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = open(&dir);
    assert_eq!(load(&folder).unwrap(), None, "the first run");
    for rules in [3, 9, 0, 5] {
        folder.save(&state(rules)).unwrap();
        assert_eq!(load(&folder).unwrap(), Some(state(rules)));
    }
    drop(folder);
    assert_eq!(load(&open(&dir)).unwrap(), Some(state(5)));
    assert_eq!(names(&dir), ["follow.json", "follow.lock"]);
    let folder = open(&dir);
    folder.reset().unwrap();
    folder.reset().unwrap();
    assert_eq!(load(&folder).unwrap(), None);
}

/// F17.
#[test]
fn f17_a_hundred_thousand_logs_are_loaded_and_dropped() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = open(&dir);
    let state = TailState {
        checkpoints: (0..100_000).map(checkpoint).collect(),
        ..TailState::default()
    };
    folder.save(&state).unwrap();
    assert_eq!(load(&folder).unwrap().unwrap().checkpoints.len(), 100_000);
    let mut state = load(&folder).unwrap().unwrap();
    let is_there = |log: &Checkpoint| log.generation.is_multiple_of(2);
    assert_eq!(state.drop_absent(is_there, 1_000_000, KEEP_ABSENT), 0);
    assert_eq!(state.absent.len(), 50_000);
    assert_eq!(
        state.drop_absent(is_there, 1_000_000 + KEEP_ABSENT.as_secs(), KEEP_ABSENT),
        50_000
    );
    assert_eq!((state.checkpoints.len(), state.absent.len()), (50_000, 0));
}

#[test]
fn logs_missing_for_long_are_dropped() {
    let mut state = TailState {
        checkpoints: (1..=3).map(checkpoint).collect(),
        ..TailState::default()
    };
    let day = Duration::from_secs(24 * 60 * 60);
    let mut look = |there: &[u64], now| {
        let gone = state.drop_absent(|log| there.contains(&log.generation), now, day);
        (
            gone,
            state
                .checkpoints
                .iter()
                .map(|log| log.generation)
                .collect::<Vec<_>>(),
            state.absent.keys().copied().collect::<Vec<_>>(),
        )
    };
    assert_eq!(look(&[1, 2, 3], 1_000_000), (0, vec![1, 2, 3], vec![]));
    assert_eq!(look(&[1], 1_000_000), (0, vec![1, 2, 3], vec![2, 3]));
    assert_eq!(
        look(&[1, 3], 1_086_399),
        (0, vec![1, 2, 3], vec![2]),
        "one came back"
    );
    assert_eq!(
        look(&[1], 900_000),
        (0, vec![1, 2, 3], vec![2, 3]),
        "the clock was set back"
    );
    assert_eq!(
        look(&[1], 986_400),
        (1, vec![1, 2], vec![2]),
        "the other one was seen missing when the clock was back"
    );
    assert_eq!(look(&[1], 1_086_400), (1, vec![1], vec![]));
}

#[test]
fn one_run_at_a_time() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = open(&dir);
    let refusal = StateFolder::open(&dir, "follow", false).unwrap_err();
    let expected = format!(
        "{}: held by another run (process {}); wait for its end or choose another --state",
        dir.join("follow.lock").display(),
        std::process::id()
    );
    assert!(matches!(refusal, StateError::Locked { .. }), "{refusal:?}");
    assert_eq!(refusal.to_string(), expected);
    StateFolder::open(&dir, "report", false).unwrap();
    folder.save(&state(1)).unwrap();
    drop(folder);
    assert_eq!(load(&open(&dir)).unwrap(), Some(state(1)));
}

/// Runs in a separate process, which is killed.
#[test]
#[ignore = "run by `a_killed_run_holds_nothing`"]
fn hold() {
    let _folder = open(&dir_of_this_process());
    // The newline ends the line that the test harness has started.
    Write::write_all(&mut io::stdout(), b"\nheld\n").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

/// Waits until a process prints this line.
fn wait_for(child: &mut Child, line: &str) {
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(printed.any(|printed| printed.unwrap() == line));
}

#[test]
fn a_killed_run_releases_its_lock() {
    let (_temp_dir, dir) = temporary_folder();
    let mut child = other_process("hold", "exec", &dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(&mut child, "held");
    assert!(
        matches!(StateFolder::open(&dir, "follow", false), Err(StateError::Locked { by, .. }) if by == Some(child.id()))
    );
    child.kill().unwrap();
    child.wait().unwrap();
    open(&dir);
}

#[test]
fn a_lock_file_open_to_other_users_is_rejected() {
    let (temp_dir, dir) = temporary_folder();
    drop(open(&dir));
    let lock = dir.join("follow.lock");
    let refusal = || match StateFolder::open(&dir, "follow", true).unwrap_err() {
        StateError::Insecure { path, what, .. } if path == lock => what,
        other => panic!("{other:?}"),
    };
    for bad in [0o666, 0o644, 0o620, 0o604] {
        set_mode(&lock, bad);
        assert_eq!(
            refusal(),
            format!("others could hold the lock (mode {bad:04o})")
        );
    }
    let elsewhere = temp_dir.path().join("elsewhere");
    for target in ["there", "nowhere"] {
        fs::write(temp_dir.path().join("there"), "text").unwrap();
        fs::remove_file(&lock).unwrap();
        symlink(temp_dir.path().join(target), &lock).unwrap();
        assert_eq!(refusal(), "it is a symbolic link");
    }
    assert_eq!(fs::read(temp_dir.path().join("there")).unwrap(), b"text");
    assert!(!temp_dir.path().join("nowhere").exists() && !elsewhere.exists());
    fs::remove_file(&lock).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &lock,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    assert_eq!(refusal(), "it is not a regular file");
}

#[test]
fn files_of_other_users_are_rejected() {
    if !geteuid().is_root() {
        // Only root can change the owner of a file.
        return;
    }
    let (_temp_dir, dir) = temporary_folder();
    open(&dir).save(&state(1)).unwrap();
    let refusal = |insecure| {
        try_open(&dir, insecure)
            .and_then(|folder| load(&folder))
            .unwrap_err()
            .to_string()
    };
    for (name, insecure, what) in [
        (
            "follow.json",
            true,
            "it belongs to another user (65534); run as that user",
        ),
        (
            "follow.lock",
            true,
            "it belongs to another user (65534); delete it",
        ),
        (
            "",
            false,
            "the folder belongs to another user (65534); choose one that is yours, or trust it with --insecure-state",
        ),
    ] {
        chown(dir.join(name), Some(65534), None).unwrap();
        assert!(refusal(insecure).contains(what), "{}", refusal(insecure));
        chown(dir.join(name), Some(0), None).unwrap();
    }
    assert_eq!(load(&open(&dir)).unwrap(), Some(state(1)));
}

#[test]
fn a_folder_writable_by_other_users_is_rejected() {
    let (temp_dir, dir) = temporary_folder();
    fs::create_dir(&dir).unwrap();
    for bad in [0o777, 0o1777, 0o770, 0o702] {
        set_mode(&dir, bad);
        let refusal = StateFolder::open(&dir, "follow", false)
            .unwrap_err()
            .to_string();
        let what = format!(
            "others may write to the folder (mode {bad:04o}); take their rights away (chmod go-w), or trust them with --insecure-state"
        );
        assert_eq!(refusal, format!("{}: {what}", dir.display()));
        assert_eq!(names(&dir), [""; 0], "nothing was made there");
    }
    StateFolder::open(&dir, "follow", true)
        .unwrap()
        .save(&state(1))
        .unwrap();
    set_mode(&dir, 0o755);
    let link = temp_dir.path().join("link");
    symlink(&dir, &link).unwrap();
    assert_eq!(
        load(&open(&link)).unwrap(),
        Some(state(1)),
        "the folder itself may be a link"
    );
}

#[test]
fn a_folder_that_cannot_be_opened_is_an_error() {
    let (temp_dir, dir) = temporary_folder();
    let refusal = |dir: &Path| {
        StateFolder::open(dir, "follow", false)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal(&dir.join("deep")),
        format!(
            "cannot make {}/deep: no such file or directory; make the folder above it first or choose another --state",
            dir.display()
        )
    );
    let file = temp_dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(
        refusal(&file),
        format!(
            "cannot open {}: not a directory; choose another --state",
            file.display()
        )
    );
}

#[test]
fn a_symbolic_link_is_rejected() {
    let (temp_dir, dir) = temporary_folder();
    let target = temp_dir.path().join("target");
    let folder = open(&dir);
    for there in [true, false] {
        if there {
            folder.save(&state(2)).unwrap();
            fs::rename(folder.path(), &target).unwrap();
        } else {
            fs::remove_file(folder.path()).unwrap();
            fs::remove_file(&target).unwrap();
        }
        symlink(&target, folder.path()).unwrap();
        let refusal = load(&folder).unwrap_err();
        assert!(matches!(refusal, StateError::Insecure { .. }));
        assert!(
            refusal.to_string().ends_with("follow.json: it is a symbolic link; delete it, or start as on the first run with --reset-state")
        );
        assert_eq!(target.exists(), there);
    }
    folder.save(&state(3)).unwrap();
    assert!(
        !target.exists() && load(&folder).unwrap() == Some(state(3)),
        "a link that comes later is replaced, not followed"
    );
    set_mode(folder.path(), 0o664);
    assert!(
        load(&folder)
            .unwrap_err()
            .to_string()
            .contains("others may write to it (mode 0664); take their rights away (chmod 600)")
    );
}

#[test]
fn a_damaged_state_is_copied_and_never_ignored() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = open(&dir);
    folder.save(&state(4)).unwrap();
    let whole = fs::read(folder.path()).unwrap();
    let mut flipped = whole.clone();
    flipped[100] ^= 1;
    let newer = String::from_utf8(whole.clone())
        .unwrap()
        .replace("state\":5,", "state\":6,")
        .into_bytes();
    let cases = [
        (vec![], "is empty"),
        (whole[..whole.len() / 2].to_vec(), "its end is missing"),
        (flipped, "checksum"),
        (newer, "newer"),
        (vec![0; 99], "its start is wrong"),
    ];
    for (bytes, what) in cases {
        fs::write(folder.path(), &bytes).unwrap();
        for _ in 0..2 {
            let refusal = load(&folder).unwrap_err();
            assert!(matches!(refusal, StateError::Damaged { .. }), "{refusal:?}");
            let message = refusal.to_string();
            assert!(
                message.starts_with(&format!("{}: ", folder.path().display()))
                    && message.contains(what),
                "{message}"
            );
            assert!(
                message.contains("follow.json.bad")
                    && message.contains("--reset-state")
                    && message.contains("twice or not at all")
            );
            assert_eq!(fs::read(folder.path()).unwrap(), bytes);
            assert_eq!(fs::read(dir.join("follow.json.bad")).unwrap(), bytes);
            assert_eq!(mode(dir.join("follow.json.bad")), 0o600);
        }
    }
    folder.reset().unwrap();
    assert_eq!(load(&folder).unwrap(), None);
    assert_eq!(names(&dir), ["follow.json.bad", "follow.lock"]);
}

/// Each bit in turn.
#[test]
fn a_flipped_bit_is_refused() {
    let whole = encode(&state(4)).unwrap();
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(decode::<TailState>(&flipped).is_err(), "bit {bit}");
    }
}

#[test]
fn leftovers_of_a_killed_run_are_removed() {
    let (temp_dir, dir) = temporary_folder();
    open(&dir).save(&state(1)).unwrap();
    let (left, target) = (dir.join("follow.json.tmp"), temp_dir.path().join("target"));
    fs::write(&target, "text").unwrap();
    fs::write(&left, "half").unwrap();
    assert_eq!(load(&open(&dir)).unwrap(), Some(state(1)));
    assert_eq!(names(&dir), ["follow.json", "follow.lock"]);
    symlink(&target, &left).unwrap();
    drop(open(&dir));
    let folder = open(&dir);
    symlink(&target, &left).unwrap();
    folder.save(&state(2)).unwrap();
    assert_eq!(names(&dir), ["follow.json", "follow.lock"]);
    assert_eq!(fs::read(&target).unwrap(), b"text");
}

/// Runs in a separate process, because umask and limits apply to the whole process.
#[test]
#[ignore = "run by `the_umask_does_not_matter`"]
fn save_once() {
    open(&dir_of_this_process()).save(&state(1)).unwrap();
}

#[test]
fn the_umask_does_not_matter() {
    for umask in ["000", "022", "377"] {
        let (_temp_dir, dir) = temporary_folder();
        let run = other_process("save_once", &format!("umask {umask}; exec"), &dir)
            .output()
            .unwrap();
        assert!(
            run.status.success(),
            "{}",
            String::from_utf8_lossy(&run.stdout)
        );
        assert_eq!(
            [
                mode(&dir),
                mode(dir.join("follow.json")),
                mode(dir.join("follow.lock"))
            ],
            [0o700, 0o600, 0o600]
        );
    }
}

/// Runs in a separate process, because the limit applies to the whole process.
#[test]
#[ignore = "run by `a_failed_write_changes_nothing`"]
fn save_past_the_size_limit() {
    let folder = open(&dir_of_this_process());
    setrlimit(
        Resource::Fsize,
        Rlimit {
            current: Some(512),
            maximum: Some(512),
        },
    )
    .unwrap();
    let error = folder.save(&state(9)).unwrap_err();
    assert!(matches!(error, StateError::Failed { step: "write", .. }));
    assert!(
        error
            .to_string()
            .ends_with("follow.json: file too large; raise the file size limit (ulimit -f)"),
        "{error}"
    );
    assert_eq!(load(&folder).unwrap(), Some(state(8)));
}

#[test]
fn a_failed_write_changes_nothing() {
    let (temp_dir, dir) = temporary_folder();
    open(&dir).save(&state(8)).unwrap();
    let run = other_process("save_past_the_size_limit", "exec", &dir)
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stdout)
    );
    assert_eq!(names(&dir), ["follow.json", "follow.lock"]);
    let folder = open(&dir);
    assert_eq!(load(&folder).unwrap(), Some(state(8)));
    temp_dir.close().unwrap();
    assert!(
        matches!(folder.save(&state(9)), Err(StateError::Failed { .. })),
        "the folder is gone"
    );
}

/// Runs in a separate process, which is killed.
#[test]
#[ignore = "run by `killed_at_any_instant_it_is_the_old_or_the_new`"]
fn save_for_ever() {
    let folder = open(&dir_of_this_process());
    // Each process saves a different state.
    for rules in u64::from(std::process::id()) * 1_000_000_000.. {
        folder
            .save(&TailState {
                rules,
                checkpoints: vec![checkpoint(rules % 1_000_000); 50],
                ..TailState::default()
            })
            .unwrap();
    }
}

#[test]
fn a_run_killed_at_any_instant_leaves_the_old_or_the_new_state() {
    let (_temp_dir, dir) = temporary_folder();
    for round in 0..20 {
        let mut child = other_process("save_for_ever", "exec", &dir)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let (mut seen, mut last) = (0, Vec::new());
        while seen <= round % 5 {
            assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
            let mut now = Vec::new();
            let _ =
                fs::File::open(dir.join("follow.json")).map(|mut file| file.read_to_end(&mut now));
            if now != last {
                (seen, last) = (seen + 1, now);
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let state = load(&open(&dir)).unwrap().unwrap();
        assert_eq!(
            state.checkpoints,
            vec![checkpoint(state.rules % 1_000_000); 50]
        );
        assert!(!dir.join("follow.json.tmp").exists());
    }
}

/// Runs in a separate process, whose system calls fail or kill it.
#[test]
#[ignore = "run by `whatever_fails_the_state_is_whole`"]
fn save_under_faults() {
    let saved = open(&dir_of_this_process()).save(&state(2));
    let printed = format!(
        "\nsaid: {}\n",
        saved.map_or_else(|error| error.to_string(), |()| "saved".into())
    );
    Write::write_all(&mut io::stdout(), printed.as_bytes()).unwrap();
}

/// Does nothing if `strace` is missing or may not trace.
#[test]
fn the_state_is_intact_whatever_system_call_fails() {
    if !Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|run| run.status.success())
    {
        return;
    }
    let cases = [
        (
            "fsync:error=EIO:when=1",
            "cannot write STATE: input/output error; choose another --state",
            1,
        ),
        (
            "/rename:error=ENOSPC",
            "cannot replace STATE: no space left on device; free some space or choose another --state",
            1,
        ),
        // In place, but perhaps not on disk.
        (
            "fsync:error=EIO:when=2",
            "cannot replace STATE: input/output error; choose another --state",
            2,
        ),
        // A network file system that cannot sync folders.
        ("fsync:error=EINVAL:when=2", "saved", 2),
        ("fsync:signal=KILL:when=1", "", 1),
        ("/rename:signal=KILL", "", 1),
        ("fsync:signal=KILL:when=2", "", 2),
    ];
    for (fault, message, rules) in cases {
        let (_temp_dir, dir) = temporary_folder();
        open(&dir).save(&state(1)).unwrap();
        let tracer =
            format!("exec strace -f -qq -o /dev/null -e trace=fsync,/rename -e inject={fault}");
        let run = other_process("save_under_faults", &tracer, &dir)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&run.stdout);
        let printed = text
            .lines()
            .find_map(|line| line.strip_prefix("said: "))
            .unwrap_or_default();
        assert_eq!(
            printed,
            message.replace("STATE", &dir.join("follow.json").display().to_string()),
            "{fault}: {text}"
        );
        let left = dir.join("follow.json.tmp").exists();
        assert!(
            message.is_empty() || !left,
            "{fault}: only a killed run leaves something"
        );
        assert_eq!(load(&open(&dir)).unwrap(), Some(state(rules)), "{fault}");
        assert_eq!(names(&dir), ["follow.json", "follow.lock"], "{fault}");
    }
}

#[test]
fn open_waiting_waits_for_the_lock() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = open(&dir);
    let stop = AtomicBool::new(true);
    let refusal = StateFolder::open_waiting(&dir, "follow", false, &stop).unwrap_err();
    assert!(matches!(refusal, StateError::Locked { .. }), "{refusal:?}");
    stop.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            StateFolder::open_waiting(&dir, "follow", false, &stop).and_then(|folder| load(&folder))
        });
        folder.save(&state(7)).unwrap();
        assert!(!waiting.is_finished());
        drop(folder);
        assert_eq!(
            waiting.join().unwrap().unwrap(),
            Some(state(7)),
            "what the other run left"
        );
    });
    let folder = open(&dir);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| StateFolder::open_waiting(&dir, "follow", false, &stop));
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(
            waiting.join().unwrap(),
            Err(StateError::Locked { .. })
        ));
    });
    drop(folder);
    set_mode(dir.join("follow.lock"), 0o666);
    stop.store(false, Ordering::Relaxed);
    assert!(
        matches!(
            StateFolder::open_waiting(&dir, "follow", false, &stop),
            Err(StateError::Insecure { .. })
        ),
        "that gets no better"
    );
}

#[test]
fn peek_leaves_no_trace() {
    let (temp_dir, dir) = temporary_folder();
    let peek = || StateFolder::peek::<TailState>(&dir, "follow", false);
    assert_eq!(peek().unwrap(), None);
    assert!(!dir.exists());
    let folder = open(&dir);
    assert_eq!(peek().unwrap(), None);
    folder.save(&state(3)).unwrap();
    assert_eq!(
        peek().unwrap(),
        Some(state(3)),
        "while another run holds it"
    );
    fs::write(dir.join("follow.json.tmp"), "half").unwrap();
    fs::write(dir.join("follow.json"), "{}").unwrap();
    let refusal = peek().unwrap_err();
    assert!(
        matches!(
            refusal,
            StateError::Damaged {
                copy_path: None,
                ..
            }
        ),
        "{refusal:?}"
    );
    assert_eq!(
        names(&dir),
        ["follow.json", "follow.json.tmp", "follow.lock"]
    );
    fs::remove_file(dir.join("follow.json")).unwrap();
    symlink(temp_dir.path().join("nowhere"), dir.join("follow.json")).unwrap();
    assert!(matches!(peek(), Err(StateError::Insecure { .. })));
    set_mode(&dir, 0o777);
    assert!(matches!(peek(), Err(StateError::Insecure { path, .. }) if path == dir));
}

#[test]
fn a_report_state_is_loaded_and_names_its_reset_flag() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = StateFolder::open(&dir, "report", false).unwrap();
    let ledger = ReportState {
        logs: state(4),
        run: Some(Run {
            number: 12,
            folders: vec!["2026-11-19".into(), "2026-11-20".into()],
        }),
        newest_period: Some("2026-11-20".into()),
        ..ReportState::new(7)
    };
    for ledger in [ReportState::new(7), ledger] {
        folder.save(&ledger).unwrap();
        assert_eq!(folder.load::<ReportState>().unwrap(), Some(ledger));
    }
    folder.save(&state(4)).unwrap();
    let refusal = folder.load::<ReportState>().unwrap_err();
    assert!(matches!(refusal, StateError::Damaged { .. }));
    assert!(
        refusal
            .to_string()
            .contains(": --reset (or deleting the file) starts as on the first run"),
        "{refusal}"
    );
    fs::remove_file(folder.path()).unwrap();
    symlink("nowhere", folder.path()).unwrap();
    let refusal = folder.load::<ReportState>().unwrap_err().to_string();
    assert!(
        refusal.ends_with("delete it, or start as on the first run with --reset"),
        "{refusal}"
    );
}

/// The first version of a state.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Older {
    name: String,
}

/// The second version.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Newer {
    names: Vec<String>,
}

impl PersistedState for Older {
    const VERSION: u32 = 1;
    const RESET_FLAG: &'static str = "--reset";
}

impl PersistedState for Newer {
    const VERSION: u32 = 2;
    const RESET_FLAG: &'static str = "--reset";
}

#[test]
fn another_version_is_rejected() {
    let (_temp_dir, dir) = temporary_folder();
    let folder = open(&dir);
    folder.save(&Older { name: "a".into() }).unwrap();
    let refusal = folder.load::<Newer>().unwrap_err().to_string();
    assert!(
        refusal.contains("the state is too old (its version is 1, this probewatch supports 2)"),
        "{refusal}"
    );
    let newer = Newer {
        names: vec!["a".into()],
    };
    folder.save(&newer).unwrap();
    assert_eq!(folder.load().unwrap(), Some(newer));
    let refusal = folder.load::<Older>().unwrap_err().to_string();
    assert!(
        refusal.contains("a newer probewatch wrote this state (its version is 2, this one supports 1): use the newer one"),
        "{refusal}"
    );
}

fn checkpoints() -> impl Strategy<Value = Vec<Checkpoint>> {
    let path = prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        r"[\\x0-9a-f/]{0,12}".prop_map(String::into_bytes)
    ];
    let fingerprint = || any::<(u32, u64)>().prop_map(|(bytes, hash)| ContentHash { bytes, hash });
    let one = (any::<[u64; 5]>(), path, fingerprint(), fingerprint()).prop_map(
        |([generation, device, inode, offset, lines], path, head, tail)| Checkpoint {
            generation,
            path,
            device,
            inode,
            offset,
            lines,
            head,
            tail,
        },
    );
    prop::collection::vec(one, 0..5)
}

fn states() -> impl Strategy<Value = TailState> {
    (
        any::<u64>(),
        prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..3),
        checkpoints(),
    )
        .prop_map(|(rules, absent, checkpoints)| TailState {
            rules,
            absent,
            checkpoints,
            ..TailState::default()
        })
}

#[test]
fn each_log_has_its_own_line() {
    let state = TailState {
        rules: 7,
        checkpoints: vec![checkpoint(1), checkpoint(2)],
        ..TailState::default()
    };
    let text = String::from_utf8(encode(&state).unwrap()).unwrap();
    let (head, body) = text.split_once(",\"state\":").unwrap();
    assert_eq!(
        head.len(),
        "{\"probewatch-state\":1,\"checksum\":\"0123456789abcdef\"".len()
    );
    assert_eq!(
        body,
        concat!(
            "{\"rules\":7,\"checkpoints\":[\n",
            r#"{"generation":1,"path":"/var/log/\\xff/1.log","device":2,"inode":101,"offset":1000,"lines":10,"#,
            r#""head":{"bytes":1000,"hash":1},"tail":{"bytes":256,"hash":2}},"#,
            "\n",
            r#"{"generation":2,"path":"/var/log/\\xff/2.log","device":2,"inode":102,"offset":2000,"lines":20,"#,
            r#""head":{"bytes":1000,"hash":2},"tail":{"bytes":256,"hash":4}}"#,
            "]}}\n"
        )
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["state"]["checkpoints"].as_array().unwrap().len(), 2);
}

/// A whole file of any version.
fn of_version(version: u32, body: &str) -> Vec<u8> {
    format!(
        "{{\"probewatch-state\":{version},\"checksum\":\"{}\",\"state\":{body}}}\n",
        checksum(version, body.as_bytes())
    )
    .into_bytes()
}

#[test]
fn other_versions_and_structures_are_rejected() {
    let body = r#"{"rules":1,"checkpoints":[]}"#;
    assert_eq!(
        decode::<TailState>(&of_version(5, body)).unwrap(),
        TailState {
            rules: 1,
            ..TailState::default()
        }
    );
    let cases = [
        (Vec::new(), "the state is damaged: the file is empty"),
        (
            vec![0; 4096],
            "the file is not a state, or it is damaged: its start is wrong",
        ),
        (
            b"{}\n".to_vec(),
            "the file is not a state, or it is damaged: its start is wrong",
        ),
        (
            of_version(6, body),
            "a newer probewatch wrote this state (its version is 6, this one supports 5): use the newer one",
        ),
        (
            of_version(6, "anything"),
            "a newer probewatch wrote this state (its version is 6, this one supports 5): use the newer one",
        ),
        (
            of_version(4, body),
            "the state is too old (its version is 4, this probewatch supports 5)",
        ),
        (
            of_version(5, body)[..60].to_vec(),
            "the state is damaged: its end is missing",
        ),
        (
            of_version(5, r#"{"rules":1}"#),
            "the state is damaged: missing field `checkpoints` at line 1 column 11",
        ),
        (
            of_version(5, r#"{"rules":1,"checkpoints":[],"more":1}"#),
            "the state is damaged: unknown field `more`",
        ),
    ];
    for (bytes, message) in cases {
        let refusal = decode::<TailState>(&bytes).unwrap_err();
        assert!(refusal.starts_with(message), "{refusal}");
    }
    let mut edited = of_version(5, body);
    let digit = edited.iter().rposition(|b| *b == b'1').unwrap();
    edited[digit] = b'2';
    assert_eq!(
        decode::<TailState>(&edited).unwrap_err(),
        format!(
            "the state is damaged: its checksum should be {}",
            checksum(5, br#"{"rules":2,"checkpoints":[]}"#)
        )
    );
}

#[test]
fn the_size_of_a_hundred_thousand_logs_is_bounded() {
    let state = TailState {
        checkpoints: (0..100_000).map(checkpoint).collect(),
        ..TailState::default()
    };
    let bytes = encode(&state).unwrap();
    assert!(
        bytes.len() < 200 * state.checkpoints.len(),
        "{}",
        bytes.len()
    );
    assert!(decode::<TailState>(&bytes).unwrap() == state);
}

proptest! {
    #[test]
    fn states_round_trip(state in states()) {
        prop_assert_eq!(decode(&encode(&state).unwrap()), Ok(state));
    }

    #[test]
    fn a_flipped_bit_is_detected(state in states(), at: prop::sample::Index, flip in 1_u8..) {
        let mut bytes = encode(&state).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(decode::<TailState>(&bytes).is_err());
    }

    #[test]
    fn a_truncated_state_is_detected(state in states(), at: prop::sample::Index, rest: Vec<u8>) {
        let bytes = encode(&state).unwrap();
        let cut = &bytes[..at.index(bytes.len())];
        prop_assert!(decode::<TailState>(cut).is_err());
        let mut torn = [cut, &rest].concat();
        prop_assert!(torn == bytes || decode::<TailState>(&torn).is_err());
        torn.resize(bytes.len(), 0);
        prop_assert!(torn == bytes || decode::<TailState>(&torn).is_err());
    }

    #[test]
    fn any_bytes_are_accepted(bytes: Vec<u8>) {
        let _ = decode::<TailState>(&bytes);
        let _ = decode::<TailState>(&[HEAD, b"1", CHECKSUM, &bytes].concat());
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let _ = decode::<TailState>(&of_version(1, text));
        }
    }
}
