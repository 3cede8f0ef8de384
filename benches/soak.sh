#!/usr/bin/env bash
# Lets `probewatch follow` read a busy log that is rotated every ten seconds, for MINUTES (20) at RATE lines a second
# (20,000), and judges what it did. Ends with 1 when something is not as it should be.
set -eu

. "$(dirname -- "$0")/built.sh"
bench=$(built follow bench --bench follow --no-run)
probewatch=$(built probewatch build --release)
exec "$bench" soak "$probewatch" "${MINUTES:-20}" "${RATE:-20000}"
