#!/bin/sh
# Installs a list of `probewatch block --format nginx` or `nginx-geo` as an include of nginx. Run it as root:
#
#   load-nginx.sh LIST TARGET
#
# TARGET is a file that nginx includes, such as /etc/nginx/conf.d/probewatch.conf. With the format `nginx`, listed addresses get
# a 403. With `nginx-geo`, you decide in `server` or `location`: `if ($probewatch_block) { return 403; }`. The list is installed
# by rename and tested with `nginx -t`; then nginx reloads. If nginx refuses the list, the old one is put back, and the exit
# code is not 0. It never installs directives that are not of a block list, such as an `include`, nor a network larger than /24
# or /48. Set NGINX if nginx has another name or needs flags.
set -eu
list=${1:?usage: load-nginx.sh LIST TARGET}
target=${2:?usage: load-nginx.sh LIST TARGET}
nginx=${NGINX:-nginx}
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

octet='(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])'
address="($octet(\.$octet){3}(/(2[4-9]|3[0-2]))?|[0-9a-f]*:[0-9a-f:.]*(/(4[89]|[5-9][0-9]|1[0-2][0-9]))?)"
line="deny $address;|geo \\\$probewatch_block \{|default 0;|$address 1;|\}"
if wrong=$(grep -aEvnm1 "^[[:blank:]]*($line|)[[:blank:]]*(#.*)?$" "$new") || [ $? -ne 1 ]; then
    echo "load-nginx.sh: $list: line ${wrong%%:*} is not a line of a block list; the old list stays in force" >&2
    exit 1
fi
if cmp -s "$new" "$target"; then
    exit 0
fi

[ ! -e "$target" ] || cp -p "$target" "$target.old.new"
[ -e "$target" ] || : > "$target.old.new"
mv "$target.old.new" "$target.old"
mv "$new" "$target"
# Its messages matter if it refuses the list, and not every five minutes.
if ! messages=$({ $nginx -q -t && $nginx -s reload; } 2>&1); then
    echo "$messages" >&2
    echo "load-nginx.sh: $list: nginx refuses it; the old list is put back" >&2
    exit 1
fi
rm -f "$target.old"
