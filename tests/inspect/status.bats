#!/usr/bin/env bats
# --status: the table, the JSON, and the escaping of values from Redis.
# shellcheck disable=SC2154,SC2016,SC1003,SC2030,SC2031

load ../lib/one_redis
load ../lib/process

# line NAME: the line of the table for that lock, blanks made one.
line() {
	grep -aE "^$1( |\$)" <<<"$output" | tr -s ' ' | sed 's/ $//'
}

status() {
	run --separate-stderr redlock --status "$@"
}

## The table

# bats test_tags=quick
@test "--status prints a table of every lock under the prefix" {
	hold a -t 1h
	redlock -k cooling --min-hold 1h -- true
	redis set redlock:foreign somebody px 60000
	redis set elsewhere somebody
	status
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(head -n 1 <<<"$output" | tr -s ' ')" = \
	    'LOCK STATE HOLDER COMMAND HELD LEASE WAITING' ]
	[ "$(wc -l <<<"$output")" -eq 4 ]
	[[ $(line a) == "a held $(id -un)@$(uname -n) pid $bg_pid sh "* ]]
	[[ $(line cooling) == "cooling cooldown $(id -un)@$(uname -n) true - "* ]]
	[[ $(line foreign) == "foreign held "* ]]
	[[ $output != *elsewhere* ]]
	let_go
}

@test "--status shows how long a lock has been held and the rest of its lease" {
	hold a -t 1h
	sleep 1.1
	status -v -k a
	[[ $(line a) =~ \ sh\ ([0-9]+)s\ (59m[0-9]*s|1h)\ 0\ ([0-9]+)$ ]]
	((BASH_REMATCH[1] >= 1))
	[ "${BASH_REMATCH[3]}" = "$(redis get '{redlock:a}:~fence')" ]
	let_go
}

@test "--status shows a lock in its cooldown and whose it was" {
	redlock -k a --min-hold 1h -- true
	status -k a
	[ "$status" -eq 0 ]
	[[ $(line a) =~ ^a\ cooldown\ [^\ ]+@[^\ ]+\ true\ -\ (59m[0-9]*s|1h)\ 0$ ]]
}

@test "--status marks a holder with less than half of its lease as overdue" {
	local value
	hold a -t 1h
	status --json
	json 'd[0]["holders"][0]["overdue"] is False'
	# It would renew at once what a server pushes.
	kill -STOP "$bg_pid"
	eventually process_in_state "$bg_pid" T
	redis pexpire redlock:a 1700000
	status
	[[ $(line a) == *' 28m'*' overdue 0' ]]
	status --json
	json 'd[0]["holders"][0]["overdue"] is True'
	value=$(redis get redlock:a)
	kill -CONT "$bg_pid"
	let_go
	# Nobody renews these.
	redis set redlock:a "$value unconfirmed" px 1700000
	redis set redlock:b "cooldown $value" px 1700000
	redis set redlock:c somebody px 1700000
	status
	[ "$(wc -l <<<"$output")" -eq 4 ]
	[[ $output != *overdue* ]]
	status --json
	json 'not any(l["holders"][0]["overdue"] for l in d)'
}

# aged SECONDS TTL LEASE LEFT: the lock is held by such a run.
aged() {
	redis set redlock:a "redlock-run/2 token=01234567-89ab-4cde-8f01-23456789abcd try=1 since=$((($(now_us) / 1000) - $1 * 1000)) pid=1 host=h user=u command=c ttl=$2 lease=$3" px "$4"
}

@test "--status: a lease that grows is overdue by the length that is due, and -v and JSON have the longest" {
	aged 100 1800000 60000 31000
	status --json
	json 'd[0]["holders"][0]["overdue"] is False'
	json 'd[0]["holders"][0]["max_ttl_ms"] == 1800000'
	status -v
	[[ $output == *' left, at most 30m'* ]]
	aged 100 1800000 60000 29000
	status --json
	json 'd[0]["holders"][0]["overdue"] is True'
	# After 100 minutes ten are due, less half a minute and two seconds.
	aged 6000 1800000 60000 569000
	status --json
	json 'd[0]["holders"][0]["overdue"] is False'
	aged 6000 1800000 60000 567000
	status --json
	json 'd[0]["holders"][0]["overdue"] is True'
	# After a day 30 minutes are.
	aged 86400 1800000 60000 1770000
	status --json
	json 'd[0]["holders"][0]["overdue"] is False'
	aged 86400 1800000 60000 1766000
	status --json
	json 'd[0]["holders"][0]["overdue"] is True'
}

@test "--status shows how many slots are taken" {
	local first
	hold a --slots 3
	first=$bg_pid
	hold a --slots 3
	status
	[[ $(line a) == 'a 2/3 slots '* ]]
	[ "$(wc -l <<<"$output")" -eq 3 ]
	status --json
	json 'd[0]["state"] == "held" and d[0]["mode"] == "slots" and d[0]["slots"] == 3'
	let_go
	bg_pid=$first
	redlock_ended 0
	redlock -k a --slots 3 --min-hold 1h -- true
	status
	[[ $(line a) == 'a cooldown '* ]]
}

@test "--status -v lists the waiters in their order" {
	local -a waiter
	local holder
	hold a
	holder=$bg_pid
	redlock_bg -k a -w inf -m first -- true
	waiter[1]=$bg_pid
	eventually queue_is 1
	redlock_bg -k a -w inf -m 'the second' -- sh -c true
	waiter[2]=$bg_pid
	eventually queue_is 2
	status
	[[ $output != *waiting* ]]
	status -v
	[ "$status" -eq 0 ]
	[[ $(grep -n . <<<"$output" | grep 'waiting [12]:' | tr '\n' ' ') == \
	"3:  waiting 1: $(id -un)@$(uname -n) pid ${waiter[1]} (true: first) for "*"4:  waiting 2: $(id -un)@$(uname -n) pid ${waiter[2]} (sh: the second) for "* ]]
	status --json
	json '[w["message"] for w in d[0]["waiters"]] == ["first", "the second"]'
	# Of a thousand those without a heartbeat are known.  A waiter that runs
	# removes some of them.
	kill -STOP "${waiter[@]}"
	eventually process_in_state "${waiter[1]}" T
	eventually process_in_state "${waiter[2]}" T
	redis eval 'for i = 1, 1100 do
		redis.call("ZADD", KEYS[1], 9e15 + i, "stranger" .. i) end' 1 \
	    '{redlock:a}:~queue'
	status -v
	[[ $output == *$'\n  waiting: 102 more'* ]]
	kill "${waiter[@]}"
	kill -CONT "${waiter[@]}"
	wait "${waiter[@]}" || true
	bg_pid=$holder
	let_go
}

@test "--status aligns its columns" {
	local column row

	hold a
	redlock -k a-lock-with-a-long-name --min-hold 1h -- true
	status
	column=$(grep -ob STATE <<<"$output" | cut -d : -f 1)
	while IFS= read -r row; do
		[[ ${row:column - 1} == ' '@(STATE|held|cooldown)' '* ]]
	done <<<"$output"
	column=$(grep -ob HELD <<<"$output" | cut -d : -f 1)
	while IFS= read -r row; do
		[[ ${row:column - 1:5} == ' '[!\ ]* ]]
	done <<<"$output"
	let_go
}

@test "--status without locks prints the header alone: 0" {
	status
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -le 1 ]
	[ -z "$stderr" ]
}

@test "--status -k shows just that lock" {
	redis set redlock:a somebody px 60000
	redis set redlock:b somebody px 60000
	status -k a
	[ "$status" -eq 0 ]
	[[ $output == *$'\n'a\ * ]]
	[ "$(wc -l <<<"$output")" -eq 2 ]
}

@test "--status -k shows a free lock, too: 1" {
	redlock -k a -- true
	status -k a
	[ "$status" -eq 1 ]
	[[ $(line a) == "a free "* ]]
	[ -z "$stderr" ]
	status -k never-used
	[ "$status" -eq 1 ]
	[[ $(line never-used) == "never-used free "* ]]
}

@test "--status without -k shows no free lock and no auxiliary key" {
	redlock -k a -- true
	redlock -k 'b{tag}' -- true
	redis set 'redlock:c{tag}:~fence' 5
	redis set 'redlock:d:~queue' x
	status
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -le 1 ]
}

@test "--status shows a lock whatever its NAME, and no auxiliary key" {
	local name names=(a '~' '~x' '~~' '~:' '{' 'a{b' '{t}' '{t}~' 'a{t}b'
	    '{t}{u}' '{a}}' ':' "$(printf 'x%.0s' {1..512})")

	for name in "${names[@]}"; do
		redlock -k "$name" --min-hold 1h -- true
		redis zadd "{redlock:$name}:~queue" 1 nobody >/dev/null
	done
	# The second slot alone.
	hold '~y' --slots 2
	redlock -k '~y' --slots 2 --min-hold 1h -- true
	let_go
	printf '%s\n' "${names[@]}" '~y' | sort >locks
	status --json
	grep -o '"name":"[^"]*' <<<"$output" | cut -d '"' -f 4 | sort |
		diff locks -
	run --separate-stderr redlock --history --json
	grep -o '"name":"[^"]*' <<<"$output" | cut -d '"' -f 4 | sort -u |
		diff locks -
}

@test "--status takes --prefix literally" {
	may_use ''
	redis set 'a*b:x' somebody px 60000
	redis set 'aXb:y' somebody px 60000
	redis set '[a-z]?:v' somebody px 60000
	redis set 'c?:w' somebody px 60000
	redis set 'd\e:z' somebody px 60000
	status --prefix 'a*b:'
	[ "$(wc -l <<<"$output")" -eq 2 ]
	[[ $(line x) == 'x held '* ]]
	status --prefix '[a-z]?:'
	[ "$(wc -l <<<"$output")" -eq 2 ]
	[[ $(line v) == 'v held '* ]]
	status --prefix 'd\e:'
	[ "$(wc -l <<<"$output")" -eq 2 ]
	[[ $(line z) == 'z held '* ]]
}

@test "--status with an empty prefix needs a NAME" {
	may_use ''
	redis set a somebody px 60000
	status --prefix ''
	[ "$status" -eq 64 ]
	[ -z "$output" ]
	says NAME
	status --prefix '' -k a
	[ "$status" -eq 0 ]
	[[ $(line a) == 'a held '* ]]
}

@test "--status shows thousands of locks, each once" {
	redis eval 'for i = 1, 3000 do
		redis.call("SET", "redlock:n" .. i, "x", "PX", 600000) end' 0
	status
	[ "$status" -eq 0 ]
	[ "$(tail -n +2 <<<"$output" | cut -d ' ' -f 1 | sort -u | wc -l)" \
	    -eq 3000 ]
	[ "$(wc -l <<<"$output")" -eq 3001 ]
}

@test "--status uses SCAN, never KEYS" {
	redis set redlock:a somebody px 60000
	redis config resetstat
	status
	redis info commandstats >stats
	grep -q '^cmdstat_scan:' stats
	not grep -q '^cmdstat_keys:' stats
}

# broken HOW: a server that answers SCAN as HOW has it, and each other question
# with a lock that many hold.  Its URL is $broken, its pid $broken_pid.
broken() {
	rm -f broken.port
	PYTHONPATH=$top/tests/helpers /usr/bin/python3 -Bc '
import random, sys, time, rude_server
how = sys.argv[1]
def bulk(word):
    return b"$%d\r\n%s\r\n" % (len(word), word)
def array(items):
    return b"*%d\r\n%s" % (len(items), b"".join(items))
holder = bulk(b"x" * 1000) + b":1000\r\n"
many = array([b":0\r\n", b":0\r\n", b":0\r\n", b":1\r\n", b":1\r\n", b"$-1\r\n",
    b":-2\r\n", b":0\r\n", b":1\r\n", b":-2\r\n", b":0\r\n", b":0\r\n", b":0\r\n",
    b"*0\r\n", b"*1600\r\n" + 800 * holder])
def scan():
    cursor = b"%d" % random.randrange(1, 10 ** 12)
    names = []
    if how == "stuck":
        cursor = b"7"
    elif how == "garbled":
        cursor = b"17\x1b[31m"
    elif how == "empty":
        cursor = b""
    elif how == "endless":
        time.sleep(0.001)  # its time is over before the memory
    elif how == "names":
        names = [b"redlock:%d" % random.randrange(10 ** 12) for i in range(1000)]
    elif how == "large":
        cursor = b"0"
        names = [b"redlock:%d" % i for i in range(1000)]
    return array([bulk(cursor), array([bulk(name) for name in names])])
def serve(c):
    while data := c.recv(65536):
        for i in range(data.count(b"\r\nSCAN\r\n")):
            c.sendall(scan())
        for i in range(data.count(b"\r\nEVAL\r\n") + data.count(b"\r\nEVALSHA\r\n")):
            c.sendall(many)
rude_server.run(serve, "broken")
' "$1" 3>&- 4>&- &
	broken_pid=$!
	eventually test -s broken.port
	broken=redis://127.0.0.1:$(<broken.port)
}

# most_memory FILE COMMAND...: run it, and write into FILE how many kB it had.
most_memory() {
	/usr/bin/python3 -c '
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], "w") as f:
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=f)
sys.exit(status)' "$@"
}

@test "--status stops an endless SCAN in time with bounded memory: 69" {
	local how mode patience
	local -A said=([stuck]='malformed reply' [garbled]='malformed reply'
	    [empty]='malformed reply' [names]='lists more than 100000 locks'
	    [large]='more to tell than fits in memory'
	    [endless]='not all listed within 10s')

	for how in "${!said[@]}"; do
		broken "$how"
		# Only one that never ends takes all the time that it gets.
		patience=3s
		[[ $how != endless ]] || patience=500ms
		for mode in '--status' '--history' '--status --json'; do
			# shellcheck disable=SC2086
			run -69 --separate-stderr most_memory memory \
			    timeout 40 "$REDLOCK_RUN" $mode -r "$broken" \
			    --node-timeout "$patience"
			says "$broken: " "${said[$how]}"
			clean
			# A sanitizer keeps freed memory.
			(($(<memory) < 300000)) ||
				grep -q __asan_init "$REDLOCK_RUN"
			# What it answers to EVAL is no history.
			[[ $how != @(endless|large) ]] || break
		done
		kill "$broken_pid"
	done
}

@test "--status, --history and --metrics of 100000 locks take less than 64 MB" {
	local mode
	needs_no_sanitizer	# it keeps freed memory
	redis eval 'for i = 1, 100000 do
		local its = string.format("redlock-run/2 token=00000000-0000-4000-8000-%012d " ..
			"try=1 since=1 pid=1 host=h user=u command=c ttl=60000", i)
		redis.call("SET", "redlock:n" .. i, its, "PX", 600000)
		redis.call("XADD", "{redlock:n" .. i .. "}:~runs", "*", "start", its .. " waited=0")
	end' 0
	for mode in --status '--status -v' '--status -q' --metrics --history; do
		# shellcheck disable=SC2086	# two words
		run -0 --separate-stderr most_memory memory "$REDLOCK_RUN" $mode \
		    --node-timeout 10s -t 60s
		[ -z "$stderr" ]
		case $mode in
		*-q) [ -z "$output" ] ;;
		--history) [ "$(wc -l <<<"$output")" -eq 51 ] ;;
		*) ((${#output} > 5000000)) ;;
		esac
		cat memory
		(($(<memory) < 65536))
	done
}

@test "--status --json of 100000 locks has all of them" {
	needs_no_sanitizer	# it keeps freed memory
	redis eval 'for i = 1, 100000 do
		redis.call("SET", "redlock:n" .. i, "redlock-run/2 " ..
			string.format("token=00000000-0000-4000-8000-%012d ", i) ..
			"try=1 since=1 pid=1 host=h user=u command=c ttl=60000", "PX", 600000)
	end' 0
	run -0 --separate-stderr most_memory memory sh -c '"$0" --status --json \
		--node-timeout 10s -t 60s >json' "$REDLOCK_RUN"
	[ -z "$stderr" ]
	[ "$(grep -c '"name":"n' json)" -eq 100000 ]
	/usr/bin/python3 -c 'import json, sys
sys.exit(len(json.load(open("json"))["locks"]) != 100000)'
	# The text, in a buffer that doubles.
	(($(<memory) < 163840))
}

@test "--status --json prints no document if memory is too short for it" {
	local kb refused=0
	needs_no_sanitizer	# it reserves memory
	redis eval 'for i = 1, 20000 do
		redis.call("SET", "redlock:n" .. i, "redlock-run/2 " ..
			string.format("token=00000000-0000-4000-8000-%012d ", i) ..
			"try=1 since=1 pid=1 host=h user=u command=c ttl=60000", "PX", 600000)
	end' 0
	for kb in {10000..60000..5000}; do
		status=0
		(ulimit -v "$kb" && redlock --status --json --node-timeout 10s \
		    -t 60s >json 2>why) || status=$?
		if ((status == 0)); then
			[[ $(tail -c 3 json) == ']}' ]]
			[ "$(grep -c '"name":"n' json)" -eq 20000 ]
		else
			((status == 71)) && [[ ! -s json ]]
			((++refused))
		fi
	done
	((status == 0 && refused > 0))
}

@test "--status does not query the other servers for names that one invents" {
	redis_start second
	redis_reset second
	redis set redlock:a somebody
	redis_at second set redlock:a somebody
	broken names
	status -r "$broken" -r "$REDLOCK_REDIS" \
	    -r "unix://$BATS_FILE_TMPDIR/second.sock"
	[ "$status" -eq 0 ]
	says "$broken: it lists more than 100000 locks"
	[ "$(wc -l <<<"$output")" -eq 2 ]
	[[ $(line a) == "a held "* ]]
	kill "$broken_pid"
	redis_kill second
}

# read_bytes ARG...: how much redlock-run ARG... sends.
read_bytes() {
	local before
	before=$(redis info stats | sed -n 's/^total_net_input_bytes:\([0-9]*\).*/\1/p')
	redlock "$@" >/dev/null
	redis info stats | tr -d '\r' |
		awk -F: -v "before=$before" '/^total_net_input_bytes:/ { print $2 - before }'
}

@test "--status, --history and --metrics send the text of a script once, not once for each lock" {
	seq -f 'SET redlock:n%.0f x' 1 1000 | redis-cli -s "$BATS_FILE_TMPDIR/redis.sock" >/dev/null
	# A request by digest has less than 200 bytes.
	(($(read_bytes --status) < 250000))
	(($(read_bytes --history) < 250000))
	(($(read_bytes --metrics) < 500000))
}

# refused_digests N: the server has refused so many digests.
refused_digests() {
	local n
	n=$(redis info errorstats | sed -n 's/^errorstat_NOSCRIPT:count=\([0-9]*\).*/\1/p')
	echo "$n refused"
	((n >= $1))
}

# all_in_order: --status shows each of the locks n1000 to n1999 once.
all_in_order() {
	run -0 --separate-stderr redlock --status
	[ -z "$stderr" ]
	[ "$(awk 'NR > 1 { print $1, $5 }' <<<"$output")" = "$(seq 1000 1999 | sed 's/.*/n& (v&)/')" ]
}

@test "--status shows all locks of a server that forgets its scripts meanwhile" {
	local pid tries=0
	seq 1000 1999 | sed 's/.*/SET redlock:n& v&/' |
		redis-cli -s "$BATS_FILE_TMPDIR/redis.sock" >/dev/null
	redis config resetstat
	redis-cli --user admin --pass x --no-auth-warning -r -1 \
	    -s "$BATS_FILE_TMPDIR/redis.sock" script flush >/dev/null 3>&- &
	pid=$!
	while ((tries++ < 100)); do
		all_in_order || break
		refused_digests 100 && break
	done
	kill "$pid"
	wait "$pid" || true
	refused_digests 100
	all_in_order
}

@test "--status changes nothing" {
	local before

	redlock -k a --min-hold 1h -- true
	redis set redlock:b somebody
	redis rpush redlock:c x
	before=$(redis eval 'local all = redis.call("KEYS", "*")
		table.sort(all)
		for i, k in ipairs(all) do
			all[i] = k .. redis.sha1hex(redis.call("DUMP", k))
		end
		return all' 0)
	status
	status -k a
	status -k b --json
	status -k c -v
	status -k free
	[ "$before" = "$(redis eval 'local all = redis.call("KEYS", "*")
		table.sort(all)
		for i, k in ipairs(all) do
			all[i] = k .. redis.sha1hex(redis.call("DUMP", k))
		end
		return all' 0)" ]
}

@test "--status needs no write permission" {
	redlock -k a --min-hold 1h -- true
	redis config set maxmemory 1
	status -k a
	[ "$status" -eq 0 ]
	[[ $(line a) == 'a cooldown '* ]]
}

@test "--status and --history of many locks do not need the permission for EVALSHA" {
	local name

	for name in a b c; do
		redlock -k "$name" --min-hold 1h -- true
	done
	redis acl setuser default -evalsha
	status
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -eq 4 ]
	run -0 --separate-stderr redlock --history
	[ "$(wc -l <<<"$output")" -eq 4 ]
}

@test "--status -v adds tokens and a line for the server" {
	hold a
	status -v
	[ "$status" -eq 0 ]
	[[ $output$stderr == *"$(redis get redlock:a | grep -o 'token=[^ ]*' |
	    cut -d = -f 2)"* ]]
	[[ $output$stderr == *redis.sock* ]]
	let_go
}

## Locks of others

@test "--status shows a foreign lock as held, with its value" {
	redis set redlock:a 0b6f-1234 px 60000
	status -k a
	[ "$status" -eq 0 ]
	[[ $(line a) == 'a held '*0b6f-1234* ]]
}

@test "--status names another client as the holder, with its value" {
	redis set redlock:a ''
	redis set redlock:b abc
	run -0 redlock --status
	grep -qE '^a +held +another client \(\) +- +- +- +0$' <<<"$output"
	grep -qE '^b +held +another client \(abc\) +- +- +- +0$' <<<"$output"
}

@test "--status -v prints each token beside its holder" {
	redlock_bg -k a -s -- sleep 1000
	eventually held a
	run -0 redlock --status -v -k a
	grep -qE "^  token [0-9a-f-]{36}  $(id -un)@$(hostname) pid $bg_pid, version [^ ]+\$" <<<"$output"
	kill "$bg_pid"
	wait "$bg_pid" || true
}

@test "--status shows a key of another type, or without expiry, as held" {
	redis hset redlock:a 0b6f:1 1
	redis set redlock:b somebody
	status
	[ "$status" -eq 0 ]
	[[ $(line a) == 'a held '* ]]
	[[ $(line b) == 'b held '* ]]
	status -k a
	[ "$status" -eq 0 ]
}

@test "--status escapes control characters" {
	local bad=$'\e]0;title\a\e[31m\r\n\t\x7f\x9b1m\b'

	redis set redlock:a "$bad"
	redis set "redlock:b$bad" x
	redis set redlock:c "redlock-run/2 token=t$bad try=1 since=1 pid=1 host=h$bad user=u$bad command=c$bad" px 60000
	redis set redlock:d 'redlock-run/2 token=t%1b%1B try=1 since=1 pid=1 host=%1b%0a user=%07%0d command=%9b%7f%0a' px 60000
	status
	[ "$status" -eq 0 ]
	clean
	[ "$(wc -l <<<"$output")" -eq 5 ]
	status -v
	[ "$status" -eq 0 ]
	clean
	status -k a
	[ "$status" -eq 0 ]
	clean
	[ "$(wc -l <<<"$output")" -eq 2 ]
	status --json
	[ "$status" -eq 0 ]
	clean
	json 'len(d) == 4'
}

@test "--status -v and --history -v escape the names of servers" {
	local bad='%1b]0;owned%07'
	local many=(-r "unix://$BATS_FILE_TMPDIR/redis.sock" --restart-grace 0
	    -r "redis://u$bad:x@127.0.0.1:1" -r "unix:///tmp/none$bad")

	redlock -k a -- true
	run -69 --separate-stderr redlock --status -v "${many[@]}" -k a
	clean
	grep -qF '127.0.0.1:1  ' <<<"$output"
	run -69 --separate-stderr redlock --history -v "${many[@]}" -k a
	clean
	grep -qF 'no answer' <<<"$output"
}

@test "--status shortens a large value" {
	head -c 3000000 /dev/zero | tr '\0' x | redis -x set redlock:a
	status
	[ "$status" -eq 0 ]
	((${#output} < 10000))
}

## JSON

# bats test_tags=quick
@test "--status --json prints one object with the servers and each lock" {
	local before

	before=$(date +%s)
	hold a -t 1h
	status --json
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	json 'len(d) == 1'
	json 'd[0]["name"] == "a"'
	json 'd[0]["state"] == "held"'
	json 'd[0]["mode"] == "exclusive"'
	json '3000000 < d[0]["ttl_ms"] <= 3600000'
	json 'd[0]["waiting"] == 0'
	json "d[0]['fence'] == $(redis get '{redlock:a}:~fence')"
	json 'd[0]["waiters"] == []'
	json 'len(d[0]["holders"]) == 1'
	json "d[0]['holders'][0]['host'] == '$(uname -n)'"
	json "d[0]['holders'][0]['user'] == '$(id -un)'"
	json "d[0]['holders'][0]['pid'] == $bg_pid"
	json 'd[0]["holders"][0]["command"] == "sh"'
	json "d[0]['holders'][0]['token'] in '''$(redis get redlock:a)'''"
	json 'len(d[0]["holders"][0]["token"]) == 36'
	json '0 <= d[0]["holders"][0]["held_ms"] < 600000'
	json '3000000 < d[0]["holders"][0]["ttl_ms"] <= 3600000'
	json '__import__("re").fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", d[0]["holders"][0]["since"])'
	json "abs(__import__('calendar').timegm(__import__('time').strptime(d[0]['holders'][0]['since'][:19], '%Y-%m-%dT%H:%M:%S')) - $before) < 300"
	json 'len(d[0]["votes"]) == 1'
	json 'd[0]["votes"][0]["server"].startswith("unix://")'
	json 'd[0]["votes"][0]["state"] == "held"'
	json '3000000 < d[0]["votes"][0]["ttl_ms"] <= 3600000'
	let_go
}

@test "--status --json of a free lock has null for what does not apply" {
	redlock -k a -- true
	status --json -k a
	[ "$status" -eq 1 ]
	json 'len(d) == 1'
	json 'd[0]["name"] == "a" and d[0]["state"] == "free"'
	json 'all(d[0][k] is None for k in ("mode", "ttl_ms", "fence"))'
	json 'd[0]["holders"] == [] and d[0]["waiters"] == []'
	json 'd[0]["waiting"] == 0'
	json 'd[0]["votes"][0]["state"] == "free"'
}

@test "--status --json shows the cooldown" {
	redlock -k a --min-hold 1h -- true
	status --json
	[ "$status" -eq 0 ]
	json 'd[0]["state"] == "cooldown"'
	json '3000000 < d[0]["ttl_ms"] <= 3600000'
	json 'd[0]["holders"][0]["command"] == "true"'
	json 'd[0]["fence"] > 1e15'
}

@test "--status --json of a foreign lock has its raw value as token, and nulls" {
	redis set redlock:a '0b6f "quoted" \ back' px 60000
	redis set redlock:b somebody
	status --json
	[ "$status" -eq 0 ]
	output=$(/usr/bin/python3 -c '
import json, sys
j = json.load(sys.stdin)
j["locks"].sort(key=lambda l: l["name"])
print(json.dumps(j))
' <<<"$output")
	json 'd[0]["state"] == "held"'
	json 'd[0]["holders"][0]["token"] == "0b6f \"quoted\" \\ back"'
	json 'all(d[0]["holders"][0][k] is None
	    for k in ("host", "pid", "user", "command", "since", "held_ms"))'
	json '0 < d[0]["ttl_ms"] <= 60000'
	json 'd[1]["ttl_ms"] is None'
	json 'd[1]["holders"][0]["ttl_ms"] is None'
	json 'd[1]["votes"][0]["ttl_ms"] is None'
}

@test "--status --json is valid whatever the names and the values" {
	local i

	redis set 'redlock:"\' $'"\\\x01\x1f\x7f\xff\xfe'
	redis set $'redlock:\xff\xc3\x28' $'\xf0\x9f\x98\x80 \xed\xa0\x80 \xc0\x80'
	redis set $'redlock:\n\t\r\b\f' ''
	redis set 'redlock:€😀' '€😀'
	redis set 'redlock:</script>' '</script>'
	for i in 1 2 3 4 5; do
		head -c 300 /dev/urandom | redis -x set "redlock:random$i"
	done
	status --json
	[ "$status" -eq 0 ]
	json 'len(d) == 10'
	json '"€😀" in [l["name"] for l in d]'
	json '"€😀" in [l["holders"][0]["token"] for l in d]'
	json '"\"\\" in [l["name"] for l in d]'
}

@test "--status --json without locks is an empty array" {
	status --json
	[ "$status" -eq 0 ]
	json 'd == []'
}

@test "--status shows a COMMAND with an odd name under that name" {
	local name='odd nameé%20"x"'

	ln -s "$(command -v sleep)" "$name"
	redlock_bg -k a -- "./$name" 30
	eventually held a
	status --json
	json "d[0]['holders'][0]['command'] == '''$name'''"
	kill "$bg_pid"
	redlock_ended 143
}

@test "--status: held_ms comes from the server's clock and is never negative" {
	local ahead=$(($(now_us) / 1000 + 3600000))

	redis set redlock:a "redlock-run/2 token=11111111-1111-1111-1111-111111111111 try=1 since=$ahead pid=1 host=h user=u command=c" px 60000
	status --json
	[ "$status" -eq 0 ]
	json 'd[0]["holders"][0]["held_ms"] in (0, None)'
	status
	[[ $(line a) != *-[0-9]* ]]
}

@test "values that imitate redlock-run's do not confuse --status" {
	local count=0 value

	for value in 'redlock-run/2' 'redlock-run/2 ' 'redlock-run/2 token=' \
	    'redlock-run/2 token= try= since= pid= host= user= command=' \
	    'redlock-run/2 token=x try=9999999999999999999 since=99999999999999999999999999 pid=-1 host= user= command=' \
	    'redlock-run/2 token=x try=1 since=nan pid=1e9 host=% user=%4 command=%zz' \
	    'cooldown redlock-run/2' 'cooldown ' 'cooldown cooldown redlock-run/2 token=x' \
	    'redlock-run/1 token=x' 'redlock-run/2 command=x pid=1'; do
		redis set "redlock:n$((count++))" "$value" px 60000
	done
	status
	[ "$status" -eq 0 ]
	[ "$(wc -l <<<"$output")" -eq $((count + 1)) ]
	status --json
	[ "$status" -eq 0 ]
	json "len(d) == $count"
}

@test "--status on a narrow terminal cuts a long message, not the columns behind it" {
	local least
	hold a -m "$(printf 'x%.0s' {1..99})"
	least=$(redlock --status -k a | sed -n 1p | wc -m)
	TERM=xterm NO_COLOR=1 script -qec "stty cols $((least - 60))
	    '$REDLOCK_RUN' --status -k a" /dev/null </dev/null >out 3>&- 4>&-
	grep -qE ': x+>  [0-9]+m?s +[0-9]+s +0.$' out
	let_go
}

@test "--status on a terminal of 20 columns shows the lock and its holder" {
	local who
	hold nightly
	who="$(id -un)@$(uname -n) pid $bg_pid"
	TERM=xterm NO_COLOR=1 script -qec "stty cols 20
	    '$REDLOCK_RUN' --status" /dev/null </dev/null >out 3>&- 4>&-
	tr -d '\r' <out >lines
	[ "$(sed -n 1p lines | tr -s ' ')" = 'LOCK HOLDER' ]
	[ "$(sed -n 2p lines)" = "nightly  ${who:0:10}>" ]
	TERM=xterm NO_COLOR=1 script -qec "stty cols $((9 + ${#who}))
	    '$REDLOCK_RUN' --status" /dev/null </dev/null >out 3>&- 4>&-
	[ "$(sed -n 2p out | tr -d '\r')" = "nightly  $who" ]
	let_go
}

## Exit status

@test "--status -k exits with 0 if the lock is held or in cooldown, 1 if it is free" {
	hold a
	status -k a
	[ "$status" -eq 0 ]
	let_go
	status -k a
	[ "$status" -eq 1 ]
	redlock -k a --min-hold 1h -- true
	status -k a --json
	[ "$status" -eq 0 ]
}

@test "--status exits with 69 if the server is down" {
	redis_kill
	status
	[ "$status" -eq 69 ]
	[ "$output" = unknown ]
	says redis.sock
	status -k a
	[ "$status" -eq 69 ]
	[ "$output" = unknown ]
	says redis.sock
}

@test "--status of a server that runs no scripts is unknown: 69" {
	redis_start mute --rename-command EVAL ''
	redis_use "unix://$BATS_FILE_TMPDIR/mute.sock"
	for name in '' a; do
		# shellcheck disable=SC2086
		status $name
		[ "$status" -eq 69 ]
		[ "$output" = unknown ]
		says 'EVAL is renamed or disabled'
		redis_at mute set redlock:a somebody
	done
	redis_kill mute
}

@test "--status exits with 69 if the server does not answer in time" {
	redis_freeze
	status --node-timeout 100ms
	[ "$status" -eq 69 ]
	status -k a --node-timeout 100ms
	[ "$status" -eq 69 ]
}

@test "--status, --history and --check exit with 69 if replies are malformed" {
	redis_start odd --rename-command EVAL '' --rename-command MGET EVAL \
	    --rename-command EVALSHA '' --rename-command EXISTS EVALSHA \
	    --rename-command TIME '' --rename-command DBSIZE TIME
	redis_at odd acl setuser default +@all allkeys
	redis_use "unix://$BATS_FILE_TMPDIR/odd.sock"
	run -69 --separate-stderr redlock --status -k a
	says 'odd.sock: malformed reply'
	run -69 --separate-stderr redlock --history -k a
	says 'odd.sock: malformed reply'
	run -69 --separate-stderr redlock --check
	[[ $output == *'malformed reply'* ]]
	redis_kill odd
}

@test "--status --json of a lock that no server reports is unknown" {
	redis_kill
	status --json -k a
	[ "$status" -eq 69 ]
	json 'len(d) == 1'
	json 'd[0]["name"] == "a" and d[0]["state"] == "unknown"'
	json 'd[0]["votes"][0]["state"] == "unknown"'
	# A member that is known without a server has its value, and no other has one.
	json '{k for k in d[0] if d[0][k] is not None} == {"name", "state", "votes"}'
	json 'd[0]["votes"][0]["ttl_ms"] is None'
	json '[s["state"] for s in j["servers"]] == ["unreachable"]'
	json 'j["servers"][0]["error"]'
	# Which locks there are, nobody knows.
	status --json
	[ "$status" -eq 69 ]
	json 'd is None and len(j["servers"]) == 1'
	run --separate-stderr redlock --history --json -k a
	[ "$status" -eq 69 ]
	json 'd is None and j["servers"][0]["state"] == "unreachable"'
	json 'all(j[k] is None for k in j if k not in ("format", "servers"))'
	run --separate-stderr redlock --history --json a --max-age 1h
	[ "$status" -eq 69 ]
	json 'all(j[k] is None for k in j if k not in ("format", "servers", "name", "state", "max_age_ms"))'
	run --separate-stderr redlock --check --json
	[ "$status" -eq 69 ]
	json '{k for k in d[0] if d[0][k] is not None} == {"server", "state", "error", "ok", "findings"}'
}

@test "--status --json has the state of each server" {
	hold a
	status --json
	json 'j["servers"] == [{"server": d[0]["votes"][0]["server"], "state": "ok", "error": None}]'
	let_go
	redis acl setuser default resetpass '>s3cret'
	status --json
	[ "$status" -eq 77 ]
	json 'j["servers"][0]["state"] == "refused" and d is None'
}

@test "--status exits with 77 if the server refuses access" {
	redis acl setuser default resetpass '>s3cret'
	status
	[ "$status" -eq 77 ]
	says redis.sock '; set it by REDISCLI_AUTH, '
	status -k a
	[ "$status" -eq 77 ]
	export REDISCLI_AUTH=wrong
	status
	[ "$status" -eq 77 ]
	says redis.sock '; correct the user or password in the URL, '
}

@test "--status shows no password" {
	redis acl setuser default resetpass '>s3cret'
	REDISCLI_AUTH=s3cret redlock -k a --min-hold 1h -- true
	REDISCLI_AUTH=s3cret run -0 --separate-stderr redlock --status -v
	[[ $output$stderr != *s3cret* ]]
	REDISCLI_AUTH=s3cret run -0 --separate-stderr redlock --status --json
	[[ $output$stderr != *s3cret* ]]
	redis_start_tcp other
	run -77 --separate-stderr redlock --status -v --json \
	    -r "redis://me:s3cret@127.0.0.1:$redis_port"
	[[ $output$stderr != *s3cret* ]]
	redis_at other acl setuser default resetpass '>s3cret'
	run -0 --separate-stderr redlock --status -v --json \
	    -r "redis://:s3cret@127.0.0.1:$redis_port"
	[[ $output$stderr != *s3cret* ]]
	redis_stop other
}
