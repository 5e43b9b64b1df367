#!/usr/bin/env bats
# A run that has lost its lock writes nothing more into MariaDB.
# shellcheck disable=SC2154

load ../lib/common
load ../lib/fence

setup_file() {
	local dir=$BATS_FILE_TMPDIR/mariadb
	local as=()
	((EUID != 0)) || as=(--user=root)
	command -v mariadbd >/dev/null || return 0
	mkdir "$dir"
	mariadb-install-db --no-defaults "${as[@]}" --datadir="$dir/data" \
	    --auth-root-authentication-method=normal --skip-test-db >"$dir/log"
	mariadbd --no-defaults "${as[@]}" --datadir="$dir/data" \
	    --socket="$dir/socket" --skip-networking --pid-file="$dir/pid" \
	    --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=8M \
	    --sync-binlog=0 </dev/null >>"$dir/log" 2>&1 3>&- 4>&- &
	eventually sql_answers
}

setup() {
	[[ -e $BATS_FILE_TMPDIR/mariadb ]] || skip "needs MariaDB (mariadb-server)"
	cd "$BATS_TEST_TMPDIR" || return
	sql --database= <<-'END'
		DROP DATABASE IF EXISTS fence;
		CREATE DATABASE fence;
	END
	sql <"$top/man/fence-mariadb.sql"
	sql <<-'SQL'
		CREATE TABLE work (n int AUTO_INCREMENT PRIMARY KEY,
		    fence bigint NOT NULL) ENGINE = InnoDB;
		DELIMITER //
		-- So many transactions: an error rolls back, as in a program.
		CREATE PROCEDURE writes(times int, number bigint, again boolean)
		BEGIN
			DECLARE refused int DEFAULT 0;
			WHILE times > 0 DO
				BEGIN
					DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN
						ROLLBACK;
						SET refused = refused + 1;
						SET times = times + IF(again, 1, 0);
					END;
					START TRANSACTION;
					CALL redlock_fence_check('report', number);
					INSERT INTO work (fence) VALUES (number);
					COMMIT;
				END;
				SET times = times - 1;
			END WHILE;
			SELECT refused;
		END //
	SQL
}

teardown() { nothing_left; }

teardown_file() {
	[[ ! -e $BATS_FILE_TMPDIR/mariadb ]] ||
		kill -TERM "$(<"$BATS_FILE_TMPDIR/mariadb/pid")"
	wait
}

# sql [ARG...]
sql() {
	mariadb --no-defaults --socket="$BATS_FILE_TMPDIR/mariadb/socket" \
	    --user=root --database=fence --skip-column-names "$@" 3>&- 4>&-
}

sql_answers() {
	sql --database= <<<'SELECT 1;'
}

@test "MariaDB refuses 1000 stale writes" {
	[[ $(sql <<<'CALL writes(1, 2000, false);') == 0 ]]
	[[ $(sql <<<'CALL writes(500, 1, false);') == 500 ]]
	[[ $(sql <<<'CALL writes(500, 1999, false);') == 500 ]]
	[[ $(fence_count true) == 1 ]]
	# The run itself writes on, and so does a later one.
	[[ $(sql <<<'CALL writes(2, 2000, false);') == 0 ]]
	[[ $(sql <<<'CALL writes(1, 2001, false);') == 0 ]]
	[[ $(fence_count true) == 4 ]]
}

# race LEVEL FENCE: 100 writes.  The last run tries again after a deadlock.
race() {
	sql <<<"SET SESSION TRANSACTION ISOLATION LEVEL $1;
	    CALL writes(100, $2, $2 = 5);"
}

@test "MariaDB refuses stale writes that come at the same time, at each level" {
	local level
	for level in 'READ COMMITTED' 'REPEATABLE READ' SERIALIZABLE; do
		fence_race race "$level"
		sql <<<'TRUNCATE work; TRUNCATE redlock_fence;'
	done
}

waits_for_lock() {
	[[ $(sql <<<"SELECT count(*) FROM information_schema.innodb_trx
	    WHERE trx_state = 'LOCK WAIT';") == 1 ]]
}

# locked: a transaction has locked a row, and has not ended.
locked() {
	[[ $(sql <<<"SELECT count(*) FROM information_schema.innodb_trx
	    WHERE trx_rows_modified > 1;") == 1 ]]
}

@test "a write that waited for a later holder's transaction in MariaDB is refused" {
	local later pid
	mkfifo to-later
	sql --unbuffered <to-later &
	later=$!
	exec 5>to-later
	echo "START TRANSACTION;
	    CALL redlock_fence_check('report', 7);
	    INSERT INTO work (fence) VALUES (7);" >&5
	eventually locked
	sql <<<'CALL writes(1, 6, false);' >refused 5>&- &
	pid=$!
	eventually waits_for_lock
	echo 'COMMIT;' >&5
	exec 5>&-
	wait "$pid"
	wait "$later"
	[[ $(<refused) == 1 && $(sql <<<'SELECT fence FROM work;') == 7 ]]
}

@test "MariaDB refuses a stale write in every sql_mode, whatever rows the client counts" {
	local fence flag
	for flag in --init-command='SET sql_mode = ""' \
	    --init-command='SET sql_mode = "ANSI,TRADITIONAL"'; do
		sql "$flag" <<<"CALL redlock_fence_check('a', 5);
		    CALL redlock_fence_check('A', 1);
		    CALL redlock_fence_check('a ', 1);"
		for fence in 4 "''" NULL 0 -1; do
			not sql "$flag" <<<"CALL redlock_fence_check('a', $fence);"
		done
		[[ $(sql <<<"SELECT fence FROM redlock_fence
		    WHERE name = 'a';") == 5 ]]
	done
	sql <<<"CALL redlock_fence_check('a', 5);"
	not sql <<<"CALL redlock_fence_check('a', '6 7');"
	sql <<<"$(readme_block 'CALL redlock' | sed "s/:name/'a'/; s/:fence/6/")"
	not sql <<<"$(readme_block 'CALL redlock' | sed "s/:name/'a'/; s/:fence/5/")"
}
