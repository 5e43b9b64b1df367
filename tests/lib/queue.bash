# shellcheck shell=bash disable=SC2016,SC2034,SC2154
#
# What the files about waiting in turn share beside common.bash: waiters that
# have names, all of them for the lock called "a".  They run in
# $BATS_TEST_TMPDIR.

load ../lib/clients

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
	while [ -e stay ] || [ -e "stay-$1" ]; do sleep 0.05; done
	rmdir inside || touch overlap'

# waiter_start NAME [ARG...]: NAME wants the lock, for minutes if need be.
waiter_start() {
	client_start "$1" "$inside" -w 5m "${@:2}"
}

# waiter_queues NAME [ARG...]: the same, and NAME is the last in the queue now.
waiter_queues() {
	local before
	before=$(redis zcard "$queue")
	waiter_start "$@"
	eventually queue_is $((before + 1))
	token[$1]=$(redis zrange "$queue" -1 -1)
}

# queue_blocked N: so many connections wait for a wake-up.
queue_blocked() {
	(($(redis client list | grep -c ' cmd=blpop ') == $1))
}

# waiters_end NAME...: these have run, one at a time.
waiters_end() {
	local name
	for name; do
		client_ends "$name" 0
	done
	[ ! -e overlap ]
}

# waiters_served NAME...: the same, and in this order, and no other has run.
waiters_served() {
	waiters_end "$@"
	if [ "$(xargs <order)" != "$*" ]; then
		echo "served: $(xargs <order)" >&2
		return 1
	fi
}

# waiter_runs NAME: its COMMAND has begun.
waiter_runs() {
	grep -qx "$1" order
}

# waiter_stop NAME: like SIGSTOP from a shell.
waiter_stop() {
	kill -STOP "${pid[$1]}"
	eventually process_stopped "${pid[$1]}"
}

process_stopped() {
	grep -q '^State:.T' "/proc/$1/status"
}

# waiter_owns NAME: the lock has this waiter's value.
waiter_owns() {
	[[ $(redis get redlock:a) == *" token=${token[$1]} "* ]]
}

# waiter_granted NAME: the lock has been handed over to NAME, for $grant ms;
# this is then made a minute, so that the test need not be quick.
waiter_granted() {
	grant=$(redis eval 'local value = redis.call("GET", KEYS[1]) or ""
		local lease = redis.call("PTTL", KEYS[1])
		if not value:find(" token=" .. ARGV[1] .. " ", 1, true) then
			return 0
		end
		redis.call("PEXPIRE", KEYS[1], 60000)
		return lease' 1 redlock:a "${token[$1]}")
	((grant > 0)) && waiter_outlives "$1"
}

# waiter_outlives NAME [SERVER]: NAME, whom we have stopped, does not count as
# dead for a minute, unless it is woken once more.
waiter_outlives() {
	redis_at "${2:-redis}" eval 'local beat = redis.call("HGET", KEYS[1], ARGV[1])
		if not beat then
			return redis.error_reply("not in the queue")
		end
		local far = (redis.call("TIME")[1] + 60) * 1e6
		return redis.call("HSET", KEYS[1], ARGV[1],
		    (beat:gsub("^%d+", string.format("%.0f", far))))' \
	    1 "$beat" "${token[$1]}" | grep -qx 0
}

# waiter_hand_over NAME: the holder, of `hold`, ends while NAME is stopped.
waiter_hand_over() {
	waiter_stop "$1"
	touch "$BATS_TEST_TMPDIR/let-go"
	eventually waiter_granted "$1"
	redlock_ended 0
	((grant <= 5000)) || fail "handed over for $grant ms"
}

# holder_kill: what `hold` has started, the COMMAND included, and what it
# learns is what we say below.
holder_kill() {
	kill -KILL "$bg_pid"
	eventually gone "$bg_pid"
	touch "$BATS_TEST_TMPDIR/let-go"
}

# fail TEXT
fail() {
	echo "$1" >&2
	return 1
}

