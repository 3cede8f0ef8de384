//! Block lists in the programs that enforce them: each list is made by the command, and given to
//! the real program by the script in `samples/block`.
//!
//! Everything happens in network namespaces that the tests make. Nothing changes the firewall, the
//! services or the configuration of this host. A program, a privilege or a kernel module that is
//! missing skips the test by name.

mod bans;
mod firewall;
mod namespace;
mod refresh;
mod servers;
mod units;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use jiff::{SignedDuration, Timestamp};

use crate::harness::{Harness, Run, skip};

/// Clients that only probe.
const LISTED: [&str; 3] = ["8.8.8.8", "8.8.4.4", "2620:fe:4700::1111"];

/// The same clients, as lists name them.
const LISTED_AS: [&str; 3] = ["8.8.8.8", "8.8.4.4", "2620:fe:4700::/64"];

/// Clients that must not be in a list: a visitor, one of the allow list, one that also reads pages,
/// and private addresses. All but the first probe.
const SPARED: [&str; 5] = [
    "9.9.9.9",
    "1.1.1.1",
    "208.67.222.222",
    "192.168.7.9",
    "fd12:3456::7",
];

const PROBES: [&str; 6] = [
    "/.git/config",
    "/.env",
    "/phpinfo.php",
    "/id_rsa",
    "/db.sql",
    "/actuator/env",
];

/// How many addresses a large list has.
const MANY: u32 = 100_000;

/// A line of a request this long ago.
fn line_at(client: &str, path: &str, status: u16, ago: SignedDuration) -> String {
    let time = (Timestamp::now() - ago)
        .strftime("%d/%b/%Y:%H:%M:%S +0000")
        .to_string();
    format!("{client} - - [{time}] \"GET {path} HTTP/1.1\" {status} 512 \"-\" \"Mozilla/5.0\"\n")
}

/// The probes of a client, this long ago.
fn prober(client: &str, ago: SignedDuration) -> String {
    PROBES
        .iter()
        .map(|path| line_at(client, path, 404, ago))
        .collect()
}

/// Writes `access.log` with listed and spared clients of the last hour, and `allow.toml`.
fn write_log(harness: &Harness) {
    let ago = SignedDuration::from_mins(20);
    let mut log: String = LISTED
        .iter()
        .chain(&SPARED[1..])
        .map(|client| prober(client, ago))
        .collect();
    for page in 0..20 {
        log += &line_at(SPARED[0], &format!("/page/{page}"), 200, ago);
        log += &line_at(SPARED[2], &format!("/page/{page}"), 200, ago);
    }
    harness.file("access.log", log);
    harness.file(
        "allow.toml",
        "[[allow]]\nreason = 'ours'\nclients = ['1.1.1.1']\n",
    );
}

/// A folder with `access.log` and `allow.toml`.
fn stage() -> Harness {
    let harness = Harness::new();
    write_log(&harness);
    harness
}

/// Makes the list `NAME.FORMAT` from logs with these arguments.
fn list(harness: &Harness, name: &str, format: &str, args: &[&str]) -> PathBuf {
    // `cscli` goes by the extension.
    let path = harness.path(format!(
        "{name}.{}",
        if format == "crowdsec" { "csv" } else { format }
    ));
    let out = path.display().to_string();
    let run = harness.run([&["block", "-q", "--format", format, "-o", &out], args].concat());
    assert_eq!(run.code, 0, "{format}: {}", run.stderr);
    path
}

/// The list of `access.log`.
fn list_of_log(harness: &Harness, format: &str) -> PathBuf {
    list(
        harness,
        "list",
        format,
        &["--allow", "allow.toml", "access.log"],
    )
}

/// A list of a log without probes.
fn empty_list(harness: &Harness, format: &str) -> PathBuf {
    harness.file(
        "quiet.log",
        line_at(SPARED[0], "/", 200, SignedDuration::ZERO),
    );
    list(harness, "empty", format, &["quiet.log"])
}

/// A list of [`MANY`] addresses, each of which probed three times. One run counts this many clients
/// only approximately: the list is put together from those of four logs.
fn large_list(harness: &Harness, format: &str) -> PathBuf {
    const PARTS: u32 = 4;
    let time = (Timestamp::now() - SignedDuration::from_mins(20))
        .strftime("%d/%b/%Y:%H:%M:%S +0000")
        .to_string();
    let parts = (0..PARTS).map(|part| {
        let mut log = String::new();
        let clients = (part * MANY / PARTS..(part + 1) * MANY / PARTS)
            .map(|number| Ipv4Addr::from(0x0808_0000 + number * 2));
        for (client, path) in
            clients.flat_map(|client| PROBES[..3].iter().map(move |path| (client, path)))
        {
            writeln!(
                log,
                "{client} - - [{time}] \"GET {path} HTTP/1.1\" 404 512 \"-\" \"Mozilla/5.0\""
            )
            .unwrap();
        }
        harness.file("large.log", log);
        fs::read_to_string(list(harness, "part", format, &["large.log"])).unwrap()
    });
    // Where the entries of other parts belong, and which lines they are.
    let (before, is_entry): (&str, fn(&&str) -> bool) = match format {
        "nft" => ("", |line| {
            line.starts_with("add element") || line.starts_with([' ', '}'])
        }),
        "ipset" => ("swap probewatch4 ", |line| line.starts_with("add ")),
        _ => ("}", |line| line.contains(" 1;")),
    };
    let join = |whole: String, part: String| {
        let entries: String = part.split_inclusive('\n').filter(is_entry).collect();
        let at = if before.is_empty() {
            whole.len()
        } else {
            whole.find(&format!("\n{before}")).unwrap() + 1
        };
        format!("{}{entries}{}", &whole[..at], &whole[at..])
    };
    harness.file(format!("large.{format}"), parts.reduce(join).unwrap())
}

/// The lines of a plain list that are not comments.
fn plain(harness: &Harness) -> BTreeSet<String> {
    let text = fs::read_to_string(list_of_log(harness, "plain")).unwrap();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

/// A file of `samples/block`.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("samples/block")
        .join(name)
}

/// A script that fails if a program that it needs is missing. `PATH` has the folders of programs
/// for root.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command
        .env("PATH", path_for_root())
        .stdin(std::process::Stdio::null());
    command
}

fn path_for_root() -> String {
    format!(
        "{}:/usr/local/sbin:/usr/sbin:/sbin",
        std::env::var("PATH").unwrap_or_default()
    )
}

/// Whether all these programs are installed; prints a note if not.
fn has_programs(test: &str, names: &[&str]) -> bool {
    let path = path_for_root();
    let is_missing = |name: &&&str| {
        !path
            .split(':')
            .any(|folder| Path::new(folder).join(name).exists())
    };
    let missing: Vec<_> = names.iter().filter(is_missing).copied().collect();
    if !missing.is_empty() {
        skip(test, &format!("not installed: {}", missing.join(", ")));
    }
    missing.is_empty()
}

/// Runs a command that must succeed, and returns its standard output.
fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Asserts that a loader refused a list: it exits with 1 and the last line of its message names the
/// list.
fn assert_refused(run: &Run, list: &Path) {
    assert_eq!(run.code, 1, "{}", run.stderr);
    let reason = run.stderr.lines().last().unwrap_or_default();
    assert!(
        reason.contains(&list.display().to_string()) && reason.contains("the old "),
        "{}",
        run.stderr
    );
}

/// Other users may enter the folder.
fn open_folder(harness: &Harness) {
    fs::set_permissions(harness.path(""), fs::Permissions::from_mode(0o755)).unwrap();
}

/// The log has both kinds of clients, and the list names the right ones. Needs no other program.
#[test]
fn the_plain_list_names_only_probers() {
    assert_eq!(plain(&stage()), LISTED_AS.map(str::to_owned).into());
}
