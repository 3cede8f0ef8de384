//! Parses conditions of Sigma rules, such as `selection and not 1 of filter*`, and converts them to
//! alternatives, each a list of tests that must all hold: a rule can express that.

use std::iter::Peekable;
use std::str::Chars;

/// The most alternatives of a condition; each becomes a rule.
const MAX_ALTERNATIVES: usize = 24;
/// Deepest nesting of parentheses.
const MAX_DEPTH: usize = 32;

/// A condition over the names of searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expression<T> {
    Is(T),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

/// A test, and whether it is negated.
pub(super) type NegatableTest<T> = (T, bool);

/// Parses a condition. `find` returns the searches with a name, or with a pattern such as
/// `selection*`.
///
/// # Errors
///
/// The part that is not supported.
pub(super) fn parse<T>(
    text: &str,
    find: &impl Fn(&str) -> Vec<Expression<T>>,
) -> Result<Expression<T>, String> {
    if text.contains('|') {
        return Err("it counts events; our rules see one request".into());
    }
    let mut parser = ConditionParser {
        chars: text.chars().peekable(),
        find,
        depth: 0,
    };
    let mut next = parser.next();
    let expression = parser.parse_or(&mut next)?;
    match next {
        None => Ok(expression),
        Some(word) => Err(format!("'{word}' is not understood")),
    }
}

struct ConditionParser<'t, F> {
    chars: Peekable<Chars<'t>>,
    find: &'t F,
    depth: usize,
}

impl<F> ConditionParser<'_, F> {
    fn next(&mut self) -> Option<String> {
        while self.chars.next_if(|c| c.is_whitespace()).is_some() {}
        let first = self.chars.next()?;
        let mut word = String::from(first);
        if !matches!(first, '(' | ')') {
            while let Some(c) = self
                .chars
                .next_if(|c| !c.is_whitespace() && !matches!(c, '(' | ')'))
            {
                word.push(c);
            }
        }
        Some(word)
    }

    fn parse_or<T>(&mut self, next: &mut Option<String>) -> Result<Expression<T>, String>
    where
        F: Fn(&str) -> Vec<Expression<T>>,
    {
        let mut parts = vec![self.parse_and(next)?];
        while is_word(next.as_ref(), "or") {
            *next = self.next();
            parts.push(self.parse_and(next)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Expression::Any(parts)
        })
    }

    fn parse_and<T>(&mut self, next: &mut Option<String>) -> Result<Expression<T>, String>
    where
        F: Fn(&str) -> Vec<Expression<T>>,
    {
        let mut parts = vec![self.parse_operand(next)?];
        while is_word(next.as_ref(), "and") {
            *next = self.next();
            parts.push(self.parse_operand(next)?);
        }
        Ok(if parts.len() == 1 {
            parts.remove(0)
        } else {
            Expression::All(parts)
        })
    }

    fn parse_operand<T>(&mut self, next: &mut Option<String>) -> Result<Expression<T>, String>
    where
        F: Fn(&str) -> Vec<Expression<T>>,
    {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it is nested too deep".into());
        }
        let word = next.take().ok_or("it ends too early")?;
        *next = self.next();
        let found = match word.to_ascii_lowercase().as_str() {
            "not" => Expression::Not(Box::new(self.parse_operand(next)?)),
            "(" => {
                let inner = self.parse_or(next)?;
                if !is_word(next.as_ref(), ")") {
                    return Err("a parenthesis is not closed".into());
                }
                *next = self.next();
                inner
            }
            quantity @ ("1" | "any" | "all") if is_word(next.as_ref(), "of") => {
                let name = self.next().ok_or("it ends too early")?;
                *next = self.next();
                let found = (self.find)(&name);
                if found.is_empty() {
                    return Err(format!("no search is called '{name}'"));
                }
                if quantity == "all" {
                    Expression::All(found)
                } else {
                    Expression::Any(found)
                }
            }
            _ => match (self.find)(&word).pop() {
                Some(found) if !word.contains('*') && word != "them" => found,
                _ => return Err(format!("'{word}' is not understood")),
            },
        };
        self.depth -= 1;
        Ok(found)
    }
}

fn is_word(word: Option<&String>, expected: &str) -> bool {
    word.is_some_and(|word| word.eq_ignore_ascii_case(expected))
}

/// The alternatives of a condition: in each, all tests must hold.
///
/// # Errors
///
/// There are too many.
pub(super) fn alternatives<T: Clone>(
    expression: &Expression<T>,
    negated: bool,
) -> Result<Vec<Vec<NegatableTest<T>>>, String> {
    match (expression, negated) {
        (Expression::Is(test), _) => Ok(vec![vec![(test.clone(), negated)]]),
        (Expression::Not(inner), _) => alternatives(inner, !negated),
        (Expression::Any(parts), false) | (Expression::All(parts), true) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(alternatives(part, negated)?);
                check_count(all.len())?;
            }
            Ok(all)
        }
        (Expression::All(parts), false) | (Expression::Any(parts), true) => {
            let mut all = vec![Vec::new()];
            for part in parts {
                let of_part = alternatives(part, negated)?;
                check_count(all.len() * of_part.len())?;
                all = all
                    .iter()
                    .flat_map(|left| {
                        of_part
                            .iter()
                            .map(|right| [left.as_slice(), right].concat())
                    })
                    .collect();
            }
            Ok(all)
        }
    }
}

fn check_count(count: usize) -> Result<(), String> {
    if count > MAX_ALTERNATIVES {
        Err(format!("it has more than {MAX_ALTERNATIVES} alternatives"))
    } else {
        Ok(())
    }
}

/// Decodes a text that another tool compares with undecoded requests. `None` if it ends within an
/// escape.
pub(super) fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let ends_within = text.ends_with('%') || (bytes.len() > 1 && bytes[bytes.len() - 2] == b'%');
    if ends_within {
        return None;
    }
    let (mut out, mut spare) = (text.as_bytes().to_vec(), Vec::new());
    crate::text::normalize::decode(text.as_bytes(), &mut out, &mut spare);
    String::from_utf8(out)
        .ok()
        .filter(|text| !text.is_empty() && !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<(String, bool)>>, String> {
        let names = ["selection_a", "selection_b", "filter"];
        let find = |name: &str| {
            let pattern = name.strip_suffix('*').or((name == "them").then_some(""));
            let holds = |n: &&&str| pattern.map_or(**n == name, |start| n.starts_with(start));
            names
                .iter()
                .filter(holds)
                .map(|n| Expression::Is((*n).to_owned()))
                .collect()
        };
        alternatives(&parse(text, &find)?, false)
    }

    #[test]
    fn conditions_become_alternatives() {
        let alternatives = |text: &str| {
            let selection = |(name, negated): &(String, bool)| {
                format!("{}{name}", if *negated { "!" } else { "" })
            };
            let all = read(text).unwrap();
            all.iter()
                .map(|all| all.iter().map(selection).collect::<Vec<_>>().join("&"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (text, expected) in [
            ("selection_a", "selection_a"),
            ("selection_a and not filter", "selection_a&!filter"),
            ("1 of selection_*", "selection_a selection_b"),
            ("all of selection*", "selection_a&selection_b"),
            (
                "all of selection* and not 1 of filter*",
                "selection_a&selection_b&!filter",
            ),
            (
                "(selection_a or selection_b) and not filter",
                "selection_a&!filter selection_b&!filter",
            ),
            ("not (selection_a or filter)", "!selection_a&!filter"),
            ("not (selection_a and filter)", "!selection_a !filter"),
        ] {
            assert_eq!(alternatives(text), expected, "{text}");
        }
        for text in [
            "",
            "nothing",
            "selection_a and",
            "(selection_a",
            "selection_a | count() > 5",
            "1 of x*",
            "selection_a filter",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"(".repeat(1000)).is_err());
    }

    #[test]
    fn texts_are_decoded() {
        for (text, expected) in [
            ("=select%20", Some("=select ")),
            ("%2Fetc", Some("/etc")),
            ("=cmd%20/c%", None),
            ("a%2", None),
            ("50%x", None),
            ("100%x1", Some("100%x1")),
        ] {
            assert_eq!(decoded(text).as_deref(), expected, "{text}");
        }
    }
}
