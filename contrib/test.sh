#!/bin/sh
# sh contrib/test.sh                      every test
# sh contrib/test.sh unit [NAME...]       unit tests, or those named
# sh contrib/test.sh fuzz [NAME...]       the corpora of the fuzz targets
# sh contrib/test.sh integration [ARG...] tests against real servers; the
#                                         arguments go to pytest
#
# Installs what is missing (contrib/setup.sh), builds, runs, and ends with one
# line: N passed, N failed, N skipped. Exit status 1 when a test failed or none
# passed. A test program that crashes, hangs or does not build has failed.
#
# Environment: MODE=asan (make asan), BUILD, UNIT_TIME_S (limit of one unit
# test program), ALL_TIME_S (limit of all integration tests), WORKERS (how many
# files of integration tests run side by side; they mostly wait).
set -u
cd "$(dirname "$0")/.." || exit 1

part=${1:-all}
[ $# -eq 0 ] || shift
case $part in
all | unit | fuzz | integration) ;;
*)
    echo "test.sh: '$part' is not known;" \
        'sh contrib/test.sh [unit|fuzz|integration [ARG...]]' >&2
    exit 2
    ;;
esac

MODE=${MODE:-release}
BUILD=${BUILD:-build}
UNIT_TIME_S=${UNIT_TIME_S:-180}
ALL_TIME_S=${ALL_TIME_S:-1800}
PYTHON=${PYTHON:-/usr/bin/python3}
WORKERS=${WORKERS:-2}
out=$BUILD
[ "$MODE" = release ] || out=$BUILD/$MODE

passed=0
failed=0
skipped=0

add() {
    passed=$((passed + $1))
    failed=$((failed + $2))
    skipped=$((skipped + $3))
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
    exit
}

# Why a program ended badly, from timeout's exit status; nothing when well.
ending() {
    case $1 in
    0) ;;
    124) echo "did not end within $UNIT_TIME_S s" ;;
    125 | 126 | 127) echo 'could not be run' ;;
    *)
        if [ "$1" -gt 128 ]; then
            echo "crashed (signal $(($1 - 128)))"
        else
            echo "ended with $1"
        fi
        ;;
    esac
}

# run_limited LOG COMMAND...: returns timeout's exit status. Errors go to a
# file of their own: in one file they would cut lines of a buffered output.
run_limited() {
    run_log=$1
    shift
    timeout -k 5 "$UNIT_TIME_S" "$@" >"$run_log" 2>"$run_log.err" </dev/null
}

show_logs() {
    for l in "$1" "$1.err"; do
        [ ! -s "$l" ] || tail -n 60 "$l"
    done
}

# Counts a TAP log as "passed failed skipped planned".
count_tap() {
    awk '/^1\.\.[0-9]+$/ { planned += substr($0, 4) }
        /^(not )?ok [0-9]+ # SKIP/ { s++; next }
        /^ok [0-9]+/ { p++ }
        /^not ok [0-9]+/ { f++ }
        END { print p + 0, f + 0, s + 0, planned + 0 }' "$1"
}

# run_unit NAME: one cmocka program. Whatever it planned and did not report,
# and any bad end that no failed test explains, counts as failed.
run_unit() {
    log=$out/log/$1.tap
    if [ ! -x "$out/unit/$1" ]; then
        echo "FAILED unit $1: not built"
        add 0 1 0
        return
    fi
    CMOCKA_MESSAGE_OUTPUT=TAP run_limited "$log" "$out/unit/$1"
    rc=$?
    # shellcheck disable=SC2046 # four numbers
    set -- "$1" $(count_tap "$log")
    p=$2 f=$3 s=$4 lost=$(($5 - $2 - $3 - $4))
    why=
    if [ "$lost" -gt 0 ]; then
        f=$((f + lost))
        why=" $lost did not run;"
    fi
    if [ "$rc" -gt 123 ] && [ "$rc" -ne $((f % 256)) ] ||
        { [ "$rc" -ne 0 ] && [ "$f" -eq 0 ]; }; then
        [ "$lost" -gt 0 ] || f=$((f + 1))
        why="$why $(ending "$rc");"
    elif [ $((p + f + s)) -eq 0 ]; then
        f=1
        why="$why no test in it;"
    fi
    add "$p" "$f" "$s"
    if [ "$f" -gt 0 ]; then
        echo "FAILED unit $1:$why $p passed, $f failed, $s skipped"
        show_logs "$log"
    else
        echo "ok unit $1: $p passed, $s skipped"
    fi
}

# run_corpus NAME: one fuzz target over its files: tests/fuzz/corpus/NAME/.
run_corpus() {
    log=$out/log/$1.log
    rm -f "$log" "$log.err"
    corpus=tests/fuzz/corpus/${1#fuzz_}
    if [ ! -x "$out/fuzz/$1" ]; then
        why='not built'
    elif [ -z "$(ls "$corpus" 2>/dev/null)" ]; then
        why="no files in $corpus"
    else
        run_limited "$log" "$out/fuzz/$1" "$corpus"/*
        why=$(ending $?)
        if [ -z "$why" ]; then
            add 1 0 0
            echo "ok fuzz $1"
            return
        fi
    fi
    add 0 1 0
    echo "FAILED fuzz $1: $why"
    show_logs "$log"
}

run_integration() {
    chosen=$# # what the arguments choose may be nothing; all is something
    xml=$out/log/pytest.xml
    rm -f "$xml"
    DNSFAILOVER_BIN=$PWD/$out/dnsfailover
    DNSFAILOVER_TOOLS=$PWD/$out/tools
    case $out in
    /*)
        DNSFAILOVER_BIN=$out/dnsfailover
        DNSFAILOVER_TOOLS=$out/tools
        ;;
    esac
    export DNSFAILOVER_BIN DNSFAILOVER_TOOLS
    PYTHONDONTWRITEBYTECODE=1 timeout -k 10 "$ALL_TIME_S" "$PYTHON" -m pytest \
        -q -p no:cacheprovider -o faulthandler_timeout=300 -rs \
        -n "$WORKERS" --dist loadfile \
        --junit-xml="$xml" tests/integration "$@" </dev/null
    rc=$?
    # shellcheck disable=SC2046 # three numbers
    set -- $(sed -n 's/.*<testsuite \([^>]*\)>.*/\1/p' "$xml" 2>/dev/null |
        awk '{
            for (i = 1; i <= NF; i++)
                if (split($i, a, "\"") >= 2) n[a[1]] += a[2]
            bad = n["errors="] + n["failures="]
            print n["tests="] - bad - n["skipped="], bad, n["skipped="] + 0
        }')
    if [ $# -ne 3 ]; then
        echo "FAILED integration: pytest ended with $rc before its report"
        set -- 0 1 0
    elif [ "$rc" -ne 0 ] && [ "$2" -eq 0 ] &&
        { [ "$rc" -ne 5 ] || [ "$chosen" -eq 0 ]; }; then
        echo "FAILED integration: pytest ended with $rc"
        set -- "$1" 1 "$3"
    fi
    add "$1" "$2" "$3"
}

# names DIR PREFIX [WANTED...]: the tests of DIR, or those wanted.
names() {
    dir=$1 prefix=$2
    shift 2
    if [ $# -gt 0 ]; then
        for n in "$@"; do
            echo "$prefix${n#"$prefix"}"
        done
        return
    fi
    for n in "$dir/$prefix"*.c; do
        [ ! -e "$n" ] || basename "$n" .c
    done
}

# Elsewhere than on Debian the packages are the user's own business.
! command -v apt-get >/dev/null 2>&1 || sh contrib/setup.sh test || {
    echo 'FAILED setup: contrib/setup.sh test'
    add 0 1 0
    finish
}

# -k: a program that does not build is one failed test, not the end of all.
unset MAKEFLAGS MFLAGS MAKELEVEL
mkdir -p "$out/log"
echo "building in $out (log: $out/log/build.log)"
if ! make -k -j "$(nproc)" MODE="$MODE" BUILD="$BUILD" test-programs \
    >"$out/log/build.log" 2>&1 </dev/null; then
    echo 'FAILED build:'
    grep -E 'error|Error|\*\*\*|undefined' "$out/log/build.log" | head -n 60
    add 0 1 0
fi

# A sanitizer's report must not pass for one of the program's own exit codes.
ASAN_OPTIONS=exitcode=99:detect_stack_use_after_return=1
UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:exitcode=99
export ASAN_OPTIONS UBSAN_OPTIONS

case $part in
all | unit)
    for n in $(names tests/unit test_ "$@"); do
        run_unit "$n"
    done
    ;;
esac
case $part in
all | fuzz)
    for n in $(names tests/fuzz fuzz_ "$@"); do
        run_corpus "$n"
    done
    ;;
esac
case $part in
all | integration) run_integration "$@" ;;
esac
finish
