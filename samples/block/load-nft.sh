#!/bin/sh
# Loads a list of `probewatch block --format nft` into the sets that nft-setup.nft makes. Run it as root:
#
#   load-nft.sh LIST
#
# The list replaces the old one in one transaction. If the list is damaged or nft refuses it, the old list stays in force, and
# the exit code is not 0. It never runs anything else that a list contains: a list that has another line than addresses and
# these two sets, or a network larger than /24 or /48, is refused. It never changes another table.
set -eu
list=${1:?usage: load-nft.sh LIST}
export LC_ALL=C

# The owner of the list may change it after the check.
copy=$(mktemp)
trap 'rm -f "$copy"' EXIT
trap 'exit 1' HUP INT TERM
cat -- "$list" > "$copy"

octet='(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])'
address="($octet(\.$octet){3}(/(2[4-9]|3[0-2]))?|[0-9a-f]*:[0-9a-f:.]*(/(4[89]|[5-9][0-9]|1[0-2][0-9]))?)"
line="add table inet probewatch"
line="$line|add set inet probewatch block[46] \{ type ipv[46]_addr; flags interval; auto-merge; \}"
line="$line|flush set inet probewatch block[46]"
line="$line|add element inet probewatch block[46] \{|\}"
line="$line|[[:blank:]]*$address,?[[:blank:]]*(#.*)?"
if wrong=$(grep -aEvnm1 "^($line|[[:blank:]]*#.*|)$" "$copy") || [ $? -ne 1 ]; then
    echo "load-nft.sh: $list: line ${wrong%%:*} is not a line of a block list; the old list stays in force" >&2
    exit 1
fi

if ! nft -c -f "$copy" || ! nft -f "$copy"; then
    echo "load-nft.sh: $list: nft refuses it; the old list stays in force" >&2
    exit 1
fi
