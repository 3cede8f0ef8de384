//! Sentences about the grades of answers, shared by several formats: why an answer has its grade,
//! what a site answers to anything, and a command that requests the path again.
//!
//! Takes values of the model and returns redacted text.

use std::borrow::Cow;

use crate::report::model::{AnswerDetail, Row, RowKey, Soft404};
use crate::soft_404::{MethodClass, Reason};
use crate::text::number::{counted, grouped};
use crate::text::redact::LogText;

/// Replaces a host that is not known to be one of the server's.
const YOUR_SITE: &str = "YOUR-SITE";

/// Why an answer has its grade, in a few words, and whether it needs a log-in.
pub(crate) fn why(detail: &AnswerDetail<'_>) -> String {
    let login = if detail.needs_login {
        "; with a user, others got 401"
    } else {
        ""
    };
    let size = match detail.bytes {
        Some(bytes) if bytes > 0 && has_content(detail) => counted(bytes, "byte", "bytes"),
        _ => without_size(detail),
    };
    let range = |low, high| sizes(&[(low, high)]);
    let why = match detail.grade.reason {
        Reason::NoSoft404 => format!("{size}; no sign of a soft 404"),
        Reason::StandsOut(low, high)
        | Reason::LikeTheRest(low, high)
        | Reason::NearTheRest(low, high) => {
            format!("{size}; the site gives {} to anything", range(low, high))
        }
        Reason::Constant => {
            format!("{size} for each client; the site's answers to other paths vary")
        }
        Reason::HomePage => format!("{size}, as the home page"),
        Reason::SameSize => format!("{size}, as unlike paths got"),
        Reason::SameOnOtherHosts => {
            format!("{size}, as other hosts of the server give to anything")
        }
        Reason::AnswersAnything => "the site answers anything, and its log has no sizes".to_owned(),
        Reason::RefusedToGet => format!("{size}; GET of the path was refused"),
        Reason::NoContent => "the method requests no content".to_owned(),
        Reason::SizeShared => format!("{size}, as an unlike path got"),
        Reason::SizesAlike => format!("{size}; unlike paths got about as many"),
        Reason::RefusedBeside => format!(
            "{size}, as the site gives to anything elsewhere; it refuses the paths beside this one"
        ),
        Reason::PartOfRepository => format!(
            "{size}, as the site gives to anything; other files of this repository stand out"
        ),
        Reason::InPart => {
            format!("{size}; the log has answers for many unrelated products beside refusals")
        }
        Reason::FewSizes => format!("{size}; the site answers anything, and few sizes are known"),
        Reason::NoSize => format!("{size}; the site answers other paths with a soft 404"),
        Reason::Empty => "the answer is empty".to_owned(),
        Reason::ManySites => "answers of several sites, counted together".to_owned(),
    };
    format!("{why}{login}")
}

/// A sentence about a site that answers anything.
pub(crate) fn sentence(site: &Soft404<'_>) -> String {
    let name = match site.hosts {
        1 => site.site.to_string(),
        many => format!(
            "{} and {}",
            site.site,
            counted(many - 1, "other host", "other hosts")
        ),
    };
    let gives = if site.hosts == 1 { "answers" } else { "answer" };
    let what = if site.sizes.is_empty() {
        String::new()
    } else {
        format!(" ({})", sizes(&site.sizes))
    };
    let paths = counted(site.paths, "probed path", "probed paths");
    let requests = counted(site.requests, "request", "requests");
    let gave = format!("{requests} for {paths} got that, and no file (soft 404)");
    match site.grade.reason {
        Reason::RefusedToGet => {
            format!("{name} {gives} POST and HEAD where it refuses GET{what}: {gave}.")
        }
        Reason::NoContent => format!("{name} {gives} methods that request no content: {gave}."),
        Reason::HomePage => format!("{name} {gives} with its home page{what}: {gave}."),
        _ => format!("{name} {gives} any path{what}: {gave}."),
    }
}

/// The path of an answer; the most important one of several paths that are one leak.
pub(crate) fn first_path<'r>(row: &Row<'r>) -> LogText<'r> {
    let first = row
        .answer
        .as_deref()
        .and_then(|answer| answer.members.first())
        .map(|member| member.path);
    first
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| row.path_or_target())
}

/// The first path of an answer, with the number of the other paths of the leak.
pub(crate) fn paths<'r>(row: &'r Row<'_>) -> Cow<'r, str> {
    let others = row
        .answer
        .as_deref()
        .map_or(0, |answer| answer.members.len())
        .saturating_sub(1);
    match others {
        0 => first_path(row).redacted(),
        others => Cow::Owned(format!(
            "{} and {} more",
            first_path(row),
            grouped(others as u64)
        )),
    }
}

/// All paths of a leak that has several, with their sizes.
pub(crate) fn members(row: &Row<'_>) -> Option<String> {
    let members = &row
        .answer
        .as_deref()
        .filter(|answer| !answer.members.is_empty())?
        .members;
    let size = |bytes: Option<u64>| {
        bytes.map_or_else(
            || "no size".to_owned(),
            |bytes| counted(bytes, "byte", "bytes"),
        )
    };
    let list: Vec<_> = members
        .iter()
        .map(|member| format!("{} ({})", member.path, size(member.bytes)))
        .collect();
    let (paths, answers) = (
        counted(row.paths, "path", "paths"),
        counted(row.hits, "answer", "answers"),
    );
    Some(format!(
        "{}: {paths}, {answers}: {}",
        row.key.path()?,
        list.join(", ")
    ))
}

/// Sizes as text: `612, 2,100 to 4,800 bytes`.
pub(crate) fn sizes(ranges: &[(u64, u64)]) -> String {
    let range = |(low, high): &(u64, u64)| {
        if low == high {
            grouped(*low)
        } else {
            format!("{} to {}", grouped(*low), grouped(*high))
        }
    };
    format!(
        "{} bytes",
        ranges.iter().map(range).collect::<Vec<_>>().join(", ")
    )
}

/// A shell command that shows what the path answers now.
pub(crate) fn command(row: &Row<'_>) -> Option<String> {
    let RowKey::Answer(host, ..) = row.key else {
        return None;
    };
    let detail = row.answer.as_ref()?;
    let host = host
        .filter(|_| detail.is_known_host)
        .map_or(Cow::Borrowed(YOUR_SITE), LogText::redacted);
    let target = row.sample.target;
    let path = if target.raw().starts_with(b"/") {
        target
    } else {
        row.key.path()?
    };
    let url = quoted(&format!("http://{host}{path}"));
    Some(format!(
        "curl -s --path-as-is -o /dev/null -w '%{{http_code}} %{{size_download}}\\n' {url}"
    ))
}

/// A word quoted for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |b: u8| {
        b.is_ascii_alphanumeric()
            || matches!(
                b,
                b'/' | b':' | b'.' | b'-' | b'_' | b',' | b'+' | b'@' | b'%'
            )
    };
    if word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Whether the size is that of content.
fn has_content(detail: &AnswerDetail<'_>) -> bool {
    matches!(detail.method, MethodClass::Get | MethodClass::Post)
        && detail
            .statuses
            .iter()
            .any(|status| !matches!(status, 204 | 206 | 304))
}

fn without_size(detail: &AnswerDetail<'_>) -> String {
    match (detail.method, detail.statuses.as_slice()) {
        (MethodClass::Head, _) => "HEAD, no size".to_owned(),
        (_, [304]) => "304, no size".to_owned(),
        (_, [206]) => "a part of the content".to_owned(),
        _ => "no size".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::render::grades::*;
    use crate::soft_404::{Answer, Grade};

    fn detail(reason: Reason) -> AnswerDetail<'static> {
        let grade = Grade {
            answer: Answer::Distinct,
            reason,
        };
        AnswerDetail {
            statuses: vec![200],
            bytes: Some(6_861),
            method: MethodClass::Get,
            grade,
            client: None,
            is_known_host: true,
            needs_login: false,
            members: Vec::new(),
        }
    }

    #[test]
    fn every_grade_has_a_reason() {
        assert_eq!(
            why(&detail(Reason::StandsOut(2_100, 4_800))),
            "6,861 bytes; the site gives 2,100 to 4,800 bytes to anything"
        );
        assert_eq!(
            why(&detail(Reason::NoSoft404)),
            "6,861 bytes; no sign of a soft 404"
        );
        let head = AnswerDetail {
            method: MethodClass::Head,
            bytes: Some(0),
            ..detail(Reason::NoSize)
        };
        assert_eq!(
            why(&head),
            "HEAD, no size; the site answers other paths with a soft 404"
        );
    }

    #[test]
    fn a_site_gets_one_sentence() {
        let grade = Grade {
            answer: Answer::Soft404,
            reason: Reason::SameSize,
        };
        let site = Soft404 {
            site: LogText::new(b"app.example"),
            hosts: 1,
            grade,
            sizes: vec![(612, 612), (2_100, 4_800)],
            paths: 14,
            requests: 31,
        };
        assert_eq!(
            sentence(&site),
            "app.example answers any path (612, 2,100 to 4,800 bytes): 31 requests for 14 probed paths got that, and no file (soft 404)."
        );
        let server = Soft404 {
            hosts: 3,
            sizes: vec![],
            paths: 1,
            requests: 1,
            ..site
        };
        assert_eq!(
            sentence(&server),
            "app.example and 2 other hosts answer any path: 1 request for 1 probed path got that, and no file (soft 404)."
        );
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("http://a.example/.env"), "http://a.example/.env");
        assert_eq!(quoted("http://a/?x=1&y=$(id)"), "'http://a/?x=1&y=$(id)'");
        assert_eq!(
            quoted("http://a/'; rm -rf ~ #"),
            r"'http://a/'\''; rm -rf ~ #'"
        );
    }
}
