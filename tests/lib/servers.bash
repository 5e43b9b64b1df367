# shellcheck shell=bash disable=SC2046,SC2154
#
# Functions for tests of several servers: five of them, s1 to s5.  redlock-run uses
# the first three.

servers_start() {
	local i

	for i in {1..5}; do
		redis_start "s$i"
	done
}

# servers_learn N...: these have the script, as servers in use do: the first
# request of a run is not answered with NOSCRIPT, after a majority has voted.
servers_learn() {
	local i

	for i; do
		redlock -r "$(server_url "$i")" -k other -- true
	done
}

# server_learned N: it has been here before, since it was started.
server_learned() {
	local pid learned=$BATS_FILE_TMPDIR/s$1.learned
	read -r pid <"$BATS_FILE_TMPDIR/s$1.server"
	[[ ! -e $learned.$pid ]] || return 0
	: >"$learned.$pid"
	return 1
}

# The servers of a test are young, and have the script; one that is restarted
# does not have it any more.
servers_reset() {
	local i

	export REDLOCK_RESTART_GRACE=0
	for i in {1..5}; do
		redis_reset "s$i"
		server_learned "$i" || {
			servers_learn "$i"
			redis_reset "s$i"
		}
	done
	servers_use 1 2 3
	cd "$BATS_TEST_TMPDIR" || return
}

# server_url N: the URL of server N.
server_url() {
	echo "unix://$BATS_FILE_TMPDIR/s$1.sock"
}

# servers_use N...: redlock-run uses these, and held, free and the like look
# there.
servers_use() {
	redis_use $(for i; do server_url "$i"; done)
	export servers="${*/#/s}"
}

# servers_use_one: redlock-run uses the server "redis" alone.
servers_use_one() {
	redis_use "unix://$BATS_FILE_TMPDIR/redis.sock"
	export servers=redis
}

# server_held N: the key of the lock called "a" is on server N.
server_held() {
	[ "$(redis_at "s$1" exists redlock:a)" = 1 ]
}

# servers_free N...: the key of "a" is on none of these.
servers_free() {
	local i
	for i; do
		[ "$(redis_at "s$i" exists redlock:a)" = 0 ] || return 1
	done
}

# server_asked N: an acquire has been executed there.
server_asked() {
	[ "$(redis_at "s$1" exists '{redlock:a}:~fence')" = 1 ]
}

# servers_only_fences N...: nothing is left on these servers but fences,
# histories and successes.
servers_only_fences() {
	local i key keys
	for i; do
		keys=$(redis_at "s$i" keys '*') || return 1
		for key in $keys; do
			[[ $key == '{redlock:'*'}:~'@(fence|runs|skips|success) ]] || return 1
		done
	done
}

# servers_up_for SECONDS N...: by their own account.
servers_up_for() {
	local i up seconds=$1
	shift
	for i; do
		up=$(redis_at "s$i" info server | tr -d '\r' |
			sed -n 's/^uptime_in_seconds://p')
		((up >= seconds)) || return 1
	done
}

# server_vote_counts N: the holder has said with -v that the vote of server N,
# which had lost the key, counts again.
server_vote_counts() {
	grep -q "s$1\.sock: vote counts now" "$bg_err"
}
