//! Lines from the documentation of servers and proxies, and their fields.

use std::fmt::Write;

use proptest::prelude::*;

use crate::formats::entry_buffer::entry_text;
use crate::formats::json::*;
use crate::formats::{RequestField, TimeField};
use crate::log::time::LogTime;
use crate::text::normalize::unescape;

fn text(bytes: &[u8]) -> String {
    let mut sent = Vec::new();
    unescape(bytes, &mut sent);
    String::from_utf8_lossy(&sent).into_owned()
}

fn time(time: TimeField<'_>) -> Option<LogTime> {
    match time {
        TimeField::Text(time) => LogTime::parse_clf(time),
        TimeField::Parsed(time) => time,
    }
}

/// The fields of a line as text, `none` if it has none.
fn read_by(json: &JsonLineParser, line: impl AsRef<[u8]>, buffers: &mut FieldBuffers) -> String {
    let line = line.as_ref();
    let written = |fields: &Fields<'_>| String::from_utf8_lossy(&entry_text(fields)).into_owned();
    let mut short = None;
    json.read_fast(
        line,
        |from| Some(from + memchr(b'"', line.get(from..)?)?),
        buffers,
        |fields| short = Some(written(fields)),
    );
    let Some(fields) = json.read(line, buffers) else {
        assert_eq!(short, None);
        return "none".into();
    };
    assert!(
        short.is_none_or(|short| short == written(&fields)),
        "{}",
        String::from_utf8_lossy(line)
    );
    let time = time(fields.time);
    let request = match fields.request {
        RequestField::Line(line) => text(line),
        RequestField::Parts {
            method,
            target,
            query,
            protocol,
        } => {
            format!(
                "{} {}{}{} {}",
                text(method),
                text(target),
                if query.is_empty() { "" } else { "?" },
                text(query),
                text(protocol)
            )
        }
    };
    let rest = [
        fields.status,
        fields.bytes,
        fields.referer,
        fields.user_agent,
    ]
    .map(text)
    .join(" | ");
    format!(
        "{} | {} | {} | {request} | {rest}",
        text(fields.client),
        text(fields.host),
        time.map_or("-".into(), LogTime::rfc3339)
    )
}

fn read(line: impl AsRef<[u8]>) -> String {
    read_by(&JsonLineParser::new(), line, &mut FieldBuffers::default())
}

#[test]
fn the_user_is_read() {
    let user = |line: &str, buffers: &mut FieldBuffers| {
        let json = JsonLineParser::new();
        let mut short = None;
        json.read_fast(
            line.as_bytes(),
            |from| Some(from + memchr(b'"', line.as_bytes().get(from..)?)?),
            buffers,
            |fields| {
                short = Some(text(fields.user));
            },
        );
        let user = json
            .read(line.as_bytes(), buffers)
            .map(|fields| text(fields.user))
            .unwrap();
        assert!(short.is_none_or(|short| short == user), "{line}");
        user
    };
    let mut buffers = FieldBuffers::default();
    for (member, expected) in [
        (r#""remote_user":"jo""#, "jo"),
        (r#""ClientUsername":"jo""#, "jo"),
        (r#""cs-username":"EX\\jo""#, r"EX\jo"),
        (r#""user":"-","remote_user":"jo""#, "jo"),
        (r#""user":{"name":"jo","ip":"203.0.113.9"}"#, "jo"),
        (r#""user_name":"j\u00f6""#, "jö"),
        (r#""remote_user":"""#, ""),
        (r#""request_user_agent":"x""#, ""),
    ] {
        let line = format!(
            r#"{{"time_local":"02/Nov/2026:08:01:00 +0000","remote_addr":"192.0.2.7",{member},"request":"GET / HTTP/1.1","status":200}}"#
        );
        // The second time on the fast path.
        assert_eq!(
            [(); 2].map(|()| user(&line, &mut buffers)),
            [expected, expected],
            "{line}"
        );
    }
}

#[test]
fn without_a_client_the_only_public_address_of_the_proxies_is_the_client() {
    let client = |members: &str| {
        let line = format!(r#"{{{members},"method":"GET","uri":"/a","status":404}}"#);
        let mut buffers = FieldBuffers::default();
        let fields = JsonLineParser::new()
            .read(line.as_bytes(), &mut buffers)
            .unwrap();
        (text(fields.client), fields.is_client_doubtful)
    };
    for (members, expected, is_doubtful) in [
        (
            r#""remote_addr":"","x_forwarded_for":"203.0.113.9""#,
            "203.0.113.9",
            false,
        ),
        (
            r#""http_x_forwarded_for":"203.0.113.9, 10.0.0.1""#,
            "203.0.113.9",
            false,
        ),
        (
            r#""headers":{"X-Forwarded-For":["203.0.113.9"]}"#,
            "203.0.113.9",
            false,
        ),
        (
            r#""remote_addr":"203.0.113.9, 10.0.0.1""#,
            "203.0.113.9",
            false,
        ),
        (r#""remote_addr":"198.51.100.1, 203.0.113.9""#, "", true),
        (r#""remote_addr":"10.0.0.1, 100.64.0.1""#, "", true),
        (
            r#""remote_addr":"192.0.2.7","x_forwarded_for":"203.0.113.9""#,
            "192.0.2.7",
            false,
        ),
        (
            r#""remote_addr":"[192.0.2.7]","x_forwarded_for":"203.0.113.9""#,
            "192.0.2.7",
            false,
        ),
        (r#""remote_addr":"-","x_forwarded_for":"-""#, "", false),
    ] {
        assert_eq!(
            client(members),
            (expected.to_owned(), is_doubtful),
            "{members}"
        );
    }
}

/// Source, line and expected fields.
const LINES: &[(&str, &str, &str)] = &[
    (
        "nginx, ngx_http_log_module: escape=json with the names of its variables",
        r#"{"time_local":"02/Nov/2026:08:01:00 +0100","remote_addr":"192.0.2.7","remote_user":"","request":"GET /a?b=\"c\" HTTP/1.1","status": "404","body_bytes_sent":"153","request_time":"0.005","http_referrer":"","http_user_agent":"curl\/8 \\x","http_x_forwarded_for":"203.0.113.9"}"#,
        r#"192.0.2.7 |  | 2026-11-02T08:01:00+01:00 | GET /a?b="c" HTTP/1.1 | 404 | 153 |  | curl/8 \x"#,
    ),
    (
        "nginx: names that people give, nested, numbers bare, the request in parts",
        r#"{"@timestamp":"2026-11-02T08:01:00+00:00","@source":"10.0.0.1","@nginx_fields":{"remote_addr":"192.0.2.7","status":404,"host":"example.org","uri":"/index.php","request_uri":"/a?b","request_method":"GET","protocol":"HTTP/2.0","body_bytes_sent":153,"http_referrer":"-","upstream_response_time":0.001, 0.002,"http_user_agent":"x"}}"#,
        "192.0.2.7 | example.org | 2026-11-02T08:01:00+00:00 | GET /a?b HTTP/2.0 | 404 | 153 |  | x",
    ),
    (
        "Caddy, caddyserver.com/docs/logging",
        r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b=c","headers":{"User-Agent":["curl/7.82.0","x"],"Accept":["*/*"],"X-Forwarded-For":["203.0.113.9"],"Remote-Addr":["203.0.113.9"]},"tls":{"resumed":false,"version":772,"cipher_suite":4865,"proto":"h2","server_name":"example.com"}},"bytes_read": 0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"],"Status":["500"]}}"#,
        "192.0.2.7 | localhost | 2022-03-09T21:30:01+00:00 | GET /a?b=c HTTP/2.0 | 200 | 10900 |  | curl/7.82.0",
    ),
    (
        "Traefik, doc.traefik.io/traefik/observability/access-logs",
        r#"{"ClientAddr":"192.0.2.7:63261","ClientHost":"192.0.2.7","ClientPort":"63261","ClientUsername":"-","DownstreamContentSize":287,"DownstreamStatus":207,"Duration":8184335,"OriginContentSize":281,"OriginDuration":7349966,"OriginStatus":200,"Overhead":834369,"RequestAddr":"sub.example.com","RequestContentSize":366,"RequestCount":17348,"RequestHost":"sub.example.com","RequestMethod":"REPORT","RequestPath":"/dav.php/?a=b\u0026c","RequestPort":"-","RequestProtocol":"HTTP/2.0","RequestScheme":"https","RetryAttempts":0,"RouterName":"r@docker","ServiceAddr":"172.29.0.2:8111","ServiceURL":{"Scheme":"http","Host":"localhost:8080","Path":"/p"},"StartLocal":"2024-12-29T12:42:47.503803974+01:00","StartUTC":"2024-12-29T11:42:47.503803974Z","entryPointName":"https","level":"info","msg":"","request_Referer":"https://example.org/","request_User-Agent":"Mozilla/5.0","downstream_Content-Type":"text/html","time":"2024-12-29T12:42:48+01:00"}"#,
        "192.0.2.7 | sub.example.com | 2024-12-29T11:42:47+00:00 | REPORT /dav.php/?a=b&c HTTP/2.0 | 207 | 287 | https://example.org/ | Mozilla/5.0",
    ),
    (
        "Istio, istio.io/latest/docs/tasks/observability/logs/access-log (Envoy)",
        r#"{"start_time":"2026-11-02T08:01:00.123Z","route_name":null,"method":"GET","path":"/status/418?x=1","protocol":"HTTP/1.1","response_code":418,"response_flags":"-","bytes_received":0,"bytes_sent":135,"duration":3,"upstream_service_time":"1","x_forwarded_for":null,"user_agent":"curl/7.60.0","request_id":"84961386","authority":"httpbin:8000","upstream_host":"10.44.1.27:80","upstream_cluster":"outbound|8000","downstream_local_address":"10.44.1.23:37652","downstream_remote_address":"10.44.1.23:46520","requested_server_name":null}"#,
        "10.44.1.23:46520 | httpbin:8000 | 2026-11-02T08:01:00+00:00 | GET /status/418?x=1 HTTP/1.1 | 418 | 135 |  | curl/7.60.0",
    ),
    (
        "Google Cloud, load-balancing/docs/https/https-logging-monitoring and LogEntry.HttpRequest",
        r#"{"httpRequest":{"cacheLookup":true,"latency":"0.003s","protocol":"HTTP/1.1","referer":"https://example.org/","remoteIp":"192.0.2.7","requestMethod":"GET","requestSize":"318","requestUrl":"https://example.org:443/a/../b?c=d","responseSize":"1042","serverIp":"10.0.0.2","status":404,"userAgent":"curl/8"},"insertId":"1abc","jsonPayload":{"@type":"type.googleapis.com/google.cloud.loadbalancing.type.LoadBalancerLogEntry","remoteIp":"192.0.2.7","statusDetails":"response_sent_by_backend"},"logName":"projects/p/logs/requests","receiveTimestamp":"2026-11-02T08:01:02Z","resource":{"labels":{"zone":"global"},"type":"http_load_balancer"},"severity":"WARNING","timestamp":"2026-11-02T08:01:00.123456Z"}"#,
        "192.0.2.7 | example.org:443 | 2026-11-02T08:01:00+00:00 | GET /a/../b?c=d HTTP/1.1 | 404 | 1042 | https://example.org/ | curl/8",
    ),
    (
        "AWS WAF, docs.aws.amazon.com/waf/latest/developerguide/logging-examples.html",
        r#"{"timestamp":1683355579981,"formatVersion":1,"webaclId":"w","terminatingRuleId":"R","action":"BLOCK","terminatingRuleMatchDetails":[],"httpSourceName":"APIGW","rateBasedRuleList":[{"rateBasedRuleId":"r","customValues":[{"key":"HEADER","name":"User-Agent","value":"ella"}]}],"responseCodeSent":null,"httpRequest":{"clientIp":"192.0.2.7","country":"FR","headers":[{"name":"X-Forwarded-For","value":"203.0.113.9"},{"name":"Host","value":"api.example.org"},{"name":"User-Agent","value":"curl/8"}],"uri":"/CanaryTest","args":"a=b","httpVersion":"HTTP/1.1","httpMethod":"GET","requestId":"Ed0="},"labels":[{"name":"host","value":"x"}]}"#,
        "192.0.2.7 | api.example.org | 2023-05-06T06:46:19+00:00 | GET /CanaryTest?a=b HTTP/1.1 |  |  |  | curl/8",
    ),
    (
        "AWS API Gateway, docs.aws.amazon.com/apigateway/latest/developerguide/set-up-logging.html",
        r#"{"requestId":"r","ip":"192.0.2.7","caller":"-","user":"-","requestTime":"02/Nov/2026:08:01:00 +0000","httpMethod":"GET","resourcePath":"/{proxy+}","path":"/prod/.env","status":"403","protocol":"HTTP/1.1","responseLength":"42"}"#,
        "192.0.2.7 |  | 2026-11-02T08:01:00+00:00 | GET /prod/.env HTTP/1.1 | 403 | 42 |  | ",
    ),
    (
        "AWS CloudFront, AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html, JSON output",
        r#"{"date":"2024-11-14","time":"22:34:06","x-edge-location":"SOF50","sc-bytes":"16","c-ip":"192.0.2.7","cs-method":"GET","cs(Host)":"d1.cloudfront.net","cs-uri-stem":"/index.html","sc-status":"200","cs(Referer)":"-","cs(User-Agent)":"Mozilla/5.0%20x","cs-uri-query":"a=b","x-host-header":"example.org","cs-protocol":"https","cs-bytes":"30","time-taken":"0.001","x-forwarded-for":"203.0.113.9","cs-protocol-version":"HTTP/2.0"}"#,
        "192.0.2.7 | example.org | 2024-11-14T22:34:06+00:00 | GET /index.html?a=b HTTP/2.0 | 200 | 16 |  | Mozilla/5.0%20x",
    ),
    (
        "AWS ALB, fields of elasticloadbalancing/latest/application/load-balancer-access-logs.html under the names of its Athena table",
        r#"{"type":"https","time":"2026-11-02T08:01:00.186641Z","elb":"app/e/1","client_ip":"192.0.2.7","client_port":2817,"target_ip":"10.0.0.1","target_port":80,"request_processing_time":0.086,"elb_status_code":404,"target_status_code":"200","received_bytes":0,"sent_bytes":57,"request_verb":"GET","request_url":"https://www.example.com:443/a?b","request_proto":"HTTP/1.1","user_agent":"curl/7.46.0","request_creation_time":"2026-11-02T08:01:00.1Z"}"#,
        "192.0.2.7 | www.example.com:443 | 2026-11-02T08:01:00+00:00 | GET /a?b HTTP/1.1 | 404 | 57 |  | curl/7.46.0",
    ),
    (
        "Azure Application Gateway, learn.microsoft.com/azure/application-gateway/monitor-application-gateway-reference",
        r#"{"timeStamp":"2026-11-02T08:01:00+00:00","resourceId":"/SUBSCRIPTIONS/X","operationName":"ApplicationGatewayAccess","properties":{"instanceId":"i","clientIP":"192.0.2.7","clientPort":45057,"httpMethod":"GET","originalRequestUriWithArgs":"/v?x","requestUri":"/v","requestQuery":"x=1","userAgent":"curl/8","httpStatus":200,"httpVersion":"HTTP/1.1","receivedBytes":184,"sentBytes":466,"clientResponseTime":0,"host":"10.0.0.4","originalHost":"contoso.com"}}"#,
        "192.0.2.7 | contoso.com | 2026-11-02T08:01:00+00:00 | GET /v?x=1 HTTP/1.1 | 200 | 466 |  | curl/8",
    ),
    (
        "Cloudflare Logpush, developers.cloudflare.com/logs/reference/log-fields/zone/http_requests",
        r#"{"ClientIP":"192.0.2.7","ClientRequestHost":"example.org","ClientRequestMethod":"GET","ClientRequestProtocol":"HTTP/3","ClientRequestURI":"/a?b","ClientRequestPath":"/a","ClientRequestReferer":"","ClientRequestUserAgent":"x","EdgeEndTimestamp":1526810290000000000,"EdgeResponseBytes":69045,"EdgeResponseStatus":200,"EdgeStartTimestamp":1526810289280000000,"OriginIP":"10.0.0.1","OriginResponseStatus":500,"RayID":"41dd"}"#,
        "192.0.2.7 | example.org | 2018-05-20T09:58:09+00:00 | GET /a?b HTTP/3.0 | 200 | 69045 |  | x",
    ),
    (
        "Fastly, docs.fastly.com: useful JSON log format",
        r#"{"timestamp":"2026-11-02T08:01:00+0000","client_ip":"192.0.2.7","geo_country":"x","host":"example.org","url":"/a?b","request_method":"GET","request_protocol":"HTTP/1.1","request_referer":"","request_user_agent":"curl","response_state":"HIT","response_status":200,"response_reason":"OK","response_body_size":51}"#,
        "192.0.2.7 | example.org | 2026-11-02T08:01:00+00:00 | GET /a?b HTTP/1.1 | 200 | 51 |  | curl",
    ),
    (
        "Kong, developer.konghq.com/plugins/file-log",
        r#"{"request":{"method":"GET","uri":"/get?a","url":"http://httpbin.org:8000/get?a","size":"75","querystring":{"uri":"/x"},"headers":{"accept":"*/*","host":"httpbin.org","user-agent":"curl/7.37.1"},"tls":{"version":"TLSv1.2"}},"upstream_uri":"/","response":{"status":200,"size":"434","headers":{"Content-Length":"197","via":"kong"}},"tries":[{"state":"next","code":502,"ip":"127.0.0.1","port":8000}],"route":{"paths":["/get"],"hosts":null},"client_ip":"192.0.2.7","started_at":1433209822425}"#,
        "192.0.2.7 | httpbin.org | 2015-06-02T01:50:22+00:00 | GET /get?a  | 200 | 434 |  | curl/7.37.1",
    ),
    (
        "Apache, httpd.apache.org/docs/2.4/mod/mod_log_config.html, a LogFormat that writes JSON, path and query apart",
        r#"{"time":"2026-11-02T08:01:00.123Z","process":"120","filename":"/var/www/html/a","remoteIP":"192.0.2.7","host":"example.org","request":"/a","query":"?b=c","method":"GET","status":"404","userAgent":"a \"b\" \xc3\xa9","referer":"-"}"#,
        "192.0.2.7 | example.org | 2026-11-02T08:01:00+00:00 | GET /a?b=c  | 404 |  |  | a \"b\" \u{e9}",
    ),
    (
        "pino-http, github.com/pinojs/pino-http",
        r#"{"level":30,"time":1683355579981,"pid":4,"hostname":"web-1","req":{"id":1,"method":"GET","url":"http://evil.example/","query":{"ip":"203.0.113.9"},"headers":{"host":"localhost:3000","user-agent":"curl/7.43.0","referer":"https://r/"},"remoteAddress":"::1","remotePort":64386},"res":{"statusCode":200,"headers":{"content-length":"17"}},"responseTime":10,"msg":"request completed"}"#,
        "::1 | localhost:3000 | 2023-05-06T06:46:19+00:00 | GET http://evil.example/  | 200 |  | https://r/ | curl/7.43.0",
    ),
    (
        "morgan, github.com/expressjs/morgan: a JSON format of its tokens",
        r#"{"remote-addr":"::ffff:192.0.2.7","date":"Mon, 02 Nov 2026 08:01:00 GMT","method":"GET","url":"/a?b","http-version":"1.1","status":"404","res[content-length]":"-","referrer":"-","user-agent":"x"}"#,
        "::ffff:192.0.2.7 |  | 2026-11-02T08:01:00+00:00 | GET /a?b HTTP/1.1 | 404 |  |  | x",
    ),
    (
        "Echo, echo.labstack.com/docs/middleware/logger",
        r#"{"time":"2017-01-12T08:58:07.372015644-08:00","id":"","remote_ip":"::1","host":"localhost:1323","method":"GET","uri":"/","user_agent":"curl/7.51.0","status":200,"error":"","latency":14743,"latency_human":"14.743µs","bytes_in":0,"bytes_out":13}"#,
        "::1 | localhost:1323 | 2017-01-12T08:58:07-08:00 | GET /  | 200 | 13 |  | curl/7.51.0",
    ),
    (
        "Tomcat, JsonAccessLogValve: tomcat.apache.org/tomcat-9.0-doc/config/valve.html",
        r#"{"host":"192.0.2.7","logicalUserName":"-","user":"-","time":"[02/Nov/2026:08:01:00 +0000]","request":"GET /a HTTP/1.1","statusCode":"404","size":"682","requestHeaders":{"Referer":"-","User-Agent":"x"}}"#,
        "192.0.2.7 |  | 2026-11-02T08:01:00+00:00 | GET /a HTTP/1.1 | 404 | 682 |  | x",
    ),
    (
        "Elastic Common Schema, elastic.co/guide/en/ecs/current/ecs-http.html, nested",
        r#"{"@timestamp":"2026-11-02T08:01:00.000Z","log":{"file":{"path":"/var/log/x"}},"host":{"name":"web-1","ip":["10.0.0.9"]},"source":{"address":"192.0.2.7","ip":"192.0.2.7","geo":{"ip":"x"}},"destination":{"ip":"10.0.0.1"},"http":{"request":{"method":"GET","referrer":"https://r/"},"response":{"status_code":404,"body":{"bytes":153}},"version":"1.1"},"url":{"original":"/a?b","path":"/a","query":"b","domain":"example.org"},"user_agent":{"name":"Other","original":"curl/8"},"agent":{"type":"filebeat","version":"8"}}"#,
        "192.0.2.7 | example.org | 2026-11-02T08:01:00+00:00 | GET /a?b HTTP/1.1 | 404 | 153 | https://r/ | curl/8",
    ),
    (
        "OpenTelemetry, opentelemetry.io/docs/specs/semconv/http, flat",
        r#"{"timestamp":"1683355579981123456","client.address":"192.0.2.7","http.request.method":"GET","url.path":"/a","url.query":"b=c","server.address":"example.org","http.response.status_code":404,"http.response.body.size":12,"user_agent.original":"curl/8"}"#,
        "192.0.2.7 |  | 2023-05-06T06:46:19+00:00 | GET /a?b=c  | 404 |  |  | curl/8",
    ),
];

#[test]
fn documented_lines_are_parsed() {
    let json = JsonLineParser::new();
    for (source, line, expected) in LINES {
        assert_eq!(read(line), *expected, "{source}");
        assert!(!json.split(line.as_bytes()).unwrap().is_empty());
    }
}

#[test]
fn caches_of_other_lines_do_not_matter() {
    let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
    for round in 0..3 {
        for (source, line, expected) in LINES {
            for _ in 0..=round {
                assert_eq!(read_by(&json, line, &mut buffers), *expected, "{source}");
            }
        }
    }
}

#[test]
fn a_layout_is_learned_and_dropped() {
    let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
    let one = |n: u32| {
        (
            format!(r#"{{"ip":"192.0.2.{n}","status":{n}00,"path":"/{n}"}}"#),
            format!("192.0.2.{n} |  | - |  /{n}  | {n}00 |  |  | "),
        )
    };
    let other = |n: u32| {
        (
            format!(r#"{{"ip":"192.0.2.{n}","status":null,"path":"/{n}"}}"#),
            format!("192.0.2.{n} |  | - |  /{n}  |  |  |  | "),
        )
    };
    for n in 1..10 {
        for (line, expected) in [one(n), other(n)] {
            assert_eq!(read_by(&json, line, &mut buffers), expected);
        }
    }
    // Each line has another layout: all are parsed, and none is cached for long.
    for n in 0..1000 {
        let line = format!(r#"{{"x{n}":1,"ip":"192.0.2.1","status":404,"path":"/{n}"}}"#);
        assert_eq!(
            read_by(&json, line, &mut buffers),
            format!("192.0.2.1 |  | - |  /{n}  | 404 |  |  | ")
        );
    }
    let (line, expected) = one(7);
    assert_eq!(read_by(&json, line, &mut buffers), expected);
}

#[test]
fn lines_without_a_request_have_no_fields() {
    for line in [
        "",
        "{}",
        "[]",
        "null",
        r#"{"level":"info","ts":1646861401.5,"msg":"serving initial configuration"}"#,
        r#"{"level":"error","path":"/etc/app.toml","message":"no such file"}"#,
        r#"{"log":"192.0.2.7 - - [02\/Nov\/2026:08:01:00 +0000] \"GET / HTTP/1.1\" 200 1\n","stream":"stdout","time":"2026-11-02T08:01:00Z"}"#,
        r#"{"client":"192.0.2.7","message":"connected"}"#,
        r#"{"client":"192.0.2.7","status":200}"#,
        r#"{"request":"7f3a","message":"done"}"#,
        r#"{"request":"GET / HTTP/1.1","status":200"#,
        r#"{"request":"GET / HTTP/1.1","status":200}{"request":"GET / HTTP/1.1","status":200}"#,
    ] {
        assert_eq!(read(line), "none", "{line}");
    }
    let of = |more: &str| read(format!(r#"{{"ip":"192.0.2.7","status":404,{more}}}"#));
    // A method under the key of a request, a request under that of a route, and a route without a
    // path.
    for more in [
        r#""request":"GET","url":"/.env""#,
        r#""routeKey":"GET /.env","httpMethod":"GET""#,
        r#""routeKey":"$default","path":"/.env","method":"GET""#,
    ] {
        assert!(of(more).contains("| GET /.env "), "{}", of(more));
    }
    for line in [
        r#"{"request":"GET / HTTP/1.1"}"#,
        r#"{"client":"192.0.2.7","status":400,"uri":""}"#,
        r#"{"path":"/","status":200}"#,
    ] {
        assert_ne!(read(line), "none", "{line}");
    }
}

#[test]
fn keys_under_client_control_are_not_the_client() {
    for line in [
        r#"{"remote_addr":"192.0.2.7","status":404,"http_x_forwarded_for":"203.0.113.9","http_x_real_ip":"203.0.113.9","uri":""}"#,
        r#"{"http_user_agent":"\",\"remote_addr\":\"203.0.113.9","headers":{"remote_addr":"203.0.113.9"},"body":{"remote_addr":"203.0.113.9"},"args":{"remote_addr":["203.0.113.9"]},"remote_addr":"192.0.2.7","status":404,"uri":""}"#,
        r#"{"client_ip":"203.0.113.9","remote_addr":"192.0.2.7","status":404,"uri":""}"#,
        r#"{"uri":"","status":404,"ip":["192.0.2.7","203.0.113.9"],"list":[{"remote_addr":"203.0.113.9"}]}"#,
    ] {
        assert!(
            read(line).starts_with("192.0.2.7 |"),
            "{line}: {}",
            read(line)
        );
    }
}

/// Keys that name a header, as Traefik writes them, and names that a client may choose.
#[test]
fn a_header_is_not_a_field_of_the_request() {
    let line = |more: &str| {
        format!(
            r#"{{"ClientHost":"192.0.2.7","DownstreamContentSize":7,"DownstreamStatus":404,"RequestHost":"www.example.org","RequestMethod":"GET","RequestPath":"/.env","RequestProtocol":"HTTP/2.0","StartUTC":"2026-11-02T08:01:00Z"{more}}}"#
        )
    };
    let expected = read(line(""));
    assert!(
        expected.starts_with("192.0.2.7 | www.example.org | "),
        "{expected}"
    );
    for (header, value) in [
        ("Uri", "/"),
        ("Url", "/"),
        ("Method", "POST"),
        ("Target", "/"),
        ("Line", "GET / HTTP/1.1"),
        ("Client-Ip", "203.0.113.9"),
        ("Time", "1793606460"),
        ("Timestamp", "2020-11-02T08:01:00Z"),
        ("Path", "/"),
    ] {
        for prefix in ["request_", "downstream_", "origin_"] {
            assert_eq!(
                read(line(&format!(r#","{prefix}{header}":"{value}""#))),
                expected,
                "{prefix}{header}"
            );
        }
    }
    assert!(read(line(r#","request_User-Agent":"curl""#)).ends_with("curl"));
    // nginx's names are no headers.
    assert!(
        read(
            r#"{"remote_addr":"192.0.2.7","request_uri":"/a","request_method":"GET","status":404}"#
        )
        .contains("GET /a")
    );
}

/// Google Cloud: `httpRequest` is of the load balancer, `jsonPayload` of an application.
#[test]
fn a_payload_is_read_only_without_a_request_of_its_envelope() {
    let own = r#""httpRequest":{"requestMethod":"GET","requestUrl":"http://www.example.org/.env","status":404,"remoteIp":"192.0.2.7"}"#;
    let expected = read(format!("{{{own}}}"));
    for key in [
        "Remote-Addr",
        "RemoteIp",
        "ClientHost",
        "c-ip",
        "remote_addr",
    ] {
        let payload = format!(
            r#""jsonPayload":{{"{key}":"203.0.113.9","request":"GET / HTTP/1.1","httpRequest":{{"remoteIp":"203.0.113.9","status":200}}}}"#
        );
        assert_eq!(read(format!("{{{own},{payload}}}")), expected, "{key}");
        assert_eq!(read(format!("{{{payload},{own}}}")), expected, "{key}");
        assert!(
            read(format!("{{{payload}}}")).starts_with("203.0.113.9 | "),
            "{key}: {}",
            read(format!("{{{payload}}}"))
        );
    }
    let without_client = own.replace(r#","remoteIp":"192.0.2.7""#, "");
    assert!(
        read(format!(
            r#"{{{without_client},"jsonPayload":{{"remoteIp":"203.0.113.9"}}}}"#
        ))
        .starts_with(" | ")
    );
}

/// What a client sent in a body, under any key, and objects that applications fill.
#[test]
fn no_body_under_any_key_changes_the_request() {
    let body = r#"{"remote_addr":"203.0.113.9","client":{"ip":"203.0.113.9"},"http":{"request":{"line":"POST / HTTP/1.1","remoteAddress":"203.0.113.9"}},"request":"POST / HTTP/1.1","method":"POST","uri":"/","status":200,"time":"2020-11-02T08:01:00Z","user":{"name":"eve"},"username":"eve","x-forwarded-for":"203.0.113.9"}"#;
    let json =
        JsonLineParser::new().with_forwarded(&FieldKind::Header("x-forwarded-for".to_owned()));
    for own in [
        r#""remote_addr":"192.0.2.7","request":"GET /.env HTTP/1.1","status":404"#,
        r#""time":"2026-11-02T08:01:00Z","remote_addr":"192.0.2.7","request":"GET /.env HTTP/1.1","status":404"#,
        r#""method":"GET","url":"/.env","host":"192.0.2.8""#,
        r#""req":{"method":"GET","url":"/.env","socket":{"remoteAddress":"192.0.2.7"}},"res":{"statusCode":404}"#,
    ] {
        let (mut buffers, expected) = (FieldBuffers::default(), read(format!("{{{own}}}")));
        // hapi logs the client of a connection in `info`: a line without another one has that, and
        // one with another connection has none.
        let has_client = own.contains(r#""remote_addr":"192.0.2.7""#);
        let keys = [
            "post",
            "payload",
            "formData",
            "variables",
            "data",
            "context",
            "event",
            "log",
            "info",
        ];
        for key in keys.into_iter().filter(|key| has_client || *key != "info") {
            for line in [
                format!(r#"{{{own},"{key}":{body}}}"#),
                format!(r#"{{"{key}":{body},{own}}}"#),
            ] {
                for _ in 0..3 {
                    assert_eq!(read_by(&json, &line, &mut buffers), expected, "{line}");
                    assert!(
                        json.read(line.as_bytes(), &mut buffers)
                            .unwrap()
                            .forwarded
                            .is_empty(),
                        "{line}"
                    );
                }
            }
        }
    }
    // Without another request, it is what the line is about.
    let shipped = read(format!(
        r#"{{"path":"/var/log/access.log","whatever":{body}}}"#
    ));
    assert!(shipped.starts_with("203.0.113.9 | "), "{shipped}");
}

proptest! {
    #[test]
    fn no_name_of_a_header_changes_the_request(
        name in prop_oneof![
            prop::sample::select(vec!["Uri", "Method", "Remote-Addr", "Client-Ip", "Status", "Time", "Path", "Host", "Request", "Http-Request", "Request-Line"]).prop_map(str::to_owned),
            "[A-Z][a-z]{1,8}(-[A-Z][a-z]{1,8}){0,2}",
        ],
        value in prop::sample::select(vec!["203.0.113.9", "/", "POST", "200", "2020-11-02T08:01:00Z", "GET / HTTP/1.1"]),
        is_first: bool,
    ) {
        let own = r#""ClientHost":"192.0.2.7","DownstreamStatus":404,"RequestMethod":"GET","RequestPath":"/.env","StartUTC":"2026-11-02T08:01:00Z""#;
        for header in [format!(r#""request_{name}":"{value}""#), format!(r#""request":{{"headers":{{"{name}":["{value}"]}}}}"#), format!(r#""query":{{"{name}":"{value}"}}"#)] {
            let line = if is_first { format!("{{{header},{own}}}") } else { format!("{{{own},{header}}}") };
            let mut buffers = FieldBuffers::default();
            let fields = JsonLineParser::new().read(line.as_bytes(), &mut buffers).unwrap();
            prop_assert_eq!((fields.client, fields.status), (&b"192.0.2.7"[..], &b"404"[..]), "{}", line);
            let same = matches!(fields.request, RequestField::Parts { method: b"GET", target: b"/.env", .. });
            prop_assert!(same && fields.time != TimeField::Parsed(None), "{}", line);
        }
    }
}

/// Names of fields, as clients may choose them for headers, parameters and cookies.
const FIELD_NAMES: &[&str] = &[
    "remote_addr",
    "Remote-Addr",
    "RemoteIp",
    "ClientHost",
    "c-ip",
    "client_ip",
    "Client-Ip",
    "X-Real-Ip",
    "ip",
    "remote",
    "peer",
    "sourceIp",
    "downstream_remote_address",
    "httpRequest",
    "request",
    "Request-Line",
    "method",
    "Method",
    "requestMethod",
    "uri",
    "_uri",
    "--Uri",
    "!uri",
    "url",
    "Url",
    "path",
    "Path",
    "target",
    "status",
    "Status",
    "statusCode",
    "code",
    "DownstreamStatus",
    "time",
    "Time",
    "timestamp",
    "StartUTC",
    "user",
    "username",
    "remote_user",
    "ClientUsername",
    "client",
    "identity",
    "response",
    "http",
    "data",
    "nginx",
    "X--Forwarded-For",
];
const VALUES: &[&str] = &[
    r#""198.51.100.66""#,
    r#""/""#,
    r#""POST""#,
    r#""200""#,
    "200",
    r#""2020-01-01T00:00:00Z""#,
    r#""GET / HTTP/1.1""#,
    r#""eve""#,
    r#"{"ip":"198.51.100.66","remoteIp":"198.51.100.66","name":"eve","status":200}"#,
    r#"["198.51.100.66","x"]"#,
    r#"[{"name":"remote_addr","value":"198.51.100.66"}]"#,
];
/// Objects whose keys clients choose.
const OF_CLIENTS: &[&str] = &[
    "headers",
    "requestHeaders",
    "RequestHeaders",
    "multiValueHeaders",
    "headers_in",
    "query",
    "querystring",
    "queryStringParameters",
    "multiValueQueryStringParameters",
    "params",
    "pathParameters",
    "cookies",
    "Cookies",
    "body",
    "form",
    "args",
    "request_cookies",
];
/// What stands before the name of a header, a parameter or a cookie in a key.
const PREFIXES: &[&str] = &[
    "req.headers.",
    "request.headers.",
    "headers.",
    "request.header.",
    "http.request.header.",
    "request_headers_",
    "req.query.",
    "request.params.",
    "query.",
    "cookies.",
    "request_header_",
    "multiValueHeaders.",
];

/// A member that a client chose.
fn hostile_member() -> impl Strategy<Value = String> {
    let member = || {
        (
            prop::sample::select(FIELD_NAMES),
            prop::sample::select(VALUES),
        )
            .prop_map(|(name, value)| format!("\"{name}\":{value}"))
    };
    let of_go = (
        prop::sample::select(FIELD_NAMES),
        prop::sample::select(VALUES),
        prop::sample::select(vec!["request_", "downstream_", "origin_"]),
    )
        .prop_map(|(name, value, prefix)| {
            let words: Vec<_> = name
                .split('-')
                .map(|word| {
                    word[..word.len().min(1)].to_uppercase()
                        + &word.to_lowercase()[word.len().min(1)..]
                })
                .collect();
            format!("\"{prefix}{}\":{value}", words.join("-"))
        });
    prop_oneof![
        (
            prop::sample::select(OF_CLIENTS),
            prop::collection::vec(member(), 1..4)
        )
            .prop_map(|(object, members)| format!("\"{object}\":{{{}}}", members.join(","))),
        (prop::sample::select(OF_CLIENTS), member()).prop_map(|(object, member)| format!(
            "\"{object}\":{{\"x\":{{{member}}},\"y\":[{{{member}}}]}}"
        )),
        (
            prop::sample::select(FIELD_NAMES),
            prop::sample::select(VALUES)
        )
            .prop_map(|(name, value)| format!(
                "\"headers\":[{{\"name\":\"{name}\",\"value\":{value}}}]"
            )),
        (prop::sample::select(PREFIXES), member())
            .prop_map(|(prefix, member)| format!("\"{prefix}{}", &member[1..])),
        of_go,
        member().prop_map(|member| format!("\"list\":[{{{member}}}]")),
    ]
}

/// The ends of the objects of a line that hold fields, and those of applications and headers, in
/// which any key may be.
fn object_starts(line: &str) -> Vec<(usize, bool)> {
    let starts = line.match_indices('{').map(|(at, _)| at);
    let key = |at: usize| {
        line[..at]
            .trim_end_matches(['"', ':', ' ', '['])
            .rsplit('"')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    starts
        .filter(|&at| at == 0 || line[..at].ends_with("\":") || line[..at].ends_with("\": "))
        .map(|at| {
            (
                at + 1,
                at > 0
                    && [
                        "headers",
                        "jsonPayload",
                        "querystring",
                        "requestHeaders",
                        "query",
                    ]
                    .contains(&key(at).as_str()),
            )
        })
        .collect()
}

proptest! {
    #[test]
    fn no_key_that_a_client_chose_changes_a_field(
        which in 0..LINES.len(), members in prop::collection::vec((any::<prop::sample::Index>(), hostile_member(), any::<bool>()), 1..4),
    ) {
        let mut line = LINES[which].1.to_owned();
        for (at, member, is_bare) in members {
            let starts = object_starts(&line);
            let (at, is_of_client) = starts[at.index(starts.len())];
            // In an object of a client, fields need no other name.
            let inside = member.split_once('{').map(|(_, inside)| inside.trim_end_matches('}').to_owned());
            let member = inside.filter(|inside| is_bare && is_of_client && !inside.contains(['{', '}', ']'])).unwrap_or(member);
            line.insert_str(at, &format!("{member},"));
        }
        let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
        // Also on the fast path, and with what is remembered of the line without them.
        for line in [LINES[which].1, &line, &line] {
            prop_assert_eq!(&read_by(&json, line, &mut buffers), LINES[which].2, "{}", line);
        }
        prop_assert_eq!(&read(&line), LINES[which].2, "{}", line);
    }
}

#[test]
fn two_peers_of_one_rank_make_the_client_unknown() {
    let client = |members: &str| {
        let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
        let line = format!(
            r#"{{{members},"time":"2026-11-02T08:01:00Z","request":"GET /a HTTP/1.1","status":404}}"#
        );
        // The second time with a known layout, on the fast path if it has one.
        [(); 3].map(|()| {
            let mut fast = None;
            let quote = |from| Some(from + line.get(from..)?.find('"')?);
            json.read_fast(line.as_bytes(), quote, &mut buffers, |fields| {
                fast = Some(text(fields.client));
            });
            let fields = json.read(line.as_bytes(), &mut buffers).unwrap();
            assert!(
                fast.is_none_or(|fast| fast == text(fields.client)),
                "{line}"
            );
            (text(fields.client), fields.is_client_doubtful)
        })
    };
    for (members, expected) in [
        (
            r#""remote_addr":"192.0.2.7","remote_addr":"203.0.113.9""#,
            None,
        ),
        (
            r#""remote_addr":"192.0.2.7","remote_ip":"203.0.113.9""#,
            None,
        ),
        (
            r#""remote_ip":"192.0.2.7","remote_addr":"203.0.113.9","remote_ip":"192.0.2.7""#,
            None,
        ),
        (
            r#""client_ip":"192.0.2.7","client_addr":"203.0.113.9""#,
            None,
        ),
        (
            r#""source":{"ip":"192.0.2.7"},"client":{"ip":"203.0.113.9"}"#,
            None,
        ),
        (
            r#""headers":{"X-Forwarded-For":["203.0.113.9","192.0.2.7"]}"#,
            None,
        ),
        (
            r#""remote_addr":"192.0.2.7","remote_addr":"192.0.2.7""#,
            Some("192.0.2.7"),
        ),
        (
            r#""remote_addr":"192.0.2.7","remote_ip":"[::ffff:192.0.2.7]:80""#,
            Some("192.0.2.7"),
        ),
        (
            r#""remote_addr":"-","remote_ip":"192.0.2.7","remote_addr":"""#,
            Some("192.0.2.7"),
        ),
        // A better rank decides.
        (
            r#""client_ip":"203.0.113.8","client_addr":"203.0.113.9","remote_addr":"192.0.2.7""#,
            Some("192.0.2.7"),
        ),
        (
            r#""x_forwarded_for":"203.0.113.9","real_ip":"203.0.113.8","ip":"192.0.2.7""#,
            Some("192.0.2.7"),
        ),
    ] {
        assert_eq!(
            client(members),
            [(); 3].map(|()| (expected.unwrap_or_default().to_owned(), expected.is_none())),
            "{members}"
        );
    }
}

#[test]
fn a_host_is_the_client_only_in_a_converted_common_log() {
    let client = |members: &str| {
        let line = format!(r#"{{{members},"method":"GET","path":"/a","code":404}}"#);
        read(line).split(" | ").next().unwrap().to_owned()
    };
    for (members, expected) in [
        (r#""host":"192.0.2.7","user":null"#, "192.0.2.7"),
        (r#""host":"192.0.2.7","user":"-","agent":"x""#, "192.0.2.7"),
        (r#""host":"66.249.66.1""#, ""),
        (r#""user":"jo","headers":{"Host":"66.249.66.1"}"#, ""),
        (r#""user":"jo","authority":"66.249.66.1""#, ""),
        (r#""user":"jo","http_host":"66.249.66.1""#, ""),
        (r#""user":"jo","request":{"host":"66.249.66.1"}"#, ""),
    ] {
        assert_eq!(client(members), expected, "{members}");
    }
}

/// A proxy that adds a line to the header, as `HAProxy` does, and headers with similar names.
#[test]
fn the_forwarded_client_is_that_of_the_nearest_proxy() {
    let header = FieldKind::Header("x-forwarded-for".to_owned());
    let json = JsonLineParser::new().with_forwarded(&header);
    for headers in [
        r#""headers":{"X--Forwarded-For":["198.51.100.66"],"X-Forwarded-For":["198.51.100.66","203.0.113.9"],"X_forwarded_for":["198.51.100.66"]}"#,
        r#""headers":[{"name":"x-forwarded-for","value":"198.51.100.66"},{"name":"X-Forwarded-For","value":"203.0.113.9"},{"name":"x_forwarded_for","value":"198.51.100.66"}]"#,
        r#""request_X--Forwarded-For":"198.51.100.66","request_X-Forwarded-For":"203.0.113.9","request_X_forwarded_for":"198.51.100.66""#,
        r#""request_header_x":"198.51.100.66","req.headers.x-forwarded-for":"203.0.113.9","req.headers.xForwardedFor":"198.51.100.66""#,
    ] {
        let line = format!(r#"{{"ip":"192.0.2.7","status":200,"uri":"/",{headers}}}"#);
        let mut buffers = FieldBuffers::default();
        for _ in 0..3 {
            let fields = json.read(line.as_bytes(), &mut buffers).unwrap();
            assert_eq!(
                (text(fields.client), text(fields.forwarded)),
                ("192.0.2.7".to_owned(), "203.0.113.9".to_owned()),
                "{line}"
            );
        }
    }
}

#[test]
fn the_first_key_of_the_best_rank_is_used() {
    let line = r#"{"ip":"192.0.2.1","remote_addr":"-","remote_ip":"192.0.2.2","status":"ok","status":200,"status":404,"code":500,"request":"","uri":"/a","path":"/b","method":"GET","time":"0.123","ts":"x","timestamp":"2026-11-02T08:01:00Z","bytes":"1e3","size":7.0}"#;
    assert_eq!(
        read(line),
        "192.0.2.2 |  | 2026-11-02T08:01:00+00:00 | GET /a  | 200 | 7 |  | "
    );
}

#[test]
fn a_url_gives_host_and_target() {
    let request = |fields: &str| {
        read(format!(r#"{{"ip":"192.0.2.7","method":"GET",{fields}}}"#))
            .split(" | ")
            .skip(1)
            .step_by(2)
            .take(2)
            .collect::<Vec<_>>()
            .join(" | ")
    };
    for (fields, expected) in [
        (
            r#""url":"https://u:p@example.org:8443/a?b","query":"c""#,
            "example.org:8443 | GET /a?b ",
        ),
        (
            r#""url":"https:\/\/example.org\/a""#,
            "example.org | GET /a ",
        ),
        (
            r#""url":"https://example.org","host":"EXAMPLE.org:443""#,
            "EXAMPLE.org:443 | GET / ",
        ),
        (
            r#""url":"https://example.org?x","host":"example.org""#,
            "example.org | GET ?x ",
        ),
        (
            r#""url":"http://evil.example/a","host":"example.org""#,
            "example.org | GET http://evil.example/a ",
        ),
        (
            r#""request":{"uri":"http://evil.example/","host":"evil.example"}"#,
            "evil.example | GET http://evil.example/ ",
        ),
        (r#""request_uri":"/a","args":"b""#, " | GET /a "),
        (r#""uri":"/a","args":"?b\/c""#, " | GET /a?b/c "),
        (
            r#""server_name":"_","uri":"/a b","args":"""#,
            " | GET /a b ",
        ),
    ] {
        assert_eq!(request(fields), expected, "{fields}");
    }
}

#[test]
fn configured_fields_are_used() {
    let line = r#"{"remote_addr":"192.0.2.1","who":{"is":"192.0.2.2"},"request":"GET /a HTTP/1.1","x":"/b","status":200}"#;
    let given = [
        (FieldKind::Client, "who.is".to_owned()),
        (FieldKind::Target, "x".to_owned()),
    ];
    let mut buffers = FieldBuffers::default();
    assert_eq!(
        read_by(&JsonLineParser::new(), line, &mut buffers),
        "192.0.2.1 |  | - | GET /a HTTP/1.1 | 200 |  |  | "
    );
    assert_eq!(
        read_by(&JsonLineParser::with_fields(&given), line, &mut buffers),
        "192.0.2.2 |  | - |  /b  | 200 |  |  | "
    );
    assert_eq!(
        read_by(&JsonLineParser::new(), line, &mut buffers),
        "192.0.2.1 |  | - | GET /a HTTP/1.1 | 200 |  |  | "
    );
}

#[test]
fn the_field_of_the_forwarded_client_is_found() {
    let header = FieldKind::Header("x-forwarded-for".to_owned());
    let json = JsonLineParser::new().with_forwarded(&header);
    let forwarded = |json: &JsonLineParser, line: &str| {
        let mut buffers = FieldBuffers::default();
        let fields = json.read(line.as_bytes(), &mut buffers).unwrap();
        assert_eq!(fields.client, b"192.0.2.7");
        text(fields.forwarded)
    };
    for line in [
        r#"{"ip":"192.0.2.7","status":200,"uri":"/","http_x_forwarded_for":"203.0.113.9, 10.0.0.1"}"#,
        r#"{"ip":"192.0.2.7","status":200,"uri":"/","x_forwarded_for":"203.0.113.9, 10.0.0.1"}"#,
        r#"{"ip":"192.0.2.7","status":200,"uri":"/","request_X-Forwarded-For":"203.0.113.9, 10.0.0.1"}"#,
        r#"{"ip":"192.0.2.7","status":200,"uri":"/","request":{"headers":{"X-Forwarded-For":["203.0.113.9, 10.0.0.1"]}}}"#,
        r#"{"ip":"192.0.2.7","status":200,"uri":"/","httpRequest":{"headers":[{"name":"x-forwarded-for","value":"203.0.113.9, 10.0.0.1"}]}}"#,
    ] {
        assert_eq!(forwarded(&json, line), "203.0.113.9, 10.0.0.1", "{line}");
        assert_eq!(forwarded(&JsonLineParser::new(), line), "", "{line}");
    }
    let line = r#"{"ip":"192.0.2.7","status":200,"uri":"/","edge":{"seen":"203.0.113.9"},"args":{"x_forwarded_for":"10.0.0.1"}}"#;
    assert_eq!(forwarded(&json, line), "");
    assert_eq!(
        forwarded(
            &JsonLineParser::with_fields(&[(header.clone(), "edge.seen".to_owned())])
                .with_forwarded(&header),
            line
        ),
        "203.0.113.9"
    );
    assert_eq!(
        forwarded(
            &JsonLineParser::new().with_forwarded(&FieldKind::Header("edge.seen".to_owned())),
            line
        ),
        "203.0.113.9"
    );
}

#[test]
fn a_line_is_split_into_its_fields() {
    let line =
        br#"{"a":{"remote_ip":"192.0.2.7","tags":["x","y"]},"request":{"headers":[{"name":"User-Agent","value":"curl"}]},"status":200}"#;
    let parts = JsonLineParser::new().split(line).unwrap();
    let parts: Vec<_> = parts
        .iter()
        .map(|(path, text, kind)| format!("{path}={} {kind}", String::from_utf8_lossy(text)))
        .collect();
    assert_eq!(
        parts,
        [
            "a.remote_ip=192.0.2.7 client",
            "a.tags=x other",
            "a.tags=y other",
            "request.headers.name=User-Agent other",
            "request.headers.User-Agent=curl user_agent",
            "status=200 status",
        ]
    );
    assert_eq!(JsonLineParser::new().split(b"{\"a\":"), None);
}

/// JSON in which all non-ASCII characters and slashes are escaped, as PHP and others write it.
fn escaped(text: &str) -> String {
    let mut json = String::new();
    for c in serde_json::to_string(text).unwrap().chars() {
        match c {
            '/' => json += r"\/",
            c if c.is_ascii() => json.push(c),
            c => c
                .encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| write!(json, "\\u{unit:04x}").unwrap()),
        }
    }
    json
}

#[test]
fn a_similar_line_takes_the_fast_path() {
    let line = |agent: &str| {
        format!(
            r#"{{"time_local":"02/Nov/2026:08:01:00 +0000","remote_addr":"192.0.2.7","request":"GET / HTTP/1.1","status":404,"bytes":"9","http_user_agent":"{agent}"}}"#
        )
    };
    let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
    let mut is_short = |line: &str| {
        let is_short = json.read_fast(
            line.as_bytes(),
            |from| Some(from + line.get(from..)?.find('"')?),
            &mut buffers,
            |_| (),
        );
        read_by(&json, line, &mut buffers);
        is_short
    };
    assert_eq!(
        ["x", "y", r"a\b", "z"].map(|agent| is_short(&line(agent))),
        [false, true, false, true]
    );
    assert!(!is_short(&line("x").replace("GET / HTTP/1.1", "/")));
    assert!(!is_short(&line("x").replace("192.0.2.7", "-")));
}

proptest! {
    #[test]
    fn a_written_line_is_parsed_back(
        target in "/.{0,40}", agent in ".{1,40}", referer in ".{1,40}", status in 100_u16..600, bytes: u64, utc in 0_i64..4_000_000_000,
        other in ".{0,20}", ascii: bool, order in Just(["ip", "t", "m", "uri", "s", "b", "r", "ua", "other"]).prop_shuffle(),
    ) {
        prop_assume!(agent != "-" && referer != "-");
        let quote = |text: &str| if ascii { escaped(text) } else { serde_json::to_string(text).unwrap() };
        let when = LogTime { utc, offset: 60 };
        let members = order.map(|name| match name {
            "ip" => r#""remote_addr":"192.0.2.7""#.to_owned(),
            "t" => format!(r#""time":{}"#, quote(&when.rfc3339())),
            "m" => r#""method": "GET""#.to_owned(),
            "uri" => format!(r#""request_uri":{}"#, quote(&target)),
            "s" => format!(r#""status":{status}"#),
            "b" => format!(r#""bytes_sent":"{bytes}""#),
            "r" => format!(r#""referer":{}"#, quote(&referer)),
            "ua" => format!(r#""user_agent" :{}"#, quote(&agent)),
            _ => format!("{}:[{}]", quote(&format!("_{other}")), quote(&other)),
        });
        let line = format!("{{{}}}", members.join(","));
        let mut buffers = FieldBuffers::default();
        let json = JsonLineParser::new();
        for _ in 0..3 {
            let fields = json.read(line.as_bytes(), &mut buffers).unwrap();
            let RequestField::Parts { method, target: read_target, query, .. } = fields.request else { panic!("{line}") };
            prop_assert_eq!((fields.client, method, query), (&b"192.0.2.7"[..], &b"GET"[..], &b""[..]));
            prop_assert_eq!([read_target, fields.referer, fields.user_agent].map(text), [&target, &referer, &agent].map(String::clone));
            prop_assert_eq!((text(fields.status), text(fields.bytes)), (status.to_string(), bytes.to_string()));
            prop_assert_eq!(time(fields.time), Some(when));
        }
    }

    #[test]
    fn a_cached_line_does_not_affect_others(
        which in 0..LINES.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..3, prop::sample::select(br#"""""\\{}[]:,, -0n"#.to_vec())), 1..4),
    ) {
        let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
        let line = LINES[which].1.as_bytes();
        for _ in 0..3 {
            prop_assert_eq!(read_by(&json, line, &mut buffers), LINES[which].2);
        }
        let mut other = line.to_vec();
        for (at, how, byte) in edits {
            let at = at.index(other.len());
            match how {
                0 => other[at] = byte,
                1 => other.insert(at, byte),
                _ => { other.remove(at); }
            }
        }
        let expected = read(&other);
        for line in [&other[..], &other, line, &other] {
            let expected = if line == other { &expected } else { LINES[which].2 };
            prop_assert_eq!(&read_by(&json, line, &mut buffers), expected, "{}", String::from_utf8_lossy(line));
        }
    }

    #[test]
    fn any_bytes_are_accepted(
        junk in prop::collection::vec(any::<u8>(), 0..60), at in 0_usize..600, which in 0..LINES.len(), cut in 0_usize..1500,
    ) {
        let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
        let mut line = LINES[which].1.as_bytes().to_vec();
        let at = at.min(line.len());
        line.splice(at..at, junk.iter().copied());
        line.truncate(cut);
        for line in [&line[..], LINES[which].1.as_bytes(), &line, &junk] {
            let _ = json.read(line, &mut buffers);
            let _ = json.split(line);
        }
    }

    #[test]
    fn caches_do_not_matter(picks in prop::collection::vec((0..LINES.len(), 0_usize..40, any::<bool>()), 1..20)) {
        let (json, mut buffers) = (JsonLineParser::new(), FieldBuffers::default());
        for (which, skip, turn) in picks {
            // With keys left out or moved to the end.
            let mut members: Vec<&str> = LINES[which].1[1..LINES[which].1.len() - 1].split(",\"").collect();
            let first = members.remove(skip.min(members.len() - 1));
            if turn {
                members.push(first);
            }
            let line = format!("{{{}}}", members.join(",\""));
            prop_assert_eq!(read_by(&json, &line, &mut buffers), read(&line), "{}", line);
        }
    }
}
