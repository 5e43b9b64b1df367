-- status of a lock that has one slot, no readers and no waiters.
if capacity == 1 and value ~= SHARED and call('EXISTS', KEYS[2] .. 'queue', KEYS[2] .. 'slots') == 0 then
	local its, ms = value and value:sub(1, 1024), call('PTTL', lock)
	return {
		0, fence(), 0, slot, now_us(), its, ms, 0, 1, ms, 0, 0, 0, 0, BUSY, 0, false,
		{}, its and {its, ms} or {},
	}
end
