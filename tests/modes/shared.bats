#!/usr/bin/env bats
# Shared locks: readers share them, no writer is beside them, and nobody
# starves.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034
# bats file_tags=long

load ../lib/one_redis
load ../lib/servers
load ../lib/modes

setup() { modes_setup; }

# reader_lease NAME: the end of this reader's, in us since 1970.
reader_lease() {
	local entry
	entry=$(redis hget "$readers" "$(cat "token-$1")")
	[[ $entry == *' '* ]] || return 1
	echo "${entry%% *}"
}

# reader_renewed NAME US: its lease ends later than that.
reader_renewed() {
	(($(reader_lease "$1") > $2))
}

## Readers and writers

# bats test_tags=quick
@test "any number of readers share a lock" {
	local name

	for name in 1 2 3 4; do
		reader "$name" -w 0
	done
	clients_started 1 2 3 4
	readers_share 4
	clients_leave 1 2 3 4
	readers_gone
	all_over
}

@test "concurrent --shared runs all succeed without waiting" {
	local name

	for name in {1..12}; do
		reader "$name" -w 0 -t 5m
	done
	clients_started {1..12}
	clients_leave {1..12}
	readers_gone
	all_over
}

# bats test_tags=quick
@test "a writer is refused with 75 while readers hold the lock, and the message names them" {
	reader 1
	clients_started 1
	lock_busy
	says 'held shared by' "pid ${pid[1]} (sh) for " 'lease '
	reader 2
	reader 3
	clients_started 2 3
	lock_busy
	says 'held shared by' ' and 2 others'
	run -75 --separate-stderr redlock -k a -w 3s -- touch jumped
	says 'waiting for' 'held shared by'
	[ ! -e jumped ]
	run -7 redlock -q -E 7 -n -k a -- touch jumped
	clients_leave 1 2 3
	all_over
}

# bats test_tags=quick
@test "a reader is refused with 75 while a writer holds the lock" {
	writer 1
	clients_started 1
	lock_busy -s
	says "held by" "pid ${pid[1]} (sh)"
	[[ $stderr != *shared* ]]
	lock_busy --shared -w 300ms
	clients_leave 1
	reader 2
	clients_started 2
	clients_leave 2
	all_over
}

@test "--shared with --slots is a usage error, whatever the number" {
	local args

	for args in '-s --slots 2' '--slots 2 -s' '--slots=64 --shared' \
	    '-s --slots 1'; do
		# shellcheck disable=SC2086
		run -64 --separate-stderr redlock -k a $args -- touch jumped
		says --shared --slots
	done
	[ ! -e jumped ]
	[ -z "$(redis keys '*')" ]
}

@test "a foreign SET NX fails while readers hold the lock" {
	reader 1
	reader 2
	clients_started 1 2
	[ -z "$(redis set redlock:a another nx px 60000)" ]
	clients_leave 1
	[ -z "$(redis set redlock:a another nx px 60000)" ]
	clients_leave 2
	[ "$(redis set redlock:a another nx px 60000)" = OK ]
	lock_busy -s
	says another
	[ "$(redis get redlock:a)" = another ]
	reader 3
	eventually queue_is 1
	redis del redlock:a
	clients_started 3
	clients_leave 3
	all_over
}

@test "a foreign value in redlock-run's format is not shared" {
	redis set redlock:a '~shared and more' px 60000
	lock_busy -s
	[ "$(redis get redlock:a)" = '~shared and more' ]
	redis del redlock:a
	redis hset redlock:a x 1
	lock_busy -s
	[ "$(redis hget redlock:a x)" = 1 ]
}

@test "the lock lasts as long as the last reader" {
	local ms

	reader 1 -t 10m
	reader 2 -t 50s
	clients_started 1 2
	(($(redis pttl redlock:a) > 60000))
	(($(redis pttl "$readers") > 60000))
	clients_leave 1
	ms=$(redis pttl redlock:a)
	((ms > 0 && ms <= 50000))
	readers_share 1
	clients_leave 2
	readers_gone
	all_over
}

@test "every reader renews its own lease" {
	local first second

	reader 1 -t 4s
	reader 2 -t 5s
	clients_started 1 2
	first=$(reader_lease 1)
	second=$(reader_lease 2)
	eventually reader_renewed 1 $((first + 2000000))
	eventually reader_renewed 2 $((second + 3000000))
	readers_share 2
	(($(redis pttl redlock:a) > 0))
	clients_leave 1 2
	readers_gone
	all_over
}

@test "a dead reader's lease ends by itself, and the others' stay" {
	local ends

	reader 1 -t 4s
	reader 2 -t 5m
	clients_started 1 2
	client_crashes 1
	client_queues writer 3
	eventually status_holders 1
	clients_run 2
	queue_is 1
	clients_leave 2
	clients_started 3
	clients_leave 3
	all_over
}

@test "a writer waits for the lease of a dead reader, and no longer" {
	local ends began

	reader 1 -t 4s
	reader 2 -t 5m
	clients_started 1 2
	client_crashes 1
	ends=$(reader_lease 1)
	client_queues writer 3
	clients_leave 2
	clients_started 3
	began=$(($(cat began-3) / 1000))
	((began > ends))
	# in time: the other's lease would have been minutes
	((began < ends + 20000000))
	clients_leave 3
	all_over
}

@test "every reader has its own token and fence, and the next writer a greater fence" {
	local name

	reader 1
	clients_started 1
	reader 2
	clients_started 2
	reader 3
	clients_started 3
	[ "$(cat token-1 token-2 token-3 | sort -u | wc -l)" = 3 ]
	(($(client_fence 1) < $(client_fence 2) && $(client_fence 2) < $(client_fence 3)))
	clients_leave 1 2 3
	writer 4
	clients_started 4
	(($(client_fence 4) > $(client_fence 3)))
	clients_leave 4
	reader 5
	clients_started 5
	(($(client_fence 5) > $(client_fence 4)))
	clients_leave 5
	all_over
}

## Turns

@test "no run overtakes a waiting writer, not even a reader under readers" {
	reader 1
	clients_started 1
	client_queues writer 2
	lock_busy -s
	lock_busy
	client_queues reader 3
	client_queues reader 4
	lock_busy -s
	clients_leave 1
	clients_started 2
	lock_busy -s
	clients_leave 2
	clients_started 3 4
	clients_leave 3 4
	[ "$(xargs <order)" = '1 2 3 4' ] || [ "$(xargs <order)" = '1 2 4 3' ]
	all_over
}

@test "a reader behind a waiting writer is refused with 75, and the message names the writer" {
	reader 1 -w 0
	clients_started 1
	redlock_bg -k a -w 1m -- true
	eventually queue_is 1
	run -75 --separate-stderr redlock -k a -s -- touch started
	says "a: a writer is waiting ($(id -un)@$(hostname) pid $bg_pid) and readers queue behind it; -w waits too"
	clients_leave 1
	redlock_ended 0
	[[ ! -e started ]]
}

@test "a waiting writer starts when the last reader before it ends" {
	reader 1
	reader 2
	reader 3
	clients_started 1 2 3
	client_queues writer 4
	clients_leave 2
	clients_leave 1
	readers_share 1
	queue_is 1
	clients_leave 3
	clients_started 4
	clients_leave 4
	all_over
}

@test "all readers behind a writer start together when it ends" {
	local name

	writer 1
	clients_started 1
	for name in 2 3 4 5; do
		client_queues reader "$name"
	done
	client_queues writer 6
	client_queues reader 7
	client_queues reader 8
	clients_leave 1
	clients_started 2 3 4 5
	readers_share 4
	eventually queue_is 3
	clients_leave 2 3 4 5
	clients_started 6
	eventually queue_is 2
	clients_leave 6
	clients_started 7 8
	clients_leave 7 8
	[ "$(sed -n '1p;6p' order | xargs)" = '1 6' ]
	all_over
}

@test "the first readers in the queue are handed the lock together" {
	local n

	# unless this machine is so slow that the grant is over before we look
	for _ in {1..8}; do
		writer 1
		clients_started 1
		client_queues reader 2
		client_queues reader 3
		kill -STOP "${pid[2]}" "${pid[3]}"
		clients_leave 1
		n=$(redis hlen "$readers")
		kill -CONT "${pid[2]}" "${pid[3]}"
		clients_started 2 3
		clients_leave 2 3
		rm leave-*
		((n == 0)) || break
	done
	((n == 2))
	all_over
}

@test "no other writer gets in between a writer and the readers after it" {
	writer 1
	clients_started 1
	client_queues reader 2
	client_queues reader 3
	client_queues writer 4
	client_queues writer 5
	clients_leave 1
	clients_started 2 3
	clients_leave 2 3
	clients_started 4
	clients_leave 4
	clients_started 5
	clients_leave 5
	[ "$(tail -n 2 order | xargs)" = '4 5' ]
	all_over
}

@test "when a waiting writer gives up the readers behind it join those that run" {
	reader 1
	clients_started 1
	client_queues writer 2
	client_queues reader 3
	client_queues reader 4
	kill -TERM "${pid[2]}"
	client_ends 2 143
	clients_started 1 3 4
	readers_share 3
	client_queues writer 5 -w 3s
	client_queues reader 6
	client_ends 5 75
	clients_started 1 3 4 6
	clients_leave 1 3 4 6
	all_over
}

@test "when a waiting writer dies the runs behind it are served" {
	reader 1
	clients_started 1
	client_queues writer 2
	client_queues reader 3
	client_crashes 2
	# its beat, and the time until it is looked at
	clients_started 1 3
	clients_leave 1 3
	all_over
}

@test "a reader that does not confirm its grant delays no other" {
	writer 1
	clients_started 1
	client_queues reader 2
	client_queues reader 3
	client_queues writer 4
	kill -STOP "${pid[2]}"
	clients_leave 1
	clients_started 3
	clients_leave 3
	clients_started 4
	kill -CONT "${pid[2]}"
	clients_leave 4
	clients_started 2
	clients_leave 2
	all_over
}

@test "a signal ends a reader's wait and leaves nothing behind" {
	writer 1
	clients_started 1
	client_queues reader 2
	client_queues reader 3
	kill -HUP "${pid[2]}"
	client_ends 2 129
	eventually queue_is 1
	clients_leave 1
	clients_started 3
	clients_leave 3
	[ ! -e in-2 ]
	all_over
}

@test "an unbroken chain of readers does not starve a writer" {
	local n

	reader 0
	clients_started 0
	# each waits until the next is there, or as far as it gets
	for n in {1..8}; do
		reader "$n"
		clients_started "$n"
		clients_leave $((n - 1))
	done
	client_queues writer w
	for n in {9..12}; do
		client_queues reader "$n"
	done
	clients_leave 8
	clients_started w
	clients_leave w
	clients_started {9..12}
	clients_leave {9..12}
	[ "$(sed -n 10p order)" = w ]
	all_over
}

## Loss

@test "every reader ends with 79 when the key is deleted, flushed or overwritten" {
	local how

	for how in 'del redlock:a' flushall \
	    'set redlock:a another' 'set redlock:a another px 3600000'; do
		reader 1 -t 3s
		reader 2 -t 4s
		clients_started 1 2
		# shellcheck disable=SC2086
		redis $how
		client_ends 1 79
		client_ends 2 79
		rm -f in-1 in-2
		if [[ $how == set* ]]; then
			grep -q 'held by .*another' 1.err
			grep -q 'held by .*another' 2.err
			[ "$(redis get redlock:a)" = another ]
			(($(redis pttl redlock:a) != 0))
			redis del redlock:a
		else
			grep -q 'key is gone' 1.err
			grep -q 'key is gone' 2.err
			[ "$(redis exists redlock:a)" = 0 ]
		fi
		eventually keys_left
	done
	redis flushall
}

@test "a new reader does not revive those from before the key was deleted" {
	reader 1 -t 30s
	clients_started 1
	redis del redlock:a
	reader 2
	clients_started 2
	readers_share 1
	status_holders 1
	clients_leave 2
	readers_gone
	client_ends 1 79
	eventually keys_left
}

@test "an expired reader does not count" {
	local far

	far=$(($(now_us) + 3600000000))
	redis hset "$readers" 00000000-0000-4000-8000-000000000000 \
	    "$far redlock-run/2 token=00000000-0000-4000-8000-000000000000 try=1 since=1 pid=1 host=h user=u cmd=c"
	writer 1
	clients_started 1
	clients_leave 1
	reader 2
	clients_started 2
	readers_share 1
	clients_leave 2
	readers_gone
	all_over
}

@test "a reader's renewal does not take the lock back from a writer" {
	local value

	reader 1 -t 6s
	clients_started 1
	# it does not renew before the writer has come
	kill -STOP "${pid[1]}"
	redis del redlock:a
	redlock_bg -k a -t 5m -- sh -c 'until [ -e let-go ]; do sleep 0.05; done'
	eventually taken_by "$bg_pid"
	kill -CONT "${pid[1]}"
	client_ends 1 79
	value=$(redis get redlock:a)
	[[ $value == *"pid=$bg_pid "* ]]
	let_go
	eventually keys_left
}

# taken_by PID
taken_by() {
	[[ $(redis get redlock:a) == *" pid=$1 "* ]]
}

@test "readers renew and release on a server out of memory" {
	local first

	reader 1 -t 4s
	reader 2 -t 4s
	clients_started 1 2
	redis config set maxmemory 1
	first=$(reader_lease 1)
	eventually reader_renewed 1 $((first + 2000000))
	clients_leave 1
	readers_share 1
	clients_leave 2
	readers_gone
	all_over
}

## --min-hold, nested runs, several locks

@test "--min-hold keeps a reader's share: writers wait, readers may join" {
	redlock -s -k a --min-hold 1h -- true
	readers_share 1
	status_is "d['state'] == 'cooldown'"
	lock_busy
	says cooldown
	reader 1
	clients_started 1
	status_is "d['state'] == 'shared'"
	clients_leave 1
	(($(redis pttl redlock:a) > 3000000))
	status_is "d['state'] == 'cooldown' and len(d['holders']) == 1"
	lock_busy
}

@test "a writer starts when the cooldown of a reader's share is over" {
	local ends

	reader 1
	clients_started 1
	redlock -s -k a --min-hold 3s -- true
	ends=$(redis hvals "$readers" | sed -n 's/^\([0-9]*\) cooldown .*/\1/p')
	client_queues writer 2
	clients_leave 1
	clients_started 2
	(($(cat began-2) / 1000 > ends))
	clients_leave 2
	all_over
}

@test "a shared run nested in a shared or exclusive run uses the outer lease" {
	redlock -s -k a -- "$REDLOCK_RUN" -s -k a -- sh -c \
	    '$ADMIN_CLI -s "$1" hlen "$2" >shares' sh \
	    "$BATS_FILE_TMPDIR/redis.sock" "$readers"
	[ "$(cat shares)" = 1 ]
	run -7 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -s -k a -- sh -c 'exit 7'
	silent
	all_over
}

@test "an exclusive run nested in a shared run is refused: 64" {
	run -64 --separate-stderr redlock -s -k a -- \
	    "$REDLOCK_RUN" -k a -- touch jumped
	says a: shared
	run -64 redlock -s -k a -- "$REDLOCK_RUN" -k a -w 1h -- touch jumped
	[ ! -e jumped ]
	all_over
}

@test "--shared applies to all of several locks" {
	client 1 -s -s -k b
	client 2 -s -k b -s
	clients_started 1 2
	readers_share 2
	[ "$(redis get redlock:b)" = '~shared' ]
	run -75 redlock -k b -- touch jumped
	clients_leave 1
	run -75 redlock -k b -- touch jumped
	run -75 redlock -k c -k b -- touch jumped
	[ "$(redis exists redlock:c)" = 0 ]
	clients_leave 2
	[ ! -e jumped ]
	all_over
}

## --status

@test "--status shows a shared lock with a line for every reader" {
	local who first

	reader 1 -t 1h
	clients_started 1
	reader 2 -t 1h
	reader 3 -t 2h
	clients_started 2 3
	client_queues writer 4
	run -0 --separate-stderr redlock --status -k a
	[ -z "$stderr" ]
	[ "$(wc -l <<<"$output")" -eq 4 ]
	who="$(id -un)@$(uname -n) pid"
	first=$(sed -n 2p <<<"$output" | tr -s ' ')
	[[ $first =~ ^a\ shared\ $who\ [0-9]+\ sh\ [^\ ]+\ [^\ ]+\ 1$ ]]
	[ "$(grep -cE "^ +$who [0-9]+ +sh +[^ ]+ +[^ ]+$" <<<"$output")" -eq 2 ]
	for name in 1 2 3; do
		grep -qE "$who ${pid[$name]} " <<<"$output"
	done
	run -0 redlock --status
	[ "$(wc -l <<<"$output")" -eq 4 ]
	clients_leave 1 2 3
	clients_started 4
	clients_leave 4
	run -1 redlock --status -k a
	[[ $output == *$'\n'a\ *free* ]]
}

@test "--status --json: state and mode are shared, and holders lists every reader" {
	reader 1 -t 1h
	reader 2 -t 2h
	clients_started 1 2
	status_is "d['state'] == d['mode'] == 'shared'"
	status_is "sorted(h['pid'] for h in d['holders']) == \
	    sorted([${pid[1]}, ${pid[2]}])"
	status_is "{h['token'] for h in d['holders']} == \
	    {'$(cat token-1)', '$(cat token-2)'}"
	status_is "sorted(h['ttl_ms'] // 3600000 for h in d['holders']) in ([0, 1], [1, 1])"
	status_is "d['ttl_ms'] == max(h['ttl_ms'] for h in d['holders'])"
	status_is "all(h['command'] == 'sh' and h['held_ms'] >= 0 for h in d['holders'])"
	status_is "d['fence'] == max($(client_fence 1), $(client_fence 2)) and d['waiting'] == 0"
	clients_leave 1 2
	status_is "d['state'] == 'free' and d['mode'] is None and not d['holders']"
}

## Crashes

# bats test_tags=soak
@test "readers, writers and a foreign client never overlap, even when some crash" {
	local pid

	foreign_client -x &
	pid=$!
	# In a crowd that waits it may never have a chance.
	eventually test -s ran-another
	clients_crowd -s -s -x
	touch leave
	wait "$pid"
	clients_crowd_over ran-s ran-x ran-another
}
