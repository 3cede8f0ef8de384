use std::os::unix::fs::symlink;
use std::process::Command;

use rustix::process::{Resource, Rlimit, setrlimit};
use tempfile::TempDir;

use crate::render::sink::*;

/// A folder with an old report in it, and the report's path.
fn old_report() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.csv");
    fs::write(&path, "old").unwrap();
    (folder, path)
}

fn names(folder: &TempDir) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_commit_replaces_and_a_drop_does_not() {
    let (folder, path) = old_report();
    let mut sink = Sink::file(&path).unwrap();
    sink.write_all(b"half").unwrap();
    sink.flush().unwrap();
    drop(sink);
    assert_eq!(fs::read(&path).unwrap(), b"old");

    let mut sink = Sink::file(&path).unwrap();
    sink.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old", "until the commit");
    sink.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(names(&folder), ["report.csv"]);
}

#[test]
fn a_link_is_replaced_and_its_target_unchanged() {
    let (folder, path) = old_report();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    let mut sink = Sink::file(&link).unwrap();
    sink.write_all(b"new").unwrap();
    sink.commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert!(fs::symlink_metadata(&link).unwrap().is_file());
}

#[test]
fn an_irreplaceable_output_is_an_error_when_opened() {
    let (folder, path) = old_report();
    let refusal = |path: &Path| Sink::file(path).unwrap_err().to_string();
    let shown = path.display();
    assert_eq!(
        refusal(&path.join("x")),
        format!("cannot open {shown}/x: not a directory; make the folder first or choose another --output")
    );
    assert!(refusal(&folder.path().join("no/such")).contains("no such file or directory; make the folder first"));
    assert!(refusal(folder.path()).contains("it is a folder; choose another --output"));
    assert!(refusal(Path::new("/")).contains("it names a folder"));
    assert!(refusal(Path::new("/dev/stdout")).contains("it is a link of the system; choose another --output; `-` is standard output"));
    assert_eq!(names(&folder), ["report.csv"]);
}

#[test]
fn a_full_device_is_an_error() {
    let mut sink = Sink::file(Path::new("/dev/full")).unwrap();
    sink.write_all(b"row").unwrap();
    assert_eq!(
        sink.commit().unwrap_err().to_string(),
        "cannot write /dev/full: no space left on device; free some space or choose another --output"
    );
    let mut sink = Sink::file(Path::new("/dev/null")).unwrap();
    sink.write_all(b"row").unwrap();
    sink.commit().unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device(), "written to, not replaced");
}

#[test]
fn a_removed_folder_is_an_error() {
    let (folder, path) = old_report();
    let sink = Sink::file(&path).unwrap();
    folder.close().unwrap();
    assert!(sink.commit().unwrap_err().to_string().starts_with("cannot replace "));
}

#[test]
fn an_input_is_recognised_by_device_and_inode() {
    let (folder, path) = old_report();
    let there = fs::metadata(&path).unwrap();
    let link = folder.path().join("link");
    symlink(&path, &link).unwrap();
    for name in [&path, &link, &folder.path().join("../").join(folder.path().file_name().unwrap()).join("report.csv")] {
        assert!(Sink::file(name).unwrap().is_same_file(there.dev(), there.ino()), "{}", name.display());
    }
    assert!(!Sink::file(&folder.path().join("other")).unwrap().is_same_file(there.dev(), there.ino()));
}

#[test]
fn a_closed_pipe_is_an_error_of_its_own() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let error = BlockingWriter::new(writer).write(b"row").unwrap_err();
    assert!(matches!(Sink::stdout().explain(error), SinkError::BrokenPipe { .. }));
}

#[test]
fn a_slow_reader_is_awaited() {
    let (mut reader, writer) = io::pipe().unwrap();
    rustix::fs::fcntl_setfl(&writer, rustix::fs::OFlags::NONBLOCK).unwrap();
    let report = vec![b'x'; 1 << 20];
    let sent = report.clone();
    let writing = std::thread::spawn(move || BlockingWriter::new(writer).write_all(&sent));
    let mut got = Vec::new();
    io::Read::read_to_end(&mut reader, &mut got).unwrap();
    writing.join().unwrap().unwrap();
    assert_eq!(got.len(), report.len());
}

/// Runs in a process of its own, as the limit is per process.
#[test]
#[ignore = "run by `a_size_limit_is_an_error`"]
fn write_past_the_size_limit() {
    setrlimit(Resource::Fsize, Rlimit { current: Some(4096), maximum: Some(4096) }).unwrap();
    let mut sink = Sink::file(Path::new(&std::env::var_os("PROBEWATCH_TEST_SINK").unwrap())).unwrap();
    let error = sink.write_all(&vec![b'x'; 200_000]).unwrap_err();
    let message = sink.explain(error).to_string();
    assert!(message.contains("file too large; raise the file size limit (ulimit -f)"), "{message}");
}

#[test]
fn a_size_limit_is_an_error() {
    let (folder, path) = old_report();
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "render::sink::tests::write_past_the_size_limit"])
        .env("PROBEWATCH_TEST_SINK", &path)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && printed.contains("1 passed"), "{printed}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(names(&folder), ["report.csv"]);
}
