# shellcheck shell=bash disable=SC2016,SC2154
#
# Redis servers on unix sockets; NAME is "redis" where it is not given.
#
# The default user of the servers, as which redlock-run comes, may do what the
# man page says that it needs, and nothing else.  The tests are the user admin.

load ../lib/permissions
export permitted_words=${permitted_words:-$(permissions)}
read -ra permitted <<<"$permitted_words"

# redis-cli as a user that may do everything; for a COMMAND that is a script,
# too.
compile_once ask
export ADMIN_CLI=$compiled/ask

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

# redis_pid [NAME]: or "none" after redis_kill or redis_stop; another process may
# have the number then.
redis_pid() {
	local pid
	read -r pid <"$BATS_FILE_TMPDIR/${1:-redis}.server"
	echo "$pid"
}

# redis_ends SIGNAL [NAME]: the signal ends it.
redis_ends() {
	local pid
	pid=$(redis_pid "${2:-redis}")
	kill -"$1" "$pid" 2>/dev/null || true
	eventually gone "$pid"
	echo none >"$BATS_FILE_TMPDIR/${2:-redis}.server"
}

# redis_at NAME COMMAND...: ask a server, as a user that may do everything.
redis_at() {
	local name=$1
	shift
	"$ADMIN_CLI" -s "$BATS_FILE_TMPDIR/$name.sock" "$@" 3>&- 4>&-
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

# scripts_more SERVER N: it has executed more than N.
scripts_more() {
	(($(scripts_run "$1") > $2))
}

# redis_has SERVER KEY: the key exists there.
redis_has() {
	[[ $(redis_at "$1" exists "$2") == 1 ]]
}

# redis_calls COMMAND...: how often the server has executed these.
redis_calls() {
	local sum=0 name n
	for name; do
		n=$(redis info commandstats |
			sed -n "s/^cmdstat_$name:calls=\([0-9]*\),.*/\1/p")
		sum=$((sum + ${n:-0}))
	done
	echo "$sum"
}

# cli WORD...: the same as shell text, for a COMMAND that is a script.
cli() {
	printf '%q ' "$ADMIN_CLI" -s "$BATS_FILE_TMPDIR/redis.sock" "$@"
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
	redis_ends KILL "$@"
}

# redis_stop [NAME]: in good order; the socket file goes.
redis_stop() {
	kill -CONT "$(redis_pid "$@")" 2>/dev/null || true
	redis_ends TERM "$@"
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
