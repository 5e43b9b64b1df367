# shellcheck shell=bash disable=SC2004,SC2034,SC2154
#
# A master and two replicas, servers 1 to 3, with three Sentinels, 4 to 6; all in
# one network, on ports of 127.0.0.1.
#
# A replica may lack the last writes of its master.  The lock is exclusive all the
# same if the Sentinels need longer than a lease to replace a dead master, and if
# no client talks to two masters.  So masters are killed, and return as replicas.
# SAFETY promises nothing about a master that is stopped, and continues beside its
# successor.

group_url=redis+sentinel://127.0.0.1:7004,127.0.0.1:7005,127.0.0.1:7006/chaos
down_after=$((2 * ttl + 500))	# counts from the last ping, up to a second ago

# start_node SERVER [MASTER]
start_node() {
	local i=$1 of=() may
	[[ -z ${2:-} ]] || of=(--replicaof 127.0.0.1 "700$2")
	read -ra may < <(permissions)
	redis-server --port "700$i" --bind 127.0.0.1 --unixsocket "$CHAOS_DIR/$i.sock" \
	    --save '' --appendonly no --set-proc-title no --dir "$CHAOS_DIR" \
	    --repl-diskless-sync-delay 0 --repl-ping-replica-period 1 \
	    --user admin on '>x' '~*' '&*' +@all --masteruser admin --masterauth x \
	    --user default on nopass "${may[@]}" "${of[@]}" \
	    >>"$CHAOS_DIR/noise" 2>&1 &
	server[$i]=$!
	await_answer "$i"
}

start_sentinel() {
	local i=$1
	[[ -e $CHAOS_DIR/$i.conf ]] || cat >"$CHAOS_DIR/$i.conf" <<-END
		port 700$i
		bind 127.0.0.1
		unixsocket $CHAOS_DIR/$i.sock
		dir $CHAOS_DIR
		user admin on >x ~* &* +@all
		sentinel monitor chaos 127.0.0.1 7001 2
		sentinel auth-user chaos admin
		sentinel auth-pass chaos x
		sentinel down-after-milliseconds chaos $down_after
		sentinel failover-timeout chaos 3000
	END
	redis-server "$CHAOS_DIR/$i.conf" --sentinel >>"$CHAOS_DIR/noise" 2>&1 &
	server[$i]=$!
	await_answer "$i"
}

# replicated: the two other servers have all that the master has.
replicated() {
	local i master
	master=$(master) || return
	[[ $(ask "$master" role | head -n 1) == master ]] || return
	for i in 1 2 3; do
		[[ $i == "$master" || $(ask "$i" info replication) == \
		    *"master_port:700$master"*master_link_status:up* ]] || return
	done
}

# master: the server that the Sentinels name.
master() {
	local i port last=
	for i in 4 5 6; do
		port=$(ask "$i" sentinel get-master-addr-by-name chaos | sed -n 2p)
		[[ -n $port && ${last:-$port} == "$port" ]] || return
		last=$port
	done
	echo $((last - 7000))
}

# await COMMAND...: for two minutes at most; Sentinels may need several attempts at
# a failover.
await() {
	local _
	for _ in {1..1200}; do
		! "$@" >/dev/null || return 0
		sleep 0.1
	done
	give_up "not within two minutes: $*"
}

# sentinels_know: each knows all others, and none is in TILT or has a failover under
# way.  A Sentinel that comes out of TILT ends a failover that it began before, even
# if others have replaced the master meanwhile, and names a dead master for good.
sentinels_know() {
	local i
	for i in 4 5 6; do
		[[ $(ask "$i" info sentinel) == *sentinel_tilt:0*slaves=2,sentinels=3* &&
			$(ask "$i" sentinel master chaos) != *failover_in_progress* ]] ||
			return
	done
}

start_group() {
	local i
	ip link set lo up || return
	start_node 1
	start_node 2 1
	start_node 3 1
	for i in 4 5 6; do
		start_sentinel "$i"
	done
	await replicated
	await sentinels_know
}

replaced() {
	local now
	now=$(master) && ((now != $1))
}

fail_over() {
	local i
	settle
	await replicated && await sentinels_know || return
	i=$(master) || return
	await_start
	injected "kill the master, server $i"
	kill -KILL "${server[$i]}"
	wait "${server[$i]}" 2>/dev/null
	await replaced "$i" || return
	start_node "$i" "$(master)"
	note "the master is server $(master)"
	await replicated
}

kill_replica() {
	local i=$((RANDOM % 3 + 1)) ms=$((RANDOM % 2000)) master
	master=$(master) || return
	((i != master)) || return
	injected "kill replica $i for $ms ms"
	kill -KILL "${server[$i]}"
	wait "${server[$i]}" 2>/dev/null
	pass "$ms"
	start_node "$i" "$master"
}

kill_sentinel() {
	local i=$((RANDOM % 3 + 4)) ms=$((RANDOM % 3000))
	settle
	injected "kill Sentinel $i for $ms ms"
	kill -KILL "${server[$i]}"
	wait "${server[$i]}" 2>/dev/null
	later "$ms" start_sentinel "$i"
}

# For less than 2 s, which would mean TILT for half a minute.
freeze_sentinel() {
	local i=$((RANDOM % 3 + 4))
	settle
	freeze $((RANDOM % 1500 + 50)) "$i"
}

cut_connections() {
	local i=$((RANDOM % 6 + 1))
	injected "kill the connections of server $i"
	ask "$i" client kill type normal >/dev/null
}
