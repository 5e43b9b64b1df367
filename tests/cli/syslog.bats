#!/usr/bin/env bats
# Where messages go: stderr, or syslog, or the one that works.
# shellcheck disable=SC2154,SC2016

load ../lib/one_redis
load ../lib/host

# listen: what comes to our host's /dev/log is in the file `log`, a line each,
# until `listened`.
listen() {
	[[ -d etc ]] || host_make
	python3 -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("dev/log")
with open("log", "wb", 0) as log:
    while (line := s.recv(65536)) != b"end":
        log.write(line + b"\n")
' 3>&- 4>&- &
	listener=$!
	eventually test -S dev/log -a -e log
}

listened() {
	python3 -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b"end", "dev/log")'
	wait "$listener"
	rm dev/log
}

# syslog_logged PRIORITY TEXT: such a line has come, in the form that syslog(3)
# has.
syslog_logged() {
	grep -qE "^<$1>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} redlock-run\[[0-9]+\]: .*$2" \
	    log || {
		cat log >&2
		return 1
	}
}

# A connection that is lost is opened again at once, with a renewal.
reconnect='client kill type normal'

# logs ARG...: redlock-run with these, on our host.
logs() {
	on_host "$run_path" "$@"
}

@test "--log syslog sends messages to syslog and none to stderr" {
	listen
	run -0 --separate-stderr logs --log syslog -v -k a -- true
	silent
	redis set redlock:a somebody
	run -75 --separate-stderr logs --log=syslog -k a -- true
	silent
	redis del redlock:a
	# shellcheck disable=SC2086
	run -79 --separate-stderr logs --log syslog -k a -- \
	    sh -c "{ $(cli del redlock:a); $(cli $reconnect); } >/dev/null
		sleep 1000"
	silent
	run -69 --separate-stderr logs --log syslog -k a \
	    -r "unix://$PWD/nowhere" -- true
	silent
	listened
	syslog_logged 14 'a: acquired in'
	syslog_logged 13 'a: held by'
	syslog_logged 12 'a: lock lost: its key is gone'
	syslog_logged 12 'a: not run: unix:'
	run ! grep -v '^<1[234]>' log
}

@test "syslog messages have the process id of redlock-run" {
	listen
	logs --log syslog -v -k a -- sh -c 'echo "$REDLOCK_PID"' >pid
	listened
	syslog_logged 14 'a: acquired in'
	grep -qF "redlock-run[$(<pid)]: " log
}

@test "a usage error goes to stderr as well" {
	listen
	run -64 --separate-stderr logs --log syslog -k a -t soon -- true
	says "--ttl: 'soon'"
	run -64 --separate-stderr logs --log syslog --nonsense
	says "'--nonsense'"
	echo "ttl never" >etc/redlock-run.conf
	export REDLOCK_LOG=syslog
	unset REDLOCK_CONFIG
	run -64 --separate-stderr logs -k a -- true
	says "'never'"
	listened
	syslog_logged 11 "--ttl: 'soon'"
	syslog_logged 11 "'--nonsense'"
	syslog_logged 11 "redlock-run.conf:1: ttl: 'never'"
}

@test "the file and the environment can choose the log; the default is stderr" {
	listen
	unset REDLOCK_CONFIG
	echo 'log syslog' >etc/redlock-run.conf
	run -0 --separate-stderr logs -v -k file -- true
	silent
	run -0 --separate-stderr logs --log stderr -v -k a -- true
	says 'a: acquired in'
	REDLOCK_LOG=stderr run -0 --separate-stderr logs -v -k b -- true
	says 'b: acquired in'
	export REDLOCK_CONFIG=/dev/null
	REDLOCK_LOG=syslog run -0 --separate-stderr logs -v -k variable -- true
	silent
	run -0 --separate-stderr logs -v -k c -- true
	says 'c: acquired in'
	listened
	syslog_logged 14 'file: acquired in'
	syslog_logged 14 'variable: acquired in'
	run ! grep -E ' (a|b|c): ' log
}

@test "--status prints on stderr even with --log syslog" {
	listen
	run -69 --separate-stderr logs --log syslog --status \
	    -r "unix://$PWD/nowhere"
	says nowhere
	listened
	[[ ! -s log ]]
}

@test "messages that syslog does not accept go to stderr" {
	host_make
	run -0 --separate-stderr logs --log syslog -v -k a -- true
	says 'a: acquired in' 'a: released in'
	# It was there, and is gone.
	python3 -c 'import socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind("dev/log")'
	run -0 --separate-stderr logs --log syslog -v -k a -- true
	says 'a: acquired in' 'a: released in'
}

@test "a syslog daemon that hangs delays nothing" {
	local since
	host_make
	python3 -c '
import socket, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("dev/log")
c = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
c.setblocking(False)
c.connect("dev/log")
try:
    while True:
        c.send(b"x")
except BlockingIOError:
    open("full", "w")
time.sleep(1000)' 3>&- 4>&- &
	eventually test -e full
	since=$(now_us)
	run -0 --separate-stderr logs --log syslog -v -k a -- true
	(($(now_us) - since < 10000000))
	says 'a: acquired in' 'a: released in'
	kill "$!"
	wait "$!" || true
}

@test "a syslog daemon that starts late or restarts is found" {
	local job
	host_make
	on_host "$run_path" --log syslog -v -k a -- \
	    sh -c 'until [ -e enough ]; do sleep 0.02; done' 2>>said &
	job=$!
	eventually grep -q 'a: sh started' said
	for _ in 1 2; do
		: >said
		# shellcheck disable=SC2086
		redis $reconnect
		eventually grep -q 'a: .*: renewed in' said
		listen
		# shellcheck disable=SC2086
		redis $reconnect
		eventually syslog_logged 14 'a: .*: renewed in'
		listened
		rm log
	done
	touch enough
	wait "$job"
}

@test "COMMAND inherits no descriptor for syslog" {
	listen
	logs --log syslog -v -k a -- ls /proc/self/fd >with
	logs -v -k a -- ls /proc/self/fd >without
	listened
	diff with without
}

@test "--log is stderr or syslog" {
	run -64 --separate-stderr redlock --log journal -k a -- true
	says "--log: 'journal' is not 'stderr' or 'syslog'"
	REDLOCK_LOG='' run -64 --separate-stderr redlock -k a -- true
	says "REDLOCK_LOG: '' is not 'stderr'"
}
