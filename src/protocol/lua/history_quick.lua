-- history: empty id and token; reads all slots.  Replies with the server's time in
-- us, the runs, the tokens of the present holders, the skips, and the last success.  A lock that is
-- free or has one exclusive holder needs no more definitions; for the others see
-- history.lua.
-- ARGV:
--	skips	1 to read the skips and the last success
local found, passed = newest('runs', 200), ARG.skips == '1' and newest('skips', 100) or {}
if found.err or passed.err then
	return found.err and found or passed
end
entries, skipped = runs_in(found), skips_in(passed)
success = ARG.skips == '1' and kept_success()
local owner = value and value:match(OURS)
if capacity == 1 and (owner or not value) then
	return {now_us(), entries, owner and {owner:sub(1, 64)} or {}, skipped, success}
end
