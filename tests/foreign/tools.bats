#!/usr/bin/env bats
# bats file_tags=timing
#
# Promises from the test suites of flock(1), timeout(1), tini and dumb-init that
# our manual makes as well and no other file tests.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2034,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	helpers_install witness
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	log=$BATS_TEST_TMPDIR/log
	export -f gone not eventually process_in_state
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

dialogue() {
	"$top/tests/helpers/pty" 3>&- 4>&-
}

## flock(1)

@test "while readers hold the lock, -n -E 123 gives 123, -s runs, and -w runs once they have ended" {
	hold a -s
	run -123 --separate-stderr redlock -q -k a -n -E 123 -- touch never
	silent
	run -0 redlock -k a -s -n -E 123 -- echo shared
	[[ $output == shared ]]
	redlock_bg -k a -w 20 -E 5 -- sh -c 'cat "$1" >seen' sh \
	    "$BATS_TEST_TMPDIR/let-go"
	eventually queue_is 1
	echo over >"$BATS_TEST_TMPDIR/over"
	mv "$BATS_TEST_TMPDIR/over" "$BATS_TEST_TMPDIR/let-go"
	redlock_ended 0
	[[ $(<seen) == over && ! -e never ]]
}

## timeout(1)

@test "--max-run 0, inf and 100000d stop nothing" {
	local limit
	for limit in 0 inf 100000d; do
		run -3 --separate-stderr redlock -k a --max-run $limit -- \
		    sh -c 'sleep 0.2; exit 3'
		silent
	done
}

@test "a signal goes through two runs to the inner COMMAND, whose status comes back" {
	begin redlock-run -k a -- redlock-run -k b -- bash -c '
	    trap "exit 7" INT; echo ready; while :; do sleep 0.02; done'
	eventually lines 1
	kill -INT "$pid"
	ends_with 7
	free a b
}

@test "--max-run of the outer run stops the inner run's COMMAND, and both locks are free" {
	begin redlock-run -k a --max-run 1s --kill-after 20s -- \
	    redlock-run -k b --max-run 60s -- witness "$log" "$(kill -l TERM)" 0
	eventually witness_ready "$log"
	ends_with 124
	[[ $(witness_got "$log") == TERM ]]
	free a b
}

## dumb-init, tini

# redlock-run handles signals about children and the terminal itself.  32 and 33
# belong to libc; 9 and 19 cannot be handled.
own_signals=(17 20 21 22)
others_signals=({1..8} {10..16} 18 {23..31} {34..64})

@test "whichever signal is sent, redlock-run neither ends nor stops while COMMAND runs" {
	local n end
	local -a got
	end=$(kill -l RTMAX)
	begin redlock-run -k a -- witness "$log" "$end" 6
	eventually witness_ready "$log"
	# A stop that is pending would take back a SIGCONT, so it is first.
	for n in "${own_signals[@]}" "${others_signals[@]}"; do
		kill -"$n" "$pid"
	done
	ends_with 6
	free
	mapfile -t got < <(awk '$1 != "ready" { print $1 }' "$log" | sort -n)
	[[ ${got[*]} == "${others_signals[*]}" ]]
}

@test "SIGTSTP, SIGTTIN and SIGTTOU for redlock-run leave COMMAND, its lock and its renewals alone" {
	local name last
	begin redlock-run -k a -t 1s -- witness "$log" "$(kill -l TERM)" 6
	eventually witness_ready "$log"
	for name in TSTP TTIN TTOU; do
		kill -s "$name" "$pid"
		last=$(expiry redlock:a)
		eventually lease_later_than "$last"
		not process_in_state "$pid" T
		not process_in_state "$(witness_pid "$log")" T
	done
	kill -TERM "$pid"
	ends_with 6
	[[ $(witness_got "$log") == TERM ]]
}

@test "a SIGTERM ends every process of pipelines that COMMAND's shell has in the background" {
	local -a all
	begin redlock-run -k a -- sh -c '
	    sleep 1000 | tail & sleep 1000 | tail & sleep 1000 | tail'
	eventually eval '(($(pgrep -cx "sleep|tail" -s "$pid") == 6))'
	mapfile -t all < <(pgrep -s "$pid")
	kill -TERM "$pid"
	ends_with 143
	eventually all_gone "${all[@]}"
	free
}

@test "a signal that COMMAND ignores still ends what COMMAND waits for" {
	begin redlock-run -k a -- bash -c '
	    (echo ready; exec sleep 1000) & trap "" USR1; wait; exit 8'
	eventually lines 1
	eventually eval 'grep -q "^SigIgn:.*[2367abef]..$" /proc/$(pgrep -P "$pid" bash)/status'
	kill -USR1 "$pid"
	ends_with 8
}

@test "at a terminal COMMAND reads up to ^D, and its output comes after" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'touch there; exec tac'
		until test -e there
		type one
		type two
		press ^D
		see two\s+one
		see @@
		type echo "status $?"
		see status 0
	END
	free
}

@test "a shell under redlock-run has job control of its own" {
	dialogue <<-'END'
		type PS1='## ' redlock-run -k a -- bash --norc --noprofile -i
		see ##
		type echo "flags <$->"
		see flags <[a-zA-Z]*m[a-zA-Z]*>
		type sh -c 'echo $$ >job; exec sleep 1000'
		until test -s job
		press ^Z
		see Stopped
		see ##
		check process_in_state $(cat job) T
		type echo goes on
		see goes on
		type kill %1; fg
		see Terminated
		type exit 5
		see @@
		type echo "status $?"
		see status 5
	END
	free
}
