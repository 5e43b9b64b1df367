-- history: empty id and token; reads all slots.  Replies with the server's time in
-- us; the last entries, newest first, each as its id, its word and its text; the
-- tokens of the present holders; and the skips, each as its id, the text of the run
-- and the value of the holder.  A lock that is free or has one exclusive holder
-- needs no more definitions; for the others see history.lua.
-- ARGV:
--	skips	1 to read the skips
local entries, skipped = {}, {}

local function newest(stream, count)
	local found = redis.pcall('XREVRANGE', KEYS[2] .. stream, '+', '-', 'COUNT', count)
	return found.err and found.err:find('WRONGTYPE', 1, true) and {} or found
end

local runs, skips = newest('runs', 200), ARG.skips == '1' and newest('skips', 100) or {}
if runs.err or skips.err then
	return runs.err and runs or skips
end
for _, entry in ipairs(runs) do
	local n, fields = #entries, entry[2]
	entries[n + 1], entries[n + 2], entries[n + 3] = entry[1], fields[1]:sub(1, 8), fields[2]:sub(1, 1600)
end
for _, entry in ipairs(skips) do
	local n, fields = #skipped, entry[2]
	skipped[n + 1], skipped[n + 2] = entry[1], fields[2]:sub(1, 1600)
	skipped[n + 3] = (fields[4] or ''):sub(1, 1024)
end
local owner = value and value:match(OURS)
if capacity == 1 and (owner or not value) then
	return {now_us(), entries, owner and {owner:sub(1, 64)} or {}, skipped}
end
