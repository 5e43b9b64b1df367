#!/usr/bin/env bats
# redlock-run inside redlock-run: the same lock needs no second lease.
# shellcheck disable=SC2154,SC2016,SC2034,SC2030,SC2031

load ../lib/one_redis
load ../lib/process

# nested_run: it took $ms milliseconds.
nested_run() {
	local start
	start=$(now_us)
	redlock -k a -- "$REDLOCK_RUN" -k a -- true
	ms=$((($(now_us) - start) / 1000))
}

# bats test_tags=quick
@test "a nested run of the same lock starts at once, without deadlock" {
	run -7 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -k a -- sh -c 'echo in; exit 7'
	[ "$output" = in ]
	[ -z "$stderr" ]
	not held a
	in_time 500 nested_run
}

@test "an empty or malformed REDLOCK_TOKEN makes no nested run" {
	local site word

	site=$(redlock -k a -- sh -c 'echo "$REDLOCK_SITE"')
	for word in '' x; do
		redis set redlock:a "redlock-run/2 token=$word try=1 since=1 pid=1 host=h user=u command=c" px 60000
		run -75 --separate-stderr env REDLOCK_TOKEN="$word" \
		    REDLOCK_KEY=a REDLOCK_SITE="$site" \
		    "$REDLOCK_RUN" -k a -- touch ran
		[ ! -e ran ]
	done
}

@test "a nested run execs its command: no second lease, no release" {
	redlock -k a -- sh -c '
		outer=$($ADMIN_CLI -s "$1" get redlock:a)
		"$2" -k a -- sh -c "echo \$PPID" >parent
		[ "$(cat parent)" = $$ ] || exit 10
		[ "$($ADMIN_CLI -s "$1" get redlock:a)" = "$outer" ]' \
	    sh "$BATS_FILE_TMPDIR/redis.sock" "$REDLOCK_RUN"
	not held a
}

@test "a nested run sets REDLOCK_PID anew and leaves the other variables as they are" {
	redlock -k a -- sh -c '
		env | grep ^REDLOCK | grep -v _PID | sort >outer
		"$1" -k a -- sh -c "
			[ \$REDLOCK_PID = \$PPID ] || exit 10
			env | grep ^REDLOCK | grep -v _PID | sort >inner"
		' sh "$REDLOCK_RUN"
	diff outer inner
}

@test "a script that wraps itself does so once, also inside another run" {
	cat >self <<-'END'
		#!/bin/sh
		[ "$REDLOCK_PID" = "$PPID" ] ||
			exec "$REDLOCK_RUN" -k a -- "$0" "$@"
		echo "ran $*" >>ran
	END
	chmod +x self
	export REDLOCK_RUN
	./self x
	redlock -k a -- sh -c './self y; ./self z'
	[ "$(cat ran)" = $'ran x\nran y\nran z' ]
}

@test "runs nest three deep" {
	redlock -k a -- "$REDLOCK_RUN" -k a -- "$REDLOCK_RUN" -k a -- \
	    touch started
	[ -e started ]
}

@test "a nested run exits with 126 or 127 if its command cannot run" {
	run -127 --separate-stderr redlock -k a -- "$REDLOCK_RUN" -k a -- ./no
	says ./no
	touch no
	run -126 --separate-stderr redlock -k a -- "$REDLOCK_RUN" -k a -- ./no
	says ./no
}

# bats test_tags=quick
@test "a nested run of another lock acquires it normally" {
	redlock -k a -- "$REDLOCK_RUN" -k b -- sh -c '
		$ADMIN_CLI -s "$1" exists redlock:a redlock:b >held' sh \
	    "$BATS_FILE_TMPDIR/redis.sock"
	[ "$(cat held)" = 2 ]
	not held b
}

@test "the same name under another prefix or on another server is another lock" {
	redis_start other
	may_use ''
	redlock -k a -- "$REDLOCK_RUN" --prefix other: -k a -- sh -c '
		$ADMIN_CLI -s "$1" exists redlock:a other:a >held' sh \
	    "$BATS_FILE_TMPDIR/redis.sock"
	[ "$(cat held)" = 2 ]
	redlock -k a -- "$REDLOCK_RUN" -k a \
	    -r "unix://$BATS_FILE_TMPDIR/other.sock" -- sh -c '
		$ADMIN_CLI -s "$1" exists redlock:a >held' sh \
	    "$BATS_FILE_TMPDIR/other.sock"
	[ "$(cat held)" = 1 ]
	redis_stop other
}

# inherit: a command whose environment is that of a run that is over.
inherit() {
	redlock -k a -- env -0 >old
	mapfile -d '' -t inherited < <(grep -z ^REDLOCK_ old)
}

@test "an inherited but stale REDLOCK_TOKEN is reported, and the lock acquired normally" {
	local inherited

	inherit
	run -0 --separate-stderr env "${inherited[@]}" "$REDLOCK_RUN" -k a -- \
	    sh -c 'echo "$REDLOCK_TOKEN"'
	says 'inherited REDLOCK_TOKEN is stale'
	[[ ${inherited[*]} != *"$output"* ]]
	run -0 --separate-stderr env "${inherited[@]}" "$REDLOCK_RUN" -q -k a \
	    -- true
	silent
}

@test "an inherited but stale REDLOCK_TOKEN does not open a lock held by another run" {
	local inherited

	inherit
	hold a
	run -75 --separate-stderr env "${inherited[@]}" "$REDLOCK_RUN" -k a -- \
	    touch started
	[ ! -e started ]
	let_go
}

@test "an inherited but stale REDLOCK_TOKEN does not open a lock in its cooldown" {
	local inherited

	redlock -k a --min-hold 1h -- env -0 >old
	mapfile -d '' -t inherited < <(grep -z ^REDLOCK_ old)
	run -75 --separate-stderr env "${inherited[@]}" "$REDLOCK_RUN" -k a -- \
	    touch started
	[ ! -e started ]
}

@test "incomplete or malformed inherited variables are ignored" {
	hold a
	local token
	token=$(redis get redlock:a | sed 's/.*token=\([^ ]*\).*/\1/')
	REDLOCK_TOKEN=$token run -75 redlock -k a -- touch started
	REDLOCK_TOKEN=$token REDLOCK_KEY=a run -75 redlock -k a -- touch started
	REDLOCK_TOKEN=$token REDLOCK_KEY=a REDLOCK_SITE=x \
	    run -75 redlock -k a -- touch started
	[ ! -e started ]
	let_go
}

@test "a nested run may name any one of the outer run's locks" {
	redlock -k b -- sh -c '
		REDLOCK_KEY="$1" "$REDLOCK_RUN" -k b -- touch started' sh \
	    $'a\nb\nc'
	[ -e started ]
	run -75 redlock -k b -- sh -c '
		REDLOCK_KEY="$1" "$REDLOCK_RUN" -k b -- true' sh $'a\nbb\nc'
	redlock -k b -- sh -c '
		REDLOCK_KEY="$1" "$REDLOCK_RUN" -k b -- true' sh $'bb\nb'
}

# waiting: a run waits for the lock a.
waiting() {
	[ "$(redis zcard '{redlock:a}:~queue')" = 1 ]
}

@test "a daemon that COMMAND left behind is not covered by COMMAND's lock" {
	redlock_bg -k a -- sh -c '
		setsid -f sh -c "\"\$REDLOCK_RUN\" -k a -- touch jumped
			echo \$? >status
			exec \"\$REDLOCK_RUN\" -k a -w 60 -- sh -c \
			    \"echo \\\$REDLOCK_TOKEN >inner\"" 2>said
		echo "$REDLOCK_TOKEN" >outer
		until [ -e go ]; do sleep 0.02; done'
	eventually waiting
	[ "$(cat status)" = 75 ]
	[ ! -e inner ]
	grep -q "^redlock-run: a: process $bg_pid holds the lock but does not wait for this daemon" said
	touch go
	redlock_ended 0
	eventually test -s inner
	not diff outer inner
	[ ! -e jumped ]
	eventually not held a
}

@test "a daemon that starts before its parent has ended is not covered by COMMAND's lock" {
	# As setsid -f does where the parent gets no processor before its child runs.
	cat >daemon.py <<-'END'
		import os, sys, time
		if os.fork() == 0:
		    os.setsid()
		    os.execvp(sys.argv[1], sys.argv[1:])
		end = time.monotonic() + 0.5
		while time.monotonic() < end:
		    pass
	END
	redlock -k a -- sh -c '
		/usr/bin/python3 daemon.py sh -c "\"\$REDLOCK_RUN\" -k a -- touch jumped
			echo \$? >new; mv new status" 2>said
		until [ -e status ]; do sleep 0.02; done'
	[ "$(cat status)" = 75 ]
	[ ! -e jumped ]
	grep -q 'holds the lock but does not wait for this daemon' said
}

@test "a nested run that cannot see whether its outer run waits for it reports at once why it waits" {
	local why='redlock-run: a: held by the run that started us, as far as we can see; if so, this wait ends only with it: see "Runs inside runs" in redlock-run(7)'
	unshare -pf --mount-proc true 2>/dev/null ||
		skip "no pid namespace can be made"
	redlock_bg -k a -- unshare -pf --mount-proc "$REDLOCK_RUN" -k a \
	    -w inf -- true
	eventually waiting
	[ "$(head -n 1 "$bg_err")" = "$why" ]
	kill -TERM "$bg_pid"
	redlock_ended 143
	run -75 --separate-stderr redlock -k a -- unshare -pf --mount-proc \
	    "$REDLOCK_RUN" -q -k a -w 100ms -- true
	silent
	# So does a daemon, which may wait for a run that has all the time.
	redlock_bg -k a -- sh -c '
		setsid -f "$REDLOCK_RUN" -k a -w 60 -- true
		until [ -e go ]; do sleep 0.02; done'
	eventually waiting
	[ "$(head -n 1 "$bg_err")" = "$why" ]
	touch go
	redlock_ended 0
	eventually not held a
}

# bare ARG...: redlock-run for the same lock, as a command line without variables.
bare() {
	printf '%q ' "$REDLOCK_RUN" --config /dev/null -r "$REDLOCK_REDIS" -k a "$@"
}

# Ways to start a process whose environment is new, and to wait for it.
declare -gA renewed=(
	["env -i"]='env -i %s; :'
	["env -i in its place"]='exec env -i %s'
	["setsid -w"]='setsid -w env -i %s; :'
	["an orphan"]='(sleep 0.2; env -i %s) & '
)
((EUID != 0)) ||
	renewed["su -"]='su - -c "%s"'
! sudo -n true 2>/dev/null ||
	renewed["sudo"]='sudo -n %s; :'

@test "a run inside a run that lost its variables reports at once that it waits for its outer run" {
	local way script
	for way in "${!renewed[@]}"; do
		echo "$way"
		# shellcheck disable=SC2059
		printf -v script "${renewed[$way]}" "$(bare -w inf -- true)"
		redlock_bg -k a -- sh -c "$script"
		eventually waiting
		eventually test -s "$bg_err"
		[ "$(head -n 1 "$bg_err")" = "redlock-run: a: held by the run that started us, as far as we can see; if so, this wait ends only with it: see \"Runs inside runs\" in redlock-run(7)" ]
		redis del redlock:a
		eventually gone "$bg_pid"
	done
	# Without -w it does not advise to wait.
	run -75 --separate-stderr redlock -k a -- env -i sh -c "$(bare -- true)"
	says '; it is the run that started us, as far as we can see: see "Runs inside runs" in redlock-run(7)'
	[[ $stderr != *'-w waits'* ]]
}

@test "a daemon without variables does not take the holder for the run that started it" {
	redlock_bg -k a -- sh -c "setsid -f env -i $(bare -w 60 -- true) 2>said
	    until [ -e go ]; do sleep 0.02; done"
	eventually test -s said
	grep -q '^redlock-run: a: waiting for ' said
	touch go
	redlock_ended 0
	eventually not held a
	not grep 'started us' said
}

@test "variables that reach a process elsewhere do not open the lock" {
	local inherited there

	redlock_bg -k a -- sh -c 'env -0 >new; mv new old
	    until [ -e go ]; do sleep 0.02; done'
	eventually test -s old
	mapfile -d '' -t inherited < <(grep -z ^REDLOCK_ old)
	there=(env "${inherited[@]}" "$REDLOCK_RUN" -k a -- touch jumped)
	run -75 --separate-stderr "${there[@]}"
	says "process $bg_pid holds the lock but does not wait for this daemon"
	if unshare --uts true 2>/dev/null; then
		run -75 --separate-stderr unshare --uts \
		    sh -c 'hostname other && exec "$@"' sh "${there[@]}"
		says "process $bg_pid holds the lock but does not wait for this daemon"
	fi
	[ ! -e jumped ]
	touch go
	redlock_ended 0
}

@test "the outer run's pid with another start is another process" {
	redlock_bg -k a -- sh -c '
		value=$($ADMIN_CLI -s "$1" get redlock:a)
		other=$(echo "$value" | sed "s/ start=[0-9]*/ start=1/")
		[ "$value" != "$other" ] || exit 10
		$ADMIN_CLI -s "$1" set redlock:a "$other" keepttl
		"$REDLOCK_RUN" -k a -- touch jumped 2>said
		echo $? >status
		$ADMIN_CLI -s "$1" set redlock:a "$value" keepttl' sh \
	    "$BATS_FILE_TMPDIR/redis.sock"
	redlock_ended 0
	[ "$(cat status)" = 75 ]
	[ ! -e jumped ]
	grep -q "process $bg_pid holds the lock but does not wait" said
}

@test "a process that COMMAND waits for in another session is covered by its lock" {
	redlock -k a -- sh -c 'setsid -w "$REDLOCK_RUN" -k a -- touch waited; :'
	[ -e waited ]
	redlock -k a -- sh -c '(sleep 0.5
	    setsid -w "$REDLOCK_RUN" -k a -- touch orphan; :) & '
	[ -e orphan ]
}

@test "a nested run warns that its time limits have no effect" {
	run -0 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -k a --min-hold 1h -- true
	says --min-hold
	not held a
	run -0 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -q -k a --max-run 1h -- true
	silent
}

@test "a nested run does not trust REDLOCK_TOKEN if it cannot reach the servers" {
	local inherited

	inherit
	redis_stop
	run -69 --separate-stderr env "${inherited[@]}" "$REDLOCK_RUN" -k a -- \
	    touch started
	[ ! -e started ]
	redis_spawn
	eventually redis ping
}

@test "a nested command is stopped like any other process of COMMAND" {
	redlock_bg -k a -t 3s --node-timeout 3s --kill-after 100ms -- \
	    "$REDLOCK_RUN" -k a -- sh -c 'echo $$ >pid; exec sleep 1000'
	eventually test -s pid
	redis del redlock:a
	redlock_ended 79
	gone "$(cat pid)"
}

@test "a nested run inside a slot may ask for the same number of slots only" {
	redlock -k a --slots 3 -- "$REDLOCK_RUN" -k a --slots 3 -- touch ran
	[ -e ran ]
	run -64 --separate-stderr redlock -k a --slots 3 -- \
	    "$REDLOCK_RUN" -k a -- touch jumped
	says 'a: one of 3 slots' '--slots 3'
	run -64 redlock -k a --slots 3 -- "$REDLOCK_RUN" -k a -s -- touch jumped
	run -64 redlock -k a --slots 3 -- \
	    "$REDLOCK_RUN" -k a --slots 2 -- touch jumped
	redlock -k a -- "$REDLOCK_RUN" -k a --slots 3 -- touch alone
	[ -e alone ]
	[ ! -e jumped ]
}
