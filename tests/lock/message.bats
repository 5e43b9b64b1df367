#!/usr/bin/env bats
# -m: a run's own words, wherever it is named as the holder.
# shellcheck disable=SC2154,SC2030,SC2031

load ../lib/common

setup_file() {
	redis_start redis
}

setup() { redis_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# member MODE NAME: the first value of this member in the JSON of MODE.
member() {
	redlock "$1" --json -k a | PYTHONIOENCODING=utf-8 python3 -c '
import json, sys
def find(d):
    for v in d.values() if isinstance(d, dict) else d:
        if isinstance(d, dict) and sys.argv[1] in d:
            return d[sys.argv[1]]
        if isinstance(v, (dict, list)) and (found := find(v)) is not None:
            return found
print(find(json.load(sys.stdin)))' "$2"
}

@test "-m TEXT is shown to runs that find the lock busy, in --status and in --history" {
	hold a -m 'https://ci.example/job/7 by hand'
	run -75 redlock -k a -- true
	[[ $output == *"(sh: https://ci.example/job/7 by hand) for "* ]]
	run -0 redlock --status -k a
	[[ $output == *'sh: https://ci.example/job/7 by hand'* ]]
	[ "$(member --status message)" = 'https://ci.example/job/7 by hand' ]
	run -1 redlock --break -k a
	[[ $output == *'(sh: https://ci.example/job/7 by hand)'* ]]
	let_go
	run -0 redlock --history -k a
	[[ $output == *'sh: https://ci.example/job/7 by hand'* ]]
	[ "$(member --history message)" = 'https://ci.example/job/7 by hand' ]
}

@test "-m TEXT is shown during the cooldown" {
	redlock -k a --min-hold 1h -m 'done at last' -- true
	run -75 redlock -k a -- true
	[[ $output == *' (true: done at last)'* ]]
}

@test "without -m, or with an empty one, there is no message" {
	hold a -m ''
	run -75 redlock -k a -- true
	[[ $output == *' (sh) for '* ]]
	[ "$(member --status message)" = None ]
	let_go
}

@test "-m TEXT has 200 bytes at most" {
	local text

	text=$(printf 'x%.0s' {1..200})
	hold a -m "$text"
	[ "$(member --status message)" = "$text" ]
	let_go
	run -64 redlock -k a -m "x$text" -- true
	[[ $output == *"--message: 'xxx"*"' has 201 bytes; the limit is 200"* ]]
}

@test "-m TEXT of any bytes is escaped wherever it is shown" {
	hold a --message $'a\e[31mb\nc %d \xff'
	run -75 redlock -k a -- true
	[[ $output == *'(sh: a\x1b[31mb\x0ac %d \xff)'* ]]
	run -0 redlock --status -k a
	[[ $output == *'sh: a\x1b[31mb\x0ac %d \xff'* ]]
	[ "$(member --status message)" = $'a\e[31mb\nc %d \xef\xbf\xbd' ]
	let_go
}

@test "a holder of another version is named" {
	redis set redlock:a 'redlock-run/1 token=x try=1 since=1 pid=1 host=h user=u command=c' px 60000
	run -75 redlock -k a -- true
	[[ $output == *'a: held by u@h pid 1 (c) for '* ]]
}

@test "the value has the length of the lease" {
	hold a -t 90s
	[[ $(redis get redlock:a) == *' command=sh ttl=90000 '* ]]
	let_go
}
