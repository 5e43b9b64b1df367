#!/usr/bin/env bats
# --slots N: at most N hold the lock at a time, and N do if so many want to.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/common
load ../lib/servers
load ../lib/modes

setup_file() { redis_start; }
setup() { modes_setup; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

## How many

@test "at most N hold the lock; who comes then without waiting gets 75" {
	local name

	for name in 1 2 3; do
		permit "$name" 3 -w 0
		started "$name"
	done
	taken 1 2 3
	busy --slots 3
	says 'held by' 'sh'
	busy --slots 3 -w 300ms
	[ "$(for name in 1 2 3; do slot_of "$name"; done | sort | xargs)" = \
	    '1 2 3' ]
	leaves 2
	permit 4 3 -w 0
	started 4
	busy --slots 3
	leaves 1 3 4
	all_over
}

@test "N is a number from 1 to 1000, else 64 that quotes it" {
	local n

	for n in 0 -1 x 1001 '' 1.5 '2 ' 0x10 99999999999999999999 1e2; do
		run -64 --separate-stderr redlock -k a --slots "$n" -- \
		    touch jumped
		says "'$n'"
		run -64 --separate-stderr redlock -k a --slots="$n" -- \
		    touch jumped
		says "'$n'" --slots
	done
	[ ! -e jumped ]
	eventually 40 left
	for n in 1 2 1000; do
		redlock -k a --slots "$n" -- true
	done
	all_over
}

@test "a slot's value is an ordinary lock's" {
	local value name

	permit 1 2
	permit 2 2
	started 1 2
	for name in 1 2; do
		value=$(redis get "$(slot_key "$(slot_of "$name")")")
		[[ $value == "redlock-run/1 token=$(cat "token-$name") try="* ]]
		[[ $value == *" pid=${pid[$name]} "* ]]
	done
	(($(redis pttl redlock:a) > 0))
	(($(redis pttl '{redlock:a}:~2') > 0))
	leaves 1 2
	all_over
}

@test "--slots 1 is an exclusive lock" {
	permit 1 1
	started 1
	busy
	busy --slots 1
	busy -s
	leaves 1
	all_over
}

@test "all slots are there for those who come at the same moment, without waiting" {
	local name

	for name in {1..8}; do
		permit "$name" 8 -w 0 -t 5m
	done
	started {1..8}
	busy --slots 8
	leaves {1..8}
	all_over
}

@test "a thousand slots, the last of them too" {
	local n

	redis eval 'for n = 2, 999 do
		redis.call("SET", KEYS[1] .. n, "another", "PX", 600000)
	end' 1 '{redlock:a}:~'
	permit 1 1000
	permit 2 1000
	started 1 2
	[ "$(redis exists redlock:a '{redlock:a}:~1000')" = 2 ]
	busy --slots 1000
	leaves 1 2
	redis eval 'for n = 2, 999 do
		redis.call("DEL", KEYS[1] .. n)
	end' 1 '{redlock:a}:~'
	all_over
}

## In turn

@test "whichever slot becomes free, the next in turn gets it" {
	local n name next=4

	for name in 1 2 3; do
		permit "$name" 3
		started "$name"
	done
	for n in 3 1 2; do
		queues permit "$next" 3
		name=$(in_slot "$n")
		leaves "$name"
		unset "pid[$name]"
		started "$next"
		[ "$(slot_of "$next")" = "$n" ]
		next=$((next + 1))
	done
	leaves 4 5 6
	all_over
}

@test "first come, first served" {
	local name

	permit a 2
	permit b 2
	started a b
	for name in {1..6}; do
		queues permit "$name" 2
	done
	leaves a
	started 1
	leaves 1
	started 2
	leaves b
	started 3
	leaves 2
	started 4
	leaves 3
	started 5
	leaves 4
	started 6
	leaves 5 6
	[ "$(sed 1,2d order | xargs)" = '1 2 3 4 5 6' ]
	all_over
}

@test "several that end at once are followed by as many" {
	local name

	for name in 1 2 3; do
		permit "$name" 3
	done
	started 1 2 3
	for name in 4 5 6 7; do
		queues permit "$name" 3
	done
	touch leave-1 leave-2 leave-3
	started 4 5 6
	eventually queued 1
	leaves 4 5 6
	started 7
	leaves 7
	all_over
}

@test "a slot that is free is reserved for the first in the queue" {
	redis set redlock:a another px 600000
	permit 1 2
	started 1
	queues permit 2 2
	queues permit 3 2
	kill -STOP "${pid[2]}" "${pid[3]}"
	redis del redlock:a
	busy --slots 2
	[ "$(redis exists redlock:a)" = 0 ]
	kill -CONT "${pid[2]}" "${pid[3]}"
	started 2
	leaves 1
	started 3
	leaves 2 3
	all_over
}

@test "who does not confirm the slot it was handed is not waited for" {
	permit 1 2
	permit 2 2
	started 1 2
	queues permit 3 2
	queues permit 4 2
	kill -STOP "${pid[3]}"
	leaves 1
	leaves 2
	started 4
	kill -CONT "${pid[3]}"
	started 3
	leaves 3 4
	all_over
}

@test "waiters that die, or give up, do not keep the others from a slot" {
	permit 1 2
	permit 2 2
	started 1 2
	queues permit 3 2
	queues permit 4 2
	queues permit 5 2 -w 3s
	queues permit 6 2
	kill -INT "${pid[4]}"
	ends 4 130
	ends 5 75
	crashes 3
	eventually queued 2
	leaves 1
	started 6
	leaves 2 6
	all_over
}

@test "many who come again and again: all are served, never more than N at once" {
	local worker pids=()

	for worker in {1..7}; do
		for _ in {1..10}; do
			"$REDLOCK_RUN" -k a --slots 3 -w 5m -- \
			    sh -c '
				. ./enter
				echo >>ran
				sleep 0.02 9>&-' sh x 3 || touch failed
		done 3>&- 4>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ ! -e failed ]
	[ "$(wc -l <ran)" = 70 ]
	all_over
}

## Leases

@test "every slot has a lease of its own, which its holder renews" {
	local first second

	permit 1 2 -t 4s
	started 1
	permit 2 2 -t 5s
	started 2
	first=$(expiry "$(slot_key "$(slot_of 1)")")
	second=$(expiry "$(slot_key "$(slot_of 2)")")
	eventually lasts_till "$(slot_key "$(slot_of 1)")" $((first + 2000))
	eventually lasts_till "$(slot_key "$(slot_of 2)")" $((second + 3000))
	leaves 1 2
	all_over
}

# lasts_till KEY MS
lasts_till() {
	(($(expiry "$1") > $2))
}

@test "the slot of a dead holder comes back when its lease ends" {
	local ends

	permit 1 2 -t 3s
	started 1
	permit 2 2 -t 5m
	started 2
	crashes 1
	ends=$(expiry "$(slot_key "$(slot_of 1)")")
	permit 3 2
	started 3
	(($(cat began-3) / 1000000 >= ends))
	# in time: the other's lease is minutes
	(($(cat began-3) / 1000000 < ends + 20000))
	runs 2
	leaves 2 3
	all_over
}

@test "the key of a slot is deleted or overwritten: 79 for its holder alone" {
	local how key

	for how in del set; do
		permit 1 2 -t 4s
		started 1
		permit 2 2 -t 4s
		started 2
		key=$(slot_key "$(slot_of 2)")
		if [ "$how" = del ]; then
			redis del "$key"
		else
			redis set "$key" another
		fi
		ends 2 79
		rm -f in-2
		runs 1
		if [ "$how" = set ]; then
			[ "$(redis get "$key")" = another ]
			busy --slots 2
			redis del "$key"
		fi
		leaves 1
		rm -f leave-1 oracle-*
		eventually 40 left
	done
	all_over
}

@test "another client's SET NX takes one slot, and is respected" {
	redis set redlock:a another px 600000
	permit 1 2
	started 1
	[ "$(slot_of 1)" = 2 ]
	busy --slots 2
	queues permit 2 2
	leaves 1
	started 2
	[ "$(slot_of 2)" = 2 ]
	leaves 2
	[ "$(redis get redlock:a)" = another ]
	redis del redlock:a
	permit 3 2
	started 3
	[ "$(slot_of 3)" = 1 ]
	[ -z "$(redis set redlock:a another nx px 60000)" ]
	leaves 3
	all_over
}

@test "a waiter gets the slot that another client gives back" {
	redis set redlock:a another px 600000
	permit 1 2 -t 5m
	started 1
	queues permit 2 2
	redis del redlock:a
	started 2
	leaves 1 2
	all_over
}

@test "the fence grows at every acquisition, whichever the slot" {
	local worker last=0 name pids=()

	permit 1 3
	started 1
	permit 2 3
	started 2
	permit 3 3
	started 3
	leaves 2 1
	permit 4 3
	started 4
	leaves 3
	permit 5 3
	started 5
	leaves 4 5
	redlock -k a -- sh -c 'echo "$REDLOCK_FENCE" >fence-6'
	for name in 1 2 3 4 5 6; do
		(($(fence "$name") > last))
		last=$(fence "$name")
	done
	for worker in 1 2 3 4; do
		for _ in {1..8}; do
			redlock -k a --slots 3 -w 5m -- \
			    sh -c 'echo "$REDLOCK_FENCE" >>fences'
		done &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ "$(sort -u fences | wc -l)" = 32 ]
	all_over
}

## With the other options

@test "--at-least keeps the slot, and no other" {
	redlock -k a --slots 2 --at-least 1h -- true
	permit 1 2
	started 1
	busy --slots 2
	leaves 1
	permit 2 2
	started 2
	leaves 2
	taken 1 || taken 2
	no_overlap
}

@test "a run inside a run that has a slot needs no second one" {
	permit 1 2
	started 1
	run -7 --separate-stderr redlock -k a --slots 2 -- \
	    "$REDLOCK_RUN" -k a --slots 2 -- sh -c 'exit 7'
	silent
	leaves 1
	all_over
}

@test "several locks with slots: of each one is taken, or none" {
	client 1 2 --slots 2 -k b
	started 1
	client 2 2 --slots 2 -k b
	started 2
	run -75 redlock -k b --slots 2 -- touch jumped
	run -75 redlock -k c -k b --slots 2 -- touch jumped
	[ ! -e jumped ]
	[ "$(redis exists redlock:c '{redlock:c}:~2')" = 0 ]
	leaves 1
	redlock -k c -k b --slots 2 -- true
	leaves 2
	all_over
}

@test "a name that has a hash tag of its own has its slots beside it" {
	redlock_bg -k 'x{t}' --slots 2 -- \
	    sh -c 'until [ -e go ]; do sleep 0.05; done'
	eventually redis_has 'redlock:x{t}'
	redlock -k 'x{t}' --slots 2 -- \
	    sh -c "$(cli exists 'redlock:x{t}:~2')" >out
	[ "$(cat out)" = 1 ]
	touch go
	redlock_ended 0
	all_over
}

# redis_has KEY
redis_has() {
	[ "$(redis exists "$1")" = 1 ]
}

@test "--status shows the holder of every slot" {
	local name who

	who="$(id -un)@$(uname -n) pid"
	for name in 1 2 3; do
		permit "$name" 3 -t 1h
		started "$name"
	done
	queues permit 4 3
	for args in '-k a' ''; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr redlock --status $args
		[ -z "$stderr" ]
		[ "$(wc -l <<<"$output")" -eq 4 ]
		[[ $(sed -n 2p <<<"$output" | tr -s ' ') == "a held $who "* ]]
		for name in 1 2 3; do
			grep -qE "$who ${pid[$name]} +sh " <<<"$output"
		done
	done
	holders 3
	state "d['state'] == 'held' and d['mode'] == 'exclusive'"
	state "{h['token'] for h in d['holders']} == \
	    {'$(cat token-1)', '$(cat token-2)', '$(cat token-3)'}"
	state "d['waiting'] == 1 and len(d['waiters']) == 1"
	leaves 1 2 3
	started 4
	leaves 4
	run -1 redlock --status -k a
	all_over
}

@test "--status shows a lock of which only a further slot is taken" {
	permit 1 3
	started 1
	permit 2 3
	started 2
	leaves "$(in_slot 1)"
	taken 2
	holders 1
	run -0 redlock --status -k a
	[[ $output == *$'\n'a\ *held* ]]
	run -0 redlock --status
	[[ $output == *$'\n'a\ *held* ]]
	leaves 1 2
	all_over
}

## Crashes

@test "holders and waiters of which some crash, and another client: never more than N" {
	local pid

	another 3 &
	pid=$!
	# In a crowd that waits it may never have a chance.
	eventually test -s ran-another
	crowd 12 3
	touch leave
	wait "$pid"
	crowd_over ran3 ran-another
}
