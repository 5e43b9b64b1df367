#!/usr/bin/env bats
# redis+sentinel://: the master is asked for at every connect, and followed.
# shellcheck disable=SC2034,SC2154,SC2016

load ../lib/common
load ../lib/topologies

setup_file() {
	replicated_start
	sentinels_start
}

setup() {
	sentinels_reset
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=()
	tell "$(sentinels)"
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# key_at NAME: the lock called "a" is there.
key_at() {
	[ "$(redis_at "$1" exists redlock:a)" = 1 ]
}

# replicated KEY: the replicas have it, too.
replicated() {
	local name
	for name in $(replicas); do
		[ "$(redis_at "$name" exists "$1")" = 1 ] || return 1
	done
}

# master_dies: kill -9, and another takes over.
master_dies() {
	local name before
	name=$(master)
	before=$(port "$name")
	redis_kill "$name"
	failed_over "$before"
}

@test "the master that the Sentinels name has the lock, whoever that is" {
	local old

	old=$(master)
	run -3 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli "$old" exists redlock:a); exit 3"
	silent_but 1
	fail_over
	[ "$(master)" != "$old" ]
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli "$(master)" exists redlock:a)"
	silent_but 1
	[ "$(redis_at "$(master)" keys '*a')" = '' ]
}

@test "the master is killed: the next run finds the one that took over" {
	master_dies
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli "$(master)" exists redlock:a)"
	silent_but 1
}

@test "a failover while COMMAND runs: the lock is kept" {
	keeps -v -t 30s --kill-after 100ms
	eventually replicated redlock:a
	fail_over
	renewed_again
	key_at "$(master)"
	run -75 --separate-stderr redlock -k a -- touch jumped
	[ ! -e jumped ]
	finishes 0
	not key_at "$(master)"
}

@test "the master is killed while COMMAND runs: the lock is kept" {
	keeps -v -t 30s --kill-after 100ms
	eventually replicated redlock:a
	master_dies
	renewed_again
	key_at "$(master)"
	finishes 0
	not key_at "$(master)"
}

@test "a lock that the failover lost is lost, 79, and not made again" {
	local name old

	# What is written from here on reaches no replica.
	for name in $(replicas); do
		redis_freeze "$name"
	done
	old=$(master)
	redis_at "$old" client kill type replica
	keeps -t 1m --kill-after 100ms
	redis_kill "$old"
	for name in r1 r2 r3; do
		[ "$name" = "$old" ] || redis_thaw "$name"
	done
	redlock_ended 79
	grep -q '^redlock-run: a: lock lost: its key is gone' "$bg_err"
	eventually 40 one_named
	[ "$(redis_at "$(master)" exists redlock:a)" = 0 ]
	run -0 redlock -k a -- true
}

@test "one that waits is served after a failover" {
	keeps -t 1m
	comes next -w 5m -t 20s
	eventually replicated '{redlock:a}:~queue'
	fail_over
	eventually waits_at "$(master)"
	touch leave-holder
	redlock_ended 0
	eventually runs next
	touch leave
	ends next 0
	[ ! -e overlap ]
}

# waits_at NAME: somebody is blocked there.
waits_at() {
	redis_at "$1" client list | grep -q ' cmd=blpop '
}

@test "one that waits does so through the death of the master" {
	keeps -t 1m
	comes next -w 5m -t 20s
	eventually replicated '{redlock:a}:~queue'
	master_dies
	touch leave-holder
	redlock_ended 0
	eventually 30 runs next
	touch leave
	ends next 0
	[ ! -e overlap ]
}

@test "a Sentinel that is dead, or says nothing, is passed over" {
	tell "redis+sentinel://127.0.0.1:1,127.0.0.1:$(port t2)/mymaster"
	run -0 --separate-stderr redlock -k a -- true
	silent
	tell "$(sentinels t3 t2)"
	redis_freeze t3
	run -0 --separate-stderr redlock -k a --node-timeout 6s -- true
	silent
	redis_thaw t3
}

@test "no Sentinel answers: 69, and it says of whom it speaks" {
	tell "redis+sentinel://127.0.0.1:1,[::1]:1/mymaster"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' 'redis+sentinel://127.0.0.1:1,[::1]:1/mymaster: ' \
	    ': Sentinel [::1]:1: '
	[ ! -e started ]
	run -69 --separate-stderr redlock --status -k a
	says '/mymaster: Sentinel [::1]:1: '
}

@test "no master where the Sentinels say: 69, and it says of whom it speaks" {
	redis_at t1 sentinel monitor gone 127.0.0.1 1 3
	tell "redis+sentinel://127.0.0.1:$(port t1)/gone"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' '/gone: master 127.0.0.1:1: Connection refused'
	[ ! -e started ]
	run -69 --separate-stderr redlock --check
	[[ $output == *'(master 127.0.0.1:1: Connection refused)'* ]]
	redis_at t1 sentinel remove gone
}

@test "a Sentinel is no server: 69, and it says how to name it" {
	tell "127.0.0.1:$(port t1)"
	run -69 --separate-stderr redlock -k a -- touch started
	says "redis://127.0.0.1:$(port t1): " redis+sentinel://host:port/master
	[ ! -e started ]
}

@test "a master that the Sentinels do not know: 69" {
	tell "redis+sentinel://127.0.0.1:$(port t1)/nobody"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' '/nobody: ' 'knows no master of that name'
	[ ! -e started ]
}

@test "a server that is no Sentinel: 69" {
	tell "redis+sentinel://127.0.0.1:$(port "$(master)")/mymaster"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' 'unknown command'
	[ ! -e started ]
}

@test "a Sentinel that names a replica is not believed, another is asked" {
	local stale

	read -r stale _ <<<"$(replicas | xargs)"
	redis_at t1 sentinel monitor old 127.0.0.1 "$(port "$stale")" 3
	redis_at t2 sentinel monitor old 127.0.0.1 "$(master_by t1)" 3
	tell "redis+sentinel://127.0.0.1:$(port t1)/old"
	run -69 --separate-stderr redlock -k a -- touch started
	[ ! -e started ]
	says 'a: not run: ' 'names a master that is a replica'
	tell "redis+sentinel://127.0.0.1:$(port t1),127.0.0.1:$(port t2)/old"
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli "$(master)" exists redlock:a)"
	silent_but 1
	redis_at t1 sentinel remove old
	redis_at t2 sentinel remove old
}

@test "a Sentinel that names no port, or no host, is malformed: 69" {
	local it fake host=127.0.0.1
	it=$(port "$(master)")

	/usr/bin/python3 -c '
import os, socket, threading
s = socket.create_server(("127.0.0.1", 0))
def serve(c):
    while c.recv(65536):
        with open("address") as f:
            c.sendall(b"*2\r\n" + b"".join(
                b"$%d\r\n%s\r\n" % (len(w), w) for w in
                f.read().rstrip("\n").encode().split(b" ")))
with open("new", "w") as f:
    print(s.getsockname()[1], file=f)
os.rename("new", "fake.port")
while True:
    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()
' 3>&- 4>&- &
	fake=$!
	eventually test -s fake.port
	echo "$host $it" >address
	tell "redis+sentinel://127.0.0.1:$(<fake.port)/m"
	run -0 redlock -k a -- true
	for it in "$host ${it}x" "$host " "$host 0" "$host -1" "$host 65536" \
	    "$host $((it + 65536))" "$host $((it + (1 << 32)))" " $it"; do
		echo "$it" >address
		run -69 --separate-stderr redlock -k a -- touch started
		says 'Sentinel 127.0.0.1:' 'reply is malformed'
	done
	[ ! -e started ]
	kill "$fake"
}

@test "a master that becomes a replica under our connection: its successor is asked" {
	local name

	for name in p1 p2; do
		tcp_start "$name" --repl-diskless-sync-delay 0
	done
	redis_at p2 replicaof 127.0.0.1 "$(port p1)"
	eventually is p2 master_link_status up
	redis_at t1 sentinel monitor pair 127.0.0.1 "$(port p1)" 3
	tell "redis+sentinel://127.0.0.1:$(port t1)/pair"
	keeps -v -t 9s --kill-after 100ms --node-timeout 3s
	redis_at t1 sentinel remove pair
	eventually has p2 redlock:a
	redis_at p2 replicaof no one
	redis_at p1 replicaof 127.0.0.1 "$(port p2)"
	redis_at t1 sentinel monitor pair 127.0.0.1 "$(port p2)" 3
	renewed_again
	finishes 0
	[ "$(redis_at p2 exists redlock:a)" = 0 ]
	redis_at t1 sentinel remove pair
	redis_kill p1
	redis_kill p2
}

has() {
	[ "$(redis_at "$1" exists "$2")" = 1 ]
}

@test "a master that wants a password gets it, the Sentinels do not" {
	local name

	redis_at "$(master)" acl setuser default resetpass '>secret'
	tell "$(sentinels | sed s,//,//:secret@,)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	tell "$(sentinels | sed s,//,//:wrong@,)"
	run -77 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' WRONGPASS
	[[ $stderr != *wrong* ]]
	tell "$(sentinels)"
	run -77 --separate-stderr redlock -k a -- touch started
	says 'a: not run: '
	[[ $stderr == *@(NOAUTH|unauthenticated)* ]]
	[ ! -e started ]
}

@test "Sentinels that want a password get it" {
	local name

	for name in t1 t2 t3 "$(master)"; do
		redis_at "$name" acl setuser default resetpass '>secret'
	done
	tell "$(sentinels | sed s,//,//:secret@,)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	REDISCLI_AUTH=secret run -0 --separate-stderr \
	    env REDLOCK_REDIS="$(sentinels)" "$REDLOCK_RUN" -k a -- true
	silent
	tell "$(sentinels | sed s,//,//:wrong@,)"
	run -77 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' WRONGPASS
	[ ! -e started ]
}

@test "the database in the URL is that of the master" {
	tell "$(sentinels)/3"
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli "$(master)" -n 3 exists redlock:a)"
	silent_but 1
}

@test "--status and a run inside another ask the Sentinels, too" {
	run -1 --separate-stderr redlock --status -k a
	keeps -t 20s
	run -0 --separate-stderr redlock --status
	[[ $output == *'a '*held* ]]
	run -0 --separate-stderr redlock --status -k a
	[[ $output == *'a '*held* ]]
	finishes 0
	run -5 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -k a -- sh -c 'exit 5'
	silent
}
