#!/usr/bin/env bats
# A run that has lost its lock writes nothing more into PostgreSQL.
# shellcheck disable=SC2016,SC2154

load ../lib/common
load ../lib/fence

# It refuses to run as root.
as=()
((EUID != 0)) || as=(setpriv --reuid 65534 --regid 65534 --clear-groups)

setup_file() {
	local dir=$BATS_FILE_TMPDIR/postgresql
	redis_start
	programs=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
	[[ -x $programs/postgres ]] || return 0
	chmod a+x "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR"
	mkdir -m 777 "$dir"
	"${as[@]}" "$programs/initdb" -D "$dir/data" -U fence -A trust -N \
	    -E UTF8 >"$dir/log"
	"${as[@]}" "$programs/postgres" -D "$dir/data" -k "$dir" -F \
	    -c listen_addresses= -c log_min_messages=fatal </dev/null >>"$dir/log" 2>&1 3>&- 4>&- &
	echo "$!" >"$dir/pid"
	eventually sql_answers
	createdb -h "$dir" -U fence fence
}

setup() {
	[[ -e $BATS_FILE_TMPDIR/postgresql ]] || skip "needs PostgreSQL (postgresql)"
	redis_reset
	cd "$BATS_TEST_TMPDIR" || return
	sql -q -v ON_ERROR_STOP=1 <<-END
		DROP SCHEMA public CASCADE;
		CREATE SCHEMA public;
		CREATE TABLE work (n serial, fence bigint);
		\\i $top/man/fence-postgresql.sql
	END
}

teardown() { nothing_left; }

teardown_file() {
	local dir=$BATS_FILE_TMPDIR/postgresql
	[[ ! -e $dir ]] || kill -INT "$(<"$dir/pid")"
	wait
	redis_stop_all
}

# sql [ARG...]
sql() {
	PGOPTIONS='-c client_min_messages=warning' psql -X -A -t \
	    -h "$BATS_FILE_TMPDIR/postgresql" -U fence -d fence "$@" 3>&- 4>&-
}

sql_answers() {
	sql -d postgres </dev/null
}

# times N TEXT
times() {
	local text
	printf -v text '%*s' "$1" ''
	echo "${text// /$2}"
}

# writes N FENCE [BEGIN]: the SQL of that many transactions.
writes() {
	times "$1" "${3:-BEGIN};
		SELECT redlock_fence_check('report', $2);
		INSERT INTO work (fence) VALUES ($2);
		COMMIT;"
}

@test "PostgreSQL refuses 1000 stale writes" {
	writes 1 2000 | sql
	{ writes 500 1; writes 500 1999; } | sql -q 2>said || true
	[[ $(grep -c 'stale fence' said) == 1000 ]]
	[[ $(fence_count true) == 1 ]]
	# The run itself writes on, and so does a later one.
	{ writes 2 2000; writes 1 2001; } | sql
	[[ $(fence_count true) == 4 ]]
}

@test "the function of PostgreSQL finds its table outside of the search_path, and beside another one" {
	sql -q <<<"CREATE SCHEMA locks; SET search_path = locks;
		\i $top/man/fence-postgresql.sql"
	check() {
		sql -v ON_ERROR_STOP=1 <<<"SET search_path = $1;
			CREATE TEMPORARY TABLE redlock_fence (name text, fence bigint);
			SELECT locks.redlock_fence_check('a', $2);"
	}
	check "''" 5
	check public 6
	not check public 5
	not check "''" 4
	[[ $(sql <<<'SELECT fence FROM locks.redlock_fence;') == 6 ]]
	[[ $(sql <<<'SELECT count(*) FROM public.redlock_fence;') == 0 ]]
	sql -q <<<'DROP SCHEMA locks CASCADE;'
}

# race BEGIN FENCE: 100 writes.  The last run tries again for those that were
# refused: another one wrote at the same time.
race() {
	local left=100
	for _ in {1..20}; do
		writes "$left" "$2" "$1" | sql -q 2>>said || return
		(($2 == 5)) || return 0
		left=$((100 - $(fence_count 'fence = 5')))
		((left > 0)) || return 0
	done
}

@test "PostgreSQL refuses stale writes that come at the same time, at each level" {
	local level
	for level in 'READ COMMITTED' 'REPEATABLE READ' SERIALIZABLE; do
		sql -q <<<'TRUNCATE work; TRUNCATE redlock_fence;'
		fence_race race "BEGIN ISOLATION LEVEL $level"
	done
}

waits_for_lock() {
	[[ $(sql <<<"SELECT count(*) FROM pg_stat_activity
	    WHERE wait_event_type = 'Lock';") == 1 ]]
}

# overtaken BEGIN: a write waits behind a later holder's transaction.  What became
# of it is in ./said.
overtaken() {
	local later pid
	mkfifo to-later
	sql -q <to-later &
	later=$!
	exec 5>to-later
	writes 1 7 | sed '/COMMIT/d' >&5
	eventually wrote 7
	writes 1 6 "$1" | sql -q -v VERBOSITY=verbose >said 2>&1 5>&- &
	pid=$!
	eventually waits_for_lock
	echo 'COMMIT;' >&5
	exec 5>&-
	wait "$pid" "$later"
	rm to-later
	[[ $(sql <<<'SELECT fence FROM work;') == 7 ]]
	sql -q <<<'TRUNCATE work; TRUNCATE redlock_fence;'
}

# wrote FENCE: a transaction has, but has not ended.
wrote() {
	[[ $(sql <<<"SELECT count(*) FROM pg_stat_activity WHERE
	    state = 'idle in transaction' AND query LIKE '%($1);';") == 1 ]]
}

@test "a write that waited for a later holder's transaction is refused, or gets 40001" {
	overtaken BEGIN
	grep 'P0001: stale fence' said
	overtaken 'BEGIN ISOLATION LEVEL REPEATABLE READ'
	grep 40001 said
	overtaken 'BEGIN ISOLATION LEVEL SERIALIZABLE'
	grep 40001 said
}

@test "each lock has a fence of its own, and only one number is a fence" {
	local fence
	sql -q <<<"SELECT redlock_fence_check('a', 5);
		SELECT redlock_fence_check('A', 1);
		SELECT redlock_fence_check('a ', 1);"
	for fence in 4 "''" "'5 6'" NULL 0 -1; do
		not sql -v ON_ERROR_STOP=1 \
		    <<<"SELECT redlock_fence_check('a', $fence);"
	done
	[[ $(sql <<<"SELECT fence FROM redlock_fence WHERE name = 'a';") == 5 ]]
}

@test "a run that has lost its lock is refused, by the example of the manual" {
	sql -q <<<"CREATE TABLE report (id integer, body text);
	    INSERT INTO report VALUES (7, '');"
	readme_block 'psql -v' >script
	export PGHOST=$BATS_FILE_TMPDIR/postgresql PGUSER=fence PGDATABASE=fence
	redlock_bg -k report --on-loss warn -- sh -c '
		until [ -e broken ]; do sleep 0.02; done
		sed s/done/late/ script | sh'
	eventually held report
	redis del redlock:report
	redlock -k report -- sh script
	touch broken
	redlock_ended 3
	grep 'stale fence' "$bg_err"
	[[ $(sql <<<'SELECT body FROM report;') == 'done' ]]
}
