# shellcheck shell=bash disable=SC2016,SC2034,SC2154
#
# What faults.bats and loss.bats need beside common.bash: a server that is rude,
# and a COMMAND that writes down how long it lived.  Both files run in
# $BATS_TEST_TMPDIR.

# faults_start, faults_setup, faults_teardown: setup_file, setup and teardown of
# both files.  The server has a port as well, in $tcp.
faults_start() {
	redis_start_tcp redis --lua-time-limit 10
	export tcp=127.0.0.1:$redis_port
	faults_write_helpers
}

faults_setup() {
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
}

faults_teardown() {
	rude_stop
	nothing_left
}

# Called by setup_file.
faults_write_helpers() {
	# witness.py FILE: a COMMAND of three processes, one of them in a session
	# and one in a group of its own.  They do not heed SIGTERM, but write
	# down when it came ("T"), and every few milliseconds that they live.
	cat >"$BATS_FILE_TMPDIR/witness.py" <<-'END'
		import os, signal, sys, time
		log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
		def write(what):
		    os.write(log, b"%s %d %d\n" % (what, os.getpid(),
		        time.time_ns() // 1000))
		signal.signal(signal.SIGTERM, lambda *_: write(b"T"))
		if os.fork() == 0:
		    os.setsid()
		elif os.fork() == 0:
		    os.setpgid(0, 0)
		while True:
		    write(b"L")
		    time.sleep(0.003)
	END

	# rude.py LISTEN SERVER MODE: a server whose replies follow the file MODE,
	# which it reads for each reply; "pass" passes on the reply of SERVER.
	# Each connection adds a line to the file "rude.connections".
	# With "late" the requests on the first connection have to wait; with
	# "deaf" its replies are dropped; with "refuse" SERVER gets no request, and
	# the reply to each is that text.
	cat >"$BATS_FILE_TMPDIR/rude.py" <<-'END'
		import os, socket, sys, threading, time
		listen, server, mode_file = sys.argv[1:]
		endless = {
		    "line": (b"+", b"x" * 65536),
		    "bulk": (b"$500000000\r\n", b"x" * 65536),
		    "array": (b"*2147483647\r\n", b":1\r\n" * 16384),
		    "nested": (b"", b"*1\r\n" * 16384),
		    "replies": (b"", b":1\r\n" * 16384),
		}
		def set_mode(text):
		    with open(mode_file + ".new", "w") as f:
		        f.write(text)
		    os.rename(mode_file + ".new", mode_file)
		def mode():
		    return open(mode_file).read().rstrip("\n").partition(" ")
		def say(c, text):
		    c.sendall(text.encode().decode("unicode_escape")
		        .encode("latin-1"))
		def answer(c, data):
		    how, _, text = mode()
		    if how == "deaf" and c is oldest:
		        return
		    if how in ("pass", "late", "deaf"):
		        c.sendall(data)
		    elif how == "next":         # is the one that is cut
		        set_mode("cut")
		        c.sendall(data)
		    elif how == "cut":
		        set_mode("pass")
		        c.shutdown(socket.SHUT_RDWR)
		    elif how == "close":
		        time.sleep(float(text or 0))
		        c.shutdown(socket.SHUT_RDWR)
		    elif how == "say":
		        say(c, text)
		    elif how == "endless":
		        first, rest = endless[text]
		        c.sendall(first)
		        while True:
		            c.sendall(rest)
		def pump(a, b, act):
		    gone = False
		    while True:
		        try:
		            data = a.recv(65536)
		        except OSError:
		            break
		        if not data:
		            break
		        try:
		            if not gone:
		                act(b, data)
		        except OSError:
		            gone = True     # the other way may have more to say
		    try:
		        b.shutdown(socket.SHUT_WR)
		    except OSError:
		        pass
		def start(*args):
		    threading.Thread(target=pump, args=args, daemon=True).start()
		def forward(s, data, c, first):
		    while first and mode()[0] == "late":
		        time.sleep(0.01)
		    how, _, text = mode()
		    if how == "refuse":
		        say(c, text)
		    else:
		        s.sendall(data)
		def serve(c, first):
		    if server == "-":
		        start(c, c, answer)
		    else:
		        s = socket.socket(socket.AF_UNIX)
		        s.connect(server)
		        start(s, c, answer)
		        start(c, s, lambda b, data: forward(b, data, c, first))
		l = socket.socket(socket.AF_UNIX)
		l.bind(listen + ".new")
		l.listen(64)
		os.rename(listen + ".new", listen)
		def accept():
		    c = l.accept()[0]
		    with open("rude.connections", "a") as f:
		        print(file=f)
		    return c
		oldest = accept()
		serve(oldest, True)
		while True:
		    serve(accept(), False)
	END
}

# far MS ARG...: runs redlock-run with ARG, for a server that is far away, so
# many ms in each direction; the handshake has a password, but not if $far_password
# is empty.
far() {
	local ms=$1 password=${far_password-secret}
	shift
	namespaced=(unshare -n)
	((EUID == 0)) || namespaced=(unshare -rn)
	"${namespaced[@]}" sh -c ': 3<>/dev/net/tun' 2>/dev/null ||
		skip "needs a network namespace and /dev/net/tun"
	rm -f far.ready
	"${namespaced[@]}" "$top/tests/helpers/far.py" "$ms" far.ready bash -c '
		until [ -e far.ready ]; do sleep 0.02; done
		[ -z "$0" ] || export REDISCLI_AUTH=$0
		redis-server --bind 10.9.9.1 --port 7000 --save "" \
		    --protected-mode no --requirepass "$0" >/dev/null &
		until redis-cli -h 10.9.9.1 -p 7000 ping >/dev/null 2>&1; do
			sleep 0.02
		done
		"$@"
		status=$?
		kill $!
		wait
		exit $status' "$password" "$REDLOCK_RUN" \
	    -r "redis://${password:+:$password@}10.9.9.2:7000" "$@" 3>&- 4>&-
}

# preload HELPER: $preload is helpers/HELPER.c as a library for LD_PRELOAD.
preload() {
	needs_loader
	! grep -q __asan_init "$REDLOCK_RUN" ||
		skip "needs a build without sanitizers"
	preload=$BATS_TEST_TMPDIR/$1.so
	compile "$1" "$preload" -shared -fPIC
}

# rude SERVER MODE...: start rude.py; SERVER is "-" or "redis".
rude() {
	local server=$1
	shift
	[ "$server" = - ] || server=$BATS_FILE_TMPDIR/$server.sock
	rude_mode "$@"
	env -u TEST_MARK /usr/bin/python3 "$BATS_FILE_TMPDIR/rude.py" \
	    rude.sock "$server" mode >rude.log 2>&1 3>&- 4>&- &
	rude_pid=$!
	eventually test -S rude.sock
	rude_url=unix://$PWD/rude.sock
}

rude_mode() {
	echo "$*" >mode.new
	mv mode.new mode
}

rude_stop() {
	[ -z "${rude_pid:-}" ] || kill -KILL "$rude_pid"
	rude_pid=
}

# refused_with STATUS ARG...: redlock-run gives that status for the lock called
# "a", and does not start COMMAND.
refused_with() {
	local expected=$1
	shift
	run "-$expected" --separate-stderr redlock -k a "$@" -- touch started
	[ ! -e started ]
	says ''
}

# trio_start [ARG...]: the witness runs under the lock called "a".
trio_start() {
	rm -f log
	redlock_bg -k a "$@" -- \
	    /usr/bin/python3 "$BATS_FILE_TMPDIR/witness.py" log
	eventually trio_complete
}

trio_pids() {
	cut -d ' ' -f 2 log | sort -u
}

trio_complete() {
	[ "$(trio_pids | wc -l)" -eq 3 ]
}

trio_gone() {
	local pid
	for pid in $(trio_pids); do
		gone "$pid" || return 1
	done
}

# trio_last_sign: when the last of them was alive, in us since 1970.
trio_last_sign() {
	cut -d ' ' -f 3 log | sort -n | tail -n 1
}

# rude_asleep: it has passed on what the server has answered.
rude_asleep() {
	not grep -qsv ') S ' "/proc/$rude_pid"/task/*/stat
}

# after_renewal TTL_MS FAULT UNDO: does FAULT when a renewal has just been
# made, so that none comes in between; $ends is when the lease ends on the
# server, in us since 1970.
after_renewal() {
	local ttl=$1 before now
	for _ in {1..20}; do
		before=$(expiry redlock:a)
		eventually lease_later_than "$before"
		[[ -z ${rude_pid:-} ]] || eventually rude_asleep
		ends=$(expiry redlock:a)
		eval "$2"
		now=$(($(now_us) / 1000))
		if ((now < ends - ttl + ttl / 3 - 50)); then
			ends=$((ends * 1000))
			return 0
		fi
		eval "$3"
	done
	echo "this machine is too busy" >&2
	return 1
}

# trio_dead_in_time [FRACTION]: it ended with 79, all witnesses were dead before
# the lease ended, but lived through most of it, and SIGTERM came first.
trio_dead_in_time() {
	local last

	redlock_ended 79
	trio_gone
	last=$(trio_last_sign)
	echo "last sign of life $(((ends - last) / 1000)) ms before the end"
	((last < ends))
	((last > ends - 900000))
	grep -q ^T log
}

# quiet_end: nothing of ours is left but fence and history.
quiet_end() {
	not grep -qvxE '|[{]redlock:a[}]:~(fence|runs|skips|success)' <<<"$(redis keys '*')"
}
