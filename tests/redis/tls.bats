#!/usr/bin/env bats
# rediss://: the server has to prove its identity; everything else works as
# without TLS.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/common
load ../lib/tls
load ../lib/faults

setup_file() {
	[[ -z $(no_tls) ]] || return 0
	tls_make_certificates
	redis_start_tcp plain
	tls_start redis server
}

setup() {
	[[ -z $(no_tls) ]] || skip "$(no_tls)"
	redis_reset
	REDLOCK_REDIS=$(tls_url redis)
	export REDLOCK_REDIS REDLOCK_TLS_CA=$certs/ca.crt
	cd "$BATS_TEST_TMPDIR" || return
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# refused STATUS URL TEXT...: COMMAND does not run, and that is why.
refused() {
	local status_wanted=$1 url=$2
	shift 2
	run "-$status_wanted" --separate-stderr redlock -k a -r "$url" -- \
	    touch ran
	says "$@"
	[ ! -e ran ]
	not held a
}

## The server's certificate

@test "TLS: a certificate for the URL's host or address is accepted" {
	local host

	needs_localhost
	for host in 127.0.0.1 localhost; do
		run -3 --separate-stderr redlock -k a -r "$(tls_url redis $host)" \
		    -- sh -c "$(cli exists redlock:a); exit 3"
		[ "$output" = 1 ]
		[ -z "$stderr" ]
		not held a
	done
}

@test "TLS: an expired certificate is rejected: 69" {
	tls_start old expired
	refused 69 "$(tls_url old)" "127.0.0.1:$(tls_port old)" \
	    'certificate has expired'
	redis_kill old
}

@test "TLS: a certificate for another host is rejected, unless --tls-server-name names it" {
	local url

	needs_localhost
	tls_start other other
	url=$(tls_url other)
	refused 69 "$url" "$url" 'IP address mismatch'
	refused 69 "$(tls_url other localhost)" 'ostname mismatch'
	REDLOCK_TLS_SERVER_NAME=redis.example \
	    redlock -k a -r "$url" -- touch ran
	[ -e ran ]
	rm ran
	REDLOCK_TLS_SERVER_NAME=example refused 69 "$url" 'ostname mismatch'
	# and for the one that it is not, the right address is the wrong name
	REDLOCK_TLS_SERVER_NAME=redis.example refused 69 "$(tls_url redis)" \
	    'ostname mismatch'
	redis_kill other
}

@test "TLS: a certificate without alternative names is rejected, whatever its common name" {
	needs_localhost
	tls_start named localhost
	refused 69 "$(tls_url named localhost)" 'ostname mismatch'
	REDLOCK_TLS_SERVER_NAME=localhost refused 69 "$(tls_url named)" \
	    'ostname mismatch'
	redis_kill named
}

@test "TLS: --tls-server-name takes a whole name; a part is a usage error" {
	local name

	for name in .example . '' "$(printf 'x%.0s' {1..300})"; do
		run -64 --separate-stderr redlock -k a --tls-server-name "$name" \
		    -- touch ran
		says --tls-server-name
	done
	REDLOCK_TLS_SERVER_NAME=.example refused 64 "$(tls_url redis)" \
	    "'.example'"
	[ ! -e ran ]
}

@test "TLS: a certificate from an unknown authority is rejected" {
	REDLOCK_TLS_CA=$certs/stranger.crt refused 69 "$(tls_url redis)" \
	    'certificate is not valid: '
	unset REDLOCK_TLS_CA
	refused 69 "$(tls_url redis)" 'certificate is not valid: '
}

@test "TLS: a missing, empty or wrong CA file is a usage error and never disables verification" {
	local file

	echo garbage >garbage
	for file in /dev/null "$certs/none" garbage "$certs/server.key" \
	    "$BATS_TEST_TMPDIR"; do
		REDLOCK_TLS_CA=$file refused 64 "$(tls_url redis)" "'$file'"
	done
	REDLOCK_TLS_CA='' run -64 --separate-stderr redlock -k a -- touch ran
	[ ! -e ran ]
}

@test "TLS: without --tls-ca, SSL_CERT_FILE and SSL_CERT_DIR have the authorities" {
	local hash

	unset REDLOCK_TLS_CA
	hash=$(openssl x509 -noout -hash -in "$certs/ca.crt")
	mkdir dir empty
	cp "$certs/ca.crt" "dir/$hash.0"
	SSL_CERT_FILE=$certs/ca.crt redlock -k a -- true
	SSL_CERT_DIR=empty:$PWD/dir: redlock -k a -- true
	SSL_CERT_FILE=$certs/stranger.crt SSL_CERT_DIR=dir redlock -k a -- true
	SSL_CERT_FILE=$certs/stranger.crt SSL_CERT_DIR=empty refused 69 \
	    "$(tls_url redis)" 'certificate is not valid: '
	SSL_CERT_FILE=$certs/ca.crt REDLOCK_TLS_CA=$certs/stranger.crt \
	    refused 69 "$(tls_url redis)" 'certificate is not valid: '
	# An empty one is as one that is not set.
	SSL_CERT_FILE='' SSL_CERT_DIR=dir redlock -k a -- true
	# They are checked as --tls-ca is.
	echo garbage >garbage
	SSL_CERT_FILE=garbage refused 64 "$(tls_url redis)" \
	    "the CA file 'garbage' cannot be used"
	SSL_CERT_FILE=none refused 64 "$(tls_url redis)" \
	    "SSL_CERT_FILE: 'none' cannot be read: No such file"
	SSL_CERT_DIR=dir:none refused 64 "$(tls_url redis)" \
	    "SSL_CERT_DIR: 'none' cannot be read: No such file"
	SSL_CERT_DIR=garbage refused 64 "$(tls_url redis)" \
	    "SSL_CERT_DIR: 'garbage' cannot be read: Not a directory"
	cp "$certs/ca.crt" ca.crt
	chmod 664 ca.crt
	chmod 1777 dir
	SSL_CERT_FILE=ca.crt refused 64 "$(tls_url redis)" \
	    "SSL_CERT_FILE: 'ca.crt' is writable by others than its owner"
	SSL_CERT_DIR=dir refused 64 "$(tls_url redis)" \
	    "SSL_CERT_DIR: 'dir' is writable by others than its owner"
	((EUID == 0)) || return 0
	chmod 755 dir ca.crt
	chown 65534 dir ca.crt
	SSL_CERT_FILE=ca.crt refused 64 "$(tls_url redis)" \
	    "SSL_CERT_FILE: 'ca.crt' belongs neither to root nor to you"
	SSL_CERT_DIR=dir refused 64 "$(tls_url redis)" \
	    "SSL_CERT_DIR: 'dir' belongs neither to root nor to you"
}

@test "TLS: OPENSSL_CONF changes nothing" {
	tls_start modern server --tls-auth-clients no --tls-protocols TLSv1.3
	cat >conf <<-'END'
		openssl_conf = init
		[init]
		ssl_conf = ssl
		[ssl]
		system_default = limits
		[limits]
		MaxProtocol = TLSv1.2
	END
	run ! env OPENSSL_CONF=conf openssl s_client -brief \
	    -connect "127.0.0.1:$(<"$BATS_FILE_TMPDIR/modern.port")" </dev/null
	OPENSSL_CONF=conf redlock -k a -r "$(tls_url modern)" -- true
	redis_kill modern
}

## Our certificate

@test "TLS: a server that requires a client certificate gives 77 without one" {
	local url

	tls_start strict server --tls-auth-clients yes
	url=$(tls_url strict)
	refused 77 "$url" "$url" '--tls-cert'
	REDLOCK_TLS_CERT=$certs/client.crt REDLOCK_TLS_KEY=$certs/client.key \
	    redlock -k a -r "$url" -- touch ran
	[ -e ran ]
	rm ran
	export REDLOCK_TLS_CERT=$certs/alien.crt REDLOCK_TLS_KEY=$certs/alien.key
	refused 77 "$url" '--tls-cert'
	redis_kill strict
}

@test "TLS: the four options do the same as the environment" {
	tls_start strange other --tls-auth-clients yes
	unset REDLOCK_TLS_CA
	redlock -k a -r "$(tls_url strange)" --tls-ca "$certs/ca.crt" \
	    --tls-cert "$certs/client.crt" --tls-key "$certs/client.key" \
	    --tls-server-name redis.example -- touch ran
	[ -e ran ]
	redis_kill strange
}

@test "TLS: a certificate and its key are needed together, and both must exist" {
	local url

	url=$(tls_url redis)
	export REDLOCK_TLS_CERT=$certs/client.crt
	refused 64 "$url" 'must be set together'
	export REDLOCK_TLS_KEY=$certs/server.key
	refused 64 "$url" "'$certs/server.key'" 'key values mismatch'
	export REDLOCK_TLS_KEY=$certs/none
	refused 64 "$url" "'$certs/none'" 'No such file'
	unset REDLOCK_TLS_CERT
	export REDLOCK_TLS_KEY=$certs/server.key
	refused 64 "$url" 'must be set together'
}

@test "TLS: a key with a passphrase is refused, and stdin is left to COMMAND" {
	openssl ec -aes256 -passout pass:x -in "$certs/client.key" -out locked
	run -64 --separate-stderr redlock -k a \
	    --tls-cert "$certs/client.crt" --tls-key locked -- touch ran <<<x
	says "'locked'" passphrase
	[[ ! -e ran && $stderr != *Enter* ]]
}

@test "TLS: a certificate and a key that do not match are refused" {
	cp "$certs/client.crt" swapped
	chmod 600 swapped
	run -64 --separate-stderr redlock -k a --tls-cert "$certs/client.key" \
	    --tls-key swapped -- touch ran
	says "the certificate '$certs/client.key' cannot be used: it has nothing in PEM"
	[ ! -e ran ]
}

@test "TLS: --check suggests a certificate, not a password" {
	tls_start strict server --tls-auth-clients yes
	run -77 --separate-stderr redlock --check -r "$(tls_url strict)"
	[[ $output == *'NOT OK: the server rejects our certificate'*--tls-key* ]]
	[[ $output != *password* ]]
	redis_kill strict
}

## The wrong kind of port

@test "TLS: a closed port gives a message that does not mention TLS" {
	refused 69 rediss://127.0.0.1:1 'rediss://127.0.0.1:1: Connection refused'
}

@test "TLS: rediss:// to a plain port, and redis:// to a TLS port, give a hint" {
	refused 69 "rediss://127.0.0.1:$redis_port" 'does this port speak TLS?'
	refused 69 "redis://127.0.0.1:$(tls_port redis)" rediss://
}

@test "TLS: no cipher or version in common gives 69" {
	local url how

	for how in '--tls-protocols TLSv1.2 --tls-ciphers PSK' \
	    '--tls-protocols TLSv1.2 --tls-ciphers aRSA' \
	    '--tls-ciphersuites TLS_AES_128_CCM_8_SHA256 --tls-protocols TLSv1.3'; do
		# shellcheck disable=SC2086
		tls_start odd server --tls-auth-clients yes $how
		url=$(tls_url odd)
		refused 69 "$url" "$url" TLS 'cipher that both sides support'
		redis_kill odd
	done
}

@test "TLS: a TLS 1.2 server that requires a client certificate gives 77 without one" {
	local url

	tls_start strict server --tls-auth-clients yes --tls-protocols TLSv1.2
	url=$(tls_url strict)
	refused 77 "$url" "$url" '--tls-cert'
	REDLOCK_TLS_CERT=$certs/client.crt REDLOCK_TLS_KEY=$certs/client.key \
	    redlock -k a -r "$url" -- touch ran
	[ -e ran ]
	redis_kill strict
}

@test "TLS: a handshake without reply times out" {
	redis_freeze
	run -69 --separate-stderr redlock -k a --node-timeout 200ms -- touch ran
	redis_thaw
	[ ! -e ran ]
	says 'TLS handshake'
}

@test "TLS: a signal ends the handshake at once" {
	redis_freeze
	redlock_bg -k a -w inf --node-timeout 60s -- touch ran
	eventually connected "$bg_pid"
	kill -TERM "$bg_pid"
	redlock_ended 143
	redis_thaw
	[ ! -e ran ]
	not held a
}

## As without TLS

@test "TLS: the lease is renewed while COMMAND runs" {
	local first

	hold a -t 6s --kill-after 100ms --node-timeout 2s
	first=$(expiry redlock:a)
	renewed() { (($(expiry redlock:a) > first + 1000)); }
	eventually renewed
	let_go
	not held a
}

# is_back: a run has a connection.
is_back() {
	redis client list type normal | grep -q 'addr=127'
}

@test "TLS: a cut connection is opened again, and the lock is kept" {
	local id

	hold a -t 9s --kill-after 100ms --node-timeout 3s
	id=$(redis client list type normal | sed -n 's/^id=\([0-9]*\) .*addr=127.*/\1/p')
	redis client kill id "$id"
	eventually is_back
	let_go
	not held a
}

@test "TLS: a server that restarts with its data is found again, and the lock is kept" {
	hold a -t 9s --kill-after 100ms --node-timeout 3s
	redis save
	redis_kill
	redis_spawn
	eventually is_back
	let_go
	not held a
	rm "$BATS_FILE_TMPDIR/redis.rdb"
}

@test "TLS: a server that restarts empty while COMMAND runs gives 79" {
	hold a -t 9s --kill-after 100ms --node-timeout 3s
	redis_restart
	redlock_ended 79
	not held a
}

@test "TLS: a lock deleted by hand gives 79" {
	hold a -t 3s --kill-after 100ms --node-timeout 1s
	redis del redlock:a
	redlock_ended 79
}

@test "TLS: a waiter is served in its turn" {
	local holder

	hold a
	holder=$bg_pid
	redlock_bg -k a -w 60 -- touch ran
	waits() { redlock --status -k a --json | grep -q '"waiting":1'; }
	eventually waits
	touch let-go
	redlock_ended 0
	[ -e ran ]
	wait "$holder"
}

@test "TLS: one of three servers without a valid certificate has no vote" {
	tls_start s2 server
	tls_start s3 expired
	export REDLOCK_RESTART_GRACE=0
	REDLOCK_REDIS="$(tls_url redis) $(tls_url s2) $(tls_url s3)"
	run -0 --separate-stderr redlock -k a -- \
	    sh -c "$(cli exists redlock:a)"
	[ "$output" = 1 ]
	[ "$(redis_at s2 exists '{redlock:a}:~fence')" = 1 ]
	[ "$(redis_at s3 dbsize)" = 0 ]
	redis_kill s2
	run -69 --separate-stderr redlock -k a -- touch ran
	[ ! -e ran ]
	redis_kill s3
}

@test "a run without TLS does not load the TLS module" {
	needs_loader
	hold a -r "unix://$BATS_FILE_TMPDIR/redis.sock"
	not grep -q -e libssl -e redlock-run-tls "/proc/$bg_pid/maps"
	let_go
	hold a
	grep -q libssl "/proc/$bg_pid/maps"
	let_go
}

@test "TLS: a reply of many records is read to its end" {
	redis eval 'for i = 1, 100 do
		redis.call("SET", "redlock:n" .. i, string.rep("x", 5000),
		    "PX", 600000)
	end' 0
	run -0 --separate-stderr redlock --status
	((${#lines[@]} == 101))
	((${#output} > 10000))
}

@test "TLS: a run works when the kernel takes and gives a few bytes at a time" {
	preload pieces
	run -5 --separate-stderr env LD_PRELOAD="$preload" "$REDLOCK_RUN" \
	    -k a --node-timeout 10s -- env -u LD_PRELOAD sh -c "$(cli exists redlock:a); exit 5"
	[ "$output" = 1 ]
	[ -z "$stderr" ]
	not held a
}

# cut_proxy HOW N: passes the first N bytes of the server on to each client, and
# then does HOW: stall or close.  Its URL is $cut_url, its pid $cut_pid.
cut_proxy() {
	rm -f cut.port
	PYTHONPATH=$top/tests/helpers /usr/bin/python3 - "$(tls_port redis)" \
	    "$@" 3>&- 4>&- <<-'END' &
		import socket, sys, threading
		import rude_server
		port, how, left = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
		def pump(a, b):
		    try:
		        while data := a.recv(65536):
		            b.sendall(data)
		    except OSError:
		        pass
		def serve(c):
		    n = left
		    s = socket.create_connection(("127.0.0.1", port))
		    threading.Thread(target=pump, args=(c, s), daemon=True).start()
		    while n > 0 and (data := s.recv(n)):
		        c.sendall(data)
		        n -= len(data)
		    if how == "close":
		        c.shutdown(socket.SHUT_RDWR)
		rude_server.run(serve, "cut")
	END
	cut_pid=$!
	eventually test -s cut.port
	cut_url=rediss://127.0.0.1:$(<cut.port)
}

@test "TLS: a server that stalls or closes after any part of the handshake or of a reply has no vote" {
	local how n

	for how in stall close; do
		# before, within and behind its messages, and before the reply
		for n in 0 3 100 600 1000 1400; do
			cut_proxy "$how" "$n"
			run -69 --separate-stderr redlock -k a -r "$cut_url" \
			    --node-timeout 300ms -- touch ran
			[ ! -e ran ]
			case $how in
			stall) says "$cut_url: " 'within 300ms' ;;
			close) says "$cut_url: the server closed the connection" ;;
			esac
			kill "$cut_pid"
			wait "$cut_pid" || true
		done
	done
}

@test "TLS: a nested run, --status and --history work as well" {
	redlock -k a -- "$REDLOCK_RUN" -k a -- "$REDLOCK_RUN" --status -k a \
	    >out
	grep '^a  *held ' out
}

## Several servers behind one URL

# tls_sentinel_start "NAME HOST PORT"...: one that knows these masters.
tls_sentinel_start() {
	local try conf=$BATS_FILE_TMPDIR/sentinel.conf

	for try in {1..50}; do
		echo $((20000 + RANDOM % 12000)) \
		    >"$BATS_FILE_TMPDIR/sentinel.port"
		cat >"$conf" <<-END
			port 0
			tls-port $(tls_port sentinel)
			bind 127.0.0.1
			dir $BATS_FILE_TMPDIR
			tls-cert-file $certs/server.crt
			tls-key-file $certs/server.key
			tls-ca-cert-file $certs/ca.crt
			tls-auth-clients no
			tls-replication yes
			unixsocket $BATS_FILE_TMPDIR/sentinel.sock
			user admin on nopass ~* +@all
			$(printf 'sentinel monitor %s 1\n' "$@")
		END
		(
			set +m
			unset TEST_MARK
			setsid redis-server "$conf" --sentinel \
			    </dev/null >/dev/null 2>&1 3>&- 4>&- &
			echo $! >"$BATS_FILE_TMPDIR/sentinel.server"
		)
		eventually redis_settled sentinel
		redis_at sentinel ping | grep -qx PONG && return 0
	done
	echo "no free port in $try tries" >&2
	return 1
}

# tls_sentinel_url MASTER
tls_sentinel_url() {
	echo "rediss+sentinel://127.0.0.1:$(tls_port sentinel)/$1"
}

@test "TLS: redirects of a cluster are followed" {
	local i name # run of bats 1.8 changes i

	for i in 1 2; do
		tls_start "c$i" server --cluster-enabled yes --tls-cluster yes \
		    --tls-replication yes --cluster-config-file "c$i.conf"
	done
	redis_at c1 cluster addslots {0..8191}
	redis_at c2 cluster addslots {8192..16383}
	redis_at c1 cluster meet 127.0.0.1 "$(tls_port c2)"
	agreed() {
		redis_at c1 cluster info | grep -q cluster_state:ok &&
		redis_at c2 cluster info | grep -q cluster_state:ok
	}
	eventually agreed
	for name in a b c d; do
		run -0 --separate-stderr redlock -k "$name" \
		    -r "rediss+cluster://127.0.0.1:$(tls_port c1)" -- \
		    echo "$name"
		[ "$output" = "$name" ]
	done
	(($(redis_at c1 dbsize) > 0 && $(redis_at c2 dbsize) > 0))
	redis_kill c1
	redis_kill c2
}

@test "TLS: a master that a Sentinel names must have a valid certificate, too" {
	tls_start old expired
	tls_sentinel_start "right 127.0.0.1 $(tls_port redis)" \
	    "old 127.0.0.1 $(tls_port old)"
	run -0 --separate-stderr redlock -k a -r "$(tls_sentinel_url right)" -- \
	    sh -c "$(cli exists redlock:a)"
	[ "$output" = 1 ]
	refused 69 "$(tls_sentinel_url old)" 'certificate has expired'
	redis_kill sentinel
	redis_kill old
}
