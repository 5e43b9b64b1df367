#!/usr/bin/env bats
# The purpose of a lock: a sale with more buyers than goods, and a cron job on
# several hosts whose clocks disagree.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031
# bats file_tags=long

load ../lib/one_redis

## The flash sale.

# How many want one of 100 (half as many one of 50).
buyers=$((300 * ${SOAK:-1}))

# sale_crowd: how many of them can be in the shop at a time: as many as there
# are, but a fraction of them where a run takes long.
sale_crowd() {
	local took
	redlock -k warm -- true
	took=$(now_us)
	redlock -k warm -- true
	took=$(($(now_us) - took))
	echo $((took < 50000 ? 1000 : 60))
}

# sale BUYERS SCRIPT: that many run SCRIPT, each with its number as $1.
sale() {
	redlock -k warm -- true
	# not with -I, which would replace in SCRIPT as well
	seq "$1" | xargs -P "$(sale_crowd)" -n 1 "$REDLOCK_RUN" -k sale -w 30m -q -- \
	    sh -c "$2" sh 3>&- 4>&-
}

# sold N FILE: N different buyers have got the numbers N to 1, in that order.
sold() {
	cut -d ' ' -f 1 "$2" | diff <(seq "$1" -1 1) -
	[ "$(cut -d ' ' -f 2 "$2" | sort -u | wc -l)" = "$1" ]
}

# bats test_tags=soak
@test "100 buyers' runs sell a stock of 100 in a file exactly once" {
	echo 100 >stock
	sale "$buyers" '
		read -r left <stock
		echo "$left" >>seen
		if [ "$left" -gt 0 ]; then
			echo "$left $1" >>sold
			echo $((left - 1)) >stock
		fi'
	[ "$(cat stock)" = 0 ]
	[ "$(wc -l <seen)" = "$buyers" ]
	sold 100 sold
	not grep -q - seen
}

# bats test_tags=soak
@test "a stock of 50 in a Redis key is sold exactly once" {
	redis set stock 50
	sale "$((buyers / 2))" "
		left=\$($(cli get stock))
		echo \"\$left\" >>seen
		if [ \"\$left\" -gt 0 ]; then
			echo \"\$left \$1\" >>sold
			$(cli set stock) \$((left - 1)) >/dev/null
		fi"
	[ "$(redis get stock)" = 0 ]
	[ "$(wc -l <seen)" = "$((buyers / 2))" ]
	sold 50 sold
	not grep -q - seen
}

## The cron job

# sale_host OFFSET: a host whose clock is OFFSET seconds ahead: when its clock
# says that a tick has come, it runs the job.  A tick is at every multiple of
# `period` seconds, `ticks` of them after `first`.
sale_host() {
	local tick wait
	for ((tick = first; tick < first + ticks; tick++)); do
		wait=$(awk -v now="$EPOCHREALTIME" -v at="$((tick * period))" \
		    -v ahead="$1" 'BEGIN { print at - (now + ahead) }')
		[[ $wait == -* ]] || sleep "$wait"
		faketime -f "${1/#[0-9]/+&}s" "$REDLOCK_RUN" -q -E 0 -k job \
		    --min-hold "${min_hold}s" -- sh -c '
			echo "$1 $2" >>ran
			sleep 0.05' sh "$tick" "$1" || echo "$1: $?" >>failed
	done
}

@test "a cron job on hosts whose clocks differ by two seconds runs once per tick" {
	local period=13 ticks=2 min_hold=10 first offset hosts=()

	needs faketime
	[ "$(faketime -f +5s "$REDLOCK_RUN" -k warm -- echo ran || true)" = ran ] ||
		skip "needs a binary that faketime can load"
	first=$((EPOCHSECONDS / period + 1))
	# not with a tick that is over on the host that is ahead
	((first * period - EPOCHSECONDS > 2)) || first=$((first + 1))
	for offset in -1 -0.4 0.3 1; do
		sale_host "$offset" 3>&- 4>&- &
		hosts+=($!)
	done
	wait "${hosts[@]}"
	cat ran
	[ ! -e failed ]
	cut -d ' ' -f 1 ran | diff <(seq "$first" $((first + ticks - 1))) -
}
