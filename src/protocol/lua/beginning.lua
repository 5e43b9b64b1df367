-- The beginning of a tenure.

-- Never lowers the fence, and keeps it for 30 days after its last use.
local function fence_raise(from, to)
	if to <= from then
		return from
	end
	call('SET', KEYS[2] .. 'fence', string.format('%.0f', to), 'PX', THIRTY_DAYS_MS)
	return to
end

-- Whether the run may get a place in the queue, and has to leave it.
local queues = length > 0

-- Returns an error if the user may not release the lock, or not leave the queue:
-- tries each command of the release on a key that never exists.  Call it only
-- after the first write of the script: Redis checks its memory only until a script
-- has written, and DEL would count as that write.
local function lacks_right()
	local function denied(command, ...)
		local done = redis.pcall(command, KEYS[2] .. 'none', ...)
		return type(done) == 'table' and done.err and done
	end
	return denied('DEL') or denied('PEXPIRE', 1) or
		queues and (denied('ZREM', '') or denied('HDEL', '')) or
		shared and (denied('HGET', '') or denied('HGETALL') or denied('HDEL', '') or denied('ZSCORE', ''))
end

-- Sets the lock, unless it exists.  Returns whether it did, or an error as a
-- table.  Our own lock expires at once if we may not release it; that takes only
-- SET, which has just worked.
local function set_lock(its, ms, is_ours)
	local done = redis.pcall('SET', lock, its, 'NX', 'PX', ms)
	local failed = done and (done.err and done or is_ours and lacks_right())
	if failed and not done.err then
		call('SET', lock, its, 'XX', 'PX', 1)
	end
	return failed or done and true
end

-- Builds a value whose owner has it since that time, or from now on.
local function value_of(its_id, details, since_us)
	return string.format('%ssince=%.0f %s', its_id, math.floor((since_us or now_us()) / 1000), details)
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
	return {
		[REPLY.GRANTED] = 1, [REPLY.FENCE] = last, [REPLY.AHEAD] = ahead,
		[REPLY.SLOT] = slot, [REPLY.NOW] = now_us(),
	}
end

-- Returns the value of the last success if that run began less than ms ago.  A start
-- that is ahead of the clock counts too, but only within ms: the clock may have been
-- set back.
local function ran_lately(ms)
	local its, since_ms = last_success()
	return its and math.abs(now_us() / 1e3 - since_ms) < ms and its
end
