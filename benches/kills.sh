#!/usr/bin/env bash
# Kills `probewatch follow >>hits.ndjson` at random for MINUTES (120), while its log gets RATE (5,000) lines a second and is
# rotated at random: renamed, copied and truncated, renamed and packed. FOLLOWED is log/access.log, or log for the whole folder.
# Ends with 1 when a line of the logs is lost or reported twice, or a line of the output is torn.
# With PERIODS=daily or hourly it kills KILLS (3,000) runs of `probewatch report` instead, which replace the folders of periods.
set -eu

. "$(dirname -- "$0")/built.sh"
bench=$(built kills bench --bench kills --no-run)
probewatch=$(built probewatch build --release)
if [ -n "${PERIODS:-}" ]; then
    exec "$bench" "$probewatch" report "$PERIODS" "${KILLS:-3000}"
fi
exec "$bench" "$probewatch" "${MINUTES:-120}" "${RATE:-5000}" "${FOLLOWED:-log/access.log}"
