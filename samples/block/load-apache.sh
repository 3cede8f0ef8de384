#!/bin/sh
# Installs a list of `probewatch block --format apache` as an include of Apache. Run it as root:
#
#   load-apache.sh LIST TARGET
#
# TARGET is the file that apache-setup.conf includes: /etc/apache2/probewatch.list. The list is installed by rename and tested
# with `apachectl -t`; then Apache restarts gracefully. If Apache refuses the list, the old one is put back, and the exit code is
# not 0. It never installs directives that are not of a block list, such as an `Include`, nor a network larger than /24 or /48.
# Set APACHECTL if apachectl has another name.
set -eu
list=${1:?usage: load-apache.sh LIST TARGET}
target=${2:?usage: load-apache.sh LIST TARGET}
apachectl=${APACHECTL:-apachectl}
export LC_ALL=C

new=$(mktemp "$target.XXXXXX")
# Without $target.old, the file at TARGET was accepted.
finish() {
    rm -f "$new"
    [ ! -e "$target.old" ] || mv -f "$target.old" "$target"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
# What a killed run did not test.
[ ! -e "$target.old" ] || mv -f "$target.old" "$target"
cat -- "$list" > "$new"
chmod 644 "$new"

# A backslash at the end of a line would hide the next one, also in comments.
octet='(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])'
address="($octet(\.$octet){3}(/(2[4-9]|3[0-2]))?|[0-9a-f]*:[0-9a-f:.]*(/(4[89]|[5-9][0-9]|1[0-2][0-9]))?)"
line="</?RequireAll>|Require all granted|Require not ip $address|#(.*[^\\\\])?"
if wrong=$(grep -aEvnm1 "^[[:blank:]]*($line|)$" "$new") || [ $? -ne 1 ]; then
    echo "load-apache.sh: $list: line ${wrong%%:*} is not a line of a block list; the old list stays in force" >&2
    exit 1
fi
if cmp -s "$new" "$target"; then
    exit 0
fi

[ ! -e "$target" ] || cp -p "$target" "$target.old.new"
[ -e "$target" ] || : > "$target.old.new"
mv "$target.old.new" "$target.old"
mv "$new" "$target"
# Its messages matter if it refuses the list: "Syntax OK" does not.
if ! messages=$({ $apachectl -t && $apachectl graceful; } 2>&1); then
    echo "$messages" >&2
    echo "load-apache.sh: $list: Apache refuses it; the old list is put back" >&2
    exit 1
fi
rm -f "$target.old"
