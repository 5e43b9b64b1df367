#!/usr/bin/env bats
# bats file_tags=timing,long
#
# COMMAND's processes: which they are, how they are stopped, and when the lock
# is released.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start --unixsocketperm 777
	helpers_install witness hydra rooted headless linger zoo crowd
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	log=$BATS_TEST_TMPDIR/log
	mkfifo "$BATS_TEST_TMPDIR/go"
	exec 8<>"$BATS_TEST_TMPDIR/go"
}

teardown() {
	exec 8<&-
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# Scripts that start a process that lingers, and exit before it does.
declare -gA ways=(
	["in its group"]='linger &'
	["in a nested shell"]='sh -c "sh -c \"linger &\""'
	["with timeout"]='timeout 1000 linger &'
	["with set -m"]='bash -c "set -m; linger &"'
	["with setsid -w"]='(setsid -w linger; :) &'
	["below a daemon"]='sh -c "linger & exec setsid sleep 4" &'
	["without environment"]='env -i bash -c "set -m; $(command -v linger) &"'
)
((EUID != 0)) ||
	ways["with su"]='su nobody -s /bin/sh -c "$(command -v linger)" &'

# release_after WAY: redlock-run ends $ms milliseconds after the end of the
# last process; until then the lock is held.
release_after() {
	begin redlock-run -k a -- sh -c "echo \$\$
	    ${ways[$1]}
	    exit 4"
	eventually lines 2
	eventually gone "$(grep -x '[0-9]*' "$out")"
	sleep 0.2			# it has had time to do it wrong
	held
	not gone "$pid"
	echo go >&8
	ends_with 4
	since_last_line "$(now_us)"
	free
}

# late_daemon HOW: a process of COMMAND makes itself a daemon, and redlock-run
# ends $ms milliseconds after that; until then the lock is held.
late_daemon() {
	local end
	begin redlock-run -k a -- sh -c "echo; (read -r line <&8
	    exec $1 bash -c 'echo \$\$; echo \$EPOCHREALTIME
		exec sleep 1000') & exit 4"
	eventually lines 1
	sleep 0.2			# it has had time to do it wrong
	held
	echo go >&8
	ends_with 4
	end=$(now_us)
	eventually lines 3
	kill -KILL "$(sed -n 2p "$out")"
	since_last_line "$end"
}

# since_last_line US: $ms from the time in the last line until US.
since_last_line() {
	local last
	last=$(tail -n 1 "$out")
	[[ $last == *.* ]]
	ms=$((($1 - ${last/./}) / 1000))
}

# daemon N SCRIPT: COMMAND runs SCRIPT, which starts N processes that we do
# not wait for, and prints their pids.  They are still there afterwards.
daemon() {
	local -a pids
	begin redlock-run -k a -- bash -c "$2"
	ends_with 4
	free
	eventually lines "$1"
	mapfile -t pids <"$out"
	none_gone "${pids[@]}"
	kill -KILL "${pids[@]}"
}

# leads_session PID
leads_session() {
	(($(ps -o sid= -p "$1") == $1))
}

# stopped_with STATUS PID...: the process begun last ends with STATUS, the lock
# is free, and the processes are gone.
stopped_with() {
	ends_with "$1"
	shift
	eventually all_gone "$@"
	free
}

## Waiting for them

# bats test_tags=quick
@test "the lock is released as soon as all of COMMAND's processes are gone, and not before" {
	local way
	((${#ways[@]} >= 6))
	for way in "${!ways[@]}"; do
		echo "$way"
		in_time 100 release_after "$way"
	done
}

# cpu_ms PID: the time that it has used.
cpu_ms() {
	local -a stat
	read -ra stat <"/proc/$1/stat"
	echo $(((stat[13] + stat[14]) * 1000 / $(getconf CLK_TCK)))
}

# idle_while SCRIPT: when SCRIPT, as COMMAND, has ended and left processes
# behind, redlock-run uses $ms milliseconds of two seconds.
idle_while() {
	local before
	begin redlock-run -k a -- sh -c "$1
	    echo \$\$; exit 4"
	eventually grep -qx '[0-9]*' "$out"
	eventually gone "$(grep -x '[0-9]*' "$out")"
	sleep 0.3			# it has had its first looks
	before=$(cpu_ms "$pid")
	sleep 2
	ms=$(($(cpu_ms "$pid") - before))
	held
	echo go >&8
	ends_with 4
}

@test "waiting for processes takes less than one percent of a processor while 200 others run" {
	local crowd
	begin crowd 200
	crowd=$pid
	eventually lines 1
	in_time 19 idle_while 'linger &'
	in_time 19 idle_while 'sh -c "linger & exec setsid sleep 6" &'
	kill -KILL "$crowd"
}

@test "waiting for 200 processes takes less than one percent of a processor" {
	in_time 19 idle_while 'crowd 200 & crowd=$!
	    (linger; kill -KILL "$crowd") &'
}

@test "any number of COMMAND's processes may end at the same time" {
	begin redlock-run -k a -- bash -c '
	    for i in {1..100}; do (read -r line <&8) & done; echo; exit 4'
	eventually lines 1
	sleep 0.2			# it has had time to do it wrong
	held
	yes 2>/dev/null | head -n 100 >&8
	ends_with 4
	nothing_marked
	free
}

# bats test_tags=quick
@test "a daemon (own session, parent gone) does not keep the lock" {
	daemon 1 'setsid -f sh -c "echo \$\$; exec sleep 1000"; exit 4'
	daemon 1 'sh -c "setsid sh -c \"sleep 1000 & echo \\\$!\""; exit 4'
	daemon 1 '(setsid sh -c "echo \$\$; exec sleep 1000" &); exit 4'
	daemon 2 'setsid -f sh -c "echo \$\$; sleep 1000 & echo \$!; wait"
	    exit 4'
}

@test "a COMMAND that makes itself a daemon does not keep the lock" {
	begin redlock-run -k a -- setsid sh -c 'echo $$; exec sleep 1000'
	ends_with 0
	eventually lines 1
	not gone "$(<"$out")"
	kill -KILL "$(<"$out")"
}

@test "a signal that COMMAND handles turns none of its processes into a daemon" {
	begin redlock-run -k a -- bash -c '
	    trap "echo got; exit 4" USR1
	    setsid sleep 1000 & echo $!; wait; wait'
	eventually lines 1
	eventually leads_session "$(<"$out")"
	kill -USR1 "$pid"
	ends_with 4
	free
	lines 2
	not gone "$(head -n 1 "$out")"
	kill -KILL "$(head -n 1 "$out")"
}

# Scripts for COMMAND in which a signal ends the parent of a process in another
# session, which goes on.
declare -gA orphaned=(
	["setsid -w"]='exec setsid -w linger'
	["setsid -w, its child's child"]='exec setsid -w sh -c "linger; :"'
	["in a nested shell"]='sh -c "setsid -w linger; :"; :'
	["COMMAND that handles it"]='trap "exit 4" TERM
	    setsid -w linger & wait'
	["in two sessions"]='setsid -w sh -c "setsid -w linger; :"; :'
)
((EUID != 0)) ||
	orphaned["su"]='exec su nobody -s /bin/sh -c "$(command -v linger); :"'

# goes_on KILL...: KILL sends a signal that ends COMMAND; the process that
# lingers holds the lock until it ends.
goes_on() {
	local command
	eventually grep -q linger "$out"
	command=$(head -n 1 "$out")
	"$@" "$command"
	eventually gone "$command"
	sleep 0.3			# it has had time to do it wrong
	held
	not gone "$pid"
	echo go >&8
	eventually gone "$pid"
	free
}

term_us() {
	kill -TERM "$pid"
}

term_command() {
	kill -TERM "$1"
}

@test "a SIGTERM that ends a process's parent does not turn the process into a daemon" {
	local way
	for way in "${!orphaned[@]}"; do
		echo "$way"
		begin redlock-run -k a -- sh -c "echo \$\$; ${orphaned[$way]}"
		goes_on term_us
	done
}

hang_up() {
	kill -HUP "$pid"
}

@test "a COMMAND that exits on SIGHUP does not turn its processes into daemons" {
	begin redlock-run -k a -- bash -c 'echo $$; trap "exit 4" HUP
	    setsid -w linger & wait'
	goes_on hang_up
}

@test "a signal from elsewhere does not turn COMMAND's processes into daemons" {
	local way
	for way in "setsid -w" "setsid -w, its child's child"; do
		begin redlock-run -k a -- sh -c "echo \$\$; ${orphaned[$way]}"
		eventually grep -q linger "$out"
		goes_on term_command
	done
}

@test "a signal from elsewhere while the guard sleeps does not turn COMMAND's new processes into daemons" {
	local way
	for way in "setsid -w" "setsid -w, its child's child"; do
		begin redlock-run -k a -- sh -c "echo \$\$; read -r _ <&8
		    ${orphaned[$way]}"
		guard_sleeps "$pid"
		echo go >&8
		goes_on term_command
	done
}

@test "an earlier signal that COMMAND survived does not turn its processes into daemons" {
	begin redlock-run -k a -- bash -c 'trap : USR1; echo $$
	    until sleep 0.02 && [ -e "$1" ]; do :; done
	    setsid -w linger & wait' bash "$log"
	eventually lines 1
	kill -USR1 "$pid"
	sleep 0.3			# it is passed on
	touch "$log"
	goes_on kill -KILL
}

# leads_sessions PID N: PID has N children with sessions of their own.
leads_sessions() {
	(($(ps --ppid "$1" -o pid=,sid= | awk '$1 == $2' | wc -l) == $2))
}

@test "a killed COMMAND does not turn its many processes in sessions of their own into daemons" {
	local -a far
	begin redlock-run -k a -- bash -c 'for _ in {1..100}; do
		setsid -w sleep 1000 & done; echo $$; wait'
	eventually lines 1
	eventually leads_sessions "$(<"$out")" 100
	sleep 2				# the guard has seen them
	mapfile -t -d " " far <"/proc/$(<"$out")/task/$(<"$out")/children"
	kill -KILL "$(<"$out")"
	kill -KILL "${far[@]:0:90}"
	eventually all_gone "${far[@]:0:90}"
	sleep 0.3			# it has had time to do it wrong
	held
	not gone "$pid"
	kill -KILL "${far[@]:90}"
	ends_with 137
	free
}

@test "an exit status above 128 without a signal does not turn a daemon into a process of COMMAND" {
	begin redlock-run -k a -- sh -c 'setsid -f sh -c "
		echo \$\$; exec sleep 1000"; exit 255'
	ends_with 255
	free
	eventually lines 1
	kill -KILL "$(<"$out")"
}

@test "a daemon stays a daemon when a signal ends COMMAND" {
	local way daemon
	for way in term_us term_command; do
		begin redlock-run -k a -- sh -c '
		    setsid -f sh -c "echo daemon \$\$; exec sleep 1000"
		    echo command $$; exec sleep 1000'
		eventually lines 2
		sleep 5			# the guard has seen it
		"$way" "$(sed -n "s/command //p" "$out")"
		ends_with 143
		free
		daemon=$(sed -n "s/daemon //p" "$out")
		not gone "$daemon"
		kill -KILL "$daemon"
	done
}

@test "a signal that COMMAND survives by ten seconds changes no daemon" {
	begin redlock-run -k a -- bash -c 'trap "echo got" INT
	    setsid sleep 1000 & echo $!; read -r _ <&8; read -r _ <&8; exit 4'
	eventually lines 1
	eventually leads_session "$(head -n 1 "$out")"
	kill -INT "$pid"
	sleep 11
	echo go >&8
	echo go >&8
	ends_with 4
	free
	not gone "$(head -n 1 "$out")"
	kill -KILL "$(head -n 1 "$out")"
}

@test "a process that becomes a daemon ten seconds after a signal is not COMMAND's" {
	begin redlock-run -k a -- bash -c 'trap : INT; echo $$
	    (setsid sleep 1000 & echo $!; read -r _ <&8) &
	    while :; do sleep 0.1; done'
	eventually lines 2
	eventually leads_session "$(sed -n 2p "$out")"
	kill -INT "$pid"
	sleep 11
	echo go >&8
	sleep 5				# the guard has seen the daemon
	kill -KILL "$(head -n 1 "$out")"
	ends_with 137
	free
	not gone "$(sed -n 2p "$out")"
	kill -KILL "$(sed -n 2p "$out")"
}

@test "a process whose parent died of a signal that COMMAND survived is not a daemon" {
	begin redlock-run -k a -- bash -c 'trap : TERM; echo $$
	    sh -c "setsid sleep 1000 & echo \$!; wait; :" &
	    until read -r _ <&8; do :; done; exit 4'
	eventually lines 2
	eventually leads_session "$(sed -n 2p "$out")"
	kill -TERM "$pid"
	sleep 11			# COMMAND has survived it
	echo go >&8
	eventually gone "$(head -n 1 "$out")"
	sleep 0.3			# it has had time to do it wrong
	held
	not gone "$pid"
	kill -KILL "$(sed -n 2p "$out")"
	ends_with 4
	free
}

@test "a process that makes itself a daemon later is waited for until then" {
	local how
	for how in 'setsid -f' setsid; do
		in_time 150 late_daemon "$how"
	done
}

@test "a zombie does not count as running" {
	begin redlock-run -k a -- sh -c '
	    sh -c "true & exec setsid sleep 1000" & echo $!; sleep 0.2; exit 4'
	ends_with 4
	not gone "$(<"$out")"
	kill -KILL "$(<"$out")"
}

@test "a process whose first thread has ended counts as running" {
	begin redlock-run -k a -- sh -c 'headless & sleep 0.2; exit 4'
	eventually lines 1
	eventually process_in_state "$(<"$out")" Z
	sleep 0.4			# it has had time to do it wrong
	held
	not gone "$pid"
	echo go >&8
	ends_with 4
	free
}

@test "-o releases the lock as soon as COMMAND itself exits" {
	begin redlock-run -o -k a -- bash -c '
	    set -m; sleep 1000 & echo $!; set +m; sleep 1000 & echo $!; exit 4'
	ends_with 4
	free
	sleep 0.2			# the guard has had time to do it wrong
	# shellcheck disable=SC2046
	none_gone $(<"$out")
	# shellcheck disable=SC2046
	kill -KILL $(<"$out")
}

@test "one line names processes that outlive COMMAND by more than 5 s" {
	local start
	local -a pids
	start=$(now_us)
	begin redlock-run -t 6s -k a -- bash -c \
	    'sleep 1000 & echo $!; set -m; sleep 1000 & echo $!; exit 4'
	eventually test -s "$err"
	(($(now_us) - start >= 5000000))
	mapfile -t pids <"$out"
	[[ $(<"$err") == "redlock-run: "*sleep*sleep* ]]
	[[ $(<"$err") == *"${pids[0]}"* ]]
	[[ $(<"$err") == *"${pids[1]}"* ]]
	held
	sleep 0.5
	lines 1 "$err"
	kill -KILL "${pids[@]}"
	ends_with 4
	free
}

@test "the line about many such processes names some in full and counts the others" {
	local named more
	local -a pids
	begin redlock-run -k a -- bash -c \
	    'for i in {1..60}; do sleep 1000 & echo $!; done; exit 4'
	eventually grep -q 'live on: ' "$err"
	mapfile -t pids <"$out"
	kill -KILL "${pids[@]}"
	ends_with 4
	cat "$err"
	grep -qE 'live on: sleep \(pid [0-9]+\)(, sleep \(pid [0-9]+\))+ and [0-9]+ more; the lock is released' "$err"
	named=$(grep -o 'sleep (pid' "$err" | wc -l)
	more=$(sed -nE 's/.* and ([0-9]+) more; .*/\1/p' "$err")
	((named + more == 60))
}

@test "the line about such processes says which of them may not be signalled" {
	local -a pids
	needs_root
	begin setpriv --bounding-set=-kill --inh-caps=-kill \
	    redlock-run -k a -- sh -c 'setpriv --reuid 65534 sleep 1000 & echo $!
		sleep 1000 & echo $!; exit 4'
	eventually grep -q 'live on: ' "$err"
	mapfile -t pids <"$out"
	kill -KILL "${pids[@]}"
	ends_with 4
	cat "$err"
	grep -F "live on: sleep (pid ${pids[0]}, which may not be signalled), sleep (pid ${pids[1]});" \
	    "$err"
}

## Stopping them

@test "--max-run stops COMMAND with SIGTERM and gives 124" {
	local start
	start=$(now_us)
	begin redlock-run --max-run 1 -k a -- sh -c 'echo $$; exec sleep 1000'
	eventually lines 1
	stopped_with 124 "$(<"$out")"
	(($(now_us) - start >= 1000000))
	(($(now_us) - start < 5000000))		# not --kill-after
}

@test "--max-run gives 124 however COMMAND reacts to SIGTERM" {
	begin redlock-run --max-run 1 -k a -- \
	    bash -c 'trap "echo term; exit 0" TERM; while sleep 0.01; do :; done'
	ends_with 124
	[[ $(<"$out") == term ]]
}

@test "a COMMAND that ends in time, or is killed by another process, keeps its own status" {
	run redlock --max-run 1000 -k a -- sh -c 'exit 5'
	((status == 5))
	run redlock --max-run 1000 -k a -- sh -c 'kill $$'
	((status == 143))
	run redlock --max-run 1000 -k a -- sh -c 'kill -KILL $$'
	((status == 137))
}

@test "--kill-after sends SIGKILL to a COMMAND that ignores SIGTERM" {
	local sent
	begin redlock-run --max-run 1 --kill-after 0.7 -k a -- witness "$log"
	eventually witness_has_got "$log" TERM
	sent=$(witness_times "$log" TERM)
	stopped_with 124 "$(witness_pid "$log")"
	(($(now_us) - sent >= 690000))
	(($(now_us) - sent < 4000000))
	witness_has_got "$log" TERM 1
}

@test "a stopped COMMAND gets the SIGTERM too" {
	begin redlock-run --max-run 1 --kill-after 15 -k a -- bash -c '
	    trap "echo term; exit 3" TERM; kill -STOP 0; exec sleep 1000'
	eventually gone "$pid"
	ends_with 124
	[[ $(<"$out") == term ]]
}

# scattered: a script for bash; $1 is a log.  Witnesses in its group, in another
# one, in a session, in a group of that session, and without our variables.
scattered='witness "$1.near" &
    setsid -w witness "$1.session" &
    setsid -w bash -c "set -m; witness \"\$1.inner\" & wait" bash "$1" &
    set -m
    witness "$1.group" &
    env -i "$(command -v witness)" "$1.bare" &
    wait'

# all_witnesses COMMAND ARG...: COMMAND LOG ARG... succeeds for each of them.
all_witnesses() {
	local each
	for each in near session inner group bare; do
		"$1" "$log.$each" "${@:2}" || return
	done
}

@test "when COMMAND has to be stopped, each of its processes gets SIGTERM once, in every group and session" {
	local -a pids
	begin redlock-run --kill-after 1 -t 9s -k a -- bash -c "$scattered" \
	    bash "$log"
	eventually all_witnesses witness_ready
	mapfile -t pids < <(all_witnesses witness_pid)
	redis flushall
	stopped_with 79 "${pids[@]}"
	all_witnesses witness_has_got TERM 1
	all_witnesses witness_has_got CONT 1
}

@test "a stop reaches all of COMMAND's processes, and nobody else, if redlock-run has foreign children" {
	local -a pids
	begin bash -c 'sleep 1000 & echo $!
	    exec redlock-run --kill-after 1 -t 9s -k a -- bash -c "$@"' bash \
	    "$scattered" bash "$log"
	eventually all_witnesses witness_ready
	mapfile -t pids < <(all_witnesses witness_pid)
	redis flushall
	stopped_with 79 "${pids[@]}"
	all_witnesses witness_has_got TERM 1
	not gone "$(<"$out")"
	kill -KILL "$(<"$out")"
}

@test "a signal that a user sends stays with COMMAND's group" {
	begin redlock-run -k a -- bash -c "trap 'exit 5' TERM; $scattered; wait" \
	    bash "$log"
	eventually all_witnesses witness_ready
	kill -TERM "$pid"
	eventually witness_has_got "$log.near" TERM 1
	sleep 0.3			# it has had time to do it wrong
	[[ $(cat "$log".{session,inner,group,bare} | wc -l) == 4 ]]
	# shellcheck disable=SC2046
	kill -KILL $(all_witnesses witness_pid)
	ends_with 5
}

@test "SIGKILL reaches COMMAND's processes in every group and session" {
	begin redlock-run --max-run 3 --kill-after 0.2 -k a -- zoo
	eventually lines 10
	# shellcheck disable=SC2046
	stopped_with 124 $(<"$out")
}

@test "a process that COMMAND waits for in another session is stopped with it" {
	begin redlock-run --max-run 1 --kill-after 0.2 -k a -- \
	    setsid -w sh -c 'echo $$; exec sleep 1000'
	eventually lines 1
	stopped_with 124 "$(<"$out")"
}

@test "when the lock is lost, SIGKILL reaches all of COMMAND's processes" {
	begin redlock-run -t 3s --node-timeout 1s --kill-after 0.2 -k a -- zoo
	eventually lines 10
	redis flushall
	# shellcheck disable=SC2046
	stopped_with 79 $(<"$out")
}

@test "--max-run also stops processes that outlive COMMAND" {
	begin redlock-run --max-run 1 --kill-after 0.2 -k a -- bash -c '
	    trap "" TERM; sleep 1000 & echo $!; set -m; sleep 1000 & echo $!'
	eventually lines 2
	# shellcheck disable=SC2046
	stopped_with 124 $(<"$out")
}

@test "a daemon gets no signal when COMMAND is stopped" {
	begin redlock-run --max-run 1 --kill-after 0.2 -k a -- sh -c '
	    setsid -f witness "$1"; trap "" TERM; sleep 1000 & wait; wait' sh "$log"
	ends_with 124
	eventually witness_ready "$log"
	not gone "$(witness_pid "$log")"
	[[ -z $(witness_got "$log") ]]
	kill -KILL "$(witness_pid "$log")"
}

@test "SIGKILL is repeated until none is left" {
	begin redlock-run --max-run 0.3 --kill-after 0.2 -k a -- hydra
	ends_with 124
	nothing_marked
	begin redlock-run --max-run 0.3 --kill-after 0.2 -k a -- hydra 10
	ends_with 124
	nothing_marked
	begin redlock-run --max-run 0.3 --kill-after 0.2 -k a -- env -i \
	    "$(command -v hydra)" 10
	ends_with 124
	not pgrep -s "$pid"
	free
}

# rooted_with ARG...: a redlock-run of another user; $rooted is a process of root
# that its COMMAND has started.
rooted_with() {
	needs_root
	chmod u+s "$BATS_FILE_TMPDIR/bin/rooted"
	begin setpriv --reuid=nobody --clear-groups redlock-run -k a "$@" -- \
	    sh -c 'rooted sh -c "id -u; echo \$\$; exec sleep 1000" & wait'
	eventually lines 2
	[[ $(head -n 1 "$out") == 0 ]] || skip "needs programs with set-user-ID"
	rooted=$(tail -n 1 "$out")
}

# runs_on STATUS: until it is killed; $err has no advice to let it be.
runs_on() {
	not gone "$pid"
	kill -KILL "$rooted"
	ends_with "$1"
	cat "$err"
	not grep -e -o "$err"
	free
}

@test "processes that redlock-run has no permission to kill are named, and keep the lock" {
	rooted_with --max-run 1 --kill-after 0.2
	eventually grep -qFx "redlock-run: a: still held: 'sleep' (pid $rooted, root) may not be signalled and runs on; the lock is released when it ends" "$err"
	held
	runs_on 124
}

@test "after a loss, processes that redlock-run has no permission to kill are named as soon as SIGKILL was tried" {
	rooted_with --kill-after 2 -t 9s
	redis flushall
	eventually grep -q 'lock lost: ' "$err"
	eventually grep -qFx "redlock-run: a: lock lost, but 'sleep' (pid $rooted, root) may not be signalled and runs on" "$err"
	lines 2 "$err"
	runs_on 79
}

@test "processes that redlock-run has no permission to kill are named again if the lock is lost later" {
	local -a pids
	needs_root
	begin setpriv --bounding-set=-kill --inh-caps=-kill redlock-run -t 6s \
	    --max-run 0.5 --kill-after 0.2 -k a -- sh -c '
	    for n in 1 2; do
		setpriv --reuid 65534 sleep 1000 & echo $!
	    done; wait'
	eventually grep -q 'still held: ' "$err"
	mapfile -t pids <"$out"
	grep -Fx "redlock-run: a: still held: 'sleep' (pid ${pids[0]}, uid 65534), 'sleep' (pid ${pids[1]}, uid 65534) may not be signalled and run on; the lock is released when they end" "$err"
	redis flushall
	eventually grep -qFx "redlock-run: a: lock lost, but 'sleep' (pid ${pids[0]}, uid 65534), 'sleep' (pid ${pids[1]}, uid 65534) may not be signalled and run on" "$err"
	kill -KILL "${pids[@]}"
	ends_with 79
}

@test "a stop does not report processes before SIGKILL, however long --kill-after is" {
	begin redlock-run --max-run 0.5 --kill-after 6 -k a -- sh -c '
	    (trap "" TERM; sleep 1000; :) & sleep 1000'
	ends_with 124
	cat "$err"
	lines 1 "$err"
}

@test "a process that SIGKILL does not end is named after 5 s" {
	local sleeping
	strace -o /dev/null true 2>/dev/null || skip "needs ptrace"
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0	# needs ptrace
	begin strace -qq -o /dev/null -e trace=kill -e inject=kill:retval=0 \
	    redlock-run --max-run 0.2 --kill-after 0.1 -k a -- \
	    sh -c 'echo $$; exec sleep 1000'
	eventually test -s "$out"
	sleeping=$(<"$out")
	eventually grep -qFx "redlock-run: a: still held: SIGKILL does not end sleep (pid $sleeping); the lock is released when it ends" "$err"
	kill -KILL "$sleeping"
	ends_with 124
}

@test "with --on-loss warn the line about processes that outlive COMMAND does not call a lost lock held" {
	begin redlock-run --on-loss warn -t 3s -k a -- sh -c '
	    sleep 1000 & echo $!; until [ -e lost ]; do sleep 0.02; done; exit 4'
	eventually lines 1
	redis flushall
	eventually grep -q 'lock lost: ' "$err"
	touch lost
	eventually grep -qFx "redlock-run: a: lock lost; 'sh' has ended, but its processes live on: sleep (pid $(<"$out")) (use -o not to wait for them)" "$err"
	kill -KILL "$(<"$out")"
	ends_with 4
}

# ended_or COMMAND...: it succeeds, or redlock-run has ended.
ended_or() {
	gone "$pid" || "$@"
}

@test "a process that /proc hides is waited for and named" {
	needs_root
	chmod u+s "$BATS_FILE_TMPDIR/bin/rooted"
	begin unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc || exit 99
	    exec "$@"' sh setpriv --reuid=nobody --regid=nogroup \
	    --clear-groups redlock-run -k a -- sh -c '
	    test -e /proc/1 && echo visible; echo "$$"
	    rooted sh -c "id -u; echo \"\$\$\"; exec linger" & sleep 0.5; exit 4'
	eventually ended_or lines 4
	if gone "$pid" || grep -qx visible "$out" || ! grep -qx 0 "$out"; then
		echo go >&8
		eventually gone "$pid"
		skip "needs mounts, hidepid and set-user-ID"
	fi
	eventually gone "$(sed -n 1p "$out")"
	eventually test -s "$err"
	[[ $(<"$err") == "redlock-run: "*"$(sed -n 3p "$out")"* ]]
	held
	not gone "$pid"
	echo go >&8
	ends_with 4
	free
}

## A small stack

@test "a stack of 64 kB is enough to hold the lock, stop COMMAND and release" {
	needs_no_sanitizer	# it needs more
	local size
	for size in 64 48; do
		run -0 bash -c 'ulimit -s "$1"; exec redlock-run -v -k a -- true' \
		    sh "$size"
		free
		run -124 --separate-stderr bash -c 'ulimit -s "$1"
		    exec redlock-run --max-run 0.2 --kill-after 0.1 -k a -- sh -c \
			"trap \"\" TERM; sleep 1000 & wait; wait"' sh "$size"
		[[ $stderr == *--max-run* ]]
		free
	done
}

## A kernel that fails

# unwaited TIMES ARG...: redlock-run whose waitid() fails so many times.
unwaited() {
	needs_no_sanitizer	# it wants to be loaded first
	needs_loader
	[[ -e $BATS_FILE_TMPDIR/unwaited.so ]] ||
		compile unwaited "$BATS_FILE_TMPDIR/unwaited.so" -shared -fPIC
	begin env UNWAITED="$1" LD_PRELOAD="$BATS_FILE_TMPDIR/unwaited.so" \
	    redlock-run -k a -- env -u LD_PRELOAD "${@:2}"
}

@test "a waitid that fails for a while delays the end of a run but loses nothing" {
	local times
	for times in {1..5}; do
		unwaited "$times" sh -c 'exit 3'
		ends_with 3
		free
	done
	for times in {1..5}; do
		unwaited "$times" sh -c '(sleep 0.7; echo late) & exit 3'
		ends_with 3
		lines 1
		free
	done
	# Another child ends, and COMMAND runs for longer than we would try.
	unwaited 20 sh -c '(sleep 0.1 &); sleep 1.5; exit 3'
	ends_with 3
	free
}

@test "a waitid that always fails does not renew the lock for ever" {
	local start
	unwaited 1000000 sh -c 'sleep 0.3; (sleep 0.7; echo late) & exit 3'
	ends_with 71
	[[ $(<"$err") == "redlock-run: a: cannot find out how 'env' ended: "* ]]
	lines 1
	free
	# redlock-run tries for half a second.
	start=$(now_us)
	unwaited 1000000 sh -c 'exit 3'
	ends_with 71
	(($(now_us) - start > 400000))
	free
}
