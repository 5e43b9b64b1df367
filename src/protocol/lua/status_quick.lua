-- status of a lock that has one slot, no readers and no waiters.
if capacity == 1 and value ~= SHARED and call('EXISTS', KEYS[2] .. 'queue', KEYS[2] .. 'slots') == 0 then
	local its, ms = value and value:sub(1, 1024), call('PTTL', lock)
	return {
		[REPLY.GRANTED] = 0, [REPLY.FENCE] = fence(), [REPLY.AHEAD] = 0,
		[REPLY.SLOT] = slot, [REPLY.NOW] = now_us(),
		[REPLY.VALUE] = its, [REPLY.PTTL] = ms,
		[REPLY.READERS] = 0, [REPLY.BEST] = 1, [REPLY.BEST_PTTL] = ms,
		[REPLY.QUEUED] = 0, [REPLY.WAITING] = 0, [REPLY.TICKET] = 0,
		[REPLY.PLACE] = 0, [REPLY.REASON] = REASON.BUSY,
		[REPLY.LAST_RAN] = 0, [REPLY.BROKEN] = false,
		[REPLY.WAITERS] = {}, [REPLY.HOLDERS] = its and {its, ms, slot} or {},
		[REPLY.RUNS] = entries, [REPLY.SKIPS] = skipped, [REPLY.SUCCESS] = success,
	}
end
