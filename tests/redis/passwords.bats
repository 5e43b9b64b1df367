#!/usr/bin/env bats
#
# Which server gets which password.  A password that reaches another host is
# known to that host, so a recorder notes whatever it is sent.

# shellcheck disable=SC2154

load ../lib/common
load ../lib/process

setup_file() {
	redis_start_tcp redis
	export tcp=127.0.0.1:$redis_port
	redis_start_tcp other
	export other=127.0.0.1:$redis_port
}

setup() {
	redis_reset
	redis_reset other
	cd "$BATS_TEST_TMPDIR" || exit
	unset REDLOCK_REDIS
	export REDLOCK_CONFIG=$PWD/conf REDLOCK_RESTART_GRACE=0
	secret_file conf ''
	redis acl setuser default resetpass '>s3cret-a'
	redis_at other acl setuser default resetpass '>s3cret-b'
}

teardown() {
	[[ ! -e recorder.pid ]] || kill "$(<recorder.pid)"
	nothing_left
}
teardown_file() { redis_stop_all; }

# secret_file NAME LINE...
secret_file() {
	printf '%s\n' "${@:2}" >"$1"
	chmod 600 "$1"
}

# recorder_start [REPLY]: a server at $recorder that requires a password; or that
# accepts any, and has REPLY for all else.  ./heard is what it was sent.
recorder_start() {
	: >heard
	PYTHONPATH=$top/tests/helpers /usr/bin/python3 -Bc '
import sys, rude_server
def serve(c):
    while data := c.recv(65536):
        with open("heard", "ab") as f:
            f.write(data)
        known = len(sys.argv) > 1 and b"AUTH" in data.upper()
        reply = "+OK" if known else sys.argv[-1]
        c.sendall(reply.encode() + b"\r\n")
sys.argv[0] = "-NOAUTH Authentication required."
rude_server.run(serve, "recorder")
' "$@" 3>&- 4>&- &
	echo $! >recorder.pid
	eventually test -s recorder.port
	recorder=127.0.0.1:$(<recorder.port)
}

# heard_nothing: the recorder was asked, and got no password.
heard_nothing() {
	[[ -s heard ]]
	not grep -aqi -e auth -e s3cret heard
}

# refused_for TEXT ARG...: status 77, and the message has TEXT, no password.
refused_for() {
	run -77 --separate-stderr redlock -k a "${@:2}" -- touch started
	says "$1"
	[[ $stderr != *s3cret* && ! -e started ]]
}

# file_wrong TEXT LINE...: a password file that is a usage error with TEXT.
file_wrong() {
	secret_file pw "${@:2}"
	run -64 --separate-stderr redlock -k a -r "$tcp" --password-file pw \
	    -- touch started
	says "$1"
	[[ $stderr != *s3cret* && ! -e started ]]
}

@test "a line of the password file serves its host, wherever that was named" {
	secret_file pw '# one for each' "$tcp s3cret-a" '' "$other  s3cret-b"
	redlock -k a -r "$tcp" -r "redis://$other/1" --password-file pw -- true
	REDLOCK_REDIS="$tcp $other" REDLOCK_PASSWORD_FILE=pw redlock -k a -- true
	secret_file conf "redis $tcp" 'password-file pw'
	redlock -k a -- true
	redlock -k a -r "$other" -- true
	recorder_start
	refused_for "'pw' has no line for it; add '$recorder PASSWORD'" \
	    -r "$recorder" --password-file pw
	heard_nothing
}

@test "the most specific line of the password file wins" {
	secret_file pw "127.0.0.1 s3cret-b" "$tcp s3cret-a"
	redlock -k a -r "$tcp" -r "$other" --password-file pw -- true
	secret_file pw "$tcp s3cret-a" "127.0.0.1 s3cret-b"
	redlock -k a -r "$tcp" -r "$other" --password-file pw -- true
}

@test "a line of the password file may be for a socket, and a user stays in the URL" {
	redis acl setuser me on '>s3 cret#me' "${permitted[@]}"
	secret_file pw "$BATS_FILE_TMPDIR/redis.sock s3cret-a" \
	    "127.0.0.1 s3 cret#me"
	redlock -k a -r "unix://$BATS_FILE_TMPDIR/redis.sock?db=1" \
	    --password-file pw -- true
	redlock -k a -r "redis://me@$tcp" --password-file pw -- true
	secret_file pw "h s3cret"
	run -64 --separate-stderr redlock -k a -r "redis://me@$tcp" \
	    --password-file pw -- true
	says "has a user but no password; 'pw' has no line for it"
	redis acl deluser me
}

@test "the password of a URL takes precedence over a line of the password file" {
	secret_file pw "$tcp s3cret-wrong"
	redlock -k a -r "redis://:s3cret-a@$tcp" --password-file pw -- true
}

@test "a line of the configuration file's password file comes before REDISCLI_AUTH" {
	local url=rediss://redis.example

	# a server without a line gets that of the environment
	secret_file pw "$tcp s3cret-a"
	secret_file conf 'password-file pw'
	REDISCLI_AUTH=s3cret-b redlock -k a -r "$tcp" -r "$other" -- true
	REDISCLI_AUTH=s3cret-b REDLOCK_REDIS="$tcp $other" redlock -k a -- true
	# so does each server if that file has one password, or this user may not read it
	secret_file pw s3cret-a
	REDISCLI_AUTH=s3cret-b redlock -k a -r "$other" -- true
	rm pw
	REDISCLI_AUTH=s3cret-b run -64 --separate-stderr \
	    redlock -k a -r "$other" -- true
	says "password-file: 'pw' cannot be read: No such file"
	# what was named expressly comes before both
	secret_file pw "$tcp s3cret-wrong"
	secret_file mine "$tcp s3cret-a"
	REDISCLI_AUTH=s3cret-b redlock -k a -r "$tcp" --password-file mine -- true
	REDISCLI_AUTH=s3cret-b REDLOCK_PASSWORD_FILE=mine \
	    redlock -k a -r "$tcp" -- true
	REDISCLI_AUTH=s3cret-b redlock -k a -r "redis://:s3cret-a@$tcp" -- true
	# the limits are those of the place of the password that was chosen
	recorder_start
	secret_file pw "$recorder s3cret-a"
	secret_file conf "redis $url" 'password-file pw'
	REDISCLI_AUTH=s3cret-b refused_for \
	    "that of $PWD/conf is for rediss:// only" -r "$recorder"
	heard_nothing
	REDISCLI_AUTH=s3cret-b redlock -k a -r "$other" -- true
	secret_file pw "$tcp s3cret-a"
	secret_file conf 'password-file pw'
	REDLOCK_REDIS=$url REDISCLI_AUTH=s3cret-b redlock -k a -r "$tcp" -- true
	REDLOCK_REDIS=$url REDISCLI_AUTH=s3cret-b refused_for \
	    'that of REDISCLI_AUTH is for rediss:// only' -r "$recorder"
	heard_nothing
}

@test "REDISCLI_AUTH serves a user who may not read the configuration file's password file" {
	local as=()

	if ((EUID == 0)); then
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	fi
	chmod 711 .
	cp "$run_path" program
	secret_file pw "$tcp s3cret-wrong"
	secret_file conf "redis $tcp" 'password-file pw'
	chmod 644 conf
	((EUID == 0)) || chmod 0 pw
	export REDLOCK_CONFIG=conf
	REDISCLI_AUTH=s3cret-a run -0 "${as[@]}" ./program -k a -- true
	run -64 --separate-stderr "${as[@]}" ./program -k a -- true
	says "'pw' cannot be read: Permission denied"
}

@test "a one-line password of the configuration file serves only the file's servers" {
	local how

	recorder_start
	echo s3cret-a >pw
	chmod 600 pw
	for how in 'password s3cret-a' 'password-file pw'; do
		secret_file conf "redis $tcp" "$how"
		redlock -k a -- true
		redlock -k a -r "redis://$tcp/1" -- true
		refused_for "that of $PWD/conf serves only the servers in that file; write '$recorder PASSWORD' into a --password-file" \
		    -r "$recorder"
		REDLOCK_REDIS=$recorder refused_for "serves only the servers"
	done
	heard_nothing
}

@test "a one-line password of the command line or the environment serves every server" {
	redis_at other acl setuser default resetpass '>s3cret-a'
	secret_file conf "redis $tcp"
	echo s3cret-a >pw
	chmod 600 pw
	redlock -k a -r "$other" --password-file pw -- true
	REDLOCK_PASSWORD_FILE=pw redlock -k a -r "$other" -- true
	REDISCLI_AUTH=s3cret-a redlock -k a -r "$other" -- true
	REDLOCK_PASSWORD_FILE=pw redlock -k a -- true
}

@test "a password never goes in clear where all servers of its place are rediss://" {
	local url=rediss://redis.example

	recorder_start
	secret_file pw s3cret-a
	secret_file lines "127.0.0.1 s3cret-a"
	REDLOCK_REDIS="$url unix:///s" REDISCLI_AUTH=s3cret-a refused_for \
	    'that of REDISCLI_AUTH is for rediss:// only' -r "$recorder"
	REDLOCK_REDIS=$url REDLOCK_PASSWORD_FILE=pw refused_for \
	    'that of REDLOCK_PASSWORD_FILE is for rediss:// only' -r "$recorder"
	secret_file conf "redis rediss://$recorder" 'password s3cret-a'
	refused_for "that of $PWD/conf is for rediss:// only, as its servers are; use a rediss:// URL" \
	    -r "$recorder"
	secret_file conf "redis rediss://$recorder" 'password-file lines'
	refused_for "that of $PWD/conf is for rediss:// only" -r "$recorder"
	# In a mixed file, that server is still one with TLS.
	secret_file conf "redis rediss://$recorder" "redis $tcp" \
	    'password s3cret-a'
	refused_for 'serves only the servers in that file' -r "$recorder"
	heard_nothing
	# A place with a server in clear has no such claim.
	REDLOCK_REDIS="$url $tcp" REDISCLI_AUTH=s3cret-a \
	    redlock -k a -r "$tcp" -- true
}

@test "a host whose name begins with rediss is not one with TLS" {
	local host=redissrv.example.com

	secret_file lines "$tcp s3cret-a"
	REDLOCK_REDIS=$host REDISCLI_AUTH=s3cret-a redlock -k a -r "$tcp" -- true
	secret_file conf "redis $host" 'password-file lines'
	redlock -k a -r "$tcp" -- true
	# A URL with a mistake may be meant as one with TLS.
	secret_file conf ''
	REDLOCK_REDIS=rediss://$host:port REDISCLI_AUTH=s3cret-a refused_for \
	    'that of REDISCLI_AUTH is for rediss:// only' -r "$tcp"
}

@test "the advice about a missing password is given where none was set" {
	refused_for '; set it by REDISCLI_AUTH, --password-file or' -r "$tcp"
	secret_file pw "h s3cret"
	run -77 --separate-stderr redlock --status -r "$tcp" --password-file pw
	says "'pw' has no line for it"
	[[ $stderr != *'set it by'* ]]
	run -77 redlock --check -q -r "$tcp"
	[[ $output == *'; set it by REDISCLI_AUTH, --password-file or'* ]]
	REDLOCK_CONFIG=/dev/null refused_for \
	    '; set it by REDISCLI_AUTH, --password-file or a configuration file' \
	    -r "$tcp"
}

@test "a directory is no password file, whatever its mode" {
	mkdir -m 755 dir
	run -64 --separate-stderr redlock -k a --password-file dir -- true
	says "--password-file: 'dir' cannot be read: Is a directory"
}

@test "a malformed line of the password file is named, and no word of it is shown" {
	local first
	file_wrong "pw:2: the line has a port that is not 1 to 65535" '# x' 'h:x s3cret'
	file_wrong "pw:1: the line is empty" ''
	file_wrong "pw:1: the line is empty" '' 's3cret'
	file_wrong "pw:3: the line follows a password that stands alone" \
	    s3cret '' s3cret
	file_wrong "pw:2: the line has no blank" 'h s3cret' 's3cret'
	file_wrong "pw:1: the line has no blank" 's3cret '
	file_wrong "pw:1: the line has a '[' without its ']'" '[::1 s3cret'
	file_wrong "pw:1: the line has a URL in place of HOST[:PORT]" \
	    'redis://h s3cret'
	file_wrong "pw:2: the line is for a host and port that have a line" \
	    'h:1 s3cret' 'H:1 s3cret'
	file_wrong "has a password that is too long" \
	    "h $(printf '%0600d' 0)s3cret"
	# A password with blanks, whose first word is taken for a host.
	for first in 's3cret#' 's3cret%' 's3cret"' 's3cret:' 's3cret:x' \
	    's3cret?' '/s3cret%zz' '[s3cret' ':s3cret' 's3cret://'; do
		file_wrong 'pw:1: the line has ' "$first and s3cret words"
		file_wrong 'pw:2: the line has ' 'h x' "$first and s3cret words"
	done
	printf 'h s3\0cret\n' >pw
	run -64 --separate-stderr redlock -k a -r h --password-file pw -- true
	says 'pw:1: the line contains a NUL byte'
}

@test "--check notes servers that get the same password" {
	redis_at other acl setuser default resetpass '>s3cret-a'
	REDISCLI_AUTH=s3cret-a run redlock --check -r "$tcp" -r "$other"
	[[ $output == *"redis://$other: note: it gets the same password as redis://$tcp"* ]]
	[[ $output != *s3cret* ]]
	secret_file pw "$tcp s3cret-a" "$other s3cret-b"
	run redlock --check -r "$tcp" -r "$other" --password-file pw
	[[ $output != *'same password'* ]]
}

@test "a Sentinel never gets the master's password, and sentinel-password only where its place allows" {
	recorder_start
	REDISCLI_AUTH=s3cret refused_for \
	    'but a Sentinel gets only sentinel-password' \
	    -r "redis+sentinel://me:s3cret@$recorder/m"
	secret_file pw '/m s3cret' "[::1] s3cret" "${recorder%:*}:1 s3cret"
	refused_for 'but a Sentinel gets only' --password-file pw \
	    -r "redis+sentinel://$recorder/m"
	secret_file conf "redis redis+sentinel://$tcp/m" \
	    'sentinel-password s3cret'
	refused_for "write '$recorder PASSWORD' into a --password-file" \
	    -r "redis+sentinel://$recorder/m"
	secret_file conf "redis rediss+sentinel://$recorder/m" \
	    'sentinel-password s3cret'
	refused_for 'is for rediss:// only' -r "redis+sentinel://$recorder/m"
	heard_nothing
	REDLOCK_SENTINEL_PASSWORD=only-this run -77 redlock -k a \
	    -r "redis+sentinel://u:s3cret@$recorder/m" -- true
	grep -aq only-this heard
	not grep -aq s3cret heard
}

@test "a node of a cluster gets the password of its own line, or that of the URL's first host" {
	recorder_start "-MOVED 1 $other"
	secret_file pw "$other s3cret-b" "$recorder first"
	redlock -k a --password-file pw -r "redis+cluster://$recorder" -- true
	grep -aq first heard
	not grep -aq s3cret heard
	redis_at other acl setuser default resetpass '>first'
	secret_file pw "$recorder first"
	redlock -k a --password-file pw -r "redis+cluster://$recorder" -- true
}

# in_memory PID: how often the passwords are in the memory of that process.
in_memory() {
	/usr/bin/python3 - "$1" <<-'END'
		import sys
		pid, n = sys.argv[1], 0
		with open(f"/proc/{pid}/maps") as maps, \
		    open(f"/proc/{pid}/mem", "rb") as mem:
		    for line in maps:
		        words = line.split()
		        first, last = (int(x, 16) for x in words[0].split("-"))
		        # The kernel's own pages cannot be read.
		        if "r" not in words[1] or words[-1].startswith("[v"):
		            continue
		        mem.seek(first)
		        n += mem.read(last - first).count(b"s3cret-")
		print(n)
	END
}

# guard_of PID: the guard of that redlock-run, once it is there.
guard_of() {
	local pid
	for pid in $(marked); do
		[[ $(<"/proc/$pid/comm") != redlock-guard ]] || echo "$pid"
	done 2>/dev/null
}

guard_there() {
	[[ -n $(guard_of) ]]
}

@test "redlock-run has each password in memory once, and its guard none" {
	local how url="redis://:s3cret-a@$tcp" variable=() count

	needs_no_sanitizer # which keeps freed memory
	[[ $EUID -eq 0 || $(</proc/sys/kernel/yama/ptrace_scope) == 0 ]] ||
		skip 'other processes may not be read here'
	secret_file alone s3cret-a
	secret_file lines "$tcp s3cret-a" "$other s3cret-b"
	for how in "-r $url" "-r $tcp --password-file alone" \
	    "-r $tcp -r $other --password-file lines" "--config conf-url" \
	    "--config conf-word" "-r $tcp --config conf-both" REDISCLI_AUTH \
	    REDLOCK_REDIS; do
		secret_file conf-url "redis $url" 'sentinel-password s3cret-s'
		secret_file conf-word "redis $tcp" 'password s3cret-a'
		secret_file conf-both "redis redis://:s3cret-u@$other" \
		    "redis $tcp" 'password s3cret-a'
		variable=()
		count=1
		case $how in
		REDISCLI_AUTH) variable=(REDISCLI_AUTH=s3cret-a "REDLOCK_REDIS=$tcp") ;;
		REDLOCK_REDIS) variable=("REDLOCK_REDIS=$url") ;;
		*lines) count=2 ;;
		esac
		# COMMAND inherits the variables, so redlock-run has those, too.
		[[ $how == -* ]] || { count=2 && how=; }
		mkfifo let-go
		# shellcheck disable=SC2086
		env "${variable[@]}" "$REDLOCK_RUN" -k a $how -- \
		    sh -c 'read -r _ <let-go' 2>bg.err 3>&- 4>&- &
		bg_pid=$!
		eventually guard_there
		echo "$how ${variable[*]}: $(in_memory "$bg_pid"), guard: $(in_memory "$(guard_of)")"
		[ "$(in_memory "$bg_pid")" -eq $count ]
		[ "$(in_memory "$(guard_of)")" -eq 0 ]
		echo >let-go
		ended "$bg_pid" 0 bg.err
		rm let-go
	done
}

@test "a set-user-ID, set-group-ID or file-capability start is refused in one line" {
	local mode as

	((EUID == 0)) || skip "needs root, to be somebody else"
	needs_no_sanitizer # which finds no library with such rights
	chmod 711 .
	for mode in 4755 2755 cap; do
		rm -f program
		cp "$run_path" program
		chown 65533:65533 program
		as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
		if [[ $mode == cap ]]; then
			chmod 755 program
			# CAP_NET_RAW, permitted and effective
			/usr/bin/python3 -c '
import os
os.setxattr("program", "security.capability", bytes.fromhex(
    "0100000200200000000000000000000000000000"))' || continue
		else
			chmod "$mode" program
		fi
		run -64 --separate-stderr "${as[@]}" ./program --version
		says 'redlock-run refuses to run set-user-ID'
		[[ -z $output && $(wc -l <<<"$stderr") -eq 1 ]]
	done
	chmod 755 program
	cp program plain
	chmod 755 plain
	run -0 "${as[@]}" ./plain --version
}
