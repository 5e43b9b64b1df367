#!/usr/bin/env bats
# Names and addresses: IPv6, several addresses behind a name, a name whose
# address changes, a resolver that hangs.  The names are those of a hosts file
# of ours, in a mount namespace where that is allowed.
# shellcheck disable=SC2034,SC2154,SC2016

load ../lib/common
load ../lib/topologies

setup_file() {
	redis_start_port one --repl-diskless-sync-delay 0
	redis_start_port two --bind 127.0.0.2
	cat >"$BATS_FILE_TMPDIR/namespaced" <<-'END'
		#!/bin/sh
		# namespaced COMMAND...: with /etc/hosts and the like from names/
		user=--map-root-user
		[ "$(id -u)" != 0 ] || user=
		exec unshare $user --mount sh -c '
			for f in hosts nsswitch.conf resolv.conf; do
				mount --bind "$0/$f" "/etc/$f" || exit
			done
			exec "$@"' "$NAMES" "$@"
	END
	cat >"$BATS_FILE_TMPDIR/run" <<-'END'
		#!/bin/sh
		exec "$NAMESPACED" "$PROGRAM" "$@"
	END
	chmod +x "$BATS_FILE_TMPDIR/namespaced" "$BATS_FILE_TMPDIR/run"
}

setup() {
	local name

	for name in one two; do
		if gone "$(redis_pid "$name")"; then
			redis_spawn "$name"
			eventually redis_at "$name" ping
		fi
		redis_thaw "$name"
		redis_at "$name" replicaof no one >/dev/null
		redis_at "$name" flushall >/dev/null
	done
	cd "$BATS_TEST_TMPDIR" || return
	redis_use "redis://127.0.0.1:$(redis_port one)"
	export REDLOCK_RESTART_GRACE=0
	helper_pid='' sender_pid=''
}

teardown() {
	[ -z "$sender_pid" ] || kill -KILL "$sender_pid"
	[ -z "$helper_pid" ] || kill -KILL "$helper_pid"
	nothing_left
}

teardown_file() { redis_stop_all; }

# our_names [SWITCH]: from now on redlock-run knows the names in names/hosts
# only, or what SWITCH says.
our_names() {
	export NAMESPACED=$BATS_FILE_TMPDIR/namespaced NAMES=$PWD/names
	export PROGRAM=$run_path
	mkdir names
	: >names/hosts
	: >names/resolv.conf
	echo "hosts: ${1:-files}" >names/nsswitch.conf
	"$NAMESPACED" true || skip "needs mount namespaces"
	REDLOCK_RUN=$BATS_FILE_TMPDIR/run
}

# name HOST ADDRESS...
name() {
	local host=$1 address
	shift
	for address; do
		echo "$address $host"
	done >>names/hosts
}

# hole ADDRESS PORT: a black hole, where connections are not even refused.
hole() {
	/usr/bin/python3 -c '
import socket, sys, time
at = (sys.argv[1], int(sys.argv[2]))
l = socket.socket()
l.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
l.bind(at)
l.listen(0)
full = [socket.socket() for _ in range(4)]
for s in full:
    s.setblocking(False)
    s.connect_ex(at)
open("hole", "w")
time.sleep(600)' "$@" 3>&- 4>&- &
	helper_pid=$!
	eventually test -e hole
}

# name_server [OPTION...]: from now on redlock-run knows the names of a DNS
# server as well: the lines of "zone" (see helpers/nameserver.py).  The options
# are those of resolv.conf.  Queries are in "queries".
name_server() {
	local at=127.$((1 + RANDOM % 200)).$((RANDOM % 200)).53

	our_names 'files dns'
	: >zone
	: >queries
	/usr/bin/python3 "$top/tests/helpers/nameserver.py" "$at" zone queries \
	    2>why 3>&- 4>&- &
	helper_pid=$!
	eventually listens "$at"
	gone "$helper_pid" && skip "needs port 53: $(tail -n 1 why)"
	printf '%s\n' "nameserver $at" "options $*" >names/resolv.conf
}

# listens ADDRESS: the name server there does, or it has ended.
listens() {
	gone "$helper_pid" || ss -Hlun "src $1" | grep -q .
}

# deaf_resolver: no name gets an answer, but those in names/hosts.
deaf_resolver() {
	name_server timeout:30 attempts:5
	printf '%s silent\n' stays.example slow.example slow2.example \
	    slow3.example >zone
}

# queried NAME [N]: it was, N times.
queried() {
	[ "$(grep -cx "$1 1" queries)" -eq "${2:-1}" ]
}

# queried_often NAME N: so often, at least.
queried_often() {
	[ "$(grep -cx "$1 1" queries)" -ge "$2" ]
}

# threads N: the process has so many.
threads() {
	[ "$(find "/proc/$bg_pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -eq "$1" ]
}

@test "valkey:// is the same as redis://" {
	local port
	port=$(redis_port one)
	hold a -r "valkey://127.0.0.1:$port"
	run -75 redlock -k a -r "redis://127.0.0.1:$port" -- true
	let_go
	run -0 redlock --status -r "valkey://127.0.0.1:$port"
}

@test "a server may have an IPv6 address" {
	grep -q '^0*1 ' /proc/net/if_inet6 || skip 'needs IPv6'
	redis_start_port six --bind ::1
	redis_use "redis://[::1]:$(redis_port six)"
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(redis_cli_text six exists redlock:a)"
	silent_but 1
	redis_use "[::1]:$(redis_port six)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	redis_use "redis://[::1]:1"
	run -69 --separate-stderr redlock -k a -- true
	says 'redis://[::1]:1: Connection refused'
}

@test "a name with two addresses works if one refuses" {
	our_names
	name both.example 127.0.0.2 127.0.0.1
	redis_use "redis://both.example:$(redis_port one)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	redis_use "redis://both.example:$(redis_port two)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	run -0 --separate-stderr redlock --status
	silent_but "$output"
}

@test "a name with an IPv6 and an IPv4 address works if the first refuses" {
	our_names
	name both.example ::1 127.0.0.1
	redis_use "redis://both.example:$(redis_port one)"
	run -0 --separate-stderr redlock -k a -- true
	silent
}

@test "a name with two addresses works if one does not answer" {
	our_names
	name both.example 127.0.0.2 127.0.0.1
	hole 127.0.0.2 "$(redis_port one)"
	redis_use "redis://both.example:$(redis_port one)"
	run -0 --separate-stderr redlock -k a --node-timeout 4s -- true
	silent
	kill -KILL "$helper_pid"
	rm hole
	# where no other test can have a server
	name other.example 127.0.0.3 127.0.0.2
	hole 127.0.0.3 "$(redis_port two)"
	redis_use "redis://other.example:$(redis_port two)"
	run -0 --separate-stderr redlock -k a --node-timeout 4s -- true
	silent
}

@test "a name that does not resolve gives 69 and a message" {
	needs_loader	# musl has no nsswitch.conf, and asks 127.0.0.1 itself
	our_names
	redis_use redis://nobody.example
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: redis://nobody.example:6379: nobody.example: '
	[ ! -e started ]
	run -69 --separate-stderr redlock --status -k a
	says 'redis://nobody.example:6379: nobody.example: '
}

@test "two of three names that resolve are enough" {
	needs_loader
	our_names
	name one.example 127.0.0.1
	name two.example 127.0.0.2
	redis_use redis://nobody.example "redis://one.example:$(redis_port one)" \
	    "redis://two.example:$(redis_port two)"
	run -0 --separate-stderr redlock -k a -- true
	silent
	redis_use redis://nobody.example redis://nobody2.example \
	    "redis://one.example:$(redis_port one)"
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: ' 'nobody.example: ' 'nobody2.example: '
	[ ! -e started ]
}

@test "a name with an IPv4 address works if the query for IPv6 fails or gets no answer" {
	local how

	name_server timeout:30 attempts:5
	for how in servfail refused unknown silent; do
		echo "four.example 127.0.0.1 $how" >zone
		redis_use "redis://four.example:$(redis_port one)"
		run -0 --separate-stderr redlock -k a --node-timeout 8s -t 80s \
		    -- true
		silent
	done
}

@test "a query for IPv6 that gets no answer holds up one thread, however often the name is looked up" {
	name_server timeout:30 attempts:5
	echo 'four.example 127.0.0.1 silent' >zone
	redis_use "redis://four.example:$(redis_port one)"
	overseen_holds -v -t 6s --kill-after 100ms --node-timeout 2s
	for _ in 1 2; do
		watch_begun one
		overseen_renewed	# the name was looked up more than a second ago
		redis_at one client kill type normal
		overseen_renewed
	done
	eventually queried_often four.example 4
	eventually threads 2
	overseen_ends 0
}

@test "a name that resolves only while COMMAND runs counts from then on" {
	our_names
	name one.example 127.0.0.1
	name two.example 127.0.0.2
	redis_use redis://one.example:"$(redis_port one)" redis://two.example:"$(redis_port two)" \
	    "redis://late.example:$(third_port)"
	overseen_holds -t 9s --kill-after 100ms --node-timeout 3s
	name late.example 127.0.0.1
	eventually redis_has third redlock:a
	redis_kill one
	overseen_ends 0
}

@test "a name that cannot be resolved is tried again until the wait ends" {
	local kind

	needs_loader	# musl asks a server that fails until its time is over
	name_server timeout:1 attempts:1
	redis_use "redis://late.example:$(redis_port one)"
	for kind in servfail none; do
		rm -f started
		[ "$kind" = none ] || echo "late.example $kind" >zone
		run -69 --separate-stderr redlock -k a -- touch started
		says 'a: not run: redis://late.example:' ': late.example: '
		run -69 --separate-stderr redlock -k a -w 300ms -- touch started
		says 'a: not run: redis://late.example:' ': late.example: '
		[ ! -e started ]
		redlock_bg -k a -w inf -- touch started
		eventually grep -q 'a: waiting for the servers: redis://late.example:.*: late.example: ' "$bg_err"
		echo 'late.example 127.0.0.1' >zone
		redlock_ended 0
		[ -e started ]
		: >zone
	done
}

@test "a wait whose servers have no address yet ends with a signal" {
	deaf_resolver
	redis_use redis://slow.example redis://slow2.example redis://slow3.example
	redlock_bg -k a -w inf -- touch started
	eventually queried slow3.example
	kill -TERM "$bg_pid"
	redlock_ended 143
	[ ! -e started ]
}

@test "names of a minority that get no answer delay nothing" {
	deaf_resolver
	redis_start_port three
	redis_use redis://slow.example redis://slow2.example \
	    "redis://127.0.0.1:$(redis_port one)" \
	    "redis://127.0.0.2:$(redis_port two)" \
	    "redis://127.0.0.1:$(redis_port three)"
	run -0 --separate-stderr timeout -s KILL 30 \
	    "$REDLOCK_RUN" -k a --node-timeout 1h -t 10h -- true
	silent
	queried slow.example
	queried slow2.example
	redis_kill three
}

@test "names of a majority that get no answer give 69 after the node timeout" {
	local mode

	deaf_resolver
	redis_use redis://slow.example redis://slow2.example \
	    "redis://127.0.0.1:$(redis_port one)"
	export REDLOCK_NODE_TIMEOUT=300ms
	run -69 --separate-stderr redlock -k a -- touch started
	says 'a: not run: redis://slow.example:6379: no answer within 300ms from the resolver about slow.example; redis://slow2.example:6379: '
	[ ! -e started ]
	eventually queried slow.example 2
	eventually queried slow2.example 2
	for mode in '--status -k a' '--history -k a' '--break -k a' --check; do
		# shellcheck disable=SC2086
		run -69 --separate-stderr timeout -s KILL 30 "$REDLOCK_RUN" $mode
		[[ $stderr$output == *'no answer within 300ms from the resolver about slow.example'* ]]
	done
	run -0 --separate-stderr timeout -s KILL 30 "$REDLOCK_RUN" --metrics
	grep -qF 'redlock_server_up{server="redis://slow.example:6379"} 0' <<<"$output"
}

@test "each name of a run is looked up once" {
	deaf_resolver
	redis_use redis://slow.example:1 redis://slow.example:2 \
	    redis+cluster://slow.example:3,slow2.example
	redlock_bg -k a -k b -k c -w inf --node-timeout 100ms -- true
	eventually grep -q 'waiting for the servers' "$bg_err"
	# the joint question, and that for IPv4 alone
	eventually queried slow.example 2
	eventually queried slow2.example 2
	threads 5
	kill -TERM "$bg_pid"
	redlock_ended 143
}

# third_port: that of a third server, which is started for it.
third_port() {
	redis_start_port third >&2
	redis_port third
}

# successor_of PORT: a replica of the server "one", with its port.
successor_of() {
	rm -f "$BATS_FILE_TMPDIR/successor.rdb"
	redis_start successor --bind 127.0.0.2 --port "$1"
	redis_at successor replicaof 127.0.0.1 "$1"
	eventually redis_is successor master_link_status up
}

# moves COMMAND...: under a run on moves.example, which is "one" and then its
# successor, COMMAND makes the change.
moves() {
	local port

	our_names
	port=$(redis_port one)
	successor_of "$port"
	name moves.example 127.0.0.1
	redis_use "redis://moves.example:$port"
	overseen_holds -v -t 15s --kill-after 100ms --node-timeout 3s
	eventually redis_has successor redlock:a
	echo '127.0.0.2 moves.example' >names/hosts
	redis_at successor replicaof no one
	"$@"
	overseen_renewed
	overseen_ends 0
	not redis_has successor redlock:a
	redis_kill successor
}

@test "a renewal follows a name to its new address" {
	moves redis_kill one
}

@test "a renewal follows a name whose old server becomes a replica" {
	becomes_replica() { redis_at one replicaof 127.0.0.2 "$port"; }
	moves becomes_replica
}

# proxy_start: a proxy at an address, in $proxy_url.  A new connection leads to the
# server whose socket is named in the file "target".
proxy_start() {
	env -u TEST_MARK /usr/bin/python3 - >proxy.port 2>proxy.err 3>&- 4>&- <<-'END' &
		import socket, threading
		def pump(a, b):
		    try:
		        while data := a.recv(65536):
		            b.sendall(data)
		        b.shutdown(socket.SHUT_WR)
		    except OSError:
		        pass
		l = socket.create_server(("127.0.0.1", 0))
		print(l.getsockname()[1], flush=True)
		while True:
		    c, s = l.accept()[0], socket.socket(socket.AF_UNIX)
		    s.connect(open("target").read().rstrip())
		    for ends in (c, s), (s, c):
		        threading.Thread(target=pump, args=ends, daemon=True).start()
	END
	helper_pid=$!
	eventually test -s proxy.port
	proxy_url=redis://127.0.0.1:$(<proxy.port)
}

# fails_over: "one" becomes a replica of its successor, to which new connections
# through the proxy lead; the old ones stay.
fails_over() {
	echo "$BATS_FILE_TMPDIR/successor.sock" >target
	redis_at successor replicaof no one
	redis_at one replicaof 127.0.0.2 "$(redis_port one)"
}

@test "runs follow a failover behind an address that stays" {
	local proxy_url

	waits_at() { redis_at "$1" client list | grep -q ' cmd=blpop '; }
	successor_of "$(redis_port one)"
	echo "$BATS_FILE_TMPDIR/one.sock" >target
	proxy_start
	redis_use "$proxy_url"
	overseen_holds -v -t 6s --kill-after 100ms --node-timeout 2s
	overseen_start next -w 5m -t 20s
	eventually waits_at one
	eventually redis_has successor '{redlock:a}:~queue'
	fails_over
	overseen_renewed
	eventually waits_at successor
	touch leave-holder
	redlock_ended 0
	eventually overseen_runs next
	redis_has successor redlock:a
	touch leave
	client_ends next 0
	redis_kill successor
}

@test "a resolver that hangs delays neither renewals, signals nor the end" {
	deaf_resolver
	name stays.example 127.0.0.1
	redis_use "redis://stays.example:$(redis_port one)"
	overseen_holds -v -t 6s --kill-after 100ms --node-timeout 2s
	eventually threads 1
	: >names/hosts
	watch_begun one
	overseen_renewed	# the name was looked up more than a second ago
	redis_at one client kill type normal
	eventually threads 3
	overseen_renewed
	redis_at one client kill type normal
	overseen_renewed
	threads 3
	overseen_ends 0
	not redis_has one redlock:a
}

@test "a resolver that hangs does not keep a signal from COMMAND and redlock-run" {
	local start

	deaf_resolver
	name stays.example 127.0.0.1
	redis_use "redis://stays.example:$(redis_port one)"
	overseen_holds -v -t 6s --kill-after 100ms --node-timeout 2s
	: >names/hosts
	watch_begun one
	overseen_renewed
	redis_at one client kill type normal
	eventually threads 3
	start=$(now_us)
	kill -TERM "$bg_pid"
	redlock_ended 143
	(($(now_us) - start < 10000000))
	not redis_has one redlock:a
}

# sends_on HOST: a server that sends everybody on to there; its port is in the
# file "port", and each request adds a line to "asked".
sends_on() {
	/usr/bin/python3 -c '
import socket, sys, threading
def serve(c):
    while c.recv(65536):
        print(file=open("asked", "a"))
        c.sendall(b"-MOVED 1 %s:7000\r\n" % sys.argv[1].encode())
l = socket.socket()
l.bind(("127.0.0.1", 0))
l.listen(99)
print(l.getsockname()[1], file=open("port", "w"))
while True:
    threading.Thread(target=serve, args=(l.accept()[0],), daemon=True).start()
' "$1" 2>/dev/null 3>&- 4>&- &
	sender_pid=$!
	eventually test -s port
}

# resolver_asked N: so often, at least.
resolver_asked() {
	[ "$(wc -l <asked)" -ge "$1" ]
}

@test "a resolver that hangs gets two queries for the host of a redirect" {
	deaf_resolver
	sends_on slow.example
	redis_use "redis+cluster://127.0.0.1:$(cat port)"
	redlock_bg -k a -w inf --node-timeout 100ms -- touch started
	eventually resolver_asked 8
	[ "$(find "/proc/$bg_pid/task" -mindepth 1 -maxdepth 1 | wc -l)" -le 3 ]
	queried slow.example 2
	kill -TERM "$bg_pid"
	redlock_ended 143
	run -69 --separate-stderr redlock -k a --node-timeout 2s -- touch started
	says 'a: not run: ' \
	    'no answer within 2s from the resolver about slow.example'
	[ ! -e started ]
}

@test "a cluster may name its nodes by host names" {
	local name

	our_names
	name n1.example 127.0.0.1
	name n2.example 127.0.0.1
	for name in n1 n2; do
		redis_start_port "$name" --cluster-enabled yes \
		    --cluster-config-file "$name.nodes" \
		    --cluster-announce-hostname "$name.example" \
		    --cluster-preferred-endpoint-type hostname
		redis_may "$name"
	done
	redis_at n1 cluster addslotsrange 0 8191
	redis_at n2 cluster addslotsrange 8192 16383
	redis_at n1 cluster meet 127.0.0.1 "$(redis_port n2)"
	eventually names_known n1 n2.example
	eventually names_known n2 n1.example
	for name in n1 n2; do
		redis_use "redis+cluster://127.0.0.1:$(redis_port "$name")"
		run -0 --separate-stderr redlock -k a -k b -k c -k d -- \
		    "$REDLOCK_RUN" --status
		[ -z "$stderr" ]
		[ "$(awk 'NR > 1 { print $1 }' <<<"$output" | xargs)" = 'a b c d' ]
	done
	# of two addresses behind a name the first refuses
	: >names/hosts
	name n1.example ::1 127.0.0.1
	name n2.example ::1 127.0.0.1
	run -0 --separate-stderr redlock -k a -k b -k c -k d -- \
	    "$REDLOCK_RUN" --status
	[ -z "$stderr" ]
	: >names/hosts
	run -69 --separate-stderr redlock -k a -k b -k c -k d -- touch started
	[[ $stderr == *n1.example* || $stderr == *n2.example* ]]
	[ ! -e started ]
	redis_kill n1
	redis_kill n2
}

# names_known NODE NAME: it knows the other by name, and all slots.
names_known() {
	redis_at "$1" cluster slots | grep -qx "$2" &&
		redis_at "$1" cluster info | grep -q cluster_state:ok
}
