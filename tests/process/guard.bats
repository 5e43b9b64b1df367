#!/usr/bin/env bats
# bats file_tags=timing,long
#
# If redlock-run itself is killed or stopped, COMMAND does not run on without
# its lock.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start --unixsocketperm 777
	helpers_install witness zoo beat newborn hydra adopt
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	log=$BATS_TEST_TMPDIR/log
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# guard_other_than PID: there is a guard of $pid, and it is not that one.
guard_other_than() {
	local now
	now=$(guard "$pid") && [[ $now != "$1" ]]
}

# dead_after SIGNAL TARGET PID...: SIGNAL is sent to TARGET, and PIDs are dead
# $ms milliseconds later.
dead_after() {
	local sent
	sent=$(now_us)
	kill -s "$1" -- "$2"
	shift 2
	eventually all_gone "$@"
	ms=$((($(now_us) - sent) / 1000))
}

# kill_zoo: redlock-run gets SIGKILL; kill_zoo group: so does its group;
# kill_zoo far: there are processes in other sessions.
kill_zoo() {
	local guard
	if [[ ${1:-} == far ]]; then
		begin redlock-run -k a -- zoo
		eventually lines 10
	else
		begin redlock-run -k a -- zoo near
		eventually lines 6
	fi
	eventually guard "$pid"
	guard=$(guard "$pid")
	if [[ ${1:-} == group ]]; then
		# shellcheck disable=SC2046
		dead_after KILL "-$pid" $(<"$out")
	else
		# shellcheck disable=SC2046
		dead_after KILL "$pid" $(<"$out")
	fi
	ends_with 137
	eventually gone "$guard"
	redis del redlock:a
}

# stop_until_lost: redlock-run is stopped until COMMAND is dead; it ends $ms
# milliseconds after it could go on.
stop_until_lost() {
	local sent
	begin redlock-run -t 2s --node-timeout 1s -k a -- witness "$log"
	eventually witness_ready "$log"
	eventually guard "$pid"
	kill -STOP "$pid"
	eventually gone "$(witness_pid "$log")"
	eventually free
	sent=$(now_us)
	kill -CONT "$pid"
	status=0
	wait "$pid" || status=$?
	ms=$((($(now_us) - sent) / 1000))
	((status == 79))
	rm "$log"
}

# early_guard: the guard is there $ms milliseconds after COMMAND's beginning.
early_guard() {
	begin redlock-run -k a -- newborn
	ends_with 0
	ms=$(($(<"$out") / 1000))
}

# guard_gone: the guard is gone $ms milliseconds after redlock-run.
guard_gone() {
	local ended guard
	begin redlock-run -k a -- witness "$log" "$(kill -l USR1)" 0
	eventually witness_ready "$log"
	eventually guard "$pid"
	guard=$(guard "$pid")
	kill -USR1 "$pid"
	wait "$pid"
	ended=$(now_us)
	until gone "$guard"; do
		sleep 0.001
	done
	ms=$((($(now_us) - ended) / 1000))
	rm "$log"
}

## Killed

# bats test_tags=quick
@test "when redlock-run is killed, all of COMMAND's processes are dead within a second" {
	in_time 1000 kill_zoo
}

@test "when its whole group is killed, all of COMMAND's processes are dead within a second" {
	in_time 1000 kill_zoo group
}

@test "when redlock-run is killed, COMMAND's processes in sessions of their own die with it" {
	in_time 1000 kill_zoo far
}

@test "when redlock-run is killed, processes that outlived COMMAND die with it" {
	begin redlock-run -k a -- bash -c '
	    sleep 1000 & echo $!; set -m; sleep 1000 & echo $!; echo $$'
	eventually lines 3
	eventually gone "$(tail -n 1 "$out")"
	eventually guard "$pid"
	# shellcheck disable=SC2046
	dead_after KILL "$pid" $(<"$out")
	((ms < 5000))
	ends_with 137
}

@test "when redlock-run is killed, COMMAND's processes die even while they fork" {
	begin redlock-run -k a -- sh -c 'hydra 10 & hydra & sleep 1000'
	eventually guard "$pid"
	kill -KILL "$pid"
	eventually nothing_marked
	ends_with 137
}

@test "processes that COMMAND starts while the guard sleeps die with redlock-run" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	exec 8<>"$BATS_TEST_TMPDIR/go"
	begin redlock-run -k a -- sh -c 'read -r _ <&8; exec zoo'
	guard_sleeps "$pid"
	echo go >&8
	eventually lines 10
	# shellcheck disable=SC2046
	dead_after KILL "$pid" $(<"$out")
	ends_with 137
	exec 8<&-
}

@test "processes that fork while the guard sleeps die with redlock-run" {
	mkfifo "$BATS_TEST_TMPDIR/go"
	exec 8<>"$BATS_TEST_TMPDIR/go"
	begin redlock-run -k a -- sh -c 'read -r _ <&8
	    hydra 10 & hydra & echo; sleep 1000'
	guard_sleeps "$pid"
	echo go >&8
	eventually lines 1
	kill -KILL "$pid"
	eventually nothing_marked
	ends_with 137
	exec 8<&-
}

@test "the guard signals neither a daemon nor a process that COMMAND did not start" {
	begin sh -c 'witness "$1.sibling" &
	    sh -c "witness \$1.child & exec redlock-run -k a -- bash -c \"
		setsid -f witness \\\$0.daemon; echo \\\$PPID
		sleep 1000 & wait\" \$1" sh "$1"; echo "$?"' sh "$log"
	eventually witness_ready "$log.sibling"
	eventually witness_ready "$log.child"
	eventually witness_ready "$log.daemon"
	eventually lines 1
	eventually guard "$(<"$out")"
	kill -KILL "$(<"$out")"
	eventually lines 2
	[[ $(tail -n 1 "$out") == 137 ]]
	ends_with 0
	eventually only_witnesses
	for name in sibling child daemon; do
		[[ -z $(witness_got "$log.$name") ]]
		kill -KILL "$(witness_pid "$log.$name")"
	done
}

@test "the guard spares a process that only inherited REDLOCK_TOKEN, as a job of at(1) does" {
	local token
	begin redlock-run -k a -- sh -c 'echo $REDLOCK_TOKEN; echo $$
	    (sh -c "env -u REDLOCK_TOKEN sleep 1000; :" & echo $!)
	    exec sleep 1000'
	eventually lines 3
	eventually guard "$pid"
	token=$(head -n 1 "$out")
	# The head of a job is a shell without the variable; it sets it.
	"${alone[@]}" env -u REDLOCK_TOKEN sh -c '
	    REDLOCK_TOKEN=$2 witness "$1" & wait' sh "$log" "$token" 3>&- 4>&- &
	eventually witness_ready "$log"
	kill -KILL "$pid"
	ends_with 137
	# shellcheck disable=SC2046
	eventually all_gone $(tail -n +2 "$out")
	eventually not pgrep -f redlock-guard -P "$pid"
	sleep 0.5			# it has had time to do it wrong
	[[ -z $(witness_got "$log") ]]
	not gone "$(witness_pid "$log")"
	kill -KILL "$(witness_pid "$log")"
}

@test "the guard spares foreign processes in a session below one that redlock-run's process had started" {
	local guard
	begin sh -c '(setsid -w witness "$1"; :) & exec redlock-run -k a -- sh -c "
		echo \$\$; exec sleep 1000"' sh "$log"
	eventually witness_ready "$log"
	eventually lines 1
	eventually guard "$pid"
	guard=$(guard "$pid")
	sleep 0.5			# the guard has seen it
	kill -KILL "$pid"
	ends_with 137
	eventually gone "$(<"$out")"
	eventually gone "$guard"
	[[ -z $(witness_got "$log") ]]
	not gone "$(witness_pid "$log")"
	kill -KILL "$(witness_pid "$log")"
}

@test "the guard spares foreign processes in a pid namespace, where sessions and groups from outside read as 0" {
	unshare -pf --mount-proc true 2>/dev/null ||
		skip "needs pid namespaces"
	cat >"$BATS_TEST_TMPDIR/inside" <<-'END'
		redlock-run -k a -- sleep 1000 &
		ours=$!
		until pgrep -x redlock-guard >/dev/null; do sleep 0.02; done
		sleep 2000 &
		stranger=$!
		echo "stranger" $(ps -o pgid=,sid= -p "$stranger")
		kill -KILL "$ours"
		# It is gone when it has killed them all.
		while pgrep -x -r S,R,D redlock-guard >/dev/null; do
		    sleep 0.02
		done
		kill -0 "$stranger" && echo "lives on"
	END
	begin "${limited[@]}" script -qec "unshare -pf --mount-proc bash \
	    '$BATS_TEST_TMPDIR/inside'" /dev/null
	ends_with 0
	grep -q '^stranger 0 0' "$out"		# so much for the test
	grep -q '^lives on' "$out"
}

# only_witnesses: COMMAND and its sleep are dead.
only_witnesses() {
	(($(marked | wc -l) == 3))
}

@test "COMMAND itself dies with redlock-run from its first instruction on" {
	local i
	mkfifo "$BATS_TEST_TMPDIR/never"
	for i in {1..5}; do
		begin redlock-run -k "a$i" -- bash -c 'echo $$
		    kill -KILL $PPID; read -r -t 2 <>"$0"
		    echo survived' "$BATS_TEST_TMPDIR/never"
		ends_with 137
		eventually gone "$(head -n 1 "$out")"
		lines 1
	done
}

@test "without /proc the guard kills COMMAND's process group when redlock-run is killed" {
	needs_no_sanitizer	# it needs /proc
	unshare -m true 2>/dev/null || skip "needs mount namespaces"
	begin unshare -m sh -c 'mount -t tmpfs none /proc && exec redlock-run -k a -- \
	    sh -c "sleep 1000 & echo \$!; echo \$\$; exec sleep 1000"'
	eventually lines 2
	eventually guard "$pid"
	# shellcheck disable=SC2046
	dead_after KILL "$pid" $(<"$out")
	ends_with 137
}

## Stopped

@test "when redlock-run is stopped, COMMAND's processes are killed before the lease runs out" {
	local expires last name
	# SIGKILL comes 252 ms before the end: longer than a pause of `make flaky`.
	begin redlock-run -t 15s --node-timeout 1s -k a -- bash -c '
	    beat "$1.near" & setsid -w beat "$1.session" &
	    set -m; beat "$1.group" & wait' sh "$log"
	for name in near session group; do
		eventually test -s "$log.$name"
	done
	eventually guard "$pid"
	expires=$(expiry redlock:a)
	eventually lease_later_than "$expires"
	sleep 0.1			# it has been told so
	kill -STOP "$pid"
	eventually process_in_state "$pid" T
	expires=$(redis eval "local now = redis.call('TIME')
	    return now[1] * 1000000 + now[2] +
		redis.call('PTTL', KEYS[1]) * 1000" 1 redlock:a)
	eventually nothing_marked_but_us
	for name in near session group; do
		last=$(<"$log.$name")
		echo "$name: $(((expires - last) / 1000)) ms before the end"
		((last < expires))
		((last > expires - 600000))
	done
	kill -CONT "$pid"
	ends_with 79
}

@test "under faketime(1) leases are renewed, and the guard kills in time" {
	local expires last how redlock
	needs faketime
	needs_loader
	needs_no_sanitizer
	for how in -10y '+10y x10' '2020-01-01 00:00:00'; do
		begin faketime -f "$how" redlock-run -t 2s --node-timeout 1s \
		    -k a -- sh -c 'echo $REDLOCK_PID
		    exec env -u LD_PRELOAD beat "$1"' sh "$log"
		eventually test -s "$log"
		redlock=$(<"$out")
		eventually guard "$redlock"
		grep -q faketime "/proc/$redlock/maps"
		expires=$(expiry redlock:a)
		for _ in {1..4}; do
			eventually lease_later_than "$expires"
			expires=$(expiry redlock:a)
		done
		kill -STOP "$redlock"
		eventually process_in_state "$redlock" T
		expires=$(expiry redlock:a)
		eventually gone "$(process_child "$redlock")"
		last=$(($(<"$log") / 1000))
		((last < expires))
		kill -CONT "$redlock"
		ends_with 79
		rm "$log"
	done
}

# process_child PID: the beat that is its child.
process_child() {
	pgrep -P "$1" beat
}

@test "under fakeroot(1) COMMAND's processes die with redlock-run" {
	local i redlock
	needs fakeroot
	needs_loader
	needs_no_sanitizer
	for i in {1..5}; do
		begin fakeroot redlock-run -k "a$i" -- sh -c '
		    setsid sleep 1000 & echo $!; sleep 1000 & echo $!
		    echo $REDLOCK_PID; wait'
		eventually lines 3
		redlock=$(tail -n 1 "$out")
		eventually guard "$redlock"
		sleep 0.3		# the guard has seen them
		kill -KILL "$redlock"
		# shellcheck disable=SC2046
		eventually all_gone $(<"$out")
		eventually gone "$pid"
	done
}

# nothing_marked_but_us: of all processes only redlock-run and its guard live.
nothing_marked_but_us() {
	local each
	for each in $(marked); do
		[[ $(readlink "/proc/$each/exe") == */redlock-run ]] || return
	done
}

@test "when redlock-run continues after SIGSTOP, an expired lease is a loss within 50 ms" {
	in_time 50 stop_until_lost
}

@test "a SIGSTOP of redlock-run for less than the lease changes nothing" {
	begin redlock-run -t 20s -k a -- witness "$log" "$(kill -l USR1)" 3
	eventually witness_ready "$log"
	kill -STOP "$pid"
	eventually process_in_state "$pid" T
	sleep 0.5
	kill -CONT "$pid"
	kill -USR1 "$pid"
	ends_with 3
	[[ $(witness_got "$log") == "CONT USR1" || $(witness_got "$log") == "USR1 CONT" ||
		$(witness_got "$log") == USR1 ]]
}

## The guard

@test "the guard starts within twenty milliseconds of COMMAND" {
	in_time 20 early_guard
}

@test "the guard has its own session and no descriptor of redlock-run's" {
	local fd target guard
	exec 7>"$BATS_TEST_TMPDIR/seven"
	begin redlock-run -k a -- sleep 1000
	exec 7>&-
	eventually guard "$pid"
	guard=$(guard "$pid")
	[[ -e /proc/$pid/fd/7 ]]	# so much for the test
	eventually no_descriptor_of_ours "$guard"
	kill -TERM "$pid"
	ends_with 143
}

# no_descriptor_of_ours PID: it has no descriptor 0 to 2, file or connection.
no_descriptor_of_ours() {
	local fd
	for fd in "/proc/$1/fd/"*; do
		[[ ${fd##*/} -gt 2 && $(readlink "$fd") == \
		    @(pipe:*|anon_inode:*) ]] || return
	done
}

@test "pkill redlock-run does not match the guard" {
	local guard
	begin redlock-run -k a -- sleep 1000
	eventually guard "$pid"
	guard=$(guard "$pid")
	eventually not pgrep -s "$guard" redlock-run
	eventually not pgrep -s "$guard" -f redlock-run
	not pgrep -s "$guard" -f -- '-k a'
	pgrep -s "$guard"
	pgrep -s "$pid" redlock-run
	pgrep -s "$pid" -f 'redlock-run -k a'
	kill -TERM "$pid"
	ends_with 143
}

@test "the guard ignores signals" {
	local guard name
	begin redlock-run -k a -- witness "$log"
	eventually witness_ready "$log"
	eventually guard "$pid"
	guard=$(guard "$pid")
	sleep 0.2			# it has settled
	for name in TERM INT HUP QUIT USR1 USR2 ALRM PIPE RTMIN; do
		kill -s "$name" "$guard"
	done
	kill -s USR1 "$pid"
	eventually witness_has_got "$log" USR1
	[[ $(guard "$pid") == "$guard" ]]
	not gone "$guard"
	[[ $(witness_got "$log") == USR1 ]]
	dead_after KILL "$pid" "$(witness_pid "$log")"
	ends_with 137
}

# bats test_tags=soak
@test "a guard that was stopped for many renewals kills no process when it continues" {
	local guard
	begin redlock-run -t 1s --node-timeout 500ms -k a -- witness "$log"
	eventually witness_ready "$log"
	eventually guard "$pid"
	guard=$(guard "$pid")
	kill -STOP "$guard"
	sleep $((8 * ${SOAK:-1}))	# more renewals than a pipe has pages
	kill -CONT "$guard"
	sleep 0.5			# it has had time to do it wrong
	not gone "$guard"
	kill -USR1 "$pid"
	eventually witness_has_got "$log" USR1
	kill -KILL "$(witness_pid "$log")"
	ends_with 137
}

# ticks PID: the time that it has had on a processor, in hundredths of a second.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

@test "a guard that finds no process to kill takes no time" {
	local guard
	begin redlock-run -t 6s -k a -- witness "$log"
	eventually witness_ready "$log"
	eventually guard "$pid"
	guard=$(guard "$pid")
	kill -STOP "$pid"
	kill -KILL "$(witness_pid "$log")"
	eventually free
	(($(ticks "$guard") < 20 * slow))
	kill -CONT "$pid"
	ends_with 79
}

@test "the guard sleeps for seconds while COMMAND's processes stay the same" {
	begin redlock-run -k a -- zoo near
	eventually lines 6
	guard_sleeps "$pid"
	# shellcheck disable=SC2046
	dead_after KILL "$pid" $(<"$out")
	ends_with 137
}

@test "a guard that dies is replaced" {
	local i guard=0
	begin redlock-run -k a -- zoo near
	eventually lines 6
	for i in {1..4}; do
		eventually guard_other_than "$guard"
		guard=$(guard "$pid")
		kill -KILL "$guard"
	done
	eventually guard_other_than "$guard"
	# shellcheck disable=SC2046
	dead_after KILL "$pid" $(<"$out")
	ends_with 137
}

@test "the guard ends when redlock-run ends" {
	in_time 50 guard_gone
}

@test "a reader of redlock-run's output gets end of file without waiting for the guard" {
	local i ended=$BATS_TEST_TMPDIR/ended
	for i in {0..9} {0..9}; do
		{
			redlock -k a -- sleep "0.00$i"
			now_us >"$ended"
		} 2>&1 | cat
		(($(now_us) - $(<"$ended") < 3000000))
	done
}

@test "no guard is left as a zombie to an init that does not reap" {
	local i
	for i in {1..20}; do
		run -3 adopt "${alone[@]}" redlock-run -k a -- \
		    sh -c "sleep 0.0$((i / 2)); exit 3"
		[[ -z $output ]]
	done
	run -143 adopt "${alone[@]}" redlock-run -k a -- \
	    sh -c 'sleep 0.1; kill $$'
	[[ -z $output ]]
}

## No room for it

@test "the guard's descriptors are open before the lock is acquired" {
	needs_no_sanitizer	# it needs descriptors
	local n refused=0 ran=0
	for n in {3..24}; do
		status=0
		bash -c 'ulimit -Sn "$1"; exec redlock-run -k a -- bash -c "
		    ulimit -Sn 64; exec newborn"' sh "$n" \
		    >"$log" 2>"$log.err" || status=$?
		free
		case $status in
		0)
			(($(<"$log") < 1000000)) # newborn has seen the guard
			((++ran))
			;;
		69 | 71 | 127)	# the server, a file or the guard, the loader
			[[ ! -s $log ]]
			((++refused))
			;;
		*) return 1 ;;
		esac
	done
	((refused > 0 && ran > 0))
}

@test "if no guard can be started one line reports it, and it starts as soon as possible" {
	needs_root	# for a user with two processes
	local before
	local -a user=(setpriv --reuid=$((100000000 + $$)) --clear-groups)
	chmod 777 "$BATS_TEST_TMPDIR"
	begin "${user[@]}" prlimit --nproc=2:100 redlock-run -k a -- witness "$log"
	eventually witness_ready "$log"
	eventually lines 1 "$err"
	[[ $(<"$err") == "redlock-run: a: cannot start the guard: "* ]]
	sleep 0.5			# it has had time to try in vain
	before=$(switches "$pid")
	sleep 1
	(($(switches "$pid") - before < 20))
	lines 1 "$err"
	"${user[@]}" prlimit --pid "$pid" --nproc=100
	eventually guard "$pid"
	dead_after KILL "$pid" "$(witness_pid "$log")"
	ends_with 137
}

@test "when the lease runs out the guard kills neither redlock-run nor foreign processes in its session" {
	local stranger

	redlock_bg -k a -t 2s --node-timeout 500ms --kill-after 20s -- sh -c '
		trap "" TERM
		touch "$1"
		while :; do sleep 0.02; done' sh "$log"
	eventually test -e "$log"
	sleep 60 3>&- 4>&- &
	stranger=$!
	redis_freeze
	redlock_ended 79
	redis_thaw
	not gone "$stranger"
	kill "$stranger"
}
