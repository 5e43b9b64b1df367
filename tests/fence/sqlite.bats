#!/usr/bin/env bats
# A run that has lost its lock writes nothing more into SQLite.
# shellcheck disable=SC2154

load ../lib/common
load ../lib/fence

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	readme_block 'INSERT INTO redlock_fence' >statement
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
	# writes.py HOW TIMES FENCE: prints how many were refused.
	cat >writes.py <<-'END'
		from database import *
		how, times, fence = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
		refused = 0
		statement = open("statement").read()
		if how == "error":
		    statement = statement.partition("WHERE")[0]
		for _ in range(times):
		    db.execute("BEGIN")
		    try:
		        changed = db.execute(statement, {"name": "report", "fence": fence})
		        if changed.rowcount == 0:
		            raise sqlite3.IntegrityError("stale fence")
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

# writes HOW TIMES FENCE
writes() {
	/usr/bin/python3 writes.py "$@"
}

@test "SQLite refuses 1000 stale writes, by an error and by the rows changed" {
	local how
	for how in error rows; do
		[[ $(writes "$how" 1 2000) == 0 ]]
		[[ $(writes "$how" 500 1) == 500 ]]
		[[ $(writes "$how" 500 1999) == 500 ]]
		[[ $(fence_count true) == 1 ]]
		# The run itself writes on, and so does a later one.
		[[ $(writes "$how" 2 2000) == 0 ]]
		[[ $(writes "$how" 1 2001) == 0 ]]
		[[ $(fence_count true) == 4 ]]
		anew
	done
}

@test "SQLite refuses stale writes that come at the same time" {
	local how
	for how in error rows; do
		fence_race writes "$how" 100
		anew
	done
}

@test "each lock has a fence of its own in SQLite, and only one number is a fence" {
	local fence
	check() {
		sql <<<"$(sed "/WHERE/d; s/:name/$1/; s/:fence/$2/" statement)"
	}
	sed -i 's/excluded.fence$/&;/' statement
	check "'a'" 5
	check "'A'" 1
	check "'a '" 1
	for fence in 4 "''" "'5 6'" NULL 0 -1; do
		not check "'a'" "$fence"
	done
	[[ $(sql <<<"SELECT fence FROM redlock_fence WHERE name = 'a'") == 5 ]]
}
