#!/usr/bin/env bats
#
# At a terminal: an interactive bash, and somebody who types; tests/helpers/pty has
# the steps of a dialogue.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	helpers witness zoo
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	export -f gone not eventually has_got got held free redis redis_at \
	    witness_pid witness_group ready parent in_state redlock_pid has_guard
	export BATS_FILE_TMPDIR
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# has_guard PID: so has the redlock-run that is PID.
has_guard() {
	ps --ppid "$1" -o pid=,sid= |
		awk '$1 == $2 { found = 1 } END { exit !found }'
}

# dialogue: the steps on standard input, at a terminal.
dialogue() {
	"$top/tests/helpers/pty" 3>&- 4>&-
}

# redlock_pid LOG: of the redlock-run whose COMMAND is the witness with LOG.
redlock_pid() {
	parent "$(witness_pid "$1")"
}

## The keyboard

@test "^C reaches COMMAND exactly once" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 7
		until ready log
		press ^C
		until has_got log INT
		check kill -s USR1 $(redlock_pid log)
		until has_got log USR1
		press ^\
		until has_got log QUIT
		check kill -s TERM $(redlock_pid log)
		see @@
		type echo "status $?"
		see status 7
	END
	[[ $(got log) == "INT USR1 QUIT TERM" ]]
	free
}

@test "^C ends COMMAND and us, and the shell sees it as without us" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'touch there; exec sleep 1000'
		until test -e there
		press ^C
		see @@
		type echo "status $?"
		see status 130
		see @@
		type while :; do redlock-run -k a -- sh -c 'touch loop; exec sleep 1000'; done
		until test -e loop
		press ^C
		see @@
		type echo "the loop has ended"
		see the loop has ended
	END
	free
}

@test "^C reaches each of COMMAND's processes once, also when COMMAND is gone" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'witness log 15 0 & exec witness command 15 5'
		until ready log && ready command
		press ^C
		until has_got log INT && has_got command INT
		check kill -s TERM $(redlock_pid command)
		# not only dead: redlock-run knows that it is
		until not test -e /proc/$(witness_pid command)
		press ^C
		until has_got log INT 2
		check kill -s USR1 $(redlock_pid log)
		until has_got log USR1
		check held
		check kill -s TERM $(redlock_pid log)
		see @@
		type echo "status $?"
		see status 5
	END
	[[ $(got log) == "INT INT USR1 TERM" ]]
	[[ $(got command) == "INT TERM" || $(got command) == "INT CHLD TERM" ]]
	free
}

@test "^C makes no daemon of a process whose parent it ends" {
	local command
	for command in "setsid -fw witness log 15 0" \
	    "sh -c 'setsid -fw witness log 15 0; :'" \
	    "sh -c 'trap \"exit 3\" INT; setsid -fw witness log 15 0; :'"; do
		dialogue <<-END
			type redlock-run -k a -- $command
			until ready log
			press ^C
			until grep redlock-run /proc/\$(parent \$(witness_pid log))/comm
			check sleep 0.3
			check held
			check not gone \$(witness_pid log)
			check kill -s TERM \$(witness_pid log)
			see @@
			type echo "it has ended"
			see it has ended
		END
		[[ $(got log) == TERM ]]
		free
		rm log
	done
}

@test "a COMMAND that begins a session of its own: a run inside it is no daemon" {
	dialogue <<-'END'
		type redlock-run -k a -- setsid sh -c 'redlock-run -k a -w 60 -- touch inside; :'
		see @@
		check test -e inside
		type redlock-run -k a -- setsid sh -c 'setsid -w redlock-run -k a -w 60 -- touch deeper; :'
		see @@
		check test -e deeper
	END
	free
}

@test "a window that changes its size reaches COMMAND once" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 0
		until ready log
		resize
		until has_got log WINCH
		check kill -s USR1 $(redlock_pid log)
		until has_got log USR1
		check kill -s TERM $(redlock_pid log)
		see @@
	END
	[[ $(got log) == "WINCH USR1 TERM" ]]
}

@test "^Z: when COMMAND stops, we stop, and say how long the lease lasts; fg continues both" {
	dialogue <<-'END'
		type redlock-run -t 300s -k a -- sh -c 'echo $$ >pid; read x; echo "got $x"; exit 7'
		until test -s pid
		press ^Z
		see redlock-run: .*(29[0-9]|4m5[0-9]|300|5m)
		see Stopped
		see @@
		check in_state $(cat pid) T && in_state $(parent $(cat pid)) T
		check held
		type fg
		until not in_state $(cat pid) T
		type some words
		see got some words
		see @@
		type echo "status $?"
		see status 7
	END
	free
}

@test "COMMAND may ignore ^Z; then we do not stop either" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'trap "" TSTP; touch there; read x; echo "got $x"; exit 7'
		until test -e there
		press ^Z
		blind more
		see got more
		see @@
		unseen Stopped
		type echo "status $?"
		see status 7
	END
}

@test "COMMAND that stops itself stops us, and continues with us" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'kill -STOP $$; echo "once"" more"; kill -STOP $$; exit 7'
		see Stopped
		see @@
		type fg
		see once more
		see Stopped
		see @@
		type fg
		see @@
		type echo "status $?"
		see status 7
	END
}

@test "COMMAND that stops again at once stops us again" {
	local stop='for i in 1 2 3 4 5; do kill -STOP $$; done; exit 7'
	{
		echo "type redlock-run -k a -- sh -c '$stop'"
		for _ in 1 2 3 4 5; do
			printf '%s\n' 'see Stopped' 'see @@' 'type fg'
		done
		printf '%s\n' 'see @@' 'type echo "status $?"' 'see status 7'
	} | dialogue
}

@test "^Z stops COMMAND's processes and us also when COMMAND is gone" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'sleep 1000 & echo $! >pid; echo $PPID >runner; exit 7'
		until test -s runner
		check sleep 0.2
		press ^Z
		see Stopped
		see @@
		until in_state $(cat pid) T
		type fg
		until not in_state $(cat pid) T
		check kill -KILL $(cat pid)
		see @@
		type echo "status $?"
		see status 7
	END
	free
}

@test "after fg, a lease that ran out meanwhile is a loss within 50 ms" {
	in_time 50 lost_after_fg
}

lost_after_fg() {
	rm -f pid after
	dialogue <<-'END'
		type redlock-run -t 2s --node-timeout 1s -k a -- sh -c 'echo $$ >pid; exec sleep 1000'
		until test -s pid
		press ^Z
		see Stopped
		see @@
		until free
		until gone $(cat pid)
		type us=$EPOCHREALTIME; fg; echo "$? $(((${EPOCHREALTIME/./} - ${us/./}) / 1000))" >after
		see @@
	END
	read -r status ms <after
	((status == 79))
}

@test "a stop that is shorter than the lease loses nothing" {
	dialogue <<-'END'
		type redlock-run -t 30s -k a -- witness log 15 7
		until ready log
		check kill -STOP $(witness_pid log)
		see Stopped
		see @@
		type fg
		until not in_state $(witness_pid log) T
		check kill -s TERM $(redlock_pid log)
		see @@
		type echo "status $?"
		see status 7
	END
	free
}

@test "in the background COMMAND runs on, and stops when it reads the terminal; fg lets it read" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $$ >pid; read x; echo "got $x"; exit 7' &
		see @@
		until test -s pid && in_state $(cat pid) T && in_state $(parent $(cat pid)) T
		press ^M
		see Stopped
		see @@
		type fg
		until not in_state $(cat pid) T
		type from here
		see got from here
		see @@
		type echo "status $?"
		see status 7
	END
}

@test "in the background ^C does not reach it; kill %1 does" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 7 &
		see @@
		until ready log
		press ^C
		see @@
		type kill -USR2 %1
		until has_got log USR2
		type kill %1; wait %1; echo "status $?"
		see status 7
	END
	not has_got log INT
	free
}

@test "bg after ^Z continues COMMAND in the background" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'trap "exit 7" USR1; echo $$ >pid; mkfifo end; read end <end'
		until test -p end
		press ^Z
		see Stopped
		see @@
		type bg
		until not in_state $(cat pid) T && not in_state $(parent $(cat pid)) T
		type kill -USR1 $(cat pid); wait %1; echo "status $?"
		see status 7
	END
	free
}

@test "a job that is stopped can be killed" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $$ >pid; exec sleep 1000'
		until test -s pid
		press ^Z
		see Stopped
		see @@
		type kill %1
		until gone $(cat pid) && free
		press ^M
		see Terminated
	END
	gone "$(<pid)"
	free
}

## The terminal is COMMAND's

@test "with a terminal COMMAND stays in our process group" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 0
		until ready log
		check [[ $(witness_group log) == $(redlock_pid log) ]]
		check [[ $(ps -o tpgid= -p $(witness_pid log)) -eq $(redlock_pid log) ]]
		check kill -s TERM $(redlock_pid log)
		see @@
	END
}

@test "a pager at the end of a pipeline gets its keys" {
	pager
	dialogue <<-'END'
		type redlock-run -k a -- seq 3 | ./pager; echo "status ${PIPESTATUS[*]}"
		see 3 lines
		press q
		see key q
		see status 0 0
		see @@
		type seq 4 | redlock-run -k a -- ./pager; echo "status $?"
		see 4 lines
		press x
		see key x
		see status 0
	END
	free
}

# pager: makes a program that reads its input to the end, and then a key.
pager() {
	cat >pager <<-'END'
		#!/bin/sh
		lines=$(wc -l)
		old=$(stty -g </dev/tty)
		stty -icanon -echo </dev/tty
		echo "$lines lines"
		key=$(dd bs=1 count=1 </dev/tty 2>/dev/null)
		stty "$old" </dev/tty
		echo "key $key"
	END
	chmod +x pager
}

@test "a prompt for a password works, also with input and output elsewhere" {
	cat >login <<-'END'
		#!/bin/sh
		stty -echo </dev/tty
		printf 'Password: ' >/dev/tty
		read -r word </dev/tty
		stty echo </dev/tty
		echo "$word"
	END
	chmod +x login
	dialogue <<-'END'
		type redlock-run -k a -- ./login </dev/null >word
		see Password:
		blind se cret
		see @@
		unseen se cret
		type echo "status $?"
		see status 0
	END
	[[ $(<word) == "se cret" ]]
}

## Others on the terminal

@test "the shell or pipeline that called us gets no signal from us" {
	local end
	cat >script <<-'END'
		witness left 15 0 &
		redlock-run -t 3s --node-timeout 1s $options --kill-after 0.1 -k a -- witness log 10 7
		echo "then $?" >after
		kill $!
		wait
	END
	for end in "check kill -s USR1 \$(redlock_pid log)" \
	    "check redis flushall" \
	    "check kill -s KILL \$(redlock_pid log)" \
	    "until gone \$(witness_pid log)"; do
		rm -f log left right after
		options=
		[[ $end != until* ]] || options="--at-most 1.5"
		export options
		dialogue <<-END
			type sh script | witness right 15 0; echo "end \${PIPESTATUS[*]}" | cat after -
			until ready log && ready left && ready right
			$end
			until test -s after
			check kill \$(witness_pid right)
			see then (7|79|137|124)
			see end 0 0
		END
		[[ $(got left) == TERM ]]
		[[ $(got right) == TERM ]]
		gone "$(witness_pid log)"
		redis del redlock:a
	done
}

@test "a signal from elsewhere goes to COMMAND alone where the group is shared" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'witness child 15 0 & exec witness log 10 7' | witness right 15 0
		until ready log && ready child && ready right
		check kill -s HUP $(redlock_pid log)
		until has_got log HUP
		check kill -s USR1 $(redlock_pid log)
		until gone $(witness_pid log)
		check kill $(witness_pid child) $(witness_pid right)
		see @@
	END
	[[ $(got log) == "HUP USR1" ]]
	[[ $(got child) == TERM ]]
	[[ $(got right) == TERM ]]
	free
}

@test "where the group is shared SIGTERM goes to each of COMMAND's processes" {
	dialogue <<-'END'
		type redlock-run --at-most 1.5 --kill-after 0.5 -k a -- sh -c 'witness child & exec witness log'
		see @@
		type echo "status $?"
		see status 124
	END
	has_got log TERM 1
	has_got child TERM 1
	gone "$(witness_pid log)"
	gone "$(witness_pid child)"
	free
}

@test "at a terminal SIGKILL reaches COMMAND's processes in every group and session" {
	dialogue <<-'END'
		type redlock-run --at-most 3 --kill-after 0.2 -k a -- zoo >pids
		see @@
		type echo "status $?"
		see status 124
	END
	# shellcheck disable=SC2046
	all_gone $(<pids)
	(($(wc -l <pids) == 10))
	free
}

@test "at a terminal, too, COMMAND's processes die with redlock-run, and nobody else" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $PPID >runner; exec zoo near marked' | cat >pids; echo "status ${PIPESTATUS[*]}"
		until [[ $(wc -l <pids) == 5 ]]
		until has_guard $(cat runner)
		check kill -KILL $(cat runner)
		see status 137 0
	END
	# shellcheck disable=SC2046
	eventually all_gone $(<pids)
}

@test "COMMAND that is stopped is stopped for good by --at-most" {
	dialogue <<-'END'
		type redlock-run --at-most 1.5 --kill-after 0.2 -k a -- sh -c 'echo $$ >pid; exec sleep 1000' &
		see @@
		until test -s pid
		check kill -STOP $(cat pid)
		until in_state $(parent $(cat pid)) T || gone $(cat pid)
		check sleep 1.5
		type fg; echo "status $?"
		see status 124
	END
	gone "$(<pid)"
	free
}

## The line drops

@test "a terminal that hangs up ends COMMAND, and the lock is free" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $$ >pid; exec sleep 1000'
		until test -s pid
		hangup
	END
	eventually gone "$(<pid)"
	eventually free
	eventually nothing_marked
}

@test "a terminal that hangs up ends COMMAND that is stopped, too" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $$ >pid; exec sleep 1000'
		until test -s pid
		press ^Z
		see Stopped
		see @@
		hangup
	END
	eventually gone "$(<pid)"
	eventually free
	eventually nothing_marked
}

@test "a terminal that hangs up is a SIGHUP for COMMAND" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log
		until ready log
		hangup
		until has_got log HUP
		check kill -s KILL $(witness_pid log)
	END
	eventually free
}

@test "nohup: the terminal hangs up, COMMAND runs on" {
	dialogue <<-'END'
		type nohup redlock-run -k a -- sh -c 'echo $$ >pid; until test -e end; do sleep 0.02; done; exit 7' &
		until test -s pid
		hangup
		check sleep 0.3
	END
	held
	not gone "$(<pid)"
	not gone "$(parent "$(<pid)")"
	touch end
	eventually free
}
