//! Which literals the rules search, and what each literal means to each rule, as plain tables.
//!
//! The build script makes the tables of the built-in rules with this module and embeds them,
//! because sorting and indexing ten thousand literals takes longer than the scan of a small log. So
//! it uses nothing of the crate but [`glob`](super::glob). It does not search.

use std::borrow::Cow;

use super::glob;

/// The names of the fields in rule files, in the order of their bits in a mask.
pub(super) const FIELD_NAMES: [&str; 7] = [
    "path",
    "query",
    "target",
    "referer",
    "user_agent",
    "method",
    "raw",
];

/// The fields that are headers, `referer` and `user_agent`: their literals are searched apart from
/// those of the request.
pub(super) const HEADER_FIELDS: u16 = 1 << 3 | 1 << 4;

/// The keys of a rule that contain literals.
#[derive(Debug, Clone, Copy)]
pub(super) struct LiteralKeys<'r> {
    pub(super) paths: &'r [String],
    pub(super) suffixes: &'r [String],
    pub(super) path_glob: &'r [String],
    pub(super) agents: &'r [String],
    pub(super) raw_prefixes: &'r [String],
    pub(super) words: &'r [String],
    /// The fields of `words`, a mask.
    pub(super) fields: u16,
    /// `unless.agents`.
    pub(super) excepted_agents: &'r [String],
    /// `at = "root"`.
    pub(super) root: bool,
}

/// What a literal means to one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LiteralKind {
    /// A word, in any of these fields.
    Word(u16),
    /// Whole segments of the path.
    Path { root: bool },
    /// The end of the path.
    Suffix { root: bool },
    /// The fixed part of a glob whose matches end in this text of [`LiteralTable::tails`].
    Glob { tail: u16 },
    /// Text of the user agent.
    Agent,
    /// The start of the request.
    Prefix,
    /// Text of the user agent that is an exception.
    Exception,
}

/// A rule that uses a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LiteralUse {
    pub(super) rule: u16,
    pub(super) kind: LiteralKind,
}

/// The literals that are searched in the same bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LiteralTable {
    /// The literals in lower case, sorted.
    pub(super) texts: TextArena,
    /// The uses of literal `i` are `uses[starts[i]..starts[i + 1]]`.
    pub(super) starts: Cow<'static, [u32]>,
    pub(super) uses: Cow<'static, [LiteralUse]>,
    /// The suffixes of the matches of globs.
    pub(super) tails: TextArena,
}

/// Collects the literals of rules.
#[derive(Debug, Default)]
pub(super) struct RuleLiterals {
    /// Those in requests.
    pub(super) request: LiteralCollector,
    /// Those in headers.
    pub(super) headers: LiteralCollector,
}

impl RuleLiterals {
    /// Adds the literals of a rule.
    ///
    /// # Errors
    ///
    /// A raw prefix has an invalid escape.
    pub(super) fn add(&mut self, keys: LiteralKeys<'_>, rule: u16) -> Result<(), String> {
        let root = keys.root;
        for path in keys.paths {
            self.request.add(path, rule, LiteralKind::Path { root });
        }
        for suffix in keys.suffixes {
            self.request.add(suffix, rule, LiteralKind::Suffix { root });
        }
        for pattern in keys.path_glob {
            self.request
                .add_glob(glob::anchor(pattern), glob::tail(pattern), rule);
        }
        for agent in keys.agents {
            self.headers.add(agent, rule, LiteralKind::Agent);
        }
        for agent in keys.excepted_agents {
            self.headers.add(agent, rule, LiteralKind::Exception);
        }
        for prefix in keys.raw_prefixes {
            self.request
                .add(unescaped(prefix)?, rule, LiteralKind::Prefix);
        }
        for word in keys.words {
            let (fields, headers) = (keys.fields & !HEADER_FIELDS, keys.fields & HEADER_FIELDS);
            for (collector, fields) in [(&mut self.request, fields), (&mut self.headers, headers)] {
                if fields != 0 {
                    collector.add(word, rule, LiteralKind::Word(fields));
                }
            }
        }
        Ok(())
    }
}

/// The bytes of a text with `\xNN` for any byte and `\\` for a backslash.
fn unescaped(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at..];
        let length = match escape.as_bytes() {
            [_, b'\\', ..] => {
                bytes.push(b'\\');
                2
            }
            [_, b'x', a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
                bytes.push(u8::from_str_radix(&escape[2..4], 16).map_err(|e| e.to_string())?);
                4
            }
            _ => {
                return Err(format!(
                    r"raw_prefixes: '{text}': after a backslash comes xNN or another backslash"
                ));
            }
        };
        rest = &escape[length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

/// Collects literals. The same text of several rules is one literal.
#[derive(Debug, Default)]
pub(super) struct LiteralCollector {
    /// In insertion order.
    texts: TextArena,
    uses: Vec<LiteralUse>,
    tails: TextArena,
}

impl LiteralCollector {
    pub(super) fn add(&mut self, text: impl AsRef<[u8]>, rule: u16, kind: LiteralKind) {
        self.texts.push_lowered(text.as_ref());
        self.uses.push(LiteralUse { rule, kind });
    }

    /// Adds the fixed part of a glob, and the suffix of its matches.
    fn add_glob(&mut self, anchor: &str, tail: &str, rule: u16) {
        let tail = tail.to_ascii_lowercase();
        let added = self.tails.iter().position(|added| added == tail.as_bytes());
        let number = added.unwrap_or_else(|| {
            self.tails.push(tail.as_bytes());
            self.tails.len() - 1
        });
        self.add(
            anchor,
            rule,
            LiteralKind::Glob {
                tail: number as u16,
            },
        );
    }

    /// The table of what was added.
    pub(super) fn into_table(self) -> LiteralTable {
        let mut added: Vec<_> = self.texts.iter().zip(self.uses).collect();
        added.sort_by_key(|(text, _)| *text);
        let (mut texts, mut starts, mut uses) = (TextArena::default(), Vec::new(), Vec::new());
        for (text, of_rule) in added {
            if texts.last() != Some(text) {
                starts.push(uses.len() as u32);
                texts.push(text);
            }
            uses.push(of_rule);
        }
        starts.push(uses.len() as u32);
        LiteralTable {
            texts,
            starts: starts.into(),
            uses: uses.into(),
            tails: self.tails,
        }
    }
}

/// A list of texts that only grows, in one allocation: texts that are compared together are
/// adjacent in memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextArena {
    pub(super) bytes: Cow<'static, [u8]>,
    /// The end of each text.
    pub(super) ends: Cow<'static, [u32]>,
}

impl TextArena {
    /// The number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The text at an index.
    #[inline]
    pub(super) fn get(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[index] as usize]
    }

    /// All texts, in order.
    pub(super) fn iter(
        &self,
    ) -> impl DoubleEndedIterator<Item = &[u8]> + ExactSizeIterator + Clone {
        (0..self.len()).map(|index| self.get(index))
    }

    /// The last one.
    pub(super) fn last(&self) -> Option<&[u8]> {
        self.iter().next_back()
    }

    /// Adds a text.
    pub(super) fn push(&mut self, text: &[u8]) {
        self.bytes.to_mut().extend_from_slice(text);
        // Rule files are limited to 16 MiB each, far below four gigabytes.
        self.ends.to_mut().push(self.bytes.len() as u32);
    }

    /// Adds a text in lower case.
    fn push_lowered(&mut self, text: &[u8]) {
        let start = self.bytes.len();
        self.push(text);
        self.bytes.to_mut()[start..].make_ascii_lowercase();
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for TextArena {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Self {
        let mut all = Self::default();
        for text in texts {
            all.push(text.as_ref());
        }
        all
    }
}
