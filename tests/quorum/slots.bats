#!/usr/bin/env bats
# --slots N on several servers: a majority counts the holders.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/common
load ../lib/servers
load ../lib/modes

setup_file() { five_servers; }

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
	eventually 60 only_run "$1" "$2"
	touch leave
	for ((name = 1; name <= $2; name++)); do
		if [ -e "token-$name" ]; then
			ends "$name" 0
			running=$((running + 1))
		else
			ends "$name" 75
			refused=$((refused + 1))
		fi
	done
	echo "$running run, $refused do not"
	((running == $1 && refused == $2 - $1))
	rm -f leave token-* in-*
	eventually 40 left
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

@test "several servers: at most N, those that come then get 75" {
	local name

	quorum 1 2 3
	for name in 1 2 3; do
		permit "$name" 3 -w 0
		started "$name"
	done
	busy --slots 3
	says 'held by'
	leaves 2
	permit 4 3 -w 0
	started 4
	busy --slots 3
	leaves 1 3 4
	all_over
}

@test "three servers: of many that come at once without waiting, N run" {
	quorum 1 2 3
	all_at_once 2 6
	all_at_once 3 8
	all_at_once 4 5
	all_over
}

@test "five servers: of many that come at once without waiting, N run" {
	quorum 1 2 3 4 5
	all_at_once 3 7
	all_at_once 2 8
	all_over
}

@test "one of three servers is gone: N run all the same" {
	quorum 1 2 3
	redis_kill s2
	told=(s1 s3)
	all_at_once 2 6
	all_at_once 3 6
	all_over
}

@test "several servers: N are there for N who come at once" {
	quorum 1 2 3
	all_at_once 4 4
	all_at_once 6 6
	all_over
}

@test "several servers: those that wait are served, in turn" {
	local name

	quorum 1 2 3
	permit a 2
	started a
	permit b 2
	started b
	for name in 1 2 3 4; do
		queues permit "$name" 2
	done
	busy --slots 2
	leaves a
	started 1
	busy --slots 2
	leaves b
	started 2
	leaves 1
	started 3
	leaves 2
	started 4
	leaves 3 4
	[ "$(sed 1,2d order | xargs)" = '1 2 3 4' ]
	all_over
}

@test "several servers: all that wait are served, never more than N at once" {
	local worker pids=()

	quorum 1 2 3
	for worker in {1..6}; do
		for _ in {1..5}; do
			"$REDLOCK_RUN" -k a --slots 2 -w 5m -- \
			    sh -c '
				. ./enter
				echo >>ran
				sleep 0.02 9>&-' sh x 2 || touch failed
		done 3>&- 4>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ ! -e failed ]
	[ "$(wc -l <ran)" = 30 ]
	all_over
}

@test "several servers: the slot of a dead holder comes back" {
	quorum 1 2 3
	permit 1 2 -t 4s
	started 1
	permit 2 2 -t 5m
	started 2
	crashes 1
	permit 3 2
	started 3
	runs 2
	leaves 2 3
	all_over
}

@test "several servers: one that restarts empty gets the slots back" {
	quorum 1 2 3
	permit 1 2 -t 3s -v
	started 1
	permit 2 2 -t 3s -v
	started 2
	eventually taken 1 2
	redis_restart s1
	eventually taken 1 2
	busy --slots 2
	eventually trusted 1 1 2
	redis_restart s2
	eventually taken 1 2
	busy --slots 2
	runs 1 2
	leaves 1 2
	all_over
}

@test "several servers: one that is frozen takes no slot from anybody" {
	quorum 1 2 3
	permit 1 2
	started 1
	redis_freeze s2
	told=(s1 s3)
	permit 2 2
	started 2
	eventually taken 1 2
	busy --slots 2
	queues permit 3 2
	leaves 1
	started 3
	redis_thaw s2
	leaves 2 3
	told=(s1 s2 s3)
	all_over 40
}

@test "several servers: another client on one of them takes no slot, on most it takes one" {
	quorum 1 2 3
	redis_at s1 set redlock:a another px 600000
	permit 1 2 -w 0
	started 1
	permit 2 2 -w 0
	started 2
	busy --slots 2
	leaves 1 2
	redis_at s2 set redlock:a another px 600000
	permit 3 2 -w 0
	started 3
	busy --slots 2
	leaves 3
	[ "$(redis_at s1 get redlock:a)" = another ]
	[ "$(redis_at s2 get redlock:a)" = another ]
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	all_over
}

@test "several servers: a majority loses a slot: 79 for its holder alone" {
	local key

	quorum 1 2 3
	permit 1 2 -t 3s
	started 1
	permit 2 2 -t 3s
	started 2
	eventually taken 1 2
	key=$(slot_key "$(slot_of 2)")
	redis_at s1 set "$key" another px 600000
	redis_at s2 set "$key" another px 600000
	ends 2 79
	runs 1
	leaves 1
	redis_at s1 del "$key"
	redis_at s2 del "$key"
	all_over
}

@test "several servers: --status shows the holder of every slot" {
	quorum 1 2 3
	permit 1 3
	started 1
	permit 2 3
	started 2
	# on a majority of them alone it would not outlive one that is killed
	eventually both_everywhere
	holders 2
	state "d['state'] == 'held' and {h['pid'] for h in d['holders']} == \
	    {${pid[1]}, ${pid[2]}}"
	redis_kill s3
	holders 2
	run -0 --separate-stderr redlock --status
	[ "$(wc -l <<<"$output")" -eq 3 ]
	leaves 1
	holders 1
	run -0 --separate-stderr redlock --status
	[ "$(wc -l <<<"$output")" -eq 2 ]
	leaves 2
	redis_reset s3
	all_over
}

# both_everywhere: of the clients 1 and 2 each server knows the slot.
both_everywhere() {
	local slots
	slots=$(slot_of 1; slot_of 2)
	# shellcheck disable=SC2086
	[ -n "$slots" ] && taken $slots
}

@test "several servers: a signal ends the wait for a slot, and nothing of it stays" {
	quorum 1 2 3
	permit 1 2
	permit 2 2
	started 1 2
	queues permit 3 2
	kill -TERM "${pid[3]}"
	ends 3 143
	eventually queued 0
	leaves 1 2
	all_over
}

@test "several servers: holders and waiters of which some crash: never more than N" {
	quorum 1 2 3
	crowd 12 3
	crowd_over ran3
}
