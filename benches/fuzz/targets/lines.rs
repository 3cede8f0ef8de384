//! Log lines of any format, detected for each line: combined and related formats, W3C columns,
//! product formats.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probewatch_fuzz::{FORMATS, check_lines};

fuzz_target!(|text: &[u8]| check_lines(text, &FORMATS, &[]));
