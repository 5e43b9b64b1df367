#!/usr/bin/env bats
# Waiting in turn for a lock on several servers.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034
# bats file_tags=long

load ../lib/common
load ../lib/servers
load ../lib/queue

setup_file() { servers_start; }
setup() {
	servers_reset
	waiters_setup
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# turns_queued N SERVER...: so many are in the queue of each of these.
turns_queued() {
	local i n=$1
	shift
	for i; do
		[ "$(redis_at "s$i" zcard "$queue")" = "$n" ] ||
			return 1
	done
}

# queue_up N: so many come, one after the other.
queue_up() {
	local i
	for ((i = 1; i <= $1; i++)); do
		waiter_start "$i" -t 20s
		eventually turns_queued "$i" 1 2 3
	done
}

@test "several servers: waiters are served first come, first served" {
	hold a
	queue_up 6
	let_go
	waiters_served {1..6}
	eventually servers_only_fences 1 2 3
}

# one_ticket N...: the first in the queue has the same ticket on all of these.
one_ticket() {
	local i
	for i; do
		redis_at "s$i" zrange "$queue" 0 0 withscores | paste -sd ' '
	done | sort -u | grep -c . | grep -qx 1
}

@test "several servers: a waiter has the same ticket on a server that replies late" {
	hold a
	redis_freeze s3
	waiter_start 1 --node-timeout 20s -t 1h
	eventually turns_queued 1 1 2
	eventually one_ticket 1 2
	redis_thaw s3
	eventually turns_queued 1 3
	# before it hears of us again anyway
	eventually 3 one_ticket 1 2 3
	let_go
	waiters_served 1
	eventually servers_only_fences 1 2 3
}

@test "several servers: a run without -w does not overtake the waiters" {
	hold a
	queue_up 3
	touch stay
	let_go
	eventually test -s order
	run -75 redlock -k a -- true
	rm stay
	waiters_served 1 2 3
	eventually servers_only_fences 1 2 3
}

# lives_on: an acquire wakes the first waiter, which counts as dead two seconds
# later; until the file "asked" is there, 1 does not.
lives_on() {
	local i
	until [ -e asked ]; do
		for i in 1 2 3; do
			waiter_outlives 1 "s$i"
		done
		sleep 0.05
	done
}

@test "several servers: a free lock is reserved for the first waiter" {
	local keeper

	hold a
	queue_up 2
	token[1]=$(redis_at s1 zrange "$queue" 0 0)
	waiter_stop 1
	waiter_stop 2
	let_go
	eventually servers_free 1 2 3
	lives_on 3>&- 4>&- &
	keeper=$!
	run -75 redlock -k a --node-timeout 1s -- touch jumped
	touch asked
	wait "$keeper"
	servers_free 1 2 3
	kill -CONT "${pid[1]}" "${pid[2]}"
	waiters_served 1 2
	[ ! -e jumped ]
	eventually servers_only_fences 1 2 3
}

@test "several servers: when some waiters are killed the others are served in their order" {
	hold a
	queue_up 6
	kill -KILL "${pid[1]}" "${pid[4]}"
	let_go
	waiters_served 2 3 5 6
	eventually servers_only_fences 1 2 3
}

@test "several servers: all waiters are served while one server is frozen and one restarts empty" {
	servers_use 1 2 3 4 5
	hold a
	queue_up 5
	redis_freeze s2
	redis_restart s3
	let_go
	waiters_end {1..5}
	redis_thaw s2
	eventually servers_only_fences 1 2 3 4 5
}

@test "several servers: the first waiter follows a dead holder when its lease ends" {
	redlock_bg -k a -t 4s --kill-after 100ms --node-timeout 2s -- sleep 1000
	eventually held a
	queue_up 2
	# shellcheck disable=SC2046
	kill -KILL "$bg_pid" $(pgrep -P "$bg_pid")
	redlock_ended 137
	waiters_served 1 2
	eventually servers_only_fences 1 2 3
}

@test "several servers: a wait that times out gives 75 and leaves nothing" {
	hold a
	run -75 --separate-stderr redlock -k a -w 500ms -- true
	says 'held by'
	eventually turns_queued 0 1 2 3
	let_go
	eventually servers_only_fences 1 2 3
}

@test "several servers: a wait that times out gives 75 and leaves nothing on a frozen server either" {
	local i

	hold a -t 1h
	# several, since each is in another state when its time is over
	for i in 0 1 2 3 4 5; do
		waiter_start "$i" -q -w "9.$i" --node-timeout 1s
		eventually turns_queued $((i + 1)) 1 2 3
	done
	redis_freeze s2
	for i in 0 1 2 3 4 5; do
		client_ends "$i" 75
	done
	redis_thaw s2
	eventually 10 turns_queued 0 1 2 3
	[ ! -e order ]
	let_go
	eventually servers_only_fences 1 2 3
}

@test "several servers: without a majority a waiter gives up with 69 when its wait ends" {
	redis_kill s1
	redis_kill s2
	run -69 --separate-stderr redlock -k a -w 1s --node-timeout 200ms -- true
	says s1.sock s2.sock
	waiter_start 1
	redis_spawn s1
	redis_spawn s2
	waiters_served 1
	eventually servers_only_fences 1 2 3
}

# ours_alone N...: nothing but the holder's is on these servers.
ours_alone() {
	local i
	for i; do
		[ "$(redis_at "s$i" keys '*' | sort | xargs)" = \
		    'redlock:a {redlock:a}:~fence {redlock:a}:~runs' ] || return 1
	done
}

# cut_off_waits: the lock is held, and the waiter called "cut" finds s1 alone;
# 2.sock and 3.sock are s2 and s3 for it.
cut_off_waits() {
	local i

	for i in 1 2 3; do
		redis_at "s$i" set redlock:a another px 60000
	done
	waiter_start cut -r "unix://$PWD/2.sock" -r "unix://$PWD/3.sock" \
	    -r "$(server_url 1)"
}

# cut_off_lets_pass: it keeps nobody out, and is served when it finds its servers.
cut_off_lets_pass() {
	local i

	waiter_start 1
	eventually turns_queued 1 1 2 3
	redis_freeze s3
	for i in 1 2; do
		redis_at "s$i" del redlock:a
	done
	waiters_served 1
	redis_thaw s3
	for i in 2 3; do
		ln -sf "$BATS_FILE_TMPDIR/s$i.sock" "$i.sock"
	done
	redis_at s3 del redlock:a
	waiters_served 1 cut
}

@test "several servers: a waiter without majority lets others pass and keeps its ticket" {
	cut_off_waits
	eventually grep -q 'waiting for the servers: .*2.sock: No such' cut.err
	cut_off_lets_pass
}

@test "several servers: a waiter whose servers die with its requests lets others pass and keeps its ticket" {
	local i before

	before=$(scripts_run s1)
	for i in 4 5; do
		redis_freeze "s$i"
		ln -s "$BATS_FILE_TMPDIR/s$i.sock" "$((i - 2)).sock"
	done
	cut_off_waits
	eventually scripts_more s1 "$before"
	redis_kill s4
	redis_kill s5
	eventually grep -q 'waiting for the servers: .*2.sock: Connection refused' cut.err
	cut_off_lets_pass
}

@test "several servers: a signal ends the wait at once and leaves nothing on any server" {
	local name began_us i

	hold a -t 1h
	for name in TERM INT HUP; do
		queue_up 3
		began_us=$(now_us)
		kill -s "$name" "${pid[1]}" "${pid[2]}" "${pid[3]}"
		for i in 1 2 3; do
			client_ends "$i" $((128 + $(kill -l "$name")))
		done
		(($(now_us) - began_us < 3000000))
		eventually 10 ours_alone 1 2 3
	done
	[ ! -e order ]
	let_go
	eventually servers_only_fences 1 2 3
}

@test "several servers: a signal ends the wait at once while one server is frozen" {
	local case name frozen began_us i

	hold a -t 1h
	export REDLOCK_NODE_TIMEOUT=300ms
	# at once after it froze, and when it has not answered; some, since it
	# matters what each is doing when the signal comes
	for case in 'TERM 0' 'INT 0' 'HUP 0' 'TERM 6'; do
		read -r name frozen <<<"$case"
		queue_up 5
		redis_freeze s2
		sleep "$frozen"
		began_us=$(now_us)
		for i in {1..5}; do
			kill -s "$name" "${pid[$i]}"
			client_ends "$i" $((128 + $(kill -l "$name")))
		done
		(($(now_us) - began_us < 5000000))
		eventually 10 ours_alone 1 3
		redis_thaw s2
		eventually 10 ours_alone 2
	done
	[ ! -e order ]
	let_go
	eventually servers_only_fences 1 2 3
}

@test "several servers: a run keeps the locks it holds while it waits for the next" {
	hold b
	"$REDLOCK_RUN" -k a -k b -w 1m -t 4s -- touch started \
	    >out 2>&1 3>&- 4>&- &
	pid[1]=$!
	eventually held a
	sleep 5
	held a
	[ ! -e started ]
	let_go
	eventually gone "${pid[1]}"
	wait "${pid[1]}"
	[ -e started ]
	eventually servers_only_fences 1 2 3
}
