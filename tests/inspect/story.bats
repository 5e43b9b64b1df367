#!/usr/bin/env bats
# A job that runs every night, and what the queries show of each night.
# shellcheck disable=SC2154,SC2016

load ../lib/common

setup_file() { redis_start; }

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# endings ARG...: the column ENDED of --history, newest first.
endings() {
	redlock --history nightly "$@" | sed 1d |
		awk '{ print /broken by/ ? "broken" : $NF }' | xargs
}

@test "--history, --failed, --since, --max-age and --metrics agree on what became of each night" {
	local token success

	# One night it succeeds.
	redlock -k nightly -- true
	run -0 redlock --history nightly --max-age 1h
	[[ $output =~ ^'nightly: last success '[0-9a-z]+" ago on $(uname -n)"$ ]]

	# One night another program has the lock: skipped.
	redis set redlock:nightly somebody >/dev/null
	run -75 redlock -k nightly -- true
	redis del redlock:nightly >/dev/null

	# One night somebody breaks it.
	hold nightly -t 1500ms
	token=$(redis get redlock:nightly | sed 's/.* token=\([^ ]*\).*/\1/')
	redlock --break nightly --token "$token"
	redlock_ended 79

	# One night no Redis can be reached: nothing is recorded.
	run -69 redlock -k nightly -r unix:///nowhere -- true

	# One night it fails.
	run -3 redlock -k nightly -- sh -c 'exit 3'

	[ "$(endings)" = '3 broken 0' ]
	[ "$(endings --failed)" = '3 broken' ]
	[ "$(endings --since 1h)" = '3 broken 0' ]
	[ "$(endings --failed --rows 1)" = 3 ]
	run -0 redlock --history nightly --max-age 1h
	[[ $output == 'nightly: last success '*'; since then 2 failed' ]]
	# The lease of the broken night was longer than this.
	run -1 redlock --history nightly --max-age 400ms
	[[ $output == 'nightly: last success '*'; since then 2 failed' ]]
	run -0 redlock --metrics
	grep -qx 'redlock_last_run_status{lock="nightly"} 3' <<<"$output"
	success=$(sed -n 's/^redlock_last_success_[a-z_]*{lock="nightly"} //p' \
	    <<<"$output")
	run -0 redlock --history nightly --json
	json "[r['ended'] for r in d] == ['exited', 'lost', 'exited']"
	json "abs(__import__('datetime').datetime.fromisoformat(d[2]['since'][:23] + '+00:00').timestamp() - $success) < 0.01"
}
