#!/usr/bin/env bats
# Waiting in turn on one server: who is served when, what becomes of the
# others when one of them dies, and what waiting costs the server.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load lib

setup_file() { redis_start; }

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=() token=()
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

queue='{redlock:a}:~queue'
beat='{redlock:a}:~beat'

# What a waiter runs: it writes down its name, when it began and its token,
# and stays as long as the file "stay" or "stay-NAME" is there.
inside='mkdir inside || touch overlap
	date +%s%N >>began
	echo "$REDLOCK_TOKEN" >>tokens
	echo "$1" >>order
	while [ -e stay ] || [ -e "stay-$1" ]; do sleep 0.02; done
	rmdir inside || touch overlap'

# comes NAME [ARG...]: NAME wants the lock called "a", for minutes if need be.
comes() {
	local name=$1
	shift
	env --default-signal "$REDLOCK_RUN" -k a -w 5m "$@" -- \
	    sh -c "$inside" sh "$name" \
	    >"$name.out" 2>"$name.err" 3>&- 4>&- &
	pid[$name]=$!
}

# queues NAME [ARG...]: the same, and NAME is the last in the queue now.
queues() {
	local before
	before=$(redis zcard "$queue")
	comes "$@"
	eventually queued $((before + 1))
	token[$1]=$(redis zrange "$queue" -1 -1)
}

# queued N: so many are in the queue.
queued() {
	[ "$(redis zcard "$queue")" = "$1" ]
}

# ends NAME STATUS
ends() {
	local got=0
	eventually 60 gone "${pid[$1]}"
	wait "${pid[$1]}" || got=$?
	if ((got != $2)); then
		echo "$1: status $got instead of $2" >&2
		cat "$1.err" >&2
		return 1
	fi
}

# served NAME...: these ran, in this order and one at a time, and no other.
served() {
	local name
	for name; do
		ends "$name" 0
	done
	if [ "$(xargs <order)" != "$*" ]; then
		echo "served: $(xargs <order)" >&2
		return 1
	fi
	[ ! -e overlap ]
}

# runs NAME: its COMMAND has begun.
runs() {
	grep -qx "$1" order
}

# left [KEY...]: that is what is in Redis, and nothing else but the fence.
left() {
	local keys
	keys=$(redis keys '*') || return
	[ "$(grep -v ':~fence$' <<<"$keys" | sort | xargs)" = "$*" ]
}

# stop NAME: like SIGSTOP from a shell.
stop() {
	kill -STOP "${pid[$1]}"
	eventually stopped "${pid[$1]}"
}

stopped() {
	grep -q '^State:.T' "/proc/$1/status"
}

# owns NAME: the lock has this waiter's value.
owns() {
	[[ $(redis get redlock:a) == *" token=${token[$1]} "* ]]
}

# handed NAME: the lock waits for NAME, whom we have stopped, to confirm.  Its
# end is then in $grant_ends, in ms since 1970.
handed() {
	local lease
	owns "$1" || return
	lease=$(redis pttl redlock:a)
	((lease > 0)) || return
	((lease <= 2000)) || {
		echo "handed over for $lease ms" >&2
		return 1
	}
	grant_ends=$(($(now_us) / 1000 + lease))
}

# before_grant_ends: what was done up to now was done while it lasted.
before_grant_ends() {
	(($(now_us) / 1000 < grant_ends - 20))
}

# kill_holder: what `hold` has started, the COMMAND included, and what it
# learns is what we say below.
kill_holder() {
	kill -KILL "$bg_pid"
	eventually gone "$bg_pid"
	touch "$BATS_TEST_TMPDIR/let-go"
}

# began N: when the Nth COMMAND began, in ms since 1970.
began() {
	echo $(($(sed -n "$1p" began) / 1000000))
}

# fail TEXT
fail() {
	echo "$1" >&2
	return 1
}

# calls COMMAND...: how often the server was asked these, since RESETSTAT.
calls() {
	local sum=0 name n
	for name; do
		n=$(redis info commandstats |
			sed -n "s/^cmdstat_$name:calls=\([0-9]*\),.*/\1/p")
		sum=$((sum + ${n:-0}))
	done
	echo "$sum"
}

## The turn

@test "first come, first served" {
	local name

	hold a
	for name in 1 2 3 4 5 6 7 8; do
		queues "$name"
	done
	let_go
	served 1 2 3 4 5 6 7 8
	eventually left
}

@test "who comes while others wait is served after them" {
	hold a
	queues 1
	queues 2
	touch stay-1
	let_go
	eventually runs 1
	queues 3
	rm stay-1
	served 1 2 3
	eventually left
}

@test "between a release and the next in turn nobody gets in" {
	local round got shown=0

	for round in {1..8}; do
		hold a
		queues "$round"
		stop "$round"
		let_go
		handed "$round"
		got=0
		redlock -q -k a -- touch jumped || got=$?
		if before_grant_ends; then
			shown=1
			[ "$got" = 75 ]
			[ ! -e jumped ]
		fi
		kill -CONT "${pid[$round]}"
		ends "$round" 0
		eventually left
		((!shown)) || break
	done
	((shown)) || fail "this machine is too busy"
}

@test "a free lock is reserved for the first in the queue" {
	local began_us

	redis set redlock:a another px 60000
	queues 1
	queues 2
	stop 1
	stop 2
	redis del redlock:a
	began_us=$(now_us)
	run -75 --separate-stderr redlock -k a -- touch jumped
	says a
	echo "$stderr"
	(($(now_us) - began_us < 3000000))
	run -75 redlock -k a -w 300ms -- touch jumped
	queues 3
	[ "$(redis exists redlock:a)" = 0 ]
	kill -CONT "${pid[1]}" "${pid[2]}"
	served 1 2 3
	[ ! -e jumped ]
	eventually left
}

@test "many who come again and again: all are served, one at a time" {
	local worker pids=()

	for worker in {1..6}; do
		for _ in {1..15}; do
			redlock -k a -w 5m -- sh -c '
				mkdir inside || touch overlap
				echo >>ran
				rmdir inside' || touch "failed-$worker"
		done &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ ! -e overlap ]
	[ "$(echo failed-*)" = 'failed-*' ]
	[ "$(wc -l <ran)" = 90 ]
	eventually left
}

@test "those who wait and those who do not exclude each other" {
	local worker pids=()

	for worker in 1 2 3 4; do
		for _ in {1..15}; do
			if ((worker > 2)); then
				redlock -k a -w 5m -- sh -c '
					mkdir inside || touch overlap
					echo >>waited
					rmdir inside'
			else
				redlock -q -E 0 -k a -- sh -c '
					mkdir inside || touch overlap
					rmdir inside'
			fi || touch "failed-$worker"
		done &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ ! -e overlap ]
	[ "$(echo failed-*)" = 'failed-*' ]
	[ "$(wc -l <waited)" = 30 ]
	eventually left
}

## How long

@test "a wait that runs out: 75 after that time, and nothing is left behind" {
	local ms late best

	hold a
	# also longer than a node timeout, which is 3 s
	for ms in 300 1500 3500; do
		best=100000
		for _ in 1 2; do
			late=$(now_us)
			run -75 --separate-stderr \
			    redlock -k a -w "${ms}ms" -- touch started
			late=$((($(now_us) - late) / 1000 - ms))
			echo "-w ${ms}ms ended $late ms late"
			says 'a: ' "pid $bg_pid"
			((late >= 0 && late < 4000))
			((late >= best)) || best=$late
			eventually left redlock:a
		done
		((best < 400))
	done
	late=$(now_us)
	run -75 redlock -k a -w 0.7 -- touch started
	(($(now_us) - late >= 700000))
	[ ! -e started ]
	let_go
	eventually left
}

@test "-E and -q hold for a wait that runs out" {
	hold a
	run -9 redlock -E 9 -k a -w 300ms -- touch started
	run -0 --separate-stderr redlock -q -E 0 -k a -w 1.2s -- touch started
	silent
	[ ! -e started ]
	let_go
}

@test "-w inf waits until it is served" {
	hold a
	queues 1 -w inf
	queues 2 --wait=inf
	let_go
	served 1 2
	eventually left
}

@test "-w 0 and -n do not wait, nor queue" {
	local how began_us

	hold a
	redis config resetstat
	for how in '-w 0' '-w0s' '--wait 0ms' -n --nonblock '-w 5m -n' \
	    '-n -w 0'; do
		began_us=$(now_us)
		# shellcheck disable=SC2086
		run -75 redlock -k a $how -- touch started
		(($(now_us) - began_us < 5000000))
	done
	[ ! -e started ]
	[ "$(calls zadd blpop)" = 0 ]
	left redlock:a
	let_go
}

@test "with -w a lock that is free is taken at once, without the queue" {
	redlock -k a -w 5m -- true
	redlock -k a -w inf -- true
	redlock -k a -w 1ms -- true
	[ "$(calls blpop)" = 0 ]
	left
}

@test "a wait that is no DURATION is a usage error that quotes it" {
	local bad

	for bad in '' -1 -1s nan 1x '1 s' 'inf s' 5inf 1e400 \
	    99999999999999999999d; do
		run -64 --separate-stderr redlock -k a -w "$bad" -- touch started
		says "'$bad'" --help
	done
	[ ! -e started ]
}

@test "the status of a COMMAND that had to wait is its own" {
	hold a
	"$REDLOCK_RUN" -k a -w 5m -- sh -c 'exit 3' 3>&- 4>&- &
	pid[1]=$!
	eventually queued 1
	queues 2
	let_go
	ends 1 3
	served 2
}

## What is said

@test "a wait of more than a second says once whom it waits for" {
	local began_us

	hold a
	began_us=$(now_us)
	queues 1
	queues 2 -q
	eventually grep -q . 1.err
	(($(now_us) - began_us >= 1000000))
	sleep 2
	let_go
	served 1 2
	cat 1.err
	[ "$(wc -l <1.err)" = 1 ]
	grep -q "^redlock-run: a: .*pid $bg_pid" 1.err
	[ ! -s 2.err ]
}

@test "a short wait says nothing" {
	local began_us shown=0

	for _ in {1..8}; do
		hold a
		began_us=$(now_us)
		queues 1
		let_go
		ends 1 0
		if (($(now_us) - began_us < 1000000)); then
			[ ! -s 1.err ]
			shown=1
			break
		fi
	done
	((shown)) || fail "this machine is too busy"
}

@test "the busy message says how many wait, and that -w does" {
	hold a
	run -75 --separate-stderr redlock -k a -- true
	says '; -w waits for it'
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	queues 1
	queues 2
	run -75 --separate-stderr redlock -k a -- true
	says ' left, 2 waiting; -w waits for it'
	let_go
	served 1 2
}

@test "--status shows who waits" {
	hold a
	queues 1
	queues 2
	run -0 redlock --status -k a --json
	/usr/bin/python3 -c '
import json, sys
lock, = json.loads(sys.argv[1])
waiters = lock["waiters"]
assert lock["waiting"] == 2, lock
assert [w["token"] for w in waiters] == sys.argv[2:4], waiters
assert all(0 <= w["waiting_ms"] < 60000 for w in waiters), waiters
assert waiters[0]["waiting_ms"] >= waiters[1]["waiting_ms"], waiters
assert [str(w["pid"]) for w in waiters] == sys.argv[4:6], waiters
' "$output" "${token[1]}" "${token[2]}" "${pid[1]}" "${pid[2]}"
	run -0 redlock --status -k a
	awk 'NR == 2 && $9 == 2 { found = 1 } END { exit !found }' <<<"$output"
	let_go
	served 1 2
}

## Signals

@test "a signal while waiting ends that at once, and leaves nothing behind" {
	local name began_us

	hold a
	for name in TERM INT HUP QUIT USR1 ALRM RTMIN+1; do
		queues 1
		queues 2
		began_us=$(now_us)
		kill -s "$name" "${pid[1]}"
		ends 1 $((128 + $(kill -l "$name")))
		(($(now_us) - began_us < 3000000))
		eventually 5 queued 1
		[ "$(redis zrange "$queue" 0 -1)" = "${token[2]}" ]
		[ "$(redis hlen "$beat")" = 1 ]
		kill -s "$name" "${pid[2]}"
		ends 2 $((128 + $(kill -l "$name")))
		eventually 5 left redlock:a
	done
	[ ! -e order ]
	let_go
	eventually left
}

@test "a signal while waiting for a frozen server ends that at once, and leaves nothing behind" {
	local name began_us

	hold a
	for name in TERM INT HUP; do
		queues 1
		redis_freeze
		began_us=$(now_us)
		kill -s "$name" "${pid[1]}"
		ends 1 $((128 + $(kill -l "$name")))
		(($(now_us) - began_us < 3000000))
		redis_thaw
		eventually 5 left redlock:a
	done
	[ ! -e order ]
	let_go
	eventually left
}

@test "a signal for a waiter that was just handed the lock: the next one gets it" {
	local shown=0

	for _ in {1..8}; do
		rm -f order
		hold a
		queues 1
		queues 2
		stop 1
		let_go
		handed 1
		kill -TERM "${pid[1]}"
		kill -CONT "${pid[1]}"
		ends 1 143
		eventually runs 2
		ends 2 0
		not runs 1
		eventually left
		if before_grant_ends; then
			shown=1
			break
		fi
	done
	((shown)) || fail "it always had to wait for the end of the grant"
}

## Death

@test "waiters that are killed, at the head and in the middle, keep the others up for seconds only" {
	local name began_us

	hold a
	for name in 1 2 3 4 5; do
		queues "$name"
	done
	kill -KILL "${pid[1]}" "${pid[3]}"
	eventually gone "${pid[1]}"
	eventually gone "${pid[3]}"
	began_us=$(now_us)
	let_go
	served 2 4 5
	# a grant, or what is left of a third of the heartbeat, for each
	(($(now_us) - began_us < 20000000))
	eventually 40 left
}

@test "a waiter that is killed between hand-over and confirmation: the next one gets it" {
	local began_us

	hold a
	queues 1
	queues 2
	queues 3
	stop 1
	let_go
	began_us=$(now_us)
	handed 1
	kill -KILL "${pid[1]}"
	served 2 3
	echo "$((($(now_us) - began_us) / 1000)) ms"
	(($(now_us) - began_us < 10000000))
	eventually 40 left
}

@test "a waiter that sleeps through its grant keeps its ticket, but not the lock" {
	local ticket

	hold a
	queues 1
	queues 2
	queues 3
	ticket=$(redis zscore "$queue" "${token[1]}")
	stop 1
	touch stay-2
	let_go
	handed 1
	eventually 30 runs 2
	kill -CONT "${pid[1]}"
	eventually in_line 1 "$ticket"
	not runs 1
	rm stay-2
	served 2 1 3
	eventually left
}

# in_line NAME TICKET
in_line() {
	[ "$(redis zscore "$queue" "${token[$1]}")" = "$2" ] &&
		[ "$(redis zrank "$queue" "${token[$1]}")" = 0 ]
}

@test "a wait that runs out while the lock is handed over: it is passed on" {
	local round name slow=0 began_us rounds=25

	for ((round = 1; round <= rounds; round++)); do
		"$REDLOCK_RUN" -k a -- sh -c 'mkdir inside || touch overlap
			sleep 0.3
			rmdir inside || touch overlap' 3>&- 4>&- &
		pid[holder]=$!
		eventually held a
		for name in 1 2 3; do
			comes "$name" -q -w 0.$((150 + RANDOM % 250))
		done
		began_us=$(now_us)
		comes last
		for name in 1 2 3; do
			eventually gone "${pid[$name]}"
			wait "${pid[$name]}" || [ $? = 75 ]
		done
		ends last 0
		(($(now_us) - began_us < 2000000)) || slow=$((slow + 1))
		eventually gone "${pid[holder]}"
		wait "${pid[holder]}"
		eventually 5 left
	done
	echo "$slow of $rounds rounds took longer than a grant"
	[ ! -e overlap ]
	[ "$(grep -cx last order)" = "$rounds" ]
	((slow <= rounds / 2))
}

@test "a holder that is killed: the head takes over when its lease ends" {
	local expires late best=100000

	for _ in 1 2 3; do
		rm -f order began
		hold a -t 2s
		queues 1
		queues 2
		kill_holder
		expires=$(expiry redlock:a)
		served 1 2
		late=$(($(began 1) - expires))
		echo "$late ms after the end of the lease"
		((late >= 0 && late < 5000))
		((late >= best)) || best=$late
	done
	((best < 300))
	eventually left
}

@test "a resting lock: who waits is served when the rest is over" {
	local expires late

	redlock -k a --at-least 3s -- true
	expires=$(expiry redlock:a)
	queues 1
	queues 2
	served 1 2
	late=$(($(began 1) - expires))
	echo "$late ms after the end of the rest"
	((late >= 0 && late < 1500))
	eventually left
}

@test "a lock that comes to rest while others wait: they are served when the rest is over" {
	local expires late

	hold a -t 1h --at-least 3s
	queues 1
	queues 2
	let_go
	expires=$(expiry redlock:a)
	(($(redis pttl redlock:a) <= 3000))
	served 1 2
	late=$(($(began 1) - expires))
	echo "$late ms after the end of the rest"
	((late >= 0 && late < 1500))
	eventually left
}

@test "--at-least of a waiter counts from its own turn" {
	hold a
	queues 1 --at-least 20s
	sleep 1
	let_go
	served 1
	(($(expiry redlock:a) >= $(began 1) + 18500))
	(($(expiry redlock:a) <= $(began 1) + 20050))
}

## Locks of others

@test "another client's lock is waited for, and its end noticed within a quarter of a second" {
	local late deleted best=100000

	for _ in 1 2 3 4 5; do
		rm -f order began
		redis set redlock:a another px 60000
		queues 1
		queues 2
		sleep 1
		[ "$(redis get redlock:a)" = another ]
		deleted=$(($(now_us) / 1000))
		redis del redlock:a
		served 1 2
		late=$(($(began 1) - deleted))
		echo "$late ms after its end"
		((late < 5000))
		((late >= best)) || best=$late
	done
	((best < 400))
	eventually left
}

@test "another client's lock that expires is followed by the first in the queue" {
	local expires late

	redis set redlock:a another px 2000
	expires=$(expiry redlock:a)
	queues 1
	queues 2
	served 1 2
	late=$(($(began 1) - expires))
	((late >= 0 && late < 2000))
	eventually left
}

@test "a foreign key without expiry, or of another type, is waited for and not touched" {
	redis set redlock:a another
	queues 1
	run -75 redlock -k a -w 700ms -- touch jumped
	[ "$(redis get redlock:a)" = another ]
	[ "$(redis pttl redlock:a)" = -1 ]
	redis del redlock:a
	served 1
	redis hset redlock:a f 1
	queues 2
	run -75 redlock -k a -w 700ms -- touch jumped
	[ "$(redis hget redlock:a f)" = 1 ]
	redis del redlock:a
	served 1 2
	[ ! -e jumped ]
	eventually left
}

## What is lost on the way

@test "a wake-up that is lost is made up for by the next refresh" {
	local began_us

	hold a -t 1h
	queues 1
	queues 2
	kill_holder
	began_us=$(now_us)
	redis del redlock:a
	served 1 2
	(($(now_us) - began_us < 9000000))
	eventually left
}

@test "a wake list that is deleted by hand is not missed" {
	local began_us wake

	hold a
	queues 1
	queues 2
	eventually blocked 2
	wake='{redlock:a}:~wake:'${token[1]}
	stop 1
	# so that the list is there and nobody has it yet
	redis client kill type normal
	let_go
	began_us=$(now_us)
	redis del "$wake"
	kill -CONT "${pid[1]}"
	served 1 2
	(($(now_us) - began_us < 9000000))
	eventually left
}

# blocked N: so many connections wait for a wake-up.
blocked() {
	(($(redis client list | grep -c ' cmd=blpop ') == $1))
}

@test "connections that are cut: the waiters keep their places" {
	local before

	hold a
	queues 1
	queues 2
	queues 3
	before=$(redis zrange "$queue" 0 -1 withscores)
	eventually blocked 3
	redis client kill type normal
	eventually blocked 3
	[ "$(redis zrange "$queue" 0 -1 withscores)" = "$before" ]
	let_go
	served 1 2 3
	eventually left
}

@test "FLUSHALL while they wait: all are served" {
	local name

	hold a -t 3s
	queues 1
	queues 2
	queues 3
	queues 4
	redis flushall
	redlock_ended 79
	for name in 1 2 3 4; do
		ends "$name" 0
	done
	[ ! -e overlap ]
	[ "$(wc -l <order)" = 4 ]
	eventually left
}

@test "the queue deleted by hand: its order is as before when the next is due" {
	hold a
	queues 1
	queues 2
	queues 3
	redis del "$queue" "$beat"
	eventually queued 3
	let_go
	served 1 2 3
	eventually left
}

@test "a server that restarts empty while 50 wait: those who are back are served in their order" {
	local name tickets i

	touch stay
	hold a
	for name in {1..50}; do
		comes "$name" -q
	done
	eventually 60 queued 50
	mapfile -t tickets < <(redis zrange "$queue" 0 -1)
	redis_restart
	redlock_ended 79
	eventually test -s order
	eventually 60 queued 49
	rm stay
	for name in {1..50}; do
		ends "$name" 0
	done
	[ ! -e overlap ]
	for i in "${tickets[@]}"; do
		[ "$i" = "$(head -n 1 tokens)" ] || echo "$i"
	done >expected
	tail -n +2 tokens | diff - expected
	eventually left
}

@test "a server that restarts with its data: all are served in their order" {
	local name

	hold a -t 1h
	for name in 1 2 3 4 5; do
		queues "$name"
	done
	redis save
	redis_kill
	redis_spawn
	eventually redis ping
	let_go
	served 1 2 3 4 5
	rm -f "$BATS_FILE_TMPDIR/redis.rdb"
	eventually left
}

## Servers that cannot be reached

@test "a server that is not there is tried until the wait ends, then 69" {
	local took

	redis_kill
	run -69 redlock -k a -- touch started
	took=$(now_us)
	run -69 --separate-stderr redlock -k a -w 1500ms -- touch started
	took=$(($(now_us) - took))
	says redis.sock
	((took >= 1500000 && took < 8000000))
	[ ! -e started ]
}

@test "a server that is frozen is tried until the wait ends, then 69, and no ghost is left" {
	local took

	redis_freeze
	took=$(now_us)
	run -69 --separate-stderr \
	    redlock -k a -w 2s --node-timeout 200ms -- touch started
	took=$(($(now_us) - took))
	says redis.sock
	((took >= 2000000 && took < 8000000))
	redis_thaw
	eventually 10 answers_left
	[ ! -e started ]
}

# answers_left: the server has done what it was asked, and nothing is left.
answers_left() {
	(($(calls eval) > 0)) && left
}

@test "a server that freezes or goes while we are in its queue: 69 when the wait ends" {
	local took

	# it is asked again, and does not answer, before that
	hold a -t 1h
	took=$(now_us)
	queues 1 -w 9s --node-timeout 300ms
	redis_freeze
	ends 1 69
	took=$(($(now_us) - took))
	((took >= 9000000 && took < 15000000))
	redis_thaw
	eventually left redlock:a

	took=$(now_us)
	queues 1 -w 2s
	redis_kill
	ends 1 69
	took=$(($(now_us) - took))
	((took >= 2000000 && took < 8000000))
	[ ! -e order ]
	redis_spawn
	touch let-go
	eventually gone "$bg_pid"
}

@test "a server that comes back during the wait serves us" {
	redis_kill
	comes 1
	sleep 1
	redis_spawn
	served 1
	redis_freeze
	comes 2 --node-timeout 200ms
	sleep 1
	redis_thaw
	served 1 2
	eventually left
}

@test "a server that freezes for a while: the waiters are served in their order" {
	hold a -t 1h
	queues 1 --node-timeout 300ms
	queues 2 --node-timeout 300ms
	queues 3 --node-timeout 300ms
	redis_freeze
	sleep 7
	redis_thaw
	let_go
	served 1 2 3
	eventually left
}

@test "a server that refuses us ends the wait at once" {
	local took

	redis acl setuser default resetpass '>s3cret'
	took=$(now_us)
	run -77 redlock -k a -w 5m -- touch started
	(($(now_us) - took < 5000000))
	[ ! -e started ]
}

## What it costs

@test "a waiter sends at most one command in two seconds while nothing happens" {
	local name took n monitor

	hold a -t 1h
	for name in 1 2 3 4 5; do
		queues "$name"
	done
	eventually blocked 5
	eval "exec $(cli monitor)" >commands 3>&- 4>&- &
	monitor=$!
	eventually grep -q OK commands
	took=$(now_us)
	sleep 12
	n=$(grep -cvE '^OK|^[0-9.]+ \[[0-9]+ lua\]' commands)
	took=$((($(now_us) - took) / 1000))
	kill "$monitor"
	echo "$n commands by 5 waiters in $took ms"
	((n * 2000 <= 5 * took))
	# but they refresh their places
	((n > 5))
	queued 5
	let_go
	served 1 2 3 4 5
}

@test "a hand-over takes at most five script calls, however many wait" {
	local name n

	hold a -t 1h
	for name in {1..20}; do
		comes "$name" -q
	done
	eventually 60 queued 20
	eventually blocked 20
	redis config resetstat
	let_go
	for name in {1..20}; do
		ends "$name" 0
	done
	n=$(calls eval)
	echo "$n script calls for 20 hand-overs"
	((n <= 5 * 20 + 5))
	eventually left
}
