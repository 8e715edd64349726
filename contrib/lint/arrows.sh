#!/bin/sh
# sh contrib/lint/arrows.sh [ROOT]
#
# The one direction of the house: which folder may include which. Prints
# FILE:LINE for each include that points the other way; exit status 1 then.
set -eu
cd "${1:-.}"

list=$(find agent resolver providers specs tests \( -name '*.c' -o \
    -name '*.h' \) -type f 2>/dev/null | sort)
[ -n "$list" ] || {
    echo "arrows.sh: no C files in $PWD" >&2
    exit 1
}
# shellcheck disable=SC2086 # the names of the repository hold no blanks
awk '
# The table. A folder always reaches itself; a name without a slash at its end
# is one header.
BEGIN {
    base = "agent/base/"
    rooms = base " agent/probes/ specs/ resolver/ providers/"
    may["agent/base/"] = ""
    may["agent/probes/"] = base
    may["specs/"] = base
    may["resolver/"] = base
    may["providers/"] = base " resolver/message.h resolver/exchange.h" \
        " resolver/transfer.h resolver/tsig.h"
    may["agent/engine/"] = rooms
    may["agent/report/"] = rooms " agent/engine/"
    may["agent/cli/"] = rooms " agent/engine/ agent/report/"
    may["tests/"] = may["agent/cli/"] " agent/cli/"
    # Reports read: whatever writes is out of their reach.
    never["agent/report/"] = "agent/engine/apply.h providers/provider.h"
    for (r in may) is_room[r] = 1
}

function room_of(path,    parts, n) {
    n = split(path, parts, "/")
    if (n >= 3 && parts[1] == "agent") return "agent/" parts[2] "/"
    if (n >= 2) return parts[1] "/"
    return ""
}

function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad = 1
}

function reaches(from, path,    list, n, i) {
    n = split(never[from], list, " ")
    for (i = 1; i <= n; i++)
        if (path == list[i]) return 0
    if (index(path, from) == 1) return 1
    n = split(may[from], list, " ")
    for (i = 1; i <= n; i++)
        if (list[i] ~ /\/$/ ? index(path, list[i]) == 1 : path == list[i])
            return 1
    return 0
}

/^[ \t]*#[ \t]*(include|import|include_next)/ {
    from = room_of(FILENAME)
    if (!(from in is_room)) {
        complain("no such room in the house: " from)
        next
    }
    what = $0
    sub(/^[ \t]*#[ \t]*[a-z_]+[ \t]*/, "", what)
    form = substr(what, 1, 1)
    if (form != "\"" && form != "<") {
        complain("an include must name its file: " what)
        next
    }
    path = substr(what, 2)
    sub(/[">].*/, "", path)
    to = room_of(path)
    # System headers; the project takes its own by quotes and from the root.
    if (form == "<" && !(to in is_room)) next
    if (form == "<") {
        complain("\"" path "\" is ours: use quotes")
        next
    }
    if (!(to in is_room)) {
        complain("\"" path "\" is not written from the root (room/file.h)")
        next
    }
    if (!reaches(from, path))
        complain(from " may not include " path " (may: " \
            (may[from] == "" ? "nothing of the project" : may[from]) ")")
}
END { exit bad }
' $list
