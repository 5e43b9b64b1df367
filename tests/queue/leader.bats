#!/usr/bin/env bats
# A leader and its standby: the same command on two hosts, each with
# `redlock-run -k leader -w inf`, runs on one of them, and on the other as soon
# as the first is gone.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2004

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

# leader_host NAME [ARG...]: a host runs its daemon, which writes down that it
# has begun, and runs until the file "go" appears.
leader_host() {
	local name=$1
	shift
	env --default-signal "HOST=$BATS_TEST_TMPDIR/$name" "$REDLOCK_RUN" \
	    -k leader -w inf "$@" -- sh -c '
		date +%s%N >>began
		echo "$1 $$" >>daemons
		until [ -e "go-$1" ]; do sleep 0.02; done' sh "$name" \
	    >"$name.out" 2>"$name.err" 3>&- 4>&- &
	pid[$name]=$!
}

# leads NAME: its daemon was the last to begin.
leads() {
	[[ $(tail -n 1 daemons) == "$1 "* ]]
}

# leader_waits: one host is in the queue of each of these servers.
leader_waits() {
	local i
	for i; do
		[ "$(redis_at "s$i" zcard '{redlock:leader}:~queue')" = 1 ] ||
			return 1
	done
}

# pair N...: the host "one" leads, "two" waits, on these servers.
pair() {
	servers_use "$@"
	leader_host one "${ttl[@]}"
	eventually leads one
	leader_host two "${ttl[@]}"
	eventually leader_waits "$@"
}

# all_of NAME: the processes of a host.
all_of() {
	grep -lszxF "HOST=$BATS_TEST_TMPDIR/$1" /proc/[0-9]*/environ |
		cut -d / -f 3
}

# guarded NAME: the guard is there as well.
guarded() {
	local i
	for i in $(all_of "$1"); do
		grep -q guard "/proc/$i/comm" && return
	done
	return 1
}

# dies NAME: the host's processes are killed without a message to any server.
dies() {
	# shellcheck disable=SC2046
	kill -STOP $(all_of "$1")
	# shellcheck disable=SC2046
	kill -KILL $(all_of "$1")
	eventually gone "${pid[$1]}"
}

# lease_end N...: when the leases on a majority of these servers have ended, in
# ms since 1970.
lease_end() {
	local i
	for i; do
		redis_at "s$i" eval 'local t = redis.call("TIME")
			return t[1] * 1000 + math.floor(t[2] / 1000) +
			    redis.call("PTTL", KEYS[1])' 1 redlock:leader
	done | sort -n | sed -n "$(($# / 2 + 1))p"
}

# succession N...: "one" dies as its host does; "two" leads when the lease
# client_ends, and not before.
succession() {
	local end late best=100000 ttl=(-t 3s)

	for _ in {1..5}; do
		rm -f began daemons go-*
		pair "$@"
		eventually guarded one
		dies one
		end=$(lease_end "$@")
		eventually leads two
		late=$(($(tail -n 1 began) / 1000000 - end))
		echo "$late ms after the end of the lease"
		((late >= -5))
		((late >= best)) || best=$late
		touch go-two
		client_ends two 0
		[ "$(cut -d ' ' -f 1 daemons | xargs)" = 'one two' ]
		((best >= 500)) || break
	done
	((best < 500))
	eventually servers_only_fences "$@"
}

@test "a standby follows a leader whose host died once, when the leader's lease ends" {
	succession 1
}

@test "on three servers a standby follows a leader whose host died once" {
	succession 1 2 3
}

@test "a standby follows at once when the leader's daemon dies" {
	local ttl=(-t 1h) on

	for on in 1 '1 2 3'; do
		rm -f daemons go-*
		# shellcheck disable=SC2086
		pair $on
		kill -KILL "$(tail -n 1 daemons | cut -d ' ' -f 2)"
		client_ends one 137
		eventually leads two
		# and it waits its turn again, for the next leader to die
		leader_host one -t 1h
		# shellcheck disable=SC2086
		eventually leader_waits $on
		touch go-two
		client_ends two 0
		eventually leads one
		touch go-one
		client_ends one 0
		[ "$(cut -d ' ' -f 1 daemons | xargs)" = 'one two one' ]
		# shellcheck disable=SC2086
		eventually servers_only_fences $on
	done
}

@test "a standby that dies leaves the leader alone, and another takes its place" {
	local ttl=(-t 1h)

	pair 1 2 3
	dies two
	leader_host three -t 1h
	eventually grep -q 'waiting\|held by' three.err
	touch go-one
	client_ends one 0
	eventually leads three
	touch go-three
	client_ends three 0
	[ "$(cut -d ' ' -f 1 daemons | xargs)" = 'one three' ]
}
