# shellcheck shell=bash disable=SC2004,SC2016,SC2034,SC2046,SC2154
#
# A cluster of six nodes (c1 to c6), three of them masters.  The roles change
# from test to test, so tests look them up.

load ../lib/topologies

cluster_start() {
	local n

	for n in {1..6}; do
		redis_start_port "c$n" --cluster-enabled yes \
		    --cluster-config-file "c$n.nodes" \
		    --cluster-node-timeout 3000 \
		    --cluster-require-full-coverage no \
		    --cluster-replica-validity-factor 0 \
		    --cluster-allow-replica-migration no \
		    --repl-diskless-sync-delay 0 --repl-ping-replica-period 1
		redis_may "c$n"
	done
	cluster_join
}

# cluster_join: makes a cluster of six nodes that do not know each other.
cluster_join() {
	local n first=0 last

	for n in {1..6}; do
		redis_at "c$n" cluster set-config-epoch "$n" >/dev/null
	done
	for n in {2..6}; do
		redis_at c1 cluster meet 127.0.0.1 "$(redis_port "c$n")" >/dev/null
	done
	for n in 1 2 3; do
		last=$((16384 * n / 3 - 1))
		redis_at "c$n" cluster addslotsrange $first $last >/dev/null
		first=$((last + 1))
	done
	for n in {1..6}; do
		eventually cluster_knows_all "c$n"
	done
	for n in 4 5 6; do
		eventually cluster_replicates "c$n" "c$((n - 3))"
	done
	eventually cluster_whole
}

cluster_knows_all() {
	[ "$(redis_at "$1" cluster nodes | grep -c 127.0.0.1)" -eq 6 ]
}

cluster_replicates() {
	[ "$(redis_at "$1" cluster replicate "$(cluster_node_id "$2")")" = OK ]
}

# cluster_node_id NAME: its name in the cluster.
cluster_node_id() {
	redis_at "$1" cluster myid
}

# cluster_whole: every node is there, finds all slots served and every replica
# its master.
cluster_whole() {
	local n all masters=0

	for n in {1..6}; do
		all=$(redis_at "c$n" \
		    <<<$'CLUSTER INFO\nCLUSTER NODES\nINFO replication')
		[[ $all == *cluster_state:ok*cluster_slots_ok:16384* &&
		    ! $all =~ (master|slave),fail|handshake|noaddr ]] || return 1
		if [[ $all == *role:master* ]]; then
			masters=$((masters + 1))
			[[ $all == *connected_slaves:1* ]] || return 1
		else
			[[ $all == *master_link_status:up* ]] || return 1
		fi
	done
	((masters == 3))
}

# cluster_rebuild: makes it anew.
cluster_rebuild() {
	local n

	for n in {1..6}; do
		[[ $(redis_at "c$n" role) != master* ]] ||
			redis_at "c$n" flushall >/dev/null
		redis_at "c$n" cluster reset hard >/dev/null
	done
	cluster_join
}

# cluster_reset: all six are there, and empty.  After a failover the nodes may not
# agree again by themselves.
cluster_reset() {
	local n

	for n in {1..6}; do
		if gone "$(redis_pid "c$n")"; then
			redis_spawn "c$n"
			eventually redis_at "c$n" ping
			redis_may "c$n"
		else
			kill -CONT "$(redis_pid "c$n")"
		fi
	done
	eventually cluster_whole || cluster_rebuild
	moving=$(cluster_slot redlock:a)
	for n in $(cluster_masters); do
		redis_at "$n" cluster setslot "$moving" stable >/dev/null
		redis_at "$n" flushall >/dev/null
	done
}

# cluster_masters: their names.
cluster_masters() {
	local n

	for n in c{1..6}; do
		if ! gone "$(redis_pid "$n")" &&
		    [[ $(redis_at "$n" role) == master* ]]; then
			echo "$n"
		fi
	done
}

# cluster_owner KEY: the node that serves its slot.
cluster_owner() {
	local n

	for n in {1..6}; do
		gone "$(redis_pid "c$n")" && continue
		if [[ $(redis_at "c$n" exists "$1") == [01] ]]; then
			echo "c$n"
			return 0
		fi
	done
	return 1
}

# cluster_at_owner KEY COMMAND...: that one is asked.
cluster_at_owner() {
	local node
	node=$(cluster_owner "$1") || return
	redis_at "$node" "${@:2}"
}

# cluster_replica_of NODE: the name of its replica.
cluster_replica_of() {
	local n id
	id=$(cluster_node_id "$1")
	for n in c{1..6}; do
		if ! gone "$(redis_pid "$n")" && redis_at "$n" cluster nodes |
			grep -q "myself,slave $id "; then
			echo "$n"
			return 0
		fi
	done
	return 1
}

# cluster_other_master NODE: one that is not NODE.
cluster_other_master() {
	cluster_masters | grep -vx "$1" | head -n 1
}

# cluster_slot KEY: its number.
cluster_slot() {
	redis_at c1 cluster keyslot "$1"
}

# cluster_move_begins KEY, move_keys, move_ends: the slot of KEY goes from $from
# to $to, as a resharding does it.
cluster_move_begins() {
	moving=$(cluster_slot "$1")
	from=$(cluster_owner "$1")
	to=$(cluster_other_master "$from")
	redis_at "$to" cluster setslot "$moving" importing \
	    "$(cluster_node_id "$from")" >/dev/null
	redis_at "$from" cluster setslot "$moving" migrating \
	    "$(cluster_node_id "$to")" >/dev/null
}

cluster_move_keys() {
	local keys

	while mapfile -t keys < <(redis_at "$from" cluster getkeysinslot \
	    "$moving" 100 | grep .) && ((${#keys[@]})); do
		redis_at "$from" migrate 127.0.0.1 "$(redis_port "$to")" '' 0 5000 \
		    auth2 admin x keys "${keys[@]}" >/dev/null
	done
}

cluster_move_ends() {
	local id node
	id=$(cluster_node_id "$to")
	redis_at "$to" cluster setslot "$moving" node "$id" >/dev/null
	for node in "$from" $(cluster_masters); do
		redis_at "$node" cluster setslot "$moving" node "$id" >/dev/null
	done
}

cluster_move_slot() {
	cluster_move_begins "$1"
	cluster_move_keys
	cluster_move_ends
}

# cluster_url [N...]: the URL of these nodes, or of all.
cluster_url() {
	local n url=

	(($#)) || set -- 1 2 3 4 5 6
	for n; do
		url+=,127.0.0.1:$(redis_port "c$n")
	done
	echo "redis+cluster://${url#,}"
}

# cluster_left [KEY...]: that is all that there is but fences (and history).
cluster_left() {
	local node

	[ "$(for node in $(cluster_masters); do
		redis_at "$node" keys '*'
	done | grep -v -e ':~fence$' -e ':~runs$' -e '~skips$' -e '~success$' -e '^$' | sort | xargs)" = "$*" ]
}
