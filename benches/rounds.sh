# shellcheck shell=bash
# Times commands side by side, whatever `run NUMBER` does for each. To be read by another script.

# Runs so many commands, by number from 0 on, in turn, so that a busy moment hits them all; so many rounds, behind one that
# fills the page cache and is not counted. Writes the number of the command and its nanoseconds into a file, a line for each run.
time_in_turn() {
    # What `run` reads of its script must not have the name of one of these.
    local turn_count=$1 turn_rounds=$2 turn_file=$3 turn_round turn turn_start turn_end
    for turn_round in $(seq 0 "$turn_rounds"); do
        [ "$turn_round" -eq 0 ] || echo "round $turn_round of $turn_rounds" >&2
        for turn in $(seq 0 "$((turn_count - 1))"); do
            turn_start=$(date +%s%N)
            run "$turn"
            turn_end=$(date +%s%N)
            if [ "$turn_round" -gt 0 ]; then
                printf '%s\t%s\n' "$turn" "$((turn_end - turn_start))" >> "$turn_file"
            fi
        done
    done
}

# The median of a command's nanoseconds, out of such a file.
median_of() {
    awk -F '\t' -v i="$1" '$1 == i { print $2 }' "$2" | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}
