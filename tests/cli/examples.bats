#!/usr/bin/env bats
#
# The examples of README and manuals run here as they stand there.

# shellcheck disable=SC2016,SC2030,SC2031,SC2046,SC2154

load ../lib/common
load ../lib/readme

setup_file() { readme_host_start; }
setup() { readme_host_reset; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

## Cron

# cron_at TABLE: a host of its own whose cron has that table and no other, and
# whose clock comes to two at night in four seconds.
cron_at() {
	mkdir -p "$1.d/crontabs" "$1.d/run" "$1.d/none"
	cp "$1" "$1.d/crontabs/root"
	chmod 600 "$1.d/crontabs/root"
	"${host[@]}" unshare -m sh -c '
		mount --make-rprivate /
		mount --bind "$1/run" /run
		mount --bind "$1/none" /etc/cron.d
		mount --bind /dev/null /etc/crontab
		mount --bind "$1" /var/spool/cron
		exec faketime -f "@2026-11-20 01:59:20 x10" cron -f
	' sh "$PWD/$1.d" >>cron.out 2>&1 &
	eventually test -s "$1.d/run/crond.pid"
}

# runs_ended N: so many runs of redlock-run have.
runs_ended() {
	[[ $(wc -l <statuses) == "$1" ]]
}

@test "crontab example: one host makes the backup, the other skips it" {
	needs_root
	"${host[@]}" sh -c 'command -v cron && command -v faketime' ||
		skip "needs cron and faketime"
	readme_program redlock-run <<-END
		#!/bin/sh
		/usr/bin/redlock-run "\$@" >>$PWD/said 2>&1
		echo "\$?" >>$PWD/statuses
	END
	readme_stand_in backup.sh
	readme_block REDLOCK_REDIS=redis >one
	cp one two
	cron_at one
	cron_at two
	eventually readme_logged 1
	# The other host's is over at once, and a success.
	eventually runs_ended 1
	[[ $(<statuses) == 0 ]]
	touch enough
	eventually runs_ended 2
	kill "$(<one.d/run/crond.pid)" "$(<two.d/run/crond.pid)"
	[[ $(<statuses) == $'0\n0' && $(<log) == backup && ! -s said ]]
	# For a minute no host makes it again.
	[[ $(redis pttl redlock:nightly) -gt 30000 ]]
}

@test "redlock-run(1) has README's crontab line" {
	grep -F "$(readme_block REDLOCK_REDIS=redis | tail -n 1)" "$top/man/redlock-run.1"
}

## systemd

# unit NAME: the file of that name, and in $start its command.
# shellcheck disable=SC2206,SC2207
unit() {
	readme_block "/$1" >"$1"
	sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' "$1" >joined
	read -ra start < <(sed -n 's/^ExecStart=//p' joined)
	start=(env $(sed -n 's/^Environment=//p' joined) "${start[@]}")
}

# patient UNIT: systemd waits for longer than redlock-run does.
patient() {
	local kill_after
	kill_after=$(redlock --help | grep -A 1 -e --kill-after |
		grep -oE 'default: [0-9]+s' | tr -dc 0-9)
	((kill_after > 0))
	grep -qx KillMode=mixed "$1"
	(($(sed -n 's/^TimeoutStopSec=//p' "$1") > kill_after))
}

@test "systemd timer example: one host makes the backup, the others name it" {
	local first start
	readme_stand_in backup.sh
	unit backup.service
	patient backup.service
	"${host[@]}" "${start[@]}" 2>said &
	first=$!
	eventually readme_logged 1
	run "${host[@]}" "${start[@]}"
	grep -qx "SuccessExitStatus=$status" backup.service
	[[ $output == 'redlock-run: nightly: held by '*'(backup.sh)'* ]]
	# With KillMode=mixed a stop is a TERM for the first process alone.
	kill -TERM "$first"
	eventually gone "$first"
	run wait "$first"
	[[ $status -eq 143 && ! -s said && $(<log) == backup ]]
}

@test "daemon example: it runs on one host, and the next follows when it or its host dies" {
	local name pids=() start
	readme_program mydaemon <<-END
		#!/bin/sh
		echo "\$HOST" >>$PWD/log
		until [ -e "$PWD/end-\$HOST" ]; do sleep 0.02; done
	END
	unit mydaemon.service
	patient mydaemon.service
	for name in one two three four; do
		"${host[@]}" env HOST="$name" "${start[@]}" 2>>said &
		pids+=($!)
		eventually held leader
		eventually readme_queued leader $((${#pids[@]} - 1))
	done
	eventually readme_logged 1
	[[ $(redis pttl redlock:leader) -le 15000 ]]
	kill -KILL "${pids[0]}"
	# The 15 seconds pass.
	redis pexpire redlock:leader 1
	eventually readme_logged 2
	touch end-two
	eventually readme_logged 3
	wait "${pids[1]}"
	# A stop: of a leader, and of one that stands by.
	kill -TERM "${pids[2]}"
	eventually readme_logged 4
	touch end-four
	readme_all_well "${pids[3]}"
	run wait "${pids[2]}"
	[[ $status -eq 143 ]]
	[[ $(<log) == $'one\ntwo\nthree\nfour' ]]
}

@test "systemd accepts every line of the example units" {
	local name
	needs systemd-analyze systemd
	for name in backup.service backup.timer mydaemon.service; do
		readme_block "/$name" >"$name"
		[[ -s $name ]]
		run "${host[@]}" systemd-analyze verify --man=no "./$name"
		[[ $status -eq 0 && -z $output ]]
	done
	run -0 systemd-analyze calendar --iterations=2 \
	    "$(sed -n 's/^OnCalendar=//p' backup.timer)"
	[[ $(grep -c ' 02:00:00 ' <<<"$output") -ge 2 ]]
}

## Scripts

@test "script example: a script that locks itself does so, however it is started" {
	local first
	readme_block REDLOCK_PID >lock-itself
	cat >>lock-itself <<-END
		echo "\$REDLOCK_KEY \$# \$2" >>$PWD/log
		until [ -e $PWD/enough ]; do sleep 0.05; done
	END
	chmod +x lock-itself
	"${host[@]}" ./lock-itself one 'two  words' >out &
	first=$!
	eventually readme_logged 1
	run -75 "${host[@]}" timeout 20 ./lock-itself three
	[[ $output == *"deploy: held by "*"(lock-itself)"* ]]
	touch enough
	readme_all_well "$first"
	[[ $(<out) == 'deploying one' ]]
	[[ $(<log) == 'deploy 2 two  words' ]]
	# From another job, with that job's variables.
	rm log
	"${host[@]}" redlock-run -k other -- sh -c './lock-itself a b; exit $?'
	[[ $(<log) == 'deploy 2 b' ]]
}

@test "deploy example: the script reports how the deploy ended" {
	local first
	readme_block 'case $(cat' >script
	deploy_exits() {
		printf '#!/bin/sh\n[ "$*" = production ] || exit 3\n%s\n' "$1" \
		    >deploy.sh
		chmod +x deploy.sh
		run "${host[@]}" sh script
	}
	deploy_exits 'exit 0'
	[[ $output == deployed ]]
	deploy_exits 'exit 1'
	[[ $output == 'failed with 1' ]]
	deploy_exits 'exit 75'
	[[ $output == 'failed with 75' ]]
	deploy_exits "$(cli del redlock:deploy)"
	[[ $output == *'the lock was lost, the deploy was stopped' ]]
	rm deploy.sh
	run "${host[@]}" sh script
	[[ $output == *'failed with 127' ]]
	readme_stand_in deploy.sh .
	"${host[@]}" sh script >out &
	first=$!
	eventually readme_logged 1
	run "${host[@]}" sh script
	[[ $output == *'somebody else is deploying' ]]
	touch enough
	readme_all_well "$first"
	[[ $(<out) == deployed ]]
}

# children_of PID
children_of() {
	cat "/proc/$1/task/$1/children"
}

@test "CI example: two deploys run one after the other, and a cancelled one not at all" {
	local i jobs=()
	readme_stand_in deploy.sh .
	readme_block 'run: exec redlock-run' >step
	sed -nE 's/^  run: //p' step >job
	[[ -s job ]]
	for i in 0 1 2; do
		"${host[@]}" env "$(sed -nE 's/^    (REDLOCK_REDIS): /\1=/p' step)" \
		    sh -e job 2>>said &
		jobs+=($!)
		eventually held deploy-prod
		eventually readme_queued deploy-prod "$i"
	done
	eventually readme_logged 1
	# Some runners signal only the process that they started.
	kill -TERM "${jobs[1]}"
	eventually readme_queued deploy-prod 1
	readme_logged 1
	touch enough
	readme_all_well "${jobs[0]}" "${jobs[2]}"
	wait "${jobs[1]}" || true
	[[ $(<log) == $'deploy production\ndeploy production' ]]
}

## A container

# container_file WORD: the words of that line of the Dockerfile.
container_file() {
	readme_block ENTRYPOINT | sed -n "s/^$1 \[\"\(.*\)\"\]$/\1/p" |
		sed 's/", "/\n/g'
}

# container [WORD...]: it is started, with these in place of its CMD.
container() {
	local entry cmd
	mapfile -t entry < <(container_file ENTRYPOINT)
	mapfile -t cmd < <(container_file CMD)
	[[ ${#entry[@]} -gt 1 && -n ${cmd[*]} ]]
	(($# == 0)) || cmd=("$@")
	"${host[@]}" unshare --pid --fork --kill-child --mount-proc \
	    env $(readme_block ENTRYPOINT | sed -n 's/^ENV //p') \
	    "${entry[@]}" "${cmd[@]}" 2>>said &
	containers+=($!)
}

@test "container example: it reaps processes, passes SIGTERM on and exits with 128+N" {
	local containers=() i
	readme_block ENTRYPOINT | grep -qx 'COPY worker /usr/local/bin/'
	# Its orphan dies while it looks.
	readme_program worker <<-END
		#!/bin/sh
		rm -f $PWD/orphan
		(sh -c 'echo \$\$ >$PWD/orphan' &)
		until [ -s $PWD/orphan ]; do sleep 0.02; done
		read -r orphan <$PWD/orphan
		while [ -d "/proc/\$orphan" ]; do sleep 0.02; done
		echo "\$PPID" >>$PWD/log
		exec sleep 1000
	END
	container
	eventually readme_logged 1
	[[ $(<log) == 1 ]]
	container
	eventually readme_queued worker 1
	container sh -c 'exit 7'
	eventually readme_queued worker 2
	container
	eventually readme_queued worker 3
	# Those that stand by can be stopped as well.
	kill -TERM $(children_of "${containers[3]}")
	eventually readme_queued worker 2
	kill -TERM $(children_of "${containers[0]}")
	eventually readme_logged 2
	kill -KILL $(children_of "$(children_of "${containers[1]}" | xargs)")
	for i in "${containers[@]}"; do
		eventually gone "$i"
		wait "$i" && echo 0 || echo "$?"
	done >statuses
	[[ $(<statuses) == $'143\n137\n7\n143' ]]
}

## The other sections

@test "three-server example: the lock is held while one of them is shut down" {
	local i
	readme_redis_server
	readme_block RESTART_GRACE=0 >script
	# In the reader's own shell, which keeps nothing.
	echo 'env' >>script
	"${host[@]}" sh script >out 2>err
	cat out err
	not grep REDLOCK_REDIS out
	grep -qE '^nightly +held .* redlock-run ' out
	[[ $(<err) == "redlock-run: redis://127.0.0.1:16792: "* ]]
	for i in 1 2 3; do
		eventually not "${host[@]}" redis-cli -p "1679$i" ping
	done
}

quick_start_waits() {
	[[ $("${host[@]}" redis-cli -p 16790 zcard '{redlock:hello}:~queue') == 1 ]]
}

@test "quick start example: the second run waits for the first" {
	local pids=()
	readme_redis_server
	readme_program make </dev/null
	ln -s /usr/bin/redlock-run .
	readme_program sleep <<-END
		#!/bin/sh
		[ "\$*" = 60 ] || exec /bin/sleep "\$@"
		echo "sleep \$*" >>$PWD/log
		until [ -e $PWD/enough ]; do /bin/sleep 0.02; done
	END
	readme_block 'sleep 60' >first
	readme_block 'echo my turn' >second
	"${host[@]}" sh first &
	pids+=($!)
	eventually readme_logged 1
	"${host[@]}" sh second >out 2>err &
	pids+=($!)
	eventually quick_start_waits
	touch enough
	readme_all_well "${pids[@]}"
	eventually not "${host[@]}" redis-cli -p 16790 ping
	grep -qE '^hello +held .* sleep ' out
	grep -qx 'my turn' out
	[[ $(<err) == 'redlock-run: hello: held by '*'(sleep)'* ]]
	not grep skipped out
}

@test "a busy lock names its holder as README shows" {
	local generic='s/[^ ]+@[^ ]+ pid [0-9]+/WHO/
		s/for [0-9.a-z]+/for TIME/; s/lease [0-9.a-z]+ left/lease TIME left/'
	readme_stand_in backup.sh
	"${host[@]}" redlock-run -k nightly backup.sh &
	eventually readme_logged 1
	run -75 "${host[@]}" redlock-run -k nightly -- ./backup.sh
	diff <(sed -E "$generic" <<<"$output") \
	    <(readme_block '; -w waits' | grep 'held by' | sed -E "$generic")
	"${host[@]}" redlock-run --status | as_shown >shown
	diff <(readme_block '; -w waits' | sed -n '/^LOCK/,$p' | as_shown) shown
	touch enough
	readme_all_well "$!"
}

@test "README's commands to look at locks and to intervene work" {
	local line
	"${host[@]}" redlock-run -k nightly true
	readme_block '# every second' | sed 's/ *#.*//' >lines
	[[ $(wc -l <lines) -ge 3 ]]
	while read -r line; do
		[[ $line == *--watch ]] || run -0 "${host[@]}" sh -c "$line || [ \$? -eq 1 ]"
	done <lines
}

@test "shared example: reports run side by side, and the migration alone" {
	local pids=()
	readme_stand_in report.sh .
	readme_stand_in migrate.sh .
	readme_block migrate.sh >script
	sed -n '$p' script >migrate
	sed -n 1p script >report
	"${host[@]}" sh report &
	pids+=($!)
	"${host[@]}" sh report &
	pids+=($!)
	eventually readme_logged 2
	"${host[@]}" sh migrate &
	pids+=($!)
	eventually readme_queued tables 1
	"${host[@]}" sh report &
	pids+=($!)
	eventually readme_queued tables 2
	touch enough
	readme_all_well "${pids[@]}"
	[[ $(<log) == $'report\nreport\nmigrate\nreport' ]]
}

@test "slots example: the heavy job runs three times at a time" {
	local i pids=()
	readme_stand_in encode.sh .
	readme_block encode.sh >script
	for i in 1 2 3 4; do
		"${host[@]}" env file="$i" sh script &
		pids+=($!)
	done
	eventually readme_logged 3
	eventually readme_queued encode 1
	"${host[@]}" redlock-run --status -k encode >shown
	[[ $(grep -c ' encode.sh ' shown) == 3 ]]
	readme_logged 3
	touch enough
	readme_all_well "${pids[@]}"
	readme_logged 4
}

@test "long job example: its lease may grow to half an hour" {
	readme_stand_in archive.sh
	readme_block archive.sh >script
	"${host[@]}" sh script &
	eventually readme_logged 1
	"${host[@]}" redlock-run --status -v archive >shown
	grep -q 'archive\.sh).* left, at most 30m$' shown
	touch enough
	readme_all_well "$!"
}

@test "database example: its two commands never run side by side" {
	local pids=()
	readme_stand_in backup.sh .
	readme_stand_in reindex.sh .
	readme_block reindex.sh >script
	sed -n 1p script >backup
	sed -n 2p script >reindex
	"${host[@]}" sh backup &
	pids+=($!)
	eventually readme_logged 1
	"${host[@]}" sh reindex &
	pids+=($!)
	eventually readme_queued database 1
	touch enough
	readme_all_well "${pids[@]}"
	[[ $(<log) == $'backup\nreindex' ]]
}

@test "starts example: the sixth start in a minute waits, though the others have ended" {
	local i pids=()
	readme_stand_in call.sh .
	touch enough
	readme_block call.sh >script
	for i in 1 2 3 4 5; do
		"${host[@]}" sh script
	done
	"${host[@]}" sh script &
	eventually readme_queued api 1
	readme_logged 5
	# The minute of one of them passes.
	redis pexpire '{redlock:api}:~3' 1
	readme_all_well "$!"
	readme_logged 6
}

@test "later example: the lock stays until --break, and the history names who released it" {
	local who
	who=$(id -un)@$(uname -n)
	readme_block 'printenv REDLOCK_TOKEN' >take
	readme_block 'cat staging.token' >release
	"${host[@]}" sh take
	run -75 "${host[@]}" redlock-run -k staging -- true
	[[ $output == *'job 17'* ]]
	[[ $(redis pttl redlock:staging) -gt 7100000 ]]
	"${host[@]}" redlock-run -k staging -w inf -- true &
	eventually readme_queued staging 1
	"${host[@]}" sh release
	readme_all_well "$!"
	"${host[@]}" redlock-run --history staging >shown
	grep -qE " printenv: job 17 .* 0, released by $who\$" shown
	run "${host[@]}" redlock-run --history staging --json
	json 'len(d) == 2 and d[0]["released_by"] is None'
	json "d[1]['released_by'] == '$who' and d[1]['broken_by'] is None"
	json 'd[1]["status"] == 0 and d[1]["ended"] == "exited"'
}

@test "address example: clients get the address of the leader" {
	needs jq
	readme_stand_in mydaemon
	readme_block 'uname -n' >lead
	readme_block 'jq -r' >ask
	"${host[@]}" sh lead &
	eventually readme_logged 1
	[[ $("${host[@]}" sh ask) == "$(uname -n):8080" ]]
	touch enough
	readme_all_well "$!"
}

@test "pool example: each run takes another of the databases, and the fourth none" {
	local i pids=()
	readme_stand_in check.sh .
	readme_block 'for name in test1' >script
	for i in 1 2 3; do
		"${host[@]}" sh script &
		pids+=($!)
		eventually readme_logged "$i"
	done
	{ cat script; echo 'exit "$status"'; } >fourth
	run -99 "${host[@]}" sh fourth
	touch enough
	readme_all_well "${pids[@]}"
	[[ $(<log) == $'check test1\ncheck test2\ncheck test3' ]]
}

@test "pool example with numbers: each run has the number of another database" {
	local i pids=()
	readme_stand_in check.sh .
	readme_block 'REDLOCK_SLOT' >script
	for i in 1 2 3; do
		"${host[@]}" sh script &
		pids+=($!)
		eventually readme_logged "$i"
	done
	touch enough
	readme_all_well "${pids[@]}"
	[[ $(<log) == $'check test1\ncheck test2\ncheck test3' ]]
}

@test "staging example: the next job sees the holder of the database" {
	local first
	readme_stand_in test.sh .
	readme_block 'CI_JOB_URL' >script
	"${host[@]}" env CI_JOB_URL=https://ci.example/17 sh script &
	first=$!
	eventually readme_logged 1
	"${host[@]}" env CI_JOB_URL=https://ci.example/18 sh script 2>said &
	eventually grep -q 'test.sh: https://ci.example/17' said
	touch enough
	readme_all_well "$first" "$!"
	readme_logged 2
}

@test "freeze example: as long as the shell runs, a deploy is refused and sees the message" {
	readme_block 'frozen for the audit' >script
	mkfifo typed
	"${host[@]}" sh script <typed &
	local freeze=$!
	exec 5>typed
	eventually "${host[@]}" redlock-run -q --status deploy
	run -75 "${host[@]}" redlock-run -k deploy -- true
	[[ $output == *'(bash: frozen for the audit)'* ]]
	exec 5>&-
	readme_all_well "$freeze"
}

@test "every pasteable block of README and manual runs in a test" {
	local block word words n=0
	mapfile -t words < <(grep -ohE "\<readme_block ('[^']+'|[^ )]+)" \
	    "$BATS_TEST_DIRNAME"/{examples,config}.bats \
	    "$BATS_TEST_DIRNAME/../redis/permissions.bats" |
		sed -E "s/^readme_block '?([^']*)'?/\1/")
	words+=(/backup.service /backup.timer /mydaemon.service)
	{
		sed -nE '/^```[a-z]+$/,/^```$/p' "$top/README.md"
		sed -n '/^\.Sh EXAMPLES/,$p' "$top/man/redlock-run.7" |
			sed -n 's/^\.Bd -literal.*/```x/; s/^\.Ed/```/; /^```x/,/^```$/p'
	} | awk '/^```[a-z]/ { file = "pasted-" n++; next }
	/^```$/ { close(file); next }
	{ print >file }'
	for block in pasted-*; do
		grep -q 'runitor\|mydaemon$' "$block" && continue # see below
		for word in "${words[@]}"; do
			grep -qF -e "$word" "$block" && break
		done || { cat "$block" && false; }
		n=$((n + 1))
	done
	((n >= 10))
}

## Output of the program

# as_shown: replaces values that differ from run to run by names.
as_shown() {
	sed -E -e 's/ +/ /g' -e 's/[^ ]+@[^ ]+( pid [0-9]+)?/WHO/g' \
	    -e 's/ ([0-9]+[hms]+)+\>/ TIME/g' -e 's/ [0-9]{16}$/ FENCE/'
}
