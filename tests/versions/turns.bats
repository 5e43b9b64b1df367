#!/usr/bin/env bats
# Waiters of two versions take turns.
# shellcheck disable=SC2154

load ../lib/versions

setup_file() { versions_start; }
setup() { versions_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# queue_up NAME...: they come one after the other; the version of one whose name
# begins with "o" is ours, that of the others theirs.
queue_up() {
	local name n=0
	for name; do
		if [[ $name == o* ]]; then
			as "$ours" waiter_start "$name"
		else
			as "$theirs" waiter_start "$name"
		fi
		((n += 1))
		eventually queue_is "$n"
	done
}

take_turns() {
	local holder waiters=(o1 t1 o2 o3 t2 t3 o4 t4)
	for holder in "$ours" "$theirs"; do
		rm -f order fences
		as "$holder" hold a
		queue_up "${waiters[@]}"
		let_go
		waiters_served "${waiters[@]}"
		fences_grow
	done
}

@test "waiters of two versions are served in the order of their tickets" {
	on_one_and_three take_turns
}

# come_again PROGRAM NAME: for five times.
come_again() {
	local n
	for n in {1..5}; do
		"$1" -k a -w 5m -- sh -c "$inside" sh "$2" 3>&- 4>&- ||
			touch failed
	done
}

contend() {
	local n clients=()
	rm -f order
	for n in 1 2 3; do
		come_again "$ours" "o$n" &
		clients+=("$!")
		come_again "$theirs" "t$n" &
		clients+=("$!")
	done
	wait "${clients[@]}"
	[ ! -e overlap ]
	[ ! -e failed ]
	[ "$(grep -c '^o' order) $(grep -c '^t' order)" = '15 15' ]
	fences_grow
}

@test "clients of two versions hold the lock one at a time, with growing fences" {
	on_one_and_three contend
}
