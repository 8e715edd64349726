#!/bin/sh
# sh contrib/demo.sh
#
# The main job, for a person to watch: a zone file, a real name server on a
# loopback port, two small services. One of them dies and comes back; the
# answers of the name server follow. Installs what is missing
# (contrib/setup.sh demo), builds, and ends with `demo ok`, or with
# `demo failed: …` and exit status 1. Nothing outside of a temporary folder is
# touched, nothing but loopback is spoken to.
#
# Environment: BUILD (folder of the build, default build), DNSFAILOVER_BIN (a
# program that is there already: nothing is installed or built),
# DEMO_SERVER=nsd|bind (default: what is installed, NSD first).
set -u
export LC_ALL=C
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

here=$(cd "$(dirname "$0")" && pwd) || exit 1
zone=example.org
name=www.$zone
both='127.0.0.2 127.0.0.3'
wait_s=10
: "${TMPDIR:=/tmp}"
export TMPDIR

dir=
pids=

fail() {
    printf 'demo failed: %s\n' "$*"
    exit 1
}

# What was started here is ended by its process id, whatever happens.
# shellcheck disable=SC2317,SC2329 # called by trap
clean_up() {
    for p in $pids; do
        kill "$p" 2>/dev/null
    done
    # shellcheck disable=SC2086 # a list of process ids
    [ -z "$pids" ] || wait $pids 2>/dev/null
    [ -z "$dir" ] || rm -rf "$dir"
}
# dash runs no EXIT trap when a signal ends it.
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
trap clean_up EXIT

title() {
    printf '\n== %s\n\n' "$*"
}

tell() {
    printf '   %s\n' "$@"
}

after() {
    echo
    tell "$@"
}

# Shows a command, runs it, shows what it printed; the output stays in the
# file `out`, the exit status in $rc.
run() {
    printf '\n   $ %s\n' "$*"
    "$@" >out 2>&1 </dev/null
    rc=$?
    sed 's/^/   /' out
}

# --- what is needed ----------------------------------------------------------

build() {
    build=${BUILD:-build}
    cd "$here/.." || exit 1
    # Elsewhere than on Debian the packages are the user's own business.
    ! command -v apt-get >/dev/null 2>&1 || sh contrib/setup.sh demo ||
        fail 'contrib/setup.sh demo did not install what is missing'
    echo "building $build/dnsfailover"
    log=$(mktemp) || fail 'no temporary file'
    unset MAKEFLAGS MFLAGS MAKELEVEL
    if ! make -j "$(nproc)" BUILD="$build" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log"
        rm -f "$log"
        fail 'it does not build; the last messages are above'
    fi
    rm -f "$log"
    case $build in
    /*) program=$build/dnsfailover ;;
    *) program=$PWD/$build/dnsfailover ;;
    esac
}

if [ -n "${DNSFAILOVER_BIN:-}" ]; then
    program=$DNSFAILOVER_BIN
else
    build
fi
[ -x "$program" ] || fail "$program is not a program"
for p in dig python3; do
    command -v $p >/dev/null || fail "$p is not installed"
done
server=${DEMO_SERVER:-}
if [ -z "$server" ]; then
    server=bind
    ! command -v nsd >/dev/null || server=nsd
fi
case $server in
nsd) server_program=nsd ;;
bind) server_program=named ;;
*) fail "DEMO_SERVER=$server is not known; nsd or bind" ;;
esac
command -v $server_program >/dev/null || fail "$server_program is not installed"

began_s=$(date +%s)
# The path of a socket must be short.
[ ${#TMPDIR} -le 60 ] || TMPDIR=/tmp
dir=$(mktemp -d) || fail 'no temporary folder'
cd "$dir" || exit 1
mkdir bin
ln -s "$program" bin/dnsfailover
PATH=$dir/bin:$PATH

# --- the parts ---------------------------------------------------------------

# until_true COMMAND...: tries until it succeeds, at most $wait_s seconds.
until_true() {
    end_s=$(($(date +%s) + wait_s))
    until "$@"; do
        [ "$(date +%s)" -le $end_s ] || return 1
    done
}

# start_service ADDRESS PORT: its port is then in the file ADDRESS.
start_service() {
    rm -f "$1"
    python3 "$here/demo/listener.py" "$1" "$2" "$1" 2>>listener.log &
    started=$!
    pids="$pids $started"
    until_true service_is_up "$1" && [ -s "$1" ]
}

service_is_up() {
    [ -s "$1" ] || ! kill -0 "$started" 2>/dev/null
}

stop() {
    kill "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    left=
    for p in $pids; do
        [ "$p" = "$1" ] || left="$left $p"
    done
    pids=$left
}

# Two services on one port of two addresses; the kernel chooses it.
start_services() {
    for _ in 1 2 3 4 5; do
        start_service 127.0.0.2 0 || continue
        first=$started
        service_port=$(cat 127.0.0.2)
        if start_service 127.0.0.3 "$service_port"; then
            second=$started
            return 0
        fi
        stop "$first"
    done
    cat listener.log
    return 1
}

write_zone() {
    cat >db.$zone <<END
; The zone of the demo. Comments and order are yours: they stay as they are.
\$TTL 300
@              IN SOA ns.$zone. demo-$$.$zone. (
                      2024010101 ; serial
                      3600 600 604800 60 )
               IN NS  ns.$zone.
ns             IN A   127.0.0.1
www         60 IN A   127.0.0.2   ; the first web server
            60 IN A   127.0.0.3   ; the second one
_failover.www  IN TXT ( "[{\\"name\\":\\"$name.\\",\\"data\\":\\"127.0.0.2\\",\\"check\\":\\"$service_port\\",\\"ttl\\":\\"60\\"},"
                        "{\\"name\\":\\"$name.\\",\\"data\\":\\"127.0.0.3\\",\\"check\\":\\"$service_port\\",\\"ttl\\":\\"60\\"}]" )
END
}

free_port() {
    python3 - <<'END'
import socket

for _ in range(50):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, \
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp:
        udp.bind(("127.0.0.1", 0))
        try:
            tcp.bind(("127.0.0.1", udp.getsockname()[1]))
        except OSError:
            continue
        print(udp.getsockname()[1])
        break
END
}

write_nsd() {
    cat >server.conf <<END
server:
    ip-address: 127.0.0.1@$port
    username: ""
    database: ""
    zonesdir: "$dir"
    pidfile: "$dir/nsd.pid"
    xfrdfile: "$dir/xfrd.state"
    zonelistfile: "$dir/zone.list"
    xfrdir: "$dir"
    cookie-secret-file: "$dir/cookies"
    zonefiles-write: 0
    server-count: 1
    xfrd-reload-timeout: 0
    rrl-ratelimit: 0
remote-control:
    control-enable: yes
    control-interface: "$dir/nsd.sock"
zone:
    name: $zone
    zonefile: "$dir/db.$zone"
END
    check="nsd-checkzone {zone} {file}"
    reload="nsd-control -c $dir/server.conf reload {zone}"
}

write_bind() {
    control_port=$(free_port)
    control=$(python3 -c 'import base64, os
print(base64.b64encode(os.urandom(32)).decode())')
    control="key control { algorithm hmac-sha256; secret \"$control\"; };"
    cat >rndc.conf <<END
$control
options {
    default-key control;
    default-server 127.0.0.1;
    default-port $control_port;
};
END
    cat >server.conf <<END
$control
controls { inet 127.0.0.1 port $control_port allow { 127.0.0.1; } keys { control; }; };
options {
    directory "$dir";
    listen-on port $port { 127.0.0.1; };
    listen-on-v6 { none; };
    pid-file none; session-keyfile none; lock-file none;
    recursion no; notify no; dnssec-validation no; empty-zones-enable no;
    reuseport no;
};
zone "$zone" { type primary; file "$dir/db.$zone"; };
END
    check="named-checkzone -q {zone} {file}"
    reload="rndc -c $dir/rndc.conf reload {zone}"
}

# AppArmor's profiles go by path and keep a packaged server out of our folder:
# a copy of it runs unconfined.
server_path() {
    server_path=$(command -v $server_program)
    [ "$(cat /sys/module/apparmor/parameters/enabled 2>/dev/null)" = Y ] ||
        return 0
    [ -e /etc/apparmor.d/usr.sbin.$server_program ] || return 0
    cp "$server_path" bin/ && server_path=$dir/bin/$server_program
}

ask() {
    dig +short +norecurse +time=1 +tries=1 @127.0.0.1 -p "$port" "$@" 2>/dev/null
}

server_is_settled() {
    ask $zone SOA | grep -q "demo-$$" || ! kill -0 "$server_pid" 2>/dev/null ||
        grep -qi 'could not listen\|address.*in use' server.log
}

# A port that was free a moment ago may be taken: then with another.
start_server() {
    server_path
    for _ in 1 2 3 4 5; do
        port=$(free_port)
        "write_$server"
        case $server in
        nsd) "$server_path" -d -c "$dir/server.conf" >server.log 2>&1 & ;;
        bind) "$server_path" -g -n 1 -c "$dir/server.conf" >server.log 2>&1 & ;;
        esac
        server_pid=$!
        pids="$pids $server_pid"
        until_true server_is_settled || break
        if kill -0 "$server_pid" 2>/dev/null && ask $zone SOA | grep -q "demo-$$"
        then
            return 0
        fi
        stop "$server_pid"
    done
    cat server.log
    return 1
}

# --- what is expected --------------------------------------------------------

answers() {
    ask $name A | sort | tr '\n' ' '
}

answers_are() {
    [ "$(answers)" = "$1 " ]
}

# The name server must answer exactly these addresses.
expect_answers() {
    until_true answers_are "$1" ||
        fail "$name should be $1, the server answers: $(answers)"
    run dig +short @127.0.0.1 -p "$port" $name A
    [ "$(sort out | tr '\n' ' ')" = "$1 " ] ||
        fail "dig should print $1"
}

expect_exit() {
    [ $rc = "$1" ] || fail "exit status $rc where $1 was expected"
}

expect_line() {
    grep -q -e "$1" out || fail "no line with \"$1\" above"
}

expect_silence() {
    expect_exit 0
    [ ! -s out ] || fail 'a round in which nothing changes must be silent'
}

# --- the demo ----------------------------------------------------------------

start_services || fail 'the two services do not start'
write_zone
start_server || fail "$server_program does not start; its messages are above"

cat >dnsfailover.conf <<END
agent {
    state = "$dir/state/state.db"
    allow-targets = {"127.0.0.0/8"}    # only the demo probes loopback
}
provider files {
    type = zonefile
    file = "$dir/db.{zone}"
    check = "$check"
    reload = "$reload"
}
zone "$zone" {
    provider = files
    servers = {"127.0.0.1:$port"}
}
END

title '1. What is published'
tell "A name server ($server_program) serves $zone from a file. $name has two" \
    "addresses. Beside it, at _failover.$name, stands how to check them: an" \
    "address belongs in the answer while its port $service_port accepts connections."
run dig +short @127.0.0.1 -p "$port" _failover.$name TXT
expect_line '127.0.0.2.*127.0.0.3'
expect_answers "$both"
after 'The agent can say whether such a text is in order:'
run dnsfailover -c dnsfailover.conf lint $name
expect_exit 0
expect_line ': ok: rows'

title '2. A round while both are up'
tell 'The agent has a file of its own: which zone, which provider, which limits.'
run cat dnsfailover.conf
after 'One round, as cron would run it. Nothing has to change: it says nothing.'
run dnsfailover -c dnsfailover.conf once
expect_silence
after 'With -v it tells what it looked at:'
run dnsfailover -c dnsfailover.conf once -v
expect_exit 0
expect_line '127.0.0.2'
expect_answers "$both"

title '3. The second service dies'
stop "$second"
cp db.$zone before
tell 'The service at 127.0.0.3 has just been ended. The next round:'
run dnsfailover -c dnsfailover.conf once
expect_exit 0
expect_line "^ *$name. (127.0.0.3) becomes unavailable"
expect_line "^ *$name. A 127.0.0.3 withdrawn"
after 'What the name server answers now:'
expect_answers 127.0.0.2
after 'What changed in the zone file: the serial, and one line that waits as a comment.'
run diff before db.$zone
expect_exit 1
after 'The next round finds it still down, which is no news:'
run dnsfailover -c dnsfailover.conf once
expect_silence

title '4. The first one dies too'
stop "$first"
tell 'Nothing better is left. The last address is never taken away:'
run dnsfailover -c dnsfailover.conf once
expect_line "^ *$name. (127.0.0.2) becomes unavailable"
expect_answers 127.0.0.2

title '5. Both come back'
for a in $both; do
    start_service "$a" "$service_port" ||
        fail "the service at $a does not start again: $(cat listener.log)"
done
tell 'Both services run again. The next round:'
run dnsfailover -c dnsfailover.conf once
expect_exit 0
expect_line "^ *$name. (127.0.0.3) becomes available"
expect_line "^ *$name. A 127.0.0.3 published"
expect_answers "$both"
after 'The zone file is what it was, but for its serial:'
run diff before db.$zone
expect_exit 1
[ "$(grep -c '^[<>]' out)" = 2 ] || fail 'only the serial should differ'

title '6. Looking back'
tell 'What stands, and what happened, newest first:'
run dnsfailover -c dnsfailover.conf status
expect_exit 0
expect_line '127.0.0.3 *up *yes'
run dnsfailover -c dnsfailover.conf history
expect_exit 0
expect_line 'withdrawn .*127.0.0.3'
expect_line 'published .*127.0.0.3'

printf '\nThat took %s s.\n' $(($(date +%s) - began_s))
echo 'demo ok'
