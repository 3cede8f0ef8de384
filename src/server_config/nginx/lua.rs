//! Finds the end of a block of Lua in an nginx configuration, which follows the rules of Lua and not those of nginx.
//!
//! Knows strings, comments and braces of Lua, and nothing else of it. Source: <https://www.lua.org/manual/5.1/manual.html#2.1>.

/// Whether the block behind these words is Lua: `content_by_lua_block {`.
pub(super) fn is_block(words: &[Vec<u8>]) -> bool {
    words.first().is_some_and(|name| name.ends_with(b"_by_lua_block"))
}

/// The bytes up to and with the brace that ends the block; `None` where there is none.
pub(super) fn end(text: &[u8]) -> Option<usize> {
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
            b'"' | b'\'' => string(&text[at..]),
            b'[' => long(&text[at..]).unwrap_or(1),
            b'-' if text.get(at + 1) == Some(&b'-') => comment(&text[at..]),
            _ => 1,
        };
    }
    None
}

/// The length of a string in quotes.
fn string(text: &[u8]) -> usize {
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

/// The length of a comment, without the end of its line.
fn comment(text: &[u8]) -> usize {
    let line = || text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    long(&text[2..]).map_or_else(line, |len| 2 + len)
}

/// The length of a text in long brackets: `[[...]]`, `[==[...]==]`; `None` where none begins here.
fn long(text: &[u8]) -> Option<usize> {
    let level = text.get(1..)?.iter().take_while(|byte| **byte == b'=').count();
    if text.first() != Some(&b'[') || text.get(1 + level) != Some(&b'[') {
        return None;
    }
    let close = [b"]", &vec![b'='; level][..], b"]"].concat();
    let inner = &text[level + 2..];
    let end = inner.windows(close.len()).position(|window| window == close);
    Some(end.map_or(text.len(), |end| level + 2 + end + close.len()))
}

#[cfg(test)]
mod tests {
    use crate::server_config::nginx::lua::*;

    #[test]
    fn the_end_is_the_brace_that_lua_means() {
        for text in ["}", " a = {} }", " s = '}\\'}' }", " --}\n }", " --[[ } ]] }", " s = [==[ ]] } ]==] }", " a = b[1] }", " a - -b }"] {
            assert_eq!(end(format!("{text};}}").as_bytes()), Some(text.len()), "{text}");
        }
        for text in ["", "{}", " '}", " --}", " [[ }", "\"\\"] {
            assert_eq!(end(text.as_bytes()), None, "{text}");
        }
    }
}
