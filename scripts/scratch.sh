# scratch.sh: what the scripts prove-* share: a copy of the sources to change, and its build.
#
# In:    $0, the script that sources this. JOBS says how many compilers run at once (default 2).
# Out:   the current folder is a scratch copy of the tree, removed at the end; $root is the tree.

set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
busted=${BUSTED:-$(command -v busted)}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
export XDG_CACHE_HOME="$scratch/cache" SGL_EXE=build/sgl
for part in Makefile .busted src lua scripts spec; do cp -r "$root/$part" "$scratch/$part"; done
cd "$scratch"

fail() {
    echo "$(basename "$0"): $1" >&2
    exit 1
}

# Puts a line before the first line that matches, in a file of the copy.
insert() { # file, pattern of the line, text
    awk -v row="$3" -v at="$2" '$0 ~ at && !done { print row; done = 1 } { print }' "$1" >insert.tmp
    cmp -s insert.tmp "$1" && fail "$1 has no line like $2"
    mv insert.tmp "$1"
}

# What was done by hand: so many files, and in the tables so many lines.
changed() { # files, lines in files that were there
    files=$(diff -rq "$root/src" src; diff -rq "$root/lua" lua) || true
    count=$(printf '%s\n' "$files" | grep -c .) || true
    lines=$(diff -r "$root/src" src | grep -c '^[<>]') || true
    [ "$count" = "$1" ] || fail "$count files differ, not $1: $files"
    [ "$lines" = "$2" ] || fail "$lines lines differ in files that were there, not $2"
    echo "by hand: $1 files, $2 lines in tables"
}

# A quick build of the interpreter, of what the generated specs load, and of what else is named;
# only the portable kernels.
build() {
    make -s -j"${JOBS:-2}" ISAS=portable CFLAGS=-O1 WERROR=1 B=build \
        build/sgl build/spec/ops.so "$@" >build.log 2>&1 ||
        { cat build.log >&2; fail "the build failed"; }
    echo "built"
}

# What a Lua chunk prints must be the text.
says() { # text, chunk
    value=$(build/sgl -e "local sgl = require 'sgl' $2" 2>&1) || fail "'$2' fails: $value"
    [ "$value" = "$1" ] || fail "'$2' says '$value', not '$1'"
    echo "says $value"
}
