#!/usr/bin/env bats
# Votes that are split between programs or versions.
# shellcheck disable=SC2030,SC2031,SC2154

load ../lib/versions

setup_file() { versions_start; }
setup() { versions_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

@test "a waiter gives its votes back while a value that it cannot read has another server" {
	redis_at s2 set redlock:a other px 600000
	servers_use 1 2 4
	redis_at s4 set redlock:a other px 600000
	redlock_bg -k a -w 10m -- true
	eventually server_held 1
	eventually servers_free 1
	redis_at s2 del redlock:a
	redlock_ended 0
}

# both_ask TIMES N: two versions ask for the free lock at the same moment, the one
# for servers 1, 2 and N, and the other for 2, 1 and N.
both_ask() {
	local n
	for ((n = 0; n < $1; n++)); do
		servers_use 1 2 "$2"
		as "$ours" client_start o true -w 5m -t 1h
		servers_use 2 1 "$2"
		as "$theirs" client_start t true -w 5m -t 1h
		client_ends o 0
		client_ends t 0
	done
}

@test "votes that two versions split become those of the first ticket" {
	both_ask 5 3
}

@test "two versions split no votes for good while a third server is down" {
	both_ask 10 9 # there is no such server
}
