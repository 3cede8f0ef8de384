#!/usr/bin/env bash
# Times probewatch next to common tools for access logs, as far as they are installed, and writes the rows of
# the table in README.md and, if asked, the plot above it. Each tool runs in turn, so that a busy moment hits them all.
# Drops no cache and installs nothing. For Linux: what a tool needs in memory is read from /proc.
set -eu

usage() {
    cat >&2 <<'USAGE'
usage: benches/versus.sh [--plot FILE.svg] LOG [WORDS]
  LOG    an access log in the combined format, the larger the better
  WORDS  a file of words, one per line, for the tools that search for words; they are skipped without it
From the environment:
  ROUNDS      how often each tool is timed (5)
  PART        bytes of LOG that are enough for the slowest tools (100000000)
  PROBEWATCH  the path of a built command, so that none is built here
  NEWLINES    the same for the program of benches/newlines.rs
USAGE
    exit 2
}

plot=
if [ "${1:-}" = --plot ]; then
    [ $# -ge 2 ] || usage
    plot=$(realpath -- "$2")
    shift 2
fi
[ $# -eq 1 ] || [ $# -eq 2 ] || usage
# Files are relative to the caller's folder, builds to the root of the crate.
log=$(realpath -- "$1")
words=${2:+$(realpath -- "$2")}
rounds=${ROUNDS:-5}
newlines=${NEWLINES:+$(realpath -- "$NEWLINES")}
probewatch=${PROBEWATCH:+$(realpath -- "$PROBEWATCH")}
. "$(dirname -- "$0")/rounds.sh"
. "$(dirname -- "$0")/built.sh"
newlines=${newlines:-$(built newlines bench --bench newlines --no-run)}
probewatch=${probewatch:-$(built probewatch build --release)}
# With another locale GNU tools compare characters instead of bytes, and awk prints commas.
export LC_ALL=C

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
# The last line of a part may be half a line.
head -c "${PART:-100000000}" -- "$log" | sed '$d' > "$folder/part.log"

# Name, command, what it does in that time. VERSION is asked of the tool, PART stands for the beginning of LOG.
tools="probewatch VERSION|probewatch scan -q LOG|the whole report, with all rules, on all cores
probewatch VERSION -j1|probewatch scan -q -j1 LOG|the whole report, with all rules, in one thread
newlines|newlines 2 LOG|counts newlines in two threads: the lower bound for a log tool
wc VERSION|wc -l LOG|counts newlines
ripgrep VERSION|rg -c -F -f WORDS LOG|searches for words
ripgrep VERSION -i|rg -i -c -F -f WORDS LOG|searches for words, ignoring case
ugrep VERSION|ugrep -c -F -f WORDS LOG|searches for words
GNU grep VERSION|grep -c -F -f WORDS LOG|searches for words
angle-grinder VERSION|agrind -f LOG wp-login|searches for one word, prints its lines
rhit VERSION|rhit --silent-load LOG|parses lines and sums up, no rules
GoAccess VERSION|goaccess --no-global-config --no-progress --log-format=COMBINED PART|parses lines and fills all its panels, no rules"

# The path of a program; fails if there is none.
path_of() {
    case $1 in
        probewatch) echo "$probewatch" ;;
        newlines) echo "$newlines" ;;
        *) command -v -- "$1" ;;
    esac
}

# The version that a tool prints.
version_of() {
    "$(path_of "$1")" --version < /dev/null | grep -o -m 1 '[0-9][0-9.]*[0-9]' | head -n 1
}

# Becomes one of the commands above.
become() {
    local command=() word
    for word in $1; do
        case $word in
            LOG) command+=("$log") ;;
            PART) command+=("$folder/part.log") ;;
            WORDS) command+=("$words") ;;
            probewatch | newlines) command+=("$(path_of "$word")") ;;
            *) command+=("$word") ;;
        esac
    done
    # Not to /dev/null: GNU grep notices, and stops at the first line that it finds.
    exec "${command[@]}" < /dev/null > "$folder/output"
}

# Whether exit code $2 of a command means success: tools that search for words exit with 1 if they find none.
done_well() {
    case $1 in
        rg* | ugrep* | grep*) [ "$2" -le 1 ] ;;
        *) [ "$2" -eq 0 ] ;;
    esac
}

# The most memory a process has while it runs, in kB: its own, and with what it maps of files. Looks a hundred times a
# second, so what comes and goes between two looks is missed.
memory_of() {
    local own=0 whole=0 alive=yes key value _
    while [ -n "$alive" ]; do
        sleep 0.01
        alive=
        while read -r key value _; do
            case $key in
                # Not become what it is to become.
                Name:) [ "$value" != "$shell" ] || { alive=yes; break; } ;;
                VmHWM:) whole=$value alive=yes ;;
                RssAnon:) [ "$value" -le "$own" ] || own=$value ;;
            esac
        done 2> /dev/null < "/proc/$1/status"
    done
    printf '%s\t%s\n' "$own" "$whole"
}
shell=$(< "/proc/$$/comm")

# One run of each, which measures memory and is not timed.
names=() commands=() texts=()
while IFS='|' read -r name command text; do
    program=${command%% *}
    if ! path_of "$program" > /dev/null; then
        echo "$program is not installed: skipped" >&2
        continue
    fi
    if [ -z "$words" ] && [[ $command == *WORDS* ]]; then
        echo "no words are given: $command skipped" >&2
        continue
    fi
    become "$command" &
    memory=$(memory_of $!)
    code=0
    wait $! || code=$?
    if ! done_well "$command" "$code"; then
        echo "$program exited with $code: skipped" >&2
        continue
    fi
    if [[ $name == *VERSION* ]]; then
        name=${name/VERSION/$(version_of "$program")}
    fi
    names+=("$name") commands+=("$command") texts+=("$text")
    printf '%s\t%s\n' "$((${#names[@]} - 1))" "$memory" >> "$folder/memory"
done <<< "$tools"

run() {
    local code=0
    (become "${commands[$1]}") || code=$?
    done_well "${commands[$1]}" "$code"
}
time_in_turn "${#names[@]}" "$rounds" "$folder/times"

# Sorted by speed: name, command, what it does, bytes, median in ns, GB/s, own memory, all memory.
for i in "${!names[@]}"; do
    case ${commands[$i]} in
        *PART*) bytes=$(wc -c < "$folder/part.log") ;;
        *) bytes=$(wc -c < "$log") ;;
    esac
    median=$(median_of "$i" "$folder/times")
    speed=$(awk -v bytes="$bytes" -v ns="$median" 'BEGIN { printf "%.6f", bytes / ns }')
    memory=$(awk -F '\t' -v i="$i" '$1 == i { print $2 "\t" $3 }' "$folder/memory")
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "${names[$i]}" "${commands[$i]/PART/LOG}" "${texts[$i]}" "$bytes" "$median" "$speed" "$memory"
done | sort -t $'\t' -k 6,6 -g -r > "$folder/results"

cores=$(getconf _NPROCESSORS_ONLN)
awk -F '\t' '
    function short(x) { return x < 0.0995 ? sprintf("%.2g", x) : x < 9.95 ? sprintf("%.2f", x) : x < 99.5 ? sprintf("%.1f", x) : sprintf("%.0f", x) }
    NR == FNR { if ($2 == "probewatch scan -q LOG") ours = $6; next }
    FNR == 1 {
        print "| tool | command | what it does in that time | read | median | GB/s | time relative to probewatch | own memory | with mapped files |"
        print "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    }
    {
        # Nothing was seen of a command that was too quick.
        memory = $8 == 0 ? "? | ?" : sprintf("%.1f MB | %.0f MB", $7 * 1.024e-3, $8 * 1.024e-3)
        printf "| %s | `%s` | %s | %.0f MB | %s s | %s | %s | %s |\n", $1, $2, $3, $4 / 1e6, short($5 / 1e9), short($6), short(ours / $6), memory
    }
' "$folder/results" "$folder/results"
echo
echo "$(wc -c < "$log") bytes, median of $rounds rounds, $cores cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)."

[ -n "$plot" ] || exit 0
awk -F '\t' -v cores="$cores" -v rounds="$rounds" -f benches/versus.awk "$folder/results" > "$plot"
