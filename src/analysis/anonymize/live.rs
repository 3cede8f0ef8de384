//! The same for hits one by one, and for alerts.

use super::{Privacy, TextKind};
use crate::alerting::alert::Alert;
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
    pub fn hit<'r>(&self, hit: &ReportedHit<'r>, room: &'r mut RedactionBuffers) -> ReportedHit<'r> {
        if self.is_default() {
            return *hit;
        }
        room.client = self.veil.as_ref().map(|veil| veil.anonymize(hit.client));
        room.target = self.text(hit.target, TextKind::Text);
        room.path = self.text(hit.path, TextKind::Text);
        room.decoded = hit.decoded.map(|decoded| self.text(decoded, TextKind::Text)).unwrap_or_default();
        room.method = self.text(hit.method, TextKind::Text);
        room.protocol = self.text(hit.protocol, TextKind::Text);
        room.referer = hit.referer.map(|referer| self.text(referer, TextKind::Text)).unwrap_or_default();
        room.agent = hit.user_agent.map(|agent| self.text(agent, TextKind::Agent)).unwrap_or_default();
        let room = &*room;
        ReportedHit {
            client: room.client.as_ref().map_or(hit.client, ClientKey::client),
            target: &room.target,
            path: &room.path,
            decoded: hit.decoded.map(|_| room.decoded.as_slice()),
            method: &room.method,
            protocol: &room.protocol,
            referer: hit.referer.map(|_| room.referer.as_slice()),
            user_agent: hit.user_agent.map(|_| room.agent.as_slice()),
            ..*hit
        }
    }

    /// A live hit as it is told.
    #[must_use]
    pub fn live<'r>(&self, live: &LiveHit<'r>, room: &'r mut RedactionBuffers) -> LiveHit<'r> {
        LiveHit { hit: self.hit(&live.hit, room), ..*live }
    }

    /// The alert as it is told.
    #[must_use]
    pub fn alert(&self, alert: Alert) -> Alert {
        if self.is_default() {
            return alert;
        }
        let mut told = alert;
        if let (Some(veil), Some(client)) = (&self.veil, &mut told.client) {
            *client = veil.anonymize(client.client());
        }
        told.path = told.path.map(|path| self.text(&path, TextKind::Text));
        told.sample.target = self.text(&told.sample.target, TextKind::Text);
        told.sample.method = self.text(&told.sample.method, TextKind::Text);
        told
    }
}
