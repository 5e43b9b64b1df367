-- metrics: a status, with the runs and the skips.
-- ARGV:
--	brief	1: reads the last skip, and the runs back to the start of the last
--		success.  For several servers that is too little: a run may be a
--		success on one and lost on the others

-- Whether the entries reach back to the start of the newest run that has succeeded.
local function reaches_success(found)
	for _, entry in ipairs(found) do
		local word, text = entry[2][1], entry[2][2] .. ' '
		local _, since_ms = text:match(OURS .. ' try=%d+ since=(%d+) ')
		if word == 'end' and since_ms and text:find(' ended=exited status=0 ', 1, true) then
			return tonumber(found[#found][1]:match('^%d+')) <= tonumber(since_ms)
		end
	end
end

local brief = ARG.brief == '1'
local found, passed = {}, newest('skips', brief and 1 or 100)
for _, count in ipairs(brief and {3, 16, 200} or {200}) do
	found = newest('runs', count)
	if found.err or #found < count or reaches_success(found) then
		break
	end
end
if found.err or passed.err then
	return found.err and found or passed
end
entries, skipped = runs_in(found), skips_in(passed)
