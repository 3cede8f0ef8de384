#!/usr/bin/env bash
# Times logs of unusual shapes, next to `wc -l`: no two requests alike, a hit of another client and path in each line, many
# compressed logs, and many logs without news. All run in turn, so that a busy moment affects each of them.
set -eu

usage() {
    cat >&2 <<'USAGE'
usage: benches/shapes.sh LOG
  LOG    an access log in the combined format, of 300 MB or more
From the environment:
  ROUNDS      how often each command is timed (7)
  FILES       the logs without news (10000)
  PROBEWATCH  the path of a built command, so that none is built here
USAGE
    exit 2
}

[ $# -eq 1 ] || usage
log=$(realpath -- "$1")
rounds=${ROUNDS:-7}
files=${FILES:-10000}
probewatch=${PROBEWATCH:+$(realpath -- "$PROBEWATCH")}
. "$(dirname -- "$0")/rounds.sh"
. "$(dirname -- "$0")/built.sh"
probewatch=${probewatch:-$(built probewatch build --release)}
export LC_ALL=C

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

# 100 MB whose targets all end in a number of their own.
head -c 100000000 -- "$log" | awk -F '"' -v OFS='"' 'NF >= 3 {
    n = split($2, request, " ")
    if (n == 3) { $2 = request[1] " " request[2] (index(request[2], "?") ? "&" : "?") "v=" NR " " request[3]; print }
}' > "$folder/varied.log"
seq 700000 | awk '{ printf "%d.%d.%d.%d - - [02/Nov/2026:08:01:00 +0000] \"GET /%d/.env HTTP/1.1\" 404 9 \"-\" \"-\"\n",
    1 + $1 / 16777216, $1 / 65536 % 256, $1 / 256 % 256, $1 % 256, $1 }' > "$folder/distinct.log"
mkdir "$folder/packed"
for part in $(seq 30); do
    tail -c "+$(((part - 1) * 10000000 + 1))" -- "$log" | head -c 10000000 | gzip -1 > "$folder/packed/access.log.$part.gz"
done
mkdir "$folder/rest"
head -n "$files" -- "$log" | split -l 1 -a 6 -d --additional-suffix=.access.log - "$folder/rest/site-"
"$probewatch" report --state "$folder/state" --out "$folder/out" "$folder/rest" > /dev/null

names=("wc -l of varied requests" "scan of varied requests" "wc -l of distinct hits" "scan of distinct hits" "gzip -dc of 30 logs, 2 at once"
    "scan of 30 gzip logs" "report, $files logs at rest")

run() {
    case $1 in
        0) wc -l "$folder/varied.log" ;;
        1) "$probewatch" scan -q "$folder/varied.log" ;;
        2) wc -l "$folder/distinct.log" ;;
        3) "$probewatch" scan -q "$folder/distinct.log" ;;
        4) printf '%s\0' "$folder"/packed/* | xargs -0 -n 1 -P 2 gzip -dc ;;
        5) "$probewatch" scan -q "$folder/packed" ;;
        6) "$probewatch" report --state "$folder/state" --out "$folder/out" "$folder/rest" ;;
    esac > /dev/null
}

times=$(mktemp -p "$folder")
time_in_turn "${#names[@]}" "$rounds" "$times"

lines() { wc -l < "$folder/$1.log"; }
echo "$(lines varied) varied and $(lines distinct) distinct lines, median of $rounds rounds, $(getconf _NPROCESSORS_ONLN) cores"
print_medians "$times"
