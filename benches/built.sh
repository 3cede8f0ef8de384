# shellcheck shell=bash
# Goes to the root of the crate and knows how to build there. To be read by another script.
cd -- "$(dirname -- "$0")/.." || exit

# Builds something and says where the program lies: that of a benchmark has a hash in its name. What is built last stays: a
# build for benchmarks has what only tests need, so the command itself is to be built after them.
built() {
    local messages
    messages=$(cargo "${@:2}" --quiet --message-format=json)
    printf '%s\n' "$messages" | grep -F "\"name\":\"$1\"" | grep -o '"executable":"[^"]*"' | tail -n 1 | cut -d '"' -f 4
}
