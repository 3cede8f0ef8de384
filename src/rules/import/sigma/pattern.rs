//! The values of Sigma rules: texts with `*` and `?`, at the start, at the end or anywhere; regexes.

use regex_syntax::hir::{Hir, HirKind};

use super::super::condition::decoded;
use crate::rules::lint::is_common;

/// Bytes of a text that is worth looking for.
const SHORTEST: usize = 3;

/// How a value is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MatchMode {
    Exact,
    Contains,
    StartsWith,
    EndsWith,
    Regex,
}

/// A value to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SigmaPattern {
    /// Nothing stands before it ...
    pub(super) at_start: bool,
    /// ... or behind it.
    pub(super) at_end: bool,
    /// Why nothing can be looked for with it, where that is so.
    pub(super) useless: Option<&'static str>,
    pieces: Vec<PatternPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPiece {
    Text(String),
    /// `*`
    Any,
    /// `?`
    One,
    /// A regex, and the longest text that it asks for.
    Regex(String, String),
}

impl SigmaPattern {
    /// Reads a value. `sent` says that it is compared with a request as it was sent, which we decode.
    pub(super) fn of(value: &str, how: MatchMode, sent: bool) -> Result<Self, String> {
        if how == MatchMode::Regex {
            return Self::of_regex(value);
        }
        let mut pieces = pieces(value);
        let (mut at_start, mut at_end) =
            (matches!(how, MatchMode::Exact | MatchMode::StartsWith), matches!(how, MatchMode::Exact | MatchMode::EndsWith));
        while pieces.first() == Some(&PatternPiece::Any) {
            at_start = false;
            pieces.remove(0);
        }
        while pieces.last() == Some(&PatternPiece::Any) {
            at_end = false;
            pieces.pop();
        }
        let mut useless = None;
        for piece in &mut pieces {
            if let (PatternPiece::Text(text), true) = (piece, sent) {
                match decoded(text) {
                    Some(plain) if plain != *text && is_common(&plain) => {
                        useless = Some("its plain form is ordinary, and our fields are decoded");
                    }
                    Some(plain) => *text = plain,
                    None => useless = Some("it ends within an escape, and our fields are decoded"),
                }
            }
        }
        if pieces.is_empty() { Err(format!("'{value}' matches everything")) } else { Ok(Self { at_start, at_end, useless, pieces }) }
    }

    fn of_regex(source: &str) -> Result<Self, String> {
        let source = source.strip_prefix("(?i)").unwrap_or(source);
        if source.as_bytes().windows(3).any(|w| w[0] == b'%' && w[1].is_ascii_hexdigit() && w[2].is_ascii_hexdigit()) {
            return Err("its regex looks for escapes, and our fields are decoded".into());
        }
        let hir = regex_syntax::parse(source).map_err(|_| "its regex is none of ours: no look-around, no back-references".to_owned())?;
        let mut longest = String::new();
        required(&hir, &mut longest);
        Ok(Self { at_start: false, at_end: false, useless: None, pieces: vec![PatternPiece::Regex(source.to_owned(), longest)] })
    }

    pub(super) fn is_regex(&self) -> bool {
        matches!(self.pieces[..], [PatternPiece::Regex(..)])
    }

    /// The text, where this is a text that may stand anywhere.
    pub(super) fn word(&self) -> Option<&str> {
        match &self.pieces[..] {
            [PatternPiece::Text(text)] if !self.at_start && !self.at_end => Some(text),
            _ => None,
        }
    }

    /// The text, where this is one and nothing else may stand around it.
    pub(super) fn exact(&self) -> Option<&str> {
        match &self.pieces[..] {
            [PatternPiece::Text(text)] if self.at_start && self.at_end => Some(text),
            _ => None,
        }
    }

    /// The longest text that stands wherever this matches; `None` where it is too short to look for.
    pub(super) fn literal(&self) -> Option<&str> {
        let texts = self.pieces.iter().map(|piece| match piece {
            PatternPiece::Text(text) | PatternPiece::Regex(_, text) => text.as_str(),
            PatternPiece::Any | PatternPiece::One => "",
        });
        texts.max_by_key(|text| text.len()).filter(|text| text.len() >= SHORTEST)
    }

    /// The regex that this is.
    pub(super) fn regex(&self) -> String {
        let body: String = self
            .pieces
            .iter()
            .map(|piece| match piece {
                PatternPiece::Text(text) => regex::escape(text),
                PatternPiece::Any => ".*".into(),
                PatternPiece::One => ".".into(),
                PatternPiece::Regex(source, _) => format!("(?:{source})"),
            })
            .collect();
        format!("{}{body}{}", if self.at_start { "^" } else { "" }, if self.at_end { "$" } else { "" })
    }

    /// The globs that this is for a path, from its start.
    pub(super) fn globs(&self) -> Option<Vec<String>> {
        let mut body = String::new();
        for piece in &self.pieces {
            match piece {
                PatternPiece::Text(text) if text.contains(['*', '?']) || (body.ends_with('*') && text.starts_with('/')) => return None,
                PatternPiece::Text(text) => body.push_str(text),
                PatternPiece::Any => body.push_str("**"),
                PatternPiece::One | PatternPiece::Regex(..) => return None,
            }
        }
        let end = if self.at_end { "" } else { "**" };
        Some(match (self.at_start, body.strip_prefix('/')) {
            (true, Some(_)) => vec![format!("{body}{end}")],
            (true, None) => return None,
            // `/**/x` begins with any number of folders, none at all included.
            (false, Some(rest)) => vec![format!("/**/{rest}{end}")],
            (false, None) => vec![format!("/**{body}{end}")],
        })
    }

    /// A text that this matches; `None` for a regex.
    pub(super) fn example(&self) -> Option<String> {
        self.pieces
            .iter()
            .map(|piece| match piece {
                PatternPiece::Text(text) => Some(text.as_str()),
                PatternPiece::Any => Some(""),
                PatternPiece::One => Some("x"),
                PatternPiece::Regex(..) => None,
            })
            .collect()
    }
}

/// Takes a value apart: `\*`, `\?` and `\\` stand for themselves.
fn pieces(value: &str) -> Vec<PatternPiece> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = value.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' if matches!(rest.peek(), Some('*' | '?' | '\\')) => text.extend(rest.next()),
            '*' | '?' => {
                if !text.is_empty() {
                    pieces.push(PatternPiece::Text(std::mem::take(&mut text)));
                }
                pieces.push(if c == '*' { PatternPiece::Any } else { PatternPiece::One });
            }
            c => text.push(c),
        }
    }
    if !text.is_empty() {
        pieces.push(PatternPiece::Text(text));
    }
    pieces
}

/// The longest text without which a regex does not match.
fn required(hir: &Hir, longest: &mut String) {
    match hir.kind() {
        HirKind::Literal(literal) => {
            if let Ok(text) = std::str::from_utf8(&literal.0)
                && text.len() > longest.len()
            {
                text.clone_into(longest);
            }
        }
        HirKind::Capture(capture) => required(&capture.sub, longest),
        HirKind::Concat(parts) => parts.iter().for_each(|part| required(part, longest)),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub, longest),
        _ => {}
    }
}
