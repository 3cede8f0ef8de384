#!/usr/bin/env bash
# Writes the man pages, the completions of four shells and the example for cron that packages contain:
# samples/debian/documents.sh PROGRAM FOLDER. The folder is replaced.
set -euo pipefail

program=$(realpath "$1")
out=$2
here=$(dirname "$(realpath "$0")")
umask 022
rm -rf "$out"
mkdir -p "$out/man" "$out/completions"

"$program" man > "$out/man/probewatch.1"
for command in $("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\{1,\}\)  .*/\1/p' | grep -vx help); do
    "$program" man "$command" > "$out/man/probewatch-$command.1"
done
gzip -9n "$out"/man/*

"$program" completions bash > "$out/completions/probewatch"
"$program" completions zsh > "$out/completions/_probewatch"
"$program" completions fish > "$out/completions/probewatch.fish"
"$program" completions elvish > "$out/completions/probewatch.elv"

# With the user and the folders of the package.
paths='--config /etc/probewatch/probewatch.toml --state /var/lib/probewatch-report --out /var/log/probewatch-report --keep 90d'
sed -e '/^# *cp /s|samples/probewatch.cron|/usr/share/doc/probewatch/examples/probewatch.cron|' \
    -e "s|root probewatch report .*|probewatch probewatch report $paths|" "$here/../probewatch.cron" > "$out/probewatch.cron"
