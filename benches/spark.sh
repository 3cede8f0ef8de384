#!/usr/bin/env bash
# Makes 20 GB of logs from those in a folder, half of it as 200 gzip files and half as one plain file, scans them with samples/spark on
# two executors, kills one of them half-way, and compares the bytes of the JSON and CSV with those of one scan. Ends with 1 if they
# differ. Needs Java and PySpark, and three fifths of the size on disk.
set -eu

if [ $# -lt 1 ]; then
    echo "usage: benches/spark.sh FOLDER [GB]" >&2
    echo "  FOLDER  real access logs, plain or gzip; more than one date makes more different lines" >&2
    echo "  GB      how much to make of them [default: 20]" >&2
    echo "From the environment: PROBEWATCH, a built command; SPARK_SUBMIT, the path of spark-submit; TMPDIR" >&2
    exit 2
fi
source=$(realpath -- "$1")
gigabytes=${2:-20}
submit=${SPARK_SUBMIT:-spark-submit}
program=$(dirname -- "$(realpath -- "$0")")/../samples/spark/probewatch_spark.py
if [ -z "${PROBEWATCH:-}" ]; then
    . "$(dirname -- "$0")/built.sh"
    PROBEWATCH=$(built probewatch build --release)
fi
export LC_ALL=C PROBEWATCH
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"
mkdir logs lines

# Four copies, some years later each, and 50 pieces of each copy: few enough clients and paths that counts are exact.
find "$source" -type f -print0 | sort -z | xargs -0 zcat -f > lines/0
for years in 1 2 3; do
    awk -v years=$years 'match($0, /\/20[0-9][0-9]:/) {
        $0 = substr($0, 1, RSTART) (substr($0, RSTART + 1, 4) + years) substr($0, RSTART + 5)
    } { print }' lines/0 > lines/$years
done
for years in 0 1 2 3; do
    split -n l/50 -d -a 3 lines/$years "lines/piece-$years-"
done

half=$((gigabytes * 500000000))
# Repeats the files $2 until they have $1 bytes.
repeat() {
    local each
    each=$(cat "${@:2}" | wc -c)
    yes "${*:2}" | head -n $(($1 / each + 1)) | xargs cat
}
export -f repeat
printf '%s\n' lines/piece-* |
    xargs -P "$(nproc)" -I {} bash -c "repeat $((half / 200)) {} | gzip -1 > logs/\$(basename {}).log.gz"
repeat $half lines/[0-3] > logs/plain.log
chunk=$((half / 20))
tasks=$((200 + ($(stat -c %s logs/plain.log) + chunk - 1) / chunk))
echo "$((half * 2)) bytes of lines: $(find logs -name '*.gz' | wc -l) gzip files of $(cat logs/*.gz | wc -c) bytes, and a plain file" \
    "of $(stat -c %s logs/plain.log); $tasks tasks"

now() { date +%s.%N; }
seconds() { awk -v a="$1" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }'; }

start=$(now)
"$PROBEWATCH" scan -q -f json -o one.json "$folder"/logs/*
echo "one scan, $(nproc) threads: $(seconds "$start") s"
"$PROBEWATCH" scan -q -f csv -o one.csv "$folder"/logs/*
! grep -q '"approximate":{' one.json || echo "the counts are approximate: take fewer logs" >&2

# Records that a scan starts.
cat > probewatch <<SCRIPT
#!/bin/sh
[ "\$1" != scan ] || echo >> '$folder/started'
exec '$(realpath -- "$PROBEWATCH")' "\$@"
SCRIPT
chmod +x probewatch
touch started
start=$(now)
SPARK_LOCAL_DIRS=$folder/local "$submit" --master 'local-cluster[2,1,1024]' --conf spark.ui.enabled=false "$program" logs \
    --chunk $chunk -f partial -o spark.partial --probewatch "$folder/probewatch" > printed 2>&1 &
driver=$!
killed=
while kill -0 $driver 2> /dev/null; do
    if [ -z "$killed" ] && [ "$(wc -l < started)" -ge $((tasks / 2)) ]; then
        executor=$(pgrep -P $driver -f -- '--executor-id 0 ')
        kill -KILL "$executor"
        killed=yes
        echo "executor 0 was killed after $(seconds "$start") s, when $(wc -l < started) scans had started"
    fi
    sleep 0.2
done
wait $driver || { tail -n 30 printed >&2; exit 1; }
echo "Spark, two executors with a core each: $(seconds "$start") s, $(wc -l < started) scans," \
    "a partial report of $(stat -c %s spark.partial) bytes"

[ -n "$killed" ] || { echo "no executor was killed" >&2; exit 1; }
failed=0
for format in json csv; do
    "$PROBEWATCH" merge -q -f $format -o spark.$format spark.partial
    cmp one.$format spark.$format && echo "$format: equal, $(stat -c %s one.$format) bytes" || failed=1
done
exit $failed
