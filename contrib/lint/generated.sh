#!/bin/sh
# sh contrib/lint/generated.sh TOOL [write]
#
# What is made from the program's tables: the lists between the marks "begin:"
# and "end:" of dnsfailover-spec(5) and dnsfailover.conf(5), and the JSON
# Schema. TOOL is the program of tests/tools/manual.c. Says what differs, exit
# status 1 then; with write: writes it anew.
set -eu
tool=$1
mode=${2:-check}
pages='contrib/man/dnsfailover-spec.5 contrib/man/dnsfailover.conf.5'
schema=specs/dnsfailover.schema.json
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

bad=0
"$tool" schema >"$made/schema"
for type in $("$tool" types); do
    grep -q "^\.\\\\\" begin: provider-$type\$" contrib/man/dnsfailover.conf.5 || {
        echo "contrib/man/dnsfailover.conf.5: no part for $type, a line" \
            "'.\\\" begin: provider-$type'"
        bad=1
    }
done
for page in $pages; do
    sed -n 's/^\.\\" begin: //p' "$page" | while read -r part; do
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
' "$page" >"$made/${page##*/}"
done

if [ "$mode" = write ]; then
    for page in $pages; do
        cp "$made/${page##*/}" "$page"
    done
    cp "$made/schema" "$schema"
    exit "$bad"
fi
for file in $pages $schema; do
    new=$made/${file##*/}
    [ "$file" != "$schema" ] || new=$made/schema
    diff -u "$file" "$new" || {
        echo "$file: not what the tables say: make generate writes it anew"
        bad=1
    }
done
exit "$bad"
