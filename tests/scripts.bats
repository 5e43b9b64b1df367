#!/usr/bin/env bats
# The scripts themselves, sent late, twice or out of order, as connections
# that were given up may do it.
# shellcheck disable=SC2154,SC2016

load lib

setup_file() { redis_start; }
setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

lock=redlock:a fence='{redlock:a}:~fence'
queue='{redlock:a}:~queue' beat='{redlock:a}:~beat'

# script NAME ID TOKEN [ARG...]: what it answers, a line for each element.
script() {
	local lua=$BATS_TEST_DIRNAME/../src/lua name=$1
	shift
	cat "$lua/head.lua" "$lua/$name.lua" >script.lua
	redis --eval "$PWD/script.lua" "$lock" "$fence" "$queue" "$beat" , "$@"
}

# The scripts as owner $1 sends them, in its attempt $2.
acquire() {
	script acquire "redlock-run/1 token=$1 try=$2 " "$1" \
	    "pid=1 host=h user=u command=c" 60000 "${3:-1000}" "${4:-0}" \
	    "${5:-0}"
}
renew() {
	script renew "redlock-run/1 token=$1 try=$2 " "$1" 60000 "$3" "${4:-0}"
}
release() {
	script release "redlock-run/1 token=$1 try=$2" "$1" "${3:-0}" 1
}

value() { redis get "$lock"; }
first() { head -n 1; }
counter() { redis get "$fence"; }

@test "acquire takes a free lock, for its time, and repeated it changes nothing" {
	local before
	[ "$(acquire me 1 | paste -sd ' ')" = '1 1000 0' ]
	before=$(value)
	[[ $before == 'redlock-run/1 token=me try=1 since='*' pid=1 host=h user=u command=c' ]]
	(($(redis pttl "$lock") > 50000))
	redis pexpire "$lock" 1000
	[ "$(acquire me 1 2000 | paste -sd ' ')" = '1 1000 0' ]
	[ "$(value)" = "$before" ]
	(($(redis pttl "$lock") > 50000))
}

@test "acquire does not touch another's lock, whatever kind it is" {
	acquire me 1
	[ "$(acquire you 1 | first)" = 0 ]
	[[ $(value) == *token=me* ]]
	[ "$(counter)" = 1000 ]
	redis set "$lock" foreign
	[ "$(acquire you 1 | sed -n 1,3p | paste -sd ' ')" = '0 foreign -1' ]
	redis del "$lock"
	redis rpush "$lock" x
	[ "$(acquire you 1 | first)" = 0 ]
	[ "$(redis type "$lock")" = list ]
}

@test "acquire replaces what an older attempt of its own has left, not a newer one" {
	acquire me 2 1000
	[ "$(acquire me 3 1000 | paste -sd ' ')" = '1 1001 0' ]
	[[ $(value) == *' try=3 '* ]]
	[ "$(acquire me 2 | first)" = 0 ]
	[[ $(value) == *' try=3 '* ]]
	[ "$(acquire me 10 1000 | first)" = 1 ]
	[ "$(acquire me 9 1000 | first)" = 0 ]
}

@test "renew never creates the lock, and never prolongs another's" {
	acquire me 1
	redis del "$lock"
	[ "$(renew me 1 1000 | first)" = 0 ]
	[ "$(redis exists "$lock")" = 0 ]
	acquire you 1
	redis pexpire "$lock" 1000
	[ "$(renew me 1 1000 | first)" = 0 ]
	[[ $(value) == *token=you* ]]
	(($(redis pttl "$lock") <= 1000))
	redis del "$lock"
	acquire me 2
	[ "$(renew me 1 1000 | first)" = 0 ]
}

@test "renew raises the fence in its own tenure alone, and never lowers it" {
	acquire me 1 1000
	[ "$(renew me 1 5000 | paste -sd ' ')" = '1 5000' ]
	[ "$(renew me 1 2000 | paste -sd ' ')" = '1 5000' ]
	[ "$(counter)" = 5000 ]
	redis del "$lock"
	acquire you 1 1000
	[ "$(counter)" = 5001 ]
	[ "$(renew me 1 9000 | first)" = 0 ]
	[ "$(counter)" = 5001 ]
}

@test "a fence does not run more than a minute ahead of the server's clock" {
	local now
	now=$(now_us)
	acquire me 1 9000000000000000
	(($(counter) > now && $(counter) < now + 120000000))
}

@test "release gives back its own lock alone, once" {
	acquire me 1
	[ "$(release you 1 | first)" = 0 ]
	[ "$(release me '2 ' | first)" = 0 ]
	[[ $(value) == *token=me* ]]
	[ "$(release me '1 ')" = 1 ]
	[ "$(redis exists "$lock")" = 0 ]
	[ "$(release me '1 ' | first)" = 0 ]
	# at the end of a run all its attempts are meant
	acquire me 7
	[ "$(release me '')" = 1 ]
	[ "$(redis exists "$lock")" = 0 ]
}

@test "a lock that rests is nobody's to renew or to release" {
	acquire me 1
	release me '1 ' 30000
	[[ $(value) == 'rest redlock-run/1 token=me '* ]]
	[ "$(renew me 1 1000 | first)" = 0 ]
	[ "$(release me '1 ' | first)" = 0 ]
	[ "$(acquire me 2 | first)" = 0 ]
	(($(redis pttl "$lock") <= 30000))
}

@test "a free lock goes only to the earliest living ticket" {
	# in the queue, in the order you, me; then the lock is free
	redis set "$lock" foreign
	acquire you 1 1000 100 60000
	acquire me 1 1000 200 60000
	redis del "$lock"
	[ "$(acquire me 1 1000 200 60000 | sed -n '1p;5p' | paste -sd ' ')" = '0 1' ]
	[ "$(acquire other 1 | first)" = 0 ]
	[ "$(acquire you 1 1000 100 60000 | first)" = 1 ]
}

@test "whoever no longer beats is dropped from the queue" {
	redis set "$lock" foreign
	acquire you 1 1000 100 60000
	redis hset "$beat" you 1
	redis del "$lock"
	[ "$(acquire me 1 1000 200 60000 | first)" = 1 ]
	[ "$(redis zrange "$queue" 0 -1)" = me ]
	[ "$(redis hkeys "$beat")" = me ]
}

@test "a candidate is told so, a holder is not" {
	acquire you 1 1000 0 60000
	[ "$(acquire me 1 1000 0 60000 | tail -n 1)" = 1 ]
	renew you 1 1000 1
	[ "$(acquire me 1 1000 0 60000 | tail -n 1)" = 0 ]
	[ "$(redis zrange "$queue" 0 -1)" = me ]
}
