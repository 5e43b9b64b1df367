#!/usr/bin/env bats
#
# --status --watch at a terminal, whose screen tests/helpers/vt.py records.
#
# shellcheck disable=SC2016,SC2154

load ../lib/common
load ../lib/process
load ../lib/servers

setup_file() {
	local i
	redis_start
	for i in 1 2 3; do
		redis_start "s$i"
	done
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	export permissions="${permitted[*]}"
	export -f redis redis_at redis_pid redis_spawn redis_ends redis_kill \
	    redis_restart restart redis_freeze redis_thaw gone eventually not process_in_state marked environs_marked now_us
	export BATS_FILE_TMPDIR
	unset NO_COLOR
	export watch='TERM=xterm redlock-run --status --watch'
	PATH=$(dirname "$REDLOCK_RUN"):$PATH
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# restart: redis_restart, for a shell that has no arrays of ours.
restart() {
	read -ra permitted <<<"$permissions"
	redis_restart
}

# watch_dialogue: the steps on standard input, at a terminal; $watch in them is
# the command.
watch_dialogue() {
	sed "s/\$watch/$watch/" | "$top/tests/helpers/pty" 3>&- 4>&-
}

# cooling NAME...: these locks cooldown, each since a moment later.
cooling() {
	local name
	for name; do
		redlock -k "$name" --min-hold 1h -- true
	done
}

# queue NAME: one more waits for the lock.
queue() {
	local n
	n=$(redis zcard "{redlock:$1}:~queue")
	redlock -k "$1" -w inf -- true 2>/dev/null &
	waiters+=($!)
	eventually eval "((\$(redis zcard '{redlock:$1}:~queue') > $n))"
}

# watch_holder NAME [ARG...]: holds the lock until the test ends it with `over`.
watch_holder() {
	redlock -k "$@" -- sh -c 'until test -e over; do sleep 0.02; done' &
	runners+=($!)
	eventually held "$1"
}

watch_over() {
	touch over
	wait "${runners[@]}" "${waiters[@]}"
}

## The picture

@test "--status --watch draws every lock, and q ends it" {
	cooling a b
	watch_dialogue <<-'END'
		type echo here
		see @@
		type $watch
		shows ^..:..:..  \(q quits\)  2 locks under redlock:\*, 2 taken, 0 waiting, at unix:.*redis.sock
		shows ^LOCK +STATE +HOLDER
		shows ^a +cooldown
		shows ^b +cooldown
		hides here
		press q
		shows ^here
		hides ^LOCK
		type echo "status $?"
		see status 0
	END
}

@test "--watch redraws every second, in place" {
	cooling a b
	watch_dialogue <<-'END'
		type $watch
		see \x1b\[2J
		shows ^b +cooldown
		check redis del redlock:b
		hides ^b
		shows ^a
		check redis set redlock:c somebody-with-a-long-name
		shows ^c +held +another client \(somebody-with-a-long-name\) +- +- +- +0$
		check redis set redlock:c me
		shows ^c +held +another client \(me\) +- +- +- +0$
		see \x1b\[H
		see \x1b\[H
		hides (?s)^LOCK.*^LOCK
		unseen \x1b\[2J
		unseen \x1b\[\?1049h
		press Q
		see \x1b\[\?25h\x1b\[\?1049l
		see @@
	END
}

@test "--watch sorts locks with waiters first, then by how long they are held" {
	local runners=() waiters=()
	cooling z
	redis set redlock:y somebody
	watch_holder e
	watch_holder d
	watch_holder c -s
	watch_holder b
	watch_holder f
	queue b
	queue f
	queue f
	watch_dialogue <<-'END'
		type $watch
		shows (?s)^LOCK.*^f .*^b .*^e .*^d .*^y .*^c +shared.*^z +cooldown
		press q
		see @@
		type $watch -k free -k z -k d
		shows (?s)^LOCK.*^d .*^z .*^free +free
		shows ^..:..:..  \(q quits\)  3 locks, 2 taken, 0
		press q
		see @@
	END
	watch_over
}

@test "--watch fits into the window, whatever its size" {
	cooling {a..l}
	watch_dialogue <<-'END'
		type $watch
		shows ^l +cooldown.*[0-9]$
		resize 10 40
		shows ^\.\.\. and 6 more lines$
		shows ^f +cooldown .*>$
		hides ^g
		resize 9 41
		shows ^\.\.\. and 7 more lines$
		resize 24 200
		shows ^l +cooldown.*[0-9]$
		hides more lines
		resize 3 22
		shows ^..:..:.. .{12}>\n\n\.\.\. and 13 more lines$
		resize 1 1
		shows ^>$
		resize 24 200
		shows ^l +cooldown.*[0-9]$
		press q
		see @@
	END
}

@test "--watch redraws at once when the window size changes" {
	local i
	cooling a
	{
		echo 'type $watch'
		echo 'shows ^a +cooldown.*[0-9]$'
		echo 'check now_us >start'
		for i in {1..10}; do
			printf '%s\n' 'resize 10 30' 'shows >$' \
			    'resize 10 200' 'hides >$'
		done
		# Not one a second.
		echo 'check (($(now_us) - $(<start) < 12000000))'
		echo 'press q'
		echo 'see @@'
	} | watch_dialogue
}

@test "--watch uses colours only where they are wanted" {
	cooling a
	redis set redlock:b somebody
	watch_dialogue <<-'END'
		type $watch
		see \x1b\[1mLOCK\x1b\[0m
		see \x1b\[32mheld\x1b\[0m
		press q
		see @@
	END
}

@test "--watch with NO_COLOR uses neither bold, dim nor colour" {
	redis set redlock:b somebody
	watch="NO_COLOR=1 $watch"
	watch_dialogue <<-'END'
		type $watch
		check sleep 0.1
		unseen \x1b\[[0-9;]*m
		shows ^b +held
		check kill -KILL $(redis_pid)
		shows too few servers answer; this was so at
		press ^Z
		unseen \x1b\[[1-9][0-9;]*m
		see Stopped
		see @@
		type kill %1
		see @@
	END
}

@test "--watch cuts a line between characters" {
	redis set redlock:"$(printf 'ü%.0s' {1..50})" somebody
	watch_dialogue <<-'END'
		type $watch
		shows ^ü{50} +held
		resize 24 30
		shows ^ü{29}>$
		press q
		see @@
	END
}

@test "--watch lets nothing from Redis move the cursor" {
	redis set $'redlock:a\e[2J\tb\r' $'\e]0;x\a\e[5;5Hvalue'
	watch_dialogue <<-'END'
		type $watch
		shows ^a\\x1b\[2J\\x09b\\x0d +held +another client \(\\x1b\]0;x\\x07\\x1b\[5;5Hvalue
		press q
		see @@
	END
}

@test "--watch handles a thousand locks with one SCAN each time" {
	local reads scans
	export -f redis_calls
	redis eval 'for i = 1, 1000 do
		redis.call("SET", "redlock:job" .. i, "somebody") end' 0
	watch_dialogue <<-'END'
		type $watch
		shows 1000 locks under
		shows ^\.\.\. and 954 more lines
		until (($(redis_calls evalsha) >= 2000))
		press q
		see @@
	END
	scans=$(redis_calls scan)
	reads=$(redis_calls evalsha)
	((scans <= 2 * (reads / 1000 + 1)))
}

@test "--watch goes on while the terminal takes nothing, and draws the newest state once it does" {
	redis eval 'for i = 101, 140 do
		redis.call("SET", "redlock:" .. i .. ("x"):rep(400), "somebody") end' 0
	export -f redis_calls scans_on
	watch_dialogue <<-'END'
		resize 50 900
		type $watch
		shows 40 locks under
		check scans_on 4
		check redis set redlock:1 somebody
		shows 41 locks under
		check scans_on 2
		press q
		see @@
		hides locks under
	END
}

# scans_on N: --watch has scanned so many times more.
scans_on() {
	local n=$(($(redis_calls scan) + $1))
	eventually eval "((\$(redis_calls scan) >= $n))"
}

## The servers

@test "--watch goes on when a server goes away and comes back" {
	cooling a
	watch_dialogue <<-'END'
		type $watch
		shows ^a +cooldown
		check redis_kill
		see \x1b\[1;31munix:.*redis.sock: [A-Z].*\x1b\[0m
		shows too few servers answer; this was so at ..:..:..
		see \x1b\[2ma +cooldown
		shows ^a +cooldown
		check restart
		hides too few
		hides ^a
		check redis set redlock:b somebody
		shows ^b +held
		hides redis.sock: 
		press q
		see @@
	END
}

@test "--watch waits for a server that is not up yet" {
	redis_kill
	watch_dialogue <<-'END'
		type $watch -k a
		shows \(q quits\)  too few servers answer
		hides this was so
		shows redis.sock: [A-Z]
		check restart
		shows ^a +free
		press q
		see @@
		type echo "status $?"
		see status 0
	END
}

@test "--watch reconnects when the connection is cut" {
	cooling a
	watch_dialogue <<-'END'
		type $watch
		shows ^a +cooldown
		check redis client kill type normal skipme yes
		see \x1b\[H
		check redis set redlock:b somebody
		shows ^b +held
		unseen redis.sock:
		press q
		see @@
	END
}

@test "--watch reacts to q, ^C and a new window size while a server is silent" {
	cooling a
	watch_dialogue <<-'END'
		type $watch --node-timeout 1m
		shows ^a +cooldown
		check redis_freeze
		shows redis.sock: no answer yet
		resize 4 30
		shows \.\.\. and 2 more lines
		press q
		see 1049l
		see @@
		resize
		type $watch --node-timeout 1m
		shows no answer yet
		press ^C
		see 1049l
		see @@
	END
	redis_thaw
}

@test "--watch goes on with one of three servers silent" {
	servers_use 1 2 3
	servers_learn 1 2 3
	export REDLOCK_RESTART_GRACE=0
	cooling a
	eventually held a
	watch_dialogue <<-'END'
		type $watch --node-timeout 1100ms
		shows at 3 of 3 servers
		check redis_freeze s2
		see s2.sock: no answer yet
		shows s2.sock: connected, but no reply within 1s
		shows at 2 of 3 servers
		check redis_at s1 set redlock:b somebody
		check redis_at s3 set redlock:b somebody
		shows ^b +held
		shows ^a +cooldown
		check redis_thaw s2
		shows at 3 of 3 servers
		hides s2.sock
		press q
		see @@
	END
}

@test "--watch tries again after a server refuses" {
	redis eval 'for i = 1, 200 do
		redis.call("SET", "redlock:job" .. i, "its" .. i) end' 0
	watch_dialogue <<-'END'
		type $watch
		resize 300 200
		shows ^job200 +held +another client \(its200\) 
		check redis acl setuser default -eval -evalsha
		shows redis.sock: NOPERM
		shows this was so at
		check redis acl setuser default +eval +evalsha
		hides NOPERM
		shows (?s)^job1 +held +another client \(its1\) .*^job200 +held +another client \(its200\) .*^job99 +held +another client \(its99\) 
		press q
		see @@
	END
}

## The terminal

# attended: runs $watch; whenever that has stopped or ended, says
# whether the terminal is as it was before.  No shell does, which would see to
# that itself.
attended() {
	cat >attend <<-'END'
		import os, signal, sys, termios
		for number in signal.SIGINT, signal.SIGTSTP:
		    signal.signal(number, lambda *_: None)
		before = termios.tcgetattr(0)
		child = os.spawnvp(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
		while True:
		    status = os.waitpid(child, os.WUNTRACED)[1]
		    now = "as it was" if termios.tcgetattr(0) == before else "changed"
		    how = (f"stopped by {os.WSTOPSIG(status)}"
		           if os.WIFSTOPPED(status) else
		           f"ended {os.waitstatus_to_exitcode(status)}")
		    print(f"it has {how}, the terminal is {now}", flush=True)
		    if not os.WIFSTOPPED(status):
		        break
		    input()
		    os.kill(child, signal.SIGCONT)
	END
	watch="TERM=xterm python3 attend redlock-run --status --watch"
}

# watch_pid: the pid of the redlock-run that this test has started.
watch_pid() {
	marked | xargs ps -o pid=,comm= -p | sed -n 's/ redlock-run$//p'
}

@test "--watch restores the terminal however it ends or stops" {
	cooling a
	attended
	export -f watch_pid
	watch_dialogue <<-'END'
		type echo here; stty tostop -ixany susp ^Y
		see @@
		type $watch
		shows ^a
		press ^Y
		see \x1b\[\?25h\x1b\[\?1049l
		see it has stopped by 20, the terminal is as it was
		shows ^here
		hides ^LOCK
		type again
		see \x1b\[\?1049h
		shows ^LOCK
		check kill -STOP $(watch_pid)
		see it has stopped by 19, the terminal is changed
		blind again
		see \x1b\[\?1049h
		shows ^LOCK
		press q
		see \x1b\[\?25h\x1b\[\?1049l
		see it has ended 0, the terminal is as it was
		see @@
		type $watch
		shows ^LOCK
		press ^C
		see \x1b\[\?1049l
		see it has ended -2, the terminal is as it was
		see @@
		type $watch
		shows ^LOCK
		check kill $(watch_pid)
		see \x1b\[\?1049l
		see it has ended -15, the terminal is as it was
		see @@
		type $watch
		shows ^LOCK
		check kill -HUP $(watch_pid)
		see \x1b\[\?1049l
		see it has ended -1, the terminal is as it was
		see @@
	END
}

@test "--watch dies of SIGINT on ^C" {
	watch_dialogue <<-'END'
		type $watch
		shows 0 locks
		press ^C
		see @@
		type echo "status $?"
		see status 130
	END
}

@test "--watch gives the terminal back on ^Z and redraws after fg" {
	cooling a
	watch_dialogue <<-'END'
		type echo here
		see @@
		type $watch
		shows ^a
		press ^Z
		see \x1b\[\?1049l
		see Stopped
		see @@
		shows ^here
		hides ^LOCK
		type fg
		see \x1b\[\?1049h
		shows ^LOCK
		hides ^here
		press q
		see @@
		type echo "status $?"
		see status 0
	END
}

@test "--watch redraws after fg when another process stopped it" {
	cooling a
	export -f watch_pid
	watch_dialogue <<-'END'
		type $watch
		shows ^a
		check kill -STOP $(watch_pid)
		see Stopped
		see @@
		type fg
		see \x1b\[\?1049h
		shows ^LOCK
		press q
		see \x1b\[\?1049l
		see @@
		type echo "status $?"
		see status 0
	END
}

@test "--watch leaves the terminal alone in the background" {
	cooling a
	watch_dialogue <<-'END'
		type stty -a >before
		see @@
		type $watch &
		see @@
		check sleep 1.2
		unseen LOCK
		type stty -a >between
		until cmp before between
		see @@
		type fg
		see \x1b\[\?1049h
		shows ^LOCK
		press ^Z
		see Stopped
		see @@
		type bg
		see @@
		check sleep 1.2
		unseen LOCK
		type fg
		shows ^LOCK
		press ^D
		see 1049l
		see @@
		type stty -a >after
		until cmp before after
	END
}

@test "--watch ends when the terminal hangs up" {
	# The SIGCONT that comes with a hang-up would hang up the search, too.
	export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
	watch_dialogue <<-'END'
		type $watch
		shows 0 locks
		hangup
	END
	eventually nothing_marked
	watch_dialogue <<-'END'
		type trap '' HUP
		see @@
		type $watch
		shows 0 locks
		hangup
	END
	eventually nothing_marked
}

@test "--watch is not blocked by ^S" {
	watch_dialogue <<-'END'
		type $watch
		shows 0 locks
		press ^S
		check redis set redlock:b somebody
		shows ^b
		press q
		see @@
	END
}

@test "without a terminal --watch is a usage error" {
	run -64 --separate-stderr redlock --status --watch
	says '--watch needs a terminal, and standard output is not one'
	watch_dialogue <<-'END'
		type $watch </dev/null; echo "status $?"
		see redlock-run: --watch needs a terminal, and standard input is not one
		see status 64
		type $watch >file; echo "status $?"
		see redlock-run: --watch needs a terminal, and standard output is not one
		see status 64
		type TERM=dumb redlock-run --status --watch; echo "status $?"
		see redlock-run: --watch cannot draw on a terminal with TERM=dumb
		see status 64
		type env -u TERM redlock-run --status --watch; echo "status $?"
		see redlock-run: --watch cannot draw on a terminal with TERM=;
		see status 64
	END
	[[ ! -s file ]]
	run -64 redlock --status --watch --json
}
