#!/usr/bin/env bats
# A run inside a run of another version.
# shellcheck disable=SC2030,SC2031,SC2154

load ../lib/versions

setup_file() { versions_start; }
setup() { versions_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# nests OUTER INNER [ARG...]
nests() {
	echo "$* on $servers"
	run -7 --separate-stderr "$1" -k a -- \
	    "$2" -k a "${@:3}" -- sh -c 'echo in; exit 7'
	[ "$output$stderr" = in ]
	eventually free
}

nest() {
	local wait
	for wait in '-w0' '-w1s'; do
		nests "$ours" "$theirs" "$wait"
		nests "$theirs" "$ours" "$wait"
	done
}

@test "a nested run of another version starts at once" {
	on_one_and_three nest
}
