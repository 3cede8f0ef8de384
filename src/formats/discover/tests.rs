//! Layouts of lines of our own making, and lines that have none.

use super::*;

/// The format strings of lines.
fn strings(lines: &str) -> Vec<String> {
    let lines: Vec<&[u8]> = lines.lines().map(str::as_bytes).collect();
    Layouts::discover(&lines, None)
        .map(|found| found.all.into_iter().map(|layout| layout.string).collect())
        .unwrap_or_default()
}

/// Requests of several clients: method, target, status, size, client, second.
const REQUESTS: [(&str, &str, u16, u32, &str, u8); 6] = [
    ("GET", "/cart", 200, 3321, "203.0.113.9", 0),
    ("GET", "/.env", 404, 162, "198.51.100.7", 1),
    ("POST", "/login", 302, 5, "2001:db8::1f", 2),
    ("GET", "/news?id=1,2", 200, 9912, "203.0.113.9", 13),
    ("GET", "/a;b", 403, 146, "203.0.113.200", 24),
    ("HEAD", "/", 200, 0, "198.51.100.7", 35),
];

/// A line for each request.
fn log(write: impl Fn(&(&str, &str, u16, u32, &str, u8)) -> String) -> String {
    REQUESTS
        .iter()
        .map(|request| write(request) + "\n")
        .collect()
}

#[test]
fn a_layout_has_at_most_256_columns() {
    let with = |columns: usize| {
        log(|(method, target, status, size, client, _)| {
            let others = "\t-".repeat(columns - 6);
            format!("{client}\t1793606460\t{method}\t{target}\t{status}\t{size}{others}")
        })
    };
    assert_eq!(strings(&with(256)).len(), 1);
    assert_eq!(strings(&with(257)), [""; 0]);
}

#[test]
fn columns_are_known_by_what_all_of_them_look_like() {
    for (log, expected) in [
        (
            log(|(method, target, status, size, client, second)| {
                format!(
                    "2026-11-20 08:01:{second:02} web {client} {method} {target} {status} {size}"
                )
            }),
            "$time2 $field2 $remote_addr $request_method $request_uri $status $body_bytes_sent",
        ),
        (
            log(|(method, target, status, size, client, second)| {
                format!(
                    "[20/Nov/2026:08:01:{second:02} +0000] {status} <{client}:512> \"{method} {target} HTTP/1.1\" ({size} bytes)"
                )
            }),
            "[$time_local] $status <$remote_addr:$remote_port> \"$request\" ($body_bytes_sent $field6)",
        ),
        (
            log(|(method, target, status, size, client, second)| {
                format!(
                    "{client}\t179360646{}\t{method}\thttps://shop.example{target}\t{status}\t{size}",
                    second % 10
                )
            }),
            r"$remote_addr\t$msec\t$request_method\t$url\t$status\t$body_bytes_sent",
        ),
        (
            log(|(method, target, status, _, client, second)| {
                format!("{status:>5} |    1.{second}ms | {client:>15} | {method:<7} \"{target}\"")
            }),
            "$status |  $field2 |  $remote_addr | $request_method  \"$request_uri\"",
        ),
        (
            // A flood with an agent of its own.
            log(|(method, target, status, _, client, second)| {
                let agent = if *method == "POST" {
                    "curl/8"
                } else if *status == 403 {
                    "Mozilla/5.0 (X11)"
                } else {
                    "x"
                };
                format!(
                    "{client},2026-11-20T08:01:{second:02}Z,{method},\"{target}\",{status},{agent}"
                )
            }),
            "escape=csv \"$remote_addr,$time,$request_method,$request_uri,$status,$http_user_agent\"",
        ),
        (
            log(|(method, target, status, size, client, second)| {
                format!(
                    "20/Nov/2026:08:01:{second:02} {client} -> {method} {target} => {status} ({size} bytes)"
                )
            }),
            "$time $remote_addr $field3> $request_method $request_uri $field6 $status ($body_bytes_sent $field9)",
        ),
        (
            log(|(method, target, status, size, client, second)| {
                let agent = if *status == 404 {
                    "\"curl, \"\"x\"\"\""
                } else {
                    "curl/8"
                };
                format!(
                    "{client},2026-11-20T08:01:{second:02}Z,{method},\"{target}\",{agent},{status},{size}"
                )
            }),
            "escape=csv \"$remote_addr,$time,$request_method,$request_uri,$http_user_agent,$status,$body_bytes_sent\"",
        ),
        (
            log(|(method, target, status, size, client, second)| {
                let error = if *status == 403 { "code=H12 " } else { "" };
                format!(
                    "2026-11-20T08:01:{second:02}Z app: {error}method={method} path=\"{target}\" ip={client} status={status} bytes={size}"
                )
            }),
            "escape=logfmt \"$time $field2: method=$request_method path=$request_uri ip=$remote_addr status=$status bytes=$body_bytes_sent\"",
        ),
        (
            log(|(method, target, status, size, client, second)| {
                format!(
                    "'{client}' '2026-11-20 08:01:{second:02}' '{method} {target} HTTP/1.1' '{status}' '{size}'"
                )
            }),
            "escape=default \"'$remote_addr' '$time2' '$request' '$status' '$body_bytes_sent'\"",
        ),
    ] {
        assert_eq!(strings(&log), [expected], "{log}");
    }
}

#[test]
fn the_client_is_a_column_that_no_client_wrote() {
    let with = |before: &str, after: &str| {
        let line =
            |number: usize, (method, target, status, ..): &(&str, &str, u16, u32, &str, u8)| {
                let fill = |text: &str| text.replace('#', &(number + 1).to_string());
                format!(
                    "{}\"{method} {target} HTTP/1.1\" {status} {}\n",
                    fill(before),
                    fill(after)
                )
            };
        let log: String = REQUESTS
            .iter()
            .enumerate()
            .map(|(number, request)| line(number, request))
            .collect();
        let lines: Vec<&[u8]> = log.lines().map(str::as_bytes).collect();
        let layouts = Layouts::discover(&lines, None).unwrap();
        let client = layouts.all[0].parser.split(lines[0]).unwrap().into_iter();
        let client = client
            .filter(|(name, ..)| name.starts_with("$remote_addr") || *name == "$x_forwarded_for")
            .map(|(.., text)| text);
        (
            client
                .map(|text| String::from_utf8(text).unwrap())
                .collect::<Vec<_>>(),
            layouts.is_client_unclear(),
        )
    };
    let is = |client: &str| (vec![client.to_owned()], false);
    // An address of this server, an upstream, and a header.
    assert_eq!(with("203.0.113.# 198.51.100.1 ", "5"), is("203.0.113.1"));
    assert_eq!(with("10.0.0.1 203.0.113.# ", "5"), is("203.0.113.1"));
    assert_eq!(with("203.0.113.# ", "10.0.0.#:80 5"), is("203.0.113.1"));
    assert_eq!(
        with("203.0.113.# ", "\"curl/8\" \"192.0.2.#\""),
        is("203.0.113.1")
    );
    // Only a header, and the same address twice.
    assert_eq!(with("", "\"curl/8\" \"192.0.2.#\""), is("192.0.2.1"));
    assert_eq!(with("203.0.113.# ", "\"203.0.113.#\""), is("203.0.113.1"));
    // The address of a proxy and a header: as in Combined Log Format, the peer is the client,
    // because a client may have sent the header.
    assert_eq!(
        with("10.0.0.1 ", "\"curl/8\" \"192.0.2.#\""),
        is("10.0.0.1")
    );
    assert_eq!(with("203.0.113.# 198.51.100.# ", "5"), (Vec::new(), true));
}

#[test]
fn marks_of_a_writer_are_not_part_of_a_column() {
    for (log, expected) in [
        (
            // A referer and an agent in one column.
            log(|(method, target, status, size, client, second)| {
                let texts = format!(
                    "\"https://shop.example/{second}\" \"Mozilla/5.0 (X11; rv:1.{second}) x\""
                );
                format!("{client} | \"{method} {target} HTTP/1.1\" | {texts} | {status} | {size}")
            }),
            "$remote_addr | \"$request\" | \"$http_referer\" \"$http_user_agent\" | $status | $body_bytes_sent",
        ),
        (
            // A referer before the request.
            log(|(_, target, status, size, client, second)| {
                let referer = if second % 2 == 0 {
                    "-"
                } else {
                    "https://other.example/"
                };
                format!(
                    "{status}|179360646{}|{size}|{client}|{referer}|https://shop.example{target}",
                    second % 10
                )
            }),
            "$status|$msec|$body_bytes_sent|$remote_addr|$http_referer|$url",
        ),
        (
            // A time of twelve hours, with a comma after it.
            log(|(method, target, status, size, client, second)| {
                format!(
                    "11/20/2026 06:01:{second:02} PM, {client}, {method}, {target}, {status}, {size}"
                )
            }),
            "$time3, $remote_addr, $request_method, $request_uri, $status, $body_bytes_sent",
        ),
        (
            // Pairs after a mark.
            log(|(method, target, status, _, client, second)| {
                format!(
                    "CEF:0|Acme|WAF|3|start=17935326{second:02}123 src={client} requestMethod={method} request={target} cn1={status}"
                )
            }),
            "escape=logfmt \"$field1|start=$msec src=$remote_addr requestMethod=$request_method request=$request_uri cn1=$status\"",
        ),
    ] {
        assert_eq!(strings(&log), [expected], "{log}");
    }
}

#[test]
fn lines_between_requests_stay_unparsed() {
    let log = log(|(method, target, status, _, client, second)| {
        let start = format!("I [x1] 2026-11-20 08:01:{second:02}");
        format!(
            "{start} Started {method} \"{target}\" for {client}\n{start}   Rendered a/{second}.erb\n{start} Completed {status} OK in {second}ms"
        )
    });
    let lines: Vec<&[u8]> = log.lines().map(str::as_bytes).collect();
    let layouts = Layouts::discover(&lines, None).unwrap();
    let mut buffers = FieldBuffers::default();
    let read: Vec<bool> = lines
        .iter()
        .map(|line| {
            layouts
                .all
                .iter()
                .any(|layout| layout.read(line, &mut buffers).is_some())
        })
        .collect();
    assert_eq!(read, [true, false, false].repeat(6));
}

#[test]
fn what_is_no_access_log_has_no_layout() {
    for log in [
        "2026-11-02 08:01:00 status installed php-cli:amd64 /usr/lib/php\n2026-11-02 08:01:01 status half-configured man-db:amd64 2.11",
        "Nov  2 08:01:00 web sshd[512]: Failed password for root from 203.0.113.9 port 512 ssh2\nNov  2 08:01:00 web sshd[512]: x from 203.0.113.9",
        "id,link\n7,https://x.example/wp-admin/\n8,https://x.example/",
        "COPY ./a /srv/a\nCOPY ./b /srv/b",
        "router.get(\"/admin\", 404)\nrouter.post(\"/x\", 200)",
        "GET /x\nGET /y",
        "",
    ] {
        assert_eq!(strings(log), [""; 0], "{log}");
    }
}

#[test]
fn a_text_of_a_client_moves_no_column() {
    let log = log(|(method, target, status, size, client, second)| {
        format!("2026-11-20T08:01:{second:02}Z {method} {target} {client} {status} {size}")
    });
    let lines: Vec<&[u8]> = log.lines().map(str::as_bytes).collect();
    let layouts = Layouts::discover(&lines, None).unwrap();
    let mut buffers = FieldBuffers::default();
    let mut client = |line: &str| {
        layouts.all[0]
            .read(line.as_bytes(), &mut buffers)
            .map(|fields| String::from_utf8_lossy(fields.client).into_owned())
    };
    assert_eq!(
        client("2026-11-20T08:01:00Z GET /x 203.0.113.9 200 5").as_deref(),
        Some("203.0.113.9")
    );
    // A target that looks like the rest of a line; a status and a client that are none.
    assert_eq!(
        client("2026-11-20T08:01:00Z GET /x 192.0.2.1 200 5 203.0.113.9 404 7").as_deref(),
        Some("203.0.113.9")
    );
    assert_eq!(client("2026-11-20T08:01:00Z GET /x 203.0.113.9 OK 5"), None);
    assert_eq!(
        client("2026-11-20T08:01:00Z GET /x unknown! 200 5").unwrap_or_default(),
        ""
    );
}
