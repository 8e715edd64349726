#!/bin/sh
# sh tests/systemd/scene.sh ROOT: BIND with one zone, listeners as a unit, the
# agent's configuration and user, and the steps, written below ROOT.
set -eu
root=$1

rm -f "$root/etc/resolv.conf"
echo 'nameserver 127.0.0.1' >"$root/etc/resolv.conf"
rm -rf "$root/var/lib/dnsfailover" "$root/etc/systemd/system/dnsfailover"*
cat >"$root/etc/bind/named.conf" <<'END'
options {
    directory "/var/cache/bind";
    listen-on { 127.0.0.1; };
    listen-on-v6 { none; };
    dnssec-validation no;
    empty-zones-enable no;
};
include "/etc/bind/failover.key";
zone "example.org" { type primary; file "/etc/bind/db.example.org"; };
zone "example.net" {
    type primary;
    file "/var/cache/bind/db.example.net";
    update-policy { grant failover name n4.example.net. A AAAA; };
    allow-transfer { key failover; };
};
END
tsig-keygen failover >"$root/etc/bind/failover.key"
chroot "$root" chown bind /etc/bind/failover.key
chmod 600 "$root/etc/bind/failover.key"

# zone NUMBER...: a zone file with one name for each
zone() {
    cat <<'END'
$TTL 60
@   IN SOA ns1 host 2026010101 3600 600 86400 60
    IN NS ns1
ns1 IN A 127.0.0.1
END
    for n in "$@"; do
        printf 'n%d IN A 127.0.%d.1\n   IN A 127.0.%d.2\n' "$n" "$n" "$n"
        printf '_failover.n%d IN TXT "{records:[{data:127.0.%d.1,check:8443}' \
            "$n" "$n"
        printf ',{data:127.0.%d.2,check:8443}],' "$n"
        printf 'defaults:{ttl:60,accessPeriod:2s,requiredFailure:1}}"\n'
    done
}
zone 1 2 3 >"$root/etc/bind/db.example.org"
mkdir -p "$root/var/cache/bind"
zone 4 >"$root/var/cache/bind/db.example.net"
chroot "$root" chown -R bind /var/cache/bind
cat >"$root/etc/dnsfailover.conf" <<'END'
agent {
    allow-targets = {"127.0.0.0/8"}
}
provider files {
    type = zonefile
    file = "/etc/bind/db.{zone}"
    check = "/usr/bin/named-checkzone -q {zone} {file}"
    reload = "/usr/sbin/rndc reload {zone}"
}
zone "example.org" {
    provider = files
}
END
cat >"$root/etc/systemd/system/web@.service" <<'END'
[Service]
ExecStart=/usr/bin/python3 -m http.server --bind %i 8443
END
for unit in dnsfailover dnsfailover-run; do
    mkdir -p "$root/etc/systemd/system/$unit.service.d"
    printf '[Service]\nReadWritePaths=/etc/bind\n' \
        >"$root/etc/systemd/system/$unit.service.d/zones.conf"
done
# As the unit has it, but sooner.
cat >"$root/etc/systemd/system/dnsfailover-run.service.d/soon.conf" <<'END'
[Service]
WatchdogSec=3
RestartSec=1
END
# Without root: the override of the unit's comment, the key as a credential.
mkdir -p "$root/root/dnsfailover-systemd"
cat >"$root/root/dnsfailover-systemd/dnsfailover.conf" <<'END'
agent {
    allow-targets = {"127.0.0.0/8"}
}
provider primary {
    type = rfc2136
    server = "127.0.0.1"
    key-file = "failover.key"
}
zone "example.net" {
    provider = primary
}
END
cat >"$root/root/dnsfailover-systemd/user.conf" <<'END'
[Service]
User=dnsfailover
StateDirectory=dnsfailover
CapabilityBoundingSet=
CapabilityBoundingSet=CAP_NET_RAW
AmbientCapabilities=CAP_NET_RAW
LoadCredential=failover.key:/etc/bind/failover.key
END
chroot "$root" useradd --system --user-group --no-create-home \
    --shell /usr/sbin/nologin dnsfailover 2>/dev/null ||
    chroot "$root" id dnsfailover >/dev/null
cp tests/systemd/inside.sh "$root/root/dnsfailover-systemd/"
