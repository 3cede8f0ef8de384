#!/usr/bin/env bash
# Runs `probewatch report` for every hour of a week on the logs of some sites, replayed by their own times, with a rotation
# every day, and checks the reports. Exits with 1 if something is wrong.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: benches/week.sh LOG..." >&2
    echo "  LOG  the access log of a site, plain or packed; its first week is used" >&2
    exit 2
fi
# Paths of logs are relative to the caller's folder.
logs=()
for log in "$@"; do
    logs+=("$(realpath -- "$log")")
done
. "$(dirname -- "$0")/built.sh"
week=$(built week bench --bench week --no-run)
probewatch=$(built probewatch build --release)
exec "$week" replay "$probewatch" "${logs[@]}"
