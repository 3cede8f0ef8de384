# Builds the command and the program that measures `follow`, and says in $probewatch and $bench where they lie: the
# second has a hash in its name. To be read by another script.
cd -- "$(dirname -- "$0")/.."

# Builds something and says where the program lies.
built() {
    local messages
    messages=$(cargo "${@:2}" --quiet --message-format=json)
    printf '%s\n' "$messages" | grep -F "\"name\":\"$1\"" | grep -o '"executable":"[^"]*"' | tail -n 1 | cut -d '"' -f 4
}
bench=$(built follow bench --bench follow --no-run)
# Last: a build for benchmarks has what only tests need.
probewatch=$(built probewatch build --release)
