# shellcheck shell=bash
#
# For files whose tests use one server, which each test finds empty, from a
# directory of their own.  A file defines anew what it needs otherwise.

load ../lib/common

setup_file() { redis_start; }

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() { nothing_left; }

teardown_file() { redis_stop_all; }
