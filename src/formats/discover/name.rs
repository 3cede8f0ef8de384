//! Names the columns of a layout, and writes it as a format string.

use std::collections::HashSet;

use super::column::{Kind, LogColumn};
use super::split::LayoutPart;
use crate::log::client::{Client, is_private};
use crate::log::log_entry::RequestLine;
use crate::log::time::{CLF_TIME_LEN, LogTime};

/// The status codes of most responses.
const FREQUENT: [&[u8]; 8] = [
    b"200", b"301", b"302", b"304", b"400", b"403", b"404", b"500",
];

/// The variables of columns, in their order; those without a meaning have none.
pub(super) struct Names {
    variables: Vec<Option<String>>,
    /// More than one column may be the client.
    pub(super) is_client_unclear: bool,
    /// More than one column may be the request.
    pub(super) is_request_unclear: bool,
}

impl Names {
    /// Names the columns, each known by what all of its values look like. `None` if no column can
    /// be the request.
    pub(super) fn new(columns: &[&LogColumn<'_>]) -> Option<Self> {
        let mut names = Self {
            variables: vec![None; columns.len()],
            is_client_unclear: false,
            is_request_unclear: false,
        };
        let request = names.request(columns)?;
        names.status(columns, request);
        let client = names.client(columns, request);
        names.time(columns);
        names.user(columns, client);
        names.put_first(columns, "host", |_, column| column.kind == Kind::Host);
        names.bytes(columns, request);
        let is_browser =
            |column: &LogColumn<'_>| column.present().any(|value| value.starts_with(b"Mozilla/"));
        names.put_first(columns, "http_user_agent", |at, column| {
            column.kind == Kind::Agent && (at > request || is_browser(column))
        });
        let is_referer = |column: &LogColumn<'_>| matches!(column.kind, Kind::Referer | Kind::Url);
        names
            .put_first(columns, "http_referer", |at, column| {
                at > request && is_referer(column)
            })
            .or_else(|| names.put_first(columns, "http_referer", |_, column| is_referer(column)));
        Some(names)
    }

    fn put(&mut self, at: usize, name: &str) {
        self.variables[at] = Some(name.to_owned());
    }

    /// Names the first column without a name for which `is` holds.
    fn put_first(
        &mut self,
        columns: &[&LogColumn<'_>],
        name: &str,
        is: impl Fn(usize, &LogColumn<'_>) -> bool,
    ) -> Option<usize> {
        let at =
            (0..columns.len()).find(|at| self.variables[*at].is_none() && is(*at, columns[*at]))?;
        self.put(at, name);
        Some(at)
    }

    /// Names the columns of the request; returns the one with the target.
    fn request(&mut self, columns: &[&LogColumn<'_>]) -> Option<usize> {
        let is_line =
            |at: &usize| matches!(columns[*at].kind, Kind::Request | Kind::AbsoluteRequest);
        let mut lines = (0..columns.len()).filter(is_line);
        if let Some(at) = lines.next() {
            // A client can send a request as the value of a header.
            let is_other = |other: usize| differ(columns[other], columns[at], |a, b| a == b);
            self.is_request_unclear = lines.any(is_other)
                || columns.windows(2).any(|pair| {
                    pair[0].kind == Kind::Method
                        && matches!(pair[1].kind, Kind::Path | Kind::Url)
                        && differ(pair[1], columns[at], |target, request| {
                            RequestLine::parse(request).target.starts_with(target)
                        })
                });
            let is_absolute = columns[at].kind == Kind::AbsoluteRequest;
            let name = if is_absolute {
                "absolute_request"
            } else {
                "request"
            };
            self.put(at, name);
            return Some(at);
        }
        // The levels DEBUG and TRACE are methods too.
        let is_usual = |column: &LogColumn<'_>| {
            column
                .present()
                .any(|value| matches!(value, b"GET" | b"POST" | b"HEAD"))
        };
        let is_level = |column: &LogColumn<'_>| {
            column
                .present()
                .all(|value| matches!(value, b"DEBUG" | b"TRACE"))
        };
        let method = self
            .put_first(columns, "request_method", |_, column| {
                column.kind == Kind::Method && is_usual(column)
            })
            .or_else(|| {
                self.put_first(columns, "request_method", |_, column| {
                    column.kind == Kind::Method && !is_level(column)
                })
            });
        let is_target = |at: &usize| {
            matches!(columns[*at].kind, Kind::Path | Kind::Url)
                && (method.is_some() || columns[*at].has_each())
        };
        let varies = |at: &usize| !columns[*at].is_constant();
        let targets: Vec<usize> = (0..columns.len()).filter(is_target).collect();
        let after = || {
            targets
                .iter()
                .copied()
                .filter(|at| method.is_some_and(|method| *at > method))
        };
        let target = after()
            .find(varies)
            .or_else(|| targets.iter().copied().find(varies))
            .or_else(|| after().next())
            .or(targets.first().copied())?;
        let query = columns
            .get(target + 1)
            .filter(|next| next.kind == Kind::Query && columns[target].kind == Kind::Path);
        match query {
            Some(query) => {
                self.put(target, "uri");
                let has_mark = query.present().any(|value| value.starts_with(b"?"));
                self.put(target + 1, if has_mark { "is_args$args" } else { "args" });
            }
            None => self.put(
                target,
                if columns[target].kind == Kind::Url {
                    "url"
                } else {
                    "request_uri"
                },
            ),
        }
        self.put_first(columns, "server_protocol", |_, column| {
            column.kind == Kind::Protocol
        });
        Some(target)
    }

    /// Names the status: the first that varies after the request, else before it.
    fn status(&mut self, columns: &[&LogColumn<'_>], request: usize) {
        let varies = |at: &usize| !columns[*at].is_constant();
        // A number before the request that never changes is a status only if it is a frequent one.
        let is_frequent = |at: usize| columns[at].present().all(|value| FREQUENT.contains(&value));
        let is_status = |at: &usize| {
            columns[*at].kind == Kind::Status && (*at > request || varies(at) || is_frequent(*at))
        };
        let all = || (request..columns.len()).chain(0..request).filter(is_status);
        if let Some(at) = all().find(varies).or_else(|| all().next()) {
            self.put(at, "status");
        }
    }

    /// Names the client. Of several columns of addresses, one is the client only if the others
    /// cannot be.
    fn client(&mut self, columns: &[&LogColumn<'_>], request: usize) -> Option<usize> {
        let mut left: Vec<usize> = (0..columns.len())
            .filter(|at| columns[*at].is_address())
            .collect();
        let addresses = |at: usize| {
            columns[at]
                .values
                .iter()
                .map(|value| Client::parse_address(value))
                .collect::<Vec<_>>()
        };
        // Equal columns are one. A server writes addresses without quotes, and texts of clients in
        // quotes, unless all is in quotes.
        let has_quoted_time = columns.iter().any(|column| {
            column.is_quoted && matches!(column.kind, Kind::Time(_) | Kind::Date | Kind::Status)
        });
        let is_written_by_server = |at: &usize| has_quoted_time || !columns[*at].is_quoted;
        left.sort_by_key(|at| !is_written_by_server(at));
        let mut seen = HashSet::new();
        left.retain(|at| seen.insert(addresses(*at)));
        // The servers that this one passes requests to come after the request, and have few
        // addresses or private ones.
        let is_upstream =
            |at: &usize| *at > request && (columns[*at].is_constant() || !has_public(columns[*at]));
        drop_if_others_remain(&mut left, is_upstream);
        // An address of this server is the same in each line, or private, while another varies that
        // the server wrote.
        let clients: Vec<usize> = left
            .iter()
            .copied()
            .filter(|at| is_written_by_server(at) && !columns[*at].is_constant())
            .collect();
        if !clients.is_empty() {
            left.retain(|at| !is_written_by_server(at) || clients.contains(at));
            if clients.iter().any(|at| has_public(columns[*at])) {
                left.retain(|at| has_public(columns[*at]));
            }
            drop_if_others_remain(&mut left, |at| !is_written_by_server(at));
        }
        drop_if_others_remain(&mut left, |at| *at > request);
        match left[..] {
            [at] if !is_written_by_server(&at) || columns[at].kind == Kind::Addresses => {
                self.put(at, "x_forwarded_for");
            }
            [at] if columns[at].kind == (Kind::Address { ported: true }) => {
                self.put(at, "remote_addr:$remote_port");
            }
            [at] => self.put(at, "remote_addr"),
            [] => return self.host_of_client(columns),
            _ => {
                self.is_client_unclear = true;
                return None;
            }
        }
        left.first().copied()
    }

    /// Names the column of host names that varies most, if another has the host of the request.
    fn host_of_client(&mut self, columns: &[&LogColumn<'_>]) -> Option<usize> {
        let hosts: Vec<usize> = (0..columns.len())
            .filter(|at| columns[*at].kind == Kind::Host && !columns[*at].is_quoted)
            .collect();
        match hosts[..] {
            [first, second] if columns[first].is_constant() && !columns[second].is_constant() => {
                self.put(second, "remote_host");
                Some(second)
            }
            _ => None,
        }
    }

    /// Names the time: one with a zone, else the first.
    fn time(&mut self, columns: &[&LogColumn<'_>]) {
        let all =
            |is: fn(&Kind) -> bool| (0..columns.len()).filter(move |at| is(&columns[*at].kind));
        let times = || all(|kind| matches!(kind, Kind::Time(_)));
        if let Some(at) = times()
            .find(|at| has_zone(columns[*at]))
            .or_else(|| times().next())
        {
            return self.put(at, &time_variable(columns[at]));
        }
        let date = all(|kind| *kind == Kind::Date).next();
        let clock = all(|kind| *kind == Kind::TimeOfDay).next();
        if let (Some(date), Some(clock)) = (date, clock) {
            self.put(date, "date");
            self.put(clock, "time_of_day");
        } else if let Some(at) = all(|kind| *kind == Kind::Epoch).next() {
            self.put(at, "msec");
        }
    }

    /// Names the user: the column before the time, two after the client.
    fn user(&mut self, columns: &[&LogColumn<'_>], client: Option<usize>) {
        let Some(at) = client
            .map(|client| client + 2)
            .filter(|at| at + 1 < columns.len())
        else {
            return;
        };
        let is_free = |at: usize| columns[at].kind == Kind::Other && self.variables[at].is_none();
        if is_free(at - 1) && is_free(at) && matches!(columns[at + 1].kind, Kind::Time(_)) {
            self.put(at, "remote_user");
        }
    }

    /// Names the size: the first number after the status that varies, else one between the request
    /// and the status.
    fn bytes(&mut self, columns: &[&LogColumn<'_>], request: usize) {
        let is_status = |name: &Option<String>| name.as_deref() == Some("status");
        let Some(status) = self.variables.iter().position(is_status) else {
            return;
        };
        let is_size = |column: &LogColumn<'_>| column.kind == Kind::Number && !column.is_constant();
        self.put_first(columns, "body_bytes_sent", |at, column| {
            at > status && is_size(column)
        })
        .or_else(|| {
            self.put_first(columns, "body_bytes_sent", |at, column| {
                (request..status).contains(&at) && is_size(column)
            })
        });
    }

    /// Writes parts as a format string.
    pub(super) fn write(&self, parts: &[LayoutPart<'_>]) -> Option<String> {
        let (mut string, mut names) = (String::new(), self.variables.iter().enumerate());
        for part in parts {
            match part {
                LayoutPart::Text(text) if text.contains(['$', '%']) => return None,
                LayoutPart::Text(text) => string.push_str(&text.replace('\t', "\\t")),
                LayoutPart::Column(_) => push_variable(&mut string, names.next()?),
            }
        }
        Some(string)
    }

    /// Writes all variables, with a separator between.
    pub(super) fn write_columns(&self, separator: char) -> String {
        let mut string = String::new();
        for (number, name) in self.variables.iter().enumerate() {
            if number > 0 {
                string.push_str(&if separator == '\t' {
                    "\\t".to_owned()
                } else {
                    separator.to_string()
                });
            }
            push_variable(&mut string, (number, name));
        }
        string
    }

    /// The variable of a column, if it has a meaning.
    pub(super) fn of(&self, column: usize) -> Option<&str> {
        self.variables[column].as_deref()
    }
}

/// Appends the variable of the column with this number.
fn push_variable(string: &mut String, (number, name): (usize, &Option<String>)) {
    string.push('$');
    if let Some(name) = name {
        string.push_str(name);
    } else {
        string.push_str("field");
        string.push_str(&(number + 1).to_string());
    }
}

/// Whether most values of two columns are not of the same request.
fn differ(
    one: &LogColumn<'_>,
    other: &LogColumn<'_>,
    are_same: impl Fn(&[u8], &[u8]) -> bool,
) -> bool {
    let each = one.values.iter().zip(&other.values);
    2 * each.filter(|(one, other)| !are_same(one, other)).count() > one.values.len()
}

/// Removes columns, unless that removes all.
fn drop_if_others_remain(left: &mut Vec<usize>, is_dropped: impl Fn(&usize) -> bool) {
    if left.iter().any(|at| !is_dropped(at)) {
        left.retain(|at| !is_dropped(at));
    }
}

/// Whether some address is not of a private network.
fn has_public(column: &LogColumn<'_>) -> bool {
    column
        .present()
        .filter_map(Client::parse_address)
        .any(|address| !is_private(address))
}

/// Whether times have a zone.
fn has_zone(column: &LogColumn<'_>) -> bool {
    column.present().all(|value| {
        let is_signed =
            |at: usize| value.len() > at && matches!(value[value.len() - at - 1], b'+' | b'-');
        value.ends_with(b"Z")
            || value.ends_with(b"GMT")
            || value.ends_with(b"UTC")
            || is_signed(4)
            || is_signed(5)
    })
}

/// The variable for times of this form.
fn time_variable(column: &LogColumn<'_>) -> String {
    let is_clf = |value: &[u8]| value.len() == CLF_TIME_LEN && LogTime::parse_clf(value).is_some();
    let is_iso = |value: &[u8]| value.len() == 25 && value[10] == b'T';
    match column.kind {
        _ if column.present().all(is_clf) => "time_local".to_owned(),
        _ if column.present().all(is_iso) => "time_iso8601".to_owned(),
        Kind::Time(words @ 2..) => format!("time{words}"),
        _ => "time".to_owned(),
    }
}
