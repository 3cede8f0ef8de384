#!/usr/bin/env bash
# Prints what commands cost over logs that a client wrote to exhaust them: long or very many paths, hosts, user agents, referers,
# users, queries and clients, and texts that are hard to read. By default the peak of their memory, with the time and the size of
# what a run wrote: it ends with 1 if a peak exceeds the promise, or a command fails. With `cost`, the processor time for a byte
# beyond that of an empty log, and how it grows from n lines to 4n: it ends with 1 above 2 us a byte, or if four times as much
# takes more than eight times as long.
set -eu

usage() {
    cat >&2 <<'USAGE'
usage: benches/hostile.sh [cost] [INPUT...]
  INPUT  only these of: paths answered queries hosts named_hosts sites agents referers users clients names lines rules apps periods
         hours unmatched short, and with cost also: sizes servers folders campaigns percent mixed comments quotes brackets slashes
         base64 people keys tokens deep json_keys numbers prefixes heads
From the environment:
  SCALE       a percentage of the usual number of lines (100; with cost 1, and four times that)
  COMMANDS    only these commands, such as "scan report" (scan json report daily hourly merge learn follow; with cost scan explain
              follow, and also report learn block)
  PROBEWATCH  the path of a built command, so that none is built here
  LIMIT       a command that takes more seconds is killed, and its row has failed (600)
USAGE
    exit 2
}

inputs=(paths answered queries hosts named_hosts sites agents referers users clients names lines rules apps periods hours unmatched short)
hard=(sizes servers folders campaigns percent mixed comments quotes brackets slashes base64 people keys tokens deep json_keys numbers prefixes heads)
mode=memory
if [ "${1:-}" = cost ]; then
    mode=cost
    inputs+=("${hard[@]}")
    shift
fi
for name in "$@"; do
    case " ${inputs[*]} " in *" $name "*) ;; *) usage ;; esac
done
[ $# -eq 0 ] || inputs=("$@")
[ "$mode" = memory ] && usual=(100 "scan json report daily hourly merge learn follow") || usual=(1 "scan explain follow")
scale=${SCALE:-${usual[0]}}
commands=${COMMANDS:-${usual[1]}}
limit=${LIMIT:-600}
probewatch=${PROBEWATCH:+$(realpath -- "$PROBEWATCH")}
. "$(dirname -- "$0")/built.sh"
probewatch=${probewatch:-$(built probewatch build --release)}
export LC_ALL=C

# 208 MiB with two threads, 240 for a first report, in KiB: see the guide.
readonly PROMISE=$((208 << 10)) OF_REPORT=$((240 << 10))

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
cd "$folder"
# Nothing is ever written to it: a `read` from it with a limit of time is a pause that starts no process.
mkfifo never
exec 3<> never

# Writes so many lines: the program prints each, and `address`, `long` and `time` give the fields that they share.
write() {
    awk -v lines="$(($1 * scale / 100))" '
        function address(n) { return 1 + n / 16777216 % 250 "." int(n / 65536) % 256 "." int(n / 256) % 256 "." n % 256 }
        function v6(n) { return sprintf("2001:db8:%x:%x::%x", n / 65536 % 65536, n % 65536, n % 977) }
        # A text of `bytes` bytes that begins with a number.
        function long(n, bytes) { return n substr(filler, 1, bytes - length(n)) }
        function repeat(text, bytes,    all) { all = text; while (length(all) < bytes) all = all all; return substr(all, 1, bytes) }
        function json(members) { printf "{\"time\":\"2026-11-02T08:01:00Z\",\"remote_addr\":\"%s\",\"status\":404,\"request\":\"GET /%d/.env HTTP/1.1\"%s}\n", address(n), n, members }
        function line(host, client, user, target, status, size, referer, agent) {
            printf "%s%s - %s [%s] \"GET %s HTTP/1.1\" %s %s \"%s\" \"%s\"\n", host, int(client) == client ? address(client) : client, user, time, target, status, size, referer, agent
        }
        BEGIN {
            # A letter that few rules search for: a log of `a` or `x` takes several times as long to match.
            filler = "y"
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
        # Six requests for each host, each of another client, half of them answered.
        sites) write 1200000 'split("/.env /.git/config /wp-login.php /c99.php", word, " "); line("h" int(n / 6) ".example:80 ", n * 7919 % 16777216, "-", word[n * 7 % 4 + 1] "?" n, n % 2 ? 404 : 200, n * 7919 % 9001, "-", "-")' ;;
        agents) write 200000 'line("", n, "-", "/" n "/.env", 404, 9, "-", long(n, 1000))' ;;
        referers) write 200000 'line("", n, "-", "/" n "/.env", 404, 9, long(n, 1000), "-")' ;;
        users) write 200000 'line("", n, long(n, 1000), "/" n "/.env", 404, 9, "-", "-")' ;;
        clients) write 3000000 'line("", v6(n) "", "-", "/", 200, 9, "-", "-")' ;;
        names) write 60000 'line("", "h" long(n, 4000), "-", "/.env", 404, 9, "-", "-")' ;;
        # Close to the longest line that is parsed.
        lines) write 500 'line("", n, "-", "/" long(n, 1000000) "/.env", 404, 9, "-", "-")' ;;
        # A different list of rules in each line.
        rules)
            # shellcheck disable=SC2016 # The program is for awk.
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
        # An answer of each size, and clients that share parts of their lists of paths.
        sizes) write 1000000 'line("", n % 5000, "-", "/" n % 50000 "/.env", 200, n * 7919 % 100000007, "-", "-")' ;;
        # Hosts that answer anything, each with a size of its own.
        servers)
            write 80000 'split("/.env /setup.php /.git/HEAD /phpinfo.php", word, " "); line("h" int(n / 4) ".example:80 ", int(n / 4), "-", word[n % 4 + 1], 200, 1000 + int(n / 4) * 211, "-", "-")'
            ;;
        # Hosts with few paths each, in folders that others share.
        folders) write 80000 'line("h" int(n / 5) ".example:80 ", n, "-", "/d" int(n / 3) "/.env", n % 2 ? 200 : 404, n % 60000, "-", "-")' ;;
        campaigns) write 1000000 'line("", int(n / 12), "-", "/p" (int(n / 12) * 5 + n % 12) % 40000 "/.env", 404, 9, "-", "-")' ;;
        # Texts that are hard to decode, to match, to mask and to split.
        percent) write 60000 'line("", n, "-", "/" n repeat("%2525252525", 7600) "41/.env", 404, 9, "-", "-")' ;;
        mixed) write 60000 'line("", n, "-", "/" n "?" repeat("a2%\047=+(%27%u0041&", 7600), 404, 9, "-", "-")' ;;
        comments) write 60000 'line("", n, "-", "/" n "?q=" repeat("un/**/ion/*!", 7600), 404, 9, "-", "-")' ;;
        quotes) write 60000 'line("", n, "-", "/" n, 404, 9, repeat("\\\" \" ", 7600), repeat("\" \"-", 7600))' ;;
        brackets) write 60000 'line(repeat("[", 3000) " ", n, repeat("[]", 3000), repeat("/[", 3000), 404, 9, "[", "]")' ;;
        slashes) write 60000 'line("", n, "-", repeat("//.;/..", 7600) n, 404, 9, "-", "-")' ;;
        base64) write 60000 'line("", n, "-", "/" n "?x=" repeat("Ly4uLy4uLy4uL2V0Yy9wYXNzd2Q=&a=", 7600), 404, 9, "-", "-")' ;;
        people) write 60000 'line("", n, "-", "/" n "?x=" repeat("a@b.cd:81-2-69-2//081.2.69.2@", 7600), 404, 9, "-", "-")' ;;
        keys) write 60000 'line("", n, "-", "/" n "?" repeat("password=;token=\047&", 7600), 404, 9, "-", "-")' ;;
        # The fixed text of tokens, and parts that dots join.
        tokens) write 60000 'line("", n, "-", "/" n "/.env?x=" repeat("xoxb-EAA-", 3800) repeat("MNO.eyJhbGciOiJIUzI1NiJ9.", 3800), 404, 9, "-", "-")' ;;
        deep) write 60000 'json(",\"a\":" repeat("[", 60) repeat("]", 60) ",\"b\":\"" repeat("{\\\"a\\\":", 7000) "\"")' ;;
        json_keys) write 20000 'all = ""; for (k = 0; k < 300; k++) all = all ",\"k" n k ".headers.x\":{\"query\":" k "}"; json(all)' ;;
        numbers) write 60000 'json(",\"bytes\":" repeat("9", 4000) ",\"time\":" repeat("1", 3000) ",\"status\":" repeat("404", 600))' ;;
        # Prefixes of programs, one after the other, and lines of no format.
        prefixes) write 60000 'printf "%s", repeat("web-1  | 2026-11-02T08:01:00Z stdout F ", 7000); line("", n, "-", "/.env", 404, 9, "-", "-")' ;;
        heads) write 400000 'printf "%s %s <%d> {%s} GET /%d/.env HTTP/1.%d\n", address(n), repeat("1.2.3.4 | ", n % 90 * 10), n, repeat("[02/Nov", n % 40 * 8), n, n % 2' ;;
        short) write 2000000 'line("", n, "-", "/" n "/.env", 404, 9, "-", "-")' ;;
    esac
}

# Sets `peak` to the peak of the anonymous memory of a process in KiB, until it ends. Pages of mapped files do not count.
watch() {
    local key value end=$((SECONDS + limit)) state=R
    peak=0
    while [ "$state" != Z ]; do
        # Without the file, it has ended and was waited for.
        state=Z
        while read -r key value _; do
            case $key in
                State:) state=$value ;;
                RssAnon:) [ "$value" -le "$peak" ] || peak=$value ;;
            esac
        done 2> /dev/null < "/proc/$1/status" || true
        [ "$SECONDS" -lt "$end" ] || kill -KILL "$1" 2> /dev/null || true
        read -rt 0.01 -u 3 _ || true
    done
}

# Stops a `follow` that has read everything: for two seconds its threads run, and wait for a processor, for a twentieth of that.
stop_when_idle() {
    local before=-1000 now=0
    while [ "$((now - before))" -gt 100 ]; do
        before=$now
        sleep 2
        # A thread may end meanwhile.
        now=$(awk '{ ns += $1 + $2 } END { printf "%d", ns / 1e6 }' "/proc/$1/task/"*/schedstat 2> /dev/null) || now=$((before + 1000))
        [ -d "/proc/$1" ] || return 0
    done
    kill -INT "$1" 2> /dev/null || true
}

# Runs the command to its end and sets `peak`, `code`, and `took` in milliseconds.
run() {
    local pid start=${EPOCHREALTIME/./}
    "$probewatch" "$@" > output 2> errors &
    pid=$!
    [ "$1" != follow ] || stop_when_idle "$pid" &
    watch "$pid"
    code=0
    wait "$pid" || code=$?
    took=$(((${EPOCHREALTIME/./} - start) / 1000))
}

# Sets `spent` to the processor time of the processes that ended, in microseconds.
spend() {
    local user system
    times > spent
    { read -r _; read -r user system; } < spent
    spent=$(awk -v all="$user $system" 'BEGIN { gsub(/[ms]/, " ", all); split(all, part, " "); printf "%d", ((part[1] + part[3]) * 60 + part[2] + part[4]) * 1e6 }')
}

# Runs a command over a log and sets `used` to its processor time in microseconds.
used_by() {
    local log=$2 before
    spend
    before=$spent
    case $1 in
        explain) run explain "$log:1" ;;
        follow) run follow --from-start -q "$log" ;;
        report) rm -rf state out && run report -j2 -q --state state --out out "$log" ;;
        learn) run learn -j2 "$log" ;;
        *) run "$1" -j2 -q "$log" ;;
    esac
    spend
    used=$((spent - before))
}

# A row for n lines and 4n.
cost() {
    local input=$1 command=$2 verdict='' bytes idle few
    used_by "$command" empty.log && idle=$used
    used_by "$command" few.log && few=$((used > idle ? used - idle : 1))
    used_by "$command" access.log && used=$((used > idle ? used - idle : 1))
    bytes=$(stat -c %s access.log)
    # Below 100 ms chance decides.
    [ "$((used * 1000 / bytes))" -le 2000 ] || verdict="over 2 us a byte"
    [ "$few" -lt 100000 ] || [ "$((used / few))" -lt 8 ] || verdict="$verdict grows"
    [ "$peak" -le "$PROMISE" ] || verdict="$verdict exceeded"
    [ -z "$verdict" ] || failed=1
    printf '%-12s %-8s %6d ns/byte %6d MiB %5d.%d x %8d KiB  %s\n' "$input" "$command" "$((used * 1000 / bytes))" "$((peak >> 10))" "$((used / few))" "$((used * 10 / few % 10))" "$((bytes >> 10))" "$verdict"
}

failed=0
if [ "$mode" = cost ]; then
    few=$scale
    printf '%s\n' '192.0.2.1 - - [02/Nov/2026:08:01:00 +0000] "GET /.env HTTP/1.1" 404 9 "-" "-"' > empty.log
    printf '%-12s %-8s %14s %10s %7s %12s\n' input command cost peak growth size
    for input in "${inputs[@]}"; do
        scale=$few && make "$input" > few.log
        scale=$((few * 4)) && make "$input" > access.log
        for command in $commands; do cost "$input" "$command"; done
    done
    exit "$failed"
fi

# Prints a row of the last run: the input, the command, and the size of the file or folder that it wrote.
row() {
    local verdict='' size= promise=$PROMISE
    case $2 in report | daily | hourly) promise=$OF_REPORT ;; esac
    [ "$peak" -le "$promise" ] || verdict=exceeded
    [ "$code" = 0 ] || verdict="exit $code: $(tail -n 1 errors)"
    [ -z "$verdict" ] || failed=1
    [ ! -e "${3:-}" ] || size="$(du -sm "$3" | cut -f 1) MiB"
    printf '%-12s %-8s %6d MiB %6d.%d s %10s  %s\n' "$1" "$2" "$((peak >> 10))" "$((took / 1000))" "$((took % 1000 / 100))" "$size" "$verdict"
}

report() {
    local input=$1 command=$2
    shift 2
    rm -rf state out
    mkdir out
    run report -j2 -q "$@" --state state --out out access.log
    row "$input" "$command" out
}

printf '%-12s %-8s %10s %10s %10s\n' input command peak time size
for input in "${inputs[@]}"; do
    make "$input" > access.log
    for command in $commands; do
        case $command in
            scan) run scan -j2 -q access.log; row "$input" scan ;;
            json) run scan -j2 -q -f json -o report.json access.log; row "$input" json report.json ;;
            report) report "$input" report ;;
            daily) report "$input" daily --daily ;;
            hourly) case $input in periods | hours) report "$input" hourly --hourly ;; esac ;;
            merge)
                half=$(($(wc -l < access.log) / 2))
                head -n "$half" access.log > one.log && tail -n "+$((half + 1))" access.log > other.log
                for part in one other; do "$probewatch" scan -q -f json -o "$part.json" "$part.log" 2> /dev/null || true; done
                run merge -q -f json -o merged.json one.json other.json; row "$input" merge merged.json
                rm -f one.* other.* merged.json
                ;;
            learn) run learn -j2 access.log; row "$input" learn ;;
            follow)
                # Its time includes two to four seconds of waiting for it to be idle.
                run follow --from-start -q access.log
                # Stopped by SIGINT, after all lines.
                [ "$code" -ne 130 ] || code=0
                grep -q "^$(sed ':a; s/\B[0-9]\{3\}\>/,&/; ta' <<< "$(wc -l < access.log)") lines: " output || code=incomplete
                row "$input" follow
                ;;
        esac
    done
    rm -rf access.log state out report.json output
done
exit "$failed"
