#!/usr/bin/env bats
# A run that has lost its lock writes nothing more into SQLite.
# shellcheck disable=SC2154

load ../lib/common
load ../lib/fence

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	readme_block 'sqlite3 -bail' >script
	sed -n "/^INSERT/,/;/{s/'report'/:name/; s/\$REDLOCK_FENCE/:fence/; p}" \
	    script >statement
	cat >database.py <<-'END'
		import sqlite3, sys
		# Without a transaction that it begins itself.
		db = sqlite3.connect("db", timeout=60, isolation_level=None)
		db.execute("PRAGMA synchronous = off")
	END
	cat >sql.py <<-'END'
		from database import *
		text = sys.stdin.read()
		if ";" in text[:-2]:
		    db.executescript(text)
		else:
		    for row in db.execute(text):
		        print(*row)
	END
	# writes.py TIMES FENCE: prints how many were refused.
	cat >writes.py <<-'END'
		from database import *
		times, fence = int(sys.argv[1]), int(sys.argv[2])
		refused = 0
		statement = open("statement").read()
		for _ in range(times):
		    db.execute("BEGIN")
		    try:
		        db.execute(statement, {"name": "report", "fence": fence})
		        db.execute("INSERT INTO work (fence) VALUES (?)", (fence,))
		        db.execute("COMMIT")
		    except sqlite3.IntegrityError as error:
		        assert "stale fence" in str(error)
		        db.execute("ROLLBACK")
		        refused += 1
		print(refused)
	END
	anew
}

teardown() { nothing_left; }

anew() {
	rm -f db*.db db
	sql <<-END
		$(<"$top/man/fence-sqlite.sql")
		CREATE TABLE work (n integer PRIMARY KEY, fence integer);
	END
}

# sql: the SQL on standard input, one query or a script.
sql() {
	/usr/bin/python3 sql.py
}

# writes TIMES FENCE
writes() {
	/usr/bin/python3 writes.py "$@"
}

@test "SQLite refuses 1000 stale writes" {
	[[ $(writes 1 2000) == 0 ]]
	[[ $(writes 500 1) == 500 ]]
	[[ $(writes 500 1999) == 500 ]]
	[[ $(fence_count true) == 1 ]]
	# The run itself writes on, and so does a later one.
	[[ $(writes 2 2000) == 0 ]]
	[[ $(writes 1 2001) == 0 ]]
	[[ $(fence_count true) == 4 ]]
}

@test "SQLite refuses stale writes that come at the same time" {
	fence_race writes 100
}

# written FENCE: prints what a run with that fence wrote by the manual's script.
written() {
	sqlite3 reports.db "UPDATE report SET body = 'old'"
	REDLOCK_FENCE=$1 sh script >said 2>&1 || grep 'stale fence' said >&2
	sqlite3 reports.db 'SELECT body FROM report'
}

@test "the shell of SQLite writes nothing for a run that has lost its lock, by the manual's script" {
	needs sqlite3
	sqlite3 reports.db <"$top/man/fence-sqlite.sql"
	sqlite3 reports.db "CREATE TABLE report (id integer, body text);
	    INSERT INTO report VALUES (7, 'old')"
	[[ $(written 2000) == 'done' ]]
	[[ $(written 1999) == old ]]
	[[ $(written 2001) == 'done' ]]
	# The row of a table that is ahead of the counter may go.
	readme_block 'DELETE FROM redlock_fence' | sqlite3 reports.db
	[[ $(written 1999) == 'done' ]]
}

@test "each lock has a fence of its own in SQLite, and only one number is a fence" {
	local fence
	check() {
		sql <<<"$(sed "s/:name/$1/; s/:fence/$2/" statement)"
	}
	check "'a'" 5
	check "'A'" 1
	check "'a '" 1
	for fence in 4 "''" "'5 6'" NULL 0 -1; do
		not check "'a'" "$fence"
	done
	[[ $(sql <<<"SELECT fence FROM redlock_fence WHERE name = 'a'") == 5 ]]
}
