#!/usr/bin/env bats
# --check: whether the servers are fit for locks, and what to do if not.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/common
load ../lib/faults

setup_file() {
	redis_start_tcp redis
	redis_start b
	redis_start c
	faults_write_helpers
	# liar.py LISTEN SERVER SHIFT [OLD NEW]...: a server that says what SERVER
	# says, but with its clock SHIFT seconds ahead, and each OLD, in which
	# backslashes are Python's, made NEW, which is as long.
	cat >"$BATS_FILE_TMPDIR/liar.py" <<-'END'
		import os, re, socket, sys, threading
		listen, server, shift = sys.argv[1:4]
		lies = [w.encode().decode("unicode_escape").encode("latin-1")
		    for w in sys.argv[4:]]
		def clock(m):
		    return m.group(1) + b"%d" % (int(m.group(2)) + int(shift))
		def lie(data):
		    for old, new in zip(lies[::2], lies[1::2]):
		        assert len(old) == len(new)
		        data = data.replace(old, new)
		    return re.sub(rb"(\*2\r\n\$10\r\n)(\d{10})", clock, data)
		def pump(a, b, change):
		    while data := a.recv(1 << 20):
		        b.sendall(change(data))
		    b.shutdown(socket.SHUT_WR)
		l = socket.socket(socket.AF_UNIX)
		l.bind(listen + ".new")
		l.listen(8)
		os.rename(listen + ".new", listen)
		while True:
		    c, s = l.accept()[0], socket.socket(socket.AF_UNIX)
		    s.connect(server)
		    for args in (c, s, lambda data: data), (s, c, lie):
		        threading.Thread(target=pump, args=args, daemon=True).start()
	END
}

setup() {
	redis_reset
	redis config set min-replicas-to-write 0
	redis config set appendonly no
	cd "$BATS_TEST_TMPDIR" || return
	tcp=redis://127.0.0.1:$redis_port
	b=unix://$BATS_FILE_TMPDIR/b.sock
	c=unix://$BATS_FILE_TMPDIR/c.sock
	rude_pid=
	other_pid=
}

teardown() {
	rude_stop
	[ -z "$other_pid" ] || kill -KILL "$other_pid"
	redis_thaw
	nothing_left
}

teardown_file() { redis_stop_all; }

# check_liar SHIFT [OLD NEW]...: start it before the server "redis", or $liar_of;
# its URL is in $liar.
check_liar() {
	liar=unix://$PWD/liar.sock
	env -u TEST_MARK /usr/bin/python3 "$BATS_FILE_TMPDIR/liar.py" liar.sock \
	    "$BATS_FILE_TMPDIR/${liar_of:-redis}.sock" "$@" >liar.log 2>&1 3>&- 4>&- &
	rude_pid=$!
	eventually test -S liar.sock
}

# check STATUS ARG...: what --check exits with.
check() {
	local expected=$1
	shift
	run "-$expected" --separate-stderr redlock --check "$@"
	[ -z "$stderr" ]
}

# finds LEVEL TEXT: of one server this is found, and nothing else so bad; LEVEL
# is "NOT OK" or "note".
finds() {
	if ! grep -aF ": $1: " <<<"$output" | grep -aF "$2"; then
		printf 'not found: %s: %s\n%s\n' "$1" "$2" "$output" >&2
		return 1
	fi
	[[ $1 == "NOT OK" ]] || not grep -a 'NOT OK' <<<"$output"
}

# row SERVER: its line of the table, blanks made one.
row() {
	grep -aF "$1 " <<<"$output" | head -n 1 | tr -s ' '
}

# changes: what a server has been told to write since it was last saved.
changes() {
	redis info persistence | sed -n 's/^rdb_changes_since_last_save://p'
}

## Output

@test "--check prints a line for each server that is fit, and exits with 0" {
	check 0 -r "$REDLOCK_REDIS" -r "$b" -r "$c" --restart-grace 0
	[ "$(head -n 1 <<<"$output" | tr -s ' ')" = \
	    'SERVER VERDICT VERSION ROLE UPTIME CLOCK RTT PERSISTENCE EVICTION' ]
	for server in "$REDLOCK_REDIS" "$b" "$c"; do
		[[ $(row "$server") =~ \ OK\ (Valkey\ )?[0-9.]+\ master\ [0-9a-z]+\ [-+0-9a-z]+\ [0-9.]+(us|ms)\ (none|rdb)\ noeviction$ ]]
	done
}

@test "--check changes nothing on the servers" {
	local before
	redis set redlock:a somebody
	before=$(changes)
	check 0
	[ "$(redis keys '*')" = redlock:a ]
	[ "$(changes)" = "$before" ]
}

@test "--check --json has the same content for programs" {
	check 69 --json -r "$tcp" -r "unix:///nonexistent"
	json 'len(d) == 2 and [s["ok"] for s in d] == [False, False]'
	json 'set(d[0]) == {"server", "state", "error", "ok", "version", "role", "uptime_ms",
	    "clock_offset_ms", "rtt_us", "persistence", "eviction", "findings"}'
	json "d[0]['server'] == '$tcp' and d[0]['role'] == 'master'"
	json 'd[0]["uptime_ms"] >= 0 and -2000 < d[0]["clock_offset_ms"] < 2000'
	json 'd[0]["rtt_us"] > 0 and d[0]["eviction"] == "noeviction"'
	json 'all(f["level"] in ("bad", "note") for s in d for f in s["findings"])'
	json 'd[1]["findings"][0]["level"] == "bad" and d[1]["rtt_us"] is None'
	check 0 --json
	json 'd[0]["ok"] and "bad" not in [f["level"] for f in d[0]["findings"]]'
}

@test "--check -q prints only problems" {
	check 0 -q
	[ -z "$output" ]
	redis config set maxmemory 1gb
	redis config set maxmemory-policy allkeys-lru
	check 69 -q
	[ "$(wc -l <<<"$output")" -eq 1 ]
	finds 'NOT OK' "$REDLOCK_REDIS: NOT OK: the server can evict"
}

## What it would have caught

@test "--check: a server that evicts keys is not fit; without a memory limit it is noted" {
	redis config set maxmemory-policy volatile-ttl
	check 0
	finds note 'would, if it had a maxmemory, evict locks'
	[[ $(row "$REDLOCK_REDIS") == *' volatile-ttl' ]]
	redis config set maxmemory 1gb
	check 69
	finds 'NOT OK' '(maxmemory-policy volatile-ttl); set maxmemory-policy noeviction'
}

@test "--check: a replica is not fit, and its master is named" {
	redis_at b replicaof 127.0.0.1 "$redis_port"
	check 69 -r "$b"
	redis_at b replicaof no one
	finds 'NOT OK' "it is a replica of 127.0.0.1:$redis_port; use a master"
	[[ $(row "$b") == *' replica '* ]]
}

# allow_as_told: gives the user "me" what the output says.
allow_as_told() {
	local rule
	rule=$(grep -oE 'ACL SETUSER me .*' <<<"$output")
	# shellcheck disable=SC2086
	redis ${rule,,}
}

@test "--check suggests the ACL rule to a user without permissions" {
	local url=redis://me:x@127.0.0.1:$redis_port
	redis acl setuser me reset on '>x'
	check 77 -r "$url"
	finds 'NOT OK' 'so nothing else could be checked; allow it with: ACL SETUSER me ~redlock:* ~{redlock:* +eval +evalsha +info '
	allow_as_told
	check 0 -r "$url"
	redlock -r "$url" -k a -- true
	# The key beside the lock, and another prefix.
	redis acl setuser me resetkeys '~redlock:*'
	check 77 -r "$url"
	finds 'NOT OK' 'may not use the keys beside a lock; allow it with: ACL SETUSER me ~{redlock:*'
	allow_as_told
	check 0 -r "$url"
	check 77 -r "$url" --prefix 'a*b'
	finds 'NOT OK' 'ACL SETUSER me ~a\*b* ~{a\*b*'
	allow_as_told
	check 0 -r "$url" --prefix 'a*b'
	redis acl deluser me
}

@test "--check names every missing permission" {
	local url=redis://me:x@127.0.0.1:$redis_port rule right words
	redis acl setuser me reset on '>x'
	check 77 -r "$url"
	rule=$(grep -oE 'ACL SETUSER me .*' <<<"$output")
	rule=${rule#* * * }
	# Redis 7 lets every user call HELLO.
	words=$(wc -w <<<"$rule")
	! pushes_work || [[ $rule == *' +client|tracking' && $((words -= 1)) ]]
	[[ $rule != *' +hello'* ]] || ((words -= 1))
	[[ $words -eq 30 ]]
	for right in $rule; do
		# shellcheck disable=SC2086
		redis acl setuser me reset on '>x' ${rule/"$right"/} >/dev/null
		case $right in
		+evalsha | +scan | +type | +xadd | +xrevrange | +xdel | +wait | +hello | +client*) check 0 -r "$url" ;;
		*) check 77 -r "$url" ;;
		esac
		[[ $right != +eval ]] || right='+eval +lpush'
		grep -E "ACL SETUSER me ${right//[*+\{]/\\&}\$" <<<"$output" >/dev/null
	done
	redis acl deluser me
}

@test "--check says where only a renewal notices that a lock is lost, and why" {
	local loss='only a renewal notices that'
	if ! pushes_work; then
		check 0
		finds note "$loss a lock is lost, after a third of the lease, because hiredis 0."
		return
	fi
	check 0
	[[ $output != *"$loss"* ]]
	redis acl setuser default '-client|tracking'
	check 0
	finds note "$loss the lock is lost, after a third of the lease, because the user default may not use client|tracking; allow it with: ACL SETUSER default +client|tracking"
}

@test "--check: a server in its restart grace is not fit" {
	redis_restart b
	check 69 -r "$tcp" -r "$b" -r "$c"
	finds 'NOT OK' "$b: NOT OK: it started "
	finds 'NOT OK' ' and has no vote until it has been up for 1m1s (--restart-grace); wait another '
	eventually redlock --check -r "$b" --restart-grace 1s --ttl 1s
}

@test "--check: a lease longer than the restart grace is a usage error" {
	run -64 --separate-stderr redlock --check -r "$b" -r "$c" --ttl 61
	says 'exceeds the restart grace of 1m'
}

@test "--check finds two URLs of one server" {
	check 69 -r "$REDLOCK_REDIS" -r "$b" -r "$tcp" --restart-grace 0
	finds 'NOT OK' "$REDLOCK_REDIS: NOT OK: it is the same server as $tcp"
	finds 'NOT OK' "$tcp: NOT OK: it is the same server as $REDLOCK_REDIS"
	[ "$(grep -c 'NOT OK:' <<<"$output")" -eq 2 ]
	[[ $(row "$b") == *' OK '* ]]
}

# run_id SERVER: its name for itself.
run_id() {
	redis_at "$1" info server | sed -n 's/^run_id:\([0-9a-f]*\).*/\1/p'
}

@test "a run_id of only zeros proves nothing: two such servers are not the same, and --check notes that" {
	local first zeros=0000000000000000000000000000000000000000

	check_liar 0 "$(run_id redis)" "$zeros"
	first=unix://$PWD/first.sock
	mv liar.sock first.sock
	other_pid=$rude_pid
	liar_of=b check_liar 0 "$(run_id b)" "$zeros"
	check 0 -r "$first" -r "$liar" --restart-grace 0
	finds note 'its INFO has no run_id, so it cannot be told from the other'
	[ "$(grep -c 'has no run_id' <<<"$output")" -eq 2 ]
	run -0 redlock -k a -r "$first" -r "$liar" --restart-grace 0 -- true
}

@test "--check: a clock off by more than the lease is not fit" {
	check_liar -3600
	check 69 -r "$liar"
	finds 'NOT OK' 'behind ours, more than a lease of 1m'
	[[ $(row "$liar") =~ \ -(1h|59m[0-9]+s)\  ]]
	check 0 -r "$liar" --ttl 2h
	finds note 'behind ours; synchronize both clocks with NTP'
}

@test "--check: a clock that differs from the others' is not fit" {
	check_liar 50
	check 69 -r "$liar" -r "$b" -r "$c" --restart-grace 0 --ttl 30s
	[ "$(grep -c 'NOT OK:' <<<"$output")" -eq 1 ]
	finds 'NOT OK' "$liar: NOT OK: its clock is "
}

@test "--check: the built-in default server is not fit" {
	unset REDLOCK_REDIS
	run -69 --separate-stderr redlock --check -q
	[ -z "$stderr" ]
	grep -F 'redis://127.0.0.1:6379: NOT OK: no server is configured' \
	    <<<"$output"
	grep -F 'name yours in REDLOCK_REDIS or with -r' <<<"$output"
	: >site.conf
	REDLOCK_CONFIG=site.conf run -69 redlock --check -q
	grep -F 'name yours in site.conf, REDLOCK_REDIS or with -r' <<<"$output"
	check 0 -r "$tcp"
	not grep 'no server is configured' <<<"$output"
}

# synced: the server "b" is a replica that has had all data of "redis".
synced() {
	[[ $(redis_at b info replication) == *master_link_status:up* ]]
}

@test "--check: a snapshot for a replica is no persistence, and one by hand none of a server with save ''" {
	redis config set repl-diskless-sync no
	redis_at b replicaof 127.0.0.1 "$redis_port"
	eventually synced
	redis_at b replicaof no one
	check 0
	[[ $(row "$REDLOCK_REDIS") == *' none noeviction' ]]
	redis_at c save
	check 0 -r "$c"
	[[ $(row "$c") == *' rdb noeviction' ]]
	redis_at c acl setuser default '+config|get'
	check 0 -r "$c"
	[[ $(row "$c") == *' none noeviction' ]]
	redis_at c acl setuser default '-config|get'
}

## What else makes a server unfit

@test "--check: a server that is down or frozen is not fit" {
	check 69 -r unix:///nonexistent
	finds 'NOT OK' 'it cannot be used ('
	redis_freeze
	check 69 --node-timeout 100ms
	finds 'NOT OK' 'it cannot be used (connected, but no reply within 100ms)'
	# Every server has to be fit, not only a majority.
	check 69 -r "$REDLOCK_REDIS" -r "$b" -r "$c" --restart-grace 0
	[[ $(row "$b") == *' OK '* ]]
}

@test "--check reports a password for a server without one" {
	check 77 -r "redis://:s3cret@127.0.0.1:$redis_port"
	finds 'NOT OK' 'the user default has no password, but one was sent ('
	[[ $output != *s3cret* ]]
}

@test "--check reports a wrong or missing password" {
	redis acl setuser default resetpass '>s3cret'
	check 77
	finds 'NOT OK' 'the server refuses the user default (the server requires a password'
	check 77 -r "redis://:wrong@127.0.0.1:$redis_port"
	finds 'NOT OK' 'the server refuses the user default (WRONGPASS'
	[[ $output != *wrong@* ]]
	check 0 -r "redis://:s3cret@127.0.0.1:$redis_port"
	[[ $output != *s3cret* ]]
	redis acl setuser me reset on '>x' '~*' +@all -select
	check 0 -r "redis://me:x@127.0.0.1:$redis_port"
	check 77 -r "redis://me:x@127.0.0.1:$redis_port/1"
	finds 'NOT OK' 'ACL SETUSER me +select'
	redis acl deluser me
}

@test "--check: a server that refuses writes is not fit" {
	redis config set min-replicas-to-write 1
	check 69
	finds 'NOT OK' 'the server refuses requests (NOREPLICAS'
	redis config set min-replicas-to-write 0
	redis config set maxmemory 1
	check 69
	finds 'NOT OK' 'the server refuses requests (OOM'
}

@test "--check: a server that is loading or too old is not fit" {
	check_liar 0 'loading:0' 'loading:1'
	check 69 -r "$liar"
	finds 'NOT OK' 'the server is still loading its data'
	rude_stop
	rm liar.sock
	# Valkey is not too old, unless it does not say that it is Valkey.
	check_liar 0 'redis_version:7' 'redis_version:5' \
	    'valkey_version' 'barkey_version' \
	    'redis_version:6' 'redis_version:5' \
	    'redis_version:8' 'redis_version:5'
	check 69 -r "$liar"
	finds 'NOT OK' 'Redis 5.'
}

@test "--check: a Sentinel or a node of a Redis Cluster is not fit" {
	local dir=$BATS_FILE_TMPDIR
	# With a port of its own: the one for other nodes is that and 10000.
	redis_start_tcp cluster --cluster-enabled yes
	check 69 -r "unix://$dir/cluster.sock"
	redis_kill cluster
	finds 'NOT OK' 'it is part of a Redis Cluster'
	[ "$(grep -c 'NOT OK:' <<<"$output")" -eq 1 ]
	printf '%s\n' 'port 0' "unixsocket $dir/sentinel.sock" >sentinel.conf
	env -u TEST_MARK setsid redis-server sentinel.conf --sentinel \
	    --logfile "$PWD/log" </dev/null >/dev/null 2>&1 3>&- 4>&- &
	echo $! >"$dir/sentinel.server"
	eventually redis-cli -s "$dir/sentinel.sock" ping
	check 69 -r "unix://$dir/sentinel.sock"
	redis_kill sentinel
	finds 'NOT OK' 'it is a Sentinel and stores no locks'
	[ "$(grep -c 'NOT OK:' <<<"$output")" -eq 1 ]
	[[ $(row "unix://$dir/sentinel.sock") == *' sentinel '* ]]
}

@test "--check: a server with a renamed command is not fit" {
	redis_start renamed --rename-command PEXPIRE ''
	check 69 -r "unix://$BATS_FILE_TMPDIR/renamed.sock"
	redis_kill renamed
	finds 'NOT OK' 'the server does not know pexpire'
}

@test "a run and --check name a server that does not run scripts" {
	local url=unix://$BATS_FILE_TMPDIR/renamed.sock

	redis_start renamed --rename-command EVAL ''
	check 69 -r "$url"
	finds 'NOT OK' 'this server does not run scripts (EVAL is renamed or disabled'
	[ "$(grep -c 'NOT OK:' <<<"$output")" -eq 1 ]
	not grep -qi lpush <<<"$output"
	run -69 --separate-stderr redlock -r "$url" -k a -- touch started
	says "a: not run: $url: this server does not run scripts (EVAL is renamed or disabled"
	run -69 --separate-stderr redlock -r "$url" --status -k a
	says "$url: this server does not run scripts ("
	redis_kill renamed
	[ ! -e started ]
}

# picky TEXT: a server whose scripts with keys fail with that error; its URL is in
# $liar.
picky() {
	liar=unix://$PWD/picky.sock
	cat >lies <<-END
		def ask(words):
		    if words[0] == "HELLO":
		        return Error(b"ERR unknown command 'HELLO'")
		    if words[0].startswith("EVAL") and words[2] != "0":
		        return Error(b"$1")
		    return FORWARD
	END
	env -u TEST_MARK /usr/bin/python3 "$top/tests/helpers/liar.py" \
	    picky.sock "$BATS_FILE_TMPDIR/redis.sock" lies 3>&- 4>&- &
	rude_pid=$!
	eventually test -S picky.sock
}

@test "--check: a server whose scripts may use no key or command that we need is not fit" {
	local text

	for text in 'ERR script tried accessing undeclared key' \
	    'ERR TIME is not allowed in a script'; do
		picky "$text"
		run -69 --separate-stderr redlock -r "$liar" -k a -- true
		check 69 -r "$liar"
		finds 'NOT OK' "the scripts of a lock with an error ($text)"
		[ "$(grep -c 'NOT OK:' <<<"$output")" -eq 1 ]
		rude_stop
		rm picky.sock
	done
}

@test "--check: garbage is not fit, and reaches no terminal" {
	rude - 'say +OK\r\n'
	check 69 -r "$rude_url"
	finds 'NOT OK' 'malformed reply'
	rude_stop
	check_liar 0 'role:master' 'role:\x1b[2Jxx' 'noeviction' 'no\x9bviction'
	check 69 -r "$liar"
	finds 'NOT OK' "its role is '\\x1b[2Jxx'"
	[[ $(row "$liar") == *'no\x9bviction'* ]]
	not grep -a $'[\x1b\x9b]' <<<"$output"
	check 69 -r "$liar" --json
	json 'd[0]["role"] == "\x1b[2Jxx"'
}

## Notes

@test "--check notes what a single server may lose, and a server of this machine only" {
	check 0
	finds note 'a restart may forget a lock that is held (appendonly no)'
	finds note 'it is on this machine, so a lock guards this machine only'
	redis config set appendonly yes
	redis config set appendfsync everysec
	redis acl setuser default '+config|get'
	check 0
	not grep 'a restart may forget' <<<"$output"
	finds note 'a crash of its machine may forget a lock of the last seconds (appendfsync everysec); set appendfsync always, or use three servers'
	redis config set appendfsync always
	check 0
	not grep 'may forget' <<<"$output"
	[[ $(row "$REDLOCK_REDIS") == *' aof noeviction' ]]
	check 0 -r "$b" -r "$c" --restart-grace 0
	finds note "$c: note: 2 servers survive no more failures than 1 do"
	finds note "$b: note: all servers are on this machine"
}

@test "--check: a round trip of less than a millisecond is in microseconds" {
	run --separate-stderr redlock --check
	[[ ${lines[1]} =~ \ ([1-9][0-9]{0,2}us|[1-9][0-9]*\.[0-9]{2}ms)\  ]]
}
