#!/usr/bin/env bash
# Lets `probewatch follow` watch a thousand logs that rest and one that does not: SECONDS_EACH (60) in which all rest, then
# as long at RATE lines a second (5,000) in the one, and judges what it did. Ends with 1 when something is not as it should be.
set -eu

. "$(dirname -- "$0")/built.sh"
bench=$(built follow bench --bench follow --no-run)
probewatch=$(built probewatch build --release)
exec "$bench" idle "$probewatch" "${SECONDS_EACH:-60}" "${RATE:-5000}"
