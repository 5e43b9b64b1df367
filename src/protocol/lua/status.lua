-- status: an empty id and token; looks at all slots.  Answers as a refusal
-- does, then the fence, those that wait, each as its value would be, how many
-- there are, and the holders, each with its value and for how long yet.  Of the
-- waiters it shows a hundred, and of a thousand it leaves out the dead.
local answer, waiting, holders = refusal(), {}, {}
local n = redis.call('ZCARD', queue)
for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, 999)) do
	local _, its_id, details = beat_parts(redis.call('HGET', beat, waiter))
	if not its_id then
		n = n - 1
	elseif #waiting < 100 then
		waiting[#waiting + 1] = value_of(its_id, tonumber(redis.call('ZSCORE', queue, waiter)), details)
	end
end
local function holder(its, ms)
	holders[#holders + 1] = its:sub(1, 1024)
	holders[#holders + 1] = ms
end
if value == SHARED then
	for i, entry in ipairs(redis.call('HGETALL', readers)) do
		local its, until_us = alive(entry)
		if i % 2 == 0 and its then
			holder(its, math.ceil((until_us - now_us) / 1e3))
		end
	end
	-- The word alone keeps everybody else out.
	if #holders == 0 then
		holder(SHARED, redis.call('PTTL', lock))
	end
end
for n, its in ipairs(values) do
	if its and its ~= SHARED then
		holder(its, redis.call('PTTL', slot_key(n)))
	end
end
answer[8], answer[9], answer[10], answer[11] = fence(), waiting, n, holders
return answer
