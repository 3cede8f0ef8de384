//! Finds the file of a piped log: `|/usr/bin/rotatelogs /var/log/access.%Y-%m-%d.log 86400`.
//!
//! Supports rotatelogs, cronolog and a shell's `>>`. Sources:
//! <https://httpd.apache.org/docs/2.4/programs/rotatelogs.html>, cronolog(1).

use super::super::path_pattern::{PathPattern, from_strftime};
use super::lexer;

/// Flags of rotatelogs that take a value.
const ROTATELOGS: [&[u8]; 3] = [b"-L", b"-p", b"-n"];

/// Flags of cronolog that take a value.
const CRONOLOG: [&[u8]; 8] = [b"-H", b"-S", b"-l", b"-P", b"-p", b"-d", b"-x", b"-z"];

/// The file that the command after a `|` writes, if known.
pub(super) fn file(command: &[u8]) -> Option<PathPattern> {
    // `||` starts the program without a shell, `|$` with one.
    let command = command.strip_prefix(b"|").or(command.strip_prefix(b"$")).unwrap_or(command);
    let words = lexer::words(command);
    let program = words.first()?.rsplit(|byte| *byte == b'/').next()?;
    match program {
        b"rotatelogs" | b"httxt-rotatelogs" | b"rotatelogs2" => rotatelogs(&words[1..]),
        b"cronolog" => arguments(&words[1..], &CRONOLOG).first().map(|name| from_strftime(name)),
        _ => redirected(&words).map(|name| name.iter().copied().fold(PathPattern::default(), PathPattern::with)),
    }
}

fn rotatelogs(words: &[Vec<u8>]) -> Option<PathPattern> {
    let name = *arguments(words, &ROTATELOGS).first()?;
    let mut pattern = from_strftime(name);
    let has = |flag: &[u8]| words.iter().any(|word| word == flag);
    // Without a time in its name, rotatelogs appends the start second, unless the file is truncated (-t) or numbered
    // (-n): then the name stays, and the other files are its rotated siblings.
    if !pattern.is_pattern() && !has(b"-t") && !has(b"-n") {
        pattern = pattern.with(b'.');
        pattern.unknown();
    }
    Some(pattern)
}

/// The words that are neither flags nor their values.
fn arguments<'a>(words: &'a [Vec<u8>], with_value: &[&[u8]]) -> Vec<&'a [u8]> {
    let mut words = words.iter().map(Vec::as_slice);
    let mut arguments = Vec::new();
    while let Some(word) = words.next() {
        if with_value.contains(&word) {
            words.next();
        } else if !word.starts_with(b"-") || word.len() == 1 {
            arguments.push(word);
        }
    }
    arguments
}

/// The file after the last `>` or `>>`.
fn redirected(words: &[Vec<u8>]) -> Option<&[u8]> {
    let at = words.iter().rposition(|word| word.starts_with(b">"))?;
    let name = words[at].trim_ascii_start();
    let name = name.iter().position(|byte| *byte != b'>').map(|start| &name[start..]);
    name.or_else(|| words.get(at + 1).map(Vec::as_slice)).filter(|name| !name.starts_with(b"&"))
}

#[cfg(test)]
mod tests {
    use crate::server_config::apache::piped_log::*;

    #[test]
    fn the_file_of_a_piped_log_is_found() {
        for (command, expected) in [
            ("/usr/bin/rotatelogs /l/access.%Y-%m-%d.log 86400", Some("/l/access.*-*-*.log")),
            ("bin/rotatelogs -l -L /l/link -f '/l/my access' 5M", Some("/l/my access.*")),
            ("|/usr/sbin/rotatelogs -n 5 /l/access_log 86400", Some("/l/access_log")),
            ("rotatelogs -t /l/access_log 10M", Some("/l/access_log")),
            ("/usr/sbin/cronolog --period=1day -S /l/link /l/%Y/%m/a.log", Some("/l/*/*/a.log")),
            ("$ gzip -c >> /l/access_log.gz", Some("/l/access_log.gz")),
            ("cat >/l/a", Some("/l/a")),
            ("/usr/bin/logger -t apache -p local6.info", None),
            ("cat 2>&1 >&2", None),
            ("", None),
            ("rotatelogs", None),
        ] {
            let found = file(command.as_bytes()).map(|pattern| String::from_utf8(pattern.finish()).unwrap());
            assert_eq!(found.as_deref(), expected, "{command}");
        }
    }
}
