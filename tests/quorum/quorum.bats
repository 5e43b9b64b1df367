#!/usr/bin/env bats
# Several servers: a majority is needed and enough, which servers have a vote,
# and what --status makes of them.
# shellcheck disable=SC2034,SC2154,SC2016

load ../lib/common
load ../lib/faults
load ../lib/servers
load ../lib/clients

setup_file() {
	servers_start
	faults_write_helpers
}

setup() { servers_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

status_of_a() {
	run --separate-stderr redlock --status -k a "$@"
}

# foreign N VALUE: server N has the lock for another client.
foreign() {
	redis_at "s$1" set redlock:a "$2" px 600000
}

## A majority is needed, and enough

@test "the lock is acquired and released on all servers" {
	run -5 --separate-stderr redlock -k a -- sh -c 'echo ran; exit 5'
	[ "$output" = ran ]
	[ -z "$stderr" ]
	eventually servers_only_fences 1 2 3
	for i in 1 2 3; do
		server_asked "$i"
	done
}

@test "-r and REDLOCK_REDIS list the servers" {
	redlock -k a -r "$(server_url 3)" -r "$(server_url 4)" -r "$(server_url 5)" -- true
	server_asked 3
	server_asked 4
	server_asked 5
	not server_asked 1
	not server_asked 2
	redlock -k a -- true
	server_asked 1
	server_asked 2
}

@test "a minority that is down delays nothing" {
	local start

	redis_kill s3
	start=$(now_us)
	run -0 --separate-stderr redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	servers_only_fences 1 2
	servers_use 1 2 3 4 5
	redis_kill s1
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	servers_only_fences 2 4 5
}

@test "a minority that is frozen delays neither the start nor the end" {
	local start

	redis_freeze s3
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	redis_thaw s3
	eventually server_asked 3
	eventually servers_only_fences 1 2 3
}

@test "two of five that are frozen delay neither the start nor the end" {
	local start

	servers_use 1 2 3 4 5
	redis_freeze s1
	redis_freeze s4
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	redis_thaw s1
	redis_thaw s4
	eventually server_asked 1
	eventually server_asked 4
	eventually servers_only_fences 1 2 3 4 5
}

@test "a server that thaws while COMMAND runs gets the key and loses it with the release" {
	redis_freeze s3
	redlock_bg -k a --node-timeout 20s -- sh -c \
	    'touch started; until [ -e let-go ]; do sleep 0.02; done'
	eventually test -e started
	redis_thaw s3
	eventually server_held 3
	touch let-go
	redlock_ended 0
	eventually servers_only_fences 1 2 3
}

@test "without a majority COMMAND does not run: 69, and no key is left" {
	redis_kill s2
	redis_kill s3
	refused_with 69 --node-timeout 500ms
	says s2.sock s3.sock
	eventually servers_only_fences 1
	servers_use 1 2 3 4 5
	redis_kill s4
	refused_with 69 --node-timeout 500ms
	eventually servers_only_fences 1 5
}

@test "a majority that does not reply gives 69 and has no key when it replies again" {
	redis_freeze s2
	redis_freeze s3
	refused_with 69 -t 1h --node-timeout 300ms
	redis_thaw s2
	redis_thaw s3
	eventually server_asked 2
	eventually server_asked 3
	eventually servers_only_fences 1 2 3
}

@test "an attempt ended by a signal leaves nothing behind" {
	redis_freeze s2
	redis_freeze s3
	redlock_bg -k a -t 1h --node-timeout 20s -- touch started
	eventually server_held 1
	kill -TERM "$bg_pid"
	redlock_ended 143
	redis_thaw s2
	redis_thaw s3
	eventually servers_only_fences 1 2 3
	[ ! -e started ]
}

## Busy, unreachable, refused

@test "a majority that refuses gives 75" {
	redis_at s1 set redlock:a other px 600000
	redis_at s3 set redlock:a other px 600000
	refused_with 75
	says other
	eventually servers_free 2
	[ "$(redis_at s1 get redlock:a)" = other ]
	[ "$(redis_at s3 get redlock:a)" = other ]
}

@test "a lock that only a minority grants to another is acquired, and the other's key stays" {
	redis_at s2 set redlock:a other px 600000
	redlock -k a -- true
	servers_free 1 3
	[ "$(redis_at s2 get redlock:a)" = other ]
	(($(redis_at s2 pttl redlock:a) > 300000))
}

@test "a lock held on several servers is busy for the next run" {
	hold a
	refused_with 75
	says "pid $bg_pid"
	let_go
	servers_only_fences 1 2 3
}

@test "one refusal and a majority down give 69, not 75" {
	redis_at s1 set redlock:a other px 600000
	redis_kill s2
	redis_kill s3
	refused_with 69 --node-timeout 500ms
}

@test "one refusal and one server down of three give 69, not 75" {
	redis_at s1 set redlock:a other px 600000
	redis_kill s2
	refused_with 69 --node-timeout 500ms
	eventually servers_free 3
}

@test "one refusal, one vote and one server down give 69 at once" {
	local start

	redis_at s1 set redlock:a other px 600000
	redis_kill s2
	start=$(now_us)
	refused_with 69 --node-timeout 20s
	(($(now_us) - start < 10000000))
	says s2.sock 'held by another client'
	eventually servers_free 3
}

@test "a password that a majority refuses fails at once, even while another server is frozen" {
	local start

	redis_at s1 acl setuser default resetpass '>s3cret'
	redis_at s2 acl setuser default resetpass '>s3cret'
	redis_freeze s3
	start=$(now_us)
	refused_with 77 --node-timeout 20s
	(($(now_us) - start < 10000000))
	redis_thaw s3
	eventually servers_only_fences 3
}

@test "a held lock is busy even where servers are out of memory" {
	hold a
	redis_at s1 config set maxmemory 1
	redis_at s2 config set maxmemory 1
	refused_with 75
	let_go
}

@test "a minority whose names do not resolve does not matter" {
	redis_use "$(server_url 1)" "$(server_url 2)" redis://nowhere.invalid
	redlock -k a -t 4s --kill-after 100ms --node-timeout 1s -- sleep 2
	servers_only_fences 1 2
	redis_kill s2
	refused_with 69 --node-timeout 500ms
	says nowhere.invalid s2.sock
}

@test "a majority of servers that cannot vote gives 69, not 75" {
	redis_at s1 config set maxmemory 1
	redis_at s2 config set maxmemory 1
	refused_with 69
	eventually servers_only_fences 3
}

@test "a server that cannot vote is outvoted" {
	redis_at s1 config set maxmemory 1
	redlock -k a -- true
	redis_at s1 config set maxmemory 0
	eventually servers_only_fences 1 2 3
}

@test "a password that a majority refuses gives 77" {
	redis_at s1 acl setuser default resetpass '>s3cret'
	redis_at s2 acl setuser default resetpass '>s3cret'
	redis_at s3 acl setuser default resetpass '>wrong'
	export REDISCLI_AUTH=wrong
	refused_with 77
	says s1.sock s2.sock
	eventually servers_free 1 2 3
}

@test "a majority that requires a password gives 77 if none is configured" {
	redis_at s1 acl setuser default resetpass '>s3cret'
	redis_at s2 acl setuser default resetpass '>s3cret'
	refused_with 77
	says s1.sock s2.sock
	eventually servers_free 1 2 3
}

@test "a password that a minority refuses does not matter" {
	redis_at s1 acl setuser default resetpass '>s3cret'
	redlock -k a -- true
	eventually servers_only_fences 2 3
}

## One server under two names

@test "a repeated address is a usage error" {
	run -64 --separate-stderr redlock -k a -r "$(server_url 1)" -r "$(server_url 2)" \
	    -r "$(server_url 1)" -- touch started
	says s1.sock
	[ ! -e started ]
	servers_use 1 2 2
	run -64 --separate-stderr redlock -k a -- touch started
	says s2.sock
	[ ! -e started ]
	not server_asked 1
}

@test "one server under two names is refused, and nothing is left on it" {
	redis_start_tcp tcp
	redis_freeze s1
	run -64 --separate-stderr redlock -k a -r "$(server_url 1)" \
	    -r "unix://$BATS_FILE_TMPDIR/tcp.sock" --node-timeout 3s \
	    -r "127.0.0.1:$redis_port" -- touch started
	says 'same server' tcp.sock "$redis_port"
	[ ! -e started ]
	redis_thaw s1
	eventually free_at_tcp
	eventually servers_only_fences 1
	ln -s "$BATS_FILE_TMPDIR/s1.sock" other.sock
	redis_freeze s2
	run -64 --separate-stderr redlock -k a -r "$(server_url 1)" \
	    -r "unix://$PWD/other.sock" -r "$(server_url 2)" -- touch started
	says 'same server'
	[ ! -e started ]
	redis_thaw s2
	eventually servers_only_fences 1 2
	redis_stop tcp
}

free_at_tcp() {
	[ "$(redis_at tcp exists redlock:a)" = 0 ]
}

@test "an address that begins to lead to another of the servers while a run waits has no vote, and the wait goes on" {
	declare -gA pid=()
	ln -s "$BATS_FILE_TMPDIR/s3.sock" moves.sock
	hold a
	REDLOCK_REDIS="$(server_url 1) $(server_url 2) unix://$PWD/moves.sock" \
	    client_start waiter 'touch started' -w inf
	eventually redis_has s3 '{redlock:a}:~queue'
	ln -s "$BATS_FILE_TMPDIR/s1.sock" new.sock
	mv new.sock moves.sock
	redis_kill s3
	eventually grep -q '^redlock-run: a: .*moves.sock and .*s1.sock are the same server and have one vote together$' waiter.err
	[ ! -e started ]
	let_go
	client_ends waiter 0
	[ -e started ]
	eventually servers_only_fences 1 2
}

@test "-v reports an even number of servers" {
	servers_use 1 2 3 4
	run -0 --separate-stderr redlock -k a -- true
	silent
	run -0 --separate-stderr redlock -v -k a -- true
	says '4 servers'
	servers_use 1 2 3
	run -0 --separate-stderr redlock -v -k a -- true
	[[ $stderr != *' servers '* ]]
}

## The restart grace

@test "with several servers a TTL above the restart grace is a usage error" {
	unset REDLOCK_RESTART_GRACE
	run -64 --separate-stderr redlock -k a -t 61s -- touch started
	says --ttl 'restart grace'
	run -64 --separate-stderr redlock -k a -t 3s --restart-grace 2s -- \
	    touch started
	REDLOCK_RESTART_GRACE=2s run -64 --separate-stderr redlock -k a -t 3s \
	    -- touch started
	[ ! -e started ]
	redlock -k a -t 1h --restart-grace 0 -- true
	redlock -k a -t 1h -r "$(server_url 1)" -- true
	REDLOCK_TTL=1h run -1 redlock --status -k a
}

@test "with several servers --min-hold above the restart grace is a usage error" {
	unset REDLOCK_RESTART_GRACE
	run -64 --separate-stderr redlock -k a --min-hold 61s -- touch started
	says '--min-hold: 1m1s exceeds the restart grace of 1m'
	run -64 --separate-stderr redlock -k a -t 1s --min-hold 3s \
	    --restart-grace 2s -- touch started
	says '--min-hold: 3s' '--restart-grace'
	[ ! -e started ]
	redlock -k a --min-hold 61s --restart-grace 0 -- true
	redlock -k b --min-hold 61s -r "$(server_url 1)" -- true
}

@test "with several servers --max-ttl above the restart grace is a usage error" {
	unset REDLOCK_RESTART_GRACE
	run -64 --separate-stderr redlock -k a --max-ttl 61s -- touch started
	says '--max-ttl: 1m1s exceeds the restart grace of 1m'
	REDLOCK_MAX_TTL=1h run -64 --separate-stderr redlock -k a -- touch started
	says 'REDLOCK_MAX_TTL: 1h exceeds'
	[ ! -e started ]
	redlock -k a --max-ttl 1h --restart-grace 0 -- true
	redlock -k a --max-ttl 1h -r "$(server_url 1)" -- true
}

@test "a run whose restart grace is shorter than the holder's longest lease or cooldown gets 64" {
	local i option
	for option in 'ttl=1800000 lease=60000' 'ttl=60000 hold=1800000'; do
		for i in 1 2; do
			foreign $i "redlock-run/2 token=01234567-89ab-4cde-8f01-23456789abcd try=1 since=$(($(now_us) / 1000)) pid=1 host=web1 user=alice command=c $option"
		done
		refused_with 64 --restart-grace 60s
		says 'a: alice@web1 may hold it for 30m, longer than our --restart-grace of 1m'
		refused_with 64 --restart-grace 60s -w 10s
		refused_with 75 --restart-grace 30m
		refused_with 75 --restart-grace 0
		refused_with 75 --restart-grace 60s -r "$(server_url 1)"
	done
	for i in 1 2; do
		redis_at s$i del redlock:a
	done
}

@test "restarted servers have no vote, and the message has the remaining time: 69" {
	local i

	for i in 1 2 3; do
		redis_restart "s$i"
	done
	refused_with 69 -t 1s --restart-grace 1h --node-timeout 3s
	says s1.sock s2.sock 'started ' \
	    'ago and may have forgotten locks; no vote for another ' \
	    '(--restart-grace)'
	eventually servers_only_fences 1 2 3
	unset REDLOCK_RESTART_GRACE
	refused_with 69
	redlock -k a -r "$(server_url 1)" -- true
}

@test "servers vote once the restart grace has passed" {
	local second

	redis_restart s1
	second=$(now_us)
	redis_restart s2
	redis_restart s3
	eventually redlock -k a -t 1s --restart-grace 2s -- true
	(($(now_us) - second > 2000000))
	eventually servers_only_fences 1 2 3
}

@test "one restarted server of three is outvoted, two are not" {
	eventually servers_up_for 16 1 2 3
	redis_restart s3
	redlock -k a -t 15s --restart-grace 15s --node-timeout 3s -- true
	redis_restart s2
	refused_with 69 -t 15s --restart-grace 15s --node-timeout 3s
	says s2.sock s3.sock
	[[ $stderr != *s1.sock:* ]]
	eventually servers_only_fences 1 2 3
}

## --status

@test "--status shows the holder that the servers agree on" {
	hold a
	status_of_a --json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	json_one 'd["state"] == "held"'
	json_one "d['holders'][0]['pid'] == $bg_pid"
	json_one 'len(d["holders"]) == 1'
	json_one '[s["state"] for s in d["votes"]] == ["held"] * 3'
	run -0 --separate-stderr redlock --status
	[ "$(wc -l <<<"$output")" -eq 2 ]
	let_go
	status_of_a
	[ "$status" -eq 1 ]
}

@test "--status: a holder counts where a majority agrees" {
	foreign 1 other
	foreign 3 other
	status_of_a --json
	[ "$status" -eq 0 ]
	json_one 'd["state"] == "held"'
	json_one '[h["token"] for h in d["holders"]] == ["other"]'
	json_one '[s["state"] for s in d["votes"]] == ["held", "free", "held"]'
	json_one 'd["votes"][1]["ttl_ms"] is None'
}

@test "--status: a holder that only a minority names does not count" {
	foreign 2 other
	status_of_a --json
	[ "$status" -eq 1 ]
	json_one 'd["state"] == "free"'
	json_one 'd["holders"] == []'
	json_one '[s["state"] for s in d["votes"]] == ["free", "held", "free"]'
}

@test "--status: without agreement of a majority the state is unknown" {
	foreign 1 one
	foreign 2 two
	status_of_a --json
	[ "$status" -eq 69 ]
	json_one 'd["state"] == "unknown" and d["holders"] is None'
	status_of_a
	[ "$status" -eq 69 ]
	[[ $output == *$'\n'a\ *unknown* ]]
}

@test "--status -v has a line for each server" {
	foreign 1 other
	foreign 2 other
	status_of_a -v
	[ "$status" -eq 0 ]
	grep -q 's1\.sock .*other' <<<"$output"
	grep -q 's2\.sock .*other' <<<"$output"
	grep -q 's3\.sock .*free' <<<"$output"
}

@test "--status names a server that is down and uses the others" {
	foreign 1 other
	foreign 2 other
	redis_kill s3
	status_of_a --json
	[ "$status" -eq 0 ]
	says s3.sock
	json_one 'd["state"] == "held"'
	json_one '[s["state"] for s in d["votes"]] == ["held", "held", "unknown"]'
	redis_at s2 del redlock:a
	status_of_a
	[ "$status" -eq 69 ]
}

@test "--status without a majority of the servers: 69" {
	foreign 1 other
	redis_kill s2
	redis_kill s3
	status_of_a --json
	[ "$status" -eq 69 ]
	says s2.sock s3.sock
	json_one 'd["state"] == "unknown"'
	run -69 --separate-stderr redlock --status
	status_of_a -v
	[ "$status" -eq 69 ]
	grep -q 's1\.sock .*other' <<<"$output"
	grep -q 's2\.sock .*refused' <<<"$output"
}
