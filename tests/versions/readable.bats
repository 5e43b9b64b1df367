#!/usr/bin/env bats
# What other versions have written into a lock's keys.
# shellcheck disable=SC2030,SC2031,SC2154

load ../lib/one_redis

token=01234567-89ab-4cde-8f01-23456789abcd
runs='{redlock:a}:~runs'

# vectors KIND: the vectors of that kind, each as its entry and what is expected
# of it, between bars.
vectors() {
	awk -F '|' -v kind="$1" '$1 == kind { print $3 "|" $4 }' \
	    "$top/tests/versions/vectors"
}

# shown: the state and the owner of "a", by --status.
shown() {
	run --separate-stderr redlock --status a --json
	[ "$status" -eq 0 ]
	/usr/bin/python3 -c '
import json, sys
lock = json.load(sys.stdin)["locks"][0]
owner = lock["holders"][0]
print(*[lock["state"]] + [owner[name] or "?" for name in ("host", "user", "command")]
      if owner["token"] == sys.argv[1] else ["foreign"])' "$token" <<<"$output"
}

@test "a value of any version is shown, is busy, and can be broken by its token" {
	local value want n=0
	while IFS='|' read -r value want; do
		redis set redlock:a "$value" px 60000
		[ "$(shown)" = "$want" ] || {
			echo "$value: $(shown)" >&2
			return 1
		}
		run --separate-stderr redlock -k a -- true
		[ "$status" -eq 75 ]
		run --separate-stderr redlock --break a --token "$token"
		if [[ $want == foreign ]]; then
			[ "$status" -eq 1 ]
			held
		else
			[ "$status" -eq 0 ]
			free
		fi
		((n += 1))
	done < <(vectors value)
	((n >= 10))
}

@test "--break records a run of another version in the history" {
	redis set redlock:a "paused redlock-run/9 token=$token try=3 since=5 new=1 host=h" px 60000
	redlock --break a --token "$token"
	[[ $(redis xrange "$runs" - +) == *"broken"*"redlock-run/9 token=$token try=3 since=5 new=1 host=h by="* ]]
	[[ $(redis xrange "$runs" - +) != *paused* ]]
}

@test "--history shows the runs of other versions, and passes over unknown entries" {
	local entry want n=0
	while IFS='|' read -r entry want; do
		redis del "$runs" >/dev/null
		redis xadd "$runs" '*' noise x >/dev/null
		redis xadd "$runs" '*' "${entry%% *}" "${entry#* }" extra 1 >/dev/null
		run --separate-stderr redlock --history a --json
		[ "$status" -eq 0 ] || [[ $want == none ]]
		if [[ $want == none ]]; then
			json 'd == []'
		elif [[ $want == None ]]; then
			json '[r["ended"] for r in d] == [None]'
		else
			json "[r['ended'] for r in d] == ['$want']"
		fi
		((n += 1))
	done < <(vectors run)
	((n >= 3))
}

@test "--history shows the slot of a run of any version" {
	local entry want n=0
	while IFS='|' read -r entry want; do
		redis del "$runs" >/dev/null
		redis xadd "$runs" '*' "${entry%% *}" "${entry#* }" >/dev/null
		run -0 --separate-stderr redlock --history a --json
		json "[r['slot'] for r in d] == [$want]"
		((n += 1))
	done < <(vectors slot)
	((n >= 4))
}

@test "--history shows the run of a holder of another version as running" {
	local state value="redlock-run/9 token=$token try=3 since=5 new=1 host=h"
	redis xadd "$runs" '*' start "$value" >/dev/null
	for state in '' 'paused ' 'cooldown '; do
		redis set redlock:a "$state$value" px 60000
		run --separate-stderr redlock --history --json
		[ "$status" -eq 0 ]
		if [[ $state == cooldown* ]]; then
			json "[r['ended'] for r in d] == ['died']"
		else
			json "[r['ended'] for r in d] == ['running']"
		fi
	done
}

@test "the message of a loss names the user who broke the lock with another version" {
	hold a
	redis del redlock:a
	redis xadd "$runs" '*' broken \
	    "$(redis xrange "$runs" - + | grep -o '^redlock-run/.*') new=1 by=ann@web2 new=2" new 3
	redlock_ended 79
	grep -q 'ann@web2' "$bg_err"
}

@test "--once-per counts the success of another version" {
	redis set '{redlock:a}:~success' \
	    "redlock-run/9 token=$token try=1 since=$(redis time | head -n 1)000 new=1 host=h ran=7 more=1" >/dev/null
	run --separate-stderr redlock -k a --once-per 1h -- touch ran
	[ "$status" -eq 75 ]
	[ ! -e ran ]
}

@test "a run with --slots is refused beside a value without slots of any version" {
	redis set redlock:a "redlock-run/9 token=$token try=1 since=1 mode=weights" px 60000
	run --separate-stderr redlock -k a --slots 3 -- true
	[ "$status" -eq 64 ]
	run --separate-stderr redlock -k a -- true
	[ "$status" -eq 75 ]
}

@test "a cooldown and a lock of another version are shortened by their own fields" {
	local state
	for state in 'ttl=' 'cooldown hold='; do
		redis set redlock:a "$([[ $state == c* ]] && echo 'cooldown ')redlock-run/9 token=$token try=1 since=1 new=1 ${state##* }1000" px 3600000
		run redlock -k a -- true
		[ "$status" -eq 75 ]
		(($(redis pttl redlock:a) <= 1000))
	done
}

@test "--status -v and --json show which version a holder and a waiter have" {
	local version
	version=$(redlock -V | sed -n '1s/^redlock-run //p')
	hold a
	run --separate-stderr redlock --status a -v
	grep -qxE "  token [0-9a-f-]{36}  [^ ]+ pid [0-9]+, version $version" <<<"$output"
	run --separate-stderr redlock --status a --json
	json_one "d['holders'][0]['version'] == '$version'"
	let_go
	redis set redlock:a "redlock-run/2 token=$token try=1 since=1 host=h" px 60000
	run --separate-stderr redlock --status a --json
	json_one "d['holders'][0]['version'] is None"
}

@test "JSON objects begin with their format, which is 1" {
	local command
	for command in --status --history --check; do
		run --separate-stderr redlock "$command" --json
		[ "$status" -eq 0 ]
		[[ $output == '{"format": 1,'* || $output == '{"format":1,'* ]]
	done
}
