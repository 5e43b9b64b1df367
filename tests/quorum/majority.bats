#!/usr/bin/env bats
# Several servers: what becomes of a lock that is held when a minority or a
# majority of them fails.
# shellcheck disable=SC2154,SC2016

load ../lib/common
load ../lib/faults
load ../lib/servers

setup_file() {
	five_servers
	write_helpers
}

setup() { fresh_servers; }

teardown() {
	rude_stop
	nothing_left
}

teardown_file() { redis_stop_all; }

# begun_at N...: these servers know that the run has begun.  They are told so
# at once, and what one of them has lost until then is put back at once.
begun_at() {
	local i
	for i; do
		[ "$(redis_at "s$i" exists '{redlock:a}:~runs')" = 1 ] ||
			return 1
	done
}

## Servers that lose the key

@test "servers that restart empty one after the other, each healed in time: still held" {
	hold a -v -t 6s --kill-after 100ms --node-timeout 2s
	redis_restart s1
	eventually counts 1
	redis_restart s2
	eventually counts 2
	redis_restart s3
	eventually counts 3
	gives 75
	let_go
	eventually only_fences 1 2 3
}

@test "a server that lost the key by hand gets it back at the next renewal" {
	hold a -t 6s --kill-after 100ms --node-timeout 2s
	eventually begun_at 1 2 3
	redis_at s2 del redlock:a
	eventually held_at 2
	let_go
	only_fences 1 2 3
}

# just_renewed: the lease of 12 s is younger than one; the next renewal is due
# when it is four.
just_renewed() {
	local i
	for i in 1 2 3; do
		(($(redis_at "s$i" pttl redlock:a) > 11000)) || return
	done
}

@test "a majority that loses the key between two renewals: 79, and COMMAND is stopped" {
	# one of them answers late, when the other has the key back
	watch -t 12s --kill-after 100ms
	eventually begun_at 1 2 3
	eventually just_renewed
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	redis_freeze s2
	eventually held_at 1
	redis_thaw s2
	redlock_ended 79
	witnesses_gone
	eventually only_fences 1 2 3
	# both at the same moment
	fresh_servers
	watch -t 12s --kill-after 100ms
	eventually begun_at 1 2 3
	eventually just_renewed
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	redlock_ended 79
	witnesses_gone
	eventually only_fences 1 2 3
}

@test "a majority that another client has taken over: 79, and the other's keys stay" {
	watch -t 6s --kill-after 100ms --node-timeout 2s
	redis_at s1 set redlock:a thief px 600000
	redis_at s2 set redlock:a thief px 600000
	redlock_ended 79
	witnesses_gone
	[ "$(redis_at s1 get redlock:a)" = thief ]
	[ "$(redis_at s2 get redlock:a)" = thief ]
	eventually free_at 3
}

@test "a key that is put back proves nothing while a majority is not heard" {
	watch -t 12s --kill-after 100ms
	redis_freeze s3
	redis_at s1 del redlock:a
	eventually held_at 1
	redis_at s2 del redlock:a
	redlock_ended 79
	witnesses_gone
	redis_thaw s3
	eventually only_fences 1 2 3
}

@test "a key that is put back on a young server counts after the grace" {
	eventually 40 up_for 5 1 2 3
	hold a -v -t 3s --restart-grace 3s --kill-after 100ms --node-timeout 1s
	redis_restart s1
	# it counts when it is old enough, and not before
	eventually counts 1
	up_for 4 1
	redis_restart s2
	eventually counts 2
	let_go
	eventually only_fences 1 2 3
}

@test "a second server that restarts within the grace of the first: 79" {
	eventually 40 up_for 11 1 2 3
	watch -t 10s --restart-grace 10s --kill-after 100ms
	redis_restart s1
	eventually held_at 1
	redis_restart s2
	redlock_ended 79
	witnesses_gone
	eventually only_fences 1 2 3
}

## Servers that do not answer

@test "all servers killed: COMMAND is dead before the lease can have ended" {
	local i killed

	watch -t 3s --node-timeout 1s
	for i in 1 2 3; do
		redis_kill "s$i"
	done
	# the last renewal was sent before this
	killed=$(now_us)
	redlock_ended 79
	witnesses_gone
	(($(last_sign) < killed + 3000000))
	grep -q ^T log
}

@test "a majority frozen for less than the lease: COMMAND runs on" {
	hold a -t 20s
	redis_freeze s1
	redis_freeze s2
	sleep 1
	redis_thaw s1
	redis_thaw s2
	let_go
	eventually only_fences 1 2 3
}

@test "a minority frozen for longer than the lease: COMMAND runs on" {
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	redis_freeze s2
	sleep 4
	redis_thaw s2
	eventually held_at 2
	let_go
	eventually only_fences 1 2 3
}

@test "a minority that answers garbage, refuses or hangs up: COMMAND runs on" {
	local how

	rude s3 pass
	tell "$(url 1)" "$(url 2)" "$rude_url"
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	for how in 'say \x00garbage\r\n' 'say -ERR no\r\n' close silence; do
		mode "$how"
		sleep 1
	done
	mode pass
	let_go
	eventually only_fences 1 2 3
}

@test "a majority that answers nothing: COMMAND is dead before the lease can have ended" {
	local before

	rude s2 pass
	redis_kill s3
	tell "$(url 1)" "$rude_url" "$(url 3)"
	watch -t 3s --node-timeout 1s
	# the last renewal that it hears was sent before this
	mode silence
	before=$(now_us)
	redlock_ended 79
	witnesses_gone
	(($(last_sign) < before + 3000000))
	grep -q ^T log
	mode pass
	eventually only_fences 1 2
}

@test "a black hole in the minority delays nothing" {
	local start

	/usr/bin/python3 -c '
import socket, time
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen(0)
waiting = []
for _ in range(4):      # its queue is full then, and no more is answered
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(l.getsockname())
    waiting.append(s)
time.sleep(0.2)
with open("port.new", "w") as f:
    f.write(str(l.getsockname()[1]))
import os
os.rename("port.new", "port")
time.sleep(1000)' 3>&- 4>&- &
	eventually test -e port
	tell "$(url 1)" "127.0.0.1:$(cat port)" "$(url 3)"
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	only_fences 1 3
	gives 69 -r "127.0.0.1:$(cat port)" -r "$(url 1)" --node-timeout 300ms
	eventually only_fences 1
	kill $!
}

## Answers that are lost

@test "an answer to acquire that is lost is asked for again: one holder, on a majority" {
	rude s1 cut
	redis_kill s3
	run -5 --separate-stderr redlock -k a -r "$rude_url" -r "$(url 2)" \
	    -r "$(url 3)" -- sh -c 'echo >>ran; exit 5'
	[ "$(cat mode)" = pass ]
	[ "$(wc -l <ran)" -eq 1 ]
	silent
	eventually only_fences 1 2
}

@test "an answer to release that is lost: the keys are gone, the status is COMMAND's" {
	rude s1 pass
	redis_kill s3
	run -5 --separate-stderr redlock -k a -r "$rude_url" -r "$(url 2)" \
	    -r "$(url 3)" -- sh -c '
		echo cut >mode
		exit 5'
	[ "$(cat mode)" = pass ]
	silent
	eventually only_fences 1 2
}

@test "a release that a majority does not answer: COMMAND's status, and one warning" {
	run -5 --separate-stderr redlock -k a -t 20s --node-timeout 1s -- \
	    sh -c 'kill -STOP $1 $2; exit 5' sh "$(redis_pid s1)" "$(redis_pid s2)"
	says 'the release was not answered' s1.sock s2.sock
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	redis_thaw s1
	redis_thaw s2
	eventually only_fences 1 2 3
}

@test "redlock-run and COMMAND are killed: the next gets the lock when the lease ends" {
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	kill -KILL "$bg_pid"
	redlock_ended 137
	eventually redlock -k a -- true
	# it may have died as a candidate in a queue
	eventually 40 only_fences 1 2 3
}

@test "a majority that loses the key just before COMMAND ends: 79" {
	redis_at s1 set redlock:a thief px 600000
	run -79 --separate-stderr redlock -k a -- sh -c '
		until [ "$($ADMIN_CLI -s "$1" exists \
		    "{redlock:a}:~runs")" = 1 ]; do
			sleep 0.02
		done
		$ADMIN_CLI -s "$1" del redlock:a' sh "$BATS_FILE_TMPDIR/s2.sock"
	says 'lock lost before' s1.sock s2.sock
	redis_at s1 del redlock:a
	# a key that was put back proves nothing yet
	run -79 --separate-stderr redlock -v -k a -t 20s -- sh -c '
		$ADMIN_CLI -s "$1" client kill type normal
		$ADMIN_CLI -s "$1" flushall
		until [ "$($ADMIN_CLI -s "$1" exists redlock:a)" = 1 ]; do
			$ADMIN_CLI -s "$1" client kill type normal
			sleep 0.1
		done
		$ADMIN_CLI -s "$2" del redlock:a
	' sh "$BATS_FILE_TMPDIR"/s{1,2}.sock
	says 'lock lost before'
	eventually only_fences 1 2 3
}

@test "a release whose connection is cut is sent again" {
	rude s1 pass
	run -0 --separate-stderr redlock -k a -t 1h -r "$rude_url" \
	    -r "$(url 2)" -r "$(url 3)" -- sh -c '
		sleep 0.3
		echo cut >mode'
	eventually only_fences 1 2 3
}

@test "a server that closes every connection is not asked without end" {
	local calls

	redis_at s3 acl setuser default -eval -evalsha
	redlock_bg -k a -t 20s -- sh -c \
	    'touch started; until [ -e let-go ]; do sleep 0.02; done'
	eventually test -e started
	redis_at s3 config resetstat
	sleep 1
	calls=$(redis_at s3 info stats | tr -d '\r' |
		sed -n 's/^total_commands_processed://p')
	((calls < 50))
	touch let-go
	redlock_ended 0
}

## Servers that cannot

# expiry_at N: when the key of "a" expires on server N, in ms since 1970.
expiry_at() {
	redis_at "s$1" eval 'local t = redis.call("TIME")
		return t[1] * 1000 + math.floor(t[2] / 1000) +
		    redis.call("PTTL", KEYS[1])' 1 redlock:a
}

# prolonged_at N MS: it expires later than that.
prolonged_at() {
	(($(expiry_at "$1") > $2 + 20))
}

@test "renewal and release survive a majority that is out of memory" {
	local until_ms=()

	hold a -t 6s --kill-after 100ms --node-timeout 2s
	redis_at s1 config set maxmemory 1
	redis_at s2 config set maxmemory 1
	until_ms=(0 "$(expiry_at 1)" "$(expiry_at 2)")
	eventually prolonged_at 1 "${until_ms[1]}"
	eventually prolonged_at 2 "${until_ms[2]}"
	let_go
	only_fences 1 2 3
}

@test "a restart from old snapshots: a released lock may come back, 75" {
	local i

	redlock -k a -t 1h -- sh -c '
		for s; do
			$ADMIN_CLI -s "$s" save
		done >/dev/null' sh "$BATS_FILE_TMPDIR"/s{1,2}.sock
	for i in 1 2; do
		redis_kill "s$i"
		redis_spawn "s$i"
	done
	eventually held_at 1
	eventually held_at 2
	gives 75
	rm -f "$BATS_FILE_TMPDIR"/*.rdb
}

@test "a restart of a majority from old snapshots: a held lock may be gone, 79" {
	local i

	for i in 1 2; do
		redis_at "s$i" save
	done
	watch -t 1h --kill-after 100ms
	for i in 1 2; do
		redis_kill "s$i"
		redis_spawn "s$i"
	done
	redlock_ended 79
	witnesses_gone
	rm -f "$BATS_FILE_TMPDIR"/*.rdb
}

## Rights

@test "a user without INFO: 77 that names it, or without the restart grace works" {
	local i

	for i in 1 2 3; do
		redis_at "s$i" acl setuser default -info
	done
	redlock -k a -- true
	gives 77 -t 2s --restart-grace 2s --node-timeout 3s
	says info
	eventually only_fences 1 2 3
}

@test "the commands and key patterns that the message names are enough" {
	local i rights

	for i in 1 2 3; do
		redis_at "s$i" acl setuser default reset on nopass \
		    '~redlock:*' +get
	done
	run -77 --separate-stderr redlock -k a -- true
	rights=${stderr#*user needs }
	echo "$rights"
	for i in 1 2 3; do
		# shellcheck disable=SC2086
		redis_at "s$i" acl setuser default reset on nopass $rights
	done
	eventually redlock -k a -t 1s --restart-grace 1s -- true
	eventually only_fences 1 2 3
}
