-- acquire: id, token, rest of the value, TTL in ms, fence proposal in us,
-- ticket in us (0: none yet), heartbeat in ms (0: do not queue).
-- Answers 1, the fence and the number of living waiters with an earlier ticket;
-- or a refusal, that number, and whether the owner is itself in the queue.
-- Repeating it is harmless.
local ticket, heartbeat = tonumber(ARGV[6]), tonumber(ARGV[7])

-- Joins the queue or stays in it; without a ticket in the order of arrival.
-- Where there is no memory for that we are refused all the same.
local function join()
	if heartbeat == 0 then
		return
	end
	if ticket > 0 then
		redis.pcall('ZADD', queue, string.format('%.0f', ticket), token)
	else
		redis.pcall('ZADD', queue, 'NX', string.format('%.0f', now_us), token)
	end
	redis.pcall('HSET', beat, token, string.format('%.0f', now_us + heartbeat * 1e3))
	redis.call('PEXPIRE', queue, 2 * heartbeat)
	redis.call('PEXPIRE', beat, 2 * heartbeat)
end

-- How many are before us; those that no longer beat are dropped.
local function earlier()
	local n = 0
	for _, waiter in ipairs(redis.call('ZRANGE', queue, 0, -1)) do
		if waiter == token then
			break
		elseif tonumber(redis.call('HGET', beat, waiter) or 0) < now_us then
			leave(waiter)
		else
			n = n + 1
		end
	end
	return n
end

if ours then
	redis.call('PEXPIRE', lock, ARGV[4])
end
if value or ticket > 0 then
	join()
end
local before = earlier()
-- What an attempt of ours has left that is over is ours to replace.
local owner, try = (value or ''):match('^redlock%-run/1 token=(%S+) try=(%d+) ')
if owner == token and tonumber(try) < tonumber(id:match('try=(%d+)')) then
	value = nil
end
if not ours and (value or before > 0) then
	local answer = refusal()
	answer[5] = before
	answer[6] = owner and redis.call('ZSCORE', queue, owner) and 1 or 0
	return answer
elseif not ours then
	redis.call('SET', lock, string.format('%ssince=%.0f %s', id, math.floor(now_us / 1000), ARGV[3]), 'PX', ARGV[4])
	join()
end
-- The counter is raised once in a tenure.
local last = fence()
if not ours or last == 0 then
	last = fence_raise(last, math.max(last + 1, math.min(tonumber(ARGV[5]), now_us + 6e7)))
end
return {1, last, before}
