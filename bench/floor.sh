#!/bin/sh
# floor.sh: the small GPT's step side by side with the same step written by hand in C.
#
#   bench/floor.sh [build/sgl] [STUDIES]      STUDIES: the folder with gptstep.c and its Makefile
#
# Runs both in turn on 2 threads, five times, and prints each median and the ratio of the medians.
set -eu
sgl=${1:-build/sgl}
studies=${2:-../shared/studies/cpu}
threads=${THREADS:-2}
if [ ! -f "$studies/gptstep.c" ]; then
    echo "floor.sh: skipped: no hand-written step at $studies"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$studies"/*.c "$studies"/*.h "$studies/Makefile" "$work"
variant=gpt2
grep -qm1 avx512f /proc/cpuinfo && variant=gpt5
make -s -C "$work" "build/$variant"
: > "$work/hand"
: > "$work/sgl"
for run in 1 2 3 4 5; do
    "$work/build/$variant" 0 "$threads" 60 | sed 's/.*median \([0-9.]*\) ms.*/\1/' >> "$work/hand"
    SGL_THREADS=$threads SGL_BENCH_SECONDS=2 "$sgl" "$(dirname "$0")/steps.lua" gpt-small |
        sed 's/.*median *\([0-9.]*\) .*/\1/' >> "$work/sgl"
done
hand=$(sort -n "$work/hand" | sed -n 3p)
ours=$(sort -n "$work/sgl" | sed -n 3p)
echo "gpt-small, $threads threads: by hand $hand ms ($variant), sgl $ours ms," \
    "ratio $(awk "BEGIN { printf \"%.2f\", $ours / $hand }")"
