# shellcheck shell=bash disable=SC2016,SC2034,SC2154
#
# What the files about shared locks and slots need beside common.bash and
# servers.bash: clients that have names, all of them for the lock called "a",
# and an oracle outside Redis.  The tests run in $BATS_TEST_TMPDIR.

load ../lib/clients

# modes_setup: for setup, with one server.
modes_setup() {
	redis_reset
	modes_prepare
}

# modes_prepare: for setup, where each test calls quorum.
modes_prepare() {
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=()
	modes_write_scripts
}

# modes_quorum N...: from now on these, of five fresh servers.
modes_quorum() {
	servers_reset
	servers_use "$@"
}

modes_write_scripts() {
	# The oracle: a kernel lock, which a process loses however it dies.  $2 is
	# -s for a reader, -x for a writer, N for one of N.  (Each of N processes
	# that try N files in their order finds one free.)
	cat >enter <<-'END'
		case $2 in
		-*)	exec 9>>oracle
			flock -n "$2" 9 || touch overlap ;;
		*)	n=1
			while exec 9>>"oracle-$n" && ! flock -n 9; do
				[ "$n" -lt "$2" ] || { touch overlap; break; }
				n=$((n + 1))
			done ;;
		esac
	END
	# A client's COMMAND: it stays until the file "leave" appears.
	cat >inside <<-'END'
		. ./enter
		echo "$REDLOCK_TOKEN" >"token-$1"
		echo "$REDLOCK_FENCE" >"fence-$1"
		echo "${REDLOCK_SLOT-unset}" >"number-$1"
		date +%s%N >"began-$1"
		echo "$1" >>order
		: >"in-$1"
		until [ -e leave ] || [ -e "leave-$1" ]; do
			sleep 0.05 9>&-
		done
		rm "in-$1"
	END
}

# client NAME HOW ARG...
client() {
	local name=$1 how=$2
	shift 2
	env --default-signal "$REDLOCK_RUN" -k a "$@" -- \
	    sh inside "$name" "$how" \
	    >"$name.out" 2>"$name.err" 3>&- 4>&- &
	pid[$name]=$!
}

# reader, writer NAME [ARG...]: comes, and waits for minutes if need be.
reader() {
	client "$1" -s -s -w 5m "${@:2}"
}

writer() {
	client "$1" -x -w 5m "${@:2}"
}

# permit NAME N [ARG...]: wants one of N slots.
permit() {
	client "$1" "$2" --slots "$2" -w 5m "${@:3}"
}

# client_queues KIND NAME [ARG...]: the client starts, and is now the last in the
# queue.  (Running clients may be in the queues of several servers for a moment.)
client_queues() {
	"$@"
	eventually client_queued "$2"
}

# client_queued NAME: it is in the queue of each server.
client_queued() {
	local server
	for server in $servers; do
		redis_at "$server" hvals '{redlock:a}:~beat' |
			grep -q " pid=${pid[$1]} " || return 1
	done
}

# clients_run NAME...: these COMMANDs run, all of them now.
clients_run() {
	local name
	for name; do
		[ -e "in-$name" ] || return 1
	done
}

# clients_started NAME...: the same, within some time.
clients_started() {
	local name
	eventually clients_run "$@" && return 0
	for name; do
		sed "s/^/$name: /" "$name.err"
	done >&2
	return 1
}

# clients_leave NAME...: they end, and well.
clients_leave() {
	local name
	for name; do
		touch "leave-$name"
	done
	for name; do
		client_ends "$name" 0
	done
}

# client_crashes NAME: with its COMMAND, as if the power were gone; nothing is
# given back.  (All are stopped first: none of them sees another's death.)
client_crashes() {
	local pids
	mapfile -t pids < <(pgrep -P "${pid[$1]}")
	pids+=("${pid[$1]}")
	kill -STOP "${pids[@]}"
	kill -KILL "${pids[@]}"
	client_ends "$1" 137
	rm -f "in-$1"
}

# clients_trust N NAME...: these have said with -v that the vote of server N,
# which had lost the key, counts again.
clients_trust() {
	local name server="s$1"
	shift
	for name; do
		grep -q "$server\.sock: vote counts now" "$name.err" ||
			return 1
	done
}

# no_overlap: the oracle has seen none.
no_overlap() {
	if [ -e overlap ]; then
		echo 'overlap' >&2
		return 1
	fi
}

# all_over: nothing stays but fence and history, and there was no overlap.
all_over() {
	eventually ${1:+"$1"} keys_left
	no_overlap
}

# lock_busy ARG...: redlock-run gives 75 for "a" without waiting, and says so.
lock_busy() {
	run -75 --separate-stderr redlock -k a "$@" -- touch jumped
	says 'a: '
	[ ! -e jumped ]
}

# client_fence NAME: that of its COMMAND.
client_fence() {
	cat "fence-$1"
}

# status_is EXPRESSION: what --status --json says of "a", called d, is so.
status_is() {
	run --separate-stderr redlock --status -k a --json
	json_one "$1"
}

# status_holders N: so many, each once.
status_holders() {
	status_is "len(d['holders']) == len({h['token'] for h in d['holders']}) == $1"
}

# clients_crowd HOW...: twenty come again and again for four seconds, each time
# as one of HOW, which the oracle knows; one in twelve is killed.  SOAK is how
# often four.
clients_crowd() {
	local n end pids=()

	end=$((SECONDS + 4 * ${SOAK:-1}))
	for n in {1..20}; do
		while ((SECONDS < end)); do
			clients_crowd_one "${@:RANDOM % $# + 1:1}" $((n++ % 12))
		done 3>&- 4>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
}

# clients_crowd_one HOW N: it is killed if N is 0.
clients_crowd_one() {
	local how=$1 got=0 victim mode=()

	case $how in
	-s) mode=(-s) ;;
	[0-9]*) mode=(--slots "$how") ;;
	esac
	"$REDLOCK_RUN" -q -k a -w 5m -t 4s "${mode[@]}" -- sh -c '
		. ./enter
		echo >>"ran$2"
		sleep "$3" 9>&-' sh x "$how" "0.0$((RANDOM % 10))" &
	victim=$!
	if (($2 == 0)); then
		sleep "0.$((RANDOM % 10))"
		# Its guard is not: it stops what it kills, and would leave that so.
		kill -KILL "$victim" || :
		echo >>killed
	fi
	wait "$victim" || got=$?
	((got == 0 || got == 137)) || echo "$how: $got" >>odd
}

# foreign_client HOW: until the file "leave" is there, a client of another kind
# takes the lock with SET NX, and gives it back with DEL.
foreign_client() {
	while [ ! -e leave ]; do
		if [ "$(redis set redlock:a another nx px 60000)" = OK ]; then
			sh -c '. ./enter; sleep 0.03 9>&-' sh x "$1"
			[ "$(redis get redlock:a)" = another ] || touch overlap
			redis del redlock:a >/dev/null
			echo >>ran-another
		fi
		sleep 0.02
	done 3>&- 4>&-
}

# clients_crowd_over FILE...: all that has happened, no overlap, and nothing
# odd.
clients_crowd_over() {
	local file

	[ ! -e odd ] || {
		sort odd | uniq -c >&2
		return 1
	}
	for file in killed "$@"; do
		wc -l "$file"
		[ -s "$file" ] || return 1
	done
	all_over 60
	# A process killed during its start may take some time to go.
	eventually nothing_marked
}

## Readers

readers='{redlock:a}:~readers'

# readers_share N: so many readers have the lock on each server.
readers_share() {
	local server
	for server in $servers; do
		[ "$(redis_at "$server" get redlock:a)" = '~shared' ] || return 1
		[ "$(redis_at "$server" hlen "$readers")" = "$1" ] || return 1
	done
}

# readers_gone: the key is gone everywhere, and what belongs to it.
readers_gone() {
	local server
	for server in $servers; do
		[ "$(redis_at "$server" exists redlock:a "$readers")" = 0 ] ||
			return 1
	done
}

## Slots

# slot_key N
slot_key() {
	if (($1 == 1)); then
		echo redlock:a
	else
		echo "{redlock:a}:~$1"
	fi
}

# slot_of NAME: the slot in which its value is, on the first server.
slot_of() {
	local n token
	token=$(cat "token-$1")
	for n in {1..9}; do
		[[ $(redis_at "${servers%% *}" get "$(slot_key "$n")") != \
		    "redlock-run/2 token=$token "* ]] || echo "$n"
	done
}

# numbers_fit NAME...: the REDLOCK_SLOT of each is the slot that has its value, on
# every server.
numbers_fit() {
	local name server
	for name; do
		for server in $servers; do
			[[ $(redis_at "$server" get "$(slot_key "$(cat "number-$name")")") == \
			    "redlock-run/2 token=$(cat "token-$name") "* ]] || return 1
		done
	done
}

# slots_taken N...: these slots are taken on each server, and no others.
slots_taken() {
	local n
	# shellcheck disable=SC2046
	keys_left $({
		for n; do slot_key "$n"; done
		[ $# -eq 0 ] || echo '{redlock:a}:~slots'
	} | sort)
}

# slots_return N WORKERS TIMES: each of WORKERS comes TIMES, and waits for one
# of N slots; all are served, never more than N at once.
slots_return() {
	local n worker pids=()

	for ((worker = 0; worker < $2; worker++)); do
		for ((n = 0; n < $3; n++)); do
			"$REDLOCK_RUN" -k a --slots "$1" -w 5m -- sh -c '
				. ./enter
				echo >>ran
				sleep 0.02 9>&-' sh x "$1" || touch failed
		done 3>&- 4>&- &
		pids+=($!)
	done
	wait "${pids[@]}"
	[ ! -e failed ]
	[ "$(wc -l <ran)" = $(($2 * $3)) ]
	all_over
}

# slot_client N: the name of the client whose slot that is.
slot_client() {
	local name
	for name in "${!pid[@]}"; do
		[[ $(slot_of "$name") != "$1" ]] || echo "$name"
	done
}
