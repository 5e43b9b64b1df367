-- The end of a run.

-- Records our run as the last success for --once-per, with its start by the present
-- clock.  An empty `who` is no success.  The ending tells how long COMMAND ran.  A run
-- that began later stays the last success.  A failure does not affect the lock.
local function record_success(who, ending)
	local ran_ms = who ~= '' and ending:match('^ ran=(%d+)')
	if not ran_ms then
		return
	end
	local now_ms, _, last_ms = math.floor(now_us() / 1e3), last_success()
	local since_ms = now_ms - ran_ms
	if last_ms and last_ms > since_ms and last_ms <= now_ms then
		return
	end
	local success = string.format('%s0 since=%.0f %s ran=%s', id, since_ms, who, ran_ms)
	redis.pcall('SET', KEYS[2] .. 'success', success, 'PX', SUCCESS_KEPT_MS)
end

-- Records the end of our run, with the value `its`.
local function record_end(its, waited, ending, who)
	record('end', its, waited .. ending)
	record_success(who, ending)
end
