#!/usr/bin/env bats
# The lock is lost, or cannot be renewed: no command on a lease that may have
# run out, and none stopped without need.
# shellcheck disable=SC2154,SC2016

load ../lib/common
load ../lib/faults

setup_file() {
	redis_start_tcp redis --lua-time-limit 10
	export tcp=127.0.0.1:$redis_port
	write_helpers
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() {
	rude_stop
	nothing_left
}

teardown_file() { redis_stop_all; }

## The lock is lost

@test "FLUSHALL, and a key that is deleted by hand: noticed at the next renewal, 79" {
	local fault

	for fault in 'redis flushall' 'redis del redlock:a'; do
		watch -t 3s --kill-after 100ms
		after_renewal 3000 "$fault" 'redlock_ended 79; watch -t 3s --kill-after 100ms'
		redlock_ended 79
		witnesses_gone
		# without notice they would have lived for about another second
		(($(last_sign) < ends - 500000))
		not held a
		grep -q '^redlock-run: .*a' "$bg_err"
	done
}

@test "a wall clock that is set, as after a pause of the machine, is followed by a renewal" {
	preload stepped
	mkfifo clock
	CLOCK_FIFO=clock LD_PRELOAD=$preload redlock_bg -k a -t 1h -- \
	    env -u LD_PRELOAD sleep 1000
	eventually held a
	redis set redlock:a thief >/dev/null
	exec 8<>clock
	echo step >&8
	exec 8>&-
	redlock_ended 79
	grep -q 'held by another client' "$bg_err"
	[ "$(redis get redlock:a)" = thief ]
}

@test "a key that is evicted: 79" {
	watch -t 3s --node-timeout 1s --kill-after 100ms
	redis config set maxmemory-policy allkeys-random
	redis config set maxmemory 1
	redis set x y || true
	redlock_ended 79
	witnesses_gone
	redis config set maxmemory-policy noeviction
}

@test "a key that is overwritten: noticed at the next renewal, 79, the thief's is not touched" {
	watch -t 3s --kill-after 100ms
	after_renewal 3000 'redis set redlock:a thief px 60000' \
	    'redlock_ended 79; redis del redlock:a; watch -t 3s --kill-after 100ms'
	redlock_ended 79
	witnesses_gone
	(($(last_sign) < ends - 500000))
	[ "$(redis get redlock:a)" = thief ]
	(($(redis pttl redlock:a) > 30000))
}

@test "a key that another kind of client has replaced: 79, and it is not touched" {
	watch -t 3s --node-timeout 1s --kill-after 100ms
	redis eval 'redis.call("DEL", KEYS[1])
		redis.call("HSET", KEYS[1], "thief", 1)' 1 redlock:a
	redlock_ended 79
	witnesses_gone
	[ "$(redis hget redlock:a thief)" = 1 ]
	[ "$(redis pttl redlock:a)" = -1 ]
}

@test "a server that restarts empty: reconnected at once, 79, however long the lease" {
	local start

	watch -t 1h --kill-after 100ms
	start=$(now_us)
	redis_restart
	redlock_ended 79
	witnesses_gone
	(($(now_us) - start < 10000000))
	not held a
}

@test "a restart from an old snapshot: a held lock may be gone, 79" {
	redis save
	watch -t 1h --kill-after 100ms
	redis_kill
	redis_spawn
	redlock_ended 79
	witnesses_gone
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

@test "a restart from an old snapshot: a released lock may come back, 75" {
	redlock -k a -t 1h -- sh -c "$(cli save) >/dev/null"
	redis_kill
	redis_spawn
	eventually redis ping
	held a
	gives 75
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

@test "a restart that lost nothing: COMMAND runs on" {
	hold a -t 20s
	redis save
	redis_kill
	redis_spawn
	eventually redis ping
	held a
	let_go
	quiet_end
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

## Renewals fail: dead before the lease ends, not much earlier

@test "a frozen server: COMMAND and all its processes are dead before the lease ends" {
	watch -t 3s
	after_renewal 3000 redis_freeze redis_thaw
	dead_in_time
	redis_thaw
	eventually not held a
}

@test "a server that is gone: COMMAND and all its processes are dead before the lease ends" {
	watch -t 3s
	after_renewal 3000 redis_freeze redis_thaw
	redis_kill
	dead_in_time
}

@test "a black hole: COMMAND and all its processes are dead before the lease ends" {
	rude redis pass
	watch -t 3s -r "$rude_url"
	after_renewal 3000 'kill -STOP "$rude_pid"' 'kill -CONT "$rude_pid"'
	dead_in_time
	kill -CONT "$rude_pid"
}

@test "a server that answers garbage: COMMAND is dead before the lease ends, not before" {
	rude redis pass
	watch -t 3s -r "$rude_url"
	after_renewal 3000 'mode say \\x00garbage\\r\\n' 'mode pass'
	dead_in_time
}

@test "a server that refuses: COMMAND is dead before the lease ends, not before" {
	watch -t 3s
	after_renewal 3000 'redis replicaof 127.0.0.1 1' 'redis replicaof no one'
	dead_in_time
	redis replicaof no one
	eventually not held a
	watch -t 3s
	after_renewal 3000 'redis acl setuser default -eval -evalsha' \
	    'redis acl setuser default +eval +evalsha'
	dead_in_time
}

@test "with --on-loss warn COMMAND runs on when the lease has ended" {
	run -5 --separate-stderr redlock -k a -t 2s --on-loss warn \
	    --node-timeout 1s -- sh -c "
		trap 'touch terminated' TERM
		kill -STOP $(redis_pid)
		sleep 2.5
		exit 5"
	says a
	[ ! -e terminated ]
}

@test "a server that is frozen for less than the lease: COMMAND runs on" {
	hold a -t 4s --node-timeout 1s --kill-after 100ms
	redis_freeze
	sleep 1.6
	redis_thaw
	sleep 0.5
	held a
	let_go
}

@test "a server that refuses for less than the lease: COMMAND runs on" {
	hold a -t 4s --node-timeout 1s --kill-after 100ms
	redis replicaof 127.0.0.1 1
	sleep 1.6
	redis replicaof no one
	sleep 0.5
	held a
	let_go
}

@test "a server that is gone for less than the lease, and lost nothing: COMMAND runs on" {
	hold a -t 5s --kill-after 100ms
	redis save
	redis_kill
	sleep 1
	redis_spawn
	eventually redis ping
	held a
	let_go
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

## redlock-run itself

@test "redlock-run is stopped: COMMAND and all its processes are dead before the lease ends" {
	watch -t 3s
	kill -STOP "$bg_pid"
	ends=$(expiry redlock:a)
	((ends *= 1000))
	eventually witnesses_gone
	(($(last_sign) < ends))
	kill -CONT "$bg_pid"
	redlock_ended 79
}

@test "redlock-run is killed: COMMAND and all its processes are dead within a second" {
	local killed

	for _ in 1 2 3; do
		watch -t 1h
		killed=$(now_us)
		kill -KILL "$bg_pid"
		eventually witnesses_gone
		(($(last_sign) < killed + 1000000))
		redis del redlock:a
	done
}
