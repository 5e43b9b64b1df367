# shellcheck shell=bash disable=SC2004,SC2154
#
# Clients that have names: several redlock-runs that want the lock "a" at the
# same time.  The pid of each is in ${pid[NAME]}, what it writes in NAME.out and
# NAME.err.  Tests run in $BATS_TEST_TMPDIR; setup declares the array.

# client_start NAME SCRIPT [ARG...]: COMMAND is SCRIPT, for sh; its $1 is NAME.
client_start() {
	local name=$1 script=$2
	shift 2
	env --default-signal "$REDLOCK_RUN" -k a "$@" -- sh -c "$script" sh "$name" \
	    >"$name.out" 2>"$name.err" 3>&- 4>&- &
	pid[$name]=$!
}

# client_ends NAME STATUS
client_ends() {
	ended "${pid[$1]}" "$2" "$1.err"
}

# began_ms N: when the Nth COMMAND began, in ms since 1970.  It has written
# that in ns into the file "began".
began_ms() {
	echo $(($(sed -n "$1p" began) / 1000000))
}
