#!/usr/bin/env bats
# Shared locks: readers share them, no writer is beside them, and nobody starves.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031,SC2034

load ../lib/common
load ../lib/servers
load ../lib/modes

setup_file() { redis_start; }
setup() { modes_setup; }
teardown() { nothing_left; }
teardown_file() { redis_stop_all; }

# lease NAME: the end of this reader's, in us since 1970.
lease() {
	local entry
	entry=$(redis hget "$readers" "$(cat "token-$1")")
	[[ $entry == *' '* ]] || return 1
	echo "${entry%% *}"
}

# renewed NAME US: its lease ends later than that.
renewed() {
	(($(lease "$1") > $2))
}

## Readers and writers

@test "any number of readers share a lock" {
	local name

	for name in 1 2 3 4; do
		reader "$name" -w 0
	done
	started 1 2 3 4
	share 4
	leaves 1 2 3 4
	nobody_shares
	all_over
}

@test "who asks for it at the same moment, without waiting, gets it too" {
	local name

	for name in {1..12}; do
		reader "$name" -w 0 -t 5m
	done
	started {1..12}
	leaves {1..12}
	nobody_shares
	all_over
}

@test "a writer beside readers is refused: 75, and it is told who they are" {
	reader 1
	started 1
	busy
	says 'held shared by' "pid ${pid[1]} (sh) for " 'lease '
	reader 2
	reader 3
	started 2 3
	busy
	says 'held shared by' ' and 2 others'
	run -75 --separate-stderr redlock -k a -w 3s -- touch jumped
	says 'waiting for' 'held shared by'
	[ ! -e jumped ]
	run -7 redlock -q -E 7 -n -k a -- touch jumped
	leaves 1 2 3
	all_over
}

@test "a reader beside a writer is refused: 75" {
	writer 1
	started 1
	busy -s
	says "held by" "pid ${pid[1]} (sh)"
	[[ $stderr != *shared* ]]
	busy --shared -w 300ms
	leaves 1
	reader 2
	started 2
	leaves 2
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

@test "while there are readers, another client's SET NX fails" {
	reader 1
	reader 2
	started 1 2
	[ -z "$(redis set redlock:a another nx px 60000)" ]
	leaves 1
	[ -z "$(redis set redlock:a another nx px 60000)" ]
	leaves 2
	[ "$(redis set redlock:a another nx px 60000)" = OK ]
	busy -s
	says another
	[ "$(redis get redlock:a)" = another ]
	reader 3
	eventually queued 1
	redis del redlock:a
	started 3
	leaves 3
	all_over
}

@test "a value of another client that looks like ours is not shared" {
	redis set redlock:a '~shared and more' px 60000
	busy -s
	[ "$(redis get redlock:a)" = '~shared and more' ]
	redis del redlock:a
	redis hset redlock:a x 1
	busy -s
	[ "$(redis hget redlock:a x)" = 1 ]
}

@test "the lock lasts as long as the last of the readers" {
	local ms

	reader 1 -t 10m
	reader 2 -t 50s
	started 1 2
	(($(redis pttl redlock:a) > 60000))
	(($(redis pttl "$readers") > 60000))
	leaves 1
	ms=$(redis pttl redlock:a)
	((ms > 0 && ms <= 50000))
	share 1
	leaves 2
	nobody_shares
	all_over
}

@test "every reader renews its own share" {
	local first second

	reader 1 -t 4s
	reader 2 -t 5s
	started 1 2
	first=$(lease 1)
	second=$(lease 2)
	eventually renewed 1 $((first + 2000000))
	eventually renewed 2 $((second + 3000000))
	share 2
	(($(redis pttl redlock:a) > 0))
	leaves 1 2
	nobody_shares
	all_over
}

@test "a dead reader's share ends by itself, the others' stay" {
	local ends

	reader 1 -t 4s
	reader 2 -t 5m
	started 1 2
	crashes 1
	queues writer 3
	eventually holders 1
	runs 2
	queued 1
	leaves 2
	started 3
	leaves 3
	all_over
}

@test "a writer waits for the lease of a dead reader, and no longer than that" {
	local ends began

	reader 1 -t 4s
	reader 2 -t 5m
	started 1 2
	crashes 1
	ends=$(lease 1)
	queues writer 3
	leaves 2
	started 3
	began=$(($(cat began-3) / 1000))
	((began > ends))
	# in time: the other's lease would have been minutes
	((began < ends + 20000000))
	leaves 3
	all_over
}

@test "every reader has a token and a fence of its own, a writer after them a greater one" {
	local name

	reader 1
	started 1
	reader 2
	started 2
	reader 3
	started 3
	[ "$(cat token-1 token-2 token-3 | sort -u | wc -l)" = 3 ]
	(($(fence 1) < $(fence 2) && $(fence 2) < $(fence 3)))
	leaves 1 2 3
	writer 4
	started 4
	(($(fence 4) > $(fence 3)))
	leaves 4
	reader 5
	started 5
	(($(fence 5) > $(fence 4)))
	leaves 5
	all_over
}

## Turns

@test "behind a writer that waits nobody gets in, a reader under readers neither" {
	reader 1
	started 1
	queues writer 2
	busy -s
	busy
	queues reader 3
	queues reader 4
	busy -s
	leaves 1
	started 2
	busy -s
	leaves 2
	started 3 4
	leaves 3 4
	[ "$(xargs <order)" = '1 2 3 4' ] || [ "$(xargs <order)" = '1 2 4 3' ]
	all_over
}

@test "a writer is served when the last reader before it is done" {
	reader 1
	reader 2
	reader 3
	started 1 2 3
	queues writer 4
	leaves 2
	leaves 1
	share 1
	queued 1
	leaves 3
	started 4
	leaves 4
	all_over
}

@test "several readers behind a writer start when it ends, all at the same time" {
	local name

	writer 1
	started 1
	for name in 2 3 4 5; do
		queues reader "$name"
	done
	queues writer 6
	queues reader 7
	queues reader 8
	leaves 1
	started 2 3 4 5
	share 4
	eventually queued 3
	leaves 2 3 4 5
	started 6
	eventually queued 2
	leaves 6
	started 7 8
	leaves 7 8
	[ "$(sed -n '1p;6p' order | xargs)" = '1 6' ]
	all_over
}

@test "readers that are first in the queue are handed the lock together" {
	local n

	# unless this machine is so slow that the grant is over before we look
	for _ in {1..8}; do
		writer 1
		started 1
		queues reader 2
		queues reader 3
		kill -STOP "${pid[2]}" "${pid[3]}"
		leaves 1
		n=$(redis hlen "$readers")
		kill -CONT "${pid[2]}" "${pid[3]}"
		started 2 3
		leaves 2 3
		rm leave-*
		((n == 0)) || break
	done
	((n == 2))
	all_over
}

@test "between a writer and the readers after it no other writer gets in" {
	writer 1
	started 1
	queues reader 2
	queues reader 3
	queues writer 4
	queues writer 5
	leaves 1
	started 2 3
	leaves 2 3
	started 4
	leaves 4
	started 5
	leaves 5
	[ "$(tail -n 2 order | xargs)" = '4 5' ]
	all_over
}

@test "when a writer gives up its wait, the readers behind it start under those before it" {
	reader 1
	started 1
	queues writer 2
	queues reader 3
	queues reader 4
	kill -TERM "${pid[2]}"
	ends 2 143
	started 1 3 4
	share 3
	queues writer 5 -w 3s
	queues reader 6
	ends 5 75
	started 1 3 4 6
	leaves 1 3 4 6
	all_over
}

@test "when a waiting writer dies, those behind it are served all the same" {
	reader 1
	started 1
	queues writer 2
	queues reader 3
	crashes 2
	# its beat, and the time until it is looked at
	started 1 3
	leaves 1 3
	all_over
}

@test "a reader that does not confirm what it was handed is not waited for" {
	writer 1
	started 1
	queues reader 2
	queues reader 3
	queues writer 4
	kill -STOP "${pid[2]}"
	leaves 1
	started 3
	leaves 3
	started 4
	kill -CONT "${pid[2]}"
	leaves 4
	started 2
	leaves 2
	all_over
}

@test "a signal ends a reader's wait, and nothing of it stays" {
	writer 1
	started 1
	queues reader 2
	queues reader 3
	kill -HUP "${pid[2]}"
	ends 2 129
	eventually queued 1
	leaves 1
	started 3
	leaves 3
	[ ! -e in-2 ]
	all_over
}

@test "readers that never leave a gap do not starve a writer" {
	local n

	reader 0
	started 0
	# each waits until the next is there, or as far as it gets
	for n in {1..8}; do
		reader "$n"
		started "$n"
		leaves $((n - 1))
	done
	queues writer w
	for n in {9..12}; do
		queues reader "$n"
	done
	leaves 8
	started w
	leaves w
	started {9..12}
	leaves {9..12}
	[ "$(sed -n 10p order)" = w ]
	all_over
}

## Loss

@test "the key is deleted, flushed or overwritten: 79 for every reader" {
	local how

	for how in 'del redlock:a' flushall \
	    'set redlock:a another' 'set redlock:a another px 3600000'; do
		reader 1 -t 3s
		reader 2 -t 4s
		started 1 2
		# shellcheck disable=SC2086
		redis $how
		ends 1 79
		ends 2 79
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
		eventually 40 left
	done
	redis flushall
}

@test "after the key was deleted a new reader does not bring the old ones back" {
	reader 1 -t 30s
	started 1
	redis del redlock:a
	reader 2
	started 2
	share 1
	holders 1
	leaves 2
	nobody_shares
	ends 1 79
	eventually 40 left
}

@test "an entry of a share that is over does not count" {
	local far

	far=$(($(now_us) + 3600000000))
	redis hset "$readers" 00000000-0000-4000-8000-000000000000 \
	    "$far redlock-run/1 token=00000000-0000-4000-8000-000000000000 try=1 since=1 pid=1 host=h user=u cmd=c"
	writer 1
	started 1
	leaves 1
	reader 2
	started 2
	share 1
	leaves 2
	nobody_shares
	all_over
}

@test "a reader's renewal does not take the lock back from a writer" {
	local value

	reader 1 -t 6s
	started 1
	# it does not renew before the writer has come
	kill -STOP "${pid[1]}"
	redis del redlock:a
	redlock_bg -k a -t 5m -- sh -c 'until [ -e let-go ]; do sleep 0.05; done'
	eventually taken_by "$bg_pid"
	kill -CONT "${pid[1]}"
	ends 1 79
	value=$(redis get redlock:a)
	[[ $value == *"pid=$bg_pid "* ]]
	let_go
	eventually 40 left
}

# taken_by PID
taken_by() {
	[[ $(redis get redlock:a) == *" pid=$1 "* ]]
}

@test "readers survive a server out of memory: renewal and release" {
	local first

	reader 1 -t 4s
	reader 2 -t 4s
	started 1 2
	redis config set maxmemory 1
	first=$(lease 1)
	eventually renewed 1 $((first + 2000000))
	leaves 1
	share 1
	leaves 2
	nobody_shares
	all_over
}

## --at-least, nested runs, several locks

@test "--at-least: a reader's share stays, writers wait, readers may join" {
	redlock -s -k a --at-least 1h -- true
	share 1
	state "d['state'] == 'rest'"
	busy
	says resting
	reader 1
	started 1
	state "d['state'] == 'shared'"
	leaves 1
	(($(redis pttl redlock:a) > 3000000))
	state "d['state'] == 'rest' and len(d['holders']) == 1"
	busy
}

@test "--at-least: a writer is served when the share's rest is over" {
	local ends

	reader 1
	started 1
	redlock -s -k a --at-least 3s -- true
	ends=$(redis hvals "$readers" | sed -n 's/^\([0-9]*\) rest .*/\1/p')
	queues writer 2
	leaves 1
	started 2
	(($(cat began-2) / 1000 > ends))
	leaves 2
	all_over
}

@test "shared inside shared and shared inside exclusive run under the outer lease" {
	redlock -s -k a -- "$REDLOCK_RUN" -s -k a -- sh -c \
	    '$ADMIN_CLI -s "$1" hlen "$2" >shares' sh \
	    "$BATS_FILE_TMPDIR/redis.sock" "$readers"
	[ "$(cat shares)" = 1 ]
	run -7 --separate-stderr redlock -k a -- \
	    "$REDLOCK_RUN" -s -k a -- sh -c 'exit 7'
	silent
	all_over
}

@test "exclusive inside shared is refused: 64" {
	run -64 --separate-stderr redlock -s -k a -- \
	    "$REDLOCK_RUN" -k a -- touch jumped
	says a: shared
	run -64 redlock -s -k a -- "$REDLOCK_RUN" -k a -w 1h -- touch jumped
	[ ! -e jumped ]
	all_over
}

@test "several locks are shared together" {
	client 1 -s -s -k b
	client 2 -s -k b -s
	started 1 2
	share 2
	[ "$(redis get redlock:b)" = '~shared' ]
	run -75 redlock -k b -- touch jumped
	leaves 1
	run -75 redlock -k b -- touch jumped
	run -75 redlock -k c -k b -- touch jumped
	[ "$(redis exists redlock:c)" = 0 ]
	leaves 2
	[ ! -e jumped ]
	all_over
}

## --status

@test "--status shows a shared lock, and every reader in a line of its own" {
	local who first

	reader 1 -t 1h
	started 1
	reader 2 -t 1h
	reader 3 -t 2h
	started 2 3
	queues writer 4
	run -0 --separate-stderr redlock --status -k a
	[ -z "$stderr" ]
	[ "$(wc -l <<<"$output")" -eq 4 ]
	who="$(id -un)@$(uname -n) pid"
	first=$(sed -n 2p <<<"$output" | tr -s ' ')
	[[ $first =~ ^a\ shared\ $who\ [0-9]+\ sh\ [^\ ]+\ [^\ ]+\ 1\ [0-9]+$ ]]
	[ "$(grep -cE "^ +$who [0-9]+ +sh +[^ ]+ +[^ ]+$" <<<"$output")" -eq 2 ]
	for name in 1 2 3; do
		grep -qE "$who ${pid[$name]} " <<<"$output"
	done
	run -0 redlock --status
	[ "$(wc -l <<<"$output")" -eq 4 ]
	leaves 1 2 3
	started 4
	leaves 4
	run -1 redlock --status -k a
	[[ $output == *$'\n'a\ *free* ]]
}

@test "--status --json: state and mode are shared, holders has every reader" {
	reader 1 -t 1h
	reader 2 -t 2h
	started 1 2
	state "d['state'] == d['mode'] == 'shared'"
	state "sorted(h['pid'] for h in d['holders']) == \
	    sorted([${pid[1]}, ${pid[2]}])"
	state "{h['token'] for h in d['holders']} == \
	    {'$(cat token-1)', '$(cat token-2)'}"
	state "sorted(h['ttl_ms'] // 3600000 for h in d['holders']) in ([0, 1], [1, 1])"
	state "d['ttl_ms'] == max(h['ttl_ms'] for h in d['holders'])"
	state "all(h['command'] == 'sh' and h['held_ms'] >= 0 for h in d['holders'])"
	state "d['fence'] == max($(fence 1), $(fence 2)) and d['waiting'] == 0"
	leaves 1 2
	state "d['state'] == 'free' and d['mode'] is None and not d['holders']"
}

## Crashes

@test "readers and writers of which some crash, and another client: no overlap" {
	local pid

	another -x &
	pid=$!
	# In a crowd that waits it may never have a chance.
	eventually test -s ran-another
	crowd 12 -s -s -x
	touch leave
	wait "$pid"
	crowd_over ran-s ran-x ran-another
}
