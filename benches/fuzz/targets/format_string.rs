//! A format string of nginx or Apache in the first line, and log lines of it in the others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probewatch::internals::formats::{FormatChoice, FormatLineParser, Formats};
use probewatch_fuzz::{check_lines, lies_in, lines};

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

/// The fields of a line stand in it, one after the other, and have all the names that the string has.
fn check_plan(plan: &FormatLineParser, text: &[u8]) {
    for line in lines(text) {
        let Some(fields) = plan.split(line) else { continue };
        assert_eq!(fields.len(), plan.kinds().count(), "fields are missing");
        let mut end = line.as_ptr();
        for (name, field) in fields {
            assert!(lies_in(field, line), "{name} is not in its line");
            assert!(end <= field.as_ptr(), "{name} begins before the field before it ends");
            end = field.as_ptr_range().end;
        }
    }
}
