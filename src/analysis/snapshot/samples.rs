//! Tells samples: a text that occurs again and again is told once.

use std::borrow::Cow;
use std::collections::HashMap;

use super::rows::{BackRef, SampleRow};
use crate::analysis::labels;
use crate::analysis::rows::sample_request;
use crate::redact::mask::redacted;
use crate::source::SourceInfo;
use crate::tally::{SampleView, Site};

/// What was told so far.
#[derive(Default)]
pub(crate) struct SampleEncoder<'a> {
    generations: HashMap<u64, u32>,
    agents: HashMap<Cow<'a, str>, u32>,
    hosts: HashMap<&'a [u8], Cow<'a, str>>,
}

impl<'a> SampleEncoder<'a> {
    /// The row of a sample; `path` and `site` are what its cell says already.
    pub(crate) fn row(&mut self, text: &'a SourceInfo, sample: SampleView<'a>, path: Option<&'a str>, site: Site<'a>) -> SampleRow<'a> {
        let told = sample_request(text, sample);
        let host = told.host.map(redacted);
        let is_usual = match site {
            Site::Host(usual) => host.as_ref() == Some(self.hosts.entry(usual).or_insert_with(|| redacted(usual))),
            Site::Input(_) => host.is_none(),
        };
        let target = redacted(told.target);
        SampleRow {
            time: sample.time.map(Into::into),
            generation: self.generation(told.generation),
            offset: told.offset,
            line: told.line,
            target: Some(target).filter(|target| Some(&**target) != path),
            host: host.filter(|_| !is_usual),
            user_agent: told.user_agent.map(|agent| self.agent(redacted(agent))),
        }
    }

    fn generation(&mut self, generation: u64) -> BackRef<'a> {
        let next = self.generations.len() as u32;
        match *self.generations.entry(generation).or_insert(next) {
            new if new == next => BackRef::First(Cow::Owned(labels::generation(generation))),
            known => BackRef::Again(known),
        }
    }

    fn agent(&mut self, agent: Cow<'a, str>) -> BackRef<'a> {
        if let Some(&known) = self.agents.get(&agent) {
            return BackRef::Again(known);
        }
        self.agents.insert(agent.clone(), self.agents.len() as u32);
        BackRef::First(agent)
    }
}
