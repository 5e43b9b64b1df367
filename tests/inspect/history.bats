#!/usr/bin/env bats
# --history: the last runs, on one server and on several.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/servers
load ../lib/process

setup_file() {
	redis_start
	servers_start
}
setup() {
	redis_reset
	servers_reset
	servers_use_one
	export TZ=UTC
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

runs='{redlock:a}:~runs'
success='{redlock:a}:~success'

history() {
	run --separate-stderr redlock --history "$@"
}

# endings [ARG...]: how the runs of "a" ended, the newest first.
endings() {
	redlock --history -k a "$@" | sed 1d | awk '{ print $NF }' | xargs
}

# newest_ended WORD: that is how the newest ended.
newest_ended() {
	[[ $(endings) == "$1"?( *) ]]
}

# entries N: so many has the history of "a".
entries() {
	[ "$(redis xlen "$runs")" = "$1" ]
}

# newest_at WORD N...: that is the newest entry in the history of "a" on these
# servers.  Until it is "start" the holder puts back at once what one has lost.
newest_at() {
	local i word=$1
	shift
	for i; do
		[ "$(redis_at "s$i" xrevrange "$runs" + - COUNT 1 |
			sed -n 2p)" = "$word" ] || return 1
	done
}

# waits_for NAME: somebody does.
waits_for() {
	[ "$(redis exists "{redlock:$1}:~queue")" = 1 ]
}

# lock_free NAME: nobody has it.
lock_free() {
	[ "$(redis exists "redlock:$1")" = 0 ]
}

# fence_above N: a later acquisition of "a" has raised it.
fence_above() {
	(($(redis get '{redlock:a}:~fence') > $1))
}

# entry WORD TEXT: somebody writes into the history of "a".
entry() {
	redis xadd "$runs" '*' "$1" "$2"
}

owner='redlock-run/2 token=x try=1 since=1 pid=1 host=h user=u command=c'

## How runs end

# bats test_tags=quick
@test "--history shows each run: start, host, command, duration and end" {
	local pid
	redlock -k a -- sh -c 'echo $REDLOCK_PID >pid; exit 7' || true
	pid=$(cat pid)
	history -k a
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(head -n 1 <<<"$output" | xargs)" = \
	    'WHEN HOST PID COMMAND WAITED RAN ENDED' ]
	[ "$(wc -l <<<"$output")" = 2 ]
	[[ $(sed 1d <<<"$output" | tr -s ' #' ' ') =~ ^20[0-9]{2}-[0-9]{2}-[0-9]{2}\ [0-9:]{8}\ "$(uname -n) $pid sh "[0-9]+m?s\ [0-9]+m?s\ 7$ ]]
}

@test "--history shows the newest run first, with its status, signal or failure to start" {
	redlock -k a -- true
	redlock -k a -- sh -c 'exit 255' || true
	run -143 redlock -k a -- sh -c 'kill $$'
	run -127 redlock -k a -- ./not-there
	run -124 redlock -k a --max-run 0.1 -- sleep 60
	[ "$(endings)" = 'max-run not-run TERM 255 0' ]
	history --json -k a
	json '[r["ended"] for r in d] == ["max-run", "not-run", "killed", "exited", "exited"]'
	json '[r["status"] for r in d] == [None, 127, None, 255, 0]'
	json '[r["signal"] for r in d] == [15, None, 15, None, None]'
	json '[r["ran_ms"] is None for r in d] == [False, True, False, False, False]'
	json 'd[0]["ran_ms"] >= 100'
}

@test "--history shows a run that lost its lock as lost, however COMMAND ended" {
	# A connection that is lost is opened again, with a renewal.
	local renewed_at_once
	renewed_at_once=$(cli client kill type normal)
	# while it ran, when it ended, and to somebody else
	run -79 redlock -k a -- \
	    sh -c "$(cli del redlock:a); $renewed_at_once; sleep 60"
	[ "$(endings)" = lost ]
	run -79 redlock -k a -- redis-cli -s "$BATS_FILE_TMPDIR/redis.sock" \
	    del redlock:a
	[ "$(endings)" = 'lost lost' ]
	run -79 redlock -k a -- redis-cli -s "$BATS_FILE_TMPDIR/redis.sock" \
	    set redlock:a other
	[ "$(endings)" = 'lost lost lost' ]
	[ "$(redis get redlock:a)" = other ]
	redis del redlock:a
	redlock_bg -k a --on-loss warn -- \
	    sh -c "$(cli del redlock:a); $renewed_at_once
		until [ -e noticed ]; do sleep 0.02; done; exit 3"
	eventually grep -q 'a: lock lost: its key is gone' "$bg_err"
	touch noticed
	redlock_ended 3
	history --json -k a
	json '[r["ended"] for r in d] == ["lost"] * 4'
	json '[r["status"] for r in d] == [3, 0, 0, None]'
	json 'd[3]["signal"] == 15'
}

@test "--history shows a run with the lock as running, without it as dead" {
	hold a
	[ "$(endings)" = running ]
	sleep 0.2
	history --json -k a
	json 'd[0]["ended"] == "running" and d[0]["ran_ms"] >= 200'
	kill -KILL "$bg_pid"
	# Its lease ends.
	redis pexpire redlock:a 1
	eventually newest_ended died
	[ "$(redis exists redlock:a)" = 0 ]
	history --json -k a
	json '[(r["ended"], r["ran_ms"], r["status"]) for r in d] == [("died", None, None)]'
	redlock -k a -- true
	[ "$(endings)" = '0 died' ]
}

@test "--history shows a run as ended while its lock is in its cooldown" {
	redlock -k a --min-hold 1h -- true
	[ "$(endings)" = 0 ]
	redlock -k b -o -- true
	[ "$(redis xlen '{redlock:b}:~runs')" = 2 ]
}

@test "--history shows how long a run waited" {
	local since took waiter
	since=$(now_us)
	hold a
	redlock -k a -w 1m -- true &
	waiter=$!
	eventually waits_for a
	took=$((($(now_us) - since) / 1000))
	sleep 0.5
	let_go
	wait "$waiter"
	history --json -k a
	json "len(d) == 2 and d[0]['waited_ms'] >= 400 and d[1]['waited_ms'] <= $took"
	json 'd[1]["ran_ms"] >= 500'
}

@test "--history shows each of several readers or slot holders" {
	hold a --slots 3
	redlock -k a --slots 3 -- "$REDLOCK_RUN" --history -k a >seen
	[ "$(grep -c ' running$' seen)" = 2 ]
	let_go
	redis del "$runs"
	hold a -s
	redlock -k a -s -- "$REDLOCK_RUN" --history >seen
	[ "$(grep -c '^a .* running$' seen)" = 2 ]
	let_go
	[ "$(endings)" = '0 0' ]
}

@test "--history has a run of several locks under each, once it holds them all" {
	hold b
	run -75 redlock -k a -k b -k c -- true
	[ "$(redis exists "$runs" '{redlock:c}:~runs')" = 0 ]
	let_go
	redlock -k a -k b -k c -- sh -c 'exit 3' || true
	[ "$(endings)" = 3 ]
	history
	[ "$(sed 1d <<<"$output" | awk '{ print $1, $NF }' | sort | xargs)" = \
	    'a 3 b 0 b 3 c 3' ]
	hold a -k b
	eventually entries 3
	kill -KILL "$bg_pid"
	redis pexpire redlock:a 1
	eventually newest_ended died
}

## Contents

@test "--history without -k shows every lock that has a history, even free ones" {
	redlock -k a -- true
	redlock -k 'x{t}y' -- true
	may_use other:
	redlock -k b --prefix other: -- true
	may_use redlock:
	redis set redlock:foreign somebody
	history
	[ "$status" -eq 0 ]
	[ "$(awk '{ print $1 }' <<<"$output" | xargs)" = 'LOCK x{t}y a' ]
	history --json
	json '[r["name"] for r in d] == ["x{t}y", "a"]'
}

@test "--history of a name without runs prints a message: 1" {
	redis set redlock:a somebody
	redlock -k b -- true
	history -k a -k b
	[ "$status" -eq 1 ]
	[ "$stderr" = 'redlock-run: a: no runs recorded in the last 30 days' ]
	[ "$(wc -l <<<"$output")" -eq 2 ]
	history -q --json -k a
	[ "$status" -eq 1 ]
	[ -z "$stderr" ]
	json 'd == []'
	# A filter may leave no run.
	history -k b --failed
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$stderr" = 'redlock-run: b: no failed runs recorded in the last 30 days' ]
	history -k b --since 1ms
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$stderr" = 'redlock-run: b: no runs recorded in that time' ]
}

@test "--history without any lock is no error" {
	history
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$stderr" = 'redlock-run: no runs recorded in the last 30 days' ]
	history --json
	[ "$status" -eq 0 ]
	json 'd == []'
}

# on_terminal [ARG...]: the output of --history at a terminal.
on_terminal() {
	TERM=xterm /usr/bin/python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
	    "$REDLOCK_RUN" --history "$@" </dev/null 3>&- 4>&- | tr -d '\r'
}

# narrow COLUMNS ARG...: the same on a terminal with so many columns.
narrow() {
	TERM=xterm NO_COLOR=1 script -qec "stty cols $1
	    '$REDLOCK_RUN' --history ${*:2}" /dev/null </dev/null 3>&- 4>&- |
		tr -d '\r'
}

# past LOCK MS SECONDS STATUS: LOCK has run for MS that many SECONDS ago.
past() {
	past_at "$1" "$2" "$(($(date +%s) - $3))" "$4"
}

# past_at LOCK MS TIME STATUS: LOCK has run for MS, from TIME in seconds on.
past_at() {
	redis xadd "{redlock:$1}:~runs" "$(($3 * 1000 + $2))-0" \
	    end "${owner/=x/=$1$3} waited=0 ran=$2 ended=exited status=$4" >/dev/null
	(($4 != 0)) || redis set "{redlock:$1}:~success" \
	    "redlock-run/2 token=$1$3 try=0 since=${3}000 pid=1 host=h user=u command=c ran=$2" \
	    >/dev/null
}

@test "--history lists all locks in one table, newest first, each with its own bar" {
	past a 8000 500 0
	past b 80 400 0
	past a 4000 300 0
	history
	[ "$(sed 1d <<<"$output" | awk '{ print $1 }' | xargs)" = 'a b a' ]
	[ "$(NO_COLOR=1 on_terminal | sed 1d | grep -oE '#+' | awk '{ print length }' | xargs)" = \
	    '10 20 20' ]
	# Elsewhere there are no bars.
	not grep '#' <<<"$output"
	history -k a -k b
	[ "$(sed 1d <<<"$output" | awk '{ print $1 }' | xargs)" = 'a b a' ]
}

@test "--history shows 50 runs, or --rows N" {
	local i
	for i in {1..60}; do
		echo "XADD $runs * end \"${owner/=x/=t$i} waited=0 ran=$i ended=exited status=0\""
	done | redis >/dev/null
	[ "$(endings | wc -w)" -eq 50 ]
	[ "$(endings --rows 3 | wc -w)" -eq 3 ]
	[ "$(endings --rows 1000 | wc -w)" -eq 60 ]
	history --json --rows 2
	json 'len(d) == 2'
	run -64 redlock --history --rows 0
	run -64 redlock --history --rows x
	run -64 redlock --status --rows 3
}

@test "--history --failed and --since search all that is recorded" {
	local i
	past a 10 90000 7
	past a 10 80000 0
	for i in {1..90}; do
		past a 10 "$((8000 - i))" 0
	done
	past b 10 100 0
	[ "$(endings --failed)" = 7 ]
	[ "$(endings --since 2h)" = '' ]
	[ "$(endings --since 3h --rows 100 | wc -w)" -eq 90 ]
	[ "$(endings --since 1d --failed)" = '' ]
	history --since 2h --json
	json '[r["name"] for r in d] == ["b"]'
	run -64 --separate-stderr redlock --history --since 0
	[[ $stderr == *"--since: '0' is too short"* ]]
	run -64 redlock --status --failed
}

@test "--since, --until and --failed tell how many runs --rows leaves out, and how far the records go" {
	local i
	for i in {1..110}; do
		echo "XADD $runs * end \"${owner/=x/=t$i} waited=0 ran=1 ended=exited status=7\""
	done | redis >/dev/null
	history --failed
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -eq 51 ]
	[ "$stderr" = 'redlock-run: 60 earlier runs not shown; --rows 110 shows all' ]
	history --failed -q
	[ -z "$stderr" ]
	history
	[ -z "$stderr" ]
	history --failed --json
	[ -z "$stderr" ]
	json 'len(j["runs"]) == 50 and j["omitted"] == 60'
	# Once the records are full the failure before them is gone.
	for i in {1..200}; do
		echo "XADD $runs * end \"${owner/=x/=u$i} waited=0 ran=1 ended=exited status=0\""
	done | redis >/dev/null
	history a --failed --since 20d
	[[ $stderr == *$'a: no failed runs recorded in that time\nredlock-run: a: runs before '*' are not all recorded; a lock keeps its last 100 runs, for 30 days' ]]
	history --json
	# At the oldest of the 200 entries that are read.
	i=$(redis xrevrange "$runs" + - COUNT 200 | tail -n 3 | sed -n 's/^\([0-9]*\)-.*/\1/p')
	json "__import__('datetime').datetime.fromisoformat(j['complete_since'].replace('Z', '+00:00')).timestamp() == $i / 1000"
	history a --failed --since 1ms
	[[ $stderr != *'not all recorded'* ]]
	redis del "$runs" >/dev/null
	past a 10 90000 0
	history a --failed
	[[ $stderr != *'not all recorded'* ]]
	history a --failed --since 60d
	[[ $stderr == *'a: runs before '*' are not all recorded; '* ]]
}

@test "several servers: too few of them do not tell since when all runs are recorded" {
	servers_use 1 2 3
	redlock -k a -- true
	eventually newest_at end 1 2 3
	redis_kill s2
	history a --json --node-timeout 300ms
	[ "$status" -eq 0 ]
	json 'j["omitted"] == 0 and j["complete_since"]'
	redis_kill s3
	history a --json --node-timeout 300ms
	[ "$status" -eq 69 ]
	json 'len(j["runs"]) == 1 and j["omitted"] is None and j["complete_since"] is None'
}

@test "--all: the skips beyond the records are not all recorded either" {
	local i skip
	skip=${owner/since=1/since=$(date +%s)000}
	past a 10 90000 0
	for i in {1..120}; do
		echo "XADD {redlock:a}:~skips * skip \"${skip/=x/=t$i} waited=0 skipped=busy\" holder x"
	done | redis >/dev/null
	history a --all --since 1d --rows 200
	[ "$(grep -c skipped <<<"$output")" -eq 100 ]
	[[ $stderr == 'redlock-run: a: runs before '*' are not all recorded; '* ]]
	history a --all --json
	i=$(redis xrevrange '{redlock:a}:~skips' + - COUNT 100 | tail -n 5 | sed -n 's/^\([0-9]*\)-.*/\1/p')
	json "__import__('datetime').datetime.fromisoformat(j['complete_since'].replace('Z', '+00:00')).timestamp() == $i / 1000"
	# Without them the runs alone decide.
	history a --since 2d
	[ -z "$stderr" ]
}

@test "--history --since and --until take a duration, a local date or time, today and yesterday" {
	local midnight before when
	export TZ=IST-5:30
	midnight=$(date -d 00:00 +%s)
	before=$((midnight - 86400))
	past_at a 0 "$(date -d '2020-01-02 03:04:05' +%s)" 5
	past_at a 0 $((before - 1)) 4
	past_at a 0 $before 3
	past_at a 0 $((midnight - 1)) 2
	past_at a 0 "$midnight" 1
	[ "$(endings --since today)" = 1 ]
	[ "$(endings --since yesterday)" = '1 2 3' ]
	[ "$(endings --until yesterday)" = '3 4 5' ]
	[ "$(endings --since yesterday --until today)" = '1 2 3' ]
	[ "$(endings --since '2020-01-02 03:04:05' --until '2020-01-02 03:04:05')" = 5 ]
	[ "$(endings --until 2020-01-02)" = '' ]
	[ "$(endings --until '2020-01-02 03:05')" = 5 ]
	[ "$(endings --until $(($(date +%s) - before + 3600)))" = 5 ]
	[ "$(endings --since 3d --until today --failed --rows 1)" = 1 ]
	[ "$(endings --until 00:00 --rows 2)" = '1 2' ]
	history --json --until '2020-01-02 03:04:05'
	json '[r["since"] for r in d] == ["2020-01-01T21:34:05.000Z"]'
	for when in 2020-01-01T21:34:05.000Z '2020-01-01 21:34:05 UTC' \
	    2020-01-01T22:34:05+01:00 2020-01-02T03:04:05 @1577914445; do
		[ "$(endings --since "$when" --until "$when")" = 5 ]
	done
	[ "$(endings --since '3d ago' --until now --rows 1)" = 1 ]
	[ "$(endings --since -3d --until tomorrow --rows 1)" = 1 ]
}

@test "of a local time that comes twice, --since takes the earlier and --until the later moment" {
	export TZ=CET-1CEST,M3.5.0,M10.5.0/3
	past_at a 0 1603583999 1 # 01:59:59 CEST
	past_at a 0 1603585800 2 # 02:30, summer
	past_at a 0 1603589400 3 # 02:30, winter
	past_at a 0 1603591200 4 # 03:00
	[ "$(endings --since '2020-10-25 02:30' --until '2020-10-25 02:30')" = '3 2' ]
	[ "$(endings --since '2020-10-25 02:30')" = '4 3 2' ]
	[ "$(endings --until '2020-10-25 02:30')" = '3 2 1' ]
}

@test "--history names a TZ whose zone data this host lacks" {
	past a 10 100 0
	TZ=Nowhere/Utopia run -0 --separate-stderr redlock --history a
	[ "$stderr" = "redlock-run: TZ: this host has no zone data for 'Nowhere/Utopia'; times are in UTC" ]
	TZ=CET-1CEST run -0 --separate-stderr redlock --history a
	[ -z "$stderr" ]
}

@test "--since and --until refuse a word that is no time, and an empty span" {
	local word
	for word in someday 2026-02-30 '2026-11-01 24:00' $'\e[31m' ''; do
		run -64 --separate-stderr redlock --history --since "$word"
		[[ $stderr == *"is not a time; examples: 7d, 2026-11-01, '2026-11-01 02:00', 02:00, today, yesterday" ]]
		[[ $stderr != *$'\e'* ]]
	done
	run -64 --separate-stderr redlock --history --until 2026-02-30
	[[ $stderr == *"--until: '2026-02-30' is not a time;"* ]]
	run -64 --separate-stderr redlock --history --since 1d --since someday
	[[ $stderr == *"--since: 'someday' is not a time;"* ]]
	run -64 --separate-stderr redlock --history --until 20261101
	[[ $stderr == *"--until: '20261101' is a number without a unit; a day is written 2026-11-01, "* ]]
	run -64 --separate-stderr redlock --history --until 0
	[[ $stderr == *"--until: '0' is too short"* ]]
	run -64 --separate-stderr redlock --history --since 9999999999d
	[[ $stderr == *"--since: '9999999999d' is too long"* ]]
	for word in '1h 2h' 'today yesterday' '1h yesterday'; do
		run -64 --separate-stderr redlock --history --since "${word% *}" \
		    --until "${word#* }"
		[[ $stderr == *'--since is later than --until' ]]
	done
	run -64 redlock --status --until 1h
}

# nagios ARG...: call the check as a monitor does: by its path, with no
# environment and no standard input, and only one line in $output.
nagios() {
	run --separate-stderr env -i "$REDLOCK_RUN" -r "$REDLOCK_REDIS" \
	    --history -k a "$@" <&-
	[ -z "$stderr" ]
	[ "${#lines[@]}" -eq 1 ]
}

@test "--history --max-age checks the last success: 0, 1 or 69 and one line" {
	past a 1000 7200 0
	past a 1000 3600 3
	past a 1000 1800 9
	nagios --max-age 3h
	[ "$status" -eq 0 ]
	[[ $output =~ ^'a: OK: last success 2h'(0s|1s|2s|3s|4s|5s)?' ago on h; since then 2 failed'$ ]]
	nagios --max-age 1h
	[ "$status" -eq 1 ]
	[[ $output =~ ^'a: OVERDUE: last success 2h'([0-9]+m)?' ago on h, more than 1h; since then 2 failed'$ ]]
	nagios --max-age 3600
	[[ $output == *', more than 3600s; since then 2 failed' ]]
	# What runs now has not failed.
	hold a
	nagios --max-age 1h
	[ "$status" -eq 1 ]
	[[ $output == *'since then 2 failed' ]]
	let_go
	nagios --max-age 1h
	[ "$status" -eq 0 ]
	[[ $output == 'a: OK: last success '*" ago on $(uname -n)" ]]
	run -0 redlock --history -k a --max-age 1h -q
	[ -z "$output" ]
	redis_freeze
	nagios --max-age 1h --node-timeout 200ms
	[ "$status" -eq 69 ]
	[[ $output == 'a: UNKNOWN: too few servers answer: '*redis.sock:* ]]
}

@test "--history --max-age counts skips since the last success, but not those that it explains" {
	hold a
	run -75 redlock -k a -- true
	let_go
	nagios --max-age 1h
	[ "$status" -eq 0 ]
	[[ $output == 'a: OK: last success '*" ago on $(uname -n)" ]]
	hold a -t 1h
	run -75 redlock -k a -- true
	run -75 redlock -k a -w 100ms -- true
	nagios --max-age 1h
	[ "$status" -eq 0 ]
	[[ $output == 'a: OK: last success '*" ago on $(uname -n); since then 2 skipped" ]]
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 0
	redlock -k a -- false || true
	redis set redlock:a other
	run -75 redlock -k a -- true
	redis del redlock:a
	nagios --max-age 1h
	[[ $output == *'; since then 1 failed, 1 skipped' ]]
	nagios --max-age 1ms
	[ "$status" -eq 1 ]
}

@test "--history --max-age: 1 without a run, and without a success" {
	nagios --max-age 1h
	[ "$status" -eq 1 ]
	[ "$output" = 'a: OVERDUE: no runs recorded in the last 30 days' ]
	past a 1000 60 3
	nagios --max-age 1h
	[ "$status" -eq 1 ]
	[ "$output" = 'a: OVERDUE: no success recorded; 1 failed' ]
	hold a
	run -75 redlock -k a -- true
	nagios --max-age 1h
	[ "$status" -eq 1 ]
	[ "$output" = 'a: OVERDUE: no success recorded; 1 failed, 1 skipped' ]
	let_go
	redis set "$success" "${owner/host=h/host=%1B[31mh} ran=1" >/dev/null
	nagios --max-age 1h
	clean
	[[ $output == *'on \x1b[31mh, '* ]]
	redis acl setuser default resetpass '>s3cret'
	nagios --max-age 1h
	[ "$status" -eq 77 ]
}

@test "--history --max-age --json prints an object with the last success" {
	history a --max-age 1h --json
	[ "$status" -eq 1 ]
	[ -z "$stderr" ]
	json '(j["format"], j["name"], j["state"], j["max_age_ms"]) == (1, "a", "overdue", 3600000)'
	json 'j["last_success"] is None and j["age_ms"] is None and j["failed"] == j["skipped"] == 0'
	past a 1000 7200 0
	past a 1000 3600 3
	history a --max-age 1h --json
	[ "$status" -eq 1 ]
	json 'j["state"] == "overdue" and 7200000 <= j["age_ms"] < 7300000 and j["failed"] == 1'
	json '(j["last_success"]["host"], j["last_success"]["ran_ms"]) == ("h", 1000)'
	history a --max-age 3h --json
	[ "$status" -eq 0 ]
	json 'j["state"] == "ok" and j["servers"][0]["state"] == "ok"'
	json 'set(j["last_success"]) == set("token host pid user command version message since waited_ms ran_ms".split())'
	history a --max-age 3h --json -q
	[ "$status" -eq 0 ]
	json 'j["state"] == "ok"'
	history a --max-age 3h --json -r unix:///nowhere
	[ "$status" -eq 69 ]
	[ -z "$stderr" ]
	json 'j["state"] == "unknown"'
	json 'all(j[k] is None for k in ("last_success", "age_ms", "failed", "skipped"))'
	json '[s["state"] for s in j["servers"]] == ["unreachable"]'
}

@test "--history --max-age takes exactly one lock, and prints no table" {
	run -64 redlock --history --max-age 1h
	run -64 redlock --history -k a -k b --max-age 1h
	run -64 redlock --history -k a --max-age 0
	run -64 --separate-stderr redlock --history -k a --max-age 401d
	[[ $stderr == *"--max-age: '401d' is too long; the maximum is 400d" ]]
	run -1 redlock --history -k a --max-age 400d
	run -64 redlock --status -k a --max-age 1h
	for option in --failed --all '--since 1h' '--until 1h' '--rows 3'; do
		# shellcheck disable=SC2086
		run -64 redlock --history -k a --max-age 1h $option
	done
}

@test "--history --failed shows every end but status 0, and no run that still runs" {
	redlock -k a --max-run 100ms -- sleep 1000 || true
	redlock -k a -- /nonexistent || true
	redlock -k a -- sh -c 'kill -KILL $$' || true
	redlock -k a -- true
	hold a
	[ "$(endings --failed)" = 'KILL not-run max-run' ]
	let_go
}

@test "--history --json prints one object with the servers and each run" {
	local before
	before=$(date +%s)
	redlock -k a -- sh -c 'echo $REDLOCK_TOKEN $REDLOCK_PID >run' secret
	history --json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	json 'len(d) == 1 and len(d[0]) == 19 and d[0]["slot"] is None and d[0]["broken_by"] is None'
	json "d[0]['name'] == 'a' and d[0]['host'] == '$(uname -n)'"
	json "d[0]['user'] == '$(id -un)' and d[0]['command'] == 'sh'"
	json "'%s %d' % (d[0]['token'], d[0]['pid']) == '$(cat run)'"
	json 'd[0]["status"] == 0 and d[0]["signal"] is None'
	json '0 <= d[0]["waited_ms"] < 60000 and 0 <= d[0]["ran_ms"] < 60000'
	json '__import__("re").fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", d[0]["since"])'
	json "abs(__import__('calendar').timegm(__import__('time').strptime(d[0]['since'][:19], '%Y-%m-%dT%H:%M:%S')) - $before) < 300"
	[[ $output$(redis xrange "$runs" - +) != *secret* ]]
}

# name_bytes NAME: what Redis keeps of it.
name_bytes() {
	local key sum=0
	for key in $(redis keys "*$1*"); do
		((sum += $(redis memory usage "$key" samples 0)))
	done
	echo "$sum"
}

@test "a name takes 5 kB after its first run, and at most 100 kB with a full history" {
	local i
	redlock -k first -- true
	(($(name_bytes first) <= 5500))
	redis set redlock:full somebody
	for i in {1..110}; do
		redlock -k full -q -- true || true
	done
	redis del redlock:full
	for i in {1..110}; do
		redlock -k full -q -- true
	done
	i=$(name_bytes full)
	echo "$i bytes"
	((i > 50000 && i <= 105000))
}

@test "--history draws a bar relative to the longest run of the lock" {
	local ms
	for ms in 4000 1000 100 0; do
		entry end "${owner/=x/=$ms} waited=0 ran=$ms ended=exited status=0"
	done
	[ "$(NO_COLOR=1 on_terminal -k a | sed 1d | awk '{ print $7, $8 }' | sort -n | tr -s '\n' ,)" = \
	    '0ms 0,1s #####,4s ####################,100ms #,' ]
	# and in eighths where there are characters for that
	output=$(NO_COLOR=1 LC_ALL=C.UTF-8 on_terminal -k a)
	[[ $output == *' 4s     ████████████████████  0'* ]]
	[[ $output == *' 1s     █████                 0'* ]]
	[[ $output == *' 100ms  ▌                     0'* ]]
	needs_loader	# every locale of musl has UTF-8
	output=$(NO_COLOR=1 LC_ALL=no_such_language.UTF-8 on_terminal -k a 2>/dev/null)
	[[ $output == *' 1s     #####                 0'* ]]
}

@test "--history shows local times" {
	entry start "${owner/since=1/since=1700000000000} waited=0"
	TZ=UTC history -k a
	[[ $output == *$'\n2023-11-14 22:13:20  '* ]]
	TZ=UTC-5 history -k a
	[[ $output == *$'\n2023-11-15 03:13:20  '* ]]
}

@test "--history keeps and shows a hundred runs; an end entry alone is enough" {
	local i
	for i in {1..120}; do
		echo "XADD $runs * start \"${owner/=x/=t$i} waited=0\""
		echo "XADD $runs * end \"${owner/=x/=t$i} waited=0 ran=$i ended=exited status=0\""
	done | redis >/dev/null
	redlock -k a -- true
	local kept
	kept=$(redis xlen "$runs")
	((kept >= 200 && kept < 400)) # Redis drops them a block at a time
	history --json -k a --rows 1000
	json 'len(d) == 100 and all(r["ended"] == "exited" for r in d)'
	redis xtrim "$runs" maxlen 3 >/dev/null
	[ "$(endings)" = '0 0' ]
	for i in {1..150}; do
		echo "XADD $runs * end \"${owner/=x/=t$i} ended=exited status=0\""
	done | redis >/dev/null
	[ "$(endings --rows 1000 | wc -w)" = 151 ]
}

@test "--history on a narrow terminal cuts long messages and bars, not how runs ended" {
	local least bar
	past a 500 80 0
	run -3 redlock -k a -m "$(printf 'x%.0s' {1..99})" -- sh -c 'exit 3'
	# What the columns take with 12 for COMMAND, and without a bar.
	least=$(redlock --history -k a | sed -n '1s/ *$//p' | wc -m)
	least=$((least - 1 - 103 + 12))
	for bar in 0 8 20; do
		run narrow $((least + (bar > 0 ? 2 : 0) + bar)) -k a
		[[ ${lines[1]} =~ '  sh: xxxxxxx>  '.*'  3'$ ]]
		[[ ${lines[2]} == *'  0' ]]
		[ "$(grep -oE '#+' <<<"${lines[2]}" | wc -m)" -eq $((bar > 0 ? bar + 1 : 0)) ]
	done
	run narrow $((least + 32)) -k a
	[[ ${lines[1]} =~ '  sh: xxxxxxxxxxxxxxxxx>  '.*'  3'$ ]]
}

@test "--history on a terminal of 60 columns cuts how runs ended last" {
	local end='broken by somebody@a-host-with-a-long-name (--break)'
	entry end "${owner/host=h/host=a-host-with-a-long-name} waited=10 ran=9 ended=exited status=7"
	entry start "${owner/token=x/token=y} waited=60000"
	entry broken "${owner/token=x/token=y} by=somebody%40a-host-with-a-long-name"
	run narrow 80 -k a
	[[ ${lines[1]} == 20* && ${lines[1]} == *'  9ms  7' ]]
	[[ ${lines[2]} == 19* && ${lines[2]} == *"  $end" ]]
	# The day and the end are left.
	run narrow 66 -k a
	[[ ${lines[0]} =~ ^'WHEN'' '+ENDED$ ]]
	[[ ${lines[2]} =~ ^19[0-9-]{8}.*"  $end"$ ]]
	run narrow 60
	[[ ${lines[0]} =~ ^'LOCK  WHEN'' '+ENDED$ ]]
	[[ ${lines[1]} =~ ^'a     20'[0-9-]{8}'>  7'$ ]]
	[[ ${lines[2]} =~ ^'a     19'[0-9-]{8}'>  broken by somebody@a-host-with-a-'.*'>'$ ]]
}

@test "--history shows ends in colours at a terminal, unless NO_COLOR is set" {
	redlock -k a -- sh -c 'exit 3' || true
	redlock -k a -- true
	on_terminal -k a >seen
	grep -q $'\e\\[1;31m3\e\\[0m' seen
	# A success does not stand out.
	grep -q ' 0$' seen
	NO_COLOR=1 on_terminal -k a >seen
	grep -q ' 3' seen
	not grep -q $'\e' seen
	redlock --history -k a >seen
	not grep -q $'\e' seen
}

@test "--status and --history are cut at the width of a terminal, wide characters too" {
	redlock -k 部署 -m "$(printf 'long %.0s' {1..30})" -- true
	redlock -k b --min-hold 1h -m "$(printf '部署%.0s' {1..20})" -- true
	for mode in --status --history; do
		TERM=xterm NO_COLOR=1 /usr/bin/python3 -c '
import fcntl, os, pty, struct, sys, termios
def size(fd):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 61, 0, 0))
pid, fd = pty.fork()
if pid == 0:
    size(1)
    os.execv(sys.argv[1], sys.argv[1:])
out = b""
try:
    while data := os.read(fd, 4096):
        out += data
except OSError:
    pass
os.waitpid(pid, 0)
import unicodedata
def width(text):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
lines = out.decode().splitlines()
for line in lines:
    assert width(line) < 62 and (">" in line or line.startswith("LOCK")), line
    if line[-1] == ">":
        assert width(line) > 59, line
    elif line[-1] == "0": # a cut cell in front keeps the columns in line
        assert width(line[:-1]) == lines[0].rindex(lines[0].split()[-1]), lines
' "$REDLOCK_RUN" "$mode" 3>&- 4>&-
	done
}

@test "--history -v adds the tokens" {
	redlock -k a -- sh -c 'echo $REDLOCK_TOKEN >token'
	history -v -k a
	[[ $(sed -n 3p <<<"$output") == "  token $(cat token)"* ]]
	[ "$(wc -l <<<"$output")" = 3 ]
}

@test "--history escapes or drops foreign entries" {
	local nasty=$'\e[31m\a\u202e"<'
	redlock -k a -- true
	redis set redlock:b x
	entry start garbage
	entry start "$owner waited=999999999999999999999999"
	entry end "${owner/=x/=y} waited=-1 ran=x ended=exited status=1e9"
	entry end "${owner/=x/=z} ended=nonsense"
	entry lost "${owner/=x/=v} ran=9000000000000000 ended=killed signal=99"
	entry end "${owner/command=c/command=$(tr ' ' _ <<<"$nasty")} ended=exited status=1"
	entry strange "$owner"
	entry start "${owner/since=1/since=9223372036854775807}"
	head -c 3000000 /dev/zero | tr '\0' x | redis -x xadd "$runs" '*' end
	redis xadd "$runs" '*' a b c d >/dev/null
	redis xadd "$runs" 18446744073709551615-1 end "${owner/=x/=w} ended=exited"
	redis rpush '{redlock:c}:~runs' x
	history
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -lt 9 ]
	clean
	history -v
	[ "$status" -eq 0 ]
	history --json
	[ "$status" -eq 0 ]
	json '{r["token"] for r in d} >= {"v", "w", "x", "y", "z"} and len(d) == 6'
	json '[r["ended"] for r in d if r["token"] == "v"] == ["lost"]'
	json '[r["ended"] for r in d if r["token"] == "z"] == [None]'
}

# forge FORM...: the commands that write runs of "a" with an entry of every kind,
# each with another field that has the FORM, of bytes for a terminal.
forge() {
	/usr/bin/python3 - "$@" <<-'EOF'
	import sys
	head = dict(zip("token try since pid host user command ttl lease hold"
	    " start slots version message".split(),
	    "t 1 5000 1 h u c 9000 9000 9000 7 1 1.0 m".split()))
	end = dict(waited=1, ran=2, ended="exited", status=3, signal=9, slot=1)
	runs, skips = "{redlock:a}:~runs", "{redlock:a}:~skips"
	n = 0
	def text(own, field, form):
	    pairs = {**head, "token": "t%d" % n, **own, field: form}
	    return "redlock-run/2 " + " ".join("%s=%s" % p for p in pairs.items())
	def add(stream, kind, *texts):
	    print('XADD %s * %s %s' % (stream, kind,
	        " ".join(t if t == "holder" else '"%s"' % t for t in texts)))
	def whole(kind, own):
	    add(runs, kind, text(own, "x", 1))
	for form in sys.argv[1:]:
	    for kind, own, before in [("start", dict(waited=1, slot=1), []),
	            ("end", end, ["start"]), ("lost", end, ["start"]),
	            ("broken", dict(by="u@h", slot=1), []),
	            ("broken", dict(by="u@h", slot=1), ["start", "end"]),
	            ("skip", dict(waited=1, skipped="busy"), None),
	            ("holder", {}, None)]:
	        for field in [*head, *own]:
	            n += 1
	            evil = text(own, field, form)
	            if before is not None:
	                for earlier in before:
	                    whole(earlier, end)
	                add(runs, kind, evil)
	            elif kind == "skip":
	                add(skips, "skip", evil, "holder", text({}, "x", 1))
	            else:
	                add(skips, "skip", text(dict(skipped="busy"), "x", 1),
	                    "holder", evil)
	        n += 1
	        add(skips if before is None else runs,
	            "skip" if before is None else kind, form)
	EOF
}

@test "--history escapes every field of every kind of entry" {
	local options words
	forge '\x1b]0;owned\x07\x9b2J\xe2\x80\xae' \
	    '%1b]0;owned%07%9b2J%e2%80%ae%0aforged%0drow' >entries
	redis <entries >/dev/null
	[ "$(redis xlen "$runs")" -gt 200 ]
	for options in '--all' '--all -v' '--all --json' '--failed'; do
		# shellcheck disable=SC2086
		history $options --rows 1000 -k a
		[ "$status" -eq 0 ]
		clean
		not grep -E '^(forged|row)' <<<"$output"
		# Each kind of text that a row shows arrived.
		for words in 'broken by' 'released by' 'held by'; do
			[ "$options" != --all ] ||
				grep -qF "$words "'\x1b]0;owned\x07\x9b2J' <<<"$output"
		done
	done
	nagios --max-age 1h
	clean
}

## How it is written

@test "recording the history costs no extra request" {
	local n=3

	redlock -k a -- true
	redis config resetstat
	redlock -k a -- true
	[ "$(scripts_run)" = 2 ]
	# and each of several servers gets an acquire, a renewal and a release, and one
	# that pushes a second renewal
	! pushes_work || n=4
	servers_use 1 2 3
	redlock -k b -- true # the servers get the script
	redis_at s1 config resetstat
	hold a
	eventually newest_at start 1 2 3
	watch_begun s1
	let_go
	eventually newest_at end 1
	[ "$(scripts_run s1)" = $n ]
	[ "$(redis_at s1 xlen "$runs")" = 2 ]
}

@test "a run that does not get the lock is no run of the history" {
	hold a
	run -75 redlock -k a -- true
	run -75 redlock -k a -w 100ms -- true
	[ "$(redis xlen "$runs")" = 1 ]
	[ "$(endings)" = running ]
	let_go
	[ "$(redis xlen "$runs")" = 2 ]
}

## Runs that were skipped

# holder_token NAME: the token of the run that has it.
holder_token() {
	redis get "redlock:$1" | sed 's/.*token=\([^ ]*\).*/\1/'
}

# bats test_tags=quick
@test "--history --all shows the runs that were skipped: when, who, why and who had the lock" {
	local token
	hold a -m 'for the audit'
	token=$(holder_token a)
	run -75 redlock -k a -- echo one
	run -75 redlock -k a -w 200ms -m mine -- cat two
	run -64 redlock -k a --slots 3 -- true
	run -64 redlock -k a -w 1m --slots 3 -- true
	history -k a --all
	[ "$status" -eq 0 ]
	[ "$(sed 1d <<<"$output" | grep -c 'skipped: in use in another mode by ')" = 2 ]
	[ "$(sed 1d <<<"$output" | grep -c ' skipped: held by .*(sh: for the audit)$')" = 1 ]
	[ "$(sed 1d <<<"$output" | grep -c ' skipped after the wait: held by ')" = 1 ]
	[[ $(sed 1d <<<"$output" | grep ' echo ') =~ ^20[0-9-]+\ [0-9:]+\ +"$(uname -n)"\ +[0-9]+\ +echo\ +[0-9]+ms\ +-\ +skipped ]]
	history --json --all
	json '[r["reason"] for r in d] == ["mode", "mode", "waited", "busy", None]'
	json '[r["ended"] for r in d] == ["skipped"] * 4 + ["running"]'
	json '[r["command"] for r in d] == ["true", "true", "cat", "echo", "sh"]'
	json 'd[2]["waited_ms"] >= 150 and d[2]["message"] == "mine" and d[3]["waited_ms"] < 20000'
	json 'all(r["ran_ms"] is None and r["status"] is None and r["signal"] is None for r in d[:4])'
	json "all(r['held_by']['token'] == '$token' and r['held_by']['message'] == 'for the audit' for r in d[:4])"
	json "all((r['host'], r['user']) == ('$(uname -n)', '$(id -un)') for r in d)"
	json 'd[4]["held_by"] is None and d[3]["held_by"].keys() == {"token", "host", "pid", "user", "command", "message", "version"}'
	history -v --all -k a
	[ "$(grep -c '^  token ' <<<"$output")" = 5 ]
	let_go
	# Without --all it is as if they had not been.
	[ "$(endings)" = 0 ]
}

@test "--history --all shows what had the lock: a cooldown, readers, another program, other waiters" {
	redlock -k a --min-hold 1h -m why -- true
	run -75 redlock -k a -- true
	redis del redlock:a
	redis set redlock:a $'\e[31mother'
	run -75 redlock -k a -- true
	redis del redlock:a
	redis hset redlock:a f x
	run -75 redlock -k a -- true
	redis del redlock:a
	redis zadd '{redlock:a}:~queue' 1 rival
	redis hset '{redlock:a}:~beat' rival \
	    '9000000000000000 exclusive 1 redlock-run/2 token=rival try=1 x'
	run -75 redlock -k a -- true
	redis del '{redlock:a}:~queue' '{redlock:a}:~beat' '{redlock:a}:~wake:rival'
	hold a -s
	run -75 redlock -k a -- true
	let_go
	history -k a --all
	clean
	[ "$(sed -n 's/.* skipped: //p' <<<"$output")" = "held by $(id -un)@$(uname -n) pid $bg_pid (sh)
other runs were ahead in the queue
held by another client (key is a hash, not a lock)
held by another client (\\x1b[31mother)
in cooldown after $(sed -n 's/.*in cooldown after //p' <<<"$output")" ]
	[[ $output == *"in cooldown after $(id -un)@"*' (true: why)' ]] ||
	    [[ $output == *"in cooldown after $(id -un)@"*' (true: why)'$'\n'* ]]
	history --json -k a --all
	json '[r["held_by"] and r["held_by"]["token"][1:8] for r in d if r["reason"]][1:4] == [None, " hash", "[31moth"]'
}

@test "--history --all: --failed, --since and --rows choose among runs and skips" {
	redlock -k a -- true
	hold a
	run -75 redlock -k a -- true
	let_go
	redlock -k a -- false || true
	history --json -k a --all
	json '[r["ended"] for r in d] == ["exited", "skipped", "exited", "exited"]'
	history --json -k a --all --failed
	json '[(r["ended"], r["status"]) for r in d] == [("exited", 1), ("skipped", None)]'
	history --json -k a --all --rows 2
	json '[r["ended"] for r in d] == ["exited", "skipped"]'
	history --json -k a --all --since 1ms
	json 'd == []'
	# A lock that nobody ever got is known by its skips alone.
	redis set redlock:b other
	run -75 redlock -k b -- true
	history --all
	[ "$(awk '$1 == "b"' <<<"$output" | wc -l)" = 1 ]
	history
	[ "$(awk '$1 == "b"' <<<"$output" | wc -l)" = 0 ]
	run -0 redlock --history b --all
	run -1 redlock --history b
	run -64 redlock --status --all
	run -64 redlock --history a --max-age 1h --all
}

@test "skips cost no request, expire like the runs and never push one out" {
	local i
	redlock -k a -- true
	hold a
	redis config resetstat
	run -75 redlock -k a -- true
	[ "$(scripts_run)" = 1 ] || pushes_work # or a renewal that asks for them
	(($(redis pttl '{redlock:a}:~skips') > 29 * 86400000))
	for i in {1..300}; do
		echo "XADD {redlock:a}:~skips * skip \"${owner/=x/=t$i} waited=0 skipped=busy\" holder x"
	done | redis >/dev/null
	run -75 redlock -k a -- true
	(($(redis xlen '{redlock:a}:~skips') < 250))
	history --json -k a --all --rows 1000
	json 'len(d) == 102 and [r["ended"] for r in d if r["ended"] != "skipped"] == ["running", "exited"]'
	let_go
}

@test "a skip that cannot be recorded changes nothing" {
	hold a
	redis config set maxmemory 1
	run -75 --separate-stderr redlock -k a -- true
	[[ $stderr == *'a: held by '* ]]
	run -75 redlock -k a -w 100ms -- true
	redis config set maxmemory 0
	redis acl setuser default -xadd
	run -75 --separate-stderr redlock -k a -- true
	[[ $stderr == *'a: held by '* ]]
	redis acl setuser default +xadd
	[ "$(redis exists '{redlock:a}:~skips')" = 0 ]
	redis set '{redlock:a}:~skips' mine
	run -75 redlock -k a -- true
	run -75 redlock -k a -w 100ms -- true
	[ "$(redis get '{redlock:a}:~skips')" = mine ]
	history -k a --all
	[ "$status" -eq 0 ]
	redis del '{redlock:a}:~skips'
	let_go
}

@test "neither a signal that ends the wait nor a server that is down is a skip" {
	local waiter
	hold a
	"$REDLOCK_RUN" -k a -w 1m -- true 3>&- 4>&- &
	waiter=$!
	eventually waits_for a
	kill "$waiter"
	wait "$waiter" || true
	run -69 redlock -k a -r unix:///nowhere -- true
	let_go
	[ "$(redis exists '{redlock:a}:~skips')" = 0 ]
}

@test "of several locks the one that was busy has the skip" {
	hold b
	run -75 redlock -k a -k b -k c -- true
	run -75 redlock -k a -k b -k c -w 100ms -- true
	let_go
	history --json --all
	json '[r["name"] for r in d if r["ended"] == "skipped"] == ["b", "b"]'
	json '[r["reason"] for r in d] == ["waited", "busy", None]'
}

@test "--history --all escapes or drops foreign skips" {
	local skips='{redlock:a}:~skips' nasty=$'\e[31m\a\u202e"<'
	redis xadd "$skips" '*' skip "$owner skipped=busy" holder "$nasty"
	redis xadd "$skips" '*' skip "${owner/=x/=y} skipped=never" holder z
	redis xadd "$skips" '*' skip "${owner/=x/=z} waited=x skipped=mode"
	redis xadd "$skips" '*' skip garbage holder z
	redis xadd "$skips" '*' a b c d
	head -c 300000 /dev/zero | tr '\0' x | redis -x xadd "$skips" '*' skip >/dev/null
	redis xadd "$skips" '*' skip "${owner/=x/=v} skipped=waited" holder \
	    "${owner/command=c/command=$(tr ' ' _ <<<"$nasty")}"
	history --all
	[ "$status" -eq 0 ]
	clean
	history --json --all
	json '{r["token"] for r in d} == {"v", "x", "z"}'
	nagios --max-age 1h
	clean
	[ "$output" = 'a: OVERDUE: no success recorded; 3 skipped' ]
}

@test "several servers: a skip is shown if the servers that recorded it excluded a majority" {
	local skips='{redlock:a}:~skips'
	servers_use 1 2 3
	servers_learn 1 2 3
	redlock -k a -- true
	hold a
	redis_at s1 config resetstat
	run -75 redlock -k a -- true
	run -75 redlock -k a -w 200ms -- true
	run -64 redlock -k a --slots 2 -- true
	let_go
	history --json -k a --all
	json '[r["reason"] for r in d] == ["mode", "waited", "busy", None, None]'
	json 'all(r["held_by"]["command"] == "sh" for r in d[:3])'
	# One server of three is not enough, and a start outweighs the rest.
	redis_at s1 xadd "$skips" '*' skip "${owner/=x/=alone} skipped=busy"
	for i in 1 2 3; do
		redis_at "s$i" xadd "$skips" '*' skip "${owner/=x/=ran} skipped=busy"
		redis_at "s$i" xadd "$skips" '*' skip "${owner/=x/=two} skipped=busy"
	done >/dev/null
	redis_at s3 xadd "$runs" '*' start "${owner/=x/=ran} waited=1"
	history --json -k a --all
	json '[r["token"] for r in d if r["ended"] == "skipped" and len(r["token"]) < 9] == ["two"]'
	json '[r["ended"] for r in d if r["token"] == "ran"] == ["died"]'
}

@test "a run that gave up before the server granted the lock leaves no trace in the history" {
	local fence
	redlock -k a -- true
	fence=$(redis get '{redlock:a}:~fence')
	redis_freeze
	run -69 redlock -k a --node-timeout 100ms -- true
	redis_thaw
	eventually fence_above "$fence"
	eventually lock_free a
	[ "$(endings)" = 0 ]
	entries 2
}

@test "a lock works where no history can be written" {
	redlock -k a -- sh -c "$(cli config set maxmemory 1)"
	[ "$(redis exists redlock:a)" = 0 ]
	[ "$(redis config get maxmemory | tail -n 1)" = 1 ]
	redis config set maxmemory 0
	redis acl setuser default -xadd
	redis del "$runs"
	run -3 --separate-stderr redlock -k a -- sh -c 'exit 3'
	silent
	[ "$(redis exists redlock:a "$runs")" = 0 ]
}

@test "--history reports a missing permission" {
	redlock -k a -- true
	redis acl setuser default -xrevrange
	history -k a
	[ "$status" -eq 77 ]
	says "unix://$BATS_FILE_TMPDIR/redis.sock: "
}

## Several servers

@test "several servers: --history uses the others if one has forgotten" {
	servers_use 1 2 3
	redlock -k a -- sh -c 'exit 3' || true
	eventually newest_at end 1 2 3
	redis_at s1 flushall
	redis_kill s2
	[ "$(endings 2>/dev/null)" = 3 ]
	history -k a
	[ "$status" -eq 0 ]
	says 's2.sock: '
	redis_kill s1
	history --json -k a
	[ "$status" -eq 69 ]
	json 'd[0]["ended"] == "exited" and d[0]["status"] == 3'
	redis_restart s1
	redis_kill s3
	history -k a --max-age 1h
	[ "$status" -eq 69 ]
	[[ $output == 'a: UNKNOWN: too few servers answer: '*s2.sock:* ]]
}

# words_at SERVER: the words of its history.
words_at() {
	redis_at "$1" xrange "$runs" - + | grep -xE 'start|end|lost' | xargs
}

@test "several servers: a run has its start wherever it has its end, even if its vote came late" {
	local server
	servers_use 1 2 3
	redis_freeze s3
	redlock -k a -- true
	redis_thaw s3
	eventually newest_at end 1 2 3
	for server in s1 s2 s3; do
		[ "$(words_at "$server")" = 'start end' ]
	done
}

@test "several servers: --history shows a run as running if a majority has it; too few show nothing" {
	servers_use 1 2 3
	hold a -t 1h
	eventually newest_at start 1 2 3
	# It would heal at once what a server pushes.
	kill -STOP "$bg_pid"
	eventually process_in_state "$bg_pid" T
	redis_at s1 del redlock:a
	[ "$(endings)" = running ]
	redis_freeze s3
	[ "$(endings --node-timeout 1s 2>/dev/null)" = - ]
	redis_thaw s3
	redis_at s2 del redlock:a
	[ "$(endings)" = died ]
	# but it is there yet, and tells how it ends
	kill -KILL "$bg_pid"
	redis_reset s2
}

@test "several servers: --history shows a run as lost if a majority recorded that, not a minority" {
	servers_use 1 2 3
	# A holder that is pushed a change heals it before its release.
	deny_pushes s1 s2
	hold a -t 1h
	eventually newest_at start 1 2 3
	pushes_denied s1 s2
	redis_at s1 del redlock:a
	let_go
	[ "$(endings)" = 0 ]
	eventually newest_at lost 1
	history -v -k a
	[[ $output == *$'s1.sock  recorded as lost\n'*s2.sock* ]]
	deny_pushes s1 s2
	hold a -t 1h
	eventually newest_at start 1 2 3
	pushes_denied s1 s2
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 79
	eventually newest_at lost 1 2
	[ "$(endings)" = 'lost 0' ]
	allow_pushes s1 s2
}
