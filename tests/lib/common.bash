# shellcheck shell=bash disable=SC2016,SC2154
#
# What every test file needs: Redis servers of its own on unix sockets, a way
# to wait until a thing is so, and the program under test.  A test file reads
#
#	load ../lib/common
#	setup_file() { redis_start; }
#	setup() { redis_reset; }
#	teardown() { nothing_left; }
#	teardown_file() { redis_stop_all; }
#
# or, if one server is all it needs, ../lib/one_redis, which says that much.
#
# Nothing here knows a fixed port, or a name outside the directory that bats
# gives the file, so any number of files can run at the same time.

bats_require_minimum_version 1.5.0

export LC_ALL=C

# Where the Makefile is, and where the program is.  Nothing of the caller's own
# settings may reach that.
top=${BATS_TEST_DIRNAME%/*/*}
run_path=${REDLOCK_RUN:-$top/redlock-run}
[[ $run_path == /* ]] || run_path=$PWD/$run_path
export compiled=${compiled:-${REDLOCK_TESTS:-$BATS_RUN_TMPDIR}/compiled}
for name in "${!REDLOCK_@}"; do
	unset "$name"
done
unset name REDISCLI_AUTH
export REDLOCK_CONFIG=/dev/null
export REDLOCK_RUN=$run_path

if [[ -n ${BATS_FILE_TMPDIR:-} ]]; then
	export REDLOCK_REDIS=unix://$BATS_FILE_TMPDIR/redis.sock
fi
# The names of these servers, for held, free and the like.
export servers=redis

# bats notes each command before it runs, with the stack of calls, to report the
# line of a failure: that takes 0.2 ms, a hundred times as long as the command.
# Of what a helper does, the line in the test is enough.
noting=$(declare -f bats_debug_trap)
eval "${noting/\{/'{
	[[ $1 != */tests/*/../lib/* && -z ${polling:-} ]] || return 0;'}"

# Whatever a test starts carries this in its environment, bats itself and the
# servers do not: so we find what a test has left behind.
if [[ -n ${BATS_TEST_NAME:-} ]]; then
	export TEST_MARK=$BATS_FILE_TMPDIR
fi

# compile HELPER FILE [FLAG...]: FILE is made of tests/helpers/HELPER.c.
compile() {
	# shellcheck disable=SC2086
	${CC:-cc} -D_GNU_SOURCE -pthread "${@:3}" -o "$2" \
	    "$top/tests/helpers/$1.c"
}

# compile_once HELPER: $compiled/HELPER is there, for all files.
compile_once() {
	[[ ! -e $compiled/$1 ]] || return 0
	mkdir -p "$compiled"
	compile "$1" "$compiled/$1.$$"
	mv "$compiled/$1.$$" "$compiled/$1"
}

load ../lib/redis

## The program

# redlock ARG...: run the program under test.
redlock() {
	"$REDLOCK_RUN" "$@" 3>&- 4>&-
}

# redlock_bg ARG...: run it in the background; its pid is in $bg_pid, its
# words are in $bg_out and $bg_err.  Its SIGINT and SIGQUIT are ignored, as
# bash has it for background jobs.
redlock_bg() {
	bg_out=$BATS_TEST_TMPDIR/bg.out
	bg_err=$BATS_TEST_TMPDIR/bg.err
	"$REDLOCK_RUN" "$@" >"$bg_out" 2>"$bg_err" 3>&- 4>&- &
	# shellcheck disable=SC2034
	bg_pid=$!
}

# redlock_ended STATUS: wait for the end of that one; STATUS is what it was.
redlock_ended() {
	ended "$bg_pid" "$1" "$bg_err"
}

# ended PID STATUS FILE: that process of ours ends with STATUS; in FILE is what
# it has said.
ended() {
	local got=0
	eventually gone "$1"
	wait "$1" || got=$?
	if ((got != $2)); then
		echo "status $got instead of $2; in ${3##*/}:" >&2
		cat "$3" >&2
		return 1
	fi
}

# redis_use URL...: redlock-run uses these.
redis_use() {
	export REDLOCK_REDIS="$*"
}

# hold NAME [ARG...]: a redlock_bg holds the lock, and its COMMAND runs until
# `let_go`.  It waits for COMMAND, because the key may be another holder's.
hold() {
	local name=$1
	shift
	rm -f "$BATS_TEST_TMPDIR"/{holds,let-go}
	redlock_bg -k "$name" "$@" -- sh -c \
	    ': >"$1/holds"; until [ -e "$1/let-go" ]; do sleep 0.05; done' sh \
	    "$BATS_TEST_TMPDIR" secret-argument
	eventually test -e "$BATS_TEST_TMPDIR/holds"
}

let_go() {
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 0
}

# worker TIMES FILE ARG...: runs with ARG for the lock "a", one after the other;
# COMMAND writes into FILE, and finds nobody inside.
worker() {
	local n times=$1 file=$2
	shift 2
	for ((n = 0; n < times; n++)); do
		redlock -k a "$@" -- sh -c '
			mkdir inside || touch overlap
			echo >>"$1"
			rmdir inside' sh "$file" || touch failed
	done
}

# workers_end PID...: what these workers did, they did alone and well.
workers_end() {
	wait "$@"
	[ ! -e overlap ] && [ ! -e failed ]
}

# connected PID: it has a socket.
connected() {
	find "/proc/$1/fd" -lname 'socket:*' | grep -q .
}

# says TEXT...: after `run --separate-stderr redlock ...`: its stderr has every
# TEXT, and each line of it is its own.
says() {
	local text
	for text in "$@"; do
		if [[ $stderr != *"$text"* ]]; then
			printf 'expected %q in:\n%s\n' "$text" "$stderr" >&2
			return 1
		fi
	done
	if grep -av '^redlock-run: ' <<<"$stderr" >&2; then
		return 1
	fi
}

# silent: it has said nothing at all.
silent() {
	if [[ -n $stderr$output ]]; then
		printf 'expected silence:\n%s\n%s\n' "$output" "$stderr" >&2
		return 1
	fi
}

# clean: nothing that it has printed can do anything to a terminal.
clean() {
	/usr/bin/python3 -c '
import sys
for c in sys.stdin.buffer.read().decode("utf-8"):
    if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c == "\u202e"):
        sys.exit("%r was printed" % c)
' <<<"$output$stderr"
}

# json EXPRESSION: --json has printed one object that Python can read, and the
# EXPRESSION is true, in which j is that object and d its list: locks, runs or
# servers.
json() {
	/usr/bin/python3 -c '
import json, sys
j = json.loads(sys.stdin.buffer.read().decode("utf-8"))
assert isinstance(j, dict) and isinstance(j["servers"], list)
d = j.get("locks", j.get("runs", j["servers"]))
if not eval(sys.argv[1]):
    sys.exit("not so: %s\n%s" % (sys.argv[1], json.dumps(j, indent=1)))
' "$1" <<<"$output"
}

# json_one EXPRESSION: the list has one element, and that is called d.
json_one() {
	json "(lambda d: $1)(*d)"
}

# needs COMMAND [PACKAGE]: skips the test where it is not installed; PACKAGE is
# Debian's, if that has another name.
needs() {
	command -v "$1" >/dev/null || skip "needs $1${2:+ ($2)}"
}

# needs_loader: skips the test where LD_PRELOAD has no effect.
needs_loader() {
	grep -q /ld- "$REDLOCK_RUN" || skip "needs a dynamic program"
}

# pushes_work: its hiredis parses what servers push.
pushes_work() {
	"$REDLOCK_RUN" --version | grep -qx 'Pushes: yes'
}

# watch_begun [SERVER]: the renewal of a holder with which pushes begin, 300 ms after
# its start, is over.
watch_begun() {
	! pushes_work || eventually watched 1 "$@"
}

# watched [N [SERVER]]: N clients, or one, have switched pushes on, and the
# requests behind that were executed.
watched() {
	local server=${2:-redis}
	[[ $(redis_at "$server" client list | grep -c ' flags=[^ ]*t[^ ]* ') -eq ${1:-1} &&
		$(redis_at "$server" info stats) == *tracking_total_keys:[1-9]* ]]
}

# deny_pushes SERVER...: holders may not ask these for pushes.  HELLO is exempt from
# permissions.
deny_pushes() {
	local server
	! pushes_work || for server; do
		redis_at "$server" acl setuser default '-client|tracking'
		redis_at "$server" config resetstat
	done
}

# allow_pushes SERVER...: they may again.
allow_pushes() {
	local server
	! pushes_work || for server; do
		redis_at "$server" acl setuser default '+client|tracking'
	done
}

# pushes_denied SERVER...: a holder has asked each of these since deny_pushes, and
# the renewal that comes with its question, which also heals, is over.
pushes_denied() {
	local server
	! pushes_work || for server; do
		eventually tracking_rejected "$server"
	done
}

tracking_rejected() {
	redis_at "$1" info commandstats |
		grep -q '^cmdstat_client|tracking:.*rejected_calls=[1-9]'
}

needs_pushes() {
	pushes_work || skip "needs hiredis 1.0, as the static file has"
}

needs_root() {
	((EUID == 0)) || skip "needs root"
}

# needs_localhost: skips the test where that name has no address.
needs_localhost() {
	getent ahosts localhost >/dev/null ||
		skip "needs an address of localhost"
}

## The lock on each of $servers; NAME is "a" where it is not given

# held [NAME...]: the key of each of these locks exists.
held() {
	local server name
	(($#)) || set -- a
	for server in $servers; do
		for name; do
			[[ $(redis_at "$server" exists "redlock:$name") == 1 ]] ||
				return 1
		done
	done
}

# free [NAME...]: no key of these locks exists.
free() {
	local server
	(($#)) || set -- a
	for server in $servers; do
		[[ $(redis_at "$server" exists "${@/#/redlock:}") == 0 ]] ||
			return 1
	done
}

# queue_is N: so many are in the queue of "a".
queue_is() {
	local server
	for server in $servers; do
		[[ $(redis_at "$server" zcard '{redlock:a}:~queue') == "$1" ]] ||
			return 1
	done
}

# keys_left [KEY...]: that is all there is, but for fences, histories and successes.
keys_left() {
	local server keys
	for server in $servers; do
		keys=$(redis_at "$server" keys '*') || return
		[[ $(grep -vE ':~(fence|runs|skips|success)$' <<<"$keys" | sort | xargs) == "$*" ]] ||
			return 1
	done
}

# lease_later_than MS: the lease of "a" was renewed, and ends later than that.
lease_later_than() {
	(($(expiry redlock:a) > $1 + 20))
}

## Waiting

# Nothing comes out of it: to read that for a time is to sleep without a process.
[[ -p $BATS_FILE_TMPDIR/nothing ]] || mkfifo "$BATS_FILE_TMPDIR/nothing"

# eventually [SECONDS] COMMAND...: try COMMAND until it succeeds, again after an
# eighth of the time that has passed, but at least 20 and at most 100 ms.
eventually() {
	local limit=${WAIT:-60} start=${EPOCHREALTIME/./} us pause polling=yes
	if [[ $1 =~ ^[0-9]+$ ]]; then
		limit=$1
		shift
	fi
	until "$@" >/dev/null 2>&1; do
		us=$((${EPOCHREALTIME/./} - start))
		if ((us > (limit + 1) * 1000000)); then
			echo "not within $limit s: $*" >&2
			return 1
		fi
		pause=$((us / 8))
		pause=$((pause < 20000 ? 20000 : pause > 100000 ? 100000 : pause))
		printf -v pause 0.%06d "$pause"
		read -rt "$pause" <>"$BATS_FILE_TMPDIR/nothing" || :
	done
}

# not COMMAND...: for `eventually not`, and because bats does not see that a
# command after ! has succeeded.
not() {
	! "$@"
}

# now_us: the time of day in microseconds, for differences.
now_us() {
	echo "${EPOCHREALTIME/./}"
}

# gone PID: the process does not run (a zombie does not count as running).
gone() {
	local stat
	read -r stat 2>/dev/null <"/proc/$1/stat" || return 0
	stat=${stat##*) }
	[[ ${stat:0:1} == [ZX] ]]
}

## Cleaning up

# marked: the pids of processes that tests of this file have started.
marked() {
	local file
	environs_marked -l |
		while IFS=/ read -r _ _ file _; do
			echo "$file"
		done
}

# environs_marked FLAG
environs_marked() {
	TEST_MARK='' grep "$1" -szxF "TEST_MARK=$BATS_FILE_TMPDIR" \
	    /proc/[0-9]*/environ
}

# nothing_left: for teardown; what a test has started must be gone by itself.
# Remaining processes are named and killed, and the test fails.
nothing_left() {
	local limit=30 end pid pids
	[[ -z ${BATS_TEST_NAME:-} || -n ${BATS_TEST_COMPLETED:-} ]] || limit=0
	eventually "$limit" nothing_marked && return 0
	# the last process killed may have started another meanwhile
	end=$((SECONDS + 20))
	while mapfile -t pids < <(marked) && ((${#pids[@]} && SECONDS < end)); do
		for pid in "${pids[@]}"; do
			echo "left behind: $pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
			kill -KILL "$pid"
		done >&2 2>/dev/null
	done
	return 1
}

nothing_marked() {
	not environs_marked -q
}
