#!/usr/bin/env bats
# Waiting in turn on one server that freezes, restarts, cuts connections or loses
# data.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
# bats file_tags=long

load ../lib/one_redis
load ../lib/queue

setup() {
	redis_reset
	waiters_setup
}

## Lost requests and replies

@test "a waiter makes up for a lost wake-up at its next heartbeat" {
	local began_us

	hold a -t 1h
	waiter_queues 1
	waiter_queues 2
	holder_kill
	began_us=$(now_us)
	redis del redlock:a
	waiters_served 1 2
	(($(now_us) - began_us < 9000000))
	eventually keys_left
}

@test "a wake list deleted by hand delays no waiter" {
	local began_us wake

	hold a
	waiter_queues 1
	waiter_queues 2
	eventually queue_blocked 2
	wake='{redlock:a}:~wake:'${token[1]}
	waiter_stop 1
	# so that the list is there and not yet read
	redis client kill type normal
	waiter_hand_over 1
	began_us=$(now_us)
	redis del "$wake"
	kill -CONT "${pid[1]}"
	waiters_served 1 2
	(($(now_us) - began_us < 9000000))
	eventually keys_left
}

@test "waiters keep their places when their connections are cut" {
	local before

	hold a
	waiter_queues 1
	waiter_queues 2
	waiter_queues 3
	before=$(redis zrange "$queue" 0 -1 withscores)
	eventually queue_blocked 3
	redis client kill type normal
	eventually queue_blocked 3
	[ "$(redis zrange "$queue" 0 -1 withscores)" = "$before" ]
	let_go
	waiters_served 1 2 3
	eventually keys_left
}

@test "all waiters are served after a FLUSHALL" {
	local name

	hold a -t 6s --kill-after 100ms --node-timeout 2s
	waiter_queues 1
	waiter_queues 2
	waiter_queues 3
	waiter_queues 4
	redis flushall
	redlock_ended 79
	for name in 1 2 3 4; do
		client_ends "$name" 0
	done
	[ ! -e overlap ]
	[ "$(wc -l <order)" = 4 ]
	eventually keys_left
}

@test "a queue deleted by hand is in its old order again at the next hand-over" {
	hold a
	waiter_queues 1
	waiter_queues 2
	waiter_queues 3
	redis del "$queue" "$beat"
	eventually queue_is 3
	let_go
	waiters_served 1 2 3
	eventually keys_left
}

@test "200 waiters of a server that restarts empty are served in the order of their tickets" {
	local name tickets i

	touch stay
	hold a
	for name in {1..200}; do
		waiter_start "$name" -q
	done
	eventually queue_is 200
	mapfile -t tickets < <(redis zrange "$queue" 0 -1)
	redis_restart
	redlock_ended 79
	eventually test -s order
	eventually queue_is 199
	rm stay
	for name in {1..200}; do
		client_ends "$name" 0
	done
	[ ! -e overlap ]
	for i in "${tickets[@]}"; do
		[ "$i" = "$(head -n 1 tokens)" ] || echo "$i"
	done >expected
	tail -n +2 tokens | diff - expected
	eventually keys_left
}

@test "waiters of a server that restarts with its data are served in their order" {
	local name

	hold a -t 1h
	for name in 1 2 3 4 5; do
		waiter_queues "$name"
	done
	redis save
	redis_kill
	redis_spawn
	eventually redis ping
	let_go
	waiters_served 1 2 3 4 5
	rm -f "$BATS_FILE_TMPDIR/redis.rdb"
	eventually keys_left
}

## Servers that cannot be reached

@test "a waiter tries a server that is down until the wait ends: 69" {
	local took

	redis_kill
	run -69 redlock -k a -- touch started
	took=$(now_us)
	run -69 --separate-stderr redlock -k a -w 3s -- touch started
	took=$(($(now_us) - took))
	says 'a: waiting for the servers: ' redis.sock
	((took >= 3000000 && took < 10000000))
	[ ! -e started ]
}

@test "a waiter tries a frozen server until the wait ends: 69, and no stale ticket stays" {
	local took

	redis_freeze
	took=$(now_us)
	run -69 --separate-stderr \
	    redlock -k a -w 2s --node-timeout 200ms -- touch started
	took=$(($(now_us) - took))
	says redis.sock
	((took >= 2000000 && took < 8000000))
	redis_thaw
	eventually answers_left
	[ ! -e started ]
}

# answers_left: the server has executed all requests, and nothing is left.
answers_left() {
	(($(scripts_run) > 0)) && keys_left
}

@test "a waiter whose server freezes ends with 69 after its wait, and its ticket goes" {
	local i took

	# several, since each is in another state when its time is over
	hold a -t 1h
	took=$(now_us)
	for i in 0 1 2 3 4 5; do
		waiter_start "$i" -w "9.$i" --node-timeout 300ms
	done
	eventually queue_is 6
	redis_freeze
	for i in 0 1 2 3 4 5; do
		client_ends "$i" 69
	done
	took=$(($(now_us) - took))
	((took >= 9000000 && took < 30000000))
	redis_thaw
	eventually 10 keys_left redlock:a
	[ ! -e order ]
	let_go
}

@test "a waiter whose server goes down ends with 69 after its wait" {
	local took

	hold a -t 1h
	took=$(now_us)
	waiter_queues 1 -w 4s
	redis_kill
	client_ends 1 69
	took=$(($(now_us) - took))
	((took >= 4000000 && took < 20000000))
	[ ! -e order ]
	redis_spawn
	touch let-go
	eventually gone "$bg_pid"
}

@test "a waiter is served by a server that comes back during the wait" {
	redis_kill
	waiter_start 1
	sleep 1
	redis_spawn
	waiters_served 1
	redis_freeze
	waiter_start 2 --node-timeout 200ms
	sleep 1
	redis_thaw
	waiters_served 1 2
	eventually keys_left
}

@test "waiters of a server that freezes for a while are served in their order" {
	hold a -t 1h
	waiter_queues 1 --node-timeout 1s
	waiter_queues 2 --node-timeout 1s
	waiter_queues 3 --node-timeout 1s
	redis_freeze
	sleep 7
	redis_thaw
	let_go
	waiters_served 1 2 3
	eventually keys_left
}

@test "a server that refuses access ends the wait at once" {
	local took

	redis acl setuser default resetpass '>s3cret'
	took=$(now_us)
	run -77 redlock -k a -w 5m -- touch started
	(($(now_us) - took < 5000000))
	[ ! -e started ]
}

## Servers that are far away

# far MS: the server is MS away each way, and wants a password.
far() {
	redis acl setuser default resetpass '>s3cret'
	cat >far.py <<-'END'
		import os, socket, sys, threading, time
		listen, server, ms = sys.argv[1:]
		def pump(a, b):
		    try:
		        while data := a.recv(65536):
		            time.sleep(int(ms) / 1000)
		            b.sendall(data)
		        b.shutdown(socket.SHUT_WR)
		    except OSError:
		        pass
		l = socket.socket(socket.AF_UNIX)
		l.bind(listen + ".new")
		l.listen(64)
		os.rename(listen + ".new", listen)
		while True:
		    c, s = l.accept()[0], socket.socket(socket.AF_UNIX)
		    s.connect(server)
		    for pair in (c, s), (s, c):
		        threading.Thread(target=pump, args=pair, daemon=True).start()
	END
	/usr/bin/python3 far.py far.sock "$BATS_FILE_TMPDIR/redis.sock" "$1" \
	    3>&- 4>&- &
	far_pid=$!
	eventually test -S far.sock
	export REDLOCK_REDIS=unix://$PWD/far.sock REDISCLI_AUTH=s3cret
}

@test "a signal ends the wait for a distant server at once, and no ticket stays" {
	local name began_us

	far 60
	hold a -t 1h
	for name in TERM INT HUP; do
		waiter_queues 1
		eventually queue_blocked 1
		began_us=$(now_us)
		kill -s "$name" "${pid[1]}"
		client_ends 1 $((128 + $(kill -l "$name")))
		(($(now_us) - began_us < 3000000))
		eventually 10 keys_left redlock:a
	done
	[ ! -e order ]
	let_go
	eventually keys_left
	kill "$far_pid"
}
