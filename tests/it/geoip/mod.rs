//! `--geoip`: databases that the tests write, in every output and with hidden clients.

pub(crate) mod mmdb;

use std::fs;
use std::process::Command;

use serde_json::{Value as Json, json};

use self::mmdb::{Database, Value};
use crate::harness::{Harness, Run, line};

/// A record as GeoLite2 City and DB-IP write it.
fn city(country: &str, city: &str) -> Value {
    let names = |name: &str| Value::Map(vec![("de", "Anders".into()), ("en", name.into())]);
    Value::Map(vec![
        (
            "city",
            Value::Map(vec![("geoname_id", Value::U32(7)), ("names", names(city))]),
        ),
        ("continent", Value::Map(vec![("code", "EU".into())])),
        (
            "country",
            Value::Map(vec![
                ("is_in_european_union", Value::Bool(true)),
                ("iso_code", country.into()),
                ("names", names("Land")),
            ]),
        ),
        (
            "location",
            Value::Map(vec![
                ("latitude", Value::Double(52.5)),
                ("accuracy_radius", Value::U16(20)),
            ]),
        ),
    ])
}

/// A record as GeoLite2 ASN writes it.
fn asn(number: u32, name: &str) -> Value {
    Value::Map(vec![
        ("autonomous_system_number", Value::U32(number)),
        ("autonomous_system_organization", name.into()),
    ])
}

/// A database of cities: an IPv6 tree with the IPv4 networks in it and aliases of them.
pub(crate) fn cities() -> Vec<u8> {
    let mut database = Database::new(6, 28);
    database.insert("192.0.2.0/24", &city("DE", "Berlin"));
    database.insert("192.0.2.77/32", &city("CH", "Bern"));
    database.insert("203.0.113.0/25", &city("US", "Springfield, \u{1b}[31mIL"));
    database.insert("2001:db8::/32", &city("FR", "Paris"));
    database.insert("2001:db8:1::/48", &city("NL", "Delft"));
    database.alias("::ffff:0:0/96");
    database.alias("2002::/16");
    database.to_bytes()
}

/// A database of autonomous systems.
pub(crate) fn systems() -> Vec<u8> {
    let mut database = Database::new(6, 24);
    database.insert("192.0.2.0/24", &asn(64_500, "Example Hosting GmbH"));
    database.insert("203.0.113.0/24", &asn(64_501, "=Other & Sons"));
    database.insert("2001:db8::/32", &asn(64_500, "Example Hosting GmbH"));
    database.to_bytes()
}

/// Lines of clients with known and unknown networks.
fn log() -> String {
    let hit =
        |client: &str, path: &str, status| line(client, &format!("GET {path} HTTP/1.1"), status);
    let clients = [
        "192.0.2.1",
        "192.0.2.77",
        "203.0.113.7",
        "203.0.113.200",
        "2001:db8::9",
        "2001:db8:1:2::9",
        "198.51.100.1",
        "host.example",
    ];
    let each: String = clients
        .iter()
        .map(|client| hit(client, "/.env", 404))
        .collect();
    each + &hit("192.0.2.1", "/.git/config", 200)
        + &hit("192.0.2.1", "/.env", 404)
        + &hit("::ffff:203.0.113.7", "/.env", 404)
}

fn stage() -> Harness {
    let harness = Harness::new();
    harness.file("city.mmdb", cities());
    harness.file("asn.mmdb", systems());
    harness.file("access.log", log());
    harness.file("key", "0123456789abcdef0123456789abcdef\n");
    harness
}

const BOTH: [&str; 4] = ["--geoip", "city.mmdb", "--geoip", "asn.mmdb"];

/// The client and its data, of each row.
fn of_clients(report: &Json) -> Vec<(String, Json)> {
    let data = |row: &Json| json!([row["country"], row["city"], row["asn"], row["as_name"]]);
    report["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["client"].as_str().unwrap().to_owned(), data(row)))
        .collect()
}

fn of(report: &Json, client: &str) -> Json {
    let rows = of_clients(report);
    rows.iter()
        .find(|(name, _)| name == client)
        .unwrap_or_else(|| panic!("{client} is not in {rows:?}"))
        .1
        .clone()
}

/// A scan of the log with these arguments.
fn report(harness: &Harness, args: &[&str]) -> Json {
    let (run, report) = harness.json([args, &["access.log"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    report
}

#[test]
fn clients_have_the_fields_of_the_first_database_that_has_them() {
    let harness = stage();
    let hosting = "Example Hosting GmbH";
    let report = report(&harness, &BOTH);
    for (client, data) in [
        ("192.0.2.1", json!(["DE", "Berlin", 64_500, hosting])),
        ("192.0.2.77", json!(["CH", "Bern", 64_500, hosting])),
        (
            "203.0.113.7",
            json!(["US", "Springfield, \\x1b[31mIL", 64_501, "=Other & Sons"]),
        ),
        (
            "203.0.113.200",
            json!([null, null, 64_501, "=Other & Sons"]),
        ),
        ("2001:db8::9", json!(["FR", "Paris", 64_500, hosting])),
        ("2001:db8:1:2::9", json!(["NL", "Delft", 64_500, hosting])),
        ("198.51.100.1", json!([null, null, null, null])),
        ("host.example", json!([null, null, null, null])),
    ] {
        assert_eq!(of(&report, client), data, "{client}");
    }
    assert_eq!(
        report["networks"],
        json!([
            {"asn": 64_500, "as_name": hosting, "countries": ["CH", "DE", "FR", "NL"], "clients": 4, "hits": 6, "answered": 1},
            {"asn": 64_501, "as_name": "=Other & Sons", "countries": ["US"], "clients": 2, "hits": 3, "answered": 0},
            {"asn": null, "as_name": null, "countries": [], "clients": 2, "hits": 2, "answered": 0}
        ])
    );
}

#[test]
fn the_keys_are_absent_without_a_database() {
    let report = report(&stage(), &[]);
    for row in report["clients"].as_array().unwrap() {
        assert!(
            ["country", "city", "asn", "as_name"]
                .iter()
                .all(|key| row.get(key).is_none()),
            "{row}"
        );
    }
    assert_eq!(report["networks"], json!([]));
    assert!(
        report["pairs"][0].get("country").is_none() && report["paths"][0].get("country").is_none()
    );
}

#[test]
fn a_limit_on_rows_does_not_change_the_networks() {
    let harness = stage();
    let all = report(&harness, &BOTH);
    let one = harness.run(
        [
            &["scan", "-f", "json", "--top", "1"][..],
            &BOTH,
            &["access.log"],
        ]
        .concat(),
    );
    let one: Json = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!(
        (one["clients"].as_array().unwrap().len(), &one["networks"]),
        (1, &json!([all["networks"][0]]))
    );
    let table = harness
        .run([&["scan", "--top", "1"][..], &BOTH, &["access.log"]].concat())
        .text();
    assert!(
        table.contains("NETWORKS") && table.contains("… and 2 more: --top 3, or -f json"),
        "{table}"
    );
}

#[test]
fn columns_of_csv_and_keys_of_hits_come_last() {
    let harness = stage();
    let csv = harness
        .run(
            [
                &["scan", "-f", "csv", "--by", "client"][..],
                &BOTH,
                &["access.log"],
            ]
            .concat(),
        )
        .text();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with(",floods,country,city,asn,as_name,user"),
        "{csv}"
    );
    let row = |client: &str| {
        csv.lines()
            .find(|row| row.starts_with(client))
            .unwrap()
            .to_owned()
    };
    assert!(
        row("192.0.2.1,").ends_with(",DE,Berlin,64500,Example Hosting GmbH,"),
        "{csv}"
    );
    // A spreadsheet must not run a name as a formula.
    assert!(
        row("203.0.113.200,").ends_with(",,,64501,'=Other & Sons,"),
        "{csv}"
    );
    assert!(row("198.51.100.1,").ends_with(",,,,"), "{csv}");
    let run = harness.run([&["scan", "-f", "ndjson"][..], &BOTH, &["access.log"]].concat());
    assert!(
        run.text()
            .lines()
            .all(|hit| hit.contains(r#","context":null,"country":"#)),
        "{}",
        run.text()
    );
    for hit in run.objects() {
        let expected = match hit["client"].as_str().unwrap() {
            "192.0.2.1" => json!(["DE", 64_500, "Example Hosting GmbH"]),
            "192.0.2.77" => json!(["CH", 64_500, "Example Hosting GmbH"]),
            "203.0.113.7" => json!(["US", 64_501, "=Other & Sons"]),
            "198.51.100.1" | "host.example" => json!([null, null, null]),
            _ => continue,
        };
        assert_eq!(
            json!([hit["country"], hit["asn"], hit["as_name"]]),
            expected,
            "{hit}"
        );
    }
}

#[test]
fn the_table_has_country_and_network_and_a_section() {
    let harness = stage();
    let table = |width: &str, more: &[&str]| {
        let mut command = harness.command([&["scan"][..], more, &BOTH, &["access.log"]].concat());
        crate::harness::finish(command.env("COLUMNS", width)).text()
    };
    let wide = table("140", &[]);
    assert!(
        wide.contains("country")
            && wide.contains("Example Hosting GmbH")
            && wide.contains("NETWORKS"),
        "{wide}"
    );
    assert!(table("140", &["--full"]).contains("NETWORKS"));
    assert!(!table("140", &["--by", "path"]).contains("NETWORKS"));
    assert!(
        !harness
            .run(["scan", "access.log"])
            .text()
            .contains("NETWORKS")
    );
    // Databases of countries alone have no networks.
    assert!(
        !harness
            .run(["scan", "--geoip", "city.mmdb", "access.log"])
            .text()
            .contains("NETWORKS")
    );
    for width in ["40", "60", "80", "100"] {
        let text = table(width, &["--full"]);
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= width.parse().unwrap()),
            "{width}: {text}"
        );
    }
}

#[test]
fn databases_of_other_makers_and_unusual_fields() {
    let harness = stage();
    let mut database = Database::new(4, 32);
    let map = |pairs: Vec<(&'static str, Value)>| Value::Map(pairs);
    let records = [
        // IPinfo Lite.
        (
            "10.0.0.1",
            map(vec![
                ("asn", "AS64502".into()),
                ("as_name", "Lite".into()),
                ("country", "Austria".into()),
                ("country_code", "at".into()),
            ]),
            json!(["AT", null, 64_502, "Lite"]),
        ),
        // Older ones of IPinfo.
        (
            "10.0.0.2",
            map(vec![
                ("asn", "AS64503".into()),
                ("name", "Older".into()),
                ("country", "IT".into()),
                ("city", "Rome".into()),
            ]),
            json!(["IT", "Rome", 64_503, "Older"]),
        ),
        (
            "10.0.0.3",
            map(vec![
                ("asn", Value::U64(64_504)),
                ("country", Value::U16(7)),
                ("city", Value::Array(vec!["x".into()])),
            ]),
            json!([null, null, 64_504, null]),
        ),
        (
            "10.0.0.4",
            map(vec![
                ("autonomous_system_number", Value::U16(701)),
                ("country", map(vec![("iso_code", "Germany".into())])),
            ]),
            json!([null, null, 701, null]),
        ),
        (
            "10.0.0.5",
            map(vec![
                ("autonomous_system_number", Value::U64(1 << 40)),
                ("autonomous_system_organization", "Named".into()),
            ]),
            json!([null, null, null, "Named"]),
        ),
        (
            "10.0.0.6",
            map(vec![
                (
                    "city",
                    map(vec![(
                        "names",
                        map(vec![("en", Value::BadText(vec![0xff, b'x']))]),
                    )]),
                ),
                ("country_code", "ES".into()),
            ]),
            json!(["ES", null, null, null]),
        ),
        (
            "10.0.0.7",
            map(vec![
                (
                    "country",
                    map(vec![("iso_code", Value::Bytes(b"DE".to_vec()))]),
                ),
                ("city", map(vec![("names", "Ulm".into())])),
            ]),
            json!([null, null, null, null]),
        ),
        (
            "10.0.0.8",
            Value::Array(vec!["DE".into()]),
            json!([null, null, null, null]),
        ),
        ("10.0.0.9", "DE".into(), json!([null, null, null, null])),
        (
            "10.0.0.10",
            map(vec![
                ("asn", Value::I32(-7)),
                ("country_code", "".into()),
                ("city", Value::Double(1.0)),
            ]),
            json!([null, null, null, null]),
        ),
        (
            "10.0.0.11",
            map(vec![
                ("asn", "none".into()),
                ("name", "A domain".into()),
                ("city", "x".repeat(400).as_str().into()),
            ]),
            json!([null, "x".repeat(400), null, null]),
        ),
        ("10.0.0.12", map(vec![]), json!([null, null, null, null])),
    ];
    for (client, record, _) in &records {
        database.insert(&format!("{client}/32"), record);
    }
    harness.file("odd.mmdb", database.to_bytes());
    let lines = records
        .iter()
        .map(|(client, ..)| line(client, "GET /.env HTTP/1.1", 404))
        .collect::<String>();
    harness.file(
        "access.log",
        lines + &line("2001:db8::9", "GET /.env HTTP/1.1", 404),
    );
    let report = report(&harness, &["--geoip", "odd.mmdb"]);
    for (client, _, expected) in records {
        assert_eq!(of(&report, client), expected, "{client}");
    }
    assert_eq!(
        of(&report, "2001:db8::9"),
        json!([null, null, null, null]),
        "a database of IPv4 only"
    );
}

#[test]
fn a_prefix_is_looked_up_by_its_first_address() {
    let report = report(&stage(), &[&BOTH[..], &["--ipv6-prefix", "64"]].concat());
    assert_eq!(of(&report, "2001:db8:1:2::/64")[0], "NL");
    assert_eq!(of(&report, "2001:db8::/64")[0], "FR");
}

#[test]
fn hidden_clients_have_the_country_and_the_network_alone() {
    let harness = stage();
    let truncated = report(&harness, &[&BOTH[..], &["--anonymize"]].concat());
    let rows = of_clients(&truncated);
    // 192.0.2.77 has a record of its own, which would distinguish its row from those of its
    // neighbours.
    let of_network: Vec<_> = rows
        .iter()
        .filter(|(client, _)| client == "192.0.2.0/24")
        .map(|(_, data)| data)
        .collect();
    assert_eq!(
        of_network,
        vec![&json!(["DE", null, 64_500, "Example Hosting GmbH"]); 2]
    );
    assert_eq!(
        of(&truncated, "2001:db8:1::/48"),
        json!(["NL", null, 64_500, "Example Hosting GmbH"])
    );
    assert_eq!(of(&truncated, "***"), json!([null, null, null, null]));
    assert_eq!(
        truncated["networks"][0]["countries"],
        json!(["DE", "FR", "NL"])
    );

    let keyed = report(&harness, &[&BOTH[..], &["--anonymize=key:key"]].concat());
    let rows = of_clients(&keyed);
    assert!(
        rows.iter().any(|(client, data)| client.starts_with("anon-")
            && *data == json!(["CH", null, 64_500, "Example Hosting GmbH"])),
        "{rows:?}"
    );
    assert!(rows.iter().all(|(_, data)| data[1].is_null()), "{rows:?}");

    for how in ["--anonymize", "--anonymize=key:key"] {
        let args: [&[&str]; 4] = [
            &["-f", "csv", "--by", "client"],
            &["-f", "json"],
            &["-f", "ndjson"],
            &["--full"],
        ];
        for format in args {
            let text = harness
                .run([&["scan"][..], format, &BOTH, &[how, "access.log"]].concat())
                .text();
            for secret in [
                "Berlin",
                "Bern",
                "Paris",
                "Delft",
                "Springfield",
                "192.0.2.77",
                "203.0.113.7",
            ] {
                assert!(
                    !text.contains(secret),
                    "{secret} with {how} {format:?}: {text}"
                );
            }
        }
        let hits = harness
            .run([&["scan", "-f", "ndjson"][..], &BOTH, &[how, "access.log"]].concat())
            .objects();
        assert!(
            hits.iter()
                .any(|hit| hit["country"] == "DE" && hit["asn"] == 64_500),
            "{hits:?}"
        );
    }
}

#[test]
fn a_merged_report_is_looked_up_anew() {
    let harness = stage();
    for (name, args) in [("with.json", &BOTH[..]), ("without.json", &[])] {
        assert_eq!(
            harness
                .run(
                    [
                        &["scan", "-f", "json", "-o", name][..],
                        args,
                        &["access.log"]
                    ]
                    .concat()
                )
                .code,
            0
        );
    }
    let merge = |args: &[&str]| harness.run([&["merge", "-f", "json"], args].concat());
    let whole = harness
        .run([&["scan", "-f", "json"][..], &BOTH, &["access.log"]].concat())
        .text();
    for name in ["with.json", "without.json"] {
        assert_eq!(
            merge(&[&BOTH[..], &[name]].concat()).text(),
            whole,
            "{name}"
        );
        assert_eq!(
            merge(&[name]).json()["clients"][0]["country"],
            Json::Null,
            "{name}"
        );
    }
}

#[test]
fn reports_have_it_in_every_file_and_in_each_period() {
    let harness = stage();
    let probes: String = [
        "/.env",
        "/.git/config",
        "/backup.sql",
        "/wp-login.php",
        "/.svn/entries",
        "/phpinfo.php",
        "/.htpasswd",
        "/id_rsa",
    ]
    .iter()
    .flat_map(|path| {
        (0..3).map(move |n| line("192.0.2.1", &format!("GET {path}?{n} HTTP/1.1"), 404))
    })
    .collect();
    harness.file("access.log", probes.clone());
    let args = [
        &["report", "--state", "state", "--out", "out", "--daily"][..],
        &BOTH,
        &["access.log"],
    ]
    .concat();
    assert_eq!(harness.run(&args).code, 0);
    // Later lines of the same day: the folder is made of both runs.
    harness.file(
        "access.log",
        probes + &line("203.0.113.7", "GET /.env HTTP/1.1", 404),
    );
    let run = harness.run(&args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let read = |name: &str| fs::read_to_string(harness.path("out/latest").join(name)).unwrap();
    let report: Json = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(
        (
            of(&report, "192.0.2.1")[0].as_str(),
            of(&report, "203.0.113.7")[0].as_str()
        ),
        (Some("DE"), Some("US"))
    );
    assert_eq!(report["networks"].as_array().unwrap().len(), 2);
    assert!(
        read("clients.csv").contains(",DE,Berlin,64500,Example Hosting GmbH,\n"),
        "{}",
        read("clients.csv")
    );
    let summary = read("summary.txt");
    let candidates = summary.split("BLOCK CANDIDATES").nth(1).unwrap_or_default();
    assert!(candidates.contains("Example Hosting GmbH, DE"), "{summary}");
    assert!(
        summary.lines().all(|line| line.chars().count() <= 78),
        "{summary}"
    );
}

/// A run that must fail with exit 2 before it reads a log.
fn refused(harness: &Harness, args: &[&str]) -> String {
    let run: Run = harness.run(args);
    assert_eq!((run.code, run.stdout.len()), (2, 0), "{}", run.stderr);
    run.stderr
}

#[test]
fn a_file_that_is_no_database_is_a_clear_error() {
    let harness = stage();
    let whole = cities();
    let no_marker = whole.len() - 200;
    fs::create_dir(harness.path("folder")).unwrap();
    assert!(
        Command::new("mkfifo")
            .arg(harness.path("fifo"))
            .status()
            .unwrap()
            .success()
    );
    harness.file("empty.mmdb", "");
    harness.file("page.mmdb", "<html>\nYour licence key is wrong\n");
    harness.file("packed.mmdb", [&[0x1f, 0x8b, 8, 0][..], &[7; 100]].concat());
    harness.file("packed.zip", [b"PK\x03\x04".as_slice(), &[7; 100]].concat());
    harness.file("cut.mmdb", &whole[..no_marker]);
    harness.file("foreign.mmdb", [0xd0, 0xcf, 0x11, 0xe0].repeat(200));
    // Cut within the metadata, and without the data that the metadata promises.
    harness.file("short.mmdb", &whole[..whole.len() - 40]);
    harness.file("headless.mmdb", &whole[whole.len() - 400..]);
    fs::File::create(harness.path("huge.mmdb"))
        .unwrap()
        .set_len(1 << 33)
        .unwrap();
    for (name, found) in [
        (
            "huge.mmdb",
            "it has 8589934592 bytes, more than the format allows",
        ),
        ("none.mmdb", "cannot be read: No such file"),
        ("folder", "cannot be read: it is not a regular file"),
        ("fifo", "cannot be read: it is not a regular file"),
        ("empty.mmdb", "it is empty; download it again"),
        ("page.mmdb", "it is text; name the binary edition"),
        ("packed.mmdb", "it is compressed with gzip; unpack it"),
        ("packed.zip", "it is a ZIP archive; unpack it"),
        (
            "cut.mmdb",
            "it has no metadata at its end, as if it were cut off",
        ),
        ("foreign.mmdb", "it has no metadata at its end"),
        ("short.mmdb", "download it again"),
        ("headless.mmdb", "download it again"),
    ] {
        let message = refused(
            &harness,
            &[
                "scan",
                "--geoip",
                "city.mmdb",
                "--geoip",
                name,
                "access.log",
            ],
        );
        assert!(
            message.starts_with(&format!("error: --geoip: {name} ")) && message.contains(found),
            "{name}: {message}"
        );
    }
    for command in [
        &["follow", "access.log"][..],
        &["report", "--state", "s", "--out", "o", "access.log"],
        &["merge", "access.log"],
    ] {
        let message = refused(&harness, &[command, &["--geoip", "none.mmdb"]].concat());
        assert!(
            message.contains("--geoip: none.mmdb cannot be read"),
            "{message}"
        );
    }
    assert!(!harness.path("s").exists() && !harness.path("o").exists());
}

#[test]
fn damage_within_a_database_is_no_crash() {
    let harness = stage();
    let whole = cities();
    let mut rng = crate::harness::Rng::new();
    for _ in 0..40 {
        let mut bytes = whole.clone();
        // Not the metadata, with which the file is refused.
        for _ in 0..20 {
            let at = rng.below(bytes.len() as u64 - 250) as usize;
            bytes[at] = rng.next_u64() as u8;
        }
        harness.file("damaged.mmdb", bytes);
        let run = harness.run([
            "scan",
            "-f",
            "json",
            "--geoip",
            "damaged.mmdb",
            "access.log",
        ]);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
}

#[test]
fn a_variable_and_the_configuration_file_name_databases() {
    let harness = stage();
    let mut command = harness.command(["scan", "-f", "json", "access.log"]);
    let run = crate::harness::finish(command.env("PROBEWATCH_GEOIP", "city.mmdb,asn.mmdb"));
    assert_eq!(of(&run.json(), "192.0.2.1")[2], 64_500);
    fs::create_dir(harness.path("etc")).unwrap();
    fs::copy(harness.path("city.mmdb"), harness.path("etc/city.mmdb")).unwrap();
    harness.file("etc/probewatch.toml", "geoip = ['city.mmdb']\n");
    assert_eq!(
        of(
            &report(&harness, &["--config", "etc/probewatch.toml"]),
            "192.0.2.1"
        )[0],
        "DE"
    );
}
