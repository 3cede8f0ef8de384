//! A kind of site: what is planted, what is requested, what was answered, and how the grades
//! compare with that.
//!
//! An answer is real if the planted file came back byte for byte. No server is started here.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use super::probes::{self, Plan, Request};
use crate::harness::{Harness, Rng};
use crate::servers::daemon::Daemon;

/// Files of many sizes.
pub(super) const SECRETS: &[(&str, usize)] = &[
    ("/.env", 214),
    ("/.git/HEAD", 21),
    ("/wp-config.php.bak", 3_177),
    ("/dump.sql", 48_211),
    ("/backup.zip", 500_000),
];
/// One small file and one large one.
pub(super) const TWO: &[(&str, usize)] =
    &[("/.aws/credentials", 117), ("/database.sqlite", 90_112)];

/// The timeout on a busy host.
const DEADLINE: Duration = Duration::from_secs(30);

/// A kind of site.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind<E> {
    pub(super) name: &'static str,
    /// Paths of planted files and their sizes in bytes; `HOST PATH` for a file of one host.
    pub(super) plants: &'static [(&'static str, usize)],
    /// Paths whose rows do not count: pages that the site means to show.
    pub(super) pages: &'static [&'static str],
    pub(super) hosts: &'static [&'static str],
    pub(super) folders: &'static [&'static str],
    pub(super) few: Option<usize>,
    pub(super) gzip: bool,
    pub(super) methods: bool,
    /// The definition of the server.
    pub(super) engine: E,
}

impl<E> Kind<E> {
    pub(super) const fn new(
        name: &'static str,
        plants: &'static [(&'static str, usize)],
        engine: E,
    ) -> Self {
        Self {
            name,
            plants,
            pages: &[],
            hosts: &["www.example.com"],
            folders: &[],
            few: None,
            gzip: false,
            methods: true,
            engine,
        }
    }

    pub(super) const fn few(mut self, few: usize) -> Self {
        self.few = Some(few);
        self.methods = false;
        self
    }

    pub(super) const fn hosts(mut self, hosts: &'static [&'static str]) -> Self {
        self.hosts = hosts;
        self
    }

    pub(super) const fn folders(mut self, folders: &'static [&'static str]) -> Self {
        self.folders = folders;
        self
    }

    pub(super) const fn gzip(mut self) -> Self {
        self.gzip = true;
        self
    }

    pub(super) const fn pages(mut self, pages: &'static [&'static str]) -> Self {
        self.pages = pages;
        self
    }

    pub(super) fn plan(&self) -> Plan {
        Plan {
            hosts: self.hosts,
            folders: self.folders,
            few: self.few,
            also: self.plants,
            gzip: self.gzip,
            methods: self.methods,
        }
    }

    /// The planted file at a path of a host.
    pub(super) fn planted(&self, host: &str, path: &str) -> Option<Vec<u8>> {
        let fits = |plant: &str| {
            plant
                .split_once(' ')
                .map_or(plant == path, |(of, plant)| of == host && plant == path)
        };
        self.plants
            .iter()
            .find(|(plant, _)| fits(plant))
            .map(|(plant, size)| secret(plant, *size))
    }

    /// Writes the planted files below `site`, and those of one host below `site/HOST`.
    pub(super) fn plant(&self, harness: &Harness) {
        for (plant, size) in self.plants {
            let (host, path) = plant.split_once(' ').unwrap_or(("", plant));
            let file = harness.path(format!("site/{host}{path}"));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, secret(plant, *size)).unwrap();
        }
    }
}

/// Text of a size that no page has.
fn secret(name: &str, size: usize) -> Vec<u8> {
    let mut rng = Rng::new();
    for byte in name.bytes() {
        for _ in 0..byte % 7 {
            rng.next_u64();
        }
    }
    (0..size)
        .map(|n| {
            if n % 40 == 39 {
                b'\n'
            } else {
                b'A' + rng.below(26) as u8
            }
        })
        .collect()
}

/// Writes what every site has: a home page and assets.
pub(super) fn lay_out(harness: &Harness) {
    fs::create_dir_all(harness.path("site/assets")).unwrap();
    harness.file("site/assets/app.js", text(18_211));
    harness.file("site/assets/style.css", text(2_907));
    harness.file(
        "site/index.html",
        format!("<html><!-- TOKEN --><body>{}</body></html>\n", text(1_403)),
    );
    harness.file(
        "site/404.html",
        format!("<html><body>{}</body></html>\n", text(2_611)),
    );
}

/// Readable text of this size.
pub(super) fn text(size: usize) -> String {
    "The quick brown fox jumps over the lazy dog, and so it goes. "
        .chars()
        .cycle()
        .take(size)
        .collect()
}

/// An answer.
#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

/// Sends a request and reads the reply to its end. The server writes the log line before it closes
/// the connection.
fn send(port: u16, request: &Request) -> Reply {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let Request {
        method,
        target,
        host,
        client,
        agent,
        ..
    } = request;
    let gzip = if request.gzip {
        "Accept-Encoding: gzip, deflate\r\n"
    } else {
        ""
    };
    let body = if *method == "POST" {
        "Content-Length: 3\r\n\r\na=b"
    } else {
        "\r\n"
    };
    let message = format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}\r\nX-Test-Client: {client}\r\nUser-Agent: {agent}\r\n{gzip}Connection: close\r\n{body}"
    );
    stream.write_all(message.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes
        .windows(4)
        .position(|window| window == b"\r\n\r\n")
        .unwrap_or_else(|| panic!("no reply to {method} {target}"));
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Reply {
        status,
        body: body_of(&head, &bytes[end + 4..]),
        head,
    }
}

/// The decoded and decompressed body.
fn body_of(head: &str, bytes: &[u8]) -> Vec<u8> {
    let mut body = bytes.to_vec();
    if head.contains("transfer-encoding: chunked") {
        let (mut rest, mut whole) = (bytes, Vec::new());
        while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
            let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap().trim(), 16)
                .unwrap();
            if size == 0 {
                break;
            }
            whole.extend_from_slice(&rest[end + 2..end + 2 + size]);
            rest = &rest[end + 4 + size..];
        }
        body = whole;
    }
    if head.contains("content-encoding: gzip") && !body.is_empty() {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..])
            .read_to_end(&mut plain)
            .unwrap();
        body = plain;
    }
    body
}

/// Whether it is the planted file.
fn is_real<E>(kind: &Kind<E>, request: &Request, reply: &Reply) -> bool {
    let path = request.target.split('?').next().unwrap();
    let Some(secret) = kind.planted(request.host, path) else {
        return false;
    };
    reply.status == 200
        && if request.method == "HEAD" {
            reply
                .head
                .contains(&format!("content-length: {}\r", secret.len()))
                || reply
                    .head
                    .ends_with(&format!("content-length: {}", secret.len()))
        } else {
            reply.body == secret
        }
}

/// How grades compare with the truth, in rows of a site and a path.
#[derive(Debug, Clone, Default)]
pub(super) struct Score {
    pub(super) real: usize,
    pub(super) missed: usize,
    pub(super) distinct_real: usize,
    pub(super) false_rows: usize,
    pub(super) uncertain: usize,
    pub(super) rows: usize,
    /// The errors, as text.
    pub(super) wrong: Vec<String>,
}

impl Score {
    pub(super) fn precision(&self) -> f64 {
        percent(self.distinct_real, self.distinct_real + self.false_rows)
    }

    pub(super) fn recall(&self) -> f64 {
        percent(self.real - self.missed, self.real)
    }

    pub(super) fn uncertain_share(&self) -> f64 {
        if self.rows == 0 {
            0.0
        } else {
            percent(self.uncertain, self.rows)
        }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.real += other.real;
        self.missed += other.missed;
        self.distinct_real += other.distinct_real;
        self.false_rows += other.false_rows;
        self.uncertain += other.uncertain;
        self.rows += other.rows;
    }

    /// One line of the table.
    pub(super) fn line(&self, name: &str) -> String {
        format!(
            "{name:24} rows {:4}  real {:2}  precision {:5.1}  recall {:5.1}  uncertain {:4.1}",
            self.rows,
            self.real,
            self.precision(),
            self.recall(),
            self.uncertain_share()
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "thousands of rows")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 {
        100.0
    } else {
        100.0 * part as f64 / whole as f64
    }
}

/// Sends the requests to a server one after the other, and returns the truth about each.
pub(super) fn truth<E>(kind: &Kind<E>, requests: &[Request], port: u16) -> Vec<bool> {
    requests
        .iter()
        .map(|request| is_real(kind, request, &send(port, request)))
        .collect()
}

/// Sends the requests of a kind of site to its server, stops the server, and scores its log.
pub(super) fn score_server<E>(
    kind: &Kind<E>,
    harness: &Harness,
    server: Daemon,
    seed: u64,
) -> Score {
    let requests = probes::requests(&kind.plan(), seed);
    let truth = truth(kind, &requests, server.port());
    let log = harness.path("log/access.log");
    server.finish(&[&log], requests.len());
    score(kind, harness, &log, &truth)
}

/// Compares the grades of `scan` with the truth about each line.
pub(super) fn score<E>(kind: &Kind<E>, harness: &Harness, log: &Path, truth: &[bool]) -> Score {
    let lines = fs::read_to_string(log).unwrap().lines().count();
    assert_eq!(lines, truth.len(), "{}: a line for each request", kind.name);
    let run = harness.run([
        "scan",
        "--no-progress",
        "-q",
        "-f",
        "ndjson",
        log.to_str().unwrap(),
    ]);
    assert!(matches!(run.code, 0 | 3), "{}: {}", kind.name, run.stderr);
    // The truth, the rank of the strongest grade, and the grade.
    let mut rows: BTreeMap<(String, String), (bool, usize, String)> = BTreeMap::new();
    for hit in run.objects() {
        let Some(answer) = hit["answer"].as_str() else {
            continue;
        };
        let grade = ["soft_404", "uncertain", "distinct"]
            .iter()
            .position(|name| *name == answer)
            .unwrap();
        let line = hit["line"].as_u64().unwrap() as usize;
        let place = (
            hit["host"].as_str().unwrap_or("").to_owned(),
            hit["path"].as_str().unwrap().to_owned(),
        );
        let row = rows
            .entry(place)
            .or_insert_with(|| (false, 0, String::new()));
        row.0 |= truth[line - 1];
        row.1 = row.1.max(grade);
        row.2 = format!(
            "{} {} bytes {}",
            row.2,
            hit["method"].as_str().unwrap_or("-"),
            hit["bytes"]
        );
    }
    let mut score = Score::default();
    for ((host, path), (real, grade, what)) in rows {
        if kind.pages.contains(&path.as_str()) {
            continue;
        }
        score.rows += 1;
        score.real += usize::from(real);
        score.uncertain += usize::from(grade == 1);
        score.missed += usize::from(real && grade == 0);
        score.distinct_real += usize::from(real && grade == 2);
        score.false_rows += usize::from(!real && grade == 2);
        if (real && grade != 2) || (!real && grade != 0) {
            let grade_name = ["soft 404", "uncertain", "distinct"][grade];
            score.wrong.push(format!(
                "{}: {host}{path} is {} and called {grade_name}:{what}",
                kind.name,
                if real { "real" } else { "none" }
            ));
        }
    }
    score
}
