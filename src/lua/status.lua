-- status: an empty id and token.  Answers as a refusal does, then the fence,
-- those that wait, each as its value would be, and how many there are.
local answer, waiting = refusal(), {}
local waiters = redis.call('ZRANGE', queue, 0, 99, 'WITHSCORES')
for i = 1, #waiters, 2 do
	local until_us, its_id, details = beat_parts(redis.call('HGET', beat, waiters[i]) or '')
	if until_us and tonumber(until_us) >= now_us then
		waiting[#waiting + 1] = value_of(its_id, tonumber(waiters[i + 1]), details)
	end
end
answer[5] = fence()
answer[6] = waiting
answer[7] = redis.call('ZCARD', queue)
return answer
