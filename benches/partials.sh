#!/usr/bin/env bash
# Cuts a log into ranges, or the logs of a folder into hours, scans each part as a partial report, and merges 1, 2, 4 ... of them: bytes,
# seconds and memory. Ends with 1 if the merge of all differs from one scan, takes longer than the scans, or needs more than 256 MB. A
# scan has one thread, like a task of a cluster. All seconds are those of processors, so other programs change them little.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: benches/partials.sh LOG [COUNT]" >&2
    echo "       benches/partials.sh FOLDER [COUNT]" >&2
    echo "  LOG     a plain access log, cut into ranges" >&2
    echo "  FOLDER  access logs, plain or gzip, cut into the hours of their lines, and repeated some years later up to COUNT" >&2
    echo "  COUNT   the number of ranges or hours [default: 64, or 10000 hours]" >&2
    exit 2
fi
log=$(realpath -- "$1")
count=${2:-$([ -d "$log" ] && echo 10000 || echo 64)}
if [ -z "${PROBEWATCH:-}" ]; then
    . "$(dirname -- "$0")/built.sh"
    PROBEWATCH=$(built probewatch build --release)
fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"

# Runs a command. Then `took` is the seconds of processors that it and its children used, `memory` the MB of the largest process.
measure() {
    /usr/bin/time -f '%U %S %M' -o usage "$@"
    took=$(awk '{ printf "%.2f", $1 + $2 }' usage) memory=$(awk '{ printf "%d", $3 / 1024 }' usage)
}

# Writes a file for each hour of the log in standard input: its lines may be in any order. $1 begins the names, $2 is added to the year.
hours() {
    LC_ALL=C awk -v name="hours/$1" -v years="$2" 'match($0, /\[[0-9][0-9]\/[A-Z][a-z][a-z]\/[0-9][0-9][0-9][0-9]:[0-9][0-9]:/) {
        day = substr($0, RSTART + 1, 2) substr($0, RSTART + 4, 3); year = substr($0, RSTART + 8, 4) + years
        $0 = substr($0, 1, RSTART + 7) year substr($0, RSTART + 12); file = name "-" year day "-" substr($0, RSTART + 13, 2) ".log"
        if (file != open) { close(open); open = file }
        print >> file
    }'
}

if [ -d "$log" ]; then
    mkdir hours
    for ((years = 0; $(find hours -type f | wc -l) < count; years++)); do
        site=0
        for part in "$log"/*; do zcat -f -- "$part" | hours "$((site += 1))" "$years"; done
    done
    find hours -type f | sort | tail -n "+$((count + 1))" | xargs -r rm
    logs=(hours/*)
    for ((n = 0; n < count; n++)); do printf -- '-o %06d %s\n' "$n" "${logs[n]}"; done > parts
else
    ln -s "$log" log
    logs=(log)
    bytes=$(stat -L -c %s log)
    for ((n = 0; n < count; n++)); do
        printf -- '-o %06d --range %d-%d log\n' "$n" $((bytes * n / count)) $((bytes * (n + 1) / count))
    done > parts
fi

measure xargs -a parts -L 1 -P "$(nproc)" "$PROBEWATCH" scan -q --threads 1 -f partial
scanned=$took
echo "$count parts of $(cat "${logs[@]}" | wc -c) bytes: $scanned s to scan, $(cat 0* | wc -c) bytes of partial reports"

echo "partials  bytes in  bytes out  seconds  MB"
failed=0
for ((n = 1; ; n *= 2)); do
    ((n < count)) || n=$count
    parts=(0*)
    parts=("${parts[@]:0:n}")
    measure "$PROBEWATCH" merge -q -f partial -o merged "${parts[@]}"
    printf '%8d %9d %10d %8s %3d\n' "$n" "$(cat "${parts[@]}" | wc -c)" "$(wc -c < merged)" "$took" "$memory"
    ((memory < 256)) || { echo "more than 256 MB" >&2; failed=1; }
    ((n < count)) || break
done
awk -v merge="$took" -v scan="$scanned" 'BEGIN { exit !(merge < scan) }' || { echo "the merge took longer than the scans" >&2; failed=1; }
measure "$PROBEWATCH" scan -q --threads 1 -f partial -o whole "${logs[@]}"
echo "one scan of all, in one thread: $took s, $memory MB"
cmp merged whole || failed=1
exit "$failed"
