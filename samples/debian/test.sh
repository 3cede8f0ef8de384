#!/usr/bin/env bash
# Builds the .deb and tries it in a fresh Debian root: samples/debian/test.sh [--no-build]. Installs, scans and reports as the system user,
# verifies the units, upgrades with an edited conffile, removes, purges. Needs root, mmdebstrap, lintian and cargo-deb; it changes
# only a temporary folder and the target folder. DEBIAN_SUITE and DEBIAN_MIRROR choose another Debian, DEBIAN_ROOT names one that mmdebstrap
# made before, which is copied.
set -euo pipefail
cd "$(dirname "$0")/../.."

suite=${DEBIAN_SUITE:-bookworm}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
# No daemon runs in the root, so nothing has to be stopped after a failure.
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { inside setpriv --reuid=probewatch --regid=probewatch --init-groups "$@"; }

step "lintian"
deb=$(samples/debian/build.sh "$@")
ls -l "$deb"
lintian --fail-on error --tag-display-limit 0 "$deb" || fail "lintian"

step "a root of $suite"
if [ -n "${DEBIAN_ROOT:-}" ]; then
    cp -a "$DEBIAN_ROOT" "$root"
else
    mmdebstrap --quiet --variant=minbase --include=systemd,adduser,procps "$suite" "$root" "$mirror"
fi
install -d "$root/var/log/nginx"
chgrp adm "$root/var/log/nginx" && chmod 750 "$root/var/log/nginx"
install -m 640 -g adm samples/answered.log "$root/var/log/nginx/access.log"

step "install"
cp "$deb" "$root/one.deb"
inside dpkg --install /one.deb
inside id probewatch
inside stat -c '%A %U:%G %n' /var/lib/probewatch /var/lib/probewatch-report /var/log/probewatch-report /etc/probewatch/probewatch.toml
for folder in /var/lib/probewatch /var/lib/probewatch-report /var/log/probewatch-report; do
    [ "$(inside stat -c '%a %U' $folder)" = '750 probewatch' ] || fail "mode of $folder"
done
[ -z "$(find "$root/etc/systemd" -name '*probewatch*')" ] || fail "a unit is enabled"

step "scan and report as the system user"
as_user probewatch scan -q /var/log/nginx/ | sed -n '1,3p'
start=$(sed -n 's/^ExecStart=\(.\{1,\}\)/\1/p' "$root/lib/systemd/system/probewatch-report.service.d/package.conf")
start=${start//%S/\/var\/lib}
start=${start//%L/\/var\/log}
echo "$start"
as_user $start | sed -n '1,3p'
inside ls -l /var/log/probewatch-report/latest/
line=$(sed -n 's/^5 \* \* \* \* probewatch //p' "$root/usr/share/doc/probewatch/examples/probewatch.cron")
[ -n "$line" ] || fail "the example for cron"
printed=$(as_user $line)
[ -z "$printed" ] || fail "a run without new lines prints: $printed"
echo "the second run, of the line for cron, printed nothing"

step "units"
inside systemd-analyze verify --man=no probewatch.service probewatch-report.service probewatch-report.timer
inside systemd-analyze calendar --iterations=2 "$(sed -n 's/^OnCalendar=//p' "$root/lib/systemd/system/probewatch-report.timer")"

step "upgrade with an edited conffile"
echo 'min-severity = "high"' >> "$root/etc/probewatch/probewatch.toml"
dpkg-deb --raw-extract "$deb" "$work/two"
sed -i 's/^Version: .*/&.1/' "$work/two/DEBIAN/control"
echo '# A new default.' >> "$work/two/etc/probewatch/probewatch.toml"
(cd "$work/two" && find etc usr lib -type f -exec md5sum {} + > DEBIAN/md5sums)
dpkg-deb --root-owner-group --build "$work/two" "$root/two.deb"
inside dpkg --force-confold --install /two.deb
grep -qx 'min-severity = "high"' "$root/etc/probewatch/probewatch.toml" || fail "the edited conffile was replaced"
inside dpkg-query -W -f '${Package} ${Version} ${Status}\n' probewatch

step "remove, then purge"
inside dpkg --remove probewatch
[ -e "$root/etc/probewatch/probewatch.toml" ] || fail "remove took the configuration"
inside dpkg --purge probewatch | tee "$work/purge"
[ ! -e "$root/etc/probewatch" ] || fail "purge left the configuration"
[ -d "$root/var/lib/probewatch-report" ] && [ -d "$root/var/log/probewatch-report/latest" ] || fail "purge took state or reports"
grep -q '/var/log/probewatch-report stays' "$work/purge" || fail "purge does not print where the reports stay"
[ -z "$(find "$root/usr" "$root/lib/" "$root/etc" -name '*probewatch*')" ] || fail "files are left"

step "all passed"
