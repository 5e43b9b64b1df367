-- The end of a run.

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
