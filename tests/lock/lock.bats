#!/usr/bin/env bats
# The lock itself: its keys in Redis, mutual exclusion, renewal, release, and the
# variables of COMMAND.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/one_redis

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	# A short lease is no reason for a server to be quick.
	export REDLOCK_NODE_TIMEOUT=3s
}

# word NAME: the word NAME=... in the value of the lock called "a".
word() {
	redis get redlock:a | tr ' ' '\n' | sed -n "s/^$1=//p"
}

## Exclusion

# bats test_tags=quick
@test "no two COMMANDs run at once" {
	local pids=()

	for _ in 1 2 3 4; do
		worker 25 ran -q -E 0 &
		pids+=($!)
	done
	workers_end "${pids[@]}"
	(($(wc -l <ran) >= 1))
	not held a
}

@test "redlock-run and a client that uses SET NX exclude each other" {
	local worker pids=() ran

	for worker in 1 2; do
		worker 40 ours -q -E 0 &
		pids+=($!)
		for _ in {1..60}; do
			[ "$(redis set redlock:a "$worker" nx px 60000)" = OK ] ||
				continue
			mkdir inside || touch overlap
			echo >>theirs
			rmdir inside
			[ "$(redis get redlock:a)" = "$worker" ] || touch changed
			redis del redlock:a >/dev/null
		done &
		pids+=($!)
	done
	workers_end "${pids[@]}"
	[ ! -e changed ]
	ran=$(cat ours theirs | wc -l)
	((ran >= 2))
}

# bats test_tags=quick
@test "COMMAND runs only while the lock is held" {
	redlock -k a -- sh -c "$(cli exists redlock:a)" | grep -qx 1
	not held a
}

@test "locks of different names do not exclude each other" {
	run -0 redlock -k a -- "$REDLOCK_RUN" -k b -- echo both
	[ "$output" = both ]
}

@test "locks of different prefixes do not exclude each other" {
	may_use ''
	run -0 redlock -k a -- "$REDLOCK_RUN" -k a --prefix other: -- echo both
	[ "$output" = both ]
}

@test "after kill -9 of redlock-run and COMMAND the lock is free within the TTL" {
	local expires

	hold a -t 3s
	kill -KILL "$bg_pid"
	expires=$(expiry redlock:a)
	eventually gone "$bg_pid"
	eventually redlock -q -k a -- true
	(($(now_us) / 1000 >= expires))
	(($(now_us) / 1000 < expires + 5000))
	touch "$BATS_TEST_TMPDIR/let-go"
}

## Keys and values in Redis

@test "the lock's value names its owner in readable form" {
	local value before after

	before=$(($(now_us) / 1000))
	hold a
	after=$(($(now_us) / 1000))
	value=$(redis get redlock:a)
	echo "$value"
	grep -qxE "redlock-run/2 token=[0-9a-f-]{36} try=[0-9]+ since=[0-9]+ \
pid=[0-9]+ host=[^ ]+ user=[^ ]+ command=[^ ]+ ttl=60000( start=[0-9]+)? version=[^ ]+" <<<"$value"
	[ "$(word pid)" = "$bg_pid" ]
	[ "$(word host)" = "$(uname -n)" ]
	[ "redlock-run $(word version)" = "$(redlock -V | head -n 1)" ]
	[ "$(word user)" = "$(id -un)" ]
	(($(word since) >= before && $(word since) <= after))
	let_go
}

@test "the lock's value has COMMAND's name, without directory and arguments" {
	local sh

	sh=$(command -v sh)
	redlock -k a -- "$sh" -c "$(cli get redlock:a)" secret-argument >value
	grep -q ' command=sh ttl=' value
	not grep -q secret value
}

@test "each run has a token of its own" {
	redlock -k a -- sh -c 'echo $REDLOCK_TOKEN' >one
	redlock -k a -- sh -c 'echo $REDLOCK_TOKEN' >two
	not cmp -s one two
}

@test "the lock is a plain string that expires" {
	hold a -t 10s
	[ "$(redis type redlock:a)" = string ]
	(($(redis pttl redlock:a) <= 10000))
	(($(redis pttl redlock:a) > 0))
	[ -z "$(redis set redlock:a other nx px 1000)" ]
	let_go
}

# bats test_tags=quick
@test "a finished run leaves nothing in Redis but the fence, the history and the success" {
	redlock -k a -- true
	[ "$(redis keys '*' | sort | xargs)" = \
	    '{redlock:a}:~fence {redlock:a}:~runs {redlock:a}:~success' ]
	redis flushall
	redlock -k 'x{tag}y' -- true
	[ "$(redis keys '*' | sort | xargs)" = \
	    'redlock:x{tag}y:~fence redlock:x{tag}y:~runs redlock:x{tag}y:~success' ]
	redis flushall
	may_use ''
	redlock -k b --prefix '' -- true
	[ "$(redis keys '*' | sort | xargs)" = \
	    '{b}:~fence {b}:~runs {b}:~success' ]
}

# kept_for KEY DAYS
kept_for() {
	local s
	s=$(redis ttl "{redlock:a}:~$1")
	((s > ($2 - 1) * 86400 && s <= $2 * 86400))
}

@test "the fence and the history are kept for 30 days, the last success for 400" {
	redlock -k a -- true
	kept_for fence 30
	kept_for runs 30
	kept_for success 400
}

## Renewal

@test "a run renews its lease after every third of the TTL, with one request and nothing else" {
	local took calls pushes=

	! pushes_work || pushes='|hello|client.tracking'
	redlock -k a -t 2400ms --kill-after 50ms -- sh -c "
		$(cli config resetstat) >/dev/null
		date +%s%N >start
		sleep 4
		$(cli exists redlock:a) >exists
		date +%s%N >end
		$(cli info commandstats) >stats"
	[ "$(cat exists)" = 1 ]
	took=$((($(cat end) - $(cat start)) / 1000000))
	calls=$(sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p' stats)
	echo "$calls renewals in $took ms"
	((calls <= took / 800 + 2))
	((calls >= took / 1600))
	# what our own questions and the script's inside need, and no more
	run -1 grep -vE '^(# Commandstats.*|cmdstat_(evalsha|get|pexpire|set|time|pttl|zrange|auth|exists|config(.resetstat)?|info'"$pushes"'):.*|.?)$' \
	    <(tr -d '\r' <stats)
	[ -z "$output" ]
}

@test "a renewal sets the lease to its full length" {
	local before

	hold a -t 3s
	watch_begun
	before=$(expiry redlock:a)
	eventually lease_later_than "$before"
	(($(expiry redlock:a) - before > 500))
	let_go
}

# bats test_tags=quick
@test "a renewal leaves a foreign value alone and creates no key" {
	hold a -t 2s
	redis set redlock:a thief px 60000
	redlock_ended 79
	[ "$(redis get redlock:a)" = thief ]
	(($(redis pttl redlock:a) > 30000))

	redis del redlock:a
	hold a -t 2s
	redis del redlock:a
	redlock_ended 79
	not held a
}

## Release

# bats test_tags=quick
@test "a run releases the lock as soon as COMMAND ends, however long the lease" {
	redlock -k a -t 1d -- true
	not held a
	run -3 redlock -k a -t 1d -- sh -c 'exit 3'
	not held a
}

@test "a release deletes the lock only if this run holds it" {
	run -79 redlock -k a -- sh -c "
		$(cli set redlock:a thief px 60000) >/dev/null"
	[ "$(redis get redlock:a)" = thief ]
	(($(redis pttl redlock:a) > 30000))
	redis del redlock:a
	run -79 redlock -k a -- sh -c "
		$(cli del redlock:a) >/dev/null
		$(cli hset redlock:a f 1) >/dev/null"
	[ "$(redis hget redlock:a f)" = 1 ]
	[ "$(redis pttl redlock:a)" = -1 ]
}

@test "many short runs in a row leave no lock behind" {
	for _ in {1..20}; do
		redlock -k a -- sleep 0.0"$((RANDOM % 5))"
		not held a
	done
	# they end when the lease is about to be renewed
	for _ in {1..8}; do
		redlock -k a -t 1500ms --kill-after 50ms -- \
		    sleep "0.$((480 + RANDOM % 40))"
		not held a
	done
}

## --min-hold

# bats test_tags=quick
@test "--min-hold keeps the lock, and redlock-run exits at once" {
	local before expires

	before=$(($(now_us) / 1000))
	redlock -k a --min-hold 20s -- sh -c 'date +%s%N >started'
	expires=$(expiry redlock:a)
	(($(now_us) / 1000 < before + 15000))
	((expires >= before + 20000))
	((expires <= $(cat started) / 1000000 + 25000))
	run -75 redlock -k a -- true
}

@test "the value has --min-hold from the start on, and its cooldown the same" {
	redlock -k a -t 30s --min-hold 20s -- sh -c "$(cli get redlock:a)" >value
	grep -q ' command=sh ttl=30000 hold=20000\( start=\|$\)' value
	[ "$(redis get redlock:a)" = "cooldown $(<value)" ]
	redlock -k b -- sh -c "$(cli get redlock:b)" >value
	grep -q ' command=sh ttl=60000\( start=\|$\)' value
}

@test "--min-hold counts from the acquisition" {
	local before

	before=$(($(now_us) / 1000))
	redlock -k a --min-hold 20s -- sh -c 'date +%s%N >started; sleep 2'
	(($(expiry redlock:a) >= before + 20000))
	# not from the end
	(($(expiry redlock:a) < $(cat started) / 1000000 + 22000))
}

@test "--min-hold counts from the request, not from a late reply" {
	local sent

	redis_freeze
	redlock_bg -k a -t 60s --min-hold 20s --node-timeout 20s -- true
	eventually connected "$bg_pid"
	sent=$(($(now_us) / 1000))
	sleep 3
	redis_thaw
	redlock_ended 0
	(($(expiry redlock:a) < sent + 22000))
}

@test "the lock is free when --min-hold is over" {
	local before

	before=$(now_us)
	redlock -k a --min-hold 700ms -- true
	eventually redlock -q -k a -- true
	(($(now_us) - before >= 700000))
}

@test "a COMMAND that runs longer than --min-hold releases the lock at once" {
	redlock -k a --min-hold 100ms -- sleep 0.3
	not held a
}

@test "--min-hold may be longer or shorter than the lease" {
	redlock -k a -t 5s --min-hold 50s -- true
	(($(redis pttl redlock:a) > 30000))
	redis flushall
	redlock -k a -t 100s --min-hold 50s -- true
	(($(redis pttl redlock:a) <= 50000))
	(($(redis pttl redlock:a) > 30000))
}

@test "--min-hold also applies to a COMMAND that fails, is killed or is stopped by --max-run" {
	run -3 redlock -k a --min-hold 50s -- sh -c 'exit 3'
	held a
	run -137 redlock -k b --min-hold 50s -- sh -c 'kill -KILL $$'
	held b
	run -124 redlock -k c --min-hold 50s --max-run 100ms -- sleep 30
	held c
}

@test "a run neither renews nor releases a lock that --min-hold keeps" {
	redlock -k a --min-hold 2s -t 1500ms -- true
	eventually redlock -q -k a -t 1h --min-hold 1h -- true
	(($(redis pttl redlock:a) > 1800000))
}

## Locks of others

# untouched NAME: redlock-run does not change a foreign lock.
untouched() {
	local before ttl

	before=$(redis dump "redlock:$1" | md5sum)
	ttl=$(redis pttl "redlock:$1")
	run -75 --separate-stderr redlock -k "$1" -- touch started
	says "$1"
	run -75 redlock -k "$1" -t 200ms --min-hold 1h -- touch started
	run -9 --separate-stderr redlock -q -E 9 -k "$1" -- touch started
	silent
	[ ! -e started ]
	[ "$(redis dump "redlock:$1" | md5sum)" = "$before" ]
	if [ "$ttl" = -1 ]; then
		[ "$(redis pttl "redlock:$1")" = -1 ]
	else
		(($(redis pttl "redlock:$1") <= ttl))
	fi
}

# bats test_tags=quick
@test "a plain SET makes the lock busy" {
	redis set redlock:a 0b6f px 60000
	untouched a
}

@test "a key without expiry makes the lock busy" {
	redis set redlock:a 0b6f
	untouched a
	redis set redlock:b ''
	untouched b
	run -75 --separate-stderr redlock -k a -- true
	says 'a: held by another client (0b6f); it has no expiry; '
	[[ $stderr != *-w* ]]
}

@test "a key of another type makes the lock busy" {
	redis hset redlock:a 0b6f:1 1
	redis pexpire redlock:a 60000
	untouched a
	redis rpush redlock:b x
	untouched b
	redis zadd redlock:c 1 x
	untouched c
	redis xadd redlock:d '*' f x
	untouched d
}

@test "the message names the type of a key that is not a lock" {
	redis hset redlock:a f x
	run -75 --separate-stderr redlock -k a -- true
	[[ $stderr == *'(key is a hash, not a lock)'* ]]
	redis rpush redlock:b x
	run -75 --separate-stderr redlock -k b -w 100ms -- true
	[[ $stderr == *'(key is a list, not a lock)'* ]]
	redis acl setuser default -type
	run -75 --separate-stderr redlock -k a -- true
	[[ $stderr == *'another client (?)'* ]]
	redis acl setuser default +type
}

@test "a large or binary value makes the lock busy" {
	head -c 3000000 /dev/zero | tr '\0' 'x' |
		redis -x set redlock:a
	untouched a
	((${#stderr} < 10000))
	head -c 1000 /dev/urandom | redis -x set redlock:b
	untouched b
}

@test "a value in redlock-run's format makes the lock busy, whoever wrote it" {
	redis set redlock:a 'redlock-run/2 token= try= since= pid= host= user= command='
	untouched a
	redis set redlock:b 'redlock-run/2'
	untouched b
	redis set redlock:c 'redlock-run/3 something quite different'
	untouched c
}

## When it is busy

# bats test_tags=quick
@test "the message about a busy lock names the holder, since when it holds the lock, and the rest of the lease" {
	hold a -t 1h
	run -75 --separate-stderr redlock -k a -- true
	[ -z "$output" ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	says "a: held by $(id -un)@$(uname -n) pid $bg_pid (sh) for "
	[[ $stderr =~ lease\ (59m[0-9]*s|1h)\ left ]]
	[[ $stderr == *'; -w waits for it' ]]
	let_go
}

@test "-q silences the message about a busy lock" {
	hold a
	run -75 --separate-stderr redlock -q -k a -- true
	silent
	run -75 --separate-stderr redlock --quiet -k a -- true
	silent
	let_go
}

# bats test_tags=quick
@test "control characters in a foreign value do not reach the terminal" {
	redis set redlock:a $'\e[31mred\a\r\nredlock-run: a: free' px 60000
	run -75 --separate-stderr redlock -k a -- true
	says a
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr != *[$'\e\a\r']* ]]
	redis set redlock:b "redlock-run/2 token=x try=1 since=1 pid=1 host=h user=u command="$'\e[31m\x9b' px 60000
	run -75 --separate-stderr redlock -k b -- true
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	[[ $stderr != *[$'\e\x9b']* ]]
}

@test "redlock-run without -v prints nothing if all goes well" {
	run -0 --separate-stderr redlock -k a -t 3s -- sleep 1.2
	silent
}

@test "-v reports each step on stderr" {
	run -0 --separate-stderr redlock -v -k a -- echo out
	[ "$output" = out ]
	says a ms
	(($(wc -l <<<"$stderr") >= 2))
}

## COMMAND's variables

# bats test_tags=quick
@test "REDLOCK_KEY is the name, REDLOCK_TOKEN is in the value, REDLOCK_PID is the parent" {
	redlock -k 'a b' -- sh -c "
		printf '%s\n' \"\$REDLOCK_KEY\" \"\$REDLOCK_TOKEN\" \
		    \"\$REDLOCK_PID\" \$PPID
		$(cli get 'redlock:a b')" >told
	{
		read -r key
		read -r token
		read -r pid
		read -r parent
		read -r value
	} <told
	[ "$key" = 'a b' ]
	[[ $token =~ ^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$ ]]
	[ "$pid" = "$parent" ]
	[[ $value == *" token=$token "* ]]
	[[ $value == *" pid=$pid "* ]]
}

@test "COMMAND gets its own REDLOCK variables, not the inherited ones" {
	local variable

	for variable in KEY TOKEN FENCE PID SITE; do
		export "REDLOCK_$variable=stale-value"
	done
	redlock -k a -- env >told
	for variable in KEY TOKEN FENCE PID SITE; do
		[ "$(grep -c "^REDLOCK_$variable=" told)" = 1 ]
		grep "^REDLOCK_$variable=." told
	done
	not grep -q stale-value told
}

@test "REDLOCK_SITE is equal for the same servers and prefix, and different for others" {
	redlock -k a -- sh -c 'echo $REDLOCK_SITE' >one
	redlock -k b -t 5s -- sh -c 'echo $REDLOCK_SITE' >two
	may_use ''
	redlock -k a --prefix x: -- sh -c 'echo $REDLOCK_SITE' >prefix
	redlock -k a -r "$REDLOCK_REDIS?db=1" -- \
	    sh -c 'echo $REDLOCK_SITE' >database
	grep -q . one
	cmp one two
	not cmp -s one prefix
	not cmp -s one database
}

@test "REDLOCK_SITE neither contains nor depends on a password" {
	redlock -k a -- sh -c 'echo $REDLOCK_SITE' >one
	redis acl setuser default resetpass '>s3cret'
	REDISCLI_AUTH=s3cret redlock -k a -- sh -c 'echo $REDLOCK_SITE' >two
	cmp one two
	not grep -q s3cret two
}

## The fence

# run_fence: the fencing number that COMMAND is given
run_fence() {
	redlock -k a -- sh -c 'echo $REDLOCK_FENCE'
}

# bats test_tags=quick
@test "REDLOCK_FENCE is strictly greater at every acquisition" {
	local last=0 next

	for _ in {1..20}; do
		next=$(run_fence)
		[[ $next =~ ^[0-9]{1,16}$ ]]
		((next > last))
		last=$next
	done
	((last < 1 << 53))
	[ "$(redis get '{redlock:a}:~fence')" = "$last" ]
}

@test "the fence grows across FLUSHALL and across an empty restart" {
	local first second third

	first=$(run_fence)
	redis flushall
	second=$(run_fence)
	redis_restart
	third=$(run_fence)
	((first < second && second < third))
}

@test "the fence grows even if the last holder's clock was ahead" {
	local ahead

	ahead=$(($(now_us) + 3600000000))
	redis set '{redlock:a}:~fence' "$ahead"
	[ "$(run_fence)" = $((ahead + 1)) ]
	[ "$(run_fence)" = $((ahead + 2)) ]
}

@test "a clock far ahead of the server's does not move the fence to its time" {
	local limit next now

	needs faketime
	# A day ahead where the server has no counter, a minute where it has one.
	for limit in 86400 60; do
		now=$(now_us)
		next=$(faketime '+10 years' "$REDLOCK_RUN" -k a -- \
		    sh -c 'echo $REDLOCK_FENCE' || true)
		[[ $next =~ ^[0-9]+$ ]] ||
			skip "needs a binary that faketime can load"
		((next > now && next <= $(now_us) + limit * 1000000))
		redis set '{redlock:a}:~fence' 5
	done
}

@test "a malformed fence counter does not make the lock busy" {
	local next

	redis set '{redlock:a}:~fence' garbage
	next=$(run_fence)
	((next > 0))
	redis del '{redlock:a}:~fence'
	redis rpush '{redlock:a}:~fence' x
	run redlock -k a -- true
	[ "$status" -eq 0 ] || [ "$status" -eq 69 ]
	not held a
}

@test "a refusal does not change the fence" {
	local before

	run_fence >/dev/null
	before=$(redis get '{redlock:a}:~fence')
	redis set redlock:a somebody px 60000
	run -75 redlock -k a -- true
	[ "$(redis get '{redlock:a}:~fence')" = "$before" ]
}

@test "a run sends the whole script only to a server that does not have it" {
	redis script flush
	redis config resetstat
	redlock -k a -- true
	redlock -k b -- true
	[[ $(redis info commandstats) == *cmdstat_eval:calls=1,* ]]
}

@test "a renewal sends its script's digest, and the script itself if the server has forgotten it" {
	run -0 redlock -k a -t 1s -- sh -c "
		$(cli config resetstat) >/dev/null
		$(cli script flush) >/dev/null
		until $(cli info commandstats) | grep -q '^cmdstat_eval:'; do
			sleep 0.02
		done
		$(cli config resetstat) >/dev/null
		until $(cli info commandstats) | grep -q '^cmdstat_evalsha:'; do
			sleep 0.02
		done"
	not held a
	# Nothing may come between the two requests of a short run.
	run -0 redlock -k a -- sh -c "$(cli script flush) >/dev/null"
	not held a
}

@test "a user without permission for EVALSHA can hold a lock" {
	redis acl setuser default -evalsha
	run -0 --separate-stderr redlock -k a -t 1s -- sleep 1
	[ -z "$stderr" ]
	not held a
	redis acl setuser default +evalsha
	[ "$(redis info commandstats | grep -c '^cmdstat_eval:')" = 1 ]
}

@test "a server without EVALSHA gets the whole script each time" {
	redis_start renamed --rename-command EVALSHA ''
	run -0 --separate-stderr redlock -r "unix://$BATS_FILE_TMPDIR/renamed.sock" -k a -t 1s -- sleep 1
	[ -z "$stderr" ]
	[ "$(redis_at renamed exists redlock:a)" = 0 ]
}
