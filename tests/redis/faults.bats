#!/usr/bin/env bats
# Faults of one server: they give no vote, leave no lock behind and cause no crash.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/faults

setup_file() { faults_start; }
setup() { faults_setup; }
teardown() { faults_teardown; }
teardown_file() { redis_stop_all; }

## A server's clock that is set back

# clocked_start: a server with a clock of its own, up for two hours, is the one
# that redlock-run uses.
clocked_start() {
	preload offset
	[[ ! -e $BATS_FILE_TMPDIR/clocked.server ]] || redis_kill clocked
	clock_set -7200000
	LD_PRELOAD=$preload CLOCK_OFFSET=$PWD/clock redis_start clocked
	clock_set 0
	redis_use "unix://$BATS_FILE_TMPDIR/clocked.sock"
	export servers=clocked
}

# holder_killed: that redlock_bg and its COMMAND are.
holder_killed() {
	kill -KILL "$bg_pid"
	eventually gone "$bg_pid"
	touch let-go
}

# clock_set MS: its clock is off by so much.
clock_set() {
	printf '%+019d\n' "$1" 1<>clock
}

@test "a server's clock that is set back by an hour keeps no dead holder's lock for longer than its TTL" {
	clocked_start
	hold a -t 2s
	holder_killed
	clock_set -3600000
	run -75 redlock -k a -- true
	run -0 redlock -k a -w 30s -- true
}

@test "a server's clock that is set back by an hour keeps no cooldown for longer than --min-hold" {
	clocked_start
	redlock -k a --min-hold 2s -- true
	clock_set -3600000
	run -75 redlock -k a -- true
	run -0 redlock -k a -w 30s -- true
}

@test "a server's clock that is set back costs no living holder its lock" {
	clocked_start
	hold a -t 3s
	clock_set -3600000
	for _ in {1..30}; do
		run -75 redlock -k a -- true
	done
	let_go
}

## A host that stands still

# has_stopped: that redlock_bg is stopped, or has ended without.
has_stopped() {
	gone "$bg_pid" || grep -q '^State:.T' "/proc/$bg_pid/status"
}

@test "a pause of redlock-run does not count as silence of the server" {
	local at url

	preload stopped
	for url in "$REDLOCK_REDIS" "$tcp"; do
		for at in 1 2 3 4 5; do
			STOP_AT=$at LD_PRELOAD=$preload redlock_bg -k a \
			    -r "$url" --node-timeout 300ms -- \
			    env -u LD_PRELOAD true
			eventually has_stopped
			sleep 0.5 # longer than the node timeout
			gone "$bg_pid" || kill -CONT "$bg_pid"
			redlock_ended 0
			[ ! -s "$bg_err" ]
		done
	done
}

@test "a lease half used up by a pause of redlock-run is acquired again" {
	preload stopped
	STOP_AT=1 LD_PRELOAD=$preload redlock_bg -k a -t 2s \
	    --node-timeout 500ms -- env -u LD_PRELOAD true
	eventually has_stopped
	sleep 1.2
	gone "$bg_pid" || kill -CONT "$bg_pid"
	redlock_ended 0
	[ ! -s "$bg_err" ]
}

## Answers and connections that are lost

@test "a lost reply to an acquire is requested again: one key, one holder" {
	rude redis cut
	run -5 --separate-stderr redlock -k a -r "$rude_url" -- \
	    sh -c 'echo >>ran; exit 5'
	[ "$(cat mode)" = pass ]
	[ "$(wc -l <ran)" -eq 1 ]
	quiet_end
}

@test "a lost reply to a release leaves no key, and COMMAND's status" {
	rude redis pass
	run -5 --separate-stderr redlock -k a -r "$rude_url" -- sh -c '
		echo cut >mode
		exit 5'
	[ "$(cat mode)" = pass ]
	quiet_end
}

@test "a lost reply to a renewal is requested again, and COMMAND runs on" {
	rude redis pass
	hold a -v -t 6s --kill-after 100ms --node-timeout 2s -r "$rude_url"
	eventually grep -q 'acquired in' "$bg_err"
	rude_mode cut
	eventually grep -qx pass mode
	eventually renewed_after 0
	let_go
	quiet_end
}

# renewed_after N: `hold -v` has said more than N times that it was renewed.
renewed_after() {
	(($(grep -c 'renewed in' "$bg_err") > $1))
}

@test "a lost connection is reopened at once, with a renewal as its first request" {
	local before

	hold a -t 1h
	sleep 0.1	# by so much the renewal will prolong it
	before=$(expiry redlock:a)
	redis client kill user default
	eventually lease_later_than "$before"
	let_go
}

@test "a server that restarts with its data gets a renewal as soon as it is back" {
	local before

	hold a -t 1h -r "redis://$tcp"
	redis save
	sleep 0.1
	before=$(expiry redlock:a)
	redis_kill
	eventually grep -q 'Connection refused' "$bg_err"
	redis_spawn
	eventually lease_later_than "$before"
	let_go
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

@test "COMMAND does not notice lost connections" {
	run -5 --separate-stderr redlock -k a -t 3s --kill-after 100ms \
	    --node-timeout 1s -- sh -c "
		for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
			$(cli client kill user default) >/dev/null
			sleep 0.3
		done
		exit 5"
	quiet_end
}

@test "while connections are cut all the time, a run either starts and releases or does not start" {
	local stop=$PWD/stop got ran=0

	while [ ! -e "$stop" ]; do
		redis client kill user default >/dev/null
		sleep 0.005
	done &
	for _ in {1..40}; do
		got=0
		redlock -k a -t 10s --node-timeout 1s -- \
		    sh -c 'echo >>ran' || got=$?
		case $got in
		0)	((++ran)) ;;
		69)	;;
		*)	echo "status $got"
			touch "$stop"
			false ;;
		esac
		eventually not held a
	done
	touch "$stop"
	wait
	[ "$(wc -l <ran)" -eq "$ran" ]
	((ran > 0))
}

@test "an address that accepts connections and closes them, or a replica, gets few" {
	local before

	rude - close
	run -69 redlock -k a -r "$rude_url" -- touch started
	run -69 redlock -k a -r "$rude_url" -w 3s -- touch started
	(($(wc -l <rude.connections) <= 80))
	redis replicaof 127.0.0.1 1
	before=$(connections)
	run -69 redlock -k a -w 3s -- touch started
	(($(connections) - before <= 40))
	[ ! -e started ]
}

# connections: so many has the server accepted.
connections() {
	redis info stats | sed -n 's/^total_connections_received:\([0-9]*\).*/\1/p'
}

## Release never overtakes acquire

# ghostless ARG...: with the server stalled an attempt ends with 69; when the
# server goes on, it has executed the acquire, and the lock is free.
ghostless() {
	redis_freeze
	run -69 redlock -k a -t 1h --node-timeout 500ms "$@" -- touch started
	[ ! -e started ]
	redis_thaw
	eventually fence_exists
	eventually not held a
}

fence_exists() {
	[ -n "$(redis --scan --pattern '{redlock:a}:~fence')" ]
}

@test "an attempt that a stalled server did not answer leaves no lock behind" {
	ghostless
}

@test "an attempt without reply leaves no lock behind, however long its name" {
	local name prefix

	name=$(printf 'a%.0s' {1..512})
	prefix=redlock:$(printf 'p%.0s' {1..504})
	redlock -k a -- true # the server knows the script
	redis_freeze
	run -69 redlock --prefix "$prefix" -k "$name" -t 1h \
	    --node-timeout 500ms -- touch started
	[ ! -e started ]
	redis_thaw
	eventually only_side_keys
}

# only_side_keys: no key but those that a lock leaves.
only_side_keys() {
	redis --scan >keys && grep -q ':~fence$' keys &&
		not grep -v ':~\(fence\|runs\|skips\|success\)$' keys
}

@test "an attempt over TCP without reply from a stalled server leaves no lock behind" {
	ghostless -r "$tcp"
}

@test "a release never overtakes its acquire" {
	rude redis late
	run -69 redlock -k a -t 1h --node-timeout 500ms -r "$rude_url" -- \
	    touch started
	[ ! -e started ]
	not fence_exists
	rude_mode pass
	eventually fence_exists
	eventually not held a
}

@test "an interrupted attempt leaves no lock behind" {
	local i

	for i in 1 2; do
		redis_freeze
		redlock_bg -k a -t 1h --node-timeout 20s -- touch started
		eventually connected "$bg_pid"
		sleep "0.0$((i * 4))"
		kill -TERM "$bg_pid"
		redlock_ended 143
		redis_thaw
		redis ping
		eventually not held a
	done
	[ ! -e started ]
}

@test "an interrupted attempt ends at once, however long the server is silent" {
	local start

	redis_freeze
	redlock_bg -k a --node-timeout 20s -t 10h -- touch started
	eventually connected "$bg_pid"
	start=$(now_us)
	kill -HUP "$bg_pid"
	redlock_ended 129
	(($(now_us) - start < 10000000))
	[ ! -e started ]
}

@test "a password that no longer holds is tried at each renewal, and a lease outlives that" {
	local before

	redis acl log reset
	redis acl setuser me on '>old' '~redlock:*' '~{redlock:*' +@all
	hold a -t 12s -r "redis://me:old@$tcp"
	redis acl setuser me '<old' '>new'
	redis client kill user me
	eventually refused_logins 1
	sleep 1				# a lost connection is tried 5 times in that
	not refused_logins 3
	redis acl setuser me '>old'
	before=$(expiry redlock:a)
	eventually lease_later_than "$before"
	let_go
	redis acl deluser me
}

# refused_logins N: a password was refused so often.
refused_logins() {
	redis acl log | awk -v least="$1" '
		word == "count" { n += $0 }
		{ word = $0 }
		END { exit n < least }'
}

@test "no write is sent before the password is accepted" {
	redis acl setuser default resetpass '>s3cret'
	redis config resetstat
	redis_freeze
	REDISCLI_AUTH=s3cret run -69 redlock -k a --node-timeout 500ms -- true
	redis_thaw
	redis ping
	redis ping
	redis info commandstats >stats
	grep '^cmdstat_auth:calls=4,' stats	# this one and our own three
	not grep -q '^cmdstat_eval' stats
	not held a
}

@test "no write is sent before the database is selected" {
	redis_freeze
	run -69 redlock -k a --node-timeout 500ms -r "$REDLOCK_REDIS?db=3" -- true
	redis_thaw
	redis ping
	redis ping
	redis info commandstats >stats
	grep -q '^cmdstat_select' stats
	not grep -q '^cmdstat_eval' stats
	redis info keyspace >keys
	not grep -q '^db' keys
}

@test "a renewal in flight when COMMAND ends leaves no key" {
	redlock_bg -k a -t 6s --kill-after 100ms --node-timeout 3s -- sh -c "
		kill -STOP $(redis_pid)
		sleep 2.3
		touch done
		exit 5"
	eventually test -e "done"
	redis_thaw
	redlock_ended 5
	not held a
	sleep 0.6
	quiet_end
}

@test "an early end while the server is stalled leaves no lock behind" {
	run -5 redlock -k a -t 1h --node-timeout 1s -- sh -c "
		kill -STOP $(redis_pid)
		exit 5"
	redis_thaw
	eventually not held a
	run -5 redlock -k a -t 1h --node-timeout 1s -r "$tcp" -- sh -c "
		kill -STOP $(redis_pid)
		exit 5"
	redis_thaw
	eventually not held a
}

## A server that cannot answer has no vote, and is never "busy"

# bats test_tags=quick
## A server that is far away

# far_runs DURATION: the command runs with a lease of DURATION, and nothing is
# printed.
far_runs() {
	run -0 --separate-stderr far 100 -k a -t "$1" -- echo ran
	[[ $output == ran && -z $stderr ]]
}

@test "connection, handshake and request may take 200 ms each with a lease of five seconds" {
	eventually far_runs 5s
}

@test "connection and request may take 200 ms each with a lease of three seconds" {
	far_password='' eventually far_runs 3s
	far_password='' run -0 far 100 --check -t 3s
	[[ $output == *' OK '* ]]
}

@test "the message says how far we got, and what to raise" {
	local hint='(a tenth of --ttl); raise --ttl or --node-timeout'

	run -69 --separate-stderr far 350 -k a -t 10s -- touch started
	says "connected, but no reply to the handshake within 1s $hint"
	run -69 --separate-stderr far 700 -k a -t 10s -- touch started
	says "no connection within 1s $hint"
	run -69 far 350 --check -t 10s
	[[ $output == *"it cannot be used: connected, but no reply to the handshake within 1s $hint"* ]]
	redis_freeze
	refused_with 69 -t 3s
	says "connected, but no reply within 300ms $hint"
	refused_with 69 -t 30s
	says 'connected, but no reply within 3s'
	[[ $stderr != *'a tenth'* ]]
}

## A connection that a firewall has forgotten

# ended_once: the history of the lock "a" has one run that ended.
ended_once() {
	[ "$(redis xrange '{redlock:a}:~runs' - + | grep -c ' ended=')" = 1 ]
}

@test "a release without an answer is sent on a second connection as well" {
	rude redis pass
	hold a -t 1h --node-timeout 1s -r "$rude_url"
	rude_mode late
	let_go
	[ ! -s "$bg_err" ]
	quiet_end
	ended_once
	run -0 redlock --history a --max-age 1h
	run -75 redlock -k a --once-per 1h -- true
	# The first one arrives at last, while another run holds the lock.
	hold a
	rude_mode pass
	rude_drained
	held a
	let_go
	[ "$(redis xrange '{redlock:a}:~runs' - + | grep -c ' ended=')" = 2 ]
}

# rude_drained: all that came on the first connection has been executed.
rude_drained() {
	eventually no_client_but_ours
}

no_client_but_ours() {
	[ "$(redis client list type normal | grep -c 'cmd=eval')" = 1 ]
}

@test "a release whose answer is lost is sent again, and reported as done" {
	rude redis pass
	hold a -v -t 1h --node-timeout 1s -r "$rude_url"
	rude_mode deaf
	let_go
	grep -q 'released in' "$bg_err"
	quiet_end
	ended_once
}

## A release that gets an error

# release_passes CODE FAULT UNDO [SERVER [ARG...]]: FAULT makes the server refuse a
# release with an error of that code.  Once it has, UNDO ends that: the run ends as
# any other, before the end of its lease.
release_passes() {
	local server=${4:-redis}
	hold a -v -t 1h --node-timeout 30s "${@:5}"
	eval "$2"
	touch let-go
	eventually grep -q ": $1 .*; sending the release again" "$bg_err"
	eval "$3"
	redlock_ended 0
	grep -q 'released in' "$bg_err"
	[[ $(redis_at "$server" exists redlock:a) == 0 ]]
	[[ $(redis_at "$server" xrange '{redlock:a}:~runs' - + |
		grep -c ' ended=') == 1 ]]
	run -75 redlock -k a --once-per 1h "${@:5}" -- true
	redis_at "$server" flushall
}

@test "a release that a server refuses for want of replicas is sent again" {
	release_passes NOREPLICAS 'redis config set min-replicas-to-write 1' \
	    'redis config set min-replicas-to-write 0'
}

@test "a release that a server busy with a script refuses is sent again" {
	release_passes BUSY "redis eval 'while true do end' 0 >/dev/null 2>&1 &
		eventually busy_server" 'redis script kill'
}

@test "a release that a server refuses because it cannot save is sent again" {
	local file=$BATS_FILE_TMPDIR/misconf.rdb

	redis_start misconf --save 3600 1
	release_passes MISCONF "mkdir -p $file/in-its-place
		redis_at misconf bgsave
		eventually cannot_save" "rm -r $file
		redis_at misconf bgsave" misconf \
	    -r "unix://$BATS_FILE_TMPDIR/misconf.sock"
	redis_kill misconf
}

@test "a release that a replica refuses goes to the master that follows at its name" {
	needs_localhost
	release_passes READONLY 'redis replicaof 127.0.0.1 1' \
	    'redis replicaof no one' redis -r "redis://localhost:$redis_port"
}

@test "a release that a replica without its master refuses is sent again" {
	redis config set replica-serve-stale-data no
	release_passes MASTERDOWN 'redis replicaof 127.0.0.1 1' \
	    'redis replicaof no one'
	redis config set replica-serve-stale-data yes
}

@test "a release that a loading server, or a cluster that is down, refuses is sent again" {
	local text

	for text in 'LOADING it loads' 'CLUSTERDOWN it is down' 'OOM it is full'; do
		rude redis pass
		release_passes "${text%% *}" "rude_mode 'refuse -$text\r\n'" \
		    'rude_mode pass' redis -r "$rude_url"
		rude_stop
		rm rude.sock
	done
}

@test "a release that gets another error is not sent again" {
	rude redis pass
	hold a -v -t 1h --node-timeout 30s -r "$rude_url"
	rude_mode 'refuse -ERR something quite new\r\n'
	let_go
	grep -q 'release not confirmed: .*: ERR something quite new; the lock' \
	    "$bg_err"
	not grep 'again' "$bg_err"
}

@test "a release that a server refuses for a node timeout is not confirmed, and the message says why" {
	hold a -t 1h --node-timeout 300ms
	redis config set min-replicas-to-write 1
	let_go
	grep -q 'release not confirmed: .*: NOREPLICAS .*; the lock ends' "$bg_err"
	redis config set min-replicas-to-write 0
}

@test "an idle connection is probed after twenty seconds" {
	hold a -t 1h -r "$tcp"
	# Only its own connection: others have ports of this number, too.  The third
	# word of timers is 02 for such a probe, in hundredths.
	run -0 awk -v port="$(printf ':%04X' "$redis_port")" -v ours="$(
		find "/proc/$bg_pid/fd" -printf ' %l ')" \
	    'substr($3, 9) == port && index(ours, " socket:[" $10 "] ") { print $6 }' \
	    /proc/net/tcp
	[[ $output == 02:* ]]
	((16#${output#02:} > 0 && 16#${output#02:} <= 2000))
	let_go
}

@test "a server out of memory has no vote" {
	redis config set maxmemory 1
	refused_with 69
	says OOM
}

@test "renewal and release survive a server out of memory" {
	local until_ms

	hold a -t 6s --kill-after 100ms --node-timeout 2s
	redis config set maxmemory 1
	until_ms=$(expiry redlock:a)
	eventually lease_later_than "$until_ms"
	let_go
	not held a
}

@test "--min-hold survives a server out of memory" {
	run -5 --separate-stderr redlock -k a -t 10s --min-hold 1h -- sh -c "
		$(cli config set maxmemory 1) >/dev/null
		exit 5"
	(($(redis pttl redlock:a) > 3000000))
	run -75 redlock -k a -- true
}

# bats test_tags=quick
@test "a replica has no vote" {
	redis replicaof 127.0.0.1 1
	refused_with 69
	says READONLY
}

@test "a server that cannot save has no vote" {
	mkdir "$BATS_FILE_TMPDIR/gone"
	redis_start misconf --save 3600 1 --dir "$BATS_FILE_TMPDIR/gone"
	rmdir "$BATS_FILE_TMPDIR/gone"
	redis_at misconf bgsave
	eventually cannot_save
	refused_with 69 -r "unix://$BATS_FILE_TMPDIR/misconf.sock"
	says MISCONF
	redis_kill misconf
}

cannot_save() {
	[[ $(redis_at misconf info persistence) == *rdb_last_bgsave_status:err* ]]
}

@test "a server that is still loading has no vote" {
	redis_start loading
	redis_at loading eval 'for i = 1, 3000 do
		redis.call("SET", i, string.rep("x", 1100) .. i) end' 0
	redis_at loading config set rdbcompression no
	redis_at loading save
	redis_kill loading
	printf '%s\0' --key-load-delay 5000 \
	    --loading-process-events-interval-bytes 1024 \
	    >"$BATS_FILE_TMPDIR/loading.args"
	redis_spawn loading
	eventually still_loading
	refused_with 69 -r "unix://$BATS_FILE_TMPDIR/loading.sock"
	says LOADING
	still_loading
	redis_kill loading
}

still_loading() {
	[[ $(redis_at loading get x) == *LOADING* ]]
}

@test "a server busy with an endless script has no vote" {
	redis eval 'while true do end' 0 >/dev/null 2>&1 &
	eventually busy_server
	refused_with 69
	says BUSY
	redis script kill
	wait
	eventually redis ping
	quiet_end
}

busy_server() {
	[[ $(redis get x) == *BUSY* ]]
}

@test "a server with no room for another client has no vote" {
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" blpop nothing 0 \
	    >/dev/null 2>&1 3>&- 4>&- &
	eventually somebody_waits
	redis config set maxclients 1
	eventually full_server
	refused_with 69
	kill $!
	eventually roomy_server
}

roomy_server() {
	[ "$(redis config set maxclients 10000)" = OK ]
}

somebody_waits() {
	[[ $(redis info clients) == *blocked_clients:1* ]]
}

full_server() {
	[[ $(redis ping 2>/dev/null) != PONG ]]
}

@test "a server with an unknown error has no vote" {
	rude - 'say -CLUSTERDOWN Hash slot not served\r\n'
	refused_with 69 -r "$rude_url" --node-timeout 300ms
	rude_mode 'say -ERR something quite new\r\n'
	refused_with 69 -r "$rude_url" --node-timeout 300ms
	rude_mode 'say -MASTERDOWN Link with MASTER is down\r\n'
	refused_with 69 -r "$rude_url" --node-timeout 300ms
}

@test "a permission error fails at once" {
	local start

	rude - 'say -NOPERM this user has no permissions\r\n'
	start=$SECONDS
	refused_with 77 -r "$rude_url" -t 1h --node-timeout 30s
	rude_mode 'say -NOAUTH Authentication required.\r\n'
	refused_with 77 -r "$rude_url" -t 1h --node-timeout 30s
	rude_mode 'say -WRONGPASS invalid username-password pair\r\n'
	REDISCLI_AUTH=x refused_with 77 -r "$rude_url" -t 1h --node-timeout 30s
	((SECONDS - start < 25))
}

@test "control characters in a server's error do not reach the terminal" {
	rude - 'say -ERR \x1b[31mred\x07\r\n'
	refused_with 69 -r "$rude_url" --node-timeout 300ms
	[[ $stderr != *[$'\e\a']* ]]
}

## The kernel takes and gives bytes in pieces

@test "a run, --status and --history work when the kernel takes and gives a few bytes at a time" {
	local url

	preload pieces
	for url in "$REDLOCK_REDIS" "$tcp"; do
		run -5 --separate-stderr env LD_PRELOAD="$preload" \
		    "$REDLOCK_RUN" -k a -r "$url" -- env -u LD_PRELOAD \
		    sh -c "$(cli exists redlock:a); exit 5"
		[ "$output" = 1 ]
		[ -z "$stderr" ]
		not held a
		LD_PRELOAD=$preload redlock --history a -r "$url" | grep ' 5$'
		LD_PRELOAD=$preload redlock --status -r "$url"
	done
}

## The server talks nonsense: no vote, no crash, bounded memory

@test "a reply of the wrong type is no vote" {
	local answer

	rude - close
	for answer in ':1' '+OK' '+' '$-1' '$0\r\n' '*-1' '*0' '*1\r\n:1' \
	    '*1\r\n$-1' '*2\r\n+yes\r\n+no' '*2\r\n:1\r\n$-1' \
	    '*2\r\n:0\r\n:1' '*2\r\n:7\r\n:1' '*2\r\n$1\r\n1\r\n$1\r\n1' \
	    '*1\r\n*1\r\n*1\r\n:1' '*3\r\n-ERR a\r\n-ERR b\r\n:1'; do
		rude_mode "say $answer\\r\\n"
		cat mode
		refused_with 69 -r "$rude_url" --node-timeout 60ms
	done
}

# bats test_tags=quick
@test "garbage and half a reply are no vote" {
	local answer

	rude - close
	for answer in '\x00\xff\xfe garbage\r\n' 'HTTP/1.1 400 Bad Request\r\n\r\n' \
	    '\r\n\r\n\r\n' '$100\r\nhalf' '*2\r\n:1' '*2\r\n' ':' '*' '$' \
	    '$999999999999999999999\r\n' '*99999999999999\r\n' '$-5\r\n' \
	    '*-7\r\n' ':12345678901234567890123\r\n' '*1000000000\r\n'; do
		rude_mode "say $answer"
		cat mode
		refused_with 69 -r "$rude_url" --node-timeout 60ms
	done
}

# bats test_tags=quick
@test "a server that hangs up has no vote" {
	local start=$SECONDS

	rude - close
	refused_with 69 -r "$rude_url" --node-timeout 300ms
	((SECONDS - start < 10))
}

@test "a connection that fails at the moment of the timeout brings no vote" {
	local ms

	rude - close
	for ms in 94 96 98 99 100 101 102 104; do
		rude_mode "close 0.$(printf %03d "$ms")"
		refused_with 69 -r "$rude_url" --node-timeout 60ms
	done
}

@test "a server that does not answer has no vote" {
	rude - silence
	refused_with 69 -r "$rude_url" --node-timeout 300ms
}

# full_queue: a server whose listen queue is full until ./go exists, in front of
# the other one; its port is in ./full.port.
full_queue() {
	cat >full.py <<-'END'
		import os, socket, threading, time
		server = socket.socket()
		server.bind(("127.0.0.1", 0))
		server.listen(0)
		fillers = []
		while True:
		    filler = socket.socket()
		    filler.settimeout(0.3)
		    try:
		        filler.connect(server.getsockname())
		    except TimeoutError:
		        filler.close()
		        break
		    fillers.append(filler)
		with open("new", "w") as file:
		    print(server.getsockname()[1], file=file)
		os.rename("new", "full.port")
		while not os.path.exists("go"):
		    time.sleep(0.02)
		for _ in fillers:
		    server.accept()[0].close()

		def copy(a, b):
		    while data := a.recv(65536):
		        b.sendall(data)
		    b.shutdown(socket.SHUT_WR)

		while True:
		    client = server.accept()[0]
		    redis = socket.socket(socket.AF_UNIX)
		    redis.connect(os.environ["SOCKET"])
		    for pair in (client, redis), (redis, client):
		        threading.Thread(target=copy, args=pair, daemon=True).start()
	END
	SOCKET=$BATS_FILE_TMPDIR/redis.sock /usr/bin/python3 full.py 3>&- 4>&- &
	full_pid=$!
	eventually test -s full.port
}

# begun N: so many connections to the port have no answer.
begun() {
	local port
	printf -v port ':%04X 02 ' "$(<full.port)"
	[[ $(grep -c "$port" /proc/net/tcp) == "$1" ]]
}

@test "a connection without an answer gets a second one beside it, and one of them is used" {
	full_queue
	redlock_bg -r "127.0.0.1:$(<full.port)" -k a -w 60s -- sh -c 'echo ran >>log'
	eventually begun 2
	touch go
	redlock_ended 0
	eventually begun 0
	[[ $(<log) == ran ]]
	kill "$full_pid"
}

@test "a server that accepts no connection has no vote" {
	/usr/bin/python3 -c '
import socket, time
l = socket.socket(socket.AF_UNIX)
l.bind("full.sock")
l.listen(0)
waiting = []
while True:
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect("full.sock")
    except BlockingIOError:
        break
    waiting.append(s)
open("full", "w")
time.sleep(1000)' 3>&- 4>&- &
	eventually test -e full
	refused_with 69 -r "unix://$PWD/full.sock" --node-timeout 300ms
	kill $!
}

# memory ARG...: the exit status of redlock-run, and the most memory that it
# ever had, in MB.
memory() {
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=4 /usr/bin/python3 -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' \
	    "$REDLOCK_RUN" "$@"
}

@test "a huge or endless reply is no vote and takes no memory" {
	local how status usual got

	read -r status usual < <(memory -k a -- true)
	rude - close
	for how in line bulk array nested replies; do
		rude_mode "endless $how"
		read -r status got < <(memory -k a -r "$rude_url" \
		    --node-timeout 300ms -- touch started)
		echo "$how: status $status, $got MB, usually $usual MB"
		[ "$status" -eq 69 ]
		[ ! -e started ]
		((got < usual + 64))
	done
}

## Rights

@test "a user without INFO can hold a lock" {
	redis acl setuser default -info
	redlock -k a -- true
}

@test "a user without permission for the keys beside the lock can hold it, or gets the missing pattern" {
	redis acl setuser default resetkeys '~redlock:*'
	run --separate-stderr redlock -k a -- touch started
	if [ "$status" -ne 0 ]; then
		[ "$status" -eq 77 ]
		[ ! -e started ]
		says '{redlock:'
	fi
	not held a
}

@test "the hint at TLS is only for a server that has never answered, to any lock" {
	local proxy port
	# Passes one connection on, and resets all later ones.
	/usr/bin/python3 - "$BATS_FILE_TMPDIR/redis.sock" >port 3>&- 4>&- <<-'END' &
		import socket, struct, sys, threading
		def pump(a, b):
		    while data := a.recv(65536):
		        b.sendall(data)
		l = socket.socket()
		l.bind(("127.0.0.1", 0))
		l.listen(8)
		print(l.getsockname()[1], flush=True)
		c, s = l.accept()[0], socket.socket(socket.AF_UNIX)
		s.connect(sys.argv[1])
		for ends in (c, s), (s, c):
		    threading.Thread(target=pump, args=ends, daemon=True).start()
		while True:
		    c = l.accept()[0]
		    c.recv(1)
		    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
		        struct.pack("ii", 1, 0))
		    c.close()
	END
	proxy=$!
	eventually test -s port
	port=$(<port)
	run -69 --separate-stderr redlock -r "redis://127.0.0.1:$port" \
	    -k a -k b -- touch started
	says 'b: not run: ' 'Connection reset by peer'
	[[ $stderr != *rediss* ]]
	refused_with 69 -r "redis://127.0.0.1:$port"
	says 'Connection reset by peer (if the server uses TLS, use a rediss:// URL)'
	kill -KILL "$proxy"
	eventually not held a
}

@test "no message quotes NOSCRIPT, or the line of a script" {
	rude redis pass
	redlock -r "$rude_url" -k a -- true
	rude_mode 'say -NOSCRIPT No matching script. Please use EVAL.\r\n'
	refused_with 69 -r "$rude_url" -w 1500ms
	says 'the server forgets scripts'
	[[ $stderr != *NOSCRIPT* ]]
	redis replicaof 127.0.0.1 1
	refused_with 69
	says READONLY
	[[ $stderr != *script* ]]
	redis replicaof no one
}

@test "an error that is cut ends behind a word, with ..." {
	rude - "say -ERR$(printf ' word%.0s' {1..100})\\r\\n"
	refused_with 69 -r "$rude_url"
	says ' word...; '
}

@test "without a reply the lock may be left for one lease, and the message says so" {
	redis_freeze
	refused_with 69 -t 1s
	says 'the lock may be left for up to 1s; see redlock-run --check'
	redis_thaw
	eventually redis ping
	refused_with 69 -r unix:///nowhere -t 1s
	[[ $stderr != *'may be left'* ]]
}

@test "a server that ends each connection without any reply has no lock of ours, and the message names none" {
	local closer

	env -u TEST_MARK /usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.bind("brief.new")
s.listen()
os.rename("brief.new", "brief")
c = s.accept()[0]
os.unlink("brief")
c.recv(1)
' 3>&- 4>&- &
	closer=$!
	eventually test -S brief
	refused_with 69 -r "unix://$PWD/brief"
	says 'not run: '
	[[ $stderr != *'may be left'* ]]
	wait "$closer"
}

@test "a waiter whose server does not know BLPOP waits for the holder, says so, and gets the lock" {
	local waiter err=$PWD/waiter.err
	local url=unix://$BATS_FILE_TMPDIR/blocks.sock

	redis_start blocks --rename-command BLPOP ''
	hold a -r "$url"
	"$REDLOCK_RUN" -k a -w 1h -r "$url" -- true 2>"$err" 3>&- 4>&- &
	waiter=$!
	eventually grep -q 'a: waiting for ' "$err"
	grep -q "a: waiting for $(id -un)@" "$err"
	let_go
	ended "$waiter" 0 "$err"
	redis_kill blocks
}

@test "a server that replies with an error has no lock of ours, and the message names none" {
	redis replicaof 127.0.0.1 1
	refused_with 69
	says READONLY
	[[ $stderr != *'may be left'* ]]
	redis replicaof no one
	redis config set maxmemory 1
	refused_with 69
	says OOM
	[[ $stderr != *'may be left'* ]]
	redis config set maxmemory 0
	[[ $(redis dbsize) == 0 ]]
}
