#!/usr/bin/env bats
# Several servers: a majority is needed and enough, which servers have a vote,
# and what --status makes of them.
# shellcheck disable=SC2154,SC2016

load ../lib/common
load ../lib/faults
load ../lib/servers

setup_file() {
	five_servers
	write_helpers
}

setup() { fresh_servers; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

ask() {
	run --separate-stderr redlock --status -k a "$@"
}

# foreign N VALUE: server N has the lock for another client.
foreign() {
	redis_at "s$1" set redlock:a "$2" px 600000
}

## A majority is needed, and enough

@test "the lock is taken on all servers, and given back on all" {
	run -5 --separate-stderr redlock -k a -- sh -c 'echo ran; exit 5'
	[ "$output" = ran ]
	[ -z "$stderr" ]
	eventually only_fences 1 2 3
	for i in 1 2 3; do
		asked_at "$i"
	done
}

@test "the servers that are asked are those of -r, or of REDLOCK_REDIS" {
	redlock -k a -r "$(url 3)" -r "$(url 4)" -r "$(url 5)" -- true
	asked_at 3
	asked_at 4
	asked_at 5
	not asked_at 1
	not asked_at 2
	redlock -k a -- true
	asked_at 1
	asked_at 2
}

@test "a minority that is down delays nothing" {
	local start

	redis_kill s3
	start=$(now_us)
	run -0 --separate-stderr redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	only_fences 1 2
	servers 1 2 3 4 5
	redis_kill s1
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	only_fences 2 4 5
}

@test "a minority that is frozen delays neither the start nor the end" {
	local start

	redis_freeze s3
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	redis_thaw s3
	eventually asked_at 3
	eventually only_fences 1 2 3
}

@test "two of five that are frozen delay neither the start nor the end" {
	local start

	servers 1 2 3 4 5
	redis_freeze s1
	redis_freeze s4
	start=$(now_us)
	redlock -k a --node-timeout 20s -- true
	(($(now_us) - start < 10000000))
	redis_thaw s1
	redis_thaw s4
	eventually asked_at 1
	eventually asked_at 4
	eventually only_fences 1 2 3 4 5
}

@test "a server that thaws while COMMAND runs has the key, and gives it back" {
	redis_freeze s3
	redlock_bg -k a --node-timeout 20s -- sh -c \
	    'touch started; until [ -e let-go ]; do sleep 0.02; done'
	eventually test -e started
	redis_thaw s3
	eventually held_at 3
	touch let-go
	redlock_ended 0
	eventually only_fences 1 2 3
}

@test "without a majority COMMAND does not run: 69, and nothing is left" {
	redis_kill s2
	redis_kill s3
	gives 69 --node-timeout 500ms
	says s2.sock s3.sock
	eventually only_fences 1
	servers 1 2 3 4 5
	redis_kill s4
	gives 69 --node-timeout 500ms
	eventually only_fences 1 5
}

@test "a majority that does not answer: 69, and nothing is left when it answers again" {
	redis_freeze s2
	redis_freeze s3
	gives 69 -t 1h --node-timeout 300ms
	redis_thaw s2
	redis_thaw s3
	eventually asked_at 2
	eventually asked_at 3
	eventually only_fences 1 2 3
}

@test "an attempt that a signal ends leaves nothing behind" {
	redis_freeze s2
	redis_freeze s3
	redlock_bg -k a -t 1h --node-timeout 20s -- touch started
	eventually held_at 1
	kill -TERM "$bg_pid"
	redlock_ended 143
	redis_thaw s2
	redis_thaw s3
	eventually only_fences 1 2 3
	[ ! -e started ]
}

## Busy, unreachable, refused

@test "busy is what a majority refuses: 75" {
	redis_at s1 set redlock:a other px 600000
	redis_at s3 set redlock:a other px 600000
	gives 75
	says other
	eventually free_at 2
	[ "$(redis_at s1 get redlock:a)" = other ]
	[ "$(redis_at s3 get redlock:a)" = other ]
}

@test "a lock that a minority has for another is taken, and the other's key stays" {
	redis_at s2 set redlock:a other px 600000
	redlock -k a -- true
	free_at 1 3
	[ "$(redis_at s2 get redlock:a)" = other ]
	(($(redis_at s2 pttl redlock:a) > 300000))
}

@test "a lock that redlock-run holds on several servers is busy for the next" {
	hold a
	gives 75
	says "pid $bg_pid"
	let_go
	only_fences 1 2 3
}

@test "a refusal and servers that are down do not come to busy: 69" {
	redis_at s1 set redlock:a other px 600000
	redis_kill s2
	redis_kill s3
	gives 69 --node-timeout 500ms
}

@test "one refusal and one server that is down do not come to busy: 69" {
	redis_at s1 set redlock:a other px 600000
	redis_kill s2
	gives 69 --node-timeout 500ms
	eventually free_at 3
}

@test "one refusal, one vote and one server that is down: 69 at once" {
	local start

	redis_at s1 set redlock:a other px 600000
	redis_kill s2
	start=$(now_us)
	gives 69 --node-timeout 20s
	(($(now_us) - start < 10000000))
	says s2.sock 'held by another client'
	eventually free_at 3
}

@test "a password that a majority refuses fails fast, though another server is frozen" {
	local start

	redis_at s1 acl setuser default resetpass '>s3cret'
	redis_at s2 acl setuser default resetpass '>s3cret'
	redis_freeze s3
	start=$(now_us)
	gives 77 --node-timeout 20s
	(($(now_us) - start < 10000000))
	redis_thaw s3
	eventually only_fences 3
}

@test "a held lock is busy, also where servers are out of memory" {
	hold a
	redis_at s1 config set maxmemory 1
	redis_at s2 config set maxmemory 1
	gives 75
	let_go
}

@test "a minority whose name is not known does not matter" {
	tell "$(url 1)" "$(url 2)" redis://nowhere.invalid
	redlock -k a -t 4s --kill-after 100ms --node-timeout 1s -- sleep 2
	only_fences 1 2
	redis_kill s2
	gives 69 --node-timeout 500ms
	says nowhere.invalid s2.sock
}

@test "servers that cannot are no majority, and nobody holds it there: 69" {
	redis_at s1 config set maxmemory 1
	redis_at s2 config set maxmemory 1
	gives 69
	eventually only_fences 3
}

@test "a server that cannot is outvoted" {
	redis_at s1 config set maxmemory 1
	redlock -k a -- true
	redis_at s1 config set maxmemory 0
	eventually only_fences 1 2 3
}

@test "a password that a majority refuses: 77" {
	redis_at s1 acl setuser default resetpass '>s3cret'
	redis_at s2 acl setuser default resetpass '>s3cret'
	redis_at s3 acl setuser default resetpass '>wrong'
	export REDISCLI_AUTH=wrong
	gives 77
	says s1.sock s2.sock
	eventually free_at 1 2 3
}

@test "a majority that wants a password, and none is given: 77" {
	redis_at s1 acl setuser default resetpass '>s3cret'
	redis_at s2 acl setuser default resetpass '>s3cret'
	gives 77
	says s1.sock s2.sock
	eventually free_at 1 2 3
}

@test "a password that a minority refuses does not matter" {
	redis_at s1 acl setuser default resetpass '>s3cret'
	redlock -k a -- true
	eventually only_fences 2 3
}

## One server under two names

@test "the same address twice is a usage error" {
	run -64 --separate-stderr redlock -k a -r "$(url 1)" -r "$(url 2)" \
	    -r "$(url 1)" -- touch started
	says s1.sock --help
	[ ! -e started ]
	servers 1 2 2
	run -64 --separate-stderr redlock -k a -- touch started
	says s2.sock
	[ ! -e started ]
	not asked_at 1
}

@test "one server under two names is refused, and nothing is left" {
	redis_start_tcp tcp
	redis_freeze s1
	run -64 --separate-stderr redlock -k a -r "$(url 1)" \
	    -r "unix://$BATS_FILE_TMPDIR/tcp.sock" --node-timeout 3s \
	    -r "127.0.0.1:$redis_port" -- touch started
	says 'same server' tcp.sock "$redis_port"
	[ ! -e started ]
	redis_thaw s1
	eventually free_at_tcp
	eventually only_fences 1
	ln -s "$BATS_FILE_TMPDIR/s1.sock" other.sock
	redis_freeze s2
	run -64 --separate-stderr redlock -k a -r "$(url 1)" \
	    -r "unix://$PWD/other.sock" -r "$(url 2)" -- touch started
	says 'same server'
	[ ! -e started ]
	redis_thaw s2
	eventually only_fences 1 2
	redis_stop tcp
}

free_at_tcp() {
	[ "$(redis_at tcp exists redlock:a)" = 0 ]
}

@test "an even number of servers is said with -v" {
	servers 1 2 3 4
	run -0 --separate-stderr redlock -k a -- true
	silent
	run -0 --separate-stderr redlock -v -k a -- true
	says '4 servers'
	servers 1 2 3
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
	redlock -k a -t 1h -r "$(url 1)" -- true
	REDLOCK_TTL=1h run -1 redlock --status -k a
}

@test "with several servers --at-least above the restart grace is a usage error" {
	unset REDLOCK_RESTART_GRACE
	run -64 --separate-stderr redlock -k a --at-least 61s -- touch started
	says '--at-least: 1m1s is more than the restart grace of 1m'
	run -64 --separate-stderr redlock -k a -t 1s --at-least 3s \
	    --restart-grace 2s -- touch started
	says '--at-least: 3s' '--restart-grace'
	[ ! -e started ]
	redlock -k a --at-least 61s --restart-grace 0 -- true
	redlock -k b --at-least 61s -r "$(url 1)" -- true
}

@test "servers that started only just now have no vote: 69, and it says until when" {
	local i

	for i in 1 2 3; do
		redis_restart "s$i"
	done
	gives 69 -t 1s --restart-grace 1h --node-timeout 3s
	says s1.sock s2.sock 'it started only ' \
	    'ago and may have forgotten locks; it has no vote for another ' \
	    '(--restart-grace)'
	eventually only_fences 1 2 3
	unset REDLOCK_RESTART_GRACE
	gives 69
	redlock -k a -r "$(url 1)" -- true
}

@test "once the grace has passed the servers vote" {
	local second

	redis_restart s1
	second=$(now_us)
	redis_restart s2
	redis_restart s3
	eventually 30 redlock -k a -t 1s --restart-grace 2s -- true
	(($(now_us) - second > 2000000))
	eventually only_fences 1 2 3
}

@test "one young server of three is outvoted, two are not" {
	eventually 40 up_for 16 1 2 3
	redis_restart s3
	redlock -k a -t 15s --restart-grace 15s --node-timeout 3s -- true
	redis_restart s2
	gives 69 -t 15s --restart-grace 15s --node-timeout 3s
	says s2.sock s3.sock
	[[ $stderr != *s1.sock:* ]]
	eventually only_fences 1 2 3
}

## --status

@test "--status shows the holder that the servers agree on" {
	hold a
	ask --json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	json_one 'd["state"] == "held"'
	json_one "d['holders'][0]['pid'] == $bg_pid"
	json_one 'len(d["holders"]) == 1'
	json_one '[s["state"] for s in d["servers"]] == ["held"] * 3'
	run -0 --separate-stderr redlock --status
	[ "$(wc -l <<<"$output")" -eq 2 ]
	let_go
	ask
	[ "$status" -eq 1 ]
}

@test "--status: an owner counts where a majority agrees" {
	foreign 1 other
	foreign 3 other
	ask --json
	[ "$status" -eq 0 ]
	json_one 'd["state"] == "held"'
	json_one '[h["token"] for h in d["holders"]] == ["other"]'
	json_one '[s["state"] for s in d["servers"]] == ["held", "free", "held"]'
	json_one 'd["servers"][1]["ttl_ms"] is None'
}

@test "--status: an owner that a minority names does not count" {
	foreign 2 other
	ask --json
	[ "$status" -eq 1 ]
	json_one 'd["state"] == "free"'
	json_one 'd["holders"] == []'
	json_one '[s["state"] for s in d["servers"]] == ["free", "held", "free"]'
}

@test "--status: where there is no majority the state is unknown" {
	foreign 1 one
	foreign 2 two
	ask --json
	[ "$status" -eq 69 ]
	json_one 'd["state"] == "unknown" and d["holders"] == []'
	ask
	[ "$status" -eq 69 ]
	[[ $output == *$'\n'a\ *unknown* ]]
}

@test "--status -v has a line for each server" {
	foreign 1 other
	foreign 2 other
	ask -v
	[ "$status" -eq 0 ]
	grep -q 's1\.sock .*other' <<<"$output"
	grep -q 's2\.sock .*other' <<<"$output"
	grep -q 's3\.sock .*free' <<<"$output"
}

@test "--status names a server that is down, and answers by the others" {
	foreign 1 other
	foreign 2 other
	redis_kill s3
	ask --json
	[ "$status" -eq 0 ]
	says s3.sock
	json_one 'd["state"] == "held"'
	json_one '[s["state"] for s in d["servers"]] == ["held", "held", "unknown"]'
	redis_at s2 del redlock:a
	ask
	[ "$status" -eq 69 ]
}

@test "--status without a majority of the servers: 69" {
	foreign 1 other
	redis_kill s2
	redis_kill s3
	ask --json
	[ "$status" -eq 69 ]
	says s2.sock s3.sock
	json_one 'd["state"] == "unknown"'
	run -69 --separate-stderr redlock --status
	ask -v
	[ "$status" -eq 69 ]
	grep -q 's1\.sock .*other' <<<"$output"
	grep -q 's2\.sock .*refused' <<<"$output"
}
