#!/usr/bin/env bats
#
# The permissions that a user of the server needs, and the handling of passwords.
# All other tests run under the rule that is looked at here; see common.bash.

# shellcheck disable=SC2016,SC2154

load ../lib/common
load ../lib/readme

setup_file() {
	redis_start_tcp redis
	export tcp=127.0.0.1:$redis_port
	redis_start other
}

setup() {
	redis_reset
	redis acl log reset
	cd "$BATS_TEST_TMPDIR" || exit
}

teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

## The rule

@test "the manual has the ACL rule that the scripts need" {
	readme_block 'ACL SETUSER' >rule
	[[ $(wc -l <rule) -eq 7 ]]
	[[ $(grep -o "[~+][^' ]*" rule | xargs) == "${permitted[*]}" ]]
}

@test "the manual's commands make a user that can hold a lock" {
	umask 077
	echo "it's-s3cret" >redlock.password
	mkdir bin
	echo "exec $(type -P redis-cli) --user admin --pass x \
	    --no-auth-warning -s $BATS_FILE_TMPDIR/redis.sock \"\$@\"" \
	    >bin/redis-cli
	chmod +x bin/redis-cli
	readme_block 'ACL SETUSER' >rule
	PATH=$PWD/bin:$PATH run -0 --separate-stderr sh rule
	[[ $output == OK ]]
	redis acl setuser default off
	readme_block redis://redlock@ | sed "s/redis.example.com/$tcp/" >job
	grep -q "@$tcp " job
	ln -s "$REDLOCK_RUN" bin/redlock-run
	echo 'touch made' >backup.sh
	chmod +x backup.sh
	PATH=$PWD/bin:$PATH run -0 --separate-stderr sh job 3>&-
	silent
	[ -e made ]
	redis acl deluser redlock
}

@test "a message about missing permissions has them, for the prefix in use, and no others" {
	local prefix

	redis acl setuser default -@all
	for prefix in redlock: jobs/ ''; do
		run -77 --separate-stderr redlock --prefix "$prefix" -k a -- true
		says '; allow it with: ACL SETUSER default ~' ' +eval +info '
		for word in ${stderr#*SETUSER default }; do
			[[ " $(permissions "$prefix") " == *" $word "* ]]
		done
	done
	redis acl setuser default +@all -pexpire
	run -77 --separate-stderr redlock -k a -- true
	[[ $stderr == *'; allow it with: ACL SETUSER default +pexpire' ]]
	# The rule can be pasted, and is enough.
	for prefix in redlock: jobs/ '' '[a-z]*?:'; do
		redis acl setuser default reset on nopass
		run -77 --separate-stderr redlock --prefix "$prefix" -k a -- true
		echo "acl setuser default ${stderr#*SETUSER default }" | redis
		redlock --prefix "$prefix" -k a -- true
	done
}

@test "the ACL rule has every command that redlock-run sends, and no other" {
	{
		grep -ohE "(call|attempt)\('[A-Z]+'" "$top"/src/protocol/lua/*.lua
		grep -ohE '(argv|info)\[2?\] = \{ "[A-Z]+"' "$top"/src/*/*.c
		grep -E -A 3 'case HANDSHAKE_(SELECT|INFO):' \
		    "$top/src/redis/handshake.c" | grep -oE '"[A-Z]+"'
		grep -oE '"EVAL[A-Z]*"' "$top/src/redis/script.c"
	} | grep -oE '[A-Z]+' | tr '[:upper:]' '[:lower:]' | sort -u >all
	# Without CONFIG GET, --check has one note less.
	{
		grep -vx config all
		grep -oE '"HELLO"|"CLIENT", "[A-Z]+"' "$top/src/redis/tracking.c" |
			sed 's/", "/|/; s/"//g' | tr '[:upper:]' '[:lower:]'
	} | sort >sent
	diff sent <(printf '%s\n' "${permitted[@]}" | sed -n 's/^+//p' | sort)
}

# does ARG...: its status goes to $statuses, its words to the file "said".
does() {
	local got=0
	redlock "$@" >>said 2>&1 || got=$?
	statuses+=("$got")
}

# does_until_blocked ARG...: the same, and when it blocks on the server we end
# it.
does_until_blocked() {
	local got=0 pid
	"$REDLOCK_RUN" "$@" >>said 2>&1 3>&- 4>&- &
	pid=$!
	eventually blocked_or_gone "$pid"
	kill "$pid" 2>/dev/null || :
	wait "$pid" || got=$?
	statuses+=("$got")
}

blocked_or_gone() {
	gone "$1" || redis info clients | grep -q '^blocked_clients:1'
}

# everything DURATION: all that there is to send, in a short time; that long it
# does_until_blocked for the answer to the last of it.
everything() {
	statuses=()
	redis flushall
	redis acl log reset
	rm -f said
	does -k a -t 6s --restart-grace 6s --node-timeout 3s -- true
	does -k a -s -- true
	does -k a --slots 2 -r "$REDLOCK_REDIS?db=1" -- true
	# Behind a waiter, and then behind a holder.
	redis zadd '{redlock:a}:~queue' 1 rival
	redis hset '{redlock:a}:~beat' rival \
	    '9000000000000000 exclusive 1 redlock-run/2 token=rival try=1 x'
	does -k a -- true
	redis set redlock:a 'redlock-run/2 token=rival try=1 since=1 x'
	does_until_blocked -k a -w 1m -- true
	redis hset redlock:h f x
	does -k h -- true
	does --status -k a
	does --status
	does --history
	does -k b --replicas 1 --node-timeout "$1" -- true
	# It gives up, and the server reads that later.
	redis_freeze
	does -k c --node-timeout 50ms -- true
	redis_thaw
}

# denied: the commands that the server has denied since.
denied() {
	redis acl log 100 | sed -n '/^object$/{n;p;}' | sort -u
}

@test "under the ACL rule no command is denied, and each of its commands is needed" {
	local word

	# The server has to be older than the restart grace.
	eventually redlock -k a -t 6s --restart-grace 6s -- true
	everything 50ms
	cat said
	[ "${statuses[*]}" = '0 0 0 75 143 75 0 0 0 69 69' ]
	[ -z "$(denied)" ]
	for word in "${permitted[@]}"; do
		# Those for pushes are tested in "pushes".
		[[ $word == +* && $word != @(+hello|+client*) ]] || continue
		redis acl setuser default "-${word#+}"
		# A missing permission is reported at once.
		[ "$word" = +wait ] && everything 3s || everything 50ms
		redis acl setuser default "$word"
		echo "without $word: ${statuses[*]}"
		cat said
		[ "$(denied)" = "${word#+}" ]
		# A run goes on without a history, with whole scripts, and without the
		# type of a key.
		[[ $word == +type || $word == +xadd || $word == +xdel || $word == +evalsha ]] || grep -q 'ACL SETUSER \|cannot release' said
	done
}

# nobody_kept_out: no run holds a lock, and none waits for one.
nobody_kept_out() {
	redis keys '*' |
		grep -v -e '~fence$' -e '~runs$' -e '~skips$' -e '~success$' | not grep .
}

@test "a run without permission leaves nothing behind, and a run that can release its lock has it" {
	local how refused=0 word

	for word in "${permitted[@]}"; do
		[[ $word == +* ]] || continue
		redis acl setuser default "-${word#+}"
		for how in '' -s '--slots 2' '--min-hold 1ms'; do
			# shellcheck disable=SC2086
			run redlock -k a $how -- touch started
			echo "without $word: $how: $output"
			[ -e started ] && started=0 || started=77
			rm -f started
			[ "$status" -eq "$started" ]
			eventually nobody_kept_out
			refused=$((refused + (status == 77)))
			redis flushall
		done
		redis acl setuser default "$word"
	done
	((refused > 20))
}

@test "of a run without most of the permissions that the release needs no lock is left" {
	redis acl setuser default -del -pexpire -hdel -hget -hgetall -pttl
	for how in '' -s '--slots 2'; do
		# shellcheck disable=SC2086
		run -77 --separate-stderr redlock -k a $how -- touch started
		says '; allow it with: ACL SETUSER default ' +pexpire
		eventually nobody_kept_out
	done
	[ ! -e started ]
}

@test "a waiter without permission to release or to leave ends with 77 at once, and keeps nobody out" {
	local how word

	redis acl setuser other on nopass "${permitted[@]}"
	for how in '' -s '--slots 2'; do
		for word in del pexpire hdel zrem; do
			# It takes the other slot, and does not wait.
			[[ $how != --slots* || $word != @(hdel|zrem) ]] || continue
			redis acl setuser other "-$word"
			# shellcheck disable=SC2086
			hold a ${how/#-s/}
			# shellcheck disable=SC2086
			REDISCLI_AUTH=x run -77 --separate-stderr redlock \
			    -r "redis://other@$tcp" -k a -w 1m $how -- touch started
			says "allow it with: ACL SETUSER other +$word"
			let_go
			# shellcheck disable=SC2086
			run -0 redlock -k a $how -- true
			redis acl setuser other "+$word"
		done
	done
	redis acl deluser other
	[ ! -e started ]
}

@test "several servers: a run that may not leave the queue ends with 77, and keeps nobody out" {
	local name word both=(--restart-grace 0
	    -r "unix://$BATS_FILE_TMPDIR/redis.sock"
	    -r "unix://$BATS_FILE_TMPDIR/other.sock")

	for word in zrem hdel; do
		for name in redis other; do
			redis_at "$name" acl setuser default on nopass \
			    "${permitted[@]}" "-$word"
		done
		run -77 --separate-stderr redlock "${both[@]}" -k a -- touch started
		says "allow it with: ACL SETUSER default +$word"
		for name in redis other; do
			redis_at "$name" acl setuser default "+$word"
		done
		run -0 redlock "${both[@]}" -k a -- true
	done
	[ ! -e started ]
}

@test "a reader without permission to leave the others does not join them" {
	local word

	redis acl setuser other on nopass "${permitted[@]}"
	for word in del pexpire hdel hget hgetall pttl; do
		redis acl setuser other "-$word"
		hold a -s
		REDISCLI_AUTH=x run -77 --separate-stderr redlock \
		    -r "redis://other@$tcp" -k a -s -- touch started
		says "allow it with: ACL SETUSER other +$word"
		redlock --status --json -k a >json
		grep -q '"holders":' json
		[ "$(grep -c '"pid"' json)" -eq 1 ]
		let_go
		eventually nobody_kept_out
		redis acl setuser other "+$word"
	done
	redis acl deluser other
	[ ! -e started ]
}

@test "several servers: a permission that only renewals need is missed before COMMAND starts" {
	local name

	redis_at other acl setuser default on nopass "${permitted[@]}"
	for name in redis other; do
		redis_at "$name" acl setuser default -pexpire
	done
	run -77 --separate-stderr redlock --restart-grace 0 \
	    -r "unix://$BATS_FILE_TMPDIR/redis.sock" \
	    -r "unix://$BATS_FILE_TMPDIR/other.sock" -k a -- touch started
	redis_at other acl setuser default +pexpire
	says 'allow it with: ACL SETUSER default +pexpire'
	[ ! -e started ]
}

@test "a message names a key pattern that is missing" {
	redis acl setuser default resetkeys '~redlock:*'
	run -77 --separate-stderr redlock -k a -- touch started
	says '~{redlock:*'
	redis acl setuser default resetkeys '~{redlock:*'
	run -77 --separate-stderr redlock -k a -- touch started
	says ' ~redlock:*'
	[ ! -e started ]
	[[ -z $(redis keys '*') ]]
}

## A user that only asks

# asking: the words of the manual's rule for it, in one line.
asking() {
	readme_block 'ACL SETUSER monitor' | grep -o "[~+][^' ]*" | xargs
}

# monitor ARG...: redlock-run as that user.
monitor() {
	REDISCLI_AUTH=x redlock -r "redis://monitor@$tcp" "$@"
}

# asks: all that it can ask; its statuses go to $statuses, its words to "said".
asks() {
	local got how

	statuses=()
	redis acl log reset
	rm -f said
	for how in '--status' '--status -k s -k n -k t' '--history --all' \
	    '--history -k a' '--history -k a --max-age 1h' --metrics; do
		got=0
		# shellcheck disable=SC2086
		monitor $how >>said 2>&1 || got=$?
		statuses+=("$got")
	done
}

@test "the manual's rule for a user that only asks is enough, and each of its commands is needed" {
	local rule word

	read -ra rule <<<"$(asking)"
	redis acl setuser monitor reset on nopass "${rule[@]}"
	redlock -k a -- true
	hold n --slots 2
	redlock -k s -s -w 1m -- sh -c 'touch inside; until [ -e let-go ]; do
		sleep 0.05; done' 3>&- 4>&- &
	eventually test -e inside
	redlock -k n --slots 2 -- sh -c 'touch also; until [ -e let-go ]; do
		sleep 0.05; done' 3>&- 4>&- &
	eventually test -e also
	redlock -k n --slots 2 -w 1m -- true 3>&- 4>&- &
	eventually eval '[ "$(redis zcard "{redlock:n}:~queue")" = 1 ]'
	redis hset redlock:t f x
	asks
	cat said
	[ "${statuses[*]}" = '0 0 0 0 0 0' ]
	[ -z "$(denied)" ]
	grep -q '^n .*2/2 slots' said
	for word in "${rule[@]}"; do
		[[ $word == +* ]] || continue
		redis acl setuser monitor "-${word#+}"
		asks
		redis acl setuser monitor "$word"
		echo "without $word: ${statuses[*]}"
		cat said
		[ "$(denied)" = "${word#+}" ]
		# The message has what is missing, and no more.
		[[ $word != +type && $word != +evalsha ]] || continue
		grep -q "allow it with: ACL SETUSER monitor $word\$" said
		grep 'ACL SETUSER ' said >needs
		not grep -v " SETUSER monitor $word\$" needs
	done
	let_go
	wait
	redis acl deluser monitor
}

@test "--status names only the permissions that are missing of those for asking" {
	local words

	redis acl setuser monitor reset on nopass
	run -77 --separate-stderr monitor --status
	says "allow it with: ACL SETUSER monitor $(asking)"
	redis acl setuser monitor '~redlock:*' +@all -hget -mget -del -set
	run -77 --separate-stderr monitor --status -k a
	says 'allow it with: ACL SETUSER monitor ~{redlock:* +mget +hget'
	run -77 monitor --history -k a --max-age 1h
	[[ $output == *'; allow it with: ACL SETUSER monitor ~{redlock:* +mget +hget' ]]
	# The command is complete: the next query is answered.
	read -ra words <<<"${output##*allow it with: }"
	redis "${words[@]}"
	run -1 monitor --status -k a
	redis acl deluser monitor
}

@test "--status and --history of a user without EVAL fail, also where there is no lock" {
	redis acl setuser monitor reset on nopass '~*' +@all -eval
	for mode in --status --history; do
		run -77 --separate-stderr monitor "$mode"
		[[ $output == unknown ]]
		says NOPERM 'allow it with: ACL SETUSER monitor +eval'
	done
	redis acl deluser monitor
}

@test "the user that only asks can take and break no lock" {
	local rule token

	read -ra rule <<<"$(asking)"
	redis acl setuser monitor reset on nopass "${rule[@]}"
	run -77 --separate-stderr monitor -k a -- touch started
	says 'allow it with: ACL SETUSER monitor ' +set
	hold a
	token=$(redis get redlock:a | grep -o 'token=[^ ]*')
	run -77 monitor --break -k a --token "${token#*=}"
	let_go
	[ ! -e started ]
	redis acl deluser monitor
}

## Passwords

# seen FILE...: a file has the password in it.
seen() {
	grep -asq s3cret "$@"
}

# cmdlines NAME...: those of the processes of this test with that name.
cmdlines() {
	local name pid
	for pid in $(marked); do
		read -r name <"/proc/$pid/comm" || continue
		[[ " $* " != *" $name "* ]] || echo "/proc/$pid/cmdline"
	done 2>/dev/null
}

# running N NAME...: so many of them are there.
running() {
	local n=$1
	shift
	[ "$(cmdlines "$@" | wc -l)" -eq "$n" ]
}

@test "a password on the command line is wiped from it, in whatever form it is given" {
	local given how url="redis://me:s3cret@$tcp"
	local ways=("-r $url" "-r$url" "--redis $url" "--redis=$url"
	    "-nvr$url" "-r redis://:s3cret@$tcp" "-r $url/1"
	    "-r redis://me:s3cret:x@y@$tcp"
	    "-r unix://$BATS_FILE_TMPDIR/other.sock -r $url --restart-grace 0")

	redis acl setuser default resetpass '>s3cret'
	redis acl setuser me on '>s3cret' '>s3cret:x@y' "${permitted[@]}"
	for how in "${ways[@]}"; do
		read -ra given <<<"$how"
		redlock -k a "${given[@]}" -- sh -c \
		    'tr "\0" " " <"/proc/$REDLOCK_PID/cmdline"' >shown
		cat shown
		grep -q "redis://\(me\)\?:\*\**@$tcp" shown
		not seen shown
	done
	redis acl deluser me
}

@test "neither ps nor COMMAND, servers or messages show the password" {
	local file monitor waiter url="redis://me:s3cret@$tcp"

	redis acl setuser me on '>s3cret' "${permitted[@]}"
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" monitor >sent 2>&1 \
	    3>&- 4>&- &
	monitor=$!
	eventually grep -q OK sent
	# No process of these is about to be another, or to end.
	mkfifo let-go
	redlock_bg -v -k a -r "$url" -- sh -c 'env >env; read -r _ <let-go'
	eventually grep -q REDLOCK_TOKEN env
	eventually running 1 redlock-guard
	redlock -v -k a -w 1m -r "$url" -- true 2>waiting 3>&- &
	waiter=$!
	eventually running 2 redlock-run
	eventually grep -q 'waiting for' waiting
	run -75 redlock -v -k a -r "$url" -- true
	echo "$output" >busy
	redlock --status -v -r "$url" >table 2>&1
	redlock --status --json -r "$url" >json
	for file in $(cmdlines redlock-run redlock-guard sh); do
		tr '\0' ' ' <"$file"
		not seen "$file"
	done
	echo >let-go
	redlock_ended 0
	wait "$waiter"
	redis acl deluser me
	eventually grep -qi pexpire sent
	not seen env waiting busy table json sent "$bg_out" "$bg_err"
	kill "$monitor"
}

@test "COMMAND's own arguments stay as they are" {
	local url="redis://me:s3cret@$tcp"

	REDLOCK_X=$url run -0 redlock -k a -- sh -c 'echo "$1 $REDLOCK_X"' sh "$url"
	[ "$output" = "$url $url" ]
}

@test "a typing error does not show the password" {
	local url="redis://me:s3cret@$tcp"

	redlock --status -r "$url/x" 2>>said || true
	redlock -k a -r "$url" -r "$url" -- true 2>>said || true
	redlock --status "$url" 2>>said || true
	redlock -k a "--rediss=$url" -- true 2>>said || true
	redlock -k a "--json=$url" -- true 2>>said || true
	redlock -k a -r "$url" -- true 2>>said || true
	cat said
	[ "$(wc -l <said)" -eq 6 ]
	# A word that may be a password is not quoted at all.
	[ "$(grep -c "$tcp" said)" -eq 4 ]
	not seen said
}

@test "no usage error shows a secret of a URL, whatever option it was meant for" {
	local word option url long
	local options=(-k -w --slots --replicas -E -t --min-hold --max-run
	    --kill-after --on-loss --prefix --node-timeout --restart-grace
	    --password-file --tls-ca --tls-cert --tls-key --tls-server-name
	    --config --log)

	for word in "-rredis://:s3cret@$tcp" "--redis=redis://me:s3cret@$tcp" \
	    "redis://s3cret@$tcp" "redis://:s3cret" me:s3cret@h s3cret@h; do
		for option in "${options[@]}"; do
			# A file may be called user@host.
			[[ $option != --tls-* || $word == *:* ]] || continue
			url=redis://h
			[[ $option != --tls-* ]] || url=rediss://h
			run redlock -r "$url" -k b "$option" "$word:~}" -- true
			[ "$status" -eq 64 ]
			echo "$output" >>said
		done
		redlock -k a -k "$word" -k "$word" -- true 2>>said || true
		redlock -k a -r "$word:x" -- true 2>>said || true
		redlock --status "$word" 2>>said || true
	done
	redlock -k a -q "redis://:s3cret@$tcp" -- true 2>>said || true
	# Half of a URL is a mistake that does not look like one.
	printf -v long '%080d' 0
	redlock -k a "--redis-redis://me:s3cret$long@h" -- true 2>>said || true
	redlock -k a "--redis-redis://me:s3cret=$long@h" -- true 2>>said || true
	cat said
	[ "$(grep -c '^redlock-run: ' said)" -ge $((6 * 18)) ]
	not seen said
}

@test "no usage error shows the password of a URL without its host" {
	local url mode
	local urls=(redis://user:s3cret rediss://default:s3cret/0
	    redis://u:s3cret%40h 'redis://h:6379?auth=s3cret'
	    'redis://h/0?pass=s3cret' 'redis://u:pa#s3cret' u:s3cret
	    'h?auth=s3cret')

	unset REDLOCK_REDIS
	: >said
	for url in "${urls[@]}"; do
		echo "redis $url" >conf
		for mode in 600 644; do
			chmod "$mode" conf
			run -64 redlock --config "$PWD/conf" -k a -- true
			echo "$output" >>said
			run -64 redlock --config "$PWD/conf" --show-config
			echo "$output" >>said
		done
		# Whatever its form, it is a password, and others can read it.
		[[ $output == *"conf:1: redis: the file has a password"* ]]
		run -64 redlock -r "$url" -k a -- true
		echo "$output" >>said
		REDLOCK_REDIS=$url run -64 redlock -k a -- true
		echo "$output" >>said
		REDLOCK_REDIS=$url run -64 redlock --show-config
		echo "$output" >>said
	done
	cat said
	[ "$(wc -l <said)" -eq $((7 * 8)) ]
	not seen said
}

@test "a user without a password is masked in messages: redis-cli takes it for one" {
	local url="redis://s3cret@$tcp"

	run -64 redlock -k a -r "$url" -- true
	echo "$output" >said
	grep -qF "'redis://***@$tcp' has a user but no password" said
	export REDISCLI_AUTH=wrong
	run -77 redlock -v -k a -r "$url" -- true
	echo "$output" >>said
	run -77 redlock --status -r "$url"
	echo "$output" >>said
	run -77 redlock --check -r "$url"
	echo "$output" >>said
	run -77 redlock --check --json -r "$url"
	echo "$output" >>said
	cat said
	[ "$(grep -cF "redis://***@$tcp" said)" -ge 5 ]
	not seen said
	redis acl setuser s3cret on '>wrong' "${permitted[@]}"
	redlock -k a -r "$url" -- true
	redis acl deluser s3cret
}

# every_mode URL...: the output of a run and of all query options, in ./said.
every_mode() {
	local url how args=()
	for url; do
		args+=(-r "$url")
	done
	: >said
	for how in '-v -k a' '-v -k a -w 200ms' '--status -v' '--status --json' \
	    '--status -k a' '--history' '--break -k a' '--check' \
	    '--check --json'; do
		[[ $how != *'-v -k a'* ]] || how+=' -- true'
		# shellcheck disable=SC2086
		redlock "${args[@]}" --restart-grace 0 --node-timeout 2s \
		    $how >>said 2>&1 && return 1
		echo "-- $how: $?" >>said
	done
	cat said
}

# echo_server REPLY: one that wants a password, and answers AUTH with REPLY, in
# which %s is the password.  Its port is in $echo_port, its pid in $echo_pid.
echo_server() {
	rm -f echo.port
	PYTHONPATH=$top/tests/helpers /usr/bin/python3 -Bc '
import sys, rude_server
def serve(c):
    while data := c.recv(65536):
        if data.upper().startswith((b"*2\r\n$4\r\nAUTH", b"*3\r\n$4\r\nAUTH")):
            word = data.split(b"\r\n")[-2]
            c.sendall(sys.argv[1].encode().replace(b"%s", word) + b"\r\n")
        else:
            c.sendall(b"-NOAUTH Authentication required.\r\n")
rude_server.run(serve, "echo")
' "$1" 3>&- 4>&- &
	echo_pid=$!
	eventually test -s echo.port
	echo_port=$(<echo.port)
}

@test "no message quotes a server's or Sentinel's reply to AUTH" {
	local reply

	for reply in "-ERR unknown command 'AUTH', with args beginning with: '%s'" \
	    '-%s' '-WRONGPASS %s' '-NOAUTH %s' '-ERR AUTH %s' '-LOADING %s' '%s'; do
		echo_server "$reply"
		every_mode "redis://:s3cret@127.0.0.1:$echo_port"
		not seen said
		not grep -q 'got "s"' said
		every_mode "redis+sentinel://:s3cret@127.0.0.1:$echo_port/m"
		not seen said
		not grep -q 'got "s"' said
		kill "$echo_pid"
	done
}
