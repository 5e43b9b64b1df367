#!/usr/bin/env bats
# A job that runs every night, and what the queries show of each night.
# shellcheck disable=SC2154,SC2016

load ../lib/one_redis

# endings ARG...: the column ENDED of --history, newest first.
endings() {
	redlock --history nightly "$@" | sed 1d |
		awk '{ print /broken by/ ? "broken" : / skipped: / ? "skipped" : $NF }' |
		xargs
}

# nagios ARG...: the check as a monitor calls it: with no environment and no
# standard input, it prints one line.
nagios() {
	run --separate-stderr env -i "$REDLOCK_RUN" -r "$REDLOCK_REDIS" \
	    --history nightly "$@" <&-
	[ -z "$stderr" ]
	[ "${#lines[@]}" -eq 1 ]
}

@test "--history, --all, --failed, --since, --max-age and --metrics agree on the end of each night's run" {
	local token success

	# One night it succeeds.
	redlock -k nightly -- true
	run -0 redlock --history nightly --max-age 1h
	[[ $output =~ ^'nightly: OK: last success '[0-9a-z]+" ago on $(uname -n)"$ ]]

	# One night another program has the lock: skipped.
	redis set redlock:nightly somebody >/dev/null
	run -75 redlock -k nightly -- true
	redis del redlock:nightly >/dev/null
	nagios --max-age 1h
	[ "$status" -eq 0 ]
	[[ $output == 'nightly: OK: last success '*" ago on $(uname -n); since then 1 skipped" ]]

	# One night somebody breaks it.
	hold nightly -t 1500ms
	token=$(redis get redlock:nightly | sed 's/.* token=\([^ ]*\).*/\1/')
	redlock --break nightly --token "$token"
	redlock_ended 79

	# One night Redis is down: nothing is recorded, and nobody can tell.
	redis_freeze
	run -69 redlock -k nightly --node-timeout 200ms -- true
	nagios --max-age 1h --node-timeout 200ms
	[ "$status" -eq 69 ]
	[[ $output == 'nightly: UNKNOWN: too few servers answer: '*': connected, but no reply within 200ms' ]]
	redis_thaw

	# One night it fails.
	run -3 redlock -k nightly -- sh -c 'exit 3'

	[ "$(endings)" = '3 broken 0' ]
	[ "$(endings --all)" = '3 broken skipped 0' ]
	[ "$(endings --all --failed)" = '3 broken skipped' ]
	[ "$(endings --all --since 1h --rows 3)" = '3 broken skipped' ]
	[ "$(endings --all --since 1ms)" = '' ]
	[ "$(endings --failed)" = '3 broken' ]
	[ "$(endings --since 1h)" = '3 broken 0' ]
	[ "$(endings --failed --rows 1)" = 3 ]
	nagios --max-age 1h
	[ "$status" -eq 0 ]
	[[ $output == 'nightly: OK: last success '*'; since then 2 failed, 1 skipped' ]]
	# The lease of the broken night was longer than this.
	nagios --max-age 400ms
	[ "$status" -eq 1 ]
	[[ $output == 'nightly: OVERDUE: last success '*', more than 400ms; since then 2 failed, 1 skipped' ]]
	run -0 redlock --metrics
	grep -qx 'redlock_last_run_status{lock="nightly"} 3' <<<"$output"
	success=$(sed -n 's/^redlock_last_success_[a-z_]*{lock="nightly"} //p' \
	    <<<"$output")
	run -0 redlock --history nightly --json
	json "[r['ended'] for r in d] == ['exited', 'lost', 'exited']"
	run -0 redlock --history nightly --json --all
	json "[r['ended'] for r in d] == ['exited', 'lost', 'skipped', 'exited']"
	json "d[2]['reason'] == 'busy' and d[2]['held_by']['token'] == 'somebody'"
	run -0 redlock --history nightly --json
	# The success counts from COMMAND's start, the run from the grant.
	json "0 <= $success + 0.01 - __import__('datetime').datetime.fromisoformat(d[2]['since'][:23] + '+00:00').timestamp() < 60"
}
