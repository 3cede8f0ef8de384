//! Parameters of `<Macro>`, whose values stand where it is used: in a name of a log they may be anything.
//!
//! Source: <https://httpd.apache.org/docs/2.4/mod/mod_macro.html>. No macro is written out; what is in one counts once.

/// A text with each of these parameters (`$name`, `%name`, `@name`) as a variable that nobody knows.
pub(super) fn mask_parameters(text: &[u8], parameters: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        // The longest first: $host and $hostname.
        let longest = parameters.iter().filter(|name| !name.is_empty() && rest.starts_with(name)).max_by_key(|name| name.len());
        if let Some(name) = longest {
            out.extend_from_slice(b"${macro}");
            rest = &rest[name.len()..];
        } else {
            out.push(*byte);
            rest = tail;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::server_config::apache::macros::*;

    #[test]
    fn parameters_are_hidden() {
        let parameters = [b"$host".to_vec(), b"$hostname".to_vec(), b"@x".to_vec()];
        assert_eq!(mask_parameters(b"/l/$hostname-$host_@x.$y", &parameters), b"/l/${macro}-${macro}_${macro}.$y");
    }
}
