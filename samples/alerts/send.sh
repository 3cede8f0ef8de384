# Functions of the scripts beside this file, which `probewatch follow --exec` starts. Each gets the alerts on its standard input, one
# line of JSON each. They need curl and jq.

# Prints a body for each alert: the jq filter's result, at once. `sentence` is the alert in one line of text.
bodies() { # FILTER [ARGUMENT of jq]...
    filter=$1
    shift
    jq --unbuffered -c "$@" '"\(.severity): \(.text)" as $sentence | '"$filter"
}

# Sends a body as JSON. The URL and the header may hold a secret: curl reads them from its standard input, so that they are in no list
# of processes. A failure is printed to standard error, and the next alert is sent.
send() { # METHOD URL BODY [HEADER]
    {
        printf 'url = "%s"\n' "$2"
        [ -z "${4:-}" ] || printf 'header = "%s"\n' "$4"
    } | curl --config - --request "$1" --silent --show-error --fail --max-time 20 --retry 3 --output /dev/null \
        --header 'Content-Type: application/json' --data-binary "$3"
}
