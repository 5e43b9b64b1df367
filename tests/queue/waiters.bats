#!/usr/bin/env bats
# Waiting in turn on one server: the other waiters when one of them ends early,
# locks of other clients, and the costs of waiting for the server.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
# bats file_tags=long

load ../lib/one_redis
load ../lib/queue

setup() {
	redis_reset
	waiters_setup
}

## Signals

@test "a signal ends the wait at once and leaves nothing behind" {
	local name began_us

	hold a
	for name in TERM INT HUP QUIT USR1 ALRM RTMIN+1; do
		waiter_queues 1
		waiter_queues 2
		began_us=$(now_us)
		kill -s "$name" "${pid[1]}"
		client_ends 1 $((128 + $(kill -l "$name")))
		(($(now_us) - began_us < 3000000))
		eventually 10 queue_is 1
		[ "$(redis zrange "$queue" 0 -1)" = "${token[2]}" ]
		[ "$(redis hlen "$beat")" = 1 ]
		kill -s "$name" "${pid[2]}"
		client_ends 2 $((128 + $(kill -l "$name")))
		eventually 10 keys_left redlock:a
	done
	[ ! -e order ]
	let_go
	eventually keys_left
}

@test "a wait that a signal ends leaves nothing even where the server lost the script" {
	hold a
	watch_begun
	waiter_queues 1
	redis script flush
	redis config resetstat
	kill -TERM "${pid[1]}"
	client_ends 1 143
	eventually 10 keys_left redlock:a
	# No reply of the server would have reached it.
	redis info commandstats >stats
	grep -q '^cmdstat_eval:calls=1,' stats
	not grep '^cmdstat_evalsha' stats
	let_go
}

@test "a signal ends the wait for a frozen server at once and leaves nothing behind" {
	local name began_us

	hold a
	for name in TERM INT HUP; do
		waiter_queues 1
		redis_freeze
		began_us=$(now_us)
		kill -s "$name" "${pid[1]}"
		client_ends 1 $((128 + $(kill -l "$name")))
		(($(now_us) - began_us < 3000000))
		redis_thaw
		eventually 10 keys_left redlock:a
	done
	[ ! -e order ]
	let_go
	eventually keys_left
}

@test "a signal for a waiter that was just handed the lock gives it to the next" {
	hold a
	waiter_queues 1
	waiter_queues 2
	waiter_hand_over 1
	kill -TERM "${pid[1]}"
	kill -CONT "${pid[1]}"
	client_ends 1 143
	waiters_served 2
	eventually keys_left
}

## Death

@test "killed waiters, at the head or in the middle, delay the others by seconds only" {
	local name began_us

	hold a
	for name in 1 2 3 4 5; do
		waiter_queues "$name"
	done
	kill -KILL "${pid[1]}" "${pid[3]}"
	eventually gone "${pid[1]}"
	eventually gone "${pid[3]}"
	began_us=$(now_us)
	let_go
	waiters_served 2 4 5
	# a grant, or the rest of a third of the heartbeat, for each
	(($(now_us) - began_us < 20000000))
	eventually keys_left
}

@test "a waiter killed between hand-over and confirmation is followed by the next" {
	local began_us

	hold a
	waiter_queues 1
	waiter_queues 2
	waiter_queues 3
	waiter_stop 1
	let_go
	eventually waiter_owns 1
	kill -KILL "${pid[1]}"
	began_us=$(now_us)
	waiters_served 2 3
	echo "$((($(now_us) - began_us) / 1000)) ms"
	(($(now_us) - began_us < 10000000))
	eventually keys_left
}

@test "a waiter that sleeps through its grant keeps its ticket, but not the lock" {
	local ticket

	hold a
	waiter_queues 1
	waiter_queues 2
	waiter_queues 3
	ticket=$(redis zscore "$queue" "${token[1]}")
	waiter_stop 1
	touch stay-2
	let_go
	eventually waiter_runs 2
	kill -CONT "${pid[1]}"
	eventually in_line 1 "$ticket"
	not waiter_runs 1
	rm stay-2
	waiters_served 2 1 3
	eventually keys_left
}

# in_line NAME TICKET
in_line() {
	[ "$(redis zscore "$queue" "${token[$1]}")" = "$2" ] &&
		[ "$(redis zrank "$queue" "${token[$1]}")" = 0 ]
}

@test "a wait that times out during the hand-over passes the lock on" {
	local round name slow=0 began_us rounds=25

	for ((round = 1; round <= rounds; round++)); do
		rm -f begun
		"$REDLOCK_RUN" -k a -- sh -c 'mkdir inside || touch overlap
			: >begun
			sleep 0.3
			rmdir inside || touch overlap' 3>&- 4>&- &
		pid[holder]=$!
		eventually test -e begun
		for name in 1 2 3; do
			waiter_start "$name" -q -w 0.$((150 + RANDOM % 250))
		done
		began_us=$(now_us)
		waiter_start last
		for name in 1 2 3; do
			eventually gone "${pid[$name]}"
			wait "${pid[$name]}" || [ $? = 75 ]
		done
		client_ends last 0
		(($(now_us) - began_us < 2000000)) || slow=$((slow + 1))
		eventually gone "${pid[holder]}"
		wait "${pid[holder]}"
		eventually 10 keys_left
	done
	echo "$slow of $rounds rounds took longer than a grant"
	[ ! -e overlap ]
	[ "$(grep -cx last order)" = "$rounds" ]
	((slow <= rounds / 2))
}

@test "the first waiter follows a killed holder when its lease ends" {
	local expires late best=100000

	for _ in 1 2 3 4; do
		rm -f order began
		hold a -t 4s --node-timeout 1s
		waiter_queues 1
		waiter_queues 2
		holder_kill
		expires=$(expiry redlock:a)
		waiters_served 1 2
		late=$(($(began_ms 1) - expires))
		echo "$late ms after the end of the lease"
		((late >= 0 && late < 5000))
		((late >= best)) || best=$late
		((best >= 300)) || break
	done
	((best < 300))
	eventually keys_left
}

# soon_after COMMAND...: run COMMAND, after which "a" is in cooldown until $expires, and
# 1 and 2 wait.  They are served when that is over, never before, and in one of
# three rounds at the latest soon after that.
soon_after() {
	local expires late
	for _ in 1 2 3; do
		rm -f order began
		"$@"
		waiters_served 1 2
		late=$(($(began_ms 1) - expires))
		echo "$late ms after the end of the cooldown"
		((late >= 0))
		eventually keys_left
		((late >= 1500)) || return 0
	done
	return 1
}

rests_and_two_come() {
	redlock -k a --min-hold 3s -- true
	expires=$(expiry redlock:a)
	waiter_queues 1
	waiter_queues 2
}

@test "waiters are served when the cooldown of a lock is over" {
	soon_after rests_and_two_come
}

rests_while_two_wait() {
	hold a -t 1h --min-hold 4s
	waiter_queues 1
	waiter_queues 2
	let_go
	expires=$(expiry redlock:a)
	(($(redis pttl redlock:a) <= 4000))
}

@test "waiters are served after a cooldown that began while they waited" {
	soon_after rests_while_two_wait
}

@test "--min-hold of a waiter counts from its own turn" {
	hold a
	waiter_queues 1 --min-hold 20s
	sleep 5
	let_go
	waiters_served 1
	(($(expiry redlock:a) >= $(began_ms 1) + 17000))
	(($(expiry redlock:a) <= $(began_ms 1) + 25000))
}

## Locks of others

@test "a waiter notices the end of a foreign lock within a quarter of a second" {
	local late deleted best=100000

	for _ in 1 2 3 4 5; do
		rm -f order began
		redis set redlock:a another px 60000
		waiter_queues 1
		waiter_queues 2
		sleep 1
		[ "$(redis get redlock:a)" = another ]
		deleted=$(($(now_us) / 1000))
		redis del redlock:a
		waiters_served 1 2
		late=$(($(began_ms 1) - deleted))
		echo "$late ms after its end"
		((late < 5000))
		((late >= best)) || best=$late
	done
	((best < 400))
	eventually keys_left
}

@test "a foreign lock that expires goes to the first waiter" {
	local expires late

	redis set redlock:a another px 4000
	expires=$(expiry redlock:a)
	waiter_queues 1
	waiter_queues 2
	waiters_served 1 2
	late=$(($(began_ms 1) - expires))
	((late >= 0 && late < 2000))
	eventually keys_left
}

@test "a waiter leaves a foreign key without expiry or of another type alone" {
	redis set redlock:a another
	waiter_queues 1
	run -75 redlock -k a -w 700ms -- touch jumped
	[ "$(redis get redlock:a)" = another ]
	[ "$(redis pttl redlock:a)" = -1 ]
	redis del redlock:a
	waiters_served 1
	redis hset redlock:a f 1
	waiter_queues 2
	run -75 redlock -k a -w 700ms -- touch jumped
	[ "$(redis hget redlock:a f)" = 1 ]
	redis del redlock:a
	waiters_served 1 2
	[ ! -e jumped ]
	eventually keys_left
}

## Costs

@test "while nothing happens a waiter sends a command in two seconds, and the first two or three a second" {
	local name took n monitor

	hold a -t 1h
	for name in 1 2 3 4 5; do
		waiter_queues "$name"
	done
	eventually queue_blocked 5
	eval "exec $(cli monitor)" >commands 3>&- 4>&- &
	monitor=$!
	eventually grep -q OK commands
	took=$(now_us)
	sleep 12
	n=$(grep -cvE '^OK|^[0-9.]+ \[[0-9]+ lua\]' commands)
	took=$((($(now_us) - took) / 1000))
	kill "$monitor"
	echo "$n commands by 5 waiters in $took ms"
	((n * 1000 <= (4 + 2 * 25 / 10) * took))
	# but they refresh their places
	((n > 5))
	queue_is 5
	let_go
	waiters_served 1 2 3 4 5
}
