# shellcheck shell=bash disable=SC2154
#
# Functions for tests of COMMAND, its signals and its processes.  `load
# ../lib/common` comes first.

# Runs have no terminal: with one redlock-run behaves differently, and signals to
# a group could reach the caller of the tests.  No signal is ignored either; bash
# ignores SIGINT in the background.
alone=(setsid env --default-signal)

# A wait for something that does not happen fails in time.
# shellcheck disable=SC2034
limited=(timeout --foreground -s KILL "${WAIT:-60}")

# An AddressSanitizer build is so many times slower.
slow=1
! grep -q __asan_init "$REDLOCK_RUN" || slow=4

# needs_no_sanitizer: skips the test under AddressSanitizer.
needs_no_sanitizer() {
	((slow == 1)) || skip "needs a build without sanitizers"
}

# helpers_install NAME...: they are found in the PATH, compiled, and so is the
# program under test, as redlock-run; also for other users.  For setup_file.
helpers_install() {
	local name bin=$BATS_FILE_TMPDIR/bin from=$top/tests/helpers
	mkdir -p "$bin"
	cp "$REDLOCK_RUN" "$bin/redlock-run"
	for name; do
		if [[ -e $from/$name.c ]]; then
			compile "$name" "$bin/$name"
		else
			cp "$from/$name" "$bin"
		fi
	done
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
	export PATH=$bin:$PATH
}

# begin COMMAND...: run it in the background, alone; its pid is in $pid, what
# it writes in $out and $err.  It has been executed then: until that, bash may
# have a handler of its own and lose a signal.
begin() {
	local -a ours theirs
	out=$BATS_TEST_TMPDIR/out
	err=$BATS_TEST_TMPDIR/err
	# Each run begins with empty files.
	: >"$out"
	: >"$err"
	"${alone[@]}" "$@" </dev/null >"$out" 2>"$err" 3>&- 4>&- &
	pid=$!
	mapfile -d '' -t ours <"/proc/$BASHPID/cmdline"
	theirs=("${ours[@]}")
	while [[ ${theirs[*]} == "${ours[*]}" ]]; do
		{ mapfile -d '' -t theirs <"/proc/$pid/cmdline"; } 2>/dev/null || break
	done
}

# ends_with STATUS: the process begun last ends with STATUS.
ends_with() {
	ended "$pid" "$1" "$err"
}

# lines N [FILE]: there are N lines in FILE, or in the output of the last process.
lines() {
	local -a line
	mapfile -t line <"${2:-$out}"
	((${#line[@]} == $1))
}

# all_gone PID..., none_gone PID...
all_gone() {
	local each
	for each; do
		gone "$each" || return
	done
}

none_gone() {
	local each
	for each; do
		not gone "$each" || return
	done
}

# process_parent PID, group PID: of a process that lives.
process_parent() {
	ps -o ppid= -p "$1" | tr -d ' '
}

process_group() {
	ps -o pgid= -p "$1" | tr -d ' '
}

# guard PID: the pid of the guard of the redlock-run that is PID.
guard() {
	local each session
	while read -r each session; do
		if [[ $each == "$session" ]]; then
			echo "$each"
			return
		fi
	done < <(ps --ppid "$1" -o pid=,sid=)
	return 1
}

# switches PID: how often it went to sleep.
switches() {
	awk '$1 == "voluntary_ctxt_switches:" { print $2 }' "/proc/$1/status"
}

# sleeps_soundly PID: it wakes up at most twice in two seconds.  (Each time that
# tests/flaky freezes all processes it wakes up once more.)
sleeps_soundly() {
	local before
	before=$(switches "$1")
	sleep 2
	(($(switches "$1") <= before + 2))
}

# guard_sleeps PID: so does the guard of the redlock-run that is PID.
guard_sleeps() {
	eventually guard "$1"
	eventually sleeps_soundly "$(guard "$1")"
}

# process_in_state PID LETTER: as ps(1) shows it.
process_in_state() {
	[[ $(ps -o stat= -p "$1") == "$2"* ]]
}

# in_time LIMIT COMMAND...: run COMMAND, which leaves a number of milliseconds
# in $ms, until that is at most LIMIT; ten times, then it has failed.  A
# machine with other work to do may be slow now and then, but not every time;
# of root's tests such work is kept away by the real-time scheduler.  (A nice
# value counts inside a session only where the kernel has autogroups.)  Real-time
# processes of one priority take turns of 100 ms, so only one file at a time
# measures.
in_time() {
	local limit=$(($1 * slow)) ms try turn seen=
	shift
	mkdir -p "$compiled"
	exec {turn}>"$compiled/turn"
	flock "$turn"
	chrt -rp 1 "$BASHPID" 2>/dev/null || true
	for try in {1..10}; do
		ms=
		"$@" {turn}>&-
		((ms > limit)) || break
		seen+=" $ms"
	done
	chrt -op 0 "$BASHPID" 2>/dev/null || true
	exec {turn}>&-
	((ms > limit)) || return 0
	echo "$try tries took$seen ms, not $limit ms: $*" >&2
	return 1
}

## The witness, tests/helpers/witness.c

# witness_ready LOG: it is there.
witness_ready() {
	[[ -s $1 ]]
}

# witness_pid, witness_group, witness_session LOG
witness_pid() {
	awk 'NR == 1 { print $2 }' "$1"
}

witness_group() {
	awk 'NR == 1 { print $3 }' "$1"
}

witness_session() {
	awk 'NR == 1 { print $4 }' "$1"
}

# witness_got LOG: the names of the signals that it got, in order.
witness_got() {
	local number
	while read -r number _; do
		[[ $number == ready ]] || kill -l "$number"
	done <"$1" | paste -sd ' '
}

# witness_has_got LOG NAME [TIMES]: it got that one so many times, or at all.
witness_has_got() {
	local times
	times=$(grep -c "^$(kill -l "$2") " "$1")
	((times >= 1 && times == ${3:-times}))
}

# witness_times LOG NAME: when it got it, in microseconds.
witness_times() {
	awk -v "number=$(kill -l "$2")" '$1 == number { print $4 }' "$1"
}
