#!/usr/bin/env bats
# --once-per: a job that is tried again and again runs until it succeeds, and
# then not for that time.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/servers
load ../lib/queue

setup_file() {
	redis_start
	servers_start
}
setup() {
	redis_reset
	servers_reset
	servers_use_one
	waiters_setup
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

success='{redlock:a}:~success'

# ran_lately: the run before was refused, and has said so.
ran_lately() {
	[[ $stderr =~ ^'redlock-run: a: ran '[0-9a-z]+' ago on '"$(uname -n)"'; --once-per 20h'$ ]]
}

# busy_hold STATUS [ARG...]: a redlock_bg holds the lock until `let_go_with
# STATUS`; its COMMAND exits with that.
busy_hold() {
	rm -f let-go
	redlock_bg -k a "${@:2}" -- sh -c \
	    'until [ -e let-go ]; do sleep 0.02; done; exit "$1"' sh "$1"
	eventually held
}
let_go_with() {
	touch let-go
	redlock_ended "$1"
}

# The job fails twice, and no two run at a time.
job='mkdir running || echo overlap >>tried
	echo "$1" >>tried
	rmdir running
	[ "$(wc -l <tried)" -gt 2 ] || exit 1
	echo "$1" >>succeeded'

# host_tries NAME TRIES SECONDS: what the cron of one host does.  The statuses
# go into NAME.
host_tries() {
	local status
	for ((i = 0; i < $2; i++)); do
		status=0
		redlock -k a --once-per 1h -q -- sh -c "$job" sh "$1" || status=$?
		echo "$status" >>"$1"
		read -rt "$3" <>"$BATS_FILE_TMPDIR/nothing" || :
	done
}

# ten_hosts TRIES SECONDS: each of ten hosts tries so often, with a pause.  The
# others find the lock busy; or one vote of two refused, which is no majority.
ten_hosts() {
	local host hosts=()
	for host in web{0..9}; do
		host_tries "$host" "$@" 3>&- &
		hosts+=($!)
	done
	wait "${hosts[@]}"
	[ "$(wc -l <tried)" = 3 ]
	not grep -q overlap tried
	[ "$(wc -l <succeeded)" = 1 ]
	[ "$(cat web? | grep -cx 0)" = 1 ]
	[ "$(cat web? | grep -cx 1)" = 2 ]
	[ "$(cat web? | grep -cxE "75${SERVER_GONE:+|69}")" = $((10 * $1 - 3)) ]
}

# bats test_tags=quick
@test "--once-per: ten hosts that try again and again run a job until it has succeeded, once" {
	ten_hosts 8 0.2
	keys_left
}

# bats test_tags=soak
@test "--once-per: ten hosts on three servers, of which one is gone, run a job until it has succeeded, once" {
	local pause=0.3

	[[ -z ${SOAK:-} ]] || pause=1	# for a minute, with make soak
	servers_use 1 2 3
	redis_kill s3
	SERVER_GONE=yes ten_hosts $((4 * ${SOAK:-1})) "$pause"
}

# bats test_tags=quick
@test "after a success --once-per is busy: 75 or -E, and says when and where it ran" {
	redlock -k a --once-per 20h -- true
	run -75 --separate-stderr redlock -k a --once-per 20h -- touch started
	ran_lately
	run -3 --separate-stderr redlock -k a --once-per 20h -E 3 -w 1m -- touch started
	ran_lately
	run -75 --separate-stderr redlock -k a --once-per 20h -q -- touch started
	silent
	[ ! -e started ]
	keys_left
	redlock -k a -- touch started
	[ -e started ]
}

@test "each run that ends with 0 is a success, kept for 400 days; no other is" {
	run -1 redlock -k a --once-per 1h -- false
	run -137 redlock -k a -- sh -c 'kill -KILL $$'
	run -124 redlock -k a --max-run 100ms -- \
	    sh -c 'trap "exit 0" TERM; sleep 10 & wait'
	run -127 redlock -k a -- nosuchcommand
	run -79 redlock -k a -t 300ms --kill-after 50ms -- \
	    sh -c "trap 'exit 0' TERM; $(cli del redlock:a); sleep 10 & wait"
	redlock -k a --on-loss warn -t 300ms -- sh -c "$(cli del redlock:a); sleep 0.3"
	[ "$(redis exists "$success")" = 0 ]
	redlock -k a -- sh -c 'echo "$REDLOCK_TOKEN" >token'
	[[ $(redis get "$success") == \
	    "redlock-run/2 token=$(<token) try=0 since="*" host=$(uname -n) user=$(id -un) command=sh ran="* ]]
	(($(redis pttl "$success") > 400 * 86400000 - 60000))
	for mode in -s '--slots 3' '--min-hold 100ms'; do
		redis del "$success" >/dev/null
		# shellcheck disable=SC2086
		eventually redlock -k a -q $mode -- true
		[ "$(redis exists "$success")" = 1 ]
		redis del redlock:a '{redlock:a}:~slots' '{redlock:a}:~readers' >/dev/null
	done
}

@test "after a failure --once-per runs again at once, unless --min-hold keeps it out" {
	run -1 redlock -k a --once-per 20h -- false
	run -1 redlock -k a --once-per 20h --min-hold 1h -- false
	run -75 --separate-stderr redlock -k a --once-per 20h -- touch started
	says 'in cooldown for another '
	redis del redlock:a >/dev/null
	redlock -k a --once-per 20h -- touch started
	[ -e started ]
}

@test "--once-per counts from the begin of the run that succeeded, and then is over" {
	redlock -k a -- sleep 0.8
	redlock -k a --once-per 800ms -- true
	run -75 redlock -k a --once-per 5s -- true
	eventually redlock -q -k a --once-per 800ms -- touch started
	[ -e started ]
}

# ran_at SECONDS: the last success began so long ago.
ran_at() {
	local now
	now=$(redis time | head -n 1)
	redis set "$success" "redlock-run/2 token=t try=1 since=$((now - $1))000 pid=1 host=h user=u command=c" >/dev/null
}

@test "a server clock that was set back keeps --once-per out for no longer than DURATION more" {
	ran_at 3580
	run -75 redlock -k a --once-per 1h -- touch started
	ran_at -3590
	run -75 redlock -k a --once-per 1h -- touch started
	ran_at -3700
	[ ! -e started ]
	redlock -k a --once-per 1h -- touch started
	[ -e started ]
	ran_at 3601
	redlock -k a --once-per 1h -- true
	redis set "$success" nonsense >/dev/null
	redlock -k a --once-per 1h -- true
	redis del "$success" >/dev/null
	redis lpush "$success" x >/dev/null
	redlock -k a --once-per 1h -- true
	run -75 redlock -k a --once-per 1h -- true
}

@test "kill -9 of a run is no success: --once-per runs when its lease has ended" {
	busy_hold 0 -t 1s --once-per 20h
	kill -KILL "$bg_pid"
	run -0 redlock -k a --once-per 20h -w 20s -- touch started
	[ -e started ]
}

# bats test_tags=quick
@test "a run with --once-per costs two requests, and one that is refused costs one" {
	redlock -k b -- true
	for ((i = 1; i <= 2; i++)); do
		redis config resetstat >/dev/null
		redlock -k a -- true
		[ "$(scripts_run)" = 2 ]
		redis config resetstat >/dev/null
		run -75 redlock -k a --once-per 20h -w 1m -- true
		[ "$(scripts_run)" = 1 ]
	done
	redis del "$success" >/dev/null
	redis config resetstat >/dev/null
	redlock -k a --once-per 20h -- true
	[ "$(scripts_run)" = 2 ]
	[ "$(redis_calls lpush zadd)" = 0 ]
}

## -w

# bats test_tags=quick
@test "--once-per behind a run that succeeds: 75, it has left the queue, and the next one is served" {
	busy_hold 0
	waiter_queues 1 --once-per 20h
	waiter_queues 2 --once-per 20h
	waiter_queues 3
	waiter_queues 4
	let_go_with 0
	client_ends 1 75
	client_ends 2 75
	waiters_end 3 4
	[ "$(xargs <order)" = '3 4' ]
	grep -qE "^redlock-run: a: ran [0-9a-z]+ ago on $(uname -n); --once-per 20h$" 1.err
	keys_left
}

# bats test_tags=quick
@test "--once-per behind a run that fails runs in its turn" {
	busy_hold 1
	waiter_queues 1 --once-per 20h
	waiter_queues 2 --once-per 20h
	waiter_queues 3
	let_go_with 1
	client_ends 2 75
	waiters_end 1 3
	[ "$(xargs <order)" = '1 3' ]
	keys_left
}

@test "a waiter with --once-per is never handed the lock: it is kept free until it asks" {
	busy_hold 1
	waiter_queues 1 --once-per 20h
	waiter_queues 2
	[[ $(redis hget "$beat" "${token[1]}") == *' nonce=0 redlock-run/2 token='* ]]
	waiter_stop 1
	let_go_with 1
	waiter_outlives 1
	free
	run -75 redlock -k a -- true
	waiter_outlives 1
	kill -CONT "${pid[1]}"
	waiters_served 1 2
	not grep -q 'passed on to us' 1.err
	keys_left
}

@test "a waiter with --once-per that has died delays the next one by seconds" {
	local before

	busy_hold 1
	waiter_queues 1 --once-per 20h
	waiter_queues 2
	kill -KILL "${pid[1]}"
	before=$(now_us)
	let_go_with 1
	waiters_served 2
	(($(now_us) - before < 10000000))
	keys_left
}

@test "a waiter whose place in the queue outlives a success by another leaves it at its next refresh" {
	busy_hold 0
	waiter_queues 1 --once-per 20h
	ran_at 1
	client_ends 1 75
	queue_is 0
	held
	let_go_with 0
}

## Other options

# bats test_tags=quick
@test "several locks: a success of any of them refuses the run, and none is kept" {
	redlock -k b -- true
	run -75 --separate-stderr redlock -k a -k b -k c --once-per 20h -- touch started
	says 'b: ran '
	run -75 --separate-stderr redlock -k a -k b -k c --once-per 20h -w 1m -- touch started
	says 'b: ran '
	[ ! -e started ]
	keys_left
	[ "$(redis exists '{redlock:a}:~success' '{redlock:c}:~success')" = 0 ]
	redis del '{redlock:b}:~success' >/dev/null
	redlock -k a -k b -k c --once-per 20h -- true
	for name in a b c; do
		run -75 --separate-stderr redlock -k "$name" --once-per 20h -- true
		says "$name: ran "
	done
}

@test "--once-per with --slots, with --shared or for more than 30 days is a usage error: 64" {
	for words in '1h --slots 2' '1h --slots 1' '1h -s' 31d 30d1ms -1 inf; do
		# shellcheck disable=SC2086
		run -64 --separate-stderr redlock -k a --once-per $words -- touch started
		says --once-per
	done
	run -64 --separate-stderr redlock -k a --once-per 31d -- true
	says "--once-per: '31d' is too long; the maximum is 30d"
	run -64 --separate-stderr redlock --status --once-per 1h
	[ ! -e started ]
	redlock -k a --once-per 30d -- true
	run -75 redlock -k a --once-per 30d -- true
	redlock -k a --once-per 0 -- true
}

@test "--once-per has no effect inside a run that holds the lock" {
	redlock -k a -- true
	run -0 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -k a --once-per 20h -- touch started
	says 'a: held by the enclosing run; --min-hold, --max-run and --once-per have no effect inside it'
	[ -e started ]
}

@test "a run in another mode is refused for that first, and a busy lock for a success" {
	redlock -k a -- true
	busy_hold 0
	run -75 --separate-stderr redlock -k a --once-per 20h -- touch started
	ran_lately
	run -75 --separate-stderr redlock -k a --once-per 1ms -- touch started
	says 'a: held by '
	let_go_with 0
	busy_hold 0 --slots 2
	run -64 --separate-stderr redlock -k a --once-per 20h -- touch started
	says 'a: in use with --slots 2 by '
	let_go_with 0
	[ ! -e started ]
}

@test "of runs that share the lock the last that began is the last success" {
	busy_hold 0 -s
	sleep 1			# longer than a release takes on its way
	redlock -k a -s -- sh -c 'echo "$REDLOCK_TOKEN" >token'
	let_go_with 0
	[[ $(redis get "$success") == "redlock-run/2 token=$(<token) "* ]]
}

## Servers that fail

@test "a success is known as long as a majority of the servers knows it" {
	servers_use 1 2 3
	redlock -k a --once-per 20h -- true
	run -75 --separate-stderr redlock -k a --once-per 20h -- touch started
	ran_lately
	redis_kill s3
	run -75 --separate-stderr redlock -k a --once-per 20h -- touch started
	ran_lately
	run -75 --separate-stderr redlock -k a --once-per 20h -w 1m -- touch started
	ran_lately
	redis_restart s3
	run -75 redlock -k a --once-per 20h -- touch started
	# One server that knows and one that does not: no majority.
	redis_kill s1
	run -69 --separate-stderr redlock -k a --once-per 20h --node-timeout 200ms -- touch started
	says 's2.sock: ran ' ' (--once-per)'
	run -69 --separate-stderr redlock -k a --once-per 20h -w 1s -- touch started
	[ ! -e started ]
	# Only one server knows.
	redis_restart s1
	redlock -k a --once-per 20h -- touch started
	[ -e started ]
	keys_left
}

@test "waiters with --once-per of several servers: a success refuses them, a failure lets the first run" {
	servers_use 1 2 3
	busy_hold 0
	waiter_start 1 --once-per 20h
	eventually queue_is 1
	let_go_with 0
	client_ends 1 75
	eventually keys_left
	for i in 1 2 3; do
		redis_at "s$i" flushall >/dev/null
	done
	busy_hold 1
	waiter_start 1 --once-per 20h
	eventually queue_is 1
	waiter_start 2 --once-per 20h
	eventually queue_is 2
	let_go_with 1
	client_ends 2 75
	waiters_served 1
	eventually keys_left
}

# success_on_s1: a success a moment ago, which the other servers do not know.
success_on_s1() {
	servers_use 1 2 3
	redis_at s1 set "$success" \
	    "redlock-run/2 token=t try=1 since=$(redis time | head -n 1)000 pid=1 host=h user=u command=c" >/dev/null
}

# told_by_s1: the waiter 1 knows of a success from server 1 alone.
told_by_s1() {
	eventually grep -q 'waiting for the servers: .*s1.sock: ran ' 1.err
}

@test "a waiter with --once-per that one server tells of a success asks the others until a majority does: 75" {
	success_on_s1
	redis_kill s3
	waiter_start 1 --once-per 20h
	told_by_s1
	redis_at s2 set "$success" "$(redis_at s1 get "$success")" >/dev/null
	client_ends 1 75
	servers_use 1 2
	eventually keys_left
}

@test "a success that a slow server of two learns late ends the wait for it, though the third is down: 75" {
	local i
	servers_use 1 2 3
	redis_kill s3
	export servers='s1 s2'
	for i in 1 2 3; do
		busy_hold 0
		waiter_start 1 --once-per 20h
		waiter_start 2 --once-per 20h
		eventually queue_is 2
		redis_freeze s2
		touch let-go
		told_by_s1
		redis_thaw s2
		redlock_ended 0
		client_ends 1 75
		client_ends 2 75
		redis_at s1 flushall >/dev/null
		redis_at s2 flushall >/dev/null
	done
}

# keeps_nobody_out: the waiter 1 has started after success_on_s1; s3 is dead, and
# s2 frozen.
keeps_nobody_out() {
	told_by_s1
	redis_thaw s2
	eventually server_asked 2
	eventually 5 servers_free 2
	run -1 redlock -k a -- false
	redis_restart s3
	waiters_served 1
	eventually keys_left
}

@test "a waiter with --once-per that cannot win for want of servers keeps nobody out, and runs when it can" {
	success_on_s1
	redis_kill s3
	redis_freeze s2
	waiter_start 1 --once-per 20h
	keeps_nobody_out
}

@test "a waiter with --once-per whose request a server did not survive keeps nobody out, and runs when it can" {
	local before
	success_on_s1
	redis_freeze s2
	redis_freeze s3
	before=$(scripts_run s1)
	waiter_start 1 --once-per 20h
	eventually scripts_more s1 "$before"
	redis_kill s3
	keeps_nobody_out
}

@test "a release that is not confirmed says after each success that it may be forgotten" {
	run -0 --separate-stderr redlock -k a --node-timeout 200ms \
	    --once-per 1ms -- sh -c "kill -STOP $(redis_pid)"
	says 'a: release not confirmed: ' '; --once-per may forget this success'
	redis_thaw
	run -0 --separate-stderr redlock -k b --node-timeout 200ms -- \
	    sh -c "kill -STOP $(redis_pid)"
	says 'b: release not confirmed: ' '; --once-per may forget this success'
	redis_thaw
	eventually free
	run -5 --separate-stderr redlock -k a --node-timeout 200ms -- \
	    sh -c "kill -STOP $(redis_pid); exit 5"
	says 'a: release not confirmed: '
	[[ $stderr != *once-per* ]]
	redis_thaw
	eventually free
}

@test "the lock is released after a success though the server has no memory left" {
	local i

	redlock -k b -- true
	run -0 --separate-stderr redlock -k a -- sh -c "$(cli config set maxmemory 1)"
	[ -z "$stderr" ]
	free
	[ "$(redis exists "$success")" = 1 ]
	redis config set maxmemory 0
	for i in 1 2; do
		redis del "$success"
		busy_hold 0
		waiter_queues "$i" --once-per 20h
		redis config set maxmemory 1
		let_go_with 0
		redis config set maxmemory 0
		free
		client_ends "$i" 75
	done
	keys_left
}
