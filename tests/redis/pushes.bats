#!/usr/bin/env bats
# The server pushes that the key of a lock was changed (CLIENT TRACKING), and a
# loss is noticed at once.  The lease is an hour in most tests, so a renewal that
# is not caused by a push comes after 20 minutes.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

load ../lib/one_redis
load ../lib/clients

setup_file() {
	redis_start
	redis_start b
	redis_start c
	# gate.py LISTEN SERVER [WORD HOW]: a proxy that writes a line "connection" for
	# each into the file "gate.log", and WORD where a request with that word comes.
	# Such a request is the last one: the connection then ends, or goes dead.  With
	# "floods" the server pushes without end from then on, and at the end of the
	# connection comes a line "ended".
	cat >"$BATS_FILE_TMPDIR/gate.py" <<-'END'
		import os, socket, sys, threading
		listen, server, word, how = (sys.argv[1:] + [None, None])[:4]
		def log(text):
		    with open("gate.log", "a") as f:
		        print(text, file=f)
		lock = threading.Lock()
		def flood(c):
		    log(word)
		    push = b">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nk\r\n"
		    try:
		        while True:
		            with lock:
		                c.sendall(100 * push)
		    except OSError:
		        log("ended")
		def pump(a, b, stops):
		    at = -1
		    while data := a.recv(65536):
		        at = data.find(word.encode()) if stops else -1
		        if at != -1 and how == "floods":
		            threading.Thread(target=flood, args=(a,), daemon=True).start()
		        elif at != -1:
		            b.sendall(data[:data.rfind(b"*", 0, at)])
		            log(word)
		            break
		        with lock:
		            b.sendall(data)
		    while at != -1 and how == "dead" and a.recv(65536):
		        pass
		    try:
		        b.shutdown(socket.SHUT_WR)
		    except OSError:
		        pass
		l = socket.socket(socket.AF_UNIX)
		l.bind(listen + ".new")
		l.listen(8)
		os.rename(listen + ".new", listen)
		while True:
		    c, s = l.accept()[0], socket.socket(socket.AF_UNIX)
		    log("connection")
		    try:
		        s.connect(server)
		    except OSError:
		        c.close()
		        continue
		    for args in (c, s, word), (s, c, None):
		        threading.Thread(target=pump, args=args, daemon=True).start()
	END
}

setup() {
	needs_pushes
	redis_reset
	redis_reset b
	redis_reset c
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid
	gate_pid=
}

teardown() {
	[[ -z ${gate_pid:-} ]] || kill "$gate_pid" 2>/dev/null || true
	nothing_left
}

# watched_id: the number of the connection that has switched pushes on.
watched_id() {
	redis client list | sed -n 's/^id=\([0-9]*\) .* flags=[^ ]*t.*/\1/p'
}

# watched_anew ID: another connection has.
watched_anew() {
	watched && [[ $(watched_id) != "$1" ]]
}

# holder NAME ARG...: has the lock for an hour, if nothing happens, and is
# watched.
holder() {
	local name=$1
	shift
	client_start "$name" 'exec sleep 3600' -t 1h "$@"
	eventually watched
}

# gate_start SERVER [WORD HOW]: runs go through gate.py, see there.
gate_start() {
	env -u TEST_MARK /usr/bin/python3 "$BATS_FILE_TMPDIR/gate.py" gate.sock \
	    "$BATS_FILE_TMPDIR/$1.sock" "${@:2}" >gate.err 2>&1 3>&- 4>&- &
	gate_pid=$!
	eventually test -S gate.sock
	redis_use "unix://$PWD/gate.sock"
}

# asked N WORD: so often has that come to the gate.
asked() {
	[[ $(grep -cx "$2" gate.log) -eq $1 ]]
}

# connections_more N: there have been more through the gate.
connections_more() {
	(($(grep -cx connection gate.log) > $1))
}

# lost NAME: it was stopped, and the message says that the lock was lost.
lost() {
	client_ends "$1" 79
	grep -q 'a: lock lost' "$1.err"
}

## Changes that a holder notices at once

# bats test_tags=quick
@test "a lock that is deleted, overwritten, flushed or ended stops COMMAND at once" {
	local -a deed=('del redlock:a' 'set redlock:a somebody' 'set redlock:a x keepttl'
	    'flushall' 'set redlock:a x px 1' 'rename redlock:a b' 'unlink redlock:a'
	    'flushdb async')
	local -i i
	for ((i = 0; i < ${#deed[@]}; i++)); do
		redis flushall
		holder "one$i"
		# shellcheck disable=SC2086
		redis ${deed[i]}
		lost "one$i"
	done
}

@test "--break stops COMMAND at once, and the message names the user" {
	local token
	holder one
	token=$(redis get redlock:a | grep -o 'token=[^ ]*')
	redlock --break a --token "${token#*=}"
	lost one
	grep -q "a: lock lost: broken by $(id -un)@$(uname -n) (--break)" one.err
}

@test "a lock that is evicted stops COMMAND at once" {
	holder one
	redis config set maxmemory-policy allkeys-random
	redis config set maxmemory 1
	eventually not redis_has redis redlock:a
	lost one
}

# bats test_tags=quick
@test "with --slots, the key of the own slot counts, and no other" {
	client_start one 'exec sleep 3600' -t 1h --slots 2
	eventually watched
	client_start two 'exec sleep 3600' -t 1h --slots 2
	eventually watched 2
	redis del '{redlock:a}:~2'
	lost two
	held
	redis del redlock:a
	lost one
}

@test "a key deleted on one of three servers is put back at once" {
	local s
	export REDLOCK_RESTART_GRACE=0
	redis_use "unix://$BATS_FILE_TMPDIR"/{redis,b,c}.sock
	client_start one 'until [ -e let-go ]; do sleep 0.05; done' -t 1h
	for s in redis b c; do
		eventually watched 1 "$s"
	done
	redis_at b del redlock:a
	eventually redis_has b redlock:a
	touch let-go
	client_ends one 0
}

# bats test_tags=quick
@test "a user with a password and a database of its own keeps both" {
	redis_start_tcp tcp
	redis_at tcp acl setuser me reset on '>x' "${permitted[@]}"
	redis_use "redis://me@127.0.0.1:$redis_port/3"
	(umask 077 && echo x >password)
	client_start one 'exec sleep 3600' -t 1h --password-file password
	eventually watched 1 tcp
	redis_at tcp client list | grep ' resp=3' | grep ' user=me ' | grep -q ' db=3 '
	redis_at tcp <<<$'SELECT 3\nDEL redlock:a'
	lost one
	redis_stop tcp
}

## After a new connection

# bats test_tags=quick
@test "each new connection is watched again" {
	local id
	holder one
	for _ in 1 2 3; do
		id=$(watched_id)
		redis client kill id "$id"
		eventually watched_anew "$id"
	done
	redis del redlock:a
	lost one
}

@test "a server that restarts with its data is watched again" {
	redis_start_tcp tcp --appendonly yes --appenddirname tcp
	redis_use "redis://127.0.0.1:$redis_port"
	client_start one 'exec sleep 3600' -t 1h
	eventually watched 1 tcp
	redis_kill tcp
	eventually grep -q 'Connection refused' one.err
	redis_spawn tcp
	eventually watched 1 tcp
	redis_at tcp del redlock:a
	lost one
	redis_stop tcp
}

@test "a server that restarts behind a proxy that accepts meanwhile is watched again" {
	redis_start d --appendonly yes --appenddirname d
	gate_start d
	client_start one 'exec sleep 3600' -t 1h
	eventually watched 1 d
	redis_kill d
	eventually connections_more 5
	redis_spawn d
	eventually watched 1 d
	redis_at d del redlock:a
	lost one
	redis_stop d
}

# bats test_tags=quick
@test "a server or proxy that closes the connection at HELLO twice gets no third HELLO" {
	gate_start redis HELLO closes
	client_start one 'until [ -e let-go ]; do sleep 0.05; done' -t 1s
	eventually asked 2 HELLO
	# None of the connections after that has one, even if this one ends.
	redis client kill type normal
	eventually scripts_more redis 8
	asked 2 HELLO
	touch let-go
	client_ends one 0
	run -0 redlock --check
	[[ $output == *'note: only a renewal notices that the lock is lost'*'ends at HELLO'* ]]
}

@test "a server or proxy that closes the connection at CLIENT TRACKING, or goes dead there, costs no lock" {
	local how
	for how in closes dead; do
		gate_start redis TRACKING "$how"
		client_start "$how" 'until [ -e let-go ]; do sleep 0.05; done' -t 3s
		eventually asked 2 TRACKING
		eventually scripts_more redis 8
		asked 2 TRACKING
		touch let-go
		client_ends "$how" 0
		kill "$gate_pid"
		rm gate.log gate.sock let-go
		redis config resetstat
	done
}

@test "a server that pushes without end is not asked for pushes again" {
	gate_start redis TRACKING floods
	client_start one 'until [ -e let-go ]; do sleep 0.05; done' -t 1s
	eventually grep -qx ended gate.log
	eventually scripts_more redis 8
	asked 1 TRACKING
	touch let-go
	client_ends one 0
}

@test "without the permission for pushes, renewals find the loss" {
	redis acl setuser default '-client|tracking'
	client_start one 'exec sleep 3600' -t 1s
	eventually scripts_more redis 4
	not watched
	redis del redlock:a
	lost one
}

## What it costs

@test "readers and runs shorter than 300 ms ask for no pushes" {
	redlock -k a -- true
	redlock -k a -t 2s -s -- sleep 1.5
	[ "$(redis_calls hello 'client|tracking' client)" -eq 0 ]
}

@test "a run asks once, and sends one renewal more" {
	redis_reset
	redlock -k a -t 1h -- sleep 1
	# NOSCRIPT is possible once.
	[ "$(redis_calls hello)" -eq 1 ]
	(($(scripts_run) <= 4))
}

@test "waiters and holders of other slots cause no renewal" {
	local name
	client_start one 'until [ -e let-go ]; do sleep 0.05; done' -t 1h --slots 2 -v
	eventually watched
	client_start two 'until [ -e let-go ]; do sleep 0.05; done' -t 400ms --slots 2 -v
	eventually watched 2
	for name in three four; do
		client_start "$name" true -w 1h --slots 2
	done
	eventually queue_is 2
	eventually grep -q 'renewed in' two.err
	sleep 1
	[ "$(grep -c 'renewed in' one.err)" -eq 1 ]
	# Each 133 ms, but for hints.
	(($(grep -c 'the key of the lock was changed' two.err) == 0))
	touch let-go
	for name in one two three four; do
		client_ends "$name" 0
	done
}

@test "foreign writes to the key cause a renewal in a tenth of the lease at most" {
	holder one -v
	for _ in {1..200}; do
		redis expire redlock:a 3600
	done
	sleep 0.5
	(($(grep -c 'renewed in' one.err) <= 2))
	kill "${pid[one]}"
	client_ends one 143
}

## Waiting

# bats test_tags=quick
@test "the first waiter behind another program asks once a second, and at once when its lock ends" {
	local before
	redis set redlock:a somebody px 3600000
	client_start one true -w 1h
	eventually watched
	before=$(scripts_run)
	sleep 3
	# Without pushes: four times a second.
	(($(scripts_run) - before <= 5))
	client_start two true -w 1h
	eventually queue_is 2
	redis del redlock:a
	client_ends one 0
	client_ends two 0
}

@test "a waiter behind another program gets the lock when its lease ends" {
	redis set redlock:a somebody px 2500
	run -0 --separate-stderr redlock -w 1h -k a -- true
}
