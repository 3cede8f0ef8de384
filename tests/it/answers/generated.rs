//! Generated logs: sites with different kinds of answers, requests of scanners and visitors, and
//! exposed files.
//!
//! Nothing here knows how answers are graded.

use std::ops::Range;

use proptest::prelude::*;

use super::probes::PATHS;

/// What a site answers for missing paths.
#[derive(Debug, Clone, Copy)]
enum AnswerStyle {
    /// 404.
    Refuses,
    /// One page.
    SamePage,
    /// A page with a token of varying length.
    Jitter,
    /// A page that prints the path.
    Echo,
    /// A page of random size.
    AnySize,
    /// A page, in a log without sizes.
    NoSize,
}

/// A site and the requests for it.
#[derive(Debug, Clone)]
struct Site {
    style: AnswerStyle,
    /// The sizes of its pages.
    page: u64,
    /// Indices into [`PATHS`] of existing files.
    secrets: Vec<usize>,
    requests: Vec<Request>,
}

#[derive(Debug, Clone)]
struct Request {
    /// An index into [`PATHS`]; visitors request pages.
    path: usize,
    is_visit: bool,
    method: &'static str,
    client: u8,
    minute: u8,
    /// What varies from one answer to the next.
    noise: u64,
}

const MANNERS: [AnswerStyle; 6] = [
    AnswerStyle::Refuses,
    AnswerStyle::SamePage,
    AnswerStyle::Jitter,
    AnswerStyle::Echo,
    AnswerStyle::AnySize,
    AnswerStyle::NoSize,
];

/// Lines of a log of one site without hosts, or of several virtual hosts, with a number of requests
/// for each site.
pub(crate) fn any_log(
    sites: Range<usize>,
    requests: Range<usize>,
) -> impl Strategy<Value = Vec<String>> {
    lines_of(&MANNERS, sites, requests)
}

/// The same for sites that refuse what they do not have.
pub(crate) fn any_refusing_log(
    sites: Range<usize>,
    requests: Range<usize>,
) -> impl Strategy<Value = Vec<String>> {
    lines_of(&[AnswerStyle::Refuses], sites, requests)
}

fn lines_of(
    manners: &'static [AnswerStyle],
    sites: Range<usize>,
    requests: Range<usize>,
) -> impl Strategy<Value = Vec<String>> {
    let alone = any_site(manners, requests.clone()).prop_map(|site| site.lines("").collect());
    let hosts = prop::collection::vec(any_site(manners, requests), sites).prop_map(|sites| {
        let lines = |(number, site): (usize, &Site)| {
            site.lines(&format!("www{number}.example.com:80 "))
                .collect::<Vec<_>>()
        };
        sites.iter().enumerate().flat_map(lines).collect()
    });
    prop_oneof![1 => alone, 3 => hosts]
}

fn any_site(
    manners: &'static [AnswerStyle],
    requests: Range<usize>,
) -> impl Strategy<Value = Site> {
    let secrets = prop::collection::vec(0..PATHS.len(), 0..4);
    (
        prop::sample::select(manners),
        700..4_000_u64,
        secrets,
        prop::collection::vec(any_request(), requests),
    )
        .prop_map(|(style, page, secrets, requests)| Site {
            style,
            page,
            secrets,
            requests,
        })
}

fn any_request() -> impl Strategy<Value = Request> {
    let method = prop_oneof![8 => Just("GET"), 1 => Just("HEAD"), 1 => Just("POST")];
    (
        0..PATHS.len(),
        prop::bool::weighted(0.2),
        method,
        0..9_u8,
        0..60_u8,
        any::<u64>(),
    )
        .prop_map(|(path, is_visit, method, client, minute, noise)| Request {
            path,
            is_visit,
            method,
            client,
            minute,
            noise,
        })
}

impl Site {
    fn lines<'s>(&'s self, host: &'s str) -> impl Iterator<Item = String> + 's {
        self.requests
            .iter()
            .map(move |request| self.line(host, request))
    }

    fn line(&self, host: &str, request: &Request) -> String {
        let Request {
            path,
            is_visit,
            method,
            client,
            minute,
            noise,
        } = *request;
        let (network, method, path, (status, size)) = if is_visit {
            let (page, size) = [
                ("/", self.page),
                ("/about", self.page + 811),
                ("/assets/app.js", 18_211),
            ][path % 3];
            ("203.0.113", "GET", page, (200, Some(size)))
        } else {
            ("198.51.100", method, PATHS[path], self.answer(path, noise))
        };
        let size = match size {
            // nginx logs 0 bytes of a HEAD, Apache none.
            Some(_) if method == "HEAD" => if noise % 2 == 0 { "0" } else { "-" }.to_owned(),
            Some(size) => size.to_string(),
            None => "-".to_owned(),
        };
        format!(
            "{host}{network}.{client} - - [02/Nov/2026:08:{minute:02}:00 +0000] \"{method} {path} HTTP/1.1\" {status} {size} \"-\" \"Mozilla/5.0\"\n"
        )
    }

    /// Status and bytes of the answer for a path.
    fn answer(&self, path: usize, noise: u64) -> (u16, Option<u64>) {
        if self.secrets.contains(&path) {
            return (200, Some(5_000 + 977 * path as u64));
        }
        match self.style {
            AnswerStyle::Refuses => (404, Some(153)),
            AnswerStyle::SamePage => (200, Some(self.page)),
            AnswerStyle::Jitter => (200, Some(self.page + noise % 7)),
            AnswerStyle::Echo => (200, Some(self.page + PATHS[path].len() as u64)),
            AnswerStyle::AnySize => (200, Some(self.page + noise % 3_000)),
            AnswerStyle::NoSize => (200, None),
        }
    }
}
