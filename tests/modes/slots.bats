#!/usr/bin/env bats
# --slots N: at most N runs hold the lock at a time, and no slot stays unused.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034
# bats file_tags=long

load ../lib/one_redis
load ../lib/servers
load ../lib/modes

setup() { modes_setup; }

## How many

# other_mode ARG...: a run with these is refused, whether it waits or not.
other_mode() {
	local wait
	for wait in '' '-w 1m'; do
		# shellcheck disable=SC2086
		run -64 --separate-stderr redlock -k a $wait "$@" -- touch started
	done
	[ ! -e started ]
}

@test "a run that uses the lock in another way ends with 64, also with -w" {
	permit 1 2
	clients_started 1
	other_mode
	says "a: in use with --slots 2 by $(id -un)@$(uname -n) pid ${pid[1]}; this run is exclusive; start every run of this lock with the same --slots, or all without it"
	other_mode -s
	says "; this run uses --shared"
	other_mode --slots 5
	says "; this run uses --slots 5"
	run -64 redlock -k a --slots 3 -E 3 -- touch started
	redlock -k a --slots 2 -- true
	clients_leave 1
	all_over
	hold a
	other_mode --slots 2
	says 'a: in use exclusively by '
	run -75 redlock -k a -s -- touch started
	let_go
	hold a -s
	other_mode --slots 2
	says 'a: in use with --shared by '
	let_go
	redlock -k a --slots 2 --min-hold 1m -- true
	other_mode
	says 'a: in use with --slots 2 by '
	redis del redlock:a '{redlock:a}:~slots'
	[ ! -e started ]
}

# bats test_tags=quick
@test "at most N runs hold the lock; one more without -w gets 75" {
	local name

	for name in 1 2 3; do
		permit "$name" 3 -w 0
		clients_started "$name"
	done
	slots_taken 1 2 3
	lock_busy --slots 3
	says 'held by' 'sh'
	lock_busy --slots 3 -w 300ms
	[ "$(for name in 1 2 3; do slot_of "$name"; done | sort | xargs)" = \
	    '1 2 3' ]
	clients_leave 2
	permit 4 3 -w 0
	clients_started 4
	lock_busy --slots 3
	clients_leave 1 3 4
	all_over
}

# bats test_tags=quick
@test "--slots takes 1 to 64 and otherwise ends with 64 and quotes the value" {
	local n

	for n in 0 -1 x 65 1000 '' 1.5 '2 ' 0x10 99999999999999999999 1e2; do
		run -64 --separate-stderr redlock -k a --slots "$n" -- \
		    touch jumped
		says "'$n'"
		run -64 --separate-stderr redlock -k a --slots="$n" -- \
		    touch jumped
		says "'$n'" --slots
	done
	[ ! -e jumped ]
	eventually keys_left
	for n in 1 2 64; do
		redlock -k a --slots "$n" -- true
	done
	all_over
}

@test "a slot's value has the format of any lock's" {
	local value name

	permit 1 2
	permit 2 2
	clients_started 1 2
	for name in 1 2; do
		value=$(redis get "$(slot_key "$(slot_of "$name")")")
		[[ $value == "redlock-run/2 token=$(cat "token-$name") try="* ]]
		[[ $value == *" pid=${pid[$name]} "* ]]
	done
	(($(redis pttl redlock:a) > 0))
	(($(redis pttl '{redlock:a}:~2') > 0))
	clients_leave 1 2
	all_over
}

@test "--slots 1 is an exclusive lock" {
	permit 1 1
	clients_started 1
	lock_busy
	lock_busy --slots 1
	lock_busy -s
	clients_leave 1
	all_over
}

@test "N concurrent runs get N slots without waiting" {
	local name

	for name in {1..8}; do
		permit "$name" 8 -w 0 -t 5m
	done
	clients_started {1..8}
	lock_busy --slots 8
	clients_leave {1..8}
	all_over
}

@test "all 64 slots can be held" {
	local n

	redis eval 'for n = 2, 63 do
		redis.call("SET", KEYS[1] .. n, "another", "PX", 600000)
	end' 1 '{redlock:a}:~'
	permit 1 64
	permit 2 64
	clients_started 1 2
	[ "$(redis exists redlock:a '{redlock:a}:~64')" = 2 ]
	lock_busy --slots 64
	clients_leave 1 2
	redis eval 'for n = 2, 63 do
		redis.call("DEL", KEYS[1] .. n)
	end' 1 '{redlock:a}:~'
	all_over
}

## In turn

@test "whichever slot becomes free goes to the next in turn" {
	local n name next=4

	for name in 1 2 3; do
		permit "$name" 3
		clients_started "$name"
	done
	for n in 3 1 2; do
		client_queues permit "$next" 3
		name=$(slot_client "$n")
		clients_leave "$name"
		unset "pid[$name]"
		clients_started "$next"
		[ "$(slot_of "$next")" = "$n" ]
		next=$((next + 1))
	done
	clients_leave 4 5 6
	all_over
}

@test "slots are handed over first come, first served" {
	local name

	permit a 2
	permit b 2
	clients_started a b
	for name in {1..6}; do
		client_queues permit "$name" 2
	done
	clients_leave a
	clients_started 1
	clients_leave 1
	clients_started 2
	clients_leave b
	clients_started 3
	clients_leave 2
	clients_started 4
	clients_leave 3
	clients_started 5
	clients_leave 4
	clients_started 6
	clients_leave 5 6
	[ "$(sed 1,2d order | xargs)" = '1 2 3 4 5 6' ]
	all_over
}

@test "slots: when N holders exit together, N waiters start" {
	local name

	for name in 1 2 3; do
		permit "$name" 3
	done
	clients_started 1 2 3
	for name in 4 5 6 7; do
		client_queues permit "$name" 3
	done
	touch leave-1 leave-2 leave-3
	clients_started 4 5 6
	eventually queue_is 1
	clients_leave 4 5 6
	clients_started 7
	clients_leave 7
	all_over
}

@test "a free slot is reserved for the first waiter" {
	redis set redlock:a another px 600000
	permit 1 2
	clients_started 1
	client_queues permit 2 2
	client_queues permit 3 2
	kill -STOP "${pid[2]}" "${pid[3]}"
	redis del redlock:a
	lock_busy --slots 2
	[ "$(redis exists redlock:a)" = 0 ]
	kill -CONT "${pid[2]}" "${pid[3]}"
	clients_started 2
	clients_leave 1
	clients_started 3
	clients_leave 2 3
	all_over
}

@test "slots: a waiter that does not confirm its grant delays no other" {
	permit 1 2
	permit 2 2
	clients_started 1 2
	client_queues permit 3 2
	client_queues permit 4 2
	kill -STOP "${pid[3]}"
	clients_leave 1
	clients_leave 2
	clients_started 4
	kill -CONT "${pid[3]}"
	clients_started 3
	clients_leave 3 4
	all_over
}

@test "waiters that die or give up keep no slot from the others" {
	permit 1 2
	permit 2 2
	clients_started 1 2
	client_queues permit 3 2
	client_queues permit 4 2
	client_queues permit 5 2 -w 3s
	client_queues permit 6 2
	kill -INT "${pid[4]}"
	client_ends 4 130
	client_ends 5 75
	client_crashes 3
	eventually queue_is 2
	clients_leave 1
	clients_started 6
	clients_leave 2 6
	all_over
}

@test "many runs that return again and again are all served, never more than N at once" {
	slots_return 3 7 10
}

## Leases

@test "every slot has its own lease, which its holder renews" {
	local first second

	permit 1 2 -t 4s
	clients_started 1
	permit 2 2 -t 5s
	clients_started 2
	first=$(expiry "$(slot_key "$(slot_of 1)")")
	second=$(expiry "$(slot_key "$(slot_of 2)")")
	eventually lasts_till "$(slot_key "$(slot_of 1)")" $((first + 2000))
	eventually lasts_till "$(slot_key "$(slot_of 2)")" $((second + 3000))
	clients_leave 1 2
	all_over
}

# lasts_till KEY MS
lasts_till() {
	(($(expiry "$1") > $2))
}

@test "a dead holder's slot is free again when its lease ends" {
	local ends

	permit 1 2 -t 3s
	clients_started 1
	permit 2 2 -t 5m
	clients_started 2
	client_crashes 1
	ends=$(expiry "$(slot_key "$(slot_of 1)")")
	permit 3 2
	clients_started 3
	(($(cat began-3) / 1000000 >= ends))
	# in time: the other's lease is minutes
	(($(cat began-3) / 1000000 < ends + 20000))
	clients_run 2
	clients_leave 2 3
	all_over
}

@test "only the holder of a deleted or overwritten slot ends with 79" {
	local how key

	for how in del set; do
		permit 1 2 -t 4s
		clients_started 1
		permit 2 2 -t 4s
		clients_started 2
		key=$(slot_key "$(slot_of 2)")
		if [ "$how" = del ]; then
			redis del "$key"
		else
			redis set "$key" another
		fi
		client_ends 2 79
		rm -f in-2
		clients_run 1
		if [ "$how" = set ]; then
			[ "$(redis get "$key")" = another ]
			lock_busy --slots 2
			redis del "$key"
		fi
		clients_leave 1
		rm -f leave-1 oracle-*
		eventually keys_left
	done
	all_over
}

@test "a foreign SET NX takes one slot and is respected" {
	redis set redlock:a another px 600000
	permit 1 2
	clients_started 1
	[ "$(slot_of 1)" = 2 ]
	lock_busy --slots 2
	client_queues permit 2 2
	clients_leave 1
	clients_started 2
	[ "$(slot_of 2)" = 2 ]
	clients_leave 2
	[ "$(redis get redlock:a)" = another ]
	redis del redlock:a
	permit 3 2
	clients_started 3
	[ "$(slot_of 3)" = 1 ]
	[ -z "$(redis set redlock:a another nx px 60000)" ]
	clients_leave 3
	all_over
}

@test "a waiter gets the slot that a foreign client gives back" {
	redis set redlock:a another px 600000
	permit 1 2 -t 5m
	clients_started 1
	client_queues permit 2 2
	redis del redlock:a
	clients_started 2
	clients_leave 1 2
	all_over
}

@test "slots: the fence grows at every acquisition, whichever the slot" {
	local worker last=0 name pids=()

	permit 1 3
	clients_started 1
	permit 2 3
	clients_started 2
	permit 3 3
	clients_started 3
	clients_leave 2 1
	permit 4 3
	clients_started 4
	clients_leave 3
	permit 5 3
	clients_started 5
	clients_leave 4 5
	redlock -k a -- sh -c 'echo "$REDLOCK_FENCE" >fence-6'
	for name in 1 2 3 4 5 6; do
		(($(client_fence "$name") > last))
		last=$(client_fence "$name")
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

## The number

# bats test_tags=quick
@test "REDLOCK_SLOT is the number of the run's slot, which --status and --history show" {
	local n name
	for name in 1 2 3; do
		permit "$name" 3 -t 1h
		clients_started "$name"
	done
	numbers_fit 1 2 3
	client_queues permit 4 3
	n=$(cat number-2)
	clients_leave 2
	clients_started 4
	[ "$(cat number-4)" = "$n" ]
	numbers_fit 1 3 4
	status_is "sorted((h['pid'], h['slot']) for h in d['holders']) == \
	    sorted([(${pid[1]}, $(cat number-1)), (${pid[3]}, $(cat number-3)), (${pid[4]}, $n)])"
	run -0 redlock --status a -v
	grep -qE "^  token $(cat token-4)  .* pid ${pid[4]}, slot $n, version " <<<"$output"
	run -0 redlock --history a --json
	json "{r['pid']: r['slot'] for r in d} == {${pid[1]}: $(cat number-1), \
	    ${pid[2]}: $n, ${pid[3]}: $(cat number-3), ${pid[4]}: $n}"
	clients_leave 1 3 4
	run -0 redlock --history a -v
	[ "$(grep -c "^  token .*, slot $n\$" <<<"$output")" = 2 ]
	run -0 redlock --history a --json
	json "sorted(r['slot'] for r in d) == sorted([$n, 1, 2, 3])"
	all_over
}

@test "a slot keeps its number in the cooldown and after --break" {
	local token
	redlock -k a --slots 2 --min-hold 1h -- true
	permit 1 2
	clients_started 1
	[ "$(cat number-1)" = 2 ]
	status_is "[(h['slot'], h['held_ms'] is None) for h in d['holders']] == [(1, True), (2, False)]"
	token=$(cat token-1)
	client_crashes 1
	redis del '{redlock:a}:~runs'
	redlock --break a --token "$token"
	run -0 redlock --history a --json
	json '[(r["slot"], r["broken_by"] is None) for r in d] == [(2, False)]'
	redis del redlock:a '{redlock:a}:~slots'
	all_over
}

@test "REDLOCK_SLOT is set with --slots only: also with 1, and never an inherited one" {
	local slot='echo "${REDLOCK_SLOT-unset}"'
	export REDLOCK_SLOT=9
	[ "$(redlock -k a -- sh -c "$slot")" = unset ]
	[ "$(redlock -k a -s -- sh -c "$slot")" = unset ]
	[ "$(redlock -k a --slots 1 -- sh -c "$slot")" = 1 ]
	[ "$(redlock -k a --slots 2 -- sh -c "$slot")" = 1 ]
	[ "$(redlock -k a --slots 2 -- "$REDLOCK_RUN" -k b -- sh -c "$slot")" = unset ]
	run -0 redlock --history a --json
	json '[r["slot"] for r in d] == [1, 1, None, None, None]'
	[ "$(redis --csv xrange '{redlock:a}:~runs' - + | grep -o ' slot=[0-9]*"' | xargs -d '\n')" = \
	    ' slot=1"  slot=1"  slot=1"  slot=1"' ]
	all_over
}

@test "several locks have a REDLOCK_SLOT each, in the order of REDLOCK_KEY" {
	client 1 2 --slots 3
	clients_started 1
	run -0 redlock -k c -k a --slots 3 -- \
	    sh -c 'echo $REDLOCK_KEY: "$REDLOCK_SLOT"'
	[ "$output" = 'a c: 2 1' ]
	clients_leave 1
	all_over
}

@test "a run inside a slot has the REDLOCK_SLOT of that slot" {
	permit 1 2
	clients_started 1
	run -0 redlock -k a --slots 2 -- "$REDLOCK_RUN" -k a --slots 2 -- \
	    sh -c 'echo "$REDLOCK_SLOT"'
	[ "$output" = 2 ]
	clients_leave 1
	all_over
}

## With the other options

@test "--min-hold keeps its own slot only" {
	redlock -k a --slots 2 --min-hold 1h -- true
	permit 1 2
	clients_started 1
	lock_busy --slots 2
	clients_leave 1
	permit 2 2
	clients_started 2
	clients_leave 2
	slots_taken 1 || slots_taken 2
	no_overlap
}

@test "a nested run inside a slot needs no second slot" {
	permit 1 2
	clients_started 1
	run -7 --separate-stderr redlock -k a --slots 2 -- \
	    "$REDLOCK_RUN" -k a --slots 2 -- sh -c 'exit 7'
	silent
	clients_leave 1
	all_over
}

@test "--slots applies to all of several locks: a slot of each, or none" {
	client 1 2 --slots 2 -k b
	clients_started 1
	client 2 2 --slots 2 -k b
	clients_started 2
	run -75 redlock -k b --slots 2 -- touch jumped
	run -75 redlock -k c -k b --slots 2 -- touch jumped
	[ ! -e jumped ]
	[ "$(redis exists redlock:c '{redlock:c}:~2')" = 0 ]
	clients_leave 1
	redlock -k c -k b --slots 2 -- true
	clients_leave 2
	all_over
}

@test "slots of a name with a {tag} are in the tag's cluster slot" {
	redlock_bg -k 'x{t}' --slots 2 -- \
	    sh -c 'until [ -e go ]; do sleep 0.05; done'
	eventually slot_exists 'redlock:x{t}'
	redlock -k 'x{t}' --slots 2 -- \
	    sh -c "$(cli exists 'redlock:x{t}:~2')" >out
	[ "$(cat out)" = 1 ]
	touch go
	redlock_ended 0
	all_over
}

# slot_exists KEY
slot_exists() {
	[ "$(redis exists "$1")" = 1 ]
}

@test "--status shows the holder of every slot" {
	local name who

	who="$(id -un)@$(uname -n) pid"
	for name in 1 2 3; do
		permit "$name" 3 -t 1h
		clients_started "$name"
	done
	client_queues permit 4 3
	for args in '-k a' ''; do
		# shellcheck disable=SC2086
		run -0 --separate-stderr redlock --status $args
		[ -z "$stderr" ]
		[ "$(wc -l <<<"$output")" -eq 4 ]
		[[ $(sed -n 2p <<<"$output" | tr -s ' ') == "a 3/3 slots $who "* ]]
		for name in 1 2 3; do
			grep -qE "$who ${pid[$name]} +sh " <<<"$output"
		done
	done
	status_holders 3
	status_is "d['state'] == 'held' and d['mode'] == 'slots' and d['slots'] == 3"
	status_is "{h['token'] for h in d['holders']} == \
	    {'$(cat token-1)', '$(cat token-2)', '$(cat token-3)'}"
	status_is "d['waiting'] == 1 and len(d['waiters']) == 1"
	clients_leave 1 2 3
	clients_started 4
	clients_leave 4
	run -1 redlock --status -k a
	all_over
}

@test "--status shows a lock of which only a higher slot is taken" {
	permit 1 3
	clients_started 1
	permit 2 3
	clients_started 2
	clients_leave "$(slot_client 1)"
	slots_taken 2
	status_holders 1
	run -0 redlock --status -k a
	[[ $output == *$'\n'a\ *1/3\ slots* ]]
	run -0 redlock --status
	[[ $output == *$'\n'a\ *1/3\ slots* ]]
	clients_leave 1 2
	all_over
}

## Crashes

# bats test_tags=soak
@test "never more than N run while holders and waiters crash and a foreign client takes part" {
	local pid

	foreign_client 3 &
	pid=$!
	# In a crowd that waits it may never have a chance.
	eventually test -s ran-another
	clients_crowd 3
	touch leave
	wait "$pid"
	clients_crowd_over ran3 ran-another
}
