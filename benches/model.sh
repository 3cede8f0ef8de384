#!/usr/bin/env bash
# Runs PROGRAMS (50,000) random programs of writes, rotations, copies, packing, odd names, stalls and kills against each of the
# two models of reading logs: `follow`, and runs of `report`. Ends with 1 when a line is lost, doubled or garbled, and shows
# the shortest program that does it.
set -eu

cd "$(dirname -- "$0")/.."
export PROBEWATCH_MODEL_PROGRAMS=${PROGRAMS:-50000}
exec cargo test --release --locked --lib -- input::tail::tests::model input::tail::tests::read_once_model input::tail::tests::compressed::a_concurrent
