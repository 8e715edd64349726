#!/bin/bash
# upd_tools.sh TOOL PORT ZONE [TSIG]
#
# Updates by nsupdate or knsupdate to a server on loopback; wall time and CPU
# of a change. TSIG: any text; the key k of the test servers is used then.
set -u
[ $# -ge 3 ] || {
    sed -n '2,5p' "$0" >&2
    exit 2
}
tool=$1
port=$2
zone=$3
tsig=${4:-}
opt=()
[ -z "$tsig" ] ||
    opt=(-y hmac-sha256:k:c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

gen() { # gen FIRST COUNT PER_MESSAGE
    local i h
    echo "server 127.0.0.1 $port"
    echo "zone $zone."
    for i in $(seq "$1" $(($1 + $2 - 1))); do
        h=$(printf 'h%05d' $((i % 10000)))
        echo "update delete $h.$zone. A"
        echo "update add $h.$zone. 60 A" \
            "10.$((RANDOM % 250)).$((RANDOM % 250)).$((i % 250))"
        [ $((i % $3)) -ne $(($3 - 1)) ] || echo send
    done
}

run() { # run LABEL CHANGES COMMAND...
    local label=$1 n=$2 t
    shift 2
    TIMEFORMAT='%R %U %S'
    t=$({ time "$@" >"$dir/out" 2>&1; } 2>&1)
    echo "$tool port=$port tsig=${tsig:-no} $label $(echo "$t" |
        awk -v n="$n" '{ printf "wall_ms/change %.3f  cpu_us/change %.0f  " \
            "changes/s %.0f", $1 * 1000 / n, ($2 + $3) * 1e6 / n, n / $1 }'
    ) errors=$(grep -ciE 'fail|refused|error|timed' "$dir/out")"
}

one_each() {
    local i
    for i in $(seq 0 49); do
        gen "$i" 1 1 >"$dir/one"
        echo send >>"$dir/one"
        "$tool" "${opt[@]}" <"$dir/one"
    done
}

from() { # from FILE ARGS...
    local file=$1
    shift
    "$tool" "$@" "${opt[@]}" <"$file"
}

gen 0 500 1 >"$dir/single"
gen 0 1000 100 >"$dir/batched"
for _ in 1 2 3; do
    run '1 process per change (n=50)' 50 one_each
    run '1 process, 500 messages' 500 from "$dir/single"
    run '1 process, 10 messages of 100 changes, TCP' 1000 \
        from "$dir/batched" -v
done
