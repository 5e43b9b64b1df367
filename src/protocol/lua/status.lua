-- status: empty id and token; reads all slots.  Replies with a refusal up to
-- HOLDERS.  Lists at most a hundred waiters, and checks the first thousand for
-- dead ones.
local waiting, holders = {}, {}

local function holder(its, ms, its_slot)
	local at = #holders
	holders[at + 1], holders[at + 2], holders[at + 3] = its:sub(1, 1024), ms, its_slot
end

local reply, n = refusal(), call('ZCARD', queue)
for _, waiter in ipairs(call('ZRANGE', queue, 0, 999)) do
	local its = beat_of(waiter)
	if not its then
		n = n - 1
	elseif #waiting < 100 then
		waiting[#waiting + 1] = value_of(its.id, its.details, call('ZSCORE', queue, waiter))
	end
end
if value == SHARED then
	for i, entry in ipairs(call('HGETALL', readers)) do
		local its, until_us = alive(entry)
		if i % 2 == 0 and its then
			holder(its, math.ceil((until_us - now_us()) / 1e3), 0)
		end
	end
	-- The shared word alone keeps all others out.
	if #holders == 0 then
		holder(SHARED, call('PTTL', lock), 0)
	end
end
survey()
for n, its in ipairs(values) do
	if its and its ~= SHARED then
		holder(its, call('PTTL', slot_key(n)), n)
	end
end
reply[REPLY.FENCE], reply[REPLY.QUEUED], reply[REPLY.WAITING], reply[REPLY.TICKET] = fence(), 0, n, 0
reply[REPLY.PLACE], reply[REPLY.REASON], reply[REPLY.LAST_RAN], reply[REPLY.BROKEN] = 0, REASON.BUSY, 0, false
reply[REPLY.WAITERS], reply[REPLY.HOLDERS] = waiting, holders
reply[REPLY.RUNS], reply[REPLY.SKIPS], reply[REPLY.SUCCESS] = entries, skipped, success
return reply
