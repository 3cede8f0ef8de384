//! Requests a URL with the system's `curl` and reads its answer. There is no other network code in
//! the program.
//!
//! One process for each request, by an argument vector, without a shell: GET, no redirect is
//! followed, and no configuration file, cookie or `.netrc` is read. Proxies are those of the
//! environment. At most [`BODY_BYTES`] of a body are read, into memory.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::commands::error::CommandError;
use crate::commands::signals::StopSignal;
use crate::os::system::errno_message;
use crate::report::verify::{BODY_BYTES, HttpAnswer, Reply};

/// The agent of the requests.
pub(super) const AGENT: &str = concat!("probewatch-verify/", env!("CARGO_PKG_VERSION"));

/// What every request has. `-q` must be the first.
const ARGS: [&str; 14] = [
    "-q",
    "--globoff",
    "--path-as-is",
    "--proto",
    "=http,https",
    "--max-redirs",
    "0",
    "--max-time",
    "20",
    "--silent",
    "--include",
    "--suppress-connect-headers",
    "--user-agent",
    AGENT,
];

/// The most bytes of the headers. Servers send less than 16 KiB.
const HEAD_BYTES: usize = 64 << 10;
/// Bytes that are read at once.
const CHUNK: usize = 4 << 10;
/// How often a wait looks for a signal.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

/// Sends requests, one after the other.
pub(super) struct Curl<'a> {
    cacert: Option<&'a Path>,
    pause: Duration,
    stop: &'a StopSignal,
    /// When the last request was sent.
    last: Option<Instant>,
}

impl<'a> Curl<'a> {
    /// Requests begin at least `pause` apart.
    pub(super) fn new(cacert: Option<&'a Path>, pause: Duration, stop: &'a StopSignal) -> Self {
        Self {
            cacert,
            pause,
            stop,
            last: None,
        }
    }

    /// Requests a URL.
    ///
    /// # Errors
    ///
    /// `curl` cannot be run, or a signal arrived.
    pub(super) fn get(&mut self, url: &str) -> Result<Reply, CommandError> {
        while let Some(rest) = self
            .last
            .and_then(|last| self.pause.checked_sub(last.elapsed()))
            .filter(|rest| !rest.is_zero())
        {
            self.check_signal()?;
            thread::sleep(rest.min(SIGNAL_INTERVAL));
        }
        self.last = Some(Instant::now());
        let mut command = Command::new("curl");
        command.args(ARGS);
        if let Some(file) = self.cacert {
            command.arg("--cacert").arg(file);
        }
        command
            .arg(url)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => CommandError::Curl(
                "no program of that name is in PATH; install it, for example: apt install curl"
                    .to_owned(),
            ),
            _ => CommandError::Curl(errno_message(&error)),
        })?;
        let (bytes, is_cut) = read(&mut child);
        if is_cut {
            // What it writes is not read any more, so it would wait. It may have ended by itself.
            let _ = child.kill();
        }
        let code = child
            .wait()
            .map_err(|error| CommandError::Curl(errno_message(&error)))?
            .code();
        self.check_signal()?;
        Ok(match (code, parse(&bytes, is_cut)) {
            (Some(2), _) => {
                return Err(CommandError::Curl(
                    "it does not know its arguments; version 7.54 or later is needed".to_owned(),
                ));
            }
            (Some(77), _) => {
                return Err(CommandError::Curl(
                    "it finds no certificate in the file of --cacert".to_owned(),
                ));
            }
            (_, None) if is_cut => Err("headers of more than 64 KiB".to_owned()),
            (_, Some(answer)) if is_cut || code == Some(0) => Ok(answer),
            // What came of it shows that the rest is a leak too.
            (_, Some(answer)) if answer.status < 300 && answer.kind().is_leak() => Ok(HttpAnswer {
                is_cut: true,
                ..answer
            }),
            (code, _) => Err(reason(code)),
        })
    }

    fn check_signal(&self) -> Result<(), CommandError> {
        self.stop
            .exit()
            .map_or(Ok(()), |exit| Err(CommandError::Stopped(exit)))
    }
}

/// Reads headers and body, up to the limit of each. Returns whether there may be more.
fn read(child: &mut Child) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let Some(stdout) = &mut child.stdout else {
        return (bytes, false);
    };
    loop {
        let most = head_len(&bytes).map_or(HEAD_BYTES, |head| head + BODY_BYTES);
        let room = most.saturating_sub(bytes.len()).min(CHUNK) as u64;
        if room == 0 {
            return (bytes, true);
        }
        // An answer that cannot be read to its end ends there; the exit status of curl shows it.
        if matches!(stdout.take(room).read_to_end(&mut bytes), Ok(0) | Err(_)) {
            return (bytes, false);
        }
    }
}

/// The length of the headers with their empty line: those of the last answer if there are interim
/// ones. `None` before their end.
fn head_len(bytes: &[u8]) -> Option<usize> {
    let mut start = 0;
    loop {
        let is_interim = status(&bytes[start..]).is_some_and(|status| status < 200);
        let mut end = start;
        loop {
            let line = bytes[end..]
                .split_inclusive(|&b| b == b'\n')
                .next()
                .filter(|line| line.ends_with(b"\n"))?;
            end += line.len();
            if line.trim_ascii().is_empty() {
                break;
            }
        }
        if !is_interim {
            return Some(end);
        }
        start = end;
    }
}

/// The status in a line such as `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/")?;
    let digits = rest.split(|&b| b == b' ').nth(1)?.get(..3)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The answer in headers and body; `None` if the headers have no end or no status.
fn parse(bytes: &[u8], is_cut: bool) -> Option<HttpAnswer> {
    let (head, body) = bytes.split_at(head_len(bytes)?);
    let mut lines: Vec<&[u8]> = head
        .split(|&b| b == b'\n')
        .map(<[u8]>::trim_ascii)
        .collect();
    // The headers of interim answers come before those of the last one.
    let first = lines.iter().rposition(|line| status(line).is_some())?;
    lines.drain(..first);
    let header = |name: &str| {
        let value = |line: &&[u8]| {
            line.get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        };
        lines
            .iter()
            .copied()
            .find(value)
            .and_then(|line| line[name.len()..].strip_prefix(b":"))
            .map(<[u8]>::trim_ascii)
    };
    let length =
        header("content-length").and_then(|value| std::str::from_utf8(value).ok()?.parse().ok());
    Some(HttpAnswer {
        status: status(lines[0])?,
        location: header("location").map(<[u8]>::to_vec),
        body: body[..body.len().min(BODY_BYTES)].to_vec(),
        length,
        is_encoded: header("content-encoding")
            .is_some_and(|value| !value.eq_ignore_ascii_case(b"identity")),
        is_cut,
    })
}

/// Why there is no answer, by the exit status of curl (curl(1), "EXIT CODES").
fn reason(code: Option<i32>) -> String {
    let known = match code {
        Some(5) => "the proxy is not known by name",
        Some(6) => "the host is not known by name",
        Some(7) => "no connection",
        Some(1 | 8) => "not HTTP",
        Some(18) => "the answer ends too early",
        Some(28) => "no whole answer within 20 s",
        Some(35 | 51 | 53 | 54 | 58 | 59 | 60 | 64 | 66 | 80 | 82 | 83 | 90 | 91) => {
            "no trusted TLS connection"
        }
        Some(52) => "an empty answer",
        Some(55 | 56) => "the connection broke",
        Some(97) => "no connection through the proxy",
        Some(code) => return format!("curl ended with {code}"),
        None => "curl was killed",
    };
    known.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_answer_counts() {
        let text = b"HTTP/1.1 103 Early Hints\r\nLocation: /early\r\n\r\nHTTP/2 302 \r\nlocation:  /x \r\nContent-Length: 70000\r\n\r\nHTTP/1.1 500\r\n\r\n";
        let answer = parse(text, false).unwrap();
        assert_eq!(
            (answer.status, answer.location.as_deref(), answer.length),
            (302, Some(&b"/x"[..]), Some(70_000))
        );
        assert_eq!(answer.body, b"HTTP/1.1 500\r\n\r\n");
        assert!(!answer.is_encoded);
        let bare = parse(
            b"HTTP/1.0 200 OK\nContent-Encoding: gzip\nContent-Length: -1\n\n\x1f\x8b",
            false,
        )
        .unwrap();
        assert_eq!(
            (bare.status, bare.length, bare.is_encoded, bare.kind()),
            (200, None, true, crate::report::verify::BodyKind::Other)
        );
    }

    #[test]
    fn no_answer_without_the_end_of_the_headers() {
        for text in [
            "",
            "HTTP/1.1 200 OK\r\nA: b\r\n",
            "HTTP/1.1 100\r\n\r\n",
            "HTTP/1.1\r\n\r\n",
            "HTTP/1.1 2x0 OK\r\n\r\n",
            "\r\n\r\n",
        ] {
            assert_eq!(parse(text.as_bytes(), false), None, "{text:?}");
        }
    }

    proptest! {
        /// Any bytes may come, and the body is never longer than the limit.
        #[test]
        fn any_bytes_are_parsed(bytes: Vec<u8>, more in "(HTTP/1.[01] [1-5][0-9]{2}( |\r\n|\n)|location: |\r\n|\n|\r|[a-z]){0,40}", size in 0..3_usize) {
            let text = [more.as_bytes(), &bytes, &vec![b'x'; size * (BODY_BYTES - 1)]].concat();
            if let Some(answer) = parse(&text, false) {
                prop_assert!(answer.body.len() <= BODY_BYTES && text.ends_with(&answer.body) || answer.body.len() == BODY_BYTES);
            }
        }
    }
}
