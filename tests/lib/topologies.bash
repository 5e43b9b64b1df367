# shellcheck shell=bash disable=SC2004,SC2016,SC2034,SC2046,SC2154
#
# What the files about several servers that belong together share, beside
# common.bash: a master (one of r1 to r3) with two replicas and three sentinels
# (t1 to t3) that watch over it, and a cluster of six (c1 to c6).  Who is what
# changes from test to test; so tests ask.  They run in $BATS_TEST_TMPDIR.

# port NAME: of a server that redis_start_tcp or tcp_start has started.
port() {
	cat "$BATS_FILE_TMPDIR/$1.port"
}

# tcp_start NAME [ARG...]: redis_start_tcp, and the port is remembered.
tcp_start() {
	redis_start_tcp "$@"
	echo "$redis_port" >"$BATS_FILE_TMPDIR/$1.port"
}

# info NAME FIELD: what INFO says.
info() {
	redis_at "$1" info | tr -d '\r' | sed -n "s/^$2://p"
}

# is NAME FIELD VALUE: INFO says so.
is() {
	[ "$(info "$1" "$2")" = "$3" ]
}

# redis_may NAME: what the man page says that it needs; more in a cluster, and
# all that a Sentinel knows.
redis_may() {
	case $1 in
	t*) redis_at "$1" acl setuser default reset on nopass '~*' '&*' +@all ;;
	r*)
		redis_at "$1" acl setuser default reset on nopass \
		    "${permitted[@]}"
		;;
	*) redis_at "$1" acl setuser default +asking '+cluster|slots' ;;
	esac >/dev/null
}

# tell URL...: redlock-run is told of these.
tell() {
	export REDLOCK_REDIS="$*"
}

# redis_cli NAME WORD...: redis_at as shell text, for a COMMAND.
redis_cli() {
	local name=$1
	shift
	printf '%q ' redis-cli -s "$BATS_FILE_TMPDIR/$name.sock" \
	    --user admin --pass x --no-auth-warning "$@"
}

# silent_but TEXT: COMMAND has said TEXT, and redlock-run nothing.
silent_but() {
	if [[ -n $stderr || $output != "$1" ]]; then
		printf 'expected %q alone:\n%s\n%s\n' "$1" "$output" "$stderr" >&2
		return 1
	fi
}

## A COMMAND that can be watched

# overseen: a script for COMMAND.  It notes when it began and what it was told,
# and stays until the file "leave" is there; who finds another inside says so.
overseen='mkdir inside || touch overlap
	echo "$1" >>order
	date +%s%N >>began
	until [ -e leave ] || [ -e "leave-$1" ]; do sleep 0.02; done
	rmdir inside || touch overlap'

# runs NAME: its COMMAND has begun.
runs() {
	grep -qsx "$1" order
}

# keeps ARG...: a redlock_bg holds the lock called "a", and COMMAND runs.
keeps() {
	rm -f leave leave-* order began
	redlock_bg -k a "$@" -- sh -c "$overseen" sh holder
	eventually runs holder
}

# comes NAME ARG...: another wants it; its pid is in ${pid[NAME]}.
comes() {
	local name=$1
	shift
	env --default-signal "$REDLOCK_RUN" -k a "$@" -- \
	    sh -c "$overseen" sh "$name" \
	    >"$name.out" 2>"$name.err" 3>&- 4>&- &
	pid[$name]=$!
}

# renewed_again: the lock of `keeps -v` is renewed once more.
renewed_again() {
	local before
	before=$(grep -c renewed "$bg_err") || :
	eventually 30 more_renewals "$before"
}

more_renewals() {
	(($(grep -c renewed "$bg_err") > $1))
}

# ends NAME STATUS
ends() {
	local got=0
	eventually 40 gone "${pid[$1]}"
	wait "${pid[$1]}" || got=$?
	if ((got != $2)); then
		echo "$1: status $got instead of $2" >&2
		cat "$1.err" >&2
		return 1
	fi
}

# finishes STATUS: what `keeps` has begun is told to end, and does, as STATUS;
# no two were ever inside.
finishes() {
	touch leave
	redlock_ended "$1"
	[ ! -e overlap ]
}

# began N: when the Nth COMMAND began, in ms since 1970.
began() {
	echo $(($(sed -n "$1p" began) / 1000000))
}

## A master, two replicas, three sentinels

# replicated_start: r1 is the master, r2 and r3 are its replicas.
replicated_start() {
	local name

	tcp_start r1 --repl-diskless-sync-delay 0 --repl-ping-replica-period 1
	for name in r2 r3; do
		tcp_start "$name" --repl-diskless-sync-delay 0 \
		    --repl-ping-replica-period 1
		redis_at "$name" replicaof 127.0.0.1 "$(port r1)"
	done
	for name in r2 r3; do
		eventually is "$name" master_link_status up
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
			sentinel monitor mymaster 127.0.0.1 $(port r1) $2
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

# master_by NAME: the port that this sentinel names.
master_by() {
	redis_at "$1" sentinel get-master-addr-by-name mymaster | sed -n 2p
}

# named PORT: all sentinels name that one.
named() {
	local name
	for name in t1 t2 t3; do
		[ "$(master_by "$name")" = "$1" ] || return 1
	done
}

# master: the one of r1 to r3 that t1 names.
master() {
	local name port
	port=$(master_by t1)
	for name in r1 r2 r3; do
		[ "$(port "$name")" != "$port" ] || echo "$name"
	done
}

# replicas: the others.
replicas() {
	local name master
	master=$(master)
	for name in r1 r2 r3; do
		[ "$name" = "$master" ] || echo "$name"
	done
}

# sentinels [NAME...]: the URL of these, or of all.
sentinels() {
	local name url=

	(($#)) || set -- t1 t2 t3
	for name; do
		url+=,127.0.0.1:$(port "$name")
	done
	echo "redis+sentinel://${url#,}/mymaster"
}

# fail_over: the sentinels make a replica the master; all say so.
fail_over() {
	local before
	before=$(master_by t1)
	eventually 40 begin_failover
	eventually 60 replaced "$before"
	failed_over "$before"
}

# replaced PORT: it is not the master any more for t1, who begins anew if it has
# given up, for want of a replica that answers in time.
replaced() {
	local fields
	fields=$(redis_at t1 sentinel master mymaster | paste -sd ' ')
	[[ $fields == *' port '* ]] || return
	[[ $fields == *" port $1 "* ]] || return 0
	[[ $fields == *failover_in_progress* ]] || begin_failover || :
	return 1
}

# failed_over PORT: it is the master no more; all say who is.
failed_over() {
	eventually 40 not named "$1"
	eventually 40 settled
}

# settled: all name the same master, and it is one.  While this machine is busy
# they may have elected twice.
settled() {
	one_named && is "$(master)" role master
}

# A sentinel that has just been busy with another one says no.
begin_failover() {
	[ "$(redis_at t1 sentinel failover mymaster)" = OK ]
}

# one_named: by all, and none is at work any more: who dies while a Sentinel
# still makes it the master is not replaced by anybody.
one_named() {
	local name
	named "$(master_by t1)" || return 1
	for name in t1 t2 t3; do
		not grep -q failover_in_progress \
		    <<<"$(redis_at "$name" sentinel master mymaster)" ||
			return 1
	done
}

# sentinels_reset: all run, one master has two replicas, nothing is in it.
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
		redis_may "$name"
	done
	eventually 40 one_named
	master=$(master)
	redis_at "$master" replicaof no one >/dev/null
	for name in $(replicas); do
		redis_at "$name" config set masteruser admin masterauth x \
		    >/dev/null
		redis_at "$name" replicaof 127.0.0.1 "$(port "$master")" \
		    >/dev/null
	done
	for name in $(replicas); do
		eventually 40 is "$name" master_link_status up
	done
	for name in t1 t2 t3; do
		eventually 40 sentinel_knows "$name"
	done
	redis_at "$master" flushall >/dev/null
}

## A cluster

cluster_start() {
	local n first=0 last

	for n in {1..6}; do
		tcp_start "c$n" --cluster-enabled yes \
		    --cluster-config-file "c$n.nodes" \
		    --cluster-node-timeout 3000 \
		    --cluster-require-full-coverage no \
		    --cluster-replica-validity-factor 0 \
		    --cluster-allow-replica-migration no \
		    --repl-diskless-sync-delay 0 --repl-ping-replica-period 1
		redis_may "c$n"
		redis_at "c$n" cluster set-config-epoch "$n" >/dev/null
	done
	for n in {2..6}; do
		redis_at c1 cluster meet 127.0.0.1 "$(port "c$n")" >/dev/null
	done
	for n in 1 2 3; do
		last=$((16384 * n / 3 - 1))
		redis_at "c$n" cluster addslotsrange $first $last >/dev/null
		first=$((last + 1))
	done
	for n in {1..6}; do
		eventually knows_all "c$n"
	done
	for n in 4 5 6; do
		eventually replicates "c$n" "c$((n - 3))"
	done
	eventually 40 cluster_whole
}

knows_all() {
	[ "$(redis_at "$1" cluster nodes | grep -c 127.0.0.1)" -eq 6 ]
}

replicates() {
	[ "$(redis_at "$1" cluster replicate "$(node_id "$2")")" = OK ]
}

# node_id NAME: its name in the cluster.
node_id() {
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

# cluster_reset: all six are there, and empty.
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
	eventually 40 cluster_whole
	moving=$(slot redlock:a)
	for n in $(masters); do
		redis_at "$n" cluster setslot "$moving" stable >/dev/null
		redis_at "$n" flushall >/dev/null
	done
}

# masters: their names.
masters() {
	local n

	for n in c{1..6}; do
		if ! gone "$(redis_pid "$n")" &&
		    [[ $(redis_at "$n" role) == master* ]]; then
			echo "$n"
		fi
	done
}

# owner KEY: the node that serves its slot.
owner() {
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

# at_owner KEY COMMAND...: that one is asked.
at_owner() {
	local node
	node=$(owner "$1") || return
	redis_at "$node" "${@:2}"
}

# replica_of NODE: the name of its replica.
replica_of() {
	local n id
	id=$(node_id "$1")
	for n in c{1..6}; do
		if ! gone "$(redis_pid "$n")" && redis_at "$n" cluster nodes |
			grep -q "myself,slave $id "; then
			echo "$n"
			return 0
		fi
	done
	return 1
}

# other_master NODE: one that is not NODE.
other_master() {
	masters | grep -vx "$1" | head -n 1
}

# slot KEY: its number.
slot() {
	redis_at c1 cluster keyslot "$1"
}

# move_begins KEY, move_keys, move_ends: the slot of KEY goes from $from to $to,
# as a resharding does it.
move_begins() {
	moving=$(slot "$1")
	from=$(owner "$1")
	to=$(other_master "$from")
	redis_at "$to" cluster setslot "$moving" importing \
	    "$(node_id "$from")" >/dev/null
	redis_at "$from" cluster setslot "$moving" migrating \
	    "$(node_id "$to")" >/dev/null
}

move_keys() {
	local keys

	while mapfile -t keys < <(redis_at "$from" cluster getkeysinslot \
	    "$moving" 100 | grep .) && ((${#keys[@]})); do
		redis_at "$from" migrate 127.0.0.1 "$(port "$to")" '' 0 5000 \
		    auth2 admin x keys "${keys[@]}" >/dev/null
	done
}

move_ends() {
	local id node
	id=$(node_id "$to")
	redis_at "$to" cluster setslot "$moving" node "$id" >/dev/null
	for node in "$from" $(masters); do
		redis_at "$node" cluster setslot "$moving" node "$id" >/dev/null
	done
}

move_slot() {
	move_begins "$1"
	move_keys
	move_ends
}

# cluster [N...]: the URL of these nodes, or of all.
cluster() {
	local n url=

	(($#)) || set -- 1 2 3 4 5 6
	for n; do
		url+=,127.0.0.1:$(port "c$n")
	done
	echo "redis+cluster://${url#,}"
}

# cluster_left [KEY...]: that is all that there is but fences (and history).
cluster_left() {
	local node

	[ "$(for node in $(masters); do
		redis_at "$node" keys '*'
	done | grep -v -e ':~fence$' -e ':~runs$' -e '^$' | sort | xargs)" = "$*" ]
}
