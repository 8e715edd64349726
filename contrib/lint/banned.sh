#!/bin/sh
# sh contrib/lint/banned.sh [ROOT]
#
# Functions the project does not use, and why. Prints FILE:LINE for each use;
# exit status 1 then. Comments and strings are not looked at.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"

list=$(find agent resolver providers specs tests \( -name '*.c' -o \
    -name '*.h' \) -type f 2>/dev/null | sort)
[ -n "$list" ] || {
    echo "banned.sh: no C files in $PWD" >&2
    exit 1
}
program='
BEGIN {
    size = "knows no size: use agent/base/buf.h or snprintf"
    number = "hides errors: use the parsers of agent/base"
    split("strcpy strcat sprintf vsprintf gets stpcpy", names, " ")
    for (k in names) why[names[k]] = size
    split("atoi atol atoll atof", names, " ")
    for (k in names) why[names[k]] = number
    why["strncpy"] = "may leave the end off"
    why["strtok"] = "keeps hidden state"
    why["strtod"] = "follows the locale"
    why["rand"] = why["srand"] = "is weak and global: use getrandom"
    why["signal"] = "is the business of agent/base/loop.c: use libuv"
    why["select"] = "ends at descriptor 1023: use the loop"
    why["system"] = why["popen"] = "is a shell: use agent/base/proc.h"
    why["alloca"] = "has no limit"
    ctype = "isalnum isalpha isascii isblank iscntrl isdigit isgraph " \
        "islower isprint ispunct isspace isupper isxdigit tolower toupper"
    split(ctype, names, " ")
    for (k in names) wire[names[k]] = "follows the locale: not for wire data"
}
function begin_file() {
    is_wire = FILENAME ~ /^(specs|resolver|providers)\//
}
function complain(name, reason) {
    printf "%s:%d: %s %s\n", FILENAME, FNR, name, reason
    bad = 1
}
function check(text, original,    rest, name, before) {
    if (is_wire && original ~ /^[ \t]*#[ \t]*include[ \t]*<ctype\.h>/)
        complain("<ctype.h>", "follows the locale: not for wire data")
    rest = text
    before = ""
    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*[ \t]*\(/)) {
        name = substr(rest, RSTART, RLENGTH - 1)
        sub(/[ \t]+$/, "", name)
        before = substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART + RLENGTH)
        # A member of that name is a function of our own.
        if (before ~ /(\.|->)[ \t]*$/) continue
        if (name == "signal" && FILENAME == "agent/base/loop.c") continue
        if (name in why) complain(name, why[name])
        else if (is_wire && (name in wire)) complain(name, wire[name])
    }
}
END { exit bad }
'
# shellcheck disable=SC2086 # the names of the repository hold no blanks
awk -f "$here/strip.awk" -f /dev/stdin $list <<PROGRAM
$program
PROGRAM
