#!/usr/bin/env bash
# Cuts a log into ranges, scans each as a partial report, and merges 1, 2, 4 ... of them: bytes, seconds and memory. Ends with 1 if
# the merge of all differs from one scan, takes longer than the scans, or needs more than 256 MB. A scan has one thread, like a task
# of a cluster.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: benches/partials.sh LOG [COUNT]" >&2
    echo "  LOG    a plain access log" >&2
    echo "  COUNT  the number of ranges [default: 64]; 10000 for many small ones" >&2
    exit 2
fi
log=$(realpath -- "$1")
count=${2:-64}
if [ -z "${PROBEWATCH:-}" ]; then
    . "$(dirname -- "$0")/built.sh"
    PROBEWATCH=$(built probewatch build --release)
fi
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"

bytes=$(stat -c %s -- "$log")
seconds() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", b - a }'; }
now() { date +%s.%N; }

start=$(now)
for ((n = 0; n < count; n++)); do
    "$PROBEWATCH" scan -q --threads 1 -f partial --range "$((bytes * n / count))-$((bytes * (n + 1) / count))" -o "$(printf %06d "$n")" "$log"
done
scanned=$(seconds "$start" "$(now)")
echo "$count ranges of $bytes bytes: $scanned s to scan, $(cat 0* | wc -c) bytes of partial reports"

echo "partials  bytes in  bytes out  seconds  MB"
failed=0
for ((n = 1; ; n *= 2)); do
    ((n < count)) || n=$count
    parts=(0*)
    parts=("${parts[@]:0:n}")
    start=$(now)
    /usr/bin/time -f %M -o memory "$PROBEWATCH" merge -q -f partial -o merged "${parts[@]}"
    took=$(seconds "$start" "$(now)")
    memory=$(($(cat memory) / 1024))
    printf '%8d %9d %10d %8s %3d\n' "$n" "$(cat "${parts[@]}" | wc -c)" "$(wc -c < merged)" "$took" "$memory"
    ((memory < 256)) || { echo "more than 256 MB" >&2; failed=1; }
    ((n < count)) || break
done
"$PROBEWATCH" scan -q --threads 1 -f partial -o whole "$log"
cmp merged whole || failed=1
awk -v merge="$took" -v scan="$scanned" 'BEGIN { exit !(merge < scan) }' || { echo "the merge took longer than the scans" >&2; failed=1; }
exit "$failed"
