//! Word lists: paths, one a line. A list becomes one rule.

use std::collections::HashSet;

use super::{Import, is_ordinary};
use crate::finding::Severity;
use crate::rules::builder::{RuleBuilder, slug};
use crate::rules::path_list;

pub(super) fn rules(stem: &str, text: &str) -> Import {
    let mut import = Import::default();
    let mut draft =
        RuleBuilder::new(format!("own/{}", slug(stem, "list")), &format!("Path of the list {stem}"), "exposure", Severity::Medium);
    let mut seen = HashSet::new();
    for (line, content) in path_list::lines(text) {
        match path_list::path(content) {
            Ok(path) if is_ordinary(&path) => import.left_out.push("ordinary clients ask for it too", format!("line {line}: {content}")),
            Ok(path) if seen.insert(path.to_ascii_lowercase()) => draft.paths.push(path),
            Ok(_) => {}
            // The reason stands behind the text that it names.
            Err(why) => import.left_out.push(why.rsplit("': ").next().unwrap_or_default(), format!("line {line}: {content}")),
        }
    }
    if !draft.paths.is_empty() {
        path_list::with_cases(&mut draft);
        import.drafts.push(draft);
    }
    import
}
