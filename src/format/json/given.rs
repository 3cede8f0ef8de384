//! What a user says about the members of a JSON line: `client=ip,target=request.uri`.

use std::collections::HashSet;

use thiserror::Error;

use crate::format::Meaning;

/// Why that cannot be understood.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum GivenError {
    /// A part without a name of a member.
    #[error("'{0}' names no member: write what the field means, an equals sign and the name, as in client=ip,target=request.uri")]
    Incomplete(String),
    /// No such meaning.
    #[error("{0}")]
    Unknown(String),
    /// A meaning that stands twice.
    #[error("'{0}' is given twice: name one member for it")]
    Twice(String),
}

/// Reads `client=ip,target=request.uri`: meanings, and the name or the dotted path of the member that is it.
///
/// # Errors
///
/// A part is incomplete, has no such meaning, or has one that was given before.
pub fn parse_given(text: &str) -> Result<Vec<(Meaning, String)>, GivenError> {
    let mut seen = HashSet::new();
    let parts = text.split(',').map(|part| {
        let (name, path) = part.trim().split_once('=').ok_or_else(|| GivenError::Incomplete(part.trim().to_owned()))?;
        let (name, path) = (name.trim(), path.trim());
        if path.is_empty() {
            return Err(GivenError::Incomplete(part.trim().to_owned()));
        }
        let meaning: Meaning = name.parse().map_err(GivenError::Unknown)?;
        if !seen.insert(meaning.clone()) {
            return Err(GivenError::Twice(name.to_owned()));
        }
        Ok((meaning, path.to_owned()))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_meanings_and_members() {
        let given = parse_given("client=ip, target = request.uri ,user_agent=ua").unwrap();
        let expected = [(Meaning::Client, "ip"), (Meaning::Target, "request.uri"), (Meaning::UserAgent, "ua")];
        assert_eq!(given, expected.map(|(meaning, path)| (meaning, path.to_owned())));
    }

    #[test]
    fn says_what_is_wrong() {
        assert_eq!(parse_given("client"), Err(GivenError::Incomplete("client".into())));
        assert_eq!(parse_given("client="), Err(GivenError::Incomplete("client=".into())));
        assert_eq!(parse_given(""), Err(GivenError::Incomplete(String::new())));
        assert_eq!(parse_given("client=a,client=b"), Err(GivenError::Twice("client".into())));
        let message = parse_given("ip=client").unwrap_err().to_string();
        assert!(message.contains("'ip'") && message.contains("user_agent"), "{message}");
    }
}
