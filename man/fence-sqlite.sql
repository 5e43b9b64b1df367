-- A database refuses the writes of a run that has lost its lock: FENCES in
-- redlock-run(7).  For SQLite; load it once: sqlite3 FILE <fence-sqlite.sql
--
-- The first statement of each transaction that writes:
--
--	INSERT INTO redlock_fence VALUES ('NAME', FENCE)
--	    ON CONFLICT (name) DO UPDATE SET fence = excluded.fence;
--
-- Roll back after an error.  The shell needs: sqlite3 -bail

CREATE TABLE redlock_fence (
	name text NOT NULL PRIMARY KEY,
	fence integer NOT NULL CHECK (typeof(fence) = 'integer' AND fence > 0)
);

CREATE TRIGGER redlock_fence_check BEFORE UPDATE ON redlock_fence
WHEN new.fence < old.fence
BEGIN
	SELECT raise(ABORT, 'stale fence: a later holder has written');
END;
