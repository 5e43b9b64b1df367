#!/usr/bin/env bats
# Servers that reply what no Redis would, or when no Redis would.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load ../lib/common
load ../lib/servers

setup_file() { servers_start; }
setup() { servers_reset; }

teardown() {
	liar_stop
	nothing_left
}

teardown_file() { redis_stop_all; }

liar_stop() {
	[ -z "${liar_pid:-}" ] || kill -KILL "$liar_pid"
	rm -f liar.sock
}

# liar N LINE...: $liar is the URL of a server that passes all on to server N,
# but for what these lines of Python say; see helpers/liar.py.
liar() {
	local real=$BATS_FILE_TMPDIR/s$1.sock
	shift
	liar_stop
	printf '%s\n' "$@" >lies.py
	: >asked
	env -u TEST_MARK /usr/bin/python3 "$top/tests/helpers/liar.py" \
	    liar.sock "$real" lies.py >liar.log 2>&1 3>&- 4>&- &
	liar_pid=$!
	eventually test -S liar.sock
	liar=unix://$PWD/liar.sock
}

# These begin a lie, and write each request to the file "asked".
asks='def ask(words):
    open("asked", "a").write(words[0] + "\n")'
answers='import re
def answer(words, reply):
    open("asked", "a").write(words[0] + "\n")
    refused = isinstance(reply, list) and reply[:1] == [0] and len(reply) > 9'

# liar_requests [COMMAND]: how many requests there were.
liar_requests() {
	grep -cx "${1:-.*}" asked
}

# at_first NAME: the key of the lock is on server 1.
at_first() {
	[ "$(redis_at s1 exists "redlock:$1")" = 1 ]
}

# liar_taken: another run has the lock called "a" on server 1, until let_go.
liar_taken() {
	REDLOCK_REDIS=$(server_url 1) held_at_first
}

held_at_first() {
	held() { at_first "$1"; }
	hold a
}

## Age

@test "a server that reports a negative uptime counts as just restarted: 69, and -w waits for it" {
	liar 1 "$answers" \
	    '    if words[0] == "INFO":' \
	    '        reply = re.sub(rb"uptime_in_seconds:\d+",' \
	    '            b"uptime_in_seconds:-86400", reply)' \
	    '    return reply'
	redis_use "$liar"
	export REDLOCK_NODE_TIMEOUT=1s
	run -69 --separate-stderr redlock -k a -t 3s --restart-grace 3s -- \
	    touch started
	says 'a: not run: ' 'started <1s ago' '(--restart-grace)'
	[ ! -e started ]
	run -0 redlock -q -k a -t 3s --restart-grace 3s -w inf -- true
	run -69 --separate-stderr redlock --check -t 3s --restart-grace 1h
	[[ $output == *'started <1s ago'* ]]
}

## Numbers

# all_told LINE...: runs are told of servers 1 and 2, and of a liar that passes
# on to server 3.
all_told() {
	liar 3 "$answers" "$@" '    return reply'
	redis_use "$(server_url 1)" "$(server_url 2)" "$liar"
}

# Only acquire grants with that many parts.
granted='    if words[0][:4] == "EVAL" and isinstance(reply, list) and'\
' len(reply) > 3 and reply[0] == 1:'

@test "no server makes a second COMMAND run by naming another slot" {
	local best

	hold a
	for best in 2 1000 1001 0 -1; do
		all_told "    if refused: reply[8], reply[9] = $best, -2"
		run -75 --separate-stderr redlock -k a -- touch started
		says 'a: held by'
		run -75 redlock -k a -w 1s -- touch started
	done
	[ ! -e started ]
	for i in 1 2 3; do
		[ -z "$(redis_at "s$i" keys '*:~2')" ]
	done
	redis_use "$(server_url 1)" "$(server_url 2)" "$(server_url 3)"
	let_go
}

@test "no server raises the fence of the others by more than two days" {
	local fence

	for fence in 8999999999999999 'reply[4] + 3 * 86400 * 10 ** 6' \
	    9000000000000000 -1 '2 ** 63 - 1'; do
		all_told "$granted" "        reply[1] = $fence"
		redis_freeze s2 # so that the liar is not the last to answer
		redlock_bg -k a --node-timeout 20s -- sh -c 'echo "$REDLOCK_FENCE"'
		eventually liar_requests EVALSHA
		redis_thaw s2
		redlock_ended 0
		fence=$(<"$bg_out")
		((fence < $(now_us) + 2 * 86400 * 1000000))
		((fence > $(now_us) - 3600 * 1000000))
		for i in 1 2; do
			(($(redis_at "s$i" get '{redlock:a}:~fence') <= fence))
		done
	done
}

@test "no server moves the ticket of a waiter by more than a day" {
	local i score waiter

	all_told '    if refused: reply[4] += 10 * 365 * 86400 * 10 ** 6'
	REDLOCK_REDIS="$(server_url 1) $(server_url 2) $(server_url 3)" hold a
	redis_freeze s2 # so that the liar is not the last to answer
	"$REDLOCK_RUN" -q -k a -w 5m -- true 3>&- 4>&- &
	waiter=$!
	eventually liar_requests EVALSHA
	eventually queued_at 1
	redis_thaw s2
	for i in 1 2; do
		eventually blocked_at "$i"
		score=$(redis_at "s$i" zrange '{redlock:a}:~queue' 0 0 withscores |
			tail -n 1)
		((score < $(now_us) + 86400 * 1000000))
	done
	let_go
	wait "$waiter"
}

queued_at() {
	[ "$(redis_at "s$1" zcard '{redlock:a}:~queue')" = 1 ]
}

# blocked_at N: a waiter has shown its ticket there, and waits to be woken.
blocked_at() {
	redis_at "s$1" client list | grep -q ' cmd=blpop '
}

@test "no server keeps a run from a lock that the others grant" {
	local lie

	for lie in "$granted reply[1] = 0" "$granted reply[3] = 2" \
	    "$granted reply[4] = 0" "$granted reply[2] = 1" \
	    '    if words[0][:4] == "EVAL": reply = [0]' \
	    '    if words[0][:4] == "EVAL": reply = [0, 0, 1, 1, 0, None, -2, 0, 1, -2, 1, 9, 0]'; do
		all_told "$lie"
		run -0 redlock -k a -- true
		run -0 redlock -k a -w 5s -- true
	done
}

@test "two servers whose clocks are two days apart give 69 and a message about the clocks" {
	liar 2 "$answers" "$granted reply[4] += 2 * 86400 * 10 ** 6" \
	    '    return reply'
	redis_use "$(server_url 1)" "$liar"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'implausible clock, more than a day off'
	[ ! -e started ]
	servers_only_fences 1 2
}

## Haste

@test "a server that wakes a waiter again and again does not get requests without pause" {
	liar_taken
	liar 1 "$asks" \
	    '    return [b"list", b"1"] if words[0] == "BLPOP" else FORWARD'
	run -75 redlock -k a -r "$liar" -w 3s -- touch started
	echo "$(liar_requests) requests in 3 s"
	(($(liar_requests BLPOP) > 5 && $(liar_requests) < 250))
	[ ! -e started ]
	let_go
}

@test "a holder's lease of 292 million years is waited for like any other" {
	liar_taken
	liar 1 "$answers" \
	    '    if refused: reply[2] = reply[6] = 2 ** 63 - 1' \
	    '    return reply'
	run -75 redlock -k a -r "$liar" -w 2s -- touch started
	echo "$(liar_requests) requests in 2 s"
	(($(liar_requests) < 20))
	run -75 --separate-stderr redlock -k a -r "$liar" -- touch started
	says 'a: held by'
	[ ! -e started ]
	let_go
}

@test "a server whose lease always ends now does not get requests without pause" {
	liar_taken
	liar 1 "$answers" \
	    '    if refused: reply[6] = reply[9] = 0' \
	    '    return reply'
	run -75 redlock -k a -r "$liar" -w 3s -- touch started
	echo "$(liar_requests) requests in 3 s"
	(($(liar_requests) > 5 && $(liar_requests) < 250))
	[ ! -e started ]
	let_go
}

@test "a server that hangs up at each WAIT gives 69 after two node timeouts" {
	local took

	liar 1 "$asks" '    return CLOSE if words[0] == "WAIT" else FORWARD'
	took=$(now_us)
	redlock_bg -k a -r "$liar" --replicas 1 --node-timeout 1s -- \
	    touch started
	redlock_ended 69
	took=$(($(now_us) - took))
	grep -q '^redlock-run: a: not run: ' "$bg_err"
	echo "$(liar_requests WAIT) times in $((took / 1000)) ms"
	((took < 8000000 && $(liar_requests WAIT) > 1 && $(liar_requests) < 250))
	[ ! -e started ]
	servers_only_fences 1
}

@test "a server that hangs up after each reply does not get requests without pause" {
	liar 1 "$answers" '    return Last(reply)'
	redlock_bg -k a -r "$liar" -t 20s -- sleep 2
	redlock_ended 0
	echo "$(liar_requests) requests in 2 s"
	(($(liar_requests) > 5 && $(liar_requests) < 200))
}
