#!/usr/bin/env bash
# Times scans of the same requests in several formats and compressions, next to the combined log they were made from, `wc -l` of that,
# and programs that only decompress.
# Only lines whose texts hold no quote and no backslash are taken, so that one line of awk can write each format.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: benches/formats.sh LOG" >&2
    echo "  LOG    an access log in the combined format, of 200 MB or so" >&2
    exit 2
fi
log=$(realpath -- "$1")
. "$(dirname -- "$0")/rounds.sh"
. "$(dirname -- "$0")/built.sh"
rounds=7
gunzip=$(built gunzip bench --bench gunzip --no-run)
probewatch=$(built probewatch build --release)

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# Fields between quotes: before the request, the request, status and size, the referer, nothing, the agent.
awk -F '"' -v to="$folder" '
    NF == 7 && !/\\/ {
        split($1, start, " "); split($3, numbers, " ")
        time = substr(start[4], 2) " " substr(start[5], 1, 5)
        print > (to "/combined")
        printf "{\"time_local\":\"%s\",\"remote_addr\":\"%s\",\"request\":\"%s\",\"status\":\"%s\",\"body_bytes_sent\":\"%s\",\"http_referer\":\"%s\",\"http_user_agent\":\"%s\"}\n",
            time, start[1], $2, numbers[1], numbers[2], $4, $6 > (to "/json")
        printf "[%s] %s %s %s 0.004 \"%s\" \"%s\" \"%s\"\n", time, start[1], numbers[1], numbers[2], $4, $6, $2 > (to "/custom")
        print "2026-11-02T00:00:00.000000000Z stdout F " $0 > (to "/cri")
        if (split($2, request, " ") != 3) next
        printf "[%s] - %s %s - %s https www.example.com \"%s\" [Client %s] [Length %s] [Gzip -] [Sent-to 10.0.0.2] \"%s\" \"%s\"\n",
            time, numbers[1], numbers[1], request[1], request[2], start[1], numbers[2], $6, $4 > (to "/npm")
        printf "%s | %s | %s | %s | %s | %s | %s\n", time, start[1], request[1], request[2], numbers[1], numbers[2], $6 > (to "/discovered")
    }' "$log"
custom='[$time_local] $remote_addr $status $body_bytes_sent $request_time "$http_referer" "$http_user_agent" "$request"'
names=(combined "wc -l combined" json custom npm discovered cri)
for pack in gzip zstd bzip2 xz; do
    if command -v "$pack" > /dev/null; then
        "$pack" -1 -c "$folder/combined" > "$folder/$pack"
        names+=("$pack" "unpack $pack")
        [ "$pack" != gzip ] || names+=("the gzip library alone")
    else
        echo "$pack is not installed: skipped" >&2
    fi
done

run() {
    local name=${names[$1]}
    case $name in
        wc*) wc -l "$folder/combined" ;;
        the*) "$gunzip" "$folder/gzip" ;;
        unpack*) "${name#unpack }" -dc "$folder/${name#unpack }" ;;
        custom) "$probewatch" scan -q --log-format "$custom" "$folder/custom" ;;
        *) "$probewatch" scan -q "$folder/$name" ;;
    esac > /dev/null
}

times=$(mktemp -p "$folder")
time_in_turn "${#names[@]}" "$rounds" "$times"

echo "$(wc -c < "$folder/combined") bytes as combined, median of $rounds rounds, $(getconf _NPROCESSORS_ONLN) cores"
print_medians "$times"
