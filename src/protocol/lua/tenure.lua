-- The beginning and the end of a tenure.

-- Never lowers the fence, and keeps it for 30 days after its last use.
local function fence_raise(from, to)
	if to <= from then
		return from
	end
	call('SET', KEYS[2] .. 'fence', string.format('%.0f', to), 'PX', THIRTY_DAYS_MS)
	return to
end

-- Appends an entry to a stream that keeps at least so many, for 30 days after the
-- last; Redis trims them a block at a time.  A failure does not affect the lock.
local function append(stream, least, ...)
	local key = KEYS[2] .. stream
	if type(redis.pcall('XADD', key, 'MAXLEN', '~', least, '*', ...)) == 'string' then
		call('PEXPIRE', key, THIRTY_DAYS_MS)
	end
end

-- Records an event of a run in the history: "start", "end" ("lost" if the lock
-- was no longer ours), or "broken" by --break; with the value and the text
-- `how`.  The history keeps the last hundred runs.
local function record(what, its, how)
	append('runs', '200', what, its .. how)
end

-- Builds a value whose owner has it since that time, or from now on.
local function value_of(its_id, details, since_us)
	return string.format('%ssince=%.0f %s', its_id, math.floor((since_us or now_us()) / 1000), details)
end

-- Records that a run did not get the lock, with the reason and the holder's
-- value.  These have a stream of their own, so that they push no run out.
local function record_skip(its_id, details, why, holder)
	append('skips', '100', 'skip', value_of(its_id, details) .. why, 'holder', holder or '')
end

-- Raises the counter for a new tenure: above the last fence, and to the
-- proposal, our wall clock, unless that is too far ahead of the server's clock.
-- An empty counter accepts a proposal up to a day ahead.
local function fence_next(last, proposal)
	local most = now_us() + (last == 0 and 864e8 or 6e7)
	return fence_raise(last, math.max(last + 1, math.min(proposal, most)))
end

-- Returns the reply of a grant; records the start of the run unless start is
-- empty.  A new tenure raises the counter.  On a single server each grant does,
-- and may skip numbers, because COMMAND has not started while the reply is on
-- its way.
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

-- Sets length, of the queue including dead waiters; and others, whether a run
-- may be waiting for the lock or holding another slot of it.
local queue = KEYS[2] .. 'queue'
local others = call('EXISTS', queue, KEYS[2] .. 'slots') > 0
local length = others and tonumber(redis.pcall('ZCARD', queue)) or others and 1 or 0
