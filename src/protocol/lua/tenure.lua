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
-- was no longer ours), or "broken" by --break; with the value, the text `how`,
-- and the slot if the value is of a lock with slots.  The history keeps the last
-- hundred runs.
local function record(what, its, how)
	how = mode == 'slots' and its:find(' slots=%d') and how .. ' slot=' .. slot or how
	append('runs', '200', what, its .. how)
end

-- Returns an error if the user may not release the lock: tries each command of
-- the release on a key that never exists.  Call it only after the first write of
-- the script: Redis checks its memory only until a script has written, and DEL
-- would count as that write.
local function lacks_right()
	local function denied(command, ...)
		local done = redis.pcall(command, KEYS[2] .. 'none', ...)
		return type(done) == 'table' and done.err and done
	end
	return denied('DEL') or denied('PEXPIRE', 1) or
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
	return {
		[REPLY.GRANTED] = 1, [REPLY.FENCE] = last, [REPLY.AHEAD] = ahead,
		[REPLY.SLOT] = slot, [REPLY.NOW] = now_us(),
	}
end

-- Returns the value of the last run that succeeded, and when it began.
local function last_success()
	local its = redis.pcall('GET', KEYS[2] .. 'success')
	local _, since_ms = (type(its) == 'string' and its or ''):match(OURS .. ' try=%d+ since=(%d+) ')
	if since_ms then
		return its, tonumber(since_ms)
	end
end

-- Returns that value if the run began less than ms ago.  A start that is ahead of
-- the clock counts too, but only within ms: the clock may have been set back.
local function ran_lately(ms)
	local its, since_ms = last_success()
	return its and math.abs(now_us() / 1e3 - since_ms) < ms and its
end

-- Records the run with the value `its` as the last success for --once-per, with its
-- start by the present clock, unless ran_ms, how long it ran, is "".  A run that
-- began later stays the last success.  A failure does not affect the lock.
local function record_success(its, ran_ms)
	if ran_ms == '' then
		return
	end
	local now_ms, _, last_ms = math.floor(now_us() / 1e3), last_success()
	if last_ms and last_ms > now_ms - ran_ms and last_ms <= now_ms then
		return
	end
	local success = (its:match('^.- command=%S*') or its):gsub('since=%d+', string.format('since=%.0f', now_ms - ran_ms), 1)
	redis.pcall('SET', KEYS[2] .. 'success', success .. ' ran=' .. ran_ms, 'PX', THIRTY_DAYS_MS)
end

-- Records the end of our run, with the value `its`.
local function record_end(its, ending, ran_ms)
	record('end', its, ending)
	record_success(its, ran_ms)
end

-- The length of the queue, including dead waiters; whether a run may be waiting for
-- the lock or holding another slot of it; and whether there is nobody to think of
-- but a holder.
local queue = KEYS[2] .. 'queue'
local others = call('EXISTS', queue, KEYS[2] .. 'slots') > 0
local length = others and tonumber(redis.pcall('ZCARD', queue)) or others and 1 or 0
local plain = mode == 'exclusive' and not others
