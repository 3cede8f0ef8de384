#!/usr/bin/env bash
# What must not silence a finding: a redirect, an answer to everything, a referer, a user name. Scans labelled attacks again and again,
# each time with another status or referer, and prints the share that is found; then logs of known truth with a user name in the lines
# of the clients that attack, and prints how many real answers got another grade. Ends with 1 if shares are more than two points apart,
# if one is below that of the attacks as logged by more, or if a grade changed.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: benches/silence.sh CORPORA" >&2
    echo "  CORPORA  a folder with real.attack.log.gz (Combined Log Format), real.attack.tsv (its labels: line, label, class, site)," >&2
    echo "           sites/SITE.log.gz (the logs they are from), and answered/LOG.log.gz with LOG.truth.tsv.gz (line, site, truth)" >&2
    echo "From the environment: PROBEWATCH, a built command; MISSED, a file for the lines that are not found, with their mode" >&2
    exit 2
fi
corpora=$(realpath -- "$1")
probewatch=${PROBEWATCH:+$(realpath -- "$PROBEWATCH")}
missed=$(realpath -m -- "${MISSED:-/dev/null}")
. "$(dirname -- "$0")/built.sh"
probewatch=${probewatch:-$(built probewatch build --release)}
export LC_ALL=C
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd -- "$folder"

# The numbers of the lines of a log that are findings.
found() {
    "$probewatch" scan -f ndjson --no-progress "$1" | awk 'match($0, /"line":[0-9]+/) { print substr($0, RSTART + 7, RLENGTH - 7) }'
}

# A line as prefix (up to the blank after the request), status, size, referer (empty if none was logged) and rest.
cat > line.awk <<'AWK'
function split_line(line) {
    if (!match(line, /^[^"]*"([^"\\]|\\.)*" /)) return 0
    prefix = substr(line, 1, RLENGTH); rest = substr(line, RLENGTH + 1)
    if (!match(rest, /^[0-9]+ [^ ]+/)) return 0
    split(substr(rest, 1, RLENGTH), part, " "); status = part[1]; size = part[2]; rest = substr(rest, RLENGTH + 1); referer = ""
    if (match(rest, /^ "([^"\\]|\\.)*"/)) { referer = substr(rest, 3, RLENGTH - 3); rest = substr(rest, RLENGTH + 1) }
    return 1
}
AWK

# The home page of each site: the scheme and host that most answered requests name as their referer.
for log in "$corpora"/sites/*.log.gz; do
    zcat -- "$log" | awk -f line.awk -f <(cat <<'AWK'
split_line($0) && status ~ /^(2..|304)$/ && match(referer, /^https?:\/\/[^\/?#]+/) { count[substr(referer, 1, RLENGTH)]++ }
END { for (host in count) if (count[host] > most) { most = count[host]; best = host }; print site "\t" best "/" }
AWK
) -v site="$(basename -- "$log" .log.gz)"
done > homes.tsv

zcat -- "$corpora/real.attack.log.gz" > attacks.log
tail -n +2 -- "$corpora/real.attack.tsv" | cut -f 4 > site_of_line

# The attacks with a status (- as logged) and a referer: - as logged, own (the home page of the site), or a URL.
with() {
    paste site_of_line attacks.log | awk -f line.awk -f <(cat <<'AWK'
BEGIN { while ((getline one < "homes.tsv") > 0) { split(one, home, "\t"); home_of[home[1]] = home[2] } }
{
    site = substr($0, 1, index($0, "\t") - 1); line = substr($0, index($0, "\t") + 1)
    if (!split_line(line)) { print line; next }
    sent = new_referer == "own" ? home_of[site] : new_referer == "-" ? referer : new_referer
    print prefix (new_status == "-" ? status : new_status) " " size (rest == "" && referer == "" ? "" : " \"" sent "\"" rest)
}
AWK
) -v new_status="$1" -v new_referer="$2"
}

: > "$missed"
printf '%-10s %-28s %8s %8s\n' status referer 'found %' missed
for mode in '- -' '404 -' '301 -' '302 -' '200 -' '- https://www.google.com/' '- own' '404 own' '302 own' '200 own'; do
    read -r status referer <<< "$mode"
    with "$status" "$referer" > mode.log
    found mode.log > numbers
    awk -v mode="$mode" 'FILENAME == ARGV[1] { hit[$1]; next } !(FNR in hit) { print mode "\t" $0 }' numbers mode.log > lost
    cat lost >> "$missed"
    awk -v status="$status" -v referer="$referer" -v lost="$(wc -l < lost)" \
        'END { printf "%-10s %-28s %8.2f %8d\n", status, referer, 100 * (NR - lost) / NR, lost }' mode.log
done | tee table

# The strongest grade of each real answer: its site and path, and the grade.
grades() {
    "$probewatch" scan -f ndjson --no-progress "$1" | awk -v truth="$2" '
        function text(key) { return match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"") ? substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : "" }
        BEGIN { while ((getline one < truth) > 0) { split(one, column, "\t"); truth_of[column[1]] = column[3] }; rank["soft_404"] = 1; rank["uncertain"] = 2; rank["distinct"] = 3 }
        match($0, /"line":[0-9]+/) && truth_of[substr($0, RSTART + 7, RLENGTH - 7)] == "real" && text("answer") != "" {
            row = text("host") "\t" text("path"); if (rank[text("answer")] > rank[best[row]]) best[row] = text("answer")
        }
        END { for (row in best) print row "\t" best[row] }' | sort
}

real=0 changed=0
for log in "$corpora"/answered/*.log.gz; do
    name=$(basename -- "$log" .log.gz)
    zcat -- "$log" > plain.log
    zcat -- "${log%.log.gz}.truth.tsv.gz" > truth.tsv
    found plain.log > numbers
    # The client is the last field before the identity and the user.
    awk 'FILENAME == ARGV[1] { hit[$1]; next }
        FNR in hit && match($0, / - [^ ]+ \[/) { client = substr($0, 1, RSTART - 1); sub(/.* /, "", client); print client }' numbers plain.log |
        sort -u > attackers
    awk 'FILENAME == ARGV[1] { attacks[$1]; next }
        match($0, / - - \[/) { client = substr($0, 1, RSTART - 1); sub(/.* /, "", client); if (client in attacks) $0 = substr($0, 1, RSTART - 1) " - admin [" substr($0, RSTART + RLENGTH) }
        { print }' attackers plain.log > named.log
    grades plain.log truth.tsv > before
    grades named.log truth.tsv > after
    real=$((real + $(wc -l < before)))
    other=$(comm -23 before after | wc -l)
    changed=$((changed + other))
    [ "$other" -eq 0 ] || echo "$name: $other real answers have another grade with a user name"
done
echo "$real real answers, $changed with another grade if the attackers' lines name a user"
awk -v changed="$changed" '
    NR == 1 { next }
    { if (NR == 2 || $3 > most) most = $3; if (NR == 2 || $3 < least) least = $3 }
    END { exit most - least > 2 || changed > 0 }' table
