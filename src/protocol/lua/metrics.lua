-- metrics: a status, with the runs, the skips and the last success.
-- ARGV:
--	brief	1: reads the last skip, and of a lock without slots and readers the
--		last entries, enough for the run that ended last.  For several
--		servers that is too little: a run may have ended on one and be lost
--		on the others
local brief = ARG.brief == '1'
local exclusive = capacity == 1 and value ~= SHARED
local found, passed = newest('runs', brief and exclusive and 3 or 200), newest('skips', brief and 1 or 100)
if found.err or passed.err then
	return found.err and found or passed
end
entries, skipped, success = runs_in(found), skips_in(passed), kept_success()
