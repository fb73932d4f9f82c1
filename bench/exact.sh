#!/bin/sh
# exact.sh: exact mode at length: losses and all state after many steps have the bits of one rank.
#
#   bench/exact.sh [MODEL …]       default: mlp full cnn gpt rnn (spec/shard/models.lua)
#
# STEPS (50) steps of ROWS (10) rows, on 1 to 8 ranks, with each plan that fits them, one and two
# threads a rank. Out: a line for each run that differs, and how many runs there were.
set -eu
[ $# -gt 0 ] || set -- mlp full cnn gpt rnn
here=$(dirname "$0")
sgl=${SGL_EXE:-$here/../build/sgl}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
script="$here/../spec/shard/models.lua" rows=${ROWS:-10} steps=${STEPS:-50}
runs=0 bad=0
compare() { # model ranks plan threads
    "$sgl" run -n "$2" --exact 8 --plan "$3" --threads "$4" "$script" "$1" "$rows" "$steps" \
        > "$folder/many" 2>&1 || true
    runs=$((runs + 1))
    cmp -s "$folder/one" "$folder/many" && return
    bad=$((bad + 1))
    echo "differs: $1 on $2 ranks, plan $3, $4 threads: $(grep -v '^[0-9-]' "$folder/many" | head -1)"
}
for model in "$@"; do
    "$sgl" --exact 8 "$script" "$model" "$rows" "$steps" > "$folder/one"
    for ranks in 1 2 3 4 6 8; do
        for plan in ddp fsdp "model=$ranks"; do compare "$model" "$ranks" "$plan" 1; done
    done
    for plan in data=2,fsdp=2 data=2,model=2 fsdp=2,model=2; do compare "$model" 4 $plan 2; done
    for plan in data=2,fsdp=2,model=2 data=4,fsdp=2 model=2,data=4; do compare "$model" 8 $plan 1; done
done
echo "$runs runs of $steps steps, $bad differ"
[ "$bad" = 0 ]
