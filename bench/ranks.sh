#!/bin/sh
# ranks.sh: two ranks of one thread, data parallel and with shared state, beside PyTorch over gloo.
#
#   bench/ranks.sh TORCH_DDP.PY [WORKLOAD …]       default: mlp-sgd gpt-small gpt-big
#
# The Python script takes (WORKLOAD, ddp or fsdp, seconds) under torchrun and prints a line with
# `median`, as ranks.lua does.
# Out:   a line for each workload and plan: the smallest median of both in ms, over ROUNDS (5)
#        interleaved runs of SGL_BENCH_SECONDS (1) each; of sgl in one process of two threads too.
# Holds: nothing else should run meanwhile: both are slowed by it, and not alike.
set -eu
[ $# -ge 1 ] || { sed -n '4p' "$0" >&2; exit 2; }
peer=$1
shift
[ $# -gt 0 ] || set -- mlp-sgd gpt-small gpt-big
here=$(dirname "$0")
sgl=${SGL_EXE:-$here/../build/sgl}
export SGL_BENCH_SECONDS="${SGL_BENCH_SECONDS:-1}" OMP_NUM_THREADS=1
median() { sed -n 's/.*median *\([0-9.]*\) .*/\1/p'; }
for workload in "$@"; do
    for plan in ddp fsdp; do
        ours= theirs= alone=
        for round in $(seq "${ROUNDS:-5}"); do
            ours="$ours $("$sgl" run -n 2 --plan $plan --threads 1 "$here/ranks.lua" "$workload" | median)"
            theirs="$theirs $(torchrun --nproc-per-node 2 "$peer" "$workload" $plan "$SGL_BENCH_SECONDS" 2>/dev/null | median)"
            alone="$alone $("$sgl" --threads 2 "$here/steps.lua" "$workload" | median)"
        done
        echo "$workload|$plan|$ours|$theirs|$alone" | awk -F'|' '
            function least(s,   v, n, i, m) { n = split(s, v, " "); m = v[1]
                for (i = 2; i <= n; i++) if (v[i] + 0 < m + 0) m = v[i]
                return m }
            { a = least($3); b = least($4); c = least($5)
              printf "%-10s %-5s sgl %9.3f  torch %9.3f  one process %9.3f ms", $1, $2, a, b, c
              printf "  torch / sgl %.2f  sgl / one process %.2f\n", b / a, a / c }'
    done
done
