-- The length of a lease.

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
