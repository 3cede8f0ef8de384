# shellcheck shell=bash
# Times commands side by side, whatever `run NUMBER` does for each. To be read by another script.

# Runs so many commands, by number from 0 on, in turn, so that a busy moment hits them all; so many rounds, behind one that
# fills the page cache and is not counted. Writes the number of the command and its nanoseconds into a file, a line for each run.
time_in_turn() {
    local commands=$1 rounds=$2 times=$3 round i start end
    for round in $(seq 0 "$rounds"); do
        [ "$round" -eq 0 ] || echo "round $round of $rounds" >&2
        for i in $(seq 0 "$((commands - 1))"); do
            start=$(date +%s%N)
            run "$i"
            end=$(date +%s%N)
            if [ "$round" -gt 0 ]; then
                printf '%s\t%s\n' "$i" "$((end - start))" >> "$times"
            fi
        done
    done
}

# The median of a command's nanoseconds, out of such a file.
median_of() {
    awk -F '\t' -v i="$1" '$1 == i { print $2 }' "$2" | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}
