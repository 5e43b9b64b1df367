#!/usr/bin/env bats
# Several locks under one run: all or none.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/faults
load ../lib/servers

setup_file() {
	redis_start
	servers_start
	faults_write_helpers
}
setup() {
	redis_reset
	servers_reset
	unset REDLOCK_RESTART_GRACE
	servers_use_one
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

none_left() {
	not grep -qvE '^$|:~(fence|runs|skips|success)$' <<<"$(redis keys '*')"
}

# bats test_tags=quick
@test "several locks are held while COMMAND runs, and released after it" {
	redlock -k b -k a -k c -- sh -c '
		$ADMIN_CLI -s "$1" exists redlock:a redlock:b redlock:c >held' \
	    sh "$BATS_FILE_TMPDIR/redis.sock"
	[ "$(cat held)" = 3 ]
	none_left
}

@test "several locks share one token; names and fences are in bytewise order" {
	redlock -k b -- true
	run -0 redlock -k z -k b -k B -- sh -c '
		echo "$REDLOCK_KEY" >keys
		echo "$REDLOCK_FENCE" >fences
		for i in B b z; do
			$ADMIN_CLI -s "$1" get "{redlock:$i}:~fence"
			$ADMIN_CLI -s "$1" get "redlock:$i" | grep -c "$REDLOCK_TOKEN"
		done' sh "$BATS_FILE_TMPDIR/redis.sock"
	[ "$(cat keys)" = $'B\nb\nz' ]
	[ "$output" = "$(tr ' ' '\n' <fences | sed 's/$/\n1/')" ]
}

# bats test_tags=quick
@test "if one of several locks is busy none is kept, and the message names the busy one" {
	hold b
	run -75 --separate-stderr redlock -k a -k b -k c -- touch started
	says 'b: held by'
	[ ! -e started ]
	not held a
	not held c
	let_go
	none_left
}

@test "if one of several locks cannot be acquired none is kept" {
	redis rpush redlock:c x
	run -75 redlock -k a -k b -k c -- touch started
	[ ! -e started ]
	not held a
	not held b
	redis del redlock:c
	redis acl setuser default resetkeys '~redlock:[ab]' '~{redlock:*'
	run -77 --separate-stderr redlock -k a -k b -k c -- touch started
	[ ! -e started ]
	not held a
	not held b
}

@test "a run that wants one of several locks is kept out by their holder" {
	hold a -k b
	eventually held a b
	run -75 redlock -k b -- true
	run -75 redlock -k c -k a -- true
	let_go
	none_left
}

@test "two runs that name the same locks in different order do not block each other" {
	local i pids=()

	for i in {1..20}; do
		redlock -k a -k b --node-timeout 20s -- true &
		pids+=($!)
		redlock -k b -k a --node-timeout 20s -- true &
		pids+=($!)
	done 2>/dev/null
	for i in "${pids[@]}"; do
		wait "$i" || [ $? -eq 75 ]
	done
	none_left
}

@test "losing one of several locks stops COMMAND with 79 and releases the others" {
	trio_start -k b -t 6s --kill-after 100ms --node-timeout 2s
	redis set redlock:b thief px 600000
	redlock_ended 79
	grep -q 'b: lock lost: it is now held by another client' "$bg_err"
	trio_gone
	[ "$(redis get redlock:b)" = thief ]
	redis del redlock:b
	none_left
}

# prolonged NAME MS: its lease ends later than that.
prolonged() {
	(($(expiry "redlock:$1") > $2 + 20))
}

# several_ours NAME: the key has a value of redlock-run, that of $bg_pid.
several_ours() {
	[[ $(redis get "redlock:$1") == *" pid=$bg_pid "* ]]
}

@test "a lock lost while its run waits for the next is acquired again" {
	redis set redlock:b another px 60000
	redlock_bg -k a -k b -t 3s -w 5m -- sh -c 'echo ran'
	eventually several_ours a
	redis set redlock:a thief px 2500
	eventually grep -q '^redlock-run: a: lost .*; starting over' "$bg_err"
	[ "$(redis get redlock:a)" = thief ]
	eventually several_ours a
	redis del redlock:b
	redlock_ended 0
	[ "$(<"$bg_out")" = ran ]
	not held a
	not held b
}

@test "a lock lost on two of three servers while its run waits for the next is acquired again" {
	local i

	export REDLOCK_RESTART_GRACE=0
	redis_use "$(server_url 1)" "$(server_url 2)" "$(server_url 3)"
	for i in 1 2 3; do
		redis_at "s$i" set redlock:b another px 60000
	done
	redlock_bg -k a -k b -t 3s -w 5m -- true
	for i in 1 2 3; do
		eventually ours_at "$i"
	done
	for i in 1 2; do
		redis_at "s$i" set redlock:a thief px 2500
	done
	eventually grep -q '^redlock-run: a: lost .*; starting over' "$bg_err"
	for i in 1 2 3; do
		eventually ours_at "$i"
	done
	for i in 1 2 3; do
		redis_at "s$i" del redlock:b
	done
	redlock_ended 0
	eventually servers_only_fences 1 2 3
}

# ours_at N: the same of the lock called "a" on server N.
ours_at() {
	[[ $(redis_at "s$1" get redlock:a) == *" pid=$bg_pid "* ]]
}

@test "a lock lost for good while its run waits for the next: 75 or 69 when the wait ends" {
	local began_us status=0

	redis set redlock:b another px 60000
	began_us=$(now_us)
	redlock_bg -k a -k b -t 2s -w 4s -- touch started
	eventually several_ours a
	redis set redlock:a thief px 60000
	eventually gone "$bg_pid"
	wait "$bg_pid" || status=$?
	# The reason is that of the lock of which the last answer came.
	[[ $status == 69 || $status == 75 ]]
	(($(now_us) - began_us >= 4000000))
	[ "$(redis get redlock:a)" = thief ]
	[ "$(redis get redlock:b)" = another ]
	[ ! -e started ]
	[ -z "$(redis keys '*:~queue')" ]
}

# It has then read that it holds a.
waits_for_b() {
	[ "$(redis zcard '{redlock:b}:~queue')" = 1 ]
}

@test "a run that was stopped past its wait and its first lease ends, and COMMAND does not start" {
	redis set redlock:b somebody px 60000
	redlock_bg -k a -k b -t 11s --node-timeout 500ms -w 10s -- touch started
	eventually waits_for_b
	kill -STOP "$bg_pid"
	eventually not held a
	kill -CONT "$bg_pid"
	redlock_ended 69
	grep "^redlock-run: a: not run: .*the lock's key is gone" "$bg_err"
	[ ! -e started ]
	redis del redlock:b
	none_left
}

@test "each of several locks is renewed" {
	local name expires=()

	hold a -k b -k c -t 6s --kill-after 100ms --node-timeout 2s
	eventually held a b c
	for name in a b c; do
		expires+=("$(expiry "redlock:$name")")
	done
	eventually prolonged a "${expires[0]}"
	eventually prolonged b "${expires[1]}"
	eventually prolonged c "${expires[2]}"
	let_go
	none_left
}

@test "several locks on a frozen server: COMMAND is dead before the first lease ends" {
	trio_start -k b -t 5s --node-timeout 1s
	after_renewal 5000 'redis_freeze' 'redis_thaw'
	trio_dead_in_time
	redis_thaw
	eventually none_left
}

@test "--min-hold keeps all of several locks" {
	redlock -k a -k b --min-hold 1h -- true
	held a b
	run -75 redlock -k b -- true
}

@test "a signal during the acquisition of several locks leaves none behind" {
	redis_use "$(server_url 1)" "$(server_url 2)" "$(server_url 3)"
	export REDLOCK_RESTART_GRACE=0
	redis_freeze s2
	redis_freeze s3
	redlock_bg -k a -k b -t 1h --node-timeout 20s -- touch started
	eventually server_held 1
	kill -TERM "$bg_pid"
	redlock_ended 143
	redis_thaw s2
	redis_thaw s3
	eventually servers_only_fences 1 2 3
	[ ! -e started ]
}

@test "several locks on several servers are acquired and released without delay while one server is frozen" {
	local start

	redis_use "$(server_url 1)" "$(server_url 2)" "$(server_url 3)"
	export REDLOCK_RESTART_GRACE=0
	redis_freeze s3
	start=$(now_us)
	redlock -k a -k b -k c --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	redis_thaw s3
	eventually server_asked 3
	eventually servers_only_fences 1 2 3
}

@test "--status -k shows the named locks: 0 if all are held, 1 if one is free" {
	hold a -k c
	eventually held a c
	run -0 redlock --status -k c -k a
	[ "$(cut -d ' ' -f 1 <<<"$output")" = $'LOCK\na\nc' ]
	run -1 redlock --status -k c -k b -k a
	[ "$(cut -d ' ' -f 1 <<<"$output")" = $'LOCK\na\nb\nc' ]
	let_go
}

@test "a repeated name or too many names are a usage error" {
	local many=() i

	run -64 --separate-stderr redlock -k a -k b -k a -- touch started
	says "'a'" twice
	for i in {1..33}; do
		many+=(-k "n$i")
	done
	run -64 --separate-stderr redlock "${many[@]}" -- touch started
	says 32
	redlock "${many[@]:2}" -- true
	[ ! -e started ]
	none_left
}

@test "a nested run of several locks that the outer run holds needs no second lease" {
	redlock -k a -k b -- "$REDLOCK_RUN" -k b -k a -- touch both
	[ -e both ]
	redlock -k a -k b -- "$REDLOCK_RUN" -k b -- touch one
	[ -e one ]
	run -64 --separate-stderr redlock -k a -k b -- \
	    "$REDLOCK_RUN" -k b -k c -- touch three
	says 'b: held by the enclosing run, but c is not'
	[ ! -e three ]
	none_left
}
