#!/usr/bin/env bats
#
# COMMAND sees the world, and the world sees COMMAND, as without redlock-run.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC1003,SC2016,SC2030,SC2031,SC2054,SC2154

bats_require_minimum_version 1.5.0
load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	helpers_install how witness
}

setup() {
	redis_reset
	# A script for a process of COMMAND's that ends after it.
	end=$BATS_TEST_TMPDIR/end
	later="(sleep 0.4; echo end >'$end') >/dev/null 2>&1 &"
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# same COMMAND...: its standard output is the same without redlock-run.
same() {
	local direct locked
	direct=$("${alone[@]}" "$@" 3>&- 4>&-)
	locked=$("${limited[@]}" "${alone[@]}" redlock-run -k a -- "$@" \
	    3>&- 4>&-)
	[[ -n $locked ]]
	diff -u <(echo "$direct") <(echo "$locked")
}

# how_it_ends HOW COMMAND...: HOW is the output of the helper `how`.
how_it_ends() {
	local how
	how=$("${limited[@]}" "${alone[@]}" how redlock-run -k a -- "${@:2}" \
	    2>/dev/null 3>&- 4>&-)
	how=${how##*$'\n'}
	[[ $how == "$1" ]] || {
		echo "$how instead of $1: ${*:2}" >&2
		return 1
	}
}

# namespaces: $ns makes some, as root or as root of a user namespace.
namespaces() {
	local -a user=()
	((EUID == 0)) || user=(--map-root-user)
	unshare "${user[@]}" -m -p -f true 2>/dev/null ||
		skip "needs mount and pid namespaces"
	ns=("${limited[@]}" "${alone[@]}" unshare "${user[@]}")
}

# with_child SCRIPT COMMAND...: redlock-run, and `sh -c SCRIPT` is a child that
# it had from the start.
with_child() {
	"${limited[@]}" "${alone[@]}" sh -c 'sh -c "$1" & shift
	    exec redlock-run -k a -- "$@"' sh "$@" 3>&- 4>&-
}

## Its environment and descriptors

# bats test_tags=quick
@test "COMMAND gets its arguments untouched: no shell, no re-quoting" {
	local -a args=('' ' ' 'a  b' $'two\nlines' '*' '~' '$HOME' '`id`' '"' "'"
	    '\' '\n' -- -k -h --status %s ü $'\xff\xfe' a=b ';' '|' '>x')
	same env printf '<%s>\n' "${args[@]}"
	same env printf '%s\n' {1..20000}
	diff <(redlock -k a env printf '<%s>\n' "${args[@]}") \
	    <(env printf '<%s>\n' "${args[@]}")
	[[ $(redlock -k a echo -n -k b --) == "-k b --" ]]
}

@test "COMMAND leaves the standard input it does not read to the next reader" {
	local rest
	rest=$(printf '%s\n' one two three | {
		redlock -k a -- sh -c 'read -r line && [ "$line" = one ]' && cat
	})
	[[ $rest == $'two\nthree' ]]
}

@test "data that COMMAND copies from input to output is unchanged" {
	local sum
	head -c 8000000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	sum=$(sha256sum <"$BATS_TEST_TMPDIR/data")
	# shellcheck disable=SC2002
	[[ $(cat "$BATS_TEST_TMPDIR/data" | redlock -k a -- cat |
		sha256sum) == "$sum" ]]
	[[ $(redlock -k a -- sh -c 'cat >&2' <"$BATS_TEST_TMPDIR/data" 2>&1 |
		sha256sum) == "$sum" ]]
}

@test "COMMAND's standard input, output and error are the caller's open files, with the same flags" {
	local show='for i in 0 1 2; do readlink /proc/$$/fd/$i >&9
	    grep flags /proc/$$/fdinfo/$i >&9; done' files=$BATS_TEST_TMPDIR/f
	mkfifo "$files.in" "$files.out"
	exec 5<>"$files.in" 6<>"$files.out"
	bash -c "$show" <&5 >&6 2>"$files.err" 9>"$files.direct" 3>&- 4>&-
	redlock -k a -- bash -c "$show" <&5 >&6 2>"$files.err" 9>"$files.locked"
	exec 5<&- 6<&-
	diff -u "$files.direct" "$files.locked"
	[[ -s $files.locked ]]
}

# bats test_tags=quick
@test "COMMAND inherits the caller's descriptors and no others" {
	same ls /proc/self/fd
	same ls /proc/self/fd 5</dev/null 7>"$BATS_TEST_TMPDIR/seven" 23<&0
	exec 7>"$BATS_TEST_TMPDIR/seven"
	redlock -k a -- sh -c 'echo here >&7'
	exec 7>&-
	[[ $(<"$BATS_TEST_TMPDIR/seven") == here ]]
}

@test "closed standard input, output and error stay closed for COMMAND" {
	local closed fd command redirections ends got=$BATS_TEST_TMPDIR/got
	command='open=; for fd in 0 1 2; do
	    [ ! -e /proc/$$/fd/$fd ] || open="$open $fd"
	done; set -- "$1" /proc/$$/fd/*
	echo "open:$open, number: $#" >"$1"; exit 7'
	for closed in 0 1 2 "0 1" "0 2" "1 2" "0 1 2"; do
		redirections=
		for fd in $closed; do
			redirections+=" $fd>&-"
		done
		eval 'sh -c "$command" sh "$got.direct" 3>&- 4>&-' \
		    "$redirections" || true
		ends=0
		eval '"${limited[@]}" redlock-run -k a -- \
		    sh -c "$command" sh "$got.locked" 3>&- 4>&-' \
		    "$redirections" || ends=$?
		((ends == 7))
		diff -u "$got.direct" "$got.locked"
		free
	done
}

@test "messages do not go elsewhere if standard error is closed" {
	local status=0
	redlock -v -k a -- sh -c 'exit 7' >"$BATS_TEST_TMPDIR/out" 2>&- || status=$?
	((status == 7))
	redis set redlock:a foreign
	status=0
	redlock -k a -- true >>"$BATS_TEST_TMPDIR/out" 2>&- || status=$?
	((status == 75))
	[[ ! -s $BATS_TEST_TMPDIR/out ]]
	[[ $(redis get redlock:a) == foreign ]]
}

@test "redlock-run works with closed standard input, output and error" {
	local closed status
	for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
		status=0
		eval '"${limited[@]}" redlock-run -v -t 1500ms \
		    --node-timeout 1s --kill-after 50ms -k a -- \
		    sleep 0.7 3>&- 4>&-' "$closed" || status=$?
		((status == 0))
		free
	done
	alone+=(sh -c 'exec "$@" <&- >&- 2>&-' sh)
	begin redlock-run -k a -- witness "$BATS_TEST_TMPDIR/log" \
	    "$(kill -l TERM)" 5
	eventually witness_ready "$BATS_TEST_TMPDIR/log"
	kill -TERM "$pid"
	ends_with 5
}

# bats test_tags=quick
@test "COMMAND inherits the environment unchanged, plus the six REDLOCK variables of every run" {
	local -a odd=(A=1 'B=two words' $'C=two\nlines' $'D=\xff\xfe' E=
	    REDISCLI_AUTH=secret REDLOCK_NODE_TIMEOUT=1s
	    "REDLOCK_REDIS=$REDLOCK_REDIS" "PATH=$PATH")
	local dir=$BATS_TEST_TMPDIR
	env -i "${odd[@]}" env -0 | sort -z >"$dir/direct"
	redis config set requirepass secret
	env -i "${odd[@]}" REDLOCK_TOKEN=old REDLOCK_PID=1 REDLOCK_COMMAND_PID=1 \
	    REDLOCK_KEY=old \
	    REDLOCK_FENCE=0 REDLOCK_SLOT=1 REDLOCK_SITE=old \
	    "$REDLOCK_RUN" -k a -- env -0 3>&- 4>&- | sort -z >"$dir/all"
	redis config set requirepass ''
	grep -zvE '^REDLOCK_(KEY|TOKEN|FENCE|PID|COMMAND_PID|SITE)=' <"$dir/all" >"$dir/locked"
	diff -u --text "$dir/direct" "$dir/locked"
	tr '\0' '\n' <"$dir/all" >"$dir/lines"
	[[ $(grep -c '^REDLOCK_KEY=' "$dir/lines") == 1 ]]
	grep -qx 'REDLOCK_KEY=a' "$dir/lines"
	grep -qxE 'REDLOCK_TOKEN=[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' \
	    "$dir/lines"
	grep -qxE 'REDLOCK_FENCE=[1-9][0-9]+' "$dir/lines"
	grep -qxE 'REDLOCK_PID=[1-9][0-9]*' "$dir/lines"
	grep -qxE 'REDLOCK_SITE=.+' "$dir/lines"
	not grep -qx 'REDLOCK_SITE=old' "$dir/lines"
}

@test "REDLOCK_PID is COMMAND's parent, REDLOCK_COMMAND_PID is COMMAND" {
	redlock -k a -- sh -c '[ "$REDLOCK_PID" = "$PPID" ]'
	redlock -k a -- sh -c '[ "$REDLOCK_COMMAND_PID" = "$$" ]'
}

@test "COMMAND has the caller's signal mask and dispositions" {
	local -a signals=(grep '^Sig[BIC]' /proc/self/status)
	same "${signals[@]}"
	alone+=(env --ignore-signal=HUP,CHLD,USR1,PIPE,RTMIN+1
	    --block-signal=TERM,USR2,INT,CHLD,RTMAX)
	same "${signals[@]}"
	redlock -k a -- true
	alone=(setsid env --ignore-signal --default-signal=SEGV,BUS,FPE
	    --block-signal)		# but those that AddressSanitizer takes
	same "${signals[@]}"
}

@test "COMMAND has the caller's limits, umask, working directory, identity and priority" {
	cd "$BATS_TEST_TMPDIR"
	umask 0137
	ulimit -S -c 0 -n 100
	alone+=(nice -n 3)
	same sh -c 'umask; pwd; cat /proc/self/limits; id; nice;
	    cat /proc/self/oom_score_adj /proc/self/timerslack_ns;
	    grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp)" /proc/self/status'
}

# bats test_tags=quick
@test "COMMAND is found as a shell finds it" {
	local dir=$BATS_TEST_TMPDIR
	mkdir "$dir/first" "$dir/second"
	echo 'echo wrong' >"$dir/first/thing"
	printf '#!/bin/sh\necho right "$@"\n' >"$dir/second/thing"
	printf 'echo no interpreter named "$@"\n' >"$dir/second/plain"
	chmod +x "$dir"/second/*
	PATH=$dir/first:$dir/second:$PATH
	[[ $(redlock -k a -- thing 1) == "right 1" ]]
	[[ $(redlock -k a -- plain 2) == "no interpreter named 2" ]]
	cd "$dir/second"
	[[ $(redlock -k a -- ./thing 3) == "right 3" ]]
	[[ $(redlock -k a -- "$REDLOCK_RUN" -k a -- plain 4) == \
	    "no interpreter named 4" ]]
}

## How it ends

@test "redlock-run returns COMMAND's exit status: all 256 of them" {
	local status bad=0
	for status in {0..255}; do
		how_it_ends "exit $status" sh -c "exit $status" || bad=1
	done
	free
	((bad == 0))
}

@test "redlock-run dies of the signal that killed COMMAND" {
	local number bad=0
	for number in {1..31} {34..64}; do
		case $(kill -l "$number") in
		STOP | TSTP | TTIN | TTOU)
			continue ;;
		CHLD | CONT | URG | WINCH)
			how_it_ends "exit 5" sh -c "kill -$number \$\$; exit 5" ;;
		*)
			how_it_ends "signal $number" sh -c "kill -$number \$\$" ;;
		esac || bad=1
	done
	free
	((bad == 0))
}

@test "redlock-run leaves no core dump of its own" {
	local number
	cd "$BATS_TEST_TMPDIR"
	ulimit -c unlimited 2>/dev/null || skip "needs core dumps"
	[[ $(how sh -c 'kill -ABRT $$') == *core ]] || skip "needs core dumps"
	for number in $(kill -l QUIT) $(kill -l ABRT) $(kill -l SEGV) \
	    $(kill -l BUS) $(kill -l SYS); do
		how_it_ends "signal $number" sh -c "kill -$number \$\$"
	done
}

@test "a COMMAND that cannot be executed gives 126, and the lock is free" {
	local file=$BATS_TEST_TMPDIR/file
	echo 'echo not executable' >"$file"
	run -126 redlock --min-hold 1h -k a -- "$file"
	[[ $output == "redlock-run: a: '$file' was not run: Permission denied" ]]
	free
	run -126 redlock --min-hold 1h -k a -- "$BATS_TEST_TMPDIR"
	[[ $output == "redlock-run: a: '$BATS_TEST_TMPDIR' was not run: Is a directory" ]]
	free
	run redlock -k a -- "$BATS_TEST_TMPDIR/file/beneath"
	((status == 126))
	free
}

@test "a COMMAND that is not found gives 127, and the lock is free" {
	local command
	printf '#!/no/such/interpreter\n' >"$BATS_TEST_TMPDIR/script"
	chmod +x "$BATS_TEST_TMPDIR/script"
	for command in no-such-command /no/such/command ./no-such-command \
	    "$BATS_TEST_TMPDIR/script"; do
		run -127 redlock --min-hold 1h -k a -- "$command" arg
		[[ $output == "redlock-run: "*"$command"*"o such file"* ||
			$output == "redlock-run: "*"$command"*"not found in PATH="* ||
			$output == "redlock-run: "*"$command"*"its interpreter '/no/such/interpreter' does not exist" ]]
		((${#lines[@]} == 1))
		free
	done
	run -127 redlock -k a -- ''
	free
}

@test "a status of 126 or 127 that COMMAND itself returns causes no message" {
	run -127 redlock -k a -- sh -c 'exit 127'
	[[ -z $output ]]
	run redlock -k a -- sh -c 'exit 126'
	((status == 126))
	[[ -z $output ]]
}

## How we are started

@test "with SIGCHLD ignored redlock-run returns COMMAND's status and waits for its processes" {
	alone+=(env --ignore-signal=CHLD)
	how_it_ends "exit 7" sh -c 'exit 7'
	how_it_ends "signal 15" sh -c 'kill $$'
	how_it_ends "exit 8" sh -c "$later exit 8"
	[[ -s $end ]]
}

@test "with all signals blocked redlock-run returns COMMAND's status and can stop it" {
	alone+=(env --block-signal)
	how_it_ends "exit 7" sh -c 'exit 7'
	how_it_ends "signal 9" sh -c 'kill -KILL $$'
	begin redlock-run --max-run 0.2 --kill-after 0.2 \
	    -k a -- sleep 1000
	ends_with 124
}

@test "under nohup a hangup does not end COMMAND" {
	local log=$BATS_TEST_TMPDIR/log
	begin nohup redlock-run -k a -- witness "$log" "$(kill -l USR1)" 3
	eventually witness_ready "$log"
	kill -HUP "$pid"
	kill -USR1 "$pid"
	ends_with 3
	[[ $(witness_got "$log") == USR1 ]]
}

@test "as PID 1 of a namespace, which no signal kills, redlock-run exits with 128+N" {
	local proc name n
	namespaces
	ns+=(--pid --fork --kill-child)
	for proc in "" --mount-proc; do
		for name in TERM KILL INT SEGV PIPE RTMIN; do
			n=$(kill -l "$name")
			run "${ns[@]}" $proc redlock-run -k a -- \
			    sh -c "[ \$PPID = 1 ] && kill -$n \$\$" 3>&- 4>&-
			((status == 128 + n))
		done
		run "${ns[@]}" $proc redlock-run -k a -- \
		    sh -c "$later exit 8" 3>&- 4>&-
		((status == 8))
		rm "$end"
		run "${ns[@]}" $proc redlock-run --max-run 0.2 \
		    --kill-after 0.2 -k a -- sh -c 'trap "" TERM
			sleep 1000 & sleep 1000' 3>&- 4>&-
		((status == 124))
		free
	done
	run "${ns[@]}" --mount-proc redlock-run --max-run 0.2 --kill-after 0.2 \
	    -k a -- sh -c 'trap "" TERM
		bash -c "set -m; sleep 1000 & wait" & sleep 1000' 3>&- 4>&-
	((status == 124))
	free
}

# elsewhere COMMAND...: that starts redlock-run, whose children are in another
# namespace; nothing runs, and the history has no success.
elsewhere() {
	run --separate-stderr "$@" 3>&- 4>&-
	((status == 71))
	[[ -z $output && $stderr == *"'sh' was not run: "*"PID namespace"*"needs -f"* ]]
	free
	run redlock -k a --once-per 20h -- true
	((status == 0))
	redis_reset
}

@test "a COMMAND that would start in another PID namespace is not run: one line, 71, no success" {
	local -a run=(redlock-run -k a --once-per 20h -- sh -c 'echo ran')
	local inner
	namespaces
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0	# needs a thread
	elsewhere "${ns[@]}" --pid "${run[@]}"
	# The name needs a thread, which the kernel refuses as well.
	elsewhere "${ns[@]}" --pid env REDLOCK_REDIS=redis://localhost:1 "${run[@]}"
	# A sanitizer needs /proc.
	grep -q __asan_init "$REDLOCK_RUN" ||
		elsewhere "${ns[@]}" -m sh -c 'mount -t tmpfs none /proc &&
		    [ ! -e /proc/self ] && exec unshare --pid "$@"' \
		    sh "${run[@]}"
	# The namespace exists already.
	begin "${ns[@]}" --pid --fork sleep 1000
	eventually inner_process "$pid"
	inner=$(inner_process "$pid")
	((EUID != 0)) ||
		elsewhere nsenter --no-fork -t "$inner" --pid "${run[@]}"
	kill -KILL "$inner"
	eventually gone "$pid"
}

# inner_process PID: the sleep that its children have become.
inner_process() {
	local below=$1 next
	while next=$(pgrep -P "$below"); do
		below=$next
	done
	[[ $(<"/proc/$below/comm") == sleep ]] && echo "$below"
}

@test "without /proc redlock-run returns COMMAND's status, waits for its processes and stops them" {
	local -a bare
	needs_no_sanitizer	# it needs /proc
	namespaces
	bare=("${ns[@]}" -m sh -c 'mount -t tmpfs none /proc &&
	    [ ! -e /proc/self ] && exec "$@" 3>&- 4>&-' sh)
	run "${bare[@]}" redlock-run -k a -- sh -c 'exit 7'
	((status == 7))
	run "${bare[@]}" redlock-run -k a -- sh -c 'kill $$'
	((status == 143))
	run "${bare[@]}" redlock-run -k a -- sh -c "$later exit 8"
	((status == 8))
	[[ -s $end ]]
	run "${bare[@]}" redlock-run -v -k a -- sh -c '{
		while kill -0 $$ 2>/dev/null; do :; done
		kill $REDLOCK_PID; exec sleep 1000; } & exit 3'
	((status == 3))
	[[ $output == *'signal 15 (Terminated) passed on to sh'* ]]
	run "${bare[@]}" redlock-run --max-run 0.2 --kill-after 0.2 -k a -- \
	    sh -c 'trap "" TERM; sleep 1000 & sleep 1000'
	((status == 124))
	run "${bare[@]}" redlock-run --max-run 0.2 -k a -- sh -c 'sleep 1000 & exit 3'
	((status == 124))
	needs_loader
	compile unwaited "$BATS_FILE_TMPDIR/unwaited.so" -shared -fPIC
	run "${bare[@]}" env UNWAITED=12 LD_PRELOAD="$BATS_FILE_TMPDIR/unwaited.so" \
	    redlock-run -k a -- env -u LD_PRELOAD sh -c 'exit 3'
	((status == 3))
	free
}

@test "children inherited before COMMAND started get no signal and delay nothing" {
	local log=$BATS_TEST_TMPDIR/log
	begin sh -c 'witness "$1" & shift; exec "$@"' sh "$log" \
	    redlock-run -k a -- true
	eventually witness_ready "$log"
	ends_with 0
	free
	not gone "$(witness_pid "$log")"
	[[ -z $(witness_got "$log") ]]
	kill -KILL "$(witness_pid "$log")"

	begin sh -c 'witness "$1" & until [ -s "$1" ]; do sleep 0.02; done
	    shift; exec "$@"' sh "$log.2" redlock-run --max-run 0.2 \
	    --kill-after 0.2 -k a -- sh -c 'trap "" TERM; sleep 1000 & wait; wait'
	ends_with 124
	not gone "$(witness_pid "$log.2")"
	[[ -z $(witness_got "$log.2") ]]
	kill -KILL "$(witness_pid "$log.2")"
}

@test "the status of a child inherited before COMMAND started is not COMMAND's" {
	run with_child 'exit 9' sh -c 'sleep 0.3; exit 3'
	((status == 3))
	run with_child 'sleep 0.1; exit 9' sh -c 'sleep 0.3; exit 3'
	((status == 3))
	run with_child 'sleep 0.1; kill -KILL $$' true
	((status == 0))
}

@test "children inherited before COMMAND started do not hide COMMAND's own processes" {
	run with_child 'exec sleep 0.2' bash -c "set -m; $later exit 3"
	((status == 3))
	[[ -s $end ]]
}

@test "an inherited grandchild that is reparented to redlock-run gets no signal and delays nothing" {
	local log=$BATS_TEST_TMPDIR/log
	with_child "witness '$log' & sleep 0.2" \
	    sh -c "until [ -s '$log' ]; do sleep 0.02; done; sleep 0.4"
	free
	not gone "$(witness_pid "$log")"
	[[ -z $(witness_got "$log") ]]
	kill -KILL "$(witness_pid "$log")"

	begin sh -c 'sh -c "witness $1 & sleep 0.2" &
	    until [ -s "$1" ]; do sleep 0.02; done; shift; exec "$@"' \
	    sh "$log.2" redlock-run --max-run 0.5 --kill-after 0.2 -k a -- \
	    sh -c 'trap "" TERM; sleep 1000 & wait; wait'
	ends_with 124
	not gone "$(witness_pid "$log.2")"
	[[ -z $(witness_got "$log.2") ]]
	kill -KILL "$(witness_pid "$log.2")"
}

## Standard streams of redlock-run

@test "redlock-run's standard input does not hold up the pipeline once COMMAND runs" {
	local gone=$BATS_TEST_TMPDIR/gone
	{ yes 2>/dev/null || true; : >"$gone"; } | redlock-run -k a -- sh -c "
	    head -n 1 >/dev/null; exec <&-
	    for i in $(seq -s ' ' 500); do
		[ ! -e '$gone' ] || exit 0; sleep 0.02
	    done; exit 1" 3>&- 4>&-
}

@test "redlock-run's standard output does not hold up the pipeline once COMMAND runs" {
	local ended=$BATS_TEST_TMPDIR/ended
	redlock-run -k a -- sh -c "exec >&-
	    for i in $(seq -s ' ' 500); do
		[ ! -e '$ended' ] || exit 6; sleep 0.02
	    done; exit 1" 3>&- 4>&- | {
		cat
		: >"$ended"
	}
	((PIPESTATUS[0] == 6))
}

@test "a reader of standard error that has gone away does not end redlock-run" {
	local status=0 pipe=$BATS_TEST_TMPDIR/pipe
	mkfifo "$pipe"
	: <"$pipe" &
	exec 8>"$pipe"
	wait $!
	redlock -v -k a -- sh -c 'exit 6' 2>&8 8>&- || status=$?
	((status == 6))
	free
	status=0
	redlock -v --max-run 0.1 -k a -- sleep 1000 2>&8 8>&- || status=$?
	((status == 124))
	exec 8>&-
	free
}

@test "a reader of standard error that does not read does not block redlock-run" {
	local pipe=$BATS_TEST_TMPDIR/pipe log=$BATS_TEST_TMPDIR/log
	mkfifo "$pipe"
	exec 8<>"$pipe"
	dd if=/dev/zero of="$pipe" oflag=nonblock bs=4096 2>/dev/null || true
	dd if=/dev/zero of="$pipe" oflag=nonblock bs=1 2>/dev/null || true
	begin sh -c 'exec "$@" 2>&8 8>&-' sh redlock-run -v -t 3s --node-timeout 1s \
	    -k a -- witness "$log" "$(kill -l TERM)" 5
	eventually witness_ready "$log" || kill -KILL "$pid"
	kill -USR1 "$pid"
	eventually witness_has_got "$log" USR1 || kill -KILL "$pid"
	redis flushall
	eventually gone "$pid" || kill -KILL "$pid"
	exec 8>&-
	ends_with 79
	[[ $(witness_got "$log") == "USR1 CONT TERM" || $(witness_got "$log") == "USR1 TERM" ]]
}
