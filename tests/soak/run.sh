#!/bin/sh
# sh tests/soak/run.sh: `run` under ASan and UBSan for SOAK_S seconds (1800) in
# a world that never rests, in a network namespace of its own (root only).
# `make soak` builds what it needs and calls this. README.md says what must
# hold. Environment: SOAK_S, SOAK_SEED, SOAK_BIN, PYTHON.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

for t in ip nft openssl named named-checkzone unshare; do
    command -v "$t" >/dev/null || {
        echo "soak: $t is missing: sh contrib/setup.sh test installs it" >&2
        exit 1
    }
done
if [ "$(id -u)" -ne 0 ] || ! unshare -n true 2>/dev/null; then
    echo 'soak: needs root and network namespaces' >&2
    exit 1
fi
exec unshare -n "${PYTHON:-/usr/bin/python3}" tests/soak/soak.py "$@"
