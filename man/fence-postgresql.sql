-- A database refuses the writes of a run that has lost its lock: FENCES in
-- redlock-run(7).  For PostgreSQL; load it once: psql -f fence-postgresql.sql
--
-- The first statement of each transaction that writes:
--
--	SELECT redlock_fence_check('NAME', FENCE);
--
-- Its user needs SELECT, INSERT and UPDATE on the table.

CREATE TABLE redlock_fence (
	name text PRIMARY KEY,
	fence bigint NOT NULL CHECK (fence > 0)
);

CREATE FUNCTION redlock_fence_check(lock_name text, lock_fence bigint)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO redlock_fence AS f VALUES (lock_name, lock_fence)
	    ON CONFLICT (name) DO UPDATE SET fence = excluded.fence
	    WHERE f.fence <= excluded.fence;
	IF NOT FOUND THEN
		RAISE EXCEPTION 'stale fence: a later holder has written';
	END IF;
END
$$;

-- The function uses this table, whatever the search_path of its caller.
DO $$
BEGIN
	EXECUTE format('ALTER FUNCTION redlock_fence_check(text, bigint)'
	    ' SET search_path = %I, pg_temp', current_schema());
END
$$;
