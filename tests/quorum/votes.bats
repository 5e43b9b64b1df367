#!/usr/bin/env bats
# Several servers: votes that are split, and the fence that a majority agrees
# on.
# shellcheck disable=SC2154,SC2016

load ../lib/common
load ../lib/servers

setup_file() { servers_start; }
setup() { servers_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

## Votes that are split

# contend [STATUS]: four want the lock at the same moment, and do not wait for
# it.  One of them runs, or one after the other, never two at once; the others
# find it busy, or end with STATUS.
contend() {
	local pids=() urls i n status other=${1:-75}

	read -ra urls <<<"$REDLOCK_REDIS"

	rm -f go ran overlap
	for i in 1 2 3 4; do
		# each begins with another server
		n=$((i % ${#urls[@]}))
		(
			REDLOCK_REDIS="${urls[*]:n} ${urls[*]:0:n}"
			until [ -e go ]; do :; done
			redlock -n -k a -- sh -c '
				mkdir inside || echo >>overlap
				echo >>ran
				sleep 0.1
				rmdir inside' 2>"err.$i"
		) &
		pids+=($!)
	done
	touch go
	for i in "${pids[@]}"; do
		status=0
		wait "$i" || status=$?
		if ((status != 0 && status != 75 && status != other)); then
			echo "status $status"
			cat err.*
			return 1
		fi
	done >&2
	[ ! -e overlap ]
	[ -s ran ]
}

@test "two servers: of four contenders one runs" {
	servers_use 1 2
	for _ in {1..6}; do
		contend
		eventually servers_only_fences 1 2
	done
}

@test "three servers, one down: of four contenders one runs" {
	redis_kill s2
	for _ in {1..6}; do
		contend 69
		eventually servers_only_fences 1 3
	done
}

@test "three servers: of four contenders one runs" {
	for _ in {1..6}; do
		contend
		eventually servers_only_fences 1 2 3
	done
}

@test "four servers: of four contenders one runs" {
	servers_use 1 2 3 4
	for _ in {1..6}; do
		contend
		eventually servers_only_fences 1 2 3 4
	done
}

# candidate TICKET: another one has the vote of the first server, and is in its
# queue with that ticket, alive for a minute.
candidate() {
	redis_at s1 set redlock:a "redlock-run/2 token=rival try=1 since=1 x" \
	    px 60000
	rival_queues 1 "$1"
}

# rival_queues N TICKET: it is in the queue of server N.
rival_queues() {
	redis_at "s$1" hset '{redlock:a}:~beat' rival \
	    "$(($(now_us) + 60000000)) exclusive 1 redlock-run/2 token=rival try=1 x"
	redis_at "s$1" zadd '{redlock:a}:~queue' "$2" rival
}

# candidate_is_later: the other candidate's ticket is later than our new one.
candidate_is_later() {
	eventually two_candidates
	rival_queues 1 "$(now_us)"
}

two_candidates() {
	[ "$(redis_at s1 zcard '{redlock:a}:~queue')" = 2 ]
}

# candidate_leaves: the queues.
candidate_leaves() {
	local i
	for i in 1 2; do
		redis_at "s$i" zrem '{redlock:a}:~queue' rival
		redis_at "s$i" hdel '{redlock:a}:~beat' rival
		redis_at "s$i" del '{redlock:a}:~wake:rival'
	done
}

# candidate_gone: it gives its vote back, too.
candidate_gone() {
	redis_at s1 del redlock:a
	candidate_leaves
}

value_at() {
	redis_at "s$1" get redlock:a
}

voted_for_us() {
	[[ $(value_at "$1") == *" token="*" pid=$bg_pid "* ]]
}

# For a while, seen again and again.
stays() {
	local end=$(($(now_us) + 500000))
	while (($(now_us) < end)); do
		"$@" || return
	done
}

@test "a split vote: the earlier ticket keeps its vote and runs when the later one yields" {
	servers_use 1 2
	candidate 1
	redlock_bg -k a --node-timeout 20s -- true
	candidate_is_later
	eventually voted_for_us 2
	stays voted_for_us 2
	redis_at s1 del redlock:a
	redlock_ended 0
	candidate_gone
	eventually servers_only_fences 1 2
}

# taken_again N FENCE: since it had that fence, server N has been taken anew.
taken_again() {
	(($(redis_at "s$1" get '{redlock:a}:~fence') > $2))
}

@test "a split vote: the later ticket yields, and runs if the earlier one disappears" {
	servers_use 1 2
	candidate 1
	redlock_bg -k a --node-timeout 20s -- true
	eventually taken_again 2 0
	eventually taken_again 2 "$(redis_at s2 get '{redlock:a}:~fence')"
	rival_queues 2 1
	eventually not voted_for_us 2
	stays not voted_for_us 2
	candidate_gone
	redlock_ended 0
	eventually servers_only_fences 1 2
}

@test "a split vote: once one candidate has won the lock is busy at once" {
	servers_use 1 2
	candidate 1
	redlock_bg -k a --node-timeout 20s -- true
	candidate_is_later
	eventually voted_for_us 2
	candidate_leaves
	redlock_ended 75
	grep -q 'held by' "$bg_err"
	candidate_gone
	eventually servers_only_fences 1 2
}

@test "a split vote: after five node timeouts the lock is busy" {
	local start

	servers_use 1 2
	candidate 1
	start=$(now_us)
	redlock_bg -k a --node-timeout 1s -- true
	candidate_is_later
	redlock_ended 75
	(($(now_us) - start > 5000000))
	candidate_gone
	eventually servers_only_fences 1 2
}

@test "a split vote over the first of several locks does not lose the second" {
	servers_use 1 2
	candidate 1
	redlock_bg -k a -k b --node-timeout 2s -- touch started
	candidate_is_later
	eventually voted_for_us 2
	# longer than one node timeout, shorter than the contest
	sleep 2.5
	redis_at s1 del redlock:a
	redlock_ended 0
	[ -e started ]
	candidate_gone
	eventually servers_only_fences 1 2
}

@test "a split vote: a dead candidate delays no other" {
	servers_use 1 2
	candidate 1
	redis_at s1 del redlock:a
	redis_at s1 hset '{redlock:a}:~beat' rival 1
	rival_queues 2 1
	redis_at s2 hset '{redlock:a}:~beat' rival 1
	redlock -k a -- true
	eventually servers_only_fences 1 2
}

@test "a split vote ends although another server is frozen" {
	local start

	servers_use 1 2 3
	redis_freeze s3
	candidate 1
	start=$(now_us)
	redlock_bg -k a --node-timeout 20s -- true
	candidate_is_later
	eventually voted_for_us 2
	redis_at s1 del redlock:a
	redlock_ended 0
	(($(now_us) - start < 10000000))
	candidate_leaves
	redis_thaw s3
	eventually servers_only_fences 1 2 3
}

@test "a holder is in no queue, even on a server that got the fence late" {
	servers_use 1 2
	redis_at s1 set '{redlock:a}:~fence' \
	    $(($(now_us) + 3600000000))
	redlock -k a -- sh -c 'until [ "$(
		$ADMIN_CLI -s "$1" exists "{redlock:a}:~queue")$(
		$ADMIN_CLI -s "$2" exists "{redlock:a}:~queue")" = 00 ]; do
			sleep 0.02
		done' sh "$BATS_FILE_TMPDIR"/s{1,2}.sock
}

## The fence

# A release without a waiter may come late, or never.
nobody_has_it() {
	local i

	for i in 1 2 3; do
		[ "$(redis_at "s$i" exists redlock:a 2>/dev/null)" != 1 ] || return
	done
}

# next_fence: takes the lock once more; its fence is larger than $fence, and
# becomes it.
next_fence() {
	local last=$fence

	fence=$(redlock -k a -t 5s --node-timeout 2s -- sh -c 'echo "$REDLOCK_FENCE"')
	echo "$fence after $last"
	((fence > last))
}

@test "the fence grows whichever majority replies" {
	local fence=0 i

	for i in 1 2 3 1 3 2; do
		redis_stop "s$i"
		next_fence
		eventually nobody_has_it
		next_fence
		redis_spawn "s$i"
		eventually redis_at "s$i" ping
		eventually nobody_has_it
		next_fence
		eventually nobody_has_it
	done
}

@test "the fence grows although a minority lost its counter" {
	local fence=0 i

	for i in 1 2 3 2 1; do
		redis_at "s$i" flushall
		next_fence
		redis_freeze "s$((i % 3 + 1))"
		next_fence
		redis_thaw "s$((i % 3 + 1))"
		next_fence
	done
}

# agreed N...: takes the lock and prints its fence, if two of these servers
# have it when COMMAND runs.
agreed() {
	redlock -k a -- bash -c '
		n=0
		dir=$1
		shift
		for i; do
			[ "$($ADMIN_CLI -s "$dir/s$i.sock" get \
			    "{redlock:a}:~fence")" != "$REDLOCK_FENCE" ] ||
				n=$((n + 1))
		done
		[ "$n" -ge 2 ] && echo "$REDLOCK_FENCE"' \
	    bash "$BATS_FILE_TMPDIR" "$@"
}

@test "the fence exceeds all counters, and a majority stores it before COMMAND runs" {
	local ahead down other far fence

	for ahead in 1 2 3; do
		# of the two that are left both are needed
		down=$((ahead % 3 + 1))
		other=$((down % 3 + 1))
		redis_freeze "s$down"
		far=$(($(now_us) + ahead * 3600000000))
		redis_at "s$ahead" set '{redlock:a}:~fence' "$far"
		fence=$(agreed "$ahead" "$other")
		echo "$fence, one server had $far"
		((fence > far))
		redis_thaw "s$down"
		eventually redis_at "s$down" ping
		fence=$(agreed 1 2 3)
		((fence > far))
	done
}

@test "a majority stores the fence before COMMAND runs" {
	local fence=0 i last

	for i in {1..10}; do
		last=$fence
		fence=$(agreed 1 2 3)
		((fence > last))
		redis_at "s$((i % 3 + 1))" del '{redlock:a}:~fence'
	done
}

@test "a malformed fence counter counts as none" {
	local fence

	redis_at s1 set '{redlock:a}:~fence' nonsense
	redis_at s2 set '{redlock:a}:~fence' -5
	fence=$(agreed 1 2 3)
	((fence > 1000000000000000))
	redis_at s3 rpush '{redlock:b}:~fence' x
	redlock -k b -- true
}
