# shellcheck shell=bash disable=SC2046,SC2154
#
# What the files about several servers share: five of them, s1 to s5, of which
# redlock-run is told the first three.

five_servers() {
	local i

	for i in {1..5}; do
		redis_start "s$i"
	done
}

# The servers of a test are young.
fresh_servers() {
	local i

	for i in {1..5}; do
		redis_reset "s$i"
	done
	servers 1 2 3
	export REDLOCK_RESTART_GRACE=0
	cd "$BATS_TEST_TMPDIR" || return
}

# url N: the URL of server N.
url() {
	echo "unix://$BATS_FILE_TMPDIR/s$1.sock"
}

# servers N...: those are the ones that redlock-run is told of.
servers() {
	tell $(for i; do url "$i"; done)
}

# tell URL...
tell() {
	export REDLOCK_REDIS="$*"
}

# held_at N: the key of the lock called "a" is on server N.
held_at() {
	[ "$(redis_at "s$1" exists redlock:a)" = 1 ]
}

# held NAME: the key is on each of the first three (for `hold`).
held() {
	local i
	for i in 1 2 3; do
		[ "$(redis_at "s$i" exists "redlock:$1")" = 1 ] || return 1
	done
}

# free_at N...: the key of "a" is on none of these.
free_at() {
	local i
	for i; do
		[ "$(redis_at "s$i" exists redlock:a)" = 0 ] || return 1
	done
}

# asked_at N: an acquire has been executed there.
asked_at() {
	[ "$(redis_at "s$1" exists '{redlock:a}:~fence')" = 1 ]
}

# only_fences N...: nothing is left on these servers but fences and histories.
only_fences() {
	local i key keys
	for i; do
		keys=$(redis_at "s$i" keys '*') || return 1
		for key in $keys; do
			[[ $key == '{redlock:'*'}:~'@(fence|runs) ]] || return 1
		done
	done
}

# up_for SECONDS N...: by their own account.
up_for() {
	local i up seconds=$1
	shift
	for i; do
		up=$(redis_at "s$i" info server | tr -d '\r' |
			sed -n 's/^uptime_in_seconds://p')
		((up >= seconds)) || return 1
	done
}

# counts N: the holder has said with -v that the vote of server N, which had
# lost the key, counts again.
counts() {
	grep -q "s$1\.sock: its vote counts now" "$bg_err"
}
