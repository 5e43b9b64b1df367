#!/usr/bin/env bats
# redis+cluster://: a lock lives where its slot does, and is followed there.
# shellcheck disable=SC2034,SC2154,SC2016

load ../lib/common
load ../lib/topologies

setup_file() { cluster_start; }

setup() {
	cluster_reset
	cd "$BATS_TEST_TMPDIR" || return
	declare -gA pid=()
	tell "$(cluster)"
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# waits: somebody is blocked at the owner of the lock called "a".
waits() {
	at_owner redlock:a client list | grep -q ' cmd=blpop '
}

# in_queue N: so many wait for "a".
in_queue() {
	[ "$(at_owner '{redlock:a}:~queue' zcard '{redlock:a}:~queue')" = "$1" ]
}

# replica_has NODE KEY: the replica of NODE has it.
replica_has() {
	local name
	name=$(replica_of "$1")
	[ "$(printf 'READONLY\nEXISTS %s\n' "$2" |
		redis_at "$name" | tail -n 1)" = 1 ]
}

# taken_over KEY NODE: another node than NODE serves KEY.
taken_over() {
	local node
	node=$(owner "$1") && [ "$node" != "$2" ]
}

@test "one seed leads to every slot" {
	local n node nodes=()

	for n in {1..3}; do
		tell "$(cluster "$n")"
		for node in a b c d; do
			run -0 --separate-stderr redlock -k "$node" -- true
			silent
		done
	done
	for node in a b c d; do
		nodes+=("$(owner "{redlock:$node}:~fence")")
		[ "$(at_owner "{redlock:$node}:~fence" \
			exists "{redlock:$node}:~fence")" = 1 ]
	done
	# they were spread over all masters
	[ "$(printf '%s\n' "${nodes[@]}" | sort -u | wc -l)" -eq 3 ]
	cluster_left
}

@test "a replica as the seed leads to the master" {
	tell "$(cluster "$(replica_of "$(owner redlock:a)" | tr -d c)")"
	run -4 --separate-stderr redlock -k a -- sh -c 'exit 4'
	silent
}

@test "a seed that is dead is passed over; none alive is 69" {
	tell "redis+cluster://127.0.0.1:1,127.0.0.1:$(port c2)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	tell "redis+cluster://127.0.0.1:1,127.0.0.1:2"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: redis+cluster://127.0.0.1:1,127.0.0.1:2: ' \
	    ': node 127.0.0.1:2: Connection refused'
	[ ! -e started ]
}

@test "a node by itself is no cluster: 69, and it says how to name one" {
	tell "redis://127.0.0.1:$(port "$(other_master "$(owner redlock:a)")")"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' MOVED redis+cluster://
	[ ! -e started ]
}

@test "a node that does not answer: 69, which says which" {
	local node

	node=$(owner redlock:a)
	redis_freeze "$node"
	tell "$(cluster)"
	run -69 --separate-stderr redlock -k a --node-timeout 1s -- touch started
	redis_thaw "$node"
	[[ $stderr == *': node 127.0.0.1:'*': no answer within '* ]]
	[ ! -e started ]
}

@test "several locks in several slots are taken together" {
	run -0 --separate-stderr redlock -k a -k b -k c -- \
	    sh -c 'echo "$REDLOCK_KEY" | xargs; exec "$@"' sh \
	    "$REDLOCK_RUN" --status -k a -k b -k c
	[[ $output == 'a b c'$'\n'*a\ *held*b\ *held*c\ *held* ]]
	[ -z "$stderr" ]
	cluster_left
}

@test "one of several is busy: the others are given back" {
	keeps
	run -75 --separate-stderr redlock -k 0 -k a -k b -- touch started
	[ ! -e started ]
	cluster_left redlock:a
	finishes 0
}

@test "a {tag} in the name is the slot" {
	run -0 --separate-stderr redlock -k 'x{one}y' -k 'z{one}' -- \
	    "$REDLOCK_RUN" --status
	[[ $output == *'x{one}y '*held*'z{one} '*held* ]]
	[ "$(owner 'redlock:x{one}y:~fence')" = "$(owner one)" ]
	cluster_left
}

@test "the slot moves while COMMAND runs: the renewal follows" {
	keeps -v -t 6s --kill-after 100ms --node-timeout 2s
	move_slot redlock:a
	renewed_again
	[ "$(owner redlock:a)" = "$to" ]
	[ "$(redis_at "$to" exists redlock:a)" = 1 ]
	run -75 --separate-stderr redlock -k a -- touch jumped
	[ ! -e jumped ]
	finishes 0
	cluster_left
}

@test "the slot has moved when COMMAND ends: the release follows" {
	keeps -t 1h
	move_slot redlock:a
	finishes 0
	cluster_left
}

@test "the slot has moved, and the lock is lost on the way: 79" {
	keeps -t 1h
	move_begins redlock:a
	at_owner redlock:a del redlock:a
	move_keys
	move_ends
	finishes 79
	grep -q '^redlock-run: a: lock lost before sh ended: ' "$bg_err"
	cluster_left
}

@test "the slot moves while one waits: it is woken at once" {
	keeps -t 1h
	comes next -w 5m -t 1h
	eventually waits
	move_slot redlock:a
	eventually waits
	in_queue 1
	touch leave-holder
	redlock_ended 0
	date +%s%N >>began
	eventually runs next
	# by its heartbeat alone it would have asked within 5 s
	(($(began 3) - $(began 2) < 3500))
	touch leave
	ends next 0
	[ ! -e overlap ]
	cluster_left
}

@test "the slot moves while several wait: they are served in turn" {
	local n

	keeps -t 1h
	for n in 1 2 3; do
		comes "w$n" -w 5m -t 1h
		eventually in_queue "$n"
	done
	move_slot redlock:a
	touch leave
	redlock_ended 0
	for n in 1 2 3; do
		ends "w$n" 0
	done
	[ "$(xargs <order)" = 'holder w1 w2 w3' ]
	[ ! -e overlap ]
	cluster_left
}

@test "a slot that is on its way: a lock there is kept until it has arrived" {
	keeps -v -t 9s --kill-after 100ms --node-timeout 2s
	move_begins redlock:a
	eventually not renewed_lately
	move_keys
	move_ends
	renewed_again
	finishes 0
	cluster_left
}

# renewed_lately: "a" has still most of its lease, of 9 s.
renewed_lately() {
	(($(redis_at "$from" pttl redlock:a) > 5500))
}

@test "a slot that is on its way for longer than the lease: 79 before its end" {
	keeps -t 3s --kill-after 100ms --node-timeout 2s
	move_begins redlock:a
	redlock_ended 79
	grep -q '^redlock-run: a: lock lost: .*TRYAGAIN' "$bg_err"
	move_keys
	move_ends
	eventually cluster_left
}

@test "a slot that is on its way when COMMAND ends: the release follows" {
	keeps -t 1h --node-timeout 20s
	move_begins redlock:a
	touch leave
	eventually nobody_inside
	move_keys
	move_ends
	redlock_ended 0
	cluster_left
}

nobody_inside() {
	[ ! -e inside ]
}

@test "a slot that is on its way: a new lock is 69, who waits gets it" {
	move_begins redlock:a
	run -69 --separate-stderr redlock -k a --node-timeout 2s -- touch started
	says 'a: not run: ' TRYAGAIN
	[ ! -e started ]
	comes late -w 5m
	move_keys
	move_ends
	eventually runs late
	touch leave
	ends late 0
	cluster_left
}

@test "the master is killed while COMMAND runs: the lock is kept" {
	local old

	old=$(owner redlock:a)
	keeps -v -t 30s --kill-after 100ms
	eventually replica_has "$old" redlock:a
	redis_kill "$old"
	eventually 40 taken_over redlock:a "$old"
	renewed_again
	[ "$(at_owner redlock:a exists redlock:a)" = 1 ]
	finishes 0
	[ "$(at_owner redlock:a exists redlock:a)" = 0 ]
}

@test "a lock that the failover lost is lost, 79, and not made again" {
	local old replica

	old=$(owner redlock:a)
	replica=$(replica_of "$old")
	redis_freeze "$replica"
	redis_at "$old" client kill type replica
	keeps -t 1m --kill-after 100ms
	redis_kill "$old"
	redis_thaw "$replica"
	redlock_ended 79
	grep -q '^redlock-run: a: lock lost: its key is gone' "$bg_err"
	[ "$(at_owner redlock:a exists redlock:a)" = 0 ]
}

@test "shared locks and slots are followed as well" {
	keeps -s -v -t 6s --kill-after 100ms --node-timeout 2s
	run -0 --separate-stderr redlock -s -k a -- true
	silent
	move_slot redlock:a
	renewed_again
	run -0 --separate-stderr redlock -s -k a -- true
	silent
	run -75 --separate-stderr redlock -k a -- true
	finishes 0
	keeps --slots 2 -v -t 6s --kill-after 100ms --node-timeout 2s
	run -0 --separate-stderr redlock --slots 2 -k a -- true
	move_slot redlock:a
	renewed_again
	run -0 --separate-stderr redlock --slots 2 -k a -- \
	    "$REDLOCK_RUN" -E 75 --slots 2 -k a -- true
	finishes 0
	cluster_left
}

@test "--at-least keeps the lock where the slot has gone" {
	keeps -t 1h --at-least 1h
	move_slot redlock:a
	finishes 0
	run -75 --separate-stderr redlock -k a -- true
	says 'a: resting for '
}

@test "--status finds the locks of all nodes, and those that are named" {
	local name

	for name in a b c d; do
		redlock -k "$name" --at-least 1h -- true
	done
	run -0 --separate-stderr redlock --status
	silent_but "$output"
	[ "$(awk 'NR > 1 { print $1, $2 }' <<<"$output" | xargs)" = \
	    'a rest b rest c rest d rest' ]
	run -1 --separate-stderr redlock --status -k d -k a -k none
	[ "$(awk 'NR > 1 { print $1, $2 }' <<<"$output" | xargs)" = \
	    'a rest d rest none free' ]
	tell "$(cluster 5)"
	run -0 --separate-stderr redlock --status
	[ "$(awk 'NR > 1 { print $1 }' <<<"$output" | xargs)" = 'a b c d' ]
}

@test "a run inside another knows that it has the lock" {
	run -5 --separate-stderr redlock -k a -k b -- \
	    "$REDLOCK_RUN" -k b -- sh -c 'exit 5'
	silent
	cluster_left
}
