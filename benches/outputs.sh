#!/usr/bin/env bash
# Times what people run, next to `wc -l` of the same log: each output of a scan, a first report, a report of little news, and the
# merge of daily reports. All run in turn, so that a busy moment affects each of them.
set -eu

usage() {
    cat >&2 <<'USAGE'
usage: benches/outputs.sh LOG
  LOG    an access log, of 1 GB or so
From the environment:
  ROUNDS      how often each command is timed (7)
  DAYS        the daily reports that are merged (31)
  PROBEWATCH  the path of a built command, so that none is built here
USAGE
    exit 2
}

[ $# -eq 1 ] || usage
log=$(realpath -- "$1")
rounds=${ROUNDS:-7}
days=${DAYS:-31}
probewatch=${PROBEWATCH:+$(realpath -- "$PROBEWATCH")}
. "$(dirname -- "$0")/rounds.sh"
. "$(dirname -- "$0")/built.sh"
probewatch=${probewatch:-$(built probewatch build --release)}
export LC_ALL=C

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# What an hour adds to a log that is known.
head -c 10000000 -- "$log" | sed '$d' > "$folder/hour.log"
cp -- "$log" "$folder/live.log"
"$probewatch" report --state "$folder/known" --out "$folder/before" "$folder/live.log" > /dev/null
cat "$folder/hour.log" >> "$folder/live.log"
# A day has a tenth of the log: its reports are merged like those of a month.
size=$(wc -c < "$log")
for day in $(seq "$days"); do
    tail -c "+$((day * size / (days + 1) / 10 * 9 / 10 + 1))" -- "$log" | head -c "$((size / 10))" | sed '1d;$d' |
        "$probewatch" scan -q -f json -o "$folder/day-$day.json" --source "day-$day.log" -
done
# Folders of reports that a round leaves, which the next one does not need.
rounds_done=0

names=("wc -l" "scan -q" "scan -q -f csv" "scan -q -f json --top 100" "scan -q -f json" "scan -q -f ndjson" "report, first run"
    "scan of 10 MB" "report, 10 MB new" "merge of $days reports")

run() {
    case ${names[$1]} in
        "wc -l") wc -l "$log" ;;
        "report, first run")
            rounds_done=$((rounds_done + 1))
            "$probewatch" report --state "$folder/state-$rounds_done" --out "$folder/out-$rounds_done" "$log"
            ;;
        "scan of 10 MB") "$probewatch" scan -q "$folder/hour.log" ;;
        "report, 10 MB new")
            rm -rf -- "$folder/state" "$folder/out"
            cp -r -- "$folder/known" "$folder/state"
            "$probewatch" report --state "$folder/state" --out "$folder/out" "$folder/live.log"
            ;;
        merge*) "$probewatch" merge "$folder"/day-*.json ;;
        *) "$probewatch" ${names[$1]} "$log" ;;
    esac > /dev/null
}

times=$(mktemp -p "$folder")
time_in_turn "${#names[@]}" "$rounds" "$times"

echo "$size bytes, median of $rounds rounds, $(getconf _NPROCESSORS_ONLN) cores; the daily reports have $(cat "$folder"/day-*.json | wc -c) bytes"
print_medians "$times"
"$probewatch" scan -q -f json -o "$folder/whole.json" "$log"
"$probewatch" scan -q -f csv -o "$folder/whole.csv" "$log"
echo "JSON: $(wc -c < "$folder/whole.json") bytes; CSV: $(wc -l < "$folder/whole.csv") lines"
