-- How a tenure begins and ends.

local time_us
local function now_us()
	if not time_us then
		local time = call('TIME')
		time_us = time[1] * 1e6 + time[2]
	end
	return time_us
end

-- Never down, and kept for 30 days after its last use.
local function fence_raise(from, to)
	if to <= from then
		return from
	end
	call('SET', KEYS[2] .. 'fence', string.format('%.0f', to), 'PX', THIRTY_DAYS_MS)
	return to
end

-- Writes down the "start" of a run, its "end" (not ours any more: "lost"), or
-- that --break took its lock ("broken"):
-- the value, and what there is to say of it.  The last hundred runs at least
-- are kept, for 30 days after the last; Redis trims them a block at a time.  The
-- lock does not depend on it.
local function record(what, its, how)
	local runs = KEYS[2] .. 'runs'
	if type(redis.pcall('XADD', runs, 'MAXLEN', '~', '200', '*', what, its .. how)) == 'string' then
		call('PEXPIRE', runs, THIRTY_DAYS_MS)
	end
end

-- A value that its owner has since that time, or from now on.
local function value_of(its_id, details, since_us)
	return string.format('%ssince=%.0f %s', its_id, math.floor((since_us or now_us()) / 1000), details)
end

-- Raises the counter for a new tenure: above the last fence, and to the proposal,
-- our wall clock, unless that is too far ahead of the server's.  An empty counter
-- takes one of up to a day ahead.
local function fence_next(last, proposal)
	local most = now_us() + (last == 0 and 864e8 or 6e7)
	return fence_raise(last, math.max(last + 1, math.min(proposal, most)))
end

-- The reply of a grant to its, which starts a run unless start is empty.  A new
-- tenure raises the counter.  So does each grant of a single server, which may
-- skip numbers: COMMAND has not begun while the reply is on its way.
local function granted(its, proposal, raises, start, ahead)
	local last = fence()
	if raises or last == 0 then
		last = fence_next(last, proposal)
	end
	if start ~= '' then
		record('start', its, start)
	end
	return {1, last, ahead, slot, now_us()}
end

-- How many are in the queue, the dead included; and whether somebody may wait
-- for the lock, or hold another slot of it.
local queue = KEYS[2] .. 'queue'
local others = call('EXISTS', queue, KEYS[2] .. 'slots') > 0
local length = others and tonumber(redis.pcall('ZCARD', queue)) or others and 1 or 0
