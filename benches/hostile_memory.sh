#!/usr/bin/env bash
# Prints the peak memory of commands over logs that a client wrote to exhaust it: long or very many paths, hosts, user agents,
# referers, users, queries and clients. A folder that a run wrote is measured too. Ends with 1 if a peak exceeds the promise.
set -eu

usage() {
    cat >&2 <<'USAGE'
usage: benches/hostile_memory.sh [INPUT...]
  INPUT  only these of: paths answered queries hosts named_hosts agents referers users clients names lines rules apps periods hours
         unmatched short
From the environment:
  SCALE       a percentage of the usual number of lines (100)
  COMMANDS    only these commands, such as "scan report" (scan json report daily hourly merge learn follow)
  PROBEWATCH  the path of a built command, so that none is built here
USAGE
    exit 2
}

inputs=(paths answered queries hosts named_hosts agents referers users clients names lines rules apps periods hours unmatched short)
for name in "$@"; do
    case " ${inputs[*]} " in *" $name "*) ;; *) usage ;; esac
done
[ $# -eq 0 ] || inputs=("$@")
scale=${SCALE:-100}
commands=${COMMANDS:-scan json report daily hourly merge learn follow}
probewatch=${PROBEWATCH:+$(realpath -- "$PROBEWATCH")}
. "$(dirname -- "$0")/built.sh"
probewatch=${probewatch:-$(built probewatch build --release)}
export LC_ALL=C

# 192 MiB with two threads, in KiB, and the same for a folder of a run: see the guide.
readonly PROMISE=$((192 << 10))

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"

# Writes LINES lines: the program prints them, and `address`, `long` and `time` give the fields that they share.
write() {
    awk -v lines="$(($1 * scale / 100))" '
        function address(n) { return 1 + n / 16777216 % 250 "." int(n / 65536) % 256 "." int(n / 256) % 256 "." n % 256 }
        function v6(n) { return sprintf("2001:db8:%x:%x::%x", n / 65536 % 65536, n % 65536, n % 977) }
        # A text of `bytes` bytes that begins with a number.
        function long(n, bytes) { return n substr(filler, 1, bytes - length(n)) }
        function line(host, client, user, target, status, size, referer, agent) {
            printf "%s%s - %s [%s] \"GET %s HTTP/1.1\" %s %s \"%s\" \"%s\"\n", host, int(client) == client ? address(client) : client, user, time, target, status, size, referer, agent
        }
        BEGIN {
            filler = "x"
            while (length(filler) < 1048576) filler = filler filler
            time = "02/Nov/2026:08:01:00 +0000"
            for (n = 0; n < lines; n++) { '"$2"' }
        }'
}

make() {
    case $1 in
        # As long as a web server accepts.
        paths) write 60000 'line("", n % 5000, "-", "/" long(n, 7800) "/.env", 404, 9, "-", "-")' ;;
        # Answered, each with a size of its own.
        answered) write 40000 'line("", n % 5000, "-", "/" long(n, 7800) "/.env", 200, 1000 + n * 7919 % 1000003, "-", "-")' ;;
        queries) write 60000 'line("", n, "-", "/.env?" long(n, 7800), 404, 9, "-", "-")' ;;
        hosts) write 2000000 'line("h" n ".example:80 ", 1, "-", "/.env", 404, 9, "-", "-")' ;;
        named_hosts) write 60000 'line("h" long(n, 4000) ":80 ", n % 5000, "-", "/wp-login.php", 200, 5000, "-", "-")' ;;
        agents) write 200000 'line("", n, "-", "/" n "/.env", 404, 9, "-", long(n, 1000))' ;;
        referers) write 200000 'line("", n, "-", "/" n "/.env", 404, 9, long(n, 1000), "-")' ;;
        users) write 200000 'line("", n, long(n, 1000), "/" n "/.env", 404, 9, "-", "-")' ;;
        clients) write 3000000 'line("", v6(n) "", "-", "/", 200, 9, "-", "-")' ;;
        names) write 60000 'line("", "h" long(n, 4000), "-", "/.env", 404, 9, "-", "-")' ;;
        # Close to the longest line that is parsed.
        lines) write 500 'line("", n, "-", "/" long(n, 1000000) "/.env", 404, 9, "-", "-")' ;;
        # A different list of rules in each line.
        rules)
            write 400000 '
                split("/.env /wp-login.php /.git/config /phpinfo.php /etc/passwd <script> union+select ${jndi:ldap: /shell.php ..%2f..%2f /actuator/env /cgi-bin/x.sh eval( sleep(5) %00 /.aws/credentials /phpmyadmin/ /server-status /.htaccess wget+http", word, " ")
                target = "/?n=" n
                for (bit = 0; bit < 20; bit++) if (int(n * 2.6 / 2 ^ bit) % 2) target = target "&" bit "=" word[bit + 1]
                line("", n % 5000, "-", target, 404, 9, "-", "-")' ;;
        # Evidence of an app, on hosts of the client.
        apps) write 1000000 'line("h" n ".example:80 ", n % 5000, "-", "/wp-includes/js/jquery/jquery.min.js", 200, 90000 + n % 100, "-", "-")' ;;
        # Eight days, and two hundred hours, with as many combinations each as are exact.
        periods) write 680000 'time = sprintf("%02d/Nov/2026:08:01:00 +0000", 1 + n / (lines / 8)); line("", n % 85000, "-", "/" n "/.env", 404, 9, "-", "-")' ;;
        hours) write 680000 'h = int(n / (lines / 200)); time = sprintf("%02d/Nov/2026:%02d:01:00 +0000", 1 + h / 24, h % 24); line("", n % 85000, "-", "/" n "/" long(0, 700) "/.env", 404, 9, "-", "-")' ;;
        # What `learn` keeps: a path that no rule matches, of clients that occur once.
        unmatched) write 4000000 'line("", n, "-", "/" n % 100000 ".php", 404, 9, "-", "-")' ;;
        short) write 2000000 'line("", n, "-", "/" n "/.env", 404, 9, "-", "-")' ;;
    esac
}

# Sets `most` to the peak of the anonymous memory of a process in KiB, until it ends. Pages of mapped files do not count.
most=0
watch() {
    local key value seen=1
    most=0
    while [ -n "$seen" ]; do
        seen=
        while read -r key value _; do
            if [ "$key" = RssAnon: ]; then
                seen=1
                [ "$value" -le "$most" ] || most=$value
            fi
        done 2> /dev/null < "/proc/$1/status" || true
        sleep 0.005
    done
}

# Prints the peak in KiB, or the exit code of a command that failed.
peak() {
    local code=0
    "$@" > output 2> errors &
    watch $!
    wait $! || code=$?
    case $code in
        0) echo "$most" ;;
        *) echo "exit $code" ;;
    esac
}

# A live log is read to its end, then `follow` is stopped, and prints its summary.
follow() {
    local reader stopper
    "$probewatch" follow --from-start -q "$1" > output 2> errors &
    reader=$!
    # It has read everything once its processor time no longer increases.
    {
        at=-1 before=-2
        while [ "$at" != "$before" ]; do
            before=$at
            sleep 2
            at=$(awk '{ print $14 + $15 }' "/proc/$reader/stat" 2> /dev/null || echo 0)
        done
        kill -INT "$reader" 2> /dev/null || true
    } &
    stopper=$!
    watch "$reader"
    wait "$reader" "$stopper" || true
    echo "$most"
}

failed=0
# Prints a row: the input, the command, its peak, and the bytes on disk that it left.
row() {
    local input=$1 command=$2 peak=$3 bytes=${4:-}
    local verdict=
    case $peak in
        exit*) verdict=failed ;;
        *) [ "$peak" -le "$PROMISE" ] || verdict=exceeded ;;
    esac
    [ -z "$verdict" ] || failed=1
    case $peak in exit*) ;; *) peak="$((peak >> 10)) MiB" ;; esac
    [ -z "$bytes" ] || bytes="$((bytes >> 10)) MiB"
    printf '%-12s %-8s %10s %10s  %s\n' "$input" "$command" "$peak" "$bytes" "$verdict"
}

report() {
    local name=$1 input=$2
    shift 2
    rm -rf state out
    local peak
    peak=$(peak "$probewatch" report -j2 -q "$@" --state state --out out access.log)
    row "$input" "$name" "$peak" "$(du -sk out 2> /dev/null | cut -f 1)"
}

printf '%-12s %-8s %10s %10s\n' input command peak folder
for input in "${inputs[@]}"; do
    make "$input" > access.log
    for command in $commands; do
        case $command in
            scan) row "$input" scan "$(peak "$probewatch" scan -j2 -q access.log)" ;;
            json) row "$input" json "$(peak "$probewatch" scan -j2 -q -f json -o report.json access.log)" "$(du -sk report.json | cut -f 1)" ;;
            report) report report "$input" ;;
            daily) report daily "$input" --daily ;;
            hourly) case $input in periods | hours) report hourly "$input" --hourly ;; esac ;;
            merge)
                half=$(($(wc -l < access.log) / 2))
                head -n "$half" access.log > one.log && tail -n "+$((half + 1))" access.log > other.log
                for part in one other; do "$probewatch" scan -q -f json -o "$part.json" "$part.log" 2> /dev/null || true; done
                rm -f one.log other.log
                row "$input" merge "$(peak "$probewatch" merge -q -f json -o merged.json one.json other.json)" "$(du -sk merged.json | cut -f 1)"
                rm -f one.json other.json merged.json
                ;;
            learn) row "$input" learn "$(peak "$probewatch" learn -j2 access.log)" ;;
            follow) row "$input" follow "$(follow access.log)" ;;
        esac
    done
    rm -rf access.log state out report.json output
done
exit "$failed"
