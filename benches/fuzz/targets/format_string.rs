//! A format string of nginx or Apache in the first line, and log lines of it in the others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probewatch::internals::formats::{FormatChoice, FormatLineParser, Formats};
use probewatch_fuzz::{check_lines, lines};

fuzz_target!(|input: &[u8]| {
    let (string, text) = input.split_at(memchr::memchr(b'\n', input).unwrap_or(input.len()));
    let Ok(string) = std::str::from_utf8(string) else { return };
    let text = text.strip_prefix(b"\n").unwrap_or(text);
    match FormatLineParser::parse(string) {
        Err(error) => assert!(!error.to_string().is_empty(), "an error without a word"),
        Ok(plan) => check_plan(&plan, text),
    }
    let choice = FormatChoice { requested: Some(string.to_owned()), fields: Vec::new() };
    if let Ok(formats) = Formats::new(&choice) {
        check_lines(text, &formats, formats.requested());
    }
});

/// Each field of a line stands in it, as far as it has no run of blanks, which a format may read as
/// a single one.
fn check_plan(plan: &FormatLineParser, text: &[u8]) {
    for line in lines(text) {
        for (name, _, field) in plan.split(line).unwrap_or_default() {
            let stands_in_line = field.is_empty() || line.windows(field.len()).any(|part| part == field);
            assert!(stands_in_line || line.windows(2).any(|pair| pair == b"  "), "{name} is not in its line");
        }
    }
}
