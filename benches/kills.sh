#!/usr/bin/env bash
# Kills `probewatch follow >>hits.ndjson` at random for MINUTES (120), while its log gets RATE (5,000) lines a second and is
# rotated at random: renamed, copied and truncated, renamed and packed. Ends with 1 when a line of the logs is lost, reported
# twice, or a line of the output is torn.
set -eu

. "$(dirname -- "$0")/built.sh"
bench=$(built kills bench --bench kills --no-run)
probewatch=$(built probewatch build --release)
exec "$bench" "$probewatch" "${MINUTES:-120}" "${RATE:-5000}"
