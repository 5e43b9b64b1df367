#!/usr/bin/env bats
# --break: which locks of which runs it breaks, and which not.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/common
load ../lib/servers
load ../lib/modes
load ../lib/faults

setup_file() {
	redis_start
	servers_start
	faults_write_helpers
}

setup() { modes_setup; }

teardown() {
	rude_stop
	nothing_left
}

teardown_file() { redis_stop_all; }

queue='{redlock:a}:~queue'
nobody=3aa1e4c0-0000-4000-8000-0123456789ab

# breaks STATUS NAME [ARG...]: --break for that client gives that status.
breaks() {
	run "-$1" --separate-stderr redlock --break -k a \
	    --token "$(cat "token-$2")" "${@:3}"
	says ''
}

# offers ARG...: --break without a token changes nothing.
offers() {
	local before
	before=$(snapshot)
	run -1 --separate-stderr redlock --break "$@"
	says ''
	[ "$(snapshot)" = "$before" ]
}

# snapshot: what the first server has, but for what changes by itself.
snapshot() {
	local key
	for key in $(redis_at "${servers%% *}" keys '*:a*' | sort); do
		case $key in
		*:~beat) ;;
		*) redis_at "${servers%% *}" --no-raw dump "$key" ;;
		esac
	done
}

# who NAME: that client's name in messages.
who() {
	echo "$(id -un)@$(uname -n) pid ${pid[$1]} (sh)"
}

# client_has NAME [KEY]: that is whose value the lock, or a slot of it, has on
# each server.
client_has() {
	local server
	for server in $servers; do
		[[ $(redis_at "$server" get "${2:-redlock:a}") == \
		    *" token=$(cat "token-$1") "* ]] || return 1
	done
}

# break_granted NAME: the script that broke the lock has given it to that
# one.
break_granted() {
	grep -q '"DEL" "redlock:a"$' sent &&
		grep -q "lua\] \"SET\" \"redlock:a\" \"redlock-run/2 token=$(cat "token-$1") " \
		    sent
}

# free_now: nobody has it, on any server.
free_now() {
	local server
	for server in $servers; do
		[ "$(redis_at "$server" exists redlock:a)" = 0 ] || return 1
	done
}

# break_script NAME TOKEN TRY ARG...: as a run with one slot, or --break, sends
# it. At once after that, before anything can expire, the lock is given an hour.
break_script() {
	local part=$1 token=$2 try=$3 script=lock sha
	shift 3
	[[ $part != break ]] || script="break"
	sha=$(redis script load "$("$top/src/protocol/lua/build" $script)")
	{
		echo multi
		printf '"%s" ' evalsha "$sha" 2 redlock:a '{redlock:a}:~' \
		    "redlock-run/2 token=$token try=$try" "$token" exclusive 1 1 "$@" "$part"
		printf '\npexpire redlock:a 3600000\nexec\n'
	} | redis | grep -vxE 'OK|QUEUED' | head -n 1
}

## What it breaks

# bats test_tags=quick
@test "--break breaks the lock of a run that has died" {
	writer one -t 1h
	clients_started one
	client_crashes one
	client_has one
	breaks 0 one
	says "a: broken, $(who one) no longer holds it"
	[ -z "$output" ]
	free_now
	redlock -k a -- true
	all_over
}

@test "--break ends a run that is alive after all with 79" {
	writer one -t 6s
	clients_started one
	breaks 0 one
	says "a: broken, $(who one) no longer holds it"
	client_ends one 79
	grep -q "a: lock lost: broken by $(id -un)@$(uname -n) (--break)" one.err
	rm in-one
	all_over
}

@test "--break says how long a command that is cut off runs on, where its lease is longer than --ttl" {
	local id=01234567-89ab-4cde-8f01-23456789abcd
	redis set redlock:a "redlock-run/2 token=$id try=1 since=$((($(now_us) / 1000) - 7200000)) pid=1 host=h user=u command=c ttl=1800000 lease=60000" px 720000
	run -1 --separate-stderr redlock --break a
	[[ $stderr == *'a: a command that is cut off from the servers runs on for up to 1'?'m'*' after --break'* ]]
	run -0 --separate-stderr redlock --break a --token $id
	says 'broken, u@h pid 1 (c)' 'runs on for up to'
	redis set redlock:a "redlock-run/2 token=$id try=1 since=1 pid=1 host=h user=u command=c ttl=1800000 lease=60000" px 50000
	run -1 --separate-stderr redlock --break a
	[[ $stderr != *'runs on for up to'* ]]
}

@test "--break hands the lock to the first waiter, with a greater fence" {
	local since

	writer one -t 1h
	clients_started one
	client_queues writer two -t 1h
	client_queues writer three -t 1h
	client_crashes one
	since=$(now_us)
	breaks 0 one
	clients_started two
	# By itself it would have asked after five seconds.
	(($(<began-two) / 1000 - since < 4000000))
	[ ! -e in-three ]
	(($(client_fence two) > $(client_fence one)))
	clients_leave two three
	(($(client_fence three) > $(client_fence two)))
	all_over
}

@test "--break on one server lets no other run in between" {
	writer one -t 1h
	clients_started one
	client_queues writer two
	redis zrange "$queue" 0 0 >token-two
	kill -STOP "${pid[two]}"
	client_crashes one
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" monitor >sent \
	    3>&- 4>&- &
	monitor=$!
	eventually grep -q OK sent
	breaks 0 one
	# It has that for two seconds, in which it has to answer.
	eventually break_granted two
	kill "$monitor"
	kill -CONT "${pid[two]}"
	clients_started two
	clients_leave two
	all_over
}

@test "--break ends a cooldown that --min-hold began" {
	writer one -t 1h --min-hold 1h
	clients_started one
	client_queues writer two
	clients_leave one
	breaks 0 one
	says "a: broken, $(who one) no longer holds it"
	clients_started two
	clients_leave two
	all_over
}

@test "--break removes one run's slot and no other" {
	local name

	for name in one two three; do
		permit "$name" 3 -t 1h
		clients_started "$name"
	done
	client_queues permit four 3
	client_crashes two
	client_has two '{redlock:a}:~2'
	breaks 0 two
	clients_started four
	client_has one
	client_has four '{redlock:a}:~2'
	client_has three '{redlock:a}:~3'
	clients_run one three
	clients_leave one three four
	all_over
}

@test "--break removes one reader and no other" {
	local readers='{redlock:a}:~readers'

	reader one -t 1h
	reader two -t 30s
	reader three -t 1h --min-hold 1h
	clients_started one two three
	clients_leave three
	client_queues writer four
	client_crashes one
	breaks 0 one
	[ "$(redis get redlock:a)" = '~shared' ]
	[ "$(redis hlen "$readers")" = 2 ]
	breaks 0 three
	# What the last of them has is what the lock has.
	(($(redis pttl redlock:a) <= 30000))
	clients_run two
	[ ! -e in-four ]
	client_crashes two
	breaks 0 two
	clients_started four
	clients_leave four
	all_over
}

@test "--break: the reader that loses its share gets no message about another reader" {
	reader one -t 1h
	reader two -t 1h
	clients_started one two
	breaks 0 one
	touch leave-one
	client_ends one 79
	grep -q "broken by $(id -un)@$(uname -n) (--break)" one.err
	not grep -q 'others still hold' one.err
	clients_leave two
	all_over
}

@test "--break does not give the lock back to a dead waiter that was granted it" {
	break_script acquire me '1 ' 'pid=1 host=h user=u command=c' 60000 1 0 0 1 '' '' 0 0 '' ''
	break_script acquire you '1 ' 'pid=1 host=h user=u command=c' 60000 1 0 60000 1 '' '' 0 0 '' ''
	break_script release me '' 0 1 1 '' '' '' 0 '' '' '' 0 0 0
	[[ $(redis get redlock:a) == *' token=you '* ]]
	[ "$(break_script break you '' 1 by=x@y)" = 1 ]
	free_now
	[ "$(redis zcard "$queue")" = 0 ]
}

@test "--break works when the reply is lost" {
	writer one -t 1h
	clients_started one
	client_crashes one
	rude redis next
	breaks 0 one -r "$rude_url"
	[ "$(cat mode)" = pass ]
	says "a: broken, $(who one) no longer holds it"
	free_now
}

## What it leaves alone

@test "--break with a wrong token changes nothing and names the holder" {
	local before

	writer one -t 1h
	clients_started one
	client_crashes one
	breaks 0 one
	writer two
	clients_started two
	client_queues writer three
	before=$(snapshot)
	breaks 1 one
	says "a: not held by $(cat token-one): it is held by $(who two) for " \
	    ', lease ' '; nothing was changed'
	run -1 --separate-stderr redlock --break -k a --token "$nobody" -q
	says "not held by $nobody"
	# Nor that of one who waits for it.
	run -1 --separate-stderr redlock --break -k a \
	    --token "$(redis zrange "$queue" 0 0)"
	says "it is held by $(who two)"
	[ "$(snapshot)" = "$before" ]
	clients_leave two three
	breaks 1 two
	says "a: not held by $(cat token-two): it is free; nothing was changed"
	all_over
}

@test "--break with a wrong token names one of several holders and counts the others" {
	local others

	reader one
	reader two
	clients_started one two
	for others in '1 other' '2 others'; do
		run -1 --separate-stderr redlock --break -k a --token "$nobody"
		says "not held by $nobody: it is held shared by " \
		    ", and by $others; nothing was changed"
		[[ $others == 2* ]] || reader three
		[[ $others == 2* ]] || clients_started three
	done
	clients_leave one two three
	all_over
}

@test "--break compares the token on the servers, whatever happened since the query" {
	local before

	break_script acquire me '1 ' 'pid=1 host=h user=u command=c' 60000 1 0 0 1 '' '' 0 0 '' ''
	before=$(redis get redlock:a)
	[ "$(break_script break you '' 1 by=x@y)" = 0 ]
	[ "$(break_script break m '' 1 by=x@y)" = 0 ]
	[ "$(redis get redlock:a)" = "$before" ]
	redis set redlock:a 'cooldown of redlock-run/2 token=me try=1 '
	[ "$(break_script break me '' 1 by=x@y)" = 0 ]
	redis set redlock:a foreign
	[ "$(break_script break me '' 1 by=x@y)" = 0 ]
	redis del redlock:a
	redis rpush redlock:a foreign
	[ "$(break_script break me '' 1 by=x@y)" = 0 ]
	[ "$(redis type redlock:a)" = list ]
}

@test "--break leaves a foreign lock alone and suggests what removes it" {
	redis set redlock:a $'some\e[31mbody'
	offers -k a
	says 'a: held by another client (some\x1b[31mbody), without expiry' \
	    'delete the key redlock:a with redis-cli'
	[ -z "$output" ]
	run -1 --separate-stderr redlock --break -k a --token "$nobody"
	says 'it is held by another client (some\x1b[31mbody), without expiry'
	[ "$(redis get redlock:a)" = $'some\e[31mbody' ]
	redis del redlock:a
	redis rpush redlock:a x
	offers -k a
	says 'a: held by another client'
}

@test "--break puts no text from a server into the suggested command" {
	redis set redlock:a 'redlock-run/2 token=$(touch%20hurt) try=1 since=1 pid=1 host=h%1b user=u%0a command=c%1b[31m'
	offers -k a
	[ -z "$output" ]
	says 'this holder is not redlock-run'
	redis set redlock:a "redlock-run/2 token=$nobody try=1 since=1 pid=1 host=h%1b user=u%0a command=c%1b[31m" px 60000
	offers -k a
	[ "$output" = "$(printf '%q' "$REDLOCK_RUN") --token $nobody --break -k a" ]
	says 'held by u\x0a@h\x1b pid 1 (c\x1b[31m) for '
}

@test "--break refuses the token of a foreign lock or of no lock and names the holder: 1" {
	local before token

	writer one -t 1h
	clients_started one
	before=$(snapshot)
	for token in "${nobody}0" "${nobody^^}" x 'redlock-run/2' $'\e[31m'; do
		run -1 --separate-stderr redlock --break -k a --token "$token"
		says "it is held by $(who one) for " '; nothing was changed'
		clean
	done
	run -1 --separate-stderr redlock --break -k a --token redis://:s3cret@h
	says "not held by redis://:***@h: it is held by $(who one) for "
	[ "$(snapshot)" = "$before" ]
	clients_leave one
	redis set redlock:a 5f2c51f8a1b2 px 60000
	run -0 --separate-stderr redlock --status --json -k a
	[[ $output == *'"token":"5f2c51f8a1b2"'* ]]
	run -1 --separate-stderr redlock --break -k a --token 5f2c51f8a1b2
	says 'a: held by another client (5f2c51f8a1b2), lease ' \
	    'this holder is not redlock-run, so --break leaves it alone'
	[ "$(redis get redlock:a)" = 5f2c51f8a1b2 ]
	redis set redlock:a 'redlock-run/2 token=x try=1 since=1 pid=1 host=h user=u command=c'
	run -1 --separate-stderr redlock --break -k a --token x
	says 'a: held by u@h pid 1 (c) for ' 'this holder is not redlock-run'
	[ "$(redis exists redlock:a)" = 1 ]
	run -64 --separate-stderr redlock --break -k a --token ''
	says "--token is empty"
}

## Without a token

@test "--break without --token changes nothing and prints the command to type" {
	writer one -t 1h
	clients_started one
	client_crashes one
	offers -k a -v
	says "a: held by $(who one) for " ', lease ' 'make sure that its command is dead'
	[ "$output" = "$(printf '%q' "$REDLOCK_RUN") --token $(cat token-one) --break -k a -v" ]
	client_has one
	bash -c "$output"
	free_now
	offers -k a
	says 'a: the lock is free'
	[ -z "$output" ]
}

@test "--break prints a command that can be pasted, whatever its words" {
	local name='it'\''s "my" $HOME `touch hurt` ; a\b *'
	local prefix='redlock:$(touch hurt) '\'' {a b} '
	local quoted

	redis_use unix:///nowhere
	redlock -r "unix://$BATS_FILE_TMPDIR/redis.sock" --prefix "$prefix" \
	    -k "$name" --min-hold 1h -- true
	ln -s "$REDLOCK_RUN" 'a program'
	for quoted in "'./a program'" '"$REDLOCK_RUN"'; do
		run -1 --separate-stderr bash -c "$quoted"' "$@"' bash --break \
		    "--prefix=$prefix" -vk "$name" \
		    -r "unix://$BATS_FILE_TMPDIR/redis.sock"
		says 'in cooldown for another ' 'its command has ended'
		[ "$(wc -l <<<"$output")" -eq 1 ]
		redis --raw exists "$prefix$name" | grep -qx 1
	done
	sh -c "$output"
	redis --raw exists "$prefix$name" | grep -qx 0
	[ ! -e hurt ]
}

@test "--break prints a line for each of several holders" {
	reader one -t 1h
	reader two -t 1h
	clients_started one two
	offers -k a
	says "held shared by $(who one)" "held shared by $(who two)"
	diff <(sed -E 's/.* --token ([^ ]*) .*/\1/' <<<"$output" | sort) \
	    <(cat token-one token-two | sort)
	clients_leave one two
	permit three 2 -t 1h
	permit four 2 -t 1h
	clients_started three four
	offers -k a
	[ "$(wc -l <<<"$output")" -eq 2 ]
	clients_leave three four
	all_over
}

@test "--break warns if the holder's process runs on this host" {
	writer one -t 1h
	clients_started one
	offers -k a -q
	[ "$stderr" = "redlock-run: a: process ${pid[one]} is running on this host; the holder does not look dead" ]
	client_crashes one
	run -1 --separate-stderr redlock --break -k a -q
	[ -z "$stderr" ]
	[[ $output == *" --token $(cat token-one) "* ]]
}

@test "--break does not warn about a zombie" {
	local parent zombie
	bash -c '"$REDLOCK_RUN" -k a -t 1h -- sh -c "touch \$0; exec sleep 1000" "$2" &
	    echo "$!" >"$1"
	    exec sleep 1000' sh "$BATS_TEST_TMPDIR/pid" \
	    "$BATS_TEST_TMPDIR/there" 3>&- 4>&- &
	parent=$!
	eventually test -e "$BATS_TEST_TMPDIR/there"
	eventually test -s "$BATS_TEST_TMPDIR/pid"
	zombie=$(<"$BATS_TEST_TMPDIR/pid")
	kill -KILL "$zombie"
	eventually gone "$zombie"
	[ -e "/proc/$zombie" ]		# so much for the test
	run -1 --separate-stderr redlock --break -k a -q
	[ -z "$stderr" ]
	kill -KILL "$parent"
}

# value_of PID [FIELD...]: the value of a holder on this host.
value_of() {
	redis set redlock:a "redlock-run/2 token=$nobody try=1 since=1 pid=$1 host=$(uname -n) user=u command=c ttl=60000${2:+ $2}" px 600000
}

@test "--break: a process that has the holder's pid but not its start is not the holder" {
	local start stat
	read -r stat <"/proc/$$/stat"
	read -ra stat <<<"${stat##*) }"
	start=${stat[19]}
	value_of $$ "start=$start"
	offers -k a
	says "a: process $$ is running on this host; the holder does not look dead"
	for start in 1 9000000000000; do
		value_of $$ "start=$start"
		offers -k a
		[[ $stderr != *'is running'* ]]
		says "a: process $$ on this host started at another time than the holder; it is not the holder"
	done
	# A value without it proves nothing.
	value_of $$
	offers -k a -q
	[ "$stderr" = "redlock-run: a: process $$ is running on this host; the holder does not look dead" ]
}

# contained ARG...: a run that is the first process of a container; $container is
# its pid outside.
contained() {
	unshare -pf --kill-child --mount-proc "$REDLOCK_RUN" -k a "$@" \
	    >contained.out 2>contained.err 3>&- 4>&- &
	unshare=$!
	eventually pgrep -P "$unshare"
	container=$(pgrep -P "$unshare")
}

# container_waits: its run is in the queue.
container_waits() {
	[ "$(redis zcard "$queue")" = 1 ]
}

@test "a waiter in a restarted container is not taken for the dead holder, and names an earlier one" {
	local container unshare me
	unshare -pf --mount-proc true 2>/dev/null ||
		skip "no pid namespace can be made"
	me="$(id -un)@$(uname -n) pid 1"
	contained -t 1h -- sh -c 'touch there; exec sleep 1000'
	eventually test -e there
	kill -KILL "$container"
	wait "$unshare" || :
	contained -t 1h -w inf -- touch ran
	eventually container_waits
	eventually grep -q "a: waiting for an earlier $me (sh)\$" contained.err
	run -1 --separate-stderr nsenter -t "$container" -p -m \
	    "$REDLOCK_RUN" --break -k a
	says "a: held by $me (sh)" \
	    'a: process 1 on this host started at another time than the holder'
	[[ $stderr != *'is running on this host'* ]]
	bash -c "$output"
	ended "$unshare" 0 contained.err
	[ -e ran ]
	# The one that does not wait says the same.
	contained -t 1h -- sh -c 'touch there-too; exec sleep 1000'
	eventually test -e there-too
	kill -KILL "$container"
	wait "$unshare" || :
	run -75 --separate-stderr unshare -pf --kill-child --mount-proc \
	    "$REDLOCK_RUN" -k a -- true
	says "a: held by an earlier $me (sh) for "
}

@test "--break -q is silent, and --break -v reports each server" {
	writer one -t 1h
	clients_started one
	client_crashes one
	breaks 0 one -v
	says "a: unix://$BATS_FILE_TMPDIR/redis.sock: broken"
	writer one -t 1h
	clients_started one
	client_crashes one
	run -0 --separate-stderr redlock --break -qk a \
	    --token "$(cat token-one)"
	silent
	free_now
}

@test "--break does not print a password" {
	redis_start_tcp secret
	redis_at secret acl setuser default resetpass '>s3cret:@/x'
	redis_at secret acl setuser me on '>s3cret:@/x' '~*' +@all
	for user in '' me; do
		run -0 env REDISCLI_AUTH='s3cret:@/x' "$REDLOCK_RUN" \
		    -r "127.0.0.1:$redis_port" -k a --min-hold 1h -- true
		run -1 --separate-stderr redlock --break -k a \
		    -r"redis://$user:s3cret:@/x@127.0.0.1:$redis_port/0"
		says 'the command above omits the password'
		[[ $output$stderr != *s3cret* ]]
		[[ $output == *" -rredis://${user:+$user@}127.0.0.1:$redis_port/0" ]]
		REDISCLI_AUTH='s3cret:@/x' sh -c "$output"
		[ "$(redis_at secret exists redlock:a)" = 0 ]
	done
	redis_kill secret
}

@test "--break fails if its output cannot be written" {
	writer one -t 1h
	clients_started one
	run -71 --separate-stderr bash -c '"$REDLOCK_RUN" --break -k a >/dev/full'
	says 'standard output: No space left'
	clients_leave one
}

## Refusals, and servers that are down

@test "--break names a server that refuses, and the missing permission: 77" {
	writer one -t 1h
	clients_started one
	client_crashes one
	redis acl setuser default -del
	breaks 77 one
	says "unix://$BATS_FILE_TMPDIR/redis.sock: " \
	    "a: no server could break the lock of $(who one)"
	client_has one
	redis acl setuser default +del -eval
	breaks 77 one
	says eval 'nothing was changed'
	run -77 --separate-stderr redlock --break -k a
	says eval
	[ -z "$output" ]
	client_has one
}

@test "--break without a server gives 69 and says that nothing was changed" {
	redis_kill
	run -69 --separate-stderr redlock --break -k a --token "$nobody"
	says "unix://$BATS_FILE_TMPDIR/redis.sock: " 'nothing was changed'
	run -69 --separate-stderr redlock --break -k a
	says "unix://$BATS_FILE_TMPDIR/redis.sock: "
}

@test "several servers: --break removes the lock on all, and a waiter gets it" {
	modes_quorum 1 2 3
	writer one -t 1h
	clients_started one
	client_queues writer two
	eventually client_has one
	client_crashes one
	offers -k a
	[ "$(wc -l <<<"$output")" -eq 1 ]
	breaks 0 one -v
	[ "$(grep -c 'sock: broken$' <<<"$stderr")" -eq 3 ]
	clients_started two
	clients_leave two
	(($(client_fence two) > $(client_fence one)))
	all_over
}

@test "several servers: --break is noticed by a run that is alive" {
	modes_quorum 1 2 3
	writer one -t 6s
	clients_started one
	breaks 0 one
	client_ends one 79
	cat one.err
	grep -q "broken by $(id -un)@$(uname -n) (--break)" one.err
	rm in-one
	all_over
	run -0 --separate-stderr redlock --history -k a
	[[ ${lines[1]} == *"  broken by $(id -un)@$(uname -n) (--break)" ]]
}

@test "several servers: --break names one that is down or silent" {
	modes_quorum 1 2 3
	writer one -t 1h
	clients_started one
	eventually client_has one
	client_crashes one
	redis_kill s3
	breaks 0 one
	says "s3.sock: " "a: broken, $(who one) no longer holds it; anything left on" \
	    'is no majority'
	servers_free 1 2
	breaks 1 one
	says 'it is free; nothing was changed'
	redlock -k a -- true
	redis_reset s3
	writer two -t 1h
	clients_started two
	eventually client_has two
	client_crashes two
	redis_freeze s3
	breaks 0 two
	says 's3.sock: connected, but no reply within 3s'
	redlock -k a -- true
	redis_thaw s3
}

@test "several servers: --break on too few gives 69 and lists where the lock was removed" {
	modes_quorum 1 2 3
	writer one -t 1h
	clients_started one
	eventually client_has one
	client_crashes one
	redis_kill s2
	redis_kill s3
	run -69 --separate-stderr redlock --break -k a
	[[ $output == *" --token $(cat token-one) "* ]]
	breaks 69 one
	says 's2.sock: ' 's3.sock: ' \
	    "a: broken on only 1 of 3 servers: $(who one) may keep the others"
	servers_free 1
	breaks 69 one
	says 'too few servers answer to tell whether' 'nothing was changed'
}

@test "several servers: --break leaves a run alone that no majority calls the holder" {
	modes_quorum 1 2 3
	writer one -t 1h
	clients_started one
	eventually client_has one
	client_crashes one
	redis_at s2 del redlock:a
	redis_at s3 del redlock:a
	breaks 1 one
	says 'it is free; nothing was changed'
	offers -k a
	server_held 1
	# It could be the holder if the third server has it.
	redis_kill s3
	offers -k a
	[[ $output == *" --token $(cat token-one) "* ]]
	breaks 0 one
	servers_free 1
}

@test "several servers: --break reports that they disagree on a holder" {
	local i

	modes_quorum 1 2 3
	for i in 1 2 3; do
		redis_at "s$i" set redlock:a "redlock-run/2 token=${nobody%?}$i try=1 since=1 pid=1 host=h user=u command=c" px 60000
	done
	run -69 --separate-stderr redlock --break -k a
	says 'a: the servers disagree on the holder'
	run -1 --separate-stderr redlock --break -k a --token "${nobody%?}1"
	says "a: not held by ${nobody%?}1, and the servers disagree"
	server_held 1
}
