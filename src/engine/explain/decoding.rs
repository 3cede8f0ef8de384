//! The decoded views of a request in original case, and the steps of decoding.
//!
//! Case folding changes no length, so positions in the folded views are valid here.

use crate::engine::ParsedRequest;
use crate::normalize::{DecodeRound, Normalizer, rounds, unescape};
use crate::rules::{Field, TextView};

/// All views that rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedTexts {
    fields: [Vec<u8>; 7],
    resolved: Vec<u8>,
    /// More rounds would have changed the target.
    pub round_limit: bool,
}

impl DecodedTexts {
    pub(super) fn of(probe: &ParsedRequest<'_>) -> Self {
        let mut fields: [Vec<u8>; 7] = Default::default();
        let mut normalizer = Normalizer::default();
        let views = normalizer.views(probe.line.target);
        let (resolved, round_limit) = (views.resolved.to_vec(), views.round_limit);
        for (field, text) in [(Field::Path, views.path), (Field::Query, views.query), (Field::Target, views.target)] {
            fields[field as usize] = text.to_vec();
        }
        for (field, text) in [(Field::Referer, probe.referer), (Field::UserAgent, probe.user_agent)] {
            fields[field as usize] = text.map(|text| normalizer.header(text).to_vec()).unwrap_or_default();
        }
        let raw = &mut fields[Field::Raw as usize];
        unescape(probe.request, raw);
        fields[Field::Method as usize] = raw[..probe.line.method.len()].to_vec();
        Self { fields, resolved, round_limit }
    }

    /// The text of a view.
    #[must_use]
    pub fn of_view(&self, view: TextView) -> &[u8] {
        match view {
            TextView::Field(field) => &self.fields[field as usize],
            TextView::Resolved => &self.resolved,
        }
    }
}

/// The steps of decoding a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeSteps {
    /// The target or a header.
    pub field: Field,
    /// As logged.
    pub logged: Vec<u8>,
    /// Without the escapes of the log writer, if there were any.
    pub sent: Option<Vec<u8>>,
    /// The rounds of decoding that changed something.
    pub rounds: Vec<DecodeRound>,
}

impl DecodeSteps {
    /// The steps of all fields that were decoded.
    pub(super) fn all_of(probe: &ParsedRequest<'_>) -> Vec<Self> {
        let fields = [(Field::Target, Some(probe.line.target)), (Field::Referer, probe.referer), (Field::UserAgent, probe.user_agent)];
        let trails = fields.into_iter().filter_map(|(field, text)| Some(Self::of(field, text?)));
        trails.filter(|trail| trail.sent.is_some() || !trail.rounds.is_empty()).collect()
    }

    fn of(field: Field, logged: &[u8]) -> Self {
        let mut sent = Vec::new();
        unescape(logged, &mut sent);
        let rounds = rounds(&sent);
        Self { field, sent: Some(sent).filter(|sent| sent != logged), logged: logged.to_vec(), rounds }
    }
}
