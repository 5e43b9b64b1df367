#!/usr/bin/env bats
# Many waiters, on five servers and on one: all are served, nearly all in their
# order, and with few more requests than the least possible number.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2004

load ../lib/common
load ../lib/servers
load ../lib/queue

crowd=24

setup_file() {
	servers_start
	redis_start
}

setup() {
	redis_reset
	servers_reset
	servers_use 1 2 3 4 5
	waiters_setup
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# everybody: so many come at once behind a holder, and have the same
# place in all queues; their tokens are then in the file tickets.
everybody() {
	local i
	hold a -t 1m
	for ((i = 1; i <= crowd; i++)); do
		waiter_start "$i" -q -t 1m
	done
	eventually one_order
}

one_order() {
	local i
	redis_at s1 zrange "$queue" 0 -1 >tickets
	[ "$(wc -l <tickets)" = "$crowd" ] || return
	for i in 2 3 4 5; do
		redis_at "s$i" zrange "$queue" 0 -1 | cmp -s - tickets || return
	done
}

# inversions: how many pairs of those that ran did so in the wrong order.
inversions() {
	awk 'NR == FNR { place[$1] = NR; next }
	{
		for (i = 1; i <= n; i++)
			wrong += before[i] > place[$1]
		before[++n] = place[$1]
	}
	END { print wrong + 0 }' tickets tokens
}

# nearly_in_order: a few of the 276 pairs may be wrong.  With retries after random
# times half of them would be.
nearly_in_order() {
	local n
	n=$(inversions)
	echo "$n inversions"
	((n <= 12))
}

@test "24 waiters on five servers are served in the order of their tickets" {
	everybody
	let_go
	waiters_end $(seq "$crowd")
	[ "$(sort -u order | wc -l)" = "$crowd" ]
	nearly_in_order
	eventually servers_only_fences 1 2 3 4 5
}

@test "when a fifth of the waiters is killed the others are served in their order" {
	local i

	everybody
	for i in 2 7 12 17 22; do
		kill -KILL "${pid[$i]}"
	done
	let_go
	for ((i = 1; i <= crowd; i++)); do
		((i % 5 == 2)) || client_ends "$i" 0
	done
	[ ! -e overlap ]
	[ "$(sort -u order | wc -l)" = $((crowd - 5)) ]
	nearly_in_order
}

@test "while one server freezes and another restarts all waiters are served in their order" {
	everybody
	redis_freeze s2
	redis_restart s4
	let_go
	waiters_end $(seq "$crowd")
	nearly_in_order
	redis_thaw s2
	eventually servers_only_fences 1 2 3 4 5
}

# crowd_requests N: what clients have asked server N for; what their scripts do,
# and what this test asks, does not count.
crowd_requests() {
	redis_at "s$1" info commandstats |
		awk -F '[:=,]' '/^cmdstat_(eval|evalsha|blpop|info):/ { n += $3 }
		END { print n + 0 }'
}

# The least number, for each server and each waiter: an acquire that is refused,
# the wait, an acquire that is granted, a renewal that leaves the queue, the
# release.
@test "each of 24 waiters sends each server at most two and a half times the least number of requests" {
	local i n took ideal=$((5 * crowd))

	took=$(now_us)
	everybody
	let_go
	waiters_end $(seq "$crowd")
	took=$((($(now_us) - took) / 1000000))
	for i in 1 2 3 4 5; do
		n=$(crowd_requests "$i")
		echo "s$i: $n instead of $ideal, $((n * 100 / ideal)) %, in $took s"
		# and the refreshes of a slow machine: an acquire and a wait
		# in five seconds at most
		((2 * n <= 5 * (ideal + crowd * 2 * (took / 5))))
	done
}

# One server: a hand-over costs the same number of calls for 10 and for 200.
@test "a hand-over takes at most five script calls, with 10 waiters as with 200" {
	local i n took waiting

	servers_use_one
	for waiting in 10 200; do
		hold a -t 1h
		for ((i = 1; i <= waiting; i++)); do
			"$REDLOCK_RUN" -q -k a -w 10m -- \
			    sh -c 'echo "$REDLOCK_TOKEN" >>"$1"' sh "ran-$waiting" \
			    >>out 2>&1 3>&- 4>&- &
			pid[$i]=$!
		done
		eventually 120 queue_is "$waiting"
		eventually 120 queue_blocked "$waiting"
		redis zrange "$queue" 0 -1 >tickets
		redis config resetstat
		took=$(now_us)
		let_go
		for ((i = 1; i <= waiting; i++)); do
			eventually 120 gone "${pid[$i]}"
			wait "${pid[$i]}"
		done
		took=$((($(now_us) - took) / 1000000))
		n=$(scripts_run)
		echo "$n script calls for $waiting hand-overs, $took s"
		# and the refreshes of a slow machine
		((n <= 5 * waiting + 5 + waiting * (took / 4)))
		cmp tickets "ran-$waiting"
		[ ! -s out ]
		eventually keys_left
	done
}
