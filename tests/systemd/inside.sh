#!/bin/sh
# Inside: the units as an administrator uses them. A line for each thing that
# must hold; exit status 1 when one does not.
set -u
unit=dnsfailover-run.service
state=/var/lib/dnsfailover
good=0 bad=0

# ok NAME COMMAND...
ok() {
    name=$1
    shift
    if "$@" >/dev/null 2>&1; then
        good=$((good + 1))
        echo "$name ok"
    else
        bad=$((bad + 1))
        echo "$name FAILED: $*"
    fi
}

# within COMMAND...: true within 40 s
within() {
    i=0
    until "$@"; do
        i=$((i + 1))
        [ $i -lt 400 ] || return 1
        sleep 0.1
    done
}

main_pid() { systemctl show -p MainPID --value "$unit"; }
helper_pid() { pgrep -P "$(main_pid)"; }
shown() { dig +short @127.0.0.1 "$1" A | sort | tr '\n' ' '; }
shows() { [ "$(shown "$1")" = "$2" ]; }
is_active() { systemctl is-active -q "$unit"; }
is_other() { [ "$(main_pid)" != "$1" ] && [ "$(main_pid)" != 0 ] && is_active; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
none_left() { ! pgrep '^dnsf' >/dev/null; }
owner_is() { [ "$(stat -c '%U %a' "$state")" = "$1" ]; }
user_is() { [ "$(ps -o user:20= -p "$1" | tr -d ' ')" = "$2" ]; }
told() { journalctl -u "$unit" --no-pager -o cat | grep -qF "$1"; }
has_no_rights() { grep -q '^CapEff:[[:space:]]*0*$' "/proc/$1/status"; }
is_filtered() { grep -q '^Seccomp:[[:space:]]*2$' "/proc/$1/status"; }
restarted_after() { # KILLED-PID OTHER-PID: both are gone, new ones are there
    within is_other "$main" && within is_gone "$1" && within is_gone "$2"
}

systemctl start named
for n in 1 2 3 4; do
    systemctl start "web@127.0.$n.1" "web@127.0.$n.2"
done
within shows n1.example.org '127.0.1.1 127.0.1.2 ' || exit 1

ok verify systemd-analyze verify "$unit" dnsfailover.service dnsfailover.timer
ok start systemctl start "$unit"
is_active || {
    systemctl status "$unit" --no-pager
    exit 1
}
main=$(main_pid)
ok main-user user_is "$main" dnsfailover
ok main-rights has_no_rights "$main"
ok main-filter is_filtered "$main"
ok helper-user user_is "$(helper_pid)" root
ok state-owner owner_is 'dnsfailover 700'
ok status dnsfailover status

systemctl stop web@127.0.1.1
ok dead within shows n1.example.org '127.0.1.2 '
systemctl start web@127.0.1.1
ok back within shows n1.example.org '127.0.1.1 127.0.1.2 '

ok reload systemctl reload "$unit"
ok reload-again systemctl reload "$unit"
ok reload-same-process [ "$(main_pid)" = "$main" ]
ok reload-state-owner owner_is 'dnsfailover 700'
touch "$state/freeze"
ok freeze within told 'frozen by the file'
systemctl stop web@127.0.2.1
ok freeze-seen within told '(127.0.2.1) becomes unavailable'
ok freeze-held shows n2.example.org '127.0.2.1 127.0.2.2 '
rm "$state/freeze"
ok freeze-over within shows n2.example.org '127.0.2.2 '

helper=$(helper_pid)
kill -KILL "$main"
ok main-killed restarted_after "$main" "$helper"
main=$(main_pid) helper=$(helper_pid)
kill -KILL "$helper"
ok helper-killed restarted_after "$main" "$helper"
main=$(main_pid)
kill -STOP "$main"
ok watchdog restarted_after "$main" "$main"
systemctl stop web@127.0.3.2
ok after-all-that within shows n3.example.org '127.0.3.1 '

ok stop systemctl stop "$unit"
ok stop-result [ "$(systemctl show -p Result --value "$unit")" = success ]
ok stop-all none_left

systemctl start web@127.0.2.1
ok once systemctl start dnsfailover.service
ok timer systemctl start dnsfailover.timer
ok timer-next sh -c 'systemctl list-timers | grep -q dnsfailover'
systemctl stop dnsfailover.timer

here=/root/dnsfailover-systemd
cp $here/dnsfailover.conf /etc/dnsfailover.conf
rm /etc/systemd/system/$unit.d/zones.conf
cp $here/user.conf /etc/systemd/system/$unit.d/
systemctl daemon-reload
ok user-start systemctl start "$unit"
ok user-main user_is "$(main_pid)" dnsfailover
ok user-helper user_is "$(helper_pid)" dnsfailover
ok user-state-owner owner_is 'dnsfailover 700'
systemctl stop web@127.0.4.1
ok user-dead within shows n4.example.net '127.0.4.2 '
ok user-reload systemctl reload "$unit"
ok user-stop systemctl stop "$unit"
[ $bad -eq 0 ] || journalctl -u "$unit" -u dnsfailover.service --no-pager | tail -40
echo "systemd: $good ok, $bad failed"
[ $bad -eq 0 ]
