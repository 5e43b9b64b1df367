-- What every renewal needs: the watch of a slot, and the number of slots.

-- Reads the slot's key that the client watches, if it is a third one, after the
-- last write to it: a write ends the watch, and the server pushes the next change
-- of what was read.  Redis 6 and 7.0 watch the KEYS of a script that reads anything,
-- and later versions what it reads.
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
