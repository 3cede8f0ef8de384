//! The views of a request with their case kept, and the way that led to them.
//!
//! Folding case changes no length, so a place in what rules look at is the same place here.

use crate::engine::Probe;
use crate::normalize::{Normalizer, Round, rounds, unescape};
use crate::rules::{Field, View};

/// Everything that rules look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texts {
    fields: [Vec<u8>; 7],
    resolved: Vec<u8>,
    /// More rounds would have changed the target still.
    pub round_limit: bool,
}

impl Texts {
    pub(super) fn of(probe: &Probe<'_>) -> Self {
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
    pub fn of_view(&self, view: View) -> &[u8] {
        match view {
            View::Field(field) => &self.fields[field as usize],
            View::Resolved => &self.resolved,
        }
    }
}

/// How a text was decoded, step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trail {
    /// The target or a header.
    pub field: Field,
    /// As logged.
    pub logged: Vec<u8>,
    /// Without the escapes of the log writer, where there were some.
    pub sent: Option<Vec<u8>>,
    /// The rounds of decoding that changed something.
    pub rounds: Vec<Round>,
}

impl Trail {
    /// The trails of a request, of what was decoded.
    pub(super) fn all_of(probe: &Probe<'_>) -> Vec<Self> {
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
