-- The history, and the last success.

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

-- Returns the value of the last run that succeeded, and when it began.
local function last_success()
	local its = redis.pcall('GET', KEYS[2] .. 'success')
	local _, since_ms = (type(its) == 'string' and its or ''):match(OURS .. ' try=%d+ since=(%d+) ')
	if since_ms then
		return its, tonumber(since_ms)
	end
end
