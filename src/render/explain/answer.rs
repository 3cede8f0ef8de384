//! The grade of an answer and what it rests on, in words.

use std::io::{self, Write};

use super::page::ExplainPage;
use crate::analysis::path_answer::{GradeResult, GradedAnswer, SimilarAnswer};
use crate::number::{counted, grouped};
use crate::redact::mask::redacted;
use crate::render::grades::{sizes, why};
use crate::render::style::{DIM, WARNING};
use crate::soft_404::Answer;

/// Why there is no grade, in a sentence.
pub(crate) fn ungraded(answer: &GradeResult) -> Option<&'static str> {
    match answer {
        GradeResult::Known(_) => None,
        GradeResult::NeedsLog => Some("The grade of the answer depends on the whole log; --in LOG names it."),
        GradeResult::Ordinary => Some(
            "The answer has no grade: in this log no rule stands that exposes something. The site runs an app whose page this is, \
             or the client does not meet the condition of the rule.",
        ),
    }
}

/// Writes the section.
pub(crate) fn write<W: Write>(answer: &GradeResult, page: &mut ExplainPage<'_, W>) -> io::Result<()> {
    page.heading("ANSWER")?;
    if let Some(sentence) = ungraded(answer) {
        return page.text(2, if matches!(answer, GradeResult::NeedsLog) { WARNING } else { DIM }, sentence);
    }
    match answer {
        GradeResult::Known(answer) => page.rows(&rows(answer)),
        GradeResult::NeedsLog | GradeResult::Ordinary => Ok(()),
    }
}

fn rows(answer: &GradedAnswer) -> Vec<(String, String)> {
    let grade = answer.detail.grade.answer;
    let row = |label: &str, text: String| Some((label.to_owned(), text));
    let statuses: Vec<String> = answer.get_refused.iter().map(u16::to_string).collect();
    let anything = match answer.sizes.as_slice() {
        [] => None,
        ranges => row("soft 404s", sizes(ranges)),
    };
    [
        row("grade", format!("{}: {}", grade.as_str().replace('_', " "), meaning(grade))),
        row("reason", why(&answer.detail)),
        row("site", format!("{}: {}", redacted(&answer.site), probed(answer))),
        anything,
        (!answer.home_sizes.is_empty()).then(|| row("home page", sizes(&answer.home_sizes))).flatten(),
        (!answer.get_sizes.is_empty()).then(|| row("GET", format!("got {} for this path", sizes(&answer.get_sizes)))).flatten(),
        (!statuses.is_empty()).then(|| row("GET", format!("was refused for this path: {}", statuses.join(", ")))).flatten(),
        (!answer.alike.is_empty()).then(|| row(if answer.is_exact() { "same size" } else { "like size" }, alike(&answer.alike))).flatten(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn meaning(grade: Answer) -> &'static str {
    match grade {
        Answer::Distinct => "unlike what the site answers to anything",
        Answer::Uncertain => "the log cannot show whether the site answers this to anything",
        Answer::Soft404 => "what the site answers to anything",
    }
}

/// How many probed paths were answered, and how many refused.
fn probed(answer: &GradedAnswer) -> String {
    let or_more = if answer.is_refused_cut { " or more" } else { "" };
    match (answer.answered, answer.refused) {
        (0, 0) => "no probed path in this log".to_owned(),
        (given, refused) => format!("{} answered, {}{or_more} refused", counted(given, "probed path", "probed paths"), grouped(refused)),
    }
}

fn alike(paths: &[SimilarAnswer]) -> String {
    let path = |one: &SimilarAnswer| {
        let host = one.host.as_deref().map(redacted).unwrap_or_default();
        format!("{host}{} ({})", redacted(&one.path), counted(one.bytes, "byte", "bytes"))
    };
    paths.iter().map(path).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use crate::analysis::model::AnswerDetail;
    use crate::render::explain::answer::*;
    use crate::soft_404::{Grade, MethodClass, Reason};

    #[test]
    fn what_a_grade_rests_on_has_words() {
        let grade = Grade { answer: Answer::Soft404, reason: Reason::LikeTheRest(2_100, 4_800) };
        let statuses = vec![200];
        let detail = AnswerDetail { statuses, bytes: Some(2_200), method: MethodClass::Post, grade, client: None, is_known_host: false };
        let answer = GradedAnswer {
            detail,
            site: b"shop.example".to_vec(),
            answered: 1_200,
            refused: 1_024,
            is_refused_cut: true,
            sizes: vec![(612, 612), (2_100, 4_800)],
            home_sizes: vec![(512, 512)],
            get_sizes: vec![(7, 7)],
            get_refused: vec![403, 404],
            alike: Vec::new(),
        };
        let text: Vec<String> = rows(&answer).into_iter().map(|(label, text)| format!("{label} | {text}")).collect();
        assert_eq!(
            text,
            [
                "grade | soft 404: what the site answers to anything",
                "reason | 2,200 bytes; the site gives 2,100 to 4,800 bytes to anything",
                "site | shop.example: 1,200 probed paths answered, 1,024 or more refused",
                "soft 404s | 612, 2,100 to 4,800 bytes",
                "home page | 512 bytes",
                "GET | got 7 bytes for this path",
                "GET | was refused for this path: 403, 404",
            ]
        );
        assert_eq!(ungraded(&GradeResult::Known(Box::new(answer))), None);
        assert!(ungraded(&GradeResult::NeedsLog).is_some_and(|sentence| sentence.contains("--in LOG")));
    }
}
