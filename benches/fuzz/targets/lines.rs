//! Log lines of any format, found out line by line: combined and its kin, W3C columns, the formats of products.
#![no_main]

use libfuzzer_sys::fuzz_target;
use probewatch_fuzz::{FORMATS, check_lines};

fuzz_target!(|text: &[u8]| check_lines(text, &FORMATS, &[]));
