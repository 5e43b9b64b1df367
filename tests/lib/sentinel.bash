# shellcheck shell=bash disable=SC2004,SC2016,SC2034,SC2046,SC2154
#
# A master (one of r1 to r3) with two replicas, and three sentinels (t1 to t3)
# that watch over it.  The roles change from test to test, so tests look them
# up.

load ../lib/topologies

# replicated_start: r1 is the master, r2 and r3 are its replicas.
replicated_start() {
	local name

	redis_start_port r1 --repl-diskless-sync-delay 0 --repl-ping-replica-period 1
	for name in r2 r3; do
		redis_start_port "$name" --repl-diskless-sync-delay 0 \
		    --repl-ping-replica-period 1
		redis_at "$name" replicaof 127.0.0.1 "$(redis_port r1)"
	done
	for name in r2 r3; do
		eventually redis_is "$name" master_link_status up
	done
}

# sentinels_start: t1 to t3 watch over r1, which they call "mymaster".  It is
# down for them after two seconds, and their own habits are quicker than usual.
# The first of them is the first to be sure, lest they all want to be elected.
sentinels_start() {
	local name

	sentinel_start t1 2 2000
	sentinel_start t2 3 2000
	sentinel_start t3 3 3500
	for name in t1 t2 t3; do
		eventually sentinel_knows "$name"
	done
}

# sentinel_start NAME QUORUM MS
sentinel_start() {
	local try port file=$BATS_FILE_TMPDIR/$1

	for try in {1..50}; do
		port=$((20000 + RANDOM % 12000))
		cat >"$file.conf" <<-END
			port $port
			bind 127.0.0.1
			unixsocket $file.sock
			logfile $file.log
			dir $BATS_FILE_TMPDIR
			user admin on nopass ~* &* +@all
			sentinel monitor mymaster 127.0.0.1 $(redis_port r1) $2
			sentinel auth-user mymaster admin
			sentinel auth-pass mymaster x
			sentinel down-after-milliseconds mymaster $3
			sentinel failover-timeout mymaster 3000
		END
		echo "$port" >"$file.port"
		sentinel_spawn "$1"
		eventually redis_settled "$1"
		redis_at "$1" ping | grep -qx PONG || continue
		# A replica is good for as long as five pings since its INFO,
		# which then comes once a second.
		redis_at "$1" sentinel debug info-period 200 ping-period 400 \
		    ask-period 100 publish-period 200 tilt-trigger 10000 \
		    tilt-period 500 >/dev/null
		return 0
	done
	echo "no free port in $try tries" >&2
	return 1
}

sentinel_spawn() {
	local file=$BATS_FILE_TMPDIR/$1
	(
		set +m
		unset TEST_MARK
		setsid redis-server "$file.conf" --sentinel \
		    </dev/null >/dev/null 2>&1 3>&- 4>&- &
		echo $! >"$file.server"
	)
}

# sentinel_knows NAME: it has found the other sentinels and both replicas.
sentinel_knows() {
	local fields
	fields=$(redis_at "$1" info sentinel | tr -d '\r')
	[[ $fields == *'status=ok,'*,slaves=2,sentinels=3* ]]
}

# sentinel_names NAME: the port that this sentinel names.
sentinel_names() {
	redis_at "$1" sentinel get-master-addr-by-name mymaster | sed -n 2p
}

# sentinels_name PORT: all sentinels name that one.
sentinels_name() {
	local name
	for name in t1 t2 t3; do
		[ "$(sentinel_names "$name")" = "$1" ] || return 1
	done
}

# sentinel_master: the one of r1 to r3 that t1 names.
sentinel_master() {
	local name port
	port=$(sentinel_names t1)
	for name in r1 r2 r3; do
		[ "$(redis_port "$name")" != "$port" ] || echo "$name"
	done
}

# sentinel_replicas: the others.
sentinel_replicas() {
	local name master
	master=$(sentinel_master)
	for name in r1 r2 r3; do
		[ "$name" = "$master" ] || echo "$name"
	done
}

# sentinel_url [NAME...]: the URL of these, or of all.
sentinel_url() {
	local name url=

	(($#)) || set -- t1 t2 t3
	for name; do
		url+=,127.0.0.1:$(redis_port "$name")
	done
	echo "redis+sentinel://${url#,}/mymaster"
}

# sentinel_fail_over: the sentinels make a replica the master; all say so.
sentinel_fail_over() {
	local before
	before=$(sentinel_names t1)
	eventually sentinel_begin_failover
	eventually sentinel_replaced "$before"
	sentinel_failed_over "$before"
}

# sentinel_replaced PORT: t1 names another master.  If t1 has given up, because no
# replica answered in time, it begins again.
sentinel_replaced() {
	local fields
	fields=$(redis_at t1 sentinel master mymaster | paste -sd ' ')
	[[ $fields == *' port '* ]] || return
	[[ $fields == *" port $1 "* ]] || return 0
	[[ $fields == *failover_in_progress* ]] || sentinel_begin_failover || :
	return 1
}

# sentinel_failed_over PORT: it is no longer the master, and all agree on the new one.
sentinel_failed_over() {
	eventually not sentinels_name "$1"
	eventually sentinels_settled
}

# sentinels_settled: all name the same master, and it is one.  While this
# machine is busy they may have elected twice.
sentinels_settled() {
	sentinels_agree && redis_is "$(sentinel_master)" role master
}

# A Sentinel that has just been busy with another failover refuses.
sentinel_begin_failover() {
	[ "$(redis_at t1 sentinel failover mymaster)" = OK ]
}

# sentinels_agree: all have finished.  A server that dies while a Sentinel still
# promotes it would not be replaced.
sentinels_agree() {
	local name
	sentinels_name "$(sentinel_names t1)" || return 1
	for name in t1 t2 t3; do
		not grep -q failover_in_progress \
		    <<<"$(redis_at "$name" sentinel master mymaster)" ||
			return 1
	done
}

# sentinels_reset: all run, one master has two replicas, nothing is in it.  A
# Sentinel that gives a server another role closes its connections.
sentinels_reset() {
	local name master

	for name in t1 t2 t3 r1 r2 r3; do
		if gone "$(redis_pid "$name")"; then
			case $name in
			t*) sentinel_spawn "$name" ;;
			r*) redis_spawn "$name" ;;
			esac
			eventually redis_at "$name" ping
		else
			kill -CONT "$(redis_pid "$name")"
		fi
		eventually redis_may "$name"
	done
	eventually sentinels_agree
	master=$(sentinel_master)
	eventually redis_at "$master" replicaof no one >/dev/null
	for name in $(sentinel_replicas); do
		eventually redis_at "$name" config set masteruser admin masterauth x \
		    >/dev/null
		eventually redis_at "$name" replicaof 127.0.0.1 \
		    "$(redis_port "$master")" >/dev/null
	done
	for name in $(sentinel_replicas); do
		eventually redis_is "$name" master_link_status up
	done
	for name in t1 t2 t3; do
		eventually sentinel_knows "$name"
	done
	eventually redis_at "$master" flushall >/dev/null
}
