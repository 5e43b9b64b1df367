#!/usr/bin/env bats
# redis+cluster://: a run finds its lock at the node with the hash slot, and follows
# the slot.
# shellcheck disable=SC2034,SC2046,SC2154,SC2016
# bats file_tags=long

load ../lib/common
load ../lib/cluster

setup_file() { cluster_start; }

setup() {
	cluster_reset
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=()
	redis_use "$(cluster_url)"
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# cluster_waits: a client is blocked at the node with the lock "a".
cluster_waits() {
	cluster_at_owner redlock:a client list | grep -q ' cmd=blpop '
}

# cluster_queue_is N: so many wait for "a".
cluster_queue_is() {
	[ "$(cluster_at_owner '{redlock:a}:~queue' zcard '{redlock:a}:~queue')" = "$1" ]
}

# replica_has NODE KEY: the replica of NODE has it.
replica_has() {
	local name
	name=$(cluster_replica_of "$1")
	[ "$(printf 'READONLY\nEXISTS %s\n' "$2" |
		redis_at "$name" | tail -n 1)" = 1 ]
}

# taken_over KEY NODE: another node than NODE serves KEY.
taken_over() {
	local node
	node=$(cluster_owner "$1") && [ "$node" != "$2" ]
}

@test "cluster: one seed node leads to every slot" {
	local n node nodes=()

	for n in {1..3}; do
		redis_use "$(cluster_url "$n")"
		for node in a b c d; do
			run -0 --separate-stderr redlock -k "$node" -- true
			silent
		done
	done
	for node in a b c d; do
		nodes+=("$(cluster_owner "{redlock:$node}:~fence")")
		[ "$(cluster_at_owner "{redlock:$node}:~fence" \
			exists "{redlock:$node}:~fence")" = 1 ]
	done
	# they were spread over all masters
	[ "$(printf '%s\n' "${nodes[@]}" | sort -u | wc -l)" -eq 3 ]
	cluster_left
}

@test "cluster: a replica as the seed node leads to the master" {
	redis_use "$(cluster_url "$(cluster_replica_of "$(cluster_owner redlock:a)" | tr -d c)")"
	run -4 --separate-stderr redlock -k a -- sh -c 'exit 4'
	silent
}

@test "cluster: a dead seed node is skipped; if all are dead the status is 69" {
	redis_use "redis+cluster://127.0.0.1:1,127.0.0.1:$(redis_port c2)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	redis_use "redis+cluster://127.0.0.1:1,127.0.0.1:2"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: redis+cluster://127.0.0.1:1,127.0.0.1:2: ' \
	    ': node 127.0.0.1:2: Connection refused'
	[ ! -e started ]
}

@test "cluster: a frozen seed node is skipped" {
	local owner frozen

	owner=$(cluster_owner redlock:a)
	frozen=$(cluster_replica_of "$(cluster_other_master "$owner")")
	redis_use "$(cluster_url "${frozen#c}" "${owner#c}")"
	redis_freeze "$frozen"
	run -0 --separate-stderr redlock -k a --node-timeout 3s -- true
	silent
	run -0 --separate-stderr redlock -k a -w 1m --node-timeout 3s -- true
	run -1 --separate-stderr redlock --status -k a --node-timeout 3s
	[ -z "$stderr" ]
	redis_thaw "$frozen"
	eventually cluster_left
}

@test "a cluster node named as a single server gives 69 and the right form of URL" {
	redis_use "redis://127.0.0.1:$(redis_port "$(cluster_other_master "$(cluster_owner redlock:a)")")"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' MOVED redis+cluster://
	[ ! -e started ]
}

@test "cluster: a node that does not answer gives 69 and is named" {
	local node

	node=$(cluster_owner redlock:a)
	redis_freeze "$node"
	redis_use "$(cluster_url)"
	run -69 --separate-stderr redlock -k a --node-timeout 1s -- touch started
	redis_thaw "$node"
	[[ $stderr == *': node 127.0.0.1:'*': connected, but no reply within '* ]]
	[ ! -e started ]
}

@test "cluster: several locks in several slots are acquired together" {
	run -0 --separate-stderr redlock -k a -k b -k c -- \
	    sh -c 'echo "$REDLOCK_KEY" | xargs; exec "$@"' sh \
	    "$REDLOCK_RUN" --status -k a -k b -k c
	[[ $output == 'a b c'$'\n'*a\ *held*b\ *held*c\ *held* ]]
	[ -z "$stderr" ]
	cluster_left
}

@test "cluster: if one of several locks is busy the others are released" {
	overseen_holds
	run -75 --separate-stderr redlock -k 0 -k a -k b -- touch started
	[ ! -e started ]
	cluster_left redlock:a
	overseen_ends 0
}

@test "cluster: a {tag} in the name decides the slot" {
	run -0 --separate-stderr redlock -k 'x{one}y' -k 'z{one}' -- \
	    "$REDLOCK_RUN" --status
	[[ $output == *'x{one}y '*held*'z{one} '*held* ]]
	[ "$(cluster_owner 'redlock:x{one}y:~fence')" = "$(cluster_owner one)" ]
	cluster_left
}

@test "cluster: a renewal follows a slot that moved" {
	overseen_holds -v -t 6s --kill-after 100ms --node-timeout 2s
	cluster_move_slot redlock:a
	overseen_renewed
	[ "$(cluster_owner redlock:a)" = "$to" ]
	[ "$(redis_at "$to" exists redlock:a)" = 1 ]
	run -75 --separate-stderr redlock -k a -- touch jumped
	[ ! -e jumped ]
	overseen_ends 0
	cluster_left
}

@test "cluster: a release follows a slot that moved" {
	overseen_holds -t 1h
	cluster_move_slot redlock:a
	overseen_ends 0
	cluster_left
}

@test "cluster: a lock lost while its slot moved gives 79" {
	# A push would tell the holder of the loss before its release.
	deny_pushes c{1..6}
	overseen_holds -t 1h
	pushes_denied "$(cluster_owner redlock:a)"
	cluster_move_begins redlock:a
	cluster_at_owner redlock:a del redlock:a
	cluster_move_keys
	cluster_move_ends
	overseen_ends 79
	grep -q "^redlock-run: a: lock lost before 'sh' ended: " "$bg_err"
	allow_pushes c{1..6}
	cluster_left
}

@test "cluster: a waiter is woken at once when the slot moves" {
	overseen_holds -t 1h
	overseen_start next -w 5m -t 1h
	eventually cluster_waits
	cluster_move_slot redlock:a
	eventually cluster_waits
	cluster_queue_is 1
	touch leave-holder
	redlock_ended 0
	date +%s%N >>began
	eventually overseen_runs next
	# by its heartbeat alone it would have asked within 5 s
	(($(began_ms 3) - $(began_ms 2) < 3500))
	touch leave
	client_ends next 0
	[ ! -e overlap ]
	cluster_left
}

@test "cluster: waiters are served in turn when the slot moves" {
	local n

	overseen_holds -t 1h
	for n in 1 2 3; do
		overseen_start "w$n" -w 5m -t 1h
		eventually cluster_queue_is "$n"
	done
	cluster_move_slot redlock:a
	touch leave
	redlock_ended 0
	for n in 1 2 3; do
		client_ends "w$n" 0
	done
	[ "$(xargs <order)" = 'holder w1 w2 w3' ]
	[ ! -e overlap ]
	cluster_left
}

@test "cluster: a lock is kept while its slot migrates" {
	overseen_holds -v -t 9s --kill-after 100ms --node-timeout 2s
	cluster_move_begins redlock:a
	eventually not renewed_lately
	cluster_move_keys
	cluster_move_ends
	overseen_renewed
	overseen_ends 0
	cluster_left
}

# renewed_lately: "a" has still most of its lease, of 9 s.
renewed_lately() {
	(($(redis_at "$from" pttl redlock:a) > 5500))
}

@test "cluster: a slot that migrates for longer than the lease gives 79 before the lease ends" {
	overseen_holds -t 3s --kill-after 100ms --node-timeout 2s
	cluster_move_begins redlock:a
	redlock_ended 79
	grep -q '^redlock-run: a: lock lost: .*TRYAGAIN' "$bg_err"
	cluster_move_keys
	cluster_move_ends
	eventually cluster_left
}

@test "cluster: a release finds its slot while it migrates" {
	overseen_holds -t 1h --node-timeout 20s
	cluster_move_begins redlock:a
	touch leave
	eventually nobody_inside
	cluster_move_keys
	cluster_move_ends
	redlock_ended 0
	cluster_left
}

nobody_inside() {
	[ ! -e inside ]
}

@test "cluster: a new lock in a migrating slot gives 69, and a waiter gets it" {
	cluster_move_begins redlock:a
	run -69 --separate-stderr redlock -k a --node-timeout 2s -- touch started
	says 'a: not run: ' TRYAGAIN
	[ ! -e started ]
	overseen_start late -w 5m
	cluster_move_keys
	cluster_move_ends
	eventually overseen_runs late
	touch leave
	client_ends late 0
	cluster_left
}

@test "cluster: a run keeps its lock when the master is killed" {
	local old

	old=$(cluster_owner redlock:a)
	overseen_holds -v -t 30s --kill-after 100ms
	eventually replica_has "$old" redlock:a
	redis_kill "$old"
	eventually taken_over redlock:a "$old"
	overseen_renewed
	[ "$(cluster_at_owner redlock:a exists redlock:a)" = 1 ]
	watch_begun "$(cluster_owner redlock:a)"
	overseen_ends 0
	[ "$(cluster_at_owner redlock:a exists redlock:a)" = 0 ]
}

@test "cluster: a lock lost in a failover gives 79 and is not made again" {
	local old replica

	old=$(cluster_owner redlock:a)
	replica=$(cluster_replica_of "$old")
	redis_freeze "$replica"
	redis_at "$old" client kill type replica
	overseen_holds -t 1m --kill-after 100ms
	redis_kill "$old"
	redis_thaw "$replica"
	redlock_ended 79
	grep -q '^redlock-run: a: lock lost: its key is gone' "$bg_err"
	[ "$(cluster_at_owner redlock:a exists redlock:a)" = 0 ]
}

# cluster_connections: so many have the two nodes of the moving slot accepted.
cluster_connections() {
	local node sum=0
	for node in "$from" "$to"; do
		sum=$((sum + $(redis_at "$node" info stats |
			sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p')))
	done
	echo "$sum"
}

@test "cluster: a slot that a resharding leaves open costs few connections, and -w is the limit" {
	local before start

	overseen_holds -t 1h
	cluster_move_begins redlock:a
	redis_at "$from" migrate 127.0.0.1 "$(redis_port "$to")" '' 0 5000 \
	    auth2 admin x keys redlock:a >/dev/null
	before=$(cluster_connections)
	start=$(now_us)
	run -69 --separate-stderr redlock -k a -w 2s -- touch started
	(($(now_us) - start < 8000000))
	says 'a: not run: ' TRYAGAIN
	(($(cluster_connections) - before <= 60))
	[ ! -e started ]
	cluster_move_keys
	cluster_move_ends
	overseen_ends 0
	cluster_left
}

@test "cluster: shared locks and slots follow a moved slot as well" {
	overseen_holds -s -v -t 6s --kill-after 100ms --node-timeout 2s
	run -0 --separate-stderr redlock -s -k a -- true
	silent
	cluster_move_slot redlock:a
	overseen_renewed
	run -0 --separate-stderr redlock -s -k a -- true
	silent
	run -75 --separate-stderr redlock -k a -- true
	overseen_ends 0
	overseen_holds --slots 2 -v -t 6s --kill-after 100ms --node-timeout 2s
	run -0 --separate-stderr redlock --slots 2 -k a -- true
	cluster_move_slot redlock:a
	overseen_renewed
	run -0 --separate-stderr redlock --slots 2 -k a -- \
	    "$REDLOCK_RUN" -E 75 --slots 2 -k a -- true
	overseen_ends 0
	cluster_left
}

@test "cluster: --min-hold keeps the lock on the node to which the slot moved" {
	overseen_holds -t 1h --min-hold 1h
	cluster_move_slot redlock:a
	overseen_ends 0
	run -75 --separate-stderr redlock -k a -- true
	says 'a: in cooldown for another '
}

@test "cluster: --status finds the locks of all nodes" {
	local name

	for name in a b c d; do
		redlock -k "$name" --min-hold 1h -- true
	done
	run -0 --separate-stderr redlock --status
	silent_but "$output"
	[ "$(awk 'NR > 1 { print $1, $2 }' <<<"$output" | xargs)" = \
	    'a cooldown b cooldown c cooldown d cooldown' ]
	run -1 --separate-stderr redlock --status -k d -k a -k none
	[ "$(awk 'NR > 1 { print $1, $2 }' <<<"$output" | xargs)" = \
	    'a cooldown d cooldown none free' ]
	redis_use "$(cluster_url 5)"
	run -0 --separate-stderr redlock --status
	[ "$(awk 'NR > 1 { print $1 }' <<<"$output" | xargs)" = 'a b c d' ]
}

@test "cluster: --check notes that a failover may lose a lock and that it checked one node" {
	run redlock --check
	[[ $output == *': note: only one node of the cluster was checked'* ]]
	[[ $output == *': note: a failover may lose a lock '* ]]
}

@test "cluster: a nested run finds the lock of the outer one" {
	run -5 --separate-stderr redlock -k a -k b -- \
	    "$REDLOCK_RUN" -k b -- sh -c 'exit 5'
	silent
	cluster_left
}
