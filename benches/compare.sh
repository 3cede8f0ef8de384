#!/usr/bin/env bash
# Times whole processes side by side, each in turn so that a busy moment hits them all, and prints medians and their ratios.
# It measures and changes nothing: no cache is dropped, no result is written.
set -eu

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
    echo "usage: benches/compare.sh LOG [WORDS]" >&2
    echo "  LOG    an access log, the larger the better" >&2
    echo "  WORDS  a file of words, one per line: rg searches for them, if it is installed" >&2
    exit 2
fi
# The log is relative to the caller's folder, the build to the root of the crate.
log=$(realpath -- "$1")
words=${2:+$(realpath -- "$2")}
. "$(dirname -- "$0")/rounds.sh"
. "$(dirname -- "$0")/built.sh"
rounds=7

newlines=$(built newlines bench --bench newlines --no-run)
probewatch=$(built probewatch build --release)

names=("probewatch scan -q" "newlines 2" "wc -l")
if [ -n "$words" ] && command -v rg > /dev/null; then
    names+=("rg -c -F -f")
elif [ -n "$words" ]; then
    echo "rg is not installed: skipped" >&2
fi

run() {
    case $1 in
        0) "$probewatch" scan -q -- "$log" ;;
        1) "$newlines" 2 "$log" ;;
        2) wc -l -- "$log" ;;
        # rg exits with 1 if nothing matches.
        3) rg -c -F -f "$words" -- "$log" || [ $? -eq 1 ] ;;
    esac > /dev/null
}

times=$(mktemp)
trap 'rm -f -- "$times"' EXIT
time_in_turn "${#names[@]}" "$rounds" "$times"

bytes=$(wc -c < "$log")
echo "$bytes bytes, median of $rounds rounds, $(getconf _NPROCESSORS_ONLN) cores"
first=
for i in "${!names[@]}"; do
    median=$(median_of "$i" "$times")
    first=${first:-$median}
    awk -v name="${names[$i]}" -v ns="$median" -v first="$first" -v bytes="$bytes" 'BEGIN {
        printf "%-20s %9.1f ms  %7.2f GB/s  probewatch takes %.2f times as long\n", name, ns / 1e6, bytes / ns, first / ns }'
done
