#!/usr/bin/env bats
# The scripts themselves, sent late, twice or out of order, as connections
# that were given up may do it.
# shellcheck disable=SC2154,SC2016

load ../lib/one_redis

setup_file() {
	local name
	redis_start
	for name in lock status; do
		"$top/src/protocol/lua/build" $name >"$BATS_FILE_TMPDIR/$name.lua"
	done
}

lock=redlock:a fence='{redlock:a}:~fence'
queue='{redlock:a}:~queue' beat='{redlock:a}:~beat' runs='{redlock:a}:~runs'
details='pid=1 host=h user=u command=c'

# script_run NAME ID TOKEN [ARG...]: what it replies, a line for each field.  How
# many may hold the lock is in $limit, 0 stands for a shared one.  $watched is the
# key that the client watches.
script_run() {
	local part=$1 id=$2 token=$3 script=lock
	local -A mode=([0]=shared [1]=exclusive)
	shift 3
	[[ $part != status ]] || script=status
	redis --eval "$BATS_FILE_TMPDIR/$script.lua" "$lock" '{redlock:a}:~' \
	    ${watched:+"$watched"} , \
	    "$id" "$token" "${mode[${limit:-1}]:-slots}" $((${limit:-1} + !${limit:-1})) \
	    "${slot:-$((${limit:-1} < 2))}" "$@" "$part"
}

# The scripts as owner $1 sends them, in its attempt $2.
acquire() {
	local slots=''
	((${limit:-1} < 2)) || slots=" slots=$limit"
	script_run acquire "redlock-run/2 token=$1 try=$2 " "$1" \
	    "$details${lengths:-}$slots" 60000 "${3:-1000}" "${4:-0}" "${5:-0}" \
	    "${6:-0}" "${7:-}" "${8:-}" "${heals:-0}" \
	    "${once_per:-0}" "${skip:-}" '' ${latest:+"$latest"} \
	    ${max_waiting:+0 "$max_waiting"}
}
renew() {
	script_run renew "redlock-run/2 token=$1 try=$2 " "$1" "${length:-60000}" \
	    "$3" "${4:-}"
}
confirm() {
	script_run confirm "redlock-run/2 token=$1 try=$2 " "$1" \
	    "${length:-60000}" "$3" "${4:-}" \
	    "${5:-0}"
}
# The release of an attempt, or of all of them.  Of a run that has ended it is the
# latter, and names the attempt that was held.
release() {
	local waited ending success='' try=$2
	[[ ${5:-} =~ ^(\ waited=[0-9]+)?(.*)$ ]]
	waited=${BASH_REMATCH[1]} ending=${BASH_REMATCH[2]}
	[[ ! $ending =~ ^\ ran=([0-9]+)\ ended=exited\ status=0$ ]] ||
		success=${#details}
	[[ ! $ending ]] || try=''
	script_run release "redlock-run/2 token=$1 try=$try" "$1" "${3:-0}" 1 \
	    "${4:-0}" "$waited" "$ending" "${success:-0}" "${starts:-0}" '' '' \
	    "${6:-${success:+$details}}" "${7:-0}" "${8:-0}" "${2% }"
}

# A waiter gives an attempt back, but not its place.
yield() {
	script_run release "redlock-run/2 token=$1 try=$2 " "$1" 0 0 1 '' '' 0 0 '' '' '' 0 0 0
}

value() { redis get "$lock"; }
first() { head -n 1; }

# field NAME...: these fields of a reply, on one line.
field() {
	awk -v wanted="$*" 'BEGIN {
		split("granted fence ahead slot now value pttl readers best " \
		    "best_pttl queued waiting ticket place reason", names)
	}
	{ is[names[NR]] = $0 }
	END {
		n = split(wanted, names)
		for (i = 1; i <= n; i++)
			printf "%s%s", is[names[i]], i < n ? " " : "\n"
	}'
}
counter() { redis get "$fence"; }

# between LEAST MOST NUMBER
between() { (($1 <= $3 && $3 <= $2)); }

# reader_left TOKEN: the rest of a reader's lease, in ms.
reader_left() {
	local until
	until=$(redis hget '{redlock:a}:~readers' "$1")
	echo $(((${until%% *} - $(now_us)) / 1000))
}

# bats test_tags=quick
@test "acquire takes a free lock for its TTL, and a repeated acquire changes nothing" {
	local before
	[ "$(acquire me 1 | field granted fence ahead slot)" = '1 1000 0 1' ]
	before=$(value)
	[[ $before == 'redlock-run/2 token=me try=1 since='*' pid=1 host=h user=u command=c' ]]
	(($(redis pttl "$lock") > 50000))
	redis pexpire "$lock" 20000
	[ "$(acquire me 1 2000 | field granted fence ahead slot)" = '1 1000 0 1' ]
	[ "$(value)" = "$before" ]
	(($(redis pttl "$lock") > 50000))
}

# bats test_tags=quick
@test "acquire leaves a lock of any other holder alone" {
	acquire me 1
	[ "$(acquire you 1 | first)" = 0 ]
	[[ $(value) == *token=me* ]]
	[ "$(counter)" = 1000 ]
	redis set "$lock" foreign
	[ "$(acquire you 1 | field granted value pttl)" = '0 foreign -1' ]
	redis del "$lock"
	redis rpush "$lock" x
	[ "$(acquire you 1 | first)" = 0 ]
	[ "$(redis type "$lock")" = list ]
}

@test "acquire replaces the value of an older attempt of its run, but not of a newer one" {
	acquire me 2 1000
	[ "$(acquire me 3 1000 | field granted fence ahead slot)" = '1 1001 0 1' ]
	[[ $(value) == *' try=3 '* ]]
	[ "$(acquire me 2 | first)" = 0 ]
	[[ $(value) == *' try=3 '* ]]
	[ "$(acquire me 10 1000 | first)" = 1 ]
	[ "$(acquire me 9 1000 | first)" = 0 ]
}

# bats test_tags=quick
@test "renew neither creates a lock nor prolongs a foreign one" {
	acquire me 1
	redis del "$lock"
	[ "$(renew me 1 1000 | first)" = 0 ]
	[ "$(redis exists "$lock")" = 0 ]
	acquire you 1
	redis pexpire "$lock" 20000
	[ "$(renew me 1 1000 | first)" = 0 ]
	[[ $(value) == *token=you* ]]
	(($(redis pttl "$lock") <= 20000))
	redis del "$lock"
	acquire me 2
	[ "$(renew me 1 1000 | first)" = 0 ]
}

@test "a request for our own lock never shortens it, but a release does" {
	local lengths=' ttl=1800000 lease=60000' limit
	for limit in 1 0 2; do
		redis flushall
		acquire me 1
		[ "$(length=1800000 renew me 1 1000 | first)" = 1 ]
		between 1790000 1800000 "$(redis pttl "$lock")"
		renew me 1 1000
		between 1790000 1800000 "$(redis pttl "$lock")"
		confirm me 1 1000
		between 1790000 1800000 "$(redis pttl "$lock")"
		[ "$(acquire me 1 | first)" = 1 ]
		between 1790000 1800000 "$(redis pttl "$lock")"
		((limit)) || between 1790000 1800000 "$(reader_left me)"
		((limit < 2)) ||
			between 1790000 1800000 "$(redis pttl '{redlock:a}:~slots')"
		[ "$(release me 1 5000 | first)" = 1 ]
		between 1 5000 "$(redis pttl "$lock")"
	done
}

@test "a request keeps no more of a lease than its longest length, and nothing where that is missing" {
	local lengths limit
	for limit in 1 0; do
		for lengths in ' ttl=90000 lease=60000' ' ttl=60000' ''; do
			redis flushall
			acquire me 1
			length=3600000 renew me 1 1000
			between 3590000 3600000 "$(redis pttl "$lock")"
			renew me 1 1000
			case $lengths in
			*lease=*) set -- 80000 90000 ;;
			*) set -- 50000 60000 ;;
			esac
			if ((limit)); then
				between "$1" "$2" "$(redis pttl "$lock")"
			else
				between "$1" "$2" "$(reader_left me)"
			fi
		done
	done
}

@test "a reader's late renewal keeps its own lease, and not that of the others" {
	local lengths=' ttl=1800000 lease=60000' limit=0
	acquire me 1
	acquire you 1
	length=1800000 renew you 1 1000
	renew me 1 1000
	between 50000 60000 "$(reader_left me)"
	between 1790000 1800000 "$(reader_left you)"
	between 1790000 1800000 "$(redis pttl "$lock")"
	release you 1
	between 50000 60000 "$(redis pttl "$lock")"
}

@test "renew raises the fence only while its run holds the lock, and never lowers it" {
	acquire me 1 1000
	[ "$(renew me 1 5000 | paste -sd ' ')" = '1 5000' ]
	[ "$(renew me 1 2000 | paste -sd ' ')" = '1 5000' ]
	[ "$(counter)" = 5000 ]
	redis del "$lock"
	acquire you 1 1000
	[ "$(counter)" = 5001 ]
	[ "$(renew me 1 9000 | first)" = 0 ]
	[ "$(counter)" = 5001 ]
}

# bats test_tags=quick
@test "release removes only its own lock, and only once" {
	acquire me 1
	[ "$(release you 1 | first)" = 0 ]
	[ "$(release me '2 ' | first)" = 0 ]
	[[ $(value) == *token=me* ]]
	[ "$(release me '1 ')" = 1 ]
	[ "$(redis exists "$lock")" = 0 ]
	[ "$(release me '1 ' | first)" = 0 ]
	# at the end of a run all its attempts are meant
	acquire me 7
	[ "$(release me '')" = 1 ]
	[ "$(redis exists "$lock")" = 0 ]
}

@test "a lock in its cooldown can be neither renewed nor released" {
	acquire me 1
	release me '1 ' 30000
	[[ $(value) == 'cooldown redlock-run/2 token=me '* ]]
	[ "$(renew me 1 1000 | first)" = 0 ]
	[ "$(release me '1 ' | first)" = 0 ]
	[ "$(acquire me 2 | first)" = 0 ]
	(($(redis pttl "$lock") <= 30000))
}

@test "acquire gives a free lock only to the earliest living ticket" {
	# in the queue, in the order you, me; then the lock is free
	redis set "$lock" foreign
	acquire you 1 1000 100 60000
	acquire me 1 1000 200 60000
	redis del "$lock"
	[ "$(acquire me 1 1000 200 60000 | field granted ahead)" = '0 1' ]
	[ "$(acquire other 1 | first)" = 0 ]
	[ "$(acquire you 1 1000 100 60000 | first)" = 1 ]
}

@test "acquire drops a waiter without heartbeat from the queue" {
	redis set "$lock" foreign
	acquire you 1 1000 100 60000
	redis hset "$beat" you 1
	redis del "$lock"
	[ "$(acquire me 1 1000 200 60000 | first)" = 1 ]
	[ "$(redis zrange "$queue" 0 -1)" = me ]
	[ "$(redis hkeys "$beat")" = me ]
}

@test "a refusal distinguishes a candidate from a holder" {
	acquire you 1 1000 0 60000
	[ "$(acquire me 1 1000 0 60000 | field queued)" = 1 ]
	confirm you 1 1000
	[ "$(acquire me 1 1000 0 60000 | field queued)" = 0 ]
	[ "$(redis zrange "$queue" 0 -1)" = me ]
}

readers='{redlock:a}:~readers'

@test "shared: readers hold the lock together, and the last one removes it" {
	limit=0
	[ "$(acquire one 1 | first)" = 1 ]
	[ "$(acquire two 1 | first)" = 1 ]
	[ "$(value)" = '~shared' ]
	[ "$(limit=1 acquire me 1 | first)" = 0 ]
	[ "$(release one '1 ')" = 1 ]
	[ "$(value)" = '~shared' ]
	[ "$(release one '1 ' | first)" = 0 ]
	[ "$(redis hkeys "$readers")" = two ]
	[ "$(release two '')" = 1 ]
	[ "$(redis exists "$lock" "$readers")" = 0 ]
}

@test "shared: the key expires with the longest lease of its readers" {
	limit=0
	acquire one 1
	script_run acquire "redlock-run/2 token=two try=1 " two "$details" \
	    5000 1000 0 0 0 '' '' 0 0 '' ''
	(($(redis pttl "$lock") > 50000 && $(redis pttl "$readers") > 50000))
	release one '1 '
	(($(redis pttl "$lock") <= 5000 && $(redis pttl "$lock") > 0))
}

@test "shared: an expired reader does not count while others go on" {
	limit=0
	acquire one 1
	acquire two 1
	redis hset "$readers" one "1 redlock-run/2 token=one try=1 since=1 pid=1 host=h user=u command=c"
	[ "$(renew one 1 1000 | first)" = 0 ]
	[ "$(renew two 1 1000 | first)" = 1 ]
	[ "$(limit=1 acquire me 1 | field granted readers)" = '0 1' ]
	release two '1 '
	[ "$(redis exists "$lock" "$readers")" = 0 ]
}

@test "shared: readers from before the key was deleted or overwritten do not come back" {
	limit=0
	acquire old 1
	redis del "$lock"
	[ "$(renew old 1 1000 | first)" = 0 ]
	[ "$(acquire new 1 | first)" = 1 ]
	[ "$(renew old 1 1000 | first)" = 0 ]
	[ "$(redis hkeys "$readers")" = new ]
	redis set "$lock" foreign
	[ "$(renew new 1 1000 | first)" = 0 ]
	[ "$(release new '1 ' | first)" = 0 ]
	[ "$(acquire old 2 | first)" = 0 ]
	[ "$(value)" = foreign ]
}

@test "shared: new readers do not overtake a waiting writer" {
	limit=0 acquire one 1
	limit=1 acquire me 1 1000 100 60000 1
	[ "$(limit=0 acquire two 1 | first)" = 0 ]
	limit=0 acquire two 1 1000 200 60000 1
	limit=0 acquire three 1 1000 300 60000 1
	limit=0 release one '1 ' 0 1
	[[ $(value) == *token=me* ]]
	[ "$(limit=1 acquire me 1 1000 100 60000 1 | first)" = 1 ]
	limit=1 release me '1 ' 0 1
	# both of those behind it, at once
	[ "$(value)" = '~shared' ]
	[ "$(redis hkeys "$readers" | sort | paste -sd ' ')" = 'three two' ]
	(($(redis pttl "$lock") <= 2000 && $(redis hget "$beat" two | cut -d ' ' -f 1) <= $(now_us) + 2000000))
	[ "$(limit=0 acquire three 1 1000 300 60000 1 | first)" = 1 ]
	[ "$(limit=0 acquire two 1 1000 200 60000 1 | first)" = 1 ]
	[ "$(redis exists "$queue" "$beat")" = 0 ]
}

@test "acquire from an attempt that is over takes nothing" {
	limit=0
	acquire me 2
	[ "$(acquire me 1 | first)" = 0 ]
	[ "$(renew me 2 1000 | first)" = 1 ]
	release me ''
	limit=3
	slot=2 acquire me 2
	[ "$(slot=1 acquire me 1 | first)" = 0 ]
	[ "$(slot=3 acquire me 3 | field slot)" = 3 ]
	[ "$(redis exists "$lock" '{redlock:a}:~2' '{redlock:a}:~3')" = 1 ]
}

@test "slots: N runs hold the lock at a time, each with a key of its own" {
	limit=3
	[ "$(acquire one 1 | field slot)" = 1 ]
	[ "$(acquire two 1 | field slot)" = 2 ]
	[ "$(slot=3 acquire three 1 | field slot)" = 3 ]
	[ "$(acquire four 1 | first)" = 0 ]
	[ "$(slot=2 acquire four 1 | first)" = 0 ]
	[ "$(renew two 1 5000)" = "1
5000" ]
	release two '1 '
	[ "$(redis exists '{redlock:a}:~2')" = 0 ]
	[ "$(slot=3 acquire four 1 | field granted best best_pttl)" = '0 2 -2' ]
	[ "$(slot=2 acquire four 1 | field granted fence ahead slot)" = '1 5001 0 2' ]
}

@test "slots: each entry of the history ends with the slot, and status replies with each holder's" {
	limit=3
	slot=2 starts=1 acquire you 1 >/dev/null
	acquire me 1 >/dev/null
	renew you 1 0 ' waited=1'
	release you '1 ' 0 0 ' waited=1 ran=2 ended=exited status=0'
	slot=2 release you 1 0 0 ' waited=1 ran=2 ended=exited status=0'
	starts=1 release me '1 ' 0 0 ' waited=3 ended=not-run status=127'
	[ "$(written | sed 's/,redlock.*command=c//')" = "\
start slots=3 waited=1 slot=2
end slots=3 waited=1 ran=2 ended=exited status=0 slot=2
start slots=3 waited=3 slot=1
end slots=3 waited=3 ended=not-run status=127 slot=1" ]
	slot=3 acquire me 2 >/dev/null
	acquire you 2 >/dev/null
	[ "$(limit=64 slot=1 script_run status '' '' | tail -n 6 | sed -n '1p;3,4p;6p' |
		sed 's/^redlock.* token=\([a-z]*\).*/\1/' | xargs)" = 'you 1 me 3' ]
	limit=1
	redis del "$lock" '{redlock:a}:~3' '{redlock:a}:~slots' "$runs"
	starts=1 acquire me 3 >/dev/null
	starts=1 release me '3 ' 0 0 ' waited=3 ended=not-run status=127'
	[[ $(written) != *slot* ]]
	limit=0 acquire me 4 >/dev/null
	[ "$(limit=64 slot=1 script_run status '' '' | tail -n 1)" = 0 ]
}

@test "slots: a refusal names the slot whose lease ends first; a foreign lock counts as one" {
	limit=2
	redis set "$lock" foreign px 30000
	acquire one 1
	[ "$(acquire two 1 | field granted value best)" = '0 foreign 1' ]
	redis persist "$lock"
	[ "$(acquire two 1 | field best)" = 2 ]
	[ "$(value)" = foreign ]
}

@test "slots: the first waiters get the next free slots, one each" {
	limit=2
	acquire one 1
	acquire two 1
	acquire first 1 1000 100 60000 1
	acquire second 1 1000 200 60000 1
	release one '1 ' 0 1
	[[ $(value) == *token=first* ]]
	# One is free now, and it is the second's, not ours.
	redis del '{redlock:a}:~2'
	[ "$(acquire other 1 | first)" = 0 ]
	[ "$(acquire first 1 1000 100 60000 1 | field granted slot)" = '1 1' ]
	[ "$(redis llen '{redlock:a}:~wake:second')" = 1 ]
	[ "$(acquire second 1 1000 200 60000 1 | field granted slot)" = '1 2' ]
	# With one more there is one for us, too.
	limit=3
	[ "$(acquire other 1 | field slot)" = 3 ]
}

@test "status changes nothing" {
	local before
	limit=0 acquire one 1
	limit=1 acquire me 1 1000 100 60000 1
	redis hset "$beat" me 1
	redis hset "$readers" two '1 x'
	before=$(redis hgetall "$readers"; redis zrange "$queue" 0 -1)
	limit=64 slot=1 script_run status '' '' >/dev/null
	[ "$(redis hgetall "$readers"; redis zrange "$queue" 0 -1)" = "$before" ]
}

## --latest

# superseded_by TOKEN: the reply to an acquire names that run.
superseded_by() {
	local reason
	reason=$("$top/src/protocol/lua/build" wire |
		sed -n '/^enum reason/,/^}/p' | grep -n SUPERSEDED | cut -d : -f 1)
	[[ $(field granted reason value) == \
	    "0 $((reason - 2)) redlock-run/2 token=$1 try="*" $details" ]]
}

# is_latest TOKEN: its beat says that it has chosen a ticket with --latest.
is_latest() {
	[[ $(redis hget "$beat" "$1") == *' beat='+([0-9])' latest=1 '* ]]
}

@test "acquire with --latest marks a place whose ticket the run has chosen: of one server the first one" {
	shopt -s extglob
	acquire holder 1
	latest=1 acquire me 1 1000 0 15000 0
	not is_latest me
	latest=1 acquire me 1 1000 100 15000 0
	is_latest me
	acquire me 1 1000 100 15000 0
	not is_latest me
	latest=1 acquire you 1 1000 0 15000 1
	is_latest you
	acquire other 1 1000 0 15000 1
	not is_latest other
}

@test "acquire refuses a run with --latest while a later one has a place, whether the lock is held or free" {
	local before
	acquire holder 1
	latest=1 acquire me 1 1000 100 15000 0
	latest=1 acquire you 1 1000 200 15000 0
	before=$(redis zrange "$queue" 0 -1)
	latest=1 acquire me 1 1000 100 15000 0 | superseded_by you
	[ "$(latest=1 acquire you 1 1000 200 15000 0 | field granted reason)" = '0 0' ]
	acquire me 1 1000 100 15000 0 | field reason | grep -qx 0
	redis del "$lock"
	latest=1 acquire me 1 1000 100 15000 0 | superseded_by you
	[ "$(redis zrange "$queue" 0 -1)" = "$before" ]
	# The first one keeps its turn, for as long as a grant.
	[ "$(latest=1 acquire you 1 1000 200 15000 0 | field granted ahead)" = '0 1' ]
	lasts=$(($(redis hget "$beat" me | cut -d ' ' -f 1) / 1000 - $(now_us) / 1000))
	((lasts <= 2000))
	release me '' 0 0
	[ "$(latest=1 acquire you 1 1000 200 15000 0 | first)" = 1 ]
}

@test "acquire: of two runs with one ticket the greater token supersedes" {
	acquire holder 1
	latest=1 acquire b 1 1000 100 15000 0
	latest=1 acquire a 1 1000 100 15000 0 | superseded_by b
	[ "$(latest=1 acquire b 1 1000 100 15000 0 | field reason)" = 0 ]
}

@test "acquire: a ticket that a server has given, a dead run and one without --latest supersede nobody" {
	acquire holder 1
	latest=1 acquire me 1 1000 100 15000 0
	latest=1 acquire you 1 1000 0 15000 0
	acquire other 1 1000 300 15000 0
	latest=1 acquire dead 1 1000 400 15000 0
	redis hset "$beat" dead "1 $(redis hget "$beat" dead | cut -d ' ' -f 2-)"
	[ "$(latest=1 acquire me 1 1000 100 15000 0 | field granted reason)" = '0 0' ]
	# Nor does our own such ticket let others supersede us.
	latest=1 acquire late 1 1000 900 15000 0
	[ "$(latest=1 acquire you 1 1000 0 15000 0 | field granted reason)" = '0 0' ]
	latest=1 acquire me 1 1000 100 15000 0 | superseded_by late
}

@test "acquire: a run that has the lock here is not superseded" {
	latest=1 acquire me 1 1000 100 15000 0
	latest=1 acquire you 1 1000 200 15000 0
	[ "$(latest=1 acquire me 1 1000 100 15000 0 | first)" = 1 ]
	# It may set a lost lock again.
	redis del "$lock"
	[ "$(heals=1 acquire me 1 1000 100 0 0 | first)" = 1 ]
}

@test "a run that joins with --latest wakes those that it supersedes, once" {
	acquire holder 1
	latest=1 acquire me 1 1000 100 15000 0
	acquire other 1 1000 150 15000 0
	latest=1 acquire you 1 1000 0 15000 0
	[ "$(redis exists '{redlock:a}:~wake:me')" = 0 ]
	latest=1 acquire you 1 1000 200 15000 0
	[ "$(redis lpop '{redlock:a}:~wake:me')" = 1 ]
	latest=1 acquire you 1 1000 200 15000 0
	[ "$(redis exists '{redlock:a}:~wake:'{me,other,you})" = 0 ]
}

@test "release hands the lock to no run that is superseded, but wakes it" {
	acquire holder 1
	latest=1 acquire me 1 1000 100 15000 1 '' 7
	latest=1 acquire you 1 1000 200 15000 1 '' 8
	redis del '{redlock:a}:~wake:me'
	release holder '' 0 1
	[ "$(redis exists "$lock")" = 0 ]
	[ "$(redis lrange '{redlock:a}:~wake:me' 0 -1)" = 1 ]
	[ "$(redis exists '{redlock:a}:~wake:you')" = 0 ]
	release me '' 0 1
	[ "$(redis lrange '{redlock:a}:~wake:you' 0 -1)" = 1 ]
	# The last one is handed the lock as ever.
	redis flushall
	acquire holder 1
	latest=1 acquire you 1 1000 200 15000 1 '' 9
	release holder '' 0 1
	[[ $(redis lrange '{redlock:a}:~wake:you' 0 -1) == '9 '*' 5000' ]]
}

@test "a late acquire of an attempt that is over gets no lock with --latest either" {
	acquire me 2
	latest=1 acquire you 1 1000 200 15000 1
	[ "$(latest=1 acquire me 1 1000 100 15000 1 | field granted reason)" = '0 0' ]
	[[ $(value) == *'token=me try=2 '* ]]
}

## The history

# written: the entries of the history in their order, one a line.
written() {
	redis --csv xrange "$runs" - + | grep -o '"[a-z]*","redlock[^"]*"' |
		tr -d '"' | sed 's/since=[0-9]*/since=N/'
}

one='redlock-run/2 token=me try=1 since=N pid=1 host=h user=u command=c'

# asks TOKEN: whether a run has succeeded within an hour.
asks() {
	script_run ran "redlock-run/2 token=$1 try=1 " "$1" 3600000
}

@test "a question for a success replies as acquire does, and takes neither lock nor place" {
	local before
	acquire me 1 >/dev/null
	[ "$(asks you)" = 1 ]
	release me 1 0 1 ' waited=0 ran=1 ended=exited status=0' >/dev/null
	before=$(redis keys '*' | sort)
	redis config resetstat >/dev/null
	[[ $(asks you | field granted value reason) == \
	    '0 redlock-run/2 token=me '*' 2' ]]
	[ "$(redis_calls set del pexpire hset hdel zadd zrem lpush xadd)" = 0 ]
	[ "$(asks you | field slot best pttl queued ticket)" = "$(once_per=3600000 \
	    acquire you 1 | field slot best pttl queued ticket)" ]
	[ "$(redis keys '*' | sort)" = "$before" ]
}

@test "history: each acquisition and each release is recorded once" {
	acquire me 1 1000 0 0 1 ' waited=7'
	acquire me 1 1000 0 0 1 ' waited=9'
	renew me 1 1000
	acquire you 1 1000 0 0 1 ' waited=0'
	release you '1 ' 0 1
	[ "$(written)" = "start,$one waited=7" ]
	release me 1 0 1 ' waited=7 ran=3 ended=exited status=0' "$details"
	[ "$(written)" = "start,$one waited=7
end,$one waited=7 ran=3 ended=exited status=0" ]
	(($(redis pttl "$runs") > 29 * 86400000))
}

@test "history: an attempt that is given up leaves nothing, and the entries of others stay" {
	acquire you 1 1000 0 0 1 ' waited=1'
	release you 1 0 1 ' ended=exited' "$details"
	acquire me 1 1000 0 0 1 ' waited=7'
	release me '1 ' 0 1
	[ "$(redis exists "$lock")" = 0 ]
	[ "$(written | grep -c token=you)" = 2 ]
	[ "$(redis xlen "$runs")" = 2 ]
	# and a waiter that gave up just when it got the lock
	acquire other 1
	acquire me 2 1000 100 60000 1 ' waited=8'
	release other '' 0 1
	[[ $(value) == *'token=me '*' unconfirmed' ]]
	release me '' 0 1
	[ "$(redis exists "$lock")" = 0 ]
	[ "$(redis xlen "$runs")" = 2 ]
	# Only the attempt that gives up loses its start.
	limit=0 acquire me 3 1000 0 0 1 ' waited=9'
	limit=0 acquire other 3 1000 0 0 1 ' waited=9'
	limit=0 release me '3 ' 0 1
	[ "$(redis xlen "$runs")" = 3 ]
}

@test "history: a renewal tells each server what the others granted" {
	acquire me 1
	[ "$(redis exists "$runs")" = 0 ]
	confirm me 1 1000 ' waited=7'
	[ "$(written)" = "start,$one waited=7" ]
	confirm you 1 1000 ' waited=7'
	[ "$(redis xlen "$runs")" = 1 ]
	redis flushall
	acquire me 1
	renew me 1 1000 ' waited=8'
	[ "$(written)" = "start,$one waited=8" ]
}

@test "history: the end is recorded even if another run holds the lock by then" {
	acquire me 1 1000 0 0 1 ' waited=7'
	redis del "$lock"
	acquire you 1
	[ "$(release me 1 0 1 ' ran=3 ended=lost signal=9' "$details" | first)" = 0 ]
	[[ $(value) == *token=you* ]]
	[ "$(written)" = "start,$one waited=7
lost,${one/try=1/try=0} ran=3 ended=lost signal=9" ]
}

@test "history: a release that is executed twice records one end, and replies the same" {
	local ending=' ran=3 ended=exited status=0'

	for limit in 1 0 2; do
		redis flushall
		acquire me 1 1000 0 0 1 ' waited=7'
		[ "$(release me 1 0 1 "$ending" "$details" | first)" = 1 ]
		acquire you 1
		[ "$(release me 1 0 1 "$ending" "$details" | first)" = 1 ]
		[ "$(written | grep -c ended=)" = 1 ]
		[ "$(renew you 1 1000 | first)" = 1 ]
	done
	limit=1
	# in a cooldown, which the second release does not prolong
	redis flushall
	acquire me 1 1000 0 0 1 ' waited=7'
	release me 1 5000 1 "$ending" "$details"
	[ "$(release me 1 60000 1 "$ending" "$details" | first)" = 1 ]
	[ "$(written | grep -c ended=)" = 1 ]
	(($(redis pttl "$lock") <= 5000))
}

@test "history: of two releases that both come after the lease has ended, one records the loss" {
	acquire me 1 1000 0 0 1 ' waited=7'
	redis del "$lock"
	for _ in 1 2; do
		[ "$(release me 1 0 1 ' ran=3 ended=exited status=0' "$details" | first)" = 0 ]
	done
	[ "$(written)" = "start,$one waited=7
lost,${one/try=1/try=0} ran=3 ended=exited status=0" ]
	[ "$(redis exists '{redlock:a}:~success')" = 0 ]
}

# ended STATUS: what the history has of a run that ended so.
ended() { echo " waited=7 ran=3 ended=exited status=$1"; }

@test "history: a run that gave up leaves no start, although its lease has ended" {
	local limit
	for limit in 1 0 2; do
		redis flushall
		acquire me 1 1000 0 0 1 ' waited=7'
		redis del "$lock" "$readers"
		acquire you 1 1000 0 0 1 ' waited=1'
		[ "$(release me '' 0 1 | first)" = 0 ]
		[ "$(written | grep -c '^start,')" = 1 ]
		[[ $(written) == 'start,redlock-run/2 token=you '* ]]
	done
	# An attempt that is given back loses its own start only.
	limit=1
	redis flushall
	acquire me 1 1000 0 0 1 ' waited=7'
	redis del "$lock"
	acquire me 2 1000 0 0 1 ' waited=8'
	yield me 1
	[ "$(written)" = "start,${one/try=1/try=2} waited=8" ]
}

@test "history: a run that has lost its lock has no success, although a late request of an older attempt took it" {
	local limit
	for limit in 1 0 2; do
		redis flushall
		acquire me 2 1000 0 0 1 ' waited=7'
		redis del "$lock" "$readers"
		acquire you 1
		release you ''
		acquire me 1 1000 0 0 1 ' waited=5'
		[ "$(release me 2 60000 1 "$(ended 0)" | first)" = 0 ]
		[ "$(redis exists "$lock" "$readers" '{redlock:a}:~success')" = 0 ]
		[ "$(written | grep -c ended=)" = 1 ]
		[[ $(written | tail -n 1) == 'lost,redlock-run/2 token=me try=0 '*"$(ended 0)"* ]]
		[ "$(written | grep -c 'start,.* try=1 ')" = 0 ]
	done
}

@test "history: the second release takes no key of a late attempt for the one that the run held" {
	local limit n
	for limit in 1 0 2; do
		for n in lost end; do
			redis flushall
			acquire me 2 1000 0 0 1 ' waited=7'
			[[ $n == end ]] || redis del "$lock" "$readers"
			release me 2 0 1 "$(ended 0)"
			acquire me 1 1000 0 0 1 ' waited=5'
			acquire next 1 1000 100 60000 1
			release me 2 60000 1 "$(ended 0)" >reply
			if [[ $n == end ]]; then
				[ "$(first <reply)" = 1 ]
			else
				[ "$(first <reply)" = 0 ]
				[ "$(redis exists '{redlock:a}:~success')" = 0 ]
			fi
			[[ $(written | tail -n 1) == "$n,redlock-run/2 token=me "* ]]
			[ "$(written | grep -c ended=)" = 1 ]
			# It is passed on, as after any release.
			[ "$(acquire next 1 1000 100 60000 1 | first)" = 1 ]
		done
	done
}

@test "history: a release of the whole run deletes a late attempt's key on a server where the run held nothing" {
	acquire me 1
	starts=1 release me 2 0 0 "$(ended 0)"
	[ "$(redis exists "$lock")" = 0 ]
	[[ $(written) == 'lost,redlock-run/2 token=me try=0 '* ]]
}

@test "history: shared locks, hand-overs and cooldowns are recorded as well" {
	limit=0 acquire me 1 1000 0 0 1 ' waited=1'
	limit=0 release me 1 0 1 ' ended=exited' "$details"
	acquire you 1
	acquire me 1 1000 0 60000 1 ' waited=2'
	[ "$(written | wc -l)" = 2 ]
	release you '' 0 1
	acquire me 1 1000 0 60000 1 ' waited=3'
	acquire me 1 1000 0 60000 1 ' waited=4'
	release me 1 30000 1 ' ended=killed' "$details"
	[ "$(written)" = "start,$one waited=1
end,$one ended=exited
start,$one waited=3
end,$one ended=killed" ]
}

@test "history: it keeps 200 entries or a few more, and a lock works without it" {
	redis eval 'for i = 1, 500 do
		redis.call("XADD", KEYS[1], "*", "start", i)
	end' 1 "$runs"
	acquire me 1 1000 0 0 1 ' waited=7'
	(($(redis xlen "$runs") >= 200 && $(redis xlen "$runs") <= 300))
	release me ''
	redis del "$runs"
	redis set "$runs" foreign
	[ "$(acquire me 1 1000 0 0 1 ' waited=7' | first)" = 1 ]
	[ "$(release me 1 0 1 ' ended=exited' "$details")" = 1 ]
	[ "$(redis get "$runs")" = foreign ]
	[ "$(redis pttl "$runs")" = -1 ]
}

@test "hand-over: no fence is given twice, not even to a waiter that lost its place" {
	acquire you 1 1000 0 0 1 ' waited=0'
	acquire me 1 1000 100 60000 1 ' waited=1'
	# It is stopped, and its last word is old when its turn comes.
	redis hset "$beat" me "$(($(now_us) + 500000)) exclusive 1 redlock-run/2 token=me try=1 $details"
	release you '1 ' 0 1
	[[ $(value) == *'token=me '*' unconfirmed' ]]
	# As long as it holds the grant it is in the queue.
	(($(redis hget "$beat" me | cut -d ' ' -f 1) > $(now_us) + 1000000))
	# Even without its place it begins a tenure of its own.
	redis del "$queue" "$beat"
	[ "$(acquire other 1 9000 | first)" = 0 ]
	[ "$(acquire me 1 1000 100 60000 1 ' waited=2' | field granted fence ahead slot)" = '1 1001 0 1' ]
	[[ $(value) != *unconfirmed* ]]
	[ "$(written | tail -n 1)" = "start,$one waited=2" ]
	# Only the first answer that reaches it records a start.
	acquire me 1 1000 100 60000 1 ' waited=3'
	[ "$(written | wc -l)" = 1 ]
}

@test "hand-over: a reader confirms its grant as an exclusive holder does" {
	acquire you 1 1000 0 0 1 ''
	limit=0 acquire me 1 1000 100 60000 1 ''
	release you '1 ' 0 1
	[[ $(redis hget "$readers" me) == *' unconfirmed' ]]
	redis del "$queue" "$beat"
	[ "$(limit=0 acquire me 1 1000 100 60000 1 ' waited=2' | field granted fence ahead slot)" = '1 1001 0 1' ]
	[[ $(redis hget "$readers" me) != *unconfirmed* ]]
	[ "$(written)" = "start,$one waited=2" ]
}

@test "hand-over: a renewal confirms a grant, also where the fence is high enough" {
	acquire you 1 1000 0 0 1 ''
	acquire me 1 1000 100 60000 1 ''
	release you '1 ' 0 1
	[[ $(value) == *'token=me '*' unconfirmed' ]]
	[ "$(renew me 1 1000 | first)" = 1 ]
	[[ $(value) == *'token=me '* && $(value) != *unconfirmed* ]]
}

wake='{redlock:a}:~wake:me'

@test "hand-over: the grant goes with the wake, with nonce, next fence and length" {
	acquire you 1 5000 0 0 1 ''
	acquire me 1 1000 100 60000 1 '' 77
	release you '1 ' 0 1 '' '' 5000 1
	[ "$(redis lrange "$wake" 0 -1)" = '77 5001 5000' ]
	[ "$(counter)" = 5001 ]
	[[ $(value) == *'token=me '*' unconfirmed' && $(value) != *nonce* ]]
	(($(redis pttl "$lock") > 4000 && $(redis pttl "$lock") <= 5000))
	# Its place lasts as long, not longer.
	(($(redis hget "$beat" me | cut -d ' ' -f 1) < $(now_us) + 5000001))
	[ "$(confirm me 1 5001 ' waited=4' 1 | paste -sd ' ')" = '1 5001' ]
	[ "$(value)" = "$(value | sed 's/ unconfirmed//')" ]
	(($(redis pttl "$lock") > 50000))
	[ "$(redis exists "$queue" "$beat" "$wake")" = 0 ]
	# Once more, since its reply was lost.
	[ "$(confirm me 1 5001 ' waited=4' 1 | first)" = 1 ]
	[ "$(written)" = "start,$one waited=4" ]
}

@test "hand-over: the next fence is above the counter, the last fence and the proposal" {
	local now
	acquire you 1 5000 0 0 1 ''
	acquire me 1 1000 100 60000 1 '' 77
	# The counter was evicted.
	redis del "$fence"
	release you '1 ' 0 1 '' '' 9000 8000
	[ "$(counter)" = 9001 ]
	acquire me 1 1000 100 60000 1 ''
	acquire you 1 1000 200 60000 1 '' 78
	now=$(now_us)
	release me '1 ' 0 1 '' '' 9002 9000000000000000
	(($(counter) > now && $(counter) < now + 120000000))
}

@test "hand-over: a waiter without a nonce, or a reader, is woken to ask" {
	acquire you 1 5000 0 0 1 ''
	acquire me 1 1000 100 60000 1 ''
	release you '1 ' 0 1 '' '' 5000 1
	[ "$(redis lrange "$wake" 0 -1)" = 1 ]
	[ "$(counter)" = 5000 ]
	(($(redis pttl "$lock") <= 2000))
	redis del "$lock" "$queue" "$beat" "$wake"
	acquire you 1 5000 0 0 1 ''
	limit=0 acquire me 1 1000 100 60000 1 '' 77
	release you '1 ' 0 1 '' '' 5001 1
	[ "$(redis lrange "$wake" 0 -1)" = 1 ]
	limit=0 release me '1 ' 0 1
	redis del "$lock" "$queue" "$beat" "$wake"
	limit=2 slot=1 acquire you 1 5000 0 0 1 ''
	limit=2 slot=1 acquire me 1 1000 100 60000 1 '' 77
	limit=2 slot=1 release you '1 ' 0 1 '' '' 5002 1
	[ "$(redis lrange "$wake" 0 -1)" = 1 ]
}

@test "hand-over: the grant replaces an older wake; a taken key, or one that cannot be set, brings none" {
	acquire you 1 5000 0 0 1 ''
	acquire me 1 1000 100 60000 1 '' 77
	redis lpush "$wake" 1
	release you '1 ' 0 1 '' '' 5000 1
	[ "$(redis lrange "$wake" 0 -1)" = '77 5001 5000' ]
	release me '1 ' 0 1
	redis set "$lock" foreign
	acquire me 1 1000 100 60000 1 '' 78
	[ "$(release you '1 ' 0 1 '' '' 5000 1 | first)" = 0 ]
	[ "$(redis exists "$wake")" = 0 ]
	[ "$(counter)" = 5001 ]
}

@test "hand-over: a run that ends before it has confirmed its grant has start and end in the history" {
	acquire you 1 5000 0 0 1 ''
	acquire me 1 1000 100 60000 1 '' 77
	release you '1 ' 0 1 '' '' 5000 1
	release me '1 ' 0 1 ' waited=4 ran=5 ended=exited status=0' "$details"
	[ "$(written)" = "start,$one waited=4
end,$one waited=4 ran=5 ended=exited status=0" ]
}

@test "history: a release brings the start along if the server did not get it before" {
	acquire me 1
	starts=1 release me 1 0 0 ' waited=5 ran=2 ended=exited status=0'
	[ "$(redis xrange "$runs" - + | grep -cE '^(start|end)$')" = 2 ]
	redis xrange "$runs" - + | grep -A1 -x start | grep -q ' token=me .* waited=5$'
	acquire you 1
	release you '1 ' 0 0 ' waited=5 ran=2 ended=exited status=0'
	[ "$(redis xrange "$runs" - + | grep -cx start)" = 1 ]
}

@test "a first refusal says how long the last success took, whatever a later version adds" {
	redis set '{redlock:a}:~success' \
	    "redlock-run/2 token=t try=1 since=1 $details ran=240000 lane=7"
	acquire you 1 5000 0 0 1
	[ "$(acquire me 1 1000 0 60000 1 | sed -n 16p)" = 240000 ]
}

@test "on one server every grant raises the fence" {
	[ "$(acquire me 1 1000 0 0 1 | field fence)" = 1000 ]
	[ "$(acquire me 1 1000 0 0 1 | field fence)" = 1001 ]
	limit=2
	redis del "$lock"
	[ "$(slot=1 acquire me 1 1000 0 0 1 | field fence)" = 1002 ]
	[ "$(slot=2 acquire you 1 1000 0 0 1 | field fence)" = 1003 ]
	[ "$(slot=1 acquire me 1 1000 0 0 1 | field fence)" = 1004 ]
}

@test "an empty fence counter accepts a proposal up to a day beyond the server's clock" {
	local now proposal
	now=$(now_us)
	proposal=$((now + 3600 * 1000000))
	[ "$(acquire me 1 "$proposal" | field fence)" = "$proposal" ]
	redis del "$lock" "$fence"
	acquire me 1 9000000000000000
	(($(counter) > now + 86000000000 && $(counter) < now + 87000000000))
	redis del "$lock"
	redis set "$fence" 5
	acquire me 1 9000000000000000
	(($(counter) > now && $(counter) < now + 120000000))
}

@test "the next in the queue keeps its heartbeat until the lock is free" {
	acquire you 1 1000 0 0 1
	acquire first 1 1000 100 60000 1
	acquire second 1 1000 200 60000 1
	release you '1 ' 0 1
	acquire first 1 1000 100 60000 1
	[ "$(redis llen '{redlock:a}:~wake:second')" = 1 ]
	(($(redis hget "$beat" second | cut -d ' ' -f 1) > $(now_us) + 50000000))
	# Its turn has come when the lock is free: now it has the time of a grant.
	redis del "$lock"
	[ "$(acquire other 1 1000 0 0 1 | first)" = 0 ]
	(($(redis hget "$beat" second | cut -d ' ' -f 1) < $(now_us) + 2000001))
}

@test "a free lock wakes the second in line as well, where the lease of the first is short" {
	local how lengths second='{redlock:a}:~wake:second'
	for how in grant ask several; do
		for lengths in ' ttl=500' ' ttl=90000 lease=500' ' ttl=90000'; do
			redis flushall
			acquire me 1 1000 0 0 1
			[[ $how != ask ]] || once_per=1 acquire first 1 1000 100 60000 1
			[[ $how == ask ]] || acquire first 1 1000 100 60000 1 '' 77
			limit=0 acquire second 1 1000 200 60000 1 '' 78
			if [[ $how == several ]]; then release me '1 '; else release me '1 ' 0 1; fi
			[ "$(redis llen '{redlock:a}:~wake:first')" = 1 ]
			if [[ $lengths == *=500 ]]; then
				[ "$(redis lrange "$second" 0 -1)" = 1 ]
			else
				[ "$(redis exists "$second")" = 0 ]
			fi
			# It is no turn of its own.
			(($(redis hget "$beat" second | cut -d ' ' -f 1) > $(now_us) + 50000000))
			[[ $(value) != *second* ]]
		done
	done
}

# lasts KEY FROM TO: the key expires in so many ms.
lasts() {
	local ms
	ms=$(redis pttl "$1")
	if ((ms <= $2 || ms > $3)); then
		echo "$1 expires in $ms ms" >&2
		return 1
	fi
}

# entry_lasts HASH FIELD FROM TO: so does an entry.
entry_lasts() {
	local ms
	ms=$((($(redis hget "$1" "$2" | cut -d ' ' -f 1) - $(now_us)) / 1000))
	if ((ms <= $3 || ms > $4)); then
		echo "$2 lasts for $ms ms" >&2
		return 1
	fi
}

@test "releasing an attempt keeps its waiter's turn for the time of a grant" {
	acquire you 1 1000 0 0 1
	acquire me 1 1000 100 60000 1
	acquire other 1 1000 200 60000 1
	release you '1 ' 0 1
	# Its confirmation is executed, but answered too late for it.
	acquire me 1 1000 100 60000 1
	[ "$(yield me 1)" = 1 ]
	[[ $(value) == *token=me* ]]
	(($(redis pttl "$lock") <= 2000))
	[ "$(acquire other 1 1000 200 60000 1 | first)" = 0 ]
	[ "$(acquire me 2 1000 100 60000 1 | first)" = 1 ]
	[[ $(value) == *'token=me try=2'* ]]
	# A reader keeps its share as long.
	release me '' 0 1
	release other '' 0 1
	limit=0
	acquire me 3 1000 0 0 1
	yield me 3
	(($(redis pttl "$lock") <= 2000 && $(redis pttl "$lock") > 0))
	[ "$(acquire me 4 1000 0 0 1 | first)" = 1 ]
}

@test "a grant, a turn and an attempt given back last no longer than the waiter's lease" {
	local lengths=' ttl=90000 lease=700' list='{redlock:a}:~wake:next'
	# A grant with the wake.
	acquire me 1
	acquire next 1 1000 100 60000 1 '' 77
	release me '1 ' 0 1
	lasts "$lock" 100 700
	entry_lasts "$beat" next 100 700
	[[ $(redis lpop "$list") == '77 '*' 700' ]]
	release next '1 ' 0 1
	# One that must ask, and one that it cannot get.
	lengths=' ttl=600'
	acquire me 1
	acquire next 1 1000 100 60000 1
	release me '1 ' 0 1
	lasts "$lock" 100 600
	entry_lasts "$beat" next 100 600
	# An attempt given back.
	acquire next 1 1000 100 60000 1
	yield next 1
	lasts "$lock" 100 600
	release next '' 0 1
	# A turn.
	acquire me 1
	acquire next 1 1000 100 60000
	redis del "$lock"
	acquire other 1
	entry_lasts "$beat" next 100 600
	release next '' 0 1
	# A beat that names neither.
	lengths=''
	acquire me 1
	acquire next 1 1000 100 60000 1 '' 77
	release me '1 ' 0 1
	lasts "$lock" 4000 5000
	release next '' 0 1
	acquire me 1
	lengths=' ttl=99 lease=x' acquire next 1 1000 100 60000
	redis del "$lock"
	acquire other 1
	entry_lasts "$beat" next 1500 2000
}

@test "a delayed acquire does not put the current holder into the queue" {
	acquire me 2 1000 0 0 1
	[ "$(acquire me 1 1000 100 60000 1 | first)" = 0 ]
	[ "$(acquire me 1 1000 0 60000 1 | first)" = 0 ]
	[ "$(redis exists "$queue")" = 0 ]
}

@test "acquire issues no ticket earlier than those in the queue, whatever the server's clock" {
	local future
	future=$(($(now_us) + 3600000000))
	redis set "$lock" foreign
	acquire you 1 1000 "$future" 60000 1
	# In the queue, and for a waiter that takes its ticket to other servers.
	[ "$(acquire me 1 1000 0 60000 1 | field ticket)" = $((future + 1)) ]
	[ "$(acquire other 1 1000 0 0 1 | field ticket)" = $((future + 2)) ]
	[ "$(redis zrange "$queue" 0 -1 | paste -sd ' ')" = 'you me' ]
	# No server can have such a time, so it is no ticket.
	redis zadd "$queue" 9000000000000000 you
	(($(acquire other 1 1000 0 0 1 | field ticket) < future))
	redis zadd "$queue" $(($(now_us) + 172800000000)) you
	(($(acquire other 1 1000 0 0 0 | field ticket) < future))
}

# dead N NAME: so many waiters, or readers, that have died.
dead_waiters() {
	redis eval 'for i = 1, ARGV[1] do
		redis.call("ZADD", KEYS[1], ARGV[3] + i, ARGV[2] .. i)
		redis.call("HSET", KEYS[2], ARGV[2] .. i, "1 exclusive 1 redlock-run/2 token=" .. ARGV[2] .. i .. " try=1 pid=1")
	end' 2 "$queue" "$beat" "$1" "$2" "$3" >/dev/null
}

@test "slots: a newcomer gets a slot that is free beyond those of earlier waiters" {
	local limit=2
	acquire one 1
	acquire two 1
	[ "$(acquire you 1 1000 0 60000 1 | first)" = 0 ]
	redis del "$lock" '{redlock:a}:~2'
	[ "$(acquire me 1 | first)" = 1 ]
	[ "$(acquire them 1 | first)" = 0 ]
	[ "$(acquire you 1 1000 0 60000 1 | first)" = 1 ]
}

@test "slots: a refusal has the times of the slot that was asked for and of the best one" {
	local limit=2
	slot=1 acquire one 1
	slot=2 acquire two 1
	redis pexpire '{redlock:a}:~2' 20000
	slot=1 acquire me 1 | field granted slot best pttl best_pttl >refusal
	grep -E '^0 1 2 [5-6][0-9]{4} [12][0-9]{4}$' refusal
}

@test "shared: a reader does not wait for readers in the queue" {
	acquire writer 1
	[ "$(limit=0 acquire you 1 1000 0 60000 1 | first)" = 0 ]
	redis del "$lock"
	[ "$(limit=0 acquire me 1 | first)" = 1 ]
	[ "$(limit=0 acquire them 1 | first)" = 1 ]
}

@test "dead waiters behind a living one are not counted and are removed" {
	redis set "$lock" foreign
	acquire you 1 1000 100 60000 1
	dead_waiters 40 dead 200
	limit=64 slot=1 script_run status '' '' >answer
	[ "$(field waiting <answer)" = 1 ]
	[ "$(acquire me 1 1000 0 0 1 | field waiting)" = 1 ]
	[ "$(redis zcard "$queue" ; redis hlen "$beat")" = "1
1" ]
	# Of a queue too long to be read at once each call drops some.
	dead_waiters 1000 dead 200
	for _ in {1..200}; do
		acquire me 1 1000 0 0 1 >/dev/null
	done
	(($(redis zcard "$queue") < 200))
}

@test "a refresh extends the keys of the queue before they expire" {
	redis set "$lock" foreign
	acquire you 1 1000 100 60000 1
	redis pexpire "$queue" 80000
	redis pexpire "$beat" 80000
	acquire you 1 1000 100 60000 1
	(($(redis pttl "$queue") > 100000))
	(($(redis pttl "$beat") > 100000))
}

# commands COMMAND...: the commands of Redis in the scripts that it runs.
commands() {
	redis config resetstat >/dev/null
	"$@" >/dev/null
	redis info commandstats | awk -F '[_:=,]' '
	    /^cmdstat_/ && !/auth|config|eval|info/ { print $2 " " $4 }' | sort | xargs
}

@test "the usual acquire, renewal and release send few commands" {
	[ "$(commands acquire me 1)" = \
	    'del 1 exists 1 get 2 pexpire 1 set 2 time 1' ]
	[ "$(commands renew me 1 1000)" = 'get 2 pexpire 1 pttl 1' ]
	[ "$(watched=$lock commands renew me 1 1000)" = 'exists 1 get 2 pexpire 1 pttl 1' ]
	[ "$(commands release me 1 0 0 "$(value) ended=1 status=0")" = \
	    'del 1 exists 1 get 1 pexpire 1 xadd 1' ]
}

@test "a script removes a limited number of dead waiters" {
	dead_waiters 1000 dead 200
	[ "$(acquire me 1 1000 0 0 1 | first)" = 1 ]
	(($(redis zcard "$queue") >= 600))
	release me '1 ' 0 1
	(($(redis zcard "$queue") >= 400 && $(redis zcard "$queue") < 1000))
}

@test "shared: expired readers are removed while others go on" {
	limit=0
	acquire one 1
	redis eval 'for i = 1, 500 do
		redis.call("HSET", KEYS[1], "dead" .. i, "1 x")
	end' 1 "$readers" >/dev/null
	acquire two 1
	renew one 1 1000
	for _ in 1 2 3; do
		limit=1 acquire me 1 >/dev/null
	done
	[ "$(redis hkeys "$readers" | sort | paste -sd ' ')" = 'one two' ]
}

@test "slots: a key of another type takes a slot and stays as it is" {
	limit=3
	redis rpush '{redlock:a}:~2' x
	[ "$(acquire one 1 | field slot)" = 1 ]
	[ "$(acquire two 1 | field slot)" = 3 ]
	[ "$(acquire three 1 | first)" = 0 ]
	[ "$(slot=2 acquire three 1 | field granted value)" = '0 ? list' ]
	[ "$(redis type '{redlock:a}:~2')" = list ]
}

@test "slots: no slot above the limit is granted, taken or named" {
	local answer
	for limit in 0 1 3; do
		answer=$(slot=4 acquire me 1 2>&1) || true
		[[ $answer == *'there is no slot 4'* ]]
	done
	[ "$(redis dbsize)" = 0 ]
}

@test "every lock, slot, share and grant is written by SET with NX and PX" {
	local monitor
	$ADMIN_CLI -s "$BATS_FILE_TMPDIR/redis.sock" monitor >sent \
	    3>&- 4>&- &
	monitor=$!
	eventually grep -q OK sent
	acquire one 1 1000 0 0 1
	acquire me 1 1000 100 60000 1
	release one '1 ' 0 1
	acquire me 1 1000 100 60000 1
	release me '' 0 1
	limit=2 slot=2 acquire two 1 1000 0 0 1
	limit=2 slot=2 release two '' 0 1
	limit=0 acquire three 1 1000 0 0 1
	redis echo end
	eventually grep -q '"echo" "end"' sent
	kill "$monitor"
	[ "$(grep -ci '"set" "\(redlock:a\|{redlock:a}:~2\)"' sent)" = 5 ]
	[ "$(grep -ci '"set" "\(redlock:a\|{redlock:a}:~2\)" ".*" "nx" "px"' sent)" = 4 ]
	[ "$(grep -ci '"set" "redlock:a" ".*" "xx" "keepttl"' sent)" = 1 ]
}

@test "release reports the lock's state even if the queue is corrupt" {
	acquire me 1 1000 0 0 1
	redis set "$queue" foreign
	[ "$(yield me 1 | first)" = 1 ]
	redis del "$queue"
	acquire me 2 1000 0 0 1
	redis set "$queue" foreign
	[ "$(release me '2 ' 0 1 | first)" = 1 ]
	[ "$(redis exists "$lock")" = 0 ]
}

@test "a shared key without any readers is a lock that is held" {
	redis set "$lock" '~shared' px 30000
	[ "$(acquire me 1 | field granted value)" = '0 ~shared' ]
	[ "$(limit=64 slot=1 script_run status '' '' | tail -n 3 | first)" = '~shared' ]
}

@test "modes: a holder, a cooldown or a waiter decides the mode" {
	limit=2 slot=2 acquire two 1
	[ "$(redis get '{redlock:a}:~slots')" = 2 ]
	for limit in 0 1 3; do
		[ "$(slot='' acquire me 1 1000 0 60000 |
		    field granted waiting ticket place reason value)" = \
		    "0 0 0 0 1 $(redis get '{redlock:a}:~2')" ]
	done
	[ "$(redis exists "$queue")" = 0 ]
	# In cooldown, too, and as long as that lasts.
	limit=2 slot=2 release two '' 30000 1
	[ "$(limit=1 acquire me 1 | field granted reason)" = '0 1' ]
	redis del '{redlock:a}:~2'
	# The values decide: no slot is taken.
	[ "$(limit=1 acquire me 1 | first)" = 1 ]
	[ "$(limit=2 slot=2 acquire two 1 | field granted reason)" = '0 1' ]
	[ "$(limit=0 acquire two 1 | field granted reason)" = '0 0' ]
	# A waiter decides it as well, a dead one does not.
	limit=1 acquire you 1 1000 100 60000 1
	redis del "$lock"
	[ "$(limit=2 slot=2 acquire two 1 | field granted reason)" = '0 1' ]
	redis hset "$beat" you 1
	[ "$(limit=2 slot=2 acquire two 1 | first)" = 1 ]
	# A refusal has the beginning of such a value.
	redis set '{redlock:a}:~2' "$(redis get '{redlock:a}:~2')$(printf '%2000s' .)" px 60000
	[ "$(limit=1 acquire me 1 | sed -n 6p | wc -c)" = 1025 ]
	redis del '{redlock:a}:~2'
	limit=2 slot=2 acquire two 1
	# Readers do not have slots.
	limit=2 slot=2 release two '' 0 1
	[ "$(redis exists '{redlock:a}:~slots')" = 0 ]
	limit=0 acquire me 1
	[ "$(limit=2 slot=2 acquire two 1 | field granted readers reason)" = '0 1 1' ]
}

@test "modes: a run that holds the lock on other servers is not refused for its mode" {
	limit=2 slot=2 acquire two 1
	[ "$(heals=1 limit=1 acquire me 1 | first)" = 1 ]
	[ "$(limit=1 renew me 1 1000 | first)" = 1 ]
	[ "$(limit=2 slot=2 renew two 1 1000 | first)" = 1 ]
}

@test "modes: the number of slots is known for as long as the longest lease" {
	limit=2
	slot=2 acquire two 1
	redis pexpire '{redlock:a}:~slots' 1000
	slot=1 acquire one 1
	(($(redis pttl '{redlock:a}:~slots') > 50000))
	redis del '{redlock:a}:~slots'
	slot=2 renew two 1 1000
	[ "$(redis get '{redlock:a}:~slots')" = 2 ]
	slot=2 release two '' 0 1
	[ "$(redis get '{redlock:a}:~slots')" = 2 ]
	slot=1 release one '' 0 1
	[ "$(redis exists '{redlock:a}:~slots')" = 0 ]
}

@test "slots: an acquire that frees the other slot of its run wakes a waiter, as a release does" {
	local limit=2 wake='{redlock:a}:~wake:next'
	# Several servers: the run has slot 1 by an older attempt, and gets slot 2.
	slot=1 acquire me 1
	slot=2 acquire you 1
	slot=1 acquire next 1 1000 100 60000
	[ "$(redis llen "$wake")" = 0 ]
	redis del '{redlock:a}:~2'
	[ "$(slot=2 acquire me 2 | field granted slot)" = '1 2' ]
	[ "$(redis exists "$lock")" = 0 ]
	[ "$(redis llen "$wake")" = 1 ]
	entry_lasts "$beat" next 1000 2000
	[ "$(slot=1 acquire next 1 1000 100 60000 | field granted slot)" = '1 1' ]
	# The same if it does not get the other one.
	slot=1 acquire last 1 1000 300 60000
	[ "$(slot=1 acquire me 3 | field granted slot)" = '0 1' ]
	[ "$(redis exists '{redlock:a}:~2')" = 0 ]
	[ "$(redis llen '{redlock:a}:~wake:last')" = 1 ]
}

## Expiries that a clock set back has made impossible

# entry_prolong HASH FIELD...: these entries end in an hour.
entry_prolong() {
	local name hash=$1
	shift
	for name; do
		redis hset "$hash" "$name" "$(($(now_us) + 3600000000)) $(
		    redis hget "$hash" "$name" | cut -d ' ' -f 2-)" >/dev/null
	done
}

@test "a refused acquire cuts a lease that its TTL does not explain, and only that does" {
	local lengths=' ttl=20000'
	acquire me 1
	redis pexpire "$lock" 3600000
	limit=64 slot=1 script_run status '' ''
	renew you 1 2000
	release you 1
	lasts "$lock" 3500000 3600000
	[ "$(acquire you 1 | first)" = 0 ]
	lasts "$lock" 10000 20000
	[ "$(renew me 1 1000 | first)" = 1 ]
	# Small steps of the clock cut nothing.
	redis pexpire "$lock" 79000
	acquire you 1
	lasts "$lock" 70000 79000
	redis pexpire "$lock" 3600000
	(($(acquire you 1 1000 0 60000 1 | field pttl) <= 20000))
}

@test "a refused acquire cuts a cooldown to its own length, not to that of a lease" {
	local lengths=' ttl=20000 hold=30000'
	acquire me 1
	release me '1 ' 25000 1
	redis pexpire "$lock" 89000
	acquire you 1
	lasts "$lock" 80000 89000
	redis pexpire "$lock" 3600000
	acquire you 1
	lasts "$lock" 20000 30000
	[[ $(value) == "cooldown "* ]]
}

@test "an expiry is never cut if its length is missing, unreadable or below 100 ms, or the value foreign" {
	local its ours='redlock-run/2 token=me try=1 since=1 pid=1 host=h user=u command=c'
	for its in "$ours" "$ours ttl=" "$ours ttl=2x" "$ours ttl=99" "$ours ttl=-5" \
	    "$ours ttl=x ttl=20000" "$ours xttl=20000" "$ours hold=20000" \
	    "cooldown $ours ttl=20000" "cooldown $ours ttl=20000 hold=0" \
	    "frozen $ours ttl=20000 hold=20000" "? ttl=20000" "x ttl=20000" \
	    "cooldown cooldown $ours ttl=20000 hold=20000" "ttl=20000"; do
		redis set "$lock" "$its" px 3600000
		[ "$(acquire you 1 | first)" = 0 ]
		lasts "$lock" 3500000 3600000 || { echo "$its" >&2; return 1; }
	done
	redis set "$lock" "$ours ttl=20000"
	acquire you 1
	[ "$(redis pttl "$lock")" = -1 ]
}

@test "shared: a refused acquire cuts the leases and cooldowns of readers, each to its own length" {
	local lengths=' ttl=20000'
	limit=0
	acquire one 1
	lengths+=' hold=40000' acquire two 1
	release two '1 ' 40000 1
	redis hset "$readers" old "$(($(now_us) + 3600000000)) redlock-run/2 token=old try=1 since=1 pid=1"
	redis pexpire "$lock" 3600000
	redis pexpire "$readers" 3600000
	entry_prolong "$readers" one two
	limit=1 acquire you 1
	entry_lasts "$readers" one 10000 20000
	entry_lasts "$readers" two 30000 40000
	entry_lasts "$readers" old 3500000 3600000
	lasts "$lock" 3500000 3600000
	redis hdel "$readers" old
	limit=1 acquire you 1
	lasts "$lock" 30000 40000
	lasts "$readers" 30000 40000
	# A reader that renewed after the step, and died.
	redis hdel "$readers" two
	redis hset "$readers" one "1 $(redis hget "$readers" one | cut -d ' ' -f 2-)"
	redis pexpire "$lock" 3600000
	limit=1 acquire you 1
	eventually free
	limit=1
	[ "$(acquire you 1 | first)" = 1 ]
}

@test "shared: a key without readers is never cut" {
	redis set "$lock" '~shared' px 3600000
	acquire you 1
	lasts "$lock" 3500000 3600000
	redis hset "$readers" strange nonsense
	acquire you 1
	lasts "$lock" 3500000 3600000
}

@test "slots: a refused acquire cuts every slot, in whatever mode it comes" {
	local n limit=3
	local lengths=' ttl=60000'
	for n in 1 2 3; do
		slot=$n acquire "t$n" 1
	done
	redis pexpire '{redlock:a}:~slots' 3600000
	redis pexpire "$lock" 3600000
	redis pexpire '{redlock:a}:~3' 3600000
	acquire you 1
	lasts "$lock" 50000 60000
	lasts '{redlock:a}:~2' 50000 60000
	lasts '{redlock:a}:~3' 50000 60000
	redis pexpire '{redlock:a}:~3' 3600000
	[ "$(limit=1 acquire you 1 | field reason)" = 1 ]
	lasts '{redlock:a}:~3' 50000 60000
}

@test "a refused acquire cuts the beat of a dead waiter to the length that the beat names" {
	acquire me 1
	acquire dead 1 1000 100 15000 1
	acquire silent 1 1000 200 15000 1
	[[ $(redis hget "$beat" dead) == *' exclusive 1 beat=15000 redlock-run/2 token=dead try=1 pid=1'* ]]
	redis hset "$beat" silent "$(redis hget "$beat" silent | sed 's/ beat=[0-9]*//')"
	entry_prolong "$beat" dead silent
	acquire you 1
	entry_lasts "$beat" dead 10000 15000
	entry_lasts "$beat" silent 3500000 3600000
	# Also where it waits in another mode.
	redis del "$lock"
	entry_prolong "$beat" dead
	[ "$(limit=2 slot=2 acquire you 1 | field reason)" = 1 ]
	entry_lasts "$beat" dead 10000 15000
}

@test "a refusal stays one where nothing may be cut" {
	redis set "$lock" '~shared' px 3600000
	redis hset "$readers" me "$(($(now_us) + 3600000000)) redlock-run/2 token=me try=1 since=1 pid=1 host=h user=u command=c ttl=1000"
	redis acl setuser default -hset
	run -75 redlock -k a -- true
	entry_lasts "$readers" me 3500000 3600000
}

## Many slots

# slots_filled FROM TO: each of these slots of 64 has a holder "tN".
slots_filled() {
	redis eval 'for n = tonumber(ARGV[1]), tonumber(ARGV[2]) do
		redis.call("SET", n == 1 and KEYS[1] or KEYS[2] .. n,
			"redlock-run/2 token=t" .. n .. " try=1 since=1 " .. ARGV[3],
			"PX", 60000 + n)
	end' 2 "$lock" '{redlock:a}:~' "$1" "$2" "$details slots=64"
}

# refused TOKEN, gets TOKEN SLOT: the reply to an acquire of any slot.
refused() { [ "$(limit=64 slot=0 acquire "$1" 1 | first)" = 0 ]; }
gets() { [ "$(limit=64 slot=0 acquire "$1" 1 | field granted slot)" = "1 $2" ]; }

@test "slots: one whose key is deleted by hand is free at once, however many there are" {
	local n
	slots_filled 1 63
	gets t64 64
	for n in 2 13 29 40 57 64; do
		refused other
		redis del "{redlock:a}:~$n"
		gets "new$n" "$n"
	done
	refused other
}

@test "slots: a repeated acquire finds its slot among many" {
	slots_filled 5 64
	gets new 1
	gets t7 7
	gets t64 64
	redis del "$lock"
	gets t9 9
	[ "$(redis exists "$lock")" = 0 ]
}

@test "slots: whatever an index of an earlier build says, the keys decide" {
	redis zadd '{redlock:a}:~taken' 64 whole 1 t64 9000000000000002 t3
	slots_filled 1 2
	slots_filled 4 63
	gets new 3
	gets other 64
	refused more
}

@test "a release grants to a waiter of any version that it can read, and asks any other" {
	local entry want n=0 kind token=01234567-89ab-4cde-8f01-23456789abcd
	while IFS='|' read -r kind _ entry want; do
		[[ $kind == beat ]] || continue
		redis flushall
		acquire me 1 >/dev/null
		redis zadd "$queue" "$(now_us)" "$token"
		redis hset "$beat" "$token" "$(($(now_us) + 60000000)) $entry"
		release me 1 0 1 '' '' 1000 1000 >/dev/null
		if [[ $want == grant ]]; then
			[[ $(redis lindex "{redlock:a}:~wake:$token" 0) == '7 '*' 5000' ]]
			[[ $(value) == *"since="*"${entry#*try=1 } unconfirmed" ]]
		else
			[ "$(redis lindex "{redlock:a}:~wake:$token" 0)" = 1 ]
			[ -z "$(value)" ]
		fi
		[ -n "$(redis zscore "$queue" "$token")" ]
		((n += 1))
	done <"$top/tests/versions/vectors"
	((n >= 6))
}

# newcomer NAME [FIELD...]: it asks for a place in the queue; what the reply has.
newcomer() {
	acquire "$1" 1 1 0 15000 1 | field granted reason waiting
}
queued() { [ -n "$(redis zscore "$queue" "$1")" ]; }

# bats test_tags=quick
@test "--max-waiting: an acquire that finds so many waiters gets no place, and a repeated one counts others only" {
	local name
	acquire holder 1
	for name in a b b a; do
		[ "$(max_waiting=2 newcomer $name)" = "0 0 $([[ $(redis zcard "$queue") == 2 ]] && echo 1 || echo 0)" ]
	done
	for name in c c; do
		[ "$(max_waiting=2 newcomer $name)" = '0 5 2' ]
		not queued c
		[ "$(redis hexists "$beat" c)" = 0 ]
	done
	# A ticket is that of a run that has joined.
	max_waiting=2 acquire d 1 1 "$(now_us)" 15000 1
	queued d
	[ "$(max_waiting=3 newcomer c)" = '0 5 3' ]
	[ "$(max_waiting=4 newcomer c)" = '0 0 3' ]
	[ "$(newcomer e)" = '0 0 4' ]
}

@test "--max-waiting counts only living runs with -w that do not hold the lock" {
	acquire holder 1
	newcomer dead
	redis hset "$beat" dead "1 $(redis hget "$beat" dead | cut -d ' ' -f 2-)"
	[ "$(acquire candidate 1 1 0 12000 0 | field granted waiting)" = '0 0' ]
	[[ $(redis hget "$beat" candidate) == *' exclusive 1 beat=12000 waits=0 redlock-run/2 token=candidate try=1 '* ]]
	newcomer waiter
	[[ $(redis hget "$beat" waiter) == *' exclusive 1 beat=15000 redlock-run/2 token=waiter try=1 '* ]]
	[ "$(max_waiting=1 newcomer late)" = '0 5 1' ]
	# The waiter has it, and would leave with its confirmation.
	redis del '{redlock:a}:~queue' '{redlock:a}:~beat'
	newcomer waiter
	release holder 1 0 1 '' '' 1000 1000
	[[ $(value) == *' token=waiter '*' unconfirmed' ]]
	queued waiter
	[ "$(max_waiting=1 newcomer late)" = '0 0 1' ]
	queued late
	[ "$(max_waiting=1 newcomer later)" = '0 5 1' ]
}

@test "--max-waiting does not count the waiter for which the lock, or a slot, is free" {
	acquire holder 1
	once_per=1000 newcomer a
	newcomer b
	release holder 1 0 1
	[ -z "$(value)" ]
	[ "$(max_waiting=1 newcomer c)" = '0 5 1' ]
	[ "$(max_waiting=2 newcomer c)" = '0 0 2' ]
	redis flushall
	limit=2 slot=1 acquire holder 1
	# Of several servers it asks for a slot that is taken, and another one is free.
	limit=2 slot=1 acquire a 1 1 0 15000 0
	[ "$(limit=2 slot=1 max_waiting=1 acquire b 1 1 0 15000 0 | field granted reason)" = '0 0' ]
	[ "$(limit=2 slot=1 max_waiting=1 acquire c 1 1 0 15000 0 | field granted reason waiting)" = '0 5 1' ]
}

@test "--max-waiting counts readers behind a writer, but none that has its share" {
	limit=0 acquire reader 1
	limit=0 acquire other 1 1 0 15000 0
	queued other
	[ "$(max_waiting=1 newcomer writer)" = '0 0 1' ]
	[ "$(limit=0 max_waiting=1 newcomer late)" = '0 5 1' ]
	[ "$(limit=0 max_waiting=2 newcomer late)" = '0 0 2' ]
	[ "$(max_waiting=2 newcomer second)" = '0 5 2' ]
}

@test "--max-waiting: the refusal records the skip on the only server, once and for no other refusal" {
	local skips='{redlock:a}:~skips' skip=' skipped=queue-full'
	acquire holder 1
	max_waiting=1 newcomer a
	[ "$(redis exists "$skips")" = 0 ]
	max_waiting=1 newcomer b
	[ "$(redis xlen "$skips")" = 1 ]
	[[ $(redis xrange "$skips" - +) == *'token=b try=1 since='*' skipped=queue-full'*'token=holder '* ]]
}

@test "--max-waiting counts the waiters of every version as the vectors have it" {
	local entry want n=0 kind token=01234567-89ab-4cde-8f01-23456789abcd
	while IFS='|' read -r kind _ entry want; do
		[[ $kind == waits ]] || continue
		redis flushall
		acquire holder 1 >/dev/null
		redis zadd "$queue" "$(now_us)" "$token"
		redis hset "$beat" "$token" "$(($(now_us) + 60000000)) $entry"
		echo "$entry:"
		if [[ $want == yes ]]; then
			[ "$(max_waiting=1 newcomer me)" = '0 5 1' ]
		else
			[ "$(max_waiting=1 newcomer me)" = '0 0 1' ]
		fi
		((n += 1))
	done <"$top/tests/versions/vectors"
	((n >= 6))
}

@test "a success is not replaced by a run that began before it" {
	local mode success='{redlock:a}:~success'
	for mode in 1 0 2; do
		redis flushall
		limit=$mode acquire me 1
		limit=$mode release me 1 0 1 ' waited=0 ran=4000 ended=exited status=0'
		[[ $(redis get "$success") == *'token=me '*' ran=4000' ]]
		limit=$mode acquire you 1
		limit=$mode release you 1 0 1 ' waited=0 ran=900000 ended=exited status=0'
		[[ $(redis get "$success") == *'token=me '*' ran=4000' ]]
		limit=$mode acquire you 2
		limit=$mode release you 2 0 1 ' waited=0 ran=0 ended=exited status=0'
		[[ $(redis get "$success") == *'token=you '*' ran=0' ]]
	done
}
