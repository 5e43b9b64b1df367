#!/usr/bin/env bats
# No failure inside redlock-run, of memory or of the operating system, runs
# COMMAND without the lock or leaves a lock for longer than its lease.
# shellcheck disable=SC2154,SC2016
# bats file_tags=long

load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	# COMMAND: writes whether this run holds the lock, and for `renewed` does
	# so until the lease has been prolonged.
	cat >"$BATS_FILE_TMPDIR/holder" <<-END
		#!/bin/sh
		unset LD_PRELOAD
		left_ms() {
			$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" \\
			    pttl "redlock:\$REDLOCK_KEY"
		}
		value=\$($ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" \\
		    get "redlock:\$REDLOCK_KEY")
		echo "pid \$\$" >>"\$1"
		case \$value in
		*" token=\$REDLOCK_TOKEN "*) ;;
		*) echo "not held: \$value" >>"\$1" ;;
		esac
		if [ "\$2" = renewed ]; then
			last=\$(left_ms)
			while now=\$(left_ms) && [ "\$now" -le "\$last" ]; do
				[ "\$now" -gt 0 ] || exit 1
				last=\$now
				sleep 0.2
			done
		fi
		exit 7
	END
	chmod a+x "$BATS_FILE_TMPDIR/holder"
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	ulimit -c 0
	: >wrong
	: >ended
	# With --coverage: a profile that cannot be read is overwritten, so these
	# runs must not write to the profile of all the others.
	export GCOV_PREFIX=$BATS_TEST_TMPDIR/profile
}

teardown() { nothing_left; }

teardown_file() { redis_stop_all; }

# inject_wrong NAME WORD...: something that must not be, for the end of the
# test.
inject_wrong() {
	echo "$*; it said: $(cat "$1.err")" >>wrong
}

# judge NAME STATUS: checks the state after the run for the lock NAME.
judge() {
	local ms name=$1 pid
	case $2 in
	7)	[[ -e $name.ran ]] || inject_wrong "$name" "status 7 without COMMAND" ;;
	64 | 69 | 71)
		[[ ! -e $name.ran ]] || inject_wrong "$name" "status $2 after COMMAND"
		grep -q 'not run' "$name.err" ||
			grep -qx 'redlock-run: .*' "$name.err" ||
			inject_wrong "$name" "status $2 without a reason" ;;
	*)	inject_wrong "$name" "status $2" ;;
	esac
	! grep -q '(null)' "$name.err" || inject_wrong "$name" "message without a name"
	if [[ -e $name.ran ]]; then
		! grep -qv ^pid "$name.ran" ||
			inject_wrong "$name" "COMMAND: $(tr '\n' ' ' <"$name.ran")"
		read -r _ pid <"$name.ran"
		eventually 10 gone "$pid" || inject_wrong "$name" "COMMAND runs on"
	fi
	ms=$(redis pttl "redlock:$name")
	if ((ms != -2)); then
		((ms > 0 && ms <= 9000)) || inject_wrong "$name" "left for $ms ms"
		(($2 > 128)) || grep -q 'ends with its lease' "$name.err" ||
			inject_wrong "$name" "left behind by status $2"
	fi
}

# try NAME WAY WRAPPER...: a run for the lock NAME, started by WRAPPER.
try() {
	local name=$1 way=$2 got=0
	shift 2
	"${limited[@]}" "$@" "$REDLOCK_RUN" -k "$name" -t 9s --kill-after 100ms -- \
	    "$BATS_FILE_TMPDIR/holder" "$PWD/$name.ran" "$way" \
	    >/dev/null 2>"$name.err" || got=$?
	judge "$name" "$got"
	echo "$name $got" >>ended
}

# spawn NAME WAY WRAPPER...: the same in the background, a few at a time.
spawn() {
	local width=4
	[[ $2 != renewed ]] || width=24
	while (($(jobs -pr | wc -l) >= width)); do
		wait -n || true
	done
	try "$@" 3>&- 4>&- &
}

# nothing_wrong LEAST: all has ended, and so many cases there were at least.
nothing_wrong() {
	wait
	cat wrong
	[ ! -s wrong ]
	[ "$(wc -l <ended)" -ge "$1" ]
}

# no_malloc N NAME WAY: allocation N fails.
no_malloc() {
	spawn "$2" "$3" env NOMALLOC="$1" NOMALLOC_LOG="$PWD/$2.log" \
	    LD_PRELOAD="$PWD/nomalloc.so"
}

# each_malloc WAY: each allocation of a run fails once.
each_malloc() {
	local n
	needs_no_sanitizer	# it has its own malloc
	needs_loader
	compile nomalloc nomalloc.so -shared -fPIC
	no_malloc 0 all "$1"
	wait
	nothing_wrong 1
	for ((n = 1; n <= $(tail -n 1 all.log); n++)); do
		no_malloc "$n" "n$n" "$1"
	done
	nothing_wrong 30
	[ "$(cat n*.log | grep -c failed)" -ge 30 ]
}

@test "COMMAND runs under the lock or not at all, whichever allocation of the run fails" {
	each_malloc plain
}

@test "a run keeps its lock, whichever allocation fails during a renewal" {
	each_malloc renewed
}

# traced NAME WAY: a run under strace; its system calls are in NAME.calls.
traced() {
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0	# needs ptrace
	needs strace
	strace -o /dev/null true 2>/dev/null || skip "needs ptrace"
	try "$1" "$2" strace -o "$1.calls"
}

# inject_calls FILE FIRST: from the first line on that begins with FIRST, what
# the system calls are, each with its number among those of its name.  Some
# cannot fail; those for memory are malloc's, and glibc crashes if its first brk
# fails. glibc 2.41 blocks all signals by itself, and does not look whether it
# could.
inject_calls() {
	awk -F '(' -v first="$2" '
	index($0, first) == 1 { on = 1 }
	/^[a-z]/ && ++n[$1] && on &&
	    !/^(exit_group|rt_sigreturn|get[a-z]*id|m(un)?map|brk)\(/ &&
	    !/^rt_sigprocmask\(SIG_BLOCK, ~\[\]/ &&
	    !(/^rt_sigaction/ && n[$1] > 3) { print $1, n[$1] }' "$1"
}

# no_call NAME WAY CALL N: the Nth system call of that name fails.
no_call() {
	spawn "$1" "$2" strace -qq -o /dev/null -e "trace=$3" \
	    -e "inject=$3:error=ENOMEM:when=$4"
}

# each_call WAY FIRST: each system call from FIRST on fails once.
each_call() {
	local call n
	traced all "$1"
	nothing_wrong 1
	while read -r call n; do
		no_call "$call-$n" "$1" "$call" "$n"
	done < <(inject_calls all.calls "$2")
	nothing_wrong 20
}

@test "COMMAND runs under the lock or not at all, whichever system call of the run fails" {
	each_call plain 'fcntl(0, F_GETFD)'
}

@test "a run keeps its lock, whichever system call fails during a renewal" {
	each_call renewed 'vfork()'
}

@test "a system call that a seccomp filter refuses is named" {
	local call
	compile_once denied
	# The search for leaks needs these calls itself.
	export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0
	for call in clone connect pipe2 poll prctl socket timerfd_create; do
		run --separate-stderr "$compiled/denied" "$call" \
		    "$REDLOCK_RUN" -k "$call" -t 1s -- true
		((status != 99))
		# The guard of a short run comes too late to be missed.
		[[ $call != clone ]] ||
			run --separate-stderr "$compiled/denied" clone \
			    "$REDLOCK_RUN" -k clone -- sleep 0.3
		[[ $stderr == *"${call%_create}"*': Operation not permitted'* ]] || {
			echo "$call: $stderr" >&2
			return 1
		}
		[[ $call != prctl || $stderr == *'cannot adopt orphaned processes: prctl: '* ]]
	done
}
