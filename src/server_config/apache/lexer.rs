//! The grammar of an Apache configuration: a directive a line, a backslash at the end goes on, sections in angle brackets.
//!
//! As Apache itself reads it (`ap_cfg_getline`, `ap_getword_conf`). Source: <https://httpd.apache.org/docs/2.4/configuring.html>.

/// A directive or a section's begin or end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ConfigLine {
    /// From 1: where it begins.
    pub(super) number: usize,
    /// Lines joined, without the blanks around them.
    pub(super) text: Vec<u8>,
}

/// The lines of a text that are neither empty nor a comment.
pub(super) fn lines(text: &[u8]) -> Vec<ConfigLine> {
    let mut lines = Vec::new();
    let mut open: Option<ConfigLine> = None;
    for (number, part) in text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).split(|byte| *byte == b'\n').enumerate() {
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        let mut line = open.take().unwrap_or(ConfigLine { number: number + 1, text: Vec::new() });
        let (part, goes_on) = continued(part);
        line.text.extend_from_slice(part);
        if goes_on {
            open = Some(line);
        } else {
            lines.push(line);
        }
    }
    lines.extend(open);
    for line in &mut lines {
        line.text = line.text.trim_ascii().to_vec();
    }
    lines.retain(|line| !line.text.is_empty() && !line.text.starts_with(b"#"));
    lines
}

/// Two backslashes at the end are one, and the line ends.
fn continued(part: &[u8]) -> (&[u8], bool) {
    match part {
        [.., b'\\', b'\\'] => (&part[..part.len() - 1], false),
        [rest @ .., b'\\'] => (rest, true),
        _ => (part, false),
    }
}

/// The first word of a line in lower case, and the rest.
pub(super) fn split(text: &[u8]) -> (Vec<u8>, &[u8]) {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    (text[..end].to_ascii_lowercase(), text[end..].trim_ascii_start())
}

/// The words of a directive behind its name, quotes undone.
pub(super) fn words(text: &[u8]) -> Vec<Vec<u8>> {
    let mut words = Vec::new();
    let mut rest = text.trim_ascii_start();
    while let Some(&first) = rest.first() {
        let quote = Some(first).filter(|byte| matches!(byte, b'"' | b'\''));
        let (word, used) = word(if quote.is_some() { &rest[1..] } else { rest }, quote);
        words.push(word);
        rest = rest[used + usize::from(quote.is_some())..].trim_ascii_start();
    }
    words
}

/// A word, and the bytes that it takes with the quote that ends it.
fn word(text: &[u8], quote: Option<u8>) -> (Vec<u8>, usize) {
    let mut word = Vec::new();
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match (byte, quote) {
            (byte, Some(quote)) if byte == quote => return (word, at + 1),
            (byte, None) if byte.is_ascii_whitespace() => return (word, at),
            (b'\\', _) if text.get(at + 1).is_some_and(|next| *next == b'\\' || Some(*next) == quote) => {
                word.push(text[at + 1]);
                at += 2;
            }
            _ => {
                word.push(byte);
                at += 1;
            }
        }
    }
    (word, at)
}

#[cfg(test)]
mod tests {
    use crate::server_config::apache::lexer::*;
    use proptest::prelude::*;

    fn texts(text: &[u8]) -> Vec<(usize, String)> {
        lines(text).into_iter().map(|line| (line.number, String::from_utf8(line.text).unwrap())).collect()
    }

    #[test]
    fn lines_go_on_behind_a_backslash() {
        let text = b"\xef\xbb\xbfa 1\r\n# no \\\n no\n\n  b \\\n 2 \\\n 3\nc \\\\\nd \\";
        assert_eq!(texts(text), [(1, "a 1".into()), (5, "b  2  3".into()), (8, "c \\".into()), (9, "d".into())]);
    }

    #[test]
    fn words_lose_their_quotes() {
        let of = |text: &[u8]| words(text).into_iter().map(|word| String::from_utf8(word).unwrap()).collect::<Vec<_>>();
        assert_eq!(of(br#""%h \"%r\" %>s" combined"#), [r#"%h "%r" %>s"#, "combined"]);
        assert_eq!(of(br#"a 'b "c' "d\\e\t""#), ["a", "b \"c", r"d\e\t"]);
        assert_eq!(of(b" \"open "), ["open "]);
        assert_eq!(split(b"CustomLog  a b"), (b"customlog".to_vec(), &b"a b"[..]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            for line in lines(&text) {
                drop(words(split(&line.text).1));
            }
        }
    }
}
