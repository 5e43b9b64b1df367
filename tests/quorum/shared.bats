#!/usr/bin/env bats
# Shared locks on several servers: a majority shares, and keeps writers out.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034
# bats file_tags=long

load ../lib/common
load ../lib/servers
load ../lib/modes

setup_file() { servers_start; }

setup() { modes_prepare; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

@test "several servers: readers share the lock, a writer is refused" {
	modes_quorum 1 2 3
	reader 1
	reader 2
	reader 3
	clients_started 1 2 3
	eventually readers_share 3
	lock_busy
	says 'held shared by'
	[ -z "$(redis_at s1 set redlock:a another nx px 60000)" ]
	clients_leave 1 3
	eventually readers_share 1
	clients_leave 2
	eventually readers_gone
	all_over
}

@test "several servers: a refused reader learns that readers queue behind a writer" {
	modes_quorum 1 2 3
	reader 1 -w 0
	clients_started 1
	redlock_bg -k a -w 1m -- true
	eventually queue_is 1
	run -75 --separate-stderr redlock -k a -s -- touch started
	says 'a: held shared by ' ', 1 waiting; readers queue behind a writer; -w waits too'
	run -75 --separate-stderr redlock -k a -s -w 100ms -- touch started
	says 'a: held shared by ' ', 1 waiting; readers queue behind a writer'
	[[ $stderr != *'-w waits'* ]]
	clients_leave 1
	redlock_ended 0
	[[ ! -e started ]]
}

@test "several servers: concurrent readers without -w all run" {
	local name

	modes_quorum 1 2 3 4 5
	for name in {1..10}; do
		reader "$name" -w 0 -t 5m
	done
	clients_started {1..10}
	clients_leave {1..10}
	all_over
}

@test "several servers: of concurrent readers and writers without -w at least one runs" {
	local name pids

	modes_quorum 1 2 3
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
		eventually keys_left
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

@test "several servers: waiters are served in turn, readers together" {
	modes_quorum 1 2 3
	writer 1
	clients_started 1
	client_queues reader 2
	client_queues reader 3
	client_queues reader 4
	client_queues writer 5
	client_queues reader 6
	lock_busy -s
	clients_leave 1
	clients_started 2 3 4
	lock_busy -s
	clients_leave 2 3 4
	clients_started 5
	clients_leave 5
	clients_started 6
	clients_leave 6
	[ "$(sed -n '1p;5,6p' order | xargs)" = '1 5 6' ]
	all_over
}

@test "several servers: an unbroken chain of readers does not starve a writer" {
	local loop pids=()

	modes_quorum 1 2 3
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
	clients_started w || touch stop
	clients_leave w
	wait "${pids[@]}"
	[ ! -e failed ]
	all_over
}

@test "several servers: readers and writers exclude each other with one of three servers down" {
	modes_quorum 1 2 3
	redis_kill s2
	servers='s1 s3'
	reader 1
	reader 2
	clients_started 1 2
	lock_busy
	client_queues writer 3
	lock_busy -s
	client_queues reader 4
	clients_leave 1 2
	clients_started 3
	lock_busy -s
	clients_leave 3
	clients_started 4
	clients_leave 4
	all_over
}

@test "several servers: readers and writers exclude each other with one of three servers frozen" {
	modes_quorum 1 2 3
	reader 1
	clients_started 1
	redis_freeze s1
	servers='s2 s3'
	reader 2
	clients_started 2
	lock_busy
	client_queues writer 3
	clients_leave 1 2
	clients_started 3
	lock_busy -s
	redis_thaw s1
	clients_leave 3
	servers='s1 s2 s3'
	all_over 40
}

@test "several servers: a server that restarts empty gets the readers back" {
	modes_quorum 1 2 3
	reader 1 -t 3s -v
	reader 2 -t 3s -v
	reader 3 -t 3s -v
	clients_started 1 2 3
	eventually readers_share 3
	redis_restart s2
	eventually readers_share 3
	lock_busy
	eventually clients_trust 2 1 2 3
	redis_restart s3
	eventually readers_share 3
	lock_busy
	clients_run 1 2 3
	clients_leave 1 2 3
	all_over
}

@test "several servers: readers on a server in its restart grace make no majority" {
	modes_quorum 1 2 3
	eventually servers_up_for 14 1 2 3
	export REDLOCK_RESTART_GRACE=12s
	redis_freeze s3
	reader 1 -t 10s
	clients_started 1
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

@test "several servers: every reader ends with 79 if a majority loses the key" {
	modes_quorum 1 2 3
	reader 1 -t 3s
	reader 2 -t 3s
	clients_started 1 2
	eventually readers_share 2
	redis_at s1 del redlock:a
	eventually readers_share 2
	clients_run 1 2
	redis_at s1 set redlock:a another
	redis_at s3 set redlock:a another
	client_ends 1 79
	client_ends 2 79
	[ "$(redis_at s1 get redlock:a)" = another ]
	[ "$(redis_at s3 get redlock:a)" = another ]
	redis_at s1 del redlock:a
	redis_at s3 del redlock:a
	all_over
}

@test "several servers: a dead reader's lease ends by itself" {
	modes_quorum 1 2 3
	reader 1 -t 4s
	reader 2 -t 5m
	clients_started 1 2
	client_crashes 1
	client_queues writer 3
	clients_leave 2
	clients_started 3
	clients_leave 3
	all_over
}

@test "several servers: --status shows the readers that a majority has" {
	modes_quorum 1 2 3
	reader 1
	reader 2
	clients_started 1 2
	eventually readers_share 2
	status_is "d['state'] == d['mode'] == 'shared'"
	status_holders 2
	status_is "[s['state'] for s in d['votes']] == ['shared'] * 3"
	redis_at s2 del redlock:a "$readers"
	status_holders 2
	redis_kill s2
	status_holders 2
	clients_leave 1 2
	redis_reset s2
	all_over
}

# bats test_tags=soak
@test "several servers: readers and writers never overlap, even when some crash" {
	modes_quorum 1 2 3
	clients_crowd -s -s -x
	clients_crowd_over ran-s ran-x
}
