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
# Nothing here knows a fixed port, or a name outside the directory that bats
# gives the file, so any number of files can run at the same time.
#
# The default user of the servers, as which redlock-run comes, may do what the
# man page says that it needs, and nothing else.  The tests are the user admin.

bats_require_minimum_version 1.5.0

export LC_ALL=C

load ../lib/permissions
read -ra permitted < <(permissions)

# Where the Makefile is, and where the program is.  Nothing of the caller's own
# settings may reach that.
top=$(realpath "${BASH_SOURCE[0]%/*}/../..")
run_path=${REDLOCK_RUN:-$top/redlock-run}
run_path=$(realpath "$run_path")
for name in "${!REDLOCK_@}"; do
	unset "$name"
done
unset name REDISCLI_AUTH
export REDLOCK_CONFIG=/dev/null
export REDLOCK_RUN=$run_path

if [[ -n ${BATS_FILE_TMPDIR:-} ]]; then
	export REDLOCK_REDIS=unix://$BATS_FILE_TMPDIR/redis.sock
fi

# Whatever a test starts carries this in its environment, bats itself and the
# servers do not: so we find what a test has left behind.
if [[ -n ${BATS_TEST_NAME:-} ]]; then
	export TEST_MARK=$BATS_FILE_TMPDIR
fi

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
	local got=0
	eventually 30 gone "$bg_pid"
	wait "$bg_pid" || got=$?
	if ((got != $1)); then
		echo "status $got instead of $1" >&2
		cat "$bg_err" >&2
		return 1
	fi
}

# held NAME: the key of the lock exists.
held() {
	[ "$(redis exists "redlock:$1")" = 1 ]
}

# hold NAME [ARG...]: a redlock_bg holds the lock until `let_go`.
hold() {
	local name=$1
	shift
	rm -f "$BATS_TEST_TMPDIR/let-go"
	redlock_bg -k "$name" "$@" -- sh -c \
	    'until [ -e "$1" ]; do sleep 0.02; done' sh \
	    "$BATS_TEST_TMPDIR/let-go" secret-argument
	eventually held "$name"
}

let_go() {
	touch "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 0
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

# json EXPRESSION: what --json has printed is one array that Python can read,
# and the EXPRESSION over it, called d, is true.
json() {
	/usr/bin/python3 -c '
import json, sys
d = json.loads(sys.stdin.buffer.read().decode("utf-8"))
assert isinstance(d, list)
if not eval(sys.argv[1]):
    sys.exit("not so: %s\n%s" % (sys.argv[1], json.dumps(d, indent=1)))
' "$1" <<<"$output"
}

# json_one EXPRESSION: it has one element, and that is called d.
json_one() {
	json "(lambda d: $1)(*d)"
}

# compile HELPER FILE [FLAG...]: FILE is made of tests/helpers/HELPER.c.
compile() {
	# shellcheck disable=SC2086
	${CC:-cc} -D_GNU_SOURCE -pthread "${@:3}" -o "$2" \
	    "$top/tests/helpers/$1.c"
}

## Waiting

# eventually [SECONDS] COMMAND...: try COMMAND until it succeeds.
eventually() {
	local limit=20 end
	if [[ $1 =~ ^[0-9]+$ ]]; then
		limit=$1
		shift
	fi
	end=$((SECONDS + limit + 1))
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= end)); then
			echo "not within $limit s: $*" >&2
			return 1
		fi
		sleep 0.02
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

## Servers.  NAME is "redis" where it is not given.

# As a user that may do everything; for a COMMAND that is a script, too.
export ADMIN_CLI='redis-cli --user admin --pass x --no-auth-warning'

# redis_start [NAME] [ARG...]: start a server and wait until it answers.
# ARGs are those of redis-server and must start with a dash.
redis_start() {
	local name=redis
	if [[ ${1:--} != -* ]]; then
		name=$1
		shift
	fi
	if (($#)); then
		printf '%s\0' "$@"
	fi >"$BATS_FILE_TMPDIR/$name.args"
	redis_spawn "$name"
	eventually redis_settled "$name"
	redis_at "$name" ping | grep -qx PONG
}

# redis_start_tcp NAME [ARG...]: the same, on a free port of 127.0.0.1 as
# well; the port is in $redis_port.
redis_start_tcp() {
	local try name=$1
	shift
	for try in {1..50}; do
		export redis_port=$((20000 + RANDOM % 12000))
		redis_start "$name" --bind 127.0.0.1 "$@" --port "$redis_port" &&
			return 0
	done
	echo "no free port in $try tries" >&2
	return 1
}

# redis_spawn [NAME]: start it (again), with the arguments that it had, and
# do not wait.  It makes a session of its own: no signal of a test reaches it.
redis_spawn() {
	local name=${1:-redis} dir=$BATS_FILE_TMPDIR args
	mapfile -d '' -t args <"$dir/$name.args"
	(
		set +m
		unset TEST_MARK
		setsid redis-server --port 0 --unixsocket "$dir/$name.sock" \
		    --save '' --appendonly no --logfile "$dir/$name.log" \
		    --dir "$dir" --dbfilename "$name.rdb" \
		    --user admin on nopass '~*' '&*' +@all \
		    --user default on nopass "${permitted[@]}" \
		    --masteruser admin --masterauth x "${args[@]}" \
		    </dev/null >/dev/null 2>&1 3>&- 4>&- &
		echo $! >"$dir/$name.server"
	)
}

# redis_settled [NAME]: it answers, or it has died.
redis_settled() {
	gone "$(redis_pid "${1:-redis}")" || redis_at "${1:-redis}" ping
}

# redis_pid [NAME]
redis_pid() {
	cat "$BATS_FILE_TMPDIR/${1:-redis}.server"
}

# redis_at NAME COMMAND...: ask a server, as a user that may do everything.
redis_at() {
	local name=$1
	shift
	# shellcheck disable=SC2086
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/$name.sock" "$@" 3>&- 4>&-
}

# redis COMMAND...
redis() {
	redis_at redis "$@"
}

# scripts_run [SERVER]: how many scripts clients have had it execute.
scripts_run() {
	redis_at "${1:-redis}" info commandstats |
		awk -F '[:=,]' '/^cmdstat_(eval|evalsha):/ { n += $3 }
		END { print n + 0 }'
}

# cli WORD...: the same as shell text, for a COMMAND that is a script.
cli() {
	# shellcheck disable=SC2086
	printf '%q ' $ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" "$@"
}

# may_use PREFIX: on the server redis it is that instead of redlock:.
may_use() {
	local may
	read -ra may < <(permissions "$1")
	redis acl setuser default resetkeys "${may[@]}"
}

# expiry KEY: when it expires, by the server's clock, in ms since 1970.
expiry() {
	redis eval "local t = redis.call('TIME')
		return t[1] * 1000 + math.floor(t[2] / 1000) +
		    redis.call('PTTL', KEYS[1])" 1 "$1"
}

# redis_freeze, redis_thaw [NAME]: it hears nothing / it hears again.
redis_freeze() {
	kill -STOP "$(redis_pid "${1:-redis}")"
}

redis_thaw() {
	kill -CONT "$(redis_pid "${1:-redis}")"
}

# redis_kill [NAME]: kill -9; the socket file stays.
redis_kill() {
	local pid
	pid=$(redis_pid "${1:-redis}")
	kill -KILL "$pid" 2>/dev/null || true
	eventually gone "$pid"
}

# redis_stop [NAME]: in good order; the socket file goes.
redis_stop() {
	local pid
	pid=$(redis_pid "${1:-redis}")
	kill -CONT "$pid" 2>/dev/null || true
	kill -TERM "$pid" 2>/dev/null || true
	eventually gone "$pid"
}

# redis_restart [NAME]: kill -9, and start it again, empty.
redis_restart() {
	redis_kill "${1:-redis}"
	rm -f "$BATS_FILE_TMPDIR/${1:-redis}.rdb"
	redis_spawn "${1:-redis}"
	eventually redis_at "${1:-redis}" ping
}

# redis_reset [NAME]: running, empty and as it was configured at its start,
# whatever the last test has done to it.
redis_reset() {
	local name=${1:-redis} pid
	pid=$(redis_pid "$name")
	if gone "$pid"; then
		redis_spawn "$name"
		eventually redis_at "$name" ping
	else
		kill -CONT "$pid"
	fi
	redis_at "$name" >/dev/null <<-END
		REPLICAOF NO ONE
		CONFIG SET maxmemory 0
		CONFIG SET maxmemory-policy noeviction
		CONFIG SET maxclients 10000
		ACL SETUSER default reset on nopass ${permitted[*]}
		FLUSHALL
		CONFIG RESETSTAT
	END
}

# redis_stop_all: for teardown_file; no server of this file stays.
redis_stop_all() {
	local file
	for file in "$BATS_FILE_TMPDIR"/*.server; do
		[[ ! -s $file ]] || redis_kill "$(basename "$file" .server)"
	done
	nothing_left
}

## Cleaning up

# marked: the pids of processes that tests of this file have started.
marked() {
	local file
	env -u TEST_MARK grep -lszxF "TEST_MARK=$BATS_FILE_TMPDIR" \
	    /proc/[0-9]*/environ |
		while IFS=/ read -r _ _ file _; do
			echo "$file"
		done
}

# nothing_left: for teardown; what a test has started must be gone by itself.
# What is not gone is named and killed, and the test has failed.
nothing_left() {
	local limit=10 end pid pids
	[[ -z ${BATS_TEST_NAME:-} || -n ${BATS_TEST_COMPLETED:-} ]] || limit=0
	eventually "$limit" nothing_marked && return 0
	# what is killed last may have started something meanwhile
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
	[[ -z $(marked) ]]
}
