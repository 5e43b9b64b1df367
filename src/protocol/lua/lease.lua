-- The length of a lease, what lasts as long, and the watch of a slot.

-- Returns the text of the first field of that name; nil if it is absent.
local function field(its, name)
	return (' ' .. its .. ' '):match(' ' .. name .. '=(%S*) ')
end

-- Returns the number in that field; nil if it is absent or unreadable.
local function number_in(its, name)
	local text = field(its, name)
	return text and text:find('^%d+$') and tonumber(text) or nil
end

-- Returns the length in ms in that field; nil if it is absent, unreadable or
-- below 100 ms, which is less than any TTL.
local function length_in(its, name)
	local ms = number_in(its, name)
	return ms and ms >= 100 and ms or nil
end

-- Returns for how long our lease has to last after a request for ms, when left_ms
-- are left of it.  A request never shortens it, because it may be a late one of
-- a smaller length, and the reply to a longer one may count already.  But nothing
-- lasts longer than the longest lease that its value names.
local function extended(its, ms, left_ms)
	ms = tonumber(ms)
	if left_ms <= ms then
		return ms
	end
	return math.max(ms, math.min(left_ms, length_in(its, 'ttl') or ms))
end

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
