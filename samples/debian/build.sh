#!/usr/bin/env bash
# Builds the .deb: samples/debian/build.sh. Needs `cargo install --locked cargo-deb`; writes only to the target folder, and prints the path.
# With --no-build it packs the program that target/release holds already.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "${1:-}" = --no-build ] || cargo build --release --locked >&2
release=${CARGO_TARGET_DIR:-target}/release
samples/debian/documents.sh "$release/probewatch" "$release/documents"

# Modes of folders in the package must not depend on who builds it.
umask 022
cargo deb --no-build --quiet --locked
