# shellcheck shell=bash disable=SC2154
#
# The faults of tests/chaos/run, and the clock on which they are planned.

## Time.  The faults are planned on a clock of their own, in ms, that stops
## while a fault is made, so that planned distances are kept.

clock=0 over=0
undo=()	# commands that end faults, by their times

nap() {
	local left=$(((end_us - ${EPOCHREALTIME/./}) / 1000)) ms=$1
	((left > 0)) || over=1
	((over == 0 && ms > 0)) || return 0
	((ms < left)) || ms=$left
	sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

# later MS COMMAND...
later() {
	undo[clock + $1]+="${*:2};"
}

# pass MS: lets time pass, and undoes the faults that end meanwhile.
pass() {
	local at until=$((clock + $1)) due
	for at in "${!undo[@]}"; do
		((at <= until)) || break
		nap $((at - clock))
		clock=$at due=${undo[at]}
		unset "undo[$at]"
		note "undo: $due"
		eval "$due"
	done
	nap $((until - clock))
	clock=$until
}

# settle: waits until all faults are undone, and their effects are over.
settle() {
	local times
	while ((${#undo[@]})); do
		times=("${!undo[@]}")
		pass $((times[-1] - clock))
	done
}

## Faults.  Each draws its numbers first, whatever it finds then.

faults=0
busy=(0 0 0 0 0 0)	# until when something is wrong with a server
empty=(0 0 0 0 0 0)	# until when it counts as one that has lost its data

injected() {
	faults=$((faults + 1))
	note "fault $faults: $*"
}

# choose N: up to N servers with which nothing is wrong, in ${chosen[@]}.
choose() {
	local i k n=${#servers[@]} first=$RANDOM step=$RANDOM
	# All counts are prime, or one.
	step=$((n > 1 ? step % (n - 1) + 1 : 1))
	chosen=()
	for ((k = 0; k < n; k++)); do
		i=$(((first + k * step) % n + 1))
		((${#chosen[@]} < $1 && busy[i] <= clock)) && chosen+=("$i")
	done
	((${#chosen[@]}))
}

# choose_all N: N servers.  It fails if there are fewer, which there can be after
# settle when the time is over: a wrong clock is not put right then.
choose_all() {
	choose "$1"
	((${#chosen[@]} == $1))
}

# freeze MS SERVER...
freeze() {
	local i ms=$1
	for i in "${@:2}"; do
		injected "freeze server $i for $ms ms"
		kill -STOP "${server[$i]}"
		busy[i]=$((clock + ms))
		later "$ms" kill -CONT "${server[$i]}"
	done
}

freeze_servers() {
	local ms=$((RANDOM % 2500 + 50))
	choose $((RANDOM % 3 + 1))
	freeze "$ms" "${chosen[@]}"
}

kill_server() {
	local ms=$((RANDOM % 4 * (RANDOM % 700)))
	choose 1 && restart_empty "${chosen[0]}" "$ms"
}

# restart_empty SERVER MS: unless it is broken, or as many others as a majority
# can spare have lost their data of late.
restart_empty() {
	local i=$1 ms=$2 j lost=0
	for j in "${servers[@]}"; do
		((j != i && empty[j] > clock)) && lost=$((lost + 1))
	done
	((lost < minority && i != broken && !over)) || return
	injected "kill server $i, start it after $ms ms"
	kill -KILL "${server[$i]}"
	wait "${server[$i]}" 2>/dev/null
	busy[i]=$((clock + ms))
	empty[i]=$((clock + ms + 2 * (grace + 1000)))
	if ((ms)); then
		later "$ms" start_server "$i"
	else
		start_server "$i"
	fi
}

cut_off() {
	local i ms=$((RANDOM % 3000 + 50)) where=$((RANDOM % 3))
	local from=("${sides[@]}")
	((where < 2)) && from=("${sides[where]}")
	choose $((RANDOM % 3 + 1))
	for i in "${chosen[@]}"; do
		injected "cut off server $i from ${from[*]} for $ms ms"
		busy[i]=$((clock + ms))
		later "$ms" reconnect "$i" "${from[@]}"
		disconnect "$i" "${from[@]}"
	done
}

# No name gets an answer: new runs fail, those that hold the lock go on.
silence_dns() {
	local ms=$((RANDOM % 2000 + 200))
	injected "stop the name servers for $ms ms"
	kill -STOP "${name_servers[@]}"
	later "$ms" kill -CONT "${name_servers[@]}"
}

# A server moves to its other address, and connections to the old one hang.
move_address() {
	local i side old new
	choose 1 || return
	i=${chosen[0]}
	((i != broken)) || return
	old=${last_digit[i]:-1} new=$((4 - ${last_digit[i]:-1}))
	injected "move server $i to address $new"
	last_digit[i]=$new
	for side in "${sides[@]}"; do
		ip addr del "10.$side.$i.$old/24" dev "l$side.$i"
		ip addr replace "10.$side.$i.$new/24" dev "l$side.$i"
		write_zone "$side"
	done
}

# What a NAT between one side and some servers knows is gone: its connections are
# silent, and new ones work.  When that is over, late packets come through.
forget_connections() {
	local i ports side=${sides[RANDOM % 2]} ms=$((RANDOM % 3000 + 300))
	choose $((RANDOM % 5 + 1))
	for i in "${chosen[@]}"; do
		mapfile -t ports < <(list_ports "$side" "$i")
		((${#ports[@]})) || continue
		injected "forget ${#ports[@]} connections of $side to server $i for $ms ms"
		silence add "$side" "$i" "${ports[@]}"
		later "$ms" silence del "$side" "$i" "${ports[@]}"
	done
}

kill_connections() {
	local i
	choose $((RANDOM % 5 + 1))
	for i in "${chosen[@]}"; do
		injected "kill the connections of server $i"
		ask "$i" client kill type normal >/dev/null
	done
}

# Requests that name their script by its digest meet a server without it.
forget_scripts() {
	local i
	choose $((RANDOM % 5 + 1))
	for i in "${chosen[@]}"; do
		injected "forget the scripts of server $i"
		ask "$i" script flush >/dev/null
	done
}

# As if somebody whose clock is fast had had the lock there.  Whoever has it
# next has the larger fence, and only the others can tell those who follow.
raise_fence() {
	local i ms=$((RANDOM % 350 + 350))
	choose $((RANDOM % 2 + 1))
	await_start
	for i in "${chosen[@]}"; do
		injected "raise the fence of server $i, $ms ms ahead"
		ask "$i" eval "local t, f = redis.call('TIME'), KEYS[1]
			local to = t[1] * 1e6 + t[2] + ARGV[1] * 1e3
			if to > tonumber(redis.call('GET', f) or 0) then
				redis.call('SET', f, string.format('%.0f', to))
			end" 1 "{$key}:~fence" "$ms" >/dev/null
	done
	await_start
	freeze 800 "${chosen[@]}"
}

# find_spare N: N servers in ${spare[@]} on which the holder has the lock and its
# fence, and a majority beside them, so that nobody else has lost a vote if they
# forget it, and the fence stays with that majority; its token is in $token.
find_spare() {
	local i n=$1 fence have look='
		local v = redis.call("GET", KEYS[1]) or ""
		return v:find(ARGV[1], 1, true)
			and redis.call("PTTL", KEYS[1]) > tonumber(ARGV[2])
			and tonumber(redis.call("GET", KEYS[2]) or 0)
				>= tonumber(ARGV[3]) and 1'
	for _ in {1..40}; do
		read -r _ _ _ fence token <"$CHAOS_DIR/holder"
		have=()
		for i in "${chosen[@]}"; do
			[[ $(ask "$i" eval "$look" 2 "$key" "{$key}:~fence" \
			    " token=${token:--} " $((ttl / 2)) "${fence:-0}") == 1 ]] &&
				have+=("$i")
		done
		((over)) && return 1
		((${#have[@]} < n + minority + 1)) || break
		nap 25
	done
	spare=("${have[@]:0:n}")
	((${#have[@]} >= n + minority + 1))
}

# Deletes the lock and all keys that belong to it.
flush() {
	local i token spare forget='
		local v = redis.call("GET", KEYS[1]) or ""
		if v:find(ARGV[1], 1, true) then
			for _, k in ipairs(redis.call("KEYS", "*" .. KEYS[1] .. "*")) do
				redis.call("DEL", k)
			end
		end'
	choose 5
	settle
	pass 1200
	if find_spare $((RANDOM % minority + 1)); then
		for i in "${spare[@]}"; do
			injected "flush the lock on server $i"
			ask "$i" eval "$forget" 1 "$key" " token=$token " >/dev/null
		done
	fi
	pass 1000
}

# Sets the wall clocks of servers back: leases there last longer, and the server
# looks younger, until a restart sets its clock right.  A single server would keep
# a dead holder's lease for all that time, so its clock goes back by seconds only.
step_back() {
	local i ms=$(((RANDOM * 32768 + RANDOM) % 3600000)) wait=$((RANDOM % 6000))
	((minority && RANDOM % 3)) || ms=$((ms % 2000 + 10))
	choose $((minority ? RANDOM % minority + 1 : 1))
	for i in "${chosen[@]}"; do
		((i != broken)) || continue
		injected "set the clock of server $i back by $ms ms"
		step_clock "$i" -$ms
		((minority)) || continue
		busy[i]=$((clock + wait + 20000))
		later $((wait + 1000)) right_clock "$i"
	done
}

# Sets the clock of the only server back while the lock is in a cooldown, which
# would last for so much longer.  A contender that is refused cuts it.
step_back_cooldown() {
	local ms=$(((RANDOM * 32768 + RANDOM) % 3500000 + 100000)) left=
	settle
	CHAOS_SIDE=0 timeout 20 "$CHAOS_RUN" -q -k chaos -t "${ttl}ms" \
	    --min-hold 2s -w 10 -r "unix://$CHAOS_DIR/1.sock" -- \
	    "$CHAOS_SELF" command 20 '' -x || return 0
	injected "set the clock of server 1 back by $ms ms under a cooldown"
	step_clock 1 -$ms
	for _ in {1..100}; do
		left=$(ask 1 pttl "$key")
		((${left:-0} > 3000 && !over)) || return 0
		pass 100
	done
	note "UNEXPECTED lease of $left ms after a cooldown of 2 s"
}

# Sets clocks forward: all leases on these servers end, as if they were flushed.
# The holder's COMMAND is stopped, so that the lock is not released meanwhile.
step_forward() {
	local i ms=$(((RANDOM * 32768 + RANDOM) % 3600000 + ttl)) token spare
	choose 5
	settle
	pass 1200
	strike STOP command 1500
	if find_spare $((RANDOM % minority + 1)); then
		for i in "${spare[@]}"; do
			injected "set the clock of server $i forward by $ms ms"
			step_clock "$i" $ms
			empty[i]=$((clock + 2 * (grace + 1000)))
			busy[i]=$((clock + 20000))
			later $((RANDOM % 4000 + 2000)) right_clock "$i"
		done
	fi
	pass 1000
}

# right_clock SERVER: restarts it with the right time, as soon as it may lose its
# data.
right_clock() {
	((!over)) || return
	busy[$1]=$clock
	if ! restart_empty "$1" 0; then
		busy[$1]=$((clock + 20000))
		later 500 right_clock "$1"
	fi
}

# ours PID: it is none that got the number of one of ours.
ours() {
	grep -qszxF "CHAOS_DIR=$CHAOS_DIR" "/proc/$1/environ"
}

# stop_run PID: one that has a COMMAND, but not yet the guard, goes on: the
# guard is promised for the fifth millisecond.
stop_run() {
	ours "$1" && kill -STOP "$1" || return
	(($(pgrep -cP "$1") != 1)) || ! kill -CONT "$1"
}

# strike SIGNAL WHOM [MS]: holder, command, both, or any contender.  COMMAND
# has a group of its own where there is no terminal.
strike() {
	local signal=$1 whom=$2 ms=$((RANDOM % 2500 + 50)) run command
	local any=$((RANDOM % ${#contenders[@]} + 1)) hit=()
	ms=${3:-$ms}
	read -r run command _ <"$CHAOS_DIR/holder"
	[[ $whom == any ]] && run=$(<"$CHAOS_DIR/run.$any")
	[[ $whom != command ]] && stop_run "${run:-0}" && hit+=("$run")
	[[ $whom == command || $whom == both ]] && ours "${command:-0}" &&
		kill -STOP -- "-$command" && hit+=("-$command")
	((${#hit[@]})) || return
	if [[ $signal == KILL ]]; then
		injected "kill ${hit[*]}"
		kill -KILL -- "${hit[@]}"
	else
		injected "stop ${hit[*]} for $ms ms"
		later "$ms" go_on "${hit[@]}"
	fi
} 2>/dev/null

go_on() {
	local pid
	for pid; do
		ours "${pid#-}" && kill -CONT -- "$pid" 2>/dev/null
	done
}

# A contender has just taken the lock.
await_start() {
	local n
	n=$(wc -l <"$CHAOS_DIR/fences")
	for _ in {1..50}; do
		(($(wc -l <"$CHAOS_DIR/fences") > n)) && break
		nap 20
	done
}

# lease_left: sets $left to the shortest rest of the holder's lease on any server, if
# all servers have it.
lease_left() {
	local i ms token look='
		local v = redis.call("GET", KEYS[1]) or ""
		return v:find(ARGV[1], 1, true) and redis.call("PTTL", KEYS[1]) or 0'
	left=$max_ttl
	read -r _ _ _ _ token <"$CHAOS_DIR/holder"
	for i in "${servers[@]}"; do
		ms=$(ask "$i" eval "$look" 1 "$key" " token=${token:--} ")
		((${ms:-0} >= left)) || left=${ms:-0}
	done
}

# outage above|below: all servers freeze for longer than the holder's lease, once
# that is long, or for less than the holder can wait: it needs the drift, the time
# to stop COMMAND, and here 800 ms for a retry.
outage() {
	local how=$1 left run ms
	settle
	for _ in {1..60}; do
		lease_left
		((left < 3 * ttl && !over)) || break
		nap 200
	done
	((left >= 3 * ttl && !over)) || return 0
	read -r run _ <"$CHAOS_DIR/holder"
	ms=$((left - left / 100 - 2 - (ttl < 1250 ? 30 : ttl / 50 + 5) - 50 - 800))
	if [[ $how == above ]]; then
		ms=$((max_ttl + RANDOM % 1000))
	else
		touch "$CHAOS_DIR/spared.$run"
	fi
	note "outage $how the lease of $left ms of pid $run"
	freeze "$ms" "${servers[@]}"
	settle
	pass 1200
	rm -f "$CHAOS_DIR/spared.$run"
}

# Two servers are away while the lock is taken on the other three.  They are
# back as one of the three forgets it, and the holder cannot see to it.
ambush_young() {
	local i
	settle
	pass 100
	choose_all 3 || return
	for i in "${chosen[@]:0:2}"; do
		injected "cut off server $i from ${sides[*]}"
		disconnect "$i" "${sides[@]}"
	done
	pass 1100
	await_start
	strike STOP both 900
	restart_empty "${chosen[2]}" 0
	for i in "${chosen[@]:0:2}"; do
		reconnect "$i" "${sides[@]}"
	done
	pass 1100
}

# The holder has two servers, the other side another two, and both have the
# fifth, where the lock is the holder's.  It is cut off from that, so it will
# be gone there, and somebody on the other side waits for that with two votes.
# But one of these is forgotten, nobody there can know, and the server is the
# holder's now, which puts its key back.
ambush_healed() {
	local ms=$((RANDOM % 60 + 550)) i side other left
	settle
	pass 100
	choose_all 5 || return
	await_start
	read -r _ _ side _ <"$CHAOS_DIR/holder"
	side=${side:-${sides[0]}}
	other=$((sides[0] + sides[1] - side))
	strike STOP command 3000
	injected "hold back all but one contender on $other"
	kill -STOP "${loop[@]}"
	for i in "${chosen[@]:0:2}"; do
		injected "cut off server $i from $other"
		disconnect "$i" "$other"
	done
	for i in "${chosen[@]:2:2}"; do
		injected "cut off server $i from $side"
		disconnect "$i" "$side"
	done
	pass 1100
	# Until the lease there has just been renewed.
	for _ in {1..50}; do
		left=$(ask "${chosen[4]}" pttl "$key")
		((${left:-0} > ttl - 15)) && break
		sleep 0.01
	done
	injected "cut off server ${chosen[4]} from $side"
	disconnect "${chosen[4]}" "$side"
	pass "$ms"
	for i in "${contenders[@]}"; do
		[[ ${sides[i % 2]} != "$other" ]] || break
	done
	kill -CONT "${loop[i]}"
	pass 50
	disconnect "${chosen[2]}" "$other"
	restart_empty "${chosen[2]}" 0
	reconnect "${chosen[2]}" "$side"
	pass 1000
	for i in "${chosen[@]}"; do
		reconnect "$i" "${sides[@]}"
	done
	kill -CONT "${loop[@]}"
	settle
}

# The kinds of faults.  None comes again until all have come; what is there twice
# comes twice.
list_faults() {
	if [[ $CHAOS_MODE == patient ]]; then
		kinds=('outage below' 'outage below' 'outage above'
			kill_connections forget_scripts)
		return
	fi
	if [[ $CHAOS_MODE == sentinel ]]; then
		kinds=(fail_over fail_over fail_over kill_replica kill_sentinel
			freeze_sentinel cut_connections cut_connections
			'strike STOP holder' 'strike STOP both'
			'strike STOP command' 'strike KILL holder'
			'strike KILL any')
		return
	fi
	kinds=(freeze_servers cut_off kill_connections forget_scripts
		'strike STOP holder' 'strike STOP holder' 'strike STOP both'
		'strike STOP both' 'strike STOP command' 'strike STOP any'
		'strike KILL holder' 'strike KILL any')
	((!CHAOS_NETWORK)) || kinds+=(forget_connections forget_connections)
	((!CHAOS_CLOCKS)) || kinds+=(step_back)
	((!CHAOS_NETWORK)) || kinds+=(silence_dns move_address)
	((minority < 1)) || kinds+=(freeze_servers freeze_servers
		cut_off cut_off kill_server kill_server kill_server
		raise_fence raise_fence flush)
	((minority || !CHAOS_CLOCKS)) || kinds+=(step_back_cooldown)
	# No other contender may have a lock on those servers.
	case $CHAOS_MODE in
	three | five) ((!CHAOS_CLOCKS)) || kinds+=(step_forward) ;;
	esac
	((minority < 2)) || kinds+=(ambush_young ambush_young ambush_healed
		ambush_healed)
}
