//! The same for hits one by one, and for alerts.

use super::{Privacy, TextKind};
use crate::alerting::event::Alert;
use crate::analysis::hit::LiveHit;
use crate::analysis::model::ReportedHit;
use crate::client::ClientKey;

/// Room to tell one hit in.
#[derive(Debug, Default)]
pub struct RedactionBuffers {
    client: Option<ClientKey>,
    target: Vec<u8>,
    path: Vec<u8>,
    decoded: Vec<u8>,
    method: Vec<u8>,
    protocol: Vec<u8>,
    referer: Vec<u8>,
    agent: Vec<u8>,
}

impl Privacy {
    /// The hit as it is told.
    #[must_use]
    pub fn hit<'r>(&self, hit: &ReportedHit<'r>, buffers: &'r mut RedactionBuffers) -> ReportedHit<'r> {
        if self.is_default() {
            return *hit;
        }
        buffers.client = self.anonymizer.as_ref().map(|anonymizer| anonymizer.client(hit.client));
        buffers.target = self.text(hit.target, TextKind::Text);
        buffers.path = self.text(hit.path, TextKind::Text);
        buffers.decoded = hit.decoded.map(|decoded| self.text(decoded, TextKind::Text)).unwrap_or_default();
        buffers.method = self.text(hit.method, TextKind::Text);
        buffers.protocol = self.text(hit.protocol, TextKind::Text);
        buffers.referer = hit.referer.map(|referer| self.text(referer, TextKind::Text)).unwrap_or_default();
        buffers.agent = hit.user_agent.map(|agent| self.text(agent, TextKind::Agent)).unwrap_or_default();
        let buffers = &*buffers;
        ReportedHit {
            client: buffers.client.as_ref().map_or(hit.client, ClientKey::client),
            target: &buffers.target,
            path: &buffers.path,
            decoded: hit.decoded.map(|_| buffers.decoded.as_slice()),
            method: &buffers.method,
            protocol: &buffers.protocol,
            referer: hit.referer.map(|_| buffers.referer.as_slice()),
            user_agent: hit.user_agent.map(|_| buffers.agent.as_slice()),
            ..*hit
        }
    }

    /// A live hit as it is told.
    #[must_use]
    pub fn live<'r>(&self, live: &LiveHit<'r>, buffers: &'r mut RedactionBuffers) -> LiveHit<'r> {
        LiveHit { hit: self.hit(&live.hit, buffers), ..*live }
    }

    /// The alert as it is told.
    #[must_use]
    pub fn alert(&self, alert: Alert) -> Alert {
        if self.is_default() {
            return alert;
        }
        let mut redacted = alert;
        if let (Some(anonymizer), Some(client)) = (&self.anonymizer, &mut redacted.client) {
            *client = anonymizer.client(client.client());
        }
        redacted.path = redacted.path.map(|path| self.text(&path, TextKind::Text));
        redacted.sample.target = self.text(&redacted.sample.target, TextKind::Text);
        redacted.sample.method = self.text(&redacted.sample.method, TextKind::Text);
        redacted
    }
}
