#!/usr/bin/env bats
# --history: the last runs, on one server and on several.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/servers

setup_file() {
	redis_start
	five_servers
}
setup() {
	redis_reset
	fresh_servers
	tell "unix://$BATS_FILE_TMPDIR/redis.sock"
	export TZ=UTC
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

runs='{redlock:a}:~runs'

# For `hold`, on the one server and on several.
held() {
	[[ $(redis exists "redlock:$1") == 1 ||
	$(redis_at s1 exists "redlock:$1") == 1 ]]
}

ask() {
	run --separate-stderr redlock --history "$@"
}

# endings [ARG...]: how the runs of "a" ended, the newest first.
endings() {
	redlock --history -k a "$@" | sed 1d | awk '{ print $NF }' | xargs
}

# ends_as WORD: that is how the newest ended.
ends_as() {
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

# entry WORD TEXT: somebody writes into the history of "a".
entry() {
	redis xadd "$runs" '*' "$1" "$2"
}

owner='redlock-run/1 token=x try=1 since=1 pid=1 host=h user=u command=c'

## How runs end

@test "it tells of each run when, where, what, for how long and how it ended" {
	local pid
	redlock -k a -- sh -c 'echo $REDLOCK_PID >pid; exit 7' || true
	pid=$(cat pid)
	ask -k a
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(head -n 1 <<<"$output" | xargs)" = \
	    'WHEN HOST PID COMMAND WAITED RAN ENDED' ]
	[ "$(wc -l <<<"$output")" = 2 ]
	[[ $(sed 1d <<<"$output" | tr -s ' #' ' ') =~ ^20[0-9]{2}-[0-9]{2}-[0-9]{2}\ [0-9:]{8}\ "$(uname -n) $pid sh "[0-9]+m?s\ [0-9]+m?s\ 7$ ]]
}

@test "the newest comes first: exit status, signal, and COMMAND that could not run" {
	redlock -k a -- true
	redlock -k a -- sh -c 'exit 255' || true
	run -143 redlock -k a -- sh -c 'kill $$'
	run -127 redlock -k a -- ./not-there
	run -124 redlock -k a --at-most 0.1 -- sleep 60
	[ "$(endings)" = 'at-most not-run TERM 255 0' ]
	ask --json -k a
	json '[r["ended"] for r in d] == ["at-most", "not-run", "killed", "exited", "exited"]'
	json '[r["status"] for r in d] == [None, 127, None, 255, 0]'
	json '[r["signal"] for r in d] == [15, None, 15, None, None]'
	json '[r["ran_ms"] is None for r in d] == [False, True, False, False, False]'
	json 'd[0]["ran_ms"] >= 100'
}

@test "a run that lost its lock is shown as lost, whatever COMMAND did" {
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
	ask --json -k a
	json '[r["ended"] for r in d] == ["lost"] * 4'
	json '[r["status"] for r in d] == [3, 0, 0, None]'
	json 'd[3]["signal"] == 15'
}

@test "a run is running while it has the lock, and has died if it said no more" {
	hold a
	[ "$(endings)" = running ]
	sleep 0.2
	ask --json -k a
	json 'd[0]["ended"] == "running" and d[0]["ran_ms"] >= 200'
	kill -KILL "$bg_pid"
	# Its lease ends.
	redis pexpire redlock:a 1
	eventually ends_as died
	[ "$(redis exists redlock:a)" = 0 ]
	ask --json -k a
	json '[(r["ended"], r["ran_ms"], r["status"]) for r in d] == [("died", None, None)]'
	redlock -k a -- true
	[ "$(endings)" = '0 died' ]
}

@test "a lock that rests has a run that has ended" {
	redlock -k a --at-least 1h -- true
	[ "$(endings)" = 0 ]
	redlock -k b -o -- true
	[ "$(redis xlen '{redlock:b}:~runs')" = 2 ]
}

@test "the time that a run waited is told" {
	local since took waiter
	since=$(now_us)
	hold a
	took=$((($(now_us) - since) / 1000))
	redlock -k a -w 1m -- true &
	waiter=$!
	eventually waits_for a
	sleep 0.5
	let_go
	wait "$waiter"
	ask --json -k a
	json "len(d) == 2 and d[0]['waited_ms'] >= 400 and d[1]['waited_ms'] <= $took"
	json 'd[1]["ran_ms"] >= 500'
}

@test "those who share a lock, or have a slot of it, are shown each" {
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

@test "of several locks each has the run in its history, once all are held" {
	hold b
	run -75 redlock -k a -k b -k c -- true
	[ "$(redis exists "$runs" '{redlock:c}:~runs')" = 0 ]
	let_go
	redlock -k a -k b -k c -- sh -c 'exit 3' || true
	[ "$(endings)" = 3 ]
	ask
	[ "$(sed 1d <<<"$output" | awk '{ print $1, $NF }' | xargs)" = \
	    'a 3 b 3 b 0 c 3' ]
	hold a -k b
	eventually entries 3
	kill -KILL "$bg_pid"
	redis pexpire redlock:a 1
	eventually ends_as died
}

## What is shown

@test "without -k it tells of every lock that has a history, free ones too" {
	redlock -k a -- true
	redlock -k 'x{t}y' -- true
	may_use other:
	redlock -k b --prefix other: -- true
	may_use redlock:
	redis set redlock:foreign somebody
	ask
	[ "$status" -eq 0 ]
	[ "$(awk '{ print $1 }' <<<"$output" | xargs)" = 'LOCK a x{t}y' ]
	ask --json
	json '[r["name"] for r in d] == ["a", "x{t}y"]'
}

@test "no history is no error" {
	redis set redlock:a somebody
	ask -k a
	[ "$status" -eq 0 ]
	[ "$(xargs <<<"$output")" = 'WHEN HOST PID COMMAND WAITED RAN ENDED' ]
	[ -z "$stderr" ]
	ask --json -k a
	[ "$status" -eq 0 ]
	[ "$output" = '[]' ]
	ask --json
	[ "$output" = '[]' ]
}

@test "--json prints one array, an object for each run" {
	local before
	before=$(date +%s)
	redlock -k a -- sh -c 'echo $REDLOCK_TOKEN $REDLOCK_PID >run' secret
	ask --json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	json 'len(d) == 1 and len(d[0]) == 12'
	json "d[0]['name'] == 'a' and d[0]['host'] == '$(uname -n)'"
	json "d[0]['user'] == '$(id -un)' and d[0]['command'] == 'sh'"
	json "'%s %d' % (d[0]['token'], d[0]['pid']) == '$(cat run)'"
	json 'd[0]["status"] == 0 and d[0]["signal"] is None'
	json '0 <= d[0]["waited_ms"] < 60000 and 0 <= d[0]["ran_ms"] < 60000'
	json '__import__("re").fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", d[0]["since"])'
	json "abs(__import__('calendar').timegm(__import__('time').strptime(d[0]['since'][:19], '%Y-%m-%dT%H:%M:%S')) - $before) < 300"
	[[ $output$(redis xrange "$runs" - +) != *secret* ]]
}

@test "a bar shows how long a run was against the longest of its lock" {
	local ms
	for ms in 4000 1000 100 0; do
		entry end "${owner/=x/=$ms} waited=0 ran=$ms ended=exited status=0"
	done
	ask -k a
	[ "$(sed 1d <<<"$output" | awk '{ print $7, $8 }' | sort -n | tr -s '\n' ,)" = \
	    '0ms 0,1s #####,4s ####################,100ms #,' ]
	# and in eighths where there are characters for that
	LC_ALL=C.UTF-8 ask -k a
	[[ $output == *' 4s     ████████████████████  0'* ]]
	[[ $output == *' 1s     █████                 0'* ]]
	[[ $output == *' 100ms  ▌                     0'* ]]
}

@test "when a run began is told in local time" {
	entry start "${owner/since=1/since=1700000000000} waited=0"
	TZ=UTC ask -k a
	[[ $output == *$'\n2023-11-14 22:13:20  '* ]]
	TZ=UTC-5 ask -k a
	[[ $output == *$'\n2023-11-15 03:13:20  '* ]]
}

@test "a hundred runs are shown, and kept; an end alone says all" {
	local i
	for i in {1..120}; do
		echo "XADD $runs * start \"${owner/=x/=t$i} waited=0\""
		echo "XADD $runs * end \"${owner/=x/=t$i} waited=0 ran=$i ended=exited status=0\""
	done | redis >/dev/null
	redlock -k a -- true
	[ "$(redis xlen "$runs")" = 200 ]
	ask --json -k a
	json 'len(d) == 100 and all(r["ended"] == "exited" for r in d)'
	redis xtrim "$runs" maxlen 3
	[ "$(endings)" = '0 0' ]
	for i in {1..150}; do
		echo "XADD $runs * end \"${owner/=x/=t$i} ended=exited status=0\""
	done | redis >/dev/null
	[ "$(endings | wc -w)" = 100 ]
}

# on_terminal: what is written to a terminal.
on_terminal() {
	TERM=xterm /usr/bin/python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' \
	    "$REDLOCK_RUN" --history -k a </dev/null 3>&- 4>&-
}

@test "a terminal shows in colours how runs ended, but not with NO_COLOR" {
	redlock -k a -- sh -c 'exit 3' || true
	redlock -k a -- true
	on_terminal >seen
	grep -q $'\e\\[1;31m3\e\\[0m' seen
	grep -q $'\e\\[32m0\e\\[0m' seen
	NO_COLOR=1 on_terminal >seen
	grep -q ' 3' seen
	not grep -q $'\e' seen
	redlock --history -k a >seen
	not grep -q $'\e' seen
}

@test "with -v it adds the tokens" {
	redlock -k a -- sh -c 'echo $REDLOCK_TOKEN >token'
	ask -v -k a
	[ "$(sed -n 3p <<<"$output")" = "  token $(cat token)" ]
	[ "$(wc -l <<<"$output")" = 3 ]
}

@test "what others write into a history is shown escaped, or not at all" {
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
	ask
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -lt 8 ]
	clean
	ask -v
	[ "$status" -eq 0 ]
	ask --json
	[ "$status" -eq 0 ]
	json '{r["token"] for r in d} >= {"v", "w", "x", "y"} and len(d) == 5'
	json '[r["ended"] for r in d if r["token"] == "v"] == ["lost"]'
}

## How it is written

@test "a run costs no request more than without a history" {
	redlock -k a -- true
	redis config resetstat
	redlock -k a -- true
	[ "$(scripts_run)" = 2 ]
	# and of several servers each is asked to acquire, renew and release
	servers 1 2 3
	hold a
	eventually newest_at start 1 2 3
	let_go
	eventually newest_at end 1
	[ "$(scripts_run s1)" = 3 ]
	[ "$(redis_at s1 xlen "$runs")" = 2 ]
}

@test "who does not get the lock leaves no trace in its history" {
	hold a
	run -75 redlock -k a -- true
	run -75 redlock -k a -w 100ms -- true
	[ "$(redis xlen "$runs")" = 1 ]
	let_go
	[ "$(redis xlen "$runs")" = 2 ]
}

@test "where no history can be written the lock works all the same" {
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

@test "without the permission to read it that is said" {
	redlock -k a -- true
	redis acl setuser default -xrevrange
	ask -k a
	[ "$status" -eq 77 ]
	says "unix://$BATS_FILE_TMPDIR/redis.sock: "
}

## Several servers

@test "several servers: what one has forgotten the others tell" {
	servers 1 2 3
	redlock -k a -- sh -c 'exit 3' || true
	redis_at s1 flushall
	redis_kill s2
	[ "$(endings 2>/dev/null)" = 3 ]
	ask -k a
	[ "$status" -eq 0 ]
	says 's2.sock: '
	redis_kill s1
	ask --json -k a
	[ "$status" -eq 69 ]
	json 'd[0]["ended"] == "exited" and d[0]["status"] == 3'
}

@test "several servers: running is who has a majority; too few tell nothing" {
	servers 1 2 3
	hold a -t 1h
	eventually newest_at start 1 2 3
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

@test "several servers: a run is lost if a majority says so, a minority counts for nothing" {
	servers 1 2 3
	hold a -t 1h
	eventually newest_at start 1 2 3
	redis_at s1 del redlock:a
	let_go
	[ "$(endings)" = 0 ]
	eventually newest_at lost 1
	ask -v -k a
	[[ $output == *$'s1.sock  says that it was lost\n'*s2.sock* ]]
	hold a -t 1h
	eventually newest_at start 1 2 3
	redis_at s1 del redlock:a
	redis_at s2 del redlock:a
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 79
	eventually newest_at lost 1 2
	[ "$(endings)" = 'lost 0' ]
}
