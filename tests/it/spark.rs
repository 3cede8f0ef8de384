//! `samples/spark` on two executors: the report has the bytes of one scan, also if an executor is
//! killed or a task runs twice.
//!
//! Java and `PySpark` must be installed: `PySpark` where Python finds it, or in a folder of the
//! system's temporary folder, where `.ci/run` installs it. Without them the tests are skipped with
//! a message.

use std::ffi::OsString;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::compression::Compression;
use crate::harness::{EXE, Harness, is_installed, line, log, skip};

/// The sample.
const PROGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/samples/spark/probewatch_spark.py"
);

/// The size of ranges: the plain log has several.
const CHUNK: usize = 40_000;

/// The logs of another store.
const STORE: &str = "viewfs://store/logs/*.log";

/// The logs of a test, the program as executors run it, and Spark's own files.
struct Fleet {
    harness: Harness,
    /// Where Python finds `PySpark`.
    python_path: OsString,
    /// The logs that executors can open, another one, and the number of tasks.
    logs: Vec<String>,
    remote: String,
    tasks: usize,
}

/// Where Python finds `PySpark`, and the folder of `PySpark`.
fn pyspark() -> Option<(OsString, PathBuf)> {
    let folder = env::temp_dir().join(format!(
        "probewatch-spark-test-{}",
        rustix::process::geteuid().as_raw()
    ));
    let own = env::var_os("PYTHONPATH");
    let path = env::join_paths(own.iter().flat_map(env::split_paths).chain([folder])).ok()?;
    let mut python = Command::new("python3");
    let output = python
        .args(["-c", "import pyspark; print(pyspark.__path__[0])"])
        .env("PYTHONPATH", &path)
        .stdin(Stdio::null())
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some((
        path,
        PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()),
    ))
}

/// A log of a site: ordinary lines, and probes of a few clients, some of which were answered.
fn site(seed: usize, lines: usize) -> String {
    let probe = |n: usize| {
        let target = [
            "/.env",
            "/.git/config",
            "/wp-login.php",
            "/index.php?id=1+union+select+1,2",
            "/etc/passwd",
        ][n % 5];
        line(
            &format!("198.51.100.{}", n % (seed + 3)),
            &format!("GET {target} HTTP/1.1"),
            [404, 200, 403][(n + seed) % 3],
        )
    };
    (0..lines / 50)
        .map(|n| log(49 - seed) + &probe(n) + &probe(n * seed))
        .collect()
}

impl Fleet {
    /// Makes the logs; `None` if the test is skipped. A plain log in ranges, a small one, and
    /// compressed ones.
    fn new(test: &str) -> Option<Self> {
        if !is_installed("java") {
            skip(test, "Java is not installed");
            return None;
        }
        let Some((python_path, spark)) = pyspark() else {
            skip(test, "PySpark is not installed");
            return None;
        };
        let harness = Harness::new();
        // Spark writes below its own folder.
        fs::create_dir(harness.path("spark")).unwrap();
        for entry in fs::read_dir(spark)
            .unwrap()
            .map(Result::unwrap)
            .filter(|entry| entry.file_name() != "work")
        {
            symlink(entry.path(), harness.path("spark").join(entry.file_name())).unwrap();
        }
        fs::create_dir(harness.path("logs")).unwrap();
        fs::create_dir(harness.path("store")).unwrap();
        let remote = site(6, 900);
        harness.file("store/web 1.log", &remote);
        let plain = site(1, 3_000);
        harness.file("logs/large.log", &plain);
        harness.file("logs/small.log", site(2, 300));
        for (seed, packed) in [
            (3, Compression::Gzip),
            (4, Compression::Zstd),
            (5, Compression::Gzip),
        ] {
            harness.file(
                format!("logs/{seed}.log.{}", packed.ending()),
                packed.pack(site(seed, 2_000).as_bytes()),
            );
        }
        let mut logs: Vec<String> = fs::read_dir(harness.path("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path().display().to_string())
            .collect();
        logs.sort();
        let tasks = logs.len() + plain.len().div_ceil(CHUNK);
        let fleet = Self {
            harness,
            python_path,
            logs,
            remote,
            tasks,
        };
        fleet.program("");
        Some(fleet)
    }

    /// Writes the program of the executors, which records each scan and runs these lines of shell
    /// before it.
    fn program(&self, lines: &str) {
        let folder = self.harness.path("");
        let script = format!(
            "#!/bin/sh\ncd {}\n[ $1 != scan ] || echo \"$*\" >> scans\n{lines}\nexec {EXE} \"$@\"\n",
            folder.display()
        );
        let path = self.harness.file("probewatch", script);
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
        self.harness.file("scans", "");
    }

    /// Starts the sample.
    fn start(&self, args: &[&str]) -> Child {
        let path = |name: &str| self.harness.path(name).display().to_string();
        let mut submit = self.harness.program(&path("spark/bin/spark-submit"));
        submit
            .env("PYTHONPATH", &self.python_path)
            .env("SPARK_HOME", path("spark"))
            .env("SPARK_LOCAL_IP", "127.0.0.1");
        submit.env("SPARK_LOCAL_DIRS", path("local"));
        let store = format!(
            "spark.hadoop.fs.viewfs.mounttable.store.link./logs=file://{}",
            path("store")
        );
        submit.args([
            "--master",
            "local-cluster[2,1,1024]",
            "--conf",
            "spark.ui.enabled=false",
            "--conf",
            &store,
        ]);
        submit
            .args([
                PROGRAM,
                "--probewatch",
                &path("probewatch"),
                "--chunk",
                &CHUNK.to_string(),
                "--fan-in",
                "3",
            ])
            .args(args);
        // Spark prints what Python writes to standard error on its standard output.
        let printed = fs::File::create(self.harness.path("printed")).unwrap();
        submit
            .stdout(printed.try_clone().unwrap())
            .stderr(printed)
            .spawn()
            .unwrap()
    }

    /// Waits for the sample, and returns its exit code and what it printed.
    fn wait(&self, mut child: Child) -> (i32, String) {
        let code = child.wait().unwrap().code().unwrap();
        (
            code,
            fs::read_to_string(self.harness.path("printed")).unwrap(),
        )
    }

    /// The arguments of the scans that have started.
    fn scans(&self) -> Vec<String> {
        fs::read_to_string(self.harness.path("scans"))
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.harness.path(name)).unwrap()
    }

    /// The bytes of one scan.
    fn whole(&self, format: &str) -> Vec<u8> {
        let args = [
            "scan",
            "-q",
            "-f",
            format,
            "--source",
            "viewfs://store/logs/web 1.log",
        ]
        .into_iter();
        let run = self.harness.run_with_stdin(
            args.chain(self.logs.iter().map(String::as_str))
                .chain(["-"]),
            self.remote.as_bytes(),
        );
        assert_eq!((run.code, run.stderr.as_str()), (0, ""));
        run.stdout
    }

    /// A command that prints a file of the other store, and fails for one of them.
    fn cat(&self) -> String {
        format!(
            "sh -c 'case $0 in *gone*) exit 7 ;; esac; exec cat \"{}/${{0##*/}}\"'",
            self.harness.path("store").display()
        )
    }
}

/// The process of an executor, a child of the driver.
fn executor(driver: &Child, id: u32) -> Option<Pid> {
    let parent = format!("PPid:\t{}\n", driver.id());
    let argument = format!("\0--executor-id\0{id}\0");
    let is_it = |process: &Path| {
        fs::read_to_string(process.join("status")).is_ok_and(|status| status.contains(&parent))
            && fs::read(process.join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&argument))
    };
    let process = fs::read_dir("/proc")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|process| is_it(process))?;
    Pid::from_raw(process.file_name()?.to_str()?.parse().ok()?)
}

#[test]
fn a_report_of_a_cluster_equals_one_scan() {
    let Some(fleet) = Fleet::new("a_report_of_a_cluster_equals_one_scan") else {
        return;
    };
    let args = ["-o", "report.json", "logs", "logs/../logs/small.log", STORE];
    let (code, printed) = fleet.wait(fleet.start(&args));
    assert_eq!(code, 0, "{printed}");
    assert_eq!(fleet.scans().len(), fleet.tasks, "{printed}");
    let report = fleet.read("report.json");
    assert!(report == fleet.whole("json"));
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert!(
        report["totals"]["answered"].as_u64() > Some(0)
            && report["totals"]["hits"].as_u64() > Some(100)
    );
}

#[test]
fn a_killed_executor_and_repeated_tasks_change_nothing() {
    let Some(fleet) = Fleet::new("a_killed_executor_and_repeated_tasks_change_nothing") else {
        return;
    };
    // One scan fails after it has written its output, and the others take long enough for the kill.
    let fail = format!(
        "case $* in *small.log) if mkdir failed 2> /dev/null; then {EXE} \"$@\"; exit 9; fi ;; esac"
    );
    fleet.program(&format!("{fail}\n[ $1 != scan ] || sleep 0.3"));
    let mut driver = fleet.start(&[
        "-f",
        "partial",
        "-o",
        "all.partial",
        "logs",
        STORE,
        "--cat",
        &fleet.cat(),
        "--merge=-q",
    ]);
    let begin = Instant::now();
    while fleet.scans().len() < fleet.tasks / 2 {
        // The limit only ends a test that would hang.
        assert!(
            begin.elapsed() < Duration::from_secs(300) && driver.try_wait().unwrap().is_none(),
            "{}",
            fleet.wait(driver).1
        );
        thread::sleep(Duration::from_millis(50));
    }
    kill_process(executor(&driver, 0).unwrap(), Signal::KILL).unwrap();
    let (code, printed) = fleet.wait(driver);
    assert_eq!(code, 0, "{printed}");
    assert!(
        fleet.harness.path("failed").exists()
            && printed.contains("small.log: probewatch scan ended with 9"),
        "{printed}"
    );
    assert!(
        fleet.scans().len() > fleet.tasks + 1,
        "only the failed task ran again: {printed}"
    );
    for format in ["json", "csv"] {
        let run = fleet
            .harness
            .run(["merge", "-q", "-f", format, "all.partial"]);
        assert!(
            (run.code, run.stderr.as_str()) == (0, "") && run.stdout == fleet.whole(format),
            "{format}: {}",
            run.stderr
        );
    }
}

#[test]
fn errors_of_a_cluster_name_the_file() {
    let Some(fleet) = Fleet::new("errors_of_a_cluster_name_the_file") else {
        return;
    };
    fleet.harness.file("store/gone.log", "");
    let (code, printed) = fleet.wait(fleet.start(&[
        "-o",
        "report.csv",
        "-f",
        "csv",
        "--cat",
        &fleet.cat(),
        STORE,
    ]));
    assert_eq!(code, 2, "{printed}");
    assert!(
        printed.contains("viewfs://store/logs/gone.log: sh ended with 7")
            && !fleet.harness.path("report.csv").exists(),
        "{printed}"
    );
    let (code, printed) =
        fleet.wait(fleet.start(&["-o", "report.csv", "--scan=--no-such-flag", "logs"]));
    assert_eq!(code, 2, "{printed}");
    assert!(
        printed.contains("large.log: probewatch scan ended with 2")
            && printed.contains("--no-such-flag"),
        "{printed}"
    );
    let (code, printed) =
        fleet.wait(fleet.start(&["-o", "report.csv", "--scan=--since 7d", "logs"]));
    assert!(
        code == 2 && printed.contains("give a date, not an age"),
        "{printed}"
    );
}
