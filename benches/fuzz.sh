#!/usr/bin/env bash
# Runs the fuzz targets of benches/fuzz, one after the other, each for MINUTES (60): all of them, or those that are named. Their
# seeds are made of samples/, tests/cases, rules/ and the known formats. Everything that a run makes lies in FUZZ_DIR
# (~/.cache/probewatch-fuzz): the build, what was found to be worth a seed, and the inputs that made a target fail.
# Ends with 1 when one did. Needs a nightly toolchain, cargo-fuzz (`cargo install cargo-fuzz`) and a C++ compiler.
set -eu

FUZZ_DIR=${FUZZ_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/probewatch-fuzz}
mkdir -p "$FUZZ_DIR"
FUZZ_DIR=$(cd -- "$FUZZ_DIR" && pwd)
. "$(dirname -- "$0")/built.sh"
probewatch=${PROBEWATCH:-$(built probewatch build --release)}
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT

# Writes these bytes and then standard input as a seed of a target.
seed() {
    mkdir -p "$seeds/$1"
    { printf '%b' "$2"; cat; } >"$seeds/$1/$(find "$seeds/$1" -type f | wc -l)"
}

# The value of each of these keys in the list of formats, where it is in one line.
of_formats() {
    sed -n "s/^\($1\) = '\{1,3\}\(.*[^']\)'\{1,3\}\$/\2/p" src/formats/builtin.toml
}

make_line_seeds() {
    local log line string=
    for log in samples/*.log; do
        for line in 1 5 9; do tail -n +"$line" "$log" | head -n 4 | seed lines ''; done
    done
    of_formats example | while IFS= read -r line; do printf '%s\n%s\n' "$line" "$line" | seed lines ''; done
    printf '%s\n' '#Fields: date time c-ip cs-method cs-uri-stem sc-status' '2026-11-02 08:01:00 192.0.2.7 GET / 200' | seed lines ''
    grep -o "'[^']*HTTP/1\.1[^']*'" tests/cases/format.toml | tr -d "'" | seed lines ''
    of_formats 'string\|example' | while IFS= read -r line; do
        case $line in
            *[\$%][a-z{]*' '*[\$%]*) string=$line ;;
            *) printf '%s\n%s\n%s\n' "$string" "$line" "$line" | seed format_string '' ;;
        esac
    done
    of_formats example | grep '^{' | while IFS= read -r line; do printf '%s\n%s\n' "$line" "$line" | seed json ''; done
}

make_packed_seeds() {
    local program
    for program in gzip bzip2 xz zstd; do
        if command -v "$program" >/dev/null; then
            head -n 3 samples/mixed.log | "$program" -c | seed packed '\0000'
        fi
    done
    seed packed '\0000' <samples/rotated.log.1.gz
    for way in 1 2 3 4; do
        head -n 2 samples/mixed.log | seed packed "\\000$way\\0000\\0000\\0000"
        head -n 2 samples/mixed.log | seed packed "\\000$way\\0000\\0050\\0001"
    done
}

make_rule_seeds() {
    local file rule
    mkdir "$seeds/rule"
    for file in rules/*.toml; do
        awk -v to="$seeds/rule/$(basename "$file")" '/^\[\[/ { n++ } n { print > (to "." n) } !n && /^[a-z]+ =/ { head = head $0 "\n" }
            /^\[\[/ { printf "%s", head > (to "." n ".head") }' "$file"
    done
    for rule in "$seeds"/rule/*.head; do cat "$rule" "${rule%.head}" | seed rules '\0000'; done
    rm -r "$seeds/rule"
    grep -o '/[a-z0-9./_-]*' tests/cases/detection/config-exposure.tsv | head -n 20 | seed rules '\0001'
    cut -f 2 tests/cases/detection/rce.tsv | head -n 20 | seed rules '\0002'
    seed rules '\0003' <<'END'
title: Access to a shell
id: 953b895e-5cc9-454b-b183-7f3db555452e
logsource: { category: webserver }
detection:
  selection: { cs-method: GET, cs-uri-query|contains: ['=whoami', '=net%20user'] }
  filter: { sc-status: 404 }
  condition: selection and not filter
level: high
END
    seed rules '\0004' <<'END'
id: some-panel
info: { name: Some panel, severity: info, tags: panel }
http:
  - method: GET
    path: ['{{BaseURL}}/some/login.php', '{{BaseURL}}/admin/?a=b']
END
}

make_report_and_state_seeds() {
    local log state=$seeds/made
    for log in samples/*.log; do
        head -n 6 "$log" >"$seeds/some.log"
        "$probewatch" scan -q -f json "$seeds/some.log" >"$seeds/report.json" || true
        seed report '' <"$seeds/report.json"
        with_plain_evidence <"$seeds/report.json" | seed report ''
    done
    mkdir -m 700 "$state"
    "$probewatch" report -q --state "$state" --out "$seeds/out" --from-start "$seeds/some.log" >"$seeds/mail" || true
    timeout -s INT 2 "$probewatch" follow -q --state "$state" "$seeds/some.log" >"$seeds/mail" || true
    seed state '\0000' <"$state/follow.json"
    seed state '\0002' <"$state/report.json"
    body <"$state/follow.json" | seed state '\0001'
    body <"$state/report.json" | seed state '\0003'
    rm -r "$state" "$seeds/out" "$seeds/mail" "$seeds/some.log" "$seeds/report.json"
}

# A report whose evidence is JSON: a change within a compressed one is only found to be damage.
with_plain_evidence() {
    local line rules packed
    while IFS= read -r line; do
        case $line in
            '  "evidence": {'*)
                rules=${line%%,'"packed":'*} packed=${line##*'"packed":"'}
                printf '%s,%s\n' "$rules" "$(printf '%s' "${packed%%\"*}" | base64 -d | zstd -dcq | tail -c +2)"
                ;;
            *) printf '%s\n' "$line" ;;
        esac
    done
}

# What a state file says, without what stands around it.
body() {
    tr '\n' '\f' | sed 's/^.*"state"://; s/}\f*$//' | tr '\f' '\n'
}

# Runs a target. A report is long, and what fits into a packed file of some length can be very long. Leaks are not looked for: threads
# of a pool are alive at the end of an input, and the list of their destructors counts as one.
fuzz() {
    local target=$1 longest=2048
    case $target in report) longest=16384 ;; rules | state) longest=4096 ;; esac
    mkdir -p "$FUZZ_DIR/corpus/$target" "$FUZZ_DIR/failed/$target"
    printf '\n%s\n' "$target"
    cargo +nightly fuzz run --fuzz-dir benches/fuzz --target-dir "$FUZZ_DIR/target" "$target" \
        "$FUZZ_DIR/corpus/$target" "$seeds/$target" -- -max_total_time=$((${MINUTES:-60} * 60)) -max_len="$longest" -timeout=20 \
        -detect_leaks=0 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$FUZZ_DIR/failed/$target/"
}

make_line_seeds
make_packed_seeds
make_rule_seeds
make_report_and_state_seeds
failed=0
for target in "${@:-lines format_string json packed rules report state}"; do
    for name in $target; do fuzz "$name" || failed=1; done
done
exit "$failed"
