//! Parses an nginx configuration: words, `;` and blocks in braces.
//!
//! Follows nginx's own parser (`ngx_conf_read_token`): both kinds of quotes, `\` before a quote, a
//! backslash, `t`, `r` and `n`, comments, and `${name}` within a word. Lua blocks are skipped.
//! Source: <https://nginx.org/en/docs/dev/development_guide.html#config_directives>. Has no
//! knowledge of particular directives.

use memchr::memchr_iter;

/// Maximum depth of blocks; real configurations have about six.
const MAX_DEPTH: usize = 100;

/// A directive: its words, and its block if it has one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NginxDirective {
    pub(super) words: Vec<Vec<u8>>,
    /// The line of its first word, from 1.
    pub(super) line: usize,
    pub(super) block: Option<Vec<NginxDirective>>,
}

impl NginxDirective {
    /// The word at an index; `None` if there are fewer.
    pub(super) fn word(&self, at: usize) -> Option<&[u8]> {
        self.words.get(at).map(Vec::as_slice)
    }
}

/// A syntax error and its line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NginxSyntaxError {
    pub(super) line: usize,
    pub(super) what: String,
}

enum NginxToken {
    Word(Vec<u8>),
    End,
    Open,
    Close,
}

/// Parses the directives of a text.
pub(super) fn parse(text: &[u8]) -> Result<Vec<NginxDirective>, NginxSyntaxError> {
    let mut lexer = NginxLexer {
        text: text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text),
        at: 0,
        line: 1,
        token_line: 1,
    };
    // The directives of each open block. The block belongs to the last directive of the level
    // above.
    let mut levels: Vec<Vec<NginxDirective>> = vec![Vec::new()];
    let (mut words, mut start) = (Vec::new(), 1);
    while let Some(token) = lexer.token()? {
        match token {
            NginxToken::Word(word) => {
                if words.is_empty() {
                    start = lexer.token_line;
                }
                words.push(word);
            }
            NginxToken::End | NginxToken::Open if words.is_empty() => {
                return Err(lexer.error("a ';' or '{' without a directive before it"));
            }
            NginxToken::Close if !words.is_empty() => {
                return Err(lexer.error("a '}' where a ';' should end the directive"));
            }
            NginxToken::End => add(&mut levels, std::mem::take(&mut words), start, None),
            NginxToken::Open if is_lua_block(&words) => {
                let skipped = lua_block_len(&lexer.text[lexer.at..])
                    .ok_or_else(|| lexer.error("a Lua block that is not closed"))?;
                lexer.skip(skipped);
                add(&mut levels, std::mem::take(&mut words), start, None);
            }
            NginxToken::Open => {
                if levels.len() > MAX_DEPTH {
                    return Err(lexer.error("blocks nested more than 100 deep"));
                }
                add(
                    &mut levels,
                    std::mem::take(&mut words),
                    start,
                    Some(Vec::new()),
                );
                levels.push(Vec::new());
            }
            NginxToken::Close => close(&mut levels).map_err(|what| lexer.error(what))?,
        }
    }
    if !words.is_empty() {
        return Err(NginxSyntaxError {
            line: start,
            what: "a directive without a ';' at its end".to_owned(),
        });
    }
    match levels.pop() {
        Some(directives) if levels.is_empty() => Ok(directives),
        _ => Err(lexer.error("the text ends within a block: a '}' is missing")),
    }
}

fn add(
    levels: &mut [Vec<NginxDirective>],
    words: Vec<Vec<u8>>,
    line: usize,
    block: Option<Vec<NginxDirective>>,
) {
    if let Some(level) = levels.last_mut() {
        level.push(NginxDirective { words, line, block });
    }
}

/// Moves the directives of the innermost block to the directive that they belong to.
fn close(levels: &mut Vec<Vec<NginxDirective>>) -> Result<(), &'static str> {
    const NO_OPEN_BLOCK: &str = "a '}' without an open block";
    let inner = levels
        .pop()
        .filter(|_| !levels.is_empty())
        .ok_or(NO_OPEN_BLOCK)?;
    let owner = levels
        .last_mut()
        .and_then(|level| level.last_mut())
        .ok_or(NO_OPEN_BLOCK)?;
    owner.block = Some(inner);
    Ok(())
}

struct NginxLexer<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
    /// The line where the last token starts.
    token_line: usize,
}

impl NginxLexer<'_> {
    fn error(&self, what: &str) -> NginxSyntaxError {
        NginxSyntaxError {
            line: self.line,
            what: what.to_owned(),
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.text.len());
        self.line += memchr_iter(b'\n', &self.text[self.at..end]).count();
        self.at = end;
    }

    fn token(&mut self) -> Result<Option<NginxToken>, NginxSyntaxError> {
        loop {
            let Some(byte) = self.peek() else {
                return Ok(None);
            };
            self.token_line = self.line;
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.skip(1),
                b'#' => {
                    let rest = &self.text[self.at..];
                    self.skip(
                        rest.iter()
                            .position(|byte| *byte == b'\n')
                            .unwrap_or(rest.len()),
                    );
                }
                b';' | b'{' | b'}' => {
                    self.skip(1);
                    return Ok(Some(match byte {
                        b';' => NginxToken::End,
                        b'{' => NginxToken::Open,
                        _ => NginxToken::Close,
                    }));
                }
                b'"' | b'\'' => return self.quoted(byte).map(|word| Some(NginxToken::Word(word))),
                _ => return Ok(Some(NginxToken::Word(self.unquoted()))),
            }
        }
    }

    fn quoted(&mut self, quote: u8) -> Result<Vec<u8>, NginxSyntaxError> {
        self.skip(1);
        let start = self.at;
        loop {
            match self.peek() {
                None => {
                    return Err(NginxSyntaxError {
                        line: self.token_line,
                        what: "a quote that is not closed".to_owned(),
                    });
                }
                Some(b'\\') => self.skip(2),
                Some(byte) if byte == quote => break,
                Some(_) => self.skip(1),
            }
        }
        let word = unescaped(&self.text[start..self.at]);
        self.skip(1);
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' | b')') => Ok(word),
            Some(_) => Err(self.error("text directly after a closing quote")),
        }
    }

    fn unquoted(&mut self) -> Vec<u8> {
        let start = self.at;
        let mut after_dollar = false;
        while let Some(byte) = self.peek() {
            match byte {
                b'\\' => self.skip(2),
                b'{' if after_dollar => self.skip(1),
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'{' => break,
                _ => self.skip(1),
            }
            after_dollar = byte == b'$';
        }
        unescaped(&self.text[start..self.at])
    }
}

/// Removes escapes. A backslash before any other byte is literal.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        let escaped = match (byte, tail.first()) {
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'r')) => Some(b'\r'),
            (b'\\', Some(b'n')) => Some(b'\n'),
            (b'\\', Some(&next @ (b'"' | b'\'' | b'\\'))) => Some(next),
            _ => None,
        };
        plain.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &tail[1..] } else { tail };
    }
    plain
}

/// Whether the block after these words is Lua: `content_by_lua_block {`.
fn is_lua_block(words: &[Vec<u8>]) -> bool {
    words
        .first()
        .is_some_and(|name| name.ends_with(b"_by_lua_block"))
}

/// The length up to and including the brace that ends a Lua block; `None` if there is none. Follows
/// the syntax of Lua: strings, comments and braces. Source:
/// <https://www.lua.org/manual/5.1/manual.html#2.1>.
fn lua_block_len(text: &[u8]) -> Option<usize> {
    let mut depth = 1_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at += match byte {
            b'{' => {
                depth += 1;
                1
            }
            b'}' if depth == 1 => return Some(at + 1),
            b'}' => {
                depth -= 1;
                1
            }
            b'"' | b'\'' => lua_string_len(&text[at..]),
            b'[' => lua_long_bracket_len(&text[at..]).unwrap_or(1),
            b'-' if text.get(at + 1) == Some(&b'-') => lua_comment_len(&text[at..]),
            _ => 1,
        };
    }
    None
}

/// The length of a quoted string.
fn lua_string_len(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == text[0] => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of a comment without its line end.
fn lua_comment_len(text: &[u8]) -> usize {
    let line = || {
        text.iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(text.len())
    };
    lua_long_bracket_len(&text[2..]).map_or_else(line, |len| 2 + len)
}

/// The length of a long bracket, `[[...]]` or `[==[...]==]`; `None` if none starts here.
fn lua_long_bracket_len(text: &[u8]) -> Option<usize> {
    let level = text
        .get(1..)?
        .iter()
        .take_while(|byte| **byte == b'=')
        .count();
    if text.first() != Some(&b'[') || text.get(1 + level) != Some(&b'[') {
        return None;
    }
    let close = [b"]", &vec![b'='; level][..], b"]"].concat();
    let inner = &text[level + 2..];
    let end = inner
        .windows(close.len())
        .position(|window| window == close);
    Some(end.map_or(text.len(), |end| level + 2 + end + close.len()))
}

#[cfg(test)]
mod tests {
    use crate::server_config::nginx::parser::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let of = |directive: &NginxDirective| {
            directive
                .words
                .iter()
                .map(|word| String::from_utf8(word.clone()).unwrap())
                .collect()
        };
        parse(text.as_bytes()).unwrap().iter().map(of).collect()
    }

    #[test]
    fn words_are_split_as_nginx_does() {
        assert_eq!(
            words("a b;\n c  'd e' \"f;\\\"{\";"),
            [vec!["a", "b"], vec!["c", "d e", "f;\"{"]]
        );
        assert_eq!(
            words("a ${b}c;d e#f; # g;\n"),
            [vec!["a", "${b}c"], vec!["d", "e#f"]]
        );
        assert_eq!(words(r"a '\t\\n\x' \;;"), [vec!["a", "\t\\n\\x", "\\;"]]);
        assert_eq!(words("\u{feff}a 'ü';"), [vec!["a", "ü"]]);
        assert_eq!(
            words("if ($a = \"b\") { c; }"),
            [vec!["if", "($a", "=", "b", ")"]]
        );
    }

    #[test]
    fn blocks_contain_their_directives_with_line_numbers() {
        let directives = parse(b"http {\n server {\n  a\n b;\n }\n}\nc;").unwrap();
        let server = &directives[0].block.as_ref().unwrap()[0];
        let inner = &server.block.as_ref().unwrap()[0];
        assert_eq!(
            (
                directives[0].line,
                server.line,
                inner.line,
                directives[1].line
            ),
            (1, 2, 3, 7)
        );
        assert_eq!(directives[1].block, None);
    }

    #[test]
    fn lua_blocks_are_skipped() {
        let text = "a_by_lua_block {\n local s = \"}\" -- }\n if x then y = { [[}]] } end --[=[ } ]=]\n}\nb;";
        let directives = parse(text.as_bytes()).unwrap();
        assert_eq!((directives.len(), directives[1].line), (2, 5));
    }

    #[test]
    fn syntax_errors_have_their_line() {
        for (text, line, what) in [
            ("a;\nb {\n c;\n", 4, "a '}' is missing"),
            ("a;\n}\n", 2, "without an open block"),
            ("a;\n\nb 'c;\n\n", 3, "not closed"),
            ("a;\nb c\n", 2, "without a ';' at its end"),
            (";", 1, "without a directive"),
            ("a { b }", 1, "should end the directive"),
            ("a \"b\"c;", 1, "after a closing quote"),
            ("x_by_lua_block { {", 1, "Lua"),
        ] {
            let wrong = parse(text.as_bytes()).unwrap_err();
            assert!(
                wrong.line == line && wrong.what.contains(what),
                "{text}: {wrong:?}"
            );
        }
        assert!(
            parse("a {".repeat(5_000).as_bytes())
                .unwrap_err()
                .what
                .contains("100 deep")
        );
    }

    #[test]
    fn a_lua_block_ends_at_its_own_brace() {
        for text in [
            "}",
            " a = {} }",
            " s = '}\\'}' }",
            " --}\n }",
            " --[[ } ]] }",
            " s = [==[ ]] } ]==] }",
            " a = b[1] }",
            " a - -b }",
        ] {
            assert_eq!(
                lua_block_len(format!("{text};}}").as_bytes()),
                Some(text.len()),
                "{text}"
            );
        }
        for text in ["", "{}", " '}", " --}", " [[ }", "\"\\"] {
            assert_eq!(lua_block_len(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_parse_or_fail(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(parse(&text));
        }

        #[test]
        fn a_quoted_word_round_trips(word in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut text = b"a \"".to_vec();
            for byte in &word {
                if matches!(byte, b'"' | b'\\') {
                    text.push(b'\\');
                }
                text.push(*byte);
            }
            text.extend(b"\";");
            let directives = parse(&text).unwrap();
            prop_assert_eq!(&directives[0].words[1], &word);
        }
    }
}
