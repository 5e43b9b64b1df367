#!/usr/bin/env bats
# bats file_tags=timing
# Several servers: the messages of a run while a minority does not hold its lock.
# shellcheck disable=SC2034,SC2154,SC2016

load ../lib/common
load ../lib/servers

setup_file() { servers_start; }
setup() { servers_reset; }

teardown() {
	redis_thaw s3
	redis_at s3 ping >/dev/null 2>&1 || redis_spawn s3
	nothing_left
}

teardown_file() { redis_stop_all; }

# degraded_hold [ARG...]: hold a, with times that do not make a test long; the
# third server may be gone.
degraded_hold() {
	local servers="s1 s2"
	hold a -t 3s --node-timeout 500ms --kill-after 100ms "$@"
}

# degraded_lines N REGEX: so many lines of the run match.
degraded_lines() {
	cat "$bg_err"
	[ "$(grep -cE -- "$2" "$bg_err")" = "$1" ]
}

@test "a run that a minority has not granted reports it once, with the reason" {
	redis_stop s3
	degraded_hold
	eventually degraded_lines 1 \
	    "^redlock-run: a: held on only 2 of 3 servers: unix://.*/s3\.sock: No such file or directory$"
	sleep 1.5
	let_go
	[ "$(wc -l <"$bg_err")" = 1 ]
}

@test "a COMMAND that ends within the node timeout leaves a minority unmentioned" {
	redis_stop s3
	run -0 --separate-stderr redlock -k a -- true
	silent
}

@test "the first loss and the first return of a server are reported, later ones with -v" {
	local i

	hold a -t 6s --node-timeout 1s --kill-after 100ms
	sleep 1.5 # more than the node timeout
	for i in 1 2; do
		redis_stop s3
		eventually degraded_lines 1 \
		    "^redlock-run: a: unix://.*/s3\.sock: .*; 2 of 3 servers hold the lock$"
		if ((i == 2)); then
			# long enough for it to be reported twice
			sleep 1.5
		fi
		redis_spawn s3
		eventually server_held 3
		eventually degraded_lines 1 \
		    "^redlock-run: a: unix://.*/s3\.sock is back; 3 of 3 servers hold the lock$"
	done
	let_go
	cat "$bg_err"
	[ "$(wc -l <"$bg_err")" = 2 ]
}

@test "-v reports each loss and each return of a server" {
	local i

	hold a -t 6s --node-timeout 1s --kill-after 100ms -v
	sleep 1.5
	for i in 1 2; do
		redis_stop s3
		eventually degraded_lines "$i" "; 2 of 3 servers hold the lock$"
		redis_spawn s3
		eventually degraded_lines "$i" "is back; 3 of 3 servers hold the lock$"
	done
	let_go
}

@test "-q silences the reports about a minority" {
	redis_stop s3
	degraded_hold -q
	sleep 1.5
	redis_spawn s3
	eventually server_held 3
	sleep 1
	let_go
	[ ! -s "$bg_err" ]
}

@test "a run with one server has no minority to report" {
	servers_use 1
	run -0 --separate-stderr redlock -k a --node-timeout 100ms -- sleep 0.5
	silent
}
