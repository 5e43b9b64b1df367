#!/usr/bin/env bats
# The last success of a lock: --once-per, --max-age and --metrics ask the same key.
# shellcheck disable=SC2154

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
}
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

success='{redlock:a}:~success'

# past N SECONDS: on server N a success of "a" began that long ago.
past() {
	local since=$(($(date +%s) - $2))
	redis_at "s$1" set "$success" \
	    "redlock-run/2 token=t$2 try=0 since=${since}000 pid=1 host=h$2 user=u command=c ran=1000" \
	    >/dev/null
}

# checked STATUS TEXT AGE: --max-age AGE has this status, and begins with that.
checked() {
	run -"$1" redlock --history a --max-age "$3" --node-timeout 300ms
	[[ $output == "a: $2"* ]]
}

# gauge: the last success in --metrics, in seconds; empty: none is known.
gauge() {
	redlock --metrics a --node-timeout 300ms 2>/dev/null |
		sed -n 's/^redlock_last_success_timestamp_seconds{lock="a"} //p'
}

# once AGE STATUS: --once-per AGE refuses a run with 75, or has it run: 0.
once() {
	run -"$2" redlock -q -k a --once-per "$1" --node-timeout 300ms -- true
}

@test "a success that a hundred failures have pushed out of the history is the last one" {
	redlock -k a -m text -- true
	for _ in {1..100}; do
		redlock -q -k a -- false || true
	done
	redlock --history a --json --rows 1000 >"$BATS_TEST_TMPDIR/runs"
	not grep -q '"status":0' "$BATS_TEST_TMPDIR/runs"
	checked 0 'OK: last success ' 26h
	[[ $output == *'; since then at least '*' failed' ]]
	[ -n "$(gauge)" ]
	once 1h 75
	run -0 --separate-stderr redlock --history a --max-age 26h --json
	json 'j["failed"] is None and j["skipped"] == 0'
	json 'all(j["last_success"][k] is None for k in ("version", "message", "waited_ms"))'
	json 'j["last_success"]["command"] == "true" and j["last_success"]["ran_ms"] >= 0'
	redlock -k a -m text -- true
	run -0 --separate-stderr redlock --history a --max-age 26h --json
	json 'j["failed"] == 0 and j["last_success"]["message"] == "text"'
	json 'j["last_success"]["waited_ms"] >= 0 and j["last_success"]["version"]'
}

@test "a success whose history has ended is the last one, also of a lock that nobody names" {
	redlock -k a -- true
	redis del '{redlock:a}:~runs' '{redlock:a}:~fence'
	checked 0 'OK: last success ' 26h
	run -0 redlock --metrics
	[[ $output == *'redlock_last_success_timestamp_seconds{lock="a"} '* ]]
	redis set "$success" \
	    "redlock-run/2 token=t try=0 since=$(($(date +%s) - 3000000))000 pid=1 host=h user=u command=c ran=1" >/dev/null
	checked 1 'OVERDUE: last success 34d17h ago on h, more than 30d' 30d
	checked 0 'OK: last success 34d17h ago on h' 40d
}

@test "several servers: the last success is the one that refuses --once-per" {
	servers_use 1 2 3
	# One server alone has a success: it refuses nobody.
	past 1 100
	checked 1 'OVERDUE: no runs recorded' 1h
	[ -z "$(gauge)" ]
	# The second one of three is the one that two refuse with.
	past 2 7200
	past 3 7200
	checked 1 'OVERDUE: last success 2h ago on h7200, more than 1h' 1h
	checked 0 'OK: last success 2h ago on h7200' 3h
	[ "$(gauge)" = "$(($(redis_at s2 get "$success" | sed 's/.*since=\([0-9]*\)000 .*/\1/'))).000" ]
	once 3h 75
	once 1h 0
	checked 0 'OK: last success ' 1h
}

@test "several servers: a server that cannot be asked makes the last success unknown, where it decides" {
	servers_use 1 2 3
	past 1 100
	past 2 7200
	redis_kill s3
	# It may have that of the first server, or another one.
	checked 0 'OK: last success 2h ago on h7200' 3h
	checked 69 'UNKNOWN: too few servers answer: ' 1h
	checked 1 'OVERDUE: last success 2h ago on h7200' 50s
	[ -z "$(gauge)" ]
	run -69 --separate-stderr redlock --history a --max-age 1h --json --node-timeout 300ms
	json 'j["state"] == "unknown"'
	json 'all(j[k] is None for k in ("last_success", "age_ms", "failed", "skipped"))'
	past 1 7200
	checked 1 'OVERDUE: last success 2h ago on h7200' 1h
	[ -n "$(gauge)" ]
	redis_at s1 del "$success"
	redis_at s2 del "$success"
	checked 1 'OVERDUE: no runs recorded' 1h
}
