//! The built-in rule files, as compressed source text and as JSON, which loads in a tenth of the time.
//!
//! The JSON form equals its file, or it is not used. It is not compressed, as each run reads it.

use flate2::{Decompress, FlushDecompress};
use serde::Deserialize;

use super::definition::RuleFile;
use super::error::RuleError;
use super::lines::RuleLines;
use super::load::{LocatedRule, located, parse};

/// The rule files that were in `rules/` at build time.
pub(super) const BUILTIN: &[BuiltinFile] = include!(concat!(env!("OUT_DIR"), "/builtin_rules.rs"));

/// A built-in rule file.
#[derive(Debug)]
pub(super) struct BuiltinFile {
    name: &'static str,
    /// The source text, compressed.
    text: &'static [u8],
    /// A [`ParsedRuleFile`] as JSON; empty if the file is no valid TOML.
    short: &'static str,
}

/// A rule file that was parsed at build time.
#[derive(Deserialize)]
struct ParsedRuleFile {
    lines: RuleLines,
    file: RuleFile,
}

impl BuiltinFile {
    /// Its rules. If the JSON form fails, the file has an error, which parsing the source text reports with its position.
    pub(super) fn rules(&self) -> Result<Vec<LocatedRule>, RuleError> {
        let name = self.display_name();
        match serde_json::from_str(self.short) {
            Ok(ParsedRuleFile { lines, file }) => Ok(located(&name, file, lines, true)),
            Err(_) => parse(&name, &self.text(), true),
        }
    }

    /// The source text.
    pub(super) fn text(&self) -> String {
        String::from_utf8(decompressed(self.text)).unwrap_or_default()
    }

    /// Its name in messages.
    fn display_name(&self) -> String {
        format!("built-in {}", self.name)
    }
}

/// What the build script compressed: the length in four bytes, then a zlib stream. Its output is valid; of anything else this makes
/// no bytes.
pub(super) fn decompressed(embedded: &[u8]) -> Vec<u8> {
    let Some((length, stream)) = embedded.split_first_chunk() else { return Vec::new() };
    let mut content = Vec::with_capacity(u32::from_le_bytes(*length) as usize);
    let end = Decompress::new(true).decompress_vec(stream, &mut content, FlushDecompress::Finish);
    end.map(|_| content).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    use super::*;

    #[test]
    fn the_parsed_form_equals_its_file() {
        for file in BUILTIN {
            let written = parse(&file.display_name(), &file.text(), true).unwrap();
            assert!(serde_json::from_str::<ParsedRuleFile>(file.short).is_ok(), "{}", file.name);
            assert_eq!(format!("{:?}", file.rules().unwrap()), format!("{written:?}"), "{}", file.name);
        }
    }

    #[test]
    fn an_error_names_its_line() {
        let error_of = |text: &str, short| {
            let mut stream = ZlibEncoder::new((text.len() as u32).to_le_bytes().to_vec(), Compression::fast());
            stream.write_all(text.as_bytes()).unwrap();
            BuiltinFile { name: "x.toml", text: stream.finish().unwrap().leak(), short }.rules().unwrap_err().to_string()
        };
        let wrong_key = "[[rule]]\nid = 'x/a'\ntitel = 'A'\n";
        for short in ["", r#"{"lines":{"rule":[2],"app":[]},"file":{"rule":[{"id":"x/a","titel":"A"}]}}"#] {
            let error = error_of(wrong_key, short);
            assert!(error.contains("built-in x.toml") && error.contains("line 3") && error.contains("titel"), "{error}");
        }
        assert!(error_of("[[rule]\n", "").contains("line 1"), "{}", error_of("[[rule]\n", ""));
    }
}
