//! Exceptions that rules have in common: a regex by its name. The build script expands them too, because it makes automata of regexes.
//! An unknown name is left out here, and is an error where rules are checked.

/// The regex of an exception: those of its names, and its own.
pub(super) fn with_known(names: &[String], own: Option<String>, known: &[(&str, &str)]) -> Option<String> {
    let found = known.iter().filter(|(name, _)| names.iter().any(|given| given == name));
    let all: Vec<String> = found.map(|(_, regex)| (*regex).to_owned()).chain(own).collect();
    (!all.is_empty()).then(|| all.join("|"))
}
