//! Discovers the layout of lines that no known format explains, from the first lines of their log.
//!
//! Lines are split at each separator in turn ([`split`]), each column is known by what all of its
//! values look like ([`column`]), and the result is written as a format string ([`name`]). It
//! counts only if the parser of that string then reads nine of ten lines with a request, and with a
//! status or a client: a wrong guess leaves the log without a layout. The result is a function of
//! the lines alone.
//!
//! Clients choose texts in these lines. So a column in quotes is not the client if another can be,
//! and lines whose columns a text may have moved have no client, as with a format string of the
//! user.

mod column;
mod name;
mod split;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use self::column::is_status;
use self::column::{CERTAIN, LogColumn, is_target};
pub(super) use self::column::{is_missing, is_request, is_status_code};
use self::name::Names;
use self::split::{ColumnSeparator, LayoutPart, SEPARATORS};
use super::line_parser::pairs::{each_pair, is_key};
use super::{FieldBuffers, FieldKind, Fields, FormatLineParser, RequestField};
use crate::log::client::{Client, ClientIpSource};
use crate::log::log_entry::{RequestLine, is_known_method};

/// The most lines that are examined.
pub(super) const SAMPLE: usize = 200;
/// A layout must be that of at least one line in this many: in logs of apps, a request has several
/// lines.
pub(super) const SHARE: usize = 10;
/// The most layouts of one log.
const MAX_LAYOUTS: usize = 3;
/// The most columns of a layout, several times those of any known format: the cost of a guess grows
/// with their square.
const MAX_COLUMNS: usize = 256;
/// The fewest keys of lines that are pairs.
const MIN_KEYS: usize = 3;

/// The layouts of a log.
#[derive(Debug, Clone)]
pub struct Layouts {
    name: Arc<str>,
    all: Vec<Layout>,
    /// The log writer adds scheme and host to each target.
    has_absolute_targets: bool,
}

/// A layout of lines.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    string: String,
    parser: FormatLineParser,
    has_status: bool,
    client: ClientForm,
    /// More than one column may be the client, so none is.
    is_client_unclear: bool,
    /// More than one column may be the request, so the lines have no layout.
    is_request_unclear: bool,
    /// Where the status is, for columns that a client may move.
    status: Option<StatusColumn>,
}

/// The place of the status among columns that a byte separates.
#[derive(Debug, Clone, Copy)]
struct StatusColumn {
    separator: ColumnSeparator,
    /// The number of columns.
    count: usize,
    /// The number of those before the status.
    before: usize,
    /// The column after the status is a number.
    is_before_number: bool,
}

/// What stands in the place of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ClientForm {
    /// The layout has no client.
    Nothing,
    Address,
    /// An address or a host name.
    Name,
}

/// A format string of some lines that is not checked yet.
struct LayoutGuess {
    string: String,
    is_client_unclear: bool,
    is_request_unclear: bool,
    /// The separator of columns without quotes, and their number.
    columns: Option<(ColumnSeparator, usize)>,
}

impl LayoutGuess {
    fn new(string: String, names: &Names) -> Self {
        Self {
            string,
            is_client_unclear: names.is_client_unclear,
            is_request_unclear: names.is_request_unclear,
            columns: None,
        }
    }
}

impl Layouts {
    /// The layouts of lines; `None` if none is certain. With `origin`, they have the field of the
    /// forwarded client.
    #[must_use]
    pub(super) fn discover(lines: &[&[u8]], origin: Option<&ClientIpSource>) -> Option<Self> {
        let (mut rest, mut layouts) = (lines.to_vec(), Vec::new());
        while layouts.len() < MAX_LAYOUTS {
            let Some(layout) = Layout::discover(&rest, lines.len().div_ceil(SHARE)) else {
                break;
            };
            let mut buffers = FieldBuffers::default();
            rest.retain(|line| layout.explain(line, &mut buffers).is_none());
            layouts.push(layout);
        }
        let name = layouts.first()?.string.as_str().into();
        if let Some(origin) = origin {
            let header = FieldKind::Header(origin.field().to_owned());
            for layout in &mut layouts {
                layout.parser = layout.parser.clone().with_forwarded(&header);
            }
        }
        Some(Self {
            name,
            all: layouts,
            has_absolute_targets: false,
        })
    }

    /// No layout: the lines are in the Common Log Format, and the log writer adds scheme and host
    /// to each target.
    #[must_use]
    pub(super) fn with_absolute_targets() -> Self {
        Self {
            name: "".into(),
            all: Vec::new(),
            has_absolute_targets: true,
        }
    }

    /// Whether the log writer adds scheme and host to each target.
    #[must_use]
    pub(super) fn has_absolute_targets(&self) -> bool {
        self.has_absolute_targets
    }

    /// The format string of the first layout.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The format strings, as words of a shell.
    pub(crate) fn words(&self) -> impl Iterator<Item = String> {
        self.all.iter().map(Layout::word)
    }

    /// Whether more than one column of a layout may be the client.
    pub(crate) fn is_client_unclear(&self) -> bool {
        self.all.iter().any(|layout| layout.is_client_unclear)
    }

    /// The layouts, those of more lines first.
    pub(super) fn all(&self) -> &[Layout] {
        &self.all
    }
}

impl Layout {
    /// The layout of most lines with a request; `None` if it is not certain, or not that of at
    /// least `least` lines.
    fn discover(lines: &[&[u8]], least: usize) -> Option<Self> {
        let requests = |has: fn(&[u8]) -> bool| {
            Some(
                lines
                    .iter()
                    .copied()
                    .filter(|line| has(line))
                    .collect::<Vec<_>>(),
            )
            .filter(|of| of.len() >= least.max(1))
        };
        let lines = requests(has_method).or_else(|| requests(has_target))?;
        let separated = SEPARATORS
            .into_iter()
            .flat_map(|separator| separated(&lines, separator));
        let layouts = pairs(&lines)
            .into_iter()
            .chain(separated)
            .filter_map(|guess| Self::new(guess, &lines));
        // Of equal scores, the first.
        let best = layouts.fold(None, |best: Option<(usize, Self)>, next| {
            if best.as_ref().is_some_and(|best| best.0 >= next.0) {
                best
            } else {
                Some(next)
            }
        });
        best.map(|(_, layout)| layout)
            .filter(|layout| !layout.is_request_unclear && layout.count(&lines) >= least)
    }

    /// Compiles a format string, and checks it with the lines that it was made of; returns how much
    /// it reads of them.
    fn new(
        LayoutGuess {
            string,
            is_client_unclear,
            is_request_unclear,
            columns,
        }: LayoutGuess,
        lines: &[&[u8]],
    ) -> Option<(usize, Self)> {
        let parser = FormatLineParser::parse(&string).ok()?;
        let has_status = parser.reads(&FieldKind::Status);
        let client = match parser.reads(&FieldKind::Client) {
            _ if string.contains("$remote_host") => ClientForm::Name,
            true => ClientForm::Address,
            false => ClientForm::Nothing,
        };
        let mut layout = Self {
            string,
            parser,
            has_status,
            client,
            is_client_unclear,
            is_request_unclear,
            status: None,
        };
        let mut buffers = FieldBuffers::default();
        let mut counts = [0_usize; 8];
        for line in lines {
            let Some(fields) = layout.explain(line, &mut buffers) else {
                continue;
            };
            let facts = facts(&fields);
            counts
                .iter_mut()
                .zip(facts)
                .for_each(|(count, is_known)| *count += usize::from(is_known));
        }
        let is_certain = |count: usize| count * 10 >= lines.len() * CERTAIN;
        let [requests, statuses, clients, ..] = counts;
        if !is_certain(requests) || !is_certain(statuses) && !is_certain(clients) {
            return None;
        }
        layout.status = columns.and_then(|(separator, count)| {
            lines
                .iter()
                .find_map(|line| StatusColumn::find(line, separator, count, &layout.parser))
        });
        Some((counts.iter().sum(), layout))
    }

    /// How many lines it reads.
    fn count(&self, lines: &[&[u8]]) -> usize {
        let mut buffers = FieldBuffers::default();
        lines
            .iter()
            .filter(|line| self.explain(line, &mut buffers).is_some())
            .count()
    }

    /// Its format string, as a word of a shell.
    pub(super) fn word(&self) -> String {
        format!("'{}'", self.string.replace('\'', r"'\''"))
    }

    /// Its parser, without the checks of [`is_plausible`](Self::is_plausible).
    pub(super) fn parser(&self) -> &FormatLineParser {
        &self.parser
    }

    /// Parses a line; `None` if the layout does not [explain](Self::explain) it, or a client may have
    /// moved its status.
    pub(super) fn read<'a>(
        &self,
        line: &'a [u8],
        buffers: &'a mut FieldBuffers,
    ) -> Option<Fields<'a>> {
        self.explain(line, buffers)
            .filter(|_| !self.has_moved_status(line))
    }

    /// Parses a line; `None` if it does not match, or has something else in the place of the status
    /// or of the client.
    fn explain<'a>(&self, line: &'a [u8], buffers: &'a mut FieldBuffers) -> Option<Fields<'a>> {
        self.parser
            .read(line, buffers)
            .filter(|fields| self.is_plausible(fields))
    }

    /// Whether a client may have moved the status of a line by sending the separator of columns.
    #[inline]
    pub(super) fn has_moved_status(&self, line: &[u8]) -> bool {
        self.status.is_some_and(|status| status.may_be_later(line))
    }

    /// Whether the fields of a line are those of the layout: other lines of the log may have as
    /// many columns.
    #[inline]
    pub(super) fn is_plausible(&self, fields: &Fields<'_>) -> bool {
        let has_request = match fields.request {
            RequestField::Line(line) => !line.is_empty(),
            RequestField::Parts { method, target, .. } => {
                !target.is_empty()
                    && method
                        .iter()
                        .all(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_'))
            }
        };
        let is_client = match self.client {
            ClientForm::Address => {
                is_missing(fields.client) || Client::parse_address(fields.client).is_some()
            }
            ClientForm::Name | ClientForm::Nothing => true,
        };
        let is_known = !self.has_status
            || !fields.status.is_empty()
            || self.client != ClientForm::Nothing && !fields.client.is_empty();
        has_request && is_known && is_client && (!self.has_status || fields.has_plausible_status())
    }
}

impl StatusColumn {
    /// The column of the status in a line; `None` if the line has not as many columns, or its
    /// status is no part of it.
    fn find(
        line: &[u8],
        separator: ColumnSeparator,
        count: usize,
        parser: &FormatLineParser,
    ) -> Option<Self> {
        let columns = split::split(line, separator);
        if columns.len() != count {
            return None;
        }
        let mut buffers = FieldBuffers::default();
        let status = parser.read(line, &mut buffers)?.status.as_ptr();
        let before = columns
            .iter()
            .position(|column| column.as_ptr_range().contains(&status))?;
        Some(Self {
            separator,
            count,
            before,
            is_before_number: columns.get(before + 1).is_some_and(|next| is_number(next)),
        })
    }

    /// Whether a later column of a line with more columns may be the status as well: a client that
    /// sends the separator moves what comes after its text. For example, a referer `x|404|153` in
    /// `192.0.2.7|GET /|x|404|153|200|268`.
    fn may_be_later(self, line: &[u8]) -> bool {
        let ColumnSeparator::Byte(separator) = self.separator else {
            return false;
        };
        if memchr::memchr_iter(separator, line).count() < self.count {
            return false;
        }
        let columns = split::split(line, self.separator);
        let surplus = columns.len().saturating_sub(self.count);
        let is_status_at = |at: usize| {
            columns
                .get(at)
                .is_some_and(|column| is_status(column.trim_ascii()))
                && (!self.is_before_number
                    || columns.get(at + 1).is_some_and(|next| is_number(next)))
        };
        (1..=surplus).any(|moved| is_status_at(self.before + moved))
    }
}

/// Whether a column is a number, or a dash for none.
fn is_number(column: &[u8]) -> bool {
    let text = column.trim_ascii();
    is_missing(text) || text.iter().all(u8::is_ascii_digit)
}

/// What is known of a line: request, status, client, time, method, size, host, agent.
fn facts(fields: &Fields<'_>) -> [bool; 8] {
    let is_usual = |line: RequestLine<'_>| is_known_method(line.method) && is_target(line.target);
    let (is_request, has_method) = match fields.request {
        RequestField::Line(line) => (is_usual(RequestLine::parse(line)), true),
        RequestField::Parts { method, target, .. } => (
            is_target(target) && (method.is_empty() || is_known_method(method)),
            !method.is_empty(),
        ),
    };
    let is_client = !is_missing(fields.client);
    [
        is_request,
        fields.status.len() == 3,
        is_client,
        fields.time.parse().is_some(),
        has_method,
        !fields.bytes.is_empty(),
        !fields.host.is_empty(),
        !fields.user_agent.is_empty(),
    ]
}

/// Whether a line has a method and a target: as words, or at the start of a text in quotes.
fn has_method(line: &[u8]) -> bool {
    let words = || {
        line.split(|byte| {
            !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b'.'))
        })
    };
    words().any(is_known_method) && has_target(line)
}

/// Whether a path or a URL starts after a blank, a quote, or another mark.
pub(super) fn has_target(line: &[u8]) -> bool {
    let starts = |at: usize| {
        at == 0
            || matches!(
                line[at - 1],
                b' ' | b'"'
                    | b'\''
                    | b'='
                    | b':'
                    | b'|'
                    | b';'
                    | b','
                    | b'\t'
                    | b'{'
                    | b'('
                    | b'<'
                    | b'['
            )
    };
    memchr::memchr_iter(b'/', line).any(starts) || memchr::memmem::find(line, b"://").is_some()
}

/// The layouts of lines with as many columns as nine of ten have at least. A client that sends the
/// separator adds columns to its own lines and takes none away, so lines without more columns come
/// first.
fn separated(lines: &[&[u8]], separator: ColumnSeparator) -> Vec<LayoutGuess> {
    let counts: Vec<usize> = lines
        .iter()
        .map(|line| split::split(line, separator).len())
        .collect();
    let mut sorted = counts.clone();
    sorted.sort_unstable();
    let Some(count) = sorted
        .get(lines.len() / 10)
        .copied()
        .filter(|count| (2..=MAX_COLUMNS).contains(count))
    else {
        return Vec::new();
    };
    let with = |has: fn(&usize, &usize) -> bool| {
        let rows = lines
            .iter()
            .zip(&counts)
            .filter(|(_, columns)| has(columns, &count));
        rows.map(|(line, _)| *line).collect::<Vec<_>>()
    };
    let (exact, all) = (with(usize::eq), with(usize::ge));
    let usual = split::usual_lines(&exact, separator);
    let mut guesses = vec![
        quoted_columns(&exact, separator),
        columns(&exact, separator, count),
    ];
    if exact.len() < all.len() {
        guesses.push(columns(&all, separator, count));
    }
    if usual.len() < exact.len() {
        guesses.push(quoted_columns(&usual, separator));
        guesses.push(columns(&usual, separator, count));
    }
    guesses.into_iter().flatten().collect()
}

/// The layout of lines with these columns.
fn columns(lines: &[&[u8]], separator: ColumnSeparator, count: usize) -> Option<LayoutGuess> {
    let parts = split::parts(lines, separator, count);
    let names = Names::new(&columns_of(&parts))?;
    let mut string = names.write(&parts)?.trim().to_owned();
    if string.starts_with('\'') {
        // A string in single quotes is that of a configuration.
        string = format!("escape=default \"{}\"", string.replace('"', "\\\""));
    }
    Some(LayoutGuess {
        columns: Some((separator, count)),
        ..LayoutGuess::new(string, &names)
    })
}

fn columns_of<'p, 'l>(parts: &'p [LayoutPart<'l>]) -> Vec<&'p LogColumn<'l>> {
    let column = |part: &'p LayoutPart<'l>| {
        if let LayoutPart::Column(column) = part {
            Some(column)
        } else {
            None
        }
    };
    parts.iter().filter_map(column).collect()
}

/// The layout of lines with equally many columns, of which some are in quotes.
fn quoted_columns(lines: &[&[u8]], separator: ColumnSeparator) -> Option<LayoutGuess> {
    let ColumnSeparator::Byte(byte) = separator else {
        return None;
    };
    let rows: Vec<Vec<&[u8]>> = lines
        .iter()
        .map(|line| split::split(line, separator))
        .collect();
    if !rows.iter().flatten().any(|value| value.starts_with(b"\"")) {
        return None;
    }
    let columns = (0..rows.first()?.len()).map(|number| {
        let values: Option<Vec<&[u8]>> =
            rows.iter().map(|row| without_quotes(row[number])).collect();
        // Any column may be in quotes, so quotes do not show who wrote it.
        values.map(|values| LogColumn::new(values, false))
    });
    let columns: Vec<LogColumn<'_>> = columns.collect::<Option<_>>()?;
    let names = Names::new(&columns.iter().collect::<Vec<_>>())?;
    let string = format!("escape=csv \"{}\"", names.write_columns(char::from(byte)));
    Some(LayoutGuess::new(string, &names))
}

/// A text without the quotes around it; `None` if only one of the two is there.
fn without_quotes(text: &[u8]) -> Option<&[u8]> {
    match text.strip_prefix(b"\"") {
        Some(inside) => inside.strip_suffix(b"\""),
        None => Some(text),
    }
}

/// What stands between key and value, and between pairs.
const PAIR_MARKS: [(&str, &str); 8] = [
    ("=", "\t"),
    (":", "\t"),
    ("=", ", "),
    (": ", ", "),
    ("=", ";"),
    ("=", "|"),
    ("=", ","),
    ("=", " "),
];

/// The layout of lines of pairs, after other texts.
fn pairs(lines: &[&[u8]]) -> Option<LayoutGuess> {
    PAIR_MARKS
        .into_iter()
        .find_map(|(assign, separator)| pairs_with(lines, assign, separator))
}

fn pairs_with(lines: &[&[u8]], assign: &str, separator: &str) -> Option<LayoutGuess> {
    let mut values: BTreeMap<&[u8], (usize, Vec<&[u8]>)> = BTreeMap::new();
    let mut order = 0;
    for (number, line) in lines.iter().enumerate() {
        let start = pairs_start(line, assign, separator);
        each_pair(
            &line[start..],
            assign.as_bytes(),
            separator.as_bytes(),
            |key, value| {
                let (_, values) = values.entry(key).or_insert_with(|| {
                    order += 1;
                    (order, Vec::new())
                });
                values.resize(number, &[][..]);
                values.push(value);
            },
        );
    }
    let in_most = values
        .values()
        .filter(|(_, values)| values.len() * 10 >= lines.len() * CERTAIN)
        .count();
    if in_most < MIN_KEYS {
        return None;
    }
    let mut keyed: Vec<_> = values
        .into_iter()
        .map(|(key, (order, values))| (key, order, values))
        .collect();
    keyed.sort_by_key(|(_, order, _)| *order);
    let mut parts = Vec::new();
    split::describe_prefix(
        lines
            .iter()
            .map(|line| &line[..pairs_start(line, assign, separator)])
            .collect(),
        &mut parts,
    );
    if lines
        .iter()
        .all(|line| pairs_start(line, assign, separator) == 0)
    {
        parts.clear();
    }
    let keys: Vec<&[u8]> = keyed.iter().map(|(key, ..)| *key).collect();
    let by_key: Vec<LogColumn<'_>> = keyed
        .into_iter()
        .map(|(_, _, mut values)| {
            values.resize(lines.len(), &[][..]);
            LogColumn::new(values, false)
        })
        .collect();
    let before = columns_of(&parts);
    let all: Vec<&LogColumn<'_>> = before.iter().copied().chain(&by_key).collect();
    let names = Names::new(&all)?;
    let mut string = names.write(&parts)?;
    let mut is_first = true;
    for (number, key) in keys.iter().enumerate() {
        let Some(name) = names.of(before.len() + number) else {
            continue;
        };
        if !std::mem::take(&mut is_first) {
            string.push_str(&separator.replace('\t', "\\t"));
        }
        string.extend([std::str::from_utf8(key).ok()?, assign, "$", name]);
    }
    let string = format!("escape=logfmt \"{}\"", string.replace('"', "\\\""));
    Some(LayoutGuess::new(string, &names))
}

/// Where the first pair of a line starts.
fn pairs_start(line: &[u8], assign: &str, separator: &str) -> usize {
    let is_pair = |at: usize| {
        let length = line[at..]
            .iter()
            .position(|byte| !is_key(*byte))
            .unwrap_or(line.len() - at);
        length > 0
            && line[at].is_ascii_alphabetic()
            && line[at + length..].starts_with(assign.as_bytes())
    };
    let is_start = |at: &usize| {
        *at == 0
            || line[..*at].ends_with(separator.as_bytes())
            || matches!(line[*at - 1], b' ' | b'|' | b'{' | b'(' | b'[')
    };
    (0..line.len())
        .filter(is_start)
        .find(|at| is_pair(*at))
        .unwrap_or(line.len())
}

#[cfg(test)]
mod tests;
