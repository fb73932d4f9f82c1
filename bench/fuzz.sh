#!/bin/sh
# fuzz.sh: damaged inputs for every parser and for entries of the folder of programs, round after
# round with other seeds, until the time is up.
#
#   bench/fuzz.sh [SECONDS (3600)]        with SAN=address,undefined in the environment: sanitized
#
# Out:   a line for each round; the first failing input ends it, with its seed and its file.
set -eu
cd "$(dirname "$0")/.."
end=$(($(date +%s) + ${1:-3600}))
log=$(mktemp)
trap 'rm -f "$log"' EXIT
seed=${SGL_SEED:-$(date +%s)} rounds=0
while [ "$(date +%s)" -lt "$end" ]; do
    SGL_SEED=$seed SGL_FUZZ="${SGL_FUZZ:-2000}" make -s test ${SAN:+SAN="$SAN"} \
        SPEC_FLAGS=spec/io/fuzz_spec.lua >"$log" 2>&1 || { cat "$log"; exit 1; }
    rounds=$((rounds + 1))
    echo "round $rounds, SGL_SEED=$seed: $(tail -1 "$log")"
    seed=$((seed + 1))
done
