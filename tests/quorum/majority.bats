#!/usr/bin/env bats
# bats file_tags=timing,long
# Several servers: a held lock when a minority or a majority of them fails.
# shellcheck disable=SC2154,SC2016

load ../lib/common
load ../lib/process
load ../lib/faults
load ../lib/servers

setup_file() {
	servers_start
	faults_write_helpers
}

setup() { servers_reset; }

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

@test "a lock survives servers that restart empty one after the other, each healed in time" {
	hold a -v -t 6s --kill-after 100ms --node-timeout 2s
	redis_restart s1
	eventually server_vote_counts 1
	redis_restart s2
	eventually server_vote_counts 2
	redis_restart s3
	eventually server_vote_counts 3
	refused_with 75
	let_go
	eventually servers_only_fences 1 2 3
}

@test "a server whose key was deleted by hand gets it back at the next renewal" {
	hold a -v -t 6s --kill-after 100ms --node-timeout 2s
	eventually begun_at 1 2 3
	redis_at s2 del redlock:a
	eventually server_held 2
	let_go
	grep -q 's2.sock: lock lost on this server$' "$bg_err"
	servers_only_fences 1 2 3
}

@test "after a pause of redlock-run the reason is the pause, not the minority that was down" {
	hold a -t 3s --kill-after 100ms
	eventually begun_at 1 2 3
	redis_kill s3
	eventually grep -qE '2 of 3 servers.*s3.sock|s3.sock.*2 of 3 servers' \
	    "$bg_err"
	kill -STOP "$bg_pid"
	eventually servers_free 1 2
	kill -CONT "$bg_pid"
	redlock_ended 79
	grep -qE "a: lock lost: redlock-run did not run for [0-9.]+m?s \(stopped, asleep or overloaded\); $(server_url 3): .*; stopping" \
	    "$bg_err"
	redis_spawn s3
	eventually redis_at s3 ping
}

# just_renewed: the lease of 12 s is younger than one; the next renewal is due
# when it is four.
just_renewed() {
	local i
	for i in 1 2 3; do
		(($(redis_at "s$i" pttl redlock:a) > 11000)) || return
	done
}

# loses_two [COMMAND...]: both are deleted, and COMMAND done, before the run can
# notice, which with pushes takes milliseconds.
loses_two() {
	kill -STOP "$bg_pid"
	eventually process_in_state "$bg_pid" T
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	"$@"
	kill -CONT "$bg_pid"
}

@test "a majority that loses the key between two renewals ends the run with 79 and stops COMMAND" {
	# one of them answers late, when the other has the key back
	trio_start -t 12s --kill-after 100ms
	eventually begun_at 1 2 3
	eventually just_renewed
	loses_two redis_freeze s2
	eventually server_held 1
	redis_thaw s2
	redlock_ended 79
	trio_gone
	eventually servers_only_fences 1 2 3
	# both at the same moment
	servers_reset
	trio_start -t 12s --kill-after 100ms
	eventually begun_at 1 2 3
	eventually just_renewed
	loses_two true
	redlock_ended 79
	trio_gone
	eventually servers_only_fences 1 2 3
}

@test "a majority taken over by a foreign client ends the run with 79, and the foreign keys stay" {
	trio_start -t 6s --kill-after 100ms --node-timeout 2s
	redis_at s1 set redlock:a thief px 600000
	redis_at s2 set redlock:a thief px 600000
	redlock_ended 79
	trio_gone
	[ "$(redis_at s1 get redlock:a)" = thief ]
	[ "$(redis_at s2 get redlock:a)" = thief ]
	eventually servers_free 3
}

# run_clients: the ids of the runs' connections to server 1, oldest first.
run_clients() {
	redis_at s1 client list |
		sed -n '/ user=default /s/^id=\([0-9]*\) .*/\1/p' | sort -n
}
two_clients() { [ "$(run_clients | wc -l)" = 2 ]; }

# renewals_after N: server 2 has renewed the lock more often than that.
renewals() { grep -c 's2.sock: renewed' "$bg_err" || :; }
renewals_after() { (($(renewals) > $1)); }

# bats test_tags=quick
@test "an address that begins to lead to another of the servers takes no vote from it" {
	local i

	ln -s "$BATS_FILE_TMPDIR/s3.sock" moves.sock
	redlock_bg -v -k a -t 1s -r "$(server_url 1)" -r "$(server_url 2)" \
	    -r "unix://$PWD/moves.sock" -- sh -c \
	    'until [ -e let-go ]; do sleep 0.02; done'
	eventually server_held 3
	ln -s "$BATS_FILE_TMPDIR/s1.sock" new.sock
	mv new.sock moves.sock
	redis_kill s3
	eventually two_clients
	# The direct connections break, and are back at once.
	for i in 1 2 3 4; do
		redis_at s1 client kill id "$(run_clients | head -n 1)" >/dev/null
		eventually renewals_after $(($(renewals) + 1))
	done
	server_held 1
	touch let-go
	redlock_ended 0
	grep -q 's1.sock are the same server' "$bg_err"
	eventually servers_free 1 2
	[ "$(redis_at s1 --raw xlen '{redlock:a}:~runs')" = 2 ]
}

@test "a key put back on a server proves nothing while a majority does not reply" {
	trio_start -t 12s --kill-after 100ms
	eventually begun_at 1 2 3
	redis_freeze s3
	redis_at s1 del redlock:a
	eventually server_held 1
	redis_at s2 del redlock:a
	redlock_ended 79
	trio_gone
	redis_thaw s3
	eventually servers_only_fences 1 2 3
}

@test "a key put back on a restarted server counts after the restart grace" {
	eventually servers_up_for 5 1 2 3
	hold a -v -t 3s --restart-grace 3s --kill-after 100ms --node-timeout 1s
	redis_restart s1
	# it counts when it is old enough, and not before
	eventually server_vote_counts 1
	servers_up_for 4 1
	redis_restart s2
	eventually server_vote_counts 2
	let_go
	eventually servers_only_fences 1 2 3
}

@test "a second server that restarts within the grace of the first ends the run with 79" {
	eventually servers_up_for 11 1 2 3
	trio_start -t 10s --restart-grace 10s --kill-after 100ms
	redis_restart s1
	eventually server_held 1
	redis_restart s2
	redlock_ended 79
	trio_gone
	eventually servers_only_fences 1 2 3
}

## Servers that do not answer

@test "COMMAND is dead before the lease can have ended if all servers are killed" {
	local i killed

	trio_start -t 3s --node-timeout 1s
	for i in 1 2 3; do
		redis_kill "s$i"
	done
	# the last renewal was sent before this
	killed=$(now_us)
	redlock_ended 79
	trio_gone
	(($(trio_last_sign) < killed + 3000000))
	grep -q ^T log
}

@test "COMMAND runs on if a majority freezes for less than the lease" {
	hold a -t 20s
	redis_freeze s1
	redis_freeze s2
	sleep 1
	redis_thaw s1
	redis_thaw s2
	let_go
	eventually servers_only_fences 1 2 3
}

@test "COMMAND runs on if a minority freezes for longer than the lease" {
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	redis_freeze s2
	sleep 4
	redis_thaw s2
	eventually server_held 2
	let_go
	eventually servers_only_fences 1 2 3
}

@test "COMMAND runs on if a minority replies with garbage, refuses or hangs up" {
	local how

	rude s3 pass
	redis_use "$(server_url 1)" "$(server_url 2)" "$rude_url"
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	for how in 'say \x00garbage\r\n' 'say -ERR no\r\n' close silence; do
		rude_mode "$how"
		sleep 1
	done
	rude_mode pass
	let_go
	eventually servers_only_fences 1 2 3
}

@test "COMMAND is dead before the lease can have ended if a majority does not reply" {
	local before

	rude s2 pass
	redis_kill s3
	redis_use "$(server_url 1)" "$rude_url" "$(server_url 3)"
	trio_start -t 3s --node-timeout 1s
	# the last renewal that it hears was sent before this
	rude_mode silence
	before=$(now_us)
	redlock_ended 79
	trio_gone
	(($(trio_last_sign) < before + 3000000))
	grep -q ^T log
	rude_mode pass
	eventually servers_only_fences 1 2
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
	redis_use "$(server_url 1)" "127.0.0.1:$(cat port)" "$(server_url 3)"
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	servers_only_fences 1 3
	refused_with 69 -r "127.0.0.1:$(cat port)" -r "$(server_url 1)" --node-timeout 300ms
	eventually servers_only_fences 1
	kill $!
}

## Answers that are lost

@test "a lost reply to an acquire is requested again: one holder, on a majority" {
	rude s1 cut
	redis_kill s3
	run -5 --separate-stderr redlock -k a -r "$rude_url" -r "$(server_url 2)" \
	    -r "$(server_url 3)" -- sh -c 'echo >>ran; exit 5'
	[ "$(cat mode)" = pass ]
	[ "$(wc -l <ran)" -eq 1 ]
	silent
	eventually servers_only_fences 1 2
}

@test "a lost reply to a release leaves no key, and COMMAND's status" {
	rude s1 pass
	redis_kill s3
	run -5 --separate-stderr redlock -k a -r "$rude_url" -r "$(server_url 2)" \
	    -r "$(server_url 3)" -- sh -c '
		echo cut >mode
		exit 5'
	[ "$(cat mode)" = pass ]
	silent
	eventually servers_only_fences 1 2
}

@test "a release without reply from a majority gives COMMAND's status and one warning" {
	run -5 --separate-stderr redlock -k a -t 20s --node-timeout 1s -- \
	    sh -c 'kill -STOP $1 $2; exit 5' sh "$(redis_pid s1)" "$(redis_pid s2)"
	says 'release not confirmed: ' s1.sock s2.sock
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	redis_thaw s1
	redis_thaw s2
	eventually servers_only_fences 1 2 3
}

@test "the next run gets the lock when the lease of a killed run ends" {
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	kill -KILL "$bg_pid"
	redlock_ended 137
	eventually redlock -k a -- true
	# it may have died as a candidate in a queue
	eventually servers_only_fences 1 2 3
}

@test "a majority that loses the key just before COMMAND ends gives 79" {
	# A push would tell the holder of the loss before its release.
	deny_pushes s2
	redis_at s1 set redlock:a thief px 600000
	rm -f let-go
	redlock_bg -k a -- sh -c 'until [ -e let-go ]; do sleep 0.02; done'
	eventually redis_has s2 '{redlock:a}:~runs'
	pushes_denied s2
	redis_at s2 del redlock:a
	touch let-go
	redlock_ended 79
	grep -q 'lock lost before .*s1\.sock.*s2\.sock' "$bg_err"
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
	allow_pushes s2
	eventually servers_only_fences 1 2 3
}

@test "a release whose connection is cut is sent again" {
	rude s1 pass
	run -0 --separate-stderr redlock -k a -t 1h -r "$rude_url" \
	    -r "$(server_url 2)" -r "$(server_url 3)" -- sh -c '
		sleep 0.3
		echo cut >mode'
	eventually servers_only_fences 1 2 3
}

@test "a server that closes every connection does not get requests without end" {
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
	servers_only_fences 1 2 3
}

@test "a released lock that snapshots bring back on a majority is busy: 75" {
	local i

	redlock -k a -t 1h -- sh -c '
		for s; do
			$ADMIN_CLI -s "$s" save
		done >/dev/null' sh "$BATS_FILE_TMPDIR"/s{1,2}.sock
	for i in 1 2; do
		redis_kill "s$i"
		redis_spawn "s$i"
	done
	eventually server_held 1
	eventually server_held 2
	refused_with 75
	rm -f "$BATS_FILE_TMPDIR"/*.rdb
}

@test "a majority restarted from snapshots without the lock ends the run with 79" {
	local i

	for i in 1 2; do
		redis_at "s$i" save
	done
	trio_start -t 1h --kill-after 100ms
	for i in 1 2; do
		redis_kill "s$i"
		redis_spawn "s$i"
	done
	redlock_ended 79
	trio_gone
	rm -f "$BATS_FILE_TMPDIR"/*.rdb
}

## Rights

@test "a user without INFO gets 77 and its name, or works without the restart grace" {
	local i

	for i in 1 2 3; do
		redis_at "s$i" acl setuser default -info
	done
	redlock -k a -- true
	refused_with 77 -t 2s --restart-grace 2s --node-timeout 3s
	says info
	eventually servers_only_fences 1 2 3
}

@test "servers that do not know INFO have no vote, the status is 69, and they work without the restart grace" {
	local i urls=()

	for i in 1 2 3; do
		redis_start "mute$i" --rename-command INFO ''
		urls+=(-r "unix://$BATS_FILE_TMPDIR/mute$i.sock")
	done
	refused_with 69 -t 2s --restart-grace 2s "${urls[@]}"
	says "INFO: ERR unknown command" '; needs --restart-grace 0'
	run -0 redlock -k a --restart-grace 0 "${urls[@]}" -- true
	for i in 1 2 3; do
		redis_kill "mute$i"
	done
}

@test "the commands and key patterns that the message names are enough permission" {
	local i rights

	for i in 1 2 3; do
		redis_at "s$i" acl setuser default reset on nopass \
		    '~redlock:*' +get
	done
	run -77 --separate-stderr redlock -k a -- true
	rights=${stderr#*ACL SETUSER default }
	echo "$rights"
	for i in 1 2 3; do
		# shellcheck disable=SC2086
		redis_at "s$i" acl setuser default $rights
	done
	eventually redlock -k a -t 1s --restart-grace 1s -- true
	eventually servers_only_fences 1 2 3
}
