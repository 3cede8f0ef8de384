//! The differences and their order.

use super::*;
use crate::render::{OutputFormat, RenderOptions, render_diff};

fn report(subjects: &[(DiffSubject, Severity, u64)]) -> ReportIndex {
    let mut report = ReportIndex::default();
    for (subject, severity, hits) in subjects {
        report.add(subject.clone(), *severity, *hits);
    }
    report
}

fn answer(host: &[u8], path: &[u8]) -> DiffSubject {
    DiffSubject::Answer(host.into(), path.into())
}

fn path(path: &[u8]) -> DiffSubject {
    DiffSubject::Path(path.into())
}

fn old_and_new() -> (ReportIndex, ReportIndex) {
    let old = report(&[
        (answer(b"", b"/old"), Severity::High, 2),
        (DiffSubject::Rule("dotfiles/env".into()), Severity::High, 5),
        (path(b"/same"), Severity::Low, 7),
        (path(b"/less"), Severity::Low, 7),
        (path(b"/reset-password/0123456789abcdef0123"), Severity::Low, 1),
    ]);
    let new = report(&[
        (answer(b"shop.example", b"/.env"), Severity::Critical, 1),
        (answer(b"shop.example", b"/=cmd"), Severity::Critical, 1),
        (DiffSubject::Rule("dotfiles/env".into()), Severity::Critical, 1205),
        (path(b"/same"), Severity::Medium, 7),
        (path(b"/less"), Severity::Low, 3),
        (path(b"/low"), Severity::Low, 900),
        (path(b"/\x1b[2J"), Severity::High, 1),
    ]);
    (old, new)
}

fn printed(rows: &[DiffRow], format: OutputFormat) -> String {
    let mut out = Vec::new();
    render_diff(rows, &[], &RenderOptions { format, width: 80, ..RenderOptions::default() }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_most_important_rows_come_first() {
    let (old, new) = old_and_new();
    let rows = diff(&old, &new);
    assert_eq!(
        printed(&rows, OutputFormat::Csv),
        "kind,key,change,severity,hits_before,hits_after,status_after\n\
         answer,shop.example/.env,new,critical,0,1,\n\
         answer,shop.example/=cmd,new,critical,0,1,\n\
         answer,/old,not_requested,high,2,0,\n\
         rule,dotfiles/env,more,critical,5,1205,\n\
         path,/\\x1b[2J,new,high,0,1,\n\
         path,/low,new,low,0,900,\n\
         path,/less,fewer,low,7,3,\n\
         path,/reset-password/***,gone,low,1,0,\n"
    );
    insta::assert_snapshot!("table", printed(&rows, OutputFormat::Table));
    let json: serde_json::Value = serde_json::from_str(&printed(&rows, OutputFormat::Json)).unwrap();
    assert_eq!(json.as_array().unwrap().len(), rows.len());
    assert_eq!(
        json[3],
        serde_json::json!({"kind": "rule", "key": "dotfiles/env", "change": "more", "severity": "critical", "hits_before": 5, "hits_after": 1205, "status_after": null})
    );
}

#[test]
fn a_former_answer_has_its_present_condition() {
    let gone = [("/refused", 1), ("/redirected", 2), ("/app", 3), ("/maybe", 4), ("/soft", 5), ("/nothing", 6)];
    let subjects: Vec<_> = gone.iter().map(|(path, hits)| (answer(b"a.example", path.as_bytes()), Severity::High, *hits)).collect();
    let old = report(&subjects);
    let mut new = report(&[(path(b"/refused"), Severity::High, 1)]);
    let mut meet = |path: &str, exposes: bool, fate: AnswerNow, status: u16, hits: u64| {
        new.add_outcome(answer(b"a.example", path.as_bytes()), (exposes, fate), Some(status), hits);
    };
    // The most frequent status, the lowest of several; a hit of a rule that exposes nothing does not count beside
    // others.
    meet("/refused", false, AnswerNow::Ordinary, 200, 90);
    meet("/refused", true, AnswerNow::Refused, 404, 1);
    meet("/refused", true, AnswerNow::Refused, 403, 1);
    meet("/refused", false, AnswerNow::Unanswered, 500, 90);
    meet("/redirected", false, AnswerNow::Unanswered, 301, 1);
    meet("/app", true, AnswerNow::Ordinary, 200, 1);
    // The most important condition decides, in any order.
    meet("/maybe", true, AnswerNow::Refused, 404, 9);
    meet("/maybe", true, AnswerNow::Uncertain, 200, 1);
    meet("/maybe", true, AnswerNow::Soft404, 200, 9);
    meet("/soft", true, AnswerNow::Soft404, 304, 1);
    meet("/soft", true, AnswerNow::Refused, 404, 9);
    // Another host is another answer.
    new.add_outcome(answer(b"b.example", b"/nothing"), (true, AnswerNow::Refused), Some(404), 1);
    let rows: Vec<DiffRow> = diff(&old, &new).into_iter().filter(|row| row.kind == DiffKind::Answer).collect();
    assert_eq!(
        printed(&rows, OutputFormat::Csv),
        "kind,key,change,severity,hits_before,hits_after,status_after\n\
         answer,a.example/maybe,uncertain,high,4,0,200\n\
         answer,a.example/nothing,not_requested,high,6,0,\n\
         answer,a.example/app,ordinary,high,3,0,200\n\
         answer,a.example/redirected,unanswered,high,2,0,301\n\
         answer,a.example/soft,soft_404,high,5,0,304\n\
         answer,a.example/refused,refused,high,1,0,403\n"
    );
    insta::assert_snapshot!("former_answers", printed(&rows, OutputFormat::Table));
    let json: serde_json::Value = serde_json::from_str(&printed(&rows, OutputFormat::Json)).unwrap();
    assert_eq!((&json[5]["change"], &json[5]["status_after"]), (&"refused".into(), &403.into()));
    assert!(rows.iter().map(|row| row.change).eq(AnswerNow::ALL.map(Change::Now)));
}

#[test]
fn a_report_does_not_differ_from_itself() {
    let (old, _) = old_and_new();
    let rows = diff(&old, &old);
    assert_eq!(rows, []);
    assert_eq!(printed(&rows, OutputFormat::Table), "No difference.\n");
    assert_eq!(printed(&rows, OutputFormat::Csv), "kind,key,change,severity,hits_before,hits_after,status_after\n");
    assert_eq!(printed(&rows, OutputFormat::Json), "[]\n");
}

#[test]
fn approximate_reports_get_a_note() {
    let (old, mut new) = old_and_new();
    assert_eq!(notes(&old, &new), [""; 0]);
    new.approximate = Some(Approximation { pairs: 3, rest_hits: 9, ..Default::default() });
    let printed = notes(&old, &new);
    assert!(printed.len() == 1 && printed[0].ends_with("what is gone or not requested may still be there."), "{printed:?}");
    let mut out = Vec::new();
    render_diff(
        &diff(&old, &new),
        &printed,
        &RenderOptions { format: OutputFormat::Table, width: 80, ..RenderOptions::default() },
        &mut out,
    )
    .unwrap();
    assert!(String::from_utf8(out).unwrap().contains("  Approximate: memory was limited"));
}
