#!/bin/sh
# sh tests/systemd/run.sh: the units under a real systemd. It is started in
# namespaces of its own over a copy-on-write of this machine's root, with
# BIND and two listeners a name; nothing of it is left, and nothing of this
# machine's own services is touched (root only). `make systemd` builds what it
# needs and calls this. README.md says what must hold. Environment: BUILD.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

for t in named rndc dig ip python3; do
    command -v "$t" >/dev/null || {
        echo "systemd: $t is missing: sh contrib/setup.sh test installs it" >&2
        exit 1
    }
done
for t in /lib/systemd/systemd nsenter unshare useradd ps pgrep; do
    command -v "$t" >/dev/null || {
        echo "systemd: $t is missing (systemd, util-linux, passwd, procps)" >&2
        exit 1
    }
done
if [ "$(id -u)" -ne 0 ] || ! unshare -n -m -p -f true 2>/dev/null; then
    echo 'systemd: needs root and namespaces' >&2
    exit 1
fi

work=$(mktemp -d)
mount -t tmpfs -o mode=700 tmpfs "$work"
mkdir "$work/upper" "$work/work" "$work/root"
outer='' pid=''
# shellcheck disable=SC2317 # called by the trap
finish() {
    # The first process of the namespaces takes all others with it.
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || :
    [ -z "$outer" ] || wait "$outer" 2>/dev/null || :
    umount -R "$work/root" 2>/dev/null || :
    umount -l "$work"
    rmdir "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM
mount -t overlay overlay "$work/root" -o \
    "lowerdir=/,upperdir=$work/upper,workdir=$work/work"
make -s install DESTDIR="$work/root"
sh tests/systemd/scene.sh "$work/root"

unshare -p -m -u -i -n -C --fork --propagation private \
    sh tests/systemd/boot.sh "$work/root" >"$work/console" 2>&1 &
outer=$!
i=0
while [ -z "$pid" ] || ! nsenter -t "$pid" -a -r \
    systemctl is-active -q basic.target 2>/dev/null; do
    i=$((i + 1))
    if [ $i -gt 300 ] || ! kill -0 "$outer" 2>/dev/null; then
        echo 'systemd: it does not start; its console:' >&2
        tail -20 "$work/console" >&2
        exit 1
    fi
    sleep 0.1
    pid=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null) || pid=''
    pid=${pid%% *}
done
rc=0
nsenter -t "$pid" -a -r /usr/bin/env -C / -i PATH="$PATH" LC_ALL=C \
    sh /root/dnsfailover-systemd/inside.sh || rc=$?
exit $rc
