//! JSON log lines, with names of any kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probewatch::internals::formats::builtin::JSON;
use probewatch::internals::formats::{FieldBuffers, JsonLineParser};
use probewatch_fuzz::{FORMATS, check_lines, lies_in, lines};
use serde_json::Value;

fuzz_target!(|text: &[u8]| {
    check_lines(text, &FORMATS, &[]);
    check_lines(text, &FORMATS, &[JSON]);
    let json = JsonLineParser::new();
    let mut used = FieldBuffers::default();
    for line in lines(text) {
        let mut fresh = FieldBuffers::default();
        let alone = json.read(line, &mut fresh).map(|fields| format!("{fields:?}"));
        let after_others = json.read(line, &mut used).map(|fields| format!("{fields:?}"));
        assert_eq!(alone, after_others, "a line is read otherwise after others");
        for (name, field, _) in json.split(line).unwrap_or_default() {
            assert!(field.is_empty() || lies_in(field, line), "{name} is not in its line");
        }
        check_flat(&json, line);
    }
});

/// Every text of a flat object is found, and is what other readers of JSON say it is.
fn check_flat(json: &JsonLineParser, line: &[u8]) {
    let Ok(Value::Object(object)) = serde_json::from_slice(line) else { return };
    if !line.starts_with(b"{") || object.values().any(|value| value.is_object() || value.is_array()) {
        return;
    }
    let split = json.split(line).expect("an object that other readers of JSON read is refused");
    for (name, value) in &object {
        let Some(text) = value.as_str().filter(|_| memchr::memchr(b'\\', line).is_none()) else { continue };
        assert!(split.iter().any(|(known, found, _)| known == name && *found == text.as_bytes()), "{name} is not found");
    }
}
