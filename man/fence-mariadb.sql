-- A database refuses the writes of a run that has lost its lock: FENCES in
-- redlock-run(7).  For MariaDB; load it once: mariadb DATABASE <fence-mariadb.sql
--
-- The first statement of each transaction that writes:
--
--	CALL redlock_fence_check('NAME', FENCE);
--
-- Its user needs EXECUTE on the procedure.  A dump needs: mariadb-dump --routines

-- The names of locks are bytes: a text would ignore case and trailing blanks.
CREATE TABLE redlock_fence (
	name varbinary(512) PRIMARY KEY,
	fence bigint NOT NULL CHECK (fence > 0)
) ENGINE = InnoDB;

-- Clients count changed or found rows, so the row itself decides.
DELIMITER //
CREATE PROCEDURE redlock_fence_check(lock_name varbinary(512), lock_fence bigint)
BEGIN
	INSERT INTO redlock_fence VALUES (lock_name, lock_fence)
	    ON DUPLICATE KEY UPDATE fence = greatest(fence, lock_fence);
	IF (SELECT fence FROM redlock_fence WHERE name = lock_name
	    FOR UPDATE) > lock_fence THEN
		SIGNAL SQLSTATE '45000' SET
		    MESSAGE_TEXT = 'stale fence: a later holder has written';
	END IF;
END //
DELIMITER ;
