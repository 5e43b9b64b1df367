#!/usr/bin/env bats
# On one server the wake brings the lock: COMMAND starts under a grant of five
# seconds, and a renewal confirms it.  These tests are about the time in between.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/one_redis
load ../lib/process
load ../lib/queue

setup() {
	redis_reset
	waiters_setup
}

# granted_to NAME: the release has passed the lock on to NAME, which is stopped.
granted_to() {
	waiter_stop "$1"
	touch "$BATS_TEST_TMPDIR/let-go"
	eventually waiter_owns "$1"
	redlock_ended 0
}

# unconfirmed NAME: NAME runs under a grant whose confirmation the server
# refuses, until `confirmable`.
unconfirmed() {
	granted_to "$1"
	redis acl setuser default -eval -evalsha >/dev/null
	kill -CONT "${pid[$1]}"
	eventually waiter_runs "$1"
	[[ $(redis get redlock:a) == *" token=${token[$1]} "*' unconfirmed' ]]
}

confirmable() {
	redis acl setuser default +eval +evalsha >/dev/null
}

@test "a hand-over costs two scripts: the release, and the confirmation once COMMAND runs" {
	hold a
	waiter_queues 1
	eventually queue_blocked 1
	touch stay
	granted_to 1
	redis config resetstat >/dev/null
	kill -CONT "${pid[1]}"
	eventually waiter_runs 1
	eventually not_marked
	[ "$(redis_calls eval evalsha)" = 1 ]
	[ "$(redis exists "$queue" "$beat")" = 0 ]
	rm stay
	waiters_served 1
	eventually keys_left
}

not_marked() {
	[[ $(redis get redlock:a) != *unconfirmed* ]]
}

@test "the fence of a hand-over is larger than the one before, and known to the server" {
	local name

	hold a
	for name in 1 2 3 4; do
		waiter_start "$name" -v
		eventually queue_is "$name"
	done
	let_go
	waiters_end 1 2 3 4
	[ "$(grep -ho 'fence [0-9]*' {1,2,3,4}.err | sort -u | wc -l)" = 4 ]
	while read -r name; do
		grep -o 'fence [0-9]*' "$name.err"
	done <order >fences
	sort -c -n -k 2 fences
	[ "$(redis get '{redlock:a}:~fence')" = \
	    "$(grep -ho 'fence [0-9]*' {1,2,3,4}.err | cut -d ' ' -f 2 | sort -n | tail -n 1)" ]
	grep -q 'granted with the wake' {1,2,3,4}.err
}

@test "a run whose grant was confirmed late is in the history once, with start and end" {
	hold a
	waiter_queues 1
	touch stay
	unconfirmed 1
	confirmable
	eventually not_marked
	rm stay
	waiters_served 1
	eventually keys_left
	[ "$(redis xlen '{redlock:a}:~runs')" = 4 ]
	[ "$(redis xrange '{redlock:a}:~runs' - + | grep -cx start)" = 2 ]
	[ "$(redis xrange '{redlock:a}:~runs' - + | grep -cx end)" = 2 ]
}

@test "a grant that cannot be confirmed: COMMAND is stopped before it ends, status 79, and the next one runs" {
	local began_us

	hold a
	waiter_queues 1
	waiter_queues 2
	waiter_stop 2
	touch stay-1
	unconfirmed 1
	began_us=$(now_us)
	client_ends 1 79
	(($(now_us) - began_us < 5000000))
	[[ $(redis get redlock:a) != *" token=${token[2]} "* ]]
	confirmable
	rmdir inside
	kill -CONT "${pid[2]}"
	waiters_end 2
}

@test "kill -9 of a run whose grant is not confirmed: its COMMAND is killed, the next runs" {
	hold a
	waiter_queues 1
	waiter_queues 2
	touch stay-1
	waiter_stop 2
	unconfirmed 1
	kill -KILL "${pid[1]}"
	eventually no_command_of 1
	rmdir inside
	confirmable
	kill -CONT "${pid[2]}"
	waiters_end 2
	eventually keys_left
}

# no_command_of NAME: tests of other files have such COMMANDs as well.
no_command_of() {
	local each
	for each in $(pgrep -f "^sh -c mkdir inside .* sh $1\$"); do
		[[ $(readlink "/proc/$each/cwd") != "$PWD" ]] || return 1
	done
}

# one_before_two: the COMMAND of 1 is dead; it has not been seen alive after that
# of 2 had begun, or there is a file "both".
one_before_two() {
	local ran=''
	! waiter_runs 2 || ran=yes
	! no_command_of 1 || return 0
	[ -z "$ran" ] || touch both
	return 1
}

@test "SIGSTOP of a run whose grant is not confirmed: its COMMAND is dead before the next one runs" {
	hold a
	waiter_queues 1
	waiter_queues 2
	touch stay-1
	waiter_stop 2
	unconfirmed 1
	eventually guard "${pid[1]}"
	waiter_stop 1
	confirmable
	kill -CONT "${pid[2]}"
	eventually one_before_two
	[ ! -e both ]
	# It has left its mark; so 2 may have seen somebody inside.
	client_ends 2 0
	kill -CONT "${pid[1]}"
	client_ends 1 79
	eventually keys_left
}

@test "a signal to a run whose grant is not confirmed ends COMMAND, and the next one runs" {
	hold a
	waiter_queues 1
	waiter_queues 2
	touch stay-1
	waiter_stop 2
	unconfirmed 1
	confirmable
	kill -TERM "${pid[1]}"
	client_ends 1 143
	rmdir inside
	kill -CONT "${pid[2]}"
	waiters_end 2
	eventually keys_left
}

@test "a server that restarts empty while the wake is on its way: 79, and COMMAND is stopped" {
	export REDLOCK_RESTART_GRACE=0
	hold a
	waiter_queues 1
	touch stay-1
	granted_to 1
	redis_restart
	kill -CONT "${pid[1]}"
	client_ends 1 79
	grep -q 'its key is gone' 1.err
	[ ! -e inside ] || rmdir inside
	eventually keys_left
}

@test "a grant whose key is deleted while the wake is on its way: 79, and COMMAND is stopped" {
	hold a
	waiter_queues 1
	touch stay-1
	granted_to 1
	redis del redlock:a
	kill -CONT "${pid[1]}"
	client_ends 1 79
	grep -q 'its key is gone' 1.err
	[ ! -e inside ] || rmdir inside
}

@test "a server that freezes before the confirmation is waited for until COMMAND has to be stopped" {
	hold a
	waiter_queues 1
	touch stay-1
	granted_to 1
	redis_freeze
	kill -CONT "${pid[1]}"
	eventually waiter_runs 1
	sleep 1
	redis_thaw
	eventually not_marked
	rm stay-1
	waiters_served 1
	eventually keys_left
}

@test "a waiter that was stopped for most of its grant asks for the lock, and has its turn" {
	hold a
	waiter_queues 1
	waiter_queues 2
	granted_to 1
	sleep 3
	kill -CONT "${pid[1]}"
	waiters_served 1 2
	not grep -q 'granted with the wake' 1.err
	eventually keys_left
}

@test "a grant lasts no longer than the lease of its waiter" {
	hold a
	waiter_queues 1 -t 3s
	waiter_hand_over 1
	((grant <= 3000)) || fail "handed over for $grant ms"
	kill -KILL "${pid[1]}"
}

@test "a waiter in front of a server that is too young asks, and takes no grant" {
	export REDLOCK_RESTART_GRACE=1h
	redlock_bg -k a --restart-grace 0 -- sh -c \
	    'until [ -e "$1" ]; do sleep 0.02; done' sh "$BATS_TEST_TMPDIR/let-go"
	eventually held a
	waiter_queues 1
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 0
	eventually waiter_asked 1
	[ ! -e order ]
	kill -TERM "${pid[1]}"
	client_ends 1 143
	eventually keys_left
}

# waiter_asked NAME: it has confirmed its grant by an acquire, which was no vote.
waiter_asked() {
	[[ $(redis get redlock:a) == *" token=${token[$1]} "* ]] && not_marked
}

@test "--min-hold counts from the start of COMMAND under a grant" {
	local began_us

	hold a
	waiter_start 1 --min-hold 3s
	eventually queue_is 1
	sleep 0.7
	let_go
	waiters_served 1
	began_us=$(($(began_ms 1) * 1000))
	(($(expiry redlock:a) * 1000 >= began_us + 2800000))
	redis del redlock:a
}

@test "several locks: only the last one is passed on with the wake" {
	hold b
	redlock_bg -k a -k b -v -w 5m -- sh -c 'echo "$REDLOCK_FENCE"'
	eventually several_queue
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 0
	grep -q 'b: .*granted with the wake' "$bg_err"
	eventually keys_left
}

several_queue() {
	[ "$(redis zcard '{redlock:b}:~queue')" = 1 ]
}
