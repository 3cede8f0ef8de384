#!/bin/sh
# Loads a list of `probewatch block --format ipset` into the sets probewatch4 and probewatch6. Run it as root:
#
#   load-ipset.sh LIST
#
# The new sets are filled first and then swapped with the old ones. Before that, the whole list is loaded into sets with other
# names: if ipset refuses one line, the old sets stay in force, and the exit code is not 0. It never runs anything else that a
# list contains: a list with lines for other sets, or a network larger than /24 or /48, is refused. It makes no firewall rule.
# Once after each boot, after the first load, add your own, such as:
#
#   iptables -I INPUT -p tcp -m multiport --dports 80,443 -m conntrack --ctstate NEW -m set --match-set probewatch4 src -j DROP
#   ip6tables -I INPUT -p tcp -m multiport --dports 80,443 -m conntrack --ctstate NEW -m set --match-set probewatch6 src -j DROP
set -eu
list=${1:?usage: load-ipset.sh LIST}
export LC_ALL=C

# The owner of the list may change it after the check.
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
trap 'exit 1' HUP INT TERM
cat -- "$list" > "$copy"

octet='(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])'
address="($octet(\.$octet){3}(/(2[4-9]|3[0-2]))?|[0-9a-f]*:[0-9a-f:.]*(/(4[89]|[5-9][0-9]|1[0-2][0-9]))?)"
line="create probewatch[46](-new)? hash:net family inet6?( (hashsize|maxelem) [0-9]+)*( -exist)?"
line="$line|(flush|destroy) probewatch[46]-new"
line="$line|add probewatch[46]-new $address( -exist)?"
line="$line|swap probewatch4 probewatch4-new|swap probewatch6 probewatch6-new"
if wrong=$(grep -aEvnm1 "^($line|#.*|)$" "$copy") || [ $? -ne 1 ]; then
    echo "load-ipset.sh: $list: line ${wrong%%:*} is not a line of a block list; the old sets stay in force" >&2
    exit 1
fi

for set in probewatch4 probewatch6; do
    if ! grep -qx "swap $set $set-new" "$copy"; then
        echo "load-ipset.sh: $list: it ends too early; the old sets stay in force" >&2
        exit 1
    fi
done

# Removes sets that an earlier or this run left, if they exist.
clean() {
    for set in "$@"; do
        ipset destroy "$set" 2> /dev/null || true
    done
}

clean probewatch-check4 probewatch-check4-new probewatch-check6 probewatch-check6-new probewatch4-new probewatch6-new
refused=
sed -E '/^#/!s/probewatch([46])/probewatch-check\1/g' "$copy" | ipset restore || refused=1
clean probewatch-check4 probewatch-check4-new probewatch-check6 probewatch-check6-new
if [ -n "$refused" ] || ! ipset restore < "$copy"; then
    clean probewatch4-new probewatch6-new
    echo "load-ipset.sh: $list: ipset refuses it; the old sets stay in force" >&2
    exit 1
fi
