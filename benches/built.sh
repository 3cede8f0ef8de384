# shellcheck shell=bash
# Changes to the root of the crate and builds programs there. Sourced by other scripts.
cd -- "$(dirname -- "$0")/.." || exit

# Builds something and prints the path of the program: that of a benchmark has a hash in its name. The last build stays: a
# build for benchmarks includes test features, so build the command after them.
built() {
    local messages
    messages=$(cargo "${@:2}" --quiet --message-format=json)
    printf '%s\n' "$messages" | grep -F "\"name\":\"$1\"" | grep -o '"executable":"[^"]*"' | tail -n 1 | cut -d '"' -f 4
}
