# shellcheck shell=bash disable=SC2004,SC2016,SC2034,SC2046,SC2154
#
# What sentinel.bash, cluster.bash and the files about replicas and addresses
# share: servers on TCP, and a COMMAND that can be watched.  Tests run in
# $BATS_TEST_TMPDIR.

load ../lib/clients

# redis_port NAME: of a server that redis_start_tcp or tcp_start has started.
redis_port() {
	cat "$BATS_FILE_TMPDIR/$1.port"
}

# redis_start_port NAME [ARG...]: redis_start_tcp, and the port is remembered.
redis_start_port() {
	redis_start_tcp "$@"
	echo "$redis_port" >"$BATS_FILE_TMPDIR/$1.port"
}

# redis_info NAME FIELD: what INFO says.
redis_info() {
	redis_at "$1" info | tr -d '\r' | sed -n "s/^$2://p"
}

# redis_is NAME FIELD VALUE: INFO says so.
redis_is() {
	[ "$(redis_info "$1" "$2")" = "$3" ]
}

# redis_may NAME: what the man page says that it needs; more in a cluster, and
# all that a Sentinel knows.
redis_may() {
	case $1 in
	t*) redis_at "$1" acl setuser default reset on nopass '~*' '&*' +@all ;;
	r*)
		redis_at "$1" acl setuser default reset on nopass \
		    "${permitted[@]}"
		;;
	*) redis_at "$1" acl setuser default +asking '+cluster|slots' ;;
	esac >/dev/null
}

# redis_cli_text NAME WORD...: redis_at as shell text, for a COMMAND.
redis_cli_text() {
	local name=$1
	shift
	printf '%q ' "$ADMIN_CLI" -s "$BATS_FILE_TMPDIR/$name.sock" "$@"
}

# silent_but TEXT: COMMAND has said TEXT, and redlock-run nothing.
silent_but() {
	if [[ -n $stderr || $output != "$1" ]]; then
		printf 'expected %q alone:\n%s\n%s\n' "$1" "$output" "$stderr" >&2
		return 1
	fi
}

## A COMMAND that can be watched

# overseen: a script for COMMAND.  It records its start and its argument, and
# stays until the file "leave" is there; it reports another one inside.
overseen='mkdir inside || touch overlap
	echo "$1" >>order
	date +%s%N >>began
	until [ -e leave ] || [ -e "leave-$1" ]; do sleep 0.05; done
	rmdir inside || touch overlap'

# overseen_runs NAME: its COMMAND has begun.
overseen_runs() {
	grep -qsx "$1" order
}

# overseen_holds ARG...: a redlock_bg holds the lock called "a", and COMMAND
# runs.
overseen_holds() {
	rm -f leave leave-* order began
	redlock_bg -k a "$@" -- sh -c "$overseen" sh holder
	eventually overseen_runs holder
}

# overseen_start NAME ARG...: another wants it; its pid is in ${pid[NAME]}.
overseen_start() {
	client_start "$1" "$overseen" "${@:2}"
}

# overseen_renewed: the lock of `overseen_holds -v` is renewed once more.
overseen_renewed() {
	local before
	before=$(grep -c renewed "$bg_err") || :
	eventually overseen_more_renewals "$before"
}

overseen_more_renewals() {
	(($(grep -c renewed "$bg_err") > $1))
}

# overseen_ends STATUS: lets the run of `overseen_holds` end, and it does so with
# STATUS; no two were ever inside.
overseen_ends() {
	touch leave
	redlock_ended "$1"
	[ ! -e overlap ]
}
