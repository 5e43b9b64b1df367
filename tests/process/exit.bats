#!/usr/bin/env bats
# EXIT STATUS: every status that is ours, and which one wins.
# shellcheck disable=SC2154,SC2016

load ../lib/common

setup_file() {
	redis_start_tcp redis
	export tcp=127.0.0.1:$redis_port
}

setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	# A short lease is no reason for a server to be quick.
	export REDLOCK_NODE_TIMEOUT=3s
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

## COMMAND's own

# bats test_tags=quick
@test "the exit status is COMMAND's own" {
	local n

	for n in 0 1 2 42 64 69 71 75 77 79 124 125 126 127 128 255; do
		run "-$n" --separate-stderr redlock -k a -- sh -c "exit $n"
		silent
		free a
	done
}

@test "a COMMAND killed by a signal makes redlock-run die of the same signal" {
	run -143 redlock -k a -- sh -c 'kill -TERM $$'
	free a
	run -137 redlock -k a -- sh -c 'kill -KILL $$'
	free a
}

## 64

# bats test_tags=quick
@test "64: a usage error" {
	run -64 --separate-stderr redlock -k a
	says COMMAND
	run -64 redlock -k a -t 1x -- true
}

@test "64: COMMAND is not started" {
	run -64 redlock -k a -t 1x -- touch started
	run -64 redlock -k 'a:~b' -- touch started
	[ ! -e started ]
}

## 69

# bats test_tags=quick
@test "69: no server listens on the socket" {
	run -69 --separate-stderr redlock -k a -r unix:///no/such/socket -- \
	    touch started
	says /no/such/socket
	[ ! -e started ]
}

@test "69: the server has stopped running" {
	redis_kill
	run -69 --separate-stderr redlock -k a -- touch started
	says redis.sock
	[ ! -e started ]
}

@test "69: the connection is refused" {
	redis_start_tcp other
	redis_stop other
	run -69 --separate-stderr redlock -k a -r "127.0.0.1:$redis_port" -- \
	    touch started
	says "127.0.0.1:$redis_port" \
	    "; see redlock-run --check -r redis://127.0.0.1:$redis_port"
	[ ! -e started ]
}

@test "69: the server does not answer in time" {
	redis_freeze
	run -69 --separate-stderr redlock -k a --node-timeout 100ms -- \
	    touch started
	says redis.sock
	[ ! -e started ]
}

@test "69: the host name does not resolve" {
	unshare -rn true || skip "needs network namespaces"
	# in a network of its own the query reaches no server
	run -69 --separate-stderr unshare -rn "$REDLOCK_RUN" -k a \
	    -r redis://no-such-host.invalid -- touch started
	says no-such-host.invalid
	[ ! -e started ]
}

@test "69: the reply came so late that less than half of the lease was left" {
	redlock -k a -- true # the server has the script
	redis_freeze
	redlock_bg -k a -t 1s --node-timeout 900ms -- touch started
	eventually connected "$bg_pid"
	sleep 0.6
	redis_thaw
	redlock_ended 69
	[ ! -e started ]
	eventually free a
}

@test "69: -q does not silence the message" {
	run -69 --separate-stderr redlock -q -k a -r unix:///no/such -- true
	says /no/such
}

## 71

@test "71: the process has no descriptors left" {
	ASAN_OPTIONS=detect_leaks=0 run -71 --separate-stderr bash -c '
		exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
		ulimit -n 4
		exec "$REDLOCK_RUN" -k a -- touch started'
	says ''
	[ ! -e started ]
	free a
}

@test "71: fork fails; the lock is released" {
	local user=54321

	needs_root	# to become a user without processes
	cp "$REDLOCK_RUN" "$BATS_TEST_TMPDIR/program"
	chmod 755 "$BATS_TEST_TMPDIR/program"
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR/test" "$BATS_TEST_TMPDIR"
	run -71 --separate-stderr env ASAN_OPTIONS=detect_leaks=0 \
	    setpriv --reuid "$user" --regid "$user" --clear-groups \
	    prlimit --nproc=0 -- \
	    "$BATS_TEST_TMPDIR/program" -r "$tcp" -k a -- touch started
	says ''
	[ ! -e started ]
	free a
}

## 75

# bats test_tags=quick
@test "75: another run holds the lock" {
	redis set redlock:a somebody px 60000
	run -75 --separate-stderr redlock -k a -- touch started
	says a
	[ ! -e started ]
	[ "$(redis get redlock:a)" = somebody ]
}

@test "-E changes the exit status for a busy lock and for nothing else" {
	redis set redlock:a somebody px 60000
	run -7 redlock -k a -E 7 -- true
	run -127 redlock -k b -E 7 -- no-such-command
	run -69 redlock -k a -E 7 -r unix:///no/such -- true
	run -64 redlock -E 7 -- true
}

@test "-q -E 0 skips a busy cron job in silence" {
	redis set redlock:a somebody px 60000
	run -0 --separate-stderr redlock -q -E 0 -k a -- touch started
	silent
	[ ! -e started ]
}

## 77

# bats test_tags=quick
@test "77: the password is missing or wrong" {
	redis acl setuser default resetpass '>s3cret'
	run -77 --separate-stderr redlock -k a -- touch started
	says redis.sock '; set it by REDISCLI_AUTH, '
	[[ $stderr == *': the server requires a password; '* ]]
	run -77 --separate-stderr redlock -k a -r "redis://:no@$tcp" -- \
	    touch started
	says "$tcp" '; correct the user or password in the URL, '
	run -77 --separate-stderr redlock -k a -r "redis://nobody:no@$tcp" -- \
	    touch started
	says "$tcp"
	[ ! -e started ]
}

@test "77: -q does not silence the message" {
	redis acl setuser default resetpass '>s3cret'
	run -77 --separate-stderr redlock -q -k a -- true
	says redis.sock
}

@test "77: the message names a command that the user may not use" {
	local command

	for command in eval set; do
		redis script flush
		redis acl setuser default "-$command"
		run -77 --separate-stderr redlock -k a -- touch started
		[[ ${stderr,,} == *"$command"* ]]
		says ''
		redis acl setuser default "+$command"
		free a
	done
	[ ! -e started ]
}

@test "77: the message names a key pattern that the user may not use" {
	redis acl setuser default resetkeys '~other:*'
	run -77 --separate-stderr redlock -k a -- touch started
	says redlock:
	[ ! -e started ]
	redis acl setuser default resetkeys '~*'
	free a
}

## 79

# bats test_tags=quick
@test "79: the lock was lost while COMMAND ran; COMMAND was stopped" {
	run -79 --separate-stderr redlock -k a -t 2s -- sh -c "
		$(cli del redlock:a) >/dev/null
		sleep 30
		touch too-long"
	says a
	[ ! -e too-long ]
}

@test "79: the release finds that the run no longer held the lock" {
	run -79 --separate-stderr redlock -k a -- sh -c \
	    "$(cli del redlock:a) >/dev/null"
	says a
	run -79 --separate-stderr redlock -k a -- sh -c \
	    "$(cli set redlock:a somebody px 60000) >/dev/null; exit 5"
	says a
	[ "$(redis get redlock:a)" = somebody ]
}

@test "79: -q does not silence the message" {
	run -79 --separate-stderr redlock -q -k a -- sh -c \
	    "$(cli del redlock:a) >/dev/null"
	says a
}

@test "--on-loss warn lets COMMAND run on, returns its status and prints one line" {
	run -5 --separate-stderr redlock -k a -t 2s --on-loss warn -- sh -c "
		trap 'touch terminated' TERM
		$(cli set redlock:a somebody px 60000) >/dev/null
		sleep 1.2
		exit 5"
	says a
	[ ! -e terminated ]
	[ "$(redis get redlock:a)" = somebody ]
}

## 124

# bats test_tags=quick
@test "124: --max-run stops COMMAND and releases the lock" {
	run -124 --separate-stderr redlock -k a --max-run 200ms -- sleep 30
	says a
	free a
}

@test "124: a COMMAND that ignores SIGTERM is killed after --kill-after" {
	local start

	start=$(now_us)
	run -124 redlock -k a --max-run 1s --kill-after 300ms -- \
	    sh -c 'trap "" TERM; while :; do sleep 0.05; done'
	(($(now_us) - start >= 1300000))
	free a
}

@test "a COMMAND that ends before --max-run keeps its status" {
	run -5 --separate-stderr redlock -k a --max-run 30s -- sh -c 'exit 5'
	silent
}

## 126, 127

# bats test_tags=quick
@test "126: COMMAND cannot be executed; the lock is released" {
	echo 'echo no' >script
	run -126 --separate-stderr redlock -k a -- ./script
	says ./script
	free a
	run -126 --separate-stderr redlock -k a -- /
	says /
	free a
}

# bats test_tags=quick
@test "127: COMMAND is not found; the lock is released" {
	run -127 --separate-stderr redlock -k a -- no-such-command
	says no-such-command
	free a
	run -127 --separate-stderr redlock -k a -- ./no/such/file
	says ./no/such/file
	free a
	run -127 --separate-stderr redlock -k a -- ''
	free a
}

@test "the message about a COMMAND that cannot be executed says why" {
	run -127 --separate-stderr env PATH=/nowhere "$REDLOCK_RUN" -k a -- ./none 3>&- 4>&-
	says "'./none' was not run: No such file or directory"
	run -127 --separate-stderr env PATH=/nowhere:/none "$REDLOCK_RUN" -k a -- true 3>&- 4>&-
	says "'true' was not run: not found in PATH=/nowhere:/none"
	printf '#!/bin/sh\r\ntrue\n' >script
	chmod +x script
	run -127 --separate-stderr redlock -k a -- ./script
	says "'./script' was not run: its interpreter '/bin/sh\\x0d' does not exist; the file's lines end in CR LF"
	run -127 --separate-stderr env PATH="$PWD" "$REDLOCK_RUN" -k a -- script 3>&- 4>&-
	says "its interpreter '/bin/sh\\x0d' does not exist"
	mkdir directory
	run -126 --separate-stderr redlock -k a -- ./directory
	says "'./directory' was not run: Is a directory"
}

@test "127: the message about a command line in one word mentions sh -c" {
	run -127 --separate-stderr redlock -k a -- 'echo hi'
	says "'echo hi' was not run" '; use sh -c for a command line in one word'
	run -127 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -k a -- 'echo hi'
	says '; use sh -c for a command line in one word'
	run -127 --separate-stderr redlock -k a -- no-such-command
	[[ $stderr != *'sh -c'* ]]
}

@test "--min-hold does not keep the lock after 126 or 127" {
	run -127 redlock -k a --min-hold 1h -- no-such-command
	free a
	run -126 redlock -k a --min-hold 1h -- /
	free a
}

## Which one wins

@test "79 takes precedence over 124" {
	# stopped for --max-run, not dead yet, and then the lock is gone
	run -79 redlock -k a -t 2s --max-run 1s --kill-after 20s -- sh -c "
		trap '$(cli del redlock:a) >/dev/null' TERM
		while :; do sleep 0.05; done"
}

@test "79 takes precedence over COMMAND's status" {
	run -79 redlock -k a -t 2s -- sh -c "
		trap 'exit 3' TERM
		$(cli del redlock:a) >/dev/null
		while :; do sleep 0.05; done"
}

@test "79 takes precedence over the signal that killed COMMAND" {
	run -79 redlock -k a -- sh -c \
	    "$(cli del redlock:a) >/dev/null; kill -KILL \$\$"
}

@test "124 takes precedence over COMMAND's status" {
	run -124 redlock -k a --max-run 200ms -- sh -c "
		trap 'exit 3' TERM
		while :; do sleep 0.05; done"
	free a
	run -124 redlock -k a --max-run 200ms -- sh -c "
		trap 'exit 0' TERM
		while :; do sleep 0.05; done"
}

@test "a release without reply gives COMMAND's status and one warning" {
	local start took

	start=$(now_us)
	run -5 --separate-stderr redlock -k a --node-timeout 1s -- sh -c "
		kill -STOP $(redis_pid)
		exit 5"
	took=$((($(now_us) - start) / 1000))
	says a
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
	# one node timeout, and some time for a busy machine
	((took < 3500))
	redis_thaw
	eventually free a
}

@test "a release that reaches no server gives COMMAND's status and one warning" {
	run -5 --separate-stderr redlock -k a --node-timeout 1s -- sh -c "
		kill -KILL $(redis_pid)
		exit 5"
	says a
	[ "$(wc -l <<<"$stderr")" -eq 1 ]
}
