# shellcheck shell=bash disable=SC2154
#
# Two versions of the program, in $ours and $theirs, for the lock "a" on one server
# or on three.  Theirs is PARTNER, or what tests/versions/later builds.  Tests
# run in $BATS_TEST_TMPDIR.

load ../lib/common
load ../lib/servers
load ../lib/queue

# versions_start, versions_reset: for setup_file and setup.
versions_start() {
	export ours=$REDLOCK_RUN theirs=$compiled/later/redlock-run
	if [[ -n ${PARTNER:-} ]]; then
		theirs=$(realpath -e "$PARTNER") || return
	else
		later_build || return
	fi
	redis_start
	servers_start
}

versions_reset() {
	redis_reset
	servers_reset
	waiters_setup
}

# later_build: it is built once, for all files.
later_build() {
	command -v make >/dev/null || skip 'needs make'
	pkg-config --exists hiredis uuid ||
		skip 'needs hiredis and uuid (libhiredis-dev uuid-dev)'
	mkdir -p "$compiled"
	(
		flock 9
		[[ -x $theirs ]] ||
			"$top/tests/versions/later" "$compiled/later" 3>&- 4>&- 9>&-
	) 9>"$compiled/later.lock"
}

# as PROGRAM FUNCTION...: the FUNCTION runs that version.
as() {
	local -x REDLOCK_RUN=$1
	"${@:2}"
}

# on_one_and_three FUNCTION...: on one server, and then on three.
on_one_and_three() {
	servers_use_one
	"$@"
	rm -f order tokens fences began
	servers_use 1 2 3
	"$@"
}

# A waiter of lib/queue also writes down its fence.
inside="echo \"\$REDLOCK_FENCE\" >>fences
$inside"

# fences_grow: each is larger than the one before.
fences_grow() {
	sort -nuc fences
}
