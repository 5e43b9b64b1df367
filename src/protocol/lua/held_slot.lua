-- The slot of this script, as every renewal needs it: its watch, and the number of
-- slots.

-- Reads the key that the client watches, if the request names one, after the last
-- write to it: a write ends the watch, and the server pushes the next change of
-- what was read.  Redis 6 and 7.0 watch all KEYS of a script with a read; later
-- versions watch what it reads.
local function watch()
	if KEYS[3] then
		call('EXISTS', KEYS[3])
	end
end

-- The slot of this script has this value for ms: keeps the number of slots as
-- long as the longest such time.
local function keep_slots(its, ms)
	local n = mode == 'slots' and its:match(' slots=(%d+)')
	if n and call('PTTL', KEYS[2] .. 'slots') < tonumber(ms) then
		call('SET', KEYS[2] .. 'slots', n, 'PX', ms)
	end
end
