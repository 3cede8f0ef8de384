//! Tells one kept line as NDJSON does, once the context is known.

use super::build::Material;
use super::context::{Context, Seen};
use super::model::Hit;
use super::rows::reread;
use crate::client::Client;
use crate::finding::RuleId;
use crate::normalize::Normalizer;
use crate::record::Outcome;
use crate::tally::{Place, Scope};

/// A line that matched, as it was kept.
#[derive(Debug, Clone, Copy)]
pub struct KeptLine<'a> {
    /// Where it stands.
    pub place: Place,
    /// The line.
    pub text: &'a [u8],
    /// Whether a format explains it.
    pub parsed: bool,
    /// The rules it matched, sorted.
    pub rules: &'a [RuleId],
}

/// Room to tell a hit in.
#[derive(Debug, Default)]
pub struct Desk {
    normalizer: Normalizer,
    rules: Vec<RuleId>,
    host: Vec<u8>,
}

/// The hit a kept line is; `None` where it is none in the context, or none that is asked for.
pub fn hit<'a>(material: &Material<'a>, context: &Context<'_>, line: &KeptLine<'a>, desk: &'a mut Desk) -> Option<Hit<'a>> {
    let (record, probe) = reread(line.text, line.parsed);
    let outcome = Outcome::of(record.status);
    let client = Client::parse(record.client);
    desk.host.clear();
    desk.host.extend_from_slice(record.host.unwrap_or_default());
    desk.host.make_ascii_lowercase();
    let site = if record.host.is_some() { Scope::Host(&desk.host) } else { Scope::Input(line.place.input) };
    let seen = Seen { client: material.tally.number_of(client)?, site, status: record.status, bytes: record.bytes };
    let decision = context.within_outcomes(context.decide(line.rules, &seen, &mut desk.rules), outcome);
    if !decision.reported {
        return None;
    }
    let text = &material.texts[line.place.input as usize];
    let views = desk.normalizer.views(probe.line.target);
    Some(Hit {
        generation: text.generation,
        offset: line.place.chunk + line.place.offset,
        source: &text.path,
        line: text.line_number(line.place.chunk, line.place.line),
        time: record.time,
        client,
        method: probe.line.method,
        target: probe.line.target,
        path: views.resolved,
        decoded: Some(views.target).filter(|decoded| *decoded != probe.line.target),
        protocol: probe.line.protocol,
        status: record.status,
        bytes: record.bytes,
        outcome,
        catch_all: Some(decision.catch_all),
        severity: decision.severity,
        context: context.is_of_client(&desk.rules).then_some("client"),
        rules: &desk.rules,
        host: record.host,
        referer: record.referer,
        user_agent: record.user_agent,
    })
}
