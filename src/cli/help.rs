//! What the help says besides the flags: examples, precedence, exit codes.

/// After the help of `probewatch`.
pub(super) const ROOT: &str = "\
Examples:
  probewatch scan /var/log/nginx/
  probewatch follow /var/log/nginx/access.log
  probewatch report --state /var/lib/probewatch --out /srv/reports /var/log/nginx/
  probewatch explain 'GET /cgi-bin/.%2e/.%2e/bin/sh'
  probewatch learn /var/log/nginx/
  probewatch scan --help";

/// After `scan -h`.
pub(super) const SCAN_SHORT: &str = "\
Examples:
  probewatch scan /var/log/nginx/
  probewatch scan --since 24h --outcome answered access.log
  ssh web1 cat /var/log/apache2/access.log | probewatch scan -f csv -o probes.csv

Each flag is also a variable (--top is PROBEWATCH_TOP) and a key of the --config file.
'probewatch scan --help' says more, and lists the exit codes.";

/// After `scan --help`.
pub(super) const SCAN_LONG: &str = "\
Answers with content have a grade:
  distinct     nothing else on the site explains it; WHAT ANSWERED shows these alone
  uncertain    a few other paths got about the same content; shown only where --full is given
  soft_404     the site gives the same to any path, its home page or an error page with status 200
  probewatch explain shows why an answer has its grade.

Examples:
  What probes came by, and what answered them?
    probewatch scan /var/log/nginx/
  Only what was answered since yesterday:
    probewatch scan --since 24h --outcome answered access.log
  Every log that the server writes, in the formats that its configuration says:
    probewatch scan --from-nginx
  From another machine, as CSV, one row a client:
    ssh web1 cat /var/log/apache2/access.log | probewatch scan -f csv --by client -o clients.csv
  In a script, with rules of your own:
    probewatch scan -q --rules my.toml --fail-on high 'logs/*.gz' || notify

Precedence:
  1. the flag                    --min-severity high
  2. the environment variable    PROBEWATCH_MIN_SEVERITY=high
  3. the file of --config        min-severity = \"high\"
  4. the default
  A list replaces the list below it. In a variable, lists are separated by commas, switches are
  1 or 0, and an empty one counts as unset. The file is named with --config or PROBEWATCH_CONFIG
  and never searched for.

Exit codes:
  0    everything that was asked for was read and written
  1    only with --fail-on: something at or above its level was found
  2    the command line, the environment, the configuration or a rule is wrong
  3    finished, but some input was damaged, unreadable, or held no line that parses
  4    an output could not be written
  130  stopped by SIGINT (Ctrl-C)
  141  nobody reads standard output any more
  143  stopped by SIGTERM";

/// After `follow -h`.
pub(super) const FOLLOW_SHORT: &str = "\
Examples:
  probewatch follow /var/log/nginx/access.log
  probewatch follow --tui /var/log/nginx/
  probewatch follow -f ndjson --state /var/lib/probewatch /var/log/nginx/ | ship-it

Ctrl-C ends it with a summary. 'probewatch follow --help' says more.";

/// After `follow --help`.
pub(super) const FOLLOW_LONG: &str = "\
Examples:
  Hits as they happen:
    probewatch follow /var/log/nginx/access.log
  What is there, then what comes, in one go:
    probewatch follow --from-start /var/log/nginx/
  For a program, every hit once, also after a restart or a crash:
    probewatch follow -f ndjson --state /var/lib/probewatch /var/log/nginx/
  Alerts for a program of yours:
    probewatch follow --exec /usr/local/bin/notify /var/log/nginx/

What it promises:
  Every line that still exists on disk is read once, through every rotation: create, copytruncate,
  rename, compress, late writes, restarts. Only lines that copytruncate itself destroys are lost.
  With --state, hits are told at least once, each with an id that is the same when it is told
  again; after a clean stop exactly once.

Alerts:
  probing    a client asked for many different probe paths within minutes
  answered   a probe was answered, and the answer means something
  campaign   many clients asked for the same unusual paths within minutes
  threshold  a rule's own 'window' was filled: a flood of log-ins, say; scan and report find the same
  They stand out among the lines, and go to --exec, --alert-file and --syslog. As JSON an alert has
  kind, severity, first_time, last_time, client, path (null where it is about many), hits, clients,
  paths, rules, classes, cve, sample {id, source, line, method, target, status, outcome}, rule (whose
  threshold it was) and text.

Signals:
  INT, TERM  finish the line, note how far it came, print the summary; a second one ends at once
  HUP        read the rules again; the old ones stay where the new are broken
  USR1       print the summary and go on

Exit codes:
  2    the command line, the environment, the configuration, a rule or the state is wrong
  4    an output or the state could not be written
  5    another run holds the state
  130  ended by SIGINT (Ctrl-C)
  141  nobody reads standard output any more
  143  ended by SIGTERM";

/// After `report -h`.
pub(super) const REPORT_SHORT: &str = "\
Examples:
  probewatch report --state /var/lib/probewatch --out /srv/reports /var/log/nginx/
  probewatch report --state /var/lib/probewatch --out /srv/reports --daily --keep 90d access.log
  probewatch report --state /var/lib/probewatch --status

'probewatch report --help' says what the files are, what is promised, and the exit codes.";

/// After `report --help`.
pub(super) const REPORT_LONG: &str = "\
Examples:
  From cron, each hour; silent unless there is something to say:
    7 * * * *  probewatch report --state /var/lib/probewatch --out /srv/reports /var/log/nginx/
  A folder a day, kept for three months:
    probewatch report --state S --out O --daily --timezone Europe/Berlin --keep 90d access.log
  How far did it read, and what would it say now?
    probewatch report --state S --status
    probewatch report --state S --dry-run /var/log/nginx/
  The reports of a month, or of many machines, as one:
    probewatch merge /srv/reports/2026-11-*/report.json
  What is different from yesterday?
    probewatch diff /srv/reports/2026-11-20/report.json /srv/reports/2026-11-21/report.json

Files of a folder:
  summary.txt   for people: what answered, what is new, floods, who asked most, whom one could block
  answered.csv  what was answered, and the answer means something
  new.csv       answers, rules, paths, clients and campaigns that were never seen before
  pairs.csv, clients.csv, paths.csv, rules.csv   as 'scan -f csv --by' prints them; clients.csv
                says besides whom one could block, why or why not, and who else is in that network
  report.json   all of it; what 'merge' and 'diff' read

What it promises:
  Killed at any instant, the reports of all runs hold every line once. A folder is there whole or
  not at all. Rotated, packed and renamed logs are known by their text. A last line that is not
  finished waits for the next run. A log that cannot be read hides no other.

Blocking:
  Only public addresses are named, never private ones, those of this machine, of --allow or of
  --trusted-proxy; and always with the ordinary requests that a block would cost. Nothing is
  blocked: the list is yours to read.

Precedence is that of 'probewatch scan --help'.

Exit codes:
  0    the new lines were read and reported, or there were none
  2    the command line, the environment, the configuration, a rule or the state is wrong
  3    reported, but some input was damaged or unreadable
  4    a report, the state or the summary could not be written
  5    another run holds the state
  130  stopped by SIGINT (Ctrl-C); nothing was reported
  141  nobody reads standard output any more
  143  stopped by SIGTERM; nothing was reported";

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
  Why is this flagged?
    probewatch explain 'GET /cgi-bin/.%2e/.%2e/bin/sh'
    probewatch explain access.log.2.gz:1047
  How is this answer graded, and from what?
    probewatch explain access.log:1047
    probewatch explain --in access.log \"$(grep -m1 'GET /.env' access.log)\"
  Why is this not flagged, by this rule of mine?
    probewatch explain --rules my.toml --rule mine/old-admin 'GET /old-administrator'
  Many lines, for a program:
    grep ' 500 ' access.log | probewatch explain -f json - | jq -c '[.target, .matches[].rule]'

Quote a line with single quotes, for it holds double ones. One that begins with '-' goes behind --.

The grade of an answer:
  A hit of a rule that exposes something, answered with 2xx or 304, gets a grade: distinct, uncertain or
  soft_404. ANSWER says which and why: how many probed paths the site answered and refused, the sizes it
  gives to anything, how GET of the path was refused, and other paths that got the same size. That takes a
  scan of the whole log: the file of FILE:LINE, or the LOG of --in. In JSON it is the object answer; it is
  null for any other request, and its grade is null where no log is known.

Exit codes:
  0    explained, be there a match or none
  2    the command line, the environment, the configuration or a rule is wrong
  3    the input or the log cannot be read, or is damaged
  4    the explanation could not be written
  141  nobody reads standard output any more";

/// After `formats --help`.
pub(super) const FORMATS: &str = "\
Examples:
  probewatch formats
  probewatch formats /var/log/nginx/access.log
  probewatch formats --log-format '$remote_addr [$time_iso8601] \"$request\" $status' my.log
  kubectl logs ingress | probewatch formats -

Exit codes:
  0    every log is in a format that is known
  2    the command line, the environment or the configuration is wrong
  3    a log cannot be read, or is in no format that is known
  4    the answer could not be written
  141  nobody reads standard output any more";

/// After `learn -h`.
pub(super) const LEARN_SHORT: &str = "\
Examples:
  probewatch learn /var/log/nginx/
  probewatch learn --emit-rules learned.toml access.log
  probewatch scan --rules learned.toml access.log

Nothing is changed: the rules are yours to read first. 'probewatch learn --help' says more.";

/// After `learn --help`.
pub(super) const LEARN_LONG: &str = "\
Examples:
  What do probers ask for that no rule names?
    probewatch learn /var/log/nginx/
  The same as rules, to read, to test and to use:
    probewatch learn --emit-rules learned.toml /var/log/nginx/
    probewatch rules test learned.toml
    probewatch scan --rules learned.toml /var/log/nginx/

Who is a prober:
  A client that rules found asking for three paths at least, by a fourth of its requests or more;
  or for two, by half of them. What its agent or its method is like does not count.

What is proposed:
  A path that --min-probers of them asked for, that no other client got (2xx or 3xx), and for
  which two probers stand against each other client that asked in vain. Pages behind a link,
  pages that many clients got, assets, / and /robots.txt and the like are never proposed.

Memory grows with the distinct pairs of a client and a path that no rule names, by up to twenty
bytes each, and with those paths, by some 250 bytes each.

Precedence and exit codes are those of 'probewatch scan --help'.";

/// After `merge -h`.
pub(super) const MERGE_SHORT: &str = "\
Examples:
  probewatch merge web1.json web2.json
  probewatch merge -f csv --by client -o month.csv /srv/reports/2026-11-*/

'probewatch merge --help' says more, and lists the exit codes.";

/// After `merge --help`.
pub(super) const MERGE_LONG: &str = "\
Examples:
  Two machines as one:
    probewatch scan -f json -o web1.json web1/access.log
    probewatch scan -f json -o web2.json web2/access.log
    probewatch merge web1.json web2.json
  A month, a row a client, from the folders that 'probewatch report' wrote:
    probewatch merge -f csv --by client -o month.csv /srv/reports/2026-11-*/
  A report that can be merged again:
    probewatch merge -f json -o week.json monday.json tuesday.json wednesday.json

What comes of it:
  The bytes that one scan of all the logs would have given, in whatever order and groups reports are
  added up. Logs of the same path are one, unless their reports name different machines. Secrets are
  masked in reports, and stay so. Hits of a rule that this probewatch does not know are told as the
  report has it, with a warning.

Exit codes:
  0    everything was read and written
  1    only with --fail-on: something at or above its level was found
  2    the command line, the environment, the configuration, a rule or a report is wrong
  3    finished, but the reports tell of input that was damaged or unreadable
  4    the output could not be written
  141  nobody reads standard output any more";

/// After `diff -h`.
pub(super) const DIFF_SHORT: &str = "\
Examples:
  probewatch diff yesterday.json today.json
  probewatch diff -f csv /srv/reports/2026-11-19 /srv/reports/2026-11-20

'probewatch diff --help' says more.";

/// After `diff --help`.
pub(super) const DIFF_LONG: &str = "\
Examples:
  What is new today?
    probewatch diff yesterday.json today.json
  Only what answers, from high on, for a program:
    probewatch diff -f json --min-severity high --outcome answered old.json new.json
  Two days as 'probewatch report --daily' wrote them:
    probewatch diff /srv/reports/2026-11-19 /srv/reports/2026-11-20

What is compared:
  Both reports are told anew, by the same rules and with the same flags, so what differs lies in the
  logs. A row is an answer (a path that answered, its host in front), a rule, a path or a client; its
  change is new, more, fewer or gone. Two reports that say the same give 'No difference.', a CSV of
  the header alone, or an empty list.

What became of an answer that is none in the new report:
  refused        the path was requested and refused (401, 403, 404, 407, 410, 444, 451, GET with 405)
  unanswered     it was requested and neither answered nor refused (3xx, 5xx, other 4xx)
  soft_404       it gets what the site answers to anything
  uncertain      its answer may be that or the file, so it may still be there
  ordinary       it is answered, and no reported rule says that this exposes anything: a page of an app
  not_requested  no hit is for it, so it may still be there
  Of several the one with the worst news counts. status_after in CSV and JSON is the commonest status
  that the new report has for it.

Exit codes:
  0    compared, whatever came of it
  2    the command line, the environment, the configuration, a rule or a report is wrong
  4    the output could not be written
  141  nobody reads standard output any more";

/// After `rules --help`.
pub(super) const RULES: &str = "\
Examples:
  probewatch rules list --class webshell
  probewatch rules show dotfiles/env
  probewatch rules test my.toml
  probewatch rules add /old-admin.php --class panel
  probewatch rules lint my.toml";

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
  probewatch schema json > report.schema.json";

/// After `man --help`.
pub(super) const MAN: &str = "\
Examples:
  probewatch man | man -l -
  probewatch man > /usr/local/share/man/man1/probewatch.1";
