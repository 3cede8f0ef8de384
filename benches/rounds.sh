# shellcheck shell=bash
# Times commands in turn; `run NUMBER` starts each of them. Sourced by other scripts.

# Runs N commands, numbered from 0, in turn, so that a busy moment affects all of them: N rounds after one that
# fills the page cache and does not count. Writes the number of the command and its nanoseconds to a file, a line per run.
time_in_turn() {
    # Variables that `run` uses must not have these names.
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

# The median nanoseconds of a command, from such a file.
median_of() {
    awk -F '\t' -v i="$1" '$1 == i { print $2 }' "$2" | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] }'
}

# Prints the median of each command in the array `names`, and how many times as long it took as the first one.
print_medians() {
    local file=$1 i median first=
    for i in "${!names[@]}"; do
        median=$(median_of "$i" "$file")
        first=${first:-$median}
        awk -v name="${names[$i]}" -v ns="$median" -v first="$first" -v other="${names[0]}" 'BEGIN {
            printf "%-28s %9.1f ms  %6.2f times as long as %s\n", name, ns / 1e6, ns / first, other }'
    done
}
