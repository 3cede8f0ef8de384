//! The file that a piped log ends in: `|/usr/bin/rotatelogs /var/log/access.%Y-%m-%d.log 86400`.
//!
//! Knows rotatelogs, cronolog and a shell's `>>`, and takes no other program for one that writes a file. Sources:
//! <https://httpd.apache.org/docs/2.4/programs/rotatelogs.html>, cronolog(1).

use super::super::path_pattern::{PathPattern, from_strftime};
use super::lexer;

/// Flags of rotatelogs with a value behind them.
const ROTATELOGS: [&[u8]; 3] = [b"-L", b"-p", b"-n"];

/// Flags of cronolog with a value behind them.
const CRONOLOG: [&[u8]; 8] = [b"-H", b"-S", b"-l", b"-P", b"-p", b"-d", b"-x", b"-z"];

/// The files that the command behind a `|` writes, as far as that is known.
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
    // Without a time in its name, the second in which it begins is put behind it, unless it is cut (-t) or numbered (-n), where
    // the name stays and the rest are its rotated files.
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

/// The file behind the last `>` or `>>`.
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
    fn the_file_at_the_end_of_a_pipe() {
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
