#!/usr/bin/env bats
# redis+sentinel://: a run asks for the master at every connection and follows it.
# shellcheck disable=SC2034,SC2154,SC2016
# bats file_tags=long

load ../lib/common
load ../lib/sentinel

setup_file() {
	replicated_start
	sentinels_start
}

setup() {
	sentinels_reset
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=()
	redis_use "$(sentinel_url)"
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
	for name in $(sentinel_replicas); do
		[ "$(redis_at "$name" exists "$1")" = 1 ] || return 1
	done
}

# master_dies: kill -9, and another takes over.
master_dies() {
	local name before
	name=$(sentinel_master)
	before=$(redis_port "$name")
	redis_kill "$name"
	sentinel_failed_over "$before"
}

@test "Sentinel: the lock is on the current master, whichever server that is" {
	local old

	old=$(sentinel_master)
	run -3 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli_text "$old" exists redlock:a); exit 3"
	silent_but 1
	sentinel_fail_over
	[ "$(sentinel_master)" != "$old" ]
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli_text "$(sentinel_master)" exists redlock:a)"
	silent_but 1
	[ "$(redis_at "$(sentinel_master)" keys '*a')" = '' ]
}

@test "Sentinel: after the master's death the next run uses its successor" {
	master_dies
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli_text "$(sentinel_master)" exists redlock:a)"
	silent_but 1
}

@test "Sentinel: a run keeps its lock through a failover" {
	overseen_holds -v -t 30s --kill-after 100ms
	eventually replicated redlock:a
	sentinel_fail_over
	overseen_renewed
	key_at "$(sentinel_master)"
	run -75 --separate-stderr redlock -k a -- touch jumped
	[ ! -e jumped ]
	overseen_ends 0
	not key_at "$(sentinel_master)"
}

@test "Sentinel: a run keeps its lock when the master is killed" {
	overseen_holds -v -t 30s --kill-after 100ms
	eventually replicated redlock:a
	master_dies
	overseen_renewed
	key_at "$(sentinel_master)"
	watch_begun "$(sentinel_master)"
	overseen_ends 0
	not key_at "$(sentinel_master)"
}

@test "Sentinel: a lock lost in a failover gives 79 and is not made again" {
	local name old

	# From here on no write reaches a replica.
	for name in $(sentinel_replicas); do
		redis_freeze "$name"
	done
	old=$(sentinel_master)
	redis_at "$old" client kill type replica
	overseen_holds -t 1m --kill-after 100ms
	redis_kill "$old"
	for name in r1 r2 r3; do
		[ "$name" = "$old" ] || redis_thaw "$name"
	done
	redlock_ended 79
	grep -q '^redlock-run: a: lock lost: its key is gone' "$bg_err"
	eventually sentinels_agree
	[ "$(redis_at "$(sentinel_master)" exists redlock:a)" = 0 ]
	run -0 redlock -k a -- true
}

@test "Sentinel: a waiter is served after a failover" {
	overseen_holds -t 1m
	overseen_start next -w 5m -t 20s
	eventually replicated '{redlock:a}:~queue'
	sentinel_fail_over
	eventually waits_at "$(sentinel_master)"
	touch leave-holder
	redlock_ended 0
	eventually overseen_runs next
	touch leave
	client_ends next 0
	[ ! -e overlap ]
}

# waits_at NAME: a client is blocked there.
waits_at() {
	redis_at "$1" client list | grep -q ' cmd=blpop '
}

@test "Sentinel: a waiter waits on through the death of the master" {
	overseen_holds -t 1m
	overseen_start next -w 5m -t 20s
	eventually replicated '{redlock:a}:~queue'
	master_dies
	touch leave-holder
	redlock_ended 0
	eventually overseen_runs next
	touch leave
	client_ends next 0
	[ ! -e overlap ]
}

@test "Sentinel: a dead or silent Sentinel is skipped" {
	redis_use "redis+sentinel://127.0.0.1:1,127.0.0.1:$(redis_port t2)/mymaster"
	run -0 --separate-stderr redlock -k a -- true
	silent
	redis_use "$(sentinel_url t3 t2)"
	redis_freeze t3
	run -0 --separate-stderr redlock -k a --node-timeout 6s -- true
	silent
	redis_thaw t3
}

@test "Sentinel: if none answers the status is 69, and the message names them" {
	redis_use "redis+sentinel://127.0.0.1:1,[::1]:1/mymaster"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' 'redis+sentinel://127.0.0.1:1,[::1]:1/mymaster: ' \
	    ': Sentinel [::1]:1: '
	[ ! -e started ]
	run -69 --separate-stderr redlock --status -k a
	says '/mymaster: Sentinel [::1]:1: '
}

@test "Sentinel: a master that is not where they name it gives 69 and its address" {
	redis_at t1 sentinel monitor gone 127.0.0.1 1 3
	redis_use "redis+sentinel://127.0.0.1:$(redis_port t1)/gone"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' '/gone: master 127.0.0.1:1: Connection refused'
	[ ! -e started ]
	run -69 --separate-stderr redlock --check
	[[ $output == *'(master 127.0.0.1:1: Connection refused)'* ]]
	redis_at t1 sentinel remove gone
}

@test "a Sentinel named as a server gives 69 and the right form of URL" {
	redis_use "127.0.0.1:$(redis_port t1)"
	run -69 --separate-stderr redlock -k a -- touch started
	says "redis://127.0.0.1:$(redis_port t1): " redis+sentinel://host:port/master
	[ ! -e started ]
}

@test "Sentinel: an unknown master name gives 69" {
	redis_use "redis+sentinel://127.0.0.1:$(redis_port t1)/nobody"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' '/nobody: ' 'has no master of that name'
	[ ! -e started ]
}

@test "Sentinel: a server that is no Sentinel gives 69" {
	redis_use "redis+sentinel://127.0.0.1:$(redis_port "$(sentinel_master)")/mymaster"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' 'unknown command'
	[ ! -e started ]
}

@test "Sentinel: if one names a replica the next is used" {
	local stale

	read -r stale _ <<<"$(sentinel_replicas | xargs)"
	redis_at t1 sentinel monitor old 127.0.0.1 "$(redis_port "$stale")" 3
	redis_at t2 sentinel monitor old 127.0.0.1 "$(sentinel_names t1)" 3
	redis_use "redis+sentinel://127.0.0.1:$(redis_port t1)/old"
	run -69 --separate-stderr redlock -k a -- touch started
	[ ! -e started ]
	says 'a: not run: ' 'names a replica as the master'
	redis_use "redis+sentinel://127.0.0.1:$(redis_port t1),127.0.0.1:$(redis_port t2)/old"
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli_text "$(sentinel_master)" exists redlock:a)"
	silent_but 1
	redis_at t1 sentinel remove old
	redis_at t2 sentinel remove old
}

@test "Sentinel: a reply without port or host is malformed: 69" {
	local it fake host=127.0.0.1
	it=$(redis_port "$(sentinel_master)")

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
	redis_use "redis+sentinel://127.0.0.1:$(<fake.port)/m"
	run -0 redlock -k a -- true
	for it in "$host ${it}x" "$host " "$host 0" "$host -1" "$host 65536" \
	    "$host $((it + 65536))" "$host $((it + (1 << 32)))" " $it"; do
		echo "$it" >address
		run -69 --separate-stderr redlock -k a -- touch started
		says 'malformed reply from the Sentinel: no address'
	done
	[ ! -e started ]
	kill "$fake"
}

@test "Sentinel: the successor is used when the master becomes a replica" {
	local name

	for name in p1 p2; do
		redis_start_port "$name" --repl-diskless-sync-delay 0
	done
	redis_at p2 replicaof 127.0.0.1 "$(redis_port p1)"
	eventually redis_is p2 master_link_status up
	redis_at t1 sentinel monitor pair 127.0.0.1 "$(redis_port p1)" 3
	redis_use "redis+sentinel://127.0.0.1:$(redis_port t1)/pair"
	overseen_holds -v -t 9s --kill-after 100ms --node-timeout 3s
	redis_at t1 sentinel remove pair
	eventually redis_has p2 redlock:a
	redis_at p2 replicaof no one
	redis_at p1 replicaof 127.0.0.1 "$(redis_port p2)"
	redis_at t1 sentinel monitor pair 127.0.0.1 "$(redis_port p2)" 3
	overseen_renewed
	overseen_ends 0
	[ "$(redis_at p2 exists redlock:a)" = 0 ]
	redis_at t1 sentinel remove pair
	redis_kill p1
	redis_kill p2
}

@test "Sentinel: only the master gets the master's password" {
	local name

	redis_at "$(sentinel_master)" acl setuser default resetpass '>secret'
	redis_use "$(sentinel_url | sed s,//,//:secret@,)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	redis_use "$(sentinel_url | sed s,//,//:wrong@,)"
	run -77 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' WRONGPASS
	[[ $stderr != *wrong* ]]
	redis_use "$(sentinel_url)"
	run -77 --separate-stderr redlock -k a -- touch started
	says 'a: not run: '
	[[ $stderr == *@("requires a password"|unauthenticated)* ]]
	[ ! -e started ]
}

@test "Sentinel: a Sentinel gets only sentinel-password or the line of its host" {
	local name

	for name in t1 t2 t3; do
		redis_at "$name" acl setuser default resetpass '>sentinels'
	done
	redis_at "$(sentinel_master)" acl setuser default resetpass '>secret'
	redis_use "$(sentinel_url | sed s,//,//:secret@,)"
	run -77 --separate-stderr redlock -k a -- touch started
	says 'requires a password, but a Sentinel gets only sentinel-password'
	[ ! -e started ]
	REDLOCK_SENTINEL_PASSWORD=sentinels run -0 --separate-stderr \
	    redlock -k a -- true
	silent
	REDLOCK_SENTINEL_PASSWORD=secret run -77 --separate-stderr \
	    redlock -k a -- touch started
	says 'a: not run: ' 'WRONGPASS invalid username-password pair; correct sentinel-password or the line of its host in the password file'
	[ ! -e started ]
	REDLOCK_SENTINEL_PASSWORD=secret run -77 redlock --check -q
	[[ $output == *'; correct sentinel-password or the line of its host'* ]]

	redis_use "$(sentinel_url)"
	umask 077
	printf '%s\n' "127.0.0.1 sentinels" "/mymaster secret" >pw
	run -0 --separate-stderr redlock -k a --password-file pw -- true
	silent
	echo "/mymaster secret" >pw
	run -0 --separate-stderr env REDLOCK_SENTINEL_PASSWORD=sentinels \
	    "$REDLOCK_RUN" -k a --password-file pw -- true
	silent
	printf '%s\n' "redis $(sentinel_url)" 'password secret' \
	    'sentinel-password sentinels' >conf
	unset REDLOCK_REDIS
	REDLOCK_CONFIG=conf run -0 --separate-stderr redlock -k a -- true
	silent
}

@test "Sentinel: the database in the URL is the master's" {
	redis_use "$(sentinel_url)/3"
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli_text "$(sentinel_master)" -n 3 exists redlock:a)"
	silent_but 1
}

@test "Sentinel: --status and nested runs work as well" {
	run -1 --separate-stderr redlock --status -k a
	overseen_holds -t 20s
	run -0 --separate-stderr redlock --status
	[[ $output == *'a '*held* ]]
	run -0 --separate-stderr redlock --status -k a
	[[ $output == *'a '*held* ]]
	overseen_ends 0
	run -5 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -k a -- sh -c 'exit 5'
	silent
}
