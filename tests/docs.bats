#!/usr/bin/env bats
#
# What is written about the program agrees with itself and with the program.

# shellcheck disable=SC2154	# run_path, bg_pid: of lib.bash

load lib
load complete

setup_file() {
	redis_start
	redis_start other
}

setup() {
	top=$(realpath "$BATS_TEST_DIRNAME/..")
	man=$top/man/redlock-run.1
	cd "$BATS_TEST_TMPDIR" || exit
	mkdir bin
	ln -s "$REDLOCK_RUN" bin/redlock-run
	PATH=$PWD/bin:$PATH
	redis_reset
}

teardown() {
	nothing_left
}

teardown_file() {
	redis_stop_all
}

# Options as lines of "short long value": "-k --key yes", "- --json no".

options_of_help() {
	redlock --help | sed -nE \
	    -e 's/^  (-.), (--[a-z-]+)( [A-Za-z|]+)?( .*)?$/\1 \2\3/p' \
	    -e 's/^      (--[a-z-]+)( [A-Za-z|]+)?( .*)?$/- \1\2/p' |
		awk '{ print $1, $2, (NF > 2 ? "yes" : "no") }' | sort
}

options_of_man() {
	sed -n '/^\.Sh OPTIONS/,/^\.Sh ENV/p' "$man" | awk '
	$1 == ".It" {
		short = "-"; long = ""; value = "no"
		for (i = 2; i <= NF; i++) {
			if ($i == "Fl" && $(i + 1) ~ /^-/)
				long = "-" $(i + 1)
			else if ($i == "Fl")
				short = "-" $(i + 1)
			else if ($i == "Ar" || $i == "Cm")
				value = "yes"
		}
		print short, long, value
	}' | sort
}

@test "--help, the man page and the completions list the same options" {
	options_of_help >help
	[[ $(wc -l <help) -ge 20 ]]
	diff help <(options_of_man)
	diff help <(options_of_zsh)
	diff help <(options_of_fish)
	bash_complete redlock-run -
	diff <(awk '{ print $1 != "-" ? $1 "\n" $2 : $2 }' help | sort) \
	    <(sort reply)
}

@test "the program has the options that --help lists" {
	local short long value
	while read -r short long value; do
		if [[ $value == yes ]]; then
			run redlock "$long"
			[[ $output == *"'$long' needs a value"* ]]
			run redlock "$short"
			[[ $short == - || $output == *"'$short' needs a value"* ]]
		else
			run redlock "$long=x"
			[[ $output == *"takes no value"* ]]
			[[ $short == - ]] || run redlock "$short" -Z
			[[ $output != *"unknown option '$short'"* ]]
		fi
	done < <(options_of_help)
}

@test "--help, the man page and exitcode.h list the same exit statuses" {
	grep -oE '= [0-9]+' "$top/src/exitcode.h" | grep -oE '[0-9]+' |
		grep -vx 1 | sort -n >header
	[[ $(wc -l <header) -eq 9 ]]
	diff header <(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh STATUS/p' "$man" |
		sed -nE 's/^\.It ([0-9]+)$/\1/p' | sort -n)
	diff header <(redlock --help | tr '\n' ' ' |
		sed 's/.*Exit status: //' | grep -oE '\b[0-9]+\b' |
		grep -vx 1 | sort -n)
}

@test "--help, the man page and the program know the same environment" {
	grep -ohE '"(REDLOCK_[A-Z_]+|REDISCLI_AUTH)"' "$top/src/options.c" |
		tr -d '"' | sort -u >source
	[[ -s source ]]
	diff source <(sed -n '/^\.Sh ENVIRONMENT/,/^\.Sh COMMAND/p' "$man" |
		sed -nE 's/^\.It Ev ([A-Z_]+)$/\1/p' | sort)
	diff source <(redlock --help |
		grep -oE '\b(REDLOCK_[A-Z_]+|REDISCLI_AUTH)\b' | sort -u)
}

@test "COMMAND'S ENVIRONMENT is what a command finds in its environment" {
	unset REDLOCK_RUN
	env -u REDLOCK_REDIS "$run_path" -r "$REDLOCK_REDIS" -k k -- env |
		grep -oE '^REDLOCK_[A-Z]+' | sort >found
	diff found <(sed -n "/^\.Sh COMMAND'S/,/^\.Sh SIGNALS/p" "$man" |
		sed -nE 's/^\.It Ev ([A-Z_]+)$/\1/p' | sort)
}

# Lines of "--long default", for defaults of one word.
defaults_of_man() {
	sed -n '/^\.Sh OPTIONS/,/^\.Sh ENV/p' "$man" | awk '
	/^\.It/ { long = $0; sub(/.*Fl -/, "--", long); sub(/ .*/, "", long) }
	/^The default is/ {
		if (/is$/)
			getline
		sub(/^(The default is|\.Ql) /, "")
		sub(/(\\&)? ?\.$/, "")
		if (!/ /)
			print long, $0
	}'
}

@test "--help and the man page give the same defaults" {
	local long default
	# An option and what belongs to it on one line.
	redlock --help | awk '
	/^ +-/ { printf "\n%s", $0; next }
	/^                    / { printf " %s", $0; next }
	{ print "" }' >help
	defaults_of_man >defaults
	[[ $(wc -l <defaults) -ge 6 ]]
	while read -r long default; do
		grep -e " $long " help | grep -F "($default)" ||
			{ echo "$long: $default" && false; }
	done <defaults
}

@test "--help and the man page have the same synopsis" {
	diff <(redlock --help | sed -n 's/^\(usage:\|  *\) redlock-run/redlock-run/p' |
		tr '[:upper:]' '[:lower:]') \
	    <(mandoc -Tascii -Owidth=200 "$man" | sed 's/.\x08//g' |
		sed -n '/^SYNOPSIS/,/^$/p' | sed -n 's/^ *redlock-run/redlock-run/p' |
		sed 's/ \.\.\.\]/].../g')
}

@test "mandoc -Tlint has nothing to say about the man page" {
	command -v mandoc
	mandoc -Tlint "$man" >said 2>&1 || true
	# Which other manuals are installed here is not ours.
	run grep -v -e 'referenced manual not found' -e 'outdated mandoc.db' said
	[[ $status -eq 1 && -z $output ]]
}

# hold NAME: somebody has that lock, until the test ends.
hold() {
	redis set "redlock:$1" somebody
}

## What README.md and the man page tell to do

# block N: the N-th fenced block of the README that has a word in it.
block() {
	awk -v word="$1" '
	/^```/ {
		if (inside && index(text, word)) { printf "%s", text; exit }
		inside = !inside; text = ""; next
	}
	inside { text = text $0 "\n" }' "$top/README.md"
}

# As cron does it: nothing but these in the environment, /bin/sh -c.  The
# crontab's own settings come from the crontab, but for where things are here.
cron() {
	local line settings=()
	while IFS= read -r line; do
		case $line in
		PATH=*)
			settings+=("${line/\/usr\/local\/bin/$PWD/bin}")
			;;
		REDLOCK_REDIS=*)
			settings+=("REDLOCK_REDIS=$REDLOCK_REDIS")
			;;
		[A-Z]*=*)
			settings+=("$line")
			;;
		[0-9*]*)
			[[ $line =~ ^([^ ]+\ +){5}(.*) ]]
			env -i HOME="$PWD" LOGNAME=somebody SHELL=/bin/sh \
			    PATH=/usr/bin:/bin "${settings[@]}" \
			    timeout 30 /bin/sh -c "${BASH_REMATCH[2]}" \
			    </dev/null 3>&-
			;;
		esac
	done
}

@test "README's crontab runs the job on one host and skips it on the other" {
	cat >backup.sh <<-END
		#!/bin/sh
		echo "backup by \$REDLOCK_KEY" >>$PWD/backups
		until [ -e $PWD/enough ]; do sleep 0.05; done
	END
	chmod +x backup.sh
	block nightly >table
	grep -q REDLOCK_REDIS table
	cron <table >first 2>&1 &
	eventually test -s backups
	run cron <table
	[[ $status -eq 0 && -z $output ]]
	touch enough
	wait "$!"
	# For a minute nobody makes it again.
	run cron <table
	[[ $status -eq 0 && -z $output && ! -s first ]]
	[[ $(<backups) == 'backup by nightly' ]]
	[[ $(redis pttl redlock:nightly) -gt 30000 ]]
}

@test "the man page has README's crontab line" {
	grep -F "$(block nightly | tail -n 1)" "$man"
}

@test "README's deploy script tells what became of the deploy" {
	block ./deploy.sh >script
	deploy_exits() {
		printf '#!/bin/sh\n[ "$*" = production ] || exit 3\n%s\n' "$1" \
		    >deploy.sh
		chmod +x deploy.sh
		run sh script 3>&-
	}
	deploy_exits 'exit 0'
	[[ $output == deployed ]]
	deploy_exits 'exit 1'
	[[ $output == failed ]]
	deploy_exits "redis-cli -s $BATS_FILE_TMPDIR/redis.sock del redlock:deploy"
	[[ $output == *'the lock was lost, the deploy was stopped' ]]
	hold deploy
	deploy_exits 'exit 0'
	[[ $output == *'somebody else is deploying' ]]
}

@test "README's script that locks itself does so, however it is started" {
	block REDLOCK_PID >lock-itself
	cat >>lock-itself <<-END
		echo "\$REDLOCK_KEY \$# \$2" >>$PWD/log
		until [ -e $PWD/enough ]; do sleep 0.05; done
	END
	chmod +x lock-itself
	./lock-itself one 'two  words' >out 3>&- &
	eventually test -s log
	run timeout 20 ./lock-itself three 3>&-
	[[ $status -eq 75 && $output == *"deploy: held by "*"(lock-itself)"* ]]
	touch enough
	wait "$!"
	[[ $(<out) == 'deploying one' ]]
	[[ $(<log) == 'deploy 2 two  words' ]]
	# From another job, with that job's variables.
	rm log
	redlock -k other -- sh -c './lock-itself a b; exit $?' 3>&-
	[[ $(<log) == 'deploy 2 b' ]]
	# And the man page has the same line.
	grep -F "$(block REDLOCK_PID | sed -n 2p)" "$man"
}

# block_on BASE WORD: a block, with other ports in place of README's.
block_on() {
	block "$2" | sed "s/\<1679\([1-3]\)\>/$1\1/g"
}

# ports_free BASE: nobody answers on these.
ports_free() {
	local i
	for i in 1 2 3; do
		not redis-cli -p "$1$i" ping 2>/dev/null || return
	done
}

# ours PORT: the server there is one that this test has started.
ours() {
	local pid
	pid=$(<"$BATS_FILE_TMPDIR/readme-$1.server") &&
		redis-cli -p "$1" info server | grep -q "^process_id:$pid\b"
}

@test "README's three servers hold a lock while one of them is shut down" {
	local base i
	unset REDLOCK_REDIS
	base=$((2000 + RANDOM % 1200))
	until ports_free "$base"; do
		base=$((2000 + RANDOM % 1200))
	done
	# Should this fail, redis_stop_all() ends those that have such a file.
	cat >bin/redis-server <<-END
		#!/bin/sh
		exec $(type -P redis-server) "\$@" --dir $PWD \
		    --pidfile $BATS_FILE_TMPDIR/readme-\$4.server
	END
	chmod +x bin/redis-server
	block_on "$base" --daemonize >start
	grep -q -e "--port \$port" start
	sh start 3>&- 4>&-
	# The next block shuts servers down: not before they are known as ours.
	for i in 1 2 3; do
		eventually ours "$base$i"
	done
	block_on "$base" RESTART_GRACE >hold
	sh hold >out 2>err 3>&- 4>&-
	cat out err
	grep -qE '^nightly +held .* sh ' out
	[[ $(<err) == "redlock-run: redis://127.0.0.1:${base}2: "* ]]
	eventually ports_free "$base"
}

# all_well PID...: these end, each with status 0.
all_well() {
	local pid
	for pid; do
		eventually 40 gone "$pid"
		wait "$pid"
	done
}

# queued NAME N: so many wait for that lock.
queued() {
	[[ $(redis zcard "{redlock:$1}:~queue") == "$2" ]]
}

# slot_taken NAME N: that slot, from the second on, is somebody's.
slot_taken() {
	[[ $(redis exists "{redlock:$1}:~$2") == 1 ]]
}

# README's stand-ins write down that they run, and end when there is enough.
stand_in() {
	cat >"$1" <<-END
		#!/bin/sh
		echo ${1%.sh} >>log
		until [ -e enough ]; do sleep 0.02; done
	END
	chmod +x "$1"
}

# logged N: so many have begun.
logged() {
	[[ $(wc -l <log) == "$1" ]]
}

@test "README says who holds a lock as the program does" {
	local n pids=() generic='s/[^ ]+@[^ ]+ pid [0-9]+/WHO/
		s/for [0-9.a-z]+/for TIME/; s/lease [0-9.a-z]+ left/lease TIME left/'
	stand_in reindex.sh
	block 'reindex -w' >script
	for n in 0 1 2; do
		sh script 3>&- &
		pids+=($!)
		eventually held reindex
		eventually queued reindex "$n"
	done
	run -75 redlock -k reindex -- true
	diff <(sed -E "$generic" <<<"$output") \
	    <(block '; -w waits' | sed -E "$generic")
	touch enough
	all_well "${pids[@]}"
	logged 3
}

@test "README's daemon runs on one host, the next one follows, whether it ends or is killed" {
	local host pids=()
	cat >bin/mydaemon <<-'END'
		#!/bin/sh
		echo "$HOST" >>log
		echo $$ >pid
		until [ -e "end-$HOST" ]; do sleep 0.02; done
	END
	chmod +x bin/mydaemon
	block '[Service]' | sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' |
		sed -n "s|^ExecStart=/usr/local/bin/|exec $PWD/bin/|p" >service
	# So that the test is soon over.
	sed -i 's/-t 15s/-t 3s/' service
	grep -q -e '-t 3s' service
	for host in one two three; do
		HOST=$host sh service >>said 2>&1 3>&- 4>&- &
		pids+=($!)
		eventually held leader
		eventually queued leader $((${#pids[@]} - 1))
	done
	eventually logged 1
	kill -KILL "${pids[0]}"
	eventually logged 2
	touch end-two
	eventually logged 3
	wait "${pids[1]}"
	touch end-three
	wait "${pids[2]}"
	[[ $(<log) == $'one\ntwo\nthree' ]]
}

@test "README's reports run side by side, and its migration alone" {
	local pids=()
	stand_in report.sh
	stand_in migrate.sh
	block report.sh >script
	sed -n '$p' script >migrate
	sed -n 1p script >report
	sh report 3>&- &
	pids+=($!)
	sh report 3>&- &
	pids+=($!)
	eventually logged 2
	sh migrate 3>&- &
	pids+=($!)
	eventually queued tables 1
	sh report 3>&- &
	pids+=($!)
	eventually queued tables 2
	touch enough
	all_well "${pids[@]}"
	[[ $(<log) == $'report\nreport\nmigrate\nreport' ]]
}

@test "README's heavy job runs three times at a time" {
	local i pids=()
	stand_in encode.sh
	block encode.sh >script
	for i in 1 2 3 4; do
		file=$i sh script 3>&- &
		pids+=($!)
	done
	eventually logged 3
	eventually queued encode 1
	redlock --status -k encode >shown
	[[ $(grep -c ' encode.sh ' shown) == 3 ]]
	logged 3
	touch enough
	all_well "${pids[@]}"
	logged 4
}

@test "the man page has README's examples of waiting" {
	local line
	diff <(block '[Service]') \
	    <(sed -n '/^\[Service\]/,/^\.Ed/p' "$man" | grep -v '^\.Ed' |
		sed 's/\\e$/\\/')
	{ block report.sh && block encode.sh; } >examples
	[[ $(wc -l <examples) == 3 ]]
	while IFS= read -r line; do
		grep -xF "$line" "$man"
	done <examples
}

@test "README's status table has the columns of the program's" {
	hold nightly
	diff <(block --status | sed -n 2p | tr -s ' ') \
	    <(redlock --status | sed -n 1p | tr -s ' ')
	# And the man page describes each.
	diff <(sed -n '/^\.Sh STATUS/,/^\.Sh EX/p' "$man" |
		sed -nE 's/^\.It Sy ([A-Z]+) .*/\1/p') \
	    <(redlock --status | sed -n 1p | tr -s ' ' '\n')
}

permissions_of_man() {
	sed -n '/^~redlock:/,/^\.Ed/p' "$man" | grep -v '^\.' | paste -sd ' '
}

@test "the permissions in the man page are those of the commands that are sent" {
	grep -ohE "call\('[A-Z]+'" "$top"/src/lua/*.lua | cut -d "'" -f 2 |
		tr '[:upper:]' '[:lower:]' >sent
	printf '%s\n' eval blpop info >>sent
	diff <(sort -u sent) \
	    <(permissions_of_man | tr ' ' '\n' | sed -n 's/^+//p' | sort)
}

@test "the permissions in the man page are enough, and those that the program names" {
	local other=unix://$BATS_FILE_TMPDIR/other.sock permissions how waiters=()
	permissions=$(permissions_of_man)
	[[ $permissions == *' +'* ]]
	echo 'until [ -e enough ]; do sleep 0.02; done' >enough.sh
	# shellcheck disable=SC2086
	redis acl setuser default reset on nopass $permissions
	eventually redlock -k k -t 1s --restart-grace 1s -- true
	run -1 redlock --status -k k
	run -77 redlock --status
	# In turn: a reader whose lease is renewed, a writer, two readers.
	redlock_bg -k k -s -t 3s -v -- sh enough.sh
	eventually held k
	for how in '' -s -s; do
		# shellcheck disable=SC2086
		redlock -k k $how -w 1m -- true 3>&- &
		waiters+=($!)
		eventually queued k ${#waiters[@]}
	done
	eventually grep -q 'renewed in' "$bg_err"
	run -0 redlock --status -k k
	[[ $output == *' shared '* ]]
	touch enough
	redlock_ended 0
	all_well "${waiters[@]}"
	# Both slots, and one who waits for one.
	rm enough
	redlock_bg -k k --slots 2 -- sh enough.sh
	eventually held k
	redlock -k k --slots 2 -- sh enough.sh 3>&- &
	waiters=($!)
	eventually slot_taken k 2
	redlock -k k --slots 2 -w 1m -- true 3>&- &
	waiters+=($!)
	eventually queued k 1
	run -75 redlock -k k --slots 2 -- true
	touch enough
	redlock_ended 0
	all_well "${waiters[@]}"
	redis acl setuser default +scan
	run -0 redlock --status
	run -77 redlock -k k -r "$REDLOCK_REDIS?db=1" -- true
	redis acl setuser default +select
	redlock -k k -r "$REDLOCK_REDIS?db=1" -- true
	# Among several servers, alone and against another candidate.
	export REDLOCK_RESTART_GRACE=0
	redlock -k k -r "$REDLOCK_REDIS" -r "$other" -- true
	redis set redlock:k 'redlock-run/1 token=rival try=1 since=1 x'
	redis zadd '{redlock:k}:~queue' 1 rival
	redis hset '{redlock:k}:~beat' rival 9000000000000000
	run -75 redlock -k k -r "$REDLOCK_REDIS" -r "$other" \
	    --node-timeout 100ms -- true
	redis acl setuser default -eval
	run -77 redlock -k k -- true
	[[ $output == *"$permissions" ]]
}

@test "the man page names the members that --json has" {
	local member
	redlock_bg -k k -- sleep 1000
	eventually redis exists redlock:k
	eventually redlock --status -k k
	for member in $(redlock --status --json |
		grep -oE '"[a-z_]+":' | tr -d '":' | sort -u); do
		sed -n '/^\.Sh STATUS/,/^\.Sh EX/p' "$man" |
			grep -qE "(Cm|,) $member( |\$)"
	done
	kill "$bg_pid"
	wait "$bg_pid" || true
}

@test "README's commands are goals of the Makefile" {
	local goal
	sed -nE 's/^(    |.*`)make ([a-z ]*[a-z]).*/\2/p' "$top/README.md" |
		tr ' ' '\n' >goals
	grep -qx demo goals
	while read -r goal; do
		grep -qE "^$goal:" "$top/Makefile"
	done <goals
}

@test "make demo shows two hosts, ends by itself and cleans up" {
	TMPDIR=$PWD "$top/tests/demo" >out 2>&1 </dev/null 3>&-
	grep -q 'web1> backup.sh is done' out
	grep -q 'web1> (exit status 0)' out
	grep -qE 'web2> redlock-run: nightly: held by .* \(backup.sh\) for' out
	grep -q 'web2> (exit status 75' out
	grep -qE 'web3> redlock-run: nightly: waiting for .* \(backup.sh\)' out
	grep -qE '^ *nightly +held .* backup.sh .* 1 ' out
	grep -q 'web3> upload.sh has its turn' out
	grep -q 'web3> (exit status 0)' out
	grep -qE '^ *nightly +free ' out
	# The lease went up again at least once.
	awk '/^ *[0-9.]+ s =/ { if ($1 > last && last) up = 1; last = $1 }
	END { exit !up }' out
	run compgen -G 'redlock-demo*'
	[[ -z $output ]]
}

@test "make demo cleans up when it is interrupted" {
	TMPDIR=$PWD env --default-signal=INT "$top/tests/demo" >out 2>&1 \
	    </dev/null 3>&- &
	eventually grep -q 'web3> redlock-run: nightly: waiting' out
	kill -INT "$!"
	local status=0
	wait "$!" || status=$?
	[[ $status -eq 130 ]]
	run compgen -G 'redlock-demo*'
	[[ -z $output ]]
}
