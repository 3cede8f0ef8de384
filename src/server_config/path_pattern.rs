//! The name of a log with parts that only the server knows, as a pattern of file names.

/// A pattern under way.
#[derive(Debug, Default)]
pub(super) struct PathPattern {
    bytes: Vec<u8>,
    /// The same with nothing escaped, for a name without unknown parts.
    plain: Vec<u8>,
    has_unknown: bool,
}

impl PathPattern {
    /// Adds what stands for itself.
    pub(super) fn literal(&mut self, byte: u8) {
        self.plain.push(byte);
        match byte {
            b'*' | b'?' | b'[' => self.bytes.extend([b'[', byte, b']']),
            _ => self.bytes.push(byte),
        }
    }

    /// With what stands for itself added, for a fold.
    pub(super) fn with(mut self, byte: u8) -> Self {
        self.literal(byte);
        self
    }

    /// Adds what only the server knows. Twice in a row is once: `**` would mean folders.
    pub(super) fn unknown(&mut self) {
        self.has_unknown = true;
        if self.bytes.last() != Some(&b'*') {
            self.bytes.push(b'*');
        }
    }

    /// Whether anything in it is unknown.
    pub(super) fn is_pattern(&self) -> bool {
        self.has_unknown
    }

    /// The pattern, or the name as it was where nothing in it is unknown.
    pub(super) fn finish(self) -> Vec<u8> {
        if self.has_unknown { self.bytes } else { self.plain }
    }
}

/// A name with conversions of `strftime` in it: `access.%Y-%m-%d.log`.
pub(super) fn from_strftime(name: &[u8]) -> PathPattern {
    let mut pattern = PathPattern::default();
    let mut bytes = name.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'%' => match bytes.next() {
                Some(b'%') => pattern.literal(b'%'),
                // A modifier stands before its conversion.
                Some(b'E' | b'O' | b'-' | b'_' | b'^' | b'#') => {
                    bytes.next();
                    pattern.unknown();
                }
                _ => pattern.unknown(),
            },
            _ => pattern.literal(byte),
        }
    }
    pattern
}

/// A name with variables as nginx writes them: `$host`, `${host}`.
pub(super) fn from_variables(name: &[u8]) -> PathPattern {
    let mut pattern = PathPattern::default();
    let mut rest = name;
    while let [byte, tail @ ..] = rest {
        let len = if *byte == b'$' { variable(tail) } else { 0 };
        if len > 0 {
            pattern.unknown();
        } else {
            pattern.literal(*byte);
        }
        rest = &tail[len..];
    }
    pattern
}

/// The bytes of a variable's name behind its `$`, with its braces; 0 where there is none.
fn variable(text: &[u8]) -> usize {
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    match text {
        [b'{', name @ ..] => name.iter().position(|byte| *byte == b'}').map_or(0, |end| end + 2),
        name => name.iter().take_while(is_letter).count(),
    }
}

#[cfg(test)]
mod tests {
    use crate::server_config::path_pattern::*;

    fn text(pattern: PathPattern) -> String {
        String::from_utf8(pattern.finish()).unwrap()
    }

    #[test]
    fn dates_become_stars() {
        assert_eq!(text(from_strftime(b"/l/access.%Y-%m-%d.log")), "/l/access.*-*-*.log");
        assert_eq!(text(from_strftime(b"/l/%Y%m%d/a[1].log")), "/l/*/a[[]1].log");
        assert_eq!(text(from_strftime(b"/l/100%%[x]")), "/l/100%[x]");
        assert_eq!(text(from_strftime(b"a%")), "a*");
        assert_eq!(text(from_strftime(b"a.%-d.log")), "a.*.log");
    }

    #[test]
    fn variables_become_stars() {
        assert_eq!(text(from_variables(b"/l/$host.access.log")), "/l/*.access.log");
        assert_eq!(text(from_variables(b"/l/${host}_$server_port/a?.log")), "/l/*_*/a[?].log");
        assert_eq!(text(from_variables(b"/l/$host$uri")), "/l/*");
        assert_eq!(text(from_variables(b"/l/[a]*$")), "/l/[a]*$");
        assert_eq!(text(from_variables(b"/l/${open")), "/l/${open");
    }
}
