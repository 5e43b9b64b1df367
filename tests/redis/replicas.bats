#!/usr/bin/env bats
# --replicas: COMMAND runs once so many replicas have the lock.
# shellcheck disable=SC2034,SC2154,SC2016

load ../lib/common
load ../lib/sentinel

setup_file() {
	local name

	replicated_start
	# the second and the third of a quorum, with a replica each
	for name in m2 m3 s2 s3; do
		redis_start_port "$name" --repl-diskless-sync-delay 0
	done
	redis_at s2 replicaof 127.0.0.1 "$(redis_port m2)"
	redis_at s3 replicaof 127.0.0.1 "$(redis_port m3)"
	eventually redis_is s2 master_link_status up
	eventually redis_is s3 master_link_status up
}

setup() {
	local name

	for name in r1 r2 r3 m2 m3 s2 s3; do
		redis_thaw "$name"
	done
	for name in r1 m2 m3; do
		redis_at "$name" flushall >/dev/null
		redis_at "$name" acl setuser default reset on nopass \
		    "${permitted[@]}" >/dev/null
	done
	eventually linked r1 2
	eventually linked m2 1
	eventually linked m3 1
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=()
	redis_use "$(replica_url r1)"
	export REDLOCK_RESTART_GRACE=0
}

teardown() {
	local name

	for name in r2 r3 s2 s3; do
		redis_thaw "$name"
	done
	nothing_left
}

teardown_file() { redis_stop_all; }

# linked NAME N: so many replicas have all that it has, and have said so.
linked() {
	[ "$(redis_at "$1" eval 'return redis.call("INCR", "x")' 0)" -gt 0 ]
	[ "$(printf 'DEL x\nWAIT %s 1000\n' "$2" | redis_at "$1" |
		tail -n 1)" -ge "$2" ]
}

replica_url() {
	echo "unix://$BATS_FILE_TMPDIR/$1.sock"
}

# replica_has NAME: it has the lock called "a".
replica_has() {
	[ "$(redis_at "$1" exists redlock:a)" = 1 ]
}

# only_fence NAME...: nothing else of a lock is there.
only_fence() {
	local name
	for name; do
		not grep -qv -e ':~fence$' -e ':~runs$' -e '~skips$' -e '~success$' -e '^$' \
		    <<<"$(redis_at "$name" keys '*')" || return 1
	done
}

# both: shell text that says how many replicas of r1 have the lock.
both="$(redis_cli_text r2 exists redlock:a); $(redis_cli_text r3 exists redlock:a)"

@test "--replicas: the replicas have the lock whenever COMMAND starts" {
	local n

	for n in {1..5}; do
		run -0 --separate-stderr redlock -k a --replicas 2 \
		    --node-timeout 10s -- sh -c "$both"
		silent_but $'1\n1'
		run -0 --separate-stderr redlock -k a --replicas 1 \
		    --node-timeout 10s -- sh -c "$both"
		[[ -z $stderr && $output == *1* ]]
	done
	eventually only_fence r1 r2 r3
}

@test "--replicas: too few replicas give 69 in time and leave nothing" {
	local start

	start=$(now_us)
	run -69 --separate-stderr redlock -k a --replicas 3 --node-timeout 4s \
	    -- touch started
	(($(now_us) - start < 15000000))
	says 'a: not run: ' 'only 2 of 3 replicas' '--replicas'
	[ ! -e started ]
	only_fence r1
	run -0 --separate-stderr redlock -k a -- true
}

@test "--replicas: a frozen replica gives 69, and the lock as soon as it is back" {
	redis_freeze r2
	run -69 --separate-stderr redlock -k a --replicas 2 --node-timeout 4s \
	    -- touch started
	says 'a: not run: ' 'only 1 of 2 replicas confirmed the lock within 2s'
	[ ! -e started ]
	only_fence r1
	run -0 --separate-stderr redlock -k a --replicas 1 --node-timeout 5s -- true
	redis_thaw r2
	eventually redlock -k a --replicas 2 -- true
}

@test "--replicas: the message names the replicas that have not confirmed" {
	redis_freeze r2
	run -69 --separate-stderr redlock -k a --replicas 2 -w 2s \
	    --node-timeout 10s -- touch started
	says 'a: waiting for the servers: ' \
	    'replicas have not confirmed the lock yet'
	[[ $stderr != *'no answer yet'* ]]
	[ ! -e started ]
	only_fence r1
}

@test "--replicas: a connection lost during the wait proves nothing" {
	redis_freeze r2
	redlock_bg -k a --replicas 2 --node-timeout 4s -- touch started
	eventually wait_is_on
	redis_at r1 client kill id "$(redis_at r1 client list |
		sed -n 's/^id=\([0-9]*\) .* cmd=wait .*/\1/p')"
	redlock_ended 69
	grep -q '^redlock-run: a: not run: ' "$bg_err"
	[ ! -e started ]
	only_fence r1
}

@test "--replicas: a message reports that the time is too short for a reply" {
	redis_freeze r2
	redis_freeze r3
	run -69 --separate-stderr redlock -k a --replicas 1 --node-timeout 50ms \
	    -- touch started
	says 'a: not run: unix://'
	# the last of several tries may be under way when the time is over
	[[ $stderr == *@(of 1 replicas|within 50ms|replicas have not confirmed)* ]]
	[ ! -e started ]
	eventually only_fence r1
}

@test "--replicas: -w waits for the replicas" {
	redis_freeze r2
	overseen_start late -w 5m --replicas 2 --node-timeout 400ms
	eventually replica_has r1
	eventually grep -q 'waiting for' late.err
	[ ! -e order ]
	redis_thaw r2
	eventually overseen_runs late
	replica_has r2
	replica_has r3
	touch leave
	client_ends late 0
	only_fence r1
}

@test "--replicas: a wait that times out leaves nothing" {
	redis_freeze r2
	run -69 --separate-stderr redlock -k a -w 1s --replicas 2 \
	    --node-timeout 2s -- touch started
	says 'a: not run: ' 'replicas'
	[ ! -e started ]
	only_fence r1
}

@test "--replicas: with -w the lock is acquired again if replicas are late" {
	redis_freeze r2
	overseen_start late -w 5m --replicas 2 -t 6s --kill-after 100ms \
	    --node-timeout 20s
	eventually wait_is_on
	eventually half_is_over
	redis_thaw r2
	eventually overseen_runs late
	touch leave
	client_ends late 0
	only_fence r1
}

# half_is_over: too little of the lease, of 6 s, is left to begin with.
half_is_over() {
	(($(redis_at r1 pttl redlock:a) < 2800))
}

@test "--replicas: a waiter from the queue gets the lock with its replicas" {
	overseen_holds --replicas 2 --node-timeout 10s
	overseen_start next -w 5m --replicas 2
	eventually replica_waits
	touch leave-holder
	redlock_ended 0
	eventually overseen_runs next
	replica_has r2
	replica_has r3
	touch leave
	client_ends next 0
}

replica_waits() {
	redis_at r1 client list | grep -q ' cmd=blpop '
}

@test "--replicas: on several servers the replicas of a majority are enough" {
	redis_use "$(replica_url r1)" "$(replica_url m2)" "$(replica_url m3)"
	run -0 --separate-stderr redlock -k a --replicas 1 -- true
	silent
	redis_freeze s2
	run -0 --separate-stderr redlock -k a --replicas 1 --node-timeout 5s -- \
	    sh -c "$(redis_cli_text s3 exists redlock:a)"
	silent_but 1
	redis_freeze s3
	run -69 --separate-stderr redlock -k a --replicas 1 \
	    --node-timeout 2s -- touch started
	says 'a: not run: ' 'm2.sock: only 0 of 1 replicas' 'm3.sock: the same'
	[ ! -e started ]
	eventually only_fence r1 m2 m3
}

@test "--replicas: a user without permission for WAIT gets 77 and its name" {
	redis_at r1 acl setuser default -wait
	run -0 --separate-stderr redlock -k a -- true
	run -77 --separate-stderr redlock -k a --replicas 1 -- touch started
	says 'a: not run: ' NOPERM ' +wait'
	[ ! -e started ]
	only_fence r1
}

@test "--replicas: a signal ends the wait at once and leaves nothing" {
	local start

	redis_freeze r2
	env --default-signal "$REDLOCK_RUN" -k a --replicas 2 --ttl 1h \
	    --node-timeout 1m -- touch started 3>&- 4>&- &
	pid[a]=$!
	eventually replica_has r1
	eventually wait_is_on
	start=$(now_us)
	kill -TERM "${pid[a]}"
	: >a.err
	client_ends a 143
	(($(now_us) - start < 10000000))
	[ ! -e started ]
	eventually only_fence r1
}

wait_is_on() {
	redis_at r1 client list | grep -q ' cmd=wait '
}

@test "--replicas takes a number" {
	local n

	for n in -1 x '' 1.5 1001; do
		run -64 --separate-stderr redlock -k a --replicas "$n" -- true
		says '--replicas'
	done
	run -64 --separate-stderr redlock --status --replicas 1
	run -0 redlock -k a --replicas 0 -- true
}
