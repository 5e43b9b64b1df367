#!/usr/bin/env bats
# bats file_tags=timing
#
# At a terminal: an interactive bash, and typed input; tests/helpers/pty has the
# steps of a dialogue.
#
# Scripts in single quotes are for COMMAND; the variables come from helpers.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start
	helpers_install witness zoo
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	export -f gone not eventually witness_has_got witness_got held free redis redis_at \
	    witness_pid witness_group witness_ready process_parent process_in_state redlock_pid has_guard
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
	process_parent "$(witness_pid "$1")"
}

## The keyboard

@test "^C reaches COMMAND exactly once" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 7
		until witness_ready log
		press ^C
		until witness_has_got log INT
		check kill -s USR1 $(redlock_pid log)
		until witness_has_got log USR1
		press ^\
		until witness_has_got log QUIT
		check kill -s TERM $(redlock_pid log)
		see @@
		type echo "status $?"
		see status 7
	END
	[[ $(witness_got log) == "INT USR1 QUIT TERM" ]]
	free
}

@test "^C ends COMMAND and redlock-run, and the shell sees it as without redlock-run" {
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

@test "^C reaches each of COMMAND's processes once, even when COMMAND is gone" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'witness log 15 0 & exec witness command 15 5'
		until witness_ready log && witness_ready command
		press ^C
		until witness_has_got log INT && witness_has_got command INT
		check kill -s TERM $(redlock_pid command)
		# not only dead: redlock-run knows that it is
		until not test -e /proc/$(witness_pid command)
		press ^C
		until witness_has_got log INT 2
		check kill -s USR1 $(redlock_pid log)
		until witness_has_got log USR1
		check held
		check kill -s TERM $(redlock_pid log)
		see @@
		type echo "status $?"
		see status 5
	END
	[[ $(witness_got log) == "INT INT USR1 TERM" ]]
	[[ $(witness_got command) == "INT TERM" || $(witness_got command) == "INT CHLD TERM" ]]
	free
}

@test "a ^C that ends a process's parent does not turn the process into a daemon" {
	local command
	for command in "setsid -fw witness log 15 0" \
	    "sh -c 'setsid -fw witness log 15 0; :'" \
	    "sh -c 'trap \"exit 3\" INT; setsid -fw witness log 15 0; :'"; do
		dialogue <<-END
			type redlock-run -k a -- $command
			until witness_ready log
			press ^C
			until grep redlock-run /proc/\$(process_parent \$(witness_pid log))/comm
			check sleep 0.3
			check held
			check not gone \$(witness_pid log)
			check kill -s TERM \$(witness_pid log)
			see @@
			type echo "it has ended"
			see it has ended
		END
		[[ $(witness_got log) == TERM ]]
		free
		rm log
	done
}

@test "a nested run in a session that COMMAND began is no daemon" {
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

@test "a change of the window size reaches COMMAND once" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 0
		until witness_ready log
		resize
		until witness_has_got log WINCH
		check kill -s USR1 $(redlock_pid log)
		until witness_has_got log USR1
		check kill -s TERM $(redlock_pid log)
		see @@
	END
	[[ $(witness_got log) == "WINCH USR1 TERM" ]]
}

@test "^Z stops COMMAND and redlock-run with a message about the lease; fg continues both" {
	dialogue <<-'END'
		type redlock-run -t 300s -k a -- sh -c 'echo $$ >pid; read x; echo "got $x"; exit 7'
		until test -s pid
		press ^Z
		see redlock-run: .*(29[0-9]|4m5[0-9]|300|5m)
		see Stopped
		see @@
		check process_in_state $(cat pid) T && process_in_state $(process_parent $(cat pid)) T
		check held
		type fg
		until not process_in_state $(cat pid) T
		type some words
		see got some words
		see @@
		type echo "status $?"
		see status 7
	END
	free
}

@test "a COMMAND that ignores ^Z keeps redlock-run from stopping" {
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

@test "a COMMAND that stops itself stops redlock-run, and both continue together" {
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

@test "a COMMAND that stops again at once stops redlock-run again" {
	local stop='for i in 1 2 3 4 5; do kill -STOP $$; done; exit 7'
	{
		echo "type redlock-run -k a -- sh -c '$stop'"
		for _ in 1 2 3 4 5; do
			printf '%s\n' 'see Stopped' 'see @@' 'type fg'
		done
		printf '%s\n' 'see @@' 'type echo "status $?"' 'see status 7'
	} | dialogue
}

@test "^Z stops COMMAND's processes and redlock-run even when COMMAND is gone" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'sleep 1000 & echo $! >pid; echo $PPID >runner; exit 7'
		until test -s runner
		check sleep 0.2
		press ^Z
		see Stopped
		see @@
		until process_in_state $(cat pid) T
		type fg
		until not process_in_state $(cat pid) T
		check kill -KILL $(cat pid)
		see @@
		type echo "status $?"
		see status 7
	END
	free
}

@test "a COMMAND that stops at once is killed when its lease runs out" {
	dialogue <<-'END'
		type redlock-run -t 2s --node-timeout 1s -k a -- sh -c 'echo $$ >pid; kill -STOP $$'
		see Stopped
		see @@
		until free
		until gone $(cat pid)
		type fg
		see lock lost: redlock-run did not run for [\d.]+m?s \(stopped, asleep or overloaded\)
		see @@
		type echo "status $?"
		see status 79
	END
}

@test "after fg an expired lease is a loss within 50 ms" {
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

@test "a stop for less than the lease loses nothing" {
	dialogue <<-'END'
		type redlock-run -t 30s -k a -- witness log 15 7
		until witness_ready log
		check kill -STOP $(witness_pid log)
		see Stopped
		see @@
		type fg
		until not process_in_state $(witness_pid log) T
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
		until test -s pid && process_in_state $(cat pid) T && process_in_state $(process_parent $(cat pid)) T
		press ^M
		see Stopped
		see @@
		type fg
		until not process_in_state $(cat pid) T
		type from here
		see got from here
		see @@
		type echo "status $?"
		see status 7
	END
}

@test "in the background ^C does not reach COMMAND, but kill %1 does" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 7 &
		see @@
		until witness_ready log
		press ^C
		see @@
		type kill -USR2 %1
		until witness_has_got log USR2
		type kill %1; wait %1; echo "status $?"
		see status 7
	END
	not witness_has_got log INT
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
		until not process_in_state $(cat pid) T && not process_in_state $(process_parent $(cat pid)) T
		type kill -USR1 $(cat pid); wait %1; echo "status $?"
		see status 7
	END
	free
}

@test "a stopped job can be killed" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $PPID >parent; echo $$ >pid; exec sleep 1000'
		until test -s pid
		press ^Z
		see Stopped
		see @@
		type kill %1
		until gone $(cat pid) && gone $(cat parent) && free
		press ^M
		see Terminated
	END
	gone "$(<pid)"
	free
}

## The terminal is COMMAND's

@test "at a terminal COMMAND stays in redlock-run's process group" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log 15 0
		until witness_ready log
		check [[ $(witness_group log) == $(redlock_pid log) ]]
		check [[ $(ps -o tpgid= -p $(witness_pid log)) -eq $(redlock_pid log) ]]
		check kill -s TERM $(redlock_pid log)
		see @@
	END
}

@test "a pager at the end of a pipeline reads its keys" {
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

@test "a password prompt works even with redirected input and output" {
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

## After a stop

# shy: makes a program that hides what is typed, and that only SIGKILL ends.
shy() {
	cat >shy <<-'END'
		#!/bin/sh
		trap '' TERM
		stty raw -echo </dev/tty
		sleep 1000
	END
	chmod +x shy
}

@test "after a stop the terminal has the modes and the foreground group that it had before COMMAND" {
	local end program
	shy
	cat >script <<-'END'
		redlock-run -t 3s --node-timeout 1s $options --kill-after 0.2 -k a -- $program
		echo "status $?"
		stty -a >after
		read -r x
		echo "got $x"
	END
	for end in 124 79; do
		for program in ./shy "bash --norc --noprofile -i" \
		    "bash -mc ./shy"; do
			options=
			((end == 79)) || options="--max-run 1.5"
			export options program
			dialogue <<-END
				type stty -a >before; sh script
				until held
				$( ((end == 124)) || echo "check redis flushall")
				see status $end
				type some words
				see got some words
				see @@
			END
			diff before after
		done
	done
}

# editor: makes a program that, once COMMAND has written redlock-run's pid to the file
# runner, hides what is typed until redlock-run is gone, and then writes the modes.
editor() {
	cat >editor <<-'END'
		#!/bin/sh
		exec </dev/tty
		until test -s runner; do sleep 0.02; done
		stty -icanon -echo
		stty -a >raw
		while ps -o stat= -p "$(cat runner)" | grep -q '^[^Z]'; do
			sleep 0.02
		done
		stty -a >after
		stty sane
	END
	chmod +x editor
}

@test "a stop leaves the terminal to a pager at the end of the pipeline" {
	editor
	dialogue <<-'END'
		type redlock-run --max-run 1.5 -k a -- sh -c 'echo $PPID >runner; exec sleep 1000' | ./editor; echo "status ${PIPESTATUS[*]}"
		see status 124 0
		see @@
	END
	diff raw after
}

@test "a stop leaves the terminal to an editor while redlock-run is in the background" {
	editor
	dialogue <<-'END'
		type redlock-run -t 10s -k a -- sh -c 'echo $PPID >runner; exec sleep 1000'
		until test -s runner
		press ^Z
		see Stopped
		see @@
		type bg
		see @@
		type ./editor
		until test -s raw
		check redis flushall
		until test -s after
		see @@
	END
	diff raw after
	rm runner raw after
	dialogue <<-'END'
		type sh -c 'redlock-run --max-run 1.5 -k a -- sh -c "echo \$PPID >runner; exec sleep 1000" & ./editor'
		until test -s after
		see @@
	END
	diff raw after
}

@test "a stop leaves the terminal as it is if redlock-run was in the background at the start" {
	cat >script <<-'END'
		redlock-run -t 10s -k a -- sh -c 'echo $$ >pid; until test -e go; do sleep 0.02; done; stty -echo; touch off; exec sleep 1000'
		stty -a >after
	END
	dialogue <<-'END'
		type sh script &
		see @@
		until test -s pid
		type fg
		# stty would read the modes in the background, and set them only here
		until [[ $(ps -o tpgid= -p $(cat pid)) -eq $(ps -o pgid= -p $(cat pid)) ]]
		check touch go
		until test -e off
		check redis flushall
		see lock lost
		see @@
	END
	grep -q ' icanon' after
	grep -q ' -echo ' after
}

## Others on the terminal

@test "redlock-run signals neither the calling shell nor its pipeline" {
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
		[[ $end != until* ]] || options="--max-run 1.5"
		export options
		dialogue <<-END
			type sh script | witness right 15 0; echo "end \${PIPESTATUS[*]}" | cat after -
			until witness_ready log && witness_ready left && witness_ready right
			$end
			until test -s after
			check kill \$(witness_pid right)
			see then (7|79|137|124)
			see end 0 0
		END
		[[ $(witness_got left) == TERM ]]
		[[ $(witness_got right) == TERM ]]
		gone "$(witness_pid log)"
		redis del redlock:a
	done
}

@test "a signal from elsewhere goes to COMMAND alone if the group is shared" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'witness child 15 0 & exec witness log 10 7' | witness right 15 0
		until witness_ready log && witness_ready child && witness_ready right
		check kill -s HUP $(redlock_pid log)
		until witness_has_got log HUP
		check kill -s USR1 $(redlock_pid log)
		until gone $(witness_pid log)
		check kill $(witness_pid child) $(witness_pid right)
		see @@
	END
	[[ $(witness_got log) == "HUP USR1" ]]
	[[ $(witness_got child) == TERM ]]
	[[ $(witness_got right) == TERM ]]
	free
}

@test "a SIGTERM goes to each of COMMAND's processes if the group is shared" {
	dialogue <<-'END'
		type redlock-run --max-run 1.5 --kill-after 0.5 -k a -- sh -c 'witness child & exec witness log'
		see @@
		type echo "status $?"
		see status 124
	END
	witness_has_got log TERM 1
	witness_has_got child TERM 1
	gone "$(witness_pid log)"
	gone "$(witness_pid child)"
	free
}

@test "at a terminal SIGKILL reaches COMMAND's processes in every group and session" {
	dialogue <<-'END'
		type redlock-run --max-run 3 --kill-after 0.2 -k a -- zoo >pids
		see @@
		type echo "status $?"
		see status 124
	END
	# shellcheck disable=SC2046
	all_gone $(<pids)
	(($(wc -l <pids) == 10))
	free
}

@test "at a terminal COMMAND's processes die with redlock-run, and no others" {
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

@test "--max-run ends a stopped COMMAND" {
	dialogue <<-'END'
		type redlock-run --max-run 1.5 --kill-after 0.2 -k a -- sh -c 'echo $$ >pid; exec sleep 1000' &
		see @@
		until test -s pid
		check kill -STOP $(cat pid)
		until process_in_state $(process_parent $(cat pid)) T || gone $(cat pid)
		check sleep 1.5
		type fg; echo "status $?"
		see status 124
	END
	gone "$(<pid)"
	free
}

## The line drops

@test "a hangup ends COMMAND, and the lock is free" {
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'echo $$ >pid; exec sleep 1000'
		until test -s pid
		hangup
	END
	eventually gone "$(<pid)"
	eventually free
	eventually nothing_marked
}

@test "a hangup ends a stopped COMMAND" {
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

@test "a hangup reaches COMMAND as SIGHUP" {
	dialogue <<-'END'
		type redlock-run -k a -- witness log
		until witness_ready log
		hangup
		until witness_has_got log HUP
		check kill -s KILL $(witness_pid log)
	END
	eventually free
}

# job: makes a program that writes its pid and its parent's, and then sleeps.
job() {
	cat >job <<-'END'
		#!/bin/sh
		echo $PPID >parent
		echo $$ >pid
		exec sleep 1000
	END
	chmod +x job
}

@test "a hangup of the session that redlock-run leads ends COMMAND's processes, and the lock is free" {
	local command
	job
	for command in "sh -c './job; :'" "sh -c './job & exit'" \
	    "bash -c 'set -m; ./job; :'" \
	    "bash -c 'trap : HUP; ./job; :'"; do
		dialogue <<-END
			type exec redlock-run -k a -- $command
			until test -s pid
			hangup
		END
		gone "$(<pid)"
		free
		rm pid
	done
}

@test "a hangup of the session that redlock-run leads reaches each of COMMAND's processes there once" {
	dialogue <<-'END'
		type exec redlock-run -k a -- bash -c 'witness near 15 0 & set -m; witness log 15 0; :'
		until witness_ready near && witness_ready log
		cut
		until witness_has_got near CONT && witness_has_got log CONT
		check held
		check kill $(witness_pid near) $(witness_pid log)
	END
	eventually free
	[[ $(witness_got near) == "HUP CONT TERM" ]]
	[[ $(witness_got log) == "HUP CONT TERM" ]]
}

@test "a hangup of the session that redlock-run leads ends stopped jobs" {
	job
	dialogue <<-'END'
		type exec redlock-run -k a -- bash -c 'set -m; ./job; mkfifo end; read end <end'
		until test -s pid
		press ^Z
		until test -p end
		hangup
	END
	gone "$(<pid)"
	free
}

@test "a hangup of a shell around redlock-run ends stopped jobs" {
	job
	dialogue <<-'END'
		type sh -c 'redlock-run -k a -- sh -c "set -m; ./job; mkfifo end; read end <end"; :'
		until test -s pid
		press ^Z
		until test -p end
		hangup
	END
	eventually gone "$(<pid)"
	eventually free
}

@test "a stopped job ends with COMMAND, as without redlock-run" {
	job
	dialogue <<-'END'
		type redlock-run -k a -- sh -c 'set -m; ./job; :'
		until test -s pid
		press ^Z
		see @@
	END
	gone "$(<pid)"
	free
}

@test "a hangup continues stopped jobs of a COMMAND that another process continued" {
	job
	dialogue <<-'END'
		type exec redlock-run -k a -- bash -c 'set -m; ./job & until test -s pid; do :; done; kill -STOP $!; kill -STOP $$; mkfifo end; read end <end'
		until test -s parent && process_in_state $(process_parent $(cat parent)) T
		check kill -CONT $(cat parent)
		until test -p end
		hangup
	END
	gone "$(<pid)"
	free
}

@test "a hangup reaches no session that COMMAND's processes made, even when COMMAND is gone" {
	local command
	for command in "setsid -w witness log 15 0; :" \
	    "sh -c \"setsid -w witness log 15 0; :\" & exit"; do
		dialogue <<-END
			type exec redlock-run -k a -- sh -c '$command'
			until witness_ready log
			check process_parent \$(witness_pid log) >parent
			cut
			until gone \$(cat parent)
			check kill -s USR1 \$(redlock_pid log)
			until witness_has_got log USR1
			check held
			check kill \$(witness_pid log)
		END
		eventually free
		[[ $(witness_got log) == "USR1 TERM" ]]
		rm log
	done
}

@test "a hangup reaches no background job older than five seconds, which keeps the lock" {
	dialogue <<-'END'
		type exec redlock-run -k a -- bash --norc --noprofile -i
		see @@
		type witness disowned 15 0 & disown
		type (set -m; witness log 15 0 & wait)
		until witness_ready disowned && witness_ready log
		check sleep 7
		cut
		until process_parent $(witness_pid log) | grep -qx "$(redlock_pid disowned)"
		check kill -s USR1 $(redlock_pid log)
		until witness_has_got disowned USR1 && witness_has_got log USR1
		check held
		check kill $(witness_pid disowned) $(witness_pid log)
	END
	eventually free
	[[ $(witness_got disowned) == "USR1 TERM" ]]
	[[ $(witness_got log) == "USR1 TERM" ]]
}

@test "a process under nohup survives the hangup of the session that redlock-run leads, and keeps the lock" {
	job
	dialogue <<-'END'
		type exec redlock-run -k a -- sh -c 'nohup ./job; :'
		until test -s pid
		cut
		until gone $(cat parent)
		check held
		check not gone $(cat pid)
		check kill $(cat pid)
	END
	eventually free
}

@test "with -o a hangup ends COMMAND, and reaches its children once, when redlock-run ends" {
	dialogue <<-'END'
		type exec redlock-run -o -k a -- sh -c 'witness log 15 0; :'
		until witness_ready log
		cut
		until witness_has_got log CONT
		check free
		check kill $(witness_pid log)
	END
	eventually gone "$(witness_pid log)"
	[[ $(witness_got log) == "HUP CONT TERM" ]]
}

@test "under nohup COMMAND survives the hangup of its terminal" {
	dialogue <<-'END'
		type nohup redlock-run -k a -- sh -c 'echo $$ >pid; until test -e end; do sleep 0.02; done; exit 7' &
		until test -s pid
		hangup
		check sleep 0.3
	END
	held
	not gone "$(<pid)"
	not gone "$(process_parent "$(<pid)")"
	touch end
	eventually free
}
