#!/bin/sh
# sh contrib/lint/generated.sh TOOL [write]
#
# What is made from the program's tables: the lists between the marks "begin:"
# and "end:" of dnsfailover-spec(5), and the JSON Schema. TOOL is the program
# of tests/tools/manual.c. Says what differs, exit status 1 then; with write:
# writes it anew.
set -eu
tool=$1
mode=${2:-check}
page=contrib/man/dnsfailover-spec.5
schema=specs/dnsfailover.schema.json
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

for part in members advice schema; do
    "$tool" "$part" >"$made/$part"
done
awk -v made="$made" '
/^\.\\" begin: / {
    print
    file = made "/" $3
    while ((got = (getline line < file)) > 0) print line
    if (got < 0) exit 1
    close(file)
    inside = 1
    next
}
/^\.\\" end: / { inside = 0 }
!inside
' "$page" >"$made/page"

if [ "$mode" = write ]; then
    cp "$made/page" "$page"
    cp "$made/schema" "$schema"
    exit 0
fi
bad=0
for pair in "$page $made/page" "$schema $made/schema"; do
    # shellcheck disable=SC2086 # two names
    set -- $pair
    diff -u "$1" "$2" || {
        echo "$1: not what the tables say: make generate writes it anew"
        bad=1
    }
done
exit "$bad"
