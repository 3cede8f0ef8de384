//! What the help says besides the flags: examples, precedence, exit codes.

/// After the help of `probewatch`.
pub(super) const ROOT: &str = "\
Examples:
  probewatch scan /var/log/nginx/
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
Examples:
  What probes came by, and what answered them?
    probewatch scan /var/log/nginx/
  Only what was answered since yesterday:
    probewatch scan --since 24h --outcome answered access.log
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

/// After `rules --help`.
pub(super) const RULES: &str = "\
Examples:
  probewatch rules list --class webshell
  probewatch rules show dotfiles/env
  probewatch rules test my.toml";

/// After `completions --help`.
pub(super) const COMPLETIONS: &str = "\
Examples:
  probewatch completions bash > ~/.local/share/bash-completion/completions/probewatch
  probewatch completions fish > ~/.config/fish/completions/probewatch.fish";

/// After `man --help`.
pub(super) const MAN: &str = "\
Examples:
  probewatch man | man -l -
  probewatch man > /usr/local/share/man/man1/probewatch.1";
