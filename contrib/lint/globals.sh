#!/bin/sh
# sh contrib/lint/globals.sh OBJECT...
#
# No mutable variable of file scope: whoever runs two agents in one process
# must not find that they share something. Constant tables may hold addresses
# (.data.rel.ro). The one exception is the log's level.
set -eu
[ $# -gt 0 ] || {
    echo 'globals.sh: which object files?' >&2
    exit 1
}
objdump -t "$@" | awk '
/: *file format / {
    object = $1
    sub(/:$/, "", object)
}
# address flags section<TAB>size name; flags hold O for an object
/^[0-9a-f]+ .*[ \t]/ {
    split($0, half, "\t")
    if (split(half[2], tail, " ") < 2) next
    n = split(half[1], left, " ")
    section = left[n]
    if (section !~ /^(\.bss|\.data|\.tbss|\.tdata|\*COM\*|COMMON)/) next
    if (section ~ /^\.data\.rel\.ro/) next
    name = tail[2]
    # Sections themselves, and labels that hold nothing.
    if (name ~ /^\./ || tail[1] ~ /^0+$/) next
    if (object ~ /agent\/base\/log\.o$/ && name == "limit") next
    source = object
    sub(/^.*\/obj\//, "", source)
    sub(/\.o$/, ".c", source)
    printf "%s: %s is a mutable variable of file scope (%s)\n", source, name,
        section
    bad = 1
}
END { exit bad }'
