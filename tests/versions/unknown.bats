#!/usr/bin/env bats
# A waiter of a kind that only another version knows.
# shellcheck disable=SC2030,SC2031,SC2154

load ../lib/one_redis
load ../lib/queue

setup() {
	redis_reset
	waiters_setup
	stranger=01234567-89ab-4cde-8f01-23456789abcd
	list="{redlock:a}:~wake:$stranger"
}

# stranger_queues BEAT: it lives for a minute, unless somebody hurries it.
stranger_queues() {
	redis eval 'local time = redis.call("TIME")
		redis.call("ZADD", KEYS[1], string.format("%d%06d", time[1], time[2]), ARGV[1])
		redis.call("HSET", KEYS[2], ARGV[1], time[1] + 60 .. "000000 " .. ARGV[2])' \
	    2 "$queue" "$beat" "$stranger" "$1" >/dev/null
}

stranger_queued() {
	[ -n "$(redis zscore "$queue" "$stranger")" ]
}

stranger_woken() {
	[ "$(redis lrange "$list" 0 -1)" = 1 ]
}

# stranger_waits_between BEAT [ARG...]: a run holds the lock, the stranger is
# first in the queue, and the waiter "b" second; then the holder ends.
stranger_waits_between() {
	hold a
	stranger_queues "$1"
	waiter_queues b "${@:2}"
	let_go
	eventually stranger_woken
}

# for_each_kind COMMAND: for words, for a beat with a readable id, and for one
# character.
for_each_kind() {
	local text
	for text in 'weighted 5/8 with=anything at all' \
	    "xnew 1 lane=7 redlock-run/9 token=$stranger try=1 pid=1 host=h" '?'; do
		redis_reset
		rm -f order tokens
		echo "with '$text':"
		"$1" "$text" # not in a condition, where errexit is off
	done
}

keeps_its_place() {
	stranger_waits_between "$1"
	free
	run --separate-stderr redlock -k a -- true
	[ "$status" -eq 75 ]
	stranger_queued
	[ ! -e order ]
	# it takes the lock by its own script
	redis set redlock:a "redlock-run/9 token=$stranger try=1 since=1 new=1" nx px 60000
	redis zrem "$queue" "$stranger" && redis hdel "$beat" "$stranger"
	run --separate-stderr redlock -k a -- true
	[ "$status" -eq 75 ]
	redis del redlock:a
	waiters_served b
}

@test "a living waiter of an unknown kind keeps its place, is woken, and is not passed" {
	for_each_kind keeps_its_place
}

dies() {
	stranger_waits_between "$1"
	waiters_served b
	not stranger_queued
}

@test "a waiter of an unknown kind that asks for nothing in two seconds counts as dead" {
	for_each_kind dies
}

is_counted() {
	hold a
	stranger_queues "$1"
	run --separate-stderr redlock --status a --json
	[ "$status" -eq 0 ]
	json_one 'd["waiting"] == 1 and d["waiters"][0]["user"] is None'
	json_one "d['waiters'][0]['token'] == '$stranger'"
	run --separate-stderr redlock --status a -v
	[[ $output == *'  waiting 1: ?@'*' pid '*' for '* ]]
	let_go
	redis del "$queue" "$beat"
}

@test "--status counts and lists a waiter of an unknown kind" {
	for_each_kind is_counted
}

@test "an unknown waiter is in the way of readers and of a free slot, and gives no status 64" {
	stranger_queues 'weighted 5/8'
	run --separate-stderr redlock -k a --shared -- true
	[ "$status" -eq 75 ]
	run --separate-stderr redlock -k a --slots 3 -- true
	[ "$status" -eq 75 ]
	stranger_queued
}
