//! Holds what is told in place of the texts and clients of a report, for as long as that is.

use std::collections::HashMap;

use super::{Report, Row, RowKey, SampleRequest, TextKind};
use crate::client::{Client, ClientKey};

/// What is told, by what there is; what is told as it is has no entry.
#[derive(Debug, Default)]
pub(crate) struct RedactionMap {
    texts: HashMap<Vec<u8>, Vec<u8>>,
    agents: HashMap<Vec<u8>, Vec<u8>>,
    clients: HashMap<ClientKey, ClientKey>,
}

impl RedactionMap {
    pub(crate) fn insert_text(&mut self, text: &[u8], place: TextKind, told: impl FnOnce() -> Vec<u8>) {
        let texts = match place {
            TextKind::Text => &mut self.texts,
            TextKind::Agent => &mut self.agents,
        };
        if !texts.contains_key(text) {
            texts.insert(text.to_vec(), told());
        }
    }

    pub(crate) fn insert_client(&mut self, client: Client<'_>, told: impl FnOnce() -> ClientKey) {
        self.clients.entry(ClientKey::from(&client)).or_insert_with(told);
    }

    pub(crate) fn text<'r>(&'r self, text: &'r [u8], place: TextKind) -> &'r [u8] {
        let texts = match place {
            TextKind::Text => &self.texts,
            TextKind::Agent => &self.agents,
        };
        texts.get(text).map_or(text, Vec::as_slice)
    }

    pub(crate) fn client<'r>(&'r self, client: Client<'r>) -> Client<'r> {
        self.clients.get(&ClientKey::from(&client)).map_or(client, ClientKey::client)
    }

    /// What a row is about, as it is told.
    pub(crate) fn key<'r>(&'r self, mut key: RowKey<'r>) -> RowKey<'r> {
        visit_key(&mut key, &mut |text, place| *text = self.text(text, place), &mut |client| *client = self.client(*client));
        key
    }
}

/// Goes over all texts of a log and all clients in a report.
pub(crate) fn visit<'r>(report: &mut Report<'r>, text: &mut impl FnMut(&mut &'r [u8], TextKind), client: &mut impl FnMut(&mut Client<'r>)) {
    let Report { answered, uncertain, pairs, clients, paths, rules, campaigns, floods, .. } = report;
    for row in [answered, uncertain, pairs, clients, paths, rules].into_iter().flatten() {
        visit_row(row, text, client);
    }
    for campaign in campaigns {
        campaign.sample_paths.iter_mut().for_each(|path| text(path, TextKind::Text));
        visit_sample(&mut campaign.sample, text);
    }
    for flood in floods {
        flood.client.iter_mut().for_each(&mut *client);
        text(&mut flood.path, TextKind::Text);
        visit_sample(&mut flood.sample, text);
    }
}

fn visit_row<'r>(row: &mut Row<'r>, text: &mut impl FnMut(&mut &'r [u8], TextKind), client: &mut impl FnMut(&mut Client<'r>)) {
    visit_key(&mut row.key, text, client);
    visit_sample(&mut row.sample, text);
    if let Some(its_client) = row.answer.as_mut().and_then(|answer| answer.client.as_mut()) {
        client(its_client);
    }
}

fn visit_key<'r>(key: &mut RowKey<'r>, text: &mut impl FnMut(&mut &'r [u8], TextKind), client: &mut impl FnMut(&mut Client<'r>)) {
    match key {
        RowKey::Pair(its_client, path, _) => {
            client(its_client);
            text(path, TextKind::Text);
        }
        RowKey::Client(its_client) => client(its_client),
        RowKey::Path(path) | RowKey::Answer(_, path, _) => text(path, TextKind::Text),
        RowKey::Rule(_) => {}
    }
}

pub(crate) fn visit_sample<'r>(sample: &mut SampleRequest<'r>, text: &mut impl FnMut(&mut &'r [u8], TextKind)) {
    text(&mut sample.target, TextKind::Text);
    if let Some(agent) = &mut sample.user_agent {
        text(agent, TextKind::Agent);
    }
}
