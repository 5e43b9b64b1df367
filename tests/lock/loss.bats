#!/usr/bin/env bats
# bats file_tags=timing,long
# The lock is lost, or cannot be renewed: no command on a lease that may have
# run out, and none stopped without need.
# shellcheck disable=SC2154,SC2016

load ../lib/common
load ../lib/faults
load ../lib/process

setup_file() { faults_start; }
setup() { faults_setup; }
teardown() { faults_teardown; }
teardown_file() { redis_stop_all; }

## The lock is lost

# bats test_tags=quick
@test "FLUSHALL or a deleted key ends the run with 79 at the next renewal" {
	local fault

	for fault in 'redis flushall' 'redis del redlock:a'; do
		trio_start -t 3s --kill-after 100ms
		after_renewal 3000 "$fault" 'redlock_ended 79; trio_start -t 3s --kill-after 100ms'
		redlock_ended 79
		trio_gone
		# without notice they would have lived for about another second
		(($(trio_last_sign) < ends - 500000))
		not held a
		grep -q '^redlock-run: .*a' "$bg_err"
	done
}

@test "a step of the wall clock, as after a suspend, triggers a renewal" {
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

@test "an evicted key ends the run with 79" {
	trio_start -t 3s --node-timeout 1s --kill-after 100ms
	redis config set maxmemory-policy allkeys-random
	redis config set maxmemory 1
	redis set x y || true
	redlock_ended 79
	trio_gone
	redis config set maxmemory-policy noeviction
}

# bats test_tags=quick
@test "an overwritten key ends the run with 79 at the next renewal, and the new value stays" {
	trio_start -t 3s --kill-after 100ms
	after_renewal 3000 'redis set redlock:a thief px 60000' \
	    'redlock_ended 79; redis del redlock:a; trio_start -t 3s --kill-after 100ms'
	redlock_ended 79
	trio_gone
	(($(trio_last_sign) < ends - 500000))
	[ "$(redis get redlock:a)" = thief ]
	(($(redis pttl redlock:a) > 30000))
}

@test "a key replaced by a foreign client ends the run with 79, and the new key stays" {
	trio_start -t 3s --node-timeout 1s --kill-after 100ms
	redis eval 'redis.call("DEL", KEYS[1])
		redis.call("HSET", KEYS[1], "thief", 1)' 1 redlock:a
	redlock_ended 79
	trio_gone
	[ "$(redis hget redlock:a thief)" = 1 ]
	[ "$(redis pttl redlock:a)" = -1 ]
}

@test "a server that restarts empty ends the run with 79 at once, however long the lease" {
	local start

	trio_start -t 1h --kill-after 100ms
	start=$(now_us)
	redis_restart
	redlock_ended 79
	trio_gone
	(($(now_us) - start < 10000000))
	not held a
}

@test "a server restarted from a snapshot without the lock ends the run with 79" {
	redis save
	trio_start -t 1h --kill-after 100ms
	redis_kill
	redis_spawn
	redlock_ended 79
	trio_gone
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

@test "a lock that an old snapshot brings back is busy" {
	redlock -k a -t 1h -- sh -c "$(cli save) >/dev/null"
	redis_kill
	redis_spawn
	eventually redis ping
	held a
	refused_with 75
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

@test "COMMAND runs on after a server restart that lost nothing" {
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

@test "COMMAND and all its processes die before the lease ends if the server freezes" {
	trio_start -t 3s
	after_renewal 3000 redis_freeze redis_thaw
	trio_dead_in_time
	redis_thaw
	eventually not held a
}

@test "COMMAND and all its processes die before the lease ends if the server is gone" {
	trio_start -t 3s
	after_renewal 3000 redis_freeze redis_thaw
	redis_kill
	trio_dead_in_time
}

@test "COMMAND and all its processes die before the lease ends if the server becomes a black hole" {
	rude redis pass
	trio_start -t 3s -r "$rude_url"
	after_renewal 3000 'kill -STOP "$rude_pid"' 'kill -CONT "$rude_pid"'
	trio_dead_in_time
	kill -CONT "$rude_pid"
}

@test "COMMAND dies just before the lease ends if the server replies with garbage" {
	rude redis pass
	trio_start -t 3s -r "$rude_url"
	after_renewal 3000 'rude_mode say \\x00garbage\\r\\n' 'rude_mode pass'
	trio_dead_in_time
}

@test "COMMAND dies just before the lease ends if the server refuses renewals" {
	trio_start -t 3s
	after_renewal 3000 'redis replicaof 127.0.0.1 1' 'redis replicaof no one'
	trio_dead_in_time
	redis replicaof no one
	eventually not held a
	trio_start -t 3s
	after_renewal 3000 'redis acl setuser default -eval -evalsha' \
	    'redis acl setuser default +eval +evalsha'
	trio_dead_in_time
}

@test "--on-loss warn lets COMMAND run on after the lease has ended" {
	run -5 --separate-stderr redlock -k a -t 2s --on-loss warn \
	    --node-timeout 1s -- sh -c "
		trap 'touch terminated' TERM
		kill -STOP $(redis_pid)
		sleep 2.5
		exit 5"
	says a
	[ ! -e terminated ]
}

@test "COMMAND runs on if the server freezes for less than the lease" {
	hold a -t 4s --node-timeout 1s --kill-after 100ms
	redis_freeze
	sleep 1.6
	redis_thaw
	sleep 0.5
	held a
	let_go
}

@test "COMMAND runs on if the server refuses for less than the lease" {
	hold a -t 4s --node-timeout 1s --kill-after 100ms
	redis replicaof 127.0.0.1 1
	sleep 1.6
	redis replicaof no one
	sleep 0.5
	held a
	let_go
}

@test "COMMAND runs on if the server is gone for less than the lease and loses nothing" {
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

# lease_has SECONDS: at least so much is left of it.
lease_has() { (($(redis pttl redlock:a) > $1 * 1000)); }

@test "--max-ttl: COMMAND outlives an outage far longer than --ttl, and dies before the end of the lease in one longer than that" {
	trio_start -t 1s --max-ttl 10s --kill-after 200ms
	(($(redis pttl redlock:a) <= 1000))
	eventually 120 lease_has 4
	redis_freeze
	sleep 1.8
	redis_thaw
	eventually lease_has 4
	trio_complete
	[ ! -s "$bg_err" ] || not grep 'lock lost' "$bg_err"
	redis_freeze
	sleep 0.1
	redis_thaw
	after_renewal 1000 redis_freeze redis_thaw
	trio_dead_in_time
	redis_thaw
	eventually not held a
}

@test "--max-ttl: a run that ends without a release leaves the lock for its last lease" {
	hold a -t 500ms --node-timeout 400ms --max-ttl 1h
	eventually lease_has 1
	kill -KILL "$bg_pid"
	lease_has 0
	eventually not held a
	redlock_ended 137
}

## redlock-run itself

@test "COMMAND and all its processes die before the lease ends if redlock-run is stopped" {
	trio_start -t 3s
	eventually guard "$bg_pid"
	kill -STOP "$bg_pid"
	eventually process_in_state "$bg_pid" T
	ends=$(expiry redlock:a)
	((ends *= 1000))
	eventually trio_gone
	(($(trio_last_sign) < ends))
	kill -CONT "$bg_pid"
	redlock_ended 79
	grep -qE 'a: lock lost: redlock-run did not run for [0-9.]+m?s \(stopped, asleep or overloaded\); stopping' \
	    "$bg_err"
}

@test "a lease that ends before a server is given up for silent is not called a pause" {
	hold a -t 1s --node-timeout 1s --kill-after 100ms
	redis_freeze
	redlock_ended 79
	grep -q 'a: lock lost: renewals failed: no answer yet; stopping' "$bg_err"
	redis_thaw
}

@test "COMMAND and all its processes die within a second if redlock-run is killed" {
	local killed

	for _ in 1 2 3; do
		trio_start -t 1h
		killed=$(now_us)
		kill -KILL "$bg_pid"
		eventually trio_gone
		(($(trio_last_sign) < killed + 1000000))
		redis del redlock:a
	done
}
