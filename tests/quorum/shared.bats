#!/usr/bin/env bats
# Shared locks on several servers: a majority shares, and keeps writers out.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/common
load ../lib/servers
load ../lib/modes

setup_file() { five_servers; }

setup() { modes_prepare; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

@test "several servers: readers share the lock, a writer is refused" {
	quorum 1 2 3
	reader 1
	reader 2
	reader 3
	started 1 2 3
	eventually share 3
	busy
	says 'held shared by'
	[ -z "$(redis_at s1 set redlock:a another nx px 60000)" ]
	leaves 1 3
	eventually share 1
	leaves 2
	eventually nobody_shares
	all_over
}

@test "several servers: readers that come at once without waiting all run" {
	local name

	quorum 1 2 3 4 5
	for name in {1..10}; do
		reader "$name" -w 0 -t 5m
	done
	started {1..10}
	leaves {1..10}
	all_over
}

@test "several servers: readers and writers at once without waiting: somebody runs" {
	local name pids

	quorum 1 2 3
	for _ in {1..5}; do
		rm -f ran
		pids=()
		for name in {1..6}; do
			comes_once $((name % 2)) 3>&- 4>&- &
			pids+=($!)
		done
		wait "${pids[@]}"
		[ -s ran ]
		[ ! -e odd ]
		eventually 40 left
	done
	all_over
}

# comes_once WRITER: without waiting, and does not stay.
comes_once() {
	local got=0 mode=(-s)

	((!$1)) || mode=()
	"$REDLOCK_RUN" -q -k a "${mode[@]}" -- sh -c '
		. ./enter
		echo >>ran' sh x "${mode[0]:--x}" || got=$?
	((got == 0 || got == 75)) || echo "$got" >>odd
}

@test "several servers: those that wait are served in turn, readers together" {
	quorum 1 2 3
	writer 1
	started 1
	queues reader 2
	queues reader 3
	queues reader 4
	queues writer 5
	queues reader 6
	busy -s
	leaves 1
	started 2 3 4
	busy -s
	leaves 2 3 4
	started 5
	leaves 5
	started 6
	leaves 6
	[ "$(sed -n '1p;5,6p' order | xargs)" = '1 5 6' ]
	all_over
}

@test "several servers: readers that come and go do not starve a writer" {
	local loop pids=()

	quorum 1 2 3
	for loop in 1 2 3; do
		until [ -e began-w ] || [ -e stop ]; do
			redlock -q -s -k a -w 5m -- \
			    sh -c '. ./enter; echo >"came-$3"; sleep 0.2 9>&-' \
			    sh x -s "$loop" || touch failed
		done &
		pids+=($!)
	done
	for loop in 1 2 3; do
		eventually test -e "came-$loop"
	done
	writer w
	started w || touch stop
	leaves w
	wait "${pids[@]}"
	[ ! -e failed ]
	all_over
}

@test "several servers: with one of three gone, readers and writers still exclude each other" {
	quorum 1 2 3
	redis_kill s2
	told=(s1 s3)
	reader 1
	reader 2
	started 1 2
	busy
	queues writer 3
	busy -s
	queues reader 4
	leaves 1 2
	started 3
	busy -s
	leaves 3
	started 4
	leaves 4
	all_over
}

@test "several servers: with one of three frozen they do so too, and nothing stays" {
	quorum 1 2 3
	reader 1
	started 1
	redis_freeze s1
	told=(s2 s3)
	reader 2
	started 2
	busy
	queues writer 3
	leaves 1 2
	started 3
	busy -s
	redis_thaw s1
	leaves 3
	told=(s1 s2 s3)
	all_over 40
}

@test "several servers: one that restarts empty learns of the readers again" {
	quorum 1 2 3
	reader 1 -t 3s -v
	reader 2 -t 3s -v
	reader 3 -t 3s -v
	started 1 2 3
	eventually share 3
	redis_restart s2
	eventually share 3
	busy
	eventually trusted 2 1 2 3
	redis_restart s3
	eventually share 3
	busy
	runs 1 2 3
	leaves 1 2 3
	all_over
}

@test "several servers: readers on a server that may have forgotten do not make a majority" {
	quorum 1 2 3
	eventually up_for 14 1 2 3
	export REDLOCK_RESTART_GRACE=12s
	redis_freeze s3
	reader 1 -t 10s
	started 1
	# s3 may hear of it late, s2 forgets it and is young; the reader is not
	# there to tell it again
	kill -STOP "${pid[1]}"
	redis_restart s2
	redis_thaw s3
	redis_freeze s1
	run -69 redlock -k a -t 10s --node-timeout 300ms -- touch jumped
	run -69 redlock -s -k a -t 10s --node-timeout 300ms -- touch jumped
	[ ! -e jumped ]
	redis_thaw s1
	kill -CONT "${pid[1]}"
	touch leave
	eventually gone "${pid[1]}"
}

@test "several servers: a majority loses the key: 79 for every reader" {
	quorum 1 2 3
	reader 1 -t 3s
	reader 2 -t 3s
	started 1 2
	eventually share 2
	redis_at s1 del redlock:a
	eventually share 2
	runs 1 2
	redis_at s1 set redlock:a another
	redis_at s3 set redlock:a another
	ends 1 79
	ends 2 79
	[ "$(redis_at s1 get redlock:a)" = another ]
	[ "$(redis_at s3 get redlock:a)" = another ]
	redis_at s1 del redlock:a
	redis_at s3 del redlock:a
	all_over
}

@test "several servers: a dead reader's share ends by itself" {
	quorum 1 2 3
	reader 1 -t 4s
	reader 2 -t 5m
	started 1 2
	crashes 1
	queues writer 3
	leaves 2
	started 3
	leaves 3
	all_over
}

@test "several servers: --status shows the readers that a majority knows" {
	quorum 1 2 3
	reader 1
	reader 2
	started 1 2
	eventually share 2
	state "d['state'] == d['mode'] == 'shared'"
	holders 2
	state "[s['state'] for s in d['servers']] == ['shared'] * 3"
	redis_at s2 del redlock:a "$readers"
	holders 2
	redis_kill s2
	holders 2
	leaves 1 2
	redis_reset s2
	all_over
}

@test "several servers: readers and writers of which some crash: no overlap" {
	quorum 1 2 3
	crowd 12 -s -s -x
	crowd_over ran-s ran-x
}
