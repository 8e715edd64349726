#!/bin/sh
# sh tests/bench/run.sh [NAME...]: the performance targets, or those named.
#
# Each is measured against a baseline in the same run, in a network namespace
# of its own (root only). Ends with one line for each target,
#   NAME FIGURE LIMIT ok|short     or     NAME - LIMIT skipped: why
# and exit status 1 when one is short. `make bench` builds and calls this.
# Environment: BUILD (where the programs are), PYTHON.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build}
PYTHON=${PYTHON:-/usr/bin/python3}
case $BUILD in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
export BUILD

if [ "$(id -u)" -ne 0 ]; then
    exec "$PYTHON" tests/bench/targets.py --skip 'needs root' "$@"
fi
if ! unshare -n true 2>/dev/null; then
    exec "$PYTHON" tests/bench/targets.py \
        --skip 'no network namespaces here' "$@"
fi
make -s -C tests/bench OUT="$BUILD/bench" sink probe icmp_raw probe_curl \
    dns_raw dns_ares axfr_ldns upd_raw
exec unshare -n "$PYTHON" tests/bench/targets.py "$@"
