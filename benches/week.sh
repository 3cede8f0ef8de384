#!/usr/bin/env bash
# Lets `probewatch report` run every hour of a week over the logs of some sites, replayed by their own times, with a rotation
# every day, and judges what it reported. Ends with 1 when something is not as it should be.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: benches/week.sh LOG..." >&2
    echo "  LOG  the access log of a site, plain or compressed; its first week is used" >&2
    exit 2
fi
# The logs are relative to the caller's folder.
logs=()
for log in "$@"; do
    logs+=("$(realpath -- "$log")")
done
. "$(dirname -- "$0")/built.sh"
week=$(built week bench --bench week --no-run)
probewatch=$(built probewatch build --release)
exec "$week" replay "$probewatch" "${logs[@]}"
