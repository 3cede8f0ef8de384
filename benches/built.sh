# shellcheck shell=bash
# Changes to the root of the crate and defines how to build there. Sourced by other scripts.
cd -- "$(dirname -- "$0")/.." || exit

# Builds a program and prints its path: that of a benchmark has a hash in its name. Build the command after benchmarks, because
# a build for benchmarks replaces it by one with features for tests.
built() {
    local messages
    messages=$(cargo "${@:2}" --quiet --message-format=json)
    printf '%s\n' "$messages" | grep -F "\"name\":\"$1\"" | grep -o '"executable":"[^"]*"' | tail -n 1 | cut -d '"' -f 4
}
