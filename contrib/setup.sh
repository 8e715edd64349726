#!/bin/sh
# sh contrib/setup.sh [build|test|demo]
#
# Installs the Debian packages that the project needs and this system lacks,
# as root or through sudo. Says before what it installs; says and does nothing
# when all is there. No service is started, stopped or restarted, nothing is
# removed, no mail server is installed.
set -eu
export LC_ALL=C

build='gcc make|make-guile libc6-dev pkg-config|pkgconf libuv1-dev
    libc-ares-dev libldns-dev libcjson-dev
    libcurl4-openssl-dev|libcurl4-gnutls-dev libxml2-dev libsqlite3-dev
    libconfuse-dev uthash-dev libssl-dev libpcre2-dev libnghttp2-dev
    libseccomp-dev ca-certificates'
# Real name servers, the tools to ask them, and what the ISPConfig double is
# made of; then what `make lint` and `make bench` use.
tests='libcmocka-dev python3 python3-pytest python3-pytest-xdist
    python3-dnspython bind9 bind9-utils bind9-dnsutils knot nsd
    pdns-server pdns-backend-bind pdns-backend-sqlite3 sqlite3
    php-cli php-soap php-sqlite3 openssl mandoc clang-format iproute2 nftables
    nginx-light haproxy gdnsd fping curl dovecot-imapd dovecot-pop3d
    slapd vsftpd python3-aiosmtpd python3-grpcio nghttp2-server lexicon
    publicsuffix python3-yaml'
demo='nsd bind9-dnsutils python3'
# What starts by itself after the next boot: package, its unit, its script.
servers='bind9:named nsd:nsd knot:knot pdns-server:pdns nginx-light:nginx
    haproxy:haproxy dovecot-imapd:dovecot slapd:slapd vsftpd:vsftpd gdnsd:gdnsd'

policy=/usr/sbin/policy-rc.d
mark='placed by contrib/setup.sh for the time of one installation'

say() {
    echo "setup: $*"
}

die() {
    echo "setup: $*" >&2
    exit 1
}

# Succeeds when one of the alternatives a|b|c is installed.
have() {
    for have_p in $(echo "$1" | tr '|' ' '); do
        case $(dpkg-query -W -f '${db:Status-Status}' "$have_p" \
            2>/dev/null || true) in
        installed) return 0 ;;
        esac
    done
    return 1
}

find_missing() {
    missing=
    for p in $wanted; do
        have "$p" || missing="$missing ${p%%|*}"
    done
    missing=${missing# }
}

# apt-get "$@" with its output in $log. The wait for a lock covers
# installations only; `update` has a lock of its own and is tried again.
apt() {
    apt_tries=30
    until NEEDRESTART_SUSPEND=1 DEBIAN_FRONTEND=noninteractive apt-get -q -y \
        -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
        -o Dpkg::Use-Pty=0 "$@" </dev/null >"$log" 2>&1; do
        grep -q 'Could not get lock.*lists' "$log" || return 1
        apt_tries=$((apt_tries - 1))
        [ "$apt_tries" -gt 0 ] || return 1
        sleep 10
    done
}

update() {
    say 'reading the package lists (apt-get update)'
    apt update || {
        cat "$log" >&2
        die 'apt-get update failed; its messages are above'
    }
    updated=yes
}

# --no-remove: whatever would push out a package of the system is refused.
simulate() {
    # shellcheck disable=SC2086 # a list of names
    apt -s install --no-install-recommends --no-remove $missing
}

install() {
    # shellcheck disable=SC2086 # a list of names
    apt install --no-install-recommends --no-remove $missing
}

# Refuses starts while packages are unpacked. A policy of the system's own is
# kept; one that would allow the start of a name server ends the matter.
deny_starts() {
    if [ -e "$policy" ] && ! grep -q "$mark" "$policy"; then
        for s in $new_servers; do
            "$policy" "${s#*:}" start >/dev/null 2>&1 && rc=0 || rc=$?
            [ "$rc" = 101 ] || die "$policy of this system would let" \
                "${s#*:} start; install these packages yourself: $missing"
        done
        return 0
    fi
    ours=yes
    printf '#!/bin/sh\n# %s\nexit 101\n' "$mark" >"$policy.new"
    chmod 755 "$policy.new"
    mv "$policy.new" "$policy"
}

allow_starts() {
    [ -z "$ours" ] || rm -f "$policy" "$policy.new"
    ours=
}

# A server that came with this call must not come up at the next boot either.
disable() {
    for s in $new_servers; do
        have "${s%%:*}" || continue
        unit=${s#*:}
        if command -v systemctl >/dev/null 2>&1; then
            systemctl disable "$unit.service" >/dev/null 2>&1 || true
        elif command -v deb-systemd-helper >/dev/null 2>&1; then
            deb-systemd-helper disable "$unit.service" >/dev/null 2>&1 || true
        fi
        if [ -x "/etc/init.d/$unit" ] &&
            command -v update-rc.d >/dev/null 2>&1; then
            update-rc.d "$unit" disable >/dev/null 2>&1 || true
        fi
        say "${s%%:*} was not started and is off at boot" \
            "(on: systemctl enable --now $unit)"
    done
}

what=${1:-build}
case $what in
build) wanted=$build ;;
test) wanted="$build $tests" ;;
demo) wanted="$build $demo" ;;
*) die "'$what' is not known; sh contrib/setup.sh [build|test|demo]" ;;
esac

command -v apt-get >/dev/null 2>&1 ||
    die 'this script knows Debian and its relatives only; elsewhere install' \
        "what these Debian packages hold: $(echo "$wanted" | tr -s ' \n' ' ')"

find_missing
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 ||
        die "to install these packages be root (sudo is not here): $missing"
    say "sudo is needed to install: $missing"
    exec sudo sh "$0" "$what"
fi

log=
ours=
updated=
new_servers=
# dash runs no EXIT trap when a signal ends it.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'allow_starts; disable; rm -f "$log"' EXIT

# One at a time: the second would lose its policy when the first is done.
exec 9>/run/dnsfailover-setup.lock
flock -w 900 9 || die 'another setup has been running for 15 minutes'
find_missing
[ -n "$missing" ] || exit 0

log=$(mktemp)
for s in $servers; do
    case " $missing " in
    *" ${s%%:*} "*) new_servers="$new_servers $s" ;;
    esac
done

set -- /var/lib/apt/lists/*Packages*
[ -e "$1" ] || update
simulate || {
    [ -n "$updated" ] || update
    simulate || {
        cat "$log" >&2
        die 'apt-get cannot install what is missing; its messages are above'
    }
}
all=$(sed -n 's/^Inst \([^ ]*\) .*/\1/p' "$log" | sort -u)
# shellcheck disable=SC2086 # a list of names
mail=$(apt-cache show --no-all-versions $all 2>/dev/null |
    sed -n '/^Package: /{s///;h;}
        /^Provides:.*mail-transport-agent/{g;p;}' | sort -u)
[ -z "$mail" ] || die "this would bring a mail server ($mail);" \
    "install these packages yourself: $missing"

say "installing: $missing"
say "with what they need, $(echo "$all" | wc -l) packages in all;" \
    'no service is started, nothing is removed'
deny_starts
install || {
    # A list of yesterday names files that the mirror no longer has.
    [ -n "$updated" ] || update
    install || {
        tail -n 40 "$log" >&2
        die 'apt-get install failed; its last messages are above'
    }
}
say 'installed'
