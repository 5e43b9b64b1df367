#!/usr/bin/env bats
# The fence belongs to all versions.
# shellcheck disable=SC2154

load ../lib/versions

setup_file() { versions_start; }
setup() { versions_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# hands_over HOLDER WAITER OTHER: HOLDER grants the lock to WAITER, and OTHER asks
# for it before WAITER confirms the grant.
hands_over() {
	local last
	versions_reset
	servers_use_one
	rm -f order fences
	as "$1" hold a
	as "$2" waiter_queues waiter
	last=$(redis get '{redlock:a}:~fence')
	waiter_hand_over waiter
	run -75 "$3" -k a -- true
	kill -CONT "${pid[waiter]}"
	waiters_served waiter
	(($(<fences) > last))
	[ "$(redis xrange '{redlock:a}:~runs' - + | grep -cx start)" = 2 ]
}

@test "a run of another version that asks while a grant is unconfirmed repeats no fence" {
	hands_over "$ours" "$ours" "$theirs"
	hands_over "$theirs" "$theirs" "$ours"
}

@test "a waiter takes the grant of a later version" {
	hands_over "$theirs" "$ours" "$ours"
	hands_over "$theirs" "$ours" "$theirs"
}
