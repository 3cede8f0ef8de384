//! The layout of the help, its text after the flags (examples, precedence, exit codes), and the
//! errors of clap.
//!
//! `-h` prints one line for each flag. `--help` adds all flags and their paragraphs, but keeps that
//! layout: the one that clap has for `--help` needs three lines for each flag, and the help of
//! `scan` would not fit four screens. An error quotes the command line, which may contain control
//! characters, so it is escaped.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use crate::commands::message::sanitized;
use crate::commands::{Exit, stdout};
use crate::os::system::check_stdout;

/// The flag for help, for commands that have it last: clap puts its own at the top, among the flags
/// without a heading.
pub(super) fn flag() -> Arg {
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .action(ArgAction::Help);
    help.help("Print help: -h in short, --help in full")
        .help_heading("Other")
}

/// Whether these arguments request the full help.
pub(super) fn wants_full(args: &[OsString]) -> bool {
    args.iter()
        .take_while(|arg| *arg != "--")
        .any(|arg| arg == "--help")
}

/// Replaces `probewatch help scan` by `probewatch scan --help`.
pub(super) fn replace_help_command(args: &mut Vec<OsString>) {
    if args.get(1).is_some_and(|command| command == "help") {
        args.remove(1);
        args.push("--help".into());
    }
}

/// Puts the full help of a command and its subcommands where clap looks for the short one. They
/// must have been built.
pub(super) fn full(mut command: Command) -> Command {
    command = command.mut_args(|arg| {
        let help = arg
            .get_long_help()
            .or(arg.get_help())
            .map(ToString::to_string)
            .unwrap_or_default();
        let arg = arg
            .help(help.replace("\n\n", "\n"))
            .long_help(Resettable::Reset)
            .hide_short_help(false);
        match arg.get_action() {
            // The flag that clap adds, whose text refers to another help.
            ArgAction::Help if arg.get_help_heading().is_none() => {
                arg.action(ArgAction::HelpShort).help("Print help")
            }
            ArgAction::Help => arg.action(ArgAction::HelpShort),
            _ => arg,
        }
    });
    if let Some(about) = command.get_long_about().cloned() {
        command = command.about(about).long_about(Resettable::Reset);
    }
    if let Some(text) = command.get_after_long_help().cloned() {
        command = command.after_help(text).after_long_help(Resettable::Reset);
    }
    command.mut_subcommands(full)
}

/// After the help of `probewatch`.
pub(super) const ROOT: &str = "\
Examples:
  probewatch scan /var/log/nginx/
  probewatch follow /var/log/nginx/access.log
  probewatch report --state /var/lib/probewatch --out /srv/reports /var/log/nginx/
  probewatch block --format nft /srv/reports/latest
  probewatch explain 'GET /cgi-bin/.%2e/.%2e/bin/sh'
  probewatch learn /var/log/nginx/
  probewatch verify --site https://example.com /srv/reports/latest
  probewatch scan --help";

/// After `scan -h`.
pub(super) const SCAN_SHORT: &str = "\
Examples:
  probewatch scan /var/log/nginx/
  probewatch scan --since 24h --outcome answered access.log
  ssh web1 cat /var/log/apache2/access.log | probewatch scan -f csv -o probes.csv
'probewatch scan --help' shows all flags, variables, the configuration file and exit codes.";

/// After `scan --help`.
pub(super) const SCAN_LONG: &str = "\
Grades of answers with content:
  distinct   unlike what the site gives to anything; WHAT ANSWERED lists only these
  uncertain  a few other paths got about the same content; the table names three, -f json all
  soft_404   the site gives the same to any path: its home page, or an error page with status 200
  'probewatch explain' shows why an answer has its grade.

Examples:
  What was probed, and what answered?
    probewatch scan /var/log/nginx/
  Only what was answered since yesterday:
    probewatch scan --since 24h --outcome answered access.log
  All logs of a server, in the formats of its configuration:
    probewatch scan --from-nginx
  From another host, as CSV, one row per client:
    ssh web1 cat /var/log/apache2/access.log | probewatch scan -f csv --by client -o clients.csv
  For a SIEM, one object of the Elastic Common Schema per hit:
    probewatch scan -f ecs -o hits.ndjson /var/log/nginx/
  As a page for a browser, with plots, and tables to sort and filter:
    probewatch scan -f html -o page.html /var/log/nginx/
  In a script, with your own rules:
    probewatch scan -q --rules my.toml --fail-on high 'logs/*.gz' || notify

Precedence:
  1. the flag                    --min-severity high
  2. the environment variable    PROBEWATCH_MIN_SEVERITY=high
  3. the configuration file      min-severity = \"high\"
  4. the default
  A list replaces a list. In a variable, commas separate a list, a switch is 1 or 0, and an empty
  value is unset. --config or PROBEWATCH_CONFIG names the file; no other file is read.

Exit codes:
  0    all input was read and all output written
  1    only with --fail-on: there is a finding at or above its level
  2    the command line, the environment, the configuration or a rule is wrong
  3    finished, but some input was damaged, unreadable, or had no line that can be parsed
  4    an output could not be written
  130  stopped by SIGINT (Ctrl-C)
  141  standard output was closed (broken pipe)
  143  stopped by SIGTERM";

/// After `follow -h`.
pub(super) const FOLLOW_SHORT: &str = "\
Examples:
  probewatch follow /var/log/nginx/access.log
  probewatch follow --tui /var/log/nginx/
  probewatch follow -f ndjson --state /var/lib/probewatch /var/log/nginx/ | ship-it
Ctrl-C prints a summary. 'probewatch follow --help' shows all flags, alerts and exit codes.";

/// After `follow --help`.
pub(super) const FOLLOW_LONG: &str = "\
Examples:
  Hits as they happen:
    probewatch follow /var/log/nginx/access.log
  A container that logs to standard output, by a pipe, line by line and without a state:
    docker logs -f web 2>&1 | probewatch follow -
  For a program: every hit once, also after a restart or a crash:
    probewatch follow -f ndjson --state /var/lib/probewatch /var/log/nginx/
  For Prometheus, by the textfile collector of node_exporter:
    probewatch follow --metrics /var/lib/prometheus/node-exporter/probewatch.prom access.log

Guarantees:
  Every line that still exists on disk is read once, through every rotation: create, copytruncate,
  rename, compression, late writes, restarts. Only lines that copytruncate itself destroys are lost.
  With --state, every hit is printed exactly once after a clean stop, and at least once after a
  crash; a repeated hit has the same id.

Alerts, which stand out among the lines and are sent to --exec, --alert-file and --syslog:
  answered   a distinct answer of --alert-severity or above, once a leak, within a minute; if a
             similar one was given, or another alert may be false, after a refusal or at the end
  answered_again, withdrawn  another client got it, once a day; it proved to be a soft 404, same id
  probing    a client requested 20 different probe paths within 5 minutes
  campaign   5 networks requested 5 unusual paths within 10 minutes, after the first hour of the log,
             or guess passwords
  threshold  the 'window' or 'guess' of a rule was filled, as by many logins; scan and report find the same
  JSON: kind, severity, first_time, last_time, client, path (null if there are many), hits, clients, paths,
  rules, classes, cve, sample {id, source, line, method, target, status, outcome}, rule, text, id.

Signals:
  INT, TERM  raise the alerts that wait, save the state, print the summary; a second one exits at once
  HUP        reload the rules; if the new ones are invalid, the old ones stay
  USR1       print the summary and continue

Precedence is that of 'probewatch scan --help'.

Exit codes:
  2    the command line, the environment, the configuration, a rule or the state is wrong
  4    an output or the state could not be written
  5    another run uses the state
  130  stopped by SIGINT (Ctrl-C)
  141  standard output was closed (broken pipe)
  143  stopped by SIGTERM";

/// After `report -h`.
pub(super) const REPORT_SHORT: &str = "\
Examples:
  probewatch report --state /var/lib/probewatch --out /srv/reports /var/log/nginx/
  probewatch report --state /var/lib/probewatch --out /srv/reports --daily --keep 90d access.log
  probewatch report --state /var/lib/probewatch --status
'probewatch report --help' shows all flags, the files of a report, guarantees and exit codes.";

/// After `report --help`.
pub(super) const REPORT_LONG: &str = "\
Examples:
  Each hour from cron; prints nothing unless there is news:
    7 * * * *  probewatch report --state /var/lib/probewatch --out /srv/reports /var/log/nginx/
  One folder per day, kept for three months:
    probewatch report --state S --out O --daily --timezone Europe/Berlin --keep 90d access.log
  How far did it read, and what would it report now?
    probewatch report --state S --status
    probewatch report --state S --dry-run /var/log/nginx/
  The reports of a month, or of many hosts, as one:
    probewatch merge /srv/reports/2026-11-*/report.json

Files of a folder:
  summary.txt   a page of text: answers, what is new, floods, top clients, block candidates
  answered.csv  distinct answers
  new.csv       answers, rules, paths, clients and campaigns first seen now; withdrawn answers
  pairs.csv, clients.csv, paths.csv, rules.csv   as 'scan -f csv --by' prints them; clients.csv has
                also block candidates, why or why not, and other clients of the same network
  report.json   everything; 'merge' and 'diff' read it
  report.html   a page, with --html; index.html beside the folders lists them

Guarantees:
  Even if runs are killed, the reports of all runs contain every line once. A folder is complete or
  absent. Rotated, compressed and renamed logs are recognized by their content. A last line without
  its end waits for the next run. A log that cannot be read does not stop the others.

Block candidates:
  Only public addresses, with the ordinary requests that a block would cost. It blocks nothing.

Precedence is that of 'probewatch scan --help'.

Exit codes:
  0    the new lines were read and reported, or there were none
  2    the command line, the environment, the configuration, a rule or the state is wrong
  3    reported, but some input was damaged or unreadable
  4    a report, the state or the summary could not be written
  5    another run uses the state
  130  stopped by SIGINT (Ctrl-C); nothing was reported
  141  standard output was closed (broken pipe)
  143  stopped by SIGTERM; nothing was reported";

/// After `block -h`.
pub(super) const BLOCK_SHORT: &str = "\
Examples:
  probewatch block --format nft -o block.nft /srv/reports/latest
  probewatch block --since 24h /var/log/nginx/
'probewatch block --help' shows the formats, who is never listed, and exit codes.";

/// After `block --help`.
pub(super) const BLOCK_LONG: &str = "\
Examples:
  Sets for nftables, from the newest report:
    probewatch block --format nft -o block.nft /srv/reports/latest && nft -f block.nft
  The same, kept fresh by 'report':
    probewatch report --state S --out O --block-out block.nft --block-format nft /var/log/nginx/
  Abuse reports, a text for each network:
    probewatch block --format abuse-mail --geoip GeoLite2-ASN.mmdb /srv/reports/latest

Formats:
  plain       an address or network a line; # starts a comment
  nft         sets block4 and block6 of the table inet probewatch, for 'nft -f'
  ipset       sets probewatch4 and probewatch6, for 'ipset restore'
  nginx       deny lines; nginx-geo is a geo block with $probewatch_block, for long lists
  apache      a RequireAll block with 'Require not ip'
  crowdsec    CSV for 'cscli decisions import'
  fail2ban    a log for a jail whose filter is 'probewatch: block <ADDR>'
  abuseipdb   CSV for its bulk report: FILE, and FILE-2 and so on where it has a limit
  abuse-mail  text for a mail to each network: by AS with --geoip, else by /24 or /64
  csv         everything that is known of each entry

Who is never listed:
  Private and reserved addresses, those of this host, of --allow, --trusted-proxy, --verified-bots
  and --proxy-ranges (Cloudflare and Fastly are built in); clients whose address is uncertain; an
  address that makes nearly all requests and may be a proxy, unless --trusted-proxy names the
  proxies; clients with more than --max-cost ordinary requests, or more of them than probes. Nor
  those whose fewer than ten probed paths a page of others may have made their browser request. Of
  IPv6 the /64 is listed.

A list replaces the one before it: an empty one clears the set. Why it is empty is printed on standard
error. Without any readable line, none is written. Lists of the same logs are equal but for the
durations of crowdsec. Precedence is that of 'probewatch scan --help'.

Exit codes:
  0    all input was read and the list written
  2    the command line, the environment, the configuration, a rule or a report is wrong
  3    some input was damaged, unreadable, or had no line that can be parsed
  4    the list could not be written
  130  stopped by SIGINT (Ctrl-C)
  141  standard output was closed (broken pipe)
  143  stopped by SIGTERM";

/// After `explain -h`.
pub(super) const EXPLAIN_SHORT: &str = "\
Examples:
  probewatch explain 'GET /cgi-bin/.%2e/.%2e/bin/sh'
  probewatch explain access.log.2.gz:1047
  probewatch explain --in access.log \"$(grep -m1 'GET /.env' access.log)\"
  probewatch explain --rule dotfiles/env 'GET /.environment'";

/// After `explain --help`.
pub(super) const EXPLAIN_LONG: &str = "\
Examples:
  Why does this match?
    probewatch explain 'GET /cgi-bin/.%2e/.%2e/bin/sh'
    probewatch explain access.log.2.gz:1047
  Which grade has this answer, and from what evidence?
    probewatch explain access.log:1047
    probewatch explain --in access.log \"$(grep -m1 'GET /.env' access.log)\"
  Why does my rule not match?
    probewatch explain --rules my.toml --rule mine/old-admin 'GET /old-administrator'
  Many lines, for a program:
    grep ' 500 ' access.log | probewatch explain -f json - | jq -c '[.target, .matches[].rule]'

Put a line in single quotes, because it contains double quotes. Put -- before one that starts with '-'.

The grade of an answer:
  A hit of a rule that exposes something, answered with 2xx or 304, has a grade: distinct, uncertain
  or soft_404. ANSWER shows the grade and the evidence: how many probed paths the site answered and
  refused, the sizes it gives to anything, how GET of the path was refused, and other paths that got
  the same size. That needs a scan of the whole log: the file of FILE:LINE, or the LOG of --in. In
  JSON it is the object answer, which is null for any other request; its grade is null without a log.

Exit codes:
  0    explained, whether a rule matches or not
  2    the command line, the environment, the configuration or a rule is wrong
  3    the input or the log cannot be read, or is damaged
  4    the explanation could not be written
  141  standard output was closed (broken pipe)";

/// After `formats --help`.
pub(super) const FORMATS: &str = "\
Examples:
  probewatch formats
  probewatch formats /var/log/nginx/access.log
  probewatch formats --log-format '$remote_addr [$time_iso8601] \"$request\" $status' my.log
  kubectl logs ingress | probewatch formats -

Exit codes:
  0    every log has a known format
  2    the command line, the environment or the configuration is wrong
  3    a log cannot be read, or has no known format
  4    the output could not be written
  141  standard output was closed (broken pipe)";

/// After `learn -h`.
pub(super) const LEARN_SHORT: &str = "\
Examples:
  probewatch learn /var/log/nginx/
  probewatch learn --emit-rules learned.toml access.log
  probewatch scan --rules learned.toml access.log
Nothing is applied: review the rules first. 'probewatch learn --help' shows who is a prober.";

/// After `learn --help`.
pub(super) const LEARN_LONG: &str = "\
Examples:
  Which paths do probers request that no rule matches?
    probewatch learn /var/log/nginx/
  The same as rules, to review, to test and to use:
    probewatch learn --emit-rules learned.toml /var/log/nginx/
    probewatch rules test learned.toml
    probewatch scan --rules learned.toml /var/log/nginx/

Who is a prober:
  A client whose requests match rules on at least three paths and are a fourth of its requests or
  more; or on two paths, and half of its requests. Rules on agents and methods do not count.

What is proposed:
  A path that at least --min-probers of them requested, that no other client got (2xx or 3xx), and
  for which there are two probers for each other client that requested it without success. Pages
  that are linked, pages that many clients got, assets, /, /robots.txt and the like are never
  proposed.

Memory grows by up to 20 bytes for each pair of a client and a path that no rule matches, and by
about 250 bytes for each such path.

Precedence and exit codes are those of 'probewatch scan --help'.";

/// After `merge -h`.
pub(super) const MERGE_SHORT: &str = "\
Examples:
  probewatch merge web1.json web2.json
  probewatch merge -f csv --by client -o month.csv /srv/reports/2026-11-*/
'probewatch merge --help' shows what is merged, and the exit codes.";

/// After `merge --help`.
pub(super) const MERGE_LONG: &str = "\
Examples:
  Two hosts as one:
    probewatch scan -f json -o web1.json web1/access.log
    probewatch scan -f json -o web2.json web2/access.log
    probewatch merge web1.json web2.json
  A month, one row per client, from the folders of 'probewatch report':
    probewatch merge -f csv --by client -o month.csv /srv/reports/2026-11-*/
  The parts of a large log, on as many hosts as there are parts, as one report:
    probewatch scan -f partial --range 0-512M -o 1.partial access.log
    probewatch scan -f partial --range 512M- -o 2.partial access.log
    probewatch merge 1.partial 2.partial
  A report that can be merged again:
    probewatch merge -f json -o week.json monday.json tuesday.json wednesday.json

The result:
  Byte-identical to one scan of all the logs, in any order and grouping. Logs of the same path are
  one log, unless their reports name different hosts. Secrets that a report masks stay masked. Hits of
  a rule that this probewatch does not know are printed as in the report, with a warning.
  Ranges of a log (scan --range) become one input, with the line numbers of the whole log. The same
  ranges given twice count once. A range that is missing or overlaps another is an error; with
  -f partial, one may be missing, because the result is merged again.

Precedence is that of 'probewatch scan --help'.

Exit codes:
  0    all input was read and all output written
  1    only with --fail-on: there is a finding at or above its level
  2    the command line, the environment, the configuration, a rule or a report is wrong
  3    finished, but some input of the reports was damaged or unreadable
  4    the output could not be written
  141  standard output was closed (broken pipe)";

/// After `diff -h`.
pub(super) const DIFF_SHORT: &str = "\
Examples:
  probewatch diff yesterday.json today.json
  probewatch diff -f csv /srv/reports/2026-11-19 /srv/reports/2026-11-20
'probewatch diff --help' shows what is compared.";

/// After `diff --help`.
pub(super) const DIFF_LONG: &str = "\
Examples:
  What is new today?
    probewatch diff yesterday.json today.json
  Only answers, from high on, for a program:
    probewatch diff -f json --min-severity high --outcome answered old.json new.json
  Two days as 'probewatch report --daily' wrote them:
    probewatch diff /srv/reports/2026-11-19 /srv/reports/2026-11-20

What is compared:
  Both reports are made again by the same rules and flags, so only the logs can differ. A row is an
  answer (a path that answered, with its host in front), a rule, a path or a client; its change is
  new, more, fewer or gone. Without a difference the output is 'No difference.', a CSV with only the
  header, or an empty list.

What became of an answer that is not in the new report:
  refused        the path was requested and refused (401, 403, 404, 407, 410, 444, 451, GET with 405)
  unanswered     it was requested and neither answered nor refused (3xx, 5xx, other 4xx)
  soft_404       it gets what the site gives to anything
  uncertain      its answer may be a soft 404 or the file, so the file may still be there
  ordinary       it is answered, and no reported rule says that this exposes something: an app's page
  not_requested  no hit is for it, so it may still be there
  If several apply, the worst is printed. status_after in CSV and JSON is the most frequent status for
  it in the new report.

Precedence is that of 'probewatch scan --help'.

Exit codes:
  0    compared, with or without a difference
  2    the command line, the environment, the configuration, a rule or a report is wrong
  4    the output could not be written
  141  standard output was closed (broken pipe)";

/// After `verify -h`.
pub(super) const VERIFY_SHORT: &str = "\
Examples:
  probewatch verify --site https://example.com --dry-run /srv/reports/latest
  probewatch verify --site https://example.com /srv/reports/latest
'probewatch verify --help' shows what is sent, what is never sent, and the exit codes.";

/// After `verify --help`.
pub(super) const VERIFY_LONG: &str = "\
Examples:
  Which URLs would be requested?
    probewatch verify --site https://example.com --dry-run /srv/reports/latest
  Is the leak closed?
    probewatch verify --site https://example.com /srv/reports/latest
  Of a log, in a script:
    probewatch verify --site https://example.com -q -f json -o fixed.json access.log

What is sent:
  GET by the system's curl, with its proxies (https_proxy) and certificates, without cookies and
  .netrc: at most one request a second and 200 in all. Beside the paths of one folder and ending,
  two names that do not exist are requested. Of an answer, at most 64 KiB are read, and status, size
  and kind are kept.
  Your own log will have these requests, from your own address, with the agent
  probewatch-verify/VERSION. The agent excuses nothing: a file of --allow that names your address
  does.

What is never sent:
  A query, a payload, a disguise, a method other than GET; paths of rules on web shells, code
  execution and logins; names of installers, and of pages that end a session. A path with a masked
  secret is listed and not requested. Nothing goes to another host: a redirect is reported, not
  followed.

What came of a path:
  still given    a 2xx, unlike what the two names that do not exist got
  like any path  the site gives the same to anything
  refused        a 4xx, or no content
  redirected     a 3xx, with its target; one to the same path elsewhere shows nothing
  no answer      no connection, no whole answer within 20 s, a 407, a 429 or a 5xx
  not requested  its secret is masked, or --max-requests was reached

The result of a report.json is saved as verified.json in its folder, for its owner alone, and the
index of 'report --html' shows it. A day's folder that 'report' replaces loses it. Precedence is
that of 'probewatch scan --help'.

Exit codes:
  0    nothing is still given
  1    something is still given
  2    the command line, the configuration, a rule or a report is wrong, or there is no curl
  3    some path got no answer, was not requested or leads to itself, or some input was damaged
  4    the result could not be written
  130  stopped by SIGINT (Ctrl-C)
  141  standard output was closed (broken pipe)
  143  stopped by SIGTERM";

/// After `rules --help`.
pub(super) const RULES: &str = "\
Examples:
  probewatch rules list --class webshell
  probewatch rules show dotfiles/env
  probewatch rules test my.toml
  probewatch rules add /old-admin.php --class panel
  probewatch rules lint my.toml
  probewatch rules export rules-2026-12";

/// After `rules add --help`.
pub(super) const ADD: &str = "\
Examples:
  probewatch rules add /old-admin.php --class panel
  probewatch rules add /backup.sql /db.sql --class backup --severity high --file my.toml
  probewatch scan --rules my.toml access.log";

/// After `rules import --help`.
pub(super) const IMPORT: &str = "\
Examples:
  probewatch rules import paths.txt --file paths.toml
  probewatch rules import sigma/rules/web/webserver_generic --file sigma.toml
  probewatch rules import --from nuclei http/cves/2021 > nuclei.toml";

/// After `rules lint --help`.
pub(super) const LINT: &str = "\
Examples:
  probewatch rules lint
  probewatch rules lint my.toml paths.txt";

/// After `completions --help`.
pub(super) const COMPLETIONS: &str = "\
Examples:
  probewatch completions bash > ~/.local/share/bash-completion/completions/probewatch
  probewatch completions fish > ~/.config/fish/completions/probewatch.fish";

/// After `schema --help`.
pub(super) const SCHEMA: &str = "\
Examples:
  probewatch schema | less
  probewatch schema csv
  probewatch schema json > report.schema.json
The hits of -f ecs and -f ocsf are described by ECS 9.4.0 and OCSF 1.5.0.";

/// After `man --help`.
pub(super) const MAN: &str = "\
Examples:
  probewatch man | man -l -
  probewatch man finds | man -l -
  probewatch man > /usr/local/share/man/man1/probewatch.1";

/// Prints help and version on standard output, and an error on standard error.
#[must_use]
pub(super) fn print_error(error: clap::Error) -> Exit {
    let error = sanitize_error(error);
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            match check_stdout().and_then(|()| error.print()) {
                Ok(()) => Exit::Success,
                Err(failure) => stdout::failed(&failure),
            }
        }
        _ => {
            let _ = error.print();
            Exit::Usage
        }
    }
}

/// Escapes what clap quotes of the command line, and drops suggestions of hidden flags.
fn sanitize_error(mut error: clap::Error) -> clap::Error {
    let quoted: Vec<(ContextKind, ContextValue)> = error
        .context()
        .filter_map(|(kind, value)| match value {
            ContextValue::String(text) => Some((kind, ContextValue::String(sanitized(text)))),
            ContextValue::Strings(texts) => Some((
                kind,
                ContextValue::Strings(texts.iter().map(|t| sanitized(t)).collect()),
            )),
            _ => None,
        })
        .collect();
    for (kind, value) in quoted {
        error.insert(kind, value);
    }
    if let Some(ContextValue::String(flag)) = error.get(ContextKind::SuggestedArg)
        && is_hidden(&super::complete_command(), flag)
    {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Suggested);
    }
    // A log without a command is meant for `scan`.
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && Path::new(typed).exists()
    {
        let tip = format!("to report the probes in it, type 'probewatch scan {typed}'");
        error.remove(ContextKind::SuggestedSubcommand);
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![tip.into()]),
        );
    }
    error
}

/// Whether this is a hidden flag of the command or of one of its subcommands.
fn is_hidden(command: &Command, flag: &str) -> bool {
    let is_flag = |argument: &Arg| argument.get_long() == flag.strip_prefix("--");
    command
        .get_arguments()
        .any(|argument| argument.is_hide_set() && is_flag(argument))
        || command
            .get_subcommands()
            .any(|command| is_hidden(command, flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    #[test]
    fn a_hidden_flag_is_not_suggested() {
        let text = |flag: &str| {
            let error = cli::parse(["probewatch", "scan", flag, "x"].map(OsString::from))
                .expect_err("a mistake");
            sanitize_error(error).render().to_string()
        };
        for flag in ["--nope", "--no-prefilte", "--no-prefix"] {
            assert!(
                !text(flag).contains("prefilter") && text(flag).contains(flag),
                "{}",
                text(flag)
            );
        }
        assert!(
            text("--no-buildin").contains("--no-builtin"),
            "{}",
            text("--no-buildin")
        );
    }

    #[test]
    fn an_error_quotes_nothing_unescaped() {
        for args in [
            vec!["--\u{1b}[2Jx"],
            vec!["scan", "--top", "\u{1b}[2J"],
            vec!["scan", "-f", "\u{1b}[2J"],
            vec!["\u{1b}[2J"],
        ] {
            let all = std::iter::once("probewatch")
                .chain(args.iter().copied())
                .map(OsString::from);
            let error = cli::parse(all).expect_err("a mistake");
            let text = sanitize_error(error).render().to_string();
            assert!(!text.contains('\u{1b}') && text.contains("\\x1b"), "{text}");
        }
    }
}
