#!/bin/sh
# versus.sh: the workloads of steps.lua with two builds side by side.
#
#   bench/versus.sh OLD_SGL NEW_SGL [WORKLOAD …]
#
# Out:   a line each: the smallest median of both in ms, over ROUNDS (5) interleaved runs of
#        SGL_BENCH_SECONDS (1) each, and new / old.
# Holds: each build runs the same scripts, those of this tree. Use an idle machine.
set -eu
[ $# -ge 2 ] || { sed -n '4p' "$0" >&2; exit 2; }
old=$1 new=$2
shift 2
[ $# -gt 0 ] || set -- mlp-sgd mlp-adamw cnn lstm gpt-small infer-mlp infer-gpt
here=$(dirname "$0")
export SGL_BENCH_SECONDS="${SGL_BENCH_SECONDS:-1}"
median() { "$1" "$here/steps.lua" "$2" | sed 's/.*median *\([0-9.]*\) .*/\1/'; }
for workload in "$@"; do
    a= b=
    for round in $(seq "${ROUNDS:-5}"); do
        a="$a $(median "$old" "$workload")"
        b="$b $(median "$new" "$workload")"
    done
    echo "$workload|$a|$b" | awk -F'|' '
        function least(s,   v, n, i, m) { n = split(s, v, " "); m = v[1]
            for (i = 2; i <= n; i++) if (v[i] < m) m = v[i]
            return m }
        { o = least($2); n = least($3)
          printf "%-10s old %9.3f  new %9.3f ms  new / old %.3f\n", $1, o, n, n / o }'
done
