#!/usr/bin/env bats
# The scripts themselves, sent late, twice or out of order, as connections
# that were given up may do it.
# shellcheck disable=SC2154,SC2016

load ../lib/common

setup_file() { redis_start; }
setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

lock=redlock:a fence='{redlock:a}:~fence'
queue='{redlock:a}:~queue' beat='{redlock:a}:~beat' runs='{redlock:a}:~runs'
details='pid=1 host=h user=u command=c'

# script NAME ID TOKEN [ARG...]: what it answers, a line for each element.  How
# many may hold the lock is in $limit.
script() {
	local lua=$top/src/protocol/lua name=$1 id=$2 token=$3
	shift 3
	cat "$lua/common.lua" "$lua/$name.lua" >script.lua
	redis --eval "$PWD/script.lua" "$lock" '{redlock:a}:~' , \
	    "$id" "$token" "${limit:-1}" "${slot:-0}" "$@"
}

# The scripts as owner $1 sends them, in its attempt $2.
acquire() {
	script acquire "redlock-run/1 token=$1 try=$2 " "$1" "$details" 60000 \
	    "${3:-1000}" "${4:-0}" "${5:-0}" "${6:-0}" "${7:-}"
}
renew() {
	script renew "redlock-run/1 token=$1 try=$2 " "$1" 60000 "$3" \
	    "${4:-0}" "${5:-}"
}
release() {
	script release "redlock-run/1 token=$1 try=$2" "$1" "${3:-0}" 1 \
	    "${4:-0}" "${5:-}" "${6:-}"
}

value() { redis get "$lock"; }
first() { head -n 1; }
counter() { redis get "$fence"; }

@test "acquire takes a free lock, for its time, and repeated it changes nothing" {
	local before
	[ "$(acquire me 1 | head -n 4 | paste -sd ' ')" = '1 1000 0 1' ]
	before=$(value)
	[[ $before == 'redlock-run/1 token=me try=1 since='*' pid=1 host=h user=u command=c' ]]
	(($(redis pttl "$lock") > 50000))
	redis pexpire "$lock" 20000
	[ "$(acquire me 1 2000 | head -n 4 | paste -sd ' ')" = '1 1000 0 1' ]
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
	[ "$(acquire me 3 1000 | head -n 4 | paste -sd ' ')" = '1 1001 0 1' ]
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
	redis pexpire "$lock" 20000
	[ "$(renew me 1 1000 | first)" = 0 ]
	[[ $(value) == *token=you* ]]
	(($(redis pttl "$lock") <= 20000))
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
	[ "$(acquire me 1 1000 200 60000 | sed -n '1p;8p' | paste -sd ' ')" = '0 1' ]
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
	[ "$(acquire me 1 1000 0 60000 | sed -n 9p)" = 1 ]
	renew you 1 1000 1
	[ "$(acquire me 1 1000 0 60000 | sed -n 9p)" = 0 ]
	[ "$(redis zrange "$queue" 0 -1)" = me ]
}

readers='{redlock:a}:~readers'

@test "shared: those who share it hold it together, and the last one ends it" {
	limit=0
	[ "$(acquire one 1 | first)" = 1 ]
	[ "$(acquire two 1 | first)" = 1 ]
	[ "$(value)" = '~shared' ]
	[ "$(limit=1 acquire me 1 | first)" = 0 ]
	[ "$(release one '1 ')" = 1 ]
	[ "$(value)" = '~shared' ]
	[ "$(release one '1 ' | first)" = 0 ]
	[ "$(redis hkeys "$readers")" = two ]
	[ "$(release two '')" = 1 ]
	[ "$(redis exists "$lock" "$readers")" = 0 ]
}

@test "shared: the key lasts as long as the longest of them, and no longer" {
	limit=0
	acquire one 1
	script acquire "redlock-run/1 token=two try=1 " two "$details" \
	    5000 1000 0 0 0 ''
	(($(redis pttl "$lock") > 50000 && $(redis pttl "$readers") > 50000))
	release one '1 '
	(($(redis pttl "$lock") <= 5000 && $(redis pttl "$lock") > 0))
}

@test "shared: one whose time is over does not count, though others go on" {
	limit=0
	acquire one 1
	acquire two 1
	redis hset "$readers" one "1 redlock-run/1 token=one try=1 since=1 pid=1 host=h user=u command=c"
	[ "$(renew one 1 1000 | first)" = 0 ]
	[ "$(renew two 1 1000 | first)" = 1 ]
	[ "$(limit=1 acquire me 1 | sed -n '1p;5p' | paste -sd ' ')" = '0 1' ]
	release two '1 '
	[ "$(redis exists "$lock" "$readers")" = 0 ]
}

@test "shared: what was there before the key was deleted or overwritten does not come back" {
	limit=0
	acquire old 1
	redis del "$lock"
	[ "$(renew old 1 1000 | first)" = 0 ]
	[ "$(acquire new 1 | first)" = 1 ]
	[ "$(renew old 1 1000 | first)" = 0 ]
	[ "$(redis hkeys "$readers")" = new ]
	redis set "$lock" foreign
	[ "$(renew new 1 1000 | first)" = 0 ]
	[ "$(release new '1 ' | first)" = 0 ]
	[ "$(acquire old 2 | first)" = 0 ]
	[ "$(value)" = foreign ]
}

@test "shared: who waits alone is not overtaken by those who share" {
	limit=0 acquire one 1
	limit=1 acquire me 1 1000 100 60000 1
	[ "$(limit=0 acquire two 1 | first)" = 0 ]
	limit=0 acquire two 1 1000 200 60000 1
	limit=0 acquire three 1 1000 300 60000 1
	limit=0 release one '1 ' 0 1
	[[ $(value) == *token=me* ]]
	[ "$(limit=1 acquire me 1 1000 100 60000 1 | first)" = 1 ]
	limit=1 release me '1 ' 0 1
	# both of those behind it, at once
	[ "$(value)" = '~shared' ]
	[ "$(redis hkeys "$readers" | sort | paste -sd ' ')" = 'three two' ]
	(($(redis pttl "$lock") <= 2000 && $(redis hget "$beat" two | cut -d ' ' -f 1) <= $(now_us) + 2000000))
	[ "$(limit=0 acquire three 1 1000 300 60000 1 | first)" = 1 ]
	[ "$(limit=0 acquire two 1 1000 200 60000 1 | first)" = 1 ]
	[ "$(redis exists "$queue" "$beat")" = 0 ]
}

@test "an attempt that is over takes nothing when it comes late" {
	limit=0
	acquire me 2
	[ "$(acquire me 1 | first)" = 0 ]
	[ "$(renew me 2 1000 | first)" = 1 ]
	release me ''
	limit=3
	slot=2 acquire me 2
	[ "$(slot=1 acquire me 1 | first)" = 0 ]
	[ "$(slot=3 acquire me 3 | sed -n 4p)" = 3 ]
	[ "$(redis exists "$lock" '{redlock:a}:~2' '{redlock:a}:~3')" = 1 ]
}

@test "slots: so many at a time, each with a key of its own" {
	limit=3
	[ "$(acquire one 1 | sed -n 4p)" = 1 ]
	[ "$(acquire two 1 | sed -n 4p)" = 2 ]
	[ "$(slot=3 acquire three 1 | sed -n 4p)" = 3 ]
	[ "$(acquire four 1 | first)" = 0 ]
	[ "$(slot=2 acquire four 1 | first)" = 0 ]
	[ "$(renew two 1 5000)" = "1
5000" ]
	release two '1 '
	[ "$(redis exists '{redlock:a}:~2')" = 0 ]
	[ "$(slot=3 acquire four 1 | sed -n '1p;6,7p' | paste -sd ' ')" = '0 2 -2' ]
	[ "$(slot=2 acquire four 1 | head -n 4 | paste -sd ' ')" = '1 5001 0 2' ]
}

@test "slots: the one that ends first is named; another's lock is one of them" {
	limit=2
	redis set "$lock" foreign px 30000
	acquire one 1
	[ "$(acquire two 1 | sed -n '1,2p;6p' | paste -sd ' ')" = '0 foreign 1' ]
	redis persist "$lock"
	[ "$(acquire two 1 | sed -n 6p)" = 2 ]
	[ "$(value)" = foreign ]
}

@test "slots: those who wait have the next that are free, and no more than there are" {
	limit=2
	acquire one 1
	acquire two 1
	acquire first 1 1000 100 60000 1
	acquire second 1 1000 200 60000 1
	release one '1 ' 0 1
	[[ $(value) == *token=first* ]]
	# One is free now, and it is the second's, not ours.
	redis del '{redlock:a}:~2'
	[ "$(acquire other 1 | first)" = 0 ]
	[ "$(acquire first 1 1000 100 60000 1 | sed -n '1p;4p' | paste -sd ' ')" = '1 1' ]
	[ "$(redis llen '{redlock:a}:~wake:second')" = 1 ]
	[ "$(acquire second 1 1000 200 60000 1 | sed -n '1p;4p' | paste -sd ' ')" = '1 2' ]
	# With one more there is one for us, too.
	limit=3
	[ "$(acquire other 1 | sed -n 4p)" = 3 ]
}

@test "status touches nothing" {
	local before
	limit=0 acquire one 1
	limit=1 acquire me 1 1000 100 60000 1
	redis hset "$beat" me 1
	redis hset "$readers" two '1 x'
	before=$(redis hgetall "$readers"; redis zrange "$queue" 0 -1)
	limit=1000 slot=1 script status '' '' >/dev/null
	[ "$(redis hgetall "$readers"; redis zrange "$queue" 0 -1)" = "$before" ]
}

# written: what the history says, a line an entry, by their order.
written() {
	redis --csv xrange "$runs" - + | grep -o '"[a-z]*","redlock[^"]*"' |
		tr -d '"' | sed 's/since=[0-9]*/since=N/'
}

one='redlock-run/1 token=me try=1 since=N pid=1 host=h user=u command=c'

@test "history: what is acquired and released is written down, once each" {
	acquire me 1 1000 0 0 1 ' waited=7'
	acquire me 1 1000 0 0 1 ' waited=9'
	renew me 1 1000
	acquire you 1 1000 0 0 1 ' waited=0'
	release you '1 ' 0 1 ' ended=not-run'
	[ "$(written)" = "start,$one waited=7" ]
	release me '' 0 1 ' waited=7 ran=3 ended=exited status=0' "$details"
	[ "$(written)" = "start,$one waited=7
end,$one waited=7 ran=3 ended=exited status=0" ]
	(($(redis pttl "$runs") > 29 * 86400000))
}

@test "history: of several servers each is told with a renewal" {
	acquire me 1
	[ "$(redis exists "$runs")" = 0 ]
	renew me 1 1000 1 ' waited=7'
	[ "$(written)" = "start,$one waited=7" ]
	renew you 1 1000 1 ' waited=7'
	[ "$(redis xlen "$runs")" = 1 ]
}

@test "history: the end is written even if the lock is another's now, who keeps it" {
	acquire me 1 1000 0 0 1 ' waited=7'
	redis del "$lock"
	acquire you 1
	[ "$(release me '' 0 1 ' ran=3 ended=lost signal=9' "$details" | first)" = 0 ]
	[[ $(value) == *token=you* ]]
	[ "$(written)" = "start,$one waited=7
lost,${one/try=1/try=0} ran=3 ended=lost signal=9" ]
}

@test "history: what was shared, handed over or rests is written down as well" {
	limit=0 acquire me 1 1000 0 0 1 ' waited=1'
	limit=0 release me '' 0 1 ' ended=exited' "$details"
	acquire you 1
	acquire me 1 1000 0 60000 1 ' waited=2'
	[ "$(written | wc -l)" = 2 ]
	release you '' 0 1
	acquire me 1 1000 0 60000 1 ' waited=3'
	acquire me 1 1000 0 60000 1 ' waited=4'
	release me '' 30000 1 ' ended=killed' "$details"
	[ "$(written)" = "start,$one waited=1
end,$one ended=exited
start,$one waited=3
end,$one ended=killed" ]
}

@test "history: it has 200 entries at most, and there is a lock without it, too" {
	redis eval 'for i = 1, 250 do
		redis.call("XADD", KEYS[1], "*", "start", i)
	end' 1 "$runs"
	acquire me 1 1000 0 0 1 ' waited=7'
	[ "$(redis xlen "$runs")" = 200 ]
	release me ''
	redis del "$runs"
	redis set "$runs" foreign
	[ "$(acquire me 1 1000 0 0 1 ' waited=7' | first)" = 1 ]
	[ "$(release me '' 0 1 ' ended=exited' "$details")" = 1 ]
	[ "$(redis get "$runs")" = foreign ]
	[ "$(redis pttl "$runs")" = -1 ]
}

@test "hand-over: a fence is given once, even to a waiter that has lost its place" {
	acquire you 1 1000 0 0 1 ' waited=0'
	acquire me 1 1000 100 60000 1 ' waited=1'
	# It is stopped, and its last word is old when its turn comes.
	redis hset "$beat" me "$(($(now_us) + 500000)) 1 redlock-run/1 token=me try=1 $details"
	release you '1 ' 0 1
	[[ $(value) == *'token=me '*' unconfirmed' ]]
	# As long as it holds the grant it is in the queue.
	(($(redis hget "$beat" me | cut -d ' ' -f 1) > $(now_us) + 1000000))
	# Even without its place it begins a tenure of its own.
	redis del "$queue" "$beat"
	[ "$(acquire other 1 9000 | first)" = 0 ]
	[ "$(acquire me 1 1000 100 60000 1 ' waited=2' | head -n 4 | paste -sd ' ')" = '1 1001 0 1' ]
	[[ $(value) != *unconfirmed* ]]
	[ "$(written | tail -n 1)" = "start,$one waited=2" ]
	# Only the first answer that reaches it records a start.
	acquire me 1 1000 100 60000 1 ' waited=3'
	[ "$(written | wc -l)" = 2 ]
}

@test "hand-over: a reader confirms its grant as a lone holder does" {
	acquire you 1 1000 0 0 1 ''
	limit=0 acquire me 1 1000 100 60000 1 ''
	release you '1 ' 0 1
	[[ $(redis hget "$readers" me) == *' unconfirmed' ]]
	redis del "$queue" "$beat"
	[ "$(limit=0 acquire me 1 1000 100 60000 1 ' waited=2' | head -n 4 | paste -sd ' ')" = '1 1001 0 1' ]
	[[ $(redis hget "$readers" me) != *unconfirmed* ]]
	[ "$(written)" = "start,$one waited=2" ]
}

@test "one server raises the fence with every yes" {
	[ "$(acquire me 1 1000 0 0 1 | sed -n 2p)" = 1000 ]
	[ "$(acquire me 1 1000 0 0 1 | sed -n 2p)" = 1001 ]
	limit=2
	redis del "$lock"
	[ "$(slot=1 acquire me 1 1000 0 0 1 | sed -n 2p)" = 1002 ]
	[ "$(slot=2 acquire you 1 1000 0 0 1 | sed -n 2p)" = 1003 ]
	[ "$(slot=1 acquire me 1 1000 0 0 1 | sed -n 2p)" = 1004 ]
}

@test "an empty counter follows the proposal for a day beyond the server's clock" {
	local now proposal
	now=$(now_us)
	proposal=$((now + 3600 * 1000000))
	[ "$(acquire me 1 "$proposal" | sed -n 2p)" = "$proposal" ]
	redis del "$lock" "$fence"
	acquire me 1 9000000000000000
	(($(counter) > now + 86000000000 && $(counter) < now + 87000000000))
	redis del "$lock"
	redis set "$fence" 5
	acquire me 1 9000000000000000
	(($(counter) > now && $(counter) < now + 120000000))
}

@test "next in the queue: who is told of its place keeps its time to beat" {
	acquire you 1 1000 0 0 1
	acquire first 1 1000 100 60000 1
	acquire second 1 1000 200 60000 1
	release you '1 ' 0 1
	acquire first 1 1000 100 60000 1
	[ "$(redis llen '{redlock:a}:~wake:second')" = 1 ]
	(($(redis hget "$beat" second | cut -d ' ' -f 1) > $(now_us) + 50000000))
	# Its turn has come when the lock is free: now it has the time of a grant.
	redis del "$lock"
	[ "$(acquire other 1 1000 0 0 1 | first)" = 0 ]
	(($(redis hget "$beat" second | cut -d ' ' -f 1) < $(now_us) + 2000001))
}

@test "an attempt that is given back keeps the turn of its waiter, for the time of a grant" {
	acquire you 1 1000 0 0 1
	acquire me 1 1000 100 60000 1
	acquire other 1 1000 200 60000 1
	release you '1 ' 0 1
	# Its confirmation is executed, but answered too late for it.
	acquire me 1 1000 100 60000 1
	[ "$(script release 'redlock-run/1 token=me try=1 ' me 0 0 1 '' '')" = 1 ]
	[[ $(value) == *token=me* ]]
	(($(redis pttl "$lock") <= 2000))
	[ "$(acquire other 1 1000 200 60000 1 | first)" = 0 ]
	[ "$(acquire me 2 1000 100 60000 1 | first)" = 1 ]
	[[ $(value) == *'token=me try=2'* ]]
	# A reader keeps its share as long.
	release me '' 0 1
	release other '' 0 1
	limit=0
	acquire me 3 1000 0 0 1
	script release 'redlock-run/1 token=me try=3 ' me 0 0 1 '' ''
	(($(redis pttl "$lock") <= 2000 && $(redis pttl "$lock") > 0))
	[ "$(acquire me 4 1000 0 0 1 | first)" = 1 ]
}

@test "an attempt that is executed late does not put its holder into the queue" {
	acquire me 2 1000 0 0 1
	[ "$(acquire me 1 1000 100 60000 1 | first)" = 0 ]
	[ "$(acquire me 1 1000 0 60000 1 | first)" = 0 ]
	[ "$(redis exists "$queue")" = 0 ]
}

@test "no ticket is earlier than those that wait, whatever the server's clock" {
	local future
	future=$(($(now_us) + 3600000000))
	redis set "$lock" foreign
	acquire you 1 1000 "$future" 60000 1
	# In the queue, and for a waiter that takes its ticket to other servers.
	[ "$(acquire me 1 1000 0 60000 1 | sed -n 11p)" = $((future + 1)) ]
	[ "$(acquire other 1 1000 0 0 1 | sed -n 11p)" = $((future + 2)) ]
	[ "$(redis zrange "$queue" 0 -1 | paste -sd ' ')" = 'you me' ]
	# No time that a server can have: that is nobody's ticket.
	redis zadd "$queue" 9000000000000000 you
	(($(acquire other 1 1000 0 0 1 | sed -n 11p) < future))
	redis zadd "$queue" $(($(now_us) + 172800000000)) you
	(($(acquire other 1 1000 0 0 0 | sed -n 11p) < future))
}

# dead N NAME: so many waiters, or readers, that have died.
dead_waiters() {
	redis eval 'for i = 1, ARGV[1] do
		redis.call("ZADD", KEYS[1], ARGV[3] + i, ARGV[2] .. i)
		redis.call("HSET", KEYS[2], ARGV[2] .. i, "1 1 redlock-run/1 token=" .. ARGV[2] .. i .. " try=1 pid=1")
	end' 2 "$queue" "$beat" "$1" "$2" "$3" >/dev/null
}

@test "the dead behind a living waiter are not counted, and do not stay" {
	redis set "$lock" foreign
	acquire you 1 1000 100 60000 1
	dead_waiters 40 dead 200
	limit=1000 slot=1 script status '' '' >answer
	[ "$(tail -n 3 answer | first)" = 1 ]
	[ "$(acquire me 1 1000 0 0 1 | sed -n 10p)" = 1 ]
	[ "$(redis zcard "$queue" ; redis hlen "$beat")" = "1
1" ]
	# Of a queue too long to be read at once each call drops some.
	dead_waiters 1000 dead 200
	for _ in {1..200}; do
		acquire me 1 1000 0 0 1 >/dev/null
	done
	(($(redis zcard "$queue") < 200))
}

@test "no call drops more of the dead than it has time for" {
	dead_waiters 1000 dead 200
	[ "$(acquire me 1 1000 0 0 1 | first)" = 1 ]
	(($(redis zcard "$queue") >= 600))
	release me '1 ' 0 1
	(($(redis zcard "$queue") >= 400 && $(redis zcard "$queue") < 1000))
}

@test "shared: dead readers do not stay while others go on" {
	limit=0
	acquire one 1
	redis eval 'for i = 1, 500 do
		redis.call("HSET", KEYS[1], "dead" .. i, "1 x")
	end' 1 "$readers" >/dev/null
	acquire two 1
	renew one 1 1000
	for _ in 1 2 3; do
		limit=1 acquire me 1 >/dev/null
	done
	[ "$(redis hkeys "$readers" | sort | paste -sd ' ')" = 'one two' ]
}

@test "slots: a key of another type is a slot that is taken, and stays as it is" {
	limit=3
	redis rpush '{redlock:a}:~2' x
	[ "$(acquire one 1 | sed -n 4p)" = 1 ]
	[ "$(acquire two 1 | sed -n 4p)" = 3 ]
	[ "$(acquire three 1 | first)" = 0 ]
	[ "$(slot=2 acquire three 1 | sed -n '1,2p' | paste -sd ' ')" = '0 ?' ]
	[ "$(redis type '{redlock:a}:~2')" = list ]
}

@test "slots: none above the limit is given, taken or named" {
	local answer
	for limit in 0 1 3; do
		answer=$(slot=4 acquire me 1 2>&1) || true
		[[ $answer == *'there is no slot 4'* ]]
	done
	[ "$(redis dbsize)" = 0 ]
}

@test "each lock, slot, share and grant is written by SET with NX and PX" {
	local monitor
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" monitor >sent \
	    3>&- 4>&- &
	monitor=$!
	eventually grep -q OK sent
	acquire one 1 1000 0 0 1
	acquire me 1 1000 100 60000 1
	release one '1 ' 0 1
	acquire me 1 1000 100 60000 1
	release me '' 0 1
	limit=2 slot=2 acquire two 1 1000 0 0 1
	limit=0 acquire three 1 1000 0 0 1
	redis echo end
	eventually grep -q '"echo" "end"' sent
	kill "$monitor"
	[ "$(grep -ci '"set" "\(redlock:a\|{redlock:a}:~2\)"' sent)" = 5 ]
	[ "$(grep -ci '"set" "\(redlock:a\|{redlock:a}:~2\)" ".*" "nx" "px"' sent)" = 4 ]
	[ "$(grep -ci '"set" "redlock:a" ".*" "xx" "keepttl"' sent)" = 1 ]
}

@test "release answers for the lock alone, whatever is wrong with the queue" {
	acquire me 1 1000 0 0 1
	redis set "$queue" foreign
	[ "$(script release 'redlock-run/1 token=me try=1 ' me 0 0 1 '' '' | first)" = 1 ]
	redis del "$queue"
	acquire me 2 1000 0 0 1
	redis set "$queue" foreign
	[ "$(release me '2 ' 0 1 | first)" = 1 ]
	[ "$(redis exists "$lock")" = 0 ]
}

@test "the word of the readers without any of them is a lock that is held" {
	redis set "$lock" '~shared' px 30000
	[ "$(acquire me 1 | sed -n 1,2p | paste -sd ' ')" = '0 ~shared' ]
	[ "$(limit=1000 slot=1 script status '' '' | tail -n 2 | first)" = '~shared' ]
}
