#!/usr/bin/env bats
#
# The line that a run at a terminal draws while it waits; tests/helpers/vt.py
# records the screen.
#
# shellcheck disable=SC2016,SC2086,SC2154

load ../lib/one_redis
load ../lib/process
load ../lib/queue
load ../lib/faults

setup() {
	redis_reset
	waiters_setup
	export -f redis gone eventually not process_in_state held
	export BATS_FILE_TMPDIR
	unset NO_COLOR
	PATH=$(dirname "$REDLOCK_RUN"):$PATH
	redlock -k a -- sh -c 'until test -e over; do sleep 0.02; done' &
	holder=$!
	eventually held a
}

teardown() {
	touch over
	wait "$holder"
	nothing_left
}

# progress_dialogue: the steps on standard input, at a terminal; $wait in them
# is a run that waits for the lock.  The dialogue ends after the last run: a
# terminal that closes earlier sends SIGHUP to it.
progress_dialogue() {
	{
		sed 's/\$wait/TERM=xterm redlock-run -k a -w/'
		echo 'type echo "end $?"'
		echo 'see end \d'
	} | "$top/tests/helpers/pty" 3>&- 4>&-
}

@test "a wait at a terminal is one line, drawn anew each second and erased at the end" {
	progress_dialogue <<-'END'
		type $wait 5m -- echo inside
		shows ^a: 1st of 1, giving up in 4m5\ds; behind [^ ]+@[^ ]+ for \d+s \(sh\)$
		shows giving up in 4m5[0-7]s;
		shows giving up in 4m5[0-5]s;
		check touch over
		see inside
		hides behind
		shows ^redlock-run: a: acquired after \d+s$\n^inside$
	END
}

@test "the line of a wait with --latest says that a later run ends it" {
	progress_dialogue <<-'END'
		type $wait 5m --latest -- echo inside
		shows ^a: 1st of 1, giving up in 4m5\ds or for a later run; behind [^ ]+@[^ ]+ for \d+s \(sh\)$
		check touch over
		see inside
		hides behind
	END
}

@test "a wait at a terminal that is over within a second draws nothing" {
	progress_dialogue <<-'END'
		type $wait 300ms -- echo inside
		see held by
		see @@
		unseen behind
		check touch over
		type $wait 300ms -- echo inside
		see inside
		unseen acquired|behind
	END
}

@test "a grant that has passed before COMMAND starts is not reported as acquired" {
	local preload
	preload erased
	export preload
	progress_dialogue <<-'END'
		type LD_PRELOAD=$preload $wait inf -t 1s -- env -u LD_PRELOAD echo inside
		shows ^a: 1st of 1; behind
		check touch over
		see Stopped
		see @@
		until not held
		type fg
		see inside
		shows acquired after \d+s$
		hides acquired after[\s\S]*acquired after
	END
}

@test "the line is gone before the first byte of COMMAND" {
	progress_dialogue <<-'END'
		type $wait inf -- printf %s first
		shows ^a: 1st of 1; behind
		unseen giving up
		check touch over
		see acquired after \d+s\r\nfirst
		shows ^first@@
		hides behind
	END
}

@test "the line has our place in the queue, and how long the last success took" {
	redlock -k b -- true
	redlock -k b -- sleep 0.4
	redlock -k b -- sh -c 'until test -e over; do sleep 0.02; done' &
	eventually held b
	redlock -q -k b -w inf -- true &
	eventually eval '[ "$(redis zcard "{redlock:b}:~queue")" = 1 ]'
	progress_dialogue <<-'END'
		type TERM=xterm redlock-run -k b -w inf -- echo inside
		shows ^b: 2nd of 2; behind [^ ]+@[^ ]+ for \d+s, last took [4-9]\d\dms \(sh\)$
		check touch over
		see inside
	END
	wait
}

@test "the line says what keeps us waiting: another program, a cooldown, other waiters, servers" {
	redis set redlock:b "$(printf 'some\033body')" px 600000
	redlock -k c --min-hold 10m -- true
	redlock -q -k a -w inf -- true &
	redlock -q -k a -w inf -- true &
	eventually eval '[ "$(redis zcard "{redlock:a}:~queue")" = 2 ]'
	progress_dialogue <<-'END'
		type TERM=xterm redlock-run -k b -w inf -- true
		shows ^b: 1st of 1; behind another client \(some\\x1bbody\)$
		press ^C
		see @@
		type TERM=xterm redlock-run -k c -w inf -- true
		shows ^c: 1st of 1; in cooldown for another 9m\d+s \(--min-hold\) after [^ ]+@[^ ]+ \(true\)$
		press ^C
		see @@
		type TERM=xterm redlock-run -r unix:///nowhere -k d -w 5m -- true
		shows ^d: giving up in 4m\d+s; waiting for the servers: unix:///nowhere: No such file or directory$
		press ^C
		see @@
		type $wait inf -- echo inside
		shows ^a: 3rd of 3; behind [^ ]+@[^ ]+ for \d+s \(sh\)
		check touch over
		see inside
	END
	wait
	redis del redlock:b redlock:c
}

@test "the line says if only the waiters before us keep us waiting" {
	redis set redlock:b somebody px 600000
	redlock_bg -k b -w inf -- true
	eventually eval '[ "$(redis zcard "{redlock:b}:~queue")" = 1 ]'
	kill -STOP "$bg_pid"
	redis del redlock:b
	first=$bg_pid progress_dialogue <<-'END'
		type TERM=xterm redlock-run -k b -w inf -- echo inside
		shows ^b: 2nd of 2; waiting for our turn$
		check kill -CONT $first
		see inside
	END
	redlock_ended 0
}

@test "without a success the line does not say how long a run takes" {
	redlock -k b -- false || [ $? = 1 ]
	redlock -k b -- sh -c 'until test -e over; do sleep 0.02; done' &
	eventually held b
	progress_dialogue <<-'END'
		type TERM=xterm redlock-run -k b -w inf -- echo inside
		shows ^b: 1st of 1; behind [^ ]+@[^ ]+ for \d+s \(sh\)$
		check touch over
		see inside
	END
	wait
}

@test "with several servers the line says how long the last success took" {
	local dir=$BATS_FILE_TMPDIR
	local urls="-r unix://$dir/redis.sock -r unix://$dir/s2.sock"
	urls+=" -r unix://$dir/s3.sock"
	redis_start s2
	redis_start s3
	redlock $urls --restart-grace 0 -k b -- sleep 0.4
	redlock $urls --restart-grace 0 -k b -- \
	    sh -c 'until test -e over; do sleep 0.02; done' &
	eventually held b
	urls=$urls progress_dialogue <<-'END'
		type TERM=xterm redlock-run $urls --restart-grace 0 -k b -w inf -- echo inside
		shows ^b: 1st of 1; behind [^ ]+@[^ ]+ for \d+s, last took [4-9]\d\dms \(sh\)$
		check touch over
		see inside
	END
	wait
	redis_kill s2
	redis_kill s3
}

@test "the line has the message of the holder, escaped" {
	redlock -k b -m $'see\x1b[31m #12' -- \
	    sh -c 'until test -e over; do sleep 0.02; done' &
	eventually held b
	progress_dialogue <<-'END'
		type TERM=xterm redlock-run -k b -w inf -- echo inside
		shows ^b: 1st of 1; behind [^ ]+@[^ ]+ for \d+s \(sh: see\\x1b\[31m #12\)$
		check touch over
		see inside
	END
	wait
}

@test "a line that is too long for the terminal is cut, also after a resize" {
	echo 'TERM=xterm exec redlock-run -k a -w inf -- echo inside' >it
	progress_dialogue <<-'END'
		resize 24 40
		type sh it
		shows ^a: 1st of 1; behind .{18}>$
		resize 24 200
		shows ^a: 1st of 1; behind [^ ]+@[^ ]+ for \d+s \(sh\)$
		resize 24 40
		shows ^a: 1st of 1; behind .{18}>$
		check touch over
		see inside
		see @@
		hides behind
	END
}

@test "^C while waiting erases the line and leaves nothing behind" {
	progress_dialogue <<-'END'
		type $wait inf -- touch started
		shows ^a: 1st of 1; behind
		press ^C
		see @@
		hides behind
		type echo "status $?"
		see status 130
		check not test -e started
	END
	[ "$(redis exists "$queue")" = 0 ]
}

@test "^Z while waiting stops us without the line; fg draws it again" {
	progress_dialogue <<-'END'
		type $wait inf -- echo inside
		shows ^a: 1st of 1; behind
		press ^Z
		see Stopped
		hides behind
		type fg
		shows ^a: 1st of 1; behind
		check touch over
		see inside
		hides behind
	END
}

@test "nothing is drawn in the background; there a wait is lines" {
	progress_dialogue <<-'END'
		type $wait inf -- touch inside &
		see redlock-run: a: waiting for
		unseen behind
		check touch over
		until test -e inside
		see acquired after
	END
}

@test "with standard output elsewhere the line is drawn on standard error" {
	progress_dialogue <<-'END'
		type $wait inf -- echo inside >out
		shows ^a: 1st of 1; behind
		check touch over
		until grep -qx inside out
		see acquired after
		hides behind
	END
}

@test "-q, --log syslog, TERM=dumb and a pipe: no line is drawn" {
	progress_dialogue <<-'END'
		type redlock-run -q -k a -w 1200ms -- true; echo "s=$?"
		see s=75
		type redlock-run -k a -w 1200ms --log syslog -- true; echo "s=$?"
		see s=75
		type TERM=dumb redlock-run -k a -w 1200ms -- true; echo "s=$?"
		see redlock-run: a: waiting for .*\n.*redlock-run: a: gave up after 1s: held by
		see s=75
		type redlock-run -k a -w 1200ms -- true 2>&1 | cat; echo "s=$?"
		see redlock-run: a: waiting for .*\n.*redlock-run: a: gave up after 1s: held by
		see s=0
		unseen behind
		hides behind
	END
}

@test "NO_COLOR changes nothing: the line has no colours" {
	progress_dialogue <<-'END'
		type NO_COLOR=1 $wait inf -- echo inside
		shows ^a: 1st of 1; behind
		check touch over
		see inside
		see @@
		unseen \x1b\[[0-9;]*m
	END
}

@test "a terminal that takes nothing (^S) delays no run" {
	progress_dialogue <<-'END'
		type $wait inf -- touch inside
		shows ^a: 1st of 1; behind
		press ^S
		check touch over
		until test -e inside
		press ^Q
		see @@
	END
}
