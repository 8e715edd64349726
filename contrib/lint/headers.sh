#!/bin/sh
# CC="gcc FLAGS..." sh contrib/lint/headers.sh [ROOT]
#
# Each header of the rooms compiles alone. Prints the compiler's messages; exit status 1
# when one does not.
set -eu
cd "${1:-.}"
bad=0
for h in $(find agent resolver providers specs -name '*.h' -type f |
    sort); do
    # CC is a command with its flags.
    echo "#include \"$h\"" | ${CC:-gcc} -I. -Werror -fsyntax-only -x c - || {
        echo "$h:1: does not compile alone"
        bad=1
    }
done
exit "$bad"
