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
# The table. A folder always reaches itself; DIR/ is all below it, DIR/*.h its
# own headers without those of the folders in it, any other name one header.
BEGIN {
    base = "agent/base/"
    rooms = base " agent/probes/ specs/ resolver/ providers/"
    may["agent/base/"] = ""
    may["agent/probes/"] = base
    may["specs/"] = base
    may["resolver/"] = base
    messages = " resolver/message.h resolver/exchange.h" \
        " resolver/transfer.h resolver/tsig.h"
    may["providers/"] = base messages " providers/rest/ providers/shared/"
    # A folder in providers/ without a line of its own.
    one_provider = base messages " providers/*.h providers/shared/"
    may["providers/hook/"] = one_provider " providers/rest/rest_json.h"
    may["providers/rest/"] = base " providers/*.h providers/shared/"
    may["providers/shared/"] = base " providers/*.h"
    # Pure: no clock, no loop, no state; time is an argument.
    decide = "agent/engine/decide/"
    may[decide] = base "mem.h " base "name.h " base         "slab.h specs/ providers/rrset.h"
    may["agent/engine/state/"] = base " specs/ " decide
    may["agent/engine/checks/"] = rooms " " decide " agent/engine/state/"
    may["agent/engine/world/"] = may["agent/engine/checks/"] \
        " agent/engine/checks/"
    may["agent/engine/round/"] = may["agent/engine/world/"] \
        " agent/engine/world/"
    may["agent/engine/service/"] = may["agent/engine/round/"] \
        " agent/engine/round/"
    may["agent/engine/sim/"] = may["agent/engine/round/"]
    may["agent/engine/helper/"] = base " agent/probes/ providers/"
    may["agent/report/"] = base " agent/engine/round/round.h"
    may["agent/cli/"] = rooms " agent/engine/ agent/report/"
    may["tests/"] = may["agent/cli/"] " agent/cli/"
    for (r in may) is_room[r] = 1
}

function room_of(path,    parts, n, room) {
    n = split(path, parts, "/")
    if (n >= 4 && parts[1] == "agent" && parts[2] == "engine")
        return "agent/engine/" parts[3] "/"
    if (n >= 3 && parts[1] == "agent") return "agent/" parts[2] "/"
    if (n >= 3 && parts[1] == "providers") {
        room = "providers/" parts[2] "/"
        if (!(room in is_room)) {
            is_room[room] = 1
            may[room] = one_provider
        }
        return room
    }
    if (n >= 2) return parts[1] "/"
    return ""
}

# Does one entry of the table hold this header?
function holds(entry, path,    dir) {
    if (entry ~ /\/$/) return index(path, entry) == 1
    if (entry !~ /\/\*\.h$/) return path == entry
    dir = substr(entry, 1, length(entry) - 3)
    return index(path, dir) == 1 && substr(path, length(dir) + 1) !~ /\//
}

function complain(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what
    bad = 1
}

function reaches(from, path,    list, n, i) {
    if (room_of(path) == from) return 1
    n = split(may[from], list, " ")
    for (i = 1; i <= n; i++)
        if (holds(list[i], path)) return 1
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
