//! Kinds of sites that configurations cannot make: a small server in the test that writes a
//! combined log.
//!
//! It answers one connection after the other, as many as there are requests, and ends.

#![expect(clippy::format_collect, reason = "pages of a few kilobytes")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use super::probes;
use super::site::{self, Kind, Score, TWO};
use crate::harness::{Harness, Rng};

/// The answer of a site to a request, given the number of the request.
type Handler = fn(&mut HandlerRequest<'_>) -> (u16, String);

/// A request as a handler gets it.
pub(super) struct HandlerRequest<'a> {
    method: &'a str,
    target: &'a str,
    path: &'a str,
    client: &'a str,
    number: usize,
    total: usize,
    rng: &'a mut Rng,
    /// The planted file, if there is one. The server sends it unless the handler removes it.
    secret: Option<Vec<u8>>,
}

impl HandlerRequest<'_> {
    fn is_home(&self) -> bool {
        matches!(self.path, "/" | "/about") || self.path.starts_with("/assets/")
    }

    fn name(&self) -> &str {
        self.path
            .rsplit('/')
            .find(|part| !part.is_empty())
            .unwrap_or("")
    }
}

const SECRETS: &[(&str, usize)] = &[
    ("/.env", 214),
    ("/.git/HEAD", 21),
    ("/wp-config.php.bak", 9_177),
    ("/dump.sql", 48_211),
    ("/backup.zip", 500_000),
];

const fn kind(
    name: &'static str,
    plants: &'static [(&'static str, usize)],
    handler: Handler,
) -> Kind<Handler> {
    Kind::new(name, plants, handler)
}

/// A site with exposed files of many sizes.
const fn many(name: &'static str, handler: Handler) -> Kind<Handler> {
    kind(name, SECRETS, handler)
}

/// A site with two exposed files, and few requested paths.
const fn few(name: &'static str, handler: Handler, paths: usize) -> Kind<Handler> {
    kind(name, TWO, handler).few(paths)
}

/// A site without exposed files.
const fn none(name: &'static str, handler: Handler) -> Kind<Handler> {
    kind(name, &[], handler)
}

fn page(size: usize) -> (u16, String) {
    (200, site::text(size))
}

fn not_found() -> (u16, String) {
    (404, site::text(153))
}

/// A page with a home page of its own.
fn home_or(
    request: &HandlerRequest<'_>,
    otherwise: impl FnOnce() -> (u16, String),
) -> (u16, String) {
    if request.is_home() {
        page(3_301)
    } else {
        otherwise()
    }
}

fn random_sizes(request: &mut HandlerRequest<'_>) -> (u16, String) {
    page(2_000 + request.rng.below(4_000) as usize)
}

fn languages(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let client = usize::from(*request.client.as_bytes().last().unwrap());
    home_or(request, || page([5_112, 5_640, 4_977][client % 3]))
}

fn drifts(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let list = "<li>new</li>".repeat(request.number / 6);
    (200, format!("{}{list}", site::text(5_000)))
}

fn counts(request: &mut HandlerRequest<'_>) -> (u16, String) {
    (
        200,
        format!(
            "{}{} ms, {} visits",
            site::text(1_700),
            request.rng.below(3_000),
            request.number
        ),
    )
}

fn login(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let is_login = [
        "/admin",
        "/manager",
        "/phpmyadmin",
        "/wp-admin",
        "/console",
        "/actuator",
        "/solr",
        "/jenkins",
        "/pma",
        "/config",
    ]
    .iter()
    .any(|prefix| request.path.starts_with(prefix));
    home_or(request, || if is_login { page(2_214) } else { not_found() })
}

fn login_returns(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let target = request.target.replace('/', "%2F");
    home_or(request, || {
        (
            200,
            format!("{}<input name=next value=\"{target}\">", site::text(1_214)),
        )
    })
}

fn api_errors(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let (method, path) = (request.method, request.path);
    let is_api = ["/api/", "/v2/", "/actuator/", "/graphql", "/wp-json/"]
        .iter()
        .any(|prefix| path.starts_with(prefix));
    let answer = || {
        (
            200,
            format!(
                "{{\"status\":404,\"error\":\"Not Found\",\"message\":\"No static resource {}.\",\"path\":\"{path}\",\"method\":\"{method}\"}}",
                &path[1..]
            ),
        )
    };
    home_or(request, || if is_api { answer() } else { not_found() })
}

fn captcha(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.client.ends_with(['1', '3']) {
        request.secret = None;
        let token = request.rng.below(1_000_000_000);
        return (
            200,
            format!("{}<input value=\"{token}\">", site::text(4_211)),
        );
    }
    home_or(request, not_found)
}

fn maintenance(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.number * 3 < request.total {
        request.secret = None;
        return page(1_931);
    }
    home_or(request, not_found)
}

fn search(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let name = request.name();
    home_or(request, || {
        (
            200,
            format!(
                "{}<h1>0 results for {name}</h1><input value=\"{name}\">",
                site::text(6_020)
            ),
        )
    })
}

fn search_words(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let words: Vec<&str> = request
        .path
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 2)
        .collect();
    let list: String = words
        .iter()
        .map(|word| format!("<a href=\"/search?q={word}\">{word}</a> "))
        .collect();
    home_or(request, || (200, format!("{}{list}", site::text(6_020))))
}

fn encoded(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let encoded: String = request
        .target
        .bytes()
        .fold(String::new(), |mut text, byte| {
            if byte.is_ascii_alphanumeric() {
                text.push(char::from(byte));
            } else {
                let _ = write!(text, "%{byte:02X}");
            }
            text
        });
    home_or(request, || {
        (
            200,
            format!("{}<a href=\"/login?next={encoded}\">", site::text(2_300)),
        )
    })
}

fn breadcrumbs(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let parts: String = request
        .path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| format!("<li><a>{part}</a></li>"))
        .collect();
    home_or(request, || {
        (200, format!("{}<ol>{parts}</ol>", site::text(8_011)))
    })
}

fn base_folders(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let up = "../".repeat(request.path.matches('/').count());
    home_or(request, || {
        (
            200,
            format!(
                "{}<link href={up}a.css><link href={up}b.css><script src={up}c.js>",
                site::text(3_000)
            ),
        )
    })
}

fn templates(request: &mut HandlerRequest<'_>) -> (u16, String) {
    page([812, 1_204, 2_911, 4_400, 7_345][request.rng.below(5) as usize] + request.path.len())
}

fn redeployed(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let size = [5_512, 5_533, 5_700][3 * request.number / request.total];
    page(size)
}

fn suggestions(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let count = request.path.bytes().map(usize::from).sum::<usize>() % 5;
    let list: String = (0..count)
        .map(|n| {
            format!(
                "<li><a href=\"/products/{}\">Product {n}</a></li>",
                "x".repeat(8 + 5 * n)
            )
        })
        .collect();
    home_or(request, || {
        (200, format!("{}<ul>{list}</ul>", site::text(12_000)))
    })
}

fn platform_errors(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let name = request.path.to_owned();
    home_or(request, || match name.rsplit('.').next() {
        Some("php") => (200, "No input file specified.\n".to_owned()),
        Some("jsp" | "action" | "do") => page(1_822),
        Some("aspx" | "asmx") => page(3_420),
        _ => not_found(),
    })
}

fn half_refused(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let sum: usize = request.path.bytes().map(usize::from).sum();
    let is_refused = sum % 5 < 2;
    home_or(request, || {
        if is_refused {
            (403, site::text(90))
        } else {
            page(1_333)
        }
    })
}

fn limits(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.number.is_multiple_of(3) {
        request.secret = None;
        return (429, site::text(90));
    }
    page(1_433)
}

fn ordinary(request: &mut HandlerRequest<'_>) -> (u16, String) {
    home_or(request, not_found)
}

fn ordinary_pages(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.method == "HEAD" && request.secret.is_none() {
        return page(3_301);
    }
    home_or(request, not_found)
}

fn tarpit(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let exponent = request.rng.below(5) as u32;
    page((300 + request.rng.below(700) as usize) * 3_usize.pow(exponent))
}

fn shop(request: &mut HandlerRequest<'_>) -> (u16, String) {
    // A varying number of products: sizes differ by a few percent.
    let products = request.rng.below(12) as usize;
    (
        200,
        format!(
            "{}{}",
            site::text(24_000),
            "<div>A product with a name</div>".repeat(products)
        ),
    )
}

fn accepted(request: &mut HandlerRequest<'_>) -> (u16, String) {
    home_or(request, || (202, String::new()))
}

fn by_extension(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let extension = request
        .name()
        .rsplit_once('.')
        .map_or("", |(_, extension)| extension)
        .to_owned();
    let sizes = [
        ("json", 120),
        ("xml", 260),
        ("yml", 333),
        ("sql", 641),
        ("php", 25),
        ("zip", 1_020),
        ("gz", 1_020),
        ("log", 702),
    ];
    page(
        sizes
            .iter()
            .find(|(name, _)| *name == extension)
            .map_or(2_408, |(_, size)| *size),
    )
}

fn balanced(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.rng.below(2) == 0 {
        return home_or(request, not_found);
    }
    page(1_733)
}

fn balanced_echo(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.rng.below(2) == 0 {
        return home_or(request, not_found);
    }
    (200, format!("{}{}", site::text(1_733), request.target))
}

fn incidents(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let id = "4f".repeat(4 + request.rng.below(20) as usize);
    (200, format!("{}{id}", site::text(1_100)))
}

fn large(request: &mut HandlerRequest<'_>) -> (u16, String) {
    page(121_000 + request.rng.below(90) as usize)
}

fn half_refused_shop(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let sum: usize = request.path.bytes().map(usize::from).sum();
    if sum % 5 < 2 {
        (403, site::text(90))
    } else {
        shop(request)
    }
}

fn half_refused_echo(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let sum: usize = request.path.bytes().map(usize::from).sum();
    if sum % 5 < 3 {
        (403, site::text(90))
    } else {
        (200, format!("{}{}", site::text(1_433), request.target))
    }
}

fn banned(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.number > 60 && request.client.starts_with("198.") {
        request.secret = None;
        return (403, site::text(90));
    }
    (
        200,
        format!("{}{}", site::text(2_100), request.rng.below(100_000)),
    )
}

fn history(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.name().contains('.') {
        not_found()
    } else {
        page(1_187)
    }
}

fn history_nonce(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let nonce = request.rng.below(10_000_000_000);
    if request.name().contains('.') {
        not_found()
    } else {
        (200, format!("{}{nonce}", site::text(1_187)))
    }
}

fn handshakes(request: &mut HandlerRequest<'_>) -> (u16, String) {
    page(1_403 + [0, 0, 0, 3_911, 3_912, 211][request.rng.below(6) as usize])
}

fn related(request: &mut HandlerRequest<'_>) -> (u16, String) {
    // A list of zero to ten posts for the word, each with its own length.
    let seed: usize = request.path.bytes().map(usize::from).sum();
    let posts: String = (0..seed % 11)
        .map(|n| {
            format!(
                "<article>{}</article>",
                site::text(300 + (seed * (n + 7)) % 400)
            )
        })
        .collect();
    (200, format!("{}{posts}", site::text(15_000)))
}

fn two_languages_echo(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let client = usize::from(*request.client.as_bytes().last().unwrap());
    (
        200,
        format!(
            "{}{}",
            site::text([4_400, 4_977][client % 2]),
            request.target
        ),
    )
}

fn dated(request: &mut HandlerRequest<'_>) -> (u16, String) {
    // Every seventh request gets another page, and every second one a longer page.
    page(6_000 + 137 * (request.number * 7 / request.total) + [0, 31][request.number % 2])
}

fn one_folder_varies(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let size = 900 + request.rng.below(700) as usize;
    home_or(request, || {
        if request.path.starts_with("/shop/") {
            page(size)
        } else {
            not_found()
        }
    })
}

fn dot_refused(request: &mut HandlerRequest<'_>) -> (u16, String) {
    // A server that hides dot files, in front of a site that answers anything with a token.
    if request.path.contains("/.") {
        (403, site::text(90))
    } else {
        (
            200,
            format!("{}{}", site::text(1_900), request.rng.below(1_000_000)),
        )
    }
}

fn history_varies(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let page = page(2_000 + request.rng.below(4_000) as usize);
    if request.name().contains('.') {
        not_found()
    } else {
        page
    }
}

fn dot_varies(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let varied = page(2_000 + request.rng.below(4_000) as usize);
    home_or(request, || {
        if request.path.contains("/.") {
            varied
        } else {
            not_found()
        }
    })
}

fn php_varies(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let varied = page(2_000 + request.rng.below(4_000) as usize);
    home_or(request, || {
        if Path::new(&request.path)
            .extension()
            .is_some_and(|extension| extension == "php")
        {
            varied
        } else {
            not_found()
        }
    })
}

fn files_refused(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let varied = page(2_000 + request.rng.below(4_000) as usize);
    let is_route = |name: &str| {
        !name.contains('.')
            || [".php", ".jsp", ".action", ".aspx", ".axd"]
                .iter()
                .any(|end| name.ends_with(end))
    };
    let is_file = !request.path.contains("/.") && !is_route(request.name());
    home_or(request, || if is_file { not_found() } else { varied })
}

fn captcha_varies(request: &mut HandlerRequest<'_>) -> (u16, String) {
    if request.client.ends_with(['1', '3']) {
        request.secret = None;
        return page(4_211 + request.rng.below(900) as usize);
    }
    home_or(request, not_found)
}

fn two_folders(request: &mut HandlerRequest<'_>) -> (u16, String) {
    let varied = page(1_000 + request.rng.below(4_000) as usize);
    home_or(request, || {
        if request.path.starts_with("/shop/") || request.path.starts_with("/blog/") {
            varied
        } else {
            not_found()
        }
    })
}

const KINDS: &[Kind<Handler>] = &[
    many("history varies", history_varies),
    many("dot varies", dot_varies),
    many("php varies", php_varies),
    many("files refused", files_refused),
    many("captcha varies", captcha_varies),
    many("two folders", two_folders).folders(&["/shop/", "/blog/"]),
    kind(
        "by extension",
        &[
            ("/.env", 214),
            ("/backup.zip", 500_000),
            ("/server.key", 1_704),
            ("/config.json", 911),
        ],
        by_extension,
    ),
    many("balanced", balanced),
    many("balanced echo", balanced_echo),
    many("incidents", incidents),
    few("incidents few", incidents, 11),
    many("large", large),
    few("large few", large, 8),
    many("half refused shop", half_refused_shop),
    many("half refused echo", half_refused_echo),
    many("banned", banned),
    none("banned without", banned),
    many("history", history),
    few("history few", history, 12),
    many("history nonce", history_nonce),
    kind(
        "handshakes",
        &[("/.env", 214), ("/dump.sql", 48_211)],
        handshakes,
    ),
    many("related", related),
    many("languages and echo", two_languages_echo),
    many("dated", dated),
    kind(
        "one folder varies",
        &[
            ("/.env", 214),
            ("/shop/.git/config", 262),
            ("/shop/backup.zip", 90_000),
        ],
        one_folder_varies,
    )
    .folders(&["/shop/"]),
    kind(
        "dot refused",
        &[
            ("/id_rsa", 2_602),
            ("/backup.zip", 500_000),
            ("/config.json", 611),
        ],
        dot_refused,
    ),
    few("drifting few", drifts, 12),
    few("shop few", shop, 9),
    few("breadcrumbs few", breadcrumbs, 12),
    few("words few", search_words, 9),
    few("captcha few", captcha, 12),
    few("maintenance few", maintenance, 12),
    kind(
        "ordinary copies",
        &[
            ("/.env", 214),
            ("/.env.bak", 214),
            ("/api/.env", 214),
            ("/wp-config.php.bak", 3_177),
            ("/wp-config.php~", 3_177),
            ("/wp-config.txt", 3_177),
        ],
        ordinary,
    ),
    kind(
        "ordinary git",
        &[
            ("/.git/HEAD", 21),
            ("/.git/config", 262),
            ("/.git/index", 14_311),
            ("/.git/logs/HEAD", 177),
            ("/.gitignore", 61),
        ],
        ordinary,
    ),
    many("random sizes", random_sizes),
    few("random sizes few", random_sizes, 16),
    many("languages", languages),
    few("languages few", languages, 12),
    many("drifting list", drifts),
    many("counters", counts),
    many("login prefixes", login),
    many("login with next", login_returns),
    many("api errors", api_errors).folders(&["/api/"]),
    many("captcha", captcha),
    none("captcha without", captcha),
    many("maintenance", maintenance),
    none("maintenance without", maintenance),
    many("search by name", search),
    few("search few", search, 10),
    many("search by words", search_words),
    many("encoded", encoded),
    few("encoded few", encoded, 10),
    many("breadcrumbs", breadcrumbs),
    many("base folders", base_folders),
    kind(
        "templates",
        &[("/.env", 214), ("/backup.zip", 500_000)],
        templates,
    ),
    many("redeployed", redeployed),
    many("suggestions", suggestions),
    many("platform errors", platform_errors),
    many("half refused", half_refused),
    none("half refused without", half_refused),
    many("limits", limits),
    many("own ordinary", ordinary),
    few("own ordinary few", ordinary, 6),
    many("head always", ordinary_pages),
    none("tarpit", tarpit),
    many("shop", shop),
    kind("accepted", TWO, accepted),
];

/// The scores of all kinds.
pub(super) fn scores() -> Vec<(&'static str, Score)> {
    (60..)
        .zip(KINDS)
        .map(|(seed, kind)| (kind.name, run(kind, seed)))
        .collect()
}

fn run(kind: &Kind<Handler>, seed: u64) -> Score {
    let harness = Harness::new();
    let requests = probes::requests(&kind.plan(), seed);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (truth, lines) = std::thread::scope(|scope| {
        let total = requests.len();
        let server = scope.spawn(move || serve(&listener, kind, total));
        let truth = site::truth(kind, &requests, port);
        (truth, server.join().unwrap())
    });
    let log = harness.file("access.log", lines);
    site::score(kind, &harness, &log, &truth)
}

/// Answers this many connections and returns the log.
fn serve(listener: &TcpListener, kind: &Kind<Handler>, total: usize) -> String {
    let mut rng = Rng::new();
    let mut log = String::new();
    for number in 0..total {
        let (stream, _) = listener.accept().unwrap();
        answer(stream, kind, number, total, &mut rng, &mut log);
    }
    log
}

fn answer(
    mut stream: TcpStream,
    kind: &Kind<Handler>,
    number: usize,
    total: usize,
    rng: &mut Rng,
    log: &mut String,
) {
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        let read = reader.read_line(&mut line).unwrap();
        if read <= 2 {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let field = |name: &str| {
        head.iter()
            .find_map(|line| line.strip_prefix(name))
            .unwrap_or("")
            .trim()
    };
    let length: u64 = field("Content-Length:").parse().unwrap_or(0);
    reader.take(length).read_to_end(&mut Vec::new()).unwrap();
    let mut words = head[0].split(' ');
    let (method, target) = (words.next().unwrap(), words.next().unwrap());
    let path = target.split('?').next().unwrap();
    let mut request = HandlerRequest {
        method,
        target,
        path,
        client: field("X-Test-Client:"),
        number,
        total,
        rng,
        secret: kind.planted(field("Host:"), path),
    };
    let (status, body) = (kind.engine)(&mut request);
    let (status, body) = match request.secret.take().filter(|_| method != "OPTIONS") {
        Some(secret) => (200, secret),
        None => (status, body.into_bytes()),
    };
    let sent = if method == "HEAD" { &[][..] } else { &body };
    let (day, time) = (1 + number / 1440, number % 1440);
    writeln!(
        log,
        "{} - - [{day:02}/Nov/2026:{:02}:{:02}:00 +0000] \"{} HTTP/1.1\" {status} {} \"-\" \"{}\"",
        field("X-Test-Client:"),
        time / 60,
        time % 60,
        head[0].trim_end_matches(" HTTP/1.1"),
        sent.len(),
        field("User-Agent:")
    )
    .unwrap();
    let reply = format!(
        "HTTP/1.1 {status} OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(reply.as_bytes()).unwrap();
    let _ = stream.write_all(sent);
}
