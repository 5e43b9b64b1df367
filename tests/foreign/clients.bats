#!/usr/bin/env bats
#
# Other clients of the same locks: redis-py's Lock (Debian: python3-redis), on one
# server, and node-redlock, on a majority (tests/foreign/install).  Exclusion goes
# both ways.
#
# shellcheck disable=SC2016,SC2034,SC2154

load ../lib/common
load ../lib/servers
load ../lib/clients

setup_file() {
	servers_start
}

setup() {
	servers_reset
	servers_use 1
	declare -gA pid=()
	go=$BATS_TEST_TMPDIR/go
	count=$BATS_TEST_TMPDIR/count
	PATH=$top/tests/foreign:$PATH
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

needs_redis_py() {
	/usr/bin/python3 -c 'import redis.lock' 2>/dev/null ||
		skip "needs redis-py (python3-redis)"
}

needs_node_redlock() {
	[[ -e $top/build/node/node_modules/ioredis ]] ||
		skip "$(cat "$top/build/node/why" 2>/dev/null ||
			echo "needs node-redlock (tests/foreign/install)")"
	needs node nodejs
}

# sockets: those of $servers.
sockets() {
	local server
	for server in $servers; do
		echo "$BATS_FILE_TMPDIR/$server.sock"
	done
}

# foreign CLIENT TASK TTL_MS FILE: the lock is redlock-run's "a".
foreign() {
	local -a at
	mapfile -t at < <(sockets)
	case $1 in
	redis-py) redis_py "$2" redlock:a "${@:3}" "${at[@]}" ;;
	*) node "$top/tests/foreign/node_redlock.js" "${1#*@}" "$2" redlock:a \
		"${@:3}" "${at[@]}" ;;
	esac 3>&- 4>&-
}

# foreign_bg CLIENT TASK TTL_MS FILE: in the background; its words are in NAME.out.
foreign_bg() {
	foreign "$@" >"$1.out" 2>"$1.err" &
	pid[$1]=$!
}

# foreign_says CLIENT WORD: its last word is that, soon.
foreign_says() {
	eventually eval "[[ \$(tail -n 1 '$1.out') == $2 ]]"
}

# foreign_ends CLIENT WORD
foreign_ends() {
	client_ends "$1" 0
	[[ $(tail -n 1 "$1.out") == "$2" ]]
}

# held_by_run: the lock is redlock-run's.
held_by_run() {
	[[ $(redis_at s1 get redlock:a) == redlock-run/* ]]
}

# They exclude each other in either order, and each release leaves the lock free.
excludes() {
	local client=$1 value

	foreign_bg "$client" hold 10000 "$go"
	foreign_says "$client" held
	value=$(redis_at s1 get redlock:a)
	run -75 --separate-stderr redlock -k a -- true
	says "a: held by"
	run -75 redlock -q -k a -w 0.3 -- true
	run -0 --separate-stderr redlock --status a
	[[ $(redis_at s1 get redlock:a) == "$value" ]]
	redlock_bg -k a -w 20 -- true
	eventually queue_is 1
	touch "$go"
	foreign_ends "$client" released
	redlock_ended 0
	eventually free
	rm "$go"

	hold a
	[[ $(foreign "$client" hold 10000 "$go") == busy ]]
	let_go
	hold a --shared
	[[ $(foreign "$client" hold 10000 "$go") == busy ]]
	let_go
	redlock -k a --min-hold 60s -- true
	[[ $(foreign "$client" hold 10000 "$go") == busy ]]
	for server in $servers; do
		redis_at "$server" del redlock:a
	done
	touch "$go"
	[[ $(foreign "$client" hold 10000 "$go") == *released ]]
	eventually free
	rm "$go"
}

# A lease that has ended blocks neither of them.
respects_end_of_lease() {
	local client=$1

	foreign_bg "$client" hold 900 "$go"	# too short to be extended
	foreign_says "$client" held
	redlock_bg -k a -w 20 -- sh -c 'until [ -e "$1" ]; do sleep 0.02; done' \
	    sh "$go.run"
	eventually held_by_run
	eventually held
	touch "$go"
	foreign_ends "$client" lost
	held
	touch "$go.run"
	redlock_ended 0
	rm "$go" "$go.run"

	env --default-signal "$REDLOCK_RUN" -k a -t 1s -- sleep 1000 3>&- 4>&- &
	pid[run]=$!
	eventually held
	kill -KILL "${pid[run]}"
	eventually free
	touch "$go"
	[[ $(foreign "$client" hold 10000 "$go") == *released ]]
	rm "$go"
}

# count_up: adds one to the number in the file, ten times, each in a run.
count_up() {
	local i

	for i in {1..10}; do
		redlock -k a -w 60 -- sh -c \
		    'n=$(cat "$1"); sleep 0.01; echo $((n + 1)) >"$1"' sh "$count"
	done
}

# Two loops of runs and the clients, all at once, lose no increment.
counts() {
	local client i

	echo 0 >"$count"
	for i in 1 2; do
		count_up >"$i.out" 2>"$i.err" &
		pid[$i]=$!
	done
	for client; do
		foreign_bg "$client" count 20000 "$count"
	done
	for client; do
		foreign_ends "$client" counted
	done
	client_ends 1 0
	client_ends 2 0
	[[ $(<"$count") == $((20 + 10 * $#)) ]]
	eventually free
}

## redis-py

@test "redlock-run and redis-py exclude each other, also while it is shared or in cooldown" {
	needs_redis_py
	excludes redis-py
}

@test "a lease of redis-py that has ended keeps nobody out, and its late release removes nothing" {
	needs_redis_py
	respects_end_of_lease redis-py
}

@test "redlock-run and redis-py, contending for a counter, lose no increment" {
	needs_redis_py
	counts redis-py
}

## node-redlock

@test "redlock-run and node-redlock exclude each other on three servers, also while it is shared or in cooldown" {
	local version

	needs_node_redlock
	servers_use 1 2 3
	for version in 4 5; do
		excludes node-redlock@$version
	done
}

@test "a lease of node-redlock that has ended keeps nobody out, and its late release removes nothing" {
	local version

	needs_node_redlock
	servers_use 1 2 3
	for version in 4 5; do
		respects_end_of_lease node-redlock@$version
	done
}

@test "a majority of node-redlock's keeps redlock-run out, and a minority does not" {
	local version

	needs_node_redlock
	for version in 4 5; do
		servers_use 1 2 3
		foreign_bg node-redlock@$version hold 10000 "$go"
		foreign_says node-redlock@$version held
		redis_at s2 del redlock:a
		run -75 --separate-stderr redlock -k a -- true
		says "a: held by"
		redis_at s3 del redlock:a
		run -0 --separate-stderr redlock -k a -- true
		silent
		redis_has s1 redlock:a
		touch "$go"
		client_ends node-redlock@$version 0
		eventually free
		rm "$go"
	done
}

@test "redlock-run on a majority keeps node-redlock out, and gone from it does not" {
	local version

	needs_node_redlock
	for version in 4 5; do
		servers_use 1 2 3
		redis_freeze s3
		redlock_bg -k a --node-timeout 300ms --on-loss warn -t 300s -- \
		    sh -c 'until [ -e "$1" ]; do sleep 0.02; done' sh "$go.run"
		eventually redis_has s2 redlock:a
		redis_thaw s3
		redis_at s3 del redlock:a
		[[ $(foreign node-redlock@$version hold 10000 "$go") == busy ]]
		touch "$go.run"
		redlock_ended 0
		touch "$go"
		[[ $(foreign node-redlock@$version hold 10000 "$go") == *released ]]
		eventually free
		rm "$go" "$go.run"
	done
}

@test "redlock-run and node-redlock, contending for a counter on three servers, lose no increment" {
	needs_node_redlock
	servers_use 1 2 3
	counts node-redlock@4 node-redlock@5
}
