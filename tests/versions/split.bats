#!/usr/bin/env bats
# Votes that are split with a client whose values cannot be read.
# shellcheck disable=SC2154

load ../lib/common
load ../lib/servers

setup_file() { servers_start; }
setup() { servers_reset; }
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
