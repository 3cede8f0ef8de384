//! Anonymizes and redacts a finished report: hides clients and masks secrets, as requested.
//!
//! This is the last step before any output, after all decisions. Tallies and states are no outputs
//! and stay as they are. Addresses inside texts are hidden too, and so are people where clients are
//! hidden. The paths of logs are not changed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use super::model::{BlockDecision, FloodRow, ReportModel, ReportedHit, Row, RowKey, SampleRequest};
use super::novelty::{ItemKind, NewItem, display_key};
use super::withdrawn::WithdrawnAnswer;
use crate::alerting::Alert;
use crate::geoip::{DecodedRecords, GeoDatabases, GeoInfo, GeoIpError};
use crate::log::client::{Anonymizer, Client, ClientKey};
use crate::text::redact::mask::{RedactedKey, mask, mask_decoded, mask_people, unredacted};
use crate::text::redact::{DecodedText, LogString, LogText};

/// What an output hides.
#[derive(Debug, Clone)]
pub(crate) struct Privacy {
    /// How clients are hidden; `None` prints them.
    anonymizer: Option<Anonymizer>,
    /// Whether secrets are masked.
    redact: bool,
}

impl Default for Privacy {
    /// Prints clients and masks secrets.
    fn default() -> Self {
        Self {
            anonymizer: None,
            redact: true,
        }
    }
}

/// The kind of a text: versions in a user agent look like addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum TextKind {
    Text,
    Agent,
    /// A user, who is a person.
    User,
}

/// Stands for a user where clients are hidden.
const HIDDEN_USER: &[u8] = b"***";

impl Privacy {
    /// Hides clients with this anonymizer, if there is one, and masks secrets if `redact` is true.
    #[must_use]
    pub(crate) fn new(anonymizer: Option<Anonymizer>, redact: bool) -> Self {
        Self { anonymizer, redact }
    }

    /// Whether this is the default: clients are printed, secrets masked.
    #[must_use]
    pub(crate) fn is_default(&self) -> bool {
        self.anonymizer.is_none() && self.redact
    }

    /// Whether clients are hidden.
    #[must_use]
    pub(crate) fn hides_clients(&self) -> bool {
        self.anonymizer.is_some()
    }

    /// Reads GeoIP databases. Of hidden clients no city is looked up.
    ///
    /// # Errors
    ///
    /// A file is missing or is no database.
    pub(crate) fn open_geoip(&self, paths: &[PathBuf]) -> Result<GeoDatabases, GeoIpError> {
        GeoDatabases::open(paths, !self.hides_clients())
    }

    /// What GeoIP databases have about a client.
    pub(crate) fn geo(
        &self,
        client: Client<'_>,
        databases: &mut GeoDatabases,
    ) -> Option<Arc<GeoInfo>> {
        if databases.is_empty() {
            None
        } else {
            databases.lookup(self.geo_address(client)?)
        }
    }

    /// [`geo`](Self::geo) with records of the caller, of which each thread has its own.
    pub(crate) fn geo_with(
        &self,
        client: Client<'_>,
        databases: &GeoDatabases,
        decoded: &mut DecodedRecords,
    ) -> Option<Arc<GeoInfo>> {
        if databases.is_empty() {
            None
        } else {
            databases.lookup_with(self.geo_address(client)?, decoded)
        }
    }

    /// The address that is looked up for a client. With truncation it is the first one of its
    /// network, so that nothing depends on what is hidden.
    pub(super) fn geo_address(&self, client: Client<'_>) -> Option<IpAddr> {
        self.anonymizer.as_ref().map_or_else(
            || client.first_address(),
            |anonymizer| anonymizer.geo_address(client),
        )
    }

    /// A note for readers of a report whose clients are hidden.
    #[must_use]
    pub(crate) fn note(&self) -> Option<String> {
        let method = match self.anonymizer.as_ref()? {
            Anonymizer::Truncate => "clients are shown as networks",
            Anonymizer::Key(_) => "clients have pseudonyms",
        };
        Some(format!(
            "With --anonymize, {method}. This report cannot be merged with others, and contains no block candidates."
        ))
    }

    /// Calls `use_it` with the redacted report and its redacted new items.
    pub(crate) fn with_redacted<R>(
        &self,
        report: &ReportModel<'_>,
        new_items: &[NewItem<'_>],
        use_it: impl FnOnce(&ReportModel<'_>, &[NewItem<'_>]) -> R,
    ) -> R {
        if self.is_default() {
            return use_it(report, new_items);
        }
        let map = self.redaction_map(report, new_items);
        use_it(
            &self.report(report, &map),
            &self.new_items(new_items, report, &map),
        )
    }

    /// The redacted report. Rows are sorted again, so that their order reveals no address. A report
    /// with hidden clients has no snapshot and no block candidates.
    fn report<'r>(&self, report: &ReportModel<'r>, map: &'r RedactionMap) -> ReportModel<'r> {
        let mut redacted = report.clone();
        visit(
            &mut redacted,
            &mut |text, kind| *text = map.text(*text, kind),
            &mut |client| *client = map.client(*client),
        );
        if let Some(anonymizer) = &self.anonymizer {
            redacted.hidden = Some(anonymizer.as_str());
            for row in &mut redacted.clients {
                row.block = row.block.take().map(|_| Box::new(BlockDecision::HIDDEN));
            }
            redacted.evidence = None;
            for rows in [
                &mut redacted.answered,
                &mut redacted.uncertain,
                &mut redacted.pairs,
                &mut redacted.clients,
            ] {
                sort_rows(rows);
            }
            let order = |flood: &FloodRow<'r>| {
                (
                    Reverse((flood.severity, flood.requests)),
                    flood.rule,
                    flood.client,
                    flood.path,
                )
            };
            redacted.floods.sort_by(|a, b| order(a).cmp(&order(b)));
        }
        redacted
    }

    /// The replacements for all texts and clients of a report and its new items.
    fn redaction_map(&self, report: &ReportModel<'_>, new_items: &[NewItem<'_>]) -> RedactionMap {
        let mut map = RedactionMap::default();
        if self.is_default() {
            return map;
        }
        let mut report = report.clone();
        // Nothing is changed here: the visitor only collects.
        let (mut texts, mut clients) = (Vec::new(), Vec::new());
        visit(
            &mut report,
            &mut |text, kind| texts.push((*text, kind)),
            &mut |client| clients.push(*client),
        );
        for mut sample in new_items.iter().map(|item| item.sample) {
            visit_sample(&mut sample, &mut |text, kind| texts.push((*text, kind)));
        }
        for (text, kind) in texts {
            map.insert_text(text, kind, || self.text(text.raw(), kind));
        }
        if let Some(anonymizer) = &self.anonymizer {
            for client in clients {
                map.insert_client(client, || anonymizer.anonymize(client));
            }
        }
        map
    }

    /// The redacted new items of a report.
    fn new_items<'r>(
        &self,
        new_items: &[NewItem<'r>],
        report: &ReportModel<'r>,
        map: &'r RedactionMap,
    ) -> Vec<NewItem<'r>> {
        let mut keys: HashMap<(ItemKind, String), String> = HashMap::new();
        for (kind, rows) in [
            (ItemKind::Answer, &report.answered),
            (ItemKind::Path, &report.paths),
            (ItemKind::Client, &report.clients),
        ] {
            for row in rows {
                let key = |key| display_key(report.rule_set, key);
                keys.entry((kind, key(row.key)))
                    .or_insert_with(|| key(map.key(row.key)));
            }
        }
        let redacted = |item: &NewItem<'r>| {
            let mut redacted = item.clone();
            visit_sample(&mut redacted.sample, &mut |text, kind| {
                *text = map.text(*text, kind);
            });
            if let Some(key) = keys.get(&(item.kind, item.key.clone())) {
                redacted.key.clone_from(key);
            }
            redacted
        };
        let mut redacted: Vec<NewItem<'r>> = new_items.iter().map(redacted).collect();
        if self.hides_clients() {
            redacted.sort_by(|a, b| sort_key(a).cmp(&sort_key(b)));
        }
        redacted
    }

    /// The redacted text.
    fn text(&self, text: &[u8], kind: TextKind) -> Vec<u8> {
        // Empty stays empty.
        if text.is_empty() {
            return Vec::new();
        }
        let hidden = match &self.anonymizer {
            Some(_) if kind == TextKind::User => HIDDEN_USER.to_vec(),
            Some(anonymizer) => anonymizer
                .anonymize_text(&mask_people(text), kind == TextKind::Agent)
                .into_owned(),
            None => text.to_vec(),
        };
        if self.redact {
            hidden
        } else {
            unredacted(&hidden)
        }
    }

    /// The redacted target of a hit, with its secrets masked: its decoded form is not masked again.
    fn target(&self, target: &[u8]) -> Vec<u8> {
        let hidden = self.text(target, TextKind::Text);
        if self.redact {
            RedactedKey::new(&hidden).into_bytes().into_owned()
        } else {
            hidden
        }
    }

    /// A text with its secrets masked, and its people where clients are hidden.
    fn masked<'t>(&self, text: &'t [u8]) -> Cow<'t, [u8]> {
        let masked = if self.redact { mask(text) } else { text.into() };
        match masked {
            _ if !self.hides_clients() => masked,
            Cow::Borrowed(text) => mask_people(text),
            Cow::Owned(text) => Cow::Owned(mask_people(&text).into_owned()),
        }
    }

    /// The redacted form of a decoded target. It has no marker, as it may end in what looks like
    /// one.
    fn decoded(&self, target: &[u8], decoded: &[u8]) -> Vec<u8> {
        let decoded = mask_decoded(target, decoded, |text| self.masked(text));
        let hidden = match &self.anonymizer {
            Some(anonymizer) => anonymizer.anonymize_text(&decoded, false),
            None => Cow::Borrowed(&*decoded),
        };
        if self.redact {
            mask(&hidden).into_owned()
        } else {
            hidden.into_owned()
        }
    }
}

/// The order of new items: by kind, then as rows.
fn sort_key<'n>(
    item: &'n NewItem<'_>,
) -> (
    ItemKind,
    Reverse<(crate::log::finding::Severity, u64)>,
    &'n str,
) {
    (item.kind, Reverse((item.severity, item.hits)), &item.key)
}

/// Sorts rows by what is printed: the original order would reveal something about the hidden
/// values.
fn sort_rows(rows: &mut [Row<'_>]) {
    rows.sort_by(|a, b| {
        let order =
            |row: &Row<'_>| Reverse((row.answered > 0, row.severity, row.answered, row.hits));
        order(a).cmp(&order(b)).then_with(|| a.key.cmp(&b.key))
    });
}

impl Privacy {
    /// Calls `use_it` with the redacted hit.
    pub(crate) fn with_hit<R>(
        &self,
        hit: &ReportedHit<'_>,
        use_it: impl FnOnce(&ReportedHit<'_>) -> R,
    ) -> R {
        if self.is_default() {
            return use_it(hit);
        }
        let text = |text: LogText<'_>, kind| LogString::from(self.text(text.raw(), kind));
        let client = self.client(hit.client);
        let target = LogString::from(self.target(hit.target.raw()));
        let decoded = hit
            .decoded
            .map(|decoded| self.decoded(hit.target.raw(), decoded.raw()));
        let [path, method, protocol] =
            [hit.path, hit.method, hit.protocol].map(|part| text(part, TextKind::Text));
        let [host, referer] =
            [hit.host, hit.referer].map(|part| part.map(|part| text(part, TextKind::Text)));
        let user_agent = hit.user_agent.map(|agent| text(agent, TextKind::Agent));
        let user = hit.user.map(|user| text(user, TextKind::User));
        use_it(&ReportedHit {
            client: client.client(),
            target: target.text(),
            path: path.text(),
            decoded: decoded.as_deref().map(DecodedText::new),
            method: method.text(),
            protocol: protocol.text(),
            host: host.as_ref().map(LogString::text),
            referer: referer.as_ref().map(LogString::text),
            user_agent: user_agent.as_ref().map(LogString::text),
            user: user.as_ref().map(LogString::text),
            ..*hit
        })
    }

    /// The redacted answers.
    #[must_use]
    pub(crate) fn withdrawn(&self, answers: Vec<WithdrawnAnswer>) -> Vec<WithdrawnAnswer> {
        answers
            .into_iter()
            .map(|answer| WithdrawnAnswer {
                key: self.answer_key(answer.key),
                ..answer
            })
            .collect()
    }

    /// The host and path of an answer, as outputs and the state of reports name it.
    pub(crate) fn answer_key(&self, shown: String) -> String {
        let Some(anonymizer) = &self.anonymizer else {
            return shown;
        };
        let (host, path) = shown.split_at(shown.find('/').unwrap_or(0));
        let hidden = [host, path]
            .map(|part| mask_people(part.as_bytes()))
            .concat();
        String::from_utf8_lossy(&anonymizer.anonymize_text(&hidden, false)).into_owned()
    }

    /// The client as outputs show it.
    #[must_use]
    pub(crate) fn client(&self, client: Client<'_>) -> ClientKey {
        self.anonymizer.as_ref().map_or_else(
            || ClientKey::from(&client),
            |anonymizer| anonymizer.anonymize(client),
        )
    }

    /// A text of a request as alerts show it, with its secrets masked in any case.
    #[must_use]
    pub(crate) fn alert_text(&self, text: &[u8]) -> String {
        LogText::new(&self.text(text, TextKind::Text)).to_string()
    }

    /// The redacted alert.
    #[must_use]
    pub(crate) fn alert(&self, alert: Alert) -> Alert {
        if self.is_default() {
            return alert;
        }
        let mut redacted = alert;
        if let (Some(anonymizer), Some(client)) = (&self.anonymizer, &mut redacted.client) {
            *client = anonymizer.anonymize(client.client());
        }
        let text = |text: &LogString| LogString::from(self.text(text.text().raw(), TextKind::Text));
        redacted.path = redacted.path.map(|path| text(&path));
        redacted.sample.target = text(&redacted.sample.target);
        redacted.sample.method = text(&redacted.sample.method);
        redacted
    }
}

/// The replacements by original value; values without an entry are printed as they are.
#[derive(Debug, Default)]
struct RedactionMap {
    /// By [`TextKind`].
    texts: [HashMap<Vec<u8>, Vec<u8>>; 3],
    clients: HashMap<ClientKey, ClientKey>,
}

impl RedactionMap {
    fn insert_text(
        &mut self,
        text: LogText<'_>,
        kind: TextKind,
        redacted: impl FnOnce() -> Vec<u8>,
    ) {
        let texts = &mut self.texts[kind as usize];
        if !texts.contains_key(text.raw()) {
            texts.insert(text.raw().to_vec(), redacted());
        }
    }

    fn insert_client(&mut self, client: Client<'_>, redacted: impl FnOnce() -> ClientKey) {
        self.clients
            .entry(ClientKey::from(&client))
            .or_insert_with(redacted);
    }

    fn text<'r>(&'r self, text: LogText<'r>, kind: TextKind) -> LogText<'r> {
        self.texts[kind as usize]
            .get(text.raw())
            .map_or(text, |redacted| LogText::new(redacted))
    }

    fn client<'r>(&'r self, client: Client<'r>) -> Client<'r> {
        self.clients
            .get(&ClientKey::from(&client))
            .map_or(client, ClientKey::client)
    }

    /// The redacted key of a row.
    fn key<'r>(&'r self, mut key: RowKey<'r>) -> RowKey<'r> {
        visit_key(
            &mut key,
            &mut |text, kind| *text = self.text(*text, kind),
            &mut |client| *client = self.client(*client),
        );
        key
    }
}

/// Visits all log texts and all clients of a report.
fn visit<'r>(
    report: &mut ReportModel<'r>,
    text: &mut impl FnMut(&mut LogText<'r>, TextKind),
    client: &mut impl FnMut(&mut Client<'r>),
) {
    let ReportModel {
        answered,
        uncertain,
        pairs,
        clients,
        paths,
        rules,
        campaigns,
        floods,
        soft_404,
        hosts,
        apps,
        ..
    } = report;
    let sites = soft_404
        .iter_mut()
        .map(|site| &mut site.site)
        .chain(hosts.iter_mut().map(|row| &mut row.host));
    sites
        .chain(apps.iter_mut().filter_map(|app| app.site.as_mut()))
        .for_each(|site| text(site, TextKind::Text));
    for row in [answered, uncertain, pairs, clients, paths, rules]
        .into_iter()
        .flatten()
    {
        visit_row(row, text, client);
    }
    for campaign in campaigns {
        campaign
            .sample_paths
            .iter_mut()
            .for_each(|path| text(path, TextKind::Text));
        visit_sample(&mut campaign.sample, text);
    }
    for flood in floods {
        flood.client.iter_mut().for_each(&mut *client);
        text(&mut flood.path, TextKind::Text);
        visit_sample(&mut flood.sample, text);
    }
}

fn visit_row<'r>(
    row: &mut Row<'r>,
    text: &mut impl FnMut(&mut LogText<'r>, TextKind),
    client: &mut impl FnMut(&mut Client<'r>),
) {
    visit_key(&mut row.key, text, client);
    visit_sample(&mut row.sample, text);
    if let Some(answer) = &mut row.answer {
        answer.client.iter_mut().for_each(client);
        answer
            .members
            .iter_mut()
            .for_each(|member| text(&mut member.path, TextKind::Text));
    }
}

fn visit_key<'r>(
    key: &mut RowKey<'r>,
    text: &mut impl FnMut(&mut LogText<'r>, TextKind),
    client: &mut impl FnMut(&mut Client<'r>),
) {
    match key {
        RowKey::Pair(its_client, path, _) => {
            client(its_client);
            text(path, TextKind::Text);
        }
        RowKey::Client(its_client) => client(its_client),
        RowKey::Answer(host, path, site) => host
            .iter_mut()
            .chain([path, site])
            .for_each(|part| text(part, TextKind::Text)),
        RowKey::Path(path) => text(path, TextKind::Text),
        RowKey::Rule(_) => {}
    }
}

fn visit_sample<'r>(
    sample: &mut SampleRequest<'r>,
    text: &mut impl FnMut(&mut LogText<'r>, TextKind),
) {
    text(&mut sample.target, TextKind::Text);
    sample
        .host
        .iter_mut()
        .for_each(|host| text(host, TextKind::Text));
    if let Some(agent) = &mut sample.user_agent {
        text(agent, TextKind::Agent);
    }
    if let Some(user) = &mut sample.user {
        text(user, TextKind::User);
    }
}

#[cfg(test)]
mod tests {
    //! No output contains anything of a client, and nothing else changes.

    use super::*;
    use crate::log::client::Client;
    use crate::render::mail::{RunSummary, summary_text};
    use crate::render::{GroupBy, OutputFormat, RenderOptions, ndjson, render};
    use crate::report::fixture;
    use crate::report::novelty::{SeenHistory, find_new};
    use std::path::Path;

    fn anonymizers() -> [Anonymizer; 2] {
        [
            Anonymizer::Truncate,
            Anonymizer::with_key(&[7; 32]).unwrap(),
        ]
    }

    /// Every output of a report.
    fn redacted(privacy: &Privacy) -> String {
        let report = fixture::report(fixture::rules());
        let found = find_new(&report, &mut SeenHistory::new(1), 1, 0);
        let mut out = Vec::new();
        privacy.with_redacted(&report, &found, |report, found| {
            for format in [OutputFormat::Table, OutputFormat::Csv, OutputFormat::Json] {
                for by in [
                    None,
                    Some(GroupBy::Pair),
                    Some(GroupBy::Client),
                    Some(GroupBy::Path),
                    Some(GroupBy::Rule),
                ] {
                    render(
                        report,
                        &RenderOptions {
                            format,
                            by,
                            ..RenderOptions::default()
                        },
                        &mut out,
                    )
                    .unwrap();
                }
            }
            crate::render::csv::write_novelty(found, &[], &mut out).unwrap();
            let page = RunSummary {
                withdrawn: &[],
                report,
                news: found,
                label: "Run 1",
                host: None,
                is_first: false,
                folder: Path::new("x"),
                notes: &[],
                level: crate::log::finding::Severity::Low,
            };
            out.extend(summary_text(&page).into_bytes());
        });
        privacy.with_hit(&fixture::hit(), |hit| {
            ndjson::write(
                hit,
                fixture::rules(),
                &mut ndjson::HitTexts::default(),
                &mut out,
            );
        });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_output_contains_a_client() {
        let report = fixture::report(fixture::rules());
        let addresses: Vec<String> = report
            .clients
            .iter()
            .filter_map(|row| Some(row.key.client()?.address()?.to_string()))
            .collect();
        assert!(addresses.len() > 2);
        let open = redacted(&Privacy::default());
        assert!(
            addresses
                .iter()
                .all(|address| open.contains(address.as_str()))
        );
        for anonymizer in anonymizers() {
            let hidden = redacted(&Privacy::new(Some(anonymizer), true));
            for address in &addresses {
                assert!(!hidden.contains(address.as_str()), "{address} in {hidden}");
            }
        }
    }

    #[test]
    fn redacted_rows_are_sorted_by_printed_values() {
        let report = fixture::report(fixture::rules());
        for anonymizer in anonymizers() {
            Privacy::new(Some(anonymizer), true).with_redacted(&report, &[], |redacted, _| {
                assert_eq!(redacted.clients.len(), report.clients.len());
                let order = |row: &Row<'_>| Reverse((row.severity, row.answered, row.hits));
                assert!(
                    redacted
                        .clients
                        .is_sorted_by(|a, b| (order(a), a.key) <= (order(b), b.key))
                );
                assert!(redacted.evidence.is_none() && redacted.hidden.is_some());
            });
        }
    }

    #[test]
    fn secrets_are_printed_if_requested() {
        let (masked, open) = (
            redacted(&Privacy::default()),
            redacted(&Privacy::new(None, false)),
        );
        for (hidden, shown) in [("token=***", "token=a%26b"), ("bob:***@", "bob:hunter2@")] {
            assert!(
                masked.contains(hidden) && !masked.contains(shown),
                "{masked}"
            );
            assert!(open.contains(shown) && !open.contains(hidden), "{open}");
        }
        assert!(open.contains(r"&x=\\x1b[2J"), "still escaped: {open}");
    }

    #[test]
    fn an_empty_text_stays_empty() {
        let hit = ReportedHit {
            target: LogText::default(),
            method: LogText::default(),
            path: LogText::default(),
            client: Client::Text(b""),
            ..fixture::hit()
        };
        for privacy in [
            Privacy::new(None, false),
            Privacy::new(Some(Anonymizer::Truncate), false),
        ] {
            privacy.with_hit(&hit, |redacted| {
                assert_eq!(
                    (
                        redacted.target,
                        redacted.method,
                        redacted.path,
                        redacted.client
                    ),
                    (
                        LogText::default(),
                        LogText::default(),
                        LogText::default(),
                        Client::Text(b"")
                    )
                );
            });
        }
    }
}
