# shellcheck shell=bash disable=SC2016,SC2034,SC2154
#
# What the files about waiting in turn share beside common.bash: waiters that have
# names, all of them for the lock called "a".  They run in $BATS_TEST_TMPDIR.

queue='{redlock:a}:~queue'
beat='{redlock:a}:~beat'

# Called by setup.
waiters_setup() {
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=() token=()
}

# What a waiter runs: it writes down its name, when it began and its token,
# and stays as long as the file "stay" or "stay-NAME" is there.
inside='mkdir inside || touch overlap
	date +%s%N >>began
	echo "$REDLOCK_TOKEN" >>tokens
	echo "$1" >>order
	while [ -e stay ] || [ -e "stay-$1" ]; do sleep 0.02; done
	rmdir inside || touch overlap'

# comes NAME [ARG...]: NAME wants the lock, for minutes if need be.
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

# blocked N: so many connections wait for a wake-up.
blocked() {
	(($(redis client list | grep -c ' cmd=blpop ') == $1))
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

# all_end NAME...: these have run, one at a time.
all_end() {
	local name
	for name; do
		ends "$name" 0
	done
	[ ! -e overlap ]
}

# served NAME...: the same, and in this order, and no other has run.
served() {
	all_end "$@"
	if [ "$(xargs <order)" != "$*" ]; then
		echo "served: $(xargs <order)" >&2
		return 1
	fi
}

# runs NAME: its COMMAND has begun.
runs() {
	grep -qx "$1" order
}

# left [KEY...]: that is what is in Redis, but for fence and history.
left() {
	local keys
	keys=$(redis keys '*') || return
	[ "$(grep -vE ':~(fence|runs)$' <<<"$keys" | sort | xargs)" = "$*" ]
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

# handed NAME: the lock has been handed over to NAME, for $grant ms; this is
# then made a minute, so that the test need not be quick.
handed() {
	grant=$(redis eval 'local value = redis.call("GET", KEYS[1]) or ""
		local lease = redis.call("PTTL", KEYS[1])
		if not value:find(" token=" .. ARGV[1] .. " ", 1, true) then
			return 0
		end
		redis.call("PEXPIRE", KEYS[1], 60000)
		return lease' 1 redlock:a "${token[$1]}")
	((grant > 0)) && outlives_us "$1"
}

# outlives_us NAME [SERVER]: NAME, whom we have stopped, does not count as dead
# for a minute, unless it is woken once more.
outlives_us() {
	redis_at "${2:-redis}" eval 'local beat = redis.call("HGET", KEYS[1], ARGV[1])
		if not beat then
			return redis.error_reply("not in the queue")
		end
		local far = (redis.call("TIME")[1] + 60) * 1e6
		return redis.call("HSET", KEYS[1], ARGV[1],
		    (beat:gsub("^%d+", string.format("%.0f", far))))' \
	    1 "$beat" "${token[$1]}" | grep -qx 0
}

# hand_over NAME: the holder, of `hold`, ends while NAME is stopped.
hand_over() {
	stop "$1"
	touch "$BATS_TEST_TMPDIR/let-go"
	eventually handed "$1"
	redlock_ended 0
	((grant <= 2000)) || fail "handed over for $grant ms"
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
