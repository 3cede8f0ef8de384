#!/usr/bin/env bash
# Builds the image and runs it: samples/container/test.sh PROGRAM, where PROGRAM is the static build. Its scan must print the bytes that
# the program prints outside. Needs root, buildah and git; it changes only a temporary folder. A container is a chroot here, so neither a
# daemon nor cgroups are needed.
set -euo pipefail
program=$(realpath "$1")
cd "$(dirname "$0")/../.."

export STORAGE_DRIVER=vfs BUILDAH_ISOLATION=chroot
work=$(mktemp -d)
buildah=(buildah --root "$work/storage" --runroot "$work/run")
trap '"${buildah[@]}" rm --all > /dev/null || true; rm -rf --one-file-system "$work"' EXIT

step() { printf '\n== %s\n' "$*"; }
fail() { printf 'FAILED: %s\n' "$*" >&2; exit 1; }
image() { "${buildah[@]}" inspect --type image --format "{{range .OCIv1.Config.$1}}{{println .}}{{end}}" probewatch; }
# What `podman run -v LOGS:/logs:ro -v STATE:/state -v REPORTS:/reports probewatch ARGUMENTS` does. The logs have the path of outside too,
# for reports that are equal.
inside() {
    "${buildah[@]}" run --volume "$work/logs:/logs:ro" --volume "$work/logs:$work/logs:ro" \
        --volume "$work/state:/state" --volume "$work/reports:/reports" "$container" -- "${entry[@]}" "$@"
}
# How long a scan took is different each time.
untimed() { sed 's/ in [0-9.]\{1,\} m\{0,1\}s$//'; }

step "build"
mkdir -p "$work/context" "$work/logs"
cp "$program" "$work/context/probewatch"
"${buildah[@]}" build --quiet -f samples/container/Containerfile -t probewatch "$work/context"
container=$("${buildah[@]}" from probewatch)
mapfile -t entry < <(image Entrypoint | sed '/^$/d')
mapfile -t command < <(image Cmd | sed '/^$/d')

step "contents"
root=$("${buildah[@]}" mount "$container")
find "$root" -mindepth 1 -printf '%m %P\n' | tee "$work/files"
[ "$(cat "$work/files")" = '755 probewatch' ] || fail "the image contains more than the program"
"${buildah[@]}" umount "$container" > /dev/null

step "version"
# Only files that git has: a log written meanwhile would differ.
git -c safe.directory='*' archive HEAD samples | tar -xC "$work/logs" --strip-components=1
install -d -o 65534 -g 65534 -m 700 "$work/state" "$work/reports"
inside --version

step "scan"
inside "${command[@]}" -q | sed -n '1,3p'
for format in table json csv ndjson; do
    inside scan -q -f $format "$work/logs" | untimed > "$work/inside"
    "$program" scan -q -f $format "$work/logs" | untimed > "$work/outside"
    echo "$format: $(wc -c < "$work/inside") bytes"
    cmp "$work/inside" "$work/outside" || fail "$format differs"
done

step "report as the user 65534"
inside report --state /state --out /reports --always /logs/answered.log
[ "$(stat -c %u:%g "$(readlink -f "$work/reports/latest")")" = 65534:65534 ] || fail "owner of the report"
ls -ln "$work/reports/latest/"

step "a log that the user cannot read"
install -m 600 samples/quiet.log "$work/logs/private.log"
status=0
inside scan -q /logs/private.log > "$work/printed" 2>&1 || status=$?
cat "$work/printed"
[ $status = 3 ] || fail "exit code $status"
grep -q 'private.log: .*ermission denied' "$work/printed" || fail "no message"

step "all passed"
