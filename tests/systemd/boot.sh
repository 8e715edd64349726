#!/bin/sh
# sh tests/systemd/boot.sh ROOT: becomes systemd, the first process of the
# namespaces it was started in, with ROOT as its root.
set -eu
cd "$1"
mount -t proc proc proc
# What is said to the kernel in here would be said to the whole machine.
mount -o bind,ro proc/sys proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
for dir in run tmp dev; do
    mount -t tmpfs -o mode=755 tmpfs "$dir"
done
chmod 1777 tmp
for node in null zero full random urandom tty; do
    : >"dev/$node"
    mount --bind "/dev/$node" "dev/$node"
done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
ip link set lo up
pivot_root . mnt
umount -l /mnt
# systemd leaves that to who starts it in a container; credentials want it.
mount --make-rshared /
exec env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --log-target=console --unit=basic.target
