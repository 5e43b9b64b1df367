#!/usr/bin/env bats
# --metrics: gauges for Prometheus.
# shellcheck disable=SC2154,SC2016,SC2030,SC2031

load ../lib/one_redis
load ../lib/readme

metrics() {
	run --separate-stderr redlock --metrics "$@"
}

# gauge NAME [LABEL]: its value; NAME without "redlock_".
gauge() {
	awk -v name="redlock_$1" -v label="${2-a}" '
	index($0, name "{") == 1 && index($0, "=\"" label "\"}") { print $NF }' \
	    <<<"$output"
}

# about VALUE LEAST MOST
about() {
	awk -v v="$1" -v least="$2" -v most="$3" \
	    'BEGIN { exit !(v ~ /^[0-9.]+$/ && v >= least && v <= most) }'
}

@test "--metrics shows holders, waiters, lease and age of a lock" {
	local holder
	hold a -t 1h
	holder=$bg_pid
	redlock_bg -k a -w inf -- true
	queue_is() { [ "$(redis zcard '{redlock:a}:~queue')" -eq 1 ]; }
	eventually queue_is
	metrics
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(gauge lock_holders)" = 1 ]
	[ "$(gauge lock_waiters)" = 1 ]
	about "$(gauge lock_lease_seconds)" 3000 3600
	about "$(gauge lock_held_seconds)" 0 60
	[ -z "$(gauge last_run_status)" ]
	[ "$(gauge server_up "unix://$BATS_FILE_TMPDIR/redis.sock")" = 1 ]
	about "$(gauge server_round_trip_seconds "unix://$BATS_FILE_TMPDIR/redis.sock")" 0 5
	kill "$bg_pid"
	wait "$bg_pid" || true
	bg_pid=$holder
	let_go
}

@test "--metrics shows the last run that ended and the last success" {
	local before success
	before=$(date +%s)
	redlock -k a -- sleep 0.1
	metrics
	[ "$(gauge lock_holders)" = 0 ]
	[ -z "$(gauge lock_lease_seconds)$(gauge lock_held_seconds)" ]
	[ "$(gauge last_run_status)" = 0 ]
	about "$(gauge last_run_duration_seconds)" 0.1 60
	success=$(gauge last_success_timestamp_seconds)
	about "$success" "$((before - 1))" "$((before + 60))"
	# Each is as exact as the clock with which it was recorded.
	about "$(gauge last_run_start_timestamp_seconds)" "$((${success%.*} - 1))" "$((${success%.*} + 1))"
	redlock -k a -- sh -c 'exit 3' || true
	metrics
	[ "$(gauge last_run_status)" = 3 ]
	[ "$(gauge last_success_timestamp_seconds)" = "$success" ]
	redlock -k a -- sh -c 'kill -KILL $$' || true
	metrics a
	[ "$(gauge last_run_status)" = 137 ]
	redlock -k a --max-run 100ms -- sleep 1000 || true
	metrics -k a
	[ "$(gauge last_run_status)" = 124 ]
	redlock -k a -- redis-cli -s "$BATS_FILE_TMPDIR/redis.sock" \
	    del redlock:a || true
	metrics
	[ "$(gauge last_run_status)" = 79 ]
	# One that runs has not ended.
	hold a
	metrics
	[ "$(gauge last_run_status)" = 79 ]
	kill -KILL "$bg_pid"
	wait "$bg_pid" || true
	redis del redlock:a >/dev/null
	metrics
	[ "$(gauge last_run_status)" = -1 ]
}

@test "--metrics shows when a run last did not get the lock, even if none ever did" {
	local before skip
	redlock -k a -- true
	metrics
	[ -z "$(gauge last_skip_timestamp_seconds)" ]
	before=$(date +%s)
	redis set redlock:a somebody
	redis set redlock:b somebody
	run -75 redlock -k a -- true
	run -75 redlock -k b -- true
	redis del redlock:a redlock:b
	metrics
	skip=$(gauge last_skip_timestamp_seconds)
	about "$skip" "$((before - 1))" "$((before + 60))"
	[ "$(gauge last_run_status)" = 0 ]
	about "$(gauge last_skip_timestamp_seconds b)" "$skip" "$((before + 60))"
	[ -z "$(gauge last_run_status b)" ]
	[ "$(gauge lock_holders b)" = 0 ]
}

# run_at SECOND STATUS [DELAY]: a run began then and ended after 5 s, in the history
# of "a"; its start was recorded DELAY later, of a run that was handed the lock.
run_at() {
	local run="redlock-run/2 token=t$1 try=1 since=${1}000 pid=1 host=h user=u command=c"
	redis xadd "$runs" "$(($1 + ${3:-0}))000-*" start "$run waited=0" >/dev/null
	redis xadd "$runs" "$(($1 + 5))000-*" end \
	    "$run waited=0 ran=5000 ended=exited status=$2" >/dev/null
	(($2 != 0)) || redis set '{redlock:a}:~success' "$run ran=5000" >/dev/null
}

# shown SUCCESS START STATUS: --metrics shows these; empty: none.
shown() {
	metrics
	[ "$(gauge last_success_timestamp_seconds)" = "${1:+$1.000}" ]
	[ "$(gauge last_run_start_timestamp_seconds)" = "${2:+$2.000}" ]
	[ "$(gauge last_run_status)" = "$3" ]
}

@test "--metrics shows the run that ended last, behind others that are running" {
	local runs='{redlock:a}:~runs'
	run_at 1000 0
	shown 1000 1000 0
	run_at 1010 1
	shown 1000 1010 1
	# One that was handed the lock, and one that began meanwhile, in another slot.
	run_at 2020 6
	redis xadd "$runs" 2032000-1 start 'redlock-run/2 token=x try=1 since=2031000 pid=1 host=h user=u command=c waited=0'
	run_at 2030 0 3
	shown 2030 2031 -1
	redis set redlock:a 'redlock-run/2 token=x try=1 since=2031000 pid=1 host=h user=u command=c ttl=60000' px 60000
	shown 2030 2030 0
}

@test "--metrics reads of a long history only what it needs" {
	local i runs='{redlock:a}:~runs' before after
	sent() { redis info stats | sed -n 's/^total_net_output_bytes:\([0-9]*\).*/\1/p'; }
	for i in {100..150}; do
		run_at "${i}0" 0
	done
	metrics
	before=$(sent)
	metrics
	after=$(sent)
	# The whole history is above 10 kB.  The replies to INFO count, too.
	echo "$((after - before)) bytes"
	((after - before < 8000))
	[ "$(gauge last_success_timestamp_seconds)" = 1500.000 ]
}

@test "--metrics exits with 0 and shows an outage as redlock_server_up 0" {
	redlock -k a -- true
	metrics -r "$REDLOCK_REDIS" -r unix:///nowhere -r unix:///nowhere2
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[ "$(gauge server_up unix:///nowhere)" = 0 ]
	[ -z "$(gauge server_round_trip_seconds unix:///nowhere)" ]
	[ "$(gauge server_up "$REDLOCK_REDIS")" = 1 ]
	[[ $output != *redlock_l* ]]
	run -64 redlock --metrics --prefix ''
	run -64 redlock --metrics --json
	run -64 redlock --metrics -w 1s
}

@test "--metrics passes promtool check metrics, whatever the names" {
	needs promtool prometheus
	redis set 'redlock:"quoted" \ back' somebody
	redis set $'redlock:\x01\x1b[31m\n\xff' somebody
	redis set 'redlock:\x01\x1b[31m' somebody
	redis set 'redlock:€😀{}=,' somebody px 60000
	redlock -k a -- true
	metrics
	[ "$status" -eq 0 ]
	clean
	promtool check metrics <<<"$output"
	[ "$(grep -c '^redlock_lock_holders{' <<<"$output")" -eq 5 ]
}

# alerts SERIES VALUES [ALERT MINUTE]...: by the manual's rules, each ALERT fires in
# that minute and not in the one before; SERIES has these values, one a minute.
alerts() {
	local series=$1 values=$2
	{
		printf 'groups:\n- name: manual\n  rules:\n'
		readme_block NightlyOverdue | sed 's/^/  /'
	} >rules.yml
	cat >alerts.yml <<-END
		rule_files: [rules.yml]
		evaluation_interval: 1m
		tests:
		- interval: 1m
		  input_series:
		  - series: '$series'
		    values: '$values'
		  alert_rule_test:
	END
	shift 2
	while (($#)); do
		cat >>alerts.yml <<-END
			  - {eval_time: $(($2 - 1))m, alertname: $1, exp_alerts: []}
			  - {eval_time: $2m, alertname: $1, exp_alerts: [{exp_labels: {$3}}]}
		END
		shift 3
	done
	promtool test rules alerts.yml
}

@test "the manual's alerts fire when a job is overdue, when nothing is known of it, and when a server is down" {
	needs promtool prometheus
	cd "$BATS_TEST_TMPDIR"
	redlock -k nightly -- true
	metrics
	grep -q '^redlock_last_success_timestamp_seconds{lock="nightly"} ' <<<"$output"
	grep -q '^redlock_server_up{server=' <<<"$output"
	# 26 hours after a success in minute 0, and 15 minutes more.
	alerts 'redlock_last_success_timestamp_seconds{lock="nightly"}' 0x1700 \
	    NightlyOverdue 1576 'lock: nightly'
	# The sample of a success that nobody knows any more, or never knew.
	alerts 'redlock_last_success_timestamp_seconds{lock="nightly"}' '60x10 stale _x1000' \
	    NightlyOverdue 26 'lock: nightly'
	alerts 'redlock_last_success_timestamp_seconds{lock="other"}' 0x100 \
	    NightlyOverdue 15 'lock: nightly' RedisDown 5 ''
	alerts 'redlock_server_up{server="s"}' '1x9 0x100' RedisDown 15 'server: s'
}

@test "--metrics gives different locks different labels and escapes them" {
	redis set $'redlock:\x01' somebody
	redis set 'redlock:\x01' somebody
	redis set 'redlock:"' somebody
	metrics
	clean
	grep -qxF 'redlock_lock_holders{lock="\\x01"} 1' <<<"$output"
	grep -qxF 'redlock_lock_holders{lock="\\\\x01"} 1' <<<"$output"
	grep -qxF 'redlock_lock_holders{lock="\""} 1' <<<"$output"
}

@test "--metrics reads a thousand locks with pipelined requests" {
	local i
	for i in {1..1000}; do
		echo "SET redlock:lock-$i somebody PX 600000"
	done | redis >/dev/null
	redis config resetstat
	metrics
	[ "$(grep -c '^redlock_lock_holders{' <<<"$output")" -eq 1000 ]
	# One script a lock; a reply for each would be as many reads.
	[ "$(scripts_run)" -eq 1000 ]
	(($(redis info stats | sed -n 's/^total_reads_processed:\([0-9]*\).*/\1/p') < 900))
}

@test "--metrics: a key of another type hides its own lock and no other" {
	redis set redlock:good x px 60000
	redis sadd '{redlock:bad}:~queue' x
	redis xadd '{redlock:bad}:~runs' '*' start 'redlock-run/2 token=a try=1 since=1 pid=1'
	run -0 --separate-stderr redlock --metrics
	grep -q '^redlock_server_up{.*} 1$' <<<"$output"
	grep -q 'lock="good"' <<<"$output"
}

# locks FROM TO [SERVER]: these locks exist, with values of another program.
locks() {
	seq -f 'SET redlock:%.0f x' "$1" "$2" |
		redis-cli --user admin --pass x --no-auth-warning \
		    -s "$BATS_FILE_TMPDIR/${3:-redis}.sock" --pipe 3>&- |
		grep -q 'errors: 0'
}

@test "--metrics: a server with more than 100000 locks is up, but lists none, and says so" {
	local url=unix://$BATS_FILE_TMPDIR/redis.sock

	locks 1 100001
	metrics
	[ "$status" -eq 0 ]
	[ "$stderr" = "redlock-run: $url: it lists more than 100000 locks; name some with -k" ]
	[ "$(gauge server_up "$url")" = 1 ]
	[ "$(gauge server_locks_listed "$url")" = 0 ]
	not grep '^redlock_lock_' <<<"$output"
	metrics -k 7
	[ -z "$stderr" ]
	[ "$(gauge server_locks_listed "$url")" = 1 ]
	[ "$(gauge lock_holders 7)" = 1 ]
}

@test "exactly 100000 locks are not too many, and the slots of a lock count once" {
	local url=unix://$BATS_FILE_TMPDIR/mute.sock

	# It lists its locks, but does not run the scripts that read them.
	redis_start mute --rename-command EVAL ''
	locks 1 100000 mute
	run -69 --separate-stderr redlock --status -r "$url"
	says 'this server does not run scripts'
	locks 100001 100001 mute
	run -69 --separate-stderr redlock --status -r "$url"
	says 'it lists more than 100000 locks'
	redis_kill mute
	seq 2 1000 | awk '{ for (n = 1; n <= 101; n++)
		print "SET {redlock:" n "}:~" $1 " x" }' |
		redis-cli --user admin --pass x --no-auth-warning \
		    -s "$BATS_FILE_TMPDIR/redis.sock" --pipe 3>&- |
		grep -q 'errors: 0'
	metrics
	[ -z "$stderr" ]
	[ "$(grep -c '^redlock_lock_holders{' <<<"$output")" -eq 101 ]
}

@test "--metrics: a server whose user lacks a permission is up, and names it" {
	local url=unix://$BATS_FILE_TMPDIR/redis.sock

	redis acl setuser default -scan
	metrics
	redis acl setuser default +scan
	[ "$status" -eq 0 ]
	[[ $stderr == *"$url: allow it with: ACL SETUSER default +scan" ]]
	[ "$(gauge server_up "$url")" = 1 ]
	[ "$(gauge server_locks_listed "$url")" = 0 ]
}

@test "--metrics: a server whose user may not ask for the time is up, and names that" {
	local url=unix://$BATS_FILE_TMPDIR/redis.sock

	redis set redlock:a x
	redis acl setuser default -time
	metrics
	redis acl setuser default +time
	[ "$status" -eq 0 ]
	[[ $stderr == *"$url: allow it with: ACL SETUSER default +time" ]]
	[ "$(gauge server_up "$url")" = 1 ]
	[ "$(gauge server_locks_listed "$url")" = 0 ]
}

@test "--metrics: a server that lists its locks but runs no scripts is up, and says so" {
	local url=unix://$BATS_FILE_TMPDIR/mute.sock

	redis_start mute --rename-command EVAL ''
	redis_at mute set redlock:a x
	metrics -r "$url"
	[ "$status" -eq 0 ]
	says 'this server does not run scripts'
	[ "$(gauge server_up "$url")" = 1 ]
	[ "$(gauge server_locks_listed "$url")" = 0 ]
	not grep '^redlock_lock_' <<<"$output"
}

@test "--metrics: a server that refuses the password is not up, and says so" {
	redis acl setuser default resetpass '>secret'
	metrics
	[ "$status" -eq 0 ]
	says 'the server requires a password'
	[ "$(gauge server_up "$REDLOCK_REDIS")" = 0 ]
}
