#!/usr/bin/env bats
# bats file_tags=timing
#
# Signals: which processes get which, and how fast.  Without a terminal;
# terminal.bats has the other half.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2030,SC2031,SC2054,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	helpers_install how witness
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	log=$BATS_TEST_TMPDIR/log
}

teardown() {
	redis_thaw
	nothing_left
}

teardown_file() {
	redis_stop_all
}

passed_on=(HUP INT QUIT TERM USR1 USR2 ALRM WINCH CONT)
for n in {34..64}; do
	passed_on+=("$(kill -l "$n")")
done
unset n

# passes_on NAME: send it to redlock-run; the witness gets it once, after $ms
# milliseconds.
passes_on() {
	local -a before after
	local sent
	mapfile -t before < <(witness_times "$log" "$1")
	sent=$(now_us)
	kill -s "$1" "$pid"
	eventually more_than "${#before[@]}" "$1"
	mapfile -t after < <(witness_times "$log" "$1")
	((${#after[@]} == ${#before[@]} + 1))
	ms=$(((${after[-1]} - sent) / 1000))
}

# more_than N NAME: the witness got NAME more often than N times.
more_than() {
	(($(grep -c "^$(kill -l "$2") " "$log") > $1))
}

# frozen_with ARG...: redlock-run with a server that does not answer, the
# request under way.
frozen_with() {
	redis_freeze
	begin how -p "$BATS_TEST_TMPDIR/pid" redlock-run --node-timeout 30s \
	    -t 300s "$@"
	eventually test -s "$BATS_TEST_TMPDIR/pid"
	eventually asking "$(<"$BATS_TEST_TMPDIR/pid")"
}

# asking PID: it has a connection, and sleeps.
asking() {
	local -a stat
	[[ $(readlink "/proc/$1/fd/"*) == *socket:* ]] &&
		read -ra stat <"/proc/$1/stat" && [[ ${stat[2]} == S ]]
}

# scripts_are N: the server has executed N scripts.
scripts_are() {
	[ "$(scripts_run)" = "$1" ]
}

## Passed on

# bats test_tags=quick
@test "each signal is passed on to COMMAND within 50 ms, once" {
	local name
	begin redlock-run -k a -- witness "$log" "$(kill -l URG)" 0
	eventually witness_ready "$log"
	for name in "${passed_on[@]}"; do
		in_time 50 passes_on "$name"
	done
	kill -URG "$(witness_pid "$log")"
	ends_with 0
	free
}

@test "signals that threads of libc use are passed on to COMMAND, too" {
	local number
	needs_localhost			# a thread looks it up
	redis_start_tcp named
	begin redlock-run -k a -r "redis://localhost:$redis_port" -- \
	    witness "$log" "$(kill -l URG)" 0
	eventually witness_ready "$log"
	for number in 32 33 34; do
		kill "-$number" "$pid"
		eventually grep -q "^$number " "$log"
	done
	kill -URG "$(witness_pid "$log")"
	ends_with 0
}

@test "signals are passed on within 50 ms while the server does not answer" {
	local end late=0 sent=0
	begin redlock-run -t 6s --node-timeout 3s --kill-after 100ms -k a -- \
	    witness "$log" "$(kill -l USR1)" 0
	eventually witness_ready "$log"
	redis_freeze			# the renewal after 2 s gets no answer
	end=$(($(now_us) + 3300000))
	while (($(now_us) < end)); do
		passes_on RTMIN+5
		((ms < 2000))
		((++sent, ms <= 50 * slow || ++late))
		sleep 0.05
	done
	((late * 4 < sent))		# a machine may be slow now and then
	redis_thaw
	kill -USR1 "$pid"
	ends_with 0
}

@test "a second signal is passed on like the first, even the same one" {
	local -a want=(TERM INT TERM TERM HUP TERM)
	local name
	begin redlock-run -k a -- witness "$log" "$(kill -l USR1)" 0
	eventually witness_ready "$log"
	for name in "${want[@]}"; do
		passes_on "$name"
	done
	passes_on USR1
	ends_with 0
	[[ $(witness_got "$log") == "${want[*]} USR1" ]]
}

@test "without a controlling terminal COMMAND has its own process group" {
	begin redlock-run -k a -- witness "$log" "$(kill -l USR1)" 0
	eventually witness_ready "$log"
	[[ $(witness_group "$log") == "$(witness_pid "$log")" ]]
	[[ $(witness_session "$log") == "$pid" ]]
	kill -USR1 "$pid"
	ends_with 0
}

@test "redlock-run passes signals on to COMMAND's own group" {
	begin redlock-run -k a -- sh -c \
	    'witness "$1.child" "$2" 0 & exec witness "$1" "$2" 0' sh \
	    "$log" "$(kill -l TERM)"
	eventually witness_ready "$log"
	eventually witness_ready "$log.child"
	kill -USR1 "$pid"
	eventually witness_has_got "$log" USR1
	eventually witness_has_got "$log.child" USR1
	kill -TERM "$pid"
	ends_with 0
	[[ $(witness_got "$log") == "USR1 TERM" || $(witness_got "$log") == "USR1 CHLD TERM" ]]
	[[ $(witness_got "$log.child") == "USR1 TERM" ]]
}

@test "redlock-run signals no process that COMMAND did not start" {
	local name
	begin sh -c 'witness "$1.sibling" &
	    sh -c "witness \$1.child & shift; exec \$@" sh "$@"; echo "$?"' \
	    sh "$log" redlock-run -k a -- witness "$log" "$(kill -l TERM)" 6
	eventually witness_ready "$log.sibling"
	eventually witness_ready "$log.child"
	eventually witness_ready "$log"
	[[ $(witness_group "$log.child") == "$(witness_group "$log.sibling")" ]]
	pid=$(process_parent "$(witness_pid "$log")")
	for name in "${passed_on[@]}"; do
		[[ $name == TERM ]] || passes_on "$name"
	done
	kill -TERM "$pid"
	eventually lines 1
	[[ $(<"$out") == 6 ]]
	[[ -z $(witness_got "$log.sibling") ]]
	[[ -z $(witness_got "$log.child") ]]
	kill -KILL "$(witness_pid "$log.sibling")" "$(witness_pid "$log.child")"
}

@test "signals that were ignored at the start stay ignored" {
	alone+=(env --ignore-signal=HUP,INT,USR2,RTMAX)
	begin redlock-run -k a -- witness "$log" "$(kill -l TERM)" 0
	eventually witness_ready "$log"
	kill -HUP "$pid"
	kill -INT "$pid"
	kill -USR2 "$pid"
	kill -RTMAX "$pid"
	passes_on USR1
	kill -TERM "$pid"
	ends_with 0
	[[ $(witness_got "$log") == "USR1 TERM" ]]
}

@test "a passed-on SIGTERM is not followed by SIGKILL" {
	begin redlock-run --kill-after 0.1 -k a -- witness "$log" "$(kill -l USR1)" 3
	eventually witness_ready "$log"
	passes_on TERM
	sleep 1				# ten times as long as KILL would take
	passes_on USR1
	ends_with 3
	[[ $(witness_got "$log") == "TERM USR1" ]]
}

@test "signals go to COMMAND's processes once COMMAND itself is gone" {
	begin redlock-run -k a -- bash -c 'witness "$1.near" "$2" 0 &
	    set -m; witness "$1.far" "$2" 0 &
	    for log in "$1.near" "$1.far"; do
		until [ -s "$log" ]; do sleep 0.02; done
	    done; exit 4' sh "$log" "$(kill -l TERM)"
	eventually witness_ready "$log.near"
	eventually witness_ready "$log.far"
	# COMMAND is not only dead: redlock-run knows that it is.
	eventually not test -e "/proc/$(witness_group "$log.near")"
	not gone "$pid"
	kill -USR1 "$pid"
	eventually witness_has_got "$log.near" USR1
	eventually witness_has_got "$log.far" USR1
	kill -TERM "$pid"
	ends_with 4
	[[ $(witness_got "$log.near") == "USR1 TERM" ]]
	[[ $(witness_got "$log.far") == "USR1 TERM" ]]
	free
}

@test "a signal that COMMAND sends to redlock-run is not passed back" {
	begin redlock-run -k a -- bash -c '
	    trap "echo TERM" TERM
	    trap "echo USR1" USR1
	    trap "exit 5" USR2
	    kill -USR1 $PPID
	    kill -TERM $PPID
	    kill -INT $PPID
	    echo ready
	    while :; do sleep 0.02; done'
	eventually lines 1
	kill -USR2 "$pid"
	ends_with 5
	[[ $(<"$out") == ready ]]
}

@test "redlock-run dies of a passed-on signal that killed COMMAND" {
	local name
	for name in HUP INT QUIT TERM USR1 USR2 ALRM RTMIN+1; do
		begin how -p "$BATS_TEST_TMPDIR/pid" redlock-run -k a -- \
		    sh -c 'echo $$; exec sleep 1000'
		eventually lines 1
		eventually test -s "$BATS_TEST_TMPDIR/pid"
		kill -s "$name" "$(<"$BATS_TEST_TMPDIR/pid")"
		ends_with 0
		[[ $(tail -n 1 "$out") == "signal $(kill -l "$name")" ]]
		free
	done
}

@test "a COMMAND that catches a passed-on signal decides its own status" {
	begin redlock-run -k a -- bash -c 'trap "exit 9" TERM; echo ready
	    while :; do sleep 0.02; done'
	eventually lines 1
	kill -TERM "$pid"
	ends_with 9
}

## Our parent's death

@test "a run goes on when its parent is killed, but for setpriv --pdeathsig TERM" {
	local run
	for run in "redlock-run" "setpriv --pdeathsig TERM redlock-run"; do
		rm -f "$log"
		begin bash -c '$1 -k a -- witness "$2" "$3" 0; :' sh \
		    "$run" "$log" "$(kill -l TERM)"
		eventually witness_ready "$log"
		kill -KILL "$pid"
		if [[ $run == redlock-run ]]; then
			sleep 0.2		# it has had time to do it wrong
			[[ -z $(witness_got "$log") ]]
			held
			kill -TERM "$(process_parent "$(witness_pid "$log")")"
		fi
		eventually free
		[[ $(witness_got "$log") == TERM ]]
	done
}

## While we acquire

@test "a signal ends the acquisition at once: no COMMAND, death by that signal, no key left" {
	local name
	for name in TERM INT HUP QUIT USR1 ALRM RTMIN+1; do
		frozen_with -k a -- sh -c "echo >'$BATS_TEST_TMPDIR/ran'"
		kill -s "$name" "$(<"$BATS_TEST_TMPDIR/pid")"
		eventually 5 gone "$pid"	# not the node timeout
		ends_with 0
		[[ $(<"$out") == "signal $(kill -l "$name")" ]]
		redis_thaw
		eventually scripts_are 2		# acquire, release
		free
		[[ ! -e $BATS_TEST_TMPDIR/ran ]]
		redis_reset
		rm "$BATS_TEST_TMPDIR/pid"
	done
}

@test "a signal that is ignored by default does not end the acquisition" {
	local name
	frozen_with -k a -- sh -c 'exit 7'
	for name in WINCH CONT CHLD URG; do
		kill -s "$name" "$(<"$BATS_TEST_TMPDIR/pid")"
	done
	redis_thaw
	ends_with 0
	[[ $(<"$out") == "exit 7" ]]
}

@test "an ignored signal does not end the acquisition" {
	alone+=(env --ignore-signal=HUP)
	frozen_with -k a -- sh -c 'exit 7'
	kill -HUP "$(<"$BATS_TEST_TMPDIR/pid")"
	redis_thaw
	ends_with 0
	[[ $(<"$out") == "exit 7" ]]
}

@test "a signal at any moment ends the acquisition or COMMAND, and the lock is free" {
	local i status took
	mkfifo "$BATS_TEST_TMPDIR/never"
	exec 9<>"$BATS_TEST_TMPDIR/never"
	took=$(now_us)
	begin redlock-run -k a -- true
	wait "$pid"
	took=$(($(now_us) - took))
	for i in {1..60}; do
		begin redlock-run -k a -- sleep 1000
		read -r -t "0.$(printf %06d $((i * took / 50)))" -u 9 || true
		status=0
		kill -TERM "$pid"
		wait "$pid" || status=$?
		((status == 143))
		free
	done
	exec 9<&-
}

## SIGPIPE

# blocked_client: a client waits in BLPOP.
blocked_client() {
	redis info clients | grep -q blocked_clients:1
}

# to_nobody COMMAND...: its standard output is a pipe that has no reader.
to_nobody() {
	mkfifo "$BATS_TEST_TMPDIR/pipe"
	exec 9<>"$BATS_TEST_TMPDIR/pipe"
	exec 7>"$BATS_TEST_TMPDIR/pipe" 9<&-
	rm "$BATS_TEST_TMPDIR/pipe"
	"$@" >&7 7>&-
}

@test "a server that closes the connection never kills redlock-run by SIGPIPE" {
	local i mode client
	local -a inherited
	mapfile -d '' -t inherited < <(redlock -k a -- env -0 | grep -z ^REDLOCK_)
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" blpop nothing 0 \
	    >/dev/null 2>&1 3>&- 4>&- &
	client=$!
	eventually blocked_client
	redis config set maxclients 1
	for mode in --status "--status -k a" --history "--break -k a" --check \
	    "-k a -- true"; do
		for i in {1..20}; do
			# shellcheck disable=SC2086
			run "${alone[@]}" env "${inherited[@]}" redlock-run $mode
			[[ $status == @(1|69) ]]
		done
	done
	kill "$client"
}

@test "a nested COMMAND has the same signal mask and dispositions as without redlock-run" {
	redlock -k a -- sh -c '
	    grep ^Sig[BI] /proc/self/status >"$1.outer"
	    exec redlock-run -k a -- grep ^Sig[BI] /proc/self/status' \
	    sh "$log" >"$log.inner"
	diff "$log.outer" "$log.inner"
}

@test "SIGPIPE ends redlock-run if the reader of its output is gone, unless ignored" {
	local mode
	redlock -k a -- true
	for mode in --help --status --history --check; do
		run -141 --separate-stderr to_nobody "${alone[@]}" redlock-run $mode
		[[ -z $stderr ]]
		run -71 to_nobody setsid env --ignore-signal=PIPE redlock-run $mode
		[[ $output == "redlock-run: standard output: Broken pipe" ]]
	done
}
