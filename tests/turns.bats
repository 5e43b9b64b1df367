#!/usr/bin/env bats
# Waiting in turn for a lock on several servers.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load lib
load servers

setup_file() { five_servers; }
setup() {
	fresh_servers
	declare -gA waiters=()
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# comes NAME [ARG...]: NAME wants the lock, and writes down that it has it.
comes() {
	local name=$1
	shift
	env --default-signal "$REDLOCK_RUN" -k a -w 2m "$@" -- sh -c '
		mkdir inside || touch overlap
		echo "$1" >>order
		while [ -e stay ]; do sleep 0.02; done
		rmdir inside || touch overlap' sh "$name" \
	    >"$name.out" 2>&1 3>&- 4>&- &
	waiters[$name]=$!
}

# queued N SERVER...: so many are in the queue of each of these.
queued() {
	local i n=$1
	shift
	for i; do
		[ "$(redis_at "s$i" zcard '{redlock:a}:~queue')" = "$n" ] ||
			return 1
	done
}

# queue_up N: so many come, one after the other.
queue_up() {
	local i
	for ((i = 1; i <= $1; i++)); do
		comes "$i" -t 20s
		eventually queued "$i" 1 2 3
	done
}

# served NAME...: all of these end well, and never two at once.
served() {
	local name
	for name; do
		eventually 60 gone "${waiters[$name]}"
		wait "${waiters[$name]}"
	done
	[ ! -e overlap ]
}

@test "first come, first served" {
	hold a
	queue_up 6
	let_go
	served {1..6}
	[ "$(paste -sd ' ' order)" = '1 2 3 4 5 6' ]
	eventually only_fences 1 2 3
}

@test "whoever does not wait does not get in between" {
	hold a
	queue_up 3
	touch stay
	let_go
	eventually test -s order
	run -75 redlock -k a -- true
	rm stay
	served 1 2 3
	eventually only_fences 1 2 3
}

@test "some of those who wait are killed: the others are served in their order" {
	hold a
	queue_up 6
	kill -KILL "${waiters[1]}" "${waiters[4]}"
	let_go
	served 2 3 5 6
	[ "$(paste -sd ' ' order)" = '2 3 5 6' ]
	eventually 40 only_fences 1 2 3
}

@test "a server that is frozen, and one that restarts empty: all are served" {
	servers 1 2 3 4 5
	hold a
	queue_up 5
	redis_freeze s2
	redis_restart s3
	let_go
	served {1..5}
	redis_thaw s2
	eventually 40 only_fences 1 2 3 4 5
}

@test "a holder that dies with its COMMAND is followed when its lease ends" {
	redlock_bg -k a -t 2s -- sleep 1000
	eventually held a
	queue_up 2
	# shellcheck disable=SC2046
	kill -KILL "$bg_pid" $(pgrep -P "$bg_pid")
	redlock_ended 137
	served 1 2
	eventually 40 only_fences 1 2 3
}

@test "a wait that runs out: 75, and nothing is left" {
	hold a
	run -75 --separate-stderr redlock -k a -w 500ms -- true
	says 'held by'
	eventually queued 0 1 2 3
	let_go
	eventually only_fences 1 2 3
}

@test "without a majority it waits for the servers: 69 when the wait ends" {
	redis_kill s1
	redis_kill s2
	run -69 --separate-stderr redlock -k a -w 1s --node-timeout 200ms -- true
	says s1.sock s2.sock
	comes 1
	redis_spawn s1
	redis_spawn s2
	served 1
	eventually only_fences 1 2 3
}

@test "a signal while waiting ends the wait, and leaves nothing" {
	hold a
	comes 1
	eventually queued 1 1 2 3
	kill -TERM "${waiters[1]}"
	eventually gone "${waiters[1]}"
	run -143 wait "${waiters[1]}"
	eventually queued 0 1 2 3
	let_go
	eventually only_fences 1 2 3
	[ ! -e order ]
}

@test "several locks: those that are held are kept while the next is waited for" {
	hold b
	"$REDLOCK_RUN" -k a -k b -w 1m -t 1500ms -- touch started \
	    >out 2>&1 3>&- 4>&- &
	waiters[1]=$!
	eventually held a
	sleep 3
	held a
	[ ! -e started ]
	let_go
	eventually gone "${waiters[1]}"
	wait "${waiters[1]}"
	[ -e started ]
	eventually only_fences 1 2 3
}
