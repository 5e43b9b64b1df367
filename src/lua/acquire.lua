-- acquire: id, token, rest of the value, TTL in ms, fence proposal in us,
-- ticket in us (0: none yet), heartbeat in ms (0: do not queue), grant in ms (0:
-- among several servers; a vote does not leave the queue).
-- Answers 1, the fence and whether a living waiter has an earlier ticket; or a
-- refusal, that, whether the owner is itself in the queue, and how many
-- others wait.
-- Repeating it is harmless.
local ticket, heartbeat, grant = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])

-- Joins the queue or stays in it; without a ticket in the order of arrival.
-- Where there is no memory for that we are refused all the same.
local function join()
	if ticket > 0 then
		redis.pcall('ZADD', queue, string.format('%.0f', ticket), token)
	else
		redis.pcall('ZADD', queue, 'NX', string.format('%.0f', now_us), token)
	end
	redis.pcall('HSET', beat, token, string.format('%.0f %s%s', now_us + heartbeat * 1e3, id, ARGV[3]))
	redis.pcall('PEXPIRE', queue, 30000)
	redis.pcall('PEXPIRE', beat, 30000)
end

if ours then
	redis.call('PEXPIRE', lock, ARGV[4])
end
-- The counter is raised once in a tenure; what was handed to us is a new one.
local handed = ours and grant > 0 and redis.call('ZSCORE', queue, token)
if heartbeat > 0 and ticket > 0 and not handed then
	join()
end
local first = head()
local earlier = first and first ~= token and 1 or 0
-- What an attempt of ours has left that is over is ours to replace.
local owner, try = (value or ''):match('^redlock%-run/1 token=(%S+) try=(%d+) ')
if owner == token and tonumber(try) < tonumber(id:match('try=(%d+)')) then
	value = nil
end
if not ours and (value or earlier == 1) then
	if not value then
		wake(first)
	end
	if heartbeat > 0 and ticket == 0 then
		join()
	end
	local answer = refusal()
	answer[5] = earlier
	answer[6] = owner and redis.call('ZSCORE', queue, owner) and 1 or 0
	answer[7] = redis.call('ZCARD', queue) - (heartbeat > 0 and 1 or 0)
	return answer
elseif not ours then
	local taken = take(id, ARGV[3], ARGV[4])
	if taken.err then
		return taken
	end
end
if grant > 0 and first then
	leave(token)
	wake_head()
elseif heartbeat > 0 and grant == 0 then
	join()
end
local last = fence()
if not ours or handed or last == 0 then
	last = fence_raise(last, math.max(last + 1, math.min(tonumber(ARGV[5]), now_us + 6e7)))
end
return {1, last, earlier}
