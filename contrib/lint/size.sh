#!/bin/sh
# sh contrib/lint/size.sh [ROOT]
#
# Files of at most 600 lines, functions of at most 70 (from brace to brace).
# Prints FILE:LINE for each that is longer; exit status 1 then.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}"

bad=0
for f in $(find agent resolver providers specs tests contrib -type f \
    \( -name '*.[ch]' -o -name '*.py' -o -name '*.sh' -o -name '*.php' \) |
    sort); do
    n=$(wc -l <"$f")
    if [ "$n" -gt 600 ]; then
        echo "$f:601: $n lines; at most 600"
        bad=1
    fi
done
program='
function begin_file() { start = 0; head = "" }
# A function opens and closes in column 1 (.clang-format sees to it).
function check(text, original) {
    if (text ~ /^\{/) {
        start = FNR
    } else if (text ~ /^\}/ && start > 0) {
        if (FNR - start - 1 > 70) {
            printf "%s:%d: %s has %d lines; at most 70\n", FILENAME, start,
                head, FNR - start - 1
            bad = 1
        }
        start = 0
    } else if (start == 0 && match(text, /[A-Za-z_][A-Za-z0-9_]*\(/)) {
        if (text ~ /^[A-Za-z_]/) head = substr(text, RSTART, RLENGTH - 1)
    }
}
END { exit bad }
'
list=$(find agent resolver providers specs tests -name '*.[ch]' -type f | sort)
[ -n "$list" ] || exit "$bad"
# shellcheck disable=SC2086 # the names of the repository hold no blanks
awk -f "$here/strip.awk" -f /dev/stdin $list <<PROGRAM || bad=1
$program
PROGRAM
exit "$bad"
