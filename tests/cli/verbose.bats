#!/usr/bin/env bats
# Messages during a run: with -v for users who watch it, and those that wake an
# operator.
# shellcheck disable=SC2154,SC2016

load ../lib/common

setup_file() {
	redis_start
	redis_start two
	redis_start three
}

setup() {
	redis_reset
	redis_reset two
	redis_reset three
	cd "$BATS_TEST_TMPDIR" || exit
	server=unix://$BATS_FILE_TMPDIR/redis.sock
	three=(-r "$server" -r "unix://$BATS_FILE_TMPDIR/two.sock"
		-r "unix://$BATS_FILE_TMPDIR/three.sock" --restart-grace 0)
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# shape: stderr with numbers as N and this file's directory left out.
shape() {
	sed -E -e "s|$BATS_FILE_TMPDIR|DIR|g" -e 's/[0-9.]+(ms|s)\b/TIME/g' \
	    -e 's/(pid|fence) [0-9]+/\1 N/' <<<"$stderr"
}

# told N TEXT: the redlock_bg has said TEXT so many times.
told() {
	[[ $(grep -c -- "$2" "$bg_err") == "$1" ]]
}

@test "-v reports each event with lock, server and duration" {
	run -3 --separate-stderr redlock -v -k a -- sh -c 'exit 3'
	diff - <(shape) <<-'END'
		redlock-run: a: unix://DIR/redis.sock: connected, first reply after TIME
		redlock-run: a: acquired in TIME, fence N, from unix://DIR/redis.sock
		redlock-run: a: sh started, pid N
		redlock-run: a: 'sh' ended with status 3 after TIME
		redlock-run: a: released in TIME, on unix://DIR/redis.sock
	END
}

@test "-v reports which of several servers granted the lock" {
	local two
	redis_stop two
	run -0 --separate-stderr redlock -v -k a "${three[@]}" -- true
	[[ $(shape) == *'acquired in TIME, fence N, from unix://DIR/redis.sock, unix://DIR/three.sock'* ]]
	[[ $(shape) == *'released in TIME, on unix://DIR/redis.sock, unix://DIR/three.sock'* ]]
	for two in 'a: ' 'b: '; do
		run -0 --separate-stderr redlock -v -k b -k a -- true
		says "${two}acquired in" "${two}released in"
	done
}

@test "-v reports each signal passed on, and the one that killed COMMAND" {
	redlock_bg -v -k a -- sleep 1000
	eventually told 1 'a: sleep started, pid '
	kill -USR1 "$bg_pid"
	redlock_ended 138
	told 1 'a: signal 10 (User defined signal 1) passed on to sleep'
	told 1 "a: 'sleep' was killed by signal 10 (User defined signal 1) after"
}

@test "an outage is reported once while there is time to act, and so is its end" {
	redlock_bg -k a -t 9s --kill-after 100ms --node-timeout 2s -- \
	    sh -c 'until [ -e enough ]; do sleep 0.02; done'
	eventually held a
	redis_freeze
	eventually told 1 "a: cannot renew the lock: $server: no answer within 2s; stopping 'sh' in [0-9.m]*s unless a renewal succeeds"
	redis_thaw
	eventually told 1 "a: renewed again after .*; 'sh' runs on"
	touch enough
	redlock_ended 0
	[[ $(wc -l <"$bg_err") == 2 ]]
}

@test "an outage is reported with -q, and with --on-loss warn" {
	redlock_bg -k a -q -t 4s --node-timeout 1s --on-loss warn -- \
	    sh -c 'until [ -e enough ]; do sleep 0.02; done'
	eventually held a
	redis_kill
	eventually told 1 "a: cannot renew the lock: $server: .*; 'sh' runs on without it in [0-9.m]*s unless a renewal succeeds"
	eventually told 1 'a: lock lost: '
	touch enough
	redlock_ended 0
	told 1 'cannot renew'
}

@test "a cut connection is not reported as an outage" {
	redlock_bg -v -k a -t 30s -- \
	    sh -c 'until [ -e enough ]; do sleep 0.02; done'
	eventually told 1 'a: sh started'
	redis client kill type normal skipme yes
	eventually told 1 'renewed in'
	told 2 ': connected, '
	touch enough
	redlock_ended 0
	told 0 'cannot renew'
}

@test "a majority that is down is reported as an outage, a minority is not" {
	local first
	redlock_bg -k a -t 9s --kill-after 100ms --node-timeout 2s "${three[@]}" -- \
	    sh -c 'until [ -e enough ]; do sleep 0.02; done'
	eventually held a
	redis_stop two
	first=$(expiry redlock:a)
	eventually renewed_since "$first"
	redis_stop three
	eventually told 1 "a: cannot renew the lock: unix:.*/two.sock: .*; unix:.*/three.sock: .*; stopping"
	touch enough
	redlock_ended 0
	told 1 'cannot renew'
}

# renewed_since TIME: the lock expires later than that.
renewed_since() {
	(($(expiry redlock:a) > $1 + 20))
}

@test "a problem that several servers share is reported once" {
	redis_stop two
	redis_stop three
	rm -f "$BATS_FILE_TMPDIR"/{two,three}.sock
	run -69 --separate-stderr redlock -k a "${three[@]}" -- true
	says "two.sock: No such file or directory; unix://$BATS_FILE_TMPDIR/three.sock: the same"
}

@test "after a while a message names the processes that keep a lock" {
	redlock_bg -k a -- sh -c 'sleep 1000 & echo $! >pid'
	eventually test -s pid
	eventually told 1 "a: still held: 'sh' has ended, but its processes live on: sleep (pid $(<pid))"
	kill "$(<pid)"
	redlock_ended 0
	[[ $(wc -l <"$bg_err") == 1 ]]
}
