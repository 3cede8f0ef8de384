//! What differs, and in which order it is told.

use super::side::Thing;
use super::*;

fn side(things: &[(Thing, Severity, u64)]) -> Side {
    let mut side = Side::default();
    for (thing, severity, hits) in things {
        side.add(thing.clone(), *severity, *hits);
    }
    side
}

fn answer(host: &[u8], path: &[u8]) -> Thing {
    Thing::Answer(host.into(), path.into())
}

fn path(path: &[u8]) -> Thing {
    Thing::Path(path.into())
}

fn old_and_new() -> (Side, Side) {
    let old = side(&[
        (answer(b"", b"/old"), Severity::High, 2),
        (Thing::Rule("dotfiles/env".into()), Severity::High, 5),
        (path(b"/same"), Severity::Low, 7),
        (path(b"/less"), Severity::Low, 7),
        (path(b"/reset-password/0123456789abcdef0123"), Severity::Low, 1),
    ]);
    let new = side(&[
        (answer(b"shop.example", b"/.env"), Severity::Critical, 1),
        (answer(b"shop.example", b"/=cmd"), Severity::Critical, 1),
        (Thing::Rule("dotfiles/env".into()), Severity::Critical, 1205),
        (path(b"/same"), Severity::Medium, 7),
        (path(b"/less"), Severity::Low, 3),
        (path(b"/low"), Severity::Low, 900),
        (path(b"/\x1b[2J"), Severity::High, 1),
    ]);
    (old, new)
}

fn printed(rows: &[Row], format: Format) -> String {
    let mut out = Vec::new();
    render(rows, &[], &View { format, width: 80, ..View::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn what_matters_most_comes_first() {
    let (old, new) = old_and_new();
    let rows = diff(&old, &new);
    assert_eq!(
        printed(&rows, Format::Csv),
        "kind,key,change,severity,hits_before,hits_after\n\
         answer,shop.example/.env,new,critical,0,1\n\
         answer,shop.example/=cmd,new,critical,0,1\n\
         answer,/old,gone,high,2,0\n\
         rule,dotfiles/env,more,critical,5,1205\n\
         path,/\\x1b[2J,new,high,0,1\n\
         path,/low,new,low,0,900\n\
         path,/less,fewer,low,7,3\n\
         path,/reset-password/***,gone,low,1,0\n"
    );
    insta::assert_snapshot!("table", printed(&rows, Format::Table));
    let json: serde_json::Value = serde_json::from_str(&printed(&rows, Format::Json)).unwrap();
    assert_eq!(json.as_array().unwrap().len(), rows.len());
    assert_eq!(
        json[3],
        serde_json::json!({"kind": "rule", "key": "dotfiles/env", "change": "more", "severity": "critical", "hits_before": 5, "hits_after": 1205})
    );
}

#[test]
fn nothing_differs_from_itself() {
    let (old, _) = old_and_new();
    let rows = diff(&old, &old);
    assert_eq!(rows, []);
    assert_eq!(printed(&rows, Format::Table), "No difference.\n");
    assert_eq!(printed(&rows, Format::Csv), "kind,key,change,severity,hits_before,hits_after\n");
    assert_eq!(printed(&rows, Format::Json), "[]\n");
}

#[test]
fn who_compares_what_is_approximate_is_told_so() {
    let (old, mut new) = old_and_new();
    assert_eq!(notes(&old, &new), [""; 0]);
    new.approximate = Some(crate::report::model::Approximate { pairs: 3, rest_hits: 9, ..Default::default() });
    let told = notes(&old, &new);
    assert!(told.len() == 1 && told[0].ends_with("what is gone may still be there."), "{told:?}");
    let mut out = Vec::new();
    render(&diff(&old, &new), &told, &View { format: Format::Table, width: 80, ..View::default() }, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("  Approximate: there was more"));
}
