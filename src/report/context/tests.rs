//! What becomes of requests that only a window asks for, where they are kept.

use std::path::Path;

use super::*;
use crate::engine::{Judge, Scope as Asked, Scratch};
use crate::rules::AllowList;
use crate::source::SourceText;
use crate::tally::{Place, Tally};

const RULES: &str = r#"
[[rule]]
id = "t/flood"
title = "Floods"
class = "panel"
severity = "critical"
paths = ["/a", "/b", "/c"]
window = { by = "client", count = 2, within = "1d" }

[[rule]]
id = "t/guess"
title = "Guesses"
class = "exposure"
severity = "high"
paths = ["/guess"]
with_client = { distinct_paths = 3 }

[[rule]]
id = "t/key"
title = "Key"
class = "backup"
severity = "low"
paths = ["/c"]
"#;

#[test]
fn many_requests_for_a_window_are_no_findings() {
    let rules = crate::rules::check(Path::new("t.toml"), RULES).unwrap();
    let asked = Asked { windows: true, ..Asked::default() };
    let (mut scratch, mut tally) = (Scratch::default(), Tally::default());
    let line = |path| format!("192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] \"GET {path} HTTP/1.1\" 404 9 \"-\" \"x\"\n");
    let log = ["/a", "/b", "/c", "/guess"].map(line).concat();
    tally.absorb(&Judge::new(&rules, &asked).judge(log.as_bytes(), &mut scratch), Place { input: 0, chunk: 0, offset: 0, line: 0 });
    let (tally, texts, allow) = (tally.named(scratch.names), [SourceText::new(b"a.log".to_vec(), 0, vec![(0, 0)])], AllowList::default());
    let material =
        Material { rules: &rules, tally: &tally, texts: &texts, min_severity: Severity::Info, outcomes: &[], apps: &[], allow: &allow };
    let context = Context::of(&material);
    let told: Vec<_> = tally.cells().zip(context.decisions()).map(|(view, decision)| (tally.path(view.path), decision)).collect();
    assert_eq!(told.len(), 4, "all are kept");
    for (path, decision) in told {
        let stands = path == b"/c";
        assert_eq!((decision.matched, decision.reported), (stands, stands), "{}", path.escape_ascii());
        assert_eq!(
            context.list(decision).iter().map(|&rule| rules.rule(rule).id.as_str()).collect::<Vec<_>>(),
            ["t/key"][..usize::from(stands)]
        );
    }
}
