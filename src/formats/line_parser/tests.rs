//! Formats of products, from their documentation, and round trips through the writers of nginx and
//! Apache.

use crate::formats::entry_buffer::entry_text;
use crate::formats::host::host;
use crate::formats::line_parser::*;
use crate::formats::{Frame, RequestField, TimeField, w3c};
use crate::log::time::LogTime;
use crate::text::normalize::unescape;
use proptest::prelude::*;

const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// The fields that a parser reads in a line.
fn entry_of(parser: &FormatLineParser, line: impl AsRef<[u8]>) -> Option<String> {
    let mut buffers = FieldBuffers::default();
    let text = entry_text(&parser.read(line.as_ref(), &mut buffers)?);
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn written(format: &str) -> FormatLineParser {
    FormatLineParser::parse(format).unwrap_or_else(|e| panic!("{format}: {e}"))
}

/// nginx formats and others in nginx syntax: a line, and its fields.
#[test]
fn nginx_formats() {
    for (format, line, expected) in [
        // nginx, `log_format main` of its packages.
        (
            &*format!("log_format  main  '{COMBINED} '\n  '\"$http_x_forwarded_for\"';"),
            r#"192.0.2.7 - jo [02/Nov/2026:08:01:00 +0000] "GET /a HTTP/1.1" 200 612 "-" "curl/8" "203.0.113.9, 10.0.0.1""#,
            r#"192.0.2.7 - jo [02/Nov/2026:08:01:00 +0000] "GET /a HTTP/1.1" 200 612 "-" "curl/8""#,
        ),
        (
            &format!("{COMBINED} $request_time $upstream_response_time $pipe"),
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /\x22 HTTP/1.1" 200 612 "https://a/" "\x22 200 1 \x22" 0.004 0.001, 0.003 ."#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /\x22 HTTP/1.1" 200 612 "https://a/" "\x22 200 1 \x22""#,
        ),
        // kubernetes/ingress-nginx, user guide, "Log format".
        (
            &format!(
                "{COMBINED} $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr \
                 $upstream_response_length $upstream_response_time $upstream_status $req_id"
            ),
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/2.0" 502 552 "-" "x" 36 0.001 [default-app-80] [] 10.1.0.4:8080, 10.1.0.5:8080 0, 0 0.000, 0.000 502, 502 ab12"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/2.0" 502 552 "-" "x""#,
        ),
        // NginxProxyManager, docker/rootfs/etc/nginx/nginx.conf, `log_format proxy`.
        (
            r#"[$time_local] $upstream_cache_status $upstream_status $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] [Gzip $gzip_ratio] [Sent-to $server] "$http_user_agent" "$http_referer""#,
            r#"[02/Nov/2026:08:01:00 +0000] - 200, 404 404 - GET https example.org "/.env?a=1" [Client 192.0.2.7] [Length 150] [Gzip -] [Sent-to 10.0.0.5] "Mozilla/5.0 (X11)" "-""#,
            r#"example.org:80 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /.env?a=1" 404 150 "-" "Mozilla/5.0 (X11)""#,
        ),
        (
            r#"escape=json '{"t":"$time_iso8601","ip":"$remote_addr","m":"$request_method","u":"$uri",' '"q":"$args","s":$status,"b":"$bytes_sent","r":"$http_referer","a":"$http_user_agent"}'"#,
            r#"{"t":"2026-11-02T09:01:00+01:00","ip":"2001:db8::7","m":"POST","u":"/a\"b","q":"","s":200,"b":"7","r":"","a":"x\\"}"#,
            r#"2001:db8::7 - - [02/Nov/2026:09:01:00 +0100] "POST /a\"b" 200 7 "-" "x\\""#,
        ),
        // Unescaped, without quotes, and all other formats of time and request.
        (
            r"escape=none '$msec|$remote_addr:$remote_port|$request|$status'",
            "1793606460.123|192.0.2.7:4711|GET /\" HTTP/1.1|404",
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /\x22 HTTP/1.1" 404 - "-" "-""#,
        ),
        (
            "$remote_addr $time_local $request $status $scheme://$host:$server_port$request_uri",
            "192.0.2.7 02/Nov/2026:08:01:00 +0000 GET /a b 200 HTTP/1.1 404 https://example.org:443/a b 200",
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a b 200 HTTP/1.1" 404 - "-" "-""#,
        ),
        (
            r#"${remote_addr} [${time_local}] $request_method $host$uri$is_args$args $server_protocol "$http_user_agent" $status"#,
            r#"192.0.2.7 [02/Nov/2026:08:01:00 +0000] GET example.org/a?b HTTP/1.1 "-" 304"#,
            r#"example.org:80 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?b HTTP/1.1" 304 - "-" "-""#,
        ),
        // ingress-nginx as on its page, without quotes.
        (
            "$remote_addr - $remote_user [$time_local] $request $status $body_bytes_sent $http_referer $http_user_agent $request_length $request_time $http_cookie $status",
            r"2001:db8:1234:5678:9abc:def0:1234:5678 - - [02/Nov/2026:08:01:00 +0000] GET / HTTP/1.1 200 5 - Mozilla/5.0 (X11; Linux) 36 0.001 a=1; b=2 200",
            r#"2001:db8:1234:5678:9abc:def0:1234:5678 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 5 "-" "Mozilla/5.0 (X11; Linux)""#,
        ),
        // Traefik, "Access Logs", Common Log Format.
        (
            r#"escape=none '$remote_addr - $user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $requests "$router" "$server" ${duration}ms'"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /"x HTTP/2.0" 200 5 "-" "a\" "b" 17 "web@docker" "http://10.0.0.2:80" 3ms"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /\x22x HTTP/2.0" 200 5 "-" "a\x5C""#,
        ),
        // HAProxy configuration manual, 8.2.3 "HTTP log format", 8.6 "Non-printing characters".
        (
            r#"escape=hash '$remote_addr:$client_port [$time] $frontend $backend/$server $timers $status $body_bytes_sent $request_cookie $response_cookie $termination_state $connections $queues "$request"'"#,
            r#"10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /a#22b HTTP/1.1""#,
            r#"10.0.1.2 - - [06/Feb/2009:12:14:14 +0000] "GET /a\x22b HTTP/1.1" 200 2750 "-" "-""#,
        ),
        // AWS, "Access logs for your Application Load Balancer"; fields are added at the end.
        (
            r#"$type $time $elb $remote_addr:$client_port $target_addr $t1 $t2 $t3 $status $target_status $received_bytes $bytes_sent "$absolute_request" "$http_user_agent" $ssl_cipher $ssl_protocol $target_group_arn "$trace_id" "$host" $rest"#,
            r#"https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/a?b=1 HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_123456"#,
            r#"www.example.com:80 192.168.131.39 - - [02/Jul/2018:22:23:00 +0000] "GET /a?b=1 HTTP/1.1" 200 57 "-" "curl/7.46.0""#,
        ),
    ] {
        let parser = written(format);
        assert_eq!(
            entry_of(&parser, line).as_deref(),
            Some(expected),
            "{format}\n{line}\n{:?}",
            parser.split(line.as_bytes())
        );
        assert_eq!(
            entry_of(&parser, &line[..line.len() / 2]),
            None,
            "half of {line}"
        );
    }
}

#[test]
fn apache_formats() {
    for (format, line, expected) in [
        // Debian, apache2.conf: vhost_combined, combined with %O; Apache's combinedio.
        (
            r#"LogFormat "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\"" vhost_combined"#,
            r#"www.example.org:443 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /\"x\\ HTTP/1.1" 200 612 "-" "a\tb""#,
            r#"www.example.org:80 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /\"x\\ HTTP/1.1" 200 612 "-" "a\tb""#,
        ),
        (
            r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %I %O"#,
            r#"192.0.2.7 - Jo [x] Doe [02/Nov/2026:08:01:00 +0000] "-" 408 - "-" "-" 0 0"#,
            r#"192.0.2.7 - Jo [x] Doe [02/Nov/2026:08:01:00 +0000] "-" 408 - "-" "-""#,
        ),
        (
            r#"%{X-Forwarded-For}i %l %u %{%Y-%m-%d %H:%M:%S}t.%{msec_frac}t %{%z}t "%m %U%q %H" %s %D"#,
            r#"203.0.113.9, 10.0.0.1 - - 2026-11-02 09:01:00.123 +0100 "GET /a?b HTTP/1.1" 200 1234"#,
            r#"- - - [02/Nov/2026:09:01:00 +0100] "GET /a?b HTTP/1.1" 200 - "-" "-""#,
        ),
        (
            r#"{ \"time\":\"%{%A, %d. %B %Y %H:%M}t\", \"ip\":\"%a\", \"host\":\"%V\", \"request\":\"%U\", \"query\":\"%q\", \"method\":\"%m\", \"status\":\"%>s\", \"agent\":\"%{User-agent}i\" }"#,
            r#"{ "time":"Monday, 02. November 2026 08:01", "ip":"192.0.2.7", "host":"example.org", "request":"/a", "query":"?b=1", "method":"GET", "status":"200", "agent":"x\"y" }"#,
            r#"example.org:80 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a?b=1" 200 - "-" "x\"y""#,
        ),
        (
            "%{sec}t.%{usec_frac}t\\t%{c}a\\t%a\\t%!200,304{Referer}i\\t%^FB\\t%%\\t%r\\t%>s",
            "1793606460.123456\t10.0.0.1\t192.0.2.7\t-\t120\t%\tGET /a HTTP/1.1\t200",
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a HTTP/1.1" 200 - "-" "-""#,
        ),
        (
            r#"CustomLog /var/log/a.log "%h %{begin:%d/%b/%Y:%T %z}t \"%r\" %>s""#,
            r#"192.0.2.7 02/Nov/2026:08:01:00 +0000 "GET / HTTP/1.1" 200"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 - "-" "-""#,
        ),
    ] {
        let parser = written(format);
        assert_eq!(
            entry_of(&parser, line).as_deref(),
            Some(expected),
            "{format}\n{line}\n{:?}",
            parser.split(line.as_bytes())
        );
    }
}

#[test]
fn logs_that_declare_their_columns() {
    for (directive, line, expected) in [
        // Microsoft, IIS "W3C logging".
        (
            "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken",
            r"2026-11-02 08:01:00 10.0.0.1 GET /a+b\c x=1+2 443 - 192.0.2.7 Mozilla/5.0+(Windows+NT+10.0) - 404 0 2 15",
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET /a+b\x5Cc?x=1+2" 404 - "-" "Mozilla/5.0 (Windows NT 10.0)""#,
        ),
        (
            "#Fields: date time cs-method cs-uri-stem c-ip cs-version cs-host sc-status sc-bytes",
            "2026-11-02 08:01:00 GET / 192.0.2.7 HTTP/1.1 example.org:8080 200 612",
            r#"example.org:80 192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 612 "-" "-""#,
        ),
        // Microsoft, IIS Advanced Logging: texts with blanks are in quotes.
        (
            "#Fields:  date time cs-uri-stem c-ip cs(User-Agent) sc-status sc-bytes",
            r#"2026-11-02 08:01:00.123 / 192.0.2.7 "Mozilla/5.0 (X11; Linux)" 200 612"#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "/" 200 612 "-" "Mozilla/5.0 (X11; Linux)""#,
        ),
        // Quotes of a client join no columns of a server that writes none.
        (
            "#Fields: date time cs-uri-stem c-ip cs(User-Agent) sc-status sc-bytes cs(Referer)",
            r#"2026-11-02 08:01:00 / 192.0.2.7 "x 404 612 y""#,
            r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "/" 404 612 "y\x22" "\x22x""#,
        ),
        // AWS, "CloudFront standard logging reference".
        (
            "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status",
            "2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index%2522.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0;%20%22x)\t-\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\twww.example.org\thttps\t23\t0.001\t-\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tHit\tHTTP/2.0\t-\tmore\tcolumns",
            r#"www.example.org:80 192.0.2.100 - - [04/Dec/2019:21:02:31 +0000] "GET /index%22.html HTTP/2.0" 200 392 "-" "Mozilla/5.0 (Windows NT 10.0; \x22x)""#,
        ),
    ] {
        let parser = w3c::directive(directive.as_bytes()).unwrap();
        assert_eq!(
            entry_of(&parser, line).as_deref(),
            Some(expected),
            "{line}\n{:?}",
            parser.split(line.as_bytes())
        );
        assert_eq!(entry_of(&parser, directive), None);
        assert!(w3c::is_directive(directive.as_bytes()) && !w3c::is_directive(line.as_bytes()));
    }
    for line in [
        "#Software: Microsoft Internet Information Services 10.0",
        "#Fields: date time",
        "#",
        "date time cs-uri-stem",
        "",
    ] {
        assert!(w3c::directive(line.as_bytes()).is_none(), "{line}");
    }
    let names = [
        ("ip", FieldKind::Client),
        ("what", FieldKind::Request),
        ("agent", FieldKind::UserAgent),
    ];
    let parser = FormatLineParser::columns(&names, b',', Quotes::Doubled);
    assert_eq!(
        entry_of(&parser, r#"192.0.2.7,"GET /,""x HTTP/1.1","a",more"#).as_deref(),
        Some(r#"192.0.2.7 - - [--/---/----:--:--:-- -----] "GET /,\x22x HTTP/1.1" --- - "-" "a""#)
    );
    // A client cannot end its column.
    for line in [
        r#"192.0.2.7,"GET / HTTP/1.1,a"#,
        r#"192.0.2.7,"GET /" HTTP/1.1",a"#,
        "192.0.2.7,x",
    ] {
        assert_eq!(entry_of(&parser, line), None, "{line}");
    }
    let split = parser.split(br#"192.0.2.7,"GET / HTTP/1.1",a"#).unwrap();
    assert_eq!(
        split.iter().map(|(name, ..)| *name).collect::<Vec<_>>(),
        ["ip", "what", "agent"]
    );
}

#[test]
fn a_line_of_another_format_does_not_match() {
    let combined = FormatLineParser::nginx(COMBINED, NginxEscape::Default).unwrap();
    let line = r#"192.0.2.7 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#;
    assert!(entry_of(&combined, line).is_some());
    for other in [
        "",
        "-",
        &format!("{line} \"-\""),
        &format!("{line} 0.004"),
        &line[..line.len() - 1],
        &line.replace(" - -", " -"),
        r#"{"ip":"192.0.2.7"}"#,
    ] {
        assert_eq!(entry_of(&combined, other), None, "{other}");
    }
    let timed = written(&format!("{COMBINED} $request_time"));
    assert!(entry_of(&timed, format!("{line} 0.004")).is_some());
    assert_eq!(entry_of(&timed, format!("{line} \"-\"")), None);
}

#[test]
fn the_field_of_the_forwarded_client() {
    let line = br#"10.0.0.1 - - [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x" "203.0.113.9, 10.0.0.2" 198.51.100.4"#;
    let parser = written(&format!(r#"{COMBINED} "$http_x_forwarded_for" $real_ip"#));
    for (header, expected) in [
        ("x-forwarded-for", "203.0.113.9, 10.0.0.2"),
        ("real-ip", "198.51.100.4"),
        ("x-real-ip", ""),
    ] {
        let parser = parser
            .clone()
            .with_forwarded(&FieldKind::Header(header.into()));
        let mut buffers = FieldBuffers::default();
        let fields = parser.read(line, &mut buffers).unwrap();
        assert_eq!(
            (fields.client, fields.forwarded),
            (b"10.0.0.1".as_slice(), expected.as_bytes()),
            "{header}"
        );
    }
}

/// The client of a line, and whether a client may have sent what stands in its place.
fn client_of(format: &str, line: &str) -> (String, bool) {
    let mut buffers = FieldBuffers::default();
    let fields = written(format)
        .read(line.as_bytes(), &mut buffers)
        .unwrap_or_else(|| panic!("{format}: {line}"));
    (
        String::from_utf8_lossy(fields.client).into_owned(),
        fields.is_client_doubtful,
    )
}

#[test]
fn a_client_after_a_chosen_text_is_known_only_if_no_other_reading_has_another() {
    const REST: &str = r#" [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1"#;
    const HOST_FIRST: &str = r#"$http_host $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;
    const HOST_ALONE: &str =
        r#"$http_host $remote_addr [$time_local] "$request" $status $body_bytes_sent"#;
    const APACHE: &str = r#"%{Host}i %h %l %u %t "%r" %>s %b"#;
    const PORT: &str = r#"$host:$server_port $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent"#;
    const CONFIGURED: &str = r#"%v:%p %h %l %u %t "%r" %>s %b"#;
    for (format, before_time, client) in [
        (HOST_FIRST, "www.example.org 203.0.113.9 - -", "203.0.113.9"),
        (
            HOST_FIRST,
            "www.example.org 203.0.113.9 - a b",
            "203.0.113.9",
        ),
        (
            HOST_FIRST,
            "www.example.org 203.0.113.9 - a 1.2.3.4",
            "203.0.113.9",
        ),
        (HOST_FIRST, "a\\x22b[c] 203.0.113.9 - -", "203.0.113.9"),
        (
            HOST_FIRST,
            "1.2.3.4 66.249.66.1 203.0.113.9 - -",
            "203.0.113.9",
        ),
        (HOST_FIRST, "1.2.3.4 66.249.66.1 - 203.0.113.9 - -", ""),
        (
            HOST_FIRST,
            "www.example.org 203.0.113.9 - a 66.249.66.1 - b",
            "",
        ),
        (
            HOST_ALONE,
            "1.2.3.4 66.249.66.1 - 203.0.113.9",
            "203.0.113.9",
        ),
        (
            HOST_ALONE,
            "x 66.249.66.1 [01/Jan/2020:00:00:00 +0000] y 2001:db8::7",
            "2001:db8::7",
        ),
        (APACHE, "1.2.3.4 66.249.66.1 - 203.0.113.9 - -", ""),
        (APACHE, "x 203.0.113.9 - Jo Doe", "203.0.113.9"),
        // A host name is not listed, but the address that is to be listed may be forged.
        (APACHE, "1.2.3.4 66.249.66.1 - client.example.net - -", ""),
        (
            PORT,
            "www.example.org:80 203.0.113.9 - a 66.249.66.1 - b",
            "203.0.113.9",
        ),
        (PORT, "x:80 66.249.66.1 - y:80 203.0.113.9 - -", ""),
        (
            CONFIGURED,
            "www.example.org:80 203.0.113.9 - x:80 66.249.66.1 - b",
            "203.0.113.9",
        ),
        (
            "$http_x_forwarded_for - $remote_user [$time_local] \"$request\" $status $body_bytes_sent",
            "66.249.66.1 - -",
            "",
        ),
        (
            "$http_x_forwarded_for - $remote_user [$time_local] \"$request\" $status $body_bytes_sent",
            "66.249.66.1, 203.0.113.9 - -",
            "",
        ),
    ] {
        assert_eq!(
            client_of(format, &format!("{before_time}{REST}")),
            (client.to_owned(), client.is_empty()),
            "{format}\n{before_time}"
        );
    }
    // Quotes and tabs are escaped, so a quoted text is no other field.
    let quoted = r#""$http_host" $remote_addr [$time_local] "$request" $status $body_bytes_sent"#;
    assert_eq!(
        client_of(quoted, &format!("\"x 66.249.66.1 [\" 203.0.113.9{REST}")).0,
        "203.0.113.9"
    );
    assert_eq!(
        client_of(
            "$http_host\t$remote_addr\t$request\t$status",
            "x 66.249.66.1\t203.0.113.9\tGET / HTTP/1.1\t200"
        )
        .0,
        "203.0.113.9"
    );
    // The certificate of a client is not escaped.
    let certificate = r#""%{SSL_CLIENT_S_DN}x" %h "%r" %>s"#;
    assert_eq!(
        client_of(
            certificate,
            r#""CN=x" 66.249.66.1 "y" 203.0.113.9 "GET / HTTP/1.1" 200"#
        )
        .0,
        ""
    );
    assert_eq!(
        client_of(
            r#"%t %{SSL_PROTOCOL}x %h "%r" %>s"#,
            r#"[02/Nov/2026:08:01:00 +0000] TLSv1.3 203.0.113.9 "GET / HTTP/1.1" 200"#
        )
        .0,
        "203.0.113.9"
    );
}

#[test]
fn a_user_with_a_time_does_not_hide_the_time() {
    for format in [
        COMBINED,
        r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#,
        &format!("$host {COMBINED}"),
        &format!("escape=none '{COMBINED}'"),
    ] {
        for user in [
            "-",
            "x [01/Jan/2020:00:00:00 +0000] y",
            "x [01/Jan/2020:00:00:00 +0000]",
            "[1 [",
            "x [9 - [-",
        ] {
            let line = format!(
                r#"203.0.113.9 - {user} [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 1 "-" "x""#
            );
            let line = if format.starts_with("$host") {
                format!("example.org {line}")
            } else {
                line
            };
            let mut buffers = FieldBuffers::default();
            let parser = written(format);
            let fields = parser.read(line.as_bytes(), &mut buffers).unwrap();
            assert_eq!(
                (fields.client, fields.time),
                (
                    &b"203.0.113.9"[..],
                    TimeField::Text(b"02/Nov/2026:08:01:00 +0000")
                ),
                "{format}: {line}"
            );
            assert!(read_fast(&parser, line.as_bytes()).is_none_or(
                |written| written == entry_of(&parser, line.as_bytes()).unwrap().into_bytes()
            ));
        }
    }
}

#[test]
fn an_invalid_format_is_an_error() {
    for (format, words) in [
        ("", "has no field"),
        ("hello", "'hello'"),
        ("$remote_addr ${request", "'}' is missing"),
        ("$remote_addr $ $request", "'$ $request'"),
        ("$remote_addr$request", "between $remote_addr and $request"),
        ("$remote_addr $status", "$request_uri"),
        ("%h %>s", "%r or %U"),
        ("%ci:%cp %r", "%c: "),
        ("%h %{Referer", "'}' is missing"),
        ("%h %r %", "%"),
        ("escape=xml '$request'", "escape=xml"),
        ("log_format main '$request", "''' is missing"),
        ("log_format main", "has no field"),
        ("LogFormat", "has no field"),
    ] {
        let error = FormatLineParser::parse(format).unwrap_err().to_string();
        assert!(error.contains(words), "{format}: {error}");
    }
}

/// A request as a client sends it and a server logs it.
#[derive(Debug, Clone)]
struct Sent {
    texts: [Vec<u8>; 3],
    client: String,
    host: String,
    utc: i64,
    status: u16,
    bytes: u64,
}

impl Sent {
    fn value(&self, name: &str) -> Vec<u8> {
        let [target, referer, agent] = &self.texts;
        let time = LogTime {
            utc: self.utc,
            offset: 60,
        };
        match name {
            "remote_addr" => self.client.clone().into(),
            "host" => self.host.clone().into(),
            "time_local" => time.clf().unwrap().into(),
            "time_iso8601" => time.rfc3339().into(),
            "msec" => format!("{}.123", self.utc).into(),
            "request" => [b"GET ", &target[..], b" HTTP/1.1"].concat(),
            "request_method" => b"GET".to_vec(),
            "request_uri" => target.clone(),
            "server_protocol" => b"HTTP/1.1".to_vec(),
            "status" => self.status.to_string().into(),
            "body_bytes_sent" => self.bytes.to_string().into(),
            "http_referer" => referer.clone(),
            "http_user_agent" => agent.clone(),
            "http_x_forwarded_for" => b"203.0.113.9, 10.0.0.2".to_vec(),
            "server_port" => b"443".to_vec(),
            "request_time" => b"0.004".to_vec(),
            "upstream_addr" => b"10.0.0.1:80, 10.0.0.2:80 : unix:/run/a.sock".to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Writes as nginx does: `ngx_http_log_escape`, `ngx_escape_json`.
fn nginx_line(format: &str, escape: NginxEscape, sent: &Sent) -> Vec<u8> {
    let mut line = Vec::new();
    for part in nginx::items(format).unwrap() {
        match part {
            FormatItem::Text(text) => line.extend(text),
            FormatItem::Field(field) => {
                let value = sent.value(&field.name[1..]);
                if value.is_empty() && escape == NginxEscape::Default {
                    line.push(b'-');
                }
                for byte in value {
                    let written = match (escape, byte) {
                        (NginxEscape::Default, 0..=0x1f | 0x7f.. | b'"' | b'\\') => {
                            format!("\\x{byte:02X}").into()
                        }
                        (NginxEscape::Json, b'"' | b'\\') => vec![b'\\', byte],
                        (NginxEscape::Json, b'\n') => b"\\n".to_vec(),
                        (NginxEscape::Json, b'\t') => b"\\t".to_vec(),
                        (NginxEscape::Json, 0..=0x1f) => format!("\\u{byte:04X}").into(),
                        (NginxEscape::Hash, 0..=0x1f | 0x7f.. | b'"' | b'#') => {
                            format!("#{byte:02X}").into()
                        }
                        _ => vec![byte],
                    };
                    line.extend(written);
                }
            }
        }
    }
    line
}

/// Writes as Apache does: `ap_escape_logitem`.
fn apache_line(format: &str, sent: &Sent) -> Vec<u8> {
    let mut line = Vec::new();
    for part in apache::items(format).unwrap() {
        let field = match part {
            FormatItem::Text(text) => {
                line.extend(text);
                continue;
            }
            FormatItem::Field(field) => field,
        };
        let name = match &*field.name {
            "%h" | "%a" => "remote_addr",
            "%t" => "time_local",
            "%{%Y-%m-%dT%H:%M:%S%z}t" => "time_iso8601",
            "%{msec}t" => "msec",
            "%r" => "request",
            "%m" => "request_method",
            "%U" => "request_uri",
            "%H" => "server_protocol",
            "%>s" => "status",
            "%b" => "body_bytes_sent",
            "%v" => "host",
            "%p" => "server_port",
            "%{Referer}i" => "http_referer",
            "%{User-Agent}i" => "http_user_agent",
            "%D" => "request_time",
            "%q" | "%l" | "%u" => "",
            other => panic!("{other}"),
        };
        let mut value = sent.value(name);
        if name == "msec" {
            value.retain(|b| *b != b'.');
        } else if value.is_empty() && field.name != "%q" {
            value.push(b'-');
        }
        for byte in value {
            let written = match byte {
                b'"' | b'\\' => vec![b'\\', byte],
                b'\n' => b"\\n".to_vec(),
                b'\t' => b"\\t".to_vec(),
                0x08 => b"\\b".to_vec(),
                0x0b => b"\\v".to_vec(),
                b'\r' => b"\\r".to_vec(),
                0..=0x1f | 0x7f.. => format!("\\x{byte:02x}").into(),
                _ => vec![byte],
            };
            line.extend(written);
        }
    }
    line
}

/// Fields of random formats; a client chooses the first six.
const ALL_FIELDS: [&str; 11] = [
    "http_host",
    "remote_user",
    "http_x_forwarded_for",
    "http_user_agent",
    "http_referer",
    "host",
    "remote_addr",
    "time_local",
    "request",
    "status",
    "server_port",
];

/// What a client chose.
struct Chosen {
    texts: Vec<Vec<u8>>,
}

impl Chosen {
    fn value(&self, name: &str) -> Vec<u8> {
        match ALL_FIELDS.iter().position(|field| *field == name) {
            Some(at) if at < self.texts.len() => self.texts[at].clone(),
            _ => match name {
                "remote_addr" => b"203.0.113.9".to_vec(),
                "time_local" => b"02/Nov/2026:08:01:00 +0000".to_vec(),
                "request" => b"GET / HTTP/1.1".to_vec(),
                "status" => b"404".to_vec(),
                _ => b"80".to_vec(),
            },
        }
    }
}

/// A text with pieces of log lines.
fn chosen_text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "66.249.66.1",
        "66.249.66.1 ",
        " 66.249.66.1 - ",
        " - ",
        "-",
        " ",
        "[",
        "] ",
        " [",
        "x",
        "www.example.org",
        "|",
        ",",
        "=",
        ":80",
        "02/Nov/2026:08:01:00 +0000",
        "[01/Jan/2020:00:00:00 +0000]",
        "\"",
        "\\",
        "\t",
        "GET / HTTP/1.1",
        "200",
        "\" 200",
        " x=",
        "\u{e9}",
    ]);
    prop::collection::vec(piece, 0..7).prop_map(|pieces| pieces.concat().into_bytes())
}

/// A value as nginx writes it.
fn escaped(escape: NginxEscape, value: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    if value.is_empty() && escape == NginxEscape::Default {
        text.push(b'-');
    }
    for byte in value {
        match (escape, *byte) {
            (NginxEscape::Default, 0..=0x1f | 0x7f.. | b'"' | b'\\') => {
                text.extend(format!("\\x{byte:02X}").bytes());
            }
            (NginxEscape::Json, b'"' | b'\\') => text.extend([b'\\', *byte]),
            (NginxEscape::Json, b'\t') => text.extend(b"\\t"),
            _ => text.push(*byte),
        }
    }
    text
}

/// A line as nginx writes it.
fn chosen_line(format: &str, escape: NginxEscape, sent: &Chosen) -> Vec<u8> {
    let mut rest = format;
    let mut line = Vec::new();
    while let Some((text, after)) = rest.split_once('$') {
        line.extend(text.bytes());
        let length = after
            .bytes()
            .position(|byte| !byte.is_ascii_lowercase() && byte != b'_')
            .unwrap_or(after.len());
        line.extend(escaped(escape, &sent.value(&after[..length])));
        rest = &after[length..];
    }
    line.extend(rest.bytes());
    line
}

/// The fields that the fast path reads.
fn read_fast(parser: &FormatLineParser, line: &[u8]) -> Option<Vec<u8>> {
    let mut read = None;
    let first_quote = |from| Some(from + memchr::memchr(b'"', line.get(from..)?)?);
    parser.read_fast(line, first_quote, &mut FieldBuffers::default(), |fields| {
        read = Some(entry_text(fields));
    });
    read
}

#[test]
fn a_line_without_additional_quotes_takes_the_fast_path() {
    let parser = written(
        r#"[$time_local] $remote_addr $status $body_bytes_sent $request_time "$http_referer" "$http_user_agent" "$request""#,
    );
    let line = |agent: &str, request: &str| {
        format!(
            "[02/Nov/2026:08:01:00 +0000] 192.0.2.7 404 9 0.004 \"-\" \"{agent}\" \"{request}\""
        )
    };
    for (agent, request, is_short) in [
        ("curl/8", "GET /.env HTTP/1.1", true),
        (r"\x22", "GET / HTTP/1.1", true),
        ("-", r"\x16\x03", true),
        (r#"a\"b"#, "GET / HTTP/1.1", false),
        ("a", r"GET /\", false),
        (r"a\", "GET /", false),
        ("a", r#"GET /"" HTTP/1.1"#, false),
    ] {
        let line = line(agent, request);
        let fast_path =
            read_fast(&parser, line.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(fast_path.is_some(), is_short, "{line}");
        assert!(
            fast_path.is_none() || fast_path == entry_of(&parser, &line),
            "{line}"
        );
    }
}

/// Found by a fuzzer: the literal after the time is in the time too.
#[test]
fn a_time_has_its_words_on_both_paths() {
    let parser = written(r#"$field1 [$time2 +$field3] "$request" $status"#);
    let line = br#"a [02/Nov/2026:08:01:00 +01:00 +0000] "GET / HTTP/1.1" 404"#;
    let expected = r#"- - - [02/Nov/2026:08:01:00 +0100] "GET / HTTP/1.1" 404 - "-" "-""#;
    assert_eq!(entry_of(&parser, line).as_deref(), Some(expected));
    let fast = read_fast(&parser, line).map(|text| String::from_utf8(text).unwrap());
    assert_eq!(fast.as_deref().unwrap_or(expected), expected);
    // The server of PHP writes a day of one digit with two blanks before it.
    let parser =
        written(r"[$time6] $remote_addr:$remote_port [$status]: $request_method $request_uri");
    for day in ["Thu Dec 31", "Fri Jan  1"] {
        let line = format!("[{day} 23:57:40 2025] 192.0.2.7:25336 [404]: GET /.env");
        let read = entry_of(&parser, line).unwrap();
        assert!(read.starts_with("192.0.2.7 - - ["), "{read}");
    }
}

#[test]
fn a_quote_before_the_time_leaves_the_fast_path() {
    let parser = written(r#"$field1 $field2 $field3 [$time_local] "$request" $status $bytes_sent"#);
    for (before, is_fast) in [
        ("a b c", true),
        ("a b c d", true),
        (r#"a "b c"#, false),
        (r#""a b c"#, false),
        (r#"a b c" "#, false),
    ] {
        let line = format!(r#"{before} [02/Nov/2026:08:01:00 +0000] "GET / HTTP/1.1" 200 9"#);
        let fast_path =
            read_fast(&parser, line.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(fast_path.is_some(), is_fast, "{line}");
        assert!(
            fast_path.is_none() || fast_path == entry_of(&parser, &line),
            "{line}"
        );
    }
}

fn assert_same(
    parser: &FormatLineParser,
    line: &[u8],
    sent: &Sent,
    has: impl Fn(&str) -> bool,
) -> Result<(), TestCaseError> {
    let shown = String::from_utf8_lossy(line);
    let mut buffers = FieldBuffers::default();
    let fast_path = read_fast(parser, line);
    prop_assert!(
        fast_path.is_none()
            || fast_path.map(|text| String::from_utf8_lossy(&text).into_owned())
                == entry_of(parser, line),
        "{}",
        shown
    );
    let fields = parser.read(line, &mut buffers);
    let Some(fields) = fields else {
        return Err(TestCaseError::fail(format!("not read: {shown}")));
    };
    let undone = |text: &[u8]| {
        let mut out = text.to_vec();
        if fields.escapes == Escapes::Written {
            unescape(text, &mut out);
        }
        out
    };
    prop_assert_eq!(fields.client, sent.client.as_bytes(), "{}", shown);
    prop_assert_eq!(
        fields.status.to_vec(),
        sent.status.to_string().into_bytes(),
        "{}",
        shown
    );
    let time = match fields.time {
        TimeField::Text(text) => LogTime::parse_clf(text),
        TimeField::Parsed(time) => time,
    };
    prop_assert_eq!(time.map(|t| t.utc), Some(sent.utc), "{}", shown);
    let expected = sent.value("request");
    let (whole, expected) = match fields.request {
        RequestField::Line(request) => (undone(request), &expected[..]),
        RequestField::Parts {
            method,
            target,
            query,
            protocol,
        } => {
            prop_assert!(query.is_empty());
            let parts = [method, target, protocol].map(undone);
            // The end of a target with spaces is ambiguous, but the request is the same.
            let whole = parts
                .iter()
                .filter(|p| !p.is_empty())
                .map(|p| &p[..])
                .collect::<Vec<_>>()
                .join(&b' ');
            let from = if method.is_empty() { 4 } else { 0 };
            let to = if protocol.is_empty() {
                expected.len() - 9
            } else {
                expected.len()
            };
            (whole, &expected[from..to])
        }
    };
    prop_assert_eq!(&whole[..], expected, "{}", shown);
    // A dash means an empty value.
    let header = |text: &[u8]| {
        if text == b"-" {
            Vec::new()
        } else {
            text.to_vec()
        }
    };
    if has("http_referer") {
        prop_assert_eq!(undone(fields.referer), header(&sent.texts[1]), "{}", shown);
    }
    if has("http_user_agent") {
        prop_assert_eq!(
            undone(fields.user_agent),
            header(&sent.texts[2]),
            "{}",
            shown
        );
    }
    if has("$host") {
        prop_assert_eq!(host(fields.host), Some(sent.host.as_bytes()), "{}", shown);
    }
    if has("body_bytes_sent") {
        prop_assert_eq!(
            fields.bytes.to_vec(),
            sent.bytes.to_string().into_bytes(),
            "{}",
            shown
        );
    }
    Ok(())
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => "[a-zA-Z0-9/.?&=%]{1,8}".prop_map(String::into_bytes),
        1 => prop::sample::select(vec![" ", "\"", "\\", "\n", "\t", "\0", "\" 200 1 \"", "\" \"", "] [", "|", ",", ": ", "#22", "\x1b", "\\x22", "\\u0041", "{", "}", "\",\"s\":200"])
            .prop_map(|s| s.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn any_sent() -> impl Strategy<Value = Sent> {
    let client = prop::sample::select(vec!["192.0.2.7", "2001:db8::7", "::1", "198.51.100.255"]);
    let host = prop::sample::select(vec![
        "example.org",
        "[2001:db8::1]",
        "a-b.example",
        "localhost",
    ]);
    (
        text(),
        text(),
        text(),
        client,
        host,
        1_000_000_000_i64..2_000_000_000,
        100_u16..600,
        any::<u64>(),
    )
        .prop_map(
            |(target, referer, agent, client, host, utc, status, bytes)| Sent {
                texts: [[b"/", &target[..]].concat(), referer, agent],
                client: client.into(),
                host: host.into(),
                utc,
                status,
                bytes,
            },
        )
}

const NGINX: [&str; 8] = [
    COMBINED,
    r#"$host:$server_port $remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" "$http_x_forwarded_for" $request_time"#,
    r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $upstream_addr [$host] $request_time"#,
    r#"[$time_local] - $status - $request_method $scheme $host "$request_uri" [Client $remote_addr] [Length $body_bytes_sent] "$http_user_agent" "$http_referer""#,
    r#"{"time":"$time_iso8601","ip":"$remote_addr","request":"$request","status":$status,"bytes":"$body_bytes_sent","agent":"$http_user_agent","referer":"$http_referer","host":"$host"}"#,
    r#"{"s":"$status","m":"$request_method","u":"$request_uri","ref":"$http_referer","ip":"$remote_addr","t":$msec}"#,
    r#"$http_x_forwarded_for $remote_addr:$server_port $msec "$request" "$http_user_agent" $status"#,
    r#"$time_iso8601 $remote_addr $upstream_addr $status "$scheme://$host$request_uri""#,
];

const APACHE: [&str; 5] = [
    r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i""#,
    r#"%v:%p %h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %D"#,
    r#"%a %{%Y-%m-%dT%H:%M:%S%z}t %>s "%m %U%q %H" "%{User-Agent}i""#,
    r#"{"ip":"%a","t":%{msec}t,"m":"%m","u":"%U%q","s":%>s,"a":"%{User-Agent}i","r":"%{Referer}i"}"#,
    r#"%>s\t%t\t%a\t"%{Referer}i"\t"%r""#,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn nginx_lines_are_parsed_back(sent in any_sent()) {
        for format in NGINX {
            for escape in [NginxEscape::Default, NginxEscape::Json, NginxEscape::None, NginxEscape::Hash] {
                let mut sent = sent.clone();
                if matches!(escape, NginxEscape::None | NginxEscape::Hash) {
                    // Unescaped text is indistinguishable from literal text of the format.
                    sent.texts.iter_mut().for_each(|text| text.retain(|b| !matches!(b, b'"' | b'\n')));
                }
                let parser = FormatLineParser::nginx(format, escape).unwrap();
                assert_same(&parser, &nginx_line(format, escape, &sent), &sent, |name| format.contains(name))?;
            }
        }
    }

    #[test]
    fn apache_lines_are_parsed_back(sent in any_sent()) {
        for format in APACHE {
            let parser = FormatLineParser::apache(format).unwrap();
            let has = |name: &str| match name {
                "http_referer" => format.contains("Referer"),
                "http_user_agent" => format.contains("User-Agent"),
                "$host" => format.contains("%v"),
                "body_bytes_sent" => format.contains("%b"),
                _ => format.contains("%m"),
            };
            assert_same(&parser, &apache_line(format, &sent), &sent, has)?;
        }
    }

    #[test]
    fn no_text_of_a_client_is_another_client(
        escape in prop::sample::select(vec![NginxEscape::Default, NginxEscape::Json, NginxEscape::None]),
        order in Just((0..ALL_FIELDS.len()).collect::<Vec<_>>()).prop_shuffle(),
        count in 2..8_usize,
        between in prop::collection::vec(prop::sample::select(vec![" ", " - ", " [", "] ", "|", " \"", "\" ", ",", "\t", " x="]), ALL_FIELDS.len() + 1),
        texts in prop::collection::vec(chosen_text(), 6),
        is_named: bool,
    ) {
        let mut names: Vec<&str> = order.iter().map(|at| ALL_FIELDS[*at]).take(count).collect();
        names.extend(["remote_addr", "request"].iter().filter(|name| !names.contains(name)).copied().collect::<Vec<_>>());
        let mut format = String::new();
        for (name, after) in names.iter().zip(&between) {
            format.extend(["$", name, after]);
        }
        let sent = Chosen { texts };
        let line = chosen_line(&format, escape, &sent);
        let mut parser = FormatLineParser::nginx(&format, escape).unwrap();
        if is_named {
            parser = parser.with_forwarded(&FieldKind::Header("x-forwarded-for".into()));
        }
        let mut buffers = FieldBuffers::default();
        let shown = String::from_utf8_lossy(&line).into_owned();
        // A client may be unknown, also because a text has another form than its field.
        if let Some(fields) = parser.read(&line, &mut buffers) {
            prop_assert!(fields.client == b"203.0.113.9" || fields.client.is_empty(), "{}: {}\n{}", String::from_utf8_lossy(fields.client), format, shown);
            let forwarded = sent.value("http_x_forwarded_for");
            prop_assert!(fields.forwarded.is_empty() || fields.forwarded == escaped(escape, &forwarded), "{:?}: {}\n{}", String::from_utf8_lossy(fields.forwarded), format, shown);
        }
        let fast = read_fast(&parser, &line).map(|text| String::from_utf8_lossy(&text).into_owned());
        prop_assert!(fast.is_none() || fast == entry_of(&parser, &line), "{}\n{}", format, shown);
    }

    #[test]
    fn format_strings_of_the_common_log_format_yield_the_fields_of_the_line_loop(sent in any_sent()) {
        const COMMON: &str = r#"%h %l %u %t "%r" %>s %b"#;
        const HEADERS: &str = r#" "%{Referer}i" "%{User-Agent}i""#;
        let nginx = [(FormatLineParser::nginx(COMBINED, NginxEscape::Default).unwrap(), nginx_line(COMBINED, NginxEscape::Default, &sent))];
        let apache = [COMMON.to_owned(), format!("{COMMON}{HEADERS}"), format!("%v:%p {COMMON}{HEADERS}")];
        let apache = apache.map(|format| (FormatLineParser::apache(&format).unwrap(), apache_line(&format, &sent)));
        for (parser, line) in nginx.into_iter().chain(apache) {
            let frame = Frame::locate(&line, None).unwrap();
            let as_it_is = frame.record(LogTime::parse_clf(frame.time));
            let mut buffers = FieldBuffers::default();
            let fields = parser.read(&line, &mut buffers).unwrap();
            let undash = |text: Option<&[u8]>| text.unwrap_or(b"-").to_vec();
            prop_assert_eq!((as_it_is.client, as_it_is.host), (fields.client, host(fields.host)), "{}", String::from_utf8_lossy(&line));
            prop_assert_eq!(fields.request, RequestField::Line(as_it_is.request));
            let number = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| text.parse::<u64>().ok());
            prop_assert_eq!((as_it_is.status.map(u64::from), as_it_is.bytes), (number(fields.status), number(fields.bytes)));
            let headers = [as_it_is.referer, as_it_is.user_agent].map(undash);
            let read = [fields.referer, fields.user_agent].map(|text| undash(Some(text).filter(|text| !text.is_empty())));
            prop_assert_eq!(headers, read);
        }
    }

    #[test]
    fn iis_and_cloudfront_lines_are_parsed_back(sent in any_sent()) {
        let [target, referer, agent] = &sent.texts;
        let (path, query) = target.split_at(target.iter().position(|b| *b == b'?').unwrap_or(target.len()));
        let query = query.get(1..).unwrap_or_default();
        let date_and_time = LogTime { utc: sent.utc, offset: 0 }.rfc3339()[..19].replace('T', "\t").into_bytes();
        // IIS has no spaces in addresses, and a plus is ambiguous.
        let iis = |text: &[u8]| text.iter().map(|b| if b.is_ascii_graphic() || *b >= 0x80 { *b } else { b'+' }).collect::<Vec<u8>>();
        let cloudfront = |text: &[u8]| {
            let encoding = |b: &u8| if b.is_ascii_graphic() && !b"<>\"#%{}|\\^~[]`'".contains(b) { vec![*b] } else { format!("%{b:02X}").into_bytes() };
            text.iter().flat_map(encoding).collect::<Vec<u8>>()
        };
        let nothing = |text: Vec<u8>| if text.is_empty() { b"-".to_vec() } else { text };
        let (status, bytes) = (sent.status.to_string().into_bytes(), sent.bytes.to_string().into_bytes());
        let names = "date time c-ip cs-method cs-uri-stem cs-uri-query sc-status sc-bytes cs-host cs(User-Agent) cs(Referer)";
        for (directive, separator, write) in [
            (format!("#Fields: {names}"), b' ', &iis as &dyn Fn(&[u8]) -> Vec<u8>),
            (format!("#Fields: {names} x-edge-location"), b'\t', &cloudfront),
        ] {
            let columns = [date_and_time.clone(), sent.client.clone().into(), b"GET".to_vec(), write(path), nothing(write(query)), status.clone(),
                bytes.clone(), sent.host.clone().into(), nothing(write(agent)), nothing(write(referer)), b"LAX1".to_vec()];
            let columns = &columns[..if separator == b' ' { 10 } else { 11 }];
            let line: Vec<u8> = columns.join(&b'\t').iter().map(|b| if *b == b'\t' { separator } else { *b }).collect();
            let parser = w3c::directive(directive.as_bytes()).unwrap();
            let mut buffers = FieldBuffers::default();
            let fields = parser.read(&line, &mut buffers).unwrap();
            let same = |text: &[u8]| if separator == b' ' { iis(text) } else { text.to_vec() };
            let spaced = |text: &[u8]| if separator == b' ' { iis(text).iter().map(|b| if *b == b'+' { b' ' } else { *b }).collect() } else { text.to_vec() };
            let dash = |text: Vec<u8>| if text == b"-" { Vec::new() } else { text };
            let (path, query) = (same(path), dash(same(query)));
            prop_assert_eq!(fields.request, RequestField::Parts { method: b"GET", target: &path, query: &query, protocol: b"" });
            prop_assert_eq!((fields.referer.to_vec(), fields.user_agent.to_vec()), (dash(spaced(referer)), dash(spaced(agent))));
            prop_assert_eq!((fields.client, fields.host), (sent.client.as_bytes(), sent.host.as_bytes()));
            prop_assert_eq!((fields.status, fields.bytes), (&status[..], &bytes[..]));
            let TimeField::Text(time) = fields.time else { panic!("{:?}", fields.time) };
            prop_assert_eq!(LogTime::parse_clf(time).map(|t| t.utc), Some(sent.utc));
        }
    }

    #[test]
    fn any_bytes_are_accepted(sent in any_sent(), junk in prop::collection::vec(any::<u8>(), 0..60), cut in 0_usize..300, suffix: bool) {
        let mut buffers = FieldBuffers::default();
        for format in NGINX {
            for escape in [NginxEscape::Default, NginxEscape::None, NginxEscape::Hash] {
                let parser = FormatLineParser::nginx(format, escape).unwrap();
                let mut line = nginx_line(format, NginxEscape::Default, &sent);
                let at = cut.min(line.len());
                if suffix { line.truncate(at) } else { line.drain(..at); }
                line.splice(at.min(line.len())..at.min(line.len()), junk.iter().copied());
                let split = parser.split(&line).is_some();
                let fast_path = read_fast(&parser, &line);
                let read = parser.read(&line, &mut buffers);
                prop_assert_eq!(split, read.is_some());
                let read = read.map(|fields| entry_text(&fields));
                prop_assert!(fast_path.is_none() || fast_path == read, "{}", String::from_utf8_lossy(&line));
            }
        }
        let columns = w3c::directive(b"#Fields: date time c-ip cs-uri-stem cs-uri-query cs(User-Agent) x-edge-location").unwrap();
        let line = [&b"2026-11-02\t08:01:00\t192.0.2.7\t"[..], &junk].concat();
        let _ = columns.read(&line, &mut buffers);
        let _ = FormatLineParser::columns(&[("a", FieldKind::Request)], b'"', Quotes::Doubled).read(&junk, &mut buffers);
    }

    #[test]
    fn any_text_is_a_format_or_none(text in "[$%{}a-z_' \"\\\\;,0-9!<>^A-Z]{0,60}", directive in prop::sample::select(vec!["", "log_format ", "LogFormat ", "escape=json "])) {
        if let Ok(parser) = FormatLineParser::parse(&format!("{directive}{text}")) {
            let _ = parser.read(text.as_bytes(), &mut FieldBuffers::default());
        }
    }
}
