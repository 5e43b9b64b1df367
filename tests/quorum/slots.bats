#!/usr/bin/env bats
# --slots N on several servers: a majority counts the holders.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034
# bats file_tags=long

load ../lib/common
load ../lib/servers
load ../lib/modes

setup_file() { servers_start; }

setup() { modes_prepare; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# all_at_once N WANT: WANT come at once for N slots, without waiting, and stay
# until it is known what becomes of all of them: N run, the others get 75.
all_at_once() {
	local name running=0 refused=0

	for ((name = 1; name <= $2; name++)); do
		client "$name" "$1" --slots "$1" -q -t 5m "${@:3}"
	done
	eventually only_run "$1" "$2"
	touch leave
	for ((name = 1; name <= $2; name++)); do
		if [ -e "token-$name" ]; then
			client_ends "$name" 0
			running=$((running + 1))
		else
			client_ends "$name" 75
			refused=$((refused + 1))
		fi
	done
	echo "$running run, $refused do not"
	((running == $1 && refused == $2 - $1))
	rm -f leave token-* in-*
	eventually keys_left
}

# only_run N WANT: of WANT all have ended but N, and these do run.
only_run() {
	local name n=0
	for ((name = 1; name <= $2; name++)); do
		gone "${pid[$name]}" && continue
		[ -e "token-$name" ] || return 1
		n=$((n + 1))
	done
	((n <= $1))
}

@test "several servers: at most N runs hold the lock; one more without -w gets 75" {
	local name

	modes_quorum 1 2 3
	for name in 1 2 3; do
		permit "$name" 3 -w 0
		clients_started "$name"
	done
	lock_busy --slots 3
	says 'held by'
	clients_leave 2
	permit 4 3 -w 0
	clients_started 4
	lock_busy --slots 3
	clients_leave 1 3 4
	all_over
}

@test "three servers: of many concurrent runs without -w exactly N run" {
	modes_quorum 1 2 3
	all_at_once 2 6
	all_at_once 3 8
	all_at_once 4 5
	all_over
}

@test "five servers: of many concurrent runs without -w exactly N run" {
	modes_quorum 1 2 3 4 5
	all_at_once 3 7
	all_at_once 2 8
	all_over
}

@test "three servers, one down: N concurrent runs get N slots" {
	modes_quorum 1 2 3
	redis_kill s2
	servers='s1 s3'
	all_at_once 2 6
	all_at_once 3 6
	all_over
}

@test "several servers: N concurrent runs get N slots" {
	modes_quorum 1 2 3
	all_at_once 4 4
	all_at_once 6 6
	all_over
}

@test "several servers: waiters for slots are served in turn" {
	local name

	modes_quorum 1 2 3
	permit a 2
	clients_started a
	permit b 2
	clients_started b
	for name in 1 2 3 4; do
		client_queues permit "$name" 2
	done
	lock_busy --slots 2
	clients_leave a
	clients_started 1
	lock_busy --slots 2
	clients_leave b
	clients_started 2
	clients_leave 1
	clients_started 3
	clients_leave 2
	clients_started 4
	clients_leave 3 4
	[ "$(sed 1,2d order | xargs)" = '1 2 3 4' ]
	all_over
}

@test "several servers: all waiters for slots are served, never more than N at once" {
	modes_quorum 1 2 3
	slots_return 2 6 5
}

@test "several servers: a dead holder's slot is free again when its lease ends" {
	modes_quorum 1 2 3
	permit 1 2 -t 4s
	clients_started 1
	permit 2 2 -t 5m
	clients_started 2
	client_crashes 1
	permit 3 2
	clients_started 3
	clients_run 2
	clients_leave 2 3
	all_over
}

@test "several servers: a server that restarts empty gets the slots back" {
	modes_quorum 1 2 3
	permit 1 2 -t 3s -v
	clients_started 1
	permit 2 2 -t 3s -v
	clients_started 2
	eventually slots_taken 1 2
	redis_restart s1
	eventually slots_taken 1 2
	lock_busy --slots 2
	eventually clients_trust 1 1 2
	redis_restart s2
	eventually slots_taken 1 2
	lock_busy --slots 2
	clients_run 1 2
	clients_leave 1 2
	all_over
}

@test "several servers: REDLOCK_SLOT is the slot on each of them, also where it was lost" {
	local n

	modes_quorum 1 2 3
	permit 1 2 -t 3s -v
	clients_started 1
	permit 2 2 -t 3s -v
	clients_started 2
	eventually numbers_fit 1 2
	redis_restart s1
	eventually clients_trust 1 1 2
	eventually numbers_fit 1 2
	status_is "{h['pid']: h['slot'] for h in d['holders']} == \
	    {${pid[1]}: $(cat number-1), ${pid[2]}: $(cat number-2)}"
	n=$(cat number-1)
	clients_leave 1
	permit 3 2 -t 3s
	clients_started 3
	[ "$(cat number-3)" = "$n" ]
	run -0 redlock --history a --json
	json "{r['pid']: r['slot'] for r in d} == \
	    {${pid[1]}: $n, ${pid[2]}: $(cat number-2), ${pid[3]}: $n}"
	clients_leave 2 3
	all_over
}

@test "several servers: --status shows the slot that a majority reports" {
	local n server value

	modes_quorum 1 2 3
	permit 1 3 -t 5m
	clients_started 1
	eventually numbers_fit 1
	n=$(cat number-1)
	value=$(redis_at s1 get "$(slot_key "$n")")
	redis_at s1 set "$(slot_key $((n % 3 + 1)))" "$value" px 600000
	redis_at s1 del "$(slot_key "$n")"
	status_is "[h['slot'] for h in d['holders']] == [$n]"
	redis_at s2 set "$(slot_key $(((n + 1) % 3 + 1)))" "$value" px 600000
	redis_at s2 del "$(slot_key "$n")"
	status_is "[h['slot'] for h in d['holders']] == [None]"
	client_crashes 1
	for server in s1 s2 s3; do
		redis_at "$server" del redlock:a '{redlock:a}:~2' '{redlock:a}:~3' '{redlock:a}:~slots'
	done
	all_over
}

@test "several servers: a frozen server takes no slot from any run" {
	modes_quorum 1 2 3
	permit 1 2
	clients_started 1
	redis_freeze s2
	servers='s1 s3'
	permit 2 2
	clients_started 2
	eventually slots_taken 1 2
	lock_busy --slots 2
	client_queues permit 3 2
	clients_leave 1
	clients_started 3
	redis_thaw s2
	clients_leave 2 3
	servers='s1 s2 s3'
	all_over 40
}

@test "several servers: a foreign key takes a slot on a majority, but not on one server" {
	modes_quorum 1 2 3
	redis_at s1 set redlock:a another px 600000
	permit 1 2 -w 0
	clients_started 1
	permit 2 2 -w 0
	clients_started 2
	lock_busy --slots 2
	clients_leave 1 2
	redis_at s2 set redlock:a another px 600000
	permit 3 2 -w 0
	clients_started 3
	lock_busy --slots 2
	clients_leave 3
	[ "$(redis_at s1 get redlock:a)" = another ]
	[ "$(redis_at s2 get redlock:a)" = another ]
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	all_over
}

@test "several servers: only the holder of a slot that a majority loses ends with 79" {
	local key

	modes_quorum 1 2 3
	permit 1 2 -t 3s
	clients_started 1
	permit 2 2 -t 3s
	clients_started 2
	eventually slots_taken 1 2
	key=$(slot_key "$(slot_of 2)")
	redis_at s1 set "$key" another px 600000
	redis_at s2 set "$key" another px 600000
	client_ends 2 79
	clients_run 1
	clients_leave 1
	redis_at s1 del "$key"
	redis_at s2 del "$key"
	all_over
}

@test "several servers: --status shows the holder of every slot" {
	modes_quorum 1 2 3
	permit 1 3
	clients_started 1
	permit 2 3
	clients_started 2
	# on a majority of them alone it would not outlive one that is killed
	eventually both_everywhere
	status_holders 2
	status_is "d['state'] == 'held' and {h['pid'] for h in d['holders']} == \
	    {${pid[1]}, ${pid[2]}}"
	redis_kill s3
	status_holders 2
	run -0 --separate-stderr redlock --status
	[ "$(wc -l <<<"$output")" -eq 3 ]
	clients_leave 1
	status_holders 1
	run -0 --separate-stderr redlock --status
	[ "$(wc -l <<<"$output")" -eq 2 ]
	clients_leave 2
	redis_reset s3
	all_over
}

# both_everywhere: of the clients 1 and 2 each server knows the slot.
both_everywhere() {
	local slots
	slots=$(slot_of 1; slot_of 2)
	# shellcheck disable=SC2086
	[ -n "$slots" ] && slots_taken $slots
}

@test "several servers: a signal ends the wait for a slot and leaves nothing behind" {
	modes_quorum 1 2 3
	permit 1 2
	permit 2 2
	clients_started 1 2
	client_queues permit 3 2
	kill -TERM "${pid[3]}"
	client_ends 3 143
	eventually queue_is 0
	clients_leave 1 2
	all_over
}

# bats test_tags=soak
@test "several servers: never more than N run while holders and waiters crash" {
	modes_quorum 1 2 3
	clients_crowd 3
	clients_crowd_over ran3
}
